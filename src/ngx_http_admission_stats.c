
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


static ngx_http_admission_stripe_t *ngx_http_admission_stripe_locked(
    ngx_http_admission_zone_t *zone, ngx_uint_t number);
static void ngx_http_admission_stats_add(ngx_http_admission_stats_t *sum,
    ngx_http_admission_stripe_t *stripe);


static ngx_http_admission_stats_t  *ngx_http_admission_stats;


ngx_int_t
ngx_http_admission_stats_init(ngx_http_admission_zone_t *zone, size_t size)
{
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;

    sh->nstripes = size / NGX_HTTP_ADMISSION_STATS_SHARE
                   / sizeof(ngx_http_admission_stripe_t);

    if (sh->nstripes == 0) {
        sh->nstripes = 1;
    }

    return ngx_http_admission_stripe_locked(zone, 0) ? NGX_OK : NGX_ERROR;
}


void
ngx_http_admission_stats_use(void)
{
    ngx_http_admission_zone_t    *zone;
    ngx_http_admission_stripe_t  *stripe;

    zone = ngx_http_admission_zone;

    ngx_shmtx_lock(&zone->shpool->mutex);

    stripe = ngx_http_admission_stripe_locked(zone,
                                              ngx_worker % zone->sh->nstripes);

    if (stripe == NULL) {
        stripe = zone->sh->stripes;
    }

    ngx_shmtx_unlock(&zone->shpool->mutex);

    ngx_http_admission_stats = &stripe->stats;
}


/*
 * A stripe fills a page, or two, of the slab, so that no two of them share a
 * cache line.
 */

static ngx_http_admission_stripe_t *
ngx_http_admission_stripe_locked(ngx_http_admission_zone_t *zone,
    ngx_uint_t number)
{
    ngx_http_admission_stripe_t  *stripe, **last;

    for (last = &zone->sh->stripes; *last; last = &(*last)->next) {
        if ((*last)->number == number) {
            return *last;
        }
    }

    stripe = ngx_slab_calloc_locked(zone->shpool,
                                    sizeof(ngx_http_admission_stripe_t));
    if (stripe == NULL) {
        return NULL;
    }

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
