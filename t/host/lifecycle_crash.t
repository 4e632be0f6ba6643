# Workers that are killed: those of a site with a crowd, the one that leads
# the schedule, and one with the lock of the shared memory, which it leaves as
# it pleases.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Crowd;
use Admission::HTTP;
use Admission::Waiting;
use Admission::Zone;
use Time::HiRes qw(time);


subtest 'a crowd, and a worker killed many times' => sub {
    my $threshold = 10;
    my $site = Admission::Site->start(
        workers => 3, instances => 1,
        events => "default threshold=$threshold admit_interval=200ms;");
    my $nginx = $site->nginx;
    my $killed = 0;
    my $crowd = Admission::Crowd->new(
        site => $site, users => 150, threshold => $threshold, arrive => 3,
        fill => 20, stay => [0.2, 0.8], while => sub { $killed < 10 });

    # and those who start meanwhile

    my $kill; $kill = sub {
        my @pids = $nginx->worker_pids;
        my $pid = $pids[rand @pids];
        if (defined $pid) {
            $nginx->allow_killed($pid);
            $killed += kill KILL => $pid;
        }
        $crowd->{swarm}->timer(0.2 + rand 0.4, $kill) if $killed < 20;
    };
    $crowd->{swarm}->timer(0.5, $kill);

    ok($crowd->run(90), 'everybody got in or left')
        or diag(join "\n", $crowd->lost);
    note("$killed killed, " . $crowd->report);

    cmp_ok $killed, '>=', 10, 'workers were killed all the time';
    is_deeply $crowd->{violations}, [], 'no invariant was broken';
    is $crowd->{max_active}, $threshold, 'all slots were used';

    is join(' ', map { $_->{id} } grep { $_->{admissions} > 1 }
                 $crowd->users), '', 'nobody was let in twice';
    is join(' ', map { $_->{id} } grep { $_->{lost} || $_->{thrown} }
                 $crowd->users), '', 'nobody fell out';
    is scalar(grep { !$_->{booked} } $crowd->in_state('done')), 0,
        'who was in has booked';

    ok wait_until(sub { $nginx->worker_pids == 3 }), 'all workers are back';
};


subtest 'the worker that leads' => sub {
    my $site = Admission::Site->start(
        workers => 2, timeout => '5s',
        events => 'default threshold=1 admit_interval=100ms;');
    my @users = map { "user-$_" } 1 .. 8;

    $site->call(0, $_, POST => 'check') for @users;

    # one of two leads, so that of each two that go one did

    for my $round (1 .. 4) {
        my @waiting = map { $site->call(0, $_, GET => 'status')
                            ->json->{position} // 'in' } @users;
        is "@waiting", join(' ', 'in', 1 .. $#users),
            "round $round: all stand where they did";

        my ($pid) = ($site->nginx->worker_pids)[$round % 2];
        $site->nginx->allow_killed($pid);
        kill KILL => $pid;
        my $first = shift @users;
        ok wait_until(sub { $site->call(0, $first, POST => 'leave')
                            ->status == 200 }), "$first leaves";

        # a lease of 2 s, and a step
        my $start = time;
        ok wait_until(sub { $site->call(0, $users[0], GET => 'status')
                            ->json->{status} eq 'active' }, 10),
            'the next one is let in';
        note(sprintf '%.2f s after', time - $start);

        wait_until { !alive($pid) && $site->nginx->worker_pids == 2 } 10;
    }
};


subtest 'a worker with the lock' => sub {
    my $site = waiting_site(
        workers => 2, timeout => '5s',
        events => 'default threshold=1 admit_interval=200ms vwr_rate=0;');
    my $nginx = $site->nginx;

    $nginx->allow(qr/exited on signal 9/, qr/was locked by/,
                  qr/a process died while it changed the zone/);

    operator($site, POST => 'activate/concert');

    my $visitor = {};
    my $ticket = assign($site, 0, $visitor)->json->{requestId};
    my $place = check($site, 0, $visitor, $ticket)->json->{position};

    # gone is let in and leaves, ann comes in, the others wait

    my $enters = sub ($user) {

        # where Redis stood still for 1.5 s nobody is let in for as long
        return wait_until {
            $site->call(0, $user => POST => 'check')->json->{entryToken} };
    };
    my $gone = $enters->('gone');
    $site->call(0, gone => POST => 'leave');

    my $ann = $enters->('ann');
    my @waiting = qw(ben cho dan);
    $site->call(0, $_, POST => 'check') for @waiting;

    ok $ann, 'ann is in';

    my $gate = sub ($user, $token) {
        return get($site->port, '/gated', headers => [
            Authorization => 'Bearer ' . $site->user($user),
            'X-Queue-Entry-Token' => $token ])->status;
    };

    my $told = sub {
        return scalar(() = $nginx->error_log
                           =~ /a process died while it changed the zone/g);
    };

    for my $round (1 .. 4) {
        my $pid = Admission::Zone::kill_inside($nginx, 1 << 20);

        # what nobody is let pass by, while the state comes back

        my $start = time;
        my %seen;

        do {
            $seen{ get($site->port, '/events/')->status }++;
        } while (time - $start < 0.5);

        is join(' ', keys %seen), 403,
            "round $round: without a token nobody passes the waiting room";

        is $gate->(ann => $ann), 200, 'who is in passes the gate';
        ok wait_until(sub { $gate->(gone => $gone) == 403 }, 10),
            'who left does not';

        is check($site, 0, $visitor, $ticket)->json->{position}, $place,
            'the ticket is what it was';
        is join(' ', map { $site->call(0, $_, POST => 'check')
                           ->json->{position} } @waiting), '1 2 3',
            'those who wait are where they were';

        ok wait_until(sub { !alive($pid) && $nginx->worker_pids == 2 }, 10),
            'there is another worker';

        # said by the worker that leads, after 2 s if it was another one

        ok wait_until(sub { $told->() == $round }, 10), 'the log says so';
    }

    $site->call(0, ann => POST => 'leave');
    ok wait_until(sub { $site->call(0, ben => GET => 'status')
                        ->json->{status} eq 'active' }, 10),
        'the schedule goes on';

    my $log = $nginx->error_log;
    is $told->(), 4, 'the zone was made anew each time';
    is scalar(() = $log =~ /exited on signal (?!9\b)/g), 0,
        'and no other worker fell with it';
};

done_testing;
