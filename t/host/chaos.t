# 2,000 users on two instances of two workers, joining, polling, leaving,
# vanishing and coming back by their places at random, while a worker is killed,
# an instance reloads, another is stopped and started, and Redis restarts with
# its data.  The line is so long that hosts answer most polls themselves, from
# their views of it.  Others only listen, by streams, and come by the gate.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Crowd;
use Admission::HTTP;
use Admission::Listeners;
use Admission::Metrics;
use Admission::Site;

# more come than get in, also where the machine is slow: all slots are used
my ($users, $threshold, $arrive) = sanitized ? (1800, 60, 3) : (2000, 80, 3);
my $site = Admission::Site->start(
    instances => 2, connections => 2048, timeout => '2s',
    server => 'location = /metrics { admission_metrics; }',
    redis_opt => { config => [ 'appendonly yes', 'appendfsync always' ] },
    events => "default threshold=$threshold admit_interval=200ms "
              . 'claim_ttl=20s seen_ttl=30s;');

my $crowd = Admission::Crowd->new(
    site => $site, users => $users, threshold => $threshold, arrive => $arrive,
    fill => 20, poll => 1, stay => [0.2, 1], vanish => 0.1, away => [1, 6],
    leave => 0.1, look => 0.25, seen_ttl => 30);

my $listeners = Admission::Listeners->start($site, users => 60);

$_->allow(qr/exited on signal 9/) for $site->nginx(0), $site->nginx(1);

my @faults = (
    [ 4, 'a worker is killed', sub { $site->nginx(0)->kill_worker('KILL') } ],
    [ 7, 'an instance reloads', sub { $site->nginx(1)->reload(wait => 0) } ],
    [ 10, 'an instance is stopped', sub { $site->nginx(0)->stop } ],
    [ 12, 'and started', sub { $site->nginx(0)->start_again } ],
    [ 15, 'Redis restarts', sub { $site->redis->restart(keep => 1) } ],
);

for my $fault (@faults) {
    my ($at, $what, $code) = @$fault;
    $crowd->{swarm}->timer($at, sub { note "at $at s: $what"; $code->() });
}

ok($crowd->run(200), 'everybody got in or left')
    or diag join "\n", ($crowd->lost)[0 .. 20];
note $crowd->report;

is_deeply($crowd->{violations}, [], 'no invariant was broken');
is($crowd->{max_active}, $threshold, 'all slots were used');

my $told = $listeners->wait(60);
is($told->{done}, 60, 'who listens by a stream gets in by it')
    or diag explain $told;
is($told->{back}, 0, 'and never stands further back');
cmp_ok($crowd->{max_inside}, '>', $threshold / 2, 'and most known to be');

my @twice = map { "$_->{id}: $_->{admissions}" }
            grep { $_->{admissions} > 1 && ($_->{silence} // 0) < 18 }
            $crowd->users;
is_deeply(\@twice, [], 'nobody who was there was let in twice');

my @fallen = map { $_->{id} }
             grep { $_->{lost} && ($_->{silence} // 0) < 28 } $crowd->users;
is_deeply(\@fallen, [], 'nobody fell out of the queue');

is(scalar(grep { !$_->{booked} } $crowd->in_state('done')), 0,
   'everybody who got in has booked');

# counters end with a zone, which outlives all of these but a stop

my $polls = metrics($site->port(1))->value('queue_view_polls_total') // 0;
cmp_ok($polls, '>', 100, "$polls polls asked nobody");

my $look = answered { $site->admin(GET => '%s') }->json;
is($look->{queueSize}, 0, 'nobody is left in the queue');
is($look->{currentUsers}, 0, 'nor inside');

done_testing;
