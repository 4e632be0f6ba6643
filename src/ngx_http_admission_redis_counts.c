
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Counters of connections and calls to Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_redis_counts.h"


/* states of a breaker that are counted: those that are not the usual one */
#define ngx_http_admission_redis_breaker_index(state)                         \
    ((state) - ngx_http_admission_redis_breaker_open)


static void ngx_http_admission_redis_breaker_add(
    ngx_http_admission_redis_breaker_state_e state, ngx_int_t n);


/*
 * Round trips within a data centre are below the first ones, between two of
 * them in the middle; 200 ms is what a call has by default.
 */

const ngx_uint_t  ngx_http_admission_redis_bounds[] = {
    250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 200000, 500000,
    1000000, 2500000
};


static ngx_http_admission_redis_counts_t  *ngx_http_admission_redis_counts;
static ngx_http_admission_redis_calls_t   *ngx_http_admission_redis_calls;


void
ngx_http_admission_redis_counts_use(ngx_http_admission_redis_counts_t *counts,
    ngx_http_admission_redis_calls_t *calls)
{
    ngx_http_admission_redis_counts = counts;
    ngx_http_admission_redis_calls = calls;

    counts->open[ngx_process_slot] = 0;
    counts->breakers[0][ngx_process_slot] = 0;
    counts->breakers[1][ngx_process_slot] = 0;
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


void
ngx_http_admission_redis_count_breaker(
    ngx_http_admission_redis_breaker_state_e from,
    ngx_http_admission_redis_breaker_state_e to)
{
    ngx_http_admission_redis_breaker_add(from, -1);
    ngx_http_admission_redis_breaker_add(to, 1);

    if (to == ngx_http_admission_redis_breaker_open) {
        ngx_http_admission_redis_count(NGX_HTTP_ADMISSION_REDIS_OPENED);
    }
}


static void
ngx_http_admission_redis_breaker_add(
    ngx_http_admission_redis_breaker_state_e state, ngx_int_t n)
{
    u_char  *p;

    if (state == ngx_http_admission_redis_breaker_closed) {
        return;
    }

    p = ngx_http_admission_redis_counts->breakers[
                                ngx_http_admission_redis_breaker_index(state)];
    p += ngx_process_slot;

    if (n > 0 ? *p < 255 : *p > 0) {
        *p += n;
    }
}


/* NGINX's own times are those of the last turn of the event loop, in ms */

uint64_t
ngx_http_admission_redis_clock(void)
{
#if (NGX_HAVE_CLOCK_MONOTONIC)

    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;

#else

    struct timeval  tv;

    ngx_gettimeofday(&tv);

    return (uint64_t) tv.tv_sec * 1000000 + tv.tv_usec;

#endif
}


void
ngx_http_admission_redis_count_answer(ngx_uint_t kind, uint64_t issued,
    ngx_uint_t good)
{
    uint64_t                           now, us;
    ngx_uint_t                         i;
    ngx_http_admission_redis_calls_t  *calls;

    if (good) {
        if (ngx_http_admission_redis_counts->heard != ngx_current_msec) {
            ngx_http_admission_redis_counts->heard = ngx_current_msec;
        }

        if (ngx_http_admission_redis_counts->since == 0) {
            ngx_http_admission_redis_counts->since =
                                     ngx_current_msec ? ngx_current_msec : 1;
        }

    } else {
        ngx_http_admission_redis_count_end(kind,
                                           NGX_HTTP_ADMISSION_REDIS_ERROR);
    }

    if (ngx_http_admission_redis_calls == NULL) {
        return;
    }

    calls = &ngx_http_admission_redis_calls[kind];

    now = ngx_http_admission_redis_clock();
    us = now > issued ? now - issued : 0;

    for (i = 0; i < NGX_HTTP_ADMISSION_REDIS_BUCKETS - 1; i++) {
        if (us <= ngx_http_admission_redis_bounds[i]) {
            break;
        }
    }

    (void) ngx_atomic_fetch_add(&calls->us, us);
    (void) ngx_atomic_fetch_add(&calls->buckets[i], 1);
}


void
ngx_http_admission_redis_count_break(void)
{
    /* a worker that leaves closes its connections: that is no break */

    if (ngx_http_admission_redis_counts && !ngx_exiting && !ngx_terminate) {
        ngx_http_admission_redis_counts->since = 0;
    }
}


void
ngx_http_admission_redis_count_end(ngx_uint_t kind,
    ngx_http_admission_redis_end_e end)
{
    if (ngx_http_admission_redis_calls) {
        (void) ngx_atomic_fetch_add(
                        &ngx_http_admission_redis_calls[kind].ends[end], 1);
    }
}


ngx_int_t
ngx_http_admission_redis_masters(uint32_t hash)
{
    ngx_atomic_uint_t   old;
    ngx_atomic_t       *masters;

    masters = &ngx_http_admission_redis_counts->masters;
    old = *masters;

    if (hash == 0) {
        hash = 1;
    }

    if (old == hash || !ngx_atomic_cmp_set(masters, old, hash)) {
        return NGX_DECLINED;
    }

    if (old == 0) {
        return NGX_AGAIN;
    }

    ngx_http_admission_redis_count(NGX_HTTP_ADMISSION_REDIS_FAILOVERS);
    ngx_http_admission_redis_count_break();

    return NGX_OK;
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


ngx_uint_t
ngx_http_admission_redis_breakers(ngx_http_admission_redis_counts_t *counts,
    ngx_http_admission_redis_breaker_state_e state)
{
    u_char      *p;
    ngx_uint_t   i, n;

    n = 0;
    p = counts->breakers[ngx_http_admission_redis_breaker_index(state)];

    for (i = 0; i < NGX_MAX_PROCESSES; i++) {
        n += p[i];
    }

    return n;
}
