
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What calls about events did, counted by the host whose call it was, and so
 * once over all hosts; and how many wait and are in, as the host knows.
 *
 * The busiest events, up to a number that the configuration says, have
 * numbers of their own: they are named.  What others do is counted together.
 * An event is named as soon as something is known of it while there is a name
 * left; later it takes the name of the least busy one, once a second at most,
 * if it is more than twice as busy.  What was counted under a name ends with
 * it: an event that is named again begins anew.  The sums of all events never
 * fall, whoever is named or forgotten.
 *
 * Functions take and release the zone's lock themselves, briefly.
 */


#ifndef _NGX_HTTP_ADMISSION_TALLY_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_TALLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_room.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_NAMES_MAX  1000


typedef enum {
    NGX_HTTP_ADMISSION_TALLY_JOINS = 0,
    NGX_HTTP_ADMISSION_TALLY_ADMISSIONS,
    NGX_HTTP_ADMISSION_TALLY_LEAVES,
    NGX_HTTP_ADMISSION_TALLY_STALE,         /* taken out, unheard of */
    NGX_HTTP_ADMISSION_TALLY_LOST,          /* slots that were not claimed */
    NGX_HTTP_ADMISSION_TALLY_ENDED,         /* other slots that ran out */
    NGX_HTTP_ADMISSION_TALLY_DUPLICATES,    /* a position that another used */
    NGX_HTTP_ADMISSION_TALLY_PLACES,        /* put back in line by a place */
    NGX_HTTP_ADMISSION_TALLY_SLOTS,         /* slots by an entry token */
    NGX_HTTP_ADMISSION_TALLY_EARLY,         /* steps after which an earlier
                                               one waited: there are none */
    NGX_HTTP_ADMISSION_TALLY_POSITIONS,     /* issued by a waiting room */
    NGX_HTTP_ADMISSION_TALLIES
} ngx_http_admission_tally_e;


/* of waiting times, the last one without a bound */
#define NGX_HTTP_ADMISSION_WAITS  14

/* in ms, of all but the last */
extern const ngx_uint_t  ngx_http_admission_wait_bounds[];


struct ngx_http_admission_tally_s {
    uint64_t                    n[NGX_HTTP_ADMISSION_TALLIES];
};


/* how long those waited who were let in */
typedef struct {
    uint64_t                    buckets[NGX_HTTP_ADMISSION_WAITS];
    uint64_t                    ms;         /* of all of them */
} ngx_http_admission_waits_t;


/* of all events, as known by the last answers */
typedef struct {
    int64_t                     events;
    int64_t                     waiting;    /* in queues */
    int64_t                     active;
    int64_t                     rooms;      /* active ones, */
    int64_t                     before;     /* and those who wait there */
} ngx_http_admission_sums_t;


/* a named event, copied */
typedef struct {
    ngx_http_admission_event_state_t  state;
    ngx_http_admission_room_t         room;
    ngx_http_admission_tally_t        tally;
    ngx_msec_t                        age;      /* since the last answer */
    unsigned                          queue:1;  /* it has, or had, one */
    unsigned                          has_room:1;
    size_t                            len;
    u_char                            id[NGX_HTTP_ADMISSION_EVENT_MAX];
} ngx_http_admission_named_t;


typedef struct {
    ngx_http_admission_sums_t         sums;
    ngx_http_admission_tally_t        all;
    ngx_http_admission_tally_t        others;   /* of those not named */
    ngx_http_admission_waits_t        waits;
    uint64_t                          forgotten;    /* events, for want of
                                                       room */
    ngx_uint_t                        n;
    ngx_http_admission_named_t       *named;
} ngx_http_admission_tallies_t;


/* how many events this configuration names; when a worker starts */
void ngx_http_admission_tally_use(ngx_uint_t names);

/* adds to the host's, and to the event's */
void ngx_http_admission_tally(ngx_str_t *event,
    ngx_http_admission_tally_t *tally);

/* one who was let in waited so many ms */
void ngx_http_admission_waited(ngx_http_admission_waits_t *waits, int64_t ms);
void ngx_http_admission_waits(ngx_http_admission_waits_t *waits);

/* all of it; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_tallies(ngx_pool_t *pool,
    ngx_http_admission_tallies_t *tallies);


#endif /* _NGX_HTTP_ADMISSION_TALLY_H_INCLUDED_ */
