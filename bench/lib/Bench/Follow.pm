# The gate before a backend that is followed, against one that is not: two NGINX at
# the same time, each with a third one as its backend, and tokens seen before.

package Bench::Follow;

use v5.36;

use Carp;

use Admission::HTTP;
use Admission::Nginx;
use Bench;
use Bench::Site;


sub run ($bench, $site) {
    my $event = $site->event;
    my $path = "/events/$event/seats.html";
    my @pairs = $site->pairs;

    my $template = "GET $path HTTP/1.1|Host: localhost|Accept: text/html|"
                   . 'Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|'
                   . "Cookie: access_token=%s; urr-entry-token-$event=%s||";

    my $file = $site->requests('followed', $template, @pairs[0 .. 999]);
    my %line = (off => '', other => '',
                followed => ' backend_latency=500ms backend_errors=2%');
    my %nginx = map { $_ => gate($site, $_, $line{$_}) } keys %line;

    for my $nginx (values %nginx) {
        croak 'no backend'
            if get($nginx->port('gate'), $path)->status == 200;
        $bench->load($nginx->port('gate'), $file, seconds => 1);
    }

    my $results = $bench->beside({}, map {
        my $name = $_;
        $name => sub ($skip) {
            return $bench->begin_load($nginx{$name}->port('gate'), $file,
                skip => $skip,
                pids => { worker => ($nginx{$name}->worker_pids)[0] });
        };
    } qw(off followed other));

    croak 'nothing is measured'
        if !$site->redis->cmd('EXISTS', "followed:{$event}:follow");

    my $cpu = sub ($r) { 1 / $r->{cpu}{worker} };

    $bench->heading('Gate with its backend followed, against not');
    $bench->ratio_row('requests a CPU second',
                      Bench::ratio(@$results{qw(followed off)}, $cpu),
                      [ '>=', 0.98 ]);
    $bench->ratio_row('  not, against not',
                      Bench::ratio(@$results{qw(other off)}, $cpu));
    $bench->rate_row("$_, both", $results->{$_}) for qw(off followed);

    $_->quit for values %nginx;
}


sub gate ($site, $name, $line) {
    my $bare = $site->port('bare');

    return Admission::Nginx->start(
        %{ $site->nginx_options("prefix=$name:") },
        http => (Bench::Site::http()
                 =~ s/default  threshold=1000/$&$line/r) . <<"END");
        upstream bare {
            server 127.0.0.1:$bare;
            keepalive 64;
        }

        server {
            listen 127.0.0.1:%%PORT_gate%%;

            admission_event  \$event_id;
            admission_user   jwt;

            location /events/ {
                admission_tier2     on;
                proxy_http_version  1.1;
                proxy_set_header    Connection "";
                proxy_pass          http://bare;
            }
        }
END
}


1;
