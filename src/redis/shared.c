
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How the workers of a host tell each other of Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "shared.h"


static ngx_adm_redis_shared_t  ngx_adm_redis_own;

ngx_adm_redis_shared_t  *ngx_adm_redis_shared = &ngx_adm_redis_own;


void
ngx_adm_redis_shared_use(ngx_adm_redis_shared_t *shared)
{
    ngx_adm_redis_shared = shared;

    shared->n[0][ngx_process_slot] = 0;
    shared->n[1][ngx_process_slot] = 0;
    shared->n[2][ngx_process_slot] = 0;
}


void
ngx_adm_redis_count_open(ngx_int_t n)
{
    ngx_adm_redis_shared->n[NGX_ADM_REDIS_OPEN] [ngx_process_slot] += n;
}


void
ngx_adm_redis_count_breaker(ngx_adm_redis_breaker_state_e from,
    ngx_adm_redis_breaker_state_e to)
{
    ngx_adm_redis_shared_t  *shared;

    shared = ngx_adm_redis_shared;

    /* states of before there was shared memory are not counted in it */

    if (from != ngx_adm_redis_breaker_closed
        && shared->n[from][ngx_process_slot] > 0)
    {
        shared->n[from][ngx_process_slot]--;
    }

    if (to != ngx_adm_redis_breaker_closed) {
        shared->n[to][ngx_process_slot]++;
    }

    if (to == ngx_adm_redis_breaker_open) {
        ngx_adm_count(NGX_ADM_COUNT_BREAKER_OPENS);
    }
}


void
ngx_adm_redis_count_answer(ngx_uint_t kind, uint64_t issued, ngx_uint_t good)
{
    uint64_t                 now;
    ngx_adm_redis_shared_t  *shared;

    shared = ngx_adm_redis_shared;

    if (!good) {
        ngx_adm_count(NGX_ADM_COUNT_CALL_ERRORS
                      + kind * NGX_ADM_CALL_ENDS
                      + NGX_ADM_CALL_END_ERROR);

    } else {
        if (shared->heard != ngx_current_msec) {
            shared->heard = ngx_current_msec;
        }

        if (shared->since == 0) {
            shared->since = ngx_current_msec ? ngx_current_msec : 1;
        }
    }

    now = ngx_adm_monotonic_us();

    ngx_adm_observe(NGX_ADM_HISTOGRAM_CALL, kind,
                    now > issued ? now - issued : 0);
}


void
ngx_adm_redis_count_failed(ngx_uint_t kind, ngx_adm_call_end_e end)
{
    ngx_adm_redis_count_break();

    ngx_adm_count(NGX_ADM_COUNT_CALL_ERRORS + kind * NGX_ADM_CALL_ENDS + end);
}


void
ngx_adm_redis_count_break(void)
{
    /* a worker that leaves closes its connections, which means nothing */

    if (!ngx_exiting && !ngx_terminate) {
        ngx_adm_redis_shared->since = 0;
    }
}


ngx_int_t
ngx_adm_redis_masters(uint32_t hash)
{
    ngx_atomic_t       *masters;
    ngx_atomic_uint_t   old;

    masters = &ngx_adm_redis_shared->masters;
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

    ngx_adm_count(NGX_ADM_COUNT_FAILOVERS);
    ngx_adm_redis_count_break();

    return NGX_OK;
}


ngx_uint_t
ngx_adm_redis_in_state(ngx_uint_t state,
    ngx_uint_t (*killed)(ngx_uint_t slot))
{
    ngx_uint_t  i, n;

    n = 0;

    for (i = 0; i < NGX_MAX_PROCESSES; i++) {

        if (ngx_adm_redis_shared->n[state][i] && !killed(i)) {
            n += ngx_adm_redis_shared->n[state][i];
        }
    }

    return n;
}
