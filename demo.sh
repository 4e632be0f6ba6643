#!/bin/bash

# Usage: ./demo.sh [--check]
#
# Installs what is needed, builds the module, and starts a private Redis, a
# small booking backend and NGINX on 127.0.0.1:8080 (PORT=8081 ./demo.sh for
# another port).  Ctrl-C stops all of it and leaves nothing behind.
# MODULE=/usr/lib/nginx/modules/ngx_http_admission_module.so ./demo.sh takes
# a module that is there already, an installed one.
#
# --check walks through the demo by itself and exits 0, or 1 if something is
# not as it should be.

set -euo pipefail

cd "$(dirname "$0")"

port=${PORT:-8080}
site=http://127.0.0.1:$port
event=3f0c2b1e-0000-4000-8000-000000000001         # with a crowd
recital=3f0c2b1e-0000-4000-8000-000000000002       # without
sale=3f0c2b1e-0000-4000-8000-000000000003          # that starts in a minute
module=${MODULE:-$PWD/build/ngx_http_admission_module.so}

check=no
dir=
pids=()
names=()                # by pid


main() {
    case "${1-} $#" in
        " 0")       ;;
        "--check 1") check=yes ;;
        "--help 1" | "-h 1") usage; exit ;;
        *)          usage >&2; exit 2 ;;
    esac

    need_port
    .ci/setup demo

    if [ -z "${MODULE:-}" ]; then
        build
    fi

    need_module

    trap stop EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    start_all

    if [ $check = yes ]; then
        . demo/check.sh
        walk
        return
    fi

    explain

    # none of them ends by itself: the first that does ends the demo; one that was
    # killed while something else ran has no job any more

    local ended pid

    for pid in "${pids[@]}"; do
        kill -0 "$pid" 2>/dev/null || fail "${names[pid]} has ended"
    done

    wait -n -p ended "${pids[@]}" || true
    fail "${names[ended]} has ended"
}


usage() {
    sed -n '3,12s/^# \{0,1\}//p' demo.sh
}


fail() {
    echo "demo.sh: $*" >&2

    local log
    for log in redis.log backend.log nginx.log error.log; do
        if [ -n "$dir" ] && [ -s "$dir/$log" ]; then
            echo "--- $log" >&2
            tail -n 10 "$dir/$log" >&2
        fi
    done

    exit 1
}


need_port() {
    case $port in
        "" | *[!0-9]*) fail "PORT=$port is no port" ;;
    esac

    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        fail "port $port of 127.0.0.1 is in use; choose another one, as in" \
             "PORT=$((port + 1)) ./demo.sh"
    fi
}


need_module() {
    case $module in
        /*) test -e "$module" || fail "MODULE=$module: no such file" ;;
        *)  fail "MODULE=$module is no absolute path" ;;
    esac
}


build() {
    local log

    echo "demo.sh: building the module"

    if ! log=$(make -j "$(nproc)" CC=gcc 2>&1); then
        printf '%s\n' "$log" | tail -n 40 >&2
        fail "the module does not build"
    fi
}


# ---- the parts

start_all() {
    local nginx

    # not in every user's PATH
    nginx=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nginx) \
        || fail "nginx is not installed"

    # if root runs this, NGINX's workers are another user, to whom a TMPDIR
    # of root's own may be closed

    if [ "$(id -u)" = 0 ]; then
        dir=$(mktemp -d /tmp/admission-demo.XXXXXX)
        chmod 711 "$dir"
    else
        dir=$(mktemp -d "${TMPDIR:-/tmp}/admission-demo.XXXXXX")
    fi

    echo "demo.sh: starting, in $dir"

    mkdir "$dir/html" "$dir/temp"
    mkdir -m 700 "$dir/secrets" "$dir/jars"

    cp demo/*.html demo/*.css "$dir/html"
    sed -e "s|@MODULE@|$module|; s|@DIR@|$dir|; s|@PORT@|$port|" \
        -e "s|@EVENT@|$event|; s|@RECITAL@|$recital|; s|@SALE@|$sale|" \
        -e "s|@OPENS@|$(date -u +%FT%TZ)|" \
        -e "s|@STARTS@|$(date -u -d '+1 minute' +%FT%TZ)|" \
        demo/nginx.conf > "$dir/nginx.conf"

    local kind
    for kind in tier1 tier2 user crowd; do
        new_secret > "$dir/secrets/$kind.key"
    done

    run redis redis-server --port 0 --unixsocket "$dir/redis.sock" \
        --unixsocketperm 777 --dir "$dir" --save "" --appendonly no
    run backend demo/backend.pl "$dir/backend.sock" "$dir/secrets/user.key"

    await "redis-server does not start" \
        redis-cli -s "$dir/redis.sock" ping
    await "the backend does not start" test -S "$dir/backend.sock"

    run nginx "$nginx" -p "$dir/" -c nginx.conf -e error.log

    await "nginx does not start" \
        curl -sf --noproxy '*' -o /dev/null "$site/"

    run crowd demo/crowd.pl "$site" "$event" "$dir"
}


# of 32 random bytes, and in text, so that a look at the file does no harm
new_secret() {
    od -A n -v -t x1 -N 32 /dev/urandom | tr -d ' \n'
}


# run NAME COMMAND...: in a process group of its own, which Ctrl-C does not
# reach: we stop it
run() {
    local name=$1 log=$dir/$1.log
    shift

    set -m
    "$@" < /dev/null > "$log" 2>&1 &
    set +m

    pids+=($!)
    names[$!]=$name
}


# await MESSAGE COMMAND...: until it succeeds, for 10 seconds
await() {
    local message=$1 end=$((SECONDS + 10)) pid
    shift

    until "$@" > /dev/null 2>&1; do
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || fail "$message"
        done

        [ $SECONDS -lt $end ] || fail "$message"
        sleep 0.1
    done
}


stop() {
    local status=$? i

    trap - EXIT
    trap '' HUP INT TERM

    # the last that was started goes first: NGINX uses the others

    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        stop_group "${pids[i]}"
    done

    [ -z "$dir" ] || rm -rf "$dir"

    [ $check = yes ] || echo "demo.sh: all stopped"
    exit $status
}


stop_group() {
    local signal i

    for signal in TERM KILL; do
        kill -s $signal -- "-$1" 2>/dev/null || return 0

        for ((i = 0; i < 100; i++)); do
            kill -0 -- "-$1" 2>/dev/null || return 0
            sleep 0.05
        done
    done
}


# ---- what to do with it

explain() {
    cat <<END

The demo is running.  Open $site/ in a browser: a waiting room
with 300 people ahead, then a queue, then seats.  A sale starts in a minute:
who comes until then gets a lot, and the lots are drawn.

Or paste this into another shell, for an event without a crowd that two people
at once may book, and that has two seats:

  site=$site
  event=$recital
  jars=\$(mktemp -d)
  by() { curl -s --noproxy '*' -b "\$jars/\$1" -c "\$jars/\$1" "\${@:2}"; echo; }

  # three people sign in (DEMO: any name will do, and no password)
  by ann \$site/demo/login/ann
  by ben \$site/demo/login/ben
  by cho \$site/demo/login/cho

  # each joins the queue: ann and ben are let in, cho has to wait, since both
  # seats are with people who may buy them ("seats":0)
  by ann -X POST \$site/api/queue/check/\$event
  by ben -X POST \$site/api/queue/check/\$event
  by cho -X POST \$site/api/queue/check/\$event

  # cho may not book yet: 403 TIER2_REQUIRED
  by cho -i -X POST \$site/api/reservations

  # ann may; the backend is told who she is and for what she was let in, and
  # says that she has bought (X-Admission-Command): her turn is over
  by ann -X POST \$site/api/reservations

  # ben leaves, his seat is free, and within a second cho is let in, and books
  by ben -X POST \$site/api/queue/leave/\$event
  sleep 1
  by cho \$site/api/queue/status/\$event
  by cho -X POST \$site/api/reservations

  # that was the last seat: 409 SOLD_OUT
  by ben -X POST \$site/api/queue/check/\$event

  # the operator (DEMO: the name "admin" has the role) looks, and has one more
  by admin \$site/demo/login/admin
  by admin \$site/api/queue/admin/slots/\$event
  by admin -X PUT "\$site/api/queue/admin/slots/\$event?slots=3"

  # which is for ben
  by ben -X POST \$site/api/queue/check/\$event
  by admin \$site/api/queue/admin/\$event

Who is in and is not heard of for two minutes is out; who is let in from the
queue has to come within 30 seconds.  Another check lets in, or waits, again.

Logs: $dir/access.log and error.log
Press Ctrl-C to stop all of it.
END
}


main "$@"
