# Users who only listen: each joins by a stream, comes by the gate when the stream
# says so, without any other call, and leaves.  A process of its own has them;
# streams that end are opened anew, at any of the site's hosts, by the place.
#
#     my $listeners = Admission::Listeners->start($site, users => 40);
#     my $told = $listeners->wait(30);    # {done, again, refused, back}, or undef

package Admission::Listeners;

use v5.36;

use Time::HiRes qw(sleep time);

use Admission::HTTP ();
use Admission::Process ();
use Admission::Stream ();
use Admission::Test ();


sub start ($class, $site, %opt) {
    my $self = bless { users => 40, %opt, site => $site,
                       file => Admission::Test::test_dir . '/listeners' },
        $class;

    $self->{process} = Admission::Process->start(
        name => 'listeners', code => sub { $self->listen });
    Admission::Test::register($self->{process});
    return $self;
}


# done: came and left; again: streams opened anew; refused: by the gate, with the
# token of a message; back: who was told of a worse place than before

sub wait ($self, $timeout) {
    (Admission::Test::wait_until { -e $self->{file} } $timeout) or return;

    return Admission::Test::json_decode(
        Admission::Test::read_file($self->{file}));
}


# ---- inside

sub listen ($self) {
    my @users = map { { id => "listener-$_", at => time + rand 3 } }
                1 .. $self->{users};
    my %told = (done => 0, again => 0, refused => 0, back => 0);

    while (my @left = grep { !$_->{done} } @users) {
        $self->turn($_, \%told) for @left;
        sleep 0.02;
    }

    Admission::Test::write_file("$self->{file}.new",
                                Admission::Test::json_encode(\%told));
    rename "$self->{file}.new", $self->{file};
    sleep 1 while 1;        # the test ends it
}

sub port ($self) { my @ports = $self->{site}->ports; return $ports[rand @ports] }

sub turn ($self, $user, $told) {
    my $stream = $user->{stream};

    if (!$stream) {
        return if time < $user->{at};

        $stream = eval { Admission::Stream->open($self->port,
            "/api/queue/stream/$self->{site}{event}?join=1",
            bearer => $self->{site}->user($user->{id}), headers => [
            $user->{place} ? ('X-Queue-Place', $user->{place}) : () ]) };
        $told->{again}++ if $user->{began}++;
        $user->{at} = time + 0.3 + rand 0.5;
        return if !$stream || $stream->status != 200;
        $user->{stream} = $stream;
    }

    while (my $m = $stream->message(0)) {
        if ($m->{status} eq 'queued') {
            $user->{place} = $m->{place};
            $told->{back}++ if $m->{position} > ($user->{position} // 1e9) + 10;
            $user->{position} = $m->{position};
        }
        return $self->come($user, $m->{entryToken}, $told)
            if $m->{status} eq 'active';
    }
    delete $user->{stream} if $stream->{ended};
}

sub come ($self, $user, $token, $told) {
    my $bearer = $self->{site}->user($user->{id});
    my $call = sub ($method, $path) {
        return eval { Admission::HTTP::request($self->port, $method, $path,
            bearer => $bearer,
            headers => [ 'X-Queue-Entry-Token', $token ])->status } // 0;
    };
    my $status = $call->(GET => '/api/reservations?event=x');

    # a slot may have been lost to a fault: the stream tells of the next turn
    $told->{refused}++ if $status == 403;
    return if $status != 200;

    my $left;
    for (1 .. 50) {
        $left = $call->(POST => "/api/queue/leave/$self->{site}{event}") == 200;
        last if $left;
        sleep 0.2;
    }
    $user->{stream}->close if $user->{stream};
    delete $user->{stream};
    $user->{done} = 1;
    $told->{done}++ if $left;
}


1;
