
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Redis's time is the host's own with an offset, which all workers share.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "clock.h"


static ngx_atomic_t  ngx_adm_clock_none;

ngx_atomic_t  *ngx_adm_clock_offset = &ngx_adm_clock_none;


void
ngx_adm_clock_use(ngx_atomic_t *offset)
{
    ngx_adm_clock_offset = offset ? offset : &ngx_adm_clock_none;
}
