# Redis comes back with older data, as after a crash by its last snapshot: who
# was let in since keeps the slot, nobody is let in past the threshold, who
# joined since has the old place.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    workers => 1, instances => 2, timeout => '5s',
    events => 'default threshold=4 restore_wait=6s admit_interval=200ms;');
my (%entry, %place);

# with what a browser would have
sub ask ($user, $i = 0, $method = 'POST', $call = 'check') {
    my @headers;
    push @headers, 'X-Queue-Entry-Token' => $entry{$user} if $entry{$user};
    push @headers, 'X-Queue-Place' => $place{$user} if $place{$user};

    my $r = $site->call($i, $user, $method, $call, headers => \@headers)->json;
    $entry{$user} = $r->{entryToken} if $r->{entryToken};
    $place{$user} = $r->{place} if $r->{place};
    return $r;
}

sub inside { return join ' ', sort keys $site->look->{active}->%* }

my @line = map { "w$_" } 1 .. 4;

# where Redis stood still for 1.5 s nobody is let in for as long
sub gets_in ($user) { return wait_until { ask($user)->{status} eq 'active' } }

ok(gets_in($_), "$_ is in") for qw(a b);
$site->redis->cmd('SAVE');
ok(gets_in($_), "$_ is in after the snapshot") for qw(c d);
is(ask($_)->{status}, 'queued', "$_ waits") for @line;

# both hosts have heard of it
my $heard = wait_until { ask('w1', 1)->{currentUsers} == 4 };
ok($heard, 'four are in');

$site->redis->kill9;
$site->redis->launch;
my $up = wait_until { 2 == grep {
    $site->call($_, 'w4', GET => 'status')->status == 200 } 0, 1 } 20;
ok($up, 'Redis is back, for both hosts');
is(inside(), 'a b', 'with older data');

# the line comes first, those inside a little later
for my $i (0, 1) {
    ask($_, $i, GET => 'status') for @line;
}
is(request($site->port, 'GET', '/gated', bearer => $site->user('c'),
           headers => ['X-Queue-Entry-Token' => $entry{c}])->status, 200,
   'c passes the gate');
is(ask('d', 1, GET => 'status')->{status}, 'active', 'd is still in');

my $full = wait_until { inside() eq 'a b c d' };
ok($full, 'all four have their slots');

# also when places are no longer being restored
my $restore = wait_until {
    my $until = $site->redis->cmd('HGET', $site->key('state'), 'restore');
    $site->redis->cmd('TIME')->[0] > $until / 1000 + 2 } 30;
ok($restore, 'restored');
is(inside(), 'a b c d', 'nobody else was let in');

ask($_, 0, GET => 'status') for @line;
my $look = $site->look->{waiting};
is_deeply([sort { $look->{$a} <=> $look->{$b} } keys %$look], \@line,
          'the line is in its order');

$site->call(0, 'c', POST => 'leave');
my $next = wait_until { ask('w1')->{status} eq 'active' };
ok($next, 'and goes on');

done_testing;
