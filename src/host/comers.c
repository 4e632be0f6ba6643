
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who came, a bit a number, in the zone.  What Redis was told is forgotten
 * first.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "comers_node.h"


#define NGX_ADM_COMERS_BITS    512       /* see lua/come_lib.lua */
#define NGX_ADM_COMERS_BYTES   (NGX_ADM_COMERS_BITS / 8)
#define NGX_ADM_COMERS_FIELDS  128       /* that a step tells */
#define NGX_ADM_COMERS_AGAIN   32        /* that a step tells again */
#define NGX_ADM_COMERS_OUT     5000      /* ms, for an answer */

/* a field as a step tells it */
#define NGX_ADM_COMERS_TEXT    (NGX_INT64_LEN + 1 + NGX_ADM_COMERS_BYTES)

#define NGX_ADM_COMERS_SHARE   16        /* of the zone, one part, at most */


/* 512 numbers, in 256 bytes, as the slab allocator has them */
typedef struct {
    ngx_rbtree_node_t           node;    /* key: the first number / 512, + 1 */
    ngx_queue_t                 queue;   /* latest used first */
    u_char                      came[NGX_ADM_COMERS_BYTES];
    u_char                      untold[NGX_ADM_COMERS_BYTES];
    u_char                      telling[NGX_ADM_COMERS_BYTES];
} ngx_adm_comers_field_t;


#define ngx_adm_comers_is(bits, i)  ((bits)[(i) / 8] & (1 << (i) % 8))


static void ngx_adm_comers_empty(ngx_adm_zone_t *zone);
static void ngx_adm_comers_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_comers_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_comers_copy_field(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *oen, ngx_adm_comers_node_t *ocn,
    ngx_adm_comers_field_t *ofield);
static ngx_adm_comers_node_t *ngx_adm_comers_make_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, int64_t activation);
static void ngx_adm_comers_drop_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn);
static void ngx_adm_comers_again_locked(ngx_adm_comers_node_t *cn,
    ngx_adm_comers_t *comers);
static ngx_adm_comers_field_t *ngx_adm_comers_field_locked(
    ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn, int64_t field);


ngx_adm_zone_part_t  ngx_adm_comers_part = {
    .size = sizeof(ngx_adm_comers_all_t),
    .empty = ngx_adm_comers_empty,
    .copy = ngx_adm_comers_copy,
    .event_free = ngx_adm_comers_free_locked };


static void
ngx_adm_comers_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_comers_all_t  *all;

    all = ngx_adm_comers(zone);

    all->bytes = 0;
    all->late_bytes = 0;

    ngx_queue_init(&all->lates);
    ngx_rbtree_init(&all->tree, &all->sentinel, ngx_rbtree_insert_value);
}


void
ngx_adm_comers_came(ngx_str_t *event, int64_t activation, int64_t position)
{
    ngx_uint_t               i;
    ngx_adm_zone_t          *zone;
    ngx_adm_room_node_t     *rn;
    ngx_adm_comers_node_t   *cn;
    ngx_adm_comers_field_t  *field;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_get_locked(zone, event, activation);

    if (cn == NULL) {
        rn = ngx_adm_comers_alone_locked(zone, event, activation);

        if (rn) {
            rn->more++;
        }

        goto unlock;
    }

    field = ngx_adm_comers_field_locked(zone, cn,
                                        position / NGX_ADM_COMERS_BITS);
    if (field == NULL) {
        cn->more++;
        goto unlock;
    }

    i = (ngx_uint_t) (position % NGX_ADM_COMERS_BITS);

    if (!ngx_adm_comers_is(field->came, i)) {
        field->came[i / 8] |= (u_char) (1 << i % 8);
        field->untold[i / 8] |= (u_char) (1 << i % 8);

        ngx_queue_remove(&field->queue);
        ngx_queue_insert_tail(&cn->dirty, &field->queue);
    }

unlock:

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_comers_take(ngx_str_t *event, int64_t activation,
    ngx_adm_comers_t *comers)
{
    u_char                  *p;
    ngx_uint_t               i, n;
    ngx_queue_t             *q;
    ngx_adm_zone_t          *zone;
    ngx_adm_room_node_t     *rn;
    ngx_adm_comers_node_t   *cn;
    ngx_adm_comers_field_t  *field;

    static u_char  come[NGX_ADM_COMERS_FIELDS * NGX_ADM_COMERS_TEXT];

    ngx_memzero(comers, sizeof(ngx_adm_comers_t));

    comers->come.data = come;
    p = come;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_of_locked(zone,
                                  ngx_adm_event_lookup_locked(zone, event));

    if (cn == NULL || cn->activation != activation) {
        rn = ngx_adm_comers_alone_locked(zone, event, activation);

        if (rn) {
            ngx_adm_comers_ask_alone_locked(rn, comers);

            comers->more = rn->more;
            rn->more = 0;
        }

        goto unlock;
    }

    ngx_adm_comers_asks_locked(zone, cn, comers);

    if (cn->out && ngx_adm_since(cn->taken) < NGX_ADM_COMERS_OUT) {
        goto unlock;
    }

    /* tells again what the last step took, if nothing was heard of that */

    for (n = 0; n < NGX_ADM_COMERS_FIELDS; n++) {

        if (!ngx_queue_empty(&cn->sent)) {
            q = ngx_queue_head(&cn->sent);

        } else if (!ngx_queue_empty(&cn->dirty)) {
            q = ngx_queue_head(&cn->dirty);

        } else {
            break;
        }

        field = ngx_queue_data(q, ngx_adm_comers_field_t, queue);

        for (i = 0; i < NGX_ADM_COMERS_BYTES; i++) {
            field->telling[i] |= field->untold[i];
            field->untold[i] = 0;
        }

        p = ngx_sprintf(p, "%L:", (int64_t) field->node.key - 1);
        p = ngx_cpymem(p, field->telling, NGX_ADM_COMERS_BYTES);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&cn->clean, q);
    }

    if (cn->again) {
        ngx_adm_comers_again_locked(cn, comers);
    }

    /* back into the queue, which they were taken out of to look through it */

    for ( /* void */ ; n > 0; n--) {
        q = ngx_queue_last(&cn->clean);
        ngx_queue_remove(q);
        ngx_queue_insert_head(&cn->sent, q);
    }

    cn->telling += cn->more;
    cn->more = 0;
    cn->taken = ngx_current_msec;
    cn->out = 1;

    comers->more = cn->telling;

unlock:

    ngx_adm_zone_unlock(zone);

    comers->come.len = p - come;
}


/* adds more fields of what was told before Redis lost it */

static void
ngx_adm_comers_again_locked(ngx_adm_comers_node_t *cn,
    ngx_adm_comers_t *comers)
{
    u_char                  *p;
    ngx_uint_t               i, n;
    ngx_rbtree_node_t       *node;
    ngx_adm_comers_field_t  *field;

    static u_char  had[NGX_ADM_COMERS_AGAIN * NGX_ADM_COMERS_TEXT];

    comers->had.data = had;
    p = had;

    cn->before = cn->above;

    for (n = 0; n < NGX_ADM_COMERS_AGAIN; n++) {

        node = ngx_adm_event_after_key_locked(&cn->fields, cn->above);

        if (node == NULL) {
            cn->again = 0;
            break;
        }

        field = (ngx_adm_comers_field_t *) node;
        cn->above = node->key;

        p = ngx_sprintf(p, "%L:", (int64_t) node->key - 1);

        for (i = 0; i < NGX_ADM_COMERS_BYTES; i++) {
            *p++ = (u_char) (field->came[i]
                             & ~(field->untold[i] | field->telling[i]));
        }
    }

    comers->had.len = p - had;
}


void
ngx_adm_comers_since(ngx_str_t *event, int64_t activation, int64_t since)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_comers_node_t  *cn;

    if (since == 0) {
        return;
    }

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_of_locked(zone,
                                  ngx_adm_event_lookup_locked(zone, event));

    if (cn && cn->activation == activation && cn->since != since) {

        if (cn->since) {
            cn->again = 1;
            cn->above = 0;
            cn->before = 0;
        }

        cn->since = since;
    }

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_comers_told(ngx_str_t *event, ngx_int_t rc)
{
    ngx_queue_t             *q;
    ngx_adm_zone_t          *zone;
    ngx_adm_comers_node_t   *cn;
    ngx_adm_comers_field_t  *field;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    cn = ngx_adm_comers_of_locked(zone,
                                  ngx_adm_event_lookup_locked(zone, event));

    if (cn == NULL || !cn->out) {
        goto unlock;
    }

    cn->out = 0;

    /* fields may be told twice, numbers that did not fit into any may not */

    cn->telling = 0;

    if (rc != NGX_OK) {

        if (cn->above != cn->before) {
            cn->above = cn->before;
            cn->again = 1;
        }

        goto unlock;
    }

    cn->before = cn->above;

    while (!ngx_queue_empty(&cn->sent)) {
        q = ngx_queue_head(&cn->sent);
        field = ngx_queue_data(q, ngx_adm_comers_field_t, queue);

        ngx_memzero(field->telling, NGX_ADM_COMERS_BYTES);

        ngx_queue_remove(q);
        ngx_queue_insert_head(&cn->clean, q);
    }

unlock:

    ngx_adm_zone_unlock(zone);
}


ngx_adm_comers_node_t *
ngx_adm_comers_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return en ? (ngx_adm_comers_node_t *)
                    ngx_adm_event_find_locked(&ngx_adm_comers(zone)->tree, en)
              : NULL;
}


ngx_adm_comers_node_t *
ngx_adm_comers_get_locked(ngx_adm_zone_t *zone, ngx_str_t *event,
    int64_t activation)
{
    ngx_adm_event_node_t   *en;
    ngx_adm_comers_node_t  *cn;

    en = ngx_adm_room_node_locked(zone, event);

    if (en == NULL || en->room->room.activation != activation) {
        return NULL;
    }

    cn = ngx_adm_comers_of_locked(zone, en);

    if (cn == NULL) {
        return ngx_adm_comers_make_locked(zone, en, activation);
    }

    if (cn->activation != activation) {
        ngx_adm_comers_drop_locked(zone, cn);
        cn->activation = activation;
    }

    return cn;
}


ngx_adm_room_node_t *
ngx_adm_comers_alone_locked(ngx_adm_zone_t *zone, ngx_str_t *event,
    int64_t activation)
{
    ngx_adm_event_node_t  *en;

    en = ngx_adm_room_node_locked(zone, event);

    return (en && en->room->room.activation == activation) ? en->room : NULL;
}


static ngx_adm_comers_node_t *
ngx_adm_comers_make_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    int64_t activation)
{
    ngx_adm_comers_node_t  *cn;

    cn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_comers_node_t), en);
    if (cn == NULL) {
        return NULL;
    }

    cn->activation = activation;

    ngx_queue_init(&cn->dirty);
    ngx_queue_init(&cn->sent);
    ngx_queue_init(&cn->clean);
    ngx_rbtree_init(&cn->fields, &cn->fields_end, ngx_rbtree_insert_value);
    ngx_rbtree_init(&cn->asks, &cn->asks_end, ngx_rbtree_insert_value);
    ngx_rbtree_init(&cn->turns, &cn->turns_end, ngx_rbtree_insert_value);

    ngx_adm_event_keep_locked(&ngx_adm_comers(zone)->tree, &cn->node, en);

    return cn;
}


/* frees what the node has, not the node */

static void
ngx_adm_comers_drop_locked(ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn)
{
    ngx_adm_comers_field_t  *field;

    while (cn->fields.root != &cn->fields_end) {
        field = (ngx_adm_comers_field_t *) cn->fields.root;

        ngx_queue_remove(&field->queue);
        ngx_rbtree_delete(&cn->fields, &field->node);
        ngx_slab_free_locked(zone->shpool, field);

        ngx_adm_comers(zone)->bytes -= sizeof(ngx_adm_comers_field_t);
    }

    ngx_adm_comers_late_drop_locked(zone, cn);

    cn->more = 0;
    cn->telling = 0;
    cn->out = 0;
    cn->since = 0;
    cn->again = 0;
    cn->above = 0;
    cn->before = 0;
    cn->ngaps = 0;
}


static void
ngx_adm_comers_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_comers_node_t  *cn;

    cn = ngx_adm_comers_of_locked(zone, en);

    if (cn) {
        ngx_adm_comers_drop_locked(zone, cn);
        ngx_rbtree_delete(&ngx_adm_comers(zone)->tree, &cn->node);
        ngx_slab_free_locked(zone->shpool, cn);
    }
}


/*
 * Those who ask need no copy, as they ask again.  While others have the lock
 * any event or field may go or come, so the next is always the first of a
 * later key.
 */

static void
ngx_adm_comers_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_uint_t              step;
    ngx_rbtree_key_t        event, field;
    ngx_rbtree_node_t      *node;
    ngx_adm_event_node_t   *oen;
    ngx_adm_comers_node_t  *ocn;

    step = 0;
    event = 0;

    ngx_adm_zone_lock(ozone);

    for ( ;; ) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_comers(ozone)->tree,
                                              event);
        if (node == NULL) {
            break;
        }

        event = node->key;
        oen = (ngx_adm_event_node_t *) (uintptr_t) event;

        for (field = 0; /* void */ ; /* void */ ) {

            ocn = ngx_adm_comers_of_locked(ozone, oen);

            node = ocn ? ngx_adm_event_after_key_locked(&ocn->fields, field)
                       : NULL;
            if (node == NULL) {
                break;
            }

            ngx_adm_comers_copy_field(zone, oen, ocn,
                                      (ngx_adm_comers_field_t *) node);
            field = node->key;

            (void) ngx_adm_zone_step_locked(ozone, &step);
        }
    }

    ngx_adm_zone_unlock(ozone);
}


static void
ngx_adm_comers_copy_field(ngx_adm_zone_t *zone, ngx_adm_event_node_t *oen,
    ngx_adm_comers_node_t *ocn, ngx_adm_comers_field_t *ofield)
{
    ngx_str_t                id;
    ngx_uint_t               i;
    ngx_adm_comers_node_t   *cn;
    ngx_adm_comers_field_t  *field;

    id.len = oen->len;
    id.data = oen->id;

    cn = ngx_adm_comers_get_locked(zone, &id, ocn->activation);

    if (cn == NULL) {
        return;
    }

    cn->since = ocn->since;

    field = ngx_adm_comers_field_locked(zone, cn,
                                        (int64_t) ofield->node.key - 1);
    if (field == NULL) {
        return;
    }

    for (i = 0; i < NGX_ADM_COMERS_BYTES; i++) {
        field->came[i] |= ofield->came[i];
        field->untold[i] |= ofield->untold[i] | ofield->telling[i];
    }

    ngx_queue_remove(&field->queue);
    ngx_queue_insert_tail(&cn->dirty, &field->queue);
}


ngx_rbtree_node_t *
ngx_adm_comers_find(ngx_rbtree_t *tree, int64_t key)
{
    ngx_rbtree_key_t    k;
    ngx_rbtree_node_t  *node;

    k = (ngx_rbtree_key_t) key;

    for (node = tree->root; node != tree->sentinel; /* void */ ) {

        if (k == node->key) {
            return node;
        }

        node = (k < node->key) ? node->left : node->right;
    }

    return NULL;
}


ngx_uint_t
ngx_adm_comers_known(ngx_adm_comers_node_t *cn, int64_t position)
{
    ngx_adm_comers_field_t  *field;

    field = (ngx_adm_comers_field_t *)
                ngx_adm_comers_find(&cn->fields,
                                    position / NGX_ADM_COMERS_BITS + 1);

    return field && ngx_adm_comers_is(field->came,
                                      position % NGX_ADM_COMERS_BITS);
}


/* found or made; if need be, in place of the one told longest ago */

static ngx_adm_comers_field_t *
ngx_adm_comers_field_locked(ngx_adm_zone_t *zone, ngx_adm_comers_node_t *cn,
    int64_t number)
{
    ngx_queue_t             *q;
    ngx_adm_comers_all_t    *all;
    ngx_adm_comers_field_t  *field;

    field = (ngx_adm_comers_field_t *) ngx_adm_comers_find(&cn->fields,
                                                           number + 1);
    if (field) {
        return field;
    }

    all = ngx_adm_comers(zone);

    if (all->bytes + sizeof(ngx_adm_comers_field_t)
        <= zone->sh->size / NGX_ADM_COMERS_SHARE)
    {
        field = ngx_adm_zone_alloc_locked(zone,
                                          sizeof(ngx_adm_comers_field_t));
    }

    if (field) {
        all->bytes += sizeof(ngx_adm_comers_field_t);

    } else {

        if (ngx_queue_empty(&cn->clean)) {
            return NULL;
        }

        q = ngx_queue_last(&cn->clean);
        ngx_queue_remove(q);

        field = ngx_queue_data(q, ngx_adm_comers_field_t, queue);

        ngx_rbtree_delete(&cn->fields, &field->node);
        ngx_memzero(field, sizeof(ngx_adm_comers_field_t));
    }

    field->node.key = (ngx_rbtree_key_t) number + 1;

    ngx_rbtree_insert(&cn->fields, &field->node);
    ngx_queue_insert_head(&cn->clean, &field->queue);

    return field;
}
