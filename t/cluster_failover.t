# Several hundred users on two instances and a cluster of 3 + 3: the slot of
# their event moves, its master dies and a replica takes over, the dead one
# comes back, and a node of other slots dies.

use FindBin;
use lib "$FindBin::Bin/lib";
use Admission::Test;

use Admission::Cluster;
use Admission::Faults;

my $cluster = Admission::Cluster->start;
my $faults = Admission::Faults->new(redis => $cluster,
                                    users => sanitized ? 200 : 400);
my $key = '{concert}';
my $dead;

$faults->at(2, 'the slot moves', sub {
    my $from = $cluster->master_of($key);
    my ($to) = grep { $_ != $from } $cluster->masters;
    $cluster->move_slot($cluster->slot($key), $from, $to);
}, outage => 1);

$faults->at(5, 'the master dies', sub {
    $dead = $cluster->master_of($key);
    my $replica = $cluster->replica_of($key);
    $dead->kill9;

    $faults->watch(promoted => sub {
        my $info = $replica->cmd('CLUSTER', 'INFO');
        $replica->cmd('ROLE')->[0] eq 'master'
            && $info =~ /^cluster_state:ok/m;
    });
}, outage => 8);

$faults->at(13, 'it comes back', sub { $dead->launch });

$faults->run;

my $back = $faults->back_after('promoted');
ok defined $back, 'a replica was promoted';
note sprintf 'back %.2f s after that', $back;
cmp_ok $back, "<", 1 * slow, "and found within a second";

done_testing;
