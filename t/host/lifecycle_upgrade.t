# Upgrades of the binary, forth and back, with a crowd that goes on; the module
# taken out and in by them; and another file of the module.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Time::HiRes qw(sleep);

use Admission::Crowd;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Waiting;
use File::Copy;

plan skip_all => 'no file of its own' if !length Admission::Nginx::module;

my $threshold = 5;

# of the master's descriptor, which is of the background

my $so = test_dir . '/module.so';
copy(Admission::Nginx::module, $so) or die "$so: $!";

my $plain = waiting_site(
    events => "default threshold=$threshold admit_interval=200ms vwr_rate=0;
               still threshold=1;",
    timeout => '5s',
    server => <<'END');
        location = /still {
            admission_event still;
            admission_tier2 on;
            empty_gif;
        }
END
my $redis = $plain->redis;

my $nginx = do {
    local $ENV{ADMISSION_MODULE} = $so;
    Admission::Nginx->start(daemon => 1, workers => 2, http => $plain->http,
                            server => $plain->server);
};
$plain->nginx->quit;

my $site = bless { %$plain, nginx => [ $nginx ] }, ref $plain;
my $conf = $nginx->dir . '/nginx.conf';
my $original = read_file($conf);


# ---- who waits all the time

operator($site, POST => 'activate/concert');

my $visitor = {};
my $ticket = assign($site, 0, $visitor)->json;

sub queue ($user, $method, $call) {
    local $site->{event} = 'still';
    return $site->call(0, $user, $method => $call)->json;
}

# where Redis stood still for 1.5 s nobody is let in for as long
sub enters ($user) {
    return wait_until { queue($user, POST => 'check')->{entryToken} };
}

my $gone = enters('gone');
queue(gone => POST => 'leave');

my $ann = enters('ann');
my @waiting = qw(ben cho dan);
queue($_, POST => 'check') for @waiting;

sub gate ($user, $token) {
    return get($site->port, '/still', headers => [
        Authorization => 'Bearer ' . $site->user($user),
        'X-Queue-Entry-Token' => $token ])->status;
}

# several times: each of the masters may be asked

sub all_as_before ($what) {
    my %seen;

    # a new zone hears of revocations with the next step, and each of the
    # masters has one; which of them answers is not to be chosen
    wait_until { !grep { sleep 0.03; gate(gone => $gone) != 403 } 1 .. 30 } 20;

    for (1 .. 10) {
        $seen{ join ' ', gate(ann => $ann), gate(gone => $gone),
               get($site->port, '/events/')->status,
               check($site, 0, $visitor, $ticket->{requestId})
                   ->json->{position},
               map { queue($_, POST => 'check')->{position} } @waiting }++;
    }

    is join(', ', keys %seen), "200 403 403 $ticket->{position} 1 2 3",
        "$what: all are where they were";
}


# ---- masters

sub workers_of ($pid) {
    return map { $_->{pid} } grep { $_->{title} =~ /^nginx: worker/ }
           processes($pid);
}

sub second_master () {
    my $old = $nginx->pid;

    $nginx->signal('USR2');
    wait_until { $nginx->pid != $old && workers_of($nginx->pid) >= 2 } 10;
    return ($old, $nginx->pid);
}

sub master_goes ($pid) {
    kill QUIT => $pid;
    return wait_until { !alive($pid) } 15;
}

sub forth_and_back () {
    my ($old, $new) = second_master();

    isnt $new, $old, 'there are two masters';
    all_as_before('two masters');

    kill WINCH => $old;
    ok wait_until(sub { !workers_of($old) }, 15), 'the old workers go';
    all_as_before('the new one alone');

    kill HUP => $old;
    ok wait_until(sub { workers_of($old) == 2 }, 10), 'the old ones again';
    ok master_goes($new), 'the new ones go';
    ok wait_until(sub { $nginx->pid == $old }), 'the old master has its file';
    all_as_before('back');
}

sub forth ($what) {
    my ($old, $new) = second_master();

    kill WINCH => $old;
    ok wait_until(sub { !workers_of($old) }, 15), 'the old workers go';
    ok master_goes($old), 'the old master goes';
    ok wait_until(sub { workers_of($new) == 2 }), "$what: the new one is there";
}


subtest 'forth and back' => \&forth_and_back;

subtest 'a crowd meanwhile' => sub {
    my ($old, $new, @steps);
    my $step = 0;
    my $crowd = Admission::Crowd->new(
        site => $site, users => 120, threshold => $threshold, arrive => 6,
        fill => 20, stay => [0.1, 0.4], while => sub { $step < @steps });

    # each as soon as the one before is done
    @steps = (
        [ sub { $old = $nginx->pid; $nginx->signal('USR2') },
          sub { $new = $nginx->pid;
                $new != $old && workers_of($new) == 2 } ],
        [ sub { kill WINCH => $old }, sub { !workers_of($old) } ],
        [ sub { kill HUP => $old }, sub { workers_of($old) == 2 } ],

        # when it has heard of that it has its file back, and takes a signal
        [ sub { kill QUIT => $new },
          sub { !alive($new) && $nginx->pid == $old } ],
        [ sub { $nginx->signal('USR2') },
          sub { $new = $nginx->pid;
                $new != $old && workers_of($new) == 2 } ],
        [ sub { kill QUIT => $old }, sub { !alive($old) } ],
    );

    my $go; $go = sub {
        my ($do, $done) = ($steps[$step] // return)->@*;
        $do->();

        my $look; $look = sub {
            return $crowd->{swarm}->timer(0.05, $look) if !$done->();
            $step++;
            $crowd->{swarm}->timer(0.7, $go);
        };
        $look->();
    };
    $crowd->{swarm}->timer(0.5, $go);

    ok($crowd->run(120), 'everybody got in or left')
        or diag(join "\n", $crowd->lost);
    note($crowd->report);

    is $step, @steps, 'all of it happened meanwhile';
    is_deeply $crowd->{violations}, [], 'no invariant was broken';
    is $crowd->{max_active}, $threshold, 'all slots were used';
    is join(' ', map { $_->{id} } grep { $_->{admissions} > 1 }
                 $crowd->users), '', 'nobody was let in twice';
    is join(' ', map { $_->{id} } grep { $_->{lost} || $_->{thrown} }
                 $crowd->users), '', 'nobody fell out';
    is join(' ', grep { !/connection closed|reset|Broken pipe/ }
                 keys $crowd->{errors}->%*), '',
        'nothing failed but kept connections';

    all_as_before('after it');
};


# The same words of another length would not do in a program: the file has the
# answer to leave in it, which tells whose code runs.

sub other_words ($from, $to) {
    my $code = read_file($from);
    $code =~ s/Left queue/Gone queue/ or die 'no such words';
    write_file("$to.new", $code);
    rename "$to.new", $to or die "$to: $!";
}

sub words () {
    queue(zoe => POST => 'check');
    return queue(zoe => POST => 'leave')->{message};
}

subtest 'another file of the module' => sub {
    is words(), 'Left queue', 'the words of the one that runs';

    other_words($so, $so);
    $nginx->reload;
    is words(), 'Left queue', 'a reload goes on with what is loaded';
    all_as_before('reload');

    forth('upgrade');
    is words(), 'Gone queue', 'an upgrade loads the new file';
    all_as_before('upgrade');

    # of another name it is another module, with a zone of its own

    copy(Admission::Nginx::module, "$so.other") or die "$so.other: $!";
    write_file($conf, $original =~ s/load_module \S+\K(?=;)/.other/r);
    $nginx->reload;
    is words(), 'Left queue', 'a reload loads a file of another name';
    all_as_before('another name');

    write_file($conf, $original);
    $nginx->reload;
    is words(), 'Gone queue', 'and the first one again';
    all_as_before('the first name');
};


subtest 'upgrades without the module and with it again' => sub {
    my $without = $original =~ s/load_module.*$//mr
                            =~ s/\badmission_events \{.*?\}//sr
                            =~ s/location[^{}]*\{[^{}]*admission_[^{}]*\}//gr
                            =~ s/^\s*admission_.*$//mgr;

    write_file($conf, $without);
    forth('without');
    is get($site->port, '/plain')->status, 200, 'NGINX goes on';
    is get($site->port, '/still')->status, 404, 'nothing else is there';

    write_file($conf, $original);
    forth('with it');
    all_as_before('with it');
};

unlike $nginx->error_log, qr/open socket/, 'no connection was left open';

done_testing;
