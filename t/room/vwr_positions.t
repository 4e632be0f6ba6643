# 100,000 tickets assigned by two instances at once: every position once, none
# missing.  TEST_CROWD is another number.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Process;
use Admission::Proxy;
use Admission::Waiting;
use IO::Socket::INET;

my $tickets = $ENV{TEST_CROWD} // (sanitized ? 10_000 : 100_000);
my $connections = 128;              # to each instance

# a worker with few of the connections answers each of them the more often: by
# itself NGINX would close it after 1,000 requests

my $site = waiting_site(instances => 2, timeout => '10s',
                        http => 'keepalive_requests 1000000;');

sub status ($i) { return get($site->port($i), '/vwr-api/status/concert')->json }

operator($site, POST => 'activate/concert');
wait_until { status(1)->{isActive} };


# Asks for so many, and writes what it got to a file: "position time", where
# the time is that of every 100th ticket, or 0.

sub ask ($port, $n, $file, $event = 'concert') {
    my $request = Admission::HTTP::compose('POST', "/vwr-api/assign/$event");
    my ($left, $under_way, @got, @buffer, @socket) = ($n, 0);
    my $wanted = '';

    my $send = sub ($fd) {
        return if !$left;
        $left--;
        $under_way++;
        $buffer[$fd] = '';
        syswrite $socket[$fd], $request;
    };

    for (1 .. $connections) {
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                           PeerPort => $port) or die;
        my $fd = fileno $socket;
        $socket[$fd] = $socket;
        vec($wanted, $fd, 1) = 1;
        $send->($fd);
    }

    while ($under_way) {
        select(my $ready = $wanted, undef, undef, 30 * slow) > 0
            or die "no answer\n";

        for my $fd (grep { vec($ready, $_, 1) } 0 .. $#socket) {
            sysread $socket[$fd], $buffer[$fd], 8192, length $buffer[$fd]
                or die "closed\n";
            $buffer[$fd] =~ /\r\n\r\n\{.*\}\z/s or next;

            my ($ticket, $position) = $buffer[$fd] =~
                m{^HTTP/1\.1\ 200\ .*"requestId":"(.*?)","position":(\d+),}sx
                or die $buffer[$fd];

            push @got, "$position " . (@got % 100 ? 0
                                                  : jwt_decode($ticket)->{t});
            $under_way--;
            $send->($fd);
        }
    }

    write_file($file, join "\n", @got, '');
}


my @files = map { test_dir . "/got-$_" } 0, 1;

my $stats = $site->redis->stats_of(sub {
    my @crowds = map {
        my $i = $_;
        Admission::Process->start(name => "crowd-$i", code => sub {
            ask($site->port($i), $tickets / 2, $files[$i]);
        });
    } 0, 1;

    for my $crowd (@crowds) {
        my $ended = wait_until { !$crowd->alive } 300;
        ok $ended, 'a crowd is answered';
        $crowd->finish;
        is $crowd->output, '', 'every call with a ticket';
    }
});

my (@seen, %times, $more);

for my $line (map { split /\n/, read_file($_) } @files) {
    my ($position, $time) = split / /, $line;
    $seen[$position]++;
    $times{$time}++ if $time;
}

is scalar(grep { $_ } @seen), $tickets, "$tickets positions";
is $#seen, $tickets, 'from 1 on, none is missing';
is scalar(grep { ($_ // 0) > 1 } @seen), 0, 'none is there twice';
is scalar(grep { $_ > 1 } values %times), 0, 'and no time';

note "$stats->{evalsha} scripts for $tickets tickets";

ok((wait_until { status($_)->{totalInQueue} == $tickets }),
   "instance $_ knows the last") for 0, 1;


# How many come while a call is under way depends on how fast all of this is: so of a
# Redis that is far away, and of these calls: steps are made as time goes by.

my $proxy = Admission::Proxy->start($site->redis->port, delay => 0.2);
my $far = waiting_site(
    redis => $site->redis, event => 'far', timeout => '10s',
    redis_url => $site->redis->url(port => $proxy->port),
    http => 'keepalive_requests 1000000;',
    server => 'location = /metrics { admission_metrics; }');
my $few = 2000;

sub calls () {
    return metrics($far->port)->value('redis_call_duration_seconds_count',
                                      call => 'vwr_assign') // 0;
}

is operator($far, POST => 'activate/far')->status, 200, 'another one';

my $before = calls();

ask($far->port, $few, test_dir . '/far', 'far');

my $calls = calls() - $before;

cmp_ok $calls, '<', $few / 4, 'calls share commands';
cmp_ok $calls, '>', 0, 'and are seen';
note "$calls scripts for $few tickets";

done_testing;
