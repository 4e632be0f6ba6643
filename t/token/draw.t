# The draw, as docs/draw.md has it byte by byte: the module and tools/verify-draw,
# which share no code, come to what is written there; no position is there twice,
# and the order has nothing to do with that of the lots.
#
# Millions of lots take minutes of Python:
#
#     TEST_DRAW_LOTS=1000000 prove -v t/token/draw.t

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(sha256_hex hmac_sha256);
use List::Util qw(max min sum0);

use Admission::Draw;
use Admission::Nginx;

plan(skip_all => 'the module is none of its own') if !Admission::Nginx::module();

my $dir = test_dir;
my $module = Admission::Draw->new;
my $verifier = root . '/tools/verify-draw';
my $paper = read_file(root . '/docs/draw.md');
my $tier1 = join '', map { sprintf '%02x', $_ } 0 .. 31;

sub hex_of ($bytes) { return Admission::Draw::hex_of($bytes) }

# what the verifier says of a draw, after its status

sub verify ($draw, @args) {
    my $file = ref $draw ? write_file("$dir/draw.json", json_encode($draw))
                         : $draw;
    my ($status, $output) = run(Admission::Draw::python(), $verifier, $file, @args);

    return "$status\n$output";
}

sub number ($n) { return pack 'Q>', $n }
sub text ($bytes) { return pack 'n/a*', $bytes }


# ---- the vectors of the document

my @vectors = map { json_decode($_) } $paper =~ /^```json\n(.*?)^```$/msg;
my @tables = $paper =~ /^\| lot \|(.*)\n\|[-|]+\n\| position \|(.*)\n/mg;

cmp_ok scalar @vectors, '>=', 4, 'the document has vectors';
is scalar @tables, 2 * @vectors, 'and positions of each';

for my $v (@vectors) {
    my @lots = shift(@tables) =~ /\d+/g;
    my @positions = shift(@tables) =~ /\d+/g;
    my $name = "$v->{eventId}, $v->{lots} lots";
    my $event = hex_of($v->{eventId});
    my $beacon = $v->{beacon} // '-';
    my $source = hex_of($v->{beaconSource} // '');

    is_deeply [ $module->answers(
        [ secret => $tier1, $event, $v->{activation}, '-' ],
        [ seed => $v->{secret}, $source, $beacon, $event, $v->{activation},
          $v->{lots} ],
        [ position => $v->{seed}, $v->{lots}, join ',', @lots ] ) ],
        [ "$v->{secret} $v->{commitment}", $v->{seed}, "@positions" ],
        "$name: the module";

    # the verifier has no tier 1 secret

    my $key = hmac_sha256('draw', pack 'H*', $tier1);
    my $secret = hmac_sha256(text($v->{eventId}) . number($v->{activation}),
                             $key);

    is unpack('H*', $secret), $v->{secret}, "$name: the secret";

    my $said = verify($v, '--commitment', $v->{commitment},
                      (map { ('--source', $_) } $v->{beaconSource} // ()),
                      (map { ('--beacon', $_) } $v->{beacon} // ()),
                      map { "$lots[$_]=$positions[$_]" } 0 .. $#lots);

    like $said, qr/^0\n/, "$name: the verifier" or diag $said;
    is scalar(() = $said =~ /^fits: position/mg), scalar @lots,
        "$name: all its positions";
}


# positions as the verifier has them, of a seed that no secret is known of: a
# line for each of [seed, lots, "some,of,them"]

sub theirs (@rows) {
    my $file = write_file("$dir/rows", join '', map { "@$_\n" } @rows);
    my ($status, $output) = run(Admission::Draw::python(), '-c', <<'END', $verifier, $file);
import runpy, sys
Permutation = runpy.run_path(sys.argv[1])['Permutation']
for row in open(sys.argv[2]):
    seed, lots, some = row.split()
    permutation = Permutation(bytes.fromhex(seed), int(lots))
    print(*(permutation.position(int(lot)) for lot in some.split(',')))
END

    die $output if $status;
    return split /\n/, $output;
}

{
    my ($seed) = $paper =~ /alone, of the seed `(\w{64})`/;
    my @rows = map { [ split / *\| */ ] }
               $paper =~ /^\| (\d+ \| \d+ \| [\d ]+ \| [\d ]+) \|$/mg;

    cmp_ok scalar @rows, '>=', 10, 'the document has positions alone';

    my @asked = map { [ $seed, $_->[0], $_->[2] =~ tr/ /,/r ] } @rows;
    my @positions = map { $_->[3] } @rows;

    is_deeply [ $module->answers(map { [ position => @$_ ] } @asked) ],
        \@positions, 'the module has the same';
    is_deeply [ theirs(@asked) ], \@positions, 'and the verifier';

    for my $row (@rows) {
        my $bits = 6;

        $bits++ while 2 ** $bits < $row->[0];
        is $row->[1], $bits, "$row->[0] lots: bits";
    }
}


# ---- all positions: the same of both, and each once

sub seed ($n) { return sha256_hex("a draw of t/token/draw.t, $n") }

sub all_of ($seed, $lots) {
    my $file = "$dir/all";
    my ($said) = $module->answers([ positions => $seed, $lots, $file ]);

    die $said if $said ne 'ok';
    return map { (split)[1] } read_lines($file);
}

sub each_once ($lots, @positions) {
    my @seen;

    $seen[$_]++ for @positions;
    return @positions == $lots && @seen == $lots + 1
           && !grep { $seen[$_] != 1 } 1 .. $lots;
}

my $some = $ENV{TEST_DRAW_LOTS} // (sanitized ? 3000 : 10_000);

for my $lots (1 .. 5, 31 .. 34, 63 .. 66, 1000, 2047 .. 2050, 4096, 4097, $some)
{
    my $seed = seed($lots);
    my @ours = all_of($seed, $lots);
    my ($theirs) = theirs([ $seed, $lots, join ',', 1 .. $lots ]);

    ok each_once($lots, @ours), "$lots lots: each position once";
    ok "@ours" eq $theirs, "$lots lots: the verifier has the same";
}

# what the order is looked at with below

my $million = sanitized ? 100_000 : 1_000_000;
my @million = all_of(seed(0), $million);

{
    srand 18;

    my @lots = (1, 2, $million - 1, $million,
                map { 1 + int rand $million } 1 .. 2000);

    ok each_once($million, @million), "$million lots: each position once";
    is join(' ', map { $million[$_ - 1] } @lots),
        (theirs([ seed(0), $million, join ',', @lots ]))[0],
        "$million lots: the verifier has the same of 2,004 of them";
}


# ---- the order has nothing to do with that of the lots
# Seeds stand fixed, and so does what comes of them.  Each figure is in standard
# deviations of a fair order: beyond 4 is one in 16,000.

# chi-squared, as if it were normal (Wilson and Hilferty)

sub chi_squared ($chi, $df) {
    my $v = 2 / (9 * $df);
    return (($chi / $df) ** (1 / 3) - (1 - $v)) / sqrt $v;
}

# how often lots of each part of the line are in each part of the order

sub parts ($k, $positions) {
    my $n = @$positions;
    my (@count, $chi);

    $count[int($_ * $k / $n)][int(($positions->[$_] - 1) * $k / $n)]++
        for 0 .. $n - 1;
    $chi += (($_ // 0) - $n / $k ** 2) ** 2 / ($n / $k ** 2)
        for map { @$_[0 .. $k - 1] } @count;

    return chi_squared($chi * ($n - 1) / $n, ($k - 1) ** 2);
}

# runs up and down, from one lot to the next, or to the one so many later

sub runs ($step, $positions) {
    my $n = int((@$positions - 1) / $step) + 1;
    my ($count, $last, $up) = (0, $positions->[0], '');

    for my $i (1 .. $n - 1) {
        my $position = $positions->[$i * $step];
        my $next = $position > $last ? 'up' : 'down';

        $count++ if $next ne $up;
        ($last, $up) = ($position, $next);
    }

    return ($count - (2 * $n - 1) / 3) / sqrt((16 * $n - 29) / 90);
}

# runs in the first half and in the second

sub halves ($positions) {
    my $n = @$positions;
    my $m = int($n / 2);
    my ($count, $last) = (0, -1);

    for my $position (@$positions) {
        my $first = $position <= $m ? 1 : 0;

        $count++ if $first != $last;
        $last = $first;
    }

    my $mean = 2 * $m * ($n - $m) / $n + 1;

    return ($count - $mean)
           / sqrt(($mean - 1) * ($mean - 2) / ($n - 1));
}

# Spearman's: early lots in early positions

sub early ($positions) {
    my $n = @$positions;
    my $sum = 0;

    $sum += ($_ - $positions->[$_ - 1]) ** 2 for 1 .. $n;
    return (1 - 6 * $sum / ($n * ($n * $n - 1))) * sqrt($n - 1);
}

# the mean of what one address has, whose lots came one after the other; and
# how they are spread over ten parts

sub address ($first, $lots, $positions) {
    my $n = @$positions;
    my @own = @$positions[$first .. $first + $lots - 1];
    my $deviation = sqrt(($n + 1) * ($n - $lots) / (12 * $lots));
    my (@count, $chi);

    $count[int(($_ - 1) * 10 / $n)]++ for @own;
    $chi += (($_ // 0) - $lots / 10) ** 2 / ($lots / 10) for @count[0 .. 9];

    return ((sum0(@own) / $lots - ($n + 1) / 2) / $deviation,
            chi_squared($chi, 9));
}

sub figures ($positions) {
    return (parts(20, $positions), runs(1, $positions), runs(2, $positions),
            runs(32, $positions), halves($positions), early($positions),
            map { address(int($_ * @$positions), 300, $positions) }
            0, 0.31, 0.5, 0.92);
}

# and what they say of one that is not fair

sub worst (@figures) { return max(map { abs } @figures) }

{
    my $n = 10_000;
    my %unfair = (
        'by arrival'        => [ 1 .. $n ],
        'the other way'     => [ reverse 1 .. $n ],
        'moved on'          => [ map { 1 + ($_ + 1234) % $n } 0 .. $n - 1 ],
        'a multiple'        => [ map { 1 + $_ * 4567 % 10_007 } 0 .. 10_005 ],
        'the first in front' => [ (map { 1 + $_ * 4567 % 1009 } 0 .. 1007),
                                  map { $_ + 1008 } all_of(seed(1), $n) ],
    );

    cmp_ok worst(figures($unfair{$_})), '>', 10, "seen: $_"
        for sort keys %unfair;
}

for my $case (\@million,
              map { [ all_of(seed("fair $_"), $_) ] } 4095, 4097, 10_000, 50_000)
{
    my @figures = figures($case);

    cmp_ok worst(@figures), '<', 4, @$case . ' lots: nothing to be seen'
        or diag "@figures";
}

# few lots: each order of them comes as often as the others

for my $lots (2 .. 6) {
    my $times = sanitized ? 2000 : { 2, 4000 }->{$lots} // 7200;
    my @count = split ' ', ($module->answers([ orders => seed("few $lots"),
                                               $lots, $times ]))[0];
    my $mean = $times / @count;
    my $chi = sum0(map { ($_ - $mean) ** 2 / $mean } @count);

    is sum0(@count), $times, "$lots lots, $times times";
    cmp_ok abs chi_squared($chi, @count - 1), '<', 4,
        "each of their @{[ scalar @count ]} orders as often";
}


# ---- what makes no draw

my ($good) = grep { $_->{beacon} } @vectors;
my $event = hex_of($good->{eventId});
my @seed = (seed => $good->{secret}, hex_of($good->{beaconSource}),
            $good->{beacon}, $event, $good->{activation}, $good->{lots});

sub without ($i, $value) {
    my @row = @seed;

    $row[$i] = $value;
    return \@row;
}

is_deeply [ $module->answers(
    \@seed, without(2, '-'), without(3, '-'), without(2, hex_of(' x')),
    without(2, hex_of('x ')), without(2, hex_of("x\n1")),
    without(2, hex_of("x\x{e9}")), without(2, '78' x 129),
    without(3, 'ab' x 15), without(3, 'ab' x 65), without(4, '-'),
    without(4, '61' x 65), without(5, 0), without(5, -1), without(6, 0),
    without(6, -1), without(6, 2 ** 40 + 1)) ],
    [ $good->{seed}, ('no') x 16 ], 'seeds that there are not';

is_deeply [ $module->answers(
    [ position => seed(1), 5, '0,-1,6,5' ], [ position => seed(1), 0, 1 ],
    [ position => seed(1), -1, 1 ], [ position => seed(1), 2 ** 40 + 1, 1 ]) ],
    [ '0 0 0 ' . (all_of(seed(1), 5))[4], ('no') x 3 ],
    'lots that there are not';

my %beacon = ('ab' x 16 => 1, 'ab' x 32 => 1, 'AB' x 64 => 1, 'aB' x 33 => 1,
              'ab' x 15 => 0, 'ab' x 65 => 0, 'ab' x 16 . 'a' => 0, '' => 0,
              'ab' x 15 . 'ag' => 0, '0x' . 'ab' x 16 => 0,
              'ab' x 16 . ' ' => 0, ' a' . 'ab' x 15 => 0);
my @beacons = sort keys %beacon;

is_deeply [ $module->answers(map { [ beacon => hex_of($_) ] } @beacons) ],
    [ map { $beacon{$_} ? lc : 'no' } @beacons ], 'beacons that are none';


# ---- each field is in the seed, and no two ways of writing it are the same

{
    my @seeds = $module->answers(
        \@seed, without(1, 'ab' x 32), without(2, hex_of('drand 1')),
        without(3, 'ab' x 32), without(4, hex_of('spring-conceru')),
        without(5, $good->{activation} + 1), without(6, $good->{lots} + 1),
        # what one loses the next one gets
        [ seed => $good->{secret}, '61' x 20, '61' x 20, '61' x 20, 1, 1 ],
        [ seed => $good->{secret}, '61' x 19, '61' x 21, '61' x 20, 1, 1 ],
        [ seed => $good->{secret}, '61' x 20, '61' x 19, '61' x 21, 1, 1 ],
        [ seed => $good->{secret}, '61' x 20, '61' x 20, '61' x 20, 1, 256 ],
        [ seed => $good->{secret}, '61' x 20, '61' x 20, '61' x 20, 256, 1 ],
    );
    my %seen;

    is scalar(grep { /^\w{64}$/ && !$seen{$_}++ } @seeds), 12,
        'another seed with each';
}


# ---- keys that were rotated

{
    my ($older, $newer) = ('22' x 32, '33' x 40);
    my $of = sub ($keys, $commitment) {
        return ($module->answers([ secret => $keys, $event, 1, $commitment ]))
               [0];
    };
    my $before = $of->($older, '-');
    my ($secret, $commitment) = split ' ', $before;

    isnt $of->("$newer,$older", '-'), $before, 'the first key makes a secret';
    is $of->("$newer,$older", $commitment), $before,
        'later the one that fits the commitment';
    is $of->("$older,$newer", $commitment), $before, 'wherever it stands';
    is $of->($newer, $commitment), 'no', 'and no other';
    isnt $of->("11" x 32, '-'), $before, 'a secret of each key';
    is sha256_hex(pack 'H*', $secret), $commitment, 'a commitment is its hash';
    is_deeply [ $module->answers([ secret => $older, '-', 1, '-' ],
                                 [ secret => $older, '61' x 65, 1, '-' ],
                                 [ secret => $older, $event, 0, '-' ]) ],
        [ ('no') x 3 ], 'no event, no activation: no secret';
}

done_testing;
