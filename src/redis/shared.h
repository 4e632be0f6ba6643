
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the workers of a host know of Redis together: when it last answered,
 * who its masters are, how many connections and open breakers there are, and
 * the health of its nodes.  The process has memory of its own for it until it
 * is given some that workers share.  Lock-free.  Calls and connections are
 * counted from here, too.
 */


#ifndef _NGX_ADM_REDIS_SHARED_H_INCLUDED_
#define _NGX_ADM_REDIS_SHARED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/counter.h"
#include "breaker.h"
#include "health.h"


typedef struct {
    ngx_atomic_t                heard;          /* ms, when a call was last
                                                   answered well; 0: never */
    ngx_atomic_t                since;          /* ms, when calls began to be
                                                   answered well, without a
                                                   break; 0: not just now */
    ngx_atomic_t                refused;        /* bool: it refused a call of
                                                   late */
    ngx_atomic_t                masters;        /* a hash of their names; 0:
                                                   never heard */

    /* a table by the hash of the name; set by whoever gives the memory */
    ngx_adm_redis_health_t  *health;
    ngx_uint_t                  nhealth;

    /*
     * How many nodes have a breaker in this state; for the usual state, how
     * many connections are open instead.  Each process has numbers of its own,
     * which begin anew in the one that replaces a worker that was killed.
     */
    u_short                     n[3][NGX_MAX_PROCESSES];
} ngx_adm_redis_shared_t;


/* that of this process */
extern ngx_adm_redis_shared_t  *ngx_adm_redis_shared;


/* has this worker use the shared one; once, before it has any connection */
void ngx_adm_redis_shared_use(ngx_adm_redis_shared_t *shared);

/* opened and closed connections of this worker, 1 and -1 */
void ngx_adm_redis_count_open(ngx_int_t n);

/* the breaker of a node went from one state to another */
void ngx_adm_redis_count_breaker(ngx_adm_redis_breaker_state_e from,
    ngx_adm_redis_breaker_state_e to);

/*
 * A call, issued at that time of ngx_adm_monotonic_us(), was answered; good:
 * not with an error.
 */
void ngx_adm_redis_count_answer(ngx_uint_t kind, uint64_t issued,
    ngx_uint_t good);

/* the call was not answered */
void ngx_adm_redis_count_failed(ngx_uint_t kind, ngx_adm_call_end_e end);

/*
 * From here on Redis may hold other data, or may have changed something that
 * was not heard of: a call was lost or refused, a connection ended, a clock
 * jumped.
 */
void ngx_adm_redis_count_break(void);

/*
 * hash stands for the nodes that calls go to.  NGX_OK: they changed;
 * NGX_AGAIN: none were known before; of a host's workers only the first to
 * know is told so.  NGX_DECLINED: no news.
 */
ngx_int_t ngx_adm_redis_masters(uint32_t hash);

/*
 * How many breakers of all workers are in a state; for the usual state, how
 * many connections they have open.
 */
#define NGX_ADM_REDIS_OPEN  ngx_adm_redis_breaker_closed

/* killed: whether the worker in that slot was: its numbers do not count */
ngx_uint_t ngx_adm_redis_in_state(ngx_uint_t state,
    ngx_uint_t (*killed)(ngx_uint_t slot));


#endif /* _NGX_ADM_REDIS_SHARED_H_INCLUDED_ */
