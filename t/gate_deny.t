# How a denial is told: redirects and their return targets, JSON, a bare
# status; caching and other origins.

use FindBin;
use lib "$FindBin::Bin/lib";
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
        location /cors/      { admission_cors https://app.example
                                              https://b.example:8443;
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
is returns('/auto/event1?return=/x'), '/auto/event1',
    'return: one level';
is returns('/auto/event1?a=b&return=/x&c=d&return'), '/auto/event1?a=b&c=d',
    'return: one level, among others';
is returns('/auto/event1?returns=1'), '/auto/event1?returns=1',
    'return: another argument';
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

is ask('/json/event1', headers => [Origin => 'https://app.example'])
    ->header('Vary'), undef, 'cors: where there is none';

done_testing;
