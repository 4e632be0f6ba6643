# A worker that is held up in a turn of its event loop, and then reads an answer of
# Redis that came meanwhile, does not take Redis's clock to be ahead: that answer is
# later than NGINX's own time, which stands during a turn.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Fcntl qw(O_NONBLOCK O_RDWR);
use POSIX qw(mkfifo);
use Socket qw(AF_UNIX PF_UNSPEC SOCK_STREAM);

use Admission::FakeRedis;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;

use constant HELD => 600;       # s

my %secret = map { $_ => "$_-secret-of-the-tests-0123456789abcdef" }
             qw(tier2 user);


# A log that nobody reads, and that is full: who writes to it is held up.

my $fifo = test_dir . '/held';
mkfifo($fifo, 0600) or die "$fifo: $!";
sysopen my $reader, $fifo, O_RDWR | O_NONBLOCK or die "$fifo: $!";

sub fill ()  { 1 while syswrite $reader, 'x' x 4096 }
sub drain () { 1 while sysread $reader, my $bytes, 65536 }


# A Redis that tells the time once, in two parts, when it is told to; by its own
# clock it is `ahead` by so much when it comes to the second.

socketpair my $here, my $there, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die $!;

my $fake = Admission::FakeRedis->start(sub ($c) {
    while (my ($command) = $c->command) {
        if (uc $command ne 'TIME') {
            $c->write("-ERR not now\r\n");
            next;
        }

        syswrite $there, "asked\n";

        while (defined(my $order = readline $there)) {
            my ($ahead) = $order =~ /(\d+)/;

            if (defined $ahead) {
                my $now = time + $ahead;
                $c->write("\$10\r\n$now\r\n\$1\r\n0\r\n");
            } else {
                $c->write("*2\r\n");
            }

            syswrite $there, "done\n";
            last if defined $ahead;
        }
    }
});

# whether it did

sub order ($order) {
    syswrite $here, "$order\n";
    return heard();
}

sub heard () {
    vec(my $bits = '', fileno $here, 1) = 1;
    return select($bits, undef, undef, 20) && sysread $here, my $line, 16;
}


my $nginx = Admission::Nginx->start(
    clock => 1,
    http => <<END, server => <<'END');
    admission_zone admission:1m;
    admission_redis @{[ $fake->url ]} timeout=60s;
    admission_secret tier2 $secret{tier2};
    admission_secret user $secret{user};
    admission_events { concert threshold=2; }
    keepalive_timeout 3600s;
END
        admission_user jwt;

        location = /any  { admission_tier2 on event=any; empty_gif; }
        location = /held { access_log %%DIR%%/../held; return 204; }
        location = /ok   { return 204; }
END

my ($worker) = $nginx->worker_pids;

# the status of a request with a token that ends in so many seconds, by the clock
# of both

my $ahead = 0;

sub request_of ($life) {
    my $now = time + $ahead;
    my $token = entry_token($secret{tier2}, sub => 'concert', uid => 'ann',
                            iat => $now - 900, adm => ($now - 900) * 1e6,
                            exp => $now + $life);

    return Admission::HTTP::compose(
        'GET', '/any',
        bearer => user_token($secret{user}, userId => 'ann', exp => $now + 86400),
        headers => [ 'X-Queue-Entry-Token' => $token ]);
}

sub status ($life) {
    my $c = Admission::HTTP->connect($nginx->port, timeout => 60);
    $c->send(request_of($life));
    return $c->response('GET', 60)->status;
}


my $slow = Admission::HTTP->connect($nginx->port, timeout => 60);
$slow->send(Admission::HTTP::compose('GET', '/ok'));
is $slow->response('GET', 60)->status, 204, 'a connection';

my $first = Admission::HTTP->connect($nginx->port, timeout => 60);
$first->send(request_of(3000));
ok heard(), 'a request waits for the time';

# one turn: first that connection, then Redis's

fill();
kill STOP => $worker;
ok((wait_until { read_file("/proc/$worker/stat") =~ /.*\) T / } 20), 'a turn');
$slow->send(Admission::HTTP::compose('GET', '/held'));
ok order('begin'), 'an answer begins';
kill CONT => $worker;

# what is logged has been answered

is $slow->response('GET', 60)->status, 204, 'the worker is held up';
$nginx->set_clock($ahead = HELD);
ok order("end $ahead"), 'and the answer ends';
drain();

is $first->response('GET', 60)->status, 200, 'the time is known';
is status(HELD / 2), 200, 'a token that has half of that to live';
is status(-HELD / 2), 403, 'one that ended before as long';

done_testing;
