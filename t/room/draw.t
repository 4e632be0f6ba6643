# A draw: lots without a position until it is made, one order on all hosts, which
# the verifier finds too; what is told of it, and when; and what does not steer it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(sha256_hex);
use POSIX qw(strftime);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Site;

my $source = 'drand ' . 'ab' x 32 . ' 1000';

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => qq(default threshold=50 vwr_rate=1000 order=draw;
                 concert threshold=50 vwr_rate=1000 order=draw lots=visitor;
                 empty threshold=50 vwr_rate=1000 order=draw lots=visitor;
                 beacon threshold=50 vwr_rate=1000 order=draw lots=visitor
                        "draw_beacon=$source";
                 plain threshold=5 order=arrival;),
    server => <<'END');
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /tier1/queue/   { admission_tier1 auto; admission_queue_api; }
END

my $secret = $Admission::Site::SECRETS{admin};
my $redis = $site->redis;

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub date ($at) { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at)) }

sub operator ($i, $method, $path, %opt) {
    return request($site->port($i), $method, "/api/admin/vwr/$path",
                   bearer => $secret, %opt);
}

sub schedule ($event, %in) {
    my $now = int now();
    my %times = map { $_ => date($now + $in{$_}) } keys %in;
    my $r = operator(0, PUT => "schedule/$event", json => \%times);
    is $r->status, 200, "schedule of $event" or diag $r->raw;
    my $phase = $r->json->{schedule}{phase};
    ok((wait_until { (status($_, $event)->{phase} // '') eq $phase }),
       "host $_: $phase") for 0, 1;
}

sub status ($i, $event) {
    return get($site->port($i), "/vwr-api/status/$event")->json // {};
}

sub draw ($i, $event) { return get($site->port($i), "/vwr-api/draw/$event") }

sub assign ($i, $event, %opt) {
    return post($site->port($i), "/vwr-api/assign/$event", %opt);
}

sub check ($i, $event, $ticket) {
    return get($site->port($i), "/vwr-api/check/$event/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ])
           ->json // {};
}

sub join_queue ($i, $event, $user, @headers) {
    return request($site->port($i), POST => "/tier1/queue/check/$event",
                   bearer => $site->user($user), headers => \@headers);
}

# what the verifier says of lots and positions

sub verify ($draw, $positions, @args) {
    my $file = test_dir . '/draw.json';
    write_file($file, json_encode($draw));
    my $list = test_dir . '/positions';
    write_file($list, join '', map { "$_ $positions->{$_}\n" }
                               sort { $a <=> $b } keys %$positions);
    return run('python3', root . '/tools/verify-draw', $file,
               '--positions', $list, @args);
}


my $commitment;

subtest 'lots' => sub {
    my $event = 'concert';
    is draw(0, 'plain')->status . draw(0, 'plain')->json->{code}, '404NO_DRAW',
        'an event without a draw';

    schedule($event, opens => 3600, starts => 7200);
    my $r = draw(0, $event)->json;
    is $r->{phase}, 'before', 'before it opens';
    is $r->{$_}, undef, "there is no $_"
        for qw(commitment lots beacon secret seed activation);

    schedule($event, opens => -10, starts => 3600);
    ok((wait_until { status($_, $event)->{isActive} }), "host $_ is open")
        for 0, 1;
    ok((wait_until { $commitment = draw($_, $event)->json->{commitment} }),
       "host $_ tells the commitment") for 0, 1;
    like $commitment, qr/^[0-9a-f]{64}$/, 'which is a hash';
    is draw(0, $event)->json->{commitment}, draw(1, $event)->json->{commitment},
        'the same one';
    is status($_, $event)->{commitment}, $commitment, "status of host $_ too"
        for 0, 1;
    is status(0, 'plain')->{commitment}, undef, 'where there is a draw';
    is draw(0, $event)->header('Cache-Control'), 'no-store', 'for now';
    is $redis->cmd('HGET', "{$event}:vwr", 'commitment'), $commitment,
        'as Redis keeps it';

    my @lots = map { assign($_ % 2, $event)->json } 1 .. 40;
    is_deeply [ map { $_->{lot} } @lots ], [ 1 .. 40 ], 'lots';
    is scalar(grep { exists $_->{position} } @lots), 0, 'without a position';

    for my $i (0, 1) {
        my $c = check($i, $event, $lots[3]);
        is $c->{lot}, 4, "host $i: check tells the lot";
        ok !exists $c->{position}, 'and no position';
        is $c->{admitted}, false, 'nobody is let in';
        ok $c->{startsIn} > 0, 'it counts down';
        my $q = join_queue($i, $event, 'early');
        is $q->status . $q->json->{code}, '403NOT_OPEN', 'nobody joins';
        $q = request($site->port($i), POST => "/api/queue/check/$event",
                     bearer => $site->user('early'));
        is $q->status . $q->json->{code}, '403NOT_OPEN',
            'nor where no token is asked for';
        is operator($i, POST => $_)->json->{code}, 'GATHERING', $_
            for "deactivate/$event", "activate/$event?restart=1",
                "advance/$event";
        is draw($i, $event)->json->{lots}, undef, 'N is open';
    }

    # nothing that Redis has tells the secret

    my $dump = join ' ', map { $redis->cmd('TYPE', $_) eq 'hash'
                               ? $redis->cmd('HGETALL', $_)->@* : () }
               $redis->cmd('KEYS', '*')->@*;

    schedule($event, opens => -10, starts => -1);

    my $r0;
    ok((wait_until { ($r0 = draw(0, $event)->json)->{seed} }), 'it is drawn');
    ok((wait_until { draw(1, $event)->json->{seed} }), 'on the other host');
    is_deeply draw(1, $event)->json, $r0, 'the same draw';
    is $r0->{lots}, 40, 'of all lots';
    is $r0->{commitment}, $commitment, 'with the commitment of before';
    is sha256_hex(pack 'H*', $r0->{secret}), $commitment, 'which it fits';
    unlike $dump, qr/$r0->{secret}/, 'Redis never had the secret';
    unlike $_->error_log, qr/$r0->{secret}/, 'nor has a log'
        for $site->nginx(0), $site->nginx(1);
    is draw(0, $event)->header('Cache-Control'), 'public, max-age=60',
        'caches may keep it';

    # operators see it

    my ($listed) = grep { $_->{eventId} eq $event }
                   operator(1, GET => 'status')->json->{events}->@*;
    is_deeply $listed->{draw}, $r0, 'their list has it';
    ok !(grep { exists $_->{draw} && $_->{eventId} eq 'plain' }
         operator(0, GET => 'status')->json->{events}->@*),
        'but of an event without a draw';

    # the order

    my (@of, %position);
    for my $i (0, 1) {
        ok((wait_until {
            $of[$i] = [ map { check($i, $event, $_)->{position} } @lots ];
            40 == grep { defined } $of[$i]->@* }), "host $i has positions");
    }
    is_deeply $of[0], $of[1], 'the same on both';
    is_deeply [ sort { $a <=> $b } $of[0]->@* ], [ 1 .. 40 ],
        'each position once';
    @position{1 .. 40} = $of[0]->@*;

    my ($rc, $said) = verify($r0, \%position, '--commitment', $commitment,
                             '--all');
    is $rc, 0, 'the verifier agrees' or diag $said;
    my %wrong = (%position, 1 => $position{2}, 2 => $position{1});
    isnt +(verify($r0, \%wrong))[0], 0, 'and would not with another order';

    # late-comers stand behind all lots, in both tiers

    my $late = assign(1, $event)->json;
    is $late->{position}, 41, 'a late-comer';
    ok !exists $late->{lot}, 'has no lot';

    my ($token, $last);
    my ($first) = grep { $position{$_} == 1 } 1 .. 40;
    ($last) = grep { $position{$_} == 40 } 1 .. 40;
    is $site->nginx(0) && request($site->port, PUT =>
        "/api/queue/admin/threshold/$event?threshold=0", bearer => $secret)
        ->status, 200, 'nobody is let into the queue';
    my %score;
    for my $who ([ late => $late ], [ last => $lots[$last - 1] ],
                 [ first => $lots[$first - 1] ])
    {
        my ($name, $ticket) = @$who;
        ok((wait_until { $token = check(0, $event, $ticket)->{token} } 20),
           "$name: a turn");
        my $q = join_queue(0, $event, $name, 'X-Vwr-Token' => $token,
                           'X-Admission-Visitor' => $ticket->{visitor})->json;
        is $q->{status}, 'queued', 'joins';
        $score{$name} = $redis->cmd('ZSCORE', "{$event}:queue", $name);
    }
    is_deeply [ sort { $score{$a} <=> $score{$b} } keys %score ],
        [ qw(first last late) ], 'tier 2 has the order of the draw';
    cmp_ok $score{last} - $score{first}, '==', 2 * 39, 'in microseconds';
    my $q = join_queue(0, $event, 'other', 'X-Vwr-Token' => $token,
                       'X-Admission-Visitor' => $lots[$first - 1]{visitor});
    is $q->json->{code}, 'POSITION_USED', 'one lot is one user\'s';

    # what is fixed stays

    $r = operator(1, PUT => "schedule/$event",
                  json => { starts => date(now() + 100) });
    is $r->status . $r->json->{code}, '409DRAWN', 'the start stays';
    my $set = operator(0, GET => "schedule/$event")->json->{schedule};
    is operator(1, PUT => "schedule/$event", json => {
        %$set{qw(opens starts)}, closes => date(now() + 1000) })->status, 200,
        'it may close at another time';
    is operator(0, DELETE => "schedule/$event")->json->{code}, 'DRAWN',
        'and not go back';
    is operator(0, POST => "draw/$event", json => { beacon => 'ab' x 16 })
       ->json->{code}, 'NO_BEACON', 'no beacon is waited for';

    # after a reload, and by a host that starts with nothing

    $site->nginx(0)->reload;
    is_deeply draw(0, $event)->json, $r0, 'a reload changes nothing';
    my $new = $site->instance;
    my $same = wait_until {
        my $d = get($new->port, "/vwr-api/draw/$event")->json;
        $d->{seed} && $d->{seed} eq $r0->{seed} } 20;
    ok $same, 'a new host makes the same draw';
    is get($new->port, "/vwr-api/check/$event/$lots[3]{requestId}", headers =>
           [ 'X-Admission-Visitor' => $lots[3]{visitor} ])->json->{position},
        $position{4}, 'and the same positions';
    $new->stop;

    # Redis comes back empty: hosts have it

    my $serving = $redis->cmd('HGET', "{$event}:vwr", 'serving');
    $redis->flushall;
    ok((wait_until { ($redis->cmd('HGET', "{$event}:vwr", 'commitment') // '')
                     eq $commitment } 20), 'after a loss: the commitment');
    ok((wait_until { ($redis->cmd('HGET', "{$event}:vwr", 'lots') // 0) == 40 }
        20), 'and N are there again');
    is_deeply draw($_, $event)->json, $r0, "host $_: the same draw" for 0, 1;
    is check($_, $event, $lots[3])->{position}, $position{4},
        'and position' for 0, 1;
};


subtest 'a beacon' => sub {
    my $event = 'beacon';
    my $value = 'c0ffee' x 10 . 'abcd';

    schedule($event, opens => -10, starts => 3600);
    ok((wait_until { (draw($_, $event)->json->{beaconSource} // '')
                     eq $source }), "host $_ names the source") for 0, 1;
    my @lots = map { assign($_ % 2, $event)->json } 1 .. 5;
    is operator(0, POST => "draw/$event", json => { beacon => $value })
       ->json->{code}, 'NOT_COUNTED', 'not before the lots are counted';

    schedule($event, opens => -10, starts => -1);
    for my $i (0, 1) {
        my $r;
        ok((wait_until { ($r = draw($i, $event)->json)->{lots} }),
           "host $i: N is told");
        is $r->{$_}, undef, "and no $_" for qw(beacon secret seed);
    }

    my $late = assign(0, $event)->json;
    is $late->{position}, 6, 'a late-comer is behind all lots';
    my $until = now() + 1.5;
    wait_until { now() > $until };
    is check(0, $event, $_)->{admitted}, false, 'nobody is let in'
        for $lots[0], $late;
    ok !exists check(1, $event, $lots[0])->{position}, 'or has a position';
    for my $who ($lots[0], $late) {
        my $c = check(1, $event, $who);
        is $c->{paused}, true, 'or is told how long it takes';
        is $c->{estimatedWait}, undef, 'since nobody knows';
    }
    is $redis->cmd('HGET', "{$event}:vwr", 'serving'), 0, 'the counter stands';
    my $q = request($site->port(0), POST => "/api/queue/check/$event",
                    bearer => $site->user('early'));
    is $q->status . $q->json->{code}, '403NOT_OPEN', 'nobody joins';
    is operator(1, POST => "deactivate/$event")->json->{code}, 'GATHERING',
        'it can not be turned off';

    is operator(0, POST => "draw/$event", json => { beacon => $_ })
       ->json->{code}, 'INVALID_BEACON', "no value: $_"
        for '', 'xyz', 'ab', 'ab' x 65, 'abc' x 11;
    is operator(0, POST => "draw/$event")->json->{code}, 'INVALID_BEACON',
        'no body';
    is operator(0, POST => "draw/$event",
                body => qq({"beacon":"$value","beacon":"$value"}))
       ->status, 400, 'not twice';
    is request($site->port, POST => "/api/admin/vwr/draw/$event",
               json => { beacon => $value })->status, 401, 'nobody sets it';

    is request($site->port(1), POST => "/api/queue/admin/draw/$event",
               bearer => $secret, json => { beacon => uc $value })
       ->json->{beacon}, $value, 'an operator does';
    is operator(0, POST => "draw/$event", json => { beacon => $value })->status,
        200, 'again';
    is operator(0, POST => "draw/$event", json => { beacon => 'ab' x 16 })
       ->json->{code}, 'BEACON_SET', 'but no other';

    my $r;
    ok((wait_until { ($r = draw($_, $event)->json)->{seed} }),
       "host $_: it is drawn") for 0, 1;
    is $r->{beacon}, $value, 'with it';
    my %position;
    ok((wait_until {
        %position = map { $_ => check(0, $event, $lots[$_ - 1])->{position} }
                    1 .. 5;
        5 == grep { defined } values %position }), 'positions');
    ok !exists check(0, $event, $late)->{paused}, 'then it goes on';
    my ($rc, $said) = verify($r, \%position, '--source', $source, '--beacon',
                             $value, '--all');
    is $rc, 0, 'which the verifier finds' or diag $said;
    ok((wait_until { check(1, $event, $lots[0])->{admitted} } 20),
       'and people are let in');

    $redis->flushall;
    ok((wait_until { ($redis->cmd('HGET', "{$event}:vwr", 'beacon') // '')
                     eq $value } 20), 'after a loss it is there again');
    is draw($_, $event)->json->{seed}, $r->{seed}, "host $_: the same draw"
        for 0, 1;
};


subtest 'a lot a user' => sub {
    my $event = 'users';
    schedule($event, opens => -10, starts => 3600);

    my $r = assign(0, $event);
    is $r->status . $r->json->{code}, '401USER_REQUIRED', 'nobody has none';
    my $ann = assign(0, $event, bearer => $site->user('ann'))->json;
    is $ann->{lot}, 1, 'a lot';
    is assign(1, $event, bearer => $site->user('ben'))->json->{lot}, 2,
        "another user's";
    is assign($_ % 2, $event, bearer => $site->user('ann'))->json->{lot}, 1,
        'the same again, of another browser' for 1 .. 4;
    is assign(1, $event, bearer => $site->user('cho'), headers =>
              [ 'X-Admission-Visitor' => $ann->{visitor},
                'X-Admission-Ticket' => $ann->{requestId} ])->json->{lot}, 3,
        "another user of that browser has a lot of their own";

    # others behind the same address may say the same key

    my @key = (headers => [ 'Idempotency-Key' => 'one key of theirs' ]);
    for my $user ('ann', 'ben', 'ann') {
        is assign(0, $event, bearer => $site->user($user), @key)->json->{lot},
            $user eq 'ann' ? 1 : 2, "the key of $user is of that user";
    }
    is assign(0, $event, @key)->status, 401, 'and of nobody else';

    my $long = 'x' x 250;
    is assign(0, $event, bearer => $site->user($long))->json->{lot}, 4,
        'one with a long id has one';
    is assign(1, $event, bearer => $site->user($long))->json->{lot}, 4,
        'the same again';
    ok((wait_until { status(0, $event)->{totalInQueue} == 4 }), 'four lots');

    schedule($event, opens => -10, starts => -1);
    ok((wait_until { draw(0, $event)->json->{seed} }), 'drawn');
    is draw(0, $event)->json->{lots}, 4, 'of four';
};


subtest 'no lots' => sub {
    my $event = 'empty';
    schedule($event, opens => -10, starts => 3600);
    ok((wait_until { status(0, $event)->{isActive} }), 'open')
        or diag 'nobody came';
    schedule($event, opens => -10, starts => -1);
    my $r;
    ok((wait_until { $r = assign(0, $event)->json; $r->{position} }),
       'who comes later') or diag explain $r;
    ok((wait_until { check(0, $event, $r)->{admitted} }), 'is let in');
    is draw(0, $event)->json->{seed}, undef, 'and there is no seed';
};

done_testing;
