# A sale with a time: what each phase gives and refuses, in both tiers, on two
# hosts; who may set the times, and what is no time.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;

my $far = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + 7200));

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => "default threshold=20 vwr_rate=1000;
               configured threshold=5 opens=2020-01-01T00:00:00Z starts=$far;
               off threshold=5 vwr=off;
               plain threshold=5;",
    server => <<'END');
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /events/ {
            admission_event concert;
            admission_tier1 auto;
            empty_gif;
        }
        location /seats/ {
            admission_event concert;
            admission_tier2 on;
            empty_gif;
        }
        location /any/ {
            admission_event "";
            admission_tier2 on event=any;
            empty_gif;
        }
END

my $secret = $Admission::Site::SECRETS{admin};
my $redis = $site->redis;

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub date ($in, $now = now()) {
    return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(int($now) + $in));
}

sub operator ($i, $method, $path, %opt) {
    return request($site->port($i), $method, "/api/admin/vwr/$path",
                   bearer => $secret, %opt);
}

# the times, as seconds from now; undef: none

sub schedule ($event, %in) {
    my $now = now();
    my %times = map { $_ => defined $in{$_} ? date($in{$_}, $now) : undef }
                keys %in;
    my $r = operator(0, PUT => "schedule/$event", json => \%times);
    is $r->status, 200, "schedule of $event" or diag $r->raw;
    my $phase = $r->json->{schedule}{phase};
    for my $i (0, 1) {
        ok((wait_until { (status($i, $event)->{phase} // '')
                         eq ($phase // '') }),
           "host $i: " . ($phase // 'none')) or diag explain status($i, $event);
    }
    return $r->json->{schedule};
}

sub status ($i, $event = 'concert') {
    return get($site->port($i), "/vwr-api/status/$event")->json;
}

sub assign ($i, $event = 'concert', %opt) {
    return post($site->port($i), "/vwr-api/assign/$event", %opt);
}

sub check ($i, $ticket, $event = 'concert') {
    return get($site->port($i), "/vwr-api/check/$event/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ]);
}

sub join_queue ($i, $user, $event = 'concert', %opt) {
    return request($site->port($i), POST => "/api/queue/check/$event",
                   bearer => $site->user($user), %opt);
}

# Where Redis stood still for 1.5 s nobody is let in for as long: who comes then is
# a moment later.

sub enters ($i, $user) {
    return wait_until {
        my $r = join_queue($i, $user)->json // {};
        ($r->{status} // '') eq 'active' && $r
    } || {};
}

my @html = (headers => [ Accept => 'text/html' ]);


subtest 'an event without times' => sub {
    my $r = status(0);
    is_deeply([ grep { exists $r->{$_} } qw(phase opensIn startsIn nextPoll) ],
              [], 'says nothing of it');
    is get($site->port, '/events/x')->status, 200, 'and is open';
    is operator(0, GET => 'schedule/concert')->json->{schedule}, undef,
        'there is no schedule';
};


# who is in before it is set goes on being in, and the gates let nobody pass

my $inside = enters(0, 'early');
is $inside->{status}, 'active', 'one who was in before';

subtest 'before' => sub {
    my $set = schedule('concert', opens => 3600, starts => 7200);
    is $set->{setBy}, 'api', 'set by the API';
    like $set->{opens}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, 'its time';
    is $set->{closes}, undef, 'and none to close';

    for my $i (0, 1) {
        my $port = $site->port($i);
        my $r = status($i);
        is $r->{phase}, 'before', "host $i: the phase";
        cmp_ok abs($r->{opensIn} - 3600), '<', 30 * slow, 'opensIn';
        is $r->{nextPoll}, 2, 'nextPoll';
        is $r->{isActive}, false, 'no waiting room yet';

        $r = assign($i);
        is $r->status . ' ' . $r->json->{code}, '403 NOT_OPEN', 'no ticket';
        cmp_ok abs($r->json->{opensIn} - 3600), '<', 30 * slow, 'opensIn';
        ok !exists $r->json->{redirectTo}, 'and sends nobody away';

        $r = join_queue($i, 'ann');
        is $r->status . ' ' . $r->json->{code}, '403 NOT_OPEN', 'nobody joins';
        cmp_ok abs($r->json->{opensIn} - 3600), '<', 30 * slow, 'opensIn';

        for my $path ('/events/x', '/seats/x') {
            my @user = (bearer => $site->user('early'));
            $r = get($port, $path, @user);
            is $r->status . ' ' . $r->json->{code}, '403 NOT_OPEN',
                "$path is shut";
            cmp_ok abs($r->json->{opensIn} - 3600), '<', 30 * slow, 'opensIn';
            $r = get($port, $path, @user,
                     headers => [ 'X-Queue-Entry-Token'
                                  => $inside->{entryToken} ]);
            is $r->json->{code}, 'NOT_OPEN', 'tokens notwithstanding';
            $r = get($port, $path, @html, @user);
            is $r->status, 302, 'a browser';
            my $page = $path =~ /events/ ? 'vwr' : 'queue';
            is $r->header('Location'), "/$page/concert?return=%2F"
               . ($path =~ s{^/}{}r =~ s{/}{%2F}gr), 'gets the page';
        }

        $r = get($port, '/any/x', bearer => $site->user('early'),
                 headers => [ 'X-Queue-Entry-Token' => $inside->{entryToken} ]);
        is $r->json->{code}, 'NOT_OPEN', 'where the token names the event, too';

        is $site->call($i, 'early', GET => 'status')->json->{phase}, 'before',
            'status of the queue says so';
    }
};


my ($first, $second);

subtest 'gathering' => sub {
    schedule('concert', opens => -10, starts => 3600);

    $first = assign(0)->json;
    $second = assign(1)->json;
    is_deeply([ map { $_->{position} } $first, $second ], [ 1, 2 ],
              'tickets, in the order of arrival');
    is $first->{phase}, 'gathering', 'assign says the phase';
    cmp_ok abs($first->{startsIn} - 3600), '<', 30 * slow, 'and startsIn';

    for my $i (0, 1) {
        ok((wait_until { status($i)->{isActive} }),
           "host $i: the waiting room is active");
        is operator($i, GET => 'status/concert')->json->{setBy}, 'api',
            'by the schedule that the API set';

        my $r;
        ok((wait_until { ($r = check($i, $second)->json)->{position} == 2 }),
           'a ticket');
        is $r->{admitted}, false, 'lets nobody in';
        is $r->{servingCounter}, 0, 'the counter stands at 0';
        is $r->{phase}, 'gathering', 'the phase';
        cmp_ok abs($r->{startsIn} - 3600), '<', 30 * slow, 'startsIn';
        cmp_ok $r->{estimatedWait}, '>=', $r->{startsIn}, 'which one waits for';
        is $r->{nextPoll}, 2, 'nextPoll';

        is get($site->port($i), '/events/x')->json->{code}, 'TIER1_REQUIRED',
            'the gate wants a token';

        $r = join_queue($i, "u$i")->json;
        is $r->{status}, 'queued', 'who joins the queue waits, too';
        is $r->{phase}, 'gathering', 'and is told why';
        cmp_ok $r->{estimatedWait}, '>=', $r->{startsIn}, 'and for how long';

        for ([ POST => 'deactivate/concert' ],
             [ POST => 'activate/concert?restart=1' ],
             [ POST => 'advance/concert' ])
        {
            $r = operator($i, @$_);
            is $r->status . ' ' . $r->json->{code}, '409 GATHERING', $_->[1];
        }
    }

    # steps of all hosts notwithstanding

    my $step = $redis->cmd('HGET', '{concert}:vwr', 'updated');
    wait_until { $redis->cmd('HGET', '{concert}:vwr', 'updated')
                 > $step + 2e6 };
    is $redis->cmd('HGET', '{concert}:vwr', 'serving'), 0,
        'the counter still stands at 0';
    is $redis->cmd('ZCARD', '{concert}:queue'), 2, 'and both wait';
};


subtest 'open' => sub {
    schedule('concert', opens => -10, starts => -1, closes => 3600);

    for my $i (0, 1) {
        my $r;
        ok((wait_until { ($r = check($i, $second)->json)->{admitted} }),
           "host $i: tickets are served") or diag explain $r;
        is $r->{phase}, 'open', 'the phase';
        ok !exists $r->{startsIn}, 'and nothing to wait for';
        ok((wait_until { $site->call($i, "u$i", GET => 'status')
                         ->json->{status} eq 'active' }),
           'who waited in the queue is in');
    }

    # what an operator decides after the start stands

    is operator(1, POST => 'deactivate/concert')->status, 200, 'deactivated';
    my $changed = $redis->cmd('HGET', '{concert}:vwr', 'changed');
    ok((wait_until { !status($_)->{isActive} }), "on host $_") for 0, 1;
    my $until = now() + 1.5;
    wait_until { now() > $until };
    is $redis->cmd('HGET', '{concert}:vwr', 'changed'), $changed,
        'the schedule leaves it so';
    is get($site->port, '/events/x')->status, 200, 'and the gate is open';
    is operator(1, POST => 'activate/concert?resume=1')->status, 200, 'resumed';
    ok((wait_until { status($_)->{isActive} }), "on host $_") for 0, 1;
};


subtest 'closed' => sub {
    is enters(0, 'more')->{status}, 'active', 'one who is in';
    is $site->admin(PUT => 'threshold/%s?threshold=3')->status, 200,
       'no more are';
    is join_queue(1, 'waits')->json->{status}, 'queued', 'one who waits';

    schedule('concert', opens => -10, starts => -5, closes => -1);

    for my $i (0, 1) {
        my $r = assign($i);
        is $r->status . ' ' . $r->json->{code}, '403 CLOSED',
            "host $i: no new tickets";
        is $r->json->{phase}, 'closed', 'the phase';

        $r = assign($i, 'concert', headers =>
                    [ 'X-Admission-Visitor' => $first->{visitor},
                      'X-Admission-Ticket' => $first->{requestId} ]);
        is $r->json->{position}, 1, 'one that there is counts';
        ok $r = check($i, $first)->json->{token}, 'and gets a token';

        my $new = join_queue($i, 'new');
        is $new->status . ' ' . $new->json->{code}, '403 CLOSED',
            'nobody joins';
        is join_queue($i, 'waits')->json->{status}, 'queued',
            'who waits goes on';
        is join_queue($i, 'more')->json->{status}, 'active', 'who is in, too';

        my $through = join_queue($i, "through$i", 'concert', headers =>
                                 [ 'X-Admission-Visitor' => $first->{visitor},
                                   'X-Vwr-Token' => $r ]);
        is $through->status, $i ? 403 : 200,
            $i ? 'but one user alone comes by a ticket'
               : 'who comes through the waiting room may join';
    }

    is $site->admin(DELETE => 'threshold/%s')->status, 200, 'there is room';
    ok((wait_until { $site->call(0, 'waits', GET => 'status')
                     ->json->{status} eq 'active' }), 'the line goes on');
};


subtest 'back to the configuration' => sub {
    my $r = operator(1, DELETE => 'schedule/concert');
    is $r->json->{schedule}, undef, 'none';
    ok((wait_until { !exists status($_)->{phase} }), "host $_") for 0, 1;
    is $redis->cmd('HGET', '{concert}:schedule', 'opens'), -1,
        'as Redis has it';
    cmp_ok $redis->cmd('TTL', '{concert}:schedule'), '>', 600_000, 'for a week';
};


subtest 'by the configuration' => sub {
    for my $i (0, 1) {
        ok((wait_until { status($i, 'configured')->{isActive} }),
           "host $i: active, since it opened");
        my $r = operator($i, GET => 'schedule/configured')->json->{schedule};
        is_deeply $r, { phase => 'gathering', opens => '2020-01-01T00:00:00Z',
                        starts => $far, closes => undef, setBy => 'config' },
            'its times';
        is operator($i, GET => 'status/configured')->json->{setBy}, 'config',
            'by whom';
    }
    is assign(0, 'configured')->json->{servingCounter}, 0, 'a ticket';

    schedule('configured', opens => -10);
    ok((wait_until { status($_, 'configured')->{serving} > 0 }),
       "an operator starts it: host $_") for 0, 1;
    operator(0, DELETE => 'schedule/configured');
    ok((wait_until { status($_, 'configured')->{phase} eq 'gathering' }),
       "and goes back: host $_") for 0, 1;
    my $serving = $redis->cmd('HGET', '{configured}:vwr', 'serving');
    my $next = assign(0, 'configured')->json;
    is $next->{position}, $serving + 1, 'tickets go on, ahead of the counter';
    is check($_, $next, 'configured')->json->{admitted}, false,
        "and wait for the start: host $_" for 0, 1;
    is $redis->cmd('HGET', '{configured}:vwr', 'serving'), $serving,
        'and the counter stands';
};


subtest 'no waiting room' => sub {
    schedule('off', opens => -10, starts => 3600);
    for my $i (0, 1) {
        is join_queue($i, "o$i", 'off')->json->{status}, 'queued',
            "host $i: the queue gathers by itself";
        is assign($i, 'off')->json->{code}, 'VWR_INACTIVE', 'no tickets';
    }
    is $redis->cmd('EXISTS', '{off}:vwr'), 0, 'nothing activated it';

    schedule('off', opens => -10, starts => -1);
    ok((wait_until { join_queue($_, "o$_", 'off')->json->{status} eq 'active' }),
       "host $_: and starts") for 0, 1;
};


subtest 'what is no schedule' => sub {
    my $put = sub ($what, %opt) {
        my $r = operator(0, PUT => 'schedule/plain', %opt);
        is $r->status . ' ' . ($r->json->{code} // ''),
            '400 INVALID_SCHEDULE', $what;
    };
    $put->('no body');
    $put->('a list', json => []);
    $put->('a number', json => { opens => 1_900_000_000 });
    $put->('another key', json => { starts => undef, ends => undef });
    $put->("opens: $_", json => { opens => $_ })
        for '', '2030-01-01', '2030-01-01T00:00:00', '2030-01-01 00:00:00Z',
            '2030-02-29T00:00:00Z', '2030-13-01T00:00:00Z',
            '2030-01-32T00:00:00Z', '2030-01-01T24:00:00Z',
            '2030-01-01T00:60:00Z', '2030-01-01T00:00:60Z',
            '2030-01-01T00:00:00+24:00', '2030-01-01T00:00:00+0900',
            '2030-01-01T00:00:00.Z', '2030-01-01T00:00:00Zx',
            '1969-12-31T23:59:59Z', '9999-01-01T00:00:00Z', "2030\0";
    # of one second, which may end in between
    my $now = now();
    $put->('starts before it opens', json => { opens => date(10, $now),
                                               starts => date(9, $now) });
    $put->('closes before it starts', json => { starts => date(10, $now),
                                                closes => date(9, $now) });
    is $redis->cmd('EXISTS', '{plain}:schedule'), 0, 'nothing is kept';

    my %same = ('2030-01-01T00:00:00+09:00' => '2029-12-31T15:00:00Z',
                '2032-02-29t12:34:56.5z' => '2032-02-29T12:34:56.500000Z',
                '2030-06-30T23:59:59-23:59' => '2030-07-01T23:58:59Z',
                '2030-01-01T00:00:00.123456789Z'
                => '2030-01-01T00:00:00.123456Z');
    for (sort keys %same) {
        is operator(0, PUT => 'schedule/plain', json => { starts => $_ })
           ->json->{schedule}{starts}, $same{$_}, $_;
    }

    for my $api ('/api/queue/admin', '/api/admin/vwr') {
        my $path = "$api/schedule/plain";
        is get($site->port, $path)->status, 401, "$api: nobody";
        is get($site->port, $path, bearer => $site->user('x'))->status, 403,
            'a user';
        is get($site->port, $path, bearer => $secret)->status, 200, 'GET';
        my $r = post($site->port, $path, bearer => $secret);
        is $r->status, 405, 'POST';
        is $r->header('Allow'), 'GET, HEAD, PUT, DELETE', 'Allow';
        is request($site->port, DELETE => $path, bearer => $secret)
           ->json->{schedule}, undef, 'DELETE';
    }

    my $log = $site->nginx(0)->error_log;
    like $log, qr/schedule set, starts 2029-12-31T15:00:00Z/, 'the log has it';
    like $log, qr/schedule set back/, 'and its end';
};

# what anybody may make up has no waiting room, though there are times for it

subtest 'times of the default line' => sub {
    my $nginx = Admission::Nginx->start(http => $site->http =~
        s/default threshold=20/default threshold=20 opens=2026-01-01T00:00:00Z starts=$far/r,
        server => $site->server);
    my $port = $nginx->port;
    is get($port, '/vwr-api/status/made-up')->json->{phase}, 'gathering',
        'they hold';
    is post($port, "/vwr-api/assign/made-up$_")->json->{code}, 'VWR_INACTIVE',
        'no tickets' for 1 .. 5;
    is scalar($redis->cmd('KEYS', '{made-up*')->@*), 0,
        'and nothing is kept of it';
    is request($port, POST => '/api/queue/check/made-up',
               bearer => $site->user('x'))->json->{status}, 'queued',
        'the queue gathers';
    $nginx->stop;
};

done_testing;
