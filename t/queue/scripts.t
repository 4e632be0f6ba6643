# The queue scripts by themselves: order, threshold, places, priority,
# claims, clear, clean-up, loss and gaps.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start;
my $events = 0;

# The time is what the test says: nothing but go_by() moves it.

my $us = 1_750_000_000_000_000;

sub go_by ($seconds) {
    $us += int($seconds * 1e6);
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub now_ms () { return int($us / 1000) }

sub timed () { s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die }

sub event (%opt) {
    go_by(0);
    return Admission::Scripts->new($redis, event => 'e' . ++$events,
                                   edit => \&timed, %opt);
}

# So many seconds pass, in which the event has had its steps.
sub later ($e, $s) {
    go_by($s);
    $redis->cmd('HINCRBY', $e->key('state'), $_, 1000 * $s) for qw(step busy);
}

# A step of the next interval: one that may let in.
sub next_step ($e) {
    go_by($e->{admit_interval} / 1000);
    return $e->step;
}


subtest 'in at once, then in order' => sub {
    my $e = event;

    is($e->ask('a')->{state}, 'in', 'first');
    is($e->ask('b')->{state}, 'in', 'second');

    my $c = $e->ask('c');
    is($c->{state}, 'waiting', 'third waits');
    is($c->{position}, 1, 'at 1');
    is($c->{score} % 2, 1, 'odd score without a ticket');
    is($e->ask('d')->{position}, 2, 'fourth at 2');
    is($e->ask('c')->{position}, 1, 'again: the same place');

    next_step($e);
    is_deeply([$e->active], [qw(a b)], 'nobody more');

    $e->leave('a');
    is($e->ask('f')->{state}, 'waiting', 'a free slot is not for newcomers');
    is(next_step($e)->{position}, 1, 'one let in');
    is_deeply([$e->active], [qw(b c)], 'the first of the line');
    is_deeply([$e->waiting], [qw(d f)], 'the others wait');
    is($e->ask('c')->{state}, 'in', 'and knows');
    is($e->ask('a', mode => 'status')->{state}, 'out', 'who left is out');
};


subtest 'steps of one interval let in once' => sub {
    my $e = event(threshold => 100, admit_batch => 3, admit_interval => 3600_000);

    $redis->cmd('SET', $e->key('threshold'), 0);
    $e->ask("u$_") for 1 .. 10;
    $redis->cmd('DEL', $e->key('threshold'));

    my @let = grep { $_ } map { $e->step->{position} } 1 .. 10;
    is_deeply(\@let, [3], 'three, by the first step');
    is_deeply([$e->waiting], [map { "u$_" } 4 .. 10], 'the others in order');
};


subtest 'threshold by the API' => sub {
    my $e = event;

    $e->admin('set', 0);
    is($e->ask('a')->{state}, 'waiting', '0 pauses');
    $e->admin('set', 1);
    $e->ask('b');
    next_step($e);
    is_deeply([$e->active], ['a'], 'one');
    is($e->admin->{api_threshold}, 1, 'told');
    is($e->admin('unset')->{threshold}, 2, 'back to the configuration');
    next_step($e);
    is_deeply([$e->active], [qw(a b)], 'two');
};


subtest 'places' => sub {
    my $e = event(threshold => 0);
    my %place = map { $_ => $e->ask($_) } qw(a b c);

    # as the clean-up would
    $redis->cmd('ZREM', $e->key($_), 'a') for qw(queue seen);
    is($e->ask('a', mode => 'status')->{state}, 'out', 'swept out');

    for my $mode (qw(status heartbeat check)) {
        $redis->cmd('ZREM', $e->key($_), 'a') for qw(queue seen);
        my $back = $e->ask('a', mode => $mode, place => $place{a});
        is($back->{position}, 1, "$mode with the place: back at 1");
        is($back->{score}, $place{a}{score}, 'the old score');
    }

    $redis->cmd('ZREM', $e->key($_), 'a') for qw(queue seen);
    my $end = $e->ask('a');
    is($end->{position}, 3, 'without it: at the end');
    is($e->ask('a', place => [$end, $place{a}])->{position}, 1,
       'and up again with it, the lowest of two');

    $e->leave('a');
    is($e->ask('a', mode => 'status', place => $place{a})->{state}, 'out',
       'who left has no place');
    my $again = $e->ask('a', place => $place{a});
    is($again->{position}, 3, 'and joins at the end');
    is($e->ask('a', place => [$place{a}, $again])->{position}, 3,
       'and stays there');

    $e->admin('clear');
    is($e->ask('b', place => $place{b}, mode => 'status')->{state}, 'out',
       'no place after clear');
    is($e->ask('c', place => $place{c})->{position}, 1, 'who comes is first');
    is($e->ask('b', place => $place{b})->{position}, 2, 'who comes is second');
};


subtest 'a place is spent by coming in' => sub {
    my $e = event(threshold => 1);

    $e->ask('a');
    my $place = $e->ask('b');
    $e->ask('c');
    $e->leave('a');
    next_step($e);
    is_deeply([$e->active], ['b'], 'b is in');
    is($e->ask('b', place => $place)->{state}, 'in', 'and comes');
    $redis->cmd('ZREM', $e->key($_), 'b') for qw(active active-seen admitted);
    is($e->ask('b', mode => 'status', place => $place)->{state}, 'out',
       'the place is spent');
    is($e->ask('b', place => $place)->{position}, 2, 'at the end');
};


subtest 'a claim that is not made' => sub {
    my $e = event(threshold => 1, claim_ttl => 300_000, active_ttl => 600_000);

    $e->ask('a');
    my $place = $e->ask('b');
    $e->ask('c');
    $e->leave('a');
    next_step($e);
    is_deeply([$e->active], ['b'], 'b is let in');
    later($e, 350);
    next_step($e);
    is_deeply([$e->active], ['c'], 'b did not come: c is let in');
    cmp_ok($redis->cmd('ZSCORE', $e->key('revoked'), 'b'), '>', 0,
           'a token of b would be refused');
    is($e->ask('c')->{state}, 'in', 'c came');
    later($e, 350);
    next_step($e);
    is_deeply([$e->active], ['c'], 'and stays');

    my $back = $e->ask('b', mode => 'status', place => $place);
    is($back->{state}, 'waiting', 'b finds the place');
    is($back->{score}, $place->{score}, 'the old score');
};


subtest 'active slots' => sub {
    my $e = event(threshold => 1, active_ttl => 400_000, session_max => 900_000,
                  seen_ttl => 3_600_000);

    my $in = $e->ask('a');
    $e->ask('b');
    later($e, 250);
    my $renewed = $e->ask('a', mode => 'heartbeat');
    is($renewed->{adm}, $in->{adm}, 'the same admission');
    cmp_ok($renewed->{expires}, '>', $in->{expires}, 'renewed');
    later($e, 250);
    next_step($e);
    is_deeply([$e->active], ['a'], 'still in');

    later($e, 200);
    is($e->ask('a', mode => 'status')->{expires},
       int($in->{adm} / 1000) + 900_000, 'to the cap');
    later($e, 250);
    is($e->ask('a', mode => 'status')->{state}, 'out', 'out');
    next_step($e);
    is_deeply([$e->active], ['b'], 'and not beyond');
};


subtest 'priority of tier 1' => sub {
    my $e = event(threshold => 0);
    my $act = 1_700_000_000_000_000;
    $redis->cmd('HSET', $e->key('vwr'), 'activation', $act);

    my $now = $e->ask('x')->{clock};
    my $token = sub ($at, %more) {
        return { at => $at, act => $act, adm => $now, %more };
    };
    my ($p1, $p2, $p3) = map { $now - 10_000_000 + $_ } 1 .. 3;

    is($e->ask('c', tier1 => $token->($p3))->{position}, 1, 'before x');
    is($e->ask('a', tier1 => $token->($p1))->{position}, 1, 'before c');
    my $b = $e->ask('b', tier1 => $token->($p2));
    is($b->{position}, 2, 'between');
    is($b->{score}, 2 * $p2, 'even score');
    is($e->ask('thief', tier1 => $token->($p2))->{state}, 'used',
       'nobody else with the position');
    is_deeply([$e->waiting], [qw(a b c x)], 'nobody joined by that');

    for my $bad ($token->($p2 + 10, act => $act + 1), $token->($now + 1e12),
                 $token->($p2 + 10, adm => $now - 601_000_000))
    {
        my $x = $e->ask('late', tier1 => $bad);
        is($x->{position}, 5, 'no priority: at the end');
        $redis->cmd('ZREM', $e->key('queue'), 'late');
    }

    # in, and left: no priority any more; and still nobody else's
    $e->admin('set', 1);
    next_step($e);
    is_deeply([$e->active], ['a'], 'a is in');
    is($e->ask('thief', tier1 => $token->($p1))->{state}, 'used',
       'the position stays used');
    is($e->ask('a')->{state}, 'in', 'a came');
    $e->leave('a');
    $e->admin('set', 0);
    is($e->ask('a', tier1 => $token->($p1))->{position},
       scalar($e->waiting), 'a comes back at the end');

    # swept out, without the place: the position still is b's
    $redis->cmd('ZREM', $e->key($_), 'b') for qw(queue seen);
    $redis->cmd('HSET', $e->key('used'), $p2, 'b');
    is($e->ask('b', tier1 => $token->($p2))->{score}, 2 * $p2, 'b again');

    $e->admin('clear');
    is($e->ask('thief', tier1 => $token->($p3))->{state}, 'used',
       'used after clear as well');

    # a place got right after a clear counts
    my $place = $e->ask('b', tier1 => $token->($p2));
    is($place->{state}, 'waiting', 'b waits again');
    $redis->cmd('ZREM', $e->key($_), 'b') for qw(queue seen);
    is($e->ask('b', mode => 'status', place => $place)->{state}, 'waiting',
       'and has a place that counts');
};


# Where a token is needed to join at all its ticket is one user's, whether or
# not it gives priority by now.

subtest 'a ticket lets one user join' => sub {
    my $act = 1_700_000_000_000_000;

    for my $line (0, 1) {
        my $e = event(threshold => $line ? 0 : 100);
        my $what = $line ? 'with a line' : 'in at once';
        my $joined = $line ? 'waiting' : 'in';

        $redis->cmd('HSET', $e->key('vwr'), 'activation', $act);

        my $now = $e->ask('x')->{clock};
        my ($t1, $t2, $t3, $t4) = map { $now - 10_000_000 + $_ } 1 .. 4;
        my $early = sub ($at, %more) {
            return (tier1 => { at => $at, act => $act, adm => $now, %more },
                    pass => $at);
        };
        my %stale = (adm => $now - 601_000_000);

        # without priority: the token is late, and has no time of its own
        is($e->ask('a', pass => $t1)->{state}, $joined, "$what: by a late one");
        is($e->ask('thief', pass => $t1)->{state}, 'used',
           "$what: nobody else by it");
        is($e->ask('thief', $early->($t1))->{state}, 'used',
           "$what: nor by an earlier one of that ticket");
        is($e->ask('thief', $early->($t1, %stale))->{state}, 'used',
           "$what: nor by one whose priority is over");
        is($e->ask('a', pass => $t1)->{state}, $joined, "$what: a is there");

        $e->leave('a');
        is($e->ask('thief', pass => $t1)->{state}, 'used',
           "$what: nor when its user has left");
        is($e->ask('a', pass => $t1)->{state}, $joined,
           "$what: who may come again");

        # the other way round
        is($e->ask('b', $early->($t2))->{state}, $joined, "$what: an early one");
        is($e->ask('thief', pass => $t2)->{state}, 'used',
           "$what: nobody by a late one of it");

        # who has been in or left since the ticket was issued gets no priority
        # by it, and does not come in by it either
        $e->ask('thief');
        $e->leave('thief');
        is($e->ask('thief', $early->($t2))->{state}, 'used',
           "$what: nor who was there before");

        # of another ticket than the one with priority
        is($e->ask('c', $early->($t3), pass => $t1)->{state}, 'used',
           "$what: both tickets of two have to be the user's");
        is($e->ask('c', $early->($t3), pass => $t4)->{state}, $joined,
           "$what: and are");
        is($e->ask('d', pass => $_)->{state}, 'used', "$what: both used")
            for $t3, $t4;

        # a place lets its holder in without
        is($e->ask('thief', mode => 'report')->{state}, 'needs_tier1',
           "$what: without a token nobody");
    }

    # a token that is not needed is not used up
    my $e = event(threshold => 100);
    is($e->ask($_)->{state}, 'in', "$_, where none is needed") for qw(a b);
};


subtest 'clean-up, in bounded steps' => sub {
    my $e = event(threshold => 0, seen_ttl => 100);
    my $n = 2500;

    $redis->cmd('ZADD', $e->key('queue'), map { (2 * $_ + 1, "u$_") } 1 .. $n);
    $redis->cmd('ZADD', $e->key('seen'), map { (1, "u$_") } 1 .. $n);
    $e->ask('here');

    my @left;
    do {
        $e->ask('here');
        push @left, $e->step;
    } while $left[-1]{score} && @left < 10;

    is(scalar @left, 3, 'three steps for 2500');
    is_deeply([map { $_->{size} } @left], [1501, 501, 1], '1000 a step');
    is_deeply([$e->waiting], ['here'], 'who is here stays');
};


subtest 'expired slots, in bounded steps' => sub {
    my $e = event(threshold => 2000);
    my $n = 2000;

    $e->ask('x');
    $redis->cmd('ZADD', $e->key('active'), map { (1, "u$_") } 1 .. $n - 1);
    $redis->cmd('ZADD', $e->key('queue'), map { (2 * $_ + 1, "w$_") } 1 .. 50);
    my $now = $e->admin->{us} / 1000;
    $redis->cmd('ZADD', $e->key('seen'), map { (int $now, "w$_") } 1 .. 50);

    my $answer = $e->step;
    cmp_ok($answer->{active}, '<=', 2000, 'never more than the threshold');
    ok($answer->{score}, 'more to do');
    for (1 .. 10) {
        last if !$e->step->{score};
    }
    next_step($e);
    is($e->admin->{active}, 51, 'all gone, all in');
};


subtest 'dropped before let in' => sub {
    my $e = event(threshold => 1, seen_ttl => 600_000, active_ttl => 3_600_000);

    $e->ask('a');
    $e->ask('gone');
    $e->ask('b');
    later($e, 700);
    $e->ask($_) for qw(a b);
    $e->leave('a');
    next_step($e);
    is_deeply([$e->active], ['b'], 'who is gone gets no slot');
};


subtest 'a beacon' => sub {
    my $e = event(threshold => 1);

    $e->ask($_) for qw(a b);
    $e->leave($_, 1) for qw(a b);
    next_step($e);
    is_deeply([$e->active], ['a'], 'not at once');

    $e->ask('a');
    ok(!defined $redis->cmd('ZSCORE', $e->key('leaving'), 'a'),
       'a heartbeat undoes it');

    $redis->cmd('ZADD', $e->key('leaving'), 1, 'b');
    next_step($e);
    is_deeply([$e->waiting], [], 'b is gone after the time');
    ok($redis->cmd('ZSCORE', $e->key('done'), 'b'), 'as by leaving');
};


subtest 'loss of data' => sub {
    my $e = event(threshold => 2, restore_wait => 70_000);

    my %x = map { $_ => $e->ask($_) } qw(a b c d e);
    my $old = $x{a}{epoch};
    $e->admin('set', 1);
    my $knew = $e->admin;

    $redis->cmd('DEL', map { $e->key($_) } qw(queue active seen active-seen
        done revoked threshold epoch state admitted used leaving rate));

    # what a host knew comes with its first call
    $e->{host} = { epoch => $old, clock => $knew->{clock}, active => 2,
                   api_threshold => 1 };
    is($e->ask('new')->{state}, 'waiting', 'nobody is let in');
    cmp_ok($e->admin->{epoch}, '>', $old, 'a new life');
    is($e->admin->{threshold}, 1, 'the threshold is known again');

    $e->{host} = {};
    for my $user (qw(e c d)) {
        my $back = $e->ask($user, mode => 'status', place => $x{$user});
        is($back->{score}, $x{$user}{score}, "$user has the old score");
    }
    is_deeply([$e->waiting], [qw(c d e new)], 'the old order');

    my $exp = int($x{a}{expires} / 1000) - 5;
    is($e->ask('a', mode => 'restore',
               entry => { adm => $x{a}{adm}, exp => $exp })->{state}, 'in',
       'an entry token is a slot');

    $e->admin('set', 10);
    next_step($e);
    is_deeply([$e->active], ['a'], 'nobody is let in while it lasts');
    $e->admin('set', 2);

    later($e, 90);
    next_step($e);
    is_deeply([$e->active], ['a'], 'two are known to be in: none free');

    $e->admin('set', 3);
    next_step($e);
    is_deeply([$e->active], [qw(a c)], 'then in order');
};


subtest 'a gap' => sub {
    my $e = event(threshold => 1, active_ttl => 200_000, seen_ttl => 200_000,
                  claim_ttl => 200_000);

    $e->ask($_) for qw(a b c);
    $e->step;

    # no step has run for five minutes
    $redis->cmd('HSET', $e->key('state'), 'clean', 0);
    go_by(300);

    is($e->ask('d')->{state}, 'waiting', 'no slot by expiry');
    next_step($e);
    is_deeply([$e->active], ['a'], 'nobody loses a slot');
    is_deeply([$e->waiting], [qw(b c d)], 'nobody is swept out');
    is($e->ask('a', mode => 'heartbeat')->{state}, 'in', 'it is renewed');

    # the pause over
    $redis->cmd('HSET', $e->key('state'), 'gap', 0, 'settle', 0);
    later($e, 300);
    $e->ask($_, mode => 'status') for qw(b c);
    next_step($e);
    is_deeply([$e->active], ['b'], 'then as ever');
};


subtest 'an event that comes to life again is no gap' => sub {
    my $e = event(threshold => 1, active_ttl => 300_000);

    $e->ask('a');
    $e->step;
    $e->leave('a');
    my $step = $redis->cmd('HGET', $e->key('state'), 'step');
    $redis->cmd('HSET', $e->key('state'), 'step', $step - 60_000,
                'busy', $step - 60_000);

    is($e->ask('b')->{state}, 'in', 'somebody comes');
    next_step($e);
    later($e, 350);
    $e->ask('c');
    next_step($e);
    is_deeply([$e->active], ['c'], 'slots end as ever');
};


# What a host tells of itself says whether a step that is late was missed.
subtest 'late, and missed' => sub {
    my @since = ( # what the host knows, ms in touch; a gap, and nobody let in
        [ 'in touch all the time', 3_600_000, 0 ],
        [ 'out of touch since',    1_000,     1 ],
        [ 'it knows nothing',      undef,     1 ],
    );

    for (@since) {
        my ($what, $in_touch, $missed) = @$_;
        my $e = event(threshold => 3, claim_ttl => 1000, active_ttl => 60_000);

        $e->ask($_) for qw(ann ben cho dan);    # dan waits
        next_step($e);

        my $now = now_ms;

        # as if nothing had been heard of for 20 s
        $redis->cmd('HSET', $e->key('state'), 'step', $now - 20_000,
                    'stepped', $now - 20_000, 'busy', $now - 20_000, 'due',
                    $now - 19_500);
        $redis->cmd('ZADD', $e->key('active'), $now - 1000, 'cho');

        $e->{host} = { ms => $now, in_touch => $in_touch }
            if defined $in_touch;
        $e->step;

        my $gap = $redis->cmd('HGET', $e->key('state'), 'gap') // 0;
        is($gap > $now ? 1 : 0, $missed, "$what: a gap, or not");
        is_deeply([ $e->waiting ], $missed ? [ 'dan' ] : [],
                  'who waits is let in at once, or after it');
    }

    # a call that Redis took its time for says nothing of the time since
    my $e = event(threshold => 1);
    $e->ask('ann');
    $e->step;

    my $now = now_ms;
    $redis->cmd('HSET', $e->key('state'),
                map { $_ => $now - 20_000 } qw(step stepped busy due));
    $e->{host} = { ms => $now - 15_000, in_touch => 3_600_000 };
    $e->step;
    cmp_ok($redis->cmd('HGET', $e->key('state'), 'gap') // 0, '>', $now,
           'sent before Redis was away: a gap');
};


# Where nobody waits a step is due when a slot ends, and its being far away is
# neither late nor a gap.
subtest 'nothing is due' => sub {
    my $e = event(threshold => 2, active_ttl => 60_000);
    $e->ask('ann');
    $e->step;

    my $now = now_ms;
    is($redis->cmd('HGET', $e->key('state'), 'due'), $now + 60_000,
       'when the slot ends');

    # 50 s later, on a host that is in touch for 20 s
    $redis->cmd('HINCRBY', $e->key('state'), $_, -50_000)
        for qw(step stepped busy);
    $e->{host} = { ms => $now, in_touch => 20_000 };

    is($e->ask('ben')->{state}, 'in', 'who comes is in at once');
    is($e->ask('cho')->{state}, 'waiting', 'the next one waits');
    is($redis->cmd('HGET', $e->key('state'), 'gap'), undef, 'no gap');
    cmp_ok($redis->cmd('HGET', $e->key('state'), 'due'), '<', $now + 5000,
           'now a step is due');

    # one that has just come, or is in touch again, is to be heard first
    my $f = event(threshold => 2, active_ttl => 60_000);
    $f->ask('ann');
    $f->step;
    $redis->cmd('HINCRBY', $f->key('state'), $_, -50_000)
        for qw(step stepped busy);
    $f->{host} = { ms => now_ms, in_touch => 500 };
    is($f->ask('ben')->{state}, 'waiting', 'out of touch just now: nobody is in');

    # once: 2 s later, and still without a step
    my $g = event(threshold => 2, active_ttl => 60_000);
    $g->ask('ann');
    $g->step;
    $redis->cmd('HINCRBY', $g->key('state'), $_, -50_000)
        for qw(step stepped busy);
    $g->{host} = { ms => now_ms, in_touch => 500 };
    is($g->admin->{did}, 64, 'the host is told of it');
    is($g->admin->{did}, 0, 'and not again');

    $redis->cmd('HINCRBY', $g->key('state'), 'settle', -2000);
    $redis->cmd('HINCRBY', $g->key('state'), 'met', -2_000_000);
    $g->{host} = { ms => now_ms, in_touch => 2600 };
    my $in = $g->ask('ben');
    is_deeply([ @$in{qw(state did)} ], [ 'in', 2 + 1 ],
              'when all have been heard who comes is in');
};


# Of one who never was here nothing is noted; whose token may be out, is out.
subtest 'who leaves, and was what' => sub {
    my $revoked = sub ($e, $user) {
        return $redis->cmd('ZSCORE', $e->key('revoked'), $user) ? 1 : 0;
    };
    my $e = event(threshold => 1);

    $e->leave('nobody');
    $e->leave('nobody', 1);
    is_deeply($redis->cmd('KEYS', $e->key('*')), [], 'nobody leaves nothing');

    $e->ask('ann');
    my $place = $e->ask('ben');
    is($e->leave('cho')->{did}, 0, 'one who never was in the queue');
    ok(!$revoked->($e, 'cho') && !$redis->cmd('ZSCORE', $e->key('done'), 'cho'),
       'is not noted');

    is($e->leave('ben')->{did}, 16, 'one who waited');
    ok(!$revoked->($e, 'ben'), 'had no token');
    is($e->ask('ben', mode => 'status', place => $place)->{state}, 'out',
       'and the place counts no more');

    is($e->leave('ann')->{did}, 48, 'one who was in');
    ok($revoked->($e, 'ann'), 'had one');

    is($e->leave('dan', 0, 2)->{did}, 32, 'one who shows a token');
    ok($revoked->($e, 'dan'), 'has one');
    # after a loss of data nobody knows who has one
    my $f = event(threshold => 1);
    $f->ask('ann');
    my $epoch = $redis->cmd('GET', $f->key('epoch'));
    $redis->cmd('DEL', $redis->cmd('KEYS', $f->key('*'))->@*);
    $f->{host} = { epoch => $epoch, clock => $epoch };
    is($f->leave('fay')->{did} & 32, 32, 'after a loss: may have had one');

    $e->leave('eve', 0, 1);
    ok($redis->cmd('ZSCORE', $e->key('done'), 'eve')
       && !$revoked->($e, 'eve'), 'one who shows a place');
};


# An event that no operator named goes ten minutes after its last user.
subtest 'a brief event' => sub {
    my $e = event(threshold => 1, host => { brief => 1 });
    my $ttls = sub { map { $redis->cmd('TTL', $_) }
                     $redis->cmd('KEYS', $e->key('*'))->@* };

    $e->ask('ann');
    $e->ask('ben');
    $e->leave('ann');
    ok(!(grep { $_ <= 600 } $ttls->()), 'somebody waits: it stays');
    $e->leave('ben');
    is_deeply([ grep { $_ < 590 || $_ > 600 } $ttls->() ], [],
              'nobody does: it goes');

    # what comes later does not put that off, but for users
    $e->leave('ben');
    $e->ask('ben', mode => 'status');
    $e->step;
    $redis->cmd('EXPIRE', $_, 100) for $redis->cmd('KEYS', $e->key('*'))->@*;
    $e->ask('ben', mode => 'status');
    $e->step;
    $e->admin;
    is_deeply([ grep { $_ > 100 } $ttls->() ], [], 'calls do not put it off');
    $e->ask('cho');
    ok(!(grep { $_ <= 600 } $ttls->()), 'a user does');

    # long tokens are refused for as long as they live
    my $long = event(threshold => 1, token_ttl => 7_200_000,
                     active_ttl => 3_600_000, host => { brief => 1 });
    $long->ask('ann');
    $long->leave('ann');
    cmp_ok($redis->cmd('TTL', $long->key('revoked')), '>', 3500,
           'a revocation stays for as long as a token');

    # an operator names it, or its waiting room is active
    for my $how ('threshold', 'vwr') {
        my $set = event(threshold => 1, host => { brief => 1 });
        $set->admin('set', 1) if $how eq 'threshold';
        $redis->cmd('HSET', $set->key('vwr'), 'activation', 1)
            if $how eq 'vwr';
        $set->ask('ann');
        $set->leave('ann');
        ok(!(grep { $_ >= 0 && $_ <= 600 }
             map { $redis->cmd('TTL', $_) }
             $redis->cmd('KEYS', $set->key('*'))->@*), "$how: it stays");
    }
};


subtest 'everything expires, but what an operator set' => sub {
    my $e = event(threshold => 1);

    $redis->cmd('HSET', $e->key('vwr'), 'activation', 5);
    $e->ask($_) for qw(a b c);
    $e->admin('set', 2);
    next_step($e);
    $e->leave('a');
    $e->leave('c', 1);

    my %ttl = map { $_ => $redis->cmd('TTL', $_) }
              $redis->cmd('KEYS', $e->key('*'))->@*;
    delete $ttl{ $e->key('vwr') };

    is(delete $ttl{ $e->key('threshold') }, -1, 'threshold stays');
    cmp_ok($ttl{$_}, '>', 604_000, "$_ expires") for sort keys %ttl;

    my @log = $redis->cmd('XRANGE', $e->key('admissions'), '-', '+')->@*;
    is(scalar @log, 2, 'two admissions in the stream');
    my %entry = $log[1][1]->@*;
    is($entry{action}, 'admitted', 'action');
    is($entry{userId}, 'b', 'userId');
    is($entry{eventId}, $e->{event}, 'eventId');
    ok($entry{timestamp}, 'timestamp');
};

done_testing;
