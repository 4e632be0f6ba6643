# What browsers of the last seven years have is all that the pages ask for: their
# scripts are read as ES2018, and use nothing that came later than 2019.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;

plan(skip_all => 'nothing of NGINX is run here: once is enough') if sanitized;

my $node_modules = Admission::Browser::install();

# NAME: FILE by lines; "" is right

sub complaint ($script) {
    my $file = test_dir . '/script.js';

    write_file($file, $script);

    my ($status, $output) = run('env', "ADMISSION_NODE_MODULES=$node_modules",
                                'node', root . '/t/browser/syntax.js', $file);
    return $output =~ s/\s+\z//r;
}

for my $page (qw(tier1 tier2 admin nojs script)) {
    my (undef, $html) = run('sh', root . '/pages/embed.sh', '-e',
                            root . "/pages/$page.html");
    my @scripts = $html =~ m{<script>(.*?)</script>}gs;

    is scalar @scripts, $page =~ /^(?:nojs|script)$/ ? 0 : 1, "$page: its script";
    is complaint($_), '', "$page: is for browsers of 2019" for @scripts;
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

is complaint('const a = { ...b, at: 1 }; async () => { await a; }'), '',
    'what there was is right';

done_testing;
