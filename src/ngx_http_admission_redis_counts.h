
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What became of connections and calls to Redis, counted in the zone by all
 * workers of the host and kept over reloads.  Lock-free.
 */


#ifndef _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_redis_breaker.h"


/* kinds of calls: commands, 0, and scripts, by their "kind" */
#define NGX_HTTP_ADMISSION_REDIS_KINDS    11

/* of durations, the last one without a bound */
#define NGX_HTTP_ADMISSION_REDIS_BUCKETS  14


typedef enum {
    NGX_HTTP_ADMISSION_REDIS_CONNECTS = 0,      /* TLS included */
    NGX_HTTP_ADMISSION_REDIS_FAILURES,          /* whatever is a log line, or
                                                   would be at a higher rate */
    NGX_HTTP_ADMISSION_REDIS_TIMEOUTS,          /* of these */
    NGX_HTTP_ADMISSION_REDIS_OPENED,            /* breakers, of any worker */
    NGX_HTTP_ADMISSION_REDIS_FAILOVERS,         /* other masters */
    NGX_HTTP_ADMISSION_REDIS_COUNTS
} ngx_http_admission_redis_count_e;


/* how calls end that Redis did not answer well */
typedef enum {
    NGX_HTTP_ADMISSION_REDIS_ERROR = 0,         /* its answer is an error */
    NGX_HTTP_ADMISSION_REDIS_LOST,              /* sent, and no answer */
    NGX_HTTP_ADMISSION_REDIS_UNSENT,            /* Redis is known to be down,
                                                   or there is no connection */
    NGX_HTTP_ADMISSION_REDIS_ENDS
} ngx_http_admission_redis_end_e;


typedef struct {
    ngx_atomic_t                n[NGX_HTTP_ADMISSION_REDIS_COUNTS];
    ngx_atomic_t                heard;          /* ms, when a call was last
                                                   answered well; 0: never */
    ngx_atomic_t                since;          /* ms, when calls began to be
                                                   answered well, without a
                                                   break; 0: not just now */
    ngx_atomic_t                masters;        /* a hash of their names; 0:
                                                   never heard */

    /*
     * Each process has numbers of its own, and the one that replaces a worker
     * that was killed begins anew.
     */
    u_short                     open[NGX_MAX_PROCESSES];

    /* nodes whose breaker is in a state, and 255 if there are more */
    u_char                      breakers[2][NGX_MAX_PROCESSES];
} ngx_http_admission_redis_counts_t;


/* calls of a kind; answers with an error have a duration, too */
typedef struct {
    ngx_atomic_t                buckets[NGX_HTTP_ADMISSION_REDIS_BUCKETS];
    ngx_atomic_t                us;             /* of all of them */
    ngx_atomic_t                ends[NGX_HTTP_ADMISSION_REDIS_ENDS];
} ngx_http_admission_redis_calls_t;


/* in us, of all buckets but the last */
extern const ngx_uint_t  ngx_http_admission_redis_bounds[];


/*
 * Where this worker counts, calls by kind; once, before it has any
 * connection.
 */
void ngx_http_admission_redis_counts_use(
    ngx_http_admission_redis_counts_t *counts,
    ngx_http_admission_redis_calls_t *calls);

/* one more of these */
void ngx_http_admission_redis_count(ngx_http_admission_redis_count_e what);

/* opened and closed connections of this worker, 1 and -1 */
void ngx_http_admission_redis_count_open(ngx_int_t n);

/* the breaker of a node went from one state to another */
void ngx_http_admission_redis_count_breaker(
    ngx_http_admission_redis_breaker_state_e from,
    ngx_http_admission_redis_breaker_state_e to);

/* a clock for what follows, us */
uint64_t ngx_http_admission_redis_clock(void);

/* a call that was issued then was answered; good: not with an error */
void ngx_http_admission_redis_count_answer(ngx_uint_t kind, uint64_t issued,
    ngx_uint_t good);

/*
 * What Redis holds may be another thing from here on, or was not heard of: a
 * call was lost or refused, a connection ended, a clock jumped.
 */
void ngx_http_admission_redis_count_break(void);

/* it was not */
void ngx_http_admission_redis_count_end(ngx_uint_t kind,
    ngx_http_admission_redis_end_e end);

/*
 * The nodes that calls go to are those that the hash stands for.  NGX_OK:
 * others than before, NGX_AGAIN: none were known before, both for the worker
 * of the host that is the first to know; NGX_DECLINED: that is no news.
 */
ngx_int_t ngx_http_admission_redis_masters(uint32_t hash);

/* the connections that all workers have open, and breakers, by state */
ngx_uint_t ngx_http_admission_redis_open(
    ngx_http_admission_redis_counts_t *counts);
ngx_uint_t ngx_http_admission_redis_breakers(
    ngx_http_admission_redis_counts_t *counts,
    ngx_http_admission_redis_breaker_state_e state);


#endif /* _NGX_HTTP_ADMISSION_REDIS_COUNTS_H_INCLUDED_ */
