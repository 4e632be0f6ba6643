# What docs/directives.md shows is taken by NGINX: each example of it, with
# what it leaves out around it.  And docs/control.md makes a token.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

use Admission::JWT;
use Admission::Nginx;

my $text = read_file(root . '/docs/directives.md');
my $dir = test_dir;

# statements that stand in http; the others in server

my %http = map { $_ => 1 } qw(admission_events admission_redis admission_streams
                              admission_zone geo log_format map upstream);

my @examples;
my $section;

# pieces of indented text, and under which heading they are

for my $part (split /^(?=#+ )/m, $text) {
    ($section) = $part =~ /^#+ (.*)$/m;

    while ($part =~ /((?:^ {4}.*\n(?:^\n(?= {4}))?)+)/mg) {
        my $example = $1;

        next if $example !~ /^\s*(?:location|map|geo|auth_request|admission_\w+)\b/
                || $example !~ /[;}]\n\z/;

        # of these one is enough

        push @examples, map { [ $section, "$_\n" ] }
                        $example =~ /^\s*admission_redis/
                        ? split /\n(?=\n)/, $example : $example;
    }
}

cmp_ok scalar @examples, '>', 22, 'there are examples';

mkdir "$dir/secrets" or die "$dir/secrets: $!";

for my $example (@examples) {
    my ($name, $lines) = @$example;
    my ($status, $output) = check($lines);

    is $status, 0, "$name: " . ($lines =~ /(\S.*)/)[0]
        or diag "$lines\n$output";
}

my ($status) = check("    admission_tier2 on nothing=1;\n");
isnt $status, 0, 'a wrong one is not';


# ---- the operator's token

my ($make) = read_file(root . '/docs/control.md')
             =~ /^( {4}b64url\(\) .*?\n)\n/ms;
my $secret = 'of the identity service, 0123456789';

write_file("$dir/secrets/user.key", "$secret\n");

my ($made, $token) = run('bash', '-eu', '-c', "cd $dir\n$make");

is $made, 0, 'docs/control.md: a token is made' or diag $token;

my $claims = jwt_verify($token =~ s/\n//r, $secret) // {};

is $claims->{role}, 'admin', 'of an operator';
cmp_ok $claims->{exp}, '>', time, 'that holds';

done_testing;


sub check ($lines) {
    my (%there, @http, @server);

    # no machine of the examples is there

    $lines =~ s{\b(?:redis|booking)\.example\b}{127.0.0.1}g;
    $lines =~ s{\s+tls_ca=[\w.-]+}{}g;

    for my $file ($lines =~ /\b(?:\w*file=)([\w.\/-]+)/g) {
        write_file("$dir/$file", substr("$file-" x 9, 0, 60) . "\n");
    }

    # of RFC 7515 A.3

    for my $file ($lines =~ /\bjwks=([\w.\/-]+)/g) {
        write_file("$dir/$file", '{"keys":[{"kty":"EC","crv":"P-256",'
                   . '"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",'
                   . '"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}');
    }

    $lines =~ s{((?:file|jwks)=)}{$1$dir/}g;

    for my $statement (statements($lines)) {
        my ($word) = $statement =~ /^\s*(\S+)/;

        $there{$word} = 1;
        push @{ $http{$word} ? \@http : \@server }, $statement;
    }

    # what is needed besides

    push @http, 'admission_redis redis://127.0.0.1;'
        if !$there{admission_redis};
    push @http, 'map $uri $event_id { volatile; default concert; }'
        if $lines =~ /\$event_id/ && !$there{map};
    push @http, map { "upstream $_ { server 127.0.0.1:3000; }" }
                qw(web booking);
    push @http, map { "admission_secret $_ " . substr("$_-" x 40, 0, 40) . ';' }
                qw(tier1 tier2 user);
    push @server, 'admission_user jwt;'
        if !$there{admission_user};
    push @server, 'location = /auth { return 204; }'
        if $lines =~ m{auth_request\s+/auth};

    return Admission::Nginx->conf_test(http => join("\n", @http),
                                       server => join("\n", @server));
}

# each up to its ";" or to the end of its block

sub statements ($lines) {
    my @statements;

    while ($lines =~ /\G\s*((?:[^;{}]|\{[\w]+\}|"[^"]*")*
                      (?:;|(\{(?:[^{}]|(?2)|"[^"]*")*\})))
                      [ \t]*(?:\#.*)?/xgc)
    {
        push @statements, $1;
    }

    return @statements;
}
