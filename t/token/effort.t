# One look at a bad signature counts no more than what an address may be ahead, even
# if the processor's time jumps meanwhile, as it may on a virtual machine.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Keys;
use Admission::Nginx;

my $key = Admission::Keys->new('P-256', kid => 'one');
my $wrong = Admission::Keys->new('P-256', kid => 'one');

my $nginx = Admission::Nginx->start(
    clock => 1, files => { 'keys.json' => Admission::Keys::jwks($key) },
    http => <<'END', server => <<'END');
    add_header X-Id $http_x_user_id;
END
        admission_user jwt;
        admission_secret user jwks=keys.json;

        location / { empty_gif; }
END

my ($good, @bad) = map { $_->token('ES256', { userId => 'ann' }) }
                   $key, ($wrong) x 20;

sub requests (@tokens) {
    return join '', map { Admission::HTTP::compose('GET', '/', bearer => $_) }
           @tokens;
}

my $c = Admission::HTTP->connect($nginx->port, timeout => 60);

$c->send(requests($good));
is $c->response('GET', 60)->header('X-Id'), 'ann', 'a good token';

$nginx->set_clock(0, jump => 1000);
$c->send(requests(@bad));

my @said = map { $c->response('GET', 60)->status } @bad;

is $said[0], 200, 'a bad one is looked at';
is $said[1], 200, 'and the next one';
ok scalar(grep { $_ == 503 } @said), 'the time jumps: the address is bound soon'
    or diag "@said";

done_testing;
