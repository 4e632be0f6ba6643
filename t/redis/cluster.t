# A Redis cluster: every script on every node, redirections, seeds that are
# gone, nodes that come and go, and slots that move.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Cluster;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Site;
use Admission::Waiting;

use Time::HiRes qw(sleep time);

my $cluster = Admission::Cluster->start(replicas => 0);
my @masters = $cluster->masters;
my @events = map { $cluster->event_of($_) } @masters;

is scalar @masters, 3, 'three masters';


# ---- every script, with keys on every node

# of each call; a second one would be seen

my $timeout = 3;
my $site = waiting_site(redis => $cluster, workers => 1,
                        timeout => $timeout . 's',
                        events => 'default threshold=2 vwr_rate=0;',
                        server => <<'END');
        location ~ ^/in/(?<of>[^/]+)$ {
            admission_event $of;
            admission_tier2 on;
            empty_gif;
        }
END

sub ask ($event, $user, $method, $call, %opt) {
    local $site->{event} = $event;
    return $site->call(0, $user, $method, $call, %opt);
}

for my $event (@events) {
    is ask($event, $_, POST => 'check')->json->{status}, 'active',
       "$event: $_ is in" for qw(a b);
    is ask($event, 'c', POST => 'check')->json->{position}, 1,
       "$event: c waits";
    is ask($event, 'c', POST => 'heartbeat')->json->{status}, 'queued',
       "$event: heartbeat";

    # joins that come together, and the gate, which tells of who comes by it

    my ($worker) = $site->nginx->worker_pids;
    my @joins = map { Admission::HTTP->connect($site->port) } qw(d e);
    for (@joins) {
        $_->send(Admission::HTTP::compose(GET => '/plain'));
        $_->response;
    }
    kill STOP => $worker;
    $joins[$_]->send(Admission::HTTP::compose(
        POST => "/api/queue/check/$event",
        bearer => $site->user(qw(d e)[$_]))) for 0, 1;
    kill CONT => $worker;
    is_deeply [ map { $_->response('POST')->json->{status} } @joins ],
        [ qw(queued queued) ], "$event: d and e wait";

    my $token = ask($event, 'b', POST => 'heartbeat')->json->{entryToken};
    is request($site->port, GET => "/in/$event", bearer => $site->user('b'),
               headers => [ 'X-Queue-Entry-Token', $token ])->status, 200,
        "$event: b passes";
    ask($event, $_, POST => 'leave') for qw(d e);

    is ask($event, 'a', POST => 'leave')->status, 200, "$event: a leaves";

    my $in = wait_until {
        ask($event, 'c', GET => 'status')->json->{status} eq 'active' } 20;
    ok $in, "$event: the schedule lets c in";

    local $site->{event} = $event;
    is $site->admin(PUT => 'threshold/%s?threshold=3')->status, 200,
       "$event: an operator";
    is $site->admin(POST => 'complete/%s?user=c')->json->{sold}, 1,
       "$event: a purchase";
    is operator($site, POST => "activate/$event")->status, 200,
       "$event: waiting room";
    is assign($site, 0, {}, event => $event)->json->{position}, 1,
       "$event: a ticket";
    is $site->admin(GET => 'notice/%s')->status, 200, "$event: a notice";
    is $site->admin(GET => 'hold/%s')->status, 200, "$event: not held";
    is $site->admin(GET => 'schedule/%s')->status, 200, "$event: times";
    is $site->admin(GET => 'draw/%s')->json->{code}, 'NO_DRAW', "$event: no draw";
}

my @scripts = map { m{(\w+)\.lua$} } glob root . '/lua/*.lua';

# those of rate limits run in t/limit/cluster.t, and what is asked about a token
# whose end was forgotten in revocation_full.t; what is needed is tried on the
# node of one key; no backend is measured here
@scripts = grep { !/^limit|^queue_revoked$|^(needs|follow)$|_lib$/ } @scripts;

cmp_ok scalar(@scripts), '>=', 7, 'all scripts are known here';

for my $name (@scripts) {
    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . "/lua/$name.lua");
    my $sha = Digest::SHA::sha1_hex($text);
    my $on = wait_until {
        3 == grep { $_->cmd('SCRIPT', 'EXISTS', $sha)->[0] } @masters } 20;
    ok $on, "$name has run on all nodes";
}

for my $master (@masters) {
    my ($event) = grep { $cluster->master_of("{$_}") == $master } @events;
    ok scalar($master->cmd('EXISTS', "{$event}:active")),
       "$event is where it belongs";
}

unlike $site->nginx->error_log, qr/CROSSSLOT|replied with an error/,
       'no key was elsewhere';


# ---- one connection a worker and node

my @clients = map {
    [ grep { !/cmd=client/ && !/flags=[SM]/ }
      split /\n/, $_->cmd('CLIENT', 'LIST', 'TYPE', 'normal') ]
} @masters;
is_deeply [ map { scalar @$_ } @clients ], [ 1, 1, 1 ],
          'one connection to each node';


# ---- a slot moves while it is in use

my $event = $events[0];
my ($from, $to) = @masters;
my $slot = $cluster->slot("{$event}");

$_->cmd('CONFIG', 'RESETSTAT') for @masters;
$cluster->move_slot($slot, $from, $to);
is ask($event, 'b', POST => 'check')->json->{status}, 'active',
   'moved: b is still in';
is scalar(grep { ask($event, "d$_", POST => 'check')->status != 200 } 1 .. 20),
   0, 'and others join';

# half of it there: calls wait for the rest of it

$to->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $from->{node_id});
$from->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $to->{node_id});
my $some = $to->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 3);
$to->cmd('MIGRATE', '127.0.0.1', $from->port, '', 0, 5000, 'KEYS', @$some);

my $took = stopwatch;
my $r = ask($event, 'b', POST => 'check');
is $r->status, 503, 'in the middle of it: 503';
cmp_ok $took->(), '<', 1.9 * $timeout * slow, 'within the deadline';

$cluster->move_slot($slot, $to, $from);
my $back = wait_until { ask($event, 'b', POST => 'check')->status == 200 } 20;
ok $back, 'moved back';
is ask($event, 'd1', POST => 'check')->json->{status}, 'active',
   'with all its data';


# a key that is all there is asked for with ASKING; the map stays as it is

my $set = 'queue:active-events';
$from = $cluster->master_of($set);
($to) = grep { $_ != $from } @masters;
$slot = $cluster->slot($set);

$to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->{node_id});
$from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->{node_id});
$from->cmd('MIGRATE', '127.0.0.1', $to->port, $set, 0, 5000);

my $stats = $to->stats_of(sub {
    is ask('late-event', 'a', POST => 'check')->status, 200, 'ASK: a new event';
    wait_until {
        $to->cmd('ASKING');
        $to->cmd('SISMEMBER', $set, 'late-event') } 20;
});
cmp_ok $stats->{asking}, '>=', 2, 'is written down there';
is $stats->{sadd}, 1, 'once';

$cluster->move_slot($slot, $from, $to);
($from, $to) = @masters;
$slot = $cluster->slot("{$event}");


# ---- a node comes and one goes

my $new = $cluster->add_master;
$cluster->move_slot($slot, $from, $new);
is ask($event, 'b', POST => 'check')->json->{status}, 'active',
   'a new node has the event';
ok scalar($new->cmd('EXISTS', "{$event}:active")), 'it has';

$cluster->move_slot($slot, $new, $from);
$cluster->remove($new);

my $gone = wait_until {
    ask($event, 'b', POST => 'check')->status == 200
} 20;
ok $gone, 'it goes again';

my $forgotten = wait_until {
    ask($_, 'b', POST => 'check') for @events;
    my $mark = $site->nginx->log_mark;
    sleep 1.2;
    $site->nginx->error_log($mark) !~ /redis/
} 30;
ok $forgotten, 'and is forgotten';
$site->nginx->quit;


# ---- seeds

sub small ($redis, $timeout = 1000 * slow) {
    return Admission::Nginx->start(http => <<END, server => <<'END');
    admission_redis   $redis timeout=${timeout}ms;
    admission_secret  tier2 $Admission::Site::SECRETS{tier2};
    admission_secret  user  $Admission::Site::SECRETS{user};
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END
}

sub joins ($nginx, $event) {
    return post($nginx->port, "/api/queue/check/$event",
                bearer => $site->user('b'));
}

my $dead = free_port;

for my $seeds ($masters[1]->url . ' cluster=on',
               "redis://127.0.0.1:$dead " . $masters[2]->url,
               'redis://localhost:' . $masters[0]->port . ' cluster=on',
               $masters[0]->url . '/0 ' . $masters[1]->url . '/0')
{
    my $nginx = small($seeds, 5000 * slow);
    is_deeply [ map { joins($nginx, $_)->status } @events ],
              [ 200, 200, 200 ], "seeds: $seeds";
    $nginx->quit;
}

# none is a cluster

my $single = Admission::Redis->start;
my $nginx = small($single->url . ' cluster=on');
$r = joins($nginx, 'e');
is $r->status, 503, 'cluster=on for what is none: 503';

my $told = wait_until {
    joins($nginx, 'e');
    $nginx->error_log =~ /no map of the cluster: ERR .*cluster support/
} 20;
ok $told, 'which says why';
$nginx->quit;


# ---- nodes that send calls round and round

my @ports = map { free_port } 1 .. 2;

my @circle = map {
    my ($i, $other) = ($_, $ports[1 - $_]);

    Admission::FakeRedis->start(sub ($c) {
        while (my @argv = $c->command) {
            $c->write(uc $argv[0] eq 'CLUSTER'
                ? "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n\$9\r\n127.0.0.1\r\n"
                  . ":$ports[$i]\r\n\$1\r\nx\r\n"
                : uc $argv[0] eq 'EVALSHA' ? "-MOVED 1 127.0.0.1:$other\r\n"
                : "-TRYAGAIN Multiple keys request\r\n");
        }
    }, port => $ports[$i]);
} 0, 1;

my $start = time;
$nginx = small($circle[0]->url . ' ' . $circle[1]->url);
my $before = grep { $_->[1] eq 'EVALSHA' } map { $_->commands } @circle;
my @answers = map { joins($nginx, 'e') } 1 .. 20;
is scalar(grep { $_->status != 503 } @answers), 0, 'a circle: 503';

# the schedule has some of its own
my $sent = grep { $_->[1] eq 'EVALSHA' } map { $_->commands } @circle;
cmp_ok $sent - $before, '<', 20 * 6 + 6 * 6 + 4 * 6 * (time - $start),
       'after a few hops';

sub maps () {
    return scalar grep { $_->[1] eq 'CLUSTER' } map { $_->commands } @circle;
}

sleep 3;
wait_until { joins($nginx, 'e'); maps() >= 2 } 20;

my $maps = maps();
cmp_ok $maps, '>=', 2, 'the map is asked for again';
cmp_ok $maps, '<=', time - $start + 2, 'at most once a second';

$nginx->quit;
$_->stop for @circle;


# ---- a call that is sent to another node when most of its time is over: it is
# answered in time, and that is no fault of the node.  Two thirds of the time at
# each: a third is left for a machine that stands still.

sub owns_all ($port) {
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n\$9\r\n127.0.0.1\r\n:$port\r\n"
           . "\$1\r\nx\r\n";
}

# a join, which names its user; steps of the event, which may come before it on
# a busy machine, or behind it, do not
sub is_join (@argv) {
    return uc $argv[0] eq 'EVALSHA' && grep { $_ eq 'b' } @argv;
}

sub late () {
    my $second = Admission::FakeRedis->start(sub ($c) {
        while (my @argv = $c->command) {
            sleep 3 if is_join(@argv);
            $c->write("-ERR no\r\n");
        }
    });

    my $first_port = free_port;
    my $first = Admission::FakeRedis->start(sub ($c) {
        while (my @argv = $c->command) {
            my $late = is_join(@argv);

            sleep 3 if $late;
            $c->write(uc $argv[0] eq 'CLUSTER' ? owns_all($first_port)
                      : $late ? '-MOVED ' . $cluster->slot('{late}')
                                . ' 127.0.0.1:' . $second->port . "\r\n"
                      : "-ERR no\r\n");
        }
    }, port => $first_port);

    my $nginx = small($first->url . ' cluster=on', 4500);

    # The map is asked for again a second later where another call came meanwhile:
    # not at a node that sleeps by then, which has a second to answer that.

    get($nginx->port, '/api/queue/status/late', bearer => $site->user('c'));
    my $known = wait_until {
        my $asked = grep { $_->[1] eq 'CLUSTER' } $first->commands;
        sleep 1.5;
        $asked && $asked == grep { $_->[1] eq 'CLUSTER' } $first->commands;
    } 20;

    my $r = joins($nginx, 'late');
    my $came = wait_until { grep { $_->[1] eq 'EVALSHA' } $second->commands } 20;
    sleep 3;

    my ($log, $connections) = ($nginx->error_log, $second->connections);
    $nginx->quit;
    $_->stop for $first, $second;
    return ($known, $r, $came, $log, $connections);
}

{
    my ($known, $r, $came, $log, $connections) = undisturbed { late() };

    ok $known, 'the map is known';
    is $r->status, 503, 'late at another node: 503';

    # with 4.5 s for each node it would be 6
    cmp_ok $r->net, '<', 5.9, 'within the deadline';

    ok $came, 'it was sent there';
    unlike $log, qr/\b(?:down|breaker)\b/, 'which is not down for it';
    is $connections, 1, 'and keeps its connection';
}


# ---- a node that takes its time with the map is late, not down

sub scripts_of ($fake) {
    return scalar grep { uc $_->[1] eq 'EVALSHA' } $fake->commands;
}

sub takes_time () {
    my $port = free_port;
    my $busy = Admission::FakeRedis->start(sub ($c) {
        while (my @argv = $c->command) {
            my $map = uc $argv[0] eq 'CLUSTER';

            sleep 1.7 if $map;
            $c->write($map ? owns_all($port) : "-ERR no\r\n");
        }
    }, port => $port);

    my $nginx = small($busy->url . ' cluster=on', 6000);
    my $status = joins($nginx, 'busy')->status;
    my $sent = wait_until { joins($nginx, 'busy'); scripts_of($busy) } 30;

    my ($log, $connections) = ($nginx->error_log, $busy->connections);
    $nginx->quit;
    $busy->stop;
    return ($status, $sent, $log, $connections);
}

{
    my ($status, $sent, $log, $connections) = undisturbed { takes_time() };

    is $status, 503, 'the map comes late: a join is refused';
    ok $sent, 'and sent, once the map is there';
    is $connections, 1, 'by the connection that there was';
    unlike $log, qr/no reply within|\bdown\b/, 'which is not down';
}


# ---- nonsense in place of a map

my %broken = (
    'a string' => "+OK\r\n",
    'nothing' => "*0\r\n",
    'too many slots' => "*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n\$1\r\nx\r\n:1\r\n",
    'slots in reverse' => "*1\r\n*3\r\n:9\r\n:1\r\n*2\r\n\$1\r\nx\r\n:1\r\n",
    'no node' => "*1\r\n*3\r\n:0\r\n:9\r\n*-1\r\n",
    'no port' => "*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n\$1\r\nx\r\n:99999\r\n",
    'a host that is none' => "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n\$3\r\n"
                             . "a\tb\r\n:7000\r\n",
    'an error' => "-ERR no\r\n",
);

for my $what (sort keys %broken) {
    my $fake = Admission::FakeRedis->start(sub ($c) {
        while (my @argv = $c->command) {
            $c->write($broken{$what});
        }
    });

    my $nginx = small($fake->url . ' cluster=on', 200);
    is joins($nginx, 'e')->status, 503, "a map that is $what: 503";
    $nginx->quit;
    $fake->stop;
}

done_testing;
