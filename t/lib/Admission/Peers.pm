# Applications that speak uwsgi, SCGI or gRPC with NGINX: each answers every
# request with the same headers, one connection after the other.
#
#     my $peer = Admission::Peers->start(scgi => 'X-Name: value');
#     scgi_pass 127.0.0.1:@{[ $peer->port ]};

package Admission::Peers;

use v5.36;

use IO::Socket::INET;

use Admission::Process ();
use Admission::Test ();

use constant { DATA => 0, HEADERS => 1, SETTINGS => 4, PING => 6 };
use constant { END_STREAM => 1, ACK => 1, END_HEADERS => 4 };

my %SPEAK = (uwsgi => \&uwsgi, scgi => \&scgi, grpc => \&grpc);


sub start ($class, $kind, @headers) {
    my $port = Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128,
        ReuseAddr => 1) or die "port $port: $@";

    my $process = Admission::Process->start(
        name => "$kind-$port", code => sub {
            $SIG{PIPE} = 'IGNORE';

            while (my $socket = $listen->accept) {
                binmode $socket;
                $socket->autoflush;
                $SPEAK{$kind}->($socket, @headers);
                close $socket;
            }
        });
    close $listen;

    Admission::Test::register($process);
    return bless { port => $port }, $class;
}


sub port ($self) { return $self->{port} }


# a block of variables, whose length is before it

sub uwsgi ($socket, @headers) {
    my $head = take($socket, 4) // return;
    my (undef, $len) = unpack 'Cv', $head;
    take($socket, $len) // return if $len;

    print $socket join "\r\n", 'HTTP/1.1 200 OK', 'Content-Type: text/plain',
                               @headers, '', 'uwsgi';
}


# a netstring of names and values

sub scgi ($socket, @headers) {
    my ($len, $c) = ('');

    while (defined($c = take($socket, 1)) && $c ne ':') {
        $len .= $c;
    }
    take($socket, $len + 1) // return if $len;

    print $socket join "\r\n", 'Status: 200 OK', 'Content-Type: text/plain',
                               @headers, '', 'scgi';
}


# HTTP/2 as far as it takes: whatever is asked for gets the same answer

sub grpc ($socket, @headers) {
    take($socket, 24) // return;
    frame($socket, SETTINGS, 0, 0, '');

    while (defined(my $head = take($socket, 9))) {
        my ($high, $low, $type, $flags, $stream) = unpack 'CnCCN', $head;
        my $len = $high << 16 | $low;
        my $text = $len ? take($socket, $len) : '';
        return if !defined $text;

        if ($type == SETTINGS && !($flags & ACK)) {
            frame($socket, SETTINGS, ACK, 0, '');

        } elsif ($type == PING && !($flags & ACK)) {
            frame($socket, PING, ACK, 0, $text);

        } elsif (($type == DATA || $type == HEADERS) && $flags & END_STREAM) {
            frame($socket, HEADERS, END_HEADERS, $stream,
                  "\x88" . join '', map { field($_) }
                                    'content-type: application/grpc',
                                    @headers);
            frame($socket, DATA, 0, $stream, "\0" . pack 'N', 0);
            frame($socket, HEADERS, END_HEADERS | END_STREAM, $stream,
                  field('grpc-status: 0'));
        }
    }
}


sub frame ($socket, $type, $flags, $stream, $text) {
    my $len = length $text;
    print $socket pack('CnCCN', $len >> 16, $len & 0xffff, $type, $flags,
                       $stream) . $text;
}


# HPACK: a literal that is not indexed, short and without Huffman's code

sub field ($header) {
    my ($name, $value) = split /:\s*/, $header, 2;
    return "\0" . join '', map { chr(length) . $_ } lc $name, $value;
}


sub take ($socket, $len) {
    my $text = '';

    while (length $text < $len) {
        read($socket, $text, $len - length $text, length $text) or return undef;
    }

    return $text;
}


1;
