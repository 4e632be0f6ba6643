# A host that has just started knows neither which events an operator holds nor
# who was put out of one.  Requests that come before it has heard of that wait
# for it: nothing passes that does not pass on other hosts, and nobody waits for
# longer than a call takes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Zone;

my $secret = $Admission::Site::SECRETS{admin};
my $timeout = 60;

my $site = Admission::Site->start(
    timeout => "${timeout}s",
    events => 'default threshold=100;
               inner vwr=off; outer vwr=off; left vwr=off; many vwr=off;
               early vwr=off; cleared; kept; named;',
    server => <<'END');
        location ~ ^/api/queue/(?!admin)\w+/(?<id>\w+)$ { admission_event $id;
                                                          admission_queue_api; }
        location /api/admin/vwr/     { admission_admin_api; }
        location ~ ^/in/(?<id>\w+)   { admission_event $id;
                                       admission_tier2 on; empty_gif; }
        location ~ ^/both/(?<id>\w+) { admission_event $id;
                                       admission_tier1 auto;
                                       admission_tier2 on; empty_gif; }
        location ~ ^/room/(?<id>\w+) { admission_event $id; admission_user off;
                                       admission_tier1 auto; empty_gif; }
        location = /any { admission_event "";
                          admission_tier2 on event=any; empty_gif; }
        location = /now { stub_status; }
END

my $redis = $site->redis;
my %token;

sub queue ($call, $event, $user = 'ann') {
    my $r = post($site->port, "/api/queue/$call/$event",
                 bearer => $site->user($user));
    $token{$event} = $r->json->{entryToken} if $call eq 'check';
    return $r->status;
}

sub admin ($method, $path, @json) {
    my $r = request($site->port, $method, "/api/queue/admin/$path",
                    bearer => $secret, @json);
    die $r->raw if $r->status != 200;
}

queue(check => $_) for qw(inner left many cleared kept named made early);

admin(PUT => 'schedule/early', json => { opens => '2100-01-01T00:00:00Z' });
admin(PUT => 'hold/inner?inside=on');
admin(PUT => 'hold/outer');
admin(PUT => 'hold/made?inside=on');
admin(POST => 'clear/cleared');
queue(leave => $_) for qw(left many);

# more than one answer has of them, and hers comes last
my $at = $redis->cmd('ZSCORE', '{many}:revoked', 'ann');
$redis->cmd('ZADD', '{many}:revoked',
            map { ($at - $_, "other-$_") } 1 .. 2500);

# What a host is asked, and what it answers: [code, name, path, event of the
# tokens shown, ...].

my @cases = (
    [ 503, 'held', '/in/inner', 'inner' ],
    [ 503, 'held, both tiers', '/both/inner', 'inner' ],
    [ 503, 'held, tier 1, which it does not have', '/room/inner' ],
    [ 503, 'nobody gets in there', '/room/outer' ],
    [ 503, 'held, an event that the token names', '/any', 'inner' ],
    [ 503, 'held, of no line', '/in/made', 'made' ],
    [ 403, 'ahead of a sale', '/in/early', 'early' ],
    [ 403, 'the same, of a room that it does not have', '/room/early' ],
    [ 403, 'she left', '/in/left', 'left' ],
    [ 403, 'where many did', '/in/many', 'many' ],
    [ 403, 'she left, of any', '/any', 'left' ],
    [ 403, 'cleared', '/both/cleared', 'cleared' ],
    [ 503, 'one she left, and one that is held', '/any', 'left', 'inner' ],
    [ 200, 'she is in', '/in/kept', 'kept' ],
    [ 200, 'both tiers', '/both/kept', 'kept' ],
    [ 200, 'of any', '/any', 'named' ],
    [ 200, 'one she left, and a good one', '/any', 'left', 'named' ],
    [ 200, 'no room', '/room/named' ]);

sub question ($path, @events) {
    return (GET => $path, $path =~ /^.room/ ? ()
                          : (bearer => $site->user('ann')),
            cookies => { map { ("urr-entry-token-$_" => $token{$_}) } @events });
}

sub ask ($port, $case) {
    my (undef, undef, @what) = @$case;
    my ($method, $path, %opt) = question(@what);
    return request($port, $method, $path, %opt, timeout => 60);
}

# All of them at once, while Redis does not answer; then it does.

sub all_wait ($host, $others = 0) {
    my @open = map {
        my ($method, $path, %opt) = question($_->@[2 .. $#$_]);
        my $c = Admission::HTTP->connect($host->port, timeout => 60);
        $c->send(Admission::HTTP::compose($method, $path, %opt));
        $c
    } @cases;

    my $status;
    ok((wait_until {
        ($status) = get($host->port, '/now')->body =~ /Writing: (\d+)/;
        $status == 1 + @open + $others } 30), 'all wait') or diag $status;
    $redis->sigcont;

    for my $case (@cases) {
        my $r = (shift @open)->response('GET', 60);
        is $r->status, $case->[0], $case->[1] or diag $r->raw;
    }
}


subtest 'the host that was there' => sub {
    is ask($site->port, $_)->status, $_->[0], $_->[1] for @cases;
};


subtest 'Redis answers late' => sub {
    $redis->sigstop;
    my $host = $site->instance;
    all_wait($host);

    is ask($host->port, $_)->status, $_->[0], "then: $_->[1]" for @cases;
    $host->stop;
};


subtest 'with the first connection' => sub {
    for my $round (1 .. 3) {
        my $host = $site->instance;
        my $of = $round * 5;

        for my $case (@cases[$of .. $#cases], @cases[0 .. $of - 1]) {
            is ask($host->port, $case)->status, $case->[0],
                "$round: $case->[1]";
        }
        $host->stop;
    }
};


# Of the two lists that Redis has of events one is late.

for my $list (qw(queue vwr)) {
    subtest "the list $list:active-events is not to be had" => sub {
        my $other = $list eq 'queue' ? 'vwr' : 'queue';
        $redis->may_refuse;
        $redis->cmd('ACL', 'SETUSER', 'tickets', 'resetkeys', "~$other:*", '~{*');

        my $host = $site->instance;
        ok((wait_until { $host->error_log =~ /permission/i } 20),
            'the host has asked for it');
        ok((wait_until { request($host->port, GET => '/api/admin/vwr/status',
                                 bearer => $secret)->status == 200 } 20),
            'and knows of the rooms') if $list eq 'queue';

        for my $round (1, 2) {
            is ask($host->port, $_)->status, $_->[0], "$round: $_->[1]"
                for @cases;
        }
        $redis->cmd('ACL', 'SETUSER', 'tickets', '~*');
        $host->stop;
    };
}


subtest 'Redis is not there' => sub {
    my $wait = 3;
    local $site->{timeout} = "${wait}s";
    $redis->sigstop;
    my $host = $site->instance;

    for my $case (@cases[0, 3, 8, 13]) {
        my $watch = stopwatch;
        is ask($host->port, $case)->status, 200, "$case->[1]: not known";
        cmp_ok $watch->(), '<', 2 * $wait - 0.5, 'in time';
    }

    $redis->sigcont;
    for my $case (@cases[0, 3]) {
        ok((wait_until { ask($host->port, $case)->status == $case->[0] } 20),
            "$case->[1]: as soon as it is back");
    }
    $host->stop;
};


# The zone is emptied then, and what was known of holds is gone with it.

subtest 'a worker dies with the lock' => sub {
    my $host = $site->instance;
    is ask($host->port, $_)->status, $_->[0], $_->[1] for @cases;

    $host->allow(qr/exited on signal 9/, qr/was locked by/,
                 qr/a process died while it changed the zone/);
    my %old = map { $_ => 1 } $host->worker_pids;
    $redis->sigstop;
    Admission::Zone::kill_inside($host, 1 << 20);
    ok((wait_until { my @now = $host->worker_pids;
                     @now == 2 && grep { !$old{$_} } @now } 20), 'another comes');
    all_wait($host);
    $host->stop;
};


# Old workers and new ones wait for the same; one is killed, and what it had is
# cut.

subtest 'a reload while they wait' => sub {
    my $host = $site->instance;
    $host->allow(qr/exited on signal 9/);
    $host->stop;
    $redis->sigstop;
    $host->start_again;

    my @open = map {
        my ($method, $path, %opt) = question($_->@[2 .. $#$_]);
        my $c = Admission::HTTP->connect($host->port, timeout => 60);
        $c->send(Admission::HTTP::compose($method, $path, %opt));
        $c
    } @cases;
    wait_until { get($host->port, '/now')->body =~ /Writing: (\d+)/
                 && $1 == 1 + @open } 30;
    $host->reload(wait => 0);
    $host->kill_worker;
    all_wait($host, scalar @open);

    for my $case (@cases) {
        my $r = (shift @open)->response('GET', 60);
        like $r->status, qr/^(?:0|$case->[0])$/, "asked before: $case->[1]"
            or diag $r->raw;
    }
    $host->stop;
};


subtest 'what a host knows it goes by' => sub {
    my $host = $site->instance;
    is ask($host->port, $_)->status, $_->[0], $_->[1] for @cases;

    for my $how ('a reload', 'with a larger zone') {
        local $site->{zone} = $how =~ /zone/ ? '2m' : '1m';
        $host->reload(http => $site->http);

        $redis->sigstop;
        my $watch = stopwatch;
        is ask($host->port, $_)->status, $_->[0], "$how: $_->[1]"
            for @cases[0, 3, 8, 13];
        cmp_ok $watch->(), '<', $timeout / 2, 'without Redis';
        $redis->sigcont;
    }
    $host->stop;
};

done_testing;
