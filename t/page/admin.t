# The operators' page and the call that it lives on: who gets what, headers,
# the list of events, and calls from other sites.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;
use Digest::SHA qw(sha256_base64);

my $site = waiting_site(
    instances => 2,
    timeout => '5s',
    events => 'concert threshold=2 vwr_rate=0 vwr_burst=0
                       "title=Rock <b>\"Roll\"</b>"
                       artist=누구 admit_interval=100ms;
               zebra   threshold=7;
               fixed   vwr=off;',
    http => <<'END', server => <<'END2');
    server {
        listen           127.0.0.1:%%PORT_secret%%;
        admission_secret admin another-secret-of-the-test-0123456789;
        location /admin  { admission_page admin; }
        location /status { admission_admin_api; }
    }
    server {
        listen           127.0.0.1:%%PORT_any%%;
        location /admin/ { admission_admin_api; }
    }
END
    admission_login_uri "/login?a=1&b=2";

    location /admin { admission_page admin api=/x/ queue=/y; }
    location /built { admission_page admin; }
    location /list/ { admission_admin_api; }
END2

my $port = $site->port;
my $root = user_token($Admission::Site::SECRETS{user}, userId => 'root',
                      role => 'admin');

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }
sub list ($query = '', %opt) {
    return operator($site, GET => "status$query", %opt);
}
sub ids ($r) { return join ' ', map { $_->{eventId} } $r->json->{events}->@* }


# ---- the page

for my $as ([ 'nobody', 401 ], [ 'a user', 403, $site->user('ann') ],
            [ 'the role', 200, $root ],
            [ 'a forged one', 401, user_token('x' x 32, userId => 'root',
                                              role => 'admin') ])
{
    my ($who, $status, $token) = @$as;
    my $page = get($port, '/built', $token ? (cookies =>
                                    { access_token => $token }) : ());
    my $body = $page->body;

    is $page->status, $status, "$who: $status";
    is $page->header('Content-Type'), 'text/html; charset=utf-8',
        "$who: a page all the same";
    is $page->header('Cache-Control'), 'no-store', "$who: not kept";
    is $page->header('ETag'), undef, "$who: no ETag";
    is $page->header('Set-Cookie'), undef, "$who: no cookie";
    is $page->header('X-Frame-Options'), 'DENY', "$who: in no frame";
    is $page->header('X-Content-Type-Options'), 'nosniff', "$who: nosniff";
    is $page->header('Content-Security-Policy'), policy($body),
        "$who: policy";
    is $page->header('WWW-Authenticate'), $status == 401 ? 'Bearer' : undef,
        "$who: challenge";
    unlike $body, qr/Rock|concert|누구/, "$who: it tells nothing";
    unlike $body, qr/<(?:script|img|link|iframe)[^>]*(?:src|href)="(?!data:)/i,
        "$who: nothing is loaded";
    unlike $body, qr/\bstyle="|\bon\w+="|javascript:|\{\{|\@include/,
        "$who: nothing inline, nothing left over";
}

is get($port, '/built', bearer => $Admission::Site::SECRETS{admin})->status,
    200, 'the secret as bearer';
is get($port, '/built', bearer => 'x')->status, 403, 'a wrong one';
is get($port, '/built', bearer => 'x', cookies => { access_token => $root })
    ->status, 403, 'where it is there, it alone counts';

my $head = head($port, '/built', cookies => { access_token => $root });
is $head->status, 200, 'HEAD';
like $head->raw, qr/\r\n\r\n\z/, 'HEAD: no body';

for my $method (qw(POST PUT DELETE OPTIONS)) {
    my $r = request($port, $method, '/built',
                    cookies => { access_token => $root });
    is $r->status, 405, "no $method";
    is $r->header('Allow'), 'GET, HEAD', "$method: Allow";
}

like get($port, '/built')->body,
    qr{data-api="/api/admin/vwr" data-queue="/api/queue/admin" data-login="/login\?a=1&amp;b=2"},
    'where its calls are';
like get($port, '/admin')->body, qr{data-api="/x" data-queue="/y" },
    'and where the configuration says';

my $other = $site->nginx->port('secret');
is get($other, '/admin')->status, 401, 'a secret alone: 401';
like get($other, '/admin')->body, qr/data-login=""/, 'nowhere to sign in';
is get($other, '/admin', bearer => 'another-secret-of-the-test-0123456789')
    ->status, 200, 'a secret alone: shown';


# the token of docs/control.md

{
    my ($script) = read_file(root . '/docs/control.md')
        =~ /^(    b64url\(\).*?\.\$mac"\n)/ms;
    my $dir = test_dir . '/control';

    mkdir $dir;
    mkdir "$dir/secrets";
    write_file("$dir/secrets/user.key", "$Admission::Site::SECRETS{user}\n");
    my ($failed, $token) = run('sh', '-c', "cd $dir\n$script");
    chomp $token;

    is get($port, '/built', cookies => { access_token => $token })->status,
        200, 'a token made by hand' or diag $token;
}


# ---- who gets the list

is code(list('', bearer => undef)), '401 ADMIN_REQUIRED', 'list: nobody';
is code(get($port, '/api/admin/vwr/status', bearer => $site->user('ann'))),
    '403 FORBIDDEN', 'list: a user';
is get($port, '/api/admin/vwr/status',
       cookies => { access_token => $root })->status, 200,
    'list: the role, by cookie';
is code(get($site->nginx->port('any'), '/admin/status')), '401 ADMIN_REQUIRED',
    'list: the secret of http';
is list()->header('Cache-Control'), 'no-store', 'list: not kept';
is request($port, 'HEAD', '/api/admin/vwr/status',
           bearer => $Admission::Site::SECRETS{admin})->status, 200, 'HEAD';

my $r = operator($site, POST => 'status');
is code($r), '405 METHOD_NOT_ALLOWED', 'list: no POST';
is $r->header('Allow'), 'GET, HEAD', 'list: Allow';
is get($port, '/list/any/thing/status',
       bearer => $Admission::Site::SECRETS{admin})->status, 200,
    'any prefix';
is operator($site, GET => 'status/status')->status, 404,
    'an event of that name is asked for as ever';


# ---- what it says

ok((wait_until { defined list()->json->{age} } 20), 'Redis has been heard of');

$r = list()->json;
is $r->{total}, 3, 'the configured ones, though nobody came';
cmp_ok $r->{age}, '<=', 5 * slow, 'the age';

my ($concert) = grep { $_->{eventId} eq 'concert' } $r->{events}->@*;
is_deeply $concert, {
    eventId => 'concert',
    eventInfo => { title => 'Rock <b>"Roll"</b>', artist => "\x{b204}\x{ad6c}" },
    vwr => 'auto', isActive => false, nextPosition => 0, servingCounter => 0,
    waiting => 0, there => 0, rate => 0, configuredRate => 0, activation => 0,
    setBy => undef, queueSize => 0, currentUsers => 0, threshold => 2,
    configuredThreshold => 2, available => 2, admitted => 0, restoring => 0,
    notice => undef, schedule => undef
}, 'an event that nobody came to';

# with a rate nobody may wait, or the counter moves

operator($site, POST => 'activate/concert');
operator($site, PUT => 'rate/concert?rate=3');
operator($site, PUT => 'rate/concert?rate=0');
assign($site, 0, {}) for 1 .. 5;
operator($site, POST => 'advance/concert', json => { batchSize => 2 });
$site->call(0, $_ => 'POST', 'check') for qw(ann ben cho dan eve);
$site->admin(PUT => 'threshold/%s?threshold=3');

my %seen;
sub sees ($i, $what, $block) {
    ok((wait_until {
        ($seen{$i}) = grep { $_->{eventId} eq 'concert' }
                      list('', instance => $i)->json->{events}->@*;
        $block->($seen{$i})
    } 20), "instance $i: $what") or diag json_encode($seen{$i});
}

for my $i (0, 1) {
    sees($i, 'both tiers', sub ($e) {
        $e->{queueSize} == 2 && $e->{currentUsers} == 3 && $e->{threshold} == 3
            && $e->{admitted} == 3 && $e->{nextPosition} == 5
            && $e->{servingCounter} == 2
    });
    my $activation = delete $seen{$i}{activation};
    cmp_ok $activation, '>', 1e15, 'the activation';
    is delete $seen{$i}{comePercent} // 100, 100,
        'all are taken to come, once a step of this host told';
    cmp_ok delete $seen{$i}{there}, '<=', 3, 'who is there: none of them polls';
    is_deeply { %{ $seen{$i} }, eventInfo => 0 }, {
        eventId => 'concert', eventInfo => 0, vwr => 'auto',
        isActive => true, nextPosition => 5, servingCounter => 2,
        waiting => 3, rate => 0, configuredRate => 0, setBy => 'api',
        queueSize => 2, currentUsers => 3, threshold => 3,
        configuredThreshold => 2, available => 0, admitted => 3,
        restoring => 0, notice => undef, schedule => undef
    }, "instance $i: every number";
}

$site->call(0, ann => 'POST', 'leave');
sees(1, 'the next is in, and counted', sub ($e) {
    $e->{admitted} == 4 && $e->{queueSize} == 1 && $e->{currentUsers} == 3
});
$site->admin(POST => 'clear/%s');
sees($_, 'cleared', sub ($e) { $e->{queueSize} + $e->{currentUsers} == 0 })
    for 0, 1;
is $seen{0}{admitted}, 4, 'who was let in was';

operator($site, POST => 'deactivate/concert');
sees($_, 'deactivated', sub ($e) { !$e->{isActive} }) for 0, 1;
is $seen{0}{waiting}, 3, 'with those who would go on waiting';


# ---- which events, and in which order

is code(operator($site, GET => 'status/other')), '404 UNKNOWN_EVENT',
    'another one';
operator($site, POST => 'activate/other-2');
ok((wait_until { ids(list()) =~ /other-2/ } 20), 'one that was activated');
is ids(list()), 'concert other-2 fixed zebra',
    'the busiest first, then by id';
is ids(list('?after=')), 'concert fixed other-2 zebra', 'by id';

$r = list('?after=&limit=2');
is ids($r), 'concert fixed', 'two of them';
is $r->json->{total}, 4, 'of four';
is $r->json->{next}, 'fixed', 'the next are after that';
$r = list('?after=fixed&limit=2');
is ids($r), 'other-2 zebra', 'the next';
is $r->json->{next}, undef, 'and no more';
is ids(list('?limit=1')), 'concert', 'the busiest one';
is ids(list('?limit=%31')), 'concert', 'whichever way it is written';
is list('?limit=1')->json->{next}, undef, 'after which there is no next';
is ids(list('?after=ZEBRA')), '', 'after the last';
is list('?after=ZEBRA')->json->{total}, 0, 'there are none';

is ids(list("?find=$_->[0]")), $_->[1], "find $_->[0]"
    for [ 'ZEB', 'zebra' ], [ 'roll', 'concert' ], [ '%EB%88%84', 'concert' ],
        [ 'e', 'concert other-2 fixed zebra' ], [ '%3Cb%3E', 'concert' ],
        [ 'none', '' ], [ '', 'concert other-2 fixed zebra' ],
        [ 'x' x 2000, '' ];

is code(list("?limit=$_")), '400 INVALID_LIMIT', "limit=$_"
    for 0, 501, -1, 'x', '';
is code(list('?after=a%20b')), '400 INVALID_EVENT', 'after= no id';


# ---- from other sites: what a cookie allows, a page elsewhere may not use

sub by_cookie ($method, $path, @headers) {
    return code(request($port, $method, $path, headers => [ @headers ],
                        cookies => { access_token => $root }));
}

my %call = ('/api/admin/vwr/activate/zebra' => 'POST',
            '/api/admin/vwr/deactivate/zebra' => 'POST',
            '/api/admin/vwr/advance/zebra' => 'POST',
            '/api/admin/vwr/rate/zebra?rate=1' => 'PUT',
            '/api/queue/admin/clear/zebra' => 'POST',
            '/api/queue/admin/threshold/zebra?threshold=1' => 'POST');

for my $path (sort keys %call) {
    my $method = $call{$path};

    is by_cookie($method, $path, @$_), '403 CROSS_SITE',
        "$method $path: @$_" for
        [ 'Sec-Fetch-Site' => 'cross-site' ],
        [ 'Sec-Fetch-Site' => 'same-site' ],
        [ Origin => 'https://evil.example' ],
        [ Origin => 'null' ];
}

my ($zebra) = grep { $_->{eventId} eq 'zebra' } list()->json->{events}->@*;
is $zebra->{activation} + $zebra->{threshold}, 7, 'and nothing happened';

is by_cookie(POST => '/api/admin/vwr/activate/zebra',
             'Sec-Fetch-Site' => 'same-origin', Origin => 'http://localhost'),
    '200 ', 'from the page itself';
is request($port, 'POST', '/api/admin/vwr/deactivate/zebra',
           headers => [ 'Sec-Fetch-Site' => 'cross-site' ],
           bearer => $Admission::Site::SECRETS{admin})->status, 200,
    'a bearer is no cookie';


# ---- without Redis

$site->redis->stop;
ok((wait_until { (list()->json->{age} // 0) >= 2 } 15), 'the age tells that it is');
is list()->status, 200, 'the list is of the host';


# ---- with many events

{
    my $lines = join ' ', map { "e-$_;" } 1 .. 400;
    my $many = waiting_site(events => "default threshold=3; $lines",
                            zone => '4m', timeout => '5s');
    my $connection = Admission::HTTP->connect($many->port);
    my $failed = 0;

    for my $n (1 .. 400) {
        $failed++ if $connection->request(
            'POST', "/api/queue/check/e-$n",
            bearer => $many->user('ann'))->status != 200;
    }

    is $failed, 0, '400 events';
    $r = operator($many, GET => 'status');
    is scalar($r->json->{events}->@*), 100, '100 of them';
    is $r->json->{total}, 400, 'of 400';

    my ($after, %all) = '';

    for (1 .. 10) {
        $r = operator($many, GET => "status?limit=77&after=$after")->json;
        $all{ $_->{eventId} }++ for $r->{events}->@*;
        $after = $r->{next} // last;
    }

    is_deeply [ sort keys %all ], [ sort map { "e-$_" } 1 .. 400 ],
        'all of them, page by page';
    is_deeply [ grep { $_ != 1 } values %all ], [], 'each once';
    is ids(operator($many, GET => 'status?find=e-39&limit=500')),
        join(' ', sort map { "e-$_" } 39, 390 .. 399), 'some of them';
}


# ---- wrong configurations, and a page of one's own

sub tested ($directive, $content = '') {
    return Admission::Nginx->conf_test(files => { 'page.html' => $content },
                                       server => "location /q/ { $directive }");
}

for my $wrong ([ 'next=/', qr/it takes one file, "api=" and "queue="/ ],
               [ 'api=x', qr/the path before "\/status"/ ],
               [ 'queue=//x', qr/that before "\/clear\/"/ ],
               [ 'page.html', qr/\{\{event\}\} is unknown .* \{\{api\}\}, \{\{queue\}\}, \{\{login\}\}/,
                 '{{event}}' ])
{
    my ($status, $output) = tested("admission_page admin $wrong->[0];",
                                   $wrong->[2] // '');
    isnt $status, 0, "refused: $wrong->[0]";
    like $output, $wrong->[1], 'and says why';
}

my ($status, $output) = tested('admission_page tier1 queue=/x;');
isnt $status, 0, 'refused: queue= of a page to wait on';

($status, $output) = tested('admission_page admin page.html;',
                            '{{api}} {{queue}} {{login}}');
is $status, 0, 'a page of one\'s own' or diag $output;

done_testing;


sub policy ($html) {
    $html =~ s/<!--.*?-->//gs;

    my ($scripts, $styles) = map {
        my $tag = $_;
        join '', map { " 'sha256-" . pad(sha256_base64($_)) . "'" }
            $html =~ m{<$tag(?:"[^"]*"|'[^']*'|[^>"'])*>(.*?)</$tag}gsi;
    } qw(script style);

    return "default-src 'none'; script-src$scripts; style-src$styles; "
           . "connect-src 'self'; img-src data:; base-uri 'none'; "
           . "form-action 'self'; frame-ancestors 'none'";
}

sub pad ($sum) { return $sum . '=' x (-length($sum) % 4) }
