
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which events of a host there is work to do in, and when: what the schedule
 * takes up, what answers and other hosts give it to do, and when other hosts
 * have to be told.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_EVENT_WORK_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_WORK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_work_part;


/*
 * For the schedule.  _due() pushes to ids (ngx_str_t, copied into pool) up to
 * max events that are due for a step now, those where people wait first, and
 * puts them off for delay ms, in case no answer comes; NGX_ERROR: no memory.
 * _rest() is in how many ms the next one is due, 0: now.
 *
 * _next() says how a step went: work (there are users), urgent (some wait),
 * and in how many ms the next one is due; brief: no operator named the event.
 * It returns 1 if the event has had no users for keep ms and is no longer
 * looked after: as long as that, hosts that start must be able to learn what
 * was revoked.  Of a brief event the host then forgets the epoch.
 */

typedef struct {
    unsigned                    answered:1; /* by Redis, and well */
    unsigned                    work:1;
    unsigned                    urgent:1;
    unsigned                    brief:1;
    ngx_msec_t                  delay;
    ngx_msec_t                  keep;
} ngx_adm_stepped_t;

ngx_int_t ngx_adm_events_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_msec_t delay);
ngx_msec_t ngx_adm_events_rest(void);
ngx_uint_t ngx_adm_event_next(ngx_str_t *id, ngx_adm_stepped_t *stepped);

/*
 * Another host told, at time (us, Redis's), that something changed in the
 * event.  NGX_OK: it is due for a step now; NGX_DECLINED: that news was looked
 * after before; NGX_AGAIN: there is no room to remember either.
 */
ngx_int_t ngx_adm_event_news(ngx_str_t *id, int64_t time);

/* makes all events due for a step, since this host may have missed something */
void ngx_adm_events_recall(void);

/*
 * News from other hosts can not be relied on for a minute from now; whether it
 * can.
 */
void ngx_adm_watchful(void);
ngx_uint_t ngx_adm_is_watchful(void);

/* some event is not looked after by this host */
void ngx_adm_event_unwatched(void);

/* how many events the schedule looks after */
ngx_uint_t ngx_adm_events_working(void);

/* by how many ms the schedule is behind */
ngx_msec_t ngx_adm_schedule_lag(void);

/*
 * Has the schedule look after an event that another host told of.  For an
 * event that no operator named no other is forgotten.  NGX_DECLINED: there is
 * no room.
 */
ngx_int_t ngx_adm_event_watch(ngx_str_t *id, ngx_uint_t named);

/*
 * whether, within so many ms, an event was seen of which nothing was heard;
 * lock-free
 */
ngx_uint_t ngx_adm_events_stale(ngx_msec_t ms);

/*
 * It is not known whether something changed in the event: it is looked at
 * soon, and other hosts are told then.
 */
void ngx_adm_event_doubt(ngx_str_t *id);

/*
 * Whether to add the event to queue:active-events now: once a minute, for one
 * caller of the host.  If that command fails _unmark() lets the next caller
 * try.
 */
ngx_uint_t ngx_adm_event_mark(ngx_str_t *id);
ngx_uint_t ngx_adm_event_unmarked_locked(ngx_adm_event_node_t *en);
void ngx_adm_event_unmark(ngx_str_t *id);

/*
 * The event has users: somebody waits (urgent), or one of them is in for delay
 * ms; 0: no answer told for how long.
 */
void ngx_adm_event_work_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_uint_t urgent, ngx_msec_t delay);

/* has the schedule look at the event in so many ms, if not before */
void ngx_adm_event_soon_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_msec_t delay);

/* whether the caller has to tell other hosts of the event now */
ngx_uint_t ngx_adm_event_tell_locked(ngx_adm_event_node_t *en);


#endif /* _NGX_ADM_HOST_EVENT_WORK_H_INCLUDED_ */
