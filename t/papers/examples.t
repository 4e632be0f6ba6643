# What each of conf-examples/ is for: started as it stands, it is asked that.
# Others: migration.t, example_heads.t (queue, two-tiers), t/limit/example.t
# (rate-limits), example_cluster.t (redis-cluster-tls), toggle.t (active-events).

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $event = '3f0c2b1e-0000-4000-8000-000000000001';
my @page = (Accept => 'text/html');

my ($example, $port);

sub example ($name, %opt) {
    # or it would put back what it knows
    $example->nginx->quit if $example;

    $redis->flushall;
    $example = Admission::Example->start($name, redis => $redis,
                                         backend => $backend, %opt);
    $port = $example->port;
}

# status and code of the last answer

my $answer;

sub ask ($method, $path, %opt) {
    $answer = request($port, $method, $path, %opt);
    return join ' ', $answer->status,
                     ($answer->json // {})->{code} // ();
}

# the headers that the backend got, by names in lower case

sub seen ($name) {
    my %seen = map { lc $_->[0] => $_->[1] }
               @{ ($answer->json // {})->{headers} // [] };
    return $seen{$name};
}

sub user ($id, %claims) {
    return user_token($example->secret('user'), userId => $id, %claims);
}

sub entry ($user, $of = $event) {
    return entry_token($example->secret('tier2'), sub => $of, uid => $user);
}

# (headers) of a visitor whose turn in the waiting room has come

sub through ($api, $of) {
    my $ticket = post($port, "$api/assign/$of")->json;
    my @visitor = ('x-admission-visitor' => $ticket->{visitor});
    my $check;

    wait_until {
        $check = get($port, "$api/check/$of/$ticket->{requestId}",
                     headers => \@visitor)->json;
        $check->{admitted}
    } 20;

    return (@visitor, 'x-vwr-token' => $check->{token});
}


subtest 'sale: a sale with a time' => sub {
    example('sale');
    my @operator = (bearer => $example->secret('admin'));
    my $schedule = "/api/admin/vwr/schedule/$event";
    my $path = "/events/$event";

    is ask(GET => $schedule, @operator), 200, 'its times';
    is $answer->json->{schedule}{starts}, '2026-01-15T11:00:00Z', 'in UTC';
    is ask(PUT => $schedule, @operator,
           json => { opens => '2190-01-01T00:00:00+09:00' }), 200, 'later';
    is ask(GET => $path), '403 NOT_OPEN', 'nobody passes';
    is get($port, $path, headers => [ @page ])->header('Location'),
        "/vwr/$event?return=%2Fevents%2F$event", 'browsers wait';
    like get($port, "/vwr/$event?nojs=1", headers => [ @page ])->body,
        qr/Opens in.*>\d+:\d\d:\d\d</s, 'and see when';

    is ask(PUT => $schedule, @operator,
           json => { opens => '2026-01-01T00:00:00Z',
                     starts => '2190-01-01T00:00:00Z' }), 200, 'gathering';
    is ask(POST => "/vwr-api/assign/$event"), 200, 'tickets';
    is $answer->json->{servingCounter}, 0, 'and nobody is let in';
    is ask(GET => $path), '403 TIER1_REQUIRED', 'nobody passes';
    is ask(DELETE => $schedule, @operator), 200, 'as configured';
    my @through = through('/vwr-api', $event);
    is get($port, $path, headers => \@through)->status, 200, 'open';
};


subtest 'seats: a sale that ends' => sub {
    example('seats', change => [ qr/slots=1800/ => 'slots=2' ]);

    my @operator = (bearer => $example->secret('admin'));
    my $sale = '/api/queue/admin';
    my $slots = "$sale/slots/spring-concert";
    my %token = map {
        $_ => post($port, '/api/queue/check/spring-concert', bearer => user($_))
              ->json->{entryToken}
    } qw(ann ben);

    post($port, '/api/queue/check/spring-concert', bearer => user('cho'));
    is get($port, '/api/queue/status/spring-concert', bearer => user('cho'))
        ->json->{seats}, 0, 'who waits: all are with people inside';

    my $bought = post($port, '/api/reservations?header=X-Admission-Command:complete',
                      bearer => user('ann'),
                      headers => [ 'X-Queue-Entry-Token' => $token{ann} ]);

    is $bought->status, 200, 'one buys';
    is $bought->header('X-Admission-Command'), undef, 'which nobody else sees';
    wait_until { get($port, $slots, @operator)->json->{sold} == 1 } 20;
    is get($port, $slots, @operator)->json->{remaining}, 1, 'one is left';
    is post($port, "$sale/complete/spring-concert?user=ben", @operator)
        ->json->{remaining}, 0, 'another one, by a webhook';
    is get($port, '/api/queue/status/spring-concert', bearer => user('cho'))
        ->json->{status}, 'sold_out', 'who waits is told';
    is ask(POST => '/api/queue/check/spring-concert', bearer => user('dan')),
        '409 SOLD_OUT', 'nobody else joins';

    my $more = request($port, PUT => "$slots?slots=12", @operator);
    is $more->json->{remaining}, 10, 'ten more';
    ok wait_until {
        get($port, '/api/queue/status/spring-concert', bearer => user('cho'))
            ->json->{status} eq 'active' }, 'who waited is in';
};


subtest 'waiting-room: a legacy site' => sub {
    example('waiting-room');

    my @operator = (bearer => $example->secret('admin'));

    is ask(GET => '/a.php?x=1'), '200', 'nobody notices';
    is $answer->json->{uri}, '/a.php?x=1', 'the site is as ever';
    is ask(POST => '/vwr-admin/activate/site'), '401 ADMIN_REQUIRED',
        'not everybody can turn it on';
    is ask(POST => '/vwr-admin/activate/site', @operator), '200',
        'an operator can';

    wait_until { ask(GET => '/') ne '200' } 20;

    is ask(GET => '/'), '403 TIER1_REQUIRED', 'then one has to wait';
    is ask(GET => '/a.php?x=1', headers => \@page), '302', 'browsers, too';
    is $answer->header('Location'), '/vwr/site?return=%2Fa.php%3Fx%3D1',
        'on the page';
    is ask(GET => $answer->header('Location'), headers => \@page), '200',
        'which is there';
    like $answer->body, qr/Our site/, 'with its title';

    is ask(GET => $_), '200', "$_ needs no wait"
        for '/static/a.css', '/payment/callback', '/health';
    is ask(GET => $_), '403 TIER1_REQUIRED', "$_ does"
        for '/book/static/', '/a.css', '/payment/';

    my @through = through('/vwr-api', 'site');
    is ask(GET => '/a.php', headers => \@through), '200', 'one\'s turn comes';

    # 5 of them a second are, however long the test takes to ask for each

    my @open = map { Admission::HTTP->connect($port, timeout => 30) } 1 .. 100;

    $_->send(Admission::HTTP::compose(POST => '/vwr-api/assign/site')) for @open;
    ok scalar(grep { $_->response->status == 429 } @open),
        'numbers by the hundred are not given';

    is ask(POST => '/vwr-admin/deactivate/site', @operator), '200', 'off again';
    ok wait_until(sub { ask(GET => '/') eq '200' }, 20), 'and open';
};


subtest 'standby: a legacy site that seldom needs it' => sub {
    example('standby');

    my @operator = (bearer => $example->secret('admin'));
    my $standby = sub {
        ask(GET => '/vwr-admin/status/site', @operator);
        return $answer->json->{standby};
    };
    wait_until { $standby->() } 20;

    is ask(GET => '/a.php?x=1', headers => \@page), '200', 'nobody notices';
    is $answer->json->{uri}, '/a.php?x=1', 'the site is as ever';
    my $cookies = $answer->cookies;
    my %jar = map { $_ => $cookies->{$_}{value} } keys %$cookies;
    is ask(GET => '/a.gif', cookies => \%jar), '200', 'who passed goes on';
    is ask(GET => '/a.php'), '403 TIER1_REQUIRED', 'programs do not pass';
    is ask(GET => $_), '200', "$_ needs no wait"
        for '/static/a.css', '/payment/callback', '/health';
    is ask(POST => '/vwr-admin/deactivate/site', @operator),
        '409 SET_BY_CONFIG', 'nobody can turn it off';
};


# What some backend takes for the event, or for the path that is gated, and
# what is not to get past the gate by that.

my @spellings = map { my ($before, $after) = @$_; sub ($id) { "$before$id$after" } }
    [ '', ';x=1' ], [ '', '%3bx' ], [ '', '%20' ], [ '%20', '' ], [ '', '.json' ],
    [ '', '%09' ], [ '%0a', '' ], [ '', '%c2%a0' ], [ '%7b', '%7d' ], [ '"', '"' ],
    [ '', '.' ], [ '', '%00x' ], [ '', '%23' ], [ '', ',1' ], [ 'x', '' ], [ '', 'x' ];

sub others ($gated, $id, @who) {
    my %passed;

    for my $path (map({ "$gated/" . $_->($id) } @spellings),
                  $id =~ tr/-//dr =~ s{^}{$gated/}r,
                  "$gated/3f0c2b1e-0-4000-8000-1",
                  "$gated/" . '0' x 75, "$gated/%EC%BD%98%EC%84%9C%ED%8A%B8",
                  $gated =~ s{(?<=.)/|$}{;v=1/}r . "/$id",
                  "/static/..;$gated/$id", "/static/..%5c$gated/$id",
                  "/x;$gated/$id")
    {
        my $told = ask(GET => $path, @who);
        $passed{$path} = $told if $told !~ /^40[034]/;
    }

    is_deeply \%passed, {}, "$gated: no other spelling" or diag explain \%passed;
}

for my $case ([ cdn => '/events', '/api/seats' ],
              [ migration => '/events', '/queue', '/api/seats',
                             '/api/seats/events' ],
              [ 'two-tiers' => '/events', '/api/seats', '/api/v1/seats' ],
              [ spa => '/v1/seats' ], [ 'active-events' => '/events',
                                        '/api/seats' ])
{
    my ($name, @gated) = @$case;

    subtest "$name: other spellings" => sub {
        example($name);
        my @ann = (bearer => user('ann'), cookies => {
            'urr-entry-token' => entry('ann') });

        others($_, $event, @ann) for @gated;
        isnt ask(GET => "$_/" . uc $event, @ann), '404 INVALID_EVENT',
            "$_: upper case" for @gated;
        isnt ask(GET => "$_/$event/x;y=1", @ann), '404 INVALID_EVENT',
            "$_: more behind it" for grep { $name ne 'cdn' && $name ne 'migration' }
                                     @gated;
    };
}

for my $name (qw(queue observability failing-backends)) {
    subtest "$name: other spellings" => sub {
        example($name);
        others('/api/seats', 'spring-concert', bearer => user('ann'),
               cookies => { 'urr-entry-token' => entry('ann',
                                                       'spring-concert') });
    };
}

subtest 'waiting-room, visitors: path parameters' => sub {
    for my $name (qw(waiting-room visitors)) {
        example($name);
        is ask(GET => $_), '404', "$name: $_"
            for '/static/..;/book', '/shop;v=1/cart', '/x/..;/shop/cart',
                '/static/..%5cbook', '/%3b/x';
    }
};


subtest 'identity-service: keys of an identity service' => sub {
    my $key = Admission::Keys->new('P-256', kid => 'key');
    my $identity = Admission::Example::identity($key);
    my @ann = (bearer => Admission::Example::token_by($key, 'ann'));

    example('identity-service',
            backend => { 3001 => $identity, 3002 => $backend });

    is ask(POST => '/api/queue/check/spring-concert'), '401 USER_REQUIRED',
        'who has no token';

    # an answer may take longer than anybody waits for it
    wait_until { ask(POST => '/api/queue/check/spring-concert', @ann) eq '200' }
        20;
    is $answer->status, 200, 'who has one';
    my $entry = $answer->json->{entryToken};

    is ask(POST => '/api/reservations', @ann,
           headers => [ 'X-Queue-Entry-Token' => $entry ]), '200', 'books';
    is seen('x-user-id'), 'ann', 'by name';

    my $operate = '/api/queue/admin/threshold/spring-concert';
    is ask(PUT => "$operate?threshold=3", @ann), '403 FORBIDDEN',
        'no operator';
    is ask(PUT => "$operate?threshold=3", bearer =>
           Admission::Example::token_by($key, 'op', 'admin')), '200',
        'one by a role';

    # what it has had is good while the service is away, and on disk after NGINX
    # has been started anew

    is $identity->hits, 1, 'asked once';
    $identity->stop;
    $example->nginx->quit;
    $example->nginx->start_again;

    my $bob = Admission::Example::token_by($key, 'bob');

    wait_until { ask(POST => '/api/queue/check/spring-concert',
                     bearer => $bob) eq '200' } 20;
    is $answer->status, 200, 'a new user, by keys of before';
};


subtest 'auth-request: who the gateway says' => sub {
    my $gateway = Admission::Example::identity(
        Admission::Keys->new('P-256', kid => 'key'));
    my @ann = (cookies => { session => 'ann' });

    example('auth-request',
            backend => { 3001 => $gateway, 3002 => $backend });

    is ask(GET => '/api/seats/spring-concert'), '401', 'nobody';
    is ask(GET => '/queue/spring-concert', headers => \@page), '302',
        'a browser';
    is $answer->header('Location'),
        '/oauth2/sign_in?rd=/queue/spring-concert', 'is sent to sign in';
    is ask(GET => '/api/seats/spring-concert', @ann), '403 TIER2_REQUIRED',
        'who has signed in';
    is ask(POST => '/api/queue/check/spring-concert', @ann), '200', 'joins';

    my $entry = $answer->json->{entryToken};
    my @shown = (headers => [ 'X-Queue-Entry-Token' => $entry ]);

    is ask(GET => '/api/seats/spring-concert', @ann, @shown), '200',
        'and comes in';
    is seen('x-user-id'), 'ann', 'by name';
    is ask(GET => '/api/seats/spring-concert', @shown,
           cookies => { session => 'bob' }), '403 TIER2_REQUIRED',
        'nobody else by that token';
    is ask(GET => '/api/seats/spring-concert', @shown, headers =>
           [ @{ $shown[1] }, 'X-User-Id' => 'ann',
             'X-Auth-Request-User' => 'ann' ]), '401', 'nor by saying so';
    is ask(GET => '/gateway/auth', @ann), '404', 'which is asked by NGINX alone';

    my $operate = '/api/queue/admin/threshold/spring-concert?threshold=3';
    is ask(PUT => $operate, @ann), '401 ADMIN_REQUIRED', 'no operator';
    is ask(PUT => $operate, bearer => $example->secret('admin')), '200',
        'one by the secret';
};


subtest 'visitors: a site without accounts' => sub {
    example('visitors', change => [ qr/threshold=200/ => 'threshold=2' ]);

    is ask(GET => '/'), '200', 'open to all';
    is ask(GET => '/shop/cart', headers => \@page), '302', 'the shop is not';
    is $answer->header('Location'), '/queue/shop?return=%2Fshop%2Fcart',
        'to the queue';
    is ask(GET => '/queue/shop', headers => \@page), '200', 'its page';

    my @jars;

    for my $n (1 .. 3) {
        is ask(POST => '/api/queue/check/shop'), '200', "visitor $n";
        is $answer->json->{status}, $n < 3 ? 'active' : 'queued',
            $n < 3 ? 'is in' : 'waits';

        my $set = $answer->cookies;
        push @jars, { map { $_ => $set->{$_}{value} } keys %$set };
    }

    is ask(GET => '/shop/cart', cookies => $jars[0]), '200', 'who is in shops';
    ok seen('x-user-id'), 'the shop is told who';
    is seen('x-admission-event'), 'shop', 'and for what';
    is ask(GET => '/shop/cart', cookies => $jars[2]), '403 TIER2_REQUIRED',
        'who waits does not';

    my %mixed = (%{ $jars[0] },
                 'admission-visitor' => $jars[1]{'admission-visitor'});
    is ask(GET => '/shop/cart', cookies => \%mixed), '403 TIER2_REQUIRED',
        'nor with another\'s token';
    is ask(GET => '/api/queue/admin/shop', bearer => $example->secret('admin')),
        '200', 'the operator sees';
    is "@{ $answer->json }{qw(currentUsers queueSize)}", '2 1', 'three';
};


subtest 'cdn: a trusted edge' => sub {
    example('cdn');

    my @operator = (bearer => $example->secret('admin'));
    my @edge = ('X-Edge-Auth' => $example->secret('edge'),
                'X-Forwarded-For' => '203.0.113.9');

    is ask(POST => "/api/admin/vwr/activate/$event", @operator), '200',
        'the waiting room is on';
    wait_until { ask(GET => "/events/$event") ne '200' } 20;

    is ask(GET => "/events/$event"), '403 TIER1_REQUIRED',
        'at the origin\'s address one waits';
    is ask(GET => "/events/$event", headers => \@edge), '200',
        'what the CDN checked is not checked again';
    is seen('x-edge-auth'), undef, 'the site is not told the secret';
    is ask(GET => "/events/$event",
           headers => [ 'X-Edge-Auth' => 'x', @edge ]),
        '403 TIER1_REQUIRED', 'nobody can add to what the CDN sends';
    is ask(GET => '/static/a.css'), '200', 'what the CDN keeps';
    is $answer->header('Cache-Control'), undef, 'is not made private';

    is ask(GET => "/api/seats/$event", headers => \@edge,
           bearer => user('ann')), '403 TIER1_REQUIRED',
        'booking needs tokens, of both tiers';

    my @ann = (bearer => user('ann'),
               headers => [ @edge, 'x-queue-entry-token' => entry('ann') ]);

    is ask(GET => "/api/seats/$event", @ann), '200', 'who is in books';
    is seen('x-user-id'), 'ann', 'as the one who it is';

    is ask(POST => "/vwr-api/assign/$event", headers => \@edge), '200',
        'the CDN\'s clients take numbers';
    is $answer->cookies->{'admission-visitor'}{attributes}{secure}, 1,
        'with cookies of https';

    my $line = qr{^203\.0\.113\.9 .*verdict=bypass "trusted edge"}m;
    wait_until { $example->log =~ $line } 10;
    like $example->log, $line, 'the log has the client, and why';
    unlike $example->log . $example->nginx->error_log, qr/edge-secret/,
        'but not the secret';
};


subtest 'spa: CORS and apps' => sub {
    example('spa');

    my $origin = 'https://shop.example';
    my @cors = (Origin => $origin, 'Sec-Fetch-Mode' => 'cors',
                'Sec-Fetch-Site' => 'same-site');
    my @preflight = (Origin => $origin,
                     'Access-Control-Request-Method' => 'POST',
                     'Access-Control-Request-Headers' => 'authorization');

    my $allowed = sub {
        return join ' ', map { my @values = $answer->header(
                                   "Access-Control-Allow-$_"); "@values" }
                         qw(Origin Credentials);
    };

    is ask(OPTIONS => "/v1/$_", headers => \@preflight), '204', "preflight: $_"
        and is $allowed->(), "$origin true", "preflight: $_: allowed"
        for "seats/$event", 'reservations', "queue/check/$event",
            "vwr/assign/$event";
    like $answer->header('Access-Control-Allow-Headers'), qr/authorization/i,
        'with the headers of apps';

    is ask(GET => "/v1/seats/$event", headers => [ @cors, @page ]),
        '401 USER_REQUIRED', 'a denial is JSON, whoever asks';
    is $allowed->(), "$origin true", 'that the page can read';

    is ask(GET => "/v1/seats/$event",
           headers => [ Origin => 'https://evil.example' ]),
        '401 USER_REQUIRED', 'another origin';
    is $allowed->(), ' ', 'cannot';
    ask(OPTIONS => "/v1/seats/$event", headers => [
        Origin => 'https://evil.example', @preflight[2 .. 5] ]);
    is $allowed->(), ' ', 'nor its preflight';

    # a page, with cookies

    my %jar = (access_token => user('ann'));

    is ask(POST => "/v1/queue/check/$event", cookies => \%jar,
           headers => \@cors), '200', 'a page joins';
    is $allowed->(), "$origin true", 'and reads the answer';

    my $set = $answer->cookies;
    $jar{$_} = $set->{$_}{value} for keys %$set;

    is ask(POST => '/v1/reservations', cookies => \%jar, headers => \@cors),
        '200', 'and books';
    is $allowed->(), "$origin true", 'and reads the backend\'s answer';
    is ask(POST => "/v1/queue/leave/$event", cookies => \%jar, headers =>
           [ Origin => 'https://evil.example',
             'Sec-Fetch-Site' => 'cross-site' ]), '403 CROSS_SITE',
        'no other page does it in its name';

    # an app, with headers

    is ask(POST => "/v1/queue/check/$event", bearer => user('ben')), '200',
        'an app joins';
    is ask(POST => '/v1/reservations', bearer => user('ben'), headers =>
           [ 'x-queue-entry-token' => $answer->json->{entryToken} ]), '200',
        'and books';
    is $allowed->(), ' ', 'without CORS';

    my $operator = user('op', role => 'admin');
    is ask(POST => "/v1/admin/vwr/activate/$event", bearer => $operator),
        '200', 'the waiting room is on';
    wait_until { ask(POST => "/v1/queue/check/$event",
                     bearer => user('cho')) ne '200' } 20;
    is ask(POST => "/v1/queue/check/$event", bearer => user('dan')),
        '403 TIER1_REQUIRED', 'then joining needs its token';

    my @through = through('/v1/vwr', $event);
    is ask(POST => "/v1/queue/check/$event", bearer => user('dan'),
           headers => \@through), '200', 'which an app sends by headers';
};


subtest 'failing-backends' => sub {
    my $up = Admission::Backend->start;
    my $down = Admission::Backend->start;

    example('failing-backends', backend => { 3002 => $down, 3003 => $up });

    my @ann = (bearer => user('ann'), headers => [
               'x-queue-entry-token' => entry('ann', 'spring-concert') ]);

    $down->stop;
    is ask(GET => '/api/seats/spring-concert', @ann), '200',
        "one is down: request $_" for 1 .. 8;
    is ask(POST => '/api/reservations', @ann), '200', 'a POST, too';

    is ask(GET => '/api/seats/spring-concert?status=503&body=busy', @ann),
        '503', 'what a backend says itself';
    is $answer->body, 'busy', 'is what the client gets';

    $up->stop;
    is ask(POST => '/api/reservations', @ann), '503 BACKEND_UNAVAILABLE',
        'both are down: JSON';
    is $answer->header('Retry-After'), $answer->json->{retryAfter},
        'that says when';
    is $answer->header('Content-Type'), 'application/json', 'as JSON';
    is $answer->header('Cache-Control'), 'no-store', 'not to be stored';

    is ask(GET => '/api/events'), '503 BACKEND_UNAVAILABLE',
        'where there is no gate';
    is ask(POST => '/api/reservations'), '401 USER_REQUIRED',
        'a refusal is one';
    is ask(POST => '/api/reservations', bearer => user('ben')),
        '403 TIER2_REQUIRED', 'of any kind';
    is ask(POST => '/api/queue/check/spring-concert', bearer => user('ben')),
        '200', 'and the queue goes on';
};


subtest 'observability' => sub {
    example('observability');

    my $other = $example->nginx->port('other');

    is ask(GET => '/api/seats/spring-concert'), '401 USER_REQUIRED',
        'a refusal';
    is ask(GET => '/api/seats/spring-concert', bearer => user('ann'), headers =>
           [ 'x-queue-entry-token' => entry('ann', 'spring-concert'),
             'X-A' => '"b"' ]), '200', 'a pass';

    # it is written after the answer

    wait_until { 2 <= (() = $example->log =~ /\n/g) } 10;

    my @lines = map { json_decode($_) } split /\n/, $example->log;

    is_deeply [ map { "$_->{verdict} $_->{reason} $_->{event} $_->{client}" }
                    @lines ],
        [ 'user no user spring-concert ip:127.0.0.1',
          'pass  spring-concert user:ann' ], 'the log is JSON, and has both';
    unlike $example->log, qr/eyJ/, 'and no token';

    my $metrics = get($other, '/metrics');

    is $metrics->status, 200, 'metrics';
    like $metrics->body, qr/^\w+requests_total\{[^}]*"no\ user"[^}]*\}\ 1$/mx,
        'have it, too';

    is get($other, '/healthz')->status, 200, 'live';
    ok wait_until(sub { get($other, '/readyz')->status == 200 }, 20), 'ready';
    is get($port, '/metrics')->status, 404, 'not for everybody';

    $redis->stop;
    ok wait_until(sub { get($other, '/readyz')->status == 503 }, 20),
        'without Redis it is not ready';
    is get($other, '/healthz')->status, 200, 'but live';
    $redis->restart;
};

done_testing;
