# Streams of tickets: what "check" tells, when it changes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;
use Admission::Stream;
use Admission::Waiting;
use List::Util qw(max min);
use Time::HiRes qw(time);

my $site = waiting_site(
    timeout => '5s', events => 'default vwr_rate=0; short ticket_ttl=4s;
                                twice slots=0;',
    http => 'admission_cors https://shop.example; gzip on; gzip_types *;
             gzip_min_length 0; gzip_vary on;',
    server => 'location = /metrics { admission_metrics; }');

my $port = $site->port;

operator($site, POST => 'activate/concert');

sub open_stream ($visitor, %opt) {
    my $event = delete $opt{event} // 'concert';
    my $args = delete $opt{args} // '';
    my $ticket = delete $opt{ticket} // $visitor->{"admission-ticket-$event"};

    return Admission::Stream->open(
        $port, "/vwr-api/stream/$event/$ticket$args",
        cookies => $visitor, %opt);
}

sub metric ($name, %labels) { return metrics($port)->value($name, %labels) }

sub is_admitted ($message) { return $message->{admitted} }


# ---- the first message, and its head

my ($ann, $bob, $eve) = ({}, {}, {});

assign($site, 0, $_) for $ann, $bob, $eve;

my $stream = open_stream($bob, headers => [ 'Accept-Encoding', 'gzip',
                                            Origin => 'https://shop.example' ]);

is $stream->status, 200, 'a stream';
is $stream->header('Content-Type'), 'text/event-stream', 'of events';
is $stream->header('Cache-Control'), 'no-store', 'no-store';
is $stream->header('X-Accel-Buffering'), 'no', 'not to be held up';
is $stream->header('Content-Encoding'), undef, 'nor compressed';
unlike join(' ', $stream->header('Vary')), qr/Accept-Encoding/,
    'nor to be by filters of other modules, for which it is encoded already';
is $stream->header('Set-Cookie'), undef, 'no cookie';
is $stream->header('Access-Control-Allow-Origin'), 'https://shop.example',
    'for pages of the site';

my $first = $stream->message;
my $polled = check($site, 0, $bob, $bob->{'admission-ticket-concert'})->json;

is_deeply $first, $polled, 'what "check" tells';
cmp_ok $stream->retry, '>=', 1000, 'a time after which to come again';
cmp_ok $stream->retry, '<', 5000, 'but soon';


# ---- what changes is told, once a second

my $before = time;
my ($n, $all, @soon) = (0, 3);

# the least of some, since a machine may stand still

for (1 .. 5) {
    my $watch = stopwatch;

    assign($site, 0, {}) for 1 .. 3;
    $all += 3;

    my $more = $stream->message_that(sub ($m) {
        $n++;
        $m->{totalInQueue} == $all;
    });

    ok $more, 'who comes behind';
    push @soon, $watch->();
    last if $soon[-1] < 2;
}

cmp_ok min(@soon), '<', 2 * slow, 'soon';

# the most of some: when the machine stands still, or the worker, nothing is told

my $most = 0;

for (1 .. 5) {
    my ($since, $began, $stood) = ($n, time, 0);

    for (my $last = $began; time - $began - $stood < 3; ) {
        $n++ if $stream->message(0.3);
        assign($site, 0, {});

        my $now = time;
        $stood += $now - $last if $now - $last > 0.6;
        $last = $now;
    }

    $most = max($most, $n - $since);
    last if $most >= 2;
}

# whenever they were read they were sent since then

my $took = time - $before;

cmp_ok $n, '<=', 1 + $took / 0.95, 'at most one a second';
cmp_ok $most, '>=', 2, 'and not much less' if slow == 1;


# ---- the turn

my $ann_stream = open_stream($ann);
my $told = open_stream($eve, cookies => undef);
my $away = open_stream($eve, args => '?away=1');

is $ann_stream->message->{position}, 1, 'another one';
is $told->message->{holder}, false, 'of a ticket that is another visitor\'s';
is $away->message->{position}, 3, 'of a page that nobody looks at';

operator($site, POST => 'advance/concert', json => { batchSize => 2 });

my $turn = $ann_stream->message_that(\&is_admitted);

is $turn->{admitted}, true, 'the turn has come';

my $claims = jwt_verify($turn->{token}, $Admission::Site::SECRETS{tier1});

is_deeply [ @$claims{qw(sub position tier)} ], [ 'concert', 1, 1 ],
    'with the token';
is get($port, '/events/concert', cookies => {
       'admission-visitor' => $ann->{'admission-visitor'},
       'urr-vwr-token' => $turn->{token} })->status, 200, 'which is good';
is $stream->message_that(\&is_admitted)->{position}, 2, 'the next one too';
is $ann_stream->message(1.5), undef, 'and is told once';

operator($site, POST => 'advance/concert', json => { batchSize => 1 });

$turn = $away->message_that(\&is_admitted);

is $turn->{admitted}, true, 'whoever is away is told';
is $turn->{token}, undef, 'without a token';
ok $told->ended, 'whoever only was told of the ticket is told no more';

is open_stream($eve, cookies => undef)->status, 404, 'nor when asking again';
is open_stream($eve)->message->{admitted}, true, 'a stream that begins then';


# ---- within a second: the least of some, since a busy machine takes longer

operator($site, POST => 'activate/turns');

my @took;

for (1 .. 5) {
    my $visitor = {};
    assign($site, 0, $visitor, event => 'turns');

    my $waits = open_stream($visitor, event => 'turns');
    $waits->message;

    my $moved = stopwatch;
    operator($site, POST => 'advance/turns', json => { batchSize => 1 });
    ok $waits->message_that(\&is_admitted), 'a turn is told';
    push @took, $moved->();
    $waits->close;
    last if $took[-1] < 1.2;
}

cmp_ok min(@took), '<', 1.2 * slow, 'within a second';


# ---- words of an operator, a pause

my $late = {};
assign($site, 0, $late);

my $ko = open_stream($late, args => '?lang=ko');
my $en = open_stream($late, headers => [ 'Accept-Language', 'en' ]);

$_->message for $ko, $en;

@soon = ();

for (1 .. 5) {
    my $watch = stopwatch;
    operator($site, PUT => 'notice/concert', json => { ko => "\x{ac00}",
                                                      en => 'later' });

    is $en->message_that(sub ($m) { $m->{notice} })->{notice}, 'later',
        'a notice';
    push @soon, $watch->();
    last if $soon[-1] < 3;

    operator($site, DELETE => 'notice/concert');
    $_->message_that(sub ($m) { !$m->{notice} }) for $en, $ko;
}

cmp_ok min(@soon), '<', 3 * slow, 'soon';
is $ko->message_that(sub ($m) { $m->{notice} })->{noticeLang}, 'ko',
    'in the language asked for';

operator($site, DELETE => 'notice/concert');
ok $en->message_that(sub ($m) { !$m->{notice} }), 'which ends';

operator($site, PUT => 'rate/concert?rate=100');
ok $en->message_that(sub ($m) { !$m->{paused} }), 'it goes on';
ok $ko->message_that(\&is_admitted), 'up to the turn';


# ---- refusals are those of "check"

is open_stream($ann, ticket => 'nonsense')->status, 404, 'no ticket';
is open_stream($ann, event => 'other', ticket => $ann->{
       'admission-ticket-concert'})->status, 404, 'of another event';

my $post = open_stream($ann, method => 'POST');

is $post->status, 405, 'not by POST';
is $post->header('Allow'), 'GET, HEAD', 'but';

my $head = open_stream($late, method => 'HEAD');

is $head->status, 200, 'HEAD';
is $head->header('Content-Type'), 'text/event-stream', 'as GET';
ok $head->ended, 'without a stream';


# ---- the ends of a stream

operator($site, POST => 'activate/short');

my $ends;

# another one where the machine stood still for as long as one is good

for (1 .. 5) {
    my $brief = {};
    assign($site, 0, $brief, event => 'short');
    $ends = open_stream($brief, event => 'short');
    last if $ends->status == 200;
}

ok $ends->message, 'of a ticket that ends soon';
ok $ends->ended(15), 'it ends with the ticket';
ok $ends->{whole}, 'in good order';

operator($site, POST => 'activate/twice');

my $once = {};
assign($site, 0, $once, event => 'twice');

my $old = open_stream($once, event => 'twice');

ok $old->message, 'of an activation';
operator($site, POST => 'activate/twice?restart=1');
ok $old->ended, 'it ends with that';

my $plain = open_stream($late, version => '1.0');

ok $plain->message, 'HTTP/1.0';
is $plain->header('Transfer-Encoding'), undef, 'has no chunks';


# ---- what is counted

$_->close for $ko, $en, $plain, $stream, $ann_stream, $away;

wait_until { metric('streams') == 0 };

is metric('streams'), 0, 'none is open';
cmp_ok metric('streams_opened_total', tier => 1), '>=', 10,
    'opened';
cmp_ok metric('streams_ended_total', why => 'client'), '>=', 6,
    'whose clients went';
cmp_ok metric('streams_ended_total', why => 'over'), '>=', 3,
    'that were over';

done_testing;
