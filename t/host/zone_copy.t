# A reload with another size of the zone while old workers go on with the one
# before: it is copied by steps, between which they change it, and what they
# know of is kept, whichever part of it was copied first.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use IO::Handle;
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Redis;
use Admission::Swarm;
use Admission::Waiting;
use Admission::Zone;

my $rooms = sanitized ? 300 : 600;
my $revoked = $rooms;
my $queues = 200;

my $redis = Admission::Redis->start;
my $now = int(time * 1e6);
my @rooms = map { "room-$_" } 1 .. $rooms;
my @users = map { "user-$_" } 1 .. $revoked;

$redis->cmd('HSET', "{$_}:vwr", active => 1, next => 100, serving => 0,
            activation => $now, changed => $now, updated => $now,
            api_rate => 0, set_by => 'api') for @rooms;
$redis->cmd('SADD', 'vwr:active-events', @rooms);

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();
my $debug = (run($binary, '-V'))[1] =~ /--with-debug/;

my $site = waiting_site(
    redis => $redis, timeout => '20s', zone => '16m', workers => 2,
    events => join(' ', 'default threshold=1000 vwr_rate=0;',
                   map { "queue-$_;" } 1 .. $queues),
    http => 'keepalive_requests 1000000;',
    server => <<'END');
        location /room/  { admission_event $arg_event; admission_tier1 auto;
                           empty_gif; }
        location /entry/ { admission_event concert; admission_tier2 on;
                           empty_gif; }
END

my $nginx = $site->nginx;

sub entry ($user, $adm) {
    return entry_token($Admission::Site::SECRETS{tier2}, sub => 'concert',
                       uid => $user, tier => 2, adm => $adm);
}

# rooms that let in who has no token, users who are let in though they have left

sub open_rooms () {
    my $c = Admission::HTTP->connect($nginx->port, timeout => 60);
    return grep { $c->request(GET => "/room/?event=$_")->status == 200 } @rooms;
}

my $adm = 0;

sub not_refused (@users) {
    my $c = Admission::HTTP->connect($nginx->port, timeout => 60);
    return grep { $c->request(GET => '/entry/', headers => [
        Authorization => 'Bearer ' . $site->user($_),
        'X-Queue-Entry-Token' => entry($_, $adm) ])->status == 200 } @users;
}

# all were in, and have left

is $site->call(0, ann => POST => 'check')->json->{status}, 'active',
    'there is a queue';
$adm = 0 + $redis->cmd('ZSCORE', '{concert}:admitted', 'ann');

sub revoke (@users) {
    my $at = $adm + 1_000_000 * ++$site->{revoked};

    $redis->cmd('ZADD', '{concert}:revoked',
                map { ($at + $_, $users[$_]) } 0 .. $#users);
    $redis->cmd('ZADD', '{}:news', $at + @users, 'concert');
}

revoke(@users);

ok((wait_until { !open_rooms } 60), "$rooms active rooms are known");
ok((wait_until { !not_refused(@users) } 60), "and $revoked revocations");

# the others have nothing to do with these, and come and go all the time

my $dir = test_dir;

sub load ($name) {
    return Admission::Process->start(name => $name, code => sub {
        open my $done, '>', "$dir/$name.done" or die;
        $done->autoflush;

        my $swarm = Admission::Swarm->new(connections => 20, keepalive => 0);
        my ($n, $looked, $stop, %count) = (0, 0, 0);

        my $ask;
        $ask = sub {
            my $event = 'queue-' . (1 + ++$n % $queues);
            my $user = $site->user('load-' . $n % 50);

            $swarm->request($nginx->port, 'POST', "/tier1/queue/check/$event",
                            [ Authorization => "Bearer $user",
                              'Content-Length' => 0 ], sub ($r) {
                $count{ $r->status || $r->error }++;
                print $done '.' if $r->status == 200;
                $ask->() if !$stop;
            });
        };
        $ask->() for 1 .. 8;

        $swarm->run(timeout => 600, until => sub {
            if (time - $looked > 0.1) {
                $looked = time;
                $stop = -e "$dir/$name.stop";
            }
            return $stop && !$swarm->pending;
        });
        write_file("$dir/$name.new", json_encode(\%count));
        rename "$dir/$name.new", "$dir/$name.counts";
    });
}

# how often each status, or what went wrong

sub counts ($name, $load) {
    write_file("$dir/$name.stop", '');
    ok $load->wait_exit(60), 'the others stop';
    $load->finish;
    return json_decode(read_file("$dir/$name.counts"));
}


my $load = load('load');
my $done = 0;

for my $size (qw(24m 4m 16m)) {

    # however busy the machine is, the others are at it

    ok((wait_until { (-s "$dir/load.done" // 0) > $done + $queues } 120),
       'others come and go');
    $done = -s "$dir/load.done";

    # some leave while it is copied, others have just done so

    my @late = map { "late-$size-$_" } 1 .. 50;
    revoke(@late);

    $site->{zone} = $size;
    $nginx->reload(http => $site->http, wait => 60);

    is scalar(open_rooms), 0, "a zone of $size: no room stands open";
    is scalar(not_refused(@users)), 0, 'nobody who left gets in again';
    ok((wait_until { !not_refused(@late) } 10), 'nor who left just then');
}

my $count = counts(load => $load);
is join(' ', grep { $_ ne '200' } keys %$count), '',
    'none of their requests failed' or diag json_encode($count);
cmp_ok $count->{200} // 0, '>', 2 * $queues, 'they had been many';

# workers die at any moment of a copy, the lock of the zone before in hand as
# well: that which copies it goes on

my $killed = load('killed');

ok((wait_until { -s "$dir/killed.done" } 60), 'others are at it again');

for my $i (1 .. 8) {
    my @old = $nginx->worker_pids;

    $nginx->allow(map { (qr/worker process $_ exited on signal 9/,
                         qr/shared memory zone "\w+" was locked by $_$/) } @old);
    $site->{zone} = $i % 2 ? '24m' : '16m';
    $nginx->configure(http => $site->http);

    my $mark = $nginx->log_mark;
    $nginx->signal('HUP');
    select undef, undef, undef, 0.006 * $i;
    kill KILL => @old;

    ok((wait_until {
        my @new = $nginx->worker_pids;
        my %old = map { $_ => 1 } @old;
        @new == 2 && !grep { $old{$_} } @new
            and !$nginx->old_worker_pids
            and $nginx->error_log($mark) =~ /start worker processes/
    } 60), "old workers are killed while it is copied, $i");
}

$count = counts(killed => $killed);
cmp_ok $count->{200} // 0, '>', 0, 'most of the others are answered';

is scalar(open_rooms), 0, 'all is there: no room stands open';
is scalar(not_refused(@users)), 0, 'nor does anybody who left get in';

# the master has no word of a worker's death while it copies a zone

{
    my @old = $nginx->worker_pids;
    my $holder = Admission::Zone::hold($nginx, 16 << 20);

    $nginx->allow(qr/worker process $holder exited on signal 9/,
                  qr/shared memory zone "\w+" was locked by $holder$/);
    $site->{zone} = '24m';
    $nginx->configure(http => $site->http);

    my $mark = $nginx->log_mark;
    $nginx->signal('HUP');
    ok((wait_until { $nginx->error_log($mark) =~ /reconfiguring/ } 20),
       'a zone is to be copied');
    kill KILL => $holder;
    kill CONT => @old;
    ok((wait_until {
        my %old = map { $_ => 1 } @old;
        2 == grep { !$old{$_} } $nginx->worker_pids
            and !$nginx->old_worker_pids
    } 60), 'who had its lock is dead: it is copied all the same');
}

is scalar(open_rooms), 0, 'no room stands open';
is scalar(not_refused(@users)), 0, 'and nobody who left gets in';

# without Redis there is nothing else to know it from

$redis->sigstop;
$site->{zone} = '8m';
$nginx->reload(http => $site->http, wait => 60,
               log_level => $debug ? 'debug' : 'info');

is scalar(open_rooms), 0, 'Redis hangs: no room stands open';
is scalar(not_refused(@users)), 0, 'and who left is refused';
$redis->sigcont;

SKIP: {
    skip 'NGINX is built without --with-debug', 2 if !$debug;

    # events, which are met and then copied, and revocations

    my @left = grep { $_ } $nginx->error_log =~ /copied, the lock left (\d+) /g;

    cmp_ok scalar(@left), '>=', 2, 'the lock was left meanwhile';
    is scalar(grep { $_ < int($rooms / 128) } @left), 0,
        'after 128 of them at most';
    note "left @left times";
}

done_testing;
