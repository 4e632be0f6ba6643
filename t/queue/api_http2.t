# The queue API over HTTP/2, frame by frame: bodies of known and unknown
# length, streams that are reset in the middle of a call.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $redis = Admission::Redis->start;

# no call comes to its end by its time

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
    admission_user    jwt;

    server {
        listen                    127.0.0.1:%%PORT_h2%% http2;
        location /                { admission_queue_api; }
        location /small/          { client_body_buffer_size 16;
                                    admission_queue_api; }
    }
END
        location / { admission_queue_api; }
END


# ---- frames

use constant { DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4,
               GOAWAY => 7, WINDOW_UPDATE => 8,
               END_STREAM => 1, END_HEADERS => 4 };

sub frame ($type, $flags, $stream, $payload = '') {
    return substr(pack('N', length $payload), 1)
           . pack('CCN', $type, $flags, $stream) . $payload;
}

sub text ($text) {
    my $n = length $text;
    return pack('C', $n) . $text if $n < 127;

    my $bytes = pack 'C', 127;

    for ($n -= 127; $n >= 128; $n >>= 7) {
        $bytes .= pack 'C', $n % 128 + 128;
    }

    return $bytes . pack('C', $n) . $text;
}

sub headers ($stream, $method, $path, $who, $flags, @more) {
    my @headers = (':method' => $method, ':path' => $path, ':scheme' => 'http',
                   ':authority' => 'x',
                   authorization => 'Bearer '
                                    . user_token($user, userId => $who), @more);

    my $block = '';

    while (my ($name, $value) = splice @headers, 0, 2) {
        $block .= "\0" . text($name) . text($value);
    }

    return frame(HEADERS, END_HEADERS | $flags, $stream, $block);
}

sub open_h2 () {
    my $c = Admission::HTTP->connect($nginx->port('h2'));

    $c->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(SETTINGS, 0, 0)
             . frame(WINDOW_UPDATE, 0, 0, pack 'N', 1_000_000));
    return $c;
}

# Reads frames until a stream ends or is reset; returns its data, or undef.

sub stream_data ($c, $stream, $timeout = 10) {
    my $data = '';

    while (my $head = $c->read_until(qr/^.{9}/s, $timeout)) {
        my ($high, $low, $type, $flags, $id) = unpack 'CnCCN', $head;
        my $length = ($high << 16) + $low;
        my $payload = $length ? $c->read_until(qr/^.{$length}/s, $timeout)
                              : '';

        return if $type == GOAWAY;
        next if $id != $stream;
        return if $type == RST_STREAM && $data eq '';

        $data .= $payload if $type == DATA;
        return $data if $type == RST_STREAM || $flags & END_STREAM;
    }

    return;
}

sub answer ($data) {
    my $json = eval { json_decode($data) } // {};
    return $json->{code} // $json->{status} // $data // 'nothing';
}


# ---- calls and bodies

my $c = open_h2();
my $stream = -1;

sub call ($method, $path, @body) {
    $stream += 2;
    $c->send(headers($stream, $method, $path, 'alice',
                     @body ? 0 : END_STREAM));

    while (@body) {
        my $part = shift @body;
        $c->send(frame(DATA, @body ? 0 : END_STREAM, $stream, $part));
        select undef, undef, undef, 0.02;
    }

    return answer(stream_data($c, $stream));
}

for my $prefix ('', '/small') {
    my $check = "$prefix/check/e";

    is call('POST', $check), 'active', "$check";
    is call('GET', "$prefix/status/e"), 'active', "$prefix status";
    is call('POST', $check, ''), 'active', "$check: empty body";
    is call('POST', $check, '', ''), 'active', "$check: very empty body";
    is call('POST', $check, '{}'), 'active', "$check: body";
    is call('POST', $check, '{"a"', ': "b"', '}'), 'active', "$check: parts";
    is call('POST', $check, '{"a": "' . 'x' x 4000, '"}', ''), 'active',
        "$check: large enough";
    is call('POST', $check, '{"a"', ': "b"'), 'INVALID_JSON', "$check: broken";
    is call('POST', $check, ('x' x 1000) x 5), 'PAYLOAD_TOO_LARGE',
        "$check: too large";
    is call('POST', $check, ('x' x 8000) x 5), 'PAYLOAD_TOO_LARGE',
        "$check: much too large";
    is call('POST', "$prefix/none", ('x' x 1000) x 5), 'NOT_FOUND',
        "$prefix: a body for nothing";
    is call('POST', "$prefix/leave/e?beacon=1", ('x' x 1000) x 9),
        '{"message":"Left queue"}', "$prefix: a beacon";
    is call('POST', $check), 'active', "$check: the connection goes on";
}


# ---- streams that are reset

my ($worker) = $nginx->worker_pids;
my $fds = fd_count($worker);

$redis->sigstop;

my @gone;

for my $n (1 .. 100) {
    my $c = $n % 10 == 1 ? open_h2() : $gone[-1];
    my $id = 2 * $n - 1;
    push @gone, $c if $n % 10 == 1;

    if ($n % 4 == 0) {
        $c->send(headers($id, 'POST', '/check/e', "gone$n", END_STREAM));

    } else {
        # the body may be complete, not yet, or never
        $c->send(headers($id, 'POST', '/check/e', "gone$n", 0)
                 . frame(DATA, $n % 4 == 1 ? END_STREAM : 0, $id, '{}'));
    }

    select undef, undef, undef, 0.01 if $n % 3 == 0;
    $c->send(frame(RST_STREAM, 0, $id, pack 'N', 8)) if $n % 5;
}

select undef, undef, undef, 0.2;

$_->close for @gone;

ok wait_until { fd_count($worker) <= $fds + 1 },
    'calls that were reset are let go while Redis is silent';

$redis->sigcont;

ok wait_until { call('POST', '/check/e') eq 'active' },
    'and others are served when it speaks again';
is_deeply [ $nginx->worker_pids ], [ $worker ], 'the worker lives';

$c->close;

done_testing;
