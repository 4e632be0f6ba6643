# Polls of a long line at a pace, for a minute: how soon they are answered while
# generator, worker and Redis share what processors there are.

package Bench::Rate;

use v5.36;

use List::Util qw(max);
use POSIX qw(ceil);

use Bench;
use Bench::Polls;
use Bench::View;

my $polled = 10_000;
my $connections = 600;


sub run ($bench, $site) {
    my $host = $site->another_nginx('');
    my @known = Bench::View::renew($host,
        Bench::Polls::fill($site, 'view', $bench->{waiting}, $polled));
    my $file = Bench::Polls::polls($site, 'view', @known);

    my $load = sub (%opt) {
        return $bench->load($host->port('queue'), $file,
            connections => $connections, redis => 1,
            pids => { worker => ($host->worker_pids)[0],
                      redis => $site->redis->pid }, %opt);
    };

    # each connection's own pace: a pause, and what an answer takes

    my $each = 1000 * $connections / $bench->{rate};
    my $trial = $load->(seconds => 3, pause => max(1, int $each));
    my $answer = 1000 * $connections / $trial->{rate} - max(1, int $each);
    my $r = $load->(seconds => $bench->{minute}, skip => 100_000,
                    pause => max(1, int($each - max($answer, 0))));

    $bench->heading("$bench->{rate} polls a second for $bench->{minute} s, "
                    . "$bench->{waiting} waiting");
    $bench->row('polls a second', sprintf('%.0f', $r->{rate}),
                [ '>=', 0.95 * $bench->{rate} ], $r->{rate});
    $bench->row('95 of 100 within, ms', sprintf('%.1f', $r->{p95}),
                [ '<=', 20 ], $r->{p95});
    $bench->row('a processor\'s share of the worker',
                sprintf('%.2f', $r->{busy}{worker}));
    $bench->row('of Redis', sprintf('%.2f', $r->{busy}{redis}), [ '<=', 0.1 ],
                $r->{busy}{redis});

    $host->quit;
    $site->drop_event('view');
}


1;
