# Users' tokens that an identity service signs: each algorithm by keys of JWK
# sets and of PEM files, which key a token is verified with, and what is refused,
# as the RFCs 7515 to 7519, 8037 and 8725 have it and Wycheproof tries it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my $secret = 'user-secret-of-this-test-0123456789abcdef';

my %key = (
    rsa   => Admission::Keys->new('RSA', kid => 'rsa', use => 'sig'),
    p256  => Admission::Keys->new('P-256', kid => 'p256', alg => 'ES256'),
    p384  => Admission::Keys->new('P-384', kid => 'p384',
                                  key_ops => ['verify']),
    ed    => Admission::Keys->new('Ed25519', kid => 'ed'),
    weak  => Admission::Keys->new('RSA1024', kid => 'weak'),
    p521  => Admission::Keys->new('P-521', kid => 'p521'),
    other => Admission::Keys->new('P-256', kid => 'p256'),
);

my %algs = (rsa => [qw(RS256 RS384 RS512 PS256 PS384 PS512)],
            p256 => ['ES256'], p384 => ['ES384'], ed => ['EdDSA']);

# RFC 7515 A.2 and A.3, RFC 8037 A.4, RFC 7520 4.2

my %rfc = (
    RS256 => { kty => 'RSA', e => 'AQAB', n => <<'' =~ s/\s+//gr },
    ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJ
    rcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo
    9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapH
    g665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_
    h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ

    ES256 => { kty => 'EC', crv => 'P-256',
               x => 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
               y => 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0' },
    EdDSA => { kty => 'OKP', crv => 'Ed25519',
               x => '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
    PS384 => { kty => 'RSA', e => 'AQAB', n => <<'' =~ s/\s+//gr },
    n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd
    7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqk
    HHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uh
    GqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_
    qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw

);

my $joe = 'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl'
          . 'LmNvbS9pc19yb290Ijp0cnVlfQ';

my %signed = (
    RS256 => "eyJhbGciOiJSUzI1NiJ9.$joe." . <<'' =~ s/\s+//gr,
    cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-
    0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrn
    byTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi1
    2jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs
    98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw

    ES256 => "eyJhbGciOiJFUzI1NiJ9.$joe." . <<'' =~ s/\s+//gr,
    DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJ
    qPP3-Kg6NU1Q

    EdDSA => <<'' =~ s/\s+//gr,
    eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.
    hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sV
    vpAr_MuM0KAg

    PS384 => <<'' =~ s/\s+//gr,
    eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.
    SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci
    4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVl
    dCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by
    4.cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6V
    rklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz2
    8zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lf
    JT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbBy
    i7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw

);

# what a payload is taken for once its signature is right: nothing of these is
# a token that is valid today

my %then = (RS256 => 'expired', ES256 => 'expired', EdDSA => 'bad JSON',
            PS384 => 'bad JSON');


# keys with which something is wrong beside those that are right

my %twin = $key{other}->jwk->%*;

my @set = (
    map({ $key{$_}->jwk } qw(rsa p256 p384 ed)),
    $key{weak}->jwk, $key{p521}->jwk,
    { kty => 'oct', kid => 'oct', k => b64url($secret) },
    $key{rsa}->jwk(kid => 'enc', use => 'enc'),
    $key{rsa}->jwk(kid => 'sign', use => undef, key_ops => ['sign']),
    $key{rsa}->jwk(kid => 'rs384', alg => 'RS384'),
    $key{rsa}->jwk(kid => 'oaep', alg => 'RSA-OAEP'),
    $key{rsa}->jwk(kid => 'es256', alg => 'ES256'),
    $key{rsa}->jwk(kid => 'even', e => b64url("\x01\0\0")),
    $key{rsa}->jwk(kid => 'one', e => b64url("\x01")),
    $key{rsa}->jwk(kid => 'huge', e => b64url("\xff" x 255)),
    $key{rsa}->jwk(kid => 'padded', n => $key{rsa}->jwk->{n} . '=='),
    $key{p256}->jwk(kid => 'off', y => b64url("\1" x 32)),
    $key{p256}->jwk(kid => 'short', x => b64url("\1" x 31)),
    $key{p256}->jwk(kid => 'p384 in name', crv => 'P-384', alg => undef),
    { kty => 'RSA', kid => 'empty' }, { kid => 'nothing' }, 'text', 1, [],
);

my $nginx = Admission::Nginx->start(
    log_level => 'info',
    files => {
        'keys.json' => Admission::Keys::jwks(@set),
        'twins.json' => Admission::Keys::jwks(\%twin, $key{p256},
                                              $key{ed}->jwk(kid => undef)),
        'rfc.json' => Admission::Keys::jwks(values %rfc),
        'keys.pem' => $key{rsa}->pem . "a remark\n" . $key{p384}->pem
                      . $key{ed}->pem,
    },
    http => <<"END" . join '', map { server($_) } qw(twins rfc pem both claims));
    add_header X-Id    \$http_x_user_id;
    add_header X-Email \$http_x_user_email;
    add_header X-Role  \$http_x_user_role;
    real_ip_header X-Real-Ip;
    set_real_ip_from 127.0.0.1;

    server {
        listen 127.0.0.1:%%PORT%%;
        admission_secret user jwks=keys.json;
        admission_user jwt;

        location /      { empty_gif; }
        location /some/ { admission_user jwt alg=ES256,RS384; empty_gif; }
    }
END

sub server ($name) {
    my %secret = (
        twins => 'admission_secret user jwks=twins.json;',
        rfc => 'admission_secret user jwks=rfc.json;',
        pem => 'admission_secret user pem=keys.pem;',
        both => "admission_secret user $secret;
                 admission_secret user jwks=keys.json;",
        claims => 'admission_secret user jwks=keys.json;');

    return <<END;
    server {
        listen 127.0.0.1:%%PORT_$name%%;
        $secret{$name}
        admission_user jwt;

        location / { empty_gif; }
        location /iss/  { admission_user jwt iss=https://id.example/a; empty_gif; }
        location /aud/  { admission_user jwt aud=shop,app; empty_gif; }
        location /gap/  { admission_user jwt aud=shop,,app,; empty_gif; }
        location /long/ { admission_user jwt leeway=2m; empty_gif; }
        location /rfc/  { admission_user jwt id=iss; empty_gif; }
        location /none/ { admission_user jwt leeway=0; empty_gif; }
        location /deep/ {
            admission_user jwt id=realm_access.user role=realm_access.roles
                               email=https://example.com/claims.mail;
            empty_gif;
        }
    }
END
}

# Each by another address: one has a share of the time for bad signatures, and where
# a machine stands still while one is looked at, as a guest of others may, this takes
# so long that the share is gone.

sub ask ($token, $path, $server) {
    state $asked = 0;
    my $address = join '.', 10, unpack 'x C3', pack 'N', ++$asked;

    return get($nginx->port($server), $path, bearer => $token,
               headers => [ 'X-Real-Ip' => $address ]);
}

sub id ($token, $path = '/', $server = '') {
    return ask($token, $path, $server)->header('X-Id') // '-';
}

# what is said of a token that is none; "" if it is a user's

sub why ($token, $path = '/', $server = '') {
    my $mark = $nginx->log_mark;
    my $id = id($token, $path, $server);

    return '' if $id ne '-';

    my ($why) = $nginx->error_log($mark)
                =~ /user token refused: (.*?), client/;
    return $why // 'nothing';
}

my %alice = (userId => 'alice');


subtest 'each algorithm' => sub {
    for my $key (sort keys %algs) {
        for my $alg ($algs{$key}->@*) {
            my $token = $key{$key}->token($alg, \%alice);
            my ($header, $payload, $signature) = split /\./, $token;
            my $bytes = unb64url($signature);

            is why($token), '', "$alg by a JWK";
            is id($token), 'alice', "$alg, seen before" for 1 .. 2;

            is why($token, '/', 'pem'), $key eq 'p256' ? 'no key that fits it'
                                                       : '', "$alg by PEM";
            is why($token, '/some/'), $alg =~ /ES256|RS384/
                ? '' : 'algorithm not allowed', "$alg, where some are allowed";

            my $sent = sub ($bytes) { why("$header.$payload." . b64url($bytes)) };

            for my $at (0, length($bytes) / 2, length($bytes) - 1) {
                my $turned = $bytes;
                substr($turned, $at, 1) ^.= "\x01";
                is $sent->($turned), 'bad signature', "$alg: a bit at $at";
            }

            is $sent->($_->[1]), 'bad signature', "$alg: $_->[0]"
                for [ 'a byte less', substr $bytes, 1 ],
                    [ 'and at its end', substr $bytes, 0, -1 ],
                    [ 'a byte more', "\0$bytes" ],
                    [ 'and at its end', "$bytes\0" ],
                    [ 'zeros', "\0" x length $bytes ],
                    [ 'ones', "\xff" x length $bytes ];

            is why("$header." . b64url(json_encode({ %alice, exp => time + 900,
                                                     role => 'admin' }))
                   . ".$signature"), 'bad signature', "$alg: other claims";
        }
    }
};


subtest 'vectors of the RFCs' => sub {
    for my $alg (sort keys %signed) {
        my $other = $signed{$alg} =~ s/\.\KS?(..)/$1 eq 'XA' ? 'BB' : 'XA'/er;

        is why($signed{$alg}, '/rfc/', 'rfc'), $then{$alg}, "$alg is right";
        is why($other, '/rfc/', 'rfc'), 'bad signature',
            "$alg: of another text it is not";
    }
};


subtest 'ECDSA' => sub {
    my $token = $key{p256}->token('ES256', \%alice);
    my ($header, $payload) = split /\./, $token;
    my $signed = "$header.$payload";
    my ($r, $s) = unpack 'a32 a32', unb64url((split /\./, $token)[2]);
    my $n = pack 'H*', 'ffffffff00000000ffffffffffffffff'
                       . 'bce6faada7179e84f3b9cac2fc632551';

    my $der = $key{p256}->signature('ES256', $signed, der => 1);
    my %sent = ('DER' => $der, 'DER, cut' => substr($der, 0, 64),
                'r is 0' => "\0" x 32 . $s, 's is 0' => $r . "\0" x 32,
                'both are 0' => "\0" x 64,
                'r is n' => $n . $s, 's is n' => $r . $n,
                'r and s are 1' => "\0" x 31 . "\1" . "\0" x 31 . "\1",
                'as of P-384' => "\0" x 16 . $r . "\0" x 16 . $s,
                's before r' => $s . $r, 'r alone' => $r);

    is why("$signed." . b64url($r . $s)), '', 'r and s as they are';
    is why("$signed." . b64url($sent{$_})), 'bad signature', $_
        for sort keys %sent;
};


subtest 'PSS' => sub {
    for my $salt (0, 20, 64) {
        is why($key{rsa}->token('PS256', \%alice, salt => $salt)),
            'bad signature', "a salt of $salt bytes";
    }
};


subtest 'headers' => sub {
    my $rsa = $key{rsa};
    my ($header, $payload, $signature) = split /\./,
        $rsa->token('RS256', \%alice);

    # what is refused by the header alone needs no signature of its own

    my $said = sub (%more) {
        my %header = (alg => 'RS256', kid => 'rsa', %more);
        return why(join '.', b64url(json_encode(\%header)), $payload,
                             $signature);
    };

    is why($rsa->token('RS256', \%alice, header => { kid => undef })), '',
        'no kid: all keys that fit are tried';
    is why($rsa->token('RS384', \%alice, header => { kid => 'rs384' })), '',
        'a key for RS384';

    is $said->(kid => $_), 'no key that fits it', 'kid ' . json_encode($_)
        for 'RSA', 'rsa ', '', 'x' x 300, '../../dev/null', "rsa'--";
    is $said->(kid => $_), 'bad header', 'kid ' . json_encode($_)
        for 1, [], true, ['rsa'];
    is $said->(kid => $_), 'no key that fits it', "kid of the key $_"
        for qw(p256 p384 ed enc sign rs384 oaep es256 even one huge padded
               empty weak oct);
    is $said->(crit => ['exp']), 'header with "crit"', 'crit';
    is $said->($_->[0] => $_->[1]), 'header with a key of its own',
        "$_->[0] in the header"
        for [ jwk => $key{other}->jwk ], [ jku => 'https://evil.example/' ],
            [ x5u => 'https://evil.example/' ], [ jwk => 0 ];
    is $said->(alg => $_), 'algorithm not allowed', "alg $_"
        for 'none', 'NONE', 'None', 'rs256', 'RS256 ', 'RS1', 'ES256K', 'ES512',
            'Ed25519';
    is $said->(alg => $_), 'header without "alg"', 'alg ' . json_encode($_)
        for ['RS256'], 1, true;
    is $said->(alg => $_), 'bad signature', "RS256 said to be $_"
        for 'RS384', 'RS512', 'PS256', 'PS512';
    is $said->(alg => $_), 'no key that fits it', "RS256 said to be $_"
        for 'ES256', 'ES384', 'EdDSA';
    is why("$header.$payload."), 'empty part', 'no signature at all';

    is why($key{weak}->token('RS256', \%alice)), 'no key that fits it',
        'RSA of 1024 bits';
    is why($key{other}->token('ES256', \%alice)), 'bad signature',
        'another key by its name';
};


subtest 'a public key never verifies an HMAC' => sub {
    my @texts = ($key{rsa}->pem, $key{rsa}->pem =~ s/\n\z//r,
                 $key{rsa}->jwk->{n}, unb64url($key{rsa}->jwk->{n}),
                 json_encode($key{rsa}->jwk), $secret);

    for my $server ('', 'pem') {
        for my $alg (qw(HS256 HS384 HS512)) {
            is why(jwt_sign({ %alice, exp => time + 600 }, $_, alg => $alg,
                            header => { alg => $alg, kid => 'rsa' }),
                   '/', $server), 'algorithm not allowed', "$alg by a public key"
                for $server ? $texts[0] : @texts;
        }
    }

    is why(jwt_sign({ %alice, exp => time + 600 }, $_), '/', 'both'),
        'bad signature', 'where a secret is as well' for @texts[0 .. 4];
    is id(jwt_sign({ %alice, exp => time + 600 }, $secret), '/', 'both'),
        'alice', 'which verifies';
    is id($key{ed}->token('EdDSA', \%alice), '/', 'both'), 'alice',
        'and keys do, beside it';
};


subtest 'two keys of one name, and one without' => sub {
    is why($key{$_}->token('ES256', \%alice), '/', 'twins'), '', "key $_"
        for 'p256', 'other';
    is why($key{ed}->token('EdDSA', \%alice), '/', 'twins'), '',
        'a key without a name may be of any';
    is why($key{rsa}->token('RS256', \%alice), '/', 'twins'),
        'no key that fits it', 'one that is not there';
};


subtest 'claims' => sub {
    my $claims = sub ($path, %claims) {
        my $token = $key{ed}->token('EdDSA', \%claims);
        return why($token, $path, 'claims');
    };
    my $iss = 'https://id.example/a';

    is $claims->('/iss/', %alice, iss => $iss), '', 'the issuer';
    is $claims->('/iss/', %alice, @$_), 'of another issuer', "not: @$_"
        for [], [ iss => "$iss/" ], [ iss => [$iss] ];
    is $claims->('/aud/', %alice, aud => $_), '', 'audience ' . json_encode($_)
        for 'shop', 'app', ['shop'], [ 'x', 'app' ], [ 1, {}, 'shop' ];
    is $claims->('/aud/', %alice, @$_), 'for another audience',
        'not: ' . json_encode($_)
        for [], [ aud => 'sho' ], [ aud => 'shop,app' ], [ aud => [] ],
            [ aud => ['Shop'] ], [ aud => { shop => 1 } ], [ aud => '' ];
    is $claims->('/gap/', %alice, aud => 'app'), '', 'a gap in the list';
    is $claims->('/gap/', %alice, aud => $_), 'for another audience',
        'is not an audience: ' . json_encode([$_]) for '', [''];

    is $claims->('/long/', %alice, exp => time - 60), '', 'leeway=2m: expired';
    is $claims->('/long/', %alice, exp => time - 180), 'expired',
        'but not for longer';
    is $claims->('/long/', %alice, nbf => time + 60), '', 'and not yet valid';
    is $claims->('/none/', %alice, exp => time - 1), 'expired', 'leeway=0';
    is $claims->('/', %alice, exp => time - 60), 'expired', 'by default';
    is $claims->('/', %alice, nbf => time + 60), 'not valid yet', 'both';

    my $deep = sub (%claims) {
        my $r = ask($key{ed}->token('EdDSA', \%claims), '/deep/', 'claims');
        return join ' ', map { $r->header("X-$_") // '-' } qw(Id Email Role);
    };

    is $deep->(realm_access => { user => 'alice', roles => [ 'user', 'vip' ] },
               'https://example.com/claims' => { mail => 'a@x.example' }),
        'alice a@x.example user,vip', 'by paths, and a list of roles';
    is $deep->('realm_access.user' => 'bob', realm_access => { user => 'alice' }),
        'bob - user', 'a claim that is named so goes before a path';
    is $deep->(realm_access => { user => 7, roles => ['admin'] }),
        '7 - admin', 'a list of one';
    is $deep->(realm_access => { user => 'a', roles => [
               'x,admin', 'ok', "line\nbreak", 1, {}, '' ] }), 'a - ok',
        'what would be two roles, or none, is left out';
    is $deep->(realm_access => { user => 'a', roles => { admin => 1 } }),
        'a - -', 'what is no list';
    is $deep->(realm_access => $_, userId => 'x'), '- - -',
        'no user there: ' . json_encode([$_])
        for 'user', ['user'], { User => 'a' }, { user => { user => 'a' } }, 1;
};

unlike $nginx->error_log, qr/eyJ[\w-]+\.eyJ/, 'no token is in the log';
unlike $nginx->error_log, qr/stale global SSL error/,
    'nothing of OpenSSL is left for others to stumble over';

done_testing;
