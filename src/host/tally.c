
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which events have names, and what each of them did.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "tally.h"
#include "there.h"


#define NGX_ADM_NAMES_AGAIN  1000        /* ms between changes */


/* what there is of a named event; in memory of its own */
struct ngx_adm_name_s {
    ngx_queue_t            queue;
    ngx_adm_event_node_t  *event;
    ngx_adm_tally_t        tally;
};


/* tallies of events, and names; under the zone's lock */
typedef struct {
    ngx_adm_tally_t  others;     /* of events without a name */
    ngx_queue_t      queue;
    ngx_uint_t       n;
    ngx_msec_t       changed;    /* when a name last changed hands, or was
                                    tried to */
} ngx_adm_names_t;


#define ngx_adm_named(zone)                                                   \
    ((ngx_adm_names_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_tally_part))


static void ngx_adm_tally_empty(ngx_adm_zone_t *zone);
static void ngx_adm_tally_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_name_inherit_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_event_node_t *oen);
static void ngx_adm_unname_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_names_trim_locked(ngx_adm_zone_t *zone);
static void ngx_adm_name_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static int64_t ngx_adm_busy(ngx_adm_event_node_t *en);
static void ngx_adm_name_copy_locked(ngx_adm_named_t *named,
    ngx_adm_name_t *name);


/* how many, by this worker's configuration */
static ngx_uint_t  ngx_adm_names;


ngx_adm_zone_part_t  ngx_adm_tally_part = {
    .size = sizeof(ngx_adm_names_t),
    .empty = ngx_adm_tally_empty,
    .copy = ngx_adm_tally_copy,
    .event_free = ngx_adm_unname_locked,
    .event_copy = ngx_adm_name_inherit_locked };


void
ngx_adm_tally_use(ngx_uint_t names)
{
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_names = names;

    ngx_adm_zone_lock(zone);

    ngx_adm_names_trim_locked(zone);

    ngx_adm_zone_unlock(zone);
}


/* workers of an earlier configuration may have had more names */

static void
ngx_adm_names_trim_locked(ngx_adm_zone_t *zone)
{
    ngx_queue_t     *q;
    ngx_adm_name_t  *name;

    while (ngx_adm_named(zone)->n > ngx_adm_names) {
        q = ngx_queue_last(&ngx_adm_named(zone)->queue);
        name = ngx_queue_data(q, ngx_adm_name_t, queue);

        ngx_adm_unname_locked(zone, name->event);
    }
}


void
ngx_adm_tally(ngx_str_t *event, ngx_adm_tally_e what, uint64_t n)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_tally_t        tally;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_memzero(&tally, sizeof(ngx_adm_tally_t));
    tally.n[what] = n;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);

    if (en) {
        ngx_adm_name_locked(zone, en);
    }

    ngx_adm_tally_locked(zone, en, &tally);

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_tally_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_tally_t *tally)
{
    ngx_uint_t        i;
    ngx_adm_tally_t  *sum;

    sum = (en && en->name) ? &en->name->tally : &ngx_adm_named(zone)->others;

    for (i = 0; i < NGX_ADM_TALLIES; i++) {

        if (tally->n[i]) {
            sum->n[i] += tally->n[i];
            ngx_adm_count_n(NGX_ADM_COUNT_TALLY_JOINS + i, tally->n[i]);
        }
    }
}


ngx_int_t
ngx_adm_tallies(ngx_pool_t *pool, ngx_adm_tallies_t *tallies)
{
    ngx_uint_t         i, n;
    ngx_queue_t       *q;
    ngx_adm_names_t   *names;
    ngx_adm_events_t  *events;

    names = ngx_adm_named(ngx_adm_zone);
    events = ngx_adm_events(ngx_adm_zone);

    /* there may be more in a moment, which then have to wait */

    n = ngx_min(names->n, NGX_ADM_NAMES_MAX);

    tallies->named = ngx_palloc(pool, (n + 1) * sizeof(ngx_adm_named_t));
    if (tallies->named == NULL) {
        return NGX_ERROR;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    tallies->sums = events->sums;
    tallies->others = names->others;

    for (q = ngx_queue_head(&names->queue), i = 0;
         q != ngx_queue_sentinel(&names->queue) && i < n;
         q = ngx_queue_next(q), i++)
    {
        ngx_adm_name_copy_locked(&tallies->named[i],
                                 ngx_queue_data(q, ngx_adm_name_t, queue));
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    tallies->n = i;

    return NGX_OK;
}


static void
ngx_adm_name_copy_locked(ngx_adm_named_t *named, ngx_adm_name_t *name)
{
    ngx_msec_t             age;
    ngx_adm_event_node_t  *en;

    en = name->event;

    named->state = en->state;
    named->unsold = en->unsold;
    named->queue = (en->state.epoch != 0);
    named->tally = name->tally;
    named->has_room = (en->room != NULL);
    named->age = 0;

    if (named->has_room) {
        named->room = en->room->room;
        named->there = en->active ? ngx_adm_there_waiting_locked(en->room) : 0;

        if (en->active) {
            named->age = ngx_adm_since(en->room->synced);
        }
    }

    if (en->state.size + en->state.active > 0
        && (en->owing || en->state.size > 0))
    {
        /* an event in which nobody waits is asked about only when it is due */

        age = ngx_adm_ms_since(en->synced);
        named->age = ngx_max(named->age, age);
    }

    named->id.len = en->len;
    named->id.data = named->text;
    ngx_memcpy(named->text, en->id, en->len);
}


static void
ngx_adm_tally_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_names_t  *names;

    names = ngx_adm_named(zone);

    ngx_queue_init(&names->queue);
    names->n = 0;
}


static void
ngx_adm_tally_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_names_t  *names, *old;

    names = ngx_adm_named(zone);
    old = ngx_adm_named(ozone);

    ngx_adm_zone_lock(ozone);

    names->others = old->others;

    ngx_adm_zone_unlock(ozone);
}


static int64_t
ngx_adm_busy(ngx_adm_event_node_t *en)
{
    int64_t  busy;

    busy = en->state.size + en->state.active;

    return en->active ? busy + 1 + ngx_adm_before(en) : busy;
}


void
ngx_adm_name_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    int64_t           busy, least;
    ngx_queue_t      *q;
    ngx_adm_name_t   *name, *idle;
    ngx_adm_names_t  *names;

    names = ngx_adm_named(zone);

    ngx_adm_names_trim_locked(zone);

    if (en->name || ngx_adm_names == 0) {
        return;
    }

    if (names->n < ngx_adm_names) {
        ngx_adm_name_new_locked(zone, en);
        return;
    }

    busy = ngx_adm_busy(en);

    if (busy == 0 || ngx_adm_since(names->changed) < NGX_ADM_NAMES_AGAIN) {
        return;
    }

    names->changed = ngx_current_msec;

    least = 0;
    idle = NULL;

    for (q = ngx_queue_head(&names->queue);
         q != ngx_queue_sentinel(&names->queue);
         q = ngx_queue_next(q))
    {
        name = ngx_queue_data(q, ngx_adm_name_t, queue);

        if (idle == NULL || ngx_adm_busy(name->event) < least) {
            least = ngx_adm_busy(name->event);
            idle = name;
        }
    }

    if (idle == NULL || busy <= 2 * least) {
        return;
    }

    idle->event->name = NULL;
    idle->event = en;
    en->name = idle;

    ngx_memzero(&idle->tally, sizeof(ngx_adm_tally_t));
}


/* nothing is forgotten for a name */

static void
ngx_adm_name_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_name_t  *name;

    name = ngx_slab_calloc_locked(zone->shpool, sizeof(ngx_adm_name_t));
    if (name == NULL) {
        return;
    }

    ngx_queue_insert_tail(&ngx_adm_named(zone)->queue, &name->queue);
    ngx_adm_named(zone)->n++;

    name->event = en;
    en->name = name;
}


static void
ngx_adm_name_inherit_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_event_node_t *oen)
{
    if (oen->name == NULL) {
        return;
    }

    ngx_adm_name_new_locked(zone, en);

    if (en->name) {
        en->name->tally = oen->name->tally;
    }
}


static void
ngx_adm_unname_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    if (en->name == NULL) {
        return;
    }

    ngx_queue_remove(&en->name->queue);
    ngx_adm_named(zone)->n--;

    ngx_slab_free_locked(zone->shpool, en->name);
    en->name = NULL;
}
