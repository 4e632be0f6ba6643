# Keys of users' tokens at an address of the identity service (jwks_uri=): asked
# by a subrequest, once for all workers and all requests that need to know; new
# keys are found without a 401 of a good token; nobody hangs when the service does.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my %key = map { $_ => Admission::Keys->new('P-256', kid => $_) }
          qw(first second third);
my %token = map { $_ => $key{$_}->token('ES256', { userId => $_ }) } keys %key;

# what the service answers is in a file: a status, and a text

my $answer = test_dir . '/answer';

sub service ($status, $text) {
    write_file("$answer.new", "$status\n$text");
    rename "$answer.new", $answer or die "$answer: $!";
}

service(200, Admission::Keys::jwks($key{first}));

my $idp = Admission::Backend->start(handler => sub ($request) {
    my ($status, $text) = read_file($answer) =~ /^(\d+)\n(.*)/s;
    return [ $status, [ 'Content-Type' => 'application/json' ], $text ];
});

my $nginx = Admission::Nginx->start(
    workers => 2,
    vars => { IDP => $idp->port },
    http => <<'END');
    add_header X-Id $http_x_user_id;
    log_format why '"$admission_verdict" "$admission_reason"';
    access_log why.log why;

    server {
        listen 127.0.0.1:%%PORT%%;

        admission_secret user jwks_uri=/keys;
        admission_user   jwt;

        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass         http://127.0.0.1:%%IDP%%/certs;
            proxy_read_timeout 20s;
            subrequest_output_buffer_size 64k;
        }
    }
END

# what is said of a token: the user, "-" for nobody, or a status

sub said ($r) {
    return $r->status == 200 ? $r->header('X-Id') // '-' : $r->status;
}

sub ask ($token, %opt) {
    return get($nginx->port, '/', bearer => $token, timeout => 20, %opt);
}

# by many at once: what they were told, in words, each once

sub crowd ($token, $n = 24) {
    my @open = map { Admission::HTTP->connect($nginx->port, timeout => 20) }
               1 .. $n;

    $_->send(Admission::HTTP::compose('GET', '/', bearer => $token)) for @open;

    my %said = map { said($_->response) => 1 } @open;
    return join ' ', sort keys %said;
}

sub asked () { return $idp->hits }

# until it is known; whatever is said meanwhile is noted

sub becomes ($token, $user, $what) {
    my %meanwhile;
    my $there = wait_until {
        my $said = crowd($token, 4);
        $meanwhile{$_}++ for grep { $_ ne $user } split ' ', $said;
        $said eq $user
    } 15 + 10 * slow;

    ok $there, $what;
    return join ' ', sort keys %meanwhile;
}


my $first;          # when it was asked, or somewhat before that

subtest 'the first use' => sub {
    $first = time;
    is asked(), 0, 'nobody has asked yet';
    is crowd($token{first}), 'first', 'all who come at once are known';
    is asked(), 1, 'by one question';

    my $request = ($idp->requests)[0];
    my %header = map { lc $_->[0] => $_->[1] } @{ $request->{headers} };

    is $request->{method}, 'GET', 'a GET';
    ok !exists $header{$_}, "without $_"
        for qw(authorization cookie if-none-match range accept-encoding);
};


subtest 'another key' => sub {
    service(200, Admission::Keys::jwks($key{second}, $key{first}));

    my $r = ask($token{second});

    SKIP: {
        skip 'it is time to ask again', 3 if time - $first > 9;

        is $r->status, 503, 'not asked for again at once';
        cmp_ok $r->header('Retry-After') // 0, '>=', 1, 'but to be tried again';
        is $r->json->{code}, 'UNAVAILABLE', 'as when something is away';
    }

    like becomes($token{second}, 'second', 'it is found'), qr/^(?:503)?$/,
        'and until then nobody was told that the token is none';
    is asked(), 2, 'by one question';
    is crowd($token{first}), 'first', 'the other is still there';
};


subtest 'keys that there are not' => sub {
    my $before = asked();
    my $start = time;
    my $unknown = $token{third};
    my %said;

    # what is over, or meant for others by its own word, asks nobody

    is said(ask($key{third}->token('ES256', { userId => 'x',
                                              exp => time - 60 }))), '-',
        'an old token of a key of long ago is none, at once';

    # beyond the next question, and until somebody came while it was asked: the test
    # may stand still just then

    while (time - $start < 12 || (keys %said < 2 && time - $start < 60)) {
        $said{$_}++ for split ' ', crowd($unknown, 8);
    }

    my $most = 1 + int((time - $start) / 10) + 1;

    cmp_ok asked() - $before, '<=', $most, 'a flood asks once in 10 s';
    is join(' ', sort keys %said), '- 503',
        'whoever was looked for is none, the others may try again';
    is crowd($token{first}), 'first', 'those who are known feel nothing';
};


subtest 'the service hangs' => sub {
    service(200, Admission::Keys::jwks(@key{qw(third second first)}));
    kill STOP => $idp->{process}->pid;

    my ($asker, $waiter);
    my $before = asked();

    # one asks, and goes; another one waits for the same answer

    wait_until {
        my $c = Admission::HTTP->connect($nginx->port, timeout => 20);
        $c->send(Admission::HTTP::compose('GET', '/', bearer => $token{third}));
        my $came = $c->fill(time + 1);
        $asker = $c if $came eq 'timeout';
    } 20 + 10 * slow;

    ok $asker, 'a request waits';
    $asker->close if $asker;

    my $start = time;
    is crowd($token{first}), 'first', 'those who are known do not';
    is said(ask($token{third})), 503, 'one that waits is told to try again';
    cmp_ok time - $start, '<', 8 + 5 * slow, 'before long';

    kill CONT => $idp->{process}->pid;

    is becomes($token{third}, 'third', 'and is known when the service is back')
        =~ s/503//r, '', 'nobody was told that the token is none';
};


subtest 'an answer that is none' => sub {
    my %answer = ('an error' => [ 500, Admission::Keys::jwks($key{first}) ],
                  'rubbish' => [ 200, '<html>' ],
                  'no keys' => [ 200, '{"keys":[]}' ],
                  'too long' => [ 200, '{"keys":[' . '0,' x 50_000 . '0]}' ]);
    my ($name) = (sort keys %answer)[ time % 4 ];

    service($answer{$name}->@*);

    my $unknown = Admission::Keys->new('P-256', kid => 'none')
                  ->token('ES256', { userId => 'none' });
    my $mark = $nginx->log_mark;

    ok((wait_until {
        crowd($unknown, 2);
        $nginx->error_log($mark)
            =~ m{no keys from "/keys", those that were there stay: }
    } 15 + 10 * slow), "$name: the log says so");

    is crowd($token{$_}), $_, "$_ goes on" for sort keys %key;
    is said(ask($unknown)), 503, 'what is not known is not refused';
};

subtest 'a line for all servers' => sub {
    my %idp = map {
        my $jwks = Admission::Keys::jwks($key{$_});
        $_ => Admission::Backend->start(handler => sub ($request) {
            return [ 200, [ 'Content-Type' => 'application/json' ], $jwks ];
        })
    } qw(first second);

    my $other = Admission::Nginx->start(
        workers => 2,
        files => { 'keys.json' => Admission::Keys::jwks($key{third}) },
        http => <<'END' . join '', map { <<"END" } sort keys %idp);
    add_header X-Id $http_x_user_id;
    admission_secret user jwks_uri=/keys;
    admission_secret user jwks=keys.json;
    admission_user jwt;
END
    server {
        listen 127.0.0.1:%%PORT_$_%%;
        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass http://127.0.0.1:${\ $idp{$_}->port};
            subrequest_output_buffer_size 64k;
        }
    }
END

    for my $server (sort keys %idp) {
        my $is = sub ($name) {
            return said(get($other->port($server), '/', timeout => 20,
                            bearer => $token{$name}));
        };

        ok((wait_until { $is->($server) eq $server } 20),
           "$server: has the keys of its own location");
        is $is->('third'), 'third', 'and those of the file';

        my ($strange) = grep { $_ ne $server } sort keys %idp;
        like $is->($strange), qr/^(?:-|503)$/, 'and nobody else\'s';
    }
};

like read_file($nginx->dir . '/why.log'), qr/^"error" "keys of users"$/m,
    'the verdict';
unlike $nginx->error_log, qr/eyJ[\w-]+\.eyJ/, 'no token is in the log';

done_testing;
