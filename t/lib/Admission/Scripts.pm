# The queue scripts called directly, as src/queue/queue.c calls
# them: what NGINX would ask is given by name, what a host knows too.

package Admission::Scripts;

use v5.36;

use Admission::Test;

my %KEYS = map { ($_ => [ listed("queue_$_" => 'keys') ]) }
           qw(check leave step admin complete beat join);

my @CONF = qw(threshold active_ttl session_max claim_ttl seen_ttl
              restore_wait admit_interval admit_batch token_ttl stream slots
              starts order);

my %DEFAULT = (threshold => 2, active_ttl => 600_000, session_max => 3_600_000,
               claim_ttl => 120_000, seen_ttl => 600_000,
               restore_wait => 60_000, admit_interval => 100,
               admit_batch => 100, token_ttl => 600_000, stream => 1,
               slots => -1, starts => 0, order => 0, max_queue => -1,
               max_wait => 0, unbound => 0);

my @HOST = qw(epoch clock active clear api_threshold seats sold sale starts hold
              brief ms in_touch wall);

# the fields of the answer, as the longest one has them
my @ANSWER = listed(queue_step => 'reply');
my %OTHER = map { ($_ => [ listed("queue_$_" => 'reply') ]) } qw(beat join);

my @STATES = qw(out waiting in used needs_tier1 ready full too_long sold_out
                not_here bought);


# a list at the head of a script: "keys", "args", "each", "reply"

sub listed ($script, $list) {
    my (undef, $text) = run('sh', root . '/lua/embed.sh', '-l',
                            root . "/lua/$script.lua");
    my ($names) = $text =~ /^$list (.*)/m or die "$script: no list of $list";
    return split ' ', $names;
}


# event, and what its line of admission_events would say; times in ms.  edit: a
# function that changes the text of a script, which is in $_

sub new ($class, $redis, %opt) {
    my $self = bless { redis => $redis, event => 'e', host => {}, %DEFAULT,
                       %opt }, $class;

    for my $name (qw(check leave step admin complete beat join)) {
        my $text = text($name);
        $self->{edit}->() for $self->{edit} ? $text : ();
        $self->{sha}{$name} = $redis->cmd('SCRIPT', 'LOAD', $text);
    }

    return $self;
}


# of a script, with its libraries

sub text ($name) {
    state %text;

    return $text{$name} //= (run('sh', root . '/lua/embed.sh', '-e',
                                 root . "/lua/queue_$name.lua"))[1];
}


sub key ($self, $name) { return "{$self->{event}}:$name" }


# What a script answers, by name; "state" as a word.

sub call ($self, $name, @args) {
    my %host = (api_threshold => -1, seats => -1, sold => -1, starts => -1,
                $self->{host}->%*);

    my $reply = $self->{redis}->cmd(
        'EVALSHA', $self->{sha}{$name}, scalar $KEYS{$name}->@*,
        (map { $self->key($_) } $KEYS{$name}->@*), $self->{event}, @$self{@CONF},
        (map { $host{$_} // 0 } @HOST), @args);

    my %answer;
    @answer{ $OTHER{$name} ? $OTHER{$name}->@* : @ANSWER } = @$reply;
    $answer{state} = $STATES[$answer{state}];
    return \%answer;
}


# mode  check (default), status, heartbeat, restore, report or away
# looks 1 of a stream
# tier1 {at, act, adm}, entry {adm, exp}
# place what an answer said, or several of them in an array
# pass  {at} of the ticket by whose token one may join at all

sub ask ($self, $user, %opt) {
    my %modes = (check => 0, status => 1, heartbeat => 2, restore => 3,
                 report => 4, away => 5);
    my $t1 = $opt{tier1} // {};
    my $entry = $opt{entry} // {};
    my $places = $opt{place} // [];
    $places = [ $places ] if ref $places eq 'HASH';

    return $self->call(
        'check', $user, $modes{ $opt{mode} // 'check' }, $opt{looks} // 0,
        $t1->{at} // 0, $t1->{act} // 0,
        ($t1->{adm} ? $t1->{adm} + $self->{token_ttl} * 1000 : 0),
        $entry->{adm} // 0, $entry->{exp} // 0, $opt{pass} // 0,
        @$self{qw(max_queue max_wait unbound)},
        map { @$_{qw(score clock epoch)} } @$places);
}


# held: 0 nothing, 1 a place, 2 an entry token, that leave is called with

sub leave ($self, $user, $beacon = 0, $held = 0) {
    return $self->call('leave', $user, $beacon ? 1 : 0, $held);
}

# waiting, inside: the scores from which on members are told; view: so many of
# the head one by one, gone: who is gone since then

sub step ($self, $since = 0, $waiting = -1, $inside = -1, $view = 0,
          $gone = -1) {
    return $self->call('step', $since, $waiting, $inside, $view, $gone);
}

# Users, and the places that they show, { user, place (what an answer said) and
# away, ... }; "again" of the answer is who is to ask.  come: adm of an entry token
# that a gate took, instead; close: ms after which one leaves with a stream.  One
# without any of these is named, which is said of those before; lately: as one told
# of lately.  ago: ms since when it waits to be told of.

sub beat ($self, @who) {
    my @named = grep { !grep { defined } @$_{qw(place come close)} } @who;
    my @lists = ([ grep { !$_->{lately} } @named ], [ grep { $_->{lately} } @named ]);
    my @texts = map { @$_ ? list(map { $_->{user} } @$_) : '' } @lists;
    @who = grep { $_->{place} || $_->{come} || $_->{close} } @who;

    push @texts, pack 'n*', map { $_->{ago} // 0 } map({ @$_ } @lists), @who;

    return $self->call('beat', @texts, map {
        my $place = $_->{place};
        $_->{come} ? ($_->{user}, 0, "$_->{come} 0 2") :
        $_->{close} ? ($_->{user}, 0, "$_->{close} 0 3") :
        ($_->{user}, $place->{score},
         "$place->{clock} $place->{epoch} " . ($_->{away} ? 1 : 0))
    } @who);
}

# as cmsgpack has it

sub list (@texts) {
    return pack('Cn', 0xdc, scalar @texts)
           . join '', map { pack('Cn/a*', 0xda, $_) } @texts;
}

# given: so many are sold at least, of seats that are set; -1: nothing is said

sub admin ($self, $what = 'look', $value = 0, $given = -1) {
    return $self->call('admin', $what, $value, $given);
}

# by: 0 the backend, 1 an operator, 2 the user; adm 0: of the last session; key:
# of the caller

sub complete ($self, $user, $adm = 0, $seats = 1, $by = 0, $key = '') {
    return $self->call('complete', $user, $adm, $seats, $by, $key);
}


# Users who join together: { state, position, score, clock } of each, and the
# answer.

sub join_all ($self, @users) {
    my $answer = $self->call('join', @$self{qw(max_queue max_wait)}, @users);
    my @stands = $answer->{stands}->@*;
    my @each;

    while (my ($state, @n) = splice @stands, 0, 4) {
        my %one = (state => $STATES[$state]);
        @one{qw(position score clock)} = @n;
        push @each, \%one;
    }
    return (\@each, $answer);
}


# The first step after the next time that people are let in: "position" is how many
# were by then, since the first one here may have come late enough for that.  Where
# it comes so late, as on a machine that stood still, that Redis may have been away,
# nobody is let in for a while: then it is the first one after that.

sub next_step ($self) {
    my $answer = $self->step;
    my $slot = sub () { int($answer->{us} / 1000 / $self->{admit_interval}) };
    my $from = $slot->();
    my $in = $answer->{position};

    wait_until {
        $answer = $self->step;
        $in += $answer->{position};
        $from = $slot->() if $self->settles($answer->{us});
        $slot->() > $from
    };
    return { %$answer, position => $in };
}

# lua/queue_lib.lua: as long as all others are to be heard first

sub settles ($self, $us) {
    my $left = ($self->{redis}->cmd('HGET', $self->key('state'), 'settle') // 0)
               - $us / 1000;
    return $left > 0 && $left <= 1500;
}


# Who is in, who waits (in order).

sub active ($self) {
    return sort $self->{redis}->cmd('ZRANGE', $self->key('active'), 0, -1)->@*;
}

sub waiting ($self) {
    return $self->{redis}->cmd('ZRANGE', $self->key('queue'), 0, -1)->@*;
}

1;
