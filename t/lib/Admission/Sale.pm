# A sale to a crowd: users who join, leave, buy and vanish as they like, at any
# of a site's hosts, and what is sold and who is inside meanwhile, by Redis.
#
#     my $sale = Admission::Sale->new($site, seats => 10, users => 200);
#     $sale->turn(100);                # so many users do something
#     $sale->until(sub { $sale->look == 10 }, 60);
#     $sale->{worst};                  # the most that were sold and inside when
#                                      # somebody had been let in

package Admission::Sale;

use v5.36;

use List::Util qw(sum0);
use Time::HiRes qw(sleep time);

use Admission::HTTP;
use Admission::Metrics;
use Admission::Test;


# what event of the site, with the seats that it has, and how many come for them

sub new ($class, $site, %opt) {
    my $seed = $ENV{TEST_SEED} // int rand 1e9;
    srand $seed;
    Test::More::note("TEST_SEED=$seed");

    return bless { site => $site, looks => 0, worst => 0, total => 0,
                   users => [ map { { id => "u$_" } } 1 .. $opt{users} ] },
                 $class;
}

sub users ($self) { return $self->{users}->@* }


# a call by what the user has heard, at any host

sub api ($self, $user, $method, $call) {
    my @shown;
    push @shown, 'X-Queue-Place' => $user->{place} if $user->{place};
    push @shown, 'X-Queue-Entry-Token' => $user->{token} if $user->{token};

    my $site = $self->{site};
    return $site->call(int rand $site->{instances}, $user->{id}, $method,
                       $call, headers => \@shown);
}


# What is sold, and who is inside, at one moment; 0 while Redis is away.  After a
# failover to older data those who have bought or left since may be inside again,
# so that it counts when somebody has been let in.

sub look ($self) {
    my $site = $self->{site};
    my ($sold, $active, $total) = eval { $site->redis->cmd(
        'EVAL', q{return { tonumber(redis.call('GET', KEYS[1]) or '0'),
                           redis.call('ZCARD', KEYS[2]), tonumber(
                           redis.call('HGET', KEYS[3], 'total') or '0') }},
        3, map { $site->key($_) } qw(sold active state))->@* };
    return 0 if !defined $total;

    $self->{looks}++;
    $self->{worst} = $sold + $active
        if $total > $self->{total} && $sold + $active > $self->{worst};
    $self->{total} = $total;
    return $sold;
}


# The backend has sold to so many, and hosts counted so many after the end of
# their sessions.

sub bought ($self) { return scalar grep { $_->{bought} } $self->users }

sub late ($self) {
    return sum0 map { metrics($_)->value('queue_completions_late_total') // 0 }
                $self->{site}->ports;
}


# who is there: some come late, some have gone

sub turn ($self, $n) {
    for (1 .. $n) {
        my $user = $self->{users}[rand $self->users];
        next if $user->{gone};
        $self->act($user);
        $self->look;
    }
}

sub until ($self, $what, $seconds) {
    my $end = time + $seconds * slow;

    while (time < $end && !$what->()) {
        $self->come;
        $self->turn(40);
        sleep 0.05;
    }
    return wait_until { $what->() } 5;
}

# Who has been let in does something, as pages do that hear of it: one of many who
# are asked in turn may not be before the slot is lost, where the machine is busy.

sub come ($self) {
    my $site = $self->{site};
    my %in = map { $_ => 1 } eval {
        $site->redis->cmd('ZRANGE', $site->key('active'), 0, -1)->@* };

    for my $user (grep { $in{ $_->{id} } && !$_->{gone} } $self->users) {
        $self->act($user);
        $self->look;
    }
}


sub act ($self, $user) {
    my $json = $self->api($user, $user->{in} ? (POST => 'check')
                                 : $user->{waits} ? (GET => 'status')
                                 : (POST => 'check'))->json // {};
    my $status = $json->{status} // $json->{code} // 'none';

    $user->{place} = $json->{place} if $json->{place};
    $user->{token} = $json->{entryToken} if $json->{entryToken};
    $user->{waits} = 1 if $status eq 'queued' || $status eq 'sold_out';
    delete $user->{waits} if $status eq 'not_in_queue';

    return if $status ne 'active';

    my $what = rand;
    my $site = $self->{site};

    if ($what < 0.4) {
        my $r = request($site->port(int rand $site->{instances}), POST =>
                        '/api/reservations?header=X-Admission-Command:complete',
                        bearer => $site->user($user->{id}),
                        headers => [ 'X-Queue-Entry-Token' => $user->{token} ]);
        $user->{bought}++ if $r->status == 200;

    } elsif ($what < 0.6) {
        return if $self->api($user, POST => 'leave')->status != 200;

    } elsif ($what > 0.8) {
        return;                         # stays in
    }

    # or just goes

    %$user = (id => $user->{id}, gone => 1, bought => $user->{bought});
}


# All are sold: who waits still is told so, by any host, and nobody joins.

sub is_over ($self) {
    my @waiting = $self->waiting;
    my %told;

    Test::More::cmp_ok(scalar @waiting, '>', 0, 'somebody waits still');

    for my $user (@waiting) {
        my $r = Admission::HTTP::answered { $self->api($user, GET => 'status') };
        $told{ $r->json->{status} }++;
    }

    Test::More::is_deeply([ keys %told ], [ 'sold_out' ],
                          'and all of them are told');

    for my $i (1 .. 2 * $self->{site}{instances}) {
        my $r = Admission::HTTP::answered {
            $self->api({ id => "new$i" }, POST => 'check');
        };
        Test::More::is($r->json->{code}, 'SOLD_OUT', 'nobody joins any more');
    }
}

sub waiting ($self) {
    return grep { !$_->{gone} && $_->{waits} } $self->users;
}


1;
