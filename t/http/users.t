# Who asks: identity headers from outside are gone before anything reads them
# and are set again for verified users, access_token becomes Authorization,
# visitors, users of other modules.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(hmac_sha256);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier1 tier2 user);

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;

# a sign-in that is asked by auth_request, and tells what it was asked

my $auth = Admission::Backend->start(handler => sub ($request) {
    my %headers = map { lc $_->[0] => $_->[1] } @{ $request->{headers} };
    my $login = $headers{'x-login'} // return [ 401, [ 'X-Found' => '' ], '' ];
    return [ 204, [ 'X-Found' => $login ], '' ];
});

my $nginx = Admission::Nginx->start(
    vars => { BACKEND => $backend->port, AUTH => $auth->port },
    files => { passwords => "alice:{PLAIN}secret\nbob:{PLAIN}secret\n" },
    http => <<"END" . <<'END',
    admission_redis ${\ $redis->url} timeout=30s;
    admission_secret tier1 $secret{tier1};
    admission_secret tier2 $secret{tier2};
    admission_secret user $secret{user};
    admission_events { default threshold=1; concert; }
END
    proxy_set_header Host $host;
    map $http_x_user_id $id_in_map   { default $http_x_user_id; "" none; }
    map $http_x_user_role $role_in_map { default $http_x_user_role; "" none; }
    map $admission_user $user_in_map { default $admission_user; "" nobody; }

    log_format who '$request_uri "$http_x_user_id" "$http_x_user_email"'
                   ' "$http_x_user_role" "$http_x_admission_event"'
                   ' "$admission_user"';

    server {
        listen 127.0.0.1:%%PORT_without%%;
        underscores_in_headers on;
        location / { proxy_pass http://127.0.0.1:%%BACKEND%%; }
    }

    server {
        listen 127.0.0.1:%%PORT_early%%;
        underscores_in_headers on;
        admission_user jwt;

        # set reads in the rewrite phase, before any access module
        set $early "$http_x_user_id|$http_x_user_email|$http_x_user_role";
        set $earlier "$early|$http_x_admission_event|$id_in_map|$role_in_map";
        set $name $user_in_map;
        add_header X-Early $earlier always;
        add_header X-Name $name always;

        if ($http_x_user_role = admin) { return 418; }

        location / { empty_gif; }
        location /off/ { admission_user off; empty_gif; }
        location /cookie/ {
            admission_cookie user name=session;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /last/ { rewrite ^/last(/.*) $1 last; }
    }
END
    server => <<'END');
        underscores_in_headers on;
        access_log       %%DIR%%/who.log who;
        admission_event  $arg_event;
        admission_user   jwt;

        location / { proxy_pass http://127.0.0.1:%%BACKEND%%; }
        location /gated/ {
            admission_tier2 on event=any;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /bypass/ {
            admission_tier2 on;
            admission_bypass 1;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /off/ {
            admission_user off;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /nobody/ {
            admission_user off;
            admission_tier2 on bind=off event=any;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }
        location /cookie/ {
            admission_cookie user name=session;
            proxy_pass http://127.0.0.1:%%BACKEND%%;
        }

        location /request/ {
            auth_request      /auth;
            auth_request_set  $found $upstream_http_x_found;
            admission_user    $found;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location = /auth {
            internal;
            proxy_pass        http://127.0.0.1:%%AUTH%%;
            proxy_pass_request_body off;
        }
        location /basic/ {
            auth_basic        realm;
            auth_basic_user_file passwords;
            admission_user    $remote_user;
            admission_tier2   on;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location /argument/ {
            admission_user    $arg_user;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location /api/queue/ {
            admission_queue_api;
        }
        location /request/api/queue/ {
            auth_request      /auth;
            auth_request_set  $found $upstream_http_x_found;
            admission_user    $found;
            admission_queue_api;
        }

        location /visit/ {
            admission_user    visitor;
            admission_tier2   on;
            proxy_pass        http://127.0.0.1:%%BACKEND%%;
        }
        location /visit/api/queue/ {
            admission_user    visitor;
            admission_queue_api;
        }
END

my $port = $nginx->port;

sub user ($id = 'alice', %claims) {
    return user_token($secret{user}, userId => $id, %claims);
}

sub entry ($event = 'concert', $uid = 'alice') {
    return entry_token($secret{tier2}, sub => $event, uid => $uid);
}

# the headers as the backend saw them, [name, value], of these names

my $identity = qr/^x[-_](?:user|admission)[-_](?:id|email|role|event)$/i;

sub seen ($response, $names = $identity) {
    my $got = $response->json or return 'status ' . $response->status;

    return join ', ', map { "$_->[0]: $_->[1]" }
           grep { $_->[0] =~ $names } @{ $got->{headers} };
}

sub ask ($path, %opt) { return get($opt{port} // $port, $path, %opt) }

# what somebody from outside may send to be taken for another

my @names = map { my $name = $_;
                  map { my $n = $_; ($n, lc $n, uc $n) }
                  $name, $name =~ tr/-/_/r, $name =~ s/-/_/r,
                  $name =~ s/-(\w+)$/_$1/r }
            qw(X-User-Id X-User-Email X-User-Role X-Admission-Event);
my %unique;
@names = grep { !$unique{$_}++ } @names;

my @spoofed = map { ($_ => 'admin') } @names;


subtest 'headers from outside' => sub {
    cmp_ok scalar(@names), '>=', 40, scalar(@names) . ' spellings';

    like seen(ask('/x', port => $nginx->port('without'),
                  headers => \@spoofed)), qr/admin.*X_USER_ROLE: admin/,
        'a server without admission_user lets them through';

    for my $path (qw(/x /bypass/x /off/x /argument/x)) {
        is seen(ask($path, headers => \@spoofed)), '',
            "$path: nothing of them reaches the backend";
    }

    is seen(ask('/nobody/x', headers => [
                @spoofed, 'X-Queue-Entry-Token' => entry() ])),
        'X-Admission-Event: concert', 'bind=off: but for the event of an entry';

    # each alone, at the beginning, in the middle, at the end

    my @other = map { ("X-Other-$_" => $_) } 1 .. 25;

    for my $at (0, 2, 20, 38, 40, 42, 50) {
        my @headers = @other;
        splice @headers, $at, 0, 'X-User-Id', 'admin';

        my $got = ask('/x', headers => \@headers);
        is seen($got), '', "one among others: at $at";
        is seen($got, qr/^X-Other/),
            join(', ', map { "X-Other-$_: $_" } 1 .. 25), 'which stay';
    }

    my $got = ask('/x', headers => [ map { ('X-User-Id' => $_,
                                            "X-Keep-$_" => $_) } 1 .. 60 ]);
    is seen($got), '', 'sixty of them';
    is seen($got, qr/^X-Keep/), join(', ', map { "X-Keep-$_: $_" } 1 .. 60),
        'among sixty others';

    # names that are near are left alone

    my @near = ('X-User-Idx', 'X-User', 'X-Userid', 'XX-User-Id',
                'X-User-Name', 'X-Admission-Visitors', 'X-User.Id');
    is seen(ask('/x', headers => [ map { ($_ => 'a') } @near ]),
            qr/^XX?-(?:User|Adm)/i),
        join(', ', map { "$_: a" } grep { !/\./ } @near),
        'headers of similar names stay';

    # nor in a body that is proxied by another connection

    is seen(post($port, '/x', headers => \@spoofed, body => 'b' x 100_000)),
        '', 'a request with a body';
    is seen(ask('/x', headers => \@spoofed, bearer => 'x.y.z')), '',
        'a bad user token sets none';
};


subtest 'before anything reads them' => sub {
    my $early = $nginx->port('early');

    for my $path ('/', '/off/') {
        my %got;

        for my $name (@names) {
            my $response = ask($path, port => $early,
                               headers => [ $name => 'admin' ]);
            my $got = join ' ', $response->status,
                      $response->header('X-Early') // '',
                      $response->header('X-Name') // '';
            push @{ $got{$got} }, $name;
        }

        is_deeply \%got, { '200 ||||none|none nobody' => \@names },
            "$path: no spelling is seen in the rewrite phase";
    }

    # a user is known as early, by variable

    is ask('/', port => $early, bearer => user())->header('X-Name'), 'alice',
        'a variable in a map in the rewrite phase';
    is ask('/', port => $early, headers => \@spoofed, bearer => user())
       ->header('X-Name'), 'alice', 'whatever else is sent';

    # a location has cookies of its own, whoever was known before it

    for my $path ('/cookie/', '/last/cookie/') {
        is seen(ask($path, port => $early, cookies => {
                    session => user('bob'), access_token => user() })),
            'X-User-Id: bob, X-User-Role: user', "$path: by its cookie";
        is seen(ask($path, port => $early,
                    cookies => { access_token => user() })), '',
            "$path: and by no other";
    }

    # logs are written in the end, when the headers are set again

    ask('/log1', headers => \@spoofed);
    ask('/log2', headers => \@spoofed,
        bearer => user('alice', email => 'a@example.com', role => 'vip'));
    my $log = '';
    wait_until { ($log = read_file($nginx->dir . '/who.log')) =~ /log2 .*\n/ };

    like $log, qr{^/log1 "-" "-" "-" "-" "-"$}m, 'a log knows nothing';
    like $log, qr{^/log2 "alice" "a\@example.com" "vip" "-" "alice"$}m,
        'or what was verified';
};


subtest 'users by their token' => sub {
    my @all = (email => 'a@example.com', role => 'vip');

    is seen(ask('/x', headers => \@spoofed, bearer => user('alice', @all))),
        'X-User-Id: alice, X-User-Email: a@example.com, X-User-Role: vip',
        'id, email and role, once each';
    is seen(ask('/x', headers => \@spoofed,
                cookies => { access_token => user('alice') })),
        'X-User-Id: alice, X-User-Role: user',
        'without email none, without role "user"';
    is seen(ask('/gated/x', headers => [
                @spoofed, 'X-Queue-Entry-Token' => entry() ],
                bearer => user())),
        'X-User-Id: alice, X-User-Role: user, X-Admission-Event: concert',
        'the event of the entry token';
    is seen(ask('/x', headers => [ 'X-Queue-Entry-Token' => entry() ],
                bearer => user())), 'X-User-Id: alice, X-User-Role: user',
        'which nobody verified where there is no gate';
    is seen(ask('/gated/x', headers => [
                'X-Queue-Entry-Token' => entry('CONCERT') ],
                bearer => user())) =~ /Event: (\w+)/ && $1, 'concert',
        'an event is told in lower case';
    is seen(ask('/bypass/x', headers => \@spoofed, bearer => user())),
        'X-User-Id: alice, X-User-Role: user', 'a bypassed request, too';
    is seen(ask('/off/x', headers => \@spoofed, bearer => user())), '',
        'admission_user off: none';

    is seen(ask('/x', bearer => user('alice', email => "a\r\nX-Evil: 1",
                                     role => "a\tb"))), 'X-User-Id: alice',
        'what has control characters is not told';
    is seen(ask('/x', bearer => user(' alice'))), 'X-User-Role: user',
        'an id that begins with a space is not told';
    is seen(ask('/x', bearer => user('alice '))), 'X-User-Role: user',
        'nor one that ends with one';

    my $letters = "\x{b300}\x{ae30}";
    utf8::encode(my $bytes = $letters);
    is seen(ask('/x', bearer => user($letters))),
        "X-User-Id: $bytes, X-User-Role: user", 'other letters, in UTF-8';

    # a kept connection has nothing of the one before

    my $connection = Admission::HTTP->connect($port);

    is seen($connection->request('GET', '/x', bearer => user())),
        'X-User-Id: alice, X-User-Role: user', 'keepalive: a user';
    is seen($connection->request('GET', '/x')), '', 'keepalive: then nobody';
    is seen($connection->request('GET', '/x', bearer => user('bob'))),
        'X-User-Id: bob, X-User-Role: user', 'keepalive: then another';
};


subtest 'access_token and Authorization' => sub {
    my $token = user();
    my $header = qr/^authorization$/i;

    is seen(ask('/x', cookies => { access_token => $token }), $header),
        "Authorization: Bearer $token", 'the cookie becomes Authorization';
    is seen(ask('/x', bearer => $token), $header),
        "Authorization: Bearer $token", 'a Bearer stays as it is';
    is seen(ask('/x', headers => [ authorization => "bearer  $token" ]),
            $header), "authorization: bearer  $token",
        'in its own spelling';
    is seen(ask('/x', cookies => { access_token => $token },
                headers => [ Authorization => 'Basic YTpi' ]), $header),
        'Authorization: Basic YTpi', 'another Authorization stays';
    is seen(ask('/x', cookies => { access_token => user('bob') },
                bearer => $token), $header),
        "Authorization: Bearer $token", 'one that is there stands';
    is seen(ask('/x', cookies => { access_token => "${token}x" }), $header),
        '', 'a cookie that is no token becomes nothing';
    is seen(ask('/off/x', cookies => { access_token => $token }), $header),
        '', 'admission_user off: nothing';
    is seen(ask('/cookie/x', cookies => { session => $token }), $header),
        "Authorization: Bearer $token", 'a cookie of another name';
    is seen(ask('/cookie/x', cookies => { access_token => $token }), $header),
        '', 'and not of the usual one then';

    # the first cookie that is right counts; it is told, not the first

    is seen(ask('/x', headers => [ Cookie => 'access_token=a.b.c',
                                   Cookie => "x=y; access_token=$token" ]),
            $header), "Authorization: Bearer $token",
        'of two cookies the right one';
};


subtest 'users of other modules' => sub {
    my @login = ('X-Login' => 'alice');

    is seen(ask('/request/x', headers => [ @spoofed, @login ])),
        'X-User-Id: alice', 'auth_request: the user, once';
    is ask('/request/x', headers => \@spoofed)->status, 401,
        'auth_request: nobody is refused by it';
    is seen(ask('/request/x', headers => [ 'X-Login' => 'x' x 257 ])), '',
        'auth_request: what is no id is nobody';

    my ($asked) = grep { $_->{uri} eq '/auth' } reverse $auth->requests;
    is join(', ', grep { /$identity/ } map { $_->[0] }
                                       @{ $asked->{headers} }), '',
        'auth_request: what asks sees no spoofed header either';

    my @basic = (Authorization => 'Basic YWxpY2U6c2VjcmV0');
    my @concert = (headers => [ @spoofed, @basic, 'X-Queue-Entry-Token' =>
                                entry() ]);

    is seen(ask('/basic/x?event=concert', @concert)),
        'X-User-Id: alice, X-Admission-Event: concert',
        'auth_basic: the user passes the gate';
    is seen(ask('/basic/x?event=concert', @concert), qr/^authorization$/i),
        'Authorization: Basic YWxpY2U6c2VjcmV0',
        'auth_basic: with the password as sent';
    is ask('/basic/x?event=concert', headers => [
               @basic, 'X-Queue-Entry-Token' => entry('concert', 'bob') ])
       ->status, 403, "auth_basic: not with another's entry token";
    is ask('/basic/x?event=concert', headers => [
               'X-Queue-Entry-Token' => entry() ])->status, 401,
        'auth_basic: nobody is refused by it';
    is ask('/basic/x?event=concert', headers => [
               Authorization => 'Basic YWxpY2U6d3Jvbmc=',
               'X-Queue-Entry-Token' => entry() ])->status, 401,
        'auth_basic: with a wrong password, too';

    is seen(ask('/argument/x?user=alice')), 'X-User-Id: alice',
        'any variable';
    is seen(ask('/argument/x?user=')), '', 'an empty one is nobody';
    is seen(ask('/argument/x')), '', 'so is none';
    is seen(ask('/argument/x?user=' . 'x' x 257)), '', 'and what is no id';

    # a user's token says nothing where another module does

    is seen(ask('/argument/x?user=bob', bearer => user())),
        'X-User-Id: bob', 'a token does not overrule it';

    # they wait and get in like others

    my $join = sub ($login) {
        return post($port, '/request/api/queue/check/hall',
                    headers => [ 'X-Login' => $login ]);
    };

    is $join->('ann')->json->{status}, 'active', 'auth_request: ann is in';
    is $join->('ben')->json->{position}, 1, 'auth_request: ben waits';
    is $join->('ann')->json->{status}, 'active', 'auth_request: ann still';
    is jwt_verify($join->('ann')->json->{entryToken}, $secret{tier2})->{uid},
        'ann', 'auth_request: with a token of her own';
    is post($port, '/request/api/queue/check/hall')->status, 401,
        'auth_request: nobody does not join';
    is post($port, '/api/queue/check/hall', headers => [ 'X-Login' => 'ann' ])
       ->json->{code}, 'USER_REQUIRED', 'nor by a header elsewhere';
};


subtest 'visitors' => sub {
    my $check = '/visit/api/queue/check/show';
    my $key = hmac_sha256('admission visitor', $secret{tier1});

    is get($port, '/visit/x?event=show')->json->{code}, 'TIER2_REQUIRED',
        'without a visitor the gate sends to the queue, not to a sign-in';
    is get($port, '/visit/api/queue/status/show')->status, 401,
        'a look makes no visitor';
    is get($port, '/visit/api/queue/status/show')->cookie('admission-visitor'),
        undef, 'nor gives a cookie';

    my $first = post($port, $check);
    my $cookie = $first->cookies->{'admission-visitor'};
    my $visitor = $cookie->{value};
    my $claims = jwt_verify($visitor, $key);

    is $first->json->{status}, 'active', 'to check makes one, who is in';
    ok $claims, 'the cookie is signed with its own key';
    is length unb64url($claims->{vis}), 16, 'and has 16 random bytes';
    is $cookie->{attributes}{'max-age'}, 400 * 86400, 'for 400 days';
    is $claims->{exp} - $claims->{iat}, 400 * 86400, 'as the token';
    is $cookie->{attributes}{path}, '/', 'for all of the site';
    ok $cookie->{attributes}{httponly}, 'not for scripts';
    is $cookie->{attributes}{samesite}, 'Lax', 'SameSite=Lax';

    # the gate, with what the queue gave

    my %all = map { $_ => $first->cookie($_) } keys $first->cookies->%*;
    my $passed = get($port, '/visit/x?event=show', cookies => \%all);

    is $passed->status, 200, 'with its cookies the gate is open';
    is seen($passed), "X-User-Id: $claims->{vis}, X-Admission-Event: show",
        'the backend is told the visitor';
    is seen($passed, qr/^authorization$/i), '',
        'who is no user that a backend knows';

    delete $all{'admission-visitor'};
    is get($port, '/visit/x?event=show', cookies => \%all)->json->{code},
        'TIER2_REQUIRED', 'an entry token without its visitor is none';

    # another one waits

    my $second = post($port, $check);
    my $other = $second->cookie('admission-visitor');

    isnt $other, $visitor, 'another visitor';
    is $second->json->{status}, 'queued', 'waits';
    is get($port, '/visit/x?event=show',
           cookies => { %all, 'admission-visitor' => $other })->status, 403,
        'and does not pass with the entry token of the first';

    for my $how ([ cookies => { 'admission-visitor' => $other } ],
                 [ headers => [ 'X-Admission-Visitor' => $other ] ])
    {
        my $again = post($port, $check, @$how);

        is $again->json->{position}, 1, "comes again by $how->[0]: the same";
        is $again->json->{queueSize}, 1, 'one in line';
        is $again->cookie('admission-visitor'), undef,
            'no other visitor is made';
    }

    is get($port, '/visit/api/queue/status/show',
           headers => [ 'X-Admission-Visitor' => $other ])->json->{position},
        1, 'a look finds the visitor';

    # the first leaves: the second comes in, and passes

    is post($port, '/visit/api/queue/leave/show',
            cookies => { 'admission-visitor' => $visitor })->json->{message},
        'Left queue', 'the first leaves';

    my $in = wait_until {
        my $now = post($port, $check,
                       cookies => { 'admission-visitor' => $other });
        $now->json->{status} eq 'active' && $now;
    } 20;

    ok $in, 'the second comes in';
    is get($port, '/visit/x?event=show', headers => [
               'X-Admission-Visitor' => $other,
               'X-Queue-Entry-Token' => $in->json->{entryToken} ])->status,
        200, 'and passes, by headers as an app sends them';

    # visitors that are none

    my %wrong = (
        'signed with tier1 itself' =>
            jwt_sign({ vis => 'a', exp => time + 60 }, $secret{tier1}),
        'of another secret' =>
            jwt_sign({ vis => 'a', exp => time + 60 },
                     hmac_sha256('admission visitor', $secret{tier2})),
        'that is over' => jwt_sign({ vis => 'a', exp => time - 60 }, $key),
        'without exp' => jwt_sign({ vis => 'a' }, $key),
        'without a name' => jwt_sign({ exp => time + 60 }, $key),
        'a user token' => user(),
        'no token' => 'x',
        'one bit off' => $visitor =~ s/(.)$/$1 eq 'A' ? 'E' : 'A'/er,
    );

    for my $name (sort keys %wrong) {
        my $response = get($port, '/visit/api/queue/status/show',
                           headers => [ 'X-Admission-Visitor' =>
                                        $wrong{$name} ]);
        is $response->status, 401, "a visitor $name is nobody";
    }

    my $anew = post($port, $check,
                    cookies => { 'admission-visitor' => $wrong{'no token'} });

    ok jwt_verify($anew->cookie('admission-visitor') // 'a.b.c', $key),
        'to check with such a cookie makes a new one'
        if $anew->status == 200;
    is $anew->status, 200, 'and joins';
};

# more than the name of the test's directory may have of one
unlike $nginx->error_log, qr/eyJ[\w-]{4}/, 'no token is in the log';

done_testing;
