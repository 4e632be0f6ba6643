# A worker has the time of the last turn of its event loop.  One that is late
# finds times in the zone that are ahead of its own, and takes none of them for
# one of long ago.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;
use Time::HiRes qw(sleep time);

# a password that takes a worker some tenths of a second to refuse

my $dir = test_dir;
write_file("$dir/slow",
           'ann:$6$rounds=600000$0123456789abcdef$' . 'x' x 86 . "\n");

my $site = Admission::Site->start(
    workers => 2, timeout => '5s', events => 'default threshold=1 vwr_rate=0;',
    server => <<END);
        location = /metrics { admission_metrics; }
        location = /readyz  { admission_health ready; }
        location = /pid     { return 200 \$pid; }
        location = /slow {
            auth_basic slow;
            auth_basic_user_file $dir/slow;
            empty_gif;
        }
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
END

my $port = $site->port;
my @workers = $site->nginx->worker_pids;

my $slow_request = Admission::HTTP::compose(GET => '/slow',
    headers => [ Authorization => 'Basic YW5uOmFubg==' ]);
my $takes = get($port, '/slow',
                headers => [ Authorization => 'Basic YW5uOmFubg==' ])->time;


# A connection that this worker has accepted.

sub connection_of ($pid) {
    my $found;

    wait_until {
        $found = Admission::HTTP->connect($port);
        $found->request(GET => '/pid')->body eq $pid
    } 10 or die "no connection to worker $pid";

    return $found;
}


post($port, '/api/admin/vwr/activate/concert',
     bearer => $Admission::Site::SECRETS{admin});
$site->call(0, $_, POST => 'check') for qw(ann bob);

ok((wait_until {
    my $m = metrics($port);
    ($m->value('queue_waiting', event => 'concert') // 0) == 1
        && ($m->value('room_active', event => 'concert') // 0) == 1
        && get($port, '/readyz')->status == 200
} 10), 'one is in, one waits, and the waiting room is active');

for my $late (@workers) {
    my ($other) = grep { $_ != $late } @workers;
    my ($slow, $slower, $scrape) = map { connection_of($late) } 1 .. 3;
    my $call = connection_of($other);

    # While the worker is busy with the first, the others come, and its timers
    # run out: all of that is for the next turn, of which the second one, again,
    # takes all the time.

    my $start = time;
    $slow->send($slow_request);
    sleep .1;
    $_->[0]->send($_->[1]) for [ $slower, $slow_request ],
        [ $scrape, Admission::HTTP::compose(GET => '/metrics') ];

    # meanwhile another one hears of the event

    while (time < $start + 2 * $takes) {
        $call->request(POST => '/api/queue/check/concert',
                       bearer => $site->user('bob'));
        $call->request(POST => '/vwr-api/assign/concert');
        sleep .01;
    }

    is($_->response->status, 401, 'a worker was busy for a while')
        for $slow, $slower;

    my $m = metrics($port, text => $scrape->response->body);

    cmp_ok($m->value('event_state_age_seconds', event => 'concert'), '<', 9,
           'it has heard of the event of late');

    # its timers have run by the next turn; a host that stood still for 3 s is not
    # ready, for a moment

    my ($ready) = undisturbed {
        $scrape->request(GET => '/pid');
        get($port, '/readyz');
    } 2;
    is($ready->status, 200, 'the host is ready') or diag $ready->body;
}

done_testing;
