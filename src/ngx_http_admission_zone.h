
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The shared memory of a host: its measure of Redis's time, which worker
 * runs the schedule, and what it knows of events.  Kept over reloads.
 *
 * Every function takes and releases the zone's lock itself, briefly: no
 * log, no I/O and no callback inside.  If a process dies inside, what hosts
 * learn of Redis is forgotten, as if the host had just started.
 */


#ifndef _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_counts.h"


#define NGX_HTTP_ADMISSION_LEASE  2000      /* ms without a beat after which
                                               another worker takes over */


/* see tally.h */
typedef struct ngx_http_admission_tally_s  ngx_http_admission_tally_t;


/* what a host knows of an event, by the last answer about it */
typedef struct {
    int64_t                     clock;      /* µs, the latest seen; 0: none */
    int64_t                     stored;     /* us, the latest that Redis was
                                               seen to hold: if it holds an
                                               earlier one, data is lost */
    int64_t                     epoch;      /* 0: not known */
    int64_t                     size;       /* users who wait */
    int64_t                     active;     /* users who are in */
    int64_t                     admitted;   /* ever, in this life of the
                                               data */
    int64_t                     threshold;  /* set by the API; -1: not */
    int64_t                     clear;      /* µs, when last cleared */
    int64_t                     revoked;    /* µs, the latest revocation known
                                               of those that steps return */
} ngx_http_admission_event_state_t;


/* and what is true for the moment alone; ms */
typedef struct {
    ngx_msec_t                  restore;    /* for how long places and tokens
                                               are still being restored */

    /* of an answer, not of the host */
    ngx_msec_t                  ends;       /* in which some slot does; 0: the
                                               answer does not say */

    /* of the host, not of an answer */
    ngx_msec_t                  idle;       /* since it last had users */
    ngx_uint_t                  named;      /* bool: an operator set its
                                               threshold, or activated its
                                               waiting room */
} ngx_http_admission_event_now_t;


/* what a step told of the revocations of an event */
typedef struct {
    ngx_uint_t                  life;       /* of the zone, when it was asked
                                               for what the host did not know */
    unsigned                    all:1;      /* that there are */
} ngx_http_admission_heard_t;


/* registers "admission_zone name:size"; NULL: failed, and said why */
ngx_shm_zone_t *ngx_http_admission_zone_add(ngx_conf_t *cf, ngx_str_t *name,
    size_t size, void *tag);

/* makes the zone that of this worker; NULL: the module is not in use */
void ngx_http_admission_zone_use(ngx_shm_zone_t *zone);

/* bytes of the zone that are used for nothing, and all */
size_t ngx_http_admission_zone_free(void);
size_t ngx_http_admission_zone_size(void);

/* how often it was made anew since a process died with its lock, once told */
ngx_uint_t ngx_http_admission_zone_made_anew(void);

/* how often that was ever: what a host knew before it does not know now */
ngx_uint_t ngx_http_admission_zone_life(void);

/* what became of connections to Redis, of all workers */
ngx_http_admission_redis_counts_t *ngx_http_admission_zone_redis_counts(void);


/*
 * ms since a time that some worker noted here: none if its clock is ahead,
 * as the time that a worker has is that of the last turn of its event loop.
 */
ngx_msec_t ngx_http_admission_zone_since(ngx_msec_t time);


/*
 * Redis's time as this host measures it; the host's own before the first
 * answer.  Lock-free.
 */
int64_t ngx_http_admission_now_us(void);
time_t ngx_http_admission_now(void);

/*
 * Takes the time that Redis said it was, µs, in an answer to what was
 * issued elapsed ms ago.
 */
void ngx_http_admission_time_observed(int64_t redis, ngx_msec_t elapsed);


/*
 * For how long, ms, this host has been in touch with Redis: no call was lost or
 * refused, no clock jumped and the schedule stood still at no time; 0: it was
 * not just now.  Lock-free.
 */
ngx_msec_t ngx_http_admission_in_touch(void);

/* whether Redis ever answered this host, so that its time is known */
ngx_uint_t ngx_http_admission_zone_heard(void);

/* whether it is in touch again since the lease's holder last asked */
ngx_uint_t ngx_http_admission_regained(void);


/*
 * Whether this worker runs the host's schedule for the next
 * NGX_HTTP_ADMISSION_LEASE ms; each call of the holder is a beat.
 */
ngx_uint_t ngx_http_admission_lease_take(void);
void ngx_http_admission_lease_leave(void);


/* what the host knows of an event; not a use of it */
void ngx_http_admission_event_get(ngx_str_t *id,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now);

/*
 * Takes what an answer said of an event, and counts what the call did (NULL:
 * nothing); work has the schedule look after it; heard is of a step, or NULL.
 * An event without data, and without a threshold set, is not remembered for it.
 * With a full zone the event unused for longest is forgotten.  Returns what is
 * news to the host, to be logged, or 0.
 */
#define NGX_HTTP_ADMISSION_NEWS_LOST      1         /* Redis had lost data */
#define NGX_HTTP_ADMISSION_NEWS_RESTORE   2         /* which is being restored
                                                       for a while, */
#define NGX_HTTP_ADMISSION_NEWS_RESTORED  4         /* and no longer */
#define NGX_HTTP_ADMISSION_NEWS_TELL      8         /* other hosts are to be
                                                       told what the host did
                                                       of late */

ngx_uint_t ngx_http_admission_event_note(ngx_str_t *id,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now, ngx_uint_t work,
    ngx_http_admission_heard_t *heard, ngx_http_admission_tally_t *tally);

/*
 * Refuses the entry tokens of a user let in up to time (µs, on the event's
 * clock) for keep ms from now, by when they have expired.  In a full zone
 * the oldest revocation goes, and tokens up to its time are to be asked about
 * from Redis for as long as it matters.
 */
void ngx_http_admission_revoke(ngx_str_t *event, ngx_str_t *user,
    int64_t time, ngx_msec_t keep);

/*
 * How many went like that since this last said so, once a second at most;
 * *age: tokens that are older, in s, are asked about.
 */
ngx_uint_t ngx_http_admission_revocations_lost(int64_t *age);

/* how many are known, and how many ever went early */
void ngx_http_admission_revocations(ngx_uint_t *known, uint64_t *forgotten);

/* ms that a revocation matters at most, by a configuration with a Redis */
void ngx_http_admission_revocations_keep(ngx_msec_t keep);

/*
 * Whether the entry token of a user let in at adm is good (NGX_OK), refused
 * (NGX_DECLINED), or Redis is to be asked (NGX_AGAIN), since what the host
 * had to forget may be about it; *older: it is of an earlier life of the data.
 */
ngx_int_t ngx_http_admission_revoked(ngx_str_t *event, ngx_str_t *user,
    int64_t adm, ngx_uint_t *older);

/*
 * Redis said, when asked at that time (ms), that tokens of this user are
 * refused up to revoked (µs; 0: none is): it is not asked again for
 * NGX_HTTP_ADMISSION_REVOKED_ASK ms.
 */
#define NGX_HTTP_ADMISSION_REVOKED_ASK  1000

void ngx_http_admission_revoked_told(ngx_str_t *event, ngx_str_t *user,
    int64_t revoked, ngx_msec_t asked);

/*
 * Whether the event is to be added to queue:active-events now: once a
 * minute, for one caller of the host.  After a failure of that command,
 * _unmark() lets the next caller try.
 */
ngx_uint_t ngx_http_admission_event_mark(ngx_str_t *id);
void ngx_http_admission_event_unmark(ngx_str_t *id);

/*
 * The schedule.  _due() pushes to ids (ngx_str_t, copied into pool) up to
 * max events that are due for a step now, those where people wait first, and
 * puts them off for delay ms, in case no answer comes; NGX_ERROR: no memory.
 * _next() says how the step went: work (users are there), urgent (some wait),
 * and in how many ms the next step is due; brief: no operator named the event.
 * It returns 1 if the event has had no users for keep ms, and is no longer
 * looked after: so long hosts that start must be able to learn what was
 * revoked.  Of a brief event the host forgets its life then.
 */

typedef struct {
    unsigned                    answered:1; /* by Redis, and well */
    unsigned                    work:1;
    unsigned                    urgent:1;
    unsigned                    brief:1;
    ngx_msec_t                  delay;
    ngx_msec_t                  keep;
} ngx_http_admission_stepped_t;

ngx_int_t ngx_http_admission_events_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max, ngx_msec_t delay);
ngx_uint_t ngx_http_admission_event_next(ngx_str_t *id,
    ngx_http_admission_stepped_t *stepped);

/*
 * Another host told, at the time in us of Redis, that something changed in the
 * event.  NGX_OK: it is due for a step now; NGX_DECLINED: that was looked after
 * before; NGX_AGAIN: there is no room to remember either.
 */
ngx_int_t ngx_http_admission_event_news(ngx_str_t *id, int64_t time);

/* all events are due for a step, since this host may have missed something */
void ngx_http_admission_events_recall(void);

/*
 * News from other hosts cannot be relied on for the next ms; whether it can.
 */
void ngx_http_admission_watchful(ngx_msec_t ms);
ngx_uint_t ngx_http_admission_is_watchful(void);

/*
 * Whether something changed in the event is not known: it is looked at soon,
 * and other hosts are told then.
 */
void ngx_http_admission_event_doubt(ngx_str_t *id);

/* there is an event that this host does not look after */
void ngx_http_admission_event_unwatched(void);

/* how many events are looked after */
ngx_uint_t ngx_http_admission_events_working(void);

/* ms by which the schedule is behind with what is due */
ngx_msec_t ngx_http_admission_schedule_lag(void);

/* what is no event any more has no users: nobody asks Redis about them */
void ngx_http_admission_event_empty(ngx_str_t *id);

/*
 * Has the schedule look after an event that another host told of; for one that
 * no operator named no other is forgotten.  NGX_DECLINED: there is no room.
 */
ngx_int_t ngx_http_admission_event_watch(ngx_str_t *id, ngx_uint_t named);


#endif /* _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_ */
