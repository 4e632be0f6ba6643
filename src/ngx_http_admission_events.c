
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of events, in shared memory: one node an event, found by
 * its id, in a queue by use and, while there is work to do in it, in the
 * queue of the schedule.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_MARK_INTERVAL  60000     /* ms */
#define NGX_HTTP_ADMISSION_EVICT_TRIES    8
#define NGX_HTTP_ADMISSION_LOOKS          1024      /* at events, a turn */


static void ngx_http_admission_event_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_uint_t ngx_http_admission_event_copy_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *oen);
static ngx_uint_t ngx_http_admission_event_evict_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *keep);
static void ngx_http_admission_event_work_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);


void
ngx_http_admission_events_init(ngx_http_admission_shctx_t *sh)
{
    ngx_rbtree_init(&sh->events, &sh->events_sentinel,
                    ngx_http_admission_event_insert);
    ngx_queue_init(&sh->lru);
    ngx_queue_init(&sh->work);
    ngx_queue_init(&sh->rooms);
}


/*
 * First what is never forgotten; then the oldest first, so that the latest
 * used end up as such.
 */

void
ngx_http_admission_events_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_uint_t                        all;
    ngx_queue_t                      *q;
    ngx_http_admission_event_node_t  *oen;

    all = 1;

    ngx_http_admission_zone_lock(ozone);

    for (q = ngx_queue_head(&ozone->sh->rooms);
         q != ngx_queue_sentinel(&ozone->sh->rooms);
         q = ngx_queue_next(q))
    {
        oen = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        if (!ngx_http_admission_event_copy_locked(zone, oen)) {
            ngx_http_admission_revoked_unheard_locked(zone);
            all = 0;
            break;
        }
    }

    for (q = ngx_queue_last(&ozone->sh->lru);
         q != ngx_queue_sentinel(&ozone->sh->lru);
         q = ngx_queue_prev(q))
    {
        oen = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        if (!ngx_http_admission_event_copy_locked(zone, oen)) {
            ngx_http_admission_revoked_unheard_locked(zone);
            break;
        }
    }

    if (all) {
        zone->sh->listed = ozone->sh->listed;
        zone->sh->listing = ozone->sh->listing;
    }

    ngx_http_admission_zone_unlock(ozone);
}


/* returns 0 if there was no room for it */

static ngx_uint_t
ngx_http_admission_event_copy_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *oen)
{
    ngx_str_t                         id;
    ngx_http_admission_event_node_t  *en;

    id.len = oen->len;
    id.data = oen->id;

    en = ngx_http_admission_event_make_locked(zone, &id);

    if (en == NULL) {
        return 0;
    }

    en->marked = oen->marked;
    en->mark = oen->mark;
    en->restore = oen->restore;
    en->restoring = oen->restoring;
    en->synced = oen->synced;
    en->heard = oen->heard;
    en->state = oen->state;

    ngx_http_admission_sum_locked(zone, en, 1);
    ngx_http_admission_name_inherit_locked(zone, en, oen);

    if (oen->working) {
        ngx_http_admission_event_work_locked(zone, en);
    }

    if (oen->room) {
        ngx_http_admission_room_copy_locked(zone, en, oen);
    }

    return en->active == oen->active;
}


void
ngx_http_admission_event_get(ngx_str_t *id,
    ngx_http_admission_event_state_t *state)
{
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en) {
        *state = en->state;
        state->restore = ((ngx_msec_int_t) (en->restore - ngx_current_msec) > 0)
                         ? en->restore - ngx_current_msec : 0;

    } else {
        ngx_memzero(state, sizeof(ngx_http_admission_event_state_t));
        state->threshold = -1;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_uint_t
ngx_http_admission_event_note(ngx_str_t *id,
    ngx_http_admission_event_state_t *state, ngx_uint_t work,
    ngx_http_admission_heard_t *heard, ngx_http_admission_tally_t *tally)
{
    int64_t                           clear, since;
    ngx_uint_t                        news;
    ngx_http_admission_event_node_t  *en;

    news = 0;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_make_locked(ngx_http_admission_zone, id);

    if (en) {

        clear = ngx_max(en->state.clear, state->clear);
        since = en->state.revoked;

        /* what the host knew when it asked may have been forgotten since */

        if (heard && heard->life == ngx_http_admission_zone->sh->life) {
            since = ngx_max(since, state->revoked);
            en->heard |= heard->all;
        }

        /* answers of several workers may be noted out of order */

        if (state->stored >= en->state.stored) {

            /* the waiting room's scripts may have told of a later one */

            state->clock = ngx_max(state->clock, en->state.clock);

            if (state->epoch != en->state.epoch) {

                /* with the data went what told other hosts of the event */

                en->marked = 0;

                if (en->state.epoch) {
                    news |= NGX_HTTP_ADMISSION_NEWS_LOST;
                }
            }

            if (en->restoring != (state->restore != 0)) {
                en->restoring = (state->restore != 0);
                news |= en->restoring ? NGX_HTTP_ADMISSION_NEWS_RESTORE
                                      : NGX_HTTP_ADMISSION_NEWS_RESTORED;
            }

            ngx_http_admission_sum_locked(ngx_http_admission_zone, en, -1);

            en->state = *state;
            en->restore = ngx_current_msec + state->restore;
            en->synced = ngx_current_msec;

            ngx_http_admission_sum_locked(ngx_http_admission_zone, en, 1);
            ngx_http_admission_name_locked(ngx_http_admission_zone, en);
        }

        en->state.clear = clear;
        en->state.revoked = since;

        if (work) {
            ngx_http_admission_event_work_locked(ngx_http_admission_zone, en);
        }
    }

    if (tally) {
        ngx_http_admission_tally_locked(ngx_http_admission_zone, en, tally);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return news;
}


ngx_uint_t
ngx_http_admission_event_mark(ngx_str_t *id)
{
    ngx_uint_t                        due;
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_make_locked(ngx_http_admission_zone, id);

    due = (en == NULL
           || !en->marked
           || (ngx_msec_int_t) (ngx_current_msec - en->mark)
              >= NGX_HTTP_ADMISSION_MARK_INTERVAL);

    if (en && due) {
        en->marked = 1;
        en->mark = ngx_current_msec;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return due;
}


void
ngx_http_admission_event_unmark(ngx_str_t *id)
{
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en) {
        en->marked = 0;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_int_t
ngx_http_admission_events_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max, ngx_msec_t delay)
{
    u_char                           *p;
    ngx_int_t                         rc;
    ngx_str_t                        *id;
    ngx_uint_t                        n;
    ngx_queue_t                      *q, *first;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    rc = NGX_OK;
    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    /*
     * Whatever has been looked at goes to the end: with many events each has
     * its turn, and a turn takes a bounded time.
     */

    first = NULL;

    for (n = 0; n < NGX_HTTP_ADMISSION_LOOKS && ids->nelts < max; n++) {
        q = ngx_queue_head(&sh->work);

        if (q == ngx_queue_sentinel(&sh->work) || q == first) {
            break;
        }

        if (first == NULL) {
            first = q;
        }

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&sh->work, q);

        en = ngx_queue_data(q, ngx_http_admission_event_node_t, work);

        if (en->state.size + en->state.active > 0
            && ngx_http_admission_zone_since(en->synced)
               > NGX_HTTP_ADMISSION_STALE)
        {
            sh->stale = ngx_current_msec;
        }

        if ((ngx_msec_int_t) (en->due - ngx_current_msec) > 0) {
            continue;
        }

        id = ngx_array_push(ids);
        p = ngx_pnalloc(pool, en->len);

        if (id == NULL || p == NULL) {
            rc = NGX_ERROR;
            break;
        }

        ngx_memcpy(p, en->id, en->len);
        id->len = en->len;
        id->data = p;

        en->due = ngx_current_msec + delay;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return rc;
}


ngx_uint_t
ngx_http_admission_event_next(ngx_str_t *id, ngx_uint_t work,
    ngx_msec_t delay, ngx_msec_t keep)
{
    ngx_uint_t                        idle;
    ngx_http_admission_event_node_t  *en;

    idle = 0;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en && en->working) {
        en->due = ngx_current_msec + delay;

        if (work) {
            en->busy = ngx_current_msec;

        } else if ((ngx_msec_int_t) (ngx_current_msec - en->busy)
                   > (ngx_msec_int_t) keep)
        {
            ngx_queue_remove(&en->work);
            en->working = 0;
            idle = 1;
        }
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return idle;
}


void
ngx_http_admission_event_empty(ngx_str_t *id)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, id);

    if (en) {
        ngx_http_admission_sum_locked(zone, en, -1);

        en->state.size = 0;
        en->state.active = 0;

        ngx_http_admission_sum_locked(zone, en, 1);
    }

    ngx_http_admission_zone_unlock(zone);
}


ngx_int_t
ngx_http_admission_event_watch(ngx_str_t *id)
{
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_make_locked(ngx_http_admission_zone, id);

    /* being told of again is no sign of work */

    if (en && !en->working) {
        ngx_http_admission_event_work_locked(ngx_http_admission_zone, en);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return en ? NGX_OK : NGX_DECLINED;
}


ngx_http_admission_event_node_t *
ngx_http_admission_event_lookup_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *id)
{
    uint32_t                          hash;
    ngx_int_t                         rc;
    ngx_rbtree_node_t                *node, *sentinel;
    ngx_http_admission_event_node_t  *en;

    hash = ngx_murmur_hash2(id->data, id->len);

    node = zone->sh->events.root;
    sentinel = zone->sh->events.sentinel;

    while (node != sentinel) {

        if (hash != node->key) {
            node = (hash < node->key) ? node->left : node->right;
            continue;
        }

        en = (ngx_http_admission_event_node_t *) &node->color;

        rc = ngx_memn2cmp(id->data, en->id, id->len, (size_t) en->len);

        if (rc == 0) {
            return en;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


/* finds or makes the node of an event, and makes it the latest used */

ngx_http_admission_event_node_t *
ngx_http_admission_event_make_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *id)
{
    size_t                            size;
    ngx_rbtree_node_t                *node;
    ngx_http_admission_event_node_t  *en;

    en = ngx_http_admission_event_lookup_locked(zone, id);

    if (en) {
        if (!en->active) {
            ngx_queue_remove(&en->lru);
            ngx_queue_insert_head(&zone->sh->lru, &en->lru);
        }

        return en;
    }

    size = offsetof(ngx_rbtree_node_t, color)
           + offsetof(ngx_http_admission_event_node_t, id) + id->len;

    node = ngx_http_admission_event_alloc_locked(zone, size, NULL);
    if (node == NULL) {
        ngx_http_admission_revoked_unheard_locked(zone);
        return NULL;
    }

    node->key = ngx_murmur_hash2(id->data, id->len);

    en = (ngx_http_admission_event_node_t *) &node->color;
    en->len = (u_char) id->len;
    en->state.threshold = -1;
    ngx_memcpy(en->id, id->data, id->len);

    zone->sh->sums.events++;

    ngx_rbtree_insert(&zone->sh->events, node);
    ngx_queue_insert_head(&zone->sh->lru, &en->lru);

    return en;
}


void *
ngx_http_admission_event_alloc_locked(ngx_http_admission_zone_t *zone,
    size_t size, ngx_http_admission_event_node_t *en)
{
    void  *p;

    do {
        p = ngx_slab_calloc_locked(zone->shpool, size);

    } while (p == NULL
             && (ngx_http_admission_windows_yield_locked(zone)
                 || ngx_http_admission_event_evict_locked(zone, en)));

    return p;
}


/*
 * Forgets the event unused for longest, one without work if there is such
 * among the last few.  Returns 0 if there was none but the one to keep.
 */

static ngx_uint_t
ngx_http_admission_event_evict_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *keep)
{
    ngx_uint_t                        i;
    ngx_queue_t                      *q, *last;
    ngx_rbtree_node_t                *node;
    ngx_http_admission_event_node_t  *en, *idle;

    last = ngx_queue_last(&zone->sh->lru);

    if (last == ngx_queue_sentinel(&zone->sh->lru)) {
        return 0;
    }

    en = ngx_queue_data(last, ngx_http_admission_event_node_t, lru);

    /* it is the latest used, so that it is the last if there is no other */

    if (en == keep) {
        return 0;
    }

    for (q = last, i = 0;
         q != ngx_queue_sentinel(&zone->sh->lru)
         && i < NGX_HTTP_ADMISSION_EVICT_TRIES;
         q = ngx_queue_prev(q), i++)
    {
        idle = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        if (!idle->working && idle != keep) {
            en = idle;
            break;
        }
    }

    if (en->working) {
        ngx_queue_remove(&en->work);
    }

    ngx_queue_remove(&en->lru);

    ngx_http_admission_sum_locked(zone, en, -1);
    zone->sh->sums.events--;
    zone->sh->forgotten++;

    ngx_http_admission_revoked_unheard_locked(zone);
    ngx_http_admission_unname_locked(zone, en);
    ngx_http_admission_room_free_locked(zone, en);

    node = (ngx_rbtree_node_t *)
               ((u_char *) en - offsetof(ngx_rbtree_node_t, color));

    ngx_rbtree_delete(&zone->sh->events, node);
    ngx_slab_free_locked(zone->shpool, node);

    return 1;
}


static void
ngx_http_admission_event_work_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    en->busy = ngx_current_msec;

    if (en->working) {
        return;
    }

    en->working = 1;
    en->due = ngx_current_msec;

    ngx_queue_insert_tail(&zone->sh->work, &en->work);
}


static void
ngx_http_admission_event_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel)
{
    ngx_rbtree_node_t                **p;
    ngx_http_admission_event_node_t   *en, *ent;

    for ( ;; ) {

        if (node->key != temp->key) {
            p = (node->key < temp->key) ? &temp->left : &temp->right;

        } else {
            en = (ngx_http_admission_event_node_t *) &node->color;
            ent = (ngx_http_admission_event_node_t *) &temp->color;

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
