# Rate limits of a request that is redirected internally: each place that it
# comes to judges it, it is charged once, and not at all if one refuses it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Cluster;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;

my $redis = Admission::Redis->start(clock => 1);
my $cluster = Admission::Cluster->start(replicas => 0, timeout => 20_000);

my $server = <<'END';
        access_log   %%DIR%%/verdicts.log verdict;
        root         %%DIR%%;

        # the same category by another rate, one way or another

        location /try/      { admission_rate_limit c rate=5r/m key=$arg_k;
                              try_files /none @strict; }
        location /page/     { admission_rate_limit c rate=5r/m key=$arg_k;
                              error_page 404 = @strict; }
        location /rewrite/  { admission_rate_limit c rate=5r/m key=$arg_k;
                              try_files /none /moved/?$args; }
        location /moved/    { rewrite ^ /last/ last; }
        location /last/     { empty_gif;
                              admission_rate_limit c rate=3r/m key=$arg_k; }
        location @strict    { rewrite ^ /ok/ break;
                              proxy_pass http://127.0.0.1:%%PORT%%;
                              admission_rate_limit c rate=3r/m key=$arg_k; }
        location /ok/       { empty_gif; }

        location /wider/    { admission_rate_limit c rate=3r/m key=$arg_k;
                              try_files /none /wide/?$args; }
        location /wide/     { empty_gif;
                              admission_rate_limit c rate=5r/m key=$arg_k; }

        location /n/        { admission_rate_limit n rate=5r/m key=$arg_k
                                  algorithm=counter;
                              try_files /none /fewer/?$args; }
        location /fewer/    { empty_gif;
                              admission_rate_limit n rate=3r/m key=$arg_k
                                  algorithm=counter; }

        location /triple/   { admission_rate_limit c rate=9r/m key=$arg_k;
                              try_files /none /triple2/?$args; }
        location /triple2/  { admission_rate_limit c rate=5r/m key=$arg_k;
                              try_files /none /last/?$args; }

        # trials on either side

        location /trial/    { admission_rate_limit c rate=2r/m key=$arg_k
                                  dry_run=on;
                              try_files /none /last/?$args; }
        location /totrial/  { admission_rate_limit c rate=5r/m key=$arg_k;
                              try_files /none /tried/?$args; }
        location /tried/    { empty_gif;
                              admission_rate_limit c rate=2r/m key=$arg_k
                                  dry_run=on; }

        # another window, or another algorithm

        location /window/   { admission_rate_limit w rate=5r/m key=$arg_k;
                              try_files /none /hour/?$args; }
        location /hour/     { empty_gif;
                              admission_rate_limit w rate=3r/h key=$arg_k; }
        location /kind/     { admission_rate_limit kind rate=5r/m key=$arg_k;
                              try_files /none /kind2/?$args; }
        location /kind2/    { empty_gif;
                              admission_rate_limit kind rate=3r/m key=$arg_k
                                  algorithm=counter; }

        # another category, and a tier, that refuse at the second place

        location /two/      { admission_rate_limit x rate=9r/m key=$arg_k;
                              admission_rate_limit xc rate=9r/m key=$arg_k
                                  algorithm=counter;
                              try_files /none /y/?$args; }
        location /y/        { empty_gif;
                              admission_rate_limit y rate=2r/m key=$arg_l;
                              admission_rate_limit z rate=9r/m key=$arg_k; }
        location /dry/      { admission_rate_limit x rate=9r/m key=$arg_k;
                              try_files /none /dryy/?$args; }
        location /dryy/     { empty_gif; admission_dry_run on;
                              admission_rate_limit y rate=2r/m key=$arg_l; }
        location /mute/     { admission_rate_limit hour rate=1r/h key=$arg_k;
                              admission_dry_run on;
                              try_files /none /last/?$args; }
        location /gate/     { admission_rate_limit x rate=9r/m key=$arg_k;
                              try_files /none /tier/?$args; }
        location /tier/     { empty_gif; admission_event e1; admission_user jwt;
                              admission_tier2 on; }

        # what the error page of a denial goes on to

        location /told/     { admission_rate_limit x rate=9r/m key=$arg_k;
                              try_files /none /told2/?$args; }
        location /told2/    { admission_event e1; admission_user jwt;
                              admission_tier2 on; admission_deny status;
                              error_page 401 = /told3/?$args; empty_gif; }
        location /told3/    { try_files /none /told4/?$args; }
        location /told4/    { admission_rate_limit x rate=9r/m key=$arg_k;
                              admission_rate_limit t rate=2r/m key=$arg_k;
                              empty_gif; }

        # two of one place that meet

        location /meet/     { empty_gif;
                              admission_rate_limit m rate=5r/m key=$arg_k;
                              admission_rate_limit m rate=2r/m key=$arg_l; }
END

my $http = <<"END";
    admission_secret user ${\ ('u' x 40)};
    admission_secret tier2 ${\ ('t' x 40)};
    log_format verdict "\$request_uri \$status \$admission_verdict \$admission_reason";
END

sub start ($conf, %vars) {
    return Admission::Nginx->start(
        workers => 1, vars => \%vars, http => "$conf\n$http",
        server => $server);
}

my %nginx = (
    redis => start('admission_redis %%REDIS%% timeout=30s;',
                   REDIS => $redis->url),
    cluster => start('admission_redis %%REDIS%% cluster=on timeout=30s;',
                     REDIS => $cluster->url),
    alone => start(''),
);

my $at;

sub ask ($path) { return get($nginx{$at}->port, $path) }

sub statuses ($n, $path) {
    return join ' ', map { ask($path)->status } 1 .. $n;
}

sub node ($key) {
    return $at eq 'redis' ? $redis : $cluster->master_of($key);
}

# how many are in a window; undef where that is not seen
sub counted ($name) {
    my $key = "rate:$name";
    my $node = node($key);

    return 0 if !$node->cmd('EXISTS', $key);
    return $node->cmd('ZCARD', $key) if $node->cmd('TYPE', $key) eq 'zset';
    return $node->cmd('HGET', $key, 'c') // 0;
}

# Nobody waits for what is taken back.

sub is_counted ($name, $n, $what) {
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    return if $at eq 'alone';
    wait_until { counted($name) == $n };
    is counted($name), $n, $what;
}


for my $where (qw(redis cluster alone)) {
    $at = $where;

    subtest $at => sub {

        for my $how (qw(try page rewrite)) {
            is statuses(5, "/$how/?k=$how"), '200 200 200 429 429',
                "$how: the stricter rate counts";
            is_counted("c:$how", 3, 'each is charged once, the refused not');

            my $no = ask("/$how/?k=$how");
            is $no->header('RateLimit-Policy'), '"c";q=3;w=60', 'it is told';
            is $no->header('RateLimit'),
                '"c";r=0;t=' . $no->header('Retry-After'), 'with Retry-After';
            cmp_ok $no->header('Retry-After'), '>', 30, 'of the oldest';
            is ask("/page/?k=$how")->status, 429, 'by another way';
        }

        is ask('/try/?k=told')->header('RateLimit'), '"c";r=2;t=60',
            'what is left by the stricter one';
        is ask('/try/?k=told')->header('RateLimit-Policy'), '"c";q=3;w=60',
            'and its policy';

        is statuses(4, '/wider/?k=wider'), '200 200 200 429',
            'a wider rate lifts nothing';
        is statuses(4, '/n/?k=a'), '200 200 200 429', 'the counter';
        is_counted('n:a', 3, 'too');
        is statuses(4, '/triple/?k=t'), '200 200 200 429', 'three places';
        is_counted('c:t', 3, 'charge once');

        is statuses(4, '/trial/?k=trial'), '200 200 200 429',
            'a trial before it';
        is_counted('c:trial', 3, 'is charged once');
        is statuses(6, '/totrial/?k=tot'), '200 200 200 200 200 429',
            'a stricter trial refuses nothing';
        is_counted('c:tot', 5, 'and takes nothing back');

        is statuses(4, '/window/?k=w'), '200 200 200 429',
            'another window';
        is_counted('w:w', $at eq 'alone' ? 0 : 3, 'is charged once');
        is ask('/kind/?k=k')->status, 200, 'another algorithm';
        is_counted('kind:k', 1, 'is charged once');

        my $start = time;
        is statuses(4, '/two/?k=k&l=l'), '200 200 429 429',
            'another category refuses';
        is_counted($_, 2, "$_: refused ones are not charged")
            for qw(x:k xc:k y:l z:k);
        is ask('/two/?k=k&l=other')->header('RateLimit'), '"y";r=1;t=60',
            'others pass';
        my ($left, $t) = ask('/y/?k=k&l=')->header('RateLimit')
                         =~ /^(.*);t=(\d+)$/;
        is $left, '"z";r=5', 'what is left says the same';
        cmp_ok $t, '>=', 60 - (time - $start), 'until the oldest leaves';
        cmp_ok $t, '<=', 60, 'and no more';
        is ask('/two/?k=k&l=')->status, 200, 'and for the first place';

        is statuses(3, '/dry/?k=dry&l=dry'), '200 200 200', 'a dry run passes';
        is_counted('x:dry', 3, 'so it is charged at the first place');

        ask('/last/?k=mute');
        is ask('/mute/?k=mute')->header('RateLimit-Policy'), '"c";q=3;w=60',
            'a dry run at the first place: only the second is told';
        like ask('/mute/?k=mute')->header('RateLimit'), qr/^"c";r=0;t=\d\d$/,
            'also when the first is full';
        my $mute = ask('/mute/?k=mute');
        is $mute->status, 429, 'and when the second refuses';
        cmp_ok $mute->header('Retry-After'), '<=', 60, 'it says for how long';
        is ask('/dry/?k=real&l=real')->header('RateLimit-Policy'),
            '"x";q=9;w=60', 'a dry run at the second: the first is told';

        is statuses(3, '/gate/?k=gate'), '401 401 401', 'a tier refuses';
        is_counted('x:gate', 0, 'so it is not charged');

        is statuses(4, '/told/?k=told'), '200 200 429 429',
            'where the error page of a denial goes on to';
        is_counted("$_:told", 2, "$_: each is charged there, the refused not")
            for qw(x t);

        is statuses(3, '/meet/?k=same&l=same'), '200 200 429',
            'two that meet: the stricter one';
        is_counted('m:same', 2, 'charged once');
    };
}


# What a redirected request costs, and a refused one.

$at = 'redis';

# The client's answer may be there before the one that takes back has been run:
# nothing waits for that.

sub costs ($path, $n, $name) {
    my $run = sub { $redis->stats->{evalsha} // 0 };

    my $before = $run->();
    ask($path);
    wait_until { $run->() - $before >= $n };
    is $run->() - $before, $n, $name;
}

costs('/try/?k=cost', 1, 'one command: the rest follows');
ask('/try/?k=cost') for 1 .. 2;
costs('/try/?k=cost', 2, 'one more where the stricter rate refuses');
ask('/two/?k=cost&l=cost') for 1 .. 2;
costs('/two/?k=cost&l=cost', 3, 'one more where another category does');


# It waits for as many as there are too many.

{
    $redis->flushall;
    my ($now) = $redis->cmd('TIME')->@*;

    $redis->cmd('ZADD', 'rate:c:wait',
                map { ("${_}000000") x 2 } map { $now - 10 * $_ } 1 .. 4);

    my $wait = ask('/try/?k=wait')->header('Retry-After');
    my ($then) = $redis->cmd('TIME')->@*;

    # of those 40, 30, 20 and 10 s ago two have to go

    cmp_ok $wait, '>=', 30 - ($then + 1 - $now),
        'Retry-After: until there is room';
    cmp_ok $wait, '<=', 30, 'by the stricter rate';
    is $redis->cmd('ZCARD', 'rate:c:wait'), 4, 'and is not charged';
}


# A bucket that ended meanwhile has it among those before.

{
    my ($sha) = $redis->cmd('SCRIPT', 'LOAD', do {
        my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                                root . '/lua/limit_back.lua');
        $text });
    my $back = sub ($at) {
        $redis->cmd('EVALSHA', $sha, 1, 'rate:b', 'c', 1000, $at * 1000);
        return join ' ', $redis->cmd('HMGET', 'rate:b', qw(s c p))->@*;
    };

    $redis->cmd('HSET', 'rate:b', 's', 5000, 'c', 3, 'p', 2);
    is $back->(5000), '5000 2 2', 'of the bucket';
    is $back->(4999), '5000 2 1', 'of the one before';
    is $back->(3999), '5000 2 1', 'of none any more';
    is $back->(4000), '5000 2 0', 'the first of it';
    is $back->(4000), '5000 2 0', 'never below 0';
    $redis->cmd('DEL', 'rate:b');
    $redis->cmd('ZADD', 'rate:b', 1, 1);
    $redis->cmd('EVALSHA', $sha, 1, 'rate:b', 'c', 1000, 1);
    is $redis->cmd('TYPE', 'rate:b'), 'zset', 'another type is left alone';
}

done_testing;
