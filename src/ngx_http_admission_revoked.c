
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Entry tokens that ended early, in shared memory: 128 bits of a hash of
 * event and user, and the time up to which they are refused.  A number that
 * the zone's size sets is kept; an entry goes when the tokens have expired.
 *
 * The gate looks for each token and almost never finds it: a table, not a
 * tree, so that this takes one read of memory that is in no cache, not ten.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_REVOKED_SHARE  256   /* bytes of the zone for each */


typedef struct {
    uint64_t                    key;        /* its last bits: the bucket */
    uint64_t                    rest;
} ngx_http_admission_revoked_hash_t;


struct ngx_http_admission_revoked_node_s {
    ngx_http_admission_revoked_node_t  *next;       /* in the bucket */
    ngx_queue_t                         queue;
    ngx_http_admission_revoked_hash_t   hash;
    int64_t                             time;       /* us, on the event's
                                                       clock */
    ngx_msec_t                          expire;
};


static void ngx_http_admission_revoked_hash(
    ngx_http_admission_revoked_hash_t *hash, ngx_str_t *event,
    ngx_str_t *user);
static ngx_http_admission_revoked_node_t **
    ngx_http_admission_revoked_lookup_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash);
static void ngx_http_admission_revoked_add_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_hash_t *hash,
    int64_t time, ngx_msec_t expire);
static void ngx_http_admission_revoked_expire_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_revoked_delete_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_node_t *rn);


size_t
ngx_http_admission_revoked_size(size_t size)
{
    ngx_uint_t  n;

    size /= NGX_HTTP_ADMISSION_REVOKED_SHARE;

    for (n = 1; n < size; n *= 2) { /* void */ }

    return n * sizeof(ngx_http_admission_revoked_node_t *);
}


ngx_int_t
ngx_http_admission_revoked_make_locked(ngx_http_admission_zone_t *zone)
{
    size_t                       size;
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;
    size = ngx_http_admission_revoked_size(sh->size);

    sh->revoked = ngx_http_admission_zone_keep_locked(zone, size);
    if (sh->revoked == NULL) {
        return NGX_ERROR;
    }

    sh->revoked_max = sh->size / NGX_HTTP_ADMISSION_REVOKED_SHARE;
    sh->revoked_mask = size / sizeof(ngx_http_admission_revoked_node_t *) - 1;

    return NGX_OK;
}


void
ngx_http_admission_revoked_init(ngx_http_admission_shctx_t *sh)
{
    ngx_memzero(sh->revoked, (sh->revoked_mask + 1)
                             * sizeof(ngx_http_admission_revoked_node_t *));
    ngx_queue_init(&sh->revocations);
    sh->nrevoked = 0;
}


void
ngx_http_admission_revoked_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_queue_t                        *q;
    ngx_http_admission_revoked_node_t  *rn;

    ngx_http_admission_zone_lock(ozone);

    for (q = ngx_queue_last(&ozone->sh->revocations);
         q != ngx_queue_sentinel(&ozone->sh->revocations);
         q = ngx_queue_prev(q))
    {
        rn = ngx_queue_data(q, ngx_http_admission_revoked_node_t, queue);

        ngx_http_admission_revoked_add_locked(zone, &rn->hash, rn->time,
                                              rn->expire);
    }

    ngx_http_admission_zone_unlock(ozone);
}


void
ngx_http_admission_revoke(ngx_str_t *event, ngx_str_t *user, int64_t time,
    ngx_msec_t keep)
{
    ngx_http_admission_revoked_hash_t   hash;

    ngx_http_admission_revoked_hash(&hash, event, user);

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    ngx_http_admission_revoked_add_locked(ngx_http_admission_zone, &hash, time,
                                          ngx_current_msec + keep);

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_uint_t
ngx_http_admission_revoked(ngx_str_t *event, ngx_str_t *user, int64_t adm,
    ngx_uint_t *older)
{
    ngx_uint_t                          revoked, any;
    ngx_http_admission_zone_t          *zone;
    ngx_http_admission_event_node_t    *en;
    ngx_http_admission_revoked_node_t  *rn;
    ngx_http_admission_revoked_hash_t   hash;

    zone = ngx_http_admission_zone;

    if (zone == NULL) {
        /* nothing is known: what is not proven does not count */
        *older = 0;
        return 1;
    }

    /* a glance without the lock: to be a moment late is no harm */

    any = (zone->sh->nrevoked != 0);

    if (any) {
        ngx_http_admission_revoked_hash(&hash, event, user);
    }

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, event);
    *older = (en && adm < en->state.epoch);

    /* never cleared is 0, as is the time of a token that has none */

    revoked = (en && en->state.clear && adm <= en->state.clear);

    if (any && !revoked) {
        rn = *ngx_http_admission_revoked_lookup_locked(zone, &hash);
        revoked = (rn && adm <= rn->time);
    }

    ngx_http_admission_zone_unlock(zone);

    return revoked;
}


ngx_uint_t
ngx_http_admission_revocations_lost(void)
{
    ngx_uint_t                   n;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    n = sh->revoked_lost;
    sh->revoked_lost = 0;

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return n;
}


static void
ngx_http_admission_revoked_hash(ngx_http_admission_revoked_hash_t *hash,
    ngx_str_t *event, ngx_str_t *user)
{
    u_char      digest[20];
    ngx_sha1_t  sha1;

    /* an event id has no slash in it */

    ngx_sha1_init(&sha1);
    ngx_sha1_update(&sha1, event->data, event->len);
    ngx_sha1_update(&sha1, "/", 1);
    ngx_sha1_update(&sha1, user->data, user->len);
    ngx_sha1_final(digest, &sha1);

    ngx_memcpy(&hash->key, digest, sizeof(uint64_t));
    ngx_memcpy(&hash->rest, digest + sizeof(uint64_t), sizeof(uint64_t));
}


/* the link to the entry, or the one at the end of its bucket */

static ngx_http_admission_revoked_node_t **
ngx_http_admission_revoked_lookup_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash)
{
    ngx_http_admission_revoked_node_t  **link;

    link = &zone->sh->revoked[hash->key & zone->sh->revoked_mask];

    while (*link
           && ((*link)->hash.key != hash->key
               || (*link)->hash.rest != hash->rest))
    {
        link = &(*link)->next;
    }

    return link;
}


static void
ngx_http_admission_revoked_add_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash, int64_t time, ngx_msec_t expire)
{
    ngx_queue_t                         *q;
    ngx_http_admission_shctx_t          *sh;
    ngx_http_admission_revoked_node_t   *rn, **bucket;

    sh = zone->sh;

    ngx_http_admission_revoked_expire_locked(zone);

    rn = *ngx_http_admission_revoked_lookup_locked(zone, hash);

    if (rn) {
        if (time > rn->time) {
            rn->time = time;
            rn->expire = expire;

            ngx_queue_remove(&rn->queue);
            ngx_queue_insert_head(&sh->revocations, &rn->queue);
        }

        return;
    }

    rn = NULL;

    if (sh->nrevoked < sh->revoked_max) {

        do {
            rn = ngx_slab_alloc_locked(zone->shpool,
                                    sizeof(ngx_http_admission_revoked_node_t));

        } while (rn == NULL && ngx_http_admission_windows_yield_locked(zone));
    }

    if (rn == NULL) {

        /* the oldest is the one whose tokens expire first */

        sh->revoked_lost++;

        q = ngx_queue_last(&sh->revocations);

        if (q == ngx_queue_sentinel(&sh->revocations)) {
            return;
        }

        rn = ngx_queue_data(q, ngx_http_admission_revoked_node_t, queue);

        ngx_http_admission_revoked_delete_locked(zone, rn);

        rn = ngx_slab_alloc_locked(zone->shpool,
                                   sizeof(ngx_http_admission_revoked_node_t));
        if (rn == NULL) {
            return;
        }
    }

    bucket = &sh->revoked[hash->key & sh->revoked_mask];

    rn->next = *bucket;
    rn->hash = *hash;
    rn->time = time;
    rn->expire = expire;

    *bucket = rn;
    ngx_queue_insert_head(&sh->revocations, &rn->queue);
    sh->nrevoked++;
}


static void
ngx_http_admission_revoked_expire_locked(ngx_http_admission_zone_t *zone)
{
    ngx_uint_t                          n;
    ngx_queue_t                        *q;
    ngx_http_admission_revoked_node_t  *rn;

    for (n = 0; n < 3; n++) {
        q = ngx_queue_last(&zone->sh->revocations);

        if (q == ngx_queue_sentinel(&zone->sh->revocations)) {
            return;
        }

        rn = ngx_queue_data(q, ngx_http_admission_revoked_node_t, queue);

        if ((ngx_msec_int_t) (rn->expire - ngx_current_msec) > 0) {
            return;
        }

        ngx_http_admission_revoked_delete_locked(zone, rn);
    }
}


static void
ngx_http_admission_revoked_delete_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_node_t *rn)
{
    ngx_http_admission_revoked_node_t  **link;

    link = ngx_http_admission_revoked_lookup_locked(zone, &rn->hash);
    *link = rn->next;

    ngx_queue_remove(&rn->queue);
    ngx_slab_free_locked(zone->shpool, rn);
    zone->sh->nrevoked--;
}
