# TLS to Redis: it works by every way to be sure of the other end, and where
# one cannot be, nothing is sent there, a line says why, and users get 503.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Certs;
use Admission::Crowd;
use Admission::FakeRedis;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Redis;
use Admission::Site;

use Time::HiRes qw(time);

watched;
my $user = 'user-secret-of-the-test-01234567890';

my $ca = Admission::Certs->new('ca');
my $other_ca = Admission::Certs->new('other-ca');

my $cert = $ca->issue('redis', qw(IP:127.0.0.1 DNS:localhost DNS:redis.test));
my $other_name = $ca->issue('other-name', qw(IP:127.0.0.2 DNS:other.test));
my $expired = $ca->issue('expired', -1, 'IP:127.0.0.1');
my $foreign = $other_ca->issue('foreign', 'IP:127.0.0.1');
my $client = $ca->issue('client', 'DNS:client.test');
my $foreign_client = $other_ca->issue('foreign-client', 'DNS:client.test');

my $tls_ca = 'tls_ca=' . $ca->cert;


sub conf ($redis) {
    return (http => <<END, server => <<'END');
    admission_redis   $redis;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
END
}

sub nginx ($redis, %opt) {
    $redis .= ' timeout=' . 3 * slow . 's' if $redis !~ /timeout/;
    return Admission::Nginx->start(conf($redis), %opt);
}

sub check ($nginx, $who = 'alice') {
    return post($nginx->port, '/api/queue/check/concert',
                bearer => user_token($user, userId => $who));
}

sub client_cert ($of) {
    return 'tls_cert=' . $of->cert . ' tls_key=' . $of->key;
}


# ---- the configuration

sub refused ($args, $pattern) {
    my ($status, $output) = Admission::Nginx->conf_test(conf($args));

    ok $status != 0 && $output =~ $pattern && $output !~ /s3cret/,
       "refused: $args" or diag $output;
}

my $none = test_dir . '/none.pem';
my $rubbish = write_file(test_dir . '/rubbish.pem', "no certificate\n");

refused("redis://u:s3cret\@127.0.0.1 $_=x",
        qr{"$_=" in "admission_redis" is for "rediss://", not for "redis://1})
    for qw(tls_ca tls_cert tls_key tls_name);
refused("unix:/run/redis.sock $tls_ca", qr/is for "rediss:/);
refused("rediss://127.0.0.1 tls_ca=$_", qr/"tls_ca=$_" in "admission_redis"/)
    for $none, $rubbish;
refused('rediss://127.0.0.1 tls_cert=x', qr/"tls_key=" .* need each other/);
refused('rediss://127.0.0.1 tls_key=x', qr/"tls_key=" .* need each other/);
refused("rediss://127.0.0.1 tls_cert=$none tls_key=$none",
        qr/"tls_cert=$none" and "tls_key=$none" .*: .*No such file/);
refused('rediss://127.0.0.1 tls_cert=' . $cert->cert . ' tls_key='
        . $client->key, qr/"tls_key=.*: .*key values mismatch/);
refused("rediss://127.0.0.1 tls_name=", qr/empty "tls_name="/);
refused("rediss://127.0.0.1 $tls_ca $tls_ca", qr/duplicate "tls_ca="/);


# ---- ways that work

my $redis = Admission::Redis->start(
    tls => [ $ca, $cert ],
    acl => [ 'user default on nopass ~* &* +@all',
             'user tickets on >s3cret ~* &* +@all' ]);

sub works ($what, $args, %opt) {
    my $nginx = nginx($args, %opt);
    my $response = check($nginx);

    is $response->status, 200, $what or diag $nginx->error_log;
    $nginx->quit;
    return $nginx;
}

works('an address in the certificate', $redis->url(tls => 1) . " $tls_ca");
works('a host name', $redis->url(tls => 'localhost') . " $tls_ca");
works('tls_name', $redis->url(tls => 1) . " $tls_ca tls_name=redis.test");
works('tls_name is an address',
      $redis->url(tls => 'localhost') . " $tls_ca tls_name=127.0.0.1");
works('a database and a user', $redis->url(tls => 1, user => 'tickets',
      password => 's3cret', db => 3) . " $tls_ca");
works('a client certificate nobody asked for',
      $redis->url(tls => 1) . " $tls_ca " . client_cert($client));

ok grep({ /\{concert\}/ } @{ $redis->client(db => 3)->cmd('KEYS', '*') }),
   'the database was used';

# without tls_ca it is the system's trust store, which OpenSSL lets one name

works('the trust store of the system', $redis->url(tls => 1),
      env => { SSL_CERT_FILE => $ca->cert, SSL_CERT_DIR => '/none' });

for my $version ('TLSv1.2', 'TLSv1.3') {
    $redis->cmd('CONFIG', 'SET', 'tls-protocols', $version);
    works($version, $redis->url(tls => 1) . " $tls_ca");
}

$redis->cmd('CONFIG', 'SET', 'tls-auth-clients', 'yes');

works('a client certificate that is asked for',
      $redis->url(tls => 1) . " $tls_ca " . client_cert($client));


# ---- ways that do not

my $login = $redis->url(tls => 1, user => 'tickets', password => 's3cret');

# a log line each time that the reason is told, at most one a second

sub fails ($what, $args, $pattern, %opt) {
    my $before = $redis->stats;
    my $start = time;
    my $nginx = nginx($args, %opt);
    my @answers = map { check($nginx, "user$_") } 1 .. 10;
    my @lines = grep { /redis \S+ (?:still )?down/ }
                split /\n/, $nginx->error_log;

    my $seconds = time - $start;

    # nobody waits for another deadline
    ok !grep({ $_->status != 503 || $_->net > 1.9 * 3 * slow } @answers),
       "$what: 503" or diag join ' ', map { $_->status } @answers;
    ok @lines && $lines[0] =~ $pattern && @lines <= 2 + $seconds,
       "$what: a line says why" or diag $nginx->error_log;
    unlike $nginx->error_log, qr/s3cret|\[crit\]/, "$what: and no other";

    my $after = $redis->stats;
    is $after->{auth} // 0, $before->{auth} // 0, "$what: no password is sent"
        if !$opt{sent};

    $nginx->quit;
}

fails('no client certificate', "$login $tls_ca", qr/certificate required/,
      sent => 1);
fails('a client certificate of others',
      "$login $tls_ca " . client_cert($foreign_client),
      qr/alert unknown ca|certificate/, sent => 1);

$redis->cmd('CONFIG', 'SET', 'tls-auth-clients', 'no');

fails('another authority', "$login tls_ca=" . $other_ca->cert,
      qr/TLS to 127\.0\.0\.1:\d+ failed: the certificate is not trusted: /);
fails('a trust store without it', $login,
      qr/the certificate is not trusted: /, env => {
          SSL_CERT_FILE => $other_ca->cert, SSL_CERT_DIR => '/none' });
fails('another name', "$login $tls_ca tls_name=other.test",
      qr/the certificate does not match "other\.test", see "tls_name="/);

$redis->cmd('CONFIG', 'SET', 'tls-cert-file', $other_name->cert,
            'tls-key-file', $other_name->key);
fails('a certificate of another address', "$login $tls_ca",
      qr/the certificate does not match "127\.0\.0\.1"/);
works('but tls_name may say so', "$login $tls_ca tls_name=other.test");

$redis->cmd('CONFIG', 'SET', 'tls-cert-file', $expired->cert,
            'tls-key-file', $expired->key);
fails('an expired certificate', "$login $tls_ca",
      qr/not trusted: certificate has expired/);

$redis->cmd('CONFIG', 'SET', 'tls-cert-file', $foreign->cert,
            'tls-key-file', $foreign->key);
fails('a certificate of others', "$login $tls_ca", qr/not trusted: /);

$redis->cmd('CONFIG', 'SET', 'tls-cert-file', $cert->cert,
            'tls-key-file', $cert->key);

fails('no TLS there', 'rediss://tickets:s3cret@127.0.0.1:' . $redis->port
      . " $tls_ca timeout=" . 1000 * slow . 'ms',
      qr/the TLS handshake timed out/);
fails('nothing but TLS there', 'redis://127.0.0.1:' . $redis->tls_port,
      qr/connection closed by Redis/);

my $silent = Admission::FakeRedis->start(sub ($c) { $c->hang });

fails('silence', 'rediss://127.0.0.1:' . $silent->port
      . " $tls_ca timeout=" . 300 * slow . 'ms',
      qr/the TLS handshake timed out/);
$silent->stop;


# ---- what is said in the handshake

my $port = free_port;
my $peer = Admission::Process->start(name => 'tls-peer', command => [
    'python3', root . '/t/lib/tls_peer.py', $port, $cert->cert, $cert->key,
    $redis->port ]);
Admission::Test::register($peer);

wait_until { IO::Socket::INET->new("127.0.0.1:$port") } 10;

sub handshake ($n) {
    return ($peer->output =~ /^handshake (.*)$/mg)[$n] // '';
}

my $nginx = nginx("rediss://127.0.0.1:$port $tls_ca tls_name=redis.test");
check($nginx);
is handshake(0), 'redis.test new', 'tls_name is asked for';

# a session is resumed: by then Redis has been heard of once more

check($nginx, 'bob');
$redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
ok +(wait_until { check($nginx)->status == 200 && handshake(1) } 20),
   'works after a reconnect';
is handshake(1), 'redis.test resumed', 'which resumes the session';
$nginx->quit;

my $many = () = $peer->output =~ /^handshake /mg;

$nginx = nginx("rediss://127.0.0.1:$port $tls_ca");
check($nginx);
is handshake($many), '- new', 'no address is asked for';
$nginx->quit;


# ---- a journey

{
    my $tls = Admission::Redis->start(tls => [ $ca, $cert ]);
    my $timeout = 1.5;
    my $site = Admission::Site->start(
        redis => $tls, instances => 2, connections => 2048,
        timeout => $timeout * 1000 * slow . 'ms',
        redis_url => $tls->url(tls => 1) . " $tls_ca",
        events => 'default threshold=20 admit_interval=100ms;');

    my $crowd = Admission::Crowd->new(
        site => $site, users => 300, threshold => 20, arrive => 4,
        poll => 0.5, stay => [0.1, 0.4]);

    my $set = sub ($to) {
        $tls->cmd('CONFIG', 'SET', 'tls-cert-file', $to->cert,
                  'tls-key-file', $to->key);
        $tls->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    };

    # for a while, and until users and both hosts have seen it

    my $seen = sub () {
        return $crowd->{errors}{503}
               && !grep { $_->error_log !~ /the certificate is not trusted/ }
                        $site->nginx(0), $site->nginx(1);
    };

    my $again;
    $again = sub {
        $seen->() ? $set->($cert) : $crowd->{swarm}->timer(0.1, $again);
    };

    $crowd->{swarm}->timer(@$_) for
        [ 1, sub { $set->($cert) } ],
        [ 2, sub { $set->($foreign);
                   $crowd->{swarm}->timer(1.5 * slow, $again) } ];

    ok $crowd->run(240), 'everybody got in or left'
        or diag join "\n", ($crowd->lost)[0 .. 20];
    note $crowd->report;

    is_deeply $crowd->{violations}, [], 'no invariant was broken';
    is_deeply [ grep { !/503$/ } keys $crowd->{errors}->%* ], [],
        'no error but 503';
    ok $crowd->{errors}{503}, 'which came while nobody could be trusted';
    cmp_ok $site->slowest, '<', 1.9 * $timeout * slow() + standstill(),
        'and in time';
    like $_->error_log, qr/the certificate is not trusted/, 'the log says so'
        for $site->nginx(0), $site->nginx(1);
}

done_testing;
