# A name server on 127.0.0.1 that knows the names that the test tells it:
#
#     my $dns = Admission::DNS->start('redis.test' => '127.0.0.1');
#     # resolver @{[ $dns->address ]} valid=1s ipv6=off;
#     $dns->set('redis.test' => '127.0.0.2');

package Admission::DNS;

use v5.36;

use IO::Socket::INET;

use Admission::Process ();
use Admission::Test ();


sub start ($class, %names) {
    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                       Proto => 'udp')
        or die "socket: $@";

    my $self = bless { port => $socket->sockport, names => {},
                       file => Admission::Test::test_dir() . '/names' },
        $class;

    $self->set(%names);

    $self->{process} = Admission::Process->start(
        name => 'dns', code => sub { $self->serve($socket) });

    Admission::Test::register($self);
    return $self;
}


sub address ($self) { return "127.0.0.1:$self->{port}" }


# undef takes a name away.

sub set ($self, %names) {
    $self->{names} = { $self->{names}->%*, %names };
    Admission::Test::write_file("$self->{file}.new", join '',
        map { "$_ $self->{names}{$_}\n" }
        grep { defined $self->{names}{$_} } keys $self->{names}->%*);
    rename "$self->{file}.new", $self->{file};
}


sub end ($self) { return $self->{process}->end }


sub serve ($self, $socket) {
    while (1) {
        defined $socket->recv(my $query, 512) or next;

        my ($id, undef, $count) = unpack 'n3', $query;
        my ($at, @labels) = (12);

        while (my $length = ord substr $query, $at, 1) {
            push @labels, substr $query, $at + 1, $length;
            $at += $length + 1;
        }

        my $question = substr $query, 12, $at + 5 - 12;
        my ($type) = unpack 'n', substr $question, -4, 2;
        my %names = map { split } split /\n/,
                    Admission::Test::read_file($self->{file});
        my $address = $names{ lc join '.', @labels };

        # an answer, or "no such name"
        my @answer = $address && $type == 1
            ? pack 'n n n N n a4', 0xc00c, 1, 1, 1, 4,
                   pack 'C4', split /\./, $address
            : ();

        $socket->send(pack('n6', $id, $address ? 0x8180 : 0x8183, $count,
                           scalar @answer, 0, 0)
                      . $question . join '', @answer);
    }
}


1;
