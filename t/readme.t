# The configurations that a newcomer copies: README's, and the examples as
# their heads say to start them.

use FindBin;
use lib "$FindBin::Bin/lib";
use Admission::Test;
use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $root = root;
my $dir = test_dir;
my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();
my %secret = (tier1 => 'v' x 32, tier2 => 'e' x 32, user => 'u' x 32);

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

mkdir "$dir/secrets" or die "$dir/secrets: $!";
write_file("$dir/secrets/$_.key", "$secret{$_}\n") for keys %secret;


# ---- README

my ($conf) = read_file("$root/README.md") =~ /^```nginx\n(.*?)^```/ms;

cmp_ok scalar(() = $conf =~ /\n/g), '<', 45, 'README: a short configuration';

journey('README', $conf, "$dir/secrets");


# ---- the examples

for my $file (sort glob "$root/conf-examples/*.conf") {
    my ($name) = $file =~ m{/([^/]+)\.conf$};
    my $text = read_file($file);

    # its own words, but for the place and that NGINX is only tested

    my ($head) = $text =~ /\A((?:#.*\n)+)/;
    my $commands = join "\n", grep { !/^nginx / || /-t$/ }
                   $head =~ /^#     (.*)/mg;
    my $module = Admission::Nginx::module();

    $commands =~ s{/tmp/\w+}{$dir/$name}g;
    $commands =~ s{build/ngx_http_admission_module\.so}{$module}g;
    $commands =~ s{^nginx}{$binary -e stderr}mg;

    local $ENV{LD_PRELOAD} = $ENV{TEST_NGINX_PRELOAD}
        if $ENV{TEST_NGINX_PRELOAD};

    my ($status, $output) = run('bash', '-e', '-c',
                                "cd $root\n$commands");

    is $status, 0, "$name: what its head says" or diag $output;
    like $output, qr/test is successful/, "$name: nginx -t";

    write_file("$dir/$name/secrets/$_.key", $secret{$_}) for keys %secret;
    journey($name, $text, "$dir/$name/secrets");
}

done_testing;


# Two are let in, the third is not; who is in books.

sub journey ($name, $conf, $secrets) {
    my $module = Admission::Nginx::module();
    my $redis_port = $redis->port;
    my $backend_port = $backend->port;
    my $user = $> == 0 ? 'user root;' : '';
    my ($event) = $conf =~ /^\s+(\S+)\s+threshold=\d+\s+"title=/m;

    $conf =~ s{load_module\s+\S+;}{load_module $module;};
    $conf =~ s{^(?:pid|error_log|worker_processes)\s.*\n}{}mg;
    $conf =~ s{^\s*access_log\s.*\n}{}mg;
    $conf =~ s{127\.0\.0\.1:6379}{127.0.0.1:$redis_port}g;
    $conf =~ s{127\.0\.0\.1:300[02]}{127.0.0.1:$backend_port}g;
    $conf =~ s{listen\s+8080;}{listen 127.0.0.1:%%PORT%%;};
    $conf =~ s{file=secrets/}{file=$secrets/}g;
    $conf =~ s{threshold=200\b}{threshold=2};
    $conf =~ s/^http \{\n/http {\n    access_log access.log;\n/m;

    $redis->flushall;

    my $nginx = Admission::Nginx->start(conf => <<END);
$user
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log info;
$conf
END

    my $port = $nginx->port;
    my $queue = '/api/queue';
    my %token = map { $_ => user_token($secret{user}, userId => $_) }
                qw(ann ben cho dan);
    my %answer;

    is get($port, "/api/seats/$event")->status, 401,
        "$name: nobody is refused";

    for my $who (qw(ann ben cho)) {
        $answer{$who} = post($port, "$queue/check/$event",
                             bearer => $token{$who})->json;
    }

    is_deeply [ map { $answer{$_}{status} } sort keys %answer ],
        [ qw(active active queued) ], "$name: two are in, the third waits";
    is $answer{cho}{eventInfo}{title}, 'Spring Concert', "$name: eventInfo";

    my $refused = get($port, "/api/seats/$event",
                      bearer => $token{cho},
                      headers => [ Accept => 'text/html' ]);

    is $refused->status, 302, "$name: who waits is sent to the queue";
    like $refused->header('Location'), qr{^/queue/$event\?return=},
        "$name: to its page";

    my $hits = $backend->hits;
    my $booked = post($port, '/api/reservations', bearer => $token{ann},
        headers => [ 'x-queue-entry-token' => $answer{ann}{entryToken} ]);

    is $booked->status, 200, "$name: who is in books";
    is $backend->hits, $hits + 1, "$name: at the backend";

    my %seen = map { lc $_->[0] => $_->[1] } @{ $booked->json->{headers} };

    is "$seen{'x-user-id'} $seen{'x-admission-event'}", "ann $event",
        "$name: which is told who and for what";

    is get($port, "$queue/admin/$event",
           bearer => user_token($secret{user}, userId => 'op',
                                role => 'admin'))->json->{currentUsers}, 2,
        "$name: the operator sees two";

    is get($port, "$queue/admin/$event",
           bearer => $token{ann})->status, 403, "$name: a user does not";

    waiting_room($name, $port, $event, $token{dan})
        if $conf =~ /admission_page tier1/;

    $nginx->quit;
}


# With the waiting room on: its page, a number, the turn, the queue's page.

sub waiting_room ($name, $port, $event, $token) {
    my @page = (headers => [ Accept => 'text/html' ]);
    my $operator = user_token($secret{user}, userId => 'op', role => 'admin');

    is get($port, "/events/$event", @page)->status, 200,
        "$name: no waiting room, no wait";
    is post($port, "/api/admin/vwr/activate/$event",
            bearer => $operator)->status, 200,
        "$name: the operator turns it on";

    wait_until { get($port, "/events/$event", @page)->status == 302 };

    my $sent = get($port, "/events/$event?a=1", @page);

    is $sent->header('Location'),
        "/vwr/$event?return=%2Fevents%2F$event%3Fa%3D1",
        "$name: who comes is sent to it";
    like get($port, $sent->header('Location'), @page)->body,
        qr/data-title="Spring Concert"/, "$name: its page";

    my $ticket = post($port, "/vwr-api/assign/$event")->json;
    my @visitor = (headers => [ 'x-admission-visitor' => $ticket->{visitor} ]);
    my $check;

    is $ticket->{position}, 1, "$name: the first number";

    wait_until {
        $check = get($port, "/vwr-api/check/$event/$ticket->{requestId}",
                     @visitor)->json;
        $check->{admitted}
    };

    ok $check->{admitted}, "$name: its turn comes";

    push $visitor[1]->@*, 'x-vwr-token' => $check->{token},
        Accept => 'text/html';

    is get($port, "/events/$event", @visitor)->status, 200,
        "$name: and the gate lets it pass";
    is get($port, "/api/v1/seats/$event", @visitor,
           bearer => $token)->header('Location'),
        "/queue/$event?return=%2Fapi%2Fv1%2Fseats%2F$event",
        "$name: up to the queue";
    like get($port, "/queue/$event", @visitor)->body,
        qr/data-title="Spring Concert"/, "$name: whose page is there";
}
