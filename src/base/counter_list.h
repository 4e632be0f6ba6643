
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Every metric there is, in the order of /metrics: this is where one is
 * declared, and docs/metrics.md describes it (t/papers/docs.t compares them).
 * Whoever includes this defines the kinds that it needs; they are undefined at
 * the end.  Names are without the prefix and without the _total of counters;
 * those that end in _seconds are counted in ms.
 *
 *   counter(id, name, label, label, help)
 *       one for each pair of values of the labels, NONE being a label without
 *       a name: ngx_adm_count(NGX_ADM_COUNT_<id> + i)
 *   tally(id, name, help)
 *       what a call about an event did: NGX_ADM_TALLY_<id>, of all
 *       events, and of each that has a name
 *   histogram(id, name, label, unit, help, bounds ...)
 *       ngx_adm_observe(NGX_ADM_HISTOGRAM_<id>, ...), of
 *       numbers "unit" of which are a second, and so are its bounds
 *   event_gauge(id, name, help)
 *       of each named event, when asked: see gauges.c
 *   gauge(id, name, label, label, help)
 *       when asked, by ngx_adm_gauge_<id>() of gauges.c
 *   requests(id, name, help), decisions(id, name, help)
 *       by verdict and reason; by category of a rate limit
 */


#ifndef counter
#define counter(id, name, label1, label2, help)
#endif

#ifndef tally
#define tally(id, name, help)
#endif

#ifndef histogram
#define histogram(id, name, label, unit, help, ...)
#endif

#ifndef event_gauge
#define event_gauge(id, name, help)
#endif

#ifndef gauge
#define gauge(id, name, label1, label2, help)
#endif

#ifndef requests
#define requests(id, name, help)
#endif

#ifndef decisions
#define decisions(id, name, help)
#endif

#define host    " Of this host: sum over hosts."
#define shared  " The same on all hosts: take the maximum over them."


gauge(build_info, "build_info", MODULE, NGINX,
    "1, by the version of the module and of the NGINX that it is built for. Of "
    "this host.")


requests(REQUESTS, "requests",
    "Requests that the gate judged, by the verdict and reason that "
    "$admission_verdict and $admission_reason have (the reason of a rate limit "
    "is in rate_limit_decisions); with a dry run they went on all the same."
    host)


tally(JOINS, "queue_joins",
    "Users who joined a queue, those let in at once too.")

tally(ADMISSIONS, "queue_admissions",
    "Users let in, at once or from the line.")

tally(LEAVES, "queue_leaves",
    "Users who left, waiting or in.")

tally(STALE, "queue_stale",
    "Waiting users taken out since nothing was heard of them.")

tally(LOST, "queue_claims_lost",
    "Slots of users who were let in and did not come.")

tally(ENDED, "queue_slots_expired",
    "Slots that ran out after their users had come.")

tally(DUPLICATES, "queue_duplicate_positions",
    "Users refused since another one had used their position.")

tally(FULL, "queue_refused_full",
    "Joins refused since so many waited already (max_queue=).")

tally(LONG, "queue_refused_wait",
    "Joins refused since the wait would have been too long (max_wait=).")

tally(PLACES, "queue_places_restored",
    "Users put back in line by the place that they showed.")

tally(UNWRITTEN, "queue_admissions_unwritten",
    "Users let in whom Redis refused to add to the stream of admissions.")

tally(SETTLES, "queue_settles",
    "Times that nobody was let in for 1.5 s, since steps were missing: Redis "
    "was away, or this host was.")

tally(SESSIONS, "queue_slots_restored",
    "Slots put back by an entry token after a loss of data.")

tally(EARLY, "queue_order_violations",
    "Steps after which somebody waited who came before one let in.")

tally(POSITIONS, "room_positions",
    "Positions issued by waiting rooms.")

tally(ROOM_FULL, "room_refused_full",
    "Tickets refused since so many waited already (vwr_max_queue=).")

tally(ROOM_LONG, "room_refused_wait",
    "Tickets refused since the wait would have been too long (vwr_max_wait=).")

tally(ROOM_UNSEEN, "room_unseen",
    "Visitors let in by waiting rooms on standby that they did not see.")

tally(COMPLETIONS, "queue_completions",
    "Purchases that were told of, each counted once.")

tally(LATE, "queue_completions_late",
    "Those of queue_completions whose user was not in any more: of seats that "
    "had been given back.")


/* bounds: a moment; then what a page says in words: a minute, half an hour */

histogram(QUEUE_WAIT, "queue_wait_seconds", NONE, 1000,
    "Time from joining, or from the ticket of a waiting room, to being let in. "
    "Counted on this host, by the steps it made: sum over hosts.",
    1000, 5000, 15000, 30000, 60000, 120000, 300000, 600000, 1200000, 1800000,
    3600000, 7200000, 14400000)


event_gauge(QUEUE_WAITING, "queue_waiting",
    "Users in line." shared)

event_gauge(QUEUE_ACTIVE, "queue_active",
    "Users who are in." shared)

event_gauge(QUEUE_THRESHOLD, "queue_threshold",
    "Users who may be in at once." shared)

event_gauge(SLOTS, "slots",
    "Seats that there are in all, where they have an end." shared)

event_gauge(SOLD, "sold",
    "Seats that are sold." shared)

event_gauge(SOLD_LOST, "sold_lost",
    "Whether it is lost how many seats are sold, so that nobody is let in; of "
    "other events of how many." shared)

counter(SOLD_OUT, "sold_out_refused", TIER, NONE,
    "Tickets (tier 1) and joins (2) refused with 409 SOLD_OUT." host)

event_gauge(ROOM_ACTIVE, "room_active",
    "Whether the waiting room is active; of other events how many are." shared)

event_gauge(ROOM_WAITING, "room_waiting",
    "Positions of an active waiting room whose turn is still to come." shared)

event_gauge(ROOM_THERE, "room_there",
    "Those of them who are there: heard of by some host of late." shared)

event_gauge(ROOM_NEXT, "room_next",
    "The last position that the waiting room issued." shared)

event_gauge(ROOM_SERVING, "room_serving",
    "The serving counter of the waiting room." shared)

event_gauge(ROOM_RATE, "room_rate",
    "Positions a second by which the serving counter may advance." shared)

event_gauge(ROOM_SHOWS, "room_shows",
    "Whether visitors see the waiting room: 0 while it is inactive, or on "
    "standby and unseen." shared)

event_gauge(ROOM_COME, "room_come_percent",
    "How many percent of those whose turn it is come, where that is looked at "
    "(vwr_noshow)." shared)

event_gauge(SALE_PHASE, "sale_phase",
    "Phase of a sale with times: 1 before it opens, 2 gathering, 3 open, 4 "
    "closed." shared)

event_gauge(DRAW_LOTS, "draw_lots",
    "Lots of a draw, once they are counted." shared)

event_gauge(DRAW_MADE, "draw_made",
    "Whether the lots that the waiting room gives out are drawn." shared)

event_gauge(BACKEND_LATENCY, "backend_latency_milliseconds",
    "95th percentile of the time to the header that the event's backend took "
    "in the last 5 s, of all hosts." shared)

event_gauge(BACKEND_LIMITED, "backend_limited",
    "Whether fewer are let in than is set, as the event's backend is followed: "
    "1 since it is too slow, 2 since it fails, 3 it is paused; of a dry run "
    "too." shared)

event_gauge(HELD, "held",
    "1 while an operator holds the event, 2 those inside too." shared)

event_gauge(STATE_AGE, "event_state_age_seconds",
    "Time since this host last heard of an event with users or an active "
    "waiting room. Of this host.")


gauge(events, "events", NONE, NONE,
    "Events that this host knows something of.")

counter(EVENTS_FORGOTTEN, "events_forgotten", NONE, NONE,
    "Events that this host forgot, the zone being full.")

counter(VIEW_POLLS, "queue_view_polls", NONE, NONE,
    "Polls of users in line that this host answered from its view of the line, "
    "without asking Redis." host)

counter(VIEW_BEATS, "queue_view_heartbeats", NONE, NONE,
    "Heartbeats of these that went to Redis, many in one call." host)

counter(VIEW_AGAIN, "queue_view_refused", NONE, NONE,
    "Those of queue_view_heartbeats whose users stood otherwise than they had "
    "been told: they ask Redis the next time." host)

counter(GATE_COMES, "queue_gate_reports", NONE, NONE,
    "Users with an entry token of whom the gate told Redis, many in one call: "
    "who has not come yet has by that." host)

gauge(views, "queue_views", NONE, NONE,
    "Events of which this host has a view of the line that polls are answered "
    "from.")

gauge(view_age, "queue_view_age_seconds", NONE, NONE,
    "Age of the oldest of these; one of over 2 s is no answer. Of this host.")


gauge(unlisted, "unlisted_events", NONE, NONE,
    "Events with users that have neither a line nor an operator's setting: "
    "unlisted= bounds them." shared)

counter(UNLISTED_REFUSED, "unlisted_refused", BOUND, NONE,
    "Joins of such events refused, since so many have users already (events), "
    "or the user or the address is in so many; with a dry run they went on all "
    "the same." host)


gauge(streams, "streams", NONE, NONE,
    "Streams that the workers of this host have open.")

counter(STREAMS, "streams_opened", TIER, NONE,
    "Streams that were opened, by tier." host)

counter(STREAMS_ENDED, "streams_ended", STREAM_END, NONE,
    "Streams that ended: the client went, there was nothing more to tell "
    "(over), nothing was read any more (slow), or the worker left." host)

counter(STREAM_LEAVES, "streams_closed", NONE, NONE,
    "Those of why=client after which a user leaves who is not heard of any "
    "more (leave_on_close=on)." host)

counter(STREAMS_REFUSED, "streams_refused", NONE, NONE,
    "Streams refused since the worker had as many as it may "
    "(admission_streams)." host)


decisions(DECISIONS, "rate_limit_decisions",
    "What rate limits decided, by category: by Redis, by this host's own count "
    "while Redis did not answer (local), for a trial (dry_run), or by fail= "
    "(error)." host)

gauge(fallback, "rate_limit_fallback", NONE, NONE,
    "1 while rate limits of this host go by fail=, since Redis does not "
    "answer.")

counter(FALLBACK, "rate_limit_fallback_seconds", NONE, NONE,
    "Time for which they did: from the first request that Redis did not answer "
    "to the last, each time. Of this host.")


counter(INTAKES, "address_rate_decisions", INTAKE, TAKE,
    "Tickets (assign_rate) and visitors (visitor_rate) by address: made and "
    "charged (allowed), refused (limited), or made over the rate in a dry run."
    host)

gauge(one_address, "address_rate_one_address", INTAKE, NONE,
    "1 while one address has over half of what was refused in this minute or "
    "the one before, of 100 or more: a proxy or CDN without realip, or one "
    "client. Of this host.")

counter(ADDRESSES_REPLACED, "address_rate_replaced", NONE, NONE,
    "Addresses that were forgotten before what they had taken had run off, for "
    "want of room. Of this host.")


/*
 * Bounds: round trips within a data centre are below the first ones, between
 * two of them in the middle; 200 ms is what a call has by default.
 */

histogram(CALL, "redis_call_duration_seconds", CALL, 1000000,
    "Time from the issue of a call to its answer, by script, or command." host,
    250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 200000, 500000,
    1000000, 2500000)

counter(CALL_ERRORS, "redis_call_errors", CALL, CALL_END,
    "Calls that Redis did not answer well: with an error, not at all (lost), "
    "or that were not sent, Redis being down." host)


gauge(connections, "redis_connections", NONE, NONE,
    "Connections to Redis that the workers of this host have open.")

counter(CONNECTS, "redis_connects", NONE, NONE,
    "Connections to Redis that this host made, TLS included.")

counter(FAILURES, "redis_failures", NONE, NONE,
    "Connections to Redis that failed, of this host.")

counter(TIMEOUTS, "redis_timeouts", NONE, NONE,
    "Those of redis_failures that were for want of an answer.")

counter(BREAKER_OPENS, "redis_breaker_opens", NONE, NONE,
    "Times that a breaker opened, of any worker of this host.")

counter(FAILOVERS, "redis_failovers", NONE, NONE,
    "Times that other nodes became the masters, as this host was told by "
    "sentinels or the cluster.")

gauge(breakers, "redis_breakers", BREAKER, NONE,
    "Breakers that are open, or on trial: each worker of this host has one a "
    "node of Redis.")


gauge(state_age, "state_age_seconds", NONE, NONE,
    "Time since Redis last answered this host; +Inf before the first time.")

gauge(state_stale, "state_stale", NONE, NONE,
    "1 while there is an event in which something is due, or an active waiting "
    "room, that this host has not heard of for 10 s.")

gauge(schedule_lag, "schedule_lag_seconds", NONE, NONE,
    "Time by which this host is behind with the steps of events that are due.")

gauge(ready, "ready", NONE, NONE,
    "1 if admission_health ready says so, of this host.")


gauge(revocations, "revocations", NONE, NONE,
    "Entry tokens that ended early, as this host knows of them.")

counter(REVOCATIONS_FORGOTTEN, "revocations_forgotten", NONE, NONE,
    "Those that this host forgot early, the zone being full: it asks Redis "
    "about tokens as old as these.")


gauge(zone_size, "zone_size_bytes", NONE, NONE,
    "The size of the zone of this host.")

gauge(zone_free, "zone_free_bytes", NONE, NONE,
    "The pages of it that are used for nothing.")


#undef counter
#undef tally
#undef histogram
#undef event_gauge
#undef gauge
#undef requests
#undef decisions
#undef host
#undef shared
