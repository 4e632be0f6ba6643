# A host that has just started asks Redis of events until it has heard of all
# there are.  Where those of one are refused meanwhile it has not.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Site;

# s after which a host takes it that it has heard of all
my $all = 10;

my $site = Admission::Site->start(
    timeout => '5s', events => 'default threshold=100 vwr=off;',
    server => <<'END');
        location ~ ^/in/(?<id>\w+) { admission_event $id;
                                     admission_tier2 on; empty_gif; }
END

my $redis = $site->redis;
my %token;

for my $event (qw(held kept)) {
    $token{$event} = post($site->port, "/api/queue/check/$event",
                          bearer => $site->user('ann'))->json->{entryToken};
}
is request($site->port, PUT => '/api/queue/admin/hold/held?inside=on',
           bearer => $Admission::Site::SECRETS{admin})->status, 200, 'held';

sub gate ($host, $event) {
    return get($host->port, "/in/$event", bearer => $site->user('ann'),
               cookies => { "urr-entry-token-$event" => $token{$event} })->status;
}

is gate($site->nginx(0), 'held'), 503, 'nobody passes';

$redis->may_refuse;
$redis->cmd('ACL', 'SETUSER', 'tickets', 'resetkeys',
            map { "~$_:*" } '{kept}', '{}', 'queue', 'vwr');

my $host = $site->instance;
ok((wait_until { gate($host, 'kept') == 200 }), 'another host has started');
my $from = time;
wait_until { time > $from + $all + 2 } $all + 20;
is gate($host, 'kept'), 200, 'and asks for long';
like $host->error_log, qr/permission/i, 'of one event in vain';

$redis->cmd('ACL', 'SETUSER', 'tickets', '~*');
is gate($host, 'held'), 503, 'it asks when Redis answers again';

done_testing;
