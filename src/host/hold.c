
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What operators hold, in the zone with the events: few are.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "hold.h"
#include "tally.h"
#include "unlisted.h"


typedef struct {
    ngx_rbtree_node_t    node;           /* of the event */
    ngx_adm_hold_t       hold;
} ngx_adm_hold_node_t;


typedef struct {
    ngx_uint_t           n;
    ngx_rbtree_t         tree;
    ngx_rbtree_node_t    sentinel;
} ngx_adm_holds_t;


#define ngx_adm_holds(zone)                                                   \
    ((ngx_adm_holds_t *) ngx_adm_zone_data(zone, &ngx_adm_hold_part))


static void ngx_adm_holds_empty(ngx_adm_zone_t *zone);
static void ngx_adm_holds_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_hold_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_hold_node_t *ngx_adm_hold_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_hold_node_t *ngx_adm_hold_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);


ngx_adm_zone_part_t  ngx_adm_hold_part = {
    .size = sizeof(ngx_adm_holds_t),
    .empty = ngx_adm_holds_empty,
    .copy = ngx_adm_holds_copy,
    .event_free = ngx_adm_hold_free_locked };


static void
ngx_adm_holds_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_holds_t  *holds;

    holds = ngx_adm_holds(zone);

    holds->n = 0;

    ngx_rbtree_init(&holds->tree, &holds->sentinel, ngx_rbtree_insert_value);
}


static ngx_adm_hold_node_t *
ngx_adm_hold_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return (en && ngx_adm_holds(zone)->n)
           ? (ngx_adm_hold_node_t *)
                 ngx_adm_event_find_locked(&ngx_adm_holds(zone)->tree, en)
           : NULL;
}


static void
ngx_adm_hold_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_hold_node_t  *hn;

    hn = ngx_adm_hold_of_locked(zone, en);

    if (hn) {
        ngx_adm_holds(zone)->n--;

        ngx_rbtree_delete(&ngx_adm_holds(zone)->tree, &hn->node);
        ngx_slab_free_locked(zone->shpool, hn);

        en->held = 0;
    }
}


/* as ngx_adm_notice_copy() does */

static void
ngx_adm_holds_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_str_t              id;
    ngx_uint_t             step;
    ngx_rbtree_key_t       last;
    ngx_rbtree_node_t     *node;
    ngx_adm_hold_node_t   *hn, *ohn;
    ngx_adm_event_node_t  *en, *oen;

    step = 0;
    last = 0;

    ngx_adm_zone_lock(ozone);

    for ( ;; ) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_holds(ozone)->tree,
                                              last);
        if (node == NULL) {
            break;
        }

        last = node->key;

        ohn = (ngx_adm_hold_node_t *) node;
        oen = (ngx_adm_event_node_t *) (uintptr_t) node->key;

        id.len = oen->len;
        id.data = oen->id;

        en = ngx_adm_event_lookup_locked(zone, &id);
        hn = en ? ngx_adm_hold_new_locked(zone, en) : NULL;

        if (hn) {
            hn->hold = ohn->hold;
            en->held = (hn->hold.held != NGX_ADM_HOLD_NOBODY);
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);
}


static ngx_adm_hold_node_t *
ngx_adm_hold_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_hold_node_t  *hn;

    hn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_hold_node_t), en);

    if (hn) {
        ngx_adm_event_keep_locked(&ngx_adm_holds(zone)->tree, &hn->node, en);
        ngx_adm_holds(zone)->n++;
    }

    return hn;
}


ngx_uint_t
ngx_adm_hold_get(ngx_str_t *event, ngx_adm_hold_t *hold)
{
    ngx_adm_zone_t       *zone;
    ngx_adm_hold_node_t  *hn;

    zone = ngx_adm_zone;

    ngx_memzero(hold, sizeof(ngx_adm_hold_t));

    if (ngx_adm_holds(zone)->n == 0) {
        return NGX_ADM_HOLD_NOBODY;
    }

    ngx_adm_zone_lock(zone);

    hn = ngx_adm_hold_of_locked(zone,
                                ngx_adm_event_lookup_locked(zone, event));
    if (hn) {
        *hold = hn->hold;
    }

    ngx_adm_zone_unlock(zone);

    return (ngx_uint_t) hold->held;
}


ngx_uint_t
ngx_adm_hold_note(ngx_str_t *event, ngx_adm_hold_t *hold)
{
    ngx_uint_t             lost, full;
    ngx_adm_zone_t        *zone;
    ngx_adm_hold_node_t   *hn;
    ngx_adm_event_node_t  *en;

    static time_t  logged;

    zone = ngx_adm_zone;

    if ((hold->version == 0 && ngx_adm_holds(zone)->n == 0)
        || ngx_adm_is_far_ahead(hold->version))
    {
        return 0;
    }

    lost = 0;

    ngx_adm_zone_lock(zone);

    en = hold->held ? ngx_adm_event_make_locked(zone, event)
                    : ngx_adm_event_lookup_locked(zone, event);

    hn = ngx_adm_hold_of_locked(zone, en);

    if (hn == NULL && en && hold->held) {
        hn = ngx_adm_hold_new_locked(zone, en);
    }

    full = (hn == NULL && hold->held);

    if (hn && ngx_adm_is_far_ahead(hn->hold.version)) {
        /* of a time at which a clock was far ahead */
        hn->hold.version = 0;
    }

    if (hn && hold->version >= hn->hold.version) {
        hn->hold = *hold;
        en->held = (hold->held != NGX_ADM_HOLD_NOBODY);
        ngx_adm_unlisted_locked(zone, en);

        if (en->held) {
            ngx_adm_name_locked(zone, en);
        }

    } else if (hn) {
        lost = 1;
    }

    ngx_adm_zone_unlock(zone);

    if (full && logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the zone has no room for that event \"%V\" "
                      "is held, gates of this host do not: make "
                      "\"admission_zone\" larger", event);
    }

    return lost;
}
