# Both tiers' pages where seats run out, in a real browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::Waiting;

my @queues = map { "queue-$_" } qw(en-gb ko-kr);
my @rooms = map { "room-$_" } qw(en-gb ko-kr);

my $lines = join "\n", 'default threshold=9;',
    map { "$_ slots=1 threshold=9 vwr_rate=0 admit_interval=200ms;" }
        @queues, @rooms;

my $site = waiting_site(
    timeout => '5s',
    events => $lines,
    server => <<'END');
        location /queue/ { admission_page tier2; }
        location /vwr/   { admission_page tier1; }
END

operator($site, POST => "activate/$_") for @rooms;

browser_test('seats.js', {
    site => 'http://127.0.0.1:' . $site->port,
    secret => $Admission::Site::SECRETS{admin},
    tokens => { map { $_ => $site->user($_) } qw(ann cho dan) },
});

done_testing;
