# The script that steers admission by the backend, called as
# src/host/follow_call.c calls it: an object is a host, which measures requests by
# the rules of docs/follow.md, and tells of them.

package Admission::Follow;

use v5.36;

use Admission::Scripts;
use Admission::Test;

# of the version before, whose hosts do not tell how many requests wait
my $BEFORE = root . '/t/host/follow_before.lua';

my %LIST = map { ($_ => [ Admission::Scripts::listed(follow => $_) ]) }
           qw(keys args reply);

my @CONF = qw(latency errors rate rate_min threshold threshold_min);
my @SUMS = qw(requests counted failed failed_top slow_top failed_users users
              retry retry_users retry_seconds retry_top);

my $WINDOW = 5_000_000;    # us


# event; latency (ms), errors (1/10000), rate, rate_min (1/1000 a second),
# threshold, threshold_min of its line; what: on, dry
# edit  a function that the text of the script goes through

sub new ($class, $redis, %opt) {
    my $self = bless { redis => $redis, event => 'e', latency => 500,
                       errors => -1, rate => 50, rate_min => 2500,
                       threshold => 1000, threshold_min => 1, what => 'on',
                       %opt }, $class;

    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . '/lua/follow.lua');
    $text = $opt{edit}->($text) if $opt{edit};
    $self->{sha} = $redis->cmd('SCRIPT', 'LOAD', $text);

    return $self->forget;
}

# Another host, one of the version before, and this one without what it knew.

sub other ($self) { return (bless { %$self }, ref $self)->forget }

sub before ($self) {
    my $text = read_file($BEFORE);
    $text = $self->{edit}->($text) if $self->{edit};

    my $host = $self->other;
    $host->{sha} = $self->{redis}->cmd('SCRIPT', 'LOAD', $text);
    $host->{args} = [ grep { $_ ne 'waiting' } $LIST{args}->@* ];
    return $host;
}

sub forget ($self) {
    $self->{known} = { rate => -1, limit => -1 };
    $self->{window} = { until => 0, requests => 0 };
    $self->clear;
    return $self;
}

sub clear ($self) {
    $self->{sums} = { map { ($_ => 0) } @SUMS };
    $self->{bins} = {};
    $self->{waited} = {};
}

sub key ($self, $name) { return "{$self->{event}}:$name" }


# A request of a user is over, at that time, us; ms: to the header, none: there
# was none; failed: true; retry: seconds of Retry-After.

sub measure ($self, $us, $user, %of) {
    my ($window, $sums) = @$self{qw(window sums)};

    if ($us >= $window->{until}) {
        $window = $self->{window} = { until => $us + $WINDOW, requests => 0,
                                      users => {} };
    }

    $sums->{requests}++;
    $self->{waited}{$user} += ($of{ms} - 500) / 500 if ($of{ms} // 0) > 500;

    my $one = $window->{users}{$user} //= { counted => 0 };

    $sums->{users}++ if !$one->{seen};
    $one->{seen}++, $window->{requests}++ if ($one->{seen} // 0) < 100;
    return if $one->{counted} * 20 > $window->{requests} - $one->{seen};

    $one->{counted}++;
    $sums->{counted}++;

    if ($of{failed}) {
        $sums->{failed}++;
        $sums->{failed_users}++ if !$one->{failed};
        $self->top('failed', ++$one->{failed});
    }

    if (defined $of{retry}) {
        $sums->{retry}++;
        $sums->{retry_seconds} += $of{retry};
        $sums->{retry_users}++ if !$one->{retry}++;
        $self->top('retry', $one->{retry});
    }

    if (defined $of{ms} && (!$of{failed} || $of{timeout})) {
        my $ms = $of{ms} < 1.09 ? 1.09 : $of{ms};
        my $bin = int(8 * log($ms) / log 2);
        $self->{bins}{ $bin > 127 ? 127 : $bin }++;
        $self->top('slow', ++$one->{slow}) if $of{ms} > $self->{latency};
    }
}

# How many have waited for 500 ms at a time, of which one user is 1 in 20.

sub waiting ($self) {
    my ($users, $n) = (0, 0);

    $users += $_ < 1 ? $_ : 1 for values $self->{waited}->%*;
    my $most = 1 + int $users / 20;
    $n += $_ < $most ? $_ : $most for values $self->{waited}->%*;
    return int $n;
}

sub top ($self, $name, $n) {
    my $window = $self->{window};

    return if $n <= ($window->{$name} // 0);
    $window->{$name} = $n;
    $self->{sums}{"${name}_top"}++;
}


# Tells of what was measured: what the script answers, by name; waiting: requests
# that have waited for 500 ms now, by default as many as do at a time where calls are
# twice a second;
# late, hung: users who wait for long.

sub call ($self, %opt) {
    my $known = $self->{known};

    my %arg = ((map { ($_ => $self->{$_}) } @CONF), $self->{sums}->%*,
               what => $opt{what} // $self->{what},
               waiting => $opt{waiting} // $self->waiting,
               late => $opt{late} // 0, hung => $opt{hung} // 0,
               bins => join(' ', $self->{bins}->%*),
               host_at => $known->{at} // 0, host_rate => $known->{rate},
               host_threshold => $known->{limit},
               host_why => $known->{why} // 0,
               host_pause => $known->{pause} // 0);

    my $reply = $self->{redis}->cmd(
        'EVALSHA', $self->{sha}, scalar $LIST{keys}->@*,
        (map { $self->key($_) } $LIST{keys}->@*), @arg{ ($self->{args} // $LIST{args})->@* });

    my %answer;
    @answer{ $LIST{reply}->@* } = @$reply;
    $self->clear;
    $self->{known} = \%answer if ($answer{at} // 0) >= ($known->{at} // 0);
    return \%answer;
}

1;
