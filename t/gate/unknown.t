# Events whose waiting room a host does not know yet, or has no room for: all
# requests of a worker that have to know share one call of Redis, and each of
# them gets what it would have got by its own.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use List::Util qw(uniq);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Waiting;

my $n = 40;

my $site = waiting_site(
    timeout => '60s', workers => 1, events => 'default vwr_rate=0;',
    server => <<'END');
        location /any/  { admission_event $arg_event; admission_tier1 auto;
                          empty_gif; }
        location /on/   { admission_event $arg_event; admission_tier1 on;
                          empty_gif; }
        location /free/ { admission_event $arg_event;
                          admission_tier1 auto bind=off; empty_gif; }
        location = /now { stub_status; }
END

my $redis = $site->redis;

# another host knows them, and scripts are there

my $ann = {};

operator($site, POST => "activate/$_") for qw(sale concert other);
operator($site, GET => 'status/idle');

my $activation = operator($site, GET => 'status/sale')->json->{activation};
my $ticket = assign($site, 0, $ann, event => 'other')->json->{requestId};


# An instance that knows of no room, since Redis stands still from before it
# starts.

sub new_host (%opt) {
    local @$site{keys %opt} = values %opt;

    $redis->sigstop;
    return $site->instance;
}

# Sends requests, [method, path, options], each on a connection of its own.

sub open_all ($nginx, @requests) {
    return map {
        my ($method, $path, %opt) = @$_;
        my $connection = Admission::HTTP->connect($nginx->port, timeout => 60);

        $connection->send(Admission::HTTP::compose($method, $path, %opt));
        $connection
    } @requests;
}

# The same, and returns when all of them wait: those that are open, and the one
# that asks.  What was asked before tells nothing of it, since the worker that
# answered may not have noted yet that it has.

my %open;

sub waiting ($nginx, @requests) {
    my @open = open_all($nginx, @requests);

    $open{$nginx} += @open;
    ok((wait_until { now($nginx)->{writing} == 1 + $open{$nginx} } 30),
       @requests . ' requests wait');
    return @open;
}

sub give_up ($nginx, @open) {
    $_->close for @open;
    $open{$nginx} -= @open;
    ok((wait_until { now($nginx)->{writing} == 1 + $open{$nginx} } 30),
       @open . ' of them go away');
}

# requests there are, and were

sub now ($nginx) {
    my $status = get($nginx->port, '/now')->body;

    my %now;

    @now{qw(all reading writing)} = $status =~
        /^ \d+ \d+ (\d+) \nReading: (\d+) Writing: (\d+)/m;
    return \%now;
}

# how often Redis was asked how a room is

sub looks ($monitor, @events) {
    my @sent = map { "@$_" } grep { $_->[0] eq 'EVALSHA' } $monitor->commands;
    my @n = map { my $e = $_; scalar grep { /\{$e\}.* look / } @sent } @events;

    return wantarray ? @n : $n[0];
}

# How often Redis was asked of an event in which there is nothing: whether it is held,
# and how its room is, if that was not known by then.

sub is_asked_once ($monitor, $event, $name, $workers = 1) {
    my @sent = map { "@$_" } grep { $_->[0] eq 'EVALSHA' } $monitor->commands;
    my @of = grep { /\{$event\}/ } @sent;
    my $looks = grep { / look / } @of;

    cmp_ok @of - $looks, '>=', 1, $name;
    cmp_ok @of - $looks, '<=', $workers, 'and no other';
    cmp_ok $looks, '<=', $workers, 'one at the room at most';
}

# {status => of so many}

sub answers (@open) {
    my %n;
    $n{ $_->response('GET', 60)->status }++ for @open;
    return \%n;
}

sub gated ($event, $where = 'any') {
    return [GET => "/$where/?event=$event"];
}

sub passing ($event) {
    my $cookies = tier1_cookie({}, sub => $event, act => $activation);
    return [GET => "/free/?event=$event", cookies => $cookies];
}


subtest 'one call, and to each its own verdict' => sub {
    my $monitor = $redis->monitor;
    my $host = new_host;

    my @idle = waiting($host, (gated('idle'), gated('idle', 'on')) x $n);
    my @sale = waiting($host, (gated('sale'), passing('sale')) x $n);
    my @join = waiting($host, ([POST => '/tier1/queue/check/concert',
                                body => '', bearer => $site->user('cho')],
                               gated('concert')) x $n);
    my @visit = waiting($host, ([POST => '/vwr-api/assign/other', body => '',
                                 cookies => $ann]) x $n);
    $redis->sigcont;

    is_deeply answers(@idle), { 200 => 2 * $n }, 'none is active: all pass';
    is_deeply answers(@sale), { 200 => $n, 403 => $n },
        'it is active: those with a token pass';
    is_deeply answers(@join), { 403 => 2 * $n },
        'so it is with those who join its queue';
    is_deeply [uniq(map { $_->response('POST', 60)->json->{requestId} }
                    @visit)], [$ticket], 'who has a ticket keeps it';

    # the list names those that are active, at which the schedule looks, too

    my ($idle, @active) = looks($monitor, qw(idle sale concert other));

    cmp_ok $idle, '<=', 1, 'with one call';
    cmp_ok $_, '<=', 2, 'likewise' for @active;
};


subtest 'some go away, or all' => sub {
    my $monitor = $redis->monitor;
    my $host = new_host;

    my @open = waiting($host, (gated('idle')) x $n);
    give_up($host, splice @open, 0, $n / 2);
    $redis->sigcont;
    is_deeply answers(@open), { 200 => $n / 2 },
        'whoever asked first: the others are told';
    is_asked_once($monitor, 'idle', 'by one call');

    $host = new_host;
    give_up($host, waiting($host, (gated('idle')) x $n));
    @open = waiting($host, (gated('idle')) x $n);
    $redis->sigcont;
    is_deeply answers(@open), { 200 => $n }, 'who comes after all have gone';
    is_asked_once($monitor, 'idle', 'by the same call');

    $host = new_host;
    my @old = $host->worker_pids;
    @open = waiting($host, (gated('idle')) x $n);
    $host->reload(wait => 0);
    $redis->sigcont;
    is_deeply answers(@open), { 200 => $n },
        'a worker that leaves stays so long';
    $host->wait_old_workers(20, @old);

    $host = new_host;
    @old = $host->worker_pids;
    give_up($host, waiting($host, (gated('idle')) x $n));
    $host->reload(wait => 0);
    ok((wait_until { !grep { alive($_) } @old } 30), 'but not for nobody');
    $redis->sigcont;
};


subtest 'no answer' => sub {
    my @both = (gated('idle'), gated('idle', 'on')) x $n;

    my $host = new_host(timeout => '1s');
    is_deeply answers(open_all($host, @both)), { 200 => $n, 403 => $n },
        'none in time: all are told';
    $redis->sigcont;

    $host = new_host;
    my @open = waiting($host, @both);
    $redis->kill9;
    is_deeply answers(@open), { 200 => $n, 403 => $n },
        'Redis dies: all are told';
    $redis->launch;
};


subtest 'several workers' => sub {
    operator($site, GET => 'status/idle');

    my $monitor = $redis->monitor;
    my @open = waiting(new_host(workers => 2), (gated('idle')) x $n);
    $redis->sigcont;

    is_deeply answers(@open), { 200 => $n }, 'all are told';
    is_asked_once($monitor, 'idle', 'by one call a worker', 2);
};


subtest 'a full zone' => sub {
    my @many = map { "many-$_" } 1 .. 400;
    my $now = int(time * 1e6);

    $redis->cmd('HSET', "{$_}:vwr", active => 1, next => 100, serving => 0,
                activation => $now, changed => $now, updated => $now,
                api_rate => 0, set_by => 'api') for @many;
    $redis->cmd('SADD', 'vwr:active-events', @many);

    my $host = do { local $site->{zone} = '32k'; $site->instance };
    my $monitor = $redis->monitor;

    ok((wait_until { get($host->port, '/any/?event=idle'); looks($monitor,
                                                                'idle') } 20),
       'more active rooms than it takes: others may be, and Redis is asked');

    # that is so for a while after each of those that it has no room for

    $redis->sigstop;

    my $before = now($host)->{all};
    my @open = open_all($host, (gated('idle')) x $n);
    my $looks = 0;

    # each look is one more

    ok((wait_until {
        $looks++;
        my $now = now($host);
        $now->{all} == $before + $n + $looks && !$now->{reading}
    } 30), "$n requests come at one time");
    $redis->sigcont;

    is_deeply answers(@open), { 200 => $n }, 'all are told';
    cmp_ok looks($monitor, 'idle'), '<=', 1, 'by one call';
};

done_testing;
