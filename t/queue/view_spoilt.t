# What is kept of a line for the views of all hosts is there to save work: spoilt,
# or not there, it changes no answer, and stops no step.  Replicas are not sent it.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Redis;
use Admission::Scripts;

my $redis = Admission::Redis->start;
my $head = 100;

# between two users of a line at first
my $apart = 1000;
my $now = $redis->cmd('TIME')->[0] * 1000;
my $from = int(($redis->cmd('TIME')->[0] - 10_000) * 2e6 / $apart) * $apart;


# turn: ms between turns, 0: each step is one

sub host ($redis, $event, $turn, @edit) {
    my $host = Admission::Scripts->new(
        $redis, event => $event, threshold => 0, seen_ttl => 1e9,
        edit => sub {
            s/local TURN, KEPT = \K\d+, \d+/$turn, 3600/;
            for my $change (@edit) { $change->() }
        });
    $host->ask('first');
    return $host;
}

sub wait_in_line ($host, @scores) {
    @scores = map { sprintf '%.0f', $_ } @scores;
    while (my @part = splice @scores, 0, 1000) {
        $host->{redis}->cmd('ZADD', $host->key('queue'),
                            map { ($_, "u$_") } @part);
        $host->{redis}->cmd('ZADD', $host->key('seen'),
                            map { ($now, "u$_") } @part);
    }
}

sub line ($host, $n) { wait_in_line($host, map { $from + $apart * $_ } 1 .. $n) }


# how many of the points that a step tells have another rank than their own

sub wrong ($host) {
    my $r = $host->step(0, -1, -1, $head);
    my $line = $host->{redis}->cmd('ZRANGE', $host->key('queue'), 0, -1,
                                   'WITHSCORES');
    my @points = $r->{points}->@*;
    my @ranks = (0 .. $head - 1, $r->{ranks}->@*);

    return 'no points' if @points < 2 * $head || @points != @ranks;
    return 'another end' if $ranks[-1] != @$line / 2 - 1;
    return scalar grep { $line->[2 * $ranks[$_] + 1] != $points[$_] }
                       0 .. $#points;
}


subtest 'spoilt' => sub {
    my $host = host($redis, 'spoilt', 1e9);
    my $view = $host->key('view');
    line($host, 3000);
    is wrong($host), 0, 'as it is';
    my %was = $redis->cmd('HGETALL', $view)->@*;

    my $try = sub ($what, $spoil) {
        $redis->cmd('DEL', $view);
        $redis->cmd('HSET', $view, %was);
        $spoil->();
        is eval { wrong($host) } // $@, 0, $what;
    };

    for my $field (sort keys %was) {
        $try->("no $field", sub { $redis->cmd('HDEL', $view, $field) });
        for my $value ('', 'x', 'nan', '-nan', 'inf', '-inf', '1e300', '-1', '0',
                       '9e15', '1.5')
        {
            $try->("$field '$value'",
                   sub { $redis->cmd('HSET', $view, $field, $value) });
        }
    }

    my $list = $was{points};
    my $points = sub ($what, $text) {
        $try->("points: $what", sub { $redis->cmd('HSET', $view, points => $text) });
    };
    $points->("$_ bytes", substr $list, 0, $_) for 1, 2, 3, 5, 100, length($list) - 1;
    $points->('and more', $list . $list);

    my $double = sub ($n) { "\xcb" . pack 'd>', $n };
    my @one = map { $double->($_) } $from + 200 * $apart, 199, 0;
    my %bad = (nan => $double->('nan'), inf => $double->('inf'),
               'less than any' => $double->('-inf'), huge => $double->(1e300),
               nothing => "\xc0", false => "\xc2", text => "\xa1x",
               number => "\xa3200", list => "\x90", map => "\x80", 0 => "\0",
               less => "\xff");
    for my $bad (sort keys %bad) {
        for my $i (0 .. 2) {
            my @with = @one;
            $with[$i] = $bad{$bad};
            $points->("$bad, $i", "\x93" . join '', @with);
        }
        $points->("$bad alone", $bad{$bad});
    }
    $points->('two of three', "\x92$one[0]$one[1]");
    $points->('far more than ever are', "\xdd" . pack('N', 90_000) . "\1" x 90_000);

    # of another type, and without an end

    $redis->cmd('DEL', $view);
    for my $other ([ SET => 'x' ], [ ZADD => 1, 'x' ], [ SADD => 'x' ]) {
        my ($command, @args) = @$other;
        $redis->cmd($command, $view, @args);
        is eval { wrong($host) } // $@, 0, "by $command";
        $redis->cmd('DEL', $view);
    }
};


subtest 'each has its turn, whatever comes between' => sub {
    my $host = host($redis, 'turns', 0);
    line($host, 6000);
    is wrong($host), 0, 'as it is';

    # whatever was looked at is off by nothing

    my $view = $host->key('view');
    $redis->cmd('EVAL', <<'LUA', 1, $view);
local list = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'points'))
for i = 3, #list, 3 do
  list[i] = list[i] + 4
end
redis.call('HSET', KEYS[1], 'points', cmsgpack.pack(list))
LUA
    my $off = sub {
        return $redis->cmd('EVAL', <<'LUA', 1, $view);
local list, rank, n = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'points')), 0, 0
for i = 2, #list, 3 do
  rank = rank + list[i]
  n = n + (rank > 1000 and list[i + 1] >= 4 and 1 or 0)
end
return n
LUA
    };
    my $all = $off->();

    # each time there is one point more, ahead of those

    my @off;
    for my $turn (1 .. 4) {
        wait_in_line($host, map { $from + $apart * (105 + 40 * $turn) + 2 * $_ }
                                1 .. 12);
        wrong($host);
        push @off, $off->();
    }
    cmp_ok $off[0], '>', $all / 2, 'a quarter of them at a time';
    is $off[3], 0, 'all in four turns';
};


subtest 'replicas' => sub {
    $redis->cmd('CONFIG', 'SET', 'repl-diskless-sync-delay', 0);
    my $replica = Admission::Redis->start(
        config => [ 'replicaof 127.0.0.1 ' . $redis->port,
                    'replica-read-only yes' ]);
    ok wait_until {
        $replica->cmd('INFO', 'replication') =~ /master_link_status:up/
    }, 'a replica';

    # what is written after that goes there

    my @keys = Admission::Scripts::listed(queue_step => 'keys');
    my ($at) = grep { $keys[$_ - 1] eq 'notice' } 1 .. @keys;
    my $after = sub {
        s/(?=\blocal notice\s*=)/call('SET', KEYS[$at], ARGV[#ARGV - 4])\n/;
    };
    my $steps = 8;
    my $run = sub ($what, $event, $there, @edit) {
        my $host = host($redis, $event, 0, $after, @edit);
        my ($view, $notice) = ($host->key('view'), $host->key('notice'));
        line($host, 6000) if $what ne 'refused';
        if ($what eq 'refused') {
            line($host, 6000);
            $redis->cmd('SET', $view, 'of somebody');
        }
        my $offset = sub {
            my ($n) = $redis->cmd('INFO', 'replication')
                      =~ /master_repl_offset:(\d+)/;
            return $n;
        };
        my $before = $offset->();
        for my $step (1 .. $steps) {
            $redis->cmd('DEL', $notice);
            $host->step($step, -1, -1, $head);
        }
        my $sent = $offset->() - $before;
        ok wait_until { (($replica->try('GET', $notice))[0] // '') eq $steps },
            "$what: what comes after it is there";
        my $points = $redis->cmd('TYPE', $view) eq 'hash'
                     ? length $redis->cmd('HGET', $view, 'points') : 0;

        is $redis->cmd('EXISTS', $view), 1, "$what: it is kept";
        is $replica->cmd('EXISTS', $view), $there, 'and there, or not';
        if ($what eq 'kept') {
            cmp_ok $points, '>', 2000, 'some KB';
            cmp_ok $sent, '<', $steps * $points / 2, 'are not sent';
        }
        return $view;
    };

    my $view = $run->('kept', 'alone', 0);
    my $ttl = $redis->cmd('PTTL', $view);
    cmp_ok $ttl, '>', 0, 'for a time';
    $run->('refused', 'refused', 1);
    $run->('where all is replicated', 'all', 1,
           sub { s/redis\.set_repl\(redis\.REPL_NONE\)/error('not here')/ });

    # a replica that takes over has none, and goes on

    $replica->cmd('REPLICAOF', 'NO', 'ONE');
    my $next = host($replica, 'alone', 0);
    is wrong($next), 0, 'a new master looks anew';
    is $replica->cmd('EXISTS', $view), 1, 'and keeps what it found';
};


subtest 'the AOF' => sub {
    my $redis = Admission::Redis->start(
        config => [ 'appendonly yes', 'appendfsync always' ]);
    my $host = host($redis, 'aof', 0);
    line($host, 2000);
    is wrong($host), 0, 'a step' for 1 .. 2;
    is $redis->cmd('EXISTS', $host->key('view')), 1, 'keeps its points';

    my $dir = "$redis->{dir}/appendonlydir";
    my @files = -d $dir ? glob "$dir/*" : "$redis->{dir}/appendonly.aof";
    my $aof = join '', map { read_file($_) } @files;
    like $aof, qr/\Q@{[ $host->key('state') ]}\E/, 'the AOF has what it did';
    unlike $aof, qr/\Q@{[ $host->key('view') ]}\E/, 'and no points';
};


subtest 'of other data' => sub {
    my $host = host($redis, 'other', 1e9);
    my $view = $host->key('view');
    my @line = map { $host->key($_) } qw(queue seen epoch state);
    my $dump = sub { map { ($_ => $redis->cmd('DUMP', $_)) } @_ };
    my $restore = sub (%keys) {
        $redis->cmd('RESTORE', $_, 0, $keys{$_}, 'REPLACE') for sort keys %keys;
    };

    line($host, 3000);
    is wrong($host), 0, 'as it is';
    my %old = $dump->(@line);
    my %old_view = $dump->($view);

    wait_in_line($host, map { $from + $apart * $_ + 500 } 1 .. 9000);
    is wrong($host), 0, 'three times as many';
    my %new_view = $dump->($view);

    $restore->(%old, %new_view);
    is wrong($host), 0, 'the line of before, later points';

    $redis->cmd('DEL', @line);
    $host->ask('first');
    line($host, 5000);
    $restore->(%old_view);
    is wrong($host), 0, 'another line, points of before';
    cmp_ok $redis->cmd('TTL', $view), '>', 0, 'which go in time';
};

done_testing;
