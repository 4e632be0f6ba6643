# A sale with a time in a real browser: the countdown, whatever the device's date
# is, a change of the times, the start; lots and their places; the control page.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=5 vwr_rate=100 "title=Spring Concert";
               lots vwr_rate=0 order=draw lots=visitor "title=Autumn Concert";
               moved "title=Moved Concert";',
    server => <<'END');
        location /vwr/            { admission_page tier1 next=/plain; }
        location /vwr-api/        { admission_vwr_api; }
        location /control/        { admission_page admin queue=/api/queue/admin; }
        location /api/admin/vwr/  { admission_admin_api; }
END

browser_test('sale.js', {
    site => 'http://127.0.0.1:' . $site->port,
    tokens => { admin => $Admission::Site::SECRETS{admin} },
});

done_testing;
