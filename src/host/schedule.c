
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The turns of the schedule: a timer in each worker.  The worker with the
 * host's lease does what is due, and comes back when something will be.  All
 * timers are cancelable, so that none keeps a leaving worker.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "../base/timer.h"
#include "../redis/client.h"
#include "doubt.h"
#include "event_work.h"
#include "lease.h"
#include "schedule.h"
#include "touch.h"
#include "zone.h"


#define NGX_ADM_SCHEDULE_REMIND  60000       /* ms */


static void ngx_adm_schedule_tick(ngx_event_t *ev);
static void ngx_adm_schedule_report(void);


static ngx_adm_schedule_part_t  **ngx_adm_schedule_parts;
static ngx_event_t                ngx_adm_schedule_timer;
static ngx_uint_t                 ngx_adm_schedule_holds;


void
ngx_adm_schedule_list(ngx_adm_schedule_part_t **parts)
{
    ngx_adm_schedule_parts = parts;
}


ngx_int_t
ngx_adm_schedule_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_event_t               *ev;
    ngx_adm_schedule_part_t  **part;

    for (part = ngx_adm_schedule_parts; *part; part++) {
        if ((*part)->start && (*part)->start(cycle, mcf) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    ev = &ngx_adm_schedule_timer;

    ngx_adm_timer_init(ev, ngx_adm_schedule_tick, cycle->log);
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_ADM_TICK);

    return NGX_OK;
}


void
ngx_adm_schedule_stop(void)
{
    if (ngx_adm_schedule_timer.timer_set) {
        ngx_del_timer(&ngx_adm_schedule_timer);
    }

    ngx_adm_lease_leave();
}


/* moves a timer even if it is only a little too late, unlike ngx_add_timer() */

void
ngx_adm_schedule_soon(ngx_msec_t ms)
{
    ngx_event_t  *ev;

    ev = &ngx_adm_schedule_timer;
    ms = ngx_max(ms, NGX_ADM_TICK);

    if (!ngx_adm_schedule_holds
        || !ev->timer_set
        || (ngx_msec_int_t) (ev->timer.key - (ngx_current_msec + ms)) <= 0)
    {
        return;
    }

    ngx_del_timer(ev);
    ngx_add_timer(ev, ms);
}


static void
ngx_adm_schedule_tick(ngx_event_t *ev)
{
    ngx_msec_t                 rest;
    ngx_adm_schedule_part_t  **part;

    if (ngx_exiting) {

        /*
         * new workers go on at once, without waiting for the lease to run out
         */

        ngx_adm_lease_leave();
        ngx_adm_redis_leave(ngx_adm_redis);
        return;
    }

    if (!ngx_adm_lease_take()) {
        ngx_adm_schedule_holds = 0;
        ngx_add_timer(ev, NGX_ADM_ASIDE);
        return;
    }

    /* there is no news of what was missed while the host was not in touch */

    if (ngx_adm_regained()) {
        ngx_adm_events_recall();
    }

    ngx_adm_redis_background(ngx_adm_redis, 1);

    for (part = ngx_adm_schedule_parts; *part; part++) {

        if (!ngx_adm_schedule_holds && (*part)->begin) {
            (*part)->begin();
        }

        (*part)->turn(ev->log);
    }

    ngx_adm_redis_background(ngx_adm_redis, 0);

    ngx_adm_schedule_holds = 1;

    rest = NGX_ADM_REST;

    for (part = ngx_adm_schedule_parts; *part; part++) {
        rest = ngx_min(rest, (*part)->next());
    }

    ngx_add_timer(ev, ngx_max(rest, NGX_ADM_TICK));

    ngx_adm_schedule_report();
}


static void
ngx_adm_schedule_report(void)
{
    int64_t     age;
    ngx_uint_t  n;

    static ngx_msec_t  told;

    if (ngx_adm_zone_made_anew()) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                      "admission: a process died while it changed the zone, "
                      "which was emptied");
    }

    if (told == 0 || ngx_adm_since(told) >= NGX_ADM_SCHEDULE_REMIND) {

        n = ngx_adm_events_forgotten();

        if (n) {
            told = ngx_adm_mark_now();

            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "admission: the zone is too small for all events "
                          "with users, %ui times one was forgotten: people "
                          "wait for longer than they have to, make "
                          "\"admission_zone\" larger", n);
        }
    }

    n = ngx_adm_revocations_lost(&age);

    if (n) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: %ui revocations were forgotten early, entry "
                      "tokens older than %L s are asked for from redis: make "
                      "\"admission_zone\" larger", n, age);
    }
}
