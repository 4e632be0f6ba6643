# Waiting rooms that a host was not there to see: deactivated before it
# started, or activated by the API without being listed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Waiting;

my @page = (Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate');

my $site = waiting_site(
    timeout => '3s', events => 'concert vwr_rate=0;',
    server => 'location /vwr/ { admission_page tier1; }');
my $redis = $site->redis;


sub another_host () {
    push $site->{nginx}->@*, $site->instance;
    return $site->{nginx}->$#*;
}

# where what is asked has nothing to do with how soon Redis answers it is asked until
# it is answered, see `answered`

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }


# ---- deactivated

my $ann = {};

answered { operator($site, POST => 'activate/concert') };
my $given = answered { assign($site, 0, $ann) }->json;
my $ticket = $given->{requestId};
answered { operator($site, POST => 'deactivate/concert') };

ok wait_until(sub { !$redis->cmd('SISMEMBER', 'vwr:active-events',
                                'concert') }),
    'deactivated, and in no list any more';

my $new = another_host;

ok wait_until(sub { check($site, $new, $ann, $ticket)->json->{admitted} }),
    'a host that starts then lets in who has a ticket';
ok $ann->{'urr-vwr-token-concert'}, 'with a token';

answered { operator($site, POST => 'activate/concert?resume=1') };

my $r;

ok wait_until(sub { $r = check($site, $new, $ann, $ticket)->json;
                    !$r->{admitted} }),
    'resumed: they wait';
is $r->{position}, $given->{position}, 'at their place';


# ---- not listed

answered { operator($site, POST => 'activate/other', instance => $new) };

my $ben = {};
my $place = answered { assign($site, $new, $ben, event => 'other') }
            ->json->{requestId};
my $page = visit($site, $new, undef, 'GET', '/vwr/other', headers => \@page);

is $page->status, 200, 'an event that the API activated has a page';
like $page->header('Cache-Control'), qr/^public/, 'which caches may keep';

my $cho = {};
ok((wait_until {
    $page = visit($site, $new, $cho, 'GET', '/vwr/other?nojs=1',
                  headers => \@page);
    $cho->{'admission-ticket-other'}
}), 'one without script gives out tickets');
is $page->status, 200, 'and is a page, too';

is code(answered { check($site, $new, undef, $place, event => 'none') }),
    '404 UNKNOWN_EVENT', 'but others are none';
is get($site->port($new), '/vwr/none')->status, 404, 'and have none';


# ---- and not known yet: that is not to say that there is none

$redis->sigstop;
$new = another_host;

is code(check($site, $new, $ben, $place, event => 'other')),
    '503 UNAVAILABLE', 'Redis gone: not known';
is code(assign($site, $new, $ben, event => 'other')), '503 UNAVAILABLE',
    'nor is whether it is active';

$page = get($site->port($new), '/vwr/other', headers => \@page);
is $page->status, 200, 'the page waits for it';
is $page->header('Cache-Control'), 'no-store', 'and is not stored';

$redis->sigcont;

ok wait_until(sub { check($site, $new, $ben, $place, event => 'other')
                    ->status == 200 }), 'Redis back: it goes on';
is answered { assign($site, $new, $ben, event => 'other') }->json->{requestId},
    $place, 'with the same ticket';

done_testing;
