# The hash of what clients choose is SipHash-2-4, as OpenSSL's is, whatever the
# length.  The quick one spreads ids as they come, and texts that differ in the same
# way do not have the same one whatever the key.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

my $dir = test_dir;
my $tree = root . '/build/tree';

my ($status, $output) = run($ENV{CC} // 'cc', qw(-O -Wall -Wextra -Werror),
    qw(-Wno-unused-parameter -fsanitize=undefined -o), "$dir/hash",
    (map { "-I$_" } root . '/src', root . '/build/objs',
                    map { "$tree/src/$_" } qw(core event os/unix)),
    root . '/t/lib/hash.c', root . '/src/base/hash.c',
    '-lcrypto');

is $status, 0, 'it can be taken out of the module' or diag $output;

for my $try (1 .. 3) {
    my $bytes = join '', map { chr int rand 256 } 1 .. 16 + 70;
    my $input = write_file("$dir/input", $bytes);
    my $key = unpack 'H*', substr $bytes, 0, 16;

    my (undef, $ours) = run('sh', '-c', "'$dir/hash' < '$input'");
    my @ours = split /\n/, $ours;

    is scalar @ours, 71, 'a hash for each length';

    for my $len (0 .. $#ours) {
        write_file("$dir/text", substr $bytes, 16, $len);

        my (undef, $theirs) = run('openssl', 'mac', '-macopt', "hexkey:$key",
                                  '-macopt', 'size:8', '-in', "$dir/text",
                                  'SIPHASH');
        chomp $theirs;

        # least byte first, as the bytes of a message are
        is $ours[$len], unpack('H*', scalar reverse pack 'H*', lc $theirs),
            "$key: $len bytes";
    }
}

# 10 for each of 512 places; the sum of squares is more than that by chance once in
# 10^12 times.  Of ids that differ in few bytes a key in ten thousand makes more of
# it: of five keys that is the one in the middle once in 10^10 times.

for my $format ('%d', 'user-%d', 'user-%012d', '%08x-0000-4000-8000-000000000000',
                'a%d@example.com', '3f0c2b1e-0000-4000-8000-%012d')
{
    my @sums;

    for (1 .. 5) {
        my $key = join '', map { chr int rand 256 } 1 .. 16;
        write_file("$dir/input", $key . join '', map { sprintf "$format\n", $_ }
                                                 1 .. 5120);
        my (undef, $hashes) = run('sh', '-c',
                                  "'$dir/hash' quick < '$dir/input'");
        my @n = (0) x 512;

        $n[$_ % 512]++ for split /\n/, $hashes;

        my $sum = 0;
        $sum += ($_ - 10) ** 2 / 10 for @n;
        push @sums, $sum;
    }

    cmp_ok +(sort { $a <=> $b } @sums)[2], '<', 511 + 9 * sqrt(2 * 511),
        "$format: as by chance";
}

# Pairs of texts of which one word makes up for what differs in the one before, where
# a word is multiplied by what is known: of bytes, and of letters.

for my $pair ([ 'abcdefghijklmnop', "abcdefg\xe8ijklino\xf0" ],
              [ 'userfiveabcdfgh5', 'userfivEabcdeghU' ])
{
    my $same = 0;

    for (1 .. 64) {
        my $key = join '', map { chr int rand 256 } 1 .. 16;
        write_file("$dir/input", $key . join '', map { "$_\n" } @$pair);
        my (undef, $hashes) = run('sh', '-c',
                                  "'$dir/hash' quick < '$dir/input'");
        my ($one, $two) = split /\n/, $hashes;
        $same++ if $one == $two;
    }
    cmp_ok $same, '<', 3, 'no pair for most keys: '
                          . unpack('H*', $pair->[1]);
}

done_testing;
