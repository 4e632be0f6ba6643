# The counter led by who comes, by a clock that is the test's own and crowds of
# which some do not come, come late, or leave: first tokens a second, the order,
# and that nobody is lost or comes twice.

use FindBin;
use lib "$FindBin::Bin/../lib";
use List::Util qw(max min);

use Admission::Test;
use Admission::Comers;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $RATE = 100;

# The same crowds each time, unless TEST_SEED says otherwise: of so many bounds of
# three deviations one fails by chance now and then.
my $seed = $ENV{TEST_SEED} // 1;
srand $seed;
note "TEST_SEED=$seed";

sub crowd (%opt) {
    $redis->flushall;
    return Admission::Comers->new($redis, rate => $RATE, %opt);
}

# Over any 10 s between two times: within 5 %, and what chance does to so few, who
# ask each 2 s: three deviations of those called within the last two seconds.

sub rate_kept ($crowd, $from, $to, $what, $share = 0) {
    my $rate = $crowd->room->{rate};
    my ($least, $most) = $crowd->rates($from, $to);
    my $chance = 3 * sqrt(2 * 2 * $rate * ($share + 0.1)) / 10;

    my $seen = sprintf '%.1f to %.1f of %d a second', $least, $most, $rate;
    cmp_ok $most, '<=', 1.05 * $rate + $chance, "$what: no more, $seen";
    cmp_ok $least, '>=', 0.95 * $rate - $chance, "$what: no fewer, $seen";
}

sub in_order ($crowd, $what) {
    is_deeply $crowd->{wrong}, [], "$what: the counter never goes back";
    my %times;
    $times{ $_->[1] }++ for $crowd->{come}->@*;
    is scalar(grep { $_ > 1 } values %times), 0, "$what: nobody twice";
}


for my $share (0, 0.3, 0.6) {
    my $what = 100 * $share . ' % do not come';
    my $crowd = crowd();

    $crowd->take($RATE * 140, sub { rand() < $share ? undef : {} });
    $crowd->run(30);
    rate_kept($crowd, 10, 30, $what, $share);
    in_order($crowd, $what);
    cmp_ok abs($crowd->{answer}{shows} / 1000 - (1 - $share)), '<', 0.12,
        "$what: which is known";
}

{
    my $crowd = crowd();

    $crowd->take($RATE * 200, sub { rand() < 0.9 ? undef : {} });
    $crowd->run(30);
    cmp_ok $crowd->{served}, '<=', 4 * $RATE * 30.5,
        '90 % do not come: numbers are called four times as fast at most';
    cmp_ok $crowd->{served}, '>=', 4 * $RATE * 22, 'and so fast they are';

    # the same where that is not to be
    my $off = crowd(noshow => 1);
    $off->take($RATE * 30, sub { rand() < 0.9 ? undef : {} });
    $off->run(10);
    cmp_ok $off->{served}, '<=', $RATE * 11, 'vwr_noshow=1: by the rate alone';
    is_deeply $redis->cmd('EXISTS', $off->room->key('come')), 0,
        'and nothing is kept';
}


# Each comes back at some time within half a minute after 30 s have passed.

{
    my $crowd = crowd();
    my $what = 'late-comers';

    $crowd->take($RATE * 60, sub ($n) {
        return rand() < 0.7 ? {} : { from => $n / $RATE / 1.3 + 32 + rand 10 };
    });
    # the last one asks at 88.2, perhaps each host, a poll apart, ahead of its turn
    $crowd->run(96);
    rate_kept($crowd, 10, 36, $what, 0.3);

    my @late = grep { $_->[2] } $crowd->{come}->@*;
    my %came = map { ($_->[1] => 1) } $crowd->{come}->@*;
    is scalar(grep { !$came{$_} } keys $crowd->{who}->%*), 0,
        "$what: each gets in, " . @late . ' of them late';
    cmp_ok scalar @late, '>', 100, "$what: there are some";
    in_order($crowd, $what);
}


# All who were called, and did not come, come at once: those whose turn is over
# wait for the rate, the counter for them, lower numbers first.

{
    my $crowd = crowd(hosts => 1);
    my $what = 'all at once';
    my $behind = $RATE * 20;

    $crowd->take($RATE * 10, sub { { from => 60 } });
    $crowd->take($RATE * 120 + $behind, sub { undef });
    $crowd->run(50);

    my $before = $crowd->{served};
    $crowd->take($behind, sub { {} });
    $crowd->{come} = [];
    # they ask at 60 and each 2 s from then on: the last of those who have their
    # turn in the 10 s that the rate takes comes at 72
    $crowd->run(22.5);

    my @late = grep { $_->[2] } $crowd->{come}->@*;
    cmp_ok scalar @late, '>=', 0.95 * $RATE * 10, "$what: they get in";
    cmp_ok(($late[-1][0] - $late[0][0]) / 1e6, '>=', 8,
        "$what: by the rate");

    # a poll each 2 s finds those of them that may go in
    my @first = map { $_->[1] } @late[0 .. 0.3 * @late];
    cmp_ok((sort { $a <=> $b } @first)[-1], '<', 0.8 * $RATE * 10,
        "$what: lower numbers first");
    in_order($crowd, $what);
}


# A crowd that is there, and gone within a minute.

{
    my $crowd = crowd();
    my $what = 'they leave';

    $crowd->take($RATE * 150, sub { { leaves => rand 60 } });
    my $begin = $crowd->{us};

    $crowd->run(45, sub {
        state $n = 0;
        return if $n++ % 10;
        my $now = ($crowd->{us} - $begin) / 1e6;
        $_->{gone} = $_->{leaves} < $now for values $crowd->{who}->%*;
    });
    rate_kept($crowd, 10, 40, $what, 0.6);
}


# Where it is known who is there those alone are expected, and a stretch of
# numbers that nobody has is passed over.

{
    my $crowd = crowd(there => 0.4);
    my $what = '60 % left, and that is known';

    $crowd->take($RATE * 100, sub { rand() < 0.6 ? undef : {} });
    $crowd->run(35);
    # it is known once they have not been heard of for a while
    rate_kept($crowd, 10, 35, $what, 0.6);
    in_order($crowd, $what);
}

{
    my $crowd = crowd(there => 1);
    my $what = 'a flood';
    my $flood = 200 * $RATE;
    my $people = 10 * $RATE;

    my $back;
    $crowd->take($flood, sub ($n) {
        return if $n % 10;
        return $back->{$n} = { gone => 1 };
    });
    $crowd->take($people, sub { {} });
    $crowd->run(60);

    my @in = grep { $_->[1] > $flood } $crowd->{come}->@*;
    is scalar @in, $people, "$what: the people behind it are in";
    my $last = ($in[-1][0] - $in[0][0]) / 1e6;
    cmp_ok $last, '<=', 1.15 * $people / $RATE + 2, "$what: by the rate";
    cmp_ok(($in[-1][0] - Admission::Comers::BEGIN_US) / 1e6, '<=',
        $people / $RATE + 60, "$what: within a minute of what it would be");

    # those who took it ask all at once, with people behind them
    $crowd->take($people, sub { {} });
    $crowd->{come} = [];
    delete $_->{gone} for values %$back;
    $crowd->due($_, $crowd->{us} + rand 2e6)
        for sort { $a <=> $b } keys %$back;
    my $from = ($crowd->{us} - Admission::Comers::BEGIN_US) / 1e6;
    $crowd->run(($people + keys %$back) / $RATE + 6);

    my ($least, $most) = $crowd->rates(10 + int $from, 30 + int $from);
    cmp_ok $most, '<=', 1.05 * $RATE + 5, "$what that comes back: by the rate";
    is scalar $crowd->{come}->@*, $people + keys %$back, 'and all are in';
    my @first = grep { $_->[1] > $flood } $crowd->{come}->@*;
    cmp_ok(($first[-1][0] / 1e6 - $from - Admission::Comers::BEGIN_US / 1e6),
        '<=', ($people + keys %$back) / $RATE + 5,
        'nobody is held up by more than those who came back');
    in_order($crowd, $what);
}


# What stops the counter, or takes away what is known, is made up for in 10 s.

for my $case ([ 'a pause', sub ($crowd) {
                    $crowd->room->admin('rate', 0);
                    $crowd->run(20);
                    $crowd->room->admin('unrate');
                    return 40;
                } ],
              [ 'a loss of Redis', sub ($crowd) {
                    # who knows less than others steps first, perhaps
                    $redis->flushall;
                    $crowd->later(0);
                    $crowd->run(0.5);
                    $crowd->{wrong} = [];
                    return 20;
                } ],
              [ 'a restart', sub ($crowd) {
                    $crowd->room->admin('restart');
                    $crowd->{$_} = {} for qw(who due);
                    $crowd->{$_} = [] for qw(come trail);
                    $crowd->{served} = 0;
                    # those who hold a ticket of before have none
                    @$_{qw(turns asks bits)} = ({}, {}, {})
                        for $crowd->{hosts}->@*;
                    $crowd->take($RATE * 100, sub { rand() < 0.5 ? undef : {} });
                    return 20;
                } ],
              [ 'an advance by hand', sub ($crowd) {
                    $crowd->room->admin('advance', 2 * $RATE);
                    return 20;
                } ])
{
    my ($what, $do) = @$case;
    my $crowd = crowd();

    $crowd->take($RATE * 150, sub { rand() < 0.5 ? undef : {} });
    $crowd->run(20);
    my $from = $do->($crowd);
    $crowd->run(25);
    rate_kept($crowd, $from + 10, $from + 25, $what, 0.5);
    in_order($crowd, $what);
}


# A room on standby lets people in who have no ticket, and whom nobody tells of:
# when a line forms the counter begins as by the rate.

{
    my $crowd = crowd();
    my $room = $crowd->room;
    my $granted = 0;

    for (1 .. 60) {
        $crowd->later(100_000);
        my $answer = $room->step(wanting => 8, seen => 0);
        $granted += $answer->{granted};
    }
    cmp_ok $granted, '>', 4 * $RATE, "standby: $granted are let in";
    cmp_ok $granted, '<=', 7.2 * $RATE, 'by the rate';

    $room->assign(10 * $RATE);
    my $from = $room->step(wanting => 0, seen => 0)->{serving};
    my $answer;
    for (1 .. 20) {
        $crowd->later(100_000);
        $answer = $room->step(wanting => 0, seen => 0);
    }
    cmp_ok $answer->{serving} - $from, '<=', 2.2 * $RATE,
        'and a line that forms goes on by it';
}


# While nobody waits late-comers go in by the same rate as whoever is new, and
# ahead of them.

for my $few (0, 1) {
    my $crowd = crowd();
    my $room = $crowd->room;
    my ($seen, $granted, $late, $want) = (0, 0, 0, $few ? 20 : 1000);
    my %asks = map { ($_ => 1) } 1 .. $want;

    my $step = sub (%opt) {
        $crowd->later(100_000);
        my $answer = $room->step(wanting => 0, seen => $seen, %opt);
        $seen = $answer->{seen};
        return $answer;
    };

    $step->();
    $room->assign(10 * $RATE);
    $step->() for 1 .. 600;
    is $seen, 0, 'standby: nobody waits, those who did not come may come late';

    for my $n (1 .. 60) {
        my @asks = sort { $a <=> $b } keys %asks;
        splice @asks, 250 if @asks > 250;

        my $answer = $step->(wanting => $RATE / 10,
                             asks => $n > 10 ? \@asks : []);
        $granted += $answer->{granted};

        my @turns = $answer->{turns}->@*;
        while (my ($number) = splice @turns, 0, 2) {
            delete $asks{$number};
            $late++;
        }
    }

    # and what the counter was ahead when they began to ask
    my $all = $granted + $late;
    cmp_ok $all, '<=', 7.1 * $RATE, "$late late, $granted new: by the rate";
    cmp_ok $all, '>=', 5.8 * $RATE, 'which is used';
    cmp_ok $late, '>=', $few ? $want : 4.8 * $RATE, 'late ones first';
}


# Late-comers, whose hosts step in turn, and people behind them: all of the late
# ones go first, and when they are in the counter goes on as if it had not stood.

{
    my $rate = 4 * $RATE;
    my $crowd = crowd(rate => $rate);
    my @room = map { $_->{room} } $crowd->{hosts}->@*;
    my $late = 15 * $rate;
    my ($served, $n) = (0, 0);
    my @waits = map { my $host = $_; [ grep { $_ % 2 == $host } 1 .. $late ] } 0, 1;
    my ($granted, $ahead) = (0, 0);

    # all who were called since the last step came, but for those
    my $step = sub (@asks) {
        my ($answer, %come) = ();
        for my $number (max($served, $late) + 1 .. $crowd->{answer}{serving}) {
            vec($come{int $number / 512} //= "\0" x 64, $number % 512, 1) = 1;
        }
        $served = max($served, $crowd->{answer}{serving});
        $crowd->later(125_000);
        $answer = $room[ $n++ % 2 ]->step(come => \%come, asks => \@asks);
        $crowd->{answer} = $answer;
        return $answer;
    };

    $room[0]->assign(100 * $rate);
    $crowd->{answer} = { serving => 0 };
    $step->() for 1 .. 8 * 36;

    my $before = $served;
    my @all;

    # it takes some of that time until nothing is left of what was saved up
    for (1 .. 8 * 30) {
        my $waits = $waits[ $n % 2 ];
        my $answer = $step->(@$waits[ 0 .. min(249, $#$waits) ]);
        my @turns = $answer->{turns}->@*;
        my %turns = @turns;

        @$waits = grep { !exists $turns{$_} } @$waits;
        $granted += keys %turns;
        $ahead = $answer->{serving} if $granted < $late;
        push @all, $granted + $answer->{serving} - $before;
    }

    my @seconds = sort { $a <=> $b } map { $all[ $_ + 80 ] - $all[$_] } 16 .. 159;
    is $granted, $late, 'late-comers of two hosts: each gets in';
    cmp_ok $ahead - $before, '<=', 0.5 * $rate, 'ahead of people behind them';
    cmp_ok $seconds[0], '>=', 0.95 * 10 * $rate,
        "late-comers, then others: by the rate, $seconds[0] at least in any 10 s";
    cmp_ok $seconds[-1], '<=', 1.05 * 10 * $rate, "no more, $seconds[-1]";
}


# While a host that knows nothing of it steps the room as well it goes by the
# rate alone, and by who comes once that is over.

{
    my $crowd = crowd();
    my $what = 'a host of before';
    my $room = $crowd->room;

    $crowd->take($RATE * 120, sub { rand() < 0.5 ? undef : {} });
    $crowd->run(10);

    my $served = $crowd->{served};
    my $other = sub {
        $redis->cmd('HINCRBY', $room->key('vwr'), $_, 1) for qw(serving updated);
    };
    $crowd->run(5, $other);
    my $moved = $crowd->{served} - $served;
    cmp_ok $moved, '<=', 1.15 * $RATE * 5 + 5 / 0.08, "$what: by the rate";

    $crowd->run(12);
    $served = $crowd->{served};
    $crowd->run(10);
    cmp_ok $crowd->{served} - $served, '>', 1.3 * $RATE * 10,
        "$what: and by who comes when it is gone";
}

done_testing;
