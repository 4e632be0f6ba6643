# admission_tier2 strict=on: the gate asks Redis whether the user is active.
# Redis that says no, errors, nothing; clients that go meanwhile.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Socket ();

use Admission::Backend;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

sub start ($timeout) {
    return Admission::Nginx->start(
        vars => { REDIS => $redis->url, BACKEND => $backend->port },
        http => <<"END",
    admission_redis %%REDIS%% timeout=$timeout;
    admission_secret user $user_secret;
    admission_secret tier2 $tier2_secret;
    map \$request_uri \$event_id { ~(?<id>event[0-9])  \$id; }
    log_format verdict "\$request_uri \$admission_verdict \$admission_reason";
END
        server => <<'END',
        listen           127.0.0.1:%%PORT_h2%% http2;
        access_log       %%DIR%%/verdicts.log verdict;
        keepalive_timeout 60s;
        root             %%DIR%%;
        admission_event  $event_id;
        admission_user   jwt;

        location /strict/  { admission_tier2 on strict=on;
                             proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /last/    { admission_tier2 on strict=on;
                             try_files /none @again; }
        location @again    { admission_tier2 on strict=on;
                             proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /status/  { admission_tier2 on strict=on;
                             admission_deny status;
                             error_page 503 /busy; empty_gif; }
        location = /busy   { return 503 busy; }
        location /late/    { admission_user $arg_user;
                             admission_tier2 on strict=on;
                             proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /lax/     { admission_tier2 on; empty_gif; }
        location = /now    { stub_status; }
END
    );
}

# one that waits for as long as a machine may stand still

my $nginx = start('60s');

my @tokens = (cookies => {
    access_token => user_token($user_secret, userId => 'alice'),
    'urr-entry-token' => entry_token($tier2_secret, sub => 'event1',
                                     uid => 'alice') });

sub ask ($path, %opt) {
    return request($nginx->port, $opt{method} // 'GET', $path, @tokens, %opt);
}

sub passes_again () {
    return wait_until { ask('/strict/event1')->status == 200 } 20;
}

# connections there are, or requests that wait, besides the one that looks

sub now ($what) {
    my $status = get($nginx->port, '/now')->body;
    return $status =~ /$what: (\d+)/ ? $1 - 1 : -1;
}

sub activate ($seconds = 600) {
    $redis->cmd('ZADD', '{event1}:active', (time + $seconds) * 1000, 'alice');
}


# ---- what Redis says

my $response = ask('/strict/event1');

is $response->status, 403, 'not active: denied';
like $response->body, qr/TIER2_REQUIRED/, 'as without a token';

activate;

is ask('/strict/event1')->status, 200, 'active: passes';
is ask('/late/event1?user=alice')->status, 200, 'after the access phase, too';
is ask('/last/event1')->status, 200, 'once for each location';

my $post = ask('/strict/event1', method => 'POST', body => 'b' x 100_000);

is length $post->json->{body}, 100_000, 'a body is there afterwards';

my $monitor = $redis->monitor;
ask('/strict/event1');
is scalar(grep { lc $_->[0] eq 'zscore' } $monitor->commands), 1,
    'one command a request';

activate(-60);
is ask('/strict/event1')->status, 403, 'not any more: denied';

activate;


# ---- connections

my $connection = Admission::HTTP->connect($nginx->port);

for my $n (1 .. 3) {
    is $connection->request('GET', "/strict/event1?$n", @tokens)->status, 200,
        "keepalive: request $n";
}

$connection->send(join '',
    map { Admission::HTTP::compose('GET', "/strict/event1?n=$_", @tokens) }
    1 .. 3);

for my $n (1 .. 3) {
    is $connection->response->json->{uri}, "/strict/event1?n=$n",
        "pipelined: request $n";
}

$connection->send(Admission::HTTP::compose(
    'POST', '/strict/event1', @tokens,
    headers => ['Content-Length', 20]));
sleep 0.2;
$connection->send('0123456789');
sleep 0.2;
$connection->send('abcdefghij');

is $connection->response->json->{body}, '0123456789abcdefghij',
    'a body that comes late';
$connection->close;


# ---- Redis says nothing, to one whose deadline counts

my $patient = $nginx;
$nginx = start('500ms');
ok passes_again(), 'passes';

$redis->sigstop;

$response = ask('/strict/event1');

is $response->status, 503, 'Redis hangs: 503';
is $response->json->{code}, 'UNAVAILABLE', 'with its code';

# unless the machine stands still just then

my $took = $response->time;

for (1 .. 3) {
    last if $took < 1 * slow;
    $took = ask('/strict/event1')->time;
}

cmp_ok $took, '<', 1 * slow, 'in time';
is $response->header('Retry-After'), $response->json->{retryAfter},
    'Retry-After, the same in both places';
cmp_ok $response->header('Retry-After'), '>=', 1, 'at least 1';

$response = ask('/status/event1');

is $response->status, 503, 'Redis hangs: a bare status';
is $response->body, 'busy', 'with its error_page';
ok $response->header('Retry-After'), 'and Retry-After';

is ask('/late/event1?user=alice')->status, 503, 'after the access phase';
is ask('/lax/event1')->status, 200, 'strict=off asks nobody';

$redis->sigcont;

ok passes_again(), 'Redis goes on: passes again';


# ---- clients that go while Redis hangs

my $hasty = $nginx;
$nginx = $patient;

ok passes_again(), 'passes';
wait_until { now('connections') == 0 } 10;

my ($worker) = $nginx->worker_pids;
my $fds = fd_count($worker);
my $mark = $nginx->log_mark;

sub gone () {
    return scalar(() = $nginx->error_log($mark)
                       =~ /client prematurely closed connection/g);
}

$redis->sigstop;

my @clients = map { Admission::HTTP->connect($nginx->port) } 1 .. 60;

for my $n (0 .. $#clients) {
    my @body = $n % 2 ? (headers => ['Content-Length', 10]) : ();

    $clients[$n]->send(Admission::HTTP::compose(
        $n % 2 ? 'POST' : 'GET', '/strict/event1?gone', @tokens, @body));
}

ok +(wait_until { now('Writing') == @clients } 20), 'clients wait';

for my $n (0 .. $#clients) {

    # some by a RST

    setsockopt $clients[$n]->socket, Socket::SOL_SOCKET, Socket::SO_LINGER,
        pack('ii', 1, 0) if $n % 3 == 0;

    $clients[$n]->close;
}

ok +(wait_until { now('connections') == 0 } 20),
    'their connections are closed';
ok +(wait_until { fd_count($worker) <= $fds } 20), 'and nothing else is open';
cmp_ok gone(), '>', 0, 'before Redis or the deadline answered';

$redis->sigcont;

ok passes_again(), 'and nothing else happens';


my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
my $cookies = join '; ', map { "$_=$tokens[1]{$_}" } sort keys %{ $tokens[1] };

sub stream ($n) {
    $h2->headers($n, 'GET', "/strict/event1?$n",
                 headers => [cookie => $cookies]);
}

$redis->sigstop;
stream($_) for 1, 3;
ok +(wait_until { now('Writing') == 2 } 20), 'HTTP/2: two streams wait';
$h2->reset(1);
ok +(wait_until { now('Writing') == 1 } 20), 'HTTP/2: then one';
$redis->sigcont;

like $h2->body(3), qr/event1\?3/, 'HTTP/2: another stream is reset';

$redis->sigstop;
stream($_) for 5, 7;
ok +(wait_until { now('Writing') == 2 } 20), 'HTTP/2: two more wait';
$h2->close;
ok +(wait_until { now('connections') == 0 } 20),
    'HTTP/2: the connection closes';
ok +(wait_until { fd_count($worker) <= $fds } 20), 'and nothing else is open';
$redis->sigcont;

ok passes_again(), 'and nothing else happens';


# ---- Redis is not there

$redis->stop;

is ask('/strict/event1')->status, 503, 'Redis gone: 503';
is ask('/lax/event1')->status, 200, 'strict=off asks nobody';

$redis->restart;
activate;

ok passes_again(), 'Redis back: passes again';

$redis->cmd('SET', '{event1}:active', 'no set');

is ask('/strict/event1')->status, 503, 'Redis answers with an error: 503';

ok wait_until(sub {
    read_file($nginx->dir . '/verdicts.log')
        =~ m{^/strict/event1 error redis$}m
}), 'the log knows';

# a worker that ends while requests wait

$redis->cmd('DEL', '{event1}:active');
activate;
$nginx = $hasty;
ok passes_again(), 'passes';
$redis->sigstop;

my @waiting = map { Admission::HTTP->connect($nginx->port) } 1 .. 5;
$_->send(Admission::HTTP::compose('GET', '/strict/event1', @tokens))
    for @waiting;

# all, or the deadline was first

wait_until { now('Writing') == 5 } 0.5;
$nginx->reload;

is_deeply [ map { $_->response->status } @waiting ], [ (503) x 5 ],
    'a worker that quits answers first';

$redis->sigcont;

done_testing;
