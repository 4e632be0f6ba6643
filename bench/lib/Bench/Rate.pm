# Polls of a long line at a pace, for a minute: how soon they are answered while
# generator, worker and Redis share what processors there are.  All who poll do so
# in turn, as those of a line do, and more often than they are told to: where each
# keeps to nextPoll the same polls are of ten times as many.

package Bench::Rate;

use v5.36;

use List::Util qw(min);
use POSIX qw(ceil);

use Bench;
use Bench::Polls;
use Bench::View;

my $polled = 100_000;
my $connections = 600;


sub run ($bench, $site) {
    my $host = $site->another_nginx('');
    my @known = Bench::View::renew($host,
        Bench::Polls::fill($site, 'view', $bench->{waiting},
                           min($polled, $bench->{waiting})));
    my $file = Bench::Polls::polls($site, 'view', @known);

    my $load = sub (%opt) {
        return $bench->load($host->port('queue'), $file,
            connections => $connections, redis => 1,
            pace => $bench->{rate},
            pids => { worker => ($host->worker_pids)[0],
                      redis => $site->redis->pid }, %opt);
    };

    # until each of them has polled

    my $first = ceil(@known / $bench->{rate}) + 1;
    $load->(seconds => $first);
    my $r = $load->(seconds => $bench->{minute},
                    skip => $first * $bench->{rate});

    $bench->heading("$bench->{rate} polls a second for $bench->{minute} s, "
                    . "$bench->{waiting} waiting, " . @known . ' of whom poll');
    $bench->row('seconds between two polls of a user',
                sprintf('%.1f', @known / $r->{rate}));
    $bench->row('polls a second', sprintf('%.0f', $r->{rate}),
                [ '>=', 0.95 * $bench->{rate} ], $r->{rate});
    $bench->row('95 of 100 within, ms', sprintf('%.1f', $r->{p95}),
                [ '<=', 20 ], $r->{p95});
    $bench->row('99 of 100 within, ms', sprintf('%.1f', $r->{p99}));
    $bench->row('a processor\'s share of the worker',
                sprintf('%.2f', $r->{busy}{worker}));
    $bench->row('of Redis', sprintf('%.3f', $r->{busy}{redis}), [ '<=', 0.1 ],
                $r->{busy}{redis});

    $host->quit;
    $site->drop_event('view');
}


1;
