# What a cluster does in one moment, so that fake nodes do it: a replica takes
# over in the turn in which a map comes that has not heard of it, and calls
# that are to follow ASKING cannot be sent.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;

use IO::Select;
use Time::HiRes qw(sleep);

my $event = 'concert';


sub start ($redis, $param) {
    return Admission::Nginx->start(http => <<END, server => <<'END');
    admission_redis   $redis cluster=on $param;
    admission_secret  tier2 $Admission::Site::SECRETS{tier2};
    admission_secret  user  $Admission::Site::SECRETS{user};
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END
}

sub joins ($nginx) {
    return post($nginx->port, "/api/queue/check/$event",
                bearer => Admission::Site->user('b'));
}

# the slot of the event, CRC-16/XMODEM

sub slot () {
    my $crc = 0;

    for my $byte (unpack 'C*', $event) {
        $crc ^= $byte << 8;
        $crc = ($crc & 0x8000 ? $crc << 1 ^ 0x1021 : $crc << 1) & 0xffff
            for 1 .. 8;
    }

    return $crc % 16384;
}

sub line (@reply) {
    return join '', map { ref ? '*' . @$_ . "\r\n" . line(@$_)
                          : /^\d+\z/ ? ":$_\r\n"
                          : '$' . length() . "\r\n$_\r\n" } @reply;
}

# [[first slot, last slot, port, ...], ...]

sub slots (@ranges) {
    return line([ map {
        my ($first, $last, @ports) = @$_;
        [ $first, $last, map { [ '127.0.0.1', $_, "id-$_" ] } @ports ]
    } @ranges ]);
}

# the slot of the event is at these, the master first, all others at one

sub map_of ($others, @ports) {
    my $slot = slot();

    return slots([ 0, $slot - 1, $others ],
                 @ports ? [ $slot, $slot, @ports ] : (),
                 [ $slot + 1, 16383, $others ]);
}

# of each connection, in order

sub evals ($fake) { return grep { $_->[1] eq 'EVALSHA' } $fake->commands }

sub lone ($fake) {
    my (%last, @lone);

    for my $command ($fake->commands) {
        my ($number, $name) = @$command;

        push @lone, $name if ($last{$number} // '') eq 'ASKING'
                             && $name !~ /^EVAL/;
        $last{$number} = $name;
    }

    return @lone, grep { $_ eq 'ASKING' } values %last;
}

# what has come already may be written down in a moment

sub lone_at_last ($fake) {
    wait_until { !lone($fake) } 20;
    return lone($fake);
}


# ---- a replica answers, and in the same turn, before that, came a map without
# it: it is used from then on, and so it stays

my $dir = test_dir;
my %file = map { $_ => "$dir/$_" } qw(worker now answered drained);

# it holds what comes first until it is told to answer

my $replica = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {

        if ($argv[0] =~ /^EVAL/) {
            sleep 0.01 until -e $file{answered};
        }

        $c->write($argv[0] =~ /^EVAL/ ? line(1) : "-ERR no\r\n");

        write_file($file{drained}, '')
            if -e $file{answered} && !length $c->{buffer}
               && !IO::Select->new($c->{socket})->can_read(0);
    }
});

my $dead = free_port;
my $others_port = free_port;

# while the worker does not run, all that it gets comes in one turn

sub in_one_turn ($c) {
    my $worker = read_file($file{worker});

    kill STOP => $worker;
    sleep 0.01 until read_file("/proc/$worker/stat") =~ /\) T /;

    $c->write(map_of($others_port));
    write_file($file{answered}, '');
    sleep 0.01 until -e $file{drained};

    kill CONT => $worker;
}

my $others = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {

        if ($argv[0] ne 'CLUSTER') {
            $c->write("-ERR no\r\n");

        } elsif (-e $file{answered}) {
            $c->write(map_of($others_port, $replica->port));

        } elsif (-e $file{now}) {
            in_one_turn($c);

        } else {
            $c->write(map_of($others_port, $dead, $replica->port));
        }
    }
}, port => $others_port);

my $nginx = start($others->url, 'timeout=' . 10 * slow . 's');

write_file($file{worker}, ($nginx->worker_pids)[0]);

# the first calls find the master dead; then one waits at the replica

my @waiting;

my $held = wait_until {
    my $c = Admission::HTTP->connect($nginx->port);

    $c->send(Admission::HTTP::compose(
        POST => "/api/queue/check/$event",
        bearer => Admission::Site->user('b')));
    push @waiting, $c;

    evals($replica);
} 20;
ok $held, 'a call is at the replica';

write_file($file{now}, '');

my $turn = wait_until { -e $file{drained} } 20;
ok $turn, 'a map comes, and then its answer';

$waiting[-1]->response;
my $before = evals($replica);
joins($nginx);

cmp_ok scalar(evals($replica)), '>', $before, 'it has the next call';
is $replica->connections, 1, 'on the same connection';
like $nginx->error_log, qr/redis 127\.0\.0\.1:$dead down/, 'the master is dead';

$nginx->quit;
$_->stop for $others, $replica;


# ---- a node that is asked with ASKING: the breaker lets one call through

my $importing = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {
        $c->write($argv[0] =~ /^EVAL/ && $c->number == 1
                  ? "-LOADING a little\r\n"
                  : $argv[0] =~ /^(?:ASKING|AUTH|PING)/ ? "+OK\r\n"
                  : "-ERR no\r\n");
    }
});

sub migrating ($to) {
    my $port = free_port;

    return Admission::FakeRedis->start(sub ($c) {
        my $asked = 0;

        while (my @argv = $c->command) {
            sleep 0.6 if $argv[0] =~ /^EVAL/ && !$asked++;
            $c->write($argv[0] eq 'CLUSTER' ? map_of($port, $port)
                      : $argv[0] eq 'AUTH' ? "+OK\r\n"
                      : $argv[0] =~ /^EVAL/
                      ? '-ASK ' . slot() . " 127.0.0.1:$to\r\n"
                      : "-ERR no\r\n");
        }
    }, port => $port);
}

my $migrating = migrating($importing->port);

$nginx = start($migrating->url, 'timeout=' . 2 * slow . 's breaker=2/50%/1s/1');

my $served = wait_until {
    joins($nginx);
    grep { $_->[0] > 1 } evals($importing);
} 20;

ok $served, 'the call of the trial is there';
is_deeply [ lone_at_last($importing) ], [], 'no ASKING without its call';
cmp_ok scalar(grep { $_->[1] eq 'ASKING' } $importing->commands), '>=', 2,
    'which ASKING was sent for';

$nginx->quit;
$_->stop for $migrating, $importing;


# ---- and a call whose time is over before it is connected to

$importing = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {
        sleep 0.7 if $argv[0] eq 'AUTH' && $c->number == 1;
        $c->write($argv[0] =~ /^(?:ASKING|AUTH|PING)/ ? "+OK\r\n"
                  : "-ERR no\r\n");
    }
});

$migrating = migrating($importing->port);

$nginx = start($migrating->url =~ s{//}{//:secret@}r, 'timeout=1s');

is joins($nginx)->status, 503, 'too late';
my $others_are = wait_until { joins($nginx); evals($importing) } 60;
ok $others_are, 'others are in time';
is_deeply [ lone_at_last($importing) ], [],
    'no ASKING without its call here';

$nginx->quit;
$_->stop for $migrating, $importing;

done_testing;
