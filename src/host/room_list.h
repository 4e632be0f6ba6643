
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The active waiting rooms of a host, for the schedule: which Redis lists,
 * which are due, and what of them is to be done.
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
 * The list of active events: _listed() of each that is in it returns 0 if
 * the host does not know it to be active, and has to look.  rooms_listed():
 * all of it, as it was at that time (us), has been read from Redis and looked
 * at.
 */
ngx_uint_t ngx_adm_room_listed(ngx_str_t *event);
void ngx_adm_rooms_listed(int64_t time);

/*
 * Whether the event is to be added to the list now: active, and it was not
 * in there when that was last read, or a minute has passed.  After a failure
 * of that command _unmark() lets the next caller try.
 */
ngx_uint_t ngx_adm_room_mark(ngx_str_t *event);
void ngx_adm_room_unmark(ngx_str_t *event);

/*
 * The schedule of active rooms: as ngx_adm_events_due() and
 * _event_next() are for the queue.
 */
ngx_msec_t ngx_adm_rooms_rest(void);
ngx_int_t ngx_adm_rooms_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_msec_t delay);
void ngx_adm_room_next(ngx_str_t *event, ngx_msec_t delay);

/*
 * Whether vwr=on of the configuration of this worker has been carried out;
 * each load of a configuration, and each loss of data, asks for it again.
 */
ngx_uint_t ngx_adm_rooms_configured(void);
void ngx_adm_rooms_configure(ngx_uint_t done);

/*
 * How many active rooms the zone had no place for since it was last asked:
 * while there are any, no event is taken to be inactive for being unknown.
 */
ngx_uint_t ngx_adm_rooms_lost(void);

/* there is no room for an active one */
void ngx_adm_rooms_full_locked(ngx_adm_zone_t *zone);

/* us, Redis's time, when the list was last read as a whole; 0: never */
int64_t ngx_adm_rooms_time_locked(ngx_adm_zone_t *zone);

/*
 * Whether an event that the host does not know is inactive: all that are
 * active were listed, and the zone had room for them.  *since: since when one
 * that no list had is not active for certain (us); 0: not known.  Where Redis
 * lost the list, its hosts are to have had the time to add to it.
 */
ngx_uint_t ngx_adm_rooms_unlisted_locked(ngx_adm_zone_t *zone, int64_t *since);

/* the same at a glance without the lock: there is nothing to be asked then */
ngx_uint_t ngx_adm_rooms_all_listed(void);


#endif /* _NGX_ADM_HOST_ROOM_LIST_H_INCLUDED_ */
