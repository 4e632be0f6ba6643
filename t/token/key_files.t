# Keys of users' tokens in files: they are read again when they change, without a
# 401 of a good token, and what is of no use changes nothing; sets of any size; a
# flood of bad signatures is bounded by address, and others do not feel it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my %key = (map({ $_ => Admission::Keys->new('P-256', kid => $_) }
               qw(old new next)),
           slow => Admission::Keys->new('P-384'),
           pem => Admission::Keys->new('Ed25519'),
           pem2 => Admission::Keys->new('Ed25519'));

my $nginx = Admission::Nginx->start(
    workers => 2,
    files => { 'keys.json' => Admission::Keys::jwks($key{old}),
               'keys.pem' => $key{pem}->pem },
    http => <<'END');
    add_header X-Id $http_x_user_id;
    add_header X-Pid $pid;
    log_format why '$remote_addr "$admission_verdict" "$admission_reason"';
    access_log why.log why;
    keepalive_requests 1000000;
    keepalive_timeout 600s;
    real_ip_header X-Real-Ip;
    set_real_ip_from 127.0.0.1;

    server {
        listen 127.0.0.1:%%PORT%%;
        admission_user jwt;

        admission_secret user jwks=keys.json;
        admission_secret user pem=keys.pem;

        location / { empty_gif; }
    }
END

my %alice = (userId => 'alice');
my %token = map { $_ => $key{$_}->token(/pem/ ? 'EdDSA' : 'ES256', \%alice) }
            grep { $_ ne 'slow' } keys %key;

sub id ($token, %opt) {
    my $r = get($nginx->port, '/', bearer => $token, %opt);
    return $r->status == 200 ? $r->header('X-Id') // '-' : $r->status;
}

# What both workers say of a token, at once: one text if they agree.  Each is
# asked by a connection of its own, or one may be asked by chance alone.

my %workers;

sub answers ($token, $of) {
    my $worker = $workers{ $of->port } //= {};

    wait_until {
        my $open = Admission::HTTP->connect($of->port);
        my $pid = $open->request('GET', '/')->header('X-Pid');

        $worker->{$pid} //= $open if defined $pid;
        keys %$worker == 2
    } 30 if keys %$worker < 2;

    $_->send(Admission::HTTP::compose('GET', '/', bearer => $token))
        for values %$worker;

    return map { $_->response } values %$worker;
}

sub all ($token, $of = $nginx) {
    my %said = map { ($_->header('X-Id') // '-') => 1 } answers($token, $of);
    return join ' ', sort keys %said;
}

sub put ($name, $text) {
    write_file($nginx->dir . "/$name.new", $text);
    rename $nginx->dir . "/$name.new", $nginx->dir . "/$name" or die $!;
}

# a file counts within 10 s: so what is asked is asked until then

sub becomes ($token, $said, $what) {
    my $took = stopwatch;
    my $there = wait_until { all($token) eq $said } 10 + 20 * slow;

    ok $there, $what or diag "still: " . all($token);
    cmp_ok $took->(), '<', 10 * slow, 'within 10 s';
}


# how often the log says something of keys, of all workers

sub told ($mark, $pattern) {
    return scalar(() = $nginx->error_log($mark) =~ /$pattern/g);
}


subtest 'rotation' => sub {
    is all($token{old}), 'alice', 'the key' for 1 .. 3;
    is all($token{new}), '-', 'another one';

    my $mark = $nginx->log_mark;

    put('keys.json', Admission::Keys::jwks($key{new}, $key{old}));
    becomes($token{new}, 'alice', 'a key more');
    is told($mark, qr{the keys of "\S+/keys.json" have changed}), 1,
        'one worker tells it for the host';
    is all($token{old}), 'alice', 'the first one is still there';

    put('keys.json', Admission::Keys::jwks($key{new}));
    becomes($token{old}, '-', 'a key less ends what was remembered of it');
    is all($token{new}), 'alice', 'and nothing else';

    put('keys.pem', $key{pem2}->pem . $key{pem}->pem);
    becomes($token{pem2}, 'alice', 'a key more in a PEM file');
    is all($token{pem}), 'alice', 'beside the other';
};


subtest 'what is of no use' => sub {
    my %rubbish = (
        'empty' => '', 'half' => '{"keys":[{"kty":"EC","crv":"P-2',
        'no set' => '{"kty":"EC"}', 'no keys' => '{"keys":[]}',
        'bytes' => join('', map { chr } 0 .. 255),
        'deep' => '[' x 100_000,
        'long' => '{"keys":[]}' . ' ' x 1_100_000,
        'weak' => Admission::Keys::jwks({ kty => 'RSA', e => 'AQAB',
                                          n => b64url("\xff" x 128) }),
    );

    # a file of each kind, with a key of its own

    my %own = map { $_ => Admission::Keys->new('P-256', kid => $_) }
              sort keys %rubbish;
    my $lines = join "\n", map { "admission_secret user 'jwks=$_.json';" }
                           sort keys %rubbish;
    my $other = Admission::Nginx->start(workers => 2,
        files => { map { ("$_.json" => Admission::Keys::jwks($own{$_})) }
                   keys %own },
        http => 'keepalive_requests 1000000; keepalive_timeout 600s;',
        server => "add_header X-Pid \$pid; admission_user jwt; $lines
                   add_header X-Id \$http_x_user_id;
                   location / { empty_gif; }");

    for my $name (sort keys %rubbish) {
        is all($own{$name}->token('ES256', \%alice), $other), 'alice',
            "$name: its key";

        write_file($other->dir . '/new', $rubbish{$name});
        rename $other->dir . '/new', $other->dir . "/$name.json" or die $!;
    }

    for my $name (sort keys %rubbish) {
        my $token = $own{$name}->token('ES256', \%alice);

        ok((wait_until {
            all($token, $other);
            $other->error_log =~ m{the keys of ".*/$name.json" stay}
        } 10 + 20 * slow), "$name: the log says so");
        is all($token, $other), 'alice', 'the keys that were there stay';
    }

    my $mark = $nginx->log_mark;
    unlink $nginx->dir . '/keys.json';
    ok((wait_until { all($token{new});
                     $nginx->error_log($mark) =~ /No such file/ }
        10 + 20 * slow), 'gone: the log says so');
    is all($token{new}), 'alice', 'the keys that were there stay';

    put('keys.json', Admission::Keys::jwks($key{next}));
    becomes($token{next}, 'alice', 'and a good one counts again');
    becomes($token{new}, '-', 'in their place');
};


subtest 'many keys' => sub {
    my $jwk = $key{old}->jwk;
    my @many = map { { %$jwk, kid => "key-$_" } } 1 .. 100;

    put('keys.json', Admission::Keys::jwks(@many, $key{new}, $key{next}));
    becomes($token{new}, 'alice', '100 keys, and one that is the right one');

    my @more = map { { %$jwk, kid => "key-$_", x5c => ['A' x 1000] } } 1 .. 850;
    my $text = Admission::Keys::jwks(@more, $key{old}, $key{next});
    cmp_ok length $text, '>', 900_000, 'close to a megabyte';
    put('keys.json', $text);
    becomes($token{old}, 'alice', 'is read');

    put('keys.json', Admission::Keys::jwks(@many));
    becomes($token{next}, '-', 'a key that goes');
    is all($key{old}->token('ES256', \%alice, header => { kid => undef })),
        'alice', 'a token that names none of many';
};


subtest 'many files' => sub {
    my @names = map { "set-$_.json" } 1 .. 24;
    my %old = map { $_ => Admission::Keys::jwks($key{old}) } @names;
    my $lines = join "\n", map { "admission_secret user jwks=$_;" } @names;
    my $many = Admission::Nginx->start(workers => 2, files => \%old,
        server => "add_header X-Pid \$pid; admission_user jwt; $lines
                   add_header X-Id \$http_x_user_id;
                   location / { empty_gif; }");

    for my $name (@names) {
        write_file($many->dir . "/$name.new",
                   Admission::Keys::jwks(@key{qw(old new)}));
        rename $many->dir . "/$name.new", $many->dir . "/$name" or die $!;
    }

    my %pid;

    ok((wait_until {
        my $r = get($many->port, '/', bearer => $token{new});
        $pid{ $r->header('X-Pid') // '' } = 1
            if ($r->header('X-Id') // '') eq 'alice';
        keys %pid == 2
    } 60), 'both workers have read them');

    my %told;

    wait_until {
        %told = ();
        $told{$_}++ for $many->error_log
                        =~ m{the keys of "\S+/([\w.-]+)" have changed}g;
        keys %told == @names
    } 30;
    is_deeply \%told, { map { $_ => 1 } @names }, 'each is told of once';
};


# What is answered with 503 to who sends tokens from an address, of so many at most,
# and how many were not.  They are there before they are looked at: what an address
# may cost is a share of the time, which goes by while a slow test makes the next.

sub bound ($address, $most, $token) {
    my $looked = 0;

    while ($looked < $most) {
        my $c = Admission::HTTP->connect($nginx->port);

        $c->send(join '', map {
            Admission::HTTP::compose('GET', '/', bearer => $token->(),
                                     headers => [ 'X-Real-Ip' => $address ])
        } 1 .. 50);

        for (1 .. 50) {
            my $r = $c->response;
            return ($r, $looked) if $r->status == 503;
            $looked++;
        }
    }

    return (undef, $looked);
}


subtest 'a flood of bad signatures' => sub {
    # each costs as much as can be: it names no key, and there are many

    my @slow = map { $key{slow}->jwk(kid => "slow-$_") } 1 .. 4;

    put('keys.json', Admission::Keys::jwks($key{old}, @slow));
    becomes($key{slow}->token('ES384', \%alice, header => { kid => 'slow-1' }),
            'alice', 'keys');

    # both remember it: a token is remembered when it comes again, if no other one
    # that came between has its place by the hash, as 1 in 8192 does

    all($token{old}) for 1, 2;

    my $good = $key{old}->token('ES256', { userId => 'bob' });
    my ($payload) = (split /\./, $token{old})[1];
    my $header = b64url(json_encode({ alg => 'ES384' }));
    my $n = 0;
    my ($bound, $looked) = bound('192.0.2.1', 1000, sub () {
        my $signature = b64url(pack 'N N x40 N N x40', ++$n, 1, 1, 1);
        return join '.', $header, $payload, $signature;
    });

    ok $bound, "an address is bound after $looked of them" or return;
    cmp_ok $bound->header('Retry-After') // 0, '>=', 1, 'Retry-After';
    is $bound->json->{code}, 'UNAVAILABLE', 'as when something is away';
    cmp_ok $looked, '>=', 2, 'but a few are looked at';

    my %from = (headers => [ 'X-Real-Ip' => '192.0.2.1' ]);

    is get($nginx->port, '/', bearer => $token{old}, %from)->status, 200,
        'a token of that address that is remembered'
        for 1 .. 4;

    # an address may have its share in common with that one: 1 in 8192 does, by a
    # key that each worker draws at its start, and two of two in 1 of 67 million runs

    my ($other) = grep { $_ eq 'bob' }
                  map { id($good, headers => [ 'X-Real-Ip' => "192.0.2.$_" ]) } 2, 3;
    is $other, 'bob', 'one of another address, never seen before';

    ok((wait_until {
        read_file($nginx->dir . '/why.log')
            =~ /^192\.0\.2\.1 "error" "too many bad signatures"$/m
    } 20), 'the verdict');

    # a signature that is right costs the same where the token is none for all
    # that: somebody who once had one may send it without end

    my %none = (
        'over' => [ exp => time - 3600 ],
        'not valid yet' => [ nbf => time + 3600 ],
        'without a user' => [ userId => undef ],
    );
    my $address = 10;

    for my $what (sort(keys %none), 'no JSON') {
        my %claims = (%alice, ($none{$what} // [])->@*);
        my $token = $key{slow}->token('ES384', \%claims,
                                      header => { kid => 'slow-1' },
                                      $none{$what} ? () : (payload => 'x'));
        my ($bound, $n);

        # from another address, if it has its share in common with one of before

        for (1, 2) {
            ($bound, $n) = bound('192.0.2.' . ++$address, 3000,
                                 sub () { $token });
            last if $n >= 2;
        }

        ok $bound, "tokens that are $what: an address is bound";
        cmp_ok $n, '>=', 2, 'after some';
    }

    # nor does it cost who has one that counts

    my $n_good = 0;
    my @said;

    for my $from ('192.0.2.20', '192.0.2.21') {
        @said = map {
            my $token = $key{old}->token('ES256', { userId => 'u' . ++$n_good });
            map { get($nginx->port, '/', bearer => $token, headers =>
                      [ 'X-Real-Ip' => $from ])->status } 1, 2;
        } 1 .. 8;
        last if !grep { $_ != 200 } @said;
    }
    is_deeply \@said, [ (200) x 16 ], 'a good token costs nothing there';
};

done_testing;
