# Rate limits while Redis is stopped, hangs, errs or was never there: what
# fail= says, within the deadline, by the host's own count, and back again.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Swarm;

my $deadline = 0.2;
my $admin = 'a' x 40;

my $redis = Admission::Redis->start;

my $server = <<'END';
        access_log %%DIR%%/times.log times;
        keepalive_requests 100000;
        root %%DIR%%;
        add_header X-Worker $pid always;

        location = /plain  { empty_gif; }
        location = /now    { stub_status; }

        location /local/   { empty_gif;
                             admission_rate_limit local rate=10r/m
                                 key=$arg_k; }
        location /counter/ { empty_gif;
                             admission_rate_limit counter rate=10r/m
                                 key=$arg_k algorithm=counter; }
        location /second/  { empty_gif;
                             admission_rate_limit second rate=5r/s
                                 key=$arg_k; }
        location /most/   { empty_gif;
                            admission_rate_limit most rate=1000r/h key=$arg_k
                                algorithm=log; }
        location /long/    { empty_gif;
                             admission_rate_limit long rate=200r/m
                                 key=$arg_k; }
        location /open/    { empty_gif;
                             admission_rate_limit open rate=2r/m key=$arg_k
                                 fail=open; }
        location /closed/  { empty_gif;
                             admission_rate_limit closed rate=2r/m key=$arg_k
                                 fail=closed; }
        location /trial/   { empty_gif;
                             admission_rate_limit trial rate=2r/m key=$arg_k
                                 fail=closed dry_run=on; }
        location /both/    { empty_gif;
                             admission_rate_limit few rate=3r/m key=$arg_k;
                             admission_rate_limit more rate=5r/m key=$arg_m; }
        location /strict/  { empty_gif;
                             admission_rate_limit a rate=3r/m key=$arg_k;
                             admission_rate_limit b rate=3r/m key=$arg_k
                                 fail=closed; }
END

my $http = <<"END";
    admission_secret tier1 ${\ ('w' x 40)};
    admission_secret admin $admin;
    log_format times "\$request_time \$status \$request_uri "
                     "\$admission_verdict \$admission_reason";
END

sub start ($timeout) {
    return Admission::Nginx->start(
        workers => 2,
        connections => 2048,
        vars => { REDIS => $redis->url },
        http => "admission_zone a:256k;\n"
                . "admission_redis %%REDIS%% timeout=$timeout;\n$http",
        server => $server . <<'END');
        location /vwr-api/  { admission_vwr_api; }
        location /admin/    { admission_admin_api; }
END
}

# One that waits for as long as a machine may stand still, and one whose
# deadline counts, see below.

my $nginx = start('60s');

sub ask ($path, %opt) {
    return request($opt{port} // $nginx->port, $opt{method} // 'GET', $path,
                   %opt);
}

sub statuses ($n, $path, %opt) {
    return join ' ', map { ask($path, %opt)->status } 1 .. $n;
}

# the same status so many times
sub so_many ($n, $status) { return join ' ', ($status) x $n }

# One worker may be back before the other: of many requests at once, each is
# charged there, by both.

sub by_redis () {
    state $n = 0;

    return wait_until {
        my @clients = map { Admission::HTTP->connect($nginx->port) } 1 .. 30;

        $_->send(Admission::HTTP::compose('GET', '/closed/?k=back' . ++$n))
            for @clients;

        my @answers = map { $_->response } @clients;
        my %workers = map { ($_->header('X-Worker') // '') => 1 } @answers;

        keys %workers == 2 && !grep { $_->status != 200 } @answers
    } 30;
}

sub told ($what, $mark) {
    return scalar(() = $nginx->error_log($mark) =~ /admission: redis $what/g);
}

# whether the last line was that it does not answer
sub away () {
    return told('does not answer', 0) - told('answers again', 0);
}

sub answers_again () {
    return wait_until { ask('/open/?k=z'); !away } 30;
}


# ---- not there

subtest 'Redis is down' => sub {
    my $mark = $nginx->log_mark;

    ok by_redis(), 'Redis counts';
    $redis->stop;

    is statuses(12, '/local/?k=a'), so_many(10, 200) . ' 429 429',
        'local: the same limit';
    is statuses(12, '/counter/?k=a'), so_many(10, 200) . ' 429 429',
        'with the counter, too';

    my $no = ask('/local/?k=a');

    is $no->json->{code}, 'RATE_LIMITED', 'the same answer';
    is $no->json->{retryAfter}, $no->header('Retry-After'), 'Retry-After';
    cmp_ok $no->header('Retry-After'), '>', 20, 'most of a minute';
    cmp_ok $no->header('Retry-After'), '<=', 60, 'at most a minute';
    is ask('/local/?k=b')->header('RateLimit'), '"local";r=9;t=60',
        'another client; RateLimit';
    is statuses(201, '/long/?k=a'), so_many(200, 200) . ' 429', '200 of them';

    is statuses(5, '/both/?k=a&m=x'), so_many(3, 200) . ' 429 429',
        'several limits';
    is statuses(3, '/both/?k=b&m=x'), '200 200 429', 'all or nothing';
    is ask('/both/?k=b&m=y')->status, 200, 'a refused one charged nothing';

    is statuses(5, '/open/?k=a'), so_many(5, 200), 'open';
    is ask('/open/?k=a')->header('RateLimit'), undef, 'has nothing to tell';

    my $closed = ask('/closed/?k=a');
    is $closed->status, 503, 'closed';
    is $closed->json->{code}, 'UNAVAILABLE', 'code';
    is $closed->json->{retryAfter}, $closed->header('Retry-After'),
        'Retry-After';
    is statuses(4, '/trial/?k=a'), so_many(4, 200), 'a trial denies nothing';
    is ask('/strict/?k=a')->status, 503, 'one of two is closed';

    is told('does not answer', $mark), 1, 'the log says so, once';

    $redis->restart;
    ok by_redis(), 'Redis is back, and counts';

    ok answers_again(), 'the log says so';
    is statuses(3, '/closed/?k=a'), '200 200 429', 'the limits of before';
    is statuses(2, '/local/?k=a'), '200 200', 'Redis knows nothing of ours';
    is told('does not answer', $mark), 1, 'once';
    is told('answers again', $mark), 1, 'once';

    my $log = read_file($nginx->dir . '/times.log');

    like $log, qr{ 429 /local/\?k=a limited local$}m, 'the verdict: limited';
    like $log, qr{ 503 /closed/\?k=a error redis$}m, 'error';
    like $log, qr{ 200 /open/\?k=a pass -$}m, 'pass';
};


# ---- the window slides

subtest 'a second on this host' => sub {
    $redis->stop;

    my $end = time + 3;
    my ($ok, $asked) = (0, 0);

    # or until it has, where the machine stood still for most of that

    while (time < $end || ($ok < 10 && time < $end + 30)) {
        $ok++ if ask('/second/?k=a')->status == 200;
        $asked++;
    }

    cmp_ok $ok, '>=', 10, "gets what it may: $ok of $asked";
    cmp_ok $ok, '<=', 5 * (2 + time - $end + 3), 'and no more';

    is ask('/local/?k=reload')->header('RateLimit'), '"local";r=9;t=60', 'one';
    $nginx->reload;
    like ask('/local/?k=reload')->header('RateLimit'), qr/^"local";r=8;/,
        'a reload keeps the count';

    $redis->restart;
    ok by_redis(), 'back';
};


# ---- more clients than there is room for

subtest 'a crowd on this host' => sub {
    my @admin = (bearer => $admin);

    is ask('/admin/activate/e1', method => 'POST', @admin)->status, 200,
        'a waiting room';
    is ask('/vwr-api/assign/e1', method => 'POST')->status, 200, 'a ticket'
        for 1 .. 3;

    my $known = sub {
        my $json = ask('/vwr-api/status/e1')->json;
        return ($json->{isActive} ? 'active' : 'not') . ' '
               . $json->{totalInQueue};
    };

    wait_until { $known->() eq 'active 3' } 10;
    is $known->(), 'active 3', 'is known';

    $redis->stop;

    # one comes between all the others: it is not the one to be forgotten

    my $swarm = Admission::Swarm->new(connections => 30);
    my ($often, %status) = (0);

    for my $n (1 .. 3000) {
        $swarm->request($nginx->port, 'GET', "/local/?k=c$n", {},
                        sub ($r) { $status{ $r->status }++ });
        $swarm->request($nginx->port, 'GET', '/local/?k=often', {},
                        sub ($r) { $often++ if $r->status == 200 })
            if $n % 50 == 0;
    }

    my $start = time;
    $swarm->run(timeout => 60);

    is_deeply \%status, { 200 => 3000 }, '3,000 clients, one request each';

    cmp_ok $often, '>=', 10, 'who comes often gets what it may';
    cmp_ok $often, '<=', 10 * (1 + int((time - $start) / 60) * 2),
        'and no more';
    is statuses(11, '/local/?k=c1'), so_many(10, 200) . ' 429',
        'who was forgotten begins anew';
    is $known->(), 'active 3', 'the waiting room was not forgotten';

    $redis->restart;
    ok by_redis(), 'back';
};


# ---- hanging, under load

my $patient = $nginx;
$nginx = start($deadline * 1000 . 'ms');
ok by_redis(), 'by Redis';

# A load for so many seconds, while something happens to Redis after a fifth
# of them; how often there was each status, the times of all answers as NGINX
# saw them, how long it took, and the longest that clients waited meanwhile for
# what needs no Redis, since the machine stood still.

sub load ($seconds, $happens) {
    my $mark = length read_file($nginx->dir . '/times.log');
    my $swarm = Admission::Swarm->new(connections => 60, timeout => 20);
    my $start = time;
    my $until = $start + $seconds * slow();
    my $stall = 0;
    my %status;

    my ($next, $plain);
    $next = sub ($n) {
        return if time > $until;
        $swarm->request($nginx->port, 'GET', "/second/?k=load$n", {}, sub ($r) {
            $status{ $r->status }++;
            $swarm->timer(0.02, sub { $next->($n) });
        });
    };
    $plain = sub {
        return if time > $until;
        my $sent = time;
        $swarm->request($nginx->port, 'GET', '/plain', {}, sub ($r) {
            $stall = max($stall, time - $sent);
            $swarm->timer(0.02, $plain);
        });
    };

    for my $n (1 .. 40) { $next->($n % 4) }
    for (1 .. 8) { $plain->() }
    $swarm->timer($seconds * slow() / 5, $happens);
    $swarm->run(timeout => 120) or die 'the load does not end';

    my $log = substr read_file($nginx->dir . '/times.log'), $mark;
    my @times = sort { $a <=> $b } $log =~ m{^([\d.]+) \d+ /second/}mg;

    return (\%status, \@times, time - $start, $stall);
}

sub p99 ($times) { return $times->[ int(0.99 * $#$times) ] }

my (undef, $usual) = load(2, sub { });
my $usual_p99 = p99($usual);

for my $what (qw(SIGSTOP SIGKILL)) {
    subtest "$what under load" => sub {
        my ($mark, $away);

        my ($status, $times, $took, $stall) = load(4, sub {
            $mark = $nginx->log_mark;
            $away = away;
            $what eq 'SIGSTOP' ? $redis->sigstop : $redis->kill9;
        });

        my $asked = @$times;

        # what a busy machine adds, it adds to the usual time as well, and to
        # that of others

        cmp_ok p99($times), '<=',
            ($deadline + 0.05) * slow() + 3 * $usual_p99 + $stall,
            sprintf 'p99 %.3f s of %d (usual: %.3f s, of others %.3f s at most)',
                p99($times), $asked, $usual_p99, $stall;

        is_deeply [ sort keys %$status ], [ 200, 429 ],
            'each is allowed or refused';

        # four clients, 5 a second, by Redis and then by the host

        cmp_ok $status->{200}, '<=', 4 * 5 * ($took + 5),
            "the limit holds: $status->{200} of $asked";
        cmp_ok $status->{200}, '>', 4 * 5, 'and is not all there is';

        # it may have missed the deadline just before, and be away already

        is $away + told('does not answer', $mark), 1, 'the log says so, once';
        is told('answers again', $mark), 0, 'and nothing else';

        $what eq 'SIGSTOP' ? $redis->sigcont : $redis->restart;

        ok by_redis(), 'Redis counts again, without a restart';
        ok answers_again(), 'the log says so';
    };
}

$nginx = $patient;


# ---- clients that go while Redis hangs

subtest 'clients that go' => sub {
    ok by_redis(), 'both workers have a connection';

    # besides the one that looks
    my $now = sub ($what) {
        return ask('/now')->body =~ /$what: (\d+)/ ? $1 - 1 : -1;
    };

    $redis->sigstop;
    my @clients = map { Admission::HTTP->connect($nginx->port) } 1 .. 40;
    $_->send(Admission::HTTP::compose('GET', '/local/?k=gone')) for @clients;
    ok +(wait_until { $now->('Writing') == @clients } 20), 'clients wait';
    $_->close for @clients;

    ok +(wait_until { $now->('connections') == 0 } 20),
        'their connections are closed';
    $redis->sigcont;
    is statuses(2, '/local/?k=stays'), '200 200', 'others are served';

    my $n = $redis->cmd('ZCARD', 'rate:local:gone');
    cmp_ok $n, '<=', 10, "they cost their entries: $n";
};


# ---- Redis that errs

subtest 'errors' => sub {
    my $mark = $nginx->log_mark;

    $redis->cmd('CONFIG', 'SET', 'maxmemory', 1);
    is statuses(12, '/local/?k=oom'), so_many(10, 200) . ' 429 429',
        'out of memory: this host counts';
    is ask('/closed/?k=oom')->status, 503, 'closed';
    like $nginx->error_log($mark), qr/answered a rate limit with "OOM/,
        'the log knows';
    $redis->cmd('CONFIG', 'SET', 'maxmemory', 0);
    ok by_redis(), 'and back';

    $redis->cmd('SCRIPT', 'FLUSH');
    is statuses(3, '/closed/?k=noscript'), '200 200 429', 'NOSCRIPT';
    $redis->cmd('HSET', 'rate:counter:odd', 's', 'x', 'c', 'y');
    is ask('/counter/?k=odd')->header('RateLimit'), '"counter";r=9;t=60',
        'what is no number counts for nothing';
};


# ---- never there

subtest 'no Redis at all' => sub {
    my $alone = Admission::Nginx->start(
        workers => 2, http => "admission_zone a:32k;\n$http",
        server => $server);

    my @there = (port => $alone->port);

    is statuses(11, '/local/?k=a', @there), so_many(10, 200) . ' 429',
        'this host counts';
    is ask('/closed/?k=a', @there)->status, 503, 'closed';
    is ask('/open/?k=a', @there)->status, 200, 'open';
    is statuses(201, '/long/?k=a', @there), so_many(200, 200) . ' 429',
        'in the smallest zone, too';

    my $most = Admission::HTTP->connect($alone->port);
    my %most;

    $most{ $most->request('GET', '/most/?k=a')->status }++ for 1 .. 1_050;
    is_deeply \%most, { 200 => 1000, 429 => 50 },
        'where a log of so many does not fit';

    # All have to go where the limit is one: so does the latest, which of 15 is
    # not in the first cell.

    my $slept = 2.5;

    is statuses(2, '/local/?k=low', @there), '200 200', 'a log of two';
    is statuses(14, '/long/?k=low', @there), so_many(14, 200), 'and of 14';
    sleep $slept;

    my $latest = time;
    is statuses(1, "/$_/?k=low", @there), '200', "$_, later" for qw(local long);

    $alone->reload(server => $server =~ s/(local|long) rate=\d+/$1 rate=1/gr);

    for my $path (qw(local long)) {
        my $no = ask("/$path/?k=low", @there);

        is $no->status, 429, "$path, with a lower limit by a reload";
        cmp_ok $no->header('Retry-After'), '>=', 60 - (time - $latest),
            'Retry-After: until there is room';
        cmp_ok $no->header('Retry-After'), '<=', 60, 'and not for longer';
    }
};

done_testing;
