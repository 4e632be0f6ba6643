# A step whose answer has more points of the line than it may have is no answer
# of ours, however they are spread: it changes nothing, and the next one counts.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Redis;
use Admission::Site;

my $redis = Admission::Redis->start;
my $wrong = test_dir() . '/wrong';
my $told = write_file(test_dir() . '/told', '');

# How many points a step tells instead of its own, one by one and behind these;
# ranks may be equal, so that a short line will do.

sub tells ($text) {
    my ($exact, $behind) = split ' ', read_file($wrong);

    return $text =~ s/^(points, ranks, exact = q\.points\(.*\))$/$1
if #points > 0 then
  points, ranks, exact = {}, {}, $exact
  for i = 1, exact + $behind do points[i] = i end
  for i = 1, $behind do ranks[i] = q.size - 1 end
end/mr;
}

# In front of Redis: each script is sent as a text, that of a step as above.

my $fake = Admission::FakeRedis->start(sub ($c) {
    my $real = $redis->client;
    $real->connect;

    my $pass;
    $pass = sub {
        my $line = $real->line;
        my ($type, $n) = $line =~ /^(.)(-?\d*)/;
        if ($type eq '$' && $n >= 0) {
            $real->fill while length $real->{buffer} < $n + 2;
            return "$line\r\n" . substr $real->{buffer}, 0, $n + 2, '';
        }
        return join '', "$line\r\n",
                    $type eq '*' ? map { $pass->() } 1 .. $n : ();
    };

    while (my @argv = $c->command) {
        if ($argv[0] eq 'EVALSHA') {
            $c->write("-NOSCRIPT no script\r\n");
            next;
        }
        my ($view) = ($argv[1] // '') =~ /q\.points\(ARGV\[(\d+)\]/;
        $argv[1] = tells($argv[1]) if $argv[0] eq 'EVAL';
        $real->write(@argv);
        $c->write($pass->());

        if ($view && $argv[2 + $argv[2] + $view] > 0) {
            open my $file, '>>', $told or die "$told: $!";
            print $file '.';
        }
    }
});

sub points ($exact, $behind) {
    rename write_file("$wrong.new", "$exact $behind"), $wrong or die "$wrong: $!";
}

points(1, 1700);

my $site = Admission::Site->start(
    redis => $redis, redis_url => $fake->url, workers => 1,
    timeout => '8s',
    events => 'default threshold=1 admit_interval=100ms;');

my $line = 'what a step did is not what redis answers';

# A poll with a place: the next steps bring a view for it.

my $place;

sub waits ($user) {
    my $answer = $site->call(0, $user, POST => 'check', headers =>
        $place ? [ 'x-queue-place' => $place ] : [])->json;
    $place = $answer->{place} // $place;
    return $answer->{status} eq 'queued';
}

sub refused ($mark) {
    return wait_until {
        waits('bob');
        $site->nginx->error_log($mark) =~ /$line/
    } 20;
}

answered { $site->call(0, 'ann', POST => 'check') };

# a line that is longer than its head, of users of no host

{
    my $now = $redis->cmd('TIME')->[0];
    my @users = map { "user$_" } 1 .. 2000;

    $redis->cmd('ZADD', '{concert}:seen', map { ($now * 1000, $_) } @users);
    $redis->cmd('ZADD', '{concert}:queue', map {
        (2 * (($now - 1) * 1_000_000 + $_) + 1, $users[$_])
    } 0 .. $#users);
}

ok +(wait_until { waits('bob') }), 'bob waits';

ok +(wait_until { waits('bob'); -s $told > 3 } 20), 'steps tell of the line';
unlike $site->nginx->error_log, qr/$line/, '1700 behind the head may be';

for my $behind (1701, 2699) {
    my $mark = $site->nginx->log_mark;
    points(1, $behind);
    ok refused($mark), "$behind may not";
}

ok waits('bob'), 'and nobody notices';

done_testing;
