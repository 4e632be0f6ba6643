# Redis behind sentinels: the master is the one that they name, and followed
# when it changes, in the middle of several hundred users.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::Faults;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Sentinel;
use Admission::Site;

use Time::HiRes qw(time);

my $sentinel = Admission::Sentinel->start;

sub small ($redis, $timeout = 1000 * slow) {
    return Admission::Nginx->start(http => <<END, server => <<'END');
    admission_redis   $redis timeout=${timeout}ms;
    admission_secret  tier2 $Admission::Site::SECRETS{tier2};
    admission_secret  user  $Admission::Site::SECRETS{user};
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END
}

sub joins ($nginx) {
    return post($nginx->port, '/api/queue/check/small',
                bearer => Admission::Site->user('ann'));
}


# ---- ways to name it

my $dead = free_port;
my ($first) = $sentinel->watchers;

for my $url ($sentinel->url, $sentinel->url($first),
             "redis+sentinel://tickets:tickets\@127.0.0.1:$dead,127.0.0.1:" . $first->port
             . '/tickets', $sentinel->url . '/0')
{
    my $nginx = small($url, 5000 * slow);
    is joins($nginx)->status, 200, "reached: $url";
    $nginx->quit;
}

my $nginx = small($sentinel->url =~ s{/tickets\z}{/others}r);
is joins($nginx)->status, 503, 'a name that they do not know: 503';

my $told = wait_until {
    joins($nginx);
    $nginx->error_log
        =~ /redis sentinel \S+ about "others": it knows no such master/
} 20;
ok $told, 'which the log says';
$nginx->quit;

# what is no sentinel

for my $bytes ("-ERR unknown command\r\n", "+OK\r\n", "*1\r\n\$1\r\nx\r\n",
               "*2\r\n\$1\r\nx\r\n\$5\r\n99999\r\n", "*2\r\n:1\r\n:2\r\n",
               "*2\r\n\$-1\r\n\$-1\r\n")
{
    my $fake = Admission::FakeRedis->start(sub ($c) {
        while ($c->command) { $c->write($bytes) }
    });

    my $nginx = small('redis+sentinel://127.0.0.1:' . $fake->port . '/x', 200);
    is joins($nginx)->status, 503, 'a sentinel that says '
                                   . $bytes =~ s/\r\n/ /gr;
    $nginx->quit;
    $fake->stop;
}


# ---- a master that says nothing any more: calls are out there when another
# one is named, and when they are over it is left alone

my $mute = Admission::FakeRedis->start(sub ($c) { $c->hang });
my $named = test_dir . '/named';
write_file($named, $mute->port);

my $fake = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {
        my $port = read_file($named);
        $c->write(uc $argv[0] eq 'SENTINEL'
                  ? "*2\r\n\$9\r\n127.0.0.1\r\n\$5\r\n$port\r\n"
                  : "+OK\r\n");
    }
});

$nginx = small('redis+sentinel://tickets:tickets@127.0.0.1:' . $fake->port
               . '/x', 4000 * slow);
my $out = Admission::HTTP->connect($nginx->port);
$out->send("POST /api/queue/check/small HTTP/1.0\r\nAuthorization: Bearer "
           . Admission::Site->user('bob') . "\r\n\r\n");

ok +(wait_until { $mute->connections } 20),
   'a call is out at a mute master';
write_file("$named.new", $sentinel->master->port);
rename "$named.new", $named;

ok +(wait_until { joins($nginx)->status == 200 } 20),
   'calls go to another one';
is $out->response('POST', 20)->status, 503, 'and that one fails';

# a look at the sentinels, every second, and it is forgotten
my $since;
my $alone = wait_until {
    my $n = $mute->connections;
    $since = undef if ($since // [0])->[0] != $n;
    $since //= [ $n, time ];
    time - $since->[1] >= 3 * slow;
} 20;
ok $alone, 'the mute one is left alone';

$nginx->quit;
$_->stop for $mute, $fake;


# ---- a failover by hand, and one since the master died

my $faults = Admission::Faults->new(redis => $sentinel, arrive => 18,
                                    lossy => 1,
                                    users => sanitized ? 200 : 400);

sub watch ($name, $replica) {
    $faults->watch($name => sub {
        $sentinel->master == $replica && $replica->cmd('ROLE')->[0] eq 'master'
    });
}

# they refuse it while they are at one, or do not know of a good replica, as where
# the machine stood still

my $next;

$faults->at(3, 'the sentinels are told to fail over', sub {
    watch(told => $next);
}, outage => 6, until => 'told', when => sub {
    $next = $sentinel->replica // return;
    !length(($first->try('SENTINEL', 'FAILOVER', 'tickets'))[1]);
});

# the old master follows by then

my $killed;

$faults->at(9, 'the master dies', sub {
    my $replica = $sentinel->replica;
    $killed = $sentinel->master;
    $killed->kill9;
    watch(died => $replica);
}, outage => 8, until => 'died', when => sub {
    $faults->{seen}{told} && $sentinel->replica->cmd('INFO', 'replication')
        =~ /^role:slave.*^master_link_status:up/ms
});

$faults->run;

for my $name (qw(told died)) {
    my $back = $faults->back_after($name);
    ok defined $back, "$name: a replica was promoted";
    note sprintf 'back %.2f s after that', $back;

    cmp_ok $back, '<', 3 * slow, 'and found soon';
}

like $faults->site->nginx->error_log,
     qr/redis "tickets" is at \S+, by its sentinels/, 'the log says where';

done_testing;
