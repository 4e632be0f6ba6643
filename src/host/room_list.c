
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Active waiting rooms are in a queue of their own, in the order of their
 * steps.  What else is here is about the list that hosts share in Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "room_list.h"


#define NGX_ADM_ROOM_FIRST    8          /* looked at to find the next one
                                            due */
#define NGX_ADM_ROOM_MARK     60000      /* ms */
#define NGX_ADM_ROOM_LISTS    2000000    /* us, within which an active event
                                            is in a list again that was lost */
#define NGX_ADM_ROOM_FULL     2000       /* ms; several times as long as a
                                            look takes to come again */


/* under the zone's lock */
typedef struct {
    ngx_uint_t                  round;      /* of the list's reading */
    ngx_uint_t                  configured; /* the configuration whose vwr=on
                                               is carried out */
    ngx_uint_t                  lost;       /* of rooms without room here,
                                               not told yet */
    ngx_msec_t                  full;       /* ms, of the last; 0: never */
    int64_t                     listed;     /* us, of the last; 0: never */
    int64_t                     listing;    /* us, since when without a gap */
} ngx_adm_rooms_t;


#define ngx_adm_rooms(zone)                                                   \
    ((ngx_adm_rooms_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_rooms_part))


static void ngx_adm_rooms_empty(ngx_adm_zone_t *zone);
static void ngx_adm_rooms_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


ngx_adm_zone_part_t  ngx_adm_rooms_part = {
    .size = sizeof(ngx_adm_rooms_t),
    .empty = ngx_adm_rooms_empty,
    .copy = ngx_adm_rooms_copy };


/* which waiting rooms there are has to be asked for again */

static void
ngx_adm_rooms_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_rooms_t  *rooms;

    rooms = ngx_adm_rooms(zone);

    rooms->listed = 0;
    rooms->listing = 0;
    rooms->configured = 0;
}


/*
 * The list counts as known if all active rooms were copied with their events,
 * or as many as there are by now.
 */

static void
ngx_adm_rooms_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_rooms_t  *rooms, *old;

    rooms = ngx_adm_rooms(zone);
    old = ngx_adm_rooms(ozone);

    ngx_adm_zone_lock(ozone);

    if (ngx_adm_events(zone)->sums.rooms == ngx_adm_events(ozone)->sums.rooms) {
        rooms->listed = old->listed;
        rooms->listing = old->listing;
    }

    ngx_adm_zone_unlock(ozone);
}


ngx_uint_t
ngx_adm_room_listed(ngx_str_t *event)
{
    ngx_uint_t             active;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    active = (en && en->active);

    if (active) {
        en->room->round = ngx_adm_rooms(zone)->round;
    }

    ngx_adm_zone_unlock(zone);

    return active;
}


void
ngx_adm_rooms_listed(int64_t time)
{
    ngx_queue_t           *q, *active;
    ngx_adm_zone_t        *zone;
    ngx_adm_rooms_t       *rooms;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;
    rooms = ngx_adm_rooms(zone);
    active = &ngx_adm_events(zone)->rooms;

    ngx_adm_zone_lock(zone);

    for (q = ngx_queue_head(active);
         q != ngx_queue_sentinel(active);
         q = ngx_queue_next(q))
    {
        en = ngx_adm_event_in(q);

        if (en->room->round != rooms->round) {
            en->room->marked = 0;
        }
    }

    rooms->round++;

    if (rooms->listed == 0
        || time < rooms->listed
        || time - rooms->listed > NGX_ADM_ROOM_LISTS)
    {
        rooms->listing = time;
    }

    rooms->listed = time;

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_room_mark(ngx_str_t *event)
{
    ngx_uint_t             due;
    ngx_adm_zone_t        *zone;
    ngx_adm_room_node_t   *rn;
    ngx_adm_event_node_t  *en;

    due = 0;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en && en->active) {
        rn = en->room;

        due = (!rn->marked || ngx_adm_since(rn->mark) >= NGX_ADM_ROOM_MARK);

        if (due) {
            rn->marked = 1;
            rn->mark = ngx_current_msec;
        }
    }

    ngx_adm_zone_unlock(zone);

    return due;
}


void
ngx_adm_room_unmark(ngx_str_t *event)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en) {
        en->room->marked = 0;
    }

    ngx_adm_zone_unlock(zone);
}


/*
 * the first few may have a step out; the next one due is among those behind
 * them
 */

ngx_msec_t
ngx_adm_rooms_rest(void)
{
    ngx_uint_t             n;
    ngx_msec_t             rest;
    ngx_queue_t           *q, *rooms;
    ngx_adm_event_node_t  *en;

    rest = NGX_MAX_INT32_VALUE;
    rooms = &ngx_adm_events(ngx_adm_zone)->rooms;

    ngx_adm_zone_lock(ngx_adm_zone);

    for (q = ngx_queue_head(rooms), n = 0;
         q != ngx_queue_sentinel(rooms) && n < NGX_ADM_ROOM_FIRST;
         q = ngx_queue_next(q), n++)
    {
        en = ngx_adm_event_in(q);
        rest = ngx_min(rest, ngx_adm_rest(en->room->due, 0));
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rest;
}


/*
 * a room that is looked at goes to the end, so that the first is the next due
 */

ngx_int_t
ngx_adm_rooms_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_msec_t delay)
{
    ngx_int_t              rc;
    ngx_uint_t             n;
    ngx_queue_t           *q, *next, *last, *rooms;
    ngx_adm_events_t      *events;
    ngx_adm_event_node_t  *en;

    rc = NGX_OK;
    events = ngx_adm_events(ngx_adm_zone);
    rooms = &events->rooms;

    ngx_adm_zone_lock(ngx_adm_zone);

    last = ngx_queue_last(rooms);

    for (q = ngx_queue_head(rooms), n = 0;
         q != ngx_queue_sentinel(rooms) && ids->nelts < max;
         q = next)
    {
        next = (q == last) ? ngx_queue_sentinel(rooms) : ngx_queue_next(q);

        en = ngx_adm_event_in(q);

        if (ngx_adm_since(en->room->synced) > NGX_ADM_STALE) {
            events->stale = ngx_adm_mark_now();
        }

        if (!ngx_adm_is_over(en->room->due)) {

            /* those in front may have had steps out for longer than others */

            if (++n > 2 * max) {
                break;
            }

            continue;
        }

        rc = ngx_adm_event_push_locked(pool, ids, en);
        if (rc != NGX_OK) {
            break;
        }

        en->room->due = ngx_current_msec + delay;

        ngx_queue_remove(q);
        ngx_queue_insert_tail(rooms, q);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


void
ngx_adm_room_next(ngx_str_t *event, ngx_msec_t delay)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en) {
        en->room->due = ngx_current_msec + delay;
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_rooms_configured(void)
{
    ngx_uint_t       done;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    done = (ngx_adm_rooms(zone)->configured >= zone->generation);

    ngx_adm_zone_unlock(zone);

    return done;
}


void
ngx_adm_rooms_configure(ngx_uint_t done)
{
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    ngx_adm_rooms(zone)->configured = done ? zone->generation : 0;

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_rooms_lost(void)
{
    ngx_uint_t       n;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    n = ngx_adm_rooms(zone)->lost;
    ngx_adm_rooms(zone)->lost = 0;

    ngx_adm_zone_unlock(zone);

    return n;
}


void
ngx_adm_rooms_full_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_rooms_t  *rooms;

    rooms = ngx_adm_rooms(zone);

    rooms->lost++;
    rooms->full = ngx_adm_mark_now();
}


int64_t
ngx_adm_rooms_time_locked(ngx_adm_zone_t *zone)
{
    return ngx_adm_rooms(zone)->listed;
}


ngx_uint_t
ngx_adm_rooms_unlisted_locked(ngx_adm_zone_t *zone, int64_t *since)
{
    ngx_adm_rooms_t  *rooms;

    rooms = ngx_adm_rooms(zone);

    *since = (rooms->listed - rooms->listing < NGX_ADM_ROOM_LISTS)
             ? 0 : rooms->listed - NGX_ADM_ROOM_LISTS;

    return ngx_adm_rooms_all_listed();
}


ngx_uint_t
ngx_adm_rooms_all_listed(void)
{
    ngx_adm_rooms_t  *rooms;

    rooms = ngx_adm_rooms(ngx_adm_zone);

    return rooms->listed
           && (rooms->full == 0
               || ngx_adm_since(rooms->full) > NGX_ADM_ROOM_FULL);
}
