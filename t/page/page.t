# admission_page: the documents, their headers, what caches may keep, and
# wrong configurations.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::Nginx;
use Digest::SHA qw(sha256_base64);

my $own = <<'END';
<!DOCTYPE html><title>{{title}}</title>
<!-- a comment: <script> and {{unknown}} -->
<style>
b { color: red }
</style>
<body data-next="{{next}}" data-api="{{api}}" data-event="{{event}}">
<STYLE media='>'>i{}</STYLE >
<p>{{artist}} {not} {{ this }} {{}}
<script>
"{{ {{other}} </scrip"
</script>
END

my $nginx = Admission::Nginx->start(
    files => {
        'own.html' => $own,
        'crlf.html' => "<script>\r\n1\r2\n</script>",
        'plain.html' => '<p>{{event}}',
    },
    http => <<'END',
    admission_events {
        concert  "title=Rock & \"Roll\" <1>" "artist=누구";
        other    threshold=1;
    }
END
    server => <<'END',
        location /queue/ { admission_page tier2 next=/a?b=1&c=2; }
        location /vwr/   { admission_page tier1 "next=/events/{event}"; }
        location /own/   { admission_page tier2 own.html api=/x/; }
        location /crlf/  { admission_page tier1 crlf.html; }
        location /plain/ { admission_page tier1 plain.html;
                           expires 1h; add_header X-Added yes; }
        location /policies/ {
            location /policies/vwr/   { admission_page tier1; }
            location /policies/queue/ { admission_page tier2; }
            location /policies/admin  { admission_page admin; }
            location /policies/other  { return 200; }
            add_header Content-Security-Policy "default-src 'self'" always;
            add_header content-security-policy "script-src 'none'" always;
            add_header Content-Security-Policy-Report-Only "default-src *" always;
            add_header X-Added yes always;
        }
        location /gated/ { admission_page tier2; gzip on; gzip_min_length 1;
                           gzip_types text/html; gzip_vary on; }
END
);

my $port = $nginx->port;


# ---- the built-in pages

for my $path ('/queue/concert', '/vwr/concert') {
    my $page = get($port, $path);
    my $body = $page->body;

    is $page->status, 200, "$path: is there";
    is $page->header('Content-Type'), 'text/html; charset=utf-8',
        "$path: type";
    is $page->header('Content-Length'), length $body, "$path: length";
    cmp_ok length $body, '<', 30_000, "$path: is small";
    is $page->header('Cache-Control'), 'public, max-age=60',
        "$path: caches may keep it";
    is $page->header('Set-Cookie'), undef, "$path: no cookie";
    is $page->header('Vary'), undef, "$path: the same for all";
    is $page->header('X-Content-Type-Options'), 'nosniff', "$path: nosniff";
    is $page->header('Referrer-Policy'), 'same-origin', "$path: referrer";
    is $page->header('Content-Security-Policy'), policy($body),
        "$path: policy";

    unlike $body, qr/<(?:script|img|link|iframe)[^>]*(?:src|href)="(?!data:)/i,
        "$path: nothing is loaded";
    unlike $body, qr/\bstyle="|\bon\w+="|javascript:/, "$path: nothing inline";
    unlike $body, qr/\{\{|\@include/, "$path: all is replaced";
    like $body, qr/data-title="Rock &amp; &quot;Roll&quot; &lt;1&gt;"/,
        "$path: the title, escaped";
    like $body, qr/data-artist="누구"/, "$path: the artist";
    like $body, qr/data-event="concert"/, "$path: the event";

    my $head = head($port, $path);

    is $head->status, 200, "$path: HEAD";
    is $head->header('Content-Length'), length $body, "$path: HEAD, length";
    like $head->raw, qr/\r\n\r\n\z/, "$path: HEAD, no body";

    my $etag = $page->header('ETag');
    my $again = get($port, $path, headers => [ 'If-None-Match' => $etag ]);

    like $etag, qr/^"[0-9a-f-]+"$/, "$path: ETag";
    is $again->status, 304, "$path: 304";
    is $again->header('ETag'), $etag, "$path: 304 with the ETag";
    is $again->header('Cache-Control'), 'public, max-age=60',
        "$path: 304 with how long";
    is $again->body, '', "$path: 304 without a body";
    is get($port, $path, headers => [ 'If-None-Match' => '"x"' ])->status, 200,
        "$path: another ETag";
    isnt get($port, $path =~ s/concert/other/r)->header('ETag'), $etag,
        "$path: another event, another ETag";

    for my $method (qw(POST PUT DELETE OPTIONS)) {
        my $refused = request($port, $method, $path);

        is $refused->status, 405, "$path: no $method";
        is $refused->header('Allow'), 'GET, HEAD', "$path: $method, Allow";
    }
}

like get($port, '/queue/concert')->body,
    qr{data-next="/a\?b=1&amp;c=2" data-api="/api/queue"}, 'next and api';
like get($port, '/vwr/concert')->body,
    qr{data-next="/events/\{event\}" data-api="/vwr-api"}, 'of tier 1';
like get($port, '/vwr/CONCERT')->body, qr/data-event="concert"/,
    'an id is folded';


# ---- other ids

for my $id ('', 'a%20b', 'a%22b', '%ff', 'x' x 65) {
    my $page = get($port, "/queue/$id");

    is $page->status, 400, "no id, \"$id\": 400";
    like $page->body, qr/data-event=""/, "no id, \"$id\": the page says so";
    is $page->header('Cache-Control'), 'no-store', "no id, \"$id\": not kept";
}

my $unknown = get($port, '/vwr/unknown');

is $unknown->status, 404, 'no such event: 404';
like $unknown->body, qr/data-event="unknown"/, 'no such event: a page';
is $unknown->header('Cache-Control'), 'no-store', 'no such event: not kept';
is $unknown->header('ETag'), undef, 'no such event: no ETag';


# ---- without JavaScript: the way back

sub refresh ($query) {
    my ($url) = get($port, "/vwr/concert$query")->body
        =~ m{<noscript><meta http-equiv="refresh" content="0; url=(.*?)">};
    return $url;
}

is refresh(''), '?nojs=1', 'refresh: nowhere in particular';
is refresh('?return=%2Fa%3Fb%3D1%26c%3D%2522'),
    '?nojs=1&amp;return=%2Fa%3Fb%3D1%26c%3D%2522', 'refresh: with return';
is refresh('?admission_return=%2Fa&return=%2Fb'), '?nojs=1&amp;return=%2Fa',
    'refresh: by our own name';
is refresh("?return=/a'b<c>\"d;e"),
    '?nojs=1&amp;return=%2Fa%27b%3Cc%3E%22d%3Be', 'refresh: escaped';

for my $bad ('//host', '/%5Chost', '%2F/host', 'http:%2F%2Fhost', '/a%0d%0ab',
             '/' . 'a' x 2048, 'javascript:1')
{
    is refresh("?return=$bad"), '?nojs=1', 'refresh: not ' . substr $bad, 0, 20;
}

isnt get($port, '/vwr/concert?return=/a')->header('ETag'),
    get($port, '/vwr/concert?return=/b')->header('ETag'),
    'another return, another ETag';


# ---- a page of the operator's

my $page = get($port, '/own/concert');

is $page->body, $own =~ s/\{\{title\}\}/Rock &amp; &quot;Roll&quot; &lt;1&gt;/r
    =~ s/\{\{next\}\}/\//r =~ s/\{\{api\}\}/\/x/r =~ s/\{\{event\}\}/concert/r
    =~ s/\{\{artist\}\}/누구/r, 'own page: replaced';
is $page->header('Content-Security-Policy'), policy($own), 'own page: policy';

like get($port, '/crlf/concert')->header('Content-Security-Policy'),
    qr/\Q@{[ hash_of("\n1\n2\n") ]}\E/,
    'own page: line ends as browsers see them';

$page = get($port, '/plain/other');

is $page->body, '<p>other', 'own page: ends with a placeholder';
like $page->header('Content-Security-Policy'),
    qr/script-src 'none'; style-src 'none';/, 'own page: no script';
is $page->header('X-Added'), 'yes', 'own page: add_header works';


# ---- a policy for the whole site

for my $path (qw(vwr/concert queue/concert vwr/a%20b vwr/unknown admin
                 vwr/concert?nojs=1))
{
    for my $method ('GET', $path =~ /nojs/ ? () : 'HEAD') {
        my $page = request($port, $method, "/policies/$path",
                           headers => [ Accept => 'text/html' ]);
        my $body = get($port, "/policies/$path",
                       headers => [ Accept => 'text/html' ])->body;

        is_deeply [ $page->header('Content-Security-Policy') ],
            [ policy($body) ], "$path, $method: one policy, the page's own";
        is $page->header('Content-Security-Policy-Report-Only'), undef,
            "$path, $method: and none that only reports";
        is $page->header('X-Added'), 'yes', "$path, $method: others stay";
    }
}

my $cached = get($port, '/policies/vwr/concert', headers => [
    'If-None-Match' => get($port, '/policies/vwr/concert')->header('ETag') ]);

is $cached->status, 304, 'a page that a browser has';
is scalar(my @one = $cached->header('Content-Security-Policy')), 1,
    'keeps its one policy';
is scalar(my @all = get($port, '/policies/other')
                    ->header('Content-Security-Policy')), 2,
    'what is no page has those of the site';


# ---- compressed

$page = get($port, '/gated/concert', headers => [ 'Accept-Encoding' => 'gzip' ]);

is $page->header('Content-Encoding'), 'gzip', 'gzip: works';
like $page->header('ETag'), qr/^W\//, 'gzip: a weak ETag';
is get($port, '/gated/concert',
       headers => [ 'If-None-Match' => $page->header('ETag') ])->status, 304,
    'gzip: which is known again';


# ---- configurations

sub refused ($directive, $message, $content = '') {
    my ($status, $output) = Admission::Nginx->conf_test(
        files => { 'page.html' => $content },
        server => "location /q/ { $directive }");

    isnt $status, 0, "refused: $directive";
    like $output, $message, 'and says why';
}

refused('admission_page tier3;', qr/it takes "tier1", "tier2" or "admin"/);
refused('admission_page tier1 next=//x;', qr/a path of this site/);
refused('admission_page tier1 next=x;', qr/a path of this site/);
refused('admission_page tier1 api=/a?b;', qr/path before/);
refused('admission_page tier1 page.html b.html;', qr/one file/);
refused("admission_page $_;", qr/invalid value.*it takes one file, "next="/)
    for 'tier1 langs=ko', 'tier2 nex=/x', 'tier1 page.html x=', 'tier2 queue=/x';
refused('admission_page admin nex=/x;',
        qr/invalid value "nex=\/x".*it takes one file, "api=" and "queue="/);
refused('admission_page tier1 nowhere.html;', qr/nowhere\.html" failed/);
refused('admission_page tier1 page.html;', qr/is empty/);
refused('admission_page tier1 ./langs=ko;', qr{/\./langs=ko" failed});
refused('admission_page tier1 pages/a=b.html;', qr{/pages/a=b\.html" failed});
refused('admission_page tier1; admission_page tier2;', qr/duplicate/);
refused('admission_page tier1; admission_queue_api;', qr/content handler/);
refused('admission_page tier1 page.html;', qr/is too long/, 'x' x 262_145);
refused('admission_page tier1 page.html;', qr/\{\{titel\}\} is unknown/,
        '{{titel}}');
refused('admission_page admin page.html;', qr/\{\{nojs\}\} is unknown/,
        '{{nojs}}');
refused('admission_page tier1 page.html;', qr/\{\{next\}\} is inside a <script>/,
        '<script>"{{next}}"</script>');
refused('admission_page tier1 page.html;', qr/<style> does not end/,
        '<style>b{}</scrip');
refused('admission_page tier1 page.html;', qr/<script> does not end/,
        '<script src="');

done_testing;


# what a browser is told of a document: its scripts and styles, and no more

sub policy ($html) {
    $html =~ s/<!--.*?-->//gs;

    my ($scripts, $styles) = map {
        my $tag = $_;
        join '', map { " '" . hash_of($_) . "'" }
            $html =~ m{<$tag(?:"[^"]*"|'[^']*'|[^>"'])*>(.*?)</$tag}gsi;
    } qw(script style);

    $_ ||= " 'none'" for $scripts, $styles;

    return "default-src 'none'; script-src$scripts; style-src$styles; "
           . "connect-src 'self'; img-src data:; base-uri 'none'; "
           . "form-action 'self'; frame-ancestors 'none'";
}

sub hash_of ($text) {
    my $sum = sha256_base64($text);
    return 'sha256-' . $sum . '=' x (-length($sum) % 4);
}
