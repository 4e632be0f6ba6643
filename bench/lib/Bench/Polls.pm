# What a status poll costs with few and with many waiting, and what one of the
# many takes of Redis's memory.

package Bench::Polls;

use v5.36;

use Carp;

use Admission::HTTP;
use Bench;


sub run ($bench, $site) {
    my ($few, $many) = (100, $bench->{waiting});

    my @few = fill($site, 'few', $few, $few);

    my $before = memory($site);
    my @many = fill($site, 'many', $many, 1000);
    my $memory = memory($site) - $before;

    my %file = (few => polls($site, 'few', @few),
                many => polls($site, 'many', @many));

    my $pids = { worker => $site->worker, redis => $site->redis->pid };

    my $poll = sub ($which) {
        $site->redis->cmd('CONFIG', 'RESETSTAT');

        my $r = $bench->load($site->port('queue'), $file{$which},
                             redis => 1, pids => $pids);

        my $info = $site->redis->cmd('INFO', 'commandstats');
        ($r->{script}) = $info =~ /^cmdstat_evalsha:.*usec_per_call=([\d.]+)/m;
        return $r;
    };

    $poll->($_) for qw(few many);

    my $results = $bench->rounds(few  => sub { $poll->('few') },
                                 many => sub { $poll->('many') });
    my ($a, $b) = @{$results}{qw(many few)};

    $bench->heading("A status poll with $many waiting, against $few");

    $bench->ratio_row('time a poll, end to end',
                      Bench::ratio($a, $b, sub ($r) { 1 / $r->{rate} }),
                      [ '<=', 1.6 ]);
    $bench->ratio_row('time of its script (usec_per_call)',
                      Bench::ratio($a, $b, sub ($r) { $r->{script} }),
                      [ '<=', 1.6 ]);
    $bench->ratio_row('processor time of worker and Redis',
                      Bench::ratio($a, $b, sub ($r) {
                          $r->{cpu}{redis} + $r->{cpu}{worker} }));

    $bench->rate_row("$few waiting", $b);
    $bench->rate_row("$many waiting", $a);

    $before = memory($site);
    fill($site, 'long', $many, 0, '-' . 'x' x 22);
    my $long = memory($site) - $before;

    $bench->heading('Memory of Redis a waiting user');
    $bench->row('bytes, ids of 17 characters', sprintf('%.0f', $memory / $many),
                [ '<=', 300 ], $memory / $many);
    $bench->row('bytes, ids of 40 characters', sprintf '%.0f', $long / $many);

    $site->drop_event($_) for qw(few many long);
}


# Lets n users wait, of whom some join through NGINX, a few here and there;
# returns those, as access token and place.  The ids of the others are longer
# by what is given.

sub fill ($site, $event, $n, $polled, $longer = '') {
    my @tokens = ($site->user_tokens)[0 .. $polled - 1];
    my $connection = Admission::HTTP->connect($site->port('queue'),
                                              timeout => 60);
    my @known;

    for my $chunk (1 .. 20) {
        for my $token (splice @tokens, 0, $polled / 20) {
            my $r = $connection->request('POST', "/api/queue/check/$event",
                headers => [ 'Content-Length' => 0 ],
                cookies => { access_token => $token });

            croak 'join: ' . $r->status if $r->status != 200;
            push @known, "$token\t" . $r->json->{place};
        }

        $site->redis_benchmark($event, ($n - $polled) / 20,
                               sprintf('u%03d', $chunk) . $longer)
            if $n > $polled;
    }

    my $there = $site->users($event);
    croak "$there wait instead of $n" if abs($there - $n) > $n / 100;

    return @known;
}


sub polls ($site, $event, @known) {
    return $site->requests($event,
        "GET /api/queue/status/$event HTTP/1.1|Host: localhost|"
        . 'Accept: application/json|Sec-Fetch-Site: same-origin|'
        . "Cookie: access_token=%s; urr-queue-place-$event=%s||", @known);
}


sub memory ($site) {
    my $info = $site->redis->cmd('INFO', 'memory');
    return ($info =~ /^used_memory_dataset:(\d+)/m)[0];
}


1;
