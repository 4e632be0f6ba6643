# Without JavaScript: how long it takes, in words, and leaving, in both tiers; and
# the queue of one who is in line already.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Site;

my $site = Admission::Site->start(
    timeout => '30s',
    events => 'default vwr_rate=0 "title=Spring Concert" admit_interval=100ms;
               room  vwr_rate=1 vwr_burst=0 vwr_noshow=1;
               line  threshold=1;',
    http => 'map $uri $is { volatile; ~/(?<id>[^/]+)$ $id; }',
    server => <<'END');
        location /vwr/           { admission_page tier1; }
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location /queue/         { admission_page tier2; }
        location /at/ {
            admission_event  $is;
            admission_tier1  on;
            admission_deny   status;
            error_page       403 =200 @wait;
            empty_gif;
        }
        location @wait           { admission_page tier1; }
END

my $port = $site->port;
my @page = (Accept => 'text/html', 'Sec-Fetch-Mode' => 'navigate',
            'Sec-Fetch-Site' => 'same-origin');
my @operator = (bearer => $Admission::Site::SECRETS{admin});

for my $event (qw(room held moved)) {
    is post($port, "/api/admin/vwr/activate/$event", @operator)->status, 200,
        "(operator: $event)";
}


# A browser without scripts: keeps cookies, follows nothing.

sub ask ($jar, $method, $path, @headers) {
    my $cookie = join '; ', map { "$_=$jar->{$_}" } sort keys %$jar;
    my $response = request($port, $method, $path, headers =>
        [ @headers ? @headers : @page, $cookie ? (Cookie => $cookie) : (),
          $method eq 'POST'
              ? ('Content-Type' => 'application/x-www-form-urlencoded',
                 'Content-Length' => 0) : () ]);

    for my $line (grep { defined } $response->header('Set-Cookie')) {
        my ($name, $value) = $line =~ /^([^=]+)=([^;]*)/;
        $jar->{$name} = $value;
        delete $jar->{$name} if $value eq '';
    }

    return $response;
}

sub link_of ($page, $what) {
    my ($uri) = $page->body =~ $what;
    return ($uri // '') =~ s/&amp;/&/gr;
}

# "?a" of a page is of its own address

sub at ($path, $uri) { return $uri =~ m{^/} ? $uri : $path . $uri }

sub shown ($page) { return ($page->body =~ /<main class="([^"]*)"/)[0] // '' }

my $leave = qr/<a href="([^"]*)" class="quiet if-held" >/;
my $form = qr/<form class="choices" method="post" action="([^"]*)">/;
my $stay = qr/<a class="button" href="([^"]*)">Keep waiting/;
my $again = qr/<a class="button" href="([^"]*)">Join again/;


# ---- how long

post($port, '/vwr-api/assign/room') for 1 .. 300;

my $jar = {};
my $page = ask($jar, GET => '/vwr/room?nojs=1');

is shown($page), 'waiting', 'somebody waits';
like $page->body, qr/if-going" >Estimated wait: [^<]*\d minutes/,
    'for how long';
like $page->body, qr/<span lang="ko">예상 대기 시간: [^<]*\d분/, 'in Korean too';


# ---- leaving

sub waits ($path, $jar = {}) {
    my $page = ask($jar, GET => $path);
    like shown($page), qr/^waiting/, "$path: one waits";
    return ($jar, $page);
}

subtest 'the waiting room' => sub {
    my $path = '/vwr/held';
    my ($jar, $page) = waits("$path?nojs=1&return=/x%3Fa%3D1%26b");

    my $question = ask($jar, GET => at($path, link_of($page, $leave)));
    is shown($question), 'leaving', 'is asked';
    like $question->body, qr/Leave the line\?.*나가시겠습니까/, 'in both languages';
    like $question->header('Refresh'),
        qr/^30; url=\?nojs=1&return=%2Fx%3Fa%3D1%26b&ahead=1$/,
        'and waits on by itself';
    is link_of($question, $stay), '?nojs=1&return=%2Fx%3Fa%3D1%26b&ahead=1',
        'or by hand';

    my $call = link_of($question, $form);
    like $call, qr{^/vwr-api/leave/held/[\w.-]+\?return=%2Fvwr%2Fheld%3F},
        'to leave is a call of the API';

    my %before = %$jar;
    my $r = ask($jar, POST => $call, Accept => 'text/html',
                'Sec-Fetch-Mode' => 'navigate', 'Sec-Fetch-Site' => 'cross-site');
    is $r->status . ' ' . $r->json->{code}, '403 CROSS_SITE',
        'which no other site makes';
    is_deeply $jar, \%before, 'nothing has changed';

    $r = ask($jar, POST => $call, Accept => '*/*');
    is $r->json->{message}, 'Left', 'a script gets JSON';
    %$jar = %before;

    for my $to ('', '?return=//host', '?return=http://host/', '?return=/%5Chost',
                '?return=host')
    {
        $r = ask($jar, POST => $call =~ s/\?.*/$to/r, @page);
        is $r->status . ($r->header('Location') // ''), 200,
            "and so does a form that says '$to'";
        %$jar = %before;
    }

    $r = ask($jar, POST => $call, @page);
    is $r->status, 303, 'the form is led back';
    is $r->header('Location'),
        '/vwr/held?nojs=1&return=%2Fx%3Fa%3D1%26b&left=1', 'to the page';
    is $r->header('Cache-Control'), 'no-store', 'which nothing stores';
    ok !exists $jar->{'admission-ticket-held'}, 'the ticket is gone';

    my $issued = get($port, '/vwr-api/status/held')->json->{totalInQueue};
    my $gone = ask($jar, GET => $r->header('Location'));
    is shown($gone), 'left', 'which says so';
    is $gone->header('Refresh'), undef, 'and does not come again by itself';
    is link_of($gone, $again), '?nojs=1&return=%2Fx%3Fa%3D1%26b',
        'but by hand';
    is shown(ask($jar, GET => "$path?nojs=1&leave=1")), 'left',
        'whoever asks to leave then has';
    is get($port, '/vwr-api/status/held')->json->{totalInQueue}, $issued,
        'no other ticket was given by that';

    # a ticket that counts no more, and one that does

    (my $old) = waits("$path?nojs=1");
    $call = link_of(ask($old, GET => "$path?nojs=1&leave=1"), $form);
    post($port, '/api/admin/vwr/activate/held?restart=1', @operator);

    $r = wait_until {
        my $r = ask({ %$old }, POST => $call, @page);
        my $page = ask({ %$old }, GET => $r->header('Location'));
        $r->status == 303 && shown($page) eq 'left' && $page;
    };
    ok $r, 'a ticket that counts no more: has left as well';

    ($jar) = waits("$path?nojs=1");
    like shown(ask($jar, GET => "$path?nojs=1&left=1")), qr/^waiting/,
        'one that was not given up: waits on';
};

subtest 'in the place of what was denied' => sub {
    my $path = '/at/moved';
    my $page = ask({}, GET => "$path?a=1");
    my $nojs = link_of($page, qr/url=([^"]*)"/);
    (my $jar, $page) = waits($nojs);

    my $question = ask($jar, GET => link_of($page, $leave));
    is shown($question), 'leaving', 'is asked, at the same address';

    my $r = ask($jar, POST => link_of($question, $form), @page);
    is $r->header('Location'), "$nojs&left=1", 'and led back to it';
    is shown(ask($jar, GET => $r->header('Location'))), 'left', 'has left';
};

subtest 'a target that is too long for the way back' => sub {
    my $path = '/vwr/held';
    my ($jar, $page) = waits("$path?nojs=1&return=/" . '%25' x 700);
    my $question = ask($jar, GET => at($path, link_of($page, $leave)));
    my $r = ask($jar, POST => link_of($question, $form), @page);
    is $r->status . ' ' . $r->header('Location'), "303 $path?nojs=1&left=1",
        'is left out';
};


# ---- the queue

sub queue ($jar, $user, $query = '') {
    $jar->{access_token} //= $site->user($user);
    return ask($jar, GET => "/queue/line?nojs=1$query");
}

sub joins ($user) {
    my $jar = { access_token => $site->user($user) };
    my $r = ask($jar, POST => '/api/queue/check/line', Accept => '*/*');
    return ($jar, $r->json->{status});
}

# what she is shown once that is her place: what others did just before may not
# have been counted yet

sub number_of ($n, $jar, $query = '') {
    my $page;
    wait_until { shown($page = queue($jar, 'cho', $query)) eq 'waiting'
                 && $page->body =~ /class="number">$n</ };
    return $page;
}

subtest 'the queue' => sub {
    my ($ann, $in);
    wait_until { ($ann, $in) = joins('ann'); $in eq 'active' };
    is $in, 'active', '(one is in)';

    is shown(queue({}, 'eve')), 'script', 'who is not in line needs a script';

    my ($ben) = joins('ben');
    my ($cho) = joins('cho');
    my $page = number_of(2, $cho, '&return=/x');

    is shown($page), 'waiting', 'who is in line is told so';
    like $page->body, qr{Your\ place\ in\ line.*?class="number">2<.*
                         if-going"\ >Estimated\ wait:\ [a-z0-9].*
                         <dt>Ahead\ of\ you.*?<dd>1</dd>.*
                         <dt>Behind\ you.*?<dd>0</dd>}xs,
        'how far, and for how long';
    is $page->header('Refresh'), '2; url=?nojs=1&return=%2Fx', 'comes again';
    is $page->header('Cache-Control'), 'no-store', 'and is not stored';
    is shown(queue({ %$cho, access_token => $site->user('eve') }, 'eve')),
        'script', 'by the place of somebody else nobody is';

    my $hold = "/api/queue/admin/hold/line";
    is request($port, PUT => $hold, @operator)->status, 200, '(operator: hold)';
    ok wait_until { shown($page = queue($cho, 'cho')) eq 'waiting paused' },
        'held: it says so';
    like $page->body, qr/if-paused" >Entry is paused.*중단되었습니다/,
        'in both languages';
    request($port, DELETE => $hold, @operator);
    ok wait_until { shown(queue($cho, 'cho')) eq 'waiting' }, 'and that it goes on';

    my $question = ask($ben, GET => '/queue/line'
                                    . link_of(queue($ben, 'ben'), $leave));
    is shown($question), 'leaving', 'who wants to leave is asked';
    is link_of($question, $form),
        '/api/queue/leave/line?return=%2Fqueue%2Fline%3Fnojs%3D1%26left%3D1',
        'by a call of the API';

    my $r = ask($ben, POST => link_of($question, $form), @page);
    is $r->status . ' ' . $r->header('Location'),
        '303 /queue/line?nojs=1&left=1', 'and led back';
    ok !exists $ben->{'urr-queue-place-line'}, 'the place is gone';
    is shown(ask($ben, GET => $r->header('Location'))), 'left',
        'which the page says';
    is post($port, '/api/queue/heartbeat/line', bearer => $site->user('ben'))
       ->json->{status}, 'not_in_queue', 'and so it is';
    like number_of(1, $cho)->body, qr/class="number">1</,
        'who was behind is next';

    # the turn

    ask($ann, POST => '/api/queue/leave/line', Accept => '*/*');
    my $on;
    wait_until { ($on = queue($cho, 'cho', '&return=/gated'))->status == 302 };
    is $on->status . ' ' . ($on->header('Location') // ''), '302 /gated',
        'whose turn it is goes on';
    ok $cho->{'urr-entry-token-line'}, 'with the entry token';
    is get($port, '/gated', cookies => $cho, headers => [ 'X' => 1 ])->status, 403,
        'which is of this event and no other';

    $site->redis->stop;
    my ($busy) = queue({ %$cho }, 'cho');
    is shown($busy) . ' ' . $busy->status, 'busy 503', 'Redis gone: says so';
    like $busy->header('Refresh'), qr/^5; /, 'and comes again';
    is shown(queue({}, 'eve')), 'script', 'who shows nothing is told as ever';
};

done_testing;
