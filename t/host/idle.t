# A worker that has nothing to do sleeps: the one that runs the schedule wakes as
# often as it asks Redis something, another one now and then.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Site;
use Time::HiRes qw(sleep time);

plan(skip_all => 'no /proc/PID/status') if !-r "/proc/$$/status";

my $site = Admission::Site->start(workers => 3, timeout => '5s');
my $nginx = $site->nginx;

is($site->call(0, 'ann', POST => 'check')->status, 200, 'it works');
$site->call(0, 'ann', POST => 'leave');

# how often a process went to sleep
sub sleeps ($pid) {
    my ($n) = read_file("/proc/$pid/status")
              =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
    return $n;
}

# a second, for each worker; a busy machine makes it less, not more
sub wakes {
    my @pids = $nginx->worker_pids;
    my @before = map { sleeps($_) } @pids;
    my $start = time;
    sleep 5;
    my $time = time - $start;
    return sort { $a <=> $b }
           map { (sleeps($pids[$_]) - $before[$_]) / $time } 0 .. $#pids;
}

# what was begun is over, soon; a machine that stands still wakes nobody
my @wakes;
wait_until {
    @wakes = wakes;
    $wakes[1] < 6 && $wakes[2] < 25 && $wakes[2] > 1
} 40;

cmp_ok($wakes[$_], '<', 6, "a worker without the schedule: $wakes[$_] a second")
    for 0, 1;
cmp_ok($wakes[2], '<', 25, "the one with it: $wakes[2] a second");
cmp_ok($wakes[2], '>', 1, 'which is asleep neither');

done_testing;
