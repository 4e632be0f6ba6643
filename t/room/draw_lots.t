# Many lots by the API of two hosts: each has a position of its own, which is the
# verifier's.  TEST_LOTS lots (bench/lots: a million).

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Swarm;
use Admission::Waiting;

my $n = $ENV{TEST_LOTS} // (sanitized ? 2_000 : 5_000);

my $site = waiting_site(
    instances => 2, workers => 1, timeout => '10s', zone => '4m',
    log_level => 'warn', connections => 1024,
    events => 'default threshold=1 vwr_rate=50 order=draw lots=visitor;');

sub schedule ($in) {
    my $now = $site->redis->cmd('TIME')->[0];
    my $r = operator($site, PUT => 'schedule/concert', json => {
        opens => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($now - 3600)),
        starts => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($now + $in)) });
    is $r->status, 200, 'the times' or diag $r->raw;
}

sub draw ($i) { return get($site->port($i), '/vwr-api/draw/concert') }

schedule(86400);
ok((wait_until { draw($_)->json->{commitment} }), "host $_ gathers") for 0, 1;


# all of them ask by so many connections; @answers as they asked

sub all ($ask, $take) {
    my $swarm = Admission::Swarm->new(connections => 200, timeout => 60);
    my ($next, $done, $bad) = (0, 0, 0);
    my $more;

    $more = sub {
        return if $next == $n;
        my $i = $next++;
        my ($method, $path, $headers) = $ask->($i);
        $swarm->request($site->port($i % 2), $method, $path, $headers, sub ($r) {
            $done++;
            $bad++ if $r->status != 200 || !$take->($i, $r->json);
            $more->();
        });
    };
    $more->() for 1 .. 400;
    ok $swarm->run(until => sub { $done == $n }, timeout => 60 + $n / 500),
        'all are answered' or diag $done;
    is $bad, 0, 'as they should be';
}

my @ticket;         # request id, visitor
my %lot;            # how often each was given
my @lots;

all(sub ($i) { return POST => '/vwr-api/assign/concert',
                      [ 'Content-Length' => 0 ] },
    sub ($i, $json) {
        $lot{ $lots[$i] = $json->{lot} // 0 }++;
        $ticket[$i] = [ @$json{qw(requestId visitor)} ];
        return !exists $json->{position};
    });

is scalar(keys %lot), $n, "$n lots";
is_deeply [ (sort { $a <=> $b } keys %lot)[0, -1] ], [ 1, $n ], 'without a gap';

schedule(-1);
my $draw;
ok((wait_until { ($draw = draw($_)->json)->{seed} } 20), "host $_ has the draw")
    for 0, 1;
is $draw->{lots}, $n, 'of all of them';

my @position;

all(sub ($i) { return GET => "/vwr-api/check/concert/$ticket[$i][0]",
                      [ 'X-Admission-Visitor' => $ticket[$i][1] ] },
    sub ($i, $json) {
        return ($json->{lot} // 0) == $lots[$i]
               && ($position[ $lots[$i] ] = $json->{position});
    });

my $file = write_file(test_dir . '/draw.json', json_encode($draw));
my $list = write_file(test_dir . '/positions',
                      join '', map { "$_ $position[$_]\n" } 1 .. $n);
my ($rc, $said) = run('python3', root . '/tools/verify-draw', $file,
                      '--positions', $list, '--all');

is $rc, 0, 'which the verifier finds too, each once' or diag $said;

# neither arrival nor neighbours tell anything: the sum of position times lot is
# about that of any order

my $mean = ($n + 1) / 2;
my ($sum, $after) = (0, 0);

for my $lot (1 .. $n) {
    $sum += ($lot - $mean) * ($position[$lot] - $mean);
    $after += ($position[$lot - 1] - $mean) * ($position[$lot] - $mean)
        if $lot > 1;
}

my $deviation = ($n * $n - 1) / 12;     # of one
my $spread = $deviation * sqrt $n;

cmp_ok abs($sum), '<', 6 * $spread, 'the order is not that of arrival';
cmp_ok abs($after), '<', 6 * $spread, 'nor are those together who came together';

done_testing;
