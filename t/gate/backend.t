# What of a request tells of the backend, and what of it: each kind of answer, by
# the one line that the debug log has of it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();

plan(skip_all => 'NGINX is built without --with-debug')
    if (run($binary, '-V'))[1] !~ /--with-debug/;

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    workers => 1, log_level => 'debug',
    vars => { REDIS => $redis->url, BACKEND => $backend->port },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=5s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user_secret;

    admission_events {
        default  threshold=100 backend_latency=200ms;
        all      backend_5xx=on;
        not      backend_follow=off;
    }

    map \$uri \$event_id { ~/(?<id>sale|all|not)\$  \$id; }

    proxy_cache_path %%DIR%%/cache keys_zone=cache:1m;
    upstream one  { server 127.0.0.1:%%BACKEND%%; }
    upstream two  { server 127.0.0.1:%%PORT_closed%% max_fails=0;
                    server 127.0.0.1:%%BACKEND%% backup; }
    upstream none { server 127.0.0.1:%%PORT_closed%%; }
END
    server => <<'END',
        admission_event  $event_id;
        admission_user   jwt;

        location /api/queue/ { admission_queue_api; }

        location /one/    { admission_tier2 on; proxy_pass http://one; }
        location /open/   { admission_tier1 auto; proxy_pass http://one; }
        location /two/    { admission_tier2 on; proxy_pass http://two; }
        location /none/   { admission_tier2 on; proxy_pass http://none; }
        location /late/   { admission_tier2 on; proxy_read_timeout 300ms;
                            proxy_pass http://one; }
        location /free/   { proxy_pass http://one; }
        location /past/   { admission_tier2 on; admission_bypass 1;
                            proxy_pass http://one; }
        location /dry/    { admission_tier2 on; admission_dry_run on;
                            proxy_pass http://one; }
        location /file/   { admission_tier2 on; return 200 ok; }
        location /gif/    { admission_tier2 on; empty_gif; }
        location /cache/  { admission_tier2 on; proxy_cache cache;
                            proxy_cache_valid 1h; proxy_cache_key $uri;
                            proxy_cache_valid 502 504 1h;
                            proxy_pass http://one; }
        location /inner/  { admission_tier2 on; auth_request /asks;
                            proxy_pass http://one; }
        location = /asks  { internal; proxy_pass http://one/x?delay=0.3; }
        location /page/   { admission_tier2 on; error_page 503 = /sorry;
                            proxy_intercept_errors on; proxy_pass http://one; }
        location = /sorry { proxy_pass http://one; }
        location /again/  { admission_tier2 on; error_page 503 = /one/sale;
                            proxy_intercept_errors on; proxy_pass http://one; }
        location /accel/  { admission_tier2 on; proxy_pass http://one; }
        location /named/  { admission_tier2 on; try_files /no @named; }
        location @named   { admission_tier2 on; proxy_pass http://one; }
        location /limit/  { admission_tier2 on;
                            admission_rate_limit few rate=1r/h;
                            proxy_pass http://one; }
END
);

my $port = $nginx->port;
my %token;

sub user ($who) { return user_token($user_secret, userId => $who) }

sub token ($event, $who) {
    return $token{$event, $who} //=
        post($port, "/api/queue/check/$event", bearer => user($who))
            ->json->{entryToken};
}

sub ask ($path, %opt) {
    my ($event) = $path =~ m{/(sale|all|not)\b};
    return get($port, $path, bearer => user('ann'),
               headers => [ 'X-Queue-Entry-Token' => token($event, 'ann'),
                            ($opt{headers} // [])->@* ],
               map { $_ => $opt{$_} } grep { $_ ne 'headers' } keys %opt);
}

# What the log has of the requests since then: [counts, time, failed, retry]

sub told ($since) {
    return map { [ /counts:(\d) time:(\d+) failed:(\d) retry:(\d+)/ ] }
           grep { /admission: backend of event .* counts:/ }
           split /\n/, $nginx->error_log($since);
}

sub tells ($path, $wanted, $what, %opt) {
    token(($path =~ m{/(sale|all|not)\b})[0], 'ann');

    my $mark = $nginx->log_mark;
    my $response = ask($path, %opt);

    wait_until { $nginx->error_log($mark) =~ /http close request|close http c/ };

    my @told = told($mark);
    my ($counts, $failed, $retry, $least, $most) = ($wanted // [])->@*;

    if (!$wanted) {
        is_deeply [ grep { $_->[0] } @told ], [], "$what: counts for nothing";
        return $response;
    }

    is @told, 1, "$what: once";
    is_deeply [ $told[0]->@[0, 2, 3] ], [ $counts, $failed, $retry ], $what;
    cmp_ok $told[0][1], '>=', $least, "$what: its time" if defined $least;
    cmp_ok $told[0][1], '<', $most, "$what: no more" if defined $most;

    return $response;
}


tells('/one/sale', [ 1, 0, 0 ], 'an answer');
tells('/one/sale?delay=0.3', [ 1, 0, 0, 250 ], 'a slow one');
tells('/one/sale?status=404', [ 1, 0, 0 ], '404 is an answer');
tells('/one/sale?status=500', [ 1, 0, 0 ], '500 is one');
tells('/one/all?status=500', [ 1, 1, 0 ], 'with backend_5xx=on it fails');
tells("/one/sale?status=$_", [ 1, 1, 0 ], "$_ fails") for 502, 503, 504;
tells('/one/sale?close=1', [ 1, 1, 0 ], 'a connection that is closed');
tells('/none/sale', [ 1, 1, 0 ], 'no connection') for 1 .. 2;
tells('/late/sale?delay=0.8', [ 1, 1, 0, 290 ], 'a time-out, with its time');
tells('/named/sale?delay=0.1', [ 1, 0, 0, 80 ], 'a named location');
tells('/open/sale', [ 1, 0, 0 ], 'tier 1 that is open');

tells('/two/sale?delay=0.1', [ 1, 0, 0, 80 ], 'the next server');

for my $retry ([ 7, 7 ], [ 1000, 60 ], [ '9' x 40, 60 ], [ 'soon', 0 ], [ '-1', 0 ]) {
    tells("/one/sale?status=503&header=Retry-After:$retry->[0]",
          [ 1, 1, $retry->[1] ], "Retry-After: $retry->[0]");
}

tells('/one/sale?status=429&header=Retry-After:7', [ 1, 0, 0 ],
      'Retry-After of another answer');

tells('/page/sale?status=503&header=Retry-After:7&delay=0.1',
      [ 1, 1, 7, 80 ], 'an error page by the backend: what failed counts');
tells('/again/sale?status=503&header=Retry-After:7&delay=0.1',
      [ 1, 1, 7, 80 ], 'one that is gated');
tells('/accel/sale?header=X-Accel-Redirect:/gif/sale&delay=0.1',
      [ 1, 0, 0, 80 ], 'X-Accel-Redirect: what said so counts');
tells('/inner/sale', [ 1, 0, 0, undef, 250 ], 'auth_request: not the time of it');

tells('/cache/sale', [ 1, 0, 0 ], 'what a cache has to ask for');
tells('/cache/sale', undef, 'what it answers');
tells('/cache/bad/sale?status=504', [ 1, 1, 0 ], 'a failure that is kept');
is tells('/cache/bad/sale?status=504', undef, 'and answered with')->status, 504,
    'by the cache';
tells('/cache/off/sale?close=1', [ 1, 1, 0 ], 'no answer, which is kept');
tells('/cache/off/sale?close=1', undef, 'as well');
tells('/one/not', undef, 'backend_follow=off');
tells('/past/sale', undef, 'a bypass');
tells('/free/sale', undef, 'no gate');
tells('/file/sale', undef, 'an answer of NGINX');
tells('/gif/sale', undef, 'a handler that is no upstream');
tells('/dry/sale', [ 1, 0, 0 ], 'a dry run that would have passed');

my $mark = $nginx->log_mark;
is get($port, '/one/sale', bearer => user('ben'))->status, 403, 'a denial';
is get($port, '/dry/sale', bearer => user('ben'))->status, 200,
    'one of a dry run';
is_deeply [ grep { $_->[0] } told($mark) ], [], 'denials count for nothing';

tells('/limit/sale', [ 1, 0, 0 ], 'within a limit');
is tells('/limit/sale', undef, 'over it')->status, 429, 'is limited';

for my $case ([ 0.05, 0, 'a client that goes away' ],
              [ 0.35, 1, 'one that waited for too long' ])
{
    my ($wait, $counts, $what) = @$case;

    $mark = $nginx->log_mark;
    my $client = Admission::HTTP->connect($port);

    $client->send(join "\r\n", 'GET /one/sale?delay=2 HTTP/1.1', 'Host: x',
                  'Authorization: Bearer ' . user('ann'),
                  'X-Queue-Entry-Token: ' . token('sale', 'ann'), '', '');
    wait_until { $nginx->error_log($mark) =~ /http upstream request/ };
    select undef, undef, undef, $wait;
    $client->close;

    wait_until { told($mark) };
    is_deeply [ map { $_->@[0, 2] } told($mark) ], [ $counts, 0 ], $what;
}

done_testing;
