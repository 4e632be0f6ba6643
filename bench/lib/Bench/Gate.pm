# A small static file with user and entry token verified, against the same
# requests and file without the gate.

package Bench::Gate;

use v5.36;

use Carp;

use Admission::HTTP;
use Bench;


sub run ($bench, $site) {
    my $event = $site->event;
    my $path = "/events/$event/seats.html";
    my @pairs = $site->pairs;

    my $template = "GET $path HTTP/1.1|Host: localhost|Accept: text/html|"
                   . 'Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|'
                   . "Cookie: access_token=%s; urr-entry-token-$event=%s||";

    my %file = (seen => $site->requests('seen', $template, @pairs[0 .. 15]),
                new  => $site->requests('new', $template, @pairs));

    my @servers = ('off', 'gate', $site->has_peer ? 'peer' : ());

    for my $server (@servers) {
        my $status = get($site->port($server), $path)->status;

        croak "$server: $status without tokens"
            if ($status == 200) != ($server eq 'off');

        $bench->load($site->port($server), $file{seen}, seconds => 1);
    }

    my $skip = 0;
    my $pids = { worker => $site->worker };

    my $results = $bench->rounds(map {
        my $which = $_;
        map {
            my $server = $_;
            "$server, $which" => sub {
                my $r = $bench->load($site->port($server), $file{$which},
                                     skip => $skip, pids => $pids);
                $skip += $r->{n};
                return $r;
            };
        } @servers;
    } qw(seen new));

    my $beside = beside($bench, $site, %file);

    my %target = (seen => 0.85, new => 0.6);
    my %what = (seen => 'tokens seen before', new => 'tokens never seen');

    $bench->heading('Gate: user and entry token verified, static file of 1 KB, '
                    . 'against the gate off');

    for my $which (qw(seen new)) {
        my ($off, $gate, $peer) = map { $results->{"$_, $which"} }
                                  qw(off gate peer);

        # of processor time: what the rate is where the worker has nothing
        # to wait for, which on a busy machine, or with a slow generator, it
        # has

        $bench->ratio_row("$what{$which}: requests a CPU second",
                          Bench::ratio(@{$beside->{$which}}{qw(gate off)},
                                       sub ($r) { 1 / $r->{cpu}{worker} }),
                          [ '>=', $target{$which} ]);
        $bench->ratio_row('  requests a second',
                          Bench::ratio($gate, $off, sub ($r) { $r->{rate} }));
        $bench->ratio_row('  requests a second, against the Lua peer',
                          Bench::ratio($gate, $peer,
                                       sub ($r) { $r->{rate} }))
            if $peer;
    }

    for my $which (qw(seen new)) {
        $bench->rate_row("$_, $which", $results->{"$_, $which"})
            for @servers;
    }

    for my $which (qw(seen new)) {
        $bench->rate_row("$_, $which, both", $beside->{$which}{$_})
            for qw(off gate);
    }
}


# Two NGINX at the same time, one with the gate and one without.

sub beside ($bench, $site, %file) {
    my %nginx = map { $_ => $site->another_nginx("$_:") } qw(off gate);
    my %results;

    for my $which (qw(seen new)) {
        $results{$which} = $bench->beside({}, map {
            my $server = $_;
            $server => sub ($skip) {
                return $bench->begin_load($nginx{$server}->port($server),
                    $file{$which}, skip => $skip,
                    pids => { worker => ($nginx{$server}->worker_pids)[0] });
            };
        } qw(off gate));
    }

    $_->quit for values %nginx;
    return \%results;
}


1;
