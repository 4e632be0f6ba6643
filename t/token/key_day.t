# Keys at an address of the identity service, and time that goes by: the service
# is away for an hour, and for a day; a flood of tokens by unknown keys asks it
# once in ten seconds, whoever goes away meanwhile.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use IO::Select;
use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes qw(time);

use Admission::Backend;
use Admission::HTTP;
use Admission::HTTP2;
use Admission::JWT;
use Admission::Keys;
use Admission::Nginx;

my %key = map { $_ => Admission::Keys->new('P-256', kid => $_) }
          qw(first second third unknown);
my $answer = test_dir . '/answer';
my $workers = 4;

sub service (@keys) {
    write_file("$answer.new", Admission::Keys::jwks(@keys));
    rename "$answer.new", $answer or die "$answer: $!";
}

service($key{first});

my $idp_port = free_port;
my $idp = idp();

sub idp () {
    return Admission::Backend->start(port => $idp_port, handler => sub ($r) {
        return [ 200, [ 'Content-Type' => 'application/json' ],
                 read_file($answer) ];
    });
}

my $nginx = Admission::Nginx->start(
    workers => $workers,
    clock => 1,
    vars => { IDP => $idp_port },
    http => <<'END');
    add_header X-Id $http_x_user_id;
    add_header X-Pid $pid;

    server {
        listen 127.0.0.1:%%PORT%%;
        listen 127.0.0.1:%%PORT_h2%% http2;

        admission_secret user jwks_uri=/keys;
        admission_user   jwt;

        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass http://127.0.0.1:%%IDP%%/certs;
            subrequest_output_buffer_size 64k;
        }
    }
END

# tokens outlive all of it, and each is new: none is remembered

my $ahead = 0;
my $exp = time + 10 * 86400;
my $serial = 0;

sub token ($name) {
    return $key{$name}->token('ES256', { userId => $name, exp => $exp,
                                         jti => ++$serial });
}

sub later ($seconds) {
    $nginx->set_clock($ahead += $seconds);
}

# by many at once, so that each worker has some: what they were told, in words,
# each once

sub all ($name) {
    my $token = token($name);
    my @open = map { Admission::HTTP->connect($nginx->port, timeout => 20) }
               1 .. 4 * $workers;

    $_->send(Admission::HTTP::compose('GET', '/', bearer => $token)) for @open;

    my %said = map {
        my $r = $_->response;
        ($r->status == 200 ? $r->header('X-Id') // '-' : $r->status) => 1
    } @open;

    return join ' ', sort keys %said;
}


# an answer may take longer than anybody waits for it

sub is_in_the_end ($name, $what) {
    my $said;
    wait_until { ($said = all($name)) eq $name || $said =~ /-/ } 20;
    is $said, $name, $what;
}

# How often the service may be asked in so many seconds of the real clock, which
# goes on meanwhile.

sub most ($start) { return 1 + int((time - $start) / 10) }


subtest 'away for an hour, and for a day' => sub {
    my $start = time;

    is_in_the_end('first', 'the first use');
    cmp_ok $idp->hits, '<=', most($start), 'one question';

    $idp->stop;

    for my $minutes (9, 11, 30, 60, 23 * 60 - 120) {
        later(60 * $minutes);
        is all('first'), 'first', "a token never seen, $minutes minutes later"
            for 1 .. 2;
    }

    is all('second'), 503, 'a key that nobody knows is not refused';

    $nginx->reload;
    is all('first'), 'first', 'after a reload as well';

    my $mark = $nginx->log_mark;
    later(3 * 60 * 60);
    is all('first'), 503, 'after a day they have to be had anew';
    like $nginx->error_log($mark), qr{no keys from "/keys"}, 'in vain';

    $idp = idp();
    later(11);
    is_in_the_end('first', 'until the service is back');
};


# Tokens by keys that there are not go to all workers for some seconds, and many
# of those who sent them go at once, by closing the connection or resetting a
# stream.

my (undef, @rest) = split /\./, token('unknown');
my $names = 0;

# a name each: whatever is said of one says nothing of another

sub unknown () {
    return join '.', b64url(json_encode({ alg => 'ES256',
                                          kid => 'none-' . ++$names })), @rest;
}

sub flood ($seconds) {
    my $end = time + $seconds;
    my $n = $names;

    do {
        my @open = map { Admission::HTTP->connect($nginx->port, timeout => 20) }
                   1 .. 12;

        $_->send(Admission::HTTP::compose('GET', '/', bearer => unknown))
            for @open;

        my $h2 = Admission::HTTP2->connect($nginx->port('h2'));

        for (my $stream = 1; $stream < 20; $stream += 2) {
            stream($h2, $stream);
            $h2->reset($stream) if $stream % 4 == 1;
        }

        $_->close for splice @open, 0, 4;
        $h2->body(19);
        $h2->close;
        $_->response for @open;
    } while (time < $end);

    return $names - $n;
}

sub stream ($h2, $stream) {
    $h2->headers($stream, 'GET', '/',
                 headers => [ authorization => 'Bearer ' . unknown ]);
}

subtest 'a flood of unknown keys' => sub {
    for my $round (1 .. 5) {
        later(10);

        my ($before, $start) = ($idp->hits, time);
        my $sent = flood(0.7);

        # who waited may have gone before the question came there
        wait_until { $idp->hits > $before } 10;
        my $asked = $idp->hits - $before;

        cmp_ok $asked, '>=', 1, "$sent tokens: the service is asked";
        cmp_ok $asked, '<=', most_by_going(time - $start),
            'once in ten seconds';
    }

    is all('first'), 'first', 'who is known feels nothing';
};


# The first of those who go asks, and its client is not there any more when it is
# told that the wait is over, after 5 s.  Another takes over, once: by going
# nobody has the service asked as often as they like.

my %go = (
    'a reset stream' => sub {
        my $h2 = Admission::HTTP2->connect($nginx->port('h2'));
        stream($h2, 1);
        $h2->reset(1);
        stream($h2, 3);
        $h2->body(3, 0.05);
        $h2->close;
    },
    'a reset connection' => sub {
        my $http = Admission::HTTP->connect($nginx->port);
        $http->send(Admission::HTTP::compose('GET', '/', bearer => unknown));
        $http->read_until(qr/./, 0.05);
        reset_connection($http);
    },
);

sub reset_connection ($http) {
    setsockopt $http->socket, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0);
    $http->close;
}

# what is allowed in so many seconds: at 0 and 5, 15 and 20, ...

sub most_by_going ($seconds) {
    return scalar grep { $_ % 15 == 0 || $_ % 15 == 5 } 0 .. $seconds;
}

for my $how (sort keys %go) {
    subtest "while the service hangs, $how" => sub {
        later(15);

        my ($before, $start) = ($idp->hits, time);

        kill STOP => $idp->{process}->pid;

        $go{$how}->() for 1 .. 2 * $workers;

        # who waits meanwhile is told when the first goes, and when the one that
        # took over does

        for my $seconds (4.5, 9.5) {
            my @open = ask_all();
            IO::Select->new(map { $_->socket } @open)->can_read(20);
            cmp_ok time - $start, '>', $seconds, 'the wait is over';
            reset_connection($_) for @open;
        }

        my @open = ask_all();

        kill CONT => $idp->{process}->pid;
        $_->response for @open;

        ok((wait_until { $idp->hits > $before } 20), 'it was asked');
        is all('first'), 'first', 'it goes on';

        my $asked = $idp->hits - $before;
        cmp_ok $asked, '<=', most_by_going(time - $start), 'twice, not thrice';
    };
}

sub ask_all () {
    my @open = map { Admission::HTTP->connect($nginx->port, timeout => 20) }
               1 .. 4 * $workers;

    $_->send(Admission::HTTP::compose('GET', '/', bearer => unknown)) for @open;

    return @open;
}


# Who waits takes over from one that is gone, and has the answer.

sub asks () {
    my $http = Admission::HTTP->connect($nginx->port, timeout => 20);
    my $worker = $http->request('GET', '/', bearer => token('first'))
                      ->header('X-Pid');

    $http->send(Admission::HTTP::compose('GET', '/', bearer => unknown));

    return ($http, $worker);
}

sub waits ($other) {
    my $http = Admission::HTTP->connect($nginx->port, timeout => 20);
    my $worker = $http->request('GET', '/', bearer => token('first'))
                      ->header('X-Pid');

    return waits($other) if $worker eq $other;

    $http->send(Admission::HTTP::compose('GET', '/', bearer => token('third')));

    return $http;
}

my %end = (
    'a worker that was killed' => sub ($http, $worker) {
        $nginx->kill_worker(KILL => $worker);
    },
    'a client that has gone' => sub ($http, $worker) {
        my $mark = $nginx->log_mark;
        reset_connection($http);
        wait_until { $nginx->error_log($mark) =~ /denied: keys of users/ } 10;
    },
);

for my $who (sort keys %end) {
    subtest "from $who" => sub {
        my $said;

        # once more where the machine stood still: a wait is for 5 s

        for (1 .. 5) {
            service(@key{qw(first)});
            later(700);
            is_in_the_end('first', 'keys without the third');

            service(@key{qw(first third)});
            later(15);
            kill STOP => $idp->{process}->pid;

            my ($http, $worker) = asks;
            select undef, undef, undef, 3;  # the other's wait ends so much later
            my $start = time;
            my $waits = waits($worker);

            $end{$who}->($http, $worker);
            kill CONT => $idp->{process}->pid;

            my $took = time - $start;
            $said = $waits->response->header('X-Id');
            last if defined $said || $took < 3;
        }
        is $said, 'third', 'the answer';
    };
}


subtest 'a new key is found in the flood' => sub {
    service(@key{qw(second first)});

    ok((wait_until { later(10); flood(0.1); all('second') eq 'second' } 30),
       'within ten seconds of it');
    is all('first'), 'first', 'the other one is still there';
};

done_testing;
