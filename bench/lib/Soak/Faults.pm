# All that goes wrong: one fault after another out of a shuffled bag, so that
# each kind has its turn; those of processes may overlap with one of Redis.

package Soak::Faults;

use v5.36;

use List::Util qw(shuffle);
use Time::HiRes qw(time);

use Admission::Test;


# name => how many are in the bag.  `flush` once in two bags.

my %BAG = (
    'worker-kill' => 2, 'worker-stop' => 1, 'reload' => 2, 'instance' => 1,
    'zone' => 1, 'redis-restart' => 1, 'redis-crash' => 1, 'redis-stop' => 3,
    'script-flush' => 1, 'client-kill' => 1, 'clock' => 2, 'maxmemory' => 1,
    'clear' => 1, 'threshold' => 2, 'flush' => 0.5,
);

sub names () { return sort keys %BAG }


sub new ($class, $soak) {
    return bless { soak => $soak, counts => {}, effect => {}, last => {},
                   bag => [], bags => 0 }, $class;
}


sub begin ($self) {
    $self->{soak}{swarm}->timer(5, sub { $self->next });
}


# ---- what is known of them

# A fault of the kind ("redis": of any of Redis) is in effect, or was since.

sub happened ($self, $kind, $since) {
    return $self->{effect}{$kind} || ($self->{last}{$kind} // 0) >= $since;
}

sub redis_answers ($self) { return !$self->{away} }


sub enter ($self, @kinds) {
    $self->{effect}{$_}++ for @kinds;
}

sub over ($self, @kinds) {
    for my $kind (@kinds) {
        $self->{effect}{$kind}--;
        $self->{last}{$kind} = time;
    }
}


# ---- one after another

sub next ($self) {
    my $soak = $self->{soak};
    my $swarm = $soak->{swarm};

    return if $self->{lifted};
    $self->fill_bag if !$self->{bag}->@*;

    # the first that may be now
    my $bag = $self->{bag};
    my ($at) = grep { $self->can($bag->[$_] =~ tr/-/_/r)->($self, 1) }
               0 .. $#$bag;

    return $swarm->timer(0.5, sub { $self->next }) if !defined $at;

    my ($name) = splice @$bag, $at, 1;
    $self->{counts}{$name}++;
    $self->can($name =~ tr/-/_/r)->($self, 0);

    $swarm->timer(0.3 + -log(1 - rand) * ($soak->{every} - 0.3),
                  sub { $self->next });
}


sub fill_bag ($self) {
    my %only = map { $_ => 1 } split /,/, $self->{soak}{only};
    my $bag = $self->{bags}++;

    $self->{bag} = [ shuffle map {
        my $n = $BAG{$_};
        ($_) x ($n >= 1 ? $n : ($bag + 1) * $n == int(($bag + 1) * $n)
                               || $self->{soak}{minutes} < 2);
    } grep { !%only || $only{$_} } sort keys %BAG ];

    # early, for a loss comes long after it, and at the end
    $self->{bag} = [ sort { ($b eq 'clock') <=> ($a eq 'clock') }
                     $self->{bag}->@* ];

    # a short run may not come to its end: one of each kind is first
    my (%seen, @again);
    my @once = grep { !$seen{$_}++ || !push @again, $_ } $self->{bag}->@*;

    $self->{bag} = [ @once, grep { $_ ne 'clock' } @again ]
        if $self->{soak}{minutes} < 2;
}


sub say ($self, $text) { $self->{soak}->say_at("- $text") }

sub later ($self, $seconds, $code) {
    my $entry = { code => $code };

    push $self->{open}->@*, $entry;
    $self->{soak}{swarm}->timer($seconds, sub { $self->close_one($entry) });
}

sub close_one ($self, $entry) {
    my $code = delete $entry->{code} or return;
    $self->{open} = [ grep { $_ != $entry } $self->{open}->@* ];
    $code->();
}


# Ends all that is in effect, and has the line move fast.

sub lift ($self) {
    $self->{lifted} = 1;
    $self->close_one($_) for ($self->{open} // [])->@*;
    $self->set_threshold($_, int($_->{users} / 2) || 1)
        for $self->{soak}->crowds;
}


# ---- of NGINX

sub instances ($self) {
    return grep { $self->{soak}{up}{$_} } 0 .. $self->{soak}{instances} - 1;
}

sub some_instance ($self) {
    my @up = $self->instances;
    return $up[rand @up];
}

sub nginx ($self, $i) { return $self->{soak}->site->nginx($i) }


sub worker_kill ($self, $look) {
    return 1 if $look;

    my $i = $self->some_instance;
    my @workers = $self->nginx($i)->worker_pids;
    my $pid = $workers[rand @workers] // return;

    $self->say("a worker of instance $i is killed");
    kill KILL => $pid;
}


# As if the machine had no time for it: what it knows grows old.

sub worker_stop ($self, $look) {
    return !$self->{effect}{'worker stopped'} if $look;

    my $i = $self->some_instance;
    my @workers = $self->nginx($i)->worker_pids;
    my $pid = $workers[rand @workers] // return;
    my $seconds = 0.3 + rand 4;

    $self->say(sprintf 'a worker of instance %d stands for %.1f s', $i,
               $seconds);
    $self->enter('worker stopped');
    kill STOP => $pid;

    $self->later($seconds, sub {
        kill CONT => $pid;
        $self->over('worker stopped');
    });
}


sub reload ($self, $look) {
    return 1 if $look;

    my $i = $self->some_instance;
    $self->say("instance $i reloads");
    $self->hup($i);
}

sub zone ($self, $look) {
    return 1 if $look;

    my $site = $self->{soak}->site;
    my $i = $self->some_instance;

    $site->{zone} = (qw(512k 1m 2m 4m))[rand 4];
    $self->say("instance $i reloads with a zone of $site->{zone}");
    $self->hup($i);
}

# A worker killed meanwhile is started again after it: no waiting for it.

sub hup ($self, $i) {
    my $nginx = $self->nginx($i);

    $nginx->configure($self->{soak}->site->conf);

    my ($status, $output) = $nginx->test;
    $self->{soak}->wrong("nginx -t: $output") if $status;

    $nginx->signal('HUP');
}


sub instance ($self, $look) {
    return $self->instances > 1 && !$self->{effect}{'worker stopped'}
        if $look;

    my $i = $self->some_instance;
    my $how = rand() < 0.5 ? 'quit' : 'stop';
    my $seconds = 1 + rand 6;

    $self->say(sprintf 'instance %d: %s, for %.1f s', $i, $how, $seconds);
    delete $self->{soak}{up}{$i};
    $self->nginx($i)->$how;

    $self->later($seconds, sub {
        $self->nginx($i)->start_again;
        $self->{soak}{up}{$i} = time;
    });
}


# ---- of Redis

sub redis ($self) { return $self->{soak}->redis }

sub redis_free ($self) { return !$self->{effect}{redis} }


sub redis_restart ($self, $look) {
    return $self->redis_free if $look;

    $self->say('Redis restarts with its data');
    $self->enter('redis');
    $self->redis->stop;
    $self->redis->launch;
    $self->over('redis');
}

sub redis_crash ($self, $look) {
    return $self->redis_free if $look;

    my $seconds = rand 3;

    $self->say(sprintf 'Redis is killed, and starts with its data in %.1f s',
               $seconds);
    $self->enter('redis');
    $self->{away} = 1;
    $self->redis->kill9;

    $self->later($seconds, sub {
        $self->redis->launch;
        $self->{away} = 0;
        $self->over('redis');
    });
}

sub redis_stop ($self, $look) {
    return $self->redis_free if $look;

    my $seconds = 0.1 * 150 ** rand;

    $self->say(sprintf 'Redis stands for %.1f s', $seconds);
    $self->enter('redis');
    $self->{away} = 1;
    $self->redis->sigstop;

    $self->later($seconds, sub {
        $self->redis->sigcont;
        $self->{away} = 0;
        $self->over('redis');
    });
}

sub script_flush ($self, $look) {
    return $self->redis_free if $look;

    $self->say('Redis forgets all scripts');
    $self->redis->cmd('SCRIPT', 'FLUSH');
}

sub client_kill ($self, $look) {
    return $self->redis_free if $look;

    $self->say('Redis closes all connections');
    $self->enter('redis');
    $self->redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal');
    $self->over('redis');
}

# An hour ahead or back, and right again after a while.  Not soon after a loss:
# tokens are all there is then, and a clock says which of them are good.

sub clock ($self, $look) {
    return $self->redis_free && !$self->happened('flush', time - 90)
        if $look;

    my $hours = rand() < 0.5 ? 1 : -1;
    my $seconds = 2 + rand 8;

    $self->say(sprintf "Redis's clock is set by %+d h for %.1f s", $hours,
               $seconds);
    $self->enter('redis', 'clock');
    $self->redis->set_clock($hours * 3600);

    $self->later($seconds, sub {
        $self->redis->set_clock(0);
        $self->over('redis', 'clock');
    });
}

sub maxmemory ($self, $look) {
    return $self->redis_free if $look;

    my $seconds = 1 + rand 11;

    $self->say(sprintf 'Redis has no memory for %.1f s', $seconds);
    $self->enter('redis');
    $self->redis->cmd('CONFIG', 'SET', 'maxmemory', 1);

    $self->later($seconds, sub {
        $self->redis->cmd('CONFIG', 'SET', 'maxmemory', 0);
        $self->over('redis');
    });
}


# The data is lost.  Of what was set, cleared or let in a moment ago no host
# may know yet, so that it would be lost with the data: all is calm before.  And
# no token is good for an hour because the clock was ahead.

sub flush ($self, $look) {
    my $soak = $self->{soak};

    return !$self->happened('redis', time - 5)
           && !$self->happened('admin', time - 3)
           && !$self->happened('clock', time - 60)
           && !$self->happened('worker stopped', time - 3)
           && $self->instances == $soak->{instances}
           && !grep({ $_ > time - 3 } values $soak->{up}->%*)
        if $look;

    $self->say('Redis loses its data');
    $self->enter('flush', 'redis');
    $self->redis->flushall;
    $_->note_loss for $soak->crowds;
    $self->over('flush', 'redis');
}


# ---- of operators

sub clear ($self, $look) {
    # one that is not answered in time may run later, after another one
    return !$self->{effect}{admin} && !$self->{effect}{redis} if $look;

    my @crowds = $self->{soak}->crowds;
    my $crowd = $crowds[rand @crowds];

    $self->say("$crowd->{event} is cleared");
    $self->enter('admin');
    $crowd->clear_begins;
    $self->admin('POST', "clear/$crowd->{event}", sub {
        $crowd->clear_done;
        $self->over('admin');
    });
}


sub threshold ($self, $look) {
    return !$self->{effect}{admin} if $look;

    my @crowds = $self->{soak}->crowds;
    my $crowd = $crowds[rand @crowds];
    my $usual = $self->usual($crowd);
    my $n = rand() < 0.3 ? undef : rand() < 0.2 ? 0
            : int($usual * (0.3 + rand 1.2)) || 1;

    $self->say("the threshold of $crowd->{event} is set to "
               . ($n // 'what is configured'));
    $self->set_threshold($crowd, $n);

    # a pause is no rest
    $self->later(5, sub { $self->set_threshold($crowd, undef) })
        if defined $n && !$n;
}

sub usual ($self, $crowd) {
    return $self->{soak}{events}{ $crowd->{event} }{threshold};
}

sub set_threshold ($self, $crowd, $n) {
    my $event = $crowd->{event};
    my $to = $n // $self->usual($crowd);

    # one after the other
    if ($crowd->{setting}) {
        return $self->{soak}{swarm}->timer(0.2, sub {
            $self->set_threshold($crowd, $n) });
    }

    $self->enter('admin');
    $crowd->threshold_begins($to);
    $self->admin(defined $n ? ('PUT', "threshold/$event?threshold=$n")
                            : ('DELETE', "threshold/$event"), sub {
        $crowd->threshold_done($to);
        $self->over('admin');
    });
}


# Until it is done.

sub admin ($self, $method, $path, $done) {
    my $soak = $self->{soak};
    my @ports = $soak->site->ports;

    $soak->{swarm}->request($ports[rand @ports], $method,
        "/api/queue/admin/$path",
        [ Authorization => "Bearer $Admission::Site::SECRETS{admin}" ],
        sub ($r) {
            return $done->() if $r->status == 200;

            $soak->wrong("$method $path: " . $r->status . ' ' . $r->body)
                if $r->status && $r->status != 503;
            $soak->{swarm}->timer(0.3, sub {
                $self->admin($method, $path, $done) });
        });
}


# ---- what is said

sub summary ($self) {
    my $n = 0;
    $n += $_ for values $self->{counts}->%*;
    return "$n faults";
}

sub counts ($self) {
    return join ', ', map { "$_ $self->{counts}{$_}" }
                      sort keys $self->{counts}->%*;
}


1;
