
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of events, in shared memory: one node an event, found by
 * its id, in a queue by use and, while there is work to do in it, in a tree
 * of the schedule, by the time of the next step.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_MARK_INTERVAL  60000     /* ms */
#define NGX_HTTP_ADMISSION_EVICT_TRIES    8
#define NGX_HTTP_ADMISSION_MS_AHEAD       60000     /* ms by which clocks of
                                                       workers may differ */
#define NGX_HTTP_ADMISSION_WATCH          500       /* ms, where others' news
                                                       is not relied on */
#define NGX_HTTP_ADMISSION_TELL           1000      /* ms between two times that
                                                       other hosts are told */
#define NGX_HTTP_ADMISSION_TELL_WAITING   10000     /* where somebody waits they
                                                       look by themselves */
#define NGX_HTTP_ADMISSION_SLOT_UNKNOWN   60000     /* ms, of a slot whose end
                                                       no answer told */


static void ngx_http_admission_event_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_uint_t ngx_http_admission_event_copy_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *oen);
static ngx_http_admission_event_node_t *ngx_http_admission_event_add_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *id, void *memory);
static size_t ngx_http_admission_event_size(ngx_str_t *id);
static void ngx_http_admission_event_free_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);
static ngx_uint_t ngx_http_admission_event_evict_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *keep);
static void ngx_http_admission_event_work_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    ngx_uint_t urgent, ngx_msec_t delay);
static ngx_msec_t ngx_http_admission_event_tell_in(
    ngx_http_admission_event_node_t *en);
static void ngx_http_admission_event_put_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    ngx_uint_t urgent, ngx_msec_t due);
static void ngx_http_admission_event_take_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);
static ngx_http_admission_event_node_t *
    ngx_http_admission_event_due_locked(ngx_http_admission_zone_t *zone,
    ngx_uint_t tree);
static ngx_int_t ngx_http_admission_events_due_locked(ngx_pool_t *pool,
    ngx_array_t *ids, ngx_uint_t tree, ngx_uint_t max, ngx_msec_t delay);


void
ngx_http_admission_events_init(ngx_http_admission_shctx_t *sh)
{
    ngx_uint_t  i;

    ngx_rbtree_init(&sh->events, &sh->events_sentinel,
                    ngx_http_admission_event_insert);
    ngx_queue_init(&sh->lru);
    ngx_queue_init(&sh->rooms);

    for (i = 0; i < NGX_HTTP_ADMISSION_TREES; i++) {
        ngx_rbtree_init(&sh->work[i], &sh->work_sentinel,
                        ngx_rbtree_insert_timer_value);
    }

    sh->idle = 0;
    sh->recall = 0;
    sh->nwork = 0;
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

    en->busy = oen->busy;
    en->news = oen->news;

    if (oen->working) {
        ngx_http_admission_event_put_locked(zone, en,
                                            oen->tree
                                            == NGX_HTTP_ADMISSION_URGENT,
                                            ngx_current_msec);
    }

    if (oen->room) {
        ngx_http_admission_room_copy_locked(zone, en, oen);
    }

    return en->active == oen->active;
}


ngx_msec_t
ngx_http_admission_event_restore_locked(ngx_http_admission_event_node_t *en)
{
    int32_t  ms;

    ms = (int32_t) (en->restore - (uint32_t) ngx_current_msec);

    return (en->restoring && ms > 0) ? (ngx_msec_t) ms : 0;
}


/* a worker's clock may be behind that of the one that noted the time */

ngx_msec_t
ngx_http_admission_ms_since(uint32_t time)
{
    uint32_t  ms;

    ms = (uint32_t) ngx_current_msec - time;

    return (ms > (uint32_t) -NGX_HTTP_ADMISSION_MS_AHEAD) ? 0 : ms;
}


void
ngx_http_admission_event_get(ngx_str_t *id,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now)
{
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en) {
        *state = en->state;
        now->restore = ngx_http_admission_event_restore_locked(en);
        now->idle = ngx_http_admission_ms_since(en->busy);
        now->named = ngx_http_admission_event_is_set_locked(en);

    } else {
        ngx_memzero(state, sizeof(ngx_http_admission_event_state_t));
        ngx_memzero(now, sizeof(ngx_http_admission_event_now_t));
        state->threshold = -1;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_uint_t
ngx_http_admission_event_note(ngx_str_t *id,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now, ngx_uint_t work,
    ngx_http_admission_heard_t *heard, ngx_http_admission_tally_t *tally)
{
    int64_t                           clear, since;
    ngx_uint_t                        news;
    ngx_http_admission_event_node_t  *en;

    news = 0;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    /* what there is nothing to be known of is not worth a node */

    if (state->epoch || state->threshold >= 0) {
        en = ngx_http_admission_event_make_locked(ngx_http_admission_zone, id);

    } else {
        en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone,
                                                    id);
    }

    if (en && state->epoch == 0) {

        /* there is no data; all that may be is a threshold that was set */

        if (en->state.epoch == 0) {
            en->state.threshold = state->threshold;
            ngx_http_admission_unlisted_locked(ngx_http_admission_zone, en);
        }

    } else if (en) {

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

            if (en->restoring != (now->restore != 0)) {
                en->restoring = (now->restore != 0);
                news |= en->restoring ? NGX_HTTP_ADMISSION_NEWS_RESTORE
                                      : NGX_HTTP_ADMISSION_NEWS_RESTORED;
            }

            ngx_http_admission_sum_locked(ngx_http_admission_zone, en, -1);

            en->state = *state;
            en->restore = (uint32_t) (ngx_current_msec + now->restore);
            en->synced = (uint32_t) ngx_current_msec;

            ngx_http_admission_sum_locked(ngx_http_admission_zone, en, 1);
            ngx_http_admission_unlisted_locked(ngx_http_admission_zone, en);
            ngx_http_admission_name_locked(ngx_http_admission_zone, en);
        }

        en->state.clear = clear;
        en->state.revoked = since;

        if (tally) {
            en->untold = 1;
        }

        if (en->untold && ngx_http_admission_event_tell_in(en) == 0) {
            en->untold = 0;
            en->told = (uint32_t) ngx_current_msec | 1;
            news |= NGX_HTTP_ADMISSION_NEWS_TELL;
        }

        if (work) {
            ngx_http_admission_event_work_locked(ngx_http_admission_zone, en,
                                                 state->size > 0,
                                                 now->ends);
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
           || ngx_http_admission_ms_since(en->mark)
              >= NGX_HTTP_ADMISSION_MARK_INTERVAL);

    if (en && due) {
        en->marked = 1;
        en->mark = (uint32_t) ngx_current_msec;
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


/*
 * Where people wait comes first, but the others have a share of their own: who
 * fills one of them does not stop the other.
 */

ngx_int_t
ngx_http_admission_events_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t max, ngx_msec_t delay)
{
    ngx_int_t                    rc;
    ngx_uint_t                   i;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    if (sh->recall && sh->work[!sh->idle].root == &sh->work_sentinel) {
        sh->idle = !sh->idle;
        sh->recall = 0;
    }

    rc = ngx_http_admission_events_due_locked(pool, ids,
                                              NGX_HTTP_ADMISSION_URGENT,
                                              max - max / 4, delay);

    for (i = 0; i < NGX_HTTP_ADMISSION_TREES && rc == NGX_OK; i++) {
        rc = ngx_http_admission_events_due_locked(pool, ids, i, max, delay);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return rc;
}


static ngx_int_t
ngx_http_admission_events_due_locked(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t tree, ngx_uint_t max, ngx_msec_t delay)
{
    u_char                           *p;
    ngx_str_t                        *id;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    while (ids->nelts < max) {
        en = ngx_http_admission_event_due_locked(zone, tree);

        if (en == NULL) {
            break;
        }

        if (!en->owing) {
            en->owing = 1;
            en->owed = (uint32_t) ngx_current_msec;
        }

        if (en->state.size + en->state.active > 0
            && ngx_http_admission_ms_since(en->owed)
               > NGX_HTTP_ADMISSION_STALE
            && ngx_http_admission_ms_since(en->synced)
               > NGX_HTTP_ADMISSION_STALE)
        {
            zone->sh->stale = ngx_current_msec;
        }

        ngx_http_admission_event_put_locked(zone, en,
                                          tree == NGX_HTTP_ADMISSION_URGENT,
                                          ngx_current_msec + delay);

        id = ngx_array_push(ids);
        p = ngx_pnalloc(pool, en->len);

        if (id == NULL || p == NULL) {
            return NGX_ERROR;
        }

        ngx_memcpy(p, en->id, en->len);
        id->len = en->len;
        id->data = p;
    }

    return NGX_OK;
}


/* the first of a tree that is due; what is recalled is, whatever its time */

static ngx_http_admission_event_node_t *
ngx_http_admission_event_due_locked(ngx_http_admission_zone_t *zone,
    ngx_uint_t tree)
{
    ngx_rbtree_t                *work;
    ngx_rbtree_node_t           *node;
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;
    work = &sh->work[tree];

    if (work->root == &sh->work_sentinel) {
        return NULL;
    }

    node = ngx_rbtree_min(work->root, &sh->work_sentinel);

    if (tree != (ngx_uint_t) !sh->idle
        && (ngx_msec_int_t) (node->key - ngx_current_msec) > 0)
    {
        return NULL;
    }

    return (ngx_http_admission_event_node_t *)
               ((u_char *) node
                - offsetof(ngx_http_admission_event_node_t, work));
}


ngx_uint_t
ngx_http_admission_event_next(ngx_str_t *id,
    ngx_http_admission_stepped_t *stepped)
{
    ngx_msec_t                        delay, idle;
    ngx_uint_t                        done;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    done = 0;
    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, id);

    if (en == NULL || !en->working) {
        ngx_http_admission_zone_unlock(zone);
        return 0;
    }

    delay = stepped->delay;

    if (stepped->answered) {
        en->owing = 0;
    }

    if (stepped->work) {
        en->busy = (uint32_t) ngx_current_msec;

    } else {
        idle = ngx_http_admission_ms_since(en->busy);
        done = (idle >= stepped->keep);
        delay = ngx_min(delay, stepped->keep - idle);
    }

    if (en->untold) {
        delay = ngx_min(delay, ngx_max(ngx_http_admission_event_tell_in(en),
                                       NGX_HTTP_ADMISSION_TELL / 2));
    }

    if (done) {
        ngx_http_admission_event_take_locked(zone, en);

        if (stepped->brief) {

            /*
             * Redis forgets it, too, and that is no loss of data.  Nobody is
             * left with a place or a token that still counts.
             */

            en->state.epoch = 0;
            en->state.clear = ngx_max(en->state.clear, en->state.clock);

            if (en->state.clock == 0 && en->room == NULL) {
                /* there never was anybody in it */
                ngx_http_admission_event_free_locked(zone, en);
            }
        }

    } else {
        ngx_http_admission_event_put_locked(zone, en, stepped->urgent,
                                            ngx_current_msec + delay);
    }

    ngx_http_admission_zone_unlock(zone);

    return done;
}


ngx_int_t
ngx_http_admission_event_news(ngx_str_t *id, int64_t time)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_make_locked(zone, id);

    if (en == NULL || en->news == (uint32_t) time) {
        ngx_http_admission_zone_unlock(zone);
        return en ? NGX_DECLINED : NGX_AGAIN;
    }

    en->news = (uint32_t) time;

    if (!en->working) {
        en->busy = (uint32_t) ngx_current_msec;
    }

    ngx_http_admission_event_put_locked(zone, en, 1, ngx_current_msec);

    ngx_http_admission_zone_unlock(zone);

    return NGX_OK;
}


/* no tree is walked for it: that of the idle ones becomes the recalled one */

void
ngx_http_admission_events_recall(void)
{
    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    ngx_http_admission_zone->sh->recall = 1;

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


void
ngx_http_admission_watchful(ngx_msec_t ms)
{
    ngx_msec_t  until;

    if (!ngx_http_admission_is_watchful()) {
        ngx_http_admission_events_recall();
    }

    until = ngx_current_msec + ms;

    ngx_http_admission_zone->sh->watchful = until ? until : 1;
}


ngx_uint_t
ngx_http_admission_is_watchful(void)
{
    ngx_msec_t  until;

    until = ngx_http_admission_zone->sh->watchful;

    return until && (ngx_msec_int_t) (until - ngx_current_msec) > 0;
}


void
ngx_http_admission_event_doubt(ngx_str_t *id)
{
    ngx_http_admission_event_node_t  *en;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en && en->state.epoch) {
        en->untold = 1;
        en->told = 0;

        ngx_http_admission_event_soon_locked(ngx_http_admission_zone, en,
                                             NGX_HTTP_ADMISSION_TELL);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


void
ngx_http_admission_event_unwatched(void)
{
    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    ngx_http_admission_revoked_unheard_locked(ngx_http_admission_zone);

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_uint_t
ngx_http_admission_events_working(void)
{
    return ngx_http_admission_zone->sh->nwork;
}


ngx_msec_t
ngx_http_admission_schedule_lag(void)
{
    ngx_msec_t                   lag;
    ngx_uint_t                   i;
    ngx_rbtree_node_t           *node;
    ngx_http_admission_shctx_t  *sh;

    lag = 0;
    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    for (i = 0; i < NGX_HTTP_ADMISSION_TREES; i++) {

        if (sh->work[i].root == &sh->work_sentinel) {
            continue;
        }

        node = ngx_rbtree_min(sh->work[i].root, &sh->work_sentinel);
        lag = ngx_max(lag, ngx_http_admission_zone_since(node->key));
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return lag;
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
        ngx_http_admission_unlisted_locked(zone, en);
    }

    ngx_http_admission_zone_unlock(zone);
}


ngx_int_t
ngx_http_admission_event_watch(ngx_str_t *id, ngx_uint_t named)
{
    void                             *node;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    if (named) {
        en = ngx_http_admission_event_make_locked(zone, id);

    } else {

        /* no other is forgotten for one that anybody may have made up */

        en = ngx_http_admission_event_lookup_locked(zone, id);

        if (en == NULL) {
            node = ngx_slab_calloc_locked(zone->shpool,
                                          ngx_http_admission_event_size(id));
            if (node) {
                en = ngx_http_admission_event_add_locked(zone, id, node);
            }
        }
    }

    /* being told of again is no sign of work */

    if (en && !en->working) {
        en->busy = (uint32_t) ngx_current_msec;
        ngx_http_admission_event_put_locked(ngx_http_admission_zone, en, 0,
                                            ngx_current_msec);
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
    void                             *node;
    ngx_http_admission_event_node_t  *en;

    en = ngx_http_admission_event_lookup_locked(zone, id);

    if (en) {
        if (!en->active) {
            ngx_queue_remove(&en->lru);
            ngx_queue_insert_head(&zone->sh->lru, &en->lru);
        }

        return en;
    }

    node = ngx_http_admission_event_alloc_locked(zone,
                                     ngx_http_admission_event_size(id), NULL);
    if (node == NULL) {
        ngx_http_admission_revoked_unheard_locked(zone);
        return NULL;
    }

    return ngx_http_admission_event_add_locked(zone, id, node);
}


static size_t
ngx_http_admission_event_size(ngx_str_t *id)
{
    return offsetof(ngx_rbtree_node_t, color)
           + offsetof(ngx_http_admission_event_node_t, id) + id->len;
}


static ngx_http_admission_event_node_t *
ngx_http_admission_event_add_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *id, void *memory)
{
    ngx_rbtree_node_t                *node = memory;

    ngx_http_admission_event_node_t  *en;

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

    zone->sh->forgotten++;

    ngx_http_admission_revoked_unheard_locked(zone);
    ngx_http_admission_event_free_locked(zone, en);

    return 1;
}


/* not one with an active room */

static void
ngx_http_admission_event_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_rbtree_node_t  *node;

    ngx_http_admission_event_take_locked(zone, en);

    ngx_queue_remove(&en->lru);

    ngx_http_admission_sum_locked(zone, en, -1);
    zone->sh->sums.events--;

    ngx_http_admission_unname_locked(zone, en);
    ngx_http_admission_unlisted_free_locked(zone, en);
    ngx_http_admission_room_free_locked(zone, en);

    node = (ngx_rbtree_node_t *)
               ((u_char *) en - offsetof(ngx_rbtree_node_t, color));

    ngx_rbtree_delete(&zone->sh->events, node);
    ngx_slab_free_locked(zone->shpool, node);
}


/* ms until other hosts may be told of the event again */

static ngx_msec_t
ngx_http_admission_event_tell_in(ngx_http_admission_event_node_t *en)
{
    ngx_msec_t  since, pause;

    if (en->told == 0) {
        return 0;
    }

    pause = en->state.size ? NGX_HTTP_ADMISSION_TELL_WAITING
                           : NGX_HTTP_ADMISSION_TELL;
    since = ngx_http_admission_ms_since(en->told);

    return since < pause ? pause - since : 0;
}


void
ngx_http_admission_event_soon_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_msec_t delay)
{
    ngx_msec_t  due;

    due = ngx_current_msec + delay;

    if (en->working && (ngx_msec_int_t) (en->work.key - due) <= 0) {
        return;
    }

    if (!en->working) {
        en->busy = (uint32_t) ngx_current_msec;
    }

    ngx_http_admission_event_put_locked(zone, en,
                                        en->working
                                        && en->tree
                                           == NGX_HTTP_ADMISSION_URGENT,
                                        due);
}


/* it has users: somebody waits, or the next slot ends in delay ms */

static void
ngx_http_admission_event_work_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_uint_t urgent, ngx_msec_t delay)
{
    ngx_msec_t  due;

    en->busy = (uint32_t) ngx_current_msec;

    if (urgent || !en->heard) {
        /* of an event that is new here it is not known who was put out */
        delay = 0;

    } else if (ngx_http_admission_is_watchful()) {
        delay = NGX_HTTP_ADMISSION_WATCH;

    } else if (delay == 0) {
        delay = NGX_HTTP_ADMISSION_SLOT_UNKNOWN;
    }

    if (en->untold) {
        delay = ngx_min(delay, ngx_http_admission_event_tell_in(en));
    }

    due = ngx_current_msec + delay;

    if (en->working
        && (en->tree == NGX_HTTP_ADMISSION_URGENT || !urgent)
        && (ngx_msec_int_t) (due - en->work.key) >= 0)
    {
        return;
    }

    if (en->working && urgent && en->tree == NGX_HTTP_ADMISSION_URGENT) {
        /* a step is out, or comes soon: none comes earlier than that */
        return;
    }

    ngx_http_admission_event_put_locked(zone, en, urgent, due);
}


static void
ngx_http_admission_event_put_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_uint_t urgent, ngx_msec_t due)
{
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;

    ngx_http_admission_event_take_locked(zone, en);

    en->working = 1;
    en->tree = (u_char) (urgent ? NGX_HTTP_ADMISSION_URGENT : sh->idle);
    en->work.key = due;

    ngx_rbtree_insert(&sh->work[en->tree], &en->work);
    sh->nwork++;
}


static void
ngx_http_admission_event_take_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    if (!en->working) {
        return;
    }

    ngx_rbtree_delete(&zone->sh->work[en->tree], &en->work);
    zone->sh->nwork--;

    en->working = 0;
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
