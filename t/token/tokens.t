# Which tokens pass and which do not: every token of the table is shown at the
# gate in the header and in both cookies, twice each (a worker remembers what
# it has verified), and the reason of a refusal is the one expected.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(hmac_sha256);
use MIME::Base64 qw(encode_base64);

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

use Time::HiRes ();

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 user old other newer);
my $binary = pack 'C*', 0 .. 255;
my $event = '3f0c2b1e-abcd-4000-8000-000000000001';

my $redis = Admission::Redis->start;

# files with something around the secret, "%"

my %around = (lines => "%\n\n", crlfs => "%\r\n\r\n", cr => "%\r",
              lfcr => "%\n\r", blank => "% \n", blanks => " % ",
              tab => "%\t\r\n", first => "\n%\n",
              bom => "\xef\xbb\xbf%\r\n", utf16 => "\xff\xfe%\n");

# a server for each way to give the secrets

my %servers = (
    plain   => "admission_secret tier2 $secret{tier2};",
    rotated => "admission_secret tier2 $secret{newer};
                admission_secret tier2 $secret{tier2};",
    other   => "admission_secret tier2 $secret{other};",
    base64  => 'admission_secret tier2 "' . encode_base64($binary, '')
               . '" format=base64;',
    base64url => 'admission_secret tier2 ' . b64url($binary)
               . ' format=base64;',
    hex     => 'admission_secret tier2 ' . unpack('H*', $binary)
               . ' format=hex;',
    upper   => 'admission_secret tier2 ' . uc(unpack 'H*', $binary)
               . ' format=hex;',
    file    => 'admission_secret tier2 file=newline.key;',
    (map { $_ => "admission_secret tier2 file=$_.key;" } keys %around),
    crlf    => 'admission_secret tier2 file=crlf.key;',
    binary  => 'admission_secret tier2 file=binary.key;',
    hexfile => 'admission_secret tier2 file=hex.key format=hex;',
    users   => "admission_secret tier2 $secret{tier2};
                admission_secret user $secret{other};",
);

my $locations = <<'END';
        admission_event  $event_id;
        admission_user   jwt;
        admission_deny   json;
        add_header       X-Reason $admission_reason always;

        location /gate/ {
            admission_tier2  on;
            empty_gif;
        }
        location /api/queue/ {
            admission_queue_api;
        }
END

my $nginx = Admission::Nginx->start(
    files => {
        'newline.key'  => "$secret{tier2}\n",
        (map { ("$_.key" => $around{$_} =~ s/%/$secret{tier2}/r) }
         keys %around),
        'crlf.key'     => "$secret{tier2}\r\n",
        'binary.key'   => $binary,
        'hex.key'      => unpack('H*', $binary) . "\n",
    },
    http => <<"END" . join('', map { <<"END" } sort keys %servers),
    admission_redis ${\ $redis->url} timeout=5s;
    admission_secret tier1 $secret{tier1};
    admission_secret user $secret{user};
    admission_events { default threshold=1000; other; }

    map \$uri \$event_id {
        ~^/(?:gate|any)/(?<id>.+)  \$id;
    }

    keepalive_requests 1000000;
    keepalive_timeout 600s;
END
    server {
        listen 127.0.0.1:%%PORT_$_%%;
        $servers{$_}
$locations
    }
END
    server => <<"END" . $locations . <<'END');
        admission_secret tier2 $secret{tier2};
        add_header X-Id    \$http_x_user_id;
        add_header X-Email \$http_x_user_email;
        add_header X-Role  \$http_x_user_role;
END
        location /any/     { admission_tier2 on event=any bind=off;
                             empty_gif; }

        location /user/    { empty_gif; }
        location /hs384/   { admission_user jwt alg=HS384; empty_gif; }
        location /larger/  { admission_user jwt alg=HS384,HS512; empty_gif; }
        location /all/     { admission_user jwt alg=HS256,HS384,HS512;
                             empty_gif; }
        location /gated-all/ { admission_user jwt alg=HS256,HS384,HS512;
                             admission_event $arg_event;
                             admission_tier2 on; empty_gif;
                             add_header X-Reason $admission_reason always; }
        location /claims/  { admission_user jwt id=login email=mail
                                            role=group;
                             empty_gif; }
        location /type/    { admission_user jwt type=access; empty_gif; }
END

# ---- asking

my %connections;

sub ask ($path, %opt) {
    my $port = $opt{port} // $nginx->port;
    my $connection = $connections{$port} //= Admission::HTTP->connect($port);
    my $response = $connection->request($opt{method} // 'GET', $path, %opt);

    delete $connections{$port}
        if !$response->status
           || ($response->header('Connection') // '') eq 'close';

    return $response;
}

my $alice = user_token($secret{user}, userId => 'alice');

# 'pass', or the reason of a refusal, where the status and the code are right

sub verdict ($response) {
    my ($status, $body) = ($response->status, $response->json // {});
    my $code = $body->{code} // '';

    return 'pass' if $status == 200;
    return $response->header('X-Reason') // '?'
        if "$status $code" eq '403 TIER2_REQUIRED'
           || "$status $code" eq '401 USER_REQUIRED';
    return "$status $code " . ($response->error // '');
}

# how an entry token can be shown

my %carriers = (
    header => sub ($token) { (headers => [ 'X-Queue-Entry-Token', $token ]) },
    cookie => sub ($token) { (cookies => { 'urr-entry-token' => $token }) },
    "event's cookie" => sub ($token) {
        (cookies => { "urr-entry-token-$event" => $token }) },
);

sub show ($token, $carrier, %opt) {
    my $path = delete $opt{path} // "/gate/$event";
    my $user = delete $opt{user} // $alice;
    my %shown = $carriers{$carrier}->($token);

    if ($shown{cookies}) {
        $shown{cookies}{access_token} = $user;

    } else {
        push @{ $shown{headers} }, Cookie => "access_token=$user";
    }

    return verdict(ask($path, %shown, %opt));
}

# A token, or a sub that makes one, by every carrier (or those given), twice;
# what is wrong with the answers, as text.

sub wrong ($token, $expected, %opt) {
    my @wrong;

    for my $carrier (@{ delete $opt{via} // [ sort keys %carriers ] }) {
        for my $time (1, 2) {
            my $got = show(ref $token ? $token->() : $token, $carrier, %opt);
            my $right = ref $expected ? $got =~ $expected
                                      : $got eq $expected;
            push @wrong, "by $carrier, time $time: $got" if !$right;
        }
    }

    return join "\n", @wrong;
}

sub passes ($name, $token, %opt) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is wrong($token, 'pass', %opt), '', "passes: $name";
}

sub refused ($name, $token, $why, %opt) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is wrong($token, $why, %opt), '', "refused: $name";
}

# ---- making tokens

# an entry token of alice; claims given replace, undef takes one away
sub entry (%claims) {
    return entry_token($secret{tier2}, sub => $event, uid => 'alice', %claims);
}

my $exp = time + 600;
my $header = '{"alg":"HS256","typ":"JWT"}';
my $payload = qq({"sub":"$event","uid":"alice","exp":$exp});

# of these bytes, with a right signature
sub header ($header, %opt) {
    return jwt_raw($header, $payload, $secret{tier2}, %opt);
}

sub payload ($payload) { return jwt_raw($header, $payload, $secret{tier2}) }

# the usual payload with more members, as JSON
sub more ($members) { return payload($payload =~ s/\}$/,$members}/r) }

# the usual payload with another exp
sub with_exp ($json) { return payload($payload =~ s/"exp":\d+/"exp":$json/r) }

# of these parts, not encoded, with a right signature over them
sub parts ($header, $payload) {
    return "$header.$payload."
           . b64url(hmac_sha256("$header.$payload", $secret{tier2}));
}

# flips a bit of the signature, counted from its first
sub flip ($token, $bit) {
    my ($signed, $signature) = $token =~ /^(.*\.)(.*)$/;
    my $bytes = unb64url($signature);
    vec($bytes, $bit, 1) ^= 1;
    return $signed . b64url($bytes);
}

# a token of this length
sub long ($length) {
    my $size = $length - length(b64url($header)) - 2 - 43;
    my $fill = int($size * 3 / 4) - length('{"pad":"",')
               - length($payload) + 1;
    my $token = payload($payload =~ s/^\{/'{"pad":"' . 'x' x $fill . '",'/er);

    die "cannot make $length" if length $token != $length;
    return $token;
}

my $good = entry;


subtest 'entry tokens: what they are' => sub {
    passes('an ordinary one', $good);
    passes('the least there has to be', header($header));
    passes('tier 2', entry(tier => 2));
    passes('without iat and adm', entry(iat => undef, adm => undef));
    passes('with claims that nobody knows', more('"a":{"b":[1,{"c":null}]}'));
    passes("with $_ more claims", more(join ',', map { qq("x$_":$_) } 1 .. $_))
        for 1, 12, 13, 14, 15, 100;
    passes('event in upper case', entry(sub => uc $event));

    refused('none at all', '', 'no token');
    refused('another event', entry(sub => 'other'), 'token of another event');
    refused('the event and more', entry(sub => "${event}x"),
            'token of another event');
    refused('another user', entry(uid => 'bob'), 'token of another user');
    refused('user in upper case', entry(uid => 'ALICE'),
            'token of another user');
    refused('the user and more', entry(uid => 'alice2'),
            'token of another user');
    refused('nobody', entry(), 'no user', user => 'x');
};


subtest 'entry tokens: kinds' => sub {
    my $wrong_tier = qr/^not a token of tier 2$|^claim "tier"/;

    refused('tier 1, signed with its secret',
            tier1_token($secret{tier1}, sub => $event, uid => 'alice'),
            'bad signature');
    refused('tier 1, signed with the secret of tier 2',
            entry(tier => 1), $wrong_tier);
    refused("tier $_", more(qq("tier":$_)), $wrong_tier)
        for '0', '3', '-2', '2.0', '"2"', '""', 'null', 'true', '[2]',
            '{"tier":2}';

    refused('claims of an entry token, signed as a user\'s',
            entry_token($secret{user}, sub => $event, uid => 'alice'),
            'bad signature');
    refused('a user token', $alice, 'bad signature');

    # what is signed with keys derived from the secrets

    my %derived = (place => 'tier2', ticket => 'tier1', visitor => 'tier1');

    for my $label (sort keys %derived) {
        my $key = hmac_sha256("admission $label", $secret{ $derived{$label} });
        refused("claims of an entry token, signed as a $label",
                entry_token($key, sub => $event, uid => 'alice'),
                'bad signature');
    }

    # places and entry tokens as the queue gives them

    $redis->cmd('SET', '{kinds}:threshold', 1);

    my ($in, $queued) = map {
        ask('/api/queue/check/kinds', method => 'POST', bearer => user($_))
        ->json
    } 'alice', 'bob';
    my %kinds = (path => '/gate/kinds', via => ['header', 'cookie']);

    passes('what the queue gives', $in->{entryToken}, %kinds);
    is $queued->{status}, 'queued', 'bob waits';
    refused('a place of the queue', $queued->{place}, 'bad signature',
            user => user('bob'), %kinds);

    # where the host knows of the event, and of no revocation

    passes('without iat and adm at a queue',
           entry(sub => 'kinds', iat => undef, adm => undef), %kinds);
};


subtest 'entry tokens: the header' => sub {
    passes($_, header($_))
        for '{"typ":"JWT","alg":"HS256"}', '{"alg":"HS256"}',
            '{ "alg" : "HS256" }', "\t{\"alg\":\"HS256\"}\n",
            '{"alg":"HS256","kid":"1"}', '{"alg":"HS256","typ":"at+jwt"}',
            '{"alg":"HS256","typ":""}', '{"al\u0067":"HS256"}';

    # signed as they say, and with what is expected here

    for my $alg ('HS384', 'HS512') {
        refused("$alg", entry_alg($alg), 'algorithm not allowed');
        refused("$alg where users' may be",
                entry_alg($alg), 'algorithm not allowed',
                path => "/gated-all/?event=$event");
        refused("$alg signed as HS256", header(qq({"alg":"$alg"})),
                'algorithm not allowed');
    }

    refused('HS384 and its MAC said to be HS256',
            header($header, alg => 'HS384'), 'bad signature');

    for my $alg (qw(RS256 ES256 PS256 EdDSA none None NONE nOnE hs256 HS2560
                    HS25 HS HS224), '', ' HS256', 'HS256 ', 'HS256\u0001')
    {
        my $json = qq({"alg":"$alg","typ":"JWT"});

        refused("alg \"$alg\" signed", header($json),
                'algorithm not allowed');
        refused("alg \"$alg\" with an empty signature",
                header($json, signature => ''), 'empty part');
        refused("alg \"$alg\" with some signature",
                header($json, signature => 'x' x 32),
                'algorithm not allowed');
    }

    refused("alg $_", header(qq({"alg":$_})), 'header without "alg"')
        for qw(256 0 null true ["HS256"] {"alg":"HS256"});
    refused('no alg', header('{"typ":"JWT"}'), 'header without "alg"');
    refused('alg by another case', header('{"Alg":"HS256"}'),
            'header without "alg"');

    refused("typ $_", header(qq({"alg":"HS256","typ":$_})), 'bad header')
        for qw(1 null true [] {} ["JWT"]);

    refused("crit $_", header(qq({"alg":"HS256","crit":$_})),
            'header with "crit"')
        for qw([] ["exp"] ["b64"] null "exp" false);

    refused('alg twice', header('{"alg":"HS256","alg":"HS256"}'),
            'bad header');
    refused('alg twice, once spelled otherwise',
            header('{"alg":"HS256","al\u0067":"none"}'), 'bad header');
    refused('something twice',
            header('{"alg":"HS256","x":1,"x":1}'), 'bad header');

    refused("header $_", header($_), 'bad header')
        for '[]', '["HS256"]', '"HS256"', '1', 'null', '{', '{}x', '{"alg"}',
            "{\"alg\":\"HS256\"}\0", "\xef\xbb\xbf{\"alg\":\"HS256\"}",
            "{\"alg\":\"HS256\",\"x\":\"\xff\"}", "{'alg':'HS256'}",
            '{"alg":"HS256",}', '{"alg":"HS256"}{"alg":"HS256"}',
            '[' x 400, '{"a":' x 100;
    refused('header {}', header('{}'), 'header without "alg"');
};

sub entry_alg ($alg) {
    return jwt_sign({ sub => $event, uid => 'alice', exp => $exp },
                    $secret{tier2}, alg => $alg);
}


subtest 'entry tokens: the payload' => sub {
    passes('JSON with space in it',
           payload(" \n{ \"sub\" : \"$event\", \"uid\" : \"alice\","
                   . "\t\"exp\" : $exp }\r\n "));
    passes('JSON with escapes',
           payload($payload =~ s/alice/\\u0061lic\\u0065/r));

    refused("a payload that is $_", payload($_), 'not an object')
        for '[]', "[$payload]", '"x"', '1', 'null', 'true', '[' x 500
                                                       . ']' x 500;

    refused($_->[0], payload($_->[1]), 'bad JSON')
        for ['no JSON', 'sub=x'], ['half of it', substr($payload, 0, 30)],
            ['trailing garbage', "$payload}"], ['two payloads', $payload x 2],
            ['a NUL behind it', "$payload\0"], ['a NUL before it',
                                                "\0$payload"],
            ['only NUL', "\0"], ['only space', '   '],
            ['a byte order mark', "\xef\xbb\xbf$payload"],
            ['UTF-16', join('', map { "$_\0" } split //, $payload)],
            ['a comma too many', $payload =~ s/\}$/,}/r],
            ['single quotes', $payload =~ tr/"/'/r],
            ['a comment', $payload =~ s/\}$/\/**\/}/r],
            ['NaN', $payload =~ s/\d+\}$/NaN}/r],
            ['Infinity', $payload =~ s/\d+\}$/Infinity}/r],
            ['a leading zero', $payload =~ s/(\d+)\}$/0$1}/r],
            ['a plus sign', $payload =~ s/(\d+)\}$/+$1}/r],
            ['a hexadecimal number', $payload =~ s/\d+\}$/0x7fffffff}/r],
            ['depth without an end', '{"a":' x 500],
            ['arrays without an end', '{"a":' . '[' x 2900];

    refused($_->[0], more(qq("x":"$_->[1]")), 'bad JSON')
        for ['a byte that is no UTF-8', "\xff"],
            ['half a character', "\xc3"],
            ['an overlong slash', "\xc0\xaf"],
            ['an overlong NUL', "\xc0\x80"],
            ['three bytes overlong', "\xe0\x80\xaf"],
            ['four bytes overlong', "\xf0\x80\x80\xaf"],
            ['a surrogate', "\xed\xa0\x80"],
            ['beyond Unicode', "\xf4\x90\x80\x80"],
            ['a continuation alone', "\x80"],
            ['Latin-1', "caf\xe9"],
            ['an escaped NUL', '\u0000'],
            ['half an escaped pair', '\ud800'],
            ['the other half', '\udc00'],
            ['a newline in a text', "\n"],
            ['an unknown escape', '\x41'];

    refused($_->[0], more($_->[1]), 'bad JSON')
        for ['sub twice', qq("sub":"$event")],
            ['uid twice', '"uid":"alice"'],
            ['exp twice', qq("exp":$exp)],
            ['uid twice, once spelled otherwise', '"u\u0069d":"bob"'],
            ['an unknown claim twice', '"x":1,"x":2'],
            ['twice inside of another', '"x":{"y":1,"y":1}'],
            ['twice behind many', join(',', map { qq("x$_":0) } 1 .. 50)
                                  . ',"x50":0'];

    passes('as deep as 4 KB allow',
           more('"x":' . '[' x 1400 . ']' x 1400));
    refused('claims inside of another', payload(qq({"claims":$payload})),
            'claim "sub" missing or wrong');
    refused('an empty object', payload('{}'), 'claim "sub" missing or wrong');
};


subtest 'entry tokens: event and user' => sub {
    for my $name ('sub', 'uid') {
        refused("no $name", entry($name => undef),
                qq(claim "$name" missing or wrong));
        refused("$name is $_",
                payload($payload =~ s/"$name":"[^"]+"/"$name":$_/r),
                qq(claim "$name" missing or wrong))
            for qw(null true 1 1.5 [] {} "" ["alice"]);
    }

    my $limit = 'e' x 64;

    passes('an event of 64 characters', entry(sub => $limit),
           path => "/gate/$limit", via => ['header', 'cookie']);
    passes('an event of dots and dashes', entry(sub => '._-'),
           path => '/gate/._-', via => ['header', 'cookie']);
    refused("sub '$_'", entry(sub => $_), 'claim "sub" missing or wrong')
        for 'e' x 65, ' ', "$event ", " $event", "$event/", '{x}', 'a b',
            "\x{e9}v", "a\x{1}";

    # whatever is in the user's token has to be in the entry's: exactly

    for my $id ('a', 'x' x 256, "\x{e9}" x 128, "\x{1f3ab}", 'a b', '"', '\\',
                '<script>', "\x{200b}", '-5', '../..', ' a ')
    {
        my $name = length $id > 9 ? length($id) . ' characters' : $id;
        utf8::encode($name);

        passes("user '$name'", entry(uid => $id), user => user($id));
    }

    for my $id ('x' x 257, "\x{e9}" x 129, "a\x{1}", "a\tb", "a\nb", "\x{7f}",
                "a\x{85}", "\x{9f}")
    {
        my $name = length $id > 9 ? length($id) . ' characters'
                                  : sprintf '%vx', $id;

        refused("user '$name'", entry(uid => $id), 'no user',
                user => user($id));
        refused("uid '$name'", entry(uid => $id),
                'claim "uid" missing or wrong');
    }
};

sub user ($id) {
    return user_token($secret{user}, userId => $id);
}


subtest 'times' => sub {
    refused('no exp', entry(exp => undef), 'claim "exp" missing or wrong');
    refused("exp $_", with_exp($_), 'claim "exp" missing or wrong')
        for qq("$exp"), '""', 'null', 'true', 'false', "[$exp]", '{}', '-1',
            "-$exp", '-0.5', '-1e10', '9007199254740993',
            '9223372036854775807', '1e17', '1e308';
    refused("exp $_", with_exp($_), 'bad JSON')
        for '9223372036854775808', '99999999999999999999',
            '-99999999999999999999', '1e309', '1' . '0' x 400;
    refused("exp $_", with_exp($_), 'expired')
        for '0', '1', '0.5', '1e9', '0e5', time - 3600;

    passes("exp $_", with_exp($_))
        for "$exp.5", ($exp / 10) . 'e1', '9007199254740992', '4e9';

    # 5 s of leeway: these begin at once and are over at once, but for the ms
    # by which the host may think that Redis is behind it

    my $now = sub () {
        my $time;
        wait_until { $time = Time::HiRes::time; $time - int $time > 0.05 };
        return int $time;
    };

    refused('over for 6 s', sub { entry(exp => time - 6) }, 'expired');
    refused('over for exactly 5 s', sub { entry(exp => $now->() - 5) },
            'expired');
    refused('valid in 15 s', sub { entry(nbf => time + 15) },
            'not valid yet');
    passes('valid in 5 s', sub { entry(nbf => $now->() + 5) });
    passes('valid since now', sub { entry(nbf => $now->()) });

    # and a slow machine may need another try to be in time

    my ($carrier) = sort keys %carriers;
    ok wait_until(sub {
        my $start = time;
        my $token = entry(exp => $start - 2);
        my $got = show($token, $carrier);
        return $got eq 'pass' || time - $start < 2 && diag("got: $got") && 0;
    }), 'passes: over for 2 s';

    # what is remembered is over when it says so

    my $soon = entry(exp => time - 1);
    my $first = show($soon, $carrier);

    ok wait_until(sub { show($soon, $carrier) eq 'expired' }, 10),
        "refused: what was remembered, 5 s after its exp (first: $first)";

    refused("nbf $_", more(qq("nbf":$_)), 'claim "nbf" missing or wrong')
        for '"0"', 'null', 'true', '-1', '1e308', '[]', '9007199254740993';
    passes("nbf $_", more(qq("nbf":$_))) for '0', '1.5', time - 100;

    refused("iat $_", more(qq("iat":$_)), 'claim "iat" missing or wrong')
        for '"0"', 'null', '-1', 'true';
    refused("adm $_", more(qq("adm":$_)), 'claim "adm" missing or wrong')
        for '"0"', 'null', '-1', '1.5', '1e15', 'true', '9007199254740993';
};


subtest 'parts and base64url' => sub {
    my ($h, $p, $s) = split /\./, $good;
    my @all = ($h, $p, $s);

    refused("$_ part" . ($_ > 1 && 's'), join('.', (@all, @all)[0 .. $_ - 1]),
            'not three parts') for 1, 2, 4, 5;
    refused('an empty part in front', ".$good", 'not three parts');
    refused('an empty part at the end', "$good.", 'not three parts');
    refused('no header', ".$p.$s", 'empty part');
    refused('no payload', "$h..$s", 'empty part');
    refused('no payload, signed', parts($h, ''), 'empty part');
    refused('no header, signed', parts('', $p), 'empty part');
    refused('no signature', "$h.$p.", 'empty part');
    refused('only dots', '..', 'empty part');
    refused('a dot', '.', 'not three parts');

    # padding, the other alphabet, stray bits: signed as they stand

    my $odd = $payload;
    $odd =~ s/\}$/ }/ while length($odd) % 3 != 1;
    my $odder = "$odd ";
    my ($odd64, $odder64) = (b64url($odd), b64url($odder));

    passes('a payload of 3n + 1 bytes', parts($h, $odd64));
    passes('a payload of 3n + 2 bytes', parts($h, $odder64));

    refused('padding of the payload, ==', parts($h, "$odd64=="),
            'bad base64url');
    refused('padding of the payload, =', parts($h, "$odder64="),
            'bad base64url');
    refused('half the padding', parts($h, "$odd64="), 'bad base64url');
    refused('padding of the header', parts("$h=", $odd64), 'bad header');
    refused('padding of the signature', "$good=", qr/^bad (?:sig|base)/);
    refused('padding of the signature, ==', "$good==", qr/^bad (?:sig|base)/);

    refused('stray bits in the payload', parts($h, stray($odd64, 1)),
            'bad base64url');
    refused('stray bits in the payload', parts($h, stray($odd64, 15)),
            'bad base64url');
    refused('stray bits in the payload', parts($h, stray($odder64, 1)),
            'bad base64url');
    refused('stray bits in the payload', parts($h, stray($odder64, 3)),
            'bad base64url');
    refused('stray bits in the header',
            parts(stray(b64url('{"alg":"HS256" }'), 1), $p), 'bad header');
    refused('stray bits in the signature', stray($good, $_), 'bad base64url')
        for 1 .. 3;

    my $with = $payload =~ s/\}$/,"x":">>>???>>>???"}/r;
    my $url = b64url($with);

    like $url, qr/-/, 'a payload with "-" and "_"';
    like $url, qr/_/, 'both of them';
    passes('base64url', parts($h, $url));
    refused('base64: +', parts($h, $url =~ tr/-/+/r), 'bad base64url');
    refused('base64: /', parts($h, $url =~ tr/_/\//r), 'bad base64url');
    refused('a letter too many', parts($h, b64url($payload . '  ') . 'A'),
            'bad base64url') if length($payload) % 3 == 1;
    refused('one letter', parts($h, 'A'), 'bad base64url');
    refused("a '$_' in the payload",
            parts($h, substr($p, 0, 8) . $_ . substr($p, 8)), 'bad base64url')
        for '%', '*', '~', '@', "\x80", "\xff", "\xc3\xa9", '!', ':', '|';

    # a cookie ends at ";", and what a browser sends has no space in it

    my @header = (via => ['header']);

    refused("a '$_->[0]' in the payload", parts($h, substr($p, 0, 8) . $_->[1]
                                           . substr($p, 8)),
            'bad base64url', @header)
        for [';', ';'], ['space', ' '], ['tab', "\t"], ['comma', ','];
    refused("'$_' behind it", "$good$_", qr/^bad (?:sig|base)/, @header)
        for ';', ',', ' x', ', x', ';x', '"', "\x00" =~ s/\0/%00/r;
    refused("'$_' before it", "$_$good", 'bad header', @header)
        for ';', ',', '"', 'Bearer ', 'x';
    refused('two tokens', "$good, $good", 'not three parts', @header);
    passes("space around it", "  $good  ", @header);

    # NGINX itself takes no NUL in a header

    is show("$good\0", 'header') =~ s/\s+$//r, '400',
        'refused: a NUL behind it';
    is show("\0$good", 'cookie') =~ s/\s+$//r, '400',
        'refused: a NUL before it';
};

# another last letter that has the same whole bytes
sub stray ($token, $bits) {
    my @alphabet = ('A' .. 'Z', 'a' .. 'z', 0 .. 9, '-', '_');
    my %value = map { $alphabet[$_] => $_ } 0 .. 63;
    my $last = chop $token;
    return $token . $alphabet[ $value{$last} | $bits ];
}


subtest 'length' => sub {
    passes("$_ bytes", long($_)) for 1023, 1024, 1025, 4095, 4096;
    refused("$_ bytes", long($_), 'token too long') for 4097, 4100, 6000;
    refused('4096 bytes of nothing', 'x' x 4096, 'not three parts');
    refused('4097 bytes of nothing', 'x' x 4097, 'token too long');
    refused('4096 dots', '.' x 4096, 'not three parts');
};


subtest 'the signature' => sub {
    refused("bit $_ of the signature the other way", flip($good, $_),
            'bad signature') for 0, 1, 7, 8, 63, 64, 127, 128, 200, 248, 255;

    my ($signed, $signature) = $good =~ /^(.*\.)(.*)$/;
    my $mac = unb64url($signature);

    refused("$_ bytes of the signature",
            $signed . b64url(substr $mac, 0, $_), 'bad signature')
        for 1, 2, 8, 16, 20, 31;
    refused('a byte more', $signed . b64url("$mac\0"), 'bad signature');
    refused('twice as much', $signed . b64url($mac x 2), 'bad signature');
    refused('100 bytes', $signed . b64url('x' x 100), 'bad signature');
    refused('3 KB of it', $signed . 'x' x 3000, 'bad signature');
    refused('zeros', $signed . b64url("\0" x 32), 'bad signature');
    refused('the MAC in hexadecimal', $signed . unpack('H*', $mac),
            'bad signature');
    refused('of another payload',
            (entry(uid => 'bob') =~ s/\.[^.]*$//r) . ".$signature",
            'bad signature');
    refused('of another header',
            b64url('{"alg":"HS256"}') . ($good =~ s/^[^.]+//r),
            'bad signature');
    refused('of no secret', entry_token('', sub => $event, uid => 'alice'),
            'bad signature');
    refused('of a secret with more behind it',
            entry_token("$secret{tier2}\n", sub => $event, uid => 'alice'),
            'bad signature');
    refused('of the public key trick: the secret as HS512',
            jwt_sign({ sub => $event, uid => 'alice', exp => $exp },
                     $secret{tier2}, header => $header, alg => 'HS512'),
            'bad signature');

    # a token that was remembered, with one letter changed anywhere

    my @changed = grep {
        my $changed = $good;
        my $letter = substr $changed, $_, 1;
        substr $changed, $_, 1, $letter eq 'B' ? 'C' : 'B';
        show($changed, 'header') eq 'pass'
    } 0 .. length($good) - 1;

    is "@changed", '', 'refused: any letter of a remembered one changed';
};


subtest 'secrets' => sub {
    my %entry = map { $_ => entry_token($secret{$_}, sub => $event,
                                        uid => 'alice') }
                qw(tier2 newer other);
    my $binary_entry = entry_token($binary, sub => $event, uid => 'alice');
    my @at;
    my $at = sub ($name) { return (port => $nginx->port($name)) };

    passes('of the second secret', $entry{tier2}, $at->('rotated'));
    passes('of the first secret', $entry{newer}, $at->('rotated'));
    refused('of neither', $entry{other}, 'bad signature', $at->('rotated'));
    refused('of a new secret elsewhere', $entry{newer}, 'bad signature');

    for my $name ('plain', 'rotated') {
        $redis->cmd('SET', "{$name}:threshold", 1);
        my @queue = map {
            ask("/api/queue/check/$name", method => 'POST',
                bearer => user($_), $at->($name))->json
        } 'alice', 'bob';
        my $secret = $name eq 'plain' ? 'tier2' : 'newer';

        is jwt_verify($queue[0]{entryToken}, $secret{$secret})->{sub}, $name,
            "$name: entry tokens are signed with the first secret";
        is jwt_verify($queue[1]{place},
                      hmac_sha256('admission place', $secret{$secret}))->{sub},
            $name, "$name: and places";
    }

    # what the old secret signed counts after the rotation

    my $place = jwt_sign({ sub => 'rotated', uid => 'cho', score => 1_001,
                           at => 500, iat => time, exp => $exp },
                         hmac_sha256('admission place', $secret{tier2}));
    my $back = ask('/api/queue/status/rotated', bearer => user('cho'),
                   headers => [ 'X-Queue-Place' => $place ],
                   $at->('rotated'))->json;

    is $back->{status}, 'queued', 'a place of the old secret counts';
    is $back->{position}, 1, 'at its score';

    # each server has its own

    passes('of that server', $entry{other}, $at->('other'));
    refused('of another server', $entry{tier2}, 'bad signature',
            $at->('other'));
    refused('a user of another server', $entry{tier2}, 'no user',
            $at->('users'));
    passes('a user of that server', $entry{tier2}, $at->('users'),
           user => user_token($secret{other}, userId => 'alice'));
    refused('which is none elsewhere', $entry{tier2}, 'no user',
            user => user_token($secret{other}, userId => 'alice'));

    # the ways to write them

    for my $name (qw(base64 base64url hex upper binary hexfile)) {
        passes("$name: of the secret", $binary_entry, $at->($name));
        refused("$name: of another", $entry{tier2}, 'bad signature',
                $at->($name));
    }

    passes('file: a newline at the end is not part of it', $entry{tier2},
           $at->('file'));
    passes('file: CRLF at the end is not part of it', $entry{tier2},
           $at->('crlf'));

    for my $name (sort keys %around) {
        passes("file: $name is part of it",
               entry_token($around{$name} =~ s/%/$secret{tier2}/r =~
                           s/\r?\n\z//r, sub => $event, uid => 'alice'),
               $at->($name));
        refused("file: $name, so it counts", $entry{tier2}, 'bad signature',
                $at->($name));
    }
};


subtest 'bind=off, event=any' => sub {
    my %opt = (path => "/any/$event", user => 'x');

    passes('whoever it is', entry(uid => 'bob'), %opt);
    refused('another event', entry(sub => 'other'), 'token of another event',
            %opt);
    refused('no event of its own', entry(sub => undef),
            'claim "sub" missing or wrong', %opt, path => '/any/');
    passes('no user of its own', entry(uid => undef), %opt);
    passes('nor of a request without event',
           entry(sub => 'other', uid => undef), %opt, path => '/any/');
    refused('no user of its own, but bound to one', entry(uid => undef),
            'claim "uid" missing or wrong');

    for my $uid ('', 7, [], {}, "a\nb", 'x' x 257) {
        refused('a user that is none: ' . (ref $uid || length $uid),
                entry(uid => $uid), 'claim "uid" missing or wrong', %opt);
    }
    passes('any event', entry(sub => 'other'), %opt, path => '/any/');
    refused('an event that nobody named', entry(sub => 'another'),
            'token of an event without a line', %opt, path => '/any/');
};


# ---- users

# "id email role" as a backend sees them of this user token, the same by
# cookie and by Authorization, each twice

sub seen ($path, $token, %opt) {
    my %seen;

    for my $how ({ cookies => { access_token => $token } },
                 { bearer => $token })
    {
        for my $time (1, 2) {
            my $response = ask($path, %$how, %opt);
            my $seen = join ' ', map { $response->header("X-$_") // '-' }
                       qw(Id Email Role);
            $seen{ $response->status == 200 ? $seen : $response->status }++;
        }
    }

    return join ', ', sort keys %seen;
}

sub user_with (%claims) { return user_token($secret{user}, %claims) }

subtest 'user tokens: algorithms' => sub {
    my %claims = (userId => 'alice', exp => $exp);
    my %token = map { $_ => jwt_sign(\%claims, $secret{user}, alg => $_) }
                qw(HS256 HS384 HS512);
    my %allowed = (user => 'HS256', hs384 => 'HS384', larger => 'HS384 HS512',
                   all => 'HS256 HS384 HS512');

    for my $path (sort keys %allowed) {
        for my $alg (sort keys %token) {
            my $right = $allowed{$path} =~ /$alg/;

            is seen("/$path/", $token{$alg}),
                $right ? 'alice - user' : '- - -',
                "$path: $alg " . ($right ? 'is a user' : 'is none');
        }

        # an algorithm that is allowed, of another's MAC

        for my $pair (['HS256', 'HS512'], ['HS512', 'HS256'],
                      ['HS384', 'HS512'])
        {
            my ($said, $made) = @$pair;
            my $token = jwt_sign(\%claims, $secret{user}, alg => $made,
                                 header => { alg => $said });

            is seen("/$path/", $token), '- - -',
                "$path: $made said to be $said is none";
        }

        for my $alg ('none', 'RS256', 'RS384', 'hs384') {
            is seen("/$path/", jwt_sign(\%claims, $secret{user},
                                        header => { alg => $alg },
                                        alg => 'HS384')), '- - -',
                "$path: $alg is none";
        }
    }

    for my $alg ('HS384', 'HS512') {
        is seen('/all/', flip($token{$alg}, $_)), '- - -',
            "$alg: bit $_ of its signature the other way is none"
            for 0, 200, 255, 383, $alg eq 'HS512' ? 511 : ();
        is seen('/all/', stray($token{$alg} . 'x', 0)), '- - -',
            "$alg: a letter more is none";
    }
};

subtest 'user tokens: claims' => sub {
    my @email = (email => 'a@example.com');

    is seen('/user/', user_with(userId => 'alice', @email, role => 'vip')),
        'alice a@example.com vip', 'userId, email, role';
    is seen('/user/', user_with(sub => 'bob')), 'bob - user',
        'without userId it is sub';
    is seen('/user/', user_with(userId => 'alice', sub => 'bob')),
        'alice - user', 'with both it is userId';

    # ids

    is seen('/user/', jwt_sign(qq({"userId":$_,"exp":$exp}), $secret{user})),
        "$_ - user", "the integer $_ is an id"
        for '0', '42', '-5', '9007199254740993', '9223372036854775807',
            '-9223372036854775808';
    is seen('/user/', jwt_sign(qq({"$_","exp":$exp}), $secret{user})), '- - -',
        "{\"$_} is nobody"
        for 'userId":1.5', 'userId":1e3', 'userId":true', 'userId":[]',
            'userId":{"id":"a"}', 'userId":""', 'sub":1.5', 'sub":false',
            'sub":""', 'id":"alice', 'userid":"alice';
    is seen('/user/', user_with()), '- - -', 'no claim of an id: nobody';
    is seen('/user/', user_with(userId => 'x' x 256)),
        'x' x 256 . ' - user', '256 bytes are an id';
    is seen('/user/', user_with(userId => 'x' x 257)), '- - -',
        '257 are not';

    my $unicode = "\x{b300}\x{ae30}";
    my $bytes = $unicode;
    utf8::encode($bytes);
    is seen('/user/', user_with(userId => $unicode)), "$bytes - user",
        'an id of other letters';
    is seen('/user/', user_with(userId => "a$_")), '- - -',
        sprintf 'U+%04X in an id: nobody', ord for "\n", "\r", "\x1b", "\x7f",
                                                   "\x85";

    # an entry token knows integers by their digits

    my $number = jwt_sign(qq({"userId":42,"exp":$exp}), $secret{user});
    passes('uid "42" for the integer 42', entry(uid => '42'),
           user => $number);
    refused('uid 42', payload(qq({"sub":"$event","uid":42,"exp":$exp})),
            'claim "uid" missing or wrong', user => $number);

    # roles and addresses that are odd take nothing else with them

    is seen('/user/', user_with(userId => 'a', role => $_)), 'a - -',
        'role ' . json_encode($_) . ' is none'
        for [], {}, 1, true, "x\ny", '';
    is seen('/user/', jwt_sign(qq({"userId":"a","role":null,"exp":$exp}),
                               $secret{user})), 'a - user',
        'role null is as absent';
    is seen('/user/', user_with(userId => 'a', email => $_)), 'a - user',
        'email ' . json_encode($_) . ' is none'
        for [], {}, 1, true, "x\r\nX-Evil: 1", '';

    # names of claims

    is seen('/claims/', user_with(login => 'carol', mail => 'c@x.example',
                                  group => 'staff', userId => 'alice',
                                  sub => 'bob', @email, role => 'vip')),
        'carol c@x.example staff', 'other claims by id=, email=, role=';
    is seen('/claims/', user_with(login => 'carol', @email, role => 'vip')),
        'carol - user', 'which the usual ones do not stand in for';
    is seen('/claims/', user_with(userId => 'alice', sub => 'bob')), '- - -',
        'without the claim of id= nobody';
    is seen('/user/', user_with(userId => 'alice', login => 'carol')),
        'alice - user', 'which is one of that location';

    # type

    is seen('/type/', user_with(userId => 'a', type => 'access')), 'a - user',
        'type=access: type access';
    is seen('/type/', user_with(userId => 'a')), 'a - user',
        'type=access: no type';
    is seen('/type/', user_with(userId => 'a', type => $_)), '- - -',
        'type=access: type ' . json_encode($_) . ' is none'
        for 'refresh', 'Access', 'access ', 'acces', '', 1, ['access'], true;
    is seen('/user/', user_with(userId => 'a', type => 'refresh')),
        'a - user', 'without type= any type';
};

subtest 'user tokens: the rest' => sub {
    my %alice = (userId => 'alice');

    is seen('/user/', user_with(%alice, exp => undef)), '- - -', 'no exp';
    is seen('/user/', user_with(%alice, exp => $_)), '- - -',
        'exp ' . json_encode($_)
        for "$exp", -1, 0, true, [], 2**60, time - 6;
    is seen('/user/', user_with(%alice, exp => $exp + 0.5)), 'alice - user',
        'exp with a fraction';
    is seen('/user/', user_with(%alice, nbf => time + 15)), '- - -',
        'not yet';
    is seen('/user/', user_with(%alice, nbf => "$exp")), '- - -',
        'nbf as text';
    is seen('/user/', user_with(%alice, iat => 'x', adm => 'y', tier => 1)),
        'alice - user', 'claims that are not of this kind do not matter';

    is seen('/user/', jwt_sign({ %alice, exp => $exp }, $secret{$_})),
        '- - -', "signed with the secret of $_" for 'tier1', 'tier2';
    is seen('/user/', entry()), '- - -', 'an entry token';

    my $token = user_with(%alice);

    is seen('/user/', flip($token, $_)), '- - -', "bit $_ the other way"
        for 0, 100, 255;
    is seen('/user/', stray($token, 1)), '- - -', 'stray bits';
    is seen('/user/', "$token="), '- - -', 'padding';
    is seen('/user/', "$token."), '- - -', 'four parts';
    is seen('/user/', jwt_raw('{"alg":"HS256","crit":["exp"]}',
                              json_encode({ %alice, exp => $exp }),
                              $secret{user})), '- - -', 'crit';
    is seen('/user/', jwt_raw('{"alg":"HS256"}',
                              qq({"userId":"a","userId":"b","exp":$exp}),
                              $secret{user})), '- - -', 'a claim twice';
    is seen('/user/', jwt_raw('{"alg":"HS256"}', '[]', $secret{user})),
        '- - -', 'no object';

    # where Authorization has a Bearer, it alone decides

    my %cookie = (cookies => { access_token => $token });
    my $id = sub (@headers) {
        return ask('/user/', %cookie, headers => \@headers)->header('X-Id')
               // '-';
    };

    is $id->(), 'alice', 'the cookie';
    is $id->(Authorization => $_), '-', "which \"$_\" overrules"
        for 'Bearer x', 'Bearer', 'bearer x.y.z', 'BEARER  x', 'Bearer ';
    is $id->(Authorization => "$_ " . user_with(userId => 'bob')), 'bob',
        "another user's \"$_\", too" for 'Bearer', 'bearer', 'BEARER ';
    is $id->(Authorization => $_), 'alice', "and \"$_\" does not"
        for 'Basic YTpi', 'B', '', 'Bearerx', "Bearer,$token", 'Beare';
};

# but for what NGINX itself says of a NUL; and more than the name of the test's
# directory may have of one

unlike $nginx->error_log =~ s/^.*sent invalid header line.*$//mgr,
    qr/eyJ[\w-]{4}|-secret-of-this-test/,
    'neither a token nor a secret is in the log';

done_testing;
