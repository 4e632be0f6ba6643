# The mathematics of the draw, called as it is, without requests: t/lib/draw.c, a
# module of NGINX beside the one that is tested.

package Admission::Draw;

use v5.36;

use Carp;
use File::Basename qw(dirname);

use Admission::Nginx ();
use Admission::Test;


sub new ($class) {
    my $dir = test_dir;
    my $build = dirname(Admission::Nginx::module());
    my ($status, $output) = run($ENV{CC} // 'cc',
        qw(-O -g -shared -fPIC -Wall -Wextra -Werror -Wno-unused-parameter),
        sanitized ? '-fsanitize=address,undefined' : (),
        '-o', "$dir/draw.so",
        (map { "-I$_" } root . '/src', "$build/objs",
                        map { "$build/tree/src/$_" } qw(core event os/unix)),
        root . '/t/lib/draw.c');

    croak $output if $status;
    return bless { dir => $dir, count => 0 }, $class;
}


# What comes of each of these, as the head of t/lib/draw.c has them:
# [word, what it needs].

sub answers ($self, @rows) {
    my $file = "$self->{dir}/draw" . ++$self->{count};

    write_file($file, join '', map { "@$_\n" } @rows);

    my ($status, $output) = Admission::Nginx->conf_test(
        main => "load_module $self->{dir}/draw.so;\ndraw $file;");

    croak $output if $status;
    return split /\n/, read_file("$file.out");
}


# the system's, rather than a shim that looks for it each time

sub python () {
    state $python = -x '/usr/bin/python3' ? '/usr/bin/python3' : 'python3';
    return $python;
}

sub hex_of ($bytes) { return length $bytes ? unpack 'H*', $bytes : '-' }


1;
