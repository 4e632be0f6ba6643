# Rate limits in a Redis cluster: limits of a location whose windows are on
# several nodes are asked at the same time, all or none is charged, and one
# node that hangs is as if it alone were down.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Cluster;
use Admission::HTTP;
use Admission::Nginx;

# a node may hang for a while without the others calling the cluster down
my $cluster = Admission::Cluster->start(replicas => 0, timeout => 20_000);
my @masters = $cluster->masters;

sub start ($timeout) {
    return Admission::Nginx->start(
        vars => { REDIS => $cluster->url },
        http => "admission_redis %%REDIS%% cluster=on timeout=$timeout;",
        server => <<'END');
        location /one/   { empty_gif;
                           admission_rate_limit one rate=2r/m key=$arg_k; }
        location /both/  { empty_gif;
                           admission_rate_limit log rate=3r/m key=$arg_k;
                           admission_rate_limit counter rate=1000r/m
                               key=$arg_c;
                           admission_rate_limit last rate=2r/m key=$arg_l; }
END
}

# it waits for as long as a machine may stand still

my $port = start('60s')->port;

sub statuses ($n, $path) {
    return join ' ', map { get($port, $path, timeout => 60)->status } 1 .. $n;
}

sub node_of ($key) { return $cluster->master_of($key) }

# a client of a category whose window is on that node
sub client_on ($category, $node) {
    state $n = 0;

    while (1) {
        my $client = 'c' . ++$n;
        return $client if node_of("rate:$category:$client") == $node;
    }
}

sub log_of ($client) {
    my $key = "rate:log:$client";
    return node_of($key)->cmd('ZCARD', $key);
}

sub counter_of ($client) {
    my $key = "rate:counter:$client";
    return node_of($key)->cmd('HGET', $key, 'c');
}


for my $i (0 .. 2) {
    is statuses(3, '/one/?k=' . client_on('one', $masters[$i])),
        '200 200 429', "one limit, on node $i";
}

# every way round, so that each node has each script

for my $i (0 .. 2) {
    my @nodes = @masters[ map { ($i + $_) % 3 } 0 .. 2 ];
    my ($log, $counter, $last) = (client_on('log', $nodes[0]),
                                  client_on('counter', $nodes[1]),
                                  client_on('last', $nodes[2]));

    my $ok = get($port, "/both/?k=$log&c=$counter&l=$last");

    is $ok->header('RateLimit'), '"last";r=1;t=60', "$i: the strictest";
    is get($port, "/both/?k=$log&c=$counter&l=$last")->status, 200, 'twice';

    my $no = get($port, "/both/?k=$log&c=$counter&l=$last");

    is $no->status, 429, 'the third is refused';
    like $no->header('RateLimit'), qr/^"last";r=0;/, 'by the last one';

    ok +(wait_until { log_of($log) == 2 && counter_of($counter) == 2 }),
        'the others have their entries back';
    is statuses(4, "/both/?k=$log&c=$counter&l="), '200 429 429 429',
        'as if it had never come';
    ok +(wait_until { counter_of($counter) == 3 }), 'nor the refused ones';
    cmp_ok node_of("rate:counter:$counter")->cmd('PTTL',
                                                 "rate:counter:$counter"),
        '>', 0, 'with a TTL';
}


# One node hangs: its windows are counted here, those of the others there, by a
# host that waits for no longer than that, but for longer than another one may
# be late on a busy machine.

$port = start(5 * slow() . 's')->port;

for my $node (@masters) {
    my $k = client_on('one', $node);

    ok +(wait_until { get($port, "/one/?k=$k");
                      $node->cmd('EXISTS', "rate:one:$k") } 20),
        'it knows all nodes';
}

my $log = client_on('log', $masters[0]);
my $last = client_on('last', $masters[1]);

$masters[1]->sigstop;

is statuses(3, "/both/?k=$log&c=&l=$last"), '200 200 429',
    'one node hangs: the host counts for it';
ok +(wait_until { log_of($log) == 2 }),
    'and what was charged on another one is given back';

$masters[1]->sigcont;

ok +(wait_until { get($port, "/both/?k=x&c=&l=back$_") for 1 .. 3;
                  my $k = client_on('one', $masters[1]);
                  get($port, "/one/?k=$k");
                  $masters[1]->cmd('EXISTS', "rate:one:$k") } 60),
    'it goes on, and counts again';

done_testing;
