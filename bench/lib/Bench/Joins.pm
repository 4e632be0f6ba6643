# New users join, each with an access token of their own, against what Redis
# can do with the script at best, and against the peer.

package Bench::Joins;

use v5.36;

use Carp;

use Bench;


sub run ($bench, $site) {
    my $file = $site->requests('joins',
        'POST /api/queue/check/EVENT HTTP/1.1|Host: localhost|'
        . 'Accept: application/json|Content-Length: 0|'
        . 'Sec-Fetch-Site: same-origin|Cookie: access_token=%s||',
        $site->user_tokens);

    my $joins = 20_000;
    my $skip = 0;
    my $pids = { worker => $site->worker, redis => $site->redis->pid };

    my $http = sub ($server) {
        my $event = $site->new_event;
        my $r = $bench->load($site->port($server), $file, skip => $skip,
                             event => $event, redis => 1, pids => $pids);
        $skip += $r->{n};
        check_joined($site, $event, $r->{n}, $bench->{connections});
        return $r;
    };

    my $redis = sub () {
        my $event = $site->new_event;
        my $before = Bench::cpu_time($pids->{redis});
        my $rate = $site->redis_benchmark($event, $joins);
        my $us = Bench::cpu_time($pids->{redis}) - $before;

        check_joined($site, $event, $joins, $joins / 100);
        return { rate => $rate, cpu => { redis => $us / $joins },
                 busy => { redis => $us * $rate / $joins / 1e6 } };
    };

    my @peer = $site->has_peer ? (peer => sub { $http->('peer') }) : ();

    $http->('queue');
    $http->('peer') if @peer;

    my $results = $bench->rounds(
        module => sub {
            my $r = $http->('queue');
            $joins = $r->{n};
            return $r;
        },
        redis => $redis, @peer);

    my ($module, $best, $peer) = @{$results}{qw(module redis peer)};
    my $beside = @peer && beside_peer($bench, $site, $file);

    $bench->heading('Joins through POST check, each user new');

    $bench->ratio_row('joins a second, against redis-benchmark -P 16',
                      Bench::ratio($module, $best, sub ($r) { $r->{rate} }),
                      [ '>=', 0.5 ]);

    if (@peer) {
        # of processor time, as of the gate; of a second much is the load
        # generator's, where it shares the worker's processor

        $bench->ratio_row('joins a CPU second of the worker, against the Lua '
                          . 'peer',
                          Bench::ratio(@{$beside}{qw(module peer)},
                                       sub ($r) { 1 / $r->{cpu}{worker} }),
                          [ '>=', 3 ]);
        $bench->ratio_row('  joins a second',
                          Bench::ratio($module, $peer,
                                       sub ($r) { $r->{rate} }));
    }

    $bench->rate_row($_, $results->{$_})
        for grep { $results->{$_} } qw(module redis peer);

    if (@peer) {
        $bench->rate_row("$_, both", $beside->{$_}) for qw(module peer);
    }
}


# The module and the peer at the same time, an NGINX and an event each.

sub beside_peer ($bench, $site, $file) {
    my $nginx = $site->another_nginx('module:');
    my %worker = (module => ($nginx->worker_pids)[0], peer => $site->worker);
    my %port = (module => $nginx->port('queue'), peer => $site->port('peer'));

    my $results = $bench->beside({}, map {
        my $server = $_;
        $server => sub ($skip) {
            return $bench->begin_load($port{$server}, $file, redis => 1,
                event => $site->new_event, skip => $skip,
                pids => { worker => $worker{$server} });
        };
    } qw(module peer));

    $nginx->quit;
    return $results;
}


# What was counted is what Redis has, but for those under way at the end (and
# the few that redis-benchmark draws twice).

sub check_joined ($site, $event, $n, $few) {
    my $users = $site->users($event);

    croak "$n joined, $users are there" if abs($users - $n) > $few;

    $site->drop_event($event);
}


1;
