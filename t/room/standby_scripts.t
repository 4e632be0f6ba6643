# The step of a room on standby by itself: what hosts are granted, when the room
# shows, when it is unseen again, and what is left of it after a loss of data.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;
use List::Util qw(max min sum0);

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

# a room that is on, for a second
sub room (%opt) {
    later(0);
    my $r = Admission::Rooms->new($redis, event => 'e' . ++$events,
                                  edit => \&timed, %opt);
    $r->admin('config');
    later(1);
    return $r;
}

sub ahead ($a) { return $a->{serving} - $a->{next} }


subtest 'what is granted' => sub {
    my $r = room(rate => 50);

    my $a = $r->step(spare => 1);
    is $a->{granted}, 1, 'one in hand';
    is $a->{seen}, 0, 'unseen';

    later(0.25);
    $a = $r->step(wanting => 30, have => 0);
    is $a->{granted}, 13, 'a quarter of a second of the rate, at most';
    is $a->{seen}, 0, 'the others may come';

    later(0.25);
    is $r->step(wanting => 17, have => 10)->{granted}, 3,
        'besides what the host has';

    my $r2 = room(rate => 1);
    is $r2->step(spare => 1)->{granted}, 0,
        'at a rate of 1 a host has nothing in hand';
    is $r2->step(wanting => 1)->{granted}, 1, 'but who is there passes';
    $a = $r2->step(wanting => 1);
    is $a->{granted}, 0, 'and nobody else,';
    cmp_ok $a->{seen}, '>', 0, 'who is over the rate';
};


subtest 'what is in hand leaves half to the others' => sub {
    my $r = room(rate => 40);
    my @hosts = ($r, map { $r->copy } 1 .. 9);
    my $in_hand = 0;

    for my $host (@hosts) {
        my $a = $host->step(spare => 10);
        $in_hand += $a->{granted};
        cmp_ok ahead($a), '>=', 20, 'half is there';
    }
    is $in_hand, 20, 'the half that is not';
    is $hosts[0]->step(wanting => 10)->{granted}, 10, 'who is there has it';
};


subtest 'given back' => sub {
    my $r = room(rate => 40);
    my $first = $r->step(spare => 8);
    is $first->{granted}, 8, 'some in hand';

    my $back = $r->step(back => 7, have => 1);
    is $back->{next}, $first->{next}, 'seven are given back';

    my $a = $r->step(wanting => 5);
    is $a->{granted}, 5, 'and granted again,';
    is $a->{next}, $first->{next}, 'without a new position';

    # they do not add to a burst that has filled up since
    later(10);
    $r->step(back => 5);
    my ($granted, $tries) = (0, 0);
    while (($a = $r->step(wanting => 10))->{seen} == 0 && $tries++ < 20) {
        $granted += $a->{granted};
    }
    is $granted + $a->{granted}, 40, 'no more than the burst in one go';
};


subtest 'never more than the rate and the burst' => sub {
    srand 7;
    my $r = room(rate => 30);
    my @hosts = map { { room => $r->copy, left => 0 } } 1 .. 3;
    my $passed = 0;
    my $start = $us;
    my %refused;

    for my $turn (1 .. 400) {
        later(0.25 / 3);
        my $host = $hosts[$turn % 3];

        # those who came to this host: below the rate, all hosts together
        my $came = int(rand 4);
        my $now = min($came, $host->{left});
        $host->{left} -= $now;
        $passed += $now;
        my $waits = ($host->{waits} // 0) + $came - $now;

        my $a = $host->{room}->step(wanting => $waits, spare => max(0, 4 - $waits - $host->{left}),
                                    have => $host->{left});
        if ($a->{seen}) {
            $refused{$turn}++;
            last;
        }
        my $then = min($waits, $host->{left} + $a->{granted});
        $host->{left} += $a->{granted} - $then;
        $passed += $then;
        $host->{waits} = $waits - $then;

        my $most = 30 + 30 * ($us - $start) / 1e6 + 1;
        cmp_ok $passed, '<=', $most, "turn $turn" if $passed > $most;
    }
    is_deeply \%refused, {}, 'it never shows below the rate';
    cmp_ok $passed, '>', 400, 'hundreds passed';
};


# Hosts as src/host/standby.c has them: what comes to each a second, of 60.

subtest 'none starves the others' => sub {
    srand 11;
    my $r = room(rate => 50);
    my @hosts = map { { room => $r->copy, rate => $_, left => 0, usual => 0,
                        due => 0, held => [], longest => 0, passed => 0 } }
                38, 4, 1;
    my $shown = 0;

    for my $step (1 .. 3 * 4 * 60) {
        later(0.25 / 3);
        for my $host (@hosts) {
            $host->{due} += $host->{rate} * 0.25 / 3 * (0.5 + rand);
            while ($host->{due} >= 1) {
                $host->{due}--;
                push $host->{held}->@*, $us;
            }
            pass_of($host);
        }

        my $host = $hosts[$step % 3];
        my $held = $host->{held}->@*;
        $host->{usual} = max($host->{used} // 0,
                             int($host->{usual} * 3 / 4));
        $host->{used} = 0;
        my $most = min(13, $host->{usual} + 1);
        my $back = max(0, $host->{left} - $most);
        $host->{left} -= $back;

        my $a = $host->{room}->step(
            wanting => max(0, $held - $host->{left}), back => $back,
            spare => $most - $host->{left}, have => $host->{left});
        $shown++ if $a->{seen};
        $host->{left} += $a->{granted};
        pass_of($host);
    }

    is $shown, 0, 'at 0.86 of the rate it never shows';
    cmp_ok $hosts[$_]{passed}, '>=', $hosts[$_]{rate} * 60 * 0.9,
        "host $_: all pass" for 0 .. 2;
    cmp_ok $hosts[$_]{longest}, '<=', 1, "host $_: within a second" for 0 .. 2;
};

sub pass_of ($host) {
    while ($host->{left} && $host->{held}->@*) {
        my $since = shift $host->{held}->@*;
        $host->{longest} = max($host->{longest}, ($us - $since) / 1e6);
        $host->{left}--;
        $host->{used}++;
        $host->{passed}++;
    }
}


subtest 'it shows, and is unseen again' => sub {
    my $r = room(rate => 10);
    my $other = $r->copy;
    $r->step(spare => 2);

    my $n = $r->assign(30);
    later(0.25);
    my $a = $other->step(wanting => 1, host_seen => 0);
    is $a->{granted}, 0, 'somebody waits: nobody passes,';
    is $a->{seen}, $us, 'and it shows';
    is $r->step(wanting => 0)->{seen}, $us, 'on all hosts';

    # until they were served, and for 10 s
    my $t = 0;
    while ((my $s = $r->step(seen => $a->{seen}))->{serving} < $n->{next}) {
        die 'stuck' if $t++ > 100;
        is $s->{seen}, $a->{seen}, 'since then' if $t == 1;
        later(0.25);
    }
    my $since = $us;
    my $left;
    for my $i (1 .. 60) {
        later(0.25);
        my $s = $r->step(seen => 1);
        next if $s->{seen};
        $left = ($us - $since) / 1e6;
        last;
    }
    cmp_ok $left, '>=', 9.5, 'it shows 10 s more';
    cmp_ok $left, '<=', 11, 'and no longer';
    is $r->step(wanting => 2)->{granted}, 2, 'then visitors pass';
};


subtest 'as long as more come than the rate' => sub {
    my $r = room(rate => 10);
    cmp_ok $r->step(wanting => 100)->{seen}, '>', 0, 'a flood';

    # nobody takes a ticket: programs, that go on
    for (1 .. 80) {
        later(0.25);
        die 'unseen' if !$r->step(seen => 1, wanting => 5)->{seen};
    }
    pass 'it shows for 20 s of twice the rate';

    my $n = 0;
    while ($n++ < 80) {
        later(0.25);
        last if !$r->step(seen => 1, wanting => 2)->{seen};
    }
    cmp_ok $n, '>=', 40, 'below the rate it is unseen after 10 s';
    cmp_ok $n, '<=', 60, 'or a little more, for those that came before';
};


subtest 'tickets, and hosts of before' => sub {
    my $r = room(rate => 10);
    my $old = $r->copy;

    my $a = $r->step(wanting => 3);
    is $a->{granted}, 3, 'some pass';
    my $t = $old->assign(3);
    is $t->{result}, $a->{next} + 1, 'a ticket of a host that knows of none';
    cmp_ok $t->{result}, '<=', $a->{serving}, 'is let in at once';
    is $old->step->{seen}, 0, 'whose steps say nothing of it';
    is $r->step(wanting => 2)->{granted}, 2, 'nor end it';

    later(0.25);
    $old->assign(20);
    $old->step;
    $a = $r->step(wanting => 1);
    cmp_ok $a->{seen}, '>', 0, 'who waits there makes it show here';
};


subtest 'paused' => sub {
    my $r = room(rate => 10);
    $r->admin('rate', 0);
    my $a = $r->step(wanting => 1);
    is $a->{granted}, 0, 'nobody passes';
    cmp_ok $a->{seen}, '>', 0, 'and it shows';
};


subtest 'a new activation' => sub {
    my $r = room(rate => 10);
    $r->step(wanting => 100);
    cmp_ok $r->step(seen => 1)->{seen}, '>', 0, 'it shows';
    $r->admin('restart');
    my $a = $r->step(wanting => 2);
    is $a->{seen}, 0, 'the next one begins unseen';
    is $a->{granted}, 2, 'with the burst';
};


subtest 'Redis loses its data' => sub {
    my $r = room(rate => 10);
    my $a;
    for (1 .. 8) {
        later(0.25);
        $a = $r->step(wanting => 2, seen => 0);
        is $a->{seen}, 0, 'unseen' if $_ == 8;
    }

    $redis->flushall;
    later(1);

    my $b = $r->step(wanting => 1, seen => 0);
    is $b->{lost}, 1, 'it comes back';
    is $b->{activation}, $a->{activation}, 'the same activation';
    cmp_ok $b->{next}, '>', $a->{next}, 'no position is given twice';
    is $b->{seen}, 0, 'unseen as it was';

    later(0.25);
    is $r->step(wanting => 1, seen => 0)->{granted}, 1, 'visitors pass';

    # it showed, and there were people
    $r->assign(100);
    later(0.25);
    $a = $r->step;
    $a = $r->step(wanting => 1);
    cmp_ok $a->{seen}, '>', 0, 'it shows';
    $redis->flushall;
    later(1);
    $b = $r->step(seen => $a->{seen});
    cmp_ok $b->{seen}, '>', 0, 'it still does';
    cmp_ok $b->{serving}, '<', $b->{next}, 'and they wait in their order';
};


# What was left out after a loss is nobody's, once all have told what they know: it
# neither keeps the room from being unseen nor those behind it waiting.

for my $noshow (1, 4) {
    subtest "what is left out after a loss, vwr_noshow=$noshow" => sub {
        my $r = room(rate => 10, noshow => $noshow);
        my $other = $r->copy;

        $r->step(spare => 2);
        $r->assign(100);
        $other->step;
        my $last = $r->assign(20)->{next};
        my $seen = $r->step(seen => 0)->{seen};
        cmp_ok $seen, '>', 0, 'it shows';

        # who knows less comes first
        $redis->flushall;
        later(0.25);
        my $b = $other->step(seen => $seen);
        is $b->{lost}, 1, 'a loss';
        cmp_ok $b->{next}, '>=', $last + 900, 'a thousand numbers are left out';
        $b = $r->step(seen => $seen);
        my $behind = $r->assign(5)->{result};

        my ($jump, $from, $in, $t) = (0, undef, undef, 0);
        my $begin = $us;
        while ($b->{seen}) {
            die 'stuck' if $t++ > 400;
            later(0.25);
            my $before = $b->{serving};
            my $host = $t % 2 ? $r : $other;
            $b = $host->step(seen => $b->{seen}, wanting => 0);
            die 'back' if $b->{serving} < $before;
            ($jump, $from) = ($b->{serving} - $before, $before)
                if $b->{serving} - $before > $jump;
            $in //= $us if $b->{serving} >= $behind;
        }
        cmp_ok $jump, '>=', 900, 'they are passed over at once';
        is $from, $last, 'from the last that anybody knew on';
        cmp_ok(($in - $begin) / 1e6, '<=', 120 / 10 + 4,
            'those behind come in by the rate');
        cmp_ok(($us - $begin) / 1e6, '<=', 120 / 10 + 4 + 12,
            'and it is unseen 10 s later');
        is $redis->cmd('HGET', $r->key('vwr'), 'skipped'), undef,
            'nothing is left of it';
        return if $noshow == 1;

        # whoever has one of them all the same comes late
        my $a = $r->step(asks => [ $from + 7 ], seen => 0);
        later(1);
        $a = $r->step(asks => [ $from + 7 ], seen => 0) if !$a->{turns}->@*;
        is $a->{turns}[0], $from + 7, 'whoever has one goes in, by the rate';
    };
}

done_testing;
