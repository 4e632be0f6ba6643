# Each answer of a backend counts once, and of its event, whatever a worker keeps for a
# moment: of events in turn, of more requests than that has room for, and of a worker
# that leaves.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;
use Admission::Scripts;

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

# the first three have their place in common there

my @events = qw(one-sale two-sale red-sale other);

my $nginx = Admission::Nginx->start(
    workers => 2,
    vars => { REDIS => $redis->url, BACKEND => $backend->port },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=30s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user_secret;

    admission_events {
        default  threshold=1000 backend_errors=99%;
        before; one-sale; two-sale; red-sale; other;
    }

    map \$uri \$event_id { ~/(?<id>[a-z-]+)\$  \$id; }
END
    server => <<'END',
        admission_event  $event_id;
        admission_user   jwt;

        location /api/queue/ { admission_queue_api; }
        location /gated/     { admission_tier2 on;
                               proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
);

my $port = $nginx->port;


# ---- what the host told of, by the calls of the script

my %at;
my @names = Admission::Scripts::listed(follow => 'args');
@at{@names} = 0 .. $#names;

my %told = map { $_ => 0 } @events;

sub hear ($monitor) {
    for my $command ($monitor->commands) {
        my ($name, undef, $keys, $key, @rest) = @$command;
        next if $name !~ /^EVAL/i || ($key // '') !~ /^\{(.*)\}:follow$/;

        my $requests = $rest[$keys - 1 + $at{requests}];
        $told{$1} += $requests if exists $told{$1};
    }
    return { %told };
}

# All are told, and a step later no more than all.

sub counts ($monitor, $wanted, $what) {
    wait_until { !grep { hear($monitor)->{$_} < $wanted->{$_} } @events } 15;

    my $last = $redis->cmd('HGET', '{other}:follow', 'at') // 0;
    wait_until { ($redis->cmd('HGET', '{other}:follow', 'at') // 0) > $last } 5;

    is_deeply hear($monitor), $wanted, $what;
}


# ---- requests

my (%token, %sent);

sub token ($event, $who) {
    return $token{$event, $who} //=
        post($port, "/api/queue/check/$event", bearer => bearer($who))
            ->json->{entryToken};
}

sub bearer ($who) { return user_token($user_secret, userId => $who) }

# one that is answered, and the two halves of that

sub send_one ($client, $event, $who, $args = '') {
    $client->send(join "\r\n", "GET /gated/$event$args HTTP/1.1", 'Host: x',
                  'Authorization: Bearer ' . bearer($who),
                  'X-Queue-Entry-Token: ' . token($event, $who), '', '');
}

sub take_one ($client, $event) {
    my $status = $client->response->status;
    die $status if $status != 200;
    $sent{$event}++;
}

sub ask ($client, $event, $who) {
    send_one($client, $event, $who);
    take_one($client, $event);
}

# Redis has the script then, and each call of it is one

ask(Admission::HTTP->connect($port), 'before', 'ann');
wait_until { $redis->cmd('HGET', '{before}:follow', 'at') } 15;

my $monitor = $redis->monitor;
%sent = map { $_ => 0 } @events;

my @clients = map { Admission::HTTP->connect($port) } 1 .. 4;

for my $n (1 .. 40) {
    ask($clients[$n % 4], $_, $n % 2 ? 'ann' : 'ben') for @events;
}
counts($monitor, { %sent }, 'events in turn');

ask($clients[0], 'other', 'ann') for 1 .. 100;
ask($clients[1], 'one-sale', 'ben') for 1 .. 33;
counts($monitor, { %sent }, 'many of one');

# a client that goes away tells nothing, as backend_latency= is not set

my $client = Admission::HTTP->connect($port);
my $hits = $backend->hits;
send_one($client, 'other', 'ann', '?delay=20');
wait_until { $backend->hits > $hits } 10;
$client->close;

# a worker that leaves does so as soon as it has answered, and tells of it

$_->close for @clients;

my @last = map { Admission::HTTP->connect($port) } @events;
$hits = $backend->hits;
send_one($last[$_], $events[$_], 'ann', '?delay=0.7') for 0 .. $#events;
wait_until { $backend->hits == $hits + @events } 10;

$nginx->reload(wait => 0);
take_one($last[$_], $events[$_]) for 0 .. $#events;
$nginx->wait_old_workers;
counts($monitor, { %sent }, 'workers that leave');

done_testing;
