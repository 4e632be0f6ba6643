# A Redis master with replicas and the sentinels that watch it; each of them
# is an Admission::Redis.  For Admission::Site it is a Redis: commands go to
# the master of the moment.
#
#     my $sentinel = Admission::Sentinel->start;
#     my $site = Admission::Site->start(redis => $sentinel);
#     $sentinel->master->kill9;

package Admission::Sentinel;

use v5.36;

use Carp;

use Admission::Redis;
use Admission::Test;


# name       of the master, tickets
# replicas   1
# sentinels  3
# timeout    ms until a master that is silent is down, 1000
# host       127.0.0.1; a name is told as a name

sub start ($class, %opt) {
    my $self = bless { name => 'tickets', replicas => 1, sentinels => 3,
                       timeout => 1000, host => '127.0.0.1', %opt }, $class;

    my $master = Admission::Redis->start(
        config => [ 'repl-diskless-sync-delay 0' ]);
    my $port = $master->port;

    $self->{nodes} = [ $master, map {
        Admission::Redis->start(config => [
            "replicaof 127.0.0.1 $port", 'repl-diskless-sync-delay 0' ])
    } 1 .. $self->{replicas} ];

    $_->{timeout} = 2 for $self->nodes;
    $self->wait_replicas;

    my $timeout = $self->{timeout} * slow;

    $self->{watchers} = [ map {
        Admission::Redis->start(args => [ '--sentinel' ], module => 0,
                                config => [
            $self->{host} =~ /[a-z]/ ? ('sentinel resolve-hostnames yes',
                                        'sentinel announce-hostnames yes')
                                     : (),
            "sentinel monitor $self->{name} $self->{host} $port 2",
            "sentinel down-after-milliseconds $self->{name} $timeout",
            "sentinel failover-timeout $self->{name} 5000" ])
    } 1 .. $self->{sentinels} ];

    wait_until { !grep { !$self->knows_all($_) } $self->watchers } 30
        or croak 'the sentinels do not know each other';

    return $self;
}


sub nodes ($self)    { return $self->{nodes}->@* }
sub watchers ($self) { return $self->{watchers}->@* }


# Whether a sentinel has found all others and the replicas.

sub knows_all ($self, $watcher) {
    my %about = $watcher->cmd('SENTINEL', 'MASTER', $self->{name})->@*;

    return $about{'num-other-sentinels'} == $self->{sentinels} - 1
           && $about{'num-slaves'} == $self->{replicas};
}


sub wait_replicas ($self) {
    wait_until {
        !grep {
            my $info = ($_->try('INFO', 'replication'))[0] // '';
            $info !~ /^role:master/m && $info !~ /^master_link_status:up/m
        } $self->nodes;
    } 20 or croak 'the replicas do not follow';
}


# redis+sentinel://..., of all sentinels or of these

sub url ($self, @watchers) {
    return 'redis+sentinel://tickets:tickets@'
           . join(',', map { '127.0.0.1:' . $_->port }
                       @watchers ? @watchers : $self->watchers)
           . "/$self->{name}";
}


# By the word of a sentinel: it may be dead, or take itself for a replica
# still; one that was replaced may take itself for the master for some time.

sub master ($self) {
    my ($watcher) = $self->watchers;
    my $port = $watcher->cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME',
                             $self->{name})->[1];

    return (grep { $_->port == $port } $self->nodes)[0];
}

sub replica ($self) {
    my $master = $self->master;
    my ($replica) = grep { $_ != $master && !$_->{process}{finished} }
                    $self->nodes;
    return $replica;
}


# Waits until the replica has all that the master has now.  (A connection that
# waits for that by WAIT may be ended meanwhile, by a sentinel that tells the node
# its role.)

sub replica_has_all ($self) {
    my $offset = sub ($node, $field) {
        my $info = eval { $node->cmd('INFO', 'replication') } // '';
        return $info =~ /^$field:(\d+)/m ? $1 : undef;
    };

    my ($all, $has);

    return wait_until {
        $all //= $offset->($self->master, 'master_repl_offset');
        $has = $offset->($self->replica, 'slave_repl_offset');
        defined $all && defined $has && $has >= $all;
    } 10;
}


sub cmd ($self, @argv) {
    return $self->master->cmd(@argv);
}


1;
