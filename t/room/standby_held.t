# A room on standby of several workers: one that has been at work for a while in a
# turn of its event loop, by whose clock what another worker has just heard of Redis
# is ahead, sends nobody to wait for it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Fcntl qw(O_NONBLOCK O_RDWR);
use POSIX qw(mkfifo);

use Admission::HTTP;
use Admission::Waiting;


# A log that nobody reads, and that is full: who writes to it is held up.

my $fifo = test_dir . '/held';
mkfifo($fifo, 0600) or die "$fifo: $!";
sysopen my $reader, $fifo, O_RDWR | O_NONBLOCK or die "$fifo: $!";

sub fill ()  { 1 while syswrite $reader, 'x' x 4096 }
sub drain () { 1 while sysread $reader, my $bytes, 65536 }


my $site = waiting_site(
    workers => 2, timeout => '30s',
    events => 'concert vwr=standby vwr_rate=1000;',
    server => <<'END');
        add_header X-Worker $pid always;
        location = /held { access_log %%DIR%%/../held; return 204; }
        location = /ok   { return 204; }
        location /page   { admission_tier1 auto; empty_gif; }
END

my ($held) = $site->nginx->worker_pids;
my $page = Admission::HTTP::compose('GET', '/page',
                                    headers => [ Accept => 'text/html' ]);

# connections to that worker

my @of_worker;

ok +(wait_until {
    my $c = Admission::HTTP->connect($site->port);
    $c->send(Admission::HTTP::compose('GET', '/ok'));
    push @of_worker, $c if $c->response->header('X-Worker') == $held;
    @of_worker == 2;
} 20), 'connections to a worker';

my ($slow, $visitor) = @of_worker;

sub state_of ($pid) {
    return read_file("/proc/$pid/stat") =~ /.*\) (\S) / ? $1 : '';
}

# scripts that Redis has run

sub calls () {
    return $site->redis->cmd('INFO', 'commandstats')
           =~ /^cmdstat_evalsha:calls=(\d+)/m ? $1 : 0;
}

# both workers have heard of the room, and it is not seen

ok +(wait_until {
    $visitor->send($page);
    $visitor->response->status == 200;
} 20), 'a visitor passes';

for my $time (1 .. 3) {
    fill();
    kill STOP => $held;
    ok +(wait_until { state_of($held) eq 'T' } 20), 'one turn of a worker';

    $slow->send(Admission::HTTP::compose('GET', '/held'));
    $visitor->send($page);
    kill CONT => $held;
    is $slow->response->status, 204, 'it is held up';

    # what the other one hears from now on is ahead of that turn's clock

    my $calls = calls();
    ok +(wait_until { calls() > $calls + 3 } 20), 'the other one asks';
    drain();

    is $visitor->response->status, 200, 'who comes in that turn passes';
}

done_testing;
