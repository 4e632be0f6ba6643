
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the workers of a host know of Redis together: when it last answered,
 * who its masters are, how many connections and open breakers there are, and
 * the health of its nodes.  In memory of the process's own until it is given
 * some that workers share.  Lock-free; what became of calls and connections is
 * counted besides.
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
    ngx_atomic_t                refused;        /* bool: a call was, lately */
    ngx_atomic_t                masters;        /* a hash of their names; 0:
                                                   never heard */

    /* a table by the hash of the name; whoever gives the memory sets them */
    ngx_adm_redis_health_t  *health;
    ngx_uint_t                  nhealth;

    /*
     * Nodes whose breaker is in a state, and in place of the usual one how
     * many connections are open.  Each process has numbers of its own, and the
     * one that replaces a worker that was killed begins anew.
     */
    u_short                     n[3][NGX_MAX_PROCESSES];
} ngx_adm_redis_shared_t;


/* of this process */
extern ngx_adm_redis_shared_t  *ngx_adm_redis_shared;


/* has this worker share it; once, before it has any connection */
void ngx_adm_redis_shared_use(ngx_adm_redis_shared_t *shared);

/* opened and closed connections of this worker, 1 and -1 */
void ngx_adm_redis_count_open(ngx_int_t n);

/* the breaker of a node went from one state to another */
void ngx_adm_redis_count_breaker(ngx_adm_redis_breaker_state_e from,
    ngx_adm_redis_breaker_state_e to);

/* a call that was issued then, us by ngx_adm_monotonic_us(), was answered;
   good: not with an error */
void ngx_adm_redis_count_answer(ngx_uint_t kind, uint64_t issued,
    ngx_uint_t good);

/* it was not */
void ngx_adm_redis_count_failed(ngx_uint_t kind, ngx_adm_call_end_e end);

/*
 * What Redis holds may be another thing from here on, or was not heard of: a
 * call was lost or refused, a connection ended, a clock jumped.
 */
void ngx_adm_redis_count_break(void);

/*
 * The nodes that calls go to are those that the hash stands for.  NGX_OK:
 * others than before, NGX_AGAIN: none were known before, both for the worker
 * of the host that is the first to know; NGX_DECLINED: that is no news.
 */
ngx_int_t ngx_adm_redis_masters(uint32_t hash);

/*
 * The breakers of all workers that are in a state that is not the usual one;
 * in place of that, the connections that they have open.
 */
#define NGX_ADM_REDIS_OPEN  ngx_adm_redis_breaker_closed

/* killed: whether the worker that had that slot was; it counts no more */
ngx_uint_t ngx_adm_redis_in_state(ngx_uint_t state,
    ngx_uint_t (*killed)(ngx_uint_t slot));


#endif /* _NGX_ADM_REDIS_SHARED_H_INCLUDED_ */
