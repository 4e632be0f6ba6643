# Many calls in one turn of the event loop: those that go ahead of its end, a
# socket that takes only a part of them, and a connection that ends meanwhile.
# Each is answered, and charged once.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Certs;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;

# commands of so many do not fit into the buffer of a unix socket

my $clients = 1_500;

my $ca = Admission::Certs->new('ca');
my $redis = Admission::Redis->start(
    unix => 1, tls => [ $ca, $ca->issue('redis', 'IP:127.0.0.1') ]);

my %url = (
    TCP  => $redis->url,
    TLS  => $redis->url(tls => 1) . ' tls_ca=' . $ca->cert,
    unix => 'unix://tickets:tickets@' . $redis->unix_path,
);

for my $what (sort keys %url) {
    subtest $what => sub { bursts($what, $url{$what}) };
}

subtest 'a reset that the write meets first' => \&write_meets_reset;

done_testing;


sub bursts ($what, $url) {
    my $nginx = Admission::Nginx->start(
        connections => 4096,
        http        => "admission_zone a:4m;\n"
                       . "admission_redis $url timeout=${\ (5 * slow())}s;\n"
                       . 'keepalive_requests 1000000;',
        server      => <<~'END');
            location /free { empty_gif; }
            location /     { empty_gif;
                             admission_rate_limit few rate=3r/h key=$arg_k; }
            END

    my $port = $nginx->port;
    my ($worker) = $nginx->worker_pids;

    my @clients = map { Admission::HTTP->connect($port) } 1 .. $clients;
    my $of = sub ($n) { "$what-$n" };

    # all have sent a request before the worker looks at any

    my $burst = sub ($happens = sub { }) {
        kill STOP => $worker;
        ok +(wait_until { state_of($worker) eq 'T' } 20), 'the worker stands still';

        $clients[$_]->send(Admission::HTTP::compose('GET',
                                                    '/?k=' . $of->($_)))
            for 0 .. $#clients;

        $happens->();
        kill CONT => $worker;
    };

    my $answers = sub () {
        my %answers;

        for my $client (@clients) {
            my $r = $client->response;
            $answers{$r->status . ' ' . ($r->header('RateLimit') // '')
                     =~ s/;t=\d+//r}++;
        }

        return \%answers;
    };

    my $charged = sub () {
        my %charged;
        $charged{$_}++ for $redis->pipeline(
            map { [ 'ZCARD', 'rate:few:' . $of->($_) ] } 0 .. $#clients);
        return \%charged;
    };

    is get($port, '/free')->status, 200, 'it works';

    $burst->();
    is_deeply $answers->(), { '200 "few";r=2' => $clients }, 'each is allowed';
    is_deeply $charged->(), { 1 => $clients }, 'and charged once';

    # Redis reads nothing until the worker has written what it can

    $redis->sigstop;
    $burst->();
    is get($port, '/free')->status, 200, 'nobody else waits';
    $redis->sigcont;

    is_deeply $answers->(), { '200 "few";r=1' => $clients },
        'Redis was late: each is allowed';
    is_deeply $charged->(), { 2 => $clients }, 'and charged once';

    # the connection ends before the worker writes to it

    my $mark = $nginx->log_mark;

    $burst->(sub () { $redis->kill9 });
    is_deeply $answers->(), { '200 "few";r=2' => $clients },
        'Redis is gone: this host judges each';
    is scalar(() = $nginx->error_log($mark) =~ /redis does not answer/g), 1,
        'the log says so, once';

    $redis->restart;

    # its breaker lets few calls out at first

    my $n = 0;
    ok +(wait_until {
            my @keys = map { "$what-back" . ++$n } 1 .. 10;
            get($port, "/?k=$_") for @keys;
            $redis->cmd('EXISTS', map { "rate:few:$_" } @keys) == @keys
        } 20), 'Redis is back';

    $burst->();
    is_deeply $answers->(), { '200 "few";r=2' => $clients }, 'and answers all';
    is_deeply $charged->(), { 1 => $clients }, 'each once';

    $nginx->quit;
}


# A turn of the event loop is told of 512 events at most: of so many requests,
# which write before it is told of the end of the connection.

sub write_meets_reset () {
    my ($go, $gone) = map { test_dir . "/reset-$_" } qw(go gone);

    my $fake = Admission::FakeRedis->start(sub ($c) {
        return $c->hang if $c->number > 1;

        $c->command;
        wait_until { -e $go } 60;
        $c->reset;
        write_file($gone, '');
    });

    my $nginx = Admission::Nginx->start(
        connections => 4096,
        http        => "admission_zone a:4m;\n"
                       . "admission_redis ${\ $fake->url} timeout=30s;",
        server      => <<~'END');
            location / { empty_gif;
                         admission_rate_limit few rate=3r/h key=$arg_k; }
            END

    my ($worker) = $nginx->worker_pids;
    my @clients = map { Admission::HTTP->connect($nginx->port) } 0 .. $clients;
    my $send = sub ($n) {
        $clients[$n]->send(Admission::HTTP::compose('GET', "/?k=$n"));
    };

    $send->(0);
    ok +(wait_until { $fake->commands } 20), 'a call is on its way';

    kill STOP => $worker;
    ok +(wait_until { state_of($worker) eq 'T' } 20), 'the worker stands still';
    $send->($_) for 1 .. $clients;
    write_file($go, '');
    ok +(wait_until { -e $gone } 20), 'the connection is reset';
    kill CONT => $worker;

    ok +(wait_until { $nginx->error_log =~ /redis \S+ down/ } 20),
        'the log says so';
    like $nginx->error_log,
         qr/down\b.*: connection closed by Redis/, 'and that it was Redis';
    is $clients[0]->response->status, 200, 'a limit is judged by this host';

    $_->close for @clients;
    $fake->stop;
    $nginx->quit;
}


sub state_of ($pid) {
    return (read_file("/proc/$pid/stat") =~ /.*\) (\S)/)[0];
}
