# The schedule looks after events when something of them is due: thousands in
# which nobody waits cost next to nothing, a flood of them holds up nobody, and
# every host learns within a second what another one changed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;
use Time::HiRes qw(sleep);

my $events = 3000;
my $lines = join "\n        ", 'default threshold=1;',
            map { "idle-$_ threshold=1;" } 1 .. $events;

my $site = Admission::Site->start(
    instances => 2, zone => '8m', timeout => '5s', events => $lines,
    server => 'location = /readyz { admission_health ready; }
               location = /metrics { admission_metrics; }');
my $redis = $site->redis;

# scripts run meanwhile: how many a second
sub scripts ($seconds) {
    my $stats = $redis->stats_of(sub { sleep $seconds });
    return (($stats->{evalsha} // 0) + ($stats->{eval} // 0)) / $seconds;
}

# The least of some times is: what holds it up does so each time, a busy machine
# does not.
sub soon ($seconds, $try) {
    my @took;

    for my $n (1 .. 4) {
        push @took, $try->($n);
        last if $took[-1] < $seconds * slow;
    }
    cmp_ok($took[-1], '<', $seconds * slow, "soon: @took s");
}

sub ready ($i) {
    return request($site->port($i), 'GET', '/readyz')->json;
}


subtest 'many events with a user each' => sub {
    my $failed = 0;

    for my $i (0, 1) {
        my $connection = Admission::HTTP->connect($site->port($i));

        for my $n (grep { $_ % 2 == $i } 1 .. $events) {
            $connection = Admission::HTTP->connect($site->port($i))
                if $n % 900 == $i;
            $failed++ if $connection->request(
                'POST', "/api/queue/check/idle-$n",
                bearer => $site->user("u$n"))->status != 200;
        }
    }
    is($failed, 0, "$events events joined");

    # hosts tell each other of what they did; then it is quiet
    my $rate;
    my $quiet = wait_until { ($rate = scripts(1)) < 30 } 30;
    ok($quiet, 'where nothing is due nothing is asked');
    note sprintf '%.1f scripts a second', $rate;

    # a machine that stood still is not, for a moment
    for my $i (0, 1) {
        my $told;
        ok((wait_until { ($told = ready($i))->{status} eq 'ready' }),
           "host $i is ready") or diag(json_encode($told));
    }

    # of a worker that stands still by itself the schedule is late as well
    my $lag;
    my $in_time = wait_until {
        ($lag = metrics($site->port)->value('schedule_lag_seconds')) < 1 };
    ok($in_time, 'and not late') or diag $lag;
};


subtest 'each host knows of all of it' => sub {
    for my $i (0, 1) {
        my $sum;
        my $all = wait_until {
            ($sum = metrics($site->port($i))->sum('queue_active')) == $events
        } 20;
        ok($all, "host $i knows who is in everywhere") or diag $sum;
    }
};


subtest 'an event goes on beside them' => sub {
    is($site->call(0, 'ann', POST => 'check')->json->{status}, 'active',
       'ann is in');
    is($site->call(0, 'ben', POST => 'check')->json->{status}, 'queued',
       'ben waits');

    soon(2.5, sub ($n) {
        my ($out, $next) = $n % 2 ? qw(ann ben) : qw(ben ann);

        is($site->call(0, $next, POST => 'check')->json->{status}, 'queued',
           "$next waits") if $n > 1;

        my $took = stopwatch;
        $site->call(0, $out, POST => 'leave');
        ok((wait_until {
            $site->call(1, $next, GET => 'status')->json->{status} eq 'active'
        }), 'and gets in');
        return $took->();
    });
};


# What a leave frees goes to who comes, without a pause: a step that was not due
# is no sign that Redis was away.
subtest 'nobody waits for nothing' => sub {
    sleep 2;

    for my $n (1 .. 5) {
        local $site->{event} = "idle-$n";

        is($site->call($n % 2, "u$n", POST => 'leave')->status, 200,
           "u$n leaves");
        is($site->call(($n + 1) % 2, "v$n", POST => 'check')->json->{status},
           'active', "v$n is in at once, on the other host");
    }
};


# A page that closes says so by a beacon: carried out where nothing else is due.
subtest 'a beacon' => sub {
    my $s = Admission::Site->start(instances => 2, timeout => '5s',
                                   events => 'concert threshold=5;');

    soon(10 / slow() + 3, sub ($n) {
        $s->call(0, 'ann', POST => 'check');
        my $took = stopwatch;
        $s->call(0, 'ann', POST => 'leave',
                 headers => [ 'Sec-Fetch-Mode', 'no-cors' ]);
        ok((wait_until { !$s->redis->cmd('ZCARD', '{concert}:active') } 30),
           'it is carried out');
        return $took->();
    });
};


# Redis's clock goes back by less than a gap: hosts go on to hear of each other.
subtest 'a clock that was set back' => sub {
    my $s = Admission::Site->start(instances => 2, redis_opt => { clock => 1 },
                                   timeout => '5s',
                                   events => 'concert threshold=5;');

    # each time as far back again
    soon(3, sub ($n) {
        my $token = $s->call(0, 'ann', POST => 'check')->json->{entryToken};
        my $gate = sub {
            return request($s->port(1), 'GET', '/gated',
                           bearer => $s->user('ann'),
                           headers => [ 'X-Queue-Entry-Token' => $token ])
                   ->status;
        };
        ok((wait_until { $gate->() == 200 }), 'ann is in');
        sleep 2;
        $s->redis->set_clock(-12 * $n);
        sleep 2;

        my $took = stopwatch;
        $s->call(0, 'ann', POST => 'leave');
        ok((wait_until { $gate->() == 403 }), 'who leaves is out elsewhere');
        return $took->();
    });
};


# A slot that ends where nobody waits: by the time of it, on every host.
subtest 'the end of a slot' => sub {
    my $s = Admission::Site->start(
        instances => 2, timeout => '5s',
        events => 'concert threshold=5 active_ttl=8s;',
        server => 'location = /metrics { admission_metrics; }');
    my $in = sub ($n) {
        return 2 == grep { metrics($s->port($_))->sum('queue_active') == $n }
                    0, 1;
    };

    $s->call(0, 'ann', POST => 'check');
    ok((wait_until { $in->(1) }), 'both hosts know of it');
    ok((wait_until { $in->(0) } 20), 'and of its end');
};


# The set may hold what somebody made up long ago: read in parts, it holds up
# nobody, and what is not there any more leaves it.
subtest 'a long list' => sub {
    my $n = 250_000;
    my $s = Admission::Site->start(timeout => '5s',
                                   events => 'default threshold=1;
                                              concert threshold=2;');
    my $redis = $s->redis;
    my @slow;

    # again if some were late: the list does that each time, a busy machine does
    # not

    for (1 .. 4) {
        for my $part (0 .. $n / 1000 - 1) {
            $redis->cmd('SADD', 'queue:active-events',
                        map { "made-up-$part-$_" } 1 .. 1000);
        }
        $s->nginx->stop;
        $s->nginx->start_again;
        @slow = ();

        for my $i (1 .. 40) {
            my $watch = stopwatch;
            my $answer = $s->call(0, "w$i", POST => 'check');
            my $took = $watch->();
            is($answer->status, 200, 'a call is answered')
                if $answer->status != 200 || $i == 1;
            push @slow, $took if $took > 0.5 * slow;
            sleep 0.05;
        }
        last if !@slow;
    }
    is_deeply(\@slow, [], 'and so are all others, soon');

    my $fewer = wait_until { $redis->cmd('SCARD', 'queue:active-events')
                             < $n - 1000 } 60;
    ok($fewer, 'events without anybody leave the list');
    unlike($s->nginx->error_log, qr/redis \S+ down/, 'no connection was cut');
};


# What an event that no operator named leaves goes within ten minutes after its
# last user, however that one went; a call of who never was in leaves nothing.
subtest 'what is left' => sub {
    my $s = Admission::Site->start(
        instances => 2,
        timeout => '5s',
        events => 'default threshold=1 active_ttl=8s seen_ttl=8s claim_ttl=1s
                           admit_interval=100ms;
                   listed threshold=1;');
    my $redis = $s->redis;

    # of keys that there are: one may go between the two calls (-2)
    my $ttls = sub ($event) {
        return grep { $_ != -2 } map { $redis->cmd('TTL', $_) }
               $redis->cmd('KEYS', "{$event}:*")->@*;
    };

    for my $call ([ POST => 'leave' ], [ DELETE => 'leave' ],
                  [ POST => 'leave', headers => [ 'Sec-Fetch-Mode', 'no-cors' ] ],
                  [ GET => 'status' ], [ POST => 'heartbeat' ])
    {
        local $s->{event} = 'never';
        is($s->call(0, 'ann', @$call)->status, 200, "@$call[0, 1] of nobody");
    }
    is_deeply([ $redis->cmd('KEYS', '*never*')->@*,
                grep { $_ eq 'never' }
                     $redis->cmd('SMEMBERS', 'queue:active-events')->@* ], [],
              'leaves nothing');

    my %went = (
        leaves => sub { $s->call(1, 'ann', POST => 'leave') },
        clear => sub { $s->admin(POST => 'clear/%s') },
        'end-of-slot' => sub { },
    );

    for my $how (sort keys %went) {
        local $s->{event} = $how;
        is($s->call(0, 'ann', POST => 'check')->json->{status}, 'active',
           "$how: ann is in");
        is($s->call(1, 'ben', POST => 'check')->json->{status}, 'queued',
           'ben waits');
        ok(!(grep { $_ <= 600 } $ttls->($how)), 'what is in use stays');

        $went{$how}->();
        $s->call(0, 'ben', POST => 'leave') if $how eq 'leaves';

        my @left;
        my $goes = wait_until {
            @left = $ttls->($how); @left && !grep { $_ < 0 || $_ > 600 } @left
        } 40;
        ok($goes, 'all keys go within ten minutes') or diag "@left";

        # looking at it keeps nothing
        $s->call($_, 'ann', GET => 'status') for 0, 1;
        $s->admin(GET => '%s');
        ok(!(grep { $_ < 0 || $_ > 600 } $ttls->($how)), 'a look keeps nothing');

        is($s->call(1, 'cho', POST => 'check')->json->{status}, 'active',
           'who comes again is in');
        ok(!(grep { $_ <= 600 } $ttls->($how)), 'and it stays again');
    }

    for my $event ('listed', 'set') {
        local $s->{event} = $event;
        $s->admin(PUT => 'threshold/%s?threshold=1') if $event eq 'set';
        $s->call(0, 'ann', POST => 'check');
        $s->call(0, 'ann', POST => 'leave');
        ok(!(grep { $_ >= 0 && $_ <= 600 } $ttls->($event)),
           "$event: what an operator named stays");
    }
};


# An event comes and goes: once its keys are gone that is no loss of data, and
# what was given out before does not count in its next life.
subtest 'the next life of an event' => sub {
    my $s = Admission::Site->start(
        instances => 2, timeout => '5s',
        events => 'default threshold=1 active_ttl=60s;');
    my $redis = $s->redis;

    $s->call(0, 'ann', POST => 'check');
    my $place = $s->call(0, 'ben', POST => 'check')->json->{place};
    ok($place, 'ben has a place');
    $s->call(1, $_, POST => 'leave') for qw(ann ben);

    my $all = wait_until {
        my @ttl = map { $redis->cmd('TTL', $_) } $redis->cmd('KEYS', '{concert}:*')->@*;
        @ttl && !grep { $_ > 600 } @ttl };
    ok($all, 'its keys go');
    is($s->call(0, 'cho', POST => 'check')->json->{status}, 'active',
       'meanwhile it is the same event');
    is($s->call(1, 'ben', GET => 'status',
                headers => [ 'X-Queue-Place' => $place ])->json->{status},
       'not_in_queue', 'in which the place does not count');
};


# A host whose Redis user may not use what is new: all is as before.
subtest 'permissions of before' => sub {
    my $s = Admission::Site->start(instances => 2, timeout => '5s');
    my $redis = $s->redis;
    $redis->may_refuse;
    $redis->client->cmd('ACL', 'SETUSER', 'tickets', '-sscan',
                        'resetkeys', '~{concert}:*', '~queue:active-events',
                        '~vwr:active-events', '~rate:*');

    my $said = wait_until {
        $s->nginx->error_log =~ /redis refuses the key "\{\}:news"/ } 10;
    ok($said, 'the log says so');

    # within a second or so
    soon(1.2, sub ($n) {
        my $token = $s->call(0, 'ann', POST => 'check')->json->{entryToken};
        my $gate = sub ($i) {
            return request($s->port($i), 'GET', '/gated',
                           bearer => $s->user('ann'),
                           headers => [ 'X-Queue-Entry-Token' => $token ])
                   ->status;
        };
        ok((wait_until { $gate->(1) == 200 }), 'ann is in');
        sleep 1;

        my $took = stopwatch;
        $s->call(0, 'ann', POST => 'leave');
        ok((wait_until { $gate->(1) == 403 }),
           'who leaves is out on the other host, too');
        return $took->();
    });
};


# A host of a version before, beside this one, steps each event and tells no
# news: so does this one while it is there.
subtest 'beside a version of before' => sub {
    my $s = Admission::Site->start(timeout => '5s',
                                   events => 'concert threshold=5;');
    my $redis = $s->redis;

    $s->call(0, 'ann', POST => 'check');
    my $quiet = wait_until { $redis->stats_of(sub { sleep 1 })->{evalsha} // 0
                             == 0 } 10;
    ok($quiet, 'nothing is due');

    my $now = $redis->cmd('TIME');
    $redis->cmd('HSET', '{concert}:state', 'step',
                $now->[0] * 1000 + int $now->[1] / 1000);
    $redis->cmd('ZADD', '{}:news', $now->[0] * 1_000_000 + $now->[1],
                'concert');

    my $often = wait_until { ($redis->stats_of(sub { sleep 1 })->{evalsha} // 0)
                             >= 1 } 10;
    ok($often, 'it is looked at often');
};

done_testing;
