# The operators' calls of the waiting room, on two hosts.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;
use Time::HiRes qw(time);

my $site = waiting_site(
    instances => 2, timeout => '5s',
    events => 'listed vwr_rate=3;
               fixed-on vwr=on vwr_rate=0;
               fixed-off vwr=off;
               concert vwr_rate=0;',
    http => <<'END', server => <<'END2');
    server {
        listen           127.0.0.1:%%PORT_none%%;
        admission_user   visitor;
        admission_secret admin another-secret-of-the-test-0123456789;
        location /some/  { admission_admin_api; }
    }
END
    location /bare/ { admission_user off; admission_admin_api; }
    location /open/ { admission_event $arg_e; admission_tier1 on; empty_gif; }
END2

my $port = $site->port;

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }

# how long until an instance says so: see below for all of them
my @took;

sub seen ($i, $what, $block) {
    my $watch = stopwatch;
    my $took;
    my $ok = wait_until { $took = $watch->(); $block->($i) };
    push @took, $took;
    ok $ok, sprintf '%s, instance %d, after %.2f s', $what, $i, $took[-1];
}

sub status ($i, $event = 'concert') {
    return get($site->port($i), "/vwr-api/status/$event")->json;
}


# ---- on and off

my $r = operator($site, GET => 'status/concert');
is_deeply $r->json, { eventId => 'concert', isActive => false,
                      nextPosition => 0, servingCounter => 0, waiting => 0,
                      there => 0, rate => 0, activation => 0, setBy => undef },
    'never active';

$r = operator($site, POST => 'activate/CONCERT');
is_deeply $r->json, { eventId => 'concert', status => 'activated' },
    'activated';
is status(0)->{isActive}, true, 'at once where it was said';
seen(1, 'activation', sub ($i) { status($i)->{isActive} });
is get($site->port($_), '/events/')->status, 403, "and the gate $_"
    for 0, 1;
is code(operator($site, POST => 'activate/concert', instance => $_)),
    '409 ALREADY_ACTIVE', "already, instance $_" for 0, 1;
is code(operator($site, POST => 'activate/concert?resume=1')),
    '409 ALREADY_ACTIVE', 'nothing to resume';

assign($site, $_ % 2, {}) for 1 .. 5;

$r = operator($site, GET => 'status/concert', instance => 1)->json;
my $first = $r->{activation};
is delete $r->{comePercent} // 100, 100,
    'all are taken to come, once a step of this host told';
is_deeply $r, { eventId => 'concert', isActive => true, nextPosition => 5,
                servingCounter => 0, waiting => 5, there => 5,
                rate => 0, activation => $first, setBy => 'api' }, 'status';
cmp_ok abs($first / 1e6 - time), '<', 20 * slow, 'the activation is a time';
is operator($site, HEAD => 'status/concert')->status, 200, 'HEAD';

$r = operator($site, POST => 'deactivate/concert', instance => 1);
is_deeply $r->json, { eventId => 'concert', status => 'deactivated' },
    'deactivated';
seen(0, 'deactivation', sub ($i) { !status($i)->{isActive} });
is operator($site, POST => 'deactivate/concert')->status, 200, 'twice';

$r = operator($site, POST => 'activate/concert?resume=1');
is $r->json->{status}, 'activated', 'resumed';
is operator($site, GET => 'status/concert')->json->{activation}, $first,
    'the same activation';
is status(0)->{totalInQueue}, 5, 'with all who wait';

$r = operator($site, POST => 'activate/concert?restart=1');
is $r->json->{status}, 'activated', 'restarted';
$r = operator($site, GET => 'status/concert')->json;
cmp_ok $r->{activation}, '>', $first, 'another activation';
is $r->{nextPosition}, 0, 'at 0';
seen(1, 'the restart', sub ($i) { status($i)->{totalInQueue} == 0 });


# ---- advance

assign($site, 0, {}) for 1 .. 7;

is_deeply operator($site, POST => 'advance/concert',
                   json => { batchSize => 2 })->json,
    { eventId => 'concert', servingCounter => 2, advanced => 2 }, 'advance';
seen(1, 'the counter', sub ($i) { status($i)->{serving} == 2 });
is_deeply operator($site, POST => 'advance/concert')->json,
    { eventId => 'concert', servingCounter => 7, advanced => 5 },
    'by 500, and no further than the last position';
is_deeply operator($site, POST => 'advance/concert')->json,
    { eventId => 'concert', status => 'caught_up' }, 'caught up';
is code(operator($site, POST => 'advance/concert', body => $_)),
    '400 INVALID_BATCH', "not by $_"
    for '{"batchSize":0}', '{"batchSize":-1}', '{"batchSize":"5"}',
        '{"batchSize":1.5}', '{"batchSize":null}', '[1]', '3',
        '{"batchSize":1000000001}';
is operator($site, POST => 'advance/concert', body => '{}')->status, 200,
    'an object without it';
is code(operator($site, POST => 'advance/concert', body => '{')),
    '400 INVALID_JSON', 'no JSON';


# ---- the rate

is_deeply operator($site, PUT => 'rate/concert?rate=1000')->json,
    { eventId => 'concert', rate => 1000 }, 'rate';
assign($site, 0, {}) for 1 .. 20;
ok((wait_until { status(1)->{serving} >= 27 }), 'the counter moves');
is status(1)->{waitingCount}, 0, 'nobody waits';
is operator($site, GET => 'status/concert', instance => 1)->json->{rate}, 1000,
    'told by the other';
is_deeply operator($site, PUT => 'rate/concert?rate=0')->json,
    { eventId => 'concert', rate => 0 }, 'paused';
is_deeply operator($site, DELETE => 'rate/concert')->json,
    { eventId => 'concert', rate => 0 }, 'the configuration\'s';
is_deeply operator($site, DELETE => 'rate/listed')->json,
    { eventId => 'listed', rate => 3 }, 'of another';
is code(operator($site, PUT => "rate/concert$_")), '400 INVALID_RATE',
    "rate/concert$_"
    for '', '?rate', '?rate=', '?rate=-1', '?rate=1000001', '?rate=1e3',
        '?rate=1.5', '?rate=x', '?rates=1';


# ---- what the configuration says

ok((wait_until { status(0, 'fixed-on')->{isActive} }), 'vwr=on is active');
is operator($site, GET => 'status/fixed-on')->json->{setBy}, 'config',
    'by configuration';
is code(operator($site, POST => 'deactivate/fixed-on')), '409 SET_BY_CONFIG',
    'and cannot be deactivated';
is operator($site, POST => 'activate/fixed-on?restart=1')->status, 200,
    'but restarted';
is code(operator($site, POST => 'activate/fixed-off')), '409 SET_BY_CONFIG',
    'vwr=off cannot be activated';
is operator($site, POST => 'deactivate/fixed-off')->status, 200,
    'it may be deactivated';


# ---- events that are not listed

is code(operator($site, GET => 'status/other')), '404 UNKNOWN_EVENT',
    'not listed';
is code(operator($site, POST => $_)), '404 UNKNOWN_EVENT', $_
    for 'deactivate/other', 'advance/other';
is code(post($port, '/vwr-api/assign/other')), '404 UNKNOWN_EVENT', 'assign';
is get($port, '/vwr-api/status/other')->json->{isActive}, false,
    'status says inactive';

is operator($site, POST => 'activate/other')->status, 200, 'until activated';
seen($_, 'an event of the API', sub ($i) {
    post($site->port($i), '/vwr-api/assign/other')->status == 200 }) for 0, 1;
is get($port, '/open/?e=other')->status, 403, 'the gate knows it';

# all within a second, but for what came while the machine was busy

@took = sort { $a <=> $b } @took;
cmp_ok $took[@took / 2], '<', 0.7 * slow, 'seen within a second, mostly sooner';
cmp_ok $took[-3], '<', 1 * slow, 'hardly ever later';


# ---- who may

is code(get($port, '/api/admin/vwr/status/concert')), '401 ADMIN_REQUIRED',
    'nobody';
is code(request($port, 'GET', '/api/admin/vwr/status/concert',
                bearer => $site->user('ann'))), '403 FORBIDDEN', 'a user';
is request($port, 'GET', '/api/admin/vwr/status/concert', bearer =>
           user_token($Admission::Site::SECRETS{user}, userId => 'root',
                      role => 'admin'))->status, 200, 'the role';
is code(request($port, 'POST', '/api/admin/vwr/activate/new')),
    '401 ADMIN_REQUIRED', 'nobody activates';
is status(0, 'new')->{isActive}, false, 'nothing happened';
is request($site->nginx->port('none'), 'GET', '/some/status/concert',
           bearer => 'another-secret-of-the-test-0123456789')->status, 200,
    'a secret of a server';
is code(request($site->nginx->port('none'), 'GET', '/some/status/concert')),
    '401 ADMIN_REQUIRED', 'without it';

{
    my $secret = 'another-secret-of-the-test-0123456789';
    my %answers;

    for my $other ((map { substr $secret, 0, $_ } 1 .. length($secret) - 1),
                   (map { my $s = $secret; vec($s, 8 * $_, 1) ^= 1; $s }
                    0 .. length($secret) - 1), "${secret}0")
    {
        $answers{ code(request($site->nginx->port('none'), 'GET',
                               '/some/status/concert', bearer => $other)) }++;
    }
    is_deeply \%answers, { '403 FORBIDDEN' => 2 * length $secret },
        'a letter of it another one, less, or more';
}

{
    my $bare = Admission::Nginx->start(http => <<'END', server => <<'END2');
    admission_secret tier1 tier1-secret-of-the-tests-0123456789abcdef;
END
        location / { admission_admin_api; }
END2
    is code(request($bare->port, 'POST', '/activate/x', bearer => $_)),
        '403 FORBIDDEN', 'nothing configured' for 'x' x 40, '';
    is code(request($bare->port, 'POST', '/activate/x')), '403 FORBIDDEN',
        'nothing configured, nothing shown';
}


# ---- routes, the log

is code(operator($site, GET => 'activate/concert')), '405 METHOD_NOT_ALLOWED',
    'GET';
is operator($site, POST => 'rate/concert?rate=1')->header('Allow'),
    'PUT, DELETE', 'Allow';
is code(operator($site, POST => 'none/concert')), '404 NOT_FOUND', 'no call';
is code(operator($site, POST => 'activate/a%20b')), '400 INVALID_EVENT',
    'no event';

my $log = $site->nginx->error_log;
like $log, qr/\[notice\].*event "concert": $_ by the admin secret/, $_
    for 'waiting room activated', 'waiting room advanced by 5 to 7',
        'rate set to 1000', 'rate set back';
unlike $log, qr/\Q$Admission::Site::SECRETS{admin}/, 'no secret in it';

$site->redis->stop;
$r = operator($site, POST => 'activate/listed');
is code($r), '503 UNAVAILABLE', 'without Redis';
cmp_ok $r->header('Retry-After'), '>=', 1, 'Retry-After';
is $r->json->{retryAfter}, $r->header('Retry-After'), 'and the same inside';

done_testing;
