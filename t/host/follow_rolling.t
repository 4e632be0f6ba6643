# Hosts of this version and of the one before side by side, in any order: one controller,
# whose state and windows each understands, made by whichever of them comes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::FollowSite;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $seed = $ENV{TEST_SEED} // 3;
my ($MOST, $HALF) = (40, 24);

# Which of two hosts are of the version before.

sub be ($site, @before) {
    my ($new) = grep { !$_->{args} } $site->{follow}->@*, $site->{new} // ();
    $site->{new} = $new;

    for my $host (0, 1) {
        my $was = $site->{follow}[$host];
        next if !!$was->{args} == !!$before[$host];

        # a process ends with what it did not tell; what it knew goes on
        $site->{follow}[$host] = $before[$host] ? $new->before : $new->other;
        $site->{follow}[$host]{known} = $was->{known};
    }
}

# In the model the first host decides each time; in turn: each the next time.

sub site ($in_turn, @before) {
    my $site = Admission::FollowSite->new(
        $redis, %Admission::FollowSite::SITE, rate => $MOST, come => 46,
        capacity => 96, base => 50, gap => 300, errors => 200, seed => $seed);

    my $at = 0;
    $site->{wrong} = [];
    $site->{answered} = sub ($of) {
        my ($cut, $seen, $cuts, $rate, $over) = map { $_ // 0 } $redis->cmd('HMGET',
            $site->{new}->key('follow'), qw(from cut_at cuts rate rate_over))->@*;

        # while it is too much, scripts of between take 0 for what it says
        push $site->{wrong}->@*, "$rate a second, of $over"
            if $cut == $seen && $cuts > 0 && $rate > 0 && $over == 0;

        $site->{follow}->@[0, 1] = $site->{follow}->@[1, 0]
            if $in_turn && $of->{at} > $at;
        $at = $of->{at};
        push $site->{wrong}->@*, "$of->{rate} a second, why $of->{why}"
            if $of->{rate} > 1000 * $MOST
               || $of->{rate} < 50 * $MOST && $of->{rate} != -1 && $of->{why} != 3
               || $of->{why} == 3 && $of->{rate} != 0;
    };
    be($site, @before);
    return $site;
}

# The limits of each second of a phase.

sub limits ($site, $seconds, %set) {
    my $told = $site->phases({ for => $seconds, %set });
    return map { $_->{limit} } $told->{phases}[0]{seconds}->@*;
}

sub is_so ($what, $least, $most, @limits) {
    my ($low, $high) = (sort { $a <=> $b } @limits)[0, -1];

    ok $low >= $least && $high <= $most,
       sprintf '%s: %.1f to %.1f of %d to %d', $what, $low, $high, $least, $most;
}


my %CASES = ('the one before decides' => [ 0, 1, 0 ],
             'the one of now decides' => [ 0, 0, 1 ],
             'both decide in turn' => [ 1, 1, 0 ]);

for my $what (sort keys %CASES) {
    my $site = site($CASES{$what}->@*);

    is_so("$what: nothing limits", $MOST, $MOST, limits($site, 8));
    my @half = limits($site, 20, capacity => 2 * $HALF);
    is_so("$what: half, within 5 s", 0, 1.2 * $HALF, @half[5 .. 9]);
    is_so("$what: there it stays", 0.5 * $HALF, 1.4 * $HALF, @half[10 .. 19]);
    my @all = limits($site, 20, capacity => 96);
    is_so("$what: all again", $MOST, $MOST, $all[-1]);
    is_deeply $site->{wrong}, [], "$what: never beyond what is set";
}


# Half of what there was, and hosts get new one after the other, and go back.

my $site = site(0, 1, 1);
limits($site, 8);
limits($site, 12, capacity => 2 * $HALF);

for my $now ([ 0, 1 ], [ 0, 0 ], [ 1, 0 ], [ 1, 1 ]) {
    my $what = join ' and ', map { $_ ? 'before' : 'now' } @$now;

    be($site, @$now);
    is_so("$what: as it was", 0.5 * $HALF, 1.4 * $HALF, limits($site, 12));
}

is_deeply $site->{wrong}, [], 'never beyond what is set';

done_testing;
