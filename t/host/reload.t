# Reloads, restarts and binary upgrades: no request is lost by them, nothing
# holds up a worker that leaves, nothing grows, and the queue goes on.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Site;
use Admission::Swarm;
use Admission::Zone;

my $event = 'concert';
my @locations = (server => <<'END');
        location = /strict {
            admission_tier2 on strict=on;
            empty_gif;
        }

        location = /pass {
            admission_event $arg_event;
            admission_tier2 on;
            empty_gif;
        }
END

# on one Redis, where any of them may do the schedule's work: so they agree
# about the events

my @events = (events => 'default threshold=2 admit_interval=200ms;
                         load    threshold=1000;
                         fresh   threshold=1000;');

my $site = Admission::Site->start(timeout => '60s', @locations, @events);

my ($redis, $nginx, $backend) = ($site->redis, $site->nginx,
                                 $site->{backend});

# the same NGINX without the module

my $plain = Admission::Nginx->start(
    module => 0, workers => 2, server => 'location = /gated { empty_gif; }');

sub entry ($user) {
    return entry_token($Admission::Site::SECRETS{tier2}, sub => $event,
                       uid => $user);
}

sub tokens ($user, $entry = entry($user)) {
    return (Authorization => 'Bearer ' . $site->user($user),
            'X-Queue-Entry-Token' => $entry);
}

sub status_of ($path, $user, $entry = entry($user)) {
    return get($nginx->port, $path, headers => [ tokens($user, $entry) ])
           ->status;
}


# ---- load

# A process that asks for each target, [name, port, method, path, headers], by
# several clients until it is stopped, and each was answered 60 times, however busy
# the machine is; what stop_load returns of it: {name =>
# {status or error => how often}}.  With `again` a request that got no answer
# is sent again, so many times at most, as browsers do on a new connection:
# here another client's may be taken that is closed as well.

sub start_load ($name, $targets, %opt) {
    my $dir = test_dir;
    my $process = Admission::Process->start(
        name => "load-$name",
        code => sub {
            my $swarm = Admission::Swarm->new(connections => 500, %opt);
            my (%count, $stop);
            my $looked = 0;

            my $ask;
            $ask = sub ($target, $again = $opt{again}) {
                my ($key, $port, $method, $path, $headers) = @$target;

                $swarm->request($port, $method, $path, $headers, sub ($r) {
                    if (!$r->status && $again) {
                        $swarm->close_idle;
                        return $ask->($target, $again - 1);
                    }

                    $count{$key}{ $r->status || $r->error }++;
                    $swarm->timer(rand 0.02, sub { $ask->($target) })
                        if !$stop;
                });
            };

            for my $target (@$targets) {
                $ask->($target) for 1 .. 6;
            }

            $swarm->run(timeout => 600, until => sub {
                if (time - $looked > 0.1) {
                    $looked = time;
                    $stop = -e "$dir/load-$name.stop"
                        && !grep { ($count{ $_->[0] }{200} // 0) < 60 }
                                 @$targets;
                }
                return $stop && !$swarm->pending;
            });

            write_file("$dir/load-$name.new", json_encode(\%count));
            rename "$dir/load-$name.new", "$dir/load-$name.json";
        });

    return { name => $name, process => $process };
}

sub stop_load ($load) {
    my $file = test_dir . "/load-$load->{name}";

    write_file("$file.stop", '');
    $load->{process}->wait_exit(60) or diag("load $load->{name} goes on");
    $load->{process}->finish;

    return -e "$file.json" ? json_decode(read_file("$file.json"))
                           : { died => { $load->{process}->output => 1 } };
}

sub failures ($count) {
    my $n = 0;
    $n += $count->{$_} for grep { $_ ne '200' } keys %$count;
    return $n;
}

# both at once, and wait for the workers before

sub reload_both () {
    my @old = map { $_->worker_pids } $nginx, $plain;

    $_->reload(wait => 0) for $nginx, $plain;
    wait_until { !grep { alive($_) } @old } 20 or diag('old workers stay');
}


subtest 'under load' => sub {
    for my $user ('alice', 'bob') {
        $redis->cmd('ZADD', $site->key('active'), (int(time) + 3600) * 1000,
                    $user);
    }

    my @module = (
        [ gate => $nginx->port, GET => '/gated', [ tokens('alice') ] ],
        [ strict => $nginx->port, GET => '/strict', [ tokens('bob') ] ],
        [ check => $nginx->port, POST => '/api/queue/check/load',
          [ tokens('cho'), 'Content-Length' => 0 ] ],
        [ status => $nginx->port, GET => '/api/queue/status/load',
          [ tokens('dan') ] ],
    );
    my @plain = ([ plain => $plain->port, GET => '/gated',
                   [ tokens('alice') ] ]);
    my @same = ($module[0], @plain);

    my @loads = (
        start_load('close', [ @module, @plain ], keepalive => 0),
        start_load('browsers', [ @module, @plain ], again => 5),
        start_load('keepalive', \@same),
    );

    reload_both() for 1 .. 10;

    my ($close, $browsers, $keepalive) = map { stop_load($_) } @loads;

    for my $name (map { $_->[0] } @module, @plain) {
        cmp_ok $close->{$name}{200} // 0, '>', 50,
            "Connection: close: $name was asked";
        is failures($close->{$name}), 0, "and no request failed"
            or diag(json_encode($close->{$name}));

        cmp_ok $browsers->{$name}{200} // 0, '>', 50,
            "keepalive, with another try: $name was asked";
        is failures($browsers->{$name}), 0, "and no request failed"
            or diag(json_encode($browsers->{$name}));
    }

    # Without another try the one that goes out as NGINX closes is lost, here as
    # there: how many is chance.  Those that had gone out before: below.

    note("keepalive: $_->[1] of $keepalive->{gate}{200} failed $_->[0] the module")
        for [ with => failures($keepalive->{gate}) ],
            [ without => failures($keepalive->{plain}) ];

    cmp_ok $keepalive->{gate}{200}, '>', 50, 'keepalive: was asked';
    is join(' ', grep { !/^(?:200|connection closed|read:|send:)/ }
                 keys $keepalive->{gate}->%*), '',
        'and in no other way than by the connection closing';
};


# Workers that stand still find that they are to go, and what has come on kept
# connections by then.

subtest 'requests on kept connections' => sub {
    for ([ $nginx, 'with the module', [ tokens('alice') ] ],
         [ $plain, 'without it', [] ])
    {
        my ($host, $what, $headers) = @$_;
        my @kept = map { Admission::HTTP->connect($host->port) } 1 .. 20;
        my @old = $host->worker_pids;

        is scalar(grep { $_->request('GET', '/gated', headers => $headers)
                           ->status == 200 } @kept), 20, "$what: kept";

        kill STOP => @old;
        wait_until { 2 == grep { Admission::Zone::stopped($_) } @old };
        $_->send(Admission::HTTP::compose('GET', '/gated',
                                          headers => $headers)) for @kept;

        # the master tells them 0.1 s after the new ones are there
        $host->reload(wait => 0);
        sleep 0.5;
        kill CONT => @old;

        is scalar(grep { $_->response('GET')->status == 200 } @kept), 20,
            "$what: each request is answered";
        is scalar(grep { $_->closed(10) } @kept), 20, "$what: then they close";
        $host->wait_old_workers(20, @old);
    }
};


# Seconds until the workers are gone, the least of some times: whatever holds
# a worker does so each time, a busy machine does not.

sub least ($times, $measure) {
    my $least;

    for (1 .. $times) {
        my $seconds = $measure->();
        $least = $seconds if !defined $least || $seconds < $least;
        last if $least < 0.5;
    }

    return $least;
}

sub until_gone (@pids) {
    my $took = stopwatch;
    wait_until { !grep { alive($_) } @pids } 20;
    my $seconds = $took->();
    note(sprintf 'gone after %.2f s', $seconds);
    return $seconds;
}

sub reload_seconds ($nginx = $nginx) {
    my @old = $nginx->worker_pids;
    $nginx->reload(wait => 0);
    return until_gone(@old);
}


subtest 'old workers' => sub {
    cmp_ok least(5, \&reload_seconds), '<', 1 * slow,
        'idle ones are gone within a second';

    # the last request of one takes its time: the backend stands still

    cmp_ok least(5, sub {
        my $connection = Admission::HTTP->connect($nginx->port);
        my @old = $nginx->worker_pids;

        $backend->{process}->signal('STOP');
        $connection->send(Admission::HTTP::compose(
            'POST', '/api/reservations', body => '',
            headers => [ tokens('alice') ]));
        wait_until { !unread($nginx->port) };
        $nginx->reload(wait => 0);

        wait_until { 1 >= grep { alive($_) } @old };
        is scalar(grep { alive($_) } @old), 1, 'one stays with its request';

        $backend->{process}->signal('CONT');
        my $response = $connection->response;
        my $seconds = until_gone(@old);

        is $response->status, 200, 'which is answered';
        return $seconds;
    }), '<', 1 * slow, 'and is gone within a second of it';

    # a kept connection without a request is no reason to stay

    my @idle = map { Admission::HTTP->connect($nginx->port) } 1 .. 10;
    $_->request('GET', '/gated', headers => [ tokens('alice') ]) for @idle;

    cmp_ok least(1, \&reload_seconds), '<', 5 * slow,
        'connections that are kept hold none';
    ok $_->closed(5), 'they are closed' for @idle;

    # nor is Redis, whatever it does: the schedule's own calls wait for it

    my ($usual, $patient) = map {
        Admission::Site->start(redis => $redis, backend => $backend,
                               timeout => $_, @events)
    } '200ms', '30s';
    my $usual_seconds = sub { reload_seconds($usual->nginx) };

    $usual->call(0, cho => POST => 'check');
    $redis->sigstop;

    cmp_ok least(5, $usual_seconds), '<', 1 * slow,
        'Redis hangs: they are gone within a second';

    # the schedule's own calls hold nobody, however long they may take
    my @seconds = map { reload_seconds($patient->nginx) } 1 .. 3;
    is scalar(grep { $_ > 5 * slow } @seconds), 0,
        'Redis hangs, a long time-out: so are they then';

    $redis->sigcont;
    $redis->kill9;
    wait_until { get($nginx->port, '/strict',
                     headers => [ tokens('alice') ])->status == 503 };

    cmp_ok least(5, $usual_seconds), '<', 1 * slow,
        'Redis is away: they are gone within a second';
    $_->nginx->quit for $usual, $patient;

    $redis->launch;
    is status_of('/gated', 'alice'), 200, 'the gate is open all the time';

    ok wait_until(sub {
        $site->call(0, cho => POST => 'check')->status == 200
    }, 20), 'and the queue is back with Redis';
};


subtest 'requests that wait for Redis' => sub {
    $redis->cmd('ZADD', $site->key('active'), (int(time) + 3600) * 1000,
                'alice');

    # workers that do not know Redis as gone

    $nginx->reload;
    is status_of('/strict', 'alice'), 200, 'Redis answers';

    $redis->sigstop;

    my @requests = map { [ Admission::HTTP->connect($nginx->port), $_ ] }
        ([ GET => '/strict' ], [ POST => "/api/queue/check/$event" ],
         [ GET => "/api/queue/status/$event" ]) x 3;

    for my $request (@requests) {
        my ($connection, $what) = @$request;
        $connection->send(Admission::HTTP::compose(
            @$what, body => '', headers => [ tokens('alice') ]));
    }

    # the workers have read them

    ok wait_until(sub { !unread($nginx->port) }, 10), 'requests are there';

    my @old = $nginx->worker_pids;
    $nginx->reload(wait => 0);
    cmp_ok scalar(grep { alive($_) } @old), '>=', 1, 'old workers wait';

    $redis->sigcont;

    is $_->[0]->response($_->[1][0], 60)->status, 200,
        "@{ $_->[1] } is answered" for @requests;

    cmp_ok until_gone(@old), '<', 5 * slow, 'then they go';
};

# Bytes for a port that its owner has not read yet, of all connections and of
# those that are not accepted.

sub unread ($port) {
    my $hex = sprintf ':%04X', $port;
    my $bytes = 0;

    for my $line (split /\n/, read_file('/proc/net/tcp')) {
        my (undef, $local, undef, $state, $queues) = split ' ', $line;
        next if ($local // '') !~ /$hex$/;
        $bytes += hex((split /:/, $queues)[1]);
    }

    return $bytes;
}

# Connections of a port that its owner has not closed.

sub open_at ($port) {
    my $hex = sprintf ':%04X', $port;

    return scalar grep {
        my (undef, $local, undef, $state) = split ' ';
        ($local // '') =~ /$hex$/ && $state =~ /^0[18]$/;
    } split /\n/, read_file('/proc/net/tcp');
}


subtest '50 reloads' => sub {
    my $one = Admission::Site->start(workers => 1, redis => $redis,
                                     backend => $backend, timeout => '10s',
                                     @locations, @events,
                                     event => 'fresh');
    my $peer = Admission::Nginx->start(
        module => 0, server => 'location = /gated { empty_gif; }');
    my @both = ($one->nginx, $peer);

    # what a worker has after some work, and its master

    my $look = sub {
        for my $user ('ann', 'ben', 'cho') {

            # where Redis stood still for 1.5 s nobody is let in for as long
            my $in = wait_until {
                my $told = $one->call(0, $user, POST => 'check')->json;
                $told->{entryToken} && $told } || {};
            my @headers = (Authorization => 'Bearer ' . $one->user($user),
                           'X-Queue-Entry-Token' => $in->{entryToken});

            for my $path ('/gated', '/strict') {
                my $status = get($one->port, $path, headers => \@headers)
                             ->status;
                return { failed => "$path $status" } if $status != 200;
            }
        }

        get($peer->port, '/gated') for 1 .. 9;

        # connections of the requests are gone, and the master has heard of all
        # workers that are

        my ($worker) = $one->nginx->worker_pids;
        my ($fds, $again) = (fd_count($worker), 0);
        wait_until { my $gone = !open_at($one->port)
                                && !unreaped($one->nginx->pid);
                     my $now = fd_count($worker);
                     $again = $now == $fds && $gone ? $again + 1 : 0;
                     $fds = $now;
                     $again > 10 };

        return {
            'worker fds' => $fds,
            'master fds' => fd_count($one->nginx->pid),
            worker => rss($worker), master => rss($one->nginx->pid),
            'peer worker' => rss(($peer->worker_pids)[0]),
            'peer master' => rss($peer->pid),
        };
    };

    my $times = 0;
    my $reload = sub {
        my @old = map { $_->worker_pids } @both;

        $_->signal('HUP') for @both;

        wait_until {
            my %old = map { $_ => 1 } @old;
            my @new = map { my @n = grep { !$old{$_} } $_->worker_pids;
                            @n == 1 ? @n : () } @both;
            @new == 2 && !grep { alive($_) } @old
        } 20 or return 0;

        return ++$times;
    };

    $reload->() for 1 .. 10;
    my $before = $look->();
    $reload->() for 1 .. 40;
    my $after = $look->();

    is $times, 50, 'each of the reloads went through';
    is $before->{failed} // $after->{failed}, undef, 'with work after some';
    is $after->{$_}, $before->{$_}, "$_ as before" for 'worker fds',
                                                       'master fds';

    if (!sanitized) {
        my $mb = 1024 * 1024;
        my %grown = map { $_ => ($after->{$_} - $before->{$_}) / $mb }
                    grep { !/fds/ } keys %$after;

        note(sprintf '%s: %+.2f MB', $_, $grown{$_}) for sort keys %grown;

        cmp_ok $grown{$_}, '<', ($grown{"peer $_"} > 0 ? $grown{"peer $_"} : 0)
                                + 1,
            "$_: memory as without the module, within 1 MB"
            for 'worker', 'master';
    }

    my %processes = map { $_->{title} => 1 } processes($one->nginx->pid);
    is scalar(keys %processes), 1, 'one worker, no other process';

    unlike $one->nginx->error_log, qr/\[(?:error|crit|alert|emerg)\]/,
        'nothing in the log';
};


# ---- the state of the queue

# Ann and ben are in, the others wait; what goes on while the code restarts
# NGINX in some way, and after it.

sub keeps_state ($name, $site, $restart) {
    subtest $name => sub {
        my @waiting = qw(cho dan eve fay);

        # an event of its own each time: Redis that lost one is another test
        local $site->{event} = $name =~ s/\W+/-/gr;

        # where Redis stood still for 1.5 s nobody is let in for as long

        my %in;
        for my $user ('ann', 'ben') {
            wait_until {
                $in{$user} = $site->call(0, $user, POST => 'check')->json;
                $in{$user}{status} eq 'active';
            };
        }
        my %place = map { $_ => $site->call(0, $_, POST => 'check')
                                ->json->{place} } @waiting;

        is join(' ', map { $_->{status} } values %in), 'active active',
            'two are in';
        is join(' ', map { position($site, $_) } @waiting), '1 2 3 4',
            'four wait';

        my @before = $site->nginx->worker_pids;
        $restart->($site->nginx);
        my %now = map { $_ => 1 } $site->nginx->worker_pids;

        is scalar(grep { $now{$_} } @before), 0, 'the workers are others';

        for my $user ('ann', 'ben') {
            is passes($site, $user, $in{$user}{entryToken}), 200,
                "the entry token of $user passes";

            is $site->call(0, $user, POST => 'heartbeat')->json->{status},
                'active', "$user is still in";
        }

        is join(' ', map { position($site, $_) } @waiting), '1 2 3 4',
            'those who wait are where they were';
        is $site->call(0, $_, POST => 'check',
                       headers => [ 'X-Queue-Place' => $place{$_} ])
           ->json->{position}, $_ eq 'cho' ? 1 : 4, "$_ with the place, too"
            for 'cho', 'fay';

        # the schedule goes on: it lets in who is first, without being asked

        is $site->call(0, ann => POST => 'leave')->json->{message},
            'Left queue', 'ann leaves';

        ok wait_until(sub {
            defined $site->redis->cmd('ZSCORE', $site->key('active'), 'cho')
        }, 20), 'cho is let in';

        my $cho = $site->call(0, cho => GET => 'status')->json;
        is $cho->{status}, 'active', 'and told so';
        is passes($site, 'cho', $cho->{entryToken}), 200,
            'and passes the gate';
        is join(' ', map { position($site, $_) } 'dan', 'eve', 'fay'),
            '1 2 3', 'the others move up';

        is passes($site, 'ann', $in{ann}{entryToken}), 403,
            'ann does not pass any more';
    };
}

sub passes ($site, $user, $entry) {
    return get($site->port, "/pass?event=$site->{event}", headers => [
        Authorization => 'Bearer ' . $site->user($user),
        'X-Queue-Entry-Token' => $entry // '' ])->status;
}

sub position ($site, $user) {
    my $response = $site->call(0, $user, GET => 'status');
    return $response->json->{position}
           // $response->status . ' ' . $response->json->{status};
}

keeps_state('reload', $site, sub ($nginx) { $nginx->reload });

keeps_state('quit and start', $site, sub ($nginx) {
    $nginx->quit;
    $nginx->start_again;
});

keeps_state('stop and start', $site, sub ($nginx) {
    $nginx->stop;
    $nginx->start_again;
});

keeps_state('a worker killed', $site, sub ($nginx) {
    $nginx->kill_worker('KILL', $_) for $nginx->worker_pids;
});

# a binary upgrade, which a daemon can do: NGINX that is not the child of the
# test

my $daemon = bless { %$site, nginx => [] }, ref $site;

push $daemon->{nginx}->@*, Admission::Nginx->start(
    daemon => 1, workers => 2, http => $site->http, server => $site->server);

keeps_state('binary upgrade', $daemon, sub ($nginx) { $nginx->upgrade });
keeps_state('another one', $daemon, sub ($nginx) { $nginx->upgrade });

subtest 'binary upgrade under load' => sub {
    $redis->cmd('ZADD', '{concert}:active', (int(time) + 3600) * 1000, 'zoe');

    my $load = start_load('upgrade', [
        [ gate => $daemon->port, GET => '/gated', [ tokens('zoe') ] ],
        [ strict => $daemon->port, GET => '/strict', [ tokens('zoe') ] ],
        [ status => $daemon->port, GET => '/api/queue/status/load',
          [ tokens('zoe') ] ],
    ], keepalive => 0);

    $daemon->nginx->upgrade for 1 .. 2;

    my $count = stop_load($load);

    for my $name ('gate', 'strict', 'status') {
        cmp_ok $count->{$name}{200} // 0, '>', 20, "$name was asked";
        is failures($count->{$name}), 0, 'and no request failed'
            or diag(json_encode($count->{$name}));
    }
};

done_testing;
