# Thousands of simulated clients in one process: requests with callbacks and
# timers, over a bounded number of connections that are kept alive.
#
#     my $swarm = Admission::Swarm->new(connections => 400);
#     $swarm->request($port, 'GET', '/', { headers => [...] }, sub ($r) {
#         $swarm->timer(1, sub { ... });
#     });
#     $swarm->run(until => sub { $done == 1000 }, timeout => 30) or fail;

package Admission::Swarm;

use v5.36;

use Errno qw(EAGAIN EWOULDBLOCK EINTR EINPROGRESS);
use IO::Poll qw(POLLIN POLLOUT POLLERR POLLHUP POLLNVAL);
use Socket qw(AF_INET SOCK_STREAM SOL_SOCKET SO_ERROR pack_sockaddr_in
              inet_aton);
use Fcntl qw(F_GETFL F_SETFL O_NONBLOCK);
use Time::HiRes qw(time);

use Admission::HTTP ();
use Admission::Test ();


# connections  at most this many at once, the other requests wait (400)
# keepalive    keep connections for the next request (1)
# retry        try once more, anew, when a kept connection turns out to be
#              closed, as browsers do (0: the response has an error)
# timeout      of a request, once it has a connection (10, times `slow`)

sub new ($class, %opt) {
    return bless {
        connections => 400, keepalive => 1, retry => 0, timeout => 10, %opt,
        waiting => [],      # requests that have no connection yet
        busy => {},         # fd => connection with a request
        idle => {},         # port => connections without
        open => 0,
        timers => [],       # [time, callback], the latest first
    }, $class;
}


# $opt as of Admission::HTTP's request, or just an array of headers.  The
# callback gets the Response.

sub request ($self, $port, $method, $path, $opt, $callback) {
    $opt = { headers => $opt } if ref $opt eq 'ARRAY';

    my %opt = (%{ $opt // {} });

    $opt{headers} = [ @{ $opt{headers} // [] }, Connection => 'close' ]
        if !$self->{keepalive};

    push @{ $self->{waiting} }, {
        port => $port, method => $method, callback => $callback,
        bytes => $opt{raw} // Admission::HTTP::compose($method, $path, %opt),
    };
}


# Runs the callback after so many seconds.  Returns what cancel takes.

sub timer ($self, $seconds, $callback) {
    my $timer = [ time + $seconds, $callback ];
    my $timers = $self->{timers};
    my ($low, $high) = (0, scalar @$timers);

    while ($low < $high) {
        my $middle = ($low + $high) >> 1;

        if ($timers->[$middle][0] > $timer->[0]) {
            $low = $middle + 1;

        } else {
            $high = $middle;
        }
    }

    splice @$timers, $low, 0, $timer;
    return $timer;
}


sub cancel ($self, $timer) {
    $timer->[1] = undef;
}


# Runs until `until` returns true (true), the time is over (false) or, without
# `until`, until there is nothing left to do (true).

sub run ($self, %opt) {
    my $end = time + ($opt{timeout} // 60) * Admission::Test::slow;

    while (1) {
        return 1 if $opt{until} && $opt{until}->();

        my $now = time;
        return 0 if $now > $end;

        $self->start_waiting;

        if (!%{ $self->{busy} } && !@{ $self->{timers} }) {
            return !$opt{until} if !@{ $self->{waiting} };
            next;
        }

        my $next = $now + 0.5;
        $next = $self->{timers}[-1][0]
            if @{ $self->{timers} } && $self->{timers}[-1][0] < $next;
        $next = $end if $end < $next;

        $self->poll($next - $now);
        $self->expire;
    }
}


# Requests under way or waiting for a connection.

sub pending ($self) {
    return %{ $self->{busy} } + @{ $self->{waiting} };
}


# Closes the connections that are kept.

sub close_idle ($self) {
    for my $list (values %{ $self->{idle} }) {
        $self->{open} -= @$list;
        @$list = ();
    }
}


# ---- inside

sub start_waiting ($self) {
    my $waiting = $self->{waiting};

    while (@$waiting) {
        my $request = $waiting->[0];
        my $connection = pop @{ $self->{idle}{ $request->{port} } };

        if ($connection) {
            $connection->{used} = 1;

        } else {
            $self->close_idle if $self->{open} >= $self->{connections};
            return if $self->{open} >= $self->{connections};

            $connection = $self->open_connection($request);
        }

        shift @$waiting;

        if (ref $connection) {
            $self->begin($connection, $request);

        } else {
            $request->{callback}->(
                Admission::HTTP::failed("connect: $!"));
        }
    }
}


sub open_connection ($self, $request) {
    socket my $socket, AF_INET, SOCK_STREAM, 0 or return;
    fcntl $socket, F_SETFL, fcntl($socket, F_GETFL, 0) | O_NONBLOCK;

    connect $socket, pack_sockaddr_in($request->{port},
                                      inet_aton('127.0.0.1'))
        or $! == EINPROGRESS or return;

    $self->{open}++;
    return { socket => $socket, fd => fileno $socket, used => 0 };
}


sub begin ($self, $connection, $request) {
    @$connection{qw(request out in started)} =
        ($request, $request->{bytes}, '', time);

    $self->{busy}{ $connection->{fd} } = $connection;
    $self->write($connection) if $connection->{used};
}


sub poll ($self, $seconds) {
    my @poll = map { $_->{fd}, length $_->{out} ? POLLIN | POLLOUT : POLLIN }
               values %{ $self->{busy} };

    IO::Poll::_poll($seconds > 0 ? $seconds * 1000 + 1 : 0, @poll);

    while (@poll) {
        my ($fd, $events) = splice @poll, 0, 2;
        my $connection = $self->{busy}{$fd};

        next if !$events || !$connection;

        $self->write($connection) if $events & POLLOUT;
        $self->read($connection)
            if $events & (POLLIN | POLLERR | POLLHUP | POLLNVAL)
               && $self->{busy}{$fd};
    }
}


sub write ($self, $connection) {
    my $n = syswrite $connection->{socket}, $connection->{out};

    if (defined $n) {
        substr $connection->{out}, 0, $n, '';

    } elsif ($! != EAGAIN && $! != EWOULDBLOCK && $! != EINTR) {

        # a response may be there all the same: reading tells
        $connection->{out} = '';
        $connection->{broken} = "send: $!";
        $self->read($connection);
    }
}


sub read ($self, $connection) {
    my $n = sysread $connection->{socket}, $connection->{in}, 65536,
                    length $connection->{in};

    if (!defined $n) {
        return if $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;
        $connection->{broken} //= "read: $!";
    }

    my $request = $connection->{request};
    my $response = Admission::HTTP::parse(\$connection->{in},
                                          $request->{method}, !$n);

    return if !$response && $n;

    if ($response) {
        return $self->done($connection, $response, $n);
    }

    if ($self->{retry} && $connection->{used}
        && $connection->{in} eq '' && !$request->{again}++)
    {
        $self->drop($connection);
        unshift @{ $self->{waiting} }, $request;
        return;
    }

    $self->done($connection, Admission::HTTP::failed(
        $connection->{broken} // 'connection closed', $connection->{in}), 0);
}


sub done ($self, $connection, $response, $usable) {
    my $request = $connection->{request};

    if ($usable && $self->{keepalive} && $response->status
        && lc($response->header('Connection') // '') ne 'close')
    {
        delete $self->{busy}{ $connection->{fd} };
        push @{ $self->{idle}{ $request->{port} } }, $connection;

    } else {
        $self->drop($connection);
    }

    $response->{time} = time - $connection->{started};
    $request->{callback}->($response);
}


sub drop ($self, $connection) {
    delete $self->{busy}{ $connection->{fd} };
    close $connection->{socket};
    $self->{open}--;
}


sub expire ($self) {
    my $now = time;
    my $timers = $self->{timers};

    while (@$timers && $timers->[-1][0] <= $now) {
        my $callback = (pop @$timers)->[1];
        $callback->() if $callback;
    }

    my $before = $now - $self->{timeout} * Admission::Test::slow;

    # a look at all of them, but not in every turn
    return if ($self->{looked} // 0) > $now - 0.25;
    $self->{looked} = $now;

    for my $connection (values %{ $self->{busy} }) {
        $self->done($connection, Admission::HTTP::failed(
            'timeout', $connection->{in}), 0)
            if $connection->{started} < $before;
    }
}


1;
