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
watched;


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

# when a PING came, before it is answered: what NGINX does next is later

sub note_ping ($number) {
    open my $file, '>>', test_dir . '/pings' or die;
    syswrite $file, "$number " . time . "\n";
}

sub pinged () {
    my $file = test_dir . '/pings';
    return -e $file ? map { split } read_lines($file) : ();
}

mode('all');

my $fake = Admission::FakeRedis->start(sub ($c) {
    while (my @argv = $c->command) {
        my $mode = read_file(test_dir . '/mode');
        my $ping = uc $argv[0] eq 'PING';

        next if $mode eq 'nothing' || ($mode eq 'pings' && !$ping);

        note_ping($c->number) if $mode eq 'pings';

        # an odd connection hangs from its fourth command on
        next if $mode eq 'some' && !$ping && ++$c->{count} > 3;

        if ($mode eq 'loading') {
            $c->write("-LOADING Redis is loading the dataset in memory\r\n");
            next;
        }

        pass_on($c, @argv);
    }
});

# What came since the last look, by connection: on those after the one of this
# number, since what was sent before the look may be read after it.

my $looked = 0;

sub came ($after = 0) {
    my @log = $fake->log;
    my %by;

    push $by{ $_->[0] }->@*, uc $_->[1]
        for grep { @$_ > 1 && $_->[0] > $after } @log[$looked .. $#log];
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

# How often it has opened, and closed: where the machine is busy more calls than
# are meant to may come too late, so that each is awaited anew.

sub opened () { return lines(qr/breaker open, 50% of the last 10 calls failed/) }
sub closed () { return lines(qr/breaker closed/) }

# Closed, and not opened for so long that the log says so when it does: it has a
# line a second.  Of as many calls at once some are more than a trial takes.
sub well () {
    wait_until {
        my $before = opened();
        sleep 1.1;
        opened() == $before && !grep { $_->status != 200 } storm(8);
    };
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


my $works = wait_until { check()->status == 200 } 40;
ok $works, 'works';


# ---- nothing is answered

# together, so that each of them goes out: if some come too late for that it is
# done again, since with the first that fails the connection has ended

my @answers;

my $open = wait_until {
    mode('all');
    well();
    my $before = opened();
    mode('nothing');
    push @answers, storm(12);
    opened() > $before;
} 20;

is scalar(grep { $_->status != 503 } @answers), 0, 'no answers: 503';
ok $open, 'it opens';

# the connections of before have ended with it
my $last = $fake->connections;

sleep $timeout;
came();
my $start = time;
my $seen = 0;
my (@by, @checks);

while (time < $start + 2.5 || (!$seen && time < $start + 20)) {
    push @checks, map { check() } 1 .. 5;
    push @by, came($last);
    $seen = pings(@by);
    sleep 0.1;
}

my $passed = time - $start;
my @times = sort { $a <=> $b } map { $_->net } @checks;

is scalar(grep { $_->status != 503 } @checks), 0, '503 all the time';
cmp_ok $times[$#times / 2], '<', $timeout / 2, 'that waits for nothing';
cmp_ok $times[-1], '<', $timeout + 1 * slow, 'within the deadline';
is_deeply [ calls(@by) ], [], 'not one call went to it';
cmp_ok pings(@by), '>=', 1, 'but PINGs did';
cmp_ok pings(@by), '<=', $passed / 0.375 + 1, 'now and then';


# ---- PINGs are, calls are not: trials, less and less often

mode('pings');

# the PINGs that a trial followed: when each came

my @rounds;
$looked = $fake->log;

wait_until {
    storm(8);

    my @log = $fake->log;
    my %tried = map { $_->[0] => 1 } grep { @$_ > 1 && calls([ uc $_->[1] ]) }
                @log[$looked .. $#log];
    my %at = pinged();

    @rounds = sort { $a <=> $b } map { $tried{$_} ? $at{$_} : () } keys %at;
    @rounds >= 3;
} 40;

cmp_ok scalar @rounds, '>=', 3, 'trials come again and again';

# a trial fails after the deadline; then comes a pause of a second, of which
# chance takes a quarter at most, then of two

my @gaps = map { $rounds[$_] - $rounds[$_ - 1] } 1 .. 2;
note "pauses: @gaps";
cmp_ok $gaps[$_], '>', $timeout + 0.75 * ($_ + 1) - 0.01,
    'after growing pauses' for 0, 1;

@by = came($last);
cmp_ok max(map { scalar calls($_) } @by), '<=', $trials,
       "never more than $trials calls in a trial";
ok scalar(calls(@by)), 'calls are tried';


# ---- all is well again

my $before = closed();
mode('all');

my $back = wait_until { check()->status == 200 } 40;
ok $back, 'works again';
my $closed = wait_until { check() && closed() > $before };
ok $closed, 'the breaker closes';

# more at once than a trial takes; each has the deadline, which may be too short
# where the machine is busy

ok wait_until(sub { !grep { $_->status != 200 } storm(30) }), 'all calls go';


# ---- some calls fail, on connections that work

well();
$before = opened();
mode('some');

$open = wait_until {
    storm(8);
    opened() > $before
} 20;
ok $open, 'half of the calls fail: it opens';

mode('all');
$back = wait_until { check()->status == 200 } 40;
ok $back, 'works again';


# ---- answers that say that it does not work

# the least of some times: a busy machine is not so each time

my $least;

for my $round (1 .. 5) {
    well();
    $before = opened();
    mode('loading');
    $open = wait_until {
        check();
        opened() > $before
    };
    ok $open, 'LOADING: it opens';

    $last = $fake->connections;
    came();
    check() for 1 .. 30;
    is_deeply [ calls(came($last)) ], [], 'LOADING: no calls but PINGs';

    mode('all');
    $start = time;
    $back = wait_until { check()->status == 200 };
    ok $back, 'loaded';

    my $took = time - $start;
    $least = $took if !defined $least || $took < $least;
    last if $least < 1;
}

cmp_ok $least, '<', 1.5 * slow, 'which is noticed at once';

$nginx->quit;
$fake->stop;
done_testing;
