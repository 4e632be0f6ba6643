# The version: the same everywhere, and told by the log and the file.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::Metrics;
use Admission::Nginx;

my @defined = map { read_file($_) =~ /^#define \w+_VERSION\s+"(.*)"$/mg }
              glob(root . '/src/*.h'), glob(root . '/src/*/*.h');

is scalar @defined, 1, 'a version is defined once';

my $version = $defined[0];

my ($debian) = read_file(root . '/debian/changelog') =~ /\A\S+ \((\S+)\)/;
my ($changes) = read_file(root . '/CHANGELOG.md') =~ /^## (\S+)$/m;

is $debian, $version, 'of debian/changelog';
is $changes, $version, 'of CHANGELOG.md';


my $nginx = Admission::Nginx->start(server => <<'END');
        location = /metrics { admission_metrics; }
END

my ($of_nginx) = (run(@{ $nginx->command('stderr') }, '-v'))[1]
                 =~ m{nginx/([\d.]+)};
my $line = "admission module $version for NGINX $of_nginx";

is scalar(() = $nginx->error_log =~ /\[notice\] .*: \Q$line\E$/mg), 1,
    'the log, at start';

is_deeply metrics($nginx->port)->all('build_info'),
    { "nginx=$of_nginx,version=$version" => 1 }, '/metrics';

$nginx->reload;

is scalar(() = $nginx->error_log =~ /\[notice\] .*: \Q$line\E$/mg), 2,
    'the log, at a reload';

unlike +(run(@{ $nginx->command('stderr') }, '-t'))[1], qr/\Q$line\E/,
    'nginx -t is silent about it';

SKIP: {
    my $file = Admission::Nginx::module();

    skip 'the module is in the binary', 1 if !length $file;
    ok index(read_file($file), "\0$line\0") >= 0, 'the file';
}


# without directives of the module it is silent

my $off = Admission::Nginx->start(server => 'location / { return 200; }');

unlike $off->error_log, qr/admission module/, 'a module that is not in use';

done_testing;
