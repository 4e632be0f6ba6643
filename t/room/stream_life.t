# How streams end: with the client, with the worker, for want of a reader; how
# many there may be, and HTTP/2.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::Metrics;
use Admission::Stream;
use Admission::Waiting;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_RCVBUF pack_sockaddr_in inet_aton);

my $site = waiting_site(
    workers => 1, timeout => '5s', events => 'default vwr_rate=0;',
    server => 'location = /metrics { admission_metrics; }', http => <<'END');
    admission_streams max=150;

    server {
        listen 127.0.0.1:%%PORT_h2%% http2;
        location / { admission_vwr_api; }
    }

    server {
        listen 127.0.0.1:%%PORT_small%% sndbuf=4k;
        send_timeout 2s;
        location / { admission_vwr_api; }
    }
END

my $port = $site->port;
my $nginx = $site->nginx;
my $ann = {};

operator($site, POST => 'activate/concert');
assign($site, 0, $ann);

my $path = '/vwr-api/stream/concert/' . $ann->{'admission-ticket-concert'};
my $check = $path =~ s/stream/check/r;

sub metric ($name, %labels) { return metrics($port)->value($name, %labels) }

sub open_stream () {
    return Admission::Stream->open($port, $path, cookies => $ann);
}


# ---- HTTP/2

my $h2 = Admission::HTTP2->connect($nginx->port('h2'));

$h2->headers($_, 'GET', $path) for 1, 3;

like $h2->part($_, qr/\n\n/), qr/^retry: \d+\ndata: \{"admitted":false,/,
    "HTTP/2, stream $_" for 1, 3;
is metric('streams'), 2, 'both are open';

assign($site, 0, {});
like $h2->part($_, qr/"totalInQueue":2,/), qr/\n\ndata: .*\n\n/s,
    "news on stream $_" for 1, 3;

$h2->reset(1);
ok((wait_until { metric('streams') == 1 }), 'one that is reset is closed');

$h2->headers(5, 'GET', $check);
like $h2->body(5), qr/"totalInQueue":2,/, 'a poll beside it';

$h2->close;
ok((wait_until { metric('streams') == 0 }), 'the other one with the connection');


# ---- whoever does not read

my $word = 'x' x 500;
my $socket = IO::Socket::INET->new(Proto => 'tcp');

setsockopt $socket, SOL_SOCKET, SO_RCVBUF, 2048;
connect $socket, pack_sockaddr_in($nginx->port('small'),
                                  inet_aton('127.0.0.1'));
syswrite $socket, Admission::HTTP::compose('GET', $path);

operator($site, PUT => 'notice/concert', json => { en => $word });

ok((wait_until { assign($site, 0, {}); metric('streams_ended_total',
                                             why => 'slow') } 40), 'is told no more');
is metric('streams'), 0, 'and its stream is closed';

operator($site, DELETE => 'notice/concert');


# ---- many, and one too many

my @streams = map { open_stream } 1 .. 150;

is scalar(grep { ($_->message // {})->{position} } @streams), 150, 'many';

my $more = open_stream;

is $more->status, 503, 'one too many';
is $more->header('Retry-After'), 60, 'for a while';
is $more->json->{code}, 'STREAMS_FULL', 'since there are so many';
is metric('streams_refused_total'), 1, 'which is counted';
is get($port, $check)->status, 200, 'polls are answered';

(pop @streams)->close;
wait_until { metric('streams') == 149 };

push @streams, open_stream;
ok $streams[-1]->message, 'where one goes another may come';


# ---- a reload

$h2 = Admission::HTTP2->connect($nginx->port('h2'));
(pop @streams)->close;
wait_until { metric('streams') == 149 };
$h2->headers(1, 'GET', $path);
ok $h2->part(1, qr/\n\n/), 'one over HTTP/2 among them';

my $took = stopwatch;

$nginx->reload(wait => 0);

ok $_->message_that(sub ($m) { ($m->{status} // '') eq 'reconnect' }),
    'is told of it' for @streams[0, -1];
is scalar(grep { $_->ended && $_->{whole} } @streams), 149,
    'all are ended, in good order';
like $h2->body(1), qr/\ndata: \{"status":"reconnect"\}\n\n$/,
    'over HTTP/2 as well';
$h2->close;
ok((wait_until { !$nginx->old_worker_pids } 10), 'the old worker is gone');
cmp_ok $took->(), '<', 5 * slow, 'soon';

my @retries = sort { $a <=> $b } map { $_->retry } @streams;
my @seconds;
$seconds[$_ / 1000]++ for @retries;

cmp_ok $retries[0], '>=', 1000, 'they are told when to come again';
cmp_ok $retries[-1], '<', 9000, 'within some seconds';
cmp_ok((sort { $b <=> $a } map { $_ // 0 } @seconds)[0], '<', 150 * .3,
       'not all at once');

ok open_stream->message, 'the new worker has streams';

done_testing;
