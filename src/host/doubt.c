
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host forgot of revocations leaves its time, which lasts for as long
 * as the tokens would have.  Redis is asked once a user and second, and what
 * it says is kept in a table of fixed size.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "doubt.h"


#define NGX_ADM_ANSWER_SHARE  4096   /* bytes of the zone for each answer of
                                        Redis */
#define NGX_ADM_ANSWER_WAYS   4      /* where one of them may be */
#define NGX_ADM_DOUBT_LOG     1000   /* ms between two lines */


typedef struct {
    ngx_adm_revoked_hash_t   hash;       /* zeros: none yet */
    int64_t                  time;       /* us, up to which tokens
                                            are refused */
    ngx_msec_t               asked;
} ngx_adm_doubt_answer_t;


typedef struct {
    int64_t                     time;       /* us, up to which revocations were
                                               forgotten; 0: none was */
    ngx_msec_t                  until;      /* it matters */
    ngx_uint_t                  unheard;    /* bool: events were */
    ngx_msec_t                  unheard_until;
    ngx_msec_t                  keep;       /* ms, the most; 0: there is no
                                               Redis that knows more */
    ngx_uint_t                  lost;       /* since the log was told */
    ngx_msec_t                  logged;     /* when it was */

    ngx_uint_t                  mask;
    ngx_adm_doubt_answer_t   answers[1];
} ngx_adm_doubt_t;


#define ngx_adm_doubt(zone)                                                   \
    ((ngx_adm_doubt_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_doubt_part))


static size_t ngx_adm_doubt_more(size_t size);
static ngx_uint_t ngx_adm_doubt_answers(size_t size);
static void ngx_adm_doubt_make(ngx_adm_zone_t *zone);
static void ngx_adm_doubt_empty(ngx_adm_zone_t *zone);
static void ngx_adm_doubt_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_doubt_unheard_locked(ngx_adm_zone_t *zone);
static void ngx_adm_doubt_time_locked(ngx_adm_doubt_t *doubt, int64_t time,
    ngx_msec_t until);
static ngx_adm_doubt_answer_t *
    ngx_adm_doubt_answer_locked(ngx_adm_zone_t *zone,
                                ngx_adm_revoked_hash_t *hash);


ngx_adm_zone_part_t  ngx_adm_doubt_part = {
    .size = sizeof(ngx_adm_doubt_t),
    .more = ngx_adm_doubt_more,
    .make = ngx_adm_doubt_make,
    .empty = ngx_adm_doubt_empty,
    .copy = ngx_adm_doubt_copy,
    .event_lost = ngx_adm_doubt_unheard_locked };


static size_t
ngx_adm_doubt_more(size_t size)
{
    return ngx_adm_doubt_answers(size) * sizeof(ngx_adm_doubt_answer_t);
}


/* a power of two, at least the ways */

static ngx_uint_t
ngx_adm_doubt_answers(size_t size)
{
    ngx_uint_t  n;

    size /= 2 * NGX_ADM_ANSWER_SHARE;

    for (n = NGX_ADM_ANSWER_WAYS; n <= size; n *= 2) { /* void */ }

    return n;
}


static void
ngx_adm_doubt_make(ngx_adm_zone_t *zone)
{
    ngx_adm_doubt(zone)->mask = ngx_adm_doubt_answers(zone->sh->size) - 1;
}


/* that something was forgotten is not forgotten with the rest */

static void
ngx_adm_doubt_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(zone);

    ngx_adm_doubt_unheard_locked(zone);

    ngx_memzero(doubt->answers,
                (doubt->mask + 1) * sizeof(ngx_adm_doubt_answer_t));
}


/* and once more when all else has been copied */

static void
ngx_adm_doubt_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_zone_lock(ozone);

    ngx_adm_doubt_add_locked(zone, ozone);

    ngx_adm_zone_unlock(ozone);
}


void
ngx_adm_doubt_add_locked(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_doubt_t  *doubt, *old;

    doubt = ngx_adm_doubt(zone);
    old = ngx_adm_doubt(ozone);

    doubt->keep = ngx_max(doubt->keep, old->keep);

    if (old->time) {
        ngx_adm_doubt_time_locked(doubt, old->time, old->until);
    }

    if (old->unheard) {
        ngx_adm_doubt_unheard_locked(zone);
    }
}


void
ngx_adm_revocations_keep(ngx_msec_t keep)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    /* tokens of the configuration before are about as well */

    doubt->keep = ngx_max(doubt->keep, keep);

    ngx_adm_zone_unlock(ngx_adm_zone);
}


static void
ngx_adm_doubt_unheard_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(zone);

    if (doubt->keep) {
        doubt->unheard_until = ngx_current_msec + doubt->keep;
        doubt->unheard = 1;
    }
}


ngx_uint_t
ngx_adm_doubt_any(ngx_adm_zone_t *zone)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(zone);

    return doubt->time != 0 || doubt->unheard;
}


ngx_uint_t
ngx_adm_doubt_locked(ngx_adm_zone_t *zone, int64_t adm, ngx_uint_t heard)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(zone);

    if (doubt->time && ngx_adm_is_over(doubt->until)) {
        doubt->time = 0;
    }

    if (doubt->unheard && ngx_adm_is_over(doubt->unheard_until)) {
        doubt->unheard = 0;
    }

    return adm <= doubt->time || (doubt->unheard && !heard);
}


ngx_int_t
ngx_adm_doubt_answered_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t adm)
{
    ngx_adm_doubt_answer_t  *answer;

    answer = ngx_adm_doubt_answer_locked(zone, hash);

    if (!ngx_adm_revoked_same(&answer->hash, hash)
        || ngx_adm_since(answer->asked)
           >= NGX_ADM_REVOKED_ASK)
    {
        return NGX_AGAIN;
    }

    return (adm <= answer->time) ? NGX_DECLINED : NGX_OK;
}


/* the answer about this user, or where it may be put: in place of the oldest */

static ngx_adm_doubt_answer_t *
ngx_adm_doubt_answer_locked(ngx_adm_zone_t *zone, ngx_adm_revoked_hash_t *hash)
{
    ngx_uint_t               i;
    ngx_adm_doubt_t         *doubt;
    ngx_adm_doubt_answer_t  *answer, *oldest;

    doubt = ngx_adm_doubt(zone);

    answer = &doubt->answers[hash->key & doubt->mask
                             & ~(NGX_ADM_ANSWER_WAYS - 1)];
    oldest = answer;

    for (i = 0; i < NGX_ADM_ANSWER_WAYS; i++, answer++) {

        if (ngx_adm_revoked_same(&answer->hash, hash)) {
            return answer;
        }

        if ((ngx_msec_int_t) (answer->asked - oldest->asked) < 0) {
            oldest = answer;
        }
    }

    return oldest;
}


void
ngx_adm_revoked_told(ngx_str_t *event, ngx_str_t *user, int64_t revoked,
    ngx_msec_t asked)
{
    ngx_adm_zone_t            *zone;
    ngx_adm_revoked_hash_t     hash;
    ngx_adm_doubt_answer_t  *answer;

    zone = ngx_adm_zone;

    ngx_adm_revoked_hash(&hash, event, user);

    ngx_adm_zone_lock(zone);

    answer = ngx_adm_doubt_answer_locked(zone, &hash);

    answer->hash = hash;
    answer->time = revoked;
    answer->asked = asked;

    ngx_adm_zone_unlock(zone);
}


/* an answer of Redis may be of before, and would say that the token is good */

void
ngx_adm_doubt_forget_locked(ngx_adm_zone_t *zone, ngx_adm_revoked_hash_t *hash,
    int64_t time, ngx_msec_t expire)
{
    ngx_adm_doubt_t         *doubt;
    ngx_adm_doubt_answer_t  *answer;

    doubt = ngx_adm_doubt(zone);

    if (ngx_adm_is_over(expire)) {
        return;
    }

    doubt->lost++;

    ngx_adm_count(NGX_ADM_COUNT_REVOCATIONS_FORGOTTEN);

    ngx_adm_doubt_time_locked(doubt, time, expire);

    answer = ngx_adm_doubt_answer_locked(zone, hash);

    if (ngx_adm_revoked_same(&answer->hash, hash)) {
        answer->time = ngx_max(answer->time, time);
    }
}


/* the end of it first, since a process may die in between */

static void
ngx_adm_doubt_time_locked(ngx_adm_doubt_t *doubt, int64_t time,
    ngx_msec_t until)
{
    if (doubt->time == 0 || (ngx_msec_int_t) (until - doubt->until) > 0) {
        doubt->until = until;
    }

    doubt->time = ngx_max(doubt->time, time);
}


ngx_uint_t
ngx_adm_revocations_lost(int64_t *age)
{
    ngx_uint_t        n;
    ngx_adm_doubt_t  *doubt;

    n = 0;
    doubt = ngx_adm_doubt(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    if (doubt->lost && ngx_adm_since(doubt->logged) >= NGX_ADM_DOUBT_LOG) {
        n = doubt->lost;
        *age = (ngx_adm_now_us() - doubt->time) / 1000000;
        *age = ngx_max(*age, 0);

        doubt->lost = 0;
        doubt->logged = ngx_current_msec;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}


void
ngx_adm_revoked_hash(ngx_adm_revoked_hash_t *hash, ngx_str_t *event,
    ngx_str_t *user)
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
