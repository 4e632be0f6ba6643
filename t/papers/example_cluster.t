# conf-examples/redis-cluster-tls.conf on a real cluster: all by TLS, to nodes
# that the cluster tells, when slots move, and after a failover.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Certs;
use Admission::Cluster;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;

my $ca = Admission::Certs->new('ca');
my $other_ca = Admission::Certs->new('other-ca');
my $cert = $ca->issue('node', 'IP:127.0.0.1');

# a node may stand still for a while before another one takes over
my $cluster = Admission::Cluster->start(tls => [ $ca, $cert ], timeout => 5000,
                                        prefixes => [ 'shop:' ]);
my $backend = Admission::Backend->start;
my @masters = $cluster->masters;

is scalar(@masters), 3, 'a cluster of three';

sub example ($authority) {
    my @seeds = map { (qr/127\.0\.0\.1:700$_\b/
                       => '127.0.0.1:' . $masters[$_ - 1]->tls_port) } 1 .. 3;

    return Admission::Example->start('redis-cluster-tls', backend => $backend,
        change => [ @seeds,
                    qr/timeout=200ms/ => 'timeout=' . 3000 * slow . 'ms',
                    qr{\S+/redis\.password} => password(),
                    qr{\S+/redis-ca\.pem} => 'tls_ca=' . $authority->cert ]);
}

sub password () {
    return 'password_file=' . write_file(test_dir . '/password', "tickets\n");
}

my $example = example($ca);
my $port = $example->port;

sub call ($event, $who, $call = 'check') {
    my $answer = request($port, $call eq 'check' ? 'POST' : 'GET',
                         "/api/queue/$call/$event", bearer => user($who));
    return $answer->status == 200 ? $answer->json->{status} : $answer->status;
}

sub user ($who) {
    return user_token($example->secret('user'), userId => $who);
}


# ---- every node, by the seeds and what they tell

my @events = map { my $master = $_;
                   my ($event) = grep {
                       $cluster->master_of("shop:{$_}:queue")->port
                           == $master->port
                   } map { "event-$_" } 1 .. 200;
                   $event } @masters;

is call($_, 'ann'), 'active', "$_: ann is in" for @events;
is $cluster->master_of("shop:{$events[$_]}:active")
       ->cmd('ZCARD', "shop:{$events[$_]}:active"), 1,
    "$events[$_]: on its node" for 0 .. 2;

sub book ($event) {
    my $in = post($port, "/api/queue/check/$event", bearer => user('ann'));
    return post($port, '/api/reservations', bearer => user('ann'), headers =>
                [ 'x-queue-entry-token' => $in->json->{entryToken} ]);
}

my $booked = book('spring-concert');

is $booked->status, 200, 'who is in books';
is book($events[0])->status, 403, 'not by an event that nobody named';
like $booked->header('RateLimit'), qr/^"booking";r=29;/, 'and is counted';

my %limited;
$limited{ get($port, '/api/queue/status/x', bearer => user("u$_"))
              ->header('RateLimit') =~ s/;t=.*//r }++ for 1 .. 20;
is_deeply \%limited, { '"queue";r=239' => 20 },
    'limits of clients on all nodes';


# ---- nothing goes but by TLS

for my $master (@masters) {
    my @mine = grep { /\buser=tickets\b/ }
               split /\n/, $master->cmd('CLIENT', 'LIST');
    my $tls_port = $master->tls_port;

    ok @mine && !grep({ !/ laddr=127\.0\.0\.1:$tls_port / } @mine),
        'node ' . $master->port . ': connections are to its port of TLS'
        or diag "@mine";
}


# ---- a slot moves

my $event = $events[0];
my $slot = $cluster->slot("shop:{$event}:queue");

$cluster->move_slot($slot, @masters[0, 1]);

is call($event, 'ben'), 'active', 'after MOVED: ben is in';
is $masters[1]->cmd('ZCARD', "shop:{$event}:active"), 2, 'on the new node';


# ---- a node fails

my $gone = $cluster->master_of("shop:{$events[2]}:queue");
my $entered = post($port, "/api/queue/check/$events[2]", bearer => user('ann'))
              ->json->{entryToken};

{
    local $gone->{timeout} = 30;
    ok $gone->cmd('WAIT', 1, 20_000), 'its replica follows';
}

$gone->kill9;

# what the replica had not yet heard, a step of the schedule say, is a loss:
# then places and slots are restored for restore_wait, 60 s, before anybody is
# let in

ok wait_until(sub { call($events[2], 'cho') eq 'active' }, 100),
    'a node fails: its replica takes over';

# the other nodes may hear of it later than who asked all of them
ok wait_until {
    $cluster->master_of("shop:{$events[2]}:queue")->port != $gone->port
}, 'which is another node';

# as ann's page asks: by that, who was not heard of is back

my $ann = answered {
    get($port, "/api/queue/status/$events[2]", bearer => user('ann'),
        headers => [ 'x-queue-entry-token' => $entered ]);
};
is $ann->json->{status}, 'active', 'and nobody was lost';

my $new = $cluster->master_of("shop:{$events[2]}:queue");
my $tls_port = $new->tls_port;
ok !grep({ /\buser=tickets\b/ && !/ laddr=127\.0\.0\.1:$tls_port / }
         split /\n/, $new->cmd('CLIENT', 'LIST')), 'by TLS, too';


# ---- an authority that did not sign the nodes' certificate, as at its start

$example->nginx->quit;
$example = example($other_ca);
$port = $example->port;

is call($events[1], 'dan'), 503, 'another authority: nothing is sent';
ok wait_until { $example->nginx->error_log =~ /the certificate is not trusted/ },
    'and the log says so';
is get($port, '/api/seats/x', bearer => user('dan'))->status, 403,
    'the gate stands';

done_testing;
