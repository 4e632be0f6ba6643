# How long it takes, as those who wait are told: the range, and that there is no
# number while entry is paused; and by crowds, that it takes as long.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Stream;
use Admission::Waiting;

my $secret = 'user-secret-of-the-test-01234567890';

my $site = waiting_site(
    timeout => '5s',
    events => 'default vwr_rate=1 vwr_burst=0 vwr_noshow=1 threshold=4
                       claim_ttl=2s admit_interval=200ms;
               by-hand vwr_rate=0; halted vwr_rate=10 vwr_max_wait=20s;',
    http => "keepalive_requests 10000; admission_secret user $secret;",
    server => <<'END');
        location /jwt/queue/ { admission_user jwt; admission_queue_api; }
END

my $port = $site->port;
my $redis = $site->redis;

sub now () {
    my ($s, $us) = $redis->cmd('TIME')->@*;
    return $s + $us / 1e6;
}

sub ask ($who, $method, $path) {
    return request($port, $method, "/jwt/queue/$path",
                   bearer => user_token($secret, userId => $who))->json;
}

sub is_range ($r, $name) {
    my ($low, $high) = ($r->{estimatedWaitRange} // [])->@*;
    ok defined $high && $low <= $r->{estimatedWait}
       && $r->{estimatedWait} <= $high,
       "$name: $low to $high, in the middle $r->{estimatedWait}"
        or diag json_encode($r);
    return ($low, $r->{estimatedWait}, $high);
}

sub is_paused ($r) {
    return exists $r->{estimatedWait} && !defined $r->{estimatedWait}
           && !exists $r->{estimatedWaitRange};
}


# ---- before anything is measured

operator($site, POST => 'activate/concert');

my @jars = map { {} } 1 .. 90;
my $last;

for my $jar (@jars) {
    $last = assign($site, 0, $jar)->json;
}

# another room is paused, whatever its operator does

operator($site, POST => 'activate/by-hand');

my $kim = {};

assign($site, 0, {}, event => 'by-hand') for 1 .. 50;
assign($site, 0, $kim, event => 'by-hand');

sub by_hand () {
    return check($site, 0, $kim, $kim->{'admission-ticket-by-hand'},
                 event => 'by-hand')->json;
}

# one is held for half of the time: 140 are to wait for 14 s

operator($site, POST => 'activate/halted');
assign($site, 0, {}, event => 'halted') for 1 .. 200;

my ($low, $wait, $high) = is_range($last, 'a ticket');
cmp_ok $high, '>=', $wait * 1.25, 'which is wide';

# more than go in while it is looked at
ask("user-$_", 'POST', 'check/concert') for 1 .. 120;
my $user = ask('user-120', 'GET', 'status/concert');
is_range($user, 'a place');

my $stream = Admission::Stream->open($port, '/jwt/queue/stream/concert',
    bearer => user_token($secret, userId => 'user-120'));


# ---- and then: all who wait ask, as their pages do

my $start = now;
my ($room, $queue);
my ($advanced, $held, $by_hand, @numbers) = (0, 0);

ok +(wait_until {
    if (now() - $start > $advanced + 1 && $advanced < 12) {
        operator($site, POST => 'advance/by-hand', body => '{"batchSize":2}');
        $advanced++;
    }
    operator($site, PUT => 'hold/halted')
        if now() - $start > 5.5 && !$held++;
    $by_hand = by_hand;
    push @numbers, $by_hand if !is_paused($by_hand) || !$by_hand->{paused};

    for my $jar (@jars) {
        $room = check($site, 0, $jar, $jar->{'admission-ticket-concert'})->json;
    }
    now() - $start > 11 && $room->{estimatedWaitRange}
        && $room->{estimatedWaitRange}[1] <= $room->{estimatedWait} * 1.25;
} 40), 'it is known how it goes' or diag json_encode($room);

cmp_ok $by_hand->{servingCounter}, '>', 0, 'where an operator lets in by hand';
is_deeply \@numbers, [], 'there is no number while the room is paused';

operator($site, DELETE => 'hold/halted');
is assign($site, 0, {}, event => 'halted')->status, 200,
    'time in which nobody is let in does not make the wait longer';

($low, $wait, $high) = is_range($room, 'check');
cmp_ok $low, '<=', 91 - $room->{servingCounter}, 'no more than there are';
cmp_ok $high, '>=', 90 - $room->{servingCounter} - 2, 'nor less';

$queue = ask('user-120', 'GET', 'status/concert');
is_range($queue, 'status');
cmp_ok $queue->{estimatedWait}, '>', 0, 'and takes some time';


# ---- paused

operator($site, PUT => 'hold/concert');

ok +(wait_until {
    my $jar = $jars[-1];
    $room = check($site, 0, $jar, $jar->{'admission-ticket-concert'})->json;
    is_paused($room) && $room->{paused};
}), 'held: no number' or diag json_encode($room);

ok +(wait_until { is_paused(ask('user-120', 'GET', 'status/concert')) }),
    'of the queue, too';

operator($site, DELETE => 'hold/concert');

ok +(wait_until {
    my $jar = $jars[-1];
    check($site, 0, $jar, $jar->{'admission-ticket-concert'})
        ->json->{estimatedWaitRange};
}), 'let go: there is one';


# ---- crowds

SKIP: {
    skip 'nothing of NGINX is run here: once is enough', 1 if sanitized;

    # whose people leave and come back; of many, in whom little is left to
    # chance, and of a few, of whom a tenth are three

    for my $crowds ([ 300, 3000 ], [ 200, 20000 ], [ 4000, 30 ], [ 4000, 60 ]) {
        my ($status, $output) = run(root . '/bench/estimates/run', @$crowds, 1);
        my $people = "of $crowds->[1]";
        is $status, 0, "the simulation runs $people" or diag $output;

        my @tenths = map { [ split ] } split /\n/, $output;
        my (undef, $off, $worst, $rises) = (pop @tenths)->@*;
        is @tenths, 10, 'tenths of the line';

        cmp_ok $_->[1], '>=', 75,
            "$_->[1] of 100 of tenth $_->[0] $people are told right"
            for @tenths;
        cmp_ok $_->[1], '<=', 90, "and $_->[1] by a range no wider than that"
            for @tenths;
        cmp_ok $off, '<=', 0.1, "and as many are ahead, at worst $worst % off";
        cmp_ok $rises, '>', 0, 'which is told to go up to nobody';
    }
}

done_testing;
