# The waiting room of an event whose seats are sold: no tickets, those who have
# one are told, with and without JavaScript; on all hosts, and until there are
# more.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;
use Admission::Waiting;

my $site = waiting_site(
    instances => 2, timeout => '5s',
    events => 'default vwr_rate=0;
               concert slots=2 threshold=2 vwr_rate=0;
               plain   vwr_rate=0;',
    server => 'location /vwr/ { admission_page tier1; }
               location = /metrics { admission_metrics; }');
my $port = $site->port;

operator($site, POST => "activate/$_") for qw(concert plain);

sub json ($i, $path) { return get($site->port($i), "/vwr-api/$path")->json }

sub page ($i, $cookies = {}) {
    return get($site->port($i), '/vwr/concert?nojs=1', cookies => $cookies,
               headers => [ Accept => 'text/html',
                            'Sec-Fetch-Mode' => 'navigate' ]);
}

# within two seconds

sub soon :prototype(&) ($block) {
    my $took = stopwatch;
    my $value;

    wait_until { $value = $block->(); $value || $took->() > 2 * slow } 30;
    return $value;
}

sub shown ($page) { return ($page->body =~ /<main class="([^"]*)"/)[0] }

my $visitor = {};
my $ticket = assign($site, 0, $visitor)->json->{requestId};

ok $ticket, 'a ticket';
is json(1, "check/concert/$ticket")->{seats}, undef, 'nothing is said of seats';
is shown(page(0)), 'waiting paused', 'nor on the page';


# ---- all with people inside

# where Redis stood still for 1.5 s nobody is let in for as long
for my $who (qw(ann ben)) {
    ok wait_until { $site->call(0, $who, POST => 'check')->json->{entryToken} };
}
ok soon { (json(1, "check/concert/$ticket")->{seats} // -1) == 0 };
ok soon { (json(0, 'status/concert')->{seats} // -1) == 0 };
is json(1, "check/concert/$ticket")->{seats}, 0,
    'all that are left are with people inside';
is json(0, 'status/concert')->{seats}, 0, 'by status';
is assign($site, 1, {})->status, 200, 'there may be some left';
is shown(page(1)), 'waiting last', 'the page says so';
like page(1)->body,
    qr{if-last" >All remaining seats are being booked.*<span lang="ko">남은 좌석},
    'in both languages';


# ---- sold

sub sell ($who) {
    return $site->admin(POST => "complete/%s?user=$who")->json->{sold};
}

is sell('ann'), 1, 'one is sold';
is json(0, 'status/concert')->{status}, undef, 'which is not all';
is sell('ben'), 2, 'two';

for my $i (0, 1) {
    ok soon { (json($i, 'status/concert')->{status} // '') eq 'sold_out' };
    is json($i, 'status/concert')->{status}, 'sold_out', "host $i: sold out";
    my $check = json($i, "check/concert/$ticket");
    is "$check->{status} $check->{position}", 'sold_out 1',
        "host $i: who waits is told, and keeps the number";
    my $r = assign($site, $i, {});
    is $r->status . ' ' . $r->json->{code}, '409 SOLD_OUT',
        "host $i: no more tickets";
    is metrics($site->port($i))->value('sold_out_refused_total', tier => 1), 1,
        "host $i: counts it";
    is json($i, 'status/plain')->{status}, undef, "host $i: another event";
    is assign($site, $i, {}, event => 'plain')->status, 200,
        "host $i: has its own";

    my $page = page($i);
    is shown($page), 'sold', "host $i: the page";
    like $page->body, qr/Sold out.*매진.*All seats are sold.*판매되었/s,
        "host $i: in both languages";
    is $page->header('Set-Cookie'), undef, "host $i: without a ticket";
    is $page->header('Refresh'), '2; url=?nojs=1', "host $i: comes again";
}

is assign($site, 0, $visitor)->status, 409, 'whoever asks';


# ---- and open again

$site->admin(PUT => 'slots/%s?slots=3');
ok soon { assign($site, 1, $visitor)->status == 200 };
is assign($site, 1, $visitor)->json->{requestId}, $ticket,
    'more seats: the ticket is what it was';
is json(1, 'status/concert')->{status}, undef, 'not sold out';
is json(1, 'status/concert')->{seats}, undef, 'nor the last ones';
is shown(page(1)), 'waiting paused', 'the page goes on';

done_testing;
