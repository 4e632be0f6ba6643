# Rate limits: through Redis, against the same file without one and against the
# peer, which runs the same script; several of them, against one; by the host's
# own count, against limit_req; and what a client takes of Redis's memory.

package Bench::Limits;

use v5.36;

use Carp;

use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Test ();
use Bench;

my $clients = 100_000;

# as many as both NGINX's limiter and the module's have room for
my $local_clients = 2_000;

# What is asked for: next to nothing, which leaves what a limit costs, and a
# file.

my @paths = qw(dot.gif page.html);
my %what = ('dot.gif' => 'empty_gif', 'page.html' => 'static file of 1 KB');


sub run ($bench, $site) {
    my $nginx = start($bench, $site, $site->redis->port);

    my @names = map { sprintf 'user-%08d', $_ } 1 .. $clients;

    by_redis($bench, $site, $nginx, @names);
    commands($bench, $site, $nginx);
    memory($bench, $site, $nginx);

    $nginx->quit;

    by_host($bench, $site, @names[0 .. $local_clients - 1]);
}


sub start ($bench, $site, $redis) {
    my $root = Admission::Test::root();
    my $mask = '1' . '0' x $bench->{cpu}{worker};
    my $port = $site->redis->port;

    my $nginx = Admission::Nginx->start(
        connections => 4096,
        log_level   => 'warn',
        main        => "worker_cpu_affinity $mask;",
        modules     => $site->{modules} // [],
        files       => { 'peer_conf.lua'  => "return { redis_port = $port }\n",
                         'command.lua'    => "return {}\n",
                         'limit_sha.lua'  => "return ''\n" },
        vars        => { REDIS => $redis },
        http        => http() . ($site->has_peer ? <<~"END" : ''));
            lua_package_path "$root/bench/?.lua;%%DIR%%/?.lua;;";
            init_by_lua_block { require "peer" }

            server {
                listen 127.0.0.1:%%PORT_peer%%;
                location / { root html;
                             access_by_lua_block { require("peer").limit() } }
                location = /dot.gif { empty_gif;
                             access_by_lua_block { require("peer").limit() } }
            }
            END

    mkdir $nginx->dir . '/html';
    Admission::Test::write_file($nginx->dir . '/html/page.html', 'x' x 1024);

    return $nginx;
}


sub http () {
    my %limits = (
        off     => '',
        one     => 'admission_rate_limit one rate=30r/m key=$arg_k;',
        three   => join("\n", map {
                       "admission_rate_limit three$_ rate=30r/m key=\$arg_k;"
                   } 1 .. 3),
        counter => 'admission_rate_limit counter rate=3000r/m key=$arg_k;',
        few     => 'admission_rate_limit few rate=200r/s key=$arg_k;',
        many    => 'admission_rate_limit many rate=1000000r/m key=$arg_k;',
        limit_req => 'limit_req zone=requests burst=10000 nodelay;',
    );

    return <<~'END' . join '', map { <<~"END2" } sort keys %limits;
        access_log          off;
        sendfile            on;
        tcp_nopush          on;
        keepalive_requests  1000000000;
        keepalive_timeout   600s;

        admission_zone      admission:8m;
        admission_redis     redis://127.0.0.1:%%REDIS%% timeout=5s;
        limit_req_zone      $arg_k zone=requests:8m rate=10000r/s;

        END
        server {
            listen 127.0.0.1:%%PORT_$_%%;
            location / { root html; $limits{$_} }
            location = /dot.gif { empty_gif; $limits{$_} }
        }
        END2
}


sub template ($path) {
    return "GET /$path?k=%s HTTP/1.1|Host: localhost|Accept: text/html||";
}


# ---- through Redis

sub by_redis ($bench, $site, $nginx, @names) {
    my @servers = (qw(off one three counter),
                   $site->has_peer ? 'peer' : ());

    tell_peer($site, $nginx) if $site->has_peer;

    my %skip;

    for my $path (@paths) {
        my $file = $site->requests('limits', template($path), @names);
        my $pids = { worker => ($nginx->worker_pids)[0],
                     redis => $site->redis->pid };

        my $load = sub ($server, %opt) {
            my $r = $bench->load($nginx->port($server), $file, redis => 1,
                                 skip => $skip{$server} // 0,
                                 pids => $pids, %opt);
            $skip{$server} += $r->{n};
            return $r;
        };

        $load->($_, seconds => 1) for @servers;

        my $results = $bench->rounds(
            map { my $server = $_; $server => sub { $load->($server) } }
                @servers);

        my $beside = $site->has_peer
                     && beside_peer($bench, $site, $nginx, $file);

        print_by_redis($bench, $path, $results, $beside, @servers);
    }
}


sub print_by_redis ($bench, $path, $results, $beside, @servers) {
    my $rate = sub ($r) { $r->{rate} };
    my ($off, $one, $three, $counter, $peer) =
        @{$results}{qw(off one three counter peer)};

    $bench->heading("Rate limits through Redis, $what{$path}, "
                    . commify($clients) . ' clients');

    $bench->ratio_row('one limit, a second, against none',
                      Bench::ratio($one, $off, $rate), [ '>=', 0.5 ]);
    $bench->ratio_row('  the counter, against none',
                      Bench::ratio($counter, $off, $rate));

    if ($peer) {

        # of processor time, as of the gate: the worker shares its processor
        # with the load generator, which hides most of what one saves; the
        # target is for the smallest answer, since what a file costs is the
        # same with either

        $bench->ratio_row('one limit, a CPU second of the worker, '
                          . 'against the Lua peer',
                          Bench::ratio(@{$beside}{qw(one peer)},
                                       \&per_cpu_second),
                          $path eq $paths[0] ? [ '>=', 3 ] : undef);
        $bench->ratio_row('  a second', Bench::ratio($one, $peer, $rate));
        $bench->ratio_row('  a second, of no limit at all',
                          Bench::ratio($off, $peer, $rate));
    }

    # what a request takes, so the other way round

    $bench->ratio_row('three limits, time a request, against one',
                      Bench::ratio($one, $three, $rate), [ '<=', 1.5 ]);

    $bench->rate_row($_, $results->{$_}) for @servers;

    if ($peer) {
        $bench->rate_row("$_, both", $beside->{$_}) for qw(one peer);
    }
}


# One limit and the peer at the same time, an NGINX each.  Each round has
# workers of its own, since how fast a Lua state is depends on the start: its
# compiler gives up on some of them.

sub beside_peer ($bench, $site, $nginx, $file) {
    my $other = start($bench, $site, $site->redis->port);
    tell_peer($site, $other);

    my %nginx = (one => $nginx, peer => $other);

    my $begin = sub ($server, %opt) {
        return $bench->begin_load($nginx{$server}->port($server), $file,
            redis => 1,
            pids => { worker => ($nginx{$server}->worker_pids)[0] }, %opt);
    };

    my $results = $bench->beside({
        before => sub ($skip) {
            for my $server (qw(one peer)) {
                $nginx{$server}->reload;
                $bench->end_load($begin->($server, skip => $skip,
                                          seconds => 1));
            }
        } },
        map { my $server = $_;
              $server => sub ($skip) { $begin->($server, skip => $skip) }
        } qw(one peer));

    $other->quit;
    return $results;
}


# The hash of the script, learnt from the module; keys and arguments are plain.

sub tell_peer ($site, $nginx) {
    my $monitor = $site->redis->monitor;

    get($nginx->port('one'), '/page.html?k=learn');

    my ($command) = grep { $_->[0] =~ /^EVALSHA$/i
                           && grep { $_ eq 'rate:one:learn' } @$_ }
                    $monitor->commands;
    croak 'no script was run' if !$command;

    Admission::Test::write_file($nginx->dir . '/limit_sha.lua',
                                "return '$command->[1]'\n");
    $nginx->reload;
}


# ---- commands

sub commands ($bench, $site, $nginx) {
    my $n = 1000;

    for my $server (qw(one three)) {
        my $connection = Admission::HTTP->connect($nginx->port($server));
        my $monitor = $site->redis->monitor;

        for my $i (1 .. $n) {
            my $r = $connection->request('GET', "/page.html?k=command-$i");
            croak "$server: " . $r->status if $r->status != 200;
        }

        # of the schedule are those that name no client

        my $commands = grep { grep { /^rate:/ } @$_ } $monitor->commands;

        $bench->row("Redis commands a request, $server",
                    sprintf('%.3f', $commands / $n),
                    [ '==', 1 ], $commands / $n);
    }
}


# ---- memory

# Bytes of Redis a client with so many requests in the window: what the key
# takes, and what the tables of keys and of their ends do besides.

sub memory ($bench, $site, $nginx) {
    my $redis = Admission::Redis->start;
    my $n = 1_024;

    $bench->heading('Memory of Redis a client, bytes, by user ids of 13 '
                    . 'characters');

    my ($sha) = $redis->cmd('SCRIPT', 'LOAD', script());

    my $used = sub () {
        my ($used) = $redis->cmd('INFO', 'memory') =~ /^used_memory:(\d+)/m;
        return $used;
    };

    for my $case ([ log => 'l', 30, 1 ], [ log => 'l', 30, 10 ],
                  [ log => 'l', 30, 30 ], [ log => 'l', 200, 128 ],
                  [ log => 'l', 200, 200 ], [ counter => 'c', 3000, 30 ])
    {
        my ($name, $letter, $quota, $requests) = @$case;

        # the buffers of this connection have their size from the first time

        my @taken = map {
            $redis->flushall;
            my $before = $used->();
            for my $i (1 .. $n) {
                $redis->pipeline(map {
                    [ 'EVALSHA', $sha, 1,
                      sprintf('rate:booking:user:user-%08d', $i),
                      $letter, $quota, 3_600_000, 0 ] } 1 .. $requests);
            }
            $used->() - $before;
        } 1 .. 2;

        $bench->row("$name, $requests requests",
                    sprintf '%.0f', $taken[1] / $n);
    }

    $redis->stop;
}


sub script () {
    my $root = Admission::Test::root();
    my (undef, $text) = Admission::Test::run(
        'sh', "$root/lua/embed.sh", '-e', "$root/lua/limit.lua");
    return $text;
}


# ---- on this host

sub by_host ($bench, $site, @names) {
    my %nginx = map { $_ => start($bench, $site, Admission::Test::free_port()) }
                qw(limit_req few many);

    for my $path (@paths) {
        my $file = $site->requests('limits-local', template($path), @names);

        $bench->heading("Rate limits while Redis is down, $what{$path}, "
                        . commify($local_clients)
                        . ' clients, a CPU second, against limit_req');

        my %results;
        for my $server (qw(few many)) {
            $results{$server} = beside_limit_req($bench, $file, $server,
                                                 %nginx);
            $bench->ratio_row($server eq 'few' ? 'a log' : 'the counter',
                              Bench::ratio(@{ $results{$server} }{
                                               $server, 'limit_req' },
                                           \&per_cpu_second),
                              [ '>=', 0.85 ]);
        }

        for my $server (qw(few many)) {
            $bench->rate_row("$_, both", $results{$server}{$_})
                for 'limit_req', $server;
        }
    }

    $_->quit for values %nginx;
}


# A limit of the module's and NGINX's own at the same time.

sub beside_limit_req ($bench, $file, $server, %nginx) {
    my $begin = sub ($server, %opt) {
        return $bench->begin_load($nginx{$server}->port($server), $file,
            pids => { worker => ($nginx{$server}->worker_pids)[0] }, %opt);
    };

    my @servers = ('limit_req', $server);
    $bench->end_load($begin->($_, seconds => 1)) for @servers;

    return $bench->beside({},
        map { my $server = $_;
              $server => sub ($skip) { $begin->($server, skip => $skip) }
        } @servers);
}


sub per_cpu_second ($r) {
    return 1 / $r->{cpu}{worker};
}


sub commify ($n) {
    1 while $n =~ s/^(\d+)(\d{3})/$1,$2/;
    return $n;
}


1;
