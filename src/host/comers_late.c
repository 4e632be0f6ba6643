
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Those who come when their turn is over, lower numbers first.  They are
 * bounded: whoever shows many old tickets takes no more than a part of the
 * zone.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "comers_node.h"


#define NGX_ADM_COMERS_ASKS    250       /* that a step asks for */
#define NGX_ADM_COMERS_STALE   5000      /* ms, after which who asked, and
                                            did not again, has gone */
#define NGX_ADM_COMERS_LATE    64        /* of the zone, one part, at most */


static void ngx_adm_comers_ask_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn, int64_t position);
static ngx_adm_comers_late_t *ngx_adm_comers_room_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn, int64_t position);
static ngx_int_t ngx_adm_comers_late_alone_locked(ngx_adm_room_node_t *rn,
    int64_t position, ngx_uint_t asks, int64_t *turn);
static void ngx_adm_comers_late_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_late_t *late);


ngx_int_t
ngx_adm_comers_late(ngx_str_t *event, int64_t activation, int64_t position,
    ngx_uint_t asks, int64_t *turn)
{
    ngx_int_t               rc;
    ngx_adm_zone_t         *zone;
    ngx_rbtree_node_t      *node;
    ngx_adm_room_node_t    *rn;
    ngx_adm_comers_node_t  *cn;
    ngx_adm_comers_late_t  *late;

    rc = NGX_AGAIN;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_get_locked(zone, event, activation);

    if (cn == NULL) {
        rn = ngx_adm_comers_alone_locked(zone, event, activation);

        if (rn) {
            rc = ngx_adm_comers_late_alone_locked(rn, position, asks, turn);
        }

        goto unlock;
    }

    node = ngx_adm_comers_find(&cn->turns, position);

    if (node) {
        late = (ngx_adm_comers_late_t *) node;
        late->heard = ngx_current_msec;

        ngx_queue_remove(&late->queue);
        ngx_queue_insert_head(&ngx_adm_comers(zone)->lates, &late->queue);

        if (late->turn) {
            *turn = late->turn;
        }

        rc = NGX_OK;
        goto unlock;
    }

    if (ngx_adm_comers_known(cn, position)) {
        rc = NGX_OK;
        goto unlock;
    }

    if (asks) {
        ngx_adm_comers_ask_locked(zone, cn, position);
    }

unlock:

    ngx_adm_zone_unlock(zone);

    return rc;
}


void
ngx_adm_comers_gaps(ngx_str_t *event, int64_t activation, ngx_uint_t n,
    int64_t *gaps)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_comers_node_t  *cn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    /* nothing to look up in most rooms, where nobody ever was late */

    cn = n ? ngx_adm_comers_get_locked(zone, event, activation)
           : ngx_adm_comers_of_locked(zone,
                                     ngx_adm_event_lookup_locked(zone, event));

    if (cn && cn->activation == activation) {
        cn->ngaps = ngx_min(n, NGX_ADM_COMERS_GAPS);
        ngx_memcpy(cn->gaps, gaps, 2 * cn->ngaps * sizeof(int64_t));
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_comers_passed(ngx_str_t *event, int64_t activation, int64_t position)
{
    ngx_uint_t              i, passed;
    ngx_adm_zone_t         *zone;
    ngx_adm_comers_node_t  *cn;

    /* Redis is asked where the host can not know */

    passed = 1;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_of_locked(zone,
                                  ngx_adm_event_lookup_locked(zone, event));

    if (cn && cn->activation == activation) {

        passed = 0;

        for (i = 0; i < cn->ngaps; i++) {

            if (position >= cn->gaps[2 * i]
                && position <= cn->gaps[2 * i + 1])
            {
                passed = 1;
                break;
            }
        }
    }

    ngx_adm_zone_unlock(zone);

    return passed;
}


void
ngx_adm_comers_turn(ngx_str_t *event, int64_t activation, int64_t position,
    int64_t turn)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_room_node_t    *rn;
    ngx_adm_comers_node_t  *cn;
    ngx_adm_comers_late_t  *late;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_of_locked(zone,
                                  ngx_adm_event_lookup_locked(zone, event));

    if (cn == NULL) {
        rn = ngx_adm_comers_alone_locked(zone, event, activation);

        if (rn && rn->late == position) {
            rn->granted = 1;
            rn->late_turn = turn;
            rn->late_heard = (uint32_t) ngx_current_msec;
        }
    }

    late = (cn && cn->activation == activation)
           ? (ngx_adm_comers_late_t *) ngx_adm_comers_find(&cn->asks, position)
           : NULL;

    if (late) {
        late->granted = 1;
        late->turn = turn;
        late->heard = ngx_current_msec;

        ngx_rbtree_delete(&cn->asks, &late->node);
        late->node.key = (ngx_rbtree_key_t) position;
        ngx_rbtree_insert(&cn->turns, &late->node);
    }

    ngx_adm_zone_unlock(zone);
}


/*
 * Where the zone has no room for them they go in one after the other, in each
 * room, lower numbers first.
 */

static ngx_int_t
ngx_adm_comers_late_alone_locked(ngx_adm_room_node_t *rn, int64_t position,
    ngx_uint_t asks, int64_t *turn)
{
    ngx_uint_t  stale;

    stale = (ngx_adm_ms_since(rn->late_heard) > NGX_ADM_COMERS_STALE);

    if (rn->late == position && rn->granted) {

        if (rn->late_turn) {
            *turn = rn->late_turn;
        }

        rn->late_heard = (uint32_t) ngx_current_msec;

        return NGX_OK;
    }

    if (asks
        && (rn->late == 0 || stale
            || (!rn->granted && position <= rn->late)))
    {
        rn->late = position;
        rn->late_heard = (uint32_t) ngx_current_msec;
        rn->granted = 0;
    }

    return NGX_AGAIN;
}


void
ngx_adm_comers_ask_alone_locked(ngx_adm_room_node_t *rn,
    ngx_adm_comers_t *comers)
{
    static u_char  ask[NGX_INT64_LEN];

    if (rn->late == 0 || rn->granted
        || ngx_adm_ms_since(rn->late_heard) > NGX_ADM_COMERS_STALE)
    {
        return;
    }

    comers->asks.data = ask;
    comers->asks.len = ngx_sprintf(ask, "%L", rn->late) - ask;
}


static void
ngx_adm_comers_ask_locked(ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn,
    int64_t position)
{
    ngx_adm_comers_late_t  *late;

    late = (ngx_adm_comers_late_t *) ngx_adm_comers_find(&cn->asks, position);

    if (late) {
        ngx_queue_remove(&late->queue);

    } else {
        late = ngx_adm_comers_room_locked(zone, cn, position);

        if (late == NULL) {
            return;
        }

        late->of = cn;
        late->node.key = (ngx_rbtree_key_t) position;

        ngx_rbtree_insert(&cn->asks, &late->node);
    }

    late->heard = ngx_current_msec;

    ngx_queue_insert_head(&ngx_adm_comers(zone)->lates, &late->queue);
}


/*
 * Memory for one more: of a number that was not heard of for as long as a turn
 * takes, or of the highest number that asks, if that is higher than this one.
 */

static ngx_adm_comers_late_t *
ngx_adm_comers_room_locked(ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn,
    int64_t position)
{
    ngx_queue_t            *q;
    ngx_rbtree_node_t      *node;
    ngx_adm_comers_all_t   *all;
    ngx_adm_comers_late_t  *late;

    late = NULL;
    all = ngx_adm_comers(zone);

    if (all->late_bytes + sizeof(ngx_adm_comers_late_t)
        <= zone->sh->size / NGX_ADM_COMERS_LATE)
    {
        late = ngx_adm_zone_alloc_locked(zone, sizeof(ngx_adm_comers_late_t));
    }

    if (late) {
        all->late_bytes += sizeof(ngx_adm_comers_late_t);
        return late;
    }

    if (!ngx_queue_empty(&all->lates)) {
        q = ngx_queue_last(&all->lates);
        late = ngx_queue_data(q, ngx_adm_comers_late_t, queue);

        if (ngx_adm_since(late->heard) <= NGX_ADM_COMERS_TURN / 1000) {
            late = NULL;
        }
    }

    if (late == NULL && cn->asks.root != cn->asks.sentinel) {

        node = cn->asks.root;

        while (node->right != cn->asks.sentinel) {
            node = node->right;
        }

        if (node->key > (ngx_rbtree_key_t) position) {
            late = (ngx_adm_comers_late_t *) node;
        }
    }

    if (late == NULL) {
        return NULL;
    }

    ngx_queue_remove(&late->queue);
    ngx_rbtree_delete(late->granted ? &late->of->turns : &late->of->asks,
                      &late->node);
    ngx_memzero(late, sizeof(ngx_adm_comers_late_t));

    return late;
}


static void
ngx_adm_comers_late_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_late_t *late)
{
    ngx_queue_remove(&late->queue);
    ngx_rbtree_delete(late->granted ? &late->of->turns : &late->of->asks,
                      &late->node);
    ngx_slab_free_locked(zone->shpool, late);

    ngx_adm_comers(zone)->late_bytes -= sizeof(ngx_adm_comers_late_t);
}


void
ngx_adm_comers_late_drop_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn)
{
    ngx_uint_t     i;
    ngx_rbtree_t  *trees[2];

    trees[0] = &cn->asks;
    trees[1] = &cn->turns;

    for (i = 0; i < 2; i++) {
        while (trees[i]->root != trees[i]->sentinel) {
            ngx_adm_comers_late_free_locked(zone, (ngx_adm_comers_late_t *)
                                                  trees[i]->root);
        }
    }
}


/*
 * takes the lowest that ask, in their order; forgets those who stopped asking
 */

void
ngx_adm_comers_asks_locked(ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn,
    ngx_adm_comers_t *comers)
{
    u_char                 *p;
    ngx_uint_t              n, gone;
    ngx_rbtree_node_t      *node, *next;
    ngx_adm_comers_late_t  *late;

    static u_char  asks[NGX_ADM_COMERS_ASKS * (NGX_INT64_LEN + 1)];

    comers->asks.data = asks;
    p = asks;
    gone = 0;

    if (cn->asks.root == cn->asks.sentinel) {
        return;
    }

    node = ngx_rbtree_min(cn->asks.root, cn->asks.sentinel);

    for (n = 0;
         node && n < NGX_ADM_COMERS_ASKS && gone < 4 * NGX_ADM_COMERS_ASKS;
         node = next)
    {
        next = ngx_rbtree_next(&cn->asks, node);
        late = (ngx_adm_comers_late_t *) node;

        if (ngx_adm_since(late->heard) > NGX_ADM_COMERS_STALE) {
            ngx_adm_comers_late_free_locked(zone, late);
            gone++;
            continue;
        }

        p = ngx_sprintf(p, n++ ? " %L" : "%L", (int64_t) node->key);
    }

    comers->asks.len = p - asks;
}
