# The waiting room while Redis is gone, and when it comes back, the same or
# empty.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Swarm;
use Admission::Waiting;
use Admission::Zone;
use List::Util qw(max);
use Time::HiRes qw(time sleep);

my $outage = $ENV{TEST_OUTAGE} // 3;        # s; 30 by hand
my $visitors = $ENV{TEST_CROWD} // 500;
my $rate = 3;               # not all of them, however long all of this takes

my $site = waiting_site(
    instances => 2, timeout => 300 * slow . 'ms',
    events => "default vwr_rate=$rate vwr_noshow=1;",
    http => 'keepalive_requests 1000000; keepalive_timeout 600s;',
    server => 'add_header X-Pid $pid;');
my $redis = $site->redis;

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }
sub status ($i) { return get($site->port($i), '/vwr-api/status/concert')->json }

# a call that was answered too late has activated it

like answered { operator($site, POST => 'activate/concert') }->status,
    qr/^(?:200|409)$/, 'a waiting room';
wait_until { status(1)->{isActive} };


# A connection to each worker.  Who answers twice has read all that had come before
# the first question.

my %worker;

for my $host (1, 2) {
    ok((wait_until {
        my $open = Admission::HTTP->connect($site->port($host - 1));
        my $pid = $open->request('GET', '/vwr-api/status/concert')
                       ->header('X-Pid');

        $worker{$pid} //= $open if defined $pid;
        keys %worker == 2 * $host
    } 30), "both workers of host $host");
}

sub all_read () {
    $_->request('GET', '/vwr-api/status/concert') for (values %worker) x 2;
}


# Tickets for a crowd, and all positions that were ever given out.  A call that
# is answered too late is made again, as pages do.

my (@crowd, %given);

sub crowd ($n) {
    my $swarm = Admission::Swarm->new(connections => 100);
    my @got;

    my $ask; $ask = sub ($i) {
        $swarm->request($site->port($i % 2), 'POST', '/vwr-api/assign/concert',
                        {}, sub ($r) {
            return push @got, $r->json if $r->status == 200;
            $swarm->timer(0.1, sub { $ask->($i) });
        });
    };
    $ask->($_) for 1 .. $n;
    $swarm->run(until => sub { @got == $n }, timeout => 60);

    $given{ $_->{position} }++ for @got;
    return @got;
}

@crowd = crowd($visitors);
is scalar @crowd, $visitors, "$visitors tickets";


# A poll of each: {position => answer}

sub poll () {
    my $swarm = Admission::Swarm->new(connections => 100);
    my ($done, %answer) = (0);

    for my $i (0 .. $#crowd) {
        my $ticket = $crowd[$i];
        $swarm->request($site->port($i % 2), 'GET',
                        "/vwr-api/check/concert/$ticket->{requestId}",
                        { headers => [ 'x-admission-visitor'
                                       => $ticket->{visitor} ] },
                        sub ($r) {
            $done++;
            my $json = $r->json // {};
            $answer{ $ticket->{position} } = $json->{error} ? undef : $json;
        });
    }
    $swarm->run(until => sub { $done == @crowd }, timeout => 60);
    return \%answer;
}

sub all_right ($what) {
    my $answer = poll();
    my @bad = grep {
        !$answer->{$_} || $answer->{$_}{position} != $_
    } sort { $a <=> $b } map { $_->{position} } @crowd;

    is_deeply \@bad, [], "$what: all polls are answered, with their positions";
    return $answer;
}

all_right('before');


# ---- Redis does not answer

my $standing = status(0)->{serving};
ok((wait_until { status(0)->{serving} > $standing }), 'the counter moves');

my ($known, $updated) = $redis->cmd('HMGET', '{concert}:vwr',
                                    qw(serving updated))->@*;

$redis->sigstop;
ok((wait_until { Admission::Zone::stopped($redis->pid) }), 'Redis stands');

# what was on its way from there has come

my $stopped = time;
all_read();

my @before = map { status($_)->{serving} } 0, 1;

my $start = time;
my $rounds = 0;
my @took;

while (time - $start < $outage) {
    all_right('meanwhile, round ' . ++$rounds);

    my $watch = stopwatch;
    my $r = assign($site, $rounds % 2, {});
    push @took, $watch->();
    is code($r), '503 UNAVAILABLE', 'no ticket';
    cmp_ok $took[-1], '<', 3 * slow, 'said in time';
    cmp_ok $r->header('Retry-After'), '>=', 1, 'with Retry-After';
}

@took = sort { $a <=> $b } @took;
cmp_ok $took[-3] // $took[0], '<', 0.8 * slow,
    'as soon as it can be, but for two while the machine stood still';

is_deeply [ map { status($_)->{serving} } 0, 1 ], \@before,
    'the counter stands';
is get($site->port(0), '/events/')->status, 403, 'the gate stays shut';

my $mine = { 'admission-ticket' => $crowd[-1]{requestId},
             'admission-visitor' => $crowd[-1]{visitor} };
is assign($site, 0, { %$mine })->json->{position}, $crowd[-1]{position},
    'who has a ticket keeps it';

my $back = time;

$redis->sigcont;
ok((wait_until { status($_)->{serving} > $before[$_] }),
   "then it goes on, instance $_") for 0, 1;

# from where Redis stood, where a step may have been made that no host heard of

my $jump = status(0)->{serving} - $known;
cmp_ok $jump, '<=', $rate * ($stopped - $updated / 1e6 + 3 + time - $back) + 1,
    'by no more than 3 s at once';
all_right('after');

push @crowd, crowd(4);
is scalar @crowd, $visitors + 4, 'tickets again';


# ---- Redis comes back empty

my $last = (sort { $b <=> $a } keys %given)[0];
my @serving = map { status($_)->{serving} } 0, 1;

# whichever host is heard first, it knows what was given out
ok((wait_until { 2 == grep { status($_)->{totalInQueue} >= $last } 0, 1 }),
   'both instances know the last position');

$redis->flushall;
ok((wait_until { $redis->cmd('HGET', '{concert}:vwr', 'active') }),
   'hosts tell an empty Redis');

# the counter that any host has heard of by now: each hears it at its own step

my $answer = all_right('after FLUSHALL');
my ($reached) = sort { $b <=> $a } map { status($_)->{serving} } 0, 1;

is scalar(grep { $_ && $_->{admitted} && $_->{position} > $reached }
          values %$answer), 0, 'nobody is let in before their turn';
cmp_ok status($_)->{serving}, '>=', $serving[$_], "no counter falls, instance $_"
    for 0, 1;
ok((wait_until { status($_)->{serving} >= max(@serving) }),
   "and goes on from the highest, instance $_") for 0, 1;

push @crowd, crowd(100);
is scalar @crowd, $visitors + 104, 'tickets again';
is scalar(grep { $_ > 1 } values %given), 0, 'no position is given out twice';
cmp_ok((sort { $a <=> $b } map { $_->{position} } @crowd[-100 .. -1])[0],
       '>=', $last + 1000, 'the next come well after the last');


# ---- restarted, empty, under a crowd that goes on

$redis->kill9;
sleep 0.5;
all_right('killed');
$redis->restart;

push @crowd, crowd(100);
is scalar @crowd, $visitors + 204, 'tickets again';
is scalar(grep { $_ > 1 } values %given), 0, 'no position is given out twice';
all_right('restarted');
is get($site->port($_), '/events/')->status, 403, "active still, instance $_"
    for 0, 1;

done_testing;
