#!/usr/bin/perl

# The crowd of the demo: it keeps so many anonymous visitors in the waiting
# room of an event that whoever comes finds 300 ahead, who ask again when they
# are told to, and some users in its queue, who book for a few seconds and leave
# again.
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
my @visitors;                   # who wait
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
    for my $visitor (grep { $_->{next} <= time } @visitors) {
        my $answer = call('GET', "/vwr-api/check/$event/$visitor->{ticket}",
                          { Cookie => $visitor->{cookie} });
        $visitor->{next} = time + ($answer->{nextPoll} // 1);
        $visitor->{in} = $answer->{admitted};
    }

    @visitors = grep { !$_->{in} } @visitors;

    while (@visitors < WAITING) {
        my ($answer, $cookies) = call('POST', "/vwr-api/assign/$event");
        push @visitors, { ticket => $answer->{requestId}, cookie => $cookies,
                          next => time + ($answer->{nextPoll} // 1) };
    }
}


# What a user does next: join, ask again, book, leave.

sub step ($user) {
    my $token = $user->{token} //= call('GET', "/demo/login/$user->{name}")->{accessToken};
    my $as = { Authorization => "Bearer $token", 'X-Demo-Crowd' => $secret };

    if ($user->{in}) {
        call('POST', "/demo/queue/leave/$event", $as);
        $user->{in} = 0;
        $user->{next} = time + 1;
        return;
    }

    my $answer = call('POST', "/demo/queue/check/$event", $as);

    $user->{in} = $answer->{status} eq 'active';
    $user->{next} = time + ($user->{in} ? BOOKING + rand : 1);
}


sub secret ($file) {
    open my $in, '<', $file or die "$file: $!\n";
    my $secret = <$in>;
    return $secret =~ s/\n\z//r;
}


# What is answered; and the cookies, in a list.

sub call ($method, $path, $headers = {}) {
    my $response = $http->request($method, "$site$path",
                                  { headers => $headers });

    die "$path: $response->{status}\n" if !$response->{success};

    my $answer = JSON::PP::decode_json($response->{content});
    return $answer if !wantarray;

    my $set = $response->{headers}{'set-cookie'} // [];
    return $answer, join '; ', map { s/;.*//r } ref $set ? @$set : $set;
}
