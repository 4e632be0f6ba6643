# What the zone keeps of the metrics of rate limits: for how long they went on
# without Redis, in a zone of another size too; and of more categories than it
# has room for, what it can, and that it says so.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Nginx;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $url = $redis->url;

# Redis is there or not, and never hangs: no call is given up since the machine
# stood still

sub http ($zone) {
    return "admission_zone $zone; admission_redis $url timeout=60s;";
}

# One with a limit, and what it says of its fallback: whether, and for how long.

sub few () {
    my $nginx = Admission::Nginx->start(
        workers => 2, http => http('a:1m'), server => <<'END');
            location = /metrics { admission_metrics; }
            location = /few     { admission_rate_limit few rate=1000r/s;
                                  empty_gif; }
END
    my $value = sub ($name) { metrics($nginx->port)->value($name) };

    return ($nginx, sub { $value->('rate_limit_fallback') },
                    sub { $value->('rate_limit_fallback_seconds_total') });
}


subtest 'the time without Redis' => sub {
    my ($nginx, $alone, $time) = few();
    my $port = $nginx->port;

    is $time->(), '0.000', 'none so far';
    $redis->stop;

    ok((wait_until { get($port, '/few'); $time->() > 1 } 20),
       'it goes on for more than a second') or diag metrics($port)->text;

    # nobody asks for anything: it stands still

    my $before = $time->();
    $nginx->reload(http => http('a:2m'));
    is $time->(), $before, 'a larger zone: as long';
    is $alone->(), 1, 'and it goes on';

    ok((wait_until { get($port, '/few'); $time->() > $before } 10),
       'from when it began');
    cmp_ok $time->() - $before, '<', 30 * slow, 'and from no other time';

    $redis->restart;
    ok((wait_until { get($port, '/few'); !$alone->() } 20), 'Redis is back');

    $before = $time->();
    $nginx->reload(http => http('a:256k'));
    is $time->(), $before, 'a smaller zone: as long';
    is $alone->(), 0, 'and it is over';
    get($port, '/few') for 1 .. 4;
    is $time->(), $before, 'so it does not go on';
};


# What the host asks Redis besides tells that it is back.

subtest 'nobody asks any more' => sub {
    my ($nginx, $alone, $time) = few();
    my $port = $nginx->port;
    my $miss = sub () {
        return wait_until { get($port, '/few'); $alone->() } 20;
    };

    $redis->stop;
    ok $miss->(), 'Redis is gone';

    $redis->restart;
    my $before = $time->();

    ok((wait_until { !$alone->() } 30 * slow), 'it is back, without a request')
        or diag metrics($port)->text;

    $redis->stop;
    ok $miss->(), 'it is gone again';
    cmp_ok $time->() - $before, '<', 5 * slow,
        'the time between is not time without it';
    $redis->restart;
};


subtest 'many categories' => sub {
    my $all = 200;
    my $server = 'location = /metrics { admission_metrics; }' . join '', map {
        "location = /l$_ { admission_rate_limit category-$_ rate=1r/h
                           key=all; empty_gif; }\n"
    } 1 .. $all;

    my $few = qr/too small to count the decisions of all rate limits, not of (\d+) categories, "category-(\d+)" the first of them: make "admission_zone" larger/;

    my ($status, $output) = Admission::Nginx->conf_test(
        http => http('a:32k'), server => $server);
    is $status, 0, 'nginx -t: no error';
    my ($without, $first) = $output =~ $few;
    ok $without, 'but it says so' or diag $output;
    is $without + $first, $all + 1, 'how many, and from which one on';
    cmp_ok $first, '>', 30, 'there is room for 30';

    ($status, $output) = Admission::Nginx->conf_test(
        http => http('a:8m'), server => $server);
    unlike $output, $few, 'a large zone: nothing to be said';

    my $nginx = Admission::Nginx->start(
        workers => 2, http => http('a:32k'), server => $server);

    # "nginx -t" before it says so there, too

    my $lines = sub {
        my $pid = $nginx->pid;
        my $tests = qr/\[error\] (?!$pid#)/;
        return scalar grep { /$few/ && !/$tests/ } split /\n/,
               read_file($nginx->dir . '/error.log');
    };

    is $lines->(), 1, 'a start: one line';

    is get($nginx->port, "/l$_")->status, 200, "one passes, l$_" for 1, $all;
    is get($nginx->port, "/l$_")->status, 429, "the next does not, l$_"
        for 1, $all;

    my $m = metrics($nginx->port);
    my $counted = sub ($m, $n) {
        return $m->value('rate_limit_decisions_total', decision => 'limited',
                         category => "category-$n");
    };

    is $counted->($m, 1), 1, 'the first is counted';
    is $counted->($m, $first - 1), 0, 'and all that there is room for';
    is $counted->($m, $first), undef, 'the others are not';

    # what workers tell each other of Redis has its room all the same

    $redis->stop;
    ok((wait_until {
        my @open = map { Admission::HTTP->connect($nginx->port) } 1 .. 8;
        $_->send("GET /l1 HTTP/1.1\r\nHost: localhost\r\n\r\n") for @open;
        $_->response for @open;
        $nginx->error_log =~ /redis \S+ down/
    } 10), 'Redis goes');

    for (1 .. 5) {
        my @open = map { Admission::HTTP->connect($nginx->port) } 1 .. 8;
        $_->send("GET /l1 HTTP/1.1\r\nHost: localhost\r\n\r\n") for @open;
        $_->response for @open;
    }

    is scalar(() = $nginx->error_log =~ /redis \S+ down/g), 1,
        'which is one line, of both workers' or diag $nginx->error_log;

    $redis->restart;
    $nginx->reload(http => http('a:8m'));
    is $lines->(), 1, 'a zone with room for all: no line more';
    $m = metrics($nginx->port);
    is $counted->($m, 1), 1, 'what was counted is';
    is $counted->($m, $all), 0, 'and the others are from now on';
};

done_testing;
