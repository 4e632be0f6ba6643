# admission_trusted_edge: whom the tiers let pass, and that its header goes
# nowhere, right or wrong, whatever way a request takes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Site;

my %secret = %Admission::Site::SECRETS;
my $edge = 'edge-secret-of-the-test-0123456789abcdef';
my $older = 'edge-secret-of-the-test-before-that-0123';
my $other = 'edge-secret-of-another-cdn-0123456789abc';

my $backend = Admission::Backend->start;
my $sink_port = free_port;

# what it is sent, as it comes: FastCGI, uwsgi and SCGI; each gets no answer

my $listen = IO::Socket::INET->new(
    LocalAddr => '127.0.0.1', LocalPort => $sink_port, Listen => 8,
    ReuseAddr => 1) or die $@;

Admission::Test::register(Admission::Process->start(
    name => 'sink', code => sub {
        while (my $socket = $listen->accept) {
            sysread $socket, my $bytes, 65536;
            write_file('sink.bytes', $bytes);
        }
    }));
close $listen;

write_file(test_dir . '/edge.key', "$edge\n");

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port, SINK => $sink_port },
    http => <<"END",
    admission_secret  tier1 $secret{tier1};
    admission_secret  tier2 $secret{tier2};
    admission_secret  user $secret{user};
    admission_events  { default vwr=on; }

    map \$http_x_edge \$in_map { default \$http_x_edge; }

    log_format seen "\$request_uri \$status \$admission_verdict"
                    " '\$admission_reason' <\$http_x_edge\$in_map\$early>";
END
    server => <<"END",
        access_log        %%DIR%%/seen.log seen;
        underscores_in_headers on;
        error_page        400 \@failed;
        error_page        494 /too-large;

        # read in the rewrite phase, before any access module
        set \$early       \$http_x_edge;
        add_header        X-Early \$early always;
        if (\$http_x_edge) { return 418; }

        admission_event   concert;
        admission_user    jwt;
        admission_deny    json;
        admission_tier2   on;

        admission_trusted_edge  X-Edge file=@{[ test_dir ]}/edge.key;
        admission_trusted_edge  x-edge $older;

        location /              { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /off/          { admission_trusted_edge off;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /open/         { admission_tier2 off;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /other/        { admission_trusted_edge X-Other-Edge $other;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /bypass/       { admission_bypass \$arg_bypass;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /tier1/        { admission_tier1 on; admission_tier2 off;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /limited/      { admission_rate_limit edge rate=2r/h
                                      key=\$arg_k;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /set/          { proxy_set_header X-Edge \$http_x_edge;
                                  proxy_set_header X-Set "<\$early\$in_map>";
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /auth/         { auth_request /auth-service;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /mirror/       { mirror /auth-service;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location = /auth-service { internal;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }

        location /redirect/     { admission_trusted_edge off;
                                  admission_tier2 off;
                                  rewrite ^/redirect(/.*)\$ \$1 last; }
        location /try/          { admission_tier2 off;
                                  try_files /no-such-file /events/x; }
        location /not/          { admission_tier2 off;
                                  error_page 404 = \@failed;
                                  root %%DIR%%/none; }
        location \@failed       { admission_tier2 off;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location = /too-large   { admission_tier2 off;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }

        location /fastcgi/      { fastcgi_pass 127.0.0.1:%%SINK%%;
                                  fastcgi_param REQUEST_URI \$request_uri; }
        location /uwsgi/        { uwsgi_pass 127.0.0.1:%%SINK%%;
                                  uwsgi_param REQUEST_URI \$request_uri; }
        location /scgi/         { scgi_pass 127.0.0.1:%%SINK%%;
                                  scgi_param REQUEST_URI \$request_uri; }
        location /grpc/         { grpc_pass grpc://127.0.0.1:%%PORT_h2%%; }
    }

    # what gRPC sends, and this server's own proxy to the backend

    server {
        listen                  127.0.0.1:%%PORT_h2%% http2;
        location /              { proxy_pass http://127.0.0.1:%%BACKEND%%; }
    }

    server {
        listen                  127.0.0.1:%%PORT_address%%;
        error_page              400 /page;
        admission_user          \$remote_addr;
        location /              { empty_gif; }
    }

    # only a location of this one has an edge

    server {
        listen                  127.0.0.1:%%PORT_some%%;
        location /              { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /edge/         { admission_trusted_edge X-Edge $edge;
                                  proxy_pass http://127.0.0.1:%%BACKEND%%; }
    }

    server {
        listen                  127.0.0.1:%%PORT_h2_edge%% http2;
        admission_event         concert;
        admission_user          jwt;
        admission_tier2         on;
        admission_trusted_edge  X-Edge $edge;
        location /              { proxy_pass http://127.0.0.1:%%BACKEND%%; }
END
);

my $port = $nginx->port;

# Status, verdict and reason of a request with these headers, and all that the
# backend was sent as lower-case text.

my ($sent, $early);

sub ask ($path, @headers) {
    my $mark = length read_file($nginx->dir . '/seen.log');
    my $hits = $backend->hits;
    my $log = '';

    my $response = get($port, $path, headers => \@headers);

    # one that this sub did not ask for may come late

    wait_until {
        ($log) = substr(read_file($nginx->dir . '/seen.log'), $mark)
                 =~ /^(\Q$path\E .*\n)/m;
    } 10;

    my @requests = $backend->requests;

    $sent = lc join "\n", map { json_encode($_) } splice @requests, $hits;
    $early = $response->header('X-Early');

    my (undef, $status, $verdict, $reason) = $log =~ /^(\S+) (\d+) (\S+) '(.*)' </;
    return "$status $verdict $reason";
}

sub sent_ok ($name) {
    ok $sent ne '' && $sent !~ /edge[-_](?!user)/, "$name: nothing of it goes upstream"
        or diag $sent;
}

my $PASS = '200 bypass trusted edge';
my $DENIED = '401 user no user';


# ---- what is trusted

is ask('/events/x'), $DENIED, 'without the header: the gate judges';
is ask('/events/x', 'X-Edge' => $edge), $PASS, 'with it: a pass';
sent_ok('right');
is $early, undef, 'nor into a variable';

is ask('/events/x', $_ => $edge), $PASS, "named $_"
    for qw(x-edge X-EDGE x_edge X_Edge);
sent_ok('named X_Edge');

is ask('/events/x', 'X-Edge' => $older), $PASS, 'the secret of before';

for ([ 'empty'                 => '' ],
     [ 'one character'         => 'e' ],
     [ 'a wrong last byte'     => substr($edge, 0, -1) . '!' ],
     [ 'a wrong first byte'    => '!' . substr($edge, 1) ],
     [ 'one byte less'         => substr($edge, 0, -1) ],
     [ 'one byte more'         => $edge . 'x' ],
     [ 'in upper case'         => uc $edge ],
     [ 'twice in one line'     => "$edge, $edge" ],
     [ 'both secrets'          => $edge . $older ],
     [ 'long'                  => 'x' x 4000 ],
     [ 'a secret of the gate'  => $secret{tier2} ],
     [ 'another edge\'s'       => $other ])
{
    is ask('/events/x', 'X-Edge' => $_->[1]), $DENIED, "$_->[0]: not trusted";
    is ask('/open/x', 'X-Edge' => $_->[1]), '200 - -', "$_->[0]: where it is open";
    sent_ok($_->[0]);
}

for ([ 'right twice'     => 'X-Edge' => $edge, 'X-Edge' => $edge ],
     [ 'right and wrong' => 'X-Edge' => $edge, 'X-Edge' => 'x' ],
     [ 'wrong and right' => 'X-Edge' => 'x', 'X-Edge' => $edge ],
     [ 'two spellings'   => 'X-Edge' => $edge, 'x_edge' => $edge ],
     [ 'an empty one'    => 'X-Edge' => $edge, 'X-A' => 1, 'X-Edge' => '' ])
{
    my ($name, @headers) = @$_;
    is ask('/events/x', @headers), $DENIED, "several, $name: not trusted";
    is ask('/open/x', @headers), '200 - -', "several, $name: where it is open";
    sent_ok("several, $name");
}

my @many = map { ("X-Many-$_" => $_, 'X-Edge' => $edge) } 1 .. 30;

is ask('/open/x', @many), '200 - -', 'thirty of them between others';
sent_ok('thirty');
is scalar(() = $sent =~ /x-many-/g), 30, 'and the others do';


# ---- where

is ask('/off/x', 'X-Edge' => $edge), $DENIED, 'off: not trusted here';
is ask('/off/x', 'X-Edge' => $edge, entries()), '200 pass -', 'off: who is in';
sent_ok('off');
is ask('/open/x', 'X-Edge' => $edge), '200 - -', 'no tier: nothing to judge';
sent_ok('no tier');

is ask('/other/x', 'X-Edge' => $edge), $DENIED,
    'another header here: not the one inherited';
is ask('/other/x', 'X-Other-Edge' => $other), $PASS, 'but its own';
sent_ok('another header');
is ask('/other/x', 'X-Other-Edge' => $other, 'X-Edge' => 'x'), $PASS,
    'whatever the other one says';
sent_ok('both headers');
is ask('/events/x', 'X-Other-Edge' => $other), $DENIED, 'which is not for all';
is ask('/open/x', 'X-Other-Edge' => $other), '200 - -', 'and goes all the same';
sent_ok('another location\'s header');

is ask('/bypass/x?bypass=1', 'X-Edge' => $edge), '200 bypass -',
    'a bypass goes before';
is ask('/bypass/x', 'X-Edge' => $edge), $PASS, 'where there is one';
is ask('/tier1/x'), '403 tier1 waiting room not known', 'tier 1 judges';
is ask('/tier1/x', 'X-Edge' => $edge), $PASS, 'or not';

my ($some) = get($nginx->port('some'), '/x', headers => [ 'X-Edge' => $edge ])
             ->json->{headers};
unlike json_encode($some), qr/edge/i,
    'a server of which one location has an edge';


# ---- what stays

is ask('/limited/x?k=a', 'X-Edge' => $edge), $PASS, 'a limit: once';
is ask('/limited/x?k=a', 'X-Edge' => $edge), $PASS, 'twice';
is ask('/limited/x?k=a', 'X-Edge' => $edge), '429 limited edge',
    'limits stay';

is ask('/events/x', 'X-Edge' => $edge, 'X-User-Id' => 'root',
       'X-Admission-Event' => 'concert'), $PASS, 'headers of identity';
unlike $sent, qr/x-user-id|x-admission-event/, 'from outside are removed';

is ask('/events/x', 'X-Edge' => $edge, 'X-User-Id' => 'root', entries()),
    $PASS, 'and of a user';
like $sent, qr/\["x-user-id","ann"\]/, 'are set';

my $answer = get($port, '/events/x', headers => [ 'X-Edge' => $edge ]);
is $answer->header('Cache-Control'), undef,
    'what the edge may keep is not made private';

sub entries () {
    return (Authorization => 'Bearer '
                . user_token($secret{user}, userId => 'ann'),
            'X-Queue-Entry-Token' => entry_token($secret{tier2},
                sub => 'concert', uid => 'ann'));
}


# ---- ways that a request takes

is ask('/set/x', 'X-Edge' => $edge), $PASS, 'proxy_set_header';
sent_ok('proxy_set_header');
like $sent, qr/\["x-set","<>"\]/, 'variables have nothing of it';

for my $way (qw(auth mirror)) {
    is ask("/$way/x", 'X-Edge' => $edge), $PASS, $way;
    sent_ok($way);
    is scalar(() = $sent =~ /"method"/g), 2, "$way: both requests";
}

is ask('/redirect/events/x', 'X-Edge' => $edge), $PASS, 'rewrite ... last';
sent_ok('rewrite');
is ask('/try/x', 'X-Edge' => $edge), $PASS, 'try_files';
sent_ok('try_files');
is ask('/not/x', 'X-Edge' => $edge), '200 - -', 'a named location';
sent_ok('a named location');

for my $way (qw(fastcgi uwsgi scgi)) {
    unlink test_dir . '/sink.bytes';

    is ask("/$way/x", 'X-Edge' => $edge, 'X-Seen' => 'yes')
        =~ s/^5\d\d/200/r, $PASS, $way;

    my $bytes = wait_until { eval { read_file(test_dir . '/sink.bytes') } } 10;

    like $bytes, qr/HTTP_X_SEEN/, "$way: the sink gets headers";
    unlike $bytes, qr/edge-secret|X_EDGE/i, "$way: but not this one";
}

is ask('/grpc/x', 'X-Edge' => $edge, 'X-Seen' => 'yes')
    =~ s/^\d+/200/r, $PASS, 'grpc';
sent_ok('grpc');
like $sent, qr/x-seen/, 'grpc: the others do';

my $h2 = Admission::HTTP2->connect($nginx->port('h2_edge'));
my $stream = -1;

for ([ 'HTTP/2' => 'x-edge' => $edge ],
     [ 'HTTP/2, twice' => 'x-edge' => $edge, 'x-edge' => $edge ])
{
    my ($name, @headers) = @$_;

    $h2->headers($stream += 2, 'GET', '/x', headers => \@headers);

    my $body = $h2->body($stream);

    if (@headers == 2) {
        is json_decode($body)->{uri}, '/x', "$name: a pass";
        unlike $body, qr/edge-secret|x-edge/i, "$name: and no further";

    } else {
        like $body, qr/USER_REQUIRED/, "$name: not trusted";
    }
}

$h2->close;


# ---- what NGINX refuses before any phase, and sends to an error_page

for ([ 'a wrong length' => "GET /x HTTP/1.1\r\nHost: a\r\nX-Edge: $edge\r\n"
                         . "X-User-Id: root\r\nContent-Length: x\r\n\r\n" ],
     [ 'a header too large' => "GET /x HTTP/1.1\r\nHost: a\r\n"
         . "X-Edge: $edge\r\nX-User-Id: root\r\nX-Large: " . 'x' x 40000
         . "\r\n\r\n" ]
     )
{
    my ($name, $raw) = @$_;
    my $hits = $backend->hits;

    get($port, '/', raw => $raw);
    ok wait_until { $backend->hits > $hits }, "$name: the backend is told";

    my @requests = $backend->requests;
    $sent = lc join "\n", map { json_encode($_) } splice @requests, $hits;
    sent_ok($name);
    unlike $sent, qr/x-user-id/, "$name: nor another's name";
}


# a first line that is wrong leaves a request without a list of headers, which
# a user by address is put into

is get($nginx->port('address'), '/', raw => "GET /x HTTP/x\r\n\r\n")->status,
    400, 'a wrong first line, and the page of an error';
is get($nginx->port('address'), '/')->status, 200, 'NGINX goes on';


# ---- logs

unlike $nginx->access_log // '', qr/edge-secret/, 'no secret in the log';
unlike read_file($nginx->dir . '/seen.log'), qr/<[^-].*>$/m,
    'nor in its variables, of which that one is logged';
unlike $nginx->error_log =~ s/^.*client sent .*$//mgr, qr/edge-secret/,
    'nor in the error log';


# ---- nginx -t

sub conf ($level, $lines) {
    my %block = (http => '', server => '', location => '');
    $block{$level} = $lines;

    return Admission::Nginx->conf_test(
        files => { short => 'x' x 31, 'cr.key' => 'x' x 40 . "\r\r\n",
                   'crlf.key' => 'x' x 40 . "\r\n" },
        http => "admission_secret user $secret{user};\n$block{http}",
        server => "$block{server}\nlocation / { $block{location} }");
}

sub wrong ($lines, @expected) {
    my ($status, $output) = conf(location => $lines);

    ok $status && $output =~ /"admission_trusted_edge"/
        && !grep({ $output !~ /\Q$_/ } @expected), "refused: $lines"
        or diag $output;
    unlike $output, qr/secret-of|xxxx/, 'without showing the secret';
}

wrong($_, 'number of arguments') for
    'admission_trusted_edge;', "admission_trusted_edge X-Edge $edge on;";
wrong("admission_trusted_edge $_;", qq("$_"), '"off"')
    for qw(on X-Edge OFF);
wrong(qq(admission_trusted_edge "$_" $edge;), qq("$_"),
      'letters, digits and "-"')
    for '', 'X Edge', 'X_Edge', 'X-Edge:', "X-\xc3\xa4", '$edge', '*';
wrong("admission_trusted_edge $_ $edge;", qq("$_"), 'none that NGINX reads')
    for qw(Host cookie Authorization CONTENT-LENGTH Connection User-Agent
           X-Forwarded-For);

# all that are in the code, so that none is forgotten

my @read = map { read_file($_) =~ /"(x-[a-z-]+|sec-[a-z-]+|idempotency-key
                                    |access-control-request-[a-z]+)"/gx }
           grep { !m{conf[_/]edge} } sources;
cmp_ok scalar @read, '>=', 14, 'headers that the module reads';
wrong("admission_trusted_edge $_ $edge;", qq("$_"), 'none that the module reads')
    for @read, qw(Origin Purpose X-User-ID);
wrong("admission_trusted_edge X-Edge $_;", 'at least 32')
    for 'short', 'x' x 31, 'file=short', '""';
wrong("admission_trusted_edge X-Edge file=none.key;", 'none.key', 'file=');
wrong("admission_trusted_edge X-Edge file=;", 'name of a file');
wrong("admission_trusted_edge X-Edge $_;", 'visible ASCII')
    for "'" . 'x' x 20 . ' ' . 'x' x 20 . "'", 'file=cr.key',
        'x' x 40 . "\xc3\xa4";
wrong("admission_trusted_edge X-Edge $edge; admission_trusted_edge Y $other;",
      '"Y"', 'one header');
wrong("admission_trusted_edge X-Edge $edge; admission_trusted_edge off;",
      'duplicate');
wrong("admission_trusted_edge off; admission_trusted_edge X-Edge $edge;",
      'duplicate');
wrong("admission_trusted_edge X-Edge $secret{user};", 'user secret');

for my $level (qw(http server location)) {
    for my $lines ("admission_trusted_edge X-Edge $edge;",
                   'admission_trusted_edge X-Edge file=crlf.key;',
                   "admission_trusted_edge X-Edge $edge;
                    admission_trusted_edge x-edge $older;",
                   'admission_trusted_edge off;')
    {
        my ($status, $output) = conf($level, $lines);
        is $status, 0, "$level: " . $lines =~ s/\s+/ /gr or diag $output;
    }
}

done_testing;
