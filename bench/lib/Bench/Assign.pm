# Tickets for new visitors against a bare `return 200` of as many bytes, on the
# same worker, and how many share a command.

package Bench::Assign;

use v5.36;

use Admission::HTTP;
use Bench;

my $connections = 256;


sub run ($bench, $site) {
    my $path = '/vwr-api/assign/assigned';
    my $file = $site->requests('assign',
        "POST $path HTTP/1.1|Host: localhost|Accept: application/json|"
        . 'Content-Length: 0|Sec-Fetch-Site: %s||', 'same-origin');

    $site->set_room('assigned', 0, 0);
    $site->bare_as(post($site->port('room'), $path));

    my $load = sub ($server) {
        my $redis = $site->redis;
        my $before = $redis->stats->{evalsha};
        my $r = $bench->load($site->port($server), $file,
                             connections => $connections, pids => {
                                 worker => $site->worker,
                                 redis => $redis->pid });

        $r->{scripts} = $redis->stats->{evalsha} - $before;
        return $r;
    };

    $load->($_) for qw(room bare);

    my $results = $bench->rounds(map {
        my $server = $_;
        $server => sub { $load->($server) }
    } qw(room bare));
    my ($room, $bare) = @{$results}{qw(room bare)};

    $bench->heading("assign, $connections connections, each visitor new, "
                    . 'against return 200 of the same size');
    $bench->ratio_row('requests a CPU second of the worker',
                      Bench::ratio($room, $bare,
                                   sub ($r) { 1 / $r->{cpu}{worker} }),
                      [ '>=', 0.5 ]);
    $bench->ratio_row('requests a second',
                      Bench::ratio($room, $bare, sub ($r) { $r->{rate} }));

    my $calls = Bench::median(map { $_->{n} / $_->{scripts} } @$room);

    # the schedule's steps are among them

    $bench->row('assigns a script call', sprintf('%.1f', $calls),
                [ '>=', 8 ], $calls);
    $bench->rate_row('assign', $room);
    $bench->rate_row('return 200', $bare);
}


1;
