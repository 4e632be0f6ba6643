# Looks at a serving counter for a while, by Redis's clock, while so many
# instances move it, one of which may be killed in the middle.
#
#     my $seen = Admission::Counter::watch(instances => 3, seconds => 60,
#                                          rate => 50, kill => 1);
#
# seconds    that passed in Redis between the first look and the last
# due        by how much the counter should have moved in them
# moved      by how much it did
# lag        at most so many seconds since the last step, at any look
# gap        at most so many seconds between two looks
# worst      at most so far from where it should have been, at any look
# steps      a second
# apart      seconds between two of them, half of the time
# hosts      by how much each instance that is left is behind Redis, at the end:
#            the median of several looks

package Admission::Counter;

use v5.36;

use List::Util qw(max);
use Time::HiRes qw(sleep);

use Admission::HTTP;
use Admission::Test;
use Admission::Waiting;

# the counter, with the part of the next one, now and when it last moved
my $LOOK = <<'LUA';
local time = redis.call('TIME')
local h = redis.call('HMGET', KEYS[1], 'serving', 'part', 'updated')
return { time[1] * 1000000 + time[2], h[1] * 1000000 + h[2], h[3] + 0 }
LUA


sub watch (%opt) {
    my $rate = $opt{rate};
    my $site = waiting_site(instances => $opt{instances}, timeout => '5s',
                            events => "default vwr_rate=$rate vwr_noshow=1;");
    my $redis = $site->redis;
    my @left = 0 .. $opt{instances} - 1;

    my $status = sub ($i) {
        return get($site->port($i), '/vwr-api/status/concert')->json;
    };
    my $look = sub () {
        my %seen;
        @seen{qw(now counter updated)} =
            $redis->cmd('EVAL', $LOOK, 1, '{concert}:vwr')->@*;
        return \%seen;
    };

    # many wait, whom nobody had to ask for

    answered { operator($site, POST => 'activate/concert') };
    $redis->cmd('HSET', '{concert}:vwr', next => 1_000_000);

    for my $i (@left) {
        wait_until { $status->($i)->{serving} > 0 };
    }

    my $first = $look->();
    my ($last, $steps, $worst) = ($first, 0, 0);
    my $lag = ($first->{now} - $first->{updated}) / 1e6;
    my ($passed, $gap) = (0, 0);
    my @apart;

    while ($passed < $opt{seconds}) {
        sleep 0.05;

        if ($opt{kill} && $passed > $opt{seconds} / 2) {
            $site->nginx(shift @left)->kill9;
            $opt{kill} = 0;
        }

        my $seen = $look->();

        $passed = ($seen->{now} - $first->{now}) / 1e6;
        $gap = max($gap, ($seen->{now} - $last->{now}) / 1e6);

        if ($seen->{updated} != $last->{updated}) {
            $steps++;
            push @apart, ($seen->{updated} - $last->{updated}) / 1e6;
        }

        $lag = max($lag, ($seen->{now} - $seen->{updated}) / 1e6);
        $worst = max($worst, abs(moved($first, $seen) - $passed * $rate));
        $last = $seen;
    }

    # the look comes first: a pause after it is no fault of the host

    my %hosts = map {
        my $i = $_;
        my @behind = map {
            sleep 0.1;
            int($look->()->{counter} / 1e6) - $status->($i)->{serving}
        } 1 .. 5;
        ($i => median(@behind))
    } @left;

    $_->quit for map { $site->nginx($_) } @left;
    $redis->stop;

    return { seconds => $passed, due => $passed * $rate,
             moved => moved($first, $last), lag => $lag, gap => $gap,
             worst => $worst,
             steps => $steps / $passed, apart => median(@apart),
             hosts => \%hosts };
}


sub median (@values) {
    return (sort { $a <=> $b } @values)[@values / 2];
}


sub moved ($from, $to) {
    return ($to->{counter} - $from->{counter}) / 1e6;
}

1;
