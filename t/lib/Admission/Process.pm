# A program, or a piece of Perl, that runs beside the test.

package Admission::Process;

use v5.36;

use Carp;
use POSIX ();

use Admission::Test ();
BEGIN { *wait_until = \&Admission::Test::wait_until }


# name     for messages
# command  [program, arguments] or
# code     a sub, run in a process of its own
# dir      working directory (the test's by default; see Admission::Test)
# output   file for stdout and stderr, default NAME.out in the directory
# env      {NAME => value}, added to the environment

sub start ($class, %opt) {
    my $dir = $opt{dir} // Admission::Test::test_dir();
    my $output = $opt{output} // "$dir/$opt{name}.out";

    open my $out, '>>', $output or croak "$output: $!";

    my $pid = fork // croak "fork: $!";

    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE);

        # no END blocks, no buffers of the test's in here
        eval {
            chdir $dir or die "$dir: $!\n";
            open STDIN, '<', '/dev/null' or die;
            open STDOUT, '>&', $out or die "$output: $!\n";
            open STDERR, '>&', $out or die "$output: $!\n";

            # out of reach of the terminal's Ctrl-C: the test ends it
            setpgrp;

            local %ENV = (%ENV, %{ $opt{env} // {} });

            if ($opt{code}) {
                $opt{code}->();

            } else {
                exec { $opt{command}[0] } @{ $opt{command} }
                    or die "$opt{command}[0]: $!\n";
            }
            1;
        } or syswrite STDERR, "$opt{name}: $@";

        POSIX::_exit($@ ? 1 : 0);
    }

    return bless { name => $opt{name}, pid => $pid, output => $output },
        $class;
}


sub pid ($self)    { return $self->{pid} }
sub alive ($self)  { return Admission::Test::alive($self->{pid}) }
sub output ($self) { return Admission::Test::read_file($self->{output}) }


sub signal ($self, $signal) {
    kill $signal => $self->{pid};
}


# True if it has ended within the time.

sub wait_exit ($self, $timeout = 10) {
    return wait_until { !$self->alive } $timeout;
}


# Ends it by the signals in turn, each with its time; marks it as ended by
# the test.  Returns the signal that it took, or undef if none helped.

sub finish ($self, %opt) {
    my @signals = @{ $opt{signals} // [ 'TERM' ] };

    $self->{finished} = 1;

    for my $signal (@signals, 'KILL') {
        return $signal if !$self->alive;

        kill $signal => $self->{pid};
        kill CONT => $self->{pid};
        return $signal if $self->wait_exit($opt{timeout} // 10);
    }

    return;
}


# For Admission::Test: what was wrong.

sub end ($self, %opt) {
    return if $self->{finished};

    if (!$self->alive) {
        return "$self->{name} ($self->{pid}) ended by itself:\n"
               . $self->output;
    }

    my $signal = $self->finish(%opt) // 'nothing';

    return $signal eq 'KILL' || $signal eq 'nothing'
        ? "$self->{name} ($self->{pid}) would not stop" : ();
}


1;
