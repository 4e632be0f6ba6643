# One connection a worker, whatever it has to do, and none that nobody needs.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Certs;
use Admission::Redis;
use Admission::Site;
use Admission::Swarm;

my $ca = Admission::Certs->new('ca');
my $redis = Admission::Redis->start(
    tls => [ $ca, $ca->issue('redis', 'IP:127.0.0.1') ]);

sub connections () {
    return scalar grep { /\buser=tickets\b/ }
           split /\n/, $redis->cmd('CLIENT', 'LIST');
}

# how many were ever made, the test's own taken off by the caller

sub received () {
    return ($redis->cmd('INFO', 'stats')
            =~ /^total_connections_received:(\d+)/m)[0];
}

# so many calls, at many at once, spread over the workers: each has a
# connection of its own

sub calls ($site, $n) {
    my $swarm = Admission::Swarm->new(connections => 100, keepalive => 0);
    my %statuses;

    for my $i (1 .. $n) {
        $swarm->request($site->port($i % 2), 'POST',
                        "/api/queue/check/$site->{event}",
                        { bearer => $site->user("user-$i") },
                        sub ($r) { $statuses{ $r->status || $r->error }++ });
    }

    $swarm->run(until => sub { !$swarm->pending });
    return \%statuses;
}

for my $tls (0, 1) {
    my $what = $tls ? 'TLS' : 'TCP';
    my $url = $redis->url(tls => $tls) . ($tls ? ' tls_ca=' . $ca->cert : '');
    my $site = Admission::Site->start(
        redis => $redis, redis_url => $url, instances => 2, workers => 2,
        timeout => '5s', event => lc $what);

    my $before = received();

    is_deeply calls($site, 1000), { 200 => 1000 }, "$what: calls";
    cmp_ok connections(), '<=', 4, "$what: one connection a worker";
    cmp_ok received() - $before, '<=', 4, "$what: and ever made no more";

    # of a reload, a killed worker, and the end

    $site->nginx(0)->reload;
    is_deeply calls($site, 200), { 200 => 200 }, "$what: after a reload";
    ok +(wait_until { connections() <= 4 } 20),
        "$what: those of before are closed";

    $site->nginx(1)->kill_worker('KILL');
    is_deeply calls($site, 200), { 200 => 200 }, "$what: another worker";
    ok +(wait_until { connections() <= 4 } 20), "$what: no more connections";

    my ($worker) = $site->nginx(0)->worker_pids;
    my $fds = fd_count($worker);

    for (1 .. 20) {
        $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');
        calls($site, 20);
    }

    ok +(wait_until { (calls($site, 20)->{200} // 0) == 20 } 20),
        "$what: goes on";
    ok +(wait_until { fd_count($worker) <= $fds + 1 } 20),
       "$what: no descriptor is left";

    $_->quit for $site->nginx(0), $site->nginx(1);
    ok +(wait_until { !connections() } 20), "$what: none after the end";
    unlike $site->nginx($_)->error_log, qr/open socket/,
           "$what: none was left open" for 0, 1;
}

done_testing;
