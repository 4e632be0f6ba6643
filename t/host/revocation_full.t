# A host that has no room for all revocations, or lost some: what it had to
# forget it asks Redis for, so that an ended entry token never passes again.
# Nobody else's token costs a call, and none passes by mistake while Redis does
# not answer.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Cluster;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Waiting;
use Admission::Zone;
use Time::HiRes qw(sleep time);

my $LISTED = 'default vwr_rate=0; concert threshold=1000 admit_interval=200ms';

sub small_site (%opt) {
    return waiting_site(
        instances => 2, zone => '256k', timeout => '2s',
        events => "$LISTED; listed threshold=1;", server => <<'END', %opt);
        location = /metrics { admission_metrics; }
        location = /any     { admission_event ""; admission_tier2 on event=any;
                              proxy_pass http://booking; }
        location = /strict  { admission_tier2 on strict=on; empty_gif; }
        location = /unbound { admission_tier2 on bind=off; empty_gif; }
        location = /free    { admission_event "";
                              add_header X-Event "<$admission_event>";
                              empty_gif; }
        location = /dry     { admission_tier2 on; admission_dry_run on;
                              add_header X-Verdict $admission_verdict;
                              empty_gif; }
END
}

# a request with one entry token, or with a second one in a cookie
sub ask ($site, $i, $user, $token, $path = '/gated') {
    my ($first, $second) = ref $token ? @$token : $token;
    return request($site->port($i), 'GET', $path, bearer => $site->user($user),
                   headers => ['X-Queue-Entry-Token' => $first,
                               $second ? (Cookie => "urr-entry-token=$second")
                                       : ()]);
}

sub gate { return ask(@_)->status }

# it becomes so
sub soon :prototype(&$;$) ($code, $what, $timeout = 20) {
    ok(wait_until(sub { $code->() }, $timeout), $what);
}

# does not pass, and is refused as soon as the worker that it comes to has Redis
sub kept_out ($site, $i, $user, $token) {
    my $passed = 0;

    soon {
        my @seen = map { gate($site, $i, $user, $token) } 1 .. 5;
        $passed += grep { $_ == 200 } @seen;
        !grep { $_ != 403 } @seen;
    } "instance $i: $user is refused";
    is($passed, 0, 'and never passed');
}

# the statuses of some requests, each once
sub gates ($n, @request) {
    my %seen = map { gate(@request) => 1 } 1 .. $n;
    return join ' ', sort keys %seen;
}

# Where Redis stood still for 1.5 s nobody is let in for as long: who comes then is
# a moment later.
sub enter ($site, $user, $i = 0) {
    return wait_until {
        $site->call($i, $user, POST => 'check')->json->{entryToken} };
}

# the configuration of a site that waits for Redis no longer than is needed to see
# that it does not answer
sub impatient ($site) {
    my $seconds = 2 * slow;
    return $site->http =~ s/ timeout=\K\d+s/${seconds}s/r;
}

sub leave ($site, $user, $i = 0) {
    return $site->call($i, $user, POST => 'leave')->status;
}

sub count ($site, $i, @what) {
    return metrics($site->port($i))->value(@what) // 0;
}

sub forgotten ($site, $i) {
    return count($site, $i, 'revocations_forgotten_total');
}

# What instance $i will have forgotten once all that it knows now is gone: the
# oldest goes first, so that less leaves the latest of it known.
sub forgotten_all ($site, $i) {
    return forgotten($site, $i) + count($site, $i, 'revocations');
}

# how often instance $i asked Redis about a token while the code ran
sub asks ($site, $i, $code) {
    my $asked = sub {
        return count($site, $i, 'redis_call_duration_seconds_count',
                     call => 'queue_revoked');
    };
    my $before = $asked->();
    $code->();
    return $asked->() - $before;
}

# As hosts do it: at one moment, since one that asks in between would not hear
# of what is put before the time of its last answer, and then it is told, since
# where nobody waits no host asks before a slot ends.
sub revoke ($site, $redis, @users) {
    my $time = $redis->cmd('EVAL', <<'END', 1, $site->key('revoked'), @users);
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
for i, user in ipairs(ARGV) do
  redis.call('ZADD', KEYS[1], string.format('%.0f', us + i), user)
end
return string.format('%.0f', us + #ARGV)
END
    $site->redis->cmd('ZADD', '{}:news', $time, $site->{event});
}

# Revocations of others, of now by the queue's clock, as hosts hear of them,
# not all of them at once: until all that was known before is forgotten.
my $others = 0;

sub fill ($site, $n = 1500) {
    my @hosts = 0 .. $site->{instances} - 1;
    my %all = map { $_ => forgotten_all($site, $_) } @hosts;
    revoke($site, $site->redis, map { 'other-' . $others++ } 1 .. $n);

    for my $i (@hosts) {
        soon { forgotten($site, $i) >= $all{$i} && forgotten($site, $i) > 0 }
            "instance $i has no room for more";
    }
}

# a token of a user who is in, with a longer life than the API gives
sub token_of ($site, $user) {
    return entry_token(
        $Admission::Site::SECRETS{tier2}, sub => 'concert', uid => $user,
        tier => 2, exp => int(time) + 600, iat => int(time),
        adm => 0 + $site->redis->cmd('ZSCORE', $site->key('admitted'), $user));
}

# one of somebody let in after all that was forgotten
sub token_of_later ($user = 'later', $event = 'concert') {
    return entry_token(
        $Admission::Site::SECRETS{tier2}, sub => $event, uid => $user,
        tier => 2, exp => int(time) + 600, iat => int(time),
        adm => int((time + 1) * 1_000_000));
}

# what the backend is told, or the status
sub told_event ($site, $user, $token) {
    my $r = ask($site, 0, $user, $token, '/any');
    return $r->status if $r->status != 200;

    my %got = map { lc $_->[0] => $_->[1] } $r->json->{headers}->@*;
    return $got{'x-admission-event'};
}

sub out ($site, $user, $token) {
    for my $i (0 .. $site->{instances} - 1) {
        soon { gate($site, $i, $user, $token) == 403 }
            "instance $i: $user is out";
    }
}


# Where Redis does not hang it has all the time that it needs.

subtest 'strangers come and leave' => sub {
    my $site = small_site(timeout => '5s');
    my @hosts = (0, 1);
    enter($site, 'first', $_) for @hosts;

    my $ann = enter($site, 'ann');
    my $bob = enter($site, 'bob');
    leave($site, 'ann');
    out($site, ann => $ann);

    is(asks($site, $_, sub { gates(5, $site, $_, bob => $bob) }), 0,
       "instance $_: with room for all nobody is asked") for @hosts;

    my $http;
    my ($refused, $passed) = (0, 0);

    for my $n (1 .. 1400) {
        $http = Admission::HTTP->connect($site->port) if $n % 400 == 1;

        for my $call (qw(check leave)) {
            my $r = $http->request('POST', "/api/queue/$call/concert",
                                   bearer => $site->user("stranger-$n"));
            $refused++ if $r->status != 200;
        }
        $passed += grep { gate($site, $_, ann => $ann) == 200 } @hosts
            if $n % 50 == 0;
    }
    is($refused, 0, 'strangers came in and left');
    is($passed, 0, 'all the while who left before stayed out');

    for my $i (@hosts) {
        soon { forgotten($site, $i) > 0 } "instance $i has no room for all";
        is(gates(20, $site, $i, ann => $ann), 403, 'who left stays out');
        is(gate($site, $i, bob => $bob), 200, 'who is in passes');

        my $start = time;
        my $asks = asks($site, $i, sub {
            is(gates(50, $site, $i, bob => $bob), 200, 'again');
        });
        cmp_ok($asks, '<=', 1 + int(time - $start),
               'at one question a user and second');
        is(gate($site, $i, ann => [$ann, $bob]), 403,
           "nobody passes by another's");
    }

    my $neo = enter($site, 'neo');
    is(asks($site, $_, sub { is(gate($site, $_, neo => $neo), 200, 'neo') }),
       0, "instance $_: a later token is good without a question") for @hosts;

    my $again = enter($site, 'ann');
    for my $i (@hosts) {
        is(gate($site, $i, ann => $again), 200,
           "instance $i: ann comes in again");
        is(gate($site, $i, ann => $ann), 403, 'not by the old token');
        is(gate($site, $i, ann => [$ann, $again]), 200,
           'which hides no good one');
    }

    is(gate($site, 0, bob => $bob), 200, 'bob was just asked about');
    leave($site, 'bob');
    is(gate($site, 0, bob => $bob), 403, 'and leaves, and is out at once');

    my $said = wait_until {
        $site->nginx->error_log =~ /(\d+ revocations were forgotten early.*)/
            && $1 };
    like($said, qr/older than \d+ s are asked for from redis/, 'the log');
    like($said, qr/make "admission_zone" larger/, 'says what to do');
};


subtest 'every place that takes an entry token' => sub {
    my $site = small_site(timeout => '5s');
    enter($site, 'first', $_) for 0, 1;

    my $ann = enter($site, 'ann');
    my $bob = enter($site, 'bob');
    leave($site, 'ann');
    out($site, ann => $ann);
    fill($site);

    # nothing is vouched for before Redis was asked

    is(ask($site, 0, ann => $ann, '/free')->header('X-Event'), '<>',
       '$admission_event is not of an ended token');

    is(gate($site, 0, ann => $ann, '/any'), 403, 'event=any: who left');
    is(told_event($site, bob => $bob), 'concert', 'event=any: who is in');
    is(told_event($site, ann => [$ann, token_of_later('ann', 'listed')]),
       'listed', 'or has another token');
    is(told_event($site, bob => [$bob, token_of_later('bob', 'listed')]),
       'concert', 'the first that is right counts');

    is(gate($site, 0, ann => $ann, '/unbound'), 403, 'bind=off: who left');
    is(gate($site, 0, bob => $bob, '/unbound'), 200, 'bind=off: who is in');

    # one that names no user is nobody's, but the event's: a clear ends it

    my $none = entry_token($Admission::Site::SECRETS{tier2}, sub => 'concert',
                           tier => 2);
    is(gate($site, 0, bob => $none, '/unbound'), 200, 'bind=off: of no user');
    is(gate($site, 0, bob => $none), 403, 'which is for no user');

    is(ask($site, 0, ann => $ann, '/dry')->header('X-Verdict'), 'tier2',
       'a dry run says what would be, of who left');
    is(ask($site, 0, bob => $bob, '/dry')->header('X-Verdict'), 'pass',
       'and of who is in');

    operator($site, POST => 'activate/concert');
    for my $i (0, 1) {
        soon {
            get($site->port($i), '/events/')->status == 403
        } "instance $i: the waiting room is active";

        for my $path ('/events/', '/both/') {
            is(gate($site, $i, ann => $ann, $path), 403, "$path: who left");
            is(gate($site, $i, bob => $bob, $path), 200, "$path: who is in");
        }
    }

    # strict=on asks anyway, and once

    my $monitor = $site->redis->monitor;
    my $about = sub ($user) {
        return map { $_->[0] } grep { $_->[-1] eq $user } $monitor->commands;
    };

    my $cyd = enter($site, 'cyd');
    fill($site);
    $about->('cyd');

    # what is known is so for a second

    my (@strict, @asked);

    for (1 .. 10) {
        my $start = time;
        @strict = @asked = ();

        for my $n (0, 1) {
            $strict[$n] = gate($site, 0, cyd => $cyd, '/strict');
            $asked[$n] = join ' ', $about->('cyd');
        }
        last if time - $start < 0.9;
        sleep 1.1;
    }

    is($strict[0], 200, 'strict=on');
    is($asked[0], 'EVALSHA', 'both questions in one');
    is($strict[1], 200, 'strict=on, again');
    is($asked[1], 'ZSCORE', 'what is known is not asked');
    is(gate($site, 1, ann => $ann, '/strict'), 403, 'strict=on: who left');

    # the API shows Redis what it is shown

    is(ask($site, 0, ann => $ann, '/api/queue/status/concert')
       ->json->{status}, 'not_in_queue', 'an ended token gives no slot back');


    # Redis is away

    $site->nginx->reload(http => impatient($site));

    my $later = token_of_later();
    my @paths = qw(/gated /any /unbound /strict /events/ /both/);

    $site->redis->sigstop;

    for my $path (@paths) {
        my $r;
        soon {
            $r = ask($site, 0, bob => $bob, $path);
            $r->status == 503
        } "Redis hangs, $path: 503";
        is($r->json->{code}, 'UNAVAILABLE', 'with its code');
        ok($r->header('Retry-After'), 'and Retry-After');
        isnt(gate($site, 0, ann => $ann, $path), 200, 'nobody by mistake');
    }

    is(ask($site, 0, bob => $bob, '/dry')->header('X-Verdict'), 'error',
       'the same in a dry run');
    is(ask($site, 0, bob => $bob, '/free')->header('X-Event'), '<>',
       'and no $admission_event');
    is(told_event($site, bob => [$bob, token_of_later('bob', 'listed')]),
       'listed', 'who has a later token passes by that') for 1 .. 10;
    is(gate($site, 0, later => $later), 200, 'a later token passes');
    is(gate($site, 0, later => $later, '/events/'), 200, 'both tiers');

    $site->redis->sigcont;
    soon { gate($site, 0, bob => $bob) == 200 }
        'Redis is back: who is in passes';
    kept_out($site, $_, ann => $ann) for 0, 1;

    # clients that go while Redis hangs

    $site->redis->sigstop;
    wait_until { gate($site, 0, bob => $bob) == 503 };
    $site->redis->sigcont;
    wait_until { gate($site, 0, dan => token_of_nobody()) == 200 } 10;
    $site->redis->sigstop;

    my @clients = map { Admission::HTTP->connect($site->port) } 1 .. 20;
    $_->send(Admission::HTTP::compose(
        'GET', '/gated', bearer => $site->user('eve'),
        headers => ['X-Queue-Entry-Token' => token_of_nobody('eve')]))
        for @clients;
    $_->close for @clients[0 .. 9];
    is(join(' ', map { $_->response->status } @clients[10 .. 19]),
       join(' ', (503) x 10), 'the others have their answer');

    $site->redis->sigcont;
    soon { gate($site, 0, bob => $bob) == 200 } 'and nothing else happens';

    # Redis holds what is not ours

    $site->redis->cmd('SET', $site->key('revoked'), 'no set');
    soon { gate($site, 0, bob => $bob) == 503 }
        'Redis answers with an error: 503';
};

# of an hour ago, and not revoked
sub token_of_nobody ($user = 'dan') {
    return entry_token(
        $Admission::Site::SECRETS{tier2}, sub => 'concert', uid => $user,
        tier => 2, exp => int(time) + 600, iat => int(time),
        adm => int((time - 3600) * 1_000_000));
}


subtest 'leave, let the next one in, keep both tokens' => sub {
    my $site = small_site(zone => '64k',
                          events => 'default vwr_rate=0; concert threshold=2 '
                                    . 'admit_interval=200ms;');
    my @kept;

    enter($site, 'first', 1);
    leave($site, 'first', 1);

    # a busy machine may answer a call later than the site waits for it: who has
    # not left has a slot, and the next one waits for that

    for my $n (1 .. 400) {
        my $token = enter($site, "user-$n", $n % 2)
            or return fail("user-$n is let in");
        push @kept, ["user-$n", $token];

        next if $n == 1;
        my $last = 'user-' . ($n - 1);
        wait_until { leave($site, $last, $n % 2) == 200 } 10
            or return fail("$last leaves");
    }

    for my $i (0, 1) {
        soon { forgotten($site, $i) > 0 } "instance $i has no room for all";

        # the last ones may be heard of a little later

        my @pass;
        wait_until {
            @pass = grep { gate($site, $i, @$_) == 200 } @kept;
            @pass == 1;
        } 20;
        is(join(' ', map { $_->[0] } @pass), 'user-400',
           'of 400 tokens the one of who is in passes');
    }
};


subtest 'for as long as it matters' => sub {
    my $site = small_site(instances => 1, timeout => '5s',
                          events => "$LISTED token_ttl=1s;");

    enter($site, 'ann');
    my $ann = token_of($site, 'ann');
    fill($site);

    is(asks($site, 0, sub { gate($site, 0, ann => $ann) }), 1,
       'it is asked about');

    # token_ttl and 10 s

    soon {
        sleep 1.1;
        !asks($site, 0, sub { gate($site, 0, ann => $ann) });
    } 'until all such tokens have expired', 40;

    $site->redis->sigstop;
    is(gate($site, 0, ann => $ann), 200, 'then Redis may be away');
    $site->redis->sigcont;
};


subtest 'another zone' => sub {
    my $site = small_site(instances => 1, zone => '1m', timeout => '5s');

    my $ann = enter($site, 'ann');
    my $bob = enter($site, 'bob');
    leave($site, 'ann');

    for my $n (1 .. 400) {
        enter($site, "one-$n");
        leave($site, "one-$n");
    }
    is(forgotten($site, 0), 0, 'there was room for all');

    my $later = token_of_later();

    $site->redis->sigstop;
    $site->nginx->reload(http => impatient($site) =~ s/admission:1m/admission:64k/r);
    cmp_ok(forgotten($site, 0), '>', 0, 'a smaller zone has not');
    is(gate($site, 0, ann => $ann), 503, 'who left: it has to ask');
    is(gate($site, 0, bob => $bob), 503, 'who is in, likewise');
    is(gate($site, 0, later => $later), 200, 'a later token passes');

    $site->nginx->reload(http => impatient($site) =~ s/admission:1m/admission:2m/r);
    cmp_ok(forgotten($site, 0), '>', 0, 'a larger one counts on');
    is(gate($site, 0, ann => $ann), 503, 'and knows that some were forgotten');

    $site->redis->sigcont;
    soon { gate($site, 0, bob => $bob) == 200 }
        'Redis is back: who is in passes';
    kept_out($site, 0, ann => $ann);
};


subtest 'a worker died with the lock' => sub {
    my $site = small_site(instances => 1);
    my $nginx = $site->nginx;

    $nginx->allow(qr/exited on signal 9/, qr/was locked by/,
                  qr/a process died while it changed the zone/);

    my $ann = enter($site, 'ann');
    leave($site, 'ann');
    my $cleared = enter($site, 'cleared');
    is(gate($site, 0, cleared => $cleared), 200, 'one more is in');
    $site->admin(POST => 'clear/%s');
    my $bob = enter($site, 'bob');

    $site->redis->sigstop;
    Admission::Zone::kill_inside($nginx, 256 << 10);

    is(gates(5, $site, 0, ann => $ann), 503, 'Redis is away: who left');
    is(gates(5, $site, 0, cleared => $cleared), 503, 'who was cleared');
    is(gate($site, 0, bob => $bob), 503, 'and who is in is asked about');

    $site->redis->sigcont;
    soon { gate($site, 0, bob => $bob) == 200 }
        'Redis is back: who is in passes';
    kept_out($site, 0, ann => $ann);
    kept_out($site, 0, cleared => $cleared);
    soon { $nginx->worker_pids == 2 } 'workers are back';
    soon { gates(20, $site, 0, bob => $bob) eq '200' } 'and have Redis';

    Admission::Zone::kill_inside($nginx, 256 << 10);

    kept_out($site, 0, ann => $ann);
    kept_out($site, 0, cleared => $cleared);
    soon { gate($site, 0, bob => $bob) == 200 } 'who is in passes';

    soon {
        sleep 1.1;
        !asks($site, 0, sub { gate($site, 0, bob => $bob) });
    } 'once the event was heard of nobody is asked';

    is(gate($site, 0, ann => $ann), 403, 'who left is out');
    is(gate($site, 0, cleared => $cleared), 403, 'and who was cleared');
};


subtest 'an event is forgotten, and when it was cleared' => sub {
    my @events = map { sprintf 'event-%04d', $_ } 1 .. 1500;
    my $site = small_site(
        zone => '64k',
        events => join(' ', "$LISTED;", map { "$_ threshold=1;" } @events));

    my $ann = enter($site, 'ann');
    my $bob = enter($site, 'bob');
    $site->admin(POST => 'clear/%s');
    out($site, ann => $ann);
    out($site, bob => $bob);

    # more events than a host can know

    my $all = sub {
        my %seen;
        for my $i (0, 1) {
            $seen{ gate($site, $i, ann => $ann) }++;
            $seen{ gate($site, $i, bob => $bob) }++;
        }
        return \%seen;
    };
    my %before = map { $_ => count($site, $_, 'events_forgotten_total') } 0, 1;

    # what is only listed pushes out nobody's event; what is joined does

    $site->redis->cmd('SADD', 'queue:active-events', @events);

    my $passed = 0;

    for my $event (@events[0 .. 299]) {
        local $site->{event} = $event;
        $site->call($_, dan => POST => 'check') for 0, 1;
        next if $event !~ /0$/;
        local $site->{event} = 'concert';
        $passed += $all->()->{200} // 0;
    }

    is($passed, 0, 'who was cleared does not pass');

    cmp_ok(count($site, $_, 'events_forgotten_total'), '>', $before{$_},
           "instance $_ forgot events") for 0, 1;

    $site->redis->sigstop;
    $passed = 0;
    $passed += $all->()->{200} // 0 for 1 .. 3;
    is($passed, 0, 'nor while Redis is away');
    $site->redis->sigcont;

    $site->redis->cmd('SREM', 'queue:active-events', @events);
    my $cyd;
    soon { $cyd = enter($site, 'cyd') } 'cyd comes in';
    for my $i (0, 1) {
        soon { gate($site, $i, cyd => $cyd) == 200 } "and passes instance $i";
    }
};

subtest 'in a cluster' => sub {
    my $cluster = Admission::Cluster->start(replicas => 0);
    my @masters = $cluster->masters;
    my $site = small_site(redis => $cluster, instances => 1, timeout => '5s',
                          event => '$arg_event', events => 'default;');

    for my $master (@masters) {
        local $site->{event} = $cluster->event_of($master);
        my $path = "/gated?event=$site->{event}";

        my $ann = enter($site, 'ann');
        my $bob = enter($site, 'bob');
        leave($site, 'ann');

        my $all = forgotten_all($site, 0);
        revoke($site, $master, map { "one-$_" } 1 .. 1500);
        soon { forgotten($site, 0) >= $all } "$site->{event}: a full table";

        my $asks = asks($site, 0, sub {
            is(gate($site, 0, ann => $ann, $path), 403, 'who left is out');
            is(gate($site, 0, bob => $bob, $path), 200, 'who is in passes');
        });
        is($asks, 2, 'as its master says');
    }

    unlike($site->nginx->error_log, qr/CROSSSLOT|replied with an error/,
           'no key was elsewhere');
};

done_testing;
