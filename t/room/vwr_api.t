# The waiting room's API: tickets, polls, and what repeats.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Swarm;
use Admission::Waiting;
use Time::HiRes ();

my $site = waiting_site(
    timeout => '5s',
    events => 'default vwr_rate=0;
               going vwr_rate=1 vwr_burst=0;
               short ticket_ttl=1h token_ttl=6s session_max=10s vwr_rate=0;',
    http => 'admission_cors https://shop.example; keepalive_requests 10000;');

my $port = $site->port;
my $redis = $site->redis;
my $ticket_key = key_of('ticket');

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }

sub members ($r) { return join ' ', sort keys $r->json->%* }


# ---- inactive

is code(post($port, '/vwr-api/assign/concert')), '404 VWR_INACTIVE',
    'no ticket while the waiting room is inactive';
is_deeply get($port, '/vwr-api/status/concert')->json,
    { eventId => 'concert', isActive => false, totalInQueue => 0, serving => 0,
      waitingCount => 0 }, 'status of an event never active';

operator($site, POST => 'activate/concert');


# ---- assign

my $ann = {};
my $start = Time::HiRes::time;
my $r = assign($site, 0, $ann, json => { userId => 'ann' });
my $end = Time::HiRes::time;

is $r->status, 200, 'assign';
is members($r), 'estimatedWait nextPoll paused position requestId'
    . ' servingCounter totalInQueue visitor', 'members';
is $r->json->{paused}, true, 'a rate of 0: no time is promised';
is $r->json->{estimatedWait}, undef, 'and no number told';
is $r->json->{position}, 1, 'positions begin at 1';
is $r->json->{totalInQueue}, 1, 'totalInQueue';
is $r->header('Cache-Control'), 'no-store', 'no-store';
is_deeply [ sort keys %$ann ], [ 'admission-ticket-concert',
                                 'admission-visitor' ], 'cookies';
is $ann->{'admission-ticket-concert'}, $r->json->{requestId}, 'the ticket';
is $ann->{'admission-visitor'}, $r->json->{visitor}, 'the visitor';
cmp_ok abs($r->cookies->{'admission-ticket-concert'}{attributes}{'max-age'}
           - 86400), '<=', 1 + $end - $start, 'for a day';
is $r->cookies->{'admission-visitor'}{attributes}{'max-age'}, 400 * 86400,
    'for 400 days';

my $ticket = $r->json->{requestId};
my $claims = jwt_verify($ticket, $ticket_key);
my $vis = jwt_verify($r->json->{visitor}, key_of('visitor'))->{vis};

is_deeply { %$claims{qw(e u v p)} }, { e => 'concert', u => 'ann', v => $vis,
                                       p => 1 }, 'what the ticket says';
cmp_ok $claims->{exp} - 86400, '>=', int $start, 'its expiry';
cmp_ok $claims->{exp} - 86400, '<=', $end, 'and no later';
cmp_ok $claims->{t}, '>', $claims->{a}, 'issued after the activation';

is assign($site, 0, { 'admission-visitor' => $ann->{'admission-visitor'} })
    ->json->{position}, 2, 'a visitor without the ticket gets another one';
is assign($site, 0, { 'admission-ticket' => $ticket })->json->{position}, 3,
    'a ticket without its visitor is nothing';

my $again = assign($site, 0, { %$ann });
is $again->json->{requestId}, $ticket, 'the ticket comes back as it is';
is $again->json->{position}, 1, 'the position too';
is $again->json->{visitor}, $ann->{'admission-visitor'}, 'the visitor too';
is_deeply [ sort keys $again->cookies->%* ], [ sort keys %$ann ],
    'and the cookies';

$again = post($port, '/vwr-api/assign/CONCERT', headers =>
    [ 'X-Admission-Ticket' => $ticket,
      'X-Admission-Visitor' => $ann->{'admission-visitor'} ]);
is $again->json->{requestId}, $ticket, 'by headers, and in upper case';

is assign($site, 0, { %$ann, 'admission-visitor' => 'x' })->json->{position},
    4, 'a forged visitor is none';


# ---- the body

my $long = 'e' x 64;
operator($site, POST => "activate/$long");

for my $id ('a', 'a' x 128, "\x{c3}\x{a9}" x 60, 'a b@c', '0') {
    $r = post($port, "/vwr-api/assign/$long",
              body => qq({"userId":"$id","more":1}));
    is $r->status, 200, 'userId of ' . length($id) . ' bytes';
    cmp_ok length $r->json->{requestId}, '<=', 512, 'fits in a ticket';
    like $r->json->{requestId}, qr/^[A-Za-z0-9._-]+$/, 'of these characters';
}

is post($port, '/vwr-api/assign/concert', body => $_)->status, 200,
    "body '$_'" for '', '{}', '{"userId":null}';

my $last = get($port, '/vwr-api/status/concert')->json->{totalInQueue};

is code(post($port, '/vwr-api/assign/concert', body => $_)),
    '400 INVALID_USER', 'not ' . substr $_, 0, 40
    for '[]', '"a"', 'null', '{"userId":1}', '{"userId":""}',
        '{"userId":"' . 'a' x 129 . '"}', '{"userId":"a\u0000b"}',
        '{"userId":"a\nb"}', '{"userId":["a"]}',
        '{"userId":"' . "\x{ed}\x{95}\x{9c}" x 128 . '"}';
is code(post($port, '/vwr-api/assign/concert', body => '{"userId":')),
    '400 INVALID_JSON', 'no JSON';
is code(post($port, '/vwr-api/assign/concert', body => ' ' x 5000)),
    '413 PAYLOAD_TOO_LARGE', 'too much';

is code(assign($site, 0, {}, headers => [ 'Sec-Purpose' => 'prefetch' ])),
    '403 PREFETCH', 'nothing is assigned ahead of time';
is code(assign($site, 0, {}, headers => $_)), '403 PREFETCH',
    "nor by @$_"
    for [ 'Sec-Purpose' => 'something', 'Sec-Purpose' => 'prefetch;prerender' ],
        [ 'Sec-Purpose' => 'something', Purpose => 'prefetch' ],
        [ Purpose => 'x', Purpose => 'Prefetch' ];
is code(post($port, '/vwr-api/assign/concert',
             headers => [ 'Sec-Fetch-Site' => 'cross-site' ])),
    '403 CROSS_SITE', 'nor from another site';
is get($port, '/vwr-api/status/concert')->json->{totalInQueue}, $last,
    'no position was spent on these';

$r = post($port, '/vwr-api/assign/concert',
          headers => [ 'Sec-Fetch-Site' => 'cross-site',
                       Origin => 'https://shop.example' ]);
is $r->status, 200, 'from a site that may';
is $r->header('Access-Control-Allow-Origin'), 'https://shop.example', 'CORS';

$r = request($port, 'OPTIONS', '/vwr-api/assign/concert',
             headers => [ Origin => 'https://shop.example',
                          'Access-Control-Request-Method' => 'POST' ]);
is $r->status, 204, 'its preflight';


# ---- Idempotency-Key

sub keyed ($key, $visitor = {}) {
    return assign($site, 0, $visitor, headers => [ 'Idempotency-Key' => $key ]);
}

my $first = keyed('k' x 16);
my $second = keyed('k' x 16);
is $second->body, $first->body, 'the same key: the same answer';
is_deeply { map { $_ => $second->cookie($_) } keys $second->cookies->%* },
          { map { $_ => $first->cookie($_) } keys $first->cookies->%* },
    'and cookies';
isnt keyed('K' x 16)->json->{position}, $first->json->{position}, 'another key';
isnt keyed('k' x 16, { 'admission-visitor' => $first->json->{visitor} })
    ->json->{position}, $first->json->{position}, 'another visitor sent';
is code(keyed($_)), '400 INVALID_IDEMPOTENCY_KEY', length($_) . ' characters'
    for 'k' x 15, 'k' x 129;
is keyed('k' x 128)->status, 200, '128 characters';

# with another body it is another call

sub keyed_body ($key, $body) {
    return post($port, '/vwr-api/assign/concert', body => $body,
                headers => [ 'Idempotency-Key' => $key ]);
}

$first = keyed_body('body' x 4, '{"userId":"ann"}');
is $first->status, 200, 'a key with a body';
is keyed_body('body' x 4, $_)->body, $first->body, "the same: $_"
    for '{"userId":"ann"}', ' { "userId" : "\u0061nn" } ';
is code(keyed_body('body' x 4, $_)), '409 IDEMPOTENCY_CONFLICT',
    "another one: $_"
    for '{"userId":"bob"}', '{"userId":"Ann"}', '{}', '{"userId":null}';
is code(keyed('body' x 4)), '409 IDEMPOTENCY_CONFLICT', 'and none';
is keyed_body('body' x 4, '{"userId":"ann"}')->body, $first->body,
    'which changes nothing';
is keyed_body('k' x 16, '{}')->body, $second->body,
    'a body that says nothing is none';
is code(keyed_body('k' x 16, '{"userId":"ann"}')), '409 IDEMPOTENCY_CONFLICT',
    'one that says something is not';

{
    my $swarm = Admission::Swarm->new(connections => 20);
    my %seen;

    $swarm->request($port, 'POST', '/vwr-api/assign/concert',
                    { headers => [ 'Idempotency-Key' => 'together-together' ] },
                    sub ($r) { $seen{ $r->json->{requestId} // $r->body }++ })
        for 1 .. 20;
    $swarm->run(until => sub { 20 == eval { my $n = 0; $n += $_ for values %seen; $n } },
                timeout => 30);
    is scalar keys %seen, 1, 'twenty at once get one answer';
}

{
    my $swarm = Admission::Swarm->new(connections => 20);
    my (%ticket, %status);

    for my $n (1 .. 20) {
        my $user = $n % 2 ? 'ann' : 'bob';

        $swarm->request($port, 'POST', '/vwr-api/assign/concert',
                        { json => { userId => $user },
                          headers => [ 'Idempotency-Key' => 'two-at-a-time-00' ] },
                        sub ($r) {
                            $status{ $r->status }++;
                            $ticket{$user}{ $r->json->{requestId} }++
                                if $r->status == 200;
                        });
    }

    $swarm->run(until => sub { 20 == eval { my $n = 0; $n += $_ for values %status; $n } },
                timeout => 30);
    is_deeply \%status, { 200 => 10, 409 => 10 }, 'of two users one has the key';
    is scalar keys %ticket, 1, 'whoever came first';
    is scalar keys((values %ticket)[0]->%*), 1, 'with one ticket';
}

# a flood of them takes no more than its share

{
    my $swarm = Admission::Swarm->new(connections => 50);
    my ($n, $failed, %ticket) = (0, 0);

    for my $key (map { "flood-flood-$_" x 2 } 1 .. 1000) {
        $swarm->request($port, 'POST', '/vwr-api/assign/concert',
                        { headers => [ 'Idempotency-Key' => $key ] },
                        sub ($r) {
                            $n++;
                            $failed++ if $r->status != 200;
                            $ticket{$key} = ($r->json // {})->{requestId};
                        });
    }

    $swarm->run(until => sub { $n == 1000 }, timeout => 60);
    is $failed, 0, 'a flood of keys is answered';
    is keyed('flood-flood-1000' x 2)->json->{requestId},
       $ticket{'flood-flood-1000' x 2}, 'the latest are kept';
    isnt keyed('flood-flood-1' x 2)->json->{requestId},
       $ticket{'flood-flood-1' x 2}, 'the first are not';
}


# ---- check

$r = check($site, 0, $ann, $ticket);
is $r->status, 200, 'check';
is members($r), 'admitted ahead estimatedWait nextPoll paused position'
    . ' servingCounter totalInQueue', 'members, waiting';
is $r->json->{paused}, true, 'paused';
is $r->json->{admitted}, false, 'not yet';
is $r->json->{ahead}, 1, 'ahead';
is $r->json->{nextPoll}, 2, 'nextPoll';
is visit($site, 0, undef, 'HEAD', "/vwr-api/check/concert/$ticket")->status,
    200, 'HEAD';
is code(request($port, 'POST', "/vwr-api/check/concert/$ticket")),
    '405 METHOD_NOT_ALLOWED', 'POST';

my $eve = {};
assign($site, 0, $eve);

# of two tabs that open at once one has the ticket of a visitor whose cookie the
# other's replaced

for my $other ([ 'nobody', undef ], [ 'another visitor', $eve ]) {
    my ($name, $jar) = @$other;

    $r = check($site, 0, $jar, $ticket);
    is $r->json->{holder}, false, "$name: is told at once whose it is not";
    is members($r), 'admitted ahead estimatedWait holder nextPoll paused'
        . ' position servingCounter totalInQueue', "$name: the rest as ever";
    is_deeply $r->cookies, {}, "$name: no cookie";
}

operator($site, POST => 'advance/concert', json => { batchSize => 1 });

for my $query ('', '?away=1') {
    for my $other ([ 'nobody', undef ], [ 'another visitor', $eve ]) {
        my ($name, $jar) = @$other;

        $r = check($site, 0, $jar, "$ticket$query");
        is code($r), '404 POSITION_NOT_FOUND', "$name: not at its turn$query";
        is_deeply $r->cookies, {}, "$name: no cookie";
    }
}

# a page that nobody looks at does not take its turn, however often it asks

for (1 .. 3) {
    $r = check($site, 0, my $copy = { %$ann }, "$ticket?away=1");
    is members($r), 'admitted ahead position servingCounter totalInQueue',
        'members of who is let in, and away';
    is $r->json->{admitted}, true, 'away: is told';
    is_deeply $r->cookies, {}, 'away: has no token';
}

$r = check($site, 0, $ann, $ticket);
is members($r), 'admitted ahead position servingCounter token totalInQueue',
    'members, asked by the visitor';
is $ann->{'urr-vwr-token-concert'}, $r->json->{token}, 'the cookie';

my $token = jwt_verify($r->json->{token}, $Admission::Site::SECRETS{tier1});
is_deeply { %$token{qw(sub uid vis tier position at act)} },
    { sub => 'concert', uid => 'ann', vis => $vis, tier => 1, position => 1,
      at => $claims->{t}, act => $claims->{a} }, 'what the token says';
cmp_ok abs($token->{adm} / 1e6 - time), '<', 10 * slow, 'its turn';
is $token->{exp} - $token->{iat}, 600, 'its life';

is get($port, '/events/x', cookies => $ann)->status, 200, 'the gate takes it';

my $header = check($site, 0, undef, $ticket,
    headers => [ 'X-Admission-Visitor' => $ann->{'admission-visitor'} ]);
ok $header->json->{token}, 'a visitor by header';
is get($port, '/events/x', cookies => { map { $_ => $header->cookie($_) }
                                        keys $header->cookies->%* })->status,
    200, 'with cookies that the gate takes by themselves';

my $ben = {};
assign($site, 0, $ben);
operator($site, POST => 'advance/concert', json => { batchSize => 100_000 });
$r = check($site, 0, $ben, $ben->{'admission-ticket-concert'});
is jwt_decode($r->json->{token})->{uid},
   jwt_decode($ben->{'admission-visitor'})->{vis},
   'without userId the visitor is the user';


# ---- polls cost Redis nothing

my ($answered, $asking) = (0, Time::HiRes::time);
my $stats = $redis->stats_of(sub {
    my $connection = Admission::HTTP->connect($port);

    for (1 .. 1500) {
        my $check = $connection->request(
            'GET', "/vwr-api/check/concert/$ticket", cookies => $ann);
        my $status = $connection->request('GET', '/vwr-api/status/concert');
        $answered += grep { $_->status == 200 } $check, $status;
    }
});
is $answered, 3000, '3,000 polls';

# which has some dozens a second

$asking = Time::HiRes::time - $asking;
my $sum = 0;
$sum += $stats->{$_} // 0 for qw(evalsha eval get hget);
SKIP: {
    skip sprintf('the machine was too slow: %.0f s', $asking), 1
        if $asking > 40;
    cmp_ok $sum, '<', 400 + 50 * $asking,
        'commands for 3,000 polls are the schedule\'s';
}
note json_encode($stats);

$redis->sigstop;
$r = check($site, 0, $ann, $ticket);
is $r->json->{admitted}, true, 'nothing waits for Redis';
ok wait_until { check($site, 0, $ann, $ticket)->time < 0.3 * slow }, 'at once';
$redis->sigcont;


# ---- late

# in time is what comes within 6 s of the turn, late within 10

my ($cho, $late);
my $came = 0;
operator($site, POST => 'activate/short');

# another one where the machine stood still for as long as that

for (1 .. 5) {
    $cho = {};
    assign($site, 0, $cho, event => 'short');
    $came++;
    advance_past($site, 'short');

    $ticket = $cho->{'admission-ticket-short'};
    $token = jwt_decode(check($site, 0, $cho, $ticket, event => 'short')
                        ->json->{token} // '') // {};
    $late = undef;
    next if !defined $token->{position};

    my $rest = $token->{adm} / 1e6 + 6.1 - Time::HiRes::time;
    Time::HiRes::sleep($rest) if $rest > 0;
    $late = jwt_decode(check($site, 0, $cho, $ticket, event => 'short')
                       ->json->{token} // '');
    last if $late;
}
is $token->{position}, $came, 'in time: with its position';
ok !defined $late->{position} && !defined $late->{at},
    'later than token_ttl: without';
is $late->{act}, $token->{act}, 'the activation stays';
cmp_ok $late->{exp}, '<=', $token->{adm} / 1e6 + 10, 'never past session_max';

ok wait_until { code(check($site, 0, $cho, $ticket, event => 'short'))
                eq '404 POSITION_NOT_FOUND' } 20;
$r = assign($site, 0, $cho, event => 'short');
is $r->json->{position}, $came + 1, 'a ticket whose time is over is replaced';


# ---- paused, and not

$eve = {};
operator($site, POST => 'activate/going');
assign($site, 0, {}, event => 'going') for 1 .. 120;
$r = assign($site, 0, $eve, event => 'going');
is members($r), 'estimatedWait estimatedWaitRange nextPoll position requestId'
    . ' servingCounter totalInQueue visitor', 'with a rate: members of a ticket';

sub going () {
    my $r = check($site, 0, $eve, $eve->{'admission-ticket-going'},
                  event => 'going');
    return members($r) =~ /paused/ ? 0 : $r->json->{estimatedWait};
}

cmp_ok going, '>', 0, 'with a rate there is a time to wait';
operator($site, PUT => 'rate/going?rate=0');
ok wait_until { !going }, 'paused by the operator';
operator($site, DELETE => 'rate/going');
ok wait_until { going }, 'and no longer';


# ---- inactive again

my $dan = {};
assign($site, 0, $dan);
operator($site, POST => 'deactivate/concert');

$r = check($site, 0, $dan, $dan->{'admission-ticket-concert'});
is $r->json->{admitted}, true, 'all are let in';
ok $r->json->{token}, 'with a token';
is code(assign($site, 0, { %$dan })), '404 VWR_INACTIVE', 'no more tickets';
is get($port, '/vwr-api/status/concert')->json->{isActive}, false, 'status';

operator($site, POST => 'activate/concert?resume=1');
$r = check($site, 0, $dan, $dan->{'admission-ticket-concert'});
is $r->json->{admitted}, false, 'resumed: waiting again';
is assign($site, 0, { %$dan })->json->{requestId},
    $dan->{'admission-ticket-concert'}, 'with the same ticket';

operator($site, POST => 'activate/concert?restart=1');
is code(check($site, 0, $dan, $dan->{'admission-ticket-concert'})),
    '404 POSITION_NOT_FOUND', 'restarted: a ticket of before is none';
is assign($site, 0, $dan)->json->{position}, 1, 'and the first is 1 again';


# ---- routes

is code(get($port, '/vwr-api/none/concert')), '404 NOT_FOUND', 'no such call';
is code(get($port, '/vwr-api/check/concert')), '404 NOT_FOUND', 'no ticket';
is code(get($port, '/vwr-api/status/a%20b')), '400 INVALID_EVENT', 'no event';
is code(get($port, '/vwr-api/assign/concert')), '405 METHOD_NOT_ALLOWED', 'GET';

done_testing;
