
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_MARK_INTERVAL  60000


typedef struct {
    u_char                      color;
    u_char                      len;
    u_char                      working;    /* in the queue of the schedule */
    u_char                      marked;

    ngx_queue_t                 lru;
    ngx_queue_t                 work;

    ngx_msec_t                  mark;       /* when last marked */
    ngx_msec_t                  due;        /* when the next step is */
    ngx_msec_t                  busy;       /* when there last was work */

    ngx_http_admission_event_state_t  state;

    u_char                      id[1];
} ngx_http_admission_event_node_t;


typedef struct {
    ngx_rbtree_t                rbtree;
    ngx_rbtree_node_t           sentinel;
    ngx_queue_t                 lru;        /* of all events, latest first */
    ngx_queue_t                 work;       /* of those to be stepped */

    ngx_atomic_t                offset;     /* Redis's time less the host's,
                                               ms */

    ngx_pid_t                   holder;     /* of the lease */
    ngx_msec_t                  beat;       /* its last */
} ngx_http_admission_shctx_t;


typedef struct {
    ngx_http_admission_shctx_t *sh;
    ngx_slab_pool_t            *shpool;
} ngx_http_admission_zone_t;


static ngx_int_t ngx_http_admission_zone_init(ngx_shm_zone_t *shm_zone,
    void *data);
static void ngx_http_admission_event_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_http_admission_event_node_t *ngx_http_admission_event_lookup_locked(
    ngx_str_t *id, uint32_t hash);
static ngx_http_admission_event_node_t *ngx_http_admission_event_make_locked(
    ngx_str_t *id);
static void ngx_http_admission_event_forget_locked(
    ngx_http_admission_event_node_t *en);
static void ngx_http_admission_event_work_locked(
    ngx_http_admission_event_node_t *en);


/* the zone of this process's configuration; set once, before any request */
static ngx_http_admission_zone_t  *ngx_http_admission_zone;


ngx_shm_zone_t *
ngx_http_admission_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    void *tag)
{
    ngx_shm_zone_t             *shm_zone;
    ngx_http_admission_zone_t  *zone;

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    shm_zone = ngx_shared_memory_add(cf, name, size, tag);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_http_admission_zone_init;
    shm_zone->data = zone;

    return shm_zone;
}


void
ngx_http_admission_zone_use(ngx_shm_zone_t *shm_zone)
{
    ngx_http_admission_zone = shm_zone ? shm_zone->data : NULL;
}


static ngx_int_t
ngx_http_admission_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_admission_zone_t  *ozone = data;

    size_t                       len;
    ngx_http_admission_zone_t   *zone;
    ngx_http_admission_shctx_t  *sh;

    zone = shm_zone->data;
    zone->shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (ozone) {
        zone->sh = ozone->sh;
        return NGX_OK;
    }

    if (shm_zone->shm.exists) {
        zone->sh = zone->shpool->data;
        return NGX_OK;
    }

    sh = ngx_slab_calloc(zone->shpool, sizeof(ngx_http_admission_shctx_t));
    if (sh == NULL) {
        return NGX_ERROR;
    }

    ngx_rbtree_init(&sh->rbtree, &sh->sentinel,
                    ngx_http_admission_event_insert);
    ngx_queue_init(&sh->lru);
    ngx_queue_init(&sh->work);

    len = sizeof(" in admission zone \"\"") + shm_zone->shm.name.len;

    zone->shpool->log_ctx = ngx_slab_alloc(zone->shpool, len);
    if (zone->shpool->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(zone->shpool->log_ctx, " in admission zone \"%V\"%Z",
                &shm_zone->shm.name);

    /* a full zone forgets events: that is no news for every allocation */

    zone->shpool->log_nomem = 0;
    zone->shpool->data = sh;
    zone->sh = sh;

    return NGX_OK;
}


int64_t
ngx_http_admission_now_us(void)
{
    int64_t      now;
    ngx_time_t  *tp;

    tp = ngx_timeofday();
    now = (int64_t) tp->sec * 1000 + tp->msec;

    if (ngx_http_admission_zone) {
        now += (ngx_atomic_int_t) ngx_http_admission_zone->sh->offset;
    }

    return now * 1000;
}


time_t
ngx_http_admission_now(void)
{
    return (time_t) (ngx_http_admission_now_us() / 1000000);
}


/*
 * Redis looked at its clock at some time between the call and the answer, so
 * the offset lies between two bounds.  One that agrees with them is kept:
 * it is not shaken by answers that took their time.
 */

void
ngx_http_admission_time_observed(int64_t redis, ngx_msec_t elapsed)
{
    int64_t            host;
    ngx_time_t        *tp;
    ngx_atomic_int_t   low, high, offset;

    if (ngx_http_admission_zone == NULL) {
        return;
    }

    tp = ngx_timeofday();
    host = (int64_t) tp->sec * 1000 + tp->msec;

    low = (ngx_atomic_int_t) (redis / 1000 - host);
    high = low + (ngx_atomic_int_t) elapsed;

    offset = (ngx_atomic_int_t) ngx_http_admission_zone->sh->offset;

    if (offset < low) {
        offset = low;

    } else if (offset > high) {
        offset = high;

    } else {
        return;
    }

    ngx_http_admission_zone->sh->offset = (ngx_atomic_t) offset;
}


ngx_uint_t
ngx_http_admission_lease_take(void)
{
    ngx_uint_t                   held;
    ngx_slab_pool_t             *shpool;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    held = (sh->holder == ngx_pid
            || sh->holder == 0
            || ngx_current_msec - sh->beat > NGX_HTTP_ADMISSION_LEASE);

    if (held) {
        sh->holder = ngx_pid;
        sh->beat = ngx_current_msec;
    }

    ngx_shmtx_unlock(&shpool->mutex);

    return held;
}


void
ngx_http_admission_lease_leave(void)
{
    ngx_slab_pool_t             *shpool;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    if (sh->holder == ngx_pid) {
        sh->holder = 0;
    }

    ngx_shmtx_unlock(&shpool->mutex);
}


void
ngx_http_admission_event_get(ngx_str_t *id,
    ngx_http_admission_event_state_t *state)
{
    uint32_t                          hash;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    hash = ngx_crc32_short(id->data, id->len);
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_lookup_locked(id, hash);

    if (en) {
        *state = en->state;

    } else {
        ngx_memzero(state, sizeof(ngx_http_admission_event_state_t));
        state->threshold = -1;
    }

    ngx_shmtx_unlock(&shpool->mutex);
}


ngx_int_t
ngx_http_admission_event_note(ngx_str_t *id,
    ngx_http_admission_event_state_t *state, ngx_uint_t work)
{
    ngx_int_t                         rc;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    rc = NGX_DECLINED;
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_make_locked(id);

    if (en) {

        /* answers of several workers may be noted out of order */

        if (state->clock < en->state.clock) {
            state->clock = en->state.clock;
        }

        en->state = *state;

        if (work) {
            ngx_http_admission_event_work_locked(en);
        }

        rc = NGX_OK;
    }

    ngx_shmtx_unlock(&shpool->mutex);

    return rc;
}


ngx_uint_t
ngx_http_admission_event_mark(ngx_str_t *id)
{
    ngx_uint_t                        due;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_make_locked(id);

    due = (en == NULL
           || !en->marked
           || ngx_current_msec - en->mark >= NGX_HTTP_ADMISSION_MARK_INTERVAL);

    if (en && due) {
        en->marked = 1;
        en->mark = ngx_current_msec;
    }

    ngx_shmtx_unlock(&shpool->mutex);

    return due;
}


void
ngx_http_admission_event_unmark(ngx_str_t *id)
{
    uint32_t                          hash;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    hash = ngx_crc32_short(id->data, id->len);
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_lookup_locked(id, hash);

    if (en) {
        en->marked = 0;
    }

    ngx_shmtx_unlock(&shpool->mutex);
}


ngx_int_t
ngx_http_admission_events_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max, ngx_msec_t delay)
{
    u_char                           *p;
    ngx_int_t                         rc;
    ngx_str_t                        *id;
    ngx_queue_t                      *q;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    rc = NGX_OK;
    sh = ngx_http_admission_zone->sh;
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    for (q = ngx_queue_head(&sh->work);
         q != ngx_queue_sentinel(&sh->work) && ids->nelts < max;
         q = ngx_queue_next(q))
    {
        en = ngx_queue_data(q, ngx_http_admission_event_node_t, work);

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

    ngx_shmtx_unlock(&shpool->mutex);

    return rc;
}


ngx_uint_t
ngx_http_admission_event_next(ngx_str_t *id, ngx_uint_t work,
    ngx_msec_t delay)
{
    uint32_t                          hash;
    ngx_uint_t                        idle;
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    idle = 0;
    hash = ngx_crc32_short(id->data, id->len);
    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_lookup_locked(id, hash);

    if (en && en->working) {
        en->due = ngx_current_msec + delay;

        if (work) {
            en->busy = ngx_current_msec;

        } else if (ngx_current_msec - en->busy > NGX_HTTP_ADMISSION_IDLE) {
            ngx_queue_remove(&en->work);
            en->working = 0;
            idle = 1;
        }
    }

    ngx_shmtx_unlock(&shpool->mutex);

    return idle;
}


ngx_int_t
ngx_http_admission_event_watch(ngx_str_t *id)
{
    ngx_slab_pool_t                  *shpool;
    ngx_http_admission_event_node_t  *en;

    shpool = ngx_http_admission_zone->shpool;

    ngx_shmtx_lock(&shpool->mutex);

    en = ngx_http_admission_event_make_locked(id);

    /* being told of again is no sign of work */

    if (en && !en->working) {
        ngx_http_admission_event_work_locked(en);
    }

    ngx_shmtx_unlock(&shpool->mutex);

    return en ? NGX_OK : NGX_DECLINED;
}


static ngx_http_admission_event_node_t *
ngx_http_admission_event_lookup_locked(ngx_str_t *id, uint32_t hash)
{
    ngx_int_t                         rc;
    ngx_rbtree_node_t                *node, *sentinel;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    sh = ngx_http_admission_zone->sh;

    node = sh->rbtree.root;
    sentinel = sh->rbtree.sentinel;

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

static ngx_http_admission_event_node_t *
ngx_http_admission_event_make_locked(ngx_str_t *id)
{
    size_t                            size;
    uint32_t                          hash;
    ngx_queue_t                      *q;
    ngx_rbtree_node_t                *node;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    sh = ngx_http_admission_zone->sh;
    hash = ngx_crc32_short(id->data, id->len);

    en = ngx_http_admission_event_lookup_locked(id, hash);

    if (en) {
        ngx_queue_remove(&en->lru);
        ngx_queue_insert_head(&sh->lru, &en->lru);

        return en;
    }

    size = offsetof(ngx_rbtree_node_t, color)
           + offsetof(ngx_http_admission_event_node_t, id) + id->len;

    node = ngx_slab_calloc_locked(ngx_http_admission_zone->shpool, size);

    if (node == NULL) {

        if (ngx_queue_empty(&sh->lru)) {
            return NULL;
        }

        q = ngx_queue_last(&sh->lru);

        ngx_http_admission_event_forget_locked(
            ngx_queue_data(q, ngx_http_admission_event_node_t, lru));

        node = ngx_slab_calloc_locked(ngx_http_admission_zone->shpool, size);

        if (node == NULL) {
            return NULL;
        }
    }

    node->key = hash;

    en = (ngx_http_admission_event_node_t *) &node->color;
    en->len = (u_char) id->len;
    en->state.threshold = -1;
    ngx_memcpy(en->id, id->data, id->len);

    ngx_rbtree_insert(&sh->rbtree, node);
    ngx_queue_insert_head(&sh->lru, &en->lru);

    return en;
}


static void
ngx_http_admission_event_forget_locked(ngx_http_admission_event_node_t *en)
{
    ngx_rbtree_node_t           *node;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    if (en->working) {
        ngx_queue_remove(&en->work);
    }

    ngx_queue_remove(&en->lru);

    node = (ngx_rbtree_node_t *)
               ((u_char *) en - offsetof(ngx_rbtree_node_t, color));

    ngx_rbtree_delete(&sh->rbtree, node);
    ngx_slab_free_locked(ngx_http_admission_zone->shpool, node);
}


static void
ngx_http_admission_event_work_locked(ngx_http_admission_event_node_t *en)
{
    en->busy = ngx_current_msec;

    if (en->working) {
        return;
    }

    en->working = 1;
    en->due = ngx_current_msec;

    ngx_queue_insert_tail(&ngx_http_admission_zone->sh->work, &en->work);
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
