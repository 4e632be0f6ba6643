# Rate limits while all sorts of things happen: a crowd through two instances,
# internal redirects, refusals that take back what was charged, a reload,
# SCRIPT FLUSH, keys that somebody changes by hand; and in a cluster a node that
# hangs when it is to take something back.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Backend;
use Admission::Cluster;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Swarm;

my $clients = 24;
my $seconds = 4;
my ($limit, $strict, $shared) = (12, 8, 20);     # a second

my $redis = Admission::Redis->start;

my @nginx = map {
    Admission::Nginx->start(
        workers => 2,
        vars => { REDIS => $redis->url },
        http => "access_log off;\n"
                . 'admission_redis %%REDIS%% timeout=10s;',
        server => <<"END")
        location /log/      { empty_gif;
                              admission_rate_limit log rate=${limit}r/s
                                  key=\$arg_k fail=closed; }
        location /counter/  { empty_gif;
                              admission_rate_limit counter rate=${limit}r/s
                                  key=\$arg_k algorithm=counter fail=closed; }
        location /moved/    { admission_rate_limit moved rate=${limit}r/s
                                  key=\$arg_k fail=closed;
                              try_files /none /strict/?\$args; }
        location /strict/   { empty_gif;
                              admission_rate_limit moved rate=${strict}r/s
                                  key=\$arg_k fail=closed;
                              admission_rate_limit shared rate=${shared}r/s
                                  key=\$arg_s fail=closed; }
END
} 1 .. 2;

my @ports = map { $_->port } @nginx;


# what somebody does to the key of a log, or of a counter, at one go: requests
# come all the time

sub instead ($key, @command) {
    my @replies = $redis->pipeline([ 'MULTI' ], [ 'DEL', $key ],
                                   [ shift @command, $key, @command ],
                                   [ 'EXEC' ]);
    my ($error) = map { $$_ } grep { ref eq 'SCALAR' } @replies;

    die "$key: $error" if $error;
}

my @by_hand = (
    sub ($key) { $redis->cmd('SET', $key, 'text') },
    sub ($key) { instead($key, 'LPUSH', 1) },
    sub ($key) { instead($key, 'HSET', 's', 1, 'c', 'x', 'p', '1.5') },
    sub ($key) { instead($key, 'HSET', 's', time * 1000, 'c', 'inf',
                         'p', 'nan') },
    sub ($key) { instead($key, 'ZADD', time * 1e6, 'a',
                         time * 1e6 + 1, 'inf') },
    sub ($key) { instead($key, 'ZADD', time * 1e6, 'nan', 9e17, 5) },
    sub ($key) { instead($key, 'ZADD', 9e17, 5) },
    sub ($key) { $redis->cmd('PERSIST', $key) },
    sub ($key) { $redis->cmd('DEL', $key) },
);


subtest 'a crowd' => sub {
    my $swarm = Admission::Swarm->new(connections => 60, keepalive => 0,
                                      timeout => 30);
    my $monitor = $redis->monitor;
    my $start = time;
    my $until = $start + $seconds * slow();
    my ($flushed, $changed) = (0, 0);
    my (%status, %passed, %asked, %refused);

    # and until all of it has happened

    my $over = sub () {
        return time > $until && $flushed > 5 && $changed >= @by_hand
               && $refused{moved} && $refused{log};
    };

    my $next;
    $next = sub ($path, $name) {
        return if $over->();

        my $query = "k=$name" . ($path eq 'moved'
                                 ? '&s=s' . ($name =~ s/\D//gr % 3) : '');
        $asked{"$path:$name"}++;

        $swarm->request($ports[rand 2], 'GET', "/$path/?$query", {}, sub ($r) {
            $status{ $r->status // 'none' }++;
            $refused{$path}++ if ($r->status // 0) == 429;

            if (($r->status // 0) == 200) {
                $passed{"$path:$name"}++;
                $passed{"shared:$1"}++ if $query =~ /s=(.*)/;
            }

            $swarm->timer(rand 0.08, sub { $next->($path, $name) });
        });
    };

    for my $name (map { "c$_" } 1 .. $clients / 3) {
        for my $path (qw(log counter moved)) { $next->($path, $name) }
    }

    for my $path (qw(log counter)) { $next->($path, 'hand') }

    # what happens meanwhile

    my $every;
    $every = sub ($pause, $code) {
        return if $over->();
        $code->();
        $swarm->timer($pause, sub { $every->($pause, $code) });
    };

    $every->(0.3, sub { $redis->cmd('SCRIPT', 'FLUSH'); $flushed++ });
    $every->(0.2 * slow(), sub {
        for my $path (qw(log counter)) {
            $by_hand[$changed % @by_hand]->("rate:$path:hand");
        }
        $changed++;
    });
    $swarm->timer($seconds * slow() / 3, sub { $nginx[0]->reload(wait => 0) });

    $swarm->run(timeout => 120) or die 'the crowd does not end';
    my $windows = time - $start + 1;

    note join ', ', map { "$_: $status{$_}" } sort keys %status;

    is_deeply [ sort keys %status ], [ 200, 429 ],
        'each is allowed or refused';
    cmp_ok $flushed, '>', 5, 'scripts were flushed';
    cmp_ok $changed, '>=', @by_hand, 'and keys changed by hand';


    # what Redis counted: {key => {time => 1}}, less what was taken back

    my (%kept, %back, $wrong);

    my $look = sub () {
        for my $command ($monitor->commands(scripts => 1)) {
            my ($name, $key, @rest) = @$command;
            ($key) = ($key // '') =~ /^rate:((?:log|moved|shared):[cs]\d+)$/
                or next;

            if ($name eq 'ZADD') {
                my $at = $rest[-1];
                my $max = $key =~ /^shared/ ? $shared : $limit;
                my $in = grep { $_ > $at - 1_000_000 } keys $kept{$key}->%*;
                $wrong++ if $in >= $max || $kept{$key}{$at}++;

            } elsif ($name eq 'ZREM') {
                $back{$key}++;
                delete $kept{$key}{ $rest[0] };
            }
        }

        my %counted = map { $_ => scalar keys $kept{$_}->%* } keys %kept;
        return \%counted;
    };

    my %told = map { ($_ => $passed{$_}) } grep { !/counter|hand/ }
               keys %passed;

    # nobody waits for what is taken back

    my $same = sub () {
        my $counted = $look->();
        return !grep { ($counted->{$_} // 0) != ($told{$_} // 0) }
                keys %told, keys %$counted;
    };

    wait_until { $same->() } 10;
    is_deeply $look->(), \%told, 'clients were told what Redis counted';
    is $wrong, undef, 'never more than there is room for';

    my $above = 0;

    for my $key (grep { /^moved/ } keys %kept) {
        my @times = sort { $a <=> $b } keys $kept{$key}->%*;

        for my $i ($strict .. $#times) {
            $above++ if $times[$i] - $times[$i - $strict] < 1_000_000;
        }
    }

    is $above, 0, 'of those redirected no more than the stricter rate';

    ok scalar(grep { /^moved/ } keys %back), 'some were taken back';
    is scalar(grep { !/^moved/ } keys %back), 0, 'of those that were redirected';

    # the others, whose windows are not looked into

    my ($most) = sort { $b <=> $a } map { $passed{$_} // 0 }
                 grep { /^counter:c/ } keys %asked;

    cmp_ok $most, '<=', 1.75 * $limit * $windows, 'the counter holds';
    cmp_ok $passed{"$_:hand"}, '<=', $limit * ($windows + $changed),
        "$_, changed by hand: what it was changed for at most"
        for qw(log counter);


    # nothing stays

    for my $path (qw(log counter)) {
        $redis->cmd('SET', "rate:$path:hand", 'text');
        is get($ports[0], "/$path/?k=hand")->status, 200,
            "$path: after all that it counts";
    }

    ok +(wait_until { !$redis->cmd('KEYS', 'rate:*')->@* } 10),
        'no key stays'
        or diag join ' ', $redis->cmd('KEYS', 'rate:*')->@*;

    for my $nginx (@nginx) {
        unlike $nginx->error_log, qr/answered a rate limit|does not answer/,
            'Redis answered all of them';
    }
};


# ---- a node that is to take something back hangs

subtest 'a cluster' => sub {
    my $cluster = Admission::Cluster->start(replicas => 0, timeout => 30_000);
    my ($first, $second) = $cluster->masters;

    # it thinks until it is told to go on

    my $go = test_dir . '/go';
    my $backend = Admission::Backend->start(handler => sub ($request) {
        return [ 200, [ 'X-A' => 1 ], '' ] if $request->{uri} !~ /think/;
        wait_until { -e $go } 60;
        return [ 404, [ 'X-A' => 1 ], '' ];
    });

    my $start = sub ($timeout) {
        return Admission::Nginx->start(
            vars => { REDIS => $cluster->url, BACKEND => $backend->port },
            http => "admission_redis %%REDIS%% cluster=on timeout=$timeout;",
            server => <<'END');
        location /a/ { admission_rate_limit a rate=9r/h key=$arg_a;
                       proxy_pass http://127.0.0.1:%%BACKEND%%;
                       proxy_intercept_errors on;
                       error_page 404 = /y/?y=$arg_y; }
        location /y/ { empty_gif;
                       admission_rate_limit y rate=1r/h key=$arg_y; }
END
    };

    # it waits for longer than any request may take here, and windows are longer
    # than all of this

    my $nginx = $start->('60s');

    my $client_on = sub ($category, $node) {
        state $n = 0;
        $n++;
        $n++ while $cluster->master_of("rate:$category:c$n") != $node;
        return "c$n";
    };

    my $y = $client_on->('y', $second);
    my $a = $client_on->('a', $first);
    my $path = "/a/?a=$a&y=$y&think";
    my $charged = sub () { $first->cmd('ZCARD', "rate:a:$a") };

    write_file($go, 'go');
    is get($nginx->port, $path)->status, 200, 'one passes';
    is get($nginx->port, $path)->status, 429, 'and one is refused';
    ok +(wait_until { $charged->() == 1 }), 'which is not charged';

    # it hangs while the backend thinks

    my $refused = sub () {
        my $client = Admission::HTTP->connect($nginx->port, timeout => 60);
        my $hits = $backend->hits;

        unlink $go;
        $client->send(Admission::HTTP::compose('GET', $path));

        # NGINX has been told, too: then it asks the backend
        ok +(wait_until { $backend->hits > $hits }), 'the backend is asked';
        is $charged->(), 2, 'charged at the first place';
        $first->sigstop;
        write_file($go, 'go');

        is $client->response->status, 429,
            'refused at the second one, while the first hangs';
    };

    $refused->();
    $first->sigcont;
    ok +(wait_until { $charged->() == 1 }), 'it takes it back then';

    # and by a host that does not wait so long, but for as long as the others may
    # be late on a busy machine

    $nginx = $start->(5 * slow() . 's');

    my $back = sub () {
        my $client = $client_on->('a', $first);

        return wait_until {
            get($nginx->port, "/a/?y=&a=$client")->status == 200
                && $first->cmd('ZCARD', "rate:a:$client")
        } 30;
    };

    ok $back->(), 'the other one asks there, too';

    my $mark = $nginx->log_mark;
    $refused->();
    ok +(wait_until { $nginx->error_log($mark) =~ /no reply within/ } 20),
        'longer than it may';
    is get($nginx->port, "/y/?y=other")->status, 200, 'others are served';
    $first->sigcont;

    ok $back->(), 'it is back';
    cmp_ok $charged->(), '<=', 2, 'one request less at most';
};

done_testing;
