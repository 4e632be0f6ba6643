# Steering by the backend in a model of a site: the real scripts in a real Redis, by
# the model's clock.  bench/follow_model has more cases, and docs/follow.md what they
# came to; what is asked for here is less than that by what chance does.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::FollowSite;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $seed = $ENV{TEST_SEED} // 1;

# the same each time, but for TEST_SEED

sub site (%opt) {
    return Admission::FollowSite->new($redis, %Admission::FollowSite::SITE,
                                      seed => $seed, %opt);
}

# How many seconds of a phase until its limit is within that; none: it is not.

sub settled ($phase, $least, $most) {
    my @limits = map { $_->{limit} } $phase->{seconds}->@*;
    for my $i (0 .. $#limits) {
        return $i + 1 if $limits[$i] >= $least && $limits[$i] <= $most;
    }
    return;
}


subtest 'half of it, of two hosts one is killed, and all again' => sub {
    my $told = site->phases({ for => 20 },
                            { for => 40, capacity => 120, kill => 1 },
                            { for => 40, capacity => 240 });
    my ($before, $half, $after) = $told->{phases}->@*;

    cmp_ok $told->{goodput}, '>', 0.85, 'goodput';
    is scalar(grep { $_->{why} } $before->{seconds}->@*), 0,
       'nothing is steered without need';

    cmp_ok settled($half, 5, 66) // 99, '<=', 5, 'down within 5 s';
    cmp_ok $half->{least}, '>', 48, 'not too far, and there it stays';
    cmp_ok $half->{most}, '<', 72, 'nor too much';
    cmp_ok $half->{p95}, '<', 750, '1.5 times what is allowed, at most';
    cmp_ok settled($after, 90, 100) // 99, '<=', 30, 'up within 30 s';
};


subtest 'a tenth of it, and all again' => sub {
    my $told = site->phases({ for => 15 }, { for => 40, capacity => 24 },
                            { for => 30, capacity => 240 });
    my (undef, $tenth, $after) = $told->{phases}->@*;

    cmp_ok settled($tenth, 0, 13) // 99, '<=', 5, 'down within 5 s';
    cmp_ok $tenth->{least}, '>', 8, 'found, and there it stays';
    cmp_ok $tenth->{most}, '<', 16, 'nor too much';
    cmp_ok settled($after, 90, 100) // 99, '<=', 20, 'up within 20 s';
};


subtest 'few requests, and those whose turn it is take up to 2 s to come' => sub {
    my $told = site(rate => 40, come => 46, capacity => 96, base => 50, gap => 300,
                    lag => 2000, seed => $seed + 1)
               ->phases({ for => 15 }, { for => 90, capacity => 10 });
    my @then = $told->{phases}[1]{seconds}->@[45 .. 89];
    my ($least, $most) = (sort { $a <=> $b } map { $_->{limit} } @then)[0, -1];

    cmp_ok $least, '>', 3.3, 'two thirds of what it takes, at least';
    cmp_ok $most, '<', 6.7, 'nor a third more than it does';
    my @late = grep { $_ > 1000 } map { $_->{times}->@* } @then;
    cmp_ok scalar @late, '<', 0.1 * 450, 'hardly any answer takes long';
};


subtest 'nothing, and again' => sub {
    my $told = site->phases({ for => 15 }, { for => 20, capacity => 0 },
                            { for => 35, capacity => 240 });
    my (undef, $none, $after) = $told->{phases}->@*;

    my @stopped = grep { $_->{why} == 3 } $none->{seconds}->@*;
    cmp_ok scalar(@stopped), '>=', 12, 'it is stopped';
    my $entered = 0;
    $entered += $_->{entered} for $none->{seconds}->@[8 .. 19];
    cmp_ok $entered, '<', 20, 'nobody but on trial';
    cmp_ok settled($after, 90, 100) // 99, '<=', 25, 'it begins again by itself';
};


subtest 'slower, but not too slow' => sub {
    my $told = site->phases({ for => 15 }, { for => 30, base => 190 });

    is scalar(grep { $_->{why} } map { $_->{seconds}->@* }
              $told->{phases}->@*), 0, 'steers nothing';
};

done_testing;
