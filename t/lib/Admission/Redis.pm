# A real redis-server of the test's own, and a small blocking client.  Another
# server with its commands, as valkey-server, is TEST_REDIS_SERVER.
#
# The test is the default user, who may do anything.  The module is the user
# that docs/redis.md recommends, and the test fails if anything was refused to
# that one, see `refused`.

package Admission::Redis;

use v5.36;

use Carp;
use parent -norequire, 'Admission::Redis::Client';

use Admission::Clock;
use Admission::Process;
use Admission::Test;


# port      (a free one)
# host      its address, 127.0.0.1
# config    lines for redis.conf, or one text
# password  requirepass
# acl       lines of an ACL file, ["user alice on >secret ~* &* +@all"]; there
#           is no user for the module then
# prefixes  which the module's user may put before keys, besides none
# clock     true: its clock can be set, see set_clock
# unix      true: listen on a unix socket as well, see unix_path
# tls       [CA, its certificate], see Admission::Certs: listen for TLS as well,
#           see tls_port
# args      [more arguments of the command]
# module    0: no user for the module

sub start ($class, %opt) {
    my $port = $opt{port} // free_port;
    my $dir = test_dir . "/redis-$port" . ($opt{host} ? "-$opt{host}" : '');

    mkdir $dir or croak "$dir: $!";

    my $host = $opt{host} // '127.0.0.1';
    my @config = ("port $port", "bind $host", "dir $dir",
                  'save ""', 'appendonly no');

    push @config, "requirepass $opt{password}" if defined $opt{password};
    push @config, "unixsocket $dir/redis.sock" if $opt{unix};

    my $tls_port = $opt{tls} && free_port;

    if ($opt{tls}) {
        my ($ca, $cert) = $opt{tls}->@*;

        push @config, "tls-port $tls_port", 'tls-auth-clients optional',
             'tls-ca-cert-file ' . $ca->cert,
             'tls-cert-file ' . $cert->cert, 'tls-key-file ' . $cert->key;
    }

    if ($opt{acl}) {
        write_file("$dir/users.acl", join("\n", @{ $opt{acl} }, ''));
        push @config, "aclfile $dir/users.acl";

    } elsif ($opt{module} // 1) {
        push @config, join ' ', 'user', acl('', @{ $opt{prefixes} // [] });
    }

    push @config, ref $opt{config} ? @{ $opt{config} } : $opt{config} // ();
    write_file("$dir/redis.conf", join("\n", @config, ''));

    my $self = bless { port => $port, tls_port => $tls_port, dir => $dir,
                       host => $host, password => $opt{password},
                       module => $opt{module} // !$opt{acl},
                       args => $opt{args} // [] }, $class;

    if ($opt{clock}) {
        $self->{clock} = Admission::Clock->new($dir);
        $self->{env} = $self->{clock}->env;
    }

    $self->launch;
    Admission::Test::register($self);
    return $self;
}


# The module's user as docs/redis.md has it, for keys with these prefixes: the
# words that follow ACL SETUSER.

sub acl (@prefixes) {
    my ($line) = read_file(root . '/docs/redis.md')
                 =~ /^    ACL SETUSER (.*?)\n\n/ms;

    return map { my $word = $_ eq '>PASSWORD' ? '>tickets' : $_;
                 $word =~ /^~(.*)/ ? map { "~$_$1" } @prefixes : $word }
           split ' ', $line;
}


# What was refused to that user: [command or key, ...].

sub refused ($self) {
    my @entries = map { +{ @$_ } } $self->cmd('ACL', 'LOG', 128)->@*;

    return map { "$_->{reason} $_->{object}" }
           grep { $_->{username} eq 'tickets' && $_->{reason} ne 'auth' }
           @entries;
}


sub launch ($self) {
    $self->begin;

    wait_until {
        !$self->{process}->alive
            || ($self->try('PING'))[1] !~ /connect|LOADING/
    } 20;

    croak 'redis-server did not start: ' . $self->{process}->output
        if !$self->{process}->alive;
}


# Without waiting until it answers.

sub begin ($self) {
    $self->{process} = Admission::Process->start(
        name => "redis-$self->{port}", dir => $self->{dir},
        env => $self->{env} // {},
        command => [ $ENV{TEST_REDIS_SERVER} // 'redis-server',
                     "$self->{dir}/redis.conf",
                     $self->{args}->@* ]);
}


sub port ($self)      { return $self->{port} }
sub tls_port ($self)  { return $self->{tls_port} }
sub pid ($self)       { return $self->{process}->pid }
sub log ($self)       { return $self->{process}->output }
sub unix_path ($self) { return "$self->{dir}/redis.sock" }


# redis://... for admission_redis, for the module's user or with the password
# if there is one (`unix => 1`, `tls => 1` or the host's name, `db => N`,
# `user =>`, `password =>`, `port =>` of what is in front of it).

sub url ($self, %opt) {
    return 'unix:' . $self->unix_path if $opt{unix};

    my ($user, $password) = @opt{qw(user password)};

    if (!defined $password) {
        $password = $self->{password};
        ($user, $password) = ('tickets', 'tickets')
            if !defined $password && !defined $user && $self->{module};
    }

    my $login = defined $password ? ($user // '') . ":$password\@" : '';

    my $host = $opt{tls} && $opt{tls} ne '1' ? $opt{tls} : $self->{host};

    my $port = $opt{port} // ($opt{tls} ? $self->{tls_port} : $self->{port});

    return ($opt{tls} ? 'rediss' : 'redis') . "://$login$host:$port"
           . (defined $opt{db} ? "/$opt{db}" : '');
}


# Another client, say of another user or database.

sub client ($self, %opt) {
    return Admission::Redis::Client->new(
        host => $self->{host}, port => $self->{port},
        password => $self->{password}, %opt);
}


sub flushall ($self) { return $self->cmd('FLUSHALL') }


sub stop ($self) {
    $self->disconnect;
    $self->{process}->finish // croak 'redis-server does not stop';
}

sub kill9 ($self) {
    $self->disconnect;
    $self->{process}->finish(signals => []);
}

# So many seconds from the real time, from now on; or, with `stop => 1`, from
# that of now, at which it stands: nothing goes by but what the test says.

sub set_clock ($self, $seconds, %opt) { $self->{clock}->set($seconds, %opt) }


sub sigstop ($self) { $self->{process}->signal('STOP') }
sub sigcont ($self) { $self->{process}->signal('CONT') }


# Stops it and starts it on the same port, empty unless `keep => 1`.

sub restart ($self, %opt) {
    $self->cmd('SAVE') if $opt{keep};
    $self->stop if !$self->{process}{finished};
    unlink "$self->{dir}/dump.rdb" if !$opt{keep};
    $self->launch;
}


# How often each command has run, {get => 3}; commands of scripts count too.

sub stats ($self) {
    my %calls;
    my $info = $self->cmd('INFO', 'commandstats');

    $calls{$1} = $2 while $info =~ /^cmdstat_([^:]+):calls=(\d+)/mg;
    return \%calls;
}


# Which commands the code made it run, the same way.

sub stats_of ($self, $code) {
    my $before = $self->stats;
    $code->();
    my $after = $self->stats;

    # the look itself
    $after->{info}--;

    return { map { my $n = $after->{$_} - ($before->{$_} // 0);
                   $n ? ($_ => $n) : () } keys %$after };
}


# Watches the commands that clients send (from now on):
#     my $monitor = $redis->monitor;
#     ...
#     my @commands = $monitor->commands;   # [['EVALSHA', ...], ...]

sub monitor ($self) {
    my $client = $self->client;
    $client->cmd('MONITOR');
    return bless { client => $client, redis => $self },
        'Admission::Redis::Monitor';
}


sub end ($self) {
    my @refused = $self->{module} && !$self->{may_refuse}
        ? eval { local $self->{timeout} = 1; $self->refused } : ();

    $self->disconnect;

    return (map({ "redis-$self->{port} refused: $_" } @refused),
            $self->{process}->end);
}


# In this test it may be.

sub may_refuse ($self) {
    $self->{may_refuse} = 1;
}


package Admission::Redis::Monitor;

use v5.36;


# What was sent since the last look, without what the test's own client sent;
# with `scripts => 1` also what scripts did.

sub commands ($self, %opt) {
    my $redis = $self->{redis};
    my $mark = 'monitor-' . ++$self->{marks};
    my @commands;

    $redis->cmd('ECHO', $mark);
    my $own = $redis->address;

    while (1) {
        my $line = $self->{client}->reply;
        my ($from, $rest) = $line =~ /^\S+ \[\d+ (.*?)\] (.*)$/s or next;
        my @words = map { s/\\(x[0-9a-f]{2}|.)/unescape($1)/egr }
                    $rest =~ /"((?:[^"\\]|\\.)*)"/g;

        last if $from eq $own && $words[-1] eq $mark;
        next if $from eq $own || ($from eq 'lua' && !$opt{scripts});
        push @commands, \@words;
    }

    return @commands;
}


sub unescape ($what) {
    my %known = (n => "\n", r => "\r", t => "\t", a => "\a", b => "\b");
    return $what =~ /^x(..)$/ ? chr hex $1 : $known{$what} // $what;
}


package Admission::Redis::Client;

use v5.36;

use Carp;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Time::HiRes qw(time);


# host, port or path; user, password, db; timeout (10)

sub new ($class, %opt) {
    return bless {%opt}, $class;
}


# The reply: text, undef, or an array; croaks on an error.

sub cmd ($self, @argv) {
    my ($reply, $error) = $self->try(@argv);
    croak "redis: @argv: $error" if length $error;
    return $reply;
}


# (reply, '') or (undef, the error)

sub try ($self, @argv) {
    my $reply = eval {
        $self->connect if !$self->{socket};
        $self->write(@argv);
        $self->reply;
    };

    if (my $error = $@) {
        $self->disconnect if $error !~ /^reply: /;
        return (undef, $error =~ s/^reply: |\n\z//gr);
    }

    return ($reply, '');
}


# Several at once; the replies, an error as \"text".

sub pipeline ($self, @commands) {
    $self->connect if !$self->{socket};
    $self->write(map { @$_ } $_) for @commands;

    return map {
        my $reply = eval { $self->reply };
        $@ ? \(my $error = $@ =~ s/^reply: |\n\z//gr) : $reply
    } @commands;
}


# host:port of this end, as Redis writes it in MONITOR and CLIENT LIST

sub address ($self) {
    my $socket = $self->{socket};
    return $socket->sockhost . ':' . $socket->sockport;
}


sub connect ($self) {
    $self->{buffer} = '';
    $self->{socket} = defined $self->{path}
        ? IO::Socket::UNIX->new(Peer => $self->{path})
        : IO::Socket::INET->new(PeerAddr => $self->{host} // '127.0.0.1',
                                PeerPort => $self->{port}, Timeout => 5);

    die "connect: $@\n" if !$self->{socket};

    if (defined $self->{password}) {
        $self->write('AUTH', $self->{user} // (), $self->{password});
        $self->reply;
    }

    if ($self->{db}) {
        $self->write('SELECT', $self->{db});
        $self->reply;
    }
}


sub disconnect ($self) {
    delete $self->{socket};
}


sub write ($self, @argv) {
    my $bytes = '*' . @argv . "\r\n";

    for my $arg (@argv) {
        utf8::encode($arg) if utf8::is_utf8($arg);
        $bytes .= '$' . length($arg) . "\r\n$arg\r\n";
    }

    while (length $bytes) {
        my $n = syswrite $self->{socket}, $bytes;
        die "write: $!\n" if !defined $n;
        substr $bytes, 0, $n, '';
    }
}


sub reply ($self) {
    my $line = $self->line;
    my ($type, $rest) = $line =~ /^(.)(.*)$/s or die "bad reply\n";

    return $rest if $type eq '+' || $type eq ':';
    die "reply: $rest\n" if $type eq '-';

    if ($type eq '$') {
        return if $rest < 0;
        $self->fill while length $self->{buffer} < $rest + 2;
        my $bytes = substr $self->{buffer}, 0, $rest + 2, '';
        return substr $bytes, 0, $rest;
    }

    die "bad reply: $line\n" if $type ne '*';
    return if $rest < 0;
    return [ map { scalar $self->reply } 1 .. $rest ];
}


sub line ($self) {
    my $at;
    $self->fill while ($at = index $self->{buffer}, "\r\n") < 0;

    my $line = substr $self->{buffer}, 0, $at + 2, '';
    return substr $line, 0, $at;
}


sub fill ($self) {
    my $timeout = ($self->{timeout} // 10) * Admission::Test::slow();
    my $select = IO::Select->new($self->{socket});

    # in parts: where the machine stands still for longer than one that is one

    my $ready;
    for (1 .. 10) { last if $ready = $select->can_read($timeout / 10) }
    die "timeout\n" if !$ready;

    sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer}
        or die "connection closed\n";
}


1;
