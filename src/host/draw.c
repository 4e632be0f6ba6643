
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Draws in the zone, with the events.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "draw.h"
#include "event_node.h"
#include "room_state.h"


/* us, less than READ_BACK of the scripts */
#define NGX_ADM_DRAW_READ_BACK  400000

/* us, more than answers can be out of order by */
#define NGX_ADM_DRAW_BACK       10000000


typedef struct {
    ngx_rbtree_node_t    node;           /* of the event */
    ngx_adm_drawn_t      drawn;
} ngx_adm_draw_node_t;


typedef struct {
    ngx_uint_t           n;
    ngx_rbtree_t         tree;
    ngx_rbtree_node_t    sentinel;
} ngx_adm_draws_t;


#define ngx_adm_draws(zone)                                                   \
    ((ngx_adm_draws_t *) ngx_adm_zone_data(zone, &ngx_adm_draw_part))


static void ngx_adm_draws_empty(ngx_adm_zone_t *zone);
static void ngx_adm_draw_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_draws_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_adm_draw_node_t *ngx_adm_draw_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_draw_node_t *ngx_adm_draw_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);


ngx_adm_zone_part_t  ngx_adm_draw_part = {
    .size = sizeof(ngx_adm_draws_t),
    .empty = ngx_adm_draws_empty,
    .copy = ngx_adm_draws_copy,
    .event_free = ngx_adm_draw_free_locked };


static void
ngx_adm_draws_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_draws_t  *draws;

    draws = ngx_adm_draws(zone);

    draws->n = 0;

    ngx_rbtree_init(&draws->tree, &draws->sentinel, ngx_rbtree_insert_value);
}


static ngx_adm_draw_node_t *
ngx_adm_draw_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return (en && en->draw)
           ? (ngx_adm_draw_node_t *)
                 ngx_adm_event_find_locked(&ngx_adm_draws(zone)->tree, en)
           : NULL;
}


static void
ngx_adm_draw_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_draw_node_t  *dn;

    dn = ngx_adm_draw_of_locked(zone, en);

    if (dn) {
        ngx_adm_draws(zone)->n--;

        ngx_rbtree_delete(&ngx_adm_draws(zone)->tree, &dn->node);
        ngx_slab_free_locked(zone->shpool, dn);

        en->draw = 0;
    }
}


/* as ngx_adm_notice_copy() does */

static void
ngx_adm_draws_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_str_t              id;
    ngx_uint_t             step;
    ngx_rbtree_key_t       last;
    ngx_rbtree_node_t     *node;
    ngx_adm_draw_node_t   *dn, *odn;
    ngx_adm_event_node_t  *en, *oen;

    step = 0;
    last = 0;

    ngx_adm_zone_lock(ozone);

    for ( ;; ) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_draws(ozone)->tree,
                                              last);
        if (node == NULL) {
            break;
        }

        last = node->key;

        odn = (ngx_adm_draw_node_t *) node;
        oen = (ngx_adm_event_node_t *) (uintptr_t) node->key;

        id.len = oen->len;
        id.data = oen->id;

        en = ngx_adm_event_lookup_locked(zone, &id);
        dn = en ? ngx_adm_draw_new_locked(zone, en) : NULL;

        if (dn) {
            dn->drawn = odn->drawn;
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);
}


static ngx_adm_draw_node_t *
ngx_adm_draw_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_draw_node_t  *dn;

    dn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_draw_node_t), en);

    if (dn) {
        ngx_adm_event_keep_locked(&ngx_adm_draws(zone)->tree, &dn->node, en);
        ngx_adm_draws(zone)->n++;
        en->draw = 1;
    }

    return dn;
}


ngx_uint_t
ngx_adm_order(ngx_adm_event_conf_t *conf)
{
    if (conf->order != NGX_ADM_ORDER_DRAW) {
        return NGX_ADM_ORDER_ARRIVAL;
    }

    return conf->draw_beacon.len ? NGX_ADM_ORDER_BEACON : NGX_ADM_ORDER_DRAW;
}


ngx_uint_t
ngx_adm_draw_counted(ngx_adm_room_t *room)
{
    return room->drawn
           && (room->updated >= room->drawn + NGX_ADM_DRAW_READ_BACK
               || ngx_adm_draw_ready(room));
}


ngx_uint_t
ngx_adm_draw_ready(ngx_adm_room_t *room)
{
    /* what is later than the answer was there before a clock went back */

    return room->drawn
           && room->ready
           && (room->updated >= room->ready + NGX_ADM_DRAW_READ_BACK
               || room->updated < room->ready - NGX_ADM_DRAW_BACK);
}


void
ngx_adm_draw_known(ngx_str_t *event, int64_t activation,
    ngx_adm_drawn_t *drawn)
{
    ngx_adm_zone_t       *zone;
    ngx_adm_draw_node_t  *dn;

    zone = ngx_adm_zone;

    ngx_memzero(drawn, sizeof(ngx_adm_drawn_t));

    if (ngx_adm_draws(zone)->n == 0) {
        return;
    }

    ngx_adm_zone_lock(zone);

    dn = ngx_adm_draw_of_locked(zone,
                                ngx_adm_event_lookup_locked(zone, event));

    if (dn && dn->drawn.activation == activation) {
        *drawn = dn->drawn;
    }

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_draw_heard(ngx_str_t *event, ngx_adm_claims_t *claims,
    ngx_msec_t session_max)
{
    size_t           len;
    ngx_adm_room_t   room;
    ngx_adm_drawn_t  drawn;

    static time_t  logged;

    /* the lots are dated from a time on, which is that of the first */

    if (claims->lots <= 0 || claims->drawn <= 0
        || claims->position <= 0 || claims->position > claims->lots
        || claims->at <= claims->position
        || ngx_adm_room_get(event, &room) != NGX_OK
        || room.activation != claims->act
        || (room.drawn && room.drawn <= claims->drawn))
    {
        return;
    }

    if (claims->beacon.len) {
        ngx_memzero(&drawn, sizeof(ngx_adm_drawn_t));

        if (ngx_adm_draw_beacon(&claims->beacon, drawn.beacon_text, &len)
            != NGX_OK)
        {
            return;
        }

        drawn.activation = room.activation;
        drawn.of = claims->drawn;
        drawn.beacon = (u_short) len;

        ngx_adm_draw_note(event, &drawn);
    }

    if (logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: the draw of event \"%V\" was lost, a token "
                      "of one of its %L lots tells of it", event,
                      claims->lots);
    }

    room.order = claims->beacon.len ? NGX_ADM_ORDER_BEACON
                                    : NGX_ADM_ORDER_DRAW;
    room.lots = claims->lots;
    room.drawn = claims->drawn;
    room.base = claims->at - claims->position;
    room.ready = claims->beacon.len ? 0 : claims->drawn;
    room.next = ngx_max(room.next, room.lots);

    (void) ngx_adm_room_note(event, &room, session_max);
}


/* what is known of an activation stays, however Redis lost it */

void
ngx_adm_draw_note(ngx_str_t *event, ngx_adm_drawn_t *drawn)
{
    ngx_uint_t             later;
    ngx_adm_zone_t        *zone;
    ngx_adm_drawn_t       *known;
    ngx_adm_draw_node_t   *dn;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_make_locked(zone, event);
    dn = ngx_adm_draw_of_locked(zone, en);

    if (dn == NULL && en) {
        dn = ngx_adm_draw_new_locked(zone, en);
    }

    if (dn) {
        known = &dn->drawn;

        if (known->activation != drawn->activation) {
            *known = *drawn;
        }

        /* of two commitments the earlier stands, with its source */

        later = (known->commitment && drawn->commitment
                 && drawn->committed > known->committed);

        if (drawn->commitment && !later) {
            known->committed = drawn->committed;
            known->commitment = drawn->commitment;
            ngx_memcpy(known->commitment_text, drawn->commitment_text,
                       sizeof(known->commitment_text));
        }

        if (drawn->source && !later) {
            known->source = drawn->source;
            ngx_memcpy(known->source_text, drawn->source_text,
                       sizeof(known->source_text));
        }

        /* of two draws the earlier stands, with its beacon */

        if (drawn->beacon && (known->beacon == 0 || drawn->of <= known->of)) {
            known->of = drawn->of;
            known->beacon = drawn->beacon;
            ngx_memcpy(known->beacon_text, drawn->beacon_text,
                       sizeof(known->beacon_text));
        }
    }

    ngx_adm_zone_unlock(zone);
}
