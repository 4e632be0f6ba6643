# 200 users on two instances of two workers, joining, polling and leaving at
# random: never more than the threshold in, nobody out of order, nobody twice;
# in the end everybody got in or left.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Crowd;
use Admission::Site;

my $threshold = 10;
my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => "default threshold=$threshold admit_interval=200ms;");

my $crowd = Admission::Crowd->new(site => $site, users => 200,
                                  threshold => $threshold, leave => 0.2);

ok($crowd->run(90), 'everybody is done') or diag join "\n", $crowd->lost;
note $crowd->report;

is_deeply($crowd->{violations}, [], 'no invariant was broken');
is_deeply($crowd->{errors}, {}, 'no call failed');
cmp_ok($crowd->{looks}, '>', 20, 'it was looked at');
is($crowd->{max_active}, $threshold, 'all slots were used');

my @twice = map { "$_->{id}: $_->{admissions}" }
            grep { $_->{admissions} > 1 } $crowd->users;
is_deeply(\@twice, [], 'nobody was let in twice');

my @inside = $crowd->in_state('done');
is(scalar(grep { $_->{booked} } @inside), scalar @inside,
   'who was in has booked');
is(scalar(grep { $_->{admissions} == 0 } @inside), 0,
   'who was in is in the stream of admissions');
cmp_ok(scalar @inside, '>', 100, 'most got in');
cmp_ok(scalar $crowd->in_state('left'), '>', 2, 'some left');

my $look = $site->admin(GET => '%s')->json;
is($look->{queueSize}, 0, 'nobody is left in the queue');
is($look->{currentUsers}, 0, 'nor inside');

done_testing;
