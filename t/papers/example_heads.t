# The configurations of conf-examples/, started as their heads say.  What each
# of them is for is in examples.t.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $root = root;
my $dir = test_dir;
my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();
my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my %secret;


my $readme = read_file("$root/conf-examples/README.md");

for my $file (sort glob "$root/conf-examples/*.conf") {
    my ($name) = $file =~ m{/([^/]+)\.conf$};
    my $text = read_file($file);

    # its own words, but for the place and that NGINX is only tested

    my ($head) = $text =~ /\A(?:#.*\n)*?((?:#     .*\n)+)/;
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
    unlike $output, qr/\[warn\]/, "$name: without a warning";

    like $readme, qr/^\| \[$name\.conf\]\($name\.conf\) \|/m,
        "$name: in the table";

    journey($name, $text) if $name =~ /^(?:queue|rate-limits|two-tiers)$/;
}

done_testing;


# Two are let in, the third is not; who is in books.

sub journey ($name, $conf) {
    my ($event) = $conf =~ /^\s+(\S+)\s+threshold=\d+\s+"title=/m;

    $redis->flushall;

    my $example = Admission::Example->start(
        $name, text => $conf, redis => $redis, backend => $backend,
        change => [ qr/threshold=(?:2|200)\b/ => 'threshold=2' ]);
    my $nginx = $example->nginx;

    $secret{user} = $example->secret('user');

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

    wait_until { get($port, "/events/$event", @page)->status == 302 } 20;

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
    } 20;

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
