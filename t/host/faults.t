# Several hundred users on two instances and one Redis, between which all
# kinds of things happen: delays, connections cut, a Redis that hangs, and a
# master that is demoted, after which the same address leads to another.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Behind;
use Admission::Faults;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $replica = Admission::Redis->start(
    config => [ 'replicaof 127.0.0.1 ' . $redis->port,
                'repl-diskless-sync-delay 0' ]);
$_->{timeout} = 2 for $redis, $replica;

my $behind = Admission::Behind->new($redis);
my $faults = Admission::Faults->new(redis => $behind, arrive => 20,
                                    lossy => 1,
                                    users => sanitized ? 250 : 500);
my $proxy = $behind->proxy;

$faults->at(1, 'Redis is 50 ms away', sub { $proxy->delay(0.05) });
$faults->at(4, 'Redis is 500 ms away', sub { $proxy->delay(0.5) },
            outage => 4);
$faults->at(7, 'Redis is here again', sub { $proxy->delay(0) }, over => 3);
$faults->at(9, 'connections are cut', sub { $proxy->cut }, outage => 2);
$faults->at(12, 'Redis hangs', sub { $redis->sigstop }, outage => 5);
$faults->at(14, 'Redis goes on', sub { $redis->sigcont }, over => 3);

$faults->at(17, 'the master is demoted', sub {
    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    $redis->cmd('REPLICAOF', '127.0.0.1', $replica->port);
    $behind->lead($replica);
    $faults->watch(promoted => sub { 1 });
}, outage => 3, when => sub { $redis->cmd('CLIENT', 'LIST') =~ /user=tickets/ });

$faults->run;

my $back = $faults->back_after('promoted');
ok defined $back, 'the new master is found';
note sprintf 'back after %.2f s', $back;
cmp_ok $back, '<', 3 * slow, 'soon';

ok scalar(grep { $faults->site->nginx($_)->error_log =~ /: READONLY / } 0, 1),
   'after the old one had said that it is none';

done_testing;
