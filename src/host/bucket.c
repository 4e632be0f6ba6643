
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A bucket is kept as the time at which it will be empty.  With its terms that
 * says how full it is at any time, and of two buckets it is always the same
 * one that is empty first.  So a heap finds the bucket to be replaced: the one
 * that is empty soonest, or has been for longest.
 *
 * The memory is the zone's own, not of the slab pool, so that nothing else in
 * the zone can have what was counted forgotten.
 *
 * Buckets have numbers, which are all that the heap has, and the lists of
 * buckets whose hashes end alike.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "bucket.h"


#define NGX_ADM_BUCKET_SHARE   64        /* of the zone, one part */
#define NGX_ADM_BUCKET_NONE    ((uint32_t) -1)

#define NGX_ADM_BUCKET_MS      1000000   /* ns */

#define NGX_ADM_REFUSALS_MS    60000
#define NGX_ADM_REFUSALS_MIN   100       /* fewer say nothing */


typedef struct {
    uint64_t                    hash;
    int64_t                     empty;      /* when, ns of ngx_current_msec */
    uint32_t                    next;       /* in the list */
    uint32_t                    place;      /* in the heap */
    uint32_t                    refused;    /* in the minute below */
    uint32_t                    minute;
} ngx_adm_bucket_t;


/* refusals of a kind, in a minute that began with one */
typedef struct {
    ngx_msec_t                  since;
    ngx_uint_t                  n;
    uint32_t                    minute;     /* number of the minute */
    unsigned                    alone:1;    /* one address has over half */
    unsigned                    before:1;   /* and had in the minute before */
} ngx_adm_refusals_t;


typedef struct {
    ngx_adm_bucket_t   *all;
    uint32_t           *heap;
    uint32_t           *lists;
    uint32_t            mask;    /* the number of lists, less 1 */
    uint32_t            max;
    uint32_t            n;

    ngx_adm_refusals_t  refusals[NGX_ADM_INTAKES];
} ngx_adm_buckets_t;


#define ngx_adm_buckets(zone)                                                 \
    ((ngx_adm_buckets_t *)                                                    \
        ngx_adm_zone_data(zone, &ngx_adm_buckets_part))


static size_t ngx_adm_buckets_more(size_t size);
static void ngx_adm_buckets_make(ngx_adm_zone_t *zone);
static void ngx_adm_buckets_empty(ngx_adm_zone_t *zone);
static void ngx_adm_buckets_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_uint_t ngx_adm_buckets_max(size_t size);
static ngx_uint_t ngx_adm_buckets_lists(ngx_uint_t max);
static int64_t ngx_adm_bucket_now(void);
static uint64_t ngx_adm_bucket_hash(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf);
static ngx_adm_bucket_t *ngx_adm_bucket_find_locked(ngx_adm_buckets_t *buckets,
    uint64_t hash);
static ngx_adm_bucket_t *ngx_adm_bucket_add_locked(ngx_adm_buckets_t *buckets,
    uint64_t hash, int64_t empty);
static void ngx_adm_bucket_unlist_locked(ngx_adm_buckets_t *buckets,
    ngx_adm_bucket_t *bucket);
static ngx_adm_bucket_t *ngx_adm_bucket_new_locked(ngx_adm_zone_t *zone,
    uint64_t hash, int64_t now);
static int64_t ngx_adm_bucket_left_locked(ngx_adm_bucket_t *bucket,
    ngx_adm_intake_conf_t *conf, int64_t now);
static void ngx_adm_bucket_set_locked(ngx_adm_buckets_t *buckets,
    ngx_adm_bucket_t *bucket, int64_t empty);
static uint32_t ngx_adm_bucket_sooner_locked(ngx_adm_buckets_t *buckets,
    uint32_t a, uint32_t b);
static void ngx_adm_bucket_swap_locked(ngx_adm_buckets_t *buckets, uint32_t a,
    uint32_t b);
static ngx_uint_t ngx_adm_bucket_refused_locked(ngx_adm_refusals_t *refusals,
    ngx_adm_bucket_t *bucket);


ngx_adm_zone_part_t  ngx_adm_buckets_part = {
    .size = sizeof(ngx_adm_buckets_t),
    .more = ngx_adm_buckets_more,
    .make = ngx_adm_buckets_make,
    .empty = ngx_adm_buckets_empty,
    .copy = ngx_adm_buckets_copy };


static size_t
ngx_adm_buckets_more(size_t size)
{
    ngx_uint_t  max;

    max = ngx_adm_buckets_max(size);

    return max * (sizeof(ngx_adm_bucket_t) + sizeof(uint32_t))
           + ngx_adm_buckets_lists(max) * sizeof(uint32_t);
}


static ngx_uint_t
ngx_adm_buckets_max(size_t size)
{
    ngx_uint_t  n;

    n = size / NGX_ADM_BUCKET_SHARE
        / (sizeof(ngx_adm_bucket_t) + 2 * sizeof(uint32_t));

    return ngx_min(n, NGX_ADM_BUCKET_NONE / 2);
}


static ngx_uint_t
ngx_adm_buckets_lists(ngx_uint_t max)
{
    ngx_uint_t  n;

    for (n = 1; n * 2 <= max; n *= 2) { /* void */ }

    return n;
}


static void
ngx_adm_buckets_make(ngx_adm_zone_t *zone)
{
    ngx_uint_t          max;
    ngx_adm_buckets_t  *buckets;

    buckets = ngx_adm_buckets(zone);
    max = ngx_adm_buckets_max(zone->sh->size);

    buckets->all = (ngx_adm_bucket_t *) (buckets + 1);
    buckets->heap = (uint32_t *) (buckets->all + max);
    buckets->lists = buckets->heap + max;
    buckets->max = max;
    buckets->mask = ngx_adm_buckets_lists(max) - 1;
}


static void
ngx_adm_buckets_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_buckets_t  *buckets;

    buckets = ngx_adm_buckets(zone);

    buckets->n = 0;

    ngx_memset(buckets->lists, 0xff, (buckets->mask + 1) * sizeof(uint32_t));
    ngx_memzero(buckets->refusals, sizeof(buckets->refusals));
}


/*
 * The hash key was copied before, so places stay right.  Where there are too
 * many buckets the fullest stay.  A bucket that was replaced during the copy,
 * and came again at another place, is met twice.
 */

static void
ngx_adm_buckets_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    uint32_t            i;
    ngx_uint_t          n;
    ngx_adm_bucket_t   *bucket, *old;
    ngx_adm_buckets_t  *buckets, *obuckets;

    buckets = ngx_adm_buckets(zone);
    obuckets = ngx_adm_buckets(ozone);
    n = 0;

    ngx_adm_zone_lock(ozone);

    for (i = 0; i < obuckets->n; i++) {
        old = &obuckets->all[i];

        bucket = ngx_adm_bucket_find_locked(buckets, old->hash);

        if (bucket) {
            ngx_adm_bucket_set_locked(buckets, bucket, old->empty);

        } else if (buckets->n < buckets->max
                   || buckets->all[buckets->heap[0]].empty < old->empty)
        {
            bucket = ngx_adm_bucket_add_locked(buckets, old->hash, old->empty);
        }

        if (bucket) {
            bucket->refused = old->refused;
            bucket->minute = old->minute;
        }

        (void) ngx_adm_zone_step_locked(ozone, &n);
    }

    ngx_memcpy(buckets->refusals, obuckets->refusals,
               sizeof(buckets->refusals));

    ngx_adm_zone_unlock(ozone);
}


ngx_int_t
ngx_adm_bucket_take(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf, ngx_uint_t only, ngx_msec_t *wait,
    ngx_uint_t *news)
{
    int64_t             now, left;
    uint64_t            hash;
    ngx_int_t           rc;
    ngx_adm_zone_t     *zone;
    ngx_adm_bucket_t   *bucket;
    ngx_adm_buckets_t  *buckets;

    zone = ngx_adm_zone;
    hash = ngx_adm_bucket_hash(kind, address, conf);
    now = ngx_adm_bucket_now();

    ngx_adm_zone_lock(zone);

    buckets = ngx_adm_buckets(zone);
    bucket = ngx_adm_bucket_find_locked(buckets, hash);

    if (bucket == NULL && !only) {
        bucket = ngx_adm_bucket_new_locked(zone, hash, now);
    }

    left = ngx_adm_bucket_left_locked(bucket, conf, now);

    if (left >= conf->step && !only) {
        ngx_adm_bucket_set_locked(buckets, bucket,
                                  now + conf->depth - left + conf->step);
        *wait = 0;
        *news = 0;
        rc = NGX_OK;

    } else {
        left = ngx_max(conf->step - left, 1);

        *wait = (left + NGX_ADM_BUCKET_MS - 1) / NGX_ADM_BUCKET_MS;
        *news = ngx_adm_bucket_refused_locked(&buckets->refusals[kind], bucket);
        rc = NGX_DECLINED;
    }

    ngx_adm_zone_unlock(zone);

    return rc;
}


void
ngx_adm_bucket_back(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf)
{
    uint64_t            hash;
    ngx_adm_zone_t     *zone;
    ngx_adm_bucket_t   *bucket;
    ngx_adm_buckets_t  *buckets;

    zone = ngx_adm_zone;
    buckets = ngx_adm_buckets(zone);
    hash = ngx_adm_bucket_hash(kind, address, conf);

    ngx_adm_zone_lock(zone);

    bucket = ngx_adm_bucket_find_locked(buckets, hash);

    if (bucket) {
        ngx_adm_bucket_set_locked(buckets, bucket, bucket->empty - conf->step);
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_bucket_full(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf)
{
    int64_t            left;
    uint64_t           hash;
    ngx_adm_zone_t    *zone;
    ngx_adm_bucket_t  *bucket;

    zone = ngx_adm_zone;
    hash = ngx_adm_bucket_hash(kind, address, conf);

    ngx_adm_zone_lock(zone);

    bucket = ngx_adm_bucket_find_locked(ngx_adm_buckets(zone), hash);
    left = ngx_adm_bucket_left_locked(bucket, conf, ngx_adm_bucket_now());

    ngx_adm_zone_unlock(zone);

    return left < conf->step;
}


ngx_uint_t
ngx_adm_bucket_alone(ngx_adm_intake_e kind)
{
    ngx_msec_t           ms;
    ngx_uint_t           alone;
    ngx_adm_zone_t      *zone;
    ngx_adm_refusals_t  *refusals;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    refusals = &ngx_adm_buckets(zone)->refusals[kind];
    ms = ngx_adm_since(refusals->since);

    if (ms < NGX_ADM_REFUSALS_MS) {
        alone = refusals->alone || refusals->before;

    } else if (ms < 2 * NGX_ADM_REFUSALS_MS) {
        alone = refusals->alone;

    } else {
        alone = 0;
    }

    ngx_adm_zone_unlock(zone);

    return alone;
}


static int64_t
ngx_adm_bucket_now(void)
{
    return (int64_t) ngx_current_msec * NGX_ADM_BUCKET_MS;
}


/*
 * terms are part of the hash: a bucket that is full by some may not be by
 * others
 */

static uint64_t
ngx_adm_bucket_hash(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf)
{
    size_t   len;
    int64_t  text[3 + NGX_SOCKADDR_STRLEN / sizeof(int64_t) + 1];

    text[0] = kind;
    text[1] = conf->step;
    text[2] = conf->depth;

    len = ngx_min(address->len, sizeof(text) - 3 * sizeof(int64_t));

    ngx_memcpy(&text[3], address->data, len);

    return ngx_adm_hash(&ngx_adm_zone->sh->hash_key, (u_char *) text,
                        3 * sizeof(int64_t) + len);
}


static ngx_adm_bucket_t *
ngx_adm_bucket_find_locked(ngx_adm_buckets_t *buckets, uint64_t hash)
{
    uint32_t  i;

    for (i = buckets->lists[hash & buckets->mask];
         i != NGX_ADM_BUCKET_NONE;
         i = buckets->all[i].next)
    {
        if (buckets->all[i].hash == hash) {
            return &buckets->all[i];
        }
    }

    return NULL;
}


/* a new bucket; if none is free, in place of the one that is empty soonest */

static ngx_adm_bucket_t *
ngx_adm_bucket_add_locked(ngx_adm_buckets_t *buckets, uint64_t hash,
    int64_t empty)
{
    uint32_t          *list, i;
    ngx_adm_bucket_t  *bucket;

    if (buckets->n < buckets->max) {
        i = buckets->n++;
        bucket = &buckets->all[i];

        bucket->place = i;
        buckets->heap[i] = i;

    } else {
        i = buckets->heap[0];
        bucket = &buckets->all[i];

        ngx_adm_bucket_unlist_locked(buckets, bucket);
    }

    list = &buckets->lists[hash & buckets->mask];

    bucket->hash = hash;
    bucket->next = *list;
    bucket->refused = 0;
    *list = i;

    ngx_adm_bucket_set_locked(buckets, bucket, empty);

    return bucket;
}


static void
ngx_adm_bucket_unlist_locked(ngx_adm_buckets_t *buckets,
    ngx_adm_bucket_t *bucket)
{
    uint32_t  *p;

    for (p = &buckets->lists[bucket->hash & buckets->mask];
         &buckets->all[*p] != bucket;
         p = &buckets->all[*p].next)
    {
        /* void */
    }

    *p = bucket->next;
}


static ngx_adm_bucket_t *
ngx_adm_bucket_new_locked(ngx_adm_zone_t *zone, uint64_t hash, int64_t now)
{
    ngx_adm_buckets_t  *buckets;

    buckets = ngx_adm_buckets(zone);

    if (buckets->n == buckets->max
        && buckets->all[buckets->heap[0]].empty > now)
    {
        ngx_adm_count(NGX_ADM_COUNT_ADDRESSES_REPLACED);
    }

    return ngx_adm_bucket_add_locked(buckets, hash, now);
}


/* ns of the depth that are left; bucket NULL: all of them */

static int64_t
ngx_adm_bucket_left_locked(ngx_adm_bucket_t *bucket,
    ngx_adm_intake_conf_t *conf, int64_t now)
{
    int64_t  full;

    if (bucket == NULL || bucket->empty <= now) {
        return conf->depth;
    }

    /*
     * another worker's clock may be a little ahead; one that wrapped is far
     * off
     */

    full = ngx_min(bucket->empty - now, conf->depth);

    return conf->depth - full;
}


/* sets when it is empty, and moves it to where it belongs in the heap */

static void
ngx_adm_bucket_set_locked(ngx_adm_buckets_t *buckets, ngx_adm_bucket_t *bucket,
    int64_t empty)
{
    uint32_t  i, child, parent;

    bucket->empty = empty;

    for (i = bucket->place; i; i = parent) {
        parent = (i - 1) / 2;

        if (ngx_adm_bucket_sooner_locked(buckets, parent, i) == parent) {
            break;
        }

        ngx_adm_bucket_swap_locked(buckets, parent, i);
    }

    for ( ;; ) {
        child = 2 * i + 1;

        if (child >= buckets->n) {
            return;
        }

        if (child + 1 < buckets->n) {
            child = ngx_adm_bucket_sooner_locked(buckets, child, child + 1);
        }

        if (ngx_adm_bucket_sooner_locked(buckets, i, child) == i) {
            return;
        }

        ngx_adm_bucket_swap_locked(buckets, i, child);
        i = child;
    }
}


/* of two places in the heap the one that is empty first; a if both are */

static uint32_t
ngx_adm_bucket_sooner_locked(ngx_adm_buckets_t *buckets, uint32_t a, uint32_t b)
{
    return buckets->all[buckets->heap[b]].empty
           < buckets->all[buckets->heap[a]].empty ? b : a;
}


static void
ngx_adm_bucket_swap_locked(ngx_adm_buckets_t *buckets, uint32_t a, uint32_t b)
{
    uint32_t  i;

    i = buckets->heap[a];
    buckets->heap[a] = buckets->heap[b];
    buckets->heap[b] = i;

    buckets->all[buckets->heap[a]].place = a;
    buckets->all[buckets->heap[b]].place = b;
}


/*
 * counts a refusal; whether it is news that one address has over half; bucket
 * NULL: the refusal is of none
 */

static ngx_uint_t
ngx_adm_bucket_refused_locked(ngx_adm_refusals_t *refusals,
    ngx_adm_bucket_t *bucket)
{
    ngx_msec_t  ms;

    ms = ngx_adm_since(refusals->since);

    if (refusals->n == 0 || ms >= NGX_ADM_REFUSALS_MS) {
        refusals->before = refusals->alone && ms < 2 * NGX_ADM_REFUSALS_MS;
        refusals->alone = 0;
        refusals->n = 0;
        refusals->since = ngx_current_msec;
        refusals->minute++;
    }

    refusals->n++;

    if (bucket == NULL) {
        return 0;
    }

    if (bucket->refused == 0 || bucket->minute != refusals->minute) {
        bucket->refused = 0;
        bucket->minute = refusals->minute;
    }

    bucket->refused++;

    if (refusals->alone
        || refusals->n < NGX_ADM_REFUSALS_MIN
        || bucket->refused <= refusals->n / 2)
    {
        return 0;
    }

    refusals->alone = 1;

    return 1;
}
