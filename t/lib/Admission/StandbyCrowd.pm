# A crowd in front of a room on standby, for its test and for bench/standby: page
# views that come at a rate, whatever becomes of them, at several hosts. Who is
# sent to the waiting page takes a ticket, asks how it stands, and goes in by it.
#
#     my $crowd = Admission::StandbyCrowd->new(site => $site, rate => 40);
#     $crowd->come(20, 3);       # 20 a second, for 3 s
#     $crowd->settle(30);        # until nobody is under way any more
#
# What was seen is in
#     passed    [[when, how it came: 'unseen' or its position], ...]
#     shown     [[when it began, when it was told], ...] of those who saw the page
#     samples   what Redis had: {at, us, next, serving, seen, updated}, ten times a
#               second
#     failed    answers that should not be

package Admission::StandbyCrowd;

use v5.36;

use Time::HiRes qw(time);

use Admission::Swarm;

my @PAGE = (Accept => 'text/html');


# poll  how often who waits asks, s (0.4)

sub new ($class, %opt) {
    my $self = bless { event => 'concert', poll => 0.4, passed => [],
                       shown => [], samples => [], failed => [],
                       under_way => 0, came => 0, %opt }, $class;

    $self->{ports} = [ $self->{site}->ports ];
    $self->{swarm} = Admission::Swarm->new(connections => 800, retry => 1,
                                           timeout => 20);
    $self->sample;
    return $self;
}


sub sample ($self) {
    my $redis = $self->{site}->redis;
    my ($time, $room) = eval { $redis->pipeline(
        [ 'TIME' ], [ 'HMGET', "{$self->{event}}:vwr",
                      qw(next serving seen updated) ]) };

    if (ref $room eq 'ARRAY') {
        push $self->{samples}->@*, {
            at => time, us => $time->[0] * 1e6 + $time->[1],
            passed => scalar $self->{passed}->@*,
            next => $room->[0] // 0, serving => $room->[1] // 0,
            seen => $room->[2] // 0, updated => $room->[3] // 0 };
    }
    $self->{swarm}->timer(0.1, sub { $self->sample });
}

sub last_sample ($self) { return $self->{samples}[-1] }


sub come ($self, $rate, $seconds) {
    my $begin = time;
    my $n = 0;
    my $all = int($rate * $seconds);

    my $next; $next = sub {
        my $due = int((time - $begin) * $rate) + 1;
        $self->visitor while $n < $all && $n < $due && ++$n;
        $self->{swarm}->timer($begin + $n / $rate - time, $next) if $n < $all;
    };
    $next->();
    $self->{swarm}->run(until => sub { $n >= $all && time >= $begin + $seconds },
                        timeout => $seconds + 30);
}


sub settle ($self, $timeout) {
    return $self->{swarm}->run(until => sub { !$self->{under_way} },
                               timeout => $timeout);
}

sub rest ($self, $seconds) {
    $self->{swarm}->run(until => sub { 0 }, timeout => $seconds);
}


sub visitor ($self) {
    my $ports = $self->{ports};
    my $who = { port => $ports->[ $self->{came}++ % @$ports ], began => time };

    $self->{under_way}++;
    $self->page($who);
}

sub ask ($self, $who, $method, $path, $done) {
    $self->{swarm}->request(
        $who->{port}, $method, $path,
        { headers => [ @PAGE ],
          $who->{jar} ? (cookies => $who->{jar}) : () }, sub ($r) {
            my $set = $r->cookies;
            $who->{jar}{$_} = $set->{$_}{value} for keys %$set;
            $done->($r);
        });
}

sub page ($self, $who) {
    $self->ask($who, GET => '/events/1', sub ($r) {
        if ($r->status == 200) {
            push $self->{passed}->@*, [ time, $who->{position} // 'unseen',
                                        $who->{began} ];
            $self->{under_way}--;

        } elsif ($r->status == 302 && !$who->{ticket}) {
            push $self->{shown}->@*, [ $who->{began}, time ];
            $self->take($who);

        } else {
            $self->wrong('page', $r);
            $self->{under_way}--;
        }
    });
}

sub take ($self, $who) {
    $self->ask($who, POST => "/vwr-api/assign/$self->{event}", sub ($r) {
        my $ticket = $r->status == 200 ? $r->json : undef;

        if (!$ticket) {
            $self->wrong('assign', $r) if $r->status != 503;
            return $self->{swarm}->timer(0.5, sub { $self->take($who) });
        }
        @$who{qw(ticket position)} = @$ticket{qw(requestId position)};

        # as pages do: not all who came together together
        $self->{swarm}->timer($self->{poll} * rand, sub { $self->check($who) });
    });
}

sub check ($self, $who) {
    $self->ask($who, GET => "/vwr-api/check/$self->{event}/$who->{ticket}",
               sub ($r) {
        $self->wrong('check', $r) if $r->status != 200 && $r->status != 503;

        return $self->page($who) if $r->status == 200 && $r->json->{admitted};
        $self->{swarm}->timer($self->{poll} * (0.7 + rand 0.6),
                              sub { $self->check($who) });
    });
}

sub wrong ($self, $what, $r) {
    push $self->{failed}->@*, join ' ', $what, $r->status,
                              $r->error // substr $r->body // '', 0, 80;
}

1;
