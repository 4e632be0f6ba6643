# A time that can't be: a Redis whose clock is more than a day off is believed
# nothing, what it wrote meanwhile, or others did, is mended by the next call, and
# tokens that others issued have nothing to do with its clock.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::HTTP;
use Admission::JWT;
use Admission::Redis;
use Admission::Rooms;
use Admission::Scripts;
use Admission::Site;

use constant ABSURD => 9007199254740991;

my $redis = Admission::Redis->start(clock => 1);

my $site = Admission::Site->start(
    redis => $redis, workers => 2, instances => 2, timeout => '5s',
    events => 'default threshold=2 admit_interval=100ms restore_wait=2s;',
    server => <<'END');
        location /vwr-api/       { admission_vwr_api; }
        location /api/admin/vwr/ { admission_admin_api; }
        location = /whoami       { return 200 "$admission_user\n"; }
        location = /readyz       { admission_health ready; }
END

my $admin = $Admission::Site::SECRETS{admin};

sub whoami (%claims) {
    my $token = user_token($Admission::Site::SECRETS{user}, userId => 'ann',
                           %claims);
    return get($site->port, '/whoami', bearer => $token)->body;
}

sub check ($i, $user) { return $site->call($i, $user, POST => 'check') }

sub works ($what) {
    for my $i (0, 1) {
        ok((wait_until { check($i, 'ann')->status == 200 } 20),
           "$what: host $i answers") or diag $site->nginx($i)->error_log;
        ok((wait_until {
            post($site->port($i), '/vwr-api/assign/concert')->status == 200
        } 20), 'gives tickets') or diag $site->nginx($i)->error_log;
        ok((wait_until { get($site->port($i), '/readyz')->status == 200 } 20),
           'and is ready');
    }
}


is(request($site->port, POST => '/api/admin/vwr/activate/concert',
           bearer => $admin)->status, 200, 'a waiting room');
works('at first');


subtest 'an hour off' => sub {
    for my $off (3600, -3600) {
        $redis->set_clock($off);
        ok((wait_until { check(0, 'ann')->status == 200 } 20), "$off s: calls");

        is(whoami(exp => time + 300), "ann\n", 'a token of five minutes');
        is(whoami(exp => time - 300), "\n", 'one that ended');
        is(whoami(exp => time + 300, nbf => time - 1), "ann\n", 'a new one');
        is(whoami(exp => time + 900, nbf => time + 300), "\n", 'one to come');
    }

    $redis->set_clock(0);
};


subtest 'a clock that is out of its mind' => sub {
    for my $off (int(ABSURD / 1e6) - time, 2 * 86400, -2 * 86400) {
        my @mark = map { $site->nginx($_)->log_mark } 0, 1;
        $redis->set_clock($off);

        for my $i (0, 1) {
            ok((wait_until { check($i, 'ann')->status == 503 } 20),
               "$off s: no answer");
            is(post($site->port($i), '/vwr-api/assign/concert')->status, 503,
               'no ticket');
            ok((wait_until {
                $site->nginx($i)->error_log($mark[$i])
                    =~ /\[error\].* more than a day from/ } 20),
               'the log says why');
            ok((wait_until {
                my $r = get($site->port($i), '/readyz');
                $r->status == 503
                    && $r->json->{reasons}->@*
            } 20), 'not ready');
        }

        is(whoami(exp => time + 300), "ann\n", 'a user is known all the same');
        $redis->set_clock(0);
        works("$off s: and back");
    }
};


# what another version may have written: each time that there is

subtest 'what was poisoned' => sub {
    my $far = ABSURD;

    for ([ HSET => 'state', 'clock', $far ],
         [ HSET => 'state', 'clear', $far ],
         [ HSET => 'state', map { ($_ => int($far / 1000)) }
               qw(step busy due settle gap restore touched clean fade) ],
         [ SET => 'epoch', $far ],
         [ ZADD => 'done', $far, 'ann' ],
         [ ZADD => 'revoked', $far, 'ann' ],
         [ ZADD => 'admitted', $far, 'ann' ],
         [ ZADD => 'active', $far, 'ann' ],
         [ ZADD => 'queue', $far, 'dan' ],
         [ HSET => 'vwr', 'activation', $far ],
         [ HSET => 'vwr', 'changed', $far ],
         [ HSET => 'vwr', map { ($_ => $far) } qw(updated issue_at) ],
         [ HSET => 'vwr', map { ($_ => int($far / 1000)) }
               qw(touched restored began) ])
    {
        my ($command, $key, @args) = @$_;

        $redis->cmd($command, "{concert}:$key", @args);
        works("$key @args[0 .. $#args > 0]");
        ok((wait_until {
            check(0, 'eva')->json->{status} =~ /active|queued/ } 20),
           'others join');
        ok((wait_until {
            my @far = grep { $_->[1] > 4e15 }
                      map { my $k = $_; my @z = $redis->cmd(
                                'ZRANGE', "{concert}:$k", 0, -1,
                                'WITHSCORES')->@*;
                            map { [ $z[2 * $_], $z[2 * $_ + 1] ] }
                            0 .. @z / 2 - 1 } qw(queue active revoked);
            !@far } 20), 'nobody stays there');
        $site->call(0, $_, POST => 'leave') for qw(eva dan ann);
    }
};


# of several hosts, and of scripts that are asked by nobody who knows the time

subtest 'what is told' => sub {
    my $e = Admission::Scripts->new($redis, event => 'told', threshold => 0);
    my $first = $e->ask('a');

    $e->{host} = { epoch => $first->{epoch}, clock => ABSURD };
    my $second = $e->ask('b', place => { score => 5, clock => ABSURD,
                                         epoch => $first->{epoch} });
    cmp_ok($second->{clock}, '<', 4e15, 'a clock, and a place');

    $e->{host} = { epoch => $first->{epoch}, clear => ABSURD };
    $e->ask('b', mode => 'restore', entry => { adm => ABSURD - 1,
                                               exp => time + 600 });
    my $last = $e->ask('b');
    cmp_ok($last->{clock}, '<', 4e15, 'a clear, and an entry token');
    cmp_ok($last->{clear}, '<', 4e15, 'which is not taken over');

    my $r = Admission::Rooms->new($redis, event => 'told');
    my $room = $r->admin('activate');
    $r->{host} = { %$room, api_rate => -1, clock => ABSURD,
                   changed => ABSURD, activation => ABSURD };
    my $answer = $r->assign;
    is($answer->{activation}, $room->{activation}, 'an activation');
    cmp_ok($answer->{clock}, '<', 4e15, 'and a clock');
};

done_testing;
