# NGINX with the module, in a directory of its own.

package Admission::Nginx;

use v5.36;

use Carp;
use IO::Socket::INET;

use Admission::Clock;
use Admission::Process ();
use Admission::Test;

my $count = 0;


# main, events, http, server
#           what to put into these blocks.  Without `server` there is no server
#           but those in `http`
# conf      a whole configuration instead, where %%HEAD%% stands for what
#           every configuration starts with
# vars      {NAME => text}, for %%NAME%%; also known:
#             %%PORT%%       a free port, `port`
#             %%PORT_name%%  another one, `port('name')`
#             %%DIR%%        the directory, `dir`
# files     {name => content} to write to the directory first; names in the
#           configuration may be relative to it
# workers   1
# connections  worker_connections, 1024
# listen    more for the listen directive of `server`
# module    0 to leave the module out
# modules   paths of others to load before it
# log_level info
# daemon    1 to let it go to the background (to upgrade the binary: NGINX
#           ignores USR2 while its parent lives)
# env       {NAME => value}
# clock     true: its clock can be set, see set_clock
#
# Two environment variables choose what is tested: TEST_NGINX_BINARY and
# ADMISSION_MODULE, which is set but empty for an NGINX with the module linked
# in.  TEST_NGINX_PRELOAD is the LD_PRELOAD of NGINX.

sub start ($class, %opt) {
    my $self = $class->prepare(%opt);
    my ($status, $output) = $self->test;

    croak "nginx -t: $output" if $status;

    $self->launch;

    Admission::Test::register($self);

    wait_until {
        (!$opt{daemon} && !$self->{process}->alive) || $self->serves
    } 20;

    croak 'nginx did not start: ' . $self->error_log if !$self->serves;

    # the first process, from which the master went to the background
    $self->{process}->wait_exit if $opt{daemon};

    return $self;
}


# `nginx -t` of such a configuration: (exit status, output)

sub conf_test ($class, %opt) {
    my $self = $class->prepare(%opt);
    my ($status, $output) = $self->test;

    # what a sanitizer finds here counts too
    Admission::Test::register($self);
    $self->{tested} = 1;

    return ($status, $output);
}


sub port ($self, $name = '') { return $self->{ports}{$name} }
sub dir ($self)              { return $self->{dir} }


# ---- processes

sub pid ($self) {
    my ($pid) = (eval { read_file("$self->{dir}/nginx.pid") } // '') =~ /(\d+)/;
    return $pid // $self->{process}->pid;
}


sub signal ($self, $signal) {
    kill $signal => $self->pid;
}


# Workers that take requests, and those that only finish theirs.

sub worker_pids ($self) {
    return map { $_->{pid} } grep { $_->{title} eq 'nginx: worker process' }
           processes($self->pid);
}

sub old_worker_pids ($self) {
    return map { $_->{pid} }
           grep { $_->{title} =~ /^nginx: worker process is shutting down/ }
           processes($self->pid);
}


# Applies a changed configuration (the options of start that change) or the
# same one again.  Returns when the new workers serve and the old ones are
# gone; `wait => 0` does not wait for the latter, `wait => seconds` for so
# long, 20 by default.  Croaks if that does not happen.

sub reload ($self, %opt) {
    my $wait = delete $opt{wait} // 20;
    my %old = map { $_ => 1 } $self->worker_pids;

    $self->configure(%opt) if %opt;

    my ($status, $output) = $self->test;
    croak "nginx -t: $output" if $status;

    $self->signal('HUP');

    wait_until {
        $self->{workers} <= grep { !$old{$_} } $self->worker_pids
    } 30 or croak 'no new workers after the reload: ' . $self->error_log;

    $self->wait_old_workers($wait, keys %old) if $wait;
}


sub wait_old_workers ($self, $wait = 20, @pids) {
    @pids = $self->old_worker_pids if !@pids;

    wait_until { !grep { alive($_) } @pids } $wait
        or croak "old workers still there after $wait s: @pids";
}


# Sends a signal to a worker and waits until it is gone and replaced.

sub kill_worker ($self, $signal = 'KILL', $pid = ($self->worker_pids)[0]) {
    kill $signal => $pid;

    wait_until {
        !alive($pid) && $self->{workers} == $self->worker_pids
    } 20 or croak "worker $pid was not replaced";

    $self->allow_killed($pid);
}


# What the log says of workers that the test kills: one of them may have been at
# work in the zone, or have lost the processor there.

sub allow_killed ($self, @pids) {
    $self->allow(qr/a process died while it changed the zone/,
                 map { (qr/worker process $_ exited on signal/,
                        qr/shared memory zone "\w+" was locked by $_$/) } @pids);
}


# The binary upgrade: a new master and workers take over.  Needs daemon => 1.

sub upgrade ($self) {
    my $old = $self->pid;

    $self->signal('USR2');
    wait_until { $self->pid != $old && $self->worker_pids } 20
        or croak 'no new master: ' . $self->error_log;

    kill QUIT => $old;
    wait_until { !alive($old) } 20 or croak "master $old does not quit";
}


# Ends it gracefully, or at once.  Croaks if it takes longer than the time.

sub quit ($self, $timeout = 10 * slow) {
    $self->shut_down('QUIT', $timeout) or croak 'nginx does not quit';
}

sub stop ($self, $timeout = 10 * slow) {
    $self->shut_down('TERM', $timeout) or croak 'nginx does not stop';
}


# Ends all of its processes at once, as a power cut does.

sub kill9 ($self) {
    my @pids = ($self->pid, map { $_->{pid} } processes($self->pid));

    $self->{stopped} = 1;
    $self->{process}{finished} = 1;

    kill KILL => @pids;
    wait_until { !grep { alive($_) } @pids } 20
        or croak 'nginx was not killed';
}


# Starts it again after quit, stop or kill9.

sub start_again ($self) {
    $self->launch;
    $self->{stopped} = 0;

    wait_until { $self->serves } 20
        or croak 'nginx did not start: ' . $self->error_log;
}


# Seconds by which its clock, and that of its timers, is ahead.

sub set_clock ($self, $seconds, %opt) { $self->{clock}->set($seconds, %opt) }


# ---- the log

# All of it, or what came after a mark.

sub error_log ($self, $since = 0) {
    my $text = join '', map { -e $_ ? read_file($_) : '' }
               "$self->{dir}/stderr.log", "$self->{dir}/error.log";
    return substr $text, $since;
}

sub log_mark ($self)   { return length $self->error_log }
sub access_log ($self) { return read_file("$self->{dir}/access.log") }


# Lines of the log that would fail the test but are expected.

sub allow ($self, @patterns) {
    push @{ $self->{allowed} }, @patterns;
}


# What in a log fails a test.

my $bad = qr/\[alert\]|\[emerg\]|exited\ on\ signal
             |ERROR:\ \w+Sanitizer|runtime\ error:/x;

sub complaints ($self, $text) {
    return grep {
        my $line = $_;
        $line =~ $bad && !grep { $line =~ $_ } @{ $self->{allowed} }
    } split /\n/, $text;
}


# ---- the configuration

# Writes a changed one, which reload or start_again apply.

sub configure ($self, %opt) {
    my $opt = $self->{opt} = { %{ $self->{opt} }, %opt };

    $self->{ports}{''} //= $opt->{port} // free_port;
    $self->{workers} = $opt->{workers} // 1;

    my $files = $opt->{files} // {};
    write_file("$self->{dir}/$_", $files->{$_}) for keys %$files;

    my $conf = $opt->{conf} // $self->template($opt);
    my $head = $self->head($opt);

    $conf =~ s/%%HEAD%%/$head/;
    1 while $conf =~ s/%%(\w+)%%/$self->variable($1)/ge;

    # at once: a master that is late may be about to read the one of before

    rename write_file("$self->{dir}/nginx.conf.new", $conf),
           "$self->{dir}/nginx.conf" or croak "nginx.conf: $!";
}


sub prepare ($class, %opt) {
    my $name = 'nginx-' . ++$count;
    my $dir = test_dir . "/$name";

    mkdir $dir or croak "$dir: $!";

    my $self = bless { name => $name, dir => $dir, ports => {},
                       allowed => [], opt => {}, env => $opt{env} // {} },
        $class;

    $self->{env}{LD_PRELOAD} = $ENV{TEST_NGINX_PRELOAD}
        if $ENV{TEST_NGINX_PRELOAD};

    if ($opt{clock}) {
        $self->{clock} = Admission::Clock->new($dir, all => 1);
        my %clock = $self->{clock}->env->%*;

        $clock{LD_PRELOAD} = join ':', $self->{env}{LD_PRELOAD} // (),
                             $clock{LD_PRELOAD};
        $self->{env} = { %{ $self->{env} }, %clock };
    }

    $self->configure(port => undef, %opt);
    return $self;
}


sub variable ($self, $name) {
    my $vars = $self->{opt}{vars} // {};

    return $vars->{$name} if defined $vars->{$name};
    return $self->{dir} if $name eq 'DIR';
    return $self->{ports}{''} if $name eq 'PORT';
    return $self->{ports}{$1} //= free_port if $name =~ /^PORT_(\w+)$/;

    croak "%%$name%% in the configuration is unknown";
}


sub module () {
    return $ENV{ADMISSION_MODULE}
        // Admission::Test::root . '/build/ngx_http_admission_module.so';
}


sub head ($self, $opt) {
    my @modules = @{ $opt->{modules} // [] };
    my $user = $> == 0 ? "user root;\n" : '';
    my $daemon = $opt->{daemon} ? 'on' : 'off';
    my $level = $opt->{log_level} // 'info';

    push @modules, module() if ($opt->{module} // 1) && length module();
    my $load = join '', map { "load_module $_;\n" } @modules;

    # for the new binary of an upgrade, to which nginx gives no others
    my $env = join '', map { "env $_;\n" }
              grep { /^(?:A|UB|L)SAN_OPTIONS$/ } sort keys %ENV;

    return <<END;
$load$env${user}daemon $daemon;
worker_processes $self->{workers};
pid $self->{dir}/nginx.pid;
error_log $self->{dir}/error.log $level;
END
}


sub template ($self, $opt) {
    my $connections = $opt->{connections} // 1024;
    my ($main, $events, $http) = map { $opt->{$_} // '' } qw(main events http);
    my $listen = defined $opt->{listen} ? " $opt->{listen}" : '';
    my $server = defined $opt->{server} ? <<END : '';
    server {
        listen 127.0.0.1:%%PORT%%$listen;
        server_name localhost;

$opt->{server}
    }
END

    my $temp = join '', map { "    ${_}_temp_path $self->{dir}/$_;\n" }
               qw(client_body proxy fastcgi uwsgi scgi);

    return <<END;
%%HEAD%%
$main

events {
    worker_connections $connections;
$events
}

http {
    access_log $self->{dir}/access.log;
$temp
$http
$server
}
END
}


sub command ($self, $log = 'error.log') {
    return [ $ENV{TEST_NGINX_BINARY} // nginx_binary(), '-p', "$self->{dir}/",
             '-c', "$self->{dir}/nginx.conf", '-e', $log ];
}


# Where daemons are is not in every user's PATH.

sub nginx_binary () {
    my ($found) = grep { -x $_ } map { "$_/nginx" }
                  split(/:/, $ENV{PATH}), '/usr/sbin', '/usr/local/sbin';

    return $found // croak 'no nginx';
}


# ---- inside

# (exit status, output) of nginx -t, which leaves no word in the log.

sub test ($self) {
    local %ENV = (%ENV, %{ $self->{env} });
    my ($status, $output) = run(@{ $self->command('stderr') }, '-t');

    $self->{output} .= $output if $output =~ /Sanitizer|runtime error/;
    return ($status, $output);
}


# A running NGINX frees all it has at its end, so what is left then is a leak;
# nginx -t does not.

sub launch ($self) {
    my %env = %{ $self->{env} };

    $env{ASAN_OPTIONS} = ($env{ASAN_OPTIONS} // $ENV{ASAN_OPTIONS} // '')
                         . ':detect_leaks=1'
        if sanitized;

    $self->{process} = Admission::Process->start(
        name => 'nginx', dir => $self->{dir}, command => $self->command,
        output => "$self->{dir}/stderr.log", env => \%env);
}


# All listening sockets are open before the first worker is, so one tells;
# a configuration of its own may listen elsewhere than on %%PORT%%.

sub serves ($self) {
    my $conf = read_file("$self->{dir}/nginx.conf");
    my ($port) = $conf =~ /^\s*listen\s+(?:[\d.]+:)?(\d+)\b(?!.* quic)/m;

    return $self->{workers} == $self->worker_pids
        && (!defined $port
            || IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                     PeerPort => $port, Timeout => 1));
}


sub shut_down ($self, $signal, $timeout) {
    my $pid = $self->pid;
    my @workers = map { $_->{pid} } processes($pid);

    $self->{stopped} = 1;
    $self->{process}{finished} = 1;

    # a worker that looks for leaks takes longer than the second it is given
    $self->allow(qr/worker process \d+ exited on signal 9/)
        if $signal eq 'TERM' && sanitized;

    # A worker has a second and a half.  Whether it, or the test, which looks
    # here, waited for a processor for a good part of that is looked up.

    my @pids = ($$, @workers);
    my %before = Admission::Test::waits(@pids);
    my %waited;

    kill $signal => $pid;

    my $gone = wait_until {
        %waited = (%waited, Admission::Test::waits(@pids));
        !grep { alive($_) } $pid, @workers;
    } $timeout;

    my @late = grep { ($waited{$_} // 0) - ($before{$_} // 0) > 0.5 } @pids;

    $self->allow(map { qr/worker process $_ exited on signal 9/ }
                 $late[0] && $late[0] == $$ ? @workers : @late)
        if $signal eq 'TERM';

    return $gone;
}


# For Admission::Test.

sub end ($self) {
    my @problems;

    if ($self->{process} && !$self->{stopped}) {
        if (!alive($self->pid)) {
            push @problems, "$self->{name} ended by itself";

        } elsif (!$self->shut_down('QUIT', 10 * slow)) {
            push @problems, "$self->{name} did not quit within 10 s";

            if (!$self->shut_down('TERM', 5)) {
                push @problems, "$self->{name} did not stop at once either";
                my @workers = map { $_->{pid} } processes($self->pid);
                kill KILL => $self->pid, @workers;
            }
        }
    }

    # of a conf_test only what a sanitizer says is not expected

    my $log = ($self->{tested} ? '' : $self->error_log)
              . ($self->{output} // '');

    if (my @complaints = $self->complaints($log)) {
        $#complaints = 19 if @complaints > 20;
        push @problems, "the log of $self->{name}:", @complaints;
        push @problems, sanitizer_report($log);
    }

    return @problems;
}


# The first report, which goes on for many lines.

sub sanitizer_report ($text) {
    my ($report) = $text =~ /^(.*(?:ERROR:\ \w+Sanitizer|runtime\ error:).*
                              (?:\n.*){0,40})/xm or return;
    return $report;
}


1;
