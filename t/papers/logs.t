# The error log: a change of the host is one line, whatever number of workers see
# it; all lines are documented; no token or secret is in them.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;

my $doc = read_file(root . '/docs/logs.md');
my ($format) = $doc =~ /^(    log_format admission .*?;)$/ms;

my $site = Admission::Site->start(
    instances => 2, workers => 2, timeout => '2s',
    redis_opt => { password => 'redis-password-of-the-tests' },
    events => 'default threshold=1 restore_wait=5s admit_interval=100ms;',
    http => $format,
    server => <<'END');
        access_log logged.log admission;
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /few            { admission_rate_limit few rate=1000r/s;
                                   empty_gif; }
END

my @nginx = map { $site->nginx($_) } 0, 1;
my @mark;

sub mark () { @mark = map { $_->log_mark } @nginx }

# how many lines on a host since the mark
sub lines ($i, $pattern) {
    my @lines = grep { /$pattern/ } split /\n/, $nginx[$i]->error_log($mark[$i]);
    return scalar @lines;
}

sub each_host ($what, @patterns) {
    my $all = sub ($pattern) { !grep { !lines($_, $pattern) } 0, 1 };

    wait_until { !grep { !$all->($_) } @patterns } 30;

    for my $pattern (@patterns) {
        is(lines($_, $pattern), 1, "$what: one line, host $_: $pattern")
            or diag $nginx[$_]->error_log($mark[$_]) for 0, 1;
    }
}

sub operator ($i, $path) {
    return request($site->port($i), POST => "/api/admin/vwr/$path/concert",
                   bearer => $Admission::Site::SECRETS{admin})->status;
}

# to both workers of both hosts, at once
sub crowd ($method, $path, $n = 40) {
    my @open = map { Admission::HTTP->connect($site->port($_ % 2)) } 1 .. $n;
    my $user = $site->user('ann');

    $_->send(Admission::HTTP::compose($method, $path, bearer => $user))
        for @open;
    return map { $_->response } @open;
}


# what is active when a host first hears of Redis is no change

sub listed ($i) {
    return request($site->port($i), GET => '/api/admin/vwr/status',
                   bearer => $Admission::Site::SECRETS{admin})->json->{age};
}

ok((wait_until { defined listed(0) && defined listed(1) } 20),
   'both hosts have heard of all rooms');


subtest 'waiting rooms' => sub {
    for (qw(activate deactivate activate?resume=1)) {
        my ($path, $args) = /^(\w+)(.*)$/;
        my $word = $args ? 'resumed' : "${path}d";

        mark;
        is(request($site->port(0), POST => "/api/admin/vwr/$path/concert$args",
                   bearer => $Admission::Site::SECRETS{admin})->status, 200, $_);

        each_host($_, qr/event "concert": waiting room $word/);
        is(lines(0, qr/waiting room $word by the admin secret/), 1,
           'by whom, where it was done');
        is(lines($_, qr/waiting room/), 1, 'and no other') for 0, 1;
    }
};


subtest 'a queue is lost' => sub {
    $site->call($_ % 2, "u$_", POST => 'check') for 1 .. 6;
    wait_until { !grep { $site->call($_, 'u6', GET => 'status')
                             ->json->{queueSize} != 5 } 0, 1 } 20;

    mark;
    $site->redis->flushall;

    each_host('loss', qr/had lost data of the queue of event "concert"/,
              qr/queue of event "concert" is being restored/,
              qr/queue of event "concert" has been restored/);
};


subtest 'Redis hangs' => sub {
    crowd(GET => '/few');
    mark;
    $site->redis->sigstop;

    wait_until {
        crowd(GET => '/few');
        crowd(POST => '/api/queue/check/concert');
        !grep { !lines($_, qr/breaker open/) || !lines($_, qr/go by/) } 0, 1
    } 30;

    # both workers
    crowd(POST => '/api/queue/check/concert') for 1 .. 4;

    each_host('breaker', qr/redis \S+: breaker open/);
    each_host('down', qr/redis \S+ down: no reply within/);
    each_host('fallback', qr/redis does not answer, rate limits go by/);

    mark;
    $site->redis->sigcont;

    wait_until {
        crowd(GET => '/few');
        !grep { !lines($_, qr/breaker closed/) || !lines($_, qr/answers again/) }
             0, 1
    } 30;

    crowd(GET => '/few') for 1 .. 4;

    each_host('back', qr/redis \S+ back after/, qr/breaker closed/,
              qr/redis answers again, rate limits are counted there/);
};


# what failed for workers that are gone is back for those that came

subtest 'a reload meanwhile' => sub {
    mark;
    $site->redis->stop;
    wait_until { crowd(GET => '/few'); lines(0, qr/redis \S+ down/) } 30;
    $nginx[0]->reload;
    is(lines(0, qr/redis \S+ down/), 1, 'no line more');

    $site->redis->launch;
    wait_until { crowd(GET => '/few'); lines(0, qr/redis \S+ back/) } 30;
    crowd(GET => '/few') for 1 .. 3;
    is(lines(0, qr/redis \S+ back after/), 1, 'back, once');
};


subtest 'no token, no secret' => sub {
    # "back" was said once: another worker may be about to find out

    my $ticket;
    wait_until {
        $ticket = post($site->port(0), '/vwr-api/assign/concert');
        $ticket->status == 200
    } 30;

    my @secret = ($ticket->cookie('admission-visitor'),
                  map { $site->user($_) } qw(ann u1));

    ok(length $ticket->json->{requestId}, 'a ticket');
    get($site->port(0), '/vwr-api/check/concert/'
                        . $ticket->json->{requestId});

    # good ones, and such as are refused
    for my $token ($site->user('ann'), user_token('x' x 40, userId => 'ann'),
                   entry_token($Admission::Site::SECRETS{tier2},
                               sub => 'opera', uid => 'ann', tier => 2))
    {
        push @secret, $token;
        get($site->port(0), '/gated', bearer => $token);
        get($site->port(0), '/gated', bearer => $site->user('ann'),
            cookies => { 'urr-entry-token' => $token,
                         'urr-queue-place' => $token });
        get($site->port(0), '/gated',
            headers => [ 'x-admission-visitor' => $token,
                         'x-vwr-token' => $token ]);
    }

    push @secret, values %Admission::Site::SECRETS,
        'redis-password-of-the-tests';

    my $log = join '', map { $_->error_log, read_file($_->dir . '/logged.log') }
              @nginx;

    is(scalar(grep { index($log, $_) >= 0 } @secret), 0,
       'none of ' . @secret . ' is in a log');

    # nor the signature of any token
    my @signatures = map { (split /\./)[2] // () } @secret;
    is(scalar(grep { index($log, $_) >= 0 } @signatures), 0, 'nor a part');
    like($log, qr/bad signature/, 'though they are logged to be wrong');
};


subtest 'the access log' => sub {
    my $n = () = read_file($nginx[0]->dir . '/logged.log')
        =~ /^127\.0\.0\.1 \[\S+\] "GET \/gated HTTP\/1\.1" 40\d \S+ event=concert user=\S+ verdict=\w+ ".+" position=\S+$/mg;
    cmp_ok($n, '>', 2, 'as docs/logs.md has it');
};


# ---- the documentation

my $flat = $doc =~ s/\s+/ /gr;
my %level;

for my $file (sources) {
    my $code = read_file($file);

    # where it is written, and the lines that a record has for that

    while ($code =~ /(?:ngx_log_error\((NGX_LOG_\w+|level),\s*[^,]+,\s*[\w>-]+,\s*
                        |\.(?:not_ours|no_room)\ =\s*)
                     ((?:"(?:[^"\\]|\\.)*"\s*)+)/xg)
    {
        my ($level, $text) = ($1 // 'NGX_LOG_ERR', $2);
        next if $level eq 'NGX_LOG_EMERG';      # of nginx -t

        $text = join '', $text =~ /"((?:[^"\\]|\\.)*)"/g;
        $text =~ s/\\"/"/g;
        $text =~ s/^admission: //;
        $level{$text} = $level;
    }
}

cmp_ok(scalar keys %level, '>', 40, 'lines are found in the code');

for my $text (sort keys %level) {

    # what stands between what differs
    my @parts = grep { length > 3 }
                split /%(?:V|s|M|uz|ui|L|\*s|%)|[("]/, $text;

    ok(!(grep { my $part = $_ =~ s/^[\s:,)]+|[\s:,)]+$//gr;
                index($flat, $part) < 0 } @parts),
       "documented: $text");
}

done_testing;
