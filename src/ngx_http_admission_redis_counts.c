
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Counters of connections to Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_redis_counts.h"


static ngx_http_admission_redis_counts_t  *ngx_http_admission_redis_counts;


void
ngx_http_admission_redis_counts_use(ngx_http_admission_redis_counts_t *counts)
{
    ngx_http_admission_redis_counts = counts;
    counts->open[ngx_process_slot] = 0;
}


void
ngx_http_admission_redis_count(ngx_http_admission_redis_count_e what)
{
    (void) ngx_atomic_fetch_add(&ngx_http_admission_redis_counts->n[what], 1);
}


void
ngx_http_admission_redis_count_open(ngx_int_t n)
{
    ngx_http_admission_redis_counts->open[ngx_process_slot] += n;
}


ngx_uint_t
ngx_http_admission_redis_open(ngx_http_admission_redis_counts_t *counts)
{
    ngx_uint_t  i, n;

    n = 0;

    for (i = 0; i < NGX_MAX_PROCESSES; i++) {
        n += counts->open[i];
    }

    return n;
}
