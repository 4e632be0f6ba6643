# X-Admission-Event, by which a backend knows what the entry token is for, in
# servers with a gate and without admission_user: what comes from outside is
# gone before anything reads it, on each way to a backend; what a token says is
# set where one was verified, and goes with the request.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 user edge);

my $backend = Admission::Backend->start;

# what it is sent, as it comes: FastCGI, uwsgi and SCGI; each gets no answer

my $sink_port = free_port;
my $sink_log = test_dir . '/sink.log';
my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16,
                                   LocalPort => $sink_port, ReuseAddr => 1);

write_file($sink_log, '');
Admission::Test::register(Admission::Process->start(name => 'sink', code => sub {
    open my $log, '>>:raw', $sink_log or die;
    $log->autoflush;
    while (my $socket = $listen->accept) {
        sysread $socket, my $bytes, 65536;
        print $log $bytes, "\nEND\n";
        close $socket;
    }
}));
close $listen;

# the servers of one gate each, in every place that it can stand

my $gate = 'admission_tier2 on event=any bind=off;';
my $proxy = 'proxy_pass http://127.0.0.1:%%BACKEND%%;';

my %gated = (
    server   => "$gate location / { $proxy }",
    location => "location /g/ { $gate } location / { $proxy }",
    nested   => "location / { $proxy location /a/ { location /a/b/ { $gate } } }",
    regex    => "location ~ x\$ { $proxy } location ~ g { $gate }",
    named    => "location / { $proxy } location \@g { $gate }",
    variable => "location / { $proxy admission_tier2 \$arg_gate bind=off; }",
    off      => "location / { $proxy admission_tier2 off; } $gate",
    methods  => "location / { $proxy admission_tier2 on bind=off methods=PUT; }",
    tier1    => "location / { $proxy } location /g/ { admission_tier1 auto; }",
    tier1var => "location / { $proxy } location /g/ { admission_tier1 \$arg_g; }",
    dry      => "location / { $proxy } location /g/ { $gate admission_dry_run on; }",
);

my %open = (
    nothing => "location / { $proxy }",
    off     => "location / { $proxy admission_tier2 off; admission_tier1 off; }",
    limit   => "location / { $proxy admission_rate_limit a rate=1000r/s; }",
    edge    => "location / { $proxy admission_trusted_edge X-Edge $secret{edge}; }",
    api     => "location / { $proxy } location /v/ { admission_vwr_api; }",
);

my $servers = '';

for my $case (map({ [ gated => $_, $gated{$_} ] } sort keys %gated),
              map({ [ open => $_, $open{$_} ] } sort keys %open))
{
    my ($kind, $name, $text) = @$case;
    $servers .= "server { listen 127.0.0.1:%%PORT_${kind}_$name%%; $text }\n";
}

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port, SINK => $sink_port },
    http => <<"END" . <<'END',
    admission_secret tier1 $secret{tier1};
    admission_secret tier2 $secret{tier2};
    admission_secret user $secret{user};
    admission_events { default threshold=5; concert threshold=5; show threshold=5; }
    underscores_in_headers on;
    $servers
END
    map $http_x_admission_event $in_map { default $http_x_admission_event; "" -; }

    log_format sent '$uri $http_x_admission_event $in_map';

    # grpc_pass, and its way to the backend

    server {
        listen 127.0.0.1:%%PORT_grpc%% http2;
        location / { proxy_pass http://127.0.0.1:%%BACKEND%%; }
    }
END
    server => <<"END");
        listen 127.0.0.1:%%PORT_h2%% http2;
        access_log sent.log sent;
        large_client_header_buffers 2 1k;
        client_max_body_size 10;
        error_page 400 413 414 494 /early;
        error_page 404 = \@named;
        proxy_intercept_errors on;
        admission_deny status;

        set \$early "\$http_x_admission_event|\$in_map";
        add_header X-Early \$early always;
        if (\$http_x_admission_event) { return 418; }

        location /              { $proxy }
        location /gated/        { $gate $proxy }
        location /early         { proxy_set_header X-Read \$http_x_admission_event;
                                  $proxy }
        location \@named        { $proxy }
        location /set/          { $gate proxy_set_header X-Set
                                      "<\$http_x_admission_event|\$in_map>";
                                  $proxy }
        location /user/         { admission_user off; $gate $proxy }
        location /required/     { admission_event \$arg_event;
                                  admission_tier2 on bind=off; $proxy }
        location /dry/          { admission_dry_run on; $gate $proxy }
        location /dry/limit/    { admission_rate_limit dry rate=1r/h;
                                  admission_dry_run on; $gate $proxy }
        location /dry/other/    { admission_event show; admission_dry_run on;
                                  admission_tier2 on bind=off; $proxy }
        location /bypass/       { admission_bypass 1; $gate $proxy }
        location /edge/         { admission_trusted_edge X-Edge $secret{edge};
                                  $gate $proxy }
        location /variable/     { admission_tier2 \$arg_gate bind=off event=any;
                                  $proxy }
        location /methods/      { admission_tier2 on bind=off event=any
                                      methods=POST; $proxy }
        location /any/          { satisfy any; allow 127.0.0.1; deny all;
                                  $gate $proxy }
        location /auth/         { auth_request /sub; $gate $proxy }
        location /mirror/       { mirror /sub; $gate $proxy }
        location = /sub         { internal; $proxy }

        location /last/         { $gate rewrite ^/last(/.*) \$1 last; }
        location /try/          { $gate root %%DIR%%/none;
                                  try_files /nothing \@named; }
        location /failed/       { $gate
                                  proxy_pass http://127.0.0.1:%%BACKEND%%/?status=404&rest=; }
        location /accel/        { $gate
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /denied/       { error_page 403 = \@named; $gate $proxy }
        location \@required     { admission_event show; error_page 403 = \@named;
                                  admission_tier2 on bind=off; $proxy }
        location \@bypass       { admission_bypass 1; $gate $proxy }
        location /to-bypass/    { $gate root %%DIR%%/none;
                                  try_files /nothing \@bypass; }
        location /to-denied/    { $gate root %%DIR%%/none;
                                  try_files /nothing \@required; }

        location /fastcgi/      { $gate fastcgi_pass 127.0.0.1:%%SINK%%;
                                  fastcgi_param REQUEST_URI \$request_uri; }
        location /uwsgi/        { $gate uwsgi_pass 127.0.0.1:%%SINK%%;
                                  uwsgi_param REQUEST_URI \$request_uri; }
        location /scgi/         { $gate scgi_pass 127.0.0.1:%%SINK%%;
                                  scgi_param REQUEST_URI \$request_uri; }
        location /open/fastcgi/ { fastcgi_pass 127.0.0.1:%%SINK%%;
                                  fastcgi_param REQUEST_URI \$request_uri; }
        location /grpc/         { $gate grpc_pass grpc://127.0.0.1:%%PORT_grpc%%; }
END

my $port = $nginx->port;

sub entry ($event = 'concert', %more) {
    return entry_token($secret{tier2}, sub => $event, uid => 'alice', %more);
}

my @names = map { my $n = $_; ($n, lc $n, uc $n) }
            'X-Admission-Event', 'X_Admission_Event', 'X-Admission_Event',
            'X_Admission-Event';
my @forged = map { ($_ => 'forged') } @names;
my @others = map { ($_ => 'root') } qw(X-User-Id X-User-Email X-User-Role);

# what of these names reached the backend with each request since

sub requests ($since) {
    my @new = ($backend->requests)[$since .. $backend->hits - 1];

    return map {
        join ',', map { "$_->[1]" }
        grep { $_->[0] =~ /^x[-_]admission[-_]event$/i } $_->{headers}->@*
    } @new;
}

sub ask ($path, %opt) {
    my $since = $backend->hits;
    my $response = request($opt{port} // $port, $opt{method} // 'GET', $path,
                           headers => [ @forged, ($opt{headers} // [])->@* ],
                           body => $opt{body});
    my $early = $response->header('X-Early') // '|-';

    is $early, '|-', "$path: seen early" if $early ne '|-';
    return join ' ', $response->status, map { "<$_>" } requests($since);
}

my @with = (headers => [ 'X-Queue-Entry-Token' => entry ]);


subtest 'where a gate stands' => sub {
    for my $name (sort keys %gated) {
        is ask('/x?gate=off', port => $nginx->port("gated_$name"), @with) =~ s/concert//r,
            '200 <>', "$name: what is forged is removed";
    }

    like ask('/x', port => $nginx->port("open_$_")), qr/^200 <forged,/,
        "none: $_: it is left" for sort keys %open;
};


subtest 'ways to a backend' => sub {
    is ask('/x'), '200 <>', 'a location without a gate';
    is ask('/x', @with), '200 <>', 'nobody looked at the token';
    is ask('/gated/x'), '403', 'no token: no way';
    is ask("/$_/x", @with), '200 <concert>', $_
        for qw(gated user any set last/gated try);
    is ask('/last/x', @with), '200 <>', 'rewrite ... last comes before the gate';
    is ask('/methods/x', @with), '200 <>', 'a method that is not gated';
    is ask('/methods/x', @with, method => 'POST', body => 'b'), '200 <concert>',
        'and one that is';
    is ask('/variable/x?gate=off', @with), '200 <>', 'a gate that is off';
    is ask('/variable/x?gate=on', @with), '200 <concert>', 'or on';
    is ask('/bypass/x', @with), '200 <>', 'a bypass: no token was verified';
    is ask('/edge/x', headers => [ 'X-Edge' => $secret{edge}, $with[1]->@* ]),
        '200 <>', 'a trusted edge';
    is ask('/failed/x', @with), '200 <concert> <concert>',
        'the page of an error: what let it in goes with it';
    is ask('/accel/x?header=X-Accel-Redirect:/open', @with),
        '200 <concert> <concert>', 'X-Accel-Redirect';
    is ask('/auth/x', @with), '200 <concert> <concert>', 'auth_request';
    is ask('/to-bypass/x', @with), '200 <>', 'to where it is bypassed';
    is ask('/to-denied/x', @with), '200 <>', 'to where it is denied';
    is ask('/denied/x'), '200 <>', 'the page of a denial';

    my $since = $backend->hits;
    get($port, '/mirror/x', headers => [ @forged, $with[1]->@* ]);
    wait_until { $backend->hits == $since + 2 } 10;
    is_deeply [ requests($since) ], [ 'concert', 'concert' ], 'a mirror';

    my $got = get($port, '/set/x', headers => [ @forged, $with[1]->@* ])->json;
    my ($set) = map { $_->[1] } grep { $_->[0] eq 'X-Set' } $got->{headers}->@*;
    is $set, '<|->', 'a variable that was read before stays as it was: empty';
    unlike read_file($nginx->dir . '/sent.log'), qr/forged/, 'in the log as well';

    is ask('/required/x?event=show', headers => [
               'X-Queue-Entry-Token' => entry('show') ]), '200 <show>',
        'a named event';
    is ask('/required/x?event=show', @with), '403', 'with the token of another';
};


subtest 'a dry run' => sub {
    is ask('/dry/x'), '200 <>', 'without a token';
    is ask('/dry/x', @with), '200 <concert>', 'with one';
    is ask('/dry/other/x', @with), '200 <>', 'with that of another event';
    is ask('/dry/limit/x', @with), '200 <concert>', "over a limit: request $_"
        for 1 .. 3;
    is ask('/dry/x', headers => [ 'X-Queue-Entry-Token' => $_ ]), '200 <>',
        'with one that does not verify'
        for entry('concert', exp => time - 60), entry() . 'x',
            entry_token('another-secret-0123456789abcdefghij', sub => 'concert',
                        uid => 'alice');
};


subtest 'only this header' => sub {
    for my $path (qw(/x /gated/x)) {
        my $got = get($port, $path, headers => [ @others, @forged, $with[1]->@* ])
                  ->json;
        my %seen = map { $_->[0] => $_->[1] } $got->{headers}->@*;

        is_deeply [ @seen{qw(X-User-Id X-User-Email X-User-Role)} ],
            [ ('root') x 3 ], "$path: no user is known here, nor removed";
    }
};


subtest 'other protocols' => sub {
    for my $way (qw(fastcgi uwsgi scgi)) {
        my $mark = length read_file($sink_log);
        get($port, "/$way/x", headers => [ @forged, $with[1]->@* ]);
        my $sent = wait_until {
            my $new = substr read_file($sink_log), $mark;
            $new =~ /END/ && $new;
        } 10;
        like $sent, qr/HTTP_X_ADMISSION_EVENT.*concert/s, "$way: it is told";
        unlike $sent, qr/forged/, "$way: and nothing else";
        is scalar(() = $sent =~ /ADMISSION_EVENT/gi), 1, "$way: once";
    }

    my $mark = length read_file($sink_log);
    get($port, '/open/fastcgi/x', headers => \@forged);
    my $sent = wait_until {
        my $new = substr read_file($sink_log), $mark;
        $new =~ /END/ && $new;
    } 10;
    like $sent, qr/REQUEST_URI/, 'fastcgi without a gate';
    unlike $sent, qr/forged|_EVENT/, 'has nothing of it';

    is ask('/grpc/x', @with) =~ s/^\d+ //r, '<concert>', 'grpc';

    my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
    my $since = $backend->hits;
    my @h2 = map { lc } @forged;

    $h2->headers(1, GET => '/x', headers => \@h2);
    $h2->body(1);
    $h2->headers(3, GET => '/gated/x', headers => [
        @h2, 'x-queue-entry-token' => entry ]);
    $h2->body(3);
    is_deeply [ requests($since) ], [ '', 'concert' ], 'HTTP/2';
};


subtest 'refused before any phase' => sub {
    my $lines = join '', map { "$_: forged\r\n" } @names;
    my $long = 'x' x 2000;

    my %early = (
        400 => "GET /x HTTP/1.1\r\n${lines}Connection: close\r\n\r\n",
        414 => "GET /$long HTTP/1.1\r\nHost: localhost\r\n\r\n",
        494 => "GET /x HTTP/1.1\r\nHost: localhost\r\n${lines}X: $long\r\n\r\n",
        413 => "POST /x HTTP/1.1\r\nHost: localhost\r\n${lines}"
               . "Content-Length: 20\r\n\r\n" . 'x' x 20,
    );

    for my $status (sort keys %early) {
        my $since = $backend->hits;
        request($port, GET => '/', raw => $early{$status});
        is_deeply [ requests($since) ], [ '' ], "$status: the page of it";
    }
};

done_testing;
