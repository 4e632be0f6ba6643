# Waiting rooms over hosts: what one of them is told, the others know within a
# second; the configuration's vwr=on; a new size of the zone; lost data.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;
use Time::HiRes qw(sleep);

my $site = Admission::Site->start(
    instances => 2, workers => 2, timeout => '5s',
    events => 'default threshold=2 vwr_rate=1; always vwr=on;',
    server => <<'END');
        location /vwr-api/ { admission_vwr_api; }
        location /admin/vwr/ { admission_admin_api; }
END

my $redis = $site->redis;

sub admin ($i, $method, $path) {
    return request($site->port($i), $method, "/admin/vwr/$path",
                   bearer => $Admission::Site::SECRETS{admin})->json;
}

sub status ($i, $event = 'concert') {
    return request($site->port($i), 'GET', "/vwr-api/status/$event")->json;
}

sub assign ($i, $event = 'concert') {
    return request($site->port($i), 'POST', "/vwr-api/assign/$event")->json;
}

# how long until the host says so: see the end for all of them
my @took;

sub known ($i, $what, $code) {
    my $watch = stopwatch;
    my $took;
    my $known = wait_until { $took = $watch->(); $code->(status($i)) };
    push @took, $took;
    ok($known, sprintf '%s: known there after %.2f s', $what, $took[-1]);
}

sub listed {
    return join ' ', sort $redis->cmd('SMEMBERS', 'vwr:active-events')->@*;
}

sub configure ($i, $from, $to) {
    my $file = $site->nginx($i)->dir . '/nginx.conf';
    write_file($file, read_file($file) =~ s/$from/$to/r);
    $site->nginx($i)->reload;
}


for my $i (0, 1) {
    my $on = wait_until { status($i, 'always')->{isActive} };
    ok($on, "vwr=on, instance $i");
}
is(admin(0, GET => 'status/always')->{setBy}, 'config', 'by whom');
my $always = admin(0, GET => 'status/always')->{activation};

# from one to the other
for my $round (1 .. 3) {
    admin(0, POST => 'activate/concert');
    ok(status(0)->{isActive}, 'active at once on the host that was told');
    known(1, 'activation', sub ($s) { $s->{isActive} });

    admin(1, POST => 'deactivate/concert');
    ok(!status(1)->{isActive}, 'inactive at once there');
    known(0, 'deactivation', sub ($s) { !$s->{isActive} });
}

ok((wait_until { listed eq 'always' } 10), 'only what is active is listed');

# positions from both
admin(0, POST => 'activate/concert');
known(1, 'activation', sub ($s) { $s->{isActive} });
my %seen;
$seen{ assign($_ % 2)->{position} }++ for 1 .. 200;
is_deeply([sort { $a <=> $b } keys %seen], [1 .. 200], 'each position once');
known($_, 'positions', sub ($s) { $s->{totalInQueue} == 200 }) for 0, 1;

admin(0, PUT => 'rate/concert?rate=0');
my $stands = $redis->cmd('HGET', $site->key('vwr'), 'serving');
known(1, 'the last of the counter', sub ($s) { $s->{serving} == $stands });
sleep 1;
is(status(1)->{serving}, $stands, 'the rate of 0 is known there');
is(admin(1, POST => 'advance/concert')->{servingCounter} // 0, 200, 'advance');
known(0, 'advance', sub ($s) { $s->{serving} == 200 });

# reload: vwr=on takes in the one that another host deactivated, and touches
# nothing else
admin(0, POST => 'deactivate/concert');
known(1, 'the deactivation', sub ($s) { !$s->{isActive} });
my $before = admin(0, GET => 'status/concert')->{activation};
configure(0, 'always vwr=on;', 'always vwr=on; concert vwr=on;');
known(1, 'vwr=on by a reload', sub ($s) { $s->{isActive} });
my $after = admin(1, GET => 'status/concert');
is_deeply([@$after{qw(activation nextPosition setBy)}],
          [$before, 200, 'config'], 'resumed');
is(admin(0, GET => 'status/always')->{activation}, $always,
   'the other is as it was');

# another size of the zone begins with what was known
configure(1, 'admission:1m', 'admission:2m');
sleep 0.5;
$redis->sigstop;
my $kept = status(1);
$redis->sigcont;
ok($kept->{isActive} && $kept->{totalInQueue} == 200, 'kept, without Redis');

# all is lost
my $last = assign(0)->{position};
known(1, 'the last position', sub ($s) { $s->{totalInQueue} == $last });
$redis->flushall;
ok((wait_until { listed eq 'always concert' }), 'listed again');
ok((wait_until { admin(0, GET => 'status/always')->{isActive} }), 'active');
is(admin($_, GET => 'status/concert')->{activation}, $before,
   'the same activation') for 0, 1;
cmp_ok(assign($_)->{position}, '>', $last + 999, 'well after the last one')
    for 0, 1;
is(admin(0, GET => 'status/concert')->{rate}, 0, 'and the rate set');

my $stats = $redis->stats;
is_deeply([grep { /^(?:keys|scan|hscan|zscan)$/ } keys %$stats], [],
          'no search through keys');

# all within a second, but for a few that came while the machine was busy
@took = sort { $a <=> $b } @took;
cmp_ok($took[@took / 2], '<', 0.7 * slow, 'known within a second, mostly sooner');
cmp_ok($took[-4], '<', 1 * slow, 'hardly ever later');

done_testing;
