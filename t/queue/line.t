# max_queue and max_wait: who would join a line that takes no more is refused,
# by the script on any number of hosts alike, and mostly by the host; those who
# are in it, or in, or hold a place, are not, whatever they show.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(min);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Redis;
use Admission::Scripts;
use Admission::Swarm;

my $tier1 = 'tier1-secret-of-the-test-0123456789';
my $tier2 = 'tier2-secret-of-the-test-0123456789';
my $user = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;


# ---- the script

subtest 'the script' => sub {
    my $q = Admission::Scripts->new($redis, event => 'script', threshold => 1,
                                    max_queue => 3);
    my %at;

    is $q->ask('in')->{state}, 'in', 'the first is in';
    $at{$_} = $q->ask($_) for qw(a b c);
    is $at{$_}{state}, 'waiting', "$_ waits" for qw(a b c);

    my $before = $redis->cmd('ZRANGE', $q->key('queue'), 0, -1, 'WITHSCORES');
    my $d = $q->ask('d');
    is $d->{state}, 'full', 'the fourth is refused';
    is $d->{did}, 0, 'and nothing was done';
    is_deeply $redis->cmd('ZRANGE', $q->key('queue'), 0, -1, 'WITHSCORES'),
        $before, 'the line is as it was';
    is $redis->cmd('ZSCORE', $q->key('seen'), 'd'), undef, 'nobody is seen';

    is $q->ask('b')->{position}, 2, 'who waits is told where';
    is $q->ask('in')->{state}, 'in', 'who is in is in';
    is $q->ask('d', mode => 'status')->{state}, 'out', 'status tells no more';

    # a place lets in regardless

    $redis->cmd('ZREM', $q->key('queue'), 'a');
    $redis->cmd('ZREM', $q->key('seen'), 'a');
    is $q->ask('d')->{state}, 'waiting', 'there is room for one more';
    is $q->ask('e')->{state}, 'full', 'and no other';
    my $back = $q->ask('a', place => $at{a});
    is "$back->{state} $back->{position}", 'waiting 1',
        'who was taken out comes back by the place';
    is $back->{size}, 4, 'to a line that is fuller than full';
    is $q->ask('e')->{state}, 'full', 'which takes nobody';

    $q->leave($_) for qw(a b);
    is $q->ask('e')->{state}, 'waiting', 'until it is less than full';

    my $none = Admission::Scripts->new($redis, event => 'none', threshold => 1,
                                       max_queue => 0);
    is $none->ask('x')->{state}, 'in', 'no line: one enters';
    is $none->ask('y')->{state}, 'full', 'nobody waits';
    is $none->ask('y')->{active}, 1, 'the answer has the numbers';
    $none->leave('x');
    is $none->ask('y')->{state}, 'in', 'and the next enters';

    # before there is a rate, position / 50 and 5 s at least

    my $wait = Admission::Scripts->new($redis, event => 'wait', threshold => 0,
                                       max_wait => 6000);
    is $wait->ask("w$_")->{state}, 'waiting', "$_ waits"
        for 1, 2;
    $redis->cmd('ZADD', $wait->key('queue'), map { $_, "x$_" } 1 .. 346);
    is $wait->ask('w3')->{position}, 349, 'one of whom 6 s are told';
    is $wait->ask('w4')->{state}, 'too_long', 'the next would be told 7 s';
};


subtest 'the wait is what the API tells' => sub {
    my $q = Admission::Scripts->new($redis, event => 'rate', threshold => 0,
                                    max_wait => 10_000);
    $q->ask('first');
    $redis->cmd('HSET', $q->key('state'), rate => 500);   # one in 2 s

    is $q->ask("u$_")->{state}, 'waiting', "position @{[ $_ + 1 ]}"
        for 1 .. 4;
    is $q->ask('u5')->{state}, 'too_long', 'the sixth would wait for 12 s';

    # who comes with an earlier ticket would not

    my $act = $redis->cmd('TIME')->[0] * 1e6;
    $redis->cmd('HSET', $q->key('vwr'), activation => $act);
    my $soon = $q->ask('early', tier1 => { at => 1_000_000, act => $act,
                                           adm => $act + 1 });
    is "$soon->{state} $soon->{position}", 'waiting 1',
        'an earlier ticket has a shorter wait';
    $redis->cmd('ZREM', $q->key('queue'), 'early');
    is $q->ask('u5')->{state}, 'too_long', 'the others do not';

    $redis->cmd('HSET', $q->key('state'), rate => 600);
    is $q->ask('u5')->{state}, 'waiting', 'nor where it goes faster';
};


# ---- hosts

sub host (%opt) {
    return Admission::Nginx->start(workers => 2, http => <<END,
    admission_zone    admission:4m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier1 $tier1;
    admission_secret  tier2 $tier2;
    admission_secret  user  $user;

    admission_events {
        default  threshold=1;
        few      threshold=2 max_queue=5 admit_interval=200ms;
        many     threshold=0 max_queue=50;
        race     threshold=0 max_queue=40;
        slow     threshold=0 max_wait=1s;
        closed   threshold=1 max_queue=0 active_ttl=5s session_max=5s;
        big      threshold=0 max_queue=2500;
    }
END
        server => <<'END');
        admission_user  jwt;

        location /api/queue/        { admission_queue_api; }
        location /api/queue/admin/  { admission_queue_api admin=on; }
        location /dry/queue/        { admission_dry_run on;
                                      admission_queue_api; }
        location = /metrics         { admission_metrics; }
END
}

my @host = (host(), host());
my @port = map { $_->port } @host;

sub ask ($i, $who, $method, $path, %opt) {
    my $prefix = delete $opt{prefix} // '/api/queue';
    return request($port[$i], $method, "$prefix/$path", %opt,
                   bearer => user_token($user, userId => $who));
}

sub join_as ($i, $who, $event, %opt) {
    return ask($i, $who, 'POST', "check/$event", %opt);
}

sub size ($event) { return $redis->cmd('ZCARD', "{$event}:queue") }

sub checks (@i) {
    my $n = 0;
    $n += metrics($port[$_])->value('redis_call_duration_seconds_count',
                                    call => 'queue_check') // 0 for @i;
    return $n;
}

# a host refuses by itself: it knows that the line is full, and who is in it

sub knows ($i, $event) {
    my $n = 0;
    return wait_until {
        my $before = checks($i);
        my $r = join_as($i, 'nobody' . $n++, $event);
        $r->status == 503 && checks($i) == $before;
    } 10;
}


subtest 'refused, and let in when there is room' => sub {

    # where Redis stood still just now nobody else is let in for a moment

    for my $who (qw(in1 in2)) {
        ok wait_until { join_as(0, $who, 'few')->json->{status} eq 'active' },
            "$who is in";
    }
    is join_as(0, "w$_", 'few')->json->{position}, $_, "$_ waits" for 1 .. 5;

    for my $i (0, 1) {
        my $r = join_as($i, 'late', 'few');
        is $r->status, 503, "host $i: refused";
        is $r->json->{code}, 'QUEUE_FULL', 'QUEUE_FULL';
        is $r->json->{retryAfter}, 30, 'retryAfter';
        is $r->header('Retry-After'), 30, 'Retry-After';
        is $r->header('Set-Cookie'), undef, 'no cookie';
        is ask($i, 'late', 'GET', 'status/few')->json->{status},
            'not_in_queue', 'status is as ever';
    }

    is join_as(1, 'late', 'few', prefix => '/dry/queue')->json->{position}, 6,
        'with a dry run all are taken';
    is ask(1, 'late', 'POST', 'leave/few')->status, 200, 'and leave';

    ok knows($_, 'few'), "host $_ knows" for 0, 1;

    # by users without any cookie, who are in line, or in, by this host or
    # another, which hears of them by its steps

    ok wait_until {
        !grep { join_as(1, $_, 'few')->status != 200 } qw(w1 w2 w3 w4 w5 in1 in2)
    }, 'host 1 has heard of all';

    for my $i (0, 1) {
        is join_as($i, "w$_", 'few')->json->{position}, $_,
            "host $i: $_ is found in line" for 1 .. 5;
        is join_as($i, $_, 'few')->json->{status}, 'active',
            "host $i: $_ is found in" for qw(in1 in2);
    }

    # room for one, and who asks for it all the time; the machine may be slow,
    # but not each time

    my ($leaves, $best, $r) = ('w5', 1e9);

    for my $next (map { "late$_" } 1 .. 5) {
        my $gone = stopwatch;
        is ask(0, $leaves, 'POST', 'leave/few')->status, 200, 'one leaves';
        ok wait_until { ($r = join_as(1, $next, 'few'))->status == 200 } 10;
        is $r->json->{position}, 5, 'there is room, at the end';
        is size('few'), 5, 'for one';

        $best = min($best, $gone->());
        last if $best < 1;
        $leaves = $next;
    }
    cmp_ok $best, '<', 1, 'within a second';
};


subtest 'a flood' => sub {
    is join_as(0, "m$_", 'many')->json->{position}, $_, "$_ waits"
        for 1 .. 50;
    ok knows($_, 'many'), "host $_ knows" for 0, 1;

    # the other host hears of who is in line by its steps, in order

    ok wait_until { !grep { join_as(1, "m$_", 'many')->status != 200 } 48 .. 50 },
        'all of them, host 1 too';

    # the least of some: what a host knows of it counts for a second, and where
    # steps are late joins are asked about meanwhile

    my ($n, $asked) = (1280);

    for (1 .. 5) {
        my $before = checks(0, 1);
        my $swarm = Admission::Swarm->new(connections => 16);
        my ($told, %code) = (0);

        for my $k (1 .. $n) {
            $swarm->request($port[$k % 2], 'POST', '/api/queue/check/many',
                { headers => [ Authorization => 'Bearer '
                               . user_token($user, userId => "f$k") ] },
                sub ($r) { $told++; $code{ $r->status }++ });
        }
        ok $swarm->run(until => sub { $told == $n }, timeout => 60),
            'all answered';
        is_deeply \%code, { 503 => $n }, 'all are refused';

        $asked = checks(0, 1) - $before;
        last if $asked <= $n / 64;
    }
    cmp_ok $asked, '<=', $n / 64, "$n joins are $asked commands";
    cmp_ok $asked, '>', 0, 'which are some';
    is size('many'), 50, 'nobody came in';

    # those in line are not among them

    for (1, 25, 50) {
        my $r = join_as($_ % 2, "m$_", 'many');
        is $r->json->{position}, $_, "$_ is in line all the same"
            or diag $r->raw;
    }

    my $refused = 0;
    $refused += metrics($_)->value('event_queue_refused_full_total',
                                   event => 'many') // 0 for @port;
    cmp_ok $refused, '>=', $n, 'they are counted';
};


# Who has been in line and is not any more is one of the others, soon.

subtest 'those who were cleared away' => sub {
    is ask(0, 'op', 'POST', "admin/clear/many",
           headers => [])->status, 403, '(a user may not)';
    my $admin = user_token($user, userId => 'op', role => 'admin');
    is request($port[0], 'POST', '/api/queue/admin/clear/many',
               bearer => $admin)->status, 200, 'the line is cleared';
    is join_as(0, "n$_", 'many')->json->{position}, $_, "$_ waits"
        for 1 .. 50;

    my $known = wait_until {
        my $before = checks(0);
        join_as(0, "m$_", 'many')->status == 503 or die for 1 .. 20;
        checks(0) - $before <= 1;
    } 30;
    ok $known, 'who was there before is not asked about';
    is join_as(1, "n$_", 'many')->status, 200, "$_ is, and is there"
        for 1, 50;
};


subtest 'exact on two hosts' => sub {
    my $swarm = Admission::Swarm->new(connections => 32);
    my ($told, %code) = (0);

    for my $k (1 .. 200) {
        $swarm->request($port[$k % 2], 'POST', '/api/queue/check/race',
            { headers => [ Authorization => 'Bearer '
                           . user_token($user, userId => "r$k") ] },
            sub ($r) { $told++; $code{ $r->status }++ });
    }
    ok $swarm->run(until => sub { $told == 200 }, timeout => 60), 'answered';
    is_deeply \%code, { 200 => 40, 503 => 160 }, '40 of 200 joined';
    is size('race'), 40, 'and wait';
};


# 5 s is the least that is told before there is a rate

subtest 'too long' => sub {
    my $r = join_as(0, 'one', 'slow');
    is $r->status, 503, 'refused';
    is $r->json->{code}, 'WAIT_TOO_LONG', 'WAIT_TOO_LONG';
    is $r->json->{retryAfter}, 30, 'retryAfter';
    is $r->header('Retry-After'), 30, 'Retry-After';
    is metrics($port[0])->value('event_queue_refused_wait_total',
                                event => 'slow'), 1, 'counted';
};


subtest 'no line at all' => sub {
    is join_as(0, 'a', 'closed')->json->{status}, 'active', 'one is in';
    is join_as(0, 'b', 'closed')->json->{code}, 'QUEUE_FULL', 'none waits';

    my $r;
    ok wait_until { ($r = join_as(0, 'b', 'closed'))->status == 200 } 20;
    is $r->json->{status}, 'active', 'the slot ends: the next is in';
    is size('closed'), 0, 'nobody ever waited';
};


# more than a step tells at once, of users that no host has seen join

subtest 'a long line' => sub {
    join_as(0, 'first', 'big');
    my $score = $redis->cmd('ZSCORE', '{big}:queue', 'first');
    my $now = int(time * 1000);

    # at once: a step in the middle would tell that it is full, and who is there
    # by then

    my @there = map { my $k = $_; map { "b$k-$_" } 1 .. 100 } 0 .. 24;
    $redis->cmd('ZADD', '{big}:seen', map { $now, $_ } @there);
    $redis->cmd('ZADD', '{big}:queue',
                map { $score + 2 * ($_ + 1), $there[$_] } 0 .. $#there);

    ok knows(1, 'big'), 'a host knows who is in it';

    # it may hear that it is full, by an answer, before the steps have told who
    # these are

    ok +(wait_until {
        !grep { join_as(1, "b$_-7", 'big')->status != 200 } 0 .. 24
    } 10), 'all of them';
};

done_testing;
