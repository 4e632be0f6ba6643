
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The phases of a sale, and the times that operators set, in the zone with the
 * events: few have any.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "sale.h"
#include "unlisted.h"


/* us after the opening, up to which the room is activated: as in vwr_lib.lua */
#define NGX_ADM_SALE_LATE  ((int64_t) 604800 * 1000000)

/* us by which an event's clock is ahead where Redis's went back; less than that
   it may be by itself, after a loss of data */
#define NGX_ADM_SALE_AHEAD  15000000

#define NGX_ADM_SALE_MARK  60000         /* ms between additions to the list */


typedef struct {
    ngx_rbtree_node_t    node;           /* of the event */
    ngx_adm_sale_set_t   set;
    ngx_msec_t           mark;           /* when it was listed; 0: never */
} ngx_adm_sale_node_t;


typedef struct {
    ngx_uint_t           n;
    ngx_rbtree_t         tree;
    ngx_rbtree_node_t    sentinel;
} ngx_adm_sales_t;


#define ngx_adm_sales(zone)                                                   \
    ((ngx_adm_sales_t *) ngx_adm_zone_data(zone, &ngx_adm_sale_part))


static void ngx_adm_sales_empty(ngx_adm_zone_t *zone);
static void ngx_adm_sale_hold(ngx_str_t *event, ngx_adm_sale_t *sale);
static void ngx_adm_sale_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_sales_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_adm_sale_node_t *ngx_adm_sale_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_sale_node_t *ngx_adm_sale_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);


ngx_adm_zone_part_t  ngx_adm_sale_part = {
    .size = sizeof(ngx_adm_sales_t),
    .empty = ngx_adm_sales_empty,
    .copy = ngx_adm_sales_copy,
    .event_free = ngx_adm_sale_free_locked };


ngx_str_t  ngx_adm_phase_names[] = {
    ngx_null_string,
    ngx_string("before"),
    ngx_string("gathering"),
    ngx_string("open"),
    ngx_string("closed")
};


static void
ngx_adm_sales_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_sales_t  *sales;

    sales = ngx_adm_sales(zone);

    sales->n = 0;

    ngx_rbtree_init(&sales->tree, &sales->sentinel, ngx_rbtree_insert_value);
}


static ngx_adm_sale_node_t *
ngx_adm_sale_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return en
           ? (ngx_adm_sale_node_t *)
                 ngx_adm_event_find_locked(&ngx_adm_sales(zone)->tree, en)
           : NULL;
}


static void
ngx_adm_sale_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_sale_node_t  *sn;

    sn = ngx_adm_sale_of_locked(zone, en);

    if (sn) {
        ngx_adm_sales(zone)->n--;

        ngx_rbtree_delete(&ngx_adm_sales(zone)->tree, &sn->node);
        ngx_slab_free_locked(zone->shpool, sn);

        en->sale = 0;
    }
}


/* as ngx_adm_notice_copy() does */

static void
ngx_adm_sales_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_str_t              id;
    ngx_uint_t             step;
    ngx_rbtree_key_t       last;
    ngx_rbtree_node_t     *node;
    ngx_adm_sale_node_t   *sn, *osn;
    ngx_adm_event_node_t  *en, *oen;

    step = 0;
    last = 0;

    ngx_adm_zone_lock(ozone);

    for ( ;; ) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_sales(ozone)->tree,
                                              last);
        if (node == NULL) {
            break;
        }

        last = node->key;

        osn = (ngx_adm_sale_node_t *) node;
        oen = (ngx_adm_event_node_t *) (uintptr_t) node->key;

        id.len = oen->len;
        id.data = oen->id;

        en = ngx_adm_event_lookup_locked(zone, &id);
        sn = en ? ngx_adm_sale_new_locked(zone, en) : NULL;

        if (sn) {
            sn->set = osn->set;
            en->sale = (sn->set.opens >= 0);
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);
}


static ngx_adm_sale_node_t *
ngx_adm_sale_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_sale_node_t  *sn;

    sn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_sale_node_t), en);

    if (sn) {
        ngx_adm_event_keep_locked(&ngx_adm_sales(zone)->tree, &sn->node, en);
        ngx_adm_sales(zone)->n++;
    }

    return sn;
}


ngx_adm_phase_e
ngx_adm_sale_get(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_sale_t *sale)
{
    ngx_adm_sale_set_t  set;

    ngx_adm_sale_known(event, &set);

    sale->now = ngx_adm_now_us();
    sale->set = (set.opens >= 0);

    if (sale->set) {
        sale->opens = set.opens;
        sale->starts = set.starts;
        sale->closes = set.closes;

    } else {
        sale->opens = conf ? conf->opens : 0;
        sale->starts = conf ? conf->starts : 0;
        sale->closes = conf ? conf->closes : 0;
    }

    if (sale->now < ngx_max(sale->opens, ngx_max(sale->starts, sale->closes))) {
        ngx_adm_sale_hold(event, sale);
    }

    sale->phase = ngx_adm_sale_phase(sale);

    return sale->phase;
}


/* what has come by the event's clock stays so, though Redis's goes back */

static void
ngx_adm_sale_hold(ngx_str_t *event, ngx_adm_sale_t *sale)
{
    int64_t                clock;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);
    clock = en ? en->state.clock : 0;

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (clock - sale->now > NGX_ADM_SALE_AHEAD
        && !ngx_adm_is_far_ahead(clock))
    {
        sale->now = clock;
    }
}


ngx_adm_phase_e
ngx_adm_sale_phase(ngx_adm_sale_t *sale)
{
    if (sale->opens + sale->starts + sale->closes == 0) {
        return NGX_ADM_PHASE_NONE;
    }

    if (sale->now < sale->opens) {
        return NGX_ADM_PHASE_BEFORE;
    }

    if (sale->now < sale->starts) {
        return NGX_ADM_PHASE_GATHERING;
    }

    return (sale->closes && sale->now >= sale->closes) ? NGX_ADM_PHASE_CLOSED
                                                       : NGX_ADM_PHASE_OPEN;
}


int64_t
ngx_adm_sale_rest(ngx_adm_sale_t *sale)
{
    switch (sale->phase) {

    case NGX_ADM_PHASE_BEFORE:
        return (sale->opens - sale->now + 999999) / 1000000;

    case NGX_ADM_PHASE_GATHERING:
        return (sale->starts - sale->now + 999999) / 1000000;

    default:
        return 0;
    }
}


ngx_uint_t
ngx_adm_sale_pending(ngx_adm_sale_t *sale, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room)
{
    int64_t  from;

    /* anybody may make up what neither a line nor an operator gave times */

    if (room->active
        || conf->vwr == NGX_ADM_OFF
        || (conf->sn.str.len == 0 && !sale->set))
    {
        return 0;
    }

    from = sale->opens ? sale->opens : sale->starts;

    switch (sale->phase) {

    case NGX_ADM_PHASE_GATHERING:
        return 1;

    case NGX_ADM_PHASE_OPEN:
        return from && room->changed < from
               && sale->now - from <= NGX_ADM_SALE_LATE;

    default:
        return 0;
    }
}


void
ngx_adm_sale_known(ngx_str_t *event, ngx_adm_sale_set_t *set)
{
    ngx_adm_zone_t       *zone;
    ngx_adm_sale_node_t  *sn;

    zone = ngx_adm_zone;

    ngx_memzero(set, sizeof(ngx_adm_sale_set_t));
    set->opens = -1;

    if (ngx_adm_sales(zone)->n == 0) {
        return;
    }

    ngx_adm_zone_lock(zone);

    sn = ngx_adm_sale_of_locked(zone,
                                ngx_adm_event_lookup_locked(zone, event));
    if (sn) {
        *set = sn->set;
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_sale_note(ngx_str_t *event, ngx_adm_sale_set_t *set)
{
    ngx_uint_t             lost, full;
    ngx_adm_zone_t        *zone;
    ngx_adm_sale_node_t   *sn;
    ngx_adm_event_node_t  *en;

    static time_t  logged;

    zone = ngx_adm_zone;

    if ((set->version == 0 && ngx_adm_sales(zone)->n == 0)
        || ngx_adm_is_far_ahead(set->version))
    {
        return 0;
    }

    lost = 0;

    ngx_adm_zone_lock(zone);

    en = set->version ? ngx_adm_event_make_locked(zone, event)
                      : ngx_adm_event_lookup_locked(zone, event);

    sn = ngx_adm_sale_of_locked(zone, en);

    if (sn == NULL && en && set->version) {
        sn = ngx_adm_sale_new_locked(zone, en);
    }

    full = (sn == NULL && set->opens >= 0);

    if (sn && ngx_adm_is_far_ahead(sn->set.version)) {
        /* of a time at which a clock was far ahead */
        sn->set.version = 0;
    }

    if (sn && set->version >= sn->set.version) {
        sn->set = *set;
        en->sale = (set->opens >= 0);
        ngx_adm_unlisted_locked(zone, en);

    } else if (sn) {
        lost = 1;
    }

    ngx_adm_zone_unlock(zone);

    if (full && logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the zone has no room for the times of event "
                      "\"%V\", which this host does not keep to: make "
                      "\"admission_zone\" larger", event);
    }

    return lost;
}


ngx_uint_t
ngx_adm_sale_any(void)
{
    return ngx_adm_sales(ngx_adm_zone)->n != 0;
}


ngx_uint_t
ngx_adm_sale_mark(ngx_str_t *event)
{
    ngx_uint_t            marks;
    ngx_adm_zone_t       *zone;
    ngx_adm_sale_node_t  *sn;

    zone = ngx_adm_zone;
    marks = 0;

    ngx_adm_zone_lock(zone);

    sn = ngx_adm_sale_of_locked(zone,
                                ngx_adm_event_lookup_locked(zone, event));

    if (sn && (sn->mark == 0 || ngx_adm_since(sn->mark) >= NGX_ADM_SALE_MARK)) {
        sn->mark = ngx_adm_mark_now();
        marks = 1;
    }

    ngx_adm_zone_unlock(zone);

    return marks;
}


void
ngx_adm_sale_unmark(ngx_str_t *event)
{
    ngx_adm_zone_t       *zone;
    ngx_adm_sale_node_t  *sn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    sn = ngx_adm_sale_of_locked(zone,
                                ngx_adm_event_lookup_locked(zone, event));
    if (sn) {
        sn->mark = 0;
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_sale_next(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_rbtree_key_t *key)
{
    ngx_uint_t             n;
    ngx_adm_zone_t        *zone;
    ngx_rbtree_node_t     *node;
    ngx_adm_sale_node_t   *sn;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    if (ngx_adm_sales(zone)->n == 0) {
        return 0;
    }

    ngx_adm_zone_lock(zone);

    for (n = 0; n < max; n++) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_sales(zone)->tree,
                                              *key);
        if (node == NULL) {
            break;
        }

        *key = node->key;

        sn = (ngx_adm_sale_node_t *) node;
        en = (ngx_adm_event_node_t *) (uintptr_t) node->key;

        if (sn->set.opens >= 0
            && ngx_adm_event_push_locked(pool, ids, en) != NGX_OK)
        {
            break;
        }
    }

    ngx_adm_zone_unlock(zone);

    return n;
}
