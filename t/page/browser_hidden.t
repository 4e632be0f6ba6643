# Pages that nobody looks at, and tabs that have another's ticket, in a real
# browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::JWT;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0 admit_interval=100ms;
               called  threshold=1 admit_interval=100ms claim_ttl=1h
                       "title=Spring Concert";
               quiet   threshold=1 admit_interval=100ms claim_ttl=1h;
               late    threshold=1 admit_interval=100ms claim_ttl=1s;
               spent   threshold=1 admit_interval=100ms active_ttl=2s;
               room    vwr_rate=0; others  vwr_rate=0;',
    http => 'map $uri $event_of_uri { volatile;
                                      "~^/(?:seats|in)/(?<id>[^/]+)"  $id; }',
    server => <<'END');
        location /queue/          { admission_page tier2 next=/plain; }
        location /vwr/            { admission_page tier1 next=/plain; }
        location /vwr-api/        { admission_vwr_api; }
        location /api/admin/vwr/  { admission_admin_api; }

        location /seats/ {
            admission_event $event_of_uri;
            admission_tier2 on;
            empty_gif;
        }

        location /in/ {
            admission_event $event_of_uri;
            admission_tier1 auto;
            empty_gif;
        }
END

browser_test('hidden.js', {
    site => 'http://127.0.0.1:' . $site->port,
    tokens => { admin => $Admission::Site::SECRETS{admin},
                map { $_ => $site->user($_) } qw(ann ben cho dan) },
});

done_testing;
