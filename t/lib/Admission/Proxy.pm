# A network in front of a server: what goes through it takes time.
#
#     my $proxy = Admission::Proxy->start($redis->port, delay => 0.05);
#     ... $redis->url(port => $proxy->port) ...
#     $proxy->delay(0.5);
#     $proxy->lead($other->port);      # connections made from now on
#     $proxy->cut;                     # those that are there
#     $proxy->stand;                   # nothing goes through until
#     $proxy->go;
#
# The delay is that of a round trip, in seconds, half of it each way; making a
# connection takes none.  It is that of when bytes come, and never lets any
# overtake others.

package Admission::Proxy;

use v5.36;

use Errno qw(EAGAIN EINTR);
use IO::Select;
use IO::Socket::INET;
use List::Util qw(max);
use Time::HiRes qw(time);

use Admission::Process ();
use Admission::Test ();


sub start ($class, $to, %opt) {
    my $port = Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128,
        ReuseAddr => 1) or die "port $port: $@";

    my $self = bless { port => $port, listen => $listen,
                       state => { to => $to, delay => $opt{delay} // 0,
                                  cuts => 0 },
                       file => Admission::Test::test_dir . "/proxy-$port" },
        $class;

    $self->tell;

    $self->{process} = Admission::Process->start(
        name => "proxy-$port", code => sub { $self->serve });
    close $listen;

    Admission::Test::register($self->{process});
    return $self;
}


sub port ($self) { return $self->{port} }

sub delay ($self, $seconds) { $self->tell(delay => $seconds) }
sub lead ($self, $port)     { $self->tell(to => $port) }
sub cut ($self)             { $self->tell(cuts => $self->{state}{cuts} + 1) }

sub stand ($self) {
    $self->{process}->signal('STOP');

    my $stat = "/proc/${\ $self->{process}->pid}/stat";

    Admission::Test::wait_until {
        Admission::Test::read_file($stat) =~ /.*\) T /
    } 20
        or die 'a proxy does not stand still';
}

sub go ($self) { $self->{process}->signal('CONT') }

sub tell ($self, %state) {
    $self->{state} = { $self->{state}->%*, %state };
    Admission::Test::write_file("$self->{file}.new",
                                Admission::Test::json_encode($self->{state}));
    rename "$self->{file}.new", $self->{file} or die "$self->{file}: $!";
}

sub told ($self) {
    return Admission::Test::json_decode(
        Admission::Test::read_file($self->{file}));
}


# ---- in its process

sub serve ($self) {
    $SIG{PIPE} = 'IGNORE';

    my $readers = IO::Select->new($self->{listen});
    $self->{readers} = $readers;
    $self->{other} = {};        # socket => the other end of it
    $self->{on_the_way} = {};   # socket => [[time, bytes], ...] to be written

    my $cuts = 0;

    while (1) {
        my $now = time;
        my $next;

        if ($self->told->{cuts} != $cuts) {
            $cuts = $self->told->{cuts};

            for my $socket (map { $_->{socket} } values $self->{other}->%*) {
                $self->arrive($socket, undef) if $self->{other}{$socket};
            }
        }

        for my $socket (map { $_->{socket} } values $self->{other}->%*) {
            my $queue = $self->{on_the_way}{$socket} or next;

            while (@$queue && $queue->[0][0] <= $now
                   && $self->{other}{$socket})
            {
                $self->arrive($socket, (shift @$queue)->[1]);
            }

            next if !@$queue || !$self->{other}{$socket};
            $next = $queue->[0][0] if !defined $next || $queue->[0][0] < $next;
        }

        for my $socket ($readers->can_read(
            defined $next ? max(0, $next - time) : 0.05))
        {
            if ($socket == $self->{listen}) {
                $self->accept_one;

            } elsif ($self->{other}{$socket}) {
                $self->leave($socket);
            }
        }
    }
}


sub accept_one ($self) {
    my $client = $self->{listen}->accept or return;
    my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $self->told->{to}) or return;

    for my $pair ([ $client, $server ], [ $server, $client ]) {
        my ($from, $to) = @$pair;

        $self->{other}{$from} = { socket => $to };
        $self->{on_the_way}{$to} = [];
        $self->{readers}->add($from);
    }
}


# Bytes, or the end, on their way to the other end.

sub leave ($self, $from) {
    my $n = sysread $from, my $bytes, 65536;

    return if !defined $n && ($! == EAGAIN || $! == EINTR);

    my $queue = $self->{on_the_way}{ $self->{other}{$from}{socket} };
    my $at = time + $self->told->{delay} / 2;

    $at = max($at, $queue->[-1][0]) if @$queue;
    push @$queue, [ $at, $n ? $bytes : undef ];

    $self->{readers}->remove($from) if !$n;
}


sub arrive ($self, $to, $bytes) {
    while (defined $bytes && length $bytes) {
        my $n = syswrite $to, $bytes;

        last if !defined $n;
        substr $bytes, 0, $n, '';
    }

    return if defined $bytes && $bytes eq '';

    # the end of one way is that of both

    my @pair = ($to, $self->{other}{$to}{socket});

    for my $socket (@pair) {
        $self->{readers}->remove($socket);
        delete $self->{other}{$socket};
        delete $self->{on_the_way}{$socket};
        close $socket;
    }
}


1;
