# A crowd comes to a room on standby at once: from the second second on no more
# than 1.05 times the rate pass in any, but for chance.  Hosts and visitors, and the
# time, are simulated: see bench/lib/Unseen.pm, and bench/standby --simulated.

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../../bench/lib";
use Admission::Test;
use Admission::Redis;
use Unseen;

plan skip_all => 'nothing of NGINX is run here: once is enough' if sanitized;

my $redis = Admission::Redis->start;

# the same crowds each time, unless TEST_SEED says otherwise
my $seed = $ENV{TEST_SEED} // 1;
srand $seed;
note "TEST_SEED=$seed";

# What passes in a second is as many as are called, and who of them asks just then:
# give or take the root of it, at most.

sub chance ($rate) { return 3.5 * sqrt $rate }

sub flood ($rate, $hosts, $times, %opt) {
    $redis->flushall;
    my $site = Unseen->new(redis => $redis, rate => $rate, hosts => $hosts, %opt);

    $site->come(0.9, 3);
    $site->{before} = $site->{shown}->@*;
    $site->{flood} = $site->{us};
    $site->come($times, 2);
    $site->come(0.5, 2);
    $site->come(0, 600, sub { $site->idle });
    return $site;
}

for my $case ([ 50, 2, 20, stream => 0 ], [ 50, 3, 2, stream => 0.7 ],
              [ 400, 3, 8, stream => 0.7 ])
{
    my ($rate, $hosts, $times, %opt) = @$case;
    my $what = "$rate a second, $hosts hosts, $times times";
    my $site = flood(@$case);
    my ($first, $worst, $ten) = $site->most($site->{flood});

    is $site->{before}, 0, "$what: nobody sees it below the rate";
    cmp_ok $first, '<=', 2 * $rate + $hosts * ($rate / 4 + 1),
        "$what: the burst, the rate, and what is in hand in the first second";
    cmp_ok $worst, '<=', 1.05 * $rate + chance($rate),
        "$what: and then the rate, in any second";
    cmp_ok $ten, '<=', 10.5 * $rate + chance($rate), "$what: over any ten";

    is $site->{passed}->@*, $site->{came}, "$what: everybody once";
    is $site->{wrong}, 0, "$what: the counter never goes back";
    cmp_ok $site->{longest}, '<=', 1e6, "$what: no page is held up for over 1 s";

    $site->come(0, 15, sub { !grep { $_->{seen} } $site->{host}->@* });
    ok !(grep { $_->{seen} } $site->{host}->@*), "$what: it is unseen again";
}

# Between once and twice the rate the burst lasts longer than a second; it is as
# many all the same.

{
    my $rate = 50;
    my $site = flood($rate, 2, 1.5);
    my $sum = 0;
    my @second = $site->seconds($site->{flood});
    my @over = grep { $sum += $second[$_];
                      $sum > $rate + 1.05 * $rate * ($_ + 1) + 2 * ($rate / 4 + 1)
                             + chance($rate) } 0 .. $#second;
    is_deeply \@over, [], 'at 1.5 times no more than the rate and the burst';
}

# As if all pages asked just when they are told to.

{
    my $site = flood(50, 2, 20, stream => 0, together => 1);
    my ($first, $worst) = $site->most($site->{flood});
    cmp_ok $worst, '>', 1.05 * 50 + chance(50),
        'those who come together would ask, and go in, together from then on';
}

done_testing;
