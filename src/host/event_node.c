
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The nodes of events: how they are found by their ids, made, copied and
 * forgotten, with what other parts of the zone have of them.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "event_node.h"


#define NGX_ADM_EVICT_TRIES  8


static void ngx_adm_events_empty(ngx_adm_zone_t *zone);
static size_t ngx_adm_event_size(ngx_str_t *id);
static ngx_adm_event_node_t *ngx_adm_event_new_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id, ngx_rbtree_node_t *node);
static ngx_uint_t ngx_adm_event_evict_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *keep, ngx_uint_t idle_only);
static void ngx_adm_event_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);


ngx_adm_zone_part_t  ngx_adm_events_part = {
    .size = sizeof(ngx_adm_events_t),
    .empty = ngx_adm_events_empty,
    .copy = ngx_adm_events_copy };


static void
ngx_adm_events_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_events_t  *events;

    events = ngx_adm_events(zone);

    ngx_rbtree_init(&events->tree, &events->sentinel, ngx_adm_event_insert);
    ngx_queue_init(&events->lru);
    ngx_queue_init(&events->rooms);
    ngx_memzero(&events->sums, sizeof(ngx_adm_sums_t));

    events->stale = 0;
    events->forgotten = 0;
}


ngx_adm_event_node_t *
ngx_adm_event_lookup_locked(ngx_adm_zone_t *zone, ngx_str_t *id)
{
    uint32_t               hash;
    ngx_int_t              rc;
    ngx_rbtree_node_t     *node, *sentinel;
    ngx_adm_event_node_t  *en;

    hash = ngx_murmur_hash2(id->data, id->len);

    node = ngx_adm_events(zone)->tree.root;
    sentinel = &ngx_adm_events(zone)->sentinel;

    while (node != sentinel) {

        if (hash != node->key) {
            node = (hash < node->key) ? node->left : node->right;
            continue;
        }

        en = ngx_adm_event_of(node);

        rc = ngx_memn2cmp(id->data, en->id, id->len, (size_t) en->len);

        if (rc == 0) {
            return en;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


ngx_rbtree_node_t *
ngx_adm_event_after_locked(ngx_adm_zone_t *zone, ngx_str_t *id)
{
    uint32_t               hash;
    ngx_rbtree_t          *tree;
    ngx_rbtree_node_t     *node, *found;
    ngx_adm_event_node_t  *en;

    tree = &ngx_adm_events(zone)->tree;
    hash = id ? ngx_murmur_hash2(id->data, id->len) : 0;

    found = NULL;
    node = tree->root;

    while (node != tree->sentinel) {

        en = ngx_adm_event_of(node);

        if (id == NULL
            || (hash != node->key
                ? hash < node->key
                : ngx_memn2cmp(id->data, en->id, id->len, en->len) < 0))
        {
            found = node;
            node = node->left;

        } else {
            node = node->right;
        }
    }

    return found;
}


/* the event's node, if it has a room */

ngx_adm_event_node_t *
ngx_adm_room_node_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    ngx_adm_event_node_t  *en;

    en = ngx_adm_event_lookup_locked(zone, event);

    return (en && en->room) ? en : NULL;
}


ngx_adm_event_node_t *
ngx_adm_event_make_locked(ngx_adm_zone_t *zone, ngx_str_t *id)
{
    void                  *node;
    ngx_queue_t           *lru;
    ngx_adm_event_node_t  *en;

    en = ngx_adm_event_lookup_locked(zone, id);

    if (en) {
        if (!en->active) {
            lru = &ngx_adm_events(zone)->lru;

            ngx_queue_remove(&en->lru);
            ngx_queue_insert_head(lru, &en->lru);
        }

        return en;
    }

    node = ngx_adm_event_alloc_locked(zone, ngx_adm_event_size(id), NULL);
    if (node == NULL) {
        ngx_adm_event_lost_locked(zone);
        return NULL;
    }

    return ngx_adm_event_new_locked(zone, id, node);
}


ngx_adm_event_node_t *
ngx_adm_event_add_locked(ngx_adm_zone_t *zone, ngx_str_t *id,
    ngx_uint_t named)
{
    void                  *node;
    ngx_adm_event_node_t  *en;

    en = ngx_adm_event_lookup_locked(zone, id);

    if (en) {
        return en;
    }

    do {
        node = ngx_slab_calloc_locked(zone->shpool, ngx_adm_event_size(id));

    } while (node == NULL
             && named && ngx_adm_event_evict_locked(zone, NULL, 1));

    return node ? ngx_adm_event_new_locked(zone, id, node) : NULL;
}


static size_t
ngx_adm_event_size(ngx_str_t *id)
{
    return offsetof(ngx_rbtree_node_t, color)
           + offsetof(ngx_adm_event_node_t, id) + id->len;
}


static ngx_adm_event_node_t *
ngx_adm_event_new_locked(ngx_adm_zone_t *zone, ngx_str_t *id,
    ngx_rbtree_node_t *node)
{
    ngx_adm_events_t      *events;
    ngx_adm_event_node_t  *en;

    events = ngx_adm_events(zone);

    node->key = ngx_murmur_hash2(id->data, id->len);

    en = ngx_adm_event_of(node);
    en->len = (u_char) id->len;
    en->state.threshold = -1;
    en->state.slots = -1;
    en->state.sold = -1;
    ngx_memcpy(en->id, id->data, id->len);

    events->sums.events++;

    ngx_rbtree_insert(&events->tree, node);
    ngx_queue_insert_head(&events->lru, &en->lru);

    return en;
}


void *
ngx_adm_event_alloc_locked(ngx_adm_zone_t *zone, size_t size,
    ngx_adm_event_node_t *en)
{
    void  *p;

    do {
        p = ngx_adm_zone_alloc_locked(zone, size);

    } while (p == NULL && ngx_adm_event_evict_locked(zone, en, 0));

    return p;
}


/*
 * Forgets the event unused for longest: one without work if there is such
 * among the last few; with idle_only no other.  Returns 0 if there was none to
 * forget, or only the one to keep.
 */

static ngx_uint_t
ngx_adm_event_evict_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *keep,
    ngx_uint_t idle_only)
{
    ngx_uint_t             i;
    ngx_queue_t           *q, *last;
    ngx_adm_events_t      *events;
    ngx_adm_event_node_t  *en, *idle;

    events = ngx_adm_events(zone);

    if (ngx_queue_empty(&events->lru)) {
        return 0;
    }

    last = ngx_queue_last(&events->lru);
    en = ngx_adm_event_in(last);

    /* "keep" is the latest used: if it comes up there is no other */

    if (en == keep) {
        return 0;
    }

    for (q = last, i = 0;
         q != ngx_queue_sentinel(&events->lru)
         && i < NGX_ADM_EVICT_TRIES;
         q = ngx_queue_prev(q), i++)
    {
        idle = ngx_adm_event_in(q);

        if (!idle->working && idle != keep) {
            en = idle;
            break;
        }
    }

    if (en->working) {

        if (idle_only) {
            return 0;
        }

        events->forgotten++;
    }

    ngx_adm_count(NGX_ADM_COUNT_EVENTS_FORGOTTEN);

    ngx_adm_event_lost_locked(zone);
    ngx_adm_event_free_locked(zone, en);

    return 1;
}


void
ngx_adm_event_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_rbtree_node_t     *node;
    ngx_adm_events_t      *events;
    ngx_adm_zone_part_t  **part;

    events = ngx_adm_events(zone);

    ngx_queue_remove(&en->lru);

    ngx_adm_sum_locked(zone, en, -1);
    events->sums.events--;

    for (part = ngx_adm_zone_parts; *part; part++) {
        if ((*part)->event_free) {
            (*part)->event_free(zone, en);
        }
    }

    node = (ngx_rbtree_node_t *) ((u_char *) en - offsetof(ngx_rbtree_node_t,
                                                           color));

    ngx_rbtree_delete(&events->tree, node);
    ngx_slab_free_locked(zone->shpool, node);
}


ngx_uint_t
ngx_adm_events_forgotten(void)
{
    ngx_uint_t  n;

    ngx_adm_zone_lock(ngx_adm_zone);

    n = ngx_adm_events(ngx_adm_zone)->forgotten;
    ngx_adm_events(ngx_adm_zone)->forgotten = 0;

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}


ngx_rbtree_node_t *
ngx_adm_event_find_locked(ngx_rbtree_t *tree, ngx_adm_event_node_t *en)
{
    ngx_rbtree_key_t    key;
    ngx_rbtree_node_t  *node;

    key = (ngx_rbtree_key_t) (uintptr_t) en;

    for (node = tree->root; node != tree->sentinel; /* void */ ) {

        if (node->key == key) {
            return node;
        }

        node = (key < node->key) ? node->left : node->right;
    }

    return NULL;
}


/* the first node with a later key */

ngx_rbtree_node_t *
ngx_adm_event_after_key_locked(ngx_rbtree_t *tree, ngx_rbtree_key_t key)
{
    ngx_rbtree_node_t  *node, *found;

    found = NULL;

    for (node = tree->root; node != tree->sentinel; /* void */ ) {

        if (node->key > key) {
            found = node;
            node = node->left;

        } else {
            node = node->right;
        }
    }

    return found;
}


void
ngx_adm_event_keep_locked(ngx_rbtree_t *tree, ngx_rbtree_node_t *node,
    ngx_adm_event_node_t *en)
{
    node->key = (ngx_rbtree_key_t) (uintptr_t) en;

    ngx_rbtree_insert(tree, node);
}


void
ngx_adm_event_lost_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_zone_part_t  **part;

    for (part = ngx_adm_zone_parts; *part; part++) {
        if ((*part)->event_lost) {
            (*part)->event_lost(zone);
        }
    }
}


void
ngx_adm_sum_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_int_t sign)
{
    ngx_adm_sums_t  *sums;

    sums = &ngx_adm_events(zone)->sums;

    sums->waiting += sign * en->state.size;
    sums->active += sign * en->state.active;
    sums->unsold += en->unsold ? sign : 0;

    if (en->active) {
        sums->rooms += sign;
        sums->before += sign * ngx_adm_before(en);
    }
}


int64_t
ngx_adm_before(ngx_adm_event_node_t *en)
{
    ngx_adm_room_t  *room;

    room = &en->room->room;

    return ngx_max(room->next - room->serving, 0);
}


ngx_uint_t
ngx_adm_event_is_set_locked(ngx_adm_event_node_t *en)
{
    return en->state.threshold >= 0
           || en->state.slots >= 0
           || en->noticed
           || en->sale
           || en->held
           || (en->room && en->room->room.activation);
}


void
ngx_adm_event_mend_locked(ngx_adm_event_node_t *en)
{
    int64_t                 now;
    ngx_adm_event_state_t  *state;

    state = &en->state;

    if (!ngx_adm_is_far_ahead(ngx_max(state->clock, state->clear))) {
        return;
    }

    now = ngx_adm_now_us();

    state->clock = 0;
    state->stored = 0;
    state->revoked = 0;
    state->clear = ngx_min(state->clear, now);
}


ngx_msec_t
ngx_adm_event_restore_locked(ngx_adm_event_node_t *en)
{
    int32_t  ms;

    ms = (int32_t) (en->restore - (uint32_t) ngx_current_msec);

    return (en->restoring && ms > 0) ? (ngx_msec_t) ms : 0;
}


ngx_int_t
ngx_adm_event_push_locked(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_adm_event_node_t *en)
{
    ngx_str_t  *id;

    id = ngx_array_push(ids);
    if (id == NULL) {
        return NGX_ERROR;
    }

    id->len = en->len;
    id->data = ngx_pnalloc(pool, en->len);
    if (id->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(id->data, en->id, en->len);

    return NGX_OK;
}


static void
ngx_adm_event_insert(ngx_rbtree_node_t *temp, ngx_rbtree_node_t *node,
    ngx_rbtree_node_t *sentinel)
{
    ngx_rbtree_node_t     **p;
    ngx_adm_event_node_t   *en, *ent;

    for ( ;; ) {

        if (node->key != temp->key) {
            p = (node->key < temp->key) ? &temp->left : &temp->right;

        } else {
            en = ngx_adm_event_of(node);
            ent = ngx_adm_event_of(temp);

            p = (ngx_memn2cmp(en->id, ent->id, en->len, ent->len) < 0)
                ? &temp->left : &temp->right;
        }

        if (*p == sentinel) {
            break;
        }

        temp = *p;
    }

    *p = node;
    node->parent = temp;
    node->left = sentinel;
    node->right = sentinel;
    ngx_rbt_red(node);
}
