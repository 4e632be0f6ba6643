# How the pages say how long it takes, where a range is told.

use utf8;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Encode qw(decode_utf8);
use File::Basename qw(dirname);

use Admission::Nginx ();

binmode Test::More->builder->$_, ':encoding(UTF-8)'
    for qw(output failure_output);

sub said (@ranges) {
    my ($status, $output) = run('node', root . '/t/browser/range.js',
                                root . '/pages/words.js',
                                json_encode(\@ranges));
    is $status, 0, 'runs' or diag $output;
    return map { json_decode($_) } split /\n/, $output;
}

my @cases = (
    [ [ 720, 900 ],        '12 to 15 minutes', '12~15분' ],
    [ [ 0, 0 ],            'less than a minute', '1분 이내' ],
    [ [ 10, 59 ],          'less than a minute', '1분 이내' ],
    [ [ 10, 60 ],          'about 1 minute', '약 1분' ],
    [ [ 10, 61 ],          'up to 2 minutes', '2분 이내' ],
    [ [ 59, 130 ],         'up to 3 minutes', '3분 이내' ],
    [ [ 60, 61 ],          '1 to 2 minutes', '1~2분' ],
    [ [ 121, 170 ],        '2 to 3 minutes', '2~3분' ],
    [ [ 180, 180 ],        'about 3 minutes', '약 3분' ],
    [ [ 1790, 1800 ],      '29 to 30 minutes', '29~30분' ],
    [ [ 1790, 1801 ],      '25 to 35 minutes', '25~35분' ],
    [ [ 100, 3000 ],       'up to 50 minutes', '50분 이내' ],
    [ [ 2400, 3500 ],      '40 minutes to 1 hour', '40분~1시간' ],
    [ [ 3600, 5400 ],      '1 hour to 1 hour 30 minutes', '1시간~1시간 30분' ],
    [ [ 3700, 7300 ],      '1 hour to 2 hours 10 minutes', '1시간~2시간 10분' ],
    [ [ 7200, 7200 ],      'about 2 hours', '약 2시간' ],
    [ [ 36000, 86400 ],    'more than 10 hours', '10시간 이상' ],
    [ [ 90000, 180000 ],   'more than a day', '하루 이상' ],
    [ [ 60, 86400 ],       'more than 1 minute', '1분 이상' ],
    [ [ 59, 86400 ],       'not known yet', '아직 알 수 없음' ],
    [ [ 0, 85800 ],        'up to 23 hours 50 minutes', '23시간 50분 이내' ],
    [ [ 0, 85801 ],        'not known yet', '아직 알 수 없음' ],
    [ [ 0, 864000000 ],    'not known yet', '아직 알 수 없음' ],
);

my @said = said(map { $_->[0] } @cases);

is_deeply $said[$_], $cases[$_], "@{ $cases[$_][0] }: $cases[$_][1]"
    for 0 .. $#cases;

# What is said is never narrower than what was told.

my @edges = (0, 59, 60, 3599, 3600, 86399, 86400, 864_000_000);
my @ranges = (
    (map { my $low = int rand 20_000; [ $low, $low + int rand 20_000 ] }
         1 .. 500),
    (map { [ sort { $a <=> $b } map { int exp rand log 864_000_000 } 1, 2 ] }
         1 .. 500),
    (map { my $low = $_; map { [ $low, $_ ] } grep { $_ >= $low } @edges }
         @edges),
);
my %unit = ('hour' => 3600, 'minute' => 60, '시간' => 3600, '분' => 60);
my $endless = 9**9**9;

sub seconds ($words) {
    return 60 if $words eq 'a minute';
    return 86400 if $words =~ /^(?:a day|하루)$/;
    my $seconds = 0;
    $seconds += $1 * $unit{$2}
        while $words =~ /(\d+) ?(hour|minute|시간|분)/g;
    return $seconds;
}

# Words that are none of these leave nothing, which is narrower than all.

sub bounds ($words) {
    return 0, $endless if $words =~ /^(?:not known yet|아직 알 수 없음)$/;
    return seconds($+), $endless if $words =~ /^(?:more than (.*)|(.*) 이상)$/;
    return 0, seconds($1) - 1 if $words =~ /^less than (.*)$/;
    return 0, seconds($+)
        if $words =~ /^(?:(?:up to|about) (.*)|약 (.*)|(.*) 이내)$/;
    my ($from, $to) = $words =~ /^(.*)(?: to |~)(.*)$/
        or return $endless, 0;
    $from .= ' minutes' if $from =~ /^\d+$/;
    return seconds($from), seconds($to);
}

my @narrow;

for my $told (said(@ranges)) {
    my ($range, @both) = @$told;

    for my $words (@both) {
        my ($low, $high) = bounds($words);

        push @narrow, "@$range: $words"
            if $low > $range->[0] || $high < $range->[1];
    }
}

is join("\n", @narrow), '', 'no narrower than what was told';


# The page without JavaScript says the same as the scripts.

my $build = dirname(Admission::Nginx::module());
my ($status, $output) = run($ENV{CC} // 'cc',
    qw(-O -g -shared -fPIC -Wall -Wextra -Werror -Wno-unused-parameter),
    '-o', test_dir . '/words.so',
    (map { "-I$_" } root . '/src', "$build/objs",
                    map { "$build/tree/src/$_" } qw(core event os/unix)),
    root . '/t/lib/words.c');
is $status, 0, 'compiles' or diag $output;

push @ranges, map { $_->[0] } @cases;
push @ranges, [ 0, 1e9 ], [ 86399, 86401 ], [ 3540, 3600 ], [ 85000, 86399 ];
write_file(test_dir . "/ranges", join "", map { "@$_\n" } @ranges);

($status, $output) = Admission::Nginx->conf_test(
    main => 'load_module ' . test_dir . "/words.so;\nwords "
            . test_dir . '/ranges;');
is $status, 0, 'runs' or diag $output;

my @words = split /\n/, decode_utf8(read_file(test_dir . '/ranges.out'));

@said = said(@ranges);
is scalar @words, 2 * @said, 'both languages of each';
is join("\n", grep { $_ } map {
       my ($range, @both) = @{ $said[$_] };
       my @same = @words[2 * $_, 2 * $_ + 1];
       "@same" eq "@both" ? () : "@$range: @same, and @both"
   } 0 .. $#said), '', 'in the same words';

done_testing;
