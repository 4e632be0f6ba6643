
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tier 1: what a host knows of the waiting room of an event, in shared
 * memory.  Polls are answered from here; the schedule and every answer of
 * Redis bring it up to date.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_HTTP_ADMISSION_ROOM_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ROOM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


typedef struct {
    unsigned                    active:1;
    unsigned                    by_config:1;    /* vwr=on of some host's
                                                   configuration activated it,
                                                   not the API */
    int64_t                     activation;     /* us, the event's clock; 0:
                                                   never activated */
    int64_t                     next;           /* the last position issued */
    int64_t                     serving;        /* the serving counter */
    int64_t                     rate;           /* in force, in 1/1000 a
                                                   second; 0: paused */
    int64_t                     api_rate;       /* set by the API, a second;
                                                   -1: not */
    int64_t                     measured;       /* passed a second lately, in
                                                   1/1000; -1: not measured */
    int64_t                     changed;        /* us, the event's clock: when
                                                   active, by_config or
                                                   api_rate were last decided;
                                                   0: never */
    int64_t                     issue;          /* positions issued a second,
                                                   the peak of late */
    int64_t                     updated;        /* us, Redis's time of it */
    int64_t                     clock;          /* us, the event's clock then */
} ngx_http_admission_room_t;


/*
 * What the host knows.  NGX_OK: known, from Redis, at some time (an event
 * that is in no list of active ones is known to be inactive as soon as the
 * list has been read once; its activation may be 0 then, though it was
 * active once).  NGX_DECLINED: nothing is known yet.  Then, and of an event
 * never heard of, *room is all 0, but for api_rate and measured, -1, and for
 * clock: of an event that is not active it is the last time as of which that
 * is certain.
 */
ngx_int_t ngx_http_admission_room_get(ngx_str_t *event,
    ngx_http_admission_room_t *room);

/*
 * What the configuration says of an event.  One that is not listed, without
 * a default, is an event if the API once activated it.  NGX_DECLINED: it is
 * none; NGX_AGAIN: not known yet, *conf is what it would have.
 */
ngx_int_t ngx_http_admission_room_event_conf(
    ngx_http_admission_main_conf_t *mcf, ngx_str_t *event,
    ngx_http_admission_event_conf_t **conf);

/*
 * Whether an event was named by an operator: by a line of its own, or, as far
 * as this host knows, by a threshold set or a waiting room activated through
 * the API.  What else is an event is one by the "default" line alone: anybody
 * may have made its id up.
 */
ngx_uint_t ngx_http_admission_event_is_named(
    ngx_http_admission_main_conf_t *mcf, ngx_str_t *event);

/* what became of a room, for the log */
typedef enum {
    NGX_HTTP_ADMISSION_ROOM_SAME = 0,
    NGX_HTTP_ADMISSION_ROOM_KNOWN,              /* active, and unknown before */
    NGX_HTTP_ADMISSION_ROOM_ACTIVATED,          /* a new activation */
    NGX_HTTP_ADMISSION_ROOM_RESUMED,
    NGX_HTTP_ADMISSION_ROOM_DEACTIVATED
} ngx_http_admission_room_news_e;

/*
 * Takes what an answer said: within an activation no counter goes back, and
 * an older activation changes nothing.  session_max (ms) is how long the
 * counter's trail is kept.  Returns what is news to the host.
 */
ngx_http_admission_room_news_e ngx_http_admission_room_note(ngx_str_t *event,
    ngx_http_admission_room_t *room, ngx_msec_t session_max);

/*
 * When the counter passed a position, us on the event's clock, by its trail
 * (a point every 10 s, between them in proportion); the latest time known
 * if the trail does not go back so far; 0: it has not passed it.
 */
int64_t ngx_http_admission_room_turn(ngx_str_t *event, int64_t position);


/*
 * Whether nobody is let in, neither at a rate nor, of late, by hand: there is
 * no time then to promise to anybody.
 */
ngx_uint_t ngx_http_admission_room_paused(ngx_http_admission_room_t *room);

/* s that one with so many ahead waits; if paused, it would, went it on */
int64_t ngx_http_admission_room_estimate(ngx_http_admission_room_t *room,
    ngx_http_admission_event_conf_t *conf, int64_t ahead);

/* s until the next poll of one with so many ahead */
ngx_uint_t ngx_http_admission_room_next_poll(int64_t ahead);


#endif /* _NGX_HTTP_ADMISSION_ROOM_H_INCLUDED_ */
