# What TLS to Redis costs: status polls of the same users by two NGINX that are
# the same but for that, each with keys of its own.

package Bench::Tls;

use v5.36;

use Carp;

use Admission::HTTP;
use Bench;

my $users = 1000;


sub run ($bench, $site) {
    my $redis = $site->redis;
    my @tokens = ($site->user_tokens)[0 .. $users - 1];
    my $file = $site->requests('tls',
        'GET /api/queue/status/few HTTP/1.1|Host: localhost|'
        . 'Accept: application/json|Sec-Fetch-Site: same-origin|'
        . 'Cookie: access_token=%s||', @tokens);

    my %nginx = (
        plain => $site->another_nginx('plain:'),
        tls   => $site->another_nginx('tls:', $site->tls_url),
    );

    join_all($nginx{$_}->port('queue'), @tokens) for sort keys %nginx;

    my $poll = sub ($name) {
        return $bench->load($nginx{$name}->port('queue'), $file, redis => 1,
            pids => { worker => ($nginx{$name}->worker_pids)[0],
                      redis => $redis->pid });
    };

    $poll->($_) for sort keys %nginx;

    my $results = $bench->rounds(plain => sub { $poll->('plain') },
                                 tls   => sub { $poll->('tls') });
    my ($tls, $plain) = @{$results}{qw(tls plain)};

    $bench->heading('Status polls with TLS to Redis, against without');

    $bench->ratio_row('polls a second',
                      Bench::ratio($tls, $plain, sub ($r) { $r->{rate} }),
                      [ '>=', 0.8 ]);
    $bench->ratio_row('polls a CPU second of worker and Redis',
                      Bench::ratio($tls, $plain, sub ($r) {
                          1 / ($r->{cpu}{worker} + $r->{cpu}{redis}) }));

    $bench->rate_row($_, $results->{$_}) for qw(plain tls);

    $_->quit for values %nginx;
}


sub join_all ($port, @tokens) {
    my $connection = Admission::HTTP->connect($port, timeout => 60);

    for my $token (@tokens) {
        my $r = $connection->request('POST', '/api/queue/check/few',
            headers => [ 'Content-Length' => 0 ],
            cookies => { access_token => $token });

        croak 'join: ' . $r->status if $r->status != 200;
    }
}


1;
