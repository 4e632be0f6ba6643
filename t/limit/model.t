# The scripts of the limits against a model that is not made of them: random
# requests for several windows at once, at random times, some of them trials,
# some taken back.  All are charged, or none; each is told what is left, and how
# long to wait.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start;

# TEST_SEED repeats a run, TEST_HISTORIES makes it a longer one
my $seed = $ENV{TEST_SEED} // int rand 1e6;
my $histories = $ENV{TEST_HISTORIES} // 30;
my $REQUESTS = 150;

srand $seed;
note "TEST_SEED=$seed";

my @REPLY = Admission::Scripts::listed(limit => 'reply');
my %each = map { $_ => [ Admission::Scripts::listed($_ => 'each') ] }
           qw(limit limit_back);
my %sha;

# the time is what the test says, and nothing expires by another one
my $ASKED = <<'END';
local of = redis
local function ask(how)
  return function(command, key, ...)
    if command == 'TIME' then
      return how('MGET', 'seconds', 'us')
    elseif command == 'PEXPIRE' then
      return how('PERSIST', key)
    end
    return how(command, key, ...)
  end
end
local redis = { call = ask(of.call), pcall = ask(of.pcall) }
END

for my $name (qw(limit limit_back)) {
    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . "/lua/$name.lua");

    $sha{$name} = $redis->cmd('SCRIPT', 'LOAD', $ASKED . $text);
}

my $us;

sub now ($later) {
    $us += $later;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub pick (@of) { return $of[rand @of] }

sub ms ($time) { return int($time / 1000) }

# what a script answers, a hash for each window
sub script ($name, @windows) {
    my $reply = $redis->cmd('EVALSHA', $sha{$name}, scalar @windows,
                            (map { $_->{key} } @windows),
                            map { $_->@{ $each{$name}->@* } } @windows);

    return if $name ne 'limit';
    return map { my %answer; @answer{@REPLY} = splice @$reply, 0, @REPLY;
                 \%answer } @windows;
}


# ---- the model of a window: what was charged, and when

sub algorithm ($w) { return $w->{algorithm} eq 'l' ? 'log' : 'counter' }

# requests that count against the quota, at a time of us; a counter's are in
# parts of the length of its window, as one number
sub counted_log ($w, $at) {
    return scalar grep { $_ > $at - $w->{window} * 1000 } $w->{times}->@*;
}

# A bucket begins with the first request, the next one with its end, or with
# the first request after two of them.
sub bucket ($w, $ms) {
    my ($start, $old, $new) = ($w->{bucket} // [ $ms, 0, 0 ])->@*;
    my $age = $ms - $start;

    return [ $ms, 0, 0 ] if $age >= 2 * $w->{window};
    return [ $start + $w->{window}, $new, 0 ] if $age >= $w->{window};
    return [ $start, $old, $new ];
}

# whether there is room for so many at a time: in whole numbers
sub room_counter ($w, $ms, $n) {
    my ($start, $old, $new) = bucket($w, $ms)->@*;
    my $rest = $w->{window} - ($ms - $start);

    return ($w->{quota} - $new - $n) * $w->{window} >= $old * $rest;
}

sub room ($w, $at, $n) {
    return room_counter($w, ms($at), $n) if algorithm($w) eq 'counter';
    return counted_log($w, $at) + $n <= $w->{quota};
}

# so many more would find room
sub left ($w, $at) {
    my ($low, $high) = (0, $w->{quota});

    while ($low < $high) {
        my $n = int(($low + $high + 1) / 2);
        room($w, $at, $n) ? ($low = $n) : ($high = $n - 1);
    }

    return $low;
}

# in how many ms the oldest that counts does no longer, or there is room
sub wait_log ($w, $at) {
    my @times = sort { $a <=> $b }
                grep { $_ > $at - $w->{window} * 1000 } $w->{times}->@*;
    my $over = @times - $w->{quota};
    my $time = (@times ? $times[$over > 0 ? $over : 0] : $at)
               + $w->{window} * 1000 - $at;

    return int(($time + 999) / 1000);
}

# what is wrong with a wait
sub wrong_wait ($w, $at, $wait, $full) {
    if (algorithm($w) eq 'log') {
        my $said = wait_log($w, $at);
        return $wait == $said ? () : "wait $wait, not $said";
    }

    my $ms = ms($at);
    my $rest = $w->{window} - ($ms - bucket($w, $ms)->[0]);

    return $wait == $rest ? () : "wait $wait, not $rest" if !$full;
    return "no room after $wait ms" if !room_counter($w, $ms + $wait, 1);
    return "room before $wait ms"
        if $wait > 0 && room_counter($w, $ms + $wait - 1, 1);
    return;
}

sub charge ($w, $at) {
    if (algorithm($w) eq 'log') {
        push $w->{times}->@*, $at;
        return;
    }

    $w->{bucket} = bucket($w, ms($at));
    $w->{bucket}[2]++;
}

sub take_back ($w, $at) {
    if (algorithm($w) eq 'log') {
        $w->{times}->@* = grep { $_ != $at } $w->{times}->@*;
        return;
    }

    my $bucket = $w->{bucket} or return;
    my $age = $at / 1000 - $bucket->[0];
    my $which = $age >= 0 ? 2 : $age >= -$w->{window} ? 1 : undef;

    $bucket->[$which]-- if $which && $bucket->[$which] >= 1;
}


# ---- the histories

sub later () {
    my $x = rand;

    return $x < 0.2 ? 10 + int rand 90 : $x < 0.5 ? int rand 2e5
         : $x < 0.7 ? 1000 * pick(1, 100, 1000, 5000) : $x < 0.95 ? int rand 1.5e6 : int rand 2e7;
}

sub window ($n) {
    return { key => "w$n", algorithm => pick(qw(l c)), window => pick(1, 1000,
             2000, 5000, 60_000), quota => pick(1, 2, 3, 7, 20, 1000),
             times => [] };
}

# one request, which takes back what it was charged before; what is wrong
sub request (@asked) {
    for my $w (@asked) {
        $w->{trial} = $w->{dry} . ($w->{at} // '');
        take_back($w, $w->{at}) if $w->{at};
    }

    my @full = map { !room($_, $us, 1) } @asked;
    my @left = map { left($_, $us) } @asked;
    my $refused = grep { $full[$_] && !$asked[$_]{dry} } 0 .. $#asked;
    my @answers = script('limit', @asked);
    my @wrong;

    for my $i (0 .. $#asked) {
        my ($w, $said) = ($asked[$i], $answers[$i]);
        my $charged = !$refused && !$full[$i];
        my $left = $full[$i] ? -1 : $left[$i] - ($charged ? 1 : 0);

        push @wrong, "$w->{key}: $said->{left} left, not $left"
            if $said->{left} != $left;
        push @wrong, map { "$w->{key}: $_" }
                     wrong_wait($w, $us, $said->{wait}, $full[$i]);

        push @wrong, "$w->{key}: charged at $said->{at}"
            if $charged && ($said->{at} < $us || $said->{at} > $us + 2000
                            || grep { $_ == $said->{at} } $w->{times}->@*);

        charge($w, $said->{at}) if $charged;
        $w->{at} = $charged ? $said->{at} : undef;
    }

    return @wrong;
}


sub history () {
    my @windows = map { window($_) } 1 .. 3;
    my @done;

    $redis->flushall;
    $us = 1_700_000_000_000_000;

    for (1 .. $REQUESTS) {
        my @asked = grep { rand() < 0.6 } @windows;

        # no two scripts have the same time, but if they had, a log of which
        # it was asked twice would have both
        @asked = (pick(@windows)) if @asked != 1 && rand() < 0.1;
        now(@asked == 1 ? int rand 2 : later());
        @asked = ($windows[0]) if !@asked;

        @$_{qw(dry at)} = (rand() < 0.2 ? 1 : 0, undef) for @asked;

        my @wrong = request(@asked);
        my @charged = grep { $_->{at} } @asked;

        push @done, "$us " . join ', ', map {
            "$_->{key} $_->{algorithm} $_->{quota} in $_->{window} ms"
            . ($_->{dry} ? ' for a trial' : '') } @asked;

        # by the other script, or with the next request
        if (!@wrong && @charged && rand() < 0.15) {
            now(later());
            push @done, "$us back: " . join ' ', map { $_->{key} } @charged;

            if (rand() < 0.5) {
                script('limit_back', @charged);
                take_back($_, $_->{at}) for @charged;

            } else {
                @wrong = request(@charged);
            }
        }

        if (@wrong) {
            diag join "\n", @done;
            diag $_ for @wrong;
            return;
        }
    }

    return 1;
}

my $right = 0;

for (1 .. $histories) {
    history() or last;
    $right++;
}

is $right, $histories, 'each answer is the model\'s';

done_testing;
