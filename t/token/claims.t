# Threshold 10, 30 join; the 10 who are let in next have all vanished: the
# line goes on within claim_ttl, and they find their places when they come
# back.  And the ends of slots: session_max, polling for ever.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Time::HiRes qw(time);

my $site = Admission::Site->start(
    instances => 2,
    timeout => '5s',
    events => 'default threshold=10 claim_ttl=5s seen_ttl=60s
                       admit_interval=200ms;
               capped  threshold=1 active_ttl=16s session_max=8s
                       admit_interval=200ms;');

sub check ($user, %opt) {
    return $site->call(rand 2, $user, POST => 'check', %opt)->json;
}

my @users = map { "user-$_" } 1 .. 30;
my ($inside, $gone, $rest) = ([@users[0 .. 9]], [@users[10 .. 19]],
                              [@users[20 .. 29]]);
my %place;

for my $user (@users) {
    $place{$user} = check($user)->{place};
}

is_deeply([sort keys $site->look->{active}->%*], [sort @$inside],
          'ten are inside');
is($site->admin(GET => '%s')->json->{queueSize}, 20, 'twenty wait');

# those inside leave, all at once, so that none of the next has lost the slot before
# the last of them has it; who is next has vanished

my @leave = map {
    my $c = Admission::HTTP->connect($site->port(0));
    $c->send(Admission::HTTP::compose(POST => '/api/queue/leave/concert',
                                      bearer => $site->user($_)));
    $c
} @$inside;

is_deeply([map { $_->response->status } @leave], [(200) x 10], 'who is in leaves');

# by the order in which they were let in: who is in now may be others already

my @let_in;
my $let = wait_until {
    push @let_in, $site->look->{admitted}->@*;
    @let_in >= 10
} 20;
ok($let, 'ten are let in');
my $took = stopwatch;
is_deeply([sort @let_in[0 .. 9]], [sort @$gone],
          'the next ten, who are not there');

my $active;
my $on = wait_until {
    check($_) for @$rest;
    $active = $site->look->{active};
    10 == grep { exists $active->{$_} } @$rest
} 20;
ok($on, 'the line goes on');
cmp_ok($took->(), '<', 5 + 4 * slow, 'within claim_ttl and a step');
is(check($_)->{status}, 'active', "$_ is in") for @$rest;

# they come back
my @back = map { check($_, headers => ['X-Queue-Place' => $place{$_}]) }
           reverse @$gone;
is_deeply([map { $_->{status} } @back], [('queued') x 10],
          'who vanished waits again');
is(check('late')->{position}, 11, 'a newcomer is behind them');
is_deeply($site->redis->cmd('ZRANGE', $site->key('queue'), 0, 9), $gone,
          'in the order of their places');

$site->call(0, $rest->[0], POST => 'leave');
my $first = wait_until { check($gone->[0])->{status} eq 'active' } 20;
ok($first, 'the first of them gets in');


# a slot is renewed to the cap and not beyond
$site->{event} = 'capped';
my $start = time;
my $in = check('ann')->{entryToken};
my $adm = jwt_decode($in)->{adm};
check('ben');

my ($last, $renewed);
my $out = wait_until {
    my $r = $site->call(0, 'ann', POST => 'heartbeat')->json;
    if ($r->{status} eq 'active') {
        my $claims = jwt_decode($r->{entryToken});
        $renewed++ if $claims->{adm} == $adm;
        $last = $claims->{exp};
    }
    check('ben');
    $r->{status} ne 'active'
};

ok($out, 'polling for ever does not keep a slot');
cmp_ok(time - $start, '>=', 7.5, 'it lasts for session_max');
cmp_ok($renewed, '>', 3, 'renewed till then, as the same admission');
cmp_ok($last, '<=', int($adm / 1_000_000) + 8,
       'no token is for longer than the cap');
my $next = wait_until { check('ben')->{status} eq 'active' } 20;
ok($next, 'the next one has the slot');

done_testing;
