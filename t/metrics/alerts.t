# conf-examples: the alert rules fire when they are to, and are silent when they
# are not; they and the dashboard use metrics that there are; and docs/metrics.md
# has all of those, and no others.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use POSIX qw(strftime);

use Admission::HTTP;
use Admission::JWT;
use Admission::Metrics;
use Admission::Site;

my $rules = root . '/conf-examples/admission-alerts.yml';
my $board = root . '/conf-examples/admission-dashboard.json';


# ---- what fires, and what does not

# name of the alert => [labels it fires with, series while it fires, series
# while it does not]; a series is [name and labels, values], as promtool has
# them

my $E = 'event="a"';
my $H = 'instance="h"';

sub series ($waiting, $active, $admissions, $threshold = '100x60') {
    return [ qq(queue_waiting{$H,$E}), $waiting ],
           [ qq(queue_active{$H,$E}), $active ],
           [ qq(queue_threshold{$H,$E}), $threshold ],
           [ qq(event_queue_admissions_total{$H,$E}), $admissions ];
}

sub room ($next, $serving, $waiting, $rate = '50x60') {
    return [ qq(room_next{$H,$E}), $next ],
           [ qq(room_serving{$H,$E}), $serving ],
           [ qq(room_waiting{$H,$E}), $waiting ],
           [ qq(room_rate{$H,$E}), $rate ];
}

my @b = (qq(queue_waiting{$H,event="b"}), qq(queue_active{$H,event="b"}));
my @other = (qq(queue_waiting{$H,event="(other)"}),
             qq(queue_active{$H,event="(other)"}));

my %alert = (
    AdmissionQueueStandsStill => [
        { event => 'a' },
        [ series('0+10x60', '100x60', '500x60') ],
        [ series('0+10x60', '100x60', '500+1x60') ],        # somebody enters
        [ series('600-10x60', '100x60', '500x60') ],        # it shrinks
        [ series('0+10x60', '100x60', '500x60', '0x60') ],  # it is paused
        [ series('0+10x60', '100x60', '500x60'), [ "held{$H,$E}", '1x60' ] ],
    ],
    AdmissionWaitingRoomStandsStill => [
        { event => 'a' },
        [ room('100+10x60', '50x60', '50+10x60') ],
        [ room('100+10x60', '50+10x60', '50x60') ],
        [ room('100x60', '50x60', '50x60') ],
        [ room('100+10x60', '50x60', '50+10x60', '0x60') ],
        [ room('100+10x60', '50x60', '50+10x60'), [ "held{$H,$E}", '2x60' ] ],
    ],
    AdmissionStandbyShows => [
        { event => 'a' },
        [ [ qq(room_shows{$H,$E}), '1x60' ],
          [ qq(event_room_unseen_total{$H,$E}), '0+9x10 90x49' ] ],
        [ [ qq(room_shows{$H,$E}), '0x60' ],
          [ qq(event_room_unseen_total{$H,$E}), '0+9x60' ] ],
        [ [ qq(room_shows{$H,$E}), '1x60' ],            # always on
          [ qq(event_room_unseen_total{$H,$E}), '0x60' ] ],
    ],
    AdmissionBackendLimits => [
        { event => 'a' },
        [ [ "backend_limited{$H,$E}", '1x60' ] ],
        [ [ "backend_limited{$H,$E}", '0x60' ] ],
        [ [ "backend_limited{$H,$E}", '0x50 2x10' ] ],          # not for long
        [ [ "backend_limited{$H,$E}", '3x60' ] ],           # another alert
    ],
    AdmissionBackendPaused => [
        { event => 'a' },
        [ [ "backend_limited{$H,$E}", '0x45 3x15' ] ],
        [ [ "backend_limited{$H,$E}", '2x60' ] ],
    ],
    AdmissionHeld => [
        { event => 'a' },
        [ [ "held{$H,$E}", '2x60' ] ],
        [ [ "held{$H,$E}", '0x60' ] ],
        [ [ "held{$H,$E}", '0x30 1x30' ] ],                 # ten minutes
    ],
    AdmissionDrawWaits => [
        { event => 'a' },
        [ [ "draw_made{$H,$E}", '0x60' ], [ "sale_phase{$H,$E}", '3x60' ] ],
        [ [ "draw_made{$H,$E}", '0x60' ], [ "sale_phase{$H,$E}", '2x60' ] ],
        [ [ "draw_made{$H,$E}", '1x60' ], [ "sale_phase{$H,$E}", '3x60' ] ],
    ],
    AdmissionStreamsFull => [
        { instance => 'h' },
        [ [ "streams_refused_total{$H}", '0+100x60' ] ],
        [ [ "streams_refused_total{$H}", '7x60' ] ],
    ],
    AdmissionViewsOld => [
        { instance => 'h' },
        [ [ "queue_view_age_seconds{$H}", '0+1x60' ] ],
        [ [ "queue_view_age_seconds{$H}", '0.6x60' ] ],
    ],
    AdmissionRedisDown => [
        { instance => 'h' },
        [ [ "state_age_seconds{$H}", '0+30x60' ] ],
        [ [ "state_age_seconds{$H}", '0.3x60' ] ],
    ],
    AdmissionBreakerOpen => [
        { instance => 'h' },
        [ [ qq(redis_breakers{$H,state="open"}), '2x60' ] ],
        [ [ qq(redis_breakers{$H,state="trial"}), '2x60' ] ],
        [ [ qq(redis_breakers{$H,state="open"}), '0x60' ] ],
    ],
    AdmissionFallback => [
        { instance => 'h' },
        [ [ "rate_limit_fallback{$H}", '1x60' ] ],
        [ [ "rate_limit_fallback{$H}", '0x60' ] ],
    ],
    AdmissionStateStale => [
        { instance => 'h' },
        [ [ "state_stale{$H}", '1x60' ] ],
        [ [ "state_stale{$H}", '0x60' ] ],
    ],
    AdmissionScheduleLate => [
        { instance => 'h' },
        [ [ "schedule_lag_seconds{$H}", '0+1x60' ] ],
        [ [ "schedule_lag_seconds{$H}", '0.1x60' ] ],
    ],
    AdmissionQueueLong => [
        { event => 'a' },
        [ series('100001x60', '0x60', '0+1x60') ],
        [ series('100000x60', '0x60', '0+1x60') ],
    ],
    AdmissionHotEvent => [
        { event => 'a' },
        [ series('5000x60', '100x60', '0+1x60'), [ $b[0], '10x60' ],
          [ $b[1], '10x60' ], [ $other[0], '4000x60' ],
          [ $other[1], '10x60' ] ],
        [ series('5000x60', '100x60', '0+1x60'), [ $b[0], '10x60' ],    # others
          [ $b[1], '10x60' ], [ $other[0], '6000x60' ],
          [ $other[1], '10x60' ] ],
        [ series('500x60', '100x60', '0+1x60'), [ $b[0], '1x60' ],      # few
          [ $b[1], '1x60' ] ],
        [ series('5000x60', '100x60', '0+1x60') ],              # it is alone
    ],
    AdmissionOrderViolated => [
        {},
        [ [ "queue_order_violations_total{$H}", '0x40 1x20' ] ],
        [ [ "queue_order_violations_total{$H}", '0x60' ] ],
    ],
    AdmissionSoldLost => [
        { event => 'a' },
        [ [ "sold_lost{$H,$E}", '1x60' ] ],
        [ [ "sold_lost{$H,$E}", '0x60' ] ],
    ],
    AdmissionOneAddress => [
        { instance => 'h', rate => 'assign_rate' },
        [ [ qq(address_rate_one_address{$H,rate="assign_rate"}), '1x60' ] ],
        [ [ qq(address_rate_one_address{$H,rate="assign_rate"}), '0x60' ] ],
    ],
    AdmissionZoneFull => [
        { instance => 'h' },
        [ [ "events_forgotten_total{$H}", '0+1x60' ] ],
        [ [ "events_forgotten_total{$H}", '7x60' ] ],
    ],
    AdmissionRevocationsForgotten => [
        { instance => 'h' },
        [ [ "revocations_forgotten_total{$H}", '0+1x60' ] ],
        [ [ "revocations_forgotten_total{$H}", '7x60' ] ],
    ],
    AdmissionTooManyEvents => [
        { by => 'events' },
        [ [ qq(unlisted_refused_total{$H,by="events"}), '0+100x60' ] ],
        [ [ qq(unlisted_refused_total{$H,by="events"}), '0+1x60' ],
          [ qq(unlisted_refused_total{$H,by="user"}), '7x60' ] ],
    ],
);

my $text = read_file($rules);
my @names = $text =~ /^ +- alert: (\w+)$/mg;
my %severity = $text =~ /- alert: (\w+)\n.*?severity: (\w+)/sg;

is_deeply([ sort @names ], [ sort keys %alert ], 'each alert has a test');

my ($status, $output) = run('promtool', 'check', 'rules', $rules);
is($status, 0, 'promtool check rules') or diag $output;

# Each rule by itself, or all of them would be computed for each test.
# Descriptions are not compared: in the rules that are tested there are none.

my ($head, @rules) = split /^(?= +- alert: )/m,
                     $text =~ s/^ +annotations:\n(?:^ {10,}.*\n)+//mgr;

is(scalar @rules, scalar @names, 'the rules are taken apart');
write_file(test_dir . "/$names[$_].yml", $head . $rules[$_]) for 0 .. $#rules;

my %tests = map {
    my ($labels, $fires, @not) = $alert{$_}->@*;
    my $name = $_;
    ($name => [ alert_test($name, $labels, $fires),
                map { alert_test($name, undef, $_) } @not ])
} sort keys %alert;

($status, $output) = test_rules(%tests);
is($status, 0, 'each alert fires, and is silent otherwise') or diag $output;

# and these tests can fail: with what is expected the other way round each does
my %reversed = map {
    my ($labels, $fires, @not) = $alert{$_}->@*;
    my $name = $_;
    ($name => [ alert_test($name, undef, $fires),
                map { alert_test($name, $labels, $_) } @not ])
} sort keys %alert;

my $all = map { @$_ } values %reversed;

($status, $output) = test_rules(%reversed);
is(scalar(() = $output =~ /^ +alertname: \w+, time: 18m/mg), $all,
   "all $all of them fail if reversed") or diag $output;

# what an alert does after 18 minutes; labels undef: nothing

sub alert_test ($name, $labels, $series) {
    my $input = join '', map {
        "      - series: 'nginx_admission_$_->[0]'\n        values: '$_->[1]'\n"
    } @$series;

    my %all = (severity => $severity{$name}, %{ $labels // {} });
    my $expected = !$labels ? '' : "        exp_alerts:\n          - exp_labels:\n"
        . join('', map { "              $_: $all{$_}\n" } sort keys %all);

    return <<END;
  - interval: 20s
    input_series:
$input
    alert_rule_test:
      - eval_time: 18m
        alertname: $name
$expected
END
}

sub test_rules (%tests) {
    my @files = map {
        write_file(test_dir . "/test-$_.yml", join '', <<END, $tests{$_}->@*)
rule_files: [$_.yml]
evaluation_interval: 20s
tests:
END
    } sort keys %tests;

    return run('promtool', 'test', 'rules', @files);
}


# ---- names

my $site = Admission::Site->start(
    timeout => '5s',
    events => 'default threshold=1 slots=9; room vwr=on;
               backed backend_latency=30s; quiet;
               lots order=draw lots=visitor starts='
              . strftime('%Y-%m-%dT%H:%M:%SZ;', gmtime(time - 60)),
    server => 'location = /metrics { admission_metrics; }
               location = /backed { admission_event backed;
                                    admission_tier1 auto;
                                    proxy_pass http://booking; }
               location = /few { admission_rate_limit few rate=1r/s;
                                 empty_gif; }');

$site->call(0, 'ann', POST => 'check');
get($site->port, '/few');

ok((wait_until {
    (metrics($site->port)->value('room_active', event => 'room') // 0) == 1
} 10), 'there is something of everything');
ok((wait_until {
    (metrics($site->port)->value('draw_made', event => 'lots') // 0) == 1
} 10), 'a draw');
is metrics($site->port)->value('draw_lots', event => 'lots'), 0, 'of no lots';
is metrics($site->port)->value('sale_phase', event => 'lots'), 3,
    'of a sale that has started';

# of the last 5 s, and of as many users as it takes to say something: at once, or a
# slow test has not asked for so many by then
my $m;
my $users = 0;

ok((wait_until {
    my @open = map { Admission::HTTP->connect($site->port) } 1 .. 25;
    $_->send(Admission::HTTP::compose(GET => '/backed', bearer =>
                                      $site->user('user-' . $users++))) for @open;
    $_->response for @open;
    $m = metrics($site->port);
    defined $m->value('backend_latency_milliseconds', event => 'backed')
} 30), 'a backend that is followed');
is $m->value('backend_limited', event => 'backed'), 0, 'which limits nothing';

request($site->port, PUT => '/api/queue/admin/hold/quiet',
        bearer => $Admission::Site::SECRETS{admin});
ok((wait_until {
    (metrics($site->port)->value('held', event => 'quiet') // 0) == 1
} 10), 'and an event that is held, though nobody is there');

my $families = $m->families;
my %sample;         # as queries use them

for my $family (keys %$families) {
    my $type = $families->{$family};

    $sample{$_} = 1 for $type eq 'counter'   ? "${family}_total"
                      : $type eq 'histogram' ? map { "${family}_$_" }
                                               qw(bucket sum count)
                      :                        $family;
}

for my $file ($rules, $board) {
    my %used = map { $_ => 1 } read_file($file) =~ /\b(nginx_admission_\w+)/g;

    cmp_ok(scalar keys %used, '>', 8, "$file uses metrics");
    is_deeply([ grep { !$sample{$_} } sort keys %used ], [],
              'all of which there are');
}

my $json = eval { json_decode(read_file($board)) };
ok($json, 'the dashboard is JSON') or diag $@;

my %shown = map { $_ => 1 } read_file($board) =~ /\b(nginx_admission_\w+)/g;
my @hidden = grep {
    my $f = $_;
    !grep { $shown{$_} } $f, map { "${f}_$_" } qw(total bucket sum count)
} sort keys %$families;

# by event there are those of the sums that a dashboard has no room for
@hidden = grep { !/^nginx_admission_event_queue_/ } @hidden;
is_deeply(\@hidden, [], 'and has all of them');

my %ids;
$ids{ $_->{id} }++ for $json->{panels}->@*;
is_deeply([ grep { $ids{$_} > 1 } keys %ids ], [], 'panels have their own ids');

for my $panel ($json->{panels}->@*) {
    my %refs = map { $_->{refId} => 1 } my @targets = @{ $panel->{targets} // [] };
    is(scalar keys %refs, scalar @targets, "$panel->{title}: and queries theirs");
}

# each query, as a rule, is one that promtool understands
my $n = 0;
my $queries = join '', map {
    my $expr = $_->{expr} =~ s/\$__rate_interval/5m/gr =~ s/\$\w+/.*/gr;
    '      - record: q:' . ++$n . "\n        expr: " . json_encode($expr) . "\n"
} map { @{ $_->{targets} // [] } } $json->{panels}->@*;

my $file = write_file(test_dir . '/queries.yml',
                      "groups:\n  - name: q\n    rules:\n$queries");
($status, $output) = run('promtool', 'check', 'rules', $file);
is($status, 0, "its $n queries are right") or diag $output;


# ---- the documentation

my $doc = read_file(root . '/docs/metrics.md');
my ($table) = $doc =~ /^\| name \| type .*\n\|[-|]+\|\n((?:\|.*\n)+)/m;
my %documented;

for my $row (split /\n/, $table) {
    my (undef, $names, $type, $labels, $unit, $scope) = split /\s*\|\s*/, $row;

    for my $name ($names =~ /`(\w+)`/g) {
        $documented{"nginx_admission_$name"}
            = { type => $type, labels => join ' ', sort $labels =~ /\w+/g };
        like($scope, qr/^(?:host|once|shared)$/, "$name: scope");
    }
}

my %there;

for my $family (keys %$families) {
    my $type = $families->{$family};
    my $name = $family . ($type eq 'counter' ? '_total' : '');
    my ($of) = grep { /^\Q$name\E(?:_bucket)?(?:,|$)/ }
               keys %{ $m->{samples} };
    my @labels = grep { $_ ne 'le' } $of =~ /,(\w+)="/g;

    $there{$name} = { type => $type, labels => join ' ', sort @labels };
}

is_deeply(\%documented, \%there, 'docs/metrics.md has what there is');

my ($series) = $doc =~ /event has up to (\d+) series/;
is($series, scalar(grep { $_->{labels} =~ /\bevent\b/ } values %there),
   'as many of an event');

# what the help says of hosts, and what the table says
for my $row (split /\n/, $table) {
    my (undef, $names, undef, undef, undef, $scope) = split /\s*\|\s*/, $row;

    for my $name ($names =~ /`(\w+)`/g) {
        my ($help) = $m->text =~ /^# HELP nginx_admission_\Q$name\E (.*)$/m;
        my $shared = $help =~ /maximum/ ? 1 : 0;
        is($shared, $scope eq 'shared' ? 1 : 0, "$name: its help says so");
    }
}

# the reasons
my ($list) = join('', map { read_file($_) } sources('h'))
             =~ /_REASON_LIST\(reason\) +\\\n(.*?)\n\n/s;
my @reasons = grep { length } map { s/\\"/"/gr }
              $list =~ /"((?:[^"\\]|\\.)*)"/g;
my $flat = $doc =~ s/\s+/ /gr;

cmp_ok(scalar @reasons, '>', 40, 'reasons are found in the code');

for my $reason (@reasons) {
    my ($claim) = $reason =~ /^claim "(\w+)" missing/;

    # of tickets, which are no tokens of a tier, and of users
    next if $reason =~ /^claim of|^claim "type"/
        || (defined $claim && length $claim == 1);

    like($flat, defined $claim ? qr/`$claim`/ : qr/`\Q$reason\E`/, $reason);
}

done_testing;
