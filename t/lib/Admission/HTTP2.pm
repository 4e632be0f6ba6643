# Frames of HTTP/2, for what no client does: streams that are reset, bodies
# that come late.  Requests are cleartext, with prior knowledge.
#
#     my $h2 = Admission::HTTP2->connect($port);
#     $h2->headers(1, 'GET', '/path', cookie => 'a=b', cookie => 'c=d');
#     is $h2->body(1), 'text';

package Admission::HTTP2;

use v5.36;

use Admission::HTTP ();
use Admission::Test ();
use Time::HiRes qw(time);

use constant { DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4,
               PING => 6, WINDOW_UPDATE => 8 };
use constant { END_STREAM => 1, ACK => 1, END_HEADERS => 4 };


sub connect ($class, $port) {
    my $connection = Admission::HTTP->connect($port);
    my $self = bless { connection => $connection, bodies => {}, ended => {} },
        $class;

    $connection->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    $self->frame(SETTINGS, 0, 0);
    return $self;
}


sub frame ($self, $type, $flags, $stream, $payload = '') {
    $self->{connection}->send(substr(pack('N', length $payload), 1)
                              . pack('CCN', $type, $flags, $stream)
                              . $payload);
}


# A request; with `':end' => 0` its body follows.

sub headers ($self, $stream, $method, $path, %opt) {
    my $end = delete $opt{':end'} // 1;
    my @headers = @{ delete $opt{headers} // [] };

    $self->frame(HEADERS, END_HEADERS | ($end ? END_STREAM : 0), $stream,
                 literals(':method' => $method, ':scheme' => 'http',
                          ':path' => $path, ':authority' => 'localhost',
                          @headers));
}

sub data ($self, $stream, $bytes, $end = 1) {
    $self->frame(DATA, $end ? END_STREAM : 0, $stream, $bytes);
}

sub reset ($self, $stream) {
    $self->frame(RST_STREAM, 0, $stream, pack 'N', 8);      # CANCEL
}

sub close ($self) {
    $self->{connection}->close;
}


# The body of the response on a stream, undef if it does not end in time.

sub body ($self, $stream, $timeout = 10) {
    return $self->frames($timeout, sub { $self->{ended}{$stream} })
           ? $self->{bodies}{$stream} // '' : undef;
}


# The body of one that has no end yet, when there is something in it; undef if
# that does not come in time.

sub part ($self, $stream, $pattern, $timeout = 10) {
    return $self->frames($timeout, sub {
               ($self->{bodies}{$stream} // '') =~ $pattern
           }) ? $self->{bodies}{$stream} : undef;
}


# Reads frames until that is so.

sub frames ($self, $timeout, $until) {
    my $end = time + $timeout * Admission::Test::slow;
    my $connection = $self->{connection};

    while (!$until->()) {
        my $head = substr $connection->{buffer}, 0, 9;
        my $length = length $head < 9 ? 0 : unpack 'N', "\0$head";

        if (length $connection->{buffer} < 9 + $length) {
            return if $connection->fill($end) ne 'data';
            next;
        }

        substr $connection->{buffer}, 0, 9, '';
        my $payload = substr $connection->{buffer}, 0, $length, '';

        $self->take(unpack('x3 C C N', $head), $payload);
    }

    return 1;
}


sub take ($self, $type, $flags, $stream, $payload) {
    $self->{bodies}{$stream} .= $payload if $type == DATA;

    $self->{ended}{$stream} = 1
        if $type == RST_STREAM
           || (($type == DATA || $type == HEADERS) && $flags & END_STREAM);

    $self->frame(SETTINGS, ACK, 0) if $type == SETTINGS && !($flags & ACK);
}


# HPACK without its tables and without Huffman's code.

sub literals (@pairs) {
    my $block = '';

    while (my ($name, $value) = splice @pairs, 0, 2) {
        $block .= "\0" . string($name) . string($value);
    }

    return $block;
}

sub string ($text) {
    my $length = length $text;
    return chr($length) . $text if $length < 127;

    my $bytes = chr 127;

    for ($length -= 127; $length > 127; $length >>= 7) {
        $bytes .= chr(128 | $length & 127);
    }

    return $bytes . chr($length) . $text;
}


1;
