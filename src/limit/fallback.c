
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether Redis answers for rate limits, as the host remembers it, and for how
 * long they have gone by "fail=".
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "../host/touch.h"
#include "fallback.h"


/* ms in which Redis has to answer before it is said to do so again */
#define NGX_ADM_LIMIT_STEADY  1000

/*
 * ms without a request that Redis left to "fail=", after which answers to
 * other calls tell that it is back: a limit may be asked too seldom to find
 * out.
 */
#define NGX_ADM_LIMIT_IDLE    10000


/* lock-free */
typedef struct {
    ngx_atomic_t         alone;      /* bool: Redis does not answer */
    ngx_msec_t           missed;     /* ms, when last */
    ngx_msec_t           since;      /* ms, and first */
} ngx_adm_fallback_t;


#define ngx_adm_fallback(zone)                                                \
    ((ngx_adm_fallback_t *) ngx_adm_zone_data(zone, &ngx_adm_fallback_part))


static void ngx_adm_fallback_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_uint_t ngx_adm_fallback_over(ngx_adm_fallback_t *fallback);
static ngx_uint_t ngx_adm_fallback_end(ngx_adm_fallback_t *fallback);
static ngx_msec_t ngx_adm_fallback_time(ngx_adm_fallback_t *fallback);


ngx_adm_zone_part_t  ngx_adm_fallback_part = {
    .size = sizeof(ngx_adm_fallback_t),
    .copy = ngx_adm_fallback_copy };


static void
ngx_adm_fallback_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    *ngx_adm_fallback(zone) = *ngx_adm_fallback(ozone);
}


ngx_uint_t
ngx_adm_limit_changed(ngx_uint_t answered)
{
    ngx_adm_fallback_t  *fallback;

    fallback = ngx_adm_fallback(ngx_adm_zone);

    if (!answered) {

        if (ngx_adm_fallback_over(fallback) && ngx_adm_fallback_end(fallback)) {
            /* another time without Redis, but nobody saw the last one end */

            fallback->since = ngx_current_msec;
            fallback->missed = ngx_current_msec;

            (void) ngx_atomic_cmp_set(&fallback->alone, 0, 1);

            return 0;
        }

        fallback->missed = ngx_current_msec;

        if (fallback->alone) {
            return 0;
        }

        fallback->since = ngx_current_msec;

        return ngx_atomic_cmp_set(&fallback->alone, 0, 1);
    }

    /* as long as some are answered and some are not nothing has changed */

    if (!fallback->alone
        || (ngx_msec_int_t) (ngx_current_msec - fallback->missed)
           < NGX_ADM_LIMIT_STEADY)
    {
        return 0;
    }

    return ngx_adm_fallback_end(fallback);
}


ngx_msec_t
ngx_adm_limit_alone(ngx_uint_t *now)
{
    ngx_adm_fallback_t  *fallback;

    fallback = ngx_adm_fallback(ngx_adm_zone);

    *now = fallback->alone && !ngx_adm_fallback_over(fallback);

    return fallback->alone ? ngx_adm_fallback_time(fallback) : 0;
}


/* whether Redis is back, as far as that can be told while no limit has asked */

static ngx_uint_t
ngx_adm_fallback_over(ngx_adm_fallback_t *fallback)
{
    ngx_msec_t  missed, heard;

    missed = ngx_adm_since(fallback->missed);

    return fallback->alone
           && missed >= NGX_ADM_LIMIT_IDLE
           && ngx_adm_heard(&heard) == NGX_OK
           && heard < missed;
}


/* returns 1 to whoever ended it */

static ngx_uint_t
ngx_adm_fallback_end(ngx_adm_fallback_t *fallback)
{
    if (!ngx_atomic_cmp_set(&fallback->alone, 1, 0)) {
        return 0;
    }

    ngx_adm_count_n(NGX_ADM_COUNT_FALLBACK, ngx_adm_fallback_time(fallback));

    return 1;
}


/* workers may have looked at their clocks in another order */

static ngx_msec_t
ngx_adm_fallback_time(ngx_adm_fallback_t *fallback)
{
    ngx_msec_int_t  ms;

    ms = (ngx_msec_int_t) (fallback->missed - fallback->since);

    return ngx_max(ms, 0);
}
