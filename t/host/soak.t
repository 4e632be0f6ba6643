# A minute of bench/soak: a small crowd that never ends, while all that can go
# wrong does, one thing after another; in two runs, since a wrong clock and a
# loss of data are to be far from each other.  SOAK_MINUTES and TEST_SEED make
# other runs.

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../../bench/lib";
use Admission::Test;
use Soak::Faults;

my $minutes = $ENV{SOAK_MINUTES} // (sanitized ? 0.4 : 0.6);
my $seed = $ENV{TEST_SEED} // 1;
my @names = Soak::Faults::names();

# both at once: they mostly wait

my %soak = map {
    my $without = $_;
    ($without => run_beside(
        $^X, root . '/bench/soak', '--minutes', $minutes, '--users', 100,
        '--every', 1.5, '--seed', $seed, '--kinds', 5,
        '--only', join ',', grep { $_ ne $without } @names));
} qw(flush clock);

for my $without (sort keys %soak) {
    my ($status, $output) = $soak{$without}->();

    is($status, 0, "without $without: nothing was found wrong");
    like($output, qr/^soak: ok$/m, 'and it came to its end');

    my ($faults) = $output =~ /^faults: (.*)$/m;
    my $kinds = () = ($faults // '') =~ /[a-z-]+ \d+/g;
    cmp_ok($kinds, '>=', 5, 'faults of many kinds');

    $status ? diag($output) : note($output);
}

done_testing;
