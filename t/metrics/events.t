# The metrics of events: what two hosts did is counted once over both; the
# busiest events have names, up to a number; nothing falls, whoever has one.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, workers => 2, timeout => '5s',
    events => 'default threshold=2 vwr_rate=0 token_ttl=10s claim_ttl=1h;
               quick   threshold=1 claim_ttl=1s seen_ttl=600s
                       admit_interval=100ms;
               short   threshold=1 active_ttl=2s admit_interval=100ms;
               gone    threshold=0 seen_ttl=1s;'
              . join('', map { "small-$_;" } 1 .. 300),
    server => <<'END');
        location = /metrics      { admission_metrics events=3; }
        location /unbound/queue/ { admission_tier1 auto bind=off;
                                   admission_queue_api; }
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
END

# a user's call about an event
sub call ($i, $event, $user, $call = 'check', %opt) {
    return request($site->port($i), $call eq 'status' ? 'GET' : 'POST',
                   "/api/queue/$call/$event", bearer => $site->user($user),
                   %opt);
}

sub vwr_operator ($method, $path, %opt) {
    return request($site->port(0), $method, "/api/admin/vwr/$path",
                   bearer => $Admission::Site::SECRETS{admin}, %opt);
}

sub look { return map { metrics($_) } $site->ports }

# over both hosts
sub total ($name, %labels) {
    my $sum = 0;
    $sum += $_->value($name, %labels) // 0 for look();
    return $sum;
}

sub soon ($name, $n, $what, %labels) {
    wait_until { total($name, %labels) >= $n } 10;
    is(total($name, %labels), $n, $what);
}


subtest 'counted once over both hosts' => sub {
    call($_ % 2, 'concert', "u$_") for 1 .. 10;
    call(1, 'concert', "u$_") for 1 .. 10;

    soon('queue_joins_total', 10, 'joins');
    soon('queue_admissions_total', 2, 'let in at once');
    soon('queue_wait_seconds_count', 2, 'who waited for nothing');

    # what a host did is known there at once, all else by its next look at Redis

    my @looks;
    wait_until {
        @looks = look();
        !grep { ($_->value('queue_waiting', event => 'concert') // 0) != 8
                || $_->value('queue_active', event => 'concert') != 2 } @looks
    } 10;

    for my $m (@looks) {
        is($m->value('queue_waiting', event => 'concert'), 8, 'waiting');
        is($m->value('queue_active', event => 'concert'), 2, 'in');
        is($m->value('queue_threshold', event => 'concert'), 2, 'threshold');
    }

    call(0, 'concert', 'u1', 'leave');
    call(1, 'concert', 'u10', 'leave');
    call(1, 'concert', 'u10', 'leave');
    call(1, 'concert', 'nobody', 'leave');

    soon('queue_leaves_total', 2, 'left, one in and one who waited');
    soon('queue_admissions_total', 3, 'one from the line');
    soon('queue_wait_seconds_count', 3, 'who waited');

    is(total('event_queue_joins_total', event => 'concert'), 10, 'by event');
    is(total('event_queue_joins_total', event => '(other)'), 0, 'not others');

    $site->admin(PUT => 'threshold/%s?threshold=7');
    ok((wait_until {
        !grep { ($_->value('queue_threshold', event => 'concert') // 0) != 7 }
             look() } 10), 'the threshold set is known on both');
};


subtest 'who does not come, runs out, is not heard of' => sub {
    call(0, 'quick', $_) for qw(ann ben);
    call(1, 'quick', 'ann', 'leave');
    soon('queue_claims_lost_total', 1, 'ben does not claim the slot');

    call(0, 'short', $_) for qw(ann);
    soon('queue_slots_expired_total', 1, 'a slot runs out');

    my $place = call(0, 'gone', 'carl')->cookie('urr-queue-place-gone');
    ok($place, 'carl has a place');

    # cleaned up every 30 s: an older time of it brings that about
    my $stale = wait_until {
        $site->redis->cmd('HSET', '{gone}:state', clean => 1);
        total('queue_stale_total');
    } 10;
    is($stale, 1, 'carl was not heard of');

    call(1, 'gone', 'carl', 'status',
         cookies => { 'urr-queue-place-gone' => $place });
    soon('queue_places_restored_total', 1, 'and is back by the place');

    # nobody waits here who may be cleaned up at some time later on
    is(call(1, 'gone', 'carl', 'leave')->status, 200, 'and leaves');
};


subtest 'the waiting room' => sub {
    vwr_operator(POST => 'activate/room');
    post($site->port($_ % 2), '/vwr-api/assign/room') for 1 .. 5;

    soon('room_positions_total', 5, 'positions');
    vwr_operator(POST => 'advance/room', json => { batchSize => 2 });

    for my $i (0, 1) {
        ok((wait_until {
            my $m = metrics($site->port($i));
            ($m->value('room_active', event => 'room') // 0) == 1
                && $m->value('room_next', event => 'room') == 5
                && $m->value('room_serving', event => 'room') == 2
                && $m->value('room_waiting', event => 'room') == 3
        } 10), "host $i knows it") or diag metrics($site->port($i))->text;
    }

    # two users with one position; a token of an issuer that binds none
    my $ticket = tier1_token($Admission::Site::SECRETS{tier1}, sub => 'room',
                             position => 1,
                             at => int((time - 100) * 1e6),
                             act => vwr_operator(GET => 'status/room')
                                        ->json->{activation},
                             adm => int(time * 1e6));

    call(0, 'room', $_) for qw(a b);

    my $status = join ' ', map {
        request($site->port($_->[0]), POST => '/unbound/queue/check/room',
                bearer => $site->user($_->[1]),
                headers => [ 'x-vwr-token' => $ticket ])->status
    } [ 0, 'early' ], [ 1, 'thief' ];

    is($status, '200 403', 'the second one is refused');
    is(total('queue_duplicate_positions_total'), 1, 'which is counted');
};


subtest 'names' => sub {
    my @before = look();

    # more than there are names for, each with one user who is in
    call($_ % 2, "small-$_", 'ann') for 1 .. 300;
    ok((wait_until { !grep { $_->value('events') < 300 } look() } 30),
       'all are known on both hosts');

    my @after = look();

    for my $i (0, 1) {
        is(join("\n", $after[$i]->fallen($before[$i])), '', 'nothing fell');

        my $names = $after[$i]->all('event_queue_joins_total');
        cmp_ok(scalar keys %$names, '<=', 4, 'three names and the others');
        cmp_ok($names->{'event=(other)'}, '>=', 100, 'most are others');

        is($after[$i]->sum('room_active'), 1, 'one room');

        # the least of some times: a busy machine is not so each time
        my ($time) = sort { $a <=> $b }
                     map { get($site->port($i), '/metrics')->time } 1 .. 3;
        cmp_ok($time, '<', 1 * slow, 'in time');
    }

    # one that is busier than those that have a name gets one
    for my $n (1 .. 30) {
        call(0, 'big', "u$n");
        call(1, 'big', "u$n");
    }

    my $named = wait_until {
        call($_, 'big', 'u1', 'status') for 0, 1;
        !grep { ($_->value('queue_waiting', event => 'big') // 0) != 28 }
             look();
    } 10;
    ok($named, 'the busiest has a name on both hosts');

    my @last = look();

    for my $i (0, 1) {
        is(join("\n", $last[$i]->fallen($after[$i])), '', 'nothing fell');
        cmp_ok(scalar keys %{ $last[$i]->all('queue_waiting') }, '<=', 4,
               'no more of them');
        is(scalar(grep { /^event=\(other\)$/ }
                  keys %{ $last[$i]->all('queue_waiting') }), 1,
           'the others are one');
    }

    # sums are those of all events, whoever has a name
    ok((wait_until {
        my @sums = map { $_->sum('queue_waiting') } look();
        my $redis = 0;
        $redis += $site->redis->cmd('ZCARD', "{$_}:queue")
            for qw(concert quick short gone room big);
        !grep { $_ != $redis } @sums
    } 10), 'the sum of those who wait is what Redis has');
};


subtest 'fewer names by a reload, none at all' => sub {
    my $nginx = $site->nginx;
    my $before = metrics($nginx->port);

    $nginx->reload(server => $site->server =~ s/events=3/events=1/r);
    my $m = metrics($nginx->port);
    ok((wait_until {
        $m = metrics($nginx->port);
        keys %{ $m->all('event_queue_joins_total') } == 2
    } 10), 'one');

    # the busiest may have taken the name over meanwhile: it begins anew
    my @fallen = grep { !/^nginx_admission_event_\w+,event="[^"]+": \d+, 0\z/ }
                 $m->fallen($before);
    is(join("\n", @fallen), '', 'nothing fell');

    $nginx->reload(server => $site->server =~ s/events=3/events=0/r);
    ok((wait_until {
        $m = metrics($nginx->port);
        'event=(other)' eq join ' ', keys %{ $m->all('queue_waiting') }
    } 10), 'none');
};


subtest 'another size of the zone' => sub {
    my $nginx = $site->nginx(1);
    my $before = metrics($nginx->port);

    $nginx->reload(http => $site->http =~ s/admission:1m/admission:2m/r);

    my $m = metrics($nginx->port);
    is(join("\n", $m->fallen($before)), '', 'nothing fell');
    is_deeply($m->all('event_queue_joins_total'),
              $before->all('event_queue_joins_total'), 'names are kept');
    is($m->sum('queue_waiting'), $before->sum('queue_waiting'), 'so are sums');
};


# What the scripts say of the order is only as good as their being able to say
# that it was not kept.

subtest 'a violation of the order would be seen' => sub {
    my $redis = $site->redis;
    my (undef, $lua) = run('sh', root . '/lua/embed.sh', '-e',
                           root . '/lua/queue_step.lua');

    my @keys = map { "{v}:$_" }
               qw(queue active seen active-seen done revoked threshold epoch
                  state admitted used cleared leaving rate vwr admissions
                  lost slots sold ended completed moved schedule notice
                  hold);
    my @args = ('v', 1, 600_000, 3_600_000, 120_000, 600_000, 60_000, 100, 100,
                600_000, 0, -1, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0, -1, 0, 0, 0, 0,
                int time * 1000, 0, -1, -1, 0, -1);

    my $time = sub { my $t = $redis->cmd('TIME');
                     $t->[0] * 1_000_000 + $t->[1] };

    for my $wrong (0, 1) {
        my $now = $time->();
        my $text = $lua;

        if ($wrong) {
            $text =~ s/'ZRANGE', k\.queue, 0, want/'ZREVRANGE', k.queue, 0, want/
                or die 'the step has changed';
        }

        $redis->cmd('DEL', @keys);
        $redis->cmd('ZADD', $keys[0], 2 * ($now - $_ * 1_000_000), "u$_")
            for 1 .. 3;
        $redis->cmd('ZADD', $keys[2], int $now / 1000, "u$_") for 1 .. 3;

        my $before = $time->();
        my $reply = $redis->cmd('EVAL', $text, scalar @keys, @keys, @args);
        my $after = $time->();
        my ($early, $waited) = $reply->[-1]->@[2, -1];

        is($early, $wrong, $wrong ? 'seen' : 'there is none');
        is(scalar @$waited, 1, 'one is let in');

        # since then, to the ms, at some time between the two looks
        my $joined = $now - ($wrong ? 1 : 3) * 1_000_000;
        cmp_ok($waited->[0], '>=', int(($before - $joined) / 1000) - 1,
               'who waited for so long');
        cmp_ok($waited->[0], '<=', int(($after - $joined) / 1000) + 1,
               'and no longer');
    }

    is(total('queue_order_violations_total'), 0,
       'and in all of this there was none');
};

done_testing;
