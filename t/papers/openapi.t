# docs/openapi.yaml is valid OpenAPI, and NGINX answers as it says: each of its
# calls, each of their statuses.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use JSON::Validator;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Site;
use Admission::Stream;
use Admission::Waiting;

my $file = root . '/docs/openapi.yaml';
my $api = JSON::Validator->new->schema($file)->schema;

isa_ok $api, 'JSON::Validator::Schema::OpenAPIv3';
is_deeply [ map { "$_" } $api->errors->@* ], [], 'the file is valid';


# ---- NGINX

my $limited = 'admission_rate_limit openapi rate=1r/h'
              . ' key=$request_method$uri;';

my $server = <<'END';
    location /health/        { admission_user off; return 404; }
    location /vwr-api/       { admission_vwr_api; }
    location /api/admin/vwr/ { admission_admin_api; }
    location /api/queue/     { admission_queue_api; }
    location /api/queue/admin/ { admission_queue_api admin=on; }
    location /tier1/queue/   { admission_tier1 auto; admission_queue_api; }
    location /events/        { admission_tier1 auto; empty_gif; }
    location /gated          { admission_tier2 on; empty_gif; }
    location = /healthz      { admission_health live; }
    location = /readyz       { admission_health ready; }
END

my $site = Admission::Site->start(
    timeout => '30s',
    events => 'concert threshold=2 vwr_rate=0 complete=user
                       "title=Spring Concert";
               seated threshold=9 slots=1 vwr=on vwr_rate=0;
               full threshold=1; on vwr=on; off vwr=off;
               none threshold=0 max_queue=0 vwr_rate=0 vwr_max_queue=0
                    vwr_burst=0;
               long threshold=0 max_wait=1s; sale threshold=0;
               lots vwr_rate=1000 order=draw "draw_beacon=x 1";',
    http => <<END, server => <<'END2');
    server {
        listen 127.0.0.1:%%PORT_limited%%;
        admission_user jwt;
        $limited
        $server
    }
END
    location /vwr-api/       { admission_vwr_api; }
    location /api/admin/vwr/ { admission_admin_api; }
    location /tier1/queue/   { admission_tier1 auto; admission_queue_api; }
    location = /healthz      { admission_health live; }
    location = /readyz       { admission_health ready; }
END2

# a host that has never heard from Redis

my $alone = Admission::Nginx->start(http => <<END, server => <<END2);
    admission_redis redis://127.0.0.1:@{[ free_port ]};
    admission_secret tier1 $Admission::Site::SECRETS{tier1};
    admission_secret tier2 $Admission::Site::SECRETS{tier2};
    admission_secret user  $Admission::Site::SECRETS{user};
    admission_secret admin $Admission::Site::SECRETS{admin};
    admission_events { default complete=user; }
END
    admission_user jwt;
    $server
END2

my $port = $site->port;
my %user = map { $_ => $site->user($_) } qw(ann ben cho);
my $operator = $Admission::Site::SECRETS{admin};
my @sale = (event => 'sale');


# ---- what an answer has to be by the file

my %seen;       # by "METHOD path", then by status

# An answer against the file; path is one of its paths.

sub fits ($r, $method, $path, $what) {
    my $status = $r->status;
    my $at = [ 'paths', $path, lc $method, 'responses', $status ];

    $seen{"$method $path"}{$status} = 1;

    if (!defined $api->get($at)) {
        fail "$what: $status is not in the file";
        diag $r->body;
        return $r;
    }

    if ($status == 303) {
        like $r->header('Location'), qr{^/}, "$what: $status";
        return $r;
    }

    my $json = $r->json;
    my @wrong = map { "$_" } defined $json
        ? $api->validate($json, $api->get([ @$at, 'content',
                                            'application/json', 'schema' ]))
        : 'no JSON';

    my $headers = $api->get([ @$at, 'headers' ]) // {};

    for my $name (sort keys %$headers) {
        push @wrong, "no $name"
            if $api->get([ @$at, 'headers', $name, 'required' ])
               && !defined $r->header($name);
    }

    push @wrong, 'retryAfter and Retry-After differ'
        if ref $json eq 'HASH' && $json->{retryAfter}
           && $r->header('Retry-After') ne $json->{retryAfter};

    # a draw that is made is the one that may be kept

    my $kept = ref $json eq 'HASH' && $json->{seed} ? 'public, max-age=60'
                                                    : 'no-store';
    push @wrong, "not $kept"
        if ($r->header('Cache-Control') // '') ne $kept;
    push @wrong, 'not application/json'
        if ($r->header('Content-Type') // '') !~ m{^application/json\b};

    is_deeply \@wrong, [], "$what: $status" or diag $r->body;
    return $r;
}

# A call of the file, which has the event in its path.

sub call ($method, $path, $what, %opt) {
    my $event = $opt{event} // 'concert';
    my $ticket = $opt{ticket} // 'x';
    my $uri = $path =~ s/\{event\}/$event/r =~ s/\{requestId\}/$ticket/r;

    $uri .= "?$opt{query}" if defined $opt{query};

    return fits(request($opt{port} // $port, $method, $uri, %opt),
                $method, $path, $what);
}


# That this can fail.

{
    my $answer = $api->get([ 'paths', '/vwr-api/status/{event}', 'get',
                             'responses', 200, 'content', 'application/json',
                             'schema' ]);
    my %right = (eventId => 'x', isActive => true, totalInQueue => 1,
                 serving => 0, waitingCount => 1);

    is_deeply [ $api->validate(\%right, $answer) ], [], 'a right answer';
    ok $api->validate({ %right, more => 1 }, $answer), 'a member too many';
    ok $api->validate({ %right, serving => -1 }, $answer), 'a wrong number';
    ok $api->validate({ %right, isActive => 'no' }, $answer), 'a wrong type';

    delete $right{eventId};
    ok $api->validate(\%right, $answer), 'a member too few';
}


# ---- the queue

my ($check, $status, $heartbeat, $leave) =
    map { "/api/queue/$_/{event}" } qw(check status heartbeat leave);

sub queue ($method, $path, $who, $what, %opt) {
    return call($method, $path, "$path, $what", bearer => $user{$who}, %opt);
}

queue(GET  => $status, 'ann', 'not in the queue');
queue(POST => $heartbeat, 'ann', 'not in the queue');
queue(POST => $check, 'ann', 'in', event => 'full');
queue(POST => $check, 'ben', 'waiting', event => 'full');
queue(GET  => $status, 'ann', 'in', event => 'full');
queue(GET  => $status, 'ben', 'waiting', event => 'full');
queue(POST => $heartbeat, 'ann', 'in', event => 'full');
queue(POST => $heartbeat, 'ben', 'waiting', event => 'full');
queue(POST => $check, 'cho', 'prefetch',
      headers => [ 'Sec-Purpose' => 'prefetch' ]);
queue(POST => $check, 'ann', 'a title', json => { any => 'thing' });
queue(POST => $leave, 'ann', 'by a beacon', query => 'beacon=1');
queue(DELETE => $leave, 'ann', 'leaves');
queue(GET  => $status, 'ann', 'in, away', event => 'full', query => 'away=1');
queue(DELETE => $leave, 'ann', 'leaves', event => 'full');
wait_until { get($port, '/api/queue/status/full?away=1', bearer => $user{ben})
             ->json->{status} eq 'ready' } 20;
queue(GET  => $status, 'ben', 'called', event => 'full', query => 'away=1');
queue(POST => $leave, 'ben', 'leaves', event => 'full');
queue(POST => $check, 'ann', 'bad JSON', body => '{');

my @once = (headers => [ 'Idempotency-Key' => 'of-two-bodies-01' ]);

for my $body ('one body', 'another body') {
    queue($_ => $leave, 'cho', $body, json => $body, @once) for qw(POST DELETE);
}

my $numbers = '/api/queue/admin/{event}';
my ($clear, $threshold) = map { "/api/queue/admin/$_/{event}" }
                          qw(clear threshold);
my @operator = (bearer => $operator);

call(GET => $numbers, 'numbers', @operator);
call(POST => $clear, 'clear', @operator);
call(PUT => $threshold, 'threshold', @operator, query => 'threshold=7');
call(POST => $threshold, 'threshold', @operator, query => 'threshold=8');
call(PUT => $threshold, 'no threshold', @operator);
call(DELETE => $threshold, 'threshold of the configuration', @operator);

# seats

my ($seats, $complete) = map { "/api/queue/admin/$_/{event}" }
                         qw(slots complete);
my $bought = '/api/queue/complete/{event}';
my @seated = (event => 'seated');

for my $of ($seats, '/api/admin/vwr/slots/{event}') {
    call(GET => $of, 'no end of seats', @operator);
    call(PUT => $of, 'no number', @operator);
    call(PUT => $of, 'seats', @operator, query => 'slots=7&sold=1');
    call(DELETE => $of, 'seats of the configuration', @operator);
}

queue($_ => $leave, 'ann', 'a form', query => 'return=/x',
      headers => [ 'Sec-Fetch-Mode' => 'navigate' ]) for qw(POST DELETE);
queue(POST => $bought, 'cho', 'not in');
queue(POST => $check, 'ann', 'in again');
queue(POST => $bought, 'ann', 'too many', query => 'seats=2');
queue(POST => $bought, 'ann', 'a seat', @once);
queue(POST => $bought, 'ann', 'another body', @once, json => 1);
queue(POST => $bought, 'ann', 'elsewhere', event => 'full');
queue(POST => $check, 'ann', 'once more');
queue(POST => $bought, 'ann', 'bought before');
queue(POST => $leave, 'ann', 'leaves');

my $lot = call(POST => '/vwr-api/assign/{event}', 'a ticket', @seated)->json;
my @lot = (@seated, ticket => $lot->{requestId},
           headers => [ 'x-admission-visitor' => $lot->{visitor} ]);
my $lots = '/vwr-api/check/{event}/{requestId}';
my $of_room = '/vwr-api/status/{event}';

queue(POST => $check, 'ann', 'the last seat', @seated);
queue(POST => $check, 'ben', 'all are with people inside', @seated);
queue(POST => $heartbeat, 'ben', 'likewise', @seated);
wait_until { exists get($port, '/vwr-api/status/seated')->json->{seats} };
call(GET => $of_room, 'the last seats', @seated);
call(GET => $lots, 'the last seats', @lot);

call(POST => $complete, 'sold', @operator, @seated, query => 'user=ann', @once);
call(POST => $complete, 'of another', @operator, @seated, query => 'user=ben',
     @once);
call(POST => $complete, 'again', @operator, @seated, query => 'user=ann&seats=1');
call(POST => $complete, 'none', @operator, @seated, query => 'user=ann&seats=0');

queue(POST => $check, 'cho', 'sold out', @seated);
queue(GET  => $status, 'cho', 'sold out', @seated);
queue(GET  => $status, 'ben', 'sold out, waiting', @seated);
queue(POST => $heartbeat, 'ben', 'sold out, waiting', @seated);
queue(POST => $heartbeat, 'cho', 'sold out', @seated);
wait_until { exists get($port, '/vwr-api/status/seated')->json->{status} };
call(GET => $of_room, 'sold out', @seated);
call(GET => $lots, 'sold out', @lot);
call(POST => '/vwr-api/assign/{event}', 'sold out', @seated);


# ---- the waiting room

my ($assign, $room) = map { "/vwr-api/$_/{event}" } qw(assign status);
my $poll = '/vwr-api/check/{event}/{requestId}';
my ($activate, $deactivate, $state, $advance, $rate) =
    map { "/api/admin/vwr/$_/{event}" }
    qw(activate deactivate status advance rate);

call(GET => $state, 'never active', @operator);
call(GET => $room, 'never active');
call(POST => $assign, 'inactive');
call(POST => $activate, 'activate', @operator);
call(POST => $activate, 'again', @operator);
call(POST => $activate, 'anew', @operator, query => 'restart=1');
call(POST => $activate, 'set', @operator, event => 'off');
call(POST => $deactivate, 'set', @operator, event => 'on');
call(PUT => $rate, 'rate', @operator, query => 'rate=0');
call(PUT => $rate, 'no rate', @operator, query => 'rate=x');

my $ticket = call(POST => $assign, 'a ticket', json => { userId => 'ann' })
             ->json;
my @visitor = (headers => [ 'x-admission-visitor' => $ticket->{visitor} ]);

call(POST => $assign, 'the same', headers => [
    @{ $visitor[1] }, 'x-admission-ticket' => $ticket->{requestId} ]);
call(POST => $assign, 'bad userId', json => { userId => 'x' x 129 });
call(POST => $assign, 'bad key', headers => [ 'Idempotency-Key' => 'short' ]);
call(POST => $assign, $_, json => { userId => $_ },
     headers => [ 'Idempotency-Key' => 'of-two-bodies-01' ])
    for 'one body', 'another body';
call(POST => $assign, 'prefetch', headers => [ 'Sec-Purpose' => 'prefetch' ]);

call(GET => $poll, 'waiting', ticket => $ticket->{requestId}, @visitor);
call(GET => $poll, "another's", ticket => $ticket->{requestId});
call(GET => $poll, 'forged', ticket => 'a.b.c');
call(GET => $poll, 'told before', ticket => $ticket->{requestId}, @visitor,
     query => 'ahead=0');

my $leaves = '/vwr-api/leave/{event}/{requestId}';

call(POST => $leaves, 'by a beacon', ticket => $ticket->{requestId}, @visitor,
     query => 'beacon=1');
call(POST => $leaves, 'leaves', ticket => $ticket->{requestId}, @visitor);
call(POST => $leaves, 'a form', ticket => $ticket->{requestId},
     query => 'return=/x', headers => [ @{ $visitor[1] },
                                        'Sec-Fetch-Mode' => 'navigate' ]);
call(POST => $leaves, "another's", ticket => $ticket->{requestId});
call(POST => $advance, 'bad batch', @operator, json => { batchSize => 0 });
call(POST => $advance, 'moved', @operator, json => { batchSize => 10 });
call(POST => $advance, 'caught up', @operator);
call(GET => $poll, 'its turn, away', ticket => $ticket->{requestId}, @visitor,
     query => 'away=1');

wait_until { get($port, '/vwr-api/status/concert')->json->{serving} } 20;

my $turn = call(GET => $poll, 'admitted', ticket => $ticket->{requestId},
                @visitor)->json;
call(GET => $poll, 'somebody else', ticket => $ticket->{requestId});
call(GET => $state, 'active', @operator);
call(GET => $room, 'active');

# joining needs the waiting room's token, and takes it once

my $needs = post($port, '/tier1/queue/check/concert', bearer => $user{ben});
my @token = (headers => [ @{ $visitor[1] }, 'x-vwr-token' => $turn->{token} ]);

fits($needs, POST => $check, 'without a token of the waiting room');
is $needs->json->{code}, 'TIER1_REQUIRED', 'its code';

fits(post($port, '/tier1/queue/check/concert', bearer => $user{ann}, @token),
     POST => $check, 'with one');

my $used = post($port, '/tier1/queue/check/concert', bearer => $user{cho},
                @token);

fits($used, POST => $check, 'with one that another user has used');
is $used->json->{code}, 'POSITION_USED', 'its code';

my $unnamed = Admission::Site->start(redis => $site->redis, timeout => '30s',
                                     events => 'default unlisted=1;');
my ($first, $second) = map {
    post($unnamed->port, "/api/queue/check/unnamed-$_", bearer => $user{ann})
} 1, 2;

fits($first, POST => $check, 'an event that nobody named');
fits($second, POST => $check, 'one too many');
is $second->json->{code}, 'TOO_MANY_EVENTS', 'its code';

my $all = '/api/admin/vwr/status';
my $numbers_of_all = call(GET => $all, 'all events', @operator)->json;

cmp_ok scalar $numbers_of_all->{events}->@*, '>=', 4, 'all events are there';
ok call(GET => $all, 'the first by id', @operator,
        query => 'after=&limit=1')->json->{next}, 'and there are more';

# lines that take no more, and what an operator says

queue(POST => $check, 'ben', 'too long', event => 'long');
queue(POST => $check, 'ben', 'full', event => 'none');
call(POST => $activate, 'activate', @operator, event => 'none');
wait_until { get($port, '/vwr-api/status/none')->json->{isActive} };
is call(POST => $assign, 'full', event => 'none')->json->{code}, 'QUEUE_FULL',
    'its code';

for my $hold (map { "$_/hold/{event}" } qw(/api/queue/admin /api/admin/vwr)) {
    call(GET => $hold, 'not held', @operator);
    call(PUT => $hold, 'held', @operator);
    call(GET => $hold, 'held', @operator);
    call(DELETE => $hold, 'let go', @operator);
    call(GET => $hold =~ s/hold/backend/r, 'its backend', @operator);
}

for my $notice (map { "$_/notice/{event}" } qw(/api/queue/admin /api/admin/vwr))
{
    call(GET => $notice, 'none', @operator);
    call(PUT => $notice, 'set', @operator, json => { ko => 'x', en => 'y' });
    call(PUT => $notice, 'nothing', @operator, json => {});
    call(GET => $notice, 'set', @operator);
    wait_until { get($port, '/vwr-api/status/concert')->json->{notice} };
    call(GET => $room, 'with a notice');
    queue(GET => $status, 'ben', 'with a notice');
    queue(POST => $check, 'ben', 'with a notice');
    call(GET => $all, 'with a notice', @operator);
    call(DELETE => $notice, 'ended', @operator);
}

# ---- a sale with a time

for my $schedule (map { "$_/schedule/{event}" }
                  qw(/api/queue/admin /api/admin/vwr))
{
    call(GET => $schedule, 'none', @operator, @sale);
    call(PUT => $schedule, 'before', @operator, @sale,
         json => { opens => '2190-01-01T00:00:00+09:00' });
    call(GET => $schedule, 'set', @operator, @sale);
    wait_until { (get($port, '/vwr-api/status/sale')->json->{phase} // '')
                 eq 'before' };
    call(GET => $room, 'before', @sale);
    is call(POST => $assign, 'before', @sale)->json->{code}, 'NOT_OPEN', 'code';
    is queue(POST => $check, 'ben', 'before', @sale)->json->{code}, 'NOT_OPEN',
        'code';
    queue(GET => $status, 'ben', 'before', @sale);

    call(PUT => $schedule, 'gathering', @operator, @sale,
         json => { opens => '2020-01-01T00:00:00Z',
                   starts => '2190-01-01T00:00:00.5Z' });
    wait_until { get($port, '/vwr-api/status/sale')->json->{isActive} };
    my $r = call(POST => $assign, 'gathering', @sale)->json;
    call(GET => $poll, 'gathering', @sale, ticket => $r->{requestId}, headers =>
         [ 'x-admission-visitor' => $r->{visitor} ]);
    is call(POST => $_, 'gathering', @operator, @sale)->json->{code},
        'GATHERING', 'code' for $deactivate, $advance;
    call(POST => $activate, 'gathering', @operator, @sale,
         query => 'restart=1');
    queue(POST => $check, 'ben', 'gathering', @sale);
    call(GET => $all, 'gathering', @operator);

    call(PUT => $schedule, 'closed', @operator, @sale,
         json => { closes => '2020-01-01T00:00:00Z' });
    wait_until { get($port, '/vwr-api/status/sale')->json->{phase}
                 eq 'closed' };
    is call(POST => $assign, 'closed', @sale)->json->{code}, 'CLOSED', 'code';
    is queue(POST => $check, 'cho', 'closed', @sale)->json->{code}, 'CLOSED',
        'code';
    call(PUT => $schedule, 'no times', @operator, @sale, json => {});
    call(PUT => $schedule, 'no date', @operator, @sale, json => { opens => 'x' });
    call(DELETE => $schedule, 'unset', @operator, @sale);
}

# ---- and its draw

my ($draw, @drawn) = ('/vwr-api/draw/{event}', event => 'lots');
is call(GET => $draw, 'no draw', @sale)->json->{code}, 'NO_DRAW', 'its code';
call(GET => $draw, 'not open', @drawn);

my $times = '/api/admin/vwr/schedule/{event}';
call(PUT => $times, 'gathering', @operator, @drawn,
     json => { opens => '2020-01-01T00:00:00Z',
               starts => '2190-01-01T00:00:00Z' });
wait_until { get($port, '/vwr-api/draw/lots')->json->{commitment} };
call(GET => $draw, 'gathering', @drawn);
call(POST => $assign, 'no user', @drawn);
my $mine = call(POST => $assign, 'a lot', @drawn, bearer => $user{ann})->json;
call(GET => $poll, 'a lot', @drawn, ticket => $mine->{requestId}, headers =>
     [ 'x-admission-visitor' => $mine->{visitor} ]);

for my $beacon (map { "$_/draw/{event}" } qw(/api/queue/admin /api/admin/vwr)) {
    call(GET => $beacon, 'not told', @operator, @drawn);
    call(GET => $beacon, 'no draw', @operator, @sale);
    is call(POST => $beacon, 'no draw', @operator, @sale,
            json => { beacon => 'ab' x 16 })->json->{code}, 'NO_DRAW', 'code';
    call(POST => $beacon, 'no value', @operator, @drawn, json => {});
    call(POST => $beacon, 'too early', @operator, @drawn,
         json => { beacon => 'ab' x 16 });
}
call(PUT => $times, 'open', @operator, @drawn,
     json => { starts => '2020-01-01T00:00:00Z' });
wait_until { get($port, '/vwr-api/draw/lots')->json->{lots} };
call(GET => $draw, 'counted', @drawn);
for my $set (map { "$_/schedule/{event}" } qw(/api/queue/admin /api/admin/vwr)) {
    is call(PUT => $set, 'drawn', @operator, @drawn, json => {})->json->{code},
        'DRAWN', 'its code';
    call(DELETE => $set, 'drawn', @operator, @drawn);
}
for my $beacon (map { "$_/draw/{event}" } qw(/api/queue/admin /api/admin/vwr)) {
    call(POST => $beacon, 'told', @operator, @drawn,
         json => { beacon => 'AB' x 16 });
    call(POST => $beacon, 'another', @operator, @drawn,
         json => { beacon => 'ac' x 16 });
    call(GET => $beacon, 'told', @operator, @drawn);
}
wait_until { get($port, '/vwr-api/draw/lots')->json->{seed} };
call(GET => $draw, 'drawn', @drawn);
call(GET => $poll, 'drawn', @drawn, ticket => $mine->{requestId}, headers =>
     [ 'x-admission-visitor' => $mine->{visitor} ]);

call(PUT => "/api/admin/vwr/notice/{event}", 'set', @operator,
     event => 'none', json => { en => 'y' });
wait_until { get($port, '/vwr-api/status/none')->json->{notice} };
queue(POST => $check, 'ben', 'full, with a notice', event => 'none');

call(DELETE => $rate, 'rate of the configuration', @operator);
call(POST => $deactivate, 'deactivate', @operator);


# ---- health

# streams: their first message

sub stream ($path, $uri, $what, %opt) {
    my $stream = Admission::Stream->open($opt{port} // $port, $uri, %opt);
    my $at = [ 'paths', $path, 'get', 'responses', 200, 'content',
               'text/event-stream', 'schema' ];

    $seen{"GET $path"}{200} = 1;
    is_deeply [ map { "$_" } $api->validate($stream->message, $api->get($at)) ],
        [], "$path, $what";
}

my ($of_user, $of_ticket) = ('/api/queue/stream/{event}',
                             '/vwr-api/stream/{event}/{requestId}');

stream($of_user, '/api/queue/stream/full', 'not in', bearer => $user{cho});
queue(GET => $of_user, 'cho', 'sold out', @seated, query => 'join=1');
is post($port, '/tier1/queue/check/concert', bearer => $user{ann})->status, 200,
    'in';
stream($of_user, '/api/queue/stream/concert', 'in', bearer => $user{ann});
stream($of_ticket, "/vwr-api/stream/seated/$lot->{requestId}", 'of a ticket',
       headers => [ 'x-admission-visitor' => $lot->{visitor} ]);

call(GET => '/healthz', 'live');
wait_until { get($port, '/readyz')->status == 200 } 20;
call(GET => '/readyz', 'ready');


# ---- what the gate answers

my $gate = $api->get([ 'components', 'responses', 'Gate', 'content',
                       'application/json', 'schema' ]);

for ([ 401, 'USER_REQUIRED' ],
     [ 403, 'TIER2_REQUIRED', bearer => $user{cho} ])
{
    my ($expected, $code, %opt) = @$_;
    my $r = get($port, '/gated', %opt);

    is $r->status . ' ' . $r->json->{code}, "$expected $code",
        "the gate: $code";
    is_deeply [ $api->validate($r->json, $gate) ], [], "the gate: its answer";
}


# ---- what is refused, of every call

my %paths = $api->get([ 'paths' ])->%*;
my @calls;

for my $path (sort keys %paths) {
    push @calls, map { [ uc, $path ] } grep { /^(?:get|put|post|delete)$/ }
                 sort keys $paths{$path}->%*;
}

my $many = $site->nginx->port('limited');

# credentials that the call asks for

sub who ($path) {
    return $path =~ m{/admin/} ? @operator
           : $path =~ m{/queue/} ? (bearer => $user{ann}) : ();
}

# a browser of another site, by cookie

sub stranger ($path) {
    return (headers => [ 'Sec-Fetch-Site' => 'cross-site' ],
            cookies => { access_token => $path =~ m{/admin/}
                         ? user_token($Admission::Site::SECRETS{user},
                                      userId => 'op', role => 'admin')
                         : $user{ann} });
}

sub number ($path) {
    return $path =~ /threshold/ ? (query => 'threshold=1')
           : $path =~ /slots/ ? (query => 'slots=1')
           : $path =~ /complete/ ? (query => 'user=ann')
           : $path =~ /rate/ ? (query => 'rate=1')
           : $path =~ /schedule/ ? (json => {})
           : $path =~ m{admin.*/draw/} ? (json => { beacon => 'ab' x 16 })
           : $path =~ /notice/ ? (json => { en => 'x' }) : ();
}

my %refused = (
    400 => sub ($m, $p) {
        call($m, $p, "$m $p", who($p), event => 'a%20b', query => 'limit=0');
    },
    401 => sub ($m, $p) {
        call($m, $p, "$m $p", number($p), $p =~ /assign/ ? @drawn : ());
    },
    403 => sub ($m, $p) {
        return call($m, $p, "$m $p", stranger($p), query => 'join=1')
            if $p =~ m{/stream/};

        my $r = call($m, $p, "$m $p",
                     $m eq 'GET' ? (bearer => $user{ann}) : stranger($p));
        is $r->json->{code}, $m eq 'GET' ? 'FORBIDDEN' : 'CROSS_SITE',
            "$m $p: its code";
    },
    404 => sub ($m, $p) {
        call($m, $p, "$m $p", who($p), event => 'unknown', number($p));
    },
    413 => sub ($m, $p) {
        call($m, $p, "$m $p", who($p), number($p), body => ' ' x 5000,
             $p =~ /notice/ ? (json => { en => 'x' x 5000 })
             : $p =~ /schedule/ ? (json => { opens => 'x' x 5000 })
             : $p =~ m{admin.*/draw/} ? (json => { beacon => 'a' x 5000 })
             : ());
    },
    429 => sub ($m, $p) {
        my $uri = $p =~ s/\{event\}/concert/r =~ s/\{requestId\}/x/r;
        request($many, $m, $uri, who($p));
        call($m, $p, "$m $p", who($p), port => $many);
    },
    503 => sub ($m, $p) {
        call($m, $p, "$m $p", who($p), port => $alone->port,
             ticket => $ticket->{requestId}, number($p));
    },
);

for my $call (@calls) {
    my ($method, $path) = @$call;
    my $answers = $api->get([ 'paths', $path, lc $method, 'responses' ]);

    for my $expected (sort keys %$answers) {
        next if !$refused{$expected};

        my $before = delete $seen{"$method $path"}{$expected};
        $refused{$expected}->($method, $path);

        ok $seen{"$method $path"}{$expected}, "$method $path: $expected";
        $seen{"$method $path"}{$expected} ||= $before;
    }
}

# a wrong method is of the path: told of each of its methods

for my $path (sort keys %paths) {
    my $uri = $path =~ s/\{event\}/concert/r =~ s/\{requestId\}/x/r;
    my $r = request($port, 'PATCH', $uri, who($path));

    fits($r, $_, $path, "PATCH $path")
        for map { $_->[0] } grep { $_->[1] eq $path } @calls;
}

for my $call (@calls) {
    my ($method, $path) = @$call;
    my $answers = $api->get([ 'paths', $path, lc $method, 'responses' ]);

    is_deeply [ sort keys $seen{"$method $path"}->%* ],
        [ sort keys %$answers ], "$method $path: each status was seen";
}

done_testing;
