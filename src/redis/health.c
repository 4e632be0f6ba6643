
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the log is told of a node, and how often.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "shared.h"


/* while Redis is down, the same reason is logged again after this time */
#define NGX_ADM_REDIS_REMIND  60000      /* ms */

/* no more than one line in this time */
#define NGX_ADM_REDIS_RATE    1000       /* ms */

/* an error that did not come for this long is told anew when it comes again */
#define NGX_ADM_REDIS_PAST    5000       /* ms */


static ngx_adm_redis_error_t *ngx_adm_redis_error(
    ngx_adm_redis_health_t *health, uint32_t hash);


ngx_adm_redis_health_t *
ngx_adm_redis_health(ngx_str_t *name)
{
    uint32_t                 hash;
    ngx_uint_t               i, n;
    ngx_adm_redis_health_t  *health;

    n = ngx_adm_redis_shared->nhealth;
    hash = ngx_murmur_hash2(name->data, name->len);
    hash = ngx_max(hash, 1);

    for (i = 0; i < n; i++) {
        health = &ngx_adm_redis_shared->health[(hash + i) % n];

        if (health->hash == 0) {
            (void) ngx_atomic_cmp_set(&health->hash, 0, hash);
        }

        if (health->hash == hash) {
            return health;
        }
    }

    return NULL;
}


/*
 * A line when Redis goes down, when the reason changes, and now and then
 * while it stays so; never more than one a second.
 */

void
ngx_adm_redis_log_fault(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, ngx_adm_redis_fault_e fault, ngx_err_t err, u_char *text)
{
    ngx_msec_t          now, since;
    ngx_uint_t          unlogged;
    ngx_atomic_uint_t   last;

    now = ngx_current_msec;
    last = health->logged_at;
    since = last ? ngx_adm_since(last) : NGX_MAX_INT32_VALUE;

    if (!health->failing && ngx_atomic_cmp_set(&health->failing, 0, 1)) {
        health->told = 0;
        health->failed_at = now;
        health->fault = ngx_adm_redis_no_fault;
    }

    if (since < NGX_ADM_REDIS_RATE
        || (fault == health->fault && since < NGX_ADM_REDIS_REMIND)
        || !ngx_atomic_cmp_set(&health->logged_at, last, now ? now : 1))
    {
        (void) ngx_atomic_fetch_add(&health->unlogged, 1);
        return;
    }

    unlogged = health->unlogged;

    if (health->told) {
        ngx_log_error(NGX_LOG_ERR, log, err, "admission: redis %V still down "
                      "after %M ms: %s (%ui failures since the last line)",
                      name, ngx_adm_since(health->failed_at), text, unlogged);

    } else if (unlogged) {
        ngx_log_error(NGX_LOG_ERR, log, err, "admission: redis %V down: %s "
                      "(%ui failures since the last line)", name, text,
                      unlogged);

    } else {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V down: %s", name, text);
    }

    health->told = 1;
    health->fault = fault;
    health->unlogged = 0;
}


void
ngx_adm_redis_log_back(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log)
{
    if (!ngx_atomic_cmp_set(&health->failing, 1, 0) || !health->told) {
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, log, 0, "admission: redis %V back after %M "
                  "ms", name, ngx_adm_since(health->failed_at));
}


/*
 * A line for each sort of error, and now and then while it goes on; at most
 * one a second, of all sorts.
 */

void
ngx_adm_redis_log_error(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, uint32_t hash, char *text)
{
    ngx_uint_t              more;
    ngx_atomic_uint_t       last;
    ngx_adm_redis_error_t  *error;

    error = ngx_adm_redis_error(health, hash);
    last = health->error_at;

    if ((last && ngx_adm_since(last) < NGX_ADM_REDIS_RATE)
        || (error->hash == hash
            && ngx_adm_since(error->seen_at) < NGX_ADM_REDIS_PAST
            && ngx_adm_since(error->logged_at) < NGX_ADM_REDIS_REMIND)
        || !ngx_atomic_cmp_set(&health->error_at, last, ngx_adm_mark_now()))
    {
        if (error->hash == hash) {
            error->seen_at = ngx_current_msec;
        }

        (void) ngx_atomic_fetch_add(&health->more, 1);
        return;
    }

    error->hash = hash;
    error->logged_at = ngx_current_msec;
    error->seen_at = ngx_current_msec;

    more = health->more;
    health->more = 0;

    if (more) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "admission: redis %V replied with "
                      "an error: %s (and %ui more since the last line)", name,
                      text, more);

    } else {
        ngx_log_error(NGX_LOG_ERR, log, 0, "admission: redis %V replied with "
                      "an error: %s", name, text);
    }
}


/* the entry with this hash, or else the one that was logged longest ago */

static ngx_adm_redis_error_t *
ngx_adm_redis_error(ngx_adm_redis_health_t *health, uint32_t hash)
{
    ngx_uint_t              i;
    ngx_adm_redis_error_t  *error, *oldest;

    oldest = health->errors;

    for (i = 0; i < NGX_ADM_REDIS_ERRORS; i++) {
        error = &health->errors[i];

        if (error->hash == hash) {
            return error;
        }

        if (oldest->hash
            && (error->hash == 0
                || ngx_adm_since(error->logged_at)
                   > ngx_adm_since(oldest->logged_at)))
        {
            oldest = error;
        }
    }

    return oldest;
}


ngx_uint_t
ngx_adm_redis_opened(ngx_adm_redis_health_t *health)
{
    if (!ngx_atomic_cmp_set(&health->open, 0, 1)
        || (health->opened_at
            && ngx_adm_since(health->opened_at)
               < NGX_ADM_REDIS_RATE))
    {
        return 0;
    }

    health->opened_at = ngx_current_msec ? ngx_current_msec : 1;

    return 1;
}


ngx_uint_t
ngx_adm_redis_shut(ngx_adm_redis_health_t *health)
{
    return ngx_atomic_cmp_set(&health->open, 1, 0);
}
