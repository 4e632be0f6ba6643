# A room on standby together with what sites have besides: a page and all that
# belongs to it at once, HTTP/2, caches, revalidation, programs without cookies, what
# browsers fetch ahead, a dry run, a hold, a sale with a start, and a reload in
# the middle of a crowd.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Metrics;
use Admission::Swarm;
use Admission::Waiting;
use POSIX qw(strftime);
use Time::HiRes qw(sleep time);

my $rate = 20;
my @names = qw(whole cached trial held sale crowd);

my $site = waiting_site(
    timeout => '5s',
    events => join(' ', map { "$_ vwr=standby vwr_rate=$rate;" } @names),
    server => <<'END',
        location ~ ^/at/(?<of>[^/]+)/ {
            admission_event $of;
            admission_tier1 auto;
            error_page 404 = /gone/$of;
            try_files /none $uri/none @gif;
        }
        location @gif      { admission_event $of; admission_tier1 auto;
                             empty_gif; }
        location /parts/   { admission_event whole; admission_tier1 auto;
                             mirror /part; auth_request /part; empty_gif; }
        location = /part   { internal; admission_event whole;
                             admission_tier1 auto; empty_gif; }
        location /cached/  { admission_event cached; admission_tier1 auto;
                             proxy_cache pages; proxy_cache_lock on;
                             proxy_ignore_headers Set-Cookie Cache-Control;
                             proxy_cache_valid 200 10m; proxy_cache_revalidate on;
                             proxy_pass http://127.0.0.1:%%PORT%%/origin/; }
        location /origin/  { add_header Cache-Control "public, max-age=600";
                             add_header ETag '"one"'; empty_gif; }
        location /trial/   { admission_event trial; admission_tier1 auto;
                             admission_dry_run on; empty_gif; }
        location = /metrics { admission_metrics; }
END
    http => <<'END');
        proxy_cache_path %%DIR%%/cache keys_zone=pages:1m;
        server {
            listen 127.0.0.1:%%PORT_h2%% http2;
            admission_event whole;
            location / { admission_tier1 auto; empty_gif; }
        }
END

my $port = $site->port;
my $redis = $site->redis;
my @page = (Accept => 'text/html');

# Who was held up for a second sees the room: on a machine that stood still the
# next view counts.
sub held_up ($r) { return $r->status == 302 && $r->time > 0.9 }

sub page ($path, $visitor = {}, @headers) {
    my $r;

    for (1 .. 5) {
        $r = visit($site, 0, $visitor, GET => $path,
                   headers => [ @page, @headers ]);
        last if !held_up($r);
    }
    return $r;
}

sub status ($event) { return operator($site, GET => "status/$event")->json }

sub passed ($event) {
    return metrics($port)->value('event_room_unseen_total', event => $event) // 0;
}

sub cookie ($event) { return "urr-vwr-token-$event" }

# what may still come is a second's worth
sub rested ($event) {
    wait_until { my $s = status($event);
                 $s->{standby}
                 && $s->{servingCounter} - $s->{nextPosition} >= $rate - 1 };
}

# what is answered, all at once, in the order asked
sub at_once (@requests) {
    my @answers;

    for (1 .. 5) {
        @answers = asked_at_once(@requests);
        last if !grep { held_up($_) } @answers;
    }
    return @answers;
}

sub asked_at_once (@requests) {
    my $swarm = Admission::Swarm->new(connections => scalar @requests, retry => 1,
                                      timeout => 20);
    my (@answers, $done);
    for my $i (0 .. $#requests) {
        my ($path, @headers) = $requests[$i]->@*;
        $swarm->request($port, 'GET', $path, [ @headers ],
                        sub ($r) { $answers[$i] = $r; $done++ });
    }
    $swarm->run(until => sub { ($done // 0) == @requests }, timeout => 30)
        or fail 'all are answered';
    return @answers;
}

rested($_) for @names;


subtest 'a page and its parts' => sub {
    my $before = passed('whole');

    # what has no cookie yet, as of a browser that is fast
    my @r = at_once([ '/at/whole/page', @page ],
                    map { [ "/at/whole/$_.png", Accept => 'image/png',
                            'Sec-Fetch-Mode' => 'no-cors' ] } 1 .. 8);
    is $r[0]->status, 200, 'the page passes';
    is_deeply [ grep { $_->status != 403 } @r[1 .. 8] ], [], 'its images do not';
    is_deeply [ grep { %{ $_->cookies } } @r[1 .. 8] ], [], 'nor do they get any';
    is passed('whole'), $before + 1, 'that is one of the rate';

    my $visitor = { map { ($_ => $r[0]->cookies->{$_}{value}) }
                    keys $r[0]->cookies->%* };
    my $jar = join '; ', map { "$_=$visitor->{$_}" } sort keys %$visitor;
    @r = at_once(map { [ "/at/whole/$_.png", Cookie => $jar ] } 1 .. 8);
    is_deeply [ grep { $_->status != 200 } @r ], [], 'with the cookie they pass';
    is passed('whole'), $before + 1, 'and cost nothing';

    # requests below a request are part of it
    is page('/parts/x')->status, 200, 'a page with requests of its own';
    is passed('whole'), $before + 2, 'is one, too';

    rested('whole');
    my $h2 = Admission::HTTP2->connect($site->nginx->port('h2'));
    my $ask = sub ($stream, $path, @headers) {
        $h2->headers($stream, GET => $path, headers => [ @headers ]);
    };
    $ask->(1, '/', accept => 'text/html');
    $ask->(2 * $_ + 1, "/$_.png", accept => 'image/png') for 1 .. 6;
    my $body = $h2->body(1);
    for my $stream (15, 17, 19) {
        last if length($body // '');
        $ask->($stream, '/', accept => 'text/html');
        $body = $h2->body($stream);
    }
    like $body, qr/^GIF/, 'HTTP/2: the page passes';
    like $h2->body(2 * $_ + 1), qr/TIER1_REQUIRED/, "HTTP/2: image $_ does not"
        for 1 .. 6;
    is passed('whole'), $before + 3, 'HTTP/2: one of the rate';

    # the token in the last of several lines
    $ask->(21, '/x.png', accept => 'image/png', cookie => 'a=b',
           map { (cookie => "$_=$visitor->{$_}") } sort keys %$visitor);
    like $h2->body(21), qr/^GIF/, 'HTTP/2: by cookies in lines of their own';

    # a stream that is reset takes nothing with it
    $ask->(23, '/', accept => 'text/html');
    $h2->reset(23);
    for my $stream (25, 27, 29) {
        $ask->($stream, '/', accept => 'text/html');
        $body = $h2->body($stream);
        last if length($body // '');
    }
    like $body, qr/^GIF/, 'HTTP/2: beside one that is reset';
    $h2->close;
};


subtest 'programs without cookies, and what is fetched ahead' => sub {
    rested('whole');
    watched;
    my $began = time;
    my ($before, $at) = (passed('whole'), status('whole')->{nextPosition});

    is get($port, '/at/whole/health')->status, 403, 'a health check'
        for 1 .. 20;
    is request($port, HEAD => '/at/whole/', headers => [ @page ])->status, 302,
        'HEAD' for 1 .. 3;
    is passed('whole'), $before, 'cost nothing';

    my %vis;
    for (1 .. 3) {
        my $r = page('/at/whole/robots');
        is $r->status, 200, 'a crawler passes, below the rate';
        $vis{ jwt_decode($r->cookies->{cookie('whole')}{value})->{vis} }++;
    }
    is passed('whole'), $before + 3, 'as one each time';
    is scalar keys %vis, 3, 'and somebody else';

    # What was fetched ahead is one page, with the token for what follows.  It is
    # not held up: it passes where the host has one in hand.
    my $ahead = {};
    ok wait_until(sub {
        page('/at/whole/next', $ahead, 'Sec-Purpose' => 'prefetch',
             'Sec-Fetch-Mode' => 'navigate')->status == 200
    }), 'a page fetched ahead';
    is page("/at/whole/$_", $ahead)->status, 200, 'and those that are looked at'
        for 1 .. 3;
    is passed('whole'), $before + 4, 'are one';

    # the counters say no more: what hosts have in hand is not theirs, each time
    # that it was lost with a machine that stood still
    my $in_hand = ($rate / 4 + 1) * (1 + int(2 * stood($began)));
    cmp_ok status('whole')->{nextPosition} - $at, '<=', 4 + $in_hand,
        'nor do numbers';
};


subtest 'what is cached' => sub {
    my (%token, @answers);

    # the first ones at once, of whom one fetches it for all
    rested('cached');
    @answers = at_once(map { [ '/cached/x', @page ] } 1 .. 5);
    is_deeply [ map { $_->status } @answers ], [ (200) x 5 ], 'all pass';
    $token{ $_->cookies->{cookie('cached')}{value} // '' }++ for @answers;
    is scalar keys %token, 5, 'each with a token of its own';
    is_deeply [ grep { $_->header('Cache-Control') ne 'private, no-store' }
                @answers ], [], 'that nobody else is to keep';

    for my $case ([ 304, 'If-None-Match' => '"one"' ], [ 206, Range => 'bytes=0-3' ]) {
        my ($code, @headers) = @$case;
        my $r = page('/cached/x', {}, @headers);

        like $r->status, qr/^(?:200|$code)$/, "$headers[0]: passes";
        ok $r->cookies->{cookie('cached')}, "$headers[0]: with a token";
        is $r->header('Cache-Control'), 'private, no-store',
            "$headers[0]: not to be kept";
    }

    my $kept = join '', map { -f $_ ? read_file($_) : () }
               glob $site->nginx->dir . '/cache/*';
    like $kept, qr/GIF/, 'it is in the cache';
    unlike $kept, qr/urr-vwr|admission-visitor/, 'without a token';
    is page('/cached/x')->header('X-Cache-Status') // '', '', 'and is served';
};


subtest 'a dry run' => sub {
    my $visitor = {};
    rested('trial');
    is page('/trial/x', $visitor)->status, 200, 'a page passes';
    my $has = $visitor->{cookie('trial')};

    # while somebody waits it would not
    operator($site, PUT => 'rate/trial?rate=0');
    assign($site, 0, {}, event => 'trial') for 1 .. $rate + 5;
    wait_until { !status('trial')->{standby} };

    my $r = page('/trial/x');
    is $r->status, 200, 'nothing is denied';
    ok !$r->cookies->{cookie('trial')}, 'and nobody has a token for nothing';
    is page('/at/trial/x')->status, 302, 'where it is no trial it is denied';
    is page('/at/trial/x', $visitor)->status, 200, 'but to who has passed'
        if $has;
};


subtest 'a hold' => sub {
    my $visitor = {};
    rested('held');
    is page('/at/held/x', $visitor)->status, 200, 'a page passes';

    is operator($site, PUT => 'hold/held')->status, 200, 'an operator holds it';
    wait_until { page('/at/held/x')->status == 302 };
    my $before = passed('held');
    is page('/at/held/x')->status, 302, 'nobody new passes' for 1 .. 3;
    is passed('held'), $before, 'of all who tried';
    is page('/at/held/x', $visitor)->status, 200, 'who is in goes on';

    is operator($site, DELETE => 'hold/held')->status, 200, 'it is let go';
    wait_until { !status('held')->{standby} || page('/at/held/x')->status == 200 };
    my $ticket = {};
    my $r = assign($site, 0, $ticket, event => 'held')->json;
    ok wait_until(sub { check($site, 0, $ticket, $r->{requestId},
                              event => 'held')->json->{admitted} }),
        'who comes meanwhile goes in by a ticket';
};


subtest 'a sale with a start' => sub {
    my $visitor = {};
    rested('sale');
    is page('/at/sale/x', $visitor)->status, 200, 'a page passes, before';

    my $starts = int($redis->cmd('TIME')->[0]) + 4 * slow;
    is operator($site, PUT => 'schedule/sale', json => {
        starts => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $starts) })->status, 200,
        'an operator sets a start';
    wait_until { page('/at/sale/x')->status == 302 };

    my $before = passed('sale');
    my @tickets = map {
        my $who = {};
        my $r = assign($site, 0, $who, event => 'sale')->json;
        [ $who, $r->{requestId}, $r->{position} ];
    } 1 .. 3;
    is page('/at/sale/x')->status, 302, 'nobody passes' for 1 .. 3;
    my @early = grep { check($site, 0, $_->[0], $_->[1], event => 'sale')
                       ->json->{admitted} } @tickets;
    my $now = $redis->cmd('TIME')->[0];
    is scalar @early, 0, 'nor does a ticket' if $now < $starts;
    is passed('sale'), $before, 'nobody at all' if $now < $starts;

    for my $ticket (@tickets) {
        ok wait_until(sub { check($site, 0, $ticket->[0], $ticket->[1],
                                  event => 'sale')->json->{admitted} }, 20),
            "position $ticket->[2] is let in after it";
    }
    cmp_ok $redis->cmd('TIME')->[0], '>=', $starts, 'not before';

    # nobody has waited for 10 s, of which the test does not wait
    wait_until { my $s = status('sale');
                 $s->{servingCounter} >= $s->{nextPosition} };
    wait_until { $redis->cmd('HINCRBY', '{sale}:vwr', 'calm', -11_000_000);
                 sleep 0.3;
                 status('sale')->{standby} };
    ok wait_until(sub { page('/at/sale/x')->status == 200 }),
        'then it is unseen again';
};


# What passes while a reload puts others in the place of workers, some of whom
# hold visitors up: no more than the rate and the burst, and all are answered.

subtest 'a reload in the middle of a crowd' => sub {
    rested('crowd');

    # connections that are kept are closed by a reload, without any module
    my $swarm = Admission::Swarm->new(connections => 400, keepalive => 0,
                                      timeout => 20);
    my ($n, $done, %code) = (15 * $rate, 0);
    my $began = time;

    for my $i (0 .. $n - 1) {
        $swarm->timer(1.5 * $i / $n, sub {
            $swarm->request($port, GET => '/at/crowd/x', [ @page ], sub ($r) {
                $code{ $r->status || $r->error }++;
                $done++;
            });
        });
    }
    $swarm->timer(0.4, sub { $site->nginx->signal('HUP') });
    ok $swarm->run(until => sub { $done == $n }, timeout => 30), 'all are answered';
    my $took = time - $began;

    is +($code{200} // 0) + ($code{302} // 0), $n, 'by the page or the room'
        or diag join "\n", %code;
    cmp_ok $code{200} // 0, '<=', 1.05 * $rate * (1 + $took) + $rate / 4,
        'no more pass than the rate lets in';
    cmp_ok $code{302} // 0, '>=', 0.6 * $n - $rate * $took,
        'and the others see the room';
};

done_testing;
