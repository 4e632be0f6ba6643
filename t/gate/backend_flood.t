# One user who makes many requests is 1 in 20 of what counts, however many they are:
# a flood of answers that are well does not hide that all others fail.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;
use Admission::Scripts;
use Time::HiRes qw(time);

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    vars => { REDIS => $redis->url, BACKEND => $backend->port },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=30s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user_secret;
    admission_secret  admin admin-secret-of-the-test-0123456789;

    admission_events {
        sale  threshold=1000 backend_errors=10%;
    }
END
    server => <<'END',
        admission_event  sale;
        admission_user   jwt;

        location /api/queue/       { admission_queue_api; }
        location /api/queue/admin/ { admission_queue_api admin=on; }
        location /gated/           { admission_tier2 on;
                                     proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
);

my $port = $nginx->port;

my (%at, %token);
my @names = Admission::Scripts::listed(follow => 'args');
@at{@names} = 0 .. $#names;

sub bearer ($who) { return user_token($user_secret, userId => $who) }

sub ask ($client, $who, $args = '') {
    return $client->request(GET => "/gated/x?body={}$args", headers => [
        Authorization => 'Bearer ' . bearer($who),
        'X-Queue-Entry-Token' => $token{$who} ])->status;
}

my $client = Admission::HTTP->connect($port);
my @others = map { "user-$_" } 1 .. 8;

# all are in: later the backend that fails lets in fewer

for my $who (qw(fay guy), @others) {
    $token{$who} = post($port, '/api/queue/check/sale', bearer => bearer($who))
                       ->json->{entryToken};
    ok $token{$who}, "$who is in";
}

# Redis has the script then, and each call of it is one
is ask($client, 'fay'), 200, 'a request';
wait_until { $redis->cmd('HGET', '{sale}:follow', 'at') } 15;

my $monitor = $redis->monitor;
my $begin = time;
my ($well, $failed, %sum) = (0, 0);

for my $n (1 .. 4) {
    for my $who (@others) {
        ask($client, 'fay') == 200 and $well++ for 1 .. 12;
        ask($client, $who, '&status=503') == 503 and $failed++;
    }
}

is_deeply [ $well, $failed ], [ 4 * 8 * 12, 32 ], 'one is well, all others fail';

sub add_up () {
    for my $command ($monitor->commands) {
        my ($name, undef, $keys, $key, @rest) = @$command;
        next if $name !~ /^EVAL/i || ($key // '') ne '{sale}:follow';
        $sum{$_} += $rest[$keys - 1 + $at{$_}] for qw(requests counted failed);
    }
}

wait_until { add_up(); ($sum{requests} // 0) >= $well + $failed } 15;

# of each window, which takes 5 s: one, and a 20th of what others asked for
my $windows = 2 + int((time - $begin) / 5);
my $one = $sum{counted} - $sum{failed};

cmp_ok $one, '<=', $windows + $failed / 20, "of the one who is well $one count";
cmp_ok $sum{failed}, '>=', 8, "of the others $sum{failed}";

ok wait_until(sub {
    my $r = get($port, '/api/queue/admin/sale',
                bearer => 'admin-secret-of-the-test-0123456789')->json // {};
    ($r->{limitedBy} // '') ne '';
}, 10), 'which is seen';


# Two who do are not each a 20th of what the other asks for: of what one user
# makes in a window no more than 100 are anything to the others.

my $each = 600;
my %client = map { ($_ => Admission::HTTP->connect($port)) } qw(fay guy);
$_ = 0 for $well, $failed, values %sum;
wait_until { $monitor->commands; time - $begin > 5 } 10;
$begin = time;

for my $n (1 .. $each) {
    ask($client{$_}, $_) == 200 and $well++ for qw(fay guy);
    ask($client{fay}, $others[$n % 8], '&status=503') == 503 and $failed++
        if $n % 20 == 0;
}
is_deeply [ $well, $failed ], [ 2 * $each, $each / 20 ], 'two are well';

wait_until { add_up(); ($sum{requests} // 0) >= $well + $failed } 15;

$windows = 2 + int((time - $begin) / 5);
my $two = $sum{counted} - $sum{failed};

cmp_ok $two, '<=', $windows * 2 * (1 + 100 / 20) + 2 * $failed / 20,
    "of the two $two count";

done_testing;
