# A front controller, as PHP applications have one: what try_files leads to
# names no event, so the path as it came does, and nothing leads around it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Example;
use Admission::FastCGI;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $php = Admission::FastCGI->start;
my $example = Admission::Example->start('front-controller', redis => $redis,
    change => [ qr/127\.0\.0\.1:9000/ => '127.0.0.1:' . $php->port ]);

my $port = $example->port;
my $event = 'spring-concert';
my $user = user_token($example->secret('user'), userId => 'ann');

sub entry ($of = $event, $uid = 'ann') {
    return entry_token($example->secret('tier2'), sub => $of, uid => $uid);
}

# status and code, or what the application got as its address and event

my $got;

sub ask ($path, $entry = undef, %opt) {
    my $response = request($port, $opt{method} // 'GET', $path,
        body => $opt{body},
        cookies => { access_token => $user,
                     $entry ? ('urr-entry-token' => $entry) : () },
        headers => $opt{headers});

    $got = $response->json // {};

    return join ' ', $response->status,
                $response->status == 200
                ? map({ $_ // '-' } @$got{qw(REQUEST_URI
                                             HTTP_X_ADMISSION_EVENT)})
                : $got->{code} // $response->header('Location') // ();
}


# ---- the example

is ask("/events/$event/book?seat=1"), '403 TIER2_REQUIRED',
    'what is for sale needs a token';
is ask("/events/$event/book?seat=1", entry),
    "200 /events/$event/book?seat=1 $event", 'who is in passes';
is $got->{SCRIPT_NAME}, '/index.php', 'to the controller';
is $got->{QUERY_STRING}, 'seat=1', 'with the query';
is $got->{HTTP_X_USER_ID}, 'ann', 'and the user';

is ask("/events/$event", entry, method => 'POST', body => 'seat=2'),
    "200 /events/$event $event", 'a POST';
is $got->{body}, 'seat=2', 'with its body';
is $got->{REQUEST_METHOD}, 'POST', 'as a POST';

is ask("/events/$event", undef, headers => [ Accept => 'text/html' ]),
    "302 /queue/$event?return=%2Fevents%2F$event", 'a browser waits in the queue';
is ask("/events/$event", entry('other')), '403 TIER2_REQUIRED',
    'a token of another event';
is ask('/events/other', entry), '403 TIER2_REQUIRED', 'another event';
is ask("/events/$event", entry($event, 'bob')), '403 TIER2_REQUIRED',
    'a token of another user';
is ask('/about?event=x'), '200 /about?event=x -', 'what is not for sale';
is ask('/'), '200 / -', 'nor is the front page';

# nothing that is read in two ways comes as far as the controller

for my $path ("/events/$event/../other", "/about/../events/$event",
              "/events/$event/%2e%2e/other", "//events/$event",
              "/about//../events/$event", "/events/$event%2f..%2fother",
              "/events/$event;x=1", "/events\\$event", "/./events/$event",
              '/index.php', "/index.php/events/$event", '/index.php?x',
              "/INDEX.PHP/events/$event", "/x/index.php/events/$event",
              "/events/$event/index.php/x")
{
    like ask($path, entry('other')), qr/^404/, "not found: $path";
    like ask($path), qr/^404/, "not found: $path, without a token";
}

# what is the same path is the same event

for my $path ("/%65vents/$event", "/event%73/$event", '/events/%73pring-concert')
{
    is ask($path), '403 TIER2_REQUIRED', "$path: is gated";
    is ask($path, entry('other')), '403 TIER2_REQUIRED',
        "$path: by its own event";
    is ask($path, entry), "200 $path $event", "$path: passes";
}

# and whatever else is below is no event

like ask($_, entry), qr/^404 INVALID_EVENT/, "no event: $_"
    for "/events/$event.", "/events/\U$event", '/events/', '/events',
        "/events/$event%20", "/EVENTS/$event", "/Events/$event/x",
        "/events/%2573pring-concert", "/events/x%0a/$event";

is ask("/events/$event/x", entry, headers => [ 'X-Admission-Event' => 'other',
                                               'X_Admission_Event' => 'other' ]),
    "200 /events/$event/x $event", 'what the application is told is ours';


# ---- the variable, whatever becomes of the path

my $nginx = Admission::Nginx->start(
    http => <<'END',
    admission_secret tier2 tier2-secret-of-this-test-0123456789;

    map $admission_uri $came {
        "~^/(?:a|in)/(?<came_id>[^/]+)"  $came_id;
    }
    map $uri $event {
        volatile;
        default  $came;
        "~^/in/(?<now_id>[^/]+)"  $now_id;
    }
END
    server => <<'END');
        admission_event  $event;
        add_header       X-Uri "<$admission_uri>" always;
        add_header       X-Event "<$event>" always;
        root             %%DIR%%;

        rewrite ^/a/server/(.*)$ /done;
        rewrite ^/other/(.*)$ /in/two;

        location /a/          { try_files /none /done; }
        location /a/last/     { rewrite ^ /done last; }
        location /a/error/    { error_page 404 = /done; return 404; }
        location /a/named/    { try_files /none @done; }
        location /a/to-two/   { rewrite ^ /in/two last; }
        location /a/gated/    { try_files /none /gated; }
        location /done        { return 200; }
        location /in/         { return 200; }
        location @done        { return 200; }
        location /gated       { admission_tier2 on bind=off; empty_gif; }

        error_page 400        /bad;
        location = /bad       { internal; return 200; }
END

sub seen ($path) {
    my $response = get($nginx->port, $path);
    return join ' ', $response->header('X-Uri') // 'none',
                     $response->header('X-Event') // 'none';
}

is seen("/a/$_/x?y=1"), "</a/$_/x> <$_>", "the path as it came: $_"
    for qw(one last error named server);
is seen('/a/one'), '</a/one> <one>', 'by try_files';
is seen('/a/to-two/'), '</a/to-two/> <two>', 'a path that names one goes first';
is seen('/other/x'), '</other/x> <two>', 'also where the server made it';
is seen('/%61/%6fne//x/../y'), '</a/one/y> <one>', 'decoded, normalized';
is seen('/a/%2561'), '</a/%61> <%61>', 'decoded once';
is seen('/done?/a/one'), '</done> <>', 'without the query';
is seen('/done'), '</done> <>', 'a path that names none';

for my $case ([ 'gated', 200 ], [ 'other', 403 ]) {
    my ($of, $status) = @$case;

    is get($nginx->port, '/a/gated/x', headers => [
           'x-queue-entry-token' => entry_token(
               'tier2-secret-of-this-test-0123456789', sub => $of) ])->status,
        $status, "the gate goes by it: $of";
}

is get($nginx->port, '/gated', headers => [
       'x-queue-entry-token' => entry_token(
           'tier2-secret-of-this-test-0123456789', sub => 'gated') ])->status,
    403, 'where it led to names none by itself';

# a request that NGINX refused came to no phase

my $connection = Admission::HTTP->connect($nginx->port);
$connection->send("GET /a/one HTTP/1.1\r\n\r\n");
my $bad = $connection->response;
is $bad->status . ' ' . $bad->header('X-Uri'), '400 <>', 'a bad request';

done_testing;
