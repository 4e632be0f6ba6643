# The gate of tier 1: when a token is needed, which one passes, and how a
# denial is told; joining the queue through it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Site;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;

my $site = waiting_site(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0;
               open vwr=off;
               short vwr_rate=0 token_ttl=4s session_max=12s;',
    http => 'log_format gate "$request_uri $admission_verdict'
            . ' \"$admission_reason\" $admission_position";
             map $uri $named { volatile; ~^/named/(?<id>[^/]*) $id; }',
    server => <<'END');
        access_log %%DIR%%/gate.log gate;

        location /off/      { admission_tier1 off; empty_gif; }
        location /on/       { admission_tier1 on; empty_gif; }
        location /free/     { admission_tier1 auto bind=off; empty_gif; }
        location /var/      { admission_tier1 $arg_mode; empty_gif; }
        location /bypass/   { admission_tier1 on; admission_bypass 1;
                              empty_gif; }
        location /json/     { admission_tier1 auto; admission_deny json;
                              empty_gif; }
        location /bare/     { admission_tier1 auto; admission_deny status;
                              error_page 403 = /plain; empty_gif; }
        location /uri/      { admission_tier1 auto;
                              admission_waiting_uri /w/$admission_event?x=1;
                              empty_gif; }
        location /twice/    { admission_tier1 auto; try_files /none @again; }
        location @again     { admission_tier1 auto; empty_gif; }
        location /named/    { admission_event $named; admission_tier1 auto;
                              empty_gif; }
        location /public/   { admission_tier1 auto; admission_event short;
                              add_header Cache-Control public; empty_gif; }
        location /wait/queue/ { admission_tier1 auto; admission_queue_api;
                                admission_waiting_uri /w; }
        location /free/queue/ { admission_tier1 auto bind=off;
                                admission_queue_api; }
END

my $port = $site->port;

sub code ($r) {
    return $r->status . ($r->status == 200 ? '' : ' ' . ($r->json->{code} // ''));
}

sub ask ($path, $visitor = undef, %opt) {
    return code(visit($site, 0, $visitor, 'GET', $path, %opt));
}

# The line, which there is none of so far, comes a moment after the answer; those
# of two workers in any order.
sub logged ($line, $what) {
    ok((wait_until {
        read_file($site->nginx->dir . '/gate.log') =~ /^\Q$line\E$/m
    }), $what) or diag read_file($site->nginx->dir . '/gate.log');
}


# ---- inactive

is ask($_), '200', "$_ while inactive" for '/events/', '/on/', '/free/',
    '/var/?mode=auto', '/named/never-heard-of';
logged('/named/never-heard-of pass "-" -', 'a pass, in the log');

operator($site, POST => "activate/$_") for qw(concert short other);


# ---- active, without a token

is ask($_), '403 TIER1_REQUIRED', $_ for '/events/', '/on/', '/free/',
    '/var/?mode=auto', '/var/?mode=on', '/var/?mode=maybe', '/var/',
    '/twice/', '/json/', '/named/OTHER', '/named/other';
logged('/named/other tier1 "no token" -', 'in the log');

is ask($_), '200', $_ for '/off/', '/var/?mode=off', '/bypass/', '/named/',
    '/named/open', '/named/never-heard-of', '/plain', '/bare/';
like $site->nginx->error_log, qr/admission_tier1 is neither .*"maybe"/,
    'a variable that says nothing is taken for "on"';

my $r = get($port, '/events/a?b=c&return=/d');
is_deeply $r->json, { error => 'Waiting room token required',
                      code => 'TIER1_REQUIRED', redirectTo => '/vwr/concert' },
    'the denial';
is $r->header('Cache-Control'), 'no-store', 'no-store';

my @page = (headers => [ Accept => 'text/html' ]);
$r = get($port, '/events/a?b=c&return=/d', @page);
is $r->status, 302, 'a page is sent to another';
is $r->header('Location'), '/vwr/concert?return=%2Fevents%2Fa%3Fb%3Dc'
                           . '%26return%3D%2Fd',
    'with the way back, that of the site in it';
is $r->header('Cache-Control'), 'no-store', 'no-store';
is get($port, '/uri/', @page)->header('Location'),
    '/w/concert?x=1&return=%2Furi%2F', 'admission_waiting_uri';
is get($port, '/uri/')->json->{redirectTo}, '/w/concert?x=1', 'in JSON, too';
is post($port, '/events/', @page)->status, 303, 'POST';
is head($port, '/events/')->status, 403, 'HEAD';
is request($port, 'OPTIONS', '/events/', headers =>
    [ Origin => 'https://a.example', 'Access-Control-Request-Method' => 'PUT' ])
    ->status, 405, 'a preflight passes the gate';


# ---- tokens

my $ann = {};
assign($site, 0, $ann);
advance_past($site);
check($site, 0, $ann, $ann->{'admission-ticket-concert'});

my $token = $ann->{'urr-vwr-token-concert'};
my $claims = jwt_decode($token);
my ($vis, $act) = @$claims{qw(vis act)};

is ask($_, { %$ann }), '200', "$_ with the token"
    for '/events/', '/on/', '/free/', '/var/?mode=on', '/twice/';
logged('/twice/ pass "-" 1', 'its position in the log');
is ask('/named/other', { %$ann }), '403 TIER1_REQUIRED', 'of another event';
is ask('/events/', undef, headers =>
       [ 'X-VWR-Token' => $token,
         'X-Admission-Visitor' => $ann->{'admission-visitor'} ]), '200',
    'by headers';

is ask('/events/', { 'urr-vwr-token' => $token }), '403 TIER1_REQUIRED',
    'without the visitor';
logged('/events/ tier1 "token of another visitor" -', 'says the log');
is ask('/free/', { 'urr-vwr-token' => $token }), '200', 'but with bind=off';

my $ben = {};
assign($site, 0, $ben);
is ask('/events/', { %$ben, 'urr-vwr-token' => $token }),
    '403 TIER1_REQUIRED', 'with another visitor';
is ask('/events/', undef, headers =>
       [ Cookie => "admission-visitor=$ben->{'admission-visitor'}",
         Cookie => "admission-visitor=x; urr-vwr-token=y",
         Cookie => "admission-visitor=$ann->{'admission-visitor'}",
         Cookie => "urr-vwr-token=$token" ]), '200',
    'every candidate of both is tried';

my %right = (vis => $vis, act => $act, adm => time * 1_000_000);

for my $case ([ 'made by hand', '200', '200' ],
              [ 'of another activation', '403', '200', act => $act - 1 ],
              [ 'of a later one', '403', '200', act => $act + 1 ],
              [ 'without activation', '403', '200', act => undef ],
              [ 'without visitor', '403', '200', vis => undef ],
              [ 'of an older issuer', '403', '200', act => undef, vis => undef,
                adm => undef, iat => undef ],
              [ 'of another event', '403', '403', sub => 'other' ],
              [ 'in upper case', '200', '200', sub => 'CONCERT' ],
              [ 'of tier 2', '403', '403', tier => 2 ],
              [ 'of no tier', '403', '403', tier => undef ],
              [ 'expired', '403', '403', exp => -6 ],
              [ 'expired just now', '200', '200', exp => -1 ],
              [ 'without expiry', '403', '403', exp => undef ])
{
    my ($what, $bound, $free, %claims) = @$case;
    my $jar = sub () {
        my %exp = defined $claims{exp} ? (exp => time + $claims{exp}) : ();
        return tier1_cookie({ 'admission-visitor' =>
                              $ann->{'admission-visitor'} },
                            %right, %claims, %exp);
    };

    # one that is over in 4 s is shown again where it took as long to look at it

    my $said = sub ($path) {
        my $said;

        for (1 .. 5) {
            my $start = time;
            $said = ask($path, $jar->());
            last if time - $start < 3;
        }
        return $said;
    };

    like $said->('/events/'), qr/^$bound/, "a token $what";
    like $said->('/free/'), qr/^$free/, "a token $what, bind=off";
}


# ---- entry tokens

my $entry = entry_token($secret{tier2}, sub => 'concert', uid => 'ann');
my @entry = (headers => [ 'X-Queue-Entry-Token' => $entry ]);

is ask('/events/', undef, @entry, bearer => $site->user('ann')), '200',
    'an entry token passes tier 1';
is ask('/both/', undef, @entry, bearer => $site->user('ann')), '200',
    'and both';
is ask('/events/', undef, @entry, bearer => $site->user('ben')),
    '403 TIER1_REQUIRED', 'not of another user';
is ask('/events/', undef, @entry), '403 TIER1_REQUIRED', 'nor of nobody';
is ask('/named/other', undef, @entry, bearer => $site->user('ann')),
    '403 TIER1_REQUIRED', 'nor of another event';


# ---- the order

is ask('/both/'), '401 USER_REQUIRED', 'the user comes first';
is ask('/both/', undef, bearer => $site->user('ann')), '403 TIER1_REQUIRED',
    'then tier 1';
is ask('/both/', { %$ann }, bearer => $site->user('ann')),
    '403 TIER2_REQUIRED', 'then tier 2';


# ---- renewal

sub renewed ($path, %claims) {
    my $visitor = { 'admission-visitor' => $ann->{'admission-visitor'} };
    my $r = get($port, $path, cookies => tier1_cookie($visitor, %right,
                                                      %claims));
    return ($r->cookie('urr-vwr-token-' . ($claims{sub} // 'concert')), $r);
}

my $now = time;
ok !(renewed('/events/', iat => $now - 290, exp => $now + 310))[0],
    'not renewed in the first half';

my ($new, $with) = renewed('/events/', iat => $now - 310, exp => $now + 290,
                           at => 5, adm => ($now - 310) * 1_000_000);
my $renewed = jwt_verify($new, $secret{tier1});
is_deeply { %$renewed{qw(sub uid vis tier position at act adm)} },
    { sub => 'concert', uid => 'u', vis => $vis, tier => 1, position => 1,
      at => 5, act => $act, adm => ($now - 310) * 1_000_000 },
    'renewed in the second: the same claims';
cmp_ok $renewed->{exp}, '>=', $now + 600, 'for another while';
is $with->cookies->{'urr-vwr-token-concert'}{attributes}{'max-age'}, 600,
    'so is the cookie';
is $with->header('Cache-Control'), 'no-store', 'and the answer is not stored';

($new) = renewed('/events/', iat => $now - 310, exp => $now + 290, at => 5,
                 adm => ($now - 700) * 1_000_000);
$renewed = jwt_decode($new);
ok !defined $renewed->{position} && !defined $renewed->{at},
    'without priority later than token_ttl after the turn';

($new) = renewed('/events/', iat => $now - 500, exp => $now + 10,
                 adm => ($now - 3500) * 1_000_000);
cmp_ok abs(jwt_decode($new)->{exp} - $now - 100), '<=', 1,
    'until session_max after the turn';
ok !(renewed('/events/', iat => $now - 500, exp => $now + 10,
             adm => ($now - 3590) * 1_000_000))[0], 'and no longer';
ok !(renewed('/free/', iat => $now - 500, exp => $now + 10, adm => undef))[0],
    'a token of an older issuer is not renewed';

my $room = operator($site, GET => 'status/short')->json;
$now = time;
($new, $r) = renewed('/public/', sub => 'short', act => $room->{activation},
                     iat => $now - 3, exp => $now + 1,
                     adm => $now * 1_000_000);
ok $new, 'renewed in an answer that says it is public';
is $r->header('Cache-Control'), 'no-store', 'which it is not then';


# ---- joining the queue

sub joins ($who, $visitor = {}, %opt) {
    my $prefix = delete $opt{prefix} // '/tier1/queue';
    my $call = delete $opt{call} // 'check';
    return request($port, $call eq 'status' ? 'GET' : 'POST',
                   "$prefix/$call/concert", bearer => $site->user($who),
                   cookies => $visitor, %opt);
}

$r = joins('x');
is_deeply $r->json, { error => 'Waiting room token required',
                      code => 'TIER1_REQUIRED', redirectTo => '/vwr/concert' },
    'joining needs the token';
is joins('x', {}, prefix => '/wait/queue')->json->{redirectTo}, '/w',
    'admission_waiting_uri';
is joins('x', {}, call => 'status')->json->{status}, 'not_in_queue',
    'status does not';
is joins('x', {}, prefix => '/api/queue')->json->{status}, 'active',
    'nor where tier 1 is off';
is joins('x')->json->{status}, 'active', 'nor for one who is in already';

$r = joins('ann', $ann);
is $r->json->{status}, 'queued', 'with the token ann waits';
my $place = $r->json->{place};
is $site->redis->cmd('ZSCORE', '{concert}:queue', 'ann'), 2 * $claims->{at},
    'where her ticket puts her';
is joins('ann')->json->{status}, 'queued', 'who waits needs it no more';

is joins('ben', { %$ben, 'urr-vwr-token-concert' => $token })
    ->json->{code}, 'TIER1_REQUIRED', 'the token of another visitor';
is joins('ben', { %$ben, 'urr-vwr-token-concert' => $token },
         prefix => '/free/queue')->json->{code}, 'POSITION_USED',
    'with bind=off its place is taken';

$site->redis->cmd('ZREM', '{concert}:queue', 'ann');
is joins('ann')->json->{code}, 'TIER1_REQUIRED', 'taken out of the line';
is joins('ann', { 'urr-queue-place' => $place })->json->{status}, 'queued',
    'a place that counts joins without the token';
joins('ann', {}, call => 'leave');
is joins('ann', { 'urr-queue-place' => $place })->json->{code},
    'TIER1_REQUIRED', 'one that does not, does not';

operator($site, POST => 'deactivate/concert');
is joins('y')->json->{status}, 'queued', 'nobody needs it while inactive';


# ---- not known yet

$site->redis->sigstop;

my $dark = Admission::Nginx->start(
    workers => 1, http => $site->http =~ s/timeout=\d+s/timeout=1s/r,
    server => $site->server, vars => {});

for my $case ([ '/events/', 200 ], [ '/on/', 403 ]) {
    my $took = stopwatch;
    $r = get($dark->port, $case->[0]);
    cmp_ok $took->(), '<', 4 * slow, 'in time';
    is $r->status, $case->[1], "$case->[0] with Redis out of reach at start";
    ok wait_until { get($dark->port, $case->[0])->time < 1.5 * slow },
        'to the half second, where the machine does not stand still';
}

like $dark->error_log,
    qr/\[error\].*event "concert" is active has never been heard/,
    'which the log says';
is get($dark->port, '/vwr-api/status/concert')->json->{isActive}, false,
    'status does not know better';
is check($site, 0, $ann, $ann->{'admission-ticket-concert'})->status, 200,
    'the other host does';
is request($dark->port, 'GET', '/vwr-api/check/concert/'
           . $ann->{'admission-ticket-concert'})->status, 503,
    'check tells nothing of which nothing is known';
is post($dark->port, '/vwr-api/assign/concert')->json->{code}, 'UNAVAILABLE',
    'assign is out of order';

$site->redis->sigcont;
wait_until {
    operator($site, POST => 'activate/concert')->status =~ /^(?:200|409)$/ };
wait_until { get($dark->port, '/events/')->status == 403 };
is get($dark->port, '/events/')->status, 403, 'Redis is back';

# a request that comes before anything is known waits for it

for (1 .. 5) {
    my $fresh = Admission::Nginx->start(
        workers => 1, http => $site->http, server => $site->server);
    is get($fresh->port, '/events/')->status, 403, 'the first request';
    is get($fresh->port, '/on/')->status, 403, 'and';
    is get($fresh->port, '/named/never-heard-of')->status, 200, 'of another';
    $fresh->stop;
}

done_testing;
