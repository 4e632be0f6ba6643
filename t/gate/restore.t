# NGINX and Redis both come back with nothing: an entry token that passes the
# gate is the first to know, begins the restore, and is its holder's slot.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    workers => 1, timeout => '30s',
    events => 'default threshold=1 restore_wait=30s admit_interval=100ms;');

my $entry = $site->call(0, 'ann', POST => 'check')->json->{entryToken};
ok($entry, 'ann is in');

$site->nginx->stop;
$site->redis->flushall;
$site->nginx->start_again;

is($site->call(0, 'ben', POST => 'check')->json->{status}, 'active',
   'ben is in: nobody knows better');
is(request($site->port, 'GET', '/gated', bearer => $site->user('ann'),
           headers => ['X-Queue-Entry-Token' => $entry])->status, 200,
   'ann passes the gate');

my $begun = wait_until {
    $site->redis->cmd('HGET', $site->key('state'), 'restore') } 20;
ok($begun, 'the restore begins');
my $back = wait_until { exists $site->look->{active}{ann} } 20;
ok($back, 'ann has her slot');
is($site->call(0, 'cho', POST => 'check')->json->{status}, 'queued',
   'who comes now waits');

done_testing;
