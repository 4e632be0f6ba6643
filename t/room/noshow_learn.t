# Where many are called a second some are told to ask a long time later: that others
# do not come is seen before all ages are.  By a clock of the test's own; bench/noshows
# is more of it.

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../../bench/lib";
use Admission::Test;
use Admission::Redis;
use Called;

my $redis = Admission::Redis->start;
my $RATE = 2000;

# the same crowds each time, unless TEST_SEED says otherwise
my $seed = $ENV{TEST_SEED} // 1;
srand $seed;
note "TEST_SEED=$seed";

sub crowd ($seconds, $visitor) {
    $redis->flushall;
    my $line = Called->new(redis => $redis, rate => $RATE, there => 0);
    $line->take(3 * $RATE * $seconds, $visitor);
    $line->run($seconds);
    return $line;
}

{
    my $line = crowd(21, sub ($n) { rand() < 0.6 ? undef : {} });
    my ($least, $most) = map { $_ / $RATE } $line->rates(10, 21);
    my $seen = sprintf '%.3f to %.3f of the rate', $least, $most;

    cmp_ok $least, '>=', 0.95, "60 of 100 do not come: no fewer, $seen";
    cmp_ok $most, '<=', 1.05, "60 of 100 do not come: no more, $seen";
    is $line->{wrong}, 0, 'the counter never goes back';
}

# Those who come late, by what they were told, are waited for: they are not taken
# for people who do not come.

{
    my $line = crowd(12, sub ($n) { { told => 1 } });

    cmp_ok $line->{served}, '<=', 1.1 * $RATE * 12,
        "all come, when they were told to: $line->{served} are called";
    cmp_ok $line->{served}, '>=', 0.9 * $RATE * 12, 'as many as by the rate';
}

# Nobody comes at all for longer than who asks often would take: it may be that
# all of them come at once.

{
    my $line = crowd(8, sub ($n) { undef });
    cmp_ok $line->{served}, '<=', 1.1 * $RATE * 8,
        "nobody comes yet: $line->{served} are called";
}

done_testing;
