# Who is there of a waiting room, as those who wait are told it: who was heard of,
# on whatever host, or holds a stream; not who went, nor who left.  Positions stay.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Stream;
use Admission::Waiting;
use Time::HiRes qw(time sleep);

my $site = waiting_site(
    instances => 2, workers => 2, timeout => '5s',
    events => 'default vwr_rate=0;',
    http => 'keepalive_requests 10000;');

my @port = $site->ports;

operator($site, POST => 'activate/concert');
ok((wait_until { get($port[1], '/vwr-api/status/concert')->json->{isActive} }),
   'active, on both hosts');

sub ticket ($v) { return $v->{'admission-ticket-concert'} }

sub waiting ($i) {
    return get($port[$i], '/vwr-api/status/concert')->json->{waitingCount};
}

my $turn = 0;
my %v;

sub poll ($v, %opt) {
    my $ticket = $opt{ticket} // $v->{ticket};
    my $args = defined $opt{ahead} ? "?ahead=$opt{ahead}" : '';
    return visit($site, $opt{host} // $turn++ % 2, $v->{jar}, 'GET',
                 "/vwr-api/check/concert/$ticket$args");
}

sub leave ($v, %opt) {
    my $args = $opt{args} // '';
    return visit($site, $opt{host} // 0, $opt{jar} // $v->{jar}, 'POST',
                 "/vwr-api/leave/concert/$v->{ticket}$args", %opt{headers});
}

# until both hosts say so, with all of these polling as they are told to

sub becomes ($n, $what, @there) {
    my $due = 0;
    ok((wait_until {
        if (time > $due) {
            poll($_) for @there;
            $due = time + 1;
        }
        waiting(0) == $n && waiting(1) == $n;
    } 60), $what) or diag waiting(0), ' ', waiting(1);
}


# What is answered while so many stand ahead of 11, at the time before it and after
# it: on a busy machine others may lapse between two of their polls

sub while_ahead ($n, $code, @there) {
    my $r;
    my $steady = wait_until {
        poll($_) for @there;
        my $host = $turn % 2;
        my $before = poll($v{11}, host => $host)->json->{ahead};
        $r = $code->($host);
        $before == $n && poll($v{11}, host => $host)->json->{ahead} == $n;
    } 60;
    ok $steady, "$n ahead";
    return $r;
}


# ---- who polls, or has a stream

for my $n (1 .. 12) {
    my $r = assign($site, $n % 2, my $jar = {});
    is $r->json->{position}, $n, "position $n" or BAIL_OUT('no ticket');
    $v{$n} = { jar => $jar, ticket => ticket($jar) };
}

ok((wait_until { poll($_) for @v{1 .. 11};
                 poll($v{12})->json->{ahead} == 12 }),
   'all are there, the one who asks included');
becomes(12, 'and wait', @v{1 .. 12});

sub stream ($n, $host) {
    return Admission::Stream->open(
        $port[$host], "/vwr-api/stream/concert/$v{$n}{ticket}",
        cookies => $v{$n}{jar});
}

my $quiet = stream(6, 1);
my $told = stream(12, 0);
is $_->status, 200, 'a stream' for $quiet, $told;

# 3 and 4 are not heard of any more; 6 has its stream alone
my @there = @v{1, 2, 5, 7 .. 11};
becomes(10, 'who is not heard of does not wait', @there);

my $r = while_ahead(9, sub ($host) { poll($v{11}, host => $host)->json },
                    @there);
is $r->{position}, 11, 'the position stays';
is $r->{servingCounter}, 0, 'and the counter';
is $r->{totalInQueue}, 12, 'and how many were given out';
is while_ahead(9, sub ($host) { poll($v{1}, host => $host)->json->{ahead} },
               @there), 1, 'the first one';
is while_ahead(9, sub ($host) { poll($v{5}, host => $host)->json->{ahead} },
               @there), 3, 'the third that is there';

# polls of somebody else are not the visitor's
for (1 .. 3) {
    my $r = visit($site, 0, {}, 'GET', "/vwr-api/check/concert/$v{4}{ticket}");
    is $r->json->{holder}, false, 'a ticket of another';
}
becomes(10, 'which has nobody be there', @there);


# ---- leaving

is leave($v{7}, jar => {})->status, 404, 'nobody else leaves for a visitor';
is leave($v{7}, jar => { $v{8}{jar}->%* })->json->{code}, 'POSITION_NOT_FOUND',
    'another visitor neither';
is visit($site, 0, $v{7}{jar}, 'POST', '/vwr-api/leave/concert/x')->status, 404,
    'no ticket';
is visit($site, 0, $v{7}{jar}, 'GET',
         "/vwr-api/leave/concert/$v{7}{ticket}")->header('Allow'), 'POST',
    'by POST alone';
is leave($v{7}, headers => [ Origin => 'https://evil.example' ])->json->{code},
    'CROSS_SITE', 'no page of another site has somebody leave';

my $left = leave($v{7}, headers => [ 'Sec-Fetch-Mode', 'no-cors' ]);
is_deeply $left->json, { message => 'Left' }, 'a beacon';
is_deeply $left->cookies, {}, 'which may be a refresh: the cookies stay';

$left = leave($v{7}, host => 1);
is_deeply $left->json, { message => 'Left' }, 'left';
is $left->header('Cache-Control'), 'no-store', 'no-store';
is_deeply { map { $_ => $left->cookies->{$_}{attributes}{'max-age'} }
            grep { /concert/ } keys $left->cookies->%* },
    { 'admission-ticket-concert' => 0, 'urr-vwr-token-concert' => 0 },
    'ticket and token are cleared';
ok !ticket($v{7}{jar}), 'the browser has no ticket';
is leave($v{7})->status, 200, 'and once more';

@there = @v{1, 2, 5, 8 .. 11};
becomes(9, 'who left does not wait', @there);
is while_ahead(8, sub ($host) {
    poll($v{11}, host => $host, ahead => 9)->json->{ahead} }, @there), 8,
    'nor stand ahead';

# it keeps to the fewest that it told: another one where they were fewer for a while,
# since this test was kept from polling

my ($rises, $before) = (0, 99);
ok((wait_until {
    poll($_) for @there;
    my $m = $told->message(1) or return;
    $rises++ if $m->{ahead} > $before;
    return 1 if ($before = $m->{ahead}) == 9;

    if ($before < 9) {
        $told->close;
        ($told, $before) = (stream(12, 0), 99);
    }
    return 0;
} 60), 'a stream tells of it');
is $rises, 0, 'and never of more than before';

# the number is still the visitor's
is poll($v{7})->json->{position}, 7, 'who comes back goes on';
becomes(10, 'and waits again', @there, $v{7});


# ---- what was told

my @told = while_ahead(9, sub ($host) {
    [ map { poll($v{11}, host => $host, ahead => $_)->json }
      8, 10, 0, 'x', '-1', '99999999999999999999', '' ] }, @there, $v{7})->@*;

is $told[0]{ahead}, 8, 'not more than was told before';
is $told[1]{ahead}, 9, 'but fewer';
is "@{$told[2]}{qw(ahead position nextPoll)}", '0 11 2', 'a lie is its own';
is $told[2]{admitted}, false, 'and lets nobody in';
is $_->{ahead}, 9, 'what is no number' for @told[3 .. 6];

ok $_->{ahead} <= 9, "a stream keeps to the fewest that it told: $_->{ahead}"
    for grep { defined } map { $told->message(30) } 1, 2;

becomes(10, 'all are there still', @there, $v{7});

my $again;
ok((wait_until {
    poll($_) for @there, $v{7};
    $again->close if $again;
    $again = Admission::Stream->open(
        $port[1], "/vwr-api/stream/concert/$v{12}{ticket}?ahead=5",
        cookies => $v{12}{jar});
    (($again->message // {})->{ahead} // 0) == 5;
}), 'the one after it goes on from there');


# ---- all of them go, and the counter goes on

$_->close for $quiet, $told, $again;
leave($v{$_}, host => $_ % 2) for 1 .. 12;
becomes(0, 'nobody is there');

is poll($v{12})->json->{ahead}, 1, 'who comes back is the next one';
operator($site, POST => 'advance/concert', json => { batchSize => 12 });
ok((wait_until { poll($v{12})->json->{admitted} }), 'the counter is there');
is leave($v{12})->status, 200, 'who may go in leaves, too';

operator($site, POST => 'deactivate/concert');
ok((wait_until { !get($port[0], '/vwr-api/status/concert')->json->{isActive} }),
   'inactive');
is leave($v{8})->status, 200, 'leaving a room that is off';

done_testing;
