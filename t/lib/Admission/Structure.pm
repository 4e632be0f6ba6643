# What the sources are made of, read without building them: files, the symbols
# that each defines and names, and the arrows between files and folders.
#
#     my $tree = Admission::Structure->read($src, map => \%folder_of_unit);
#
# A unit is x.c with x.h: arrows run between units, so that a header speaks for
# the file that it belongs to.  Where src/ is flat, the map says which folder a
# unit will be in, by its name without the prefix.
#
# A symbol is a function, a variable, a type, a macro or a constant of an enum
# that a unit defines for others, and belongs to that unit.  Left aside: what
# is static, the module itself (NGINX's macros want it by name in each file),
# tags of structs, and an opaque "typedef struct x_s x_t", which may stand in
# several headers: a user of the name is taken to mean the nearest of them.

package Admission::Structure;

use v5.36;

use Carp;
use List::Util qw(min uniq);

# what symbols begin with, in either case, and files where src/ is flat

our $PREFIX = qr/ngx_(?:http_admission|adm)_/i;

our @ASIDE = qw(ngx_http_admission_module ngx_http_admission_filter_module);

my $block = qr/(?<block>\{(?:[^{}]++|(?&block))*+\})/;


sub read ($class, $src, %opt) {
    my $self = bless { src => $src, map => $opt{map}, file => {},
                       owner => {} }, $class;

    for my $path (sort glob("$src/*.[ch]"), glob("$src/*/*.[ch]")) {
        my $text = slurp($path);
        my $name = $path =~ s{^\Q$src\E/}{}r;
        my $unit = $name =~ s{\.[ch]$}{}r =~ s{(^|/)$PREFIX}{$1}r;

        $self->{file}{$name} = {
            name => $name, unit => $unit, text => $text,
            folder => $self->folder_of($unit), read_symbols($text),
        };
    }

    for my $file ($self->files) {
        push $self->{owner}{$_}->@*, $file->{unit}
            for sort keys $file->{defines}->%*;
    }

    return $self;
}


sub slurp ($path) {
    open my $in, '<', $path or croak "$path: $!";
    local $/;
    return readline($in) // '';
}


sub files ($self) { return map { $self->{file}{$_} } sort keys $self->{file}->%* }

sub units ($self) { return uniq map { $_->{unit} } $self->files }

sub is_flat ($self) { return !grep { $_->{name} =~ m{/} } $self->files }


# "module" is what lies in src/ itself; undef: no folder is known

sub folder_of ($self, $unit) {
    return $self->{map}{$unit} if $self->{map};
    return $unit =~ m{^(.+)/} ? $1 : 'module';
}


# ---- one file

# Comments and strings become blanks; lines keep their numbers.

sub bare ($text) {
    my $blank = sub ($s) { return $s =~ s/[^\n]/ /gr };

    return $text =~ s{(/\*.*?\*/)|("(?:[^"\\\n]|\\.)*")|('(?:[^'\\\n]|\\.)+')}
                     {defined $1 ? $blank->($1)
                      : defined $2 ? '"' . ' ' x (length($2) - 2) . '"'
                      : '0' . ' ' x (length($3) - 1)}gesr;
}


# Returns includes, defines => {symbol => kind} for others, names => {symbol =>
# used or declared} that are not the file's own, functions => [[name, lines], ...], code.

sub read_symbols ($text) {
    my @includes = $text =~ /^#\s*include\s+"([^"]+)"/mg;
    my $code = bare($text);
    my $whole = $code;
    my (%defines, %declares, %own, @functions);

    # the directives of the preprocessor go; macros of a .c are its own

    $code =~ s{^([ \t]*\#(?:\\\n|[^\n])*)}{
        my $line = $1;
        $defines{$1} = 'macro' if $line =~ /^\s*#\s*define\s+(\w+)/;
        $line =~ s/[^\n]/ /gr }gemx;

    # an #else branch may repeat what is before a block, which is no matter

    while ($code =~ /\G\s*([^;{}]*+)(?:$block([^;{}]*;)?|;|\})/gc) {
        my ($head, $body, $tail) = ($1, $2, $3 // '');
        my $end = pos $code;

        if ($head =~ /^(?:typedef|(?:struct|union|enum)\s*\w*\s*$)/) {
            my $all = $head . $tail;

            if ($head =~ /\benum\b/ && defined $body) {
                $defines{$_} = 'constant'
                    for map { /^\s*(\w+)/ ? $1 : () } split /,/,
                        substr $body, 1, -1;
            }

            if ($head =~ /^typedef/) {
                my ($name) = $all =~ /\(\s*\*?\s*(\w+)\s*\)\s*\(/;
                ($name) = $all =~ /(\w+)\s*(?:\[[^\]]*\]\s*)*;?\s*$/ if !$name;

                $defines{$name} = !defined $body && $all =~ /struct\s+\w+\s+\w+/
                                ? 'opaque' : 'type';
            }

            $own{$1} = 1 if $head =~ /\b(?:struct|union|enum)\s+(\w+)/;
            next;
        }

        my ($name, $function);

        if ($head =~ /^[^=(]*?(\w+)\s*\(/s && $head !~ /^[^(]*=/) {
            ($name, $function) = ($1, 1);
        } else {
            ($name) = $head =~ /(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)/;
        }

        next if !defined $name;

        # what follows the body of a function is not part of it

        if ($function && defined $body) {
            pos($code) = $end - length $tail;
            push @functions, [ $name, 1 + ($head . $body) =~ tr/\n// ];
        }

        if ($head =~ /\bextern\b/ || ($function && !defined $body)) {
            ($head =~ /\bstatic\b/ ? \%own : \%declares)->{$name} = 1;

        } elsif ($head =~ /\bstatic\b/ && $head !~ /\binline\b/) {
            $own{$name} = 1;

        } else {
            $defines{$name} = $function ? 'function' : 'variable';
        }
    }

    $own{$_} = 1 for @ASIDE, 'H_INCLUDED';
    delete @defines{ grep { !/^$PREFIX/ || /_INCLUDED_$/ } keys %defines };

    my %names = map { $_ => $declares{$_} ? 'declared' : 'used' }
                $whole =~ /\b($PREFIX\w+)/g;
    delete @names{ keys %own, keys %defines };

    return (includes => \@includes, defines => \%defines, names => \%names,
            functions => \@functions, code => $whole);
}


# ---- arrows

# [from unit, to unit, what is named, the file] for each symbol of another
# unit; kinds: a pattern of those that count.  A header may declare what another
# file has: that is no use of it, but is to be of the same folder or below.

sub symbol_arrows ($self, $kinds = qr/./, $how = qr/used/) {
    my (%seen, @arrows);

    for my $file ($self->files) {
        my $unit = $file->{unit};

        for my $symbol (sort keys $file->{names}->%*) {
            my @owners = ($self->{owner}{$symbol} // [])->@*;

            next if !@owners || grep { $_ eq $unit } @owners;
            next if $file->{names}{$symbol} !~ $how;
            next if !grep { $_->{defines}{$symbol} =~ $kinds }
                     grep { $_->{defines}{$symbol} } $self->files_of(@owners);

            my ($owner) = sort { $self->distance($unit, $a)
                                 <=> $self->distance($unit, $b) } @owners;

            push @arrows, [ $unit, $owner, $symbol, $file->{name} ]
                if !$seen{"$unit $owner $symbol"}++;
        }
    }

    return @arrows;
}

sub files_of ($self, @units) {
    my %unit = map { $_ => 1 } @units;

    if (!$self->{of}) {
        $self->{of}{ $_->{unit} }{ $_->{name} } = $_ for $self->files;
    }
    return map { values $self->{of}{$_}->%* } sort keys %unit;
}


# An arrow to what lies in the same folder is shortest, then one down.

sub distance ($self, $from, $to) {
    my ($a, $b) = map { $self->folder_of($_) // '' } $from, $to;

    return 0 if $a eq $b;
    return 1 if !$self->{rank};
    return $self->goes_down($a, $b) ? 1 : 2;
}


# The same of includes.  A header that is made at build is in no folder.

sub include_arrows ($self) {
    my (%path, @arrows);

    for my $file ($self->files) {
        push $path{ $file->{name} }->@*, $file;
    }

    for my $file ($self->files) {
        for my $include ($file->{includes}->@*) {
            my $beside = $file->{name} =~ s{[^/]*$}{}r . $include;
            1 while $beside =~ s{(^|/)[^/.]+/\.\./}{$1};
            my ($to) = map { ($path{$_} // [])->@* } $beside, $include;

            push @arrows, [ $file->{unit}, $to->{unit}, "\"$include\"",
                            $file->{name} ]
                if $to && $to->{unit} ne $file->{unit};
        }
    }

    return @arrows;
}


# ---- the order of folders

# Reads the block ```folders of docs/architecture.md: a line a floor, from the
# top down, "name  what it is for" or "name, name  ..." for those side by side;
# what is indented goes on.  Returns the floors, [[name, ...], sentence].

sub floors ($markdown) {
    my ($block) = $markdown =~ /^```folders\n(.*?)^```/ms
        or return;
    my @floors;

    for my $line (split /\n/, $block) {
        if ($line =~ /^(\w+(?:, \w+)*)(?:\s\s+(\S.*))?$/) {
            push @floors, [ [ split /, /, $1 ], $2 // '' ];
        } elsif ($line =~ /^\s+(\S.*)$/ && @floors) {
            $floors[-1][1] = join ' ', grep { length } $floors[-1][1], $1;
        } else {
            croak "a line of the folders: \"$line\"" if $line =~ /\S/;
        }
    }

    return @floors;
}


sub order ($self, @floors) {
    my $rank = 0;

    for my $floor (@floors) {
        $self->{rank}{$_} = $rank for $floor->[0]->@*;
        $rank++;
    }

    return $self;
}


sub goes_down ($self, $from, $to) {
    my ($a, $b) = @{ $self->{rank} }{ $from, $to };

    return $from eq $to || (defined $a && defined $b && $a < $b);
}


# Arrows that go up or aside, of symbols and of includes, as text.

sub wrong_arrows ($self) {
    my @wrong;

    for my $arrow ($self->symbol_arrows(qr/./, qr/./), $self->include_arrows) {
        my ($from, $to, $what, $file) = @$arrow;
        my ($a, $b) = map { $self->folder_of($_) } $from, $to;

        next if !defined $a || !defined $b || $self->goes_down($a, $b);
        push @wrong, "$a -> $b: $file names $what"
                     . ($what =~ /"/ ? '' : " of $to");
    }

    return @wrong;
}


# Units in no folder, or in one that the order does not know.

sub homeless ($self) {
    return grep { my $folder = $self->folder_of($_);
                  !defined $folder || !defined $self->{rank}{$folder} }
           $self->units;
}


# Reads a map: lines "unit folder"; "-" is src/ itself, further words and what
# is behind "#" are no matter.

sub read_map ($text) {
    my %map;

    for my $line (split /\n/, $text) {
        my ($unit, $folder) = split ' ', $line =~ s/#.*//r or next;
        $map{$unit} = $folder eq '-' ? 'module' : $folder;
    }

    return \%map;
}


# ---- circles

# The circles (strongly connected, more than one) among arrows, the largest
# first: [[name, ...], ...].

sub circles (@arrows) {
    my (%to, %index, %low, @stack, %on, @circles);
    my $next = 0;

    $to{ $_->[0] }{ $_->[1] } = 1 for @arrows;

    my $visit;
    $visit = sub ($node) {
        $index{$node} = $low{$node} = $next++;
        push @stack, $node;
        $on{$node} = 1;

        for my $other (sort keys(($to{$node} // {})->%*)) {
            if (!defined $index{$other}) {
                $visit->($other);
                $low{$node} = min $low{$node}, $low{$other};
            } elsif ($on{$other}) {
                $low{$node} = min $low{$node}, $index{$other};
            }
        }

        return if $low{$node} != $index{$node};

        my @circle;
        do {
            push @circle, pop @stack;
            delete $on{ $circle[-1] };
        } until $circle[-1] eq $node;

        push @circles, [ sort @circle ] if @circle > 1;
    };

    no warnings 'recursion';

    for my $node (sort keys %to) {
        $visit->($node) if !defined $index{$node};
    }

    return sort { @$b <=> @$a || "@$a" cmp "@$b" } @circles;
}


sub file_circles ($self)    { return circles($self->symbol_arrows) }
sub include_circles ($self) { return circles($self->include_arrows) }

sub folder_arrows ($self) {
    my %seen;

    return grep { $_->[0] ne $_->[1] && !$seen{"@$_"}++ }
           map { [ map { $self->folder_of($_) // '?' } $_->@[0, 1] ] }
           $self->symbol_arrows, $self->include_arrows;
}

sub folder_circles ($self) { return circles($self->folder_arrows) }


# ---- what is wrong

# All of it, as text: what t/papers/structure.t says of src/.

sub faults ($self, @floors) {
    $self->order(@floors);

    return (
        (map { "$_: in no folder of docs/architecture.md" } $self->homeless),
        (map { "$_: nothing is in it" } $self->empty),
        $self->wrong_arrows,
        (map { 'a circle of folders: ' . join ' ', @$_ } $self->folder_circles),
        (map { 'a circle of files: ' . join ' ', @$_ }
         grep { @$_ > 3 } $self->file_circles),
        (map { 'a circle of includes: ' . join ' ', @$_ }
         grep { @$_ > 3 } $self->include_circles),
        (map { "$_->{name}: does not begin with what it is for" }
         grep { !length head($_->{text}) } $self->files),
    );
}

sub empty ($self) {
    my %used = map { ($self->folder_of($_) // '') => 1 } $self->units;

    return grep { !$used{$_} } sort keys $self->{rank}->%*;
}


# ---- the head of a file

# What a file says it is for: the comment at its beginning, without the line
# of the copyright.

sub head ($text) {
    my ($comment) = $text =~ m{\A\s*/\*(.*?)\*/}s or return '';

    return join ' ', map { s/^\s*\*?\s*//r =~ s/\s+$//r }
                     grep { !/Copyright/ && /\w/ } split /\n/, $comment;
}

1;
