# First tokens of tickets, and the turns of those who come late, over two hosts:
# what Redis has of them, and what a visitor is told.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Waiting;

# Redis's clock is the test's own
my $site = waiting_site(instances => 2, timeout => '5s',
    redis_opt => { clock => 1 },
    server => 'location = /metrics { admission_metrics; }',
    events => 'default vwr_rate=0 session_max=600s token_ttl=60s;
               off     vwr_rate=0 session_max=600s vwr_noshow=1;');

my $redis = $site->redis;

operator($site, POST => "activate/$_") for qw(concert off);
wait_until { get($_, '/vwr-api/status/concert')->json->{isActive} }
    for $site->ports;

# whether Redis knows that a number came
sub came ($n) {
    return vec $redis->cmd('HGET', '{concert}:come', int $n / 512) // '',
               $n % 512, 1;
}

sub token ($r) { return jwt_decode($r->json->{token} // '') // {} }

# all hosts' time is Redis's, which the answers to their steps tell: one of each room
# may have been on its way
sub later ($seconds) {
    state $now = 0;
    $redis->set_clock($now += $seconds);
    my @before = map { steps($_) } $site->ports;
    for my $i (0, 1) {
        ok wait_until(sub { steps($site->port($i)) >= $before[$i] + 4 }),
            "$seconds s later, host $i";
    }
}

sub steps ($port) {
    return metrics($port)->value('redis_call_duration_seconds_count',
                                 call => 'vwr_step') // 0;
}

my @visitors = map { {} } 1 .. 8;
my @tickets = map { assign($site, $_ % 2, $visitors[$_])->json->{requestId} }
              0 .. 7;

# hosts hear of it within these seconds, each for itself
my $called = time;
advance_past($site);
my $heard = time - $called;

my $r = check($site, 0, $visitors[0], $tickets[0]);
ok $r->json->{admitted}, 'one who comes in time is let in';
my $adm = token($r)->{adm};
ok wait_until(sub { came(1) }), 'and Redis knows';
ok !came(2), 'of that one alone';

ok $visitors[1] && check($site, 0, $visitors[1], $tickets[1], cookies => {})
    ->json, 'somebody else asks with a ticket';
ok !came(2), 'who does not come by that';

later(40);

$r = check($site, 0, $visitors[0], $tickets[0]);
ok $r->json->{admitted}, 'who came gets a token again, once the turn is over';
is token($r)->{adm}, $adm, 'of the same session';

# on the other host, which has to ask
my $other = sub ($n) { check($site, 1, $visitors[$n], $tickets[$n]) };
$r = $other->(0);
ok wait_until(sub { ($r = $other->(0))->json->{admitted} }),
    'on another host too';
cmp_ok abs(token($r)->{adm} - $adm), '<', 1e6 * (2 + $heard),
    'of the same session, about';


# who did not: the rate is 0, and an operator called them

$r = $other->(2);
is_deeply [ @{$r->json}{qw(admitted ahead position)} ],
    [ JSON::PP::false(), 0, 3 ], 'one who comes late waits' or diag $r->raw;
ok exists $r->json->{nextPoll}, 'and polls';
is $r->json->{token}, undef, 'without a token';
ok wait_until(sub { ($r = $other->(2))->json->{admitted} }),
    'and is let in, since an operator called the number';
my $turn = token($r)->{adm};
cmp_ok $turn, '>=', $adm + 39e6, 'the session counts from then';
is token($r)->{position}, 3, 'with its position, which counts in tier 2';
ok came(3), 'and Redis knows';

ok wait_until(sub {
        ($r = check($site, 0, $visitors[2], $tickets[2]))->json->{admitted} }),
    'the other host knows';
is token($r)->{adm}, $turn, 'of the same turn';


# somebody else who has heard of a number takes no turn of it, nor does who leaves

is check($site, 0, {}, $tickets[3])->json->{holder}, JSON::PP::false(),
    'somebody else is told of it';
is visit($site, 0, { $visitors[7]->%* }, POST =>
         "/vwr-api/leave/concert/$tickets[7]")->status, 200, 'one leaves';

# whoever asks with the same step, or after it, is answered
ok wait_until(sub {
        ($r = check($site, 0, $visitors[1], $tickets[1]))->json->{admitted} }),
    'who has the number takes it';
ok wait_until(sub { came(2) }), 'which Redis knows';
ok !came($_), "of nobody for number $_" for 4, 8;
ok defined $redis->cmd('ZSCORE', '{concert}:late', 2), 'it came late';
ok !defined $redis->cmd('ZSCORE', '{concert}:late', $_), "$_ did not"
    for 4, 8;


# what operators are told

for my $api ('status/concert', 'status') {
    my ($is, $redis_has);
    ok wait_until(sub {
        $is = operator($site, GET => $api)->json;
        ($is) = grep { $_->{eventId} eq 'concert' } $is->{events}->@*
            if $is->{events};
        $redis_has = int($redis->cmd('HGET', '{concert}:come', 'shows') / 10);
        ($is->{comePercent} // -1) == $redis_has
    }), "GET $api: how many of those called come" or diag $is->{comePercent};
}
my ($off) = operator($site, GET => 'status/off')->json;
ok $off->{isActive} && !exists $off->{comePercent},
    'not where that is not looked at';


# by a rate: as many as it has room for, lower ones first

operator($site, PUT => "rate/concert?rate=1");
later(40);
my %in;
my $begin = time;

wait_until {
    for my $n (3 .. 7) {
        next if $in{$n};
        my $r = check($site, $n % 2, $visitors[$n], $tickets[$n]);
        $in{$n} = time - $begin if $r->json->{admitted};
    }
    return keys %in == 5;
};
is scalar keys %in, 5, 'all who came late are in';
cmp_ok((sort { $a <=> $b } values %in)[-1], '>=', 2,
    'one a second, and not at once');


# a pause is one at once: what the rate had saved up lets in nobody

operator($site, PUT => 'rate/concert?rate=1000');
later(2);
operator($site, PUT => 'rate/concert?rate=0');
my $at = operator($site, GET => 'status/concert')->json->{servingCounter};
assign($site, 0, {}) for 1 .. 3;
later(1);
is operator($site, GET => 'status/concert')->json->{servingCounter}, $at,
    'with a rate of 0 the counter stands, though there was credit';


# where it is off, who comes late is let in as ever

my $late = {};
my $ticket = assign($site, 0, $late, event => 'off')->json->{requestId};
advance_past($site, 'off');
later(40);
ok check($site, 0, $late, $ticket, event => 'off')->json->{admitted},
    'vwr_noshow=1: at once';
is $redis->cmd('EXISTS', '{off}:come'), 0, 'and Redis has nothing of it';


# another activation

operator($site, POST => "activate/concert?restart=1");
ok wait_until(sub { !came(1) }), 'a restart forgets who came';

done_testing;
