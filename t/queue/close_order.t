# Users close streams, say by a beacon that the page closes, and are heard of
# between; workers and hosts tell of it in any order.  Whoever closed last leaves,
# as long after that as it was to be, and whoever was heard of last stays.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX ();
use List::Util qw(min shuffle);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Redis;
use Admission::Scripts;
use Admission::Site;
use Admission::Stream;

my $redis = Admission::Redis->start;
my $seed = $ENV{TEST_SEED} // int rand 1e6;
srand $seed;
note "TEST_SEED=$seed";

my $q = Admission::Scripts->new($redis, event => 'order', threshold => 0);
my @users = map { "user$_" } 1 .. 40;
my %at = map { ($_ => $q->ask($_)) } @users;

# ms by which one may be taken to have said it earlier
my $lag = 100;

sub now () {
    my $t = $redis->cmd('TIME');
    return int($t->[0] * 1000 + $t->[1] / 1000);
}

sub due ($user) {
    my $score = $redis->cmd('ZSCORE', $q->key('leaving'), $user);
    return defined $score ? POSIX::ceil($score) : undef;
}


# What one user says: [what, when (ms before now), in how many ms one leaves].

sub says () {
    my $ago = 10_000;
    return map {
        $ago -= $lag + 20 + int rand 900;
        rand() < 0.5 ? [ close => $ago, 1000 * (30 + int rand 90) ] : [ beat => $ago ]
    } 1 .. 2 + int rand 5;
}

# When that was, by the clock of the call that told of it: [user, what, when, in
# how many ms].

sub said_by (@says) {
    my $us = $q->beat(map {
        my ($user, $what, $ago, $within) = @$_;
        { user => $user, ago => $ago,
          ($what eq 'close' ? (close => $within) : (place => $at{$user})) }
    } @says)->{us};

    return map { [ @$_[0, 1], int($us / 1000) - $_->[2], $_->[3] ] } @says;
}

# Whether one beside another may be taken to have been said before it.

sub doubtful (@said) {
    return grep { abs($said[$_][2] - $said[$_ - 1][2]) <= $lag + 2 } 1 .. $#said;
}

my ($leaves, $stays, $wrong) = (0, 0, 0);

for my $round (1 .. 12) {
    $redis->cmd('DEL', $q->key('leaving'));
    my $from = now();

    my @all = shuffle map { my $user = $_; map { [ $user, @$_ ] } says } @users;
    my %told;

    # one call tells in the order in which it was said

    while (my @some = splice @all, 0, 1 + int rand 12) {
        my $passed = now() - $from;

        push $told{$_->[0]}->@*, $_
            for said_by(sort { $b->[2] <=> $a->[2] }
                     map { [ @$_[0, 1], $_->[2] + $passed, $_->[3] ] } @some);
    }

    for my $user (@users) {
        my @said = sort { $a->[2] <=> $b->[2] } $told{$user}->@*;
        next if doubtful(@said);

        my $last = $said[-1];
        my $due = due($user);
        my $case = "round $round: " . join ' ', map { join '/', grep { defined }
                                                      @$_[1 .. 3] }
                   $told{$user}->@*;

        if ($last->[1] eq 'close') {

            # of the times to wait the shorter one may count, of no other

            my $soon = min(map { $_->[3] } grep { $_->[1] eq 'close' } @said);

            $leaves++;
            next if defined $due && $due >= $last->[2] + $soon
                    && $due <= $last->[2] + $last->[3];
            $wrong++;
            diag "$case: ", $due // 'stays';

        } elsif ($told{$user}[-1] == $last) {
            $stays++;
            next if !defined $due;
            $wrong++;
            diag "$case: leaves, though heard of since";
        }
    }
}

cmp_ok $leaves, '>', 50, 'many close last';
cmp_ok $stays, '>', 20, 'many are heard of last';
is $wrong, 0, 'and each does as was said';


# A heartbeat between two closes that is told of after both.

for my $case ([ 'a beacon first', sub { $q->leave('user1', 1) } ],
              [ 'a stream first', sub { said_by([ 'user1', close => 0, 30_000 ]) } ])
{
    my ($name, $first) = @$case;

    # again, where a call took so long that it is not between

    ok((wait_until {
        $redis->cmd('DEL', $q->key('leaving'));
        $first->();
        my $said = now();
        wait_until { now() > $said + 2 * $lag };
        my $between = now();
        wait_until { now() > $between + 3 * $lag };
        my @said = said_by([ 'user1', close => 0, 30_000 ]);
        unshift @said, said_by([ 'user1', beat => now() - $between ]);
        !doubtful(@said);
    } 30), "$name: said between");
    ok defined due('user1'), "$name: leaves by the second";

    $q->beat({ user => 'user1', place => $at{user1} });
    is due('user1'), undef, 'stays by what is said now';
}


# Two streams of who is in, at one host; what the gate of another sees between
# their ends it tells after them.

my $site = Admission::Site->start(
    redis => $redis, instances => 2, workers => 1, event => 'in',
    timeout => '60s', events => 'default threshold=5 leave_on_close=on;',
    server => 'location = /metrics { admission_metrics; }');

my $calls = sub {
    metrics($site->port(1))->value('redis_call_duration_seconds_count',
                                   call => 'queue_beat') // 0;
};
my $leaving = sub { $redis->cmd('ZSCORE', '{in}:leaving', 'ann') };
my $stream = sub {
    my $s = Admission::Stream->open($site->port(0), '/api/queue/stream/in',
                                    bearer => $site->user('ann'));
    ok $s->message, 'a stream';
    return $s;
};

my $token = $site->call(0, ann => POST => 'check')->json->{entryToken};
my $said = $calls->();
my @streams = map { $stream->() } 1, 2;

$streams[0]->close;
ok wait_until { $leaving->() }, 'one is closed';
my $first = now();
wait_until { now() > $first + 2 * $lag };

is request($site->port(1), GET => '/gated', bearer => $site->user('ann'),
           headers => [ 'X-Queue-Entry-Token' => $token ])->status, 200,
    'a gate is passed';
my $seen = now();
wait_until { now() > $seen + 5 * $lag };

my $going = $leaving->();
my $closed = now();

# by more than the clocks of NGINX, which go by some ms at a time, may be off
wait_until { now() > $closed + 20 };
$streams[1]->close;
ok wait_until { my $is = $leaving->(); defined $is && $is ne ($going // '') },
    'the other is closed';
ok wait_until { $calls->() > $said }, 'the gate tells';

my $due = POSIX::ceil($leaving->() // 0);
cmp_ok $due, '>=', $closed + 30_000, 'she goes by the second';
cmp_ok $due, '<=', now() + 30_000, 'and no later';

done_testing;
