# Admission follows a real backend, which gets slow and is well again, on two hosts of
# which one is killed; with TEST_LONG it stands still as well.  bench/follow is the
# long form of it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::FollowRig;
use Time::HiRes qw(time);

my $rig = Admission::FollowRig->start(
    rate => 30, come => 36, capacity => 1000,
    line => 'backend_latency=500ms backend_errors=5%');

# Goes on until that is so of a second, at most so long; how long it was.

sub until_so ($seconds, $is) {
    for my $n (1 .. $seconds * slow) {
        my ($now) = $rig->go(1);
        return $n if $now && $is->($now);
    }
    return;
}

# What operators are told: what is in force, whole, and why.  Where the machine stood
# still it may be something else, which it is as long as nothing goes on.

sub told_is ($why, $what) {
    my $told = $rig->status;
    my $is_so = sub { ($told->{limitedBy} // '') eq $why };

    until_so(60, sub ($is) { $told = $rig->status; $is_so->() }) if !$is_so->();
    ok $is_so->(), "$what: why" or diag $told->{limitedBy};
    is $told->{rate}, 30, "$what: what is set stays so";
    my $rate = $told->{backend}{rate};
    my $is = $rate ? int($rate / 1000 + 0.5) || 1 : 0;
    is $told->{effectiveRate}, $is, "$what: what is in force";
    ok !exists $told->{effectiveThreshold}, "$what: of the waiting room";
}

my $start = time;
my $took = stopwatch;
$rig->go(2);

# a machine that stands still or is busy makes answers late, which limits for some
# time

my $told = $rig->status;
until_so(30, sub ($is) { $told = $rig->status; !defined $told->{limitedBy} })
    if time - $start - $took->() > 0.1;
is_deeply [ @$told{qw(rate effectiveRate limitedBy)} ], [ 30, 30, undef ],
    'nothing limits';

$rig->capacity(16);
ok until_so(10, sub ($is) { $is->{limit} <= 15 }), 'slow: fewer enter';
told_is('latency', 'slow');
$rig->kill_host(1);
ok until_so(5, sub ($is) { $is->{entered} <= 20 }), 'so it is';

my ($is) = $rig->go(1);
$rig->capacity(1000);
ok until_so(20, sub ($now) { $now->{limit} > $is->{limit} }),
   'well again: more, with one host less';

if ($ENV{TEST_LONG}) {
    $rig->capacity(0);
    ok until_so(15, sub ($is) { $is->{stopped} }),
       'it stands still: nobody enters';
    told_is('paused', 'stopped');

    my $entered = 0;
    $entered += $_->{entered} for $rig->go(6);
    cmp_ok $entered, '<=', 12, 'but on trial';

    $rig->capacity(1000);
    ok until_so(25, sub ($is) { !$is->{stopped} }), 'and again, by itself';
}

is $rig->{lost} // 0, 0, 'nobody was lost';

unlike $_->error_log, qr/replied with an error|not ours/, 'no error'
    for $rig->{nginx}->@*;

done_testing;
