# admission_bypass: what lets the tiers pass and what does not, and what holds
# all the same: limits, headers of identity, other access modules.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Waiting;

my %secret = %Admission::Site::SECRETS;
my $edge = 'edge-secret-of-the-test-0123456789abcdef';

my $site = waiting_site(
    timeout => '30s',
    http => <<'END',
    log_format bypass "$request_uri $status $admission_verdict"
                      " \"$admission_reason\"";

    geo $office { default 0; 192.0.2.0/24 1; }
    map $http_user_agent $monitor { ~^Monitor/ 1; default ""; }
    map $request_method $reads { volatile; GET 1; default 0; }
END
    server => <<"END");
        access_log          %%DIR%%/bypass.log bypass;
        set_real_ip_from    127.0.0.1;
        real_ip_header      X-Real-IP;

        admission_tier1     auto;
        admission_deny      json;

        location /value/    { admission_bypass \$arg_b;
                              proxy_pass http://booking; }
        location /several/  { admission_bypass \$office\$monitor;
                              proxy_pass http://booking; }
        location /joined/   { admission_bypass \$monitor\$arg_b;
                              proxy_pass http://booking; }
        location /always/   { admission_bypass 1; admission_tier2 on;
                              proxy_pass http://booking;
            location /always/not/ { admission_bypass 0;
                                    proxy_pass http://booking; }
            location /always/none/ { admission_bypass "";
                                     proxy_pass http://booking; }
            location /always/open/ { admission_tier1 off; admission_tier2 off;
                                     proxy_pass http://booking; }
            location /always/limit/ { admission_rate_limit bypass rate=1r/h;
                                      proxy_pass http://booking; }
            location /always/dry/   { admission_dry_run on;
                                      admission_rate_limit try rate=1r/h;
                                      proxy_pass http://booking; }
            location /always/denied/ { satisfy any; deny all;
                                       proxy_pass http://booking; }
            location /always/queue/ { admission_queue_api; }
            location /always/user/  { admission_user \$arg_user;
                                      proxy_pass http://booking; }
            location /always/to/    { rewrite ^/always/to(/.*)\$ \$1 last; }
        }
        location /reads/    { admission_bypass \$reads;
                              proxy_pass http://booking; }
        location /from/     { rewrite ^/from(/.*)\$ /always\$1 last; }

        location /edge/queue/ {
            admission_trusted_edge  X-Edge $edge;
            admission_queue_api;
        }
END

my $port = $site->port;
my ($answer, %seen);

sub ask ($path, %opt) {
    my $log = $site->nginx->dir . '/bypass.log';
    my $mark = length read_file($log);

    $answer = request($port, $opt{method} // 'GET', $path, %opt);

    # others may come late: those of calls that this sub did not make

    my $verdict;
    wait_until {
        ($verdict) = substr(read_file($log), $mark) =~ /^\Q$path\E (.*)$/m;
    } 10;

    %seen = map { lc $_->[0] => $_->[1] } @{ ($answer->json // {})->{headers}
                                              // [] };
    return $verdict;
}

my $PASS = '200 bypass "-"';
my $DENIED = '403 tier1 "no token"';

operator($site, POST => 'activate/concert');
wait_until { ask('/value/x') eq $DENIED } 20;


# ---- values

is ask("/value/x?b=$_"), $PASS, "\"$_\" passes"
    for qw(1 yes no off on false 00 0.0 -0), '0%20', '+', '%30';
is ask("/value/x$_"), $DENIED, "\"$_\" does not" for '', '?b=', '?b=0', '?a=1';

is ask('/several/x'), '403 tier1 "no token"', 'two variables, "0" and ""';
is ask('/several/x', headers => [ 'X-Real-IP' => '192.0.2.7' ]), $PASS,
    'by address';
is ask('/several/x', headers => [ 'X-Real-IP' => '198.51.100.7' ]), $DENIED,
    'of another network';
is ask('/joined/x'), $DENIED, 'none of two';
is ask('/joined/x?b=0'), $DENIED, '"0" alone';
is ask('/joined/x?b=0', headers => [ 'User-Agent' => 'Monitor/1' ]), $PASS,
    '"10" is not "0"';


# ---- where

is ask('/always/x'), $PASS, 'a constant';
is ask('/always/not/x'), '401 user "no user"', '"0" below it';
is ask('/always/none/x'), '401 user "no user"', 'the empty value below it';
is ask('/always/open/x'), '200 - "-"', 'where there is nothing to bypass';
is ask('/always/user/x?user=ann'), $PASS, 'where the user is a variable';
is $seen{'x-user-id'}, 'ann', 'who is told';
is ask('/from/x'), $PASS, 'redirected to where it is';
is ask('/always/to/value/x'), $DENIED, 'redirected from where it is';
is ask('/reads/x'), $PASS, 'by method: GET';
is ask('/reads/x', method => 'POST'), $DENIED, 'POST';
is ask('/reads/x', method => 'HEAD'), $DENIED, 'HEAD is what the map says';


# ---- what holds

my @spoofed = (headers => [ 'X-User-Id' => 'root', 'X-User-Role' => 'admin',
                            'x-admission-event' => 'other' ]);

is ask('/always/x', @spoofed), $PASS, 'headers of identity';
is_deeply [ @seen{qw(x-user-id x-user-role x-admission-event)} ],
    [ undef, undef, undef ], 'are removed';

is ask('/always/x', @spoofed, bearer => $site->user('ann')), $PASS,
    'and with a user';
is_deeply [ @seen{qw(x-user-id x-user-role x-admission-event)} ],
    [ 'ann', 'user', undef ], 'are set';

is ask('/always/limit/x'), $PASS, 'a limit: once';
is ask('/always/limit/x'), '429 limited "bypass"', 'and no more';
is ask('/always/dry/x'), $PASS, 'in a dry run: once';
is ask('/always/dry/x'), '200 limited "try"', 'and more';

is ask('/always/denied/x'), '403 bypass "-"', 'deny all is not bypassed';
is ask('/always/x', method => 'OPTIONS', headers => [
       Origin => 'https://a.example',
       'Access-Control-Request-Method' => 'GET' ]), '200 - "-"',
    'a preflight is not judged at all';
is $answer->header('Cache-Control'), undef, 'an answer is not made private';


# ---- joining the queue through tier 1

sub call ($prefix, $call, $who, @headers) {
    ask("$prefix/$call/concert", bearer => $site->user($who),
        method => $call eq 'check' ? 'POST' : 'GET', headers => \@headers);
    return $answer->json->{status} // $answer->json->{code};
}

is call('/tier1/queue', 'check', 'ann'), 'TIER1_REQUIRED',
    'joining needs a token';
is call('/always/queue', 'status', 'ann'), 'not_in_queue', 'nobody joined';
is call('/always/queue', 'check', 'ann'), 'active', 'bypassed: it needs none';
is call('/tier1/queue', 'check', 'ann'), 'active', 'nor who is in';

is call('/edge/queue', 'check', 'ben'), 'TIER1_REQUIRED',
    'a trusted edge: not without its header';
is call('/edge/queue', 'check', 'ben', 'X-Edge' => uc $edge),
    'TIER1_REQUIRED', 'nor with a wrong one';
is call('/edge/queue', 'check', 'ben', ('X-Edge' => $edge) x 2),
    'TIER1_REQUIRED', 'nor with two';
is call('/edge/queue', 'check', 'ben', 'X-Edge' => $edge), 'active',
    'but with it';

done_testing;
