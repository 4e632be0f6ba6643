# admission_rate_limit: who is limited, what is charged, and what the answer
# says.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $user_secret = 'u' x 40;
my $tier2_secret = 't' x 40;
my $tier1_secret = 'w' x 40;

my $redis = Admission::Redis->start(clock => 1, prefixes => [ 'x:' ]);
my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    workers => 2,
    vars => { REDIS => $redis->url, BACKEND => $backend->port },
    files => { 'busy.html' => 'busy', 'page.html' => 'a page',
               'ssi.shtml' => '<!--# include virtual="/three/a" -->'
                              . '<!--# include virtual="/three/b" -->' },
    http => <<"END",
    admission_redis %%REDIS%% timeout=30s prefix=x:;
    admission_secret user $user_secret;
    admission_secret tier1 $tier1_secret;
    admission_secret tier2 $tier2_secret;
    log_format verdict "\$request_uri \$status \$admission_verdict \$admission_reason";
END
    server => <<'END',
        listen       [::1]:%%PORT%%;
        access_log   %%DIR%%/verdicts.log verdict;
        root         %%DIR%%;

        location /three/    { empty_gif; admission_rate_limit three rate=3r/m; }
        location /counter/  { empty_gif; admission_rate_limit counter rate=3r/m
                                  algorithm=counter; }
        location /second/   { empty_gif; admission_rate_limit second rate=2r/s; }
        location /hour/     { empty_gif; admission_rate_limit hour rate=2r/h; }
        location /one/      { empty_gif; admission_rate_limit one rate=1r/m; }
        location /million/  { empty_gif; admission_rate_limit million rate=1000000r/m; }
        location /big/      { empty_gif; admission_rate_limit big rate=1000r/m; }
        location /wide/     { empty_gif; admission_rate_limit wide rate=2r/s window=10s; }

        location /user/ { empty_gif;
            admission_user        jwt;
            admission_rate_limit  user rate=3r/m;
        }
        location /late/ { empty_gif;
            admission_user        $arg_user;
            admission_rate_limit  user rate=3r/m;
        }
        location /key/      { empty_gif; admission_rate_limit key rate=2r/m key=$arg_k; }
        location /proxied/  { admission_rate_limit proxied rate=2r/m
                                  key=$arg_k;
                              proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /both/ { empty_gif;
            admission_user        jwt;
            admission_rate_limit  each rate=3r/m;
            admission_rate_limit  all rate=5r/m key=$arg_k;
        }
        location /mixed/ { empty_gif;
            admission_rate_limit  few rate=2r/m key=$arg_k;
            admission_rate_limit  many rate=1000r/h key=$arg_k;
        }
        location /inherit/ { empty_gif;
            admission_rate_limit  inherit rate=1r/m key=$arg_k;

            location /inherit/same/  { empty_gif; }
            location /inherit/off/   { empty_gif; admission_rate_limit off; }
            location /inherit/other/ { empty_gif; admission_rate_limit other rate=2r/m
                                           key=$arg_k; }
        }
        location /deny/ { empty_gif;
            admission_rate_limit  deny rate=1r/m key=$arg_k;
            error_page            429 /busy.html;
        }
        location /asked/ { empty_gif;
            admission_rate_limit  asked rate=1r/m key=$arg_k;
            error_page            429 = @busy;
        }
        location /text/ { empty_gif;
            admission_rate_limit  text rate=1r/m key=$arg_k;
            error_page            429 = @text;
        }
        location @text            { return 429 "in $sent_http_retry_after"; }
        location @busy {
            add_header            retry-after 7 always;
            proxy_pass            http://127.0.0.1:%%BACKEND%%;
        }
        location /status/ { empty_gif;
            admission_rate_limit  status rate=1r/m key=$arg_k;
            admission_deny        status;
        }
        location = /busy.html  { admission_rate_limit deny rate=1r/m
                                     key=$arg_k; }

        # internal redirects
        location /try/ {
            admission_rate_limit  try rate=3r/m key=$arg_k;
            try_files             /none @try;
        }
        location @try {
            admission_rate_limit  try rate=3r/m key=$arg_k;
            admission_rate_limit  try2 rate=2r/m key=$arg_k;
            proxy_pass            http://127.0.0.1:%%BACKEND%%;
        }
        location /last/ {
            rewrite ^/last/(.*)$ /key/$1 last;
        }
        location = /ssi.shtml {
            ssi on; ssi_types *;
            admission_rate_limit three rate=3r/m;
        }
        location /dry/ { empty_gif;
            admission_rate_limit  dry rate=2r/m key=$arg_k dry_run=on;
            admission_rate_limit  wet rate=3r/m key=$arg_k;
        }
        location /dryonly/ { empty_gif;
            admission_rate_limit  dryonly rate=1r/m key=$arg_k dry_run=on;
        }
        location /trial/ {
            admission_rate_limit  real rate=1r/m key=$arg_k dry_run=on;
            try_files             /none /real/?$args;
        }
        location /real/ { empty_gif;
            admission_rate_limit  real rate=2r/m key=$arg_k;
        }
        location /drygate/ { empty_gif;
            admission_dry_run     on;
            admission_rate_limit  drygate rate=2r/m key=$arg_k;
        }
        location /drytier/ { empty_gif;
            admission_dry_run     on;
            admission_event       e1;
            admission_user        jwt;
            admission_tier2       on;
            admission_rate_limit  drytier rate=2r/m key=$arg_k;
        }
        location /tier/ { empty_gif;
            admission_event       e1;
            admission_user        jwt;
            admission_tier2       on;
            admission_bypass      $arg_bypass;
            admission_rate_limit  tier rate=1r/m key=$arg_k;
        }
        location /api/queue/ {
            admission_user        jwt;
            admission_cors        https://shop.example;
            admission_rate_limit  queue rate=2r/m;
            admission_queue_api;
        }
        location /vwr-api/ {
            admission_rate_limit  vwr rate=2r/m key=$arg_k;
            admission_vwr_api;
        }
        location /vwr/ {
            admission_rate_limit  page rate=2r/m key=$arg_k;
            admission_page tier1;
        }
END
);

my $port = $nginx->port;

sub ask ($path, %opt) {
    return request($port, $opt{method} // 'GET', $path, %opt);
}

sub statuses ($n, $path, %opt) {
    return join ' ', map { ask($path, %opt)->status } 1 .. $n;
}

my @alice = (bearer => user_token($user_secret, userId => 'alice'));
my @bob = (bearer => user_token($user_secret, userId => 'bob'));



sub left ($response) {
    return ($response->header('RateLimit') // '') =~ /;r=(\d+);/ ? $1 : undef;
}

sub ttl_of ($key) { return $redis->cmd('PTTL', "x:rate:$key") }

# So many seconds at most, and less by no more than what has passed since.

sub counts_down ($seconds, $from, $since, $what) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my $least = $from - (time - $since);

    cmp_ok $seconds, '>=', $least, $what;
    cmp_ok $seconds, '<=', $from, 'and no more';
}

# The header where the window of a minute has others in it, since that time.

sub window_since ($since, $response, $name, $left, $what) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my $header = $response->header('RateLimit');
    my ($told, $t) = $header =~ /^(.*);t=(\d+)$/;

    is $told, qq("$name";r=$left), $what;
    counts_down($t, 60, $since, "$what: until the oldest leaves");
}

# The line comes a moment after the answer.

sub logged ($line, $what) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my $log;
    wait_until { ($log = read_file($nginx->dir . '/verdicts.log')) =~ $line } 10;
    like $log, $line, $what;
}


subtest 'a window' => sub {
    my $start = time;
    my $first = ask('/three/');

    is $first->status, 200, 'passes';
    is $first->header('RateLimit-Policy'), '"three";q=3;w=60', 'policy';
    is $first->header('RateLimit'), '"three";r=2;t=60', 'what is left';
    is $first->header('Cache-Control'), 'private', 'of one client';

    is statuses(2, '/three/'), '200 200', 'and two more';

    my $no = ask('/three/');

    is $no->status, 429, 'the fourth is refused';
    is $no->header('Content-Type'), 'application/json', 'in JSON';
    is $no->json->{error}, 'Too many requests', 'error';
    is $no->json->{code}, 'RATE_LIMITED', 'code';
    is $no->json->{retryAfter}, $no->header('Retry-After'), 'Retry-After';
    counts_down($no->header('Retry-After'), 60, $start, 'a minute');
    is $no->header('RateLimit-Policy'), '"three";q=3;w=60', 'policy';
    is $no->header('RateLimit'),
        '"three";r=0;t=' . $no->header('Retry-After'), 'RateLimit agrees';
    is $no->header('Cache-Control'), 'no-store', 'no-store';

    my $head = ask('/three/', method => 'HEAD');
    is $head->status, 429, 'HEAD';
    is $head->body, '', 'without a body';
    is $head->header('Retry-After') > 0, 1, 'with Retry-After';

    is $redis->cmd('ZCARD', 'x:rate:three:ip:127.0.0.1'), 3,
        'refused ones are not recorded';
    is $redis->cmd('TYPE', 'x:rate:three:ip:127.0.0.1'), 'zset', 'a ZSET';

    $redis->set_clock(40);
    is ask('/three/')->status, 429, 'after 40 s';
    counts_down(ask('/three/')->header('Retry-After'), 20, $start,
                'shorter to wait');
    $redis->set_clock(61);
    is statuses(4, '/three/'), '200 200 200 429', 'after 61 s it is empty';
    $redis->set_clock(0);
};


subtest 'other windows' => sub {
    is statuses(2, '/one/'), '200 429', 'a limit of 1';
    is ask('/million/')->header('RateLimit'), '"million";r=999999;t=60',
        'a limit of 1,000,000';
    is $redis->cmd('TYPE', 'x:rate:million:ip:127.0.0.1'), 'hash',
        'is counted in a HASH';
    is ask('/wide/')->header('RateLimit-Policy'), '"wide";q=20;w=10',
        'rate=2r/s window=10s';

    # an hour
    is statuses(3, '/hour/'), '200 200 429', 'an hour';
    $redis->set_clock(3500);
    is ask('/hour/')->status, 429, 'after most of it';
    $redis->set_clock(3601);
    is statuses(3, '/hour/'), '200 200 429', 'after it';
    is ask('/hour/')->header('RateLimit-Policy'), '"hour";q=2;w=3600', 'told';
    $redis->set_clock(0);

    # A second: no more than 2 in each, and none is refused but behind 2.  When
    # Redis judged lies between question and answer.

    my ($end, $last) = (time + 3, time + 30);
    my ($more, $less, $refused, @passed) = (0, 0, 0);

    while (time < $end || time < $last && (@passed < 4 || !$refused)) {
        my $from = time;
        my $status = ask('/second/')->status;
        my $to = time;

        if ($status == 200) {
            push @passed, [ $from, $to ];
            $more++ if @passed > 2 && $to - $passed[-3][0] < 1;

        } else {
            $refused++;
            $less++ if @passed < 2 || $passed[-2][1] <= $from - 1;
        }
    }

    cmp_ok scalar @passed, '>=', 4, 'a second: some pass';
    cmp_ok $refused, '>', 0, 'others do not';
    is $more, 0, 'never more than 2 in a second';
    is $less, 0, 'nor less';
};


subtest 'the counter' => sub {
    my $start = time;

    is statuses(4, '/counter/'), '200 200 200 429', 'as many at first';

    my $no = ask('/counter/');
    is $no->json->{retryAfter}, $no->header('Retry-After'), 'Retry-After';

    # 3 in the bucket before: one fits in as soon as they count for 2

    counts_down($no->header('Retry-After'), 80, $start, 'when there is room');

    $redis->set_clock($no->header('Retry-After') + 1);
    is ask('/counter/')->status, 200, 'then there is';
    is ask('/counter/')->status, 429, 'for one';
    $redis->set_clock(300);
    is statuses(4, '/counter/'), '200 200 200 429', 'much later: all of it';
    $redis->set_clock(0);
};


subtest 'who the client is' => sub {
    is statuses(4, '/user/', @alice), '200 200 200 429', 'a user';
    is ask('/user/', @bob)->status, 200, 'another user';
    is ask('/user/')->status, 200, 'nobody: by address';
    ok $redis->cmd('EXISTS', 'x:rate:user:user:alice'), 'the key of a user';
    ok $redis->cmd('EXISTS', 'x:rate:user:ip:127.0.0.1'), 'of an address';

    is ask('/late/?user=alice')->status, 429,
        'the same budget at another place, told by a variable';
    is ask('/late/?user=carol')->status, 200, 'another one';

    # nobody believes X-Forwarded-For

    $redis->flushall;
    is join(' ', map { ask('/one/', headers => [ 'X-Forwarded-For', $_ ])
                       ->status } qw(192.0.2.1 192.0.2.2 192.0.2.3)),
        '200 429 429', 'X-Forwarded-For changes nothing';

    is request($port, 'GET', '/one/', host => '::1')->status, 200, 'IPv6';
    ok $redis->cmd('EXISTS', 'x:rate:one:ip:::/64'), 'by its /64';
};


subtest 'key=' => sub {
    is statuses(3, '/key/?k=a'), '200 200 429', 'a value';
    is statuses(3, '/key/?k=b'), '200 200 429', 'another one';
    is statuses(5, '/key/?k='), '200 200 200 200 200', 'none: not limited';
    is ask('/key/')->header('RateLimit'), undef, 'nothing to tell';

    my $long = 'x' x 65;
    is statuses(3, "/key/?k=$long"), '200 200 429', 'a long one';
    is statuses(3, "/key/?k=${long}y"), '200 200 429', 'and another one';
    is statuses(3, '/key/?k={e1}:queue'), '200 200 429', 'braces';
    is_deeply [ grep { /[{}]|x{65}/ } $redis->cmd('KEYS', '*')->@* ], [],
        'are not in a key';
    is scalar(grep { /^x:rate:key:[0-9a-f]{40}$/ }
              $redis->cmd('KEYS', '*')->@*), 3, 'which is a hash';
    ok $redis->cmd('EXISTS', 'x:rate:key:a'), 'short ones are readable';
};


subtest 'several limits' => sub {
    my $start = time;

    is statuses(4, '/both/?k=one', @alice), '200 200 200 429', 'each: three';
    window_since($start, ask('/both/?k=one', @bob), 'all', 1,
                 'the strictest is told');
    is left(ask('/both/?k=one', @bob)), 0, 'all: five';

    my $no = ask('/both/?k=one', @bob);

    is $no->status, 429, 'all: no more';
    is $no->header('RateLimit-Policy'), '"all";q=5;w=60', 'and which';
    is $redis->cmd('ZCARD', 'x:rate:each:user:bob'), 2,
        'the other one was not charged';
    is $redis->cmd('ZCARD', 'x:rate:all:one'), 5,
        'nor was it with the one before';

    is_deeply $redis->stats_of(sub { ask('/mixed/?k=m') })->{evalsha}, 1,
        'one script for both';
    is statuses(2, '/mixed/?k=m'), '200 429', 'of both algorithms';
    is $redis->cmd('HGET', 'x:rate:many:m', 'c'), 2, 'all or nothing';
};


subtest 'inheritance' => sub {
    is statuses(2, '/inherit/?k=a'), '200 429', 'a location';
    is ask('/inherit/same/?k=a')->status, 429, 'inherits';
    is statuses(3, '/inherit/off/?k=a'), '200 200 200', 'or not';
    is statuses(3, '/inherit/other/?k=a'), '200 200 429', 'or has its own';
};


subtest 'answers' => sub {
    my $ok = ask('/proxied/?k=a');
    is $ok->status, 200, 'proxied';
    is $ok->header('RateLimit'), '"proxied";r=1;t=60', 'has RateLimit';
    is scalar($ok->header_all('RateLimit-Policy')), 1, 'once'
        if $ok->can('header_all');
    ask('/proxied/?k=a');
    is ask('/proxied/?k=a')->status, 429, 'and is limited';

    is ask('/deny/?k=a')->status, 200, 'error_page: passes';
    my $busy = ask('/deny/?k=a');
    is $busy->status, 429, 'the status';
    is $busy->body, 'busy', 'the page';
    ok $busy->header('Retry-After'), 'Retry-After';
    is $busy->header('RateLimit'),
        '"deny";r=0;t=' . $busy->header('Retry-After'), 'RateLimit';
    is ask('/busy.html?k=a')->status, 429,
        'the page itself, asked for: is limited';
    like ask('/busy.html?k=a')->body, qr/RATE_LIMITED/, 'and says so';

    my $own = 'status=429&header=retry-after:9&header=Retry-After:99'
            . '&header=ratelimit:9&header=RateLimit-Policy:9'
            . '&header=RateLimit-Policy:99&header=RateLimit-Policy-Of:9';
    my @names = qw(Retry-After RateLimit RateLimit-Policy RateLimit-Policy-Of);
    my $headers = sub ($r) {
        return join ' ', map { my @h = $r->header($_);
                               join ',', grep { defined } @h } @names;
    };

    my $theirs = ask("/proxied/?k=theirs&$own");
    is $theirs->status, 429, 'a backend with a limit of its own';
    like $headers->($theirs), qr/^9,99 "proxied";r=1;t=\d\d "proxied";q=2;w=60 9$/,
        'says when to come back; what is left is ours, once';

    ask('/asked/?k=a');
    $theirs = ask("/asked/?k=a&$own");
    is $theirs->status, 429, 'error_page of a backend';
    like $headers->($theirs),
        qr/^(\d\d) "asked";r=0;t=\g1 "asked";q=1;w=60 9$/,
        'whose headers do not stand beside ours';

    ask('/text/?k=a');
    my $text = ask('/text/?k=a');
    is $text->body, 'in ' . join(',', $text->header('Retry-After')),
        'error_page: a text may have the time';

    ask('/status/?k=a');
    my $bare = ask('/status/?k=a');
    is $bare->status, 429, 'admission_deny status';
    unlike $bare->body, qr/RATE_LIMITED/, 'a bare one';
    ok $bare->header('Retry-After'), 'with Retry-After';
};


subtest 'what is charged' => sub {
    my $n = sub ($key) { $redis->cmd('ZCARD', "x:rate:$key") };

    is ask('/try/?k=a')->status, 200, 'try_files';
    is $n->('try:a'), 1, 'is charged once';
    is $n->('try2:a'), 1, 'for each limit it comes by';
    is statuses(2, '/try/?k=a'), '200 429', 'of which each refuses';

    is statuses(3, '/last/?k=last'), '200 200 429', 'rewrite ... last';

    $redis->flushall;

    my $start = time;
    is ask('/ssi.shtml')->status, 200, 'subrequests';
    is $n->('three:ip:127.0.0.1'), 1, 'are not charged';

    my @preflight = (method => 'OPTIONS', headers => [
        Origin => 'https://shop.example',
        'Access-Control-Request-Method' => 'POST' ]);

    ask('/three/', @preflight) for 1 .. 5;
    is $n->('three:ip:127.0.0.1'), 1, 'nor are preflights';
    window_since($start, ask('/three/', method => 'OPTIONS'), 'three', 1,
                 'but OPTIONS of another kind');
};


subtest 'tiers come first' => sub {
    is ask('/tier/?k=a')->status, 401, 'denied';
    ok !$redis->cmd('EXISTS', 'x:rate:tier:a'), 'and not charged';
    is statuses(2, '/tier/?k=a&bypass=1'), '200 429',
        'a bypass lifts no limit';

    my @in = (cookies => {
        access_token => user_token($user_secret, userId => 'alice'),
        'urr-entry-token' => entry_token($tier2_secret, sub => 'e1',
                                         uid => 'alice') });

    is ask('/tier/?k=b', @in)->status, 200, 'a token';
    is ask('/tier/?k=b', @in)->status, 429, 'and a limit';
};


subtest 'dry run' => sub {
    is statuses(4, '/dry/?k=a'), '200 200 200 429',
        'of one limit: the other one counts';
    is $redis->cmd('ZCARD', 'x:rate:dry:a'), 2, 'it is charged as if it did';
    is $redis->cmd('ZCARD', 'x:rate:wet:a'), 3, 'as the other one';

    my $ok = ask('/dry/?k=b');
    is $ok->header('RateLimit-Policy'), '"wet";q=3;w=60', 'which is told';

    is ask('/dryonly/?k=a')->header('Cache-Control'), undef,
        'a trial alone tells nothing';
    is statuses(4, '/trial/?k=a'), '200 200 429 429',
        'a trial that is full lifts no limit behind it';
    is $redis->cmd('ZCARD', 'x:rate:real:a'), 2, 'and charges nothing';

    is statuses(4, '/drygate/?k=a'), '200 200 200 200', 'of the gate';
    is ask('/drygate/?k=a')->header('RateLimit'), undef, 'tells nothing';
    is $redis->cmd('ZCARD', 'x:rate:drygate:a'), 2, 'but counts';
    is statuses(3, '/drytier/?k=a'), '200 200 200', 'tiers, too';

    logged(qr{^/dry/\?k=a 200 limited dry$}m, 'the verdict of a limit');
    logged(qr{^/dry/\?k=a 429 limited wet$}m, 'one that counts');
    logged(qr{^/drygate/\?k=a 200 limited drygate$}m, 'in a dry run');
    logged(qr{^/drytier/\?k=a 200 user no user$}m, 'of a tier');
    logged(qr{^/three/ 200 pass -$}m, 'a pass');
    logged(qr{^/tier/\?k=a&bypass=1 200 bypass -$}m, 'a bypass');
    like $nginx->error_log, qr/denied: rate limit drygate.*, dry run/,
        'the log knows';
};


subtest 'API and pages' => sub {
    is statuses(3, '/api/queue/status/e1', @alice), '200 200 429',
        'the queue API';
    is ask('/api/queue/status/e1', @bob)->header('RateLimit'),
        '"queue";r=1;t=60', 'by user';

    my $no = ask('/api/queue/status/e1', @alice,
                 headers => [ Origin => 'https://shop.example' ]);

    is $no->header('Access-Control-Allow-Origin'), 'https://shop.example',
        'a refusal has CORS headers';
    is statuses(3, '/vwr-api/status/e1?k=a'), '200 200 429',
        'the waiting room API';
    is statuses(3, '/vwr/e1?k=a'), '200 200 429', 'a page';
};


subtest 'keys' => sub {
    $redis->flushall;
    $redis->cmd('HSET', 'x:rate:three:ip:127.0.0.1', 's', 1);
    is statuses(4, '/three/'), '200 200 200 429', 'a HASH: replaced by a ZSET';
    $redis->cmd('DEL', 'x:rate:counter:ip:127.0.0.1');
    $redis->cmd('ZADD', 'x:rate:counter:ip:127.0.0.1', 1, 'a');
    is statuses(4, '/counter/'), '200 200 200 429',
        'a ZSET: replaced by a HASH';
    $redis->cmd('SET', 'x:rate:key:s', 'text');
    is statuses(3, '/key/?k=s'), '200 200 429', 'text: replaced';

    $redis->cmd('ZADD', 'x:rate:key:z', 1700000000000, '1700000000000-a');
    is statuses(3, '/key/?k=z'), '200 200 429', 'other members: they are old';

    ask("/$_/?k=t") for qw(three counter hour key both mixed million);

    my @keys = $redis->cmd('KEYS', 'x:rate:*')->@*;

    cmp_ok scalar(@keys), '>', 8, 'there are keys';
    is_deeply [ grep { $redis->cmd('PTTL', $_) <= 0 } @keys ], [],
        'each has a TTL';
    cmp_ok ttl_of('hour:ip:127.0.0.1'), '<=', 3600_000, 'of its window';
    cmp_ok ttl_of('counter:ip:127.0.0.1'), '<=', 120_000, 'or two';

    # one whose TTL somebody took away gets it again

    $redis->cmd('PERSIST', 'x:rate:hour:ip:127.0.0.1');
    ask('/hour/');
    cmp_ok ttl_of('hour:ip:127.0.0.1'), '>', 0, 'with each write';
};


subtest 'the clock goes back' => sub {
    $redis->flushall;
    $redis->set_clock(7200);
    is statuses(4, '/three/'), '200 200 200 429', 'full';
    is statuses(4, '/counter/'), '200 200 200 429', 'the counter, too';

    $redis->set_clock(0);
    my $no = ask('/three/');
    is $no->status, 429, 'two hours before: still full';
    cmp_ok $no->header('Retry-After'), '<=', 60, 'for no more than a window';
    cmp_ok ask('/counter/')->header('Retry-After'), '<=', 120,
        'the counter for no more than two';

    $redis->set_clock(61);
    is ask('/three/')->status, 200, 'and then not any more';
    $redis->set_clock(121);
    is ask('/counter/')->status, 200, 'the counter neither';
    $redis->set_clock(0);
};


subtest 'a lower limit' => sub {
    $redis->flushall;

    my ($now) = $redis->cmd('TIME')->@*;
    my $key = 'x:rate:three:ip:127.0.0.1';

    # 5, ten seconds apart, where there is room for 3

    $redis->cmd('ZADD', $key, map { ("${_}000000") x 2 }
                              map { $now - 10 * $_ } 1 .. 5);

    my $wait = ask('/three/')->header('Retry-After');
    my ($then) = $redis->cmd('TIME')->@*;

    # of those 50, 40, 30, 20 and 10 s ago three have to go

    cmp_ok $wait, '>=', 30 - ($then + 1 - $now), 'until there is room';
    cmp_ok $wait, '<=', 30, 'and not longer';
};

done_testing;
