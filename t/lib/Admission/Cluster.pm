# A real Redis cluster of the test's own, of which each node is an
# Admission::Redis, and a client that finds the node of a key.
#
#     my $cluster = Admission::Cluster->start;      # 3 masters, a replica each
#     my $site = Admission::Site->start(redis => $cluster);
#     $cluster->master_of('{concert}:queue')->kill9;

package Admission::Cluster;

use v5.36;

use Carp;
use Time::HiRes qw(sleep time);

use Admission::Redis;
use Admission::Test;

my $SLOTS = 16384;


# masters   3
# replicas  of each, 1
# timeout   cluster-node-timeout in ms, 1000
# tls       [CA, certificate of all nodes], see Admission::Certs: nodes talk TLS
#           to each other, and tell clients by TLS the ports of TLS
# prefixes  see Admission::Redis
# config    more lines for each redis.conf

sub start ($class, %opt) {
    my $self = bless { masters => 3, replicas => 1, timeout => 1000, %opt,
                       nodes => [] }, $class;

    $self->launch_node
        for 1 .. $self->{masters} * (1 + $self->{replicas});

    my @nodes = $self->{nodes}->@*;
    my @masters = @nodes[0 .. $self->{masters} - 1];

    for my $i (0 .. $#masters) {
        my ($from, $to) = map { int($SLOTS * $_ / @masters) } $i, $i + 1;
        $masters[$i]->cmd('CLUSTER', 'ADDSLOTSRANGE', $from, $to - 1);
        $masters[$i]->cmd('CLUSTER', 'SET-CONFIG-EPOCH', $i + 1);
    }

    $self->meet($_, $nodes[0]) for @nodes[1 .. $#nodes];
    $self->wait_known(@nodes);

    for my $i (@masters .. $#nodes) {
        $nodes[$i]->cmd('CLUSTER', 'REPLICATE',
                        $masters[$i % @masters]{node_id});
    }

    $self->wait_ok;
    $self->wait_replicas;
    return $self;
}


sub launch_node ($self) {
    my $bus = free_port;
    my @tls = $self->{tls} ? ('tls-cluster yes', 'tls-replication yes') : ();

    my $node = Admission::Redis->start(
        tls => $self->{tls}, prefixes => $self->{prefixes}, config => [
        @tls,
        'cluster-enabled yes', "cluster-port $bus",
        'cluster-config-file nodes.conf',
        'cluster-node-timeout ' . $self->{timeout} * slow,
        'repl-diskless-sync-delay 0', 'cluster-allow-replica-migration no',
        ref $self->{config} ? $self->{config}->@* : $self->{config} // () ]);

    $node->{timeout} = 2;
    $node->{bus} = $bus;
    $node->{node_id} = $node->cmd('CLUSTER', 'MYID');

    push $self->{nodes}->@*, $node;
    return $node;
}


sub meet ($self, $node, $other) {
    $node->cmd('CLUSTER', 'MEET', '127.0.0.1', $self->node_port($other),
               $other->{bus});
}


# The port that the other nodes know it by.

sub node_port ($self, $node) {
    return $self->{tls} ? $node->tls_port : $node->port;
}


sub nodes ($self) { return $self->{nodes}->@* }

# running, that is
sub living ($self) {
    return grep { !$_->{process}{finished} } $self->nodes;
}


# Until all of these know each other.  They give up a handshake that takes as long
# as a node may be silent, as where the machine stands still: then it begins again.

sub wait_known ($self, @nodes) {
    my $lines = sub ($node) {
        return split /\n/, ($node->try('CLUSTER', 'NODES'))[0] // '';
    };
    my $met = time;

    wait_until {
        if (time - $met > 3 * slow) {
            my ($first, @others) = @nodes;
            my %known = map { (split)[0] => 1 } $lines->($first);

            $self->meet($_, $first) for grep { !$known{ $_->{node_id} } } @others;
            $met = time;
        }

        !grep {
            @nodes > grep { / connected/ && !/handshake/ } $lines->($_)
        } @nodes;
    } 40 or croak 'the nodes of the cluster do not know each other';
}


# Until every node that runs says that all is well.

sub wait_ok ($self, $timeout = 30) {
    wait_until {
        !grep { (($_->try('CLUSTER', 'INFO'))[0] // '')
                    !~ /^cluster_state:ok/m } $self->living;
    } $timeout or croak 'the cluster is not well';
}


sub wait_replicas ($self) {
    wait_until {
        !grep {
            my $info = ($_->try('INFO', 'replication'))[0] // '';
            $info !~ /^role:master/m && $info !~ /^master_link_status:up/m
        } $self->living;
    } 20 or croak 'the replicas do not follow';
}


# The URLs of all nodes, or of these.

sub url ($self, @nodes) {
    return join ' ', map { $_->url(tls => $self->{tls} ? 1 : 0) }
                     @nodes ? @nodes : $self->nodes;
}


sub slot ($self, $key) {
    my ($any) = $self->living;
    return $self->{slot}{$key} //= $any->cmd('CLUSTER', 'KEYSLOT', $key);
}


# As a node that runs says: [[from, to, master, replica...], ...], each an
# Admission::Redis.

sub map ($self) {
    for my $node ($self->living) {
        my ($reply, $error) = $node->try('CLUSTER', 'SLOTS');
        next if length $error || !@$reply;

        return map {
            my ($from, $to, @nodes) = @$_;
            [ $from, $to, map { $self->at($_->[1]) } @nodes ]
        } @$reply;
    }

    return;
}

sub at ($self, $port) {
    return (grep { $_->port == $port } $self->nodes)[0];
}

sub range_of ($self, $key) {
    my $slot = $self->slot($key);
    my ($range) = grep { $_->[0] <= $slot && $slot <= $_->[1] } $self->map;
    return $range;
}

sub master_of ($self, $key)  { return ($self->range_of($key) // [])->[2] }
sub replica_of ($self, $key) { return ($self->range_of($key) // [])->[3] }

sub masters ($self) {
    my %seen;
    return grep { !$seen{ $_->port }++ } map { $_->[2] } $self->map;
}


# An event whose keys are with this master.

sub event_of ($self, $master, $prefix = 'event-') {
    for my $n (1 .. 1000) {
        my $found = $self->master_of("{$prefix$n}");
        return "$prefix$n" if $found && $found->port == $master->port;
    }
}


# As those of Admission::Redis::Client, at the node of the key.

sub cmd ($self, @argv) {
    my ($reply, $error) = $self->try(@argv);
    croak "redis: @argv: $error" if length $error;
    return $reply;
}

sub try ($self, @argv) {
    my $key = $argv[0] =~ /^EVAL/ ? $argv[3] : $argv[1];
    my $node = eval { $self->master_of($key) };
    my $error = 'no node';

    for my $try (1 .. 5) {
        return (undef, $error) if !$node;
        (my $reply, $error) = $node->try(@argv);

        if ($error =~ /^MOVED \d+ \S+:(\d+)/) {
            $node = $self->at($1);

        } elsif ($error =~ /^ASK \d+ \S+:(\d+)/) {
            my $other = $self->at($1);
            $other->try('ASKING');
            ($reply, $error) = $other->try(@argv);
            return ($reply, $error) if $error !~ /^TRYAGAIN/;
            sleep 0.01;

        } elsif ($error =~ /^TRYAGAIN/) {
            sleep 0.01;

        } else {
            return ($reply, $error);
        }
    }

    return (undef, $error);
}


# ---- what happens to a cluster

# A new master, with no slots.

sub add_master ($self) {
    my $node = $self->launch_node;
    my @others = grep { $_ != $node } $self->living;

    $self->meet($node, $others[0]);
    $self->wait_known(@others, $node);
    $self->wait_ok;
    return $node;
}


# Moves a slot as redis-cli does, keys a few at a time.

sub move_slot ($self, $slot, $from, $to) {
    $to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->{node_id});
    $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->{node_id});

    while (1) {
        my $keys = $from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 10);
        last if !@$keys;

        $from->cmd('MIGRATE', '127.0.0.1', $self->node_port($to), '', 0, 5000,
                   'KEYS', @$keys);
    }

    # those who have to know it at once first
    $_->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->{node_id})
        for $to, $from,
            grep { $_ != $to && $_ != $from } $self->masters;
}


# Takes a node without slots out of the cluster, and stops it.

sub remove ($self, $node) {
    my @others = grep { $_ != $node } $self->living;

    $_->cmd('CLUSTER', 'FORGET', $node->{node_id}) for @others;
    $node->cmd('CLUSTER', 'RESET', 'SOFT');
    $node->stop;

    $self->{nodes} = [ grep { $_ != $node } $self->nodes ];
}


1;
