# The users' calls of the queue API: what they answer, and which cookies and
# tokens go with it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes ();

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $tier1 = 'tier1-secret-of-the-test-0123456789';
my $tier2 = 'tier2-secret-of-the-test-0123456789';
my $user = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;

my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_zone    admission:1m;
    admission_redis   @{[ $redis->url ]} timeout=60s;
    admission_secret  tier1 $tier1;
    admission_secret  tier2 $tier2;
    admission_secret  user  $user;

    admission_events {
        default  threshold=1000;
        concert  threshold=2 "title=Spring \\"Concert\\"" "artist=Die Ärzte";
        short    threshold=1 active_ttl=60s token_ttl=30s;
        long     threshold=1 active_ttl=60s token_ttl=600s;
        empty    threshold=0;
        silent   threshold=0 seen_ttl=4s;
        quick    threshold=0 claim_ttl=2s opens=2020-01-01T00:00:00Z
                 starts=2099-01-01T00:00:00Z;
    }
END
        admission_user  jwt;

        location = /readyz        { admission_health ready; }
        location /api/queue/      { admission_queue_api; }
        location /login/queue/    { admission_login_uri /login;
                                    admission_queue_api; }
        location /visitor/queue/  { admission_user visitor;
                                    admission_queue_api; }
        location /var/queue/      { admission_user $arg_who;
                                    admission_queue_api; }
END

my $port = $nginx->port;


sub ask ($who, $method, $path, %opt) {
    my $prefix = delete $opt{prefix} // '/api/queue';
    $opt{bearer} = user_token($user, userId => $who) if defined $who;
    return request($port, $method, "$prefix/$path", %opt);
}

sub members ($response) {
    return join ' ', sort keys %{ $response->json // {} };
}

my $queued = join ' ', sort qw(status queued position peopleAhead peopleBehind
                               queueSize estimatedWait estimatedWaitRange
                               nextPoll currentUsers threshold eventInfo place);
my $active = join ' ', sort qw(status queued currentUsers threshold nextPoll
                               entryToken eventInfo);
my $not_in = join ' ', sort qw(status queued message currentUsers nextPoll);


# ---- coming in

# a host that has just come to Redis lets nobody in for a moment where there are
# users already

wait_until { get($port, '/readyz')->status == 200 };

# the time as Redis has it: time() may be some ms behind it

my $before = Time::HiRes::time;
my $r = ask('alice', 'POST', 'check/concert');
my $after = Time::HiRes::time;

is $r->status, 200, 'the first is in';
is $r->header('Content-Type'), 'application/json', 'JSON';
is $r->header('Cache-Control'), 'no-store', 'no-store';
is members($r), $active, 'its members';
is $r->json->{status}, 'active', 'active';
is $r->json->{queued}, false, 'not queued';
is $r->json->{currentUsers}, 1, 'one is in';
is $r->json->{threshold}, 2, 'threshold';
is $r->json->{nextPoll}, 3, 'nextPoll of one who is in';
is_deeply $r->json->{eventInfo},
    { title => 'Spring "Concert"', artist => "Die \x{c4}rzte" }, 'eventInfo';

my $claims = jwt_verify($r->json->{entryToken}, $tier2);

is $claims->{sub}, 'concert', 'entry token: event';
is $claims->{uid}, 'alice', 'entry token: user';
is $claims->{tier}, 2, 'entry token: tier';
ok int $before <= $claims->{iat} && $claims->{iat} <= $after,
    'entry token: iat';
is $claims->{exp} - $claims->{iat}, 595,
    'entry token: ends with the slot, less the leeway';
ok $before <= $claims->{adm} / 1e6 && $claims->{adm} / 1e6 <= $after,
    'entry token: adm';

my $cookie = $r->cookies->{'urr-entry-token-concert'};

is $cookie->{value}, $r->json->{entryToken}, 'and it is the cookie';
is $cookie->{attributes}{'max-age'}, 595, 'Max-Age';
is $cookie->{attributes}{samesite}, 'Lax', 'SameSite';
is $cookie->{attributes}{path}, '/', 'Path';
ok $cookie->{attributes}{httponly}, 'HttpOnly';

$r = ask('alice', 'POST', 'check/CONCERT', body => '{"any": "body"}');
is $r->json->{status}, 'active', 'again, in upper case: still in';
is $r->json->{currentUsers}, 1, 'and once';

# where Redis stood still just now nobody else is let in for a moment: nobody waits
# for that here, since those who come from a line make its pace

ok wait_until {
    my $is = ask('bob', 'POST', 'check/concert', prefix => '/api/queue/v1/x')
             ->json->{status};
    ask('bob', 'POST', 'leave/concert') if $is ne 'active';
    $is eq 'active';
}, 'the second, by another prefix';


# ---- waiting

$r = ask('carol', 'POST', 'check/concert');

is members($r), $queued, 'the third waits';

my %is = (status => 'queued', queued => true, position => 1, peopleAhead => 0,
          peopleBehind => 0, queueSize => 1, estimatedWait => 5,
          nextPoll => 1, currentUsers => 2, threshold => 2);

is $r->json->{$_}, $is{$_}, $_ for sort keys %is;

$cookie = $r->cookies->{'urr-queue-place-concert'};
is $cookie->{value}, $r->json->{place}, 'the place is a cookie';
is $cookie->{attributes}{'max-age'}, 86400, 'for a day';
is $r->cookie('urr-entry-token-concert'), undef, 'and no entry token';

my $place = $r->json->{place};
$claims = jwt_decode($place);

is $claims->{sub}, 'concert', 'place: event';
is $claims->{uid}, 'carol', 'place: user';
is $claims->{exp} - $claims->{iat}, 86400, 'place: a day';
is $claims->{score}, $redis->cmd('ZSCORE', '{concert}:queue', 'carol'),
    'place: score';
is $claims->{epoch}, $redis->cmd('GET', '{concert}:epoch'), 'place: epoch';
is jwt_verify($place, $tier2), undef, 'place: its own key';

$r = ask('dave', 'POST', 'check/concert');
is $r->json->{position}, 2, 'the fourth';
is $r->json->{peopleAhead}, 1, 'one ahead';
is $r->json->{peopleBehind}, 0, 'nobody behind';

$r = ask('carol', 'GET', 'status/concert');
is members($r), $queued, 'status of one who waits';
is $r->json->{position}, 1, 'the first in line';
is $r->json->{peopleBehind}, 1, 'one behind';
ok $r->cookie('urr-queue-place-concert'), 'a new place cookie';

$r = ask('alice', 'GET', 'status/concert');
is members($r), $active, 'status of one who is in';

$r = ask('eve', 'GET', 'status/concert');
is $r->status, 200, 'status of one who is nowhere';
is members($r), $not_in, 'its members';
is $r->json->{status}, 'not_in_queue', 'not in queue';
is $r->json->{message}, 'Not in queue', 'and says so';
is $r->json->{nextPoll}, 3, 'nextPoll';
is_deeply [ $r->header('Set-Cookie') ], [], 'no cookie is touched';
is $redis->cmd('ZSCORE', '{concert}:queue', 'eve'), undef, 'nor has joined';

my $get = ask('carol', 'GET', 'status/concert');
my $head = ask('carol', 'HEAD', 'status/concert');
is $head->status, 200, 'HEAD';
is $head->body, '', 'HEAD has no body';
is $head->header('Content-Length'), $get->header('Content-Length'),
    'but its length';
ok $head->cookie('urr-queue-place-concert'), 'and its cookies';


# ---- heartbeats

$r = ask('carol', 'POST', 'heartbeat/concert');
is members($r), 'queued status', 'heartbeat of one who waits';
is $r->json->{status}, 'queued', 'status';

$r = ask('alice', 'POST', 'heartbeat/concert');
is members($r), 'entryToken queued status', 'heartbeat of one who is in';
is $r->cookie('urr-entry-token-concert'), $r->json->{entryToken}, 'cookie';
is jwt_verify($r->json->{entryToken}, $tier2)->{uid}, 'alice', 'entry token';

$r = ask('eve', 'POST', 'heartbeat/concert');
is members($r), 'queued status', 'heartbeat of one who is nowhere';
is $r->json->{status}, 'not_in_queue', 'status';


# ---- places

$redis->cmd('ZREM', '{concert}:queue', 'carol');

is ask('carol', 'GET', 'status/concert')->json->{status}, 'not_in_queue',
    'taken out';
is ask('dave', 'GET', 'status/concert',
       cookies => { 'urr-queue-place-concert' => $place })
    ->json->{position}, 1, q{somebody else's place is none};
is ask('carol', 'GET', 'status/concert',
       cookies => { 'urr-queue-place' => "$place.x",
                    'urr-queue-place-concert' => $place })
    ->json->{position}, 1, 'a place brings its user back';

$redis->cmd('ZREM', '{concert}:queue', 'carol');

is ask('carol', 'POST', 'heartbeat/concert',
       headers => [ 'X-Queue-Place' => $place ])
    ->json->{status}, 'queued', 'by heartbeat and header as well';
is ask('dave', 'GET', 'status/concert')->json->{position}, 2,
    'in front of those who came later';


# ---- leaving

$r = ask('carol', 'POST', 'leave/concert?beacon=1', body => '{broken');
is $r->status, 200, 'a beacon';
is_deeply [ $r->header('Set-Cookie') ], [], 'clears no cookie';

$r = ask('carol', 'POST', 'leave/concert', body => 'x' x 5000,
         headers => [ 'Sec-Fetch-Mode' => 'no-cors',
                      'Sec-Fetch-Site' => 'same-origin',
                      'Content-Type' => 'text/plain' ]);
is $r->status, 200, 'a beacon by its header, with any body';
is_deeply [ $r->header('Set-Cookie') ], [], 'clears no cookie either';
is ask('carol', 'GET', 'status/concert')->json->{position}, 1,
    'and nobody has left yet';

$r = ask('alice', 'POST', 'leave/concert');
is $r->status, 200, 'leaving';
is_deeply $r->json, { message => 'Left queue' }, 'its members';
is_deeply [ map { "$_ " . $r->cookies->{$_}{attributes}{'max-age'} }
            grep { /-concert$/ } sort keys %{ $r->cookies } ],
    [ 'urr-entry-token-concert 0', 'urr-queue-place-concert 0' ],
    'its cookies go';

ok wait_until {
    ask('carol', 'GET', 'status/concert')->json->{status} eq 'active'
}, 'the next one comes in';
is ask('dave', 'GET', 'status/concert')->json->{position}, 1,
    'the others move up';

is ask('dave', 'DELETE', 'leave/concert')->status, 200, 'DELETE leaves too';
is ask('dave', 'GET', 'status/concert')->json->{status}, 'not_in_queue',
    'and is gone';
is ask('frank', 'POST', 'leave/concert')->status, 200,
    'one who is nowhere may leave';


# ---- numbers

for ([ short => 30 ], [ long => 55 ]) {
    my ($event, $life) = @$_;

    $claims = jwt_verify(ask('a', 'POST', "check/$event")->json->{entryToken},
                         $tier2);
    is $claims->{exp} - $claims->{iat}, $life,
        "life of an entry token of $event";
}

is_deeply ask('a', 'POST', 'check/other')->json->{eventInfo}, {},
    'eventInfo of an event without any';

$r = ask('a', 'POST', 'check/empty');
is $r->json->{status}, 'queued', 'a threshold of 0 lets nobody in';

$redis->pipeline(map { [ 'ZADD', '{empty}:queue', $_, "u$_" ] } 1 .. 1500);

$r = ask('a', 'GET', 'status/empty');
is $r->json->{position}, 1501, 'position in a long line';
is $r->json->{nextPoll}, 5, 'nextPoll there';
is $r->json->{estimatedWait}, undef, 'estimatedWait there: entry is paused';

ask('a', 'POST', 'check/silent');
$redis->pipeline(map { [ 'ZADD', '{silent}:queue', $_, "u$_" ] } 1 .. 1500);
is ask('a', 'POST', 'check/silent')->json->{nextPoll}, 2,
    'where who is silent for 4 s is taken out';

is ask('a', 'POST', 'check/quick')->json->{nextPoll}, 1,
    'ahead of a sale, where who is let in has 2 s to come';


# ---- positions of the waiting room

sub ticket ($at, %claims) {
    return tier1_token($tier1, sub => 'empty', uid => 'v', vis => 'v',
                       position => 7, act => 1000, at => $at,
                       adm => time * 1_000_000, %claims);
}

$redis->cmd('HSET', '{empty}:vwr', 'activation', 1000);
$redis->cmd('DEL', '{empty}:queue');

ask('late', 'POST', 'check/empty');

my $at = (time - 100) * 1_000_000;

$r = ask('early', 'POST', 'check/empty',
         headers => [ 'X-VWR-Token' => ticket($at) ]);
is $r->json->{position}, 1, 'a ticket counts from when it was drawn';
is $redis->cmd('ZSCORE', '{empty}:queue', 'early'), 2 * $at, 'its score';

$r = ask('thief', 'POST', 'check/empty',
         cookies => { 'urr-vwr-token-empty' => ticket($at) });
is $r->status, 403, 'one position serves one user';
is $r->json->{code}, 'POSITION_USED', 'code';
is $r->json->{redirectTo}, '/vwr/empty', 'redirectTo';
is $r->cookies->{'urr-vwr-token-empty'}{attributes}{'max-age'}, 0,
    'the token goes';
is $r->cookies->{'admission-ticket-empty'}{attributes}{'max-age'}, 0,
    'the ticket goes';

for my $bad (ticket($at - 1, sub => 'other'), ticket($at - 2, act => 999),
             ticket($at - 3, position => undef), ticket($at - 4, at => undef),
             ticket($at - 5, adm => (time - 700) * 1_000_000))
{
    state $n = 0;
    $r = ask('x' . ++$n, 'POST', 'check/empty',
             headers => [ 'X-VWR-Token' => $bad ]);
    is $r->json->{position}, 2 + $n, "no priority by a bad token ($n)";
}

is ask('y', 'POST', 'check/empty?vwrPosition=1')->json->{position}, 8,
    'none by a parameter';


# ---- who asks

$r = ask(undef, 'POST', 'check/concert');
is $r->status, 401, 'nobody';
is $r->json->{code}, 'USER_REQUIRED', 'code';
is members($r), 'code error', 'members';

is request($port, 'GET', '/api/queue/status/concert', bearer => 'rubbish')
    ->status, 401, 'a bad token is nobody';

$r = ask(undef, 'POST', 'check/concert', prefix => '/login/queue');
is $r->json->{redirectTo}, '/login', 'and is sent to where one signs in';

$r = request($port, 'POST', '/api/queue/check/cookie',
             cookies => { access_token => user_token($user, userId => 'c') });
is $r->json->{status}, 'active', 'the access token as a cookie';

$r = ask(undef, 'GET', 'status/concert', prefix => '/visitor/queue');
is $r->status, 401, 'no visitor is made by status';

$r = ask(undef, 'POST', 'check/visited', prefix => '/visitor/queue',
         headers => [ 'Sec-Purpose' => 'prefetch;prerender' ]);
is $r->status, 401, 'nor by a prefetch';

$r = ask(undef, 'POST', 'check/visited', prefix => '/visitor/queue');
is $r->json->{status}, 'active', 'one is made by check';
my $visitor = $r->cookie('admission-visitor');
ok $visitor, 'and gets a cookie';

$r = ask(undef, 'GET', 'status/visited', prefix => '/visitor/queue',
         cookies => { 'admission-visitor' => $visitor });
is $r->json->{status}, 'active', 'by which it is known';

$r = request($port, 'POST', '/var/queue/check/var?who=v1');
is $r->json->{status}, 'active', 'a user told by a variable';
is request($port, 'POST', '/var/queue/check/var')->status, 401,
    'a variable that tells nobody';

$r = ask('prefetch', 'POST', 'check/concert',
         headers => [ Purpose => 'prefetch' ]);
is $r->json->{status}, 'not_in_queue', 'a prefetch never joins';


# ---- Redis away

$redis->stop;

$r = ask('alice', 'POST', 'check/concert');
is $r->status, 503, 'without Redis';
is $r->json->{code}, 'UNAVAILABLE', 'code';
ok $r->json->{retryAfter} >= 1, 'retryAfter';
is $r->header('Retry-After'), $r->json->{retryAfter}, 'Retry-After';
is_deeply [ $r->header('Set-Cookie') ], [], 'no cookie is touched';
is ask('alice', 'POST', 'leave/concert')->status, 503, 'leave';

done_testing;
