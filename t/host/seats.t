# A sale on three hosts: N seats, 20 N users who join, leave, buy and vanish as
# they like, while workers are killed and Redis restarts empty.  Nobody is let in
# while as many are sold and inside as there are; in the end all are sold, and
# who still waits is told.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Sale;
use Admission::Site;

my $N = 10;
my $hosts = 3;
my $site = Admission::Site->start(
    instances => $hosts, workers => 2, timeout => '5s',
    events => "default slots=$N threshold=6 admit_interval=200ms "
              . 'claim_ttl=4s active_ttl=6s seen_ttl=120s restore_wait=2s;');

my $redis = $site->redis;
my $sale = Admission::Sale->new($site, users => 20 * $N);

$sale->turn(150);

subtest 'a worker is killed' => sub {
    for my $i (0 .. $hosts - 1) {

        # with a worker goes what it has yet to tell Redis of: who has bought may
        # have the answer before

        wait_until { $sale->look >= $sale->bought };
        $site->nginx($i)->kill_worker;
        $site->nginx($i)->allow(qr/exited on signal 9/);
        $sale->turn(60);
    }
    cmp_ok($sale->{worst}, '<=', $N, 'sold and inside are never more');
};

subtest 'Redis restarts, empty' => sub {
    wait_until { $sale->turn(20); $sale->bought > 2 } 20;
    my $before = $sale->bought;
    wait_until { $sale->look >= $before };

    $redis->restart;
    $redis->cmd('FLUSHALL');
    wait_until { $sale->turn(5); $sale->look >= $before } 20;
    cmp_ok($sale->look, '>=', $before, "what was sold, $before, still is");
    cmp_ok($sale->{worst}, '<=', $N, 'sold and inside are never more');
};

$sale->until(sub { $sale->look >= $N }, 90);
wait_until { $sale->look == $sale->bought } 10;
is($sale->look, $N, 'all seats are sold');
is($sale->bought, $N, 'to so many users');
cmp_ok($sale->{worst}, '<=', $N, 'sold and inside are never more');
cmp_ok($sale->{looks}, '>', 300, 'which was looked at often enough');

$sale->is_over;

# ---- and open again

my @waiting = $sale->waiting;
sub status ($user) {
    return (answered { $sale->api($user, GET => 'status') })->json->{status} // '';
}

is($site->admin(PUT => 'slots/%s?slots=' . ($N + 1))->json->{remaining}, 1,
   'one more seat');

# at one moment: all of them may take longer to ask than a slot lasts

my %who = map { $_->{id} => $_ } @waiting;
my @in;
wait_until { @in = grep { defined } @who{ keys $site->look->{active}->%* } } 10;
is(scalar @in, 1, 'one of those who waited is let in');
is($in[0] && status($in[0]), 'active', 'and told so');

done_testing;
