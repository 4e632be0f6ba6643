# A repeated assign while the first one is still under way: it waits for that
# one as long as that may take, and what becomes of a call that came too late
# takes nothing from the one that has its key now.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Waiting;
use Time::HiRes qw(sleep);

my $site = waiting_site(zone => '256k', timeout => '60s', workers => 1,
                        log_level => 'info', events => 'default vwr_rate=0;');
my $port = $site->port;
my $redis = $site->redis;

operator($site, POST => 'activate/concert');
assign($site, 0, {});

my @open;

sub start ($key) {
    my $connection = Admission::HTTP->connect($port, timeout => 60);
    $connection->send(Admission::HTTP::compose(
        'POST', '/vwr-api/assign/concert',
        headers => [ 'Idempotency-Key' => $key x 4 ]));
    push @open, $connection;
    return $connection;
}

# the one worker has read what was sent before

sub read_by_now () { get($port, '/vwr-api/status/concert') }

sub total () { return get($port, '/vwr-api/status/concert')->json->{totalInQueue} }

sub ticket ($connection) {
    my $response = $connection->response;
    my $ticket = ($response->json // {})->{requestId};

    fail 'no ticket: ' . $response->raw if !defined $ticket;
    return $ticket // 'none of connection ' . $connection->socket;
}


# ---- longer than a worker that has died would be waited for

my $before = total;

$redis->sigstop;

my $first = start('long');
sleep 10.5;
my $again = start('long');

read_by_now();

$redis->sigcont;

my $ticket = ticket($first);
is ticket($again), $ticket, 'after 10 s it still is the first one\'s ticket';
ok((wait_until { total == $before + 1 } 20), 'and one position')
    or diag total;


# ---- a call whose key went to another one, as there was no room for it

for my $late (qw(answered gone)) {
    $redis->sigstop;

    my $lost = start("$late-");
    read_by_now();
    start(sprintf '%s%02d', $late, $_) for 1 .. 40;
    read_by_now();
    my $owner = start("$late-");
    read_by_now();

    if ($late eq 'gone') {
        my $mark = $site->nginx->log_mark;

        $lost->close;
        ok((wait_until {
            $site->nginx->error_log($mark)
                =~ /client prematurely closed connection/
        } 20), "$late: its client");
    }

    my $third = start("$late-");
    read_by_now();

    $redis->sigcont;

    my $held = ticket($owner);
    isnt ticket($lost), $held, "$late: the first one has another ticket"
        if $late eq 'answered';
    is ticket($third), $held, "$late: who comes after has the second one's";
    is ticket(start("$late-")), $held, "$late: and later";
}

done_testing;
