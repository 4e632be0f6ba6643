# A client of event streams over HTTP/1.x, as EventSource is one: what has a
# name is no message of onmessage.
#
#     my $stream = Admission::Stream->open($port, '/path', cookies => {...});
#     is $stream->status, 200;
#     my $json = $stream->message;            # the next one, undef: none came

package Admission::Stream;

use v5.36;

use Admission::HTTP ();
use Admission::Test ();
use Time::HiRes qw(time);


# $opt as of Admission::HTTP's request

sub open ($class, $port, $path, %opt) {
    my $connection = Admission::HTTP->connect($port);
    my $method = delete $opt{method} // 'GET';

    $connection->send(Admission::HTTP::compose($method, $path, %opt));

    my $head = $connection->read_until(qr/\r\n\r\n/) // '';
    my ($first, @lines) = split /\r\n/, $head;

    my $self = bless {
        connection => $connection,
        head => Admission::HTTP::Response->new(
            status => ($first // '') =~ m{^HTTP/1\.\d (\d+)} ? $1 : 0,
            headers => [ map { [ split /:[ \t]*/, $_, 2 ] } @lines ]),
        chunked => scalar $head =~ /^transfer-encoding: chunked/im,
        text => '', comments => 0, retry => undef, ended => 0,
        messages => [], method => $method, raw => $head,
    }, $class;

    # what came with the head
    $self->take if $self->status == 200;
    return $self;
}


sub status ($self) { return $self->{head}->status }
sub header ($self, $name) { return $self->{head}->header($name) }
sub retry ($self) { return $self->{retry} }         # ms, as told last
sub comments ($self) { return $self->{comments} }
sub close ($self) { $self->{connection}->close }
sub socket ($self) { return $self->{connection}->socket }


# The body of an answer that is none.

sub json ($self) {
    $self->{connection}{buffer} = $self->{raw} . $self->{connection}{buffer};
    return $self->{connection}->response($self->{method})->json;
}


# The next message, undef if none comes in time, or the stream has an end.

sub message ($self, $timeout = 20) {
    my $end = time + $timeout * Admission::Test::slow;

    while (!$self->{messages}->@*) {
        return if $self->{ended};

        my $got = $self->{connection}->fill($end);

        return if $got eq 'timeout';
        $self->{ended} = 1 if $got eq 'eof';
        $self->take;
    }

    return shift $self->{messages}->@*;
}


# The first message that does, undef as above.

sub message_that ($self, $does, $timeout = 20) {
    my $end = time + $timeout * Admission::Test::slow;

    while (1) {
        my $left = $end - time;
        my $message = $self->message($left > 0
                                     ? $left / Admission::Test::slow : 0);

        return $message if !$message || $does->($message);
    }
}


# True if the server ends it in time; messages that come are left.

sub ended ($self, $timeout = 20) {
    my $end = time + $timeout * Admission::Test::slow;

    while (!$self->{ended}) {
        my $got = $self->{connection}->fill($end);

        return 0 if $got eq 'timeout';
        $self->{ended} = 1 if $got eq 'eof';
        $self->take;
    }

    return 1;
}


# ---- inside

sub take ($self) {
    my $buffer = \$self->{connection}{buffer};

    if (!$self->{chunked}) {
        $self->{text} .= $$buffer;
        $$buffer = '';
    }

    while ($self->{chunked} && $$buffer =~ /^([0-9a-f]+)\r\n/i) {
        my ($size, $at) = (hex $1, $+[0]);

        last if length $$buffer < $at + $size + 2;

        $self->{text} .= substr $$buffer, $at, $size;
        substr $$buffer, 0, $at + $size + 2, '';
        $self->{ended} = $self->{whole} = 1 if !$size;
    }

    while ($self->{text} =~ s/^(.*?)\n\n//s) {
        my ($data, $event);

        for (split /\n/, $1) {
            $self->{comments}++ if /^:/;
            $self->{retry} = $1 if /^retry: (\d+)$/;
            $event = $1 if /^event: ?(.*)/;
            $data = defined $data ? "$data\n$1" : $1 if /^data: ?(.*)/;
        }

        push $self->{messages}->@*, Admission::Test::json_decode($data)
            if defined $data && !defined $event;
    }
}


1;
