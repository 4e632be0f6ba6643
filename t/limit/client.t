# Whom a rate limit counts: addresses after realip, networks of IPv6, verified
# users and no others; and streams that end while Redis is asked.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $secret = 'u' x 40;
my $redis = Admission::Redis->start;

my $nginx = Admission::Nginx->start(
    vars => { REDIS => $redis->url },
    http => <<"END",
    admission_redis %%REDIS%% timeout=60s;
    admission_secret user $secret;
    admission_secret tier1 ${\ ('w' x 40)};
END
    server => <<'END');
        listen            127.0.0.1:%%PORT_h2%% http2;
        set_real_ip_from  127.0.0.1;
        real_ip_header    X-Real-IP;

        location /net/  { empty_gif; admission_rate_limit net rate=2r/m; }
        location /56/   { empty_gif;
                          admission_rate_limit net56 rate=2r/m
                              ipv6_prefix=56; }
        location /59/   { empty_gif;
                          admission_rate_limit net59 rate=2r/m
                              ipv6_prefix=59; }
        location /128/  { empty_gif;
                          admission_rate_limit net128 rate=2r/m
                              ipv6_prefix=128; }
        location /both/ { empty_gif; admission_user jwt;
                          admission_rate_limit who rate=2r/m;
                          admission_rate_limit where rate=4r/m
                              key=$admission_address; }
        location /visitor/ { empty_gif; admission_user visitor;
                          admission_rate_limit visitor rate=2r/m; }
        location /slow/ { empty_gif; admission_rate_limit slow rate=100r/m; }
        location = /now { stub_status; }
END

my $port = $nginx->port;

sub from ($address, $path, %opt) {
    return get($port, $path, %opt, headers => [ 'X-Real-IP' => $address ]);
}

sub statuses ($path, @addresses) {
    return join ' ', map { from($_, $path)->status } @addresses;
}

sub keys_of ($category) {
    return sort map { s/^rate:$category://r }
           $redis->cmd('KEYS', "rate:$category:*")->@*;
}


is statuses('/net/', qw(2001:db8:1:2::1 2001:db8:1:2:3::4
                        2001:db8:1:2:ffff:ffff:ffff:ffff)),
    '200 200 429', 'a /64 shares a budget';
is statuses('/net/', qw(2001:db8:1:3::1)), '200', 'the next one has its own';
is statuses('/net/', qw(192.0.2.1 ::ffff:192.0.2.1 192.0.2.1)),
    '200 200 429', 'IPv4 mapped to IPv6 is IPv4';
is statuses('/net/', qw(192.0.2.2)), '200', 'each address of which counts';
is_deeply [ keys_of('net') ],
    [ qw(ip:192.0.2.1 ip:192.0.2.2 ip:2001:db8:1:2::/64
         ip:2001:db8:1:3::/64) ], 'their keys';

is statuses('/56/', qw(2001:db8:1:200::1 2001:db8:1:2ff::1 2001:db8:1:201::1)),
    '200 200 429', 'ipv6_prefix=56';
is statuses('/56/', '2001:db8:1:300::1'), '200', 'and the next one';
is statuses('/59/', qw(2001:db8:1:20::1 2001:db8:1:3f::1 2001:db8:1:2f::1)),
    '200 200 429', 'ipv6_prefix=59';
is statuses('/59/', '2001:db8:1:40::1'), '200', 'and the next one';
is statuses('/128/', qw(2001:db8::1 2001:db8::1 2001:db8::1 2001:db8::2)),
    '200 200 429 200', 'ipv6_prefix=128';
is_deeply [ map { keys_of($_) } qw(net56 net59 net128) ],
    [ qw(ip:2001:db8:1:200::/56 ip:2001:db8:1:300::/56
         ip:2001:db8:1:20::/59 ip:2001:db8:1:40::/59
         ip:2001:db8::1/128 ip:2001:db8::2/128) ], 'their keys';


# the IPv4 address that NAT64 has inside of its own

is statuses('/net/', qw(192.0.2.77 64:ff9b::192.0.2.77 64:ff9b::c000:24d)),
    '200 200 429', 'NAT64 is IPv4';
is statuses('/net/', qw(64:ff9b::192.0.2.78 64:ff9b::192.0.2.79
                        64:ff9b::192.0.2.78 64:ff9b::198.51.100.1)),
    '200 200 200 200', 'and not one client';
is statuses("/$_/", qw(64:ff9b::192.0.2.80 192.0.2.80 192.0.2.80)),
    '200 200 429', "nor by ipv6_prefix=$_" for 56, 128;

# where it is within a prefix of the network's own is not known, but it is one
# address there

is statuses('/net/', (map { ("64:ff9b:1::$_") x 2 } qw(192.0.2.81 192.0.2.82)),
            '64:ff9b:1::192.0.2.81', '64:ff9b:1:c000:2:5300::',
            '64:ff9b:1:c000:2:5400::'),
    '200 200 200 200 429 200 200', 'local NAT64, address by address';

# what is beside these is IPv6

is statuses('/net/', @$_), '200 200 429', "beside: $_->[0]"
    for [ qw(64:ff9b::1:0:1 64:ff9b::1:0:0:1 64:ff9b::1:0:0:2) ],
        [ qw(64:ff9b:2::1 64:ff9b:2::2 64:ff9b:2::3) ],
        [ qw(64:ff9c::1 64:ff9c::2 64:ff9c::3) ];


# users

my $good = user_token($secret, userId => 'ann');
my $forged = user_token('x' x 40, userId => 'ann');
my $expired = user_token($secret, userId => 'ann', exp => time - 60);

is join(' ', map { from("192.0.2.$_", '/both/', bearer => $good)->status }
             11 .. 13), '200 200 429', 'a user, wherever they are';
is join(' ', map { from('192.0.2.20', '/both/', bearer => $_)->status }
             $forged, $expired, $forged), '200 200 429',
    'a token that is not good is nobody: the address counts';

my @many = map { user_token($secret, userId => "many$_") } 1 .. 5;

is join(' ', map { from('192.0.2.30', '/both/', bearer => $_)->status } @many),
    '200 200 200 200 429', 'many users of an address';
is_deeply [ grep { /many5/ } keys_of('who') ], [],
    'and who is refused for that is not charged';

my ($visitor) = map { from('192.0.2.40', '/visitor/', cookies => {
                           'admission-visitor' => $_ })->status } 'made-up';

is $visitor, 200, 'a visitor';
is_deeply [ keys_of('visitor') ], [ 'ip:192.0.2.40' ],
    'who is made up is an address';


# HTTP/2 streams that are reset, or whose connection closes

# connections there are, or requests that wait, besides the one that looks

sub now ($what) {
    return get($port, '/now')->body =~ /$what: (\d+)/ ? $1 - 1 : -1;
}

wait_until { now('connections') == 0 } 10;

my ($worker) = $nginx->worker_pids;
my $fds = fd_count($worker);
my $h2 = Admission::HTTP2->connect($nginx->port('h2'));

$redis->sigstop;
$h2->headers($_, 'GET', '/slow/') for 1, 3;
ok +(wait_until { now('Writing') == 2 } 20), 'two streams wait';
$h2->reset(1);
ok +(wait_until { now('Writing') == 1 } 20), 'then one';
$redis->sigcont;

ok length $h2->body(3), 'a stream is reset, another one is answered';

$redis->sigstop;
$h2->headers($_, 'GET', '/slow/') for 5, 7;
ok +(wait_until { now('Writing') == 2 } 20), 'two more wait';
$h2->close;
ok +(wait_until { now('connections') == 0 } 20), 'a connection closes';
ok +(wait_until { fd_count($worker) <= $fds } 20), 'and nothing else is open';
$redis->sigcont;

is statuses('/slow/', '192.0.2.50'), '200', 'and nothing else happens';
ok +(wait_until { $redis->cmd('ZCARD', 'rate:slow:ip:127.0.0.1') == 4 } 20),
    'they cost their entries';

done_testing;
