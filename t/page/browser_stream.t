# The pages in a real browser, by streams: what is told, cut, held up, refused.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::Waiting;

my $site = waiting_site(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0 admit_interval=200ms;
               ' . join('', map { "$_ threshold=1 vwr_rate=0;" }
                            qw(told cut refused held client room)),
    server => <<'END');
        location /vwr/   { admission_page tier1 next=/plain; }
        location /queue/ { admission_page tier2 next=/plain; }
END

operator($site, POST => 'activate/room');

my @users = qw(ann ben cho dan eve);

browser_test('stream.js', {
    site => 'http://127.0.0.1:' . $site->port,
    admin => $Admission::Site::SECRETS{admin},
    tokens => { map { $_ => $site->user($_) } @users },
});

done_testing;
