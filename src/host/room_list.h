
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The active waiting rooms of a host, for the schedule: which of them Redis
 * lists, which are due, and what has to be done about them.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_ROOM_LIST_H_INCLUDED_
#define _NGX_ADM_HOST_ROOM_LIST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_rooms_part;


/*
 * The list of active events.  _room_listed(), of each that is in it, returns 0
 * if the host does not know the event to be active, and has to look.
 * _rooms_listed(): all of the list, as it was at that time (us), has been read
 * and looked at.
 */
ngx_uint_t ngx_adm_room_listed(ngx_str_t *event);
void ngx_adm_rooms_listed(int64_t time);

/*
 * Whether to add the event to the list now: it is active and was not in the
 * list when that was last read, or a minute has passed.  If that command fails
 * _unmark() lets the next caller try.
 */
ngx_uint_t ngx_adm_room_mark(ngx_str_t *event);
void ngx_adm_room_unmark(ngx_str_t *event);

/*
 * The schedule of active rooms, as ngx_adm_events_due() and
 * ngx_adm_event_next() are for queues.
 */
ngx_msec_t ngx_adm_rooms_rest(void);
ngx_int_t ngx_adm_rooms_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_msec_t delay);
void ngx_adm_room_next(ngx_str_t *event, ngx_msec_t delay);

/*
 * Whether vwr=on of this worker's configuration has been carried out; after a
 * load of a configuration, and after a loss of data, it has to be done again.
 */
ngx_uint_t ngx_adm_rooms_configured(void);
void ngx_adm_rooms_configure(ngx_uint_t done);

/*
 * How many active rooms the zone had no room for since this was last asked.
 * While there are any, an unknown event does not count as inactive.
 */
ngx_uint_t ngx_adm_rooms_lost(void);

/* there is no room for an active one */
void ngx_adm_rooms_full_locked(ngx_adm_zone_t *zone);

/* us, Redis's time, when the list was last read as a whole; 0: never */
int64_t ngx_adm_rooms_time_locked(ngx_adm_zone_t *zone);

/*
 * Whether an event that the host does not know is inactive: all active ones
 * were listed, and the zone had room for them. *since: since when an event
 * that was in no list is not active for certain (us); 0: not known.  If Redis
 * lost the list, hosts need time to add to it.
 */
ngx_uint_t ngx_adm_rooms_unlisted_locked(ngx_adm_zone_t *zone, int64_t *since);

/* a glance at the same without the lock; if it is so nothing has to be asked */
ngx_uint_t ngx_adm_rooms_all_listed(void);


#endif /* _NGX_ADM_HOST_ROOM_LIST_H_INCLUDED_ */
