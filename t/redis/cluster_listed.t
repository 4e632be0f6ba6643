# An event with times that an operator sets is listed for hosts that start, in a
# cluster too, where the list is at another node: the times are not set before
# that is sure, and a host that takes the event out of the list, as it saw it
# without times, sees them after that and puts it back.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::Cluster;
use Admission::HTTP;
use Admission::Waiting;

my $LIST = 'vwr:active-events';

my $cluster = Admission::Cluster->start(replicas => 0, timeout => 60_000);
my $list = $cluster->master_of($LIST);
my ($other) = grep { $_->port != $list->port } $cluster->masters;
my $event = $cluster->event_of($other, 'sale-');
my $later = $cluster->event_of($other, 'later-');
my $taken = $cluster->event_of($other, 'taken-');

my $site = waiting_site(redis => $cluster, redis_url => $cluster->url,
                        timeout => '30s', workers => 1);

sub date ($in) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + $in)) }

sub listed ($e) { return $list->cmd('SISMEMBER', $LIST, $e) }

sub set_times ($site, $e) {
    return operator($site, PUT => "schedule/$e",
                    json => { opens => date(3600) });
}

ok((wait_until { operator($site, GET => "status/$_")->status == 200 } 20),
   "$_ can be asked of") for $event, $later, $taken;


# what another host sets between the look and the removal

subtest 'taken out' => sub {
    my $looks = $other->monitor;
    my $lists = $list->monitor;

    $other->sigstop;
    $list->cmd('SADD', $LIST, $taken);
    $lists->commands;
    ok((wait_until { grep { "@$_" eq "SMEMBERS $LIST" } $lists->commands } 30),
       'a host reads the list');

    # its look waits, and so will its removal

    $list->sigstop;
    $other->sigcont;
    ok((wait_until { grep { "@$_" =~ /^EVALSHA .*\{$taken\}.* look / }
                     $looks->commands } 30), 'and looks: there are no times');

    my $in = (time + 3600) * 1_000_000;
    $other->cmd('HSET', "{$taken}:schedule", version => time * 1_000_000,
                opens => $in, starts => 0, closes => 0);
    $list->sigcont;

    my @of;
    ok((wait_until {
        push @of, grep { / $taken$/ } map { "@$_" } $lists->commands;
        @of >= 2 } 30), 'they come, and it takes the event out');
    is_deeply [ @of[0, 1] ], [ "SREM $LIST $taken", "SADD $LIST $taken" ],
        'and puts it back';
    ok listed($taken), 'where it stays';
};

subtest 'the list first' => sub {
    my $connection = Admission::HTTP->connect($site->port, timeout => 60);
    my $schedule = "{$event}:schedule";

    my $seen = $other->monitor;

    $list->sigstop;
    $connection->send(Admission::HTTP::compose(
        PUT => "/api/admin/vwr/schedule/$event",
        bearer => $Admission::Site::SECRETS{admin},
        json => { opens => date(3600) }));

    # a call behind it, of the same worker and to the same node, is through

    is operator($site, GET => "status/$later")->status, 200,
        'the node of the event answers';
    is $other->cmd('EXISTS', $schedule), 0,
        'while that of the list does not: no times are set';
    $list->sigcont;

    is $connection->response('PUT', 60)->status, 200, 'they are, once it does';
    is $other->cmd('EXISTS', $schedule), 1, 'in Redis';
    ok listed($event), 'and the event is listed';
};


subtest 'not without it' => sub {
    my $short = do { local $site->{timeout} = '1s'; $site->instance };
    my $where = { %$site, nginx => [$short] };
    bless $where, ref $site;

    ok((wait_until { operator($where, GET => "status/$later")->status == 200 }
        20), 'a host that waits for a second');

    $list->sigstop;
    is set_times($where, $later)->status, 503, 'the list is out of reach';
    is $other->cmd('EXISTS', "{$later}:schedule"), 0, 'no times are set';
    $list->sigcont;
    $short->stop;
};


done_testing;
