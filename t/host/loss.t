# Redis loses its data in the middle: the order stays by the places held, no
# more than the threshold are inside by then or later, who is inside stays.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Crowd;
use Admission::Site;

my $threshold = 40;
my $site = Admission::Site->start(
    instances => 2, connections => 2048, timeout => '5s',
    events => "default threshold=$threshold admit_interval=200ms "
              . 'claim_ttl=20s seen_ttl=30s restore_wait=6s active_ttl=30s;');

my ($flushed, @inside);

# where the machine is busy those who were let in hear of it late: others come until
# many were inside at a time

my $crowd = Admission::Crowd->new(
    site => $site, users => $ENV{TEST_CROWD} // 360, threshold => $threshold, arrive => 4,
    poll => 1, stay => [1, 8], vanish => 0, look => 0.2, seen_ttl => 30,
    while => sub { !$flushed });

my $lose;
$lose = sub {
    @inside = grep { !$_->{leaving} } $crowd->in_state('in');
    return $crowd->{swarm}->timer(0.1, $lose) if @inside <= $threshold / 2;

    $crowd->look;
    @inside = grep { !$_->{leaving} } $crowd->in_state('in');
    $site->redis->flushall;
    $flushed = $site->redis->cmd('TIME')->[0];
    delete $crowd->{seen};
};
$crowd->{swarm}->timer(6, $lose);

ok($crowd->run(150), 'everybody got in or left')
    or diag join "\n", ($crowd->lost)[0 .. 20];
note $crowd->report;

ok($flushed, 'the data was lost');
cmp_ok(scalar @inside, '>', $threshold / 2, 'with many inside');

my $restored = $site->redis->cmd('HGET', $site->key('state'), 'restore');
my $first = $site->redis->cmd('XRANGE', $site->key('admissions'), '-', '+',
                              'COUNT', 1)->[0];
my %first = $first->[1]->@*;
cmp_ok($first{timestamp}, '>=', $restored,
       'nobody was let in while places were restored');
is_deeply($crowd->{violations}, [], 'no invariant was broken');

is(scalar(grep { $_->{state} ne 'done' || !$_->{booked} } @inside), 0,
   'who was inside stayed, and booked');

my @fallen = map { $_->{id} } grep { $_->{lost} } $crowd->users;
is_deeply(\@fallen, [], 'nobody fell out of the queue');
is_deeply([grep { !/^gate 403$/ } keys $crowd->{errors}->%*], [],
          'no call failed');

done_testing;
