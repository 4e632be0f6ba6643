# A crowd before a waiting room whose scripts are called as hosts do, by a clock
# that is the test's own: who comes when called, comes late, or never does.

package Admission::Comers;

use v5.36;

use Admission::Redis;
use Admission::Rooms;

use constant STEP => 80_000;            # us between steps of one host or other
use constant BEGIN_US => 1_700_000_000_000_000;
use constant PAGE => 3712;              # of marks, as hosts have it


# redis, and what Admission::Rooms takes; hosts: how many step; there: the share of
# those who are there, if hosts are to tell of them
#
# Visitors are kept by number: { poll (us, when it polls next), every (us), gone,
# came (us, when it got its first token) }

sub new ($class, $redis, %opt) {
    my $hosts = delete $opt{hosts} // 2;
    my $there = delete $opt{there};
    my $self = bless { redis => $redis, us => BEGIN_US, n => 0,
                       who => {}, come => [], steps => 0, due => {}, tick => 0,
                       wrong => [], served => 0,
                       there => $there }, $class;
    $self->later(0);

    my $first = Admission::Rooms->new($redis, noshow => 4, %opt,
        edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            return $text;
        });

    $self->{hosts} = [ map { { room => $_ == 1 ? $first : $first->other,
                               id => $_, bits => {}, asks => {}, turns => {},
                               marks => {}, told => 0, gaps => [] } }
                       1 .. $hosts ];
    $first->admin('activate');
    $first->step;
    return $self;
}

sub room ($self) { return $self->{hosts}[0]{room} }

sub later ($self, $us) {
    $self->{us} += $us;
    $self->{redis}->cmd('MSET', seconds => int($self->{us} / 1e6),
                        us => $self->{us} % 1_000_000);
}


# n more tickets; what becomes of each is what $visitor->() says: undef, nobody
# holds it, or { from => s from now on when it polls first }, and more as above

sub take ($self, $n, $visitor) {
    my $first = $self->room->assign($n)->{result};

    for my $number ($first .. $first + $n - 1) {
        my $every = $self->{there}
                    ? $self->heard($self->{hosts}[0], $number) : 2e6;
        my $v = $visitor->($number) or next;
        $v->{every} //= $every;
        $self->{who}{$number} = $v;
        $self->due($number, $self->{us} + ($v->{from} ? 1e6 * $v->{from}
                                                      : rand $every));
    }
    $self->{n} = $first + $n - 1;
}

sub due ($self, $number, $us) {
    push $self->{due}{ int($us / STEP) }->@*, $number;
}


# So many seconds: polls of those whose turn it is by what a host knows, and a
# step of some host each 80 ms.

sub run ($self, $seconds, $each = undef) {
    my $end = $self->{us} + $seconds * 1e6;

    while ($self->{us} < $end) {
        my $slot = int($self->{us} / STEP);
        my $due = delete $self->{due}{$slot};
        $self->poll($_) for $due ? @$due : ();

        my $host = $self->{hosts}[ $self->{steps}++ % $self->{hosts}->@* ];
        $self->step($host);
        $each->() if $each;
        $self->later(STEP);
    }
}

sub poll ($self, $number) {
    my $v = $self->{who}{$number};
    return if $v->{gone} || $v->{came};

    my $host = $self->{hosts}[rand $self->{hosts}->@*];
    my $turn = $self->turn($host, $number);

    if (defined $turn) {
        $v->{came} = $self->{us};
        push $self->{come}->@*, [ $self->{us}, $number, $turn ];
        vec($host->{bits}{int $number / 512} //= "\0" x 64, $number % 512, 1)
            = 1;
        return;
    }

    $self->due($number, $self->{us} + ($self->{there}
                                       ? $self->heard($host, $number)
                                       : $v->{every}));
}

# a host marks one as there: us until it polls next

sub heard ($self, $host, $number) {
    my $ahead = ($number - ($host->{room}{host}{serving} // 0))
                * $self->{there};
    my $next = $ahead <= 500 ? 2 : $ahead <= 2000 ? 5
             : $ahead <= 10_000 ? 10 : 15;
    my $page = int $number / PAGE;

    vec($host->{marks}{2 * $next}{$page} //= "\0" x (PAGE / 8),
        $number % PAGE ^ 7, 1) = 1;
    return $next * 1e6;
}

# by what a host knows: undef, it waits, or late: 1 it came late

sub turn ($self, $host, $number) {
    return if $number > ($host->{room}{host}{serving} // 0);

    my $called = $self->called($number);
    my @gaps = $host->{gaps}->@*;
    my $passed;

    while (my ($from, $to) = splice @gaps, 0, 2) {
        $passed = 1 if $number >= $from && $number <= $to;
    }
    return 0 if $self->{us} - $called <= 30e6 && !$passed;

    return 1 if exists $host->{turns}{$number};
    $host->{asks}{$number} = $self->{us};
    return;
}

# when the counter passed it: by its trail; at the beginning of time, where
# that was lost

sub called ($self, $number) {
    my $trail = $self->{trail};
    return 0 if !@$trail;
    my ($low, $high) = (0, $#$trail);

    while ($low < $high) {
        my $mid = int(($low + $high) / 2);
        if ($trail->[$mid][0] >= $number) { $high = $mid } else { $low = $mid + 1 }
    }
    return $trail->[$low][1];
}

sub step ($self, $host) {
    my $bits = $host->{bits};
    $host->{bits} = {};

    my @asks = sort { $a <=> $b }
               grep { $self->{us} - $host->{asks}{$_} < 5e6 }
               keys $host->{asks}->%*;
    $#asks = 249 if @asks > 250;

    my %there;

    if ($self->{there} && $self->{us} - $host->{told} >= 1e6) {
        my $marks = $host->{marks};

        $host->{told} = $self->{us};
        $host->{marks} = {};
        %there = (there => $host->{id}, table => -1,
                  of => $host->{room}{host}{activation} // 0,
                  heard => [ map { my $lapse = $_; map {
                                 [ $lapse, $_ * PAGE, $marks->{$lapse}{$_} ]
                             } keys $marks->{$lapse}->%* }
                             sort { $a <=> $b } keys %$marks ]);
    }

    my $answer = $host->{room}->step(come => $bits, asks => \@asks, %there);

    $host->{gaps} = $answer->{gaps};

    my @turns = $answer->{turns}->@*;
    while (my ($number, $turn) = splice @turns, 0, 2) {
        $host->{turns}{$number} = $turn;
        delete $host->{asks}{$number};
    }

    push $self->{wrong}->@*, "$answer->{serving} after $self->{served}"
        if $answer->{serving} < $self->{served};
    push $self->{trail}->@*, [ $answer->{serving}, $self->{us} ]
        if $answer->{serving} > $self->{served};
    $self->{served} = $answer->{serving};
    $self->{answer} = $answer;
}


# first tokens a second over each 10 s between two times (s since the first):
# the least and the most

sub rates ($self, $from, $to) {
    my @in;                     # each half second
    $in[ int(2 * ($_->[0] - BEGIN_US) / 1e6) ]++ for $self->{come}->@*;

    my @sums = sort { $a <=> $b } map {
        my $first = $_;
        my $sum = 0;
        $sum += $in[$_] // 0 for $first .. $first + 19;
        $sum;
    } 2 * $from .. 2 * $to - 20;

    return ($sums[0] / 10, $sums[-1] / 10);
}

1;
