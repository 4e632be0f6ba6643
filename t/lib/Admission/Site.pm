# A whole site for the tests of the queue: NGINX instances in front of a
# booking backend, on one Redis.
#
#     my $site = Admission::Site->start(instances => 2, workers => 2,
#                                       events => 'default threshold=2;');
#     $site->call(0, ann => 'POST', 'check');

package Admission::Site;

use v5.36;

use List::Util qw(min);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;
use Admission::Test;

our %SECRETS = map { $_ => "$_-secret-of-the-tests-0123456789abcdef" }
               qw(tier1 tier2 user admin);


# instances  of NGINX (1)
# workers    of each (2)
# events     the lines of admission_events
# event      the one that calls are about (concert)
# redis      an Admission::Redis, else one is started with
# redis_opt  {options}
# redis_url  what admission_redis says, if not just the URL of it
# timeout    of admission_redis (1s: a test machine may be slow); whole seconds are
#            times `slow`, as all bounds of time
# zone       size of the zone (1m)
# http       more for the http block
# server     more for the server block
# connections  worker_connections
# listen     more for the listen directive
# log_level  info

sub start ($class, %opt) {
    my $self = bless { event => 'concert', workers => 2, instances => 1,
                       timeout => '1s', zone => '1m', http => '', server => '',
                       events => 'default threshold=2;', %opt }, $class;

    $self->{timeout} =~ s/^(\d+)(?=s$)/min(60, $1 * slow)/e;

    $self->{redis} //= Admission::Redis->start(%{ $opt{redis_opt} // {} });
    $self->{backend} //= Admission::Backend->start;

    push @{ $self->{nginx} }, $self->instance for 1 .. $self->{instances};
    return $self;
}


sub instance ($self) {
    return Admission::Nginx->start(
        workers => $self->{workers},
        connections => $self->{connections} // 1024,
        listen => $self->{listen}, log_level => $self->{log_level},
        http => $self->http, server => $self->server);
}


# The longest that NGINX took for a request, in seconds.

sub slowest ($self) {
    my @times = map { read_file($_->dir . '/times.log') =~ /^(\S+)$/mg }
                $self->{nginx}->@*;
    return (sort { $b <=> $a } @times)[0];
}


sub http ($self) {
    my $secrets = join "\n    ",
                  map { "admission_secret $_ $SECRETS{$_};" } sort keys %SECRETS;

    return <<END;
    log_format times \$request_time;
    access_log times.log times;

    admission_zone admission:$self->{zone};
    admission_redis @{[ $self->{redis_url} // $self->{redis}->url ]} timeout=$self->{timeout};
    $secrets

    admission_events {
        $self->{events}
    }

    upstream booking {
        server 127.0.0.1:@{[ $self->{backend}->port ]};
        keepalive 16;
    }

    $self->{http}
END
}


sub server ($self) {
    return <<END;
        admission_event $self->{event};
        admission_user jwt;

        location /api/queue/ {
            admission_queue_api;
        }

        location /api/queue/admin/ {
            admission_queue_api admin=on;
        }

        location /api/reservations {
            admission_tier2 on;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass http://booking;
        }

        location = /plain {
            empty_gif;
        }

        location = /gated {
            admission_tier2 on;
            empty_gif;
        }

        $self->{server}
END
}


sub redis ($self)        { return $self->{redis} }
sub nginx ($self, $i = 0) { return $self->{nginx}[$i] }
sub port ($self, $i = 0) { return $self->{nginx}[$i]->port }
sub ports ($self)        { return map { $_->port } $self->{nginx}->@* }
sub key ($self, $name)   { return "{$self->{event}}:$name" }

# an access token, for a day: tests set clocks
sub user ($self, $id) {
    return user_token($SECRETS{user}, userId => $id, exp => time + 86400);
}


# A user's call of the queue API through instance $i: check, status, ...

sub call ($self, $i, $user, $method, $call, %opt) {
    return request($self->port($i), $method,
                   "/api/queue/$call/$self->{event}",
                   bearer => $self->user($user), %opt);
}


# An operator's: path is what follows /admin/, with %s for the event.

sub admin ($self, $method, $path, %opt) {
    return request($self->port($opt{instance} // 0), $method,
                   '/api/queue/admin/' . sprintf($path, $self->{event}),
                   bearer => $SECRETS{admin}, %opt);
}


# What Redis holds of the queue at one moment: {active => {user => expiry},
# waiting => {user => score}, admitted => [[id, user], ...] since the last
# look}.

my $LOOK = <<'LUA';
return { redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),
         redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'),
         redis.call('XRANGE', KEYS[3], ARGV[1], '+') }
LUA

sub look ($self) {
    my $last = $self->{last_admission} // '-';

    my ($active, $waiting, $stream) = $self->{redis}->cmd(
        'EVAL', $LOOK, 3, map({ $self->key($_) } qw(active queue admissions)),
        $last eq '-' ? '-' : "($last")->@*;

    $self->{last_admission} = $stream->[-1][0] if @$stream;

    return { active => { @$active }, waiting => { @$waiting },
             admitted => [ map { my %e = $_->[1]->@*; $e{userId} } @$stream ] };
}


1;
