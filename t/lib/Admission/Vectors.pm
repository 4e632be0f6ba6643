# What verifies tokens, called as it is, without requests: t/lib/vectors.c, a
# module of NGINX beside the one that is tested.

package Admission::Vectors;

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
        '-o', "$dir/vectors.so",
        (map { "-I$_" } root . '/src', "$build/objs",
                        map { "$build/tree/src/$_" } qw(core event os/unix)),
        root . '/t/lib/vectors.c');

    croak $output if $status;
    return bless { dir => $dir, count => 0 }, $class;
}


# What becomes of each of these: [keys, token] or [keys, algorithm, text,
# signature], where keys are one or several of [jwks => text], [pem => text] and
# [secret => bytes].
#   times   of what is right, instead of "ok", the nanoseconds that it takes,
#           measured over so many times

sub verdicts ($self, $rows, %opt) {
    my $file = "$self->{dir}/vectors" . ++$self->{count};

    write_file($file, join '', map { line(@$_) } @$rows);

    my ($status, $output) = Admission::Nginx->conf_test(
        main => "load_module $self->{dir}/vectors.so;\n"
                . "vectors $file" . ($opt{times} ? " $opt{times}" : '') . ';');

    croak $output if $status;
    return split /\n/, read_file("$file.out");
}

sub line ($keys, @rest) {
    my $alg = @rest > 1 ? shift @rest : undef;
    my @keys = ref $keys->[0] ? @$keys : $keys;

    return join(' ', join(',', map { substr($_->[0], 0, 1) . ':'
                                     . hex_of($_->[1]) } @keys),
                $alg // (), map { hex_of($_) } @rest) . "\n";
}

sub hex_of ($bytes) { return length $bytes ? unpack 'H*', $bytes : '-' }


1;
