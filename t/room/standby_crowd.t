# A crowd comes to a room on standby of two hosts, and goes: what passes keeps to
# the rate, those who wait keep their order, and below the rate nobody sees it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;
use Admission::StandbyCrowd;
use Admission::Waiting;
use List::Util qw(max);
use Time::HiRes qw(time);

my $rate = 20;
my $hosts = 2;

# by the rate alone: where this test stands still nobody comes who was called, and
# more would be

my $site = waiting_site(instances => $hosts, timeout => '5s',
    events => "concert vwr=standby vwr_rate=$rate vwr_noshow=1;");
my $redis = $site->redis;

sub standby ($i) {
    return operator($site, GET => 'status/concert', instance => $i)
           ->json->{standby};
}

my $crowd = Admission::StandbyCrowd->new(site => $site, rate => $rate);

sub seconds ($from, $to) { return ($to->{us} - $from->{us}) / 1e6 }

# what hosts asked between two samples: steps of the room, and all calls of it
my $monitor = $redis->monitor;

sub calls () {
    return grep { $_->[0] =~ /^EVAL/i && grep { $_ eq '{concert}:vwr' } @$_ }
           $monitor->commands;
}


sub field ($name) { return $redis->cmd('HGET', '{concert}:vwr', $name) }

# since nobody waits, and time passes: Redis keeps since when

sub unseen_again () {
    wait_until { my $r = operator($site, GET => 'status/concert')->json;
                 $r->{servingCounter} >= $r->{nextPosition} };
    $crowd->rest(0.5);
    $redis->cmd('HINCRBY', '{concert}:vwr', 'calm', -11_000_000)
        if field('seen');
}

# Half the rate, for so many seconds: how many saw the room, how many passed; the
# samples before and after it, and one more, and calls of the time between the first
# and the last.  Who is held up for a second sees it: once more where the machine
# stood still, or somebody saw it while one of NGINX and Redis waited for a processor.

sub below ($rest, $seconds) {
    my @seen;

    for (1 .. 5) {
        for my $i (0 .. $hosts - 1) { wait_until { standby($i) } }

        $crowd->rest($rest);
        $crowd->sample;
        my $from = $crowd->last_sample;
        calls;

        my @before = map { scalar $crowd->{$_}->@* } qw(shown passed);
        my $watch = stopwatch;
        my $began = time;
        $crowd->come($rate / 2, $seconds);
        $crowd->settle(20);
        $crowd->sample;
        my $then = $crowd->last_sample;
        my @calls = calls;
        $crowd->sample;

        @seen = ($crowd->{shown}->@* - $before[0],
                 $crowd->{passed}->@* - $before[1],
                 $from, $then, $crowd->last_sample, @calls);
        my $lost = time - $began - $watch->();
        last if stood($began) < 0.3 && (!$seen[0] || $lost < 0.3);
        unseen_again;
    }
    return @seen;
}


# ---- half the rate

my ($shown, $passed, $from, $flood, $to, @calls) = below(1, 2);
my %sha = map { $_->[1] => 1 } @calls;

is $shown, 0, 'below the rate nobody sees it';
is $passed, $rate, 'and all pass';
is scalar keys %sha, 1, 'nothing but steps asks Redis';
cmp_ok scalar @calls, '<=', $hosts * (seconds($from, $to) / 0.25 + 2),
    'one each 250 ms and host';


# ---- twenty times the rate

my $before = $crowd->{passed}->@*;

# Who surely waits after the next step, too: where this test stood still nobody may
# any more, and where it is slow few are more than the rate.

sub waiting () {
    $crowd->sample;
    my $s = $crowd->last_sample;
    return $s->{next} - $s->{serving} - $rate * ($s->{us} - $s->{updated}) / 1e6;
}

$crowd->come(20 * $rate, 1);
for (1 .. 10) {
    last if waiting >= 3 * $rate;
    $crowd->come(20 * $rate, 0.1);
}
$crowd->{swarm}->run(until => sub { $crowd->last_sample->{seen} },
                     timeout => 10);
@calls = grep { $sha{ $_->[1] } } calls;
$crowd->sample;
$to = $crowd->last_sample;

# all this time they come, and take their tickets

$crowd->come($rate / 2, 1);
ok $crowd->settle(120), 'all got in';
$crowd->sample;

# for 10 s since nobody waits, by Redis's clock: not if this took as long
wait_until { my $r = operator($site, GET => 'status/concert')->json;
             $r->{servingCounter} >= $r->{nextPosition} };
my @still = map { standby($_) } 0 .. $hosts - 1;
my $calm_for = $redis->cmd('TIME')->[0] - (field('calm') // 0) / 1e6;
SKIP: {
    skip 'this machine was too slow for that', $hosts if $calm_for > 9;
    is $still[$_], Admission::Test::false, "host $_: it still shows"
        for 0 .. $hosts - 1;
}

my ($seen) = grep { $_->{seen} && $_->{us} >= $flood->{us} }
             $crowd->{samples}->@*;
ok $seen, 'it shows';
cmp_ok scalar @calls, '<=', $hosts * (seconds($flood, $to) / 0.25 + 3),
    'steps are as many as before';

is_deeply $crowd->{failed}, [], 'nothing failed';
is scalar $crowd->{passed}->@*, $crowd->{came}, 'everybody once';


# ---- the rate: by the counter, which Redis keeps, and by what passed

my @flood = grep { $_->{us} >= $flood->{us} } $crowd->{samples}->@*;
my $worst = 0;
my $pairs = 0;

# samples while people waited, with the one behind them: there may be few between
my @waits = map { $flood[$_] } grep {
    my ($s, $last) = @flood[$_, $_ ? $_ - 1 : $_];
    $s->{serving} < $s->{next} || $last->{serving} < $last->{next}
} 0 .. $#flood;

for my $i (0 .. $#waits) {
    for my $k ($i + 1 .. $#waits) {
        my $s = seconds(@waits[$i, $k]);
        next if $s < 2;
        $pairs++;
        # but for one step, which one end may have and the other not; where hosts
        # stood still what was due before comes with the next one
        my $late = ($waits[$i]{us} - $waits[$i]{updated}) / 1e6;
        $worst = max($worst, ($waits[$k]{serving} - $waits[$i]{serving}
                              - $rate / 4) / ($s + max(0, $late - 0.25)));
    }
}
cmp_ok $pairs, '>', 0, 'people waited';
cmp_ok $worst, '<=', 1.05 * $rate, 'the counter keeps to the rate';

my $credit = $flood->{serving} - $flood->{next};
my @over = grep { $_->{passed} - $before
                  > $credit + $hosts * ($rate / 4 + 1) + 1
                    + 1.05 * $rate * (seconds($flood, $_) + 0.1) } @flood;
is scalar @over, 0, 'no more pass than the rate, the burst and what is in hand';
cmp_ok $_->{passed}, '<=', $_->{serving} + 1, 'nor more than the counter'
    for $crowd->last_sample;


# ---- order

my @unseen = grep { $_->[1] eq 'unseen' && $_->[2] > $seen->{at} + 1.5 }
             $crowd->{passed}->@*;
is scalar @unseen, 0, 'whoever comes behind those who wait gets a ticket';

my @positions = map { $_->[1] } grep { $_->[1] ne 'unseen' }
                $crowd->{passed}->@*;
cmp_ok scalar @positions, '>', 100, 'hundreds waited';

my ($highest, @early) = (0);
for my $passed (grep { $_->[1] ne 'unseen' } $crowd->{passed}->@*) {
    # by the counter as it was when it had passed
    my ($then) = grep { $_->{at} >= $passed->[0] } $crowd->{samples}->@*;
    push @early, $passed->[1] if $then && $passed->[1] > $then->{serving};
}
is_deeply \@early, [], 'nobody passed before the turn came';


# ---- and back

unseen_again;
($shown, $passed) = below(0.5, 1);
is $shown, 0, 'nobody sees it any more';
is $passed, $rate / 2, 'and all pass';

done_testing;
