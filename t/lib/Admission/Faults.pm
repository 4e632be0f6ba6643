# A crowd at a site of two instances while something happens to Redis, and
# what the users saw of it, by NGINX's own log.
#
#     my $faults = Admission::Faults->new(redis => $cluster, users => 400);
#     $faults->at(3, 'the master dies', sub { ... });
#     $faults->run;           # all that has to hold, whatever happened
#     $faults->outages;       # [[from, to], ...], in seconds of its time

package Admission::Faults;

use v5.36;

use List::Util qw(max sum0);
use Time::HiRes qw(time);

use Admission::Crowd;
use Admission::Site;
use Admission::Test ();

BEGIN {
    *slow = \&Admission::Test::slow;
    *read_file = \&Admission::Test::read_file;
}


# redis, users, event (concert), threshold (30), timeout in ms (1000), arrive,
# stay, time of the run (240); lossy: Redis may forget what it had acknowledged
# just before: until the hosts that know of it say so, others may be let in
#
# Twice as many as may be in come at once in the beginning, and stay until all slots
# were seen used, however few of the others are there at a time.  Others come until
# all faults have happened and all that is watched was seen, however long that takes.

sub new ($class, %opt) {
    my $self = bless { users => 300, event => 'concert', threshold => 30,
                       timeout => 1000, arrive => 8, stay => [0.2, 1],
                       run => 240, %opt,
                       windows => [], watched => {}, waits => [],
                       samples => [] }, $class;

    my $timeout = $self->{timeout} * slow;

    Admission::Test::watched();

    $self->{site} = Admission::Site->start(
        instances => 2, connections => 1024, redis => $self->{redis},
        event => $self->{event},
        timeout => "${timeout}ms",
        http => 'log_format faults "$msec $request_time $status $uri";'
                . ' access_log faults.log faults;',
        events => "default threshold=$self->{threshold} admit_interval=200ms "
                  . 'claim_ttl=20s seen_ttl=30s restore_wait=3s '
                  . 'active_ttl=30s;');

    $self->{crowd} = Admission::Crowd->new(
        site => $self->{site}, users => $self->{users},
        threshold => $self->{threshold}, arrive => $self->{arrive},
        poll => 0.5, stay => $self->{stay}, leave => 0.1, look => 0.2,
        seen_ttl => 30, fill => 10, lossy => $self->{lossy},
        while => sub { $self->goes_on });
    $self->{crowd}->come(2 * $self->{threshold}, 0.2);

    return $self;
}


sub goes_on ($self) {
    return ($self->{happened} // 0) < ($self->{faults} // 0)
           || grep { !$self->{seen}{$_} } keys $self->{watched}->%*;
}


sub site ($self)  { return $self->{site} }
sub crowd ($self) { return $self->{crowd} }


# After so many seconds, and when what `when` asks is true, something happens
# by which calls may fail for as long as `outage` says (0: none) after it is
# done; with `until`, a name that is watched, for 3 s after that was seen as well,
# since nobody knows how often replicas have to vote.  Or it ends what made the
# last outage, which lasts for as long as `over` says from then on.

sub at ($self, $seconds, $what, $code, %opt) {
    my $swarm = $self->{crowd}{swarm};
    my $start = time;
    my $happen;

    $happen = sub {
        return $swarm->timer(0.1, $happen)
            if $opt{when} && !eval { $opt{when}->() };

        my $now = time;
        Test::More::note(sprintf 'at %.1f s: %s', $now - $start, $what);

        my $window = [ $now, $now, $opt{until} ];

        push $self->{windows}->@*, $window if $opt{outage};
        $code->();
        $window->[1] = time + $opt{outage} * slow if $opt{outage};

        my $last = $self->{windows}[-1];
        $last->[1] = max($last->[1], time + $opt{over} * slow) if $opt{over};

        $self->{happened}++;
    };

    $swarm->timer($seconds, $happen);
    $self->{faults}++;
}


# When the code returns true, asked every 20 ms, from a fault on: its name
# and the time are remembered.

sub watch ($self, $name, $code) {
    my $again;
    $self->{watched}{$name} = 1;
    $again = sub {
        return $self->{seen}{$name} = time if eval { $code->() };
        $self->{crowd}{swarm}->timer(0.02, $again);
    };
    $again->();
}


# [end, took, status, uri] of every request, in order of the ends

sub requests ($self) {
    return sort { $a->[0] <=> $b->[0] }
           map { [ split ] }
           map { split /\n/, read_file($_->dir . '/faults.log') }
           map { $self->{site}->nginx($_) } 0, 1;
}


sub run ($self) {
    my $crowd = $self->{crowd};

    $self->look_at_load;
    Test::More::ok($crowd->run($self->{run}), 'everybody got in or left')
        or Test::More::diag(join "\n", ($crowd->lost)[0 .. 20]);
    Test::More::note($crowd->report);
    Test::More::is($self->{happened}, $self->{faults}, 'all faults happened');

    my @broken = map { $crowd->{violations}[$_] }
                 grep { !$self->{lossy}
                        || $crowd->{violations}[$_] !~ /^\d+ (?:in|act)/
                        || !$self->in_outage($crowd->{violated_at}[$_]) }
                 0 .. $crowd->{violations}->$#*;

    for my $i (0 .. $crowd->{violations}->$#*) {
        my $at = $crowd->{violated_at}[$i];
        Test::More::note(sprintf 'violation, %.1f s after the last fault%s: %s',
                         $at - ($self->{windows}->@* ? $self->{windows}[-1][0] : $at),
                         $self->in_outage($at) ? ', in its outage' : '',
                         $crowd->{violations}[$i]);
    }
    Test::More::is_deeply(\@broken, [], 'no invariant was broken');
    Test::More::cmp_ok($crowd->{max_active}, '>=', $self->{threshold},
                       'all slots were used');

    my @thrown = map { $_->{id} } grep { $_->{thrown} } $crowd->users;
    Test::More::is_deeply(\@thrown, [], 'nobody was let in and had to wait');

    # an admission that Redis forgot before anybody heard of it comes again
    my @twice = $self->{lossy} ? () : map { "$_->{id}: $_->{admissions}" }
                grep { $_->{admissions} > 1 && ($_->{silence} // 0) < 18 }
                $crowd->users;
    Test::More::is_deeply(\@twice, [], 'nobody was let in twice');

    my @fallen = map { $_->{id} } grep { $_->{lost} } $crowd->users;
    Test::More::is_deeply(\@fallen, [], 'nobody fell out of the queue');
    Test::More::is(scalar(grep { !$_->{booked} } $crowd->in_state('done')), 0,
                   'everybody who got in has booked');

    $self->check_times;
}


sub in_outage ($self, $time) {
    return !!grep { $time >= $_->[0] && $time <= $self->end_of($_) }
           $self->{windows}->@*, $self->standstills;
}


# A machine that stands still for long enough is an outage as well.

sub standstills ($self) {
    return map { [ $_->[0], $_->[1] + 3 * slow ] }
           grep { $_->[1] - $_->[0] > $self->{timeout} / 4000 * slow }
           Admission::Test::watched();
}


# Nor is it the site's fault that a call is late where others have the processors:
# NGINX, Redis and what is between them are three, which have waited for most of its
# time then, of all processes but the test's own.

sub look_at_load ($self) {
    my ($samples, $now) = ($self->{samples}, time);
    my $timeout = $self->{timeout} / 1000 * slow;

    # processes come and go, and it takes time to find them

    @$self{qw(found processes)}
        = ($now, [ grep { $_ != $$ } keys %{{ Admission::Test::waits() }} ])
        if $now - ($self->{found} // 0) > 1;

    push @$samples, [ $now, { Admission::Test::waits($self->{processes}->@*) } ];
    shift @$samples while $now - $samples->[0][0] > $timeout + 0.5;

    my ($then, $before) = $samples->[0]->@*;
    my $waits = $samples->[-1][1];
    my @most = sort { $b <=> $a } map { $waits->{$_} - $before->{$_} }
               grep { exists $before->{$_} } keys %$waits;

    push $self->{waits}->@*, [ $then, $now,
                               sum0 grep { defined } @most[0 .. 2] ];
    $self->{crowd}{swarm}->timer(0.25, sub { $self->look_at_load });
}

# for as long as breakers may be open after it

sub was_busy ($self, $time) {
    my $least = $self->{timeout} / 2000 * slow;

    return !!grep { $_->[2] > $least && $time >= $_->[0]
                    && $time <= $_->[1] + 3 * slow } $self->{waits}->@*;
}

# What a request took, but for what the machine stood still or these waited.

sub net ($self, $request) {
    my ($to, $took) = @$request;
    my $from = $to - $took;

    return $took - max(Admission::Test::stood($from, $to),
                       map { $_->[2] } grep { $_->[0] <= $to && $_->[1] >= $from }
                                       $self->{waits}->@*);
}


sub end_of ($self, $window) {
    my (undef, $to, $until) = @$window;

    return $to if !defined $until;
    return max($to, ($self->{seen}{$until} // time) + 3 * slow);
}


# By NGINX's log: nothing took longer than the deadline and 100 ms in which others
# did not have the processors, nor did the machine stand still, nothing but a 503
# went wrong, and that in the time of an outage.

sub check_times ($self) {
    my $most = ($self->{timeout} / 1000 + 0.1) * slow;
    my @requests = $self->requests;
    my @failed = grep { $_->[2] >= 500 } @requests;
    my @queue = sort { $a <=> $b }
                map { $_->[1] <= $most ? $_->[1] : $self->net($_) }
                grep { $_->[3] =~ m{^/api/queue/} } @requests;

    # what a request without Redis takes where the machine is busy
    my $stall = max map { $_->[1] }
                    grep { $_->[3] !~ m{^/api/queue/} } @requests;

    Test::More::note(sprintf '%d requests, the longest %.3f s, without Redis '
                     . '%.3f s; %d x 503', scalar @requests, $queue[-1],
                     $stall, scalar @failed);

    Test::More::cmp_ok($queue[$#queue * 0.99], '<=', $most,
                       'calls end within the deadline and 100 ms');
    Test::More::cmp_ok($queue[-1], '<=', $most + $stall,
                       'all of them, but for what others take here');

    if ($queue[-1] > $most + $stall) {
        Test::More::diag("@$_") for grep { $_->[1] > $most } @requests;
    }
    Test::More::is(scalar(grep { $_->[2] != 503 } @failed), 0,
                   'what failed was a 503');

    my @stray = grep { !$self->in_outage($_->[0]) && !$self->was_busy($_->[0]) }
                @failed;

    Test::More::is(scalar @stray, 0, 'errors only in the outage')
        or Test::More::diag(join "\n", map { "@$_" } @stray[0 .. 9]);

    for my $i (0 .. $self->{windows}->$#*) {
        my $from = $self->{windows}[$i][0];
        my $to = $self->end_of($self->{windows}[$i]);
        my @in = grep { $_->[0] >= $from && $_->[0] <= $to } @failed;
        Test::More::note(@in
            ? sprintf('outage %d: %d x 503, the first after %.2f s, the last '
                      . 'after %.2f s', $i + 1, scalar @in,
                      $in[0][0] - $from, $in[-1][0] - $from)
            : sprintf('outage %d: not noticed', $i + 1));
    }
}


# Seconds from what was watched to the first answer of the queue that was no
# error, begun after it, but for those in which the machine stood still.

sub back_after ($self, $name) {
    my $seen = $self->{seen}{$name} // return;

    my ($first) = grep { $_->[2] == 200 && $_->[3] =~ m{^/api/queue/}
                         && $_->[0] - $_->[1] >= $seen - 0.02 }
                  $self->requests;

    return $first ? $first->[0] - $seen - Admission::Test::stood($seen, $first->[0])
                  : undef;
}


1;
