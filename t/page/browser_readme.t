# The configuration of the README in a real browser: what a newcomer sees who
# opens the pages that it names.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Browser;
use Admission::Example;
use Admission::Redis;

my ($conf) = read_file(root . '/README.md') =~ /^```nginx\n(.*?^http \{.*?)^```/ms;

my $example = Admission::Example->start(
    'README', text => $conf, redis => Admission::Redis->start,
    backend => Admission::Backend->start);

browser_test('readme.js', {
    site => 'http://127.0.0.1:' . $example->port,
    secret => $example->secret('admin'),
}, 120);

done_testing;
