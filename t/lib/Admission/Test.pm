# What every test starts with:
#
#     use FindBin;
#     use lib "$FindBin::Bin/../lib";
#     use Admission::Test;
#
# It is Test::More, strict, warnings and signatures, a directory of the test's
# own, free ports, and the end of the test: done_testing stops all that the
# test started, then fails it if something would not stop, had died by itself,
# was left behind, or reported an alert or a sanitizer's finding.

package Admission::Test;

use v5.36;

use Carp;
use Cwd ();
use Fcntl qw(:flock);
use feature ();
use File::Path ();
use File::Spec;
use File::Temp ();
use IO::Socket::INET;
use JSON::PP ();
use List::Util qw(max min pairs sum0);
use POSIX ();
use Test::More ();
use Time::HiRes qw(time sleep);

our @EXPORT = qw(
    test_dir free_port wait_until stopwatch slow sanitized stand_back root
    sources write_file read_file read_lines run run_beside
    json_decode json_encode true false
    processes unreaped alive fd_count rss
    watched stood standstill undisturbed
    done_testing
);

my $owner = $$;
my $dir;
my @ports;              # the locked files of the ports of this test
my @things;             # what is to be ended, oldest first
my @problems;
my $ended;


sub import ($class) {
    my $to = caller;

    strict->import;
    warnings->import;
    feature->import(':5.36');

    no strict 'refs';

    for my $name (@Test::More::EXPORT) {
        next if $name =~ /\W/ || $name eq 'done_testing';
        *{"${to}::$name"} = \&{"Test::More::$name"};
    }

    *{"${to}::$_"} = \&$_ for @EXPORT;
}


# The top of the repository.

sub root () {
    state $root = Cwd::abs_path(
        File::Spec->catdir((File::Spec->splitpath(__FILE__))[1],
                           (File::Spec->updir) x 3));
}


# The sources of the module, in whatever folder: those in C, or of an extension.

sub sources ($ext = 'c') {
    return sort map { glob root . "/src/$_.$ext" } '*', '*/*';
}


# The directory of this test, removed at the end unless TEST_KEEP is set: with
# "failed" it is kept of a test that failed.  All that the test starts has it, or
# a directory in it, as working directory: that is how processes left behind are
# found.

sub test_dir () {
    $dir //= Cwd::abs_path(
        File::Temp::tempdir('admission-' . 'X' x 6, TMPDIR => 1));
}


# A TCP port of 127.0.0.1 that nothing listens on and no other test gets while
# this one runs.  Below the ports that the kernel gives to clients.

sub free_port () {
    my $locks = File::Spec->catdir(File::Spec->tmpdir,
                                   "admission-ports-$>");
    mkdir $locks;

    state $next = $owner * 17;

    for (1 .. 10_000) {
        my $port = 20_000 + $next++ % 10_000;

        open my $lock, '>', "$locks/$port" or croak "$locks/$port: $!";
        next unless flock $lock, LOCK_EX | LOCK_NB;

        IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port,
                              Listen => 1, ReuseAddr => 1)
            or next;

        push @ports, $lock;
        return $port;
    }

    croak 'no free port';
}


# How much longer things take in this run: the sanitizer build sets
# TEST_SLOW=3, say.  Bounds of time in tests are multiplied by it.

sub slow () {
    return $ENV{TEST_SLOW} || 1;
}


# The one loop that waits: runs the block until it returns something true,
# which is returned, or until the time is over, then returns the last value:
# of a run that began after it, since the test itself may have stood still.
# The longer it took, the less often it looks: what waits leaves the processors
# to others, and is late by a fiftieth.

sub wait_until :prototype(&;$) ($block, $timeout = 20) {
    my $start = time;

    while (1) {
        my $waited = time - $start;
        my $value = $block->();
        return $value if $value || $waited > $timeout * slow;
        sleep 0.01 + min(0.04, $waited / 50);
    }
}


# For how soon something is done that is done at once: what it returns says how
# many seconds have passed since, or from then to a time.  Not those in which
# one of the test's processes would have run, and others had the processors: of
# the one that waited longest, since they wait at the same time.  Nor those in
# which the whole machine stood still, or the test.  It starts when it knows how
# long each has waited before: others may have them meanwhile.

sub stopwatch () {
    watched();
    my %before = waits();
    my $start = time;

    return sub ($until = time) {
        my %now = waits();
        my $lost = max(map { $now{$_} - ($before{$_} // 0) } keys %now) // 0;
        return max(0, $until - $start - max($lost, stood($start, $until)));
    };
}


# By process, seconds that those of this test, or these, have waited for a processor.

sub waits (@pids) {
    my %waits;

    @pids = ($$, map { $_->{pid} } defined $dir ? inhabitants() : ()) if !@pids;

    for my $pid (@pids) {
        open my $file, '<', "/proc/$pid/schedstat" or next;
        $waits{$pid} = ((split ' ', <$file> // '')[1] // 0) / 1e9;
    }

    return %waits;
}


# Seconds between two times in which the whole machine stood still, or the test:
# in which a process that only looks at the clock, 50 times a second, did not.
# It does so since `watched` was called first, or there was a stopwatch.

sub stood ($from, $until = time) {
    return sum0 map { max(0, min($until, $_->[1]) - max($from, $_->[0])) }
                watched($until);
}


# The longest of such times until now.

sub standstill () {
    return max(0, map { $_->[1] - $_->[0] } watched(time));
}


# What the block returns, of a run in which the machine did not stand still for as
# long as it matters (0.2 s): others are done again, some times.

sub undisturbed :prototype(&;$) ($block, $matters = 0.2) {
    my @results;

    for (1 .. 5) {
        watched();
        my $start = time;
        @results = $block->();
        last if stood($start) < $matters;
    }

    return @results;
}


# All of them, [from, to], until then at least.

sub watched ($until = 0) {
    state %watchman;
    my ($file, $pid) = @{ $watchman{$$} //= [ watchman() ] };

    while (alive($pid)) {
        sysseek $file, 0, 0;
        sysread $file, my $bytes, 1 << 20;
        my ($seen, @times) = unpack 'd*', $bytes;
        return pairs(@times) if defined $seen && $seen >= $until;
        sleep 0.005;
    }

    croak 'nobody looks at the clock';
}


# That process, and the file in which it writes when it looked last, and what it
# missed.  It has nothing else that is open here: what the test closes is closed.

sub watchman () {
    my ($to, $path) = File::Temp::tempfile(UNLINK => 0);
    open my $from, '<:raw', $path or croak "$path: $!";
    unlink $path;

    my $test = $$;
    my $pid = fork // croak "fork: $!";
    return ($from, $pid) if $pid;

    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);

    for my $fd (map { /(\d+)$/ } glob '/proc/self/fd/*') {
        POSIX::close($fd) if $fd != fileno $to;
    }

    my ($last, $end) = (time, 8);

    while (getppid == $test) {
        sleep 0.02;
        my $now = time;

        if ($now - $last > 0.1) {
            sysseek $to, $end, 0;
            $end += syswrite $to, pack 'dd', $last + 0.02, $now;
        }
        sysseek $to, 0, 0;
        syswrite $to, pack 'd', $last = $now;
    }

    POSIX::_exit(0);
}


# True in the run with sanitizers, where memory says nothing about leaks.

sub sanitized () {
    return !!$ENV{TEST_SANITIZED};
}


# For a test that keeps a processor busy, and in which nothing depends on time:
# those that run beside it go first.

sub stand_back () {
    setpriority 0, 0, 10 if getpriority(0, 0) < 10;
}


sub write_file ($path, $content) {
    open my $file, '>:raw', $path or croak "$path: $!";
    print $file $content;
    close $file or croak "$path: $!";
    return $path;
}


sub read_file ($path) {
    open my $file, '<:raw', $path or croak "$path: $!";
    local $/;
    return scalar <$file> // '';
}


# The lines of a file that another process writes: the last one may not be all
# there yet.

sub read_lines ($path) {
    return split /\n/, read_file($path) =~ s/[^\n]+\z//r;
}


# Runs a command to its end, without a shell; returns its exit status
# (128 + the signal that ended it) and what it wrote to stdout and stderr.

sub run (@command) { return run_beside(@command)->() }


# Begins with it: what is returned waits for the end, and returns that.  It may
# say less than a pipe holds until then.

sub run_beside (@command) {
    my $pid = open(my $out, '-|') // croak "fork: $!";

    if (!$pid) {
        open STDIN, '<', '/dev/null';
        open STDERR, '>&', \*STDOUT;
        { no warnings 'exec'; exec { $command[0] } @command }
        syswrite STDOUT, "$command[0]: $!\n";
        POSIX::_exit(127);
    }

    return sub {
        my $text = do { local $/; <$out> } // '';
        close $out;

        return ($? & 127 ? 128 + ($? & 127) : $? >> 8, $text);
    };
}


sub json_decode ($text) {
    state $json = JSON::PP->new->utf8->allow_nonref;
    return $json->decode($text);
}


sub json_encode ($value) {
    state $json = JSON::PP->new->utf8->canonical->allow_nonref;
    return $json->encode($value);
}

sub true ()  { return JSON::PP::true }
sub false () { return JSON::PP::false }


# ---- processes

# Living processes as {pid, ppid, group, title}; of one parent, if given.

sub processes ($parent = undef) {
    my @found;

    for my $path (glob '/proc/[0-9]*') {
        my ($pid) = $path =~ /(\d+)$/;

        open my $file, '<', "$path/stat" or next;
        my ($state, $ppid, $group)
            = (<$file> // '') =~ /^.*\) (\S) (\d+) (\d+)/s or next;
        next if $state =~ /[ZX]/ || (defined $parent && $ppid != $parent);

        open $file, '<', "$path/cmdline" or next;
        my $title = do { local $/; <$file> } // '';
        $title =~ s/\0+$//;
        $title =~ tr/\0/ /;

        push @found, { pid => $pid, ppid => $ppid, group => $group,
                       title => $title };
    }

    return @found;
}


# Children of a process that are dead, of which it has not heard yet.

sub unreaped ($parent) {
    return scalar grep {
        my $there = open my $file, '<', "$_/stat";
        $there && (<$file> // '') =~ /^.*\) [ZX] \Q$parent\E /s;
    } glob '/proc/[0-9]*';
}


sub alive ($pid) {
    waitpid $pid, 1;            # WNOHANG; takes away our own dead children
    open my $file, '<', "/proc/$pid/stat" or return 0;

    # of one that is dead other threads may still be on their way out, and have
    # its ports: see proc(5), state and num_threads

    my ($state, $threads) = (split ' ', (<$file> // '') =~ s/^.*\) //sr)[0, 17];
    return defined $state && ($state !~ /[ZX]/ || $threads > 1) ? 1 : 0;
}


# Open descriptors of a process.

sub fd_count ($pid) {
    opendir my $fds, "/proc/$pid/fd" or croak "/proc/$pid/fd: $!";
    return scalar grep { /\d/ } readdir $fds;
}


# Resident memory of a process, in bytes.

sub rss ($pid) {
    my ($kb) = read_file("/proc/$pid/status") =~ /^VmRSS:\s+(\d+) kB/m;
    return ($kb // 0) * 1024;
}


# ---- the end

# An object that is to be ended with the test: its `end` stops it and returns
# what was wrong, as a list of texts.

sub register ($thing) {
    push @things, $thing;
}


sub end ($status = 0) {
    return @problems if $ended++;

    # the latest first; all of them, whatever one of them does

    for my $thing (reverse @things) {
        push @problems, eval { $thing->end };
        push @problems, $@ if $@;
    }

    if (defined $dir) {
        for my $process (inhabitants()) {
            push @problems, "left behind: $process->{pid} $process->{title}";
            kill KILL => $process->{pid};
        }

        if (keep($status)) {
            Test::More::diag("kept $dir");

        } else {
            File::Path::remove_tree($dir);
        }
    }

    return @problems;
}


sub keep ($status) {
    my $keep = $ENV{TEST_KEEP} // '';

    return $keep if $keep ne 'failed';
    return @problems || $status || !Test::More->builder->is_passing;
}


# Others whose directory is the test's or in it.

sub inhabitants () {
    return grep {
        my $cwd = readlink "/proc/$_->{pid}/cwd";
        $_->{pid} != $$ && defined $cwd
            && ($cwd eq $dir || index($cwd, "$dir/") == 0);
    } processes();
}


# Besides the checks, Test::More's.

sub done_testing (@count) {
    my @found = end();

    Test::More::is(join("\n", @found), '',
                   'all stopped, nothing left, no alert')
        if defined $dir;

    Test::More::done_testing(@count ? $count[0] + 1 : ());
    @problems = ();
}


for my $signal (qw(INT TERM HUP)) {
    $SIG{$signal} = sub { exit 1 };
}

$SIG{PIPE} = 'IGNORE';


# For a test that died or was interrupted.

END {
    if ($$ == $owner) {
        my $status = $?;
        my @found = end($status);

        Test::More::diag("at the end: $_") for @found;
        $? = $status || (@found ? 1 : 0);
    }
}


1;
