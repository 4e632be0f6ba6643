# Keys of several places in one server, and of many servers in one host: each
# finds its own, whatever is beside it, and each location is asked once in ten
# seconds at most.  They outlive changes of the configuration while the service
# is away, and no server takes another's.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Time::HiRes qw(time);

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my %key = map { $_ => Admission::Keys->new('P-256', kid => $_) }
          qw(first second third a b);
$key{unnamed} = Admission::Keys->new('P-256');
$key{bare} = Admission::Keys->new('P-256');

my $exp = time + 10 * 86400;
my %token = map { $_ => $key{$_}->token('ES256', { userId => $_,
                                                   exp => $exp }) } keys %key;

# what the service has, by path

my $certs = test_dir . '/certs';
mkdir $certs or die "$certs: $!";

sub service ($path, @keys) {
    write_file("$certs/.new", Admission::Keys::jwks(@keys));
    rename "$certs/.new", "$certs/$path" or die "$path: $!";
}

my $idp_port = free_port;
my $idp = idp();

sub idp () {
    return Admission::Backend->start(port => $idp_port, handler => sub ($r) {
        my ($path) = $r->{uri} =~ m{^/(\w+)};
        my $file = "$certs/$path";
        return [ -f $file ? 200 : 404,
                 [ 'Content-Type' => 'application/json' ],
                 -f $file ? read_file($file) : '' ];
    });
}

# a server with these lines, that is asked by this port

sub server ($port, $lines, $path, $name = '') {
    return <<"END";
    server {
        listen      127.0.0.1:%%PORT_$port%%;
        server_name "$name";
        $lines
        admission_secret user jwks_uri=/keys;
        admission_user   jwt;
        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass http://127.0.0.1:$idp_port/$path;
            subrequest_output_buffer_size 64k;
        }
    }
END
}

sub nginx (%opt) {
    return Admission::Nginx->start(clock => 1, %opt, http => http($opt{http}));
}

sub http ($http) { return "add_header X-Id \$http_x_user_id;\n$http" }

# The clock of NGINX goes on by itself as well: whether it is sure that a window
# of ten seconds that began at that time is still open.

sub soon ($start) { return time - $start < 9 }

# who somebody is to a server, "-" for nobody, or a status

sub said ($nginx, $port, $token, %opt) {
    my $r = get($nginx->port($port), '/', timeout => 20,
                defined $token ? (bearer => $token) : (), %opt);

    return $r->status == 200 ? $r->header('X-Id') // '-' : $r->status;
}


subtest 'keys of several places' => sub {
    service(several => $key{first});

    my $nginx = nginx(
        files => { 'pem.pem' => $key{unnamed}->pem },
        http => server(several => 'admission_secret user pem=pem.pem;',
                       'several'));
    my $is = sub ($name, $what) {
        is said($nginx, 'several', $token{$name}), $name, $what;
    };

    my $start = time;
    my $later = sub ($token, $what) {
        my $said = said($nginx, 'several', $token);
        is soon($start) ? $said : 503, 503, $what;
    };
    my $next = sub ($ahead) {
        $start = time;
        $nginx->set_clock($ahead);
    };

    $is->('first', 'of the service, though a file has one without a name');
    $is->('unnamed', 'of the file');
    is soon($start) ? $idp->hits : 1, 1, 'by one question';

    service(several => @key{qw(second first)});
    $later->($token{second},
             'a name that nobody knows yet is not refused for the file\'s key');
    $next->(11);
    $is->('second', 'and is found');
    $is->('first', 'as is the one before');

    # of a service that names none, new ones are found as well

    service(several => @key{qw(bare second)});
    $later->($token{bare}, 'nor a token without');
    $next->(22);
    $is->('bare', 'which is found');

    my $before = $idp->hits;
    my ($signed) = $token{bare} =~ /(.*)\./;
    my $wrong = "$signed." . b64url('x' x 64);

    $next->(33);
    is said($nginx, 'several', $wrong), '-', 'a wrong signature is none';
    $later->($wrong, 'once it was looked for') for 1 .. 3;
    is soon($start) ? $idp->hits - $before : 1, 1,
        'which it is once in ten seconds';

    $is->($_, "$_ goes on") for qw(bare second unnamed);

    my ($named) = $token{second} =~ /(.*)\./;
    is said($nginx, 'several', "$named." . b64url('x' x 64)), '-',
        'of a key that is known, a wrong signature is none at once';
};


subtest 'two cookies' => sub {
    service(cookies => $key{first});

    my $nginx = nginx(http => server(cookies => '', 'cookies'));
    my $is = sub (@tokens) {
        return said($nginx, 'cookies', undef, headers =>
                    [ Cookie => join '; ', map { "access_token=$_" } @tokens ]);
    };
    my $old = $key{first}->token('ES256', { userId => 'old',
                                            exp => time - 60 });

    my $start = time;
    is $is->($old, $token{first}), 'first', 'an old one, and one that counts';

    service(cookies => $key{second});
    my $said = $is->($old, $token{second});
    is soon($start) ? $said : 503, 503, 'or may count';
    $nginx->set_clock(11);
    is $is->($old, $token{second}), 'second', 'and then does';
    is $is->($old), '-', 'the old one alone is none';
};


# the zone is small, so that it has room for 32 locations

subtest 'many servers' => sub {
    service(many => $key{first});

    my @servers = map { "n$_" } 1 .. 40;
    my $http = join '', map { server('many', '', "many?$_", $_) } @servers;
    my $nginx = nginx(http => "admission_zone few:1m;\n$http");
    my $ahead = 0;

    my $all = sub () {
        my %said;
        $said{ said($nginx, 'many', $token{first}, headers => [ Host => $_ ]) }
            ++ for @servers;
        return join ' ', map { "$said{$_} $_" } sort keys %said;
    };

    # how often which server's was asked

    my $asked = sub ($from) {
        my %asked;
        $asked{ $_->{uri} }++
            for ($idp->requests)[ $from .. $idp->hits - 1 ];
        return \%asked;
    };

    my $start = time;
    my $before = $idp->hits;
    my $twice = sub () {
        my $n = grep { $_ > 1 } values $asked->($before)->%*;
        return soon($start) ? $n : 0;
    };

    for my $what ('as many as there is room for', 'the others later',
                  'and later')
    {
        my $said = $all->();
        is soon($start) ? $said : '8 503 32 first', '8 503 32 first', $what;
    }

    is $twice->(), 0, 'nobody is asked twice';

    $nginx->set_clock($ahead += 11);
    is $all->(), '40 first', 'all of them in the end';

    $start = time;
    $before = $idp->hits;
    $all->() for 1 .. 3;
    is $twice->(), 0, 'and nobody is asked twice in ten seconds';

    $idp->stop;
    $nginx->set_clock($ahead += 25 * 60 * 60);
    unlike $all->(), qr/first/, 'what was forgotten ends after a day as well';
    $idp = idp();

    $nginx->set_clock($ahead += 11);
    $nginx->reload(http => http("admission_zone few:2m;\n$http"));
    is $all->(), '40 first', 'a larger zone has room for them all';
    $before = $idp->hits;
    is $all->(), '40 first', 'once';
    is $idp->hits, $before, 'and for all';
};


subtest 'changes of the configuration' => sub {
    service($_ => $key{$_}) for qw(a b);

    my %server = map { $_ => server($_, '', $_, "$_.example") } qw(a b);
    my $nginx = nginx(http => $server{a} . $server{b});

    my $alone = sub ($what, @servers) {
        for my $server (@servers) {
            my ($other) = grep { $_ ne $server } qw(a b);

            is said($nginx, $server, $token{$server}), $server,
                "$server: $what";
            like said($nginx, $server, $token{$other}), qr/^(?:-|503)$/,
                'and nobody else\'s';
        }
    };

    $alone->('its own keys', qw(a b));

    $idp->stop;

    for ([ 'in another place', $server{b} . $server{a}, qw(a b) ],
         [ 'further down', "\n" x 7 . $server{b} . "\n" . $server{a},
           qw(a b) ],
         [ 'where the other was', $server{a}, 'a' ],
         [ 'in another zone', "admission_zone other:1m;\n$server{a}$server{b}",
           'a' ],
         [ 'in a larger one', "admission_zone other:4m;\n$server{a}", 'a' ])
    {
        my ($what, $http, @servers) = @$_;

        $nginx->reload(http => http($http));
        $alone->("$what, the service away", @servers);
    }

    # one that has the other's place, and never had keys

    $nginx->reload(http => http(server('c', '', 'c', 'a.example')));
    is said($nginx, 'c', $token{a}), 503, 'at another address it is another one';

    $idp = idp();
};

my @logs = glob test_dir . '/nginx-*/error.log';

is scalar @logs, 4, 'logs';
unlike read_file($_), qr/eyJ[\w-]+\.eyJ/, 'no token in a log' for @logs;

done_testing;
