# Streams of users: what "status" tells, when it changes; on two hosts.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;
use Admission::Stream;
use List::Util qw(max min);
use Time::HiRes qw(time);

my $site = Admission::Site->start(
    instances => 2, timeout => '60s',
    events => 'default threshold=1 claim_ttl=8s admit_interval=200ms;
               calm threshold=0 claim_ttl=1m;
               heard threshold=0 seen_ttl=15s;',
    http => 'admission_cors https://shop.example;',
    server => <<'END');
        location = /metrics { admission_metrics; }
END

sub open_stream ($i, $user, %opt) {
    my $args = delete $opt{args} // '';
    my $path = delete $opt{path} // '/api/queue/stream/concert';

    return Admission::Stream->open($site->port($i), "$path$args",
                                   bearer => $site->user($user), %opt);
}

sub is_in ($m) { return $m->{status} eq 'active' }


# ---- who is in no line, and who joins by the stream

my $nobody = open_stream(0, 'nobody');

is $nobody->status, 200, 'a stream';
is $nobody->header('Set-Cookie'), undef, 'without a cookie';
is $nobody->message->{status}, 'not_in_queue', 'never joins';

my $first = open_stream(0, 'first', args => '?join=1');

is $first->message->{status}, 'active', 'with join=1 it does';

my $ann = open_stream(0, 'ann', args => '?join=1');
my $ben = open_stream(1, 'ben', args => '?join=1');
my $m = $ann->message;

is $m->{status}, 'queued', 'and waits where others are in';
is $m->{position}, 1, 'with a position';
ok $m->{place}, 'and a place';
is $ann->header('Set-Cookie'), undef, 'without a cookie';

is_deeply [ sort keys %$m ],
    [ sort keys $site->call(0, ann => GET => 'status')->json->%* ],
    'with the members that "status" has';
is $ben->message->{position}, 2, 'the next one on another host';


# ---- news

my $since = stopwatch;

$site->call(0, cat => POST => 'check');
ok $ann->message_that(sub ($m) { $m->{queueSize} == 3 }), 'who comes behind';
cmp_ok $since->(), '<', 3 * slow, 'soon';

ok $ben->message_that(sub ($m) { $m->{queueSize} == 3 }), 'on both hosts';


# ---- a turn: told at once, and not taken by it

$site->call(1, first => POST => 'leave');

$m = $ann->message_that(\&is_in);

ok $m, 'the turn has come, and is told';

my $claims = jwt_verify($m->{entryToken}, $Admission::Site::SECRETS{tier2});

is_deeply [ @$claims{qw(sub uid tier)} ], [ 'concert', 'ann', 2 ],
    'with the entry token';
is request($site->port(1), GET => '/gated', bearer => $site->user('ann'),
           headers => [ 'X-Queue-Entry-Token', $m->{entryToken},
                        'Sec-Purpose', 'prefetch' ])->status,
    200, 'which is good, though what nobody has opened yet is no coming';
is $site->redis->cmd('ZSCORE', $site->key('active-seen'), 'ann'), undef,
    'being told is not coming';

ok $first->message_that(sub ($m) { $m->{status} eq 'not_in_queue' }),
    'whoever left is told, too';

# nobody comes: the turn passes to the next one, on the other host

ok $ben->message_that(\&is_in, 30), 'a turn that is not taken is the next one\'s';
is $site->call(1, ben => GET => 'status')->json->{status}, 'active',
    'who comes';
isnt $site->redis->cmd('ZSCORE', $site->key('active-seen'), 'ben'), undef,
    'by a poll';

$m = $ann->message_that(sub ($m) { $m->{status} eq 'queued' });

is $m->{position}, 1, 'who did not come is where it was';


# ---- soon: the least of some, since a busy machine takes longer by itself

my @took;

for my $n (1 .. 5) {
    local $site->{event} = "turn-$n";

    is $site->call(1, "in-$n" => POST => 'check')->json->{status}, 'active',
        'one is in';

    my $next = open_stream(0, "next-$n", args => '?join=1',
                           path => "/api/queue/stream/turn-$n");
    is $next->message->{status}, 'queued', 'the next one waits';

    my $left = stopwatch;
    $site->call(1, "in-$n" => POST => 'leave');
    ok $next->message_that(\&is_in), 'until the turn';
    push @took, $left->();
    $next->close;
    last if $took[-1] < 1.7;
}

cmp_ok min(@took), '<', 1.7 * slow, 'which is told soon';


# ---- words of an operator, a pause, a clear

$site->admin(PUT => 'notice/%s', json => { en => 'later' });
is $ann->message_that(sub ($m) { $m->{notice} })->{notice}, 'later',
    'a notice';

$site->admin(PUT => 'threshold/%s?threshold=0');
ok $ann->message_that(sub ($m) { $m->{threshold} == 0 }), 'a pause';

$site->admin(POST => 'clear/%s');
ok $ann->message_that(sub ($m) { $m->{status} eq 'not_in_queue' }), 'a clear';
$site->admin(DELETE => 'threshold/%s');
$site->admin(DELETE => 'notice/%s');


# ---- a page that nobody looks at

my $dan = open_stream(0, 'dan', args => '?join=1');

is $dan->message->{status}, 'active', 'one is in';

$site->call(0, eve => POST => 'check');

my $away = open_stream(1, 'eve', args => '?away=1');

is $away->message->{status}, 'queued', 'another one waits, away';
$site->call(0, dan => POST => 'leave');

$m = $away->message_that(sub ($m) { $m->{status} ne 'queued' });

is $m->{status}, 'ready', 'and is told of the turn';
is $m->{entryToken}, undef, 'without a token';
is $site->call(0, eve => POST => 'check')->json->{status}, 'active',
    'which is taken by a poll';
ok $away->message_that(\&is_in), 'as the stream tells';


# ---- an open stream is a heartbeat: without it nothing is heard for long.  Of an
#      event with so short a time each is noted.

my $seen = '{heard}:seen';

my $fay = open_stream(1, 'fay', path => '/api/queue/stream/heard?join=1');
is $fay->message->{status}, 'queued', 'another waits';
my $ago = $site->redis->cmd('ZSCORE', $seen, 'fay') - 5_000;
$site->redis->cmd('ZADD', $seen, $ago, 'fay');


# ---- once a second: also where nothing changes, and what changes in between is
#      not left for long

my ($n, $began, @some) = (0, time);
my $gus = open_stream(0, 'gus', path => '/api/queue/stream/calm',
                      args => '?join=1');

# the most of some times, as a host may stand still in one of them

for (1 .. 5) {
    my ($from, $before) = (time, $n);

    while (time - $from - stood($from) < 4) {
        $n++ if $gus->message(0.5);
    }
    cmp_ok $n, '<=', 1 + (time - $began) / 0.9, 'at most one a second';
    push @some, $n - $before;
    last if $some[-1] >= 3 || slow > 1;
}
cmp_ok max(@some), '>=', 3, 'and as many as polls would ask for' if slow == 1;

# of the other stream it takes about as long

ok((wait_until { $site->redis->cmd('ZSCORE', $seen, 'fay') > $ago } 30),
   'an open stream is heard of');

ok $gus->message, 'one was told';
$since = stopwatch;
request($site->port(0), POST => '/api/queue/leave/calm',
        bearer => $site->user('gus'));

ok $gus->message_that(sub ($m) { $m->{status} eq 'not_in_queue' }),
    'and another state right after it is';
cmp_ok $since->(), '<', 2.2 * slow, 'soon';

done_testing;
