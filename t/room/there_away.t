# Those who poll are there, whatever becomes of hosts and of Redis meanwhile: never
# fewer than they are count, on any host that answers.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Waiting;
use Time::HiRes qw(time sleep);

my $PEOPLE = 12;

my $site = waiting_site(instances => 2, workers => 2, timeout => '1s',
                        events => 'default vwr_rate=0;',
                        http => 'keepalive_requests 10000;');

my @port = $site->ports;
my @live = (0, 1);

operator($site, POST => 'activate/concert');
ok((wait_until { get($port[1], '/vwr-api/status/concert')->json->{isActive} }),
   'active, on both hosts');

my @v = map {
    my $r = assign($site, $_ % 2, my $jar = {});
    { jar => $jar, ticket => $r->json->{requestId}, ahead => 1e9 }
} 1 .. $PEOPLE;

my ($polled, $late) = (time) x 2;
my ($looks, $fewer, $rises) = (0, 0, 0);

# One turn of it: all poll, on some host, and are counted; what is told counts if
# nobody was kept from polling of late.

sub turn () {
    my $now = time;
    $late = $now if $now - $polled > 3;
    $polled = $now;

    for my $v (@v) {
        my $host = $live[rand @live];
        my $r = check($site, $host, $v->{jar}, $v->{ticket}, event =>
                      'concert')->json;
        $rises++ if $r->{ahead} > $v->{ahead} && $now - $late >= 10;
        $v->{ahead} = $r->{ahead};
    }
    $late = time if time - $now > 3;

    for my $host (@live) {
        my $r = get($port[$host], '/vwr-api/status/concert')->json;
        next if $now - $late < 10 || !$r->{isActive};
        $looks++;
        $fewer++ if $r->{waitingCount} < $PEOPLE;
    }
    sleep 0.5;
}

sub turns ($seconds, $what) {
    my $end = time + $seconds;
    ($looks, $fewer, $rises) = (0, 0, 0);
    turn while time < $end;
    is $fewer, 0, "$what: all are there, looked at $looks times";
    is $rises, 0, "$what: nobody has more ahead";
}

# who asks is there again, if this stood still for as long as one may be away
for my $host (0, 1) {
    ok((wait_until {
        check($site, $host, $_->{jar}, $_->{ticket}) for @v;
        get($port[$host], '/vwr-api/status/concert')->json->{waitingCount}
        == $PEOPLE
    }), "host $host knows of all");
}

$late -= 10;
turns(2, 'two hosts');

# marks of a time without Redis arrive when it is back

my $redis = $site->redis;
$redis->sigstop;
turns(4, 'Redis stands still');
$redis->sigcont;
$_->allow(qr/redis|no answer/) for map { $site->nginx($_) } 0, 1;
turns(2, 'it goes on');

$site->nginx(0)->reload(wait => 0);
turns(2, 'other workers');

@live = (0);
$site->nginx(1)->kill9;
turns(4, 'a host is gone, its people ask the other one');

done_testing;
