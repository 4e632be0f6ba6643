# The waiting room's steps and the queue's share the event's clock: neither
# takes the other's for a sign of lost data, and the line goes on.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '8s',
    events => 'default threshold=1 vwr_rate=50 admit_interval=200ms;',
    server => <<'END');
        location /vwr-api/ { admission_vwr_api; }
        location /room/    { admission_admin_api; }
END

my $admin = $Admission::Site::SECRETS{admin};

is(request($site->port, 'POST', '/room/activate/concert', bearer => $admin)
   ->status, 200, 'the waiting room is active');

for my $round (1 .. 4) {
    my ($in, $next) = ("in-$round", "next-$round");

    my $entered = wait_until {
        $site->call($round % 2, $in, POST => 'check')->json->{status}
            eq 'active' };
    ok($entered, "$in is in");
    request($site->port($_), 'POST', '/vwr-api/assign/concert') for 0, 1;
    is($site->call(0, $next, POST => 'check')->json->{status}, 'queued',
       "$next waits");

    # steps of both, on both hosts
    my $step = sub { $site->redis->cmd('HGET', $site->key('state'), 'step') // 0 };
    my $before = $step->();
    my $stepped = wait_until { $step->() > $before + 1500 } 10;
    ok($stepped, 'steps go on');

    $site->call(1, $in, POST => 'leave');
    my $let_in = wait_until {
        $site->call(1, $next, POST => 'check')->json->{status} eq 'active'
    };
    ok($let_in, "$next is let in");
    $site->call(0, $next, POST => 'leave');
}

ok(!$site->redis->cmd('HEXISTS', $site->key('state'), 'restore'),
   'nothing was taken for lost');

done_testing;
