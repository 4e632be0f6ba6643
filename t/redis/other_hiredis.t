# Another module that brings along a hiredis of its own, as nchan does, and is
# loaded before: NGINX shows its functions to all that are loaded after it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $dir = test_dir;
my $user = 'user-secret-of-the-test-01234567890';

# one whose functions end whoever calls them

my @names = qw(redisReaderCreate redisReaderCreateWithFunctions redisReaderFeed
               redisReaderFree redisReaderGetReply redisFormatCommandArgv
               freeReplyObject sdsempty sdsnewlen sdsfree sdscatlen sdsrange);

write_file("$dir/other.c", join "\n", '#include <stdlib.h>',
    'void *ngx_modules[1];', 'char *ngx_module_names[1];',
    (map { "void $_(void) { abort(); }" } @names), '');

my ($rc, $out) = run($ENV{CC} // 'cc', qw(-shared -fPIC -w -o), "$dir/other.so",
                     "$dir/other.c");
is $rc, 0, 'another module' or diag $out;

my $redis = Admission::Redis->start;
my $nginx = Admission::Nginx->start(modules => ["$dir/other.so"],
    http => <<END, server => <<'END');
    admission_redis   @{[ $redis->url ]} timeout=@{[ 3 * slow ]}s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;
        location /api/queue/  { admission_queue_api; }
        location /limited/    { admission_rate_limit all rate=100r/m; }
END

my $answer = post($nginx->port, '/api/queue/check/concert',
                  bearer => user_token($user, userId => 'ann'));

is $answer->status, 200, 'Redis is asked by the functions of this one';
is $answer->json->{status}, 'active', 'and understood';
ok get($nginx->port, '/limited/')->header('RateLimit'), 'by limits, too';

done_testing;
