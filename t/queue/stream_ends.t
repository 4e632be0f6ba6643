# Streams of users: how they end, what is refused, and Redis away.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;
use Admission::Stream;
use Time::HiRes qw(time);

my $site = Admission::Site->start(
    timeout => '60s',
    events => 'default threshold=1 admit_interval=200ms;
               sold threshold=10 slots=0; gated threshold=10 vwr=on;',
    server => <<'END');
        location /tier1/queue/ {
            admission_tier1 on;
            admission_queue_api;
        }
END

sub open_stream ($user, %opt) {
    my $args = delete $opt{args} // '';
    my $path = delete $opt{path} // '/api/queue/stream/concert';

    return Admission::Stream->open($site->port, "$path$args",
                                   bearer => $site->user($user), %opt);
}

sub is_in ($m) { return $m->{status} eq 'active' }


# ---- the end of the user's own token

my $brief = Admission::Stream->open(
    $site->port(0), '/api/queue/stream/concert',
    bearer => user_token($Admission::Site::SECRETS{user}, userId => 'gus',
                         exp => int(time) + 6));

ok $brief->message, 'of a user whose token ends soon';
ok $brief->ended(15), 'the stream ends with it';

my $none = Admission::Stream->open($site->port(0),
                                  '/api/queue/stream/concert');

is $none->status, 401, 'no user';
is open_stream('ann', headers => [ 'Sec-Fetch-Site', 'cross-site' ],
               args => '?join=1')->status, 200, 'a bearer is no cookie';

my $cross = Admission::Stream->open(
    $site->port(0), '/api/queue/stream/concert?join=1',
    cookies => { access_token => $site->user('ann') },
    headers => [ 'Sec-Fetch-Site', 'cross-site' ]);

is $cross->status, 403, 'another site does not join';
is $cross->json->{code}, 'CROSS_SITE', 'by a stream';

my $denied = open_stream('hal', args => '?join=1',
                         path => '/tier1/queue/stream/gated');

is $denied->status, 403, 'nor who has no token of tier 1, where one is needed';
is $denied->json->{code}, 'TIER1_REQUIRED', 'as "check" says';
is open_stream('hal', args => '?join=1',
               path => '/api/queue/stream/sold')->json->{code}, 'SOLD_OUT',
    'nor where all is sold';
is open_stream('hal', path => '/api/queue/stream/sold')->message->{status},
    'sold_out', 'but may look on';

my $head = open_stream('ivy', args => '?join=1', method => 'HEAD');

is $head->status, 200, 'HEAD';
ok $head->ended, 'has no stream';
is $site->call(0, ivy => GET => 'status')->json->{status}, 'not_in_queue',
    'and does not join';


# ---- Redis away: nothing is told but what the host knows, and it goes on

# until now Redis was waited for however long it stood still

$site->{timeout} = 2 * slow . 's';
$site->nginx->reload(http => $site->http, server => $site->server);

answered { $site->call(0, ann => POST => 'leave') };
answered { $site->call(0, fay => POST => 'check') };
answered { $site->call(0, jim => POST => 'check') };

my $jim = answered { open_stream('jim') };

is $jim->message->{status}, 'queued', 'one waits';

$site->redis->sigstop;
is open_stream('kit', args => '?join=1')->status, 503, 'Redis is away';
ok !$jim->ended(1), 'an open stream is not ended by that';
$site->redis->sigcont;

wait_until { $site->call(0, fay => POST => 'leave')->status == 200 };
ok $jim->message_that(\&is_in, 20), 'and goes on when it is back';


# ---- as many as there may be, also of those that are asked for together

my $few = Admission::Site->start(
    redis => $site->redis, workers => 1, timeout => '60s',
    events => 'default threshold=1;', http => 'admission_streams max=3;');

$few->call(0, "u$_" => POST => 'check') for 1 .. 10;
$few->redis->sigstop;

my @asked = map {
    my $connection = Admission::HTTP->connect($few->port);

    $connection->send(Admission::HTTP::compose(
        GET => '/api/queue/stream/concert', bearer => $few->user("u$_")));
    $connection;
} 1 .. 10;

# a connection that was made later is looked at later
is get($few->port, '/plain')->status, 200, 'all are under way';
$few->redis->sigcont;

my %answers;
$answers{ ($_->read_until(qr/\r\n\r\n/) // '') =~ m{^HTTP/1\.1 (\d+)}
          ? $1 : 'none' }++ for @asked;

is_deeply \%answers, { 200 => 3, 503 => 7 }, 'no more than there may be';

done_testing;
