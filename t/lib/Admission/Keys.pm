# Pairs of keys of an identity service, made and used by openssl(1): what is
# signed here is not signed by what the module verifies with.

package Admission::Keys;

use v5.36;

use Carp;
use Digest::SHA;

use Admission::JWT;
use Admission::Test;

my $count = 0;

# by type, what genpkey is told
my %genpkey = (
    RSA      => [qw(-algorithm RSA -pkeyopt rsa_keygen_bits:2048)],
    RSA1024  => [qw(-algorithm RSA -pkeyopt rsa_keygen_bits:1024)],
    'P-256'  => [qw(-algorithm EC -pkeyopt ec_paramgen_curve:P-256)],
    'P-384'  => [qw(-algorithm EC -pkeyopt ec_paramgen_curve:P-384)],
    'P-521'  => [qw(-algorithm EC -pkeyopt ec_paramgen_curve:P-521)],
    Ed25519  => [qw(-algorithm ED25519)],
);

my %half = ('P-256' => 32, 'P-384' => 48, 'P-521' => 66);


sub openssl (@command) {
    my ($status, $output) = run('openssl', @command);
    croak "openssl @command: $output" if $status;
    return $output;
}


# new($type, kid => ..., and other members of its JWK)

sub new ($class, $type, %jwk) {
    my $file = test_dir . '/key' . ++$count;

    openssl('genpkey', @{ $genpkey{$type} }, '-out', "$file.key");
    openssl('pkey', '-in', "$file.key", '-pubout', '-out', "$file.pem");
    openssl('pkey', '-in', "$file.key", '-pubout', '-outform', 'DER', '-out',
            "$file.der");

    return bless { type => $type, file => $file, jwk => \%jwk }, $class;
}


sub pem ($self) { return read_file("$self->{file}.pem") }

sub private_pem ($self) { return read_file("$self->{file}.key") }


# Its public JWK, a hash; members given add or replace, undef takes one away.

sub jwk ($self, %more) {
    my $der = read_file("$self->{file}.der");
    my %jwk;

    if ($self->{type} =~ /^RSA/) {
        # the last number is 65537, the one before as long as the key
        my $size = $self->{type} eq 'RSA' ? 256 : 128;
        %jwk = (kty => 'RSA', e => 'AQAB',
                n => b64url(substr $der, -5 - $size, $size));

    } elsif (my $size = $half{ $self->{type} }) {
        %jwk = (kty => 'EC', crv => $self->{type},
                x => b64url(substr $der, -2 * $size, $size),
                y => b64url(substr $der, -$size));

    } else {
        %jwk = (kty => 'OKP', crv => $self->{type},
                x => b64url(substr $der, -32));
    }

    %jwk = (%jwk, $self->{jwk}->%*, %more);
    delete @jwk{ grep { !defined $jwk{$_} } keys %jwk };
    return \%jwk;
}


# The signature of bytes by an algorithm, as JWS has it.
#   salt   bytes of it, of PSS

sub signature ($self, $alg, $bytes, %opt) {
    my $key = "$self->{file}.key";
    my $in = write_file(test_dir . '/signed', $bytes);
    my ($bits) = $alg =~ /(\d+)$/;

    if ($alg eq 'EdDSA') {
        openssl('pkeyutl', '-sign', '-inkey', $key, '-rawin', '-in', $in,
                '-out', "$in.sig");
        return read_file("$in.sig");
    }

    my @pss = $alg !~ /^PS/ ? () :
        ('-sigopt', 'rsa_padding_mode:pss',
         '-sigopt', 'rsa_pss_saltlen:' . ($opt{salt} // -1));

    openssl('dgst', "-sha$bits", '-sign', $key, @pss, '-out', "$in.sig", $in);
    my $signature = read_file("$in.sig");

    return $signature if $alg !~ /^ES/ || $opt{der};

    # SEQUENCE { INTEGER r, INTEGER s }
    my ($r, $s) = numbers($signature);
    my $size = $half{ $self->{type} };

    return join '', map { substr "\0" x $size . $_, -$size } $r, $s;
}

sub numbers ($der) {
    my $at = ord(substr $der, 1, 1) > 127 ? 3 : 2;
    my @numbers;

    for (1, 2) {
        my $size = ord substr $der, $at + 1, 1;
        push @numbers, substr $der, $at + 2, $size;
        $at += 2 + $size;
    }

    return @numbers;
}


# A token of these claims, signed.
#   alg      RS256 and so on
#   header   more of it, or other: a hash
#   payload  bytes instead of claims

sub token ($self, $alg, $claims, %opt) {
    my %header = (alg => $alg, typ => 'JWT',
                  exists $self->{jwk}{kid} ? (kid => $self->{jwk}{kid}) : (),
                  ($opt{header} // {})->%*);
    delete @header{ grep { !defined $header{$_} } keys %header };

    my $signed = join '.', map { b64url($_) } json_encode(\%header),
                 $opt{payload} // json_encode({ exp => time + 600,
                                                %$claims });

    return "$signed." . b64url($self->signature($alg, $signed, %opt));
}


# The text of a JWK set.

sub jwks (@jwks) {
    return json_encode({ keys => [ map { ref $_ eq __PACKAGE__ ? $_->jwk : $_ }
                                   @jwks ] });
}


1;
