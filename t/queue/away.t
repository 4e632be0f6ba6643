# status?away=1: a page that nobody looks at waits on, but takes no turn, and does
# not hold up the line.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Redis;
use Admission::Scripts;
use Admission::Site;

my $redis = Admission::Redis->start;
my $events = 0;
my $seed = $ENV{TEST_SEED} // int rand 1e6;
srand $seed;


# The time is what the test says.  "older" is a host that does not know of it
# all: the page's poll is a status there, and lost claims are not counted.

my $us = 1_700_000_000_000_000;
my %host = (in_touch => 1e10);   # never out of touch

sub later ($ms) {
    $us += int($ms * 1000);
    $host{ms} = int($us / 1000);
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub timed () { s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die }

sub older () {
    timed();
    s/^ +q\.lose_claim\(user, at\)\n//m;
    s/\bAWAY = .*?'5'/AWAY = '0', '3', '4', 'none'/;
}

sub event (%opt) {
    my %common = (event => 'e' . ++$events, threshold => 1, claim_ttl => 5_000,
                  active_ttl => 60_000, seen_ttl => 3_600_000,
                  host => \%host, %opt);

    later(0);

    return (Admission::Scripts->new($redis, %common, edit => \&timed),
            Admission::Scripts->new($redis, %common, edit => \&older));
}

sub step ($e) {
    later($e->{admit_interval});
    return $e->step;
}

# polls of who looks, and of who does not; the place is kept as cookies are

my %place;

sub look ($e, $user, $mode = 'status') {
    my $answer = $e->ask($user, mode => $mode,
                         $place{$user} ? (place => $place{$user}) : ());
    $place{$user} = $answer if $answer->{state} eq 'waiting';
    return $answer;
}

sub away ($e, $user) { return look($e, $user, 'away') }


subtest 'the turn is not taken by a page that nobody looks at' => sub {
    my ($e) = event();

    %place = ();
    look($e, $_, 'check') for qw(a b c);
    is(away($e, 'b')->{position}, 1, 'it waits on, as ever');

    $e->leave('a');
    step($e);
    is_deeply([$e->active], ['b'], 'b is let in');

    my $ready = away($e, 'b');
    is($ready->{state}, 'ready', 'is told');
    is(away($e, 'b')->{expires}, $ready->{expires}, 'and renews nothing');
    is($redis->cmd('ZSCORE', $e->key('active-seen'), 'b'), undef,
       'nor has come');
    is(look($e, 'b')->{state}, 'in', 'until it looks');

    my $in = look($e, 'b');
    later(1000);
    is(away($e, 'b')->{state}, 'in', 'who has come is in, whoever looks');
    is(away($e, 'b')->{expires}, $in->{expires}, 'which renews nothing either');

    is(away($e, 'c')->{position}, 1, 'c waits');
    is(away($e, 'd')->{state}, 'out', 'and d does not join by it');
};


subtest 'who lost a claim is passed over until somebody looks' => sub {
    my ($e) = event();

    %place = ();
    look($e, $_, 'check') for qw(a b c d);
    $e->leave('a');
    step($e);
    is(away($e, 'b')->{state}, 'ready', 'b is called');

    later(5_001);
    my $over = away($e, 'b');
    is($over->{state}, 'waiting', 'too late: waiting again');
    is($over->{position}, 1, 'at the old place');
    is($over->{score}, $place{b}{score}, 'by the old score');
    is_deeply([$e->waiting], [qw(c d)], 'but not in the line');

    step($e);
    is_deeply([$e->active], ['c'], 'c is let in meanwhile');
    is(look($e, 'c')->{state}, 'in', 'and comes');
    is(away($e, 'b')->{position}, 1, 'b is where it was');
    $e->leave('c');
    step($e);
    is_deeply([$e->active], ['d'], 'and d');

    is(look($e, 'b')->{position}, 1, 'b looks: back in the line');
    is_deeply([$e->waiting], ['b'], 'really');
    is(look($e, 'd')->{state}, 'in', '(d)');
    $e->leave('d');
    step($e);
    is(look($e, 'b')->{state}, 'in', 'and in');
};


subtest 'a slot that is taken back by a step, or by the poll itself' => sub {
    for my $by (qw(step poll)) {
        my ($e) = event();

        %place = ();
        look($e, $_, 'check') for qw(a b c);
        $e->leave('a');
        step($e);
        later(5_001);
        step($e) if $by eq 'step';

        is(away($e, 'b')->{state}, 'waiting', "$by: back at the place");
        is(look($e, 'c')->{state}, $by eq 'step' ? 'in' : 'waiting', "$by: c");
        is($redis->cmd('ZCARD', $e->key('lost')), 1, "$by: counted once");
    }
};


subtest 'after a third lost claim the place counts no more' => sub {
    my ($e) = event();

    %place = ();
    look($e, 'a', 'check');
    look($e, 'b', 'check');
    $e->leave('a');

    for my $n (1 .. 3) {
        step($e);
        is(away($e, 'b')->{state}, 'ready', "called, $n");
        later(5_001);
        is(away($e, 'b')->{state}, $n < 3 ? 'waiting' : 'out', "lost, $n");
        is(look($e, 'b')->{state}, $n < 3 ? 'waiting' : 'out', "looks, $n");
    }

    look($e, 'a', 'check');
    is(look($e, 'b', 'check')->{position}, 1, 'it joins as anybody does');
    isnt($e->ask('b')->{score}, $place{a}{score} // 0, '(at the end)');

    # whoever comes in between begins anew

    for my $how (qw(in left cleared)) {
        my ($e) = event();

        %place = ();
        look($e, $_, 'check') for qw(a b);
        $e->leave('a');

        for (1 .. 2) {
            step($e);
            later(5_001);
            away($e, 'b');
            look($e, 'b');
        }

        step($e);
        is(away($e, 'b')->{state}, 'ready', "$how: twice lost, called again");
        look($e, 'b') if $how eq 'in';
        $e->leave('b') if $how ne 'cleared';
        $e->admin('clear') if $how eq 'cleared';
        later(1);

        %place = ();
        look($e, 'a', 'check');
        look($e, 'b', 'check');
        $e->leave('a');

        for (1 .. 2) {
            step($e);
            later(5_001);
            is(away($e, 'b')->{state}, 'waiting', "$how: counted anew");
            look($e, 'b');
        }
    }
};


subtest 'who lost a claim leaves, and shows no place' => sub {
    my ($e) = event();

    %place = ();
    look($e, $_, 'check') for qw(a b);
    $e->leave('a');
    step($e);
    later(5_001);
    step($e);
    is_deeply([ $e->active, $e->waiting ], [], 'b is in no line');

    $e->leave('b');
    later(1);
    is(look($e, 'b')->{state}, 'out', 'and has left: the place counts no more');
};


subtest 'what is remembered goes' => sub {
    my ($e) = event();

    %place = ();
    look($e, $_, 'check') for qw(a b);
    $e->leave('a');
    step($e);
    later(5_001);
    step($e);
    cmp_ok($redis->cmd('TTL', $e->key('lost')), '>', 600_000, 'with the keys');
    look($e, 'c', 'check');

    for (1 .. 26) {
        later(3_600_000);
        look($e, 'c', 'check');
        step($e);
    }

    is($redis->cmd('ZCARD', $e->key('lost')), 0, 'after a day');
};


# ---- random histories

# Users come, look, look away and go; the line goes on.  Where an older host is
# beside, it lets in who was passed over, too, and takes turns for pages that
# nobody looks at: but order is kept and nobody is lost there either.

sub history ($mixed, $calls) {
    my $threshold = 1 + int rand 3;
    my ($new, $old) = event(threshold => $threshold);
    my @users = map { "u$_" } 1 .. 3 + int rand 8;
    my (%score, %lost, %passed, %called, @wrong);
    my $wrong = sub (@what) { push @wrong, "@what" };
    my $host = sub { $mixed && rand() < 0.5 ? $old : $new };

    %place = ();

    my $ended = sub ($user) {
        return if !delete $called{$user};
        $lost{$user}++;
        $passed{$user} = 1;
    };

    for (1 .. $calls) {
        my ($x, $user) = (rand, $users[rand @users]);

        if ($x < 0.35) {
            my $e = $host->();

            later(rand() < 0.1 ? 5_001 : $e->{admit_interval});

            my $answer = $e->step;
            my %in = map { $_ => 1 } $e->active;
            my @line = $e->waiting;

            $ended->($_) for grep { !$in{$_} } sort keys %called;
            $wrong->('early') if $answer->{step}[2];
            $wrong->('more than', $threshold) if keys %in > $threshold;
            $wrong->('held up:', @line) if @line && keys %in < $threshold;

            for my $in (sort keys %in) {
                next if $called{$in} || !exists $score{$in};
                $wrong->("$in let in while away") if $passed{$in} && !$mixed;
                $wrong->("$in before $_")
                    for grep { $score{$_} && $score{$_} < $score{$in} } @line;
                $called{$in} = 1;
            }

        } elsif ($x < 0.6) {
            my $e = $host->();
            my $answer = away($e, $user);
            my $state = $answer->{state};

            if ($called{$user} && $state ne 'ready' && $state ne 'in') {
                $ended->($user);
            }

            if (!exists $score{$user}) {
                $wrong->("$user joined while away") if $state eq 'waiting';

            } elsif ($state eq 'in') {
                $wrong->("$user came while away") if $e == $new && !$mixed;
                delete @$_{$user} for \%score, \%lost, \%passed, \%called;

            } elsif ($state eq 'out') {
                $wrong->("$user lost after " . ($lost{$user} // 0))
                    if ($lost{$user} // 0) < 3;
                delete @$_{$user} for \%score, \%lost, \%passed, \%called;
                delete $place{$user};

            } elsif ($state eq 'waiting') {
                $wrong->("$user counts after $lost{$user}")
                    if ($lost{$user} // 0) >= 3 && !$mixed;
                $wrong->("$user moved") if $answer->{score} != $score{$user};
                $wrong->("$user in the line")
                    if !$mixed && $passed{$user}
                       && grep { $_ eq $user } $e->waiting;
            }

        } elsif ($x < 0.9) {
            my $e = $host->();
            my $known = exists $score{$user};
            my $answer = look($e, $user, $known ? 'status' : 'check');
            my $state = $answer->{state};

            $ended->($user) if $called{$user} && $state ne 'in';

            if ($state eq 'waiting') {
                $wrong->("$user moved")
                    if $known && $answer->{score} != $score{$user};
                $score{$user} = $answer->{score};
                delete $passed{$user};

            } else {
                $wrong->("$user lost")
                    if $known && $state eq 'out' && ($lost{$user} // 0) < 3;
                delete @$_{$user} for \%score, \%lost, \%passed, \%called;
                delete $place{$user};
            }

        } else {
            $host->()->leave($user);
            delete @$_{$user} for \%score, \%lost, \%passed, \%called, \%place;
        }

        last if @wrong;
    }

    diag "seed $seed: $_" for @wrong;
    return !@wrong;
}

for my $mixed (0, 1) {
    my $right = 0;

    for (1 .. 12) {
        history($mixed, 100) or last;
        $right++;
    }

    is($right, 12, 'order is kept, nobody is lost, the line goes on'
                   . ($mixed ? ', beside an older host' : '')
                   . " (seed $seed)");
}


# ---- over HTTP

my $site = Admission::Site->start(
    timeout => '60s',
    events => 'concert threshold=1 admit_interval=100ms claim_ttl=600s;
               soon    threshold=1 admit_interval=100ms claim_ttl=1s;');
my %jar;

sub call ($user, $method, $call, $query = '') {
    my $r = request($site->port, $method, "/api/queue/$call$query",
                    bearer => $site->user($user),
                    cookies => $jar{$user} // {});

    my $cookies = $r->cookies;
    $jar{$user}{$_} = $cookies->{$_}{value} for keys %$cookies;
    return $r;
}

call($_, POST => 'check/concert') for qw(ann ben);
is call('ben', GET => 'status/concert', '?away=1')->json->{position}, 1,
    'waits, away';
ok $jar{ben}{'urr-queue-place-concert'}, 'with the place';

call('ann', POST => 'leave/concert');

my $ready;

wait_until {
    $ready = call('ben', GET => 'status/concert', '?away=1');
    $ready->json->{status} eq 'ready';
};

is join(' ', sort keys $ready->json->%*), 'claimIn nextPoll status',
    'ready: the members';
cmp_ok $ready->json->{claimIn}, '<=', 600, 'claimIn';
cmp_ok $ready->json->{claimIn}, '>', 0, 'which is ahead';
is $ready->json->{nextPoll}, 3, 'nextPoll';
is_deeply $ready->cookies, {}, 'no token';
is $ready->header('Cache-Control'), 'no-store', 'not stored';
is call('ben', GET => 'status/concert', '?away=0')->json->{status}, 'active',
    'away=0 looks';
ok $jar{ben}{'urr-entry-token-concert'}, 'and has a token';

# lost, and passed over, on a real clock

call($_, POST => 'check/soon') for qw(ann ben cho);
call('ann', POST => 'leave/soon');

wait_until { call('ben', GET => 'status/soon', '?away=1')->json->{status}
             eq 'ready' };
ok wait_until { call('cho', GET => 'status/soon')->json->{status} eq 'active' },
    'the next one gets in';

my $over = call('ben', GET => 'status/soon', '?away=1')->json;

is $over->{status}, 'queued', 'who did not come waits again';
is "$over->{position} $over->{queueSize} $over->{peopleBehind}", '1 1 0',
    'where it was';
is call('ben', GET => 'status/soon')->json->{position}, 1, 'and looks';
call('cho', POST => 'leave/soon');
ok wait_until { call('ben', GET => 'status/soon')->json->{status} eq 'active' },
    'and gets in';

done_testing;
