# A clock that a test can set, of a process that it starts with `env`: the real
# one and so many seconds (t/lib/clock.c).

package Admission::Clock;

use v5.36;

use Carp;

use Admission::Test ();


# Its files are in the directory.  `all`: the clock that no one sets
# (CLOCK_MONOTONIC) goes on as well; else only the time of day does.

sub new ($class, $dir, %opt) {
    my $self = bless { file => "$dir/clock" }, $class;

    $self->set(0);

    my ($rc, $out) = Admission::Test::run($ENV{CC} // 'cc',
        qw(-O -shared -fPIC -Wall -o), "$dir/clock.so",
        Admission::Test::root() . '/t/lib/clock.c');
    croak $out if $rc;

    $self->{env} = { LD_PRELOAD => "$dir/clock.so",
                     CLOCK_FILE => $self->{file},
                     $opt{all} ? (CLOCK_ALL => 1) : () };

    # a sanitizer's library wants to be the first

    $self->{env}{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (),
                                 'verify_asan_link_order=0'
        if Admission::Test::sanitized();

    return $self;
}

sub env ($self) { return $self->{env} }


# With `stop` the time of day stands, at that of now and so many seconds.  With
# `jump` the processor's time of a thread is so many ms further at each look.

sub set ($self, $seconds, %opt) {
    my $name = $self->{file};

    $self->{stopped} = time if $opt{stop};

    # in place: it is mapped
    open my $file, -e $name ? '+<' : '>', $name or croak "$name: $!";
    syswrite $file, pack 'q3', $seconds, $self->{stopped} // 0,
                          $opt{jump} // 0;
}


1;
