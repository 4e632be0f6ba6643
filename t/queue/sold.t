# An event that is sold out: who would join is refused, mostly by the host, which
# asks Redis about one in 128; who waits or is in is found, though cookies and
# storage are lost, at any host; and in a dry run nobody is refused.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '60s',
    events => 'default threshold=10 slots=3 vwr_rate=0;',
    server => <<'END');
        location /dry/queue/       { admission_dry_run on;
                                     admission_queue_api; }
        location /vwr-api/         { admission_vwr_api assign_rate=off; }
        location /dry/vwr-api/     { admission_dry_run on;
                                     admission_vwr_api assign_rate=off; }
        location /dry/vwr/         { admission_dry_run on;
                                     admission_page tier1; }
        location /api/admin/vwr/   { admission_admin_api; }
        location = /metrics        { admission_metrics; }
END

my @port = $site->ports;
my $secret = $Admission::Site::SECRETS{admin};

sub ask ($i, $who, $method, $path, %opt) {
    my $prefix = delete $opt{prefix} // '/api/queue';
    return request($port[$i], $method, "$prefix/$path", %opt,
                   bearer => $site->user($who));
}

sub check ($i, $event, $who, %opt) {
    return ask($i, $who, 'POST', "check/$event", %opt);
}

sub operator ($method, $path) {
    my $r = request($port[0], $method, "/api/queue/admin/$path",
                    bearer => $secret);
    is $r->status, 200, $path;
    return $r->json;
}

sub checks (@i) {
    my $n = 0;
    $n += metrics($port[$_])->value('redis_call_duration_seconds_count',
                                    call => 'queue_check') // 0 for @i;
    return $n;
}

# it is sold out, and the host refuses by itself

sub knows ($i, $event) {
    state $n = 0;
    my $knows = wait_until {
        my $before = checks($i);
        check($i, $event, 'stranger' . $n++)->status == 409
            && checks($i) == $before;
    };
    ok $knows, "host $i knows that $event is sold out";
}

# how many were refused, as hosts count them

sub refused ($tier = 2) {
    my $n = 0;
    $n += metrics($_)->value('sold_out_refused_total', tier => $tier) // 0
        for @port;
    return $n;
}

# The commands are the least of some: what a host knows of it counts for a second,
# and where steps are late joins are asked about meanwhile.

sub flood ($event, $n) {
    my $asked;

    for (1 .. 5) {
        my $before = checks(0, 1);
        my $refused = refused();
        my %code;
        $code{ check($_ % 2, $event, "flood$_")->json->{code} // 'none' }++
            for 1 .. $n;
        is_deeply \%code, { SOLD_OUT => $n }, "$n joins are refused";
        is refused() - $refused, $n,
            'each is counted, by whom it may be refused';

        $asked = checks(0, 1) - $before;
        last if $asked <= $n / 64;
    }
    cmp_ok $asked, '<=', $n / 64, 'at a command for 64 or more';
}


subtest 'people wait, and are in' => sub {

    # where Redis stood still just now nobody else is let in for a moment

    for my $who (qw(a b c)) {
        wait_until { check(0, 'busy', $who)->json->{status} eq 'active' };
    }
    my %place = map { $_ => check(0, 'busy', "w$_")->json } 1 .. 40;
    is $place{40}{position}, 40, 'forty wait';
    operator(POST => 'complete/busy?user=a&seats=3');

    knows($_, 'busy') for 0, 1;

    # the other host hears of who joined last by its next step

    my $heard = wait_until {
        4 == grep { check(1, 'busy', 'w40')->status == 200 } 1 .. 4;
    };
    ok $heard, 'the last one is known to the other host';
    flood('busy', 640);

    my $refused = refused();
    my %said;
    $said{ check($_ % 2, 'busy', "w$_")->json->{status} // 'none' }++
        for 1 .. 40;
    is_deeply \%said, { sold_out => 40 },
        'who waits and shows nothing is found at either host';
    is check($_, 'busy', 'b')->json->{status}, 'active',
        "host $_: so is who is in" for 0, 1;
    is refused(), $refused, 'nor are they counted as refused';
};


subtest 'nobody is there' => sub {
    check(0, 'empty', 'a');
    operator(POST => 'complete/empty?user=a&seats=3');
    knows($_, 'empty') for 0, 1;
    flood('empty', 640);

    # who comes back by a place, at one host, is known to the other

    my $place;
    operator(PUT => 'slots/empty?slots=4');
    ok wait_until { check(0, 'empty', 'b')->json->{status} };
    operator(PUT => 'threshold/empty?threshold=0');
    $place = check(0, 'empty', 'c')->json->{place};
    ok $place, 'one waits';
    operator(POST => 'complete/empty?user=b');
    $site->redis->cmd('ZREM', "{empty}:$_", 'c') for qw(queue seen);
    is check(0, 'empty', 'c', headers => [ 'X-Queue-Place' => $place ])
       ->json->{status}, 'sold_out', 'comes back by the place';
    my $found = wait_until {
        4 == grep { check(1, 'empty', 'c')->status == 200 } 1 .. 4;
    };
    ok $found, 'and is found without at the other host';
    knows(1, 'empty');
    is check(1, 'empty', 'c')->json->{position}, 1, 'each time';
};


subtest 'more seats' => sub {
    operator(PUT => 'slots/busy?slots=9');
    for my $i (0, 1) {
        my $in = wait_until { check($i, 'busy', "late$i")->status == 200 };
        ok $in, "host $i: joins are asked about again";
    }
};


subtest 'a host that comes when all is sold' => sub {
    check(0, 'later', 'a');
    operator(POST => 'complete/later?user=a&seats=3');
    my $new = $site->instance;
    my $port = $new->port;
    my $told = wait_until {
        (get($port, '/vwr-api/status/later')->json->{status} // '')
            eq 'sold_out'
    };
    ok $told, 'knows it too';
    $new->stop;
};


subtest 'a dry run' => sub {
    check(0, 'dry', 'a');
    operator(POST => 'complete/dry?user=a&seats=3');
    knows(0, 'dry');
    request($port[0], 'POST', '/api/admin/vwr/activate/dry',
            bearer => $secret);
    ok wait_until { get($port[0], '/vwr-api/status/dry')->json->{isActive} };

    my ($joins, $tickets) = map { refused($_) } 2, 1;
    for (1 .. 3) {
        my $r = check(0, 'dry', "d$_", prefix => '/dry/queue');
        is $r->status, 200, "one joins, $_";
        is $r->json->{position}, $_, 'and waits';
        is $r->json->{status}, 'sold_out', 'which is told as it is';
    }
    is refused(), $joins, 'and not counted as refused';

    is post($port[0], '/vwr-api/assign/dry')->status, 409, 'no ticket';
    is post($port[0], '/dry/vwr-api/assign/dry')->json->{position}, 1,
        'but in a dry run';
    is refused(1), $tickets + 1, 'one ticket is refused by the count';
    like get($port[0], '/dry/vwr/dry?nojs=1', headers =>
             [ Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate' ])->body,
        qr/<main class="waiting/, 'the page as well';
};

done_testing;
