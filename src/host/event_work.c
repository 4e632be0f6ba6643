
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Events that there is work to do in are in trees of the schedule, by the time
 * of their next step: one tree for events in which people wait, one for
 * others.  A recall makes the latter tree the third, whose events are all due.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_work.h"


#define NGX_ADM_MARK_INTERVAL  60000     /* ms */
#define NGX_ADM_WATCH          500       /* ms, where news from other hosts
                                            is not relied on */
#define NGX_ADM_WATCHFUL       60000     /* ms for which it is not, after a
                                            sign of that */
#define NGX_ADM_TELL           1000      /* ms between two times that other
                                            hosts are told */
#define NGX_ADM_TELL_WAITING   10000     /* the same where somebody waits, as
                                            they look by themselves */
#define NGX_ADM_END_UNKNOWN    60000     /* ms, if no answer told how long
                                            users are in */

/* trees: this one, and two which in turn are idle and recalled */
#define NGX_ADM_URGENT  2
#define NGX_ADM_TREES   3


#define ngx_adm_work(zone)                                                    \
    ((ngx_adm_work_t *)                                                       \
        ngx_adm_zone_data(zone, &ngx_adm_work_part))


typedef struct {
    ngx_rbtree_t                trees[NGX_ADM_TREES];
    ngx_rbtree_node_t           sentinel;   /* for all the trees */
    ngx_uint_t                  idle;       /* the tree of events in which
                                               nobody waits; the last one's
                                               are recalled: all due */
    ngx_uint_t                  recall;     /* bool: recall once more after
                                               it */
    ngx_uint_t                  n;          /* events in all trees */
    ngx_msec_t                  watchful;   /* until when news from others is
                                               not relied on; 0: it is */
} ngx_adm_work_t;


static void ngx_adm_work_empty(ngx_adm_zone_t *zone);
static void ngx_adm_work_copy_event(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_event_node_t *oen);
static ngx_int_t ngx_adm_events_due_locked(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_uint_t tree, ngx_uint_t max, ngx_msec_t delay);
static ngx_adm_event_node_t *
    ngx_adm_event_due_locked(ngx_adm_zone_t *zone, ngx_uint_t tree);
static ngx_msec_t ngx_adm_event_tell_in(ngx_adm_event_node_t *en);
static void ngx_adm_event_put_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_uint_t urgent, ngx_msec_t due);
static void ngx_adm_event_take_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);


ngx_adm_zone_part_t  ngx_adm_work_part = {
    .size = sizeof(ngx_adm_work_t),
    .empty = ngx_adm_work_empty,
    .event_free = ngx_adm_event_take_locked,
    .event_copy = ngx_adm_work_copy_event };


static void
ngx_adm_work_empty(ngx_adm_zone_t *zone)
{
    ngx_uint_t       i;
    ngx_adm_work_t  *work;

    work = ngx_adm_work(zone);

    for (i = 0; i < NGX_ADM_TREES; i++) {
        ngx_rbtree_init(&work->trees[i], &work->sentinel,
                        ngx_rbtree_insert_timer_value);
    }

    work->idle = 0;
    work->recall = 0;
    work->n = 0;
}


/* an event that was looked after is to be looked at by the new zone at once */

static void
ngx_adm_work_copy_event(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_event_node_t *oen)
{
    if (oen->working) {
        ngx_adm_event_put_locked(zone, en, oen->tree == NGX_ADM_URGENT,
                                 ngx_current_msec);
    }
}


ngx_uint_t
ngx_adm_event_mark(ngx_str_t *id)
{
    ngx_uint_t             due;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_make_locked(ngx_adm_zone, id);

    due = (en == NULL || ngx_adm_event_unmarked_locked(en));

    if (en && due) {
        en->marked = 1;
        en->mark = (uint32_t) ngx_current_msec;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return due;
}


ngx_uint_t
ngx_adm_event_unmarked_locked(ngx_adm_event_node_t *en)
{
    return !en->marked || ngx_adm_ms_since(en->mark) >= NGX_ADM_MARK_INTERVAL;
}


void
ngx_adm_event_unmark(ngx_str_t *id)
{
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    if (en) {
        en->marked = 0;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


/*
 * Events in which people wait come first, but the others have a share of their
 * own: whoever fills one of the trees does not stop the other.
 */

ngx_int_t
ngx_adm_events_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t max,
    ngx_msec_t delay)
{
    ngx_int_t        rc;
    ngx_uint_t       i;
    ngx_adm_work_t  *work;

    work = ngx_adm_work(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    if (work->recall && work->trees[!work->idle].root == &work->sentinel) {
        work->idle = !work->idle;
        work->recall = 0;
    }

    rc = ngx_adm_events_due_locked(pool, ids, NGX_ADM_URGENT, max - max / 4,
                                   delay);

    for (i = 0; i < NGX_ADM_TREES && rc == NGX_OK; i++) {
        rc = ngx_adm_events_due_locked(pool, ids, i, max, delay);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


ngx_msec_t
ngx_adm_events_rest(void)
{
    ngx_uint_t           i;
    ngx_msec_t           rest;
    ngx_msec_int_t       ms;
    ngx_adm_work_t      *work;
    ngx_rbtree_node_t   *node;

    rest = NGX_MAX_INT32_VALUE;
    work = ngx_adm_work(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    for (i = 0; i < NGX_ADM_TREES; i++) {

        if (work->trees[i].root == &work->sentinel) {
            continue;
        }

        node = ngx_rbtree_min(work->trees[i].root, &work->sentinel);
        ms = (ngx_msec_int_t) (node->key - ngx_current_msec);

        if (work->recall || i == !work->idle || ms < 0) {
            ms = 0;
        }

        rest = ngx_min(rest, (ngx_msec_t) ms);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rest;
}


static ngx_int_t
ngx_adm_events_due_locked(ngx_pool_t *pool, ngx_array_t *ids, ngx_uint_t tree,
    ngx_uint_t max, ngx_msec_t delay)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    while (ids->nelts < max) {
        en = ngx_adm_event_due_locked(zone, tree);

        if (en == NULL) {
            break;
        }

        if (!en->owing) {
            en->owing = 1;
            en->owed = (uint32_t) ngx_current_msec;
        }

        if (en->state.size + en->state.active > 0
            && ngx_adm_ms_since(en->owed)
               > NGX_ADM_STALE
            && ngx_adm_ms_since(en->synced)
               > NGX_ADM_STALE)
        {
            ngx_adm_events(zone)->stale = ngx_adm_mark_now();
        }

        ngx_adm_event_put_locked(zone, en, tree == NGX_ADM_URGENT,
                                 ngx_current_msec + delay);

        if (ngx_adm_event_push_locked(pool, ids, en) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* the first of a tree that is due; a recalled event always is */

static ngx_adm_event_node_t *
ngx_adm_event_due_locked(ngx_adm_zone_t *zone, ngx_uint_t tree)
{
    ngx_rbtree_node_t  *node;
    ngx_adm_work_t     *work;

    work = ngx_adm_work(zone);

    if (work->trees[tree].root == &work->sentinel) {
        return NULL;
    }

    node = ngx_rbtree_min(work->trees[tree].root, &work->sentinel);

    if (tree != (ngx_uint_t) !work->idle && !ngx_adm_is_over(node->key)) {
        return NULL;
    }

    return (ngx_adm_event_node_t *)
               ((u_char *) node - offsetof(ngx_adm_event_node_t, work));
}


ngx_uint_t
ngx_adm_event_next(ngx_str_t *id, ngx_adm_stepped_t *stepped)
{
    ngx_msec_t             delay, idle;
    ngx_uint_t             done;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    done = 0;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, id);

    if (en == NULL || !en->working) {
        goto unlock;
    }

    delay = stepped->delay;

    if (stepped->answered) {
        en->owing = 0;
    }

    if (stepped->work) {
        en->busy = (uint32_t) ngx_current_msec;

    } else {
        idle = ngx_adm_ms_since(en->busy);
        done = (idle >= stepped->keep);
        delay = ngx_min(delay, stepped->keep - idle);
    }

    if (en->untold) {
        delay = ngx_min(delay,
                        ngx_max(ngx_adm_event_tell_in(en), NGX_ADM_TELL / 2));
    }

    if (done) {
        ngx_adm_event_take_locked(zone, en);

        if (stepped->brief) {

            /*
             * Redis forgets the event as well, which is no loss of data:
             * nobody has a place or a token left that counts.
             */

            ngx_adm_sum_locked(zone, en, -1);

            en->state.epoch = 0;
            en->state.clear = ngx_max(en->state.clear, en->state.clock);
            en->unsold = 0;

            ngx_adm_sum_locked(zone, en, 1);

            if (en->state.clock == 0 && en->room == NULL) {
                /* there never were any users */
                ngx_adm_event_free_locked(zone, en);
            }
        }

    } else {
        ngx_adm_event_put_locked(zone, en, stepped->urgent,
                                 ngx_current_msec + delay);
    }

unlock:

    ngx_adm_zone_unlock(zone);

    return done;
}


ngx_int_t
ngx_adm_event_news(ngx_str_t *id, int64_t time)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_make_locked(zone, id);

    if (en == NULL || en->news == (uint32_t) time) {
        ngx_adm_zone_unlock(zone);
        return en ? NGX_DECLINED : NGX_AGAIN;
    }

    en->news = (uint32_t) time;

    if (!en->working) {
        en->busy = (uint32_t) ngx_current_msec;
    }

    ngx_adm_event_put_locked(zone, en, 1, ngx_current_msec);

    ngx_adm_zone_unlock(zone);

    return NGX_OK;
}


/* no tree is walked: the idle tree becomes the recalled one */

void
ngx_adm_events_recall(void)
{
    ngx_adm_zone_lock(ngx_adm_zone);

    ngx_adm_work(ngx_adm_zone)->recall = 1;

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_watchful(void)
{
    ngx_msec_t  until;

    if (!ngx_adm_is_watchful()) {
        ngx_log_debug0(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: news of other hosts can't be relied on");

        ngx_adm_events_recall();
    }

    until = ngx_current_msec + NGX_ADM_WATCHFUL;

    ngx_adm_work(ngx_adm_zone)->watchful = until ? until : 1;
}


ngx_uint_t
ngx_adm_is_watchful(void)
{
    ngx_msec_t  until;

    until = ngx_adm_work(ngx_adm_zone)->watchful;

    return until && !ngx_adm_is_over(until);
}


void
ngx_adm_event_doubt(ngx_str_t *id)
{
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    if (en && en->state.epoch) {
        en->untold = 1;
        en->told = 0;

        ngx_adm_event_soon_locked(ngx_adm_zone, en, NGX_ADM_TELL);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_event_unwatched(void)
{
    ngx_adm_zone_lock(ngx_adm_zone);

    ngx_adm_event_lost_locked(ngx_adm_zone);

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_uint_t
ngx_adm_events_working(void)
{
    return ngx_adm_work(ngx_adm_zone)->n;
}


ngx_uint_t
ngx_adm_events_stale(ngx_msec_t ms)
{
    ngx_msec_t  stale;

    stale = ngx_adm_events(ngx_adm_zone)->stale;

    return stale && ngx_adm_since(stale) < ms;
}


ngx_msec_t
ngx_adm_schedule_lag(void)
{
    ngx_msec_t          lag;
    ngx_uint_t          i;
    ngx_rbtree_node_t  *node;
    ngx_adm_work_t     *work;

    lag = 0;
    work = ngx_adm_work(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    for (i = 0; i < NGX_ADM_TREES; i++) {

        if (work->trees[i].root == &work->sentinel) {
            continue;
        }

        node = ngx_rbtree_min(work->trees[i].root, &work->sentinel);
        lag = ngx_max(lag, ngx_adm_since(node->key));
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return lag;
}


ngx_int_t
ngx_adm_event_watch(ngx_str_t *id, ngx_uint_t named)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    /* no other is forgotten for an event that anybody may have made up */

    en = ngx_adm_event_add_locked(zone, id, named);

    /* to be told of an event once more is no sign of work */

    if (en && !en->working) {
        en->busy = (uint32_t) ngx_current_msec;
        ngx_adm_event_put_locked(zone, en, 0, ngx_current_msec);
    }

    ngx_adm_zone_unlock(zone);

    return en ? NGX_OK : NGX_DECLINED;
}


ngx_uint_t
ngx_adm_event_tell_locked(ngx_adm_event_node_t *en)
{
    if (!en->untold || ngx_adm_event_tell_in(en)) {
        return 0;
    }

    en->untold = 0;
    en->told = (uint32_t) ngx_current_msec | 1;

    return 1;
}


/* ms until other hosts may be told of the event again */

static ngx_msec_t
ngx_adm_event_tell_in(ngx_adm_event_node_t *en)
{
    ngx_msec_t  since, pause;

    if (en->told == 0) {
        return 0;
    }

    pause = en->state.size ? NGX_ADM_TELL_WAITING : NGX_ADM_TELL;
    since = ngx_adm_ms_since(en->told);

    return since < pause ? pause - since : 0;
}


void
ngx_adm_event_soon_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_msec_t delay)
{
    ngx_msec_t  due;

    due = ngx_current_msec + delay;

    if (en->working && (ngx_msec_int_t) (en->work.key - due) <= 0) {
        return;
    }

    if (!en->working) {
        en->busy = (uint32_t) ngx_current_msec;
    }

    ngx_adm_event_put_locked(zone, en,
                             en->working
                             && en->tree
                                == NGX_ADM_URGENT,
                             due);
}


void
ngx_adm_event_work_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_uint_t urgent, ngx_msec_t delay)
{
    ngx_msec_t  due;

    en->busy = (uint32_t) ngx_current_msec;

    if (urgent || !en->heard) {
        /* a host that is new to the event does not know who was put out */
        delay = 0;

    } else if (ngx_adm_is_watchful()) {
        delay = NGX_ADM_WATCH;

    } else if (delay == 0) {
        delay = NGX_ADM_END_UNKNOWN;
    }

    if (en->untold) {
        delay = ngx_min(delay, ngx_adm_event_tell_in(en));
    }

    due = ngx_current_msec + delay;

    if (en->working
        && (en->tree == NGX_ADM_URGENT || !urgent)
        && (ngx_msec_int_t) (due - en->work.key) >= 0)
    {
        return;
    }

    if (en->working && urgent && en->tree == NGX_ADM_URGENT) {
        /* a step is out, or comes soon: this one is not to be earlier */
        return;
    }

    ngx_adm_event_put_locked(zone, en, urgent, due);
}


static void
ngx_adm_event_put_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_uint_t urgent, ngx_msec_t due)
{
    ngx_adm_work_t  *work;

    work = ngx_adm_work(zone);

    ngx_adm_event_take_locked(zone, en);

    en->working = 1;
    en->tree = (u_char) (urgent ? NGX_ADM_URGENT : work->idle);
    en->work.key = due;

    ngx_rbtree_insert(&work->trees[en->tree], &en->work);
    work->n++;
}


static void
ngx_adm_event_take_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_work_t  *work;

    if (!en->working) {
        return;
    }

    work = ngx_adm_work(zone);

    ngx_rbtree_delete(&work->trees[en->tree], &en->work);
    work->n--;

    en->working = 0;
}
