# More events with users than steps go out at once: each has its turn.  One
# user joins 1,500 of them, each with a line, before the sale that matters
# opens.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;

my @lines = map { my $i = $_; map { "x-$i-$_;" } 1 .. 750 } 0, 1;

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => join ' ', 'default threshold=1;', @lines);

my $user = $site->user('mallory');
my $failed = 0;

for my $i (0, 1) {
    my $connection = Admission::HTTP->connect($site->port($i));

    for my $n (1 .. 750) {
        $failed++ if !wait_until {
            $connection->request('POST', "/api/queue/check/x-$i-$n",
                                 bearer => $user)->status == 200 } 10;
    }
}
is($failed, 0, '1,500 events joined');

is($site->call(0, 'ann', POST => 'check')->json->{status}, 'active',
   'ann is in');
is($site->call(0, 'ben', POST => 'check')->json->{status}, 'queued',
   'ben waits');
$site->call(0, 'ann', POST => 'leave');

my $in = wait_until {
    $site->call(1, 'ben', GET => 'status')->json->{status} eq 'active'
} 20;
ok($in, 'ben gets in');

my $never = 0;
my $all = wait_until {
    $never = grep { !$site->redis->cmd('HEXISTS', "{$_}:state", 'step') }
             map { my $i = $_; map { "x-$i-$_" } 1 .. 750 } 0, 1;
    !$never
} 60;
ok($all, 'every event is stepped') or diag "$never never";

done_testing;
