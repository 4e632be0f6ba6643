# What is measured: Redis, and NGINX with one worker and servers: without the
# gate, with it, with the queue, with the waiting room, answers that are not the
# module's, and the peer.

package Bench::Site;

use v5.36;

use Carp;
use Digest::SHA qw(hmac_sha256 hmac_sha256_base64);
use MIME::Base64 qw(decode_base64url encode_base64);

use Admission::Certs;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Redis;
use Admission::Test;

my %secret = (
    tier1 => '1' x 40,
    tier2 => '2' x 40,
    user  => 'u' x 40,
);

my $event = '3f0c2b1e-0000-4000-8000-000000000001';
my $first_user = 'user-000000000000';
my $pairs = 200_000;
my $now = time;


sub start ($class, $bench) {
    my $self = bless { bench => $bench, events => 0 }, $class;

    $self->{ca} = Admission::Certs->new('ca');
    $self->{redis} = Admission::Redis->start(
        prefixes => [ map { "$_:" } qw(plain tls none known other off gate
                                       module bare followed) ],
        tls => [ $self->{ca}, $self->{ca}->issue('redis', 'IP:127.0.0.1') ]);
    run('taskset', '-apc', $bench->{cpu}{redis}, $self->{redis}->pid);

    $self->find_peer;
    $self->start_nginx;
    $self->learn_script;

    return $self;
}


sub redis ($self)    { return $self->{redis} }
sub event ($self)    { return $event }
sub has_peer ($self) { return $self->{peer} }
sub dir ($self)      { return $self->{nginx}->dir }
sub worker ($self)   { return ($self->{nginx}->worker_pids)[0] }

sub port ($self, $server) {
    return $self->{nginx}{ports}{$server};
}

sub new_event ($self) {
    return sprintf 'bench-%04d', ++$self->{events};
}


# ---- NGINX

# The peer is there if what it needs is.

sub find_peer ($self) {
    my (undef, $nginx) = run(Admission::Nginx::nginx_binary(), '-V');
    my ($path) = $nginx =~ /--modules-path=(\S+)/;

    my @modules = map { "$path/$_" } qw(ndk_http_module.so
                                        ngx_http_lua_module.so);
    my ($cjson) = glob '/usr/lib/*/lua/5.1/cjson.so';

    return if grep { !defined || !-e }
              @modules, $cjson, '/usr/share/lua/5.1/nginx/redis.lua';

    my (undef, $versions) = run('dpkg-query', '-W',
        '-f', '${Package} ${Version}, ',
        qw(libnginx-mod-http-lua lua-nginx-redis lua-cjson));

    $self->{modules} = \@modules;
    $self->{peer} = $versions =~ s/, $//r;
}


sub start_nginx ($self) {
    my $root = root;
    my $port = $self->{redis}->port;

    $self->{nginx} = Admission::Nginx->start(
        %{ $self->nginx_options('') },
        modules     => $self->{modules} // [],
        files       => {
            'command.lua'   => "return {}\n",
            'peer_conf.lua' => <<~"END",
                return { redis_port = $port,
                         user_secret = "$secret{user}",
                         tier2_secret = "$secret{tier2}" }
                END
        },
        http        => http() . servers()
                       . ($self->{peer} ? peer($root) : ''),
    );

    write_pages($self->{nginx});
}


# Another one on the same processor, without the peer and its modules; with keys
# of its own in Redis, or as another host (no prefix), or by another URL.

sub another_nginx ($self, $prefix, $url = $self->{redis}->url) {
    my $nginx = Admission::Nginx->start(
        %{ $self->nginx_options($prefix && "prefix=$prefix", $url) },
        http => http() . servers());

    write_pages($nginx);
    return $nginx;
}


sub tls_url ($self) {
    return $self->{redis}->url(tls => 1) . ' tls_ca=' . $self->{ca}->cert;
}


sub nginx_options ($self, $redis, $url = $self->{redis}->url) {
    my $mask = '1' . '0' x $self->{bench}{cpu}{worker};

    return {
        connections => 4096,
        log_level   => 'warn',
        main        => "worker_cpu_affinity $mask; pcre_jit on;",
        vars        => { REDIS => $url, PARAMETERS => $redis, BARE => 'x' },
    };
}


sub write_pages ($nginx) {
    my $html = $nginx->dir . '/html';

    for my $path ('', '/events', "/events/$event") {
        mkdir "$html$path" or croak "$html$path: $!";
    }

    write_file("$html/events/$event/seats.html", 'x' x 1024);
}


sub http () {
    return <<~"END";
        access_log          off;
        sendfile            on;
        tcp_nopush          on;
        keepalive_requests  1000000000;
        keepalive_timeout   600s;

        admission_zone    admission:8m;
        admission_redis   %%REDIS%% timeout=5s %%PARAMETERS%%;
        admission_secret  tier1 $secret{tier1};
        admission_secret  tier2 $secret{tier2};
        admission_secret  user  $secret{user};

        admission_events {
            default  threshold=1000;
            few      threshold=0;
            many     threshold=0;
            view     threshold=0;
            long     threshold=0;
            waiting  vwr=on vwr_rate=0;
            passed   vwr=on vwr_rate=0;
            assigned vwr=on vwr_rate=0;
            @{[ map { sprintf 'bench-%04d; ', $_ } 1 .. 200 ]}
            @{[ map { "show-$_; " } 0 .. 29 ]}
        }

        map \$uri \$event_id {
            volatile;
            "~*^/(?:events|queue|vwr|api/(?:v1/)?seats)/(?<id>[0-9a-f-]{36})"
                \$id;
        }
        END
}


sub servers () {
    return <<~'END';
        server {
            listen 127.0.0.1:%%PORT_off%%;

            location /events/ {
                root html;
            }
        }

        server {
            listen 127.0.0.1:%%PORT_gate%%;

            admission_event  $event_id;
            admission_user   jwt;

            location /events/ {
                root html;
                admission_tier2 on;
            }
        }

        server {
            listen 127.0.0.1:%%PORT_queue%%;

            admission_user jwt;

            location /api/queue/ {
                admission_queue_api;
            }
        }

        server {
            listen 127.0.0.1:%%PORT_room%%;

            location /vwr-api/ {
                admission_vwr_api assign_rate=off;
            }
        }

        server {
            listen 127.0.0.1:%%PORT_bare%%;

            location / {
                return 200 "%%BARE%%";
            }
        }
        END
}


sub peer ($root) {
    return <<~"END";
        lua_package_path "$root/bench/?.lua;%%DIR%%/?.lua;;";
        init_by_lua_block { require "peer" }

        server {
            listen 127.0.0.1:%%PORT_peer%%;

            location /events/ {
                root html;
                access_by_lua_block { require("peer").gate() }
            }

            location /api/queue/check/ {
                content_by_lua_block { require("peer").check() }
            }
        }
        END
}


# ---- the waiting room

# Once the host knows it, as Redis does: with so many positions issued and
# passed.

sub set_room ($self, $nginx, $event, $next, $serving) {
    my $status = sub () {
        return get($nginx->port('room'), "/vwr-api/status/$event")->json;
    };

    wait_until { $status->()->{isActive} } 10
        or croak "$event: no waiting room";

    $self->{redis}->cmd('HSET', "{$event}:vwr", next => $next,
                        serving => $serving);

    wait_until { $status->()->{serving} == $serving } 10
        or croak "$event: not $serving";
}


# Visitors with a ticket each, as requests.lua takes them; like one that the
# module made, but for the position.

sub tickets ($self, $nginx, $event, $n) {
    my $issued = post($nginx->port('room'), "/vwr-api/assign/$event")->json;
    my ($head, $payload, $visitor) =
        ((split /\./, $issued->{requestId})[0, 1], $issued->{visitor});

    my $claims = json_decode(decode_base64url($payload));
    my $key = hmac_sha256('admission ticket', $secret{tier1});

    return map {
        $claims->{p} = $_;
        sign(json_encode($claims), $key, $head) . "\t$visitor"
    } 1 .. $n;
}


# Has the bare server of another NGINX answer with as many bytes, headers as
# well.  Twice: the length of a length may change.

sub bare_as ($self, $nginx, $response) {
    my $vars = $nginx->{opt}{vars};

    for (1, 2) {
        my $bare = get($nginx->port('bare'), '/');
        my $size = length($bare->body) + length($response->raw)
                   - length($bare->raw);

        $nginx->reload(vars => { %$vars, BARE => 'x' x $size });
    }
}


# ---- the script

# How the module calls it, learnt from the module itself: by the first command
# for an event of which it knows nothing yet.

sub learn_script ($self) {
    my $learnt = $self->new_event;
    my $monitor = $self->{redis}->monitor;
    my $response = post($self->port('queue'), "/api/queue/check/$learnt",
        cookies => { access_token => user_token($first_user) });

    croak 'join: ' . $response->status . ' ' . $response->body
        if $response->status != 200;

    my ($command) = grep { $_->[0] eq 'EVALSHA'
                           && grep { $_ eq $first_user } @$_ }
                    $monitor->commands;
    croak 'no script was run' if !$command;

    $self->{learnt} = $learnt;
    $self->{command} = $command;

    $self->tell_peer if $self->{peer};
}


sub tell_peer ($self) {
    my ($evalsha, $sha, $n, @words) = @{ $self->{command} };
    my @keys = map { s/.*://r } splice @words, 0, $n;

    my ($event_at) = grep { $words[$_ - 1] eq $self->{learnt} } 1 .. @words;
    my ($user_at) = grep { $words[$_ - 1] eq $first_user } 1 .. @words;
    my ($keys, $args) = map { join ', ', map { "\"$_\"" } @$_ }
                        \@keys, \@words;

    write_file($self->dir . '/command.lua', <<~"END");
        return { sha = "$sha",
                 keys = { $keys },
                 args = { $args },
                 event_at = $event_at, user_at = $user_at }
        END

    $self->{nginx}->reload;
}


# As many new users as fast as redis-benchmark can: joins a second.  It may
# draw the same users twice in two runs: a prefix keeps them apart.

sub redis_benchmark ($self, $event, $n, $prefix = 'user') {
    my @command = map { $_ eq $first_user ? "$prefix-__rand_int__"
                        : s/\Q$self->{learnt}\E/$event/r }
                  @{ $self->{command} };

    my ($status, $output) = run(
        'taskset', '-c', $self->{bench}{cpu}{load_with_redis},
        'redis-benchmark', '-p', $self->{redis}->port, '-P', 16, '-c', 50,
        '-n', $n, '-r', 1_000_000_000, '-q', @command);

    my @rates = $output =~ /([\d.]+) requests per second/g;
    croak "redis-benchmark: $output"
        if $status || !@rates || $output =~ /error/i;

    return $rates[-1];
}


# Those who wait and those who are in.

sub users ($self, $event) {
    my $redis = $self->{redis};
    return $redis->cmd('ZCARD', "{$event}:queue")
           + $redis->cmd('ZCARD', "{$event}:active");
}


# Frees what an event's users took, once nobody needs it.  Its epoch stays:
# nothing was lost.

sub drop_event ($self, $event) {
    $self->{redis}->cmd('UNLINK', map { "{$event}:$_" }
        qw(queue active seen active-seen done admitted admissions));
}


# ---- tokens and requests

sub encode ($bytes) {
    my $text = encode_base64($bytes, '');
    $text =~ tr{+/=}{-_}d;
    return $text;
}

sub sign ($payload, $secret, $header = encode('{"alg":"HS256","typ":"JWT"}')) {
    my $signed = "$header." . encode($payload);
    my $mac = hmac_sha256_base64($signed, $secret);
    $mac =~ tr{+/}{-_};
    return "$signed.$mac";
}

sub user_token ($user) {
    my $exp = $now + 7200;
    return sign(qq({"userId":"$user","email":"$user\@example.com",)
                . qq("role":"user","iat":$now,"exp":$exp}), $secret{user});
}

# $adm is when the user was let in, in seconds.

sub entry_token ($user, $adm = $now) {
    my $exp = $now + 7200;
    return sign(qq({"sub":"$event","uid":"$user","tier":2,)
                . qq("adm":${adm}000000,"iat":$now,"exp":$exp}),
                $secret{tier2});
}


# A file for requests.lua: the template, then lines.

sub requests ($self, $name, $template, @lines) {
    return write_file($self->dir . "/$name.requests",
                      join "\n", $template, @lines, '');
}


# User tokens, and lines of a user and an entry token; made once for each time.

sub pairs ($self, $adm = $now) {
    return @{ $self->{pairs}{$adm} //= [
        map { my $user = sprintf 'user-%012d', $_;
              user_token($user) . "\t" . entry_token($user, $adm) } 1 .. $pairs
    ] };
}

sub user_tokens ($self) {
    return map { s/\t.*//r } $self->pairs;
}


1;
