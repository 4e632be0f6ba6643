# The turn of a ticket that the counter passed before it was issued: in a
# quiet waiting room the counter stands vwr_burst ahead of the positions.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Waiting;
use List::Util qw(min);

my $site = waiting_site(
    timeout => '5s',
    events => 'default vwr_rate=1000 token_ttl=5s session_max=8s;');

operator($site, POST => 'activate/concert');

ok wait_until(sub { get($site->port, '/vwr-api/status/concert')
                    ->json->{serving} == 1000 }), 'the counter is ahead';

# longer than a session that had begun then

sleep 9;

my $ann = {};
my $r = assign($site, 0, $ann);
my $ticket = $r->json->{requestId};

is $r->json->{position}, 1, 'the first to come';

$r = check($site, 0, $ann, $ticket);
is $r->status, 200, 'is let in' or diag $r->raw;

my $token = jwt_decode($r->json->{token} // '') // {};
is $token->{position}, 1, 'by a token that has the position';
is $token->{adm}, $token->{at}, 'whose turn came with the ticket';
is $token->{exp}, min($token->{iat} + 5, int($token->{at} / 1e6) + 8),
    'and whose life has just begun, as the session has';
is get($site->port, '/events/x', cookies => $ann)->status, 200,
    'the gate takes it';

# a session is over all the same

ok wait_until(sub { check($site, 0, $ann, $ticket)->status == 404 }, 20),
    'until session_max after that';

done_testing;
