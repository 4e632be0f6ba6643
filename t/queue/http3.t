# The queue API and its streams over HTTP/3, where NGINX has it and curl speaks
# it: polls, a turn that a stream tells of, clients that go away.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

BEGIN {
    my $nginx = $ENV{TEST_NGINX_BINARY} || 'nginx';
    plan(skip_all => 'NGINX has no HTTP/3')
        if (run($nginx, '-V'))[1] !~ /--with-http_v3_module/;
    plan(skip_all => 'curl has no HTTP/3')
        if (run('curl', '-V'))[1] !~ /^Features:.* HTTP3\b/m;
}

use Admission::Certs;
use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Process;
use Admission::Site;

my $ca = Admission::Certs->new('ca');
my $cert = $ca->issue('site', 'IP:127.0.0.1');
my ($chain, $key) = ($cert->cert, $cert->key);
my $port = free_port;       # of UDP: nobody can connect to it

my $site = Admission::Site->start(
    workers => 1, timeout => '60s',
    events => 'default threshold=1 admit_interval=200ms;',
    server => 'location = /metrics { admission_metrics; }',
    http => <<END);
    server {
        listen               127.0.0.1:$port quic;
        ssl_certificate      $chain;
        ssl_certificate_key  $key;
        keepalive_timeout    8s;
        admission_user       jwt;
        admission_event      concert;

        location /api/queue/  { admission_queue_api; }
        location = /gated     { admission_tier2 on; empty_gif; }
    }
END
my $base = "https://127.0.0.1:$port";

sub curl ($user, $path, @more) {
    return ('curl', '--http3-only', '-sS', '-N', '--max-time', 60 * slow,
            '--cacert', $ca->cert,
            '-H', 'Authorization: Bearer ' . $site->user($user), @more,
            "$base$path");
}

# status, headers as a text, and the JSON of the body

sub call ($user, $path, @more) {
    my ($status, $out) = run(curl($user, $path, '-i', @more));
    is $status, 0, "curl: $path" or diag $out;
    my ($head, $body) = split /\r?\n\r?\n/, $out, 2;
    return ($head =~ m{^HTTP/3 (\d+)}, $head,
            eval { json_decode($body) } // $body);
}

my @streams;

sub listens ($user, @more) {
    my @command = curl($user, '/api/queue/stream/concert?join=1', @more);
    my $process = Admission::Process->start(
        name => "curl-$user", command => \@command,
        output => test_dir . "/$user.stream");
    push @streams, $process;
    return $process;
}

sub told ($stream, $code, $timeout = 10) {
    return wait_until {
        grep { $code->($_) } map { json_decode($_) }
                             $stream->output =~ /^data: (.*)\n\n/mg;
    } $timeout;
}

sub open_streams () { return metrics($site->port(0))->value('streams') // 0 }


# ---- calls

my ($status, $head, $json) = call('in', '/api/queue/check/concert',
                                  '-X', 'POST');
is $status, 200, 'a join';
is $json->{status}, 'active', 'the first one is in';
like $head, qr/^set-cookie: urr-entry-token/mi, 'with a cookie';

is +(call('in', '/gated', '-H', "X-Queue-Entry-Token: $json->{entryToken}",
          '-o', '/dev/null', '-D', '-'))[0], 200, 'whom the gate knows';
is +(call('in', '/gated'))[0], 403, 'by the token alone';

(undef, undef, $json) = call('ann', '/api/queue/check/concert', '-d', '{}',
                             '-H', 'Content-Type: application/json');
is $json->{position}, 1, 'the next one waits, who sent a body';
(undef, undef, my $again) = call('ann', '/api/queue/status/concert', '-H',
                                 "X-Queue-Place: $json->{place}");
is $again->{position}, 1, 'as a poll says';


# ---- streams

my $ben = listens('ben');
ok told($ben, sub ($m) { ($m->{position} // 0) == 2 }), 'a stream';
my $cat = listens('cat');
ok told($cat, sub ($m) { ($m->{position} // 0) == 3 }), 'and another';
is open_streams, 2, 'are open';

call('ann', '/api/queue/leave/concert', '-X', 'DELETE');
ok told($ben, sub ($m) { ($m->{position} // 0) == 1 }), 'who waits moves up';

call('in', '/api/queue/leave/concert', '-X', 'POST');
ok told($ben, sub ($m) { $m->{status} eq 'active' && $m->{entryToken} }),
    'a turn is told, with the token' or diag $ben->output;

# a client that goes, and those that vanish

my $eve = listens('eve', '--max-time', 10 * slow);
ok told($eve, sub ($m) { $m->{status} eq 'queued' }), 'one more';
ok((wait_until { open_streams == 2 } 40), 'which goes, and is gone');
is +(grep { alive($_->pid) } $ben, $cat), 2, 'the others go on';

$_->finish(signals => [ 'KILL' ]) for @streams;
ok((wait_until { open_streams == 0 } 40),
    'who vanishes is gone when keepalive_timeout is over');

done_testing;
