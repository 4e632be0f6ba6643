# Secrets are changed as docs/security.md says, on two hosts one after the
# other, and nobody is refused in between; and what happens to whom when one
# is replaced at once, since it has leaked.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Redis;

my $redis = Admission::Redis->start;
my @kinds = qw(tier1 tier2 user admin);
my %old = map { $_ => "$_-old-secret-of-the-tests-0123456789" } @kinds;
my %new = map { $_ => "$_-new-secret-of-the-tests-0123456789" } @kinds;
my @hosts = map { Admission::Nginx->start(http => conf(\%old)) } 1 .. 2;

# a host with these secrets, of each kind the first one signs

sub conf (@secrets) {
    my $lines = join "\n", map { my $kind = $_;
                    map { "admission_secret $kind $_->{$kind};" } @secrets }
                @kinds;

    return <<END;
    log_format why '\$admission_reason';
    access_log why.log why;

    admission_redis ${\ $redis->url} timeout=5s;
    admission_events { concert threshold=1 vwr_rate=0 claim_ttl=1h; }
    $lines

    server {
        listen           127.0.0.1:%%PORT%%;
        admission_user   jwt;
        admission_event  concert;

        location /api/queue/       { admission_queue_api; }
        location /api/queue/admin/ { admission_queue_api admin=on; }
        location /vwr-api/         { admission_vwr_api; }
        location /api/admin/vwr/   { admission_admin_api; }
        location = /tier1          { admission_tier1 on; empty_gif; }
        location = /tier2          { admission_tier2 on; empty_gif; }
    }
END
}

sub ask ($host, $method, $path, %opt) {
    return request($host->port, $method, $path, %opt);
}

sub user ($id) {
    return user_token($old{user}, userId => $id);
}


# ---- who is where: ann is in, ben in line, vic's turn came, wes waits

my %held;

sub queue ($host, $who, $call) {
    my @with = map { $held{$who}{$_} ? ($_ => $held{$who}{$_}) : () }
               qw(x-queue-entry-token x-queue-place);
    my $r = ask($host, $call eq 'check' ? 'POST' : 'GET',
                "/api/queue/$call/concert", bearer => user($who),
                headers => \@with);
    my $json = $r->json // {};

    $held{$who}{'x-queue-entry-token'} = $json->{entryToken}
        if $json->{entryToken};
    $held{$who}{'x-queue-place'} = $json->{place} if $json->{place};
    return $json;
}

queue($hosts[0], ann => 'check');
is queue($hosts[0], ben => 'check')->{position}, 1, 'ben is in line';

is ask($hosts[0], POST => '/api/admin/vwr/activate/concert',
       bearer => $old{admin})->status, 200, 'the waiting room is active';

for my $who (qw(vic wes)) {
    $held{$who} = ask($hosts[0], POST => '/vwr-api/assign/concert')->json;
}

is ask($hosts[0], POST => '/api/admin/vwr/advance/concert',
       bearer => $old{admin}, json => { batchSize => 1 })->json->{advanced},
    1, 'one is let through';

sub poll ($host, $who) {
    my $r = ask($host, GET =>
                "/vwr-api/check/concert/$held{$who}{requestId}",
                headers => [ 'x-admission-visitor' => $held{$who}{visitor} ]);

    $held{$who}{token} = $r->json->{token} if $r->json->{token};
    return $r;
}

for my $host (@hosts) {
    ok((wait_until { poll($host, 'vic')->json->{token} } 20),
       'vic has a token');
}


# What each of them gets from a host: all is well.

sub fine ($host, $what) {
    my %status = (
        gate1 => ask($host, GET => '/tier1', headers => [
            'x-admission-visitor' => $held{vic}{visitor},
            'x-vwr-token' => $held{vic}{token} ])->status,
        gate2 => ask($host, GET => '/tier2', bearer => user('ann'),
            headers => [ 'x-queue-entry-token' =>
                         $held{ann}{'x-queue-entry-token'} ])->status,
        ticket => poll($host, 'wes')->status,
        turn => poll($host, 'vic')->json->{token} ? 1 : 0,
        operator => ask($host, GET => '/api/queue/admin/concert',
                        bearer => $old{admin})->status,
        ann => queue($host, ann => 'status')->{status},
        ben => queue($host, ben => 'status')->{position},
    );

    is_deeply \%status, { gate1 => 200, gate2 => 200, ticket => 200, turn => 1,
                          operator => 200, ann => 'active', ben => 1 }, $what;
}

fine($_, 'at first') for @hosts;


# ---- the three steps, host after host; what one gives out the other takes

for my $step ([ 'it verifies', \%old, \%new ], [ 'it signs', \%new, \%old ]) {
    my ($name, @secrets) = @$step;

    for my $host (@hosts) {
        $host->reload(http => conf(@secrets));
        fine($_, $name) for @hosts, reverse @hosts;
    }
}

# who was issued anything since then has it of the new one

for my $who (qw(vic wes)) {
    my $given = ask($hosts[1], POST => '/vwr-api/assign/concert', headers => [
        'x-admission-visitor' => $held{$who}{visitor},
        'x-admission-ticket' => $held{$who}{requestId} ])->json;

    is $given->{requestId}, $held{$who}{requestId}, "$who\'s ticket stays";
}

ok jwt_verify($held{ann}{'x-queue-entry-token'}, $new{tier2}),
    'entry tokens are of the new secret';
ok jwt_verify($held{vic}{token}, $new{tier1}), 'those of tier 1 as well';


# ---- one that has leaked: replaced at once

my %other = (%old, map { $_ => "$_-other-secret-of-tests-0123456789" }
                   qw(tier1 tier2));

$_->reload(http => conf(\%other)) for @hosts;

for my $host (@hosts) {
    is ask($host, GET => '/tier2', bearer => user('ann'), headers => [
               'x-queue-entry-token' => $held{ann}{'x-queue-entry-token'} ]
           )->status, 403, 'tier2: the entry token is refused';
    is ask($host, GET => '/tier1', headers => [
               'x-admission-visitor' => $held{vic}{visitor},
               'x-vwr-token' => $held{vic}{token} ])->status, 403,
        'tier1: its token is refused';
    is poll($host, 'wes')->status, 404, 'and so is the ticket';
    like read_file($host->dir . '/why.log'), qr/^bad signature$/m,
        'for its signature';
}

is queue($hosts[0], ann => 'status')->{status}, 'active', 'ann is still in';
is ask($hosts[1], GET => '/tier2', bearer => user('ann'), headers => [
           'x-queue-entry-token' => $held{ann}{'x-queue-entry-token'} ]
       )->status, 200, 'with a new token';
is queue($hosts[1], ben => 'status')->{position}, 1,
    'ben is where he was, by what Redis knows';

my $again = ask($hosts[0], POST => '/vwr-api/assign/concert', headers => [
    'x-admission-visitor' => $held{wes}{visitor},
    'x-admission-ticket' => $held{wes}{requestId} ])->json;

is $again->{position}, 3, 'wes gets another ticket, at the end';

done_testing;
