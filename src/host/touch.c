
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The host's touch with Redis, in the zone.  The client gets its shared memory
 * from here, as it knows of no zone.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "touch.h"


/* ms by which a clock has to change to have jumped: Redis's, or this host's */
#define NGX_ADM_JUMP   30000

/* ms between lines about a clock that can't be right */
#define NGX_ADM_TIME_REMIND  60000
#define NGX_ADM_TIME_PAUSE   1000

/*
 * One such part of what the zone keeps is for the health of Redis's nodes:
 * more than any cluster has, as names may come and go for years.
 */
#define NGX_ADM_NODES  3


#define ngx_adm_touch(zone)                                                   \
    ((ngx_adm_touch_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_touch_part))


typedef struct {
    ngx_adm_redis_shared_t   shared;     /* lock-free */
    ngx_atomic_t             offset;     /* Redis's time less the host's, ms;
                                            lock-free */
    ngx_atomic_t             timed;      /* bool: Redis has told the time */
    ngx_atomic_t             refused_at; /* ms, when the log was told of a
                                            time that can't be; 0: never */
    ngx_atomic_t             refuses;    /* bool: the last one was refused */
    ngx_msec_t               recalled;   /* "since" of the touch for which
                                            all events were last recalled */
} ngx_adm_touch_t;


static size_t ngx_adm_touch_more(size_t size);
static void ngx_adm_touch_make(ngx_adm_zone_t *zone);
static void ngx_adm_touch_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_touch_use(ngx_adm_zone_t *zone);
static void ngx_adm_time_refused(ngx_adm_touch_t *touch, int64_t redis);


ngx_adm_zone_part_t  ngx_adm_touch_part = {
    .size = sizeof(ngx_adm_touch_t),
    .more = ngx_adm_touch_more,
    .make = ngx_adm_touch_make,
    .copy = ngx_adm_touch_copy,
    .use = ngx_adm_touch_use };


static size_t
ngx_adm_touch_more(size_t size)
{
    return ngx_adm_zone_kept(size) / NGX_ADM_NODES;
}


static void
ngx_adm_touch_make(ngx_adm_zone_t *zone)
{
    ngx_adm_touch_t  *touch;

    touch = ngx_adm_touch(zone);

    touch->shared.health = (ngx_adm_redis_health_t *) (touch + 1);
    touch->shared.nhealth = ngx_adm_touch_more(zone->sh->size)
                            / sizeof(ngx_adm_redis_health_t);
}


static void
ngx_adm_touch_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_touch_t  *touch, *old;

    touch = ngx_adm_touch(zone);
    old = ngx_adm_touch(ozone);

    touch->offset = old->offset;
    touch->timed = old->timed;
    touch->recalled = old->recalled;
    touch->shared.heard = old->shared.heard;
    touch->shared.since = old->shared.since;
    touch->shared.masters = old->shared.masters;
}


static void
ngx_adm_touch_use(ngx_adm_zone_t *zone)
{
    ngx_adm_clock_use(zone ? &ngx_adm_touch(zone)->offset : NULL);
}


ngx_adm_redis_shared_t *
ngx_adm_touch_shared(void)
{
    return &ngx_adm_touch(ngx_adm_zone)->shared;
}


/*
 * Redis looked at its clock some time between call and answer, so the offset
 * lies between two bounds.  If the known one does, too, it is kept: answers
 * that took their time do not shake it.
 *
 * Where the worker was held up, the answer may have come after this turn of the
 * event loop began, and be later than NGINX's own time, by seconds even.  So
 * before the offset is raised, the lower bound is reckoned by what time it is
 * now.  The call did not leave before the turn it was made in: the upper bound
 * is never too low.
 */

ngx_int_t
ngx_adm_time_observed(int64_t redis, ngx_msec_t elapsed)
{
    ngx_atomic_int_t  low, high, offset, known, now;
    ngx_adm_touch_t  *touch;

    touch = ngx_adm_touch(ngx_adm_zone);

    if (ngx_adm_is_far(redis)) {
        ngx_adm_time_refused(touch, redis);
        return NGX_DECLINED;
    }

    if (touch->refuses) {
        touch->refuses = 0;
    }

    low = (ngx_atomic_int_t) (redis / 1000 - ngx_adm_wall());
    high = low + (ngx_atomic_int_t) elapsed;

    known = (ngx_atomic_int_t) touch->offset;

    if (known < low) {
        now = (ngx_atomic_int_t) (redis / 1000 - ngx_adm_wall_now());
        low = ngx_min(low, now);
    }

    offset = ngx_min(ngx_max(known, low), high);

    if (offset == known) {

        if (!touch->timed) {
            touch->timed = 1;
        }

        return NGX_OK;
    }

    if (ngx_abs(offset - known) > NGX_ADM_JUMP) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: the clock of redis, or of the host, jumped "
                       "by %L ms", (int64_t) (offset - known));

        ngx_adm_redis_count_break();
    }

    touch->offset = (ngx_atomic_t) offset;
    touch->timed = 1;

    return NGX_OK;
}


ngx_uint_t
ngx_adm_time_is_known(void)
{
    return ngx_adm_touch(ngx_adm_zone)->timed;
}


/* a line when it begins, then one a minute, by whichever worker */

static void
ngx_adm_time_refused(ngx_adm_touch_t *touch, int64_t redis)
{
    ngx_msec_t         pause;
    ngx_atomic_uint_t  last;

    last = touch->refused_at;
    pause = touch->refuses ? NGX_ADM_TIME_REMIND : NGX_ADM_TIME_PAUSE;

    touch->refuses = 1;

    if ((last && ngx_adm_since(last) < pause)
        || !ngx_atomic_cmp_set(&touch->refused_at, last, ngx_adm_mark_now()))
    {
        return;
    }

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: the time of redis, %L s, is more than a day from "
                  "this host's, %L s: nothing that it answers is believed",
                  redis / 1000000, ngx_adm_wall() / 1000);
}


ngx_msec_t
ngx_adm_in_touch(void)
{
    ngx_msec_t  since;

    since = ngx_adm_touch(ngx_adm_zone)->shared.since;

    return since ? ngx_adm_since(since) + 1 : 0;
}


ngx_uint_t
ngx_adm_regained(void)
{
    ngx_msec_t        since;
    ngx_adm_touch_t  *touch;

    touch = ngx_adm_touch(ngx_adm_zone);
    since = touch->shared.since;

    if (since == 0 || since == touch->recalled) {
        return 0;
    }

    touch->recalled = since;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: in touch with redis again");

    return 1;
}


ngx_int_t
ngx_adm_heard(ngx_msec_t *age)
{
    ngx_msec_t  heard;

    heard = ngx_adm_touch(ngx_adm_zone)->shared.heard;

    if (heard == 0) {
        return NGX_DECLINED;
    }

    if (age) {
        *age = ngx_adm_since(heard);
    }

    return NGX_OK;
}
