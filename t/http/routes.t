# Which location answers which calls: each API its own, and of the queue's a
# location with admin=on operators' alone, one without users' alone.  And what
# nginx -t warns of where that leaves a call without a location, or a way to
# join the queue past the waiting room.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my %secret = map { $_ => "$_-secret-of-the-test-0123456789-0123" }
             qw(tier1 tier2 user admin other);
my $secrets = join "\n", map { "admission_secret $_ $secret{$_};" }
                         qw(tier1 tier2 user admin);


subtest 'each API answers its own calls' => sub {
    my $redis = Admission::Redis->start;

    my %api = (users     => 'admission_queue_api',
               named     => 'admission_queue_api admin=off',
               operators => 'admission_queue_api admin=on',
               room      => 'admission_vwr_api',
               switches  => 'admission_admin_api');

    my $nginx = Admission::Nginx->start(
        http => <<END,
        admission_redis @{[ $redis->url ]} timeout=30s;
        $secrets
        admission_events { concert threshold=9; check threshold=9; }
END
        server => join "\n", 'admission_user jwt;',
                  map { "location /$_/ { $api{$_}; }" } sort keys %api);

    my %calls = (
        users     => [ 'POST check/E', 'GET status/E', 'HEAD status/E',
                       'POST heartbeat/E', 'POST leave/E', 'DELETE leave/E' ],
        operators => [ 'GET admin/E', 'HEAD admin/E', 'POST admin/clear/E',
                       'PUT admin/threshold/E?threshold=9',
                       'POST admin/threshold/E?threshold=9',
                       'DELETE admin/threshold/E' ],
        room      => [ 'POST assign/E', 'GET check/E/T', 'GET status/E' ],
        switches  => [ 'POST activate/E', 'POST advance/E',
                       'PUT rate/E?rate=1', 'DELETE rate/E', 'GET status/E',
                       'GET status', 'POST deactivate/E' ]);

    $calls{named} = $calls{users};

    # those that two APIs have by one name are told apart by their answers

    my %alike = ('GET status/E' => { map { $_ => 1 } qw(users named room
                                                        switches) },
                 'HEAD status/E' => { map { $_ => 1 } qw(users named room
                                                         switches) });

    my $operator = user_token($secret{user}, userId => 'op', role => 'admin');
    my $ask = sub ($location, $prefix, $call) {
        my ($method, $path) = split / /, $call;
        $path =~ s/E/concert/;
        return request($nginx->port, $method, "/$location/$prefix$path",
                       bearer => $operator);
    };

    # until Redis has been heard

    wait_until { $ask->('switches', '', 'GET status')->status == 200
                 && $ask->('room', 'check/', 'GET admin/E')->status == 404 } 20;

    for my $of (sort keys %calls) {
        for my $location (sort keys %api) {
            next if $of eq $location
                    || "$of $location" =~ /^(?:users named|named users)$/;

            my @answered;

            for my $call ($calls{$of}->@*) {
                next if $alike{$call} && $alike{$call}{$location};

                for my $prefix ('', 'x/', 'admin/', 'admin/x/', 'check/',
                                'admin/check/concert/', 'status/concert/')
                {
                    my $r = $ask->($location, $prefix, $call);

                    # a prefix may make another call of it: POST
                    # admin/check/concert is of an event "check"

                    push @answered, "$prefix$call: " . $r->status
                        if $r->status != 404 && $r->status != 405;
                }
            }

            is "@answered", '', "$location: none of the calls of $of";
        }
    }

    # what each answers is its own

    is get($nginx->port, '/room/status/concert')->json->{isActive} ? 1 : 0, 0,
        'status of the waiting room';
    ok exists $ask->('switches', '', 'GET status/E')->json->{setBy},
        'of its operators';
    is $ask->($_, '', 'GET status/E')->json->{status}, 'not_in_queue',
        "of the queue, $_" for qw(users named);
    is $ask->('operators', '', 'GET status/E')->json->{code}, 'NOT_FOUND',
        'not of the queue\'s operators';

    for my $location (qw(users named)) {
        is $ask->($location, '', 'POST check/E')->json->{status}, 'active',
            "$location: check";
        is $ask->($location, '', 'POST leave/E')->status, 200,
            "$location: leave";
        is $ask->($location, '', "GET admin/E")->json->{code}, 'NOT_FOUND',
            "$location: nothing of operators";
    }

    is $ask->('operators', '', 'GET admin/E')->json->{currentUsers}, 0,
        'operators look';
    is $ask->('operators', 'admin/', 'POST check/E')->json->{code},
        'NOT_FOUND', 'and cannot join there';
    is scalar($redis->cmd('ZCARD', '{concert}:active')), 0, 'nobody is in';

    # an event with the name of a call is an event

    is $ask->('operators', '', 'GET admin/check')->json->{eventId}, 'check',
        'an event "check"';
};


# ---- nginx -t

# warnings, without what stands before and after them in each

sub warnings (%conf) {
    my $redis = $conf{redis} // 'admission_redis redis://127.0.0.1:1;';

    my ($status, $output) = Admission::Nginx->conf_test(
        http => "$secrets\n$redis\n" . ($conf{http} // ''),
        server => $conf{server});
    my @lines = grep { !/syntax is ok$|test is successful$/ }
                split /\n/, $output;

    fail("taken: $output") if $status;
    return join "\n", @lines;
}

my $JOINS = qr/\[warn\].*"admission_queue_api"\ in\ \S+:\d+
               \ has\ no\ "admission_tier1".*
               without\ one\ of\ the\ waiting\ room;
               \ say\ "admission_tier1"\ as\ there/x;
my $TRUSTS = qr/\[warn\].*"admission_queue_api"\ in\ \S+:\d+\ trusts\ an\ edge/x;
my $BYPASS = qr/\[warn\].*"admission_queue_api"\ in\ \S+:\d+
                \ has\ "admission_bypass"/x;
my $DRY = qr/\[warn\].*"admission_queue_api"\ in\ \S+:\d+\ is\ in\ a\ dry\ run/x;

my $who = 'admission_event $arg_e; admission_user visitor;';
my $both = 'location /q/admin/ { admission_queue_api admin=on; }';
my $gated = 'location /shop/ { admission_tier1 auto; }';


subtest 'a queue without tier 1 beside what has it' => sub {
    my $bare = "$both location /q/ { admission_queue_api; }";
    my $warn = warnings(server => "$who $gated $bare");

    like $warn, $JOINS, 'warned of';
    like $warn, qr{while location "/shop/" of the server in \S+:\d+ is gated},
        'and what is beside it';
    is scalar(() = $warn =~ /\n/g), 0, 'in one line';

    for my $tier1 ('on', '$arg_gate', 'auto bind=off') {
        like warnings(server => "$who $bare
                                 location /shop/ { admission_tier1 $tier1; }"),
            $JOINS, "admission_tier1 $tier1";
    }

    like warnings(server => "$who $bare $gated location / {
                             location /x/ { admission_queue_api; } }"),
        qr/$JOINS.*\n.*$JOINS/, 'each of them is';

    like warnings(server => "$who $gated", http => <<END), $JOINS,
        server { listen 127.0.0.1:8081; $who $bare }
END
        'in another server';
    like warnings(server => "$who $bare", http => <<END), $JOINS,
        server { listen 127.0.0.1:8081; $who admission_tier1 on; }
END
        'a whole server is gated';
    like warnings(server => "$who $bare", http => <<END), $JOINS,
        server {
            listen 127.0.0.1:8081;
            $who
            admission_secret tier2 $secret{other};
            admission_secret tier2 $secret{tier2};
            $gated
        }
END
        'a server that takes the same entry tokens among others';

    is warnings(server => "$who $bare", http => <<END), '',
        server {
            listen 127.0.0.1:8081;
            $who
            admission_secret tier2 $secret{other};
            $gated
        }
END
        'not by one that takes no such entry token';

    is warnings(server => "$who $gated $both location /q/ {
                           admission_tier1 $_; admission_queue_api; }"), '',
        "not with admission_tier1 $_"
        for 'auto', 'on', '$arg_gate', 'off', 'auto bind=off';
    is warnings(server => "$who admission_tier1 $_; $bare $gated"), '',
        "nor where the server has $_" for 'auto', 'off';
    is warnings(server => "$who $bare location /shop/ { admission_tier2 on; }"),
        '', 'nor beside tier 2 alone';
    is warnings(server => "admission_user visitor; $bare $gated
                           location /n/ { admission_event \$arg_e;
                                          admission_tier2 on; }"), '',
        'nor where no request names an event';
    is warnings(server => "$who $bare location /vwr/ {
                           admission_tier1 auto; admission_page tier1; }"),
        '', 'nor beside a page, which no tier gates';
};


subtest 'a dry run left on' => sub {
    my $queue = "$both location /q/ { admission_tier1 auto;
                 admission_dry_run on; admission_queue_api; }";

    like warnings(server => "$who $gated $queue"), $DRY, 'of the queue alone';
    like warnings(server => "$who $queue location /shop/ {
                             admission_tier2 on; }"), $DRY,
        'beside tier 2, whose joins ask for tier 1';
    is warnings(server => "$who admission_dry_run on; $gated $queue"), '',
        'not of all';
    is warnings(server => "$who $queue"), '', 'nor with nothing gated';
    is warnings(server => "$who $both $gated location /q/ {
                           admission_tier1 off; admission_dry_run on;
                           admission_queue_api; }"), '',
        'nor where joining needs no token anyway';
};


subtest 'who passes the queue without a token, and nothing else' => sub {
    my $edge = "admission_trusted_edge X-Edge $secret{other};";
    my $queue = sub ($more) {
        return "$both location /q/ { admission_tier1 auto; $more
                                     admission_queue_api; }";
    };

    for ([ $edge, 'admission_trusted_edge off;', $TRUSTS ],
         [ 'admission_bypass $arg_b;', 'admission_bypass "";', $BYPASS ])
    {
        my ($way, $off, $warned) = @$_;

        like warnings(server => "$who $gated " . $queue->($way)), $warned, $way;
        like warnings(server => "$who $way location /shop/ { $off
                                 admission_tier2 on; } " . $queue->('')),
            $warned, "$way inherited, and not beside tier 2";
        is warnings(server => "$who $way $gated " . $queue->('')), '',
            "$way for both";
        is warnings(server => "$who $way $gated " . $queue->($off)), '',
            "$way for the gated alone";
        is warnings(server => "$who admission_dry_run on; $gated "
                              . $queue->($way)), '', "$way in a dry run of all";
        is warnings(server => "$who $gated $both location /q/ {
                               admission_tier1 off; $way
                               admission_queue_api; }"), '',
            "$way where joining needs no token";
    }
};


subtest 'calls that have no location' => sub {
    my $users = qr/\[warn\].*users'\ calls\ of\ the\ queue\ have\ no\ location:
                   \ "admission_queue_api\ admin=on"\ in\ \S+:\d+\ .*
                   add\ a\ location\ with\ "admission_queue_api"$/mx;
    my $operators = qr/\[warn\].*operators'\ calls\ of\ the\ queue\ have\ no
                       \ location:\ "admission_queue_api"\ in\ \S+:\d+\ .*
                       \ with\ "admission_queue_api\ admin=on"$/mx;
    my $queue = 'location /q/ { admission_queue_api; }';

    like warnings(server => "$who $both"), $users, 'users\'';
    like warnings(server => "$who $queue"), $operators, 'operators\'';

    my ($status, $output) = Admission::Nginx->conf_test(
        http => join("\n", map { "admission_secret $_ $secret{$_};" }
                           qw(tier2 user)),
        server => "admission_user jwt; $queue");
    like $output, $operators, 'operators\', by a role';

    ($status, $output) = Admission::Nginx->conf_test(
        http => join("\n", 'admission_redis redis://127.0.0.1:1;',
                     map { "admission_secret $_ $secret{$_};" }
                         qw(tier1 tier2)),
        server => "$who $queue");
    unlike $output, qr/warn/, 'where nobody can be one there need be none';

    is warnings(server => "$who $queue", http => <<END), '',
        server { listen 127.0.0.1:8081; $both }
END
        'one in another server will do';
    is warnings(server => $who), '', 'nor is any needed without a queue';
    is warnings(server => "$who $both location /q/ { admission_queue_api;
                           if (\$arg_x) { break; } }"), '',
        'what "if" encloses is no other location';
};



subtest 'gates without Redis, and without an event' => sub {
    my $redis = qr/\[warn\].*there\ is\ no\ "admission_redis".*\ get\ 503.*
                   \ lets\ all\ requests\ pass$/x;

    like warnings(server => "$who $_", redis => ''), $redis, "no Redis: $_"
        for $gated, "$both location /q/ { admission_queue_api; }",
            'location /r/ { admission_vwr_api; }',
            'location /a/ { admission_admin_api; }';
    is warnings(server => "$who $_", redis => ''), '', "needs none: $_"
        for 'location /l/ { admission_rate_limit all rate=1r/s; }',
            'location /g/ { admission_tier2 on; }',
            'location /m/ { admission_metrics; }', '';

    my $user = 'admission_user visitor;';
    my $what = sub ($tier, $name) {
        qr/\[warn\].*"admission_$tier"\ of\ location\ "\Q$name\E"\ of\ the\ server
           \ in\ \S+:\d+\ has\ no\ "admission_event"\ here\ or\ above:/x;
    };
    my $denies = qr/ it denies all requests; say which event/;
    my $passes = qr/ it lets all requests pass; say which event/;
    my $named = 'location /n/ { admission_event $arg_e; }';

    for (qw(auto on)) {
        like warnings(server => "$user location /s/ { admission_tier1 $_; }"),
            qr{${\ $what->('tier1', '/s/') }$passes}, "tier 1 $_: open";
        like warnings(server => "$user location /s/ {
                                 admission_tier1 $_ event=required; }"),
            qr{${\ $what->('tier1', '/s/') }$denies}, 'or shut';
    }

    like warnings(server => "$user admission_tier1 auto; location /s/ { }"),
        qr{${\ $what->('tier1', '/s/') }$passes}, 'inherited';
    is warnings(server => "$user admission_tier1 auto; location /s/ { }
                           $named"), '', 'which others have an event for';
    is warnings(server => "$user admission_tier1 auto; $named"), '',
        'a server is as its locations';

    like warnings(server => "$user location /s/ { admission_tier2 on; } $named"),
        qr{${\ $what->('tier2', '/s/') }$denies}, 'tier 2: shut';
    like warnings(server => "$user admission_tier2 on; location /s/ { }"),
        qr{${\ $what->('tier2', '/s/') }$denies}, 'tier 2, inherited';
    like warnings(server => "$user admission_tier2 on; $named location /r/ { }
                             location /s/ { admission_tier2 on; }"),
        qr{${\ $what->('tier2', '/s/') }$denies}, 'the one that says it itself';
    is warnings(server => "$user admission_tier2 on; $named
                           location /old/ { return 301 /n/; }
                           location = /auth { internal; }"), '',
        'and where nobody is judged';
    is warnings(server => "$user $named", http => <<END), '',
        $user admission_tier2 on;
        server { listen 127.0.0.1:8081; location / { return 301 https://localhost/; } }
END
        'nor in another server';
    is warnings(server => "$user location /s/ { admission_tier2 $_; }"), '',
        "tier 2 $_"
        for 'on event=any', '$arg_t', 'off';
    my ($status, $output) = Admission::Nginx->conf_test(
        server => 'location /s/ { admission_tier1 on; }');
    like $output, qr{"admission_tier1"\ needs\ "admission_secret\ tier1";
                     \ there\ is\ none\ in\ location\ "/s/"\ of\ the\ server
                     \ in\ \S+:\d+,\ nor\ above}x,
        'what it needs is told with the place';

    is warnings(server => "$user location /s/ { admission_event \"\";
                                                admission_tier2 on; }"), '',
        'none is meant';
};

done_testing;
