# A crowd that waits, leaves and comes back, on two hosts, by the scripts and in a
# time of its own: how many stand ahead of whoever asks is within 5 % of those who
# do, and never goes up.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;
use Admission::There;

# TEST_SEED repeats a run, TEST_CROWD makes it a larger one: see bench/crowds
my $seed = $ENV{TEST_SEED} // int rand 1e6;
my $crowd = $ENV{TEST_CROWD} // 4000;
my $SECONDS = 130;

srand $seed;
note "TEST_SEED=$seed";

my $redis = Admission::Redis->start;
my $us = 1_750_000_000_000_000;

sub now ($later = 0) {
    $us += $later;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

now;
my $room = Admission::Rooms->new($redis, rate => int($crowd / 400), burst => 0,
    edit => sub ($text) {
        $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
        return $text;
    });

$room->admin('activate');
my $of = $room->{host}{activation};

# of each host: what it was told, and has heard, by lapse
my @host = map { { id => $_, room => $room->copy, heard => {} } } 1, 2;

# those who are there, in sums of binary parts: how many up to a number
my @tree = (0) x ($crowd + 1);

sub count_of ($n) {
    my $sum = 0;
    for (; $n > 0; $n -= $n & -$n) { $sum += $tree[$n] }
    return $sum;
}

sub add ($n, $by) {
    for (; $n <= $crowd; $n += $n & -$n) { $tree[$n] += $by }
}

# until when each counts, us: twice nextPoll from the last poll on
my @until = (0) x ($crowd + 1);
my (%poll, %lapse, @told);

sub there ($n, $until) {
    add($n, 1) if !$until[$n];
    $until[$n] = $until;
    push $lapse{int($until / 1e6) + 1}->@*, $n;
}

sub gone ($n) {
    add($n, -1) if $until[$n];
    $until[$n] = 0;
}

sub ahead ($host, $n) {
    my $serving = $host->{room}{host}{serving};
    return $n - $serving if !$host->{table} || $n - $serving <= 1;
    return there_up_to($host->{table}, $n - 1)
           - there_up_to($host->{table}, $serving) + 1;
}

sub next_poll ($ahead) {
    return $ahead <= 500 ? 2 : $ahead <= 2000 ? 5 : $ahead <= 10000 ? 10 : 15;
}

my ($polls, $off, $worst, $rises, $most) = (0, 0, 0, 0, 0);
my ($left, $back) = (0, 0);
my @away;

for my $second (1 .. $SECONDS) {
    now(1e6);

    # they come within a quarter of the time
    my $come = $second <= $SECONDS / 4 ? int($crowd / ($SECONDS / 4)) : 0;
    if ($come) {
        my $a = $host[$second % 2]{room}->assign($come);
        push $poll{$second}->@*, $_
            for $a->{result} .. $a->{result} + $a->{issued} - 1;
    }

    # and some of those who went come back, more of them at a time
    my $again = int(@away / ($second >= 70 && $second < 90 ? 12 : 60));
    for (1 .. $again) {
        my ($n) = splice @away, rand @away, 1;
        push $poll{$second}->@*, $n;
        $back++;
    }

    gone($_) for grep { $until[$_] && $until[$_] <= $us }
                 (delete $lapse{int($us / 1e6)} // [])->@*;

    for my $n ((delete $poll{$second} // [])->@*) {
        my $host = $host[rand @host];

        next if $n > $crowd;
        if ($n <= $host->{room}{host}{serving}) {
            gone($n);
            next;
        }

        my $ahead = ahead($host, $n);
        my $next = next_poll($ahead);

        # one in 200 a second goes, and half of them say so
        if ($second > 20 && rand() < $next / 200) {
            if (rand() < 0.5) {
                gone($n);
                push $host->{heard}{0}->@*, $n;
            }
            push @away, $n;
            $left++;
            next;
        }

        my $serving = $host->{room}{host}{serving};

        there($n, $us + 2e6 * $next);
        push $host->{heard}{2 * $next}->@*, $n;
        push $poll{$second + $next}->@*, $n;
        $polls++;

        my $before = $told[$n] // 1e12;
        $most = $ahead - $before if $ahead - $before > $most;
        $told[$n] = $ahead < $before ? $ahead : $before;
        $rises++ if $told[$n] > $before;

        next if $second < 15 || $n % 5;

        # of fewer than 1,000 as many as 5 % of those
        my $true = count_of($n) - count_of($serving);
        my $error = abs($ahead - $true) / ($true > 1000 ? $true : 1000);
        $worst = $error if $error > $worst;
        $off++ if $error > 0.05;
    }

    for my $host (@host) {
        my $heard = $host->{heard};
        my $answer = $host->{room}->step(
            there => $host->{id}, of => $of, table => $host->{seen} // 0,
            heard => [ map { marks($_, $heard->{$_}->@*) }
                       sort { $a <=> $b } keys %$heard ]);
        $host->{heard} = {};
        next if !$answer->{there_at};
        $host->{table} = table_of($answer);
        $host->{seen} = $answer->{there_at};
    }
}

note sprintf '%d polls of %d, %d went and %d came back; at worst %.1f %% off;'
    . ' a number would have gone up by %d', $polls, $crowd, $left, $back,
    100 * $worst, $most;

cmp_ok $left, '>', $crowd / 4, 'many went';
cmp_ok $back, '>', $crowd / 20, 'some came back';
is $off, 0, 'nobody is told of 5 % more or fewer than are there';
is $rises, 0, 'and nobody of more than before';
cmp_ok $most, '>', 0, 'though more were ahead again';

done_testing;
