# The start of a sale with a draw while a master fails over, with the draw kept or
# lost, and a host is killed: one draw, the same everywhere, also after keys were
# rotated and hosts begin with an empty zone.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);
use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Admission::Sentinel;
use Admission::Site;

my $sentinel = Admission::Sentinel->start;
my $key = 'another-secret-of-the-tests-0123456789';
my $server = 'location /vwr-api/       { admission_vwr_api assign_rate=off; }
              location /api/admin/vwr/ { admission_admin_api; }';

sub site ($instances) {
    return Admission::Site->start(
        redis => $sentinel, redis_url => $sentinel->url, timeout => '2s',
        instances => $instances, server => $server,
        events => 'default threshold=5 vwr_rate=1000 order=draw lots=visitor;');
}

my $site = site(3);
$site->nginx($_)->allow(qr/redis|signal 9|queue of event|lost data/) for 0 .. 2;

sub now () { my ($s, $us) = $sentinel->cmd('TIME')->@*; return $s + $us / 1e6 }

sub draw ($i) {
    my $r = eval { get($site->port($i), '/vwr-api/draw/concert') };
    return $r && $r->json // {};
}

sub check ($i, $ticket) {
    return get($site->port($i), "/vwr-api/check/concert/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ])
           ->json // {};
}

sub positions ($i, @lots) {
    my @at;
    wait_until { @at = map { check($i, $_)->{position} } @lots;
                 @lots == grep { defined } @at } 30;
    return \@at;
}

my $starts = int(now()) + 5 * slow;
my %times = (opens => $starts - 3600, starts => $starts);
my $r = request($site->port, PUT => '/api/admin/vwr/schedule/concert',
    bearer => $Admission::Site::SECRETS{admin}, json => { map {
        $_ => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $times{$_}) } keys %times });
is $r->status, 200, 'a sale' or diag $r->raw;
ok((wait_until { draw($_)->{commitment} } 20), "host $_ gathers") for 0 .. 2;

my @lots = map { post($site->port($_ % 3), '/vwr-api/assign/concert')->json }
           1 .. 9;
is_deeply [ map { $_->{lot} } @lots ], [ 1 .. 9 ], 'lots';
my $commitment = draw(0)->{commitment};
$sentinel->cmd('WAIT', 1, 2000);

# ---- the start: the draw may have been written, and have got to the replica

my $old = $sentinel->master;
my $early = 0;

while (now() < $starts) {
    $early += grep { defined check($_, $lots[0])->{position} } 1, 2;
    sleep 0.02;
}
$old->kill9;
$site->nginx(0)->kill9;
is $early, 0, 'no position ahead of it';

ok((wait_until { draw($_)->{seed} } 60), "host $_: it is drawn") for 1, 2;
my $d = draw(1);
is_deeply draw(2), $d, 'one draw';
is $d->{lots}, 9, 'of all lots';
is $d->{commitment}, $commitment, 'as it was committed to';

my $at = positions(1, @lots);
is_deeply [ sort { $a <=> $b } @$at ], [ 1 .. 9 ], 'each has a position';
is_deeply positions(2, @lots), $at, 'the same on both hosts';

# ---- keys are rotated: a new one signs, the old one verifies

for my $i (1, 2) {
    my $nginx = $site->nginx($i);
    my $file = $nginx->dir . '/nginx.conf';
    my $text = read_file($file);
    $text =~ s/^( *admission_secret tier1 )/$1$key;\n$1/m or die;
    write_file($file, $text);
    $nginx->reload;
}
is_deeply draw($_), $d, "host $_: the same draw by the old key" for 1, 2;
is_deeply positions(2, @lots), $at, 'and positions';
my $late = post($site->port(1), '/vwr-api/assign/concert')->json;
is $late->{position}, 10, 'a late-comer, by the new one';

# ---- a host that begins with nothing

$_->stop for $site->nginx(1), $site->nginx(2);
$site = site(1);
$site->nginx(0)->allow(qr/redis/);
ok((wait_until { draw(0)->{seed} } 30), 'a new host');
is_deeply draw(0), $d, 'has the same draw';
is_deeply positions(0, @lots), $at, 'and positions';

done_testing;
