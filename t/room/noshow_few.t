# The counter led by who comes where few are called, a second or two before they come:
# each is taken for one of those of its own time, so that numbers are called evenly.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Comers;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $RATE = 4;
my $seed = $ENV{TEST_SEED} // 1;

srand $seed;
note "TEST_SEED=$seed";

for my $of (1, 0.5) {
    my $what = 100 * $of . ' % come';
    my (@wrong, $slots);

    $redis->flushall;
    my $crowd = Admission::Comers->new($redis, rate => $RATE);

    $crowd->take(400, sub { rand() < $of ? {} : undef });
    $crowd->run(40, sub {
        my $kept = $redis->cmd('HGET', $crowd->room->key('come'), 'slots') // '';
        for my $slot (split /;/, $kept) {
            my ($from, $to, undef, $came) = split ' ', $slot;
            $slots++;
            push @wrong, "$came of $from to $to" if $came > $to - $from + 1;
        }
    });

    cmp_ok $slots, '>', 100, "$what: it is looked at who does";
    is_deeply \@wrong, [], "$what: of none that were called together more than there are";

    my %came = map { ($_->[1] => 1) } $crowd->{come}->@*;
    cmp_ok scalar keys %came, '>', 25 * $RATE, "$what: by the rate, they do";
}

# Some numbers in a row of nobody who is there, fewer than are passed over at once, and
# more than may be called at a time by such a rate.

for my $rate (1, 2) {
    $redis->flushall;
    my $crowd = Admission::Comers->new($redis, rate => $rate, there => 1);
    my @hole = (10 * $rate + 1 .. 10 * $rate + 25);
    my $n = $hole[-1] + 10 * $rate;
    my %gone = map { ($_ => 1) } @hole;

    $crowd->take($n, sub ($number) { $gone{$number} ? undef : {} });
    $crowd->run(60);

    is scalar(grep { $_->[2] == 0 } $crowd->{come}->@*), $n - @hole,
       "$rate a second: who is behind people who went has the turn as well";
    is_deeply $crowd->{wrong}, [], "$rate a second: the counter does not go back";
}

done_testing;
