# Host names of Redis: looked up by NGINX's "resolver", without blocking, and
# again after a failure.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::DNS;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Cluster;
use Admission::Redis;

my $user = 'user-secret-of-the-test-01234567890';
my $port = free_port;
my $dns = Admission::DNS->start('redis.test' => '127.0.0.1');
my $resolver = 'resolver ' . $dns->address . ' valid=1s ipv6=off;';


sub conf ($redis, $more = '') {
    return (http => <<END, server => <<'END');
    $more
    admission_redis   $redis timeout=@{[ 3 * slow ]}s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
        location /ok          { return 204; }
END
}

sub check ($nginx, $event = 'concert') {
    return post($nginx->port, "/api/queue/check/$event",
                bearer => user_token($user, userId => 'ann'));
}

# where the one who knows names, or a node, stood still, it is asked again

sub answered_of ($nginx, $event) {
    return answered { check($nginx, $event) }->status;
}

# a name that is not known at the start

my ($status, $output) = Admission::Nginx->conf_test(conf('redis://no.test:1'));
isnt $status, 0, 'no resolver: a name has to be found at the start';
like $output, qr{host not found in "redis://no.test:1".*no "resolver"},
     'which the error says';

($status) = Admission::Nginx->conf_test(
    conf('redis://no.test:1', $resolver));
is $status, 0, 'with a resolver it may come later';

# found when it is needed

my $first = Admission::Redis->start(port => $port);
my $nginx = Admission::Nginx->start(conf("redis://redis.test:$port",
                                         $resolver));
is answered { check($nginx) }->status, 200, 'found by the resolver';
ok scalar($first->cmd('EXISTS', '{concert}:active')), 'it is the one';

# and again after a failure

my $second = Admission::Redis->start(port => $port, host => '127.0.0.2');
$dns->set('redis.test' => '127.0.0.2');
$first->kill9;

my $moved = wait_until { check($nginx)->status == 200 } 20;
ok $moved, 'Redis has moved to another address';
ok scalar($second->cmd('EXISTS', '{concert}:epoch')), 'which was found';
$nginx->quit;

# a name that nobody knows

$nginx = Admission::Nginx->start(conf("redis://late.test:$port", $resolver));
my $r = check($nginx);
is $r->status, 503, 'an unknown name: 503';
is get($nginx->port, '/ok')->status, 204, 'and the worker goes on';
ok +(wait_until {
        check($nginx);
        $nginx->error_log =~ /redis late.test:$port: the address of the host could not be found: /
    } 20), 'the log says so';

$dns->set('late.test' => '127.0.0.2');
my $found = wait_until { check($nginx)->status == 200 } 20;
ok $found, 'it is found when it is there';
$nginx->quit;

# names that a cluster tells

my $cluster = Admission::Cluster->start(replicas => 0, config => [
    'cluster-announce-hostname node.test',
    'cluster-preferred-endpoint-type hostname' ]);
my @masters = $cluster->masters;
my @events = map { $cluster->event_of($_) } @masters;

# one of them is enough to begin with
my $url = $masters[0]->url . ' cluster=on';

$nginx = Admission::Nginx->start(conf($url));
is_deeply [ map { answered_of($nginx, $_) } @events ], [ 200, 200, 200 ],
          'no resolver: the addresses that come with the names';
$nginx->quit;

$dns->set('node.test' => '127.0.0.1');
$nginx = Admission::Nginx->start(conf($url, $resolver));
is_deeply [ map { answered_of($nginx, $_) } @events ], [ 200, 200, 200 ],
          'with one';
$nginx->quit;

done_testing;
