# What has to stay flat: memory and descriptors of NGINX and Redis, keys and
# the connections to Redis.  Samples of the second quarter of the run, when
# all is warm, are held against those of the last one; what can be is compared
# at rest, with what it was before the first user came.

package Soak::Watch;

use v5.36;

use List::Util qw(max sum0);
use Time::HiRes qw(sleep time);

use Admission::Test;

# Least growth that counts, besides a share of it: what an allocator rounds, and
# the 8192 verified tokens that a worker keeps.

my %MARGIN = (worker => 8e6, master => 1.5e6, zone => 2e6,
              redis => 1.5e6, keys => 4, fds => 60);

# Keys of an event, and the only ones that may have no end.

my $KEYS = qr/^\{[a-z]+\}:(?:queue|active|seen|active-seen|done|revoked
               |threshold|epoch|state|admitted|used|cleared|leaving|lost|rate|vwr
               |slots|admissions)$|^\{\}:news$/x;
my $ENDLESS = qr/:threshold$|:slots$|:vwr$/;
my $SETS = qr/^(?:queue|vwr):active-events$/;


sub new ($class, $soak) {
    my $self = bless { soak => $soak, samples => [] }, $class;

    $self->{fds} = [ map { $self->descriptors($_) } $soak->site->{nginx}->@* ];
    $self->{clients} = $self->clients;
    return $self;
}


# ---- one look

sub sample ($self) {
    my $soak = $self->{soak};
    my %sample = (at => time - $soak->{begun});

    for my $i (0 .. $soak->{instances} - 1) {
        next if !$soak->{up}{$i};

        my $master = $soak->site->nginx($i)->pid;
        my @workers = $soak->site->nginx($i)->worker_pids;

        add(\%sample, master => memory($master, 'RssAnon'));

        for my $pid (@workers) {
            add(\%sample, worker => memory($pid, 'RssAnon'));
            add(\%sample, zone => memory($pid, 'RssShmem'));
            add(\%sample, fds => scalar eval { fd_count($pid) });
        }
    }

    $self->sample_redis(\%sample) if $soak->{faults}->redis_answers;
    push $self->{samples}->@*, \%sample;
}


sub add ($sample, $name, $value) {
    $sample->{$name} = max($sample->{$name} // 0, $value) if $value;
}


# What belongs to one process alone, or what it has touched of the zone; undef,
# where a list is asked for as well: the process has ended.

sub memory ($pid, $what) {
    my $status = eval { read_file("/proc/$pid/status") } // '';
    my ($kb) = $status =~ /^$what:\s+(\d+) kB/m;
    return $kb ? $kb * 1024 : undef;
}


sub sample_redis ($self, $sample) {
    my $redis = $self->{soak}->redis;
    my ($info) = $redis->try('INFO', 'memory') or return;
    my ($data) = ($info // '') =~ /^used_memory_dataset:(\d+)/m or return;

    # streams of admissions grow to 10,000 entries, and no further
    for my $event (sort keys $self->{soak}{events}->%*) {
        my ($bytes) = $redis->try('MEMORY', 'USAGE', "{$event}:admissions",
                                  'SAMPLES', 0);
        $data -= $bytes // 0;
    }

    $sample->{redis} = $data;
    ($sample->{keys}) = $redis->try('DBSIZE');
}


# ---- at rest

sub descriptors ($self, $nginx) {
    return { master => fd_count($nginx->pid),
             worker => max(map { fd_count($_) } $nginx->worker_pids) };
}

# connections to Redis other than those of the test

sub clients ($self) {
    my $redis = $self->{soak}->redis;
    my $list = $redis->cmd('CLIENT', 'LIST');
    return scalar grep { !/ addr=\Q@{[ $redis->address ]}\E / }
                  split /\n/, $list;
}


# All calls are over: what is left?

sub quiet ($self) {
    my $soak = $self->{soak};
    my @nginx = $soak->site->{nginx}->@*;

    $soak->{swarm}->close_idle;
    wait_until { !grep { $_->old_worker_pids } @nginx } 10;
    sleep 1;

    for my $i (0 .. $#nginx) {
        my @old = $nginx[$i]->old_worker_pids;
        $self->wrong("instance $i: old workers are still there: @old") if @old;

        my ($before, $now) = ($self->{fds}[$i],
                              $self->descriptors($nginx[$i]));

        # 16 connections are kept to the backend
        $self->at_rest("instance $i: descriptors of the master",
                       $now->{master}, $before->{master} + 2);
        $self->at_rest("instance $i: descriptors of a worker",
                       $now->{worker}, $before->{worker} + 20);
        $self->wrong("instance $i: $_")
            for $nginx[$i]->error_log =~ /^.*\[crit\].*$/mg;
    }

    $self->at_rest('connections to Redis', $self->clients,
                   max($self->{clients}, 2 * @nginx) + 1);
    $self->look_at_keys;
}

sub at_rest ($self, $what, $now, $most) {
    push $self->{rest}->@*, "$what $now (at most $most)";
    $self->wrong("$what: $now, at most $most would do") if $now > $most;
}


# Every key is known, and has an end unless it may have none.

sub look_at_keys ($self) {
    my $redis = $self->{soak}->redis;

    for my $key ($redis->cmd('KEYS', '*')->@*) {
        next if $key =~ $SETS;

        $self->wrong("a key that nobody knows: $key") if $key !~ $KEYS;

        my $ttl = $redis->cmd('TTL', $key);
        $self->wrong("no end of key $key")
            if $ttl == -1 && $key !~ $ENDLESS;
        $self->wrong("key $key lives for $ttl s") if $ttl > 8 * 86400;
    }
}


# ---- the verdict

sub wrong ($self, $text) { push $self->{wrong}->@*, $text }

sub verdict ($self) {
    my @rows;

    for my $name (sort keys %MARGIN) {
        next if sanitized && $name =~ /^(?:worker|master|zone)$/;

        # after a loss of data keys come back one by one
        my ($warm, $last) = map { $self->most($name, @$_) }
                            [ $name eq 'keys' ? 0 : 0.25, 0.5 ], [ 0.75, 1 ];
        next if !defined $warm || !defined $last;

        my $most = 1.2 * $warm + $MARGIN{$name};
        push @rows, sprintf '%s %s, then %s', $name, short($warm),
                            short($last);
        $self->wrong("$name grows: " . short($warm) . ', then ' . short($last))
            if $last > $most;
    }

    say 'flat: ', join '; ', @rows, ($self->{rest} // [])->@*;
    return ($self->{wrong} // [])->@*;
}


# The most that was seen in a part of the run, but for the few greatest.  Where
# it could not be seen most of that time, as Redis was away, nothing is known.

sub most ($self, $name, $from, $to) {
    my $all = 60 * $self->{soak}{minutes};
    my @samples = grep { $_->{at} >= $from * $all && $_->{at} <= $to * $all }
                  $self->{samples}->@*;
    my @values = sort { $a <=> $b } grep { defined } map { $_->{$name} } @samples;

    return @values > @samples / 2 ? $values[0.9 * $#values] : undef;
}


sub short ($n) {
    return $n > 1e5 ? sprintf '%.1fM', $n / 1048576 : sprintf '%d', $n;
}


sub summary ($self) {
    my $sample = $self->{samples}[-1] // return '';
    return join ', ', map { $_ . ' ' . short($sample->{$_} // 0) }
                      qw(worker master zone fds redis keys);
}


1;
