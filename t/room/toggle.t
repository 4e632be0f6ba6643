# conf-examples/active-events.conf: a reload with another list of events takes
# effect at once, under load, and costs no request more than a reload of an
# NGINX without the module.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Example;
use Admission::HTTP;
use Admission::JWT;
use Admission::Nginx;
use Admission::Process;
use Admission::Redis;
use Time::HiRes qw(sleep);

use constant { RELOADS => 8, CLIENTS => 3, KEPT => 10, WORKERS => 2 };

my ($always, $toggled) = map { "3f0c2b1e-0000-4000-8000-00000000000$_" } 1, 2;

my $redis = Admission::Redis->start;
my $backend = Admission::Backend->start;
my $example = Admission::Example->start('active-events', redis => $redis,
                                        backend => $backend,
                                        workers => WORKERS);
my $port = $example->port;
my $user = user_token($example->secret('user'), userId => 'ann',
                      exp => time + 3600);

# the same site without the module

my $plain = Admission::Nginx->start(module => 0, workers => WORKERS,
    vars => { BACKEND => $backend->port },
    http => <<'END', server => <<'END');
    upstream site        { server 127.0.0.1:%%BACKEND%%; keepalive 32; }
    proxy_http_version   1.1;
    proxy_set_header     Connection "";
END
        location / { proxy_pass http://site; }
END


# ---- before: one event is in the list

is get($port, "/events/$always")->status, 403, 'in the list: gated';
is get($port, "/events/$toggled")->status, 200, 'not in it: open';
is get($port, "/api/seats/$toggled")->status, 200, 'both tiers';
is get($port, "/api/seats/\U$always")->status, 401,
    'upper and lower case are the same';

# who is in, and who has a number: neither may be lost

ok wait_until {
    (post($port, "/api/queue/check/$toggled", bearer => $user)->json->{status}
     // '') eq 'active'
}, 'a user is in';

my $ticket;
wait_until {
    $ticket = post($port, "/vwr-api/assign/$toggled")->json;
    $ticket->{position}
} 10;
ok $ticket->{position}, 'a visitor has a number';


# ---- reloads under load

my $list = $example->dir . '/active-events.map';
my $off = read_file($list);
my $on = "$off$toggled  on;\n";
my (@took, $gated);

my $with = under_load($port, sub {
    for my $n (1 .. RELOADS) {
        $gated = $n % 2;
        write_file($list, $gated ? $on : $off);

        my $old = $example->nginx;
        my $watch = stopwatch;

        $old->signal('HUP');

        my $want = $gated ? 403 : 200;
        ok wait_until(sub {
            get($port, "/events/$toggled")->status == $want
        }, 10), "reload $n: " . ($gated ? 'gated' : 'open');

        push @took, $watch->();
        settled($old);

        # by none but the new list now

        my %status;
        $status{ get($port, "/events/$toggled")->status }++ for 1 .. 20;
        is_deeply \%status, { $want => 20 }, "reload $n: for all";
    }
});

my $without = under_load($plain->port, sub {
    for (1 .. RELOADS) {
        $plain->signal('HUP');
        sleep 0.2;
        settled($plain);
    }
});

# the change is NGINX's start of new workers; the median, for a busy machine

@took = sort { $a <=> $b } @took;
cmp_ok $took[@took / 2], '<', 1 * slow, 'a change takes less than a second';
diag sprintf 'changes took %.2f to %.2f s; of requests on kept connections '
             . '%d of %d were lost, %d of %d without the module',
     @took[0, -1], map { $_->{lost}, $_->{kept} } $with, $without;


# ---- what the clients saw

for ([ 'with the module', $with ], [ 'without', $without ]) {
    my ($name, $seen) = @$_;

    cmp_ok $seen->{kept}, '>', 50, "$name: requests on kept connections";
    cmp_ok $seen->{fresh}, '>', 20, "$name: and on new ones";
    is_deeply $seen->{failed}, [], "$name: no new connection fails, and "
                                   . 'no answer is another one or cut';

    # NGINX closes idle connections; a request may cross that on its way, and
    # the next connection be one of the other worker, which has yet to leave

    cmp_ok $seen->{lost}, '<=', CLIENTS * RELOADS * WORKERS,
        "$name: a worker that leaves costs a client one connection";
}

is answered { post($port, "/api/queue/check/$toggled", bearer => $user) }
    ->json->{status}, 'active', 'who was in is in';
is get($port, "/vwr-api/check/$toggled/$ticket->{requestId}",
       headers => [ 'x-admission-visitor' => $ticket->{visitor} ])
       ->json->{position}, $ticket->{position}, 'a number is the same';

done_testing;


# Until the workers before a HUP are gone.

sub settled ($nginx) {
    wait_until { !$nginx->old_worker_pids && $nginx->worker_pids == WORKERS } 20
        or die 'workers do not end';
}


# Clients that ask all the time while the code runs: {fresh, kept, lost,
# failed => [...]}.  A client makes a connection, keeps it for so many requests,
# and asks again on a new one what was lost on the way.

sub under_load ($port, $code) {
    state $n = 0;
    my $name = 'load-' . ++$n;
    my $stop = test_dir . "/$name.stop";

    my @clients = map {
        my $id = $_;
        Admission::Process->start(name => "$name-$id",
                                  code => sub { client($port, $stop, $id) })
    } 1 .. CLIENTS;

    Admission::Test::register($_) for @clients;

    # all of them are under way
    for my $client (@clients) {
        wait_until { $client->output =~ /\n/ } 10;
    }

    $code->();

    # as many requests as it takes to tell, on a machine that is slow
    wait_until {
        my $text = join '', map { $_->output } @clients;
        (() = $text =~ /^fresh$/mg) > 20 && (() = $text =~ /^kept$/mg) > 50
    } 30;
    write_file($stop, '');

    for my $client (@clients) {
        wait_until { !$client->alive } 20 or die "$name does not end";
        $client->finish;        # by itself, as it should
    }

    my %seen = (fresh => 0, kept => 0, lost => 0, failed => []);

    for my $line (map { split /\n/, $_->output } @clients) {
        if ($line =~ /^(fresh|kept|lost)$/) {
            $seen{$1}++;
        } else {
            push $seen{failed}->@*, $line;
        }
    }

    return \%seen;
}


sub client ($port, $stop, $id) {
    my @paths = ("/events/$toggled", "/events/$always",
                 "/api/seats/$toggled");
    my $asked = 0;
    local $| = 1;

    while (!-e $stop) {
        my $connection = Admission::HTTP->connect($port);

        for my $request (1 .. KEPT) {
            my $path = $paths[($id + $asked++) % @paths];
            my $answer = $connection->can('send')
                ? $connection->request(GET => $path) : $connection;

            if ($answer->status =~ /^(?:200|401|403)$/) {
                print $request == 1 ? "fresh\n" : "kept\n";

            } elsif ($request > 1 && !$answer->status
                     && ($answer->raw // '') eq '')
            {
                print "lost\n";
                last;

            } else {
                my $what = $answer->error // 'answer';
                print "request $request: ", $answer->status, " $what\n";
                last;
            }

            # NGINX says when it will close
            last if lc($answer->header('Connection') // '') eq 'close';
            sleep 0.002;
        }

        $connection->close if $connection->can('close');
    }
}
