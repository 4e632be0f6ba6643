# A room on standby: unseen below its rate, seen over it, unseen again.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Site;
use Admission::Waiting;

my $site = waiting_site(
    events => 'concert vwr=standby vwr_rate=8; other vwr=on;',
    server => <<'END');
        location /page/     { admission_tier1 auto; empty_gif; }
END

my @page = (headers => [ Accept => 'text/html' ]);

sub page ($visitor = {}, $path = '/events/1', %opt) {
    return visit($site, 0, $visitor, 'GET', $path, @page, %opt);
}

wait_until { operator($site, GET => 'status/concert')->json->{isActive} };
my $v = {};
my $r = page($v);
diag $r->status, ' ', $r->header('Location') // '', $r->header('Cache-Control');
diag join ' ', %$v;
$r = visit($site, 0, $v, 'GET', '/events/1');
diag $r->status;
for (1..40) { my $r = page(); diag time, ' ', $r->status; }
diag $site->redis->cmd('HGETALL', '{concert}:vwr')->@*;
ok 1;
done_testing;
