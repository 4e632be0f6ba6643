# What of a sale outlives: times that an operator set, of an event with a waiting
# room alone, a loss of Redis's data; a start that was reached, a clock of Redis
# that goes back; and hosts that have just heard of neither.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '5s', redis_opt => { clock => 1 },
    events => 'default threshold=5 vwr_rate=1000 restore_wait=0;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /seats/ {
            admission_event $arg_e;
            admission_tier2 on;
            empty_gif;
        }
END

my $redis = $site->redis;

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub date ($at) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at)) }

sub operator ($i, $method, $path, %opt) {
    return request($site->port($i), $method, "/api/admin/vwr/$path",
                   bearer => $Admission::Site::SECRETS{admin}, %opt);
}

# the times, as seconds from now

sub schedule ($i, $event, %in) {
    my $now = now();
    my $r = operator($i, PUT => "schedule/$event",
                     json => { map { $_ => date($now + $in{$_}) } keys %in });
    is $r->status, 200, "$event is set" or diag $r->raw;
}

sub status ($port, $event) {
    return get($port, "/vwr-api/status/$event")->json // {};
}

sub assign ($i, $event) { return post($site->port($i), "/vwr-api/assign/$event") }

sub check ($i, $event, $ticket) {
    return get($site->port($i), "/vwr-api/check/$event/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ])
           ->json // {};
}

# Where Redis stood still for 1.5 s nobody is let in for as long: who comes then is
# a moment later.

sub enters ($i, $event, $user) {
    return wait_until {
        my $r = request($site->port($i), POST => "/api/queue/check/$event",
                        bearer => $site->user($user))->json // {};
        ($r->{status} // '') eq 'active' && $r
    } || {};
}

sub kept ($event, $field = 'version') {
    return $redis->cmd('HGET', "{$event}:schedule", $field) // '';
}

sub steps ($event, $seconds) {
    my $from = $redis->cmd('HGET', "{$event}:vwr", 'updated') // 0;
    ok((wait_until { ($redis->cmd('HGET', "{$event}:vwr", 'updated') // 0)
                     > $from + $seconds * 1e6 } 20), 'steps go on');
}

sub gathering ($event) {
    schedule(0, $event, opens => -10, starts => 3600);
    for my $i (0, 1) {
        ok((wait_until { my $s = status($site->port($i), $event);
                         $s->{isActive} && $s->{phase} eq 'gathering' }),
           "host $i gathers");
    }
    my $r = assign(0, $event);
    is $r->status, 200, 'a ticket';
    return $r->json;
}


subtest 'times of a waiting room alone, after a loss' => sub {
    my $ticket = gathering('lost');
    my $version = kept('lost');

    $redis->cmd('FLUSHALL');
    $_->allow(qr/redis/) for $site->nginx(0), $site->nginx(1);
    ok((wait_until { kept('lost') eq $version } 20), 'hosts put them back');

    # a host that knows nothing has them from there, and lets nobody in

    my $new = $site->instance;
    ok((wait_until { (status($new->port, 'lost')->{phase} // '')
                     eq 'gathering' }), 'a new host has them');
    steps('lost', 1);
    is $redis->cmd('HGET', '{lost}:vwr', 'serving'), 0,
        'the counter stands';
    ok !check($_, 'lost', $ticket)->{admitted}, "host $_ lets nobody in"
        for 0, 1;
    $new->stop;
};


# Another host refuses at once what the first does; the times are set again and
# again, so that some calls come ahead of the news.

subtest 'a host that has not heard of the times' => sub {
    for my $n (1 .. 5) {
        my $event = "fresh$n";
        is operator(0, POST => "activate/$event")->status, 200, 'active';
        my $ticket;
        ok((wait_until { ($ticket = assign(1, $event))->status == 200 }),
           'a ticket on the other host');
        my $of = $redis->cmd('HGET', "{$event}:vwr", 'activation');

        schedule(0, $event, opens => -10, starts => 3600);
        for my $path ("activate/$event?restart=1", "deactivate/$event") {
            my $r = operator(1, POST => $path);
            is $r->status . ' ' . ($r->json->{code} // ''), '409 GATHERING',
                $path;
        }
        is $redis->cmd('HGET', "{$event}:vwr", 'active'), 1, 'still active';
        is $redis->cmd('HGET', "{$event}:vwr", 'activation'), $of,
            'the same activation';
    }
    unlike $site->nginx(1)->error_log, qr/waiting room (?:deac|ac)tivated by/,
        'the log tells of no change';
};

# An entry token of before the sale, which is shut by now.

subtest 'a host that starts, at the gate of tier 2' => sub {
    for my $n (1 .. 3) {
        my $event = "gate$n";
        my $user = $site->user("u$n");
        my $r = enters(0, $event, "u$n");
        is $r->{status}, 'active', 'one who is in';
        my @shown = (bearer => $user, headers =>
                     [ 'X-Queue-Entry-Token' => $r->{entryToken} ]);
        is get($site->port, "/seats/x?e=$event", @shown)->status, 200, 'passes';

        schedule(0, $event, opens => 3600);
        my $new = $site->instance;
        my %codes = map { $_ => 1 } map {
            my $r = get($new->port, "/seats/x?e=$event", @shown);
            $r->status . ' ' . ($r->header('Content-Type') =~ /json/
                                ? $r->json->{code} : '') } 1 .. 20;
        is_deeply [ sort keys %codes ], ['403 NOT_OPEN'],
            'nobody passes a host that has just started';
        $new->stop;
    }
};


# A host that starts in between finds the event listed, and asks.

subtest 'it is listed ahead of its times' => sub {
    my $monitor = $redis->monitor;
    schedule(0, 'listed', opens => 3600);

    my @told = map { uc $_->[0] eq 'SADD' && $_->[1] eq 'vwr:active-events'
                     && $_->[2] eq 'listed' ? 'list'
                     : grep({ /^\{listed\}:schedule$/ } @$_) ? 'times' : () }
               $monitor->commands;
    is $told[0], 'list', 'listed first';
    ok scalar(grep { $_ eq 'times' } @told), 'then set';
};


subtest 'nextPoll of who is refused' => sub {
    is operator(0, POST => 'activate/many')->status, 200, 'active';
    is assign(0, 'many')->status, 200, 'a ticket';
    $redis->cmd('HSET', '{many}:vwr', 'next', 1_000_000);
    schedule(0, 'many', opens => 3600);
    ok((wait_until { (status($site->port, 'many')->{phase} // '') eq 'before' }),
       'moved');
    my $r;
    ok((wait_until { ($r = assign(0, 'many')->json)->{nextPoll} > 2 }),
       'come again less often') or diag explain $r;
    is $r->{code}, 'NOT_OPEN', 'as refused';
};


# The last: a failover to a Redis whose clock is an hour behind.

subtest 'the clock of Redis goes back' => sub {
    my $ticket = gathering('back');
    is request($site->port, POST => '/api/queue/check/back',
               bearer => $site->user('b'))->json->{status}, 'queued',
        'one in line';
    schedule(0, 'back', opens => -1800, starts => -900);
    ok((wait_until { check(0, 'back', $ticket)->{admitted} }), 'it is open');
    ok((wait_until { $redis->cmd('ZCARD', '{back}:active') == 1 }),
       'and the line goes in');
    steps('back', 0.5);
    ok((wait_until { (status($site->port($_), 'back')->{phase} // '')
                     eq 'open' }), "as host $_ knows") for 0, 1;

    $redis->set_clock(-3600);
    wait_until { abs(now() - CORE::time + 3600) < 60 };
    my $until = now() + 2;
    my %phases;
    while (now() < $until) {
        $phases{ status($site->port($_), 'back')->{phase} // 'none' } = 1
            for 0, 1;
        select undef, undef, undef, 0.05;
    }
    is_deeply [ sort keys %phases ], ['open'], 'it stays open';

    my $r = assign(1, 'back');
    is $r->status, 200, 'tickets are given' or diag $r->raw;
    ok((wait_until { check(1, 'back', $r->json)->{admitted} } 20),
       'and served') if $r->status == 200;
    is enters($_, 'back', "late$_")->{status}, 'active',
        "host $_: and who joins gets in" for 0, 1;

    # a later time is one to come

    schedule(0, 'back', opens => -10, starts => 7200);
    ok((wait_until { (status($site->port($_), 'back')->{phase} // '')
                     eq 'gathering' }), "host $_: moved, it gathers") for 0, 1;
};

done_testing;
