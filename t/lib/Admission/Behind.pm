# What a site sees as its Redis: NGINX goes through a proxy, which may lead to
# another server, and the test to the one that is meant.
#
#     my $behind = Admission::Behind->new($redis);
#     my $site = Admission::Site->start(redis => $behind);
#     $behind->lead($other);           # connections made from now on

package Admission::Behind;

use v5.36;

use Admission::Proxy;


sub new ($class, $redis) {
    return bless { redis => $redis,
                   proxy => Admission::Proxy->start($redis->port) }, $class;
}

sub proxy ($self)       { return $self->{proxy} }
sub cmd ($self, @argv)  { return $self->{redis}->cmd(@argv) }

sub url ($self) {
    return $self->{redis}->url(port => $self->{proxy}->port);
}

sub lead ($self, $redis) {
    $self->{redis} = $redis;
    $self->{proxy}->lead($redis->port);
}


1;
