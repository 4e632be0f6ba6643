# README.md as a newcomer reads it: each of its blocks of code is run, in their
# order, in one shell, with the configuration saved where it says.  Only ports
# and the home directory are others.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Nginx;
use Admission::Redis;

my $root = root;
my $dir = test_dir;
my $home = "$dir/home";
my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $module = Admission::Nginx::module();
my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();
my %port = (8080 => free_port, 3000 => $backend->port, 6379 => $redis->port);

plan skip_all => 'the module is linked in' if !$module;

my $readme = read_file("$root/README.md");
my @blocks = map { [ /^```(\w*)\n(.*)\z/s ] }
             $readme =~ /^(```\w*\n.*?)^```$/msg;

is_deeply [ grep { $_ ne 'sh' && $_ ne 'nginx' } map { $_->[0] } @blocks ], [],
    'each block is commands or a configuration';
is scalar(() = $readme =~ /^```/mg), 2 * @blocks, 'all of them are found';

my $prose = $readme =~ s/^```.*?^```$//msgr =~ s/^## How it works\n.*?^## //msr;

ok $prose !~ /^( {4}\S.*)/m, 'and there is no code outside them' or diag $1;


# ---- what stands for the machine

mkdir $_ or die "$_: $!" for $home, "$dir/bin";

program(nginx => 'exec ' . ($ENV{TEST_NGINX_PRELOAD}
                            ? "env LD_PRELOAD=$ENV{TEST_NGINX_PRELOAD} " : '')
                 . "$binary -e stderr \"\$@\"");
program('redis-cli' => 'exec ' . path('redis-cli') . " -p $port{6379} \"\$@\"");
program('redis-server' => 'echo "it runs already" >&2; exit 1');
program(curl => 'exec ' . path('curl') . ' --noproxy "*" "$@"');

# it is built; that is t/page/demo.t's and test.sh's

program(make => 'echo "make $*"');

# a reload takes as long as it takes

program(sleep => <<END);
    [ \$1 = 1 ] || exec @{[ path('sleep') ]} 0.2
    until grep -q 'worker process [0-9]* exited' $home/sale/logs/error.log
    do @{[ path('sleep') ]} 0.1; done
END

sub program ($name, $text) {
    write_file("$dir/bin/$name", "#!/bin/bash\n$text\n");
    chmod 0755, "$dir/bin/$name";
}

sub path ($name) {
    my ($path) = grep { -x } map { "$_/$name" } split /:/, $ENV{PATH};
    return $path // die "no $name";
}


# ---- the blocks

my $script = "set -eu -o pipefail\ncd $root\n";
my @sh;

for my $block (@blocks) {
    my ($language, $text) = @$block;

    $text =~ s/\b(8080|3000|6379)\b(?!:)/$port{$1}/g;

    # a test machine may be slow
    $text =~ s{^(\s*admission_redis\s+redis:\S+);}{$1 timeout=30s;}m;

    $text =~ s{build/ngx_http_admission_module\.so}{$module}g;

    # a test machine may be slow
    $text =~ s{(admission_redis\s+redis:\S+);}{$1 timeout=5s;};

    if ($language eq 'sh') {
        next if !@sh && push @sh, $text;        # demo.sh, test.sh

        $script .= "echo \"=== $#sh\"\n$text";
        push @sh, $text;
        next;
    }

    # a whole configuration; or two of its lines, for http and for server

    $script .= $text =~ /^http \{/m
        ? "cat > ~/sale/nginx.conf <<'EOF'\n"
          . ($> == 0 ? "user root;\n" : '') . "${text}EOF\n"
        : second($text);
}

sub second ($text) {
    my ($http, $user) = split /\n/, $text;

    return "sed -i -e 's|^http {|&\\n$http|' -e 's|admission_user .*|$user|'"
           . " ~/sale/nginx.conf\n";
}

is_deeply [ $sh[0] =~ /^(\S+)/mg ], [ './demo.sh', './test.sh' ],
    'the two commands are first';
ok -x "$root/$_", "$_ is there" for 'demo.sh', 'test.sh';

my ($conf) = map { $_->[1] } grep { $_->[1] =~ /^http \{/m } @blocks;
cmp_ok scalar(() = $conf =~ /\S.*\n/g), '<=', 40, 'a short configuration';

my ($status, $output) = do {
    local @ENV{qw(HOME PATH)} = ($home, "$dir/bin:$ENV{PATH}");
    run('timeout', 60 * slow, 'bash', '-c', $script);
};

is $status, 0, 'all of it runs' or diag $output;

if ($status && -e "$home/sale/logs/nginx.pid") {
    kill TERM => read_file("$home/sale/logs/nginx.pid") + 0;
}

my @did = split /^=== \d+\n/m, $output;
my %did;

# by what is in their block

for my $i (1 .. $#sh) {
    my ($name) = $sh[$i] =~ /(setup\ demo|redis-server|activate
                             |assign|threshold=|\$boss|-s\ stop|NGINX_SRC)/x;
    $did{$name // "block $i"} = $did[$i] // '';
}

like $did{'setup demo'}, qr/^make \n/m, 'the module is built';
ok -s "$home/sale/secrets/$_.key", "the secret $_" for qw(tier1 tier2 admin);
like $did{'redis-server'}, qr/^PONG\n.*test is successful/ms,
    'Redis runs, and the configuration is right';
like $did{activate}, qr/^\{"eventId":"spring-concert","status":"activated"\}$/m,
    'the operator turns the waiting room on';

like $did{assign}, qr/"code":"TIER1_REQUIRED".*
                      "admitted":true.*"token":.*
                      "uri":"\/".*
                      "code":"TIER2_REQUIRED".*
                      "status":"active".*
                      "uri":"\/book\/"/xs, 'a visitor passes both tiers'
    or diag $did{assign};
like $did{assign}, qr/"X-User-Id".*"X-Admission-Event"/s,
    'and the backend is told';

like $did{'threshold='}, qr/"isActive":true,.*
                            "currentUsers":1,"threshold":200,.*
                            "rate":0\}.*"rate":20\}.*
                            "threshold":100\}.*
                            "status":"deactivated"/xs, 'the operator operates'
    or diag $did{'threshold='};

like $did{'$boss'}, qr/test\ is\ successful.*"status":"active".*
                       "currentUsers":2,/xs, 'users with tokens'
    or diag $did{'$boss'};

ok wait_until(sub { !-e "$home/sale/logs/nginx.pid" }), 'it is stopped';

my $log = read_file("$home/sale/logs/error.log");
unlike $log, qr/\[(?:warn|error|crit|alert|emerg)\]|Sanitizer/,
    'nothing was wrong' or diag $log;

like $did{NGINX_SRC}, qr/^make \nmake install\nmake NGINX_SRC=/m,
    'how to build';

done_testing;
