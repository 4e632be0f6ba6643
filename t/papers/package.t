# The Debian package: built from a copy of the repository, it has what it
# should, asks for the NGINX it was built for, and its module works.  Nothing
# is installed.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;
use Admission::HTTP;
use Admission::Nginx;
use Admission::Site;
use File::Find;

# it is of the installed NGINX, whatever is tested
plan skip_all => 'not for another NGINX'
    if $ENV{TEST_SANITIZED} || $ENV{TEST_NGINX_BINARY};

my $package = 'libnginx-mod-http-admission';
my $so = 'usr/lib/nginx/modules/ngx_http_admission_module.so';
my $dir = test_dir;
my $copy = "$dir/source";
my $root = root;


# ---- the build: what the compiler says where it optimizes is the Makefile's matter

stand_back;

mkdir $copy or die "$copy: $!";
my ($status, $output) = run('bash', '-c', <<END);
set -eo pipefail
tar -C '$root' --exclude=./build --exclude=./.git -cf - . | tar -C '$copy' -xf -
cd '$copy'
DEB_BUILD_OPTIONS='parallel=2 noautodbgsym noopt' dpkg-buildpackage -us -uc -b
END

is $status, 0, 'dpkg-buildpackage builds it' or diag($output);
like $output, qr/dh_auto_test/, 'NGINX was asked whether it loads it';

my ($deb) = glob "$dir/${package}_*.deb";
ok $deb, 'there is a package' or BAIL_OUT($output);


# ---- what is in it

my %field = map { $_ => field($_) } qw(Package Version Depends);

sub field ($name) {
    my ($status, $text) = run('dpkg-deb', '-f', $deb, $name);
    return $text =~ s/\s+$//r;
}

# the names below a directory of the repository

sub files_in ($top) {
    my @names;

    find(sub { -f && push @names, $File::Find::name =~ s{^\Q$root/$top/}{}r },
         "$root/$top");
    return sort @names;
}

my ($abi) = read_file('/usr/share/nginx/src/debian/libnginx-mod.abisubstvars')
            =~ /^nginx:abi=(\S+)/m;

is $field{Package}, $package, 'its name';
like $field{Version}, qr/^\d+\.\d+\.\d+$/, 'its version';
like $field{Depends}, qr/(?:^|, )\Q$abi\E(?:,|$)/,
    'needs the NGINX of the ABI that it was built for';
like $field{Depends}, qr/\b$_/, "needs $_"
    for qw(libc6 libjansson libssl);
unlike $field{Depends}, qr/hiredis/, 'has its own hiredis inside';

my $tree = "$dir/tree";
($status, $output) = run('dpkg-deb', '-x', $deb, $tree);
is $status, 0, 'it is a package';

($status, my $listing) = run('dpkg-deb', '-c', $deb);
my %there = map { m{ \./(\S*[^/\s])$} ? ($1 => 1) : () } split /\n/, $listing;

ok delete $there{$so}, 'the module';

my $load = "usr/share/nginx/modules-available/mod-http-admission.conf";
ok delete $there{$load}, 'the file that loads it';
is read_file("$tree/$load"),
    "load_module modules/ngx_http_admission_module.so;\n", 'does so';

my $doc = "usr/share/doc/$package";

for my $name (qw(README.md CHANGELOG.md CONTRIBUTING.md),
              map { "docs/$_" } files_in('docs'))
{
    ok delete($there{"$doc/$name"}) || delete $there{"$doc/$name.gz"}, $name;
}

ok delete $there{"$doc/examples/$_"}, "the example $_"
    for files_in('conf-examples'), files_in('tools');
like $listing, qr{^-rwxr-xr-x .*/examples/$_$}m, "$_ can be run"
    for files_in('tools');
ok delete($there{"$doc/copyright"}), 'the copyright';
ok delete($there{"$doc/changelog.gz"}), 'the changelog';
is join('', (run('zcat', "$tree/$doc/changelog.gz"))[1]),
    read_file("$root/debian/changelog"), 'which is Debian\'s';

is join(' ', sort keys %there), '', 'nothing else';

like $listing, qr{^-rw-r--r-- root/root .*\Q$so\E$}m, 'mode and owner';


# ---- the module works

$ENV{ADMISSION_MODULE} = "$tree/$so";

my $site = Admission::Site->start(timeout => '30s',
                                  events => 'default threshold=1;');

is $site->call(0, ann => POST => 'check')->json->{status}, 'active',
    'the module lets in';
is $site->call(0, ben => POST => 'check')->json->{status}, 'queued',
    'and has wait';
like read_file('/proc/' . ($site->nginx->worker_pids)[0] . '/maps'),
    qr{\Q$tree/$so\E$}m, 'it is the one of the package';

done_testing;
