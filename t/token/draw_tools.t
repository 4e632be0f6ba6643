# What operators and everybody else have for a draw: tools/verify-draw says of one
# that it fits, or what does not, and what it could not look at; tools/post-beacon
# posts the value of the round that was named, once, and never too early;
# tools/verify-drand says whether drand signed it.  Sources and the draw's API are
# made up here; t/token/draw.t has the mathematics.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(sha256_hex);

use Admission::Backend;
use Admission::Draw ();

my $dir = test_dir;
my $tools = root . '/tools';
my @vectors = map { json_decode($_) }
              read_file(root . '/docs/draw.md') =~ /^```json\n(.*?)^```$/msg;
my ($plain) = grep { $_->{lots} == 10 } @vectors;
my ($drand) = grep { ($_->{beaconSource} // '') =~ /^drand / } @vectors;
my ($nist) = grep { ($_->{beaconSource} // '') =~ /^nist / } @vectors;


# ---- what answers: files, by the path of the request

my $files = "$dir/files";
mkdir $files;

my $backend = Admission::Backend->start(handler => sub ($request) {
    my $file = "$files/" . $request->{uri} =~ tr{/}{_}r;
    my @json = ('Content-Type' => 'application/json');

    if ($request->{method} eq 'POST') {
        return [ 302, [ Location => '/elsewhere' ], '' ]
            if -e "$files/away";

        my %header = map { lc $_->[0] => $_->[1] } $request->{headers}->@*;
        my $code = -e "$files/refuses" ? 503
                 : ($header{authorization} // '') ne 'Bearer sesame' ? 401
                 : -e "$files/quicker" ? 409 : 200;
        my $draw = json_decode(read_file("$files/_draw"));

        write_file("$files/posted", (-e "$files/posted"
                                     ? read_file("$files/posted") : '')
                                    . "$request->{body}\n");

        $draw->{beacon} = json_decode($request->{body})->{beacon}
            if $code == 200 && !-e "$files/slow";
        $draw->{beacon} = read_file("$files/quicker") if $code == 409;
        write_file("$files/_draw", json_encode($draw));
        return [ $code, \@json, '{"code":"X"}' ];
    }

    return [ 503, [ 'Transfer-Encoding' => 'chunked' ], "none\r\n" ]
        if $request->{uri} eq '/breaks';
    return [ 404, \@json, '{}' ] if !-e $file;
    return [ 200, \@json, read_file($file) ];
});

my $site = 'http://127.0.0.1:' . $backend->port;

sub answers ($path, $json) {
    return write_file("$files/" . $path =~ tr{/}{_}r,
                      ref $json ? json_encode($json) : $json);
}


# ---- verify-draw

sub verify ($draw, @args) {
    my $file = ref $draw ? write_file("$dir/draw.json", json_encode($draw))
                         : $draw;
    my ($status, $output) = run(Admission::Draw::python(),
                                "$tools/verify-draw", $file, @args);

    return "$status\n$output";
}

# a draw with some members changed; undef: without it

sub but ($draw, %changed) {
    my %draw = (%$draw, %changed);
    return { map { defined $draw{$_} ? ($_ => $draw{$_}) : () } keys %draw };
}

subtest 'a draw that fits' => sub {
    my $said = verify($plain, '1=2', 2);

    like $said, qr/^0\n/, 'is well';
    like $said, qr/^event spring-concert, .*, 10 lots$/m, 'which one it is';
    like $said, qr/^not checked: the commitment .* $plain->{commitment} /m,
        'the commitment is not seen before';
    like $said, qr/^not checked: that nobody steered it: there was no beacon/m,
        'without a beacon';
    like $said, qr/^fits: position 2 of lot 1$/m, 'a position that was told';
    like $said, qr/^lot 2 of 10: position 8$/m, 'a position';
    unlike $said, qr/WRONG/, 'nothing is wrong';

    unlike verify($plain, '--commitment', uc $plain->{commitment}),
        qr/not checked: the commitment/, 'a commitment that was noted';

    $said = verify($drand, '--commitment', $drand->{commitment},
                   '--source', $drand->{beaconSource},
                   '--beacon', $drand->{beacon});
    like $said, qr/^0\n/, 'with a beacon, all noted';
    unlike $said, qr/not checked/, 'nothing is left to check';

    $said = verify($drand);
    like $said, qr/^not checked: the beacon is what its source published/m,
        'the value is not looked up';
    like $said, qr/^not checked: the source and round/m,
        'nor whether the round was named before';

    like verify(but($plain, beacon => undef, beaconSource => undef,
                    more => [ 1 ])), qr/^0\n/, 'members absent, and others';
    like verify($plain, 11, '12=11'),
        qr/^0\n.*^lot\ 11:\ came\ after\ the\ draw.*^fits:\ position\ 11/msx,
        'who came later';

    like verify($plain, '--all'), qr/^fits: 10 lots have 10 positions, each/m,
        'all of them';
    like verify($plain, '--all', '--list', "$dir/list"), qr/^0\n/, 'listed';
    is_deeply [ (read_lines("$dir/list"))[0, 1, 9] ],
        [ '1 2', '2 8', '10 6' ], 'lot and position';
    like verify($plain, '--positions', "$dir/list"),
        qr/^0\n.*^fits: 10 positions of/ms, 'and it fits';
};

subtest 'what does not fit' => sub {
    my $other = 'ab' x 32;
    my @cases = (
        [ but($plain, secret => $other), [], 'commitment is that of' ],
        [ but($plain, commitment => $other), [], 'commitment is that of' ],
        [ but($plain, seed => $other), [], 'the seed is that of' ],
        [ but($plain, lots => 11), [], 'the seed is that of' ],
        [ but($plain, eventId => 'other'), [], 'the seed is that of' ],
        [ but($plain, activation => 1), [], 'the seed is that of' ],
        [ but($drand, beacon => $other), [], 'the seed is that of' ],
        [ but($drand, beaconSource => 'drand 1'), [], 'the seed is that of' ],
        [ but($drand, beacon => undef), [], 'beacon: its source or its value' ],
        [ but($drand, beaconSource => undef), [], 'no beacon: its source or' ],
        [ but($plain, secret => undef), [], 'there: without secret' ],
        [ but($plain, seed => undef), [], 'there: without seed' ],
        [ but($plain, commitment => undef), [], 'there: without commitment' ],
        [ $plain, [ '--commitment', $other ], 'the one that was shown' ],
        [ $drand, [ '--source', 'drand 2' ], 'those that were shown' ],
        [ $drand, [ '--beacon', $other ], 'what its source published' ],
        [ $plain, [ '--beacon', $other ], 'the beacon: there is none' ],
        [ $plain, [ '--source', 'drand 2' ], 'a draw without one' ],
        [ $plain, ['1=3'], 'position 3 of lot 1' ],
        [ $plain, ['11=3'], 'position 3 of lot 11: a position of those' ],
        [ $plain, [ '--positions', write_file("$dir/wrong", "1 2\n2 3\n") ],
          '2 positions of .*: 1 are others' ],
        [ $plain, [ '--positions', write_file("$dir/none", '') ],
          '0 positions' ],
    );

    like verify($_->[0], $_->[1]->@*), qr/^1\n.*^WRONG: [^\n]*$_->[2]/ms,
        $_->[2] for @cases;
};

subtest 'not drawn yet' => sub {
    my @later = (secret => undef, seed => undef, beacon => undef);

    like verify(but($plain, @later, lots => undef, phase => 'gathering')),
        qr/^3\n.*lots not counted yet\n.*^not drawn: the lots are not/ms,
        'before the start';
    like verify(but($drand, @later)), qr/^3\n.*^not drawn: the beacon is/ms,
        'without the beacon';
    like verify(but($plain, @later)), qr/^3\n.*^not drawn: secret and seed/ms,
        'before it is told';
    like verify(but($plain, @later, lots => 0)), qr/^3\n.*: nobody has/ms,
        'no lots';
    like verify(but($plain, lots => $_->[0], $_->[1] => undef)),
        qr/^1\n.*^WRONG: secret or seed: told without/ms, "$_->[1] is not told"
        for [ undef, 'seed' ], [ undef, 'secret' ], [ 0, 'seed' ];
    like verify(but($plain, @later), '--commitment', 'ab' x 32),
        qr/^1\n.*^WRONG: the commitment/ms, 'another commitment is seen already';
};

subtest 'what is no draw' => sub {
    my %bad = (
        'no object' => '[]', 'no JSON' => '{', 'nothing' => '',
        'a string' => '"x"', 'long' => ' ' x (1 << 20) . '{}',
        'deep' => '[' x 100_000, 'deep objects' => '{"a":' x 100_000,
        'a member twice' => json_encode($plain) =~ s/\}\z/,"lots":11}/r,
        'one deeper twice' => json_encode($plain)
                              =~ s/\}\z/,"x":[{"a":1,"a":2}]}/r,
        'a long number' => json_encode($plain)
                           =~ s/"lots":10/'"lots":1' . '0' x 900_000/er,
        'one with a long fraction' => json_encode($plain)
                                      =~ s/"lots":10/"lots":10.0/r,
        'more than there are' => json_encode($plain)
                                 =~ s/"lots":10/"lots":1e999/r,
        'no number' => json_encode($plain) =~ s/"lots":10/"lots":NaN/r,
        'nor infinity' => json_encode($plain)
                          =~ s/"lots":10/"lots":Infinity/r,
        'half a character' => json_encode($drand)
                              =~ s/"drand /"\\ud800 /r,
        'no UTF-8' => json_encode($plain) =~ s/"open"/"op\xffn"/r,
        'something behind it' => json_encode($plain) . '{}',
        map { ("$_->[0] $_->[1]"
               => json_encode({ %$drand, $_->[0] => $_->[1] })) }
        [ algorithm => 'admission-draw-v2' ], [ algorithm => 1 ],
        [ eventId => 'A' ], [ eventId => '' ], [ eventId => 'a' x 65 ],
        [ eventId => "a\n" ], [ activation => 0 ], [ activation => '1' ],
        [ activation => 2 ** 53 ], [ lots => -1 ], [ lots => '10' ],
        [ lots => 2 ** 40 + 1 ], [ lots => 1.5 ], [ lots => true ],
        [ secret => 'ab' ], [ secret => 1 ], [ seed => 'x' x 64 ],
        [ seed => 'ab' x 33 ], [ commitment => '' ], [ beacon => 'ab' x 15 ],
        [ beacon => 'ab' x 65 ], [ beaconSource => ' x' ],
        [ beaconSource => "x\x{e9}" ], [ beaconSource => 'x' x 129 ],
    );

    for my $name (sort keys %bad) {
        my $file = write_file("$dir/bad", $bad{$name});

        like verify($file), qr/^2\n[^\n]*verify-draw: [^\n]+\n\z/s, $name;
    }

    like verify(but($drand, $_ => undef)), qr/^2\n/, "no $_"
        for qw(eventId activation algorithm);
    like verify("$dir/missing"), qr/^2\n.*missing/s, 'no file';
    like verify($plain, $_), qr/^2\n/, "no lot: $_"
        for qw(0 x -1 1=0 1= =1 1=x 1.5);
    like verify($plain, '--positions', write_file("$dir/p", "11 1\n")),
        qr/^2\n/, 'a position of no lot';
    like verify($plain, '--positions', write_file("$dir/p", "x\n")),
        qr/^2\n/, 'no position';
    like verify($plain, '--positions', write_file("$dir/p", "1 2\n" x 2)),
        qr/^2\n.*lot 1: twice/s, 'a lot twice, for those that are not there';

    # a draw that fits, of more lots than can be looked at

    my ($seed) = Admission::Draw->new->answers([ seed => $plain->{secret},
        '-', '-', Admission::Draw::hex_of($plain->{eventId}),
        $plain->{activation}, 2 ** 40 ]);
    my $big = but($plain, lots => 2 ** 40, seed => $seed);
    like verify($big, 1), qr/^0\n.*^lot 1 of 1099511627776: /ms, 'many lots';
    like verify($big, '--all'), qr/^2\n.*too many/s, 'are too many for all';

    # what moves the cursor is not passed on

    my $said = verify("$dir/\e[2Kfits: all");
    like $said, qr/^2\n.*\?\[2Kfits/s, 'no file, by another name';
    unlike $said, qr/\e/, 'which is shown as it is';
};

my ($chain, $round) = $drand->{beaconSource} =~ /^drand (\w+) (\d+)$/;
my ($nist_chain, $pulse) = $nist->{beaconSource} =~ /^nist (\d+) (\d+)$/;
my $drand_path = "/$chain/public/$round";
my $nist_path = "/beacon/2.0/chain/$nist_chain/pulse/$pulse";

# what a source answers of its value; the vector's are no hashes of signatures

sub drand_says (%but) {
    return but({ round => $round + 0, randomness => $drand->{beacon} }, %but);
}

sub nist_says (%but) {
    return { pulse => but({ chainIndex => $nist_chain + 0,
                            pulseIndex => $pulse + 0,
                            outputValue => uc $nist->{beacon} }, %but) };
}

subtest 'the source is asked' => sub {
    my @fetch = ('--fetch', '--at', $site);

    answers('/draw', $drand);
    like verify("$site/draw", @fetch), qr/^2\n.*404/s, 'it has no such round';

    answers($drand_path, drand_says());
    like verify("$site/draw", @fetch), qr/^0\n.*^fits: the beacon is what/ms,
        'drand';
    answers($drand_path, drand_says(randomness => 'ab' x 32));
    like verify("$site/draw", @fetch), qr/^1\n.*^WRONG: the beacon is what/ms,
        'it says another value';
    answers($drand_path, drand_says(round => $round + 1));
    like verify("$site/draw", @fetch), qr/^2\n/, 'of another round';

    answers($nist_path, nist_says());
    like verify($nist, @fetch), qr/^0\n.*^fits: the beacon is what/ms, 'NIST';
    answers($nist_path, nist_says(chainIndex => 3));
    like verify($nist, @fetch), qr/^2\n/, 'of another chain';
    answers($nist_path, '{"pulse":[]}');
    like verify($nist, @fetch), qr/^2\n/, 'no pulse';

    # the source is one that does not fit the seed: that is said as well
    like verify(but($drand, beaconSource => 'lottery 2026-12-01'), @fetch),
        qr/^2\n.*does not know/s, 'another source';
};


# ---- post-beacon

my $secret = write_file("$dir/secret", "sesame\n");
my $signature = 'cd' x 48;
my $value = sha256_hex(pack 'H*', $signature);
my %awaited = %{ but($drand, map { $_ => undef } qw(beacon secret seed)) };

sub post (@args) {
    my ($status, $output) = run(Admission::Draw::python(), "$tools/post-beacon",
        '--draw', "$site/draw", '--admin', "$site/admin/draw/x",
        '--secret', $secret,
        (grep { $_ eq '--at' } @args) ? () : ('--at', $site), @args);

    return "$status\n$output";
}

sub begin (%draw) {
    unlink map { "$files/$_" } qw(posted slow quicker refuses away);
    answers('/draw', but(\%awaited, %draw));
    answers($drand_path, drand_says(randomness => $value,
                                    signature => $signature));
}

sub posted () {
    return -e "$files/posted" ? read_file("$files/posted") : '';
}

sub nothing_posted ($what) { is posted(), '', "$what: nothing is posted" }

subtest 'a beacon is posted, once' => sub {
    begin();
    is post(), "0\nposted: $drand->{beaconSource}: $value\n", 'posted';
    is posted(), qq({"beacon": "$value"}\n), 'this value';
    is json_decode(read_file("$files/_draw"))->{beacon}, $value, 'it is there';

    is post(), "0\n", 'and again: nothing is said';
    is scalar(() = posted() =~ /\n/g), 1, 'nor done';

    begin();
    write_file("$files/slow", '');
    like post(), qr/^0\nposted/, 'the draw does not tell of it yet';

    begin();
    write_file("$files/quicker", $value);
    like post(), qr/^0\nposted/, 'another host was quicker, with the same';

    begin(beaconSource => $nist->{beaconSource});
    answers($nist_path, nist_says());
    like post(), qr/^0\nposted: nist .*: $nist->{beacon}$/m, 'NIST\'s';

    begin(beaconSource => 'lottery draw 77');
    answers('/lottery', { result => { number => 77, hash => 'AB' x 32 } });
    my @lottery = ('--value-url', "$site/lottery", '--member', 'result.hash',
                   '--round-member', 'result.number');
    like post(@lottery), qr/^0\nposted: lottery draw 77: @{[ 'ab' x 32 ]}$/m,
        'any other';
};

subtest 'and never too early' => sub {
    begin(lots => undef);
    is post(), "3\n", 'the lots are not counted: cron is not told';
    like post('-v'), qr/^3\nnot yet: the lots/, 'unless it asks';
    nothing_posted('not counted');

    begin(lots => 0);
    is post(), "3\n", 'no lots';
    begin(lots => undef, beaconSource => undef);
    is post(), "3\n", 'before opens';

    begin();
    unlink answers($drand_path, '');
    is post(), "3\n", 'the round is not out';
    nothing_posted('not out');
};

subtest 'what is wrong is not posted' => sub {
    my $odd = sub ($what, $pattern, %says) {
        begin();
        answers($drand_path, drand_says(randomness => $value,
                                        signature => $signature, %says));
        like post(), qr/^1\n.*$pattern/s, $what;
        nothing_posted($what);
    };

    $odd->('another round', 'round is', round => $round - 1);
    $odd->('no value', 'no value', randomness => 'x');
    $odd->('a number', 'no value', randomness => 1);
    $odd->('none', 'no value', randomness => undef);
    $odd->('not of the signature', 'of the signature', signature => 'ce' x 48);
    $odd->('no signature', 'of the signature', signature => $_)
        for 'x', undef, 1, [], '';
    $odd->('a line of its own', 'round is 1\?\[2K\?posted',
           round => "1\e[2K\nposted");
    $odd->('a round that is none', 'round is', round => $_)
        for true, [ $round ], { a => 1 }, "$round.0";

    begin();
    answers('/other' . $drand_path, drand_says(signature => 'ce' x 48,
            randomness => sha256_hex(pack 'H*', 'ce' x 48)));
    like post('--at', $site, '--at', "$site/other"), qr/^1\n.*do not agree/s,
        'two that do not agree';
    nothing_posted('two that do not agree');
    like post('--at', "$site/none", '--at', $site), qr/^0\n/,
        'one is enough where the other has none';

    begin();
    like post('--source', 'drand 1'), qr/^1\n.*the draw names/s,
        'the draw names another source';
    nothing_posted('another source');
    begin(beaconSource => undef);
    like post(), qr/^1\n.*without a beacon/s, 'a draw without a beacon';
    begin(beaconSource => 'lottery 1');
    like post(), qr/^1\n.*--value-url/s, 'a source that it does not know';

    begin();
    write_file("$files/quicker", 'ab' x 32);
    like post(), qr/^1\n.*the draw has abab/s, 'another value was posted';
    begin();
    write_file("$files/refuses", '');
    like post(), qr/^1\n.*503 X/s, 'refused';

    begin();
    write_file("$files/away", '');
    like post(), qr/^1\n.*302/s, 'the operators have moved';
    is scalar(grep { $_->{uri} eq '/elsewhere' } $backend->requests), 0,
        'and the secret does not follow them';

    begin();
    my $said = post('--secret', write_file("$dir/other", 'knock'));
    like $said, qr/^1\n.*401 X/s, 'another secret';
    unlike $said, qr/knock/, 'which is not shown';
    like post('--secret', "$dir/none/such"), qr/^2\n/, 'no secret';

    begin();
    answers('/draw', '{}');
    like post(), qr/^2\n.*not a draw/s, 'no draw';
    like post('--draw', "$site/breaks"), qr/^2\n.*503, not a draw/s,
        'an error that breaks off';
    like post('--draw', 'http://127.0.0.1:' . free_port), qr/^2\n/,
        'nobody answers';
};


# ---- verify-drand, and a round of quicknet, as it was published

my $quicknet = '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971';
my %info = (
    public_key => '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760'
                  . '183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17'
                  . 'e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76'
                  . 'eae8991ef5ece45a',
    period => 3, genesis_time => 1692803367, hash => $quicknet,
    groupHash => 'f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c'
                 . '5d3e',
    schemeID => 'bls-unchained-g1-rfc9380',
    metadata => { beaconID => 'quicknet' },
);
my %round = (
    round => 657413,
    randomness => 'fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87'
                  . 'b3587',
    signature => 'b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050'
                 . 'e7be41076862b98fad56e91a6b85b89cd97b',
);

sub drand ($info, $answer, $number = 657413, @args) {
    my ($status, $output) = run(Admission::Draw::python(),
        "$tools/verify-drand", $quicknet, $number,
        '--info', write_file("$dir/info", json_encode($info)),
        '--answer', write_file("$dir/answer", json_encode($answer)), @args);

    return "$status\n$output";
}

subtest 'what the members of drand signed' => sub {
    my $said = drand(\%info, \%round);

    like $said, qr/^0\n.*^value $round{randomness}$/ms, 'it is the value';
    like $said, qr/comes out at 2023-09-15T11:00:03Z/, 'and when it came out';

    # the same, as the second version of the answers has it

    my $same = { (map { $_ => $info{$_} } qw(public_key period genesis_time)),
                 genesis_seed => $info{groupHash}, scheme => $info{schemeID},
                 beacon_id => 'quicknet' };
    like drand($same, but(\%round, round => 657414), 657414),
        qr/^1\n.*signature is not that of the round/s, 'of another round';

    my $sig = $round{signature};
    my @wrong = (
        [ 'another round', 'of another round', round => 657414 ],
        [ 'another value', 'value is not', randomness => 'ab' x 32 ],
        [ 'too short', 'no point', signature => substr $sig, 2 ],
        [ 'not compressed', 'no point', signature => $sig =~ s/^b/3/r ],
        [ 'at infinity', 'no point', signature => 'c0' . '00' x 47 ],
        [ 'beyond the field', 'no point', signature => 'bf' . 'ff' x 47 ],
        [ 'nowhere', 'not (?:on|of) the', signature => $sig =~ s/b$/c/r ],
        [ 'a point of another group', 'not of the group',
          signature => '80' . '00' x 47 ],
    );
    for (@wrong) {
        my ($what, $pattern, %but) = @$_;
        like drand(\%info, but(\%round, %but)), qr/^1\n.*WRONG: .*$pattern/s,
            $what;
    }

    for my $what (qw(period genesis_time public_key groupHash metadata)) {
        my $value = $info{$what};
        my $other = ref $value ? { beaconID => 'quickest' }
                  : $value =~ /^\d+$/ ? $value + 1 : $value =~ s/^(.)./$1f/r;
        like drand(but(\%info, $what => $other), \%round),
            qr/^1\n.*the key is not that of/s, "another chain: $what";
    }
    like drand(but(\%info, schemeID => 'pedersen-bls-chained'), \%round),
        qr/^2\n.*signatures are not/s, 'a kind that it does not know';
    like drand(but(\%info, $_ => undef), \%round), qr/^[12]\n/, "no $_"
        for sort grep { $_ ne 'hash' } keys %info;
    like drand($_->[0], $_->[1]), qr/^[12]\n/, 'no answer'
        for [ [], \%round ], [ \%info, [] ], [ \%info, {} ],
            [ but(\%info, period => '3'), \%round ];
};

subtest 'a beacon is verified, and posted' => sub {
    my @source = (beaconSource => "drand $quicknet 657413");
    begin(@source);
    answers("/$quicknet/info", \%info);
    answers("/$quicknet/public/657413", \%round);
    like post('--verify'), qr/^0\nposted: .* $round{randomness}$/m, 'it is';

    begin(@source);
    like post('--verify', '--at', "$site/none", '--at', $site),
        qr/^0\nposted: .* $round{randomness}$/m, 'by the one that has it';

    begin(@source);
    answers("/$quicknet/public/657413",
            but(\%round, signature => $signature, randomness => $value));
    like post('--verify'), qr/^1\n.*WRONG/s, 'one that nobody signed';
    nothing_posted('one that nobody signed');
    unlink answers("/$quicknet/info", '');
    answers("/$quicknet/public/657413", \%round);
    like post('--verify'), qr/^2\n/, 'without the key';
    nothing_posted('without the key');
    begin(beaconSource => $nist->{beaconSource});
    answers($nist_path, nist_says());
    like post('--verify'), qr/^1\n.*not of drand/s, 'of another source';
    nothing_posted('of another source');
};

done_testing;
