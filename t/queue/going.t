# Who closes the page or a stream is not kept by what was said before that, and
# heard of after it; who comes back is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(sleep);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Redis;
use Admission::Scripts;
use Admission::Site;
use Admission::Stream;

my $redis = Admission::Redis->start;

sub now () {
    my $t = $redis->cmd('TIME');
    return $t->[0] * 1000 + $t->[1] / 1000;
}


subtest 'the scripts' => sub {
    my $q = Admission::Scripts->new($redis, event => 'going', threshold => 1,
                                    claim_ttl => 600_000);
    my %at;
    $at{$_} = $q->ask($_) for qw(in a b c d e f g);

    my $going = sub ($user) { $redis->cmd('ZSCORE', $q->key('leaving'), $user) };
    my $place = sub ($user, $ago) {
        return { user => $user, place => $at{$user}, ago => $ago };
    };

    my $sent = now;
    $q->leave($_, 1) for qw(a b c d e);
    cmp_ok abs($going->('a') - $sent - 10_000), '<', now() - $sent + 1,
        'in ten seconds';
    sleep 0.3;
    my $ago = int(now() - $sent) + 5_000;   # the machine may stand still

    my $r = $q->beat({ user => 'a', ago => $ago }, { user => 'b', ago => 0 },
                     $place->('c', $ago), $place->('d', 0));
    is_deeply [ $r->{unknown}, $r->{again} ], [ [], [] ], 'all are in line';
    ok defined $going->($_), "$_ said so before" for qw(a c);
    is $going->($_), undef, "$_ is back" for qw(b d);

    $q->beat({ user => 'e', ago => $ago }, { user => 'e', ago => 0 });
    is $going->('e'), undef, 'one who said both';

    # one who was swept out, and is put back by a place

    $redis->cmd('ZREM', $q->key($_), 'c') for qw(queue seen);
    is $q->beat($place->('c', $ago))->{back}, 1, 'one is put back';
    ok defined $going->('c'), 'who closed the page since';

    # streams

    $q->beat({ user => 'f', close => 30_000, ago => 10 },
             { user => 'f', place => $at{f}, ago => 5_000 },
             { user => 'g', close => 120_000, ago => 10 },
             { user => 'g', place => $at{g}, ago => 5 });
    ok defined $going->('f'), 'a stream is closed after that was said';
    is $going->('g'), undef, 'or before';
    $q->beat({ user => 'f', ago => 5_000 });
    ok defined $going->('f'), 'which other workers tell of later';
    $q->beat({ user => 'f' });
    is $going->('f'), undef, 'what is said now counts';

    # who was let in, and whose gate told of it

    $q->leave('in');
    $q->next_step;
    is_deeply [ $q->active ], [ 'a' ], 'one is in';
    $q->leave('a', 1);
    my $adm = $redis->cmd('ZSCORE', $q->key('admitted'), 'a');
    sleep 0.2;
    $q->beat({ user => 'a', come => $adm, ago => 5_000 });
    ok defined $redis->cmd('ZSCORE', $q->key('active-seen'), 'a'), 'has come';
    ok defined $going->('a'), 'and has closed the page since';
    $q->beat({ user => 'a', come => $adm });
    is $going->('a'), undef, 'is back';

    # of hosts of before, which write whole ms, and while Redis's clock was ahead

    for my $of (int(now()) + 10_000, now() + 1e7 - 10 / 1024) {
        $redis->cmd('ZADD', $q->key('leaving'), sprintf('%.10f', $of), 'b');
        $q->beat({ user => 'b', ago => 800 });
        is $going->('b'), undef, 'it is not known when one went';
    }

    # the time comes

    $q->leave('b', 1);
    my $due = $going->('b');
    is_deeply [ sort $q->waiting ], [ qw(b c d e f g) ], 'all wait';
    my $due_of = sub ($score) {
        $redis->cmd('ZADD', $q->key('leaving'), sprintf('%.10f', $score), 'b');
    };
    $due_of->(int(now()) - 10 / 1024);
    $q->step;
    is_deeply [ sort $q->waiting ], [ qw(c d e f g) ], 'and one goes';
};


subtest 'hosts' => sub {
    my $site = Admission::Site->start(
        redis => $redis, instances => 2, workers => 2, event => 'far',
        timeout => '60s',
        events => 'default threshold=0 seen_ttl=19s admit_batch=10;',
        server => 'location = /metrics { admission_metrics; }');

    # a line of others who are there until long after this, and some behind the
    # head of it, each of whose heartbeats is noted

    $site->call(0, first => POST => 'check');
    my $us = now() * 1000;
    my @others = map { "other$_" } 1 .. 600;
    my $n = 0;
    $redis->cmd('ZADD', '{far}:seen', map { (int($us / 1000) + 3_600_000, $_) } @others);
    $redis->cmd('ZADD', '{far}:queue',
                map { (sprintf('%.0f', 2 * ($us + $n++) + 1), $_) } @others);
    wait_until { now() * 1000 > $us + 1000 };

    my @users = map { "user$_" } 1 .. 8;
    my %place = map {
        ($_ => $site->call(0, $_ => POST => 'check')->json->{place})
    } @users;

    my $poll = sub ($i, $user) {
        my $json = $site->call($i, $user, GET => 'status', headers =>
                               [ 'X-Queue-Place' => $place{$user} ])->json;
        $place{$user} = $json->{place} if $json->{place};
    };
    my $views = sub ($i) {
        metrics($site->port($i))->sum('queue_view_polls_total');
    };
    my $going = sub { $redis->cmd('ZRANGE', '{far}:leaving', 0, -1) };
    my $told = sub ($ms) {
        !grep { $redis->cmd('ZSCORE', '{far}:seen', $_) < $ms } @users;
    };

    for my $i (0, 1) {
        ok wait_until {
            my $before = $views->($i);
            $poll->($i, $_) for @users;
            $views->($i) == $before + @users;
        }, "host $i answers by itself";
    }

    # a worker waits for 0.8 s: if this takes longer there is nothing to see

    my $asked = int now;
    $poll->($_ % 2, $users[$_]) for 0 .. $#users;
    sleep 0.4;
    $site->call(0, $_ => POST => 'leave', headers =>
                [ 'Sec-Fetch-Mode' => 'no-cors',
                  'Sec-Fetch-Site' => 'same-origin' ]) for @users;
    ok wait_until { $told->($asked) }, 'all that was said is told';
    is_deeply [ sort $going->()->@* ], \@users, 'nobody stays by it';

    # a refresh: by whichever host

    $poll->($_ % 2, $users[$_]) for 0 .. $#users;
    ok wait_until { !$going->()->@* }, 'who is back stays';
};


subtest 'a gate' => sub {
    my $site = Admission::Site->start(
        redis => $redis, instances => 2, workers => 1, event => 'in',
        timeout => '60s', events => 'default threshold=5 leave_on_close=on;',
        server => 'location = /metrics { admission_metrics; }');

    my %token = map {
        ($_ => $site->call(0, $_ => POST => 'check')->json->{entryToken})
    } qw(ann ben);

    my $gated = sub ($user) {
        return request($site->port(1), GET => '/gated',
                       bearer => $site->user($user), headers =>
                       [ 'X-Queue-Entry-Token' => $token{$user} ])->status;
    };
    my $going = sub ($user) { $redis->cmd('ZSCORE', '{in}:leaving', $user) };
    my $calls = sub {
        metrics($site->port(1))->value('redis_call_duration_seconds_count',
                                       call => 'queue_beat') // 0;
    };

    # what a gate says goes after 0.8 s, what a closed stream does at once, by
    # another host

    my $said = $calls->();
    my %stream = map {
        ($_ => Admission::Stream->open($site->port(0), '/api/queue/stream/in',
                                       bearer => $site->user($_)))
    } qw(ann ben);
    ok $stream{$_}->message, "$_ has a stream" for qw(ann ben);
    is $gated->($_), 200, "$_ sees a gated page" for qw(ann ben);
    sleep 0.5;
    $stream{$_}->close for qw(ann ben);
    ok wait_until { $going->('ann') && $going->('ben') }, 'both close it';
    is $gated->('ann'), 200, 'ann sees another page';

    ok wait_until { $calls->() > $said }, 'the gate has told';
    ok wait_until { !$going->('ann') }, 'ann is there';
    ok $going->('ben'), 'what ben said before that keeps nobody';
};


done_testing;
