
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A share is one event of a user or of an address, in a table by a hash of
 * whose it is.  Shares of users are in queues, too, by when they end.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "shares.h"


#define NGX_ADM_UNLISTED_KEPT    8       /* a user or an address may have had
                                            so many times as many events of
                                            late as at once */
#define NGX_ADM_SHARE_ROOM       1024    /* bytes of the zone for a user's */
#define NGX_ADM_SHARES_MAX       256     /* of one user or address */
#define NGX_ADM_SHARES_END       4096    /* that may end at once */


typedef struct ngx_adm_share_s  ngx_adm_share_t;

struct ngx_adm_share_s {
    ngx_adm_share_t  *next;          /* in the bucket */
    uint64_t          who;
    uint64_t          event;

    /* of a user */
    ngx_queue_t       queue;
    ngx_adm_share_t  *address;       /* that counts it; NULL: none */
    ngx_msec_t        expire;
    unsigned          left:1;        /* the user is no longer in */

    /* of an address */
    ngx_uint_t        users;         /* 0: it is a user's share */
    ngx_uint_t        in;            /* users who have not left */
};


typedef struct {
    ngx_queue_t                 users;      /* shares of users, first to
                                               expire last */
    ngx_queue_t                 ending;     /* such as end sooner than usual,
                                               likewise, */
    ngx_queue_t                 gone;       /* and of users who have left */
    ngx_uint_t                  nusers;
    ngx_uint_t                  max;
    ngx_uint_t                  mask;
    ngx_adm_share_t *table[1];
} ngx_adm_shares_t;


#define ngx_adm_shares(zone)                                                  \
    ((ngx_adm_shares_t *)                                                     \
        ngx_adm_zone_data(zone, &ngx_adm_shares_part))


static size_t ngx_adm_shares_more(size_t size);
static ngx_uint_t ngx_adm_shares_buckets(size_t size);
static void ngx_adm_shares_make(ngx_adm_zone_t *zone);
static void ngx_adm_shares_empty(ngx_adm_zone_t *zone);
static ngx_adm_share_t **ngx_adm_share_lookup_locked(ngx_adm_zone_t *zone,
    uint64_t who, uint64_t event);
static ngx_uint_t ngx_adm_shares_count_locked(ngx_adm_zone_t *zone,
    uint64_t who, ngx_uint_t *in);
static ngx_adm_share_t *ngx_adm_share_new_locked(ngx_adm_zone_t *zone,
    uint64_t who, uint64_t event, ngx_adm_share_t *keep);
static void ngx_adm_share_delete_locked(ngx_adm_zone_t *zone,
    ngx_adm_share_t *share);
static void ngx_adm_shares_end_locked(ngx_adm_zone_t *zone,
    ngx_queue_t *shares);


ngx_adm_zone_part_t  ngx_adm_shares_part = {
    .size = sizeof(ngx_adm_shares_t),
    .more = ngx_adm_shares_more,
    .make = ngx_adm_shares_make,
    .empty = ngx_adm_shares_empty };


static size_t
ngx_adm_shares_more(size_t size)
{
    return ngx_adm_shares_buckets(size) * sizeof(ngx_adm_share_t *);
}


/* a quarter of how many shares there may be */

static ngx_uint_t
ngx_adm_shares_buckets(size_t size)
{
    ngx_uint_t  n;

    size /= 4 * NGX_ADM_SHARE_ROOM;

    for (n = 1; n < size; n *= 2) { /* void */ }

    return n;
}


static void
ngx_adm_shares_make(ngx_adm_zone_t *zone)
{
    ngx_adm_shares_t  *shares;

    shares = ngx_adm_shares(zone);

    shares->max = zone->sh->size / NGX_ADM_SHARE_ROOM;
    shares->mask = ngx_adm_shares_buckets(zone->sh->size) - 1;
}


static void
ngx_adm_shares_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_shares_t  *shares;

    shares = ngx_adm_shares(zone);

    ngx_memzero(shares->table, (shares->mask + 1) * sizeof(ngx_adm_share_t *));

    ngx_queue_init(&shares->users);
    ngx_queue_init(&shares->ending);
    ngx_queue_init(&shares->gone);

    shares->nusers = 0;
}


void
ngx_adm_guest_hash(ngx_adm_guest_t *guest, ngx_adm_guest_hash_t *gh)
{
    ngx_adm_hash_key_t  *key;

    key = &ngx_adm_zone->sh->hash_key;

    gh->user = ngx_adm_hash(key, guest->user.data, guest->user.len);
    gh->event = ngx_adm_hash(key, guest->event.data, guest->event.len);

    /* inverted, since a user may have an address for an id */

    gh->address = ~ngx_adm_hash(key, guest->address.data, guest->address.len);
}


/* what the user has of this event is not in its own way */

ngx_adm_bound_e
ngx_adm_shares_bound_locked(ngx_adm_zone_t *zone, ngx_adm_guest_hash_t *gh,
    ngx_uint_t address)
{
    ngx_uint_t        all, in;
    ngx_adm_share_t  *share;

    share = *ngx_adm_share_lookup_locked(zone, gh->user, gh->event);

    if (share && !share->left) {
        return NGX_ADM_BOUND_NONE;
    }

    all = ngx_adm_shares_count_locked(zone, gh->user, &in);

    if (in >= NGX_ADM_UNLISTED_USER
        || (share == NULL && all >= NGX_ADM_UNLISTED_KEPT
                                    * NGX_ADM_UNLISTED_USER))
    {
        return NGX_ADM_BOUND_USER;
    }

    if (!address) {
        return NGX_ADM_BOUND_NONE;
    }

    share = *ngx_adm_share_lookup_locked(zone, gh->address, gh->event);

    if (share && share->in) {
        return NGX_ADM_BOUND_NONE;
    }

    all = ngx_adm_shares_count_locked(zone, gh->address, &in);

    if (in >= NGX_ADM_UNLISTED_ADDRESS
        || (share == NULL && all >= NGX_ADM_UNLISTED_KEPT
                                    * NGX_ADM_UNLISTED_ADDRESS))
    {
        return NGX_ADM_BOUND_ADDRESS;
    }

    return NGX_ADM_BOUND_NONE;
}


ngx_uint_t
ngx_adm_share_use_locked(ngx_adm_zone_t *zone, ngx_adm_guest_hash_t *gh,
    ngx_uint_t address, ngx_msec_t ttl)
{
    ngx_uint_t         new, in;
    ngx_adm_share_t   *share, *at;
    ngx_adm_shares_t  *shares;

    shares = ngx_adm_shares(zone);

    ngx_adm_shares_expire_locked(zone);

    share = *ngx_adm_share_lookup_locked(zone, gh->user, gh->event);
    new = (share == NULL);

    if (share) {
        ngx_queue_remove(&share->queue);

        if (share->left) {
            share->left = 0;

            if (share->address) {
                share->address->in++;
            }
        }

    } else {

        if (ngx_adm_shares_count_locked(zone, gh->user,
                                        &in) >= NGX_ADM_SHARES_MAX)
        {
            return 0;
        }

        share = ngx_adm_share_new_locked(zone, gh->user, gh->event, NULL);
        if (share == NULL) {
            return 0;
        }

        shares->nusers++;
    }

    share->expire = ngx_current_msec + ttl;
    ngx_queue_insert_head(&shares->users, &share->queue);

    /* a share goes on to count for the address from which it was joined */

    if (!new || !address) {
        return new;
    }

    at = *ngx_adm_share_lookup_locked(zone, gh->address, gh->event);

    if (at == NULL
        && ngx_adm_shares_count_locked(zone, gh->address, &in)
           < NGX_ADM_SHARES_MAX)
    {
        at = ngx_adm_share_new_locked(zone, gh->address, gh->event, share);
    }

    if (at) {
        at->users++;
        at->in++;
        share->address = at;
    }

    return new;
}


void
ngx_adm_share_shorten_locked(ngx_adm_zone_t *zone, ngx_adm_guest_hash_t *gh,
    ngx_msec_t left)
{
    ngx_adm_share_t  *share;

    share = *ngx_adm_share_lookup_locked(zone, gh->user, gh->event);

    if (share == NULL) {
        return;
    }

    if (left == 0) {
        ngx_adm_share_delete_locked(zone, share);
        return;
    }

    share->expire = ngx_current_msec + left;

    ngx_queue_remove(&share->queue);
    ngx_queue_insert_head(&ngx_adm_shares(zone)->ending, &share->queue);
}


void
ngx_adm_share_left_locked(ngx_adm_zone_t *zone, ngx_adm_guest_hash_t *gh,
    ngx_msec_t ms)
{
    ngx_adm_share_t  *share;

    share = *ngx_adm_share_lookup_locked(zone, gh->user, gh->event);

    if (share == NULL || share->left) {
        return;
    }

    share->left = 1;

    if (share->address) {
        share->address->in--;
    }

    share->expire = ngx_current_msec + ms;

    ngx_queue_remove(&share->queue);
    ngx_queue_insert_head(&ngx_adm_shares(zone)->gone, &share->queue);
}


void
ngx_adm_shares_expire_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_shares_t  *shares;

    shares = ngx_adm_shares(zone);

    ngx_adm_shares_end_locked(zone, &shares->gone);
    ngx_adm_shares_end_locked(zone, &shares->ending);
    ngx_adm_shares_end_locked(zone, &shares->users);
}


static void
ngx_adm_shares_end_locked(ngx_adm_zone_t *zone, ngx_queue_t *shares)
{
    ngx_uint_t        n;
    ngx_queue_t      *q;
    ngx_adm_share_t  *share;

    for (n = 0; n < NGX_ADM_SHARES_END; n++) {
        q = ngx_queue_last(shares);

        if (q == ngx_queue_sentinel(shares)) {
            return;
        }

        share = ngx_queue_data(q, ngx_adm_share_t, queue);

        if (!ngx_adm_is_over(share->expire)) {
            return;
        }

        ngx_adm_share_delete_locked(zone, share);
    }
}


/* the link to the share, or the one at the end of its bucket */

static ngx_adm_share_t ** ngx_adm_share_lookup_locked(ngx_adm_zone_t *zone,
    uint64_t who, uint64_t event)
{
    ngx_adm_share_t   **link;
    ngx_adm_shares_t   *shares;

    shares = ngx_adm_shares(zone);
    link = &shares->table[who & shares->mask];

    while (*link && ((*link)->who != who || (*link)->event != event)) {
        link = &(*link)->next;
    }

    return link;
}


/* how many events a user or an address has; *in: in how many of them it is */

static ngx_uint_t
ngx_adm_shares_count_locked(ngx_adm_zone_t *zone, uint64_t who, ngx_uint_t *in)
{
    ngx_uint_t         n;
    ngx_adm_share_t   *share;
    ngx_adm_shares_t  *shares;

    n = 0;
    shares = ngx_adm_shares(zone);
    *in = 0;

    for (share = shares->table[who & shares->mask]; share; share = share->next)
    {
        if (share->who != who) {
            continue;
        }

        n++;
        *in += share->users ? (share->in != 0) : !share->left;
    }

    return n;
}


/* shares of users that expire first go for it, but not "keep" */

static ngx_adm_share_t *
ngx_adm_share_new_locked(ngx_adm_zone_t *zone, uint64_t who, uint64_t event,
    ngx_adm_share_t *keep)
{
    ngx_queue_t         *q;
    ngx_adm_share_t     *share, **bucket;
    ngx_adm_shares_t  *shares;

    shares = ngx_adm_shares(zone);

    for ( ;; ) {
        share = NULL;

        if (keep || shares->nusers < shares->max) {
            share = ngx_adm_zone_alloc_locked(zone, sizeof(ngx_adm_share_t));
        }

        if (share) {
            break;
        }

        q = ngx_queue_last(!ngx_queue_empty(&shares->gone) ? &shares->gone
                           : !ngx_queue_empty(&shares->ending) ? &shares->ending
                           : &shares->users);

        if (q == ngx_queue_sentinel(&shares->users)
            || (keep && q == &keep->queue))
        {
            return NULL;
        }

        ngx_adm_share_delete_locked(zone,
                                    ngx_queue_data(q, ngx_adm_share_t, queue));
    }

    share->who = who;
    share->event = event;

    bucket = &shares->table[who & shares->mask];
    share->next = *bucket;
    *bucket = share;

    return share;
}


/* a user's share */

static void
ngx_adm_share_delete_locked(ngx_adm_zone_t *zone, ngx_adm_share_t *share)
{
    ngx_adm_share_t  *at;

    at = share->address;

    if (at && !share->left) {
        at->in--;
    }

    if (at && --at->users == 0) {
        *ngx_adm_share_lookup_locked(zone, at->who, at->event) = at->next;
        ngx_slab_free_locked(zone->shpool, at);
    }

    *ngx_adm_share_lookup_locked(zone, share->who, share->event) = share->next;

    ngx_queue_remove(&share->queue);
    ngx_adm_shares(zone)->nusers--;

    ngx_slab_free_locked(zone->shpool, share);
}
