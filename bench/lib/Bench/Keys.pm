# The gate with users' tokens that an identity service signed, against those of
# a secret, seen before and never seen; and what verifies a signature, called as
# it is, against OpenSSL's own measure of it (openssl speed), in turn on the
# worker's processor.

package Bench::Keys;

use v5.36;

use Carp;

use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;
use Admission::Test ();
use Admission::Vectors;
use Bench;
use Bench::Site;

# as many as no worker remembers, so that when they come again they are new
my $tokens = 40_000;

my %kind = (HS256 => undef, RS256 => [ 'RSA', 'rsa2048' ],
            ES256 => [ 'P-256', 'ecdsap256' ]);

my $sign = <<'END';
import base64, json, sys
from multiprocessing import Pool
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

key = serialization.load_pem_private_key(open(sys.argv[1], "rb").read(), None)

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")

def token(line):
    alg, claims = line.rstrip("\n").split("\t")
    head = b64(json.dumps({"alg": alg, "typ": "JWT", "kid": alg}).encode())
    text = head + b"." + b64(claims.encode())
    if alg == "RS256":
        s = key.sign(text, padding.PKCS1v15(), hashes.SHA256())
    else:
        s = b"".join(n.to_bytes(32, "big") for n in
                     utils.decode_dss_signature(
                         key.sign(text, ec.ECDSA(hashes.SHA256()))))
    return (text + b"." + b64(s)).decode()

if __name__ == "__main__":
    with Pool(2) as pool:
        for line in pool.map(token, open(sys.argv[2]), 100):
            print(line)
END


sub run ($bench, $site) {
    my $event = $site->event;
    my @kinds = qw(HS256 RS256 ES256);
    my $path = "/events/$event/seats.html";
    my %key = map { $_ => Admission::Keys->new($kind{$_}[0], kid => $_) }
              qw(RS256 ES256);
    my @pairs = map { [ split /\t/ ] } ($site->pairs)[0 .. $tokens - 1];
    my $nginx = nginx($bench, $site, \%key);

    my $template = "GET $path HTTP/1.1|Host: localhost|Accept: text/html|"
                   . 'Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|'
                   . "Cookie: access_token=%s; urr-entry-token-$event=%s||";
    my $vectors = Admission::Vectors->new;
    my (%file, %one);

    for my $kind (@kinds) {
        my @user = $kind{$kind} ? signed($key{$kind}, $kind, @pairs)
                                : map { $_->[0] } @pairs;
        $one{$kind} = $user[0];

        my @lines = map { "$user[$_]\t$pairs[$_][1]" } 0 .. $#user;

        $file{new}{$kind} = $site->requests("new-$kind", $template, @lines);
        $file{seen}{$kind} = $site->requests("seen-$kind", $template,
                                             @lines[0 .. 15]);

        my $status = get($nginx->port($kind), $path,
                         headers => [ Cookie => "access_token=$user[0]; "
                                      . "urr-entry-token-$event=$pairs[0][1]" ])
                     ->status;
        croak "$kind: $status" if $status != 200;
        $bench->load($nginx->port($kind), $file{seen}{$kind}, seconds => 1);
    }

    my $pids = { worker => ($nginx->worker_pids)[0] };
    my %skip;

    my $results = $bench->rounds((map {
        my $which = $_;
        map {
            my $kind = $_;
            "$kind, $which" => sub {
                my $r = $bench->load($nginx->port($kind), $file{$which}{$kind},
                                     skip => $skip{$kind} // 0, pids => $pids);
                $skip{$kind} += $r->{n};
                return $r;
            };
        } @kinds;
    } qw(seen new)), map {
        my $kind = $_;
        ("openssl, $kind" => sub { speed($bench, $kind{$kind}[1]) },
         "verify, $kind" => sub {
            my ($text, $signature) = $one{$kind} =~ /^(.*)\.(.*)$/;
            my $keys = [ jwks => Admission::Keys::jwks($key{$kind}) ];

            my ($token, $alone) = map { $_ / 1000 } $vectors->verdicts(
                [ [ $keys, $one{$kind} ],
                  [ $keys, $kind, $text, unb64url($signature) ] ],
                times => 20_000);
            return { token => $token, signature => $alone };
         });
    } qw(RS256 ES256));

    $nginx->quit;

    my $cpu = sub ($r) { $r->{cpu}{worker} };

    $bench->heading('Gate with tokens of an identity service, against HS256');

    for my $kind (qw(RS256 ES256)) {
        $bench->ratio_row("$kind seen before: requests a CPU second",
                          Bench::ratio($results->{"$kind, seen"},
                                       $results->{'HS256, seen'},
                                       sub ($r) { 1 / $cpu->($r) }),
                          [ '>=', 0.95 ]);
    }

    for my $kind (qw(RS256 ES256)) {
        my ($ours, $theirs) = map { $results->{"$_, $kind"} }
                              qw(verify openssl);

        $bench->ratio_row("$kind: signatures, against openssl speed",
                          Bench::ratio([ map { { signature => $_ } } @$theirs ],
                                       $ours, sub ($r) { $r->{signature} }),
                          [ '>=', 0.8 ]);
        $bench->row('  us of openssl speed, a signature, a token',
                    sprintf '%.1f, %.1f, %.1f', Bench::median(@$theirs),
                    map { my $what = $_;
                          Bench::median(map { $_->{$what} } @$ours) }
                    qw(signature token));
        $bench->ratio_row("$kind never seen: requests a CPU second",
                          Bench::ratio($results->{"$kind, new"},
                                       $results->{'HS256, new'},
                                       sub ($r) { 1 / $cpu->($r) }));
    }

    for my $which (qw(seen new)) {
        $bench->rate_row("$_, $which", $results->{"$_, $which"}) for @kinds;
    }
}


sub nginx ($bench, $site, $key) {
    my $nginx = Admission::Nginx->start(
        %{ $site->nginx_options('') },
        files       => { map { ("$_.json" =>
                                Admission::Keys::jwks($key->{$_})) } keys %$key },
        http        => Bench::Site::http() . join '', map {
            my $keys = $key->{$_} ? "admission_secret user jwks=$_.json;" : '';
            <<~"END"
            server {
                listen 127.0.0.1:%%PORT_$_%%;
                $keys

                admission_event   \$event_id;
                admission_user    jwt;

                location /events/ {
                    root html;
                    admission_tier2 on;
                }
            }
            END
        } sort keys %kind);

    Bench::Site::write_pages($nginx);
    return $nginx;
}


sub user_of ($pair) {
    my ($payload) = (split /\./, $pair->[0])[1];
    return Admission::Test::json_decode(unb64url($payload))->{userId};
}

sub signed ($key, $alg, @pairs) {
    my $dir = Admission::Test::test_dir;
    my $claims = Admission::Test::write_file("$dir/claims", join '', map {
        "$alg\t" . Admission::Test::json_encode({ userId => user_of($_),
                                                  exp => time + 7200 }) . "\n"
    } @pairs);
    my $program = Admission::Test::write_file("$dir/sign.py", $sign);
    my ($status, $out) = Admission::Test::run('python3', $program,
                                              "$key->{file}.key", $claims);

    croak $out if $status;
    return split /\n/, $out;
}


# us that OpenSSL takes for one

sub speed ($bench, $what) {
    my ($status, $out) = Admission::Test::run('taskset', '-c',
        $bench->{cpu}{worker}, qw(openssl speed -seconds 1), $what);

    # "rsa 2048 bits", or " 256 bits ecdsa (nistp256)": signing, verifying
    my ($rate) = $out =~ /^ *(?:rsa )?\d+ bits .* ([\d.]+)$/m;

    croak "openssl speed: $out" if $status || !$rate;
    return 1e6 / $rate;
}


1;
