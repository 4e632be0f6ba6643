# What of a request tells of the backend, and what of it: each kind of answer, by
# the one line that the debug log has of it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use IO::Socket::INET;
use Time::HiRes qw(sleep);

use Admission::Backend;
use Admission::FastCGI;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Redis;

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();

plan(skip_all => 'NGINX is built without --with-debug')
    if (run($binary, '-V'))[1] !~ /--with-debug/;

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

my $php = Admission::FastCGI->start;

# An upstream that says what it is asked to, whatever it is asked, by the path: a
# piece of text, or so many ms of silence.

my %SAYS = (
    hints  => [ "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", 200,
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" ],
    noise  => [ "\x01\x02 nothing that is HTTP\n" ],
    nought => [],
    half   => [ "HTTP/1.1 200 OK\r\nConte" ],
    upper  => [ "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                . "Connection: upgrade\r\n\r\n" ],
    well   => [ 100, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" ],
    busy   => [ 100, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n"
                . "Content-Length: 2\r\n\r\nno" ],
);

# Frames of HTTP/2: SETTINGS, and a HEADERS of stream 1 that ends it, with
# ":status" and for 503 "retry-after".

sub frame ($type, $flags, $stream, $text = '') {
    return substr(pack('N', length $text), 1) . pack('CCN', $type, $flags, $stream)
           . $text;
}

my %GRPC = (well => frame(1, 5, 1, "\x88"),
            busy => frame(1, 5, 1, "\x48\x03503\x75\x017"));

# fixed: what it says to anything, in frames

sub says ($fixed = undef) {
    my $port = free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128,
        ReuseAddr => 1) or die "port $port: $@";

    Admission::Test::register(Admission::Process->start(
        name => "says-$port", code => sub { say_it($listen, $fixed) }));
    close $listen;
    return $port;
}

sub say_it ($listen, $fixed) {
    local $SIG{PIPE} = 'IGNORE';

    while (my $socket = $listen->accept) {
        my ($got, $what) = ('');

        while (!$what) {
            sysread $socket, $got, 8192, length $got or last;
            $what = $fixed // ($got =~ m{/kind/(\w+)/})[0];
        }
        next if !$what;

        for my $part ($fixed ? (frame(4, 0, 0), 100, $GRPC{$fixed})
                             : $SAYS{$what}->@*)
        {
            $part =~ /^\d+$/ ? sleep $part / 1000 : syswrite $socket, $part;
        }

        # what it sends on is read, so that the answer is not lost
        shutdown $socket, 1;
        1 while sysread $socket, $got, 8192;
    }
}

my $nginx = Admission::Nginx->start(
    workers => 1, log_level => 'debug',
    vars => { REDIS => $redis->url, BACKEND => $backend->port,
              PHP => $php->port, SAYS => says,
              WELL => says('well'), BUSY => says('busy') },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=30s;
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
        add_header       X-Connection $connection always;

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
        location /kind/   { admission_tier2 on; proxy_http_version 1.1;
                            proxy_set_header Upgrade $http_upgrade;
                            proxy_set_header Connection $http_connection;
                            proxy_pass http://127.0.0.1:%%SAYS%%; }
        location /uwsgi/  { admission_tier2 on; uwsgi_param P $arg_path;
                            uwsgi_pass 127.0.0.1:%%SAYS%%; }
        location /scgi/   { admission_tier2 on; scgi_param P $arg_path;
                            scgi_pass 127.0.0.1:%%SAYS%%; }
        location /php/    { admission_tier2 on;
                            fastcgi_param QUERY_STRING $args;
                            fastcgi_pass 127.0.0.1:%%PHP%%; }
        location /grpc/well/ { admission_tier2 on;
                               grpc_pass 127.0.0.1:%%WELL%%; }
        location /grpc/busy/ { admission_tier2 on;
                               grpc_pass 127.0.0.1:%%BUSY%%; }
        location /limit/  { admission_tier2 on;
                            admission_rate_limit few rate=1r/h;
                            proxy_pass http://one; }
END
);

my $port = $nginx->port;
my %token;

sub nginx_version () {
    my ($major, $minor) = (run($binary, '-v'))[1] =~ m{nginx/(\d+)\.(\d+)};
    return $major + $minor / 1000;
}

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

    my ($counts, $failed, $retry, $least, $most) = ($wanted // [])->@*;
    my ($response, @told);

    # once more where the machine stood still meanwhile

    for (1 .. 5) {
        my $mark = $nginx->log_mark;

        $response = ask($path, %opt);

        # the line of it comes after the answer, and before the connection is closed

        my $n = $response->header('X-Connection') // '\d+';
        wait_until {
            $nginx->error_log($mark) =~ /\*$n close http connection/
        };
        @told = told($mark);

        last if !defined $most || @told != 1 || $told[0][1] < $most;
    }

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
tells('/late/sale?delay=20', [ 1, 1, 0, 290 ], 'a time-out, with its time');
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

# other protocols

for my $kind (qw(uwsgi scgi)) {
    tells("/$kind/sale?path=/kind/well/", [ 1, 0, 0, 80 ], $kind);
    tells("/$kind/sale?path=/kind/busy/", [ 1, 1, 7, 80 ], "$kind: 503");
    tells("/$kind/sale?path=/kind/half/", [ 1, 1, 0 ], "$kind: half a header");
}
tells('/php/sale', [ 1, 0, 0 ], 'fastcgi');
tells('/php/sale?header=Status:503', [ 1, 1, 0 ], 'fastcgi: 503');
tells('/grpc/well/sale', [ 1, 0, 0, 80 ], 'grpc');
tells('/grpc/busy/sale', [ 1, 1, 7, 80 ], 'grpc: 503');

# what is no answer, or none that says something of the time

tells('/kind/well/sale', [ 1, 0, 0, 80 ], 'an answer, byte by byte');
tells('/kind/half/sale', [ 1, 1, 0 ], 'half a header');
tells('/kind/nought/sale', [ 1, 1, 0 ], 'a connection closed without a word');
tells('/kind/noise/sale', undef, 'what is no HTTP');
tells('/kind/upper/sale', undef, '101',
      headers => [ Upgrade => 'x', Connection => 'upgrade' ]);

# newer ones wait for the answer, others take this for it
if (nginx_version() >= 1.029) {
    tells('/kind/hints/sale', [ 1, 0, 0, 150 ], '103, and the answer');
} else {
    tells('/kind/hints/sale', undef, '103');
}

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

    # once more where the machine stood still, so that it waited for longer

    for (1 .. 5) {
        $mark = $nginx->log_mark;
        my $client = Admission::HTTP->connect($port);

        $client->send(join "\r\n", 'GET /one/sale?delay=20 HTTP/1.1', 'Host: x',
                      'Authorization: Bearer ' . user('ann'),
                      'X-Queue-Entry-Token: ' . token('sale', 'ann'), '', '');
        wait_until { $nginx->error_log($mark) =~ /http upstream request/ };
        select undef, undef, undef, $wait;
        $client->close;

        my @told;
        wait_until { @told = told($mark) };
        last if $counts || !@told || $told[0][1] < 200;
    }
    is_deeply [ map { $_->@[0, 2] } told($mark) ], [ $counts, 0 ], $what;
}

done_testing;
