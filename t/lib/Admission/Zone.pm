# The module's shared memory, as NGINX's slab pool looks in the memory of a
# worker: how much of it is taken, and who has its lock.

package Admission::Zone;

use v5.36;

use Carp;
use Time::HiRes qw(time usleep);
no warnings 'portable';         # addresses are of 64 bits

use Admission::Test ();

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


# Kills a worker that has the lock of the zone, and is at work in it, with
# what it may have half done: all of the pool is overwritten.  It has to be at
# work for this, much.  Returns its pid, or undef if none was caught in time.

sub kill_inside ($nginx, $size, $seconds = 20) {
    my $end = time + $seconds * Admission::Test::slow;
    my %memory;

    while (time < $end) {
        my ($pid) = $nginx->worker_pids or next;
        my $start = $memory{$pid} //= eval { address($pid, $size) } or next;

        # who has it: the first word

        for (1 .. 2000) {
            my ($holder) = eval { peek($pid, $start, 1) } or last;

            # never the master's
            return $holder if $holder && $holder != $nginx->pid
                              && killed_inside($holder, $start);
        }
    }

    return;
}


sub killed_inside ($pid, $start) {
    kill STOP => $pid or return 0;

    for (1 .. 1000) {
        last if (eval { Admission::Test::read_file("/proc/$pid/stat") } // '')
                =~ /^.*\) T /s;
        usleep(100);
    }

    # up to end, after the words of above; there the module's structure begins

    my ($first, $last) = eval { (peek($pid, $start + 16, 11))[9, 10] };
    my $inside = $last && (peek($pid, $start, 1))[0] == $pid
                 && (peek($pid, $last, 1))[0];

    if ($inside) {
        open my $memory, '+<:raw', "/proc/$pid/mem" or croak "mem: $!";
        sysseek $memory, $first, 0 or croak "mem: $!";
        syswrite($memory, "\x5a" x ($last - $first)) or croak "mem: $!";
    }

    kill $inside ? 'KILL' : 'CONT', $pid;
    return $inside;
}


sub address ($pid, $size) {
    open my $maps, '<', "/proc/$pid/maps" or croak "maps: $!";
    my ($start) = map { /^([0-9a-f]+)-([0-9a-f]+) rw-s/
                        && hex($2) - hex($1) == $size ? hex $1 : () } <$maps>;

    return $start // croak "no zone of $size bytes";
}


sub peek ($pid, $at, $words) {
    open my $memory, '<:raw', "/proc/$pid/mem" or croak "mem: $!";
    sysseek $memory, $at, 0 or croak "mem: $!";
    sysread($memory, my $bytes, 8 * $words) == 8 * $words or croak "mem: $!";
    return unpack "Q$words", $bytes;
}

1;
