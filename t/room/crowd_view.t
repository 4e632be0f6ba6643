# A line so long that most polls are answered by the hosts themselves, from their
# views of it: two instances of two workers, users who join, poll, leave, vanish
# and come back by their places, while a worker is killed, an instance reloads
# and Redis restarts with its data.  What holds for every crowd holds here.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(sum0);

use Admission::Crowd;
use Admission::Metrics;
use Admission::Site;

my ($users, $threshold) = sanitized ? (900, 60) : (1400, 100);
my $site = Admission::Site->start(
    instances => 2, connections => 2048, timeout => '2s',
    server => 'location = /metrics { admission_metrics; }',
    redis_opt => { config => [ 'appendonly yes', 'appendfsync always' ] },
    events => "default threshold=$threshold admit_interval=200ms "
              . 'admit_batch=40 claim_ttl=20s seen_ttl=30s;');

my $crowd = Admission::Crowd->new(
    site => $site, users => $users, threshold => $threshold, arrive => 3,
    poll => 1, stay => [0.2, 0.6], leave => 0.15, vanish => 0.1,
    away => [1, 3], look => 0.25);

$_->allow(qr/exited on signal 9/) for $site->nginx(0), $site->nginx(1);

# of each host: counters end with a zone, which outlives all of these

sub counted ($name) {
    return sum0 map { metrics($site->nginx($_)->port)->sum($name) // 0 } 0, 1;
}

my @faults = (
    [ 4, 'a worker is killed', sub { $site->nginx(0)->kill_worker('KILL') } ],
    [ 5, 'an instance reloads', sub { $site->nginx(1)->reload(wait => 0) } ],
    [ 6, 'Redis restarts', sub { $site->redis->restart(keep => 1) } ],
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

my @twice = map { "$_->{id}: $_->{admissions}" }
            grep { $_->{admissions} > 1 && ($_->{silence} // 0) < 18 }
            $crowd->users;
is_deeply(\@twice, [], 'nobody who was there was let in twice');

my @fallen = map { $_->{id} }
             grep { $_->{lost} && ($_->{silence} // 0) < 28 } $crowd->users;
is_deeply(\@fallen, [], 'nobody fell out of the queue');

is(scalar(grep { !$_->{booked} } $crowd->in_state('done')), 0,
   'everybody who got in has booked');

my $polls = counted('queue_view_polls_total');
cmp_ok($polls, '>', 100, "$polls polls asked nobody");

my $look = $site->admin(GET => '%s')->json;
is($look->{queueSize}, 0, 'nobody is left in the queue');
is($look->{currentUsers}, 0, 'nor inside');

done_testing;
