# X-Admission-Command of backends that speak uwsgi, SCGI and gRPC, and what
# somebody may try with it: to have it count twice, for another, or too late.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Peers;
use Admission::Redis;
use Admission::Swarm;

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my %peer = map { $_ => Admission::Peers->start($_,
                           'X-Admission-Command: complete; seats=2') }
           qw(uwsgi scgi grpc);

my (undef, $built) = run($ENV{TEST_NGINX_BINARY} // 'nginx', '-V');
my @kinds = grep { $built !~ /--without-http_${_}_module/ } qw(uwsgi scgi);
push @kinds, 'grpc' if $built !~ /--without-http_grpc_module/
                       && $built =~ /--with-http_v2_module/;

my %location = (
    uwsgi => <<'END',
        location /uwsgi/  { admission_tier2 on;
                            uwsgi_cache uwsgi; uwsgi_cache_valid 1h;
                            uwsgi_cache_key $uri$http_x_key;
                            uwsgi_param REQUEST_METHOD $request_method;
                            uwsgi_pass 127.0.0.1:%%UWSGI%%; }
END
    scgi => <<'END',
        location /scgi/   { admission_tier2 on;
                            scgi_cache scgi; scgi_cache_valid 1h;
                            scgi_cache_key $uri$http_x_key;
                            scgi_param REQUEST_METHOD $request_method;
                            scgi_param CONTENT_LENGTH 0;
                            scgi_pass 127.0.0.1:%%SCGI%%; }
END
    grpc => <<'END',
        location /grpc/   { admission_tier2 on;
                            grpc_pass grpc://127.0.0.1:%%GRPC%%; }
END
);

my $nginx = Admission::Nginx->start(
    workers => 2,
    vars => { REDIS => $redis->url, BACKEND => $backend->port,
              map { uc $_ => $peer{$_}->port } keys %peer },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=60s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user_secret;

    admission_events {
@{[ map "        event$_  threshold=100 slots=1000;\n", 0 .. 9 ]}
        short    threshold=100 slots=1000 active_ttl=4s session_max=4s
                 token_ttl=4s;
    }

    map \$uri \$event_id { ~/(?<id>event[0-9]+|short)  \$id; }
@{[ map "    ${_}_cache_path %%DIR%%/cache-$_ keys_zone=$_:1m;\n",
     grep { $_ ne 'grpc' } 'proxy', @kinds ]}
END
    server => <<'END' . join('', @location{@kinds}) . <<'END',
        admission_event  $event_id;
        admission_user   jwt;

        location /api/queue/admin/ { admission_queue_api admin=on; }
        location /api/queue/       { admission_queue_api; }

        location /buy/    { admission_tier2 on;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /auto/   { admission_tier1 auto;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /any/    { admission_tier2 on bind=off;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /dry/    { admission_tier2 on; admission_dry_run on;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /stale/  { admission_tier2 on; proxy_cache proxy;
                            proxy_cache_key $uri; proxy_cache_valid 1s;
                            proxy_cache_revalidate on;
                            proxy_cache_use_stale error updating;
                            proxy_cache_background_update on;
                            proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /inner/  { admission_tier2 on; auth_request /asks;
                            mirror /asks;
                            proxy_pass http://127.0.0.1:%%BACKEND%%/plain; }
        location = /asks  { internal; proxy_pass_request_body off;
                            proxy_pass http://127.0.0.1:%%BACKEND%%/asks?header=X-Admission-Command:complete; }
END
END
);

my $port = $nginx->port;
my $operator = user_token($user_secret, userId => 'root', role => 'admin');
my $events = 0;

sub bearer ($who) { return bearer => user_token($user_secret, userId => $who) }

# where Redis stood still just now nobody else is let in for a moment

sub token ($event, $who) {
    return wait_until {
        post($port, "/api/queue/check/$event", bearer($who))
            ->json->{entryToken}
    };
}

sub shows ($token, @more) {
    return (headers => [ 'X-Queue-Entry-Token' => $token, @more ]);
}

sub buy ($where, $event, $who, $token, $query = '', @more) {
    return get($port, "/$where/$event$query", bearer($who),
               shows($token, @more));
}

sub sold ($event) {
    return get($port, "/api/queue/admin/slots/$event",
               bearer => $operator)->json->{sold};
}

# What was sent to Redis before: another event's purchases come after it.

sub sold_is ($event, $n, $what) {
    wait_until { sold($event) == $n };
    post($port, "/api/queue/admin/complete/event0?user=u$_",
         bearer => $operator) for 1 .. 4;
    is sold($event), $n, $what;
}

my $command = '?header=X-Admission-Command:complete';


for my $kind (@kinds) {
    subtest $kind => sub {
        my $event = 'event' . ++$events;
        my %token = map { $_ => token($event, $_) } qw(a b);

        my $r = buy($kind, $event, 'a', $token{a});
        is $r->status, 200, 'answered';
        is $r->header('X-Admission-Command'), undef, 'without the header';
        sold_is($event, 2, 'two seats');
        is buy($kind, $event, 'a', $token{a})->status, 403,
            'the session is over';

        SKIP: {
            skip 'NGINX has no cache for it', 3 if $kind eq 'grpc';
            $r = buy($kind, $event, 'b', $token{b});
            is $r->status, 200, 'of the cache';
            is $r->header('X-Admission-Command'), undef, 'without the header';
            sold_is($event, 2, 'nothing is sold');
            buy($kind, $event, 'b', $token{b}, '', 'X-Key' => 'b');
        }
        buy($kind, $event, 'b', $token{b}) if $kind eq 'grpc';
        sold_is($event, 4, 'an answer of its own: two more');
    };
}


subtest 'two tabs' => sub {
    my $event = 'event' . ++$events;
    my ($sold, %code) = (0);

    # all are to come to the backend before the first has its answer: if a worker
    # stood still for that long others do

    for my $user (map { "a$_" } 1 .. 5) {
        my $token = token($event, $user);
        my $swarm = Admission::Swarm->new(connections => 8, timeout => 30);
        my $told = 0;

        %code = ();
        for my $n (1 .. 8) {
            $swarm->request($port, 'GET',
                "/buy/$event$command;seats=3&delay=3",
                { headers => [ 'X-Queue-Entry-Token' => $token,
                               Authorization => 'Bearer '
                                   . user_token($user_secret, userId => $user) ] },
                sub ($r) { $told++; $code{ $r->status }++ });
        }
        ok $swarm->run(until => sub { $told == 8 }, timeout => 30),
            'all answered';
        sold_is($event, $sold += 3, 'it is one purchase');
        last if ($code{200} // 0) == 8;
    }
    is_deeply \%code, { 200 => 8 }, 'by the backend';
};


subtest 'whose' => sub {
    my $event = 'event' . ++$events;
    my %token = map { $_ => token($event, $_) } qw(a b c);

    is buy('buy', $event, 'b', $token{a}, $command)->status, 403,
        "with another's token nobody comes to the backend";
    is buy('buy', 'event9', 'a', $token{a}, $command)->status, 403,
        'nor for another event';
    sold_is($event, 0, 'nothing is sold');

    is buy('any', $event, 'b', $token{a}, $command)->status, 200,
        'where any token will do';
    sold_is($event, 1, 'it counts');
    is buy('buy', $event, 'a', $token{a})->status, 403, 'for whose it is';
    is buy('buy', $event, 'b', $token{b})->status, 200, 'the other is in';

    is buy('auto', $event, 'b', $token{b}, $command)->status, 200,
        'by tier 1 alone';
    my $r = buy('auto', $event, 'b', $token{b}, $command);
    is $r->header('X-Admission-Command'), undef, 'the header goes no further';

    is buy('dry', $event, 'c', 'none', $command)->status, 200,
        'a dry run without a token';
    is buy('dry', $event, 'c', $token{c}, $command)->status, 200, 'and with';
    wait_until { sold($event) >= 2 };
    is buy('buy', $event, 'c', $token{c})->status, 403, 'which counts';
    like $nginx->error_log,
        qr/counts for nothing: the request shows no entry token/,
        'what does not is in the log, once a second';
};


# A framework and a filter of the same backend may both say it.

subtest 'said twice in one answer' => sub {
    my $event = 'event' . ++$events;
    my %token = map { $_ => token($event, $_) } qw(a b);

    my $r = buy('buy', $event, 'a', $token{a},
                "$command;seats=2" . '&header=X-Admission-Command:complete;seats=2');
    is $r->header('X-Admission-Command'), undef, 'the header goes no further';
    sold_is($event, 2, 'the same: it counts, once');
    $r = buy('buy', $event, 'b', $token{b},
             $command . '&header=x-admission-command:complete;seats=2');
    is $r->header('X-Admission-Command'), undef, 'nor do two that differ';
    sold_is($event, 2, 'of which none counts');
};


subtest 'subrequests' => sub {
    my $event = 'event' . ++$events;
    my $token = token($event, 'a');
    my $hits = $backend->hits;

    is buy('inner', $event, 'a', $token)->status, 200, 'answered';
    wait_until { $backend->hits - $hits >= 3 };
    sold_is($event, 0, 'what others are told on the way sells nothing');

    is buy('stale', $event, 'a', $token)->status, 200, 'an answer is cached';
    my $b = token($event, 'b');
    select undef, undef, undef, 1.5;

    # the cache is filled anew aside of who gets the stale answer

    $hits = $backend->hits;
    is buy('stale', $event, 'b', $b, $command)->status, 200, 'then it is stale';
    wait_until { $backend->hits > $hits };
    is buy('stale', $event, 'b', $b)->header('X-Admission-Command'), undef,
        'the new one has the header, for nobody';
    sold_is($event, 0, 'and sells nothing');
    is buy('buy', $event, $_->[0], $_->[1])->status, 200, "$_->[0] is in"
        for [ a => $token ], [ b => $b ];
};


# The answer comes when the session is over: the backend has sold all the same.

subtest 'too late' => sub {
    my ($n, $user, $token) = (0);

    # who comes to it late is another one
    ok((wait_until {
        $user = 'a' . ++$n;
        $token = token('short', $user);
        buy('buy', 'short', $user, $token, "$command;seats=2&delay=5")
            ->status == 200
    } 60), 'the backend took its time');
    sold_is('short', 2, 'it counts');
    is buy('buy', 'short', $user, $token, $command)->status, 403,
        'but with a token that is over nobody comes to the backend';
};


done_testing;
