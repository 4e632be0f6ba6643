# A configuration that users copy, README's or one of conf-examples/, started
# as it stands: but for the ports, and the paths of files beside it.
#
#     my $example = Admission::Example->start('queue', redis => $redis,
#                                             backend => $backend);
#     get($example->port, '/queue/spring-concert');
#     user_token($example->secret('user'), ...);

package Admission::Example;

use v5.36;

use File::Copy ();
use MIME::Base64 qw(encode_base64);

use Admission::Backend;
use Admission::Keys;
use Admission::Nginx;
use Admission::Test;

my $count = 0;


# redis     an Admission::Redis, for 127.0.0.1:6379
# backend   an Admission::Backend, for all ports 30NN, or {3000 => ..., }
# text      the configuration itself, if it is no file of conf-examples/
# change    [qr/pattern/ => 'text', ...]: what a test cannot wait for, such as
#           a threshold of 200
# secret    {name => bytes}, in place of those that it makes up
# workers   1

sub start ($class, $name, %opt) {
    my $self = bless { name => $name, secrets => {},
                       dir => test_dir . '/example-' . ++$count }, $class;

    mkdir $_ or die "$_: $!" for $self->{dir}, "$self->{dir}/secrets";

    $self->{nginx} = Admission::Nginx->start(
        conf => $self->conf(%opt), workers => $opt{workers} // 1);
    return $self;
}


sub conf ($self, %opt) {
    my $dir = $self->{dir};
    my $text = $opt{text}
               // read_file(root . "/conf-examples/$self->{name}.conf");
    my @change = @{ $opt{change} // [] };

    for my $name ($text =~ m{\bsecrets/(\w+)\.key\b}g) {
        my $secret = $opt{secret}{$name}
                     // "$name-secret-of-the-examples-0123456789";
        my $base64 = $text =~ m{\bsecrets/$name\.key\s+format=base64\b};

        $self->{secrets}{$name} = $secret;
        write_file("$dir/secrets/$name.key",
                   ($base64 ? encode_base64($secret, '') : $secret) . "\n");
    }

    for my $file ($text =~ /^\s*include\s+([\w.-]+);/mg) {
        File::Copy::copy(root . "/conf-examples/$file", "$dir/$file")
            or die "$file: $!";
        $text =~ s{^(\s*include\s+)\Q$file\E;}{$1$dir/$file;}mg;
    }

    $text =~ s{(?<![\w/])secrets/}{$dir/secrets/}g;

    # what the test's own start of a configuration says

    $text =~ s{^(?:load_module|pid|error_log|worker_processes)\s.*\n}{}mg;
    $text =~ s{^(\s*access_log\s+)logs/}{$1}mg;
    $text =~ s{\blisten\s+8080;}{listen 127.0.0.1:%%PORT%%;};

    $text =~ s{\blisten(\s+)127\.0\.0\.1:8081;}
              {listen${1}127.0.0.1:%%PORT_other%%;};

    if (my $redis = $opt{redis}) {
        my $port = $redis->port;
        $text =~ s{\b127\.0\.0\.1:6379\b}{127.0.0.1:$port}g;
        # a test machine may be slow
        $text =~ s{\btimeout=200ms\b}{timeout=30s}g;
        $text =~ s{(admission_redis\s+redis:\S+);}{$1 timeout=30s;};
    }

    if (my $backend = $opt{backend}) {
        $text =~ s{\b127\.0\.0\.1:(30\d\d)\b}
                  {'127.0.0.1:' . (ref $backend eq 'HASH' ? $backend->{$1}
                                                          : $backend)->port}eg;
    }

    while (my ($pattern, $by) = splice @change, 0, 2) {
        $text =~ s/$pattern/$by/g or die "$self->{name}: no $pattern";
    }

    return "%%HEAD%%\n$text";
}


# What the examples ask at port 3001 who users are: an identity service that
# publishes the key, and a gateway to which the cookie "session" says it.

sub identity ($key) {
    my $jwks = Admission::Keys::jwks($key);

    return Admission::Backend->start(handler => sub ($request) {
        my %header = map { lc $_->[0] => $_->[1] } $request->{headers}->@*;
        my ($who) = ($header{cookie} // '') =~ /\bsession=(\w+)/;

        return $request->{uri} eq '/realms/shop/certs'
               ? [ 200, [ 'Cache-Control' => 'max-age=86400' ], $jwks ]
             : [ $request->{uri} ne '/oauth2/auth' ? 404 : $who ? 202 : 401,
                 [ 'X-Auth-Request-User' => $who // '' ], '' ];
    });
}


# A token of that service

sub token_by ($key, $user, @roles) {
    return $key->token('ES256', {
        iss => 'https://id.example.com/realms/shop', aud => [ 'shop' ],
        sub => $user, realm_access => { roles => [ 'user', @roles ] } });
}


sub nginx ($self)         { return $self->{nginx} }
sub port ($self)          { return $self->{nginx}->port }
sub dir ($self)           { return $self->{dir} }
sub secret ($self, $name) { return $self->{secrets}{$name} }
sub log ($self)           { return $self->{nginx}->access_log }


1;
