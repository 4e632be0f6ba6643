# Who waits for the backend, and who only seems to: those who still send a body,
# and those of a worker that was killed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;
use List::Util qw(max);

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();

plan(skip_all => 'NGINX is built without --with-debug')
    if (run($binary, '-V'))[1] !~ /--with-debug/;

my $user_secret = 'user-secret-of-the-test-01234567890';

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

my $nginx = Admission::Nginx->start(
    workers => 1, log_level => 'debug',
    vars => { REDIS => $redis->url, BACKEND => $backend->port },
    http => <<"END",
    admission_zone    admission:1m;
    admission_redis   %%REDIS%% timeout=30s;
    admission_secret  tier1 tier1-secret-of-the-test-0123456789;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user_secret;

    admission_events { default  threshold=100 backend_latency=200ms; }
END
    server => <<'END',
        admission_event  sale;
        admission_user   jwt;
        location /api/queue/ { admission_queue_api; }
        location /whole/     { admission_tier2 on;
                               proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /parts/     { admission_tier2 on; proxy_http_version 1.1;
                               proxy_request_buffering off;
                               proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
);

my $port = $nginx->port;
my $mark = $nginx->log_mark;

sub user ($who) { return user_token($user_secret, userId => $who) }

sub enter ($who) {
    return post($port, '/api/queue/check/sale', bearer => user($who))
               ->json->{entryToken};
}

sub begin ($who, $path, $method = 'GET', @headers) {
    return begin_with(enter($who), $who, $path, $method, @headers);
}

sub begin_with ($token, $who, $path, $method = 'GET', @headers) {
    my $client = Admission::HTTP->connect($port);

    $client->send(join "\r\n", "$method $path HTTP/1.1", 'Host: x',
                  'Authorization: Bearer ' . user($who),
                  "X-Queue-Entry-Token: $token", @headers, '', '');
    return $client;
}

sub told {
    return map { [ /counts:(\d) time:(\d+) failed:(\d).* timed:(\d)/ ] }
           grep { /admission: backend of event .* counts:/ }
           split /\n/, $nginx->error_log($mark);
}

# Of the newest decision: when it was, us, and users who wait for a header for
# long, one of them left out.

sub decided {
    return $redis->cmd('EVAL', <<'END', 1, '{sale}:follow')->@*;
        local f = redis.call('HMGET', KEYS[1], 'at', 'parts')
        local part = f[2] and redis.call('HGET', KEYS[1], 'part' .. f[2])
        return { tonumber(f[1] or 0),
                 part and cmsgpack.unpack(part)[2 + 11] or 0 }
END
}

sub us {
    my ($s, $us) = $redis->cmd('TIME')->@*;
    return $s * 1e6 + $us;
}


subtest 'a body that comes slowly' => sub {
    my $length = 'Content-Length: 10';
    my @slow = (begin('ann', '/whole/x', POST => $length),
                begin('ben', '/whole/x', POST => $length),
                begin('cat', '/parts/x', POST => $length),
                begin('dan', '/parts/x', POST => $length));

    $_->send('12345') for @slow;
    wait_until { () = $nginx->error_log($mark) =~ /passes the gate/g >= 4 };

    # others have answers, and decisions go on; late is over 1 s
    my $from = us;
    my $most = 0;
    my $n = 0;
    my $answered = 0;

    $mark = $nginx->log_mark;

    my $ok = wait_until {
        $answered += begin("eve$n", '/whole/x?body=ok')->response->status == 200
            if $n++ < 10;
        my ($at, $late) = decided;
        $most = $late if $late > $most;
        $at > $from + 1.7e6;
    } 15;

    ok $ok, 'decisions are made';
    is $most, 0, 'nobody waits for the backend';

    # what is told of them may come after their answers
    ok((wait_until { told() >= $answered }), 'others have answers');

    $mark = $nginx->log_mark;
    $from = us;
    $_->send('67890') for @slow;
    ok((wait_until { told() >= 4 }), 'they have answers');

    # the machine may stand still between the two

    my $longest = max(1500, (us() - $from) / 1000);
    is_deeply [ grep { !$_->[0] || $_->[1] > $longest || $_->[2] || !$_->[3] }
                told() ], [],
        'which took no longer than the backend did';
};


subtest 'a body that comes at once' => sub {
    for my $case ([ 'Content-Length: 5', 'abcde' ],
                  [ 'Transfer-Encoding: chunked', "5\r\nabcde\r\n0\r\n\r\n" ])
    {
        my ($header, $body) = @$case;
        for my $path ('/whole/', '/parts/') {
            $mark = $nginx->log_mark;
            my $client = begin('fay', "${path}x?delay=0.2", POST => $header);
            $client->send($body);
            wait_until { told() };
            my ($counts, $time, $failed, $timed) = map { @$_ } told();
            is_deeply [ $counts, $failed, $timed ], [ 1, 0, 1 ],
                "$path, $header: counts";
            cmp_ok $time, '>=', 150, 'with its time';
        }
    }
};


subtest 'a worker is killed' => sub {
    my @users = map { "hang$_" } 1 .. 8;
    my @tokens = map { enter($_) } @users;     # before they are seen to hang
    my @hang = map { begin_with(shift @tokens, $_, '/whole/x?delay=100') } @users;

    # one is left out; and users are told apart by 512 values of a hash whose key
    # is drawn at each start: two of 8 have the same one in 1 of 19 runs, and
    # fewer than 6 are told apart in 1 of 130,000

    ok((wait_until {
        my $late = (decided)[1];
        $late >= 5 && $late < @users;
    } 15), 'who waits is seen');
    $nginx->kill_worker;

    my $from = us;
    ok((wait_until { my ($at, $late) = decided; $at > $from && $late == 0 } 15),
        'and is not waited for with a worker that is gone');
};

done_testing;
