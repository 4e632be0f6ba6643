# Sentinels with "announce-hostnames yes" tell the master by its name, which is
# looked up by NGINX's "resolver": without one it is not found.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::DNS;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Sentinel;

my $user = 'user-secret-of-the-test-01234567890';
my $sentinel = Admission::Sentinel->start(host => 'localhost', replicas => 0,
                                          sentinels => 1);
my $dns = Admission::DNS->start(localhost => '127.0.0.1');
my $resolver = 'resolver ' . $dns->address . ' valid=1s ipv6=off;';

my $by_address = $sentinel->url;
my $by_name = $by_address =~ s/127\.0\.0\.1/localhost/r;


sub conf ($redis, $more = '') {
    return (http => <<END, server => <<'END');
    $more
    admission_redis   $redis timeout=@{[ 2 * slow ]}s;
    admission_secret  tier2 tier2-secret-of-the-test-0123456789;
    admission_secret  user  $user;
END
        admission_user  jwt;
        location /api/queue/        { admission_queue_api; }
        location /api/queue/admin/  { admission_queue_api admin=on; }
END
}

sub joins ($nginx) {
    return post($nginx->port, '/api/queue/check/concert',
                bearer => user_token($user, userId => 'ann'))->status;
}

my $warning = qr{\[warn\].*"admission_redis" have host names.*no "resolver"};

for my $case ([ $by_name, '', 1 ], [ $by_address, '', 0 ],
              [ $by_name, $resolver, 0 ], [ $by_address, $resolver, 0 ])
{
    my ($url, $more, $warned) = @$case;
    my $name = ($url eq $by_name ? 'sentinels by name' : 'by address')
               . ($more ? ', with a resolver' : '');
    my ($status, $output) = Admission::Nginx->conf_test(conf($url, $more));

    is $status, 0, "$name: nginx -t";
    $warned ? like($output, $warning, "$name: which warns")
            : unlike $output, qr/\[warn\]/, "$name: without a warning";

    my $nginx = Admission::Nginx->start(conf($url, $more));

    if ($more) {
        ok +(wait_until { joins($nginx) == 200 } 20), "$name: found";

    } else {
        is joins($nginx), 503, "$name: not found";
        ok +(wait_until {
                joins($nginx);
                $nginx->error_log
                    =~ /redis localhost:\d+: the address .*there is no "resolver"/
            } 20), "$name: which the log says";
    }

    $nginx->quit;
}

# others go on by what was known at the start

my ($status, $output) =
    Admission::Nginx->conf_test(conf('redis://localhost:6379'));
is $status, 0, 'no sentinels: a name of the start will do';
unlike $output, qr/\[warn\]/, 'without a warning';

done_testing;
