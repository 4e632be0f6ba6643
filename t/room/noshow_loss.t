# Who came, after Redis lost it: hosts tell it again, so that nobody who has come is
# taken for one who comes late, and charged to the rate once more.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Redis;
use Admission::Rooms;
use Admission::Waiting;


# ---- the script

SKIP: {
    skip 'nothing of NGINX is run here: once is enough', 1 if sanitized;

    my $redis = Admission::Redis->start;
    my $us = 1_750_000_000_000_000;
    my $later = sub ($seconds) {
        $us += int($seconds * 1e6);
        $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
    };

    $later->(0);
    my $room = Admission::Rooms->new($redis, rate => 20, noshow => 4,
        edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            return $text;
        });

    $room->admin('activate');
    $room->assign(2000);
    my $other = $room->copy;

    my $since = $room->step->{come_since};
    cmp_ok $since, '>', 0, 'it is told since when it is known who came';
    for (1 .. 20) { $later->(0.5); $room->step }
    is $room->step->{come_since}, $since, 'which does not change';

    # fields of bits: 3, 5 and 700 came
    my %bits = (0 => "\0" x 64, 1 => "\0" x 64);
    vec($bits{0}, 3, 1) = vec($bits{0}, 5, 1) = vec($bits{1}, 700 - 512, 1) = 1;
    $room->step(come => \%bits);

    my $credit = sub { $redis->cmd('HGET', $room->key('come'), 'credit') };
    $later->(40);
    $room->step;

    $redis->flushall;
    $later->(0.25);
    my $answer = $room->step;
    isnt $answer->{come_since}, $since, 'a loss: it was begun anew';
    $other->step;

    # the same time: nothing is added to the credit
    my $before = $credit->();
    $answer = $other->step(had => \%bits);
    is $credit->(), $before, 'what is told again is not charged';

    $answer = $other->step(asks => [ 3, 5, 6 ]);
    my %turns = $answer->{turns}->@*;
    is_deeply [ @turns{3, 5} ], [ 0, 0 ], 'who has come has the turn of then';
    isnt $turns{6} // 'none', 0, 'who has not comes late';

    # where nobody waits a step leaves out who came: other hosts hear of a loss
    # all the same

    $room->admin(rate => 0);
    $room->admin(advance => 5000);
    $_->step for $room, $other;
    for (1 .. 60) { $later->(1); $room->step }
    is $other->step->{come_since}, $room->step->{come_since},
        'at rest the time is told';

    my $known = $other->step->{come_since};
    $redis->flushall;
    for (1 .. 10) { $later->(1); $room->step }
    $answer = $other->step;
    cmp_ok $answer->{come_since}, '>', $known, 'and that of a loss, to each';
    is $room->step->{come_since}, $answer->{come_since}, 'the same';
    $other->step(had => \%bits);
    is_deeply { $other->step(asks => [ 3, 5 ])->{turns}->@* },
        { 3 => 0, 5 => 0 }, 'what is told again is taken';

    $other->step(had => { 0 => "\0" x 64 });
    is_deeply { $other->step(asks => [ 3 ])->{turns}->@* }, { 3 => 0 },
        'nothing is taken back by it';
}


# ---- hosts

my $site = waiting_site(instances => 2, timeout => '5s',
    redis_opt => { clock => 1 },
    server => 'location = /metrics { admission_metrics; }',
    events => 'default vwr_rate=0 session_max=600s;');

my $redis = $site->redis;
$_->allow(qr/redis had lost data/) for $site->{nginx}->@*;

operator($site, POST => 'activate/concert');
wait_until { get($_, '/vwr-api/status/concert')->json->{isActive} }
    for $site->ports;

my @visitors = map { {} } 1 .. 3;
my @tickets = map { assign($site, 0, $_)->json->{requestId} } @visitors;
advance_past($site);

ok check($site, 0, $visitors[$_], $tickets[$_])->json->{admitted},
    "visitor $_ is let in" for 0, 1;

sub bits () { return $redis->cmd('HGET', '{concert}:come', 0) // '' }

ok wait_until(sub { vec(bits, 1, 1) && vec(bits, 2, 1) }), 'Redis knows';

# the turns are over, by what hosts know: one step of each may have been on its way
sub steps ($port) {
    return metrics($port)->value('redis_call_duration_seconds_count',
                                 call => 'vwr_step') // 0;
}

$redis->set_clock(40);
my @before = map { steps($_) } $site->ports;
for my $i (0, 1) {
    ok wait_until(sub { steps($site->port($i)) >= $before[$i] + 4 }),
        "later, host $i";
}

$redis->flushall;
ok wait_until(sub { vec(bits, 1, 1) && vec(bits, 2, 1) }, 20),
    'after a loss it is told again';
ok !vec(bits, 3, 1), 'of those who have come';

# an operator called them; with a rate of 0 nobody else would go in
for my $i (0, 1) {
    ok wait_until(sub { check($site, 1, $visitors[$i], $tickets[$i])
                        ->json->{admitted} }, 20),
        "visitor $i has a token of the other host";
    is $redis->cmd('ZSCORE', '{concert}:late', $i + 1), undef,
        'and did not come late';
}

done_testing;
