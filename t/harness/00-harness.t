# The helper library itself: that it does what the tests rely on, and that it
# fails a test whose log or processes are not in order.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;
use Admission::Swarm;
use List::Util qw(max sum);
use Time::HiRes qw(sleep time);


# ---- tests that have to fail

my $ok = "location / { return 200 ok; }";

sub inner ($code, %env) {
    state $count = 0;

    my $file = write_file(test_dir . '/inner-' . ++$count . '.pl', <<END);
use lib '$FindBin::Bin/../lib';
use Admission::Test;
use Admission::HTTP;
use Admission::FakeRedis;
use Admission::Nginx;
use Admission::Redis;
\$| = 1;
sub nginx { Admission::Nginx->start(module => 0, server => '$ok', \@_) }
$code
END
    local %ENV = (%ENV, TEST_KEEP => '', TEST_SLOW => 1, %env);
    return run($^X, $file);
}

sub fails ($what, $pattern, $code, %env) {
    my ($status, $output) = inner($code, %env);

    ok $status != 0 && $output =~ $pattern, "fails: $what"
        or diag "status $status\n$output";
}

my ($status, $output) = inner(<<'END', TEST_SLOW => slow);
my $nginx = nginx();
is get($nginx->port, '/')->body, 'ok';
$nginx->kill_worker;
done_testing;
END

is $status, 0, 'a good test passes' or diag $output;

fails 'a worker that crashes', qr/exited on signal 9/, <<'END';
my $nginx = nginx();
my ($worker) = $nginx->worker_pids;
kill KILL => $worker;
wait_until { $nginx->error_log =~ /exited on signal/ };
pass;
done_testing;
END

fails 'an emerg in the log', qr/\[emerg\].*unknown directive "wrong"/, <<'END';
my $nginx = nginx();
write_file($nginx->dir . '/nginx.conf', 'wrong;');
$nginx->signal('HUP');
wait_until { $nginx->error_log =~ /wrong/ };
pass;
done_testing;
END

for my $line ('==1==ERROR: AddressSanitizer: heap-use-after-free',
              '==1==ERROR: LeakSanitizer: detected memory leaks',
              'src/x.c:1:2: runtime error: signed integer overflow')
{
    fails "a sanitizer's report ($line)", qr/\Q$line\E/, <<END;
my \$nginx = nginx();
open my \$log, '>>', \$nginx->dir . '/error.log';
print \$log "$line\\n";
close \$log;
pass;
done_testing;
END
}

# whose directory is kept, of those that fail

for my $ends ('pass; run("false")', 'fail', 'pass; die "ouch"',
              'pass; sub A::end { "ill" } Admission::Test::register(bless {}, "A")')
{
    my (undef, $output) = inner(<<END, TEST_KEEP => 'failed');
diag('in ' . test_dir);
$ends;
done_testing;
END

    my ($dir) = $output =~ /^# in (.*)/m;
    my $kept = $output =~ /^# kept \Q$dir\E$/m;

    is !!-d $dir, $ends !~ /^pass; run/, "kept if it failed: $ends"
        or diag $output;
    is !!$kept, !!-d $dir, 'and its name is said';

    File::Path::remove_tree($dir);
}

fails 'a process left behind', qr/left behind: \d+ .*sleep/, <<'END';
Admission::Process->start(name => 'x', code => sub {
    exec 'sleep', 100 if !fork;
});
wait_until { grep { $_->{title} =~ /sleep 100/ } processes };
pass;
done_testing;
END

fails 'workers left behind', qr/left behind: \d+ nginx: worker/, <<'END';
my $nginx = nginx();
kill KILL => $nginx->pid;
wait_until { !alive($nginx->pid) };
pass;
done_testing;
END

fails 'a Redis that ended by itself', qr/ended by itself/, <<'END';
my $redis = Admission::Redis->start;
kill KILL => $redis->pid;
wait_until { !alive($redis->pid) };
pass;
done_testing;
END

# what is waited for in vain, for a shorter time; all else has its own

fails 'a process that does not stop', qr/would not stop/, <<'END';
my $process = Admission::Process->start(name => 'x', code => sub {
    $SIG{TERM} = 'IGNORE';
    write_file('ready', '');
    sleep 1 while 1;
});
Admission::Test::register($process);
wait_until { -e test_dir . '/ready' };
$ENV{TEST_SLOW} = 0.1;
pass;
done_testing;
END

fails 'an NGINX that does not quit', qr/did not quit/, <<'END';
my $fake = Admission::FakeRedis->start(sub ($c) { $c->hang });
my $nginx = nginx(server => 'location / { proxy_pass http://127.0.0.1:'
                            . $fake->port . '; }');
my $c = Admission::HTTP->connect($nginx->port);
$c->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
wait_until { $fake->connections };
$ENV{TEST_SLOW} = 0.1;
pass;
done_testing;
END

fails 'what fails anyway', qr/Failed test/, <<'END';
my $nginx = nginx();
fail;
done_testing;
END

fails 'a wrong configuration', qr/unknown directive "wrong"/, <<'END';
nginx(http => 'wrong;');
END


# ---- tests that do not come to their end

for my $how ('die "ouch"', 'kill INT => $$; sleep 9',
             'kill TERM => $$; sleep 9')
{
    my ($status, $output) = inner(<<END);
my \$nginx = nginx(workers => 2);
my \$redis = Admission::Redis->start;
say 'pids ', join ' ', \$nginx->pid, \$redis->pid, \$nginx->worker_pids;
say 'dir ', test_dir;
$how;
END
    my @pids = ($output =~ /^pids (.*)/m)[0] =~ /\d+/g;
    my ($dir) = $output =~ /^dir (.*)/m;

    ok $status != 0, "$how: fails";
    ok @pids == 4 && !(grep { alive($_) } @pids), "$how: all stopped"
        or diag $output;
    ok defined $dir && !-e $dir, "$how: cleaned up";
}


# ---- time

SKIP: {
    skip 'no /proc/PID/schedstat', 5 if !-r "/proc/$$/schedstat";

    my $slept = stopwatch;
    my $start = time;
    my %waited = Admission::Test::waits($$);
    sleep 1;

    # others may have it while the stopwatch looks, which is left out as well

    my $seconds = $slept->() + stood($start);
    my %waits = Admission::Test::waits($$);

    cmp_ok $seconds + $waits{$$} - $waited{$$}, '>', 0.5,
        'who sleeps wants no processor';
    cmp_ok $slept->($start), '<', 0.5, 'and not longer than that';

    # one that has other things to do: somebody else waits for it, who works

    my $worker = Admission::Process->start(name => 'works', code => sub {
        setpriority 0, 0, 19;
        1 while !-e 'worked';
    });
    my @others = map {
        Admission::Process->start(name => "other-$_", code => sub {
            1 while !-e 'worked';
        })
    } 1 .. 2 * (() = read_file('/proc/cpuinfo') =~ /^processor/mg);

    my %before = Admission::Test::waits();
    my $waited = stopwatch;
    $start = time;
    my $less = wait_until {
        sleep 0.1;
        my $took = $waited->();
        $took < time - $start - 0.2;
    } 20;
    ok $less, 'what others had the processors for is not counted';

    # they wait all at once: what is left out is no sum, which is more than the
    # time that has passed, but at most what one of them waited until later

    my $most = sub (%now) {
        return max map { $now{$_} - ($before{$_} // 0) } keys %now;
    };

    my ($sum, $time, $took);
    my $beyond = wait_until {
        sleep 0.1;
        $took = $waited->($time = time);
        my %now = Admission::Test::waits();
        $sum = sum map { $now{$_} - ($before{$_} // 0) } keys %now;
        $sum > $most->(%now) + 0.5;
    } 20;
    ok $beyond, 'several wait at once';
    cmp_ok $took, '>=', $time - $start
                        - max($most->(Admission::Test::waits()), stood($start, $time)),
        'no more is left out than one of them waited, or the machine stood still';

    write_file(test_dir . '/worked', '');
    $_->wait_exit for $worker, @others;
}


# a machine that stands still: all of the test, that is, but who stops it

{
    watched;
    my @all = ($$, map { $_->{pid} } processes($$));
    my ($start, $took) = (time, stopwatch);
    my $stops = Admission::Process->start(name => 'stops', code => sub {
        kill STOP => @all;
        sleep 0.5;
        kill CONT => @all;
    });
    ok $stops->wait_exit, 'stopped, and continued';
    $stops->{finished} = 1;

    my $end = time;
    cmp_ok stood($start, $end), '>', 0.4, 'which is known afterwards';
    cmp_ok $took->($end), '<=', $end - $start - 0.4, 'and not counted';
    cmp_ok standstill, '>', 0.4, 'the longest time';
}


# ---- ports

my $ports = Admission::Process->start(name => 'ports', code => sub {
    for (1 .. 4) {
        next if fork;

        # its own place to start from, and the end only when all are done
        syswrite STDOUT, free_port . "\n" for 1 .. 50;
        sleep 1 while getppid != 1 && !-e 'done';
        POSIX::_exit(0);
    }
    1 while wait > 0;
});

wait_until { $ports->output =~ tr/\n// == 200 } 20;
my @ports = split /\n/, $ports->output;
write_file(test_dir . '/done', '');
ok $ports->wait_exit, 'processes that took ports end';
$ports->{finished} = 1;

is scalar(keys %{ { map { $_ => 1 } @ports } }), 200,
    'no port is given twice to tests that run at once';


# ---- NGINX, a backend, the clients

my $backend = Admission::Backend->start;
my $nginx = Admission::Nginx->start(
    module => 0, workers => 2, vars => { BACKEND => $backend->port },
    files => { 'a.txt' => 'from a file' },
    http => 'upstream backend { server 127.0.0.1:%%BACKEND%%; keepalive 8; }',
    server => <<'END');
listen 127.0.0.1:%%PORT_other%%;
root %%DIR%%;
location /b/ {
    proxy_pass http://backend;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
}
location /plain/ { proxy_pass http://127.0.0.1:%%BACKEND%%; }
END

my $r = get($nginx->port, '/b/c?d=1', headers => [ A => 1, b => 2, A => 3 ],
            cookies => { x => 'y' }, bearer => 'token');

is $r->status, 200, 'status';
is $r->json->{uri}, '/b/c?d=1', 'uri';
is_deeply [ grep { $_->[0] ne 'Host' } @{ $r->json->{headers} } ],
    [ [ A => 1 ], [ b => 2 ], [ A => 3 ],
      [ Authorization => 'Bearer token' ], [ Cookie => 'x=y' ] ],
    'headers, in order';

$r = post($nginx->port('other'), '/b/', json => { a => [ 1, true ] });
is $r->json->{body}, '{"a":[1,true]}', 'a JSON body, on the other port';

$r = get($nginx->port, '/b/?status=503&header=Set-Cookie:a%3Db%3B%20Path%3D/'
                       . '%3B%20HttpOnly&header=Set-Cookie:c%3D');
is $r->status, 503, 'the status asked for';
is_deeply $r->cookies->{a}{attributes}, { path => '/', httponly => 1 },
    'attributes of a cookie';
is $r->cookie('a'), 'b', 'its value';
is $r->cookie('c'), '', 'an empty one';
is scalar(() = $r->header('Set-Cookie')), 2, 'headers of one name';

is head($nginx->port, '/a.txt')->body, '', 'HEAD';
is get($nginx->port, '/a.txt', version => '1.0')->body, 'from a file',
    'a file, HTTP/1.0';
is request($nginx->port, 'GET', '/', raw => "rubbish\r\n\r\n")->status, 400,
    'raw bytes';
is get(free_port, '/')->status, 0, 'no server: no status';
like get(free_port, '/')->error, qr/connect/, 'but an error';
is get($nginx->port, '/b/?delay=5', timeout => 0.2)->error, 'timeout',
    'time-out';

# on a connection that was kept NGINX would ask once more

is get($nginx->port, '/plain/?close=1')->status, 502, 'a backend that closes';
is +(grep { $_->{uri} eq '/plain/?close=1' } $backend->requests), 1,
    'what the backend has seen';

ok wait_until { $nginx->access_log =~ m{GET /b/c\?d=1} }, 'access log';

my $c = Admission::HTTP->connect($nginx->port);
is $c->request('GET', '/a.txt')->body, 'from a file', 'keepalive';
is $c->request('POST', '/b/', body => 'x' x 100_000)->json->{body},
    'x' x 100_000, 'a second request, a long body';
is $c->request('POST', '/b/', headers => [ 'Transfer-Encoding' => 'chunked' ],
               body => "3\r\nabc\r\n0\r\n\r\n")->json->{body}, 'abc',
    'a chunked request';

my $chunked = Admission::FakeRedis->start(sub ($c) {
    $c->read;
    $c->write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", $_)
        for "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";
});
is get($chunked->port, '/')->body, 'hello world', 'a chunked response';


my @old = $nginx->worker_pids;
my $fds = fd_count($nginx->pid);

is @old, 2, 'two workers';
cmp_ok rss($old[0]), '>', 1_000_000, 'memory of a worker';

$nginx->reload(files => { 'a.txt' => 'changed' });
is +(grep { alive($_) } @old), 0, 'reload: the old workers are gone';
ok wait_until { fd_count($nginx->pid) == $fds },
    'and descriptors are as many as before';
is get($nginx->port, '/a.txt')->body, 'changed', 'and new ones serve';
ok $c->closed, 'a connection that nginx closes';

ok !eval { $nginx->reload(http => 'wrong;'); 1 }, 'a wrong reload croaks';
like $@, qr/unknown directive "wrong"/, 'with the reason';

$nginx->quit;
is get($nginx->port, '/a.txt')->status, 0, 'quit';
$nginx->configure(http => '', workers => 1, server => $ok);
$nginx->start_again;
is get($nginx->port, '/')->body, 'ok', 'started again';

my $daemon = Admission::Nginx->start(module => 0, daemon => 1, server => $ok);
my $master = $daemon->pid;

$daemon->upgrade;
isnt $daemon->pid, $master, 'upgrade: a new master';
is get($daemon->port, '/')->body, 'ok', 'that serves';

is_deeply [ Admission::Nginx->conf_test(module => 0, server => $ok) ]->[0], 0,
    'conf_test: right';
my ($code, $text) = Admission::Nginx->conf_test(http => 'wrong 1;',
                                                module => 0);
is $code, 1, 'conf_test: wrong';
like $text, qr/unknown directive "wrong"/, 'and why';


# ---- many clients

my $swarm = Admission::Swarm->new(connections => 50);
my (%seen, $fired);

$swarm->request($nginx->port, 'GET', "/$_", {}, sub ($r) {
    $seen{ $r->status }++;
    $swarm->timer(0.1, sub { $fired++ });
}) for 1 .. 1000;

$swarm->cancel($swarm->timer(0, sub { $seen{cancelled}++ }));

ok $swarm->run(until => sub { ($fired // 0) == 1000 }, timeout => 20),
    'a thousand requests and timers';
is_deeply \%seen, { 200 => 1000 }, 'all answered, none cancelled fired';

# they are set within less than what is between them

my @order;

for (1 .. 20) {
    @order = ();
    my $start = time;

    for my $seconds (0.3, 0.1, 0.2) {
        $swarm->timer($seconds, sub { push @order, $seconds });
    }

    my $took = time - $start;
    ok $swarm->run, 'until there is nothing left to do';
    last if $took < 0.1;
}

is "@order", '0.1 0.2 0.3', 'timers in order';
ok !$swarm->run(until => sub { 0 }, timeout => 0.1), 'in vain: false';

my $error;
$swarm->request(free_port, 'GET', '/', [], sub ($r) { $error = $r->error });
$swarm->run;
like $error, qr/refused/, 'a connection refused';

# kept connections that the server has closed meanwhile
$nginx->reload;

my (@retried, @plain);
my $retry = Admission::Swarm->new(retry => 1);

for (1 .. 2) {
    $retry->request($nginx->port, 'GET', '/', [], sub ($r) {
        push @retried, $r->status;
    });
    $retry->run;
    $swarm->request($nginx->port, 'GET', '/', [], sub ($r) {
        push @plain, $r->error // 'none';
    });
    $swarm->run;
    $nginx->reload;
}

is_deeply \@retried, [ 200, 200 ], 'a retry on a closed connection';
like "@plain", qr/closed|send|read/, 'an error without';


# ---- Redis

my $redis = Admission::Redis->start(unix => 1, password => 'secret',
                                    acl => [ 'user default on >secret ~* &* '
                                             . '+@all',
                                             'user bob on >b ~* &* +get' ]);

is $redis->cmd('SET', 'k', "\0\r\n\xff"), 'OK', 'a reply';
is $redis->cmd('GET', 'k'), "\0\r\n\xff", 'bytes';
is $redis->cmd('GET', 'none'), undef, 'nil';
is $redis->cmd('INCR', 'n'), 1, 'an integer';
is_deeply $redis->cmd('EVAL', 'return {1, {"a", false}}', 0),
    [ 1, [ 'a', undef ] ], 'arrays';
like [ $redis->try('INCR', 'k') ]->[1], qr/not an integer/, 'an error';
ok !eval { $redis->cmd('INCR', 'k'); 1 }, 'which croaks';
is_deeply [ $redis->pipeline([ 'INCR', 'n' ], [ 'WRONG' ], [ 'INCR', 'n' ]) ]
    ->[2], 3, 'a pipeline';

my $socket = $redis->client(path => $redis->unix_path);
is $socket->cmd('GET', 'n'), 3, 'over the unix socket';

my $bob = $redis->client(user => 'bob', password => 'b');
like [ $bob->try('SET', 'n', 1) ]->[1], qr/NOPERM/, 'another user';

my $monitor = $redis->monitor;
$bob->cmd('GET', "a \"b\"\n\xff");
$redis->cmd('GET', 'own');
is_deeply [ $monitor->commands ], [ [ 'GET', "a \"b\"\n\xff" ] ],
    'commands seen';

is_deeply $redis->stats_of(sub { $bob->cmd('GET', 'x') for 1 .. 3 }),
    { get => 3 }, 'commands counted';

$redis->sigstop;
my $slow = $redis->client(timeout => 0.2);
like [ $slow->try('PING') ]->[1], qr/timeout/, 'stopped';
$redis->sigcont;
is $redis->cmd('PING'), 'PONG', 'goes on';

$redis->restart(keep => 1);
is $redis->cmd('GET', 'n'), 3, 'restarted with its data';
$redis->kill9;
like [ $redis->try('PING') ]->[1], qr/connect/, 'killed';
$redis->restart;
is $redis->cmd('GET', 'n'), undef, 'restarted empty';


my $fake = Admission::FakeRedis->start(sub ($c) {
    my @argv = $c->command;
    $c->write('$', length $argv[1], "\r\n", $argv[1], "\r\n");
    $c->number == 1 ? $c->reset : $c->hang;
});

my $client = Admission::Redis::Client->new(port => $fake->port);
is $client->cmd('ECHO', 'x'), 'x', 'a fake Redis';
like [ $client->try('PING') ]->[1], qr/closed|reset|Broken/i, 'that resets';
is $client->cmd('ECHO', 'y'), 'y', 'another connection';
$client->{timeout} = 0.2;
like [ $client->try('PING') ]->[1], qr/timeout/, 'that hangs';
is $fake->connections, 2, 'connections counted';
is_deeply [ $fake->commands ],
    [ [ 1, 'ECHO', 'x' ], [ 2, 'ECHO', 'y' ] ], 'commands noted';


# ---- tokens

# RFC 7515, A.1
my $key = unb64url('AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75'
                   . 'aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow');
is jwt_raw(qq({"typ":"JWT",\r\n "alg":"HS256"}),
           qq({"iss":"joe",\r\n "exp":1300819380,\r\n )
           . qq("http://example.com/is_root":true}), $key),
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOj'
    . 'EzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjft'
    . 'JeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', 'the example of RFC 7515';

for my $alg (qw(HS256 HS384 HS512)) {
    my $token = jwt_sign({ sub => 'x' }, $key, alg => $alg);
    is_deeply jwt_verify($token, $key), { sub => 'x' }, "$alg: verifies";
    is jwt_verify($token, 'wrong'), undef, "$alg: not with another secret";
}

is jwt_decode(user_token($key, userId => 'u'))->{userId}, 'u', 'user_token';
ok !exists jwt_decode(entry_token($key, exp => undef))->{exp}, 'no exp';


# ---- what is tested

my $module = Admission::Nginx::module;

SKIP: {
    skip "no $module", 2 if !-e $module;

    my ($status, $output) = Admission::Nginx->conf_test(server => $ok);
    is $status, 0, 'the module loads' or diag $output;

    my $sanitized = read_file($module) =~ /__asan_.*__ubsan_handle/s;
    is !!$sanitized, sanitized,
        $sanitized ? 'it has sanitizers' : 'it has no sanitizers';
}

done_testing;
