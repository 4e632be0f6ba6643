# A line that takes no more, and an operator's word, on the pages in a real
# browser: of both tiers, without JavaScript, and the operators' own.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Browser;
use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1 vwr_rate=0 admit_interval=200ms
                       "title=Spring Concert";
               full threshold=0 max_queue=1 vwr_rate=0 vwr_max_queue=1;
               long threshold=0 max_wait=1s;
               word threshold=0 vwr_rate=0;
               held threshold=1;
               lost threshold=0 slots=5;',
    server => <<'END');
        location /vwr/            { admission_page tier1 next=/plain; }
        location /vwr-api/        { admission_vwr_api; }
        location /queue/          { admission_page tier2 next=/plain; }
        location /control/        { admission_page admin; }
        location /api/admin/vwr/  { admission_admin_api; }
END

# what was sold is lost, as after a loss of data that no host remembers

request($site->port, POST => '/api/queue/check/lost',
        bearer => $site->user('ann'));
$site->redis->cmd('HSET', '{lost}:state', unsold => 1);

browser_test('word.js', {
    site => 'http://127.0.0.1:' . $site->port,
    tokens => { admin => $Admission::Site::SECRETS{admin},
                map { $_ => $site->user($_) } qw(ann ben cho dan) },
});

done_testing;
