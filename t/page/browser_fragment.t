# What is behind the "#" of what was wanted, in a real browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0 admit_interval=200ms;
               turned threshold=9; sign threshold=9;',
    http => <<'END',
        map $uri $event_of_uri {
            volatile;
            "~^/(?:in|placed|seats|rows)/(?<id>[^/]+)"  $id;
        }
END
    server => <<'END');
        location /vwr/            { admission_page tier1 next=/plain; }
        location /vwr-api/        { admission_vwr_api; }
        location /api/admin/vwr/  { admission_admin_api; }

        location /queue/          { admission_page tier2 api=/api/v1/queue next=/plain; }
        location ~ ^/api/v1/queue/[a-z]+/sign {
            admission_login_uri /login;
            admission_queue_api;
        }
        location ~ ^/api/v1/queue/ { admission_tier1 auto; admission_queue_api; }

        location /in/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            empty_gif;
        }

        location /seats/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            admission_tier2 on;
            empty_gif;
        }

        location /placed/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            admission_deny  status;
            error_page      403 = /vwr/$admission_event;
            empty_gif;
        }

        location /rows/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            admission_tier2 on;
            admission_deny  status;
            error_page      403 = /$admission_verdict-page/$admission_event;
            empty_gif;
        }

        location /tier1-page/ { admission_page tier1 next=/plain; }
        location /tier2-page/ { admission_page tier2 api=/api/v1/queue next=/plain; }

        location = /plain-page { default_type text/html; return 200 "<body>"; }

        location = /login {
            default_type text/html;
            add_header Set-Cookie "access_token=$cookie_offer; Path=/";
            return 200 "<button onclick='location.replace(new URLSearchParams(location.search).get(\"return\"))'>";
        }
END

browser_test('fragment.js', {
    site => 'http://127.0.0.1:' . $site->port,
    secret => $Admission::Site::SECRETS{admin},
    tokens => { map { $_ => $site->user($_) } qw(ann ben cho dan) },
});

done_testing;
