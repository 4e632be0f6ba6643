
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_NAMES_AGAIN  1000        /* ms between changes */


/* what a named event has; in memory of its own */
struct ngx_http_admission_name_s {
    ngx_queue_t                       queue;
    ngx_http_admission_event_node_t  *event;
    ngx_http_admission_tally_t        tally;
};


static void ngx_http_admission_names_trim_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_tally_add(ngx_http_admission_tally_t *sum,
    ngx_http_admission_tally_t *tally);
static void ngx_http_admission_name_new_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);
static int64_t ngx_http_admission_busy(ngx_http_admission_event_node_t *en);
static int64_t ngx_http_admission_before(
    ngx_http_admission_event_node_t *en);
static void ngx_http_admission_name_copy_locked(
    ngx_http_admission_named_t *named, ngx_http_admission_name_t *name);


/* a moment; then what a page says in words: a minute, some, half an hour */

const ngx_uint_t  ngx_http_admission_wait_bounds[] = {
    1000, 5000, 15000, 30000, 60000, 120000, 300000, 600000, 1200000, 1800000,
    3600000, 7200000, 14400000
};


/* of the configuration of this worker */
static ngx_uint_t  ngx_http_admission_names;


void
ngx_http_admission_tally_use(ngx_uint_t names)
{
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_names = names;

    ngx_http_admission_zone_lock(zone);

    ngx_http_admission_names_trim_locked(zone);

    ngx_http_admission_zone_unlock(zone);
}


/* workers of an earlier configuration may have had more of them */

static void
ngx_http_admission_names_trim_locked(ngx_http_admission_zone_t *zone)
{
    ngx_queue_t                *q;
    ngx_http_admission_name_t  *name;

    while (zone->sh->nnames > ngx_http_admission_names) {
        q = ngx_queue_last(&zone->sh->names);
        name = ngx_queue_data(q, ngx_http_admission_name_t, queue);

        ngx_http_admission_unname_locked(zone, name->event);
    }
}


void
ngx_http_admission_tally(ngx_str_t *event, ngx_http_admission_tally_t *tally)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, event);

    if (en) {
        ngx_http_admission_name_locked(zone, en);
    }

    ngx_http_admission_tally_locked(zone, en, tally);

    ngx_http_admission_zone_unlock(zone);
}


void
ngx_http_admission_tally_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_tally_t *tally)
{
    ngx_http_admission_tally_add((en && en->name) ? &en->name->tally
                                                  : &zone->sh->others, tally);
    ngx_http_admission_tally_add(&zone->sh->all, tally);
}


static void
ngx_http_admission_tally_add(ngx_http_admission_tally_t *sum,
    ngx_http_admission_tally_t *tally)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_ADMISSION_TALLIES; i++) {
        sum->n[i] += tally->n[i];
    }
}


void
ngx_http_admission_waited(ngx_http_admission_waits_t *waits, int64_t ms)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_ADMISSION_WAITS - 1; i++) {
        if (ms <= (int64_t) ngx_http_admission_wait_bounds[i]) {
            break;
        }
    }

    waits->buckets[i]++;
    waits->ms += ms;
}


void
ngx_http_admission_waits(ngx_http_admission_waits_t *waits)
{
    ngx_uint_t                   i;
    ngx_http_admission_waits_t  *sum;

    sum = &ngx_http_admission_zone->sh->waits;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    for (i = 0; i < NGX_HTTP_ADMISSION_WAITS; i++) {
        sum->buckets[i] += waits->buckets[i];
    }

    sum->ms += waits->ms;

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_int_t
ngx_http_admission_tallies(ngx_pool_t *pool,
    ngx_http_admission_tallies_t *tallies)
{
    ngx_uint_t                   i, n;
    ngx_queue_t                 *q;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    /* there may be more of them in a moment: those have to wait */

    n = ngx_min(sh->nnames, NGX_HTTP_ADMISSION_NAMES_MAX);

    tallies->named = ngx_palloc(pool, (n + 1)
                                      * sizeof(ngx_http_admission_named_t));
    if (tallies->named == NULL) {
        return NGX_ERROR;
    }

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    tallies->sums = sh->sums;
    tallies->all = sh->all;
    tallies->others = sh->others;
    tallies->waits = sh->waits;
    tallies->forgotten = sh->forgotten;

    for (q = ngx_queue_head(&sh->names), i = 0;
         q != ngx_queue_sentinel(&sh->names) && i < n;
         q = ngx_queue_next(q), i++)
    {
        ngx_http_admission_name_copy_locked(&tallies->named[i],
                       ngx_queue_data(q, ngx_http_admission_name_t, queue));
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    tallies->n = i;

    return NGX_OK;
}


static void
ngx_http_admission_name_copy_locked(ngx_http_admission_named_t *named,
    ngx_http_admission_name_t *name)
{
    ngx_msec_t                        age;
    ngx_http_admission_event_node_t  *en;

    en = name->event;

    named->state = en->state;
    named->queue = (en->state.epoch != 0);
    named->tally = name->tally;
    named->has_room = (en->room != NULL);
    named->age = 0;

    if (named->has_room) {
        named->room = en->room->room;

        if (en->active) {
            named->age = ngx_http_admission_zone_since(en->room->synced);
        }
    }

    if (en->state.size + en->state.active > 0
        && (en->owing || en->state.size > 0))
    {
        /* where nobody waits nothing is asked before it is due */

        age = ngx_http_admission_ms_since(en->synced);
        named->age = ngx_max(named->age, age);
    }

    named->len = en->len;
    ngx_memcpy(named->id, en->id, en->len);
}


void
ngx_http_admission_tally_init(ngx_http_admission_shctx_t *sh)
{
    ngx_queue_init(&sh->names);
    sh->nnames = 0;
    sh->stale = 0;

    ngx_memzero(&sh->sums, sizeof(ngx_http_admission_sums_t));
}


void
ngx_http_admission_tally_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_http_admission_zone_lock(ozone);

    zone->sh->all = ozone->sh->all;
    zone->sh->others = ozone->sh->others;
    zone->sh->waits = ozone->sh->waits;
    zone->sh->forgotten += ozone->sh->forgotten;

    ngx_http_admission_zone_unlock(ozone);
}


void
ngx_http_admission_sum_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_int_t sign)
{
    ngx_http_admission_sums_t  *sums;

    sums = &zone->sh->sums;

    sums->waiting += sign * en->state.size;
    sums->active += sign * en->state.active;

    if (en->active) {
        sums->rooms += sign;
        sums->before += sign * ngx_http_admission_before(en);
    }
}


/* in front of an active room */

static int64_t
ngx_http_admission_before(ngx_http_admission_event_node_t *en)
{
    ngx_http_admission_room_t  *room;

    room = &en->room->room;

    return ngx_max(room->next - room->serving, 0);
}


static int64_t
ngx_http_admission_busy(ngx_http_admission_event_node_t *en)
{
    int64_t  busy;

    busy = en->state.size + en->state.active;

    if (en->active) {
        busy += 1 + ngx_http_admission_before(en);
    }

    return busy;
}


void
ngx_http_admission_name_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    int64_t                      busy, least;
    ngx_queue_t                 *q;
    ngx_http_admission_shctx_t  *sh;
    ngx_http_admission_name_t   *name, *idle;

    sh = zone->sh;

    ngx_http_admission_names_trim_locked(zone);

    if (en->name || ngx_http_admission_names == 0) {
        return;
    }

    if (sh->nnames < ngx_http_admission_names) {
        ngx_http_admission_name_new_locked(zone, en);
        return;
    }

    busy = ngx_http_admission_busy(en);

    if (busy == 0
        || ngx_http_admission_zone_since(sh->named)
           < NGX_HTTP_ADMISSION_NAMES_AGAIN)
    {
        return;
    }

    sh->named = ngx_current_msec;

    least = 0;
    idle = NULL;

    for (q = ngx_queue_head(&sh->names);
         q != ngx_queue_sentinel(&sh->names);
         q = ngx_queue_next(q))
    {
        name = ngx_queue_data(q, ngx_http_admission_name_t, queue);

        if (idle == NULL || ngx_http_admission_busy(name->event) < least) {
            least = ngx_http_admission_busy(name->event);
            idle = name;
        }
    }

    if (idle == NULL || busy <= 2 * least) {
        return;
    }

    idle->event->name = NULL;
    idle->event = en;
    en->name = idle;

    ngx_memzero(&idle->tally, sizeof(ngx_http_admission_tally_t));
}


/* nothing is forgotten for it */

static void
ngx_http_admission_name_new_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_http_admission_name_t  *name;

    name = ngx_slab_calloc_locked(zone->shpool,
                                  sizeof(ngx_http_admission_name_t));
    if (name == NULL) {
        return;
    }

    ngx_queue_insert_tail(&zone->sh->names, &name->queue);
    zone->sh->nnames++;

    name->event = en;
    en->name = name;
}


void
ngx_http_admission_name_inherit_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_event_node_t *oen)
{
    if (oen->name == NULL) {
        return;
    }

    ngx_http_admission_name_new_locked(zone, en);

    if (en->name) {
        en->name->tally = oen->name->tally;
    }
}


void
ngx_http_admission_unname_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    if (en->name == NULL) {
        return;
    }

    ngx_queue_remove(&en->name->queue);
    zone->sh->nnames--;

    ngx_slab_free_locked(zone->shpool, en->name);
    en->name = NULL;
}
