# The queue scripts called directly, as src/queue/queue.c calls
# them: what NGINX would ask is given by name, what a host knows too.

package Admission::Scripts;

use v5.36;

use Admission::Test;

my @KEYS = listed(queue_check => 'keys');

my @CONF = qw(threshold active_ttl session_max claim_ttl seen_ttl
              restore_wait admit_interval admit_batch token_ttl stream);

my %DEFAULT = (threshold => 2, active_ttl => 600_000, session_max => 3_600_000,
               claim_ttl => 120_000, seen_ttl => 600_000,
               restore_wait => 60_000, admit_interval => 100,
               admit_batch => 100, token_ttl => 600_000, stream => 1);

my @HOST = qw(epoch clock active clear api_threshold brief ms in_touch wall);

# the fields of the answer, as the longest one has them
my @ANSWER = listed(queue_step => 'reply');

my @STATES = qw(out waiting in used needs_tier1 ready);


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

    for my $name (qw(check leave step admin)) {
        my (undef, $text) = run('sh', root . '/lua/embed.sh', '-e',
                                root . "/lua/queue_$name.lua");
        $self->{edit}->() for $self->{edit} ? $text : ();
        $self->{sha}{$name} = $redis->cmd('SCRIPT', 'LOAD', $text);
    }

    return $self;
}


sub key ($self, $name) { return "{$self->{event}}:$name" }


# What a script answers, by name; "state" as a word.

sub call ($self, $name, @args) {
    my %host = (api_threshold => -1, $self->{host}->%*);

    my $reply = $self->{redis}->cmd(
        'EVALSHA', $self->{sha}{$name}, scalar @KEYS,
        (map { $self->key($_) } @KEYS), $self->{event}, @$self{@CONF},
        (map { $host{$_} // 0 } @HOST), @args);

    my %answer;
    @answer{@ANSWER} = @$reply;
    $answer{state} = $STATES[$answer{state}];
    return \%answer;
}


# mode  check (default), status, heartbeat, restore, report or away
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
        'check', $user, $modes{ $opt{mode} // 'check' },
        $t1->{at} // 0, $t1->{act} // 0,
        ($t1->{adm} ? $t1->{adm} + $self->{token_ttl} * 1000 : 0),
        $entry->{adm} // 0, $entry->{exp} // 0, $opt{pass} // 0,
        map { @$_{qw(score clock epoch)} } @$places);
}


# held: 0 nothing, 1 a place, 2 an entry token, that leave is called with

sub leave ($self, $user, $beacon = 0, $held = 0) {
    return $self->call('leave', $user, $beacon ? 1 : 0, $held);
}

sub step ($self, $since = 0) { return $self->call('step', $since) }

sub admin ($self, $what = 'look', $value = 0) {
    return $self->call('admin', $what, $value);
}


# Who is in, who waits (in order).

sub active ($self) {
    return sort $self->{redis}->cmd('ZRANGE', $self->key('active'), 0, -1)->@*;
}

sub waiting ($self) {
    return $self->{redis}->cmd('ZRANGE', $self->key('queue'), 0, -1)->@*;
}

1;
