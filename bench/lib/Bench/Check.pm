# Polls of the waiting room against a bare `return 200` of as many bytes, at the
# same time, and what they send Redis.

package Bench::Check;

use v5.36;

use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Bench;

my $polls = 100_000;        # for which Redis's commands are counted
my $tickets = 200_000;


sub run ($bench, $site) {
    my $template = 'GET /vwr-api/check/EVENT/%s HTTP/1.1|Host: localhost|'
                   . 'Accept: application/json|Sec-Fetch-Site: same-origin|'
                   . 'Cookie: admission-visitor=%s||';

    # those who wait stand at their places; the others have all had their turn

    my $room = $site->another_nginx('');
    my $bare = $site->another_nginx('bare:');

    $site->set_room($room, 'waiting', $tickets, 0);
    $site->set_room($room, 'passed', $tickets, $tickets);

    my @waiting = $site->tickets($room, 'waiting', $tickets);
    my @passed = $site->tickets($room, 'passed', $tickets);

    my %file = (
        seen   => $site->requests('check-seen', $template, @waiting[0 .. 15]),
        new    => $site->requests('check-new', $template, @waiting),
        passed => $site->requests('check-passed', $template, @passed),
    );

    my %event = (seen => 'waiting', new => 'waiting', passed => 'passed');
    my %what = (seen => 'waiting, 16 tickets',
                new => 'waiting, a ticket a poll',
                passed => 'let in, a ticket a poll, a token each');
    my %target = (seen => [ '>=', 0.75 ], new => [ '>=', 0.75 ]);
    my %nginx = (room => $room, bare => $bare);

    my $begin = sub ($server, $which, %opt) {
        my $nginx = $nginx{$server};

        return $bench->begin_load($nginx->port($server), $file{$which},
            event => $event{$which},
            pids => { worker => ($nginx->worker_pids)[0] }, %opt);
    };

    for my $which (qw(seen new passed)) {
        my $path = "/vwr-api/check/$event{$which}/"
                   . ((split /\t/, $which eq 'passed' ? $passed[-1]
                                                      : $waiting[-1])[0]);
        my ($visitor) = (split /\t/, $passed[-1])[1];

        $site->bare_as($bare,
                       get($room->port('room'), $path,
                           cookies => { 'admission-visitor' => $visitor }));
        $bench->end_load($begin->($_, $which)) for qw(room bare);

        my $results = $bench->beside({}, map {
            my $server = $_;
            $server => sub ($skip) { $begin->($server, $which,
                                              skip => $skip) }
        } qw(room bare));

        $bench->heading("check ($what{$which}), against return 200 of the "
                        . 'same size');
        $bench->ratio_row('requests a CPU second',
                          Bench::ratio(@{$results}{qw(room bare)},
                                       sub ($r) { 1 / $r->{cpu}{worker} }),
                          $target{$which});
        $bench->rate_row('check, both', $results->{room});
        $bench->rate_row('return 200, both', $results->{bare});
    }

    $bare->quit;

    count_commands($bench, $site, sub {
        $bench->end_load($begin->('room', 'new'))->{n}
    });

    $room->quit;
}


# The schedule goes on meanwhile, by time and not by calls: what it sends in as
# long a time without any poll is taken off.

sub count_commands ($bench, $site, $load) {
    my $commands = sub ($code) {
        my $stats = $site->redis->stats_of($code);
        my $n = 0;
        $n += $_ for values %$stats;
        return $n;
    };

    my $n = 0;
    my $start = time;
    my $with = $commands->(sub { $n += $load->() while $n < $polls });
    my $took = time - $start;
    my $without = $commands->(sub { sleep $took });

    # commands that scripts run count as well: a step at each end of both

    my $most = 2 * $commands->(sub { sleep 0.25 });

    $bench->heading("Redis commands, $n polls in ${\ sprintf '%.1f', $took} s");
    $bench->row('by INFO, with the schedule', $with);
    $bench->row('in as long without polls', $without);
    $bench->row('polls\', but for the schedule\'s steps at the ends',
                $with - $without, [ '<=', $most ], $with - $without);
}


1;
