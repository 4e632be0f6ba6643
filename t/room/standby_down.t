# A room on standby while Redis is away: nobody passes but those whom hosts were
# granted before, nothing waits for long, and nobody passes a host that has never
# heard of the room.  And what becomes of a worker that dies, and of a reload.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;
use Admission::Swarm;
use Admission::Waiting;
use Time::HiRes qw(sleep time);

my $rate = 40;
my $hosts = 2;

my $site = waiting_site(instances => $hosts, timeout => 300 * slow . 'ms',
                        events => "concert vwr=standby vwr_rate=$rate;");
my $redis = $site->redis;
my @page = (headers => [ Accept => 'text/html' ]);

sub standby ($i) {
    return get($site->port($i), '/vwr-api/status/concert')->json->{standby};
}

sub page ($i = 0) { return get($site->port($i), '/events/1', @page) }

# Until a page passes: not as fast as would be a flood.

sub passes ($what, $i = 0, $visitor = {}) {
    my $r;
    ok wait_until(sub {
        sleep 0.1;
        $r = visit($site, $i, $visitor, GET => '/events/1', @page);
        return $r->status == 200;
    }, 20), "host $i: $what";
}


# pages, all at once: {status => how many}, and how long the slowest took, by a
# stopwatch

sub pages ($n) {
    my $swarm = Admission::Swarm->new(connections => $n, retry => 1);
    my (%code, $slowest, $done);
    my $watch = stopwatch;

    for my $i (1 .. $n) {
        $swarm->request($site->port($i % $hosts), 'GET', '/events/1', { @page },
                        sub ($r) {
            $code{ $r->status }++;
            $slowest = time;
            $done++;
        });
    }
    $swarm->run(until => sub { ($done // 0) == $n }, timeout => 20);
    return { %code, slowest => $watch->($slowest), done => $done };
}

for my $i (0 .. $hosts - 1) { wait_until { standby($i) } }
passes('a page passes', $_) for 0 .. $hosts - 1;


# ---- Redis goes

$redis->kill9;

my $first = pages(40);
is $first->{done}, 40, 'all are answered';
cmp_ok $first->{200} // 0, '<=', $hosts * $rate / 4,
    'no more pass than hosts had in hand';
is +($first->{200} // 0) + ($first->{302} // 0), 40,
    'the others see the page, nothing fails';

# the last grant, of which hosts have heard by now, has ended by its time
sleep 1.1;

my $then = pages(40);
is_deeply [ @$then{qw(302 done)} ], [ 40, 40 ], 'then nobody passes';
cmp_ok $first->{slowest}, '<', 5 * slow, 'nothing hung';
cmp_ok $then->{slowest}, '<', 5 * slow, 'nor then';

my $r = post($site->port, '/vwr-api/assign/concert');
is $r->status, 503, 'nor are there tickets';

$site->nginx(1)->quit;
$site->nginx(1)->start_again;
is page(1)->status, 302, 'nobody passes a host that never heard of the room';


# ---- and comes back, with its data and without

$_->allow(qr/redis|waiting room/) for $site->{nginx}->@*;
$redis->restart;
passes('visitors pass again', $_) for 0 .. $hosts - 1;

my $room = answered { operator($site, GET => 'status/concert') }->json;
$redis->kill9;
$redis->restart;
$redis->flushall;
ok +(wait_until {
    my $now = operator($site, GET => 'status/concert')->json;
    ($now->{activation} // 0) == $room->{activation}
        && $now->{nextPosition} > $room->{nextPosition};
} 30), 'after a loss the activation goes on, and no position comes twice';
passes('visitors pass', $_) for 0 .. $hosts - 1;
is standby(0), true, 'and nobody saw the room';


# ---- a worker dies, a reload

my $visitor = {};
passes('a visitor passes', 0, $visitor);

$site->nginx->kill_worker;
passes('a worker dies: visitors pass');
is visit($site, 0, { %$visitor }, GET => '/events/1')->status, 200,
    'and tokens are as good';

my $conf = $site->nginx->dir . '/nginx.conf';
write_file($conf, read_file($conf) =~ s/admission:1m/admission:2m/r);
$site->nginx->reload;
passes('a reload with another zone: visitors pass');
is visit($site, 0, { %$visitor }, GET => '/events/1')->status, 200,
    'and tokens are as good';
is standby($_), true, "host $_: all the time nobody saw the room"
    for 0 .. $hosts - 1;

done_testing;
