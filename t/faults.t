# Several hundred users on two instances and one Redis, between which all
# kinds of things happen: delays, connections cut, a Redis that hangs, and a
# master that is demoted, after which the same address leads to another.

use FindBin;
use lib "$FindBin::Bin/lib";
use Admission::Test;

use Admission::Faults;
use Admission::Redis;
use Admission::Relay;


# What the site sees as its Redis: NGINX goes through the relay, the test to
# the master of the moment.

package Behind {
    sub new ($class, $redis) {
        return bless { redis => $redis, master => $redis,
                       relay => Admission::Relay->start($redis->port) },
            $class;
    }

    sub url ($self)         { return $self->{relay}->url }
    sub relay ($self)       { return $self->{relay} }
    sub cmd ($self, @argv)  { return $self->{master}->cmd(@argv) }
}


my $redis = Admission::Redis->start;
my $replica = Admission::Redis->start(
    config => [ 'replicaof 127.0.0.1 ' . $redis->port,
                'repl-diskless-sync-delay 0' ]);
$_->{timeout} = 2 for $redis, $replica;

my $behind = Behind->new($redis);
my $faults = Admission::Faults->new(redis => $behind, arrive => 20,
                                    lossy => 1,
                                    users => sanitized ? 250 : 500);
my $relay = $behind->relay;

$faults->at(1, 'Redis is 50 ms away', sub { $relay->set(delay => 0.05) });
$faults->at(4, 'Redis is 500 ms away', sub { $relay->set(delay => 0.5) },
            outage => 4);
$faults->at(7, 'Redis is here again', sub { $relay->set(delay => 0) });
$faults->at(9, 'connections are cut', sub { $relay->cut }, outage => 2);
$faults->at(12, 'Redis hangs', sub { $redis->sigstop }, outage => 5);
$faults->at(14, 'Redis goes on', sub { $redis->sigcont });

$faults->at(17, 'the master is demoted', sub {
    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    $redis->cmd('REPLICAOF', '127.0.0.1', $replica->port);
    $relay->set(port => $replica->port);
    $behind->{master} = $replica;
    $faults->watch(promoted => sub { 1 });
}, outage => 3);

$faults->run;

my $back = $faults->back_after('promoted');
ok defined $back, 'the new master is found';
note sprintf 'back after %.2f s', $back;
cmp_ok $back, '<', 1 * slow, 'within a second';

like $faults->site->nginx->error_log, qr/down: READONLY /,
     'after the old one had said that it is none';

done_testing;
