# A zone in which rooms leave no room: who comes late still goes in, one after the
# other, and Redis hears that somebody came.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Waiting;

# Redis's clock is the test's own
my $site = waiting_site(workers => 1, zone => '64k', timeout => '5s',
    redis_opt => { clock => 1 },
    events => 'default vwr_rate=0 session_max=600s;',
    server => 'location = /metrics { admission_metrics; }');

my $redis = $site->redis;
my $port = $site->port;

operator($site, POST => 'activate/concert');
wait_until { get($port, '/vwr-api/status/concert')->json->{isActive} };

my @visitors = map { {} } 1 .. 4;
my @tickets = map { assign($site, 0, $_)->json->{requestId} } @visitors;

# others are activated, more than there is room for
my $us = sprintf '%.0f', $redis->cmd('TIME')->[0] * 1e6;
my @events = map { sprintf '3f0c2b1e-0000-4000-8000-%012d', $_ } 1 .. 300;

for my $event (@events) {
    $redis->cmd('HSET', "{$event}:vwr", active => 1, next => 100, serving => 0,
                activation => $us, changed => $us, updated => $us, api_rate => 0,
                set_by => 'api');
}
$redis->cmd('SADD', 'vwr:active-events', @events);

$site->nginx->allow(qr/zone is too small/);
ok wait_until(sub {
    $site->nginx->error_log =~ /zone is too small for all active/
        && metrics($port)->value('zone_free_bytes') == 0;
}, 20), 'they fill the zone';

advance_past($site);

my $later = 40;
$redis->set_clock($later);
wait_until { $redis->cmd('HGET', '{concert}:vwr', 'updated') / 1e6
             >= $redis->cmd('TIME')->[0] - 1 };

for my $i (reverse 0 .. 3) {
    my $r;
    ok wait_until(sub {
        $r = check($site, 0, $visitors[$i], $tickets[$i]);
        return $r->json->{admitted};
    }, 20), 'one who comes late is let in, position ' . ($i + 1);
    ok $r->json->{token}, 'with a token';
    ok defined $redis->cmd('ZSCORE', '{concert}:late', $i + 1), 'as Redis knows';
}

done_testing;
