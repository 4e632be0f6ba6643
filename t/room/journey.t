# The main job: three users, two instances of two workers on one Redis: join,
# wait in order, get in, book.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    server => 'location = /readyz { admission_health ready; }');

# a host that has just come to Redis lets nobody in for a moment where there are
# users already
for my $port ($site->ports) {
    wait_until { get($port, '/readyz')->status == 200 };
}

sub book ($i, $user, @more) {
    return request($site->port($i), 'POST', '/api/reservations',
                   bearer => $site->user($user), json => { seat => 1 }, @more);
}

sub position ($i, $user) {
    return $site->call($i, $user, GET => 'status')->json->{position};
}


# Where Redis stood still for 1.5 s nobody is let in for as long: who comes then is
# a moment later.
sub enters ($i, $user) {
    return wait_until {
        my $r = $site->call($i, $user, POST => 'check')->json;
        $r->{status} eq 'active' && $r
    };
}

my $ann = enters(0, 'ann');
is($ann->{status}, 'active', 'ann is in at once');
is(enters(1, 'ben')->{status}, 'active', 'ben is in, by the other instance');

my $cho = $site->call(0, cho => POST => 'check')->json;
is($cho->{status}, 'queued', 'cho waits');
is($cho->{position}, 1, 'as the first');
is($cho->{currentUsers}, 2, 'two are in');
is($site->call(1, dan => POST => 'check')->json->{position}, 2,
   'dan is second, by the other instance');
is($site->call(0, eve => POST => 'check')->json->{position}, 3, 'eve third');

is(position($_, 'dan'), 2, "dan asks instance $_") for 0, 1;

my $refused = book(0, 'cho');
is($refused->status, 403, 'cho is refused at the backend');
is($refused->json->{code}, 'TIER2_REQUIRED', 'and told why');
is($refused->json->{redirectTo}, '/queue/concert', 'and where to go');

my $entry = $ann->{entryToken};
my $booked = book(1, 'ann', headers => ['X-Queue-Entry-Token' => $entry]);
is($booked->status, 200, 'ann books, by the other instance');

my %seen = map { lc $_->[0] => $_->[1] } $booked->json->{headers}->@*;
is($seen{'x-user-id'}, 'ann', 'the backend knows who');
is($seen{'x-admission-event'}, 'concert', 'and for which event');

is(book(0, 'cho', headers => ['X-Queue-Entry-Token' => $entry])->status, 403,
   "cho is refused with ann's token");

is(book(0, 'ann', headers => ['Cookie' => "urr-entry-token-concert=$entry"])
   ->status, 200, 'ann books with the cookie');

is($site->call(1, ann => POST => 'leave')->json->{message}, 'Left queue',
   'ann leaves');

my $in = enters(1, 'cho');
is($in->{status}, 'active', 'cho is let in');
is(book(0, 'cho', headers => ['X-Queue-Entry-Token' => $in->{entryToken}])
   ->status, 200, 'and books');

is(position(0, 'dan'), 1, 'dan is first now');
is(position(1, 'eve'), 2, 'eve second');

$site->call(0, ben => POST => 'leave');
$site->call(0, cho => DELETE => 'leave');
for my $user (qw(dan eve)) {
    my $is_in = wait_until {
        $site->call(0, $user => POST => 'check')->json->{status} eq 'active'
    };
    ok($is_in, "$user is let in");
}

my @admitted = $site->look->{admitted}->@*;
is_deeply(\@admitted, [qw(ann ben cho dan eve)], 'in the order they came');

my $look = $site->admin(GET => '%s')->json;
is($look->{currentUsers}, 2, 'two are in');
is($look->{queueSize}, 0, 'nobody waits');

done_testing;
