# A network in front of Redis: 50 ms for a round trip, and 500 ms.  What takes
# less than `timeout` works, only slower; what takes more is as if Redis were
# down, and comes back when the network does.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Certs;
use Admission::Crowd;
use Admission::HTTP;
use Admission::Proxy;
use Admission::Redis;
use Admission::Site;

use List::Util qw(max min);

watched;
my $ca = Admission::Certs->new('ca');
my $redis = Admission::Redis->start(
    tls => [ $ca, $ca->issue('redis', 'IP:127.0.0.1') ]);

my $proxy = Admission::Proxy->start($redis->port);
my $tls_proxy = Admission::Proxy->start($redis->tls_port, delay => 0.1);

sub ms ($seconds) { return int($seconds * 1000 * slow) . 'ms' }

sub site ($event, $timeout, %opt) {
    return Admission::Site->start(
        redis => $redis, event => $event, timeout => ms($timeout),
        redis_url => $redis->url(port => $proxy->port),
        events => 'default threshold=2 admit_interval=100ms;', %opt);
}

sub check ($site, $who) { return $site->call(0, $who, POST => 'check') }


# ---- what takes less than timeout

for my $delay (0.05, 0.5) {
    my $site = site("works-$delay", 8, workers => 1);

    $proxy->delay($delay);

    my @answers = map { check($site, "user-$_") } 1 .. 4;

    is_deeply [ grep { $_->status != 200 } @answers ], [],
        "$delay s: works" or diag $site->nginx->error_log;
    cmp_ok min(map { $_->time } @answers), '>=', $delay,
        'a call takes a round trip';
    is_deeply [ map { $_->json->{status} } @answers ],
        [ qw(active active queued queued) ], 'in order';

    $site->call(0, 'user-1', POST => 'leave');
    ok +(wait_until {
           check($site, 'user-3')->json->{status} eq 'active'
       } 20), 'the next one is let in';
    is $site->nginx->error_log =~ /redis \S+ down/, '', 'Redis is up';
    $site->nginx->quit;
    $proxy->delay(0);
}

# with TLS as well

{
    my $site = site('tls', 8, workers => 1, redis_url =>
        $redis->url(tls => 1, port => $tls_proxy->port)
        . ' tls_ca=' . $ca->cert);

    my @answers = map { check($site, "user-$_") } 1 .. 4;

    is_deeply [ map { $_->json->{status} } @answers ],
        [ qw(active active queued queued) ], 'TLS: works';
    cmp_ok min(map { $_->time } @answers), '>=', 0.1,
        'TLS: a call takes a round trip';
    is $site->nginx->error_log =~ /redis \S+ down/, '', 'Redis is up';
    $site->nginx->quit;
}


# ---- what takes more

{
    my $timeout = 1;
    my $site = site('fails', $timeout, workers => 1);

    # a busy machine can take as long for one call

    my $in;
    ok +(wait_until { $in = check($site, 'ann'); $in->status == 200 } 20),
        'no delay: works';

    my $token = $in->json->{entryToken};

    $proxy->delay(4 * slow);

    my @answers = map { check($site, "user-$_") } 1 .. 20;

    is_deeply [ grep { $_->status != 503 } @answers ], [],
        'more than timeout: 503';

    # not after two of them, and not when Redis answers
    cmp_ok max(map { $_->net } @answers), '<', 1.9 * $timeout * slow,
        'within it';
    cmp_ok scalar(grep { $_->net < $timeout / 2 * slow } @answers), '>', 10,
        'and mostly at once';
    is request($site->port, GET => '/gated', bearer => $site->user('ann'),
               headers => [ 'X-Queue-Entry-Token' => $token ])->status, 200,
       'the gate goes on';

    # a line a second at most, and what went before may be another reason
    ok +(wait_until {
            check($site, 'ann');
            $site->nginx->error_log
                =~ /down(?: after \d+ ms)?: no reply within \d+ ms/
        } 20), 'the log says why';

    $proxy->delay(0);
    ok +(wait_until { check($site, 'ann')->status == 200 } 20), 'and back';
    $site->nginx->quit;
}

# more than timeout for the first call, but not for the others: a connection
# is made without it

{
    my $site = site('first', 0.25, workers => 1);
    my $delay = 0.1 * slow;

    $redis->cmd('SCRIPT', 'FLUSH');
    $proxy->delay($delay);

    ok +(wait_until { check($site, 'ann')->status == 200 } 20),
       'works once there is a connection' or diag $site->nginx->error_log;
    $site->nginx->quit;
    $proxy->delay(0);
}


# ---- crowds

sub crowd ($site) {
    return Admission::Crowd->new(
        site => $site, users => 300, threshold => 30, arrive => 2.5,
        poll => 0.6, stay => [0.1, 0.3], look => 0.2);
}

sub goes_well ($crowd, $what) {
    ok $crowd->run(240), "$what: everybody got in or left"
        or diag join "\n", ($crowd->lost)[0 .. 20];
    note $crowd->report;
    is_deeply $crowd->{violations}, [], "$what: no invariant was broken";
}

my %crowd = (instances => 2, connections => 2048,
             events => 'default threshold=30 admit_interval=100ms;');

{
    my $site = site('slow', 8, %crowd);
    my $crowd = crowd($site);

    $proxy->delay(0.05);
    $crowd->{swarm}->timer(1.5, sub { $proxy->delay(0.5) });
    $crowd->{swarm}->timer(3.5, sub { $proxy->delay(0.05) });

    goes_well($crowd, 'longer timeout');
    is_deeply $crowd->{errors}, {}, 'and no call failed';
}

{
    my $timeout = 1;
    my $site = site('stall', $timeout, %crowd);
    my $crowd = crowd($site);

    # for two seconds, and until somebody was told

    my $goes_on;
    $goes_on = sub {
        return $crowd->{swarm}->timer(0.1, $goes_on) if !$crowd->{errors}{503};
        $proxy->delay(0.05);
    };

    $crowd->{swarm}->timer(1.5, sub {
        $proxy->delay(4 * slow);
        $crowd->{swarm}->timer(2, $goes_on);
    });

    goes_well($crowd, 'shorter timeout');
    is_deeply [ grep { !/503$/ } keys $crowd->{errors}->%* ], [],
        'no error but 503';
    ok $crowd->{errors}{503}, 'which came';
    cmp_ok $site->slowest, '<', 1.9 * $timeout * slow() + standstill(), 'in time';
}

done_testing;
