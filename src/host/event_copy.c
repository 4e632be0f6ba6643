
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a new zone takes over of the events of the one before.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "settings.h"


/*
 * room for more events than were there when the copy began: so many, and a
 * quarter of those
 */
#define NGX_ADM_EVENTS_MORE  1024


/* an event that is to be copied */
typedef struct {
    uint32_t    age;                 /* ms */
    u_char      active;
    u_char      len;
    u_char      id[NGX_ADM_EVENT_MAX];
} ngx_adm_event_met_t;


static ngx_uint_t ngx_adm_events_meet(ngx_adm_zone_t *zone,
    ngx_adm_event_met_t *met, ngx_uint_t max);
static uint32_t ngx_adm_event_age(ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_event_chunks(ngx_adm_event_node_t *en);
static int ngx_libc_cdecl ngx_adm_event_older(const void *one,
    const void *two);
static void ngx_adm_event_copy_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *oen);


/*
 * First events that are never forgotten, then the oldest first, so that the
 * latest used end up as such.  The queues change while others go on, so events
 * are met in the order of the tree, and copied when all have been met, as they
 * are then.
 *
 * What there is no room for is lost: its revocations will be asked for, and if
 * its room was active the list of active rooms is read again before it counts.
 */

void
ngx_adm_events_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_str_t              id;
    ngx_uint_t             i, n, max, step;
    ngx_adm_event_met_t   *met;
    ngx_adm_event_node_t  *oen;

    max = ngx_adm_events(ozone)->sums.events;
    max += max / 4 + NGX_ADM_EVENTS_MORE;
    step = 0;

    met = ngx_alloc(max * sizeof(ngx_adm_event_met_t), ngx_cycle->log);
    if (met == NULL) {
        ngx_adm_event_lost_locked(zone);
        return;
    }

    n = ngx_adm_events_meet(ozone, met, max);

    if (n == max) {
        ngx_adm_event_lost_locked(zone);
    }

    ngx_qsort(met, n, sizeof(ngx_adm_event_met_t), ngx_adm_event_older);

    ngx_adm_zone_lock(ozone);

    for (i = 0; i < n; i++) {
        id.len = met[i].len;
        id.data = met[i].id;

        oen = ngx_adm_event_lookup_locked(ozone, &id);

        if (oen) {
            ngx_adm_event_copy_locked(zone, oen);
            step += ngx_adm_event_chunks(oen);
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);

    ngx_free(met);
}


static ngx_uint_t
ngx_adm_events_meet(ngx_adm_zone_t *zone, ngx_adm_event_met_t *met,
    ngx_uint_t max)
{
    ngx_str_t              id;
    ngx_uint_t             n, step;
    ngx_rbtree_t          *tree;
    ngx_rbtree_node_t     *node;
    ngx_adm_event_node_t  *en;

    n = 0;
    step = 0;
    tree = &ngx_adm_events(zone)->tree;

    ngx_adm_zone_lock(zone);

    node = ngx_adm_event_after_locked(zone, NULL);

    while (node && n < max) {
        en = ngx_adm_event_of(node);

        met[n].active = en->active;
        met[n].age = ngx_adm_event_age(en);
        met[n].len = en->len;
        ngx_memcpy(met[n].id, en->id, en->len);

        id.len = met[n].len;
        id.data = met[n].id;
        n++;

        node = ngx_adm_zone_step_locked(zone, &step)
               ? ngx_adm_event_after_locked(zone, &id)
               : ngx_rbtree_next(tree, node);
    }

    ngx_adm_zone_unlock(zone);

    return n;
}


/* ms since the event was last used, as far as one can tell */

static uint32_t
ngx_adm_event_age(ngx_adm_event_node_t *en)
{
    ngx_msec_t  age;

    age = ngx_min(ngx_adm_ms_since(en->synced), ngx_adm_ms_since(en->busy));

    if (en->marked) {
        age = ngx_min(age, ngx_adm_ms_since(en->mark));
    }

    if (en->room) {
        age = ngx_min(age, ngx_adm_since(en->room->synced));
    }

    return (uint32_t) age;
}


/* chunks of its trail, each of which takes as much room as an event */

static ngx_uint_t
ngx_adm_event_chunks(ngx_adm_event_node_t *en)
{
    ngx_uint_t    n;
    ngx_queue_t  *q;

    if (en->room == NULL) {
        return 0;
    }

    for (q = ngx_queue_head(&en->room->trail), n = 0;
         q != ngx_queue_sentinel(&en->room->trail);
         q = ngx_queue_next(q))
    {
        n++;
    }

    return n;
}


static int ngx_libc_cdecl
ngx_adm_event_older(const void *one, const void *two)
{
    const ngx_adm_event_met_t *first = one;
    const ngx_adm_event_met_t *second = two;

    if (first->active != second->active) {
        return first->active ? -1 : 1;
    }

    return first->age > second->age ? -1 : first->age < second->age;
}


/* without room the event is lost */

static void
ngx_adm_event_copy_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *oen)
{
    ngx_str_t              id;
    ngx_adm_event_node_t  *en;
    ngx_adm_zone_part_t  **part;

    id.len = oen->len;
    id.data = oen->id;

    en = ngx_adm_event_make_locked(zone, &id);

    if (en == NULL) {
        ngx_adm_event_lost_locked(zone);
        return;
    }

    en->marked = oen->marked;
    en->mark = oen->mark;
    en->restore = oen->restore;
    en->restoring = oen->restoring;
    en->synced = oen->synced;
    en->heard = oen->heard;
    en->known = oen->known;
    en->unsold = oen->unsold;
    en->busy = oen->busy;
    en->news = oen->news;
    en->state = oen->state;

    ngx_adm_sum_locked(zone, en, 1);

    for (part = ngx_adm_zone_parts; *part; part++) {
        if ((*part)->event_copy) {
            (*part)->event_copy(zone, en, oen);
        }
    }

    if (en->active != oen->active) {
        ngx_adm_event_lost_locked(zone);
    }
}
