
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The lease of the schedule.  By its beats one also knows that the host stood
 * still: then what was known of Redis may not be so any more.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../redis/shared.h"
#include "lease.h"


/* ms without a beat, which mean that the host itself stood still */
#define NGX_ADM_STOOD_STILL  5000


#define ngx_adm_lease(zone)                                                   \
    ((ngx_adm_lease_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_lease_part))


typedef struct {
    ngx_pid_t                   holder;     /* 0: nobody */
    ngx_msec_t                  beat;       /* the last, ms */
} ngx_adm_lease_t;


static void ngx_adm_lease_make(ngx_adm_zone_t *zone);
static void ngx_adm_lease_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


ngx_adm_zone_part_t  ngx_adm_lease_part = {
    .size = sizeof(ngx_adm_lease_t),
    .make = ngx_adm_lease_make,
    .copy = ngx_adm_lease_copy };


ngx_uint_t
ngx_adm_lease_take(void)
{
    ngx_msec_t        age;
    ngx_uint_t        held, new;
    ngx_adm_lease_t  *lease;

    lease = ngx_adm_lease(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    age = ngx_adm_since(lease->beat);

    held = (lease->holder == ngx_pid
            || lease->holder == 0
            || age > NGX_ADM_LEASE);

    new = (held && lease->holder != ngx_pid);

    if (held) {

        if (age > NGX_ADM_STOOD_STILL) {
            ngx_adm_redis_count_break();
        }

        lease->holder = ngx_pid;
        lease->beat = ngx_current_msec;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (new) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: schedule: lease taken, %M ms after its last "
                       "beat", age);
    }

    return held;
}


void
ngx_adm_lease_leave(void)
{
    ngx_adm_lease_t  *lease;

    lease = ngx_adm_lease(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    if (lease->holder == ngx_pid) {
        lease->holder = 0;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_msec_t
ngx_adm_lease_age(void)
{
    return ngx_adm_since(ngx_adm_lease(ngx_adm_zone)->beat);
}


static void
ngx_adm_lease_make(ngx_adm_zone_t *zone)
{
    ngx_adm_lease(zone)->beat = ngx_current_msec;
}


static void
ngx_adm_lease_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_lease(zone)->beat = ngx_adm_lease(ozone)->beat;
}
