# Reloads that change what the module has: its zone, its workers, a wrong
# configuration, no module any more and there it is again.  A crowd that joins,
# polls, books and leaves at another instance and this one sees none of it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Crowd;
use Admission::HTTP;
use Admission::Waiting;
use IO::Socket::INET;
no warnings 'portable';         # addresses are of 64 bits

my $threshold = 5;
my $site = waiting_site(
    workers => 2, timeout => '5s',
    events => "default threshold=$threshold admit_interval=200ms vwr_rate=0;
               still threshold=1;",
    server => <<'END');
        location = /still {
            admission_event still;
            admission_tier2 on;
            empty_gif;
        }
END
my ($nginx, $redis) = ($site->nginx, $site->redis);
my $conf = $nginx->dir . '/nginx.conf';
my $original = read_file($conf);


# ---- who waits all the time, and what has to be so at any moment

operator($site, POST => 'activate/concert');

my $visitor = {};
my $ticket = assign($site, 0, $visitor)->json;

sub queue ($user, $method, $call) {
    local $site->{event} = 'still';
    return $site->call(0, $user, $method => $call)->json;
}

# where Redis stood still for 1.5 s nobody is let in for as long
sub enters ($user) {
    return wait_until { queue($user, POST => 'check')->{entryToken} };
}

my $gone = enters('gone');
queue(gone => POST => 'leave');

my $ann = enters('ann');
my @waiting = qw(ben cho dan);
queue($_, POST => 'check') for @waiting;

sub gate ($user, $token) {
    return get($site->port, '/still', headers => [
        Authorization => 'Bearer ' . $site->user($user),
        'X-Queue-Entry-Token' => $token ])->status;
}

sub all_as_before ($what) {
    is gate(ann => $ann), 200, "$what: who is in passes";
    is gate(gone => $gone), 403, "$what: who left does not";
    is get($site->port, '/events/')->status, 403,
        "$what: nobody passes the waiting room";
    is check($site, 0, $visitor, $ticket->{requestId})->json->{position},
        $ticket->{position}, "$what: the ticket is what it was";
    is join(' ', map { queue($_, POST => 'check')->{position} } @waiting),
        '1 2 3', "$what: those who wait are where they were";
}

# HUP of a configuration that is changed in some way

sub reload_with ($text) {
    write_file($conf, $text);
    $nginx->reload;
}


# ---- a crowd, whose requests go on

my (@done, @reloads);

my $crowd = Admission::Crowd->new(
    site => $site, users => 120, threshold => $threshold, arrive => 8,
    fill => 20, stay => [0.1, 0.4], while => sub { @done < @reloads / 2 });

@reloads = (
    'as it is' => $original,
    'a larger zone' => $original =~ s/admission:1m/admission:3m/r,
    'a smaller one' => $original =~ s/admission:1m/admission:256k/r,
    'of another name' => $original =~ s/admission:1m/other:1m/r,
    'more workers' => $original =~ s/worker_processes \d+/worker_processes 4/r,
    'one worker' => $original =~ s/worker_processes \d+/worker_processes 1/r,
    'as it was' => $original,
);

# without waiting: the old workers go while the crowd goes on

my $at = 1;

for (my $i = 0; $i < @reloads; $i += 2) {
    my ($what, $text) = @reloads[$i, $i + 1];

    $crowd->{swarm}->timer($at, sub {
        write_file($conf, $text);
        $nginx->signal('HUP');
        push @done, $what;
    });
    $at += 1.2;
}

subtest 'a crowd through all of them' => sub {
    ok($crowd->run(120), 'everybody got in or left')
        or diag(join "\n", $crowd->lost);
    note($crowd->report);

    is scalar @done, @reloads / 2, 'all reloads happened meanwhile';
    is_deeply $crowd->{violations}, [], 'no invariant was broken';
    is $crowd->{max_active}, $threshold, 'all slots were used';
    is join(' ', map { $_->{id} } grep { $_->{admissions} > 1 }
                 $crowd->users), '', 'nobody was let in twice';
    is join(' ', map { $_->{id} } grep { $_->{lost} || $_->{thrown} }
                 $crowd->users), '', 'nobody fell out';

    # a kept connection that NGINX closes is no fault: see reload.t
    is join(' ', grep { !/connection closed|reset|Broken pipe/ }
                 keys $crowd->{errors}->%*), '', 'nothing else failed';

    wait_until { $nginx->worker_pids == 2 && !$nginx->old_worker_pids } 20;
    all_as_before('after them');
};


subtest 'the zone' => sub {
    my %text = @reloads;

    for my $what ('a larger zone', 'a smaller one', 'of another name',
                  'as it was')
    {
        reload_with($text{$what});
        all_as_before($what);
    }

    # at once, by workers that have yet to hear from Redis: what they know is
    # of the zone before

    $redis->sigstop;
    reload_with($text{'a larger zone'});
    is gate(ann => $ann), 200, 'Redis hangs: who is in passes';
    is gate(gone => $gone), 403, 'Redis hangs: who left does not';
    is get($site->port, '/events/')->status, 403,
        'Redis hangs: nobody passes the waiting room';
    $redis->sigcont;

    reload_with($original);
};


subtest 'a wrong configuration' => sub {
    my @workers = sort $nginx->worker_pids;
    my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1);
    my $port = $taken->sockport;

    # it fails as it is read; or late, when there is a zone and it is in use:
    # NGINX tries to listen five times

    my %wrong = (
        'a directive' => [ $original =~ s/admission:1m/admission:1k/r,
                           qr/\[emerg\].*admission_zone/ ],
        'a file' => [ $original =~ s/(load_module )[^;]+/$1\/nowhere.so/r,
                      qr/\[emerg\].*nowhere\.so/ ],
        'a port' => [ $original =~ s/(listen) /$1 127.0.0.1:$port; listen /r,
                      qr/\[emerg\].*still could not bind/ ],
        'a port, another zone' =>
            [ $original =~ s/(listen) /$1 127.0.0.1:$port; listen /r
                        =~ s/admission:1m/late:2m/r,
              qr/\[emerg\].*still could not bind/ ],
    );

    # of a module in the binary there is none
    delete $wrong{'a file'} if !length Admission::Nginx::module;

    $nginx->allow(qr/\[emerg\]/);

    for my $what (sort keys %wrong) {
        my ($text, $message) = $wrong{$what}->@*;
        my $mark = $nginx->log_mark;

        write_file($conf, $text);
        $nginx->signal('HUP');

        ok wait_until(sub { $nginx->error_log($mark) =~ $message }, 10),
            "$what: NGINX says so";
        is join(' ', sort $nginx->worker_pids), "@workers",
            "$what: the workers go on";
        all_as_before($what);
    }

    reload_with($original);
    all_as_before('a right one after them');
};


subtest 'without the module, and with it again' => sub {
    my $without = $original =~ s/\badmission_events \{.*?\}//sr
                            =~ s/location[^{}]*\{[^{}]*admission_[^{}]*\}//gr
                            =~ s/^\s*admission_.*$//mgr;
    my %text = ('no directives' => $without,
                'no module' => $without =~ s/load_module.*$//mr);

    my $vars = 'location = /vars { return 200 "$admission_verdict '
               . '$admission_user$admission_event$admission_position'
               . '$admission_reason $admission_address"; }';

    for my $what ('no directives', 'no module') {
        unlike $text{$what}, qr/^\s*admission_/m, "$what: so it is";

        reload_with($text{$what});
        is get($site->port, '/plain')->status, 200, "$what: NGINX goes on";
        is get($site->port, '/api/queue/status/still')->status, 404,
            "$what: nothing else is there";

        if ($what eq 'no directives') {
            reload_with($text{$what} =~ s/(listen )/$vars $1/r);
            like get($site->port, '/vars', headers => [
                    Authorization => 'Bearer ' . $site->user('ann'),
                    'X-Queue-Entry-Token' => $ann,
                    'X-Admission-Visitor' => 'x' ])->body,
                qr/^- -? ?127\.0\.0\.1$/, "$what: its variables say nothing";
        }

        # nobody is heard of meanwhile: that is as if this host were away

        reload_with($original);

        ok wait_until(sub { gate(gone => $gone) == 403 }),
            'and again: revocations are back';
        all_as_before("$what, and again");
    }
};


# Reloads one after the other, and what the master has of it: another zone
# each time, too.

subtest 'memory of the master' => sub {
    my @zones = map { $original =~ s/admission:1m/$_/r }
                'admission:1m', 'admission:2m', 'other:1m';
    my $look = sub {
        my $maps = read_file('/proc/' . $nginx->pid . '/maps');
        my $shared = 0;
        $shared += hex($2) - hex($1)
            while $maps =~ /^([0-9a-f]+)-([0-9a-f]+) rw-s/mg;
        return { shared => $shared, rss => rss($nginx->pid),
                 modules => scalar(() = $maps =~ /r-x.*admission_module/g),
                 fds => fd_count($nginx->pid) };
    };
    my $n = 0;
    my $reload = sub { reload_with($zones[$n++ % @zones]) };

    $reload->() for 1 .. 6;

    # it hears of the end of a worker a bit later: of all of them when there
    # are as few descriptors as ever
    my $before = $look->();
    my $again = 0;
    wait_until {
        my $heard = !unreaped($nginx->pid);
        my $now = $look->();
        $again = $now->{fds} < $before->{fds} || !$heard ? 0 : $again + 1;
        $before = $now if $now->{fds} <= $before->{fds};
        $again > 20;
    };
    $reload->() for 1 .. 24;

    my $after;
    wait_until {
        $after = $look->();
        !grep { $after->{$_} != $before->{$_} } qw(shared modules fds);
    };

    is $after->{$_}, $before->{$_}, "$_: as before"
        for qw(shared modules fds);
    cmp_ok $after->{rss} - $before->{rss}, '<', 1 << 20, 'memory: within 1 MB'
        if !sanitized;

    reload_with($original);
    all_as_before('after 30 reloads');
};

unlike $nginx->error_log, qr/open socket/, 'no connection was left open';

done_testing;
