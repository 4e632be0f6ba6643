
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of an event: of its queue (tier 2) and of its waiting room
 * (tier 1).  Shapes alone.
 */


#ifndef _NGX_ADM_HOST_EVENT_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* what a host knows of an event, by the last answer about it */
typedef struct {
    int64_t                     clock;      /* µs, the latest seen; 0: none */
    int64_t                     stored;     /* us, the latest that Redis was
                                               seen to hold: if it holds an
                                               earlier one, data is lost */
    int64_t                     epoch;      /* 0: not known */
    int64_t                     admitted;   /* ever, in this life of the data */
    int64_t                     clear;      /* µs, when last cleared */
    int64_t                     revoked;    /* µs, the latest revocation known
                                               of those that steps return */

    int32_t                     size;       /* users who wait */
    int32_t                     active;     /* users who are in */
    int32_t                     threshold;  /* set by the API; -1: not */
    int32_t                     slots;      /* likewise */
    int32_t                     sold;       /* of them, which never falls; -1:
                                               not known */
} ngx_adm_event_state_t;


/* that many users, and seats sold, are as many as there are to be */
#define NGX_ADM_EVENT_USERS_MAX  1000000000
#define NGX_ADM_SOLD_MAX         2000000000


/* and what is true for the moment alone; ms */
typedef struct {
    ngx_msec_t                  restore;    /* for how long places and tokens
                                               are still being restored */

    unsigned                    unsold:1;   /* what was sold is lost, of seats
                                               that have an end */

    /* of an answer, not of the host */
    ngx_msec_t                  ends;       /* in which a session does; 0: the
                                               answer does not say */
    ngx_uint_t                  full;       /* the queue: NGX_ADM_LINE_* */

    /* of the host, not of an answer */
    ngx_uint_t                  life;       /* of the zone */
    ngx_msec_t                  idle;       /* since it last had users */
    ngx_uint_t                  unmarked;   /* bool: see event_mark() */
    ngx_uint_t                  named;      /* bool: an operator set its
                                               threshold, its seats or its
                                               notice, or activated its
                                               waiting room */
} ngx_adm_event_now_t;


/* what a step told of the revocations of an event */
typedef struct {
    ngx_uint_t                  life;       /* of the zone, when it was asked
                                               for what the host did not know */
    unsigned                    all:1;      /* that there are */
} ngx_adm_heard_t;


/* of its waiting room, likewise */
typedef struct {
    unsigned                    active:1;
    unsigned                    by_config:1;    /* vwr=on of some host's
                                                   configuration activated it,
                                                   not the API */
    unsigned                    steps:1;        /* of an answer: it is of a
                                                   step */
    unsigned                    gathers:1;      /* of an answer: the sale has
                                                   not started */
    int64_t                     activation;     /* us, the event's clock; 0:
                                                   never activated */
    int64_t                     next;           /* the last position issued */
    int64_t                     serving;        /* the serving counter */
    int64_t                     rate;           /* in force, in 1/1000 a second;
                                                   0: paused */
    int64_t                     api_rate;       /* set by the API, a second; -1:
                                                   not */
    int64_t                     measured;       /* passed a second lately, in
                                                   1/1000; -1: not measured */
    int64_t                     passed;         /* the last number that was
                                                   passed over; 0: none */
    int64_t                     shows;          /* how many of 1000 who are
                                                   called come; -1: that is not
                                                   looked at, 0: not known, of
                                                   an answer: it does not say */
    int64_t                     changed;        /* us, the event's clock: when
                                                   active, by_config or
                                                   api_rate were last decided;
                                                   0: never */
    unsigned                    order:2;        /* NGX_ADM_ORDER_*; of a draw:
                                                   */
    int64_t                     lots;           /* how many were drawn */
    int64_t                     drawn;          /* us, the event's clock: when
                                                   that was fixed; 0: not */
    int64_t                     base;           /* us: positions of lots are
                                                   added to it */
    int64_t                     ready;          /* us, Redis's time: when the
                                                   draw was made; 0: not */
    int64_t                     issue;          /* positions issued a second,
                                                   the peak of late */
    int64_t                     updated;        /* us, Redis's time of it */
    int64_t                     clock;          /* us, the event's clock then */
} ngx_adm_room_t;


#endif /* _NGX_ADM_HOST_EVENT_H_INCLUDED_ */
