# The queue of an event whose backend is followed: while the backend is slow fewer are
# let in, and more again when it is not; never more than that, and in order.  Operators
# are told so, also once Redis's clock went back.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Site;
use Admission::Swarm;

my ($MOST, $LEAST) = (40, 12);

my $site = Admission::Site->start(
    instances => 2, workers => 1, redis_opt => { clock => 1 }, timeout => '60s',
    events => "concert threshold=$MOST threshold_min=$LEAST admit_interval=200ms
                       backend_latency=200ms;");

my $redis = $site->redis;
my $swarm = Admission::Swarm->new(connections => 300);


# ---- users: each joins, waits, makes some requests, and leaves

my ($delay, $joined, $gone, $stop, %place, @lost) = (0, 0, 0);

sub call ($n, $method, $path, $headers, $then) {
    $swarm->request($site->port($n % 2), $method, $path,
                    [ Authorization => 'Bearer ' . $site->user("user-$n"),
                      @$headers ], sub ($r) {
        push @lost, "user-$n: $path: " . $r->status if $r->status != 200;
        $then->($r->json) if $r->status == 200;
    });
}

sub arrive ($n) {
    call($n, POST => '/api/queue/check/concert', [], sub ($is) {
        $joined++;
        $is->{status} eq 'active' ? enter($n, $is, 4) : wait_for($n, $is);
    });
}

sub wait_for ($n, $is) {
    $place{$n} = $is->{place} if $is->{place};
    $swarm->timer(0.5, sub {
        return if $stop;
        call($n, GET => '/api/queue/status/concert',
             [ $place{$n} ? ('X-Queue-Place' => $place{$n}) : () ], sub ($is) {
            $is->{status} eq 'active' ? enter($n, $is, 4) : wait_for($n, $is);
        });
    });
}

sub enter ($n, $is, $more) {
    return if $stop;
    if (!$more) {
        call($n, POST => '/api/queue/leave/concert', [], sub { $gone++ });
        return;
    }
    call($n, GET => "/api/reservations?delay=$delay&body={}",
         [ 'X-Queue-Entry-Token' => $is->{entryToken} ], sub {
        $swarm->timer(0.25, sub { enter($n, $is, $more - 1) });
    });
}


# ---- what is seen meanwhile, at one moment each

my $LOOK = <<'END';
    local f = redis.call('HMGET', KEYS[2], 'follow', 'follow_threshold')
    local limit = f[1] and tonumber(f[2]) or -1
    return { redis.call('ZCARD', KEYS[1]), limit,
             redis.call('ZRANGE', KEYS[3], 0, 49, 'WITHSCORES') }
END

my ($least, $last, $looked, @over, %score) = ($MOST, undef, 0);

sub look () {
    my ($in, $limit, $head) = $redis->cmd(
        'EVAL', $LOOK, 3, map { "{concert}:$_" } qw(active state queue))->@*;

    %score = (%score, @$head);
    $limit = $MOST if $limit < 0;
    $least = $limit if $limit < $least;

    # who is in stays in; between looks that are far apart it may have been more
    # for a while
    if ($last && time - $looked < 0.5) {
        my ($most) = sort { $b <=> $a } $last->[0], $last->[1], $limit;
        push @over, "$last->[0], $last->[1] -> $in, $limit" if $in > $most;
    }
    $last = [ $in, $limit ];
    $looked = time;
}

# Goes on, with some who come whenever few wait, until that is so.

my $next = 0;

sub until_so ($seconds, $is) {
    return $swarm->run(timeout => $seconds, until => sub {
        return 0 if time < $looked + 0.05;
        look;
        arrive($next++) while $next < $joined + 10 && $next < $gone + $MOST + 60;
        return $is->(@$last);
    });
}

sub told ($i = 0) { return $site->admin(GET => '%s', instance => $i)->json }


# where the machine is slow, so is the backend, for a moment

my $is;
ok until_so(60, sub ($in, $limit) {
    return 0 if $in < $MOST || $limit < $MOST || $gone <= 60;
    $is = told;
    return !$is->{limitedBy};
}), 'as many are in as may be';

is_deeply [ @$is{qw(threshold effectiveThreshold limitedBy effectiveRate)} ],
    [ $MOST, $MOST, undef, undef ], 'nothing limits';
is_deeply [ $is->{backend}->@{qw(follow maxLatency rate threshold limitedBy)} ],
    [ 'on', 200, undef, undef, undef ], 'which is told';

$delay = 0.6;
ok until_so(60, sub ($in, $limit) { $limit < $MOST / 2 && $in <= $limit }),
    'slow: fewer are in';

# it goes on: where the crowd stood still meanwhile, nothing would be slow

for my $i (0, 1) {
    my $told;
    ok until_so(60, sub (@) {
        $told = told($i);
        return $told->{limitedBy} && $told->{effectiveThreshold} < $MOST / 2;
    }), "host $i knows";
    is $told->{limitedBy}, 'latency', 'and why';
    is $told->{threshold}, $MOST, 'what is set stays so';
    cmp_ok $told->{effectiveThreshold}, '<', $MOST / 2, 'what is in force';
    cmp_ok $told->{effectiveThreshold}, '>=', $LEAST, 'is not below the least';
    is $told->{effectiveThreshold}, $told->{backend}{threshold}, 'as decided';
    cmp_ok $told->{backend}{latency}, '>', 200, 'by what is measured';
    is $told->{effectiveRate}, undef, 'there is no waiting room';
}

$delay = 0;
ok until_so(60, sub ($in, $limit) { $limit > $least * 1.3 && $in >= $limit - 2 }),
    'well again: more, and more are in';

is_deeply \@over, [], 'never more than that';
cmp_ok $least, '>=', $LEAST, 'nor less than the least';

# how many that are depends on how quickly all of that went

my @in;
ok until_so(60, sub (@) {
    push @in, grep { defined } map { $score{$_} }
              $site->look->{admitted}->@*;
    return @in > 100;
}), 'many came from the line';
is_deeply \@in, [ sort { $a <=> $b } @in ], 'in the order of it';


# Redis's clock goes back, by what a host takes for another server's: it is told of
# what is measured after that

my $asked = 0;

sub until_told ($seconds, $is) {
    return until_so($seconds, sub (@) {
        return 0 if time < $asked + 0.3;
        $asked = time;
        my $told = told;
        return $told->{backend}{age} <= 2 && $is->($told, $told->{backend}{latency});
    });
}

ok until_told(60, sub ($told, $ms) { defined $ms && $ms < 150 }),
    'answers are quick';

$redis->set_clock(-15);
$delay = 0.6;
ok until_told(60, sub ($told, $ms) { defined $ms && $ms > 300
                                     && ($told->{limitedBy} // '') eq 'latency' }),
    'with a clock that went back it is told of slow ones';

$stop = 1;
is_deeply \@lost, [], 'nobody was lost';

done_testing;
