# What passes tier 2 and what does not: events, users, methods, variables,
# bypass.  How a denial is told is in deny.t.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;
my $event = '3f0c2b1e-0000-4000-8000-000000000001';
my $other = '3f0c2b1e-0000-4000-8000-000000000002';

my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port },
    http => <<"END",
    admission_secret user $user_secret;
    admission_secret tier2 $tier2_secret;

    admission_events { default; $event; }

    map \$uri \$event_id {
        volatile;
        ~*^/(?:[a-z0-9-]+/)?events/(?<id>[^/]+)  \$id;
    }

    map \$http_x_gate \$gate {
        default    \$http_x_gate;
        none       "";
    }

    log_format verdict "\$request_uri \$admission_verdict \$admission_reason";
END
    server => <<'END',
        access_log        %%DIR%%/verdicts.log verdict;
        admission_event   $event_id;
        admission_user    jwt;
        admission_tier2   on;
        admission_deny    json;

        location /            { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /open/       { admission_tier2 off;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /any/        { admission_tier2 on event=any;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /unbound/    { admission_tier2 on bind=off;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /nobody/     { admission_user off;
                                admission_tier2 on bind=off;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /post/       { admission_tier2 on methods=POST;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /get/        { admission_tier2 on methods=GET;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /variable/   { admission_tier2 $gate;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /bypass/     { admission_bypass $http_x_bypass;
                                proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /page        { return 200 page; }
END
);

my $port = $nginx->port;

sub user ($id = 'alice')           { user_token($user_secret, userId => $id) }
sub entry ($sub = $event, $uid = 'alice', %more) {
    entry_token($tier2_secret, sub => $sub, uid => $uid, %more);
}

# status, code and verdict of a request with these tokens

sub tokens (%opt) {
    my %cookies = (defined $opt{user}  ? (access_token => $opt{user}) : (),
                   defined $opt{entry} ? ('urr-entry-token' => $opt{entry})
                                       : ());
    return (cookies => \%cookies) if %cookies;
    return ();
}

sub ask ($path, %opt) {
    my $mark = length read_file($nginx->dir . '/verdicts.log');
    my $response = request($port, $opt{method} // 'GET', $path, tokens(%opt),
                           headers => $opt{headers});
    my $log = '';

    wait_until {
        $log = substr read_file($nginx->dir . '/verdicts.log'), $mark;
        $log =~ /\n/;
    } 10;

    my (undef, $verdict) = split / /, $log;
    my $code = ($response->json // {})->{code} // '';

    return join ' ', $response->status, $code || (), $verdict;
}


# ---- event and user

is ask("/events/$event", user => user, entry => entry), '200 pass',
    'a user with an entry token passes';

is ask("/events/\U$event", user => user, entry => entry), '200 pass',
    'an event is the same in upper case';

is ask("/events/$event", entry => entry), '401 USER_REQUIRED user',
    'nobody does not';

is ask("/events/$event", user => 'x.y.z', entry => entry),
    '401 USER_REQUIRED user', 'a bad user token is no user';

is ask("/events/$event", user => user), '403 TIER2_REQUIRED tier2',
    'nor a user without entry token';

is ask("/events/$other", user => user, entry => entry),
    '403 TIER2_REQUIRED tier2', 'nor with one of another event';

is ask("/events/$event", user => user('bob'), entry => entry),
    '403 TIER2_REQUIRED tier2', 'nor with another user\'s';

is ask("/events/$event", user => user,
       entry => entry($event, 'alice', exp => time - 10)),
    '403 TIER2_REQUIRED tier2', 'nor with one that is over';

is ask("/events/$event", user => user,
       entry => entry($event, 'alice', tier => 1)),
    '403 TIER2_REQUIRED tier2', 'nor with one of tier 1';

is ask("/events/$event", user => user,
       entry => entry_token($user_secret, sub => $event, uid => 'alice')),
    '403 TIER2_REQUIRED tier2', 'nor with one of another secret';

is ask('/none', user => user, entry => entry), '403 TIER2_REQUIRED tier2',
    'without an event nobody does';

is ask('/events/no!event', user => user, entry => entry),
    '404 INVALID_EVENT tier2', 'nor with what is no event id';

is ask('/open/x'), '200 -', 'the gate is off where it is off';


# ---- event=any

is ask('/any/x', user => user, entry => entry), '200 pass',
    'any event: without an event the token names it';

is ask('/any/x', user => user('bob'), entry => entry),
    '403 TIER2_REQUIRED tier2', 'any event: the user has to be right';

is ask("/any/events/$event", user => user, entry => entry), '200 pass',
    'any event: the event of the request';

is ask("/any/events/$other", user => user, entry => entry),
    '403 TIER2_REQUIRED tier2', 'any event: not another one';

is ask('/any/events/no!event', user => user, entry => entry),
    '404 INVALID_EVENT tier2', 'any event: not what is none';

is ask('/any/x', user => user, entry => entry($other)),
    '403 TIER2_REQUIRED tier2', 'any event: it has a line of its own';


# ---- bind=off

is ask("/unbound/events/$event", entry => entry), '200 pass',
    'bind=off: nobody has to be known';

is ask("/unbound/events/$event", user => user('bob'), entry => entry),
    '200 pass', 'bind=off: or somebody else is';

is ask("/unbound/events/$other", entry => entry), '403 TIER2_REQUIRED tier2',
    'bind=off: the event counts';

is ask("/nobody/events/$event", entry => entry), '200 pass',
    'bind=off: without admission_user';

is ask("$_/events/$event", entry => entry($event, undef)), '200 pass',
    "bind=off: a token that names no user, $_" for '/unbound', '/nobody';

is ask("/unbound/events/$event", user => user, entry => entry($event, undef)),
    '200 pass', 'bind=off: shown by a user';

is ask("/unbound/events/$other", entry => entry($event, undef)),
    '403 TIER2_REQUIRED tier2', 'bind=off: it is for its event';

is ask("/unbound/events/$event",
       entry => entry($event, undef, exp => time - 10)),
    '403 TIER2_REQUIRED tier2', 'bind=off: and its time';

is ask("/events/$event", user => user, entry => entry($event, undef)),
    '403 TIER2_REQUIRED tier2', 'no user\'s token is for no user';


# ---- methods

is ask("/post/events/$event"), '200 -', 'methods=POST: GET is not gated';
is ask("/post/events/$event", method => 'POST'), '401 USER_REQUIRED user',
    'methods=POST: POST is';
is ask("/post/events/$event", method => 'POST', user => user, entry => entry),
    '200 pass', 'methods=POST: a token passes';
is ask("/get/events/$event", method => 'HEAD'), '401 user',
    'methods=GET: HEAD is gated too';
is ask("/get/events/$event", method => 'POST'), '200 -',
    'methods=GET: POST is not';


# ---- a variable

is ask("/variable/events/$event", headers => ['X-Gate', 'off']), '200 -',
    'variable: off';

for my $value ('on', 'yes', 'OFF', '0', 'none') {
    is ask("/variable/events/$event", headers => ['X-Gate', $value]),
        '401 USER_REQUIRED user', "variable: \"$value\" is on";
}

like $nginx->error_log, qr/neither "on" nor "off" but "yes"/,
    'variable: what is neither is logged';


# ---- bypass

is ask("/bypass/events/$event", headers => ['X-Bypass', '1']), '200 bypass',
    'bypass: passes';

for my $value ('0', '') {
    is ask("/bypass/events/$event", headers => ['X-Bypass', $value]),
        '401 USER_REQUIRED user', "bypass: \"$value\" does not";
}


# ---- preflights

my @preflight = (Origin => 'https://app.example',
                 'Access-Control-Request-Method' => 'POST');

is ask("/events/$event", method => 'OPTIONS', headers => \@preflight),
    '200 -', 'a preflight passes';

for my $n (0, 2) {
    is ask("/events/$event", method => 'OPTIONS',
           headers => [ @preflight[$n, $n + 1] ]),
        '401 USER_REQUIRED user', "OPTIONS with only $preflight[$n] does not";
}

is ask("/events/$event", method => 'POST', headers => \@preflight),
    '401 USER_REQUIRED user', 'nor anything but OPTIONS';


# ---- what is in the answers

my $ok = get($port, "/events/$event",
             tokens(user => user, entry => entry));

is $ok->header('Cache-Control'), 'private', 'a gated answer is private';

$ok = get($port, "/events/$event?header=Cache-Control:max-age%3D5",
          tokens(user => user, entry => entry));

is_deeply [ $ok->header('Cache-Control') ], ['max-age=5'],
    'unless it says otherwise';

$ok = get($port, '/open/x', tokens(user => user));

is $ok->header('Cache-Control'), undef, 'an answer that is not gated is not';

$ok = get($port, "/bypass/events/$event", headers => ['X-Bypass', 1]);

is $ok->header('Cache-Control'), undef, 'nor one that bypassed the gate';


# ---- the log

# more than the name of the test's directory may have of one
unlike $nginx->error_log, qr/eyJ[\w-]{4}/, 'no token gets in the log';
like $nginx->error_log, qr/admission denied: no user, event "$event"/,
    'a denial does, with its reason';

done_testing;
