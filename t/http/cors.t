# Calls of the APIs from pages of other origins: preflights, CORS headers, and
# what may change something.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $redis = Admission::Redis->start;

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=30s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;

        location /api/queue/  { admission_cors https://shop.example
                                               https://www.shop.example:8443;
                                admission_queue_api; }
        location /own/queue/  { admission_queue_api; }
        location /site/queue/ { admission_cors https://shop.example;
                                add_header Access-Control-Allow-Origin *
                                           always;
                                add_header Access-Control-Allow-Credentials
                                           false always;
                                add_header Access-Control-Allow-Methods PUT
                                           always;
                                add_header Access-Control-Allow-Headers X
                                           always;
                                add_header Access-Control-Max-Age 1 always;
                                add_header CDN-Cache-Control max-age=9 always;
                                admission_queue_api; }
        location /secure/queue/ { admission_cookie visitor secure=on;
                                admission_queue_api; }
        location /gated/      { admission_event e; admission_tier2 on;
                                admission_cors https://shop.example;
                                add_header Access-Control-Allow-Origin *
                                           always;
                                add_header Access-Control-Max-Age 1 always;
                                empty_gif; }
END

my $port = $nginx->port;
my $token = user_token($user, userId => 'alice');
my $good = 'https://shop.example';

sub call ($method, $path, @headers) {
    return request($port, $method, $path, headers => \@headers,
                   cookies => { access_token => $token });
}

# as browsers ask: without credentials (what else is none: t/http/preflight.t)

sub preflight ($path, @headers) {
    return request($port, OPTIONS => $path, headers => \@headers);
}

sub cors ($response) {
    return join ' ', map { $response->header("Access-Control-Allow-$_") // '-' }
                     qw(Origin Credentials);
}


# ---- preflights

my $r = preflight('/api/queue/check/e', Origin => $good,
                  'Access-Control-Request-Method' => 'POST',
                  'Access-Control-Request-Headers' => 'content-type');

is $r->status, 204, 'a preflight';
is $r->body, '', 'without body';
is cors($r), "$good true", 'allowed origin, with credentials';
is $r->header('Access-Control-Allow-Methods'), 'POST', 'methods';
like $r->header('Access-Control-Allow-Headers'), qr/content-type/i, 'headers';
like join(',', $r->header('Vary')), qr/Origin/, 'Vary';
is $r->header('Cache-Control'), 'no-store', 'no-store';
is $redis->cmd('EXISTS', '{e}:active'), 0, 'and nothing happened';

$r = preflight('/api/queue/check/e', Origin => 'https://evil.example',
               'Access-Control-Request-Method' => 'POST');
is $r->status, 204, 'a preflight of another origin';
is cors($r), '- -', 'which is not allowed';
is $r->header('Access-Control-Allow-Methods'), undef, 'nor are methods';

$r = preflight('/own/queue/check/e', Origin => $good,
               'Access-Control-Request-Method' => 'POST');
is cors($r), '- -', 'no origin is allowed where none is configured';

$r = preflight('/api/queue/check/e');
is $r->status, 405, 'OPTIONS alone is no preflight';
is $r->header('Allow'), 'POST', 'Allow';

is preflight('/api/queue/check/e', Origin => $good)->status, 405,
    'with Origin alone neither';
is preflight('/api/queue/nothing/e', Origin => $good,
             'Access-Control-Request-Method' => 'POST')->status, 404,
    'a preflight of nothing';
is call('OPTIONS', '/api/queue/check/e', Origin => $good,
        'Access-Control-Request-Method' => 'POST')->status, 405,
    'with a cookie it is none';


# ---- answers

for my $case ([ 'POST', 'check/e', 200 ], [ 'GET', 'status/e', 200 ],
              [ 'GET', 'check/e', 405 ], [ 'GET', 'status/a%20b', 400 ],
              [ 'GET', 'nothing', 404 ])
{
    my ($method, $path, $status) = @$case;

    $r = call($method, "/api/queue/$path", Origin => $good);
    is $r->status, $status, "$method $path";
    is cors($r), "$good true", "$method $path: CORS";
    is scalar(() = $r->header('Access-Control-Allow-Origin')), 1,
        "$method $path: once";

    is cors(call($method, "/api/queue/$path", Origin => 'https://evil.example')),
        '- -', "$method $path: none for another origin";
}

is cors(get($port, '/api/queue/status/e', headers => [ Origin => $good ])),
    "$good true", 'on 401 as well';
is cors(call('GET', '/api/queue/status/e', Origin => $_)), '- -', "not for $_"
    for 'null', "$good.evil.example", "$good:444", 'http://shop.example',
        'https://xshop.example', "$good/", "$good https://x";
is cors(call('GET', '/api/queue/status/e',
             Origin => 'https://www.shop.example:8443')),
    'https://www.shop.example:8443 true', 'an origin with a port';


# ---- one of each, whatever add_header says

sub all_cors ($response) {
    return join ' | ', $response->status,
                sort $response->raw =~ /^(Access-Control-[^\r]*)/gmi;
}

my $exposed = 'Access-Control-Expose-Headers: Retry-After, RateLimit, '
              . 'RateLimit-Policy';
my $allowed = "Access-Control-Allow-Credentials: true | "
              . "Access-Control-Allow-Origin: $good";

for my $case ([ 'GET', 'status/e', 200 ], [ 'GET', 'check/e', 405 ],
              [ 'GET', 'nothing', 404 ])
{
    my ($method, $path, $status) = @$case;

    is all_cors(call($method, "/site/queue/$path", Origin => $good)),
        "$status | $allowed | $exposed", "$method $path: one of each";
    is all_cors(call($method, "/site/queue/$path",
                     Origin => 'https://evil.example')), $status,
        "$method $path: none for others";
}

my @asks = ('Access-Control-Request-Method' => 'POST',
            'Access-Control-Request-Headers' => 'x-a');

is all_cors(preflight('/site/queue/check/e', Origin => $good, @asks)),
    '204 | Access-Control-Allow-Credentials: true | '
    . 'Access-Control-Allow-Headers: x-a | '
    . 'Access-Control-Allow-Methods: POST | '
    . "Access-Control-Allow-Origin: $good | Access-Control-Max-Age: 600",
    'a preflight: one of each';
is all_cors(preflight('/site/queue/check/e', Origin => 'https://evil.example',
                      @asks)), '204', 'a preflight: none for others';

is all_cors(call('GET', '/gated/x', Origin => $good)),
    "403 | $allowed | $exposed", 'a denial: one of each';
is all_cors(call('GET', '/gated/x', Origin => 'https://evil.example')), 403,
    'a denial: none for others';

is call('GET', '/site/queue/status/e')->header('CDN-Cache-Control'), undef,
    'no CDN stores an answer of the API';


# ---- state-changing calls

sub may ($what, $expected, @headers) {
    for my $method (qw(POST DELETE)) {
        $r = call($method, '/api/queue/leave/e', Host => 'www.x:8080',
                  @headers);
        is $r->status, $expected, "$what: $method $expected";
        is $r->json->{code}, 'CROSS_SITE', "$what: code" if $expected != 200;
    }
}

may 'neither header', 200;
may 'an allowed origin', 200, Origin => $good;
may 'an allowed origin, whatever Sec-Fetch-Site', 200, Origin => $good,
    'Sec-Fetch-Site' => 'cross-site';
may 'same-origin', 200, 'Sec-Fetch-Site' => 'same-origin',
    Origin => 'http://www.x:8080';
may 'by the user', 200, 'Sec-Fetch-Site' => 'none';
may 'same-site', 403, 'Sec-Fetch-Site' => 'same-site';
may 'cross-site', 403, 'Sec-Fetch-Site' => 'cross-site';
may 'an unknown site', 403, 'Sec-Fetch-Site' => 'maybe';
may 'this host and port', 200, Origin => 'http://www.x:8080';
may 'another port', 403, Origin => 'http://www.x:8081';
may 'no port', 403, Origin => 'http://www.x';
may 'another host', 403, Origin => 'http://x:8080';
may 'null', 403, Origin => 'null';
may 'an empty origin', 403, Origin => '';

# the scheme, where it is known: TLS may end before NGINX

may 'https, of which nothing is known here', 200, Origin => 'https://www.x:8080';

for my $https ('https', 'HTTPS', 'https, http', 'https ,http') {
    my @proto = ('X-Forwarded-Proto' => $https);

    may "$https: its page", 200, @proto, Origin => 'https://www.x:8080';
    may "$https: a page of http", 403, @proto, Origin => 'http://www.x:8080';
    may "$https: which does not matter to browsers that say more", 200, @proto,
        Origin => 'http://www.x:8080', 'Sec-Fetch-Site' => 'same-origin';
}

may 'http: a page of https', 403, 'X-Forwarded-Proto' => 'http',
    Origin => 'https://www.x:8080';
may 'http: its page', 200, 'X-Forwarded-Proto' => 'http, https',
    Origin => 'http://www.x:8080';
may "neither: $_", 200, 'X-Forwarded-Proto' => $_, Origin => 'http://www.x:8080'
    for 'ws', 'httpsx', '', ',https';

# host, with the standard port or without

sub posts ($host, $origin, %opt) {
    return call('POST', ($opt{path} // '/api/queue') . '/leave/e', Host => $host,
                Origin => $origin,
                $opt{proto} ? ('X-Forwarded-Proto' => $opt{proto}) : ())
           ->status;
}

for my $case ([ 'https', 'x', 'https://x', 200 ],
              [ 'https', 'x:443', 'https://x', 200 ],
              [ 'https', 'x', 'https://x:443', 200 ],
              [ 'https', 'x:80', 'https://x', 403 ],
              [ 'https', 'x', 'http://x', 403 ],
              [ 'https', 'x:443', 'http://x:443', 403 ],
              [ 'https', 'x', 'http://x:443', 403 ],
              [ 'https', 'x', 'https://x:80', 403 ],
              [ 'http', 'x', 'http://x', 200 ],
              [ 'http', 'x:80', 'http://x', 200 ],
              [ 'http', 'x', 'http://x:80', 200 ],
              [ 'http', 'x', 'https://x', 403 ],
              [ 'http', 'x', 'https://x:80', 403 ],
              [ 'http', 'x:443', 'http://x', 403 ],
              [ undef, 'x', 'https://x', 200 ],
              [ undef, 'x', 'http://x', 200 ],
              [ undef, 'x', 'http://x:443', 403 ],
              [ undef, 'x:443', 'http://x', 403 ],
              [ undef, 'X', 'HTTP://x', 200 ],
              [ 'https', '[::1]', 'https://[::1]', 200 ],
              [ 'https', '[::1]', 'http://[::1]', 403 ])
{
    my ($proto, $host, $origin, $status) = @$case;

    is posts($host, $origin, proto => $proto), $status,
        ($proto // 'unknown') . " $host: $origin";
}

is posts('x', 'https://x', path => '/secure/queue'), 200,
    'secure=on: the site is one of https';
is posts('x', 'http://x', path => '/secure/queue'), 403,
    'secure=on: a page of http is another';
is posts('x', 'http://x', path => '/secure/queue', proto => 'http'), 200,
    'secure=on: but for what the proxy says';

is call('GET', '/api/queue/status/e', 'Sec-Fetch-Site' => 'cross-site')
    ->status, 200, 'reading is no change';

$r = request($port, 'POST', '/api/queue/leave/e', bearer => $token,
             headers => [ 'Sec-Fetch-Site' => 'cross-site' ]);
is $r->status, 200, 'a bearer token, from anywhere';

done_testing;
