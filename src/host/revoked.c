
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The table of revocations: 128 bits of a hash of event and user, and the time
 * up to which that user's tokens are refused.  The zone's size sets how many
 * it keeps.  An entry goes when the tokens have expired; one that goes earlier
 * is noted as forgotten (doubt.c).
 *
 * The gate looks for each token, and almost never finds it.  So it is a table,
 * not a tree: looking takes one read of memory that is in no cache, not ten.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "doubt.h"
#include "event_node.h"
#include "revoked.h"


#define NGX_ADM_REVOKED_SHARE  256   /* bytes of the zone for each */
#define NGX_ADM_REVOKED_EMPTY  64    /* empty buckets that are copied as fast
                                        as one with an entry */


typedef struct ngx_adm_revoked_node_s  ngx_adm_revoked_node_t;

struct ngx_adm_revoked_node_s {
    ngx_adm_revoked_node_t  *next;       /* in the bucket */
    ngx_queue_t              queue;
    ngx_adm_revoked_hash_t   hash;
    int64_t                  time;       /* us, on the event's clock */
    ngx_msec_t               expire;
};


typedef struct {
    ngx_queue_t              queue;      /* latest first */
    ngx_uint_t               n;
    ngx_uint_t               max;
    ngx_uint_t               mask;
    ngx_adm_revoked_node_t  *buckets[1];
} ngx_adm_revoked_t;


#define ngx_adm_revocations_of(zone)                                          \
    ((ngx_adm_revoked_t *)                                                    \
        ngx_adm_zone_data(zone, &ngx_adm_revoked_part))


static size_t ngx_adm_revoked_more(size_t size);
static ngx_uint_t ngx_adm_revoked_buckets(size_t size);
static void ngx_adm_revoked_make(ngx_adm_zone_t *zone);
static void ngx_adm_revoked_empty(ngx_adm_zone_t *zone);
static void ngx_adm_revoked_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static int ngx_libc_cdecl ngx_adm_revoked_sooner(const void *one,
    const void *two);
static ngx_adm_revoked_node_t ** ngx_adm_revoked_lookup_locked(
    ngx_adm_zone_t *zone, ngx_adm_revoked_hash_t *hash);
static void ngx_adm_revoked_add_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t time, ngx_msec_t expire);
static void ngx_adm_revoked_expire_locked(ngx_adm_zone_t *zone);
static void ngx_adm_revoked_delete_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_node_t *rn);


ngx_adm_zone_part_t  ngx_adm_revoked_part = {
    .size = sizeof(ngx_adm_revoked_t),
    .more = ngx_adm_revoked_more,
    .make = ngx_adm_revoked_make,
    .empty = ngx_adm_revoked_empty,
    .copy = ngx_adm_revoked_copy };


static size_t
ngx_adm_revoked_more(size_t size)
{
    return ngx_adm_revoked_buckets(size) * sizeof(ngx_adm_revoked_node_t *);
}


static ngx_uint_t
ngx_adm_revoked_buckets(size_t size)
{
    ngx_uint_t  n;

    /* two in each, were it full */

    size /= 2 * NGX_ADM_REVOKED_SHARE;

    for (n = 1; n < size; n *= 2) { /* void */ }

    return n;
}


static void
ngx_adm_revoked_make(ngx_adm_zone_t *zone)
{
    ngx_adm_revoked_t  *revoked;

    revoked = ngx_adm_revocations_of(zone);

    revoked->max = zone->sh->size / NGX_ADM_REVOKED_SHARE;
    revoked->mask = ngx_adm_revoked_buckets(zone->sh->size) - 1;
}


static void
ngx_adm_revoked_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_revoked_t  *revoked;

    revoked = ngx_adm_revocations_of(zone);

    ngx_memzero(revoked->buckets,
                (revoked->mask + 1) * sizeof(ngx_adm_revoked_node_t *));
    ngx_queue_init(&revoked->queue);
    revoked->n = 0;
}


/*
 * Bucket by bucket, as each stays where it is while entries come and go, and
 * then in the order in which they expire.  There may be more of them than at
 * any one time; for what there is no room is forgotten.
 */

static void
ngx_adm_revoked_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_uint_t               i, n, k, max, step;
    ngx_adm_revoked_t       *old;
    ngx_adm_revoked_node_t  *rn, *copies;

    old = ngx_adm_revocations_of(ozone);

    n = 0;
    step = 0;
    max = old->max;
    copies = ngx_alloc(max * sizeof(ngx_adm_revoked_node_t), ngx_cycle->log);

    ngx_adm_zone_lock(ozone);

    for (i = 0; i <= old->mask; i++) {

        for (rn = old->buckets[i], k = 0; rn; rn = rn->next, k++) {

            if (copies && n < max) {
                copies[n++] = *rn;

            } else {
                ngx_adm_doubt_forget_locked(zone, &rn->hash, rn->time,
                                            rn->expire);
            }
        }

        if (k || i % NGX_ADM_REVOKED_EMPTY == 0) {
            step += k;
            (void) ngx_adm_zone_step_locked(ozone, &step);
        }
    }

    /* what was forgotten before it could be copied */

    ngx_adm_doubt_add_locked(zone, ozone);

    ngx_adm_zone_unlock(ozone);

    if (copies == NULL) {
        return;
    }

    ngx_qsort(copies, n, sizeof(ngx_adm_revoked_node_t),
              ngx_adm_revoked_sooner);

    for (i = 0; i < n; i++) {
        ngx_adm_revoked_add_locked(zone, &copies[i].hash, copies[i].time,
                                   copies[i].expire);
    }

    ngx_free(copies);
}


static int ngx_libc_cdecl
ngx_adm_revoked_sooner(const void *one, const void *two)
{
    ngx_msec_int_t  ms;

    ms = (ngx_msec_int_t) (((ngx_adm_revoked_node_t *) one)->expire
                           - ((ngx_adm_revoked_node_t *) two)->expire);

    return ms < 0 ? -1 : ms > 0;
}


void
ngx_adm_revoke(ngx_str_t *event, ngx_str_t *user, int64_t time, ngx_msec_t keep)
{
    ngx_adm_revoked_hash_t   hash;

    ngx_adm_revoked_hash(&hash, event, user);

    ngx_adm_zone_lock(ngx_adm_zone);

    ngx_adm_revoked_add_locked(ngx_adm_zone, &hash, time,
                               ngx_current_msec + keep);

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_int_t
ngx_adm_revoked(ngx_str_t *event, ngx_str_t *user, int64_t adm,
    ngx_uint_t *older)
{
    ngx_int_t                rc;
    ngx_uint_t               any, forgot;
    ngx_adm_zone_t          *zone;
    ngx_adm_event_node_t    *en;
    ngx_adm_revoked_node_t  *rn;
    ngx_adm_revoked_hash_t   hash;

    zone = ngx_adm_zone;

    if (zone == NULL) {
        /* nothing is known: what is not proven does not count */
        *older = 0;
        return 1;
    }

    /* without the lock: it does no harm to be a moment late */

    any = (ngx_adm_revocations_of(zone)->n != 0);
    forgot = ngx_adm_doubt_any(zone);

    if (any || forgot) {
        ngx_adm_revoked_hash(&hash, event, user);
    }

    ngx_adm_zone_lock(zone);

    if (!forgot && ngx_adm_doubt_any(zone)) {

        /* it may be gone since */

        ngx_adm_revoked_hash(&hash, event, user);
        forgot = 1;
    }

    en = ngx_adm_event_lookup_locked(zone, event);
    *older = (en && adm < en->state.epoch);

    /* an event never cleared has 0, and so has a token without a time */

    rc = (en && en->state.clear && adm <= en->state.clear) ? NGX_DECLINED
                                                           : NGX_OK;

    if (any && rc == NGX_OK) {
        rn = *ngx_adm_revoked_lookup_locked(zone, &hash);

        if (rn && adm <= rn->time) {
            rc = NGX_DECLINED;
        }
    }

    if (forgot && rc == NGX_OK
        && ngx_adm_doubt_locked(zone, adm, en && en->heard))
    {
        rc = ngx_adm_doubt_answered_locked(zone, &hash, adm);
    }

    ngx_adm_zone_unlock(zone);

    return rc;
}


ngx_uint_t
ngx_adm_revocations(void)
{
    return ngx_adm_revocations_of(ngx_adm_zone)->n;
}


/* the link to the entry, or the one at the end of its bucket */

static ngx_adm_revoked_node_t ** ngx_adm_revoked_lookup_locked(
    ngx_adm_zone_t *zone, ngx_adm_revoked_hash_t *hash)
{
    ngx_adm_revoked_t        *revoked;
    ngx_adm_revoked_node_t  **link;

    revoked = ngx_adm_revocations_of(zone);
    link = &revoked->buckets[hash->key & revoked->mask];

    while (*link && !ngx_adm_revoked_same(&(*link)->hash, hash)) {
        link = &(*link)->next;
    }

    return link;
}


static void
ngx_adm_revoked_add_locked(ngx_adm_zone_t *zone, ngx_adm_revoked_hash_t *hash,
    int64_t time, ngx_msec_t expire)
{
    ngx_queue_t              *q;
    ngx_adm_revoked_t        *revoked;
    ngx_adm_revoked_node_t   *rn, **bucket;

    revoked = ngx_adm_revocations_of(zone);

    ngx_adm_revoked_expire_locked(zone);

    rn = *ngx_adm_revoked_lookup_locked(zone, hash);

    if (rn) {
        if (time > rn->time) {
            rn->time = time;
            rn->expire = expire;

            ngx_queue_remove(&rn->queue);
            ngx_queue_insert_head(&revoked->queue, &rn->queue);
        }

        return;
    }

    rn = NULL;

    if (revoked->n < revoked->max) {
        rn = ngx_adm_zone_alloc_locked(zone, sizeof(ngx_adm_revoked_node_t));
    }

    if (rn == NULL && !ngx_queue_empty(&revoked->queue)) {

        /* the last in the queue has the tokens that expire first */

        q = ngx_queue_last(&revoked->queue);
        rn = ngx_queue_data(q, ngx_adm_revoked_node_t, queue);

        ngx_adm_doubt_forget_locked(zone, &rn->hash, rn->time, rn->expire);
        ngx_adm_revoked_delete_locked(zone, rn);

        rn = ngx_slab_alloc_locked(zone->shpool,
                                   sizeof(ngx_adm_revoked_node_t));
    }

    if (rn == NULL) {
        ngx_adm_doubt_forget_locked(zone, hash, time, expire);
        return;
    }

    bucket = &revoked->buckets[hash->key & revoked->mask];

    rn->next = *bucket;
    rn->hash = *hash;
    rn->time = time;
    rn->expire = expire;

    *bucket = rn;
    ngx_queue_insert_head(&revoked->queue, &rn->queue);
    revoked->n++;
}


static void
ngx_adm_revoked_expire_locked(ngx_adm_zone_t *zone)
{
    ngx_uint_t               n;
    ngx_queue_t             *revocations;
    ngx_adm_revoked_node_t  *rn;

    revocations = &ngx_adm_revocations_of(zone)->queue;

    for (n = 0; n < 3 && !ngx_queue_empty(revocations); n++) {
        rn = ngx_queue_data(ngx_queue_last(revocations),
                            ngx_adm_revoked_node_t, queue);

        if (!ngx_adm_is_over(rn->expire)) {
            return;
        }

        ngx_adm_revoked_delete_locked(zone, rn);
    }
}


static void
ngx_adm_revoked_delete_locked(ngx_adm_zone_t *zone, ngx_adm_revoked_node_t *rn)
{
    ngx_adm_revoked_node_t  **link;

    link = ngx_adm_revoked_lookup_locked(zone, &rn->hash);
    *link = rn->next;

    ngx_queue_remove(&rn->queue);
    ngx_slab_free_locked(zone->shpool, rn);
    ngx_adm_revocations_of(zone)->n--;
}
