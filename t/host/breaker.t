# The breaker: a node whose calls fail gets none but a PING now and then; when
# that is answered, a few trial calls; when these fail, it is left alone for
# longer each time; when they succeed, it works as before.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

use List::Util qw(max);
use Time::HiRes qw(sleep time);

my $user = 'user-secret-of-the-test-01234567890';
my $timeout = 0.25 * slow;
my $trials = 3;


# ---- between NGINX and a Redis: passes on what it is told to

my $redis = Admission::Redis->start;
my $real = $redis->port;

sub mode ($mode) {
    write_file(test_dir . '/mode.new', $mode);
    rename test_dir . '/mode.new', test_dir . '/mode';
}

sub pass_on ($c, @argv) {
    state $to = IO::Socket::INET->new("127.0.0.1:$real") or return;

    syswrite $to, join '', '*' . @argv . "\r\n",
                  map { '$' . length($_) . "\r\n$_\r\n" } @argv;
    sysread $to, my $reply, 65536;
    $c->write($reply);
}

mode('all');

my $fake = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {
        my $mode = read_file(test_dir . '/mode');
        my $ping = uc $argv[0] eq 'PING';

        next if $mode eq 'nothing' || ($mode eq 'pings' && !$ping);

        # an odd connection hangs from its fourth command on
        next if $mode eq 'some' && !$ping && ++$c->{count} > 3;

        if ($mode eq 'loading') {
            $c->write("-LOADING Redis is loading the dataset in memory\r\n");
            next;
        }

        pass_on($c, @argv);
    }
});

# what came since the last look, by connection

my $looked = 0;

sub came () {
    my @log = $fake->log;
    my %by;

    push $by{ $_->[0] }->@*, uc $_->[1]
        for grep { @$_ > 1 } @log[$looked .. $#log];
    $looked = @log;
    return values %by;
}

sub pings (@by) { return scalar grep { $_ eq 'PING' } map { @$_ } @by }
sub calls (@by) { return grep { !/^(?:PING|INFO)$/ } map { @$_ } @by }


my $nginx = Admission::Nginx->start(http => <<END, server => <<'END');
    admission_redis   @{[ $fake->url ]} timeout=@{[ $timeout * 1000 ]}ms
                      breaker=10/50%/2s/$trials;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END

sub check ($who = 'alice') {
    return post($nginx->port, '/api/queue/check/concert',
                bearer => user_token($user, userId => $who));
}

sub lines ($pattern) {
    return scalar grep { /$pattern/ } split /\n/, $nginx->error_log;
}

# many at once
sub storm ($n) {
    my @waiting = map {
        my $c = Admission::HTTP->connect($nginx->port);
        $c->send("POST /api/queue/check/concert HTTP/1.0\r\nAuthorization: "
                 . 'Bearer ' . user_token($user, userId => "storm$_")
                 . "\r\n\r\n");
        $c;
    } 1 .. $n;

    return map { $_->response } @waiting;
}


my $works = wait_until { check()->status == 200 } 10;
ok $works, 'works';


# ---- nothing is answered

mode('nothing');

# together, so that each of them goes out

my @answers = storm(12);
is scalar(grep { $_->status != 503 } @answers), 0, 'no answers: 503';
ok lines(qr/breaker open, 50% of the last 10 calls failed/), 'it opens';

sleep $timeout;
came();
my $start = time;

while (time < $start + 2.5) {
    push @answers, map { check() } 1 .. 5;
    sleep 0.1;
}

my $passed = time - $start;
my @by = came();

is scalar(grep { $_->status != 503 } @answers), 0, '503 all the time';
is scalar(grep { ($_->time // 0) > $timeout + 0.2 * slow } @answers), 0,
   'within the deadline';
is_deeply [ calls(@by) ], [], 'not one call went to it';
cmp_ok pings(@by), '>=', 1, 'but PINGs did';
cmp_ok pings(@by), '<=', $passed / 0.375 + 1, 'now and then';


# ---- PINGs are, calls are not: trials, less and less often

mode('pings');

my @rounds;
$looked = $fake->log;
my $seen = 0;

while (@rounds < 3 && time < $start + 40 * slow) {
    storm(8);
    my @log = $fake->log;
    my $pings = grep { @$_ > 1 && $_->[1] eq 'PING' } @log[$looked .. $#log];

    if ($pings > $seen) {
        push @rounds, time;
        $seen = $pings;
    }

    sleep 0.05;
}

is scalar @rounds, 3, 'trials come again and again';

my @gaps = map { $rounds[$_] - $rounds[$_ - 1] } 1 .. 2;
note "pauses: @gaps";
cmp_ok $gaps[1], '>', $gaps[0], 'after growing pauses';

@by = came();
cmp_ok max(map { scalar calls($_) } @by), '<=', $trials,
       "never more than $trials calls in a trial";
ok scalar(calls(@by)), 'calls are tried';


# ---- all is well again

mode('all');

my $back = wait_until { check()->status == 200 } 10;
ok $back, 'works again';
my $closed = wait_until { check() && lines(qr/breaker closed/) } 5;
ok $closed, 'the breaker closes';

@answers = storm(30);
is scalar(grep { $_->status != 200 } @answers), 0, 'all calls go';


# ---- some calls fail, on connections that work

mode('some');

my $open = wait_until {
    check();
    lines(qr/breaker open, 50%/) >= 2
} 20;
ok $open, 'half of the calls fail: it opens';

mode('all');
$back = wait_until { check()->status == 200 } 10;
ok $back, 'works again';
wait_until { check() && lines(qr/breaker closed/) >= 2 } 5;


# ---- answers that say that it does not work

mode('loading');
wait_until { check() && lines(qr/breaker open, 50%/) >= 3 } 10;
sleep 0.2;
came();
check() for 1 .. 30;
is_deeply [ calls(came()) ], [], 'LOADING: no calls but PINGs';

mode('all');
$start = time;
$back = wait_until { check()->status == 200 } 10;
ok $back, 'loaded';
cmp_ok time - $start, '<', 1.5 * slow, 'which is noticed at once';

$nginx->quit;
$fake->stop;
done_testing;
