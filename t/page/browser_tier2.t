# The queue's page in a real browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::JWT;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=2 "title=Spring Concert" "artist=The Band"
                       admit_interval=200ms seen_ttl=600s;
               paused threshold=0;' . join('',
            # a user is in at most 4 that have no line
            map { " $_ threshold=2;" }
                qw(first hangul in in-loop failing waking leaving)),
    http => <<'END',
        map $uri $event_of_uri {
            volatile;
            "~^/(?:queue|seats)/(?<id>[^/]+)"  $id;
        }
END
    server => <<'END');
        root %%DIR%%;

        location /queue/ {
            admission_page tier2 "next=/plain?e={event}";
        }

        location /seats/ {
            admission_event $event_of_uri;
            admission_login_uri /login;
            admission_tier2 on;
            empty_gif;
        }

        location ~ ^/api/queue/[a-z]+/in {
            admission_login_uri /login?from=queue;
            admission_queue_api;
        }

        location = /login {
            default_type text/html;
            add_header Set-Cookie "access_token=$cookie_offer; Path=/";
            return 200 "<script>location.replace(new URLSearchParams(location.search).get('return'))</script>";
        }

        location /loop {
            return 302 /queue/in-loop?return=/loop;
        }
END

my @users = qw(ann ben cho dan eve fay gus hal);

browser_test('tier2.js', {
    site => 'http://127.0.0.1:' . $site->port,
    tokens => { map { $_ => $site->user($_) } @users },
});

done_testing;
