# admission_page as the error_page of what could not be answered: whatever the
# method was, the denial is told with its status.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Site;

my $ways = join '', map { my ($name, $overwrite) = @$_; <<"END" }
        location /room-$name/  { admission_tier1 on;
                                 error_page 403 $overwrite \@page; empty_gif; }
        location /line-$name/  { admission_tier2 on;
                                 error_page 401 403 $overwrite \@queue;
                                 empty_gif; }
        location /often-$name/ { admission_rate_limit often rate=1r/h;
                                 error_page 429 $overwrite \@page; empty_gif; }
END
    [ plain => '' ], [ ok => '=200' ], [ own => '=' ];

my $site = Admission::Site->start(
    timeout => '5s', events => 'show vwr=on vwr_rate=0;', event => '$is',
    http => 'map $uri $is { volatile; ~/(?<id>[^/]+)$ $id; }',
    server => <<'END' . $ways);
        admission_deny  status;

        location /vwr/           { admission_page tier1; }
        location /vwr-api/       { admission_vwr_api; }

        location @page           { admission_page tier1; }
        location @queue          { admission_page tier2; }
        location @operators      { admission_page admin; }

        location /admin/  { admission_tier1 on; error_page 403 @operators;
                            empty_gif; }
        location /exact/  { admission_tier2 on; error_page 401 403 @queue;
                            recursive_error_pages on; empty_gif; }
        location /other/  { admission_tier1 on; error_page 403 =418 @page;
                            empty_gif; }
        location /path/   { admission_tier1 on; error_page 403 =200 /vwr/$is;
                            empty_gif; }

        location /dead/   { error_page 502 @page; proxy_pass http://127.0.0.1:1; }
        location /silent/ { error_page 502 = @page;
                            proxy_pass http://127.0.0.1:1; }
        location /sign/   { error_page 401 @page; auth_basic x;
                            auth_basic_user_file /dev/null; empty_gif; }
END

my $port = $site->port;
my @page = (Accept => 'text/html,*/*', 'Sec-Fetch-Mode' => 'navigate');
my @script = (Accept => '*/*');
my @ann = (bearer => $site->user('ann'));

sub ask ($method, $path, $headers, %opt) {
    return request($port, $method, $path, headers => $headers, %opt,
                   body => $method =~ /^P/ ? 'x' x 20_000 : undef);
}


# ---- denials of the gate: by @name, which keeps the method

my @denials = (
    # of, status, code, more, where one goes to
    [ 'room', 403, 'TIER1_REQUIRED', [],    '/vwr/show' ],
    [ 'line', 401, 'USER_REQUIRED',  [],    undef ],
    [ 'line', 403, 'TIER2_REQUIRED', \@ann, '/queue/show' ],
    [ 'often', 429, 'RATE_LIMITED',  [],    undef ],
);

ok +(wait_until { get($port, '/vwr-api/status/show')->json->{isActive} } 20),
    '(the waiting room is there)';
get($port, '/often-plain/show');   # all that one may have in an hour

for my $denial (@denials) {
    my ($of, $status, $code, $opt, $to) = @$denial;

    for my $way ([ 'plain', $status, $status ], [ 'ok', 200, 200 ],
                 [ 'own', 200, $status ])
    {
        my ($name, $got, $sent) = @$way;
        my $path = "/$of-$name/show";
        my $page = ask('GET', $path, \@page, @$opt);

        is $page->status, $got, "$path, $code: GET";
        like $page->body, qr/<body data-event="show"/, 'the page';

        for my $method (qw(POST PUT PATCH DELETE OPTIONS PROPFIND)) {
            my $page = ask($method, $path, \@page, @$opt);

            is $page->status, $sent, "$path, $code: $method of a form";
            like $page->body, qr/<body data-event="show"/, 'the page';
            like $page->body, qr{data-return="\Q$path\E"}, 'that knows it';
            is $page->header('Cache-Control'), 'no-store', 'not stored';

            my $json = ask($method, $path, \@script, @$opt);

            is $json->status, $status, "$path, $code: $method of a script";
            is $json->header('Allow'), undef, 'no word of methods';
            is $json->header('Content-Type'), 'application/json', 'JSON';
            is $json->json->{code}, $code, 'with what is missing';
            is $json->json->{redirectTo}, $to, 'and where to get it';
            is $json->header('Cache-Control'), 'no-store', 'not stored';
            is scalar(grep { defined } $json->header('WWW-Authenticate')),
                $status == 401 ? 1 : 0, 'a challenge where one is due';
            ok $status != 429 || ($json->json->{retryAfter} >= 1
               && $json->header('Retry-After') == $json->json->{retryAfter}),
                'when to come again';
        }

        is ask('HEAD', $path, \@page, @$opt)->status, $got, "$path: HEAD";
    }
}

for my $method (qw(POST DELETE)) {
    is ask($method, '/other/show', \@page)->status, 418, "$method: =418";
    is ask($method, '/other/show', \@script)->json->{code}, 'TIER1_REQUIRED',
        "$method: =418, of a script";
    is ask($method, '/exact/show', \@script)->status, 401,
        "$method: recursive_error_pages";

    # by a path the method becomes GET: that is NGINX's

    like ask($method, '/path/show', \@script)->body, qr/<body data-event/,
        "$method: by a path";

    my $admin = ask($method, '/admin/show', \@page);

    is $admin->status, 403, "$method: the operators' page";
    like $admin->body, qr/<html/, "$method: which is one";
    is ask($method, '/admin/show', \@script)->json->{code}, 'TIER1_REQUIRED',
        "$method: of a script";
}


# ---- what others could not do

for my $case ([ '/dead/show', 502, 502, 'UNAVAILABLE' ],
              [ '/silent/show', 200, 503, 'UNAVAILABLE' ],
              [ '/sign/show', 401, 401, 'FORBIDDEN' ])
{
    my ($path, $shown, $told, $code) = @$case;

    for my $method (qw(GET POST DELETE)) {
        my $page = ask($method, $path, \@page);

        is $page->status, $shown, "$path: $method, the page";
        like $page->body, qr/<body data-event="show"/, 'which it is';
        is $page->header('Cache-Control'), 'no-store', 'and is not stored';
        is $page->header('ETag'), undef, 'by nobody';
    }

    my $json = ask('POST', $path, \@script);

    is $json->status, $told, "$path: a script's POST";
    is $json->json->{code}, $code, 'why';
}

is_deeply [ map { s/ .*//r }
            ask('POST', '/sign/show', \@script)->header('WWW-Authenticate') ],
    ['Basic'], 'the challenge is that of who asked for it';


# ---- the page itself is only to be looked at

for my $headers (\@page, \@script) {
    my $refused = ask('POST', '/vwr/show', $headers);

    is $refused->status, 405, 'POST to the page';
    is $refused->header('Allow'), 'GET, HEAD', 'which says what it takes';
}

done_testing;
