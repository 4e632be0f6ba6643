# A sale on three hosts: N seats, 20 N users who join, leave, buy and vanish as
# they like, while workers are killed and Redis restarts empty.  Nobody is let in
# while as many are sold and inside as there are; in the end all are sold, and
# who still waits is told.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Site;
use Admission::HTTP;
use Time::HiRes qw(time sleep);

my $N = 10;
my $seed = $ENV{TEST_SEED} // int rand 1e9;
srand $seed;
note "TEST_SEED=$seed";

my $hosts = 3;
my $site = Admission::Site->start(
    instances => $hosts, workers => 2, timeout => slow . 's',
    events => "default slots=$N threshold=6 admit_interval=200ms "
              . 'claim_ttl=4s active_ttl=6s seen_ttl=120s restore_wait=2s;');

my $redis = $site->redis;
my @users = map { { id => "u$_" } } 1 .. 20 * $N;
my ($looks, $worst, $down) = (0, 0, 0);

sub api ($user, $method, $call) {
    my @shown;
    push @shown, 'X-Queue-Place' => $user->{place} if $user->{place};
    push @shown, 'X-Queue-Entry-Token' => $user->{token} if $user->{token};
    return $site->call(int rand $hosts, $user->{id}, $method, $call,
                       headers => \@shown);
}

# What is sold and who is inside, at one moment.

sub look () {
    my ($sold, $active) = eval { $redis->cmd(
        'EVAL', q{return { tonumber(redis.call('GET', KEYS[1]) or '0'),
                           redis.call('ZCARD', KEYS[2]) }},
        2, $site->key('sold'), $site->key('active'))->@* };
    return 0 if !defined $active;
    $looks++;
    $worst = $sold + $active if $sold + $active > $worst;
    return $sold;
}

# A call of a user, by what was heard last.

sub act ($user) {
    my $json = api($user, $user->{in} ? (POST => 'check')
                          : $user->{waits} ? (GET => 'status')
                          : (POST => 'check'))->json // {};
    my $status = $json->{status} // $json->{code} // 'none';

    $user->{told} = $status;
    $user->{place} = $json->{place} if $json->{place};
    $user->{token} = $json->{entryToken} if $json->{entryToken};
    $user->{waits} = 1 if $status eq 'queued' || $status eq 'sold_out';
    delete $user->{waits} if $status eq 'not_in_queue';

    return if $status ne 'active';

    my $what = rand;
    if ($what < 0.4) {
        my $r = request($site->port(int rand $hosts), POST =>
                        '/api/reservations?header=X-Admission-Command:complete',
                        bearer => $site->user($user->{id}),
                        headers => [ 'X-Queue-Entry-Token' => $user->{token} ]);
        $user->{bought}++ if $r->status == 200;
    } elsif ($what < 0.6) {
        return if api($user, POST => 'leave')->status != 200;
    } elsif ($what > 0.8) {
        return;                         # stays in
    }
    %$user = (id => $user->{id}, gone => 1, bought => $user->{bought});
}

sub bought () { return scalar grep { $_->{bought} } @users }

# who is there: some come late, some have gone

sub turn ($n) {
    for (1 .. $n) {
        my $user = $users[rand @users];
        next if $user->{gone};
        act($user);
        look;
    }
}

turn(150);
my $first = bought;

subtest 'a worker is killed' => sub {
    for my $i (0 .. $hosts - 1) {
        $site->nginx($i)->kill_worker;
        $site->nginx($i)->allow(qr/exited on signal 9/);
        turn(60);
    }
    cmp_ok($worst, '<=', $N, 'sold and inside are never more');
};

subtest 'Redis restarts, empty' => sub {
    wait_until { turn(20); bought() > 2 } 20;
    my $before = bought;
    wait_until { look() >= $before } 5;

    $redis->restart;
    $redis->cmd('FLUSHALL');
    wait_until { turn(5); look() >= $before } 20;
    cmp_ok(look(), '>=', $before, "what was sold, $before, still is");
    cmp_ok($worst, '<=', $N, 'sold and inside are never more');
};

my $end = time + 90 * slow;
while (time() < $end && look() < $N) {
    turn(40);
    sleep 0.05;
}

wait_until { look() == $N } 5;
is(look(), $N, 'all seats are sold');
is(bought(), $N, 'to so many users');
cmp_ok($worst, '<=', $N, 'sold and inside are never more');
cmp_ok($looks, '>', 300, 'which was looked at often enough');

my @waiting = grep { !$_->{gone} && $_->{waits} } @users;
cmp_ok(scalar @waiting, '>', 0, 'somebody waits still');
my $since = time;
my %told;
$told{ api($_, GET => 'status')->json->{status} }++ for @waiting;
is_deeply([keys %told], ['sold_out'], 'and all of them are told');
note sprintf '%d asked in %.1f s', scalar @waiting, time - $since;

is(api({ id => 'new' }, POST => 'check')->json->{code}, 'SOLD_OUT',
   'nobody joins any more, by any host') for 1 .. 6;

# ---- and open again

is($site->admin(PUT => 'slots/%s?slots=' . ($N + 1))->json->{remaining}, 1,
   'one more seat');
wait_until {
    grep { (api($_, GET => 'status')->json->{status} // '') eq 'active' } @waiting
} 10;
my @in = grep { api($_, GET => 'status')->json->{status} eq 'active' } @waiting;
is(scalar @in, 1, 'one of those who waited is let in');

done_testing;
