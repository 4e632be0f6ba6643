# Floods of visitors without cookies, of made-up tickets, events and keys take
# no memory: not in the zone, not in Redis, not in workers.  TEST_FLOOD is how
# many requests of each kind.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Waiting;
use Admission::Zone;
use List::Util qw(sum0);

my $n = $ENV{TEST_FLOOD} // (sanitized ? 500 : 2000);

# on a busy machine calls are slow, of which Redis keeps a log

my $site = waiting_site(workers => 1, timeout => '5s', http => 'keepalive_requests 1000000;',
                        redis_opt => { config => 'slowlog-log-slower-than -1' },
                        server => <<'END');
        location /vwr/ { admission_page tier1; }

        location /any/ {
            admission_event $arg_e;
            admission_tier1 auto;
            empty_gif;
        }
END

my ($redis, $nginx, $port) = ($site->redis, $site->nginx, $site->port);

operator($site, POST => "activate/$_") for qw(concert other);

my $ann = {};
my $ticket = assign($site, 0, $ann)->json->{requestId};
my $forged = jwt_decode($ticket);

# Of those who have a number there are bits, on their way to Redis or in there, by
# how often each is to ask, and a table: these go when nobody waits, and come and go
# meanwhile.

my $there = 16 * 1024 + 4 * 512 * (2 + int($n / 3712));

# In Redis these are strings of bits, of the last seconds, which are as many as there
# were steps in which somebody was told of: what they take is told apart.  All that
# is used is looked at: of what is taken off that for buffers of clients Redis has an
# idea that is a second old.

my $bits = 40 * ($n + 512);

sub memory () {
    my ($used) = $redis->cmd('INFO', 'memory') =~ /^used_memory:(\d+)/m;
    my @keys = $redis->cmd('KEYS', '*')->@*;
    my $told = sum0 map { $redis->cmd('MEMORY', 'USAGE', $_) // 0 }
                    grep { /\}:there/ } @keys;

    return { zone => Admission::Zone::used($nginx, 1 << 20),
             keys => scalar(grep { !/\}:there/ } @keys),
             redis => $used - $told, there => $told,
             rss => rss(($nginx->worker_pids)[0]) };
}


# Kinds of requests: [method, path, status, options]

my $i = 0;
my $warm = 1;

my %flood = (
    'new visitors' => sub { (POST => '/vwr-api/assign/concert', 200) },
    'visitors of 2 events, by pages without JavaScript' => sub {
        my $event = $i % 2 ? 'concert' : 'other';
        return (GET => "/vwr/$event?nojs=1", 200,
                headers => [ Accept => 'text/html' ]);
    },
    'keys of calls to repeat' => sub {
        return (POST => '/vwr-api/assign/concert', 200,
                headers => [ 'Idempotency-Key' => sprintf 'key-%020d', $i ]);
    },
    'polls of one ticket' => sub {
        return (GET => "/vwr-api/check/concert/$ticket", 200);
    },
    'polls of forged tickets' => sub {
        return (GET => '/vwr-api/check/concert/'
                       . jwt_sign({ %$forged, p => $i }, 'x' x 32), 404);
    },
    'polls of events that are none' => sub {
        return (GET => "/vwr-api/status/none-$i", 200);
    },
    'visitors of events that are none' => sub {
        return (POST => "/vwr-api/assign/none-$i", 404);
    },
    'gated requests of events that are none' => sub {
        return (GET => "/any/?e=none-$i", 200);
    },
    'pages of events that are none' => sub {
        return (GET => "/vwr/none-$i", 200);
    },
);

# there is a share of the zone for keys, which is full once

flood('keys of calls to repeat');
$warm = 0;
flood($_) for sort keys %flood;


sub flood ($kind) {
    my $connection = Admission::HTTP->connect($port);
    my $bad = 0;
    my $before;

    # some of them first: pools, caches and Redis's scripts have a size

    for my $at (1 .. $n + $n / 4) {
        $before = memory() if $at == int($n / 4) + 1;
        $i++;

        my ($method, $path, $status, @opt) = $flood{$kind}->();
        my $r = $connection->request($method, $path, @opt);
        $bad++ if $r->status != $status;
    }

    my $after = memory();

    is $bad, 0, "$kind: answered";
    return if $warm;

    cmp_ok $after->{zone} - $before->{zone}, '<=', $there,
        "$kind: nothing of the zone but who is there";
    is $after->{keys}, $before->{keys}, "$kind: no key in Redis";
    cmp_ok $after->{redis} - $before->{redis}, '<', 64 * 1024,
        "$kind: no memory of Redis";        # but for buffers of clients
    cmp_ok $after->{there}, '<=', $bits, "$kind: but who is there";
    cmp_ok $after->{rss} - $before->{rss}, '<', 1_000_000,
        "$kind: none of the worker" if !sanitized;

    note sprintf '%-50s zone %d, Redis %d and worker %d KB %s', $kind,
        $after->{zone}, $after->{redis}, $after->{rss} / 1024,
        "after $n more";
}

done_testing;
