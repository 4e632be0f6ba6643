# Arrows of use in src/ point down: from a folder to those below it in
# docs/architecture.md, never up or aside, and in no circle.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Structure;

my $architecture = read_file(root . '/docs/architecture.md');
my @floors = Admission::Structure::floors($architecture);

cmp_ok scalar(@floors), '>=', 5, 'docs/architecture.md has the folders';

for my $floor (@floors) {
    my ($folders, $said) = @$floor;

    is scalar(() = $said =~ /\.(?= |$)/g), scalar @$folders,
        join(', ', @$folders) . ': a sentence each';
}


# ---- a small tree: what has to be seen is seen

my @two = ([ ['gate'], '' ], [ [ 'left', 'right' ], '' ], [ ['base'], '' ]);

my %good = (
    'module.c'     => qq(#include "gate/gate.h"\n)
                      . "int x = ngx_adm_gate();",
    'gate/gate.h'  => 'int ngx_adm_gate(void);',
    'gate/gate.c'  => qq(#include "left/queue.h"\n#include "right/room.h"\n)
                      . "int\nngx_adm_gate(void)\n{\n"
                      . "    return ngx_adm_queue(NULL) + ngx_adm_room();\n}\n",
    'left/queue.h' => "typedef struct ngx_adm_ctx_s  ngx_adm_ctx_t;\n"
                      . "int ngx_adm_queue(ngx_adm_ctx_t *ctx);",
    'left/queue.c' => qq(#include "queue.h"\n#include "../base/text.h"\n)
                      . "int\nngx_adm_queue(ngx_adm_ctx_t *ctx)\n{\n"
                      . "    return ngx_adm_text() + NGX_ADM_SIZE;\n}\n",
    'right/room.h' => 'int ngx_adm_room(void);',
    'right/room.c' => "static int\nngx_adm_own(void)\n{\n    return 1;\n}\n"
                      . "int\nngx_adm_room(void)\n{\n"
                      . "    return ngx_adm_own();\n}\n",
    'base/text.h'  => "#define NGX_ADM_SIZE  1\n"
                      . "typedef struct {\n    int  n;\n} ngx_adm_text_t;\n"
                      . "extern int  ngx_adm_global;\nint ngx_adm_text(void);",
    'base/text.c'  => "int  ngx_adm_global;\n\n"
                      . "int\nngx_adm_text(void)\n{\n    return 1;\n}\n"
                      . "/* ngx_adm_gate() is named, not used */\n",
);

sub tree (%files) {
    state $count = 0;
    my $src = test_dir . '/src' . ++$count;

    for my $name (keys %files) {
        mkdir $src;
        mkdir "$src/$1" if $name =~ m{^(\w+)/};
        write_file("$src/$name", "\n/*\n * Copyright (C) 2026\n *\n"
                                 . " * What it is for.\n */\n\n$files{$name}\n");
    }

    return $src;
}

sub faults_of ($src, @floors) {
    return Admission::Structure->read($src)->faults(@floors);
}

# the good tree with some files changed, and what is to be said of it

sub turned ($what, $pattern, %changed) {
    my $src = tree(%good, %changed);
    my @faults = faults_of($src, [ ['module'], '' ], @two);

    like join("\n", @faults), $pattern, $what;
}

is_deeply [ faults_of(tree(%good), [ ['module'], '' ], @two) ], [],
    'a tree that is in order';

turned('a function of a folder above',
       qr{^base -> gate: base/text.c names ngx_adm_gate of gate/gate$}m,
       'base/text.c' => $good{'base/text.c'}
                        . "int\nngx_adm_t(void)\n{\n"
                        . "    return ngx_adm_gate();\n}\n");

turned('a header of a folder above',
       qr{^base -> gate: base/text.h names "\.\./gate/gate\.h"$}m,
       'base/text.h' => qq(#include "../gate/gate.h"\n) . $good{'base/text.h'});

turned('a header declares a function of a folder above',
       qr{^base -> left: base/text.h names ngx_adm_queue of left/queue$}m,
       'base/text.h' => $good{'base/text.h'} . "\nint ngx_adm_queue(void *p);");

turned('a folder beside',
       qr{^right -> left: right/room.c names ngx_adm_queue of left/queue$}m,
       'right/room.c' => $good{'right/room.c'}
                         . "int  (*f)(void) = ngx_adm_queue;\n");

turned('a type',
       qr{^base -> left: base/text.c names ngx_adm_ctx_t of left/queue$}m,
       'base/text.c' => "static ngx_adm_ctx_t  *ctx;\n" . $good{'base/text.c'});

turned('a macro',
       qr{^base -> gate: base/text.c names NGX_ADM_DEEP of gate/gate$}m,
       'gate/gate.h' => "#define NGX_ADM_DEEP  \\\n    2\n"
                        . $good{'gate/gate.h'},
       'base/text.c' => $good{'base/text.c'} . "int  n = NGX_ADM_DEEP;\n");

turned('a constant',
       qr{^base -> gate: base/text.c names NGX_ADM_ONE of gate/gate$}m,
       'gate/gate.h' => "typedef enum {\n    NGX_ADM_ZERO = 0,\n"
                        . "    NGX_ADM_ONE\n} ngx_adm_e;\n"
                        . $good{'gate/gate.h'},
       'base/text.c' => $good{'base/text.c'} . "int  n = NGX_ADM_ONE;\n");

turned('a variable',
       qr{^base -> gate: base/text.c names ngx_adm_shown of gate/gate$}m,
       'gate/gate.c' => $good{'gate/gate.c'} . "int  ngx_adm_shown[2] = { 1 };\n",
       'base/text.c' => $good{'base/text.c'} . "int  *n = ngx_adm_shown;\n");

turned('the module itself is named by all', qr/^$/,
       'module.c'    => $good{'module.c'} . "\nint  ngx_http_admission_module;",
       'base/text.c' => $good{'base/text.c'}
                        . "int  *n = &ngx_http_admission_module;\n");

turned('an opaque type stands in a header below as well', qr/^$/,
       'base/text.h' => "typedef struct ngx_adm_ctx_s  ngx_adm_ctx_t;\n"
                        . $good{'base/text.h'},
       'base/text.c' => "static ngx_adm_ctx_t  *ctx;\n" . $good{'base/text.c'});

turned('a file outside', qr{^other/x: in no folder of docs/architecture.md$}m,
       'other/x.c' => 'int x;');

turned('a circle of folders',
       qr{^a circle of folders: base gate left$}m,
       'base/text.c' => $good{'base/text.c'}
                        . "int  (*f)(void) = ngx_adm_gate;\n");

sub ring ($n) {
    return map {
        my ($own, $next) = ($_, $_ % $n + 1);

        ("base/f$own.c" => "int\nngx_adm_f$own(void)\n{\n"
                           . "    return ngx_adm_f$next();\n}\n")
    } 1 .. $n;
}

turned('a circle of four files',
       qr{^a circle of files: base/f1 base/f2 base/f3 base/f4$}m, ring(4));
turned('but three may be', qr/^$/, ring(3));

my $mute = tree(%good);
write_file("$mute/left/queue.h", "\n/*\n * Copyright (C) 2026\n */\n\n\n"
                                 . "$good{'left/queue.h'}\n");

is_deeply [ faults_of($mute, [ ['module'], '' ], @two) ],
    [ 'left/queue.h: does not begin with what it is for' ],
    'a head with nothing but the copyright';


# ---- src/

my $src = root . '/src';
my $tree = Admission::Structure->read($src);

{
    is_deeply [ $tree->faults(@floors) ], [], 'src/';

    # and it would be seen there: the lowest file names one of the highest

    my $copy = test_dir . '/copy';
    my ($top, $low) = ($floors[1][0][0], $floors[-1][0][0]);

    system('cp', '-r', $src, $copy);

    my ($symbol, $owner) = map { ($_->[2], $_->[1]) }
                           grep { $tree->folder_of($_->[1]) eq $top }
                           $tree->symbol_arrows(qr/function/);
    my ($file) = map { $_->{name} } grep { $_->{folder} eq $low
                                           && $_->{name} =~ /c$/ }
                 $tree->files;

    write_file("$copy/$file", read_file("$copy/$file")
                              . "\nint  (*turned)(void) = $symbol;\n");

    my @faults = grep { !/^a circle/ } faults_of($copy, @floors);

    is $faults[0], "$low -> $top: $file names $symbol of $owner",
        'an arrow that is turned in a copy';
}


# ---- the papers name what there is

my %function = map { $_->[0] =~ s/^$Admission::Structure::PREFIX//r => 1 }
               map { $_->{functions}->@* } $tree->files;
my $sources = join "\n", map { $_->{text} } $tree->files;

for my $paper ('docs/architecture.md', 'CONTRIBUTING.md') {
    my $text = read_file(root . "/$paper");

    my @functions = $text =~ /`(?!ngx_)(\w+)\(\)`/g;
    my @tables = $text =~ /`(\w+)\[\]`/g;
    my @files = $text =~ m{\b((?:t|lua|bench|docs|conf-examples|src|\.ci)/
                              [\w./-]+\.\w+)}gx;

    is_deeply [ grep { !$function{$_} } @functions ], [],
        "$paper: there are such functions";
    is_deeply [ grep { $sources !~ /_$_\[\] =/ } @tables ], [],
        "$paper: there are such tables";
    is_deeply [ grep { !-e root . "/$_" } @files ], [],
        "$paper: there are such files";
}


# ---- comments and papers name files that there are

{
    my %known;

    for my $path (glob root . '/src/*.[ch] ' . root . '/src/*/*.[ch] '
                       . root . '/lua/*.lua') {
        my $name = substr $path, length(root) + 1;

        @known{ $name, $name =~ s{^src/}{}r, $name =~ s{.*/}{}r } = (1) x 3;
    }

    # those of the build, and of NGINX
    my $others = qr/^(?:nginx|ngx_\w+)\.h$/;

    my %text = map { $_ => read_file(root . "/$_") }
               'docs/architecture.md', 'CONTRIBUTING.md';

    for my $path (glob root . '/src/*.[ch] ' . root . '/src/*/*.[ch]') {
        $text{ substr $path, length(root) + 1 } =
            join "\n", read_file($path) =~ m{/\*.*?\*/}gs;
    }

    my @lost;

    for my $from (sort keys %text) {
        push @lost, map { "$from: $_" }
                    grep { !$known{$_} && $_ !~ $others }
                    $text{$from} =~ m{\b((?:\w+/)?\w+\.(?:c|h|lua))\b}g;
    }

    is_deeply \@lost, [], 'files that are named are there';
}

# ---- what one sees whole (CONTRIBUTING.md)

{
    my (@functions, @files, %of);

    for my $file ($tree->files) {
        $of{$_}{ $file->{name} } = 1 for map { $_->[0] } $file->{functions}->@*;

        push @functions, map { "$file->{name}: $_->[0], $_->[1] lines" }
                         grep { $_->[1] > 100 } $file->{functions}->@*;

        my $lines = $file->{text} =~ tr/\n//;
        push @files, "$file->{name}: $lines lines" if $lines > 700;
    }

    is_deeply \@functions, [], 'no function of over 100 lines';
    is_deeply \@files, [], 'no file of over 700 lines';
    is_deeply [ sort grep { keys $of{$_}->%* > 1 } keys %of ], [],
        'no two files have a function of the same name';
}

done_testing;
