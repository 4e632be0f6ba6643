#!/usr/bin/perl

# The booking backend of the demo.  It answers one request after the other on
# a unix socket, with what it was told about who asks.
#
#     demo/backend.pl SOCKET USER_KEY_FILE
#
# DEMO ONLY: /demo/login/NAME signs an access token for whatever name it is
# given, without a password.  On a real site an identity service does that,
# with the key that "admission_secret user" names.

use v5.36;

use Digest::SHA qw(hmac_sha256);
use IO::Socket::UNIX;
use JSON::PP ();
use MIME::Base64 qw(encode_base64url);

my ($path, $key_file) = @ARGV;
my $key = read_key($key_file);
my $json = JSON::PP->new->utf8->canonical;

my %reason = (200 => 'OK', 201 => 'Created', 404 => 'Not Found');

$SIG{TERM} = $SIG{INT} = sub { exit 0 };
$SIG{PIPE} = 'IGNORE';

umask 0111;             # NGINX's workers may be another user

my $listen = IO::Socket::UNIX->new(Local => $path, Listen => 128)
    or die "$path: $!\n";

while (1) {
    my $client = $listen->accept or next;

    # whatever a client does, the next one gets its turn
    eval {
        local $SIG{ALRM} = sub { die "too slow\n" };
        alarm 5;
        serve($client);
        1;
    } or warn "backend: $@";

    alarm 0;
    close $client;
}


sub serve ($client) {
    my $request = read_request($client) or return;
    my ($status, $headers, $answer) = answer($request);
    my $body = JSON::PP->new->utf8->canonical->pretty->encode($answer);

    print $client "HTTP/1.1 $status $reason{$status}\r\n",
        "Content-Type: application/json\r\n",
        (map { "$_\r\n" } @$headers),
        'Content-Length: ', length $body, "\r\n",
        "Connection: close\r\n\r\n",
        $request->{method} eq 'HEAD' ? '' : $body;
}


sub read_request ($client) {
    local $/ = "\r\n";

    my $line = <$client> // return;
    my ($method, $uri) = $line =~ m{^(\S+) (\S+) HTTP/} or return;
    my %header;

    while (defined($line = <$client>) && $line ne $/) {
        my ($name, $value) = $line =~ /^([^:]+):\s*(.*?)\s*$/ or next;
        $header{$name} = $value;
    }

    my ($length) = map { $header{$_} } grep { lc eq 'content-length' }
                   keys %header;
    read $client, my $body, $length if $length;

    return { method => $method, uri => $uri, headers => \%header };
}


sub answer ($request) {
    my $headers = $request->{headers};

    if ($request->{uri} =~ m{^/demo/login/([a-z0-9]{1,32})$}) {
        return login($1);
    }

    my %seen = (
        method => $request->{method},
        uri => $request->{uri},
        headers => { map { $_ => shorten($headers->{$_}) } keys %$headers },
    );

    if ($request->{uri} =~ m{^/api/reservations/?(?:\?|$)}
        && $request->{method} eq 'POST')
    {
        # a purchase: the user's turn is over, and there is a seat less

        return (201, [ 'X-Admission-Command: complete' ], {
            message => 'Booked',
            user => $headers->{'X-User-Id'},
            event => $headers->{'X-Admission-Event'},
            'what the backend got' => \%seen,
        });
    }

    if ($request->{uri} =~ m{^/api/seats/}) {
        return (200, [], {
            seats => [ map { "A$_" } 1 .. 5 ],
            'what the backend got' => \%seen,
        });
    }

    return (404, [], { error => 'No such thing', code => 'NOT_FOUND' });
}


sub login ($name) {
    my $now = time;
    my $token = sign({
        userId => $name,
        email => "$name\@example.com",
        role => $name eq 'admin' ? 'admin' : 'user',
        iat => $now,
        exp => $now + 3600,
    });

    return (200,
        [ "Set-Cookie: access_token=$token; Path=/; Max-Age=3600; HttpOnly; "
              . 'SameSite=Lax',
          'Cache-Control: no-store' ],
        { message => "DEMO: signed in as $name, without a password",
          accessToken => $token });
}


sub sign ($claims) {
    my $signed = join '.', map { encode_base64url($json->encode($_)) }
                 { alg => 'HS256', typ => 'JWT' }, $claims;

    return $signed . '.' . encode_base64url(hmac_sha256($signed, $key));
}


# Tokens are long, and nothing to look at.

sub shorten ($text) {
    return length $text > 72 ? substr($text, 0, 72) . '...' : $text;
}


sub read_key ($file) {
    open my $in, '<:raw', $file or die "$file: $!\n";
    my $key = <$in>;
    chomp $key;
    return $key;
}
