# Steps of rooms in which nothing happens are cheap; and what they leave out makes
# no difference: beside a room whose every step looks at all there is.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Redis;
use Admission::Rooms;

# TEST_SEED repeats a run
my $seed = $ENV{TEST_SEED} // int rand 1e6;
srand $seed;
note "TEST_SEED=$seed";

my $redis = Admission::Redis->start;
my $us = 1_750_000_000_000_000;

sub later ($by) {
    $us += int $by;
    $redis->cmd('MSET', seconds => int($us / 1e6), us => $us % 1_000_000);
}

sub room ($event, $looks = 0) {
    return Admission::Rooms->new($redis, event => $event, rate => 20, burst => 10,
        noshow => 4, edit => sub ($text) {
            $text =~ s/call\('TIME'\)/call('MGET', 'seconds', 'us')/g or die;
            $text =~ s/^return v\.rest > 0 and/return false and/m
                or die if $looks && $text =~ /there\.told/;
            return $text;
        });
}

# what a step calls

sub calls ($room, %opt) {
    $redis->cmd('CONFIG', 'RESETSTAT');
    $room->step(%opt);
    my %n = $redis->cmd('INFO', 'commandstats')
            =~ /^cmdstat_(\w+):calls=(\d+)/mg;
    delete @n{qw(info config evalsha mget)};
    return join ' ', map { "$_ $n{$_}" } sort keys %n;
}

sub rest ($room) { for (1 .. 60) { later(1e6); $room->step } }

later(0);

for my $case ([ 'nobody waits', sub ($room) { } ],
              [ 'they wait, without a rate', sub ($room) {
                    $room->admin(rate => 0);
                    $room->assign(50);
                } ],
              [ 'nobody waits, without a rate', sub ($room) {
                    $room->admin(rate => 0);
                } ],
              [ 'held', sub ($room) {
                    $room->assign(50);
                    $redis->cmd('HSET', $room->key('state'), hold => 1);
                } ])
{
    my ($what, $do) = @$case;
    my $room = room($what =~ s/\W+/-/gr);

    $room->admin('activate');
    $room->assign(5);
    $room->step;
    $do->($room);
    rest($room);
    is calls($room), 'exists 1 hmget 3 hset 1', "$what: a step";

    # on standby it has a bit more to look at
    rest($room);
    $room->step(seen => 0) for 1 .. 3;
    later(1e6) && $room->step(seen => 0) for 1 .. 20;
    is calls($room, seen => 0), 'exists 1 hmget 4 hset 1', "$what: on standby"
        if $what eq 'nobody waits';

    like calls($room, more => 1), qr/^exists 1 hmget 5 hset 2/,
        "$what: what is told is looked at";
}


# The same at the same times, to two rooms.

my @rooms = (room('one'), room('other', 1));
my @wrong;

$_->admin('activate') for @rooms;

for my $i (1 .. 900) {
    later(rand() < 0.05 ? rand 20e6 : rand 1e6);

    # for a while nobody comes
    my $quiet = $i % 300 > 130;
    my $what = rand;
    my $do = $quiet && $what < 0.97 ? sub ($room) { }
           : $what < 0.1 ? do { my $n = 1 + int rand 30;
                                sub ($room) { $room->assign($n) } }
           : $what < 0.12 ? sub ($room) { $room->admin(rate => 0) }
           : $what < 0.2  ? sub ($room) { $room->admin('unrate') }
           : $what < 0.22 ? sub ($room) { $room->admin(advance => 5) }
           : $what < 0.24 ? sub ($room) {
                                $redis->cmd('HSET', $room->key('state'),
                                            hold => 1) }
           : $what < 0.4  ? sub ($room) {
                                $redis->cmd('HDEL', $room->key('state'),
                                            'hold') }
           : sub ($room) { };
    my %told = $quiet || rand() < 0.6 ? ()
             : (more => int rand 2, asks => [ 1 + int rand 20 ]);

    my @served = map { $do->($_); my $answer = $_->step(%told);
                       "$answer->{serving} of $answer->{next}" } @rooms;
    push @wrong, "$i: @served" if $served[0] ne $served[1];
}

is_deeply \@wrong, [], 'a step that leaves out what is at rest does the same';

done_testing;
