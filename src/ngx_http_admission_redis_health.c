
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the log is told of a node.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_health.h"
#include "ngx_http_admission_zone_shm.h"


/* while Redis is down, the same reason is logged again after this time */
#define NGX_HTTP_ADMISSION_REDIS_REMIND  60000      /* ms */

/*
 * Nodes of which the host remembers that: more than any cluster has, but names
 * may come and go for years.
 */
#define NGX_HTTP_ADMISSION_REDIS_NODES   1000

/* no more than one line in this time */
#define NGX_HTTP_ADMISSION_REDIS_RATE    1000       /* ms */


ngx_http_admission_redis_health_t *
ngx_http_admission_redis_health(ngx_str_t *name)
{
    uint32_t                            hash;
    ngx_queue_t                        *q;
    ngx_http_admission_zone_t          *zone;
    ngx_http_admission_redis_health_t  *health;

    zone = ngx_http_admission_zone;
    hash = ngx_murmur_hash2(name->data, name->len);

    ngx_http_admission_zone_lock(zone);

    for (q = ngx_queue_head(&zone->sh->nodes);
         q != ngx_queue_sentinel(&zone->sh->nodes);
         q = ngx_queue_next(q))
    {
        health = ngx_queue_data(q, ngx_http_admission_redis_health_t, queue);

        if (health->hash == hash) {
            goto done;
        }
    }

    health = NULL;

    if (zone->sh->nnodes < NGX_HTTP_ADMISSION_REDIS_NODES) {
        health = ngx_http_admission_zone_keep_locked(zone,
                                    sizeof(ngx_http_admission_redis_health_t));
    }

    if (health) {
        zone->sh->nnodes++;
        health->hash = hash;
        ngx_queue_insert_tail(&zone->sh->nodes, &health->queue);
    }

done:

    ngx_http_admission_zone_unlock(zone);

    return health;
}


/*
 * A line when Redis goes down, when the reason changes, and now and then
 * while it stays so; never more than one a second.
 */

void
ngx_http_admission_redis_log_fault(ngx_http_admission_redis_health_t *health,
    ngx_str_t *name, ngx_log_t *log, ngx_http_admission_redis_fault_e fault,
    ngx_err_t err, u_char *text)
{
    ngx_msec_t          now, since;
    ngx_uint_t          unlogged;
    ngx_atomic_uint_t   last;

    now = ngx_current_msec;
    last = health->logged_at;
    since = last ? ngx_http_admission_zone_since(last) : NGX_MAX_INT32_VALUE;

    if (!health->failing && ngx_atomic_cmp_set(&health->failing, 0, 1)) {
        health->told = 0;
        health->failed_at = now;
        health->fault = ngx_http_admission_redis_no_fault;
    }

    if (since < NGX_HTTP_ADMISSION_REDIS_RATE
        || (fault == health->fault && since < NGX_HTTP_ADMISSION_REDIS_REMIND)
        || !ngx_atomic_cmp_set(&health->logged_at, last, now ? now : 1))
    {
        (void) ngx_atomic_fetch_add(&health->unlogged, 1);
        return;
    }

    unlogged = health->unlogged;

    if (health->told) {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V still down after %M ms: %s "
                      "(%ui failures since the last line)", name,
                      ngx_http_admission_zone_since(health->failed_at), text,
                      unlogged);

    } else if (unlogged) {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V down: %s "
                      "(%ui failures since the last line)", name,
                      text, unlogged);

    } else {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V down: %s", name, text);
    }

    health->told = 1;
    health->fault = fault;
    health->unlogged = 0;
}


void
ngx_http_admission_redis_log_back(ngx_http_admission_redis_health_t *health,
    ngx_str_t *name, ngx_log_t *log)
{
    if (!ngx_atomic_cmp_set(&health->failing, 1, 0) || !health->told) {
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, log, 0,
                  "admission: redis %V back after %M ms", name,
                  ngx_http_admission_zone_since(health->failed_at));
}


ngx_uint_t
ngx_http_admission_redis_opened(ngx_http_admission_redis_health_t *health)
{
    if (!ngx_atomic_cmp_set(&health->open, 0, 1)
        || (health->opened_at
            && ngx_http_admission_zone_since(health->opened_at)
               < NGX_HTTP_ADMISSION_REDIS_RATE))
    {
        return 0;
    }

    health->opened_at = ngx_current_msec ? ngx_current_msec : 1;

    return 1;
}


ngx_uint_t
ngx_http_admission_redis_shut(ngx_http_admission_redis_health_t *health)
{
    return ngx_atomic_cmp_set(&health->open, 1, 0);
}
