# The waiting room's page in a real browser, and the queue's after it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::JWT;
use Admission::Site;

# the counter stands: the test moves it by hand

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0 admit_interval=200ms
                       "title=Spring Concert" "artist=The Band";',
    http => <<'END',
        map $uri $event_of_uri {
            volatile;
            "~^/(?:events|seats|in)/(?<id>[^/]+)"  $id;
        }

        # one ticket each 10 s for all who come by this address

        server {
            listen 127.0.0.1:%%PORT_few%%;

            location /vwr/     { admission_page tier1 next=/plain; }
            location /vwr-api/ { admission_vwr_api assign_rate=6r/m burst=1; }
            location /plain    { empty_gif; }
        }
END
    server => <<'END');
        location /vwr/            { admission_page tier1 next=/plain; }
        location /twice/          { admission_page tier1 "next=/{event}/{event}"; }
        location /vwr-api/        { admission_vwr_api; }
        location /api/admin/vwr/  { admission_admin_api; }

        location /queue/          { admission_page tier2 api=/api/v1/queue; }
        location ~ ^/api/v1/queue/ {
            admission_tier1 auto;
            admission_queue_api;
        }

        location /events/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            empty_gif;
        }

        location /in/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            admission_deny  status;
            error_page      403 =200 /vwr/$admission_event;
            empty_gif;
        }

        location /seats/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            admission_tier2 on;
            empty_gif;
        }
END

browser_test('tier1.js', {
    site => 'http://127.0.0.1:' . $site->port,
    few => 'http://127.0.0.1:' . $site->nginx->port('few'),
    tokens => { admin => $Admission::Site::SECRETS{admin},
                map { $_ => $site->user($_) } qw(ann ben cho) },
});

done_testing;
