# Three instances reloaded and started anew, one after the other, while a crowd
# polls: no ticket and no token ends, no position changes, and the waiting room
# is never seen inactive.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Process;
use Admission::Site;
use Admission::Swarm;
use Admission::Waiting;
use Time::HiRes qw(sleep);

my $visitors = 30;
my @events = qw(concert listed);

my $site = waiting_site(instances => 3, timeout => '5s',
                        events => <<'END', server => <<'END2');
default vwr_rate=0;
listed  vwr=on vwr_rate=0;
END
        location /gated/ {
            admission_event $arg_e;
            admission_tier1 on;
            empty_gif;
        }
END2

operator($site, POST => 'activate/concert');

for my $port ($site->ports) {
    for my $event (@events) {
        wait_until { get($port, "/vwr-api/status/$event")->json->{isActive} };
    }
}

sub room ($i, $event) {
    return operator($site, GET => "status/$event", instance => $i)->json;
}

my %activation = map { $_ => room(0, $_)->{activation} } @events;


# Tickets of both, and a token of each: its holder was let in.

my (@tickets, %inside);

for my $event (@events) {
    my $visitor = $inside{$event} = {};
    my $ticket = assign($site, 0, $visitor, event => $event)
                 ->json->{requestId};

    advance_past($site, $event);
    check($site, 0, $visitor, $ticket, event => $event);

    for my $n (1 .. $visitors) {
        my $r = assign($site, $n % 3, {}, event => $event)->json;
        push @tickets, { event => $event, position => $r->{position},
                         id => $r->{requestId} };
    }
}


# The crowd: writes down what should not be.  An instance may be down (0), or
# not have heard from Redis yet (503).

sub poll ($file) {
    my $swarm = Admission::Swarm->new(connections => 60, retry => 1);
    my $answered = 0;

    my $look; $look = sub ($ticket) {
        my ($port) = ($site->ports)[rand 3];

        $swarm->request($port, 'GET',
            "/vwr-api/check/$ticket->{event}/$ticket->{id}", {}, sub ($r) {
                my $json = $r->json // {};
                $answered++ if $r->status == 200;
                my $wrong = $r->status == 200
                    ? $json->{position} != $ticket->{position}
                      || $json->{admitted}
                    : $r->status && $r->status != 503;

                note_down($file, $r->status . " $ticket->{event}: "
                                 . $r->body) if $wrong;
                $swarm->timer(0.1, sub { $look->($ticket) });
            });
    };

    my $gate; $gate = sub ($event) {
        my ($port) = ($site->ports)[rand 3];

        $swarm->request($port, 'GET', "/gated/?e=$event", {}, sub ($r) {
            note_down($file, "gate of $event: " . $r->status)
                if $r->status && $r->status != 403;
            $swarm->timer(0.1, sub { $gate->($event) });
        });
    };

    $look->($_) for @tickets;
    $gate->($_) for @events;
    $swarm->run(until => sub { -e "$file.end" }, timeout => 120);
    print $answered;
    STDOUT->flush;
}

sub note_down ($file, $line) {
    open my $out, '>>', $file or die "$file: $!";
    syswrite $out, "$line\n";
}

my $file = write_file(test_dir . '/wrong', '');
my $crowd = Admission::Process->start(name => 'crowd',
                                      code => sub { poll($file) });


sub all_there ($what) {
    for my $i (0 .. 2) {
        for my $event (@events) {
            wait_until { (room($i, $event)->{activation} // 0)
                         == $activation{$event} };
            is room($i, $event)->{activation}, $activation{$event},
                "$what: the same activation, instance $i, $event";
            is visit($site, $i, { $inside{$event}->%* }, 'GET',
                     "/gated/?e=$event")->status, 200,
                "$what: tokens pass, instance $i, $event";
        }
    }

    is read_file($file), '', "$what: nothing went wrong for those who wait";
}

sub reloaded ($from, $to) {
    for my $i (0 .. 2) {
        my $conf = $site->nginx($i)->dir . '/nginx.conf';
        write_file($conf, read_file($conf) =~ s/$from/$to/r);
        $site->nginx($i)->reload;
    }
}

all_there('before');

reloaded('', '');
all_there('reloaded');

reloaded('listed  vwr=on', 'listed vwr=auto');
reloaded('default vwr_rate=0;', 'default vwr_rate=0; concert vwr=on;');
all_there('on and auto exchanged');
is room(0, 'concert')->{setBy}, 'api', 'what was active is as it was';

reloaded('admission:1m', 'admission:2m');
all_there('with another size of the zone');

for my $i (0 .. 2) {
    $site->nginx($i)->quit;
    $site->nginx($i)->start_again;
}
all_there('started anew');

write_file("$file.end", '');
ok $crowd->wait_exit(10), 'the crowd goes';
$crowd->finish;
cmp_ok $crowd->output, '>', 100, 'which had answers';

# the last word: the tickets' own visitors, and those who come

my %seen;
$seen{ assign($site, $_ % 3, {})->json->{position} }++ for 1 .. 30;
is_deeply [ sort { $a <=> $b } keys %seen ],
    [ $visitors + 2 .. $visitors + 31 ], 'positions go on';

done_testing;
