# What a purchase leaves in Redis, that so many are sold and which it was, is
# written at once and lost at once.  Hosts remember how many, not which: one that
# a failover lost, and that is told again, sells a seat less where some host had
# heard of it, and is told for the first time where none had.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Behind;
use Admission::HTTP;
use Admission::Redis;
use Admission::Site;

my $secret = $Admission::Site::SECRETS{admin};
my ($master, $replica) = map { Admission::Redis->start } 1 .. 2;

$master->cmd('CONFIG', 'SET', 'repl-diskless-sync-delay', 0);
$replica->cmd('REPLICAOF', '127.0.0.1', $master->port);
wait_until {
    $replica->cmd('INFO', 'replication') =~ /^master_link_status:up/m;
} 30;

my $site = Admission::Site->start(
    redis => Admission::Behind->new($master), timeout => '5s',
    instances => 2, workers => 1,
    events => 'default slots=10 threshold=10 restore_wait=1s;');

sub told ($port, $user, $key) {
    return request($port, POST =>
                   "/api/queue/admin/complete/concert?user=$user&seats=1",
                   bearer => $secret, headers => [ 'Idempotency-Key' => $key ]);
}

sub tells ($port, $user, $key) {
    my $r;
    wait_until { ($r = told($port, $user, $key))->status == 200 } 20;
    return $r->status;
}

sub of ($redis) {
    my ($sold, @which) = ($redis->cmd('GET', '{concert}:sold') // 0,
                          $redis->cmd('HKEYS', '{concert}:completed')->@*);
    return ($sold, join ' ', sort grep { !/^\x01/ } @which);
}

sub in ($user) { $site->call(0, $user => POST => 'check')->json->{status} }


# where Redis stood still for 1.5 s nobody is let in for as long
ok((wait_until { (in($_) // '') eq 'active' }), "$_ is in") for qw(ann ben cat);
is tells($site->port(0), 'ann', 'key-of-a-purchase-1'), 200, 'ann buys';
is tells($site->port(1), 'ann', 'key-of-a-purchase-1'), 200, 'is told again';
ok((wait_until { (of($replica))[0] == 1 } 10), 'the replica hears of it');
is_deeply [ of($replica) ], [ 1, 'ann' ], 'once';


# ---- what the replica does not hear of

$replica->cmd('REPLICAOF', 'NO', 'ONE');
is tells($site->port(0), 'ben', 'key-of-a-purchase-2'), 200, 'ben buys';
is_deeply [ of($master) ], [ 2, 'ann ben' ], 'two';

# one that no host hears of: the answer is lost with Redis, which is written by
# hand here, as the script does it, when it has done what hosts asked before

$site->redis->proxy->stand;
$master->cmd('PING') for 1 .. 2;
$master->cmd('EVAL', <<'END', 2, '{concert}:sold', '{concert}:completed');
    redis.call('INCR', KEYS[1])
    redis.call('HSET', KEYS[2], 'cat', '1')
END
is_deeply [ of($master) ], [ 3, 'ann ben cat' ], 'three';
is_deeply [ of($replica) ], [ 1, 'ann' ], 'both are missing there';

$master->kill9;
$site->redis->lead($replica);
$site->redis->proxy->go;


# ---- told again

is tells($site->port(1), 'ann', 'key-of-a-purchase-1'), 200,
    'one that both knew is told again';
ok((wait_until { (of($replica))[0] == 2 } 20),
    'the host tells how many it knows of') or diag((of($replica))[0]);
is((of($replica))[1], 'ann', 'and cannot tell which they are');

is tells($site->port(0), 'ben', 'key-of-a-purchase-2'), 200,
    'told again to the host that heard of it';
is((of($replica))[0], 2, 'it remembers the answer');

is tells($site->port(1), 'ben', 'key-of-a-purchase-2'), 200, 'to another one';
is_deeply [ of($replica) ], [ 3, 'ann ben' ], 'it counts: a seat less is sold';

is tells($site->port(0), 'cat', 'key-of-a-purchase-3'), 200,
    'one that nobody had heard of';
is_deeply [ of($replica) ], [ 4, 'ann ben cat' ], 'counts once';

is tells($site->port($_), 'cat', 'key-of-a-purchase-3'), 200, "again to host $_"
    for 0, 1;
is((of($replica))[0], 4, 'and no more');

done_testing;
