# What the waiting room has to withstand: tickets that are none, and told of,
# calls around it, a spent place.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;
my $key = key_of('ticket');

my $site = waiting_site(instances => 2, timeout => '5s',
                        events => 'default threshold=1 vwr_rate=0;');
my $port = $site->port;

sub code ($r) { return $r->status . ' ' . ($r->json->{code} // '') }

operator($site, POST => "activate/$_") for qw(concert other);

my $ann = {};
my $ticket = assign($site, 0, $ann)->json->{requestId};
my $claims = jwt_decode($ticket);


# ---- tickets that are none: one answer for all of them, letting in or not

sub altered (%claims) {
    my %all = (%$claims, %claims);
    delete @all{ grep { !defined $all{$_} } keys %all };
    return jwt_sign(\%all, $key);
}

my ($head, $body, $mac) = split /\./, $ticket;

my %none = (
    'nothing'           => 'x',
    'a uuid'            => '3f0c2b1e-0000-4000-8000-000000000001',
    'a number'          => '1',
    'unsigned'          => "$head.$body.",
    'without signature' => "$head.$body",
    'cut'               => substr($ticket, 0, -1),
    'longer'            => "${ticket}A",
    'over 512 bytes'    => altered(more => 'x' x 400),
    'in upper case'     => uc $ticket,
    'altered'           => join('.', $head, b64url(json_encode(
                               { %$claims, p => 0 })), $mac),
    'alg none'          => jwt_raw('{"alg":"none"}', json_encode($claims),
                                   $key, signature => ''),
    'HS512'             => jwt_sign($claims, $key, alg => 'HS512'),
    'of another secret' => jwt_sign($claims, 'x' x 32),
    'of the secret itself' => jwt_sign($claims, $secret{tier1}),
    'of the visitors\' key' => jwt_sign($claims, key_of('visitor')),
    'a visitor'         => $ann->{'admission-visitor'},
    'a tier 1 token'    => tier1_token($secret{tier1}, sub => 'concert'),
    'expired'           => altered(exp => time - 6),
    'without expiry'    => altered(exp => undef),
    'without visitor'   => altered(v => undef),
    'without position'  => altered(p => undef),
    'negative'          => altered(p => -1),
    'of another event'  => altered(e => 'other'),
    'of an activation before' => altered(a => $claims->{a} - 1),
    'of no activation'  => altered(a => undef),
    'claims of old names' => altered(e => undef, sub => 'concert'),
);

for my $advanced (0, 1) {
    for my $what (sort keys %none) {
        my $r = check($site, $advanced, $ann, $none{$what});

        is_deeply [ $r->status, $r->json ],
            [ 404, { error => 'No such position',
                     code => 'POSITION_NOT_FOUND' } ], "a ticket: $what";
        is_deeply $r->cookies, {}, "no cookie: $what";
    }

    advance_past($site);
}

is code(get($port, '/vwr-api/check/concert/' . 'x' x 3000)),
    '404 POSITION_NOT_FOUND', 'a long one';
is code(get($port, "/vwr-api/check/other/$ticket")), '404 POSITION_NOT_FOUND',
    'at another event';

my $before = get($port, '/vwr-api/status/concert')->json->{totalInQueue};
my %jar = ('admission-visitor' => $ann->{'admission-visitor'});
my $n = 0;

for my $what ('nothing', 'altered', 'expired', 'of another event',
              'of an activation before')
{
    $n++;
    is assign($site, 0, { %jar, 'admission-ticket' => $none{$what} })
        ->json->{position}, $before + $n, "assign keeps no ticket: $what";
}


# ---- a ticket's address, shared

my $ben = {};
assign($site, 0, $ben);

for my $case ([ 'nobody', {} ], [ 'another visitor', $ben ],
              [ 'a forged visitor', { 'admission-visitor' => jwt_sign(
                    { vis => $claims->{v}, exp => time + 600 }, 'x' x 32) } ],
              [ 'a ticket for a visitor',
                { 'admission-visitor' => altered(vis => $claims->{v}) } ],
              [ 'the ticket as well', { 'admission-ticket' => $ticket } ])
{
    my ($who, $jar) = @$case;
    my $r = check($site, 0, { %$jar }, $ticket);

    is code($r), '404 POSITION_NOT_FOUND', "it is no place of $who";
    ok !exists $r->json->{token}, "$who gets no token";
    is_deeply $r->cookies, {}, "$who gets no cookie";
}

my $token = check($site, 0, $ann, $ticket)->json->{token};
ok $token, 'its visitor gets one';


# ---- around it

sub queue ($who, $event, $jar = {}, $prefix = '/tier1/queue') {
    return request($port, 'POST', "$prefix/check/$event",
                   bearer => $site->user($who), cookies => $jar);
}

is get($port, $_)->status, 403, $_ for '/events/', '/EVENTS/../events/',
    '/events/?vwrPosition=1', '/events/;x', '//events/';
is code(queue('x', $_)), '403 TIER1_REQUIRED', "queue: $_"
    for qw(concert CONCERT Concert);
is code(queue('x', 'concert', {}, "/tier1/queue/any/api/v1")),
    '403 TIER1_REQUIRED', 'under another prefix';
is code(queue('x', 'concert?vwrPosition=1')), '403 TIER1_REQUIRED',
    'a parameter';
is code(queue('x', 'concert', { 'urr-vwr-token' => $token })),
    '403 TIER1_REQUIRED', 'the token of another visitor';
is code(queue('x', 'other', { %$ann, 'urr-vwr-token' => $token })),
    '403 TIER1_REQUIRED', 'the token of another event';

# where Redis stood still for 1.5 s nobody is let in for as long

sub enters ($what) {
    ok +(wait_until { (queue('ann', 'concert', $ann)->json->{status} // '')
                      eq 'active' }), $what;
}

enters('ann is in');
is code(queue('x', 'concert', $ann)), '403 POSITION_USED',
    'her position is spent';

my %cookies = request($port, 'POST', '/tier1/queue/check/concert', cookies =>
    $ann, bearer => $site->user('x'))->cookies->%*;
is $cookies{"$_-concert"}{attributes}{'max-age'}, 0, "$_ goes"
    for 'urr-vwr-token', 'admission-ticket';

my $entry = queue('ann', 'concert', $ann)->json->{entryToken};
is code(request($port, 'POST', '/tier1/queue/check/concert', bearer =>
    $site->user('cho'), headers => [ 'X-Queue-Entry-Token' => $entry ])),
    '403 TIER1_REQUIRED', 'nor does her entry token help another';

request($port, 'POST', '/tier1/queue/leave/concert',
        bearer => $site->user('ann'));
enters('ann comes again with her token');
cmp_ok queue('ben', 'concert', do { advance_past($site);
    check($site, 0, $ben, $ben->{'admission-ticket-concert'}); $ben })
    ->json->{position}, '==', 1, 'ben waits';


done_testing;
