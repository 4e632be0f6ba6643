# Certificates of the test's own, by openssl:
#
#     my $ca = Admission::Certs->new('ca');
#     my $cert = $ca->issue('redis', 'IP:127.0.0.1', 'DNS:localhost');
#
# `cert` and `key` are paths.

package Admission::Certs;

use v5.36;

use Carp;
use POSIX qw(strftime);

use Admission::Test;


# An authority.

sub new ($class, $name) {
    my $self = bless { path => test_dir . "/$name" }, $class;

    openssl(qw(req -x509 -days 2 -subj), "/CN=$name",
            '-addext', 'basicConstraints=critical,CA:TRUE',
            $self->new_key, '-out', $self->cert);
    return $self;
}


# A certificate of it, for names like DNS:redis.test, for two days or as given.

sub issue ($self, $name, @names) {
    my $days = @names && $names[0] =~ /^-?\d+$/ ? shift @names : 2;
    my $issued = bless { path => test_dir . "/$name" }, ref $self;

    write_file("$issued->{path}.ext",
               'subjectAltName=' . join(',', @names) . "\n");

    openssl(qw(req -subj), "/CN=$name", $issued->new_key,
            '-out', "$issued->{path}.csr");
    openssl(qw(x509 -req), life($days), '-in', "$issued->{path}.csr",
            '-CA', $self->cert, '-CAkey', $self->key, '-CAcreateserial',
            '-extfile', "$issued->{path}.ext", '-out', $issued->cert);
    return $issued;
}


# OpenSSL since 3.4 issues none that ends before it begins.

sub life ($days) {
    return ('-days', $days)
        if $days > 0 || (run(qw(openssl x509 -help)))[1] !~ /-not_before/;

    my ($from, $to) = map {
        strftime('%Y%m%d%H%M%SZ', gmtime(time + $_ * 86400))
    } $days - 2, $days;

    return ('-not_before', $from, '-not_after', $to);
}


sub cert ($self) { return "$self->{path}.crt" }
sub key ($self)  { return "$self->{path}.key" }


sub new_key ($self) {
    return (qw(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes
               -keyout), $self->key);
}


sub openssl (@args) {
    my ($status, $output) = run('openssl', @args);
    croak "openssl @args: $output" if $status;
}


1;
