# Joins that come together share a call: each gets the answer that it would have
# got by itself, in the order in which they came.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(sleep time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Proxy;
use Admission::Redis;
use Admission::Scripts;
use Admission::Swarm;
use Admission::Zone;

my $tier1 = 'tier1-secret-of-the-test-0123456789';
my $tier2 = 'tier2-secret-of-the-test-0123456789';
my $user = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;


sub states (@each) { return map { "$_->{state} $_->{position}" } @each }


subtest 'the script' => sub {
    my $q = Admission::Scripts->new($redis, event => 'script', threshold => 1,
                                    max_queue => 5);

    # who may enter at once does so by itself

    my ($each, $answer) = $q->join_all(qw(a b));
    is_deeply [ states(@$each) ], [ 'out 0', 'out 0' ], 'nobody waits: alone';
    is $answer->{joined}, 0, 'nobody joined';
    is $redis->cmd('EXISTS', $q->key('queue')), 0, 'there is no line';

    is $q->ask('in')->{state}, 'in', 'one is in';
    is $q->ask('a')->{position}, 1, 'one waits';

    ($each, $answer) = $q->join_all(qw(b in a c b d e f));
    is_deeply [ states(@$each) ],
        [ 'waiting 2', 'out 0', 'waiting 1', 'waiting 3', 'waiting 2',
          'waiting 4', 'waiting 5', 'full 0' ], 'each as by itself';
    is $answer->{joined}, 4, 'so many are new';
    is $answer->{size}, 5, 'and wait';
    is_deeply [ $q->waiting ], [ qw(a b c d e) ], 'in order';
    is $redis->cmd('ZCARD', $q->key('seen')), 5, 'all of them were seen';

    my %score = map { ($_->{score} => 1) } grep { $_->{score} } @$each;
    is keys %score, 5, 'scores are unique';
    for (grep { $_->{state} eq 'waiting' } @$each[0, 3, 5, 6]) {
        is $_->{score}, 2 * $_->{clock} + 1, 'by the clock';
    }

    # the places are places

    for my $who (qw(b e)) {
        $redis->cmd('ZREM', $q->key($_), $who) for qw(queue seen);
    }
    my $back = $q->ask('e', place => { %{ $each->[6] },
                                       epoch => $answer->{epoch} });
    is "$back->{state} $back->{position}", 'waiting 4', 'a place restores';

    # and who left has none

    $q->leave('c', 0, 1);
    $back = $q->ask('c', mode => 'status',
                    place => { %{ $each->[3] }, epoch => $answer->{epoch} });
    is $back->{state}, 'out', 'who left has none';

    # sold out

    my $s = Admission::Scripts->new($redis, event => 'sold', threshold => 5,
                                    slots => 1);
    $s->ask('in');
    $s->ask('w');
    $s->complete('in');
    ($each) = $s->join_all(qw(x w y));
    is_deeply [ states(@$each) ], [ 'sold_out 0', 'waiting 1', 'sold_out 0' ],
        'sold out, but for who waits';

    # after a loss, joins wait and places come before them

    my $l = Admission::Scripts->new($redis, event => 'loss', threshold => 9);
    my $known = $l->ask('in');
    $redis->cmd('DEL', map { $l->key($_) }
                       Admission::Scripts::listed(queue_join => 'keys'));
    $l->{host} = { epoch => $known->{epoch}, clock => $known->{clock},
                   active => 1 };
    ($each, $answer) = $l->join_all(qw(x y));
    is_deeply [ states(@$each) ], [ 'waiting 1', 'waiting 2' ], 'joins queue';
    cmp_ok $answer->{restore}, '>', 0, 'while places are restored';
};


subtest 'like each by itself' => sub {
    my $seed = $ENV{TEST_SEED} // int rand 1e6;
    srand $seed;
    my $bad;

    for my $n (1 .. 70) {
        my %opt = (threshold => int rand 3, max_queue => -1 + int rand 8,
                   max_wait => (0, 0, 5000, 6000)[rand 4],
                   slots => (-1, -1, 1, 3)[rand 4]);
        my ($one, $all) = map {
            Admission::Scripts->new($redis, event => "$_$n", %opt)
        } qw(one all);

        for (1 .. 8) {
            my @users = map { 'u' . int rand 9 } 1 .. 1 + rand 5;
            my ($each) = $all->join_all(@users);

            for my $i (0 .. $#users) {
                my $alone = $one->ask($users[$i]);
                $each->[$i] = $all->ask($users[$i])
                    if $each->[$i]{state} eq 'out';
                my ($x, $y) = states($alone, $each->[$i]);
                $bad //= "seed $seed, $n: $users[$i] of @users: $x, not $y"
                    if $x ne $y;
            }
            my $gone = 'u' . int rand 9;
            $_->leave($gone, 0, 1) for $one, $all;
            if (rand() < 0.2) {
                my $who = ($one->active)[0];
                $_->complete($who) for $who ? ($one, $all) : ();
            }
        }
        my ($x, $y) = map { CORE::join ' ', $_->waiting, '|', $_->active }
                      $one, $all;
        $bad //= "seed $seed, $n: $x, not $y" if $x ne $y;
        $redis->flushall;
    }
    is $bad, undef, 'as by itself';
};


# ---- a host

my $nginx = Admission::Nginx->start(workers => 1, connections => 1024,
    http => <<END,
    admission_zone    admission:4m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier1 $tier1;
    admission_secret  tier2 $tier2;
    admission_secret  user  $user;

    admission_events {
        default  threshold=0;
        many     threshold=0;
        some     threshold=0 max_queue=120;
@{[ map { "        in$_      threshold=30 admit_interval=1h;\n" } 1 .. 5 ]}    }
END
    server => <<'END');
        admission_user  jwt;

        location /api/queue/  { admission_queue_api; }
        location = /metrics   { admission_metrics; }
END
my $port = $nginx->port;

sub calls ($script) {
    return metrics($port)->value('redis_call_duration_seconds_count',
                                 call => $script) // 0;
}

# joins of these at once; who got what

sub crowd ($event, @users) {
    my %got;
    my $swarm = Admission::Swarm->new(connections => 64);
    for my $who (@users) {
        $swarm->request($port, 'POST', "/api/queue/check/$event",
            { headers => [ Authorization => 'Bearer '
                           . user_token($user, userId => $who) ] },
            sub ($r) { $got{$who} = $r });
    }
    ok $swarm->run(until => sub { keys %got == @users }, timeout => 60),
        'all are answered';
    return \%got;
}

# a connection that the worker knows: what it sends is found with that of others

sub connected ($port) {
    my $client = Admission::HTTP->connect($port);

    $client->send(Admission::HTTP::compose(GET => '/nowhere'));
    $client->response;
    return $client;
}

sub send_join ($client, $who) {
    $client->send(Admission::HTTP::compose(
        POST => '/api/queue/check/many', body => '',
        bearer => user_token($user, userId => $who)));
}

sub join_one ($event, $who) {
    return request($port, 'POST', "/api/queue/check/$event",
                   bearer => user_token($user, userId => $who));
}


subtest 'many at once' => sub {
    is join_one('many', 'first')->json->{position}, 1, 'a line';

    my @before = map { calls($_) } qw(queue_join queue_check);
    my $got = crowd('many', map { "u$_" } 1 .. 300);
    my ($together, $alone) = (calls('queue_join') - $before[0],
                              calls('queue_check') - $before[1]);

    is scalar(grep { $_->status != 200 } values %$got), 0, 'all join';
    my %at = map { ($got->{$_}->json->{position} => $_) } keys %$got;
    is_deeply [ sort { $a <=> $b } keys %at ], [ 2 .. 301 ],
        'each has a position of its own';
    is_deeply [ map { $at{$_} } 2 .. 301 ],
        [ grep { $_ ne 'first' }
          $redis->cmd('ZRANGE', '{many}:queue', 0, -1)->@* ],
        'which is where it stands';
    note "$together and $alone calls";

    is metrics($port)->value('event_queue_joins_total', event => 'many'), 301,
        'each is counted';

    # places are each one's own

    for my $who (qw(u1 u150 u300)) {
        my $place = $got->{$who}->json->{place};
        $redis->cmd('ZREM', "{many}:$_", $who) for qw(queue seen);
        my $r = request($port, 'POST', '/api/queue/heartbeat/many',
                        bearer => user_token($user, userId => $who),
                        headers => [ 'x-queue-place' => $place ]);
        ok wait_until { defined $redis->cmd('ZSCORE', '{many}:queue', $who) },
            "$who is back";
        is $redis->cmd('ZRANK', '{many}:queue', $who) + 1,
            $got->{$who}->json->{position}, 'where it was';
    }
};


# the worker finds all of them when it goes on, on connections that it has

subtest 'in one turn' => sub {
    my @clients = map { Admission::HTTP->connect($port) } 1 .. 40;
    is scalar(grep { $_->request(GET => '/metrics')->status == 200 } @clients),
        40, 'connections';

    my @before = map { calls($_) } qw(queue_join queue_check);
    my ($worker) = $nginx->worker_pids;
    kill STOP => $worker;
    wait_until { Admission::Zone::stopped($worker) };
    send_join($clients[$_], "turn$_") for 0 .. $#clients;
    kill CONT => $worker;

    is scalar(grep { $_->response('POST')->status == 200 } @clients), 40,
        'all join';
    is calls('queue_join') - $before[0], 1, 'by one call';
    is calls('queue_check') - $before[1], 0, 'none by itself';
};


subtest 'refusals and others among them' => sub {
    join_one('some', 'first');
    my $got = crowd('some', map { "u$_" } 1 .. 200);
    my %code;
    $code{ $_->status }++ for values %$got;
    is_deeply \%code, { 200 => 119, 503 => 81 }, '119 of 200 joined';
    is $redis->cmd('ZCARD', '{some}:queue'), 120, 'and wait';
    my ($no) = grep { $_->status == 503 } values %$got;
    is $no->json->{code}, 'QUEUE_FULL', 'the others are told why';

    $got = crowd('some', map { "u$_" } 1 .. 200);
    %code = ();
    $code{ $_->status }++ for values %$got;
    is_deeply \%code, { 200 => 119, 503 => 81 }, 'who is in line is found';
};


subtest 'some are in' => sub {
    my ($event, $got, %status);

    # of another event, where Redis stood still so that nobody was let in for a
    # moment: nobody is later

    for (1 .. 5) {
        $event = "in$_";
        $got = crowd($event, map { "u$_" } 1 .. 90);
        last if !$redis->cmd('HEXISTS', "{$event}:state", 'settle');
    }
    $status{ $_->json->{status} }++ for values %$got;
    is_deeply \%status, { active => 30, queued => 60 }, '30 are in';

    $got = crowd($event, map { "u$_" } 1 .. 90);
    %status = ();
    $status{ $_->json->{status} }++ for values %$got;
    is_deeply \%status, { active => 30, queued => 60 }, 'and stay';
};


subtest 'who goes away' => sub {
    my @clients = map { Admission::HTTP->connect($port) } 1 .. 40;
    $redis->sigstop;
    send_join($clients[$_], "gone$_") for 0 .. $#clients;
    $clients[$_]->close for grep { $_ % 2 } 0 .. $#clients;
    $redis->sigcont;

    my $bad = grep { ($clients[$_]->response('POST')->json->{status} // '')
                     ne 'queued' }
              grep { !($_ % 2) } 0 .. $#clients;
    is $bad, 0, 'the others are answered';
    is join_one('many', 'last')->status, 200, 'and it goes on';
};


# one that is in asks by itself once the shared call said so, in what is left of
# the time that one call has

subtest 'one deadline for both calls' => sub {
    my $proxy = Admission::Proxy->start($redis->port);
    my $slow = Admission::Nginx->start(workers => 1, http => <<END,
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url(port => $proxy->port) ]} timeout=3s;
    admission_secret  tier1 $tier1;
    admission_secret  tier2 $tier2;
    admission_secret  user  $user;
    admission_events  { default threshold=2 admit_interval=1h; }
END
        server => <<'END');
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END
    my $head = sub ($who) {
        return "POST /api/queue/check/slow HTTP/1.1\r\nHost: x\r\n"
            . 'Authorization: Bearer ' . user_token($user, userId => $who)
            . "\r\nContent-Length: 0\r\n\r\n";
    };
    my $at_once = sub {
        my @clients = map { connected($slow->port) } 1 .. 2;

        # a worker that is stopped finds both when it goes on
        my ($worker) = $slow->worker_pids;
        kill STOP => $worker;
        wait_until { Admission::Zone::stopped($worker) };
        $clients[$_]->send($head->("in$_")) for 0, 1;
        kill CONT => $worker;
        my ($began, $net) = (time, stopwatch);
        my @status = map { $_->response('POST', 20)->status } @clients;
        return (time - $began, $net->(), @status);
    };

    my $ask = sub ($who, $call) {
        return answered {
            request($slow->port, 'POST', "/api/queue/$call/slow",
                    bearer => user_token($user, userId => $who))
        };
    };

    # where Redis stood still just now the second is not in, and would not be for
    # an hour

    for my $who (qw(in0 in1)) {
        ok wait_until {
            return 1 if $ask->($who, 'check')->json->{status} eq 'active';
            $ask->($who, 'leave');
            return 0;
        }, $who;
    }
    is $ask->('waits', 'check')->status, 200, 'waits';
    ok wait_until { "@{[ ($at_once->())[2, 3] ]}" eq '200 200' },
        'who is in is told so';

    $proxy->delay(2);
    sleep 0.5;
    my ($took, $net, @status) = $at_once->();
    is_deeply \@status, [ 503, 503 ], 'not in time';
    cmp_ok $took, '>', 2.5, 'who asks twice,';
    cmp_ok $net, '<', 3.9 * slow, 'in the time of one call';
};


subtest 'streams that join' => sub {
    my $before = calls('queue_join');
    my $n = $redis->cmd('ZCARD', '{many}:queue');
    my @streams;
    my ($worker) = $nginx->worker_pids;
    my @clients = map { connected($port) } 1 .. 30;

    kill STOP => $worker;
    wait_until { Admission::Zone::stopped($worker) };
    for my $i (0 .. $#clients) {
        $clients[$i]->send("GET /api/queue/stream/many?join=1 HTTP/1.1\r\n"
            . "Host: x\r\nAuthorization: Bearer "
            . user_token($user, userId => "s$i") . "\r\n\r\n");
    }
    kill CONT => $worker;

    my %at;
    for (@clients) {
        my $got = $_->read_until(qr/"place":"[^"]+"/) // '';
        $at{$1}++ if $got =~ /"status":"queued".*"position":(\d+)/s;
    }
    is_deeply [ sort { $a <=> $b } keys %at ], [ $n + 1 .. $n + 30 ],
        'each has a place';
    my $shared = calls('queue_join') - $before;
    ok $shared > 0 && $shared < 10, "$shared calls were shared";
};


subtest 'Redis does not answer' => sub {
    $redis->kill9;
    my $got = crowd('many', map { "late$_" } 1 .. 50);
    is scalar(grep { $_->status != 503 } values %$got), 0, '503, all of them';
    $redis->restart;
};


done_testing;
