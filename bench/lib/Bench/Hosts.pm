# What views of one line take of Redis for 1, 3 and 10 hosts, with what is looked
# up shared, against each host looking up all by itself: steps of the schedule as
# hosts send them, twice a second each, while some are let in and some leave.

package Bench::Hosts;

use v5.36;

use List::Util qw(max);
use Time::HiRes qw(time sleep);

use Admission::Scripts;
use Bench;

my $head = 500;
my $seconds = 5;


sub run ($bench, $site) {
    my $redis = $site->redis;
    my $size = $bench->{waiting};
    my %opt = (event => 'hosts', threshold => 0, seen_ttl => 1e12,
               admit_interval => 500);

    my %host = (
        shared => Admission::Scripts->new($redis, %opt),
        alone => Admission::Scripts->new($redis, %opt, edit => sub {
            s/if \Kq\.kept_points\(w\)/false/;
            s/^\s*q\.keep_points\(w, points, ranks, off\)$//mg;
        }));

    $host{shared}->ask('first');
    fill($redis, $size);

    $bench->heading("Views of a line of $size: processor time of Redis, of a "
                    . 'second, ms; looks a second');

    for my $hosts (1, 3, 10) {
        my %took = map { ($_ => steps($redis, $host{$_}, $hosts)) }
                   qw(alone shared);

        $bench->row("$hosts, each by itself", text($took{alone}));
        $bench->row("$hosts, shared", text($took{shared}));
        $bench->row('ratio',
                    sprintf('%.2f', $took{shared}{ms} / $took{alone}{ms}));
    }

    $site->drop_event('hosts');
}

sub text ($took) {
    return sprintf '%.1f, %.0f; longest %.1f', @{$took}{qw(ms looks longest)};
}


sub fill ($redis, $n) {
    my $score = ($redis->cmd('TIME')->[0] - 86_400) * 2e6;
    my $all = 0;

    while ($all < $n) {
        $redis->cmd('ZADD', '{hosts}:queue', map {
            $score += 2 * (1 + int rand 10);
            (sprintf('%.0f', $score), sprintf 'user-%08d', $all++);
        } 1 .. 1000);
    }
}


# The steps of so many hosts, one after the other; longest: of one, ms.

sub steps ($redis, $host, $hosts) {
    my ($n, $us, @took) = (0, 0);

    $host->step(0, -1, -1, $head);

    my $looks = $redis->stats->{zrange};
    my $began = time;

    while (time < $began + $seconds) {
        if ($n % $hosts == 0) {
            my $size = $redis->cmd('ZCARD', '{hosts}:queue');
            for my $from (0, map { int rand $size - 100 } 1 .. 20) {
                $redis->cmd('ZREMRANGEBYRANK', '{hosts}:queue', $from,
                            $from == 0 ? 99 : $from);
            }
        }

        my $before = Bench::cpu_time($redis->pid);
        $host->step(0, -1, -1, $head);
        push @took, (Bench::cpu_time($redis->pid) - $before) / 1000;
        $us += $took[-1];

        my $left = $began + ++$n * 0.5 / $hosts - time;
        sleep $left if $left > 0;
    }

    my $took = $n * 0.5 / $hosts;
    return { ms => $us / $took, longest => max(@took),
             looks => ($redis->stats->{zrange} - $looks) / $took };
}


1;
