
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is measured of backends goes to Redis's script, by the worker with the
 * lease, twice a second and event at most; what it decides comes back.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "errands.h"
#include "follow.h"
#include "follow_steps.h"


#define NGX_ADM_FOLLOW_CALLS  64         /* out at once */
#define NGX_ADM_FOLLOW_PAIR   (2 * NGX_INT32_LEN + 2)


static ngx_int_t ngx_adm_follow_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_follow_turn(ngx_log_t *log);
static ngx_msec_t ngx_adm_follow_next(void);
static void ngx_adm_follow_tell(ngx_str_t *event);
static ngx_int_t ngx_adm_follow_report(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_follow_report_t *report,
    ngx_adm_measured_t *measured);
static void ngx_adm_follow_bins(uint32_t *bins, ngx_str_t *text);
static void ngx_adm_follow_answered(void *data, ngx_int_t rc,
    ngx_adm_follow_t *follow);


ngx_adm_schedule_part_t  ngx_adm_follow_schedule_part = {
    .start = ngx_adm_follow_start,
    .turn = ngx_adm_follow_turn,
    .next = ngx_adm_follow_next };


static ngx_adm_main_conf_t  *ngx_adm_follow_conf;
static ngx_adm_errands_t     ngx_adm_follow_errands;
static ngx_rbtree_key_t      ngx_adm_follow_key;
static ngx_msec_t            ngx_adm_follow_looked;


static ngx_int_t
ngx_adm_follow_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_follow_conf = mcf;

    return ngx_adm_errands_init(cycle, &ngx_adm_follow_errands,
                                NGX_ADM_FOLLOW_CALLS);
}


static void
ngx_adm_follow_turn(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_adm_follow_errands.nfree == 0
        || (ngx_adm_follow_key == 0
            && ngx_adm_since(ngx_adm_follow_looked) < NGX_ADM_REST))
    {
        return;
    }

    ngx_adm_follow_looked = ngx_current_msec;

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        ngx_adm_follow_due(pool, &ids, &ngx_adm_follow_key);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_adm_follow_tell(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


static ngx_msec_t
ngx_adm_follow_next(void)
{
    return ngx_adm_follow_key ? NGX_ADM_TICK : NGX_ADM_REST;
}


/* one for which there is no errand is told of with the next look */

static void
ngx_adm_follow_tell(ngx_str_t *event)
{
    u_char                    bins[NGX_ADM_MEASURE_BINS * NGX_ADM_FOLLOW_PAIR];
    ngx_adm_errand_t         *errand;
    ngx_adm_measured_t        measured;
    ngx_adm_event_conf_t     *conf;
    ngx_adm_follow_report_t   report;

    conf = ngx_adm_event_conf(ngx_adm_follow_conf, event);

    if (conf == NULL) {
        conf = &ngx_adm_follow_conf->event_default;
    }

    if (ngx_adm_follow_errands.nfree == 0
        || ngx_adm_follow_report(event, conf, &report, &measured) != NGX_OK)
    {
        return;
    }

    report.bins.data = bins;
    ngx_adm_follow_bins(measured.bins, &report.bins);

    errand = ngx_adm_errand_take(&ngx_adm_follow_errands, event, conf);

    if (ngx_adm_follow_call(event, &report, ngx_adm_follow_answered, errand)
        == NULL)
    {
        ngx_adm_errand_free(&ngx_adm_follow_errands, errand);
    }
}


/* NGX_DECLINED: there is nothing to tell */

static ngx_int_t
ngx_adm_follow_report(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_follow_report_t *report, ngx_adm_measured_t *measured)
{
    ngx_memzero(report, sizeof(ngx_adm_follow_report_t));

    if (ngx_adm_follow_take(event, conf, measured, &report->known) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (!ngx_adm_is_followed(conf)) {

        /* by a configuration of before: what that limited is so no more */

        if (report->known.at == 0) {
            return NGX_DECLINED;
        }

        report->what = NGX_ADM_FOLLOW_OFF;

    } else if (conf->backend_follow == NGX_ADM_BACKEND_DRY) {
        report->what = NGX_ADM_FOLLOW_DRY;

    } else {
        report->what = NGX_ADM_FOLLOW_ON;
    }

    report->latency = conf->backend_latency;
    report->errors = conf->backend_errors ? conf->backend_errors : -1;
    report->rate = conf->vwr_rate;
    report->rate_min = conf->vwr_rate_min ? conf->vwr_rate_min * 1000
                                          : conf->vwr_rate * 1000 / 20;
    report->threshold = conf->threshold;
    report->threshold_min = conf->threshold_min;

    report->requests = measured->requests;
    report->counted = measured->counted;
    report->failed = measured->failed;
    report->failed_top = measured->failed_top;
    report->slow_top = measured->slow_top;
    report->failed_users = measured->failed_users;
    report->users = measured->users;
    report->retry = measured->retry;
    report->retry_users = measured->retry_users;
    report->retry_seconds = measured->retry_seconds;
    report->retry_top = measured->retry_top;
    report->waiting = measured->waiting;
    report->late = measured->late;
    report->hung = measured->hung;

    return NGX_OK;
}


static void
ngx_adm_follow_bins(uint32_t *bins, ngx_str_t *text)
{
    u_char      *p;
    ngx_uint_t   i;

    p = text->data;

    for (i = 0; i < NGX_ADM_MEASURE_BINS; i++) {

        if (bins[i]) {
            p = ngx_sprintf(p, p == text->data ? "%ui %uD" : " %ui %uD", i,
                            bins[i]);
        }
    }

    text->len = p - text->data;
}


static void
ngx_adm_follow_answered(void *data, ngx_int_t rc, ngx_adm_follow_t *follow)
{
    ngx_adm_errand_t  *errand = data;

    if (rc == NGX_OK) {
        ngx_adm_follow_note(&errand->event,
                            ngx_adm_is_followed(errand->conf) ? follow : NULL);
    }

    ngx_adm_errand_free(&ngx_adm_follow_errands, errand);
}
