# 10,000 events whose waiting room is active, of which a host with a zone of 8m
# that has just been started learns from Redis, all of them.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Redis;
use Admission::Site;
use Admission::Zone;

my $n = $ENV{TEST_EVENTS} // (sanitized ? 2000 : 10_000);
my $size = 8 << 20;

my $redis = Admission::Redis->start;
my $now = int(time * 1e6);
my @events = map { sprintf '3f0c2b1e-0000-4000-8000-%012d', $_ } 1 .. $n;

for my $event (@events) {
    my @state = (active => 1, next => 100, serving => 0, activation => $now,
                 changed => $now, updated => $now, api_rate => 0,
                 set_by => 'api');

    $redis->cmd('HSET', "{$event}:vwr", @state);
}

$redis->cmd('SADD', 'vwr:active-events', @events);

my $site = Admission::Site->start(redis => $redis, workers => 1,
    timeout => '10s', zone => '8m',
    http => 'keepalive_requests 1000000;', server => <<'END');
        location /vwr-api/ { admission_vwr_api; }

        location /gated/ {
            admission_event $arg_e;
            admission_tier1 auto;
            empty_gif;
        }
END

my $connection = Admission::HTTP->connect($site->port, timeout => 60);

sub known ($event) {
    my $r = $connection->request('GET', "/vwr-api/status/$event")->json;
    return $r->{isActive} && $r->{totalInQueue} == 100;
}

# a request waits until it is known, and is not let in meanwhile

is $connection->request('GET', "/gated/?e=$events[-1]")->status, 403,
    'the first request waits';

my @left = @events;
ok((wait_until { @left = grep { !known($_) } @left; !@left } 120),
   "$n events are known") or diag scalar @left;

my $used = Admission::Zone::used($site->nginx, $size);
note sprintf '%d bytes of %d, %d an event', $used, $size, $used / $n;

unlike $site->nginx->error_log, qr/the zone is too small/,
    'the zone was large enough';

done_testing;
