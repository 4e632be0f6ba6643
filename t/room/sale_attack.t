# Everything of a sale at once, on two hosts whose clocks are an hour apart, by
# users and operators who do anything at any moment: times, a draw, seats, a hold,
# a notice.  After each of it nobody has been let in ahead of the start, while all
# are held, or beyond the seats; what is drawn stays, and lots have one position.
#
#     TEST_SECONDS=300 TEST_SEED=... prove -v t/room/sale_attack.t

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use POSIX qw(strftime);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;

my $seconds = ($ENV{TEST_SECONDS} // 6) * slow;
my $seed = $ENV{TEST_SEED} // int rand 1e9;
srand $seed;
note "TEST_SEED=$seed";

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1;
               draw   order=draw lots=visitor threshold=4 slots=40
                      vwr_rate=200 admit_interval=100ms;
               beacon order=draw lots=visitor threshold=4 slots=40
                      vwr_rate=200 admit_interval=100ms "draw_beacon=named 1";
               plain  threshold=4 slots=40 vwr_rate=200 admit_interval=100ms;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /vwr/           { admission_page tier1; }
        location /tier1/queue/   { admission_tier1 on; admission_queue_api; }
        location ~ ^/gate/(?<of>[^/]+)$ {
            admission_event $of;
            admission_tier1 auto;
            admission_tier2 on;
            empty_gif;
        }
END

my $redis = $site->redis;

my $ahead = Admission::Nginx->start(workers => 2, clock => 1,
                                    http => $site->http,
                                    server => $site->server);
$ahead->set_clock(3600);
push $site->{nginx}->@*, $ahead;

my @events = qw(draw beacon plain);
my (%problem, %log);

sub problem ($event, $what) {
    return if $problem{"$event: $what"}++;
    diag "$event: $what, after\n  ",
         join "\n  ", ($log{$event} // [])->@[-12 .. -1]
        if ($log{$event} // [])->@* >= 12;
}

sub date ($at) {
    return strftime('%Y-%m-%dT%H:%M:%S', gmtime $at)
           . sprintf('.%03dZ', 1000 * ($at - int $at));
}


# ---- what Redis has, at one moment

my $LOOK = <<'END';
local e = ARGV[1]
local function h(key, ...)
  local v = redis.call('HMGET', e .. ':' .. key, ...)
  for i = 1, #v do v[i] = v[i] or '0' end
  return v
end
return { redis.call('TIME'),
         h('vwr', 'activation', 'serving', 'order', 'lots', 'drawn', 'base',
           'next', 'commitment', 'beacon'),
         h('schedule', 'version', 'opens', 'starts', 'closes'),
         h('state', 'total', 'reached'), h('hold', 'version', 'held'),
         redis.call('ZCARD', e .. ':active'),
         redis.call('GET', e .. ':sold') or '0',
         redis.call('GET', e .. ':slots') or '' }
END

my (%last, %draw_of);

sub look ($event) {
    my ($time, $room, $sale, $state, $hold, $active, $sold, $left)
        = $redis->cmd('EVAL', $LOOK, 0, "{$event}")->@*;
    my %now = (us => $time->[0] * 1e6 + $time->[1], active => $active,
               sold => $sold, left => $left);
    @now{qw(activation serving order lots drawn base next commitment beacon)}
        = @$room;
    @now{qw(version opens starts closes)} = @$sale;
    @now{qw(total reached)} = @$state;
    @now{qw(hold held)} = @$hold;

    my $was = $last{$event};
    $last{$event} = \%now;
    return if !$was;

    my $same_room = $was->{activation} == $now{activation};
    my $served = $same_room && $now{serving} > $was->{serving};
    my $let_in = $now{total} > $was->{total};
    my $starts = $now{starts} > $now{opens} ? $now{starts} : $now{opens};

    if ($was->{version} == $now{version} && $now{us} < $starts
        && $now{reached} < $starts)
    {
        problem($event, 'served ahead of the start') if $served;
        problem($event, 'let in ahead of the start') if $let_in;
    }

    if ($was->{held} && $now{held} && $was->{hold} == $now{hold}) {
        problem($event, 'served while it is held') if $served;
        problem($event, 'let in while it is held') if $let_in;
    }

    problem($event, "sold $sold and $active inside, $left left")
        if $let_in && $left ne '' && $left eq $was->{left} && $left < 0;

    if ($same_room && $was->{drawn} > 0) {
        $was->{$_} eq $now{$_} or problem($event, "$_ changed after the draw")
            for qw(lots drawn base order), $now{lots} > 0 ? 'commitment' : ();
        problem($event, 'another beacon')
            if $was->{beacon} && $was->{beacon} ne $now{beacon};
    }
    problem($event, 'a draw without lots that is not told')
        if $now{drawn} > 0 && $now{lots} > $now{next};
    problem($event, 'served ahead of the draw')
        if $served && $now{order} > 0 && $now{drawn} == 0;
}


# ---- what hosts answer

my (%position, %holder, %changed);

sub answer ($event, $method, $path, %opt) {
    my $i = int rand 2;
    my $r = request($site->port($i), $method, $path =~ s/EVENT/$event/r, %opt);
    my $code = $r->json ? $r->json->{code} // '' : '';

    push $log{$event}->@*, sprintf '%.3f host %d %s %s: %d %s', time, $i,
        $method, $path =~ s{(EVENT)/.{20,}}{$1/TICKET}r, $r->status, $code;

    # between times that open it and the waiting room nothing can be said

    my $pending = $code eq 'UNAVAILABLE'
                  && $changed{$event} && $changed{$event}->() < 2 * slow;

    problem($event, "$method $path: " . join ' ', $r->status, $code,
            $r->error // ())
        if $r->status == 0 || $r->status >= 500 && !$pending
           && $code !~ /^(?:ON_HOLD|QUEUE_FULL|WAIT_TOO_LONG)$/;
    problem($event, "$path: no JSON: " . substr $r->body, 0, 80)
        if ($r->header('Content-Type') // '') =~ /json/ && !$r->json;
    return $r->json && ref $r->json eq 'HASH' ? $r->json : {};
}

sub draw_told ($event, $d) {
    my $of = $d->{activation} or return;
    my $known = $draw_of{"$event $of"} //= {};

    for my $what (qw(commitment beaconSource lots beacon secret seed)) {
        next if !defined $d->{$what};
        $known->{$what} //= $d->{$what};
        problem($event, "another $what is told")
            if $known->{$what} ne $d->{$what};
    }
    problem($event, 'a secret without a seed, or ahead of the lots')
        if defined $d->{secret} && !(defined $d->{seed} && defined $d->{lots});
    problem($event, 'the secret does not fit')
        if defined $d->{secret}
           && sha256_hex(pack 'H*', $d->{secret}) ne $d->{commitment};
}

sub lot_told ($event, $of, $c) {
    my ($lot, $position) = @$c{qw(lot position)};
    return if !$lot || !$position;
    $position{"$event $of $lot"} //= $position;
    $holder{"$event $of $position"} //= $lot;
    problem($event, "lot $lot has two positions")
        if $position{"$event $of $lot"} != $position;
    problem($event, "position $position is that of two lots")
        if $holder{"$event $of $position"} != $lot;
}


# ---- users

my @users = map { { id => "u$_" } } 1 .. 120;

sub act ($event) {
    my $user = $users[rand @users];
    my $u = $user->{$event} //= {};
    my @visitor = $u->{visitor} ? ('X-Admission-Visitor' => $u->{visitor}) : ();
    push @visitor, 'X-Admission-Ticket' => $u->{ticket} if $u->{ticket};
    my @user = (bearer => $site->user($user->{id}));
    my $what = rand;

    if (!$u->{ticket} || $what < 0.05) {
        my $r = answer($event, POST => '/vwr-api/assign/EVENT',
                       headers => \@visitor);
        if ($r->{requestId}) {
            delete $u->{token} if ($u->{ticket} // '') ne $r->{requestId};
            $u->{ticket} = $r->{requestId};
            $u->{visitor} = $r->{visitor} // $u->{visitor};
        }

    } elsif ($what < 0.5) {
        my $of = $last{$event}{activation} // 0;
        my $c = answer($event, GET => "/vwr-api/check/EVENT/$u->{ticket}",
                       headers => \@visitor);
        $u->{token} = $c->{token} if $c->{token};
        look($event);
        lot_told($event, $of, $c) if $of == $last{$event}{activation};
        delete $u->{ticket} if ($c->{code} // '') eq 'POSITION_NOT_FOUND';
        problem($event, 'two words of where one stands')
            if $c->{admitted} && !defined $c->{position} && $c->{lot};

    } elsif ($what < 0.75) {
        my $r = answer($event, POST => '/tier1/queue/check/EVENT', @user,
            headers => [ @visitor,
                         $u->{token} ? ('X-Vwr-Token' => $u->{token}) : (),
                         $u->{place} ? ('X-Queue-Place' => $u->{place}) : (),
                       ]);
        $u->{place} = $r->{place} if $r->{place};
        $u->{entry} = $r->{entryToken} if $r->{entryToken};

    } elsif ($what < 0.85) {
        answer($event, GET => '/gate/EVENT', @user, headers => [ @visitor,
            $u->{token} ? ('X-Vwr-Token' => $u->{token}) : (),
            $u->{entry} ? ('X-Queue-Entry-Token' => $u->{entry}) : () ]);

    } elsif ($what < 0.9) {
        answer($event, POST => '/api/queue/leave/EVENT', @user);

    } elsif ($what < 0.95) {
        answer($event, GET => '/vwr/EVENT?nojs=1', headers => [
            Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate' ]);

    } else {
        draw_told($event, answer($event, GET => '/vwr-api/draw/EVENT'));
        answer($event, GET => '/vwr-api/status/EVENT');
    }
}


# ---- operators

sub operate ($event) {
    $changed{$event} = stopwatch;
    my @operator = (bearer => $Admission::Site::SECRETS{admin});
    my $api = rand() < 0.5 ? '/api/admin/vwr' : '/api/queue/admin';
    my $room = '/api/admin/vwr';
    my $now = time;
    my $in = sub ($from, $to) { date($now + $from + rand($to - $from)) };
    my @all = (
        (sub { my $starts = rand(3) - 1;
               answer($event, PUT => "$api/schedule/EVENT", @operator, json => {
                   opens => $in->(-20, -5), starts => date($now + $starts),
                   rand() < 0.2 ? (closes => date($now + $starts + rand 4))
                                : () }) }) x 6,
        sub { answer($event, DELETE => "$api/schedule/EVENT", @operator) },
        (sub { answer($event, PUT => "$api/hold/EVENT"
                              . (rand() < 0.5 ? '?inside=on' : ''),
                      @operator) }) x 2,
        (sub { answer($event, DELETE => "$api/hold/EVENT", @operator) }) x 3,
        sub { answer($event, PUT => "$api/notice/EVENT", @operator,
                     json => { ko => "\x{ed}\x{95}\x{9c}" x rand 20,
                               en => "a \"<\n" . 'x' x rand 50 }) },
        sub { answer($event, DELETE => "$api/notice/EVENT", @operator) },
        sub { answer($event, PUT => '/api/queue/admin/slots/EVENT?slots='
                                    . int rand 60, @operator) },
        sub { answer($event, PUT => '/api/queue/admin/threshold/EVENT?'
                                    . 'threshold=' . int rand 6, @operator) },
        sub { answer($event, POST => '/api/queue/admin/complete/EVENT?user='
                             . $users[rand @users]{id}, @operator) },
        (map { my $what = $_;
               sub { answer($event, POST => "$room/$what", @operator) } }
         'activate/EVENT', 'activate/EVENT?restart=1', 'deactivate/EVENT',
         'advance/EVENT', 'activate/EVENT?resume=1'),
        sub { answer($event, POST => "$api/draw/EVENT", @operator,
                     json => { beacon => sprintf '%02x' x 16,
                               (int rand 256) x 16 }) },
        sub { answer($event, GET => "$room/status/EVENT", @operator) },
        sub { answer($event, POST => '/api/queue/admin/clear/EVENT',
                     @operator) },
    );
    $all[rand @all]->();
    $changed{$event} = stopwatch;
}


my $end = time + $seconds;
my $turns = 0;

# and as many turns as it takes, on a machine that is slow

while (time < $end || $turns <= 50) {
    my $event = $events[rand @events];
    rand() < 0.08 ? operate($event) : act($event);
    look($event);
    $turns++;
}

cmp_ok $turns, '>', 50, "$turns turns";
is_deeply [ sort keys %problem ], [], 'nobody found a way';


# ---- and at the end both say the same

for my $event (@events) {
    request($site->port(rand 2), $_->[0], $_->[1],
            bearer => $Admission::Site::SECRETS{admin},
            $_->[2] ? (json => $_->[2]) : ())
        for [ DELETE => "/api/admin/vwr/hold/$event" ],
            [ DELETE => "/api/admin/vwr/notice/$event" ],
            [ PUT => "/api/queue/admin/slots/$event?slots=500" ],
            [ PUT => "/api/queue/admin/threshold/$event?threshold=100" ];
    my @said;
    ok((wait_until {
        @said = map {
            my %all = (get($site->port($_), "/vwr-api/status/$event")->json
                       ->%*, get($site->port($_), "/vwr-api/draw/$event")
                       ->json->%*);
            delete @all{qw(opensIn startsIn nextPoll retryAfter)};
            json_encode(\%all) } 0, 1;
        $said[0] eq $said[1] } 20), "$event: hosts agree") or diag "@said";
    note "$event: $said[0]";
}

done_testing;
