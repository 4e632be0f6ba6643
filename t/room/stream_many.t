# Many streams on one worker: the memory that one takes, turns that are told in
# time, and a reload with all of them open.  As many as files may be open here,
# 10,000 at most, or TEST_STREAMS (bench/streams), from several addresses.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Metrics;
use Admission::Waiting;
use Errno qw(EINPROGRESS EAGAIN EWOULDBLOCK EINTR);
use Fcntl qw(F_GETFL F_SETFL O_NONBLOCK);
use IO::Poll qw(POLLIN POLLOUT);
use List::Util qw(min);
use Socket qw(AF_INET SOCK_STREAM pack_sockaddr_in inet_aton);
use Time::HiRes qw(time);

my (undef, $files) = run('sh', '-c', 'ulimit -n');
my $most = min($ENV{TEST_STREAMS} // (sanitized ? 1000 : 10_000),
               int((($files =~ /(\d+)/ ? $1 : 20_000) - 500) / 1.1));

# NGINX closes connections that ask for nothing yet while it has few left
my $connections = int($most * 1.1) + 200;

my $site = waiting_site(
    workers => 1, connections => $connections, timeout => '5s',
    events => 'default vwr_rate=0;',
    http => "admission_streams max=$most;",
    server => 'location = /metrics { admission_metrics; }');

my $port = $site->port;
my $address = pack_sockaddr_in($port, inet_aton('127.0.0.1'));

sub metric ($name, %labels) { return metrics($port)->value($name, %labels) }

operator($site, POST => 'activate/concert');

# a ticket for each of the first ones, whose turns come; the others share one

my $turns = 200;
my @visitors = map { my $v = {}; assign($site, 0, $v); $v } 1 .. $turns + 1;

my (%stream, $opened);


# a stream as a client has it: what is not looked at is thrown away

sub open_stream ($number) {
    my $visitor = $visitors[min($number, $turns)];

    # an address has no more ports than that to one other

    socket my $socket, AF_INET, SOCK_STREAM, 0 or die "socket: $!";
    bind $socket, pack_sockaddr_in(0, inet_aton(
        '127.0.0.' . (2 + int(($opened // 0) / 20_000)))) or die "bind: $!";
    connect $socket, $address or die "connect: $!";
    fcntl $socket, F_SETFL, fcntl($socket, F_GETFL, 0) | O_NONBLOCK;

    syswrite $socket, Admission::HTTP::compose(
        'GET', '/vwr-api/stream/concert/'
               . $visitor->{'admission-ticket-concert'},
        cookies => { 'admission-visitor' => $visitor->{'admission-visitor'} });

    $stream{ fileno $socket } = { socket => $socket, number => $number,
                                  text => '' };
    $opened++;
}

# reads what there is, until that is so, or the time is over

sub attend ($until, $timeout = 30) {
    my $end = time + $timeout * slow;

    while (!$until->()) {
        return 0 if time > $end;

        my @poll = map { $_, POLLIN } keys %stream;
        IO::Poll::_poll(100, @poll);

        while (my ($fd, $events) = splice @poll, 0, 2) {
            heard($stream{$fd}) if $events;
        }
    }

    return 1;
}

my ($told, $last, $left, @retry) = (0, 0, 0);

sub heard ($s) {
    my $n = sysread $s->{socket}, $s->{text}, 65536, length $s->{text};

    if (defined $n && !$n) {
        $left++ if $s->{text} =~ /"reconnect"/;
        push @retry, $1 if $s->{text} =~ /retry: (\d+)\ndata: \{"status"/;
        delete $stream{ fileno $s->{socket} };
        return;
    }

    $s->{first} ||= $s->{text} =~ /"admitted"/;

    if (!$s->{told} && $s->{text} =~ /"admitted":true/) {
        $s->{told} = 1;
        $told++;
        $last = time;
    }

    substr $s->{text}, 0, -200, '' if length $s->{text} > 200;
}


# ---- open

my ($pid) = $site->nginx->worker_pids;

open_stream($_) for 0 .. $turns;
ok attend(sub { !grep { !$_->{first} } values %stream }), 'the first ones';

my $before = rss($pid);

while ($opened < $most) {
    open_stream($turns) for 1 .. min(200, $most - $opened);
    attend(sub { metric('streams') >= $opened - 200 });
}

ok attend(sub { metric('streams') == $most }), "$most streams on one worker";
ok attend(sub { !grep { !$_->{first} } values %stream }),
    'all of them have been told something';

my $each = (rss($pid) - $before) / ($most - $turns);

cmp_ok $each, '<', 4096, 'one takes less than 4 KB of the worker'
    if !sanitized;
diag sprintf '%d streams, %d bytes each', $most, $each;


# ---- turns, fifty at a time; the least of some times, since whoever has so many
#      streams to look at may be late

my @late;

for my $time (1 .. 4) {
    my $moved = stopwatch;

    operator($site, POST => 'advance/concert', json => { batchSize => 50 });
    attend(sub { $told == $time * 50 });
    push @late, $moved->($last);
}

is $told, $turns, 'turns are told';
cmp_ok min(@late), '<', 1.5 * slow, 'within a second or so';


# ---- a reload

my $took = stopwatch;

$site->nginx->reload(wait => 0);
ok attend(sub { !%stream }), 'all are ended';
is $left, $most, 'and told to come again';
ok((wait_until { !$site->nginx->old_worker_pids } 10),
   'the old worker is gone');
cmp_ok $took->(), '<', 10 * slow, 'soon';

my @second;
$second[$_ / 1000]++ for @retry;

is scalar @retry, $most, 'each at a time of its own';
cmp_ok((sort { $b <=> $a } map { $_ // 0 } @second)[0], '<', $most / 5,
       'no second has more than a fifth of them');
cmp_ok((sort { $b <=> $a } @retry)[0], '<', 15_000, 'all within 15 s');

done_testing;
