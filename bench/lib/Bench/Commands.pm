# How many commands Redis gets for a queue call, by MONITOR and by INFO.

package Bench::Commands;

use v5.36;

use Carp;

use Admission::HTTP;
use Bench;

my $users = 250;


sub run ($bench, $site) {
    my $redis = $site->redis;
    my $event = $site->new_event;
    my @tokens = ($site->user_tokens)[0 .. $users - 1];
    my $connection = Admission::HTTP->connect($site->port('queue'),
                                              timeout => 60);

    my $call = sub ($method, $what, $token) {
        my $r = $connection->request($method, "/api/queue/$what/$event",
            headers => [ 'Content-Length' => 0 ],
            cookies => { access_token => $token });

        croak "$what: " . $r->status if $r->status != 200;
    };

    # where Redis does not have a script yet, EVAL follows EVALSHA, once

    $call->('POST', 'check', $tokens[0]);
    $call->('POST', 'leave', $tokens[0]);

    my $monitor = $redis->monitor;
    my $before = $redis->stats;

    for my $token (@tokens) {
        $call->('POST', 'check', $token);
        $call->('GET', 'status', $token);
        $call->('POST', 'heartbeat', $token);
    }

    $call->('POST', 'leave', $_) for @tokens;

    my $after = $redis->stats;
    my $calls = 4 * $users;
    my %counts = (call => 0, step => 0);

    # a step of the schedule names no user

    for my $command ($monitor->commands) {
        my $name = lc $command->[0];
        my $of_user = grep { /^user-\d{12}$/ } @$command;

        $counts{ $name !~ /^eval/ ? $name : $of_user ? 'call' : 'step' }++;
    }

    my $evals = 0;
    $evals += ($after->{$_} // 0) - ($before->{$_} // 0)
        for qw(eval evalsha);

    $bench->heading("Redis commands for $calls queue calls (check, status, "
                    . 'heartbeat, leave)');
    $bench->row('commands a call', sprintf('%.3f', $counts{call} / $calls),
                [ '==', 1 ], $counts{call} / $calls);
    $bench->row('scripts in all by INFO, steps of the schedule taken off',
                $evals - $counts{step});
    $bench->row('besides, by time, not by calls',
                join ', ', map { "$_ $counts{$_}" }
                           grep { $_ ne 'call' } sort keys %counts);

    $site->drop_event($event);
}


1;
