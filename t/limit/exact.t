# Rate limits are exact: a crowd through two instances of two workers each, and
# a model that is told by MONITOR when Redis judged and whom it let pass.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Nginx;
use Admission::Redis;
use Admission::Swarm;

my $requests = int(20_000 / slow);

# few: each is over its limit on a slow machine, too
my $clients = int(24 / slow);
my $limit = 10;

my $redis = Admission::Redis->start;

my @nginx = map {
    Admission::Nginx->start(
        workers => 2,
        vars => { REDIS => $redis->url },
        http => "access_log off;\n"
                . "admission_redis %%REDIS%% timeout=60s;",
        server => <<"END")
        keepalive_requests 100000;

        location /log {
            empty_gif;
            admission_rate_limit log rate=${limit}r/s key=\$arg_k fail=closed;
        }
        location /counter {
            empty_gif;
            admission_rate_limit counter rate=${limit}r/s key=\$arg_k
                                 algorithm=counter fail=closed;
        }
END
} 1 .. 2;

my @ports = map { $_->port } @nginx;


# ---- the crowd

# So many requests of each client, with pauses of up to $pause seconds between
# them; returns how many passed, {client => number}.

sub crowd ($path, $n, $pause, @names) {
    my $swarm = Admission::Swarm->new(connections => 100, timeout => 30);
    my (%passed, %status, %left);

    my $next;
    $next = sub ($name) {
        return if !$left{$name}--;

        $swarm->request($ports[rand 2], 'GET', "$path?k=$name", {}, sub ($r) {
            $status{ $r->status }++;
            $passed{$name}++ if $r->status == 200;
            $swarm->timer(rand $pause, sub { $next->($name) });
        });
    };

    $left{$_} = $n for @names;
    for my $name (@names) { $next->($name) }

    $swarm->run(timeout => 120) or die 'the crowd does not end';

    delete @status{200, 429};
    is_deeply \%status, {}, 'each is allowed or refused';

    return \%passed;
}


# ---- what Redis did

# The judgments that MONITOR saw, in order: [client, from, to, passed, line],
# with times in us: that of the script lies between from and to, and is `to`
# itself where the request passed by a log.  Scripts have a time of their own,
# which Redis 7 takes after it tells of the script, in `line`, and later ones
# before: it is not before what Redis did before, so that `from` is the time of
# that.

sub judgments ($monitor) {
    my @judgments;
    my $mark = 'the end of ' . time;
    my $before = 0;
    my $now = 0;

    $redis->cmd('ECHO', $mark);

    while (1) {
        my $line = $monitor->reply;
        my ($s, $us, $from, $rest) = $line =~ /^(\d+)\.(\d+) \[\d+ (.*?)\] (.*)/
            or next;

        ($before, $now) = ($now, $s * 1_000_000 + $us);

        last if index($rest, $mark) >= 0;

        if ($from ne 'lua') {
            my ($name) = $rest =~ /^"EVALSHA" .*"rate:\w+:(\w+)"/i or next;
            push @judgments, [ $name, $before, undef, 0, $now ];
            next;
        }

        next if !@judgments;

        my $last = $judgments[-1];

        $last->[2] //= $now if $rest =~ /^"(?:ZRANGE|HMGET)"/;

        if ($rest =~ /^"ZADD" "rate:log:(\w+)" "NX" "(\d+)" "(\d+)"/) {
            die "$1 is charged for $last->[0]" if $1 ne $last->[0];
            die "$3 is not $2" if $2 != $3;
            @$last[2, 3] = ($2, 1);

        } elsif ($rest =~ /^"(?:HSET|HINCRBY)" .* "c" "/) {
            $last->[3] = 1;
        }
    }

    return @judgments;
}

sub monitor () {
    my $monitor = $redis->client(timeout => 30);
    $monitor->cmd('MONITOR');
    return $monitor;
}


# NOSCRIPT is answered with the same by EVAL, which is not what is counted

request_each_port();

sub request_each_port () {
    for my $path (qw(/log /counter)) {
        crowd($path, 4, 0.01, 'first');
    }
}


subtest 'log' => sub {
    my $monitor = monitor();
    my @names = map { "c$_" } 1 .. $clients;
    my $start = time;
    my $passed = crowd('/log', int($requests / $clients), 0.03, @names);
    my @judgments = judgments($monitor);

    note sprintf '%d requests in %.1f s', scalar @judgments, time - $start;

    is scalar @judgments, int($requests / $clients) * $clients,
        'one script a request';

    my (%window, %counted, %members);
    my ($wrong, $open) = (0, 0);

    for my $judgment (@judgments) {
        my ($name, $from, $to, $ok) = @$judgment;
        my $times = $window{$name} //= [];
        my $count = sub ($at) {
            return scalar grep { $_ > $at - 1_000_000 } @$times;
        };

        if ($ok) {
            $wrong++ if $to < $from || $count->($to) >= $limit
                        || $members{$name}{$to}++;
            push @$times, $to;
            shift @$times while $times->[0] <= $to - 1_000_000;
            $counted{$name}++;

        } elsif ($count->($from) < $limit) {
            $wrong++;

        } elsif ($count->($to) < $limit) {
            # one left between two looks at the clock: either is right
            $open++;
        }
    }

    is $wrong, 0, 'the model agrees on every decision';
    cmp_ok $open, '<', @judgments / 100, 'which it knows, but for few';
    is_deeply $passed, \%counted, 'clients were told what Redis counted';

    my ($refused) = scalar grep { !$_->[3] } @judgments;
    cmp_ok $refused, '>', @judgments / 20, "there were refusals: $refused";
    cmp_ok $refused, '<', @judgments * 0.95, 'and others';
};


# Twelve requests at a time as often as they are answered, for some windows:
# only what passes is charged, so it gets its limit's worth of each window.

subtest 'a client that hammers' => sub {
    for my $algorithm (qw(log counter)) {
        my $swarm = Admission::Swarm->new(connections => 12);
        my $until = time + 3.5;
        my ($asked, $ok) = (0, 0);

        # and until it has been so, where the machine stood still meanwhile

        my $next;
        $next = sub {
            return if time > $until && $ok >= 2 * $limit && $asked > 5 * $ok
                      || time > $until + 40;
            $asked++;
            $swarm->request($ports[rand 2], 'GET', "/$algorithm?k=hammer", {},
                sub ($r) { $ok++ if $r->status == 200;
                           $swarm->timer(0.02, $next) });
        };
        for (1 .. 12) { $next->() }
        $swarm->run(timeout => 60);

        # 3.5 s, or more if the last ones took their time

        my $windows = time - $until + 3.5;

        cmp_ok $ok, '>=', 2 * $limit, "$algorithm: $ok of $asked";
        cmp_ok $ok, '<=', (1 + $windows) * $limit * 1.1, 'and no more';
        cmp_ok $asked, '>', 5 * $ok, 'it hammered';
    }
};


# How far the counter is off: what it let pass, and how many of those were in
# the window before at the most.  By the model of a log, of the same requests.

subtest 'counter' => sub {
    my $monitor = monitor();
    my @names = map { "c$_" } 1 .. $clients;
    my $passed = crowd('/counter', int($requests / $clients / 4), 0.06,
                       @names);
    my @judgments = judgments($monitor);

    my (%window, %exact, $most);
    my ($ok, $exact) = (0, 0);

    for my $judgment (@judgments) {
        my ($name, undef, undef, $allowed, $at) = @$judgment;

        for my $times ($window{$name} //= [], $exact{$name} //= []) {
            shift @$times while @$times && $times->[0] <= $at - 1_000_000;
        }

        if ($exact{$name}->@* < $limit) {
            push $exact{$name}->@*, $at;
            $exact++;
        }

        if ($allowed) {
            push $window{$name}->@*, $at;
            $ok++;
        }

        my $n = $window{$name}->@*;
        $most = $n if $n > ($most // 0);
    }

    my %all;
    $all{ $_->[0] }++ for grep { $_->[3] } @judgments;
    is_deeply $passed, \%all, 'clients were told what Redis counted';

    note "a log lets $exact pass, the counter $ok; "
         . "at most $most in a window of $limit";

    cmp_ok $ok, '>', $exact * 0.7, 'about as many as a log lets pass';
    cmp_ok $ok, '<', $exact * 1.3, 'and not more';
    cmp_ok $most, '<', 2 * $limit, 'never twice the limit in a window';
};

done_testing;
