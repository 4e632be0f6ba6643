# Chromium, driven by a script in t/browser: browser_test runs it and makes a
# check of each line that it prints.

package Admission::Browser;

use v5.36;

use Carp;
use Exporter 'import';
use Fcntl qw(:flock);
use File::Copy qw(copy);
use File::Path qw(make_path);

use Admission::Process;
use Admission::Test;

our @EXPORT = qw(browser_test);


# browser_test('tier2.js', {site => ..., tokens => {...}}, $seconds)

sub browser_test ($script, $config, $seconds = 900) {
    my $node_modules = install();
    my $dir = test_dir . '/browser';

    mkdir $dir;

    my $node = Admission::Process->start(
        name => $script, dir => $dir,
        command => [ 'node', root . "/t/browser/$script" ],
        env => { ADMISSION_CONFIG => json_encode({ %$config,
                     chromium => $ENV{CHROMIUM} // '/usr/bin/chromium' }),
                 ADMISSION_NODE_MODULES => $node_modules, TMPDIR => $dir,
                 XDG_CONFIG_HOME => $dir, XDG_CACHE_HOME => $dir });

    $node->wait_exit($seconds);

    my $done;

    for my $line (split /\n/, $node->output) {
        my $told = eval { json_decode($line) };

        if (ref $told ne 'HASH') {
            Test::More::diag($line);

        } elsif ($told->{done}) {
            $done = 1;

        } elsif (!Test::More::ok($told->{ok}, $told->{name})) {
            Test::More::diag($told->{diag} // '');
        }
    }

    Test::More::ok($done, "$script: came to its end");
    $node->finish;
    wait_until { !left_over($dir) } 10;
}


# Chromium's processes go a moment after it has said that it is closed.

sub left_over ($dir) {
    return grep { index($_->{title}, $dir) >= 0 } processes;
}


# What the script needs, from its lock file, into build/; once.

sub install () {
    my $from = root . '/t/browser';
    my $to = root . '/build/browser';

    make_path($to);

    open my $lock, '>', "$to/lock" or croak "$to/lock: $!";
    flock $lock, LOCK_EX or croak "$to/lock: $!";

    my $wanted = read_file("$from/package-lock.json");

    if (!-e "$to/installed" || read_file("$to/installed") ne $wanted) {

        for my $file (qw(package.json package-lock.json .npmrc)) {
            copy("$from/$file", "$to/$file") or croak "$file: $!";
        }

        local $ENV{PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD} = 1;

        # there may be no answer at once

        my ($status, $output);

        for (1 .. 3) {
            ($status, $output) = run(qw(timeout 300 npm ci --ignore-scripts
                                        --prefix), $to);
            last if !$status;
        }

        croak "npm ci: $output" if $status;

        write_file("$to/installed", $wanted);
    }

    return "$to/node_modules";
}


1;
