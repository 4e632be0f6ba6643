# What a worker counted, streams and connections to Redis, counts no more when it
# is killed: one that was replaced, and one that was on its way out, whose slot
# nobody has for a long time.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Stream;
use Admission::Waiting;
use Admission::Zone;

my $site = waiting_site(
    workers => 1, timeout => '5s', events => 'default vwr_rate=0;',
    server => 'location = /metrics { admission_metrics; }');

my $port = $site->port;
my $nginx = $site->nginx;
my $ann = {};

operator($site, POST => 'activate/concert');
assign($site, 0, $ann);

sub open_streams () {
    return map {
        Admission::Stream->open($port, '/vwr-api/stream/concert/'
                                . $ann->{'admission-ticket-concert'},
                                cookies => $ann)
    } 1 .. 3;
}

sub metric ($name) { return metrics($port)->value($name) }

my @open = open_streams;
is metric('streams'), 3, 'open ones';
ok((wait_until { metric('redis_connections') == 1 }), 'one connection to Redis');

$nginx->kill_worker;
ok((wait_until { metric('streams') == 0 }), 'killed, and replaced');

@open = open_streams;
is metric('streams'), 3, 'of the one after it';
is assign($site, 0, {})->status, 200, 'which asks Redis';
is metric('redis_connections'), 1, 'by a connection of its own';

my $old = Admission::Zone::stop_outside($nginx, 1 << 20);
$nginx->reload(wait => 0);
is assign($site, 0, {})->status, 200, 'the next worker asks Redis';
is metric('redis_connections'), 2, 'by a connection beside the other one';
is metric('streams'), 3, 'one that stands still has them';

kill KILL => $old;
ok((wait_until { metric('streams') == 0 }), 'killed on its way out');
ok((wait_until { metric('redis_connections') == 1 }), 'as its connection is');
$nginx->allow(qr/worker process $old exited on signal 9/);

@open = open_streams;
is metric('streams'), 3, 'others are counted';

done_testing;
