# What browsers of the last seven years have is all that the pages ask for: their
# scripts are read as ES2018, and use nothing that came later than 2019.  What is
# sent says what the sources do.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;

my $node_modules = Admission::Browser::install();

# what a program in t/browser has to say of scripts; "" is right

sub complaint ($script) { return says('syntax.js', $script) }

sub says ($program, @scripts) {
    my @files = map { test_dir . "/script$_.js" } 0 .. $#scripts;

    write_file($files[$_], $scripts[$_]) for 0 .. $#scripts;

    my ($status, $output) = run('env', "ADMISSION_NODE_MODULES=$node_modules",
                                'node', root . "/t/browser/$program", @files);
    return $output =~ s/\s+\z//r;
}

sub scripts ($option, $page) {
    my (undef, $html) = run('sh', root . '/pages/embed.sh', $option,
                            root . "/pages/$page.html");
    return $html =~ m{<script>(.*?)</script>}gs;
}

for my $page (qw(tier1 tier2 admin nojs script)) {
    my @scripts = scripts('-e', $page);

    is scalar @scripts, $page =~ /^(?:nojs|script)$/ ? 0 : 1, "$page: its script";
    is complaint($_), '', "$page: is for browsers of 2019" for @scripts;

    my @sources = scripts('-u', $page);

    is says('same.js', $sources[$_], $scripts[$_]), '',
        "$page: says what its source does" for 0 .. $#scripts;
    cmp_ok length $scripts[$_], '<', .9 * length $sources[$_], "$page: in less"
        for 0 .. $#scripts;
}

# That this can fail.

for my $case ([ 'a?.b', 'syntax' ], [ 'a ?? b', 'syntax' ],
              [ 'try { } catch { }', 'syntax' ], [ 'a ||= 1', 'syntax' ],
              [ 'class A { #b = 1; }', 'syntax' ], [ '1_000', 'syntax' ],
              [ 'let a = 1n', 'syntax' ], [ 'import("x")', 'syntax' ],
              [ 'a.replaceChildren()', 'replaceChildren' ],
              [ 'a["at"](-1)', 'at' ], [ 'structuredClone(a)',
                                         'structuredClone' ],
              [ 'Object.fromEntries(a)', 'fromEntries' ],
              [ 'const { allSettled } = Promise', 'allSettled' ])
{
    my ($script, $what) = @$case;
    like complaint($script), qr/\b$what\b/, "not $script";
}

for my $case ([ 'const abc = 1; f(abc);', 'const a=2;f(a);' ],
              [ 'const abc = 1; f({ abc });', 'const a=1;f({a});' ],
              [ 'const abc = 1; f(abc.abc);', 'const a=1;f(a.a);' ],
              [ 'const abc = 1; f(abc);', 'const f=1;f(f);' ],
              [ 'const abc = 1, b = 2; f(abc, b);', 'const b=1,c=2;f(b,b);' ],
              [ '{ const abc = 1; } f(abc);', '{const a=1}f(a);' ],
              [ 'f(x => { let abc = x; g(abc); }, abc);',
                'f(x=>{let a=x;g(a)},a);' ],
              [ 'let a, b; f(/a b/);', 'let a,b;f(/ab/);' ],
              [ 'f(`a ${b} c`);', 'f(`a ${b}c`);' ], [ 'a; b;', 'a;' ])
{
    my ($source, $sent) = @$case;
    isnt says('same.js', $source, $sent), '', "$sent is not $source";
}

is says('same.js', 'const abc = 1; const b = { abc: abc }; f(b, (abc) => abc);',
        'const a=1,b={abc:a};f(b,a=>a);'), '', 'what may be else';

is complaint('const a = { ...b, at: 1 }; async () => { await a; }'), '',
    'what there was is right';

done_testing;
