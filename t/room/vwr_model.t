# The scripts of the waiting room against a model that is not made of them:
# random calls of hosts that know more or less, at random times.  Where Redis
# keeps its data, every answer is what the model says; where it loses them, what
# was promised still holds.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;

my $redis = Admission::Redis->start;

# TEST_SEED repeats a run, TEST_HISTORIES makes it a longer one
my $seed = $ENV{TEST_SEED} // int rand 1e6;
my $histories = $ENV{TEST_HISTORIES} // 15;
my $CALLS = 120;

srand $seed;
note "TEST_SEED=$seed";

my $us;

sub now ($later) {
    $us += $later;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub pick (@of) { return $of[rand @of] }

sub host (%opt) {
    return Admission::Rooms->new($redis, %opt, edit => sub ($text) {
        $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
        return $text;
    });
}

my @TOGGLES = qw(activate restart resume deactivate config);

# what is done: the script, and its arguments

sub action () {
    my $x = rand;

    return $x < 0.35 ? [ 'assign', pick(1, 1, 2, 1 + int rand 40) ]
         : $x < 0.70 ? [ 'step' ]
         : $x < 0.82 ? [ 'admin', pick(@TOGGLES), 0 ]
         : $x < 0.90 ? [ 'admin', 'advance', pick(0, 1, 5, int rand 200) ]
         : $x < 0.95 ? [ 'admin', 'rate', pick(0, 1, 3, 70, 1_000_000) ]
         : $x < 0.97 ? [ 'admin', 'unrate', 0 ]
         :             [ 'admin', 'look', 0 ];
}

sub later () {
    my $x = rand;

    return $x < 0.2 ? int rand 3 : $x < 0.5 ? int rand 3e5
         : $x < 0.9 ? int rand 2e6 : $x < 0.98 ? int rand 8e6 : int rand 1e9;
}


# ---- the model: the room of contract, 5, in whole numbers

package Room {

    sub new ($class, %opt) {
        return bless { active => 0, activation => 0, next => 0, serving => 0,
                       part => 0, by => 'api', api_rate => -1, changed => 0,
                       moved => 0, clock => 0, known => 0, %opt }, $class;
    }

    sub rate ($m) { return $m->{api_rate} < 0 ? $m->{rate} : $m->{api_rate} }

    # the event's clock, as far as Redis and the host that calls know
    sub clock ($m) {
        return $m->{clock} < $m->{known} ? $m->{known} : $m->{clock};
    }

    # so many new times, one after the other: the first of them
    sub times ($m, $n) {
        my $first = $m->clock < $us ? $us : $m->clock + 1;
        $m->{clock} = $first + $n - 1;
        return $first;
    }

    # as far as time takes it: 3 s at once, and no further ahead of the last
    # position than the burst
    sub pass ($m) {
        return if !$m->{active};

        my $time = $us - $m->{moved};
        $time = 0 if $time < 0;
        $time = 3_000_000 if $time > 3_000_000;

        my $sum = $m->{part} + $m->rate * $time;
        my $most = $m->{next} + ($m->{burst} < 0 ? $m->rate : $m->{burst});
        my $to = $m->{serving} + int($sum / 1_000_000);

        $most = $m->{serving} if $most < $m->{serving};
        ($m->{serving}, $m->{part}) = $to >= $most ? ($most, 0)
                                                   : ($to, $sum % 1_000_000);
        $m->{moved} = $us;
    }

    sub decide ($m, $active, $by) {
        $m->{changed} = $m->times(1);
        @$m{qw(active by)} = ($active, $by);
        return 1;
    }

    sub activate ($m, $anew, $by) {
        if ($anew || !$m->{activation}) {
            $m->{activation} = $m->times(1);
            @$m{qw(next serving part)} = (0, 0, 0);
        }
        $m->{moved} = $us;
        return $m->decide(1, $by);
    }

    # result, and the time of the first ticket
    sub act ($m, $script, @args) {
        return $m->admin(@args), 0 if $script eq 'admin';

        if ($script eq 'step') {
            $m->pass;
            return 0, 0;
        }

        return 0, 0 if !$m->{active};

        my $first = $m->{next} + 1;
        $m->{next} += $args[0];
        return $first, $m->times($args[0]);
    }

    sub admin ($m, $what, $value) {
        my $on = $m->{active};

        return $m->activate(1, 'api') if $what eq 'restart';
        return $on ? 0 : $m->activate(1, 'api') if $what eq 'activate';
        return $on ? 0 : $m->activate(0, 'api') if $what eq 'resume';
        return $on ? 0 : $m->activate(0, 'config') if $what eq 'config';

        if ($what eq 'deactivate') {
            return 0 if !$on;
            $m->pass;
            return $m->decide(0, $m->{by});
        }

        if ($what eq 'advance') {
            $m->pass;
            my $by = $m->{next} - $m->{serving};
            $by = 0 if $by < 0;
            $by = $value if $by > $value;
            $m->{serving} += $by;
            return $by;
        }

        if ($what eq 'rate' || $what eq 'unrate' && $m->{api_rate} >= 0) {
            $m->pass;
            $m->{api_rate} = $what eq 'rate' ? $value : -1;
            return $m->decide($on, $m->{by});
        }

        return 0;
    }
}


sub said ($m, $result, $at) {
    my $clock = $m->clock < $us ? $us : $m->clock;

    return { us => $us, clock => $clock, result => $result, at => $at,
             rate => $m->rate, lost => 0, set_by => $m->{by},
             map { $_ => $m->{$_} } qw(active activation next serving api_rate
                                       changed) };
}


# One room to its end; undef at the first answer that is another one.

sub history ($wild) {
    my %terms = (rate => pick(0, 1, 50, 999), burst => pick(-1, 0, 1, 30));

    $redis->flushall;
    $us = 1_700_000_000_000_000;

    my $first = host(%terms);
    my @hosts = ($first, map { $first->other } 1 .. 2);
    my $model = Room->new(%terms);
    my @done;

    for my $n (1 .. $CALLS) {
        now(later());
        now(-int rand 1e7) if $wild && rand() < 0.05;

        my $host = pick(@hosts);
        $host->forget if rand() < 0.05;

        my $action = action();
        my ($script, @args) = @$action;

        $model->{known} = $host->{host}{clock} // 0;

        my $said = said($model, $model->act($script, @args));
        my $got = $host->$script(@args);
        my @wrong = grep { $said->{$_} ne $got->{$_} } sort keys %$said;

        push @done, "$us @$action";

        if (@wrong) {
            diag join "\n", @done;
            diag "$_: $got->{$_} is answered, not $said->{$_}" for @wrong;
            return;
        }
    }

    return 1;
}


for my $wild (0, 1) {
    my $right = 0;

    for (1 .. $histories) {
        history($wild) or last;
        $right++;
    }

    is $right, $histories, 'each answer is the model\'s'
        . ($wild ? ', when the clock goes back too' : '');
}


# ---- losses

# What holds whatever Redis has lost, as long as one of the hosts remembers:
# no position twice, times that increase, nothing that a host knew goes back.

sub losses () {
    my %terms = (rate => pick(1, 50, 999), burst => pick(-1, 0, 30));

    $redis->flushall;
    $us = 1_700_000_000_000_000;

    my $first = host(%terms);
    my @hosts = ($first, map { $first->other } 1 .. 2);
    my (%issued, @done, $last, $lost);

    for (1 .. $CALLS) {
        now(1000 + later());

        # all of it, or what a replica had not got yet; each host has stepped
        # within the last second, and since the loss before
        if (rand() < 0.06 && $us - ($lost // 0) > 1e6) {
            for my $host (grep { $us - ($_->{called} // 0) > 1e6 } @hosts) {
                $host->step;
                $host->{called} = $us;
                push @done, "$us a step";
            }

            $redis->cmd('DEL', rand() < 0.5 ? map { $first->key($_) }
                                              qw(vwr state epoch)
                                            : $first->key(pick(qw(vwr state))));
            $lost = $us;
            push @done, "$us lost";
        }

        my $host = pick(@hosts);
        my %knew = $host->{host}->%*;
        my $action = action();
        my ($script, @args) = @$action;
        my $got = $host->$script(@args);
        my @wrong;

        $host->{called} = $us;

        push @done, "$us @$action, by one who knows "
                    . join ' ', map { $knew{$_} // 0 }
                                qw(activation next serving active);

        if ($script eq 'assign' && $got->{result}) {
            for my $i (0 .. $args[0] - 1) {
                my $position = $got->{result} + $i;
                push @wrong, "$position twice"
                    if $issued{"$got->{activation} $position"}++;
            }

            push @wrong, "$got->{at} is no later time"
                if defined $last && $got->{at} <= $last;
            $last = $got->{at} + $args[0] - 1;
        }

        for my $name (qw(activation changed clock)) {
            push @wrong, "$name went back" if $got->{$name} < ($knew{$name} // 0);
        }

        if ($got->{activation} == ($knew{activation} // 0)) {
            for my $name (qw(next serving)) {
                push @wrong, "$name went back" if $got->{$name} < ($knew{$name} // 0);
            }
        }

        push @wrong, 'nothing was lost' if $got->{lost} && !$lost;

        if (@wrong) {
            diag join "\n", @done;
            diag $_ for @wrong;
            return;
        }
    }

    return 1;
}

my $kept = 0;

for (1 .. $histories) {
    losses() or last;
    $kept++;
}

is $kept, $histories, 'what was promised holds over losses';

done_testing;
