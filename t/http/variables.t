# The module's variables, each in every phase and beside every half of a
# configuration: with nothing configured, with secrets alone, in a server without
# anything, over reloads that take the gates away.  What a token says is told
# only where it can be known that it was not revoked.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Certs;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 user admin);
my %line = map { $_ => "admission_secret $_ $secret{$_};\n" } keys %secret;
my $secrets = join '', map { $line{$_} } sort keys %line;

my $backend = Admission::Backend->start;
my $redis = Admission::Redis->start;
my $cert = Admission::Certs->new('ca')->issue('localhost', 'DNS:localhost');

my %vars = (BACKEND => $backend->port, CERT => $cert->cert,
            KEY => $cert->key);

# all variables, in all phases; %%FILL%% are those of a configuration

my $all = join '|', map { "\$admission_$_" }
          qw(event user client address verdict reason position);

my $http = <<"END" . <<'END';
    map \$uri \$all             { volatile; default "$all"; }
    map \$admission_event \$id  { default \$admission_event; "" none; }
    map \$admission_user \$name { volatile; default \$admission_user; "" none; }
    log_format all '\$uri $all \$id \$name';
END
    log_subrequest on;
    limit_conn_zone $admission_client zone=client:64k;
    limit_req_zone $admission_address$admission_event zone=address:64k rate=1000r/s;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    client_max_body_size 10;
    large_client_header_buffers 2 4k;
END

my $server = <<'END';
    server_name localhost;
    access_log all.log all;
    error_page 400 413 414 418 494 495 496 497 /error$admission_reason;
    underscores_in_headers on;

    set $early "$all|$id|$name";
    if ($admission_verdict = tier1) { return 500; }
    add_header X-All $all always;
    add_header X-Early $early always;

    location / {
        proxy_set_header X-Got $all;
        proxy_set_header X-Id "$id$name$admission_position";
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /rewrite/ {
        set $inner $all;
        if ($admission_user = root) { return 500; }
        rewrite ^/rewrite/(.*) /$1?inner=$admission_event$inner last;
    }
    location /break/ {
        rewrite ^/break/(.*) /$1?inner=$admission_event break;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /return/ { return 200 $all; }
    location /limits/ {
        limit_conn client 100;
        limit_req zone=address burst=100;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /auth/ {
        auth_request /sub/auth$admission_event;
        auth_request_set $auth "$all$upstream_status";
        add_header X-All $all always;
        add_header X-Auth $auth always;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /sub/ {
        internal;
        set $sub $all;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header X-Got "$all$sub";
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /mirror/ {
        mirror /sub/mirror;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /ssi/ {
        ssi on;
        ssi_types application/json text/plain;
        root files;
        try_files /page.shtml =404;
        default_type text/html;
    }
    location /try/ {
        root "files/$admission_event";
        try_files /nothing$admission_user$uri @named;
    }
    location @named {
        proxy_set_header X-Got $all;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /files/ { root "files/$admission_event$admission_position"; }
    location /accel/ {
        proxy_pass http://127.0.0.1:%%BACKEND%%/?header=X-Accel-Redirect:/sub/x&rest=;
    }
    location /later/ {
        post_action /sub/later;
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    location /error {
        proxy_set_header X-Got $all;
        proxy_set_header X-Id "$id$name";
        proxy_pass http://127.0.0.1:%%BACKEND%%;
    }
    %%FILL%%
END

my $servers = <<"END";
    server {
        listen 127.0.0.1:%%PORT%%;
        listen 127.0.0.1:%%PORT_h2%% http2;
$server
    }
    server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        ssl_certificate %%CERT%%;
        ssl_certificate_key %%KEY%%;
        ssl_client_certificate %%CERT%%;
        ssl_verify_client on;
$server
    }
END

my $page = '<!--# echo var="admission_event" default="-" -->|'
         . '<!--# echo var="admission_client" default="-" -->|'
         . '<!--# echo var="admission_verdict" default="-" -->'
         . '<!--# if expr="$admission_user = x" -->x<!--# endif -->'
         . '<!--# include virtual="/sub/ssi" -->';

my $entry = entry_token($secret{tier2}, sub => 'concert', uid => 'alice');
my $user = user_token($secret{user}, userId => 'alice');

my @headers = ('X-Queue-Entry-Token' => $entry, Authorization => "Bearer $user",
               Cookie => "urr-entry-token=$entry; urr-vwr-token=$entry",
               Cookie => "admission-visitor=$entry");

sub configuration (%opt) {
    return (vars => { %vars, FILL => $opt{fill} // '' },
            http => $http . ($opt{http} // '') . $servers . ($opt{more} // ''));
}

sub start (%opt) {
    my $nginx = Admission::Nginx->prepare;
    mkdir $nginx->dir . '/files';
    write_file($nginx->dir . '/files/page.shtml', $page);
    $nginx->configure(configuration(%opt));

    my ($status, $output) = $nginx->test;
    die "nginx -t: $output" if $status;

    $nginx->launch;
    Admission::Test::register($nginx);
    wait_until { $nginx->serves } 10;
    return $nginx;
}

my @paths = qw(/x /rewrite/x /break/x /return/x /limits/x /auth/x /mirror/x
               /try/x /accel/x /later/x /error);

# A request for each way; what differs from what all of them should tell

sub walk ($nginx, $expected, %opt) {
    my $port = $nginx->port;
    my %told;

    # which forgets the arguments
    my @ways = grep { !$opt{args} || !/accel/ } @paths;

    for my $path (@ways) {
        my $response = get($port, $path . ($opt{args} // ''),
                           headers => \@headers);
        $told{"$path: " . $response->status} = $response->header('X-All') // '-';
    }

    my %wrong = map { $_ => $told{$_} }
                grep { !/: 200$/ || $told{$_} !~ $expected } keys %told;
    is_deeply \%wrong, {}, 'in all phases';

    my ($event) = $expected =~ /\^(\w*)\\\|/;
    my $args = $opt{args} // '';
    $event ||= '-';

    like get($port, "/ssi/x$args", headers => \@headers)->body,
        qr/^\Q$event\E\|(?:ip:127\.0\.0\.1|user:\w+)\|[a-z-]+\{/, 'SSI';
    is get($port, "/files/x$args", headers => \@headers)->status, 404, 'root';
    is post($port, "/x$args", headers => \@headers, body => 'x' x 20)->status,
        413, 'too large';

    # refused before any phase

    my $long = 'x' x 5000;
    my %early = (
        400 => "GET /x$args HTTP/1.1\r\nConnection: close\r\n\r\n",
        414 => "GET /$long HTTP/1.1\r\nHost: localhost\r\n\r\n",
        494 => "GET /x$args HTTP/1.1\r\nHost: localhost\r\nX: $long\r\n\r\n",
        'a line' => "GET\r\n\r\n",
        'nothing but a line' => "GET /x HTTP/1.1\r\n",
        'a version' => "GET /x HTTP/3.1\r\n\r\n",
    );

    for my $what (sort keys %early) {
        my $connection = Admission::HTTP->connect($port);
        $connection->send($early{$what});
        shutdown $connection->socket, 1 if $what =~ /nothing/;
        my $status = $connection->response->status;
        cmp_ok $status, $what =~ /nothing/ ? '==' : '>=',
            $what =~ /nothing/ ? 0 : 400, "$what: $status";
    }

    # 497: plain HTTP to a port of TLS; 496: without a certificate

    my $tls = $nginx->port('tls');

    is get($tls, "/x$args", headers => \@headers)->status, 400,
        'plain HTTP to a port of TLS';

    my (undef, $reply) = run('timeout', 30 * slow, 'sh', '-c',
        "printf 'GET /x HTTP/1.0\\r\\nX-Queue-Entry-Token: $entry\\r\\n\\r\\n' | "
        . "openssl s_client -quiet -connect 127.0.0.1:$tls 2>/dev/null");
    like $reply, qr/^HTTP.* 400 .*^X-All: /ms, 'no certificate';

    my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
    $h2->headers(1, GET => "/auth/x$args", headers => [
        'x-queue-entry-token' => $entry, cookie => 'a=b', cookie => 'c=d' ]);
    like $h2->body(1), qr/"uri":"\/auth/, 'HTTP/2';
    $h2->headers(3, GET => "/x$args", headers => [ 'x-x' => $long x 10 ]);
    $h2->body(3);
    pass 'HTTP/2: too much';

    # nobody died, and everything is in the log

    is get($port, "/x$args")->status, 200, 'it serves';
    is scalar($nginx->worker_pids), 1, 'one worker';
    unlike $nginx->error_log, qr/exited on signal/, 'the first';

    for my $path (qw(/x /sub/ssi /sub/mirror /error)) {
        my $line = qr/^\Q$path\E /m;
        my $log;

        wait_until { ($log = read_file($nginx->dir . '/all.log')) =~ $line } 10;
        like $log, $line, "logged: $path";
    }
}

sub told ($event, $user = '') {
    my $client = $user ? "user:$user" : 'ip:127\.0\.0\.1';
    return qr/^$event\|$user\|$client\|127\.0\.0\.1\|[a-z-]+\|[a-z ]*\|$/;
}


# ---- with one part of a configuration and nothing else

my $url = $redis->url . ' timeout=' . 5 * slow . 's';
my $dead = 'redis://127.0.0.1:' . free_port;

my $named = 'admission_events { default threshold=1; concert threshold=1; }';

my @configurations = (
    [ 'nothing', told('') ],
    [ 'all secrets', told('concert'), http => $secrets ],
    [ 'the secret of tier 2', told('concert'), http => $line{tier2} ],
    [ 'a token of what nobody named', told(''), http => $secrets ],
    [ 'secrets but this one', told(''),
      http => $secrets =~ s/^admission_secret tier2.*\n//mr ],
    [ 'a secret of another server', told(''),
      more => "server { listen 127.0.0.1:%%PORT_other%%; $line{tier2} }" ],
    [ 'a zone', told(''), http => 'admission_zone own:64k;' ],
    [ 'a zone and secrets', told('concert'),
      http => "admission_zone own:64k; $secrets" ],
    [ 'Redis', told(''), http => "admission_redis $url;" ],
    [ 'Redis and secrets', told('concert'),
      http => "admission_redis $url; $secrets" ],
    [ 'a Redis that is away, and secrets', told('concert'),
      http => "admission_redis $dead; $secrets" ],
    [ 'events', told(''),
      http => 'admission_events { default threshold=1; show vwr=on; }' ],
    [ 'an event', told('show'), http => 'admission_event $arg_event;',
      args => '?event=show' ],
    [ 'an event and secrets', told('show'), args => '?event=show',
      http => "admission_event \$arg_event; $secrets" ],
    [ 'an event that is itself', told(''),
      http => "admission_event \$admission_event; $secrets" ],
    [ 'a user by token', told('', 'alice'),
      http => "admission_user jwt; $line{user}" ],
    [ 'a user by token, and secrets', told('concert', 'alice'),
      http => "admission_user jwt; $secrets" ],
    [ 'a visitor', told(''), http => "admission_user visitor; $line{tier1}" ],
    [ 'a variable', told('', 'ben'), http => 'admission_user $arg_user;',
      args => '?user=ben' ],
    [ 'a variable, and secrets', told('concert', 'alice'),
      http => "admission_user \$arg_user; $secrets", args => '?user=alice' ],
    [ 'a user that is itself', told(''), http => 'admission_user $admission_user;' ],
    [ 'a client that is itself', told(''),
      http => "admission_user \$admission_client; $secrets" ],
    [ 'what says nothing alone', told('concert'), http => <<"END" ],
        admission_secret tier2 $secret{tier2};
        admission_cors https://a.example;
        admission_bypass \$admission_event;
        admission_dry_run on;
        admission_deny json;
        admission_waiting_uri /w/\$admission_event;
        admission_cookie tier2 name=urr-entry-token;
END
    [ 'a limit', told(''), more => <<'END' ],
        server { listen 127.0.0.1:%%PORT_other%%;
                 location / { admission_rate_limit x rate=1r/s; } }
END
    [ 'metrics', told(''), fill => 'location /m { admission_metrics; }' ],
    [ 'a health check', told(''), fill => 'location /m { admission_health live; }' ],
    [ 'a page', told(''), fill => 'location /m/ { admission_page tier1; }' ],
    [ 'an edge', told(''),
      fill => "location /m/ { admission_trusted_edge x-edge $secret{admin}; }" ],
    [ 'a gate elsewhere', told('concert'), http => $secrets, more => <<'END' ],
        server { listen 127.0.0.1:%%PORT_other%%;
                 admission_user jwt; admission_event $arg_event;
                 admission_tier1 auto; admission_tier2 on event=any; }
END
    [ 'a gate', told('concert'), http => $secrets,
      fill => 'location /m/ { admission_tier2 on bind=off event=any; }' ],
);

for my $configuration (@configurations) {
    my ($name, $expected, %opt) = @$configuration;

    # a token tells an event that was named
    $opt{http} = ($opt{http} // '') . $named if $expected =~ /concert/;

    subtest $name => sub {
        my $nginx = start(%opt);
        walk($nginx, $expected, %opt);
        $nginx->quit;
    };
}


# ---- subrequests, which share the values of variables with their request

subtest 'the request of a subrequest' => sub {
    my $nginx = Admission::Nginx->start(
        vars => { %vars }, http => <<'END', server => <<'END2');
        map $uri $of_uri { volatile; ~^/e/([a-z]+) $1; }
        map $args $of_args { volatile; default $args; }
        log_format where '$uri $args $admission_event $admission_user'
                         ' $admission_client $uri $args';
END
        log_subrequest on;
        access_log where.log where;
        admission_event $of_uri;
        admission_user "$of_args";
        proxy_set_header X-Where "$uri $args $admission_event $admission_user";
        proxy_set_header X-Client "$uri $args $admission_client";

        location / {
            auth_request /sub;
            mirror /mirror;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location ~ ^/(?:sub|mirror)$ {
            proxy_pass_request_body off;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
END2
    my $long = 'x' x 2000;
    my $user = 'u' x 200;
    my $before = $backend->hits;

    is get($nginx->port, "/e/concert/$long?$user")->status, 200, 'a long path';
    wait_until { $backend->hits == $before + 3 } 10;

    my %sent = map {
        my %h = map { @$_ } $_->{headers}->@*;
        ("$h{'X-Where'}|$h{'X-Client'}" => 1)
    } ($backend->requests)[$before .. $backend->hits - 1];

    is_deeply [ sort keys %sent ], [ sort
        "/e/concert/$long $user concert $user|/e/concert/$long $user user:$user",
        "/sub  concert $user|/sub  user:$user",
        "/mirror $user concert $user|/mirror $user user:$user" ],
        'each has its own path and arguments, and the event and user of all';

    my $log = wait_until { my $log = read_file($nginx->dir . '/where.log');
                           3 == ($log =~ tr/\n//) && $log };
    is_deeply [ sort split /\n/, $log ], [ sort
        "/e/concert/$long $user concert $user user:$user /e/concert/$long $user",
        "/sub - concert $user user:$user /sub -",
        "/mirror $user concert $user user:$user /mirror $user" ],
        'so in the log';
};


subtest 'values that are made of themselves' => sub {
    my $nginx = Admission::Nginx->start(
        http => <<"END" . <<'END', server => <<'END');
        $secrets
END
        map $admission_event $event_map   { volatile; default "x$admission_event"; }
        map $admission_user $user_map     { volatile; default "x$admission_user"; }
        map $admission_client $client_map { volatile; default "x$admission_client"; }
        map $arg_a $once { default "$admission_event$admission_user$arg_a"; }
        log_format a '$admission_event|$admission_user|$admission_client'
                     '|$event_map|$user_map|$client_map|$once';
        log_format b '$once|$client_map|$user_map|$event_map|$admission_client'
                     '|$admission_user|$admission_event';
END
        access_log a.log a;
        access_log b.log b;
        add_header X-A "$admission_user$admission_event$client_map" always;

        location /1 { admission_event $admission_event; empty_gif; }
        location /2 { admission_user $admission_user; empty_gif; }
        location /3 { admission_user $admission_client; empty_gif; }
        location /4 { admission_event $event_map; empty_gif; }
        location /5 { admission_user $user_map; admission_event $user_map;
                      admission_tier1 auto; empty_gif; }
        location /6 { admission_event "$admission_user$arg_a";
                      admission_user "$admission_event$arg_a"; empty_gif; }
        location /7 { admission_event $once; admission_user $client_map;
                      empty_gif; }
        location /8 { admission_user $admission_event; empty_gif; }
END
    for my $path (map { ("/$_", "/$_?a=" . 'y' x 50) } 1 .. 8) {
        my $answer = get($nginx->port, $path, headers => \@headers);
        is $answer->status, 200, $path;
    }

    # the line comes a moment after the answer

    for my $log (qw(a b)) {
        my $lines = sub () {
            return scalar(() = read_file($nginx->dir . "/$log.log") =~ /\n/g);
        };

        wait_until { $lines->() >= 16 } 10;
        is $lines->(), 16, "log $log";
        unlike read_file($nginx->dir . "/$log.log"), qr/user:/, 'nobody';
    }

    like $nginx->error_log, qr/made of itself/, 'the error log says why';
    unlike $nginx->error_log, qr/cycle/, 'before NGINX has to';
};


# ---- over reloads

subtest 'gates come and go' => sub {
    my $gates = <<"END";
        admission_redis $url;
        $secrets
        $named
END
    my %gated = (http => $gates, fill => <<'END');
        location /api/queue/ { admission_user jwt; admission_queue_api; }
        location /gate/ { admission_user jwt; admission_tier2 on event=any;
                          proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
    my %steps = (nothing => {}, secrets => { http => $gates },
                 zone => { http => 'admission_zone other:64k;' },
                 gates => \%gated);

    my $nginx = start(%gated);
    my $port = $nginx->port;
    my @other = ('X-Queue-Entry-Token' => entry_token(
                     $secret{tier2}, sub => 'concert', uid => 'ben'));

    my $call = sub ($method, $call) {
        return request($port, $method, "/api/queue/$call/concert", bearer => $user);
    };
    my $token = $call->(POST => 'check')->json->{entryToken};
    my $shown = sub { get($port, '/x', headers => [
                          'X-Queue-Entry-Token' => $token ])->header('X-All') };

    like $shown->(), qr/^concert\|/, 'a token';
    is $call->(DELETE => 'leave')->status, 200, 'that is ended';
    like $shown->(), qr/^\|/, 'is told no more';

    for my $step (qw(secrets gates nothing gates zone secrets nothing secrets
                     gates))
    {
        # some connections are open, some with a request on its way

        my @open = map { Admission::HTTP->connect($port) } 1 .. 6;
        $_->request(GET => '/x', headers => \@other) for @open[0 .. 2];
        my $hits = $backend->hits;
        $_->send(Admission::HTTP::compose(GET => '/auth/x?delay=0.5',
                                          headers => \@other))
            for @open[3 .. 5];

        # auth_request and the request itself, of each
        ok +(wait_until { $backend->hits >= $hits + 6 } 20), 'on its way';
        my $old = ($nginx->worker_pids)[0];
        $nginx->reload(configuration($steps{$step}->%*), wait => 0);

        # what is asked of the old worker, which may close what is idle

        $_->request(GET => '/x', headers => \@other) for @open[0 .. 2];
        is_deeply [ map { $_->response->status } @open[3 .. 5] ], [ 200, 200, 200 ],
            "to $step: what was on its way is answered";

        # the old worker may still take one

        my $says = $step =~ /secrets|gates/ ? qr/^concert\|/ : qr/^\|/;
        my $all;

        ok +(wait_until {
            $all = get($port, '/auth/x', headers => \@other)->header('X-All')
                   // '';
            $all =~ $says
        } 20), 'what the new one says' or diag $all;

        ok +(wait_until { $shown->() =~ /^\|/ } 20),
            'a token that was ended is none';
        $_->close for @open;
        $nginx->wait_old_workers(15, $old);
    }

    unlike $nginx->error_log, qr/exited on signal/, 'no worker died';
};

done_testing;
