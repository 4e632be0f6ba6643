# conf-examples/rate-limits.conf does what it says: who is limited where, and
# what is exempt.  (That it starts as its head says is in example_heads.t.)

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $example = Admission::Example->start('rate-limits', redis => $redis,
                                        backend => $backend);

my $connection = Admission::HTTP->connect($example->port, timeout => 60);

# answers to so many requests, {status => number}

sub answers ($n, $path, %opt) {
    my %status;
    $status{ $connection->request('GET', $path, %opt)->status }++ for 1 .. $n;
    return \%status;
}

sub user ($id) {
    return (bearer => user_token($example->secret('user'), userId => $id));
}

sub entry ($id) {
    return (cookies => { 'urr-entry-token' =>
        entry_token($example->secret('tier2'), sub => 'spring-concert', uid => $id) });
}


is_deeply answers(62, '/api/auth/login'), { 200 => 60, 429 => 2 },
    'AUTH: 60 a minute';
is_deeply answers(2, '/api/auth/login', user('ann')), { 429 => 2 },
    'by address, whoever it is';
is_deeply answers(100, '/api/auth/me'), { 200 => 100 }, 'but not "who am I"';
is_deeply answers(100, '/health'), { 200 => 100 }, 'nor health checks';

is_deeply answers(122, '/api/queue/status/spring-concert', user('ann')),
    { 200 => 120, 429 => 2 }, 'QUEUE: 120 a minute';
is_deeply answers(2, '/api/queue/status/spring-concert', user('ben')),
    { 200 => 2 }, 'of a user';

is_deeply answers(32, '/api/seats/spring-concert', user('ann'), entry('ann')),
    { 200 => 30, 429 => 2 }, 'BOOKING: 30 a minute';
is_deeply answers(2, '/api/seats/spring-concert', user('ben'), entry('ben')),
    { 200 => 2 }, 'of a user';
is_deeply answers(2, '/api/seats/spring-concert', user('cho')), { 403 => 2 },
    'only for those who are in';
is $redis->cmd('EXISTS', 'rate:booking:user:cho'), 0,
    'whom alone it counts';

my $general = $connection->request('GET', '/events');

is $general->status, 200, 'everything else';
is $general->header('RateLimit-Policy'), '"general";q=3000;w=60',
    'GENERAL: 3,000 a minute';
is $general->header('RateLimit'), '"general";r=2999;t=60', 'of a client';

is_deeply [ sort map { s/:.*//r } map { s/^rate://r }
            $redis->cmd('KEYS', 'rate:*')->@* ],
    [ qw(auth booking booking booking-address general queue queue) ],
    'the budgets there are';

done_testing;
