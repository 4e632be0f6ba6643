
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The shared memory of a host: its measure of Redis's time, which worker
 * runs the schedule, and what it knows of events.  Kept over reloads.
 *
 * Every function takes and releases the zone's lock itself, briefly: no
 * log, no I/O and no callback inside.
 */


#ifndef _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_HTTP_ADMISSION_LEASE  2000      /* ms without a beat after which
                                               another worker takes over */


/* a copy of what the host knows of an event */
typedef struct {
    ngx_str_t                   id;         /* of the caller's pool */
    int64_t                     clock;      /* µs, the latest seen; 0: none */
    int64_t                     epoch;      /* 0: not known */
} ngx_http_admission_event_state_t;


/* registers "admission_zone name:size"; NULL: failed, and said why */
ngx_shm_zone_t *ngx_http_admission_zone_add(ngx_conf_t *cf, ngx_str_t *name,
    size_t size, void *tag);

/* makes the zone that of this worker; NULL: the module is not in use */
void ngx_http_admission_zone_use(ngx_shm_zone_t *zone);


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
 * Whether this worker runs the host's schedule for the next
 * NGX_HTTP_ADMISSION_LEASE ms; each call of the holder is a beat.
 */
ngx_uint_t ngx_http_admission_lease_take(void);
void ngx_http_admission_lease_leave(void);


/*
 * Notes that an event is in use here, with the clock and the epoch that a
 * script returned (0: none known), and returns in *state, unless NULL, what
 * the host knows.  With a full zone the event unused for longest is
 * forgotten; NGX_DECLINED: there was no room all the same, the event is
 * not remembered.
 */
ngx_int_t ngx_http_admission_event_note(ngx_str_t *id, int64_t clock,
    int64_t epoch, ngx_http_admission_event_state_t *state);

/* what the host knows of an event, all 0 if nothing; not a use of it */
void ngx_http_admission_event_get(ngx_str_t *id,
    ngx_http_admission_event_state_t *state);

/*
 * Whether the event is to be added to queue:active-events now: once a
 * minute, for one caller of the host.  After a failure of that command,
 * _unmarked() lets the next caller try.
 */
ngx_uint_t ngx_http_admission_event_mark(ngx_str_t *id);
void ngx_http_admission_event_unmark(ngx_str_t *id);

/*
 * The events with work to do that are due for a step now, up to max ids,
 * copied into pool; each is due again "interval" ms later, unless idle.
 * _work() says after a step whether there is work left in the event.
 */
ngx_int_t ngx_http_admission_events_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max);
void ngx_http_admission_event_work(ngx_str_t *id, ngx_uint_t work,
    ngx_msec_t next);


#endif /* _NGX_HTTP_ADMISSION_ZONE_H_INCLUDED_ */
