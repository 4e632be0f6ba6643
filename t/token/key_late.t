# An identity service that answers late: after it was asked again.  What it says
# then is no answer to who asked later, and takes nothing back that it said
# since.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use IO::Socket::INET;
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my %key = map { $_ => Admission::Keys->new('P-256', kid => $_) }
          qw(first second third fourth);
my %token = map { $_ => $key{$_}->token('ES256', { userId => $_,
                                                   exp => int(time) + 86400 }) }
            keys %key;

# the service: each question waits until it is answered here

my $idp = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1')
    or die "listen: $!";

sub question () {
    vec(my $ready = '', fileno $idp, 1) = 1;
    select($ready, undef, undef, 20) or die 'nobody asks';

    my $c = $idp->accept or die "accept: $!";
    my $request = '';
    1 until $request =~ /\r\n\r\n/ || !sysread $c, $request, 4096,
                                                  length $request;
    return $c;
}

sub answer ($c, $status, @keys) {
    my $text = Admission::Keys::jwks(map { $key{$_} } @keys);

    syswrite $c, "HTTP/1.0 $status X\r\nContent-Type: application/json\r\n"
                 . 'Content-Length: ' . length($text) . "\r\n\r\n$text";
    close $c;
}

my $nginx = Admission::Nginx->start(
    clock => 1,
    vars => { IDP => $idp->sockport },
    http => <<'END');
    add_header X-Id $http_x_user_id;

    server {
        listen 127.0.0.1:%%PORT%%;

        admission_secret user jwks_uri=/keys;
        admission_user   jwt;

        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass         http://127.0.0.1:%%IDP%%/certs;
            proxy_read_timeout 1h;
            subrequest_output_buffer_size 64k;
        }
    }
END

my $ahead = 0;

sub later ($seconds) { $nginx->set_clock($ahead += $seconds) }

sub ask ($name) {
    my $c = Admission::HTTP->connect($nginx->port, timeout => 20);
    $c->send(Admission::HTTP::compose('GET', '/', bearer => $token{$name}));
    return $c;
}

sub said ($c) {
    my $r = $c->response;
    return $r->status == 200 ? $r->header('X-Id') // '-' : $r->status;
}

# whether nothing has come, though what the log says after the mark is said: not for
# long, since the others are told after 5 s to try again

sub wait_on ($mark, $said, @c) {
    ok((wait_until { $nginx->error_log($mark) =~ $said }), 'it was heard');

    my $end = time + 0.3;
    is $_->fill($end), 'timeout', 'it waits on' for @c;
}


for my $late ([ 200, 'first' ], [ 500 ]) {
    subtest "who asked later, and a late answer of $late->[0]" => sub {
        my $one = ask('first');
        my $first = question();

        later(6);
        is said($one), 503, 'nobody waits for so long';
        later(5);

        my @others = map { ask('second') } 1 .. 2;
        my $second = question();

        my $mark = $nginx->log_mark;

        answer($first, @$late);
        wait_on($mark, $late->[0] == 200 ? qr/have changed/ : qr/no keys from/,
                @others);

        answer($second, 200, 'first', 'second');
        is said($_), 'second', 'it has the answer to its own question'
            for @others;

        later(11);
        my $next = ask('third');
        answer(question(), 200, 'third');
        is said($next), 'third', 'another one';
        later(11);
    };
}

subtest 'keys that are gone' => sub {
    my $one = ask('first');
    my $late = question();

    later(6);
    is said($one), 503, 'nobody waits for so long';
    later(5);

    my $two = ask('fourth');
    answer(question(), 200, 'fourth');
    is said($two), 'fourth', 'what was asked later';

    my $mark = $nginx->log_mark;
    answer($late, 200, 'first', 'fourth');
    is said(ask('first')), 503, 'and what is said late' for 1 .. 4;
    is said(ask('fourth')), 'fourth', 'the others go on';
    unlike $nginx->error_log($mark), qr/have changed/, 'nothing has changed';
};

done_testing;
