#!/usr/bin/perl

# The crowd of the demo: it keeps so many anonymous visitors in the waiting
# room of an event that whoever comes finds 300 ahead, and some users in its
# queue, who book for a few seconds and leave again.
#
#     demo/crowd.pl SITE EVENT DIRECTORY
#
# The directory has the secret by which its users need no number; and demo.sh
# knows its processes by it.

use v5.36;

use HTTP::Tiny;
use JSON::PP ();
use Time::HiRes qw(sleep time);

use constant { WAITING => 300, USERS => 6, BOOKING => 4 };

my ($site, $event, $dir) = @ARGV;
my $secret = secret("$dir/secrets/crowd.key");

delete @ENV{qw(http_proxy https_proxy all_proxy)};

my $http = HTTP::Tiny->new(timeout => 5);
my $parent = getppid;
my @users = map { { name => "guest$_", next => time + $_ } } 1 .. USERS;

# whatever fails now may work in a moment

while (getppid == $parent) {
    eval { wait_in_line(); 1 } or sleep 1;

    for my $user (grep { $_->{next} <= time } @users) {
        eval { step($user); 1 } or $user->{next} = time + 1;
    }

    sleep 0.25;
}


sub wait_in_line () {
    my $room = call('GET', "/vwr-api/status/$event");

    for (1 .. WAITING - ($room->{waitingCount} // WAITING)) {
        call('POST', "/vwr-api/assign/$event");
    }
}


# What a user does next: join, ask again, book, leave.

sub step ($user) {
    $user->{token} //= call('GET', "/demo/login/$user->{name}")->{accessToken};

    if ($user->{in}) {
        call('POST', "/demo/queue/leave/$event", $user->{token});
        $user->{in} = 0;
        $user->{next} = time + 1;
        return;
    }

    my $answer = call('POST', "/demo/queue/check/$event", $user->{token});

    $user->{in} = $answer->{status} eq 'active';
    $user->{next} = time + ($user->{in} ? BOOKING + rand : 1);
}


sub secret ($file) {
    open my $in, '<', $file or die "$file: $!\n";
    my $secret = <$in>;
    return $secret =~ s/\n\z//r;
}


sub call ($method, $path, $token = undef) {
    my $response = $http->request($method, "$site$path",
        $token ? { headers => { Authorization => "Bearer $token",
                                'X-Demo-Crowd' => $secret } } : {});

    die "$path: $response->{status}\n" if !$response->{success};
    return JSON::PP::decode_json($response->{content});
}
