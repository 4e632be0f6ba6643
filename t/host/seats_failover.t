# A sale whose Redis fails over to a replica that has not heard of the last
# purchases, nor of who was let in: what was sold never falls, and nobody is let
# in for what is sold or being bought.  Then it restarts, with its data.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Behind;
use Admission::Redis;
use Admission::Sale;
use Admission::Site;
use List::Util qw(min);

my $N = 10;
my ($master, $replica) = map { Admission::Redis->start } 1 .. 2;

$master->cmd('CONFIG', 'SET', 'repl-diskless-sync-delay', 0);
$replica->cmd('REPLICAOF', '127.0.0.1', $master->port);
wait_until {
    $replica->cmd('INFO', 'replication') =~ /^master_link_status:up/m;
} 30;

my $site = Admission::Site->start(
    redis => Admission::Behind->new($master), timeout => '5s',
    instances => 3, workers => 1, server => <<'END',
        location = /metrics { admission_metrics; }
END
    events => "default slots=$N threshold=4 admit_interval=200ms "
              . 'claim_ttl=4s active_ttl=6s seen_ttl=120s restore_wait=2s;');

my $sale = Admission::Sale->new($site, users => 20 * $N);

sub never_more ($when) {
    my $late = $sale->late;
    cmp_ok $sale->{worst}, '<=', $N + $late,
        "$when: sold and inside are never more ($late late)";
}

# Older data may have had no step for so long that nobody's session ends for two
# minutes: not here, where those who vanish have the last seats.

sub sold () {
    eval { $site->redis->cmd('HDEL', $site->key('state'), 'gap') };
    return $sale->look;
}

# Until the backend has sold so many, if there are as many.

sub sells ($n) {
    my $enough = sub { sold(); $sale->bought >= min($n, $N) };
    wait_until { $sale->come; $sale->turn(5); $enough->() } 30;
}

sells(2);
wait_until { $replica->cmd('GET', $site->key('sold')) };


# ---- what comes now it does not hear of

$replica->cmd('REPLICAOF', 'NO', 'ONE');
my $known = $replica->cmd('GET', $site->key('sold'));

sells($known + 3);
my $before = $sale->bought;
wait_until { $sale->look >= $before };
never_more('before');

$master->kill9;
$site->redis->lead($replica);
$sale->until(sub { sold() >= $before }, 20);
cmp_ok $sale->look, '>=', $before,
    "the replica knew of $known, and is told of $before";
never_more('failed over');


# ---- and it restarts

sells($before + 1);
$before = $sale->bought;
wait_until { $sale->look >= $before };
$replica->restart(keep => 1);
$sale->turn(20);
wait_until { $sale->look >= $before } 10;
cmp_ok $sale->look, '>=', $before, "restarted: $before are sold";

$sale->until(sub { sold() >= $N }, 120);

# who buys may have the answer before Redis is told

wait_until { $sale->look == $sale->bought } 10;
is $sale->look, $sale->bought, 'what is sold is what the backend says';
cmp_ok $sale->look, '<=', $N + $sale->late, 'no more than there are, but late';
cmp_ok $sale->look, '>=', $N, 'all of them';
never_more('in the end');
$sale->is_over;

done_testing;
