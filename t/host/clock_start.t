# A host that starts with a clock that is an hour off goes by Redis's from its
# first request on: who comes before it has heard of that waits for it, and
# neither loses a token, a ticket or a start of a sale to the wrong clock nor
# gains by it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::HTTP;
use Admission::JWT;
use Admission::Redis;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;

sub date ($at) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at)) }

# What a host is asked before it has heard of anything, and what it answers.

sub cases ($site, $now, $visitor, $ticket, $activation) {
    my $user = user_token($secret{user}, userId => 'ann', exp => time + 86400);

    my $entry = sub ($path, $end) {
        my $token = entry_token($secret{tier2}, sub => 'concert', uid => 'ann',
                                adm => ($now - 400) * 1_000_000,
                                iat => $now - 400, exp => $end);
        return [GET => $path, bearer => $user,
                headers => [ 'X-Queue-Entry-Token' => $token ]];
    };
    my $pass = sub ($event, $end) {
        return [GET => "/free/?e=$event", cookies => tier1_cookie(
            {}, sub => $event, act => $activation, iat => $now - 400,
            exp => $end)];
    };
    my $check = [GET => "/vwr-api/check/concert/$ticket", headers => [
                     'X-Admission-Visitor' => $visitor->{visitor} ]];

    return (
        [ 200, 'an entry token', $entry->('/gated', $now + 200) ],
        [ 403, 'one that ended', $entry->('/gated', $now - 60) ],
        [ 200, 'of any event', $entry->('/any', $now + 200) ],
        [ 403, 'one that ended, of any', $entry->('/any', $now - 60) ],
        [ 200, 'a token of tier 1', $pass->('concert', $now + 200) ],
        [ 403, 'one of those that ended', $pass->('concert', $now - 60) ],
        [ 403, 'ahead of a sale', $pass->('early', $now + 200) ],
        [ 200, 'in one', $pass->('sale', $now + 200) ],
        [ '200|503', 'a ticket: it counts, or is not known yet', $check ],
        [ 200, 'another one in a sale', [POST => '/vwr-api/assign/sale'] ],
        [ 403, 'none ahead of it', [POST => '/vwr-api/assign/early'] ],
        [ 403, 'none after it', [POST => '/vwr-api/assign/late'] ],
        [ 200, 'the ticket again', [POST => '/vwr-api/assign/concert',
                                    cookies => $visitor->{jar}] ]);
}

for my $off (3600, -3600) {
    my $redis = Admission::Redis->start(clock => 1);
    $redis->set_clock($off);

    my $now = time + $off;
    my %at = map { $_->[0] => date($now + $_->[1]) }
             [ opened => -1800 ], [ opens => 1800 ], [ closed => -600 ];

    my $site = waiting_site(
        redis => $redis, workers => 1, timeout => '60s',
        events => "default vwr_rate=0 ticket_ttl=10m;\n"
                  . "early opens=$at{opens};\n"
                  . "sale opens=$at{opened} closes=$at{opens};\n"
                  . "late opens=$at{opened} closes=$at{closed};\n"
                  . 'concert vwr_rate=0 ticket_ttl=10m;',
        server => <<'END');
            location /free/ { admission_event $arg_e;
                              admission_tier1 auto bind=off; empty_gif; }
            location /any   { admission_event ''; admission_tier2 on event=any;
                              empty_gif; }
            location = /now { stub_status; }
END

    operator($site, POST => 'activate/concert');
    my $activation = operator($site, GET => 'status/concert')
                     ->json->{activation};

    my $jar = {};
    my $ticket = assign($site, 0, $jar)->json;
    my $visitor = { visitor => $ticket->{visitor}, jar => $jar };
    my @cases = cases($site, $now, $visitor, $ticket->{requestId},
                      $activation);

    subtest "Redis's clock is $off s from the host's" => sub {
        $redis->sigstop;
        my $host = $site->instance;

        my @open = map {
            my ($method, $path, %opt) = $_->[2]->@*;
            my $c = Admission::HTTP->connect($host->port, timeout => 60);
            $c->send(Admission::HTTP::compose($method, $path, %opt));
            $c
        } @cases;

        my $status;
        ok((wait_until {
            ($status) = get($host->port, '/now')->body =~ /Writing: (\d+)/;
            $status == 1 + @open } 30), 'all wait') or diag $status;
        $redis->sigcont;

        for my $case (@cases) {
            my ($code, $name, $request) = @$case;
            my $r = (shift @open)->response($request->[0], 60);

            like $r->status, qr/^(?:$code)$/, $name or diag $r->raw;
            is $r->json->{requestId}, $ticket->{requestId}, 'is the same'
                if $name eq 'the ticket again';
        }
    };

    subtest 'Redis is not there' => sub {
        my $wait = 3;
        local $site->{timeout} = "${wait}s";
        $redis->sigstop;
        my $host = $site->instance;

        my $entry = entry_token($secret{tier2}, sub => 'concert', uid => 'ann');
        my %opt = (bearer => user_token($secret{user}, userId => 'ann'),
                   headers => [ 'X-Queue-Entry-Token' => $entry ]);

        for ([ 200, GET => '/gated', %opt ],
             [ 503, GET => $cases[8][2][1], headers => $cases[8][2][3] ],
             [ 503, POST => '/api/queue/check/concert', %opt ])
        {
            my ($code, $method, $path, %opt) = @$_;
            my $watch = stopwatch;
            my $r = request($host->port, $method, $path, %opt, timeout => 60);

            is $r->status, $code, "$path is answered" or diag $r->raw;
            cmp_ok $watch->(), '<', 2 * $wait - 0.5, 'in time';
        }

        $redis->sigcont;
        ok((wait_until { request($host->port, POST => '/api/queue/check/concert',
                                 %opt)->status == 200 } 20), 'and it goes on');
        $host->stop;
    } if $off > 0;
}

done_testing;
