# Several visitors in one request, such as a cookie of this host from before
# "domain=" and the domain's: all hosts take the same one for the person, and the
# cookie is set anew where its attributes have changed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(hmac_sha256);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 admin);
my $key = hmac_sha256('admission visitor', $secret{tier1});

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    http => <<"END",
    admission_redis  ${\ $redis->url} timeout=30s;
    admission_secret tier1 $secret{tier1};
    admission_secret tier2 $secret{tier2};
    admission_secret admin $secret{admin};
    admission_events { default threshold=100 vwr_rate=0; }

    map \$uri \$event {
        volatile;
        "~^/(?:gate|either)/(?<id>[a-z0-9]+)"  \$id;
    }
END
    server => <<"END");
        admission_event  \$event;
        admission_user   visitor;
        admission_cookie visitor domain=shop.example;

        location /old/queue/ { admission_cookie visitor samesite=strict;
                               admission_queue_api; }
        location /new/queue/ { admission_queue_api; }
        location /new/vwr/   { admission_vwr_api; }
        location /admin/vwr/ { admission_admin_api; }
        location /queue/admin/ { admission_queue_api admin=on; }
        location /gate/      { admission_tier2 on;
                               proxy_pass http://127.0.0.1:${\ $backend->port}; }
        location /either/    { proxy_pass http://127.0.0.1:${\ $backend->port}; }
        location /path/queue/ { admission_cookie visitor domain=shop.example
                                                 path=/path;
                               admission_queue_api; }
        location /secure/queue/ { admission_cookie visitor domain=shop.example
                                                 secure=on;
                               admission_queue_api; }
        location /script/queue/ { admission_cookie visitor domain=shop.example
                                                 httponly=off;
                               admission_queue_api; }
        location /many/      { admission_user visitor;
                               add_header X-User \$admission_user;
                               return 200; }
END

my $port = $nginx->port;

sub ask ($method, $path, $visitors, %more) {
    my @cookies = ((map { "admission-visitor=$_" } @$visitors),
                   map { "$_=$more{$_}" } sort keys %more);
    return request($port, $method, $path,
                   headers => @cookies ? [ Cookie => join '; ', @cookies ]
                                       : []);
}

sub vis ($token) { return jwt_verify($token, $key)->{vis} }

# a visitor of before, as a host without "domain=" made it, or an older version

sub before () {
    return ask(POST => '/old/queue/check/' . event(), [])
           ->cookie('admission-visitor');
}

my $events = 0;
sub event () { return 'e' . ++$events }

# whom the gate, or the backend, takes a request for

sub seen_as ($path, $visitors, %more) {
    my $response = ask(GET => $path, $visitors, %more);
    my %seen = map { lc $_->[0] => $_->[1] }
               @{ ($response->json // {})->{headers} // [] };
    return $response->status == 200 ? $seen{'x-user-id'} // '-'
                                    : $response->status;
}


# ---- the cookie is set anew where its attributes have changed

my $www = before;
my $api = before;

isnt vis($www), vis($api), 'two visitors of before, a host each';

my $r = ask(POST => '/new/queue/check/show', [ $www ]);
my $set = $r->cookies->{'admission-visitor'};

is $r->json->{status}, 'active', 'the first host: who comes is in';
is $set->{attributes}{domain}, 'shop.example', 'and gets the new cookie';

my $domain = $set->{value};

is vis($domain), vis($www), 'as the same visitor';
is jwt_verify($domain, $key)->{exp}, jwt_verify($www, $key)->{exp},
    'as long as before';
ok $set->{attributes}{'max-age'} > 399 * 86400
   && $set->{attributes}{'max-age'} <= 400 * 86400, 'for the time left';

for my $call ([ POST => 'check' ], [ GET => 'status' ], [ POST => 'heartbeat' ])
{
    my ($method, $name) = @$call;

    is ask($method, "/new/queue/$name/show", $_->[0])
       ->cookie('admission-visitor'), undef, "$name: not again, $_->[1]"
        for [ [ $domain ], 'by itself' ], [ [ $www, $domain ], 'behind another' ],
            [ [ $domain, $www ], 'before another' ];
    is vis(ask($method, "/new/queue/$name/show", [ $www ])
           ->cookie('admission-visitor')), vis($www), "$name: else it is";
}

for my $where (qw(path secure script old)) {
    my $anew = ask(GET => "/$where/queue/status/show", [ $domain ])
               ->cookie('admission-visitor');

    ok $anew, "another attribute: $where" or next;
    is vis($anew), vis($www), "$where: the same visitor";
    is ask(GET => "/$where/queue/status/show", [ $anew ])
       ->cookie('admission-visitor'), undef, "$where: once";
}

# versions before did not say

my $older = jwt_sign({ vis => 'AAAAAAAAAAAAAAAAAAAAAA', iat => time,
                       exp => time + 1000 }, $key);
is vis(ask(GET => '/new/queue/status/show', [ $older ])
       ->cookie('admission-visitor')), vis($older), 'one of an older version';


# ---- of several it is the one whose cookie is as it is set today

for my $both ([ $api, $domain ], [ $domain, $api ], [ $api, $domain, $older ]) {
    my $names = join ' ', map { $_ eq $api ? 'api' : $_ eq $domain ? 'domain'
                                                                   : 'older' }
                @$both;

    is ask(POST => '/new/queue/check/show', $both)->json->{currentUsers}, 1,
        "$names: one slot";
    is seen_as('/either/show', $both), vis($domain), "$names: one person";
    is ask(GET => '/many/', $both)->header('X-User'), vis($domain),
        "$names: everywhere";
}

# of two of which neither is, the first

is seen_as('/either/show', [ $www, $api ]), vis($www), 'the first';
is seen_as('/either/show', [ $api, $www ]), vis($api), 'whichever it is';


# ---- but for the one that something shown is bound to

sub entry ($event, $visitor) {
    return entry_token($secret{tier2}, sub => $event, uid => vis($visitor));
}

sub place ($event, $visitor) {
    return jwt_sign({ sub => $event, uid => vis($visitor), score => 1_001,
                      at => 500, iat => time, exp => time + 600 },
                    hmac_sha256('admission place', $secret{tier2}));
}

for my $both ([ $api, $domain ], [ $domain, $api ]) {
    my $order = $both->[0] eq $api ? 'before' : 'behind';
    my $e = event;

    is seen_as("/gate/$e", $both, "urr-entry-token-$e" => entry($e, $api)),
        vis($api), "$order: an entry token";
    is seen_as("/gate/$e", $both, "urr-entry-token-$e" => entry($e, $domain)),
        vis($domain), "$order: or of the other";

    is seen_as("/either/$e", $both, "urr-queue-place-$e" => place($e, $api)),
        vis($api), "$order: a place";
    is seen_as("/either/$e", $both, "urr-vwr-token-$e" => tier1_token(
        $secret{tier1}, sub => $e, vis => vis($api), uid => 'x')),
        vis($api), "$order: a token of the waiting room";

    # of the event before others

    is seen_as("/gate/$e", $both, "urr-entry-token-$e" => entry($e, $api),
               'urr-entry-token-zzz' => entry('zzz', $domain),
               'urr-entry-token-aaa' => entry('aaa', $domain)),
        vis($api), "$order: that of the event";
    is seen_as("/gate/aaa", $both, "urr-entry-token-$e" => entry($e, $api),
               'urr-entry-token-aaa' => entry('aaa', $domain)),
        vis($domain), "$order: of each event";
    is seen_as("/either/none", $both, "urr-entry-token-$e" => entry($e, $api)),
        vis($api), "$order: of any where there is none";

    # what is nobody's here says nothing

    is seen_as("/either/$e", $both, "urr-entry-token-$e" => entry($e, $older)),
        vis($domain), "$order: a stranger's token";
    is seen_as("/either/$e", $both, "urr-entry-token-$e" => entry_token(
        $secret{tier1}, sub => $e, uid => vis($api))), vis($domain),
        "$order: a forged one";
}

# the queue knows the same person, and gives the cookie that says so

my $e = event;
$r = ask(POST => "/new/queue/check/$e", [ $api, $domain ],
         "urr-queue-place-$e" => place($e, $api));
is vis($r->cookie('admission-visitor')), vis($api), 'the cookie is set anew';
is jwt_verify($r->json->{entryToken}, $secret{tier2})->{uid}, vis($api),
    'and the token is for that one';
is seen_as("/gate/$e", [ $api, $domain ],
           "urr-entry-token-$e" => $r->json->{entryToken}), vis($api),
    'which passes the gate: no way back to the queue';
is ask(POST => "/new/queue/check/$e", [ $domain, $api ],
       "urr-entry-token-$e" => $r->json->{entryToken})->json->{currentUsers}, 1,
    'and there is one slot';

# the event of the call, though admission_event says nothing there

my $f = event;
for my $case ([ $e, $api ], [ $f, $domain ]) {
    my ($of, $who) = @$case;

    is jwt_verify(ask(POST => "/new/queue/check/$of", [ $api, $domain ],
                      "urr-entry-token-$e" => entry($e, $api),
                      "urr-entry-token-$f" => entry($f, $domain))
                  ->json->{entryToken}, $secret{tier2})->{uid}, vis($who),
        "the queue of $of";
}


# ---- the waiting room

is request($port, 'POST', '/admin/vwr/activate/room', bearer => $secret{admin})
   ->status, 200, 'a waiting room';

my $ticket;
ok((wait_until {
    $ticket = ask(POST => '/new/vwr/assign/room', [ $api ])->json;
    $ticket->{requestId}
} 10), 'a ticket of one of them') or diag explain $ticket;

for my $both ([ $api, $domain ], [ $domain, $api ]) {
    is ask(POST => '/new/vwr/assign/room', $both,
           'admission-ticket-room' => $ticket->{requestId})->json->{requestId},
        $ticket->{requestId}, 'is shown by both';
    is seen_as('/either/room', $both,
               'admission-ticket-room' => $ticket->{requestId}), vis($api),
        'and says who it is';
}

is ask(POST => '/new/vwr/assign/room', [ $api, $domain ])->json->{visitor},
    $domain, 'without it the domain\'s gets a ticket';

done_testing;
