# What keeps a page from being shown, and browsers that lack what newer ones
# have, in a real browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::JWT;
use Admission::Site;

# A policy for the whole site, and a proxy before it that adds one, or cuts the
# scripts out of what it takes for pages.

my $site = Admission::Site->start(
    timeout => '5s',
    events => join('', map { "$_ threshold=1 vwr_rate=0 admit_interval=100ms
                              \"title=Spring Concert\"; " }
                       qw(policy front cut old2 old1 torn2 torn1)),
    http => <<'END',
        map $uri $event_of_uri { volatile; "~^/(?:seats|in)/(?<id>[^/]+)"  $id; }

        server {
            listen 127.0.0.1:%%PORT_front%%;
            add_header Content-Security-Policy "default-src 'self'" always;
            location / { proxy_pass http://127.0.0.1:%%PORT%%;
                         proxy_set_header Host $http_host; }
        }

        server {
            listen 127.0.0.1:%%PORT_cut%%;
            sub_filter '"use strict";' '"use strict"; // ';
            location / { proxy_pass http://127.0.0.1:%%PORT%%;
                         proxy_set_header Host $http_host; }
        }
END
    server => <<'END');
        add_header Content-Security-Policy "default-src 'self'" always;

        location /queue/          { admission_page tier2 next=/plain; }
        location /vwr/            { admission_page tier1 next=/plain; }
        location /admin           { admission_page admin; }
        location /vwr-api/        { admission_vwr_api; }
        location /api/admin/vwr/  { admission_admin_api; }

        location /seats/ {
            admission_event $event_of_uri;
            admission_tier2 on;
            add_header X-Site yes;     # Chromium styles an image that it shows
            empty_gif;
        }

        location /in/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            add_header X-Site yes;
            empty_gif;
        }
END

browser_test('kept.js', {
    site => 'http://127.0.0.1:' . $site->port,
    front => 'http://127.0.0.1:' . $site->nginx->port('front'),
    cut => 'http://127.0.0.1:' . $site->nginx->port('cut'),
    tokens => { admin => $Admission::Site::SECRETS{admin},
                map { $_ => $site->user($_) } qw(ann cho) },
});

done_testing;
