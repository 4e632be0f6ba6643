
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What each request counts: its verdict, and its calls to Redis.  Workers
 * count in stripes of the zone, one for each number of a worker, so that they
 * do not disturb each other.  A worker that replaces another, or that comes
 * with a reload, goes on in the stripe of its number, whatever the other one
 * still adds there: nothing is lost and nothing falls.
 *
 * Lock-free but for what says so.
 */


#ifndef _NGX_HTTP_ADMISSION_STATS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_STATS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_redis_counts.h"


typedef struct ngx_http_admission_stripe_s  ngx_http_admission_stripe_t;


/* numbers alone */
typedef struct {
    /* [1]: with a dry run, of what went on all the same */
    ngx_atomic_t                verdicts[2][NGX_HTTP_ADMISSION_VERDICTS];
    ngx_atomic_t                tier1[2][NGX_HTTP_ADMISSION_REASONS];
    ngx_atomic_t                tier2[2][NGX_HTTP_ADMISSION_REASONS];
    ngx_atomic_t                edge;       /* bypassed by a trusted edge,
                                               which is not in verdicts */

    ngx_http_admission_redis_calls_t  calls[NGX_HTTP_ADMISSION_REDIS_KINDS];
} ngx_http_admission_stats_t;


struct ngx_http_admission_stripe_s {
    ngx_http_admission_stats_t    stats;
    ngx_http_admission_stripe_t  *next;
    ngx_uint_t                    number;
};


/* where this worker counts; when it starts.  Takes the zone's lock */
void ngx_http_admission_stats_use(void);

/* calls to Redis of this worker; NULL: it does not count */
ngx_http_admission_redis_calls_t *ngx_http_admission_stats_calls(void);

/* one more request with this verdict, for this reason */
void ngx_http_admission_stats_verdict(ngx_http_admission_verdict_e verdict,
    const char *reason, ngx_uint_t dry_run);

/* the sum of all stripes */
void ngx_http_admission_stats_sum(ngx_http_admission_stats_t *stats);


#endif /* _NGX_HTTP_ADMISSION_STATS_H_INCLUDED_ */
