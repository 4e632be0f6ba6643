# admission_dry_run: the verdict is that of a denial, in its variables and the
# log, and the request goes on as if there were no gate.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;

my $site = waiting_site(
    events => 'default threshold=2 vwr_rate=0;', timeout => '30s',
    http => 'log_format dry "$request_uri $status $admission_verdict"
                            " \"$admission_reason\"";',
    server => <<'END');
        access_log %%DIR%%/dry.log dry;

        # all of it on trial, as one would try it out

        location /dry/ {
            admission_dry_run      on;
            admission_tier1        auto;
            admission_tier2        on;
            proxy_pass             http://booking;

            location /dry/off/     { admission_dry_run off;
                                     proxy_pass http://booking; }
            location /dry/tier1/   { admission_tier2 off;
                                     proxy_pass http://booking; }
            location /dry/strict/  { admission_tier1 off;
                                     admission_tier2 on strict=on;
                                     proxy_pass http://booking; }
            location /dry/limit/   { admission_tier1 off; admission_tier2 off;
                                     admission_rate_limit dry rate=1r/h;
                                     proxy_pass http://booking; }
            location /dry/closed/  { admission_tier1 off; admission_tier2 off;
                                     admission_rate_limit closed rate=1r/h
                                         fail=closed;
                                     proxy_pass http://booking; }
            location /dry/error/   { error_page 401 403 429 500 = /page;
                                     proxy_intercept_errors on;
                                     proxy_pass http://booking; }
            location /dry/to/      { rewrite ^/dry/to(/.*)$ /dry$1 last; }
            location /dry/try/     { try_files /none /dry/off/x; }
            location /dry/any/     { satisfy any; deny all;
                                     proxy_pass http://booking; }
            location /dry/queue/   { admission_queue_api; }
        }

        location = /page           { return 418; }
END

my $port = $site->port;
my $backend = $site->{backend};

# status, verdict and reason; what came is in $answer, the backend's view of
# it in %seen

my ($answer, %seen);

sub ask ($path, %opt) {
    my $log = $site->nginx->dir . '/dry.log';
    my $mark = length read_file($log);

    $answer = request($port, $opt{method} // 'GET', $path,
                      headers => [ Accept => 'text/html' ], %opt);

    # others may come late: those of calls that this sub did not make

    my $verdict;
    wait_until {
        ($verdict) = substr(read_file($log), $mark) =~ /^\Q$path\E (.*)$/m;
    } 10;

    %seen = map { lc $_->[0] => $_->[1] } @{ ($answer->json // {})->{headers}
                                              // [] };
    return $verdict;
}

sub unchanged ($name) {
    is_deeply [ map { $answer->header($_) } 'Location', 'Set-Cookie',
                'Cache-Control', 'Retry-After', 'RateLimit',
                'RateLimit-Policy', 'Vary' ], [], "$name: nothing is added";
}

my @ann = (bearer => $site->user('ann'));
my @spoofed = (headers => [ Accept => 'text/html', 'X-User-Id' => 'root',
                            'X-Admission-Event' => 'other' ]);


# ---- before anything waits

is ask('/dry/x'), '200 user "no user"', 'no user';
unchanged('no user');
is ask('/dry/x', @ann), '200 tier2 "no token"', 'no entry token';
unchanged('no entry token');
is ask('/dry/tier1/x'), '200 pass "-"', 'an idle waiting room';

operator($site, POST => 'activate/concert');
wait_until { ask('/dry/tier1/x') !~ /pass/ } 20;


# ---- each kind of a denial

is ask('/dry/tier1/x'), '200 tier1 "no token"', 'no token of tier 1';
unchanged('tier 1');
is ask('/dry/x', @ann), '200 tier1 "no token"', 'the first of several';
is $seen{'x-user-id'}, 'ann', 'the backend is told who';
is $seen{'x-admission-event'}, undef, 'and not for what';

for my $way ([ 'a token that is over', exp => time - 60 ],
             [ 'of another event', sub => 'other' ],
             [ 'of another user', uid => 'ben' ])
{
    my ($name, @claims) = @$way;
    my %claims = (sub => 'concert', uid => 'ann', @claims);
    my %reason = (exp => 'expired', sub => 'token of another event',
                  uid => 'token of another user');

    is ask('/dry/strict/x', @ann, cookies => {
           'urr-entry-token' => entry_token($secret{tier2}, %claims) }),
        qq(200 tier2 "$reason{$claims[0]}"), $name;
    is $seen{'x-admission-event'}, undef, "$name: its event is not told";
}

my @in = (@ann, cookies => { 'urr-entry-token' => entry_token(
    $secret{tier2}, sub => 'concert', uid => 'ann') });

is ask('/dry/strict/x', @in), '200 tier2 "not active"', 'strict: not active';
is ask('/dry/x', @in), '200 pass "-"', 'who is in passes';
unchanged('who is in');
is $seen{'x-admission-event'}, 'concert', 'and the backend is told';

is ask('/dry/x', @spoofed), '200 user "no user"', 'headers of identity';
is_deeply [ @seen{qw(x-user-id x-admission-event)} ], [ undef, undef ],
    'from outside are removed';

is ask('/dry/limit/x'), '200 pass "-"', 'a limit: one passes';
is ask('/dry/limit/x'), '200 limited "dry"', 'another one, over the limit';
unchanged('a limit');
is $site->redis->cmd('ZCARD', 'rate:dry:ip:127.0.0.1'), 1,
    'a limit charges what it would have let pass';


# ---- ways that a request takes

is ask('/dry/off/x', @ann), '302 tier1 "no token"', 'off below on: denied';
like $answer->header('Location'), qr{^/vwr/concert\?return=}, 'as ever';
is ask('/dry/to/tier1/x'), '200 tier1 "no token"', 'rewrite: on both';
is ask('/dry/try/x'), '401 user "no user"',
    'redirected to where it is no dry run';
is ask('/dry/error/x'), '200 user "no user"', 'no error_page';
is ask('/dry/error/x?status=500'), '418 user "no user"',
    'but the backend\'s own error has it';
is ask('/dry/any/x'), '403 user "no user"',
    'satisfy any: it is no grant either';
is ask('/dry/x', method => 'POST', body => 'a=b'), '200 user "no user"',
    'a body';
is $answer->json->{body}, 'a=b', 'comes to the backend';
is ask('/dry/x', method => 'OPTIONS', headers => [
       Origin => 'https://a.example',
       'Access-Control-Request-Method' => 'GET' ]), '200 - "-"',
    'a preflight: nothing is judged';


# ---- joining the queue through tier 1

sub call ($call, @who) {
    my $verdict = ask("/dry/queue/$call/concert",
                      method => $call eq 'check' ? 'POST' : 'GET', @who);
    return "$verdict " . ($answer->json->{status} // $answer->json->{code});
}

is call('status', @ann), '200 - "-" not_in_queue', 'status: nothing to refuse';
is call('check', @ann), '200 tier1 "no token" active',
    'joining without a token: would have been refused';
is call('check', @ann), '200 - "-" active', 'who is in: not';
is call('check', bearer => $site->user($_)),
    '200 tier1 "no token" ' . ($_ eq 'ben' ? 'active' : 'queued'), "$_ joins"
    for qw(ben cho);
is $site->redis->cmd('ZCARD', $site->key('queue')), 1, 'once';
is call('check'), '401 - "-" USER_REQUIRED', 'a user is needed, still';


# ---- without Redis

$site->redis->stop;

is ask('/dry/closed/x'), '200 error "redis"', 'fail=closed';
unchanged('fail=closed');
is ask('/dry/strict/x', @in), '200 error "redis"', 'strict=on';


# ---- the log

my $log = $site->nginx->error_log;

like $log, qr/admission denied: \Q$_\E, event "concert".*, dry run/,
    "the log has: $_"
    for 'no user', 'no token', 'token of another user', 'not active', 'redis',
        'rate limit dry';
like $log, qr/denied: no token, event "concert", joining, dry run/,
    'the log has: joining';
is scalar(() = $log =~ /admission denied: (?!.*, dry run)/g), 2,
    'and what was denied, without';
# more than the name of the test's directory may have of one
unlike $log, qr/eyJ[\w-]{4}/, 'no token';

done_testing;
