# Options, processors, one measurement, ratios and their table.

package Bench;

use v5.36;

use Carp;
use List::Util qw(min max sum0);
use POSIX ();

use Admission::Nginx;
use Admission::Test;


sub new ($class, %opt) {
    my ($list) = read_file("/proc/$$/status")
                 =~ /^Cpus_allowed_list:\s*(\S+)/m;
    my @cpus = map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $list;

    croak 'wrk is not installed'
        if !grep { -x "$_/wrk" } split /:/, $ENV{PATH};

    # The worker and the load generator have a processor each, and so has
    # Redis where it works.  With only two of them, worker and generator share
    # one while Redis works: Redis has one to itself, as redis-benchmark's.

    my %cpu = (worker => $cpus[0], load => $cpus[1] // $cpus[0]);
    $cpu{redis} = $cpus[2] // $cpu{load};
    $cpu{load_with_redis} = @cpus > 2 ? $cpu{load} : $cpu{worker};

    return bless { %opt, cpus => scalar @cpus, cpu => \%cpu, missed => 0,
                   started => time }, $class;
}


# ---- one measurement

# Requests of a file (see requests.lua) at a port for a while.  Returns
#   rate     requests a second
#   n        requests
#   p95      ms in which 95 of 100 are answered
#   cpu      {name => microseconds of processor time a request} of processes
#            given as pids => {name => pid}
#   busy     {name => share of the time that the process ran}

sub load ($self, $port, $file, %opt) {
    return $self->end_load($self->begin_load($port, $file, %opt));
}


# The same in two steps, so that others may run meanwhile.

sub begin_load ($self, $port, $file, %opt) {
    my $seconds = $opt{seconds} // $self->{seconds};
    my $cpu = $self->{cpu}{ $opt{redis} ? 'load_with_redis' : 'load' };
    my $pids = $opt{pids} // {};
    my %before = map { $_ => cpu_time($pids->{$_}) } keys %$pids;

    open my $wrk, '-|', 'timeout', int($seconds) + 60,
        'taskset', '-c', $cpu, 'wrk', '-t1',
        '-c', $opt{connections} // $self->{connections},
        '-d', POSIX::ceil($seconds) . 's', '-s',
        root . '/bench/requests.lua', "http://127.0.0.1:$port/", '--',
        $file, $opt{skip} // 0, $opt{event} // '', $opt{pace} // 0
        or croak "wrk: $!";

    return { wrk => $wrk, pids => $pids, before => \%before };
}

sub end_load ($self, $load) {
    my ($wrk, $pids, $before) = @{$load}{qw(wrk pids before)};
    my $output = do { local $/; readline $wrk } // '';
    close $wrk;
    my $status = $?;

    my %ran = map { $_ => cpu_time($pids->{$_}) - $before->{$_} } keys %$pids;

    my %r = $output =~ /(\w+)=(\d+)/g;
    croak "wrk: $output" if $status || !$r{requests};
    croak "$r{failed} failed, $r{status} of another status: $output"
        if $r{failed} || $r{status};

    return {
        rate => $r{requests} * 1e6 / $r{us},
        n    => $r{requests},
        p95  => $r{p95} / 1000,
        p99  => $r{p99} / 1000,
        cpu  => { map { $_ => $ran{$_} / $r{requests} } keys %$pids },
        busy => { map { $_ => $ran{$_} / $r{us} } keys %$pids },
    };
}


# Microseconds that a process has run, all its threads.

sub cpu_time ($pid) {
    return sum0 map { (split ' ', read_file($_))[0] / 1000 }
                glob "/proc/$pid/task/*/schedstat";
}


# ---- rounds

# Runs each of (name => code, ...) once a round, in the order given and then
# in the opposite one; returns {name => [what the code returned, ...]}.

sub rounds ($self, @variants) {
    my @names = @variants[ grep { $_ % 2 == 0 } 0 .. $#variants ];
    my %code = @variants;
    my %results;

    for my $round (1 .. $self->{rounds}) {
        for my $name ($round % 2 ? @names : reverse @names) {
            push @{ $results{$name} }, $code{$name}->();
            print STDERR '.' if -t STDERR;
        }
    }

    print STDERR "\n" if -t STDERR;
    return \%results;
}


# The same, all of a round at the same time: what slows one slows the others,
# by the same.  Codes are called with how many requests of a file to skip, of
# which a round and the one before then have none in common, and return what
# begin_load does.  Options: before => code, called so before each round.

sub beside ($self, $opt, @variants) {
    my @names = @variants[ grep { $_ % 2 == 0 } 0 .. $#variants ];
    my %code = @variants;
    my %results;

    for my $round (1 .. $self->{rounds}) {
        $opt->{before}->($round * 70_000) if $opt->{before};

        my @begun = map { [ $_, $code{$_}->($round * 70_000) ] }
                    $round % 2 ? @names : reverse @names;

        push @{ $results{$_->[0]} }, $self->end_load($_->[1]) for @begun;
        print STDERR '.' if -t STDERR;
    }

    print STDERR "\n" if -t STDERR;
    return \%results;
}


sub median (@values) {
    my @sorted = sort { $a <=> $b } @values;
    return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}


# The ratios of two lists, round by round: {median, min, max}.  What is
# compared is what the code returns for a result.

sub ratio ($a, $b, $code) {
    my @ratios = map { $code->($a->[$_]) / $code->($b->[$_]) }
                 0 .. min($#$a, $#$b);

    return { median => median(@ratios), min => min(@ratios),
             max => max(@ratios) };
}


# ---- what is printed

# A target: ['>=', 0.85].

sub ratio_row ($self, $what, $ratio, $target = undef) {
    $self->row($what,
               sprintf('%.2f  [%.2f %.2f]', @{$ratio}{qw(median min max)}),
               $target, $ratio->{median});
}


sub row ($self, $what, $text, $target = undef, $value = undef) {
    my $verdict = '';

    if ($target) {
        my ($how, $limit) = @$target;
        my $ok = $how eq '>=' ? $value >= $limit
               : $how eq '<=' ? $value <= $limit
               :                $value == $limit;

        $verdict = "$how $limit  " . ($ok ? 'ok' : 'MISSED');
        $self->{missed}++ if !$ok;
    }

    say sprintf('  %-50s %-20s %s', $what, $text, $verdict) =~ s/\s+$//r;
}


sub heading ($self, $text) {
    say "\n$text";
}


# Medians of what was measured, behind the ratios.

sub rate_row ($self, $what, $results) {
    my @processes = map {
        my $process = $_;
        sprintf '%s %.1f us (%.0f%%)', $process,
            median(map { $_->{cpu}{$process} } @$results),
            100 * median(map { $_->{busy}{$process} } @$results);
    } reverse sort keys %{ $results->[0]{cpu} };

    printf "    %-16s %8.0f/s   %s\n", $what,
        median(map { $_->{rate} } @$results), join ', ', @processes;
}


sub print_conditions ($self, $site) {
    my ($model) = read_file('/proc/cpuinfo') =~ /^model name\s*:\s*(.+)$/m;
    my (undef, $kernel) = run('uname', '-sr');
    my (undef, $nginx) = run(Admission::Nginx::nginx_binary(), '-v');
    my (undef, $redis) = run('redis-server', '--version');
    my (undef, $wrk) = run('wrk', '-v');
    my $c = $self->{cpu};

    $model //= 'processor';
    chomp $kernel;
    ($nginx) = $nginx =~ m{nginx/(\S+)};
    ($redis) = $redis =~ /v=(\S+)/;
    ($wrk) = $wrk =~ /^wrk (?:debian\/)?(\S+)/;

    my $peer = $site->has_peer || 'not installed, left out';

    print <<~"END";
    NGINX $nginx, Redis $redis, wrk $wrk, $kernel
    $model, $self->{cpus} processors: worker on $c->{worker}, wrk on $c->{load}; where Redis works,
    Redis on $c->{redis}, wrk and redis-benchmark on $c->{load_with_redis}
    1 worker, $self->{connections} keepalive connections, $self->{rounds} rounds of $self->{seconds} s, all on loopback
    Peer: $peer
    Load of the machine before: ${\ load_average()}

    Ratios: median [least greatest] of the rounds.  Behind rates: processor
    time of a process a request, and the share of the time that it ran; a CPU
    second is one of its processor time.  "both": measured at the same time,
    the workers on one processor, for a ratio that the machine does not sway.
    END
}


sub load_average () {
    return join ' ', (split ' ', read_file('/proc/loadavg'))[0 .. 1];
}


# Returns the exit status.

sub print_summary ($self) {
    printf "\n%s; %d s; load of the machine after: %s\n",
           $self->{missed} ? "Targets missed: $self->{missed}"
                           : 'All targets met',
           time - $self->{started}, load_average();

    return $self->{missed} ? 1 : 0;
}


1;
