# Reloads in the moment in which a sale starts, of tickets in order and of lots
# that are drawn: nobody is let in ahead of it, nobody is lost, and each has one
# position.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);
use Time::HiRes qw(sleep);

use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    workers => 2, timeout => '5s',
    events => 'default threshold=5 vwr_rate=1000 restore_wait=0;
               sale    threshold=5 vwr_rate=1000 restore_wait=0;
               lots    threshold=5 vwr_rate=1000 restore_wait=0 order=draw
                       lots=visitor;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /events/ {
            admission_event $arg_e;
            admission_tier1 auto;
            empty_gif;
        }
END

my ($redis, $nginx) = ($site->redis, $site->nginx);
my @events = qw(sale lots);
my $n = 15;

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub date ($at) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at)) }

sub schedule ($event, %at) {
    my %times = map { $_ => date($at{$_}) } keys %at;
    return (answered {
        request($site->port, PUT => "/api/admin/vwr/schedule/$event",
                bearer => $Admission::Site::SECRETS{admin}, json => \%times)
    })->status;
}

sub phase ($event) {
    return get($site->port, "/vwr-api/status/$event")->json->{phase} // '';
}

# a reload may take the connection along

sub check ($event, $ticket) {
    my $r = get($site->port, "/vwr-api/check/$event/$ticket->{requestId}",
                headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ]);
    return $r->status == 200 ? $r->json : { none => $r->status };
}

sub passes ($event, $ticket, $token) {
    return get($site->port, "/events/?e=$event",
               headers => [ 'X-VWR-Token' => $token,
                            'X-Admission-Visitor' => $ticket->{visitor} ])
           ->status == 200;
}


my $opens = int(now()) - 10;
my %tickets;

for my $event (@events) {
    is schedule($event, opens => $opens, starts => now() + 3600), 200,
        "$event is set";
    ok((wait_until { phase($event) eq 'gathering' }), 'and gathers');
    $tickets{$event} = [ map {
        (answered { post($site->port, "/vwr-api/assign/$event") })->json
    } 1 .. $n ];
}

is request($site->port, POST => '/api/queue/check/sale',
           bearer => $site->user("u$_"))->json->{status}, 'queued', "u$_ waits"
    for 1, 2;

my $starts = int(now()) + 1 + 2 * slow;
is schedule($_, opens => $opens, starts => $starts), 200, "$_ starts soon"
    for @events;

my @old = $nginx->worker_pids;
my ($early, $lost, $looks, $reloads) = (0, 0, 0, 0);
my $k = 0;

# one after the other, from just before it until the first is in

wait_until { now() > $starts - 0.4 } 60;

my $in = 0;
my $done = wait_until {
    $nginx->signal('HUP'), $reloads++ if $looks++ % 10 == 0;

    for my $event (@events) {
        my $ticket = $tickets{$event}[$k++ % $n];
        my $r = check($event, $ticket);
        my $serving = $redis->cmd('HGET', "{$event}:vwr", 'serving') // 0;
        my $before = now() < $starts;

        $early++ if $before && ($r->{admitted} || $serving > 0);
        $lost++ if ($r->{none} // 0) == 404;
        $in++ if $r->{admitted};
    }

    $early++ if $redis->cmd('ZCARD', '{sale}:active') && now() < $starts;
    $in > 3 && $reloads > 2
} 30;

ok $done, 'it started' or diag "$in in after $looks looks";
cmp_ok $reloads, '>', 2, "with $reloads reloads";
is $early, 0, 'nobody was let in ahead of it';
is $lost, 0, 'no ticket was lost';

for my $event (@events) {
    my %seen;
    my @left = $tickets{$event}->@*;

    ok((wait_until {
        @left = grep {
            my $r = check($event, $_);
            my $in = $r->{token} && passes($event, $_, $r->{token});
            $seen{ $r->{position} }++ if $in;
            !$in
        } @left;
        !@left } 30), "$event: all are let in, and pass") or diag scalar @left;
    is_deeply [ sort { $a <=> $b } keys %seen ], [ 1 .. $n ],
        'each at a position of its own';
}

ok((wait_until { $redis->cmd('ZCARD', '{sale}:active') == 2 } 20),
   'and those who waited in line are in');
$nginx->wait_old_workers(20, @old);

done_testing;
