# A purchase that Redis counts after the host gave it up: said again with the same
# key it counts once, by another host and in another session of the user too; and
# so does what a backend says, which the host itself repeats.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Scripts;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, workers => 1, timeout => '500ms',
    events => 'default threshold=5 slots=100 complete=user;',
    server => <<'END');
        location /buy { admission_event $arg_e; admission_tier2 on; proxy_pass http://booking; }
END

my $redis = $site->redis;
my $key = 'key-of-a-purchase-';
my $n = 0;

sub fresh () { return "event" . ++$n }

sub comes ($event, $user) {
    local $site->{event} = $event;
    my $r = answered { $site->call(0, $user, POST => 'check') };
    is $r->json->{status}, 'active', "$user is in" or diag $r->raw;
    return $r->json->{entryToken};
}

sub is_in ($event, $user) {
    return defined $redis->cmd('ZSCORE', "{$event}:active", $user);
}

sub sold ($event) { return $redis->cmd('GET', "{$event}:sold") // 0 }

sub webhook ($i, $event, $key, $user = 'ann') {
    return post($site->port($i),
                "/api/queue/admin/complete/$event?user=$user&seats=2",
                bearer => $Admission::Site::SECRETS{admin},
                headers => [ 'Idempotency-Key' => $key ]);
}

# What is sent while Redis stands still is given up, and carried out then.  It is not
# sent where a step of the host had no answer before, by half a second: then again.

sub late ($event, $ask) {
    my ($r, $sold);

    for (1 .. 8) {
        answered { $site->call(0, 'nobody', GET => 'status') };
        $redis->sigstop;
        $r = $ask->();
        $redis->sigcont;
        $sold = wait_until { sold($event) } 3;
        last if $sold;
    }

    ok $sold, 'Redis counts it, late';
    return $r;
}

# the host may have given Redis up for a moment

sub until_answered ($ask) {
    my $r;
    wait_until { ($r = $ask->())->status != 503 } 20;
    return $r;
}


# the script is there: else it is not known yet, and not carried out

is until_answered(sub { webhook(0, 'first', "${key}0") })->status, 200,
    'a first one';


subtest 'a webhook' => sub {
    my $event = fresh;
    comes($event, 'ann');

    is late($event, sub { webhook(0, $event, "${key}a") })->status, 503,
        'who said so was told nothing';
    ok !is_in($event, 'ann'), 'ann is out';
    comes($event, 'ann');

    for my $i (0, 1, 0) {
        my $r = until_answered(sub { webhook($i, $event, "${key}a") });
        is $r->status, 200, "again, by host $i";
        is $r->json->{sold}, 2, 'it counted once';
        ok is_in($event, 'ann'), 'who has come again stays';
    }

    is until_answered(sub { webhook(1, $event, "${key}b") })->json->{sold}, 4,
        'another purchase counts';
    ok !is_in($event, 'ann'), 'and ends the session';
};


subtest 'a user' => sub {
    my $event = fresh;
    comes($event, 'ann');

    my $say = sub ($i) {
        return post($site->port($i), "/api/queue/complete/$event",
                    bearer => $site->user('ann'),
                    headers => [ 'Idempotency-Key' => "${key}u" ]);
    };

    is late($event, sub { $say->(0) })->status, 503, 'was told nothing';
    comes($event, 'ann');

    for my $i (0, 1) {
        is until_answered(sub { $say->($i) })->status, 200, "says it to $i";
        is sold($event), 1, 'once';
        ok is_in($event, 'ann'), 'and is in';
    }
};


# Whoever does not wait for the answer may say it again at once: it is no other
# one's turn then, for which calls with the key would wait 10 s.

subtest 'a webhook that goes away' => sub {
    my $event = fresh;
    comes($event, 'eve');

    $redis->sigstop;
    my $watch = stopwatch;
    my $c = Admission::HTTP->connect($site->port);
    $c->send(Admission::HTTP::compose(
        POST => "/api/queue/admin/complete/$event?user=eve&seats=2",
        bearer => $Admission::Site::SECRETS{admin},
        headers => [ 'Idempotency-Key' => "${key}e" ]));

    # one worker takes up what comes in turn

    is get($site->port, '/plain')->status, 200, 'it was sent on';
    $c->close;
    is get($site->port, '/plain')->status, 200, 'and is gone';
    $redis->sigcont;

    my $r = until_answered(sub { webhook(0, $event, "${key}e", 'eve') });
    is $r->status, 200, 'once Redis answers it is answered';
    cmp_ok $watch->(), '<', 9, 'and not when the first one is forgotten';
    is $r->json->{sold}, 2, 'it counted once';
};


# Keys of webhooks are often numbers of orders, which users know.

subtest "a user who says a webhook's key first" => sub {
    my $event = fresh;
    comes($event, 'liz');

    is until_answered(sub {
        post($site->port, "/api/queue/complete/$event",
             bearer => $site->user('liz'),
             headers => [ 'Idempotency-Key' => "${key}w" ])
    })->status, 200, 'counts';

    comes($event, 'liz');
    is until_answered(sub { webhook($_, $event, "${key}w",
                               'liz') })->json->{sold}, 3,
        "and the webhook does, once, by host $_" for 1, 0;
};


subtest 'a user who has many keys' => sub {
    my $event = fresh;
    comes($event, 'tom');

    for my $n (1 .. 20) {
        is until_answered(sub {
            post($site->port($n % 2), "/api/queue/complete/$event",
                 bearer => $site->user('tom'),
                 headers => [ 'Idempotency-Key' => "$key$n" ])
        })->status, 200, "completes, the key is number $n";
    }

    is sold($event), 1, 'once';
    cmp_ok $redis->cmd('HLEN', "{$event}:completed"), '<=', 2,
        'and Redis keeps one key';
};


subtest 'a backend' => sub {
    for my $adm (1, 0) {
        my $event = fresh;
        my $token = comes($event, 'ann');

        $token = entry_token($Admission::Site::SECRETS{tier2},
                             sub => $event, uid => 'ann', adm => undef)
            if !$adm;

        late($event, sub {
            return get($site->port, '/buy?header=X-Admission-Command:'
                                    . 'complete;seats=3&e=' . $event,
                       bearer => $site->user('ann'),
                       headers => [ 'X-Queue-Entry-Token' => $token ]);
        });

        comes($event, 'ann');
        is sold($event), 3, 'counts once' . ($adm ? '' : ', without adm');
        ok is_in($event, 'ann'), 'and the next session goes on';
    }
};


# each order of what is late and what is said again, by the script

subtest 'whichever comes first' => sub {
    my $e = Admission::Scripts->new($redis, event => fresh, slots => 100);

    $e->ask('a');
    $e->complete('a', 0, 2, 1, 'k') for 1 .. 2;
    is sold($e->{event}), 2, 'twice in a session';
    $e->ask('a');
    $e->complete('a', 0, 2, 1, 'k');
    is sold($e->{event}), 2, 'and in the next one';
    $e->complete('a', 0, 2, 1, 'l');
    is sold($e->{event}), 4, 'another key';
    $e->complete('a', 0, 2, 1);
    is sold($e->{event}), 4, 'the same session without one';

    $e->ask('b');
    $e->complete('b', 0, 1, 1);
    $e->complete('b', 0, 1, 1, 'm');
    $e->ask('b');
    $e->complete('b', 0, 1, 1, 'm');
    is sold($e->{event}), 5, 'a key that came when it was counted';

    $e->complete('c', 0, 1, 1, 'n') for 1 .. 2;
    is sold($e->{event}), 6, 'of who never was in, once';
};

done_testing;
