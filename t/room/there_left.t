# Who leaves the waiting room does not count any more: at once on the host that
# was told, though the number was given out a moment ago, and on others as soon
# as Redis has said so; whoever comes back counts again.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Waiting;

my $site = waiting_site(instances => 2, workers => 2, timeout => '5s',
                        events => 'default vwr_rate=0;');

sub waiting ($i) {
    return get($site->port($i), '/vwr-api/status/concert')->json->{waitingCount};
}

sub comes () {
    my $jar = {};
    my $r = answered { assign($site, 0, $jar) };
    return { jar => $jar, ticket => $r->json->{requestId} };
}

sub leaves ($i, $who) {
    my %jar = $who->{jar}->%*;
    my $r = visit($site, $i, \%jar, 'POST',
                  "/vwr-api/leave/concert/$who->{ticket}");
    return $r->status;
}

sub here (@who) {
    return map { check($site, 0, $_->{jar}, $_->{ticket})->json } @who;
}

is operator($site, POST => 'activate/concert')->status, 200, 'a waiting room';

for my $age (0, 4) {
    my @all = map { comes() } 1 .. 6;
    my ($last, @gone) = reverse @all[0 .. 3];
    my @stay = ($last, @all[4, 5]);

    if ($age) {

        # by now they count since they are heard of, and not since they are new

        my $until = time + $age;
        wait_until { here(@all); time > $until } 20;
    }

    my $before;
    ok((wait_until { here(@all); $before = waiting(0); $before == 6
                     && waiting(1) == 6 } 20), "age $age: six wait");

    is leaves(0, $_), 200, 'one leaves' for @gone;
    is waiting(0), 3, 'and does not count, at once';
    is((here($last))[0]->{ahead}, 1, 'nor ahead of others');

    last if $age;

    # nor later: everybody's word is newer then; fewer are there for a while where
    # this test is kept from asking, which is for as long as that is late

    my ($asked, $late, %seen) = (time, 0);
    my $look = sub {
        here(@stay);
        my $n = waiting(0);
        $late = time if time - $asked > 2;
        $asked = time;
        $seen{$n}++ if $n >= 3 || time - $late > 10;
    };
    ok((wait_until { $look->(); waiting(1) == 3 } 20),
       'the other host hears of it');
    my $until = time + 2;
    wait_until { $look->(); time > $until && %seen } 20;
    is_deeply [ keys %seen ], [ 3 ], 'it stays so on the first one';

    # one comes back

    here($gone[0]);
    ok((wait_until { here(@stay, $gone[0]); waiting(0) == 4
                     && waiting(1) == 4 } 20), 'who comes back counts again');

    is leaves(1, $_), 200, 'all leave' for @stay, $gone[0];
    is waiting(1), 0, 'nobody waits';
    ok((wait_until { waiting(0) == 0 } 20), 'on the other host, too');
}

done_testing;
