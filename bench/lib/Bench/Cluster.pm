# Joins of 30 events in a cluster of three masters, against a single node: the
# processor time of a call, of the worker and of Redis.

package Bench::Cluster;

use v5.36;

use List::Util qw(sum0);

use Admission::Cluster;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Test ();
use Bench;
use Bench::Site;

my $events = 30;


sub run ($bench, $site) {
    my $n = 0;
    my $file = $site->requests('cluster',
        'POST /api/queue/check/%s HTTP/1.1|Host: localhost|'
        . 'Accept: application/json|Content-Length: 0|'
        . 'Sec-Fetch-Site: same-origin|Cookie: access_token=%s||',
        map { 'show-' . $n++ % $events . "\t$_" } $site->user_tokens);

    my $single = Admission::Redis->start;
    my $cluster = Admission::Cluster->start(replicas => 0);

    my %side = (single  => side($bench, $site, '', $single),
                cluster => side($bench, $site, 'cluster=on',
                                $cluster->masters));

    my $skip = 0;
    my $load = sub ($name) {
        my $r = $bench->load($side{$name}{port}, $file, redis => 1,
                             skip => $skip, pids => $side{$name}{pids});
        $skip += $r->{n};
        return $r;
    };

    $load->($_) for keys %side;

    my $results = $bench->rounds(
        map { my $name = $_; $name => sub { $load->($name) } }
            qw(single cluster));

    $bench->heading("Joins of $events events, a cluster of three masters "
                    . 'against a single node');

    my @both = @{$results}{qw(cluster single)};

    $bench->ratio_row('processor time a call, worker and Redis',
                      Bench::ratio(@both, sub ($r) {
                          sum0 values $r->{cpu}->%*
                      }), [ '<=', 1.15 ]);
    $bench->ratio_row('  the worker alone',
                      Bench::ratio(@both, sub ($r) { $r->{cpu}{worker} }));
    $bench->ratio_row('calls a second',
                      Bench::ratio(@both, sub ($r) { $r->{rate} }));

    $bench->rate_row($_, $results->{$_}) for qw(single cluster);
}


# NGINX on a processor with its Redis, as all of Bench is.

sub side ($bench, $site, $parameters, @redis) {
    my %options = $site->nginx_options($parameters)->%*;

    $options{vars}{REDIS} = $redis[0]->url;

    Admission::Test::run('taskset', '-apc', $bench->{cpu}{redis}, $_->pid)
        for @redis;

    my $nginx = Admission::Nginx->start(
        %options, http => Bench::Site::http() . Bench::Site::servers());

    my %pids = (worker => ($nginx->worker_pids)[0],
                map { ("redis $_", $redis[$_]->pid) } 0 .. $#redis);

    return { port => $nginx->port('queue'), pids => \%pids };
}


1;
