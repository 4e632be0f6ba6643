# The model of the queue, searched by SPIN: every configuration to its end
# without a violation, and with a rule broken on purpose, or as it was before
# the model, the violation found.  See docs/model.md.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

stand_back;

my $model = root . '/model/queue.pml';
my $n = 0;

# MB of memory and s of time, at most
my ($MEMORY, $TIME) = (1500, 600);


# What the search says, for a model with these defines.  Where nothing is to
# be found it goes deep, which takes less memory; else in width.

sub search ($deep, @define) {
    my $dir = test_dir . '/' . ++$n;
    my $live = grep { $_ eq 'LIVE' } @define;

    mkdir $dir or die "$dir: $!";
    chdir $dir or die "$dir: $!";

    my ($status, $text) = run('spin', '-a', (map { "-D$_" } @define), $model);
    is($status, 0, 'the model is right Promela') or diag($text);

    my @how = $live ? '-DNFAIR=3' : $deep ? '-DSAFETY' : qw(-DSAFETY -DBFS);

    # Every access of an array is checked, in a function: with the check inlined
    # the search takes a third of the time.  All of -O2 takes longer to compile
    # than it saves, and any of it where a violation is found soon.

    my @quick = $deep ? qw(-O1 -finline-small-functions -fpartial-inlining)
                : '-O0';

    ($status, $text) = run('cc', @quick, qw(-w -DCOLLAPSE), @how,
                           "-DMEMLIM=$MEMORY", '-o', 'pan', 'pan.c');
    is($status, 0, 'what SPIN makes of it is right C') or diag($text);

    ($status, $text) = run('timeout', $TIME * slow, './pan', '-m1000000',
                           '-w22', $live ? ('-a', '-f') : ());
    chdir root;
    return $text;
}


# no error, and all of it seen

sub holds ($what, @define) {
    subtest "$what: @define" => sub {
        my $text = search(1, @define);

        my ($errors) = $text =~ /errors: (\d+)/;
        my ($states) = $text =~ /^ *(\S+) states, stored/m;

        is($errors, 0, 'no violation');
        unlike($text, qr/not completed|too small|limit|out of memory/i,
               'the whole of it was searched')
            && cmp_ok($states // 0, '>', 100, 'and it was something');
        diag($text) if !defined $errors || $errors;
        note("$states states") if $states;
    };
}


sub fails ($what, $how, @define) {
    subtest "$what: @define" => sub {
        my ($found) = search(0, @define) =~ /^pan:1: (.*)/m;
        like($found // 'nothing', $how, 'the violation is found');
    };
}


holds('order, places, claims', 'N=3', 'T=1');
holds('two at once', 'N=3', 'T=2', 'SMALL=1');
holds('tokens and the gate', 'N=2', 'TOKENS');
holds('one position, two users', 'N=2', 'TICKET');
holds('clear', 'N=2', 'CLEAR', 'SMALL=1');
holds('clear, and one position', 'N=2', 'CLEAR', 'TICKET', 'SMALL=1');
holds('a host that restarts', 'N=2', 'RESTART', 'SMALL=1');
holds('a gap', 'N=2', 'GAP');
holds('loss of data', 'N=2', 'LOSS');
holds('loss of data, restart of a host', 'N=2', 'LOSS', 'RESTART', 'SMALL=1');
holds('slots of before a loss', 'N=3', 'T=2', 'LOSS', 'SMALL=2');
holds('who keeps polling gets in', 'N=3', 'LIVE');

my ($more, $order) = (qr/assertion violated \([nm]<=/,
                      qr/assertion violated .*g_score/);
my $token = qr/assertion violated .*t_adm.*g_rev/;

fails('a place that was used', qr/assertion violated .*p_score/,
      'N=2', 'NO_DONE');
fails('past those who wait', $order, 'N=2', 'NO_QUEUE_RULE');
fails('tokens that do not end', $token, 'N=2', 'TOKENS', 'NO_REVOKE');
fails('no wait after a loss', $more, 'N=2', 'LOSS', 'NO_RESTORE');
fails('slots of before forgotten', $more, 'N=2', 'LOSS', 'NO_FLOOR');
fails('hosts that know nothing', $more, 'N=2', 'LOSS', 'BLIND');
fails('a revocation that was lost', $token, 'N=2', 'LOSS', 'UNHEARD');
fails('claims lost without end', qr/acceptance cycle/,
      'N=2', 'LIVE', 'GREEDY');

fails('before: who leaves after a loss', $more,
      'N=3', 'T=2', 'LOSS', 'SMALL=2', 'OLD_FLOOR');
fails('before: a session past its end', $token, 'N=2', 'GAP', 'OLD_CAP');
fails('before: leaving the line with a token', $token,
      'N=2', 'LOSS', 'OLD_DEPART');
fails('before: a position shown after leaving', qr/assertion violated/,
      'N=2', 'CLEAR', 'TICKET', 'OLD_JOIN', 'SMALL=1');

done_testing;
