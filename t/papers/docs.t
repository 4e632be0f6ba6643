# What the documentation lists is what the code has, and the other way round.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

my $root = root;
my $code = join '', map { read_file($_) } sources;
my %doc = map { m{/(\w+)\.md$} => read_file($_) } glob "$root/docs/*.md";


# ---- directives

my (%directive, %documented);

while ($code =~ /\{ \s ngx_string\("(admission_\w+)"\), \s+
                 ((?:NGX_\w+ (?:\s*\|\s*)?)+) ,/xg)
{
    $directive{$1} = contexts($2);
}

for my $section (split /^(?=### )/m, $doc{directives}) {
    my ($name) = $section =~ /^### (\w+)\n/ or next;

    my ($syntax, $default, $context) = $section
        =~ /^\ +Syntax:\ +(.*?)^\ +Default:\ +(\S.*?)\n
             ^\ +Context:\ +(.*?)\n/msx;

    $documented{$name} = $context // 'none';

    ok defined $syntax && $syntax =~ /^\s*\Q$name\E(?: [^;]*)?;?\s*\{?/
        && defined $default, "$name: syntax and default";
    like $doc{directives}, qr/\(#$name\)/, "$name: in the contents";
    like $section =~ s/^ +Syntax:.*?^ +Context:.*?\n//msr,
        qr/^ {4}(?:.*[\s{])?$name\b/m, "$name: an example";
}

cmp_ok scalar(keys %directive), '>', 10, 'directives are found in the code';
is_deeply \%documented, \%directive, 'directives and their contexts';


sub contexts ($flags) {
    return 'http, server, location' if $flags =~ /_ANY_CONF/;

    return join ', ', map { $flags =~ /HTTP_$_->[0]_CONF/ ? $_->[1] : () }
           [ MAIN => 'http' ], [ SRV => 'server' ], [ LOC => 'location' ];
}


# ---- their parameters

my %parameter = map { $_ => 1 }
    $code =~ /_conf_param\(\S+, "(\w+)"/g,
    $code =~ /\{ ngx_string\("(\w+)"\),\s+ngx_\w+_param_\w+,/g,
    $code =~ /^ {4}ngx_adm_param\(\w+, (\w+),/mg;

cmp_ok scalar(keys %parameter), '>', 15, 'parameters are found in the code';
is_deeply [ grep { $doc{directives} !~ /\b$_=/ } sort keys %parameter ], [],
    'parameters of directives are documented';

my @unknown = grep { !$parameter{$_} && !event_keys()->{$_} }
              map { /^\[?(\w+)=/ ? $1 : () }
              map { split ' ' }
              $doc{directives} =~ /^ +Syntax: (.*?)^ +Default:/gms;

is_deeply \@unknown, [], 'no parameter is documented that there is not';


# ---- keys of admission_events

sub event_keys () {
    my ($set) = $code =~ /_event_builtin\([^;]*\)\n\{\n(.*?)\n\}/s;
    my %set = $set =~ /ecf->(\w+) = ([\w-]+);/g;
    my %key;

    while ($code =~ /^    \w+_event_(key|word)\((\w+), (\w+),/mg) {
        my ($kind, $name, $type) = ($1, $2, $3);
        my $value = $set{$name} // -1;

        $key{$name} = $value eq '-1'    ? 'none'
                    : $kind eq 'word' || $type eq 'switch'
                                        ? lc $value =~ s/.*_//r
                    : $type eq 'time'   ? $value / 1000 . 's'
                    :                     $value;
    }

    return \%key;
}

my ($table) = $doc{directives} =~ /^\| key \| default .*?\n((?:\|.*\n)+)/m;
my %key;

for my $line ($table =~ /^\| (`.*)/mg) {
    my ($names, $default) = split /\s*\|\s*/, $line;
    $default =~ tr/`//d;
    $default =~ s/^(\d+)h$/$1 * 3600 . 's'/e;
    $key{$_} = $default for $names =~ /`(\w+)`/g;
}

is_deeply \%key, event_keys(), 'keys of events and their defaults';


# ---- variables

my @variables = $code =~ /\{ ngx_string\("(admission_\w+)"\), NULL,/g;
my @listed = $doc{directives} =~ /^- `\$(admission_\w+)`/mg;

cmp_ok scalar(@variables), '>', 3, 'variables are found in the code';
is_deeply [ sort @listed ], [ sort @variables ], 'variables';


# ---- verdicts

my ($verdicts) = $code =~ /adm_verdicts\[\] = \{(.*?)\};/s;
my ($of_verdict) = $doc{directives}
                   =~ /^- `\$admission_verdict`:(.*?)^- `/ms;

is_deeply [ sort $of_verdict =~ /`([\w-]+)`(?=[,: ]\s*(?:\(|`|or|where|$))/mg ],
    [ sort $verdicts =~ /ngx_string\("([\w-]+)"\)/g ], 'verdicts';


# ---- reasons

my ($reasons) = $doc{directives} =~ /^## Reasons\n(.*?)^## /ms;
my ($table_of_reasons) = join('', map { read_file($_) } sources('h'))
                         =~ /_REASON_LIST\(reason\) +\\\n(.*?)\n\n/s;

# but for the verdicts, and what is told of a reason

$reasons =~ s/.*^\|---\|---\|\n//ms;
$reasons =~ s/^\| `\w+` //mg;
$reasons =~ s/\(with .*?\)|or empty for `\w+`//g;

my %listed_reason = map { $_ => 1 } $reasons =~ /`([^`\n]+)`/g;
my %reason = map { s/\\"/"/gr =~ s/^claim "\K(?!type")\w+/NAME/r => 1 }
             grep { length } $table_of_reasons =~ /"((?:[^"\\]|\\.)*)"/g;

cmp_ok scalar(keys %reason), '>', 25, 'reasons are found in the code';
is_deeply [ sort keys %listed_reason ], [ sort keys %reason ], 'reasons';


# ---- metrics; t/metrics/alerts.t has what a host answers

my ($list) = map { read_file($_) } grep { /counter_list\.h$/ } sources('h');
my ($rows) = $doc{metrics} =~ /^\| name \| type .*\n\|[-|]+\|\n((?:\|.*\n)+)/m;

my %type = (counter => 'counter', tally => 'counter', requests => 'counter',
            decisions => 'counter', gauge => 'gauge', event_gauge => 'gauge',
            histogram => 'histogram');
my (%entry, %row);

while ($list =~ /^(\w+)\(\w+, "(\w+)"/mg) {
    my ($kind, $name) = ($1, $2);
    my $total = $type{$kind} eq 'counter' ? '_total' : '';

    $entry{"$_$total"} = $type{$kind}
        for $name, $kind eq 'tally' ? "event_$name" : ();
}

for my $line (split /\n/, $rows) {
    my (undef, $names, $type) = split /\s*\|\s*/, $line;
    $row{$_} = $type for $names =~ /`(\w+)`/g;
}

cmp_ok scalar(keys %entry), '>', 50, 'metrics are found in the code';
is_deeply \%row, \%entry, 'metrics and their types';


# ---- codes of errors

my %in_code = map { $_ => 1 }
              map { /"([A-Z][A-Z0-9_]+)"/g }
              $code =~ /(?:respond_(?:error|retry|sending)|to_waiting)
                        \(([^;]*);/gx,
              $code =~ /\.(code\ =\ "\w+"),/gx;

my ($errors) = $doc{api} =~ /^## Errors\n(.*?)^## /ms;
my %in_doc = map { $_ => 1 } $errors =~ /`([A-Z][A-Z0-9_]+)`/g;

cmp_ok scalar(keys %in_code), '>', 10, 'codes are found in the code';
is_deeply [ sort keys %in_doc ], [ sort keys %in_code ], 'codes of errors';


# ---- routes, headers, cookies

my %route;
my %table = (queue => 'queue_api', queue_admin => 'queue_api',
             room => 'vwr_api', admin => 'admin_api');

while ($code =~ /ngx_(?:http_admission|adm)_(\w+)_routes\[\] = \{(.*?)^\};/msg)
{
    my ($api, $text) = ($table{$1}, $2);

    while ($text =~ /\{\ "([\w\/*]+)",\s+NGX_HTTP_\w+(?:\|NGX_HTTP_\w+)*,
                      \s+"([^"]+)"/xg)
    {
        my ($path, $methods) = ($1, $2);

        $route{"$api $path"} = join ' ', sort grep { $_ ne 'HEAD' }
                               split /, /, $methods;
        next if $path !~ s{/\*}{/EVENT};

        $path =~ s{/\*$}{/TICKET};
        like $doc{api}, qr/\b\Q$path\E(?![\/\w])/, "the call $path";
    }
}

cmp_ok scalar(keys %route), '>', 12, 'routes are found in the code';


# ---- openapi.yaml: without a parser of YAML, which t/papers/openapi.t has

my $openapi = read_file("$root/docs/openapi.yaml");
my %described;

for my $path (split /^  (?=\/)/m, $openapi =~ s/.*^paths:\n//msr
                                            =~ s/^components:.*//msr)
{
    my ($name) = $path =~ m{^(/\S+):\n} or next;

    my $api = $name =~ s{^/api/queue/}{} ? 'queue_api'
            : $name =~ s{^/vwr-api/}{} ? 'vwr_api'
            : $name =~ s{^/api/admin/vwr/}{} ? 'admin_api' : next;

    $described{"$api " . $name =~ s/\{\w+\}/*/gr}
        = join ' ', sort map { uc } $path =~ /^    (get|put|post|delete):/mg;
}

is_deeply \%described, \%route, 'openapi.yaml: calls and their methods';

my %answered = map { $_ => 1 } map { /\b([A-Z][A-Z0-9_]{4,})\b/g }
               $openapi =~ /enum: \[([A-Z][^\]]*)\]/g;

is_deeply [ sort keys %answered ], [ sort keys %in_code ],
    'openapi.yaml: codes of errors';

for my $cookie ($code =~ /_cookie_default\("([\w-]+)"/g) {
    like $doc{directives}, qr/`\Q$cookie\E`/, "the cookie $cookie";
}


# ---- Redis

my $names = join ' ', map { read_file("$root/lua/$_.lua")
                            =~ /^-- keys: (.*)/mg }
                      qw(queue_state_lib queue_step notice vwr_assign vwr_step
                         follow hold come_lib);
my %named = map { ("{E}:$_" => 1) } split ' ', $names;
my @keys = keys %named;
my @rows = map { /`([^`]+)`/g }
           $doc{redis} =~ /^\|([^|]+)\| [A-Z]+(?: or [A-Z]+)? \|/mg;

push @keys, $code =~ /ngx_string\("((?:\{\}|[\w-]+):[\w-]+)"\)/g;
push @keys, 'rate:CATEGORY:CLIENT' if $code =~ /"rate:/;

is_deeply [ sort @rows ], [ sort @keys ], 'keys in Redis';

my $lua = join '', map { read_file($_) } glob "$root/lua/*.lua";
my %command = map { lc $_ => 1 }
              $lua =~ /\b(?:p?call|by_the_way)\('([A-Z]+)'/g;
my ($acl) = $doc{redis} =~ /^( +ACL SETUSER .*?)\n\n/ms;

# and what C sends

$command{$_} = 1 for qw(asking cluster eval evalsha info ping sadd select
                        smembers srem sscan zscore);

is_deeply [ sort $acl =~ /\+(\w+)/g ], [ sort keys %command ],
    'the ACL allows what the module sends and its scripts call, and no more';

my %tried = map { lc $_ => 1 }
            read_file("$root/lua/needs.lua") =~ /\{ '([A-Z]+)'/g;

delete @command{qw(asking cluster eval evalsha info ping select sscan)};
is_deeply [ sort keys %tried ], [ sort keys %command ],
    'a host tries all that it cannot do without';


# ---- what README says was measured, is told with its conditions

my ($measured) = read_file("$root/README.md")
                 =~ /^## Measured\n(.*?)^## /ms;
my @numbers = $measured =~ /(?<![\w.,])(\d+[.,]\d+|\d{3,})(?![\w.,]*\d)/g;

cmp_ok scalar @numbers, '>', 8, 'README: numbers are found';
is_deeply [ grep { "$doc{performance}$doc{redis}" !~ /(?<![\d.,])\Q$_\E(?!\d)/ }
            @numbers ], [], 'README: all of them are in docs/';


# ---- links, and the index of the manual

my @pages = map { s{^\Q$root\E/}{}r }
            "$root/README.md", "$root/conf-examples/README.md",
            sort glob "$root/docs/*.md";

for my $page (@pages) {
    my $text = prose(read_file("$root/$page"));
    my ($folder) = $page =~ m{^(.*/|)};

    for my $link ($text =~ /\]\(([^)\s]+)\)/g) {
        next if $link =~ /^https:/;

        my ($path, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
        my $target = $path eq '' ? "$root/$page" : "$root/$folder$path";

        if (!-e $target) {
            fail "$page: $link";
            next;
        }

        next if $anchor eq '';

        my %anchors = anchors(read_file($target));

        ok $anchors{$anchor}, "$page: $link";
    }
}

my %indexed = map { $_ => 1 }
              read_file("$root/docs/README.md") =~ /\]\(([\w.]+)\)/g;

is_deeply [ sort keys %indexed ],
    [ sort grep { $_ ne 'README.md' } map { s{.*/}{}r } glob "$root/docs/*" ],
    'docs/README.md has all of the manual';

# what is no code

sub prose ($text) {
    return $text =~ s/^```.*?^```$//msgr =~ s/^ {4}.*$//mgr =~ s/`[^`]*`//gr;
}

# of a heading that is there again the anchor has a number

sub anchors ($text) {
    my %seen;

    for my $heading ($text =~ s/^```.*?^```$//msgr =~ /^#+ (.*)$/mg) {
        my $anchor = lc($heading) =~ s/[^\w -]//gr =~ tr/ /-/r;
        my $before = $seen{$anchor}++;

        $seen{"$anchor-$before"}++ if $before;
    }

    return %seen;
}

done_testing;
