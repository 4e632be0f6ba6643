# Several hundred users on two instances and a cluster of 3 + 3: the slot of
# their event moves, its master dies and a replica takes over, the dead one
# comes back, and a node of other slots dies.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Cluster;
use Admission::Faults;

my $cluster = Admission::Cluster->start;
my $faults = Admission::Faults->new(redis => $cluster, arrive => 22,
                                    lossy => 1,
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
}, outage => 8, until => 'promoted');

$faults->at(13, 'it comes back', sub { $dead->launch },
            when => sub { $faults->{seen}{promoted} });

# nobody says that it is gone: calls time out until it is known to be

$faults->at(15, 'the master hangs', sub {
    my $replica = $cluster->replica_of($key);
    $dead = $cluster->master_of($key);
    $dead->sigstop;
    $faults->watch(replaced => sub {
        $replica->cmd('ROLE')->[0] eq 'master'
            && $replica->cmd('CLUSTER', 'INFO') =~ /^cluster_state:ok/m;
    });
}, outage => 8, until => 'replaced', when => sub {
    my $replica = $cluster->replica_of($key);
    $replica->cmd('INFO', 'replication') =~ /^master_link_status:up/m;
});

$faults->at(22, 'it goes on', sub { $dead->sigcont },
            when => sub { $faults->{seen}{replaced} });

$faults->run;

for my $name (qw(promoted replaced)) {
    my $back = $faults->back_after($name);
    ok defined $back, "$name: a replica took over";
    note sprintf 'back %.2f s after that', $back;

    # a tenth of a second, where others do not take the processor
    cmp_ok $back, '<', 3 * slow, 'and was found soon';
}

done_testing;
