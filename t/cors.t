# Calls of the APIs from pages of other origins: preflights, CORS headers, and
# what may change something.

use FindBin;
use lib "$FindBin::Bin/lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $redis = Admission::Redis->start;

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=1s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;

        location /api/queue/  { admission_cors https://shop.example
                                               https://www.shop.example:8443;
                                admission_queue_api; }
        location /own/queue/  { admission_queue_api; }
END

my $port = $nginx->port;
my $token = user_token($user, userId => 'alice');
my $good = 'https://shop.example';

sub call ($method, $path, @headers) {
    return request($port, $method, $path, headers => \@headers,
                   cookies => { access_token => $token });
}

# as browsers ask: without credentials (what else is none: t/preflight.t)

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

is call('GET', '/api/queue/status/e', 'Sec-Fetch-Site' => 'cross-site')
    ->status, 200, 'reading is no change';

$r = request($port, 'POST', '/api/queue/leave/e', bearer => $token,
             headers => [ 'Sec-Fetch-Site' => 'cross-site' ]);
is $r->status, 200, 'a bearer token, from anywhere';

done_testing;
