# What hosts tell Redis with the heartbeats: who came by the gate alone, and who
# closed a stream, and leaves by that where the event has leave_on_close=on.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Scripts;
use Admission::Site;
use Admission::Stream;
use Time::HiRes qw(sleep time);

my $site = Admission::Site->start(
    instances => 2, timeout => '60s',
    events => 'default threshold=1 admit_interval=200ms leave_on_close=on;
               kept threshold=1 admit_interval=200ms leave_on_close=off;
               turn threshold=1 claim_ttl=1m admit_interval=200ms
                    leave_on_close=off;
               deep threshold=0;',
    server => <<'END');
        location = /metrics { admission_metrics; }
        location = /turn { admission_event turn; admission_tier2 on; empty_gif; }
END
my $redis = $site->redis;

sub now { my $t = $redis->cmd('TIME'); return $t->[0] * 1e3 + $t->[1] / 1e3 }

sub open_stream ($i, $user, %opt) {
    my $event = delete $opt{event} // 'concert';

    my $stream = Admission::Stream->open($site->port($i),
        "/api/queue/stream/$event?join=1", bearer => $site->user($user), %opt);
    $stream->message or die "no stream of $user";
    return $stream;
}

sub call ($event, $user, $method, $call) {
    return request($site->port, $method, "/api/queue/$call/$event",
                   bearer => $site->user($user))->json;
}

# when a user leaves, undef: does not

sub leaving ($user, $event = 'concert') {
    return $redis->cmd('ZSCORE', "{$event}:leaving", $user);
}


subtest 'the script' => sub {
    my $q = Admission::Scripts->new($redis, event => 'script', threshold => 1);
    my $key = $q->key('leaving');
    my %at = map { ($_ => $q->ask($_)) } qw(in a b c);
    my $score = sub ($user) { $redis->cmd('ZSCORE', $key, $user) };

    my $r = $q->beat({ user => 'a', close => 30_000 },
                     { user => 'nobody', close => 30_000 });
    my $ms = $r->{us} / 1000;

    cmp_ok abs($score->('a') - $ms - 30_000), '<', 2, 'who closed a stream';
    is $score->('nobody'), undef, 'but not who was never here';
    is_deeply $r->{again}, [], 'nobody is to ask';

    # one who had two was there until the last was closed

    $ms = $q->beat({ user => 'a', close => 60_000 })->{us} / 1000;
    cmp_ok abs($score->('a') - $ms - 30_000), '<', 2,
        'another one: the shorter time counts, from then on';
    $q->leave('a', 1);
    cmp_ok $score->('a'), '<', $ms + 25_000, 'or a beacon, which says more';
    $ms = $q->beat({ user => 'a', close => 30_000 })->{us} / 1000;
    cmp_ok abs($score->('a') - $ms - 10_000), '<', 2, 'whichever came first';

    # in the order in which it was said

    $q->beat({ user => 'a', place => $at{a} });
    is $score->('a'), undef, 'a heartbeat';
    $q->beat({ user => 'a', close => 30_000 }, { user => 'a', place => $at{a} });
    is $score->('a'), undef, 'after the stream was closed';
    $q->beat({ user => 'a', place => $at{a} }, { user => 'a', close => 30_000 });
    ok $score->('a'), 'and ahead of that';

    # who leaves so is out, and the place counts no more; others stay

    $q->beat({ user => 'b', close => 30_000 });
    $redis->cmd('ZADD', $key, int $ms, 'a');
    $q->next_step;
    is_deeply [ $q->waiting ], [ qw(b c) ], 'when the time has come';
    is $q->ask('a', mode => 'status', place => $at{a})->{state}, 'out',
        'the place is gone';

    $redis->cmd('ZADD', $key, int $ms, 'b');
    $q->beat({ user => 'b', place => $at{b} });
    $q->next_step;
    is_deeply [ $q->waiting ], [ qw(b c) ], 'who is heard of in time stays';

    # as long as there are some whose time has come steps follow at once

    my $many = Admission::Scripts->new($redis, event => 'many', threshold => 0);
    $many->ask("u$_") for 1 .. 150;
    $many->beat(map { { user => "u$_", close => 30_000 } } 1 .. 150);
    $redis->cmd('ZADD', $many->key('leaving'), map { (1, "u$_") } 1 .. 150);
    is $many->step->{score}, 1, 'more to do';
    $many->step;
    is_deeply [ $many->waiting ], [], 'all are out';
};


subtest 'the script: who came by the gate' => sub {
    my $q = Admission::Scripts->new($redis, event => 'came', threshold => 1,
                                    claim_ttl => 5_000);
    my $seen = sub ($user) { $redis->cmd('ZSCORE', $q->key('active-seen'),
                                         $user) };
    $q->ask($_) for qw(in a b);
    $q->leave('in');
    $q->next_step;

    my $adm = $redis->cmd('ZSCORE', $q->key('admitted'), 'a');
    my $ends = $redis->cmd('ZSCORE', $q->key('active'), 'a');

    ok !$seen->('a'), 'let in, and not come';
    $q->beat({ user => 'a', come => $adm - 1 });
    ok !$seen->('a'), 'nor by a token of a session before';
    $q->beat({ user => 'a', come => $adm }, { user => 'b', come => $adm });
    ok $seen->('a'), 'a token of this one does';

    my $renewed = $redis->cmd('ZSCORE', $q->key('active'), 'a');
    cmp_ok $renewed, '>', $ends + 500_000, 'and the slot is renewed, once';
    is $redis->cmd('ZSCORE', $q->key('done'), 'a') >= $adm, 1,
        'the place counts no more';
    wait_until { now() > $seen->('a') + 20 };
    $q->beat({ user => 'a', come => $adm });
    is $redis->cmd('ZSCORE', $q->key('active'), 'a'), $renewed,
        'further requests are no heartbeats';
    is_deeply [ $q->waiting ], [ 'b' ], 'and let nobody in';
    is_deeply [ $q->active ], [ 'a' ], 'who waits';
};


# ---- by HTTP: a turn that is told by a stream and used at the gate alone

call(turn => first => POST => 'check');

my $ann = open_stream(0, 'ann', event => 'turn');
call(turn => first => POST => 'leave');

my $turn = $ann->message_that(sub ($m) { $m->{status} eq 'active' });
my $calls = metrics($site->port(1))->sum('redis_call_duration_seconds_count',
                                         call => 'queue_beat');
my $began = time;
my @gate = map {
    request($site->port(1), GET => '/turn', bearer => $site->user('ann'),
            headers => [ 'X-Queue-Entry-Token', $turn->{entryToken} ])->status
} 1 .. 20;
$ann->close;

is_deeply \@gate, [ (200) x 20 ], 'the gate takes the token';
ok((wait_until { $redis->cmd('ZSCORE', '{turn}:active-seen', 'ann') }),
   'and tells of it');
cmp_ok $redis->cmd('ZSCORE', '{turn}:active', 'ann') - now(), '>', 500_000,
    'the slot is kept';

# one a second and worker

cmp_ok metrics($site->port(1))->sum('redis_call_duration_seconds_count',
                                    call => 'queue_beat') - $calls,
    '<=', 2 * (1 + int(time - $began)), 'at no command a request';
is $redis->cmd('ZSCORE', '{turn}:leaving', 'ann'), undef,
    'and a stream that is closed takes nothing from her';

open_stream(0, 'pia', event => 'kept')->close;


# ---- leave_on_close

my $ben = open_stream(0, 'ben');
my $cat = open_stream(1, 'cat');
my $tab = open_stream(0, 'cat');

is leaving('cat'), undef, 'open streams';

# looked at once: the other one may be heard of at any time

my $before = now();
$cat->close;
my $at = wait_until { leaving('cat') };
ok $at, 'one of two is closed';
cmp_ok $at, '>', $before + 20_000, 'with time';
cmp_ok $at, '<=', now() + 30_000, 'of 30 s';
ok((wait_until { !leaving('cat') } 25), 'the other one is heard of');

$tab->close;
ok((wait_until { leaving('cat') }), 'the other one is closed');
is call(concert => cat => GET => 'status')->{status}, 'queued',
    'a poll is heard';
is leaving('cat'), undef, 'at once';

$tab = open_stream(1, 'cat');
$tab->close;
ok((wait_until { leaving('cat') }), 'closed again');
$redis->cmd('ZADD', '{concert}:leaving', int now(), 'cat');
ok((wait_until { !$redis->cmd('ZSCORE', '{concert}:queue', 'cat') }),
   'who is not heard of any more is out');
is call(concert => cat => GET => 'status')->{status}, 'not_in_queue',
    'without a place';

# of who is in

my $token = call(concert => ben => POST => 'check')->{entryToken};
$ben->close;
ok((wait_until { leaving('ben') }), 'who is in closes one, too');
is request($site->port(1), GET => '/gated', bearer => $site->user('ben'),
           headers => [ 'X-Queue-Entry-Token', $token ])->status, 200,
    'and goes on';
ok((wait_until { !leaving('ben') }), 'the gate is where it is heard of');

$ben = open_stream(0, 'ben');
my $other = open_stream(1, 'ben');
$ben->close;
ok((wait_until { leaving('ben') }), 'closes one of two');
ok((wait_until { !leaving('ben') } 25), 'and is heard of by the other');
$other->close;
ok((wait_until { leaving('ben') }), 'which is closed, too');

# of what the other host is about to tell anyway, and was asked for afterwards

sub told_of () {
    return { close => metrics($site->port(0))->sum('streams_closed_total') // 0,
             come => metrics($site->port(1))->sum('queue_gate_reports_total')
                     // 0 };
}

for my $wait (0.05, 0.4) {
    $ben = open_stream(0, 'ben');

    my $told = told_of();
    my @gate = map {
        $ben->close, sleep $wait if $_;
        request($site->port(1), GET => '/gated', bearer => $site->user('ben'),
                headers => [ 'X-Queue-Entry-Token', $token ])->status
    } 0, 1;
    is_deeply \@gate, [ 200, 200 ], 'the gate, before and after a close';

    ok((wait_until {
            my $now = told_of();
            $now->{close} > $told->{close} && $now->{come} > $told->{come}
        }), 'both are told of');
    sleep 0.2;
    ok((wait_until { !leaving('ben') } 20), 'in that order');
    ok $redis->cmd('ZSCORE', '{concert}:active', 'ben'), 'and is in';
}

$ben = open_stream(1, 'ben');
call(concert => dan => POST => 'check');
$ben->close;
ok((wait_until { leaving('ben') }), 'closed again');
$redis->cmd('ZADD', '{concert}:leaving', int now(), 'ben');
ok((wait_until { $redis->cmd('ZSCORE', '{concert}:active', 'dan') }),
   'the slot is the next one\'s');
ok((wait_until {
        request($site->port, GET => '/gated', bearer => $site->user('ben'),
                headers => [ 'X-Queue-Entry-Token', $token ])->status == 403
    }), 'and the token is no good');

# twice as long as until the next poll of who stands far back

my $t = now() * 1000;
for my $from (0, 5_100) {
    my @fake = $from + 1 .. $from + 5_100;

    $redis->cmd('ZADD', '{deep}:seen', map { (int now(), "fake$_") } @fake);
    $redis->cmd('ZADD', '{deep}:queue',
                map { (sprintf('%.0f', 2 * ($t + $_) + 1), "fake$_") } @fake);
}

my $eve = open_stream(0, 'eve', event => 'deep');
$before = now();
$eve->close;
$at = wait_until { leaving('eve', 'deep') };
ok $at, 'far back';
cmp_ok $at, '>', $before + 35_000, 'there is more time';


# ---- what ends otherwise is no close

is leaving('pia', 'kept'), undef, 'nor where leave_on_close is off';

my $fay = open_stream(0, 'fay');
my $closed = metrics($site->port)->sum('streams_closed_total');
$site->nginx(0)->reload;
ok $fay->message_that(sub ($m) { $m->{status} eq 'reconnect' }), 'a worker leaves';
ok $fay->ended, 'and ends its streams';
call(concert => fay => GET => 'status');
is leaving('fay'), undef, 'whose users stay';
is metrics($site->port)->sum('streams_closed_total'), $closed, 'none is counted';

done_testing;
