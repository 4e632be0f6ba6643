# What the queue API does with calls that are none: a clear 4xx, no crash, no
# leak, and the connection goes on where it can.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $redis = Admission::Redis->start;

# no call comes to its end by its time

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;

    admission_events {
        concert  threshold=1000000;
    }
    server {
        listen            127.0.0.1:%%PORT_any%%;
        admission_user    jwt;
        location /        { admission_queue_api; }
    }
END
        admission_user    jwt;

        location /api/queue/      { admission_queue_api; }
        location /small/queue/    { client_body_buffer_size 16;
                                    admission_queue_api; }
        location /file/queue/     { client_body_in_file_only on;
                                    admission_queue_api; }
        location /sub/            { ssi on; default_type text/html;
                                    root %%DIR%%; }
        location /mirrored/queue/ { mirror /mirror; admission_queue_api; }
        location = /mirror        { internal; return 204; }
END

my $port = $nginx->port;
my $token = user_token($user, userId => 'alice');
my $path = '/api/queue/check/concert';


sub call ($method, $path, %opt) {
    return request($port, $method, $path, bearer => $token, %opt);
}

sub answer ($response) {
    return $response->status . ' ' . (eval { $response->json->{code} } // '');
}


# ---- ids and paths

my %ids = (
    '' => '400 INVALID_EVENT', 'a%20b' => '400 INVALID_EVENT',
    'a%00b' => '400 ', 'a%0ab' => '400 INVALID_EVENT',
    'a%2Cb' => '400 INVALID_EVENT', '%C3%A4' => '400 INVALID_EVENT',
    "\xc3\xa4" => '400 INVALID_EVENT', 'a{b}' => '400 INVALID_EVENT',
    'a:b' => '400 INVALID_EVENT', 'a*' => '400 INVALID_EVENT',
    '%22' => '400 INVALID_EVENT', 'a%5Cb' => '400 INVALID_EVENT',
    '%ff' => '400 INVALID_EVENT', '%zz' => '400 ',
    'x' x 65 => '400 INVALID_EVENT', 'x' x 5000 => '400 INVALID_EVENT',
    'x' x 64 => '404 UNKNOWN_EVENT', 'concerts' => '404 UNKNOWN_EVENT',
    '...' => '404 UNKNOWN_EVENT', '-' => '404 UNKNOWN_EVENT',
    'A_Z.09-' => '404 UNKNOWN_EVENT',
    'concert/' => '404 NOT_FOUND', 'concert/x' => '404 NOT_FOUND',
    'concert%2Fx' => '404 NOT_FOUND', 'concert%3Fx' => '400 INVALID_EVENT',
    'conCert' => '200 ', 'con%63ert' => '200 ', 'concert?x' => '200 ',
    './concert' => '200 ', 'x/../concert' => '200 ', '/concert' => '200 ',
);

# until it has heard of Redis, a host does not know which events there are
my $known = wait_until {
    call('GET', '/api/queue/status/concerts')->status == 404 };
ok $known, 'the host knows which events there are';

is answer(call('GET', "/api/queue/status/$_")), $ids{$_},
    'id: ' . (length > 100 ? length : s/[^ -~]/?/gr)
    for sort keys %ids;

my %paths = (
    '/' => '404 NOT_FOUND', '/check' => '404 NOT_FOUND',
    '/check/' => '400 INVALID_EVENT', '/concert' => '404 NOT_FOUND',
    '/Check/concert' => '404 NOT_FOUND', '/check/concert' => '200 ',
    '/xcheck/concert' => '404 NOT_FOUND', '/check' x 9 . '/concert' => '200 ',
    '/admin/concert' => '404 NOT_FOUND', '//check//concert' => '200 ',
    '/*/*' => '404 NOT_FOUND', '/check/*' => '400 INVALID_EVENT',
);

is answer(request($nginx->port('any'), 'POST', $_, bearer => $token)),
    $paths{$_}, "path: $_"
    for sort keys %paths;


# ---- methods

my %methods = (
    check => 'POST', status => 'GET, HEAD', heartbeat => 'POST',
    leave => 'POST, DELETE',
);

for my $call (sort keys %methods) {
    for my $method (qw(GET HEAD POST PUT DELETE PATCH OPTIONS PROPFIND LOCK
                       FOO))
    {
        next if $methods{$call} =~ /\b$method\b/;

        my $r = call($method, "/api/queue/$call/concert");
        is $r->status, 405, "$method $call";
        is $r->header('Allow'), $methods{$call}, "$method $call: Allow";
    }
}


# ---- bodies

my $max = '"' . 'x' x 4094 . '"';

my @bodies = (
    [ '{}', '200 ' ], [ '[1, "x", null]', '200 ' ], [ '"x"', '200 ' ],
    [ ' {"userId": "x"} ', '200 ' ], [ '{"a": "\\u0000"}', '200 ' ],
    [ 'null', '200 ' ], [ '', '200 ' ],
    [ $max, '200 ' ], [ "$max ", '413 PAYLOAD_TOO_LARGE' ],
    [ 'x' x 100_000, '413 PAYLOAD_TOO_LARGE' ],
    [ 'x' x 2_000_000, '413 ' ],
    [ '{', '400 INVALID_JSON' ], [ '{}x', '400 INVALID_JSON' ],
    [ ' ', '400 INVALID_JSON' ], [ 'a=b', '400 INVALID_JSON' ],
    [ "{\"a\": \"\xff\"}", '400 INVALID_JSON' ],
    [ "\0", '400 INVALID_JSON' ], [ '{"a": }', '400 INVALID_JSON' ],
    [ '[' x 4000, '400 INVALID_JSON' ],
    [ '{"a": 1, "a": 1}', '400 INVALID_JSON' ],
    [ '{"a": {"b": 1, "b": 2}}', '400 INVALID_JSON' ],
    [ '{"a": 1, "\u0061": 2}', '400 INVALID_JSON' ],
    [ '{"a": {"a": 1}, "b": {"a": 1}}', '200 ' ],
    [ '[' x 2000 . ']' x 2000, '200 ' ],
    [ "\x1f\x8b\x08\x00", '400 INVALID_JSON' ],
);

sub chunked ($body, $size) {
    my $bytes = join '', map { sprintf "%x\r\n%s\r\n", length, $_ }
                         unpack "(a$size)*", $body;
    return "${bytes}0\r\n\r\n";
}

for my $type ('application/json', 'text/plain', undef) {
    my @type = defined $type ? ('Content-Type' => $type) : ();
    my $what = $type // 'no type';

    for my $case (@bodies) {
        my ($body, $expected) = @$case;
        my $name = "$what: " . (length $body > 20 ? length($body) . ' bytes'
                                                 : $body =~ s/[^ -~]/?/gr);

        is answer(call('POST', $path, body => $body, headers => \@type)),
            $expected, $name;

        # the whole is never read, whatever its size

        $expected =~ s/^413 $/413 PAYLOAD_TOO_LARGE/;

        is answer(call('POST', $path, body => chunked($body, 1000),
                       headers => [ @type, 'Transfer-Encoding' => 'chunked' ])),
            $expected, "$name, chunked";
    }

    is answer(call('POST', $path, headers => \@type)), '200 ',
        "$what: no body at all";
    is answer(call('POST', $path,
                   headers => [ @type, 'Content-Length' => 0 ])), '200 ',
        "$what: empty";
}

is answer(call('POST', $path, body => chunked('{}', 1),
               headers => [ 'Transfer-Encoding' => 'chunked' ])), '200 ',
    'small chunks';

for my $location (qw(small file mirrored)) {
    my $path = "/$location/queue/check/concert";

    for my $case ([ '{"a": "' . 'x' x 500 . '"}', '200 ' ],
                  [ '{"a": "' . 'x' x 500, '400 INVALID_JSON' ],
                  [ 'x' x 5000, '413 PAYLOAD_TOO_LARGE' ])
    {
        my ($body, $expected) = @$case;

        is answer(call('POST', $path, body => $body)), $expected,
            "$location: $expected";
        is answer(call('POST', $path, body => chunked($body, 100),
                       headers => [ 'Transfer-Encoding' => 'chunked' ])),
            $expected, "$location: $expected chunked";
    }
}

is answer(call('GET', '/api/queue/status/concert', body => '{')),
    '400 INVALID_JSON', 'a body where none is expected';
is answer(call('DELETE', '/api/queue/leave/concert', body => '{"a":1}')),
    '200 ', 'and a right one there';

# a body that comes in parts, with a pause

for my $parts ([ "Content-Length: 10\r\n\r\n", '{"a"', ': "b"}' ],
               [ "Transfer-Encoding: chunked\r\n\r\n", "4\r\n{\"a\"\r",
                 "\n6\r\n: \"b\"}\r\n", "0\r\n", "\r\n" ])
{
    my $c = Admission::HTTP->connect($port);

    $c->send("POST $path HTTP/1.1\r\nHost: x\r\n"
             . "Authorization: Bearer $token\r\n");

    for (@$parts) {
        $c->send($_);
        select undef, undef, undef, 0.05;
    }

    is answer($c->response('POST')), '200 ', "in parts: $parts->[0]"
        =~ s/\r\n//gr;
    is answer($c->request('GET', '/api/queue/status/concert',
                          bearer => $token)), '200 ', 'and on it goes';
}


# ---- what comes after an error on the same connection

for my $case ([ 'GET', $path, '405 METHOD_NOT_ALLOWED' ],
              [ 'POST', '/api/queue/check/a%20b', '400 INVALID_EVENT' ],
              [ 'POST', '/api/queue/nothing', '404 NOT_FOUND' ],
              [ 'POST', '/api/queue/leave/concert?beacon=1', '200 ' ])
{
    my ($method, $path, $expected) = @$case;

    for my $opt ({ body => "GET /smuggled HTTP/1.1\r\n\r\n" },
                 { body => chunked("GET /smuggled HTTP/1.1\r\n\r\n", 10),
                   headers => [ 'Transfer-Encoding' => 'chunked' ] },
                 { body => 'x' x 100_000 })
    {
        my $c = Admission::HTTP->connect($port);
        my $what = "$method $path with " . length($opt->{body}) . ' bytes';

        is answer($c->request($method, $path, bearer => $token, %$opt)),
            $expected, $what;
        is answer($c->request('GET', '/api/queue/status/none',
                              bearer => $token)), '404 UNKNOWN_EVENT',
            "$what: the next one";
    }
}


# ---- subrequests

write_file($nginx->dir . '/page.html',
           'a<!--#include virtual="/api/queue/check/concert" -->b');
mkdir $nginx->dir . '/sub';
rename $nginx->dir . '/page.html', $nginx->dir . '/sub/page.html';

my $r = call('GET', '/sub/page.html');
is $r->status, 200, 'a page that includes a call';
unlike $r->body, qr/status|queued/, 'which is not made';


# ---- clients that vanish

my $fds = fd_count(($nginx->worker_pids)[0]);

$redis->sigstop;

my @gone;

for my $n (1 .. 50) {
    my $c = Admission::HTTP->connect($port);

    $c->send(Admission::HTTP::compose(
        $n % 3 ? ('POST', $path) : ('GET', '/api/queue/status/concert'),
        bearer => user_token($user, userId => "gone$n"),
        $n % 2 ? (body => '{}') : ()));

    setsockopt $c->socket, 1, 13, pack 'ii', 1, 0 if $n % 5 == 0;   # RST
    push @gone, $c;
}

# in the middle of a body

for my $n (1 .. 10) {
    my $c = Admission::HTTP->connect($port);

    $c->send("POST $path HTTP/1.1\r\nHost: x\r\n"
             . "Authorization: Bearer $token\r\n"
             . ($n % 2 ? "Content-Length: 10\r\n\r\n{"
                       : "Transfer-Encoding: chunked\r\n\r\n5\r\n{"));
    push @gone, $c;
}

select undef, undef, undef, 0.3;
$_->close for @gone;
select undef, undef, undef, 0.3;

ok wait_until {
    fd_count(($nginx->worker_pids)[0]) <= $fds + 1
}, 'clients that vanish are let go while Redis is silent';

$redis->sigcont;

ok wait_until { answer(call('POST', $path)) eq '200 ' },
    'and the others are served when it speaks again';


# ---- random bytes

my ($worker) = $nginx->worker_pids;
my %seen;

srand 20260101;

sub noise ($max) {
    return join '', map { chr int rand 256 } 1 .. rand $max;
}

sub random_request () {
    my $kind = int rand 5;

    return noise(300) if $kind == 0;

    return "POST /api/queue/check/" . noise(80) . " HTTP/1.1\r\n"
           . "Host: x\r\nAuthorization: Bearer $token\r\n\r\n"
        if $kind == 1;

    return "GET /api/queue/" . (noise(40) =~ s/[\0-\x20%?#\x7f]/-/gr)
           . "/concert HTTP/1.1\r\nHost: x\r\n\r\n"
        if $kind == 2;

    return "POST $path HTTP/1.1\r\nHost: x\r\nContent-Length: "
           . int(1 + rand 300) . "\r\nAuthorization: Bearer "
           . ($kind == 3 ? noise(200) =~ s/[\r\n\0]/./gr : $token)
           . "\r\nX-Queue-Place: " . (noise(100) =~ s/[\r\n\0]/./gr)
           . "\r\nCookie: urr-vwr-token=" . (noise(100) =~ s/[\r\n\0]/./gr)
           . "\r\n\r\n\0" . noise(300);
}

sub throw ($bytes) {
    my $c = Admission::HTTP->connect($port);

    $c->send($bytes);
    shutdown $c->socket, 1;
    $seen{ int($c->response('GET', 10)->status / 100) }++;
    $c->close;
}

throw(random_request) for 1 .. 2000;

my $rss = rss($worker);
$fds = fd_count($worker);

throw(random_request) for 1 .. 8000;

is_deeply [ grep { !/^[04]$/ } sort keys %seen ], [],
    'random bytes: 4xx or nothing'
    or diag explain \%seen;
cmp_ok $seen{4}, '>', 1000, 'random bytes: many are answered';
is_deeply [ $nginx->worker_pids ], [ $worker ], 'the worker lives';
ok wait_until { fd_count($worker) <= $fds + 1 }, 'no descriptor is left';

SKIP: {
    # AddressSanitizer keeps what was freed
    skip 'memory of a slow build', 1 if slow > 1;
    cmp_ok rss($worker), '<', $rss + 2_000_000, 'no memory is left';
}

is answer(call('POST', $path)), '200 ', 'and right calls are served';

done_testing;
