# What denials do to connections: keepalive, bodies that nobody reads,
# pipelining, HTTP/2.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;

my $nginx = Admission::Nginx->start(
    http => <<"END",
    admission_secret user $user_secret;
    admission_secret tier2 $tier2_secret;
    lingering_timeout 2s;
    map \$request_uri \$event_id { ~(?<id>event[0-9])  \$id; }
END
    server => <<'END',
        listen           127.0.0.1:%%PORT_h2%% http2;
        admission_event  $event_id;
        admission_user   jwt;
        admission_tier2  on;

        location /auto/    { empty_gif; }
        location /status/  { empty_gif; admission_deny status;
                             error_page 401 /page; }
        location = /page   { return 401 page; }
        location /late/    { empty_gif; admission_user $arg_user; }
        location /open/    { admission_tier2 off; return 200 open; }
END
);

my $port = $nginx->port;
my $page = ['Accept', 'text/html'];


# ---- keepalive

for my $path ('/auto/event1', '/status/event1', '/late/event1') {
    my $connection = Admission::HTTP->connect($port);

    for my $length (0, 10, 5_000, 300_000) {
        is $connection->request('POST', $path, body => 'b' x $length)->status,
            401, "$path: POST of $length bytes";
        is $connection->request('GET', '/open/')->body, 'open',
            "$path: and on the same connection";
    }

    is $connection->request('POST', $path,
        headers => ['Transfer-Encoding', 'chunked'],
        body => "5\r\nhello\r\n0\r\n\r\n")->status, 401, "$path: chunked";
    is $connection->request('GET', '/open/')->body, 'open',
        "$path: and on the same connection";
}

my $connection = Admission::HTTP->connect($port);

is $connection->request('HEAD', '/auto/event1')->status, 401, 'HEAD';
is $connection->request('GET', '/auto/event1', version => '1.0',
                        headers => ['Connection', 'keep-alive'])->status, 401,
    'HTTP/1.0 with keepalive';
is $connection->request('GET', '/open/')->body, 'open',
    'and on the same connection';

$connection->send(join '', map {
    Admission::HTTP::compose('POST', "/auto/event1?$_", body => 'b' x $_)
    . Admission::HTTP::compose('GET', '/open/')
} 1 .. 5);

is_deeply [ map { $connection->response->status } 1 .. 10 ],
    [ (401, 200) x 5 ], 'pipelined';

$connection->send(Admission::HTTP::compose(
    'POST', '/auto/event1', headers => ['Content-Length', 20]));

is $connection->response->status, 401, 'denied before the body came';

$connection->send('b' x 20 . Admission::HTTP::compose('GET', '/open/'));

is $connection->response->body, 'open', 'which is skipped then';

$connection->send(Admission::HTTP::compose(
    'POST', '/auto/event1', headers => ['Content-Length', 20,
                                        'Expect', '100-continue']));

my $head = $connection->read_until(qr/\r\n\r\n/);

like $head, qr{^HTTP/1.1 401 }, 'no body is asked for';
$connection->close;

$connection = Admission::HTTP->connect($port);
$connection->send(Admission::HTTP::compose(
    'POST', '/auto/event1', headers => ['Content-Length', 20]));

is $connection->response->status, 401, 'a body that never comes';
ok $connection->closed(20), 'does not hold the connection for ever';

is get($port, '/auto/event1', version => '1.0')->status, 401, 'HTTP/1.0';
is request($port, 'GET', '/', raw => "GET /auto/event1\r\n")->raw =~
    /^\{"error":"User required"/, 1, 'HTTP/0.9';


# ---- HTTP/2

sub h2 (@args) {
    my ($status, $output) = run(
        'curl', '-s', '--http2-prior-knowledge', '-m', 10 * slow,
        '-w', '%{http_version} %{http_code} %header{location} %{size_download}',
        '-o', '/dev/null', @args);
    return "$status $output";
}

my $url = 'http://localhost:' . $nginx->port('h2');
my @resolve = ('--connect-to', '::127.0.0.1:' . $nginx->port('h2'));
my $user = 'access_token=' . user_token($user_secret, userId => 'alice');
my $entry = 'urr-entry-token=' . entry_token($tier2_secret, sub => 'event1',
                                             uid => 'alice');

is h2(@resolve, "$url/auto/event1"), '0 2 401  48', 'HTTP/2: JSON';
is h2(@resolve, '-I', "$url/auto/event1"), '0 2 401  0', 'HTTP/2: HEAD';
is h2(@resolve, '-H', 'Accept: text/html', '-b', $user, "$url/auto/event1"),
    '0 2 302 /queue/event1?return=%2Fauto%2Fevent1 0', 'HTTP/2: a redirect';
is h2(@resolve, '-b', "$user; $entry", "$url/auto/event1"), '0 2 200  43',
    'HTTP/2: an entry token';
is h2(@resolve, "$url/status/event1"), '0 2 401  4', 'HTTP/2: error_page';

my $h2 = Admission::HTTP2->connect($nginx->port('h2'));

for my $stream (1, 3) {
    $h2->headers($stream, 'POST', '/auto/event1', ':end' => 0);
    $h2->data($stream, 'b' x 10_000, 0);
    like $h2->body($stream), qr/USER_REQUIRED/, 'HTTP/2: before the body came';
    $h2->data($stream, 'b' x 10_000);
}

$h2->headers(5, 'GET', '/open/');
is $h2->body(5), 'open', 'HTTP/2: and on the same connection';

done_testing;
