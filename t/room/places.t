# Places: what brings a user back into the line where they stood, and every
# way of abuse tried.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Digest::SHA qw(hmac_sha256);

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => 'default threshold=0 admit_interval=200ms;
               other   threshold=0;');
my $redis = $site->redis;
my $tier2 = $Admission::Site::SECRETS{tier2};

sub join_queue ($user, %opt) { return ask($user, POST => 'check', %opt) }

sub ask ($user, $method, $call, %opt) {
    my $place = delete $opt{place};
    push $opt{headers}->@*, 'X-Queue-Place' => $place if defined $place;
    return $site->call($opt{instance} // 0, $user, $method => $call, %opt)
           ->json;
}

# as the clean-up of users not seen would
sub sweep (@users) {
    for my $user (@users) {
        $redis->cmd('ZREM', $site->key($_), $user) for qw(queue seen);
    }
}

sub waiting { return $redis->cmd('ZRANGE', $site->key('queue'), 0, -1) }

sub set_threshold ($n) { $site->admin(PUT => "threshold/%s?threshold=$n") }


my %place = map { $_ => join_queue($_)->{place} } qw(ann ben cho dan);

subtest 'what a place says' => sub {
    my $claims = jwt_decode($place{ann});
    is($claims->{sub}, 'concert', 'event');
    is($claims->{uid}, 'ann', 'user');
    ok($claims->{score} > 2e15 && $claims->{score} < 2**53, 'score');
    ok($claims->{at} && $claims->{epoch}, 'time of issue, epoch');
    is($claims->{exp} - $claims->{iat}, 86400, 'for a day');
    ok(!jwt_verify($place{ann}, $tier2), 'not signed with the secret itself');
};

subtest 'back where they stood' => sub {
    my @ways = ([POST => 'check'], [GET => 'status'], [POST => 'heartbeat']);

    for my $way (@ways) {
        sweep('ben');
        is(ask('ben', @$way)->{status} // '', 'not_in_queue',
           "@$way without the place") if $way->[1] ne 'check';
        my $back = ask('ben', @$way, place => $place{ben}, instance => 1);
        is($back->{status}, 'queued', "@$way with it");
        is_deeply(waiting, [qw(ann ben cho dan)], 'at the old place');
    }

    for my $name ('urr-queue-place-concert', 'urr-queue-place') {
        sweep('ben');
        is(ask('ben', GET => 'status', cookies => { $name => $place{ben} })
           ->{position}, 2, "by the cookie $name");
    }

    # what counts is tried of several
    sweep('ben');
    is(ask('ben', GET => 'status', place => $place{ann},
           cookies => { 'urr-queue-place' => 'rubbish',
                        'urr-queue-place-concert' => $place{ben} })
       ->{position}, 2, 'one of several');
};

subtest 'two tabs, two events' => sub {
    join_queue('ben') for 1 .. 3;
    join_queue('ben', instance => 1);
    is_deeply(waiting, [qw(ann ben cho dan)], 'one place for two tabs');

    my $other = $site->{event};
    local $site->{event} = 'other';
    is(join_queue('ben')->{position}, 1, 'first in another queue');
    is(ask('ben', GET => 'status')->{position}, 1, 'and there');
    local $site->{event} = $other;
    is(ask('ben', GET => 'status')->{position}, 2, 'and here');
};

subtest "not another's, not altered" => sub {
    my ($head, $payload, $mac) = split /\./, $place{ann};
    my $first = jwt_decode($place{ann});
    my $derived = hmac_sha256('admission place', $tier2);
    my $sign = sub ($claims, $secret) { jwt_sign({ %$first, %$claims },
                                                 $secret) };

    # each is tried by a user who never left, or it would not count anyhow
    my %bad = (
        "another user's" => sub ($u) { $place{ann} },
        'with another user, unsigned' => sub ($u) {
            join '.', $head, b64url(json_encode({ %$first, uid => $u })), $mac
        },
        'signed with the tier 2 secret' => sub ($u) {
            $sign->({ uid => $u }, $tier2)
        },
        'signed with the tier 1 secret' => sub ($u) {
            $sign->({ uid => $u }, $Admission::Site::SECRETS{tier1})
        },
        'of another event' => sub ($u) {
            $sign->({ uid => $u, sub => 'other' }, $derived)
        },
        'expired' => sub ($u) {
            $sign->({ uid => $u, exp => time - 60 }, $derived)
        },
        'cut' => sub ($u) { substr($sign->({ uid => $u }, $derived), 0, -1) },
        'alg none' => sub ($u) {
            b64url('{"alg":"none"}') . '.'
            . b64url(json_encode({ %$first, uid => $u })) . '.'
        },
        'empty' => sub ($u) { '' },
    );

    my $n = 0;

    for my $what (sort keys %bad) {
        my $eve = 'eve-' . ++$n;
        is(join_queue($eve, place => $bad{$what}->($eve))->{position}, 5,
           "$what: at the end");
        ask($eve, POST => 'leave');
    }

    my $good = $sign->({ uid => 'fay' }, $derived);
    is(join_queue('fay', place => $good)->{position}, 2,
       'the test can sign a good one');
    ask('fay', POST => 'leave');
};

subtest 'spent, left, cleared' => sub {
    # left
    is(ask('cho', DELETE => 'leave')->{message}, 'Left queue', 'cho leaves');
    is(ask('cho', GET => 'status', place => $place{cho})->{status},
       'not_in_queue', 'older than the leave');
    is(join_queue('cho', place => $place{cho})->{position}, 4,
       'leaving and coming back: at the end');

    # in, and came
    set_threshold(1);
    wait_until { join_queue('ann')->{status} eq 'active' };
    is(ask('ann', GET => 'status', place => $place{ann})->{status}, 'active',
       'ann is in');
    # in this order: nobody else is let in meanwhile
    set_threshold(0);
    $redis->cmd('ZREM', $site->key('active'), 'ann');
    is(ask('ann', GET => 'status', place => $place{ann})->{status},
       'not_in_queue', 'the place is spent');
    is(join_queue('ann', place => $place{ann})->{position}, 4,
       'and she at the end');

    # clear
    my $before = join_queue('ben')->{place};
    $site->admin(POST => 'clear/%s');
    is(ask('ben', GET => 'status', place => $_)->{status}, 'not_in_queue',
       'no place after clear') for $before, $place{ben};
    is(join_queue('dan')->{position}, 1, 'dan is first now');
    is(join_queue('ben', place => $before)->{position}, 2, 'ben second');
};

subtest 'a beacon' => sub {
    my $ms = sub { my ($s, $us) = $redis->cmd('TIME')->@*;
                   return $s * 1000 + $us / 1000 };
    my $from = $ms->();
    my $gone = ask('dan', POST => 'leave', headers =>
                   ['Sec-Fetch-Mode' => 'no-cors', 'Sec-Fetch-Site' =>
                    'same-origin', 'Content-Type' => 'text/plain'],
                   body => 'bye');
    my $to = $ms->();
    is($gone->{message}, 'Left queue', 'heard');
    is(ask('ben', POST => 'leave')->{message}, 'Left queue', 'ben leaves');
    is_deeply(waiting, ['dan'], 'dan stays for now');
    my $due = $redis->cmd('ZSCORE', $site->key('leaving'), 'dan');
    ok($due > $from + 9999 && $due < $to + 10_001, 'for ten seconds')
        or diag "$due of $from to $to";

    ask('dan', GET => 'status');
    ok(!defined $redis->cmd('ZSCORE', $site->key('leaving'), 'dan'),
       'a refresh: dan stays');

    my $cookies = request($site->port, 'POST',
                          '/api/queue/leave/concert?beacon=1',
                          bearer => $site->user('dan'))->cookies;
    is_deeply([keys %$cookies], [], 'a beacon clears no cookie');
    $redis->cmd('ZADD', $site->key('leaving'), 1, 'dan');
    my $went = wait_until { !@{ waiting() } };
    ok($went, 'dan is gone when the time is over');
};

done_testing;
