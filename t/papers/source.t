# What the sources have to be, wherever a compiler does not say so.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

my %source = map { s{.*/src/}{}r => read_file($_) }
             map { sources($_) } qw(c h);

cmp_ok scalar keys %source, '>', 200, 'sources';


# A process that dies with the zone's lock leaves anything: see zone.c.

is_deeply [ sort grep { $source{$_} =~ /ngx_shmtx_(?:un)?lock\(/ }
            keys %source ],
    [ 'host/zone.c' ], 'the lock is taken in one place';


for my $name (sort keys %source) {
    is scalar(grep { length(s/[\x80-\xbf]//gr) > 80 }
              split /\n/, $source{$name}), 0, "$name: 80 columns"
        if $source{$name} =~ /^.{81}/m;

    unlike $source{$name}, qr/\t| $/m, "$name: blanks";
}

# What takes a format of ngx_adm_put() knows %V, %L, %N, %ui and %s alone, and
# wants as many arguments: others would be read as pointers.

# the arguments of a call that begins at this place of a text, as far as texts,
# characters and parentheses go
sub arguments ($text) {
    my ($depth, @args) = (1, '');

    while ($depth && $text =~ /\G("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|
                                \/\*.*?\*\/|.)/gsx) {
        my $part = $1;
        next if $part =~ m{^/\*};
        $depth++ if $part =~ /^[(\[{]$/;
        $depth-- if $part =~ /^[)\]}]$/;
        last if !$depth;
        if ($depth == 1 && $part eq ',') { push @args, '' }
        else                             { $args[-1] .= $part }
    }
    return map { s/^\s+|\s+$//gr } @args;
}

# what is wrong with a format, of which macros may be part
sub wrong ($format, $macros, @args) {
    $format =~ s/\b(NGX_ADM_\w+)/$macros->{$1} \/\/ "?$1?"/ge;
    return "unknown: $format" if $format =~ s/"(?:\\.|[^"\\])*"//gr =~ /\S/;

    my $text = join '', $format =~ /"((?:\\.|[^"\\])*)"/g;
    my $n = () = $text =~ /%(?:V|L|N|ui|s)/g;
    return "other than %V, %L, %N, %ui, %s: $text" if $text =~ /%(?!V|L|N|ui|s)/;
    return "$n, and " . @args . ": $text" if $n != @args;
    return;
}

# of each that takes one, how many arguments go before
my %takes = (ngx_adm_put => 2, ngx_adm_api_json => 2,
             ngx_adm_queue_told_json => 3);

is wrong('"%V" "%ui"', {}, 1, 2), undef, 'a format that is right';
like wrong('"%i"', {}, 1), qr/other/, 'one with a letter that is not known';
like wrong('"%L" NGX_ADM_A', { NGX_ADM_A => '"%s"' }, 1), qr/^2, and 1/,
    'one that has too few arguments';

my ($formats, @wrong) = 0;

for my $name (grep { /\.c$/ } sort keys %source) {
    my $text = $source{$name};
    my %macros;
    while ($text =~ /^#define (\w+)[ \\\n]+((?:.*\\\n)*.*)$/mg) {
        my ($macro, $body) = ($1, $2);
        $macros{$macro} = $body =~ s/\\\n//gr;
    }

    while ($text =~ /\b(\w+)\(/g) {
        my $before = $takes{$1} // next;
        my @args = arguments(substr $text, pos $text);
        my $format = $args[$before];
        next if $args[0] =~ /^(?:u_char|ngx_\w+_t) \*/;    # a prototype

        # one of two
        if ($format =~ /^[^"?]+\?\s*(".*")\s*:\s*(".*")$/s) {
            push @wrong,
                map { wrong($_, \%macros, @args[$before + 1 .. $#args]) }
                         $1, $2;
        } else {
            push @wrong, wrong($format, \%macros, @args[$before + 1 .. $#args]);
        }
        $formats++;
    }
}

is_deeply \@wrong, [], 'formats have what they name';
cmp_ok $formats, '>', 50, 'which are many';

done_testing;
