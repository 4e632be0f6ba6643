
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of an event: of its queue (tier 2), and of its waiting
 * room (tier 1).  Shapes only.
 */


#ifndef _NGX_ADM_HOST_EVENT_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* what a host knows of a queue, by the last answer about it */
typedef struct {
    int64_t                     clock;      /* us, the latest seen; 0: none */
    int64_t                     stored;     /* us, the latest that Redis was
                                               seen to hold: if it holds an
                                               earlier one it lost data */
    int64_t                     epoch;      /* 0: not known */
    int64_t                     admitted;   /* ever, in this epoch */
    int64_t                     clear;      /* us, of the last clear */
    int64_t                     revoked;    /* us, the latest revocation that
                                               a step told of */

    int32_t                     size;       /* users who wait */
    int32_t                     active;     /* users who are in */
    int32_t                     threshold;  /* set by the API; -1: not */
    int32_t                     slots;      /* likewise */
    int32_t                     sold;       /* seats sold, which never falls;
                                               -1: not known */
} ngx_adm_event_state_t;


/* more users, or seats sold, than an event may have */
#define NGX_ADM_EVENT_USERS_MAX  1000000000
#define NGX_ADM_SOLD_MAX         2000000000


/* what is true for the moment only; ms */
typedef struct {
    ngx_msec_t                  restore;    /* for how long places and tokens
                                               are still being restored */

    unsigned                    unsold:1;   /* what was sold is lost, of an
                                               event with slots= */

    /* of an answer only */
    ngx_msec_t                  ends;       /* until a session does; 0: the
                                               answer does not say */
    ngx_uint_t                  full;       /* of the queue: NGX_ADM_LINE_* */

    /* of the host only */
    ngx_uint_t                  life;       /* of the zone */
    ngx_msec_t                  idle;       /* since it last had users */
    ngx_uint_t                  unmarked;   /* bool: see event_mark() */
    ngx_uint_t                  named;      /* bool: an operator set
                                               threshold, seats or notice, or
                                               activated the waiting room */
} ngx_adm_event_now_t;


/* what a step told of an event's revocations */
typedef struct {
    ngx_uint_t                  life;       /* of the zone, when it was asked
                                               for those that the host did
                                               not know */
    unsigned                    all:1;      /* all there are were told */
} ngx_adm_heard_t;


/* what a host knows of a waiting room */
typedef struct {
    unsigned                    active:1;
    unsigned                    by_config:1;    /* activated by vwr=on of
                                                   some host's configuration,
                                                   not by the API */
    unsigned                    steps:1;        /* of an answer: it is a
                                                   step's */
    unsigned                    gathers:1;      /* of an answer: the sale has
                                                   not started */
    int64_t                     activation;     /* us, the event's clock; 0:
                                                   never activated */
    int64_t                     next;           /* the last position issued */
    int64_t                     serving;        /* the serving counter */
    int64_t                     rate;           /* in force, in 1/1000 a second;
                                                   0: paused */
    int64_t                     api_rate;       /* set by the API, a second;
                                                   -1: none */
    int64_t                     measured;       /* as passed of late, in
                                                   1/1000 a second; -1: not
                                                   measured */
    int64_t                     passed;         /* the last number that was
                                                   passed over; 0: none */
    int64_t                     shows;          /* of 1000 numbers that are
                                                   called, how many come; -1:
                                                   not looked at; 0: not
                                                   known, or not said by this
                                                   answer */
    int64_t                     changed;        /* us, the event's clock:
                                                   when active, by_config or
                                                   api_rate last changed; 0:
                                                   never */
    unsigned                    order:2;        /* NGX_ADM_ORDER_*; of a
                                                   draw: */
    int64_t                     lots;           /* how many lots there are */
    int64_t                     drawn;          /* us, the event's clock:
                                                   when lots were counted; 0:
                                                   not yet */
    int64_t                     base;           /* us: a lot's time is this
                                                   and its position */
    int64_t                     ready;          /* us, Redis's time: when the
                                                   draw was made; 0: not yet */
    int64_t                     issue;          /* positions issued a second,
                                                   the peak of late */
    int64_t                     updated;        /* us, Redis's time of all
                                                   this */
    int64_t                     clock;          /* us, the event's clock by
                                                   then */
} ngx_adm_room_t;


#endif /* _NGX_ADM_HOST_EVENT_H_INCLUDED_ */
