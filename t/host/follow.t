# Admission follows its backend: the script of it, and those that let people in, by
# a clock of the test's, with what hosts measured made up.  What is steered how well
# is in t/host/follow_model.t.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Follow;
use Admission::Redis;
use Admission::Rooms;
use Admission::Scripts;

my $redis = Admission::Redis->start;
my $us = 1_800_000_000_000_000;

sub now ($later = 0) {
    $us += $later * 1e6;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub by_clock ($text) {
    $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
    return $text;
}

sub host (%opt) {
    return Admission::Follow->new($redis, edit => \&by_clock, %opt);
}

sub room (%opt) {
    return Admission::Rooms->new($redis, edit => \&by_clock, %opt);
}

sub queue (%opt) {
    return Admission::Scripts->new($redis, edit => sub { $_ = by_clock($_) },
                                   %opt);
}

sub begin (%opt) {
    $redis->cmd('FLUSHALL');
    now 1000;
    return host(rate => 100, rate_min => 5000, %opt);
}

# So many requests, each of another user unless it is said whose; of => what
# Admission::Follow says of a request.

my $who = 0;

sub requests ($host, $n, %opt) {
    my $user = delete $opt{user};
    $host->measure($us, $user // 'user-' . $who++, %opt) for 1 .. $n;
}

# Seconds in which that happens twice a second; the last answer.

sub seconds ($n, $host, $do = sub { }, %opt) {
    my $answer;
    for (1 .. 2 * $n) {
        now 0.5;
        $do->();
        $answer = $host->call(%opt);
    }
    return $answer;
}

sub active ($queue) { my @in = $queue->active; return scalar @in }

sub limits ($answer) { return join ' ', @$answer{qw(rate limit why)} }

my @FAST = (ms => 100);
my @SLOW = (ms => 900);
my @BAD = (failed => 1);


subtest 'what decides nothing' => sub {
    my $host = begin(errors => 200);
    room->admin('activate');

    is limits(seconds(5, $host)), '-1 -1 0', 'nothing is measured';

    # 19 in any 5 s
    my $n = 0;
    is limits(seconds(10, $host, sub { requests($host, 19, @SLOW)
                                       if $n++ % 11 == 0 })),
       '-1 -1 0', 'too few';

    is limits(seconds(10, $host, sub { requests($host, 20, @FAST);
                                       requests($host, 100, @SLOW,
                                                user => 'eve') })),
       '-1 -1 0', 'one who has slow answers on purpose';
    is limits(seconds(10, $host, sub { requests($host, 20, @FAST);
                                       requests($host, 100, @BAD,
                                                user => 'eve') })),
       '-1 -1 0', 'or none';
    is limits(seconds(10, $host, sub { requests($host, 20, @FAST);
                                       requests($host, 100, @BAD, retry => 60,
                                                user => 'eve') })),
       '-1 -1 0', 'or is told to come again';
    is limits(seconds(10, $host, sub { requests($host, 20, @FAST) },
                      late => 1, hung => 1)),
       '-1 -1 0', 'or hangs';
    is limits(seconds(10, $host, sub { requests($host, 98, @FAST);
                                       requests($host, 2, @SLOW) })),
       '-1 -1 0', 'a few slow ones';
    is limits(seconds(10, $host, sub { requests($host, 490, @FAST);
                                       requests($host, 10, ms => 4000) })),
       '-1 -1 0', 'or a few that always wait';

    # one user whom a balancer sends to five hosts in turn
    $host = begin(errors => 200);
    room->admin('activate');
    my @hosts = ($host, map { $host->other } 2 .. 5);

    for my $case ([ 'hangs', [], late => 1, hung => 1 ],
                  [ 'is told to come again', [ @BAD, retry => 60 ] ],
                  [ 'fails', \@BAD ], [ 'is slow', \@SLOW ])
    {
        my ($what, $of, %waits) = @$case;
        my @seen;

        for (1 .. 20) {
            now 0.5;
            for my $one (@hosts) {
                requests($one, 1, @FAST);
                requests($one, 1, @$of, user => 'eve') if @$of;
                push @seen, limits($one->call(%waits));
            }
        }
        is_deeply [ grep { $_ ne '-1 -1 0' } @seen ], [],
            "one who $what, on five hosts";
    }

    # the controls
    isnt limits(seconds(10, $host, sub { requests($host, 20, @SLOW) })),
         '-1 -1 0', 'all of them slow';
    $host = begin(errors => 200);
    room->admin('activate');
    isnt limits(seconds(10, $host, sub { requests($host, 90, @FAST);
                                         requests($host, 10, @BAD) })),
         '-1 -1 0', 'many fail';
};


subtest 'down, and up' => sub {
    my $host = begin;
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(100_000);

    my $step = sub { $room->step };
    seconds(5, $host, sub { $step->(); requests($host, 50, @FAST) });

    my $answer = seconds(2, $host, sub { $step->();
                                         requests($host, 50, @SLOW) });
    is $answer->{why}, 1, 'by the latency';
    cmp_ok $answer->{rate}, '<', 70_000, 'quickly';
    cmp_ok $answer->{rate}, '>=', 5000, 'not below the least';
    cmp_ok $answer->{latency}, '>', 500_000, 'which is told';

    my $from = $room->step->{serving};
    my $rate = $answer->{rate};
    now 1;
    my $moved = $room->step->{serving} - $from;
    cmp_ok abs($moved - $rate / 1000), '<=', 1, 'the counter goes so fast';

    $answer = seconds(60, $host, sub { $step->();
                                       requests($host, 50, @SLOW) });
    is $answer->{rate}, 5000, 'to the least, as long as it lasts';

    my $last = 5000;
    my $jump = 0;
    for (1 .. 240) {
        $answer = seconds(0.5, $host, sub { $step->();
                                            requests($host, 50, @FAST) });
        my $is = $answer->{rate} < 0 ? 100_000 : $answer->{rate};
        $jump = $is / $last if $is / $last > $jump;
        cmp_ok $is, '>=', $last, 'not down' if $is < $last;
        $last = $is;
    }
    is limits($answer), '-1 -1 0', 'up to the most, and no limit any more';
    cmp_ok $jump, '<', 1.35, 'not at once';
    is $redis->cmd('HGET', '{e}:state', 'follow'), undef, 'nothing is left';
};


subtest 'a moment in which nothing comes out' => sub {
    my $host = begin;
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(100_000);

    my $well = sub { $room->step; requests($host, 50, @FAST) };
    is limits(seconds(5, $host, $well)), '-1 -1 0', 'well';

    is limits(seconds(0.5, $host, sub { $room->step }, waiting => 5)),
       '-1 -1 0', 'a few wait: nothing is known by that';
    is limits(seconds(0.5, $host, $well)), '-1 -1 0', 'nor was there anything';

    is limits(seconds(0.5, $host, sub { $room->step }, waiting => 40)),
       '10000 -1 1', 'many begin to wait: hardly anybody enters';
    is limits(seconds(0.5, $host, sub { $room->step;
                                        requests($host, 90, ms => 450) },
                      waiting => 0)),
       '-1 -1 0', 'it was a moment';

    seconds(5, $host, $well);
    is limits(seconds(0.5, $host, sub { $room->step }, waiting => 40)),
       '10000 -1 1', 'again';
    my $answer = seconds(0.5, $host, sub { $room->step }, waiting => 80);
    is $answer->{why}, 1, 'and they still wait';
    cmp_ok $answer->{rate}, '<=', 10_000, 'it was more than a moment';

    # a limit that is in force comes back as it was
    $host = begin;
    $room = room(rate => 100);
    $room->admin('activate');
    $room->assign(100_000);
    seconds(5, $host, $well);
    seconds(3, $host, sub { $room->step; requests($host, 25, @SLOW) });
    my $before = seconds(4, $host, sub { $room->step;
                                         requests($host, 25, @FAST) })->{rate};
    cmp_ok $before, '>', 0, 'limited';
    my $held = seconds(0.5, $host, sub { $room->step }, waiting => 40)->{rate};
    cmp_ok $held, '<', 0.5 * $before, 'less for a moment';
    cmp_ok $held, '>=', 5000, 'not below the least';
    cmp_ok seconds(0.5, $host, sub { $room->step;
                                     requests($host, 50, @FAST) },
                   waiting => 0)->{rate}, '>=', $before, 'and as before';
};


subtest 'errors alone' => sub {
    my $host = begin(latency => 0, errors => 200);
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(100_000);
    seconds(5, $host, sub { $room->step; requests($host, 50, @FAST) });

    my $bad = sub { $room->step; requests($host, 40, @FAST);
                    requests($host, 10, @BAD) };
    my (@seen, @cut);
    for my $n (1 .. 90) {
        my $rate = seconds(0.5, $host, $bad)->{rate};
        push @cut, $n if $rate < 0.9 * ($seen[-1] // 100_000);
        push @seen, $rate if $rate >= 0;
    }
    is $host->{known}{why}, 2, 'by the errors';
    cmp_ok $seen[0], '<', 70_000, 'quickly';
    cmp_ok $seen[0], '>', 20_000, 'once';
    is_deeply [ grep { $cut[$_] - $cut[$_ - 1] < 8 } 1 .. $#cut ], [],
        'and not again for 4 s';
    cmp_ok scalar(@cut), '>=', 3, 'but then';
    is $seen[-1], 5000, 'to the least, as long as it lasts';

    is limits(seconds(60, $host, sub { $room->step;
                                       requests($host, 50, @FAST) })),
       '-1 -1 0', 'up again';
};


subtest 'stopped, trials, and on' => sub {
    my $host = begin;
    my $room = room(rate => 100);
    my $queue = queue(threshold => 1000);

    $room->admin('activate');
    $room->assign(10_000);
    seconds(5, $host, sub { $room->step; requests($host, 50, @FAST) });

    $queue->ask("in-$_") for 1 .. 20;
    is active($queue), 20, 'some are in';

    my $four = 0;
    my $answer = seconds(6, $host, sub {
        requests($host, 10, @BAD, user => 'four-' . $four++ % 4);
        requests($host, 1, @FAST) });
    is $answer->{why}, 0, 'four users';

    $answer = seconds(2, $host, sub { $room->step; requests($host, 40, @FAST);
                                      requests($host, 60, @BAD) });
    is limits($answer), '0 0 3', 'over half fail';

    is $queue->ask('new')->{state}, 'waiting', 'nobody comes in';
    $queue->ask("line-$_") for 1 .. 50;
    is active($queue), 20, 'who is in stays in';

    # for 30 s it goes on failing: one in 5 s enters
    my ($from, $in) = ($room->step->{serving}, active($queue));
    seconds(30, $host, sub { $room->step; $queue->step;
                             requests($host, 20, @BAD) });
    my $entered = $room->step->{serving} - $from;
    cmp_ok $entered, '>=', 5, 'trials, tier 1';
    cmp_ok $entered, '<=', 7, 'one each 5 s';
    $entered = active($queue) - $in;
    cmp_ok $entered, '>=', 5, 'trials, tier 2';
    cmp_ok $entered, '<=', 7, 'one each 5 s';
    is $host->call->{why}, 3, 'still';

    # all is well again
    ($from, $in) = ($room->step->{serving}, active($queue));
    seconds(11, $host, sub { $room->step; $queue->step;
                             requests($host, 1, @FAST) });
    cmp_ok $room->step->{serving} - $from, '>', 2, 'more';
    $answer = seconds(120, $host, sub { $room->step;
                                        requests($host, 50, @FAST) });
    is limits($answer), '-1 -1 0', 'and then all';
};


subtest 'a stop with nobody inside' => sub {
    my $host = begin;
    my $room = room(rate => 100);

    $room->admin('activate');
    my $assign = sub ($n) { $room->assign($n); $room->step };
    seconds(5, $host, sub { $assign->(10); requests($host, 50, @FAST) });
    my $answer = seconds(1, $host, sub { requests($host, 50, @BAD) });
    is $answer->{why}, 3, 'it is stopped';

    # the counter was ahead of who had come: newcomers do not get in by that
    my $state = $room->step;
    cmp_ok $state->{serving}, '>', $state->{next} + 50, 'the counter is ahead';
    my $first = $room->assign(100)->{result};
    is $first, $state->{serving} + 1, 'who comes now waits';

    seconds(20, $host, sub { $room->step });
    cmp_ok $room->step->{serving} - $first, '<=', 6, 'nobody but on trial';

    # only those who come on trial ask anything
    my $last = $room->step->{serving};
    $answer = seconds(40, $host, sub {
        my $now = $room->step->{serving};
        requests($host, $now - $last, @FAST);
        $last = $now });
    isnt $answer->{why}, 3, 'it begins again by itself';
    cmp_ok $answer->{rate}, '>=', 5000, 'from the least on';
};


subtest 'a backend that asks for a pause' => sub {
    my $host = begin;
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(10_000);
    seconds(5, $host, sub { $room->step; requests($host, 50, @FAST) });

    my $answer = seconds(0.5, $host, sub {
        requests($host, 80, @FAST); requests($host, 20, @BAD, retry => 7) });
    is $answer->{why}, 3, 'it is had';
    is $answer->{pause}, 7000, 'for as long';

    my $from = $room->step->{serving};
    seconds(6.5, $host, sub { $room->step; requests($host, 20, @FAST) });
    is $room->step->{serving}, $from, 'nobody enters';
    seconds(1, $host, sub { $room->step; requests($host, 20, @FAST) });
    is $room->step->{serving}, $from + 1, 'then one, on trial';
    seconds(0.5, $host, sub { $room->step; requests($host, 20, @FAST) });
    cmp_ok $room->step->{serving}, '<=', $from + 5, 'and four, as it went well';

    $host = begin;
    $answer = seconds(3, $host, sub {
        requests($host, 20, @BAD, retry => 60) });
    cmp_ok $answer->{pause}, '<=', 60_000, 'a minute at most';
    cmp_ok $answer->{pause}, '>', 50_000, 'and that';

    $host = begin;
    my $four = 0;
    $answer = seconds(10, $host, sub {
        requests($host, 50, @FAST);
        requests($host, 20, @BAD, retry => 60, user => 'u' . $four++ % 4) });
    is $answer->{pause}, 0, 'not of four users';

    $host = begin;
    $answer = seconds(10, $host, sub {
        requests($host, 200, @FAST); requests($host, 10, @BAD, retry => 60) });
    is $answer->{pause}, 0, 'nor of less than a tenth';

    # few requests, most of them of one who fails, whatever that is told
    for my $other ([], [ retry => 7 ]) {
        $host = begin;
        $answer = seconds(1, $host, sub {
            requests($host, 12, @BAD, @$other, user => 'eve');
            requests($host, 6, @FAST);
            requests($host, 3, @BAD, retry => 7) });
        is $answer->{pause}, 7000, 'one who often fails does not put it off';
    }
};


subtest "an operator's hand" => sub {
    my $host = begin;
    my $room = room(rate => 100);
    my $queue = queue(threshold => 1000);

    $room->admin('activate');
    $room->assign(10_000);
    $room->admin('rate', 10);
    $queue->admin('set', 3);
    $queue->ask("user-$_") for 1 .. 9;
    is active($queue), 3, 'three may be in';

    my $answer = seconds(3, $host, sub { $room->step;
                                         requests($host, 50, @SLOW) });
    cmp_ok $answer->{rate}, '<=', 10_000, 'what is set is the most';
    cmp_ok $answer->{limit}, '<=', 3, 'of both';

    $room->admin('rate', 0);
    $queue->admin('set', 0);
    my $from = $room->step->{serving};
    for my $do (\@SLOW, \@BAD, \@FAST) {
        seconds(20, $host, sub { $room->step; $queue->step;
                                 requests($host, 50, @$do) });
    }
    is $room->step->{serving}, $from, 'a rate of 0 stays 0';
    is active($queue), 3, 'and so does a threshold of 0';

    $room->admin('unrate', 0);
    seconds(100, $host, sub { $room->step; requests($host, 50, @FAST) });
    $from = $room->step->{serving};
    now 1;
    is $room->step->{serving} - $from, 100, 'as configured again';

    $redis->cmd('HSET', '{e}:state', 'hold', '1');
    $from = $room->step->{serving};
    $queue->admin('unset');
    for (1 .. 4) {
        now 1;
        $queue->step;
    }
    is $room->step->{serving}, $from, 'held: tier 1';
    is $room->admin('advance', 5)->{result}, 0, 'by hand too';
    is active($queue), 3, 'tier 2';
    $redis->cmd('HSET', '{e}:state', 'hold', '0');
    now 1;
    $queue->step;
    is $room->step->{serving}, $from + 100, 'held no more: what passed is lost';
    is active($queue), 9, 'all are in';

    my $newcomer = room(rate => 100, event => 'e2');
    $newcomer->admin('activate');
    now 1;
    my $ahead = $newcomer->step->{serving};
    $redis->cmd('HSET', '{e2}:state', 'hold', '1');
    is $newcomer->assign->{result}, $ahead + 1,
       'who comes waits, though the counter was ahead';
};


subtest 'tier 2: never more than may be, and in order' => sub {
    my $host = begin(rate => 0, threshold => 100);
    my $queue = queue(threshold => 100, session_max => 20_000,
                      active_ttl => 20_000, claim_ttl => 20_000);
    my ($most, $n, @in, %seen) = (100, 0);

    for my $second (1 .. 120) {
        now 1;
        $queue->ask('user-' . $n++) for 1 .. 8;
        $queue->step;

        my @active = $queue->active;
        cmp_ok scalar(@active), '<=', 100, 'no more than the threshold'
            if @active > 100;

        my @new = grep { !$seen{$_}++ } @active;
        push @in, sort { $a <=> $b } map { /(\d+)/ } @new;

        my @do = $second < 30 ? @FAST : $second < 60 ? @SLOW
               : $second < 80 ? @BAD : @FAST;
        requests($host, 1 + @active, @do);
        my $answer = $host->call;

        # nobody comes in while more are in than may be
        is scalar(@new), 0, "second $second: nobody"
            if $answer->{why} == 1 && $most < 100 && @active > $most + 1
               && @new;
        $most = $answer->{limit} < 0 ? 100 : $answer->{limit};
    }
    cmp_ok scalar(@in), '>', 250, 'many came';
    is_deeply \@in, [ 0 .. $#in ], 'none was overtaken or lost';
};


subtest 'a room that is off says nothing of how many requests users bring' => sub {
    my $host = begin(rate => 5, threshold => 100);
    my $room = room(rate => 5);
    my $queue = queue(threshold => 100, active_ttl => 1e9, session_max => 1e9);

    $room->admin('activate');
    $room->assign(10_000);
    seconds(10, $host, sub { $room->step; requests($host, 5, @FAST) });
    $room->admin('deactivate');

    $queue->ask("in-$_") for 1 .. 50;
    seconds(20, $host, sub { requests($host, 25, @FAST) });
    seconds(3, $host, sub { requests($host, 25, @SLOW) });

    my ($from, $hold) = $redis->cmd('HMGET', '{e}:follow', qw(from hold))->@*;
    is $hold - $from, 5000, 'it is looked at again after as long as ever';
};


subtest 'hosts' => sub {
    my $one = begin;
    my $two = $one->other;
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(10_000);

    # each has too few, both have enough
    my $answer;
    for (1 .. 20) {
        now 0.5;
        $room->step;
        requests($one, 6, @SLOW);
        requests($two, 6, @SLOW);
        $one->call;
        now 0.1;
        $answer = $two->call;
    }
    is $answer->{why}, 1, 'what they measure is added up';
    is $answer->{at}, $us - 100_000, 'one of them decides';

    my $known = $one->{known};
    is $known->{at}, $answer->{at}, 'for both';

    # one is killed; the other goes on
    $answer = seconds(60, $one, sub { $room->step; requests($one, 20, @FAST) });
    is $answer->{why}, 0, 'one that is gone is not waited for';

    # Redis loses all
    seconds(3, $one, sub { $room->step; requests($one, 50, @SLOW) });
    my $before = $one->call;
    $redis->cmd('DEL', '{e}:follow', '{e}:state');
    $answer = $one->call;
    is limits($answer), limits($before), 'a host knows';
    now 0.5;
    $answer = $one->call;
    is $redis->cmd('HGET', '{e}:state', 'follow_rate'), $answer->{rate},
       'and it is in force again';

    # nor is it forgotten that all is stopped
    seconds(2, $one, sub { $room->step; requests($one, 50, @BAD) });
    is $one->call->{why}, 3, 'stopped';
    $redis->cmd('DEL', '{e}:follow', '{e}:state');
    now 0.5;
    is limits($one->call), '0 0 3', 'it still is';
    $answer = seconds(12, $one, sub { $room->step; requests($one, 1, @FAST) });
    cmp_ok $answer->{rate}, '>', 0, 'it begins again';
    cmp_ok $answer->{rate}, '<', 50_000, 'not at once with all';

    # nobody calls any more
    seconds(2, $one, sub { $room->step; requests($one, 50, @SLOW) });
    now 119;
    my $from = $room->step->{serving};
    now 0.9;
    cmp_ok $room->step->{serving} - $from, '<', 90, 'limits hold';
    now 1;
    $room->step;
    $from = $room->step->{serving};
    now 1;
    is $room->step->{serving} - $from, 100, 'not for ever';
};


# by what else leads the counter, and lets in without a ticket

for my $by (['no-shows', noshow => 4], ['standby', standby => 1]) {
    my ($name, %opt) = @$by;

    subtest "$name: limits, stop, hold" => sub {
        my $host = begin;
        my $room = room(rate => 100, noshow => $opt{noshow} // 1);
        my $unseen = 0;
        my $step = sub (%more) {
            my $answer = $room->step($opt{standby}
                                     ? (wanting => 1000, %more) : ());
            $unseen += $answer->{granted} // 0;
            return $answer;
        };

        $room->admin('activate');
        $room->assign(100_000) if !$opt{standby};

        my $entered = sub ($seconds) {
            my ($from, $granted) = ($step->()->{serving}, $unseen);
            for (1 .. 4 * $seconds) {
                now 0.25;
                $step->();
            }
            return $opt{standby} ? $unseen - $granted
                                 : $step->()->{serving} - $from;
        };

        seconds(3, $host, sub { $step->(); requests($host, 50, @FAST) });
        cmp_ok $entered->(2), '>', 90, 'as configured' if !$opt{standby};

        my $answer = seconds(60, $host, sub { $step->();
                                              requests($host, 50, @SLOW) });
        is $answer->{rate}, 5000, 'limited to the least';
        cmp_ok $entered->(4), '<=', 4 * 5 * ($opt{noshow} // 1) + 5,
               'no more than that, or than makes up for no-shows';

        seconds(3, $host, sub { $step->(); requests($host, 50, @BAD) });
        is $host->call->{why}, 3, 'stopped';
        my $from = $opt{standby} ? $unseen : $step->()->{serving};
        seconds(20, $host, sub { $step->(); requests($host, 20, @BAD) });
        my $n = ($opt{standby} ? $unseen : $step->()->{serving}) - $from;
        cmp_ok $n, '<=', 5, 'one each 5 s at most';
        cmp_ok $n, '>=', 3, 'which there is' if !$opt{standby};

        $redis->cmd('HSET', '{e}:state', 'hold', '1');
        is $entered->(10), 0, 'held: nobody';
    };
}


subtest 'so few that nothing can be said of them' => sub {
    my $host = begin;
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(10_000);
    seconds(5, $host, sub { $room->step; requests($host, 50, @FAST) });
    seconds(60, $host, sub { $room->step; requests($host, 50, @SLOW) });

    my $answer = seconds(30, $host, sub { $room->step;
                                          requests($host, 1, @SLOW) });
    is $answer->{rate}, 5000, 'slow: it stays as it is';

    # many requests of a few, most of which do not count
    my $n = 0;
    $answer = seconds(70, $host, sub {
        $room->step;
        requests($host, 2, @FAST, user => 'user-' . $n++ % 8) });
    is limits($answer), '-1 -1 0', 'quick: by and by all may come';
};


subtest 'dry, off, restart' => sub {
    my $host = begin(what => 'dry');
    my $room = room(rate => 100);

    $room->admin('activate');
    $room->assign(10_000);
    seconds(3, $host, sub { $room->step; requests($host, 50, @FAST) });
    my $answer = seconds(3, $host, sub { $room->step;
                                         requests($host, 50, @SLOW) });
    is $answer->{why}, 1, 'dry: it is told';
    my $from = $room->step->{serving};
    now 1;
    is $room->step->{serving} - $from, 100, 'and not done';

    $host->{what} = 'on';
    $answer = seconds(3, $host, sub { $room->step;
                                      requests($host, 50, @SLOW) });
    cmp_ok $answer->{rate}, '<', 80_000, 'on';
    is limits($host->call(what => 'off')), '-1 -1 0', 'off';
    $from = $room->step->{serving};
    now 1;
    is $room->step->{serving} - $from, 100, 'as configured';

    # stopped, the room begins anew at 0
    seconds(3, $host, sub { $room->step; requests($host, 50, @BAD) });
    is $host->call->{why}, 3, 'stopped';
    $room->admin('restart');
    $room->assign(1000);
    for (1 .. 16) {
        now 0.25;
        $room->step;
    }
    is $room->step->{serving}, 0, 'a room that begins anew is so too';

    # Redis's clock goes back by an hour
    $us -= 3_600_000_000;
    now;
    $answer = seconds(2, $host, sub { requests($host, 50, @FAST) });
    ok defined $answer->{rate}, 'and it goes on';
};

done_testing;
