# Every way to a token that the gate takes, but that of waiting, tried on
# README's configuration, each of conf-examples/ and the demo's, and what only a
# site of its own shows.  docs/security.md has the list, and why each is closed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Redis;
use Admission::Stream;
use Admission::Waiting;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $key = Admission::Keys->new('P-256', kid => 'key');
my $identity = Admission::Example::identity($key);
my $concert = '3f0c2b1e-0000-4000-8000-000000000001';
my $forged = 'forged-secret-of-the-test-0123456789-01';

my ($readme) = read_file(root . '/README.md') =~ /^```nginx\n(.*?)^```$/ms;
my $demo = demo();

# users   how an example knows them: "keys" and "gateway" are elsewhere
# room    where operators switch its waiting room
# listed  a list is the switch, and the event is in it
# queue   where operators look after its queue
# gated   what a token is needed for: of tier 1, of tier 2

my %example = (
    README => {
        text => $readme, event => 'spring-concert', users => 'visitor',
        room => '/api/admin/vwr', queue => '/api/queue/admin',
        gated => [ '/', '/book/' ] },
    demo => {
        text => $demo, event => $concert, users => 'jwt',
        room => '/api/admin/vwr', queue => '/api/queue/admin',
        gated => [ "/seats/$concert", '/api/reservations',
                   "/api/seats/$concert" ] },
    'two-tiers' => {
        event => $concert, users => 'jwt', room => '/api/admin/vwr',
        queue => '/api/queue/admin',
        gated => [ "/events/$concert", "/api/seats/$concert",
                   "/api/v1/seats/$concert", '/api/reservations' ] },
    sale => {
        event => $concert, users => 'jwt', room => '/api/admin/vwr',
        queue => '/api/queue/admin',
        gated => [ "/events/$concert", "/api/seats/$concert",
                   "/api/v1/seats/$concert", '/api/reservations' ] },
    'active-events' => {
        event => $concert, users => 'jwt', listed => 1,
        queue => '/api/queue/admin',
        gated => [ "/events/$concert", "/api/seats/$concert" ] },
    cdn => {
        event => $concert, users => 'jwt', room => '/api/admin/vwr',
        queue => '/api/queue/admin', edge => 'X-Edge-Auth',
        gated => [ "/api/seats/$concert", '/api/reservations' ] },
    spa => {
        event => $concert, users => 'jwt', room => '/v1/admin/vwr',
        queue => '/v1/queue/admin',
        gated => [ "/v1/seats/$concert", '/v1/reservations' ] },
    migration => {
        event => $concert, users => 'jwt', room => '/api/admin/vwr',
        queue => '/api/queue/admin', gated => [
            "/events/$concert", "/queue/$concert", "/api/seats/$concert",
            "/api/seats/events/$concert" ] },
    'waiting-room' => {
        event => 'site', users => 'none', room => '/vwr-admin',
        gated => [ '/', '/book/' ] },
    following => {
        event => 'site', users => 'none', room => '/vwr-admin',
        gated => [ '/', '/book/' ] },
    standby => {
        event => 'site', users => 'none', room => '/vwr-admin',
        gated => [ '/', '/book/' ] },
    streams => {
        event => 'shop', users => 'visitor', queue => '/api/queue/admin',
        gated => [ '/shop/' ] },
    visitors => {
        event => 'shop', users => 'visitor', queue => '/api/queue/admin',
        gated => [ '/shop/' ] },
    queue => {
        users => 'jwt', queue => '/api/queue/admin',
        gated => [ '/api/reservations' ] },
    seats => {
        event => 'spring-concert', users => 'jwt', queue => '/api/queue/admin',
        gated => [ '/api/seats/spring-concert', '/api/reservations' ] },
    'front-controller' => {
        event => 'spring-concert', users => 'jwt', queue => '/api/queue/admin',
        gated => [ '/events/spring-concert' ] },
    'rate-limits' => {
        users => 'jwt', queue => '/api/queue/admin',
        gated => [ '/api/reservations' ] },
    observability => {
        event => 'spring-concert', users => 'jwt',
        queue => '/api/queue/admin', gated => [ '/api/reservations' ] },
    'identity-service' => {
        event => 'spring-concert', users => 'keys',
        queue => '/api/queue/admin', gated => [ '/api/reservations' ] },
    'auth-request' => {
        event => 'spring-concert', users => 'gateway',
        queue => '/api/queue/admin', gated => [ '/api/reservations' ] },
    'failing-backends' => {
        event => 'spring-concert', users => 'jwt', queue => '/api/queue/admin',
        gated => [ '/api/reservations' ] },
);

# the same configuration as another one, but for Redis
my %not = ('redis-cluster-tls' => 1);

is_deeply [ sort map { m{([^/]+)\.conf$} } glob root . '/conf-examples/*.conf' ],
    [ sort keys %not, grep { $_ ne 'README' && $_ ne 'demo' } keys %example ],
    'each example is tried';

for my $name ('README', 'demo', sort grep { /^[a-z]/ && $_ ne 'demo' }
              keys %example)
{
    subtest $name => sub { attack($name, $example{$name}->%*) };
}

# ---- a site of its own

my $site = waiting_site(
    redis_opt => { clock => 1 }, timeout => '30s',
    events => 'default vwr_rate=0 threshold=100;
               late vwr_rate=0 threshold=100 token_ttl=25s;',
    http => 'server {
                 listen 127.0.0.1:%%PORT_to%%;
                 location / { add_header X-Accel-Redirect $arg_to;
                              return 200; }
             }',
    server => <<'END');
        location /dry/queue/ { admission_tier1 auto; admission_dry_run on;
                               admission_queue_api; }

        location /late/      { admission_event late; admission_tier1 auto;
                               empty_gif; }

        # roads to the API

        location /accel/  { proxy_pass http://127.0.0.1:%%PORT_to%%; }
        location /last/   { rewrite ^/last(/.*)$ $1 last; }
        location /break/  { rewrite ^/break(/.*)$ $1 break;
                            admission_tier1 auto; admission_queue_api; }
        location /try/    { try_files /none $arg_to; }
        location /error/  { error_page 404 = $arg_to; return 404; }
        location /denied/ { admission_tier1 on; admission_event concert;
                            admission_deny status; empty_gif;
                            error_page 403 = @join; }
        location /named/  { error_page 404 = @join; return 404; }
        location @join    { rewrite ^ /q/check/concert break;
                            admission_tier1 auto; admission_queue_api; }
        location /if/     { admission_tier1 auto; admission_queue_api;
                            if ($arg_x) { set $a 1; } }
        location /mirror/ { mirror /tier1/queue/check/concert; empty_gif; }
        location /auth/   { auth_request /tier1/queue/check/concert;
                            empty_gif; }
        location /vwr/    { admission_page tier1; }
END

sub joins ($who, $visitor, $path = '/tier1/queue/check/concert', %opt) {
    my $r = visit($site, 0, $visitor, 'POST', $path,
                  bearer => $site->user($who), %opt);
    return ($r->json // {})->{status} // ($r->json // {})->{code}
           // $r->status;
}

subtest 'one ticket is one user, however late' => sub {
    my $path = '/tier1/queue/check/late';

    operator($site, POST => 'activate/late');

    my ($ann, $ben) = ({}, {});
    assign($site, 0, $_, event => 'late') for $ann, $ben;
    advance_past($site, 'late');

    my $ticket = $ann->{'admission-ticket-late'};
    my $at = jwt_decode($ticket)->{t};

    is jwt_decode(check($site, 0, $ben, $ben->{'admission-ticket-late'},
                        event => 'late')->json->{token})->{ticket}, undef,
        'a token with priority has a time of its own';

    my $token;

    $site->redis->set_clock(26);
    wait_until {
        $token = jwt_decode(check($site, 0, $ann, $ticket, event => 'late')
                            ->json->{token});
        !defined $token->{at}
    } 20;

    is $token->{ticket}, $at, 'a late one names its ticket';

    my @jars = map { { %$ann } } 1 .. 4;

    is joins('ann', $jars[0], $path), 'active', 'its visitor joins';
    is joins("thief$_", $jars[$_], $path), 'POSITION_USED',
        "and nobody else by it, thief $_" for 1, 2;
    is $jars[1]{'urr-vwr-token-late'}, undef, 'who is sent for a new one';

    joins('ann', $jars[0], '/tier1/queue/leave/late');
    is joins('thief3', $jars[3], $path), 'POSITION_USED', 'not when she left';
    is joins('ann', { %$ann }, $path), 'active', 'she may come again';

    # renewed by the gate, it still says so

    my %of = map { $_ => $token->{$_} } qw(act vis adm ticket);
    my ($now) = $site->redis->cmd('TIME')->@*;
    my $cookie = { %$ben, 'admission-visitor' => $ann->{'admission-visitor'},
                   'urr-vwr-token-late' => tier1_token(
                       $Admission::Site::SECRETS{tier1}, sub => 'late',
                       uid => 'u', %of, position => undef,
                       iat => $now - 9, exp => $now + 5) };
    my $r = request($site->port, GET => '/late/', cookies => $cookie);

    is $r->status, 200, 'the gate takes it';
    is jwt_decode($r->cookie('urr-vwr-token-late') // '..')->{ticket}, $at,
        'and renews it as it is';
};


subtest 'by whatever road a call comes to the API' => sub {
    operator($site, POST => 'activate/concert');
    wait_until { get($site->port, '/events/x')->status == 403 } 20;

    my $to = '/tier1/queue/check/concert';
    my %road = ("/last$to" => 'TIER1_REQUIRED',
                "/break$to" => 'TIER1_REQUIRED',
                "/try/?to=$to" => 'TIER1_REQUIRED',
                "/named/" => 'TIER1_REQUIRED',
                "/denied/" => 'TIER1_REQUIRED',
                '/if/check/concert' => 'TIER1_REQUIRED',
                '/if/check/concert?x=1' => 'TIER1_REQUIRED',
                # these go on with GET
                "/accel/?to=$to" => 'METHOD_NOT_ALLOWED',
                "/error/?to=$to" => 'METHOD_NOT_ALLOWED');

    is joins('mallory', {}, $_), $road{$_}, $_ for sort keys %road;

    # where they lead to the operators', there are none of users'

    is joins('mallory', {}, "$_/api/queue/admin/check/concert"), 'NOT_FOUND',
        "$_ to operators'" for '/last', '/try/?to=';

    # subrequests are refused; what they are part of goes on as it does

    $site->nginx->allow(qr/an API is called by a subrequest/);
    joins('mallory', {}, $_) for '/mirror/', '/auth/';

    is $site->redis->cmd('EXISTS', map { $site->key($_) } qw(active queue)), 0,
        'nobody came in';
};


subtest 'what is of somebody else, or of another kind' => sub {
    my $mallory = {};
    my %headers = (entry => 'x-queue-entry-token', place => 'x-queue-place',
                   tier1 => 'x-vwr-token', ticket => 'x-admission-ticket',
                   visitor => 'x-admission-visitor');

    # ann has all that there is: she waited

    my $ann = {};
    assign($site, 0, $ann);
    advance_past($site);
    check($site, 0, $ann, $ann->{'admission-ticket-concert'});
    request($site->port, PUT => '/api/queue/admin/threshold/concert'
            . '?threshold=0', bearer => $Admission::Site::SECRETS{admin});
    is joins('ann', $ann), 'queued', 'ann waits';
    request($site->port, PUT => '/api/queue/admin/threshold/concert'
            . '?threshold=9', bearer => $Admission::Site::SECRETS{admin});
    wait_until { joins('ann', $ann) eq 'active' } 20;

    my %ann = (ticket => $ann->{'admission-ticket-concert'},
               visitor => $ann->{'admission-visitor'},
               tier1 => $ann->{'urr-vwr-token-concert'},
               place => $ann->{'urr-queue-place-concert'},
               entry => $ann->{'urr-entry-token-concert'});

    is scalar(grep { !defined } values %ann), 0, 'and has all tokens';

    # each as each, but for her visitor's: who has that is that browser

    assign($site, 0, $mallory);

    for my $as (sort keys %headers) {
        for my $what (sort grep { $_ ne 'visitor' } keys %ann) {
            my %opt = (headers => [ $headers{$as} => $ann{$what} ]);

            is joins('mallory', { %$mallory }, '/tier1/queue/check/concert',
                     %opt), 'TIER1_REQUIRED', "her $what as $as: no joining";
            is visit($site, 0, { %$mallory }, 'GET', $_, %opt,
                     bearer => $site->user('mallory'))->status, 403,
                "her $what as $as: not $_" for '/events/x', '/both/x';
        }
    }

    # both of hers: her browser, but one ticket is one user's

    is joins('mallory', { %$ann }), 'POSITION_USED', 'with her whole jar';

    # nor does an event stand for another one

    is joins('ann', { %$ann }, '/tier1/queue/check/late', headers =>
             [ map { $headers{$_} => $ann{$_} } sort keys %ann ]),
        'active', 'ann is in there, by what she has of it';
    is joins('ben', {}, '/tier1/queue/check/late', headers =>
             [ map { $headers{$_} => $ann{$_} } sort keys %ann ]),
        'TIER1_REQUIRED', 'nobody by hers of another event';

    # one key of Idempotency-Key is one ticket, from one address

    my @same = map {
        post($site->port, '/vwr-api/assign/concert',
             headers => [ 'Idempotency-Key' => 'one key for two calls' ])->json
    } 1, 2;
    is $same[0]{requestId}, $same[1]{requestId}, 'one key, one ticket';
    is jwt_decode($same[0]{visitor})->{vis}, jwt_decode($same[1]{visitor})
       ->{vis}, 'of one visitor';
    isnt assign($site, 0, { %$mallory }, headers =>
                [ 'Idempotency-Key' => 'one key for two calls' ])->json->{requestId},
        $same[0]{requestId}, 'who shows another one gets another one';

    # nothing ahead of time

    my @speculative = ('Sec-Purpose' => 'prefetch', Accept => 'text/html');
    my $issued = operator($site, GET => 'status/concert')->json->{nextPosition};
    is post($site->port, '/vwr-api/assign/concert', headers => \@speculative)
       ->json->{code}, 'PREFETCH', 'no ticket';
    is_deeply get($site->port, '/vwr/concert?nojs=1', headers =>
                  [ @speculative, 'Sec-Fetch-Mode' => 'navigate' ])->cookies,
        {}, 'nor without JavaScript';
    is operator($site, GET => 'status/concert')->json->{nextPosition}, $issued,
        'none was issued';
    is joins('eve', { %$ann }, '/tier1/queue/check/concert',
             headers => [ 'Sec-Purpose' => 'prefetch' ]), 'not_in_queue',
        'and nobody joins';
};


subtest 'what was got while the waiting room was off' => sub {
    my $cho = {};
    my @at = (event => 'off');

    # a ticket, of an activation that is over

    operator($site, POST => 'activate/off');
    assign($site, 0, {}, @at) for 1 .. 3;
    assign($site, 0, $cho, @at);
    my $ticket = $cho->{'admission-ticket-off'};

    ok !check($site, 0, $cho, $ticket, @at)->json->{admitted}, 'a ticket waits';
    operator($site, POST => 'deactivate/off');
    wait_until { check($site, 0, $cho, $ticket, @at)->json->{token} } 20;
    ok $cho->{'urr-vwr-token-off'}, 'all are let in';

    # who joins then needs nothing, and is in

    is joins('dan', {}, '/tier1/queue/check/off'), 'active', 'the queue, too';

    operator($site, POST => 'activate/off');
    wait_until { joins('x', {}, '/tier1/queue/check/off')
                 eq 'TIER1_REQUIRED' } 20;

    is joins('cho', { %$cho }, '/tier1/queue/check/off'), 'TIER1_REQUIRED',
        'a token of before is of another activation';
    is check($site, 0, $cho, $ticket, @at)->status, 404, 'so is the ticket';
    is joins('dan', {}, '/tier1/queue/check/off'), 'active',
        'who is in stays in';

    # until the operator clears: which ends tokens, places and slots

    request($site->port, POST => '/api/queue/admin/clear/off',
            bearer => $Admission::Site::SECRETS{admin});
    is joins('dan', {}, '/tier1/queue/check/off'), 'TIER1_REQUIRED',
        'a clear after the activation has everybody wait';
};


subtest 'a dry run lets in, and nothing else does' => sub {
    is joins('fay', {}, '/dry/queue/check/concert'), 'active',
        'what would be refused is not';
    is joins('gil', {}), 'TIER1_REQUIRED', 'but elsewhere';
    like $site->nginx->error_log, qr/\[warn\].*is in a dry run/,
        'of which nginx -t warns';
};


# The demo's, with what demo.sh puts into it; its backend is another one.

sub demo () {
    my $text = read_file(root . '/demo/nginx.conf');

    my %words = (MODULE => 'none', PORT => 8080, EVENT => $concert,
                 RECITAL => '3f0c2b1e-0000-4000-8000-000000000002',
                 SALE => '3f0c2b1e-0000-4000-8000-000000000003');

    # its sale opens when the demo is started, and starts a minute later
    @words{qw(OPENS STARTS)}
        = map { strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + $_)) } 0, 60;

    $text =~ s/\@(MODULE|PORT|EVENT|RECITAL|SALE|OPENS|STARTS)\@/$words{$1}/g;
    $text =~ s{unix:\@DIR\@/redis\.sock}{redis://127.0.0.1:6379};
    $text =~ s{unix:\@DIR\@/backend\.sock}{127.0.0.1:3000};
    $text =~ s{^\s*(?:daemon|\w+_temp_path)\s.*\n}{}mg;
    $text =~ s{listen\s+127\.0\.0\.1:8080;}{listen 8080;};
    return $text;
}


# What a stream begins with, as an answer; undef: there is none.

sub told ($port, $path, %opt) {
    my $stream = Admission::Stream->open($port, $path, %opt);
    my $message = ($stream->header('Content-Type') // '') eq 'text/event-stream'
                  ? $stream->message : undef;

    $stream->close;
    return $message && Admission::HTTP::Response->new(
        status => $stream->status, body => json_encode($message),
        headers => $stream->{head}->headers);
}


# Starts an example, closes it (nobody's turn comes: the waiting room stands
# still, or nobody may be in), and asks for a token in all ways.

sub attack ($name, %is) {
    $redis->flushall;

    my $text = $is{text} // read_file(root . "/conf-examples/$name.conf");
    my $event = $is{event}
                // ($text =~ /^\s+(\S+)\s+threshold=\d+\s*\n?\s*"title=/m)[0];

    # they are not what is tried, and would have most calls refused
    $text =~ s/\brate=\d+r\/[smh]/rate=1000000r\/s/g;

    $text =~ s/\bvwr_rate=\d+/vwr_rate=0/ if $is{listed};

    my $elsewhere = $is{users} =~ /^(?:keys|gateway)$/;
    my $example = Admission::Example->start(
        $name, redis => $redis, text => $text,
        backend => $elsewhere ? { 3001 => $identity, 3002 => $backend }
                              : $backend);
    my $port = $example->port;
    my @operator = $text =~ /^\s*admission_secret\s+admin/m
        ? (bearer => $example->secret('admin'))
        : $elsewhere
        ? (bearer => Admission::Example::token_by($key, 'op', 'admin'))
        : (bearer => user_token($example->secret('user'), userId => 'op',
                                role => 'admin'));

    my $operate = sub ($method, $path) {
        my $r;

        # keys of the identity service may be on their way
        wait_until { $r = request($port, $method, $path, @operator);
                     $r->status != 503 } 20;
        return $r->status == 200 ? 1
                                 : diag("$method $path: ", $r->raw) && 0;
    };

    # what the host knows, it has heard from Redis

    if (my $room = $is{room}) {
        ok $operate->(PUT => "$room/rate/$event?rate=0"), 'it stands still';
        ok $operate->(POST => "$room/activate/$event?restart=1"),
            'the waiting room is on';

    } elsif (!$is{listed}) {
        ok $operate->(PUT => "$is{queue}/threshold/$event?threshold=0"),
            'nobody may be in';
    }

    my $refused = 302;
    ok((wait_until {
        $refused = get($port, $is{gated}[0])->status;
        $refused == 403 || $refused == 401
    } 20), 'the gate is closed') or diag $refused;

    # a visitor that has a ticket, and a user

    my $vwr = ($text =~ m{location\s+(\S+?)/?\s*\{\s*(?:admission_rate_limit
                          [^;]*;\s*)*admission_vwr_api}x)[0];
    my $ticket = {};

    # which "vwr=on" makes active a moment after the start
    wait_until { $ticket = post($port, "$vwr/assign/$event")->json;
                 $ticket->{requestId} || !($is{room} || $is{listed}) } 10
        if $vwr;
    my $user = $is{users} eq 'jwt'
        ? user_token($example->secret('user'), userId => 'mallory')
        : $is{users} eq 'keys'
        ? Admission::Example::token_by($key, 'mallory') : undef;

    my $tier1 = $is{room} || $is{listed};
    ok $ticket->{requestId}, 'there are tickets' if $tier1;

    my @who = (($user ? (bearer => $user) : ()),
               ($ticket->{visitor}
                ? (cookies => { 'admission-visitor' => $ticket->{visitor} })
                : $is{users} eq 'gateway'
                ? (cookies => { session => 'mallory' }) : ()));

    my (@got, %seen, $asked);
    my $connection = Admission::HTTP->connect($port);

    my $try = sub ($method, $path, %opt) {
        my $r = ($method eq 'GET' && $path =~ m{stream/}
                 ? told($port, $path, @who, %opt) : undef)
            // ($connection->can('send')
                ? $connection->request($method, $path, @who, %opt)
                : $connection);
        my $json = eval { $r->json };
        my $set = $r->cookies;

        $asked++;
        $seen{$r->status}++;

        push @got, "$method $path: " . $r->status
            if (ref $json eq 'HASH'
                && grep { defined $json->{$_} } qw(entryToken token))
               || grep { /^urr-(?:vwr|entry)-token/ && $set->{$_}{value} ne '' }
                       keys %$set;

        if (!$r->status || lc($r->header('Connection') // '') eq 'close') {
            $connection->close if $connection->can('close');
            $connection = Admission::HTTP->connect($port);
        }

        return $r;
    };

    # every place that the locations of any example may be at

    my @prefix = ('', map { my $v = $_; map { "$v$_" } qw(queue queue/admin
                  admin/queue vwr admin/vwr) } qw(/api/ /api/v1/ /v1/));
    push @prefix, qw(/vwr-api /vwr-admin /vwr /queue /admin /demo/queue
                     /demo/login /events /static /payment /book /shop
                     /api/seats /API/queue);

    my $E = uc $event;
    my $t = $ticket->{requestId} // 'T';
    my $quoted = join '', map { sprintf '%%%02x', ord } split //, $event;
    my @call = map { ("$_/$event", "$_/other/$_/$event") }
               qw(check status heartbeat assign leave stream complete);
    push @call, "check/$E", "check/$quoted", "%63heck/$event",
        "/check/$event", "./check/$event", "x/../check/$event",
        "admin/check/$event", "admin/../check/$event", "admin%2fcheck/$event",
        "admin/%2e%2e/check/$event", "admin/check/$event/status/$event",
        "check/$event/status/$event", "status/x/check/$event",
        "check/$event/", "check/$event/$t", "admin/check/$event/$t",
        "check/$event?nojs=1", "$event?nojs=1", "check/$event?vwrPosition=1",
        "stream/$event?join=1", "stream/$event/$t", "join/$event",
        "token/$event", "restore/$event", "activate/$event";

    for my $prefix (@prefix) {
        $try->($_->[0], "$prefix/$_->[1]")
            for map { [ POST => $_ ], [ GET => $_ ] } @call;
    }

    # the calls that there are, by everything that a request may have

    my @api = grep { defined } $vwr,
              map { s{/admin$}{}r } grep { defined } $is{queue};

    my $claims = { sub => $event, uid => 'mallory', tier => 1, position => 1,
                   at => 1, act => 1, adm => 1, vis => 'mallory',
                   exp => time + 600, iat => time };
    my %bad = (
        'x-vwr-token' => jwt_sign($claims, $forged),
        'x-queue-entry-token' => jwt_sign({ %$claims, tier => 2 }, $forged),
        'x-queue-place' => jwt_sign({ %$claims, score => 2, epoch => 1 },
                                    $forged),
        'x-admission-ticket' => $ticket->{requestId} // 'x',
        'x-admission-visitor' => jwt_sign({ vis => 'mallory',
                                            exp => time + 600 }, $forged));

    # an entry token of another user, of this event and of another one, as any
    # kind that it may be shown for

    my $key = $example->secret('tier2') // $forged;
    my @others = map { my $token = entry_token($key, sub => $_,
                                               uid => 'somebody');
                       map { [ $_ => $token ] }
                           qw(x-queue-entry-token x-queue-place x-vwr-token
                              x-admission-ticket x-admission-visitor) }
                 $event, 'another';

    for my $api (@api) {
        for my $call ("check/$event", "check/$event/$t", "heartbeat/$event",
                      "status/$event")
        {
            for my $method (qw(POST GET HEAD PUT PATCH DELETE OPTIONS
                               PROPFIND post FOO))
            {
                $try->($method, "$api/$call");
                $try->($method, "$api/$call", headers => [ %bad ]);
            }

            $try->(POST => "$api/$call", headers => $_)
                for [ 'Sec-Purpose' => 'prefetch' ],
                    [ 'Idempotency-Key' => 'x' x 20 ],
                    [ 'X-HTTP-Method-Override' => 'POST' ],
                    [ 'X-Original-URL' => "/api/queue/check/$event" ],
                    [ 'X-Accel-Redirect' => "/api/queue/check/$event" ],
                    [ 'X-Admission-Event' => $event, 'X-User-Id' => 'root' ],
                    [ Origin => "http://127.0.0.1:$port",
                      'Access-Control-Request-Method' => 'POST' ],
                    [ 'X-Edge-Auth' => 'x' ], [ 'X-Demo-Crowd' => 'x' ],
                    @others, map { [ $_ => $bad{$_} ] } sort keys %bad;

            # what a CDN adds to all that it sends on

            $try->(POST => "$api/$call", headers =>
                   [ $is{edge} => $example->secret('edge') ]) if $is{edge};
        }
    }

    is "@got", '', 'no token for anybody';
    cmp_ok $asked, '>', 1500, "$asked calls";
    ok !$seen{500} && !$seen{0}, 'each of them answered'
        or diag join ' ', map { "$_: $seen{$_}" } sort keys %seen;
    is_deeply $redis->cmd('ZRANGE', "{$event}:active", 0, -1), [],
        'and nobody is in';

    my $waiting = $redis->cmd('ZCARD', "{$event}:queue");
    $tier1 ? is $waiting, 0, 'nor in line' : ok $waiting, 'but in line';

    # and what is gated is closed to all of it

    my $hits = $backend->hits;
    my %status;

    for my $path ($is{gated}->@*) {
        for my $method (qw(GET HEAD POST PUT DELETE)) {
            $status{$try->($method, $path, headers => $_)->status}++
                for [ %bad ], @others;
        }
    }

    # two of them are gated for some methods, or not proxied at all
    is_deeply [ grep { !/^40[135]$/ } keys %status ], [], 'nothing passes'
        or diag join ' ', map { "$_: $status{$_}" } sort keys %status;
    is $backend->hits, $hits, 'no backend has heard of it';

    $connection->close if $connection->can('close');
    $example->nginx->quit;
}

done_testing;
