# What might steer a draw, or have none, by the scripts of the waiting room: a
# second sale without an opening, a clock of Redis that goes back after the draw,
# a room that is turned off or begins anew while lots are out.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::HTTP;
use Admission::Rooms;
use Admission::Scripts;
use Admission::Site;

my $site = Admission::Site->start(
    instances => 2, timeout => '5s',
    events => 'default threshold=5;
               first order=draw lots=visitor;
               key threshold=5 vwr_rate=0 order=draw lots=visitor
                   "draw_beacon=named 1";
               full threshold=5 vwr_rate=0 vwr_max_queue=2 order=draw;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }
END

my $redis = $site->redis;

sub us () { my ($s, $us) = $redis->cmd('TIME')->@*; return $s * 1e6 + $us }

sub room ($event, %opt) {
    return Admission::Rooms->new($redis, event => $event, rate => 1000, %opt);
}

sub schedule ($event, %in) {
    my $now = us() / 1e6;
    my $r = request($site->port, PUT => "/api/admin/vwr/schedule/$event",
        bearer => $Admission::Site::SECRETS{admin}, json => { map {
        $_ => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($now + $in{$_})) }
        keys %in });
    is $r->status, 200, 'the times' or diag $r->raw;
    my $phase = $r->json->{schedule}{phase};
    ok((wait_until { (get($site->port($_), "/vwr-api/status/$event")->json
                      ->{phase} // '') eq $phase }), "host $_: $phase")
        for 0, 1;
}

# once those who tell of a draw have read it back

sub over ($room) {
    return wait_until { $room->admin('deactivate')->{active} == 0 } 10;
}

sub n ($n) { return sprintf '%.0f', $n }


subtest 'a second sale that has a start and no opening' => sub {
    for my $before ('arrival', 'draw') {
        my $event = "again-$before";
        my $old = room($event, draw => $before eq 'draw' ? 1 : 0,
                       opens => us() - 2e6, starts => us() + 3600e6);
        my $first = $old->assign(5)->{activation};
        $old->{starts} = us() - 1e6;
        $old->step;
        $redis->cmd('HSET', $old->key('vwr'), serving => 5);
        ok over($old), "$before: it was over";

        my $new = room($event, draw => 1, starts => us() + 3600e6);
        my $lots = $new->assign(3);
        cmp_ok $lots->{activation}, '>', $first, 'an activation of its own';
        is $lots->{order}, 1, 'whose tickets are lots';
        is $lots->{result}, 1, 'from the first on';
        is $lots->{drawn}, 0, 'which are to be drawn';
        is $new->step->{activation}, $lots->{activation}, 'once';
        $new->{starts} = us() - 1;
        my $drawn = $new->step;
        is $drawn->{lots}, 3, 'and are';
        is $new->step->{activation}, $lots->{activation}, 'which stays';
        ok over($new), 'which is turned off';
        is $new->step->{active}, 0, 'as what an operator does then';
    }
};


subtest 'no lot goes out ahead of the commitment' => sub {
    my $room = room('committed', draw => 1, opens => us() - 2e6,
                    starts => us() + 3600e6);
    my $none = $room->assign(3, once => 1);
    is $none->{full}, 5, 'nothing is committed to yet';
    is "$none->{issued} $none->{next}", '0 0', 'and nothing given out';
    is $room->step->{next}, 0, 'nor by a step';
    is $room->assign(3)->{result}, 1, 'then the first ones are';

    # by a host, at the first request that there is

    my @said;
    my $pid = open my $monitor, '-|', 'redis-cli', '-p', $redis->port, 'monitor'
        or die $!;
    my $line = <$monitor>;
    my $event = 'first';
    schedule($event, opens => -10, starts => 3600);
    my $r = post($site->port(0), "/vwr-api/assign/$event");
    is $r->json->{lot}, 1, 'the first lot' or diag $r->raw;
    $redis->cmd('ECHO', 'that is all');
    while ($line = <$monitor>) {
        last if $line =~ /that is all/;
        push @said, $1 if $line =~ /"HSET" "\{\Q$event\E\}:vwr" "(commitment|next)"/;
    }
    kill TERM => $pid;
    close $monitor;
    is_deeply \@said, [ 'commitment', 'next' ], 'after the commitment';
};


subtest 'the clock of Redis goes back after the draw' => sub {
    my $room = room('back', draw => 1, opens => us() - 2e6,
                    starts => us() + 3600e6);
    $room->assign(50);
    $room->{starts} = us() - 3600e6;
    my $drawn = $room->step;
    is $drawn->{lots}, 50, 'drawn';

    # as if it had been an hour later then

    my $later = n($drawn->{ready} + 3600e6);
    $redis->cmd('HSET', $room->key('vwr'), ready => $later, updated => $later);
    my $host = $room->other;
    is $host->step->{ready}, $later, 'at a time to come';
    ok((wait_until { $host->step->{serving} > 0 }),
       'people are let in all the same');
    cmp_ok $host->admin('advance', 10)->{result}, '>', 0, 'and by hand';
    is $host->step->{drawn}, $drawn->{drawn}, 'by the same draw';
};


subtest "a user's lot, where there is no room for another" => sub {
    my $event = 'full';

    my $assign = sub ($i, $user) {
        my $r = post($site->port($i), "/vwr-api/assign/$event",
                     bearer => $site->user($user));
        return $r->json->{code} // $r->json->{lot};
    };

    schedule($event, opens => -10, starts => 3600, closes => 7200);
    is $assign->(0, $_->[0]), $_->[1], "$_->[0] has a lot"
        for [ ann => 1 ], [ ben => 2 ];
    ok((wait_until { $assign->($_, 'cho') eq 'QUEUE_FULL' }),
       "host $_ is full") for 0, 1;
    for my $i (0, 1) {
        is $assign->($i, 'ann'), 1, "host $i: ann has hers, in any browser";
        is $assign->($i, 'ben'), 2, 'and ben his';
    }

    schedule($event, opens => -20, starts => -10, closes => -5);
    for my $i (0, 1) {
        is $assign->($i, 'cho'), 'CLOSED', "host $i: no new ones at the end";
        is $assign->($i, 'ann'), 1, 'but ann has hers';
    }
};

# a host that has another key first, and knows of no commitment, comes ahead of
# those that know it when Redis has lost it

subtest 'a commitment that Redis lost' => sub {
    my $event = 'key';
    my $draw = sub ($i) {
        return get($site->port($i), "/vwr-api/draw/$event")->json // {} };

    schedule($event, opens => -10, starts => 3600);
    ok((wait_until { $draw->($_)->{commitment} }), "host $_ tells it") for 0, 1;
    my $commitment = $draw->(0)->{commitment};
    post($site->port, "/vwr-api/assign/$event") for 1 .. 3;
    ok((wait_until { $redis->cmd('HGET', "{$event}:vwr", 'next') == 3 }),
       'lots');

    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . '/lua/draw.lua');
    my %arg = (what => 'look', commitment => 'ab' x 32,
               source => 'other 2', activation =>
               $redis->cmd('HGET', "{$event}:vwr", 'activation'),
               committed => 0, of => 0);

    # at once, or the hosts were first

    $redis->cmd('MULTI');
    $redis->cmd('HDEL', "{$event}:vwr", qw(commitment committed source));
    $redis->cmd('EVAL', $text, 1, "{$event}:vwr", map { $arg{$_} // '' }
                Admission::Scripts::listed(draw => 'args'));
    $redis->cmd('HMGET', "{$event}:vwr", qw(commitment source));
    is_deeply $redis->cmd('EXEC')->[-1], [ 'ab' x 32, 'other 2' ],
        'another one is there';

    ok((wait_until { $redis->cmd('HGET', "{$event}:vwr", 'commitment')
                     eq $commitment }), 'the earlier one stands');
    is $redis->cmd('HGET', "{$event}:vwr", 'source'), 'named 1',
        'with its source';
    for my $i (0, 1) {
        my $d = $draw->($i);
        is_deeply [ @$d{qw(commitment beaconSource)} ],
            [ $commitment, 'named 1' ], "on host $i";
    }
};

done_testing;
