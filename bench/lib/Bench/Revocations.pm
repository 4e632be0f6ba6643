# The gate with many revocations known, against the gate with none: on three
# NGINX with zones of their own, since what a host knows it does not forget.
# The third one, with none either, shows what the ratio is worth.

package Bench::Revocations;

use v5.36;

use Carp;
use List::Util qw(min);

use Admission::HTTP;
use Admission::Test ();
use Bench;
use Bench::Site;

BEGIN { *wait_until = \&Admission::Test::wait_until }

my $revocations = 10_000;


sub run ($bench, $site) {
    my $event = $site->event;
    my $path = "/events/$event/seats.html";

    my $template = "GET $path HTTP/1.1|Host: localhost|Accept: text/html|"
                   . 'Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|'
                   . "Cookie: access_token=%s; urr-entry-token-$event=%s||";

    my %nginx = map { $_ => $site->another_nginx("$_:") } qw(none known other);

    my @pairs = $site->pairs(revoke($site, $nginx{known}, 'known:', $path));

    my %file = (seen => $site->requests('revoked-seen', $template,
                                        @pairs[0 .. 15]),
                new  => $site->requests('revoked-new', $template, @pairs));

    my %results = map {
        my $which = $_;
        $which => $bench->beside({}, map {
            my $name = $_;
            $name => sub ($skip) {
                return $bench->begin_load($nginx{$name}->port('gate'),
                    $file{$which}, skip => $skip,
                    pids => { worker => ($nginx{$name}->worker_pids)[0] });
            };
        } qw(none known other));
    } qw(seen new);

    $bench->heading("Gate with $revocations revocations known, against none");

    my %what = (seen => 'tokens seen before', new => 'tokens never seen');
    my $cpu = sub ($r) { 1 / $r->{cpu}{worker} };

    for my $which (qw(seen new)) {
        my ($none, $known, $other) = @{ $results{$which} }{qw(none known
                                                              other)};
        my $noise = Bench::ratio($other, $none, $cpu);

        # no further from 1 than what is the same is in a round, or 5%
        my $least = sprintf '%.2f', min(0.95, $noise->{min},
                                        2 - $noise->{max});

        $bench->ratio_row("$what{$which}: requests a CPU second",
                          Bench::ratio($known, $none, $cpu),
                          [ '>=', $least ]);
        $bench->ratio_row('  none, against none', $noise);
    }

    for my $which (qw(seen new)) {
        $bench->rate_row("$_, $which, both", $results{$which}{$_})
            for qw(none known);
    }

    $_->quit for values %nginx;
}


# Has a host learn of them as it does of all: by steps of an event with users.
# Returns a second in the life of its data: a token older than that would be
# reported to Redis, as after a loss.

sub revoke ($site, $nginx, $prefix, $path) {
    my $event = $site->event;
    my @gone = map { sprintf 'gone-%012d', $_ } 1 .. $revocations;

    my $joined = post($nginx->port('queue'), "/api/queue/check/$event",
        cookies => { access_token => Bench::Site::user_token('first') });

    croak 'join: ' . $joined->status if $joined->status != 200;

    my $adm = time + 1;

    $site->redis->cmd('ZADD', "$prefix\{$event}:revoked",
                      map { ($adm * 1_000_000 + $_, $gone[$_ - 1]) }
                          1 .. $revocations);

    my $known = wait_until {
        get($nginx->port('gate'), $path, cookies => {
            access_token => Bench::Site::user_token($gone[-1]),
            "urr-entry-token-$event" => Bench::Site::entry_token($gone[-1], $adm),
        })->status == 403
    } 30;

    croak 'the revocations do not become known' if !$known;
    return $adm;
}


1;
