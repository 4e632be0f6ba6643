# Those who wait for a sale to open are counted by how they come: a few are told
# to come each 2 seconds, many as seldom as the host can take, a few again soon.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max);

my $dir = test_dir;
my $tree = root . '/build/tree';
my $rate = 100;

my ($status, $output) = run($ENV{CC} // 'cc', qw(-O -Wall -Wextra -Werror),
    qw(-Wno-unused-parameter -fsanitize=undefined -o), "$dir/crowd",
    (map { "-I$_" } root . '/src', root . '/build/objs',
                    map { "$tree/src/$_" } qw(core event os/unix)),
    root . '/t/lib/crowd.c', root . '/src/base/crowd.c');

is $status, 0, 'it can be taken out of the module' or diag $output;

# [came, told] of each second

sub crowd (@times) {
    my $input = write_file("$dir/input", join '', map { "@$_\n" } @times);
    my (undef, $said) = run('sh', '-c', "'$dir/crowd' < '$input'");
    return map { [ split / / ] } split /\n/, $said;
}

sub told (@seconds) { return map { $_->[1] } @seconds }

my @few = crowd([ 0, 2 * $rate, 60_000 ]);
is_deeply [ told(@few) ], [ (2) x 60 ], 'as many as it can take: 2 s';

my @many = crowd([ 0, 10 * $rate, 90_000 ]);
my @late = @many[20 .. 89];
cmp_ok max(map { $_->[0] } @late), '<=', 2.5 * $rate, 'five times that: spread';
my $sum = 0;
$sum += $_->[0] for @late;
cmp_ok $sum / @late, '<=', 1.2 * $rate, 'so many as it can take';
cmp_ok $sum / @late, '>=', 0.6 * $rate, 'and no less';

my @all = crowd([ 0, 50 * $rate, 60_000 ]);
is max(told(@all)), 15, 'whatever comes: 15 s';

my @gone = crowd([ 0, 10 * $rate, 30_000 ], [ 30_000, 10, 120_000 ]);
is $gone[-1][1], 2, 'they have gone: 2 s again';

my @come = crowd([ 0, 10, 10_000 ], [ 10_000, 10 * $rate, 30_000 ]);
is $come[9][1], 2, 'a few';
cmp_ok $come[16][1], '>', 5, 'many more come: it is known in seconds';

done_testing;
