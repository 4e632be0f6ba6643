# An identity service changes its keys while users come with tokens by those that
# it has, all of them at once and without end: a good token is never taken for
# none.  What is not known yet is to be tried again, what was known goes on.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Backend;
use Admission::Keys;
use Admission::Nginx;
use Admission::Swarm;

my @names = qw(a b c);
my %key = map { $_ => Admission::Keys->new('P-256', kid => $_) } @names;

# many of each: they are remembered, and those never seen before come all along

my %tokens = map {
    my $name = $_;
    $name => [ map { $key{$name}->token('ES256', { userId => "$name-$_",
                                                   exp => time + 86400 }) }
               1 .. 30 ];
} @names;

my $answer = test_dir . '/answer';

sub publish (@names) {
    write_file("$answer.new", Admission::Keys::jwks(@key{@names}));
    rename "$answer.new", $answer or die "$answer: $!";
}

publish('a');

my $idp = Admission::Backend->start(handler => sub ($request) {
    return [ 200, [ 'Content-Type' => 'application/json' ],
             read_file($answer) ];
});

my $nginx = Admission::Nginx->start(
    workers => 3,
    clock => 1,
    vars => { IDP => $idp->port },
    http => <<'END');
    add_header X-Id $http_x_user_id;

    server {
        listen 127.0.0.1:%%PORT%%;

        admission_secret user jwks_uri=/keys;
        admission_user   jwt;

        location / { empty_gif; }
        location = /keys {
            internal;
            proxy_pass http://127.0.0.1:%%IDP%%/certs;
            subrequest_output_buffer_size 64k;
        }
    }
END

my $swarm = Admission::Swarm->new(connections => 40, retry => 1, timeout => 30);

# Which keys users come with, and what became of them since the last look: by
# key, their own ("good"), to be tried again ("later"), or something else.

my @in_use = ('a');
my (%said, $stop, $clients);
my $ahead = 0;

sub client ($n) {
    return $clients-- if $stop;

    my $name = $in_use[ rand @in_use ];
    my $which = int rand 30;

    $swarm->request($nginx->port, 'GET', '/',
                    { bearer => $tokens{$name}[$which] }, sub ($r) {
        my $id = $r->status == 200 ? $r->header('X-Id') // 'none'
                                   : $r->status;

        # a reload closes connections, and nothing has been said

        $said{$name}{ $id eq "$name-" . ($which + 1) ? 'good'
                      : $id eq '503' && $r->header('Retry-After') ? 'later'
                      : $id }++ if !$r->error;
        $swarm->timer(0.002, sub { client($n) });
    });
}

client($clients++) for 1 .. 24;

# has them come until all these keys are known to whoever asks, several times in
# turn; the window in which the service is not asked again goes by meanwhile

sub until_good (@names) {
    my $known = sub () {
        my $good = !grep { !$said{$_}{good} || $said{$_}{later} } @names;
        $good &&= !grep { $said{$_}{good} < 60 } @names;
        return $good;
    };

    for my $try (1 .. 60) {
        %said = ();
        my $asked = 0;

        $swarm->run(timeout => 5, until => sub {
            my $n = 0;
            $n += $_ for map { values %$_ } values %said;
            $n >= 100 * @names || $known->()
        });

        my @odd = map { my $name = $_; map { "$name: $_" }
                        grep { !/^(?:good|later)$/ } keys $said{$name}->%* }
                  sort keys %said;

        return "what was said: @odd" if @odd;
        return '' if $known->();

        $ahead += 5;
        $nginx->set_clock($ahead);
    }

    return 'not known in the end';
}

is until_good('a'), '', 'the first key';

publish('b', 'a');
@in_use = qw(a b b);
is until_good('a', 'b'), '', 'a key more, which is used at once';
ok !$said{a}{later}, 'the one that was there is known all along';

publish('c', 'b');
@in_use = qw(b c);
is until_good('b', 'c'), '', 'the next one, and the first is gone';

@in_use = qw(b c c);
$nginx->reload(wait => 0);
is until_good('b', 'c'), '', 'a reload in the midst of it';
ok !$said{b}{later} && !$said{c}{later}, 'workers that are new know them';

kill STOP => $idp->{process}->pid;
$nginx->set_clock($ahead += 1200);
is until_good('b', 'c'), '', 'the service hangs when it is time to ask';
kill CONT => $idp->{process}->pid;

@in_use = ('a');
%said = ();
$swarm->run(timeout => 60, until => sub { $said{a}{none} });
ok $said{a}{none}, 'and a token by a key that is gone is none';

$stop = 1;
ok $swarm->run(until => sub { !$clients }, timeout => 30), 'all have gone';

done_testing;
