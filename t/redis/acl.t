# The user that docs/redis.md recommends: every call and script works as it,
# with a prefix too, and it may do nothing else.  What it lacks is told in the
# log, and users get 503 until it has it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Redis;
use Admission::Site;

use Time::HiRes qw(time);

my $prefix = 'shop:';
my $redis = Admission::Redis->start(acl => [
    'user default on nopass ~* &* +@all',
    join ' ', 'user', Admission::Redis::acl($prefix) ]);

my $site = Admission::Site->start(
    redis => $redis,
    timeout => '8s',
    redis_url => $redis->url(user => 'tickets', password => 'tickets')
                 . " prefix=$prefix",
    events => 'default threshold=1 vwr_rate=50 admit_interval=100ms;',
    server => <<'END');
        location /vwr-api/ { admission_vwr_api; }
        location /room/    { admission_admin_api; }
        location /strict   { admission_tier2 on strict=on; empty_gif; }
END

my $nginx = $site->nginx;
my $admin = $Admission::Site::SECRETS{admin};

sub check ($who) { return $site->call(0, $who, POST => 'check') }

sub room ($method, $path) {
    return request($site->port, $method, "/room/$path", bearer => $admin);
}

sub lines ($pattern, $mark = 0) {
    return grep { /$pattern/ } split /\n/, $nginx->error_log($mark);
}


# ---- all that the module does

is room(POST => 'activate/concert')->status, 200, 'activate';
is request($site->port, 'POST', '/vwr-api/assign/concert')->status, 200,
   'assign';
is room(PUT => 'rate/concert?rate=1')->status, 200, 'rate';
is room(POST => 'advance/concert')->status, 200, 'advance';
is room(DELETE => 'rate/concert')->status, 200, 'no rate';
is room(GET => 'status/concert')->status, 200, 'status';
is room(POST => 'deactivate/concert')->status, 200, 'deactivate';

my $in = check('ann')->json;

is $in->{status}, 'active', 'one comes in';
is check('bob')->json->{status}, 'queued', 'another waits';
is $site->call(0, 'bob', GET => 'status')->status, 200, 'status';
is $site->call(0, 'ann', POST => 'heartbeat')->status, 200, 'heartbeat';
is get($site->port, '/strict', bearer => $site->user('ann'),
       headers => [ 'X-Queue-Entry-Token' => $in->{entryToken} ])->status,
   200, 'a strict gate';
is $site->call(0, 'ann', POST => 'leave')->status, 200, 'leave';
ok +(wait_until { check('bob')->json->{status} eq 'active' } 20),
   'a step lets the next one in';
is $site->admin(GET => '%s')->status, 200, 'the operators look';
is $site->admin(PUT => 'threshold/%s?threshold=3')->status, 200,
   'threshold';
is $site->admin(DELETE => 'threshold/%s')->status, 200, 'no threshold';
is $site->admin(POST => 'clear/%s')->status, 200, 'clear';

$redis->flushall;
$redis->cmd('SCRIPT', 'FLUSH');
is check('ann')->status, 200, 'after a loss of data';

is_deeply [ $redis->refused ], [], 'nothing was refused';

# but that it was late, where the machine stood still

is_deeply [ grep { !/had lost data of|is being restored/
                   && !/down\b.*: (?:connecting timed out|no reply within)/ }
            lines(qr/\[(?:error|warn)\]/) ], [], 'and nothing is in the log';
is_deeply [ grep { !/^shop:/ } $redis->cmd('KEYS', '*')->@* ], [],
    'all keys have the prefix';


# ---- and nothing else

my $other = $redis->client(user => 'tickets', password => 'tickets');

like [ $other->try(@$_) ]->[1],
     qr/^NOPERM|ACL failure|can't (?:run this command|access)/,
     "refused: @$_"
    for [ 'FLUSHALL' ], [ 'KEYS', '*' ], [ 'CONFIG', 'GET', '*' ],
        [ 'GET', 'shop:{a}:queue' ], [ 'SET', '{a}:queue', 1 ],
        [ 'SET', 'other', 1 ], [ 'ZADD', 'rest:{a}:b', 1, 2 ],
        [ 'PUBLISH', 'a', 'b' ], [ 'SCRIPT', 'FLUSH' ],
        [ 'EVAL', "return redis.call('KEYS', '*')", 0 ],
        [ 'EVAL', "return redis.call('SET', 'other', 1)", 0 ];


# ---- what it can do without

sub user (@changes) {
    $redis->cmd('ACL', 'SETUSER', 'tickets', @changes);
}

# a call may be on its way on the connection that ends

sub reconnect () {
    $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');
}

my $mark = $nginx->log_mark;

user(qw(-info -ping -select));
reconnect();
ok +(wait_until { check('ann')->status == 200 } 20), 'without INFO';

$redis->sigstop;
check('ann') for 1 .. 2;
$redis->sigcont;
ok +(wait_until { check('ann')->status == 200 } 20), 'and PING';
is_deeply [ lines(qr/NOPERM|permission/, $mark) ], [],
    'of which the log says nothing';

# a new connection needs the module's user alone

$redis->cmd('ACL', 'SETUSER', 'default', 'off');
reconnect();
ok +(wait_until { check('ann')->status == 200 } 20),
   'without the default user';
$redis->cmd('ACL', 'SETUSER', 'default', 'on');


# ---- what it cannot

# the schedule may meet it first, and the log tells of it once a second

sub fails ($what, $pattern, $break) {
    my $mark = $nginx->log_mark;
    my $start = time;
    $break->();
    my @answers = map { check("fail-$_") } 1 .. 20;

    is_deeply [ grep { $_->status != 503 } @answers ], [], "$what: 503";
    is $answers[0]->json->{code}, 'UNAVAILABLE', "$what: UNAVAILABLE";

    # at most a line a second, so that it may take as long

    my $calls = 0;
    my $told = wait_until { $calls++; check('ann'); lines($pattern, $mark) } 20;

    ok $told, "$what: the log says why" or diag $nginx->error_log($mark);

    # of the connection, of the breaker and of calls
    cmp_ok scalar lines(qr/\[error\]/, $mark), '<=',
        3 * (1 + int(time - $start)),
        "$what: and not for each of $calls calls";
}

sub works ($what) {
    ok +(wait_until { check('ann')->status == 200 } 20), "$what: back"
        or diag $nginx->error_log;
}

fails('a command', qr/replied with an error: .*(?:ACL failure|can't run this)/,
      sub { user('-zadd') });
user('+zadd');
works('a command');

fails('scripts', qr/replied with an error: NOPERM .*'evalsha'/,
      sub { user('-evalsha') });
user('+evalsha');
works('scripts');

# those that Redis knows are not sent again

user('-eval');
is check('ann')->status, 200, 'without EVAL: while Redis knows the scripts';
user('+eval');
fails('scripts in full', qr/replied with an error: NOPERM .*'eval'/,
      sub { user('-eval'); $redis->cmd('SCRIPT', 'FLUSH') });
user('+eval');
works('scripts in full');

fails('keys', qr/replied with an error: .*(?:NOPERM|key)/,
      sub { user('resetkeys', '~other:*') });
user('resetkeys', map { "~$prefix$_" } '{*}:*', 'queue:active-events',
     'vwr:active-events');
works('keys');

fails('the password', qr/down(?: after \d+ ms)?: AUTH failed: WRONGPASS/,
      sub { user('resetpass', '>another'); reconnect() });
user('resetpass', '>tickets');
works('the password');

fails('a user who is off', qr/down(?: after \d+ ms)?: AUTH failed: WRONGPASS/,
      sub { user('off'); reconnect() });
user('on');
works('a user who is off');

fails('no user', qr/down(?: after \d+ ms)?: AUTH failed: WRONGPASS/,
      sub { $redis->cmd('ACL', 'DELUSER', 'tickets') });
my (undef, @rules) = Admission::Redis::acl($prefix);
user(@rules);
works('no user');

unlike $nginx->error_log, qr/another|tickets:tickets/,
       'no password in the log';

done_testing;
