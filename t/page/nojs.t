# The waiting room's page without JavaScript, over HTTP.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default vwr_rate=0 "title=Spring <Concert>";
               open    vwr=off;
               lots    order=draw lots=visitor;',
    http => 'map $uri $is { volatile; ~/(?<id>[^/]+)$ $id; }',
    server => <<'END');
        location /vwr/           { admission_page tier1 "next=/go/{event}?a"; }
        location /names/         { admission_page tier1
                                       "next=/{event}/e{event}?{event"; }
        location /default/       { admission_page tier1; }
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /events/        { admission_tier1 on; empty_gif; }
        location /in/ {
            admission_event  $is;
            admission_tier1  on;
            admission_deny   status;
            error_page       403 =200 /vwr/$admission_event?return=/x;
            empty_gif;
        }
        location /at/ {
            admission_event  $is;
            admission_tier1  on;
            admission_deny   status;
            error_page       403 =200 @wait;
            empty_gif;
        }
        location @wait           { admission_page tier1; }
        location /queue/         { admission_page tier2; }
        location /room/ {
            admission_event  $is;
            admission_tier2  on;
            admission_deny   status;
            error_page       403 =200 @line;
            empty_gif;
        }
        location @line           { admission_page tier2; }
END

my $port = $site->port;
my @page = (Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate');
my $back = '&return=' . '%2Fevents%2Fx%3Fa%3D1%26b%3D%2520';

admin('activate', 'POST', "activate/$_") for qw(concert other third fourth);


# A browser of few words: keeps cookies, follows nothing.

sub ask ($jar, $path, %opt) {
    my $cookie = join '; ', map { "$_=$jar->{$_}" } sort keys %$jar;
    my $response = request($port, $opt{method} // 'GET', $path, headers =>
        [ @{ $opt{headers} // \@page }, $cookie ? (Cookie => $cookie) : () ]);

    for my $line ($response->header('Set-Cookie')) {
        next if !defined $line;
        my ($name, $value) = $line =~ /^([^=]+)=([^;]*)/;
        $jar->{$name} = $value;
    }

    return $response;
}

sub admin ($name, $method, $path, %opt) {
    my $response = request($port, $method, "/api/admin/vwr/$path",
                           bearer => $Admission::Site::SECRETS{admin}, %opt);
    is $response->status, 200, "(operator: $name)" or diag $response->raw;
    return $response->json;
}

sub issued ($event) {
    return get($port, "/vwr-api/status/$event")->json->{totalInQueue};
}

sub number ($page) {
    return ($page->body =~ /class="number">([\d,]+)</)[0];
}


# ---- waiting, and in

my @ahead = map { post($port, '/vwr-api/assign/concert')->json } 1 .. 2;

# who counts as ahead is who is heard of

my $there = Admission::Process->start(name => 'there', code => sub {
    while (1) {
        get($port, "/vwr-api/check/concert/$_->{requestId}?away=1",
            headers => [ 'X-Admission-Visitor' => $_->{visitor} ]) for @ahead;
        select undef, undef, undef, 0.5;
    }
});
Admission::Test::register($there);

my %jar;
my $page = ask(\%jar, "/vwr/concert?nojs=1$back");

is $page->status, 200, 'comes: a page';
is $page->header('Cache-Control'), 'no-store', 'which is not stored';
is $page->header('ETag'), undef, 'and has no ETag';
is $page->header('Refresh'), "2; url=?nojs=1$back&again=1&ahead=3",
    'comes again after nextPoll, with return, and what it was told';
like $page->body, qr/<main class="waiting paused">/,
    'it waits, and nobody is let in';
like $page->body, qr/Entry is paused.*현재 입장이 잠시 중단되었습니다/,
    'which the page can say';
unlike $page->body, qr/\d minute|\d분/, 'no time is promised';
is_deeply [ $page->body =~ /class="[^"]*\bif-(\w+)" (?: lang="ko")?>/g ],
    [ qw(waiting paused waiting waiting held) ],
    'that, and no more, is shown';
is_deeply [ $page->body =~ /class="[^"]*\bif-(\w+)" hidden>/g ],
    [ qw(going first gathering last draw lot gathering drawing leaving gone
         before closed sold cookies busy crowded full unknown draw draw) ],
    'whether or not a style may say so';
is number($page), 2, 'two are ahead';
like $page->body, qr{Spring &lt;Concert&gt;}, 'the title';
like $page->body, qr{<dt>Your number.*?<dd>3</dd>}s, 'the number';
like $page->header('Content-Security-Policy'), qr/script-src 'none'/,
    'no script is allowed';
ok $jar{'admission-ticket-concert'} && $jar{'admission-visitor'},
    'ticket and visitor are in cookies';

$page = ask(\%jar, "/vwr/concert?nojs=1$back&again=1");

is number($page), 2, 'again: the same place';

for my $case ([ 2, 1 ], [ 3, 2 ], [ 99, 2 ], [ -1, 2 ], [ 'x', 2 ], [ 0, 0 ]) {
    my ($told, $shown) = @$case;

    $page = ask(\%jar, "/vwr/concert?nojs=1$back&again=1&ahead=$told");
    is number($page), $shown, "told $told: $shown are ahead, no more than that";
    like $page->header('Refresh'), qr/^2; /, "told $told: comes again as ever";
}

is issued('concert'), 3, 'again: no other ticket';
$there->finish;

admin('advance', 'POST', 'advance/concert', json => { batchSize => 2 });
ok +(wait_until {
        (number(ask(\%jar, "/vwr/concert?nojs=1$back&again=1")) // 1) == 0
    } 20), 'the place moves';

admin('advance', 'POST', 'advance/concert', json => { batchSize => 1 });

wait_until {
    $page = ask(\%jar, "/vwr/concert?nojs=1$back&again=1");
    $page->status == 302
} 20;

is $page->status, 302, 'let in: goes on';
is $page->header('Location'), '/events/x?a=1&b=%20', 'to where it wanted to';
is $page->header('Cache-Control'), 'no-store', 'which is not stored either';
ok $jar{'urr-vwr-token-concert'}, 'with the token';
is ask(\%jar, '/events/')->status, 200, 'that the gate takes';


# ---- a lot, its draw, and where to check it

subtest 'a lot' => sub {
    my $starts = sub ($at) {
        admin("starts in $at s", 'PUT', 'schedule/lots', json => {
            opens => '2020-01-01T00:00:00Z',
            starts => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + $at)) });
    };
    my $check = qr{<a href="/vwr-api/draw/lots" class="quiet if-draw" >Check};
    my (%jar, $page);

    $starts->(3600);
    ok +(wait_until {
            $page = ask(\%jar, '/vwr/lots?nojs=1');
            $page->body =~ /<main class="lot gathering">/
        } 20), 'a lot, which waits for the start';
    like $page->body, qr{>Your lot <.*?<p class="number">1</p>}s, 'its number';
    like $page->body, $check, 'the draw can be checked';
    my $commitment = get($port, '/vwr-api/draw/lots')->json->{commitment};
    like $commitment, qr/^[0-9a-f]{64}$/, 'it commits to something';
    like $page->body, qr{>Commitment .*?: \Q$commitment\E</p>}s,
        'which the page shows';

    post($port, '/vwr-api/assign/lots');
    $starts->(-1);
    ok +(wait_until {
            $page = ask(\%jar, '/vwr/lots?nojs=1&again=1');
            $page->body =~ /<main class="waiting/
        } 20), 'it is drawn';
    like $page->body, qr{<dt>Your number.*?<dd>[12]</dd>}s, 'the place';
    like $page->body, qr{<dt>Your lot.*?<dd>1 / 2</dd>}s, 'of which lot';
    like $page->body, $check, 'which can be checked';

    is get($port, "/vwr-api/check/lots/$jar{'admission-ticket-lots'}")
       ->json->{lots}, 2, 'of how many, the API tells as well';
};


# ---- the queue, which needs JavaScript

subtest 'the queue' => sub {
    my $plain = ask({}, "/queue/concert?return=/x%3Fa");
    my ($nojs) = $plain->body =~ /<noscript>.*?url=([^"]*)"/;
    is $nojs =~ s/&amp;/&/gr, '?nojs=1&return=%2Fx%3Fa', 'is left for';
    like $plain->body, qr/<a class="button" href="\?nojs=1&amp;return/,
        'by hand, too, where a script does not run';

    my $page = ask({}, '/queue/concert?nojs=1&return=/x%3Fa');
    is $page->status, 200, 'a page of its own';
    is $page->header('Cache-Control'), 'no-store', 'that is not stored';
    is $page->header('Refresh'), '2; url=?nojs=1&return=%2Fx%3Fa',
        'and comes again';
    like $page->body, qr/needs JavaScript.*JavaScript를 켜고/s,
        'says that it needs JavaScript';
    like $page->body, qr/<a class="button" href="\?return=%2Fx%3Fa">/,
        'and leads back to the queue';
    like $page->body, qr/<div class="word" hidden>/, 'no notice';
    like $page->body, qr/<div class="if-sold" hidden>/, 'not sold out';
    is ask({}, '/queue/concert?nojs=1')->header('Refresh'), '2; url=?nojs=1',
        'without return';
    like ask({}, '/queue/concert?nojs=1&return=//host')->body,
        qr/<a class="button" href="\?">/, 'nor to another host';
    is ask({}, '/queue/a%20b?nojs=1')->status, 400, 'of no event: none';
    is ask({}, '/queue/concert?nojs=1', headers => [ Accept => '*/*' ])
       ->header('Refresh'), undef, 'for navigations alone';

    my @operator = (bearer => $Admission::Site::SECRETS{admin});
    is request($port, 'PUT', '/api/admin/vwr/notice/concert', @operator,
               json => { ko => "\x{ace7}", en => '<b>Soon</b>' })->status, 200,
        '(operator: notice)';
    is request($port, 'PUT', '/api/queue/admin/slots/concert?slots=0',
               @operator)->status, 200, '(operator: no seats)';
    wait_until {
        $page = ask({}, '/queue/concert?nojs=1');
        $page->body =~ /Soon/ && $page->body =~ /<main class="sold"/;
    };
    like $page->body, qr{<p lang="en" dir="auto">&lt;b&gt;Soon&lt;/b&gt;</p>},
        'the notice';
    like $page->body, qr{<p lang="ko" dir="auto">곧</p>},
        'in both languages';
    like $page->body, qr/<div class="if-sold" >\s*<p[^>]*>Sold out.*매진/s,
        'and that it is sold out';
    request($port, 'DELETE', '/api/queue/admin/slots/concert', @operator);
    request($port, 'DELETE', '/api/admin/vwr/notice/concert', @operator);

    # in the place of what was denied

    my $there = $site->user('ann');
    my $denied = request($port, GET => '/room/concert?a=1',
                         bearer => $there, headers => \@page);
    ($nojs) = $denied->body =~ /<noscript>.*?url=([^"]*)"/;
    $nojs =~ s/&amp;/&/g;
    like $nojs, qr{^/room/concert\?nojs=1&admission_return=},
        'at the same address';
    $denied = request($port, GET => $nojs, bearer => $there,
                      headers => \@page);
    like $denied->body, qr{<a class="button" href="/room/concert\?a=1">},
        'and back to what was wanted';
};


# ---- where to go on to

# the waiting room knows by the next step that there are seats again

ok +(wait_until {
        ask(\%jar, '/vwr/concert?nojs=1&again=1')->status == 302
    } 20), 'let in, as before';

for my $case ([ '', '/go/concert?a', 'nowhere in particular: next' ],
              [ '&return=/x', '/x', 'a path' ],
              [ '&return=//host', '/go/concert?a', 'not to another host' ],
              [ '&return=/%5Chost', '/go/concert?a', 'nor by a backslash' ],
              [ '&return=http:%2F%2Fhost', '/go/concert?a', 'nor by a URL' ],
              [ '&return=javascript:alert(1)', '/go/concert?a', 'nor a script' ],
              [ '&return=/%09/host', '/go/concert?a', 'nor by a tab' ],
              [ '&return=%2F%2Fhost', '/go/concert?a', 'nor in disguise' ],
              [ '&return=host', '/go/concert?a', 'not beside the page' ],
              [ '&return=/' . 'x' x 2100, '/go/concert?a', 'not too long' ],
              [ '&return=/x%0d%0aA:b', '/go/concert?a', 'no line feed' ],
              [ '&return=/vwr/concert%3Fx', '/go/concert?a', 'not here' ],
              [ '&admission_return=/x%3Freturn=/y', '/x?return=/y',
                'our own name' ],
              [ '&return=/y&admission_return=/x', '/x', 'which goes first' ],
              [ '&return=/y%3Freturn=/cart%26x=1', '/y?return=/cart&x=1',
                "the site's own" ],
              [ '&return=%2Fa%20b%22c%27d%C3%A4%3Fx%3D%253D%26y%3D%3Cz%3E',
                '/a%20b%22c%27d%C3%A4?x=%3D&y=%3Cz%3E',
                'decoded, and fit for a header' ],
              [ '&return=/%e4%80%7f', '/go/concert?a', 'no control character' ])
{
    my ($query, $location, $name) = @$case;

    is ask(\%jar, "/vwr/concert?nojs=1&again=1$query")->header('Location'),
        $location, $name;
}

is ask({}, '/vwr/open?nojs=1&return=/x')->header('Location'), '/x',
    'an inactive waiting room: straight on';
is ask({}, '/names/open?nojs=1')->header('Location'), '/open/eopen?{event',
    'next, with the event more than once';
is ask({}, '/default/open?nojs=1')->header('Location'), '/', 'next, by default';


# ---- in the place of what was denied

for my $place ([ '/in/fourth', '/vwr/fourth' ],
               [ '/at/fourth', '/at/fourth' ],
               [ '/at/a%20b/fourth', '/at/a%20b/fourth' ])
{
    my ($path, $at) = @$place;

    admin('restart', 'POST', 'activate/fourth?restart=1');

    my $jar = {};
    my $query = '?a=1&return=//host&b=%20&nosj=1';
    my $here = $path . $query;
    my $back = '&admission_return=' . $here =~ s/([^\w.-])/sprintf '%%%02X', ord $1/ger;
    my $page = ask($jar, $path . $query);

    is $page->status, 200, "$path: the page, with another status";
    is $page->header('Cache-Control'), 'no-store', 'which is not stored';
    is $page->header('ETag'), undef, 'and has no ETag';

    is(($page->body =~ /data-return="([^"]*)"/)[0], $here =~ s/&/&amp;/gr,
        'it goes on to what was denied');

    my $nojs = ($page->body =~ /url=([^"]*)"/)[0] =~ s/&amp;/&/gr;

    is $nojs, "$at?nojs=1$back", 'without JavaScript as well';

    $page = ask($jar, $nojs);
    like $page->body, qr/<main class="waiting/, 'where one waits';
    admin('advance', 'POST', 'advance/fourth', json => { batchSize => 1 });

    wait_until { $page = ask($jar, "$nojs&again=1");
                 defined $page->header('Location') } 20;

    is $page->status . ' ' . ($page->header('Location') // ''), "302 $here",
        'and goes on to it';
    is ask($jar, $here)->header('Content-Type'), 'image/gif', 'which lets in';
}

like get($port, '/vwr/fourth?return=/x')->body, qr/data-return=""/,
    'as the page itself it takes its arguments';


# ---- who does not assign

my $count = issued('other');

for my $case ([ [ Accept => 'text/html', 'Sec-Fetch-Mode' => 'cors' ],
                'a script' ],
              [ [ Accept => '*/*' ], 'no browser' ],
              [ [ @page, 'Sec-Purpose' => 'prefetch;prerender' ],
                'a prefetch' ])
{
    my ($headers, $name) = @$case;
    my $response = ask({}, '/vwr/other?nojs=1', headers => $headers);

    is $response->status, 200, "$name: the page";
    like $response->body, qr/<script>/, "$name: as for all";
    is $response->header('Cache-Control'), 'no-store',
        "$name: no cache shows it to a browser";
}

my $head = ask({}, '/vwr/other?nojs=1', method => 'HEAD');

is $head->header('Set-Cookie'), undef, 'HEAD: no ticket';
is $head->header('Cache-Control'), 'no-store', 'HEAD: not stored';
is ask({}, '/vwr/other?nojs=1', method => 'POST')->status, 405, 'POST: no';

$page = ask({}, '/vwr/other?nojs=1&again=1');

like $page->body, qr/<main class="cookies">/, 'no cookies: it is told so';
is $page->header('Refresh'), undef, 'no cookies: not again by itself';
is issued('other'), $count, 'none of them got a ticket';

# not even who is let in at once is sent round in circles

admin('rate', 'PUT', 'rate/third?rate=1000');
post($port, '/vwr-api/assign/third');
wait_until { get($port, '/vwr-api/status/third')->json->{serving} > 100 } 20;

$page = ask(\my %third, '/vwr/third?nojs=1');

is $page->status, 200, 'let in at once: shows the cookie first';
is $page->header('Refresh'), '1; url=?nojs=1&again=1', 'in a second';
is ask(\%third, '/vwr/third?nojs=1&again=1')->status, 302, 'and goes on';

like ask({}, '/vwr/a%20b?nojs=1')->body, qr/<main class="unknown">/,
    'no event: says so';


# ---- Redis gone

$site->redis->stop;

$page = ask({}, '/vwr/other?nojs=1&return=/x');

is $page->status, 503, 'Redis gone: 503';
is $page->header('Retry-After'), 5, 'Redis gone: Retry-After';
is $page->header('Refresh'), '5; url=?nojs=1&return=%2Fx',
    'Redis gone: comes again';
like $page->body, qr/<main class="busy">/, 'Redis gone: says so';

done_testing;
