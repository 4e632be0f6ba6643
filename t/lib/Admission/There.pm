# What hosts do about who is there of a waiting room, for tests that call its
# scripts directly: marks as src/host/there_tell.c sends them, and the table as
# src/host/there_table.c reads it.

package Admission::There;

use v5.36;

use Exporter 'import';

our @EXPORT = qw(marks table_of there_up_to);

our $PAGE = 3712;


# [lapse, first, bits], ... of numbers

sub marks ($lapse, @numbers) {
    my %page;
    for my $n (@numbers) {
        my $page = int($n / $PAGE);
        $page{$page} //= "\0" x ($PAGE / 8);
        vec($page{$page}, ($n % $PAGE) ^ 7, 1) = 1;
    }

    return map { [ $lapse, $_ * $PAGE, $page{$_} ] }
           sort { $a <=> $b } keys %page;
}


# first, and points: [numbers from the first on, of them there]

sub table_of ($answer) {
    my @text = split ' ', $answer->{there_table};
    my ($end, $sum, @points) = (0, 0);

    while (my ($bytes, $n) = splice @text, 0, 2) {
        if ($bytes == 0) {
            for my $bit (reverse 0 .. 7) {
                $end++;
                $sum += $n >> $bit & 1;
                push @points, [ $end, $sum ];
            }
        } else {
            $end += 8 * $bytes;
            $sum += $n;
            push @points, [ $end, $sum ];
        }
    }

    return { first => $answer->{there_first}, points => \@points };
}


# how many of its numbers up to that one are there

sub there_up_to ($table, $number) {
    my $points = $table->{points};
    my $x = $number - $table->{first} + 1;
    return $x if $x <= 0 || !@$points;

    my ($low, $high) = (0, scalar @$points);
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        $points->[$middle][0] < $x ? ($low = $middle + 1) : ($high = $middle);
    }
    return $points->[-1][1] + $x - $points->[-1][0] if $low == @$points;

    my ($end, $sum) = $points->[$low]->@*;
    my ($from, $before) = $low ? $points->[$low - 1]->@* : (0, 0);
    return $before + int(($sum - $before) * ($x - $from) / ($end - $from));
}

1;
