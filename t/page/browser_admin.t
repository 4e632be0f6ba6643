# The operators' page in a real browser.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;

# what a title may do that is written into a page as it is
my $hostile = q{<img src=x onerror=alert(1)></h2><script>alert(2)</script>&amp;};

my $site = waiting_site(
    timeout => '5s',
    events => qq{default threshold=2 vwr_rate=0 admit_interval=100ms;
                 concert threshold=2 vwr_rate=0 vwr_burst=0
                         admit_interval=100ms
                         "title=Spring Concert" "artist=The Band";
                 paused  threshold=0 vwr_rate=0 "title=$hostile"
                         "artist=$hostile";
                 fixed   vwr=off;
                 config  vwr=on vwr_rate=1 backend_latency=500ms;},
    server => <<'END');
        admission_login_uri /login;

        location = /admin       { admission_page admin; }
        location = /admin-wrong { admission_page admin queue=/nowhere; }

        location = /login {
            default_type text/html;
            return 200 "<title>login $arg_return</title>";
        }
END

my %role = (root => 'admin');
my @users = map { "u$_" } 1 .. 9;

browser_test('admin.js', {
    site => 'http://127.0.0.1:' . $site->port,
    hostile => $hostile,
    secret => $Admission::Site::SECRETS{admin},
    tokens => { map {
        $_ => user_token($Admission::Site::SECRETS{user}, userId => $_,
                         exp => time + 86400,
                         ($role{$_} ? (role => $role{$_}) : ()))
    } @users, keys %role },
});

my $log = $site->nginx->error_log;

ok $log =~ /\[notice\].*event "concert": $_ by (?:the admin secret|user "root")/,
    "the log: $_"
    for 'waiting room activated', 'waiting room deactivated',
        'waiting room advanced by 2 to 2', 'rate set to 1000', 'rate set back',
        'threshold set to 3', 'threshold set back', 'queue cleared';
unlike $log, qr/\Q$Admission::Site::SECRETS{admin}/, 'no secret in it';

done_testing;
