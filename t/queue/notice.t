# A word of an operator's: set, shown and ended on all hosts, in the language
# asked for, whatever is in it; and what becomes of it when Redis or a host goes.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use utf8;
use Encode qw(encode_utf8);
use Time::HiRes qw(time);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Site;

my $ko = "점검으로 입장이 10분 늦어집니다.";
my $en = 'Entry is 10 minutes late.';

my $site = Admission::Site->start(
    instances => 2, timeout => '60s',
    events => 'default threshold=1 vwr_rate=0;
               concert threshold=1 vwr_rate=0;
               full threshold=0 max_queue=0 vwr_max_queue=0 vwr_rate=0
                    vwr_burst=0;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location = /metrics      { admission_metrics; }
END

my @port = $site->ports;
my $secret = $Admission::Site::SECRETS{admin};

sub operator ($i, $api, $method, $event, %opt) {
    my $path = $api eq 'queue' ? '/api/queue/admin' : '/api/admin/vwr';
    return request($port[$i], $method, "$path/notice/$event",
                   bearer => $secret, %opt);
}

sub put ($i, $event, %body) {
    my $r = operator($i, 'queue', 'PUT', $event, json => \%body);
    is $r->status, 200, "set: $event" or diag $r->raw;
    return $r->json;
}

sub status ($i, $event, %opt) {
    my $query = delete $opt{query} // '';
    return get($port[$i], "/vwr-api/status/$event$query", %opt)->json;
}

sub shows ($i, $event, $text, $timeout = 20) {
    return wait_until {
        my $notice = status($i, $event)->{notice};
        defined $text ? $notice && $notice eq $text : !$notice;
    } $timeout;
}


subtest 'set, shown, ended' => sub {
    is operator(0, 'queue', 'GET', 'concert')->json->{notice}, undef,
        'there is none';
    ok !exists status(0, 'concert')->{notice}, 'nor in an answer';

    my $now = time;
    my $took = stopwatch;
    my $set = put(0, 'concert', ko => $ko, en => $en);
    is $set->{eventId}, 'concert', 'eventId';
    is $set->{notice}{ko}, $ko, 'ko';
    is $set->{notice}{en}, $en, 'en';
    cmp_ok $set->{notice}{at}, '>=', $now - 2, 'at, in seconds';
    cmp_ok $set->{notice}{at}, '<=', time + 2, 'and not later';

    ok shows(1, 'concert', $ko), 'another host shows it';
    cmp_ok $took->(), '<', 2 * slow, 'within 2 s';
    ok shows(0, 'concert', $ko), 'and this one';

    for my $i (0, 1) {
        for my $api (qw(queue vwr)) {
            is_deeply operator($i, $api, 'GET', 'concert')->json, $set,
                "host $i, $api: GET";
        }
    }
    is operator(0, 'vwr', 'HEAD', 'concert')->status, 200, 'HEAD';

    is $site->redis->cmd('PTTL', '{concert}:notice'), -1, 'it stays in redis';

    # in the language asked for

    my %lang = ('ko' => 'ko', 'en' => 'en', 'en-GB,en;q=0.9,ko;q=0.5' => 'en',
                'ko-KR, en;q=0.5' => 'ko', 'fr, ko;q=0.1' => 'ko',
                'en;q=0.2, ko;q=0.3' => 'ko', 'ko;q=0, en' => 'en',
                'fr' => 'ko', 'kok, eng' => 'ko', '' => 'ko', ';,,;q' => 'ko',
                'EN' => 'en');
    for my $accept (sort keys %lang) {
        is status(0, 'concert', headers => [ 'Accept-Language' => $accept ])
           ->{noticeLang}, $lang{$accept}, "Accept-Language: $accept";
    }
    my $r = status(0, 'concert', query => '?lang=en',
                   headers => [ 'Accept-Language' => 'ko' ]);
    is_deeply [ @$r{qw(notice noticeLang noticeAt)} ],
        [ $en, 'en', $set->{notice}{at} ], 'lang= comes first';
    is status(0, 'concert', query => '?lang=fr',
              headers => [ 'Accept-Language' => 'en' ])->{noticeLang}, 'en',
        'unless it is none of them';

    # in all answers that say how one stands

    my $call = sub ($user, $method, $what) {
        return $site->call(1, $user, $method, $what)->json;
    };
    for ([ in => 'POST', 'check', 'active' ], [ in => 'GET', 'status', 'active' ],
         [ wait => 'POST', 'check', 'queued' ],
         [ wait => 'GET', 'status', 'queued' ],
         [ none => 'GET', 'status', 'not_in_queue' ])
    {
        my ($user, $method, $what, $state) = @$_;
        my $r = $call->($user, $method, $what);
        is $r->{status}, $state, "$what: $state";
        is $r->{notice}, $ko, 'with the notice';
    }

    is post($port[0], '/api/admin/vwr/activate/concert',
            bearer => $secret)->status, 200, 'a waiting room';
    my $ticket;
    wait_until { ($ticket = post($port[1], '/vwr-api/assign/concert'))->status
                 == 200 };
    is $ticket->json->{notice}, $ko, 'assign';
    my @held = ('X-Admission-Visitor' => $ticket->json->{visitor});
    my $check = sub { get($port[1], '/vwr-api/check/concert/'
                          . $ticket->json->{requestId},
                          headers => \@held)->json };
    is $check->()->{notice}, $ko, 'check, waiting';
    post($port[0], '/api/admin/vwr/advance/concert', bearer => $secret);
    ok wait_until { $check->()->{admitted} };
    is $check->()->{notice}, $ko, 'check, admitted';

    put(1, 'concert', en => $en);
    ok shows(0, 'concert', $en), 'in one language alone';
    is status(0, 'concert', headers => [ 'Accept-Language' => 'ko' ])
       ->{noticeLang}, 'en', 'that is told to all';
    ok shows(1, 'concert', $en), 'on both hosts';

    $took = stopwatch;
    is operator(0, 'vwr', 'DELETE', 'concert')->json->{notice}, undef, 'ended';
    ok shows(1, 'concert', undef), 'on the other host, too';
    cmp_ok $took->(), '<', 2 * slow, 'within 2 s';
    is operator(1, 'queue', 'GET', 'concert')->json->{notice}, undef, 'GET';
    is operator(1, 'queue', 'DELETE', 'concert')->status, 200, 'again';
};


subtest 'of lines that take no more' => sub {
    put(0, 'full', en => $en);
    ok shows(1, 'full', $en);
    my $r = $site->call(1, 'x', 'GET', 'status');
    $r = request($port[1], 'POST', '/api/queue/check/full',
                 bearer => $site->user('x'));
    is $r->json->{code}, 'QUEUE_FULL', 'a queue';
    is $r->json->{notice}, $en, 'says why';
    post($port[1], '/api/admin/vwr/activate/full', bearer => $secret);
    ok wait_until { status(1, 'full')->{isActive} };
    $r = post($port[1], '/vwr-api/assign/full');
    is $r->json->{code}, 'QUEUE_FULL', 'a waiting room';
    is $r->json->{notice}, $en, 'says why';
    is $r->json->{retryAfter}, 30, 'and when to come again';

    # no seats, or none that are left

    put(0, 'gone', en => $en);
    is request($port[0], 'PUT', '/api/queue/admin/slots/gone?slots=0',
               bearer => $secret)->status, 200, 'no seats';
    ok shows($_, 'gone', $en) for 0, 1;
    for (1 .. 3) {
        $r = request($port[1], 'POST', '/api/queue/check/gone',
                     bearer => $site->user("x$_"));
        is $r->json->{code}, 'SOLD_OUT', 'sold out';
        is $r->json->{notice}, $en, 'with the notice';
    }
    ok wait_until { (status(1, 'gone')->{status} // '') eq 'sold_out' };
    $r = post($port[1], '/vwr-api/assign/gone');
    is $r->json->{code}, 'SOLD_OUT', 'in the waiting room as well';
    is $r->json->{notice}, $en, 'with the notice';
};


subtest 'whatever is in it' => sub {
    my %text = (
        markup => q{<script>alert("1")</script> & 'x' </p> {{title}} %s},
        backslash => 'a\\b\\u0041\\n"',
        separators => "a\x{2028}b\x{2029}c",
        'right to left' => "\x{202e}abc\x{202c} \x{200f}\x{2067}\x{5d0}",
        emoji => "\x{1f600}" x 500,
        long => 'x' x 500,
    );

    for my $name (sort keys %text) {
        is put(0, 'concert', ko => $text{$name}, en => $text{$name})
           ->{notice}{en}, $text{$name}, "$name: as it was sent";
        ok shows(1, 'concert', $text{$name}), 'as it is told';
    }

    operator(0, 'queue', 'DELETE', 'concert');
};


subtest 'what is refused' => sub {
    my $refused = sub ($what, $code, %opt) {
        my $r = operator(0, 'queue', 'PUT', 'concert', %opt);
        is $r->status . ' ' . ($r->json->{code} // ''), $code, $what;
    };

    $refused->('no body', '400 INVALID_NOTICE');
    $refused->('no object', '400 INVALID_NOTICE', json => [ 'x' ]);
    $refused->('nothing in it', '400 INVALID_NOTICE', json => {});
    $refused->('empty', '400 INVALID_NOTICE', json => { ko => '', en => '' });
    $refused->('null', '400 INVALID_NOTICE', json => { ko => undef });
    $refused->('a number', '400 INVALID_NOTICE', json => { ko => 1 });
    $refused->('another language', '400 INVALID_NOTICE',
               json => { en => 'x', fr => 'y' });
    $refused->('too long', '400 INVALID_NOTICE', json => { en => 'x' x 501 });
    $refused->('too long in Korean', '400 INVALID_NOTICE',
               json => { ko => "\x{ac00}" x 501 });
    $refused->("a control character", '400 INVALID_NOTICE',
               json => { en => "a$_" })
        for "\n", "\t", "\0", "\x7f", "\x{85}", "\e[31m";
    $refused->('no JSON', '400 INVALID_JSON', body => '{"en":"x"');
    $refused->('no UTF-8', '400 INVALID_JSON', body => qq({"en":"\xff"}));
    $refused->('over 4 KB', '413 PAYLOAD_TOO_LARGE',
               body => '{"en":"' . 'x' x 5000 . '"}');

    for (qw(queue vwr)) {
        my $path = $_ eq 'queue' ? '/api/queue/admin' : '/api/admin/vwr';
        my $r = request($port[0], 'PUT', "$path/notice/concert",
                        json => { en => 'x' });
        is $r->status, 401, "$_: nobody";
        $r = request($port[0], 'PUT', "$path/notice/concert",
                     json => { en => 'x' }, bearer => $site->user('x'));
        is $r->status, 403, "$_: a user";
        $r = request($port[0], 'POST', "$path/notice/concert",
                     json => { en => 'x' }, bearer => $secret);
        is $r->status, 405, "$_: POST";
        is $r->header('Allow'), 'GET, HEAD, PUT, DELETE', 'Allow';
    }

    is operator(0, 'queue', 'GET', 'concert')->json->{notice}, undef,
        'nothing was set';
};


# an event that nobody waits in, and that has no line

subtest 'what it costs' => sub {
    put(0, 'idle', en => $en);
    ok shows(1, 'idle', $en), 'an event in which there never was anybody';

    my $calls = sub {
        my $n = 0;
        $n += metrics($_)->value('redis_call_duration_seconds_count',
                                 call => 'notice') for @port;
        return $n;
    };

    # what was set before may still be on its way to a host that stood still

    my ($before, $asked);

    for (1 .. 10) {
        $before = $calls->();
        status($_ % 2, 'idle') for 1 .. 500;
        $asked = $calls->() - $before;
        last if $asked == 0;
    }

    is $asked, 0, 'polls ask for nothing';

    put(0, 'idle', en => 'changed');
    ok shows(1, 'idle', 'changed');
    cmp_ok $calls->() - $before, '<=', 3, 'a change is one call a host';
};


subtest 'after a reload, on a new host, and without the zone' => sub {
    $site->nginx(0)->reload;
    ok shows(0, 'idle', 'changed'), 'a reload';

    # Redis has it no longer, and nobody tells the host: what another zone takes
    # over is all that there is

    my $set = sub ($what, %opt) {
        is request($port[0], PUT => "/api/admin/vwr/$what/idle",
                   bearer => $secret, %opt)->status, 200, $what;
    };
    $set->('hold');
    $set->('schedule', json => { opens => '2099-01-01T00:00:00Z' });

    $site->redis->cmd('DEL', map { "{idle}:$_" } qw(notice hold schedule));
    $site->{zone} = '2m';
    $site->nginx(0)->reload(http => $site->http, server => $site->server);
    ok shows(0, 'idle', 'changed'), 'a reload with another zone';

    my ($idle) = grep { $_->{eventId} eq 'idle' }
                 request($port[0], GET => '/api/admin/vwr/status',
                         bearer => $secret)->json->{events}->@*;
    is $idle->{hold}, 'outside', 'that it is held';
    is $idle->{schedule}{phase}, 'before', 'and its times';
    my $back = wait_until { $site->redis->cmd('EXISTS', '{idle}:notice') } 10;
    ok $back, 'which puts it back';

    my $new = $site->instance;
    ok +(wait_until {
        my $n = get($new->port, '/vwr-api/status/idle')->json->{notice};
        $n && $n eq 'changed';
    } 10), 'a new host learns of it';
    $new->stop;
};


subtest 'after a loss of data' => sub {
    put(0, 'lost', ko => $ko);
    ok shows(1, 'lost', $ko);
    my $version = $site->redis->cmd('HGET', '{lost}:notice', 'version');

    $site->redis->flushall;
    $site->call(0, 'somebody', 'POST', 'check');
    request($port[$_], 'POST', '/api/queue/check/lost',
            bearer => $site->user("u$_")) for 0, 1;

    my $back = wait_until {
        ($site->redis->cmd('HGET', '{lost}:notice', 'version') // '')
        eq $version;
    } 20;
    ok $back, 'hosts put it back';
    is $site->redis->cmd('HGET', '{lost}:notice', 'ko'), encode_utf8($ko),
        'all of it';
    is $site->redis->cmd('PTTL', '{lost}:notice'), -1, 'for good';
    is status($_, 'lost')->{notice}, $ko, "host $_ shows it" for 0, 1;

    # a host that knows an older one

    put(0, 'lost', ko => 'new');
    ok shows($_, 'lost', 'new'), "host $_: the latest stands" for 0, 1;

    # what is not ours is not shown

    $site->nginx($_)->allow(qr/the notice of event "lost" in redis is not ours/)
        for 0, 1;
    $site->redis->cmd('HSET', '{lost}:notice', version => $version + 1e9,
                      ko => "\x01");
    operator(0, 'queue', 'GET', 'lost');
    is status(0, 'lost')->{notice}, 'new', 'nor is it taken';
    $site->redis->cmd('DEL', '{lost}:notice');
    $site->redis->cmd('SET', '{lost}:notice', 'x');
    is $site->call(0, 'other', 'POST', 'check')->status, 200,
        'and it stops nobody';
    $site->redis->cmd('DEL', '{lost}:notice');
};


subtest 'a small zone' => sub {
    my @max = map { "max$_" } 1 .. 24;
    my $text = "\x{1f600}" x 500;

    $site->nginx($_)->allow(qr/the zone has no room for the notice/) for 0, 1;
    put(0, $_, ko => $text, en => $text) for @max;

    is scalar(grep { operator(0, 'vwr', 'GET', $_)->json->{notice}{en} ne $text }
              @max), 0, 'Redis has all of them';
    my $shown = grep { status(0, $_)->{notice} } @max;
    cmp_ok $shown, '>', 0, "of @{[ scalar @max ]} the host shows $shown";
    cmp_ok $shown, '<', scalar @max, 'and not all';
    like $site->nginx(0)->error_log, qr/no room for the notice of event "max/,
        'which it tells';

    operator(0, 'queue', 'DELETE', $_) for grep { $_ ne $max[-1] } @max;
    ok shows(0, $max[-1], $text, 30), 'once there is room it is shown';
};

done_testing;
