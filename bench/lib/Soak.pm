# The soak: a site, crowds, faults, and what watches over them.

package Soak;

use v5.36;

use List::Util qw(max sum0);
use Time::HiRes qw(time);

use Admission::Swarm;
use Admission::Test;

use Soak::Crowd;
use Soak::Faults;
use Soak::Site;
use Soak::Watch;


# Each has a share of the users, some of whom are in several.  Seconds; what
# the crowd has to know of it is here once, for configuration and crowd.

my %EVENTS = (
    concert => { share => 1, slots => 0.15, admit_interval => 0.2,
                 claim_ttl => 20, seen_ttl => 30, active_ttl => 30,
                 session_max => 180, restore_wait => 6 },
    derby   => { share => 0.3, slots => 0.1, admit_interval => 1,
                 claim_ttl => 15, seen_ttl => 40, active_ttl => 40,
                 session_max => 240, restore_wait => 8 },
    flash   => { share => 0.2, slots => 0.2, admit_interval => 0.1,
                 claim_ttl => 1, seen_ttl => 2, active_ttl => 2,
                 session_max => 5, restore_wait => 1, tiny => 1 },
);


sub new ($class, %opt) {
    my $self = bless { %opt, started => time, wrong => [], ports => {} },
        $class;

    srand $self->{seed};

    my $users = $self->{users};
    my $poll = max(1, $users / 150);        # some 200 calls a second
    my @lines;

    for my $name (sort keys %EVENTS) {
        my %event = %{ $EVENTS{$name} };

        $event{seen_ttl} = max($event{seen_ttl}, 8 * $poll)
            unless $event{tiny};
        $event{users} = int($users * $event{share}) || 1;
        $event{threshold} = int($event{users} * $event{slots}) || 1;
        $event{poll} = $event{tiny} ? max(0.5, $poll / 4) : $poll;
        $self->{events}{$name} = \%event;

        push @lines, join(' ', $name,
            "threshold=$event{threshold}",
            map { "$_=" . 1000 * $event{$_} . 'ms' }
                qw(admit_interval claim_ttl seen_ttl active_ttl session_max
                   restore_wait)) . ';';
    }

    # written before it is answered, so that a crash loses nothing

    $self->{site} = Soak::Site->start(
        instances => $self->{instances}, workers => 2, connections => 4096,
        event => '$arg_e', zone => '1m', events => join("\n        ", @lines),
        redis_opt => { clock => 1, config => [ 'appendonly yes',
                                               'appendfsync no' ] });

    $self->{up}{$_} = time for 0 .. $self->{instances} - 1;

    for my $nginx ($self->{site}{nginx}->@*) {
        $nginx->allow(qr/exited on signal 9/, qr/zone "\w+" was locked by/,
                      qr/a process died while it changed the zone/);
    }

    $self->{watch} = Soak::Watch->new($self);
    $self->{swarm} = Admission::Swarm->new(connections => 400, retry => 1);

    for my $name (sort keys $self->{events}->%*) {
        $self->{crowds}{$name} = Soak::Crowd->new(
            $self->{events}{$name}->%*, event => $name, soak => $self,
            site => $self->{site}, swarm => $self->{swarm});
    }

    $self->{faults} = Soak::Faults->new($self);
    return $self;
}


sub site ($self)   { return $self->{site} }
sub redis ($self)  { return $self->{site}->redis }
sub crowds ($self) { return map { $self->{crowds}{$_} }
                            sort keys $self->{crowds}->%* }


# All of it; returns the exit status.

sub soak ($self) {
    my $seconds = 60 * $self->{minutes};

    printf "%d users, %d instances of 2 workers, %.1f minutes, --seed %d\n",
           @$self{qw(users instances minutes seed)};

    $self->{begun} = time;
    $self->{end} = time + $seconds;

    $_->begin_all for $self->crowds;
    $self->every(0.3, sub { $_->look for $self->crowds });
    $self->every(2, sub { $self->{watch}->sample });
    $self->every(5, sub { $self->print_line });
    $self->{faults}->begin;

    # where the machine is slow each fault takes its time

    my $kinds = sub { return scalar keys $self->{faults}{counts}->%* };

    $self->{swarm}->run(timeout => 5 * $seconds, until => sub {
        time > $self->{end} && $kinds->() >= $self->{kinds} });

    # nothing goes wrong any more: everybody gets in and goes

    $self->{faults}->lift;
    $self->say_at('no more faults, and nobody comes any more');
    $_->end_all for $self->crowds;

    my $ended = $self->{swarm}->run(timeout => 300, until => sub {
        !grep { !$_->is_done } $self->crowds });

    $self->print_line;

    if (!$ended) {
        $self->wrong(map { $_->left } $self->crowds);
    }

    $self->{watch}->quiet;
    $self->wrong($self->{watch}->verdict);

    print $self->report;
    $self->wrong(Admission::Test::end(scalar $self->{wrong}->@*));

    my $wrong = $self->{wrong}->@*;
    print $wrong ? "soak: FAILED, $wrong found wrong\n" : "soak: ok\n";
    return $wrong ? 1 : 0;
}


sub every ($self, $seconds, $code) {
    my $again;
    $again = sub {
        $code->();
        $self->{swarm}->timer($seconds, $again);
    };
    $again->();
}


# ---- what is said

sub say_at ($self, $text) {
    printf "%6.1f s  %s\n", time - ($self->{begun} // time), $text;
}


# What is wrong: as it is found, but not without end.

sub wrong ($self, @texts) {
    for my $text (@texts) {
        push $self->{wrong}->@*, $text;
        $self->say_at("WRONG: $text") if $self->{wrong}->@* <= 50;
    }
}


sub print_line ($self) {
    my $calls = sum0(map { $_->{calls} } $self->crowds);
    my $past = time - ($self->{lined} // $self->{begun});
    my $rate = $past > 0 ? ($calls - ($self->{calls} // 0)) / $past : 0;

    @$self{qw(calls lined)} = ($calls, time);

    $self->say_at(join '; ',
        join(', ', map { $_->summary } $self->crowds),
        sprintf('%.0f calls/s', $rate), $self->{watch}->summary,
        $self->{faults}->summary);
}


sub report ($self) {
    my %errors;

    for my $crowd ($self->crowds) {
        $errors{$_} += $crowd->{errors}{$_} for keys $crowd->{errors}->%*;
    }

    return join '', map { "$_\n" }
        'faults: ' . $self->{faults}->counts,
        'answers other than 200: '
            . (join(', ', map { "$_ x $errors{$_}" } sort keys %errors)
               || 'none'),
        map { $_->report } $self->crowds;
}


1;
