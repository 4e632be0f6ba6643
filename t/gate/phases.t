# The gate among NGINX's phases: other access modules, internal redirects,
# error pages, subrequests, users that another module tells.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;

my $backend = Admission::Backend->start;

my $auth = Admission::Backend->start(handler => sub ($request) {
    my %headers = map { lc $_->[0] => $_->[1] } @{ $request->{headers} };
    my $user = $headers{'x-login'} // return [401, ['X-No', 'user'], ''];
    return [200, ['X-User' => $user], ''];
});

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port, AUTH => $auth->port },
    files => { 'page.html' => 'page', 'error.html' => 'error',
               'ssi.html' => 'a<!--#include virtual="/gated/event1" -->b',
               # alice:secret
               passwords => "alice:{PLAIN}secret\n" },
    http => <<"END",
    admission_secret user $user_secret;
    admission_secret tier2 $tier2_secret;

    map \$request_uri \$event_id {
        ~(?<id>event[0-9])  \$id;
    }

    log_format verdict "\$request_uri \$admission_verdict \$admission_user";
END
    server => <<'END',
        access_log       %%DIR%%/verdicts.log verdict;
        root             %%DIR%%;
        admission_event  $event_id;
        admission_user   jwt;
        admission_deny   json;

        location /gated/ {
            admission_tier2  on;
            proxy_pass       http://127.0.0.1:%%BACKEND%%;
        }

        # satisfy

        location /any-deny/ {
            admission_tier2 on; satisfy any; deny all; empty_gif;
        }
        location /any-allow/ {
            admission_tier2 on; satisfy any; allow all; empty_gif;
        }
        location /any-basic/ {
            admission_tier2 on; satisfy any; deny all; empty_gif;
            auth_basic realm; auth_basic_user_file passwords;
        }
        location /all-deny/ {
            admission_tier2 on; deny all; empty_gif;
        }
        location /status-any/ {
            admission_tier2 on; admission_deny status;
            satisfy any; allow all; empty_gif;
        }

        # other ways to a location

        location /last/     { rewrite ^/last/(.*) /gated/$1 last; }
        location /break/    { admission_tier2 on; rewrite ^ /x break;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /try/      { try_files /none /gated/$event_id; }
        location /named/    { try_files /none @gated; }
        location @gated     { admission_tier2 on;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location @gated-gif { admission_tier2 on; empty_gif; }
        location /to-open/  { admission_tier2 on; try_files /none @open; }
        location @open      { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /to-cookie/ { admission_tier2 on; try_files /none @cookie; }
        location @cookie    { admission_cookie user name=other;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /to-off/   { admission_tier2 on; try_files /none @off; }
        location @off       { admission_user off;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /errors/   { error_page 404 = /gated/event1; return 404; }
        location /status404/ { error_page 404 /gated/event1; return 404; }
        location /index/    { index /gated/$event_id; }
        location /accel/    { proxy_pass http://127.0.0.1:%%BACKEND%%; }

        # error pages of denials

        location /page/     { admission_tier2 on; admission_deny status;
                              error_page 401 403 /denied.html; empty_gif; }
        location = /denied.html { admission_tier2 on; deny all; }
        location /paged/    { admission_tier2 on; admission_deny status;
                              error_page 401 403 = @denied; empty_gif; }
        location @denied    { admission_tier2 on;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /gated-again/ { admission_tier2 on; admission_deny status;
                              error_page 401 403 /any-deny2/error.html;
                              empty_gif; }
        location /any-deny2/ { admission_tier2 on; root %%DIR%%;
                              rewrite ^/any-deny2/(.*) /$1 break; }

        # where an error page goes on to

        rewrite             ^/ep-server$ /gated/event1;

        location /e/        { admission_tier2 on; admission_deny status;
                              error_page 401 403 $arg_to; empty_gif; }
        location /e-on/     { admission_tier2 on; admission_deny status;
                              recursive_error_pages on;
                              error_page 401 403 $arg_to; empty_gif; }
        location /e-named/  { admission_tier2 on; admission_deny status;
                              error_page 401 403 = @ep-named; empty_gif; }
        location /e-200/    { admission_tier2 on; admission_deny status;
                              error_page 401 403 =200 /ep-try; empty_gif; }
        location @ep-named  { try_files /none @gated; }
        location = /ep-try  { try_files /none /gated/event1; }
        location = /ep-last { rewrite ^ /gated/event1 last; }
        location = /ep-accel { rewrite ^ /x?header=X-Accel-Redirect:/gated/event1
                                       break;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location = /ep-accel-named {
                              rewrite ^ /x?header=X-Accel-Redirect:@gated
                                       break;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /ep-index/ { index /gated/event1; }
        location = /ep-error { error_page 404 = /gated/event1;
                              recursive_error_pages on; return 404; }
        location = /ep-open { try_files /none @open; }
        location = /ep-dry  { try_files /none @dry; }
        location @dry       { admission_tier2 on; admission_dry_run on;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location = /ep-page { admission_tier2 on; try_files /error.html =404; }
        location = /ep-gone { admission_tier2 on; try_files /none /none =404; }

        location /site/     { admission_tier2 on; admission_deny status;
                              error_page 401 403 /site/error.html;
                              root %%DIR%%; try_files $uri $uri/ =404; }

        # error pages that lead back to what was denied

        location /loop/     { admission_tier2 on; admission_deny status;
                              error_page 401 403 404 /ep-loop; empty_gif; }
        location = /ep-loop { try_files /none /loop/event1; }
        location /loops/    { recursive_error_pages on;
                              admission_tier2 on; admission_deny status;
                              error_page 401 403 404 /ep-loops; empty_gif; }
        location = /ep-loops { recursive_error_pages on;
                              try_files /none /loops/event1; }
        location /self/     { recursive_error_pages on;
                              admission_tier2 on; admission_deny status;
                              error_page 401 403 404 /self/none;
                              root %%DIR%%; }

        # subrequests

        location = /ssi.html { ssi on; }
        location /sub/      { auth_request /auth-gated/event1; empty_gif; }
        location /auth-gated/ { admission_tier2 on; proxy_method GET;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }

        # users of other modules

        location /request/ {
            auth_request      /auth;
            auth_request_set  $who $upstream_http_x_user;
            admission_user    $who;
            admission_tier2   on;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location = /auth { internal;
            proxy_pass        http://127.0.0.1:%%AUTH%%;
            proxy_pass_request_body off;
        }
        location /basic/ {
            auth_basic        realm;
            auth_basic_user_file passwords;
            admission_user    $remote_user;
            admission_tier2   on;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location /basic-any/ {
            satisfy           any;
            allow             all;
            auth_basic        realm;
            auth_basic_user_file passwords;
            admission_user    $remote_user;
            admission_tier2   on;
            empty_gif;
        }
        location /basic-page/ {
            auth_basic        realm;
            auth_basic_user_file passwords;
            admission_user    $remote_user;
            admission_tier2   on;
            admission_deny    status;
            error_page        403 /page.html;
            empty_gif;
        }
        location /basic-try/ {
            auth_basic        realm;
            auth_basic_user_file passwords;
            admission_user    $remote_user;
            admission_tier2   on;
            try_files         /page.html =404;
        }

        # what answers before the access phase

        location /return/   { admission_tier2 on; return 200 open; }
END
);

my $port = $nginx->port;

my %alice = (cookies => {
    access_token => user_token($user_secret, userId => 'alice'),
    'urr-entry-token' => entry_token($tier2_secret, sub => 'event1',
                                     uid => 'alice') });
my @basic = (Authorization => 'Basic YWxpY2U6c2VjcmV0');
my %entry = (cookies => {
    'urr-entry-token' => $alice{cookies}{'urr-entry-token'} });

sub status ($path, %opt) {
    return request($port, $opt{method} // 'GET', $path, %opt)->status;
}

sub told ($path, %opt) {
    my $response = request($port, $opt{method} // 'GET', $path, %opt);
    return join ' ', $response->status, $response->body;
}

sub headers_of ($response) {
    return { map { lc $_->[0] => $_->[1] }
             @{ ($response->json // {})->{headers} // [] } };
}


# ---- satisfy

is status('/any-deny/event1', %alice), 403,
    'satisfy any: a token does not stand in for "deny all"';
is status('/any-basic/event1', %alice), 401,
    'satisfy any: nor for a password';
is status('/any-basic/event1', %alice, headers => \@basic), 200,
    'satisfy any: which it takes besides';
is status('/all-deny/event1', %alice), 403, 'satisfy all: nor there';
is status('/any-allow/event1', %alice), 200, 'satisfy any: both say yes';

like told('/any-allow/event1'), qr/^401 .*USER_REQUIRED/,
    'satisfy any: "allow all" does not skip the gate';
is status('/status-any/event1'), 401,
    'satisfy any: nor a denial by a bare status';


# ---- ways to a location

for my $way (qw(last try named break to-open index)) {
    mkdir $nginx->dir . '/index' if $way eq 'index';

    my $path = $way eq 'index' ? '/index/?event1' : "/$way/event1";

    is status($path), 401, "$way: is judged";
    is status($path, %alice), 200, "$way: and let in";
}

is status('/errors/event1'), 401, 'error_page: is judged';
is status('/errors/event1', %alice), 200, 'error_page: and let in';

like told('/status404/event1'), qr/^401 .*USER_REQUIRED/,
    'error_page: a denial has its own status';

my $accel = '/accel/?header=X-Accel-Redirect:/gated/event1';

is status($accel), 401, 'X-Accel-Redirect: is judged';
is status($accel, %alice), 200, 'X-Accel-Redirect: and let in';

$accel = '/accel/event1?header=X-Accel-Redirect:@gated-gif';

is status($accel), 401, 'X-Accel-Redirect: to a named location';
is status($accel, %alice), 200, 'X-Accel-Redirect: and let in';

$accel = '/accel/event1?header=X-Accel-Redirect:/gated/event1'
         . '&header=Cache-Control:max-age%3D100';

is_deeply [ get($port, $accel)->header('Cache-Control') ], ['no-store'],
    'X-Accel-Redirect: its Cache-Control does not make a denial last';

my $response = get($port, '/to-open/event1', %alice);

is headers_of($response)->{'x-admission-event'}, 'event1',
    'what let a request in goes with it to another location';
is $response->header('Cache-Control'), 'private',
    'where the answer is private still';

for my $path (qw(/to-cookie/event1 /to-off/event1)) {
    my $seen = headers_of(get($port, $path, %alice));

    ok %$seen && !grep({ exists $seen->{$_} } qw(x-user-id x-admission-event)),
        "$path: but not where its user is another one"
        or diag explain $seen;
}

is status('/return/event1'), 200, '"return" answers before the gate';


# ---- error pages of denials

$response = get($port, '/page/event1');

is $response->status, 403, 'an error_page may be denied by others';
unlike $response->body, qr/USER_REQUIRED/, 'but not by the gate';

is told('/gated-again/event1'), '401 error', 'an error_page is not judged';

my $denied = get($port, '/paged/event1',
                 cookies => { access_token => $alice{cookies}{access_token} });

is $denied->status, 200, 'nor in a named location';
is headers_of($denied)->{'x-user-id'}, 'alice',
    'and knows who was denied';
is headers_of($denied)->{'x-admission-event'}, undef, 'but no entry';


# ---- and what they go on to, which is judged

my %ann = (cookies => { access_token => $alice{cookies}{access_token} });

mkdir $nginx->dir . '/ep-index';

my %way = (named => '/e-named/event1',
           error => '/e-on/event1?to=/ep-error');

for my $way ('try', 'last', 'accel', 'accel-named', 'index/', 'server') {
    $way{$way} = "/e/event1?to=/ep-$way";
    $way{"$way, recursive"} = "/e-on/event1?to=/ep-$way";
}

for my $way (sort keys %way) {
    my $path = $way{$way};

    for my $who ([ nobody => 401 => 'USER_REQUIRED' ],
                 [ ann => 403 => 'TIER2_REQUIRED', %ann ])
    {
        my ($name, $status, $code, @who) = @$who;
        my $before = grep { $_->{uri} =~ m{^/gated} } $backend->requests;

        like told($path, @who), qr/^$status .*$code/,
            "error page, $way: $name is denied again";
        is_deeply [ get($port, $path, @who)->header('Cache-Control') ],
            [ 'no-store' ], "error page, $way: $name: nothing is stored";
        is scalar(grep { $_->{uri} =~ m{^/gated} } $backend->requests), $before,
            "error page, $way: $name does not get through";
    }
}

like told('/e-200/event1', %ann), qr/^403 .*TIER2_REQUIRED/,
    'error page with a status of its own: the denial has its own';

is told('/e/event1?to=/ep-page'), '401 error',
    'a file of the same location is the error page itself';
mkdir $nginx->dir . '/site';
write_file($nginx->dir . '/site/error.html', 'error of the site');
is told('/site/event1'), '401 error of the site',
    'as is one of what is denied';
like told('/e/event1?to=/ep-gone'), qr/^404 /, 'one that is not there';

$response = get($port, '/e/event1?to=/ep-open', %ann);
is $response->status, 403, 'an error page may lead to what is not gated';
is headers_of($response)->{'x-user-id'}, 'alice', 'which knows who';
is_deeply [ $response->header('Cache-Control') ], [ 'no-store' ],
    'but is not stored';

$response = get($port, '/e/event1?to=/ep-dry', %ann);
is $response->status, 403, 'and to a dry run';
ok headers_of($response)->{'x-user-id'}, 'which lets it pass';
is_deeply [ $response->header('Cache-Control') ], [ 'no-store' ],
    'whose answer is not stored either';

for my $loop ('loop', 'loops') {
    for my $who ([ 401 ], [ 403, %ann ]) {
        my ($status, @who) = @$who;

        like told("/$loop/event1", @who), qr/^$status <html>/,
            "$loop: back to what was denied: a bare $status";
    }
}
like told('/self/event1', %ann), qr/^40[34] <html>/,
    'an error page that is missing ends, too';
unlike $nginx->error_log, qr/internal redirection cycle/, 'nothing goes round';


# ---- subrequests

like told('/ssi.html'), qr/^200 a\{.*\}b/s, 'ssi: a part is not judged';
is status('/sub/event1'), 200, 'auth_request: not judged';


# ---- users of other modules

my $hits = $auth->hits;

is status('/request/event1', %entry), 401, 'auth_request: its own 401';
is status('/request/event1', %entry, headers => ['X-Login', 'bob']), 403,
    'auth_request: the wrong user';
is status('/request/event1', headers => ['X-Login', 'alice']), 403,
    'auth_request: no entry token';

$response = get($port, '/request/event1', %entry,
                headers => ['X-Login', 'alice', 'X-User-Id', 'mallory']);

is $response->status, 200, 'auth_request: the right user';
is headers_of($response)->{'x-user-id'}, 'alice',
    'auth_request: the backend is told';
is headers_of($response)->{'x-admission-event'}, 'event1',
    'auth_request: and the event';
is $auth->hits - $hits, 4, 'auth_request: asked once a request';

is status('/basic/event1', %entry), 401, 'auth_basic: its own 401';
is status('/basic/event1', %entry, headers => \@basic), 200,
    'auth_basic: the right user';
is status('/basic/event1', headers => \@basic), 403,
    'auth_basic: no entry token';
like told('/basic-any/event1', %entry), qr/^401 .*USER_REQUIRED/,
    'satisfy any: the gate after the access phase is not skipped';
is status('/basic-any/event1', %entry, headers => \@basic), 200,
    'satisfy any: and passes';
is told('/basic-page/event1', headers => \@basic), '403 page',
    'a denial after the access phase has its error_page';
is status('/basic-try/event1', headers => \@basic), 403,
    'the gate comes before try_files';
is told('/basic-try/event1', %entry, headers => \@basic), '200 page',
    'which then does its work';


# ---- verdicts

my $log = read_file($nginx->dir . '/verdicts.log');

like $log, qr{^/last/event1 pass alice$}m, 'the log knows who passed';
like $log, qr{^/last/event1 user -?$}m, 'and why not';
like $log, qr{^/basic/event1 tier2 alice$}m, 'after the access phase, too';

done_testing;
