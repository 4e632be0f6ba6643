# A Redis that takes most of `timeout` for each call of assign: who waits for
# the call before is answered within `timeout` as well, and nobody overtakes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::Redis;
use Admission::Rooms;
use Admission::Swarm;
use Admission::Waiting;
use List::Util qw(max);
use Time::HiRes qw(sleep time);

my $timeout = 3 * slow;
my $takes = 0.7 * $timeout;

my $redis = Admission::Redis->start;
my $assign = Admission::Rooms->new($redis)->{sha}{assign};

# when it answered slowly

my $told = test_dir . '/told';

sub note_down ($time) {
    open my $file, '>>', $told or die "$told: $!";
    syswrite $file, "$time\n";
}

my $slow = Admission::FakeRedis->start(sub ($c) {
    my $real = $redis->client;

    while (my @argv = $c->command) {
        my @answer = $real->try(@argv);
        my $slowly = $argv[1] eq $assign && -e test_dir . '/slow';
        sleep $takes if $slowly;
        $c->write(reply(@answer));
        note_down(time) if $slowly;
    }
});

sub reply ($value, $error = '') {
    return "-$error\r\n" if length $error;
    return "*" . @$value . "\r\n" . join '', map { reply($_) } @$value
        if ref $value;
    return "\$-1\r\n" if !defined $value;
    return ":$value\r\n" if $value =~ /^-?\d+$/;
    return "+$value\r\n" if $value !~ /\n/;
    return '$' . length($value) . "\r\n$value\r\n";
}

my $site = waiting_site(workers => 1, redis => $slow,
                        timeout => 1000 * $timeout . 'ms');

answered { operator($site, POST => 'activate/concert') };
is answered { assign($site, 0, {}) }->status, 200, 'a ticket';

my $swarm = Admission::Swarm->new(timeout => 5 * $timeout);
my (%answer, %took);

sub begin ($who, @headers) {
    my $watch = stopwatch;

    $swarm->request($site->port, 'POST', '/vwr-api/assign/concert', [ @headers ],
                    sub ($r) { $took{$who} = $watch->();
                               $answer{$who} = $r; });
}

sub asked () {
    return scalar grep { $_->[2] eq $assign } grep { @$_ > 2 } $slow->commands;
}

# With a Redis that is slow, up to when so many are answered.  What takes that much
# of the time takes all of it where the machine stands still, or Redis: then once
# more.

my ($seen, $stood, $steady) = (time, 0, 0);

sub look () {
    $stood = max($stood, time - $seen);
    $seen = time;
    $swarm->timer(0.05, \&look);
}

sub slowly ($n, $code) {
    look();

    for (1 .. 5) {
        ok((wait_until { assign($site, 0, {})->status == 200 }), 'Redis is there');

        write_file($told, '');
        write_file(test_dir . '/slow', '');
        my $begun = time;
        ($seen, $stood) = ($begun, 0);
        %answer = ();
        $code->();
        $swarm->run(until => sub { $n == keys %answer },
                    timeout => 5 * $timeout);
        unlink test_dir . '/slow';

        my $late = ((read_lines($told))[0] // time) - $begun;

        $steady = $stood < 0.3 * $timeout && $late < 0.9 * $timeout;
        last if $steady;
        note sprintf 'the machine stood still for %.1f s, the first was answered '
                     . 'after %.1f s', $stood, $late;
    }
}

my $under_way;

slowly(2, sub {
    my $before = asked();

    begin('first');
    $swarm->run(until => sub { asked() > $before || $answer{first} }, timeout => 5);
    $under_way = asked() > $before;
    begin('second');
});

SKIP: {
    skip 'the machine stood still each time', 5 if !$steady;

    ok $under_way, 'the first is under way';
    is $answer{first}->status, 200, 'which is answered';
    is $answer{second}->json->{code}, 'UNAVAILABLE',
        'the second has waited long enough behind it';
    cmp_ok $took{second}, '<', 1.25 * $timeout, 'no longer than that';
    cmp_ok $answer{second}->header('Retry-After'), '>=', 1, 'with Retry-After';
}

# the same key twice: the second waits for the first, and no longer either

slowly(3, sub {
    state $n = 0;
    my $key = sprintf 'key-of-a-call-%04d', ++$n;
    begin($_, 'Idempotency-Key' => $key) for qw(first second third);
});
SKIP: {
    skip 'the machine stood still each time', 3 if !$steady;
    cmp_ok $took{$_}, '<', 1.25 * $timeout, "$_: in time" for sort keys %answer;
}

my $last;
ok((wait_until { $last = assign($site, 0, {}); $last->status == 200 }),
   'and on it goes');
cmp_ok $last->json->{position}, '>', 1, 'with a position of its own';


# who comes first has the lower position, with the same call or a later one; once
# more where the machine stood still: nobody waits for longer than `timeout`

my @positions;

for (1 .. 5) {
    ok((wait_until { $last = assign($site, 0, {}); $last->status == 200 }),
       'Redis is there');

    my $start = time;
    $redis->sigstop;

    my @connections = map {
        my $connection = Admission::HTTP->connect($site->port);
        $connection->send(Admission::HTTP::compose('POST',
                                                   '/vwr-api/assign/concert'));
        sleep 0.02;
        $connection
    } 1 .. 10;

    $redis->sigcont;

    my @answers = map { $_->response } @connections;

    @positions = map { ($_->json // {})->{position} } @answers;
    last if time - $start < 0.5 * $timeout
            || !grep { $_->status != 200 } @answers;
}

is_deeply \@positions, [ map { $last->json->{position} + $_ } 1 .. 10 ],
    'in the order of arrival';

done_testing;
