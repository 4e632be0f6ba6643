# A TCP relay between NGINX and Redis, in a process of its own, that can be
# told to be slow, to cut its connections, or to lead elsewhere.
#
#     my $relay = Admission::Relay->start($redis->port);
#     $relay->set(delay => 0.05);      # seconds, there and back together
#     $relay->set(port => $other);     # for new connections
#     $relay->cut;

package Admission::Relay;

use v5.36;

use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(time);

use Admission::Process ();
use Admission::Test ();


sub start ($class, $port) {
    my $own = Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $own, Listen => 128,
        ReuseAddr => 1) or die "port $own: $@";

    my $self = bless { port => $own, state => { cuts => 0, delay => 0 },
                       file => Admission::Test::test_dir() . "/relay-$own" },
        $class;

    $self->set(port => $port);
    $self->{process} = Admission::Process->start(
        name => "relay-$own", code => sub { $self->serve($listen) });
    close $listen;

    Admission::Test::register($self);
    return $self;
}


sub port ($self) { return $self->{port} }
sub url ($self)  { return "redis://127.0.0.1:$self->{port}" }
sub end ($self)  { return $self->{process}->end }
sub cut ($self)  { $self->set(cuts => $self->{state}{cuts} + 1) }

sub set ($self, %state) {
    $self->{state} = { $self->{state}->%*, %state };
    Admission::Test::write_file("$self->{file}.new",
                                Admission::Test::json_encode($self->{state}));
    rename "$self->{file}.new", $self->{file};
}


# ---- in its process

sub serve ($self, $listen) {
    my $select = IO::Select->new($listen);
    my %peer;                   # fileno => the other end
    my @late;                   # [time, socket, bytes], in order of time
    my $cuts = 0;

    while (1) {
        my $state = Admission::Test::json_decode(
            Admission::Test::read_file($self->{file}));

        if ($state->{cuts} != $cuts) {
            $cuts = $state->{cuts};
            $select->remove($_), close $_
                for grep { $_ != $listen } $select->handles;
            %peer = @late = ();
        }

        for my $socket ($select->can_read(@late ? 0.001 : 0.01)) {
            if ($socket == $listen) {
                my $client = $listen->accept or next;
                my $server = IO::Socket::INET->new(
                    PeerAddr => "127.0.0.1:$state->{port}")
                    or close $client, next;

                $peer{ fileno $client } = $server;
                $peer{ fileno $server } = $client;
                $select->add($client, $server);
                next;
            }

            my $other = $peer{ fileno $socket } // next;

            if (sysread $socket, my $bytes, 65536) {
                push @late, [ time + $state->{delay} / 2, $other, $bytes ];
                next;
            }

            delete @peer{ fileno $socket, fileno $other };
            $select->remove($socket, $other);
            close $_ for $socket, $other;
        }

        while (@late && $late[0][0] <= time) {
            my (undef, $socket, $bytes) = (shift @late)->@*;
            syswrite $socket, $bytes if defined fileno $socket;
        }
    }
}


1;
