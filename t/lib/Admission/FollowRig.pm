# A site whose admission follows its backend: NGINX on some hosts, a Redis, a backend
# whose capacity is set while it runs, and visitors who come whatever happens, each of
# whom takes a ticket, waits, as pages do, and asks for two pages.

package Admission::FollowRig;

use v5.36;

use IO::Select;
use IO::Socket::INET;
use JSON::PP ();
use Time::HiRes qw(time);

use Admission::Nginx;
use Admission::Process;
use Admission::Redis;
use Admission::Swarm;
use Admission::Test;

my $ADMIN = 'admin-secret-of-the-test-0123456789';


# hosts     how many (2)
# rate      vwr_rate of the event
# line      more of its line
# come      visitors a second; line_max: as long as so many wait, at most
# capacity  of the backend, a second; base: s that an answer takes at least
# decided   called with each decision of the script: its fields, as Redis has them,
#           and the part of the window that it was made with, by name

sub start ($class, %opt) {
    my $self = bless { hosts => 2, rate => 40, line => '', come => 40,
                       capacity => 1000, base => 0.05, waiting => {},
                       line_max => 400,
                       good => 0, times => [],
                       begun => 1e6 * time, %opt },
               $class;

    $self->{redis} = Admission::Redis->start;
    $self->start_backend;

    for my $host (1 .. $self->{hosts}) {
        push $self->{nginx}->@*, Admission::Nginx->start(
            workers => 1,
            vars => { REDIS => $self->{redis}->url,
                      BACKEND => $self->{port} },
            http => <<"END",
    admission_zone    admission:8m;
    admission_redis   %%REDIS%% timeout=5s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  admin $ADMIN;
    admission_events {
        e  vwr=on vwr_rate=$self->{rate} $self->{line};
    }
    upstream one { server 127.0.0.1:%%BACKEND%%; }
END
            server => <<'END');
        admission_event  e;
        location /pages/   { admission_tier1 on; proxy_read_timeout 3s;
                             proxy_pass http://one; }
        location /vwr-api/ { admission_vwr_api assign_rate=off; }
        location /admin/   { admission_admin_api; }
END
    }
    $self->{swarm} = Admission::Swarm->new(connections => 800, timeout => 10);
    wait_until { $self->active } 20;

    return $self;
}

sub active ($self) {
    my $r = Admission::HTTP::get($self->{nginx}[0]->port,
                                 '/vwr-api/status/e');
    return $r->status == 200 && $r->json->{isActive};
}


# What operators are told by a host.

sub status ($self, $i = 0) {
    return Admission::HTTP::get($self->{nginx}[$i]->port, '/admin/status/e',
                                bearer => $ADMIN)->json;
}


# ---- the backend

sub start_backend ($self) {
    my $port = $self->{port} = free_port;
    my $listen = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1024,
        ReuseAddr => 1, Blocking => 0) or die "port $port: $@";

    Admission::Test::register(Admission::Process->start(
        name => "backend-$port",
        code => sub { serve($listen, $self->@{qw(capacity base)}) }));
    close $listen;
}

# What it takes from now on, a second; base: how long an answer takes at least, s,
# failing: the share of answers that are a 500.

sub capacity ($self, $capacity, %opt) {
    my $base = $opt{base} // $self->{base};
    my $failing = $opt{failing} // 0;

    $self->{capacity} = $capacity;
    return Admission::HTTP::get(
        $self->{port}, "/takes/$capacity/$base/$failing")->status;
}

# Answers in the order in which requests came, so many a second.

sub serve ($listen, $capacity, $base, $failing = 0) {
    local $SIG{PIPE} = 'IGNORE';

    my $select = IO::Select->new($listen);
    my (@queue, @leaving, %bytes);
    my ($credit, $last) = (0, time);

    while (1) {
        for my $socket ($select->can_read(0.005)) {
            if ($socket == $listen) {
                while (my $new = $listen->accept) {
                    $new->blocking(0);
                    $select->add($new);
                }
                next;
            }

            my $n = sysread $socket, $bytes{$socket}, 8192,
                            length($bytes{$socket} // '');
            if (!$n) {
                $select->remove($socket);
                delete $bytes{$socket};
                next;
            }
            next if $bytes{$socket} !~ /\r\n\r\n/;
            $select->remove($socket);

            if (delete($bytes{$socket}) =~ m{^GET /takes/([\d./]+)}) {
                ($capacity, $base, $failing) = split '/', $1;
                syswrite $socket, "HTTP/1.0 200 OK\r\n\r\n";
                next;
            }
            push @queue, $socket;
        }

        my $now = time;
        $credit += ($now - $last) * $capacity;
        $last = $now;
        while ($credit >= 1 && @queue) {
            push @leaving, [ $now + $base, shift @queue ];
            $credit--;
        }
        $credit = 1 if $credit > 1;

        while (@leaving && $leaving[0][0] <= $now) {
            my (undef, $socket) = (shift @leaving)->@*;
            my $status = rand() < $failing ? '500 Error' : '200 OK';
            syswrite $socket,
                     "HTTP/1.0 $status\r\nContent-Length: 2\r\n\r\nok";
            close $socket;
        }
    }
}


# ---- visitors

sub port ($self, $i) {
    my $nginx = $self->{nginx};
    return $nginx->[ $i % @$nginx ]->port;
}

# Who sees that the line is long goes away.

sub arrive ($self) {
    return if $self->{waiting}->%* >= $self->{line_max};

    my $i = $self->{arrived}++;

    $self->{asking}++;
    $self->{swarm}->request($self->port($i), 'POST', '/vwr-api/assign/e', [],
                            sub ($r) {
        $self->{asking}--;
        if ($r->status != 200) {
            $self->{lost}++;
            return;
        }
        my $who = { i => $i, $r->json->%* };

        $self->{waiting}{$i} = $who;
        $self->poll_later($who, $who);
    });
}

# As pages do: who is not heard of has gone, for a host.

sub poll_later ($self, $who, $told) {
    $who->{timer} = $self->{swarm}->timer(
        ($told->{nextPoll} // 2) * (0.8 + rand 0.2),
        sub { $self->poll($who) });
}

# Whose turn has come hears of it from the visitor's own host, as by a stream.

sub look ($self) {
    my $n = $self->{nginx}->@*;

    for my $host (0 .. $n - 1) {
        $self->{swarm}->request($self->port($host), 'GET',
                                '/vwr-api/status/e', [], sub ($r) {
            return if $r->status != 200;
            my $serving = $r->json->{serving};

            for my $who (sort { $a->{position} <=> $b->{position} }
                         values $self->{waiting}->%*)
            {
                next if $who->{i} % $n != $host || $who->{called};
                last if $who->{position} > $serving;
                $who->{called} = 1;
                $self->{swarm}->cancel($who->{timer});
                $self->poll($who);
            }
        });
    }
}

sub poll ($self, $who) {
    my $port = $self->port($who->{i});
    my @visitor = ('X-Admission-Visitor' => $who->{visitor});

    $self->{swarm}->request(
        $port, 'GET', "/vwr-api/check/e/$who->{requestId}", \@visitor,
        sub ($r) {
            my $told = $r->status == 200 ? $r->json : {};

            $self->{late}++ if $who->{called} && !$told->{token};
            return $self->poll_later($who, $told) if !$told->{token};

            return if !delete $self->{waiting}{ $who->{i} };
            $self->{entered}++;
            my @headers = (@visitor, 'X-Vwr-Token' => $told->{token});
            $self->page($port, \@headers, sub {
                $self->{swarm}->timer(0.3, sub {
                    $self->page($port, \@headers, sub { }) });
            });
        });
}

sub page ($self, $port, $headers, $then) {
    my $start = time;

    $self->{swarm}->request($port, 'GET', '/pages/x', $headers, sub ($r) {
        my $ms = 1000 * (time - $start);
        push $self->{times}->@*, $r->status == 200 ? $ms : 1e9;
        $self->{good}++ if $r->status == 200 && $ms < 1000;
        $then->();
    });
}

# Time goes on, s: { good, entered, p95, times, limit, stopped } of each.

sub go ($self, $seconds, $each = sub ($is) { }) {
    my @told;
    my $end = time + $seconds;
    my ($come, $look, $second) = (time, time, time + 1);

    while ((my $now = time) < $end) {
        for (; $come <= $now; $come += 1 / $self->{come}) { $self->arrive }
        if ($look <= $now) {
            $self->look;
            $look = $now + 0.25;
        }
        if ($second <= $now) {
            push @told, $self->told;
            $each->($told[-1]);
            $second += 1;
        }
        $self->look_at_decision if $self->{decided};
        $self->{swarm}->run(until => sub { time >= $now + 0.01 });
    }
    while (@told < int $seconds) {
        push @told, $self->told;
        $each->($told[-1]);
    }
    return @told;
}

my $READ = <<'END';
local of = {}
local kept = redis.call('HGETALL', KEYS[1])
for i = 1, #kept, 2 do of[kept[i]] = kept[i + 1] end
local part = of['part' .. (of.parts or 0)]
local told = {}
for name, value in pairs(of) do
  if name ~= 'open' and not string.find(name, '^part%d') then
    told[#told + 1] = name
    told[#told + 1] = value
  end
end
return { told, part and cjson.encode((cmsgpack.unpack(part))) or '[]' }
END

sub look_at_decision ($self) {
    return if time < ($self->{decision} // 0) + 0.1;
    $self->{decision} = time;

    my ($fields, $part) = $self->{redis}->cmd('EVAL', $READ, 1,
                                              '{e}:follow')->@*;
    my %of = @$fields;
    return if !$of{at} || $of{at} == ($self->{decided_at} // 0);
    $self->{decided_at} = $of{at};
    @of{qw(ended ms requests counted failed failed_top slow_top failed_users
           users retry retry_users retry_seconds late hung)} =
        JSON::PP::decode_json($part)->@*;
    $self->{decided}->(\%of);
}

sub told ($self) {
    my ($rate, $trial) = $self->{redis}->cmd('HMGET', '{e}:state',
                                             'follow_rate',
                                             'follow_trial')->@*;
    my @times = sort { $a <=> $b } $self->{times}->@*;
    my %is = (good => $self->{good}, entered => $self->{entered} // 0,
              p95 => @times ? $times[ 0.95 * @times ] : 0, times => \@times,
              limit => defined $rate && $rate >= 0 ? $rate / 1000
                                                   : $self->{rate},
              stopped => ($trial // -1) >= 0 ? 1 : 0);

    @$self{qw(good entered)} = (0, 0);
    $self->{times} = [];
    return \%is;
}

# Nobody asks it for a ticket any more: who does not get one has no other way.

sub kill_host ($self, $host) {
    my ($nginx) = splice $self->{nginx}->@*, $host, 1;

    $self->{swarm}->run(until => sub { !$self->{asking} }, timeout => 10);
    $nginx->stop;
}

1;
