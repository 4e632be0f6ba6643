# Configuration: what is wrong is refused by nginx -t, with the directive, the
# value and what is allowed, and no message shows a secret; what is right is
# taken without a warning; a reload with a wrong configuration changes nothing.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;

# every secret has this in it, and no message may

my $mark = 'hush';
my %secret = map { $_ => "$mark-$_-0123456789-0123456789-0123456789" }
             qw(tier1 tier2 user admin more);

my %file = map { ("$_.key" => "$secret{$_}\n") } keys %secret;

$file{'short.key'} = "$mark-short\n";
$file{'empty.key'} = '';
$file{'newline.key'} = "\n";
$file{'long.key'} = $mark x 20_000;
$file{'password'} = "$mark-password\n";
$file{'longpassword'} = $mark x 2_000;
$file{'twohex.key'} = unpack('H*', $secret{tier2}) . "\n\n";

my $secrets = join "\n", map { "admission_secret $_ $secret{$_};" }
                         qw(tier1 tier2 user admin);


# of RFC 7515 A.3

my $jwk = '{"kty":"EC","crv":"P-256",'
          . '"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",'
          . '"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}';
my $jwks = qq({"keys":[$jwk]});


# ---- asking

# http, server and location: what stands there

sub ask (%conf) {
    my $location = $conf{location} // '';

    my ($status, $output) = Admission::Nginx->conf_test(
        files => { %file, %{ $conf{files} // {} } },
        http => $conf{http} // '',
        server => ($conf{server} // '')
                  . "\nlocation / { $location }\n" . ($conf{more} // ''),
        main => $conf{main} // '', events => $conf{events} // '');

    return ($status, $output);
}

# Refused, where the message has all of these texts.

sub wrong ($name, $conf, @texts) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    my ($status, $output) = ask(%$conf);
    my @missing = grep { ref $_ ? $output !~ $_ : index($output, $_) < 0 }
                  @texts;
    my @emerg = $output =~ /^.*\[emerg\].*$/mg;
    my @problems;

    push @problems, 'is taken' if !$status;
    push @problems, "does not say: $_" for @missing;
    push @problems, 'shows a secret' if index($output, $mark) >= 0;
    push @problems, scalar(@emerg) . ' messages' if $status && @emerg != 1;
    push @problems, 'says more' if $output =~ /\[(?:warn|alert|crit|error)\]/;

    ok !@problems, "refused: $name" or diag(join "\n", @problems, $output);
}

sub right ($name, %conf) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    # without which nginx -t warns (t/http/routes.t)

    my %rest = ('admission_redis'  => 'redis://127.0.0.1:1',
                'admission_event'  => '$arg_event');

    for (grep { "@{[ %conf ]}" !~ /\b$_\b/ } sort keys %rest) {
        $conf{http} = "$_ $rest{$_};\n" . ($conf{http} // '');
    }

    my ($status, $output) = ask(%conf);
    my @lines = grep { !/syntax is ok$|test is successful$/ }
                split /\n/, $output;

    is join("\n", $status, @lines), '0', "taken: $name";
}

# a value of a directive in a location, refused with the directive, the value
# (or what is given instead of it) and what is allowed

sub wrong_value ($directive, $value, @allowed) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $shown = ref $allowed[0] eq 'ARRAY' ? shift(@allowed)->[0]
                                            : $value =~ s/^"|"$//gr;

    wrong("$directive $value",
          { http => $secrets, location => "$directive $value;" },
          "\"$directive\"", "\"$shown\"", @allowed);
}


subtest 'all of it, right' => sub {
    right('nothing');
    right('everything', http => <<"END", server => <<'END',
        admission_zone    sale:1m;
        admission_redis   redis://127.0.0.1:6390/3 timeout=150ms prefix=shop:;
        $secrets
        admission_secret  tier2 file=more.key;
        admission_secret  user ${\ unpack 'H*', 'x' x 32} format=hex;

        admission_events {
            default   threshold=100 active_ttl=300s session_max=2h
                      claim_ttl=30s seen_ttl=90s restore_wait=5s
                      admit_interval=500ms admit_batch=10 token_ttl=5m
                      admissions_stream=off slots=500 complete=user
                      leave_on_close=on
                      "title=A title" artist=X;
            concept   slots=0 complete=off;
            concert   threshold=0;
            A.b_C-1   "title=\xec\xbd\x98\xec\x84\x9c\xed\x8a\xb8";
            3f0c2b1e-0000-4000-8000-000000000001;
        }

        admission_event      concert;
        admission_user       jwt;
        admission_tier2      on;
        admission_deny       auto;
        admission_queue_uri  /wait/\$admission_event;
        admission_login_uri  /login?for=\$host;
        admission_bypass     \$arg_bypass;
        admission_cookie     tier2 name=t2;
        admission_cors       https://shop.example;
END
        admission_secret     tier2 "another secret of 32 bytes or more, here";
        admission_event      $arg_event;
        admission_user       jwt id=login email=mail role=group
                             alg=HS256,HS384,HS512 type=access;
        admission_tier2      on methods=GET,POST,PUT,PATCH,DELETE,OPTIONS
                             event=any bind=off strict=on;
        admission_deny       json;
        admission_queue_uri  /q;
        admission_login_uri  https://login.example/;
        admission_bypass     1;
        admission_cookie     tier1 name=a path=/x domain=shop.example
                             samesite=strict secure=on httponly=off
                             per_event=off;
        admission_cookie     user samesite=NONE;
        admission_cors       http://localhost:3000 https://[::1]:8443;
        admission_cors       capacitor://localhost;
END
        more => <<'END');
        location /a { admission_user visitor;  admission_deny redirect;
                      admission_tier2 off; }
        location /b { admission_user $remote_user; admission_deny status;
                      admission_tier2 $arg_gate bind=on; }
        location /c { admission_user off; admission_tier2 on bind=off; }
        location /d { admission_queue_api; }
        location /e { admission_queue_api admin=on; }
        location /f { admission_queue_api admin=off; }
        location /g { admission_event ""; admission_bypass "";
                      admission_queue_uri ""; admission_login_uri ""; }
        location /h { return 200 "$admission_event $admission_user
            $admission_client $admission_address $admission_verdict
            $admission_reason $admission_position"; }
END
};


subtest 'admission_zone' => sub {
    for my $value (qw(admission :8m 8m admission: admission:0 admission:1k
                      admission:31k admission:-1m admission:8x admission:m
                      admission:8m:8m a:99999999999999999999m), '""')
    {
        wrong("admission_zone $value", { http => "admission_zone $value;" },
              '"admission_zone"', '"' . ($value =~ tr/"//dr) . '"',
              'name:size');
    }

    wrong('admission_zone twice',
          { http => 'admission_zone a:1m; admission_zone b:1m;' },
          '"admission_zone"', 'duplicate');
    right("admission_zone $_", http => "admission_zone $_;")
        for 'admission:32k', 'x:1M', 'x:65536';
};


subtest 'admission_redis' => sub {
    my $redis = sub ($value, @texts) {
        local $Test::Builder::Level = $Test::Builder::Level + 1;
        wrong("admission_redis $value",
              { http => "admission_redis $value;" }, '"admission_redis"',
              @texts);
    };

    $redis->($_, qr{"redis://host:port/db"})
        for 'timeout=1s', '127.0.0.1:6379', 'localhost', '""';
    $redis->("http://127.0.0.1/", '"http://127.0.0.1/"', '"redis://"');
    $redis->("redis:127.0.0.1", '"redis:127.0.0.1"', 'redis://host');
    $redis->('redis://', 'redis://host:port/db');
    $redis->('redis:///3', '"redis:///3"', 'redis://host:port/db');
    $redis->('redis://127.0.0.1:0', '"redis://127.0.0.1:0"', 'port');
    $redis->('redis://127.0.0.1:65536', '"redis://127.0.0.1:65536"', 'port');
    $redis->('redis://127.0.0.1:x', '"redis://127.0.0.1:x"', 'port');
    $redis->('redis://nowhere.invalid:6379', '"redis://nowhere.invalid:6379"',
             'host not found');
    $redis->("redis://127.0.0.1/$_", qq("$_"), 'number from 0')
        for '-1', 'x', '1.5', '99999999999', '0/1';
    $redis->('unix:', '"/"');
    $redis->('unix:tmp/redis.sock', '"unix:tmp/redis.sock"', '"/"');
    $redis->('unix:/tmp/redis.sock?x=1', '?db=N');
    $redis->('unix:/tmp/redis.sock?db=', '?db=N');
    $redis->('unix:/tmp/redis.sock?db=x', '"x"', 'number from 0');

    # what is before the "@" is never shown

    $redis->("redis://:$mark\@127.0.0.1:x", '"redis://127.0.0.1:x"');
    $redis->("redis://me:$mark\@127.0.0.1/x", '"redis://127.0.0.1/x"');
    $redis->("redis://$mark:$mark\@", 'redis://host:port/db');
    $redis->("redis://:$mark%zz\@127.0.0.1", 'hexadecimal');
    $redis->("redis://:$mark%4\@127.0.0.1", 'hexadecimal');
    $redis->("redis://me:\@127.0.0.1", 'empty user or password');
    $redis->('redis://@127.0.0.1', 'empty user or password');
    $redis->('redis://me@127.0.0.1', 'password');
    $redis->("unix://:$mark\@tmp/redis.sock", '"unix://tmp/redis.sock"');
    $redis->("http://me:$mark\@127.0.0.1", '"http://127.0.0.1"');
    $redis->("redis:/:$mark\@127.0.0.1", '"admission_redis"');
    $redis->(":$mark\@127.0.0.1:6379", '"admission_redis"');
    $redis->("redis//:$mark\@127.0.0.1:6379", '"admission_redis"');
    $redis->("redis://127.0.0.1 password=$mark", '"password"');
    $redis->("redis://:a\@$mark\@127.0.0.1:x", '"redis://127.0.0.1:x"');

    my $url = 'redis://127.0.0.1:6379';

    $redis->("$url timeout=$_", qq("timeout=$_"), '1ms', '60s')
        for '0', '-1s', 'x', '', '61s', '1h', '1sec', '1.5s';
    $redis->(qq($url "prefix=$_"), qq("prefix=$_"), 'braces')
        for 'a{b}', '{', '}';
    $redis->("$url password_file=", 'password_file=', 'path');
    $redis->("$url password_file=none", 'password_file=', '/none"',
             'No such file');
    $redis->("$url password_file=$_", "/$_\"", 'from 1 to 4096 bytes')
        for 'empty.key', 'newline.key', 'longpassword';
    $redis->("redis://:$mark\@127.0.0.1 password_file=password",
             '"password_file=password"', 'use one of them');
    $redis->("$url $_=1", qq("$_")) for 'x', 'Timeout', 'timeouts', 'db', '';
    $redis->("$url $_ $_", 'duplicate', $_ =~ /^(\w+=)/)
        for 'timeout=1s', 'prefix=a', 'password_file=password', 'tls_ca=a',
            'tls_name=a', 'breaker=10/50%/30s/3';
    $redis->("$url $_=a", qq("$_="), '"rediss://"', '"redis://127.0.0.1:6379"')
        for qw(tls_ca tls_cert tls_key tls_name);
    $redis->("rediss://127.0.0.1 tls_name=$_", qq("tls_name=$_"),
             'at most 253 characters') for 'a' x 254, 'a.' x 200;
    $redis->("rediss://me:$mark\@127.0.0.1:x", '"rediss://127.0.0.1:x"');
    $redis->("rediss://127.0.0.1 tls_ca=none", '"tls_ca=none"', 'PEM',
             'No such file');
    $redis->("$url breaker=$_", qq("breaker=$_"), '"breaker=10/50%/30s/3"')
        for '', 'off', '10', '10/50/30s/3', '0/50%/30s/3', '65/50%/30s/3',
            '10/0%/30s/3', '10/101%/30s/3', '10/50%/0s/3', '10/50%/2h/3',
            '10/50%/30s/0', '10/50%/30s', '10/50%/30s/3/', '10/50%/30s/3/4',
            '10/%/30s/3', '///', '10/50%/x/3';
    wrong('admission_redis twice',
          { http => "admission_redis $url; admission_redis $url;" },
          '"admission_redis"', 'duplicate');

    right("admission_redis $_", http => "admission_redis $_;")
        for $url, "$url/0", "$url/15", 'redis://127.0.0.1', 'redis://[::1]',
            'redis://[::1]:6379/1', 'REDIS://localhost', 'rediss://localhost',
            'rediss://[::1]:6379/1 tls_name=redis.test',
            'rediss://[::1]:6379/1 tls_name=' . 'a.' x 126 . 'a',
            "redis://:$mark\@127.0.0.1", "redis://me:$mark%40%2F\@127.0.0.1/2",
            'unix:/tmp/redis.sock', 'unix:///tmp/redis.sock',
            'unix:/tmp/redis.sock?db=2', "unix://:$mark\@/tmp/redis.sock",
            "$url timeout=1ms", "timeout=60s $url", "$url timeout=5",
            "$url password_file=password",
            'redis://me@127.0.0.1 password_file=password',
            "$url prefix=", "$url prefix=shop: timeout=1s",
            map { "$url breaker=$_" } '10/50%/30s/3', '1/1%/1s/1',
                                      '64/100%/1h/64';
};


subtest 'admission_secret' => sub {
    my $secret = sub ($value, @texts) {
        local $Test::Builder::Level = $Test::Builder::Level + 1;
        wrong("admission_secret $value",
              { http => "admission_secret $value;" }, 'admission_secret',
              @texts);
    };
    my $kinds = qr/"tier1", "tier2", "user" or "admin"/;
    my $good = $secret{more};

    $secret->("$_ $good", $kinds) for 'tier3', 'TIER1', 'tier', '""';
    $secret->("tier3 $good", '"tier3"');
    $secret->('tier2', 'number of arguments');
    $secret->("tier2 $good format=raw x", 'number of arguments');

    # a secret at a wrong place

    $secret->("$good tier2", $kinds);
    $secret->("$good", 'number of arguments');
    $secret->("tier2 format=raw $good", 'format=raw|base64|hex');
    $secret->("tier2 $good $good", 'format=raw|base64|hex');
    $secret->("tier2 secret=$good x", 'format=raw|base64|hex');

    # one with a space is two of them

    $secret->("tier2 ${mark}1234 and-$mark", 'format=raw|base64|hex',
              'quotes');

    # lengths

    $secret->("$_ ${mark}1234", 'at least 32', '8 bytes long', $_)
        for qw(tier1 tier2 user admin);
    $secret->("tier2 $mark" . 'x' x 27, '31 bytes');
    $secret->('tier2 ""', '0 bytes', 'at least 32');
    $secret->('tier2 file=short.key', '10 bytes', 'at least 32');
    $secret->('tier2 file=empty.key', '0 bytes', 'at least 32');
    $secret->('tier2 file=newline.key', '0 bytes', 'at least 32');
    $secret->('tier2 file=long.key', '/long.key"', 'too long');
    $secret->('tier2 ' . unpack('H*', 'x' x 31) . ' format=hex', '31 bytes');
    $secret->('tier2 ' . b64url('x' x 31) . ' format=base64', '31 bytes');

    # files

    $secret->('tier2 file=', 'file=', 'name of a file');
    $secret->('tier2 file=none.key', '/none.key"', 'No such file');
    $secret->('tier2 file=none/none.key', '/none/none.key"', 'No such file');
    $secret->('tier2 file=.', 'Is a directory');

    # formats

    $secret->("tier2 $good format=$_", 'formats "raw", "base64" and "hex"',
              qq("$_")) for '', 'RAW', 'base32', 'hexa', 'utf-8';
    $secret->("tier2 $good $_", 'format=raw|base64|hex')
        for 'base64', 'Format=hex', 'format';
    $secret->("tier2 $good format=hex", 'not in the format "hex"');
    $secret->("tier2 $mark" . '!' x 40 . ' format=base64',
              'not in the format "base64"');
    $secret->('tier2 ' . unpack('H*', 'x' x 32) . '1 format=hex',
              'not in the format "hex"');
    $secret->('tier2 file=tier2.key format=hex', 'not in the format "hex"');
    $secret->('tier2 file=twohex.key format=hex', 'not in the format "hex"');

    # what is around one in a file counts, but for one newline

    right("in a file: $_->[0]", files => { 'around.key' => $_->[1] },
          http => 'admission_secret tier2 file=around.key;')
        for [ 'LF', "$good\n" ], [ 'CRLF', "$good\r\n" ], [ 'no end', $good ];
    right('in a file: hex and CRLF',
          files => { 'around.key' => unpack('H*', $good) . "\r\n" },
          http => 'admission_secret tier2 file=around.key format=hex;');

    my %around = ('ends in further newlines' => [ "%\n\n", "%\r\n\r\n", "%\n\r",
                                                  "%\r", "%\n\n\n" ],
                  'ends in a blank' => [ '% ', "% \r\n", "%\t", "%\f\n" ],
                  'begins with a blank' => [ " %\n", "\n%", "\t%" ],
                  'begins with a byte order mark' => [
                      "\xef\xbb\xbf%\n", "\xef\xbb\xbf%\r\n", "\xff\xfe%",
                      "\xfe\xff%", "\xef\xbb\xbf% " ]);

    for my $what (sort keys %around) {
        for my $text ($around{$what}->@*) {
            my ($status, $output) = ask(
                files => { 'around.key' => $text =~ s/%/$good/r },
                http => 'admission_secret tier2 file=around.key;');
            my @warned = $output =~ /\[warn\] \S+ (.*) in \S+$/mg;

            is_deeply [ $status, @warned ],
                [ 0, 'the secret of "file=around.key" in "admission_secret" '
                     . "directive $what, which is part of it" ], $what
                or diag $output;
            unlike $output, qr/$mark/, 'without showing it';
        }
    }

    # each kind its own, whatever way they are written and wherever

    my $alike = 'each kind needs its own';
    my $line = "admission_secret tier1 $good;";

    wrong('two kinds alike', { http => "$line admission_secret $_ $good;" },
          'admission_secret', 'tier1', $_, $alike) for qw(tier2 user admin);
    wrong('the second of a kind as another',
          { http => "$secrets admission_secret tier1 $secret{user};" },
          'tier1', 'user', $alike);
    wrong('the same from a file',
          { http => "$line admission_secret user file=more.key;" },
          'tier1', 'user', $alike);
    wrong('the same in hexadecimal',
          { http => "$line admission_secret user "
                    . unpack('H*', $good) . ' format=hex;' },
          'tier1', 'user', $alike);
    wrong('the same in a server',
          { server => "$line admission_secret user $good;" },
          'tier1', 'user', $alike);
    wrong('a server\'s like another kind\'s above it',
          { http => $line, server => "admission_secret tier2 $good;" },
          'tier1', 'tier2', $alike);
    wrong('a server\'s second like another kind\'s above it',
          { http => $secrets,
            server => "admission_secret tier1 $good;
                       admission_secret tier1 $secret{admin};" },
          'tier1', 'admin', $alike);

    right('a server\'s instead of the one above it',
          http => $secrets, server => "admission_secret tier2 $good;");
    right('a server\'s like another kind\'s that it replaces, too',
          http => $secrets,
          server => "admission_secret tier2 $secret{user};
                     admission_secret user $secret{tier2};");
    right('the same one twice of a kind',
          http => "$line admission_secret tier1 $good;");
    right('32 bytes', http => 'admission_secret tier2 ' . 'x' x 32 . ';');
    right('32 bytes in hexadecimal, in base64, by a file',
          http => 'admission_secret tier2 ' . 'Ab' x 32 . ' format=hex;'
                  . 'admission_secret tier1 "' . 'ab+/' x 11
                  . 'ab==" format=base64;'
                  . 'admission_secret user ' . 'ab-_' x 11 . ' format=base64;'
                  . 'admission_secret admin file=admin.key format=raw;');
    right('a path of its own',
          http => 'admission_secret tier2 file=%%DIR%%/tier2.key;');

    # what an older issuer signed

    $secret->("tier2 $good alg=$_", qq("alg=$_"), 'HS384 or HS512')
        for '', 'HS256', 'hs512', 'RS256', 'HS384,HS512';
    $secret->("$_ $good alg=HS512", 'format=raw|base64|hex')
        for qw(tier1 user admin);
    $secret->("tier2 $good alg=HS384", 'tier2 alg=', 'which signs');
    right('one that verifies, beside one that signs',
          http => "admission_secret tier2 $good;
                   admission_secret tier2 " . 'ab-_' x 11
                  . ' format=base64 alg=HS512;');

    # public keys

    my $keys = sub ($value, $text, @texts) {
        local $Test::Builder::Level = $Test::Builder::Level + 1;
        wrong("admission_secret user $value", {
            files => { keys => $text },
            http => "admission_secret user $value;" }, 'admission_secret',
            @texts);
    };

    $keys->("$_=none", '', qq("$_="), '/none"', 'No such file')
        for 'jwks', 'pem';
    $keys->("$_=", '', $_, 'name of a file') for 'jwks', 'pem';
    $keys->("$_=keys format=raw", '', 'format=raw', 'nothing after')
        for 'jwks', 'pem';
    $keys->('jwks=keys', $_->[0], '2048 bits', 'P-256', '/keys"', $_->[1])
        for ['', 'not JSON'], ['x', 'not JSON'], ['[]', 'no array "keys"'],
            [$jwk, 'no array "keys"'], ['{"keys":[]}', 'no key in it'],
            ['{"keys":[{"kty":"oct","k":"AAAA"}]}', 'no key in it'],
            ['{"keys":[{"kty":"RSA","e":"AQAB","n":"' . b64url("\xff" x 128)
             . '"}]}', 'less than 2048 bits'],
            ['{"keys":[{"kty":"RSA","e":"AQ","n":"' . b64url("\xff" x 256)
             . '"}]}', 'exponent'],
            [$jwks =~ s/"y":"x/"y":"y/r, 'not a key of its kind'],
            [$jwks =~ s/(?="x")/"alg":"ES384",/r, 'does not fit'],
            [$jwks =~ s/(?="x")/"d":"AA",/r, 'a private key'],
            [' ' x 1_100_000, 'longer than 1048576'];
    $keys->('pem=keys', $_->[0], '2048 bits', 'P-256', '/keys"', $_->[1])
        for ['', 'no key in it'], ['x', 'no key in it'],
            ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
             'not a key'],
            ["-----BEGIN PUBLIC KEY-----\nAAAA\n", 'not PEM'],
            ["-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
             'private key'];
    $keys->('file=keys', $_, '"pem="', '"jwks="')
        for "-----BEGIN PUBLIC KEY-----\n" . 'A' x 64 . "\n", $jwk, $jwks;
    wrong("jwks_uri=$_", { server => "admission_secret user jwks_uri=$_;" },
          'admission_secret', 'jwks_uri=', 'from "/" on')
        for '', 'keys', '/keys?x', '/keys format=raw', 'https://x.example/';
    right('jwks_uri= for all servers',
          http => 'admission_secret user jwks_uri=/keys;',
          location => 'admission_user jwt;');
    right('jwks_uri=', server => 'admission_secret user jwks_uri=/keys;',
          location => 'admission_user jwt;',
          more => 'location = /keys { subrequest_output_buffer_size 64k; }');

    my ($status, $output) = ask(
        server => 'admission_secret user jwks_uri=/keys;',
        more => 'location = /keys { subrequest_output_buffer_size 63k; }');
    is $status, 0, 'a small buffer for it is taken';
    like $output, qr/\[warn\].*"\/keys".*"subrequest_output_buffer_size 64k"/,
        'with a warning';
    wrong("$_ by keys", { http => "admission_secret $_ jwks=keys.json;" },
          'at least 32') for qw(tier1 tier2 admin);
};


subtest 'admission_events' => sub {
    my $line = sub ($line, @texts) {
        local $Test::Builder::Level = $Test::Builder::Level + 1;
        wrong("admission_events { $line }",
              { http => "admission_events { $line }" }, '"admission_events"',
              @texts);
    };

    my %wrong = (
        threshold => [ '-1', 'x', '', '1.5', '10000001', '1k', '0x10',
                       '99999999999999999999' ],
        admit_batch => [ '0', '-1', '1001', 'x', '' ],
        slots => [ '-1', 'x', '', '1.5', '10000001', 'none' ],
        complete => [ 'on', 'users', 'User', '' ],
        admissions_stream => [ 'yes', '1', 'ON', '' ],
        leave_on_close => [ 'yes', '1', 'auto', '' ],
        backend_latency => [ '0', '61s', '-1', 'x', '', '1.5ms', 'on' ],
        backend_errors => [ '0%', '0.001%', '100.01%', '101%', '2', '%', 'x%',
                            '', '-1%', '2 %', '2.345%', 'on' ],
        backend_5xx => [ 'auto', 'yes', '1', '' ],
        backend_follow => [ 'auto', 'wet', 'DRY', '1', '' ],
        vwr_rate_min => [ '0', '-1', '1000001', '0.5', 'x', '' ],
        threshold_min => [ '0', '-1', '10000001', '1.5', 'x', '' ],
        title => [ "\xff", "\xc3" ],
        artist => [ "\xed\xa0\x80", "a\xf4\x90\x80\x80", "\xc0\xaf",
                    "a\x01b", "a\nb" ],
        map({ $_ => [ '0', '999ms', '-5s', 'x', '', '25h', '1w', '5 s',
                      '10sec' ] }
            qw(active_ttl claim_ttl seen_ttl token_ttl)),
        session_max => [ '0', '999ms', '8d', 'x' ],
        restore_wait => [ '-1s', '3601s', '2h', 'x', '' ],
        admit_interval => [ '0', '99ms', '61m', 'x' ],
    );
    my %takes = (
        threshold => '0 to 10000000', admit_batch => '1 to 1000',
        slots => '0 to 10000000', complete => '"user" or "off"',
        leave_on_close => '"on" or "off"',
        backend_latency => '1ms to 60s', backend_errors => '0.01% to 100%',
        backend_5xx => '"on" or "off"', backend_follow => '"off" or "dry"',
        vwr_rate_min => '1 to 1000000', threshold_min => '1 to 10000000',
        admissions_stream => '"on" or "off"', title => 'UTF-8 without control',
        artist => 'UTF-8 without control', session_max => '1s to 7d',
        restore_wait => '0 to 1h', admit_interval => '100ms to 1h',
        map({ $_ => '1s to 24h' } qw(active_ttl claim_ttl seen_ttl token_ttl)),
    );

    for my $key (sort keys %wrong) {
        $line->(qq(default "$key=$_";), qq("$key="), qq("$_"), $takes{$key})
            for $wrong{$key}->@*;
    }

    $line->("concert $_;", 'threshold, active_ttl', qq("$_"))
        for 'thresholds=1', 'Threshold=1', 'threshold', '=1', 'on',
            'active-ttl=1s', 'max=5', '1';
    $line->("concert threshold=1 threshold=$_;", 'duplicate', '"threshold="')
        for 1, 2;
    $line->('concert title=a title=b;', 'duplicate', '"title="');

    $line->("$_ threshold=1;", 'invalid event id', '1 to 64')
        for '"a b"', 'a/b', '""', 'x' x 65, "\xc3\xa4", 'a:b', '*', '"a{b}"';
    $line->('concert; concert;', 'duplicate', '"concert"');
    $line->('concert; CONCERT threshold=1;', 'duplicate', '"concert"');
    $line->('default; default threshold=1;', 'duplicate', '"default"');

    wrong('admission_events twice',
          { http => 'admission_events { } admission_events { }' },
          '"admission_events"', 'duplicate');
    wrong('admission_events with a value',
          { http => 'admission_events x { }' }, '"admission_events"',
          'number of arguments');
    wrong('admission_events without a block',
          { http => 'admission_events;' }, '"admission_events"');
    wrong('a line without an end',
          { http => 'admission_events { concert }' }, 'unexpected "}"');

    right("admission_events { $_ }", http => "admission_events { $_ }")
        for '', 'default;', 'x;', 'x' x 64 . ';', '._-;',
            'default threshold=0;', 'default threshold=10000000;',
            'concert active_ttl=24h session_max=7d claim_ttl=1s seen_ttl=1m
             token_ttl=1000ms restore_wait=0 admit_interval=100ms
             admit_batch=1000 admissions_stream=on;',
            'default backend_latency=1ms backend_errors=0.01% backend_5xx=on
             backend_follow=dry vwr_rate_min=1 threshold_min=1;
             concert backend_latency=60s backend_errors=100%
             backend_follow=off vwr_rate_min=1000000
             threshold_min=10000000;
             other backend_latency=off backend_errors=off backend_follow=on;',
            'concert title=;', 'concert "title=a \"b\" c" "artist=<x>";',
            'DEFAULT threshold=1;';
};


subtest 'admission_user' => sub {
    my $allowed = '"off", "jwt", "visitor", or a value with variables';

    wrong_value('admission_user', $_, $allowed)
        for qw(on JWT none alice jwt2), '""', '" jwt"';

    for my $value (qw(id= email= role= type= ID=a claim=x id jwt alg),
                   'id =x')
    {
        wrong_value('admission_user', qq(jwt "$value"), [$value], '"id="',
                    '"email="', '"role="', '"type="', '"alg="');
    }

    wrong_value('admission_user', "jwt alg=$_", ["alg=$_"],
                'HS256, HS384 and HS512')
        for '', 'none', 'RS257', 'hs256', 'HS256,none', 'ES512', 'rs256', 'HS256,,HS384',
            'HS256|HS384', ',HS256', 'HS256,', 'HS25', 'HS2566';
    wrong_value('admission_user', "$_ id=a", ['id=a'], '"jwt" only')
        for 'off', 'visitor', '$remote_user';
    wrong('an unknown variable',
          { location => 'admission_user $no_such_variable;' },
          'unknown "no_such_variable" variable');
    wrong('admission_user without a value', { server => 'admission_user;' },
          '"admission_user"', 'number of arguments');
    wrong('admission_user twice',
          { location => 'admission_user off; admission_user off;' },
          '"admission_user"', 'duplicate');

    # what is needed with it

    wrong('jwt without a secret', { location => 'admission_user jwt;' },
          '"admission_user jwt"', '"admission_secret user"');
    wrong('jwt without a secret, above', { http => 'admission_user jwt;' },
          '"admission_user jwt"', '"admission_secret user"');
    wrong('visitor without a secret',
          { location => 'admission_user visitor;' },
          '"admission_user visitor"', '"admission_secret tier1"');

    right("admission_user $_", http => $secrets,
          location => "admission_user $_;")
        for 'off', 'jwt', 'visitor', '$remote_user', '"$remote_user@$host"',
            'jwt id=a.b email=x role=https://x.example/role type=access',
            'jwt alg=HS512', 'jwt alg=HS384,HS256', 'jwt iss=a aud=b,c',
            'jwt leeway=0', 'jwt leeway=5m';

    wrong_value('admission_user', "jwt leeway=$_", ["leeway=$_"], '0 to 5m')
        for '', '-1', '6m', 'x', '301', '1.5';
    wrong_value('admission_user', "jwt $_", [$_], '"iss="', '"aud="')
        for 'iss=', 'aud=';

    my %keys = (files => { 'keys.json' => $jwks },
                http => 'admission_secret user jwks=keys.json;');
    my $hmac = "admission_secret user $secret{user};";

    wrong('an algorithm of keys, without keys',
          { http => $hmac, location => "admission_user jwt alg=$_;" },
          '"admission_user jwt alg="', '"jwks="', '"pem="')
        for 'RS256', 'HS256,EdDSA';
    wrong('one of secrets, without secrets',
          { %keys, location => "admission_user jwt alg=$_;" },
          '"admission_user jwt alg="', 'a secret')
        for 'HS256', 'ES256,HS512';
    right('keys', %keys, location => 'admission_user jwt;');
    right('keys, and which algorithms', %keys,
          location => 'admission_user jwt alg=RS256,RS384,RS512,PS256,PS384,'
                      . 'PS512,ES256,ES384,EdDSA;');
    right('keys and a secret', files => $keys{files},
          http => "$keys{http} $hmac",
          location => 'admission_user jwt alg=HS256,ES256;');
};


subtest 'admission_tier1' => sub {
    wrong_value('admission_tier1', $_, [$_ =~ tr/"//dr],
                '"off", "auto", "on"', 'a variable')
        for qw(AUTO ON yes 1 required any), '""';
    wrong('admission_tier1 with a parameter',
          { http => $secrets, location => "admission_tier1 auto $_;" },
          '"admission_tier1"', qq("$_"), '"event=any|required"',
          '"bind=on|off"')
        for qw(bind bind= bind=yes strict=on Bind=on methods=GET event event=
               event=all event=Any EVENT=any required event=any|required);
    wrong('admission_tier1 without a value',
          { server => 'admission_tier1;' }, '"admission_tier1"',
          'number of arguments');
    wrong('admission_tier1 twice',
          { http => $secrets,
            location => 'admission_tier1 on; admission_tier1 off;' },
          '"admission_tier1"', 'duplicate');
    wrong("$_ without a secret", { location => "$_;" },
          qq("${\ (split)[0]}"), '"admission_secret tier1"')
        for 'admission_tier1 auto', 'admission_tier1 $arg_gate',
            'admission_vwr_api';
    wrong("$_ beside another", { http => $secrets,
          location => "$_; admission_admin_api;" }, 'duplicate')
        for 'admission_vwr_api', 'admission_admin_api',
            'admission_queue_api admin=on';
    wrong('admission_admin_api with a value',
          { location => 'admission_admin_api on;' }, '"admission_admin_api"',
          'number of arguments');

    for my $ours ('admission_vwr_api', 'admission_admin_api',
                  'admission_queue_api admin=on', 'admission_page tier1',
                  'admission_metrics', 'admission_health live')
    {
        for my $other ('proxy_pass http://127.0.0.1', 'empty_gif') {
            wrong("$$_[0] beside $$_[1]",
                  { http => $secrets, location => "$$_[0]; $$_[1];" },
                  '"' . (split ' ', $ours)[0] . '"',
                  'stands beside another content handler')
                for [ $ours, $other ], [ $other, $ours ];
        }
    }

    right("admission_tier1 $_", http => $secrets,
          location => "admission_tier1 $_;")
        for 'auto', 'on', 'off', '$arg_gate', 'auto bind=off', 'on bind=on',
            'on event=any', 'auto event=required', '$arg_gate event=required',
            'auto bind=off event=required';
    right('off without anything', location => 'admission_tier1 off;');
    right('admission_admin_api without anything',
          location => 'admission_admin_api;');
};


subtest 'events in files of their own' => sub {
    my %files = ('sales.conf' => "a threshold=1;\nb;\n",
                 'more.conf' => "default threshold=3;\ninclude sales.conf;\n",
                 'twice.conf' => "a;\n", 'bad.conf' => "c treshold=1;\n");
    my $events = sub ($lines) {
        return (files => \%files, http => "admission_events { $lines }");
    };

    right($_, $events->($_))
        for 'include sales.conf; default threshold=2; c;',
            'include more.conf;', 'include s*.conf;', 'include none*.conf;';

    wrong($$_[0], { $events->($$_[0]) }, @$_[1 .. $#$_])
        for [ 'include none.conf;', 'none.conf', 'No such file' ],
            [ 'include sales.conf; include twice.conf;',
              'duplicate event "a"', 'twice.conf:1' ],
            [ 'include bad.conf;', '"treshold=1"', 'bad.conf:1' ];

    right('an event of that name', $events->($_))
        for 'include;', 'include threshold=5;',
            'include threshold=5 vwr_rate=1;';
};


subtest 'keys of the waiting room' => sub {
    for my $case ([ 'vwr', '"auto", "on" or "off"', '', 'ON', 'yes', '1' ],
                  [ 'vwr_rate', 'a number from 0 to 1000000', '', '-1', 'x',
                    '1000001', '1.5', '50r/s' ],
                  [ 'vwr_burst', 'a number from 0 to 10000000', '', '-1',
                    '10000001' ],
                  [ 'vwr_noshow', 'a number from 1 to 20', '', '0', '21', '1.5',
                    'off' ],
                  map({ [ $_, 'a number from 0 to 1000000000, or "off"', '', '-1',
                          'x', '1000000001', 'on' ] }
                      qw(max_queue vwr_max_queue)),
                  map({ [ $_, 'a time from 1s to 7d, or "off"', '', '0', '500ms',
                          '8d', 'x', '-1' ] } qw(max_wait vwr_max_wait)),
                  [ 'ticket_ttl', 'a time from 1s to 7d', '', '0', '500ms',
                    '8d', 'x' ],
                  map({ [ $_, 'a date with a time and an offset, such as '
                              . '"2026-12-24T20:00:00+09:00", or "off"', '',
                          '20:00', '2026-12-24', '2026-12-24T20:00:00',
                          '2026-02-29T20:00:00Z', '1766573999', 'on' ] }
                      qw(opens starts closes)),
                  [ 'order', '"arrival" or "draw"', '', 'off', 'lots' ],
                  [ 'lots', '"user" or "visitor"', '', 'users', 'off' ],
                  [ 'draw_beacon', '1 to 128 characters of ASCII', '',
                    'x' x 129, "\xc3\xa9" ])
    {
        my ($key, $allowed, @bad) = @$case;

        wrong("$key=$_", { http => "admission_events { e $key=$_; }" },
              qq("$key="), qq("$_"), $allowed) for @bad;
    }

    right("a line with $_", http => "admission_events { default $_; e; }")
        for 'vwr=auto', 'vwr=on', 'vwr=off', 'vwr=standby', 'vwr_rate=0',
            'vwr_rate=1000000 vwr_burst=0', 'vwr_burst=10000000',
            'vwr_noshow=1', 'vwr_noshow=20',
            'ticket_ttl=1s', 'ticket_ttl=7d', 'max_queue=0 max_wait=1s',
            'max_queue=1000000000 max_wait=7d', 'max_queue=off max_wait=off',
            'vwr_max_queue=0 vwr_max_wait=7d', 'vwr_max_queue=off vwr_max_wait=off',
            'opens=2026-12-24T19:30:00+09:00 starts=2026-12-24T20:00:00+09:00',
            'starts=2026-12-24T20:00:00.5z closes=2026-12-24t20:00:00.5Z',
            'opens=off starts=off closes=off order=arrival draw_beacon=off',
            'order=draw "draw_beacon=drand x 1" lots=user', 'lots=visitor';

    my %at = map { $_ => "2026-12-24T0$_:00:00Z" } 1 .. 3;
    wrong($_, { http => "admission_events { e $_; }" }, '"e"',
          '"opens=" can not be after "starts="')
        for "opens=$at{2} starts=$at{1}", "starts=$at{2} closes=$at{1}",
            "opens=$at{2} closes=$at{1}", "opens=$at{1} starts=$at{3} closes=$at{2}";
    wrong('of two lines', { http => "admission_events { default opens=$at{2};
          e starts=$at{1}; }" }, '"e"', 'not be after');
    wrong("standby with $_->[0]", { http => "admission_events {
          e vwr=standby $_->[0]; }" }, '"vwr=standby"', '"e"', $_->[1])
        for [ 'order=draw', '"order=draw"' ],
            [ "opens=$at{1}", 'takes no "opens="' ],
            [ "starts=$at{1}", 'no "starts="' ],
            [ 'vwr_rate=0', '"vwr_rate=" of 1' ],
            [ 'vwr_rate=50 vwr_burst=12', '"vwr_burst=" of a quarter' ],
            [ 'vwr_burst=0', '"vwr_burst="' ];
    wrong('standby of two lines', { http => 'admission_events {
          default vwr_rate=0; e vwr=standby; }' }, '"e"', '"vwr_rate="');
    right("standby with $_", http => "admission_events { e vwr=standby $_; }")
        for 'vwr_rate=1', 'vwr_rate=50 vwr_burst=13', "closes=$at{3}";
    my ($rc, $said) = ask(http => "admission_events {
        e order=draw vwr=on starts=$at{2}; f order=draw vwr=on opens=$at{1}
        starts=$at{2}; }");
    is $rc, 0, 'a draw without an opening, in a room that is on';
    is_deeply [ $said =~ /\[warn\].*"order=draw" of "(\w)"/mg ], [ 'e' ],
        'is warned of';
    wrong('no room to draw in', { http => 'admission_events {
          e order=draw vwr=off; }' }, '"order=draw"', '"e"', '"vwr=off"');
};


subtest 'admission_tier2' => sub {
    my $all = '"methods=", "event=required|any", "bind=on|off" and '
              . '"strict=on|off"';
    my $http = "$secrets admission_user jwt;";
    my $gate = sub ($value, $shown, @texts) {
        local $Test::Builder::Level = $Test::Builder::Level + 1;
        wrong("admission_tier2 $value",
              { http => $http, location => "admission_tier2 $value;" },
              '"admission_tier2"', qq("$shown"), @texts);
    };

    $gate->($_, $_ =~ tr/"//dr, '"on", "off", or a variable')
        for qw(auto ON yes 1 required onn), '""';
    $gate->("on $_", $_, $all)
        for qw(event=all event= event=ANY bind=yes bind= strict=1 strict=
               strict Bind=on methods any);
    $gate->("on methods=$_", "methods=$_", 'GET', 'POST', 'DELETE')
        for '', 'FOO', 'GET,FOO', ',GET', 'GET,', 'GET|POST', 'ALL', 'TRACE',
            'GET,,POST';
    wrong('admission_tier2 twice',
          { http => $http,
            location => 'admission_tier2 on; admission_tier2 off;' },
          '"admission_tier2"', 'duplicate');
    wrong('admission_tier2 without a value',
          { server => 'admission_tier2;' }, '"admission_tier2"',
          'number of arguments');

    wrong('without a secret',
          { http => "admission_secret user $secret{user};",
            location => 'admission_user jwt; admission_tier2 on;' },
          '"admission_tier2"', '"admission_secret tier2"');
    wrong('without a secret, above',
          { http => 'admission_tier2 on bind=off;' },
          '"admission_tier2"', '"admission_secret tier2"');
    wrong('without a user',
          { http => $secrets, location => "admission_tier2 $_;" },
          '"admission_tier2"', '"admission_user"', '"bind=off"')
        for 'on', '$arg_gate', 'on strict=on';

    right("admission_tier2 $_", http => $http,
          location => "admission_tier2 $_;")
        for 'on', 'off', '$arg_gate', 'on bind=off', 'on bind=on',
            'on event=required', 'on strict=off', 'on methods=get,Post',
            'on methods=HEAD', 'off methods=GET strict=on';
    right('off without anything', location => 'admission_tier2 off;');
    right('bind=off without a user', http => $secrets,
          location => 'admission_tier2 on bind=off;');
};


subtest 'admission_deny and the rest of a line' => sub {
    wrong_value('admission_deny', $_,
                '"auto", "redirect", "json", "status"')
        for qw(AUTO html 403 off on), '""';

    for my $directive (qw(admission_waiting_uri admission_queue_uri
                          admission_login_uri))
    {
        wrong_value($directive, qq("$_"), 'without spaces')
            for '/a b', "/\x7f", "/a\tb", 'https://a b/';
        wrong_value($directive, qq("$_"), 'a path from "/" on')
            for 'a', 'wait/$admission_event', '?a=$arg_a', './a', '#', ' ',
                'a.example/wait', 'https:/a.example', 'https:a', 'a:', '://a',
                '1a://b', 'javascript:alert', '-$arg_a';
        right("$directive: $_", location => "$directive $_;")
            for '""', '/a?b=c#d', 'https://a.example/', '"/a $arg_b"',
                "/\xea\xb0\x80", '$arg_a', 'http$arg_s://$host/a',
                '"${scheme}://a.example"', 'https://$host', 'HTTP://a',
                'a+b.c-1://x', '//a.example/';
    }

    for my $directive (qw(admission_event admission_deny admission_waiting_uri
                          admission_queue_uri admission_login_uri
                          admission_bypass))
    {
        my $value = $directive eq 'admission_deny' ? 'json' : '/a';

        wrong("$directive without a value", { location => "$directive;" },
              "\"$directive\"", 'number of arguments');
        wrong("$directive with two",
              { location => "$directive $value $value;" },
              "\"$directive\"", 'number of arguments');
        wrong("$directive twice",
              { location => "$directive $value; $directive $value;" },
              "\"$directive\"", 'duplicate');
        wrong("$directive with an unknown variable",
              { location => "$directive \$no_such_variable;" },
              $directive eq 'admission_deny' ? '"$no_such_variable"'
                  : 'unknown "no_such_variable" variable');
        right("$directive at every level", http => "$directive $value;",
              server => "$directive $value;",
              location => "$directive $value;");
    }
};


subtest 'admission_cookie' => sub {
    my @parameters = ('"name="', '"path=/..."', '"domain="',
                      'samesite=lax|strict|none|off', 'secure=auto|on|off',
                      'httponly=on|off', 'per_event=on|off');

    wrong_value('admission_cookie', "$_ name=a", [$_ =~ tr/"//dr],
                '"tier1"', '"tier2"', '"user"', '"visitor"', '"ticket"',
                '"place"')
        for qw(tier3 access_token Tier1 admin), '""';

    wrong_value('admission_cookie', qq(tier2 "$_"), [$_], @parameters)
        for 'name=', 'name=a b', 'name=a;b', 'name=a=b', 'name=a,b',
            "name=\xc3\xa4", 'path=', 'path=x', 'path=/a;b', "path=/\x01",
            "path=/\xc3\xa4", 'domain=a;b', 'samesite=', 'samesite=maybe',
            'secure=', 'secure=yes', 'secure=AUTO', 'httponly=1', 'httponly=',
            'per_event=auto', 'per_event=', 'max_age=1', 'Name=a', 'name',
            'secure', 'a', 'name=[x]', 'name=a/b', 'name={x}';

    wrong('admission_cookie of a kind twice',
          { location => 'admission_cookie place name=a;
                         admission_cookie place path=/b;' },
          '"admission_cookie"', 'duplicate');
    wrong("admission_cookie $_", { location => "admission_cookie $_;" },
          '"admission_cookie"', 'number of arguments') for '', 'tier2';

    # of two cookies under one name one would be lost

    wrong('admission_cookie of a name twice',
          { location => 'admission_cookie tier2 name=a;
                         admission_cookie place name=a;' },
          '"admission_cookie"', '"a"', '"tier2"', '"place"');
    wrong('admission_cookie of the name of another kind',
          { location => 'admission_cookie visitor name=access_token;' },
          '"admission_cookie"', '"access_token"', '"user"', '"visitor"');
    wrong('admission_cookie of a name above',
          { server => 'admission_cookie ticket name=a;',
            location => 'admission_cookie tier1 name=a;' },
          '"admission_cookie"', '"a"', '"tier1"', '"ticket"');

    # nor do they take a name whose prefix promises what is not so

    for my $case ([ '__Host-v domain=shop.example', 'no "domain="' ],
                  [ '__Host-v path=/x', '"path=/"' ],
                  [ '__Host-v secure=off', '"secure=auto"' ],
                  [ '__Secure-v secure=off', '"secure=auto"' ],
                  [ '__Secure-v domain=a.example secure=off', '"secure=on"' ],
                  [ '__HOST-v path=/x secure=on', '"path=/"' ],
                  [ '__secure- secure=off', '"secure=auto"' ],
                  [ '__Http-v httponly=off', '"httponly=on"' ],
                  [ '__Http-v secure=off', '"secure=auto"' ],
                  [ '__Host-Http-v httponly=off', '"httponly=on"' ],
                  [ '__Host-Http-v path=/x', '"path=/"' ])
    {
        my ($cookie, @texts) = @$case;
        my ($name) = $cookie =~ /^(\S+)/;

        wrong("admission_cookie $_ name=$cookie",
              { location => "admission_cookie $_ name=$cookie;" },
              '"admission_cookie"', qq("$name"), @texts)
            for 'visitor', 'tier1';
    }

    right("admission_cookie tier2 name=$_",
          location => "admission_cookie tier2 name=$_;")
        for '__Host-v', '__Host-v path=/ domain= secure=auto', '__Secure-v',
            '__Secure-v domain=shop.example path=/x', '__Http-v path=/x',
            '__Host-Http-v', '__Hostv domain=a.example secure=off',
            '__Host domain=a.example', '_Secure-v secure=off';

    # browsers drop it, and every visit begins anew

    wrong("admission_cookie $_", { location => "admission_cookie $_;" },
          '"admission_cookie"', '"samesite=none"', '"secure=off"',
          '"secure=auto"', '"secure=on"')
        for 'tier1 samesite=none secure=off', 'place secure=off samesite=None';

    right("admission_cookie $_", location => "admission_cookie $_;")
        for 'tier1 samesite=none secure=auto', 'tier1 samesite=none secure=on',
            'tier1 samesite=off secure=off', 'tier1 name=a', 'tier2 name=__Host-t2 secure=on path=/',
            'user path=/shop', 'visitor domain=.shop.example',
            'visitor domain=',
            'ticket samesite=Lax secure=auto', 'place samesite=off
             httponly=on per_event=off', q(user "name=a!#$%&'*+-.^_`|~b");
};


subtest 'admission_cors' => sub {
    wrong_value('admission_cors', $_, ['*'], '"https://host[:port]"',
                'credentials') for '*', 'https://a.example *';
    wrong_value('admission_cors', $_, [$_ =~ tr/"//dr],
                '"https://host[:port]"')
        for 'null', 'a.example', 'https://', 'https:/a.example', '://a',
            'https://a.example/', 'https://a.example/path',
            'https://*.example', 'https://a.example?x', '"https://a b"',
            '"https://a.example#x"', 'https://a.example,https://b.example',
            'https://me@a.example', "https://\xc3\xa4.example", 'on', '""',
            'https://a.example:x', 'https://a.example:',
            'https://a.example:99999', 'https://:443';
    wrong('admission_cors without a value', { location => 'admission_cors;' },
          '"admission_cors"', 'number of arguments');

    right("admission_cors $_", location => "admission_cors $_;")
        for 'https://a.example', 'http://a.example:8080 https://b.example',
            'https://A.Example', 'http://127.0.0.1:3000', 'http://[::1]:80',
            'capacitor://localhost', 'moz-extension://0123-abcd';
};


subtest 'admission_queue_api' => sub {
    wrong_value('admission_queue_api', $_, '"admin=on|off"')
        for qw(admin on admin= admin=yes admin=1 ADMIN=on queue);
    wrong('admission_queue_api with two values',
          { location => 'admission_queue_api admin=on admin=on;' },
          '"admission_queue_api"', '"admin=on"', '"admin=on|off" once');
    wrong("admission_queue_api with $_ and admin=on",
          { http => $secrets, location => "admission_queue_api $_ admin=on;" },
          '"admission_queue_api"', qq("$_"), '"admin=on" alone')
        for 'visitor_rate=5r/s', 'burst=5', 'visitor_rate=off';
    wrong('admission_queue_api twice',
          { location => 'admission_queue_api; admission_queue_api;' },
          '"admission_queue_api"', 'duplicate');
    wrong('without a secret',
          { http => "admission_secret user $secret{user};
                     admission_user jwt;",
            location => 'admission_queue_api;' },
          '"admission_queue_api"', '"admission_secret tier2"');
    wrong('without a user',
          { http => $secrets, location => 'admission_queue_api;' },
          '"admission_queue_api"', '"admission_user"');
    right('for operators without a user', http => $secrets,
          location => 'admission_queue_api admin=on;',
          more => 'location /q { admission_user visitor;
                                 admission_queue_api; }');
};


subtest 'assign_rate= and visitor_rate=' => sub {
    # or nginx -t warns that operators' calls have no location
    my $operators = 'location /o { admission_queue_api admin=on; }';

    for my $case ([ 'admission_vwr_api', 'assign_rate' ],
                  [ 'admission_queue_api', 'visitor_rate' ])
    {
        my ($directive, $rate) = @$case;
        my $other = $rate eq 'assign_rate' ? 'visitor_rate' : 'assign_rate';

        wrong_value($directive, $_, qq("$rate=Nr/s|Nr/m|Nr/h"),
                    qq("$rate=off"), '"burst=N"')
            for map({ "$rate=$_" } '', '0', '50', '0r/s', '-1r/s', '1.5r/s',
                    '50r/d', '50r', '50r/', 'r/s', '50R/s', 'on', 'Off',
                    '100000001r/s', '99999999999999999999r/s', '50r/sec'),
                map({ "burst=$_" } '', '0', '-1', '1.5', 'x', '5r/s', '1000001',
                    'off', '99999999999999999999'),
                $rate, 'burst', 'rate=5r/s', uc($rate) . '=5r/s',
                "$other=5r/s", 'on';

        wrong("$directive with $_ twice",
              { http => "$secrets admission_user jwt;",
                location => "$directive $_ $_;" }, qq("$directive"), qq("$_"),
              'each once') for "$rate=5r/s", "$rate=off", 'burst=5';
        wrong("$directive off, with a burst",
              { http => $secrets,
                location => "$directive burst=5 $rate=off;" },
              qq("$directive"), qq("$rate=off"), 'without "burst="');

        right("$directive $_", http => "$secrets admission_user jwt;",
              location => "$directive $_;",
              $rate eq 'visitor_rate' ? (more => $operators) : ())
            for "$rate=off", 'burst=1', 'burst=1000000',
                map { ("$rate=$_", "$rate=$_ burst=20", "burst=20 $rate=$_") }
                    qw(1r/h 50r/s 100000000r/s 30r/m);
    }

    right('admin=off with a rate', http => "$secrets admission_user visitor;",
          location => 'admission_queue_api admin=off visitor_rate=5r/s;',
          more => $operators);
};


# What stands twice is a slip: one of them would not count.

subtest 'a parameter twice' => sub {
    wrong("$_ $$_[0]", { http => $secrets, location => "@$_;" },
          qq("$$_[0]"), qq("$$_[-1]"), 'each parameter once')
        for map { [ split ' ' ] } map { "admission_$_" }
            (map { "user jwt $_" }
                 'id=a id=b', 'id=a email=b id=a', 'email=a email=b',
                 'role=a role=b', 'type=a type=b', 'alg=HS256 alg=HS384'),
            (map { "tier1 on $_" }
                 'bind=on bind=off', 'event=any bind=off event=required'),
            (map { "tier2 on $_" }
                 'methods=GET methods=POST', 'bind=on bind=off',
                 'event=any bind=off event=required', 'strict=on strict=off'),
            (map { "cookie tier2 $_" }
                 'name=a name=b', 'path=/ path=/a', 'domain= domain=a',
                 'domain=a domain=', 'samesite=lax samesite=none',
                 'secure=on name=a secure=auto', 'httponly=on httponly=off',
                 'per_event=on per_event=on'),
            (map { "page tier1 $_" }
                 'next=/a next=/b', 'next=/a api=/x next=/a',
                 'api=/a api=/b');

    wrong("admission_redis $_",
          { http => "admission_redis rediss://127.0.0.1 $_;" },
          '"admission_redis"', 'duplicate "' . s/=.*//r . '="')
        for 'timeout=1s timeout=2s', 'prefix=a prefix=b', 'prefix= prefix=',
            'breaker=10/50%/30s/3 breaker=10/50%/30s/3',
            'password_file=password password_file=password',
            'tls_name=a tls_name=b', 'cluster=on cluster=on';

    wrong("admission_events $_=",
          { http => "admission_events { default $_=1 $_=1; }" },
          '"admission_events"', qq(duplicate "$_="))
        for qw(threshold vwr_rate title);
};


subtest 'where each belongs' => sub {
    my %value = (admission_zone => 'a:1m;',
                 admission_redis => 'redis://127.0.0.1;',
                 admission_events => '{ }', admission_secret
                     => "tier2 $secret{more};",
                 admission_queue_api => ';', admission_event => 'a;',
                 admission_user => 'off;', admission_tier2 => 'off;',
                 admission_deny => 'json;', admission_queue_uri => '/a;',
                 admission_login_uri => '/a;', admission_bypass => '1;',
                 admission_cookie => 'tier2 name=a;',
                 admission_cors => 'https://a.example;');
    my %places = (admission_zone => 'http', admission_redis => 'http',
                  admission_events => 'http',
                  admission_secret => 'http server',
                  admission_queue_api => 'location');

    for my $directive (sort keys %value) {
        my $line = "$directive $value{$directive}";
        my $places = $places{$directive} // 'http server location';

        for my $place (qw(main events http server location)) {
            next if $places =~ /\b$place\b/;

            wrong("$directive in $place", { $place => $line },
                  qq("$directive" directive is not allowed here));
        }

        wrong("$directive in if in a location",
              { location => "if (\$arg_x) { $line }" },
              qq("$directive" directive is not allowed here));
        wrong("$directive in if in a server",
              { server => "if (\$arg_x) { $line }" },
              qq("$directive" directive is not allowed here));
        wrong("$directive in limit_except",
              { location => "limit_except GET { $line }" },
              qq("$directive" directive is not allowed here));
    }

    wrong('an unknown directive', { http => 'admission_tier9 on;' },
          'unknown directive "admission_tier9"');
};


subtest 'a reload with a wrong configuration' => sub {
    my %good = (http => "$secrets admission_events { default threshold=1; }",
                server => <<'END');
        admission_event  concert;
        admission_user   jwt;
        location / { admission_tier2 on; empty_gif; }
END
    my $nginx = Admission::Nginx->start(%good, workers => 2,
                                        files => \%file);
    my @workers = sort $nginx->worker_pids;

    my $pass = sub {
        my $user = user_token($secret{user}, userId => 'alice');
        my $entry = entry_token($secret{tier2}, sub => 'concert',
                                uid => 'alice');
        return get($nginx->port, '/', bearer => $user, headers =>
                   [ 'X-Queue-Entry-Token' => $entry ])->status;
    };

    is $pass->(), 200, 'serves';

    my @wrong = (
        { http => "$good{http} admission_zone x:1;" },
        { http => "$good{http} admission_secret tier1 $secret{tier2};" },
        { http => "$good{http} admission_secret user file=gone.key;" },
        { http => "$good{http} admission_redis redis://127.0.0.1:0;" },
        { http => 'admission_tier2 on;' },
        { server => "$good{server} location /x { admission_queue_api x; }" },
        # known when the zone is made, or the configuration is
        { http => "$good{http} admission_zone admission:100000g;" },
    );

    for my $n (1 .. @wrong) {
        my $since = $nginx->log_mark;

        $nginx->allow(qr/\[emerg\].*(?:admission|gone\.key)/);
        $nginx->configure(%good, $wrong[$n - 1]->%*);
        $nginx->signal('HUP');

        ok wait_until(sub { $nginx->error_log($since) =~ /\[emerg\]/ },
                      20),
            "wrong one $n is refused";
        is_deeply [ sort $nginx->worker_pids ], \@workers,
            'the workers stay';
        is $pass->(), 200, 'and serve as before';
    }

    $nginx->configure(%good);
    $nginx->reload;

    is $pass->(), 200, 'a right one is taken then';
    isnt join(' ', sort $nginx->worker_pids), "@workers", 'by new workers';
    unlike $nginx->error_log, qr/$mark/, 'no secret is in the log';
};

done_testing;
