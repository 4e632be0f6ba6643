# Polls that ask nobody: who waits far enough behind is told so by any host from
# its own view of the line, exactly enough; whoever was let in, left, was cleared
# away or stands otherwise hears of it all the same, and what polls have to say
# gets to Redis.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max min);
use Time::HiRes qw(sleep time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Redis;
use Admission::Scripts;

my $tier1 = 'tier1-secret-of-the-test-0123456789';
my $tier2 = 'tier2-secret-of-the-test-0123456789';
my $user = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;


# ---- the scripts

# n users of no host at the end of the line, seen now; the times of their scores
# are over when it returns

sub fill ($event, $n) {
    my $t = $redis->cmd('TIME');
    my $ms = int($t->[0] * 1e3 + $t->[1] / 1e3);
    my $from = $t->[0] * 1_000_000 + $t->[1];
    state $all = 0;

    while ($n > 0) {
        my @users = map { 'fake' . $all++ } 1 .. min($n, 1000);
        my $i = 0;
        $redis->cmd('ZADD', "{$event}:seen", map { ($ms, $_) } @users);
        $redis->cmd('ZADD', "{$event}:queue",
                    map { (sprintf('%.0f', 2 * ($from + $i++) + 1), $_) }
                        @users);
        $n -= @users;
        $from += @users;
    }
    my $score = sprintf '%.0f', $from + 1;
    $redis->cmd('HSET', "{$event}:state", clock => $score);
    wait_until { my $now = $redis->cmd('TIME');
                 $now->[0] * 1_000_000 + $now->[1] > $from + 1 };
}

sub place_of ($answer) { return { %$answer{qw(score clock epoch)} } }

sub named ($answer) {
    my @gone = $answer->{gone}->@*;
    return { @gone };
}


subtest 'the view that a step brings' => sub {
    my $q = Admission::Scripts->new($redis, event => 'points', threshold => 0);
    $q->ask('first');

    for my $n (0, 3, 96, 97, 2_000, 9_000) {
        fill('points', $n) if $n;
        my $r = $q->step(0, -1, -1, 100);
        my %did;
        @did{ Admission::Scripts::listed(queue_step => 'did') } = $r->{step}->@*;
        my @line = map { $_ + 0 }
                   grep { /^\d+$/ }
                   map { $redis->cmd('ZSCORE', $q->key('queue'), $_) }
                   $q->waiting;
        is $r->{size}, @line, "$r->{size} wait";
        is $did{exact}, min(100, scalar @line), 'the head';
        my @ranks = (0 .. $did{exact} - 1, $r->{ranks}->@*);
        is $ranks[-1], $#line, 'up to the last one';
        is_deeply $r->{points}, [ @line[@ranks] ], 'points, and their ranks';
        cmp_ok max(map { $ranks[$_] - $ranks[$_ - 1] } 1 .. $#ranks), '<=', 10,
            'near to each other' if @ranks > 1;
        is $did{told}, $r->{clock}, 'all is told';
    }

    is_deeply $q->step->{points}, [], 'none that nobody asked for';
};


subtest 'who is gone since' => sub {
    my $q = Admission::Scripts->new($redis, event => 'gone', threshold => 1);
    my %at;
    $at{$_} = $q->ask($_) for qw(in a b c d);
    my $since = $q->step(0, -1, -1, 10)->{clock};
    is_deeply $q->step(0, -1, -1, 10, $since)->{gone}, [], 'nobody';

    $q->leave('c', 0, 1);
    is_deeply [ sort keys named($q->step(0, -1, -1, 10, $since))->%* ], [ 'c' ],
        'who left';

    $q->leave('in');
    $q->next_step;
    my $gone = named(my $r = $q->step(0, -1, -1, 10, $since));
    is_deeply [ sort keys %$gone ], [ qw(a c in) ], 'who was let in';
    cmp_ok $gone->{a}, '>', $at{a}{clock}, 'after the place';
    $since = $r->{clock};

    is $q->ask('a')->{state}, 'in', 'who comes';
    is_deeply $q->step(0, -1, -1, 10, $since)->{gone}, [],
        'is not told of again';

    # a place that is further ahead

    my $earlier = { $at{c}->%*, score => $at{b}{score} - 2,
                    clock => $q->ask('d')->{clock} };
    my $moved = $q->ask('d', place => $earlier);
    is $moved->{position}, 1, 'one comes to stand further ahead';
    $gone = named($q->step(0, -1, -1, 10, $since));
    is_deeply [ keys %$gone ], [ 'd' ], 'which is told';
    cmp_ok $gone->{d}, '<', $moved->{clock}, 'of places of before';
    cmp_ok $gone->{d}, '>=', $earlier->{clock}, 'all of them';
};


# Where nobody comes the clock stands still.

subtest 'who may be gone' => sub {
    my $q = Admission::Scripts->new($redis, event => 'closes', threshold => 0);
    my %at;
    $at{$_} = $q->ask($_) for qw(a b);
    my $since = $q->step(0, -1, -1, 10)->{clock};

    for my $n (1, 2) {
        $q->leave('a', 1);
        my $gone = named($q->step(0, -1, -1, 10, $since));
        is_deeply [ keys %$gone ], [ 'a' ], 'who closes a page is told of';
        cmp_ok $gone->{a}, '>=', $at{a}{clock}, 'Redis is asked of that place';
        $at{a} = $q->ask('a', place => place_of($at{a}));
        cmp_ok $gone->{a}, '<', $at{a}{clock}, 'but not of the next one';
    }

    # another host hears of it by a heartbeat

    $q->leave('b', 1);
    my $gone = named($q->step(0, -1, -1, 10, $since));
    $q->beat({ user => 'b', place => place_of($at{b}), score => $at{b}{score} });
    is $redis->cmd('ZSCORE', $q->key('leaving'), 'b'), undef, 'is back';
    cmp_ok $gone->{b}, '<', $q->ask('b', place => place_of($at{b}))->{clock},
        'and not asked about for ever, either';
};


subtest 'heartbeats in one call' => sub {
    my $q = Admission::Scripts->new($redis, event => 'beats', threshold => 1);
    my %at;
    $at{$_} = $q->ask($_) for qw(in a b c d e f);

    sub who ($of, @who) { return map { { user => $_, place => $of->{$_} } } @who }

    $redis->cmd('ZADD', $q->key('seen'), 1, $_) for qw(a b c);
    my $r = $q->beat(who(\%at, qw(a b c)));
    is_deeply $r->{again}, [], 'all stand as they were told';
    is $r->{back}, 0, 'nobody was put back';
    cmp_ok $redis->cmd('ZSCORE', $q->key('seen'), $_), '>', 1, "$_ was seen"
        for qw(a b c);

    # out of the line, and back

    $redis->cmd('ZREM', $q->key($_), 'b') for qw(queue seen);
    $r = $q->beat(who(\%at, qw(a b)));
    is "$r->{back} @{ $r->{again} }", '1 ', 'one was put back';
    is_deeply [ $q->waiting ], [ qw(a b c d e f) ], 'where it was';

    # who closed the page, or refreshed it

    $q->leave('b', 1);
    $q->beat(who(\%at, 'b'));
    is $redis->cmd('ZSCORE', $q->key('leaving'), 'b'), undef, 'stays';

    # who left

    $q->leave('c', 0, 1);
    $r = $q->beat(who(\%at, qw(c a)));
    is_deeply $r->{again}, [ 0 ], 'who left is to ask';
    is_deeply [ $q->waiting ], [ qw(a b d e f) ], 'and is out';

    # who was let in, and did not come

    $q->leave('in');
    $q->next_step;
    $r = $q->beat(who(\%at, qw(b a)));
    is_deeply $r->{again}, [ 1 ], 'who was let in is to ask';
    is $redis->cmd('ZSCORE', $q->key('active-seen'), 'a'), undef,
        'and has not come';

    # and whose time to come is over

    my ($s, $us) = $redis->cmd('TIME')->@*;
    $redis->cmd('ZADD', $q->key('active'), 'XX', 'CH',
                $s * 1000 + int($us / 1000) - 1, 'a');
    wait_until { $q->step; !grep { $_ eq 'a' } $q->active };

    is $q->beat({ user => 'a', place => $at{a}, away => 1 })->{back}, 0,
        'one who lost a claim and does not look stays out';
    is $q->beat(who(\%at, 'a'))->{back}, 1, 'one who looks does not';
    is_deeply [ grep { $_ eq 'a' } $q->waiting ], [ 'a' ], 'and is in line';

    # further ahead, by another place

    my $now = $q->ask('f')->{clock};
    my $low = { $at{f}->%*, score => $at{b}{score} - 4, clock => $now };
    $r = $q->beat({ user => 'f', place => $low });
    is_deeply $r->{again}, [], 'a better place';
    is +($q->waiting)[1], 'f', 'counts' or diag join ' ', $q->waiting;
    $r = $q->beat(who(\%at, 'f'));
    is_deeply $r->{again}, [ 0 ], 'the other one is to ask then';
    is $redis->cmd('ZSCORE', $q->key('queue'), 'f'), $low->{score},
        'which it does not change';

    # cleared

    $q->admin('clear');
    $r = $q->beat(who(\%at, qw(b d e)));
    is_deeply $r->{again}, [ 0, 1, 2 ], 'who was cleared away is to ask';
    is_deeply [ $q->waiting ], [], 'and is not in line';

    # lost

    my $w = Admission::Scripts->new($redis, event => 'lost', threshold => 0);
    %at = map { ($_ => $w->ask($_)) } qw(a b c);
    $redis->cmd('DEL', map { $w->key($_) }
                       Admission::Scripts::listed(queue_beat => 'keys'));
    $r = $w->beat(who(\%at, qw(c a)));
    is "$r->{back} @{ $r->{again} }", '2 ', 'after a loss places count';
    cmp_ok $r->{restore}, '>', 0, 'and others are waited for';
    is_deeply [ $w->waiting ], [ qw(a c) ], 'in order';
};


subtest 'heartbeats by name, of whom Redis was told before' => sub {
    my $q = Admission::Scripts->new($redis, event => 'names', threshold => 1);
    my %at;
    $at{$_} = $q->ask($_) for qw(in a b c d);
    my $seen = sub ($user) { $redis->cmd('ZSCORE', $q->key('seen'), $user) };
    my $names = sub (@who) { $q->beat(map { { user => $_ } } @who)->{unknown} };

    # of this very ms is what others said, too

    $redis->cmd('ZADD', $q->key('seen'), 1, $_) for qw(a b c d);
    is_deeply $names->(qw(a b c d)), [], 'all are in line';
    cmp_ok $seen->($_), '>', 1, "$_ was seen" for qw(a b c d);
    is_deeply $names->(qw(a b a a)), [], 'one by more than one page';
    $redis->cmd('EVAL', <<'END', 1, $q->key('seen'));
local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000), 'a')
END
    is_deeply $names->(qw(b a d)), [], 'one of whom another host just told';

    # out of the line, in whatever way

    $redis->cmd('ZREM', $q->key($_), 'b') for qw(queue seen);
    my $r = $q->beat(map { { user => $_ } } qw(a b c x));
    is_deeply $r->{unknown}, [ 1, 3 ], 'who is not in line is told';
    is "$r->{back} @{ $r->{again} }", '0 ', 'and nothing else is done';
    is_deeply [ $q->waiting ], [ qw(a c d) ], 'the line is as it was';
    is $q->beat({ user => 'b', place => $at{b} })->{back}, 1,
        'a place puts one back';
    is_deeply $names->(qw(a b c)), [], 'of whom the name is enough again';

    $redis->cmd('ZREM', $q->key('queue'), 'c');
    is_deeply $names->(qw(a b c)), [ 2 ], 'one whom the line alone has lost';
    $redis->cmd('ZREM', $q->key('seen'), 'c');
    $q->beat({ user => 'c', place => $at{c} });
    $redis->cmd('ZREM', $q->key('seen'), 'c');
    is_deeply $names->(qw(a c)), [], 'one whom the line alone has';
    cmp_ok $seen->('c'), '>', 1, 'is seen';

    # of whom it was said lately that they are here, it is not noted again

    my $lately = sub (@who) {
        $q->beat(map { { user => $_, lately => 1 } } @who)->{unknown};
    };
    $redis->cmd('ZADD', $q->key('seen'), 5, $_) for qw(a b c d);
    is_deeply $lately->(qw(a b c d)), [], 'all are in line, told of lately';
    is $seen->($_), 5, "$_ was seen when it was" for qw(a b c d);
    is_deeply $lately->(qw(a b a a)), [], 'one by more than one page';
    is_deeply $q->beat((map { { user => $_ } } qw(b c)),
                       map { { user => $_, lately => 1 } } qw(a d))->{unknown},
        [], 'both';
    cmp_ok $seen->('b'), '>', 5, 'one was seen now';
    is $seen->('a'), 5, 'another one lately';

    $redis->cmd('ZREM', $q->key($_), 'b') for qw(queue seen);
    $r = $q->beat((map { { user => $_ } } qw(b c)),
                  map { { user => $_, lately => 1 } } qw(a x b d x y));
    is_deeply $r->{unknown}, [ 0, 3, 4, 6, 7 ], 'who is not in line is told';
    is_deeply [ $q->waiting ], [ qw(a c d) ], 'the line is as it was';
    is_deeply [ sort $redis->cmd('ZRANGE', $q->key('seen'), 0, -1)->@* ],
        [ qw(a c d) ], 'and so are those seen';
    is $seen->('a'), 5, 'with their times';
    $q->beat({ user => 'b', place => $at{b} });

    $redis->cmd('ZREM', $q->key('queue'), 'c');
    is_deeply $lately->(qw(a b c)), [ 2 ], 'one whom the line alone has lost';
    $redis->cmd('ZREM', $q->key('seen'), 'c');
    $q->beat({ user => 'c', place => $at{c} });
    $redis->cmd('ZREM', $q->key('seen'), 'c');
    is_deeply $lately->(qw(a c)), [], 'one whom the line alone has';
    cmp_ok $seen->('c'), '>', 5, 'is seen';

    # a page that was refreshed, a stream that was closed

    my $leaving = sub ($user) { $redis->cmd('ZSCORE', $q->key('leaving'), $user) };
    $q->leave($_, 1) for qw(a b);
    $names->(qw(a b));
    is $leaving->($_), undef, "$_ stays" for qw(a b);
    $q->leave($_, 1) for qw(a b);
    $lately->(qw(a b));
    is $leaving->($_), undef, "$_ does, told of lately" for qw(a b);
    $q->beat({ user => 'a' }, { user => 'a', close => 30_000 });
    ok $leaving->('a'), 'who closes a stream then may leave';
    $q->beat({ user => 'd', close => 30_000 });
    $names->('a');
    is $leaving->('a'), undef, 'until it is heard of';
    ok $leaving->('d'), 'others do';

    # let in, left, lost

    $q->leave('in');
    $q->next_step;
    is_deeply [ $q->active ], [ 'a' ], 'one is let in';
    is_deeply $names->(qw(a b)), [ 0 ], 'which the line does not have';
    is $redis->cmd('ZSCORE', $q->key('active-seen'), 'a'), undef,
        'and has not come';
    $q->leave('b', 0, 1);
    is_deeply $names->(qw(c b)), [ 1 ], 'who left';
    $redis->cmd('DEL', map { $q->key($_) }
                       Admission::Scripts::listed(queue_beat => 'keys'));
    is_deeply $names->(qw(c d)), [ 0, 1 ], 'after a loss it knows nobody';
    is_deeply $lately->(qw(c d)), [ 0, 1 ], 'lately neither';
    is $redis->cmd('EXISTS', $q->key('seen'), $q->key('queue')), 0,
        'and keeps none of them';
};


# ---- hosts

sub host (%opt) {
    return Admission::Nginx->start(workers => 2, http => <<END,
    admission_zone    admission:4m;
    admission_redis   @{[ $redis->url ]} timeout=@{[ 8 * slow ]}s;
    admission_secret  tier1 $tier1;
    admission_secret  tier2 $tier2;
    admission_secret  user  $user;

    admission_events {
        default  threshold=0 admit_interval=200ms admit_batch=10;
        seen  seen_ttl=15s threshold=0 admit_interval=200ms admit_batch=10;
        late  seen_ttl=200s threshold=0 admit_interval=200ms admit_batch=10;
        @{[ map { "$_;\n" } qw(far leave in two clear terms reload away) ]}
    }
END
        server => <<'END');
        admission_user  jwt;

        location /api/queue/        { admission_queue_api; }
        location /api/queue/admin/  { admission_queue_api admin=on; }
        location /admin-api/        { admission_admin_api; }
        location = /metrics         { admission_metrics; }
END
}

my @host = (host(), host());
my @port = map { $_->port } @host;
my $admin = user_token($user, userId => 'op', role => 'admin');

my %place;      # of event and user, the latest

sub ask ($i, $who, $event, $what = 'status', %opt) {
    my $place = $opt{place} // $place{"$event $who"};
    my $r = request($port[$i], $what eq 'status' ? 'GET' : 'POST',
                    "/api/queue/$what/$event" . ($opt{args} // ''),
                    bearer => user_token($user, userId => $who),
                    headers => $place ? [ 'x-queue-place' => $place ] : []);
    my $json = $r->status == 200 ? $r->json : { status => $r->status };
    $place{"$event $who"} = $json->{place} if $json->{place};
    return $json;
}

sub operate ($i, $method, $path) {
    return request($port[$i], $method, "/api/queue/admin/$path",
                   bearer => $admin)->json;
}

sub counted ($i, $name, @labels) {
    return metrics($port[$i])->value($name, @labels) // 0;
}

sub calls ($script, @i) {
    my $n = 0;
    $n += counted($_, 'redis_call_duration_seconds_count', call => $script)
        for @i ? @i : (0, 1);
    return $n;
}

sub rank ($event, $who) {
    my $rank = $redis->cmd('ZRANK', "{$event}:queue", $who);
    return defined $rank ? $rank + 1 : undef;
}

# polls until one is answered by the host itself

sub from_view ($i, $who, $event, %opt) {
    my $json;
    return wait_until {
        my $before = calls('queue_check', $i);
        $json = ask($i, $who, $event, 'status', %opt);
        calls('queue_check', $i) == $before ? $json : undef;
    };
}

# a line in which some are of hosts, at about these positions

sub line ($event, @positions) {
    my $size = 0;
    ask(0, 'head', $event, 'check');
    for (@positions) {
        my $size = $redis->cmd('ZCARD', "{$event}:queue");
        fill($event, $_ - $size - 1) if $_ > $size + 1;
        is ask(0, "u$_", $event, 'check')->{position}, $_, "u$_ waits";
    }
}


subtest 'positions, by any host, without Redis' => sub {
    my @at = (400, 700, 1_500, 3_000, 5_555, 9_000, 9_990);
    line('far', @at);
    fill('far', 2_010);

    for my $i (0, 1) {
        for my $at (reverse @at) {
            my $exact = rank('far', "u$at");
            is $exact, $at, "u$at is where it was";

            if ($at < 500) {
                is ask($i, "u$at", 'far')->{position}, $at,
                    'the head is asked for, and exact';
                next;
            }

            my $json = from_view($i, "u$at", 'far');
            ok $json, "host $i: answered by itself" or next;
            is $json->{status}, 'queued', 'waits';
            cmp_ok abs($json->{position} - $exact), '<=', 12,
                "$json->{position} for $exact";
            is $json->{queueSize}, 12_000, 'of so many';
            is $json->{peopleAhead}, $json->{position} - 1, 'ahead';
            is $json->{peopleBehind}, 12_000 - $json->{position}, 'behind';
            is $json->{nextPoll}, $at <= 1_000 ? 1 : $at <= 5_000 ? 5 : 10,
                'nextPoll';
            is $json->{threshold}, 0, 'threshold';
            is $json->{currentUsers}, 0, 'inside';
        }
    }

    # the other calls

    # by a view that is not old, as one is where a host or Redis stood still

    my $told;
    wait_until {
        from_view(1, 'u9000', 'far');
        my $before = calls('queue_check', 1);
        $told = join ' ', map { ask(1, 'u9000', 'far', @$_)->{status} }
                ['check'], ['heartbeat'], ['status', args => '?away=1'];
        $told .= ' ' . (calls('queue_check', 1) - $before);
        $told eq 'queued queued queued 0';
    };
    is $told, 'queued queued queued 0', 'all without Redis';
    my $before = calls('queue_check', 1);

    # what operators see of it

    is operate(1, GET => 'far')->{queueSize}, 12_000, 'status';

    my $far;
    wait_until {
        ($far) = grep { $_->{eventId} eq 'far' }
                 request($port[1], GET => '/admin-api/status',
                         bearer => $admin)->json->{events}->@*;
        ($far->{viewAge} // '') =~ /^[0-2]$/;
    };
    is $far->{queueSize}, 12_000, 'the list of events';
    like $far->{viewAge}, qr/^[0-2]$/, 'says how old the view is';

    # without a place, or as another

    ask(1, 'u9000', 'far', 'status', place => 'none');
    is calls('queue_check', 1), $before + 1, 'who shows none has Redis asked';
    is ask(1, 'other', 'far', 'status', place => $place{'far u9000'})->{status},
        'not_in_queue', 'so has another user';
};


sub looks () { return $redis->stats->{zscore} // 0 }

subtest 'many polls are few commands' => sub {
    my $state = sub { return (counted(1, 'queue_view_polls_total'),
                              calls('queue_check'), calls('queue_beat'), looks()) };

    # of a run in which no view was old

    my ($took, $polls, $checks, $beats, $looks);
    for (1 .. 10) {
        from_view(1, 'u9000', 'far');
        my $began = time;
        my @before = $state->();
        ask(1, $_ % 2 ? 'u9000' : 'u5555', 'far') for 1 .. 400;
        my @after = $state->();
        $took = time - $began;
        ($polls, $checks, $beats, $looks)
            = map { $after[$_] - $before[$_] } 0 .. 3;
        last if !$checks;
    }
    is $polls, 400, '400 polls';
    is $checks, 0, 'of which Redis was asked for none';
    cmp_ok $beats, '<=', 2 * ($took / 0.8 + 2), 'and told of now and then';
    cmp_ok $looks, '<', 100, 'by name: nobody is looked up';
};


sub redis_ms () {
    my $t = $redis->cmd('TIME');
    return $t->[0] * 1000 + int($t->[1] / 1000);
}

subtest 'what polls say gets to Redis' => sub {
    line('seen', 600);
    fill('seen', 100);
    ok from_view(1, 'u600', 'seen'), 'host 1 answers';
    my $ms = redis_ms();
    my $took = stopwatch;
    ok from_view(1, 'u600', 'seen'), 'a poll';
    ok wait_until { $redis->cmd('ZSCORE', '{seen}:seen', 'u600') >= $ms };
    cmp_ok $took->(), '<', 3 * slow(), 'it was seen, soon';

    # taken out, as one not seen for long is

    my $score = $redis->cmd('ZSCORE', '{far}:queue', 'u9000');
    $redis->cmd('ZREM', "{far}:$_", 'u9000') for qw(queue seen);
    ok from_view(0, 'u9000', 'far'), 'another';
    ok wait_until { rank('far', 'u9000') };
    is $redis->cmd('ZSCORE', '{far}:queue', 'u9000'), $score,
        'it is back where it was';

    # a page that was refreshed

    # a worker that was late may have told of a poll of before just then

    ok +(wait_until {
        request($port[0], 'POST', '/api/queue/leave/far?beacon=1',
                bearer => user_token($user, userId => 'u9000'));
        defined $redis->cmd('ZSCORE', '{far}:leaving', 'u9000');
    }), 'a beacon';
    ok from_view(1, 'u9000', 'far'), 'a poll after it';
    ok wait_until { !defined $redis->cmd('ZSCORE', '{far}:leaving', 'u9000') };
};


# Of whom a worker told less than a 20th of seen_ttl ago, that is not noted again:
# it never is older than that, and who is silent is taken out as much later.

subtest 'noted now and then' => sub {
    line('late', 600);
    fill('late', 100);
    ok from_view(1, 'u600', 'late'), 'host 1 answers';

    # by one worker

    my $connection = Admission::HTTP->connect($port[1], timeout => 30);
    my ($late, %noted, $last) = (10_000);
    my ($polls, $by_redis) = (0, 0);
    my $began = redis_ms();

    while (redis_ms() - $began < 4_000) {
        my $sent = $last = redis_ms();
        my $beats = calls('queue_beat', 1);
        my $checks = calls('queue_check', 1);
        is $connection->request(GET => '/api/queue/status/late',
                                bearer => user_token($user, userId => 'u600'),
                                headers => [ 'x-queue-place'
                                             => $place{'late u600'} ])->status,
            200, 'a poll';

        # where its view was old Redis was asked, which noted it

        if (calls('queue_check', 1) > $checks) {
            $by_redis++;
            next;
        }
        ok wait_until { calls('queue_beat', 1) > $beats }, 'is told';
        my $seen = $redis->cmd('ZSCORE', '{late}:seen', 'u600');
        cmp_ok $seen, '>=', $sent - $late, 'of one who was seen then, or lately';
        $noted{$seen} = 1;
        $polls++;
    }
    my $most = 2 + $by_redis + (redis_ms() - $began) / ($late - 1_000);
    cmp_ok scalar keys %noted, '<=', $most, "noted now and then, of $polls polls";

    # the last poll was 199 s ago, and Redis knows of an earlier one: in time

    my $ms = redis_ms();
    my $noted = $redis->cmd('ZSCORE', '{late}:seen', 'u600');
    my $seen = $noted - 199_000 + ($ms - $last);
    $redis->cmd('ZADD', '{late}:seen', 'XX', $seen, 'u600');
    $redis->cmd('HDEL', '{late}:state', 'clean');
    ok wait_until { $redis->cmd('HEXISTS', '{late}:state', 'clean') }, 'a sweep';
    my $there = rank('late', 'u600');
    SKIP: {
        skip 'busy', 1 if redis_ms() > $seen + 200_000 + $late;
        is $there, 600, 'who polled in time is there';
    }

    # who is silent

    my @who = $redis->cmd('ZRANGE', '{far}:queue', -3, -1)->@*;
    $ms = redis_ms();
    my @silent = (599_000, 602_000, 630_001);
    $redis->cmd('ZADD', '{far}:seen', 'XX',
                map { ($ms - $silent[$_], $who[$_]) } 0 .. 2);
    $redis->cmd('HDEL', '{far}:state', 'clean');
    ok wait_until { !defined rank('far', $who[2]) }, 'goes after so much longer';
    my $took = redis_ms() - $ms;
    SKIP: {
        skip "busy for $took ms", 2 if $took > 27_000;
        ok defined rank('far', $who[$_]), "not after $silent[$_] ms" for 0, 1;
    }
};


# "within" s, of the host's own doing: a poll that was sent later than that is
# right

sub soon ($i, $who, $event, $status, $within = 1, %opt) {
    my $took = stopwatch;
    my ($json, $sent);
    ok wait_until {
        $sent = time;
        $json = ask($i, $who, $event, 'status', %opt);
        $json->{status} eq $status;
    } 10;
    is $json->{status}, $status, "host $i: $who is $status";
    cmp_ok $took->($sent), '<', $within * slow() + 0.5, 'soon';
    return $json;
}


subtest 'who left' => sub {
    line('leave', 600, 601, 900);
    fill('leave', 200);
    my $old = $place{'leave u601'};
    ok from_view($_, 'u601', 'leave'), "host $_ answers" for 0, 1;

    is request($port[0], 'POST', '/api/queue/leave/leave',
               bearer => user_token($user, userId => 'u601'),
               headers => [ 'x-queue-place' => $old ])->status, 200, 'leaves';
    is ask(0, 'u601', 'leave', 'status', place => $old)->{status},
        'not_in_queue', 'that host knows at once';
    soon(1, 'u601', 'leave', 'not_in_queue', 1, place => $old);
    is rank('leave', 'u601'), undef, 'and nothing put it back';

    # joining again is joining at the end, whatever old places say

    delete $place{'leave u601'};
    my $again = ask(0, 'u601', 'leave', 'check', place => $old);
    is $again->{position}, 1_100, 'it is at the end';
    my $json = ask(1, 'u601', 'leave', 'status', place => $old);
    is $json->{position}, 1_100, 'by the old place too';
    is ask(1, 'u600', 'leave')->{position}, 600, 'others did not move';
};


subtest 'who was let in' => sub {
    line('in', 700, 750, 1_400);
    fill('in', 100);
    ok from_view($_, 'u700', 'in'), "host $_ answers" for 0, 1;
    my $early = $place{'in u700'};

    # those ahead go, and there is room

    $redis->cmd('ZREMRANGEBYRANK', '{in}:queue', 0, 698);
    is operate(0, 'PUT', 'threshold/in?threshold=1')->{threshold}, 1,
        'the threshold';
    ok wait_until { defined $redis->cmd('ZSCORE', '{in}:active', 'u700') } 10;

    my $json = soon(1, 'u700', 'in', 'active', 1, place => $early);
    ok $json->{entryToken}, 'with a token';
    is ask(1, 'u750', 'in')->{position}, 50, 'the next one moved up';

    # in, and out again: the old place is none

    is request($port[0], 'POST', '/api/queue/leave/in',
               bearer => user_token($user, userId => 'u700'))->status, 200,
        'leaves';
    soon($_, 'u700', 'in', 'not_in_queue', 1, place => $early) for 0, 1;
};


subtest 'let in from far behind, as one with two places may be' => sub {
    line('two', 600, 2_000);
    fill('two', 500);
    my $behind = $place{'two u2000'};
    ok from_view($_, 'u2000', 'two'), "host $_ answers" for 0, 1;

    # a better place of the same user, on one host

    my $q = Admission::Scripts->new($redis, event => 'two', threshold => 0,
                                    admit_interval => 200, admit_batch => 10);
    my $look = $q->ask('u2000', mode => 'status');
    my $head = $redis->cmd('ZRANGE', '{two}:queue', 0, 0, 'WITHSCORES');
    my $moved = $q->ask('u2000', mode => 'status',
                        place => { %$look, score => $head->[1] - 2 });
    is $moved->{position}, 1, 'it stands first';

    for my $i (0, 1) {
        my $sent;
        my $took = stopwatch;
        ok wait_until { $sent = time;
                        ask($i, 'u2000', 'two', 'status',
                            place => $behind)->{position} == 1 } 10;
        cmp_ok $took->($sent), '<', 1.5 * slow(), "host $i knows soon";
    }

    operate(0, 'PUT', 'threshold/two?threshold=1');
    ok wait_until { defined $redis->cmd('ZSCORE', '{two}:active', 'u2000') } 10;
    soon($_, 'u2000', 'two', 'active', 1, place => $behind) for 0, 1;
};


subtest 'cleared' => sub {
    line('clear', 600);
    fill('clear', 100);
    my $old = $place{'clear u600'};
    ok from_view($_, 'u600', 'clear'), "host $_ answers" for 0, 1;

    is operate(0, 'POST', 'clear/clear')->{message}, 'Queue cleared', 'cleared';
    is ask(0, 'u600', 'clear', 'status', place => $old)->{status},
        'not_in_queue', 'that host knows at once';
    soon(1, 'u600', 'clear', 'not_in_queue', 1, place => $old);
    is $redis->cmd('ZCARD', '{clear}:queue'), 0, 'nobody came back';
};


subtest 'the threshold, seats and their end' => sub {
    line('terms', 600);
    fill('terms', 100);
    ok from_view(1, 'u600', 'terms'), 'host 1 answers';

    operate(0, 'PUT', 'threshold/terms?threshold=3');
    ok wait_until { ask(1, 'u600', 'terms')->{threshold} == 3 } 10;
    ok wait_until { ask(1, 'u600', 'terms')->{currentUsers} == 3 } 10;
    my $json = ask(1, 'u600', 'terms');
    cmp_ok abs($json->{position} - rank('terms', 'u600')), '<=', 10,
        'all moved up';

    operate(0, 'PUT', 'slots/terms?slots=3');
    my $took = stopwatch;
    my $sent;
    ok wait_until { $sent = time;
                    defined ask(1, 'u600', 'terms')->{seats} } 10;
    cmp_ok $took->($sent), '<', 2 * slow(), 'no seats are left but those inside';
    is ask(1, 'u600', 'terms')->{seats}, 0, 'said so';
};


subtest 'a worker that leaves says what it has to' => sub {
    line('reload', 600);
    fill('reload', 100);
    ok from_view(1, 'u600', 'reload'), 'host 1 answers';

    # it may have been told before this looks

    ok +(wait_until {
        my $beats = calls('queue_beat', 1);
        from_view(1, 'u600', 'reload');
        wait_until { calls('queue_beat', 1) > $beats } 3;
    }), 'which is told';

    $redis->cmd('ZREM', "{reload}:$_", 'u600') for qw(queue seen);
    ok from_view(1, 'u600', 'reload'), 'a poll';
    $host[1]->reload;
    ok wait_until { rank('reload', 'u600') };
    is rank('reload', 'u600'), 600, 'and it is in line';
};


subtest 'Redis goes away' => sub {
    line('away', 600);
    fill('away', 100);
    ok from_view($_, 'u600', 'away'), "host $_ answers" for 0, 1;

    $redis->kill9;
    my ($json, $last) = (undef, time);
    my $took = stopwatch;
    ok wait_until { $json = ask(0, 'u600', 'away');
                    $last = time if $json->{status} eq 'queued';
                    $json->{status} eq '503' } 10;
    cmp_ok $took->($last), '<', 2.5 * slow(), 'an old view is no answer';
    $redis->restart;

    # it came back empty: places restore

    delete $place{'away head'};
    ok wait_until { (ask(1, 'u600', 'away')->{position} // 0) == 1 } 15;
    is rank('away', 'u600'), 1, 'the place counts, and none is ahead yet';
};


done_testing;
