
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For one more event another's is forgotten, if it is as old as its history.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "few.h"
#include "follow.h"
#include "streams.h"
#include "tally.h"


#define NGX_ADM_FOLLOW_SHARE   8         /* of the zone, one part, at most */
#define NGX_ADM_FOLLOW_CHUNK   64        /* under one lock */
#define NGX_ADM_FOLLOW_IDLE    5000      /* ms between calls, where nothing
                                            happens */
#define NGX_ADM_FOLLOW_LAPSE   120000    /* ms that limits hold, as in the
                                            scripts */
#define NGX_ADM_FOLLOW_LATE    10000     /* ms after the last request in which
                                            it is looked at often */
#define NGX_ADM_FOLLOW_BACK    10000000  /* us that Redis's clock goes back by
                                            with another server, at least */
#define NGX_ADM_FOLLOW_GONE                                                   \
    (NGX_ADM_FOLLOW_POINTS * NGX_ADM_FOLLOW_POINT * 1000)


typedef struct {
    ngx_rbtree_node_t       node;        /* of the event */
    ngx_msec_t              used;        /* when last measured, or watched */
    ngx_msec_t              busy;        /* when last measured; 0: never */
    ngx_msec_t              asked;       /* when Redis last was; 0: never */
    ngx_msec_t              told;        /* when it answered; 0: never */
    ngx_adm_follow_t        known;
    ngx_adm_follow_point_t  points[NGX_ADM_FOLLOW_POINTS];
    ngx_adm_measure_t       measure;
} ngx_adm_follow_node_t;


typedef struct {
    ngx_uint_t              deaths;      /* workers that were killed */
    ngx_adm_few_t           few;
} ngx_adm_follows_t;


#define ngx_adm_follows(zone)                                                 \
    ((ngx_adm_follows_t *) ngx_adm_zone_data(zone, &ngx_adm_follow_part))


static void ngx_adm_follow_empty(ngx_adm_zone_t *zone);
static void ngx_adm_follow_use(ngx_adm_zone_t *zone);
static void ngx_adm_follow_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_follow_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_follow_copy_event(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *node, void *data);
static ngx_adm_follow_node_t *ngx_adm_follow_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_follow_node_t *ngx_adm_follow_find_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event);
static ngx_adm_follow_node_t *ngx_adm_follow_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_follow_evict_locked(ngx_adm_zone_t *zone);
static ngx_adm_follow_node_t *ngx_adm_follow_measured_locked(
    ngx_adm_zone_t *zone, ngx_str_t *event);
static void ngx_adm_follow_full(ngx_str_t *event);
static ngx_uint_t ngx_adm_follow_is_due(ngx_adm_follow_node_t *fn);
static void ngx_adm_follow_draw(ngx_adm_follow_node_t *fn);


ngx_adm_zone_part_t  ngx_adm_follow_part = {
    .size = sizeof(ngx_adm_follows_t),
    .empty = ngx_adm_follow_empty,
    .use = ngx_adm_follow_use,
    .event_free = ngx_adm_follow_free_locked,
    .copy = ngx_adm_follow_copy };


static void
ngx_adm_follow_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_few_empty(&ngx_adm_follows(zone)->few);
}


/* a worker takes the place of one that was killed, whose requests do not end */

static void
ngx_adm_follow_use(ngx_adm_zone_t *zone)
{
    if (zone && ngx_process == NGX_PROCESS_WORKER
        && ngx_adm_streams_killed(ngx_process_slot))
    {
        ngx_adm_zone_lock(zone);

        ngx_adm_follows(zone)->deaths++;

        ngx_adm_zone_unlock(zone);
    }
}


static ngx_adm_follow_node_t *
ngx_adm_follow_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_follow_node_t  *fn;

    fn = ngx_adm_few_of_locked(&ngx_adm_follows(zone)->few, en);

    if (fn) {
        ngx_adm_measure_deaths_locked(&fn->measure,
                                      ngx_adm_follows(zone)->deaths);
    }

    return fn;
}


static ngx_adm_follow_node_t *
ngx_adm_follow_find_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    return ngx_adm_follow_of_locked(zone,
                                    ngx_adm_event_lookup_locked(zone, event));
}


static void
ngx_adm_follow_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_follow_node_t  *fn;

    fn = ngx_adm_follow_of_locked(zone, en);

    if (fn) {
        ngx_adm_few_free_locked(zone, &ngx_adm_follows(zone)->few, fn);
    }
}


static void
ngx_adm_follow_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_few_copy(zone, ozone, &ngx_adm_follows(ozone)->few,
                     ngx_adm_follow_copy_event, NULL);
}


/* what is under way ends in the zone before */

static void
ngx_adm_follow_copy_event(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *node, void *data)
{
    ngx_adm_follow_node_t  *fn, *ofn = node;

    fn = ngx_adm_follow_new_locked(zone, en);

    if (fn) {
        fn->told = ofn->told;
        fn->known = ofn->known;
        ngx_memcpy(fn->points, ofn->points, sizeof(fn->points));
    }
}


static ngx_adm_follow_node_t *
ngx_adm_follow_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_follows_t      *follows;
    ngx_adm_follow_node_t  *fn;

    follows = ngx_adm_follows(zone);

    if ((follows->few.n + 1) * sizeof(ngx_adm_follow_node_t)
        > zone->sh->size / NGX_ADM_FOLLOW_SHARE
        && !ngx_adm_follow_evict_locked(zone))
    {
        return NULL;
    }

    fn = ngx_slab_calloc_locked(zone->shpool, sizeof(ngx_adm_follow_node_t));

    if (fn) {
        fn->used = ngx_current_msec;
        fn->known.rate = -1;
        fn->known.threshold = -1;
        fn->measure.window = ngx_current_msec;
        fn->measure.taken = ngx_current_msec;
        fn->measure.deaths = follows->deaths;

        ngx_adm_few_add_locked(&follows->few, fn, en);
    }

    return fn;
}


static ngx_uint_t
ngx_adm_follow_evict_locked(ngx_adm_zone_t *zone)
{
    ngx_uint_t              i;
    ngx_rbtree_key_t        key;
    ngx_adm_follow_node_t  *fn;

    key = 0;

    for (i = 0; i < NGX_ADM_FOLLOW_CHUNK; i++) {
        fn = ngx_adm_few_next_locked(&ngx_adm_follows(zone)->few, &key);

        if (fn == NULL) {
            break;
        }

        if (ngx_adm_since(fn->used) > NGX_ADM_FOLLOW_GONE) {
            ngx_adm_follow_free_locked(zone, ngx_adm_few_event(fn));
            return 1;
        }
    }

    return 0;
}


void
ngx_adm_follow_open(ngx_str_t *event, uint32_t user, ngx_msec_t since)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_measured_locked(zone, event);

    if (fn) {
        ngx_adm_measure_begin_locked(&fn->measure, user, since);
    }

    ngx_adm_zone_unlock(zone);

    if (fn == NULL) {
        ngx_adm_follow_full(event);
    }
}


void
ngx_adm_follow_close(ngx_str_t *event, uint32_t user, ngx_msec_t since)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_find_locked(zone, event);

    if (fn) {
        ngx_adm_measure_end_locked(&fn->measure, user, since);
    }

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_follow_add(ngx_str_t *event, ngx_adm_sample_t *samples, ngx_uint_t n)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_measured_locked(zone, event);

    if (fn) {
        ngx_adm_measure_add_locked(&fn->measure, samples, n);
    }

    ngx_adm_zone_unlock(zone);

    if (fn == NULL) {
        ngx_adm_follow_full(event);
    }
}


/* now; NULL: there is no room */

static ngx_adm_follow_node_t *
ngx_adm_follow_measured_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    ngx_adm_event_node_t   *en;
    ngx_adm_follow_node_t  *fn;

    en = ngx_adm_event_lookup_locked(zone, event);
    fn = ngx_adm_follow_of_locked(zone, en);

    if (fn == NULL) {
        en = en ? en : ngx_adm_event_add_locked(zone, event, 0);
        fn = en ? ngx_adm_follow_new_locked(zone, en) : NULL;

        if (fn == NULL) {
            return NULL;
        }

        ngx_adm_name_locked(zone, en);
    }

    fn->used = ngx_current_msec;
    fn->busy = ngx_adm_mark_now();

    return fn;
}


static void
ngx_adm_follow_full(ngx_str_t *event)
{
    static time_t  logged;

    if (logged && ngx_time() - logged < 60) {
        return;
    }

    logged = ngx_time();

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: the zone has no room to measure the backend "
                  "of event \"%V\", which is not followed: make "
                  "\"admission_zone\" larger", event);
}


void
ngx_adm_follow_watch(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_event_node_t   *en;
    ngx_adm_follow_node_t  *fn;

    if (!ngx_adm_is_followed(conf)) {
        return;
    }

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);
    fn = ngx_adm_follow_of_locked(zone, en);

    if (fn == NULL && en) {
        fn = ngx_adm_follow_new_locked(zone, en);
    }

    if (fn) {
        fn->used = ngx_current_msec;
    }

    ngx_adm_zone_unlock(zone);
}


ngx_int_t
ngx_adm_follow_get(ngx_str_t *event, ngx_adm_followed_t *followed)
{
    ngx_int_t               rc;
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    rc = NGX_DECLINED;
    zone = ngx_adm_zone;

    if (ngx_adm_follows(zone)->few.n == 0) {
        return NGX_DECLINED;
    }

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_find_locked(zone, event);

    if (fn && fn->told) {
        followed->told = fn->known;
        followed->age = ngx_adm_since(fn->told);

        rc = (followed->age < NGX_ADM_FOLLOW_LAPSE) ? NGX_OK : NGX_DECLINED;
    }

    ngx_adm_zone_unlock(zone);

    return rc;
}


ngx_uint_t
ngx_adm_follow_history(ngx_str_t *event, ngx_adm_follow_point_t *points)
{
    uint32_t                 now, number;
    ngx_uint_t               n;
    ngx_adm_zone_t          *zone;
    ngx_adm_follow_node_t   *fn;
    ngx_adm_follow_point_t  *point;

    n = 0;
    zone = ngx_adm_zone;

    if (ngx_adm_follows(zone)->few.n == 0) {
        return 0;
    }

    now = ngx_current_msec / 1000 / NGX_ADM_FOLLOW_POINT;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_find_locked(zone, event);

    for (number = now + 1 - NGX_ADM_FOLLOW_POINTS; fn && number != now + 1;
         number++)
    {
        point = &fn->points[number % NGX_ADM_FOLLOW_POINTS];

        if (point->number == number && number) {
            points[n++] = *point;
        }
    }

    ngx_adm_zone_unlock(zone);

    return n;
}


void
ngx_adm_follow_due(ngx_pool_t *pool, ngx_array_t *ids, ngx_rbtree_key_t *key)
{
    ngx_uint_t              i;
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    if (ngx_adm_follows(zone)->few.n == 0) {
        *key = 0;
        return;
    }

    ngx_adm_zone_lock(zone);

    for (i = 0; i < NGX_ADM_FOLLOW_CHUNK; i++) {
        fn = ngx_adm_few_next_locked(&ngx_adm_follows(zone)->few, key);

        if (fn == NULL) {
            *key = 0;
            break;
        }

        if (ngx_adm_follow_is_due(fn)
            && ngx_adm_event_push_locked(pool, ids, ngx_adm_few_event(fn))
               != NGX_OK)
        {
            break;
        }
    }

    ngx_adm_zone_unlock(zone);
}


/* where nothing happened for long nobody asks, but for what limits */

static ngx_uint_t
ngx_adm_follow_is_due(ngx_adm_follow_node_t *fn)
{
    ngx_msec_t  pause;

    if (fn->asked == 0) {
        return 1;
    }

    if (fn->known.busy
        || fn->measure.sums.requests
        || fn->measure.open
        || (fn->busy && ngx_adm_since(fn->busy) < NGX_ADM_FOLLOW_LATE))
    {
        pause = NGX_ADM_FOLLOW_STEP;

    } else {
        pause = NGX_ADM_FOLLOW_IDLE;

        if (ngx_adm_since(fn->used) > NGX_ADM_FOLLOW_LAPSE) {
            return 0;
        }
    }

    return ngx_adm_since(fn->asked) >= pause;
}


ngx_int_t
ngx_adm_follow_take(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_measured_t *measured, ngx_adm_follow_t *known)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_find_locked(zone, event);

    if (fn) {
        fn->asked = ngx_adm_mark_now();
        *known = fn->known;

        ngx_adm_measure_take_locked(&fn->measure, conf->backend_latency,
                                    measured);
    }

    ngx_adm_zone_unlock(zone);

    return fn ? NGX_OK : NGX_DECLINED;
}


/* answers may come out of order */

void
ngx_adm_follow_note(ngx_str_t *event, ngx_adm_follow_t *follow)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_follow_node_t  *fn;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    fn = ngx_adm_follow_find_locked(zone, event);

    if (fn && follow == NULL) {
        ngx_memzero(&fn->known, sizeof(ngx_adm_follow_t));
        fn->known.rate = -1;
        fn->known.threshold = -1;
        fn->told = 0;

    } else if (fn
               && (follow->us >= fn->known.us
                   || follow->us < fn->known.us - NGX_ADM_FOLLOW_BACK))
    {
        fn->known = *follow;
        fn->told = ngx_adm_mark_now();

        ngx_adm_follow_draw(fn);
    }

    ngx_adm_zone_unlock(zone);
}


/* one more answer, of the seconds of a point */

static void
ngx_adm_follow_draw(ngx_adm_follow_node_t *fn)
{
    int64_t                  n;
    uint32_t                 number;
    ngx_adm_follow_t        *told;
    ngx_adm_follow_point_t  *point;

    told = &fn->known;

    number = ngx_current_msec / 1000 / NGX_ADM_FOLLOW_POINT;
    point = &fn->points[number % NGX_ADM_FOLLOW_POINTS];

    if (point->number != number) {
        ngx_memzero(point, sizeof(ngx_adm_follow_point_t));

        point->number = number;
        point->latency = NGX_ADM_FOLLOW_NONE;
        point->errors = NGX_ADM_FOLLOW_NONE;
    }

    point->rate = (told->rate < 0)
                  ? NGX_ADM_FOLLOW_FREE
                  : (uint32_t) ngx_min(told->rate, NGX_ADM_FOLLOW_FREE - 1);
    point->threshold = (told->threshold < 0)
                       ? NGX_ADM_FOLLOW_FREE
                       : (uint32_t) ngx_min(told->threshold,
                                            NGX_ADM_FOLLOW_FREE - 1);

    n = ngx_min(told->requests / 5, NGX_ADM_FOLLOW_NONE);
    point->requests = (uint16_t) ngx_max(n, point->requests);

    if (told->latency >= 0) {
        n = ngx_min(told->latency / 1000, NGX_ADM_FOLLOW_NONE - 1);

        point->latency = (point->latency == NGX_ADM_FOLLOW_NONE)
                         ? (uint16_t) n
                         : (uint16_t) ngx_max(n, point->latency);
    }

    if (told->counted > 0) {
        n = ngx_min(told->failed * 10000 / told->counted, 10000);

        point->errors = (point->errors == NGX_ADM_FOLLOW_NONE)
                        ? (uint16_t) n
                        : (uint16_t) ngx_max(n, point->errors);
    }

    if (told->why > 0) {
        point->why = (uint16_t) told->why;
    }
}
