# admission_rate_limit and admission_dry_run: what is wrong is refused by
# nginx -t, with the directive, the value and what is allowed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Nginx;


sub ask ($location, $more = '') {
    my ($status, $output) = Admission::Nginx->conf_test(
        http => '', server => "location / { $location }\n$more");

    return ($status, $output);
}

# of the directive in a location: $shown is the value that the message names

sub wrong ($value, $shown, @allowed) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my ($status, $output) = ask("admission_rate_limit $value;");
    my @missing = grep { index($output, $_) < 0 }
                  '"admission_rate_limit"', $shown, @allowed;
    my @emerg = $output =~ /\[emerg\]/g;

    ok $status && !@missing && @emerg == 1, "refused: $value"
        or diag(join "\n", @missing, $output);
}

sub right ($conf, $more = '', $warning = undef) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my ($status, $output) = ask($conf, $more);
    my @lines = grep { !/syntax is ok$|test is successful$/ }
                split /\n/, $output;

    is $status, 0, "taken: $conf" or diag $output;
    defined $warning ? like("@lines", $warning, 'with a warning')
                     : is("@lines", '', 'without a word');
}


subtest 'category' => sub {
    wrong($_, '"' . (split ' ')[0] =~ tr/"//dr . '"', 'a category')
        for '"" rate=1r/s', 'a:b rate=1r/s', '"a{b}" rate=1r/s',
            'a/b rate=1r/s', 'x' x 65 . ' rate=1r/s', '$a rate=1r/s',
            'rate=1r/s';
    wrong('off rate=1r/s off', '"off"', '"rate=');
    wrong('off rate=1r/s', '"off"', '"off" alone');
    right("admission_rate_limit $_ rate=1r/s;")
        for 'x' x 64, 'a', 'A.b_c-9', '9';
};


subtest 'rate=' => sub {
    wrong("a rate=$_", "\"rate=$_\"", '"rate=Nr/s"', 'from 1 to 100000000')
        for qw(0r/s 0 1 -1r/s +1r/s 1.5r/s 1r 1r/ 1r/d 1r/ms 1/s r/s /s 1R/s
               1r/S 1rs 30r/min 1r/s/s 100000001r/h 99999999999999999999r/s
               1e3r/s 0x10r/s);
    wrong('a', '"a"', 'rate=');
    wrong('a rate=', '"rate="', 'rate=Nr/s');
    wrong('a window=10s', '"a"', 'rate=30r/m');
    right("admission_rate_limit a rate=$_;")
        for qw(1r/s 1r/m 1r/h 1000000r/m 100000000r/h);
};


subtest 'window=' => sub {
    wrong("a rate=1r/s window=$_", "\"window=$_\"", 'from 1s to 24h')
        for qw(0 0s 500ms -1s 25h 1d1s 1.5s s x 86401);
    wrong('a rate=1r/m window=1s', '"rate=1r/m"', 'whole number');
    wrong('a rate=100r/m window=1s', '"rate=100r/m"', 'whole number');
    wrong('a rate=100000000r/s window=1m', '"rate=100000000r/s"',
          'whole number');
    right("admission_rate_limit a rate=60r/m window=$_;")
        for qw(1s 1 90s 1m 24h 1d);
};


subtest 'the others' => sub {
    wrong("a rate=1r/s $_", "\"$_\"", '"rate=Nr/s|Nr/m|Nr/h"', '"key="',
          '"algorithm=log|counter"', '"fail=local|open|closed"',
          '"dry_run=on|off"')
        for split ' ', 'burst=5 nodelay b key rates=1r/s fails=open';

    for my $case ([ '"algorithm=log" or "algorithm=counter"',
                    'algorithm= algorithm=lo algorithm=logs algorithm=LOG'
                    . ' algorithm=log,counter' ],
                  [ '"fail=local", "fail=open" or "fail=closed"',
                    'fail=no fail= fail=opens' ],
                  [ '"dry_run=on" or "dry_run=off"',
                    'dry_run=yes dry_run= dry_run=1' ])
    {
        my ($allowed, $values) = @$case;

        wrong("a rate=1r/s $_", "\"$_\"", "it takes $allowed")
            for split ' ', $values;
    }

    wrong("a rate=1r/s ipv6_prefix=$_", "\"ipv6_prefix=$_\"", '1 to 128')
        for qw(0 129 -1 x 64x);

    wrong('a rate=1r/s key=', '"key="', '"key=" with a value');

    wrong("a rate=1r/s $_", '"ipv6_prefix=56"', 'only without "key="')
        for 'key=$remote_addr ipv6_prefix=56', 'ipv6_prefix=56 key=$uri';

    for my $twice ('rate=2r/s', 'rate=1r/s', 'key=$uri', 'window=1s',
                   'algorithm=log', 'fail=open', 'dry_run=off',
                   'ipv6_prefix=64')
    {
        wrong('a rate=1r/s key=$remote_addr window=2s algorithm=counter '
              . "fail=local dry_run=on ipv6_prefix=56 $twice", "\"$twice\"",
              'each parameter once');
    }

    my ($status, $output) = ask('admission_rate_limit a rate=1r/s key=$none;');
    ok $status && $output =~ /unknown "none" variable/, 'key= of no variable';

    right('admission_rate_limit a rate=1r/s window=10s key=$remote_addr$uri
           algorithm=counter fail=open dry_run=on;');
    right('admission_rate_limit a rate=1r/s window=10s algorithm=counter
           fail=open dry_run=on ipv6_prefix=56;');
    right("admission_rate_limit a rate=1r/s $_;")
        for qw(algorithm=log fail=local fail=closed dry_run=off
               ipv6_prefix=1 ipv6_prefix=128 key=all);
};


subtest 'several' => sub {
    my $limits = join ' ', map { "admission_rate_limit l$_ rate=1r/s;" } 1 .. 8;

    right($limits);
    my ($status, $output) = ask("$limits admission_rate_limit l9 rate=1r/s;");
    ok $status && $output =~ /more than 8/, 'nine';

    for my $both ('admission_rate_limit off; admission_rate_limit a rate=1r/s;',
                  'admission_rate_limit a rate=1r/s; admission_rate_limit off;',
                  'admission_rate_limit off; admission_rate_limit off;')
    {
        my ($status, $output) = ask($both);
        ok $status && $output =~ /"off" cannot/, "refused: $both";
    }

    for my $key ('', ' key=$arg_k') {
        ($status, $output) = ask("admission_rate_limit a rate=9r/s$key;
                                  admission_rate_limit b rate=9r/s$key;
                                  admission_rate_limit a rate=2r/m$key;");
        ok $status && $output =~ /"a" in "admission_rate_limit".*once/,
            "refused: a category twice$key";
    }

    right('admission_rate_limit a rate=1r/s;
           admission_rate_limit a rate=5r/s key=$admission_address;');
    right('admission_rate_limit off;');
    right('admission_rate_limit a rate=1r/s;',
          'location /a { admission_rate_limit a rate=5r/s; }');
    right('admission_rate_limit a rate=1r/s;',
          'location /a { admission_rate_limit a rate=1r/m; }',
          qr/another window or algorithm/);
    right('admission_rate_limit a rate=1r/s;',
          'location /a { admission_rate_limit a rate=300r/s; }',
          qr/another window or algorithm/);
};


subtest 'admission_dry_run' => sub {
    for my $value ('yes', '1', 'o', 'off,on') {
        my ($status, $output) = ask("admission_dry_run $value;");
        ok $status && $output =~ /"\Q$value\E" in "admission_dry_run"/
           && $output =~ /"on" or "off"/, "refused: $value";
    }

    right("admission_dry_run $_;") for qw(on off);
};

done_testing;
