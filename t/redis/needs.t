# What the module needs of Redis is tried, at the start, when Redis is back and
# when it refused something: a host that can serve nothing is not ready, and says
# which command it is.  A stream that can't be written stops nobody, and is told.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Redis;
use Admission::Site;

my $server = <<'END';
        location = /readyz  { admission_health ready; }
        location = /metrics { admission_metrics; }
END

sub ready ($site) {
    my $r = get($site->port, '/readyz');
    return join ' ', $r->status, ($r->json->{reasons} // [])->@*,
                     $r->json->{refused} // ();
}

sub becomes ($site, $pattern, $what) {
    ok((wait_until { ready($site) =~ $pattern } 30), $what)
        or diag ready($site), "\n", $site->nginx->error_log;
}

sub lines ($site, $pattern, $mark = 0) {
    return grep { /$pattern/ } split /\n/, $site->nginx->error_log($mark);
}

sub user ($redis, @changes) {
    $redis->cmd('ACL', 'SETUSER', 'tickets', @changes);
}


my $redis = Admission::Redis->start;
$redis->may_refuse;

my %start = (redis => $redis, workers => 1, server => $server,
             timeout => '5s',
             events => 'default threshold=2 admit_interval=100ms;');


subtest 'from the start' => sub {
    for my $command (qw(hincrby zunionstore evalsha)) {
        my $name = uc $command;

        user($redis, "-$command");
        my $site = Admission::Site->start(%start);

        becomes($site, qr/^503 (?:\w+ )*redis_refuses $name$/,
                "not ready without $name");
        is(scalar lines($site, qr/redis refuses "$name", which the module/), 1,
           'which the log says, once');

        user($redis, "+$command");
        becomes($site, qr/^200$/, 'ready with it');
        is(scalar lines($site, qr/\[notice\].* redis runs all commands/), 1,
           'which the log says, too');
        $site->nginx->stop;
    }
};


subtest 'writes' => sub {
    for ([ maxmemory => 1, 0, qr/OOM/ ],
         [ 'min-replicas-to-write' => 1, 0, qr/NOREPLICAS/ ])
    {
        my ($setting, $bad, $good, $why) = @$_;

        $redis->cmd('CONFIG', 'SET', $setting, $bad);
        my $site = Admission::Site->start(%start);

        becomes($site, qr/^503 (?:\w+ )*redis_refuses SET$/,
                "not ready: $setting");
        ok(lines($site, qr/redis refuses "SET", .*$why/), 'the log says why');

        $redis->cmd('CONFIG', 'SET', $setting, $good);
        becomes($site, qr/^200$/, 'ready without');
        is($site->call(0, 'ann', POST => 'check')->status, 200, 'it works');
        $site->nginx->stop;
    }
};


my $site = Admission::Site->start(%start);

subtest 'meanwhile' => sub {
    becomes($site, qr/^200$/, 'ready');

    user($redis, '-rename');
    is($site->admin(POST => 'clear/%s')->status, 200, 'nothing to clear');
    ok((wait_until {
        $site->call(0, 'a', POST => 'check')->json->{status} eq 'active'
    } 20), 'one is in');
    $site->call(0, $_, POST => 'check') for qw(b c);
    is($site->admin(POST => 'clear/%s')->status, 503, 'a clear is refused');
    is($site->call(0, 'a', GET => 'status')->json->{status}, 'active',
       'nobody is out');
    becomes($site, qr/^503 redis_refuses RENAME$/, 'not ready any more');

    user($redis, '+rename');
    becomes($site, qr/^200$/, 'ready again');
    is($site->admin(POST => 'clear/%s')->status, 200, 'a clear');
};


subtest 'after a reconnect' => sub {
    my @user = ('resetkeys', '~{*}:*', '~queue:*', '~vwr:*', '~rate:*');

    # keys of events alone, but for what hosts share
    user($redis, 'resetkeys', '~queue:*', '~vwr:*');
    $redis->cmd('CLIENT', 'KILL', 'USER', 'tickets');

    becomes($site, qr/^503 (?:\w+ )*redis_refuses \w+$/, 'no keys of events');
    user($redis, @user);
    becomes($site, qr/^200$/, 'ready again');
};


sub unwritten {
    my ($n) = get($site->port, '/metrics')->body
              =~ /^nginx_admission_queue_admissions_unwritten_total (\d+)$/m;
    return $n;
}

subtest 'the stream' => sub {
    my $n = 0;

    for ([ 'of another type', qr/XADD \{concert\}:admissions: .*WRONGTYPE/,
           sub { $redis->cmd('DEL', '{concert}:admissions');
                 $redis->cmd('SET', '{concert}:admissions', 'x') },
           sub { $redis->cmd('DEL', '{concert}:admissions') } ],
         [ 'without permission', qr/XADD \{concert\}:admissions: /,
           sub { user($redis, '-xadd') }, sub { user($redis, '+xadd') } ])
    {
        my ($what, $line, $bad, $good) = @$_;
        my $mark = $site->nginx->log_mark;

        $bad->();
        my ($in, $told) = (0, 0);

        # a line a second, at most
        wait_until {
            my $r = $site->call(0, 'in', POST => 'check');
            $in++ if $r->json->{status} eq 'active';
            $site->call(0, 'in', POST => 'leave');
            $told = lines($site, qr/\[error\].* refuses what is done besides, $line/,
                          $mark);
        } 20;

        ok($told, "$what: told") or diag $site->nginx->error_log($mark);
        cmp_ok($in, '>', 0, 'users get in');
        is(unwritten(), $n += $in, 'counted');

        $good->();
        $site->call(0, 'well', POST => 'check');
        $site->call(0, 'well', POST => 'leave');
        is(unwritten(), $n, 'and then it works again');
    }

    # by a step too
    $redis->cmd('DEL', '{concert}:admissions');
    $site->call(0, $_, POST => 'check') for qw(a b c);
    $redis->cmd('DEL', '{concert}:admissions');
    $redis->cmd('SET', '{concert}:admissions', 'x');
    $site->call(0, 'a', POST => 'leave');
    ok((wait_until { unwritten() == $n + 1 } 20), 'a step');
    becomes($site, qr/^200$/, 'the host is ready all the while');
};


subtest 'a stream from the start' => sub {
    $redis->flushall;
    user($redis, '-xadd');

    for (1, 0) {
        my $nginx = Admission::Site->start(%start,
            events => "default admissions_stream=" . ($_ ? 'on;' : 'off;'));

        is($nginx->call(0, 'ann', POST => 'check')->status, 200, 'it works');
        becomes($nginx, qr/^200$/, 'ready');
        ok((wait_until { lines($nginx, qr/redis refuses "XADD"/) } 20),
           'the log tells of it') if $_;
        is(scalar lines($nginx, qr/XADD/), 0, 'nobody asks for it') if !$_;
        $nginx->nginx->stop;
    }

    user($redis, '+xadd');
};

done_testing;
