# Polls that ask nobody: of users in a long line, each with a place of its own,
# against a bare `return 200` of as many bytes, at the same time; what they send
# Redis, and what it takes of it.

package Bench::View;

use v5.36;

use Carp;
use List::Util qw(min sum0);
use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Bench;
use Bench::Polls;

my $polled = 100_000;


sub run ($bench, $site) {
    my $many = $bench->{waiting};
    my $host = $site->another_nginx('');
    my $bare = $site->another_nginx('bare:');

    my @known = renew($host, Bench::Polls::fill($site, 'view', $many,
                                                 min($polled, $many)));
    my $file = Bench::Polls::polls($site, 'view', @known);

    my ($token, $place) = split /\t/, $known[-1];
    $site->bare_as($bare, ask($host->port('queue'), $token, $place));

    my %nginx = (view => $host, bare => $bare);
    my $begin = sub ($server, %opt) {
        my $nginx = $nginx{$server};
        return $bench->begin_load($nginx->port($server eq 'view' ? 'queue'
                                                                 : 'bare'),
            $file, pids => { worker => ($nginx->worker_pids)[0] }, %opt);
    };

    $bench->end_load($begin->($_)) for qw(view bare);

    my $results = $bench->beside({}, map {
        my $server = $_;
        $server => sub ($skip) { $begin->($server, skip => $skip) }
    } qw(view bare));

    $bench->heading("Polls from the view, $many waiting, a place a poll, "
                    . 'against return 200 of the same size');
    $bench->ratio_row('requests a CPU second',
                      Bench::ratio(@{$results}{qw(view bare)},
                                   sub ($r) { 1 / $r->{cpu}{worker} }),
                      [ '>=', 0.5 ]);
    $bench->rate_row('polls, both', $results->{view});
    $bench->rate_row('return 200, both', $results->{bare});

    $bare->quit;

    count_commands($bench, $site, sub (%opt) {
        $bench->end_load($begin->('view', redis => 1, %opt)) });

    $host->quit;
    $site->drop_event('view');
}


# A host knows of nobody who came in or left before it had a view: places of
# before are asked about, once.

sub renew ($host, @known) {
    my $port = $host->port('queue');
    my $connection = Admission::HTTP->connect($port, timeout => 60);
    my @renewed;

    for (1 .. 3) {
        ask($connection, split /\t/, $known[-1]);
        sleep 0.6;
    }

    for (@known) {
        my ($token, $place) = split /\t/;
        my $json = ask($connection, $token, $place)->json;
        croak 'not in line: ' . Admission::Test::json_encode($json)
            if ($json->{status} // '') ne 'queued';

        # the head asks Redis
        push @renewed, "$token\t$json->{place}" if $json->{position} > 1000;
    }
    return @renewed;
}

sub ask ($to, $token, $place) {
    my @request = ('GET', '/api/queue/status/view',
                   cookies => { access_token => $token,
                                'urr-queue-place-view' => $place });

    return ref $to ? $to->request(@request)
                   : Admission::HTTP->connect($to)->request(@request);
}


# The schedule goes on meanwhile: what it sends in as long a time without any
# poll, while the view is still renewed, is taken off.

sub count_commands ($bench, $site, $load) {
    my $pid = $site->redis->pid;
    my $commands = sub ($code) {
        my $stats = $site->redis->stats_of($code);
        return $stats->{evalsha} // 0;
    };

    my $took = 5;
    my ($idle, $r);
    my $before = Bench::cpu_time($pid);
    my $without = $commands->(sub { sleep $took });
    $idle = (Bench::cpu_time($pid) - $before) / $took / 1e6;

    $before = Bench::cpu_time($pid);
    my $began = time;
    my $with = $commands->(sub { $r = $load->(seconds => $took) });
    my $busy = (Bench::cpu_time($pid) - $before) / (time - $began) / 1e6;

    $bench->heading('What that sends Redis');
    $bench->row('commands a poll',
                sprintf('%.4f', ($with - $without) / $r->{n}), [ '<=', 0.02 ],
                ($with - $without) / $r->{n});
    $bench->row('processor time of Redis, us a poll',
                sprintf('%.2f', ($busy - $idle) * 1e6 / $r->{rate}));
    $bench->row('a processor\'s share at 30,000 a second, with views',
                sprintf('%.3f', $idle + ($busy - $idle) * 30_000 / $r->{rate}),
                [ '<=', 0.1 ],
                $idle + ($busy - $idle) * 30_000 / $r->{rate});
    $bench->row('of that the views and all else, without polls',
                sprintf('%.3f', $idle));
    $bench->rate_row('polls', [ $r ]);
}


1;
