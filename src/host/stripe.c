
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Stripes are an array that is never freed; no two share a cache line.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "stripe.h"


/* one such part of the zone may be stripes, besides the first */
#define NGX_ADM_STRIPE_SHARE  64

/* at most, as a sum takes time; more workers than that share stripes */
#define NGX_ADM_STRIPES_MAX   64

#define NGX_ADM_STRIPE_SIZE                                                   \
    ngx_align(NGX_ADM_COUNTS * sizeof(ngx_atomic_t),                          \
              ngx_cacheline_size)


static size_t ngx_adm_stripe_more(size_t size);
static ngx_uint_t ngx_adm_stripes(size_t size);
static ngx_atomic_t *ngx_adm_stripe(ngx_adm_zone_t *zone, ngx_uint_t number);
static void ngx_adm_stripe_use(ngx_adm_zone_t *zone);
static void ngx_adm_stripe_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_stripe_add(ngx_atomic_uint_t *n, ngx_adm_zone_t *zone);


ngx_adm_zone_part_t  ngx_adm_stripe_part = {
    .more = ngx_adm_stripe_more,
    .copy = ngx_adm_stripe_copy,
    .use = ngx_adm_stripe_use };


static size_t
ngx_adm_stripe_more(size_t size)
{
    return ngx_adm_stripes(size) * NGX_ADM_STRIPE_SIZE + ngx_cacheline_size;
}


static ngx_uint_t
ngx_adm_stripes(size_t size)
{
    size /= NGX_ADM_STRIPE_SHARE * NGX_ADM_STRIPE_SIZE;

    return ngx_min(ngx_max(size, 1), NGX_ADM_STRIPES_MAX);
}


static ngx_atomic_t *
ngx_adm_stripe(ngx_adm_zone_t *zone, ngx_uint_t number)
{
    u_char  *p;

    p = ngx_adm_zone_data(zone, &ngx_adm_stripe_part);

    return (ngx_atomic_t *) (ngx_align_ptr(p, ngx_cacheline_size)
                             + number * NGX_ADM_STRIPE_SIZE);
}


static void
ngx_adm_stripe_use(ngx_adm_zone_t *zone)
{
    ngx_adm_counters_use(
        zone ? ngx_adm_stripe(zone, ngx_worker
                              % ngx_adm_stripes(zone->sh->size))
             : NULL);
}


void
ngx_adm_stripe_sum(ngx_atomic_uint_t *n)
{
    ngx_memzero(n, NGX_ADM_COUNTS * sizeof(ngx_atomic_uint_t));

    ngx_adm_stripe_add(n, ngx_adm_zone);
}


static void
ngx_adm_stripe_add(ngx_atomic_uint_t *n, ngx_adm_zone_t *zone)
{
    ngx_uint_t     i, k;
    ngx_atomic_t  *stripe;

    for (i = 0; i < ngx_adm_stripes(zone->sh->size); i++) {
        stripe = ngx_adm_stripe(zone, i);

        for (k = 0; k < NGX_ADM_COUNTS; k++) {
            n[k] += stripe[k];
        }
    }
}


/* what this process counted before it had the zone goes with it */

static void
ngx_adm_stripe_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_stripe_add((ngx_atomic_uint_t *) ngx_adm_stripe(zone, 0), ozone);
}
