# A small HTTP/1.x client over a socket of its own: what is sent is exactly
# what the test says, and nothing waits for longer than its time-out.

package Admission::HTTP;

use v5.36;

use Exporter 'import';
use IO::Socket::IP;
use IO::Socket::UNIX;

use Admission::Test ();

our @EXPORT = qw(request get post head answered);


# request($port, $method, $path, %opt) returns an Admission::HTTP::Response,
# also when there was none (its status is 0 then, and error says why).
#   headers   [name, value, ...], sent in this order after Host, which is left
#             out if it is among them; so is Content-Length
#   cookies   {name => value}, as one Cookie header
#   bearer    as Authorization: Bearer
#   body      bytes
#   json      anything, as a JSON body
#   version   '1.1'
#   raw       bytes to send instead of all that
#   host      the address, 127.0.0.1
#   timeout   10, for all of it (times `slow`)

sub request ($port, $method, $path, %opt) {
    my $connection = Admission::HTTP->connect($port, %opt);
    return $connection if $connection->isa('Admission::HTTP::Response');

    $opt{headers} = [ @{ $opt{headers} // [] }, Connection => 'close' ]
        unless has_header($opt{headers}, 'connection');

    return $connection->request($method, $path, %opt);
}

sub get ($port, $path, %opt)  { return request($port, 'GET', $path, %opt) }
sub post ($port, $path, %opt) { return request($port, 'POST', $path, %opt) }
sub head ($port, $path, %opt) { return request($port, 'HEAD', $path, %opt) }


# What the block, a request, is answered when it is not 503 any more; 503 if it
# stays so.  For what has to succeed once Redis is back: each worker finds out
# by itself, and that one was answered says nothing of another, nor of its
# next call while its breaker lets few go out.

sub answered :prototype(&;$) ($ask, $timeout = 20) {
    my $response;

    Admission::Test::wait_until {
        ($response = $ask->())->status != 503;
    } $timeout;

    return $response;
}


# A connection for several requests, or for a byte-wise look, see below.
# Returns a Response with an error if it cannot be made.

sub connect ($class, $port, %opt) {
    my $socket = $port =~ m{/}
        ? IO::Socket::UNIX->new(Peer => $port)
        : IO::Socket::IP->new(PeerHost => $opt{host} // '127.0.0.1',
                              PeerPort => $port, Timeout => 5);

    return failed("connect to $port: $@") if !$socket;

    $socket->blocking(0);
    return Admission::HTTP::Connection->new($socket, $opt{timeout} // 10);
}


# ---- bytes

sub has_header ($headers, $name) {
    my @headers = @{ $headers // [] };
    my @names = @headers[ grep { $_ % 2 == 0 } 0 .. $#headers ];

    return scalar grep { lc $_ eq lc $name } @names;
}


sub compose ($method, $path, %opt) {
    my @headers = @{ $opt{headers} // [] };
    my $body = $opt{body};

    if (exists $opt{json}) {
        $body = Admission::Test::json_encode($opt{json});
        push @headers, 'Content-Type', 'application/json'
            unless has_header(\@headers, 'content-type');
    }

    unshift @headers, Host => 'localhost' unless has_header(\@headers, 'host');

    push @headers, Authorization => "Bearer $opt{bearer}"
        if defined $opt{bearer};

    if (my $cookies = $opt{cookies}) {
        push @headers, Cookie => join '; ',
            map { "$_=$cookies->{$_}" } sort keys %$cookies;
    }

    push @headers, 'Content-Length', length $body
        if defined $body && !has_header(\@headers, 'content-length')
           && !has_header(\@headers, 'transfer-encoding');

    my $bytes = "$method $path HTTP/" . ($opt{version} // '1.1') . "\r\n";
    $bytes .= "$headers[2 * $_]: $headers[2 * $_ + 1]\r\n"
        for 0 .. $#headers / 2;

    return "$bytes\r\n" . ($body // '');
}


# Takes a response off the front of the buffer, or returns undef if it is not
# all there yet.  $eof: there will be no more.

sub parse ($buffer, $method, $eof) {
    while ($$buffer =~ m{^HTTP/1\.\d 1\d\d .*?\r\n\r\n}s
           && $$buffer !~ m{^HTTP/1\.\d 101}) {
        substr $$buffer, 0, $+[0], '';
    }

    my $head_end = index $$buffer, "\r\n\r\n";
    return if $head_end < 0;

    my ($first, @lines) = split /\r\n/, substr $$buffer, 0, $head_end;
    my ($version, $status, $reason) = $first =~ m{^HTTP/(\S+) (\d+) ?(.*)$}
        or return failed("not HTTP: $first", $$buffer);

    my $response = Admission::HTTP::Response->new(
        version => $version, status => $status, reason => $reason,
        headers => [ map { [ split /:[ \t]*/, $_, 2 ] } @lines ]);

    my $start = $head_end + 4;
    my ($body, $end) = parse_body($response, $buffer, $start, $method, $eof);

    if (!defined $body) {
        return if !$eof;
        return failed('connection closed in the body', $$buffer);
    }

    $response->{body} = $body;
    $response->{raw} = substr $$buffer, 0, $end, '';
    return $response;
}


# The body and where it ends in the buffer; nothing if it is not complete.

sub parse_body ($response, $buffer, $start, $method, $eof) {
    my $status = $response->status;

    return ('', $start)
        if $method eq 'HEAD' || $status == 204 || $status == 304;

    if (lc($response->header('Transfer-Encoding') // '') eq 'chunked') {
        my $body = '';
        pos($$buffer) = $start;

        while ($$buffer =~ /\G([0-9a-fA-F]+)[^\r\n]*\r\n/gc) {
            my ($size, $at) = (hex $1, pos $$buffer);

            if ($size == 0) {
                return $$buffer =~ /\G(?:[^\r\n]+\r\n)*\r\n/gc
                       ? ($body, pos $$buffer) : ();
            }

            return if length $$buffer < $at + $size + 2;
            $body .= substr $$buffer, $at, $size;
            pos($$buffer) = $at + $size + 2;
        }

        return;
    }

    my $length = $response->header('Content-Length');

    if (defined $length) {
        return if length $$buffer < $start + $length;
        return (substr($$buffer, $start, $length), $start + $length);
    }

    return $eof ? (substr($$buffer, $start), length $$buffer) : ();
}


sub failed ($error, $bytes = '') {
    return Admission::HTTP::Response->new(status => 0, headers => [],
                                          body => '', raw => $bytes,
                                          error => $error);
}


package Admission::HTTP::Connection;

use v5.36;

use Errno qw(EAGAIN EWOULDBLOCK EINTR);
use IO::Select;
use Time::HiRes qw(time);

sub new ($class, $socket, $timeout) {
    return bless { socket => $socket, buffer => '', timeout => $timeout },
        $class;
}


# As the function request, on this connection, which stays open.

sub request ($self, $method, $path, %opt) {
    my $start = time;
    my $error = $self->send($opt{raw}
                            // Admission::HTTP::compose($method, $path, %opt));

    my $response = $self->response($method, $opt{timeout});

    $response->{error} ||= $error if !$response->status;
    $response->{time} = time - $start;
    $response->{sent} = $start;
    return $response;
}


sub socket ($self) { return $self->{socket} }


sub close ($self) {
    CORE::close($self->{socket});
}


# Returns what went wrong, or undef.

sub send ($self, $bytes, $timeout = $self->{timeout}) {
    my $end = time + $timeout * Admission::Test::slow;

    while (length $bytes) {
        my $n = syswrite $self->{socket}, $bytes;

        if (defined $n) {
            substr $bytes, 0, $n, '';

        } elsif ($! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR) {
            my $left = $end - time;
            return 'timeout while sending' if $left <= 0;
            IO::Select->new($self->{socket})->can_write($left);

        } else {
            return "send: $!";
        }
    }

    return;
}


# Reads some more, at most until $end.  Returns 'data', 'eof' or 'timeout'.

sub fill ($self, $end) {
    while (1) {
        my $n = sysread $self->{socket}, $self->{buffer}, 65536,
                        length $self->{buffer};

        return $n ? 'data' : 'eof' if defined $n;
        return 'eof' unless $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;

        my $left = $end - time;
        return 'timeout' if $left <= 0;
        IO::Select->new($self->{socket})->can_read($left);
    }
}


# The next response on the connection.

sub response ($self, $method = 'GET', $timeout = undef) {
    my $end = time + ($timeout // $self->{timeout}) * Admission::Test::slow;
    my $got = 'data';

    while (1) {
        my $response = Admission::HTTP::parse(\$self->{buffer}, $method, $got eq 'eof');
        return $response if $response;

        return Admission::HTTP::failed(
            $got eq 'timeout' ? 'timeout' : 'connection closed',
            $self->{buffer}) if $got ne 'data';

        $got = $self->fill($end);
    }
}


# Takes bytes off the connection up to and with what matches; undef if that
# does not come in time.

sub read_until ($self, $pattern, $timeout = $self->{timeout}) {
    my $end = time + $timeout * Admission::Test::slow;

    while (1) {
        return substr $self->{buffer}, 0, $+[0], ''
            if $self->{buffer} =~ $pattern;
        return if $self->fill($end) ne 'data';
    }
}


# True if the other side closes within the time.

sub closed ($self, $timeout = $self->{timeout}) {
    my $end = time + $timeout * Admission::Test::slow;
    my $got;

    do { $got = $self->fill($end) } while $got eq 'data';
    return $got eq 'eof';
}


package Admission::HTTP::Response;

use v5.36;

sub new ($class, %fields) { return bless \%fields, $class }

sub status ($self)  { return $self->{status} }
sub reason ($self)  { return $self->{reason} }
sub version ($self) { return $self->{version} }
sub body ($self)    { return $self->{body} }
sub raw ($self)     { return $self->{raw} }
sub error ($self)   { return $self->{error} }      # undef if there was none
sub time ($self)    { return $self->{time} }       # seconds it took


# Those in which the machine did not stand still, where that is `watched`.

sub net ($self) {
    my ($sent, $time) = @$self{qw(sent time)};
    return $time - Admission::Test::stood($sent, $sent + $time);
}


# [[name, value], ...] as they came

sub headers ($self) { return $self->{headers} }


# All values of a header; in scalar context the first.

sub header ($self, $name) {
    my @values = map { $_->[1] } grep { lc $_->[0] eq lc $name }
                 @{ $self->{headers} };
    return wantarray ? @values : $values[0];
}


sub json ($self) {
    return eval { Admission::Test::json_decode($self->{body}) };
}


# Set-Cookie as {name => {value, attributes => {lc name => value}, raw}};
# an attribute without value is 1.

sub cookies ($self) {
    my %cookies;

    for my $raw ($self->header('Set-Cookie')) {
        my ($pair, @attributes) = split /;\s*/, $raw;
        my ($name, $value) = split /=/, $pair, 2;

        $cookies{$name} = {
            value => $value,
            attributes => { map { my ($n, $v) = split /=/, $_, 2;
                                  (lc $n => $v // 1) } @attributes },
            raw => $raw,
        };
    }

    return \%cookies;
}

# The value of a cookie that is set.

sub cookie ($self, $name) {
    my $cookie = $self->cookies->{$name};
    return $cookie && $cookie->{value};
}


1;
