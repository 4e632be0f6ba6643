# Seats over HTTP: set by operators; sold by a backend's header, by a webhook,
# by users where they may; told to who comes and waits.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::FastCGI;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

use List::Util qw(sum);

my $user_secret = 'user-secret-of-the-test-01234567890';
my $tier2_secret = 'tier2-secret-of-the-test-0123456789';

my $timeout = 2 * slow;     # of a call to Redis, where that hangs
watched;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $php = Admission::FastCGI->start;

my %vars = (REDIS => $redis->url, BACKEND => $backend->port,
            PHP => $php->port, TIMEOUT => '60s');

my $nginx = Admission::Nginx->start(
    vars => \%vars, workers => 2,
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=%%TIMEOUT%%;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 $tier2_secret;
    admission_secret  user  $user_secret;

    admission_events {
        default  threshold=100 slots=2 restore_wait=1s;
        free     threshold=1 complete=user;
    }

    map \$request_uri \$event_id { ~/(?<id>event[0-9]+|free)  \$id; }
    proxy_cache_path %%DIR%%/cache keys_zone=answers:1m;
    fastcgi_cache_path %%DIR%%/php keys_zone=php:1m;
END
    server => <<'END',
        admission_event  $event_id;
        admission_user   jwt;
        add_header       X-Pid $pid always;

        location /api/queue/admin/ { admission_queue_api admin=on; }
        location /api/queue/       { admission_queue_api; }
        location /api/vwr/admin/   { admission_admin_api; }
        location /vwr-api/         { admission_vwr_api; }

        location = /metrics { admission_user off; admission_metrics; }

        location /buy/    { admission_tier2 on;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /auto/   { admission_tier1 auto;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /cached/ { admission_tier2 on; proxy_cache answers;
                            proxy_cache_key $uri; proxy_cache_valid 1h;
                            proxy_ignore_headers Cache-Control;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /php/    { admission_tier2 on; fastcgi_cache php;
                            fastcgi_cache_key $uri$arg_fresh;
                            fastcgi_cache_valid 1h;
                            fastcgi_param REQUEST_METHOD $request_method;
                            fastcgi_param QUERY_STRING $args;
                            fastcgi_pass 127.0.0.1:%%PHP%%; }
        location /open/   { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /passed/ { admission_tier2 on; admission_bypass 1;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /failed/ { admission_tier2 on;
                            error_page 502 = @instead; proxy_pass http://127.0.0.1:1; }
        location @instead { rewrite ^ /open/instead break;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
);

my $port = $nginx->port;
my $operator = user_token($user_secret, userId => 'root', role => 'admin');
my $events = 0;

sub bearer ($who) { return bearer => user_token($user_secret, userId => $who) }

sub queue ($call, $event, $who, %opt) {
    return request($port, $call eq 'status' ? 'GET' : 'POST',
                   "/api/queue/$call/$event", bearer($who), %opt);
}

sub slots ($method, $event, $query = '') {
    return request($port, $method, "/api/queue/admin/slots/$event$query",
                   bearer => $operator);
}

sub webhook ($event, $query, %opt) {
    return post($port, "/api/queue/admin/complete/$event?$query",
                bearer => $operator, %opt);
}

# where Redis stood still just now nobody else is let in for a moment

sub token ($event, $who) {
    return wait_until { queue(check => $event, $who)->json->{entryToken} };
}

sub buy ($event, $who, $token, $command, $where = 'buy', %opt) {
    my $query = $command ? "?header=X-Admission-Command:$command" : '';
    return request($port, $opt{method} // 'GET', "/$where/$event$query",
                   headers => [ 'X-Queue-Entry-Token' => $token,
                                @{ $opt{headers} // [] } ],
                   bearer($who));
}

# how often the host has called a script

sub calls ($script) {
    return get($port, '/metrics')->body
           =~ /call_duration_seconds_count\{call="$script"\} (\d+)/
           ? $1 : die "no metric of $script";
}

# how often one failed, for want of Redis

sub failures ($script) {
    return sum(0, get($port, '/metrics')->body
        =~ /call_errors_total\{call="$script",kind="(?:lost|unsent)"\} (\d+)/g);
}

sub sold ($event) {
    return answered { slots(GET => $event) }->json->{sold};
}

# what a backend sold is told again after up to 6 s, when Redis was away

sub sold_is ($event, $n, $what) {
    my $sold;
    wait_until { $sold = sold($event); ($sold // -1) == $n } 20;
    is($sold, $n, $what);
}

# Waits for completions of another event, sent later by all workers: what was
# sent before has been counted by then, had it been to.

sub settled () {
    my $event = 'event' . ++$events;
    my %by;

    wait_until {
        my $r = webhook($event, 'user=s&seats=1');
        $by{ $r->header('X-Pid') } = 1 if $r->status == 200;
        !grep { !$by{$_} } $nginx->worker_pids;
    } 20 or die 'a worker did not answer';
}


subtest 'operators' => sub {
    is_deeply(slots(GET => 'event0')->json,
              { eventId => 'event0', slots => 2, sold => 0, inside => 0,
                remaining => 2 }, 'as configured');
    is_deeply(slots(GET => 'free')->json,
              { eventId => 'free', slots => 2, sold => 0, inside => 0,
                remaining => 2 }, 'by the default line');
    is(slots(PUT => 'event0', '?slots=5')->json->{slots}, 5, 'set');
    is(request($port, GET => '/api/vwr/admin/slots/event0',
               bearer => $operator)->json->{remaining}, 5, 'for both handlers');
    is(slots(DELETE => 'event0')->json->{slots}, 2, 'and set back');

    for my $n ('', '?slots=', '?slots=-1', '?slots=x', '?slots=10000001',
               '?slots=1&sold=x')
    {
        my $r = slots(PUT => 'event0', $n);
        is($r->status . $r->json->{code}, '400INVALID_SLOTS', "not \"$n\"");
    }

    my $r = slots(POST => 'event0', '?slots=1');
    is($r->status, 405, 'not POST');
    is($r->header('Allow'), 'GET, HEAD, PUT, DELETE', 'but these');
    is(request($port, PUT => '/api/queue/admin/slots/event0?slots=9',
               bearer('alice'))->status, 403, 'not for users');
    is(request($port, PUT => '/api/queue/slots/event0?slots=9',
               bearer => $operator)->status, 404, 'nor among their calls');
};


subtest 'a sale' => sub {
    my $event = 'event' . ++$events;
    my %token = map { $_ => token($event, $_) } qw(a b);

    my $r = queue(check => $event, 'c')->json;
    is("$r->{status} $r->{queued} $r->{seats}", 'queued 1 0',
       'who waits: all that are left are with people inside');
    is(queue(status => $event, 'c')->json->{seats}, 0, 'by status as well');
    is(queue(heartbeat => $event, 'c')->json->{seats}, 0, 'and heartbeat');
    is(slots(GET => $event)->json->{inside}, 2, 'as operators see');

    $r = buy($event, 'a', $token{a}, 'complete', 'buy');
    is($r->status, 200, 'the backend says that a has bought');
    is($r->header('X-Admission-Command'), undef, 'not to the client');
    sold_is($event, 1, 'one is sold');
    is(buy($event, 'a', $token{a}, '')->status, 403,
       'the entry token is no good any more');
    is(queue(status => $event, 'a')->json->{status}, 'not_in_queue',
       'the session is over');

    buy($event, 'b', $token{b}, 'Complete%20;%20Seats=1');
    sold_is($event, 2, 'the other one too');

    $r = queue(status => $event, 'c')->json;
    is("$r->{status} $r->{queued} $r->{position}", 'sold_out 1 1',
       'who waits is told, and keeps the place');
    ok($r->{place}, 'which is shown');
    is($r->{seats}, undef, 'nothing else is said');
    is(queue(check => $event, 'c')->json->{status}, 'sold_out', 'by check');
    is(queue(heartbeat => $event, 'c')->json->{status}, 'sold_out',
       'and heartbeat');
    $r = queue(status => $event, 'd')->json;
    is("$r->{status} $r->{queued}", 'sold_out 0', 'so is who asks');

    $r = queue(check => $event, 'd');
    is($r->status . ' ' . $r->json->{code}, '409 SOLD_OUT', 'nobody joins');
    is($r->header('Cache-Control'), 'no-store', 'for now');

    is_deeply(slots(PUT => $event, '?slots=3')->json,
              { eventId => $event, slots => 3, sold => 2, inside => 0,
                remaining => 1 }, 'one more');
    wait_until { queue(check => $event, 'c')->json->{status} eq 'active' };
    is(queue(check => $event, 'c')->json->{status}, 'active',
       'who waited is let in');
    is(queue(check => $event, 'd')->json->{seats}, 0, 'who comes waits');
};


subtest 'said twice, or wrongly' => sub {
    my $event = 'event' . ++$events;
    slots(PUT => $event, '?slots=100');

    my $a = token($event, 'a');
    buy($event, 'a', $a, 'complete;seats=3') for 1 .. 2;
    sold_is($event, 3, 'three seats');
    webhook($event, 'user=a&seats=3');
    is(sold($event), 3, 'the webhook is about the same');

    my $b = token($event, 'b');
    my $mark = $nginx->log_mark;
    for my $bad ('complete;seats=0', 'complete;seats=-1', 'complete;seats=10001',
                 'complete;seats=1000000000', 'complete;seats=', 'complete;',
                 'complete,seats=2', 'completed', 'seats=2', 'leaves')
    {
        my $r = buy($event, 'b', $b, $bad);
        is($r->status . ($r->header('X-Admission-Command') // ''), 200,
           "nothing comes of $bad");
    }
    buy($event, 'b', $b, "complete&header=X-Admission-Command:leave");
    buy($event, 'b', $b, '', 'buy',
        headers => [ 'X-Admission-Command' => 'complete' ]);
    settled;
    is(sold($event), 3, 'nor is what a client says');
    ok((wait_until { $nginx->error_log($mark) =~
            /X-Admission-Command: \S+" of a backend counts for nothing/ }),
       'the log has it');
    is(queue(status => $event, 'b')->json->{status}, 'active', 'b is in');

    for my $bad ('seats=1', 'user=', 'user=a%0Ab', 'user=' . 'x' x 257) {
        is(webhook($event, $bad)->json->{code}, 'INVALID_USER', "no $bad");
    }
    for my $bad (qw(0 -1 1000000000 x)) {
        is(webhook($event, "user=b&seats=$bad")->json->{code}, 'INVALID_SEATS',
           "nor $bad seats");
    }
    my $r = webhook($event, 'user=b&seats=2')->json;
    is("$r->{counted} $r->{sold} $r->{remaining}", '1 5 95', 'two');
    is(webhook($event, 'user=b&seats=2')->json->{counted}, 0, 'once');
    is(buy($event, 'b', $b, '')->status, 403, 'and the session is over');
    is(post($port, "/api/queue/admin/complete/$event?user=b",
            bearer('b'))->status, 403, 'not by users');
};


subtest 'where it does not count' => sub {
    my $event = 'event' . ++$events;
    slots(PUT => $event, '?slots=100');
    my %token = map { $_ => token($event, $_) } qw(a b c);

    for my $where (qw(open passed failed)) {
        my $r = buy($event, 'a', $token{a}, 'complete', $where);
        is($r->status, 200, "$where: answered");
        is($r->header('X-Admission-Command'), undef, 'without the header');
    }

    is(buy($event, 'a', $token{a}, 'complete', 'cached')->status, 200,
       'an answer that is cached');
    sold_is($event, 1, 'counts for who it was for');
    my $hits = $backend->hits;
    my $r = buy($event, 'b', $token{b}, '', 'cached');
    is($r->status . ($r->header('X-Admission-Command') // ''), 200,
       'another has it of the cache');
    is($backend->hits, $hits, 'it is');
    settled;
    is(sold($event), 1, 'and buys nothing by it');
    is(buy($event, 'b', $token{b}, '')->status, 200, 'but stays in');

    my $d = token($event, 'd');
    is(buy($event, 'd', $d, 'complete;seats=2', 'php')
           ->header('X-Admission-Command'), undef, 'FastCGI');
    sold_is($event, 3, 'counts as well');
    is(buy($event, 'b', $token{b}, '', 'php')->header('X-Admission-Command'),
       undef, 'and a cached answer of it');
    settled;
    is(sold($event), 3, 'does not');

    is(buy($event, 'c', $token{c}, 'leave')->status, 200, 'one leaves');
    wait_until { queue(status => $event, 'c')->json->{status} ne 'active' };
    is(queue(status => $event, 'c')->json->{status}, 'not_in_queue', 'and has');
    is(sold($event), 3, 'without a seat');
};


subtest 'by users' => sub {
    my $event = 'event' . ++$events;
    token($event, 'a');
    is(queue(complete => $event, 'a')->json->{code}, 'COMPLETE_NOT_ALLOWED',
       'not where the line does not say so');

    slots(PUT => 'free', '?slots=10');
    is(queue(complete => 'free', 'a')->json->{code}, 'NOT_ACTIVE',
       'nor by who is not in');
    token('free', 'a');
    is(queue(check => 'free', 'b')->json->{status}, 'queued', 'another waits');
    is(queue(complete => 'free', 'b')->json->{code}, 'NOT_ACTIVE', 'nor waits');

    for my $bad (qw(0 2 -1 1000000)) {
        my $r = request($port, POST => "/api/queue/complete/free?seats=$bad",
                        bearer('a'));
        is($r->status . $r->json->{code}, '400INVALID_SEATS', "nor $bad seats");
    }

    my $r = queue(complete => 'free', 'a');
    is_deeply($r->json, { message => 'Completed' }, 'one seat');
    ok((grep { /^urr-entry-token-free=;/ } $r->header('Set-Cookie')),
       'the cookies are cleared');
    is_deeply(queue(complete => 'free', 'a')->json, { message => 'Completed' },
              'the other tab is told so too');
    is(sold('free'), 1, 'once');

    wait_until { queue(check => 'free', 'b')->json->{status} eq 'active' };
    queue(leave => 'free', 'b');
    is(token('free', 'a') ? 'in' : 'out', 'in', 'who has bought comes again');
    is(queue(complete => 'free', 'a')->json->{code}, 'ALREADY_COMPLETED',
       'and buys no other seat by saying so');
    is(sold('free'), 1, 'so nobody ends the sale alone');
    is(request($port, POST => '/api/queue/complete/free')->status, 401,
       'nor without a name');
    queue(leave => 'free', 'a');
};


subtest 'Idempotency-Key' => sub {
    my $event = 'event' . ++$events;
    slots(PUT => $event, '?slots=100');
    my @key = (headers => [ 'Idempotency-Key' => 'key-of-a-webhook-1' ]);

    my $first = webhook($event, 'user=a&seats=2', @key);
    is($first->json->{counted}, 1, 'a webhook');
    webhook($event, 'user=b&seats=5');
    is(webhook($event, 'user=a&seats=2', @key)->body, $first->body,
       'the same again: the same answer');
    for my $other ('user=a&seats=3', 'user=b&seats=2') {
        my $r = webhook($event, $other, @key);
        is($r->status . $r->json->{code}, '409IDEMPOTENCY_CONFLICT',
           "another one, $other");
    }
    is(webhook($event, 'user=a', headers => [ 'Idempotency-Key' => 'short' ])
           ->json->{code}, 'INVALID_IDEMPOTENCY_KEY', 'a bad one');
    is(sold($event), 7, 'counted once');

    my @mine = (headers => [ 'Idempotency-Key' => 'key-of-a-leave-01' ]);
    token($event, 'c');
    is_deeply(queue(leave => $event, 'c', @mine)->json,
              { message => 'Left queue' }, 'leaving');
    token($event, 'c');
    my $r = queue(leave => $event, 'c', @mine);
    is_deeply($r->json, { message => 'Left queue' }, 'again');
    ok((grep { /^urr-entry-token-$event=;/ } $r->header('Set-Cookie')),
       'the same to the cookies');
    is(queue(status => $event, 'c')->json->{status}, 'active',
       'which does not end the session of since then');
    is(queue(leave => $event, 'c', @mine, json => { x => 1 })->json->{code},
       'IDEMPOTENCY_CONFLICT', 'with another body');
    is_deeply(queue(leave => $event, 'd', @mine)->json,
              { message => 'Left queue' }, 'the key is that of one user');
};


subtest 'a flood of joins' => sub {
    my $event = 'event' . ++$events;
    my %token = map { $_ => token($event, $_) } qw(a b);
    my $place = queue(check => $event, 'c')->json->{place};
    webhook($event, "user=$_") for qw(a b);

    my $calls = sub {
        my ($n) = $redis->cmd('INFO', 'commandstats')
                  =~ /cmdstat_evalsha:calls=(\d+)/;
        return $n;
    };

    wait_until {
        my $asked = calls('queue_check');
        queue(check => $event, 'n0') for 1 .. 4;
        calls('queue_check') == $asked;
    };

    # The least of some: what the host knows of it counts for a second, and where
    # steps are late joins are asked about meanwhile.  What the schedule does is
    # not theirs.

    my ($asked, $all);

    for (1 .. 5) {
        my ($before, $checks) = ($calls->(), calls('queue_check'));
        my %said;
        $said{ queue(check => $event, "n$_")->json->{code} }++ for 1 .. 640;
        is_deeply(\%said, { SOLD_OUT => 640 }, 'all are refused');

        ($asked, $all) = (calls('queue_check') - $checks, $calls->() - $before);
        last if $asked <= 640 / 64 && $all < 640;
    }
    cmp_ok($asked, '<=', 640 / 64, 'few of them cost Redis a command');
    cmp_ok($all, '<', 640, 'in all');
    is(queue(check => $event, 'c', headers => [ 'X-Queue-Place' => $place ])
           ->json->{status}, 'sold_out', 'who shows a place is looked at');

    slots(PUT => $event, '?slots=9');
    my $in = wait_until { queue(check => $event, 'n1')->status == 200 };
    ok($in, 'more seats: joins are asked about again');
    is(queue(check => $event, 'n2')->status, 200, 'all of them');
};


# until now Redis was waited for however long it stood still

$nginx->reload(vars => { %vars, TIMEOUT => 1000 * $timeout . 'ms' });


# ahead of all others that stop Redis: no worker has anything else to tell

subtest 'a reload while Redis is away' => sub {
    my $event = 'event' . ++$events;
    my $c = token($event, 'c');
    slots(PUT => $event, '?slots=9');
    $redis->sigstop;
    buy($event, 'c', $c, 'complete;seats=2');
    my @old = $nginx->worker_pids;
    $nginx->reload(wait => 0);
    wait_until { 1 == grep { alive($_) } @old };
    is(scalar(grep { alive($_) } @old), 1,
       'a worker that has to tell Redis of it stays');
    $redis->sigcont;
    sold_is($event, 2, 'told by a worker that leaves');
    $nginx->wait_old_workers(20, @old);
};


subtest 'Redis away' => sub {
    my $event = 'event' . ++$events;
    my $a = token($event, 'a');

    # of another the gate of a host that has just started would ask first
    is(buy($event, 'a', $a, '')->status, 200, 'the host knows the event');

    settled;
    my $failed = failures('queue_complete');
    $redis->sigstop;
    my $r = buy($event, 'a', $a, 'complete');
    is($r->status, 200, 'the answer does not wait for Redis');
    cmp_ok($r->net, '<', 0.8 * $timeout, 'at all');
    is(buy($event, 'a', $a, '')->status, 403, 'the token ends here at once');
    ok((wait_until { failures('queue_complete') > $failed } 20),
       'Redis is not told in time');
    $redis->sigcont;
    sold_is($event, 1, 'told once it is back');
    settled;
    is(sold($event), 1, 'and counted once');
};


$nginx->reload(vars => \%vars);


# What is told again after Redis has lost all would count again: so this is of
# an event of which all has been told.

subtest 'Redis away, and empty' => sub {
    my $event = 'event' . ++$events;
    my %token = map { $_ => token($event, $_) } qw(e f);

    buy($event, 'e', $token{e}, 'complete');
    sold_is($event, 1, 'one is sold');
    settled;
    $redis->stop;
    is(buy($event, 'f', $token{f}, 'complete')->status, 200, 'down');
    is(webhook($event, 'user=f')->status, 503, 'a webhook is told so');
    $redis->restart;
    sold_is($event, 2, 'what was sold before and meanwhile is counted');
};


# The last: nobody remembers anything but who waits.

subtest 'nobody knows what was sold' => sub {
    my $event = 'event' . ++$events;
    my $a = token($event, 'a');
    token($event, 'b');
    my $place = answered { queue(check => $event, 'c') }->json->{place};
    buy($event, 'a', $a, 'complete');
    sold_is($event, 1, 'one is sold');

    $nginx->kill9;
    $redis->flushall;
    $nginx->start_again;
    my $mark = $nginx->log_mark;

    my @place = (headers => [ 'X-Queue-Place' => $place ]);
    wait_until { queue(status => $event, 'c', @place)->status == 200 } 10;
    is(slots(GET => $event)->json->{sold}, undef, 'a place of before: not known');
    ok((wait_until { $nginx->error_log($mark) =~
            /\[error\].*seats of event "$event" are sold is lost/ }),
       'the log says so');

    # places are restored, and steps that might let in follow
    ok((wait_until { $nginx->error_log($mark) =~ /has been restored/ } 10),
       'restore_wait is over');
    my $steps = calls('queue_step');
    wait_until { calls('queue_step') >= $steps + 5 } 10;
    is(queue(status => $event, 'c', @place)->json->{status}, 'queued',
       'nobody is let in');
    is(queue(check => $event, 'd')->json->{status}, 'queued', 'nor joins at once');

    my $lost = sub {
        return (get($port, '/metrics')->body
                =~ /_sold_lost\{event="$event"\} (\d)/)[0];
    };
    is($lost->(), 1, 'a metric has it');

    my $r = slots(PUT => $event, '?slots=2&sold=1')->json;
    is("$r->{sold} $r->{remaining}", '1 1', 'the operator tells');
    is($lost->(), 0, 'and the metric is over');
    ok((wait_until {
        queue(status => $event, 'c', @place)->json->{status} eq 'active' } 10),
       'and who waited is in');
    is(queue(status => $event, 'd')->json->{status}, 'queued', 'alone');
};


# What a host heard before the loss was noticed is no more than what was sold
# since: it does not tell that as all that was.

subtest 'nobody knows, twice' => sub {
    my $event = 'event' . ++$events;
    my $a = token($event, 'a');
    token($event, 'b');
    my @place = (headers => [ 'X-Queue-Place' =>
                              queue(check => $event, 'c')->json->{place} ]);
    buy($event, 'a', $a, 'complete');
    sold_is($event, 1, 'one is sold');

    $nginx->kill9;
    $redis->flushall;
    $nginx->start_again;
    wait_until { queue(status => $event, 'x')->status == 200 } 10;
    is(slots(GET => $event)->json->{sold}, 0, 'as if nothing was');
    queue(check => $event, 'x');
    queue(status => $event, 'c', @place);
    is(slots(GET => $event)->json->{sold}, undef, 'until a place shows up');

    $redis->flushall;
    queue(status => $event, 'c', @place);
    is(slots(GET => $event)->json->{sold}, undef,
       'another loss: nobody knows still');
    is(slots(PUT => $event, '?slots=2&sold=1')->json->{sold}, 1,
       'until the operator tells');
};


done_testing;
