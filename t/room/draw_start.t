# A draw at a bad moment, on two hosts whose clocks are an hour apart: Redis goes
# at the start, with what it had acknowledged or all that it knew; a promoted one
# counts again; two hosts count at once; lots that come in the last moment; the
# start is moved in that, or as it comes; a host is killed, and begins with nothing.
# There is one draw, the same everywhere, and nobody is let in before it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(max);
use POSIX qw(strftime);
use Time::HiRes qw(time sleep);

use Admission::HTTP;
use Admission::Nginx;
use Admission::Rooms;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=5 vwr_rate=1000 order=draw lots=visitor;
               beacon-lost threshold=5 vwr_rate=1000 order=draw lots=visitor
                           "draw_beacon=some source 7";',
    server => <<'END');
        location ~ ^/events/(?<of>[^/]+)$ {
            admission_event $of;
            admission_tier1 on;
            empty_gif;
        }
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /tier1/queue/   { admission_tier1 on; admission_queue_api; }
END

my $redis = $site->redis;

# a host that is an hour ahead

sub ahead () {
    my $nginx = Admission::Nginx->start(workers => 2, clock => 1,
                                        http => $site->http,
                                        server => $site->server);
    $nginx->set_clock(3600);
    return $nginx;
}

push $site->{nginx}->@*, ahead();

sub now () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s + $us / 1e6 }

sub set_times ($i, $event, %at) {
    my %times = map { $_ => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($at{$_})) }
                keys %at;
    return answered {
        request($site->port($i), PUT => "/api/admin/vwr/schedule/$event",
                bearer => $Admission::Site::SECRETS{admin}, json => \%times)
    };
}

sub schedule ($event, %at) {
    my $r = set_times(0, $event, %at);
    is $r->status, 200, "$event is set" or diag $r->raw;
}

# by another host, which opened it as well

sub move ($i, $event, $starts) {
    return set_times($i, $event, opens => now() - 10, starts => $starts);
}

sub join_queue ($i, $event, $user, @headers) {
    return request($site->port($i), POST => "/tier1/queue/check/$event",
                   bearer => $site->user($user), headers => \@headers)
           ->json // {};
}

sub draw ($i, $event) {
    return get($site->port($i), "/vwr-api/draw/$event")->json // {};
}

sub assign ($i, $event) {
    my $r = post($site->port($i), "/vwr-api/assign/$event");
    return $r->status == 200 ? $r->json : undef;
}

sub check ($i, $event, $ticket) {
    return get($site->port($i), "/vwr-api/check/$event/$ticket->{requestId}",
               headers => [ 'X-Admission-Visitor' => $ticket->{visitor} ])
           ->json // {};
}

# so many lots, and a start that both hosts know, at least so many seconds ahead
# once it is set; what Redis has of the room ahead of that

my %before;

sub gathering ($event, $in, $n) {
    my $opens = now() - 10;
    schedule($event, opens => $opens, starts => now() + 3600);
    ok((wait_until { draw($_, $event)->{commitment} } 20),
       "host $_ gathers") for 0, 1;
    my @lots = map { my $i = $_ % 2;
                     answered { post($site->port($i),
                                     "/vwr-api/assign/$event") }->json
                   } 1 .. $n;
    is_deeply [ map { $_->{lot} } @lots ], [ 1 .. $n ], 'lots';
    $before{$event} = { $redis->cmd('HGETALL', "{$event}:vwr")->@* };

    my $starts = int(now()) + 1 + $in;
    schedule($event, opens => $opens, starts => $starts);
    wait_until { (status($_, $event)->{startsIn} // 0) < 1800 } for 0, 1;
    return ($starts, @lots);
}

# Whether nobody has a position, or is in, until then.

sub none_before ($event, $starts, @lots) {
    my ($looks, $early) = (0, 0);

    while (now() < $starts) {
        my $c = check($looks % 2, $event, $lots[$looks % @lots]);
        my $d = draw($looks % 2, $event);
        next if now() >= $starts;
        $looks++;
        $early++ if $c->{admitted} || defined $c->{position}
                    || grep { defined $d->{$_} } qw(lots secret seed);
    }
    is $early, 0, "looked $looks times: nobody is in, or has a position";
}

sub status ($i, $event) {
    return get($site->port($i), "/vwr-api/status/$event")->json // {};
}

# one draw, of all of them

sub one_draw ($event, @lots) {
    ok((wait_until { draw($_, $event)->{seed} } 30), "host $_: it is made")
        for 0, 1;
    my $d = draw(0, $event);
    is_deeply draw(1, $event), $d, 'the same on both';
    my @positions;
    for my $i (0, 1) {
        ok((wait_until {
            $positions[$i] = [ map { check($i, $event, $_)->{position} } @lots ];
            @lots == grep { defined } $positions[$i]->@* } 20),
           "host $i has the positions");
    }
    is_deeply $positions[0], $positions[1], 'which are the same';
    my %seen = map { $_ => 1 } $positions[0]->@*;
    is scalar(keys %seen), scalar @lots, 'each once';
    return $d;
}


# and a host that is reloaded meanwhile

subtest 'lots that come in the last moment' => sub {
    my ($event, @lots, @more, @late, $most);

    # another one where the machine was too slow for the moment

    for my $try (1 .. 5) {
        $event = "last$try";
        (my $starts, @lots) = gathering($event, 2 * slow, 3);
        (my $reloaded, $most) = (0, 0);

        while (now() < $starts + 1 || !@late && now() < $starts + 20) {
            $site->nginx(0)->signal('HUP')
                if now() > $starts - 0.2 && !$reloaded++;
            my $ticket = assign(@more % 2, $event) or next;
            push @{ $ticket->{lot} ? \@more : \@late }, $ticket;

            # the other host, which may not have heard of it

            my $r = check(@more % 2, $event, $ticket);
            $most = max($most, $_->{lot} // 0) for $ticket, $r;
        }

        last if @more;
        @late = ();
    }
    cmp_ok scalar(@more), '>', 0, scalar(@more) . ' came just before it';
    cmp_ok scalar(@late), '>', 0, scalar(@late) . ' just after it';

    my $d = one_draw($event, @lots, @more);
    my $n = $d->{lots};

    cmp_ok $most, '<=', $n, 'nobody was told a lot beyond them';

    my @numbers = map { check(0, $event, $_)->{position} // 0 } @late;
    is scalar(grep { $_ <= $n } @numbers), 0, 'late-comers are behind all lots';
    is $redis->cmd('HGET', "{$event}:vwr", 'lots'), $n, 'as Redis has it';
};


subtest 'the start is moved in the last second' => sub {
    my $event = 'moved';
    my ($starts, @lots) = gathering($event, 2 * slow, 3);
    my $later = $starts + 2;

    wait_until { now() > $starts - 0.5 } 60;
    my $r = move(1, $event, $later);
    if ($r->status == 409) {
        note 'this machine was too slow for that';
        return;
    }
    my @more = map { assign($_, $event) } 0, 1;
    is scalar(grep { defined } @more), 2, 'two more come';

    # ahead of the new one, unless the machine was too slow for that as well

    push @lots, grep { $_->{lot} } @more;
    none_before($event, $later, @lots);
    my $d = one_draw($event, @lots);
    is $d->{lots}, scalar @lots,
        'of all lots, those of after the old start too';
    is $redis->cmd('HGET', "{$event}:vwr", 'base'), $later * 1e6,
        'dated by the new one';
};


# Either it was in time, and the lots are drawn then, or they were counted.

subtest 'and as it comes' => sub {
    my $event = 'race';
    my ($starts, @lots) = gathering($event, 1 * slow, 3);
    my $later = $starts + 1;

    wait_until { now() > $starts - 0.01 } 60;
    my $r = move(1, $event, $later);
    like $r->status . ($r->json->{code} // ''), qr/^(?:200|409DRAWN)$/,
        'it is moved, or was too late' or diag $r->raw;
    my $moved = $r->status == 200;
    none_before($event, $later, @lots) if $moved;
    one_draw($event, @lots);
    is $redis->cmd('HGET', "{$event}:vwr", 'base'),
        ($moved ? $later : $starts) * 1e6, 'the lots are dated by that';
};


subtest 'a host is killed, and begins with nothing' => sub {
    my $event = 'killed';
    my ($starts, @lots) = gathering($event, 0, 5);
    my $d = one_draw($event, @lots);
    my $late = assign(1, $event);
    my @of = (@lots, $late);
    my @at = map { check(1, $event, $_)->{position} } @of;
    is request($site->port, PUT =>
               "/api/queue/admin/threshold/$event?threshold=0",
               bearer => $Admission::Site::SECRETS{admin})->status, 200,
        'nobody is let into the queue';

    # who came last joins first

    my @by = sort { $at[$b] <=> $at[$a] } 0 .. $#of;
    for my $n (@by) {
        my $token;
        ok((wait_until { $token = check(1, $event, $of[$n])->{token} } 20),
           "position $at[$n]: a turn");
        my $r = join_queue(1, $event, "u$n", 'X-Vwr-Token' => $token,
                           'X-Admission-Visitor' => $of[$n]{visitor});
        is $r->{status}, 'queued', 'joins' or diag explain $r;
    }

    my $nginx = $site->nginx(1);
    $nginx->kill9;
    $nginx->start_again;
    ok((wait_until { draw(1, $event)->{seed} } 20), 'it has the draw');
    is_deeply draw(1, $event), $d, 'which is the same';
    my @now;
    ok((wait_until { @now = map { check(1, $event, $_)->{position} } @of;
                     @now == grep { defined } @now } 20), 'and positions');
    is_deeply \@now, \@at, 'as before';

    my @line = map { get($site->port(1), "/api/queue/status/$event",
                         bearer => $site->user("u$_"))->json->{position} }
               reverse @by;
    is_deeply \@line, [ 1 .. @of ], 'the line is in the order of the draw';
};


subtest 'Redis is gone at the start' => sub {
    my $event = 'gone';
    my ($starts, @lots) = gathering($event, 2 * slow, 6);
    my $commitment = draw(0, $event)->{commitment};
    $site->nginx($_)->allow(qr/redis/) for 0, 1;

    wait_until { now() > $starts - 0.7 } 60;
    $redis->kill9;

    if (time >= $starts) {
        note 'this machine was too slow for that';
        $redis->restart;
        return;
    }

    my $until = time + 2;
    my $in = 0;
    while (time < $until) {
        $in += grep { my $c = check($_, $event, $lots[0]);
                      $c->{admitted} || $c->{position} } 0, 1;
        sleep 0.1;
    }
    is $in, 0, 'nobody is let in, or has a position';
    $redis->restart;

    my $d = one_draw($event, @lots);
    is $d->{commitment}, $commitment, 'by the commitment of before';
    ok((wait_until { check(0, $event, $lots[0])->{admitted} } 20), 'it goes on');
};


subtest 'the write of the draw is lost' => sub {
    my $event = 'lost';
    my ($starts, @lots) = gathering($event, 0, 6);
    my $d = one_draw($event, @lots);

    # a replica that never had it is the master now: it has more lots, and counts
    # again, later

    my @fields = qw(lots drawn base ready);
    my %had;
    @had{@fields} = $redis->cmd('HMGET', "{$event}:vwr", @fields)->@*;
    $redis->cmd('HSET', "{$event}:vwr", lots => 0, drawn => 0, base => 0,
                ready => 0, next => 9);
    my %has;
    ok((wait_until {
        @has{@fields} = $redis->cmd('HMGET', "{$event}:vwr", @fields)->@*;
        $has{lots} == 6 && $has{drawn} == $had{drawn} } 20),
       'the earlier draw stands') or diag explain \%has;
    is_deeply draw($_, $event), $d, "host $_: the same draw" for 0, 1;
};


# all hosts are new, and Redis has what it had before the draw: it is drawn again,
# with others, until a token of a lot tells of the first one

for my $event ('all-lost', 'beacon-lost') {
    subtest "$event, but for a token" => sub {
        my ($starts, @lots) = gathering($event, 2 * slow, 6);
        my $with = $event eq 'beacon-lost';
        my $post = sub ($byte) {
            return request($site->port, POST => "/api/admin/vwr/draw/$event",
                bearer => $Admission::Site::SECRETS{admin},
                json => { beacon => $byte x 32 })->status;
        };
        ok((wait_until { $post->('ab') == 200 } 20), 'its beacon') if $with;

        my $d = one_draw($event, @lots);
        my %had = map { $_ => check(0, $event, $lots[$_])->{position} } 0 .. 5;
        my ($first) = grep { $had{$_} == 1 } 0 .. 5;
        my $in;
        ok((wait_until { $in = check(0, $event, $lots[$first])->{token} } 20),
           'the first one is in');

        $_->stop for $site->nginx(0), $site->nginx(1);
        $redis->cmd('DEL', "{$event}:vwr");
        $redis->cmd('HSET', "{$event}:vwr", $before{$event}->%*, next => 9);
        $site->{nginx} = [ $site->instance, ahead() ];
        $site->nginx($_)->allow(qr/the draw of event|lost data/) for 0, 1;

        ok((wait_until { $post->('cd') == 200 } 20), 'another beacon') if $with;
        ok((wait_until { (draw(0, $event)->{lots} // 0) == 9 } 20),
           'other lots are counted') or diag explain draw(0, $event);

        # once it has measured what its clock is off by

        ok((wait_until {
            get($site->port(1), "/events/$event", headers =>
                [ 'X-Vwr-Token' => $in, 'X-Admission-Visitor'
                  => $lots[$first]{visitor} ])->status == 200 }),
           'a gate of one host sees the token');
        ok((wait_until { (draw($_, $event)->{lots} // 0) == 6
                         && draw($_, $event)->{seed} } 20),
           "host $_ has the draw of before")
            or diag explain [ draw($_, $event),
                              $redis->cmd('HGETALL', "{$event}:vwr") ]
            for 0, 1;
        is_deeply draw($_, $event), $d, "host $_: the same draw" for 0, 1;
        is_deeply { map { $_ => check(1, $event, $lots[$_])->{position} }
                    0 .. 5 }, \%had, 'and positions';
    };
}


subtest 'of two draws the earlier stands' => sub {
    my $us = int(now() * 1e6);
    my $one = Admission::Rooms->new($redis, event => 'two', draw => 1,
                                    opens => $us - 2e6, starts => $us + 1e12);
    is $one->assign(4)->{order}, 1, 'lots';
    my $two = $one->copy;
    my %before = $redis->cmd('HGETALL', '{two}:vwr')->@*;

    $_->{starts} = $us - 1e6 for $one, $two;
    my $first = $one->step;
    is $first->{lots}, 4, 'counted';
    cmp_ok $first->{clock}, '>=', $first->{base} + 4, 'the clock is past them';

    # the write is lost, and a host that did not hear of it counts again

    $redis->cmd('DEL', '{two}:vwr');
    $redis->cmd('HSET', '{two}:vwr', %before);
    my $second = $two->assign(3);
    is $second->{lots}, 4, 'those that there were';
    cmp_ok $second->{drawn}, '>', $first->{drawn}, 'later';
    my $back = $one->step;
    is $back->{drawn}, $first->{drawn}, 'the earlier stands';
    is $two->step->{drawn}, $first->{drawn}, 'for all';
    cmp_ok $two->assign->{at}, '>', $first->{base} + 4,
        'and a late-comer is later than all lots';

    # what does not steer it

    my $was = $one->step;
    $one->{starts} = $us + 1e12;
    is $one->step->{lots}, 4, 'another start does not count them again';
    $one->{draw} = 0;
    is $one->step->{order}, 1, 'nor does another order undo it';
    is $one->admin('advance', 5)->{result} >= 0, 1, 'after the draw it advances';
    is $one->step->{drawn}, $was->{drawn}, 'it stays';
};


subtest 'the rate of lots that are browsers' => sub {
    my $few = Admission::Nginx->start(workers => 1, http => $site->http,
        server => 'location /vwr-api/ { admission_vwr_api; }');
    my $event = 'rate';
    schedule($event, opens => now() - 10, starts => now() + 3600);
    ok((wait_until {
        (get($few->port, "/vwr-api/status/$event")->json->{phase} // '')
        eq 'gathering' } 20), 'it gathers');
    my $start = time;
    my @r = map { post($few->port, "/vwr-api/assign/$event")->status } 1 .. 30;
    my $given = grep { $_ == 200 } @r;
    cmp_ok $given, '>=', 20, 'an address has 20 at once';
    cmp_ok $given, '<=', 21 + time - $start, 'and one a second';
    $few->stop;
};

done_testing;
