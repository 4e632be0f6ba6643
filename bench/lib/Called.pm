# A line before a waiting room, at its full size: the scripts are the real ones, in a
# real Redis, called as two hosts call them; the time is simulated, and visitors are
# no more than what hosts and scripts see of them: who holds on to a number, who
# comes when it is called, who asks when its turn is over.  For bench/flood and
# bench/noshows; t/lib/Admission/Comers.pm is smaller, and polls one by one.
#
#     my $line = Called->new(redis => $redis, rate => 100);   # there => 0: hosts
#                                          # do not tell who is there
#     $line->take(5000, sub ($n) { { } });
#     $line->run(60);
#
# What was seen is in
#     come     [[when (us), number, whether late], ...]
#     taken    when (us) each number was given out

package Called;

use v5.36;

use List::Util qw(max min);

use Admission::Rooms;

use constant {
    BEGIN_US => 1_700_000_000_000_000,
    STEP => 125_000,            # us between steps of one host or other
    PAGE => 3712,               # of marks, as hosts have it
    TURN => 30_000_000,         # us, for which who was called may come
    ASKS => 250,                # of a step
    STALE => 5_000_000,         # us after which who asked went away
};


sub new ($class, %opt) {
    my $self = bless { noshow => 4, hosts => 2, there => 1, us => BEGIN_US, due => {},
                       who => {}, come => [], taken => [], here => {},
                       tell => {}, trail => [], served => 0, issued => 0,
                       steps => 0, wrong => 0, %opt }, $class;
    $self->later(0);

    my $room = Admission::Rooms->new($self->{redis}, rate => $self->{rate},
        noshow => $self->{noshow}, edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            return $text;
        });

    $self->{host} = [ map { { room => $_ == 1 ? $room : $room->other, id => $_,
                              bits => {}, asks => [], head => 0, sorted => 1,
                              marks => {}, told => 0, table => 0 } }
                      1 .. $self->{hosts} ];
    $room->admin('activate');
    return $self;
}

sub later ($self, $us) {
    $self->{us} += $us;
    $self->{redis}->cmd('MSET', seconds => int($self->{us} / 1e6),
                        us => $self->{us} % 1_000_000);
}

sub seconds ($self) { return ($self->{us} - BEGIN_US) / 1e6 }


# n more tickets.  What becomes of each is what $visitor->($number) says: undef,
# nobody holds it, or { every (s between polls when called, 2), told (it asks by
# nextPoll alone), leaves, back (s from now on) }

sub take ($self, $n, $visitor) {
    my $first = $self->{host}[0]{room}->assign($n)->{result} or die 'no tickets';

    for my $number ($first .. $first + $n - 1) {
        $self->{taken}[$number] = $self->{us};

        # whoever took it was there
        my $next = next_poll($number - $self->{served});
        vec($self->{host}[$number % $self->{hosts}]{marks}{2 * $next}
            {int $number / PAGE} //= "\0" x (PAGE / 8), $number % PAGE ^ 7, 1) = 1;

        my $v = $visitor->($number) or next;
        $self->{who}{$number} = $v;
        $v->{every} //= 2;
        $self->here($number, 1) if !$v->{gone};
        # the counter may be ahead
        $self->due(rand $v->{every}, comes => $number)
            if $number <= $self->{served};
        $self->due($v->{leaves}, leave => $number) if defined $v->{leaves};
        $self->due($v->{back}, back => $number) if defined $v->{back};
    }
    $self->{issued} = $first + $n - 1;
    return $first;
}

sub next_poll ($ahead) {
    return $ahead <= 500 ? 2 : $ahead <= 2000 ? 5 : $ahead <= 10_000 ? 10 : 15;
}

sub here ($self, $number, $is) {
    vec($self->{here}{int $number / PAGE} //= "\0" x (PAGE / 8),
        $number % PAGE ^ 7, 1) = $is;
}

sub due ($self, $seconds, @what) {
    my $slot = int(($self->{us} + $seconds * 1e6) / STEP);

    # what is due now comes with the next step
    push $self->{due}{ max($slot, 1 + int $self->{us} / STEP) }->@*, \@what;
}


sub run ($self, $seconds, $each = undef) {
    my $end = $self->{us} + $seconds * 1e6;

    while ($self->{us} < $end) {
        my $due = delete $self->{due}{ int $self->{us} / STEP };
        for my $what ($due ? @$due : ()) {
            my ($name, $number) = @$what;
            $self->$name($number, $self->{who}{$number});
        }
        $self->step($self->{host}[ $self->{steps}++ % $self->{hosts} ]);
        last if $each && $each->();
        $self->later(STEP);
    }
}


# ---- what visitors do

sub leave ($self, $number, $v) {
    $v->{gone} = 1;
    $self->here($number, 0);
}

# somebody asks again: one that is asked for just once is gone after that

sub back ($self, $number, $v) {
    return if $v->{came};
    $v->{gone} = $v->{once};
    $self->here($number, 1) if !$v->{once};

    return if $number > $self->{served};
    return $self->comes($number, $v) if $self->has_turn($number);

    my $host = $self->{host}[rand $self->{hosts}];
    my $asks = $host->{asks};
    $host->{sorted} = 0 if @$asks && $asks->[-1] > $number;
    $v->{asked} = $self->{us};
    push @$asks, $number;
}

sub comes ($self, $number, $v) {
    return if $v->{came} || $v->{gone};
    $v->{came} = $self->{us};
    $self->here($number, 0);
    push $self->{come}->@*, [ $self->{us}, $number, $v->{late} // 0 ];

    my $bits = $self->{host}[rand $self->{hosts}]{bits};
    vec($bits->{int $number / 512} //= "\0" x 64, $number % 512, 1) = 1;
}

sub has_turn ($self, $number) {
    for my $gap ($self->{gaps}->@*) {
        return 0 if $number >= $gap->[0] && $number <= $gap->[1];
    }

    my $trail = $self->{trail};
    my ($low, $high) = (0, $#$trail);
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        if ($trail->[$middle][0] >= $number) { $high = $middle }
        else { $low = $middle + 1 }
    }
    return $self->{us} - $trail->[$low][1] <= TURN;
}


# ---- a step of a host

sub step ($self, $host) {
    my $bits = $host->{bits};
    $host->{bits} = {};

    my $asks = $self->asks($host);
    my $answer = $host->{room}->step(come => $bits, asks => $asks,
                                     $self->marks($host));

    $host->{table} = $answer->{there_at} if $answer->{there_at};
    $self->{shows} = $answer->{shows};

    my @gaps = $answer->{gaps}->@*;
    $self->{gaps} = [];
    while (my ($from, $to) = splice @gaps, 0, 2) {
        push $self->{gaps}->@*, [ $from, $to ];
    }

    my @turns = $answer->{turns}->@*;
    while (my ($number, $turn) = splice @turns, 0, 2) {
        my $v = $self->{who}{$number};
        next if $v->{late};
        $v->{late} = 1;
        $self->due(rand $v->{every}, comes => $number);
    }

    $self->called($answer->{serving});
}

sub called ($self, $to) {
    my $from = $self->{served};

    if ($to <= $from) {
        $self->{wrong}++ if $to < $from;
        return;
    }
    push $self->{trail}->@*, [ $to, $self->{us} ];
    $self->{served} = $to;

    for my $number ($from + 1 .. min($to, $self->{issued})) {
        my $v = $self->{who}{$number} or next;
        next if $v->{gone};
        my $passed = grep { $number >= $_->[0] && $number <= $_->[1] }
                     $self->{gaps}->@*;
        $self->due($v->{told} ? $self->asks_in($number) : rand $v->{every},
                   $passed ? 'back' : 'comes', $number);
    }
}

# in how many s somebody asks again who goes by nextPoll alone

sub asks_in ($self, $number) {
    my $at = $self->{taken}[$number];
    my $next = rand next_poll($number);

    while (($at += 1e6 * $next) < $self->{us}) {
        $next = next_poll($number - $self->served_at($at));
    }
    return ($at - $self->{us}) / 1e6;
}

sub served_at ($self, $us) {
    my $trail = $self->{trail};
    my ($low, $high) = (0, scalar @$trail);
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        if ($trail->[$middle][1] > $us) { $high = $middle }
        else { $low = $middle + 1 }
    }
    return $low ? $trail->[$low - 1][0] : 0;
}

# the lowest that ask, of whom those who asked once are soon forgotten

sub asks ($self, $host) {
    my $asks = $host->{asks};

    if (!$host->{sorted}) {
        @$asks = sort { $a <=> $b } @$asks[ $host->{head} .. $#$asks ];
        @$host{qw(head sorted)} = (0, 1);
    }

    my ($at, @lowest) = $host->{head};
    for (; $at < @$asks && @lowest < ASKS; $at++) {
        my $v = $self->{who}{ $asks->[$at] };

        if ($v->{late} || $v->{once} && $self->{us} - $v->{asked} > STALE) {
            $host->{head}++ if $at == $host->{head};
            next;
        }
        push @lowest, $asks->[$at];
    }
    return \@lowest;
}

# who was heard of: all of a page at once, as often as those of it are to ask

sub marks ($self, $host) {
    my $of = $host->{room}{host}{activation};

    # a host that knows of no room has heard of nobody
    return if !$of || !$self->{there} || $self->{us} - $host->{told} < 1e6;
    $host->{told} = $self->{us};

    my $marks = $host->{marks};
    $host->{marks} = {};

    for my $page (keys $self->{here}->%*) {
        next if $page % $self->{hosts} != $host->{id} - 1
                || $self->{us} < ($self->{tell}{$page} // 0);

        if ($self->{here}{$page} !~ /[^\0]/) {
            delete $self->{here}{$page};
            next;
        }

        my $next = next_poll($page * PAGE - $self->{served});
        $self->{tell}{$page} = $self->{us} + $next * 1e6;
        $marks->{2 * $next}{$page} //= "\0" x (PAGE / 8);
        $marks->{2 * $next}{$page} |.= $self->{here}{$page};
    }

    return (there => $host->{id}, table => $host->{table},
            of => $of,
            heard => [ map { my $lapse = $_; map {
                           [ $lapse, $_ * PAGE, $marks->{$lapse}{$_} ]
                       } sort { $a <=> $b } keys $marks->{$lapse}->%* }
                       sort { $a <=> $b } keys %$marks ]);
}


# ---- what came of it

# First tokens a second over any 10 s between two times, s since the begin: the
# least and the most; of those alone, whose number, and whether late, are such.

sub rates ($self, $from, $to, $of = undef) {
    my @in;                     # each half second
    for my $come ($self->{come}->@*) {
        next if $of && !$of->(@$come[1, 2]);
        my $at = 2 * ($come->[0] - BEGIN_US) / 1e6;
        $in[$at]++;
    }

    my @sums = sort { $a <=> $b } map {
        my $first = $_;
        my $sum = 0;
        $sum += $in[$_] // 0 for $first .. $first + 19;
        $sum;
    } int 2 * $from .. int(2 * $to) - 20;

    return @sums ? ($sums[0] / 10, $sums[-1] / 10) : (0, 0);
}

# number => how long it waited, s, of those from one to another

sub waits ($self, $from, $to) {
    return { map { ($_->[1] => ($_->[0] - $self->{taken}[ $_->[1] ]) / 1e6) }
             grep { $_->[1] >= $from && $_->[1] <= $to } $self->{come}->@* };
}

1;
