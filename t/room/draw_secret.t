# The secret of a draw before it is made: nothing that hosts answer or log, though
# it is all that they can, nor what they tell Redis, nor what it says to the user
# who only looks (docs/redis.md), has it, or a key that it is made of.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(hmac_sha256 sha256);
use MIME::Base64 qw(encode_base64 encode_base64url);
use POSIX qw(strftime);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;
use Admission::Stream;

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();
my $debug = (run($binary, '-V'))[1] =~ /--with-debug/;

my ($watch) = read_file(root . '/docs/redis.md')
              =~ /^    ACL SETUSER (watch .*?)\n\n/ms;
$watch =~ s/>PASSWORD/>watch/;

my $site = Admission::Site->start(
    instances => 2, timeout => '5s', log_level => $debug ? 'debug' : 'info',
    redis_opt => { config => [ 'user ' . join ' ', split ' ', $watch ] },
    events => 'default threshold=50;
               sale order=draw lots=visitor threshold=50 vwr_rate=1000;
               waits order=draw lots=visitor threshold=50 vwr_rate=1000
                     "draw_beacon=named 1";',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /vwr/           { admission_page tier1; }
        location /queue/         { admission_page tier2; }
        location /control        { admission_page admin; }
        location = /metrics      { admission_metrics; }
        location ~ ^/events/(?<of>[^/]+)$ {
            admission_event $of;
            admission_tier1 auto;
            empty_gif;
        }
END

my $redis = $site->redis;
my $monitor = $redis->monitor;
my $looker = $redis->client(user => 'watch', password => 'watch');
my @operator = (bearer => $Admission::Site::SECRETS{admin});
my @html = (headers => [ Accept => 'text/html',
                         'Sec-Fetch-Mode' => 'navigate' ]);

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub draw ($i, $event) {
    return get($site->port($i), "/vwr-api/draw/$event")->json // {};
}

sub schedule ($event, $starts) {
    my $now = now();
    my $r = request($site->port, PUT => "/api/admin/vwr/schedule/$event",
        @operator, json => { map {
            $_->[0] => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $now + $_->[1]) }
            [ opens => -10 ], [ starts => $starts ] });
    is $r->status, 200, "$event: the times" or diag $r->raw;
}

# however bytes may be written

sub ways ($bytes) {
    my $hex = unpack 'H*', $bytes;
    return ($bytes, $hex, uc $hex, encode_base64($bytes, '') =~ s/=+$//r,
            encode_base64url($bytes));
}

sub has ($text, @ways) { return grep { index($text, $_) >= 0 } @ways }

# all that Redis says to who only looks

sub looked () {
    my ($at, @all) = (0);

    do {
        ($at, my $keys) = $looker->cmd('SCAN', $at, 'COUNT', 1000)->@*;
        push @all, @$keys, map { $looker->cmd('DUMP', $_) // '' } @$keys;
        push @all, map { $_->@* } grep { ref } map {
            ($looker->try('HGETALL', $_))[0] } @$keys;
    } while $at;
    return join "\n", @all;
}

# all that hosts answer, with a ticket of the event

sub answers ($event, $ticket) {
    my @visitor = (headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ]);
    my @all;

    for my $port ($site->ports) {
        push @all, map { $_->raw } (
            get($port, "/vwr-api/check/$event/$ticket->{requestId}", @visitor),
            get($port, "/vwr-api/draw/$event"),
            get($port, "/vwr-api/draw/$event?secret=1&seed=1", @operator),
            get($port, "/vwr-api/status/$event"),
            post($port, "/vwr-api/assign/$event"),
            (map { get($port, $_, @operator) }
             '/api/admin/vwr/status', '/api/queue/admin/' . $event,
             map { "/api/admin/vwr/$_/$event" } qw(status schedule draw)),
            (map { request($port, POST => "/api/admin/vwr/$_", @operator) }
             "deactivate/$event", "activate/$event?restart=1",
             "advance/$event"),
            request($port, POST => "/api/queue/check/$event",
                    bearer => $site->user('u')),
            request($port, POST => "/api/admin/vwr/draw/$event", @operator,
                    json => { beacon => 'x' }),
            get($port, '/metrics'), get($port, '/control', @operator),
            get($port, "/events/$event"), get($port, "/events/$event", @html),
            map { get($port, $_, @html) } "/vwr/$event", "/queue/$event",
                "/vwr/$event?nojs=1", "/queue/$event?nojs=1");

        my $stream = Admission::Stream->open($port,
            "/vwr-api/stream/$event/$ticket->{requestId}", @visitor);
        push @all, $stream->{raw}, json_encode($stream->message // {});
    }
    return join "\n", @all;
}

sub told () { return join "\n", map { @$_ } $monitor->commands(scripts => 1) }

sub logs () {
    return join "\n", map { $_->error_log, read_file($_->dir . '/times.log') }
                      $site->nginx(0), $site->nginx(1);
}


# ---- who only looks

like [ $looker->try(@$_) ]->[1], qr/^NOPERM|can't run/, "may not @$_"
    for [ HSET => '{sale}:vwr', 'next', 1 ], [ EVAL => 'return 1', 0 ],
        [ EVALSHA => 'ab' x 20, 0 ], ['MONITOR'], [ KEYS => '*' ],
        [ CONFIG => GET => '*' ], [ SLOWLOG => 'GET' ], ['FLUSHALL'],
        [ DEL => '{sale}:vwr' ], [ GET => 'other' ];


# ---- before

my (%key, %ticket, %commitment, @secret);

for my $event (qw(sale waits)) {
    schedule($event, 3600);
    ok((wait_until { $commitment{$event} = draw($_, $event)->{commitment} }),
       "$event: host $_ tells the commitment") for 0, 1;
    $ticket{$event} = post($site->port, "/vwr-api/assign/$event")->json;
    is $ticket{$event}{lot}, 1, 'a lot';

    my $tier1 = $Admission::Site::SECRETS{tier1};
    my $draw = hmac_sha256('draw', $tier1);
    my $secret = hmac_sha256(pack('n/a*Q>', $event,
                                  draw(0, $event)->{activation}), $draw);
    is unpack('H*', sha256($secret)), $commitment{$event}, 'its secret';
    $key{$event} = $secret;
    push @secret, ways($secret), ways($draw), ways($tier1);
}

sub nothing ($when, @events) {
    my %seen = (
        answers => join("\n", map { answers($_, $ticket{$_}) } @events),
        logs => logs(), 'what Redis is told' => told(),
        'what Redis has' => looked(),
    );
    is_deeply [ has($seen{$_}, @secret) ], [], "$when, $_: no secret"
        for sort keys %seen;
    is scalar(has($seen{$_}, $commitment{ $events[0] })), 1,
        "$when, $_: the commitment would be seen"
        for 'answers', 'what Redis has',
            $when eq 'gathering' ? 'what Redis is told' : ();
}

nothing('gathering', qw(sale waits));


# ---- the lots are counted, and a beacon is awaited

schedule('waits', -1);
ok((wait_until { draw($_, 'waits')->{lots} }), "host $_ has counted") for 0, 1;
nothing('counted', 'waits');


# ---- the draw is made: it is told then, and fits, and Redis has it never

schedule('sale', -1);
is request($site->port, POST => '/api/admin/vwr/draw/waits', @operator,
           json => { beacon => 'ab' x 32 })->status, 200, 'the beacon';

for my $event (qw(sale waits)) {
    my $d;
    ok((wait_until { ($d = draw($_, $event))->{secret} }),
       "$event: host $_ has made it") for 0, 1;
    is $d->{secret}, unpack('H*', $key{$event}), 'with the secret';
    is $d->{commitment}, $commitment{$event}, 'and the commitment of before';
    my $c;
    ok((wait_until {
        $c = get($site->port, "/vwr-api/check/$event/"
                              . $ticket{$event}{requestId}, headers =>
                 [ 'X-Admission-Visitor' => $ticket{$event}{visitor} ])->json;
        $c->{token} }), 'the first is in');
    is_deeply [ has(json_encode($c), @secret) ], [], 'without the secret';
}

is_deeply [ has(logs(), @secret) ], [], 'no log has it';
is_deeply [ has(told(), @secret) ], [], 'nor was Redis told';
is_deeply [ has(looked(), @secret) ], [], 'nor does it have it';

done_testing;
