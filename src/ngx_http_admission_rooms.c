
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Active waiting rooms are in a queue of their own, in the order of their
 * steps.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_rooms.h"
#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_ROOM_MARK     60000      /* ms */
#define NGX_HTTP_ADMISSION_ROOM_LISTS    2000000    /* us, in which an active
                                                       event comes back to a
                                                       list that was lost */


ngx_uint_t
ngx_http_admission_room_listed(ngx_str_t *event)
{
    ngx_uint_t                        active;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    active = (en && en->active);

    if (active) {
        en->room->round = zone->sh->round;
    }

    ngx_http_admission_zone_unlock(zone);

    return active;
}


void
ngx_http_admission_rooms_listed(int64_t time)
{
    ngx_queue_t                      *q;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;
    sh = zone->sh;

    ngx_http_admission_zone_lock(zone);

    for (q = ngx_queue_head(&sh->rooms);
         q != ngx_queue_sentinel(&sh->rooms);
         q = ngx_queue_next(q))
    {
        en = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        if (en->room->round != sh->round) {
            en->room->marked = 0;
        }
    }

    sh->round++;

    if (sh->listed == 0
        || time < sh->listed
        || time - sh->listed > NGX_HTTP_ADMISSION_ROOM_LISTS)
    {
        sh->listing = time;
    }

    sh->listed = time;

    ngx_http_admission_zone_unlock(zone);
}


ngx_uint_t
ngx_http_admission_room_mark(ngx_str_t *event)
{
    ngx_uint_t                        due;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_room_node_t   *rn;
    ngx_http_admission_event_node_t  *en;

    due = 0;
    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    if (en && en->active) {
        rn = en->room;

        due = (!rn->marked
               || ngx_http_admission_zone_since(rn->mark)
                  >= NGX_HTTP_ADMISSION_ROOM_MARK);

        if (due) {
            rn->marked = 1;
            rn->mark = ngx_current_msec;
        }
    }

    ngx_http_admission_zone_unlock(zone);

    return due;
}


void
ngx_http_admission_room_unmark(ngx_str_t *event)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    if (en) {
        en->room->marked = 0;
    }

    ngx_http_admission_zone_unlock(zone);
}


/* one that is looked at goes to the end, so that the first is the next due */

ngx_int_t
ngx_http_admission_rooms_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max, ngx_msec_t delay)
{
    u_char                           *p;
    ngx_int_t                         rc;
    ngx_str_t                        *id;
    ngx_uint_t                        n;
    ngx_queue_t                      *q, *next, *last;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    rc = NGX_OK;
    zone = ngx_http_admission_zone;
    sh = zone->sh;

    ngx_http_admission_zone_lock(zone);

    last = ngx_queue_last(&sh->rooms);

    for (q = ngx_queue_head(&sh->rooms), n = 0;
         q != ngx_queue_sentinel(&sh->rooms) && ids->nelts < max;
         q = next)
    {
        next = (q == last) ? ngx_queue_sentinel(&sh->rooms)
                           : ngx_queue_next(q);

        en = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        if (ngx_http_admission_zone_since(en->room->synced)
            > NGX_HTTP_ADMISSION_STALE)
        {
            sh->stale = ngx_current_msec;
        }

        if ((ngx_msec_int_t) (en->room->due - ngx_current_msec) > 0) {

            /* some before it may be out, for longer than others take */

            if (++n > 2 * max) {
                break;
            }

            continue;
        }

        id = ngx_array_push(ids);
        p = ngx_pnalloc(pool, en->len);

        if (id == NULL || p == NULL) {
            rc = NGX_ERROR;
            break;
        }

        ngx_memcpy(p, en->id, en->len);
        id->len = en->len;
        id->data = p;

        en->room->due = ngx_current_msec + delay;

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&sh->rooms, q);
    }

    ngx_http_admission_zone_unlock(zone);

    return rc;
}


void
ngx_http_admission_room_next(ngx_str_t *event, ngx_msec_t delay)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    if (en) {
        en->room->due = ngx_current_msec + delay;
    }

    ngx_http_admission_zone_unlock(zone);
}


ngx_uint_t
ngx_http_admission_rooms_configured(void)
{
    ngx_uint_t                  done;
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    done = (zone->sh->configured >= zone->generation);

    ngx_http_admission_zone_unlock(zone);

    return done;
}


void
ngx_http_admission_rooms_configure(ngx_uint_t done)
{
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    zone->sh->configured = done ? zone->generation : 0;

    ngx_http_admission_zone_unlock(zone);
}


ngx_uint_t
ngx_http_admission_rooms_lost(void)
{
    ngx_uint_t                  n;
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    n = zone->sh->rooms_lost;
    zone->sh->rooms_lost = 0;

    ngx_http_admission_zone_unlock(zone);

    return n;
}


int64_t
ngx_http_admission_rooms_unlisted_locked(ngx_http_admission_shctx_t *sh)
{
    if (sh->listed - sh->listing < NGX_HTTP_ADMISSION_ROOM_LISTS) {
        return 0;
    }

    return sh->listed - NGX_HTTP_ADMISSION_ROOM_LISTS;
}
