# The points of a line that hosts' views are made of are looked up for all hosts
# together, and carried on: whatever happens to the line they are near enough, the
# head and the end are exact, and ten hosts cost little more than one.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max min shuffle);

use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start;
my $head = 100;
my $last = int(($redis->cmd('TIME')->[0] - 10_000) / 2) * 2 * 1e6;

srand 7;

like Admission::Scripts::text('step'), qr/local TURN, KEPT = 350, 5\n/,
    'turns are what this test takes them for';


# A host that has its turn at each step, and one that never has, unless what was
# kept does not tell enough.

sub host ($event, $turn = undef) {
    return Admission::Scripts->new(
        $redis, event => $event, threshold => 0, seen_ttl => 1e9,
        edit => sub {
            return unless defined $turn;
            s/local TURN, KEPT = \K\d+, \d+/$turn, 3600/;
        });
}

sub hosts ($event) {
    my @hosts = (host($event, 0), host($event, 1e9));
    $hosts[0]->ask('first');
    return @hosts;
}

sub key ($event, $name) { return "{$event}:$name" }

sub add ($event, @scores) {
    state $all = 0;
    while (my @part = splice @scores, 0, 1000) {
        my @users = map { 'user' . $all++ } @part;
        $redis->cmd('ZADD', key($event, 'queue'),
                    map { (sprintf('%.0f', $part[$_]), $users[$_]) } 0 .. $#part);
        $redis->cmd('ZADD', key($event, 'seen'), map { (9e12, $_) } @users);
    }
}

sub joins ($event, $n) {
    add($event, map { $last += 2 * (1 + int rand 30) } 1 .. $n);
}

sub drop ($event, @users) {
    while (my @part = splice @users, 0, 1000) {
        $redis->cmd('ZREM', key($event, $_), @part) for qw(queue seen);
    }
}

sub line ($event) {
    my $line = $redis->cmd('ZRANGE', key($event, 'queue'), 0, -1, 'WITHSCORES');
    return ([ map { $line->[2 * $_] } 0 .. $#$line / 2 ],
            [ map { $line->[2 * $_ + 1] + 0 } 0 .. $#$line / 2 ]);
}

sub ranges () { return $redis->stats->{zrange} // 0 }


# A step; how many looks it took, and whether what it says is so: by how much a
# position is off that src/host/view.c tells by it, as a part of what it may be.

sub step_of ($host, $what) {
    my $before = ranges();
    my $r = $host->step(0, -1, -1, $head);
    my $looks = ranges() - $before;

    my (undef, $line) = line($host->{event});
    my %did;
    @did{ Admission::Scripts::listed(queue_step => 'did') } = $r->{step}->@*;

    my @points = $r->{points}->@*;
    my @ranks = (0 .. $did{exact} - 1, $r->{ranks}->@*);
    my $wrong = '';

    $wrong .= ' size' if $r->{size} != @$line;
    $wrong .= ' exact' if $did{exact} != min($head, scalar @$line);
    $wrong .= ' number' if @points != @ranks || @ranks > $head + 1700;
    $wrong .= ' head' if grep { $points[$_] != $line->[$_] } 0 .. $did{exact} - 1;
    $wrong .= ' last' if $points[-1] != $line->[-1] || $ranks[-1] != $#$line;
    $wrong .= ' order' if grep { $points[$_] <= $points[$_ - 1]
                                 || $ranks[$_] <= $ranks[$_ - 1] } 1 .. $#points;

    my ($j, $off) = (0, 0);
    for my $i (0 .. $#$line) {
        my $score = $line->[$i];
        $j++ while $j < $#points && $points[$j + 1] <= $score;
        my $position = $ranks[$j] + 1;
        if ($points[$j] != $score) {
            my $part = ($score - $points[$j]) / ($points[$j + 1] - $points[$j]);
            $part = int($part * ($ranks[$j + 1] - $ranks[$j]) + 0.5);
            $position = max(min($position + $part, $ranks[$j + 1]),
                            $position + 1);
        }
        $off = max($off, abs($position - $i - 1));
    }

    my $may = max(10, @$line / 1000);
    $wrong .= " $off of $may" if $off > $may;
    is $wrong, '', "$what: " . @$line . " wait, $looks looks";
    return $looks;
}


subtest 'whatever happens to the line' => sub {
    for my $n (300, 12_000) {
        my $event = "line$n";
        my @hosts = hosts($event);
        my $many = sub ($part) { return max(1, int $n / $part) };
        my $leave = sub ($part) {
            my ($users) = line($event);
            drop($event, (shuffle @$users)[0 .. $many->($part)]);
        };
        my $go_in = sub ($part) {
            my ($users) = line($event);
            drop($event, @$users[0 .. $many->($part)]);
        };
        my $between = sub ($part) {
            my ($users, $scores) = line($event);
            my %there = map { ($_ => 1) } @$scores;
            my $from = $scores->[@$scores / 3];
            add($event, grep { !$there{$_} } map { $from + 2 * $_ }
                                             1 .. $many->($part));
        };
        my %what = (
            'nothing' => sub { },
            'some go in' => sub { $go_in->(1000) },
            'some leave' => sub { $leave->(1500) },
            'some join' => sub { joins($event, $many->(300)) },
            'some come back into the middle' => sub { $between->(1000) },
            'all of it' => sub {
                $go_in->(1000); $leave->(1500); $between->(2000);
                joins($event, $many->(500));
            },
            'many leave' => sub { $leave->(50) },
            'many come back' => sub { $between->(30) },
            'many join' => sub { joins($event, $many->(4)) },
            'all of a part leave' => sub {
                my ($users) = line($event);
                drop($event, @$users[@$users / 4 .. @$users / 3]);
            },
            'all of the front go' => sub { $go_in->(5) },
        );

        joins($event, $n);
        for my $what ('some go in', sort(keys %what), 'nothing', 'all of it',
                      'some leave', 'many leave', 'nothing')
        {
            for my $host (@hosts) {
                $what{$what}->();
                step_of($host, $what);
            }
        }
    }
};


subtest 'hosts cost as one' => sub {
    my ($one, $other) = hosts('cost');
    joins('cost', 12_000);

    my $all = step_of($one, 'the first one');
    cmp_ok $all, '>', 1000, 'looks up all';

    my ($turns, $others) = (0, 0);
    for (1 .. 8) {
        my ($users) = line('cost');
        drop('cost', $users->[0]);
        $turns += step_of($one, 'a turn');
        joins('cost', 10);
        $others += step_of($other, 'another host') for 1 .. 9;
    }
    cmp_ok $turns / 8, '<', $all / 3, 'a turn is a quarter of all';
    cmp_ok $others / 8 / 9, '<', $all / 30, 'others take next to nothing';

    # the first one behind the head is ahead by so many, which the count of
    # admissions tells: all at once, nothing is looked for

    my $in = Admission::Scripts->new($redis, event => 'cost', threshold => 50,
                                     seen_ttl => 1e9);
    step_of($one, 'before some are let in');
    wait_until {                # nobody is, after a while without steps
        $in->next_step;
        $redis->cmd('ZCARD', key('cost', 'active'));
    };
    cmp_ok $redis->cmd('ZCARD', key('cost', 'active')), '==', 50, '50 are let in';
    cmp_ok step_of($other, 'after it'), '<', 30, 'a look each';
};


subtest 'turns, by the clock of Redis' => sub {
    my $host = host('clock');
    $host->ask('first');
    joins('clock', 12_000);

    my $all = step_of($host, 'the first one');
    my $view = key('clock', 'view');

    # by now it may have gone: then a step keeps it anew, and both are of one moment

    my ($ttl, $at);
    wait_until {
        ($ttl, $at) = $redis->cmd('EVAL', "return { redis.call('TTL', KEYS[1]),
            redis.call('HGET', KEYS[1], 'at') }", 1, $view)->@*;
        return 1 if $ttl != -2;
        $host->step(0, -1, -1, $head);
        return 0;
    } 20;
    ok $ttl > 0 && $ttl <= 5, 'what is kept goes soon';

    wait_until {
        my ($s, $us) = $redis->cmd('TIME')->@*;
        $s * 1000 + $us / 1000 > $at + 350;
    };
    cmp_ok step_of($host, 'a turn'), '>', $all / 5, 'looks at a quarter';
    my $kept = $redis->cmd('HGET', $view, 'at');
    cmp_ok $kept, '>', $at, 'and keeps that' if defined $kept;

    # without one

    $redis->cmd('DEL', $view);
    cmp_ok step_of($host, 'nothing is kept'), '>', 1000, 'all are looked up';
};


subtest 'what is kept and not so' => sub {
    my @hosts = hosts('kept');
    my $view = key('kept', 'view');
    joins('kept', 9_000);
    step_of($hosts[0], 'the first one');

    my $all = sub ($what) {
        cmp_ok step_of($hosts[1], $what), '>=', 1000, 'all are looked up';
    };

    # of another epoch, of before a clear, of another time

    $redis->cmd('HSET', $view, of => '1 0');
    $all->('another epoch');
    $redis->cmd('HSET', $view, at => 9e12);
    $all->('the clock went back');
    $redis->cmd('HSET', $view, at => 1);
    $all->('too old');
    $redis->cmd('HSET', $view, points => "\xc1 not a list");
    $all->('no list');
    $redis->cmd('HDEL', $view, 'points');
    $all->('no points');

    # another line, with the same name

    my ($users) = line('kept');
    drop('kept', @$users[1 .. $#$users]);
    joins('kept', 9_000);
    $all->('another line');

    my ($now) = line('kept');
    drop('kept', @$now[50 .. $#$now]);
    step_of($_, 'no more than a head') for @hosts;
    joins('kept', 9_000);
    step_of($_, 'and more again') for @hosts;

    $hosts[0]->admin('clear');
    joins('kept', 9_000);
    $all->('cleared, and others came');

    # what can't be kept: it is done without

    $redis->cmd('DEL', $view);
    $redis->cmd('SET', $view, 'of somebody');
    $all->('not ours');
    is $redis->cmd('GET', $view), 'of somebody', 'stays';
    $redis->cmd('DEL', $view);

    # data lost, places restored from both ends

    $redis->cmd('DEL', map { key('kept', $_) } qw(queue seen epoch state));
    $hosts[0]->ask('first');
    joins('kept', 5_000);
    step_of($_, 'after a loss') for @hosts;
    add('kept', map { $last - 3_000_000 + 2 * $_ } 1 .. 5_000);
    step_of($_, 'others are back') for @hosts;
};

done_testing;
