# Tabs of one browser that open together, in a real browser: one ticket.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::Site;

# the counter stands: the test moves it by hand

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default vwr_rate=0 "title=Spring Concert";
               line threshold=0; line-old threshold=0;',
    http => 'map $uri $event_of_uri { volatile; "~^/in/(?<id>[^/]+)"  $id; }',
    server => <<'END');
        location /vwr/            { admission_page tier1 next=/plain; }
        location /vwr-api/        { admission_vwr_api; }
        location /api/admin/vwr/  { admission_admin_api; }
        location /queue/          { admission_page tier2 api=/line-api; }
        location /line-api/       { admission_user visitor; admission_queue_api; }

        location /in/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            empty_gif;
        }
END

browser_test('tabs.js', {
    site => 'http://127.0.0.1:' . $site->port,
    secret => $Admission::Site::SECRETS{admin},
});

done_testing;
