# Several hundred users on two instances, whose Redis becomes one that does
# not serve: a replica that has lost its master (MASTERDOWN) until it is
# promoted, and one that has just been started (LOADING).

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Behind;
use Admission::Faults;
use Admission::Redis;

my $master = Admission::Redis->start;
my $replica = Admission::Redis->start(
    config => [ 'replica-serve-stale-data no',

                # so that it takes some seconds to load
                'key-load-delay 1000',
                'loading-process-events-interval-bytes 1024' ]);
$_->{timeout} = 2 for $master, $replica;

$master->cmd('CONFIG', 'SET', 'repl-diskless-sync-delay', 0);
$replica->cmd('REPLICAOF', '127.0.0.1', $master->port);

my $follows = sub {
    return (($replica->try('INFO', 'replication'))[0] // '')
           =~ /^master_link_status:up/m;
};
wait_until { $follows->() } 30;

my $behind = Admission::Behind->new($master);
my $faults = Admission::Faults->new(redis => $behind, arrive => 16,
                                    lossy => 1,
                                    users => sanitized ? 200 : 400);

sub serves () { return ($replica->try('GET', 'x'))[1] eq '' }

$faults->at(2, 'a replica without its master', sub {
    $master->kill9;
    $behind->lead($replica);
}, outage => 5, when => $follows);

$faults->at(4, 'it is promoted', sub {
    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    $faults->watch(promoted => \&serves);
}, over => 3, when => sub { $master->{process}{finished} });

$faults->at(8, 'it starts anew', sub {
    $replica->cmd('EVAL', <<'LUA', 0);
for i = 1, 2000 do redis.call('SET', 'load:' .. i, i) end
LUA
    $replica->cmd('SAVE');
    $replica->kill9;
    $replica->begin;
    $faults->watch(loaded => \&serves);
}, outage => 8, when => sub { $faults->{seen}{promoted} });

$faults->run;

for my $name (qw(promoted loaded)) {
    my $back = $faults->back_after($name);
    ok defined $back, "$name: it serves";
    note sprintf 'back after %.2f s', $back;
    cmp_ok $back, '<', 3 * slow, 'and that is found out soon';
}

my $log = join '', map { $faults->site->nginx($_)->error_log } 0, 1;
like $log, qr/: MASTERDOWN /, 'the log says that it had no master';
like $log, qr/: LOADING /, 'and that it was loading';

done_testing;
