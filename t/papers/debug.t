# A debug log: what a request went through can be followed by the module's lines
# alone, those of its connection, and a step by those without one.  Nothing
# secret is in them.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Waiting;

my $binary = $ENV{TEST_NGINX_BINARY} // Admission::Nginx::nginx_binary();

plan(skip_all => 'NGINX is built without --with-debug')
    if (run($binary, '-V'))[1] !~ /--with-debug/;

my $password = 'redis-password-of-the-tests';

my $site = waiting_site(
    workers => 1, log_level => 'debug', timeout => '30s',
    redis_opt => { password => $password },
    events => 'default vwr_rate=0 threshold=1 admit_interval=100ms;',
    server => <<'END');
        location /strict { admission_tier2 on strict=on; empty_gif; }
        location /many   { admission_rate_limit many rate=1000r/s; empty_gif; }
        location /once   { admission_rate_limit once rate=1r/h; empty_gif; }
END

my $nginx = $site->nginx;
my (@secret, %user);

for my $name (qw(ann ben)) {
    my %claims = (userId => "id-of-$name-4711",
                  email => "mail-of-$name\@example.com");

    $user{$name} = user_token($Admission::Site::SECRETS{user}, %claims);
    push @secret, $user{$name}, values %claims;
}


# The module's lines of a connection, or those without a number: what follows
# them is NGINX's own, with the request in it.

sub lines_of ($log, $number) {
    my $connection = $number ? "\\*$number " : '';

    return map { /^\S+ \S+ \[\w+\] \d+#\d+: ${connection}(admission[ :].*)/
                 ? $1 =~ s/, client: .*//r : () }
           split /\n/, $log;
}

# undef if the lines have these in this order, else the first that is missing

sub missing ($lines, @patterns) {
    my @left = @patterns;

    for my $line (@$lines) {
        shift @left if @left && $line =~ /^admission: $left[0]/;
    }

    return $left[0];
}

is missing([ 'admission: b', 'admission: a' ], 'a', 'b'), 'b',
    'lines in another order would be seen';

# the one request that is made by a sub

sub follow ($what, $code, @patterns) {
    my $mark = $nginx->log_mark;
    my $response = $code->();
    my $log = $nginx->error_log($mark);

    my ($number) = $log =~ /\*(\d+) http request line: /;
    my @lines = lines_of($log, $number // 0);

    is missing(\@lines, @patterns), undef, $what
        or diag join "\n", 'there is:', @lines;

    push @secret, map { $_->{value} } values $response->cookies->%*;
    return $response;
}

sub gated ($path, $name, %opt) {
    return get($site->port, $path, bearer => $user{$name}, %opt);
}

sub queue ($method, $call, $name, %opt) {
    return request($site->port, $method, "/api/queue/$call/concert",
                   bearer => $user{$name}, %opt);
}


# ---- the queue

my $in = follow('a queue check that lets in',
    sub { queue(POST => 'check', 'ann') },
    'user known',
    'call "check/\*", event "concert"',
    'queue asked, event "concert"',
    'request suspended',
    'request resumed',
    'queue answered, event "concert": rc 0',
    'queue, event "concert": state 2',
    'issues "urr-entry-token", event "concert"');

my ($cookie) = grep { /^urr-entry-token/ } keys $in->cookies->%*;
ok defined $cookie, 'an entry token';

my $waits = follow('a queue check of who has to wait',
    sub { queue(POST => 'check', 'ben') },
    'user known',
    'call "check/\*", event "concert"',
    'queue asked, event "concert"',
    'request suspended',
    'request resumed',
    'queue answered, event "concert": rc 0',
    'queue, event "concert": state 1, position 1 of 1',
    'issues "urr-queue-place", event "concert"');

ok((grep { /^urr-queue-place/ } keys $waits->cookies->%*), 'a place');


# ---- the gate

my %entered = (cookies => { $cookie => $in->cookie($cookie) });

is follow('a request that passes', sub { gated('/gated', 'ann', %entered) },
    'user known',
    'token of x-queue-entry-token #0: good',
    'passes the gate: pass')->status, 200, 'it passed';

is follow('a denial: no token', sub { gated('/gated', 'ann') },
    'user known',
    'denied at the gate: tier2, no token')->status, 403, 'it was denied';

my $wrong = entry_token($Admission::Site::SECRETS{tier2}, sub => 'opera',
                        uid => 'id-of-ann-4711', tier => 2);
push @secret, $wrong;

follow('a denial: the token of another event',
    sub { gated('/gated', 'ann', cookies => { $cookie => $wrong }) },
    'user known',
    'token of x-queue-entry-token #0: token of another event',
    'denied at the gate: tier2, token of another event');

follow('a denial: nobody', sub { get($site->port, '/gated') },
    'user not known',
    'denied at the gate: user, no user');

my @strict = ('token of x-queue-entry-token #0: good',
              'redis asked of a user of event "concert"',
              'request suspended');

follow('strict=on', sub { gated('/strict', 'ann', %entered) },
    @strict,
    'redis told of a user: active',
    'request resumed',
    'passes the gate: pass');

my @limit = ('rate limits, 1 windows asked in 1 calls',
             'request suspended',
             'script limit answered 0, 0 pending',
             'request resumed');

follow('a rate limit', sub { gated('/many', 'ann') },
    @limit,
    'rate limit "many": \d+ left, \d+ ms, by redis',
    'passes the gate: pass');

gated('/once', 'ann');
is follow('a rate limit that refuses', sub { gated('/once', 'ann') },
    @limit,
    'rate limit "once": -1 left, \d+ ms, by redis',
    'denied at the gate: limited, once')->status, 429, 'it was refused';


# ---- a step

my $mark = $nginx->log_mark;

follow('who leaves', sub { queue(POST => 'leave', 'ann') },
    'call "leave/\*", event "concert"',
    'queue left, event "concert"',
    'request suspended',
    'request resumed');

my @leave = ('script queue_leave of event "concert"',
             'queue of event "concert": 0 joined, 0 let in, 1 left');
my @step = ('step of event "concert"',
            'script queue_step of event "concert"',
            'queue of event "concert": 0 joined, 1 let in, 0 left',
            'event "concert": .* 0 wait, 1 in',
            'stepped event "concert": rc 0');
my @lines;

wait_until {
    @lines = lines_of($nginx->error_log($mark), 0);
    !defined missing(\@lines, @step);
} 20;

for my $of ([ 'what it did', @leave ], [ 'a step that lets in', @step ]) {
    my ($what, @patterns) = @$of;

    is missing(\@lines, @patterns), undef, $what
        or diag join "\n", 'there is:', @lines;
}


follow('is in', sub { queue(POST => 'check', 'ben') },
    'queue, event "concert": state 2');

follow('a denial: not active any more',
    sub { gated('/strict', 'ann', %entered) },
    'denied at the gate: tier2, ');


# ---- the waiting room

is operator($site, POST => 'activate/concert')->status, 200, 'activated';

my $visitor = {};

my $ticket = follow('a ticket', sub { assign($site, 0, $visitor) },
    'call "assign/\*", event "concert"',
    'request suspended',
    'request resumed',
    'visit of event "concert", position 1: 0')->json->{requestId};

push @secret, $ticket;

follow('a poll', sub { check($site, 0, $visitor, $ticket) },
    'call "check/\*/\*", event "concert"',
    'ticket of event "concert": 0',
    'ticket waits, 1 ahead, served 0 of 1');

advance_past($site);

my $turn = follow('a poll of whose turn has come',
    sub { check($site, 0, $visitor, $ticket) },
    'ticket of event "concert": 0',
    'ticket admitted, 0 ahead, served 1 of 1',
    'issues "urr-vwr-token", event "concert"');

push @secret, $turn->json->{token};

follow('a poll with what is no ticket',
    sub { check($site, 0, $visitor, 'x.y.z') },
    'ticket of event "concert": -5');

follow('tier 1: denied', sub { get($site->port, '/events/') },
    'denied at the gate: tier1, no token');

follow('tier 1: passes', sub { visit($site, 0, $visitor, GET => '/events/') },
    'token of x-vwr-token #0: good',
    'passes the gate: pass');


# ---- nothing secret

push @secret, $password, values %Admission::Site::SECRETS;

# also the parts of what is signed
my %secret = map { $_ => 1 } grep { length > 7 }
             map { ($_, /^[\w.-]{40,}$/ ? split /\./ : ()) } @secret;

my $log = $nginx->error_log;
my @own = lines_of($log =~ s/(#\d+: )\*\d+ /$1/gr, 0);
my $own = join "\n", @own;

cmp_ok scalar(keys %secret), '>', 20, 'secrets';
cmp_ok scalar @own, '>', 100, 'lines';

is_deeply [ grep { index($own, $_) >= 0 } sort keys %secret ], [],
    'none of them is in a line of the module';

cmp_ok scalar(grep { index($log, $_) >= 0 } keys %secret), '>', 10,
    'though NGINX has them in its own';

done_testing;
