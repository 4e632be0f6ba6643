# A cluster that goes on without a node (cluster-require-full-coverage no):
# several hundred users of an event notice nothing when one with slots of
# others hangs, and when it dies for good.  It is that of queue:active-events,
# of which hosts ask twice a second.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Cluster;
use Admission::Faults;

my $cluster = Admission::Cluster->start(
    replicas => 0, config => 'cluster-require-full-coverage no');

my $other = $cluster->master_of('queue:active-events');
my ($mine) = grep { $_ != $other } $cluster->masters;
my $faults = Admission::Faults->new(redis => $cluster, arrive => 11,
                                    event => $cluster->event_of($mine),
                                    timeout => 3000,
                                    users => sanitized ? 150 : 300,
                                    threshold => sanitized ? 10 : 20);

# nobody's calls fail, with time for a machine that stands still: there is no
# outage

$faults->at(0, 'another node hangs', sub { $other->sigstop });
$faults->at(4, 'it goes on', sub { $other->sigcont });
$faults->at(7, 'it dies', sub { $other->kill9 });

$faults->run;

my @lines = grep { /redis \S+ (?:down|still)/ }
            map { split /\n/, $faults->site->nginx($_)->error_log } 0, 1;
ok scalar(grep { index($_, ':' . $other->port . ' ') > 0 } @lines),
   'the log says that it is down';
is_deeply [ grep { index($_, ':' . $other->port . ' ') < 0 } @lines ], [],
          'and no other';

done_testing;
