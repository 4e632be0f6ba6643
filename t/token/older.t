# Entry tokens of an older issuer, under HS384 or HS512 (docs/migration.md): a
# secret with alg= verifies those, signs nothing, and verifies nothing else.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use MIME::Base64 qw(encode_base64);

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $own = 'tier2-secret-of-this-test-0123456789abcdef';
my %old = (HS384 => 'a' x 48, HS512 => "\xff\x00" x 32);

my $redis = Admission::Redis->start;
my $nginx = Admission::Nginx->start(
    files => { map { ("$_.key" => encode_base64($old{$_}, '') . "\n") }
               keys %old },
    http => <<"END",
    admission_redis ${\ $redis->url} timeout=5s;
    admission_secret tier2 file=HS512.key format=base64 alg=HS512;
    admission_secret tier2 $own;
    admission_secret tier2 file=HS384.key alg=HS384 format=base64;
    admission_secret user user-secret-of-this-test-0123456789abcdef;
    admission_events { concert threshold=10; }
END
    server => <<'END');
        admission_event concert;
        admission_user  jwt;
        add_header X-Reason $admission_reason always;

        location /gate/      { admission_tier2 on; empty_gif; }
        location /api/queue/ { admission_queue_api; }
END

my $user = user_token('user-secret-of-this-test-0123456789abcdef',
                      userId => 'alice');
my %claims = (sub => 'concert', uid => 'alice', iat => time, exp => time + 600);

sub why ($token) {
    my $r = get($nginx->port, '/gate/', bearer => $user,
                headers => [ 'x-queue-entry-token' => $token ]);
    return $r->status == 200 ? '' : $r->header('X-Reason');
}

for my $alg (sort keys %old) {
    is why(jwt_sign(\%claims, $old{$alg}, alg => $alg)), '',
        "$alg of the older issuer" for 1 .. 3;
    is why(jwt_sign(\%claims, $old{$alg}, alg => $_)), 'bad signature',
        "$_ by its secret" for grep { $_ ne $alg } qw(HS256 HS384 HS512);
    is why(jwt_sign(\%claims, $own, alg => $alg)), 'bad signature',
        "$alg by the one that signs";
    is why(jwt_sign(\%claims, encode_base64($old{$alg}, ''), alg => $alg)),
        'bad signature', "$alg by what its file has, as it stands";
}

my $token = post($nginx->port, '/api/queue/check/concert', bearer => $user)
            ->json->{entryToken};

is_deeply json_decode(unb64url((split /\./, $token)[0])),
    { alg => 'HS256', typ => 'JWT' }, 'what is signed here is HS256';
ok jwt_verify($token, $own), 'by the secret without alg=';
is why($token), '', 'and passes';

done_testing;
