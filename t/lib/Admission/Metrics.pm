# What admission_metrics says.
#
#     my $m = metrics($port);
#     $m->value('queue_waiting', event => 'concert');

package Admission::Metrics;

use v5.36;

use Carp;
use Exporter 'import';

use Admission::HTTP;
use Admission::Test;

our @EXPORT = qw(metrics promtool openmetrics_parse);

my $LABEL = qr/[a-z_]+="(?:[^"\\\n]|\\["\\n])*"/;


# Of a port, or of a text.

sub metrics ($what, %opt) {
    my $text = $opt{text};

    if (!defined $text) {
        my $response = get($what, '/metrics', %opt);
        croak 'metrics: ' . $response->status if $response->status != 200;
        $text = $response->body;
    }

    my $self = bless { text => $text, samples => {}, type => {}, unit => {},
                       bad => [] }, __PACKAGE__;

    for my $line (split /\n/, $text) {
        if ($line =~ /^# TYPE (\S+) (\S+)$/) {
            $self->{type}{$1} = $2;

        } elsif ($line =~ /^# UNIT (\S+) (\S+)$/) {
            $self->{unit}{$1} = $2;

        } elsif ($line =~ /^([a-z_]+)(?:\{($LABEL(?:,$LABEL)*)\})? (\S+)$/) {
            my ($name, $labels, $value) = ($1, $2 // '', $3);
            my $key = join ',', $name, sort $labels =~ /($LABEL)/g;

            push @{ $self->{bad} }, "twice: $line"
                if exists $self->{samples}{$key};
            $self->{samples}{$key} = $value;

        } elsif ($line !~ /^# HELP nginx_admission_\w+ \S/) {
            push @{ $self->{bad} }, $line;
        }
    }

    return $self;
}


sub text ($self) { return $self->{text} }
sub bad ($self)  { return @{ $self->{bad} } }
sub type ($self) { return $self->{type} }


# Families, without the _total of counters: {name => type}.

sub families ($self) {
    return { map { s/_total$//r => $self->{type}{$_} }
             keys %{ $self->{type} } };
}


# One sample; undef if there is none.

sub value ($self, $name, %labels) {
    my $key = join ',', "nginx_admission_$name",
              map { qq($_="$labels{$_}") } sort keys %labels;
    return $self->{samples}{$key};
}


# All samples of a name that have these labels: {other labels => value}.

sub all ($self, $name, %labels) {
    my %found;

    for my $key (keys %{ $self->{samples} }) {
        my ($sample, @all) = split /,(?=[a-z_]+=")/, $key;
        my %all = map { /^(.*?)="(.*)"$/s } @all;

        next if $sample ne "nginx_admission_$name"
            || grep { ($all{$_} // '') ne $labels{$_} } keys %labels;
        delete @all{ keys %labels };
        $found{ join ',', map { "$_=$all{$_}" } sort keys %all }
            = $self->{samples}{$key};
    }

    return \%found;
}


sub sum ($self, $name, %labels) {
    my $sum = 0;
    $sum += $_ for values %{ $self->all($name, %labels) };
    return $sum;
}


# What must never fall and did, since another look.

sub fallen ($self, $before) {
    my @fallen;

    for my $key (sort keys %{ $before->{samples} }) {
        next if $key !~ /^\w+_(?:total|bucket|sum|count)\b/;
        next if $key =~ /^nginx_admission_event_/
            && !exists $self->{samples}{$key};

        push @fallen, "$key: $before->{samples}{$key}, "
                      . ($self->{samples}{$key} // 'none')
            if ($self->{samples}{$key} // -1) < $before->{samples}{$key};
    }

    return @fallen;
}


# `promtool ARGS` with this on its standard input: (exit status, output)

sub promtool ($input, @args) {
    my $file = test_dir . '/promtool.in';
    write_file($file, $input);
    return run('sh', '-c', 'exec promtool "$@" < "$0"', $file, @args);
}


# Prometheus's own parser of OpenMetrics: (exit status, output), the output
# being a line a family, name and type.

sub openmetrics_parse ($text) {
    my $file = test_dir . '/openmetrics.in';
    write_file($file, $text);
    return run('/usr/bin/python3', '-c', <<'END', $file);
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for f in text_string_to_metric_families(open(sys.argv[1]).read()):
    print(f.name, f.type, f.unit)
END
}


1;
