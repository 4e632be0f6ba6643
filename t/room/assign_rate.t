# assign_rate= and visitor_rate=: what one address may make anew on a host,
# tickets and visitors, whatever it does, and nothing that others notice.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max min sum);
use Time::HiRes qw(sleep time);

use Admission::HTTP;
use Admission::HTTP2;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Redis;
use Admission::Site;

my %opt = (
    workers => 2,
    timeout => '5s',
    connections => 4096,
    events => 'default vwr_rate=0 threshold=1000000; off vwr=off;',
    server => <<'END',
        listen              127.0.0.1:%%PORT_h2%% http2;
        keepalive_requests  1000000;
        set_real_ip_from    127.0.0.1;
        real_ip_header      X-Address;

        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /page/          { admission_page tier1; }
        location = /metrics      { admission_metrics; }

        location /five/  { admission_vwr_api assign_rate=1r/h burst=5;
                           admission_cors https://shop.example; }
        location /same/  { admission_vwr_api burst=5 assign_rate=1r/h; }
        location /six/   { admission_vwr_api assign_rate=1r/h burst=6; }
        location /fast/  { admission_vwr_api assign_rate=120r/m burst=1; }
        location /off/   { admission_vwr_api assign_rate=off; }
        location /trial/ { admission_vwr_api assign_rate=1r/h burst=2;
                           admission_dry_run on; }

        location /if/ {
            admission_vwr_api assign_rate=2r/h burst=1;
            if ($arg_inside) { set $inside 1; }
        }

        location /bypass/ {
            admission_vwr_api assign_rate=3r/h burst=1;
            admission_bypass  1;
        }

        location /edge/ {
            admission_vwr_api       assign_rate=4r/h burst=1;
            admission_trusted_edge  X-Edge secret-of-the-edge-0123456789abcdef;
        }

        location /visitors/ {
            admission_user visitor;
            admission_queue_api;
        }

        location /two/ {
            admission_user visitor;
            admission_queue_api visitor_rate=1r/h burst=2;
        }

        location /two/user/ {
            admission_user jwt;
            admission_queue_api visitor_rate=1r/h burst=2;
        }

        location /two/trial/ {
            admission_user visitor;
            admission_dry_run on;
            admission_queue_api visitor_rate=1r/h burst=2;
        }

        location /free/ {
            admission_user visitor;
            admission_queue_api visitor_rate=off;
        }
END
    http => <<'END',
    server {
        listen            127.0.0.1:%%PORT_pages%%;
        set_real_ip_from  127.0.0.1;
        real_ip_header    X-Address;

        location /page/    { admission_page tier1; }
        location /a/       { admission_vwr_api; }
        location /vwr-api/ { admission_vwr_api assign_rate=1r/h burst=3; }
        location /b/       { admission_vwr_api assign_rate=1r/h burst=9; }
    }

    server {
        listen            127.0.0.1:%%PORT_only%%;
        location /page/   { admission_page tier1; }
    }
END
);

my $site = Admission::Site->start(%opt);
my ($nginx, $port) = ($site->nginx, $site->port);

activate($_) for 'concert', 'http2', 'other';

sub activate ($event) {
    is request($port, POST => "/api/admin/vwr/activate/$event",
               bearer => $Admission::Site::SECRETS{admin})->status, 200,
        "(operator: $event)";
}

# an address that no other part of this test has

sub address () {
    state $n = 0;
    $n++;
    return sprintf '10.%d.%d.%d', $n / 65536, $n / 256 % 256, $n % 256;
}

sub from ($address, $method, $path, %opt) {
    my @headers = @{ delete $opt{headers} // [] };
    return request($opt{port} // $port, $method, $path, %opt,
                   headers => [ 'X-Address' => $address, @headers ]);
}

sub assign ($address, $path = 'five', %opt) {
    return from($address, POST => "/$path/assign/concert", %opt);
}

sub join_as ($address, $path = 'two', %opt) {
    return from($address, POST => "/$path/check/concert", %opt);
}

sub issued ($event = 'concert') {
    return get($port, "/vwr-api/status/$event")->json->{totalInQueue};
}

sub counted ($rate, $decision) {
    return metrics($port)->value('address_rate_decisions_total', rate => $rate,
                                 decision => $decision);
}

# What a client does at full speed, over several connections at once, for so
# long, and until some of it has to be refused: how often each status came, and
# in which time.

sub flood ($bytes, %opt) {
    my @connections = map { Admission::HTTP->connect($port) } 1 .. 8;
    my $start = time;
    my ($batch, %status) = ($bytes x 50);

    do {
        $_->send($batch) for @connections;

        for my $connection (@connections) {
            $status{$connection->response('POST')->status}++ for 1 .. 50;
        }

        $opt{meanwhile}->() if $opt{meanwhile};

    } while (time - $start < $opt{seconds}
             || sum(values %status) < most(time - $start) + 100);

    return (\%status, time - $start);
}

# What the code returns, once all of it took less than so many seconds.

sub within ($seconds, $code) {
    my ($start, @answers);

    for (1 .. 20) {
        $start = time;
        @answers = $code->();
        last if time - $start < $seconds;
    }

    return @answers;
}

# the most that there may have been by then, and what all clocks may be off by

sub most ($seconds) { return 500 + 50 * ($seconds + 0.1) }


subtest 'one client at full speed' => sub {
    my ($attacker, @others) = map { address } 0 .. 1000;
    my ($worst, $bad) = (0, 0);

    my ($status, $seconds) = flood(
        Admission::HTTP::compose(POST => '/vwr-api/assign/concert',
                                 headers => [ 'X-Address' => $attacker ]),
        seconds => 3,
        meanwhile => sub {
            my $r = assign(shift(@others) // address, 'vwr-api');
            $bad++ if $r->status != 200;
            $worst = max $worst, $r->json->{position} // 0;
        });

    note sprintf '%d tickets, %d refused in %.1f s', $status->{200},
                 $status->{429}, $seconds;

    cmp_ok $status->{200}, '<=', most($seconds), 'never more than its rate';
    cmp_ok $status->{200}, '>=', 500, 'and no less than its burst';
    cmp_ok $status->{429}, '>', 0, 'the others are 429';
    is keys %$status, 2, 'there is no other answer';
    is $bad, 0, 'another address is not refused';
    cmp_ok $worst, '<=', most($seconds) + 1000 - @others,
        'and comes behind few';
    is issued(), $status->{200} + 1001 - @others - ($worst ? 1 : 0),
        'a refusal costs no position';
};


subtest 'one client over HTTP/2' => sub {
    my $attacker = address;
    my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
    my $start = time;
    my $stream = 1;

    $h2->frame(Admission::HTTP2::WINDOW_UPDATE, 0, 0, pack 'N', 1 << 30);

    for (1 .. 15) {
        my @streams = map { 2 * $_ + $stream } 0 .. 79;
        $stream += 160;

        $h2->headers($_, POST => '/vwr-api/assign/http2',
                     headers => [ 'x-address' => $attacker ]) for @streams;
        $h2->body($_) for @streams;
    }

    my $issued = issued('http2');

    cmp_ok $issued, '<=', most(time - $start), 'never more than its rate';
    cmp_ok $issued, '>=', 500, 'and no less than its burst';
};


subtest 'the answer' => sub {
    my $address = address;
    my $before = issued();

    is join(' ', map { assign($address)->status } 1 .. 6),
        '200 200 200 200 200 429', 'a burst';
    is issued(), $before + 5, 'so many tickets';

    my $r = assign($address, 'five',
                   headers => [ Origin => 'https://shop.example' ]);
    my $n = $r->header('Retry-After');

    is $r->status, 429, 'over it';
    is $r->body, '{"error":"Too many requests","code":"RATE_LIMITED",'
                 . qq("retryAfter":$n}), 'the body';
    ok $n > 3500 && $n <= 3600, 'the time until there is room again';
    is $r->header('Cache-Control'), 'no-store', 'not to be stored';
    is $r->header('Access-Control-Allow-Origin'), 'https://shop.example',
        'pages of the site may read it';
    is scalar $r->header('Set-Cookie'), undef, 'no visitor, no ticket';

    is assign($address, 'same')->status, 429,
        'a place with the same terms: the same bucket';
    is assign($address, 'six')->status, 200, 'of other terms: another one';
    is assign($address, 'off')->status, 200, 'off: none';
    is from($address, POST => '/five/assign/other')->status, 429,
        'it is one for all events';

    # what lets pass is of the tiers, and a condition is no other location

    for my $case ([ 'if' ], [ 'if', '?inside=1' ], [ 'bypass' ],
                  [ 'edge', '', 'X-Edge'
                            => 'secret-of-the-edge-0123456789abcdef' ])
    {
        my ($path, $query, @headers) = @$case;
        my $address = address;

        is join(' ', map { from($address,
                                POST => "/$path/assign/concert$_",
                                headers => \@headers)->status }
                     '', $query // ''),
            '200 429', "/$path/" . ($query // '');
    }

    # what it says is true

    $r = (within(0.4, sub {
        $address = address;
        return map { assign($address, 'fast') } 1, 2;
    }))[1];

    is $r->status, 429, 'over a faster rate';
    is $r->json->{retryAfter}, 1, 'at least 1';

    is join(' ', within(1.4, sub {
        sleep 1;
        return map { assign($address, 'fast')->status } 1, 2;
    })), '200 429', 'by then there is room, for one';
};


subtest 'addresses' => sub {
    for my $case ([ '2001:db8::1', '2001:db8::ffff:1', 429, 'of one /64' ],
                  [ '2001:db8::1', '2001:db8:0:1::1', 200, 'of another' ],
                  [ '192.0.2.77', '::ffff:192.0.2.77', 429, 'mapped' ],
                  [ '192.0.2.78', '192.0.2.79', 200, 'another one' ])
    {
        my ($first, $second, $status, $name) = @$case;

        assign($first) for 1 .. 6;
        is assign($second)->status, $status, "$second: $name";
    }
};


subtest 'what is free' => sub {
    my $address = address;
    my $key = [ 'Idempotency-Key' => 'key-of-a-call-0001' ];

    my $first = assign($address, 'five', headers => $key);
    my $jar = { map { $_ => $first->cookies->{$_}{value} }
                keys $first->cookies->%* };
    my $ticket = $first->json->{requestId};

    is assign($address, 'five', headers => $key)->json->{requestId}, $ticket,
        'a repeated call' for 1 .. 6;
    is assign($address, 'five', cookies => $jar)->json->{requestId}, $ticket,
        'a ticket shown' for 1 .. 6;
    is from($address, POST => '/five/assign/off')->json->{code},
        'VWR_INACTIVE', 'an inactive waiting room' for 1 .. 6;
    is assign($address, 'five', body => '[')->status, 400, 'a bad body'
        for 1 .. 6;
    is assign($address, 'five', headers => [ 'Sec-Purpose' => 'prefetch' ])
        ->status, 403, 'ahead of time' for 1 .. 6;
    is from($address, $_ => '/five/assign/concert')->status, 405, $_
        for qw(HEAD GET PUT) x 2;
    is assign($address, 'five', headers => [ Origin => 'http://x.invalid' ])
        ->status, 403, 'another site' for 1 .. 6;

    is join(' ', map { assign($address)->status } 1 .. 5),
        '200 200 200 200 429', 'the first and four more';

    is assign($address, 'five', headers => $key)->json->{requestId}, $ticket,
        'then a repeated call, still free';
    is assign($address, 'five', cookies => $jar)->json->{requestId}, $ticket,
        'and a ticket shown';
    is assign($address, 'five', cookies => $jar,
              headers => [ 'Idempotency-Key' => 'key-of-a-call-0002' ])
        ->json->{requestId}, $ticket, 'with a key, too';

    # a refusal is no answer to be repeated

    my $n = 3;

    is +(within(0.4, sub {
        $address = address;
        $key = [ 'Idempotency-Key' => sprintf 'key-of-a-call-%04d', $n++ ];
        assign($address, 'fast');
        return assign($address, 'fast', headers => $key);
    }))[0]->status, 429, 'refused with a key';
    ok wait_until { assign($address, 'fast', headers => $key)->status == 200 },
        'later not';
};


# Keys of refused calls would push those of others out.

subtest 'refused keys take no room' => sub {
    my ($honest, $attacker) = (address, address);
    my $key = [ 'Idempotency-Key' => 'honest-key-000001' ];
    my $ticket = assign($honest, 'five', headers => $key)->json->{requestId};

    assign($attacker) for 1 .. 5;

    my $connection = Admission::HTTP->connect($port);

    for my $i (1 .. 400) {          # 1m has room for 128
        my $r = $connection->request(
            POST => '/five/assign/concert',
            headers => [ 'X-Address' => $attacker,
                         'Idempotency-Key' => sprintf 'attack-%020d', $i ]);
        $r->status == 429 or fail "key $i: " . $r->status;
    }

    is assign($honest, 'five', headers => $key)->json->{requestId}, $ticket,
        'the answer is still known';
};


subtest 'without JavaScript' => sub {
    my $address = address;
    my $pages = $nginx->port('pages');

    my $page = sub ($port, $address, $path = '/page/concert?nojs=1') {
        return from($address, GET => $path, port => $port,
                    headers => [ Accept => 'text/html',
                                 'Sec-Fetch-Mode' => 'navigate' ]);
    };

    is join(' ', map { $page->($pages, $address)->status } 1 .. 4),
        '200 200 200 429', 'by what the server says first, of those that do';
    is from($address, POST => '/vwr-api/assign/concert', port => $pages)
        ->status, 429, 'the same bucket as that of the API';
    is from($address, POST => '/a/assign/concert', port => $pages)->status,
        200, 'and not that of another one';

    my $r = $page->($pages, $address);
    my ($seconds, $url) = $r->header('Refresh') =~ /^(\d+); url=(.*)/;

    is $r->status, 429, 'refused';
    like $r->body, qr/<main class="crowded">/, 'the page says so';
    like $r->body, qr/Many people.*네트워크/s, 'in both languages';
    ok $r->header('Retry-After') > 3500, 'Retry-After';
    ok $seconds >= $r->header('Retry-After'), 'comes again not before';
    is $url, '?nojs=1', 'as it came';
    is scalar $r->header('Set-Cookie'), undef, 'no ticket';

    my %seconds = map { $page->($pages, $address)->header('Refresh') => 1 }
                  1 .. 20;
    cmp_ok keys %seconds, '>', 1, 'not all at once';

    # with the default; none that the server has says anything

    my $only = $nginx->port('only');
    my $bad = 0;

    $page->($only, '')->status == 200 or $bad++ for 1 .. 20;
    is $bad, 0, 'a server without the API: the default';
};


subtest 'visitors' => sub {
    my $before = counted('visitor_rate', 'allowed');

    my ($status, $seconds) = flood(
        Admission::HTTP::compose(POST => '/visitors/check/concert',
                                 headers => [ 'X-Address' => address ]),
        seconds => 1);

    note sprintf '%d visitors, %d refused in %.1f s', $status->{200},
                 $status->{429}, $seconds;

    cmp_ok sum(values %$status), '>=', 400, 'made-up visitors';
    cmp_ok $status->{200}, '<=', most($seconds), 'never more than the rate';
    is keys %$status, 2, 'there is no other answer';
    is $site->redis->cmd('ZCARD', '{concert}:active'), $status->{200},
        'so many slots';
    is counted('visitor_rate', 'allowed') - $before, $status->{200},
        'as metrics count them';

    my $address = address;
    my $first = join_as($address);
    my $visitor = { 'admission-visitor' =>
                    $first->cookies->{'admission-visitor'}{value} };

    is $first->status, 200, 'one is made';
    is join_as($address, 'two', cookies => $visitor)->status, 200,
        'and comes again' for 1 .. 4;
    is join_as($address, 'two', body => '[')->status, 400, 'a bad body'
        for 1 .. 4;
    is from($address, GET => '/two/status/concert')->status, 401,
        'a question' for 1 .. 4;
    is from($address, POST => '/two/heartbeat/concert')->status, 401,
        'a heartbeat' for 1 .. 4;
    is join_as($address, 'two/user')->status, 401, 'nobody signed in'
        for 1 .. 4;
    is join_as($address, 'two/user', bearer => $site->user("u$_"))->status,
        200, 'who is signed in' for 1 .. 4;

    is join(' ', map { join_as($address)->status } 1 .. 2), '200 429',
        'one more, and no other';

    my $r = join_as($address);

    is $r->json->{code}, 'RATE_LIMITED', 'the code';
    is $r->json->{retryAfter}, $r->header('Retry-After'), 'the time';
    is scalar $r->header('Set-Cookie'), undef, 'no visitor';

    is join_as($address, 'two', cookies => $visitor)->status, 200,
        'who was made before comes in';
    is join_as($address, 'free')->status, 200, 'off: none is refused';
    is assign($address)->status, 200, 'tickets have a bucket of their own';
};


subtest 'a dry run' => sub {
    my $address = address;
    my $mark = $nginx->log_mark;
    my $before = counted('assign_rate', 'dry_run');

    is join(' ', map { assign($address, 'trial')->status } 1 .. 4),
        '200 200 200 200', 'tickets';
    is counted('assign_rate', 'dry_run') - $before, 2, 'counted';
    like $nginx->error_log($mark),
        qr/admission denied: assign_rate, event "concert", dry run/, 'logged';

    is join(' ', map { join_as($address, 'two/trial')->status } 1 .. 4),
        '200 200 200 200', 'visitors';
    is counted('visitor_rate', 'dry_run'), 2, 'counted';
};


subtest 'one address alone' => sub {
    my $site = Admission::Site->start(%opt);
    my ($nginx, $p) = ($site->nginx, $site->port);

    request($p, POST => '/api/admin/vwr/activate/concert',
            bearer => $Admission::Site::SECRETS{admin});

    my $refuse = sub ($n, @addresses) {
        my $connection = Admission::HTTP->connect($p);

        for my $i (1 .. $n) {
            $connection->request(
                POST => '/five/assign/concert',
                headers => [ 'X-Address' => $addresses[$i % @addresses] ]);
        }
    };
    my $alone = sub ($rate = 'assign_rate') {
        return metrics($p)->value('address_rate_one_address', rate => $rate);
    };

    $refuse->(5 * 4 + 160, map { "192.0.2.$_" } 1 .. 4);

    is $alone->(), 0, 'refusals of several';
    unlike $nginx->error_log, qr/realip/, 'are no news';

    $refuse->(500, '198.51.100.7');

    is $alone->(), 1, 'over half of one';
    is $alone->('visitor_rate'), 0, 'each rate by itself';
    is(() = $nginx->error_log =~
       /\[warn\].*198\.51\.100\.7, has over half.*"assign_rate".*realip/g, 1,
       'said once a minute');

    my $m = metrics($p);

    is join(' ', map { $m->value('address_rate_decisions_total',
                                 rate => 'assign_rate', decision => $_) }
                 qw(allowed limited dry_run)),
        '25 655 0', 'counted';
};


subtest 'reload' => sub {
    my $address = address;
    assign($address) for 1 .. 5;

    my $before = counted('assign_rate', 'allowed');

    $nginx->reload;
    is assign($address)->status, 429, 'keeps what was counted';

    for my $size ('2m', '256k') {
        $nginx->reload(http => $site->http =~ s/admission:1m/admission:$size/r);
        is assign($address)->status, 429, "a zone of $size: too";
        is counted('assign_rate', 'allowed'), $before, 'and metrics';
        is assign(address)->status, 200, 'another one';
        $before++;
    }
};


# In 64k there is room for 25.

subtest 'more addresses than there is room for' => sub {
    my $site = Admission::Site->start(%opt, zone => '64k');
    my ($redis, $p) = ($site->redis, $site->port);

    request($p, POST => '/api/admin/vwr/activate/concert',
            bearer => $Admission::Site::SECRETS{admin});

    my $connection = Admission::HTTP->connect($p);

    my $ask = sub ($address) {
        return $connection->request(POST => '/five/assign/concert',
                                    headers => [ 'X-Address' => $address ])
            ->status;
    };

    my $replaced = sub () {
        return metrics($p)->value('address_rate_replaced_total');
    };

    my $attacker = '192.0.2.1';
    $ask->($attacker) for 1 .. 5;

    my @status = map { $ask->(address) } 1 .. 300;

    is grep({ $_ != 200 } @status), 0, 'the first of each is a ticket';
    is $ask->($attacker), 429, 'who was full is not forgotten for them';
    cmp_ok $replaced->(), '>=', 250, 'those who had taken least went';

    # nor if all others are as full, before there are as many of them

    for my $address (map { address } 1 .. 20) {
        $ask->($address) for 1 .. 5;
    }

    is $ask->($attacker), 429, 'nor for others who take as much';

    # all of them are full: that is nobody else's fault

    for my $address (map { address } 1 .. 10) {
        is join(' ', map { $ask->($address) } 1 .. 6),
            '200 200 200 200 200 429', 'a new one has its burst';
    }
};


subtest 'Redis away' => sub {
    my $address = address;
    my $redis = $site->redis;

    $redis->stop;

    my %status;
    $status{assign($address)->status}++ for 1 .. 10;
    is_deeply \%status, { 503 => 10 }, 'no ticket, and nothing charged';

    $redis->restart;

    # each worker finds that out by itself, and its breaker closes with the
    # third good call: it is one connection, of a worker where it has

    my $connection;
    my $ask = sub ($address) {
        return $connection->request(POST => '/five/assign/concert',
                                    headers => [ 'X-Address' => $address ])
            ->status;
    };

    my $back = wait_until {
        $connection = Admission::HTTP->connect($port);
        !grep { $ask->(address) != 200 } 1 .. 4;
    } 10;
    ok $back, 'back again';
    is join(' ', map { $ask->($address) } 1 .. 6),
        '200 200 200 200 200 429', 'the burst is whole';

    $redis->stop;

    is assign($address)->status, 429, 'over it: 429, without Redis';
    is assign($address, 'six')->status, 503, 'and 503 within it';
};


done_testing;
