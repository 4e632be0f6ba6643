# What the sources have to be, wherever a compiler does not say so.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

plan(skip_all => 'nothing of NGINX is run here: once is enough') if sanitized;

my %source = map { s{.*/src/}{}r => read_file($_) }
             map { sources($_) } qw(c h);

cmp_ok scalar keys %source, '>', 200, 'sources';


# A process that dies with the zone's lock leaves anything: see zone.c.

is_deeply [ sort grep { $source{$_} =~ /ngx_shmtx_(?:un)?lock\(/ }
            keys %source ],
    [ 'host/zone.c' ], 'the lock is taken in one place';


for my $name (sort keys %source) {
    is scalar(grep { length(s/[\x80-\xbf]//gr) > 80 }
              split /\n/, $source{$name}), 0, "$name: 80 columns"
        if $source{$name} =~ /^.{81}/m;

    unlike $source{$name}, qr/\t| $/m, "$name: blanks";
}

done_testing;
