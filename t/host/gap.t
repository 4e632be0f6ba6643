# Redis away for twice seen_ttl, its clock set forward and back, writes refused
# for want of memory: nobody is swept out, nobody inside loses the slot.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;
use Time::HiRes qw(sleep);

my $line = 'default threshold=2 seen_ttl=6s claim_ttl=6s active_ttl=8s '
           . 'admit_interval=200ms;';

my %site = map {
    $_ => Admission::Site->start(workers => 1, events => $line,
                                 timeout => '5s',
                                 redis_opt => { clock => /clock/ ? 1 : 0 })
} qw(away forward-clock back-clock memory);

my @inside = qw(ann ben);
my @line = map { "user-$_" } 1 .. 5;

# all of them
sub poll ($site) {
    $site->call(0, $_, GET => 'status') for @inside, @line;
}

# Where Redis stood still for 1.5 s nobody is let in for as long: who comes then
# waits for a moment.
sub gets_in ($site, $user) {
    return wait_until {
        $site->call(0, $user, POST => 'check')->json->{status} eq 'active' };
}

for my $name (sort keys %site) {
    my $site = $site{$name};
    ok(gets_in($site, $_), "$name: $_ is in") for @inside;
    is($site->call(0, $_, POST => 'check')->json->{status}, 'queued',
       "$name: $_ waits") for @line;
}

# steps are under way everywhere
for my $site (values %site) {
    my $stepped = wait_until {
        $site->redis->cmd('HGET', $site->key('state'), 'step') };
    ok($stepped, 'a step');
}

# the faults, all at once, for twice seen_ttl: each as soon as the site has heard of
# its users, which have six seconds
my %memory = $site{memory}->redis->cmd('CONFIG', 'GET', 'maxmemory')->@*;

my %fault = (
    away => sub ($redis) { $redis->sigstop },
    'forward-clock' => sub ($redis) { $redis->set_clock(7200) },
    'back-clock' => sub ($redis) { $redis->set_clock(-7200) },
    memory => sub ($redis) { $redis->cmd('CONFIG', 'SET', 'maxmemory', 1) },
);

for my $name (sort keys %fault) {
    poll($site{$name});
    $fault{$name}->($site{$name}->redis);
}

my $r = $site{memory}->call(0, 'new', POST => 'check');
is($r->status, 503, 'no memory: 503');
is($r->json->{code}, 'UNAVAILABLE', 'and said so');
ok($r->header('Retry-After') >= 1, 'and when to come again');
is($site{memory}->call(0, 'ann', GET => 'status')->status, 503,
   'for those inside too');

my $end = time + 13;
wait_until { time >= $end } 20;

$site{away}->redis->sigcont;
$site{memory}->redis->cmd('CONFIG', 'SET', 'maxmemory', $memory{maxmemory});

# the first steps after it do their work before anybody polls
for my $name (sort keys %site) {
    my $site = $site{$name};
    my $step = sub { $site->redis->cmd('HGET', $site->key('state'), 'step') };
    my $before = $step->();
    my $stepped = wait_until { $step->() != $before };
    ok($stepped, "$name: steps go on");
}
sleep 1.5;

# all sites first, since nobody polls meanwhile
for my $name (sort keys %site) {
    my $site = $site{$name};
    my $look = $site->look;

    is_deeply([sort keys $look->{active}->%*], \@inside,
              "$name: who is inside still is");
    is_deeply([sort { $look->{waiting}{$a} <=> $look->{waiting}{$b} }
               keys $look->{waiting}->%*], \@line,
              "$name: who waits still does, in order");

    for my $user (@inside) {
        my $token = $site->call(0, $user, GET => 'status')->json->{entryToken};
        is(request($site->port, 'GET', '/gated', bearer => $site->user($user),
                   headers => ['X-Queue-Entry-Token' => $token // ''])->status,
           200, "$name: $user passes the gate");
    }

    is($site->call(0, $line[4], GET => 'status')->json->{position}, 5,
       "$name: the last one is the fifth");
}

# and the line moves
for my $name (sort keys %site) {
    my $site = $site{$name};
    poll($site);
    my $left = wait_until {
        $site->call(0, 'ann', POST => 'leave')->status == 200 };
    ok($left, "$name: ann leaves");
    my $in = wait_until {
        $site->call(0, $line[0], GET => 'status')->json->{status} eq 'active'
    };
    ok($in, "$name: a slot that comes free goes to the first");
}

done_testing;
