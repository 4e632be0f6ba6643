# How much of the module's shared memory is taken: reads NGINX's slab pool in
# the memory of a worker.

package Admission::Zone;

use v5.36;

use Carp;
no warnings 'portable';         # addresses are of 64 bits

my $PAGE = 4096;


# Bytes of the zone of so many bytes that are allocated.

sub used ($nginx, $size) {
    my ($pid) = $nginx->worker_pids;

    open my $maps, '<', "/proc/$pid/maps" or croak "maps: $!";
    my ($start) = map { /^([0-9a-f]+)-([0-9a-f]+) rw-s/
                        && hex($2) - hex($1) == $size ? hex $1 : () } <$maps>;
    croak "no zone of $size bytes" if !defined $start;

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


sub peek ($pid, $at, $words) {
    open my $memory, '<:raw', "/proc/$pid/mem" or croak "mem: $!";
    sysseek $memory, $at, 0 or croak "mem: $!";
    sysread($memory, my $bytes, 8 * $words) == 8 * $words or croak "mem: $!";
    return unpack "Q$words", $bytes;
}

1;
