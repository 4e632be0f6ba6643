# A page is refreshed (its unload sends a beacon), then Redis is away for over
# a minute: whoever was refreshed and polls from then on stays in line.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start(clock => 1);
my $e = Admission::Scripts->new($redis, event => 'e', threshold => 0);
my $clock = 0;

# time passes, with a step a second at the latest
sub go_by ($seconds) {
    for (1 .. $seconds) {
        $redis->set_clock(++$clock);
        $e->ask('a');
        $e->step;
    }
}

my $a = $e->ask('a');
$e->ask('b');
is($a->{position}, 1, 'a waits, first');
go_by 2;

$e->leave('a', 1);
$redis->set_clock($clock += 70);

is($e->ask('a', place => $a)->{position}, 1, 'a is back, and first');
$e->step;
go_by 125;

my $now = $e->ask('a', mode => 'status', place => $a);
is($now->{position}, 1, 'a, who has polled ever since, is still first');
is_deeply([$e->waiting], [qw(a b)], 'the line as it was');

done_testing;
