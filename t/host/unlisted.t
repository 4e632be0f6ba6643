# Events by the "default" line alone, whose ids anybody may make up: about so
# many of them have users at a time, as hosts know them, a user is in at most
# 4, an address in 16.  Who is in, or has a place, and what an operator named
# are never refused.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Site;
use Admission::Swarm;
use Time::HiRes qw(sleep time);

my $REALIP = 'set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;';
my $SERVER = <<'END';
    location = /metrics      { admission_metrics; }
    location /dry/queue/     { admission_dry_run on; admission_queue_api; }
    location /visitor/queue/ { admission_user visitor; admission_queue_api; }
    location /api/admin/vwr/ { admission_admin_api; }
    listen unix:%%DIR%%/front.sock;
END

sub site ($events, %opt) {
    return Admission::Site->start(events => $events, http => $REALIP,
                                  server => $SERVER, timeout => '5s', %opt);
}

# a call of the queue API about an event, from an address
sub call ($site, $event, $user, %opt) {
    my $what = $opt{call} // 'check';
    my $api = $opt{api} // '/api';

    return request($site->port($opt{host} // 0),
                   $what eq 'status' ? 'GET' : 'POST',
                   "$api/queue/$what/$event",
                   ($user ? (bearer => $site->user($user)) : ()),
                   cookies => $opt{cookies},
                   headers => [ 'X-Real-IP' => $opt{ip} // '10.0.0.1',
                                @{ $opt{headers} // [] } ]);
}

# in short: "queued", "active", "503 TOO_MANY_EVENTS"
sub told ($response) {
    my $json = $response->json;
    return $response->status == 200 ? $json->{status}
                                    : $response->status . " $json->{code}";
}

sub try ($site, $event, $user, %opt) {
    return told(call($site, $event, $user, %opt));
}

my $MANY = '503 TOO_MANY_EVENTS';

# as an event that has users, on a host that has just come, or with a Redis that stood
# still: it lets nobody in for 1.5 s, since others may know more than Redis
sub comes_in ($what, @call) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my $first = try(@call);
    like $first, qr/^(?:active|queued)$/, $what;
    is +(wait_until { my $is = try(@call); $is ne 'queued' && $is } 10),
       'active', 'and there is room';
}

sub refused ($site, $by, $i = 0) {
    return metrics($site->port($i))->value('unlisted_refused_total',
                                           by => $by);
}

sub counted ($site, $i = 0) {
    return metrics($site->port($i))->value('unlisted_events');
}

# Every call of a list is out before the first is answered.  Whose event has others
# in it and who is to wait, as where Redis stood still for a moment, is added to the
# list that is given first.
sub burst ($site, @calls) {
    my $wait = ref $calls[0] eq 'HASH' ? shift(@calls)->{wait} : undef;
    my $swarm = Admission::Swarm->new(connections => 64);
    my %told;

    for my $c (@calls) {
        my ($event, $user, $ip) = @$c;
        $swarm->request($site->port, POST => "/api/queue/check/$event",
            { headers => [ 'X-Real-IP' => $ip, 'Content-Length' => 0,
                           Authorization => 'Bearer ' . $site->user($user) ] },
            sub ($response) {
                my $told = told($response);
                return push @$wait, $c if $wait && $told eq 'queued';
                $told{$told}++;
            });
    }

    $swarm->run(timeout => 60);
    return \%told;
}


subtest 'nginx -t' => sub {
    my $test = sub ($lines) {
        my ($status, $output) = Admission::Nginx->conf_test(
            http => "admission_events { $lines }");
        return $status ? $output : 'ok';
    };

    is $test->("default unlisted=$_;"), 'ok', "unlisted=$_" for 1, 1_000_000;

    like $test->("default unlisted=$_;"),
         qr/invalid value "\Q$_\E" of "unlisted=" in "admission_events", it takes a number from 1 to 1000000/,
         "not $_" for 0, 1_000_001, -1, 'off', '10s', '""';

    like $test->('default unlisted=5 unlisted=5;'),
         qr/duplicate "unlisted="/, 'not twice';
    like $test->('default; sale unlisted=5;'),
         qr/"unlisted=" is of the "default" line of "admission_events" alone, not of "sale"/,
         'of the default line alone';
};


subtest 'one account' => sub {
    my $site = site('default threshold=5 unlisted=50; sale threshold=2;');

    my @told = map { try($site, "made-up-$_", 'mallory') } 1 .. 10;
    is_deeply \@told, [ ('active') x 4, ($MANY) x 6 ], 'four of ten';

    my $r = call($site, 'made-up-5', 'mallory');
    is $r->json->{error}, 'Too many events', 'error';
    cmp_ok $r->json->{retryAfter}, '>=', 30, 'retryAfter';
    is $r->header('Retry-After'), $r->json->{retryAfter}, 'Retry-After';
    is $r->header('Cache-Control'), 'no-store', 'no-store';

    is refused($site, 'user'), 7, 'counted by reason';
    is refused($site, $_), 0, "not as $_" for qw(events address);
    is counted($site), 4, 'four events';

    my @lines = grep { /too many events/ } split /\n/,
                $site->nginx->error_log;
    cmp_ok scalar @lines, '>=', 1, 'the log says so';
    cmp_ok scalar @lines, '<', 7, 'not for each';
    like $lines[0], qr/\[warn\] .* admission: too many events without a line of their own: a user is in 4 already, event "made-up-5" refused/,
        'and what for';

    for my $n (1 .. 4) {
        is try($site, "made-up-$n", 'mallory', call => $_), 'active',
           "in the ${n}th: $_" for qw(check status heartbeat);
    }
    is try($site, 'made-up-5', 'mallory', call => 'status'), 'not_in_queue',
       'asking about others is free';

    is try($site, 'sale', 'mallory'), 'active', 'a listed event is another thing';
    is try($site, 'made-up-5', 'ann'), 'active', 'and so is another user';

    is call($site, 'made-up-2', 'mallory', call => 'leave')->status, 200,
       'who leaves one';
    is try($site, 'made-up-5', 'mallory'), 'active', 'may be in another';
    is try($site, 'made-up-6', 'mallory'), $MANY, 'in one';

    is_deeply burst($site, map { [ "burst-$_", 'eve', '10.0.0.2' ] } 1 .. 100),
              { active => 4, $MANY => 96 }, 'four of a burst';
};


# A host asks Redis about a few ids a second that it does not know: an operator
# may have named one.  Whatever comes above that is none of Redis's.

subtest 'a flood of refused joins' => sub {
    my $site = site('default threshold=5 unlisted=8;');

    try($site, "made-up-$_", 'mallory') for 1 .. 4;
    try($site, "real-$_", "u$_", ip => "10.0.2.$_") for 1 .. 4;

    # of which calls Redis hears in how many seconds
    my $sent = sub (@calls) {
        my $monitor = $site->redis->monitor;
        my $start = time;
        my $told = burst($site, @calls);
        is_deeply $told, { $MANY => scalar @calls }, 'refused, all of them';
        my $sent = grep { "@$_" =~ /\bfresh-/ } $monitor->commands;
        return $sent / (time - $start + 2);
    };

    cmp_ok $sent->(map { [ "fresh-u$_", 'mallory', '10.0.0.1' ] } 1 .. 1000),
           '<=', 10, 'by one user: Redis hears of ten a second';
    cmp_ok $sent->(map { [ "fresh-e$_", "v$_", "10.0.3.$_" ] } 1 .. 250),
           '<=', 10, 'by the number of events: ten';

    # it knows that nobody is there, so that there is nothing to ask
    call($site, 'real-1', 'u1', call => 'leave', ip => '10.0.2.1');
    try($site, 'real-5', 'u5', ip => '10.0.2.5');
    my $monitor = $site->redis->monitor;
    is try($site, 'real-1', "v$_", ip => '10.0.3.1'), $MANY, 'who comes late'
        for 1 .. 20;
    is scalar(grep { "@$_" =~ / v\d+ / } $monitor->commands), 0,
       'of an empty event: none';

    is_deeply $site->redis->cmd('KEYS', '*fresh*'), [], 'no key';
    is_deeply [ grep { /fresh/ }
                $site->redis->cmd('SMEMBERS', 'queue:active-events')->@* ],
              [], 'nor in the list';
};


subtest 'one address' => sub {
    my $site = site('default threshold=50 unlisted=100; sale threshold=50;');

    my @told = map { try($site, "a-$_", "u$_") } 1 .. 20;
    is_deeply \@told, [ ('active') x 16, ($MANY) x 4 ], 'sixteen of twenty';
    is refused($site, 'address'), 4, 'counted as such';

    comes_in('one more user in one of them', $site, 'a-3', 'u17');
    is try($site, 'sale', 'u18'), 'active', 'or in a listed one';
    is try($site, 'a-17', 'u17', ip => '10.0.0.2'), 'active',
       'or from elsewhere';
    is try($site, 'a-17', 'u18'), $MANY, 'that is not in the address\'s';
    is try($site, 'a-18', 'u18', ip => '2001:db8::1'), 'active', 'IPv6';

    call($site, 'a-3', 'u17', call => 'leave');
    is try($site, 'a-19', 'u19'), $MANY, 'two were in it: one is left';
    call($site, 'a-3', 'u3', call => 'leave');
    is try($site, 'a-19', 'u19'), 'active', 'none';

    # by the /64
    my @six = map { try($site, "six-$_", "s$_", ip => "2001:db8:1::$_") }
              1 .. 18;
    is_deeply \@six, [ ('active') x 16, ($MANY) x 2 ], 'sixteen of a /64';

    # a proxy in front by a unix socket is nobody's address
    my $socket = $site->nginx->dir . '/front.sock';
    my @front = map {
        told(post($socket, "/api/queue/check/f-$_",
                  bearer => $site->user("f$_")))
    } 1 .. 18;
    is_deeply \@front, [ ('active') x 18 ], 'by a unix socket';

    # visitors, each of them new
    my @visitors = map {
        try($site, "v-$_", undef, api => '/visitor', ip => '10.0.0.9')
    } 1 .. 20;
    is_deeply \@visitors, [ ('active') x 16, ($MANY) x 4 ], 'visitors';
};


subtest 'all of them together' => sub {
    my $site = site('default threshold=50 unlisted=50; sale threshold=2;',
                    instances => 2);

    $site->{event} = 'set';
    is $site->admin(PUT => 'threshold/%s?threshold=7')->status, 200,
       'an event with an operator\'s threshold';
    is request($site->port, POST => '/api/admin/vwr/activate/room',
               bearer => $Admission::Site::SECRETS{admin})->status, 200,
       'one with a waiting room';

    my $told = burst($site, map { [ "e-$_", "u$_", "10.1.0.$_" ] } 1 .. 120);
    is_deeply $told, { active => 50, $MANY => 70 }, 'fifty of a burst';
    is refused($site, 'events'), 70, 'counted as such';
    is counted($site), 50, 'fifty';

    ok((wait_until { counted($site, 1) == 50 } 10), 'the other host knows')
        or diag counted($site, 1);
    ok((wait_until { metrics($site->port(1))->sum('room_active') == 1 } 10),
       'and has heard of the waiting room');

    for my $i (0, 1) {
        my %at = (host => $i, ip => "10.2.0.$i");

        is try($site, "more-$i", 'ann', %at), $MANY, "host $i: no more";
        comes_in("host $i: $_", $site, $_, "ann$i", %at) for qw(sale set room);
        is try($site, $_, "ann$i", %at), 'active', "host $i, again: $_"
            for qw(sale set room);
    }
    is counted($site), 50, 'those do not count';

    # a host that starts has not heard of the threshold
    $site->redis->cmd('SREM', 'queue:active-events', 'set');
    $site->nginx(1)->quit;
    $site->nginx(1)->start_again;
    ok((wait_until { counted($site, 1) == 50 } 10), 'a host that starts');
    comes_in('asks for what an operator has set',
             $site, 'set', 'ann9', host => 1, ip => '10.2.0.9');
    is try($site, 'made-up', 'ann9', host => 1, ip => '10.2.0.9'), $MANY,
       'and of what no one has it hears that';

    my ($in) = map { $_->[0] } grep { $site->redis->cmd('EXISTS', "{$_->[0]}:active") }
               map { [ "e-$_" ] } 1 .. 120;
    comes_in('an event that has users may have more',
             $site, $in, 'ben', ip => '10.2.1.1', host => 1);
    call($site, $in, 'ben', call => 'leave');

    # who is in is told so on any host, whatever is shown
    my ($n) = $in =~ /(\d+)/;
    is try($site, $in, "u$n", host => $_, ip => '10.2.1.2', call => $_[0]),
       'active', "in, on host $_" for 0, 1;

    is call($site, $in, "u$n", call => 'leave')->status, 200, 'one is left';
    ok((wait_until { counted($site, 1) == 49 } 10), 'which both know')
        or diag counted($site, 1);
    is try($site, 'next', 'carl', host => 1, ip => '10.2.1.3'), 'active',
       'another one';
    is try($site, 'next2', 'dora', host => 1, ip => '10.2.1.4'), $MANY, 'one';
};


# Places and entry tokens are good for what was there before Redis lost it,
# whoever has come since.

# an event is listed with an operator's word or times, and not when they have ended

subtest 'settings that end' => sub {
    my $site = site('default threshold=5 unlisted=50;');
    my $events = sub { metrics($site->port)->value('unlisted_events') };

    for my $what ([ 'notice', { en => 'soon' } ],
                  [ 'schedule', { closes => '2099-01-01T00:00:00Z' } ])
    {
        my ($name, $body) = @$what;
        my $before = $events->();
        my $set = sub ($method, @more) {
            local $site->{event} = "by-$name";
            return $site->admin($method => "$name/%s", @more)->status;
        };
        is $set->(PUT => json => $body), 200, "an operator's $name";
        is told(call($site, "by-$name", 'ann')), 'active', 'somebody is in';
        is $events->(), $before, 'it is named';
        is $set->('DELETE'), 200, 'which ends';
        ok((wait_until { call($site, "by-$name", 'ann', call => 'status');
                         $events->() == $before + 1 } 10), 'and it is not')
            or diag $events->();
    }
    $site->nginx(0)->stop;
};


subtest 'after a loss of data' => sub {
    my $site = site('default threshold=1 unlisted=3 restore_wait=1s;');

    my $ann = call($site, 'x', 'ann', ip => '10.0.0.1');
    my $ben = call($site, 'x', 'ben', ip => '10.0.0.2');
    is told($ann), 'active', 'ann is in';
    is told($ben), 'queued', 'ben waits';

    my %place = ('urr-queue-place-x' => $ben->cookie('urr-queue-place-x'));
    my %entry = ('urr-entry-token-x' => $ann->cookie('urr-entry-token-x'));

    $site->redis->flushall;
    ok((wait_until { counted($site) == 0 } 10), 'nobody is there')
        or diag counted($site);

    for my $n (1 .. 3) {
        is try($site, "y-$n", "u$n", ip => "10.0.1.$n"), 'active', "y-$n";
    }
    is try($site, 'y-4', 'u4', ip => '10.0.1.4'), $MANY, 'enough';
    is try($site, 'x', 'carl', ip => '10.0.1.5'), $MANY, 'of x, too';

    is try($site, 'x', 'ben', ip => '10.0.0.2', cookies => \%place), 'queued',
       'ben is back in line';
    is try($site, 'x', 'ann', ip => '10.0.0.1', cookies => \%entry), 'active',
       'ann is in';

    # who has left has no place any more
    call($site, 'x', 'ben', call => 'leave', ip => '10.0.0.2');
    call($site, 'x', 'ann', call => 'leave', ip => '10.0.0.1');
    ok((wait_until { counted($site) <= 3 } 10), 'x is empty');
    is try($site, 'x', 'ben', ip => '10.0.0.2', cookies => \%place), $MANY,
       'an old place is none';
};


# Other hosts' users, in full shares: who is in is told so all the same.

subtest 'in at another host' => sub {
    my $site = site('default threshold=5 unlisted=50;', instances => 2);

    for my $i (0, 1) {
        is try($site, "h$i-$_", 'ann', host => $i), 'active', "h$i-$_"
            for 1 .. 4;
        is try($site, "h$i-5", 'ann', host => $i), $MANY, 'enough';
    }
    ok((wait_until { counted($site, 0) == 8 && counted($site, 1) == 8 } 10),
       'both know all');

    for my $n (1 .. 4) {
        is try($site, "h0-$n", 'ann', host => 1), 'active', "h0-$n at host 1";
        is try($site, "h1-$n", 'ann', host => 0), 'active', "h1-$n at host 0";
    }
    is try($site, 'h2', 'ann', host => $_), $MANY, "nothing new at host $_"
        for 0, 1;
};


subtest 'what is not heard of any more' => sub {
    my $site = site('default threshold=5 active_ttl=8s seen_ttl=8s
                             claim_ttl=1s unlisted=6;');

    is try($site, "x-$_", 'ann'), 'active', "x-$_" for 1 .. 4;
    is try($site, 'x-5', 'ann'), $MANY, 'enough';
    is try($site, "y-$_", 'ben', ip => '10.0.0.2'), 'active', "y-$_"
        for 1 .. 2;
    is try($site, 'y-3', 'ben', ip => '10.0.0.2'), $MANY, 'for all';

    my $start = time;
    my ($kept, $free) = (1, 0);

    wait_until {
        $kept &&= try($site, 'x-1', 'ann', call => 'heartbeat') eq 'active';
        $free = try($site, 'x-5', 'ann') eq 'active';
    } 40;
    ok $free, 'three slots run out: another one';
    ok $kept, 'the fourth is kept by polls';

    ok((wait_until { counted($site) == 0 } 40), 'in the end nothing is left');
};


# A client that does not wait for the answer has joined all the same.

subtest 'clients that go away' => sub {
    my $site = site('default threshold=5 unlisted=20;');
    my $token = $site->user('eve');

    for my $n (1 .. 60) {
        my $c = Admission::HTTP->connect($site->port);
        $c->send("POST /api/queue/check/gone-$n HTTP/1.1\r\nHost: localhost\r\n"
                 . "X-Real-IP: 10.0.0.5\r\nAuthorization: Bearer $token\r\n"
                 . "Content-Length: 0\r\n\r\n");
        $c->close;
    }

    is try($site, 'gone-99', 'eve', ip => '10.0.0.6'), $MANY,
       'its share is taken' for 1 .. 2;
    my $in = grep { $site->redis->cmd('EXISTS', "{gone-$_}:active") } 1 .. 60;
    cmp_ok $in, '<=', 4, 'four events at most';
};


subtest 'a dry run' => sub {
    my $site = site('default threshold=5 unlisted=50;');

    is try($site, "x-$_", 'ann', api => '/dry'), 'active', "x-$_" for 1 .. 6;
    is refused($site, 'user'), 2, 'counted';
    is counted($site), 6, 'and so are they';
    like $site->nginx->error_log, qr/too many events .* dry run/, 'and logged';
    is try($site, 'x-7', 'ann'), $MANY, 'elsewhere it holds';
};


subtest 'reloads' => sub {
    my $site = site('default threshold=5 unlisted=4;');
    my $nginx = $site->nginx;
    my $lines = sub ($lines) {
        my $http = $site->http =~ s/admission_events \{.*?\}/admission_events { $lines }/sr;
        $nginx->reload(http => $http);
    };
    my $user = 0;
    my $new = sub ($event) {
        $user++;
        return try($site, $event, "u$user", ip => "10.0.0.$user");
    };

    is $new->("x-$_"), 'active', "x-$_" for 1 .. 4;
    is $new->('x-5'), $MANY, 'four';

    $lines->('default threshold=5 unlisted=5;');
    is counted($site), 4, 'four of five';
    is $new->('x-5'), 'active', 'a fifth';
    is $new->('x-6'), $MANY, 'five';

    $lines->('default threshold=5 unlisted=2;');
    is counted($site), 5, 'five of two';
    is $new->('x-6'), $MANY, 'too many';
    is $new->('x-5'), 'active', 'but for those that there are';

    $lines->('default threshold=5 unlisted=5; x-1; x-2;');
    is counted($site), 3, 'those with a line do not count';
    is $new->('x-1'), 'active', 'they go on';
    is counted($site), 3, 'as such';
    is $new->($_), 'active', $_ for qw(y-1 y-2);
    is $new->('y-3'), $MANY, 'five again';

    $lines->('default threshold=5 unlisted=5;');
    is counted($site), 7, 'without lines they do';
    is $new->('y-3'), $MANY, 'too many';

    # a zone of another size begins with what this one knows
    $site->{zone} = '2m';
    $lines->('default threshold=5 unlisted=5;');
    is counted($site), 7, 'as many in another zone';
    cmp_ok refused($site, 'events'), '>=', 5, 'what was refused';
    is $new->('y-3'), $MANY, 'too many still';

    # without a default line nothing is an event that nobody named
    $lines->('x-1;');
    is $new->('y-1'), '404 UNKNOWN_EVENT', 'no default line';
    ok((wait_until { counted($site) == 0 } 10), 'none of it counts')
        or diag counted($site);
};


subtest 'without any line' => sub {
    my $site = site('default;');
    my $http = $site->http =~ s/admission_events \{.*?\}//sr;
    $site->nginx->reload(http => $http);

    my @told = map { try($site, "x-$_", 'ann') } 1 .. 5;
    is_deeply \@told, [ ('active') x 4, $MANY ], 'any id is an event, of four';
};


subtest 'Redis goes and comes' => sub {
    my $site = site('default threshold=5 unlisted=10;', timeout => '3s');
    my $redis = $site->redis;

    is try($site, 'x-1', 'ann'), 'active', 'x-1';
    $redis->stop;

    my %told;
    for my $n (2 .. 30) {
        $told{ try($site, "x-$n", "u$n", ip => "10.0.1.$n") }++;
    }
    is_deeply [ grep { !/^503 / } keys %told ], [], 'nobody joins'
        or diag explain \%told;
    cmp_ok $told{'503 UNAVAILABLE'}, '>=', 10, 'Redis is why';

    $redis->restart;
    ok((wait_until { try($site, 'x-2', 'u2', ip => '10.0.1.2') eq 'active' }
        20), 'Redis is back');
    ok((wait_until { !grep { try($site, "x-$_", "u$_", ip => "10.0.1.$_")
                             ne 'active' } 3 .. 9 } 10),
       'what was asked for meanwhile does not count');
    ok((wait_until { try($site, 'x-3', 'u2', ip => '10.0.1.2') eq 'active' }),
       'nor of a share');
};


# Shares go first where the zone has no room for all of them; the bound on all
# events holds.

subtest 'a small zone' => sub {
    my $site = site('default threshold=1000 unlisted=20;', zone => '128k');

    my @wait;
    my $told = burst($site, { wait => \@wait },
                     map { [ 'e-' . $_ % 40, "u$_",
                             '10.' . ($_ >> 8) . '.1.' . $_ % 256 ] }
                     1 .. 2000);
    is_deeply [ sort keys %$told ], [ $MANY, 'active' ], 'as ever'
        or diag explain $told;
    ok((wait_until {
        @wait = grep { try($site, @$_[0, 1], ip => $_->[2]) ne 'active' } @wait;
        !@wait }), 'or a moment later') or diag explain \@wait;

    my $in = grep { $site->redis->cmd('EXISTS', "{e-$_}:active") } 0 .. 39;
    is $in, 20, 'twenty events have users';
    is counted($site), 20, 'as is known';
};

# Who joins and leaves one after the other fills neither Redis nor the list: what
# they leave stays for ten minutes.
subtest 'join, leave, the next one' => sub {
    my $s = Admission::Site->start(timeout => '5s',
                                   events => 'default threshold=5;
                                              listed threshold=5;');
    my %status;
    my $connection = Admission::HTTP->connect($s->port);

    for my $n (1 .. 200) {
        my $r = $connection->request(POST => "/api/queue/check/churn-$n",
                                     bearer => $s->user('mallory'));
        $status{ $r->status }++;
        $connection->request(POST => "/api/queue/leave/churn-$n",
                             bearer => $s->user('mallory'))
            if $r->status == 200;
    }
    is($status{200}, 32, 'so many of one user');
    is($status{503}, 168, 'the others are refused');
    is($connection->request(POST => '/api/queue/check/listed',
                            bearer => $s->user('mallory'))->status, 200,
       'what has a line is not');
    is($connection->request(POST => '/api/queue/check/churn-1',
                            bearer => $s->user('mallory'))->status, 200,
       'nor one that there was before');
};


# Beacons of others do not keep a user's share from ending.
subtest 'shares end, whatever others do' => sub {
    my $s = Admission::Site->start(
        timeout => '5s',
        events => 'default threshold=5 active_ttl=8s seen_ttl=8s
                           claim_ttl=2s;');
    my $join = sub ($user, $id) {
        return request($s->port, POST => "/api/queue/check/$id",
                       bearer => $s->user($user))->status;
    };

    is($join->('ann', "own-$_"), 200, "own-$_") for 1 .. 4;
    is($join->('ann', 'own-5'), 503, 'not a fifth one');

    my $n = 0;
    ok((wait_until {
        $n++;
        $join->("other-$n", "beacon-$n");
        request($s->port, POST => "/api/queue/leave/beacon-$n?beacon=1",
                bearer => $s->user("other-$n"));
        sleep 0.05;
        $join->('ann', 'own-5') == 200;
    } 30), 'a fifth one, when the others have ended');
};

done_testing;
