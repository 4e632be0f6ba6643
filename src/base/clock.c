
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Redis's time is the host's own and what it is off by, which all workers
 * share.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "clock.h"


#define NGX_ADM_MS_AHEAD  60000      /* ms by which clocks of
                                        workers may differ */


static ngx_atomic_t  *ngx_adm_clock_offset;


void
ngx_adm_clock_use(ngx_atomic_t *offset)
{
    ngx_adm_clock_offset = offset;
}


ngx_msec_t
ngx_adm_since(ngx_msec_t time)
{
    ngx_msec_int_t  ms;

    ms = (ngx_msec_int_t) (ngx_current_msec - time);

    return ngx_max(ms, 0);
}


ngx_msec_t
ngx_adm_ms_since(uint32_t time)
{
    uint32_t  ms;

    ms = (uint32_t) ngx_current_msec - time;

    return (ms > (uint32_t) -NGX_ADM_MS_AHEAD) ? 0 : ms;
}


int64_t
ngx_adm_now_us(void)
{
    int64_t  now;

    now = ngx_adm_wall();

    if (ngx_adm_clock_offset) {
        now += (ngx_atomic_int_t) *ngx_adm_clock_offset;
    }

    return now * 1000;
}
