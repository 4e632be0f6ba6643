# The Redis client: every way to name and reach a Redis, and every way in
# which it can be away.  Whatever happens to Redis, a queue call is answered
# within the deadline, by 503 if need be, and works again soon after.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

use IO::Select;
use Time::HiRes qw(sleep time);

my $user = 'user-secret-of-the-test-01234567890';

# Where it fails, a call takes this long, and less than twice as long: a busy
# machine may make it late, and a second deadline is seen all the same.  Where it
# is to work there is more of it.

my $timeout = 1;
watched;
my $plenty = ' timeout=' . 5 * slow . 's';


sub conf ($redis) {
    return (http => <<END, server => <<'END');
    admission_redis   $redis;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;

        location /api/queue/  { admission_queue_api; }
        location /limited/    { admission_rate_limit queue rate=240r/m;
                                admission_queue_api; }
        location /gated/      { admission_event concert;
                                admission_tier2 on;
                                return 204; }
        location /ok          { return 204; }
END
}

sub nginx ($redis, %opt) {
    $redis .= ' timeout=' . $timeout * 1000 * slow . 'ms'
        if $redis !~ /timeout/;

    return Admission::Nginx->start(conf($redis), %opt);
}

sub check ($nginx, $who = 'alice', $at = 'api') {
    return post($nginx->port, "/$at/queue/check/concert",
                bearer => user_token($user, userId => $who));
}

sub in_time ($response) {
    return $response->status == 503
           && $response->net < 1.9 * $timeout * slow;
}

# Within 2 s after the end of what happens a call works again: more often than
# once only where the machine stands still meanwhile.

my $happened = 0;

sub is_back ($nginx, $happens, $what) {
    my $seconds;

    for (1 .. 3) {
        $happens->();
        $happened++;

        my $took = stopwatch;
        wait_until { check($nginx)->status == 200 } 20;
        $seconds = $took->();
        last if $seconds < 2 * slow;
    }

    cmp_ok $seconds, '<', 2 * slow, "$what: back within 2 s";
}

sub lines ($nginx, $pattern) {
    return scalar grep { /$pattern/ } split /\n/, $nginx->error_log;
}


# ---- ways to name it

sub refused ($args, $pattern) {
    my ($status, $output) = Admission::Nginx->conf_test(conf($args));

    ok $status != 0 && $output =~ $pattern && $output !~ /s3cret/,
       "refused: $args" or diag $output;
}

sub accepted ($args) {
    my ($status, $output) = Admission::Nginx->conf_test(conf($args));

    is $status, 0, "accepted: $args" or diag $output;
}

accepted($_) for (
    'redis://127.0.0.1', 'redis://127.0.0.1/', 'redis://localhost:7000/15',
    'redis://user:p%40ss@[::1]:7000/3 timeout=150ms prefix=shop:',
    'unix:/run/redis.sock', 'unix:///run/redis.sock?db=2',
    'unix://user:pass@/run/redis.sock');

# no message shows what stands before the @

accepted($_) for (
    'redis://127.0.0.1:7000 redis://127.0.0.1:7001',
    'redis://127.0.0.1:7000/0 cluster=on',
    'redis://u:p@127.0.0.1 redis://u:p@127.0.0.2 redis://127.0.0.3');

refused('redis://127.0.0.1/1 cluster=on', qr/"1".*database 0 alone/);
refused('redis://127.0.0.1 redis://127.0.0.2/2', qr/"2".*database 0 alone/);
refused('redis://127.0.0.1/3 redis://127.0.0.2/0', qr/"3".*database 0 alone/);
refused('redis://127.0.0.1/x redis://127.0.0.2/0',
        qr{invalid database "x" in "redis://127.0.0.1/x"});
refused('rediss://127.0.0.1 redis://127.0.0.2', qr/in the same way/);
refused('unix:/run/s redis://127.0.0.1', qr{"/run/s".*"redis://host:port"});
refused('redis://u:s3cret@127.0.0.1 redis://u:s3cret2@127.0.0.2',
        qr{another user or password in "redis://127.0.0.2"});
refused('redis://127.0.0.1 cluster=off', qr/"cluster=off".*"cluster=on"/);
refused('redis://127.0.0.1 cluster=on cluster=on', qr/duplicate "cluster="/);
accepted($_) for (
    'redis+sentinel://127.0.0.1/tickets',
    'redis+sentinel://u:p@127.0.0.1:7000,[::1]:7001,127.0.0.3/tickets/2');

refused("redis+sentinel://$_", qr{no name of a master.*"redis\+sentinel://})
    for qw(127.0.0.1 127.0.0.1/ 127.0.0.1//2);
refused('redis+sentinel:///x', qr{no host in "redis\+sentinel:///x"});
refused('redis+sentinel://127.0.0.1,/x', qr/no host in/);
refused('redis+sentinel://127.0.0.1/x/y', qr/invalid database "y"/);
refused('redis+sentinel://127.0.0.1/x redis://127.0.0.1',
        qr/with another URL or "cluster=on"/);
refused('http://u:s3cret@h', qr{unknown scheme of "http://h".*use "redis://"});
refused('127.0.0.1:6379', qr{invalid parameter "127.0.0.1:6379".*"redis://});
refused('redis://127.0.0.1 color=red', qr/invalid parameter "color".*timeout=/);
refused('timeout=1s', qr{needs a URL.*"redis://host:port/db"});
refused('redis://u:s3cret@', qr{no host in "redis://"});
refused('redis://u:s3cret@127.0.0.1:99999', qr/invalid port in/);
refused('redis://u:s3cret%4@127.0.0.1', qr/two hexadecimal digits/);
refused('redis://u@127.0.0.1', qr/has a user but no password/);
refused('redis://u:@127.0.0.1', qr/empty user or password/);
refused('redis://127.0.0.1/x', qr{invalid database "x"});
refused('redis://no.such.host.invalid', qr/host not found in/);
refused('redis://[::1', qr/invalid host in/);
refused('unix:run/redis.sock', qr{must begin with "/"});
refused('unix:/run/redis.sock?d=1', qr/only "\?db=N" is allowed/);
refused("redis://127.0.0.1 timeout=$_", qr/"timeout=$_".*"1ms" to "60s"/)
    for qw(0 x 61s -1);
refused('redis://127.0.0.1 "prefix=a{b}"', qr/"prefix=a\{b\}".*braces/);
refused('redis://127.0.0.1 password_file=none', qr/open\(\).*none" failed/);
refused('redis://:s3cret@127.0.0.1 password_file=none', qr/use one of them/);


# ---- ways to reach it

my $redis = Admission::Redis->start(unix => 1,
    config => [ 'unixsocketperm 777', 'bind 127.0.0.1 ::1' ],
    prefixes => [ 'shop:' ]);

for my $url ($redis->url, $redis->url(db => 3), $redis->url(unix => 1),
             'unix://' . $redis->unix_path . '?db=5',
             'redis://[::1]:' . $redis->port, 'redis://localhost:' . $redis->port)
{
    my $nginx = nginx($url . $plenty);

    is check($nginx)->status, 200, "reached: $url"
        or diag $nginx->error_log;

    # an idle connection does not hold the worker, for ever or for a timeout

    my $took = stopwatch;
    $nginx->quit;
    cmp_ok $took->(), '<', 4 * slow, 'quits at once';
}

for my $db (0, 3, 5) {
    ok grep({ /\{concert\}/ } @{ $redis->client(db => $db)->cmd('KEYS', '*') }),
       "database $db was used";
}

# the script of a call is gone

my $nginx = nginx($redis->url . ' prefix=shop:' . $plenty);

check($nginx);
$redis->cmd('SCRIPT', 'FLUSH');
is check($nginx)->status, 200, 'SCRIPT FLUSH is not noticed';

# once the schedule has loaded its own again

my $stats;

ok +(wait_until {
    $stats = $redis->stats_of(sub { check($nginx) });
    $stats->{evalsha} && !$stats->{eval}
} 20), 'then EVALSHA alone';

ok grep({ /^shop:\{concert\}/ } @{ $redis->cmd('KEYS', '*') }),
   'the prefix stands before the keys';


# ---- passwords

my $secret = 's3cret/:@%word';
my $escaped = 's3cret%2F%3A%40%25word';

my $locked = Admission::Redis->start(password => $secret);
my $host = '127.0.0.1:' . $locked->port;

write_file(test_dir . '/password', "$secret\n");

for my $args ("redis://:$escaped\@$host/1",
              "redis://default:$escaped\@$host",
              "redis://$host password_file=" . test_dir . '/password',
              "redis://default\@$host/2 password_file=" . test_dir
              . '/password')
{
    my $nginx = nginx($args . $plenty);

    is check($nginx)->status, 200, "let in: $args" or diag $nginx->error_log;
    unlike $nginx->error_log, qr/s3cret/, 'no secret in the log';
}

for my $args ("redis://:s3cret-is-wrong\@$host", "redis://$host",
              "redis://:$escaped\@$host/9999")
{
    my $nginx = nginx($args);
    my @answers = map { sleep 0.02; check($nginx) } 1 .. 20;

    ok !grep({ !in_time($_) } @answers), "not let in: $args";

    # after another, where the machine was so busy that nothing came at first

    my $why = qr/redis \S+ (?:still )?down.*: .*(WRONGPASS|NOAUTH|DB index)/;
    wait_until { check($nginx); lines($nginx, $why) } 20;
    is lines($nginx, $why), 1, 'one line says why';
    unlike $nginx->error_log, qr/s3cret/, 'no secret in the log';
}


# ---- away, and back

$nginx = nginx($redis->url);
ok +(wait_until { check($nginx)->status == 200 } 20), 'works';

my (@answers, $rest);

sub without_redis () {
    @answers = map { sleep 0.02; check($nginx) } 1 .. 20;
    $rest = get($nginx->port, '/ok')->status;
}

is_back($nginx, sub () {
    $redis->sigstop;
    without_redis();
    $redis->sigcont;
}, 'continued');

ok !grep({ !in_time($_) } @answers), 'stopped: 503 within the deadline';
ok grep({ $_->time < $timeout / 2 * slow } @answers) > 10,
   'and mostly at once';
is $answers[0]->json->{code}, 'UNAVAILABLE', 'UNAVAILABLE';
ok $answers[0]->header('Retry-After') >= 1, 'Retry-After';
is $rest, 204, 'the rest works';

is_back($nginx, sub () {
    $redis->kill9;
    without_redis();
    sleep 2;
    $redis->restart;
}, 'started again');

ok !grep({ !in_time($_) } @answers), 'killed: 503 within the deadline';

# the schedule may have noticed more than the calls

my ($down, $up) = map { lines($nginx, qr/redis \S+ $_ /) } 'down:', 'back after';

ok $down >= $happened && $down <= 2 * $happened,
   'a line each time it went down' or diag $down;
is $up, $down, 'and when it was back';

# Steps of the schedule that are out then fail: they are few among the calls
# that the breaker counts.

check($nginx) for 1 .. 10;
$redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
is check($nginx)->status, 200, 'CLIENT KILL is not noticed';

# What is out holds the old worker until its deadline, and no longer, as for a
# second one; what is down does not.  By a connection that has been answered
# before, the call is the old worker's.

$nginx->quit;
$nginx = nginx($redis->url . ' timeout=' . 3 * slow . 's');
ok +(wait_until { check($nginx)->status == 200 } 20), 'works with more time';

my $connection = Admission::HTTP->connect($nginx->port);
is $connection->request('GET', '/ok')->status, 204, 'a connection';

$redis->sigstop;
$connection->send("POST /api/queue/check/concert HTTP/1.0\r\n"
                  . 'Authorization: Bearer '
                  . user_token($user, userId => 'carol') . "\r\n\r\n");

my $took = stopwatch;
$nginx->reload;
cmp_ok $took->(), '<', 2 * 3 * slow, 'the old worker goes';
is $connection->response->status, 503, 'after the call that was out';

check($nginx);
check($nginx);
$took = stopwatch;
$nginx->reload;
cmp_ok $took->(), '<', 3 * slow, 'back-off does not hold up a reload';

# clients that go away while their calls are out

my ($worker) = $nginx->worker_pids;
$redis->sigcont;
ok +(wait_until { check($nginx)->status == 200 } 20), 'works again';
my $fds = fd_count($worker);

sub vanish () {
    $redis->sigstop;

    for (1 .. 40) {
        my $connection = Admission::HTTP->connect($nginx->port);
        $connection->send("POST /api/queue/check/concert HTTP/1.0\r\n"
                          . 'Authorization: Bearer '
                          . user_token($user, userId => "gone$_")
                          . "\r\n\r\n");
        $connection->close;
    }

    sleep 0.05;
    $redis->sigcont;
    $redis->cmd('SCRIPT', 'FLUSH');
}

is_back($nginx, sub () { vanish() for 1 .. 5 }, 'clients that vanished');
ok +(wait_until { fd_count($worker) <= $fds } 20), 'no descriptor is left';


# a request with a limit asks twice, and does not wait twice

$nginx = nginx($redis->url);
ok +(wait_until { check($nginx, 'alice', 'limited')->status == 200 } 20),
   'with a limit';

my $waited;

is_back($nginx, sub () {
    $redis->sigstop;
    my $took = stopwatch;
    @answers = check($nginx, 'alice', 'limited');
    $waited = $took->();
    push @answers, check($nginx, 'alice', 'limited');
    $redis->sigcont;
}, 'continued');

is $answers[0]->status, 503, 'stopped: 503';
cmp_ok $waited, '<', 1.9 * $timeout * slow, 'within one deadline';
cmp_ok $answers[1]->net, '<', 0.9 * $timeout * slow,
       'and after a single call that was not answered at once';
$nginx->quit;


# ---- what is no Redis, or a broken one

sub always (@bytes) {
    return sub ($c) {
        while ($c->command) { $c->write(@bytes) or return }
    };
}

my %broken = (
    'closes at once' => sub ($c) { },
    'hangs' => sub ($c) { $c->hang },
    'resets' => sub ($c) { $c->command; $c->reset },
    'closes in a reply' =>
        sub ($c) { $c->command; $c->write("\$100\r\nabc") },
    'speaks HTTP' => always("HTTP/1.1 400 Bad Request\r\n\r\n"),
    'sends noise' => always(join '', map { chr 1 + $_ * 7 % 255 } 1 .. 2000),
    'promises too much' => always("\$999999999\r\nabc"),
    'promises too many' => always("*2000000000\r\n:1\r\n"),
    'nests too deep' => always("*1\r\n" x 50),
    'never ends' => sub ($c) {
        $c->command;
        $c->write("\$999999999\r\n");
        1 while $c->write('x' x 65536);
    },
    'replies without end' => sub ($c) {
        $c->command;
        1 while $c->write("*1000\r\n", ":1\r\n" x 1000);
    },
    'replies unasked' => sub ($c) { $c->write("+HELLO\r\n"); $c->hang },
    'replies twice' => always("+OK\r\n+OK\r\n"),
    'has no room' =>
        sub ($c) { $c->write("-ERR max number of clients reached\r\n") },
    'is a replica' =>
        always("-READONLY You can't write against a read only replica.\r\n"),
    'is loading' => always("-LOADING Redis is loading\r\n"),
    'has no memory' => always("-OOM command not allowed\r\n"),
    'has other data' => always("-WRONGTYPE Operation against a key\r\n"),
    'answers strangely' => always(":1\r\n"),
    'answers nil' => always("\$-1\r\n"),
    'answers an empty array' => always("*0\r\n"),
);

for my $what (sort keys %broken) {
    my $fake = Admission::FakeRedis->start($broken{$what});
    my $start = time;
    my $nginx = nginx($fake->url);
    my @answers = map { sleep 0.02; check($nginx, "user$_") } 1 .. 10;
    my $connections = $fake->connections;
    my $seconds = time - $start;

    ok !grep({ !in_time($_) } @answers), "a Redis that $what"
        or diag join ' ', map { $_->status . '/' . $_->net } @answers;
    ok rss($nginx->worker_pids) < 120e6 * slow, 'memory is bounded';
    cmp_ok $connections, '<=', 12 + 4 * $seconds,
        "no storm of connections in $seconds s";
    is get($nginx->port, '/ok')->status, 204, 'the worker lives';

    $nginx->quit;
    $fake->stop;
}


# ---- a slow one: replies in pieces, whatever the pieces

my $relay_port = $redis->port;

my $slow = Admission::FakeRedis->start(sub ($c) {
    my $real = IO::Socket::INET->new("127.0.0.1:$relay_port") or return;
    my $both = IO::Select->new($real, $c->{socket});

    while (1) {
        for my $ready ($both->can_read) {

            if ($ready != $real) {
                syswrite $real, $c->read // return;
                next;
            }

            sysread $real, my $reply, 65536 or return;

            # at once where it is behind: a busy machine sleeps for longer, and
            # then more would come all the time than goes

            for my $byte (split //, $reply) {
                $c->write($byte) or return;
                $both->can_read(0.0005);
            }
        }
    }
});

$nginx = nginx($slow->url . ' timeout=' . 10 * slow . 's');
is check($nginx, "slow$_")->status, 200, 'a reply byte by byte' for 1 .. 3;

done_testing;
