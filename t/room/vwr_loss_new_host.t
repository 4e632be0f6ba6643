# Redis loses its data while a host with vwr=on starts, which is heard first:
# the tickets there were stay valid.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Waiting;
use Admission::Zone;

my $site = waiting_site(workers => 1, timeout => '5s',
                        events => 'concert vwr=on vwr_rate=0;');

sub active ($i) {
    return get($site->port($i), '/vwr-api/status/concert')->json->{isActive};
}

ok wait_until(sub { active(0) }, 10), 'active by the configuration';

my $ann = {};
my $ticket = assign($site, 0, $ann)->json->{requestId};
assign($site, 0, {}) for 1 .. 30;


# the host that knows is away

my @workers = $site->nginx->worker_pids;

kill STOP => @workers;
wait_until { !grep { !Admission::Zone::stopped($_) } @workers };

# what they sent before comes first
$site->redis->cmd('PING');
$site->redis->flushall;
push $site->{nginx}->@*, $site->instance;

ok wait_until(sub { active(1) }, 10), 'another one starts';

my $ben = {};
my $other = assign($site, 1, $ben)->json;

is $other->{position}, 1, 'where it all seems to begin';

kill CONT => @workers;


for my $i (1, 0) {
    my $r;

    ok wait_until(sub { $r = check($site, $i, $ann, $ticket);
                        $r->status == 200 && $r->json->{totalInQueue} > 1000 },
                  10), "host $i: the activation goes on";
    is $r->json->{position}, 1, "host $i: the ticket is what it was";
    is check($site, $i, undef, $other->{requestId})->status, 404,
        "host $i: of the other one there is none";
}

cmp_ok assign($site, 1, $ben)->json->{position}, '>', 1031,
    'whoever had one gets another';
is operator($site, GET => 'status/concert')->json->{setBy}, 'config',
    'by the configuration still';

done_testing;
