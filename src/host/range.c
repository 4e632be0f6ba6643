
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How lines went, in the zone, by the events' nodes.  What was noted longest
 * ago goes first.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "few.h"
#include "follow.h"
#include "hold.h"
#include "range.h"


#define NGX_ADM_RANGE_SHARE  64          /* of the zone, one part, at most */


/* 256 bytes, as the slab allocator has them */
typedef struct {
    ngx_rbtree_node_t  node;             /* of the event */
    ngx_queue_t        queue;            /* latest noted first */
    ngx_adm_pace_t     pace[NGX_ADM_RANGES];
} ngx_adm_range_node_t;


typedef struct {
    ngx_adm_few_t      few;
    ngx_queue_t        queue;
} ngx_adm_ranges_t;


#define ngx_adm_ranges(zone)                                                  \
    ((ngx_adm_ranges_t *) ngx_adm_zone_data(zone, &ngx_adm_range_part))


static void ngx_adm_range_empty(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_range_yield(ngx_adm_zone_t *zone);
static void ngx_adm_range_event_free(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_range_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_range_node_t *rn);
static ngx_adm_range_node_t *ngx_adm_range_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_range_node_t *ngx_adm_range_make_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_range_pace(ngx_str_t *event, ngx_adm_range_e which,
    ngx_adm_pace_t *pace);


ngx_adm_zone_part_t  ngx_adm_range_part = {
    .size = sizeof(ngx_adm_ranges_t),
    .empty = ngx_adm_range_empty,
    .yield = ngx_adm_range_yield,
    .event_free = ngx_adm_range_event_free };


static void
ngx_adm_range_empty(ngx_adm_zone_t *zone)
{
    ngx_queue_init(&ngx_adm_ranges(zone)->queue);

    ngx_adm_few_empty(&ngx_adm_ranges(zone)->few);
}


/* drops what was noted longest ago */

static ngx_uint_t
ngx_adm_range_yield(ngx_adm_zone_t *zone)
{
    ngx_queue_t  *q;

    if (ngx_queue_empty(&ngx_adm_ranges(zone)->queue)) {
        return 0;
    }

    q = ngx_queue_last(&ngx_adm_ranges(zone)->queue);

    ngx_adm_range_free_locked(zone,
                              ngx_queue_data(q, ngx_adm_range_node_t, queue));
    return 1;
}


static void
ngx_adm_range_event_free(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_range_node_t  *rn;

    rn = ngx_adm_range_of_locked(zone, en);

    if (rn) {
        ngx_adm_range_free_locked(zone, rn);
    }
}


static void
ngx_adm_range_free_locked(ngx_adm_zone_t *zone, ngx_adm_range_node_t *rn)
{
    ngx_queue_remove(&rn->queue);

    ngx_adm_few_free_locked(zone, &ngx_adm_ranges(zone)->few, rn);
}


static ngx_adm_range_node_t *
ngx_adm_range_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return ngx_adm_few_of_locked(&ngx_adm_ranges(zone)->few, en);
}


/* nothing is forgotten for it: an event can do without */

static ngx_adm_range_node_t *
ngx_adm_range_make_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_ranges_t      *ranges;
    ngx_adm_range_node_t  *rn;

    ranges = ngx_adm_ranges(zone);

    if ((ranges->few.n + 1) * sizeof(ngx_adm_range_node_t)
            > zone->sh->size / NGX_ADM_RANGE_SHARE
        && !ngx_adm_range_yield(zone))
    {
        return NULL;
    }

    rn = ngx_slab_calloc_locked(zone->shpool, sizeof(ngx_adm_range_node_t));
    if (rn == NULL) {
        return NULL;
    }

    ngx_adm_few_add_locked(&ranges->few, rn, en);
    ngx_queue_insert_head(&ranges->queue, &rn->queue);

    return rn;
}


void
ngx_adm_range_note_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_range_e which, int64_t us, int64_t passed, int64_t left,
    int64_t stood)
{
    ngx_adm_range_node_t  *rn;

    rn = ngx_adm_range_of_locked(zone, en);

    if (rn == NULL) {
        rn = ngx_adm_range_make_locked(zone, en);
    }

    if (rn) {
        ngx_queue_remove(&rn->queue);
        ngx_queue_insert_head(&ngx_adm_ranges(zone)->queue, &rn->queue);

        ngx_adm_pace_note(&rn->pace[which], us, passed, left, stood);
    }
}


void
ngx_adm_range_reset_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_range_e which)
{
    ngx_adm_range_node_t  *rn;

    rn = ngx_adm_range_of_locked(zone, en);

    if (rn) {
        ngx_memzero(&rn->pace[which], sizeof(ngx_adm_pace_t));
    }
}


void
ngx_adm_range_room(ngx_str_t *event, int64_t rate, int64_t people,
    ngx_adm_range_t *range)
{
    int64_t         measured;
    ngx_adm_pace_t  pace;

    ngx_adm_range_pace(event, NGX_ADM_RANGE_ROOM, &pace);

    measured = ngx_adm_pace_rate(&pace);

    ngx_adm_forecast(&pace, measured ? measured : rate, people, range);
}


void
ngx_adm_range_queue(ngx_str_t *event, int64_t rate, int64_t people,
    ngx_adm_range_t *range)
{
    ngx_adm_pace_t  pace;

    ngx_adm_range_pace(event, NGX_ADM_RANGE_QUEUE, &pace);

    ngx_adm_forecast(&pace, rate, people, range);
}


static void
ngx_adm_range_pace(ngx_str_t *event, ngx_adm_range_e which,
    ngx_adm_pace_t *pace)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_range_node_t  *rn;

    zone = ngx_adm_zone;

    ngx_memzero(pace, sizeof(ngx_adm_pace_t));

    ngx_adm_zone_lock(zone);

    rn = ngx_adm_range_of_locked(zone,
                                 ngx_adm_event_lookup_locked(zone, event));
    if (rn) {
        *pace = rn->pace[which];
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_range_stopped(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_range_e which)
{
    ngx_adm_hold_t      hold;
    ngx_adm_followed_t  followed;

    if (ngx_adm_hold_get(event, &hold)) {
        return 1;
    }

    return conf->backend_follow == NGX_ADM_BACKEND_ON
           && ngx_adm_is_followed(conf)
           && ngx_adm_follow_get(event, &followed) == NGX_OK
           && (which == NGX_ADM_RANGE_ROOM ? followed.told.rate
                                           : followed.told.threshold) == 0;
}


void
ngx_adm_range_text(ngx_adm_range_t *range, u_char *text)
{
    u_char  *p, *last;

    last = text + NGX_ADM_RANGE_TEXT - 1;

    if (range) {
        p = ngx_adm_put(text, last,
                        "\"estimatedWait\":%L,\"estimatedWaitRange\":[%L,%L]",
                        range->wait, range->low, range->high);
    } else {
        p = ngx_adm_put(text, last, "\"estimatedWait\":null");
    }

    *p = '\0';
}
