# A line that nobody passes before a sale starts, though more and more join: that
# says nothing of how fast it goes, nor of how sure that is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Site;
use Admission::Stream;

use POSIX qw(strftime);
use Time::HiRes qw(sleep time);

my $starts = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime time + 86400);
my $site = Admission::Site->start(
    timeout => '60s',
    events  => "default threshold=1 opens=2020-01-01T00:00:00Z starts=$starts;");
my $redis = $site->redis;

sub joins ($user) {
    return answered { $site->call(0, $user => POST => 'check') }->json;
}

# how far the range of ann's wait goes; she never moves

sub width () {
    my $told = answered { $site->call(0, ann => GET => 'status') }->json;
    my ($low, $high) = $told->{estimatedWaitRange}->@*;

    is $told->{position}, 2002, 'the same position';
    return $high - $low;
}

# two thousand are ahead whom nobody hears of

is joins('first')->{position}, 1, 'a lobby';

my $t = $redis->cmd('TIME');
my $from = $t->[0] * 1e6 + $t->[1];
for my $part (0, 1) {
    my @n = map { $part * 1000 + $_ } 1 .. 1000;
    $redis->cmd('ZADD', $site->key('seen'),
                map { (sprintf('%.0f', $from / 1000 + 3_600_000), "fake$_") } @n);
    $redis->cmd('ZADD', $site->key('queue'),
                map { (sprintf('%.0f', 2 * ($from + $_) + 1), "fake$_") } @n);
}
wait_until { my $now = $redis->cmd('TIME');
             $now->[0] * 1e6 + $now->[1] > $from + 2001 };

my $ann = Admission::Stream->open($site->port,
                                  '/api/queue/stream/concert?join=1',
                                  bearer => $site->user('ann'));
is $ann->message->{position}, 2002, 'behind two thousand';
my $width = width();
cmp_ok $width, '>', 0, "nobody knows yet: $width s from one end to the other";

# the event's clock goes on by who joins: through two intervals that are measured

my $began = time;
my $n = 0;
while (time - $began < 24) {
    joins('late' . $n++);
    sleep 0.5;
}

is width(), $width, "after $n more have joined it is as wide";
$ann->close;

done_testing;
