# An operator holds an event: nobody is let in, in both tiers and on all hosts;
# asked for, those inside are held at the gate too, and lose nothing by it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use utf8;
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '60s',
    events => 'default threshold=100 vwr_rate=0 admit_interval=200ms
                       restore_wait=1s;
               short threshold=2 active_ttl=4s session_max=6s claim_ttl=4s
                     token_ttl=10s admit_interval=200ms;
               room vwr_rate=1000;',
    server => <<'END');
        location ~ ^/api/queue/(?!admin)\w+/(?<id>\w+)$ { admission_event $id;
                                                admission_queue_api; }
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }

        location ~ ^/in/(?<id>\w+)    { admission_event $id;
                                        admission_tier2 on; empty_gif; }
        location ~ ^/any$             { admission_event "";
                                        admission_tier2 on event=any;
                                        empty_gif; }
        location ~ ^/room/(?<id>\w+)  { admission_event $id;
                                        admission_tier1 auto; empty_gif; }
        location ~ ^/both/(?<id>\w+)  { admission_event $id;
                                        admission_tier1 auto;
                                        admission_tier2 on; empty_gif; }
        location ~ ^/bare/(?<id>\w+)  { admission_event $id; admission_deny status;
                                        admission_tier2 on; empty_gif; }
END

my @port = $site->ports;
my $secret = $Admission::Site::SECRETS{admin};
my $redis = $site->redis;
my %token;

sub hold ($i, $method, $event, $query = '', $api = 'queue') {
    my $path = $api eq 'queue' ? '/api/queue/admin' : '/api/admin/vwr';
    return request($port[$i], $method, "$path/hold/$event$query",
                   bearer => $secret);
}

sub ask ($i, $user, $what, $event, %opt) {
    my $r = request($port[$i], $what eq 'status' ? 'GET' : 'POST',
                    "/api/queue/$what/$event", bearer => $site->user($user), %opt);
    my $json = $r->json;
    $token{$event, $user} = $json->{entryToken} if $json->{entryToken};
    return $json;
}

sub gate ($i, $user, $path, %opt) {
    my ($event) = $path =~ m{(\w+)$};
    my $token = $token{$opt{event} // $event, $user};
    return get($port[$i], $path, bearer => $site->user($user),
               headers => [ ($token ? ('X-Queue-Entry-Token' => $token) : ()),
                            ($opt{headers} // [])->@* ]);
}

# until host $i knows of it

sub heard ($i, $event, $state) {
    return wait_until {
        my $r = get($port[$i], "/api/admin/vwr/status?find=$event",
                    bearer => $secret)->json;
        my ($e) = grep { $_->{eventId} eq $event } $r->{events}->@*;
        ($e->{hold} // '') eq ($state // '');
    };
}


subtest 'outside' => sub {
    is ask(0, 'ann', 'check', 'concert')->{status}, 'active', 'one is in';

    my $now = time;
    my $took = stopwatch;
    my $set = hold(0, PUT => 'concert')->json;
    is_deeply [ @$set{qw(eventId hold)} ], [ 'concert', 'outside' ], 'held';
    cmp_ok $set->{since}, '>=', $now - 2, 'since then';
    cmp_ok $set->{since}, '<=', time + 2, 'and no later';
    ok heard(1, 'concert', 'outside'), 'another host knows';
    cmp_ok $took->(), '<', 2 * slow, 'within 2 s';

    for my $i (0, 1) {
        is_deeply hold($i, GET => 'concert', '', $_)->json, $set,
            "host $i, $_: GET" for qw(queue vwr);
        is ask($i, "ben$i", 'check', 'concert')->{status}, 'queued',
            "host $i: nobody gets in";
        is gate($i, 'ann', '/in/concert')->status, 200,
            "host $i: who is in goes on";
    }
    is ask(1, 'ann', 'heartbeat', 'concert')->{status}, 'active', 'and stays in';

    # an operator's threshold does not lift it
    $site->admin(PUT => 'threshold/%s?threshold=1000');
    my $steps = $redis->cmd('HGET', '{concert}:state', 'step');
    wait_until {
        $redis->cmd('HGET', '{concert}:state', 'step') > $steps + 1000
    };
    is $redis->cmd('ZCARD', '{concert}:active'), 1, 'steps let in nobody';
    is $redis->cmd('PTTL', '{concert}:hold'), -1, 'it stays in redis';

    is hold(1, DELETE => 'concert', '', 'vwr')->json->{hold}, undef, 'let go';
    ok((wait_until { ask(0, 'ben0', 'status', 'concert')->{status} eq 'active' } 10),
        'the line goes on');
    is hold(0, GET => 'concert')->json->{hold}, undef, 'on all hosts';
    is hold(0, DELETE => 'concert')->status, 200, 'twice does nothing more';
};


subtest 'the waiting room' => sub {
    request($port[0], POST => '/api/admin/vwr/activate/room', bearer => $secret);
    hold(0, PUT => 'room');
    ok heard(1, 'room', 'outside'), 'held';

    my $ticket = post($port[1], '/vwr-api/assign/room')->json;
    cmp_ok $ticket->{position}, '>', 0, 'tickets are given';

    my $serving = sub { $redis->cmd('HGET', '{room}:vwr', 'serving') };
    my $at = $serving->();
    my $updated = $redis->cmd('HGET', '{room}:vwr', 'updated');
    wait_until {
        $redis->cmd('HGET', '{room}:vwr', 'updated') > $updated + 1_000_000
    };
    is $serving->(), $at, 'the counter stands';

    my $r = request($port[1], POST => '/api/admin/vwr/advance/room',
                    bearer => $secret);
    is_deeply [ $r->status, $r->json->{code} ], [ 409, 'ON_HOLD' ],
        'and is not moved by hand';

    hold(0, DELETE => 'room');
    ok((wait_until { $serving->() > $at } 10), 'it goes on');
};


subtest 'no room to wait in' => sub {
    is gate(0, 'cat', '/room/plain')->status, 200, 'who comes passes';
    is ask(0, 'dan', 'check', 'plain')->{status}, 'active', 'one is in';

    hold(0, PUT => 'plain');
    ok heard($_, 'plain', 'outside'), "host $_ knows" for 0, 1;

    my $r = gate(0, 'cat', '/room/plain');
    is_deeply [ $r->status, $r->json->{code} ], [ 503, 'ON_HOLD' ], 'is held';
    is gate(1, 'dan', '/room/plain')->status, 200, 'not who is in';
    hold(0, DELETE => 'plain');
    ok((wait_until { gate(1, 'cat', '/room/plain')->status == 200 } 10), 'let go');
};


subtest 'inside' => sub {
    my $user = 'eve';
    is ask(0, $user, 'check', 'inner')->{status}, 'active', 'one is in';
    is gate(1, $user, $_)->status, 200, $_ for '/in/inner', '/both/inner';

    request($port[0], PUT => '/api/queue/admin/notice/inner', bearer => $secret,
            json => { ko => "<b>점검 & 중</b>", en => 'Back at noon' });
    is hold(1, PUT => 'inner', '?inside=on')->json->{hold}, 'inside', 'held';
    ok heard($_, 'inner', 'inside'), "host $_ knows" for 0, 1;

    for my $path ('/in/inner', '/both/inner', '/room/inner') {
        my $r = gate(0, $user, $path);
        is $r->status, 503, "$path: 503";
        is $r->json->{code}, 'ON_HOLD', 'ON_HOLD';
        cmp_ok $r->json->{retryAfter}, '>=', 10, 'retryAfter';
        is $r->header('Retry-After'), $r->json->{retryAfter}, 'Retry-After';
        is $r->header('Cache-Control'), 'no-store', 'is not stored';
    }
    is gate(0, $user, '/any', event => 'inner')->status, 503,
        'an event that the token names';
    for my $i (0, 1) {
        ok((wait_until { gate($i, $user, '/in/inner')->json->{notice} } 10),
            "host $i: the notice");
    }

    my @browser = ('Sec-Fetch-Mode' => 'navigate', Accept => 'text/html');
    my $r = gate(1, $user, '/in/inner', headers => [ @browser,
                                         'Accept-Language' => 'ko' ]);
    is $r->status, 503, 'a browser';
    like $r->header('Content-Type'), qr{^text/html; charset=utf-8$}, 'a page';
    like $r->body, qr/&lt;b&gt;.*&amp;.*&lt;\/b&gt;/, 'with the notice, escaped';
    like $r->body, qr/<meta http-equiv="refresh" content="\d+">/,
        'which tries again';
    like $r->header('Content-Security-Policy'), qr/default-src 'none'/, 'policy';
    $r = gate(1, $user, '/in/inner', headers => [ @browser,
                                         'Accept-Language' => 'en' ]);
    like $r->body, qr/Back at noon/, 'in the language asked for';

    $r = gate(0, $user, '/bare/inner');
    is $r->status, 503, 'admission_deny status';
    ok $r->header('Retry-After'), 'with Retry-After';

    is ask(0, $user, 'heartbeat', 'inner')->{status}, 'active', 'still in';

    is hold(0, PUT => 'inner')->json->{hold}, 'outside', 'those inside go on';
    ok heard(1, 'inner', 'outside'), 'as all hosts hear';
    is gate(1, $user, '/in/inner')->status, 200, 'the gate opens to them';
    hold(0, DELETE => 'inner');
    is hold(0, PUT => 'inner', '?inside=maybe')->status, 400, 'on or off';
};


# Its slot would end after 4 s, and its session after 6: the machine may stand still
# for a while before the hold.

subtest 'slots stand still' => sub {
    my ($from, @is);

    # anew, where that was so

    wait_until {
        if (@is) {
            hold(0, DELETE => 'short');
            request($port[0], POST => '/api/queue/admin/clear/short',
                    bearer => $secret);
        }
        my $began = time;
        @is = map { ask($$_[0], $$_[1], 'check', 'short')->{status} }
              [ 0, 'fay' ], [ 0, 'gus' ], [ 1, 'hal' ];
        $from = time;
        hold(0, PUT => 'short', '?inside=on');
        "@is" eq 'active active queued' && time - $began < 3;
    };
    is_deeply \@is, [ qw(active active queued) ], 'two are in, and one waits';
    ok heard($_, 'short', 'inside'), "host $_ knows" for 0, 1;

    # gus asks no more, fay goes on, both for longer than a session
    while (time - $from < 7) {
        is ask(1, 'fay', 'status', 'short')->{status}, 'active',
            sprintf 'after %.1f s', time - $from;
        ask(1, 'hal', 'status', 'short');
        select undef, undef, undef, 0.7;
    }
    is $redis->cmd('ZCARD', '{short}:active'), 2, 'both are in';

    hold(1, DELETE => 'short');
    is ask(0, 'gus', 'status', 'short')->{status}, 'active',
        'who did not ask still is';
    is ask(0, 'fay', 'status', 'short')->{status}, 'active', 'and who did';
    ok((wait_until { gate(0, 'fay', '/in/short')->status == 200 } 10),
        'and passes the gate');
    ok((wait_until { ask(0, 'hal', 'status', 'short')->{status} eq 'active' } 15),
        'later their time is over, and the line goes on');
};


subtest 'what is lost, and what starts' => sub {
    ask(0, 'ida', 'check', 'kept');
    hold(0, PUT => 'kept', '?inside=on');
    ok heard($_, 'kept', 'inside'), "host $_ knows" for 0, 1;
    is gate($_, 'ida', '/in/kept')->status, 503, "host $_: held" for 0, 1;

    $redis->flushall;
    is ask(1, 'joe', 'check', 'kept')->{status}, 'queued', 'nobody gets in';
    ok((wait_until { ($redis->cmd('HGET', '{kept}:hold', 'held') // 0) == 2 } 10),
        'redis that lost it gets it back');
    is gate($_, 'ida', '/in/kept')->status, 503, "host $_: held" for 0, 1;

    $redis->stop;
    is gate(0, 'ida', '/in/kept')->status, 503, 'without redis: held';
    is hold(0, DELETE => 'kept')->status, 503, 'and is not let go';
    $redis->restart;
    wait_until { hold(0, GET => 'kept')->status == 200 } 10;

    $site->nginx(1)->reload;
    is gate(1, 'ida', '/in/kept')->status, 503, 'after a reload';

    # all hosts forget
    $site->nginx(0)->stop;
    $site->nginx(0)->start_again;
    ok((wait_until { gate(0, 'ida', '/in/kept')->status == 503 } 10),
        'a host that starts hears of it');

    is answered { hold(0, DELETE => 'kept') }->status, 200, 'let go there';
    ok((wait_until { gate(1, 'ida', '/in/kept')->status == 200 } 10),
        'and on the other');
};


subtest 'who may' => sub {
    for my $method (qw(GET PUT DELETE)) {
        is request($port[0], $method, '/api/queue/admin/hold/concert')->status,
            401, "$method: nobody";
        is request($port[0], $method, '/api/queue/admin/hold/concert',
                   bearer => $site->user('ann'))->status, 403, 'a user';
    }
    is hold(0, POST => 'concert')->status, 405, 'POST';
};

done_testing;
