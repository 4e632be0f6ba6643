# The operator's calls of the queue API.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $admin = 'admin-secret-of-the-test-0123456789';
my $older = 'older-secret-of-the-test-0123456789';

my $redis = Admission::Redis->start;

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END',
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;

    admission_events {
        concert  threshold=2;
    }

    server {
        listen            127.0.0.1:%%PORT_roles%%;
        admission_user    jwt;
        location /        { admission_queue_api admin=on; }
    }

    server {
        listen            127.0.0.1:%%PORT_secret%%;
        admission_user    \$arg_who;
        admission_secret  admin $admin;
        location /        { admission_queue_api admin=on; }
    }

    server {
        listen            127.0.0.1:%%PORT_none%%;
        admission_user    visitor;
        admission_secret  tier1 tier1-secret-of-the-test-0123456789;
        location /        { admission_queue_api admin=on; }
    }
END
        admission_user             jwt;
        admission_secret           admin %%ADMIN%%;
        admission_secret           admin %%OLDER%%;

        location /api/queue/admin/ { admission_queue_api admin=on; }
        location /api/queue/       { admission_queue_api; }
END
    vars => { ADMIN => $admin, OLDER => $older });

my $port = $nginx->port;
my $api = '/api/queue/admin';
my $operator = user_token($user, userId => 'root', role => 'admin');


sub as_admin ($method, $path, %opt) {
    return request($port, $method, "$api/$path", bearer => $operator, %opt);
}

sub join_queue ($who) {
    return post($port, '/api/queue/check/concert',
                bearer => user_token($user, userId => $who))->json->{status};
}


# ---- looking

# until it has heard of Redis, a host does not know which events there are, and
# lets nobody in for a moment where there are users already

wait_until { as_admin('GET', 'other')->status == 404 };

# where Redis stood still just then so it is for the second one

for my $who (qw(a b)) {
    wait_until { join_queue($who) eq 'active' };
}
join_queue($_) for qw(c d e);

my $r = as_admin('GET', 'concert');
is $r->status, 200, 'looking';
is_deeply $r->json, { eventId => 'concert', queueSize => 3, currentUsers => 2,
                      threshold => 2, available => 0 }, 'members';
is $r->header('Cache-Control'), 'no-store', 'no-store';
is as_admin('HEAD', 'CONCERT')->status, 200, 'HEAD, in upper case';


# ---- the threshold

my $mark = $nginx->log_mark;

$r = as_admin('PUT', 'threshold/concert?threshold=0');
is_deeply $r->json, { eventId => 'concert', threshold => 0 }, 'set to 0';
is as_admin('GET', 'concert')->json->{available}, 0, 'available is not negative';

like $nginx->error_log($mark),
    qr/\[notice\].*event "concert": threshold set to 0 by user "root"/,
    'in the log';

# the log may tell of a machine that stood still as well

is scalar(() = $nginx->error_log($mark) =~ /\[notice\].*by user "root"/g), 1,
    'in one line';

$r = as_admin('POST', 'threshold/concert?threshold=10000000');
is $r->json->{threshold}, 10_000_000, 'set to the maximum by POST';

ok wait_until { as_admin('GET', 'concert')->json->{currentUsers} == 5 },
    'those who waited come in';

for my $bad ('', '?', '?threshold', '?threshold=', '?threshold=-1',
             '?threshold=10000001', '?threshold=1e3', '?threshold=%31',
             '?threshold=1.0', '?threshold=+1', '?threshold=99999999999999999999999999', '?thresholds=1',
             '?x=threshold=1', '?threshold=1;drop')
{
    $r = as_admin('PUT', "threshold/concert$bad");
    is $r->status, 400, "threshold/concert$bad";
    is $r->json->{code}, 'INVALID_THRESHOLD', "threshold/concert$bad: code";
}

is as_admin('GET', 'concert')->json->{threshold}, 10_000_000,
    'none of which changed it';

$r = as_admin('DELETE', 'threshold/concert');
is_deeply $r->json, { eventId => 'concert', threshold => 2 },
    'back to the configuration';
is as_admin('GET', 'concert')->json->{threshold}, 2, 'and stays there';


# ---- clearing

$mark = $nginx->log_mark;

$r = request($port, 'POST', "$api/clear/concert", bearer => $older);
is $r->status, 200, 'clearing, by the older admin secret';
is_deeply $r->json, { message => 'Queue cleared' }, 'members';
is_deeply as_admin('GET', 'concert')->json,
    { eventId => 'concert', queueSize => 0, currentUsers => 0, threshold => 2,
      available => 2 }, 'cleared';
like $nginx->error_log($mark),
    qr/\[notice\].*event "concert": queue cleared by the admin secret/,
    'in the log';


# ---- who may

sub status ($path, %opt) {
    my $r = get($nginx->port($opt{server} // ''), $path, %opt);
    return $r->status . ' ' . ($r->json->{code} // '');
}

my $visitor_role = user_token($user, userId => 'x', role => 'user');

is status("$api/concert"), '401 ADMIN_REQUIRED', 'nobody';
is status("$api/concert", bearer => $visitor_role), '403 FORBIDDEN',
    'a user without the role';
is status("$api/concert", bearer => user_token($user, userId => 'x')),
    '403 FORBIDDEN', 'a user without any role';
is status("$api/concert", bearer => user_token($user, userId => 'x',
                                               role => 'Admin')),
    '403 FORBIDDEN', 'another role';
is status("$api/concert", bearer => user_token('x' x 32, userId => 'x',
                                               role => 'admin')),
    '403 FORBIDDEN', 'a forged token';
is status("$api/concert", bearer => $_), '403 FORBIDDEN', 'a wrong secret'
    for substr($admin, 1), "${admin}x", uc $admin;
is status("$api/concert", headers => [ Authorization => 'Basic YTpi' ]),
    '401 ADMIN_REQUIRED', 'another scheme';
is status("$api/concert", bearer => $admin), '200 ', 'the admin secret';
is status("$api/concert", headers => [ Authorization => "bearer $admin" ]),
    '200 ', 'the scheme in lower case';
is status("$api/concert", cookies => { access_token => $operator }), '200 ',
    'the role by cookie';
is status("$api/concert", cookies => { access_token => $visitor_role }),
    '403 FORBIDDEN', 'a user without the role by cookie';
is status("$api/concert", cookies => { access_token => $admin }),
    '401 ADMIN_REQUIRED', 'the secret is no cookie';

is status('/admin/concert', server => 'roles'), '401 ADMIN_REQUIRED', 'roles only: nobody';
is status('/admin/concert', server => 'roles', bearer => $operator), '200 ', 'roles only';
is status('/admin/concert', server => 'roles', bearer => $admin), '403 FORBIDDEN',
    'roles only: the secret';
is status('/admin/concert?who=root', server => 'secret'), '401 ADMIN_REQUIRED',
    'secret only: a user by a variable';
is status('/admin/concert', server => 'secret', bearer => $admin), '200 ', 'secret only';
is status('/admin/concert', server => 'secret', bearer => $operator), '403 FORBIDDEN',
    'secret only: a role';
is status('/admin/concert', server => 'none'), '403 FORBIDDEN', 'nothing configured';
is status('/admin/concert', server => 'none', bearer => $operator), '403 FORBIDDEN',
    'nothing configured: a role';

is request($port, 'POST', "$api/clear/concert",
           cookies => { access_token => $operator },
           headers => [ 'Sec-Fetch-Site' => 'cross-site' ])->json->{code},
    'CROSS_SITE', 'not from another site, by cookie';
is request($port, 'POST', "$api/clear/concert", bearer => $operator,
           headers => [ 'Sec-Fetch-Site' => 'cross-site' ])->status,
    200, 'with a bearer token from anywhere';

unlike $nginx->error_log, qr/\Q$_\E/, 'no secret in the log'
    for $admin, $operator;


# ---- routes

is status('/api/queue/admin', bearer => $operator), '404 NOT_FOUND',
    'no event';
is status("$api/none/concert", bearer => $operator), '404 NOT_FOUND',
    'no such call';
is status("$api/other", bearer => $operator), '404 UNKNOWN_EVENT',
    'no such event';
is status("$api/a%20b", bearer => $operator), '400 INVALID_EVENT',
    'no event id';

for my $case ([ 'PUT', 'clear/concert', 'POST' ],
              [ 'GET', 'clear/concert', 'POST' ],
              [ 'GET', 'threshold/concert', 'PUT, POST, DELETE' ],
              [ 'POST', 'concert', 'GET, HEAD' ])
{
    $r = as_admin(@$case[0, 1]);
    is $r->status, 405, "$case->[0] $case->[1]";
    is $r->header('Allow'), $case->[2], "$case->[0] $case->[1]: Allow";
}

# "admin" in the path of a location without admin=on is no prefix to it

is status('/api/queue/x/admin/concert', bearer => $operator), '404 NOT_FOUND',
    'without admin=on';
is request($port, 'POST', '/api/queue/x/admin/clear/concert',
           bearer => $operator)->status, 404, 'clear without admin=on';

$redis->stop;

is as_admin('GET', 'concert')->status, 503, 'without Redis';
is as_admin('POST', 'clear/concert')->status, 503, 'clear without Redis';

done_testing;
