# How a denial is told: redirects and their return targets, JSON, a bare
# status; caching and other origins.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;

my $nginx = Admission::Nginx->start(
    files => { 'index.html' => 'page' },
    http => <<"END",
    admission_secret user $user_secret;
    admission_secret tier2 $tier2_secret;

    map \$request_uri \$event_id {
        "~^/[a-z]+/(?<id>event[0-9])"  \$id;
    }
END
    server => <<'END',
        root             %%DIR%%;
        admission_event  $event_id;
        admission_user   jwt;
        admission_tier2  on;

        location /auto/      { empty_gif; }
        location /redirect/  { empty_gif; admission_deny redirect; }
        location /json/      { empty_gif; admission_deny json; }
        location /status/    { empty_gif; admission_deny status;
                               error_page 401 403 /error; }
        location /bare/      { empty_gif; admission_deny status; }
        location = /error    { internal; try_files /index.html =404; }

        location /custom/    { admission_queue_uri /wait?e=$admission_event#x;
                               admission_login_uri /login; empty_gif; }
        location /decoded/   { admission_queue_uri /wait$uri; empty_gif; }
        location /login/     { admission_login_uri $arg_to; empty_gif; }
        location /q/         { admission_queue_uri /q/event1; empty_gif; }

        location /cached/    { expires 1h; add_header Cache-Control public;
                               add_header X-Added yes always; empty_gif; }
        location /caches/    { add_header CDN-Cache-Control max-age=9 always;
                               add_header Cloudflare-CDN-Cache-Control
                                          max-age=9 always;
                               add_header surrogate-control max-age=9 always;
                               add_header Edge-Control max-age=9 always;
                               add_header X-Accel-Expires 9 always;
                               add_header X-Cache-Control yes-no always;
                               add_header Cache-Control-Not mine always;
                               empty_gif; }
        location /caches/redirect/ { admission_deny redirect;
                               add_header CDN-Cache-Control max-age=9 always;
                               empty_gif; }
        location /caches/status/ { admission_deny status;
                               add_header CDN-Cache-Control max-age=9 always;
                               error_page 403 /told; empty_gif; }
        location = /told     { internal; try_files /index.html =404;
                               add_header Surrogate-Control max-age=9 always; }
        location /caches/off/ { admission_tier2 off;
                               add_header CDN-Cache-Control max-age=9 always;
                               empty_gif; }
        location /cors/      { admission_cors https://app.example
                                              https://b.example:8443;
                               empty_gif; }
        location /cors/site/ { admission_cors https://app.example;
                               add_header Access-Control-Allow-Origin *
                                          always;
                               add_header access-control-allow-credentials
                                          false always;
                               add_header Access-Control-Allow-Methods GET
                                          always;
                               add_header Access-Control-Expose-Headers X
                                          always;
                               empty_gif; }
        location /cors/status/ { admission_cors https://app.example;
                               admission_deny status; error_page 403 /elsewhere;
                               empty_gif; }
        location = /elsewhere { internal; try_files /index.html =404;
                               add_header Access-Control-Allow-Origin *
                                          always; }
        location /cors/none/ { add_header Access-Control-Allow-Origin *
                                          always;
                               empty_gif; }
END
);

my $port = $nginx->port;
my $cookie = 'access_token=' . user_token($user_secret, userId => 'alice');
my @alice = (Cookie => $cookie);
my @page = (Accept => 'text/html,application/xhtml+xml');

sub ask ($path, %opt) {
    return request($port, $opt{method} // 'GET', $path,
                   headers => [ @alice, @{ $opt{headers} // \@page } ],
                   version => $opt{version} // '1.1', body => $opt{body});
}

sub told ($path, %opt) {
    my $response = ask($path, %opt);
    return join ' ', $response->status,
                $response->header('Location') // $response->body;
}

my $json = '{"error":"Queue entry token required","code":"TIER2_REQUIRED",'
           . '"redirectTo":"/queue/event1"}';


# ---- modes

is told('/auto/event1'), '302 /queue/event1?return=%2Fauto%2Fevent1',
    'auto: a navigation is redirected';

is told('/auto/event1', headers => []), "403 $json",
    'auto: anything else gets JSON';

is told('/auto/event1', headers => [ @page, 'Sec-Fetch-Mode' => 'cors' ]),
    "403 $json", 'auto: Sec-Fetch-Mode decides against Accept';

# service workers send the request of a navigation on like this

is told('/auto/event1',
        headers => [ @page, 'Sec-Fetch-Mode' => 'same-origin', @$_ ]),
    '302 /queue/event1?return=%2Fauto%2Fevent1',
    'auto: a service worker for a navigation'
    for [], [ 'Sec-Fetch-Dest' => 'empty' ],
        [ 'Sec-Fetch-Site' => 'same-origin' ];

is told('/auto/event1',
        headers => [ 'Sec-Fetch-Mode' => 'same-origin', @$_ ]),
    "403 $json", 'auto: or for something else'
    for [], [ Accept => '*/*' ], [ Accept => 'application/json' ],
        [ Accept => 'image/avif,*/*' ];

# scripts of libraries, where the browser does not tell

my @scripts = ([ 'X-Requested-With' => 'XMLHttpRequest' ],
               [ 'HX-Request' => 'true' ], [ 'X-PJAX' => 'true' ],
               [ 'X-Requested-With' => '' ]);

for my $script (@scripts) {
    my $name = "$script->[0]: $script->[1]";

    is told('/auto/event1', headers => [ @page, @$script ]), "403 $json",
        "auto: $name";
    is told('/auto/event1', method => 'POST', headers => [ @page, @$script ]),
        "403 $json", "auto: $name, POST";
    is told('/auto/event1', headers => [ @page, @$script, 'Sec-Fetch-Mode',
                                         'same-origin' ]),
        "403 $json", "auto: $name, of the same origin";
    is told('/auto/event1', headers => [ @page, @$script, 'Sec-Fetch-Mode',
                                         'navigate' ]),
        '302 /queue/event1?return=%2Fauto%2Fevent1',
        "auto: $name, but the browser navigates";
}

is told('/auto/event1', headers => [ Accept => '*/*', Accept => 'text/HTML' ]),
    '302 /queue/event1?return=%2Fauto%2Fevent1', 'auto: any line of Accept';

is told('/auto/event1', headers => [ @page, 'Sec-Fetch-Mode' => $_ ]),
    "403 $json", "auto: Sec-Fetch-Mode: $_"
    for 'no-cors', 'websocket', 'navigat', 'navigate,', '';

is told('/auto/event1', headers => [ 'Sec-Fetch-Mode' => 'navigate' ]),
    '302 /queue/event1?return=%2Fauto%2Fevent1', 'auto: and for it';

is told('/auto/event1', method => 'POST'),
    '303 /queue/event1?return=%2Fauto%2Fevent1',
    'auto: a navigation of another method gets 303';

is told('/auto/event1', method => 'HEAD'),
    '302 /queue/event1?return=%2Fauto%2Fevent1', 'auto: HEAD gets 302';

is told('/redirect/event1', headers => []),
    '302 /queue/event1?return=%2Fredirect%2Fevent1', 'redirect: always';

is told('/redirect/event1', headers => [], method => 'PUT'),
    '303 /queue/event1?return=%2Fredirect%2Fevent1',
    'redirect: other methods get 303';

is told('/json/event1'), "403 $json", 'json: always';

is told('/status/event1'), '403 page', 'status: error_page works';
is told('/status/event1', method => 'POST', body => 'x' x 10_000),
    '403 page', 'status: for a POST as well';
like told('/bare/event1'), qr/^403 <html>/, 'status: without one';

my $response = ask('/json/event1');

is $response->header('Content-Type'), 'application/json', 'json: type';
is $response->header('Cache-Control'), 'no-store', 'json: is not stored';

$response = ask('/json/event1', method => 'HEAD');

is $response->status, 403, 'json: HEAD';
is $response->header('Content-Length'), length $json, 'json: HEAD has a length';
like $response->raw, qr/\r\n\r\n\z/, 'json: HEAD has no body';

$response = ask('/auto/event1');

is $response->header('Content-Length'), 0, 'redirect: has no body';
is $response->header('Cache-Control'), 'no-store', 'redirect: is not stored';

for my $version ('1.0', '1.1') {
    is ask('/auto/event1', version => $version)->status, 302,
        "redirect: HTTP/$version";
    is ask('/json/event1', version => $version)->body, $json,
        "json: HTTP/$version";
}


# ---- return targets

sub returns ($path) {
    my $location = ask($path)->header('Location') // return 'none';
    $location =~ s{^/queue/event1}{} or return $location;
    $location =~ s{^\?return=}{} or return $location;
    return $location =~ s/%(..)/chr hex $1/ger;
}

is returns('/auto/event1?a=b&c=%20d'), '/auto/event1?a=b&c=%20d',
    'return: with the query';
is returns('/auto/event1?'), '/auto/event1?', 'return: an empty query';
is returns("/auto/event1?$_"), "/auto/event1?$_",
    "return: the site's own stays, $_"
    for 'return=/cart&x=1', 'x=1&return=%2Fcart', 'return', 'return=',
        'a=b&return=/x&c=d&return', 'return=//host', 'Return=/x', 'returns=1',
        'admission_returns=/x', 'admission_return', 'x_admission_return=/x';
is returns('/auto/event1?admission_return=/x'), '/x',
    'return: one level of our own';
is returns('/auto/event1?a=b&admission_return=%2Fx%3Fy%3D%2520&return=/z'),
    '/x?y=%20', 'return: one level of our own, among others';
is returns("/auto/event1?admission_return=$_"),
    "/auto/event1?admission_return=$_", "return: not to $_"
    for '//host', '/%5Chost', 'http://host', '/%0d', '';
is returns('/vwr/event1?return=%2Fx%3Fy%3D1'), '/x?y=1',
    'return: of a page that is gated itself, where it leads to';
is returns('/vwr/event1?return=//host'), '/vwr/event1?return=//host',
    'return: unless that is elsewhere';
is returns('/vwr/event1/x?return=/y'), '/vwr/event1/x?return=/y',
    'return: a page beside it is none';
is returns('/auto/event1#x'), '/auto/event1#x', 'return: nothing is lost';
is returns("/auto/event1?\xc3\xa4"), "/auto/event1?\xc3\xa4",
    'return: bytes over 127';

my $fill = 2048 - length '/auto/event1?';

is length returns('/auto/event1?' . 'a' x $fill), 2048, 'return: 2 KB';
is returns('/auto/event1?' . 'a' x ($fill + 1)), '', 'return: not more';
is returns('/auto/event1\\x'), '', 'return: no backslash';

for my $path ('//auto/event1', '/\\auto/event1') {
    unlike ask($path)->header('Location') // '', qr/return/,
        "return: not to $path";
}


# ---- other targets

is told('/custom/event1'),
    '302 /wait?e=event1&return=%2Fcustom%2Fevent1#x',
    'queue_uri: with a query and a fragment';

is told('/custom/event1', headers => []), '403 {"error":"Queue entry token '
    . 'required","code":"TIER2_REQUIRED","redirectTo":"/wait?e=event1#x"}',
    'queue_uri: in JSON';

is told('/decoded/event1%0d%0aSet-Cookie:a=b'),
    '302 /queue/event1?return=%2Fdecoded%2Fevent1%250d%250aSet-Cookie%3Aa%3Db',
    'queue_uri: no control character gets in a header';

is told(q{/decoded/event1%22'%3C%c3%a4%60%255c}),
    '302 /wait/decoded/event1%22%27%3C%C3%A4%60%5c'
    . '?return=%2Fdecoded%2Fevent1%2522%27%253C%25c3%25a4%2560%25255c',
    'queue_uri: nor anything else that no URL has';

is told('/auto/'), '302 /?return=%2Fauto%2F', 'without an event to the top';

is told('/auto/', headers => []), '403 {"error":"Queue entry token required",'
    . '"code":"TIER2_REQUIRED","redirectTo":"/"}', 'without an event in JSON';

like told('/q/event1'), qr/^403 \{/, 'a page that leads to itself: no loop';
like told('/q/event1?a'), qr/^403 \{/, 'nor with a query';
is told('/q/event2'), '302 /q/event1?return=%2Fq%2Fevent2',
    'but to it from others';


# ---- signing in

@alice = ();

is told('/custom/event1'), '302 /login?return=%2Fcustom%2Fevent1',
    'nobody: a navigation goes to sign in';

is told('/custom/event1', headers => []), '401 {"error":"User required",'
    . '"code":"USER_REQUIRED","redirectTo":"/login"}', 'nobody: JSON';

is told('/login/event1?to=/a'), '302 /a?return=%2Flogin%2Fevent1%3Fto%3D%2Fa',
    'nobody: login_uri with a variable';

is told("/login/event1?to=$_"),
    '401 {"error":"User required","code":"USER_REQUIRED"}',
    "nobody: a variable made it $_"
    for 'a', '?a', 'javascript:alert', 'a.example/b', 'https:';

is told('/login/event1?to=https://login.example/'),
    '302 https://login.example/?return=%2Flogin%2Fevent1%3Fto%3Dhttps%3A%2F%2F'
    . 'login.example%2F', 'nobody: an address elsewhere';

is told('/redirect/event1'),
    '401 {"error":"User required","code":"USER_REQUIRED"}',
    'nobody: nowhere to go';

$response = ask('/json/event1');

is $response->status, 401, 'nobody: JSON by the mode';
is $response->header('WWW-Authenticate'), 'Bearer', 'nobody: a challenge';

is told('/status/event1'), '401 page', 'nobody: status, and its error_page';
is ask('/bare/event1')->header('WWW-Authenticate'), 'Bearer',
    'nobody: status has a challenge';

@alice = (Cookie => $cookie);


# ---- caches

for my $headers ([], \@page) {
    $response = ask('/cached/event1', headers => $headers);

    is_deeply [ $response->header('Cache-Control') ], ['no-store'],
        $response->status . ': expires and add_header do not make it last';
    is $response->header('Expires'), undef, 'nor is there an Expires';
    is $response->header('X-Added'), 'yes', 'other headers are left';
}

is_deeply [ ask('/status/event1')->header('Cache-Control') ], ['no-store'],
    'an error_page of a denial is not stored';
is_deeply [ ask('/bare/event1')->header('Cache-Control') ], ['no-store'],
    'nor a bare status';


# caches that heed something else first

sub lasting ($path, %opt) {
    my $answer = ask($path, %opt);
    return join ' ', $answer->status,
                map { map { lc } $answer->raw =~ /^($_):/gmi }
                    qw([\w-]*Cache-Control[\w-]* Surrogate-Control
                       Edge-Control X-Accel-Expires Expires);
}

is lasting("/caches/event1", headers => $_->[0]),
    "$_->[1] cache-control-not cache-control",
    "$_->[1]: nothing else makes it last"
    for [ [], 403 ], [ \@page, 302 ];
is lasting("/caches/redirect/event1"), '302 cache-control',
    'redirect: nothing does';
is lasting('/caches/status/event1'), '403 cache-control',
    'status: nor where its error_page is';
is lasting('/caches/off/event1'), '200 cdn-cache-control',
    'where nothing is judged all is left';


# ---- other origins

sub cors ($origin, @headers) {
    my $response = ask('/cors/event1',
                       headers => [ map { (Origin => $_) } @$origin ]);
    return join ' ', $response->status,
                map { $response->header($_) // '-' }
                'Access-Control-Allow-Origin',
                'Access-Control-Allow-Credentials', 'Vary';
}

is cors(['https://app.example']), '403 https://app.example true Origin',
    'cors: an origin of the list';
is cors(['https://b.example:8443']),
    '403 https://b.example:8443 true Origin', 'cors: another one';
is cors([]), '403 - - Origin', 'cors: none';

for my $origin ('http://app.example', 'https://app.example.evil',
                'https://app.example:444', 'null', '')
{
    is cors([$origin]), '403 - - Origin', "cors: not \"$origin\"";
}

is cors(['https://app.example', 'https://app.example']), '403 - - Origin',
    'cors: one Origin only';

# what the site or an error page says of it

sub allowed ($path, $origin) {
    my $answer = ask($path, headers => [ Origin => $origin ]);
    return join ' ', $answer->status,
                map { my $name = $_;
                      map { "$name=$_" }
                          $answer->header("Access-Control-$name") }
                    qw(Allow-Origin Allow-Credentials Allow-Methods
                       Expose-Headers);
}

for my $path ('/cors/site/event1', '/cors/status/event1') {
    is allowed($path, 'https://app.example'),
        '403 Allow-Origin=https://app.example Allow-Credentials=true '
        . 'Expose-Headers=Retry-After, RateLimit, RateLimit-Policy',
        "cors: one of each, $path";
    is allowed($path, 'https://evil.example'), '403',
        "cors: none for others, $path";
}

is allowed('/cors/none/event1', 'https://evil.example'), '403 Allow-Origin=*',
    'cors: without admission_cors it is the site\'s own';

is ask('/json/event1', headers => [Origin => 'https://app.example'])
    ->header('Vary'), undef, 'cors: where there is none';

done_testing;
