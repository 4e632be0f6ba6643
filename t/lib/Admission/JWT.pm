# JSON web tokens with HMAC, and wrong ones.

package Admission::JWT;

use v5.36;

use Digest::SHA;
use Exporter 'import';
use MIME::Base64 qw(encode_base64 decode_base64);

use Admission::Test ();

our @EXPORT = qw(b64url unb64url jwt_sign jwt_raw jwt_verify jwt_decode
                 user_token entry_token tier1_token);

my %mac = (
    HS256 => \&Digest::SHA::hmac_sha256,
    HS384 => \&Digest::SHA::hmac_sha384,
    HS512 => \&Digest::SHA::hmac_sha512,
);


sub b64url ($bytes) {
    my $text = encode_base64($bytes, '');
    $text =~ tr{+/}{-_};
    $text =~ s/=+$//;
    return $text;
}


sub unb64url ($text) {
    $text =~ tr{-_}{+/};
    return decode_base64($text);
}


# A token from the bytes of its header and payload.
#   alg        whose MAC, HS256 by default, whatever the header says
#   signature  bytes to use instead of the MAC

sub jwt_raw ($header, $payload, $secret, %opt) {
    my $signed = b64url($header) . '.' . b64url($payload);
    my $mac = $opt{signature} // $mac{ $opt{alg} // 'HS256' }->($signed,
                                                                $secret);
    return $signed . '.' . b64url($mac);
}


# A token with these claims, a hash or JSON text.
#   alg        HS256, HS384, HS512
#   header     instead of {"alg":...,"typ":"JWT"}, a hash or JSON text

sub jwt_sign ($claims, $secret, %opt) {
    my $header = $opt{header} // { alg => $opt{alg} // 'HS256', typ => 'JWT' };

    return jwt_raw(ref $header ? Admission::Test::json_encode($header)
                               : $header,
                   ref $claims ? Admission::Test::json_encode($claims)
                               : $claims,
                   $secret, %opt);
}


# The claims if the signature is right by the header's algorithm.

sub jwt_verify ($token, $secret) {
    my ($header, $payload, $signature, @rest) = split /\./, $token, -1;
    return if @rest || !defined $signature;

    my $mac = $mac{ Admission::Test::json_decode(unb64url($header))->{alg} }
        or return;

    return unless b64url($mac->("$header.$payload", $secret)) eq $signature;
    return Admission::Test::json_decode(unb64url($payload));
}


# The claims, unverified.

sub jwt_decode ($token) {
    return Admission::Test::json_decode(unb64url((split /\./, $token)[1]));
}


# The usual tokens, valid for ten minutes; claims given add or replace, undef
# takes a claim away.

sub user_token ($secret, %claims) {
    return usual($secret, %claims);
}

sub entry_token ($secret, %claims) {
    my $now = time;
    return usual($secret, adm => $now * 1_000_000, iat => $now, %claims);
}

sub tier1_token ($secret, %claims) {
    my $now = time;
    return usual($secret, tier => 1, iat => $now, %claims);
}

sub usual ($secret, %claims) {
    %claims = (exp => time + 600, %claims);
    delete @claims{ grep { !defined $claims{$_} } keys %claims };
    return jwt_sign(\%claims, $secret);
}


1;
