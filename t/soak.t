# A minute of bench/soak: a small crowd that never ends, while all that can go
# wrong does, one thing after another.  SOAK_MINUTES and TEST_SEED make it
# another run.

use FindBin;
use lib "$FindBin::Bin/lib";
use Admission::Test;

my $minutes = $ENV{SOAK_MINUTES} // (sanitized ? 0.5 : 1);
my $seed = $ENV{TEST_SEED} // 1;

my ($status, $output) = run($^X, root . '/bench/soak', '--minutes', $minutes,
                            '--users', 100, '--every', 2, '--seed', $seed);

is($status, 0, 'nothing was found wrong');
like($output, qr/^soak: ok$/m, 'and it came to its end');

my ($faults) = $output =~ /^faults: (.*)$/m;
my $kinds = () = ($faults // '') =~ /[a-z-]+ \d+/g;
cmp_ok($kinds, '>=', 5, 'faults of many kinds') if !$ENV{SOAK_MINUTES};

$status ? diag($output) : note($output);

done_testing;
