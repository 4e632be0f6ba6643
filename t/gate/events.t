# What a request names as its event and is none: another spelling of an event
# ("sale;x=1"), an event that nobody named.  The backend may read an event
# there, so the gate denies it, by each tier, whatever else is the case.

use FindBin;
use lib "$FindBin::Bin/../lib";
use utf8;
use Admission::Test;

use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;

my $http = <<'END';
    log_format events '$request_uri $status $admission_verdict '
                      '"$admission_reason" event=$admission_event';
    map $uri $named { volatile; "~^/[a-z0-9-]+/(?<id>[^/]+)" $id; }
END

my $server = <<'END';
        access_log %%DIR%%/events.log events;
        listen     127.0.0.1:%%PORT_h2%% http2;

        location /t1-on/     { admission_event $named; admission_tier1 on;
                               proxy_pass http://booking; }
        location /t1-auto/   { admission_event $named; admission_tier1 auto;
                               proxy_pass http://booking; }
        location /t1-var/    { admission_event $named;
                               admission_tier1 $arg_tier;
                               proxy_pass http://booking; }
        location /t1-free/   { admission_event $named;
                               admission_tier1 auto bind=off;
                               proxy_pass http://booking; }
        location /required/  { admission_event $named;
                               admission_tier1 auto event=required;
                               proxy_pass http://booking; }
        location /t2/        { admission_event $named; admission_tier2 on;
                               proxy_pass http://booking; }
        location /t2-free/   { admission_event $named;
                               admission_tier2 on bind=off event=any;
                               proxy_pass http://booking; }
        location /t2-var/    { admission_event $named;
                               admission_tier2 $arg_tier bind=off;
                               proxy_pass http://booking; }
        location /t2-post/   { admission_event $named;
                               admission_tier2 on bind=off methods=POST;
                               proxy_pass http://booking; }
        location /t2-strict/ { admission_event $named;
                               admission_tier2 on strict=on;
                               proxy_pass http://booking; }
        location /two/       { admission_event $named;
                               admission_tier1 auto; admission_tier2 on;
                               proxy_pass http://booking; }

        location /auto/      { admission_event $named; admission_tier1 auto;
                               admission_deny auto; error_page 404 = @app;
                               proxy_pass http://booking; }
        location /redirect/  { admission_event $named; admission_tier1 auto;
                               admission_deny redirect; error_page 404 = @app;
                               proxy_pass http://booking; }
        location /json/      { admission_event $named; admission_tier1 auto;
                               admission_deny json; error_page 404 = @app;
                               proxy_pass http://booking; }
        location /status/    { admission_event $named; admission_tier1 auto;
                               admission_deny status; error_page 404 = @app;
                               expires 1h; add_header Cache-Control public;
                               proxy_pass http://booking; }
        location @app        { proxy_pass http://booking; }

        location /off/       { admission_event $named;
                               proxy_pass http://booking; }
        location /bypass/    { admission_event $named; admission_tier1 on;
                               admission_tier2 on bind=off; admission_bypass 1;
                               proxy_pass http://booking; }
        location /edge/      { admission_event $named; admission_tier1 on;
                               admission_trusted_edge X-Edge
                                   0123456789abcdef0123456789abcdef;
                               proxy_pass http://booking; }
        location /dry/       { admission_event $named; admission_tier1 auto;
                               admission_tier2 on bind=off;
                               admission_dry_run on;
                               proxy_pass http://booking; }
        location /cors/      { admission_event $named; admission_tier1 auto;
                               admission_cors https://app.example;
                               proxy_pass http://booking; }

        location /any/       { admission_event ""; admission_tier2 on event=any;
                               proxy_pass http://booking; }
        location /any-free/  { admission_event "";
                               admission_tier2 on event=any bind=off;
                               proxy_pass http://booking; }
        location /any-strict/ { admission_event "";
                               admission_tier2 on event=any strict=on;
                               proxy_pass http://booking; }
        location = /metrics  { admission_metrics; }
END

sub start_site (%opt) {
    return waiting_site(http => $http, server => $server, timeout => '30s',
                        %opt);
}

my $lines = 'concert threshold=2 vwr_rate=0; sale threshold=2 vwr_rate=0;
             still vwr=off;';

my $site = start_site(events => "default threshold=2 vwr_rate=0; $lines");
my $port = $site->port;

my @ann = (bearer => $site->user('ann'));

sub entry ($event, $uid = 'ann') {
    return entry_token($secret{tier2}, sub => $event, uid => $uid);
}

sub told ($r) {
    return join ' ', $r->status, ($r->json // {})->{code} // ();
}

sub ask ($path, %opt) {
    return told(request(delete $opt{port} // $port,
                        delete $opt{method} // 'GET', $path, %opt));
}

# the line comes a moment after the answer
sub logged ($pattern, $what, $of = $site) {
    ok +(wait_until {
        read_file($of->nginx->dir . '/events.log') =~ /^$pattern$/m
    } 10), $what or diag read_file($of->nginx->dir . '/events.log');
}

my @bad = ('sale;x=1', 'sale%3bx=1', ';sale', 'sale%20', '%20sale', 'sale%0a',
           'sale%0d%0a', '%0asale', 'sale%09', 'sale!', 'sale,x', 'sale:',
           'sale%3f', 'sale%23', 'sale+', 'sale@', '~sale', 'sale%25',
           'sale%2520', 'sale%c2%a0', 'sale%ff', 's' x 65, 's' x 75,
           'sale' . 'x' x 1000, '%EC%BD%98%EC%84%9C%ED%8A%B8',
           "\xec\xbd\x98\xec\x84\x9c\xed\x8a\xb8");


# ---- every spelling, by each tier

sub all_bad ($when, @who) {
    my $before = $site->{backend}->hits;

    for my $way ('t1-on', 't1-auto', 't1-free', 't2', 't2-free', 't2-strict',
                 'two', 'required')
    {
        my %told;

        push @{ $told{ask("/$way/$_", @who)} }, $_ for @bad;
        is_deeply [ keys %told ], [ '404 INVALID_EVENT' ], "$when: $way"
            or diag explain \%told;
    }

    is $site->{backend}->hits - $before, 0, "$when: nothing gets through";
}

all_bad('idle', @ann);
operator($site, POST => 'activate/sale');
wait_until { ask('/t1-auto/sale') ne '200' } 20;
all_bad('active', @ann);
all_bad('with tokens', @ann, cookies => {
    'urr-entry-token' => entry('sale'),
    'urr-vwr-token' => tier1_token($secret{tier1}, sub => 'sale') });

logged('/t1-auto/sale;x=1 404 tier1 "bad event" event=-',
       'tier 1 says why in the log');
logged('/t2/sale;x=1 404 tier2 "bad event" event=-', 'and tier 2');
logged('/two/sale;x=1 404 tier1 "bad event" event=-', 'tier 1 of both');
like $site->nginx->error_log, qr/\[info\] .*admission denied: bad event, event ""/,
    'in the error log, too';

is ask("/two/sale;x=1"), '401 USER_REQUIRED', 'the user comes first';

is ask("/$_/sale", @ann), '403 TIER1_REQUIRED', "$_: the event itself"
    for 't1-on', 't1-auto', 'two', 'required';
is ask('/t1-auto/SaLe'), '403 TIER1_REQUIRED', 'in any case';
is ask('/t1-auto/sale/x;y=1'), '403 TIER1_REQUIRED', 'with more behind';
is ask('/t2/SALE', @ann, cookies => { 'urr-entry-token' => entry('sale') }),
    '200', 'any case of tier 2';
is ask('/t1-auto/sale.'), '200', 'a dot more: an event by the default line';
is ask('/t2/sale.', @ann, cookies => { 'urr-entry-token' => entry('sale') }),
    '403 TIER2_REQUIRED', 'and another one';
is ask('/t1-auto/' . 's' x 64), '200', '64 characters are an id';

{
    my $h2 = Admission::HTTP2->connect($site->nginx->port('h2'));
    my $stream = 1;

    for my $id ('sale;x=1', 'sale%20', 's' x 75) {
        $h2->headers($stream, 'GET', "/t1-auto/$id");
        like $h2->body($stream), qr/"INVALID_EVENT"/, "HTTP/2: $id";
        $stream += 2;
    }
    $h2->close;
}


# ---- variables, and where no tier is in force

is ask("/t1-var/sale;x?tier=$_"), '404 INVALID_EVENT', "tier 1 by \"$_\""
    for qw(on auto nonsense), '';
is ask("/t2-var/sale;x?tier=$_"), '404 INVALID_EVENT', "tier 2 by \"$_\""
    for qw(on nonsense), '';
is ask("/$_-var/sale;x?tier=off"), '200', "$_ by \"off\"" for 't1', 't2';
is ask('/t2-post/sale;x'), '200', 'methods=: of others nothing is asked';
is ask('/t2-post/sale;x', method => 'POST'), '404 INVALID_EVENT',
    'but of these';
is ask('/off/sale;x'), '200', 'no tier';
is ask('/bypass/sale;x'), '200', 'admission_bypass';
is ask('/edge/sale;x'), '404 INVALID_EVENT', 'who is no trusted edge';
is ask('/edge/sale;x', headers => [
       'X-Edge' => '0123456789abcdef0123456789abcdef' ]), '200', 'who is';
is ask('/t1-on/sale;x', method => 'OPTIONS', headers => [
       Origin => 'https://a.example',
       'Access-Control-Request-Method' => 'PUT' ]), '200', 'a preflight';

is ask('/dry/sale;x'), '200', 'a dry run lets it pass';
logged('/dry/sale;x 200 tier1 "bad event" event=-', 'and has the verdict');
like $site->nginx->error_log, qr/denied: bad event, event "", dry run/,
    'in the log, too';

my $numbers = metrics($port);

cmp_ok $numbers->sum('requests_total', verdict => 'tier1',
                     reason => 'bad event', dry_run => 'off'), '>', 50,
    'metrics count them';
is $numbers->sum('requests_total', verdict => 'tier1',
                 reason => 'bad event', dry_run => 'on'), 1,
    'and dry runs apart';


# ---- how it is told

my @page = (headers => [ Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate' ]);
my $before = $site->{backend}->hits;

for my $deny (qw(auto redirect json status)) {
    for my $as ([ 'a page' => @page ], [ 'a call' => () ],
                [ 'POST' => method => 'POST', body => 'a=b' ])
    {
        my ($name, %opt) = @$as;
        my $r = request($port, delete $opt{method} // 'GET',
                        "/$deny/sale;x=1", %opt);

        is $r->status . $r->body,
            '404{"error":"Not an event id","code":"INVALID_EVENT"}',
            "$deny: $name";
        is_deeply [ $r->header('Cache-Control') ], [ 'no-store' ],
            "$deny: $name is not stored";
    }

    is head($port, "/$deny/sale;x=1")->status, 404, "$deny: HEAD";
}
is $site->{backend}->hits - $before, 0,
    'an error_page that is the application is not asked';

is get($port, '/cors/sale;x', headers => [ Origin => 'https://app.example' ])
    ->header('Access-Control-Allow-Origin'), 'https://app.example',
    'with CORS headers';


# ---- admission_tier1 event=required

is ask('/t1-on/'), '200', 'no event: passes';
is ask('/required/'), '403 TIER1_REQUIRED', 'unless one is required';
is get($port, '/required/')->json->{redirectTo}, '/', 'which leads to the top';
is get($port, '/required/?a=b', @page)->header('Location'),
    '/?return=%2Frequired%2F%3Fa%3Db', 'browsers, too';
logged('/required/ 403 tier1 "no event" event=-', 'in the log');
is ask('/required/still'), '200', 'an event passes';
is ask('/required/'), '403 TIER1_REQUIRED', 'whether or not a room is active';


# ---- event=any takes tokens of events that somebody named

sub any ($event, $way = 'any', %opt) {
    return ask("/$way/x", @ann, cookies => {
        'urr-entry-token' => entry($event) }, %opt);
}

for my $way ('any', 'any-free') {
    is any('sale', $way), '200', "$way: a line of its own";
    is any('invented', $way), '403 TIER2_REQUIRED', "$way: none";
}
logged('/any/x 403 tier2 "token of an event without a line" event=-',
       'in the log');

my $r = $site->call(0, ann => 'POST', 'check');
my $got = post($port, '/api/queue/check/invented', @ann);

is $got->json->{status}, 'active', 'who invents an event is in at once';

my $token = $got->json->{entryToken};
my $right = $r->json->{entryToken};

is ask("/$_/x", @ann, cookies => { 'urr-entry-token' => $token }),
    '403 TIER2_REQUIRED', "$_: and gets nowhere by it"
    for qw(any any-free any-strict);
is ask("/t2/invented", @ann, cookies => { 'urr-entry-token' => $token }),
    '200', 'but to that event';

for my $cookies ([ $token, $right ], [ $right, $token ]) {
    my $seen = request($port, 'GET', '/any-strict/x', @ann, headers => [
        Cookie => "urr-entry-token-invented=$cookies->[0]",
        Cookie => "urr-entry-token-concert=$cookies->[1]" ]);

    is $seen->status, 200, 'of several, the one that is right';
    my %seen = map { lc $_->[0] => $_->[1] } @{ $seen->json->{headers} };
    is $seen{'x-admission-event'}, 'concert', 'which the backend is told';
}

operator($site, POST => 'activate/room');
$site->{event} = 'set';
$site->admin(PUT => 'threshold/%s?threshold=5');
$site->{event} = 'concert';
post($port, '/api/queue/check/set', @ann);

ok wait_until(sub { any($_) eq '200' }, 20), "named by an operator: $_"
    for qw(room set);
is any('ROOM'), '200', 'in any case';


# ---- only what is listed, or what operators activated

my $listed = start_site(events => $lines, redis => $site->redis,
                        backend => $site->{backend});
my @listed = (port => $listed->port, @ann);

wait_until { ask('/t2/nothing', @listed) =~ /^404/ } 20;

for my $way ('t1-on', 't1-auto', 't2', 't2-free', 'two', 'auto', 'status') {
    is ask("/$way/$_", @listed), '404 UNKNOWN_EVENT', "listed: $way: $_"
        for 'nothing', 'sale.', 'invented';
    is ask("/$way/sale;x", @listed), '404 INVALID_EVENT',
        "listed: $way: no id";
}
is get($listed->port, '/auto/nothing', @page)->body,
    '{"error":"No such event","code":"UNKNOWN_EVENT"}', 'as this';
logged('/t1-on/nothing 404 tier1 "unknown event" event=nothing', 'in the log',
       $listed);
logged('/t2/nothing 404 tier2 "unknown event" event=nothing', 'of tier 2',
       $listed);

is ask('/t1-auto/sale', @listed), '403 TIER1_REQUIRED', 'what is listed';
is ask('/t1-auto/concert', @listed), '200', 'inactive';
is ask('/t1-on/still', @listed), '200', 'with vwr=off';
is ask('/t1-auto/room', @listed), '403 TIER1_REQUIRED',
    'what the API activated';
is ask('/t2/room', @listed, cookies => { 'urr-entry-token' => entry('room') }),
    '200', 'in tier 2';
is ask('/t1-auto/', @listed), '200', 'no event';
is ask('/t2/invented', @listed, cookies => { 'urr-entry-token' => $token }),
    '404 UNKNOWN_EVENT', 'a token does not make an event';
is ask('/dry/nothing', @listed), '200', 'a dry run';
is ask('/off/nothing', @listed), '200', 'no tier here';

is ask('/any/x', @listed, cookies => { 'urr-entry-token' => entry($$_[0]) }),
    $$_[1], "event=any: $$_[0]"
    for [ sale => '200' ], [ room => '200' ],
        [ nothing => '403 TIER2_REQUIRED' ];

$listed->{events} = 'concert threshold=2; still vwr=off;';
$listed->nginx->reload(http => $listed->http);

is ask('/any/x', @listed, cookies => { 'urr-entry-token' => entry($$_[0]) }),
    $$_[1], "event=any, after a reload: $$_[0]"
    for [ concert => '200' ], [ still => '200' ];

operator($listed, POST => 'deactivate/room');
is ask('/t1-auto/room', @listed), '200', 'deactivated it is one still';


# ---- while it is not known whether it is one

$site->redis->sigstop;

my $new = start_site(events => "concert; sale;", redis => $site->redis,
                     backend => $site->{backend}, timeout => '300ms');
my @new = (port => $new->port, @ann);

is ask('/t1-auto/nothing', @new), '200', 'not known: auto passes';
like $new->nginx->error_log, qr/\[error\].*event "nothing".*never been heard/,
    'with an error in the log';
is ask('/t1-on/nothing', @new), '403 TIER1_REQUIRED', 'not known: on does not';
is ask("/$_/sale;x", @new), '404 INVALID_EVENT', "not known: $_: no id"
    for qw(t1-auto t1-on t2);
is ask('/t2/nothing', @new), '403 TIER2_REQUIRED', 'not known: tier 2';
is ask('/any/x', @new, cookies => { 'urr-entry-token' => entry($$_[0]) }),
    $$_[1], "not known: event=any: $$_[0]"
    for [ sale => '200' ], [ room => '403 TIER2_REQUIRED' ];

$site->redis->sigcont;

ok wait_until(sub { ask('/t1-auto/nothing', @new) eq '404 UNKNOWN_EVENT' }, 20),
    'once it is, it is denied';
ok wait_until(sub { ask('/t2/nothing', @new) eq '404 UNKNOWN_EVENT' }, 20),
    'by tier 2 as well, once the list was read';
is ask('/t1-on/nothing', @new), '404 UNKNOWN_EVENT', 'and with "on"';


# ---- asked of Redis at once: the first request of a host

$site->redis->sigstop;

my $first = start_site(events => "concert;", redis => $site->redis,
                       backend => $site->{backend});
my $waiting = Admission::HTTP->connect($first->port);

$waiting->send("GET /t1-auto/nothing HTTP/1.1\r\nHost: a\r\n\r\n");
wait_until { $first->nginx->error_log =~ /redis/ } 1;
$site->redis->sigcont;

is told($waiting->response), '404 UNKNOWN_EVENT',
    'a request that waits for the answer has it';


# ---- without Redis at all

my $alone = Admission::Nginx->start(
    http => "admission_secret tier1 $secret{tier1};
             admission_secret tier2 $secret{tier2};
             admission_events { concert; } $http",
    server => "admission_event \$named;
               location /t1/ { admission_tier1 auto; empty_gif; }
               location /t2/ { admission_tier2 on bind=off; empty_gif; }");

is told(get($alone->port, "/$_/nothing")), '404 UNKNOWN_EVENT',
    "no Redis configured: $_: nobody can have activated it" for 't1', 't2';
is told(get($alone->port, "/$_/concert;x")), '404 INVALID_EVENT',
    "no Redis configured: $_: no id" for 't1', 't2';

# more than the name of the test's directory may have of one
unlike $_->nginx->error_log, qr/eyJ[\w-]{4}/, 'no token gets in a log'
    for $site, $listed, $new;

done_testing;
