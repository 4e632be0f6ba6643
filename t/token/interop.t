# Tokens of well-known libraries verify here, by each algorithm, and ours verify
# there: PyJWT (python3-jwt), and jsonwebtoken and jose from npm.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(hmac_sha256);
use Fcntl qw(:flock);
use File::Path ();

use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;
use Admission::Redis;

my %packages = (jsonwebtoken => '9.0.2', jose => '5.9.6');

# What a library is given: {"sign": [{name, secret, alg, header, claims}],
# "verify": [{name, secret, alg, token}]}, secrets in hexadecimal, or a private
# key in PEM instead; and what it answers: {"sign": {name: token}, "verify":
# {name: claims or what is wrong}}.

my %program = (
    PyJWT => <<'END',
import json, sys, jwt
todo = json.load(open(sys.argv[1]))
done = {"sign": {}, "verify": {}}
for one in todo["sign"]:
    token = jwt.encode(one["claims"],
                       one.get("pem") or bytes.fromhex(one["secret"]),
                       algorithm=one["alg"], headers=one.get("header"))
    done["sign"][one["name"]] = token if isinstance(token, str) \
                                else token.decode()
for one in todo["verify"]:
    try:
        done["verify"][one["name"]] = jwt.decode(
            one["token"], bytes.fromhex(one["secret"]),
            algorithms=[one["alg"]], options={"require": ["exp"]})
    except jwt.PyJWTError as e:
        done["verify"][one["name"]] = type(e).__name__
print(json.dumps(done))
END

    jsonwebtoken => <<'END',
const fs = require('fs'), jwt = require('jsonwebtoken');
const todo = JSON.parse(fs.readFileSync(process.argv[2]));
const done = { sign: {}, verify: {} };
for (const one of todo.sign)
    done.sign[one.name] = jwt.sign(one.claims,
        one.pem || Buffer.from(one.secret, 'hex'),
        { algorithm: one.alg, header: one.header || {} });
for (const one of todo.verify) {
    try {
        done.verify[one.name] = jwt.verify(one.token,
            Buffer.from(one.secret, 'hex'), { algorithms: [one.alg] });
    } catch (e) {
        done.verify[one.name] = e.name;
    }
}
console.log(JSON.stringify(done));
END

    jose => <<'END',
const fs = require('fs'), jose = require('jose'), crypto = require('crypto');
const todo = JSON.parse(fs.readFileSync(process.argv[2]));
(async () => {
    const done = { sign: {}, verify: {} };
    for (const one of todo.sign)
        done.sign[one.name] = await new jose.SignJWT(one.claims)
            .setProtectedHeader({ alg: one.alg, ...one.header })
            .sign(one.pem ? crypto.createPrivateKey(one.pem)
                          : Buffer.from(one.secret, 'hex'));
    for (const one of todo.verify) {
        try {
            done.verify[one.name] = (await jose.jwtVerify(one.token,
                Buffer.from(one.secret, 'hex'),
                { algorithms: [one.alg], requiredClaims: ['exp'] })).payload;
        } catch (e) {
            done.verify[one.name] = e.name;
        }
    }
    console.log(JSON.stringify(done));
})();
END
);

my %secret = map { $_ => "$_-secret-of-this-test-" . '0123456789' x 4 }
             qw(tier1 tier2 user);
$secret{binary} = pack 'C*', 0 .. 255;

# an identity service's, by algorithm; jsonwebtoken has no EdDSA

my %key = map { $_->[0] => Admission::Keys->new(@$_[1 .. $#$_],
                                                kid => $_->[0]) }
          (map { [ $_ => 'RSA' ] }
           qw(RS256 RS384 RS512 PS256 PS384 PS512)),
          [ ES256 => 'P-256' ], [ ES384 => 'P-384' ], [ EdDSA => 'Ed25519' ];
my %without = (jsonwebtoken => { EdDSA => 1 });

my $redis = Admission::Redis->start;
my $nginx = Admission::Nginx->start(
    files => { 'binary.key' => unpack('H*', $secret{binary}) . "\n",
               'keys.json' => Admission::Keys::jwks(
                   map { $key{$_}->jwk(alg => $_) } sort keys %key) },
    http => <<"END" . <<'END',
    admission_redis ${\ $redis->url} timeout=5s;
    admission_secret tier1 $secret{tier1};
    admission_secret tier2 $secret{tier2};
    admission_secret user $secret{user};
    admission_events { default threshold=1; }
END
    server {
        listen 127.0.0.1:%%PORT_binary%%;
        admission_secret tier2 file=binary.key format=hex;
        admission_event concert;
        admission_user  jwt;
        location / { admission_tier2 on; empty_gif;
                     add_header X-Reason $admission_reason always; }
    }

    server {
        listen 127.0.0.1:%%PORT_keys%%;
        admission_secret user jwks=keys.json;
        admission_user   jwt iss=https://id.example.com aud=shop;
        add_header       X-Id     $http_x_user_id;
        add_header       X-Email  $http_x_user_email;
        add_header       X-Role   $http_x_user_role;
        location / { empty_gif; }
    }
END
    server => <<'END');
        admission_event concert;
        admission_user  jwt alg=HS256,HS384,HS512;
        add_header      X-Reason $admission_reason always;
        add_header      X-Id     $http_x_user_id;
        add_header      X-Email  $http_x_user_email;
        add_header      X-Role   $http_x_user_role;

        location /user/      { empty_gif; }
        location /gate/      { admission_tier2 on; empty_gif; }
        location /api/queue/ { admission_queue_api; }
        location /visitors/api/queue/ { admission_user visitor;
                                        admission_queue_api; }
END
my $port = $nginx->port;
my $letters = "\x{b300}\x{ae30} \x{1f3ab} \"\\</";


# ---- the libraries

# Of Debian's Python, or another one that has it.

sub python () {
    for my $python (map { "$_/python3" } split(/:/, $ENV{PATH}), '/usr/bin') {
        next if !-x $python;
        my ($status) = run($python, '-c',
                           'import jwt, cryptography; jwt.encode');
        return $python if !$status;
    }

    return;
}

# Installed once, under build/, in a directory that names the versions.

sub npm_directory () {
    my @names = map { "$_\@$packages{$_}" } sort keys %packages;
    my $dir = root . '/build/npm/' . join '+', @names;

    File::Path::make_path(root . '/build/npm');
    open my $lock, '>', "$dir.lock" or die "$dir.lock: $!";
    flock $lock, LOCK_EX or die "$dir.lock: $!";

    return $dir if -e "$dir/node_modules";

    my $new = "$dir.new";
    File::Path::remove_tree($new);
    File::Path::make_path($new);
    write_file("$new/package.json", '{"private":true}');

    # there may be no answer at once

    my ($status, $output);

    for (1 .. 3) {
        ($status, $output) = run('npm', 'install', '--prefix', $new,
                                 '--no-audit', '--no-fund', '--ignore-scripts',
                                 '--save-exact', @names);
        last if !$status;
    }

    die "npm install: $output" if $status;

    rename $new, $dir or die "$dir: $!";
    return $dir;
}

sub installed ($command) {
    return grep { -x "$_/$command" } split /:/, $ENV{PATH};
}

# Runs a library's program; what it answers, or why it does not.

sub library ($name, $todo) {
    my $file = test_dir . "/$name.json";
    my @sign = grep { !$_->{pem} || !$without{$name}{ $_->{alg} } }
               $todo->{sign}->@*;

    write_file($file, json_encode({ %$todo, sign => \@sign }));

    my @command = $name eq 'PyJWT' ? (python) : ('node');
    local $ENV{NODE_PATH} = npm_directory() . '/node_modules'
        if $name ne 'PyJWT';

    my ($status, $output) = run(@command, write_file("$file.program",
                                                     $program{$name}), $file);
    die "$name: $output" if $status;

    # jsonwebtoken's dependencies may have something to say on stderr
    my ($line) = $output =~ /^(\{.*\})$/m or die "$name: $output";
    return json_decode($line);
}


# ---- what is to be done

# of tokens that last for ten minutes, once all is there: npm may take long

npm_directory() if !grep { !installed($_) } 'node', 'npm';

my $exp = time + 600;
my %user = (userId => 'alice', email => 'alice@example.com', role => 'vip',
            exp => $exp);
my %entry = (sub => 'concert', uid => 'alice', exp => $exp, iat => time);

my @sign = (
    map({ { name => "user $_", secret => 'user', alg => $_,
            claims => \%user } } qw(HS256 HS384 HS512)),
    { name => 'entry', secret => 'tier2', claims => \%entry },
    { name => 'entry with kid', secret => 'tier2', claims => \%entry,
      header => { kid => '2024-1', typ => 'JWT' } },
    { name => 'entry of the binary secret', secret => 'binary',
      claims => \%entry },
    { name => 'entry of another secret', secret => 'user',
      claims => \%entry },
    { name => 'entry by HS512', secret => 'tier2', alg => 'HS512',
      claims => \%entry },
    { name => 'user of other letters', secret => 'user',
      claims => { %user, userId => $letters } },
    { name => 'user by number', secret => 'user',
      claims => { userId => 9_007_199_254_740_991, exp => $exp } },
    { name => 'over', secret => 'user',
      claims => { %user, exp => time - 60 } },
    { name => 'not yet', secret => 'user',
      claims => { %user, nbf => time + 86400 } },    # whatever npm takes
    map({ { name => "service $_", pem => $key{$_}->private_pem, alg => $_,
            header => { kid => $_ },
            claims => { %user, iss => 'https://id.example.com',
                        aud => [ 'app', 'shop' ] } } } sort keys %key),
    { name => 'service, for others', pem => $key{ES256}->private_pem,
      alg => 'ES256', header => { kid => 'ES256' },
      claims => { %user, iss => 'https://id.example.com', aud => 'else' } },
    { name => 'service, by another key', pem => $key{RS512}->private_pem,
      alg => 'RS256', header => { kid => 'RS256' },
      claims => { %user, iss => 'https://id.example.com', aud => 'shop' } },
);

# ours: the first comes in, the second waits

my %ours;

$ours{entry} = {
    claims => { sub => 'concert', uid => 'alice' },
    secret => $secret{tier2},
    token => queue('alice')->{entryToken},
};
$ours{place} = {
    claims => { sub => 'concert', uid => 'bob' },
    secret => hmac_sha256('admission place', $secret{tier2}),
    token => queue('bob')->{place},
};

$ours{'place of other letters'} = {
    claims => { sub => 'concert', uid => $letters },
    secret => hmac_sha256('admission place', $secret{tier2}),
    token => queue($letters)->{place},
};
$ours{visitor} = {
    claims => {},
    secret => hmac_sha256('admission visitor', $secret{tier1}),
    token => post($port, '/visitors/api/queue/check/concert')
             ->cookie('admission-visitor'),
};

sub queue ($user) {
    return post($port, '/api/queue/check/concert',
                bearer => user_token($secret{user}, userId => $user))->json;
}

my @verify = map {
    my $ours = $ours{$_};
    { name => $_, secret => $ours->{secret}, token => $ours->{token} },
    { name => "$_, of another secret", secret => "x$ours->{secret}",
      token => $ours->{token} }
} sort keys %ours;

my $todo = {
    sign => [ map { { alg => 'HS256', %$_,
                      $_->{pem} ? () : (secret =>
                      unpack('H*', $secret{ $_->{secret} })) } } @sign ],
    verify => [ map { { alg => 'HS256', %$_,
                        secret => unpack('H*', $_->{secret}) } } @verify ],
};


# ---- verifying here

my $alice = user_token($secret{user}, userId => 'alice');

sub gate ($entry, %opt) {
    my $response = get($opt{port} // $port, '/gate/', bearer => $alice,
                       headers => [ 'X-Queue-Entry-Token' => $entry ]);
    return $response->status == 200 ? 'pass'
         : $response->status . ' ' . ($response->header('X-Reason') // '');
}

sub seen ($token, $server = '') {
    my $response = get($nginx->port($server), '/user/', bearer => $token);
    return join ' ', map { $response->header("X-$_") // '-' }
           qw(Id Email Role);
}

for my $name (sort keys %program) {
    subtest $name => sub {
        plan(skip_all => "no $_ here")
            for $name eq 'PyJWT' ? (python ? () : 'python3-jwt')
                                 : grep { !installed($_) } 'node', 'npm';

        my $done = library($name, $todo);
        my $theirs = $done->{sign};

        is gate($theirs->{entry}), 'pass', 'an entry token passes';
        is gate($theirs->{'entry with kid'}), 'pass', 'one with a kid';
        is gate($theirs->{'entry of the binary secret'},
                port => $nginx->port('binary')), 'pass',
            'one of a binary secret';
        is gate($theirs->{'entry of another secret'}), '403 bad signature',
            'one of another secret does not';
        is gate($theirs->{'entry by HS512'}), '403 algorithm not allowed',
            'nor by another algorithm';

        is seen($theirs->{"user $_"}), 'alice alice@example.com vip',
            "a user by $_" for qw(HS256 HS384 HS512);

        utf8::encode(my $bytes = $letters);
        is seen($theirs->{"service $_"}, 'keys'),
            'alice alice@example.com vip', "a user by $_ of a service"
            for grep { !$without{$name}{$_} } sort keys %key;
        is seen($theirs->{"service, $_"}, 'keys'), '- - -',
            "a token $_" for 'for others', 'by another key';

        is seen($theirs->{'user of other letters'}),
            "$bytes alice\@example.com vip", 'a user of other letters';
        is seen($theirs->{'user by number'}), '9007199254740991 - user',
            'a user by number';
        is seen($theirs->{over}), '- - -', 'a token that is over';
        is seen($theirs->{'not yet'}), '- - -', 'a token for later';

        for my $ours (sort keys %ours) {
            my $claims = $done->{verify}{$ours};

            if (ok ref $claims, "our $ours verifies there") {
                my $expected = $ours{$ours}{claims};

                is_deeply { map { $_ => $claims->{$_} } keys %$expected },
                    $expected, "$ours: with its claims";
                cmp_ok $claims->{exp}, '>', time, "$ours: and its exp";

            } else {
                diag($claims);
            }

            like $done->{verify}{"$ours, of another secret"},
                qr/Signature|JsonWebTokenError/i,
                "our $ours does not with another secret";
        }
    };
}

done_testing;
