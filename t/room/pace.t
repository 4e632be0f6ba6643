# A forecast is in order and has an end, whatever was measured: also of a line that
# stands for days.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

my $dir = test_dir;
my $tree = root . '/build/tree';

my ($status, $output) = run($ENV{CC} // 'cc', qw(-O -Wall -Wextra -Werror),
    qw(-Wno-unused-parameter -fsanitize=undefined -fsanitize=float-cast-overflow
       -fsanitize=float-divide-by-zero -fno-sanitize-recover=all -o), "$dir/pace",
    (map { "-I$_" } root . '/src', root . '/build/objs',
                    map { "$tree/src/$_" } qw(core event os/unix)),
    root . '/t/lib/pace.c', root . '/src/base/forecast.c');

is $status, 0, 'it can be taken out of the module' or diag $output;

($status, $output) = run("$dir/pace");
is $status, 0, 'all forecasts are in order' or diag $output;

my ($asked) = ($output // '') =~ /^(\d+) asked, 0 wrong$/m;
cmp_ok $asked // 0, '>', 40_000, 'of many';

done_testing;
