# A crowd behind the head of a line, whose polls no host asks Redis about: they are
# taken out as who is silent is, leave, join again at once, poll on by places of
# before, by names of all kinds, through two hosts, whose workers are killed, and
# quit with all that was said last.  Redis is to have in line who waits, where the
# place says, and nobody else.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;


use Admission::JWT;
use Admission::Metrics;
use Admission::Site;
use Admission::Swarm;

my $seed = $ENV{TEST_SEED} // int rand 1e9;
srand $seed;
note "TEST_SEED=$seed";

my $site = Admission::Site->start(
    instances => 2, workers => 2, event => 'crowd', timeout => '60s',
    events => 'default threshold=0 seen_ttl=1h admit_batch=10;',
    server => 'location = /metrics { admission_metrics; }');
my $redis = $site->redis;
my @ports = $site->ports;


# ---- those ahead

$site->call(0, first => POST => 'check');
my $t = $redis->cmd('TIME');
my $us = $t->[0] * 1_000_000 + $t->[1];
my @ahead = map { "ahead$_" } 1 .. 600;
my $n = 0;
$redis->cmd('ZADD', '{crowd}:seen', map { (int($us / 1000), $_) } @ahead);
$redis->cmd('ZADD', '{crowd}:queue',
            map { (sprintf('%.0f', 2 * ($us + $n++) + 1), $_) } @ahead);
wait_until { my $t = $redis->cmd('TIME');
             $t->[0] * 1_000_000 + $t->[1] > $us + 1000 };


# ---- the crowd: what is alike, long, or means something elsewhere

my @names = (
    (map { 'a' x $_ } 1 .. 20, 255, 256),
    (map { 'x' x 253 . $_ } 100 .. 119),
    (map { ("Case$_", "case$_", "CASE$_") } 1 .. 8),
    (map { ($_, "-$_", " $_", "$_ ", "1e$_", "0$_") } 1 .. 6),
    (map { "\xc3\xa9\xed\x95\x9c\xf0\x9f\x98\x80" x $_ } 1 .. 9),
    split(' ', q|nan inf -inf +inf (1 [1 - + * { } {a}:b ' " % NX CH nil / ?|), '\\',
    map { "user$_" } 1 .. 30);

# JSON of bytes that are UTF-8 already

sub token ($name) {
    $name =~ s/(["\\])/\\$1/g;
    return jwt_sign(sprintf('{"userId":"%s","exp":%d}', $name, time + 3600),
                    $Admission::Site::SECRETS{user});
}

my @users = map { +{ name => $_, token => token($_), state => 'new',
                     life => 0, history => [] } } @names;

my $swarm = Admission::Swarm->new(connections => 200, retry => 1);
my $over = 0;
my @wrong;
my %n;

sub call ($user, $method, $call, $place, $done) {
    $user->{calls}++;
    $swarm->request($ports[rand @ports], $method, "/api/queue/$call/crowd",
        [ Authorization => "Bearer $user->{token}",
          $place ? ('X-Queue-Place' => $place) : () ],
        sub ($r) {
            $user->{calls}--;
            $n{$call}++;
            $done->($r->status == 200 ? $r->json : undef);
        });
}

sub note_of ($user, $what) {
    push $user->{history}->@*, $what;
    shift $user->{history}->@* if $user->{history}->@* > 8;
}

sub later ($seconds, $user) {
    $swarm->timer($seconds, sub { act($user) if !$over });
}

# what a call was answered is only looked at if the user did nothing since

sub poll ($user, $done = sub { }) {
    my $life = $user->{life};
    my ($method, $call) = rand() < 0.5 ? (GET => 'status')
                        : rand() < 0.7 ? (POST => 'heartbeat')
                        : (POST => 'check');

    call($user, $method, $call, $user->{place}, sub ($json) {
        if ($json && $user->{life} == $life) {
            push @wrong, "$user->{name} is told $json->{status}: "
                         . join ' ', $user->{history}->@*
                if $json->{status} ne 'queued';
            $user->{place} = $json->{place} if $json->{place};
        }
        $done->($json);
    });
}

sub act ($user) {
    return leave($user) if $user->{state} eq 'unsure';

    if ($user->{state} eq 'new') {
        return call($user, POST => 'check', undef, sub ($json) {
            $user->{state} = 'unsure' if !$json;

            if ($json && $json->{status} eq 'queued') {
                @$user{qw(state place)} = ('waits', $json->{place});
                $user->{life}++;
                note_of($user, "joined at $json->{position}");
            }
            later(rand 0.3, $user);
        });
    }

    return leave($user) if rand() < 0.06;

    poll($user, sub ($json) { later(0.05 + rand 0.6, $user) });
}

sub leave ($user) {
    my $place = $user->{place};

    if ($user->{state} eq 'waits' && !$user->{calls}) {
        poll($user) for 1 .. rand 3;        # another tab, or two
    }
    $user->{life}++;

    # calls that are on their way with it may join

    return later(0.05, $user) if $user->{calls};

    call($user, POST => 'leave', $place, sub ($json) {

        # a worker that was killed may have done it

        if (!$json) {
            $user->{state} = 'unsure';
            return later(0.1, $user);
        }
        note_of($user, 'left');
        @$user{qw(state place)} = ('new', undef);

        for (1 .. 3) {
            $swarm->timer(rand 0.8, sub {
                my @call = rand() < 0.5 ? (GET => 'status')
                                        : (POST => 'heartbeat');
                call($user, @call, $place, sub ($json) { }) if !$over;
            });
        }
        rand() < 0.6 ? act($user)
                     : $swarm->timer(1, sub { act($user) if !$over });
    });
}

later(rand 0.3, $_) for @users;


# ---- those who are silent, by times that nobody waits for

sub take_out ($user) {
    $redis->cmd('EVAL', <<'END', 2, '{crowd}:queue', '{crowd}:seen', $user->{name});
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
END
    note_of($user, 'taken out');
}

my $again; $again = sub {
    return if $over;

    for my $user (map { $users[rand @users] } 1 .. 4) {
        take_out($user);
    }
    $swarm->timer(0.1, $again);
};
$swarm->timer(1, $again);

for my $i (0, 1) {
    # in the middle of anything, perhaps with the zone's lock
    $site->nginx($i)->allow(qr/exited on signal 9/, qr/was locked by/,
                            qr/a process died while it changed the zone/);
    $swarm->timer(1.5 + $i, sub {
        kill KILL => ($site->nginx($i)->worker_pids)[0] if !$over;
    });
}

sub views () {
    my $views = 0;
    $views += metrics($_)->sum('queue_view_polls_total') // 0 for @ports;
    return $views;
}

# counters of a worker that is killed stay in the zone; a busy machine takes longer

for (1 .. 60) {
    $swarm->run(timeout => $_ == 1 ? 3.5 : 1, until => sub { 0 });
    last if views() > 200;
}
$over = 1;
$swarm->run(timeout => 60, until => sub { !$swarm->pending });

is_deeply \@wrong, [], 'nobody who waits is told anything else';

cmp_ok views(), '>', 200, 'most polls were answered by hosts';
note join ', ', map { "$n{$_} $_" } sort keys %n;


# ---- the last word of everybody, and hosts that go with it

my @waiting = grep { $_->{state} eq 'waits' } @users;
cmp_ok scalar @waiting, '>', @users / 3, 'many wait';

take_out($_) for @waiting;
poll($_) for @waiting;
$swarm->run(timeout => 60, until => sub { !$swarm->pending });
is_deeply \@wrong, [], 'all are told to wait';

$site->nginx($_)->quit for 0, 1;

my %line = $redis->cmd('ZRANGE', '{crowd}:queue', 0, -1, 'WITHSCORES')->@*;
my %seen = $redis->cmd('ZRANGE', '{crowd}:seen', 0, -1, 'WITHSCORES')->@*;
my @others = ('first', @ahead, map { $_->{name} }
                               grep { $_->{state} eq 'unsure' } @users);
delete @line{@others};
delete @seen{@others};

my %where = map { ($_->{name} => jwt_decode($_->{place})->{score}) } @waiting;
my %of = map { ($_->{name} => $_) } @users;
my @lost = grep { !defined $line{$_} } sort keys %where;
my @kept = grep { !defined $where{$_} } sort keys %line;
my @moved = grep { defined $line{$_} && $line{$_} != $where{$_} } sort keys %where;

for ([ 'nobody is lost', @lost ], [ 'nobody stays who left', @kept ],
     [ 'nobody was moved', @moved ])
{
    my ($text, @who) = @$_;
    is scalar @who, 0, $text
        or diag map { "$_: @{ $of{$_}{history} }\n" } @who;
}
is_deeply [ sort keys %seen ], [ sort keys %line ], 'all are noted as seen';


done_testing;
