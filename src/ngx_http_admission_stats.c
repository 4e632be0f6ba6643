
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_stats.h"
#include "ngx_http_admission_zone_shm.h"


/* the part of a zone that stripes may take, but for the first one */
#define NGX_HTTP_ADMISSION_STATS_SHARE  64


static ngx_uint_t ngx_http_admission_stripes(size_t size);
static ngx_http_admission_stripe_t *ngx_http_admission_stripe_locked(
    ngx_http_admission_zone_t *zone, ngx_uint_t number);
static void ngx_http_admission_stats_add(ngx_http_admission_stats_t *sum,
    ngx_http_admission_stripe_t *stripe);


static ngx_http_admission_stats_t  *ngx_http_admission_stats;


size_t
ngx_http_admission_stats_size(size_t size)
{
    return ngx_http_admission_stripes(size)
           * (sizeof(ngx_http_admission_stripe_t) + ngx_cacheline_size);
}


ngx_int_t
ngx_http_admission_stats_make_locked(ngx_http_admission_zone_t *zone)
{
    zone->sh->nstripes = ngx_http_admission_stripes(zone->sh->size);

    return ngx_http_admission_stripe_locked(zone, 0) ? NGX_OK : NGX_ERROR;
}


static ngx_uint_t
ngx_http_admission_stripes(size_t size)
{
    ngx_uint_t  n;

    n = size / NGX_HTTP_ADMISSION_STATS_SHARE
        / sizeof(ngx_http_admission_stripe_t);

    return ngx_max(n, 1);
}


void
ngx_http_admission_stats_use(void)
{
    ngx_http_admission_zone_t    *zone;
    ngx_http_admission_stripe_t  *stripe;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    stripe = ngx_http_admission_stripe_locked(zone,
                                              ngx_worker % zone->sh->nstripes);

    if (stripe == NULL) {
        stripe = zone->sh->stripes;
    }

    ngx_http_admission_zone_unlock(zone);

    ngx_http_admission_stats = &stripe->stats;
}


/* no two of them share a cache line */

static ngx_http_admission_stripe_t *
ngx_http_admission_stripe_locked(ngx_http_admission_zone_t *zone,
    ngx_uint_t number)
{
    u_char                       *p;
    ngx_http_admission_stripe_t  *stripe, **last;

    for (last = &zone->sh->stripes; *last; last = &(*last)->next) {
        if ((*last)->number == number) {
            return *last;
        }
    }

    p = ngx_http_admission_zone_keep_locked(zone,
                                         sizeof(ngx_http_admission_stripe_t)
                                         + ngx_cacheline_size);
    if (p == NULL) {
        return NULL;
    }

    stripe = (ngx_http_admission_stripe_t *)
                 ngx_align_ptr(p, ngx_cacheline_size);

    stripe->number = number;

    /* readers take no lock */

    ngx_memory_barrier();

    *last = stripe;

    return stripe;
}


ngx_http_admission_redis_calls_t *
ngx_http_admission_stats_calls(void)
{
    return ngx_http_admission_stats->calls;
}


void
ngx_http_admission_stats_verdict(ngx_http_admission_verdict_e verdict,
    const char *reason, ngx_uint_t dry_run)
{
    ngx_atomic_t                *n;
    ngx_http_admission_stats_t  *stats;

    stats = ngx_http_admission_stats;

    switch (verdict) {

    case NGX_HTTP_ADMISSION_VERDICT_TIER1:
        n = &stats->tier1[dry_run][ngx_http_admission_reason_number(reason)];
        break;

    case NGX_HTTP_ADMISSION_VERDICT_TIER2:
        n = &stats->tier2[dry_run][ngx_http_admission_reason_number(reason)];
        break;

    case NGX_HTTP_ADMISSION_VERDICT_BYPASS:
        if (ngx_http_admission_reason_number(reason)
            == NGX_HTTP_ADMISSION_REASON_EDGE)
        {
            n = &stats->edge;
            break;
        }

        /* fall through */

    default:
        n = &stats->verdicts[dry_run][verdict];
        break;
    }

    (void) ngx_atomic_fetch_add(n, 1);
}


void
ngx_http_admission_stats_sum(ngx_http_admission_stats_t *stats)
{
    ngx_http_admission_stripe_t  *stripe;

    ngx_memzero(stats, sizeof(ngx_http_admission_stats_t));

    for (stripe = ngx_http_admission_zone->sh->stripes;
         stripe;
         stripe = stripe->next)
    {
        ngx_http_admission_stats_add(stats, stripe);
    }
}


void
ngx_http_admission_stats_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_http_admission_stripe_t  *stripe;

    for (stripe = ozone->sh->stripes; stripe; stripe = stripe->next) {
        ngx_http_admission_stats_add(&zone->sh->stripes->stats, stripe);
    }
}


static void
ngx_http_admission_stats_add(ngx_http_admission_stats_t *sum,
    ngx_http_admission_stripe_t *stripe)
{
    ngx_uint_t     i;
    ngx_atomic_t  *n, *add;

    n = (ngx_atomic_t *) sum;
    add = (ngx_atomic_t *) &stripe->stats;

    for (i = 0;
         i < sizeof(ngx_http_admission_stats_t) / sizeof(ngx_atomic_t);
         i++)
    {
        n[i] += add[i];
    }
}
