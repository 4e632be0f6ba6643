# The quick way at the head of lua/queue_check.lua, for most of those who wait,
# answers and does what the way below it does: two queues with the same random
# history, one of them without the quick way, are always alike.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;

my $redis = Admission::Redis->start;
my $seed = $ENV{TEST_SEED} // int rand 1e6;
srand $seed;

my @KEYS = qw(queue active seen active-seen done revoked threshold epoch state
              admitted used cleared leaving rate vwr admissions lost
              slots sold ended completed moved schedule notice hold view);

# active_ttl, session_max, claim_ttl, seen_ttl, restore_wait, admit_interval,
# admit_batch, token_ttl, no stream
my @CONF = (30_000, 120_000, 5_000, 20_000, 10_000, 100, 5, 60_000, 0);

my (%sha, $threshold, $slots, $us, $quick, $equal, $refused);


# the time is what the test says

for my $name (qw(check leave step admin complete)) {
    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                            root . "/lua/queue_$name.lua");
    my $slow = $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/gr;
    my $fast = $slow;

    if ($name eq 'check') {
        $slow =~ s/^if not active and not lower and .*?^end\nend\n//ms
            or die 'there is no quick way';
        $fast =~ s/^return \{ refused or 1, /call('INCR', 'quick')\n$&/m or die;
    }

    $sha{fast}{$name} = $redis->cmd('SCRIPT', 'LOAD', $fast);
    $sha{slow}{$name} = $redis->cmd('SCRIPT', 'LOAD', $slow);
}

# all that is in the queues is the same, to the last score
my $alike = $redis->cmd('SCRIPT', 'LOAD', <<'END');
local function all(side)
    local text = ''
    for _, name in ipairs(ARGV) do
        local key, x = '{' .. side .. '}:' .. name, {}
        local type = redis.call('TYPE', key).ok
        if type == 'zset' then
            x = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
        elseif type == 'string' then
            x = { redis.call('GET', key) }
        elseif type == 'hash' then
            local h = redis.call('HGETALL', key)
            for i = 1, #h, 2 do x[#x + 1] = h[i] .. '=' .. h[i + 1] end
            table.sort(x)
        end
        text = text .. name .. ': ' .. table.concat(x, ' ') .. '\n'
    end
    return text
end
local fast, slow = all('fast'), all('slow')
return { fast, slow }
END

sub pick (@of) { return $of[rand @of] }

sub now ($later) {
    $us += $later;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

# the same for both; what they answer, or nothing if that is not the same

sub both ($script, $host, @args) {
    # what a host knows of the time, and for how long it has been in touch
    my @touch = pick([ 0, 0 ], map { [ int($us / 1000) + int rand 200, $_ ] }
                               0, int rand 5000, int rand 3e5, 1e8)->@*;
    $touch[0] += pick(-1, 1) * int rand 1e6 if rand() < 0.05;

    # and of its own clock
    my $wall = pick(0, int($us / 1000) + int rand 1e6);

    my ($fast, $slow, $state) = $redis->pipeline(
        map({ my $side = $_;
              [ 'EVALSHA', $sha{$side}{$script}, scalar @KEYS,
                (map { "{$side}:$_" } @KEYS), 'e', $threshold, @CONF, $slots,
                0, 0, @$host, @touch, $wall, @args ] } qw(fast slow)),
        [ 'EVALSHA', $alike, 0, @KEYS ]);

    ref eq 'SCALAR' and die $$_ for $fast, $slow, $state;

    my %answer = (fast => json_encode($fast), slow => json_encode($slow));

    if ($answer{fast} ne $answer{slow} || $state->[0] ne $state->[1]) {
        diag "seed $seed\n$script, host @$host, args @args, at $us\n",
             "$answer{fast}\n$answer{slow}\n@$state";
        return;
    }

    $equal++;
    return $slow;
}

# what a host knows by an answer

sub knows ($reply) {
    return [ @$reply[7, 6, 3, 13, 12, 20, 21], 0, -1, 0,
             rand() < 0.3 ? 1 : 0 ];
}

# One queue from its beginning; it ends at the first difference.  Of so many each
# threshold has its share, with a wild clock and without.

sub history ($n, $calls) {
    my (@places, @entries);
    my @users = map { "u$_" } 1 .. 3 + rand 10;
    my $nothing = [ 0, 0, 0, 0, -1, -1, -1, 0, -1, 0, 0 ];
    my @known = ($nothing);
    my $wild = $n & 4;              # the clock

    $redis->flushall;
    $threshold = $n & 3;
    $slots = pick(-1, -1, int rand 4, 3 + int rand 20);
    my @most = (pick(-1, -1, 0, int rand 5), pick(0, 0, 4_000, 5_000, 30_000));
    $us = 1_700_000_000_000_000;
    my $activation = $us;
    $redis->cmd('HSET', "{$_}:vwr", activation => $us) for qw(fast slow);

    for (1 .. $calls) {
        my $x = rand;
        my $user = pick(@users);
        my $host = pick($nothing, $known[-1], $known[-1], pick(@known));
        my $reply;

        now($x < 0.03 ? int rand 4e7 : $x < 0.07 ? int rand 3e6
            : $x < 0.4 ? int rand 4 : int rand 2e5);
        now(pick(-int rand 1e8, -int rand 100, 4_000_000_000))
            if $wild && rand() < 0.05;

        $x = rand;

        if ($x < 0.68) {
            my @mine = grep { $_->[0] eq $user } @places;
            my @shown = rand() < 0.3 && @mine
                        ? map { pick(@mine) } 0 .. rand 3 : ();
            push @shown, [ $user, 2 * $us + 10_000_001, $us + 10_000_000, 1 ]
                if rand() < 0.02;
            my @tier1 = rand() < 0.1
                        ? ($us - int rand 1e7, $activation, $us + 10_000_000)
                        : (0, 0, 0);
            my $pass = pick((0) x 9, $tier1[0], $us - int rand 5);
            my ($entry) = rand() < 0.12
                          ? grep { $_->[0] eq $user } @entries : ();

            $reply = both('check', $host, $user, pick(0, 0, 0, 1, 1, 2, 3, 4,
                                                        5, 5), pick(0, 0, 0, 1),
                          @tier1, $entry ? @$entry[1, 2] : (0, 0),
                          $pass, @most, pick((0) x 9, 1), map { @$_[1 .. 3] } @shown)
                     // return;
            $refused++ if $reply->[0] >= 6;
            push @places, [ $user, @$reply[8, 6, 7] ] if $reply->[0] == 1;
            unshift @entries, [ $user, $reply->[9],
                                int($reply->[10] / 1000) - 5 ]
                if $reply->[0] == 2 && $reply->[9];

        } elsif ($x < 0.77) {
            $reply = both('leave', $host, $user, pick(0, 1, 1),
                          pick(0, 1, 2))
                     // return;

        } elsif ($x < 0.80) {
            my ($entry) = grep { $_->[0] eq $user } @entries;
            $reply = both('complete', $host, $user,
                          pick(0, $entry ? $entry->[1] : 0, $us - int rand 1e7),
                          pick(0, 1, 1, 1, 2), pick(0, 1, 2),
                          pick('', '', 'key' . int rand 9))
                     // return;

        } elsif ($x < 0.93) {
            $reply = both('step', $host, 0, pick([ -1, -1 ], [ 0, 0 ])->@*,
                          pick([ 0, -1 ], [ 3, -1 ],
                               [ 3, $us - int rand 1e7 ])->@*)
                     // return;

        } elsif ($x < 0.98) {
            $reply = both('admin', $host, pick([ 'clear', 0, -1 ],
                          [ 'set', 0, -1 ], [ 'set', 3, -1 ],
                          [ 'unset', 0, -1 ], [ 'look', 0, -1 ],
                          [ 'slots', int rand 9, pick(-1, -1, 1) ],
                          [ 'unslots', 0, -1 ])->@*)
                     // return;

        } else {
            $redis->cmd('DEL', map { my $key = $_;
                                     map { "{$_}:$key" } qw(fast slow) }
                               grep { $_ ne 'vwr' } @KEYS);
            next;
        }

        push @known, knows($reply);

        # who waits asks again soon, of a host that has just heard

        my $again = $x < 0.68 && $reply->[0] == 1 ? pick(0, 1, 2) : 0;

        for (1 .. $again) {
            now(int rand 2e5);
            $reply = both('check', knows($reply), $user, pick(0, 1), 0,
                          (0) x 6, @most, 0)
                     // return;
        }
    }

    $quick += $redis->cmd('GET', 'quick') // 0;
    return 1;
}

my $histories = 50;
my $same = 0;

for (1 .. $histories) {
    history($_, 100) or last;
    $same++;
}

is($same, $histories, "both ways are alike (seed $seed)");
cmp_ok($quick, '>', $equal / 20, 'the quick way is a common one');
cmp_ok($refused, '>', $equal / 200, 'joins are refused');
note "$quick of $equal calls, $refused refused";

done_testing;
