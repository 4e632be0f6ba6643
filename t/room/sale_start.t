# The start of a sale: on hosts whose clocks are apart nobody is let in ahead of
# it, by Redis's clock, in either tier; not when it is moved in the last second,
# nor when Redis goes with all that it knows, nor by a host that starts.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);
use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;

my $site = Admission::Site->start(
    workers => 2, timeout => '5s',
    events => 'default threshold=5 vwr_rate=1000 restore_wait=0;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /events/ {
            admission_event $arg_e;
            admission_tier1 auto;
            empty_gif;
        }
END

my $redis = $site->redis;

# another host, an hour ahead

my $ahead = Admission::Nginx->start(workers => 2, clock => 1,
                                    http => $site->http,
                                    server => $site->server);
$ahead->set_clock(3600);
my @port = ($site->port, $ahead->port);

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub date ($at) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at)) }

sub schedule ($i, $event, %at) {
    my %times = map { $_ => date($at{$_}) } keys %at;
    my $r = answered {
        request($port[$i], PUT => "/api/admin/vwr/schedule/$event",
                bearer => $Admission::Site::SECRETS{admin},
                json => \%times)
    };
    is $r->status, 200, "$event is set" or diag $r->raw;
}

sub status ($i, $event) {
    return get($port[$i], "/vwr-api/status/$event")->json // {};
}

sub phase ($i, $event) { return status($i, $event)->{phase} // '' }

sub assign ($i, $event) {
    my $r = post($port[$i], "/vwr-api/assign/$event");
    return $r->status == 200 ? $r->json : undef;
}

sub check ($i, $event, $ticket) {
    return get($port[$i], "/vwr-api/check/$event/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ])
           ->json // {};
}

# What Redis has at one moment: when that is, the counter, who is in.

sub look ($event) {
    my ($time, $serving, $active) = $redis->cmd('EVAL', <<'END', 0, "{$event}")
        return { redis.call('TIME'), redis.call('HGET', ARGV[1] .. ':vwr',
                 'serving') or '0', redis.call('ZCARD', ARGV[1] .. ':active') }
END
        ->@*;
    return ($time->[0] + $time->[1] / 1e6, $serving, $active);
}

# A sale that gathers, with tickets and a line.

my $events = 0;

sub gathering ($in) {
    my $event = 'sale' . ++$events;
    my $opens = now() - 10;

    schedule(0, $event, opens => $opens, starts => now() + 3600);
    for my $i (0, 1) {
        ok((wait_until { phase($i, $event) eq 'gathering' }),
           "host $i gathers");
    }
    my @tickets = map { assign($_ % 2, $event) } 1 .. 6;
    is scalar(grep { defined } @tickets), 6, 'tickets';
    is request($port[$_ % 2], POST => "/api/queue/check/$event",
               bearer => $site->user("u$_"))->json->{status}, 'queued',
        "u$_ waits" for 1, 2;

    # a start that both hosts know

    my $starts = int(now()) + 1 + $in;
    schedule(0, $event, opens => $opens, starts => $starts);
    wait_until { (status($_, $event)->{startsIn} // 0) < 1800 } for 0, 1;
    return ($event, $starts, @tickets);
}

# Until then nobody is let in; returns how often it looked before.

sub nobody_before ($event, $starts, @tickets) {
    my ($early, $told, $n) = (0, 0, 0);
    my ($time, $serving, $active);

    do {
        ($time, $serving, $active) = look($event);
        $n++ if $time < $starts;
        $early++ if $time < $starts && ($serving > 0 || $active > 0);
        my $i = $n % 2;
        my $admitted = check($i, $event, $tickets[$n % @tickets])->{admitted};
        $told++ if $admitted && now() < $starts;
    } while ($time < $starts);

    is $early, 0, "looked $n times: nobody was let in ahead of the start";
    is $told, 0, 'nor was anybody told so';
    return $n;
}

sub all_in ($event, @tickets) {
    for my $i (0, 1) {
        my @in;
        ok((wait_until { @in = grep { check($i, $event, $_)->{admitted} }
                               @tickets; @in == @tickets } 20),
           "host $i lets all in") or diag scalar @in;
    }
    ok((wait_until { $redis->cmd('ZCARD', "{$event}:active") == 2 } 20),
       'and the line has gone in');
}


ok((wait_until { get($port[1], '/vwr-api/status/x')->status == 200
                 && request($port[1], POST => '/api/queue/check/x',
                            bearer => $site->user('x'))->status == 200 } 20),
   'the host that is an hour ahead goes by the clock of Redis');


subtest 'the start' => sub {
    my $looks = 0;

    # another one where the machine was too slow to see it before

    for (1 .. 5) {
        my ($event, $starts, @tickets) = gathering(2 * slow);
        $looks = nobody_before($event, $starts, @tickets);
        all_in($event, @tickets);
        last if $looks;
    }
    cmp_ok $looks, '>', 0, 'seen before it';
};


subtest 'moved in the last second' => sub {
    my ($event, $starts, @tickets) = gathering(3 * slow);
    my $later = $starts + 2;

    wait_until { now() > $starts - 0.5 } 60;
    schedule(1, $event, starts => $later);

    if ((look($event))[0] >= $starts) {
        note 'this machine was too slow for that';
        return;
    }
    nobody_before($event, $later, @tickets);
    all_in($event, @tickets);

    # and once more, when it has started

    schedule(0, $event, starts => now() + 3600);
    ok((wait_until { phase($_, $event) eq 'gathering' }),
       "host $_ gathers again") for 0, 1;
    my ($time, $serving) = look($event);
    my $ticket;
    ok((wait_until { $ticket = assign(0, $event) }), 'another ticket');
    my $until = now() + 1.5;
    wait_until { now() > $until };
    is((look($event))[1], $serving, 'the counter stands where it is');
    ok check(0, $event, $tickets[0])->{admitted}, 'who is in stays in';
};


subtest 'Redis is gone at the start, with all that it knew' => sub {
    my ($event, $starts, @tickets) = gathering(2 * slow);
    my $version = $redis->cmd('HGET', "{$event}:schedule", 'version');

    wait_until { now() > $starts - 0.7 } 60;
    $redis->kill9;
    $_->allow(qr/redis/) for $site->nginx, $ahead;

    if (time >= $starts) {
        note 'this machine was too slow for that';
        $redis->restart;
        return;
    }

    # while it is away nobody is let in, whatever clocks say

    my $until = time + 2;
    my $in = 0;
    while (time < $until) {
        $in += grep { check($_, $event, $tickets[0])->{admitted} } 0, 1;
        sleep 0.1;
    }
    is $in, 0, 'nobody is let in';

    $redis->restart;
    for my $i (0, 1) {
        my @in;
        ok((wait_until { @in = grep { check($i, $event, $_)->{admitted} }
                               @tickets; @in == @tickets } 30),
           "it is back: host $i lets all in") or diag scalar @in;
    }
    ok((wait_until { ($redis->cmd('HGET', "{$event}:schedule", 'version')
                      // '') eq $version } 20), 'the times are there again');
};


subtest 'a host that starts' => sub {
    my $event = 'sale' . ++$events;
    schedule(0, $event, opens => now() + 3600);
    ok((wait_until { phase(0, $event) eq 'before' }), 'a sale to come');
    ok((wait_until { $redis->cmd('SISMEMBER', 'vwr:active-events', $event) }),
       'is listed');

    for (1 .. 3) {
        my $new = $site->instance;
        my @r = map { get($new->port, "/events/x?e=$event") } 1 .. 20;
        is scalar(grep { $_->status == 403 } @r), 20, 'nobody passes there';
        ok((wait_until {
            (get($new->port, "/vwr-api/status/$event")->json->{phase} // '')
            eq 'before' }), 'which knows the phase');
        $new->stop;
    }

    $site->nginx->reload;
    is get($port[0], "/events/x?e=$event")->status, 403, 'nor after a reload';
    schedule(0, $event, opens => now() - 1);
    ok((wait_until { status($_, $event)->{isActive} }), "host $_: it opens")
        for 0, 1;
};

done_testing;
