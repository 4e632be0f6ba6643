# The ends of workers that have something left to do: quit, stop, and
# worker_shutdown_timeout, with requests that wait for Redis and for backends.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Certs;
use Admission::HTTP;
use Admission::JWT;
use Admission::Redis;
use Admission::Waiting;
use IO::Socket::INET;

my $ca = Admission::Certs->new('ca');
my $redis = Admission::Redis->start(
    tls => [ $ca, $ca->issue('redis', 'IP:127.0.0.1') ]);

sub site (%opt) {
    my $main = delete $opt{main} // '';
    my $site = waiting_site(
        redis => $redis, workers => 2, timeout => '60s',
        listen => 'reuseport',      # so that either worker has some of them
        events => 'default threshold=10 admit_interval=200ms vwr_rate=0;',
        server => <<'END', %opt);
        location = /strict {
            admission_tier2 on strict=on;
            empty_gif;
        }

        location /limited {
            admission_rate_limit some rate=1000000r/h;
            empty_gif;
        }
END
    my $nginx = $site->nginx;
    write_file($nginx->dir . '/nginx.conf', "$main\n"
               . read_file($nginx->dir . '/nginx.conf'));
    $nginx->reload if $main;

    return $site;
}


# Requests that wait for Redis, which hangs: of each kind, on all workers.

sub waiting ($site) {
    my $in = $site->call(0, ann => POST => 'check')->json->{entryToken};
    my @headers = (Authorization => 'Bearer ' . $site->user('ann'),
                   'X-Queue-Entry-Token' => $in);

    operator($site, POST => 'activate/concert');
    operator($site, POST => 'activate/later');
    $redis->sigstop;

    my @connections;

    for my $what ([ GET => '/strict' ], [ GET => '/limited' ],
                  [ POST => '/api/queue/check/concert' ],
                  [ POST => '/api/queue/leave/concert',
                    Authorization => 'Bearer ' . $site->user('ben') ],
                  [ POST => '/vwr-api/assign/concert' ],
                  [ POST => '/api/admin/vwr/deactivate/later',
                    Authorization =>
                        "Bearer $Admission::Site::SECRETS{admin}" ])
    {
        my ($method, $path, @other) = @$what;

        for (1 .. 4) {
            my $connection = Admission::HTTP->connect($site->port);
            $connection->send(Admission::HTTP::compose(
                $method, $path, body => '',
                headers => @other ? \@other : \@headers));
            push @connections, $connection;
        }
    }

    # until all are read: none has had an answer
    my $hex = sprintf ':%04X', $site->port;

    wait_until {
        !grep {
            my (undef, $local, undef, undef, $queues) = split ' ';
            ($local // '') =~ /$hex$/ && hex((split /:/, $queues)[1]);
        } split /\n/, read_file('/proc/net/tcp')
    };

    return @connections;
}

sub gone_after (@pids) {
    my $took = stopwatch;
    wait_until { !grep { alive($_) } @pids } 30 or diag('they stay');
    return $took->();
}

# What NGINX's master says of a worker that it waited a second for is no fault
# of one that looks for leaks.

sub alerts ($nginx) {
    return join "\n", grep {
        /\[(?:alert|crit|emerg)\]/
            && !(sanitized && /worker process \d+ exited on signal 9/)
    } split /\n/, $nginx->error_log;
}

for my $tls (0, 1) {
    my $what = $tls ? 'TLS' : 'TCP';
    my @url = $tls ? (redis_url => $redis->url(tls => 1) . ' tls_ca='
                                   . $ca->cert) : ();

    subtest "$what: worker_shutdown_timeout" => sub {
        my $seconds = 5 * slow;
        my $site = site(@url, main => "worker_shutdown_timeout ${seconds}s;");
        my $nginx = $site->nginx;
        my @old = $nginx->worker_pids;
        my @requests = waiting($site);

        # who goes on a connection that the old workers keep
        $nginx->signal('HUP');
        wait_until { 2 <= grep { my $p = $_; !grep { $p == $_ } @old }
                          $nginx->worker_pids };
        is scalar(grep { alive($_) } @old), 2, 'old workers wait';

        cmp_ok gone_after(@old), '<', 15 * slow,
            'until the time is over, not as long as Redis may take';
        ok $_->closed(5), 'a request that waited is closed' for @requests;

        $redis->sigcont;
        ok wait_until(sub { $site->call(0, ann => GET => 'status')
                            ->status == 200 }, 10), 'the new ones work';

        $nginx->quit;
        unlike $nginx->error_log, qr/open socket|\[(?:alert|crit)\]/,
            'no socket was left open';
    };

    subtest "$what: stop" => sub {
        my $site = site(@url);
        my $nginx = $site->nginx;
        my @requests = waiting($site);
        my $took = stopwatch;

        $nginx->stop;
        cmp_ok $took->(), '<', 5 * slow, 'at once';
        $redis->sigcont;

        is alerts($nginx), '', 'no alert';
    };

    subtest "$what: quit" => sub {
        my $site = site(@url);
        my $nginx = $site->nginx;
        my @workers = $nginx->worker_pids;
        my @requests = waiting($site);

        $nginx->signal('QUIT');
        ok wait_until(sub {
            !IO::Socket::INET->new(PeerAddr => '127.0.0.1', Timeout => 1,
                                   PeerPort => $site->port)
        }), 'nobody new is taken';
        is scalar(grep { alive($_) } @workers), 2, 'the workers wait';

        $redis->sigcont;
        is join(' ', map { $_->response('GET', 20)->status } @requests),
            join(' ', (200) x @requests), 'each request is answered';
        cmp_ok gone_after(@workers), '<', 10 * slow, 'then they go';

        $nginx->{stopped} = 1;
        $nginx->{process}{finished} = 1;
        ok wait_until(sub { !$nginx->{process}->alive }), 'and the master';
        unlike $nginx->error_log, qr/open socket|\[(?:alert|crit)\]/,
            'no socket was left open';
    };
}


subtest 'clients that go while they wait, and workers too' => sub {
    my $site = site();
    my $nginx = $site->nginx;
    my @old = $nginx->worker_pids;
    my @requests = waiting($site);

    # with nobody who waits, nothing holds the workers
    undef @requests;
    $nginx->signal('HUP');
    cmp_ok gone_after(@old), '<', 10 * slow, 'they go';
    $redis->sigcont;
    $nginx->quit;
    unlike $nginx->error_log, qr/open socket|\[(?:alert|crit)\]/,
        'no socket was left open';
};

ok(wait_until(sub { $redis->cmd('CLIENT', 'LIST') !~ /user=tickets/ }),
   'Redis has no connection of any of them');

done_testing;
