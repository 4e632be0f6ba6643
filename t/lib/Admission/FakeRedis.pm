# A Redis that does what a real one hardly ever does: a callback answers each
# connection, in a process of its own.
#
#     my $fake = Admission::FakeRedis->start(sub ($c) {
#         while (my @argv = $c->command) {
#             $c->write("+PONG\r\n");
#         }
#     });
#
# $c->number      1 for the first connection
# $c->command     the next command as a list, empty when the peer is gone
# $c->read($n)    some bytes, at most so many; undef when the peer is gone
# $c->write(@b)   bytes
# $c->hang        says nothing any more until the peer closes
# $c->close       closes, as does returning from the callback
# $c->reset       closes with a RST

package Admission::FakeRedis;

use v5.36;

use IO::Socket::INET;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);

use Admission::Process ();
use Admission::Test ();


# port (a free one); backlog, and accept => 0 to leave connections in it

sub start ($class, $callback, %opt) {
    my $port = $opt{port} // Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port,
        Listen => $opt{backlog} // 128, ReuseAddr => 1)
        or die "port $port: $@";

    my $log = Admission::Test::test_dir() . "/fake-redis-$port.log";
    Admission::Test::write_file($log, '');

    my $self = bless { port => $port, listen => $listen, log => $log,
                       callback => $callback,
                       accept => $opt{accept} // 1 }, $class;

    $self->{process} = Admission::Process->start(
        name => "fake-redis-$port", code => sub { $self->serve });
    close $listen;

    Admission::Test::register($self);
    return $self;
}


sub port ($self) { return $self->{port} }
sub url ($self)  { return "redis://127.0.0.1:$self->{port}" }


# What it received: [[connection, command, argument, ...], ...], where a new
# connection is [number].

sub log ($self) {
    return map { Admission::Test::json_decode($_) }
           Admission::Test::read_lines($self->{log});
}

sub connections ($self) { return scalar grep { @$_ == 1 } $self->log }
sub commands ($self)    { return grep { @$_ > 1 } $self->log }


# The connections too.

sub stop ($self) {
    return if $self->{process}{finished};

    my $pid = $self->{process}->pid;

    $self->{process}->finish;
    kill KILL => -$pid;

    # who is killed is there until it has had its turn on a processor

    Admission::Test::wait_until {
        !grep { $_->{group} == $pid } Admission::Test::processes()
    };

    return;
}

sub end ($self) { return $self->stop }


# ---- in its process

sub serve ($self) {
    $SIG{CHLD} = 'IGNORE';
    $SIG{PIPE} = 'IGNORE';

    for (my $number = 1; ; $number++) {
        my $socket;

        if (!$self->{accept}) {
            POSIX::pause() while 1;
        }

        until ($socket = $self->{listen}->accept) { }

        # what it writes is there when it has written
        setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;

        my $connection = bless { socket => $socket, number => $number,
                                 buffer => '', log => $self->{log} },
            'Admission::FakeRedis::Connection';

        $connection->note;

        if (!(fork // die "fork: $!")) {
            $self->{callback}->($connection);
            $connection->close;
            POSIX::_exit(0);
        }
    }
}


package Admission::FakeRedis::Connection;

use v5.36;

use Socket qw(SOL_SOCKET SO_LINGER);


sub number ($self) { return $self->{number} }


sub read ($self, $max = 65536) {
    my $bytes;
    my $n = sysread $self->{socket}, $bytes, $max;

    return $n ? $bytes : undef;
}


sub command ($self) {
    my $argv;

    until ($argv = take(\$self->{buffer})) {
        $self->{buffer} .= $self->read // return;
    }

    $self->note(@$argv);
    return @$argv;
}


sub write ($self, @bytes) {
    my $bytes = join '', @bytes;

    while (length $bytes) {
        my $n = syswrite $self->{socket}, $bytes;
        return 0 if !defined $n;
        substr $bytes, 0, $n, '';
    }

    return 1;
}


sub hang ($self) {
    1 while defined $self->read;
}


sub close ($self) {
    CORE::close($self->{socket});
}


sub reset ($self) {
    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
    $self->close;
}


# One write each, so that the lines of several processes do not mix.

sub note ($self, @argv) {
    open my $log, '>>:raw', $self->{log} or die;
    syswrite $log, Admission::Test::json_encode([ $self->{number}, @argv ])
                   . "\n";
}


sub take ($buffer) {
    my ($count) = $$buffer =~ /^\*(\d+)\r\n/ or return;
    my $at = $+[0];
    my @argv;

    while (@argv < $count) {
        pos($$buffer) = $at;
        $$buffer =~ /\G\$(\d+)\r\n/g or return;

        my ($length, $start) = ($1, pos $$buffer);
        return if length $$buffer < $start + $length + 2;

        push @argv, substr $$buffer, $start, $length;
        $at = $start + $length + 2;
    }

    substr $$buffer, 0, $at, '';
    return \@argv;
}


1;
