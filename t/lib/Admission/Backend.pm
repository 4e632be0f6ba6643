# A small HTTP/1.1 backend: answers every request with what it received, as
#     {"method", "uri", "headers": [[name, value], ...], "body",
#      "connection": N, "request": N}
# and does what the query of the request asks for:
#     status=500  header=Name:value (may be repeated)  delay=0.2 (seconds)
#     body=text (instead of the JSON)  close=1 (no answer)
# For anything else give it a handler, run for each request in its process:
#     sub ($request) { return [$status, [name => value, ...], $body] }

package Admission::Backend;

use v5.36;

use Errno qw(EAGAIN EWOULDBLOCK EINTR);
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(time);

use Admission::Process ();
use Admission::Test ();


# port (a free one), handler

sub start ($class, %opt) {
    my $port = $opt{port} // Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1024,
        ReuseAddr => 1, Blocking => 0) or die "port $port: $@";

    my $log = Admission::Test::test_dir() . "/backend-$port.log";
    Admission::Test::write_file($log, '');

    my $self = bless { port => $port, listen => $listen, log => $log,
                       handler => $opt{handler} }, $class;

    $self->{process} = Admission::Process->start(
        name => "backend-$port", code => sub { $self->serve });
    close $listen;

    Admission::Test::register($self->{process});
    return $self;
}


sub port ($self) { return $self->{port} }
sub stop ($self) { return $self->{process}->finish }


# What it has received so far, in order, as the answers above; and how many.

sub requests ($self) {
    return map { Admission::Test::json_decode($_) }
           Admission::Test::read_lines($self->{log});
}

sub hits ($self) {
    return scalar(() = Admission::Test::read_file($self->{log}) =~ /\n/g);
}


# ---- in its process

sub serve ($self) {
    open $self->{log_file}, '>>:raw', $self->{log} or die "$self->{log}: $!";
    $self->{log_file}->autoflush;

    $self->{readers} = IO::Select->new($self->{listen});
    $self->{writers} = IO::Select->new;
    $self->{connections} = {};
    $self->{delayed} = [];          # [time, connection, bytes], soonest first

    while (1) {
        my $delayed = $self->{delayed};
        my $wait = @$delayed ? $delayed->[0][0] - time : undef;
        $wait = 0 if defined $wait && $wait < 0;

        my ($read, $write) = IO::Select->select(
            $self->{readers}, $self->{writers}, undef, $wait);

        for my $socket (@{ $read // [] }) {
            if ($socket == $self->{listen}) {
                $self->accept_all;

            } elsif (my $connection = $self->{connections}{$socket}) {
                $self->read_some($connection);
            }
        }

        for my $socket (@{ $write // [] }) {
            my $connection = $self->{connections}{$socket} or next;
            $self->flush($connection);
        }

        while (@$delayed && $delayed->[0][0] <= time) {
            my (undef, $connection, $bytes) = @{ shift @$delayed };
            next if !$self->{connections}{ $connection->{socket} };
            $self->answer($connection, $bytes);
        }
    }
}


sub accept_all ($self) {

    # select() knows no descriptor over 1023
    while ($self->{readers}->count < 1000
           && (my $socket = $self->{listen}->accept))
    {
        $socket->blocking(0);
        $self->{readers}->add($socket);
        $self->{connections}{$socket} = {
            socket => $socket, in => '', out => '', busy => 0,
            number => ++$self->{accepted}, requests => 0,
        };
    }
}


sub read_some ($self, $connection) {
    my $n = sysread $connection->{socket}, $connection->{in}, 65536,
                    length $connection->{in};

    return if !defined $n && ($! == EAGAIN || $! == EWOULDBLOCK
                              || $! == EINTR);
    return $self->drop($connection) if !$n;

    $self->next_request($connection);
}


sub next_request ($self, $connection) {
    return if $connection->{busy};

    my $request = take(\$connection->{in}) or return;

    $connection->{busy} = 1;
    $connection->{close} = $request->{close};
    delete $request->{close};

    $request->{connection} = $connection->{number};
    $request->{request} = ++$connection->{requests};

    my $json = Admission::Test::json_encode($request);
    print { $self->{log_file} } "$json\n";

    my %ask = (status => 200, body => $json, header => [],
               type => 'application/json', query($request->{uri}));

    return $self->drop($connection) if $ask{close};

    my ($status, $headers, $body) = $self->{handler}
        ? @{ $self->{handler}->($request) }
        : ($ask{status}, [ 'Content-Type', $ask{type},
                           map { split /:\s*/, $_, 2 } @{ $ask{header} } ],
           $ask{body});

    my $bytes = compose($request->{method}, $status, $headers, $body // '');

    if ($ask{delay}) {
        my $delayed = $self->{delayed};
        @$delayed = sort { $a->[0] <=> $b->[0] }
            @$delayed, [ time + $ask{delay}, $connection, $bytes ];

    } else {
        $self->answer($connection, $bytes);
    }
}


sub answer ($self, $connection, $bytes) {
    $connection->{out} .= $bytes;
    $connection->{busy} = 0;
    $self->flush($connection);
    $self->next_request($connection)
        if $self->{connections}{ $connection->{socket} };
}


sub flush ($self, $connection) {
    my $socket = $connection->{socket};
    my $n = syswrite $socket, $connection->{out};

    if (!defined $n && $! != EAGAIN && $! != EWOULDBLOCK && $! != EINTR) {
        return $self->drop($connection);
    }

    substr $connection->{out}, 0, $n // 0, '';

    if (length $connection->{out}) {
        $self->{writers}->add($socket);

    } else {
        $self->{writers}->remove($socket);
        $self->drop($connection) if $connection->{close};
    }
}


sub drop ($self, $connection) {
    my $socket = $connection->{socket};

    $self->{readers}->remove($socket);
    $self->{writers}->remove($socket);
    delete $self->{connections}{$socket};
    close $socket;
}


# A request off the front of the buffer, if it is all there.

sub take ($buffer) {
    my $end = index $$buffer, "\r\n\r\n";
    return if $end < 0;

    my ($first, @lines) = split /\r\n/, substr $$buffer, 0, $end;
    my ($method, $uri, $version) = split / /, $first;
    my @headers = map { [ split /:[ \t]*/, $_, 2 ] } @lines;
    my %last = map { lc $_->[0] => $_->[1] } @headers;

    my $at = $end + 4;
    my $body = '';

    if (lc($last{'transfer-encoding'} // '') eq 'chunked') {
        pos($$buffer) = $at;

        while (1) {
            $$buffer =~ /\G([0-9a-fA-F]+)[^\r\n]*\r\n/gc or return;
            my $size = hex $1;
            $at = pos $$buffer;
            return if length $$buffer < $at + $size + 2;

            $body .= substr $$buffer, $at, $size;
            pos($$buffer) = $at += $size + 2;
            last if !$size;
        }

    } elsif (my $length = $last{'content-length'}) {
        return if length $$buffer < $at + $length;
        $body = substr $$buffer, $at, $length;
        $at += $length;
    }

    substr $$buffer, 0, $at, '';

    my $connection = lc($last{connection} // '');

    return {
        method => $method, uri => $uri, headers => \@headers, body => $body,
        close => $connection eq 'close'
                 || ($version eq 'HTTP/1.0' && $connection ne 'keep-alive'),
    };
}


sub query ($uri) {
    my ($text) = $uri =~ /\?(.*)/s or return;
    my (%query, @headers);

    for (split /&/, $text) {
        my ($name, $value) = map { s/%([0-9a-fA-F]{2})/chr hex $1/egr }
                             split /=/, $_, 2;

        if ($name eq 'header') {
            push @headers, $value;

        } else {
            $query{$name} = $value // '';
        }
    }

    return (%query, header => \@headers);
}


sub compose ($method, $status, $headers, $body) {
    my @headers = @$headers;
    my $bytes = "HTTP/1.1 $status X\r\n";

    $bytes .= "$headers[2 * $_]: $headers[2 * $_ + 1]\r\n"
        for 0 .. $#headers / 2;

    return "$bytes\r\n" if $status == 204 || $status == 304;

    $bytes .= 'Content-Length: ' . length($body) . "\r\n\r\n";
    return $method eq 'HEAD' ? $bytes : $bytes . $body;
}


1;
