# The users of one event of the soak.  Each comes, waits, now and then
# vanishes or closes the page, gets in, books, leaves, and comes again, until
# the end.  Besides what Admission::Crowd looks out for:
#
#   fell     nobody who is heard of falls out of the line, or out
#   twice    nobody who stays is let in again
#   spent    no place counts after its holder was in or left, or after a clear
#   gate     who is in passes; who left or was cleared away does not, anywhere
#   stands   the line moves while there are free slots
#
# as far as what goes wrong at the time allows.

package Soak::Crowd;

use v5.36;

use List::Util qw(max min);
use Time::HiRes qw(time);

use Admission::Crowd;
use Admission::JWT;
use Admission::Test ();

use parent -norequire, 'Admission::Crowd';

my $FOREVER = 9**99;


# soak, site, swarm, event; users, threshold, poll, seen_ttl, active_ttl,
# restore_wait, tiny: see Soak

sub new ($class, %opt) {
    my $self = bless {
        stay => [0.2, 4], idle => 6, %opt,
        ceiling => $opt{threshold}, cleared => 0, hold => 0, admissions => 0,
        calls => 0, looks => 0, errors => {}, max_active => 0,
    }, $class;

    for my $n (1 .. $self->{users}) {
        my $user = { id => "user-$n", state => 'idle',
                     token => $self->{site}->user("user-$n") };
        $self->{user}{ $user->{id} } = $user;
    }

    return $self;
}


sub begin_all ($self) {
    $self->later(rand 10, $_, 'begin') for $self->users;
}


# Nobody comes any more; who is away is back now.

sub end_all ($self) {
    $self->{ending} = 1;

    for my $user (grep { $_->{away} } $self->users) {
        $self->{swarm}->cancel(delete $user->{away});
        $self->later(rand 2, $user, 'poll');
    }
}

sub is_done ($self) { return !grep { $_->{state} ne 'done' } $self->users }

sub left ($self) {
    return map { "$_->{id} of $self->{event} is still $_->{state}" }
           grep { $_->{state} ne 'done' } $self->users;
}


# With what Redis has of the user at the moment, if it is about one.

sub violation ($self, $text) {
    my ($user) = $text =~ /^(user-\d+)/;

    $self->{soak}->wrong("$self->{event}: $text"
                         . ($user ? ' (' . $self->known_of($user) . ')' : ''));
}


sub known_of ($self, $id) {
    my $redis = $self->{site}->redis;
    my $user = $self->{user}{$id};

    return 'Redis is away' if !$self->{soak}{faults}->redis_answers;

    my @known = map {
        my ($score) = $redis->try('ZSCORE', "{$self->{event}}:$_", $id);
        defined $score ? "$_ $score" : ();
    } qw(queue seen active active-seen admitted done revoked leaving);

    my ($now) = $redis->try('TIME');
    my ($state) = $redis->try('HMGET', "{$self->{event}}:state", 'clock', 'gap');

    return join ', ', @known, "entry of " . ($user->{adm} // 'none'),
                'time ' . join('.', ($now // [])->@*),
                map { $_ // 'none' } 'clock', $state->[0], 'gap', $state->[1];
}

sub between ($range) { return Admission::Crowd::between($range) }


# ---- a user

sub begin ($self, $user) {
    return $user->{state} = 'done' if $self->{ending};

    # some go on to show what they hold of before: it must not count
    $user->{keeps} = rand() < 0.2 && $user->{held}
                     && !$self->lost_since($user->{held});

    delete @$user{qw(place entry)} if !$user->{keeps};
    delete @$user{qw(joined adm until heard back)};

    $user->{state} = 'new';
    $user->{loose} = $self->{tiny};
    $self->poll($user);
}


# comes again after a while

sub idle ($self, $user) {
    $user->{state} = 'idle';
    $user->{held} = time;
    $self->later($self->{ending} ? 0 : -log(1 - rand) * $self->{idle},
                 $user, 'begin');
}


sub api ($self, $user, $method, $call, $callback, $failed = undef) {
    my $sent = time;

    $self->{calls}++;
    $self->call($user, $method, "/api/queue/$call", sub ($r) {
        return $callback->($r->json, $sent) if $r->status == 200;

        $self->failed("$call", $r);
        $failed->();
    });
}


# 503 is what faults are told by, and connections break; nothing else is right

sub failed ($self, $call, $r) {
    my $status = $r->status || ($r->error // '') =~ s/:.*//r;

    $self->{errors}{$status}++;
    $self->violation("$call: $status " . $r->body)
        if $r->status && $r->status != 503;
}


sub poll ($self, $user) {
    my $calls = $user->{state} eq 'new' || rand() < 0.6 ? 'POST check'
                : rand() < 0.5 ? 'GET status' : 'POST heartbeat';
    my ($method, $call) = split ' ', $calls;

    $self->api($user, $method, "$call/$self->{event}",
               sub ($json, $sent) { $self->heard($user, $json, $sent) },
               sub { $self->later($self->{poll}, $user, 'poll') });
}


sub heard ($self, $user, $json, $sent) {

    # an answer of before the clear says nothing of what is now
    if ($sent < $self->{cleared}) {
        $user->{state} = 'new';
        return $self->later($self->{poll}, $user, 'poll');
    }

    # a page that was closed is back: in time, or perhaps not
    if (my $closed = delete $user->{closed}) {
        $user->{loose} = 1 if time - $closed > 8;
    }

    my $status = $json->{status} // 'in heartbeat';
    my $was = $user->{state};
    my $silent = time - ($user->{heard} // time);

    $user->{heard} = time;
    $user->{back} = time if $silent > 0.6 * $self->{seen_ttl};

    if ($was eq 'in' && $status ne 'active' && !$user->{loose}
        && $silent < 0.8 * $self->{active_ttl})
    {
        $self->violation("$user->{id} was in and is $status, "
                         . sprintf 'unheard for %.1f s', $silent);
    }

    return $self->wait_on($user, $json, $was) if $status eq 'queued';
    return $self->enter($user, $json, $was) if $status eq 'active';

    $self->violation("$user->{id} was waiting at $user->{joined} and is "
                     . $status)
        if $was eq 'waiting' && $user->{joined} && !$user->{loose};

    delete $user->{joined};
    $user->{state} = 'new';
    $self->later($self->{poll}, $user, 'poll');
}


sub wait_on ($self, $user, $json, $was) {

    # was in, and has to wait again: as somebody new
    delete @$user{qw(joined adm until entry)} if $was eq 'in';

    if ($json->{place}) {
        my $score = jwt_decode($json->{place})->{score};

        $self->violation("$user->{id} joined at $user->{joined} and is told "
                         . $score)
            if $user->{joined} && $score != $user->{joined}
               && !$user->{loose};

        $self->violation("$user->{id} is back at $score, which was spent")
            if $user->{spent} && $score == $user->{spent}
               && !$self->lost_since($user->{spent_at}) && !$self->{tiny};

        $user->{place} = $json->{place};
        $user->{joined} = $user->{score} = $score;
    }

    $user->{state} = 'waiting';

    return $self->leave($user) if rand() < 0.02;
    return $self->vanish($user, [1, 1.5 * $self->{seen_ttl}])
        if rand() < 0.02;
    return $self->close_page($user) if rand() < 0.03;

    $self->later($self->{poll} * (0.7 + rand 0.6), $user, 'poll');
}


sub enter ($self, $user, $json, $was) {
    my $claims = $json->{entryToken} ? jwt_decode($json->{entryToken}) : {};
    my $adm = $claims->{adm};

    if ($adm) {
        $self->violation("$user->{id} was let in at $user->{adm} and again "
                         . "at $adm")
            if $was eq 'in' && $user->{adm} && $user->{adm} != $adm
               && !$user->{loose};

        @$user{qw(entry adm entered)} = ($json->{entryToken}, $adm, time);
    }

    $user->{state} = 'in';
    $self->spend($user);

    if ($was ne 'in' || !$user->{until}) {
        $user->{until} = time + between($self->{stay});
        return $self->book($user);
    }

    if (time > $user->{until}) {
        return $self->close_page($user) if rand() < 0.1;
        return $self->leave($user);
    }

    return $self->vanish($user, [1, 1.5 * min(20, $self->{active_ttl})])
        if rand() < 0.03;
    return $self->book($user) if rand() < 0.5;

    $self->later($self->{poll} * (0.7 + rand 0.6), $user, 'poll');
}


# The place at which the user stood does not count any more.

sub spend ($self, $user) {
    my $joined = delete $user->{joined} or return;
    @$user{qw(spent spent_at)} = ($joined, time);
}


# Through the gate, mostly without the backend.

sub book ($self, $user) {
    return $self->poll($user) if $user->{state} ne 'in' || !$user->{entry};

    my ($entered, $sent) = ($user->{entered}, time);
    my $path = rand() < 0.8 ? '/gated' : rand() < 0.7 ? '/strict'
               : '/api/reservations';

    $self->{calls}++;
    $self->call($user, 'GET', "$path?e=$self->{event}", sub ($r) {
        my $status = $r->status;

        if ($status == 403) {
            $self->{errors}{'gate 403'}++;
            $self->violation("$user->{id} is in and $path says 403")
                if $self->should_pass($entered, $sent);

        } elsif ($status != 200) {
            $self->failed($path, $r);
        }

        $self->later(min($self->{poll}, max(0.1, $user->{until} - time)),
                     $user, 'poll');
    });
}


sub should_pass ($self, $entered, $sent) {
    my $soak = $self->{soak};

    return !$self->{tiny} && $sent > $self->{cleared}
           && time - $entered < 0.5 * $self->{active_ttl}
           && !$soak->{faults}->happened('clock', $entered - 5)
           && !$self->lost_since($entered - 2 * $self->{restore_wait});
}


sub leave ($self, $user) {
    $user->{state} = 'leaving';

    my ($entry, $adm) = @$user{qw(entry adm)};
    my $method = rand() < 0.5 ? 'POST' : 'DELETE';

    $self->spend($user);
    $self->api($user, $method, "leave/$self->{event}", sub ($json, $sent) {
        $self->try_later($user, $entry, time, 'left')
            if $adm && !$self->{tiny} && rand() < 0.3;
        $self->idle($user);

    }, sub { $self->later($self->{poll}, $user, 'leave') });
}


# No word for some time; then there again, with all that a browser keeps.

sub vanish ($self, $user, $away) {
    my $seconds = $self->{ending} ? 1 : between($away);

    $user->{away} = $self->{swarm}->timer($seconds, sub {
        delete $user->{away};
        $self->poll($user);
    });
}


# The page closes: a refresh, back at once, or for long enough to be out.

sub close_page ($self, $user) {
    my $refresh = $self->{ending} || rand() < 0.6;
    my $sent = time;

    $self->{calls}++;
    $self->call($user, 'POST', "/api/queue/leave/$self->{event}?beacon=1",
        sub ($r) {
            $self->failed('beacon', $r) if $r->status != 200;
        });

    $user->{closed} = $sent;
    $self->later($refresh ? rand 5 : 12 + rand 6, $user, 'poll');
}


# ---- tokens of those who are out

# A copy of a token is refused by all hosts within a second; more is allowed,
# for the machine is busy.

sub try_later ($self, $user, $entry, $since, $what) {
    $self->{swarm}->timer(4 * Admission::Test::slow, sub {
        $self->try_copy($user, $entry, $since, $what, $_)
            for 0 .. $self->{soak}{instances} - 1;
    });
}


sub try_copy ($self, $user, $entry, $since, $what, $i) {
    my $faults = $self->{soak}{faults};
    my $known = sub {
        return !$faults->happened('redis', $since)
               && !$faults->happened('worker stopped', $since)
               && ($self->{soak}{up}{$i} // $FOREVER) < $since;
    };

    return if !$known->();

    $self->{calls}++;
    $self->{swarm}->request(
        $self->{site}->port($i), 'GET', "/gated?e=$self->{event}",
        [ Authorization => "Bearer $user->{token}",
          'X-Queue-Entry-Token' => $entry ],
        sub ($r) {
            $self->{copies}++ if $r->status == 403;
            $self->violation("$user->{id} $what, and instance $i lets a copy "
                             . 'of the token pass')
                if $r->status == 200 && $known->();
        });
}


# ---- what faults do to the crowd

# Data was lost since.

sub lost_since ($self, $time) {
    return $self->{soak}{faults}->happened('flush', $time);
}


# Data is lost now: who was in comes back as who is in, until their tokens
# have run out.  Those who left are known to hosts, but not to one that starts
# after it: nobody tries.

sub note_loss ($self) {
    for my $user (grep { $_->{keeps} && !$_->{adm} } $self->users) {
        delete @$user{qw(place entry)} if $user->{state} ne 'waiting';
        delete $user->{entry};
    }

    delete @$self{qw(seen last_admission)};
    $self->{hold} = time + $self->{restore_wait} + $self->{active_ttl} + 5;
    delete $self->{stands};
}


# While a clear is under way answers say nothing; after it all that was is
# void.

sub clear_begins ($self) { $self->{cleared} = $FOREVER }

sub clear_done ($self) {
    $self->{cleared} = time;
    delete $self->{seen};

    for my $user ($self->users) {
        $self->spend($user);

        $self->try_later($user, $user->{entry}, time, 'was cleared away')
            if $user->{state} eq 'in' && $user->{entry} && !$self->{tiny}
               && rand() < 0.2;

        delete @$user{qw(adm until entry)} if $user->{state} eq 'in';
        $user->{state} = 'new' if $user->{state} =~ /^(?:in|waiting)$/;
    }
}


# A threshold is being set: both count until it is; then who is in above the
# new one goes on, and nobody else comes in.

sub threshold_begins ($self, $n) {
    $self->{setting} = 1;
    $self->{ceiling} = max($self->{ceiling}, $n);
}

sub threshold_done ($self, $n) {
    $self->{setting} = 0;
    $self->{threshold} = $n;
    $self->{set_at} = time;
}


# ---- the look-out

my $LOOK = <<'LUA';
return { redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),
         redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'),
         redis.call('XRANGE', KEYS[3], ARGV[1], '+'),
         redis.call('GET', KEYS[4]) }
LUA

sub look_at_redis ($self) {
    return if !$self->{soak}{faults}->redis_answers;

    my $last = $self->{last_admission};
    my ($reply, $error) = $self->{site}->redis->try(
        'EVAL', $LOOK, 4,
        (map { "{$self->{event}}:$_" } qw(active queue admissions threshold)),
        $last ? "($last" : '-');

    return if $error;

    my ($active, $waiting, $stream, $threshold) = @$reply;
    $self->{last_admission} = $stream->[-1][0] if @$stream;

    return { active => { @$active }, waiting => { @$waiting },
             threshold => $threshold,
             admitted => [ map { my %e = $_->[1]->@*; $e{userId} }
                           @$stream ] };
}


sub look ($self) {
    my $seen = $self->look_at_redis or return;

    # whom a clear that is under way has cleared away may have joined again

    my $clearing = $self->{cleared} == $FOREVER;
    my $before = $clearing ? undef : $self->{seen};
    my $active = keys $seen->{active}->%*;
    my $held = time < $self->{hold} || $self->{setting};

    $self->{looks}++;
    $self->{admissions} += $seen->{admitted}->@*;
    $self->{max_active} = max($self->{max_active}, $active);
    $self->{seen} = $seen;

    $self->violation("$active active, at most $self->{ceiling} may be")
        if $active > $self->{ceiling};

    for my $id (grep { exists $seen->{waiting}{$_} } keys $seen->{active}->%*) {
        $self->violation("$id is in and waits");
    }

    for my $id ($clearing ? () : keys $seen->{waiting}->%*) {
        my $user = $self->{user}{$id};
        my $joined = $user->{joined};
        my $score = $seen->{waiting}{$id};

        $self->violation("$id joined at $joined and stands at $score")
            if $joined && $score != $joined && !$user->{loose}
               && !$user->{closed};
    }

    my $inside = $self->inside;
    $self->violation("$inside inside, at most $self->{ceiling} may be")
        if $inside > $self->{ceiling};

    $self->look_at_order($before, $self->those_there($seen))
        if $before && !$self->{tiny};
    $self->look_at_threshold($seen) if !$held;
    $self->look_at_progress($seen);

    # who is in above a lowered threshold goes, one by one
    $self->{ceiling} = max($self->{threshold},
                           min($self->{ceiling}, $active)) if !$held;
}


# Without those who are away, or just back: between two looks they may have been
# out for not being seen, and in again by their places.

sub those_there ($self, $seen) {
    my $now = time;

    my @there = grep {
        my $user = $self->{user}{$_};
        ($user->{heard} // 0) > $now - 0.6 * $self->{seen_ttl}
            && ($user->{back} // 0) < $now - 20;
    } keys $seen->{waiting}->%*;

    return { %$seen, waiting => { map { $_ => $seen->{waiting}{$_} } @there } };
}


# Who knows to be in and was heard of, so that the slot must be there.

sub inside ($self) {
    my $recent = time - $self->{active_ttl} / 2;
    return scalar grep { $_->{heard} > $recent && !$_->{loose} && !$_->{closed}
                       } $self->in_state('in');
}


sub look_at_threshold ($self, $seen) {
    my $in_force = $seen->{threshold} // $self->{soak}{events}{ $self->{event} }
                                              {threshold};

    return if $in_force == $self->{threshold};

    $self->violation("the threshold is $in_force instead of "
                     . $self->{threshold});
    $self->{threshold} = $in_force;
    $self->{ceiling} = max($self->{ceiling}, $in_force);
}


sub look_at_progress ($self, $seen) {
    my $faults = $self->{soak}{faults};
    my $stands = $seen->{waiting}->%*
                 && !$seen->{admitted}->@*
                 && keys $seen->{active}->%* < $self->{threshold}
                 && time > $self->{hold}
                 && !$faults->happened('redis', time - 5);

    return delete $self->{stands} if !$stands;
    return if time - ($self->{stands} //= time) < 15 * Admission::Test::slow;

    $self->violation(sprintf 'nobody was let in for 15 s, %d wait, %d of %d '
                             . 'are active', scalar keys $seen->{waiting}->%*,
                             scalar keys $seen->{active}->%*,
                             $self->{threshold});
    delete $self->{stands};
}


# ---- what is said

sub summary ($self) {
    my $seen = $self->{seen} // {};
    return sprintf '%s %d/%d+%d', $self->{event},
                   scalar keys(($seen->{active} // {})->%*), $self->{threshold},
                   scalar keys(($seen->{waiting} // {})->%*);
}


sub report ($self) {
    return sprintf '%s: %d users, %d calls, %d admissions, %d looks, at most '
                   . '%d active, %d copied tokens refused',
                   $self->{event}, $self->{users}, $self->{calls},
                   $self->{admissions}, $self->{looks}, $self->{max_active},
                   $self->{copies} // 0;
}


1;
