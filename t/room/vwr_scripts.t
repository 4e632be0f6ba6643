# The scripts of the waiting room by themselves: toggling, positions, the
# serving counter, and what is left of it all when Redis loses data.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;

# whether the counter went on at a rate between two answers, by Redis's time
sub at_rate ($rate, $from, $to) {
    my $due = ($to->{us} - $from->{us}) * $rate / 1e6;
    return abs($to->{serving} - $from->{serving} - $due) <= 2;
}

my $redis = Admission::Redis->start;
my $events = 0;

# the time is what the test says: nothing but later() moves it
my $us = 1_750_000_000_000_000;

sub later ($seconds) {
    $us += int($seconds * 1e6);
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub timed ($text) {
    $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
    return $text;
}

sub room (%opt) {
    later(0);
    return Admission::Rooms->new($redis, event => 'e' . ++$events,
                                 edit => \&timed, %opt);
}

sub flush {
    $redis->flushall;
    later(0.001);
}


subtest 'toggling' => sub {
    my $r = room;

    my $a = $r->admin;
    is_deeply([@$a{qw(active activation next serving api_rate)}],
              [0, 0, 0, 0, -1], 'nothing');
    is_deeply($redis->cmd('KEYS', '{e1}*'), [], 'and nothing is written');
    is($r->assign->{result}, 0, 'no position');
    is($r->admin($_)->{result}, 0, "nothing to $_")
        for qw(deactivate advance unrate);
    is_deeply($redis->cmd('KEYS', '{e1}*'), [], 'nothing is written');

    $a = $r->admin('activate');
    is_deeply([@$a{qw(result active next serving rate by_config)}],
              [1, 1, 0, 0, 50, 0], 'activated');
    cmp_ok($a->{activation}, '>', 1.6e15, 'by the clock');
    my $first = $a->{activation};

    is($r->admin($_)->{result}, 0, "$_: is active")
        for qw(activate resume config);
    is($r->admin->{activation}, $first, 'the same activation');

    is($r->assign(3)->{result}, 1, 'positions');
    is($redis->cmd('TTL', $r->key('vwr')), -1, 'never expires');

    $a = $r->admin('deactivate');
    is_deeply([@$a{qw(result active activation next)}], [1, 0, $first, 3],
              'deactivated');
    is($r->assign->{result}, 0, 'no position');
    my $ttl = $redis->cmd('TTL', $r->key('vwr'));
    ok($ttl > 600_000 && $ttl <= 604_800, 'expires in 7 days');

    $a = $r->admin('resume');
    is_deeply([@$a{qw(result active activation next)}], [1, 1, $first, 3],
              'resumed');
    is($r->assign->{result}, 4, 'goes on');
    is($redis->cmd('TTL', $r->key('vwr')), -1, 'never expires');

    $a = $r->admin('restart');
    is_deeply([@$a{qw(result active next serving)}], [1, 1, 0, 0],
              'restarted at 0');
    cmp_ok($a->{activation}, '>', $first, 'a new activation');

    $r->admin('deactivate');
    my $b = $r->admin('activate');
    cmp_ok($b->{activation}, '>', $a->{activation}, 'activate: a new one too');

    my %h = $redis->cmd('HGETALL', $r->key('vwr'))->@*;
    is_deeply([@h{qw(active next serving rate activation set_by)}],
              [1, 0, 0, 50, $b->{activation}, 'api'], 'as others read it');
};


subtest 'by the configuration' => sub {
    my $r = room;

    my $a = $r->admin('config');
    is_deeply([@$a{qw(result active by_config)}], [1, 1, 1], 'activated');
    $r->assign(5);
    $r->admin('deactivate');
    my $b = $r->admin('config');
    is_deeply([@$b{qw(result activation next)}], [1, $a->{activation}, 5],
              'resumed');

    $r->admin('restart');
    later(0.1);
    is($r->admin('config')->{result}, 0, 'an active one is not touched');
    is($r->step->{lost}, 0, 'nor told of as if it were');
    is($r->admin->{set_by}, 'api', 'nor is who did it');
};


subtest 'positions' => sub {
    my $r = room;
    my @hosts = ($r, $r->other, $r->other);
    my (@positions, @times);

    $r->admin('activate');

    for my $i (1 .. 300) {
        my $n = 1 + $i * 7 % 13;
        my $a = $hosts[$i % 3]->assign($n);
        push @positions, $a->{result} .. $a->{result} + $n - 1;
        push @times, $a->{at} .. $a->{at} + $n - 1;
        later(-3600) if $i == 100;
    }
    later(3600);

    is_deeply(\@positions, [1 .. @positions], 'each once, in order');
    is(scalar(grep { $times[$_] <= $times[$_ - 1] } 1 .. $#times), 0,
       'times increase with them, when the clock goes back too');
    is($r->admin->{next}, scalar @positions, 'the last one issued');
    cmp_ok($r->admin('restart')->{activation}, '>', $times[-1],
           'what comes later is later');
};


subtest 'one clock with the queue' => sub {
    my $r = room;
    my $soon = $us + 100_000_000;

    $redis->cmd('HSET', $r->key('state'), 'clock', $soon);
    is($r->admin('activate')->{activation}, $soon + 1, 'after it');
    my $a = $r->assign(10);
    is($a->{at}, $soon + 3, 'and after the change');
    is($redis->cmd('HGET', $r->key('state'), 'clock'), $soon + 12,
       'past the last ticket');

    $r->{host}{clock} = $soon + 1000;
    is($r->assign->{at}, $soon + 1001, 'a host knows of a later time');
    ok($redis->cmd('TTL', $r->key('state')) > 600_000, 'and it expires');
};


# The counter over a few seconds, stepped by so many hosts, in turns.
for my $steppers (1, 3) {
    subtest "50 a second, $steppers stepping" => sub {
        my $r = room;
        my @hosts = ($r, map { $r->other } 2 .. $steppers);

        $r->admin('activate');
        $r->assign(100_000);

        my $from = $r->step;
        my ($last, $most, $n) = ($from, 0, 0);

        while ($last->{us} - $from->{us} < 4_000_000) {
            later(0.03 + rand 0.1);
            my $a = $hosts[$n++ % $steppers]->step;
            my $due = ($a->{us} - $last->{us}) * 50 / 1e6;
            my $off = abs($a->{serving} - $last->{serving} - $due);
            $most = $off if $off > $most;
            $last = $a;
        }

        my $due = ($last->{us} - $from->{us}) * 50 / 1e6;
        my $got = $last->{serving} - $from->{serving};
        cmp_ok(abs($got - $due), '<=', 0.02 * $due, "$got of $due");
        cmp_ok(abs($got - $due), '<=', 1, 'no drift');
        cmp_ok($most, '<=', 1, 'smooth');
    };
}


subtest 'many steps lose no part' => sub {
    my $r = room(rate => 1);

    $r->admin('activate');
    $r->assign(1000);
    my $from = $r->step;
    my $last = $from;

    while ($last->{us} - $from->{us} < 3_000_000) {
        later(0.0007);
        $last = $r->step;
    }

    cmp_ok(abs($last->{serving} - $from->{serving} - 3), '<=', 1, 'by 3');
};


subtest 'after an outage' => sub {
    my $r = room;
    my @hosts = ($r, $r->other, $r->other);

    $r->admin('activate');
    $r->assign(100_000);
    my $before = $r->step;

    later(30);
    my @after = map { $_->step } @hosts, @hosts;
    my $by = $after[-1]{serving} - $before->{serving};
    ok($by >= 150 && $by <= 155, "3 s' worth and no more: $by");

    later(-7200);
    $before = $r->step;
    is($before->{serving}, $after[-1]{serving}, 'a clock that goes back: none');
    later(0.5);
    my $on = $r->step->{serving} - $before->{serving};
    ok($on >= 24 && $on <= 40, "and on from there: $on");
    later(7200);
};


subtest 'burst' => sub {
    my $r = room;

    $r->admin('activate');
    later(3);
    is($r->step->{serving}, 50, "one second's worth with nobody there");
    $r->assign(10);
    later(3);
    is($r->step->{serving}, 60, 'ahead of the last position');

    my $some = room(burst => 7);
    $some->admin('activate');
    later(3);
    is($some->step->{serving}, 7, 'as configured');

    my $none = room(burst => 0);
    $none->admin('activate');
    later(3);
    is($none->step->{serving}, 0, 'none');
    $none->assign(5);
    later(3);
    is($none->step->{serving}, 5, 'up to the last position');
};


subtest 'rate' => sub {
    my $r = room;

    $r->admin('activate');
    $r->assign(100_000);
    later(1);
    my $a = $r->admin('rate', 10);
    is_deeply([@$a{qw(result rate api_rate)}], [1, 10, 10], 'set');
    ok($a->{serving} >= 50 && $a->{serving} < 60,
       "what was before is paid at the old one: $a->{serving}");
    later(2);
    my $b = $r->step;
    ok(at_rate(10, $a, $b), 'then at the new one');
    is($r->field('rate'), 10, 'the one in force');

    $a = $r->admin('rate', 0);
    later(2);
    is($r->step->{serving}, $a->{serving}, '0 pauses');

    $a = $r->admin('unrate');
    is_deeply([@$a{qw(result rate api_rate)}], [1, 50, -1], 'back');
    later(1);
    ok(at_rate(50, $a, $r->step), 'the time at 0 is not made up for');
    is($r->admin('unrate')->{result}, 0, 'was back');

    $r->{rate} = 20;
    is($r->step->{rate}, 20, "the configuration's, as the host says");
    is($r->field('rate'), 20, 'in force');
    $r->{rate} = 0;
    $a = $r->step;
    later(2);
    is($r->step->{serving}, $a->{serving}, 'paused by it');
};


subtest 'paused while inactive' => sub {
    my $r = room;

    my $from = $r->admin('activate');
    $r->assign(100_000);
    later(2);
    my $a = $r->admin('deactivate');
    ok(at_rate(50, $from, $a), "up to the end: $a->{serving}");
    later(2);
    is($r->step->{serving}, $a->{serving}, 'stands');
    my $on = $r->admin('resume');
    is($on->{serving}, $a->{serving}, 'and does still');
    later(1);
    ok(at_rate(50, $on, $r->step), 'goes on');
};


subtest 'advance' => sub {
    my $r = room(rate => 0);

    $r->admin('activate');
    is($r->admin('advance', 500)->{result}, 0, 'nobody there');
    $r->assign(700);
    my $a = $r->admin('advance', 500);
    is_deeply([@$a{qw(result serving)}], [500, 500], 'by 500');
    $a = $r->admin('advance', 500);
    is_deeply([@$a{qw(result serving)}], [200, 700], 'up to the last issued');
    is($r->admin('advance', 500)->{result}, 0, 'caught up');
    is($r->step->{serving}, 700, 'stays');

    my $ahead = room;
    $ahead->admin('activate');
    later(3);
    $ahead->step;
    $a = $ahead->admin('advance', 5);
    is_deeply([@$a{qw(result serving)}], [0, 50], 'never back');
};


subtest 'loss: the maximum of what hosts know' => sub {
    my $a = room;
    my $b = $a->other;

    $a->admin('activate');
    $a->assign(300);
    later(2);
    $a->step;
    $b->assign(200);
    later(2);
    my $known = $b->step;
    flush;

    my $r = $a->step;
    is($r->{lost}, 1, 'told of');
    is_deeply([@$r{qw(active activation)}], [1, $known->{activation}],
              'the first that comes restores it');
    is($r->{next}, 1300, 'and goes on well after what it knows');
    is($redis->cmd('TTL', $a->key('vwr')), -1, 'never expires');

    $r = $b->step;
    ok($r->{serving} >= $known->{serving}, 'never lower than what was served');
    is($r->{next}, 1300, 'once');
    is($b->step->{lost}, 0, 'not again');
    is($a->step->{lost}, 0, 'by nobody');

    my $first = $a->assign->{result};
    cmp_ok($first, '>', $known->{next}, 'no position twice');

    flush;
    $r = $b->assign(1);
    is($r->{result}, 2301, 'the next loss');
    cmp_ok($r->{at}, '>', $known->{clock}, 'later than any ticket');
};


subtest 'loss: as much as 2 s of issue' => sub {
    my $r = room;

    $r->admin('activate');
    for (1 .. 3) {
        later(1);
        $r->assign(4000);
        $r->step;
    }
    my $known = $r->step;
    ok($known->{issue} > 3000 && $known->{issue} <= 4000,
       "measured: $known->{issue}");
    flush;
    is($r->assign->{result}, 12000 + 2 * $known->{issue} + 1, 'skipped');

    later(1), $r->step for 1 .. 8;
    cmp_ok($r->step->{issue}, '<', 50, 'and falls again');
};


subtest 'loss: Redis comes back older' => sub {
    my $r = room;
    my $other = $r->other;

    $r->admin('activate');
    $r->assign(10);
    my $dump = $redis->cmd('DUMP', $r->key('vwr'));

    later(1);
    $r->assign(100);
    my $known = $r->step;
    $other->step;
    $redis->cmd('RESTORE', $r->key('vwr'), 0, $dump, 'REPLACE');

    my $a = $r->step;
    is_deeply([@$a{qw(lost next)}], [1, 1110], 'counters');
    ok($a->{serving} >= $known->{serving}, 'not lower');

    my $new = $r->admin('restart');
    $r->assign(5);
    $redis->cmd('RESTORE', $r->key('vwr'), 0, $dump, 'REPLACE');
    $a = $r->assign;
    is_deeply([@$a{qw(lost activation result)}],
              [1, $new->{activation}, 1006], 'an older activation');
    is($other->assign->{result}, 1007, 'older memory changes nothing');
    is($other->admin->{activation}, $new->{activation}, 'and learns');
};


subtest 'loss: what was decided last stands' => sub {
    my $a = room;

    $a->admin('activate');
    $a->admin('rate', 7);
    my $b = $a->copy;
    $a->admin('deactivate');

    $b->step;
    is($b->{host}{active}, 0, 'the other one learns');

    $a->admin('resume');
    $b->step;
    my $old = $b->copy;
    $a->admin('deactivate');
    flush;

    is($old->step->{active}, 1, 'one that did not know restores it as active');
    is($old->{host}{api_rate}, 7, 'with its rate');
    my $r = $a->admin;
    is_deeply([@$r{qw(lost active)}], [1, 0], 'until one comes that did');
    is($old->step->{active}, 0, 'and all know');
    is($old->admin->{active}, 0, 'for good');

    $a->admin('resume');
    flush;
    $a->step;
    is($old->step->{active}, 1, 'the other way round');
    ok($redis->cmd('TTL', $a->key('vwr')) < 0, 'never expires');
};


subtest 'loss: a new activation wins' => sub {
    my $a = room;

    $a->admin('activate');
    $a->assign(50);
    my $ticket = $a->{host}{activation};
    flush;

    my $b = $a->other;
    my $new = $b->admin('activate');
    is($new->{result}, 1, 'by a host that knew of none');
    is($a->step->{activation}, $new->{activation}, 'older memory yields');
    is($a->{host}{next}, 0, 'and its counters');

    flush;
    my $r = $a->admin('activate');
    is_deeply([@$r{qw(result activation)}], [0, $new->{activation}],
              'one that knows: is active');
    cmp_ok($new->{activation}, '>', $ticket, 'newer');
};


subtest 'loss: vwr=on of a host that starts' => sub {
    my $a = room(rate => 0);        # it goes by what the operator says alone

    $a->admin('config');
    $a->admin('rate', 0);
    $a->assign(50);
    $a->admin('advance', 20);
    my $old = $a->{host}{activation};
    flush;

    my $b = $a->other;
    $b->admin('config');
    $b->assign(2);
    my $new = $b->{host}{activation};
    cmp_ok($new, '>', $old, 'begins a new activation');

    my $r = $a->step;
    is_deeply([@$r{qw(activation active serving api_rate)}], [$old, 1, 20, 0],
              'the one before goes on');
    cmp_ok($r->{next}, '>=', 1050, 'further on');
    cmp_ok($r->{changed}, '>', $new, 'by a decision after it');

    is($b->step->{activation}, $old, 'the other one yields');
    flush;
    is($b->copy->step->{activation}, $old, 'and has learnt it');

    $r = $a->admin('restart');
    is($b->step->{activation}, $r->{activation}, 'a restart is one');
    flush;

    $b = $a->other;
    $new = $b->admin('config')->{activation};
    later(61);
    is($a->step->{activation}, $new, 'who tells of it late is too late');
};


subtest 'a rate alone is remembered' => sub {
    my $r = room;

    $r->admin('rate', 3);
    flush;
    is($r->admin->{rate}, 3, 'restored');
    is($r->admin('activate')->{rate}, 3, 'and in force');
};


subtest 'keys in use stay' => sub {
    my $r = room;

    $r->admin('activate');
    $redis->cmd('SET', $r->key('epoch'), 1);
    $redis->cmd('EXPIRE', $r->key($_), 10_000) for qw(state epoch);
    $r->step;
    cmp_ok($redis->cmd('TTL', $r->key('epoch')), '<=', 10_000, 'not at each step');
    later(3601);
    $r->step;
    ok($redis->cmd('TTL', $r->key($_)) > 600_000, "$_, once an hour")
        for qw(state epoch);
    is($redis->cmd('TTL', $r->key('vwr')), -1, 'the room never expires');
};

done_testing;
