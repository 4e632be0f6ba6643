# vwr_max_queue and vwr_max_wait: a waiting room gives no more tickets than that,
# by the script on any number of hosts alike, and mostly by the host; a ticket
# that counts is what it was.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max min);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Redis;
use Admission::Rooms;
use Admission::Site;
use Admission::Swarm;


subtest 'the script' => sub {
    my $redis = Admission::Redis->start;

    # the time stands

    $redis->cmd('MSET', seconds => 1_750_000_000, us => 0);
    my $room = Admission::Rooms->new($redis, rate => 10, edit => sub ($text) {
        $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
        return $text;
    });
    my $full = sub (%opt) {
        my $a = $room->assign($opt{n}, %opt);
        return join ' ', @$a{qw(result issued full)};
    };

    is $full->(n => 2, max_queue => 5), '0 2 0', 'inactive';
    $room->admin('activate');
    is $full->(n => 3, max_queue => 5), '1 3 0', 'three of five';
    is $full->(n => 3, max_queue => 5), '4 2 1', 'and two, of three asked for';
    is $full->(n => 3, max_queue => 5), '0 0 1', 'and none';
    is $room->field('next'), 5, 'no position was spent';
    is $full->(n => 1), '6 1 0', 'without a bound one more';
    is $full->(n => 1, max_queue => 5), '0 0 1', 'more than full is full';

    # 10 a second: 2 s are 20, and 30 by what was measured

    is $full->(n => 30, max_wait => 2), '7 14 2', 'as many as wait for 2 s';
    is $full->(n => 30, max_wait => 2, measured => 15_000), '21 10 2',
        'by the measured rate';
    is $full->(n => 1, max_wait => 2, max_queue => 10), '0 0 1',
        'the nearer bound is told';

    # at 0 as if it went on as configured

    $room->admin('rate', 0);
    is $full->(n => 1, max_wait => 2), '0 0 2', 'paused: no ticket';
    is $full->(n => 1, max_wait => 4), '31 1 0', 'by the configured rate';

    $room->admin('advance', 31);
    is $full->(n => 3, max_queue => 0), '0 0 1', 'nobody may wait';
    $redis->cmd('HINCRBY', $room->key('vwr'), 'serving', 2);
    $room->forget;
    is $full->(n => 3, max_queue => 0), '32 2 1', 'but who need not';
};


my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => 'default vwr_rate=0;
               few     vwr_rate=0 vwr_max_queue=5;
               many    vwr_rate=0 vwr_max_queue=50;
               race    vwr_rate=0 vwr_max_queue=40;
               slow    vwr_rate=1 vwr_burst=0 vwr_max_wait=10s;',
    server => <<'END');
        location /vwr/           { admission_page tier1; }
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /dry/vwr-api/   { admission_dry_run on;
                                   admission_vwr_api assign_rate=off; }
        location /one/           { admission_vwr_api assign_rate=1r/h burst=1; }
        location /api/admin/vwr/ { admission_admin_api; }
        location = /metrics      { admission_metrics; }
END

my @port = $site->ports;

sub admin ($path, %opt) {
    my $r = post($port[0], "/api/admin/vwr/$path", bearer => $Admission::Site::SECRETS{admin},
                 %opt);
    is $r->status, 200, $path;
    return $r;
}

sub assign ($i, $event, %opt) {
    my $prefix = delete $opt{prefix} // '/vwr-api';
    return post($port[$i], "$prefix/assign/$event", %opt);
}

sub assigns (@i) {
    my $n = 0;
    $n += metrics($port[$_])->value('redis_call_duration_seconds_count',
                                    call => 'vwr_assign') // 0 for @i;
    return $n;
}

for my $event (qw(few many race slow)) {
    admin("activate/$event");
    for my $port (@port) {
        ok wait_until { get($port, "/vwr-api/status/$event")->json->{isActive} },
            "$event is known";
    }
}


subtest 'refused, and let in when there is room' => sub {
    my @r = map { assign($_ % 2, 'few') } 1 .. 5;
    is_deeply [ map { $_->json->{position} } @r ], [ 1 .. 5 ], 'five';

    for my $i (0, 1) {
        my $r = assign($i, 'few');
        is $r->status, 503, "host $i: no sixth";
        is $r->json->{code}, 'QUEUE_FULL', 'QUEUE_FULL';
        is $r->json->{retryAfter}, 30, 'retryAfter';
        is $r->header('Retry-After'), 30, 'Retry-After';
        is $r->header('Set-Cookie'), undef, 'no cookie';
    }

    my $ticket = $r[2]->json;
    my @held = ('X-Admission-Ticket' => $ticket->{requestId},
                'X-Admission-Visitor' => $ticket->{visitor});
    is assign(1, 'few', headers => \@held)->json->{position}, 3,
        'a ticket that counts is told';
    is get($port[0], "/vwr-api/check/few/$ticket->{requestId}",
           headers => \@held)->json->{position}, 3, 'and checked';

    is assign(0, 'few', prefix => '/dry/vwr-api')->json->{position}, 6,
        'with a dry run there is a ticket';

    # what is refused is not charged

    assign(0, 'few', prefix => '/one/vwr-api') for 1 .. 3;

    my $key = [ 'Idempotency-Key' => 'k' x 16 ];
    is assign(0, 'few', headers => $key)->status, 503, 'with a key: refused';

    # the machine may be slow, but not each time

    my ($r, $next, $best) = (undef, 6, 1e9);
    admin('advance/few', json => { batchSize => 1 });

    for (1 .. 5) {
        my $room = stopwatch;
        admin('advance/few', json => { batchSize => 1 });
        ok wait_until { ($r = assign(1, 'few'))->status == 200 } 10;
        is $r->json->{position}, ++$next, 'there is room for the next';
        is assign(0, 'few')->status, 503, 'and no other';

        $best = min($best, $room->());
        last if $best < 1;
    }
    cmp_ok $best, '<', 1, 'within a second';

    admin('advance/few', json => { batchSize => 2 });
    ok wait_until { ($r = assign(0, 'few', headers => $key))->status == 200 } 5;
    is $r->json->{position}, ++$next, 'the key was not used up';
    is assign(0, 'few', prefix => '/one/vwr-api')->json->{position}, ++$next,
        'nor the rate of the address';
};


subtest 'a flood' => sub {
    assign($_ % 2, 'many') for 1 .. 50;
    is get($port[0], '/vwr-api/status/many')->json->{totalInQueue}, 50,
        'it is full';

    ok wait_until {
        my $before = assigns(0, 1);
        assign($_, 'many') for 0, 1;
        assigns(0, 1) == $before;
    };

    # the least of some: what a host knows of it counts for a second, and then both
    # of its workers may ask; where the machine is slow a flood takes some seconds

    my ($n, $asked, $most) = (1280);

    for (1 .. 5) {
        my $before = assigns(0, 1);
        my $swarm = Admission::Swarm->new(connections => 16);
        my ($told, %code) = (0);
        my $began = time;

        for my $k (1 .. $n) {
            $swarm->request($port[$k % 2], 'POST', '/vwr-api/assign/many', {},
                            sub ($r) { $told++; $code{ $r->status }++ });
        }
        ok $swarm->run(until => sub { $told == $n }, timeout => 60),
            'all answered';
        is_deeply \%code, { 503 => $n }, 'all are refused';

        $asked = assigns(0, 1) - $before;
        $most = max($n / 64, 2 * 2 * (2 + time - $began));
        last if $asked <= $most;
    }
    cmp_ok $asked, '<=', $most, "$n calls are $asked commands";
    is get($port[0], '/vwr-api/status/many')->json->{totalInQueue}, 50,
        'no ticket was given';

    my $refused = 0;
    $refused += metrics($_)->value('event_room_refused_full_total',
                                   event => 'many') // 0 for @port;
    cmp_ok $refused, '>=', $n, 'they are counted';
};


subtest 'exact on two hosts' => sub {
    my $swarm = Admission::Swarm->new(connections => 32);
    my ($told, %code) = (0);

    for my $k (1 .. 200) {
        $swarm->request($port[$k % 2], 'POST', '/vwr-api/assign/race', {},
                        sub ($r) { $told++; $code{ $r->status }++ });
    }
    ok $swarm->run(until => sub { $told == 200 }, timeout => 60), 'answered';
    is_deeply \%code, { 200 => 40, 503 => 160 }, '40 of 200 have tickets';
};


# one a second: ten wait for 10 s

subtest 'too long' => sub {
    my ($r, $last);

    # once more where the counter moved just as the last one was told

    for my $try (1 .. 5) {
        admin('activate/slow?restart=1') if $try > 1;

        for (1 .. 40) {
            $r = assign(0, 'slow');
            last if $r->status != 200;
            $last = $r->json;
        }
        last if $last->{estimatedWait} == 10;
    }
    is $r->json->{code}, 'WAIT_TOO_LONG', 'WAIT_TOO_LONG';
    is $r->json->{retryAfter}, 30, 'retryAfter';
    is $last->{estimatedWait}, 10, 'the last one was told what is allowed';
    cmp_ok metrics($port[0])->value('event_room_refused_wait_total',
                                    event => 'slow'), '>=', 1, 'counted';
};


subtest 'the page without JavaScript' => sub {
    my $come = sub {
        return get($port[0], '/vwr/many?nojs=1', headers =>
            [ Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate' ]);
    };
    my $r = $come->();
    is $r->status, 503, 'is told so';
    is $r->header('Retry-After'), 30, 'Retry-After';
    like $r->body, qr/<main class="full">/, 'the state';
    like $r->body, qr/<div class="if-full" >\s*<p[^>]*>The line is full.*?\Q지금은 대기 인원이 가득 찼습니다/s,
        'in both languages';

    my %again;
    for (1 .. 60) {
        my ($s) = $come->()->header('Refresh') =~ /^(\d+); url=\?nojs=1$/;
        $again{$s // 'none'}++;
    }
    is_deeply [ grep { !/^\d+$/ || $_ < 30 || $_ >= 60 } keys %again ], [],
        'it comes again after 30 to 60 s';
    cmp_ok scalar keys %again, '>', 10, 'not all at once';
};

done_testing;
