# A master of a cluster dies while polls are answered from views of a long line,
# and streams tell of it: whoever waits keeps the place, whoever was let in just
# before learns it, and an old view is no answer.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time sleep);

use Admission::Cluster;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;
use Admission::Stream;

my $cluster = Admission::Cluster->start;
my $site = Admission::Site->start(
    redis => $cluster, instances => 2, timeout => '1s',
    events => 'default threshold=2 admit_interval=200ms admit_batch=10
               seen_ttl=2m;',
    server => 'location = /metrics { admission_metrics; }');
$site->nginx($_)->allow(qr/redis|queue of event|failed over/) for 0, 1;

my $key = sub ($name) { "{concert}:$name" };
my $master = $cluster->master_of($key->('queue'));
my $replica;
wait_until { $replica = $cluster->replica_of($key->('queue')) } 20;

my %place;

sub poll ($i, $user) {
    my $r = $site->call($i, $user, GET => 'status', headers => [
        $place{$user} ? ('X-Queue-Place', $place{$user}) : () ]);
    my $json = $r->status == 200 ? $r->json : { status => $r->status };
    $place{$user} = $json->{place} if $json->{place};
    return $json;
}

# what has to succeed, asked again where a node stood still for a second

sub joins ($i, $user) {
    my $json = answered { $site->call($i, $user, POST => 'check') }->json;
    $place{$user} = $json->{place};
    return $json;
}

sub leaves ($i, $user, %opt) {
    return answered { $site->call($i, $user, POST => 'leave', %opt) };
}

sub listens ($i, $user) {
    return answered {
        Admission::Stream->open(
            $site->port($i), '/api/queue/stream/concert?join=1',
            bearer => $site->user($user))
    };
}

sub polls_of_views ($i) {
    return metrics($site->port($i))->sum('queue_view_polls_total');
}

# polls until a host answers one by itself

sub from_view ($i, $user) {
    my $before = polls_of_views($i);
    my $json;
    wait_until { $json = poll($i, $user); polls_of_views($i) > $before } 30
        or return;
    return $json;
}

sub is_in ($m) { return $m->{status} eq 'active' }


# two are in, some wait at the head, and some behind many whom no host knows, who
# are there until long after this

is joins(0, $_)->{status}, 'active', "$_ is in" for qw(in other);
is joins(0, $_)->{status}, 'queued', "$_ waits" for qw(first second);

my $near = listens(1, 'third');
is $near->message->{position}, 3, 'a stream at the head';

my $t = $master->cmd('TIME');
my $from = $t->[0] * 1e6 + $t->[1];
for my $part (0 .. 1) {
    my @n = map { $part * 1000 + $_ } 1 .. 1000;
    $cluster->cmd('ZADD', $key->('seen'),
                  map { (sprintf('%.0f', $from / 1000 + 3_600_000), "fake$_") }
                  @n);
    $cluster->cmd('ZADD', $key->('queue'),
                  map { (sprintf('%.0f', 2 * ($from + $_) + 1), "fake$_") } @n);
}
wait_until { my $now = $master->cmd('TIME');
             $now->[0] * 1e6 + $now->[1] > $from + 2001 };

is joins($_, "far$_")->{position}, 2004 + $_, "far$_ is far back" for 0, 1;
my $far = listens(0, 'far2');
is $far->message->{position}, 2006, 'as is a stream';
ok from_view($_, "far$_"), "host $_ answers from its view" for 0, 1;

# whoever is let in now does not hear of it before: that is on the replica

leaves(0, 'in');
ok((wait_until { defined $cluster->cmd('ZSCORE', $key->('active'), 'first') }),
   'the first one is let in');
is $master->cmd('WAIT', 1, 10_000), 1, 'as the replica knows';
my $epoch = $cluster->cmd('GET', $key->('epoch'));


# ---- the master dies

$master->kill9;
my $began = time;
my ($wrong, $late, %status) = (0, 0);
my $taken;

while (time - $began < 40 && !$taken) {
    for my $i (0, 1) {
        my $asked = time;
        my $json = poll($i, "far$i");
        my $answered = $json->{status} eq 'queued';

        $status{ $json->{status} }++;
        $wrong++ if $answered && abs($json->{position} - 2003 - $i) > 11;

        # of the master before, by its view of 2 s before it died
        $taken = eval { $replica->cmd('ROLE')->[0] eq 'master' };
        $late++ if $answered && !$taken && $asked - $began > 2.2 * slow;
    }
    sleep 0.05;
}

ok $taken, 'the replica takes over';
note explain { after => time - $began, %status };
is $wrong, 0, 'positions were right all along';
is $late, 0, 'none was told of a view that is too old';
is_deeply [ grep { !/^(?:queued|503)$/ } keys %status ], [],
    'they wait, or have no answer: nobody lost a place';


# ---- and after it

$began = time;
ok((wait_until { is_in(poll(1, 'first')) } 30),
   'whoever was let in before learns it, from the other host');
note sprintf 'after %.2f s', time - $began;
is $cluster->cmd('GET', $key->('epoch')), $epoch, 'the data is the same';

for my $i (0, 1) {
    my $json = from_view($i, "far$i");
    my $rank = $cluster->cmd('ZRANK', $key->('queue'), "far$i") + 1;
    is $rank, 2003 + $i, "far$i is where it was";
    cmp_ok abs($json->{position} - $rank), '<=', 10,
        "and told so by the view of host $i";
    cmp_ok $cluster->cmd('ZCARD', $key->('queue')), '==', $json->{queueSize},
        'nobody was lost';
}

# What they say goes to the new master: of one of whom a worker told before, it is
# noted again after a 20th of seen_ttl.

my $now = $replica->cmd('TIME');
ok((wait_until {
    poll($_, "far$_") for 0, 1;
    !grep { $cluster->cmd('ZSCORE', $key->('seen'), "far$_")
            < $now->[0] * 1000 + int($now->[1] / 1000) } 0, 1;
} 20), 'heartbeats are heard');

# turns: by a poll of one host, by a stream of the other

my $took = stopwatch;
leaves(1, 'first');
ok((wait_until { is_in(poll(0, 'second')) } 20), 'the next one is in');
cmp_ok $took->(), '<', 3 * slow, 'soon';

$took = stopwatch;
leaves(0, 'second');
ok $near->message_that(\&is_in, 20), 'and the next, by a stream';
cmp_ok $took->(), '<', 3 * slow, 'soon';
ok $far->message_that(sub ($m) { abs($m->{position} - 2003) <= 10 }, 20),
    'the stream far back goes on';

leaves(0, 'far1', headers => [ 'X-Queue-Place' => $place{far1} ]);
ok((wait_until { poll(1, 'far1')->{status} ne 'queued' } 5),
   'who leaves has left, on the other host, too');

done_testing;
