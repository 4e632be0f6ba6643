# The limits of Redis itself, and someone else's data under our keys: calls are
# answered by 503 in time, nobody is let in by mistake, the log says why, and
# all is well again as soon as Redis is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Crowd;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Redis;
use Admission::Site;

use Time::HiRes qw(time);

# of a call that fails; twice as much would be a second deadline
my $timeout = 1;
watched;

my $redis = Admission::Redis->start(config => [
    'save 3600 1', 'busy-reply-threshold 50', 'enable-debug-command yes',
    'loading-process-events-interval-bytes 1024', 'rdbcompression no' ]);

my $site = Admission::Site->start(
    redis => $redis, timeout => $timeout * 1000 * slow . 'ms',
    instances => 2, workers => 1, connections => 2048,
    events => 'default threshold=2 admit_interval=100ms;');

my $nginx = $site->nginx;

sub check ($who) { return $site->call(0, $who, POST => 'check') }

sub lines ($pattern, $mark = 0) {
    return grep { /$pattern/ } split /\n/, $nginx->error_log($mark);
}

sub config (@what) { $redis->cmd('CONFIG', 'SET', @what) }

# what does not wait for the answer

sub send_command (@command) {
    my $client = $redis->client;
    $client->connect;
    $client->write(@command);
    return $client;
}


# ---- each limit

my ($worker) = $nginx->worker_pids;

# 503 where the machine stood still
sub answer ($who) {
    my $r;
    wait_until { $r = check($who); $r->status == 200 } 20;
    return $r->json // {};
}

answer('ann');
is answer('bob')->{status}, 'active', 'two are in';
is answer('carol')->{status}, 'queued', 'one waits';

sub gated ($token) {
    return request($site->port, GET => '/gated', bearer => $site->user('bob'),
                   headers => [ 'X-Queue-Entry-Token' => $token ])->status;
}

sub limit ($what, $pattern, $begin, $end) {
    my $mark = $nginx->log_mark;
    my $token = answer('bob')->{entryToken};

    my $start = time;
    $begin->();

    my $told = wait_until {
        my $status = check('dora')->status;
        $status == 503 && lines($pattern, $mark);
    } 20;
    ok $told, "$what: the log says why" or diag $nginx->error_log($mark);

    # one leaves, or cannot; either way nobody takes another's place

    $site->call(0, 'ann', POST => 'leave');

    my @answers = map { check("other-$_") } 1 .. 15;

    is_deeply [ grep { $_->status != 503 } @answers ], [], "$what: 503";
    is_deeply [ grep { $_->net > 1.9 * $timeout * slow } @answers ], [],
        "$what: in time";
    is $answers[0]->json->{code}, 'UNAVAILABLE', "$what: UNAVAILABLE";
    is gated($token), 200, "$what: the gate goes on";

    # of the one connection, and of its breaker

    cmp_ok scalar lines(qr/\[error\] .*redis(?!.* replied with)/, $mark), '<=',
        2 * (time - $start) + 2, "$what: no more than a line a second";

    # what comes again after 5 s is told again, as where the machine stood still

    my %told;
    $told{$_}++ for map { /replied with an error: (.*?)(?: script: | \(and |$)/ }
                    lines(qr/./, $mark);

    is_deeply [ grep { $told{$_} > 1 + (time - $start) / 5 } keys %told ], [],
        "$what: each error once"
        or diag $nginx->error_log($mark);

    $end->();

    ok +(wait_until { check('bob')->status == 200 } 20), "$what: works again"
        or diag $nginx->error_log($mark);
    ok $redis->cmd('ZCARD', '{concert}:active') <= 2, "$what: never three";
    ok +(wait_until {
            (check('ann')->json->{status} // '') =~ /^(?:active|queued)$/
        } 20), "$what: who left can come back";
    is_deeply [ $nginx->worker_pids ], [ $worker ], "$what: the same worker";

    # as it was

    $site->call(0, $_, POST => 'leave')
        for qw(ann carol dora), map { "other-$_" } 1 .. 15;
    wait_until { (check('ann')->json->{status} // '') eq 'active' } 20;
    check('carol');
}

my $dump = "$redis->{dir}/dump.rdb";

sub save_fails () {
    unlink $dump;
    mkdir $dump or die "$dump: $!";
    write_file("$dump/file", '');
    $redis->cmd('BGSAVE');
    wait_until { $redis->cmd('INFO') =~ /rdb_last_bgsave_status:err/ } 20;
}

sub save_works () {
    unlink "$dump/file";
    rmdir $dump;
    $redis->cmd('BGSAVE');
    wait_until { $redis->cmd('INFO') =~ /rdb_last_bgsave_status:ok/ } 20;
}

my $busy;

sub busy () {
    $busy = send_command('EVAL', 'while true do end', 0);
    wait_until { ($redis->try('GET', 'x'))[1] =~ /^BUSY/ } 20;
}

sub not_busy () {
    $redis->try('SCRIPT', 'KILL');
    wait_until { !($redis->try('GET', 'x'))[1] } 20;
}

limit('maxmemory', qr/replied with an error: .*OOM command not allowed/,
      sub { config('maxmemory', '1mb') }, sub { config('maxmemory', 0) });

limit('a failed save', qr/replied with an error: .*MISCONF/,
      \&save_fails, \&save_works);

limit('a slow script', qr/BUSY |no reply within/,
      \&busy, \&not_busy);

limit('no replica', qr/replied with an error: .*NOREPLICAS/,
      sub { config('min-replicas-to-write', 1) },
      sub { config('min-replicas-to-write', 0) });

# what comes first may be that a call was on its way when its connection ended

limit('maxclients',
      qr/redis \S+ (?:still )?down\b.*: ERR max number of clients reached/,
      sub {
          config('maxclients', 1);
          $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');
      },
      sub { config('maxclients', 10000) });

{
    my $reload;

    # it takes longer than all that is asked meanwhile, and is hurried then

    $redis->pipeline(map { [ 'SET', "load-$_", 'x' x 2000 ] } 1 .. 300);

    limit('loading', qr/: LOADING /,
          sub {
              config('key-load-delay', 100_000 * slow);
              $reload = send_command('DEBUG', 'RELOAD');
              wait_until { ($redis->try('GET', 'x'))[1] =~ /^LOADING/ } 20;
          },
          sub {
              config('key-load-delay', 0);
              wait_until { !($redis->try('GET', 'x'))[1] } 30;
          });

    $redis->cmd('DEL', map { "load-$_" } 1 .. 300);
}

# a Redis that nobody has made ready for the network

{
    my $closed = Admission::FakeRedis->start(sub ($c) {
        $c->write('-DENIED Redis is running in protected mode because '
                  . "protected mode is enabled\r\n");
    });
    my $other = Admission::Site->start(
        redis => $redis, redis_url => $closed->url,
        timeout => $timeout * 1000 * slow . 'ms');

    is $other->call(0, 'ann', POST => 'check')->status, 503,
       'protected mode: 503';
    ok +(wait_until {
        $other->call(0, 'ann', POST => 'check');
        $other->nginx->error_log =~ /down\b.*: DENIED Redis is running in protected/
    } 20), 'protected mode: the log says why';
    $other->nginx->quit;
}


# ---- what Redis may drop

sub reconnect () {
    $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');
    wait_until { check('ann')->status == 200 } 20;

    # a call after the first on the new connection: by then the policy is known
    answer('ann');
}

sub warnings () { return scalar(my @l = lines(qr/\[warn\].*maxmemory-policy/)) }

is warnings, 0, 'noeviction: no warning';

config('maxmemory-policy', 'allkeys-lru');
reconnect();
is warnings, 1, 'another policy: a warning';
ok lines(qr/has "maxmemory-policy allkeys-lru".*use "noeviction"/),
   'which says what to do';
reconnect();
is warnings, 1, 'one';

config('maxmemory-policy', 'noeviction');
reconnect();
config('maxmemory-policy', 'volatile-ttl');
reconnect();
is warnings, 2, 'and one when it has changed again';

config('maxmemory-policy', 'noeviction');
reconnect();


# ---- someone else's data

$redis->flushall;
$nginx->quit;
$nginx->start_again;

my @keys = ('queue:active-events', map { "{concert}:$_" }
            qw(queue active seen active-seen done revoked threshold epoch
               state admitted used cleared leaving rate vwr admissions));

my %data = (
    'a string' => [ 'SET', 'theirs' ],
    'a list'   => [ 'RPUSH', 'a', 'b' ],
    'a hash'   => [ 'HSET', map { ($_, 'x') }
                            qw(epoch clock step active next) ],
    'a sorted set' => [ 'ZADD', 1.5, 'x', '-inf', 'y', 2, '' ],
);

# at once, or the schedule comes in between
my $replace = "redis.call('DEL', KEYS[1])
               return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))";

for my $key (@keys) {
    my (%statuses, $most);

    for my $what (sort keys %data) {
        check($_) for qw(ann bob carol);
        $redis->cmd('EVAL', $replace, 1, $key, $data{$what}->@*);

        for my $call ([ ann => POST => 'check' ], [ new => POST => 'check' ],
                      [ carol => GET => 'status' ],
                      [ bob => POST => 'heartbeat' ],
                      [ bob => POST => 'leave' ])
        {
            $statuses{ $site->call(0, @$call)->status }++;
        }
        $statuses{ $site->admin(GET => '%s')->status }++;

        $redis->cmd('DEL', $key);
        $site->call(0, $_, POST => 'leave') for qw(ann bob carol new x y);
    }

    is_deeply [ grep { !/^(?:200|503)$/ } keys %statuses ], [],
        "$key: 200 or 503";
    ok +(wait_until { check('ann')->status == 200 } 20), "$key: works again"
        or diag $nginx->error_log;
}

ok lines(qr/replied with an error: .*WRONGTYPE/), 'the log says so';
is_deeply [ lines(qr/\[(?:alert|crit)\]/) ], [], 'and nothing worse';
$redis->flushall;


# ---- in the middle of a crowd

{
    my $site = Admission::Site->start(
        redis => $redis, event => 'crowd', connections => 2048,
        timeout => $timeout * 1000 * slow . 'ms', instances => 2,
        events => 'default threshold=20 admit_interval=100ms;');

    my $crowd = Admission::Crowd->new(
        site => $site, users => 300, threshold => 20, arrive => 4,
        poll => 0.5, stay => [0.1, 0.4]);

    my @faults = (
        [ 'maxmemory', sub { config('maxmemory', '1mb') },
                       sub { config('maxmemory', 0) } ],
        [ 'a slow script', \&busy, \&not_busy ],
        [ 'a failed save', \&save_fails, \&save_works ],
        [ 'maxclients', sub {
              config('maxclients', 1);
              $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');
          }, sub { config('maxclients', 10000) } ],
    );

    my $at = 1;

    for my $fault (@faults) {
        my ($what, $begin, $end) = @$fault;

        $crowd->{swarm}->timer($at, sub { note $what; $begin->() });
        $crowd->{swarm}->timer($at + 0.8, $end);
        $at += 1.6;
    }

    ok $crowd->run(240), 'everybody got in or left'
        or diag join "\n", ($crowd->lost)[0 .. 20];
    note $crowd->report;

    is_deeply $crowd->{violations}, [], 'no invariant was broken';
    is_deeply [ grep { !/503$/ } keys $crowd->{errors}->%* ], [],
        'no error but 503';
    ok $crowd->{errors}{503}, 'which came while Redis refused';
    cmp_ok $site->slowest, '<', 1.9 * $timeout * slow() + standstill(),
        'and in time';
}

done_testing;
