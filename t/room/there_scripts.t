# Who is there of a waiting room, in Redis: what hosts tell, at random times and of
# random numbers, against a list of who was heard of when.  Nobody who was heard of
# is passed over, and nobody counts for much longer than that; what a table says is
# what the bits say, as near as it may be off.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;
use Admission::There;

my $redis = Admission::Redis->start;

# TEST_SEED repeats a run
my $seed = $ENV{TEST_SEED} // int rand 1e6;
srand $seed;
note "TEST_SEED=$seed";

my $us = 1_750_000_000_000_000;

sub now ($later = 0) {
    $us += int $later;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

# A room whose script says what it is asked, too: expressions of Lua

sub room (%opt) {
    now;
    return Admission::Rooms->new($redis, rate => 0, burst => 0, %opt,
        edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            $text =~ s/^return\ answer$/
                local ask = redis.call('GET', 'ask')
                if ask then
                  local f = loadstring('local there = ... ' .. ask)
                  redis.call('SET', 'said', table.concat(f(there), ' '))
                end
                return answer/xm if $text =~ /there\.told/;
            # whoever is told of or not
            $text =~ s/^if led or .*$/if true then/m
                or die if $text =~ /there\.told/;
            return $text;
        });
}

sub asked ($room, @what) {
    $redis->cmd('SET', 'ask', 'return { ' . join(', ', @what) . ' }');
    $room->step;
    $redis->cmd('DEL', 'ask');
    return map { 0 + $_ } split ' ', $redis->cmd('GET', 'said');
}

sub report ($room, $host, %heard) {
    return $room->step(there => $host, of => $room->{host}{activation},
        table => 0,
        heard => [ map { marks($_, $heard{$_}->@*) }
                   sort { $a <=> $b } keys %heard ]);
}

subtest 'a few, exactly' => sub {
    my $room = room(event => 'few');

    $room->admin('activate');
    $room->assign(9);
    report($room, 7, 4 => [ 1 .. 9 ]);

    # all are settled, and ask again
    for (1 .. 7) {
        now(1e6);
        report($room, 7, $_ % 2 ? (4 => [ 1 .. 9 ]) : ());
    }
    is_deeply [ asked($room, map { "there.next($_)" } 1 .. 11) ], [ 1 .. 11 ],
        'all are there';

    # 2, 3 and 9 do not any more
    for (1 .. 8) {
        now(1e6);
        report($room, 7, 4 => [ 1, 4 .. 8 ]);
    }
    my $answer = report($room, 7, 4 => [ 1, 4 .. 8 ]);

    is_deeply [ asked($room, map { "there.next($_)" } 1 .. 11) ],
        [ 1, 4, 4, 4 .. 8, 10, 10, 11 ], 'the next one who is';
    is_deeply [ asked($room, 'there.count(1, 9)', 'there.count(2, 3)',
                      'there.count(2, 4)', 'there.count(9, 12)') ],
        [ 6, 0, 1, 3 ], 'how many are';

    my $table = table_of($answer);
    is_deeply [ map { there_up_to($table, $_)
                      - there_up_to($table, 0) } 1 .. 12 ],
        [ 1, 1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9 ], 'and by the table';

    # one leaves, and comes back
    now(1e6);
    report($room, 7, 0 => [ 4 ], 4 => [ 1, 5 .. 8 ]);
    is((asked($room, 'there.next(2)'))[0], 5, 'who left is not there');
    now(1e6);
    report($room, 7, 4 => [ 1, 5 .. 8 ]);
    is((asked($room, 'there.next(2)'))[0], 5, 'nor later');
    now(1e6);
    report($room, 8, 4 => [ 4 ]);
    is((asked($room, 'there.next(2)'))[0], 4, 'but who comes back is');

    # whoever tells nothing
    now(5e6);
    report($room, 8);
    is_deeply [ asked($room, 'there.next(2)', 'there.count(1, 9)') ], [ 2, 9 ],
        'a host is not heard of: nobody counts as gone';
};


subtest 'who may be missing' => sub {
    my $room = room(event => 'doubt');

    $room->admin('activate');
    $room->assign(50);

    my $all = sub ($seconds, @hosts) {
        for (1 .. $seconds) {
            now(1e6);
            report($room, $_, 4 => [ 1 .. 10 ]) for @hosts;
        }
        return (asked($room, 'there.next(20)'))[0] > 20;
    };

    ok $all->(8, 1, 2), 'a new activation: all is known from the start';
    $all->(35, 1, 2);

    $redis->cmd('DEL', $room->key('there'));
    ok !$all->(30, 1, 2), 'what was there is lost: nothing is';
    ok $all->(15, 1, 2), 'for as long as one may take to ask again';

    now(20e6);
    ok !$all->(30, 1, 2), 'nobody told for a while';
    ok $all->(15, 1, 2), 'likewise';

    ok !$all->(5, 1), 'a host is away';
    ok $all->(40, 1), 'it is not coming back';

    report($room, 1);
    $room->step(there => 1, of => $room->{host}{activation}, blind => 1);
    ok !$all->(30, 1), 'a host had no room for what it heard';
    ok $all->(15, 1), 'likewise';

    # a host of the version before moves the counter
    $redis->cmd('HSET', $room->key('vwr'), 'updated', $us + 1);
    now(10);
    ok !$all->(30, 1), 'a host that tells nothing, being older';
    ok $all->(15, 1), 'likewise';

    $room->admin('activate');
    $room->admin('restart');
    $room->assign(50);
    ok $all->(8, 1), 'another activation';
    is $redis->cmd('EXISTS', $room->key('there-tmp'), $room->key('there-heard')),
        0, 'nothing is left over';
};


# Clients with an interval, on any host; some go, some say so, some come back.
# The counter goes on.
subtest 'against a list' => sub {
    my $room = room(event => 'many', rate => 30);
    my $of;
    my (%due, %heard, %left, %host);
    my @lapse = (4, 10, 20, 30);
    my ($passed, $long, $off, $checks) = (0, 0, 0, 0);

    $room->admin('activate');

    # of who was heard of: until when that lapses
    for my $tick (1 .. 130) {
        now(4e5 + rand 2e5);

        if ($tick < 60) {
            my $a = $room->assign(1 + int rand 90);
            $due{$_} = 0 for $a->{result} .. $a->{result} + $a->{issued} - 1;
        }

        my $serving = $room->{host}{serving};
        my (%tell, @leave);

        for my $n (grep { $due{$_} <= $us } keys %due) {
            if ($n <= $serving || rand() < 0.05) {
                delete $due{$n};
                push @leave, $n if $n > $serving && rand() < 0.5;
                next;
            }
            my $ahead = $n - $serving;
            my $lapse = $lapse[$ahead <= 300 ? 0 : $ahead <= 800 ? 1
                               : $ahead <= 1500 ? 2 : 3];
            push $tell{$lapse}->@*, $n;
            $heard{$n} = $us + $lapse * 1e6;
            delete $left{$n};
            $due{$n} = $us + $lapse * 5e5 * (0.9 + rand 0.2);
        }

        # who comes back does so with the number
        for (1 .. 3) {
            my $n = $serving + 1 + int rand($room->{host}{next} - $serving + 1);
            $due{$n} //= $us if $n <= $room->{host}{next};
        }

        for my $n (@leave) {
            $left{$n} = 1;
            push $tell{0}->@*, $n;
        }

        my %part = (1 => {}, 2 => {});
        for my $lapse (keys %tell) {
            push $part{1 + int rand 2}{$lapse}->@*, $_ for $tell{$lapse}->@*;
        }
        report($room, $_, $part{$_}->%*) for 1, 2;

        next if $tick < 20 || $tick % 5;

        # the bits are renewed once a second at the most
        now(1e6);
        my $answer = report($room, 1);
        report($room, 2);
        $serving = $answer->{serving};
        my $next = $answer->{next};
        my ($settled) = asked($room, 'there.load() or there.settled');
        my @from = map { $serving + 1 + int rand($next - $serving) } 1 .. 6;
        my @got = asked($room, map { "there.next($_)" } @from);
        $checks++;

        # certainly there, and certainly not
        my $sure = sub ($n) {
            return $n > $settled || ($heard{$n} // 0) >= $us && !$left{$n};
        };
        my $gone = sub ($n) {
            return $n <= $settled
                   && ($left{$n} || ($heard{$n} // 0) < $us - 4.2e6);
        };

        for my $i (0 .. $#from) {
            $passed += grep { $sure->($_) } $from[$i] .. $got[$i] - 1;
            $long++ if $gone->($got[$i]);
        }

        # the table against the bits
        my @bits = asked($room, map { "there.count($_, $_)" }
                         $serving + 1 .. $next);
        my $table = table_of($answer);
        my ($sum, $at) = (0, there_up_to($table, $serving));
        for my $n ($serving + 1 .. $next) {
            $sum += $bits[$n - $serving - 1];
            my $told = there_up_to($table, $n) - $at;
            $off++ if abs($told - $sum) > 1 + $sum / 20;
        }
    }

    cmp_ok $checks, '>', 15, 'looked often';
    is $passed, 0, 'nobody who was heard of is passed over';
    is $long, 0, 'nobody counts for longer than that, and the 3 s of the wheel';
    is $off, 0, 'tables are within 5 %, and exact near the counter';
};


# Old numbers go from the bits; those that remain stay where they are.
subtest 'a long line' => sub {
    my $room = room(event => 'long');

    $room->admin('activate');
    $room->assign(400_000);

    my @there = map { 100_000 + 997 * $_ } 0 .. 300;
    my $told = sub ($seconds) {
        for (1 .. $seconds) {
            now(1e6);
            report($room, 1, 30 => \@there);
        }
    };
    $told->(8);

    my $ok = sub ($what) {
        my @from = map { int 100_000 + rand 290_000 } 1 .. 20;
        my @want = map { my $n = $_; (grep { $_ >= $n } @there)[0] } @from;
        is_deeply [ asked($room, map { "there.next($_)" } @from) ], \@want,
            $what;
    };

    $ok->('where they are');
    is((asked($room, 'there.count(1, 400000)'))[0], 301, 'all of them');

    my $answer = report($room, 1);
    my $table = table_of($answer);
    cmp_ok scalar $table->{points}->@*, '<', 2000, 'in a table that is bounded';

    my $worst = 0;
    for my $i (10 .. $#there) {
        my $told = there_up_to($table, $there[$i])
                   - there_up_to($table, 0);
        my $d = abs($told - $i - 1) - 1;
        $worst = $d / $i if $d > 0 && $d / $i > $worst;
    }
    cmp_ok $worst, '<', 0.05, 'a flood in front of a few is no error';

    $room->admin('advance', 250_000);
    $told->(3);
    is $redis->cmd('HGET', $room->key('there'), 'base') % $Admission::There::PAGE, 0,
        'a page';
    cmp_ok $redis->cmd('HGET', $room->key('there'), 'base'), '>', 150_000,
        'what is far behind goes';
    @there = grep { $_ >= 100_000 } @there;
    my @from = map { int 250_000 + rand 140_000 } 1 .. 20;
    is_deeply [ asked($room, map { "there.next($_)" } @from) ],
        [ map { my $n = $_; (grep { $_ >= $n } @there)[0] } @from ],
        'the others stay';
};


# Redis refuses a part of it: the counter goes on, and nobody is passed over.
subtest 'refused' => sub {
    my $room = room(event => 'no', rate => 10);
    $room->admin('activate');
    $room->assign(100);
    report($room, 1, 4 => [ 1, 2 ]);
    $redis->cmd('SET', $room->key('there'), 'not ours');
    now(2e6);
    my $answer = report($room, 1, 4 => [ 1, 2 ]);
    cmp_ok $answer->{serving}, '>', 10, 'the counter goes on';
    is $answer->{there_at}, 0, 'without a table';
    is((asked($room, 'there.next(40)'))[0], 40, 'all are there');
};

done_testing;
