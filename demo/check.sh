# The walk through the demo that `./demo.sh --check` does: the same requests
# as in the text that it prints, over real HTTP.  Read in by demo.sh.


walk() {
    walk_sale
    walk_queue
    walk_both

    echo "ok - the demo does what it should"
}


# A sale that starts in a minute: lots, and what is told of their draw.

walk_sale() {
    call sam GET /demo/login/sam

    poll sam GET /vwr-api/status/$sale '"isActive":true'
    expect "a sale is going to start" 200 '"phase":"(gathering|open)"'

    call sam POST /vwr-api/assign/$sale
    expect "sam gets a lot" 200 '"(lot|position)":[0-9]+'

    poll sam GET /vwr-api/draw/$sale '"commitment":"[0-9a-f]{64}"'
    expect "and can check its draw later" 200 '"algorithm":"'
}


# An event with a crowd: the waiting room, the queue, the seats, as a browser.

walk_both() {
    local page=/seats/$event?row=1 ticket
    local way="?return=%2Fseats%2F$event%3Frow%3D1"

    call nobody GET /
    expect "the landing page is there" 200 "href=\"/seats/$event"

    call zoe GET "$page" -H "Accept: text/html"
    expect "zoe wants a seat and is sent on" 302
    expect_header "to sign in" "Location: /signin$way"

    call zoe GET /demo/login/zoe
    call zoe GET "$page" -H "Accept: text/html"
    expect "she is sent on" 302
    expect_header "to the waiting room" "Location: /vwr/$event$way"

    call zoe GET "/vwr/$event$way"
    expect "which has a page" 200 'data-title="Spring Concert"'

    # the crowd has just begun to come

    poll nobody GET /vwr-api/status/$event '"waitingCount":(2[5-9]|3.).[,}]'

    call zoe POST /vwr-api/assign/$event
    expect "she gets a number" 200 '"position":[0-9]+,'

    ticket=$(sed -n 's/.*"requestId":"\([^"]*\)".*/\1/p' <<< "$body")

    call zoe GET /vwr-api/check/$event/$ticket
    expect "with hundreds ahead of her" 200 '"ahead":[23][0-9][0-9],'

    poll zoe GET /vwr-api/check/$event/$ticket '"admitted":true'
    expect "her turn comes" 200 '"token":"'

    call zoe GET "$page" -H "Accept: text/html"
    expect "she is sent on" 302
    expect_header "to the queue" "Location: /queue/$event$way"

    call zoe GET "/queue/$event$way"
    expect "which has a page, too" 200 'data-title="Spring Concert"'

    call zoe POST /api/queue/check/$event
    expect "she joins" 200 '"status":"(queued|active)"'

    poll zoe GET /api/queue/status/$event '"status":"active"'
    expect "her turn comes here as well" 200 '"entryToken":"'

    call zoe GET "$page" -H "Accept: text/html"
    expect "and she sees the seats" 200 "Choose a seat"

    call zoe POST /api/reservations
    expect "and books" 201 '"X-User-Id" : "zoe"'
}


# One without: the queue alone.

walk_queue() {
    local who event=$recital

    for who in ann ben cho; do
        call $who GET /demo/login/$who
        expect "$who signs in (demo)" 200 accessToken
    done

    call nobody POST /api/queue/check/$event
    expect "who has not signed in is refused" 401 USER_REQUIRED

    call ann POST /api/queue/check/$event
    expect "ann joins and is let in" 200 '"status":"active"'

    call ben POST /api/queue/check/$event
    expect "ben joins and is let in" 200 '"status":"active"'

    call cho POST /api/queue/check/$event
    expect "cho joins and waits, first in line" 200 \
           '"status":"queued".*"position":1,'
    expect "both seats are with people who may buy them" 200 '"seats":0,'

    call cho POST /api/reservations
    expect "cho may not book yet" 403 TIER2_REQUIRED

    call cho GET /api/seats/$event -H "Accept: text/html"
    expect "cho's browser is sent to the queue" 302
    expect_header "with the way back" \
           "Location: /queue/$event?return=%2Fapi%2Fseats%2F$event"

    call ann POST /api/reservations -H "X-User-Id: boss"
    expect "ann books" 201 Booked
    expect "the backend is told that it is ann, whatever her client says" \
           201 '"X-User-Id" : "ann"'
    expect "the backend is told for which event she was let in" \
           201 "\"X-Admission-Event\" : \"$event\""

    poll ann GET /api/queue/status/$event '"status":"not_in_queue"'
    expect "and that she has bought: her turn is over" 200 not_in_queue

    call cho GET /api/queue/status/$event
    expect "cho waits all the same, for the other seat" 200 \
           '"status":"queued".*"seats":0,'

    call ben POST /api/queue/leave/$event
    expect "ben leaves" 200 "Left queue"

    poll cho GET /api/queue/status/$event '"status":"active"'
    expect "cho is let in" 200 '"status":"active"'

    call cho POST /api/reservations
    expect "cho books" 201 '"X-User-Id" : "cho"'

    poll ben GET /api/queue/status/$event '"status":"sold_out"'
    expect "that was the last seat" 200 '"status":"sold_out"'

    call ben POST /api/queue/check/$event
    expect "ben does not join any more" 409 SOLD_OUT

    call admin GET /demo/login/admin
    call admin GET /api/queue/admin/slots/$event
    expect "the operator sees that both seats are sold" 200 \
           '"slots":2,"sold":2,"inside":0,"remaining":0'

    call admin PUT "/api/queue/admin/slots/$event?slots=3"
    expect "and has one more" 200 '"remaining":1'

    poll ben POST /api/queue/check/$event '"status":"active"'
    expect "which is for ben" 200 \
           '"status":"active".*"currentUsers":1,"threshold":2,'

    call admin GET /api/queue/admin/$event
    expect "the operator sees one in and nobody waiting" 200 \
           '"queueSize":0,"currentUsers":1,'

    call ann GET /admin
    expect "the operators' page is not for ann" 403 "</html>"

    call admin GET /admin
    expect "it is for the operator" 200 "</html>"

    call admin GET /api/admin/vwr/status
    expect "and shows all three events" 200 '"total":3,'
}


# call WHO METHOD PATH [OPTIONS]: sets status and body, with a cookie jar a
# person
call() {
    local jar=$dir/jars/$1 method=$2 path=$3
    shift 3

    : > "$dir/body"
    status=$(curl -s --noproxy '*' --max-time 10 -X "$method" \
                  -b "$jar" -c "$jar" -D "$dir/headers" -o "$dir/body" \
                  -w '%{http_code}' "$@" "$site$path") || status=none

    body=$(cat "$dir/body")
}


# expect WHAT STATUS [REGEX], of the last call
expect() {
    if [ "$status" = "$2" ] && [[ $body =~ ${3-} ]]; then
        echo "ok - $1"
        return
    fi

    echo "not ok - $1"
    fail "expected $2 ${3-}, got $status $body"
}


# expect_header WHAT LINE
expect_header() {
    if tr -d '\r' < "$dir/headers" | grep -qxF "$2"; then
        echo "ok - $1"
        return
    fi

    echo "not ok - $1"
    fail "expected $2, got $(cat "$dir/headers")"
}


# poll WHO METHOD PATH REGEX: until the answer matches, for 60 seconds
poll() {
    local end=$((SECONDS + 60))

    while call "$1" "$2" "$3"; do
        [[ $body =~ $4 ]] && return
        [ $SECONDS -lt $end ] || return 0
        sleep 0.5
    done
}
