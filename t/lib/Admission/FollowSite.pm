# A site in a model: visitors who come whatever happens, hosts with the real
# scripts in a real Redis, whose clock is the model's, and a backend whose capacity
# is set while it runs.

package Admission::FollowSite;

use v5.36;

use Admission::Follow;
use Admission::Rooms;
use Admission::Scripts;

my $TICK = 10_000;         # us


# hosts      how many
# come       visitors a second
# requests   of a visitor; gap: ms between an answer and the next request
# capacity   of the backend, a second
# base       ms that an answer takes at least, on average
# timeout    ms after which a proxy gives up
# deaf       true: the backend goes on with what was given up
# lag        ms in which those whose turn has come are there
# gone       share of those who wait who have left when their turn comes, unseen
# queue      requests that the backend lets wait, at most; none: any number
# failing    share of requests that fail whatever the load
# fixed      true: nothing is steered
# gradient   true: no waiting room, but a limit of requests under way at the proxy,
#            as a gradient of latencies has it
# and what Admission::Follow takes

sub new ($class, $redis, %opt) {
    my $self = bless { redis => $redis, us => 1_800_000_000_000_000,
                       hosts => 2, come => 200, requests => 2, gap => 1000,
                       capacity => 200, base => 100, timeout => 3000,
                       failing => 0, lag => 250, gone => 0, given_up => 0,
                       rate => 200, seed => 1,
                       queue => [], calls => [], due => {}, serving => 0,
                       issued => 0, credit => 0, next_user => 1,
                       under_way => 0, refused => 0,
                       %opt }, $class;

    $redis->cmd('FLUSHALL');
    srand $self->{seed};
    $self->{begun} = $self->{us};
    $self->clock;

    my $edit = sub ($text) {
        $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
        return $text;
    };

    my %follow = map { ($_ => $opt{$_}) } grep { exists $opt{$_} }
                 qw(latency errors rate_min threshold threshold_min what);
    $self->{latency} //= 500;

    $self->{follow} = [ Admission::Follow->new(
        $redis, rate => $self->{rate}, rate_min => $self->{rate} * 50,
        %follow, edit => $edit) ];
    push $self->{follow}->@*, $self->{follow}[0]->other
        for 2 .. $self->{hosts};
    $self->{rooms} = [ Admission::Rooms->new($redis, rate => $self->{rate},
                                             noshow => 4, edit => $edit) ];
    push $self->{rooms}->@*, $self->{rooms}[0]->other for 2 .. $self->{hosts};
    $self->{rooms}[0]->admin('activate');
    $self->{alive} = [ 0 .. $self->{hosts} - 1 ];
    $self->gradient if $self->{gradient};

    return $self;
}

sub clock ($self) {
    $self->{redis}->cmd('MSET', seconds => int($self->{us} / 1e6),
                        us => $self->{us} % 1_000_000);
}

sub seconds ($self) { return ($self->{us} - $self->{begun}) / 1e6 }

# so many of a process of that mean

sub poisson ($mean) {
    my ($n, $p, $e) = (0, 1, exp -$mean);
    $n++ while ($p *= rand) > $e;
    return $n;
}

# after so many us

sub later ($self, $us, $what) {
    my $at = $self->{us} + ($us < $TICK ? $TICK : $us);
    push $self->{due}{ int($at / $TICK) }->@*, $what;
}


sub host_of ($self, $who) {
    return $self->{alive}[ $who % $self->{alive}->@* ];
}


# One request of a visitor; then what follows.

sub request ($self, $who, $then = undef) {
    if ($self->{gradient} && $self->{under_way} >= $self->{gradient}{limit}) {
        $self->{refused}++;
        return;
    }

    my $host = $self->host_of($who);
    my %one = (who => $who, host => $host, at => $self->{us}, then => $then);

    $self->{under_way}++;
    $self->{open}{$host}{$who} = $self->{us};

    if (rand() < $self->{failing}
        || defined $self->{line} && $self->{queue}->@* >= $self->{line})
    {
        $self->later(5_000, sub { $self->over(\%one, failed => 1) });
        return;
    }
    push $self->{queue}->@*, \%one;
}

sub over ($self, $one, %of) {
    my $ms = ($self->{us} - $one->{at}) / 1000;
    my $good = !$of{failed} && $ms <= 2 * $self->{latency};

    $self->{good}++ if $good;
    $self->{under_way}--;
    push $self->{gradient}{sample}->@*, $ms if $self->{gradient};
    delete $self->{open}{ $one->{host} }{ $one->{who} };
    $self->{follow}[ $one->{host} ]->measure(
        $self->{us}, $one->{who}, ms => $ms, %of,
        ($of{failed} && defined $self->{retry_after}
         ? (retry => $self->{retry_after}) : ()));
    push $self->{times}->@*, $of{failed} ? 1e9 : $ms;
    $one->{then}->() if $one->{then};
}

# An answer takes at least half of what it does on average.

sub serve ($self) {
    my $queue = $self->{queue};

    while (my $one = $queue->[ $self->{given_up} ]) {
        last if $self->{us} - $one->{at} <= $self->{timeout} * 1000;
        $self->{deaf} ? $self->{given_up}++ : shift @$queue;
        $self->over($one, failed => 1, timeout => 1);
    }

    $self->{credit} += $self->{capacity} * $TICK / 1e6;
    while ($self->{credit} >= 1 && @$queue) {
        my $one = shift @$queue;

        $self->{credit}--;
        if ($self->{given_up}) {
            $self->{given_up}--;
            next;
        }
        $self->later(1000 * $self->{base} * (0.5 - 0.5 * log(1 - rand)),
                     sub { $self->over($one) });
    }
    $self->{credit} = 1 if $self->{credit} > 1 && !@$queue;
}

sub visit ($self, $n, $who) {
    $self->request($who, $n < 2 ? undef : sub {
        $self->later(1000 * $self->{gap}, sub { $self->visit($n - 1, $who) });
    });
}


# Hosts do what is due.

sub hosts ($self) {
    my $ms = int($self->{us} / 1000);

    for my $host ($self->{alive}->@*) {
        my $phase = $ms + 130 * $host;

        if ($phase % 250 == 0) {
            $self->clock;
            if ($host == $self->{alive}[0] && $self->{waiting}) {
                my $answer = $self->{rooms}[$host]->assign($self->{waiting});
                $self->{issued} = $answer->{next};
                $self->{waiting} = 0;
            }
            $self->enter($self->{rooms}[$host]->step(
                come => delete $self->{came}{$host} // {})->{serving});
        }

        if ($phase % 500 == 0 && !$self->{fixed}) {
            my $open = $self->{open}{$host} // {};
            # of those a host knows, see follow_worker.c
            my $waiting = grep { $self->{us} - $_ > 500_000 } values %$open;
            my $late = grep { $self->{us} - $_ > 2000 * $self->{latency} }
                       values %$open;
            my $hung = grep { $self->{us} - $_ > 5e6 } values %$open;

            $self->clock;
            my $answer = $self->{follow}[$host]->call(
                waiting => $waiting, late => $late, hung => $hung);
            $self->{answer} = $answer;
            $self->{answered}->($answer) if $self->{answered};
        }
    }
}

# As proxies do it that limit what is under way by a gradient: ten times a second
# the limit is multiplied by what the latency is at least, and a quarter, over what it
# is, between a half and two; and its root is added.  What it is at least is found
# each 60 s, with 3 under way.

sub gradient ($self) {
    my $g = $self->{gradient};

    if (!ref $g) {
        $g = $self->{gradient} = { limit => 3, sample => [], finding => 1,
                                   found => $self->{us}, next => 0 };
    }

    if ($g->{finding}) {
        return if $g->{sample}->@* < 50;
        my @sorted = sort { $a <=> $b } $g->{sample}->@*;
        @$g{qw(least finding found sample)} = ($sorted[@sorted / 2], 0,
                                               $self->{us}, []);
        $g->{limit} = $g->{before} // 10;

    } elsif ($self->{us} - $g->{found} > 60e6) {
        @$g{qw(before limit finding sample)} = ($g->{limit}, 3, 1, []);

    } elsif ($self->{us} >= $g->{next}) {
        $g->{next} = $self->{us} + 100_000;
        my @sorted = sort { $a <=> $b } $g->{sample}->@*;
        return if @sorted == 0;
        my $by = $g->{least} * 1.25 / $sorted[@sorted / 2];
        $by = 0.5 if $by < 0.5;
        $by = 2 if $by > 2;
        my $limit = $g->{limit} * $by + sqrt $g->{limit};
        $g->{limit} = $limit < 3 ? 3 : $limit > 1000 ? 1000 : $limit;
        $g->{sample} = [];
    }
}

# Those whose turn has come are there soon, as their hosts tell the next time.

sub enter ($self, $serving) {
    my $to = $serving < $self->{issued} ? $serving : $self->{issued};

    for my $n ($self->{serving} + 1 .. $to) {
        next if rand() < $self->{gone};
        $self->later(rand 1000 * $self->{lag}, sub {
            my $who = $self->{next_user}++;

            $self->{entered}++;
            vec($self->{came}{ $self->host_of($who) }{ $n >> 9 }
                //= "\0" x 64, $n % 512, 1) = 1;
            $self->visit($self->{requests}, $who);
        });
    }
    $self->{serving} = $to if $to > $self->{serving};
}

# ends: a host is killed, with what it had not told

sub kill_host ($self, $host) {
    $self->{alive} = [ grep { $_ != $host } $self->{alive}->@* ];
}


# Time goes on, s; what was so in it: good answers, of how many at most, by
# somebody who knows the capacity, entered a second, the 95th percentile, ms, and the
# rate in force.

sub run ($self, $seconds) {
    @$self{qw(good entered refused)} = (0, 0, 0);
    $self->{times} = [];

    for (1 .. $seconds * 1e6 / $TICK) {
        $self->{us} += $TICK;

        my $n = poisson($self->{come} * $TICK / 1e6);
        if ($self->{gradient}) {
            $self->{entered} += $n;
            $self->visit($self->{requests}, $self->{next_user}++) for 1 .. $n;
        } else {
            $self->{waiting} += $n;
        }

        $_->() for (delete $self->{due}{ int($self->{us} / $TICK) } // [])->@*;
        $self->serve;
        $self->{gradient} ? $self->gradient : $self->hosts;
    }

    my $offered = $self->{requests}
                  * ($self->{come} < $self->{rate} || $self->{gradient}
                     ? $self->{come} : $self->{rate});
    my $most = $offered < $self->{capacity} ? $offered : $self->{capacity};
    my $limit = $self->{answer} ? $self->{answer}{rate} : -1;

    my @times = sort { $a <=> $b } $self->{times}->@*;
    return { good => $self->{good}, times => \@times,
             level => $most / $self->{requests},
             most => $most * (1 - $self->{failing}) * $seconds,
             entered => $self->{entered} / $seconds,
             p95 => @times ? $times[ 0.95 * @times ] : 0,
             limit => $limit < 0 ? $self->{rate} : $limit / 1000,
             why => $self->{answer} ? $self->{answer}{why} : 0 };
}


# The first second from which on that was so of five seconds; none: it never was.

sub since ($is, @seconds) {
    for my $from (0 .. @seconds - 5) {
        return $from if !grep { !$is->($_->{limit} / $_->{level}) }
                         @seconds[$from .. $from + 4];
    }
    return;
}

# From when on the limit was no more than a fifth above what the capacity allows, s, and
# from when on within a fifth of it, none: it never was; and of what was so since: the
# 95th percentile, ms; the largest swing around the mean; and the share of the time in
# which it was more than a fifth.

sub settled (@seconds) {
    return if grep { !$_->{level} } @seconds;

    my $down = since(sub ($of) { $of <= 1.2 }, @seconds);
    my $since = since(sub ($of) { $of >= 0.8 && $of <= 1.2 }, @seconds);

    return (down => $down) if !defined $since;

    my @then = @seconds[$since .. $#seconds];
    my @times = sort { $a <=> $b } map { $_->{times}->@* } @then;
    my $mean = 0;
    $mean += $_->{limit} / @then for @then;
    my @swings = sort { $a <=> $b } map { abs($_->{limit} / $mean - 1) } @then;

    return (down => $down, settled => $since,
            late => @times ? $times[ 0.95 * @times ] : 0, swing => $swings[-1],
            beyond => grep({ $_ > 0.2 } @swings) / @swings);
}


# What is told of a run of phases, { for => s, and what changes then, kill => host }:
# goodput in all; and of each phase of 30 s and more how the limit was in its last
# 15 s, at least, on average, and at most, and the 95th percentile, ms, of most of its
# last 20; and what settled() says.

sub phases ($self, @phases) {
    my ($good, $most, @told) = (0, 0);

    for my $phase (@phases) {
        my %set = %$phase;
        my $for = delete $set{for};
        my $killed = delete $set{kill};

        $self->kill_host($killed) if defined $killed;
        @$self{ keys %set } = values %set;

        my @seconds = map { $self->run(1) } 1 .. $for;
        my ($g, $m) = (0, 0);
        ($g += $_->{good}, $m += $_->{most}) for @seconds;
        $good += $g;
        $most += $m;

        my %is = (seconds => \@seconds, goodput => $m ? $g / $m : 1);
        if ($for >= 30) {
            my @limits = sort { $a <=> $b }
                         map { $_->{limit} } @seconds[-15 .. -1];
            my @late = sort { $a <=> $b } map { $_->{p95} } @seconds[-20 .. -1];
            my $sum = 0;
            $sum += $_ for @limits;
            @is{qw(least mean most p95)} = ($limits[0], $sum / 15, $limits[-1],
                                            $late[ 0.9 * @late ]);
            %is = (%is, settled(@seconds));
        }
        push @told, \%is;
    }
    return { goodput => $most ? $good / $most : 1, phases => \@told };
}


# The cases by which the method was chosen: a name, what is special about the site,
# and the phases.  60 of 100 visitors a second more than half of the capacity take.

my %RIG = (rate => 40, come => 46, capacity => 96, base => 50, gap => 300,
           errors => 200, deaf => 1);

our @CASES = (
    [ 'as it should be',   {}, { for => 60 } ],
    [ 'too much at once',  { capacity => 120 }, { for => 60 } ],
    [ 'half, and back',    {}, { for => 40 }, { for => 60, capacity => 120 },
                           { for => 60, capacity => 240 } ],
    [ 'a tenth, and back', {}, { for => 40 }, { for => 60, capacity => 24 },
                           { for => 60, capacity => 240 } ],
    [ 'nothing, and back', {}, { for => 40 }, { for => 20, capacity => 0 },
                           { for => 60, capacity => 240 } ],
    [ 'latency doubles',   {}, { for => 30 }, { for => 30, base => 200 },
                           { for => 30, base => 100 } ],
    [ 'bursts of errors',  { errors => 200 }, { for => 20 },
      map { ({ for => 2, failing => 0.3 }, { for => 18, failing => 0 }) }
      1 .. 4 ],
    [ 'a host is killed',  {}, { for => 40 },
                           { for => 40, capacity => 120, kill => 1 } ],

    # the rest is harder
    [ 'stands still',      {}, { for => 30 }, { for => 1, capacity => 0 },
                           { for => 29, capacity => 240 } ],
    [ 'half, slow to come', { lag => 2000 }, { for => 40 },
                           { for => 60, capacity => 120 },
                           { for => 60, capacity => 240 } ],
    [ 'half do not come',  { gone => 0.5, come => 230 }, { for => 40 },
                           { for => 60, capacity => 120 },
                           { for => 60, capacity => 240 } ],
    [ 'a tenth, deaf',     { deaf => 1 }, { for => 40 },
                           { for => 60, capacity => 24 },
                           { for => 60, capacity => 240 } ],
    [ 'few: half',         { rate => 20, come => 23, capacity => 48 },
                           { for => 40 }, { for => 60, capacity => 24 },
                           { for => 60, capacity => 48 } ],
    [ 'few: a tenth',      { rate => 40, come => 46, capacity => 96 },
                           { for => 40 }, { for => 60, capacity => 10 },
                           { for => 60, capacity => 96 } ],
    [ 'many requests',     { rate => 12, come => 14, requests => 8 },
                           { for => 40 }, { for => 60, capacity => 48 },
                           { for => 60, capacity => 96 } ],
    [ 'the rig',           { %RIG }, { for => 30 },
                           { for => 40, capacity => 48 },
                           { for => 40, capacity => 96 },
                           { for => 40, capacity => 9.6 },
                           { for => 40, capacity => 96 },
                           { for => 20, capacity => 0 },
                           { for => 40, capacity => 96 },
                           { for => 40, capacity => 48, kill => 1 } ],
    [ 'the rig, late',     { %RIG, lag => 2000 }, { for => 30 },
                           { for => 40, capacity => 48 },
                           { for => 40, capacity => 96 },
                           { for => 40, capacity => 9.6 },
                           { for => 40, capacity => 96 },
                           { for => 20, capacity => 0 },
                           { for => 40, capacity => 96 },
                           { for => 40, capacity => 48, kill => 1 } ],
);

our %SITE = (rate => 100, come => 115, requests => 2, capacity => 240);

1;
