# The demo: its own check, the walk-through that it prints, and that nothing
# is left of it, however it ends.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::Browser;
use Admission::Process;
use IO::Socket::INET;

# it builds the module and runs it in the installed NGINX, whatever is tested
plan skip_all => 'not for the sanitizer build' if $ENV{TEST_SANITIZED};

my $root = root;
my $tmp = test_dir;
my %env = (PORT => free_port);
my $site = "http://127.0.0.1:$env{PORT}";


# ---- ./demo.sh --check

my ($status, $output) = demo('--check');

is $status, 0, '--check: exits 0';
cmp_ok scalar(() = $output =~ /^ok - /mg), '>', 10, '--check: says what is ok';
unlike $output, qr/^not ok/m, '--check: and nothing else';
nothing_left('--check', $output);


# ---- the walk-through, as a user pastes it; where the machine is busy one waits
# a little longer

my $demo = start_demo();
my ($walk) = $demo->output =~ /^( .*\n(?:(?: .*)?\n)*)/m;

like $walk, qr/^  site=\Q$site\E$/m, 'it prints the address';
ok $walk =~ s{^  sleep 1\n\K}{<<'END'}em, 'and when to wait';
  for try in {1..200}; do
      by cho $site/api/queue/status/$event | grep -q '"active"' && break
      sleep 0.1
  done
END

ok $walk =~ s{(?=^  # that was the last seat)}{<<'END'}em, 'likewise';
  for try in {1..200}; do
      by ben $site/api/queue/status/$event | grep -q '"sold_out"' && break
      sleep 0.1
  done
END

($status, $output) = run('bash', '-c', "export TMPDIR=$tmp\n$walk\n"
                                       . 'rm -r "$jars"');

is $status, 0, 'what it prints can be pasted';

my @seen = $output =~ /(DEMO:\ signed\ in\ as\ \w+
                       |"status":"\w+"|"seats":\d+|"position":\d+
                       |TIER2_REQUIRED|Booked|SOLD_OUT|"remaining":\d+
                       |"X-User-Id"\ :\ "\w+"|Left\ queue
                       |"queueSize":\d+,"currentUsers":\d+)/xg;

is_deeply \@seen, [
    'DEMO: signed in as ann', 'DEMO: signed in as ben',
    'DEMO: signed in as cho',
    '"status":"active"', '"status":"active"',
    '"status":"queued"', '"seats":0', '"position":1',
    'TIER2_REQUIRED',
    'Booked', '"X-User-Id" : "ann"',
    'Left queue', '"status":"active"',
    'Booked', '"X-User-Id" : "cho"', 'SOLD_OUT',
    'DEMO: signed in as admin', '"remaining":0', '"remaining":1',
    '"status":"active"', '"queueSize":0,"currentUsers":1',
], 'and shows what it says' or diag $output;

($status, $output) = run('curl', '-sS', '--noproxy', '*', '-i', "$site/");
like $output, qr/^HTTP\S+\ 200.*^Content-Type:\ text\/html;\ charset=utf-8
                 .*Spring\ Concert/msx, 'the page is there';

browser_test('demo.js', {
    site => $site,
    event => '3f0c2b1e-0000-4000-8000-000000000001',
});

ends($demo, 'INT', 'Ctrl-C');


# ---- other ends

ends(start_demo(), 'TERM', 'a TERM');

$demo = start_demo();
my $dir = directory($demo->output);
my ($backend) = grep { $_->{title} =~ m{demo/backend\.pl \Q$dir/\E} } processes;

kill KILL => $backend->{pid};

ok $demo->wait_exit(20), 'a part that dies: it ends';
like $demo->output, qr/backend has ended/, 'a part that dies: it says which';
nothing_left('a part that dies', $demo->output);
$demo->finish;


# ---- a port that is taken

my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1,
                                  LocalPort => $env{PORT}, ReuseAddr => 1)
    or die "port: $@";

($status, $output) = demo('--check');

is $status, 1, 'a port in use: exits 1';
like $output, qr/port $env{PORT} of 127\.0\.0\.1 is in use/,
    'a port in use: says so';
unlike $output, qr/starting, in/, 'a port in use: before anything starts';

($status, $output) = demo('--chekc');

is $status, 2, 'an unknown option: exits 2';
like $output, qr/Usage: /, 'an unknown option: says what there is';

done_testing;


sub demo (@arguments) {
    local %ENV = (%ENV, %env);
    return run("$root/demo.sh", @arguments);
}


sub start_demo () {
    state $count = 0;

    my $process = Admission::Process->start(
        name => 'demo-' . ++$count, command => [ "$root/demo.sh" ],
        env => \%env);

    Admission::Test::register($process);

    wait_until {
        !$process->alive || $process->output =~ /Ctrl-C/
    } 60;

    die 'the demo does not start: ' . $process->output if !$process->alive;
    return $process;
}


sub ends ($process, $signal, $name) {
    my $signal_sent = $process->finish(signals => [ $signal ], timeout => 20);

    is $signal_sent, $signal, "$name: it ends";
    nothing_left($name, $process->output);
}


sub directory ($output) {
    my ($dir) = $output =~ /starting, in (\S+)/ or die "no directory: $output";
    return $dir;
}


sub nothing_left ($name, $output) {
    my $dir = directory($output);
    my @left = grep { $_->{title} =~ /\Q$dir\E/ } processes;

    is_deeply [ map { $_->{title} } @left ], [], "$name: no process is left";
    ok !-e $dir, "$name: no directory is left";
}
