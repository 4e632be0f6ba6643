
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Entry tokens that ended early, in shared memory: 128 bits of a hash of
 * event and user, and the time up to which they are refused.  A number that
 * the zone's size sets is kept; an entry goes when the tokens have expired.
 * One that goes earlier leaves its time: Redis is to be asked about tokens up
 * to that, once a user and second, and what it says is kept in a table of
 * fixed size.
 *
 * The gate looks for each token and almost never finds it: a table, not a
 * tree, so that this takes one read of memory that is in no cache, not ten.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_REVOKED_SHARE  256   /* bytes of the zone for each */
#define NGX_HTTP_ADMISSION_ANSWER_SHARE   4096  /* likewise, of Redis */
#define NGX_HTTP_ADMISSION_ANSWER_WAYS    4     /* where one of them may be */


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


struct ngx_http_admission_revoked_answer_s {
    ngx_http_admission_revoked_hash_t   hash;       /* zeros: none yet */
    int64_t                             time;       /* us, up to which */
    ngx_msec_t                          asked;
};


static ngx_uint_t ngx_http_admission_revoked_buckets(size_t size);
static ngx_uint_t ngx_http_admission_revoked_answers(size_t size);
static void ngx_http_admission_revoked_hash(
    ngx_http_admission_revoked_hash_t *hash, ngx_str_t *event,
    ngx_str_t *user);
static ngx_http_admission_revoked_node_t **
    ngx_http_admission_revoked_lookup_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash);
static ngx_uint_t ngx_http_admission_revoked_doubt_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    int64_t adm);
static ngx_int_t ngx_http_admission_revoked_answered_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_hash_t *hash,
    int64_t adm);
static ngx_http_admission_revoked_answer_t *
    ngx_http_admission_revoked_answer_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash);
static void ngx_http_admission_revoked_add_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_hash_t *hash,
    int64_t time, ngx_msec_t expire);
static void ngx_http_admission_revoked_forget_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_hash_t *hash,
    int64_t time, ngx_msec_t expire);
static void ngx_http_admission_revoked_expire_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_revoked_delete_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_revoked_node_t *rn);


size_t
ngx_http_admission_revoked_size(size_t size)
{
    return ngx_http_admission_revoked_buckets(size)
           * sizeof(ngx_http_admission_revoked_node_t *)
           + ngx_http_admission_revoked_answers(size)
             * sizeof(ngx_http_admission_revoked_answer_t);
}


static ngx_uint_t
ngx_http_admission_revoked_buckets(size_t size)
{
    ngx_uint_t  n;

    /* two in each, were it full */

    size /= 2 * NGX_HTTP_ADMISSION_REVOKED_SHARE;

    for (n = 1; n < size; n *= 2) { /* void */ }

    return n;
}


/* a power of two, at least the ways */

static ngx_uint_t
ngx_http_admission_revoked_answers(size_t size)
{
    ngx_uint_t  n;

    size /= 2 * NGX_HTTP_ADMISSION_ANSWER_SHARE;

    for (n = NGX_HTTP_ADMISSION_ANSWER_WAYS; n <= size; n *= 2) { /* void */ }

    return n;
}


ngx_int_t
ngx_http_admission_revoked_make_locked(ngx_http_admission_zone_t *zone)
{
    ngx_uint_t                   n;
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;
    n = ngx_http_admission_revoked_buckets(sh->size);

    sh->revoked = ngx_http_admission_zone_keep_locked(zone,
                              n * sizeof(ngx_http_admission_revoked_node_t *));
    if (sh->revoked == NULL) {
        return NGX_ERROR;
    }

    sh->revoked_max = sh->size / NGX_HTTP_ADMISSION_REVOKED_SHARE;
    sh->revoked_mask = n - 1;

    n = ngx_http_admission_revoked_answers(sh->size);

    sh->revoked_answers = ngx_http_admission_zone_keep_locked(zone,
                              n * sizeof(ngx_http_admission_revoked_answer_t));
    if (sh->revoked_answers == NULL) {
        return NGX_ERROR;
    }

    sh->revoked_answers_mask = n - 1;

    return NGX_OK;
}


/* that something was forgotten is not forgotten with the rest */

void
ngx_http_admission_revoked_init(ngx_http_admission_shctx_t *sh)
{
    ngx_memzero(sh->revoked, (sh->revoked_mask + 1)
                             * sizeof(ngx_http_admission_revoked_node_t *));
    ngx_memzero(sh->revoked_answers, (sh->revoked_answers_mask + 1)
                               * sizeof(ngx_http_admission_revoked_answer_t));
    ngx_queue_init(&sh->revocations);
    sh->nrevoked = 0;
}


void
ngx_http_admission_revoked_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_queue_t                        *q;
    ngx_http_admission_shctx_t         *sh, *osh;
    ngx_http_admission_revoked_node_t  *rn;

    sh = zone->sh;
    osh = ozone->sh;

    ngx_http_admission_zone_lock(ozone);

    sh->forgot_time = osh->forgot_time;
    sh->forgot_until = osh->forgot_until;
    sh->revoked_forgotten = osh->revoked_forgotten;

    if (osh->unheard) {
        ngx_http_admission_revoked_unheard_locked(zone);
    }

    for (q = ngx_queue_last(&osh->revocations);
         q != ngx_queue_sentinel(&osh->revocations);
         q = ngx_queue_prev(q))
    {
        rn = ngx_queue_data(q, ngx_http_admission_revoked_node_t, queue);

        ngx_http_admission_revoked_add_locked(zone, &rn->hash, rn->time,
                                              rn->expire);
    }

    ngx_http_admission_zone_unlock(ozone);
}


void
ngx_http_admission_revocations_keep(ngx_msec_t keep)
{
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    /* tokens of the configuration before are about as well */

    sh->revoked_keep = ngx_max(sh->revoked_keep, keep);

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
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


ngx_int_t
ngx_http_admission_revoked(ngx_str_t *event, ngx_str_t *user, int64_t adm,
    ngx_uint_t *older)
{
    ngx_int_t                           rc;
    ngx_uint_t                          any, forgot;
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
    forgot = (zone->sh->forgot_time != 0 || zone->sh->unheard);

    if (any || forgot) {
        ngx_http_admission_revoked_hash(&hash, event, user);
    }

    ngx_http_admission_zone_lock(zone);

    if (!forgot && (zone->sh->forgot_time || zone->sh->unheard)) {

        /* what was there a moment ago may be gone */

        ngx_http_admission_revoked_hash(&hash, event, user);
        forgot = 1;
    }

    en = ngx_http_admission_event_lookup_locked(zone, event);
    *older = (en && adm < en->state.epoch);

    /* never cleared is 0, as is the time of a token that has none */

    rc = (en && en->state.clear && adm <= en->state.clear) ? NGX_DECLINED
                                                           : NGX_OK;

    if (any && rc == NGX_OK) {
        rn = *ngx_http_admission_revoked_lookup_locked(zone, &hash);

        if (rn && adm <= rn->time) {
            rc = NGX_DECLINED;
        }
    }

    if (forgot && rc == NGX_OK
        && ngx_http_admission_revoked_doubt_locked(zone, en, adm))
    {
        rc = ngx_http_admission_revoked_answered_locked(zone, &hash, adm);
    }

    ngx_http_admission_zone_unlock(zone);

    return rc;
}


/* whether what was forgotten may be about a token; en NULL: of no such event */

static ngx_uint_t
ngx_http_admission_revoked_doubt_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, int64_t adm)
{
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;

    if (sh->forgot_time
        && (ngx_msec_int_t) (sh->forgot_until - ngx_current_msec) <= 0)
    {
        sh->forgot_time = 0;
    }

    if (sh->unheard
        && (ngx_msec_int_t) (sh->unheard_until - ngx_current_msec) <= 0)
    {
        sh->unheard = 0;
    }

    return adm <= sh->forgot_time
           || (sh->unheard && (en == NULL || !en->heard));
}


static ngx_int_t
ngx_http_admission_revoked_answered_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash, int64_t adm)
{
    ngx_http_admission_revoked_answer_t  *answer;

    answer = ngx_http_admission_revoked_answer_locked(zone, hash);

    if (answer->hash.key != hash->key
        || answer->hash.rest != hash->rest
        || ngx_http_admission_zone_since(answer->asked)
           >= NGX_HTTP_ADMISSION_REVOKED_ASK)
    {
        return NGX_AGAIN;
    }

    return (adm <= answer->time) ? NGX_DECLINED : NGX_OK;
}


/* the answer about this user, or where it may be put: in place of the oldest */

static ngx_http_admission_revoked_answer_t *
ngx_http_admission_revoked_answer_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash)
{
    ngx_uint_t                            i;
    ngx_http_admission_revoked_answer_t  *answer, *oldest;

    answer = &zone->sh->revoked_answers[hash->key
                                        & zone->sh->revoked_answers_mask
                                        & ~(NGX_HTTP_ADMISSION_ANSWER_WAYS
                                            - 1)];
    oldest = answer;

    for (i = 0; i < NGX_HTTP_ADMISSION_ANSWER_WAYS; i++, answer++) {

        if (answer->hash.key == hash->key && answer->hash.rest == hash->rest) {
            return answer;
        }

        if ((ngx_msec_int_t) (answer->asked - oldest->asked) < 0) {
            oldest = answer;
        }
    }

    return oldest;
}


void
ngx_http_admission_revoked_told(ngx_str_t *event, ngx_str_t *user,
    int64_t revoked, ngx_msec_t asked)
{
    ngx_http_admission_zone_t            *zone;
    ngx_http_admission_revoked_hash_t     hash;
    ngx_http_admission_revoked_answer_t  *answer;

    zone = ngx_http_admission_zone;

    ngx_http_admission_revoked_hash(&hash, event, user);

    ngx_http_admission_zone_lock(zone);

    answer = ngx_http_admission_revoked_answer_locked(zone, &hash);

    answer->hash = hash;
    answer->time = revoked;
    answer->asked = asked;

    ngx_http_admission_zone_unlock(zone);
}


void
ngx_http_admission_revoked_unheard_locked(ngx_http_admission_zone_t *zone)
{
    if (zone->sh->revoked_keep) {
        zone->sh->unheard_until = ngx_current_msec + zone->sh->revoked_keep;
        zone->sh->unheard = 1;
    }
}


ngx_uint_t
ngx_http_admission_revocations_lost(int64_t *age)
{
    ngx_uint_t                   n;
    ngx_http_admission_shctx_t  *sh;

    n = 0;
    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    if (sh->revoked_lost
        && ngx_http_admission_zone_since(sh->revoked_logged) >= 1000)
    {
        n = sh->revoked_lost;
        *age = (ngx_http_admission_now_us() - sh->forgot_time) / 1000000;
        *age = ngx_max(*age, 0);

        sh->revoked_lost = 0;
        sh->revoked_logged = ngx_current_msec;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return n;
}


void
ngx_http_admission_revocations(ngx_uint_t *known, uint64_t *forgotten)
{
    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    *known = ngx_http_admission_zone->sh->nrevoked;
    *forgotten = ngx_http_admission_zone->sh->revoked_forgotten;

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
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

        q = ngx_queue_last(&sh->revocations);

        if (q == ngx_queue_sentinel(&sh->revocations)) {
            ngx_http_admission_revoked_forget_locked(zone, hash, time, expire);
            return;
        }

        rn = ngx_queue_data(q, ngx_http_admission_revoked_node_t, queue);

        ngx_http_admission_revoked_forget_locked(zone, &rn->hash, rn->time,
                                                 rn->expire);
        ngx_http_admission_revoked_delete_locked(zone, rn);

        rn = ngx_slab_alloc_locked(zone->shpool,
                                   sizeof(ngx_http_admission_revoked_node_t));
        if (rn == NULL) {
            ngx_http_admission_revoked_forget_locked(zone, hash, time, expire);
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


/*
 * What goes before its time leaves that behind; the end of it first, since a
 * process may die in between.  An answer of Redis may be of before, and would
 * say that the token is good.
 */

static void
ngx_http_admission_revoked_forget_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_revoked_hash_t *hash, int64_t time, ngx_msec_t expire)
{
    ngx_http_admission_shctx_t           *sh;
    ngx_http_admission_revoked_answer_t  *answer;

    sh = zone->sh;

    if ((ngx_msec_int_t) (expire - ngx_current_msec) <= 0) {
        return;
    }

    sh->revoked_lost++;
    sh->revoked_forgotten++;

    if (sh->forgot_time == 0
        || (ngx_msec_int_t) (expire - sh->forgot_until) > 0)
    {
        sh->forgot_until = expire;
    }

    sh->forgot_time = ngx_max(sh->forgot_time, time);

    answer = ngx_http_admission_revoked_answer_locked(zone, hash);

    if (answer->hash.key == hash->key && answer->hash.rest == hash->rest) {
        answer->time = ngx_max(answer->time, time);
    }
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
