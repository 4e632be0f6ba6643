# The site of the soak: several events, a zone whose size changes, logs that
# do not fill the disk.

package Soak::Site;

use v5.36;

use Admission::Nginx;
use Admission::Site;

use parent -norequire, 'Admission::Site';


sub instance ($self) {
    return Admission::Nginx->start($self->conf, log_level => 'warn',
                                   workers => $self->{workers},
                                   connections => $self->{connections});
}


# What a reload takes, with a zone of the size that is set.

sub conf ($self) {
    return (http => $self->http, server => $self->server);
}

sub http ($self) {
    return $self->SUPER::http
           =~ s/admission_zone\ admission:\K\w+/$self->{zone}/r;
}


sub server ($self) {
    return $self->SUPER::server . <<'END';
        access_log off;

        location = /strict {
            admission_tier2 on strict=on;
            empty_gif;
        }
END
}


1;
