# The pitfalls of docs/directives.md: what goes wrong, and that it does not with
# what stands there, which is taken from the page as it is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use IO::Socket::INET;

use Admission::Backend;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;

my $text = read_file(root . '/docs/directives.md') =~ s/\A.*^## Pitfalls$//msr;
my %secret = map { $_ => "$_-secret-of-this-test-0123456789abcdef" }
             qw(tier2 user);
my $event = '3f0c2b1e-0000-4000-8000-000000000001';
my $backend = Admission::Backend->start;

# what is indented under a bold title, by what stands in http and in server

sub shown ($title) {
    my ($part) = $text =~ /^\*\*\Q$title\E(.*?)(?=^\*\*|\z)/ms
        or die "no pitfall $title";
    my @pieces = map { s/^ {4}//mgr } $part =~ /((?:^(?: {4}.*)?\n)+)/mg;
    my %shown = (http => '', server => '');

    $shown{ /^\s*(?:map|proxy_cache_path)/ ? 'http' : 'server' } .= $_
        for map { split /\n(?=\n(?:map|location))/ } @pieces;

    return %shown;
}

sub start ($shown, $more, %ports) {
    my ($http, $server) = map { $_ // '' } $shown->@{qw(http server)};

    s{http://booking}{http://127.0.0.1:@{[ $backend->port ]}}g,
        s{127\.0\.0\.1:(\d+)}{'127.0.0.1:' . ($ports{$1} // $1)}eg
        for $http, $server;

    return Admission::Nginx->start(
        http => <<END . $http, server => <<END . $server . $more);
    admission_secret  tier2 $secret{tier2};
    admission_secret  user  $secret{user};
    admission_events  { default threshold=1; $event threshold=1; }
END
        admission_user  jwt;
END
}

sub proxy () { return 'proxy_pass http://127.0.0.1:' . $backend->port . ';' }

sub user ($id, %claims) {
    return user_token($secret{user}, userId => $id, %claims);
}

sub entry ($id, $of = $event) {
    return entry_token($secret{tier2}, sub => $of, uid => $id);
}

sub seen ($answer, $name) {
    my %seen = map { lc $_->[0] => $_->[1] } $answer->json->{headers}->@*;
    return $seen{$name};
}


subtest 'cached answers' => sub {
    my %shown = shown('Cached answers.');
    my $nginx = start(\%shown, <<END . proxy() . '}');
        location /api/all/ {
            admission_tier2  on event=any;
            proxy_cache      answers;
END

    my $get = sub ($path, $who, $of = $event) {
        return get($nginx->port, "$path?header=Cache-Control:max-age%3D600",
                   bearer => user($who), headers => [
                       'x-queue-entry-token' => entry($who, $of) ]);
    };

    is seen($get->('/api/all/', 'ann'), 'x-user-id'), 'ann', 'ann\'s is kept';
    is seen($get->('/api/all/', 'ben'), 'x-user-id'), 'ann',
        'by NGINX\'s own key ben gets it';
    is get($nginx->port, '/api/all/')->status, 401, 'nobody does';

    for my $who (qw(ann ben)) {
        my $hits = $backend->hits;
        is seen($get->('/api/mine/', $who), 'x-user-id'), $who,
            "by the key that is shown $who gets $who\'s";
        is seen($get->('/api/mine/', $who), 'x-user-id'), $who, 'again';
        is $backend->hits, $hits + 1, 'from the cache';
    }

    $nginx->quit;
};


# as uWSGI does: a packet's size stands in its head, and one that is too large
# is not read

sub uwsgi ($listen) {
    while (my $socket = $listen->accept) {
        my $bytes = '';

        while (length $bytes < 4
               || length $bytes < 4 + unpack 'x v', $bytes)
        {
            sysread $socket, $bytes, 65536, length $bytes or last;
            last if length $bytes >= 4 && 4096 < unpack 'x v', $bytes;
        }

        my $size = length $bytes < 4 ? 0 : unpack 'x v', $bytes;
        my @vars = $size > 4096 ? () : unpack '(v/a*)*', substr $bytes, 4, $size;

        syswrite $socket, "HTTP/1.1 200 OK\r\n\r\n"
                 . join ' ', $size, grep { /^(?:HTTP_|session=)/ } @vars
            if $size && $size <= 4096;
        close $socket;
    }
}

subtest 'the size of a request\'s headers' => sub {
    my $port = free_port;
    my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16,
                                       LocalPort => $port, ReuseAddr => 1)
        or die "port $port: $@";
    Admission::Test::register(Admission::Process->start(
        name => 'uwsgi', code => sub { uwsgi($listen) }));
    close $listen;

    my %shown = shown('The size of a request\'s headers.');
    my $params = join "\n", map { "uwsgi_param $_ \$request_uri;" }
                            qw(REQUEST_URI PATH_INFO);
    my $nginx = start(\%shown, <<END, 3031 => $port);
        location /api/plain/ {
            admission_tier2  on event=any;
            $params
            uwsgi_pass       127.0.0.1:$port;
        }
END

    # a browser in a sale, with an access token of RS256's size

    my $entry = entry('ann');
    my %cookies = (access_token => user('ann', name => 'x' x 700),
        map({ ("$_-$event" => $entry . 'x' x 100) }
            qw(urr-vwr-token urr-queue-place admission-ticket)),
        "urr-entry-token-$event" => $entry,
        'admission-visitor' => 'x' x 150, session => 'mine');
    my $get = sub ($path) {
        return get($nginx->port, $path, cookies => \%cookies,
                   headers => [ 'x-queue-entry-token' => $entry ]);
    };

    is $get->('/api/plain/x')->status, 502, 'is too much';

    my $answer = $get->('/api/uwsgi/x');

    is $answer->status, 200, 'with what is shown it is not';
    like $answer->body, qr/HTTP_X_USER_ID/, 'it is told who';
    like $answer->body, qr/HTTP_COOKIE session=mine/, 'has its own cookie';
    unlike $answer->body, qr/HTTP_AUTHORIZATION|HTTP_X_QUEUE_ENTRY/,
        'and no tokens';
    $nginx->allow(qr/upstream/);
    $nginx->quit;
};


subtest 'upgrades' => sub {
    my %shown = shown('`Upgrade` where there is no gate.');
    my $nginx = start(\%shown, <<'END' . proxy() . '}');
        location /all/ {
            proxy_http_version  1.1;
            proxy_set_header    Upgrade    $http_upgrade;
            proxy_set_header    Connection $http_connection;
END

    my $get = sub ($path, @headers) {
        return get($nginx->port, $path, headers => \@headers);
    };

    for my $h2c ('h2c', 'H2C', 'websocket, h2c', 'h2c, websocket') {
        my @h2c = (Upgrade => $h2c, Connection => 'Upgrade, HTTP2-Settings',
                   'HTTP2-Settings' => 'AAMAAABkAAQAAP__');

        is seen($get->('/all/', @h2c), 'upgrade'), $h2c,
            "$h2c: a backend hears of it";
        is seen($get->('/live/', @h2c), 'upgrade'), undef,
            "$h2c: with what is shown it does not";
    }

    for my $name (qw(websocket WebSocket)) {
        my $answer = $get->('/live/', Upgrade => $name,
                            Connection => 'Upgrade');
        is seen($answer, 'upgrade') . ' ' . seen($answer, 'connection'),
            'websocket upgrade', "$name: goes on";
    }

    $nginx->quit;
};


subtest 'a method in a header' => sub {
    my %shown = shown('A method in a header.');
    my $nginx = start(\%shown, <<END . proxy() . '}');
        location /api/delete/ {
            admission_tier2  on event=any methods=DELETE;
END
    my @ann = (bearer => user('ann'));
    my @entry = ('x-queue-entry-token' => entry('ann'));

    is request($nginx->port, DELETE => '/api/delete/1', @ann)->status, 403,
        'needs a token';

    for my $name (qw(X-HTTP-Method-Override X-HTTP-Method X-Method-Override)) {
        my $answer = post($nginx->port, '/api/delete/1', @ann,
                          headers => [ $name => 'DELETE' ]);
        is $answer->status . seen($answer, lc $name), '200DELETE',
            "$name: needs none, and the backend hears of it";

        $answer = get($nginx->port, '/api/tickets/1', @ann,
                      headers => [ $name => 'DELETE' ]);
        is seen($answer, lc $name), undef, 'with what is shown it does not';
        is post($nginx->port, '/api/tickets/1', @ann,
                headers => [ $name => 'GET' ])->status, 403,
            'nor is a POST anything else';
        is post($nginx->port, '/api/tickets/1', @ann,
                headers => [ $name => 'GET', @entry ])->status, 200,
            'but by a token';
    }

    $nginx->quit;
};

done_testing;
