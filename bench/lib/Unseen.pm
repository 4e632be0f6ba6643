# A room on standby that a crowd comes to, at its full size: the scripts are the
# real ones, in a real Redis, called as hosts call them, each of them four times
# a second; the time, the hosts as src/host/standby.c has them, and the visitors
# are simulated.  For bench/standby and t/room/standby_seconds.t.
#
#     my $site = Unseen->new(redis => $redis, rate => 400, hosts => 3);
#     $site->come(2, 5);         # twice the rate, for 5 s
#     $site->come(0, 30);        # nobody
#
# A visitor asks for a page; whoever is sent to the waiting page takes a ticket when
# that was loaded, asks as our pages do, and comes when its turn has.  What was seen
# is in
#     passed    [[when (us), position or 'unseen'], ...]
#     shown     when each who saw the page was sent there
#     counter   [[when, serving, next, seen], ...] after each step

package Unseen;

use v5.36;

use List::Util qw(max min sum0);

use Admission::Rooms;

use constant {
    BEGIN_US => 1_700_000_000_000_000,
    TURN => 250_000,            # us between steps of a host
    TICK => 10_000,
    HOLD => 1_000_000,
    SLICE => 512,
};


# noshow: as vwr_noshow; stream: the share of those who wait that hold a stream,
# which tells them within half a second, the others poll; loads: s, a page takes
# that at most; together: polls are all as late as they are told to be, also the
# first one, so that those who came together ask together

sub new ($class, %opt) {
    my $self = bless { noshow => 4, hosts => 2, stream => 0, loads => 0.5,
                       us => BEGIN_US, due => {}, who => {}, n => 0, frac => 0,
                       came => 0, passed => [], shown => [], counter => [],
                       wrong => 0, longest => 0, %opt }, $class;
    $self->later(0);

    my $room = Admission::Rooms->new($self->{redis}, rate => $self->{rate},
        noshow => $self->{noshow}, edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            return $text;
        });
    $room->admin('config');

    $self->{host} = [ map { { room => $_ == 1 ? $room : $room->copy, left => 0,
                              used => 0, usual => 0, held => [], refused => 0,
                              seen => -1, bits => {}, asks => {}, turns => {},
                              # they do not step together
                              next => $self->{us}
                                      + int(TURN * $_ / $self->{hosts}) } }
                      1 .. $self->{hosts} ];
    $self->come(0, 3);
    return $self;
}

sub later ($self, $us) {
    $self->{us} += $us;
    $self->{redis}->cmd('MSET', seconds => int($self->{us} / 1e6),
                        us => $self->{us} % 1_000_000);
}

sub due ($self, $seconds, @what) {
    my $now = int $self->{us} / TICK;
    push $self->{due}{ max($now + 1, $now + int($seconds * 1e6 / TICK)) }->@*,
         \@what;
}

sub host ($self) { return $self->{host}[ rand $self->{hosts} ] }


# So many times the rate come for so many seconds, at random moments; until what
# $until says.

sub come ($self, $times, $seconds, $until = undef) {
    my $end = $self->{us} + $seconds * 1e6;
    my $each = $times * $self->{rate} * TICK / 1e6;

    while ($self->{us} < $end && !($until && $until->())) {
        $self->{frac} += $each * (0.5 + rand);
        while ($self->{frac} >= 1) {
            $self->{frac}--;
            $self->{came}++;
            $self->visit($self->host);
        }

        my $due = delete $self->{due}{ int $self->{us} / TICK };
        for my $what ($due ? @$due : ()) {
            my ($name, @args) = @$what;
            $self->$name(@args);
        }

        $self->take;
        for my $host ($self->{host}->@*) {
            next if $host->{next} > $self->{us};
            $host->{next} += TURN;
            $self->step($host);
        }
        $self->later(TICK);
    }
}


# ---- at the gate

sub visit ($self, $host) {
    my $held = $host->{held};

    return $self->show($host) if $host->{seen} != 0;
    return $self->unseen($host, $self->{us}) if $host->{left} && !@$held;

    if (@$held < $self->{rate}) {
        push @$held, $self->{us};
        return;
    }
    $host->{refused}++;
    $self->show($host);
}

sub unseen ($self, $host, $since) {
    $host->{left}--;
    $host->{used}++;
    $self->{longest} = max($self->{longest}, $self->{us} - $since);
    push $self->{passed}->@*, [ $self->{us}, 'unseen' ];
}

sub show ($self, $host) {
    $host->{refused}++ if $host->{seen} > 0;
    push $self->{shown}->@*, $self->{us};
    $self->due($self->{loads} * rand, 'wants');
}

# tickets that are asked for together share a call

sub wants ($self) { $self->{wanting}++ }

sub take ($self) {
    my $n = delete $self->{wanting} or return;
    my $host = $self->host;
    my $first = $host->{room}->assign($n)->{result} or die 'no tickets';

    for my $number ($first .. $first + $n - 1) {
        my $stream = $self->{who}{$number} = rand() < $self->{stream};
        my $ahead = $number - $host->{room}{host}{serving};
        my $next = $ahead <= 0 ? 1 : $stream ? 0.5 : $self->next_poll($ahead);

        # whoever has the turn asks within a second
        $next *= $ahead <= 0 || !$self->{together} ? rand : 1 + 0.2 * rand;
        $self->due($next, asks => $number);
    }
    $self->{waiting} += $n;
}

sub asks ($self, $number) {
    my $host = $self->host;
    my $serving = $host->{room}{host}{serving};

    if ($number <= $serving && $self->turn($host, $number)) {
        vec($host->{bits}{int $number / SLICE} //= "\0" x (SLICE / 8),
            $number % SLICE, 1) = 1;
        $self->due(0.05 + 0.1 * rand, enters => $number);
        return;
    }

    $self->due($self->{who}{$number} ? 0.5
               : $self->next_poll($number - $serving) * (1 + 0.2 * rand),
               asks => $number);
}

# where the turn may come sooner, by how it goes, pages ask by then

sub next_poll ($self, $ahead) {
    my $told = $ahead <= 500 ? 2 : $ahead <= 2000 ? 5
               : $ahead <= 10_000 ? 10 : 15;

    return min($told, max(2, int $ahead / $self->{rate} / 1.1));
}

# whoever asks later than 30 s after the call has it again when there is room

sub turn ($self, $host, $number) {
    return 1 if delete $host->{turns}{$number};

    my $trail = $self->{counter};
    my ($low, $high) = (0, $#$trail);
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        if ($trail->[$middle][1] >= $number) { $high = $middle }
        else { $low = $middle + 1 }
    }
    return 1 if $self->{us} - $trail->[$low][0] <= 30e6;

    $host->{asks}{$number} = $self->{us};
    return 0;
}

sub enters ($self, $number) {
    defined delete $self->{who}{$number} or die "$number twice";
    $self->{waiting}--;
    push $self->{passed}->@*, [ $self->{us}, $number ];
}


# ---- a step of a host, as ngx_adm_standby_ask() and _heard() have it

sub step ($self, $host) {
    my $held = $host->{held};
    my $bits = $host->{bits};
    my $rate = $self->{rate};
    my $wanting = $host->{refused};
    my %say = (seen => $host->{seen});

    $host->{bits} = {};
    $host->{refused} = 0;
    $host->{left} = 0 if $host->{seen} > 0;
    $host->{usual} = max($host->{used},
                         $host->{usual} - int(($host->{usual} + 3) / 4));
    $host->{used} = 0;

    if ($host->{seen} > 0) {
        $say{wanting} = $wanting;
    } else {
        my $most = min(int(($rate + 3) / 4), $host->{usual} + 1);
        my $back = max(0, $host->{left} - $most);
        $host->{left} -= $back;
        $wanting += @$held;
        %say = (%say, back => $back, have => $host->{left},
                wanting => max(0, $wanting - $host->{left}),
                spare => $most - $host->{left});
    }

    my @asks = sort { $a <=> $b }
               grep { $self->{us} - $host->{asks}{$_} < 5e6 }
               keys $host->{asks}->%*;
    $#asks = 249 if @asks > 250;

    my $before = $self->{counter}->@* ? $self->{counter}[-1][1] : 0;
    my $answer = $host->{room}->step(%say, come => $bits, asks => \@asks);
    my @turns = $answer->{turns}->@*;

    while (my ($number, $turn) = splice @turns, 0, 2) {
        $_->{turns}{$number} = 1 for $self->{host}->@*;
        delete $host->{asks}{$number};
    }

    $self->{wrong}++ if $answer->{serving} < $before;
    push $self->{counter}->@*, [ $self->{us}, @$answer{qw(serving next seen)} ];

    $host->{left} = 0 if $answer->{seen} > 0;
    $host->{left} += $answer->{granted};
    $host->{seen} = $answer->{seen};

    while ($host->{left} && @$held) {
        $self->unseen($host, shift @$held);
    }
    while (@$held && ($host->{seen} > 0 || $self->{us} - $held->[0] >= HOLD)) {
        shift @$held;
        $host->{refused}++ if $host->{seen} == 0;
        push $self->{shown}->@*, $self->{us};
        $self->due($self->{loads} * rand, 'wants');
    }
}


# ---- what came of it

# how many passed in each whole second from a time (us) on

sub seconds ($self, $from) {
    my @second;
    for my $passed ($self->{passed}->@*) {
        $second[ ($passed->[0] - $from) / 1e6 ]++ if $passed->[0] >= $from;
    }
    return map { $_ // 0 } @second;
}

# from a time on: how many in the first second, and at most in one of the whole
# seconds behind it, and in any ten of these

sub most ($self, $from) {
    my ($first, @second) = $self->seconds($from);
    my $ten = max map { sum0 @second[$_ .. min($_ + 9, $#second)] } 0 .. $#second;

    return ($first, max(@second), $ten);
}

# whether nobody is under way

sub idle ($self) { return !$self->{waiting} && !$self->{due}->%* }

1;
