# What a line takes, however long: Redis's memory, the time of the view that each
# host has of it, and that of putting back who is lost.

package Bench::Line;

use v5.36;

use List::Util qw(max sum0);
use Time::HiRes qw(time sleep);

use MIME::Base64 ();

use Admission::HTTP;
use Bench;
use Bench::Polls;
use Bench::View;

my $lost = 2000;


sub run ($bench, $site) {
    my $redis = $site->redis;
    my $host = $site->another_nginx('');

    my $before = Bench::Polls::memory($site);
    my $rss = rss($redis);
    my @known = Bench::View::renew($host,
        Bench::Polls::fill($site, 'view', $bench->{waiting}, $lost));

    $bench->heading("A line of $bench->{waiting}");
    $bench->row('memory of Redis, MB', sprintf('%.0f (%.0f resident)',
        (Bench::Polls::memory($site) - $before) / 1e6,
        (rss($redis) - $rss) / 1e6));

    # While somebody asks, the view is renewed: each script that ran meanwhile.

    my @steps = slow($redis, sub {
        for my $i (0 .. 19) {
            Bench::View::ask($host->port('queue'), split /\t/, $known[$i]);
            sleep 0.25;
        }
    });

    $bench->row('a script of the schedule or of a view, us, median and most',
                sprintf('%.0f, %.0f', median(@steps), max(@steps)));

    # Whom Redis has lost, each with a place, and the line as it was: the host's
    # view tells them their places, and the heartbeat puts them back.

    my @users = map { user((split /\t/)[0]) } @known;

    for my $key (qw(queue seen)) {
        my @there = @users;
        $redis->cmd('ZREM', "{view}:$key", splice @there, 0, 500) while @there;
    }

    my $began = time;
    my $connection = Admission::HTTP->connect($host->port('queue'),
                                              timeout => 60);
    my @beats = slow($redis, sub {
        Bench::View::ask($connection, split /\t/) for @known;
        sleep 1.5;
    });
    my $back = grep { defined }
               map { $redis->cmd('ZSCORE', '{view}:queue', $_) } @users;

    $bench->row('who were lost and are back', sprintf('%d of %d', $back,
                scalar @users), [ '>=', scalar @users ], $back);
    $bench->row('Redis a user put back, us',
                sprintf('%.1f', (sum0(@beats)) / ($back || 1)));
    $bench->row('longest call, us', sprintf '%.0f', max(@beats));

    $host->quit;
    $site->drop_event('view');
}


# How long each call of a script took meanwhile, in microseconds.

sub slow ($redis, $code) {
    $redis->cmd('CONFIG', 'SET', 'slowlog-max-len', 100_000);
    $redis->cmd('CONFIG', 'SET', 'slowlog-log-slower-than', 0);
    $redis->cmd('SLOWLOG', 'RESET');
    $code->();

    my $log = $redis->cmd('SLOWLOG', 'GET', -1);
    $redis->cmd('CONFIG', 'SET', 'slowlog-log-slower-than', -1);

    return map { $_->[2] } grep { $_->[3][0] =~ /^evalsha$/i } @$log;
}

sub median (@values) {
    return (sort { $a <=> $b } @values)[@values / 2];
}

sub user ($token) {
    my ($claims) = (split /\./, $token)[1];
    return Admission::Test::json_decode(MIME::Base64::decode_base64url($claims))
           ->{userId};
}

sub rss ($redis) { return Admission::Test::rss($redis->pid) }


1;
