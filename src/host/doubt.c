
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host had to forget of revocations is remembered as one time, for as
 * long as tokens of that time may be good.  Redis is asked about older tokens
 * once a user and second, and its answers are kept in a table of fixed size.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "doubt.h"


#define NGX_ADM_ANSWER_SHARE  4096   /* bytes of the zone for each answer of
                                        Redis */
#define NGX_ADM_ANSWER_WAYS   4      /* entries where an answer may be */
#define NGX_ADM_DOUBT_LOG     1000   /* ms between two lines */


typedef struct {
    ngx_adm_revoked_hash_t   hash;       /* zeros: free */
    int64_t                  time;       /* us: tokens up to then are refused */
    ngx_msec_t               asked;
} ngx_adm_doubt_answer_t;


typedef struct {
    int64_t                     time;       /* us: revocations up to then
                                               were forgotten; 0: none was */
    ngx_msec_t                  until;      /* ms: matters until then */
    ngx_uint_t                  unheard;    /* bool: events were forgotten,
                                               too */
    ngx_msec_t                  unheard_until;
    ngx_msec_t                  keep;       /* ms that it matters; 0: there
                                               is no Redis that knows more */
    ngx_uint_t                  lost;       /* since the last line of the log */
    ngx_msec_t                  logged;     /* when that was */

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


/* how many entries: a power of two, and no fewer than the ways */

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


/* when all else is forgotten it stays known that something was forgotten */

static void
ngx_adm_doubt_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_doubt_t  *doubt;

    doubt = ngx_adm_doubt(zone);

    ngx_adm_doubt_unheard_locked(zone);

    ngx_memzero(doubt->answers,
                (doubt->mask + 1) * sizeof(ngx_adm_doubt_answer_t));
}


/* called again when all else has been copied */

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

    /* tokens of earlier configurations are still about */

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


/* the answer about this user, or the entry to put it: the oldest of its ways */

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


/*
 * drops an answer, which may be older than the revocation that is forgotten
 * now
 */

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


/* sets "until" first, since a process may die in between */

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
