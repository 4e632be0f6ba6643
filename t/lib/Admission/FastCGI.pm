# A FastCGI application, as php-fpm is to NGINX: answers every request with the
# parameters that it got, as JSON with "body" added.  "header=Name:value" in the
# query is a header of the answer.
#
#     my $php = Admission::FastCGI->start;
#     fastcgi_pass 127.0.0.1:@{[ $php->port ]};

package Admission::FastCGI;

use v5.36;

use IO::Socket::INET;

use Admission::Process ();
use Admission::Test ();

use constant { OF_END => 3, OF_PARAMS => 4, OF_STDIN => 5,
               OF_STDOUT => 6 };


sub start ($class) {
    my $port = Admission::Test::free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128,
        ReuseAddr => 1) or die "port $port: $@";

    my $process = Admission::Process->start(
        name => "fastcgi-$port", code => sub { serve($listen) });
    close $listen;

    Admission::Test::register($process);
    return bless { port => $port }, $class;
}


sub port ($self) { return $self->{port} }


# one connection after the other, a request each

sub serve ($listen) {
    $SIG{PIPE} = 'IGNORE';

    while (my $socket = $listen->accept) {
        my %got = (OF_PARAMS, "", OF_STDIN, "");
        my ($id, %ended);

        while (!$ended{+OF_STDIN} || !$ended{+OF_PARAMS}) {
            my $head = take($socket, 8) // last;
            (undef, my $type, $id, my $len, my $padding)
                = unpack 'CCnnC', $head;
            my $text = take($socket, $len) // last;
            take($socket, $padding) // last;

            $ended{$type} = 1 if $len == 0;
            $got{$type} .= $text;
        }

        if ($ended{+OF_STDIN}) {
            my %param = params($got{+OF_PARAMS});
            my $body = Admission::Test::json_encode(
                { %param, body => $got{+OF_STDIN} });
            my ($header) = ($param{QUERY_STRING} // '') =~ /header=([^&]+)/;

            record($socket, OF_STDOUT, $id, "Content-Type: application/json\r\n"
                                         . ($header ? "$header\r\n" : '')
                                         . "\r\n$body");
            record($socket, OF_STDOUT, $id, '');
            record($socket, OF_END, $id, "\0" x 8);
        }

        close $socket;
    }
}


sub take ($socket, $len) {
    my $text = '';

    while (length $text < $len) {
        read($socket, $text, $len - length $text, length $text) or return undef;
    }

    return $text;
}


sub record ($socket, $type, $id, $text) {
    print $socket pack('CCnnCC', 1, $type, $id, length $text, 0, 0) . $text;
    $socket->flush;
}


# names and values, each with its length before it

sub params ($text) {
    my ($at, %param) = 0;

    my $length = sub {
        my $len = ord substr $text, $at++, 1;
        return $len if $len < 128;

        $at--;
        $len = unpack('N', substr $text, $at, 4) & 0x7fffffff;
        $at += 4;
        return $len;
    };

    while ($at < length $text) {
        my ($name, $value) = ($length->(), $length->());
        $param{ substr $text, $at, $name } = substr $text, $at + $name, $value;
        $at += $name + $value;
    }

    return %param;
}


1;
