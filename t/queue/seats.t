# Seats, by the queue scripts alone: nobody is let in while as many are sold and
# inside as there are, a purchase counts once, and what was sold outlives Redis.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start(clock => 1);
my $clock = 0;
my $events = 0;

sub event (%opt) {
    return Admission::Scripts->new($redis, event => 'e' . ++$events,
                                   threshold => 100, %opt);
}

# So many seconds pass, in which the event has had its steps.
sub later ($e, $s) {
    $redis->set_clock($clock += $s);
    $redis->cmd('HINCRBY', $e->key('state'), $_, 1000 * $s) for qw(step busy);
}

# What a host remembers, by an answer.
sub known ($answer) {
    return { epoch => $answer->{epoch}, clock => $answer->{clock},
             active => $answer->{active}, clear => 0,
             seats => $answer->{seats}, sold => $answer->{sold} };
}


subtest 'no more are in than there are seats' => sub {
    my $e = event(slots => 2);

    is($e->ask($_)->{state}, 'in', "$_ is in") for qw(a b);
    is($e->ask('c')->{state}, 'waiting', 'who comes third waits');
    is($e->next_step->{position}, 0, 'and is not let in');

    $e->leave('a');
    is($e->next_step->{position}, 1, 'until one leaves');
    is($e->ask('d')->{state}, 'waiting', 'the next one waits');
    is($e->ask('c')->{state}, 'in', 'the third is in');
};


subtest 'what is sold stays sold' => sub {
    my $e = event(slots => 2);
    my $a = $e->ask('a');
    $e->ask($_) for qw(b c);

    my $sold = $e->complete('a', $a->{adm});
    is($sold->{sold}, 1, 'one is sold');
    is_deeply([$e->active], ['b'], 'the session has ended');
    is($sold->{did} & 128, 128, 'it was counted');
    is($e->next_step->{position}, 0, 'nobody is let in for it');

    $e->leave('b');
    is($e->next_step->{position}, 1, 'one is, for the other seat');

    my $c = $e->ask('c');
    is($e->complete('c', $c->{adm})->{sold}, 2, 'which is sold');
    is($e->ask('d')->{state}, 'sold_out', 'nobody joins');
    is($e->ask('d', mode => 'status')->{state}, 'out', 'who asks is out');
    is($redis->cmd('TTL', $e->key('sold')), -1, 'the number does not expire');
};


subtest 'who waits has the place when there are more' => sub {
    my $e = event(slots => 1);
    my $a = $e->ask('a');
    my %place = map { $_ => $e->ask($_) } qw(b c);

    $e->complete('a', $a->{adm});
    is($e->ask('b')->{state}, 'waiting', 'sold out: who waits is not put out');
    is($e->ask('c', mode => 'status')->{position}, 2, 'in order');
    $redis->cmd('ZREM', $e->key('queue'), 'c');
    is($e->ask('c', place => $place{c})->{position}, 2, 'a place counts');

    $e->admin('slots', 2);
    is($redis->cmd('GET', $e->key('slots')), 1, 'the seats that are left');
    is($redis->cmd('TTL', $e->key('slots')), -1, 'for good');
    $e->next_step;
    is_deeply([$e->active], ['b'], 'the first is let in');
    is($e->admin('slots', 0)->{active}, 1, 'fewer seats put nobody out');
    is($e->ask('b')->{state}, 'in', 'who is in stays');
    is($e->complete('b', $e->ask('b')->{adm})->{sold}, 2, 'and buys');
    $e->admin('unslots');
    is($e->next_step->{position}, 0, 'the configuration again: none is left');
};


subtest 'given back: expiry, a lost claim' => sub {
    my $e = event(slots => 1, active_ttl => 5000, claim_ttl => 3000);

    $e->ask($_) for qw(a b c);
    later($e, 6);
    $e->next_step;
    is_deeply([$e->active], ['b'], 'a session ran out: the next is let in');
    later($e, 4);
    $e->next_step;
    is_deeply([$e->active], ['c'], 'and did not come: the one after');
    is($e->admin->{sold}, 0, 'nothing is sold');
};


subtest 'a purchase counts once' => sub {
    my $e = event(slots => 100);
    my $a = $e->ask('a');

    is($e->complete('a', $a->{adm}, 2)->{sold}, 2, 'two seats');
    is($e->complete('a', $a->{adm}, 2)->{sold}, 2, 'said again');
    is($e->complete('a', 0, 2, 1)->{sold}, 2, 'by an operator');
    is($e->complete('a', 0, 1, 2)->{sold}, 2, 'by the user');
    is($e->complete('a', 0, 1, 2)->{state}, 'out', 'who is told that it is so');

    my $again = $e->ask('a');
    is($again->{state}, 'in', 'in once more');
    is($e->complete('a', $a->{adm}, 2)->{did}, 0, 'the old one ends nothing');
    is($e->ask('a')->{state}, 'in', 'of the new session');
    is($e->complete('a', 0, 1, 2)->{state}, 'bought', 'no second by the user');
    is($e->ask('a')->{state}, 'in', 'who stays in');
    is($e->complete('a', $again->{adm})->{sold}, 3, 'another purchase');
    is($e->complete('a', $_, 1)->{sold}, 3, 'once')
        for $a->{adm}, $again->{adm}, 0;
};


subtest 'late' => sub {
    my $e = event(slots => 2, active_ttl => 5000);
    my $a = $e->ask('a');
    $e->ask($_) for qw(b c);

    later($e, 6);
    $e->next_step;
    is_deeply([$e->active], ['c'], 'two sessions ran out');
    my $late = $e->complete('a', $a->{adm});
    is($late->{sold}, 1, 'a purchase counts all the same');
    is($late->{did}, 128 + 256, 'late');
    is($e->complete('b', 0, 1, 1)->{sold}, 2, 'so does one by an operator');
    is($e->complete('b', 0, 1, 1)->{sold}, 2, 'once');
    is($e->complete('c', 0, 1, 2)->{sold}, 3, 'more than there are');

    is($e->complete('b', 0, 1, 2)->{state}, 'out', 'the user: it was counted');
    $e->admin('slots', 10);
    $e->ask('d');
    later($e, 6);
    $e->step;
    is($e->complete('d', 0, 1, 2)->{state}, 'not_here', 'users come in time');
    is($e->complete('nobody', 0, 1, 2)->{state}, 'not_here', 'or not at all');
    is($e->complete('somebody', 0, 1, 1)->{sold}, 4, 'an operator may say it');
    is($e->complete('somebody', 0, 1, 1)->{sold}, 4, 'of anybody, once');
};


subtest 'who told of a purchase first' => sub {
    my $e = event(slots => 10, active_ttl => 5000);
    my $a = $e->ask('a');

    later($e, 6);
    $e->step;
    is($e->complete('a', 0, 1, 1)->{sold}, 1, 'the operator, after the end');
    is($e->complete('a', $a->{adm}, 1)->{sold}, 1, 'the backend, after that');

    my $b = $e->ask('b');
    $e->admin('clear');
    is($e->complete('b', 0, 1, 1)->{sold}, 2, 'after a clear');
    is($e->complete('b', $b->{adm}, 1)->{sold}, 2, 'once');
    is($e->admin('clear')->{sold}, 2, 'which unsells nothing');
};


subtest 'a leave by the backend' => sub {
    my $e = event(slots => 1);
    my $a = $e->ask('a');
    $e->ask('b');

    my $left = $e->complete('a', $a->{adm}, 0);
    is($left->{did}, 16 + 32, 'left, and the token is no good');
    cmp_ok($left->{adm}, '>', $a->{adm}, 'up to now');
    $e->next_step;
    is_deeply([$e->active], ['b'], 'the seat is free');
    is($e->complete('b', $a->{adm}, 0)->{did}, 0, 'not by an earlier session');
    is_deeply([$e->active], ['b'], 'who stays');
};


subtest 'Redis lost its data' => sub {
    my $e = event(slots => 3, restore_wait => 1000, active_ttl => 20_000);
    my $a = $e->ask('a');
    $e->complete('a', $a->{adm}, 2);
    my $host = known($e->ask('b'));
    is($host->{sold}, 2, 'a host knows what is sold');

    $redis->cmd('FLUSHALL');
    $e->{host} = $host;
    is($e->ask('c')->{sold}, 2, 'and tells it');
    is($redis->cmd('GET', $e->key('sold')), 2, 'Redis has it');
    $e->{host} = {};
    later($e, 30);
    $e->next_step;
    is_deeply([$e->active], ['c'], 'there is one more');
    is($e->complete('c', $e->ask('c')->{adm})->{sold}, 3, 'which is sold');
    is($e->ask('d')->{state}, 'sold_out', 'and that was all');

    # what the API set as well
    $e->admin('slots', 4);
    $e->{host} = known($e->admin);
    $redis->cmd('FLUSHALL');
    my $set = $e->ask('d');
    is("$set->{seats} $set->{sold}", '4 3', 'of seats set by the API');
    is($redis->cmd('GET', $e->key('slots')), 1, 'one is left');

    # older data: what is sold never falls
    $redis->cmd('SET', $e->key('sold'), 1);
    $redis->cmd('SET', $e->key('slots'), 3);
    is($e->ask('d')->{sold}, 3, 'not to what Redis has');
    is($redis->cmd('GET', $e->key('slots')), 1, 'nor does more come back');
};


subtest 'Redis lost its data, and nobody knows' => sub {
    my $e = event(slots => 3, restore_wait => 1000, active_ttl => 20_000);
    my $a = $e->ask('a');
    $e->complete('a', $a->{adm}, 2);
    $e->admin('set', 0);
    my $place = $e->ask('b');
    $redis->cmd('FLUSHALL');

    # a host that has just come knows no better than that there is nothing
    my $fresh = known($e->ask('x'));
    is($fresh->{sold}, 0, 'as if nothing was');
    is($e->ask('b', place => $place)->{sold}, -1,
       'a place of before: what is sold is not known');
    $e->{host} = $fresh;
    later($e, 30);
    is($e->next_step->{position}, 0, 'nobody is let in');
    is($e->ask('c')->{state}, 'waiting', 'nor at once');
    is($e->complete('x', 0, 1, 1)->{sold}, -1, 'whatever is sold meanwhile');

    is($e->admin('slots', 4, 3)->{sold}, 3, 'an operator tells');
    is($e->next_step->{position}, 1, 'then there is one to be let in for');
    is_deeply([$e->active], ['b'], 'the first of the line');
};


subtest 'without an end of seats' => sub {
    my $e = event;
    my $a = $e->ask('a');

    is($e->complete('a', $a->{adm}, 5)->{sold}, 5, 'it is counted');
    cmp_ok($redis->cmd('TTL', $e->key('sold')), '>', 600_000, 'for a week');
    is($e->ask('b')->{state}, 'in', 'and nobody is refused');
    $e->{slots} = 5;
    is($e->ask('c')->{state}, 'sold_out', 'until there is one');

    my $none = event;
    $none->{host} = known($none->ask('a'));
    $redis->cmd('FLUSHALL');
    $none->ask('b');
    is($redis->cmd('EXISTS', $none->key('sold')), 0,
       'where nothing was sold a loss leaves no key');
};


done_testing;
