# admission_metrics: both formats, and counted traffic, which has to be there
# to the last request, over workers, reloads and a worker that was killed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;

my $http = <<'END';
    map $http_x_bypass $bypass { default $http_x_bypass; }
END

my $server = <<'END';
        access_log verdicts.log verdicts;

        location = /metrics { admission_metrics; }

        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }

        location /two/    { admission_event $arg_e; admission_tier2 on;
                            admission_bypass $bypass;
                            admission_trusted_edge X-Edge
                                edge-secret-of-the-test-0123456789abcdef;
                            empty_gif; }
        location /one/    { admission_event room; admission_tier1 auto;
                            empty_gif; }
        location /dry/    { admission_tier2 on; admission_dry_run on;
                            empty_gif; }
        location /few/    { admission_rate_limit few rate=10r/h
                                key=$arg_k; empty_gif; }
        location /trial/  { admission_rate_limit trial rate=10r/h
                                key=$arg_k dry_run=on; empty_gif; }
END

my $site = Admission::Site->start(
    workers => 2, timeout => '60s', events => 'default threshold=2 vwr_rate=0;',
    http => "$http    log_format verdicts '\$request_uri \$admission_verdict';\n",
    server => $server);

my $nginx = $site->nginx;
my $port = $nginx->port;
my $secret = $Admission::Site::SECRETS{tier2};
my $ann = $site->user('ann');

# so many requests at once on each of some connections
sub many ($n, $path, @headers) {
    my $one = Admission::HTTP::compose('GET', $path, headers => [ @headers ]);
    my $last = Admission::HTTP::compose('GET', $path,
                                        headers => [ @headers,
                                                     Connection => 'close' ]);
    my $each = 50;
    my @open;

    for (my $left = $n; $left > 0; $left -= $each) {
        my $c = Admission::HTTP->connect($port, timeout => 30);
        my $k = $left < $each ? $left : $each;
        $c->send($one x ($k - 1) . $last);
        push @open, $c;
    }

    $_->closed(30) || die "a connection was not closed" for @open;
}

my %cookie = (
    good => entry_token($secret, sub => 'concert', uid => 'ann', tier => 2),
    other => entry_token($secret, sub => 'opera', uid => 'ann', tier => 2),
    expired => entry_token($secret, sub => 'concert', uid => 'ann', tier => 2,
                           exp => time - 100),
    forged => entry_token('x' x 40, sub => 'concert', uid => 'ann', tier => 2),
    crit => jwt_sign({ sub => 'concert', uid => 'ann', exp => time + 600 },
                     $secret, header => { alg => 'HS256', crit => ['x'] }),
    user => entry_token($secret, sub => 'concert', uid => 'ben', tier => 2),
);

sub two (@headers) {
    return ('/two/?e=concert', Authorization => "Bearer $ann", @headers);
}

sub with ($which) { return two('x-queue-entry-token' => $cookie{$which}) }

# [verdict, reason, dry_run], then the request
my @traffic = (
    [ 'pass', '', 'off', with('good') ],
    [ 'tier2', 'no token', 'off', two() ],
    [ 'tier2', 'token of another event', 'off', with('other') ],
    [ 'tier2', 'expired', 'off', with('expired') ],
    [ 'tier2', 'bad signature', 'off', with('forged') ],
    [ 'tier2', 'header with \"crit\"', 'off', with('crit') ],
    [ 'tier2', 'token of another user', 'off', with('user') ],
    [ 'tier2', 'no event', 'off', '/two/', Authorization => "Bearer $ann" ],
    [ 'user', 'no user', 'off', '/two/?e=concert' ],
    [ 'bypass', '', 'off', '/two/?e=concert', 'X-Bypass' => '1' ],
    [ 'bypass', 'trusted edge', 'off', '/two/?e=concert',
      'X-Edge' => 'edge-secret-of-the-test-0123456789abcdef' ],
    [ 'tier1', 'no token', 'off', '/one/' ],
    [ 'tier2', 'no token', 'on', '/dry/', Authorization => "Bearer $ann" ],
);

my $activated = request($port, POST => '/api/admin/vwr/activate/room',
                        bearer => $Admission::Site::SECRETS{admin});
is($activated->status, 200, 'the waiting room is active');
ok((wait_until {
    (metrics($port)->value('room_active', event => 'room') // 0) == 1
} 20), 'which the host has heard of');


subtest 'the text format' => sub {
    for my $accept (undef, '*/*', 'text/plain;version=0.0.4',
                    'application/openmetrics-text;q=0,text/plain',
                    'application/openmetrics-text; q=0.0 , text/plain')
    {
        my $r = get($port, '/metrics',
                    headers => [ defined $accept ? (Accept => $accept) : () ]);

        is($r->header('Content-Type'),
           'text/plain; version=0.0.4; charset=utf-8', $accept // 'no Accept');
        is($r->header('Cache-Control'), 'no-store', 'no-store');

        my $m = metrics($port, text => $r->body);
        is(join("\n", $m->bad), '', 'each line is of the format');

        my ($status, $output) = promtool($r->body, qw(check metrics));
        is($output, '', 'nothing for promtool to say');
        is($status, 0, 'promtool check metrics');
    }
};


subtest 'OpenMetrics' => sub {
    my $r = get($port, '/metrics', headers => [ Accept =>
        'application/openmetrics-text;version=1.0.0;q=0.5,'
        . 'text/plain;version=0.0.4;q=0.3,*/*;q=0.1' ]);

    is($r->header('Content-Type'),
       'application/openmetrics-text; version=1.0.0; charset=utf-8', 'type');
    like($r->body, qr/\n# EOF\n\z/, 'the end');
    unlike($r->body, qr/^# (?:TYPE|HELP) \w+_total /m,
           'a family of counters has no suffix');

    my ($status, $output) = openmetrics_parse($r->body);
    is($status, 0, 'what Prometheus has for it reads it') or diag $output;

    my %read = map { my ($name, $type) = split; ($name => $type) }
               split /\n/, $output;

    is_deeply(\%read, metrics($port)->families, 'the same families');

    my $m = metrics($port, text => $r->body =~ s/# EOF\n//r);
    my @units = grep { !/_$m->{unit}{$_}$/ } keys %{ $m->{unit} };
    is_deeply(\@units, [], 'units are ends of names');
    cmp_ok(scalar keys %{ $m->{unit} }, '>', 4, 'there are some');
};


subtest 'methods' => sub {
    my $head = head($port, '/metrics');
    is($head->status, 200, 'HEAD');
    is($head->body, '', 'without a body');

    my $post = post($port, '/metrics');
    is($post->status, 405, 'POST');
    is($post->header('Allow'), 'GET, HEAD', 'Allow');
};


subtest '10,000 requests' => sub {
    my $before = metrics($port);
    my @looks = ($before);
    my $each = 210;
    my $expected = 0;
    my $looked = 0;

    for my $step ('two workers', 'a reload', 'a worker killed',
                  'another size of the zone')
    {
        $nginx->reload if $step eq 'a reload';
        $nginx->kill_worker if $step eq 'a worker killed';
        $nginx->reload(http => $site->http =~ s/admission:1m/admission:2m/r)
            if $step =~ /size/;

        # a worker that has just come, or a new zone, has heard of the room
        ok((wait_until { $looked++; get($port, '/one/')->status != 200 } 10),
           $step);
        many($each, @$_[3 .. $#$_]) for @traffic;

        # a request is counted with its log, which may come after its end has
        # been seen here

        $expected += $each * @traffic;
        my $enough = wait_until {
            metrics($port)->sum('requests_total')
                - $before->sum('requests_total') >= $expected + $looked
        } 10;
        ok($enough, "$step: all are counted");

        push @looks, metrics($port);
        is(join("\n", $looks[-1]->fallen($looks[-2])), '',
           "$step: nothing fell");
    }

    $expected = 0;
    my $rows = read_file($nginx->dir . '/verdicts.log');
    my $others = () = $rows =~ m{^/one/ tier1$}mg;

    for my $t (@traffic) {
        my ($verdict, $reason, $dry) = @$t;
        my @labels = (verdict => $verdict, reason => $reason, dry_run => $dry);

        my $n = $looks[-1]->value('requests_total', @labels)
                - ($before->value('requests_total', @labels) // 0);
        my $want = $verdict eq 'tier1' ? $others : 4 * $each;

        is($n, $want, "$verdict, \"$reason\", dry run $dry");
        $expected += $want;
    }

    my $all = $looks[-1]->sum('requests_total')
              - $before->sum('requests_total');

    cmp_ok($expected, '>=', 10_000, "$expected of them");
    is($all, $expected, 'and no others');
    is(() = $rows =~ /\d (?:pass|bypass|tier\d|user)$|\/ \S*[a-z]\S*$|concert \S*[a-z]/mg,
       $expected, 'as the log has them');
};


subtest 'rate limits' => sub {
    get($port, "/few/?k=a") for 1 .. 13;
    get($port, "/trial/?k=a") for 1 .. 12;

    # a request is counted with its log, which may come after its answer

    my $m;
    wait_until {
        $m = metrics($port);
        2 == grep { $m->value('requests_total', verdict => 'limited', reason => '',
                              dry_run => $_->[0]) >= $_->[1] }
                  [ off => 3 ], [ on => 2 ]
    } 10;

    is_deeply($m->all('rate_limit_decisions_total', category => 'few'),
              { 'decision=allowed' => 10, 'decision=limited' => 3,
                'decision=dry_run' => 0, 'decision=local_allowed' => 0,
                'decision=local_limited' => 0, 'decision=error' => 0 },
              'by Redis');
    is($m->value('rate_limit_decisions_total', category => 'trial',
                 decision => 'dry_run'), 2, 'a trial');
    is($m->value('requests_total', verdict => 'limited', reason => '',
                 dry_run => 'off'), 3, 'verdicts');
    is($m->value('requests_total', verdict => 'limited', reason => '',
                 dry_run => 'on'), 2, 'of a trial');
};


subtest 'Redis, and without it' => sub {
    my $m = metrics($port);
    my $timeout = sub ($time) {
        $nginx->reload(http => $site->http
                       =~ s/admission:1m/admission:2m/r
                       =~ s/timeout=\K\d+s/$time/r);
    };

    for my $call (qw(command vwr_step limit)) {
        cmp_ok($m->value('redis_call_duration_seconds_count', call => $call),
               '>', 0, "$call is timed");
    }

    is($m->value('redis_call_duration_seconds_bucket', call => 'limit',
                 le => '+Inf'), 25, 'each rate limit');

    my $sum = $m->value('redis_call_duration_seconds_sum', call => 'limit');
    cmp_ok($sum, '>', 0, 'which took some time');
    cmp_ok($sum, '<', 25 * slow, 'and not for ever');
    is($m->value('state_stale'), 0, 'what is known is fresh');
    is($m->value('rate_limit_fallback'), 0, 'Redis counts');
    is($m->value('ready'), 1, 'ready');
    cmp_ok($m->value('redis_connections'), '>', 0, 'connections');

    # until now Redis was waited for however long the machine stood still

    $timeout->(2 * slow . 's');
    $site->redis->sigstop;

    # enough of them are out at each worker for its breaker to open

    my @out = map { Admission::HTTP->connect($port) } 1 .. 40;
    $_->send("GET /few/?k=b HTTP/1.1\r\nHost: localhost\r\n\r\n") for @out;
    $_->response for @out;

    my $down = wait_until {
        get($port, '/few/?k=b');
        my $now = metrics($port);
        $now->sum('redis_breakers', state => 'open')
            && $now->value('ready') == 0
            && $now->value('rate_limit_fallback_seconds_total') > 1
            && $now->value('redis_call_errors_total', call => 'limit',
                           kind => 'unsent') > 11
            && $now;
    } 20;

    ok($down, 'the breaker is open, it is not ready, this host counts')
        or die metrics($port)->text;

    is($down->value('rate_limit_fallback'), 1, 'fallback');
    cmp_ok($down->value('redis_breaker_opens_total'), '>', 0, 'it opened');
    cmp_ok($down->value('state_age_seconds'), '>', 1, 'nothing new is heard');
    cmp_ok($down->value('redis_failures_total'), '>',
           $m->value('redis_failures_total'), 'failures');
    cmp_ok($down->value('redis_call_errors_total', call => 'limit',
                        kind => 'lost'), '>', 0, 'calls that were lost');
    cmp_ok($down->value('redis_timeouts_total'), '>', 0, 'in time');
    is($down->value('rate_limit_decisions_total', category => 'few',
                    decision => 'local_allowed'), 10, 'the host lets 10 pass');
    cmp_ok($down->value('rate_limit_decisions_total', category => 'few',
                        decision => 'local_limited'), '>', 0, 'and no more');
    ok((wait_until { metrics($port)->value('state_stale') } 20),
       'after 10 s what is known of the room is stale');

    $site->redis->sigcont;

    ok((wait_until {
        get($port, '/few/?k=c') for 1 .. 4;
        my $now = metrics($port);
        $now->sum('redis_breakers', state => 'open') == 0
            && $now->value('ready') && !$now->value('rate_limit_fallback')
            && !$now->value('state_stale')
    } 20), 'all is well again') or diag metrics($port)->text;

    # a call that is late once more would be one without Redis

    $timeout->('60s');
    ok((wait_until {
        get($port, '/few/?k=c') for 1 .. 4;
        !metrics($port)->value('rate_limit_fallback')
    } 20), 'and stays so');

    my $fallback = metrics($port)->value('rate_limit_fallback_seconds_total');
    get($port, '/few/?k=c') for 1 .. 4;
    is(metrics($port)->value('rate_limit_fallback_seconds_total'), $fallback,
       'the time of the fallback stands still');
};

done_testing;
