# Whatever Redis refuses of a script, a command that its user may not run or a
# key that is of another type, a call that fails has done nothing: nobody stands
# in line, is in or out, and no room is on, after an answer that says it failed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;
use Admission::Scripts;

my $redis = Admission::Redis->start;
$redis->may_refuse;

my %login = (user => 'tickets', password => 'tickets');
my $limited = $redis->client(%login);

my @COMMANDS = grep { !/^(?:eval|evalsha|ping|select|info|cluster|asking|sadd|srem|smembers|sscan)/ }
               map { /^\+(.*)/ ? $1 : () } Admission::Redis::acl('');

# What a call is about; heartbeats, the clock and the schedule's own notes may
# have come further.
my @QUEUE = qw(queue active done revoked used cleared threshold lost
               slots sold ended completed);
my @ROOM = qw(vwr);

my $events = 0;

sub dump_key ($key) {
    my $type = $redis->cmd('TYPE', $key);

    return $type eq 'zset' ? join ' ', $redis->cmd('ZRANGE', $key, 0, -1,
                                                   'WITHSCORES')->@*
         : $type eq 'hash' ? join ' ', do {
               my %h = $redis->cmd('HGETALL', $key)->@*;
               map { "$_=$h{$_}" } sort keys %h }
         : $type eq 'string' ? $redis->cmd('GET', $key)
         : $type eq 'none' ? '' : $type;
}

sub look ($e, @names) {
    return join "\n", map { "$_: " . dump_key($e->key($_)) } @names;
}

sub now_ms () {
    my ($s, $us) = $redis->cmd('TIME')->@*;
    return $s * 1000 + int $us / 1000;
}


# by name: what is there before, and the call

my %queue = (
    'the first in line' => [ sub ($e) { $e->{threshold} = 0 },
                             sub ($e) { $e->ask('new') } ],
    'in line' => [ sub ($e) { $e->ask($_) for qw(a b c) },
                   sub ($e) { $e->ask('new') } ],
    'in at once' => [ sub ($e) { $e->ask('a') },
                      sub ($e) { $e->ask('new') } ],
    'in, others out' => [
        sub ($e) {
            $e->ask($_) for qw(a b);
            $redis->cmd('ZADD', $e->key('active'), now_ms() - 50, 'a') },
        sub ($e) { $e->ask('new') } ],
    'with a ticket' => [
        sub ($e) {
            $e->ask($_) for qw(a b c);
            $redis->cmd('HSET', $e->key('vwr'), activation => 7) },
        sub ($e) {
            my $at = (now_ms() - 1000) * 1000;
            $e->ask('new', tier1 => { at => $at, act => 7, adm => $at },
                    pass => $at - 9) } ],
    'by a place' => [
        sub ($e) {
            $e->ask($_) for qw(a b c d);
            $e->{place} = $e->ask('e');
            $redis->cmd('ZREM', $e->key($_), 'e') for qw(queue seen) },
        sub ($e) { $e->ask('e', mode => 'status', place => $e->{place}) } ],
    'by a better place' => [
        sub ($e) {
            $e->ask($_) for qw(a b c d);
            $e->{place} = $e->ask('e');
            $redis->cmd('ZADD', $e->key('queue'), $e->{place}{score} + 999, 'e') },
        sub ($e) { $e->ask('e', mode => 'status', place => $e->{place}) } ],
    'by an entry token' => [
        sub ($e) {
            $e->ask('b');
            $e->{in} = $e->ask('a');
            $redis->cmd('ZREM', $e->key($_), 'a')
                for qw(active active-seen admitted done) },
        sub ($e) {
            $e->ask('a', mode => 'restore', entry => {
                adm => $e->{in}{adm}, exp => int($e->{in}{expires} / 1000) - 5 })
        } ],
    'a session ends' => [
        sub ($e) {
            $e->ask('a');
            $redis->cmd('ZADD', $e->key('admitted'),
                        (now_ms() - 4_000_000) * 1000, 'a') },
        sub ($e) { $e->ask('a', mode => 'status') } ],
    'a claim is lost' => [
        sub ($e) {
            $e->ask('a');
            $redis->cmd('ZADD', $e->key('active'), now_ms() - 50, 'a');
            $redis->cmd('ZREM', $e->key('active-seen'), 'a') },
        sub ($e) { $e->ask('a', mode => 'away') } ],
    'who waits leaves' => [ sub ($e) { $e->ask($_) for qw(a b c d) },
                            sub ($e) { $e->leave('c', 0, 1) } ],
    'who is in leaves' => [ sub ($e) { $e->ask($_) for qw(a b c d) },
                            sub ($e) { $e->leave('a', 0, 2) } ],
    'the last one leaves' => [
        sub ($e) { $e->{host}{brief} = 1; $e->ask('a') },
        sub ($e) { $e->leave('a', 0, 2) } ],
    'a step lets in' => [
        sub ($e) { $e->ask($_) for qw(a b c d); $e->{threshold} = 3 },
        sub ($e) {
            # of a host that was in touch, however late it is
            select undef, undef, undef, 0.11;
            $e->{host} = { ms => now_ms(), in_touch => 1e10 };
            $e->step } ],
    'a step takes back' => [
        sub ($e) {
            $e->ask($_) for qw(a b c d);
            $e->{threshold} = 0;
            $redis->cmd('ZADD', $e->key('active'), now_ms() - 50, 'a') },
        sub ($e) { $e->step } ],
    'a step has somebody leave' => [
        sub ($e) {
            $e->ask($_) for qw(a b c d);
            $e->leave($_, 1) for qw(a d);
            $redis->cmd('ZADD', $e->key('leaving'), now_ms() - 50, $_)
                for qw(a d) },
        sub ($e) { $e->step } ],
    'a step cleans up' => [
        sub ($e) {
            $e->ask($_) for qw(a b c d);
            $redis->cmd('ZADD', $e->key('seen'), now_ms() - 700_000, 'd') },
        sub ($e) { $e->step } ],
    'a clear' => [ sub ($e) { $e->ask($_) for qw(a b c d) },
                   sub ($e) { $e->admin('clear') } ],
    'another clear' => [
        sub ($e) { $e->ask($_) for qw(a b c d); $e->admin('clear');
                   $e->ask($_) for qw(e f g h) },
        sub ($e) { $e->admin('clear') } ],
    'a threshold' => [ sub ($e) { $e->ask('a') },
                       sub ($e) { $e->admin('set', 5) } ],
    'a purchase' => [
        sub ($e) { $e->{slots} = 9; $e->{in} = $e->ask('a'); $e->ask('b') },
        sub ($e) { $e->complete('a', $e->{in}{adm}, 2) } ],
    'another purchase' => [
        sub ($e) { $e->admin('slots', 9);
                   $e->complete('a', $e->ask('a')->{adm});
                   $e->{in} = $e->ask('a') },
        sub ($e) { $e->complete('a', $e->{in}{adm}, 3) } ],
    'a purchase that comes late' => [
        sub ($e) { $e->{slots} = 9; $e->{in} = $e->ask('a'); $e->leave('a') },
        sub ($e) { $e->complete('a', 0, 1, 1) } ],
    'a leave by the backend' => [
        sub ($e) { $e->{slots} = 9; $e->{in} = $e->ask('a'); $e->ask('b') },
        sub ($e) { $e->complete('a', $e->{in}{adm}, 0) } ],
    'a session that may have bought ends' => [
        sub ($e) {
            $e->{slots} = 9;
            $e->ask($_) for qw(a b c d);
            $redis->cmd('ZADD', $e->key('active'), now_ms() - 50, 'a') },
        sub ($e) { $e->step } ],
    'seats' => [ sub ($e) { $e->complete('a', $e->ask('a')->{adm}) },
                 sub ($e) { $e->admin('slots', 5, 2) } ],
    'no seats' => [ sub ($e) { $e->complete('a', $e->ask('a')->{adm});
                               $e->admin('slots', 5) },
                    sub ($e) { $e->admin('unslots') } ],
    'no threshold' => [ sub ($e) { $e->admin('set', 5) },
                        sub ($e) { $e->admin('unset') } ],
);

my %room = (
    'activated' => [ sub ($r) { }, sub ($r) { $r->admin('activate') } ],
    'restarted' => [ sub ($r) { $r->admin('activate') },
                     sub ($r) { $r->admin('restart') } ],
    'deactivated' => [ sub ($r) { $r->admin('activate'); $r->assign(3) },
                       sub ($r) { $r->admin('deactivate') } ],
    'a rate' => [ sub ($r) { $r->admin('activate') },
                  sub ($r) { $r->admin('rate', 7) } ],
    'moved on' => [ sub ($r) { $r->admin('activate'); $r->assign(9) },
                    sub ($r) { $r->admin('advance', 5) } ],
    'positions' => [ sub ($r) { $r->admin('activate') },
                     sub ($r) { $r->assign(3) } ],
);


# Whether the call of an object made by $new fails, where $refuse has something
# refused, and what is not then as it was.

sub attempt ($new, $names, $before, $call, $refuse, $allow) {
    my $e = $new->();

    $before->($e);
    $refuse->($e);

    my $was = look($e, @$names);

    local $e->{redis} = $limited;
    my $ok = eval { $call->($e); 1 };
    my $error = $@;

    $allow->($e);

    my $is = look($e, @$names);
    return ($ok, $was, $is, $error);
}

sub all_of ($new, $names, $keys, %calls) {
    for my $what (sort keys %calls) {
        my ($before, $call) = $calls{$what}->@*;
        my ($refused, @half) = (0);

        my ($ok, $was, $is, $error) = attempt($new, $names, $before, $call,
                                              sub { }, sub { });
        ok($ok && $was ne $is, "$what: something is done")
            or diag "$error\n$was\n$is";

        for my $command (@COMMANDS) {
            ($ok, $was, $is) = attempt($new, $names, $before, $call,
                sub { $redis->cmd('ACL', 'SETUSER', 'tickets', "-$command") },
                sub { $redis->cmd('ACL', 'SETUSER', 'tickets', "+$command") });
            next if $ok;
            $refused++;
            push @half, "without $command\n$was\n->\n$is" if $was ne $is;
        }

        for my $key (@$keys) {
            my $other = sub ($e) {
                $redis->cmd('DEL', $e->key($key));
                $redis->cmd('RPUSH', $e->key($key), 'not ours');
            };
            ($ok, $was, $is) = attempt($new, $names, $before, $call, $other,
                                       sub { });
            next if $ok;
            $refused++;
            push @half, "$key of another type\n$was\n->\n$is" if $was ne $is;
        }

        cmp_ok($refused, '>', 2, "$what: refused in $refused ways");
        is(scalar @half, 0, "$what: nothing is half done") or diag @half;
    }
}


subtest 'queues' => sub {
    my $queue = Admission::Scripts->new($redis);

    all_of(sub { bless { %$queue, event => 'e' . ++$events, host => {} },
                       ref $queue },
           \@QUEUE, [ Admission::Scripts::listed(queue_check => 'keys') ],
           %queue);
};

subtest 'waiting rooms' => sub {
    my $room = Admission::Rooms->new($redis);

    all_of(sub { $room->other(event => 'e' . ++$events) },
           \@ROOM, [ Admission::Scripts::listed(vwr_step => 'keys') ], %room);
};


# a window that has no end would refuse its client for ever

subtest 'windows' => sub {
    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . '/lua/limit.lua');
    my $sha = $redis->cmd('SCRIPT', 'LOAD', $text);
    my $n = 0;

    for my $algorithm (qw(l c)) {
        my $charge = sub ($key) {
            return ($limited->try('EVALSHA', $sha, 1, "rate:$key", $algorithm,
                                  3, 60_000, 0))[1];
        };

        for my $command (grep { $_ ne 'del' } @COMMANDS) {
            my $key = 'x' . ++$n;
            $redis->cmd('ACL', 'SETUSER', 'tickets', "-$command");
            $charge->($key);
            $redis->cmd('ACL', 'SETUSER', 'tickets', "+$command");
            isnt($redis->cmd('PTTL', "rate:$key"), -1,
                 "$algorithm, without $command: it ends, or is not there");
        }
    }
};

done_testing;
