
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Events that there is work to do in are in a tree of the schedule, by the
 * time of the next step: where people wait in one, all others in a second,
 * which a recall makes the third, in which all are due.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_work.h"


#define NGX_ADM_MARK_INTERVAL  60000     /* ms */
#define NGX_ADM_WATCH          500       /* ms, where others' news is not relied
                                            on */
#define NGX_ADM_WATCHFUL       60000     /* ms, after something that says so */
#define NGX_ADM_TELL           1000      /* ms between two times that other
                                            hosts are told */
#define NGX_ADM_TELL_WAITING   10000     /* where somebody waits they look by
                                            themselves */
#define NGX_ADM_END_UNKNOWN    60000     /* ms, of users of whom no answer told
                                            how long they are in */

/* of the trees two of which one is idle, the other recalled, and */
#define NGX_ADM_URGENT  2
#define NGX_ADM_TREES   3


#define ngx_adm_work(zone)                                                    \
    ((ngx_adm_work_t *)                                                       \
        ngx_adm_zone_data(zone, &ngx_adm_work_part))


typedef struct {
    ngx_rbtree_t                trees[NGX_ADM_TREES];
    ngx_rbtree_node_t           sentinel;   /* of all of them */
    ngx_uint_t                  idle;       /* the tree of those in which nobody
                                               waits; the other one's are all
                                               due: recalled */
    ngx_uint_t                  recall;     /* bool: again, after that */
    ngx_uint_t                  n;          /* in all of them */
    ngx_msec_t                  watchful;   /* until when news from others is
                                               not relied on; 0: it is */
    ngx_msec_t                  listed;     /* when the list was first read as
                                               a whole; 0: it was not */
    ngx_atomic_t                learned;    /* bool: all of it has been heard
                                               of; without a lock */
} ngx_adm_work_t;


static void ngx_adm_work_empty(ngx_adm_zone_t *zone);
static void ngx_adm_work_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
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
    .copy = ngx_adm_work_copy,
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
    work->listed = 0;
    work->learned = 0;
}


static void
ngx_adm_work_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_work(zone)->listed = ngx_adm_work(ozone)->listed;
    ngx_adm_work(zone)->learned = ngx_adm_work(ozone)->learned;
}


/* what was looked after is looked at by the new zone at once */

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
 * Where people wait comes first, but the others have a share of their own: who
 * fills one of them does not stop the other.
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


/* the first of a tree that is due; what is recalled is, whatever its time */

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
             * Redis forgets it, too, and that is no loss of data.  Nobody is
             * left with a place or a token that still counts.
             */

            ngx_adm_sum_locked(zone, en, -1);

            en->state.epoch = 0;
            en->state.clear = ngx_max(en->state.clear, en->state.clock);
            en->unsold = 0;

            ngx_adm_sum_locked(zone, en, 1);

            if (en->state.clock == 0 && en->room == NULL) {
                /* there never was anybody in it */
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


/* no tree is walked for it: that of the idle ones becomes the recalled one */

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
ngx_adm_event_is_known(ngx_str_t *id)
{
    ngx_uint_t             known;
    ngx_adm_work_t        *work;
    ngx_adm_event_node_t  *en;

    work = ngx_adm_work(ngx_adm_zone);

    if (work->learned) {
        return 1;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    known = (en && en->known) || (work->listed && !(en && en->working));

    ngx_adm_zone_unlock(ngx_adm_zone);

    return known;
}


void
ngx_adm_event_known(ngx_str_t *id)
{
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    if (en) {
        en->known = 1;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_events_listed(ngx_uint_t life)
{
    ngx_adm_work_t  *work;

    work = ngx_adm_work(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    if (work->listed == 0 && life == ngx_adm_zone->sh->life) {
        work->listed = ngx_adm_mark_now();
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_events_learned(ngx_msec_t ms)
{
    ngx_adm_work_t  *work;

    work = ngx_adm_work(ngx_adm_zone);

    if (work->learned
        || work->listed == 0
        || ngx_adm_since(work->listed) < ms
        || ngx_adm_schedule_lag())
    {
        return;
    }

    work->learned = 1;
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

    /* no other is forgotten for one that anybody may have made up */

    en = ngx_adm_event_add_locked(zone, id, named);

    /* being told of again is no sign of work */

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
        /* of an event that is new here it is not known who was put out */
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
        /* a step is out, or comes soon: none comes earlier than that */
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
