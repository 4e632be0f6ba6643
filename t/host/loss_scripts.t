# Loss of data and a clock that was wrong, by the queue scripts alone: what
# bench/soak found.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start(clock => 1);
my $clock = 0;

# however long the test takes: what is a moment is so by this clock
$redis->set_clock(0, stop => 1);

my $events = 0;

sub event (%opt) {
    return Admission::Scripts->new($redis, event => 'e' . ++$events,
                                   restore_wait => 2000, %opt);
}

# a step a second
sub go_by ($e, $seconds) {
    for (1 .. $seconds) {
        $redis->set_clock(++$clock);
        $e->step;
    }
}

sub lose ($e) {
    $redis->cmd('DEL', map { $e->key($_) } qw(queue active seen active-seen
        done revoked threshold epoch state admitted used leaving rate));
}

sub entry ($answer) {
    return { adm => $answer->{adm}, exp => int($answer->{expires} / 1000) - 5 };
}


# Of three inside one comes back at once, two later: until then there is one
# slot, however many come and go in it.

subtest 'who comes and goes after a loss' => sub {
    my $e = event(threshold => 3);
    my %in = map { $_ => $e->ask($_) } qw(a b c);
    my $knew = $e->admin;

    lose($e);
    $e->{host} = { epoch => $knew->{epoch}, clock => $knew->{clock},
                   active => 3 };
    is($e->ask('a', entry => entry($in{a}))->{state}, 'in', 'a is back');
    $e->{host} = {};
    $e->ask($_) for qw(v w x y z);
    go_by($e, 3);
    is_deeply([$e->active], ['a'], 'b and c may still come');

    for my $user (qw(a v w)) {
        $e->leave($user);
        go_by($e, 2);
    }
    my @in = $e->active;
    is(scalar @in, 1, 'one at a time in the slot of a');

    $e->ask($_, entry => entry($in{$_})) for qw(b c);
    @in = $e->active;
    cmp_ok(scalar @in, '<=', 3, 'no more than the threshold with them');
};


# Redis comes back with older data, twice: what was counted for the first loss
# says nothing of the second.

subtest 'older data, twice' => sub {
    my $e = event(threshold => 3);
    my %in = map { $_ => $e->ask($_) } qw(a b c);

    for my $loss (1, 2) {
        my $knew = $e->admin;
        my $dump = $redis->cmd('HGET', $e->key('state'), 'clock') - 1000;

        # a snapshot of before b and c
        $redis->cmd('ZREM', $e->key($_), 'b', 'c') for qw(active admitted);
        $redis->cmd('HSET', $e->key('state'), 'clock', $dump);

        $e->{host} = { epoch => $knew->{epoch}, clock => $knew->{clock},
                       active => 3 };
        $e->ask("new-$loss");
        cmp_ok($e->admin->{epoch}, '>', $knew->{epoch},
               "loss $loss: another life");
        $e->{host} = {};
        go_by($e, 4);
        is_deeply([$e->active], ['a'], 'nobody in the slots of b and c');

        is($e->ask($_, entry => entry($in{$_}))->{state}, 'in',
           "$_ is back") for qw(b c);
        go_by($e, 2);
        my @in = $e->active;
        is(scalar @in, 3, 'three are in');
    }
};


# A replica that takes over does not know who was let in last, and the host
# that speaks first does not either: nobody is let in until the others, who
# make steps as often, had the time to tell.

subtest 'older data, known to one of two hosts' => sub {
    my $lossy = sub ($e) {
        my %in = map { $_ => $e->ask($_) } qw(a b c);
        $e->ask($_) for qw(x y z);
        go_by($e, 2);

        my $knew = $e->admin;
        my $clock_then = $redis->cmd('HGET', $e->key('state'), 'clock');

        # the last moment is gone, and Redis was for two seconds
        $redis->cmd('ZREM', $e->key($_), 'b', 'c') for qw(active admitted);
        $redis->cmd('HSET', $e->key('state'), 'clock', $clock_then - 1000);
        $redis->set_clock($clock += 2);
        return $knew;
    };

    my $e = event(threshold => 3);
    my $knew = $lossy->($e);

    is($e->ask('new')->{state}, 'waiting', 'who comes first waits');
    $e->step;
    is_deeply([$e->active], ['a'], 'the other one lets nobody in');

    $e->{host} = { epoch => $knew->{epoch}, clock => $knew->{clock},
                   active => 3 };
    $e->step;
    $e->{host} = {};
    go_by($e, 4);
    is_deeply([$e->active], ['a'], 'nor does anybody once it is known');

    # nobody knows better: after a moment

    $e = event(threshold => 3);
    $lossy->($e);
    $e->step;
    is_deeply([$e->active], ['a'], 'nothing was lost: a moment');
    go_by($e, 2);
    is_deeply([$e->active], [qw(a x y)], 'then in order');

    # somebody comes while nobody waits

    $e = event(threshold => 3);
    $e->ask('a');
    go_by($e, 2);
    $redis->set_clock($clock += 2);
    is($e->ask('b')->{state}, 'waiting', 'nobody waits: a moment as well');
    go_by($e, 3);
    is_deeply([$e->active], [qw(a b)], 'and is in');
};


# A slot has run out; then the clock goes back, before the end of its token.

subtest 'a token that has expired, and a clock that goes back' => sub {
    my $e = event(threshold => 1, active_ttl => 60_000);
    my $a = $e->ask('a');

    $e->ask('b');
    for (1 .. 7) {
        go_by($e, 10);
        $e->ask('b');
    }
    is_deeply([$e->active], ['b'], 'the slot of a is that of b');

    $redis->set_clock($clock -= 50);
    $e->ask('b');
    $e->step;
    $e->ask('a', entry => entry($a));
    is_deeply([$e->active], ['b'], 'and stays so');
    is_deeply([$e->waiting], ['a'], 'a waits');
};


# Users have just come; the clock goes back an hour, and is right again: that
# is a gap as well.

subtest 'a clock that is wrong for a moment' => sub {
    my $e = event(threshold => 1, active_ttl => 30_000, session_max => 180_000);

    $e->ask($_) for qw(a b);
    go_by($e, 2);

    $clock -= 3600;
    for (1 .. 5) {
        go_by($e, 1);
        $e->ask($_) for qw(a b);
    }
    $clock += 3600;
    go_by($e, 1);

    is_deeply([$e->active], ['a'], 'who is in stays in');
    is($e->ask('a', mode => 'status')->{state}, 'in', 'and is told so');
};


# The clock was an hour ahead once, so that the event's is; one host knows what
# it was, the other one what it was a moment before.

subtest 'a loss after the clock was wrong' => sub {
    my $e = event(threshold => 0);

    $redis->set_clock($clock + 3600);
    $e->ask('a');
    $redis->set_clock($clock);

    my $knew = $e->admin;
    my %place = map { $_ => $e->ask($_) } map { "u$_" } 1 .. 5;

    lose($e);
    $e->{host} = { epoch => $knew->{epoch}, clock => $knew->{clock} };
    $e->ask("new$_") for 1 .. 5;
    $e->{host} = {};
    $e->ask($_, place => $place{$_}) for sort keys %place;

    is_deeply([$e->waiting], [(map { "u$_" } 1 .. 5),
                              (map { "new$_" } 1 .. 5)],
              'the old ones stand before the new ones');
    is($e->ask($_)->{score}, $place{$_}{score}, "$_ where it stood")
        for sort keys %place;
};


# The clock goes back with the loss, and who comes first knows nothing of what
# was.  What a place, an entry token or a host then tells is known from there
# on, whoever asks next.

subtest 'a clock that went back, told by one of many' => sub {
    my $e = event(threshold => 1);

    $redis->set_clock($clock + 600);
    my %x = map { $_ => $e->ask($_) } qw(in a b);
    my $knew = $e->admin;
    $redis->set_clock($clock);

    my $lost = sub {
        lose($e);
        $e->{host} = {};
        $e->admin('set', 0);
        $e->ask('new');
    };

    $lost->();
    $e->ask('b', mode => 'status', place => $x{b});
    my $late = $e->ask('late');
    is_deeply([$e->waiting], [qw(new b late)], 'a place: nobody gets before');
    is($late->{position}, 3, 'and the newcomer is told so');
    cmp_ok($late->{clock}, '>', $x{b}{clock}, 'the clock goes on from it');

    $lost->();
    $e->{host} = { epoch => $knew->{epoch}, clock => $knew->{clock} };
    $e->step;
    $e->{host} = {};
    $e->ask('late');
    $e->ask('b', mode => 'status', place => $x{b});
    is_deeply([$e->waiting], [qw(new b late)], 'a host: the same');

    $lost->();
    is($e->ask('in', mode => 'restore', entry => entry($x{in}))->{state}, 'in',
       'an entry token is a slot');
    $e->leave('in');
    cmp_ok($redis->cmd('ZSCORE', $e->key('revoked'), 'in'), '>=',
           $x{in}{adm}, 'and ends by leaving');
    is($e->ask('in', mode => 'status', entry => entry($x{in}))->{state},
       'out', 'for good');
};

done_testing;
