# Signatures that somebody made who has no key, or that are not written as they
# have to be, and keys that nobody is to be verified by: each kind, of each
# algorithm, beside one that is right.  Then, where it is at hand, all that
# Project Wycheproof has of RSA (PKCS #1 and PSS), ECDSA, EdDSA, HMAC, JWS and
# JWK, which is not a part of this repository:
#
#     git clone https://github.com/C2SP/wycheproof
#     TEST_WYCHEPROOF=$PWD/wycheproof/testvectors_v1 prove -v t/token/vectors.t

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(sha256 sha384 sha512 hmac_sha256 hmac_sha384 hmac_sha512);
use Math::BigInt;

use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;
use Admission::Vectors;

plan(skip_all => 'the module is none of its own') if !Admission::Nginx::module();


# ---- what t/lib/vectors.c is told

my $dir = test_dir;
my $vectors = Admission::Vectors->new;

sub jwks_key (@jwks) {
    return [ jwks => Admission::Keys::jwks(@jwks) ];
}

sub pem_key ($pem) { return [ pem => $pem ] }
sub secret ($secret) { return [ secret => $secret ] }

# rows of what is to be said, what it is, and as above

sub all_are ($what, @rows) {
    subtest $what => sub {
        my @said = $vectors->verdicts([ map { [ @$_[2 .. $#$_] ] } @rows ]);
        is shift @said, $_->[0], $_->[1] for @rows;
    };
}


# ---- numbers

sub big ($bytes) { return Math::BigInt->from_bytes($bytes) }

sub bytes ($number, $size) {
    return substr "\0" x $size . $number->to_bytes, -$size;
}

my %sha = (256 => \&sha256, 384 => \&sha384, 512 => \&sha512);

my %key = (rsa => Admission::Keys->new('RSA'),
           p256 => Admission::Keys->new('P-256'),
           p384 => Admission::Keys->new('P-384'),
           ed => Admission::Keys->new('Ed25519'));
my %jwks = map { $_ => jwks_key($key{$_}) } keys %key;
my $text = 'what is signed';


# ---- RSA

my $n = big(unb64url($key{rsa}->jwk->{n}));

# what the private key makes of a block, whatever is in it

sub raw_rsa ($block) {
    my $in = write_file("$dir/block", $block);

    Admission::Keys::openssl('pkeyutl', '-decrypt', '-inkey',
        "$key{rsa}{file}.key", '-pkeyopt', 'rsa_padding_mode:none',
        '-in', $in, '-out', "$in.sig");

    return read_file("$in.sig");
}

my %digest_info = (256 => "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04"
                          . "\x02\x01\x05\0\x04\x20",
                   384 => "\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04"
                          . "\x02\x02\x05\0\x04\x30",
                   512 => "\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04"
                          . "\x02\x03\x05\0\x04\x40");

sub padded ($info, %as) {
    my $size = $as{size} // 253 - length $info;

    return substr +($as{head} // "\0\1") . ($as{pad} // "\xff") x $size
                  . ($as{end} // "\0") . $info . "\0" x 256, 0, 256;
}

for my $bits (256, 384, 512) {
    my $digest = $sha{$bits}->($text);
    my $info = $digest_info{$bits};
    my $whole = $info . $digest;
    my $other = $digest_info{ $bits == 256 ? 384 : 256 };
    my $right = raw_rsa(padded($whole));
    my ($none) = map { s/\x05\0//r =~ s/^\x30\K(.)/chr(ord($1) - 2)/ser
                       =~ s/\x30\x0d/\x30\x0b/r } $info;
    my $long = "\x30\x81" . substr($whole, 1);

    my %block = (
        'no NULL'                     => padded($none . $digest),
        'a length in two bytes'       => padded($long),
        'something after the digest'  => padded("$whole\1\2\3"),
        'short padding, then zeros'   => padded($whole, size => 8),
        'short padding, then a text'  => padded($whole . 'x' x 300, size => 8),
        'no padding'                  => padded($whole . 'x' x 300, size => 0),
        'padding of zeros'            => padded($whole, pad => "\0"),
        'padding for encryption'      => padded($whole, head => "\0\2"),
        'block type 0'                => padded($whole, head => "\0\0"),
        'padding that does not end'   => padded($whole, end => "\xff"),
        'the digest alone'            => padded($digest),
        'another digest\'s name'      => padded($other . $digest),
        'the digest cut'              => padded(substr $whole, 0, -1),
        'the digest of another text'  => padded($info . $sha{$bits}->('x')),
        'zeros'                       => "\0" x 256,
    );

    all_are("RS$bits", [ 'ok', 'as it has to be', $jwks{rsa}, "RS$bits", $text,
                         $right ],
            [ 'no', 'of another text', $jwks{rsa}, "RS$bits", 'x', $right ],
            (map { [ 'no', $_, $jwks{rsa}, "RS$bits", $text,
                     raw_rsa($block{$_}) ] } sort keys %block),
            (map { [ 'no', $_->[0], $jwks{rsa}, "RS$bits", $text, $_->[1] ] }
             numbers_near($right, 256, $n)),
            (map { [ 'no', "as $_", $jwks{rsa}, $_, $text, $right ] }
             grep { $_ ne "RS$bits" }
             qw(RS256 RS384 RS512 PS256 PS384 PS512)));
}

# What is inside of the padding, DigestInfo (RFC 8017, 9.2), in all ways to write
# it that a reader of BER may understand, or be led astray by; and others.

sub tlv ($tag, $body) { return pack('CC', $tag, length $body) . $body }

my %written = (
    'a length in two bytes' =>
        sub ($t, $b) { pack('CCC', $t, 0x81, length $b) . $b },
    'a length with zeros before it' =>
        sub ($t, $b) { pack('CCnC', $t, 0x83, 0, length $b) . $b },
    'a length with many zeros' =>
        sub ($t, $b) { pack('CCx8C', $t, 0x89, length $b) . $b },
    'a length over 32 bits, the same below' =>
        sub ($t, $b) { pack('CCCN', $t, 0x85, 1, length $b) . $b },
    'a length over 64 bits, the same below' =>
        sub ($t, $b) { pack('CCCx4N', $t, 0x89, 1, length $b) . $b },
    'a length of 2^31' => sub ($t, $b) { pack('CCN', $t, 0x84, 1 << 31) . $b },
    'a length of 2^64 - 1' =>
        sub ($t, $b) { pack('CC', $t, 0x88) . "\xff" x 8 . $b },
    'a length one too short' =>
        sub ($t, $b) { pack('CC', $t, (length($b) - 1) & 0x7f) . $b },
    'a length one too long' =>
        sub ($t, $b) { pack('CC', $t, length($b) + 1) . $b },
    'no length' => sub ($t, $b) { pack('C', $t) . $b },
    'a length that is to come' => sub ($t, $b) { pack('CC', $t, 0x80) . $b },
    'of any length, to an end' =>
        sub ($t, $b) { pack('CC', $t | 0x20, 0x80) . $b . "\0\0" },
    'of any length, in parts' =>
        sub ($t, $b) { pack('CC', $t | 0x20, 0x80) . tlv($t, $b) . "\0\0" },
    'in one part' => sub ($t, $b) { tlv($t | 0x20, tlv($t, $b)) },
    'a long tag' =>
        sub ($t, $b) { pack('CCC', 0x1f, $t & 0x1f, length $b) . $b },
    'of another class' => sub ($t, $b) { tlv($t ^ 0x80, $b) },
    'another tag' => sub ($t, $b) { tlv($t ^ 1, $b) },
    'empty' => sub ($t, $b) { length $b ? tlv($t, '') : tlv($t, "\0") },
    'not there' => sub ($t, $b) { '' },
    'NULL instead' => sub ($t, $b) { length $b ? "\5\0" : "\0\0" },
    'twice' => sub ($t, $b) { tlv($t, $b) x 2 },
    'a byte less' => sub ($t, $b) { length $b ? tlv($t, substr $b, 1) : "\5" },
    'a zero before' => sub ($t, $b) { tlv($t, "\0$b") },
    'a zero behind' => sub ($t, $b) { tlv($t, "$b\0") },
    'something before it' => sub ($t, $b) { "\5\0" . tlv($t, $b) },
    'something after it' => sub ($t, $b) { tlv($t, $b) . "\5\0" },
    'the first bit changed' =>
        sub ($t, $b) { length $b ? tlv($t, $b ^. "\x80") : "\x85\0" },
    'the last bit changed' =>
        sub ($t, $b) { length $b ? tlv($t, $b ^. substr "\0" x 99 . "\1",
                                                       -length $b) : "\4\0" },
);

my @parts = qw(DigestInfo algorithm name parameters digest);

# with one of them written in that way

sub digest_info ($part, $how) {
    my $put = sub ($name, $tag, $body) {
        return $name eq $part ? $how->($tag, $body) : tlv($tag, $body);
    };

    return $put->(DigestInfo => 0x30,
                  $put->(algorithm => 0x30,
                         $put->(name => 6, "\x60\x86\x48\1\x65\3\4\2\1")
                         . $put->(parameters => 5, ''))
                  . $put->(digest => 4, sha256($text)));
}

{
    my $as_it_is = digest_info('', undef);
    my %seen = ($as_it_is => 1);
    my @rows;

    for my $part (@parts) {
        for my $how (sort keys %written) {
            my $info = digest_info($part, $written{$how});
            push @rows, [ 'no', "$part: $how", $jwks{rsa}, 'RS256', $text,
                          raw_rsa(padded($info)) ] if !$seen{$info}++;
        }
    }

    all_are('RS256 by DigestInfo',
            [ 'ok', 'as it has to be', $jwks{rsa}, 'RS256', $text,
              raw_rsa(padded($as_it_is)) ], @rows);
}

# a number that it is not, or that is written in another way

sub numbers_near ($right, $size, $modulus) {
    my $s = big($right);

    return ([ 'nothing', '' ], [ 'zero', "\0" x $size ],
            [ 'one', "\0" x ($size - 1) . "\1" ],
            [ 'the modulus', bytes($modulus, $size) ],
            [ 'the modulus less 1', bytes($modulus - 1, $size) ],
            [ 'ones', "\xff" x $size ],
            [ 'less the modulus', bytes($modulus - $s, $size) ],
            [ 'and the modulus', ($s + $modulus)->to_bytes ],
            [ 'a zero before it', "\0$right" ],
            [ 'a zero behind it', "$right\0" ],
            [ 'a byte less', substr $right, 1 ],
            [ 'a byte less at its end', substr $right, 0, -1 ],
            [ 'twice', $right x 2 ]);
}

sub mgf1 ($bits, $seed, $size) {
    return substr join('', map { $sha{$bits}->($seed . pack 'N', $_) } 0 .. 15),
                  0, $size;
}

# EMSA-PSS of 2047 bits (RFC 8017, 9.1.1)

sub pss ($bits, %as) {
    my $salt = $as{salt} // 's' x ($bits / 8);
    my $mhash = $sha{ $as{hash} // $bits }->($as{text} // $text);
    my $h = $sha{$bits}->("\0" x 8 . $mhash . $salt);
    my $size = 256 - length($h) - 1;
    my $db = ($as{pad} // "\0") x ($size - length($salt) - 1)
             . ($as{mark} // "\1") . $salt;

    $db ^.= mgf1($as{mgf} // $bits, $h, $size);
    substr($db, 0, 1) &.= "\x7f";
    substr($db, 0, 1) |.= "\x80" if $as{top};

    return $db . $h . ($as{end} // "\xbc");
}

for my $bits (256, 384, 512) {
    my $right = raw_rsa(pss($bits));
    my $other = $bits == 256 ? 384 : 256;

    my %as = (
        'no salt' => [ salt => '' ],
        'a shorter salt' => [ salt => 's' x ($bits / 8 - 1) ],
        'a longer salt' => [ salt => 's' x ($bits / 8 + 1) ],
        'a salt as of SHA-1' => [ salt => 's' x 20 ],
        'another hash in the mask' => [ mgf => $other ],
        'another hash of the text' => [ hash => $other ],
        'another text' => [ text => 'x' ],
        'padding that is not zeros' => [ pad => "\2" ],
        'no mark before the salt' => [ mark => "\0" ],
        'another trailer' => [ end => "\xcc" ],
        'the trailer of a named hash' => [ end => "\x34" ],
    );

    all_are("PS$bits", [ 'ok', 'as it has to be', $jwks{rsa}, "PS$bits", $text,
                         $right ],
            (map { [ 'no', $_, $jwks{rsa}, "PS$bits", $text,
                     raw_rsa(pss($bits, $as{$_}->@*)) ] } sort keys %as),
            (map { [ 'no', $_->[0], $jwks{rsa}, "PS$bits", $text, $_->[1] ] }
             numbers_near($right, 256, $n)));
}


# ---- curves: order of the group, and half a signature's size

my %order = (
    256 => 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
    384 => 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf'
           . '581a0db248b0a77aecec196accc52973',
);

for my $bits (256, 384) {
    my $name = "p$bits";
    my $size = $bits / 8;
    my $order = Math::BigInt->from_hex($order{$bits});
    my $right = $key{$name}->signature("ES$bits", $text);
    my ($r, $s) = map { big($_) } unpack "a$size a$size", $right;
    my $der = $key{$name}->signature("ES$bits", $text, der => 1);

    my %odd = (zero => 0, one => 1, 'the order' => $order,
               'the order less 1' => $order - 1,
               'the order and 1' => $order + 1,
               'ones' => Math::BigInt->from_hex('ff' x $size));
    my %sent = ('DER' => $der,
                'DER of the right size' => substr($der, 0, 2 * $size),
                'DER, filled up' => $der . "\0" x 8,
                's before r' => bytes($s, $size) . bytes($r, $size),
                'r less the order' =>
                bytes($order - $r, $size) . bytes($s, $size),
                'r and the order' => ($r + $order)->to_bytes . bytes($s, $size),
                's and the order' => bytes($r, $size) . ($s + $order)->to_bytes,
                'both a byte longer' => "\0" . bytes($r, $size) . "\0"
                                        . bytes($s, $size),
                'r alone' => bytes($r, $size), 'nothing' => '',
                'a zero behind it' => "$right\0", 'a byte less' =>
                substr($right, 0, -1), 'four numbers' => $right x 2);

    for my $one (sort keys %odd) {
        $sent{"r is $one"} = bytes(Math::BigInt->new($odd{$one}), $size)
                             . bytes($s, $size);
        $sent{"s is $one"} = bytes($r, $size)
                             . bytes(Math::BigInt->new($odd{$one}), $size);
        $sent{"r is $one, and s is $_"} =
            bytes(Math::BigInt->new($odd{$one}), $size)
            . bytes(Math::BigInt->new($odd{$_}), $size) for sort keys %odd;
    }

    all_are("ES$bits",
            [ 'ok', 'as it has to be', $jwks{$name}, "ES$bits", $text, $right ],
            [ 'ok', 's less the order, which is one as well', $jwks{$name},
              "ES$bits", $text, bytes($r, $size) . bytes($order - $s, $size) ],
            [ 'no', 'of another text', $jwks{$name}, "ES$bits", 'x', $right ],
            map { [ 'no', $_, $jwks{$name}, "ES$bits", $text, $sent{$_} ] }
            sort keys %sent);
}

{
    my $order = Math::BigInt->from_hex('1' . '0' x 31
                                       . '14def9dea2f79cd65812631a5cf5d3ed');
    my $right = $key{ed}->signature('EdDSA', $text);
    my ($r, $s) = unpack 'a32 a32', $right;
    my $number = big(scalar reverse $s);
    my $one = "\1" . "\0" x 31;
    my $little = sub ($n) { return scalar reverse bytes($n, 32) };

    my %sent = ('s and the order' => $r . $little->($number + $order),
                's less the order' => $r . $little->($order - $number),
                's is 0' => $r . "\0" x 32, 's is the order' =>
                $r . $little->($order), 's is ones' => $r . "\xff" x 32,
                'the top bit of s' => $r . ($s |. "\0" x 31 . "\x80"),
                'the neutral point' => $one . "\0" x 32,
                'the neutral point, written in another way' =>
                "\xee" . "\xff" x 30 . "\x7f" . "\0" x 32,
                'r is 0' => "\0" x 32 . $s,
                'r is no point' => "\2" . "\0" x 31 . $s,
                'r is ones' => "\xff" x 32 . $s, 'nothing' => '',
                'the sign of r' => ($r ^. "\0" x 31 . "\x80") . $s,
                's before r' => $s . $r, 'r alone' => $r,
                'zeros' => "\0" x 64, 'ones' => "\xff" x 64,
                'a byte more' => "$right\0", 'a byte less' =>
                substr($right, 0, -1), 'twice' => $right x 2);

    all_are('EdDSA',
            [ 'ok', 'as it has to be', $jwks{ed}, 'EdDSA', $text, $right ],
            [ 'no', 'of another text', $jwks{ed}, 'EdDSA', "$text\0", $right ],
            map { [ 'no', $_, $jwks{ed}, 'EdDSA', $text, $sent{$_} ] }
            sort keys %sent);
}


# ---- HMAC

my %hmac = (256 => \&hmac_sha256, 384 => \&hmac_sha384, 512 => \&hmac_sha512);

for my $bits (256, 384, 512) {
    my $secret = join '', map { chr } 1 .. 40;
    my $right = $hmac{$bits}->($text, $secret);
    my $at = length($right) - 1;

    my %sent = ('nothing' => '', 'a byte less' => substr($right, 0, $at),
                'a byte more' => "$right\0", 'half' => substr($right, 0, 16),
                'zeros' => "\0" x length $right, 'in hexadecimal' =>
                unpack('H*', $right), 'the secret' => $secret,
                'the first bit' => "\x80" . "\0" x $at ^. $right,
                'the last bit' => "\0" x $at . "\1" ^. $right,
                'of no secret' => $hmac{$bits}->($text, ''));

    all_are("HS$bits",
            [ 'ok', 'as it has to be', secret($secret), "HS$bits", $text,
              $right ],
            [ 'ok', 'by one of two secrets', [ secret('x' x 32),
              secret($secret) ], "HS$bits", $text, $right ],
            [ 'no', 'by what a public key is', $jwks{rsa}, "HS$bits", $text,
              $hmac{$bits}->($text, $key{rsa}->pem) ],
            (map { [ 'no', "as HS$_", secret($secret), "HS$_", $text, $right ] }
             grep { $_ != $bits } 256, 384, 512),
            map { [ 'no', $_, secret($secret), "HS$bits", $text, $sent{$_} ] }
            sort keys %sent);
}


# ---- keys

# what is wrong with a key is told before a signature is looked at: "x" is one

sub key_said ($said, $what, $keys) {
    return [ $said, $what, $keys, 'RS256', 'x', 'x' ];
}

my $none = 'no key in it that verifies signatures of tokens';
my $exponent = 'RSA with an exponent that is 1, even, or over 63 bits';
my $point = '"x" or "y" missing or not of the curve\'s length';
my $kind = 'neither RSA, nor EC of P-256 or P-384, nor Ed25519';

# n of which each small prime has a power of 65537 as its rest: so has it each
# key that some smart cards made, whose private half can be worked out (ROCA)

my $roca = do {
    my @primes = grep { my $p = $_; !grep { $p % $_ == 0 } 2 .. sqrt $p }
                 2 .. 167;
    my $m = Math::BigInt->bone;
    $m *= $_ for @primes;
    my $n = Math::BigInt->new(65537)->bmodpow(123_456_789, $m);
    $n + $m * (Math::BigInt->new(2)->bpow(2047) / $m + 12)
};

my $rsa = $key{rsa};
my $ec = $key{p256};
my %pem = map {
    my ($name, @command) = @$_;
    my $file = "$dir/" . $name =~ s/\W//gr;
    Admission::Keys::openssl('genpkey', @command, '-out', $file);
    my @form = $name =~ /compressed/ ? qw(-ec_conv_form compressed) : ();
    ($name => Admission::Keys::openssl('pkey', '-in', $file, '-pubout', @form))
} [ 'RSA for PSS alone', qw(-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048) ],
  [ 'secp256k1', qw(-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1) ],
  [ 'P-521', qw(-algorithm EC -pkeyopt ec_paramgen_curve:P-521) ],
  [ 'P-224', qw(-algorithm EC -pkeyopt ec_paramgen_curve:P-224) ],
  [ 'P-256 by its parameters', qw(-algorithm EC -pkeyopt
    ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit) ],
  [ 'Ed448', qw(-algorithm ED448) ], [ 'X25519', qw(-algorithm X25519) ];

all_are('keys that are of another kind',
    map { key_said($kind, $_, pem_key($pem{$_})) } sort keys %pem);

all_are('keys of RSA',
    (map { key_said($exponent, 'e is ' . unpack('H*', $_),
                    jwks_key($rsa->jwk(e => b64url($_)))) }
     "\0", "\1", "\2", "\1\0\0"),
    (map { key_said($exponent, "e of $_ bytes",
                    jwks_key($rsa->jwk(e => b64url("\1" x $_)))) } 9, 64, 255),
    key_said('"n" or "e" missing or wrong', 'no e',
             jwks_key($rsa->jwk(e => ''))),
    key_said('no', 'e of 8 bytes', jwks_key($rsa->jwk(e => b64url("\1" x 8)))),
    key_said($exponent, 'e is n', jwks_key($rsa->jwk(e => $rsa->jwk->{n}))),
    key_said('RSA of less than 2048 bits', '2047 bits', jwks_key($rsa->jwk(
             n => b64url("\x7f" . "\xff" x 255)))),
    key_said('RSA of less than 2048 bits', '1024 bits, zeros before them',
             jwks_key($rsa->jwk(n => b64url("\0" x 128 . "\xff" x 128)))),
    key_said('RSA of more than 8192 bits', '8200 bits', jwks_key($rsa->jwk(
             n => b64url("\xff" x 1025)))),
    key_said('RSA that can be factored: ROCA (CVE-2017-15361)', 'ROCA',
             jwks_key($rsa->jwk(n => b64url($roca->to_bytes)))),
    key_said('no', 'n and 2: no card made it',
             jwks_key($rsa->jwk(n => b64url(($roca + 2)->to_bytes)))),
    key_said('a private key', 'the private one',
             jwks_key($rsa->jwk(d => 'AQ'))),
    key_said('"n" or "e" missing or wrong', 'as a number', jwks_key($rsa->jwk(
             e => 65537))));

all_are('keys of curves',
    key_said('not a key of its kind', 'a point beside the curve',
             jwks_key($ec->jwk(y => b64url("\1" x 32)))),
    key_said('not a key of its kind', 'the point at infinity',
             jwks_key($ec->jwk(map { $_ => b64url("\0" x 32) } qw(x y)))),
    key_said('not a key of its kind', 'x over the field',
             jwks_key($ec->jwk(x => b64url("\xff" x 32)))),
    key_said($point, 'a zero before x', jwks_key($ec->jwk(
             x => b64url("\0" . unb64url($ec->jwk->{x}))))),
    key_said($point, 'x alone', jwks_key($ec->jwk(y => undef))),
    key_said($point, 'said to be of P-384', jwks_key($ec->jwk(crv => 'P-384'))),
    key_said($none, 'said to be RSA\'s', jwks_key($ec->jwk(crv => 'RSA'))),
    key_said($none, 'of another type', jwks_key($ec->jwk(kty => 'OKP'))),
    key_said('"n" or "e" missing or wrong', 'said to be RSA',
             jwks_key($ec->jwk(kty => 'RSA'))),
    key_said($none, 'X25519', jwks_key($key{ed}->jwk(crv => 'X25519'))),
    key_said($none, 'Ed448', jwks_key($key{ed}->jwk(crv => 'Ed448'))),
    key_said('no key that fits it', 'of another algorithm\'s kind', $jwks{ed}),
    key_said('no key that fits it', 'with another algorithm of its own',
             jwks_key($rsa->jwk(alg => 'RS512'))));


# Points of which eight are the neutral one, in all ways to write them: with such
# a key anybody can sign (RFC 7748, 7; RFC 8032, 5.1.3).

{
    my $small = 'Ed25519 with a point of small order, for which anybody can sign';
    my @points = map { pack 'H*', $_ }
        '00' x 32, '01' . '00' x 31,
        '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
        'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
        map { $_ . 'ff' x 30 . '7f' } qw(ec ed ee);
    my $neutral = "\1" . "\0" x 63;
    my $key = sub ($x) { return jwks_key($key{ed}->jwk(x => b64url($x))) };

    all_are('Ed25519 keys that are none', map {
        my $x = $_;
        map { my $sign = $_;
              [ $small, 'y of ' . unpack('H8', $x) . ($sign ? ', negative' : ''),
                $key->($x |. "\0" x 31 . chr($sign)), 'EdDSA', $text,
                $neutral ] } 0, 0x80
    } @points);
}


# ---- Wycheproof

my $theirs = $ENV{TEST_WYCHEPROOF};

subtest 'Wycheproof' => sub {
    plan(skip_all => 'TEST_WYCHEPROOF is not set') if !$theirs;

    my %sum;
    wycheproof($_, \%sum) for map { s{.*/}{}r =~ s/_test\.json$//r }
                               sort glob "$theirs/*_test.json";

    cmp_ok $sum{files}, '>', 20, "$sum{files} files, $sum{vectors} verdicts";
};

done_testing;


# The algorithm of a group of vectors; "": none that there is here

sub algorithm ($group) {
    my ($bits) = ($group->{sha} // '') =~ /^SHA-(256|384|512)$/;
    my %rest = (RsassaPkcs1Verify => sub { "RS$bits" },
                RsassaPssVerify => sub {
                    $group->{mgf} eq 'MGF1' && $group->{mgfSha} eq $group->{sha}
                    && $group->{sLen} * 8 == $bits ? "PS$bits" : '' },
                EcdsaP1363Verify => sub {
                    $group->{publicKey}{curve} eq "secp${bits}r1"
                    && $bits < 512 ? "ES$bits" : '' },
                MacTest => sub { "HS$bits" });

    return 'EdDSA' if $group->{type} eq 'EddsaVerify'
                      && $group->{publicKey}{curve} eq 'edwards25519';
    return $bits && $rest{ $group->{type} } ? $rest{ $group->{type} }->() : '';
}

# rows of a group, as Admission::Vectors takes them, with the vector before them, for
# each way in which its key can be given

sub rows_of ($group, $name) {
    my @tests = $group->{tests}->@*;

    if ($group->{type} =~ /^JsonWeb/) {
        my $set = $group->{public} // $group->{private};
        my @jwks = ($set->{keys} // [$set])->@*;
        my @oct = grep { $_->{kty} eq 'oct' } @jwks;

        # a secret is by itself; in a set of an identity service it is none

        my $keys = @oct < @jwks ? jwks_key(@jwks)
                               : [ map { secret(unb64url($_->{k})) } @oct ];

        return map { [ $_, $keys, $_->{jws} ] } grep { $_->{jws} } @tests;
    }

    my $alg = algorithm($group) or return;

    if ($alg =~ /^HS/) {
        # a MAC that is cut is none for JWS
        return () if $group->{tagSize} != $alg =~ s/HS//r;
        return map { [ $_, secret(pack 'H*', $_->{key}), $alg,
                       map { pack 'H*', $_ } @$_{qw(msg tag)} ] } @tests;
    }

    my $jwk = $group->{publicKeyJwk} // $group->{keyJwk};
    my @keys = (pem_key($group->{publicKeyPem}),
                $jwk ? jwks_key({ %$jwk, alg => $alg }) : ());

    return map {
        my $keys = $_;
        map { [ $_, $keys, $alg, map { pack 'H*', $_ } @$_{qw(msg sig)} ] }
            @tests
    } @keys;
}


# Where what is said here is another thing than the vector's, and why that is
# right: a pattern of "file: comment, flags", and the answer.

sub differs ($vector, $said) {
    state @known = (
        # allowed of old, by those who have a use for it
        [ qr/^rsa_signature_.*MissingNull/ => 'no' ],

        # nothing is no claims
        [ qr/^json_web_signature: emptyPayload/ => 'empty part' ],

        # PS384 by a key that says that it is for PS256; and P-521
        [ qr/^json_web_signature: Figure20/ => 'no key that fits it' ],
        [ qr/^json_web_signature: Figure27/ => $none ],

        # not base64url, and said to be right; and the other way round: they are
        # to the letter what is right elsewhere in the file
        [ qr/^json_web_signature: InvalidCharacterInsertedInHeader/
          => 'bad header' ],
        [ qr/^json_web_signature: InvalidCharacterInsertedInPayload/
          => 'bad signature' ],
        [ qr/^json_web_signature: invalidBase64Padding/ => 'bad JSON' ],

        # secrets have neither names nor uses here, and 32 bytes are enough
        [ qr/^json_web_key: rejects(?:DuplicateKid|AesKey)/ => 'bad JSON' ],
        [ qr/^json_web_key: key_too_short/ => 'bad JSON' ],
        [ qr/^hmac_.*: short key/ => 'too short' ],
    );

    return grep { $vector =~ $_->[0] && $said eq $_->[1] } @known;
}

# what says that a signature is right, whatever its text then is

sub is_right ($said) { return $said =~ /^(?:ok|bad JSON|not an object)$/ }

# all of a file: keys that are refused, of weak RSA or as a secret that is too
# short, refuse what they signed

sub wycheproof ($name, $sum) {
    my $file = json_decode(read_file("$theirs/${name}_test.json"));

    $_->{sha} //= $name =~ /^hmac_sha(\d{3})$/ ? "SHA-$1" : ''
        for $file->{testGroups}->@*;

    my @rows = map { rows_of($_, $name) } $file->{testGroups}->@* or return;
    my @said = $vectors->verdicts([ map { [ @$_[1 .. $#$_] ] } @rows ]);
    my (%is, @wrong);

    for my $row (@rows) {
        my ($vector, $keys) = @$row;
        my $said = shift @said;

        $said = 'too short' if grep { ref && $_->[0] eq 'secret'
                                      && length $_->[1] < 32 } $keys, @$keys;

        my $is = is_right($said) ? 'valid' : 'invalid';
        my $flags = join ' ', ($vector->{flags} // [])->@*;
        my $is_said = "$vector->{comment}, $flags";

        $is{$is}++;
        $sum->{vectors}++;

        next if $is eq $vector->{result};

        $is{'of another opinion'}++;
        push @wrong, "$vector->{tcId}: $is_said: $said"
            if !differs("$name: $is_said", $said);
    }

    is join("\n", @wrong), '', "$name: "
        . join ', ', map { "$is{$_} $_" } sort keys %is;
    $sum->{files}++;
}
