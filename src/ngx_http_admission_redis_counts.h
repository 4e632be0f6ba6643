
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What became of connections to Redis, counted in the zone by all workers of
 * the host and kept over reloads.  Lock-free.
 */


#ifndef _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>


typedef enum {
    NGX_HTTP_ADMISSION_REDIS_CONNECTS = 0,      /* TLS included */
    NGX_HTTP_ADMISSION_REDIS_FAILURES,          /* whatever is a log line, or
                                                   would be at a higher rate */
    NGX_HTTP_ADMISSION_REDIS_TIMEOUTS,          /* of these */
    NGX_HTTP_ADMISSION_REDIS_COUNTS
} ngx_http_admission_redis_count_e;


typedef struct {
    ngx_atomic_t                n[NGX_HTTP_ADMISSION_REDIS_COUNTS];

    /*
     * Each process has a number of its own, and the one that replaces a
     * worker that was killed begins anew.
     */
    u_short                     open[NGX_MAX_PROCESSES];
} ngx_http_admission_redis_counts_t;


/* where this worker counts; once, before it has any connection */
void ngx_http_admission_redis_counts_use(
    ngx_http_admission_redis_counts_t *counts);

/* one more of these */
void ngx_http_admission_redis_count(ngx_http_admission_redis_count_e what);

/* opened and closed connections of this worker, 1 and -1 */
void ngx_http_admission_redis_count_open(ngx_int_t n);

/* the connections that all workers have open */
ngx_uint_t ngx_http_admission_redis_open(
    ngx_http_admission_redis_counts_t *counts);


#endif /* _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_ */
