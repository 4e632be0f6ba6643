# Redis fails over while polls are answered from views of a long line, and streams
# tell of it: a view that is too old is no answer, and once there is a master
# again views, positions and turns are those of the line as it is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Sentinel;
use Admission::Site;
use Admission::Stream;

# a node that stands still for a moment is no node that is down

my $sentinel = Admission::Sentinel->start(timeout => 2500);
my $site = Admission::Site->start(
    redis => $sentinel, redis_url => $sentinel->url, instances => 2,
    timeout => '1s',
    events => 'default threshold=1 admit_interval=200ms admit_batch=10
               seen_ttl=1h;',
    server => 'location = /metrics { admission_metrics; }');
$site->nginx($_)->allow(qr/redis|queue of event|failed over/) for 0, 1;

my $key = sub ($name) { "{concert}:$name" };

sub poll ($i, $user, $place = undef) {
    return $site->call($i, $user, GET => 'status',
                       headers => [ $place ? ('X-Queue-Place', $place) : () ]);
}

sub from_view ($i) {
    return metrics($site->port($i))->sum('queue_view_polls_total');
}

# of the master of the moment, which drops connections as it becomes that

sub kept (@command) {
    my $answer;
    wait_until { eval { $answer = $sentinel->cmd(@command); 1 } } 20;
    return $answer;
}

# asked again where a node stood still for a second

sub joins ($i, $user) {
    return answered { $site->call($i, $user => POST => 'check') }->json;
}

sub listens ($i, $user) {
    return answered {
        Admission::Stream->open(
            $site->port($i), '/api/queue/stream/concert?join=1',
            bearer => $site->user($user))
    };
}

is joins(0, 'in')->{status}, 'active', 'one is in';

# a line of others, whom no host knows, and two behind it who are heard of

joins(0, 'first');
my $listening = listens(1, 'second');
is $listening->message->{position}, 2, 'a stream at the head';

my $t = $sentinel->cmd('TIME');
my $from = $t->[0] * 1e6 + $t->[1];
for my $part (0 .. 2) {
    my @n = map { $part * 1000 + $_ } 1 .. 1000;
    $sentinel->cmd('ZADD', $key->('seen'),
                   map { (sprintf('%.0f', $from / 1000), "fake$_") } @n);
    $sentinel->cmd('ZADD', $key->('queue'),
                   map { (sprintf('%.0f', 2 * ($from + $_) + 1), "fake$_") } @n);
}
sleep 0.01;

my $ann = joins(1, 'ann');
is $ann->{position}, 3003, 'one far back';
my $ben = listens(0, 'ben');
my $place = $ben->message->{place};

# places of before a view are asked about, once

sub on_view ($i) {
    my $before = from_view($i);
    return wait_until {
        my $r = poll($i, 'ann', $ann->{place});
        $ann->{place} = $r->json->{place} if $r->status == 200;
        from_view($i) > $before;
    } 30;
}

ok on_view($_), "host $_ answers from its view" for 0, 1;

# ---- the master goes

ok $sentinel->replica_has_all, 'a replica that has all that';
my $epoch = $sentinel->cmd('GET', $key->('epoch'));
my $old = $sentinel->master;
my ($next) = grep { $_ != $old } $sentinel->nodes;

# an answer of before this is none of a new master, whatever sentinels say

sub is_replica () { return (($next->try('ROLE'))[0] // [''])->[0] eq 'slave' }

$old->kill9;
my $began = time;
my (%status, $wrong, $late);

while (time - $began < 3.5) {
    my $asked = time;
    my $r = poll(0, 'ann', $ann->{place});
    my $json = $r->json;
    $status{ $r->status }++;
    $wrong++ if $r->status == 200
                && abs($json->{position} - 3003) > 10;
    $late++ if $r->status == 200 && $asked - $began > 2.2 * slow
               && is_replica;
    sleep 0.1;
}
is $wrong, undef, 'nobody is told what is not so'
    or diag explain \%status;
is $late, undef, 'a view that is too old is no answer';
ok !(grep { !/^(?:200|503)$/ } keys %status), 'nor is there another one';

# ---- another one is

ok((wait_until { $sentinel->master != $old
                 && poll(0, 'ann', $ann->{place})->status == 200 } 40),
   'it goes on');
is kept('GET', $key->('epoch')), $epoch, 'with the same data';
ok on_view($_), "host $_ answers from its view again" for 0, 1;
my $now = answered { poll(0, 'ann', $ann->{place}) }->json;
my $rank = kept('ZRANK', $key->('queue'), 'ann') + 1;
cmp_ok abs($now->{position} - $rank), '<=', 10, 'positions are right';
ok $ben->message_that(sub ($m) { abs($m->{position} - $rank - 1) <= 10 }, 20),
    'a stream goes on';

# turns, by poll and by stream, on either host

# each worker finds the new master by itself

sub leaves ($i, $user) {
    return answered { $site->call($i, $user => POST => 'leave') }->status;
}

is leaves(0, 'in'), 200, 'who is in leaves';
ok((wait_until { (poll(1, 'first')->json // {})->{status} eq 'active' } 30),
   'the first one is in');
is leaves(1, 'first'), 200, 'and leaves';
ok $listening->message_that(sub ($m) { $m->{status} eq 'active' }, 30),
    'the one who listens is in';

# who left is not told from a view, on another host a second later

is leaves(0, 'ann'), 200, 'one who waits leaves';
isnt answered { poll(0, 'ann', $ann->{place}) }->json->{status}, 'queued',
    'and has left';
ok((wait_until { poll(1, 'ann', $ann->{place})->json->{status} ne 'queued' } 3),
   'on the other host, too');

done_testing;
