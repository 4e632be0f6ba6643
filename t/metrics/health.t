# admission_health: live says that the worker answers, ready that the host is in
# a state to decide; from shared memory alone, whatever Redis does.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Site;
use Time::HiRes qw(time);

my $server = <<'END';
        location = /healthz { admission_health live; }
        location = /readyz  { admission_health ready; }
        location = /metrics { admission_metrics; }
END

my $site = Admission::Site->start(
    workers => 2, events => 'default threshold=1;', server => $server);
my $port = $site->port;
my $hangs = 0;
my %times = (0 => [], 1 => []);     # of answers, and of those while Redis hangs

sub ask ($path, $where = $port) {
    my $r = get($where, $path);
    push $times{$hangs}->@*, $r->time;
    return $r;
}

sub ready ($where = $port) {
    my $r = ask('/readyz', $where);
    return ($r->status, $r->json);
}

sub reasons ($where = $port) {
    my ($status, $json) = ready($where);
    return join ' ', $status, @{ $json->{reasons} // [] };
}


subtest 'answers' => sub {
    ok((wait_until { reasons() eq '200' } 10), 'ready');

    for my $path ('/healthz', '/readyz') {
        my $r = ask($path);
        is($r->status, 200, "$path: status");
        is($r->header('Content-Type'), 'application/json', 'type');
        is($r->header('Cache-Control'), 'no-store', 'no-store');

        $r = head($port, $path);
        is($r->status, 200, 'HEAD');
        is($r->body, '', 'without a body');

        $r = post($port, $path, body => 'x');
        is($r->status, 405, 'POST');
        is($r->header('Allow'), 'GET, HEAD', 'Allow');
    }

    is(ask('/healthz')->body, '{"status":"live"}', 'live');
    is(ask('/readyz')->body, '{"status":"ready"}', 'ready');
};


subtest 'Redis is not asked' => sub {
    my $monitor = $site->redis->monitor;
    my %sent;

    # Once more where a worker has just come to its connection, and greets: what
    # these ask would be sent each time.

    for (1 .. 5) {
        ask($_) for ('/healthz', '/readyz') x 20;
        %sent = map { ($_->[0] => 1) } $monitor->commands;
        delete @sent{qw(SMEMBERS SSCAN ZRANGEBYSCORE ZREMRANGEBYSCORE EXPIRE
                         EVALSHA TIME)};     # of the schedule
        last if !%sent;
    }

    is_deeply(\%sent, {}, 'by neither');
};


subtest 'Redis hangs' => sub {
    # before it hangs: what is not answered has been sent since

    my $start = time;

    $site->redis->sigstop;
    $hangs = 1;

    # What opens the breaker are calls that fail.  They have to be out before
    # the first one has: after that, none goes to a Redis that hangs.

    my @calls;

    my $call = sub {
        my @open = map { Admission::HTTP->connect($port) } 1 .. 40;
        $_->send(Admission::HTTP::compose(
            POST => '/api/queue/check/concert', bearer => $site->user('ann')))
            for @open;
        push @calls, @open;
    };

    $call->();
    ok((wait_until { reasons() =~ /^503 / } 15), 'not ready');
    cmp_ok(time - $start, '>', 0.9, 'after a second at least');

    # once more where the machine stood still before all were out

    my $last = time;
    ok((wait_until {
        $call->(), $last = time if time - $last > 3;
        reasons() =~ /\bredis_breaker_open\b/
    } 30), 'a breaker is open');
    ok((wait_until { reasons() =~ /\bredis_unreachable\b/ } 15),
       'after 3 s: it is out of reach');
    is(ask('/healthz')->status, 200, 'live all the same');

    $_->response for @calls;
    is(ask('/readyz')->header('Cache-Control'), 'no-store', 'no-store');

    $hangs = 0;
    $site->redis->sigcont;
    ok((wait_until { reasons() eq '200' } 15), 'ready again');
};


subtest 'an event that nothing is heard of' => sub {
    # where somebody waits a step is always due
    my $call = sub ($user) {
        return answered { $site->call(0, $user, POST => 'check') };
    };

    is($call->('ann')->json->{status}, 'active', 'ann is in');

    # since when something was heard of it for certain: that ben came
    my $start = time;

    is($call->('ben')->json->{status}, 'queued', 'ben waits');
    ok((wait_until {
        get($port, '/metrics')->body
            =~ /^nginx_admission_queue_waiting\{event="concert"\} 1$/m
    } 10), 'which is known');
    is(reasons(), '200', 'ready');

    # its steps fail, all else goes on
    $site->redis->may_refuse;
    $site->redis->cmd('SET', '{concert}:state', 'not ours');

    ok((wait_until { reasons() eq '503 state_stale' } 25),
       'what is known of it is stale');
    cmp_ok(time - $start, '>', 8, 'after 10 s');

    $site->redis->cmd('DEL', '{concert}:state');
    ok((wait_until { reasons() eq '200' } 15), 'ready again');
};


# Redis may be heard of ahead of the schedule's first turn.

subtest 'a start under load' => sub {
    for (1 .. 3) {
        my $other = Admission::Site->start(workers => 1, server => $server,
                                           redis => $site->redis);

        answered { $other->call(0, 'ann', POST => 'check') };
        is(reasons($other->port), '200', 'heard of Redis by the first call');
        $other->nginx->stop;
    }
};


subtest 'from the start' => sub {
    my $redis = Admission::Redis->start;
    $redis->stop;

    my $nginx = Admission::Nginx->start(
        http => 'admission_redis ' . $redis->url . ';', server => $server);

    is(reasons($nginx->port), '503 redis_never_heard', 'never heard');
    is(ask('/healthz', $nginx->port)->status, 200, 'live');

    $redis->launch;
    ok((wait_until { reasons($nginx->port) eq '200' } 10), 'heard');

    # and kept over a reload, and another size of the zone
    $nginx->reload;
    is(reasons($nginx->port), '200', 'ready after a reload, at once');

    $redis->stop;
    ok((wait_until { reasons($nginx->port) =~ /redis_unreachable/ } 10), 'gone');

    # a worker that comes has a breaker of its own, which opens after some seconds

    my $unreachable = qr/^503 redis_unreachable(?: redis_breaker_open)?$/;

    $nginx->reload;
    like(reasons($nginx->port), $unreachable, 'and after a reload');

    # a worker that died had a breaker, or none
    $nginx->kill_worker;
    like(reasons($nginx->port), $unreachable, 'a worker was killed');
    $redis->launch;
    ok((wait_until { reasons($nginx->port) eq '200' } 10), 'back');
};


# a reload takes an event off the list while users are in

subtest 'an event that is none any more' => sub {
    my $events = 'concert threshold=1; opera threshold=1;';
    my $other = Admission::Site->start(workers => 1, events => $events,
                                       server => $server);
    my $nginx = $other->nginx;

    $other->call(0, $_, POST => 'check') for qw(ann bob);
    ok((wait_until {
        get($nginx->port, '/metrics')->body
            =~ /^nginx_admission_queue_active\{event="concert"\} 1$/m
    } 10), 'one is in');

    $nginx->reload(http => $other->http =~ s/concert threshold=1;//r);
    ok((wait_until {
        my $m = get($nginx->port, '/metrics')->body;
        $m =~ /^nginx_admission_queue_active\{event="concert"\} 0$/m
            && $m =~ /^nginx_admission_queue_waiting\{event="concert"\} 0$/m
    } 10), 'nobody is asked about, so that nothing grows stale');
    is(reasons($nginx->port), '200', 'ready');
};


subtest 'without Redis' => sub {
    my $nginx = Admission::Nginx->start(server => $server);

    is(reasons($nginx->port), '200', 'there is nothing to wait for');
    my $m = get($nginx->port, '/metrics');
    is($m->status, 200, 'metrics');
    unlike($m->body, qr/^nginx_admission_state_age_seconds/m,
           'no age, which an alert would take for that of a Redis that is down');

    $nginx = Admission::Nginx->start(server => $server
        . 'location /a/ { admission_admin_api; }');
    is(reasons($nginx->port), '503 redis_never_heard',
       'not where a location is of no use without');
};


subtest 'nginx -t' => sub {
    for ([ 'admission_health;', 'invalid number of arguments' ],
         [ 'admission_health alive;', '"live" or "ready"' ],
         [ 'admission_health live; admission_metrics;', 'duplicate' ],
         [ 'admission_metrics events=x;', '"events=N", N from 0 to 1000' ],
         [ 'admission_metrics events=1001;', 'N from 0 to 1000' ],
         [ 'admission_metrics all;', '"events=N"' ])
    {
        my ($directives, $message) = @$_;
        my ($status, $output) = Admission::Nginx->conf_test(
            server => "location /x { $directives }");

        isnt($status, 0, $directives);
        like($output, qr/\Q$message\E/, 'says why');
    }
};

# a busy machine makes some of them late, Redis would make most

for my $hanging (0, 1) {
    my @times = sort { $a <=> $b } $times{$hanging}->@*;

    cmp_ok($times[$#times / 2], '<', 0.2 * slow,
           'no answer waited for anything');
    cmp_ok($times[-1], '<', 5 * slow, 'nor for long');
}

done_testing;
