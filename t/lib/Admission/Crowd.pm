# A crowd of simulated users at a site, and the look-out that nothing goes
# wrong for any of them.
#
# Each user joins, polls, and once in books through the gate and leaves; some
# leave while they wait, some vanish for a while and come back with the place
# that they hold.  Several times a second the look-out looks at Redis and
# checks the invariants:
#
#   threshold   never more than so many active
#   order       who is let in stood before all who waited through it
#   both        nobody both waits and is in
#   place       nobody who has not left stands elsewhere than where they joined
#   inside      never more than so many hold a token and have not left
#
# At the end `lost` lists who neither got in nor left.

package Admission::Crowd;

use v5.36;

use List::Util qw(max min);
use Time::HiRes qw(time);

use Admission::JWT;
use Admission::Swarm;
use Admission::Test ();
use Test::More ();


# site, users (200)
# threshold   what may be active at most
# arrive      seconds over which they come (3)
# poll        seconds between polls (0.3)
# stay        [least, most] seconds inside ([0.1, 0.6])
# leave       share that leaves while waiting (0.1)
# vanish      share that stops polling for `away` seconds (0)
# away        [least, most] ([1, 3])
# look        seconds between looks (0.1)
# seen_ttl    that of the event, in seconds (600)
# fill        nobody who is in leaves before a look saw all slots used, for so many
#             seconds at most (0): where they come and go between two looks that is
#             seen by chance alone
# lossy       Redis may forget what it had acknowledged (0)
# while       a function: after these, others come as long as it says so
# connections at once (200)

sub new ($class, %opt) {
    my $self = bless {
        users => 200, arrive => 3, poll => 0.3, stay => [0.1, 0.6],
        leave => 0.1, vanish => 0, away => [1, 3], look => 0.1,
        connections => 200, threshold => 5, seen_ttl => 600, fill => 0, %opt,
        violations => [], errors => {}, looks => 0, max_active => 0, over => 0,
    }, $class;

    # TEST_SEED repeats a run, as far as the machine does
    my $seed = $ENV{TEST_SEED} // int rand 1e9;
    srand $seed;
    Test::More::note("TEST_SEED=$seed");

    $self->{swarm} = Admission::Swarm->new(
        connections => $self->{connections}, retry => 1);

    $self->come($self->{users}, $self->{arrive});
    return $self;
}


# So many more, over so many seconds from now.

sub come ($self, $n, $seconds) {
    for (1 .. $n) {
        my $id = 'user-' . ++$self->{came};
        my $user = { id => $id, state => 'new', admissions => 0,
                     token => $self->{site}->user($id) };
        $self->{user}{$id} = $user;
        push $self->{under_way}->@*, $user;
        $self->later(rand $seconds, $user, 'poll');
    }
}


sub goes_on ($self) {
    return $self->{while} && $self->{while}->();
}


sub users ($self) { return values $self->{user}->%* }

sub in_state ($self, @states) {
    my %wanted = map { $_ => 1 } @states;
    return grep { $wanted{ $_->{state} } } $self->users;
}


# Runs until all are done, looking out; returns whether they are.  They are
# given up when nobody got in or left within the timeout: how long all of them
# take is up to the machine.  Three timeouts are the end in any case.

sub run ($self, $timeout, $until = undef) {
    $self->{fill_until} = time + $self->{fill} * Admission::Test::slow();
    $self->look_out;

    my $again; $again = sub {
        $self->come(1, 0.1) if $self->goes_on;
        $self->{swarm}->timer(0.1, $again) if $self->goes_on;
    };
    $self->{swarm}->timer($self->{arrive}, $again);

    my ($done, $before);

    for (1 .. 3) {
        $before = $self->{over};
        $done = $self->{swarm}->run(
            timeout => $timeout,
            until => $until // sub { $self->all_done && !$self->goes_on });
        last if $done || $self->{over} == $before;
    }

    $self->look;
    return $done;
}


# Asked after each answer: a look at one of those who may still be under way.

sub all_done ($self) {
    my $under_way = $self->{under_way};

    pop @$under_way
        while @$under_way && $under_way->[-1]{state} =~ /^(?:left|done)$/;
    return !@$under_way;
}


sub later ($self, $seconds, $user, $what) {
    $self->{swarm}->timer($seconds, sub { $self->$what($user) });
}

sub between ($range) { return $range->[0] + rand($range->[1] - $range->[0]) }


sub call ($self, $user, $method, $path, $callback, @headers) {
    my @ports = $self->{site}->ports;

    # what a browser's cookies would carry
    push @headers, 'X-Queue-Place' => $user->{place} if $user->{place};
    push @headers, 'X-Queue-Entry-Token' => $user->{entry} if $user->{entry};

    $self->{swarm}->request(
        $ports[rand @ports], $method, $path,
        [ Authorization => "Bearer $user->{token}", @headers ], $callback);
}


# The longest time that the site did not hear of a user, however that came,
# is in silence: claims are lost and users swept out by it.

sub api ($self, $user, $method, $call, $callback) {
    my $asked = time;

    $self->call($user, $method, "/api/queue/$call/$self->{site}{event}",
        sub ($r) {
            my $json = $r->status ? eval { $r->json } : undef;

            if ($r->status != 200) {
                $self->{errors}{ $r->status || $r->error }++;
                $self->later($self->{poll}, $user, 'poll')
                    if $user->{state} ne 'away';
                return;
            }

            $user->{silence} = max($user->{silence} // 0,
                                   time - ($user->{heard} // $asked));
            $user->{heard} = $asked;
            $callback->($json);
        });
}


# Whether a user may have been taken out as one not seen, once, and put back.

sub may_be_swept ($self, $user) {
    return max($user->{silence} // 0, time - ($user->{heard} // time))
           > $self->{seen_ttl} - 3;
}


# Joins, polls, renews: mostly by check, which is right in every state.

sub poll ($self, $user) {
    my ($method, $call) = ('POST', 'check');

    ($method, $call) = ('GET', 'status')
        if $user->{state} ne 'new' && rand > 0.6;

    $self->api($user, $method, $call, sub ($json) {
        $self->heard($user, $json);
    });
}


sub heard ($self, $user, $json) {
    return if $user->{state} =~ /^(?:left|done)$/;

    if ($json->{status} eq 'queued') {
        $user->{thrown}++ if $user->{state} eq 'in';
        $user->{state} = 'waiting';
        $user->{place} = $json->{place} if $json->{place};
        $user->{score} = jwt_decode($user->{place})->{score}
            if $json->{place};
        $user->{joined} //= $user->{score};
        $user->{position} = $json->{position};

        # at one of the first four polls: how long they wait is no matter
        return $self->leave($user)
            if $user->{polls}++ < 4 && rand() < $self->{leave} / 4;

        if (rand() < $self->{vanish} / 4) {
            $user->{vanished}++;
            return $self->later(between($self->{away}), $user, 'poll');
        }

        return $self->later($self->{poll} * (0.7 + rand 0.6), $user, 'poll');
    }

    if ($json->{status} eq 'active') {
        my $first = $user->{state} ne 'in';
        $user->{state} = 'in';
        $user->{entry} = $json->{entryToken};
        $user->{adm} = jwt_decode($user->{entry})->{adm};
        $user->{until} //= time + between($self->{stay});

        return $self->book($user) if $first;
        return $self->leave($user)
            if time > $user->{until} && $self->was_full;
        return $self->later($self->{poll}, $user, 'poll');
    }

    # not in the queue any more: comes again
    $user->{state} = 'new';
    $user->{lost}++;
    $self->later($self->{poll}, $user, 'poll');
}


sub was_full ($self) {
    return $self->{max_active} >= $self->{threshold}
           || time > $self->{fill_until};
}


sub book ($self, $user) {
    $self->call($user, 'GET', '/api/reservations?event=x', sub ($r) {
        if ($r->status == 200) {
            $user->{booked}++;

        } else {
            $self->{errors}{ 'gate ' . ($r->status || $r->error) }++;
            return $self->later(0.2, $user, 'book') if $r->status != 403;
        }
        $self->later(max(0.05, min($self->{poll}, $user->{until} - time)),
                     $user, 'poll');
    });
}


sub leave ($self, $user) {
    $user->{leaving} = 1;

    $self->call($user, 'POST', "/api/queue/leave/$self->{site}{event}",
        sub ($r) {
            if ($r->status != 200) {
                $self->{errors}{ 'leave ' . ($r->status || $r->error) }++;
                return $self->later($self->{poll}, $user, 'leave');
            }
            $user->{state} = $user->{booked} || $user->{entry} ? 'done'
                                                               : 'left';
            $self->{over}++;
        });
}


# ---- the look-out

sub look_out ($self) {
    return if $self->{looking}++;

    my $again;
    $again = sub {
        $self->look;
        $self->{swarm}->timer($self->{look}, $again);
    };
    $again->();
}


sub violation ($self, $text) {
    return if $self->{violations}->@* >= 20;
    push $self->{violations}->@*, $text;
    push $self->{violated_at}->@*, time;
}


sub look ($self) {
    my $seen = eval { $self->{site}->look } or return;
    my $before = $self->{seen};
    my $active = keys $seen->{active}->%*;

    $self->{looks}++;
    $self->{max_active} = max($self->{max_active}, $active);
    $self->{seen} = $seen;

    # who left, which Redis has forgotten, is in again until the slot ends: nobody
    # holds it; without a loss there is no such user

    my $left = grep {
        my $user = $self->{user}{$_} // {};         # others may be in as well
        $self->{lossy} && ($user->{state} // '') =~ /^(?:left|done)$/
    } keys $seen->{active}->%*;

    $self->violation("$active active, $left of whom had left")
        if $active - $left > $self->{threshold};

    for my $id (keys $seen->{active}->%*) {
        $self->violation("$id is in and waits")
            if exists $seen->{waiting}{$id};
    }

    # one who has left may be joined once more, by a call that nobody waits for
    # any more, and that Redis gets to after the leave

    for my $id (keys $seen->{waiting}->%*) {
        my $user = $self->{user}{$id} // next;      # others may wait as well
        my $joined = $user->{joined} // next;
        next if $user->{leaving};

        my $score = $seen->{waiting}{$id};
        $self->violation("$id joined at $joined and stands at $score")
            if $score != $joined;
    }

    my $inside = grep { !$_->{leaving} } $self->in_state('in');
    $self->{max_inside} = max($self->{max_inside} // 0, $inside);
    $self->violation("$inside inside") if $inside > $self->{threshold};

    $self->{user}{$_} && $self->{user}{$_}{admissions}++
        for $seen->{admitted}->@*;

    $self->look_at_order($before, $seen) if $before && !$self->{no_order};
}


# Whoever was let in between two looks stood before everybody who waited from the
# one to the other.  A newcomer let in at once has no place before them either.

sub look_at_order ($self, $before, $seen) {
    my $first;      # of those who waited through it

    for my $id (keys $seen->{waiting}->%*) {
        my $score = $seen->{waiting}{$id};
        my $old = $before->{waiting}{$id} // next;

        next if $old != $score;
        next if $self->may_be_swept($self->{user}{$id} // {});
        $first = $score if !defined $first || $score < $first;
    }

    return if !defined $first;

    for my $id ($seen->{admitted}->@*) {
        my $user = $self->{user}{$id} // {};
        my $score = $before->{waiting}{$id} // $user->{score};
        next if !defined $score && !%$user;

        if (!defined $score) {
            $self->violation("$id let in past those who wait");

        } elsif ($score > $first) {
            $self->violation("$id ($score) let in before $first");
        }
    }
}


sub lost ($self) {
    return sort map { "$_->{id} $_->{state}" }
           grep { $_->{state} !~ /^(?:left|done)$/ } $self->users;
}


sub report ($self) {
    my %states;
    $states{ $_->{state} }++ for $self->users;
    return join ', ', "$self->{looks} looks",
                "at most $self->{max_active} active",
                map({ "$states{$_} $_" } sort keys %states),
                map({ "$self->{errors}{$_} x $_" }
                    sort keys $self->{errors}->%*);
}


1;
