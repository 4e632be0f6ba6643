# Nobody is let in for 1.5 s after a time without steps, so that hosts that know
# more than Redis are heard; once.  Where the zone has no room for all events, and
# steps of some are missing all the time, it does not go on for ever, and a metric
# and the log say what it is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Site;
use Time::HiRes qw(time);

my $n = 400;

my $site = Admission::Site->start(
    workers => 1, zone => '32k', event => 'e1',
    events => 'default threshold=1000000 unlisted=1000;'
              . join('', map { " e$_ threshold=1000;" } 1 .. $n),
    server => 'location = /metrics { admission_metrics; }');

sub check ($event, $user, $by = Admission::HTTP->connect($site->port)) {
    my $r = $by->request(POST => "/api/queue/check/e$event",
                         bearer => $site->user($user));
    return ($r->json // {})->{status} // 'none: ' . $r->status;
}

sub round ($user) {
    my $by = Admission::HTTP->connect($site->port);
    my %is;
    $is{ check($_, "$user$_", $by) }++ for 1 .. $n;
    return \%is;
}

sub metric ($name) {
    my ($value) = get($site->port, '/metrics')->body
                  =~ /^nginx_admission_$name (\S+)$/m;
    return $value;
}

# all who come in are in at once
sub clear ($is) { return !grep { $_ ne 'active' } keys %$is }

my $round = 'a';
ok((wait_until { clear(round($round++)) } 120), 'users come in');

# touch is lost and regained, after more than 1.5 s without a step
$site->redis->sigstop;
ok((wait_until { check(1, 'x') =~ /503/ } 10), 'Redis hangs');
my $since = time;
wait_until { time - $since > 2 } 10;
$site->redis->sigcont;

ok((wait_until { check(1, 'x') !~ /503/ } 20), 'and is back');
round($round++);
ok((wait_until { metric('queue_settles_total') > 0 } 20),
   'nobody is let in for a moment, and a metric says so');
ok((wait_until { clear(round($round++)) } 120), 'users come in again')
    or diag explain(round($round));

my $log = $site->nginx->error_log;
like($log, qr/\[notice\].* nobody is let in for 1.5 s/, 'so does the log');
like($log, qr/\[error\].* the zone is too small for all events with users/,
     'and that the zone is too small');

done_testing;
