# What is a real CORS preflight, which passes without a token and uncharged, and
# what only looks like one: with a body, with credentials, with what no browser
# adds.  A backend tells what reached it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 user);

my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port },
    http => <<"END" . <<'END',
    admission_secret tier1 $secret{tier1};
    admission_secret tier2 $secret{tier2};
    admission_secret user $secret{user};
    admission_user jwt;
    admission_event concert;
    underscores_in_headers on;
    keepalive_requests 100000;
END
    admission_deny json;
    proxy_http_version 1.1;
    large_client_header_buffers 4 32k;

    log_format verdict '$admission_verdict';

    server {
        listen 127.0.0.1:%%PORT%%;
        listen 127.0.0.1:%%PORT_h2%% http2;
        access_log verdicts.log verdict;

        location / {
            admission_tier2 on;
            admission_rate_limit book rate=100000r/m algorithm=log;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /tier1/ {
            admission_tier1 on;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /streamed/ {
            admission_tier2 on;
            proxy_request_buffering off;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /late/ {
            admission_user $arg_user;
            admission_tier2 on;
            auth_request /auth;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location = /auth {
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_pass http://127.0.0.1:%%BACKEND%%/auth?delay=0.1;
        }
        location /moved/ {
            error_page 404 = @moved;
            proxy_intercept_errors on;
            proxy_pass http://127.0.0.1:%%BACKEND%%/?status=404&rest=;
        }
        location @moved {
            admission_tier2 on;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /dry/ {
            admission_dry_run on;
            admission_tier2 on;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /api/queue/ { admission_queue_api; }
    }
END
);

my $port = $nginx->port;
my $user = user_token($secret{user}, userId => 'alice');
my $entry = entry_token($secret{tier2}, sub => 'concert', uid => 'alice');

my @preflight = (Origin => 'https://app.example',
                 'Access-Control-Request-Method' => 'POST');

# "status, the backend's requests": those of the application, with their bodies

sub outcome ($ask) {
    my $before = $backend->hits;
    my $response = $ask->();
    my $status = ref $response ? $response->status : $response;
    my @new = grep { $_->{uri} !~ m{^/auth|status=404} }
              ($backend->requests)[$before .. $backend->hits - 1];

    return join ', ', $status, map { "$_->{method} [$_->{body}]" } @new;
}

sub options ($path, @headers) {
    my %opt = ref $headers[-1] ? pop(@headers)->%* : ();
    return outcome(sub {
        request($port, 'OPTIONS', $path, headers => \@headers, %opt);
    });
}


subtest 'real ones' => sub {
    my %more = (
        'nothing more' => [],
        'headers asked for' => [
            'Access-Control-Request-Headers' => 'content-type, x-vwr-token' ],
        'a length of nothing' => [ 'Content-Length' => 0 ],
        'what browsers and proxies add' => [
            'User-Agent' => 'Mozilla/5.0', Accept => '*/*', Referer => 'https://a',
            'Sec-Fetch-Mode' => 'cors', 'Sec-Fetch-Site' => 'cross-site',
            'Accept-Encoding' => 'gzip', 'X-Forwarded-For' => '192.0.2.1',
            'Access-Control-Request-Private-Network' => 'true', TE => 'trailers',
            'X-Cookie-Name' => 'x', 'X-Authorization-Kind' => 'y' ],
        'another method' => [],
    );

    for my $name (sort keys %more) {
        my @headers = @preflight;
        $headers[3] = 'PROPFIND' if $name eq 'another method';

        is options($_, @headers, $more{$name}->@*), '200, OPTIONS []',
            "$_: $name" for qw(/x /tier1/x /streamed/x /late/x /moved/x /dry/x);

        is options('/api/queue/check/concert', @headers, $more{$name}->@*),
            '204', "the API: $name";
    }

    my $r = request($port, OPTIONS => '/x', headers => \@preflight);
    is $r->header('RateLimit'), undef, 'uncharged';

    is options('/x', @preflight, { version => '1.0' }), '200, OPTIONS []',
        'HTTP/1.0';

    my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
    is outcome(sub {
        $h2->headers(1, OPTIONS => '/x', headers => [ map { lc } @preflight ]);
        return $h2->body(1) =~ /^\{"body":""/ ? 'passed' : 'not';
    }), 'passed, OPTIONS []', 'HTTP/2';
};


# what is none is refused, and no request comes to the application

my $body = '{"seat":1}';

my %others = (
    'a body' => [ { body => $body } ],
    'a body in chunks' => [ 'Transfer-Encoding' => 'chunked',
                            { body => "a\r\n$body\r\n0\r\n\r\n" } ],
    'no body, in chunks' => [ 'Transfer-Encoding' => 'chunked',
                              { body => "0\r\n\r\n" } ],
    'a body to come' => [ Expect => '100-continue', { body => $body } ],
    'Expect alone' => [ Expect => '100-continue' ],
    'a cookie' => [ Cookie => 'a=b' ],
    'an empty cookie' => [ Cookie => '' ],
    'two lines of cookies' => [ Cookie => '', cookie => 'a=b' ],
    'the cookie of the user' => [ { cookies => { access_token => $user } } ],
    'a bearer token' => [ { bearer => $user } ],
    'basic' => [ Authorization => 'Basic YTpi' ],
    'an empty Authorization' => [ authorization => '' ],
    'credentials for a proxy' => [ 'Proxy-Authorization' => 'Basic YTpi' ],
    'another protocol' => [ Upgrade => 'websocket', Connection => 'upgrade' ],
    (map { ("$_" => [ $_ => 'x' ]) }
     qw(x-vwr-token X-Queue-Entry-Token X-Queue-Place X-Admission-Visitor
        X-Admission-Ticket)),
    (map { ("$_: another method" => [ $_ => 'POST' ]) }
     qw(X-HTTP-Method-Override x-http-method X-Method-Override
        X_HTTP_Method_Override)),
);


subtest 'with what browsers do not send' => sub {
    for my $name (sort keys %others) {
        for my $path (qw(/x /tier1/x /streamed/x /late/x)) {
            like options($path, @preflight, $others{$name}->@*), qr/^40[13]$/,
                "$path: $name";
        }

        is options('/api/queue/check/concert', @preflight,
                   $others{$name}->@*), '405', "the API: $name";
    }

    # the cookies of HTTP/2 are one header each, a body may be of any length

    my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
    my $stream = -1;

    for my $case ([ 'a cookie', 1, [ cookie => 'a=b' ] ],
                  [ 'cookies', 1, [ cookie => 'a=b', cookie => 'c=d' ] ],
                  [ 'authorization', 1, [ authorization => 'Basic YTpi' ] ],
                  [ 'a body', 0, [] ],
                  [ 'a body with its length', 0, [ 'content-length' => 10 ] ],
                  [ 'an empty body', 0, [], '' ],
                  [ 'an empty body with its length', 0,
                    [ 'content-length' => 0 ], '' ],
                  [ 'more than there is', 0, [ 'content-length' => 0 ] ])
    {
        my ($name, $end, $more, $data) = @$case;

        # after auth_request such a stream has ended, and nothing came with it
        my $ended = "@$more" eq 'content-length 0';

        for my $path (qw(/x /streamed/x), $ended ? () : '/late/x') {
            is outcome(sub {
                $stream += 2;
                $h2->headers($stream, OPTIONS => $path, ':end' => $end,
                             headers => [ (map { lc } @preflight), @$more ]);
                $h2->data($stream, $data // $body) if !$end;
                return $h2->body($stream) =~ /REQUIRED/ ? 'denied' : 'passed';
            }), 'denied', "HTTP/2: $path: $name";
        }
    }
};


subtest 'judged as any request' => sub {
    my @in = (cookies => { access_token => $user, 'urr-entry-token' => $entry });

    is options('/x', @preflight, { @in, body => $body }),
        "200, OPTIONS [$body]", 'with the right tokens it passes';
    is options('/x', @preflight, { bearer => $user, body => $body }), '403',
        'and is refused without';
    is options('/dry/x', @preflight, { body => $body }),
        "200, OPTIONS [$body]", 'a dry run lets it pass';
    my $log = $nginx->dir . '/verdicts.log';
    wait_until { read_file($log) =~ /user\n\z/ } 10;
    like read_file($log), qr/user\n\z/, 'with its verdict';

    my $r = request($port, OPTIONS => '/x', headers => \@preflight, @in);
    like $r->header('RateLimit'), qr/^"book";r=/, 'it is charged';

    like options('/moved/x', @preflight, { body => $body }), qr/^401$/,
        'where an error leads to';
};


subtest 'half a preflight' => sub {
    my ($origin, $method) = ([ @preflight[0, 1] ], [ @preflight[2, 3] ]);

    for my $case ([ 'no Origin', @$method ],
                  [ 'an empty one', Origin => '', @$method ],
                  [ 'two', @$origin, @$origin, @$method ],
                  [ 'no Access-Control-Request-Method', @$origin ],
                  [ 'an empty one', @$origin, $method->[0] => '' ],
                  [ 'two', @$origin, @$method, $method->[0] => 'GET' ],
                  [ 'the same twice', @$origin, @$method, @$method ],
                  [ 'an empty one beside it', @$origin, @$method,
                    $method->[0] => '' ],
                  [ 'what is no method', @$origin, $method->[0] => 'GET, POST' ],
                  [ 'nor is this', @$origin, $method->[0] => 'a/b' ],
                  [ 'an underscore', @$origin, $method->[0] =~ tr/-/_/r, 'GET' ])
    {
        my ($name, @headers) = @$case;

        is options('/x', @headers), '401', "$name: refused";
        is options('/api/queue/check/concert', @headers), '405',
            "$name: the API";
    }

    is outcome(sub { request($port, $_ => '/x', headers => \@preflight) }), '401',
        "$_ is none" for qw(GET POST PUT DELETE PROPFIND);
};


# what comes behind "Content-Length: 0" is another request

my $connection = Admission::HTTP->connect($port);
my $before = $backend->hits;

$connection->send(Admission::HTTP::compose(OPTIONS => '/x', headers => [
    @preflight, 'Content-Length' => 0 ], body => $body));

is $connection->response->status, 200, 'a preflight and more: it passes';
is $connection->response->status, 400, 'and what follows is no request';
is_deeply [ map { $_->{body} } ($backend->requests)[$before .. $backend->hits - 1] ],
    [ '' ], 'the backend got no body';

done_testing;
