# The module's shared memory, as NGINX's slab pool looks in the memory of a
# worker: how much of it is taken, and who has its lock.

package Admission::Zone;

use v5.36;

use Carp;
no warnings 'portable';         # addresses are of 64 bits

use Admission::Test ();
BEGIN { *wait_until = \&Admission::Test::wait_until }

my $PAGE = 4096;


# Bytes of the zone of so many bytes that are allocated.

sub used ($nginx, $size) {
    my ($pid) = $nginx->worker_pids;
    my $start = address($pid, $size);

    # ngx_slab_pool_t up to pfree, after the two words of its lock

    my ($min_shift, $pages, $last, $stats, $free) =
        (peek($pid, $start + 16, 9))[1, 2, 3, 7, 8];

    my $used = (($last - $pages) / 24 - $free) * $PAGE;

    # pages of small pieces: those that are not taken; ngx_slab_stat_t

    for (my $piece = 1 << $min_shift; $piece < $PAGE; $piece <<= 1) {
        my ($total, $taken) = peek($pid, $stats, 2);
        $used -= ($total - $taken) * $piece;
        $stats += 32;
    }

    return $used;
}


# Kills a worker with the lock of the zone, as if it had died at work in it:
# the lock is its own, and all of the pool is as it happens to be.  Returns its
# pid.

sub kill_inside ($nginx, $size) {
    my @pids = $nginx->worker_pids;
    my $pid = hold($nginx, $size);
    my $start = address($pid, $size);

    # up to end, after the two words of the lock; there the module's
    # structure begins

    my ($first, $last) = (peek($pid, $start + 16, 11))[9, 10];

    poke($pid, $last, pack 'Q', 1);
    poke($pid, $first, "\x5a" x ($last - $first));

    kill KILL => $pid;
    kill CONT => @pids;
    return $pid;
}


# All workers stand still, and one of them, whose pid is returned, has the lock.

sub hold ($nginx, $size) {
    my @pids = $nginx->worker_pids;
    my $start = address($pids[0], $size);

    # with nobody at work, none is about to take it, or to leave it

    kill STOP => @pids;
    wait_until { !grep { !stopped($_) } @pids };

    my ($pid) = peek($pids[0], $start, 1);

    if (!$pid) {
        $pid = $pids[0];
        poke($pid, $start, pack 'Q', $pid);
    }

    return $pid;
}


# A worker stands still, whose pid is returned, and has not the lock: others go on.

sub stop_outside ($nginx, $size) {
    my ($pid) = $nginx->worker_pids;
    my $start = address($pid, $size);

    while (1) {
        kill STOP => $pid;
        wait_until { stopped($pid) } or croak "worker $pid does not stop";

        return $pid if (peek($pid, $start, 1))[0] != $pid;
        kill CONT => $pid;
    }
}


sub stopped ($pid) {
    my $stat = eval { Admission::Test::read_file("/proc/$pid/stat") } // '';
    return $stat !~ /^.*\) [^TZX] /s;
}


sub address ($pid, $size) {
    open my $maps, '<', "/proc/$pid/maps" or croak "maps: $!";
    my ($start) = map { /^([0-9a-f]+)-([0-9a-f]+) rw-s/
                        && hex($2) - hex($1) == $size ? hex $1 : () } <$maps>;

    return $start // croak "no zone of $size bytes";
}


sub poke ($pid, $at, $bytes) {
    open my $memory, '+<:raw', "/proc/$pid/mem" or croak "mem: $!";
    sysseek $memory, $at, 0 or croak "mem: $!";
    syswrite($memory, $bytes) == length $bytes or croak "mem: $!";
}


sub peek ($pid, $at, $words) {
    open my $memory, '<:raw', "/proc/$pid/mem" or croak "mem: $!";
    sysseek $memory, $at, 0 or croak "mem: $!";
    sysread($memory, my $bytes, 8 * $words) == 8 * $words or croak "mem: $!";
    return unpack "Q$words", $bytes;
}

1;
