# The waiting room in the tests: a site with its APIs and gates, and visitors
# that have a cookie jar.
#
#     my $site = waiting_site(instances => 2, events => 'default vwr_rate=0;');
#     operator($site, POST => 'activate/concert');
#     my $visitor = {};
#     assign($site, 0, $visitor)->json->{position};

package Admission::Waiting;

use v5.36;

use Exporter 'import';

use Admission::HTTP;
use Admission::JWT;
use Admission::Site;
use Admission::Test ();

our @EXPORT = qw(waiting_site operator assign check visit advance_past
                 tier1_cookie key_of);


# The options are those of Admission::Site; what is in server comes first.  All
# visitors of a test come by one address.

sub waiting_site (%opt) {
    my $server = delete $opt{server} // '';

    return Admission::Site->start(events => 'default vwr_rate=0;',
                                  server => <<END, %opt);
        $server

        location /vwr-api/       { admission_vwr_api assign_rate=off; }
        location /api/admin/vwr/ { admission_admin_api; }

        location /events/ { admission_tier1 auto; empty_gif; }

        location /both/ {
            admission_tier1 auto;
            admission_tier2 on;
            empty_gif;
        }

        location /tier1/queue/ {
            admission_tier1 auto;
            admission_queue_api;
        }
END
}


# An operator's call; instance => where

sub operator ($site, $method, $path, %opt) {
    return request($site->port(delete $opt{instance} // 0), $method,
                   "/api/admin/vwr/$path",
                   bearer => $Admission::Site::SECRETS{admin}, %opt);
}


# A visitor is a hash, its jar; what answers set is kept in it.

sub visit ($site, $i, $visitor, $method, $path, %opt) {
    my $r = request($site->port($i), $method, $path,
                    ($visitor && %$visitor ? (cookies => $visitor) : ()),
                    %opt);

    if ($visitor) {
        my $set = $r->cookies;

        for my $name (keys %$set) {
            $visitor->{$name} = $set->{$name}{value};
            delete $visitor->{$name}
                if $set->{$name}{attributes}{'max-age'} == 0;
        }
    }

    return $r;
}

sub assign ($site, $i, $visitor, %opt) {
    my $event = delete $opt{event} // $site->{event};
    return visit($site, $i, $visitor, 'POST', "/vwr-api/assign/$event", %opt);
}

sub check ($site, $i, $visitor, $ticket, %opt) {
    my $event = delete $opt{event} // $site->{event};
    return visit($site, $i, $visitor, 'GET', "/vwr-api/check/$event/$ticket",
                 %opt);
}


# Has the counter pass all positions there are, on every instance.

sub advance_past ($site, $event = $site->{event}) {
    my $serving;

    while (1) {
        my $r = operator($site, POST => "advance/$event",
                         json => { batchSize => 100_000 })->json;
        last if ($r->{status} // '') eq 'caught_up';
        $serving = $r->{servingCounter};
    }

    for my $port ($site->ports) {
        Admission::Test::wait_until {
            my $r = get($port, "/vwr-api/status/$event")->json;
            $r->{serving} >= ($serving // 0) && !$r->{waitingCount};
        };
    }
}


# {cookies} of a visitor that holds a tier 1 token made with these claims

sub tier1_cookie ($visitor, %claims) {
    return { %$visitor, 'urr-vwr-token' => tier1_token(
        $Admission::Site::SECRETS{tier1}, sub => 'concert', uid => 'u',
        position => 1, %claims) };
}


# The key that visitors and tickets are signed with.

sub key_of ($kind) {
    return Digest::SHA::hmac_sha256("admission $kind",
                                    $Admission::Site::SECRETS{tier1});
}

1;
