# Replies that nobody would send: to every kind of question random ones, right,
# almost right and rubbish, in pieces, twice, late and cut off.  Nothing
# crashes, nothing hangs, and NGINX goes on, whichever way Redis is reached.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;
use Admission::Swarm;

use Time::HiRes qw(sleep time);

# TEST_SEED repeats a run, as far as the machine does
my $seed = $ENV{TEST_SEED} // int rand 1e9;
my $timeout = 300 * slow;
my @ports = map { free_port } 1, 2;


# ---- what is answered

sub any (@of)      { return $of[rand @of] }
sub bulk ($s)      { return '$' . length($s) . "\r\n$s\r\n" }
sub array (@items) { return '*' . @items . "\r\n" . join '', @items }
sub number ($n)    { return ":$n\r\n" }

sub node ($host = '127.0.0.1', $port = any(@ports)) {
    return array(bulk($host), number($port), bulk('id'));
}

sub odd_node () {
    return any(
        node(any('?', '', '::1', 'localhost', 'x' x 300)),
        node('127.0.0.1', any(0, 70_000, -1)),
        "*3\r\n\$-1\r\n" . number(any(@ports)) . bulk('id'),
        "*-1\r\n", array(), array(number(1), number(2)),
        array(bulk('a.test'), number(any(@ports)), bulk('id'),
              array(bulk('ip'), bulk('127.0.0.1'))));
}

sub slots () {
    return array(array(number(0), number(16383), node, node)) if rand() < 0.7;

    return array(map { array(number(int rand 17_000), number(int rand 17_000),
                             map { any(node, odd_node) } 0 .. rand 3) }
                 0 .. rand 4);
}

sub master () {
    return array(bulk(any(('127.0.0.1') x 4, '::1', '', 'x' x 400, "a\0b")),
                 bulk(any(@ports, @ports, 0, 70_000, 'x')));
}

# as of the queue's scripts, of a step with a list of revocations
sub answer () {
    my $us = int(time * 1e6);
    my @fields = map { number($_) }
        any(0 .. 4), 1, any(0, 5), 2, 10, $us, $us, $us - 1e9, 2 * $us, $us,
        int($us / 1000) + 60_000, -1, -1, 0, any(0, 0, 1000),
        any(0, 7, 1e12), int rand 128, any(0, 1), any(0, 0, 1e15),
        any(0, 0, 3), any(-1, -1, 0, 5, 1e12), any(0, 0, -1, 7, 1e15);
    push @fields, bulk(any('', '', '', 'ZADD', "x\0\xff" x 50));

    return array(@fields) if rand() < 0.7;
    return array(@fields,
                 any(array(), array(number(1)), array(bulk('u'), number($us))),
                 any(array(), array(number(1), number(2), number(0), array()),
                     array(number(-1), number(2), number(3),
                           array(number(5), bulk('x')))));
}

sub error () {
    my $to = '127.0.0.1:' . any(@ports);
    my $slot = int rand 17_000;

    return '-' . any(
        ("MOVED $slot $to") x 3, "MOVED 1 :$ports[0]", "MOVED 1 ?:$ports[0]",
        'MOVED', 'MOVED 1', 'MOVED 1 :', 'MOVED  :1', "MOVED x $to",
        'MOVED 1 127.0.0.1:0', 'MOVED 1 ' . 'a' x 300 . ':7000',
        ("ASK $slot $to") x 3, 'ASK x',
        ('NOSCRIPT x') x 3,
        map({ "$_ x" } qw(TRYAGAIN CLUSTERDOWN READONLY MASTERDOWN LOADING
                          NOAUTH NOPERM DENIED OOM BUSY)),
        'ERR max number of clients reached', '', ' ', 'x: -READONLY y',
        "\0\1\2") . "\r\n";
}

sub value ($depth = 0) {
    return any(
        number(any(0, -1, '99999999999999999999', int rand 1e15)),
        bulk(any('', "\0\xff", 'x' x int rand 3000, int rand 1e6)),
        "\$-1\r\n", "*-1\r\n", "+OK\r\n", "-ERR x\r\n",
        $depth > 8 ? () : array(map { value($depth + 1) } 1 .. rand 5),

        # of RESP3
        "_\r\n", "#t\r\n", ",1.5\r\n", "(12345678901234567890\r\n",
        "=7\r\ntxt:abc\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n",
        ">1\r\n:1\r\n", "!5\r\nERR x\r\n");
}

sub broken ($bytes) {
    for (0 .. rand 4) {
        my $at = int rand length $bytes;

        substr $bytes, $at, int rand 5,
               any('', chr int rand 256, "\r\n", "*5\r\n", ":1\r\n", '9');
    }

    return $bytes;
}

sub reply (@argv) {
    my $command = uc $argv[0];
    my $x = rand;

    return slots if $command eq 'CLUSTER' && $x < 0.8;
    return master if $command eq 'SENTINEL' && $x < 0.8;
    return bulk('maxmemory_policy:' . any('noeviction', 'x' x 100, "\0", '')
                . "\r\n") if $command eq 'INFO' && $x < 0.9;
    return "+PONG\r\n" if $command eq 'PING' && $x < 0.9;

    return $x < 0.75 ? answer : $x < 0.9 ? error : value;
}

my @fakes = map {
    my $port = $_;

    Admission::FakeRedis->start(sub ($c) {
        srand $seed + $port + 7 * $c->number;

        while (my @argv = $c->command) {
            my $reply = reply(@argv);
            my $x = rand;

            $reply = broken($reply) if rand() < 0.03;
            $reply .= $reply        if $x < 0.01;
            sleep 0.5 * slow        if $x > 0.99;

            return if $x > 0.97 && $x < 0.975;

            if ($x > 0.975 && $x < 0.98) {
                $c->write(substr $reply, 0, length($reply) / 2);
                return $c->reset;
            }

            $c->write($x > 0.02 && $x < 0.04 ? split(//, $reply) : $reply)
                or return;
        }
    }, port => $port);
} @ports;


# ---- who asks

my @CALLS = (
    ([ POST => '/api/queue/check/%s' ]) x 3, [ GET => '/api/queue/status/%s' ],
    [ POST => '/api/queue/leave/%s' ], [ GET => '/api/queue/admin/%s' ],
    [ POST => '/vwr-api/assign/%s' ], [ GET => '/vwr-api/status/%s' ],
    [ POST => '/api/admin/vwr/activate/%s' ], [ GET => '/strict/%s' ]);

sub nginx ($redis) {
    my %secret = %Admission::Site::SECRETS;
    my $secrets = join "\n    ", map { "admission_secret $_ $secret{$_};" }
                                 sort keys %secret;

    # every breaker open is a reply less
    return Admission::Nginx->start(http => <<END, server => <<'END');
    admission_redis  $redis timeout=${timeout}ms breaker=64/100%/1s/3;
    $secrets
END
        admission_event  e1;
        admission_user   jwt;

        location /api/queue/admin/  { admission_queue_api admin=on; }
        location /api/queue/        { admission_tier1 auto;
                                      admission_rate_limit q rate=1000r/s;
                                      admission_queue_api; }
        location /vwr-api/          { admission_vwr_api; }
        location /api/admin/vwr/    { admission_admin_api; }
        location /strict/           { admission_tier2 on strict=on;
                                      return 204; }
        location /ok                { return 204; }
END
}

my %urls = (
    single => "redis://127.0.0.1:$ports[0]",
    cluster => join(' ', map { "redis://127.0.0.1:$_" } @ports),
    sentinel => 'redis+sentinel://'
                . join(',', map { "127.0.0.1:$_" } @ports) . '/x');

note "TEST_SEED=$seed";
srand $seed;

for my $way (sort keys %urls) {
    my $nginx = nginx($urls{$way});
    my $swarm = Admission::Swarm->new(connections => 30, retry => 1);
    my $end = time + 4;
    my ($right, %status, %entry) = 0;

    # about one a second comes through; on a busy machine it takes longer
    my $over = sub { $end < time && ($right || $end + 116 * slow() < time) };

    my $ask;
    $ask = sub ($user) {
        return if $over->();

        my $event = 'e' . int rand 8;
        my ($method, $path) = any(@CALLS)->@*;
        my @headers = (Authorization => 'Bearer '
                       . ($path =~ /admin/ ? $Admission::Site::SECRETS{admin}
                                           : Admission::Site->user($user)));
        push @headers, 'X-Queue-Entry-Token' => $entry{$event}
            if $entry{$event} && rand() < 0.5;

        $swarm->request($nginx->port, $method, sprintf($path, $event),
                        [ @headers ], sub ($r) {
            my $json = eval { $r->json };

            $entry{$event} = $json->{entryToken}
                if ref $json eq 'HASH' && $json->{entryToken};
            $status{ $r->status || $r->error }++;
            $right++ if $r->status == 200 && $path =~ /queue/;
            $swarm->timer(rand 0.05, sub { $ask->($user) });
        });
    };

    $ask->("u$_") for 1 .. 25;
    $swarm->timer(2, sub { $nginx->reload });
    $swarm->run(until => $over, timeout => 120);

    note "$way: ", join ', ', map { "$status{$_} x $_" } sort keys %status;
    cmp_ok $right, '>', 0, "$way: some answers are right";
    note "$right of the queue";
    is $status{500} // 0, 0, 'none is an error of NGINX';
    is get($nginx->port, '/ok')->status, 204, 'and NGINX goes on';

    $nginx->quit;
    unlike $nginx->error_log, qr/exited on signal/, 'no worker died';
}

done_testing;
