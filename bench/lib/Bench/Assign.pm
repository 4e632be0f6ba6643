# Tickets for new visitors against a bare `return 200` of as many bytes, at the
# same time, and how many share a command.

package Bench::Assign;

use v5.36;

use List::Util qw(sum);

use Admission::HTTP;
use Bench;

my $connections = 256;


sub run ($bench, $site) {
    my $path = '/vwr-api/assign/assigned';
    my $file = $site->requests('assign',
        "POST $path HTTP/1.1|Host: localhost|Accept: application/json|"
        . 'Content-Length: 0|Sec-Fetch-Site: %s||', 'same-origin');

    my %nginx = (room => $site->another_nginx(''),
                 bare => $site->another_nginx('bare:'));

    $site->set_room($nginx{room}, 'assigned', 0, 0);
    $site->bare_as($nginx{bare}, post($nginx{room}->port('room'), $path));

    my $redis = $site->redis;

    my $begin = sub ($server, %opt) {
        my $nginx = $nginx{$server};
        my %pids = (worker => ($nginx->worker_pids)[0],
                    $server eq 'room' ? (redis => $redis->pid) : ());

        return $bench->begin_load($nginx->port($server), $file,
                                  pids => \%pids,
                                  connections => $connections, %opt);
    };

    $bench->end_load($begin->($_)) for qw(room bare);

    my $before = $redis->stats->{evalsha};
    my $results = $bench->beside({}, map {
        my $server = $_;
        $server => sub ($skip) { $begin->($server) }
    } qw(room bare));
    my $scripts = $redis->stats->{evalsha} - $before;

    $_->quit for values %nginx;

    $bench->heading("assign, $connections connections, each visitor new, "
                    . 'against return 200 of the same size');
    $bench->ratio_row('requests a CPU second of the worker',
                      Bench::ratio(@{$results}{qw(room bare)},
                                   sub ($r) { 1 / $r->{cpu}{worker} }),
                      [ '>=', 0.5 ]);

    my $calls = sum(map { $_->{n} } $results->{room}->@*) / $scripts;

    # the schedule's steps are among them

    $bench->row('assigns a script call', sprintf('%.1f', $calls),
                [ '>=', 8 ], $calls);
    $bench->rate_row('assign, both', $results->{room});
    $bench->rate_row('return 200, both', $results->{bare});
}


1;
