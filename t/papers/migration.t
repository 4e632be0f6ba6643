# conf-examples/migration.conf under the requests of the pages and apps that it
# is for: those of the replaced system, with its tokens, cookies and headers.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use MIME::Base64 qw(decode_base64);

use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $event = '3f0c2b1e-0000-4000-8000-000000000001';
my $other = '3f0c2b1e-0000-4000-8000-000000000002';
my @page = (Accept => 'text/html');

# 64 characters of base64: 48 bytes, which its library signs HS384 with
my $text = 'NDggYnl0ZXMsIHdpdGggd2hpY2ggdGhlIG9sZCBsaWJyYXJ5IHNheXMgSFMzODQu';
my $secret = decode_base64($text);
is length($text) . ' ' . length $secret, '64 48', 'a secret of 64 characters';

my %service = map { $_ => Admission::Backend->start }
              qw(3000 3002 3003 3004 3005 3008 3009);

my $example = Admission::Example->start('migration', redis => $redis,
    backend => \%service, secret => { user => $secret },
    change => [ qr/rate=(?:30|60|120)r/ => 'rate=3r' ]);
my $port = $example->port;

# status and code of the last answer

my $answer;

sub ask ($method, $path, %opt) {
    $answer = request($port, $method, $path, %opt);
    return join ' ', $answer->status,
                     ($answer->json // {})->{code} // ();
}

# so often, as "200 200 429 RATE_LIMITED"

sub often ($n, @request) {
    return join ' ', map { ask(@request) } 1 .. $n;
}

# a header that the service got

sub seen ($name) {
    my %seen = map { lc $_->[0] => $_->[1] }
               @{ ($answer->json // {})->{headers} // [] };
    return $seen{$name};
}

sub user ($id, %claims) {
    return jwt_sign({ sub => $id, userId => $id, role => 'user',
                      type => 'access', iat => time, exp => time + 1800,
                      %claims }, $secret, alg => 'HS384');
}

sub entry ($user, $of = $event) {
    return entry_token($example->secret('tier2'), sub => $of, uid => $user);
}

# The pages keep the access token as a cookie that they can't read, and the
# entry token as one that they can, which they send as a header as well.

sub jar ($id, %more) {
    return { access_token => user($id, %more) };
}

sub as ($jar, @headers) {
    my $token = $jar->{'urr-entry-token'};

    return (cookies => $jar, headers => [
        'Sec-Fetch-Mode' => 'cors', 'Sec-Fetch-Site' => 'same-origin',
        $token ? ('x-queue-entry-token' => $token) : (), @headers ]);
}


subtest 'each path has its service' => sub {
    my %path = (
        3000 => [ '/', "/events/$event", "/queue/$event", '/health' ],
        3002 => [ '/api/v1/tickets/my', '/api/v1/memberships/my',
                  '/api/v1/transfers', '/api/v1/time',
                  '/api/v1/reservations/my' ],
        3003 => [ '/api/v1/payments/prepare' ],
        3004 => [ '/api/v1/stats/overview', "/api/v1/stats/events/$event" ],
        3005 => [ '/api/v1/auth/me' ],
        3008 => [ '/api/v1/community/posts', '/api/v1/news' ],
        3009 => [ '/api/v1/events', "/api/v1/events/$event",
                  '/api/v1/artists', '/api/v1/image/1',
                  '/api/v1/admin/dashboard' ]);

    for my $at (sort keys %path) {
        for my $path ($path{$at}->@*) {
            my $hits = $service{$at}->hits;

            for my $path ($path, $path =~ s{^/api/v1/}{/api/}r) {
                is ask(GET => $path), '200', $path;
                is $answer->json->{uri}, $path =~ s{^/api/v1/}{/api/}r,
                    'without a version';
            }

            is $service{$at}->hits, $hits + 2, "at $at";
        }
    }

    is ask(GET => '/api/v1/none'), '404 NOT_FOUND', 'others are nowhere';
    is ask(GET => '/api/v1/paymentsx'), '404 NOT_FOUND', 'nor what begins so';
};


subtest 'who it is' => sub {
    my $jar = jar('ann', email => 'ann@example.com');

    is ask(GET => '/api/v1/reservations/my', as($jar, 'X-User-Id' => 'root')),
        '200', 'a token of HS384';
    is seen('x-user-id'), 'ann', 'tells who';
    is seen('x-user-email'), 'ann@example.com', 'by all headers';
    is seen('x-user-role'), 'user', 'with the role';
    is seen('authorization'), "Bearer $jar->{access_token}",
        'and goes on as before';

    my $refresh = user('ann', type => 'refresh');

    for my $sent ([ bearer => $refresh ],
                  [ cookies => { access_token => $refresh } ])
    {
        ask(GET => '/api/v1/reservations/my', @$sent);
        is seen('x-user-id'), undef, "$sent->[0]: a refresh token is nobody";
    }

    my $raw = jwt_sign({ userId => 'ann', type => 'access',
                         exp => time + 60 }, $text, alg => 'HS512');
    ask(GET => '/api/v1/reservations/my', bearer => $raw);
    is seen('x-user-id'), undef, 'nor one by the text of the secret';
};


subtest 'the way to a reservation' => sub {
    my $jar = jar('ben');

    is ask(GET => "/queue/$event", cookies => $jar, headers => \@page), '200',
        'the queue\'s page';
    is ask(POST => "/api/v1/queue/check/$event", as($jar)), '200', 'joins';
    is $answer->json->{status}, 'active', 'and is in';
    ok !$answer->json->{queued}, 'which it looks at';

    my $cookie = $answer->cookies->{'urr-entry-token'};
    ok !$cookie->{attributes}{httponly}, 'a script may change the cookie';
    $jar->{'urr-entry-token'} = $answer->json->{entryToken};

    is ask(GET => "/api/v1/seats/events/$event", as($jar)), '200', 'seats';
    is $answer->json->{uri}, "/api/seats/events/$event", 'of the event';
    is ask(POST => '/api/v1/seats/reserve', as($jar),
           body => '{"eventId":"' . $event . '","seatIds":["1"]}'), '200',
        'reserves';
    is seen('x-admission-event'), $event, 'and the service knows for what';
    is seen('x-user-id'), 'ben', 'and for whom';
    is ask(POST => '/api/v1/reservations', as($jar),
           body => '{"eventId":"' . $event . '","items":[]}'), '200',
        'without seats';
    is ask(GET => '/api/v1/reservations/17', as($jar)), '200', 'looks at it';
    is ask(POST => '/api/v1/payments/confirm', as($jar)), '200', 'pays';
    is ask(POST => '/api/v1/reservations/17/cancel', as($jar)), '200',
        'changes their mind';
    is ask(POST => "/api/v1/queue/leave/$event", as($jar)), '200', 'and goes';

    # a beacon, of a page that is left

    is ask(POST => "/api/v1/queue/leave/$event", cookies => jar('cho'),
           body => '', headers => [ 'Sec-Fetch-Mode' => 'no-cors',
                                    'Sec-Fetch-Site' => 'same-origin' ]),
        '200', 'or says so as the page closes';
};


subtest 'what needs the entry token' => sub {
    my @nobody = as(jar('dan'));

    for my $api (qw(/api/v1 /api)) {
        is ask(@$_, @nobody), '403 TIER2_REQUIRED', "@$_"
            for map({ [ $_ => "$api/seats/$event" ],
                      [ $_ => "$api/seats/events/$event" ],
                      [ $_ => "$api/reservations/17" ],
                      [ $_ => "$api/reservations" ] } qw(GET POST PUT PATCH)),
                [ POST => "$api/seats/reserve" ],
                [ GET => "$api/seats/layouts" ],
                [ POST => "$api/reservations/17/cancel" ];

        is ask(GET => "$api/reservations/my", @nobody), '200',
            "$api: one's own does not";
        is ask(DELETE => "$api/reservations/17", as(jar('dan'))), '200',
            "$api: nor deleting";
        is ask(GET => "$api/seats/events/$event"), '401 USER_REQUIRED',
            "$api: who is nobody is to sign in";
    }

    my $jar = { jar('dan')->%*, 'urr-entry-token' => entry('dan', $other) };

    is ask(GET => "/api/v1/seats/events/$event", as($jar)),
        '403 TIER2_REQUIRED', 'not with another event\'s';
    is $answer->json->{redirectTo}, "/queue/$event", 'there is its queue';
    is ask(GET => "/api/v1/seats/events/$event", as(
           { jar('dan')->%*, 'urr-entry-token' => entry('eve') })),
        '403 TIER2_REQUIRED', 'nor with another user\'s';

    my @edge = ('X-CloudFront-Verified' => $example->secret('edge'));
    is ask(GET => "/api/v1/seats/events/$event", headers => \@edge), '200',
        'what the CDN checked passes';
    is seen('x-cloudfront-verified'), undef, 'and the service is not told';
};


subtest 'limits' => sub {
    my $edge = $example->secret('edge');
    my @edge = (headers => [ 'X-CloudFront-Verified' => $edge ]);
    my $three = '200 200 200 429 RATE_LIMITED';
    my $six = join ' ', ('200') x 6;

    is often(6, GET => "/api/v1/seats/events/$event", @edge), $six,
        'reading seats has none of its own';
    is often(6, HEAD => "/api/v1/seats/events/$event", @edge), $six, 'by HEAD';
    is often(6, GET => '/api/v1/reservations/17', @edge), $six,
        'nor reading a reservation';

    my $jar = { jar('fay')->%*, 'urr-entry-token' => entry('fay') };

    is ask(POST => '/api/v1/seats/reserve', as($jar)), '200', 'reserving,';
    is ask(POST => '/api/v1/reservations', as($jar)), '200', 'seats or not,';
    is ask(POST => '/api/v1/reservations/1/cancel', as($jar)), '200',
        'and cancelling';
    is ask(POST => '/api/v1/seats/reserve', as($jar)), '429 RATE_LIMITED',
        'have one';
    is ask(GET => '/api/v1/reservations/1', as($jar)), '200',
        'after which one may read';

    is often(4, POST => '/api/v1/auth/login'), $three, 'signing in is limited';
    is often(6, GET => '/api/auth/me'), $six, 'but not "who am I"';
    is often(6, GET => '/health'), $six, 'nor health checks';
    is often(4, GET => "/api/queue/status/$event", as(jar('gil'))), $three,
        'the queue, by user';
};


subtest 'another origin' => sub {
    my $origin = 'https://shop.example';
    my @names = map { "Access-Control-$_" } qw(Allow-Origin Allow-Credentials);
    my @cors = as(jar('hal'), Origin => $origin);

    # each header once, or browsers refuse it

    my $told = sub (@request) {
        my $status = ask(@request);
        return join ' | ', $status, map { join ',', $answer->header($_) } @names;
    };

    my $yes = "$origin | true";

    is $told->(GET => '/api/v1/events', @cors), "200 | $yes", 'a service';
    is $told->(GET => '/api/v1/events?status=409', @cors), "409 | $yes",
        'an error of it';
    is $told->(GET => "/api/v1/seats/events/$event", @cors),
        "403 TIER2_REQUIRED | $yes", 'the gate';
    is $told->(POST => "/api/v1/queue/check/$event", @cors), "200 | $yes",
        'the queue';
    is $told->(GET => "/vwr-api/vwr/status/$event", @cors), "200 | $yes",
        'the waiting room';
    is $told->(GET => '/api/v1/events',
               headers => [ Origin => 'https://evil.example' ]), '200 |  | ',
        'nobody else';
    is $told->(GET => '/api/v1/events'), '200 |  | ', 'without an origin';

    my @preflight = (Origin => $origin, 'Access-Control-Request-Method' => 'POST',
        'Access-Control-Request-Headers' => 'content-type,x-queue-entry-token');
    my %hits = map { $_ => $service{$_}->hits } keys %service;

    for my $path ('seats/reserve', 'payments/confirm', "queue/check/$event") {
        is $told->(OPTIONS => "/api/v1/$path", headers => \@preflight),
            "204 | $yes", "a preflight of $path";
        like $answer->header('Access-Control-Allow-Headers'),
            qr/x-queue-entry-token/i, 'with the header of the pages';
        like $answer->header('Access-Control-Allow-Methods'), qr/\bPOST\b/,
            'and the method';
    }

    is_deeply { map { $_ => $service{$_}->hits } keys %service }, \%hits,
        'no service hears of them';
};


subtest 'the waiting room' => sub {
    my $operator = user('op', role => 'admin');

    is ask(POST => "/vwr-api/vwr/assign/$event"), '404 VWR_INACTIVE',
        'is off: its page goes on';
    is ask(POST => "/api/v1/admin/vwr/activate/$event", bearer => $operator),
        '200', 'is on';
    wait_until { ask(GET => "/events/$event") ne '200' } 20;

    for my $path ("/events/$event", "/events/$event/seats", "/queue/$event") {
        is ask(GET => $path, headers => \@page), '302', "$path: one waits";
        like $answer->header('Location'), qr{^/vwr/$event\?return=}, 'there';
    }

    # of who joins without it the page would think "go on"

    is ask(POST => "/api/v1/queue/check/$event", as(jar('ian'))),
        '403 TIER1_REQUIRED', 'nobody joins without';
    is $answer->json->{redirectTo}, "/vwr/$event", 'but is told where to';

    my $old = tier1_token($example->secret('tier1'), sub => $event,
                          uid => 'anon-1');

    is ask(GET => $_, cookies => { 'urr-vwr-token' => $old }), '200',
        "$_: who has a token of before is through"
        for "/events/$event", "/queue/$event";
    is ask(POST => "/api/v1/queue/check/$event",
           as({ jar('ian')->%*, 'urr-vwr-token' => $old })), '200',
        'and joins';

    # its static page

    is ask(POST => "/vwr-api/vwr/assign/$event",
           body => '{"userId":"anon-jan"}'), '200', 'a number';

    my $ticket = $answer->json;
    my $set = $answer->cookies;
    my %jar = map { $_ => $set->{$_}{value} } keys %$set;
    my $check = "/vwr-api/vwr/check/$event/$ticket->{requestId}"
                . '?userId=anon-jan';

    ok wait_until(sub { ask(GET => $check, cookies => \%jar);
                        $answer->json->{admitted} }, 20), 'its turn';
    $jar{'urr-vwr-token'} = $answer->json->{token};
    is ask(GET => "/events/$event", cookies => \%jar), '200', 'goes on';
};


subtest 'when something is away' => sub {
    my $jar = { jar('kim')->%*, 'urr-entry-token' => entry('kim') };

    $service{3003}->stop;
    $service{3002}->stop;
    my @origin = (Origin => 'https://shop.example');

    for my $path ('/api/v1/payments/confirm', '/api/v1/seats/reserve') {
        is ask(POST => $path, as($jar, @origin)), '502 BACKEND_UNAVAILABLE',
            "$path: JSON";
        is $answer->header('Content-Type'), 'application/json', 'as JSON';
        is $answer->header('Cache-Control'), 'no-store', 'not to be stored';
        is join(',', $answer->header('Access-Control-Allow-Origin')),
            'https://shop.example', 'also from another origin';
    }

    is ask(GET => '/api/v1/events?status=502&body=%7B%22code%22%3A%22X%22%7D'),
        '502 X', 'a service\'s own 502 is its own';

    $redis->stop;
    is often(5, POST => '/api/v1/auth/login'),
        join(' ', ('200') x 5), 'without Redis limits let pass';
    is ask(POST => '/api/v1/seats/reserve', as($jar)),
        '502 BACKEND_UNAVAILABLE', 'and who is in passes the gate';
    $redis->restart;
};


# docs/migration.md quotes what NGINX says, and says what to do

subtest 'one secret for both tiers' => sub {
    my $shared = 'the-secret-that-both-tiers-had-0123456789';
    my $tested = sub (%is) {
        my $nginx = Admission::Nginx->prepare(
            files => { map { ("$_.key" => "$is{$_}\n") } keys %is },
            http => join "\n", map { "admission_secret $_ file=$_.key;" }
                               sort keys %is);
        return join ' ', $nginx->test;
    };

    my $said = $tested->(tier1 => $shared, tier2 => $shared);
    my ($quoted) = read_file(root . '/docs/migration.md')
                   =~ /^ {8}(.*is the same as.*\n.*)/m;

    like $said, qr/^1 .*\Q@{[ $quoted =~ s{\s+}{ }gr ]}/s, 'is refused so';
    like $tested->(tier1 => "new-$shared", tier2 => $shared), qr/^0 /,
        'a new one for the waiting room';
};

done_testing;
