# The scripts of the waiting room called directly, as
# src/room/calls.c calls them.  An object is a host: it remembers
# what answers said, and tells it with the next call.

package Admission::Rooms;

use v5.36;

use Admission::Scripts;
use Admission::Test;

my %KEYS = map { ($_ => [ Admission::Scripts::listed("vwr_$_" => 'keys') ]) }
           qw(assign step admin);

my @SALE = qw(sale opens starts closes hold);
my @HOST = qw(order lots drawn base ready clock activation next serving active
              set_by api_rate changed issue wall);

my %ANSWER = map { ($_ => [ Admission::Scripts::listed("vwr_$_" => 'reply') ]) }
             qw(assign step admin);

my @NOTHING = (api_rate => -1, set_by => 'api', opens => -1);


# event, rate, burst, opens, starts and closes (us) of its line of
# admission_events; draw: 1 for order=draw, 2 with a beacon
# noshow: 1 unless given, so that who comes is not looked at
# edit  a function that the text of each script goes through

sub new ($class, $redis, %opt) {
    my $self = bless { redis => $redis, event => 'e', rate => 50, burst => -1,
                       opens => 0, starts => 0, closes => 0, draw => 0,
                       noshow => 1, session_max => 3_600_000,
                       host => { @NOTHING }, %opt }, $class;

    for my $name (qw(assign step admin)) {
        my $text = text($name);
        $text = $opt{edit}->($text) if $opt{edit};
        $self->{sha}{$name} = $redis->cmd('SCRIPT', 'LOAD', $text);
    }

    return $self;
}


# of a script, with its libraries

sub text ($name) {
    state %text;

    return $text{$name} //= (run('sh', root . '/lua/embed.sh', '-e',
                                 root . "/lua/vwr_$name.lua"))[1];
}


# Another host, which knows nothing; one that knows what this one does; and
# this one without what it knew.

sub other ($self, %opt) {
    return bless { %$self, host => { @NOTHING }, %opt }, ref $self;
}

sub copy ($self) { return $self->other(host => { $self->{host}->%* }) }

sub forget ($self) { $self->{host} = { @NOTHING } }


sub key ($self, $name) { return "{$self->{event}}:$name" }

sub field ($self, $name) {
    return $self->{redis}->cmd('HGET', $self->key('vwr'), $name);
}


# What a script answers, by name.

sub call ($self, $name, @args) {
    my $host = $self->{host};

    my $reply = $self->{redis}->cmd(
        'EVALSHA', $self->{sha}{$name}, scalar $KEYS{$name}->@*,
        (map { $self->key($_) } $KEYS{$name}->@*),
        @$self{qw(rate burst opens starts closes)},
        (map { $host->{$_} // 0 } @SALE), $self->{draw},
        (map { $host->{$_} // 0 } @HOST), @args);

    my %answer;
    @answer{ $ANSWER{$name}->@* } = @$reply;
    $answer{set_by} = $answer{by_config} ? 'config' : 'api';
    $self->{host} = { %answer };
    return \%answer;
}

# of a room on standby, as src/host/standby.h says: wanting, spare, back, have,
# seen, else nothing is said of that; come: fields of bits, number => bytes; more;
# asks: numbers; had: fields, as come; there: the number of the host that tells who
# is there (0: nothing is told), of: of which numbers, table: which it has, blind,
# heard: what it heard, [lapse, first, bits], ...

sub step ($self, %opt) {
    my @standby = qw(wanting spare back have);
    my $come = $opt{come} // {};
    my $had = $opt{had} // {};
    return $self->call('step',
                       (grep { exists $opt{$_} } @standby, 'seen') ? 1 : 0,
                       (map { $opt{$_} // 0 } @standby), $opt{seen} // -1,
                       @$self{qw(noshow session_max)},
                       join('', map { "$_:$come->{$_}" } sort keys %$come),
                       $opt{more} // 0,
                       join(' ', sort { $a <=> $b } ($opt{asks} // [])->@*),
                       join('', map { "$_:$had->{$_}" } sort keys %$had),
                       (map { $opt{$_} // 0 } qw(there of table blind)),
                       map { @$_ } ($opt{heard} // [])->@*);
}

# max_queue, max_wait (s) and measured, as the host's event line and memory say.
# As a host does, it commits to a draw whose first lots these are, but for once.

sub assign ($self, $n = 1, %opt) {
    my @args = ($n, $opt{max_queue} // -1, $opt{max_wait} // 0,
                $opt{measured} // -1, $opt{user} // '');
    my $answer = $self->call('assign', @args);

    return $answer if $answer->{full} != 5 || $opt{once};

    $self->{redis}->cmd('HSET', $self->key('vwr'), commitment => 'c0' x 32,
                        committed => sprintf '%.0f', $answer->{us});
    return $self->call('assign', @args);
}

# look, activate, restart, resume, deactivate, advance, rate, unrate, config
sub admin ($self, $what = 'look', $value = 0) {
    return $self->call('admin', $what, $value);
}

1;
