# Locations that the module answers itself, with "if" and "limit_except" in
# them: these answer as the location does, and an inherited gate leaves them
# alone all the same.  Beside the content handler of another module none of
# them stands.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(workers => 1, timeout => '5s', server => <<'END');
        admission_tier2  on;

        location /if/queue/ {
            if ($arg_x) { add_header X-If yes; }
            admission_queue_api;
        }
        location /if/operators/ {
            if ($arg_x) { add_header X-If yes; }
            admission_queue_api admin=on;
        }
        location /if/vwr/ {
            if ($arg_x) { add_header X-If yes; }
            admission_vwr_api;
        }
        location /if/admin/ {
            if ($arg_x) { add_header X-If yes; }
            admission_admin_api;
        }
        location /if/page/ {
            admission_page tier2 next=/there;
            if ($arg_x) { add_header X-If yes; }
        }
        location = /if/page {
            admission_page admin;
            if ($arg_x) { add_header X-If yes; }
        }
        location = /if/metrics {
            if ($arg_x) { add_header X-If yes; }
            admission_metrics;
        }
        location = /if/health {
            if ($arg_x) { add_header X-If yes; }
            admission_health live;
        }

        location /if/other/ {
            if ($arg_x) { proxy_pass http://booking; }
            admission_queue_api;
        }

        location /except/queue/ {
            limit_except GET { allow all; }
            admission_queue_api;
        }
        location /except/page/ {
            limit_except POST { allow all; }
            admission_page tier2 next=/there;
        }
        location /except/closed/ {
            limit_except GET { deny all; }
            admission_queue_api;
        }
END

my $admin = 'Bearer ' . $Admission::Site::SECRETS{admin};

sub ask ($method, $path, %opt) {
    return request($site->port, $method, $path, bearer => $site->user('ann'),
                   %opt);
}

sub operator ($path) {
    return request($site->port, GET => $path,
                   headers => [ Authorization => $admin ]);
}


# ---- if

for my $x ('', '?x=1') {
    my $r = ask(POST => "/if/queue/check/concert$x");
    is $r->json->{status}, 'active', "queue$x: joins";
    is $r->header('X-If'), ($x ? 'yes' : undef), "queue$x: as configured";

    is operator("/if/operators/admin/concert$x")->json->{currentUsers}, 1,
        "operators$x";
    is ask(GET => "/if/vwr/status/concert$x")->json->{eventId}, 'concert',
        "vwr$x";
    is operator("/if/admin/status/concert$x")->json->{eventId}, 'concert',
        "admin$x";
    is operator("/if/page$x")->status, 200, "page of operators$x";
    like ask(GET => "/if/metrics$x")->body, qr/^nginx_admission_/m,
        "metrics$x";
    is ask(GET => "/if/health$x")->json->{status}, 'live', "health$x";

    $r = ask(GET => "/if/page/concert$x");
    is $r->status, 200, "page$x";
    like $r->body, qr{"/there"}, "page$x: its own";
}

is ask(POST => '/if/other/check/concert')->json->{status}, 'active',
    'a call, and what goes elsewhere';
is ask(POST => '/if/other/check/concert?x=1')->json->{code},
    'TIER2_REQUIRED', 'is gated';


# ---- limit_except

is ask($$_[0] => "/except/queue/$$_[1]/concert")->json->{status}, 'active',
    "limit_except: $$_[0]"
    for [ GET => 'status' ], [ POST => 'check' ];
like ask(GET => '/except/page/concert')->body, qr{"/there"},
    'limit_except: page';
is ask(POST => '/except/closed/check/concert')->status, 403,
    'limit_except with deny';
is ask(GET => '/except/closed/status/concert')->json->{status}, 'active',
    'and for the methods that it excepts';

done_testing;
