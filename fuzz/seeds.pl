# Usage: perl fuzz/seeds.pl DIR
#
# What the targets begin with, as DIR/<target>/<number>: what is usual of each
# kind, from which libFuzzer goes on.

use v5.36;

my $dir = shift // die "where?\n";
my %seeds;

sub seed ($target, @texts) { push $seeds{$target}->@*, @texts }

# records of "site" end with this
my $END = "\x1e";


# ---- tokens

# of RFC 7517 and 8037
my @jwks = (
    '{"kty":"OKP","crv":"Ed25519","kid":"ed",'
    . '"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
    '{"kty":"EC","crv":"P-256","use":"sig","alg":"ES256","kid":"ec",'
    . '"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",'
    . '"y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}',
    '{"kty":"RSA","e":"AQAB","alg":"RS256","kid":"2011-04-29","n":"0vx7agoebG'
    . 'cQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1'
    . 'L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_'
    . 'RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu'
    . '6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XP'
    . 'ksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}',
    '{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ"}');

seed token => (
    map({ my $n = $_; map { "H$n$_\n{\"exp\":1800000000}" }
          '{"alg":"HS256"}', '{"typ":"JWT","alg":"HS384"}', '{"alg":"none"}',
          '{"alg":"HS512","typ":"JWT","kid":"a"}',
          '{"alg":"HS256","crit":["exp"]}', '{ "alg" : "HS256" }',
          '{"alg":"HS256","alg":"HS256"}' } 0 .. 2),
    map({ my $kind = chr(48 + $_); map { "P$kind$_" }
          '{"sub":"e1","uid":"u1","vis":"v1","tier":1,"position":7,'
          . '"at":1699999999000000,"act":1699999000000000,'
          . '"adm":1699999999500000,"iat":1700000000,"exp":1700000600}',
          '{"sub":"E-1.x_","uid":"u1","tier":2,"exp":1700000600}',
          '{"e":"e1","u":"u","v":"v","p":1,"t":2,"a":3,"exp":1.7000006e9}',
          '{"userId":42,"email":"a@b","role":"admin","type":"access",'
          . '"exp":1700000600,"nbf":1699999999}',
          '{"sub":"e1","uid":"\u00e9","score":3,"at":2,"epoch":1,'
          . '"exp":1700000600}',
          '{"a":[1,{"b":null}],"c":1.5,"d":true,"exp":-0}',
          '{"exp":1e3}', '[]', '{}', '{"a":1,"a":2}' } 0 .. 5),
    'BeyJleHAiOjE4MDAwMDAwMDB9', 'Be30', 'Be31', 'B____', 'Be30=',
    map({ 'M' . chr($_) . "\x00\x00\x05e1\nuser\nvisitor\n"
          . join '', map { chr($_ % 200) } 1 .. 40 } 0 .. 5),
    map({ ("K{\"keys\":[$_]}") } @jwks), 'K{"keys":[' . join(',', @jwks) . ']}',
    'K{"keys":[]}', 'K[]',
    "E-----BEGIN PUBLIC KEY-----\n"
    . "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    . "-----END PUBLIC KEY-----\n",
    'TeyJhbGciOiJIUzI1NiJ9.e30.', 'Ta.b.c', 'T..', 'T' . 'a' x 4100);


# ---- text

seed text => (
    map({ "N$_" } 'abcdefgh0xyz', "\xff" x 12, "\0" x 12),
    map({ "E$_" } 'e1', 'A-b_C.9', 'x' x 64, 'x' x 65, 'a/b', "a\0b"),
    map({ "U$_" } 'user', "\xc3\xa9", "\xe2\x82\xac\xf0\x9f\x98\x80",
        "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "a\x7f", "\xc2\x85"),
    map({ "J$_" } 'a"b\\c', "\x01\x1f", "\xe2\x80\xa8", '</script>'),
    "A\x3fx" . pack('H*', '20010db8000000010000000000000001'),
    "A\x3fm" . "\x7f\0\0\1", "A\x3fn" . "\xc0\0\2\1", "A\x7fx" . "\0" x 16,
    map({ "S$_" } 'key', '{e1}:queue', 'a{}b', '{{x}}', '}{', '{x'),
    map({ "V$_" } '10/50%/30s/3', '1/1%/1s/1', '64/100%/1h/64', '10/50/30/3'),
    map({ "D$_" } "\0\0\0\0\0\0\0\3\0", "\1\0\0\0\0\0\0\0\x30" . 'ab' x 16,
        "\xff" x 8 . "\x3f" . 'seed', "\x40\0\0\0\0\0\0\0\0"),
    map({ "B$_" } 'ab' x 16, 'aB' x 64, 'ab' x 65, 'ag' x 16, 'drand ab 12',
        ' x', "x\n"),
    map({ "R$_" } '/', '/cart?x=1', '//evil', '/\\evil', 'https://a/b',
        'http:/x', 'a1+.-://', "/a\nb", '/' . 'a' x 2047, '/' . 'a' x 2048));


# ---- what is read of a request

seed http => (
    "Ca=1; b=\"2\"; urr-vwr-token-e1=x.y.z\nc=3;;d; =e; f=\n  g = h ",
    "Curr-vwr-token=\"a;b\"", "C\"=\"", 'C;=;==;',
    "Qthreshold\nthreshold=100&x=1", "Qthreshold\na=1&threshold=-1",
    "Qreturn\nreturn=%2fcart%3fa%3d1", "Qx\nx=%", "Qx\nx=%4", "Qx\nxx=1&x",
    "Qaway\naway=1", "Qthreshold\nthreshold=99999999999999999999");


# ---- configurations

my $redis = join "\n", map { "mredis $_" } 'redis://127.0.0.1:6379/0';

seed conf => (
    $redis . ' timeout=200ms prefix=a: breaker=10/50%/30s/3',
    map({ "mredis $_" }
        'redis://user:p%40ss@127.0.0.1:6380/2 redis://127.0.0.1 cluster=on',
        'redis+sentinel://127.0.0.1:1,[::1]:2/main/3 timeout=1s',
        'unix:/tmp/s?db=1', 'unix://u:p@/tmp/s', 'rediss://h.test tls_name=x',
        'redis://[::1]:99999', 'redis://:x@', 'http://x', 'redis://a timeout=0',
        'redis://127.0.0.1 prefix={x}', 'redis://127.0.0.1/abc'),
    "edefault threshold=2 active_ttl=10m session_max=1h vwr=auto vwr_rate=50\n"
    . 'ee1 threshold=0 "title=A B" artist=\\"x vwr=on claim_ttl=30s'
    . ' slots=9 complete=user opens=2026-01-01T00:00:00Z'
    . ' starts=2026-01-01T00:00:00.5+09:00 closes=off',
    "ee1 threshold=99999999999\nee1 threshold=1", 'ee1 vwr=maybe',
    'edefault admissions_stream=on restore_wait=0 admit_batch=1',
    "mzone a:8m\nmsecret tier1 0123456789abcdef0123456789abcdef\n"
    . "msecret user 3031323334353637383961626364656630313233343536373839616263"
    . "646566 format=hex\nluser jwt id=uid alg=HS256,HS384 type=access\n"
    . "lvwr_api assign_rate=50r/s burst=500",
    "msecret tier2 MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY= format=base64\n"
    . "ltier2 on methods=POST,PUT event=any bind=off strict=on\nluser visitor",
    "stier1 auto bind=off event=required\nsevent \$arg_e\nltier1 \$arg_x",
    "lrate_limit a rate=10r/s window=5s key=\$arg_k algorithm=counter\n"
    . "lrate_limit a rate=30r/m fail=closed dry_run=on ipv6_prefix=48\n"
    . 'krate_limit off',
    "lcookie tier1 name=x path=/ domain=a.b samesite=none secure=on\n"
    . 'lcookie place per_event=off httponly=off',
    "lcors https://a.example http://b:8080\nldeny json\nlbypass \$arg_b",
    "lwaiting_uri /w/\$arg_e\nlqueue_uri https://x/\nllogin_uri /login?a=1",
    "ltrusted_edge X-Edge 0123456789abcdef0123456789abcdef\nldry_run on",
    "lqueue_api admin=on\nkqueue_api visitor_rate=off", 'ladmin_api',
    'lpage tier1 next=/x', 'lmetrics events=10', "lhealth live\nkhealth ready",
    map({ "fr$_" } 'x' x 32, 'x' x 32 . "\n", 'x' x 31 . "\n", "\r\n",
        'x' x 32 . "\r\n", "\xef\xbb\xbf" . 'x' x 32, 'x' x 32 . "\n\n"),
    'fh' . '61' x 32 . "\n", 'fb' . 'YWJj' x 12, 'fb' . 'YWJjZA==' . "\n",
    'fh6', 'fhzz');


# ---- replies of Redis

sub bulk ($s)     { return '$' . length($s) . "\r\n$s\r\n" }
sub list (@items) { return '*' . @items . "\r\n" . join '', @items }
sub number ($n)   { return ":$n\r\n" }

my $t = 1_700_000_000_000_000;

# how many states a place has, as the module has them
sub states {
    local (@ARGV, $/) = "src/queue/queue.h";
    my ($states) = <> =~ /enum \{([^{}]*)\bNGX_ADM_QUEUE_STATES\b/
        or die 'no states';
    return scalar(() = $states =~ /^ *NGX_ADM_QUEUE_\w+/mg);
}

# of a script of the queue, the room, a limit
my @queue = (1, 3, 5, 2, 2, $t, $t + 1, $t - 9, 2 * $t + 1, 0, 0, -1, -1, 0, 0,
             7, 1, 0, 0, 0, 9, 3);
my @room = ($t, $t, 1, 0, $t - 100_000_000, 9, 4, 50, -1, $t - 100_000_000, 3,
            0, $t, 0, $t, 0, 1, 40, $t, $t, $t, 8, $t);
my @limit = ($t, 9, 1000);

my $queue = list(map({ number($_) } @queue), bulk(''));

# one of each state that a script tells
my @states = map { my $n = $_;
                   list(map({ number($_) } $n, @queue[1 .. $#queue]), bulk('')) }
             0 .. states() - 1;

my $step = list(map({ number($_) } @queue), bulk(''),
                list(bulk('u1'), number($t), bulk(''), number($t + 1)),
                list(bulk('u2'), bulk('')),
                list(map { number(2 * $t + $_) } 1, 3, 5, 9),
                list(bulk('u3'), number($t)),
                list(map({ number($_) } 1, 0, 0, 0, 0, 2 * $t + 1, $t, 0, $t,
                         10, 3, $t + 1, $t, -1, 0, 0),
                     list(number(5))));
my $beats = list(map({ number($_) } @queue), bulk(''), number(1),
                 list(number(0), number(2)), list(number(1)));
my $joins = list(map({ number($_) } @queue), bulk(''), number(1),
                 list(map { number($_) } 1, 4, 2 * $t + 1, $t, 0, 0, 0, $t));
my $notice = list(number($t), number(1_700_000_000), bulk('x'), bulk('y'),
                  number($t + 1));

sub node ($host, $port, @more) {
    return list($host, number($port), bulk('id'), @more);
}

my $map = list(list(number(0), number(8000), node(bulk('127.0.0.1'), 7000),
                    node(bulk('127.0.0.1'), 7001)),
               list(number(8001), number(16383), node("\$-1\r\n", 7001),
                    node(bulk('h.test'), 7002,
                         list(bulk('ip'), bulk('127.0.0.1')))));

seed reply => map({ ("\0$_", "\3$_") }
    $queue, @states, $step, $beats, $joins, $notice, $map,
    "+OK\r\n", "-MOVED 1 127.0.0.1:7001\r\n",
    "-ERR max number of clients reached\r\n", "-LOADING x\r\n",
    ":-1\r\n", "\$-1\r\n", "*-1\r\n", "*0\r\n", bulk(''), bulk('E1'),
    bulk("# Memory\r\nmaxmemory_policy:allkeys-lru\r\n"),
    list(map { number($_) } 0, 1, 2, 3), list(list(list())),
    "*1048577\r\n", "*2147483648\r\n", "\$99999999999\r\n",
    "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "=7\r\ntxt:abc\r\n",
    "%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", ">1\r\n:1\r\n");


# ---- the client

seed client => (
    map({ join '|', $_->@* }
        [ '1ck1', 'ck2', 'a', 'a', 'ek3', 'a' ],
        [ '1ck1', 'a', 't10', 'x', 'a', 'z', 'ck2', 't300', 'ck3', 'a' ],
        [ '1ek1', "r-NOSCRIPT x\r\n", "r-NOSCRIPT x\r\n", 'a' ],
        [ '1f1', 'ck1', 't1000', 'f2', 'ck2', 'a', 't1000', 'a' ],
        [ '1ck1', "r-LOADING x\r\n", 'ck2', 't1000', 'w', 'a' ],
        [ '1ck1', "b:1\r\n:2\r\n", 'ck2', "r-READONLY x\r\n" ],
        [ 'Cck1', "r$map", 'a', 'ck2', 'ck3', 'a' ],
        [ 'Cck1', "r$map", 'ck2', "r-MOVED 99 127.0.0.1:7001\r\n", 'a' ],
        [ 'Cck1', "r$map", 'ck2', "r-ASK 99 127.0.0.1:7001\r\n", 'a', 'z' ],
        [ 'Cck1', "r$map", 'ck2', 'z', 'ck3', 't100', 'ck4', "r$map", 'a' ],
        [ 'Cck1', "r$map", 'ck2', "r-TRYAGAIN x\r\n", 't50', 'a' ],
        [ 'Cck1', "r-CLUSTERDOWN x\r\n", 't150', "r$map", 'a' ],
        [ 'Sck1', 'r' . list(bulk('127.0.0.1'), bulk('7005')), 'a', 'a' ],
        [ 'Sck1', 'r' . list(bulk('127.0.0.1'), bulk('7005')), 'a', 't1000',
          'r' . list(bulk('::1'), bulk('7006')), 'ck2', 'a', 'z', 'ck3' ],
        [ 'Sck1', "r*-1\r\n", 't250', "r-ERR x\r\n", 'x' ]));


# ---- the site

sub request ($method, $uri, @headers) {
    my $body = ref $headers[-1] ? pop(@headers)->$* : '';
    push @headers, 'Content-Length: ' . length $body if length $body;
    return "q$method $uri HTTP/1.1\r\n"
           . join('', map { "$_\r\n" } 'Host: a', @headers) . "\r\n$body";
}

# those of the queue end with a text
sub numbers (@n) {
    return 'i' . join ',', @n if @n != @queue;
    return 'r' . list(map({ number($_) } @n), bulk(''));
}

my $user = "Authorization: Bearer \x03";
my $nav = 'Sec-Fetch-Mode: navigate';
my @in = @queue;
@in[0, 1, 8, 9, 10] = (2, 0, 0, $t, 1_700_000_500_000);

seed site => map({ join '', map { $_ . $END } $_->@* }
    [ request(POST => '/api/queue/check/e1', $user), numbers(@queue), 't100',
      "r$step", request(GET => '/api/queue/status/E1?away=1', $user,
                        "x-queue-place: \x06"), numbers(@queue), numbers(@in) ],
    [ request(POST => '/api/queue/check/e1', $user), numbers(@in), numbers(@in),
      request(GET => '/book/x?e=e1', $user, "Cookie: urr-entry-token-e1=\x02"),
      numbers(@limit, @limit), numbers(@limit, @limit) ],
    [ request(POST => '/api/queue/heartbeat/e1', $user), numbers(@in),
      request(POST => '/api/queue/leave/e1?beacon=1', $user), numbers(@queue) ],
    [ request(GET => '/strict/a', $user, "x-queue-entry-token: \x02"),
      numbers($t, 1), 'z', 't250' ],
    [ request(GET => '/book/x?e=e1', $nav, 'Accept: text/html'),
      request(GET => '/book/x?e=a%2fb', $user), request(PUT => '/book/x?e=e1',
      'X-Requested-With: x', "Cookie: access_token=\x03") ],
    [ request(POST => '/vwr-api/assign/e1', 'Content-Type: application/json',
              "x-admission-visitor: \x04", 'Idempotency-Key: ' . 'k' x 16,
              \'{"userId":"u1"}'), numbers(@room), numbers(@room),
      request(GET => "/vwr-api/check/e1/\x05", "x-admission-visitor: \x04"),
      request(POST => "/vwr-api/leave/e1/\x05"),
      request(GET => '/vwr-api/status/e2') ],
    [ 't300', numbers(@room), "r*1\r\n" . bulk('e1'), 't300', numbers(@room),
      request(GET => '/events/e1/x', "Cookie: urr-vwr-token=\x01; a=b",
              "Cookie: admission-visitor=\x04"), 't20' ],
    [ request(POST => '/api/admin/vwr/activate/e1?restart=1', $user),
      numbers(@room), request(POST => '/api/admin/vwr/advance/e1', $user,
      \'{"batchSize":500}'), numbers(@room),
      request(PUT => '/api/admin/vwr/rate/e1?rate=5', $user), 'f1', 'z',
      request(GET => '/api/admin/vwr/status/e1', $user), 't300' ],
    [ request(PUT => '/api/queue/admin/threshold/e1?threshold=7', $user),
      numbers(@queue), request(POST => '/api/queue/admin/clear/e1',
      'Authorization: Bearer x'), request(GET => '/api/queue/admin/e1', $user),
      "r-NOSCRIPT x\r\n", numbers(@queue) ],
    [ request(GET => '/vwr/e1?nojs=1&return=/cart', $nav), numbers(@room),
      request(GET => '/queue/e1'), request(GET => '/metrics'),
      request(GET => '/readyz'), 'h' ],
    [ request(OPTIONS => '/api/queue/check/e1', 'Origin: https://shop.example',
              'Access-Control-Request-Method: POST',
              'Access-Control-Request-Headers: authorization'),
      request(POST => '/api/queue/check/e1', $user,
              'Sec-Fetch-Site: cross-site') ],
    [ "qPOST /vwr-api/assign/e1 HTTP/1.1\r\nHost: a\r\n"
      . "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"u", "p\r\n2\r\n\":\r\n",
      "p0\r\n\r\n" ],
    [ "qGET /vwr/e1 HTTP/1.0\r\n\r\n", 'f2',
      request(POST => '/api/queue/check/e1', $user), "r-ERR x\r\n", 'h' ]);


for my $target (sort keys %seeds) {
    my $n = 0;

    system('mkdir', '-p', "$dir/$target") == 0 or die "$dir/$target\n";

    for my $text ($seeds{$target}->@*) {
        open my $f, '>:raw', "$dir/$target/" . ++$n or die "$dir: $!\n";
        print $f $text;
        close $f or die "$dir: $!\n";
    }
}
