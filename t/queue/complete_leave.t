# A worker that leaves while Redis is known to be away tells it, once it is back, what
# a backend has sold: its breaker is open, and asks by PINGs on a connection that
# nobody waits for, which a worker that leaves closes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;

my $site = Admission::Site->start(
    workers => 1, timeout => '1s', events => 'default threshold=5 slots=9;',
    server => <<'END');
        location /buy { admission_event $arg_e; admission_tier2 on;
                        proxy_pass http://booking; }
        location = /metrics { admission_metrics; }
END
my ($redis, $nginx) = ($site->redis, $site->nginx);
my $n = 0;

sub sold ($event) { return $redis->cmd('GET', "{$event}:sold") // 0 }

# connections to Redis, which stands still: those of the worker

sub asked () {
    my $hex = sprintf ':%04X', $redis->port;

    return scalar grep {
        my (undef, undef, $remote, $state) = split ' ';
        ($remote // '') =~ /$hex$/ && $state eq '01';
    } split /\n/, read_file('/proc/net/tcp');
}

# many at once: each of them goes out, and fails

sub storm () {
    my @clients = map {
        my $c = Admission::HTTP->connect($site->port);
        $c->send(Admission::HTTP::compose(
            POST => "/api/queue/check/$site->{event}", body => '',
            headers => [ Connection => 'close' ],
            bearer => $site->user("storm$_")));
        $c
    } 1 .. 12;
    $_->response('POST') for @clients;
}

for my $round (1 .. 3) {
    local $site->{event} = my $event = "event$round";

    my $in = answered { $site->call(0, ann => POST => 'check') };
    my $token = $in->json->{entryToken};
    ok $token, "round $round: one is in";

    my $open = wait_until {
        $redis->sigcont;
        answered { $site->call(0, ann => POST => 'check') };
        $redis->disconnect;
        $redis->sigstop;
        storm();
        metrics($site->port)->value('redis_breakers', state => 'open');
    } 60;
    ok $open, 'the breaker is open';

    is get($site->port, "/buy?header=X-Admission-Command:complete;seats=2&e=$event",
           bearer => $site->user('ann'),
           headers => [ 'X-Queue-Entry-Token' => $token ])->status, 200,
        'the backend has sold';

    my @old = $nginx->worker_pids;
    wait_until { asked() };
    $nginx->reload(wait => 0);
    ok((wait_until { $nginx->old_worker_pids == 1 }), 'a worker is told to leave');
    $redis->sigcont;

    my $sold = wait_until { sold($event) };
    is $sold, 2, 'and does, once Redis is back';
    ok((wait_until { !grep { alive($_) } @old }), 'then it goes');
}

done_testing;
