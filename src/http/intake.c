
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is made new is charged to the address that asks; how the charge ended
 * is counted when the call ends.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/address.h"
#include "intake.h"


static void ngx_adm_intake_refused(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_intake_t *in, ngx_uint_t dry_run);


#define ngx_adm_intake_count(in, decision)                                    \
    ngx_adm_count(NGX_ADM_COUNT_INTAKES                                       \
                             + (in)->kind * ngx_adm_label_n(TAKE)             \
                             + (decision))

#define ngx_adm_intake_off(in)                                                \
    ((in)->conf == NULL || (in)->conf->step == 0)


/* by ngx_adm_intake_e */
static const char  *ngx_adm_intake_names[] = {
    "assign_rate", "visitor_rate" };


ngx_int_t
ngx_adm_intake(ngx_http_request_t *r, ngx_adm_ctx_t *ctx, ngx_str_t *event,
    ngx_adm_intake_t *in)
{
    ngx_msec_t           wait;
    ngx_uint_t           news;
    ngx_adm_loc_conf_t  *lcf;

    in->charged = 0;

    if (ngx_adm_intake_off(in)) {
        return NGX_OK;
    }

    if (in->address.len == 0
        && ngx_adm_address(r, NGX_ADM_IPV6_PREFIX, &in->address)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_adm_bucket_take(in->kind, &in->address, in->conf, in->full, &wait,
                            &news) == NGX_OK)
    {
        in->charged = 1;

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "admission: charged by \"%s\", event \"%V\"",
                       ngx_adm_intake_names[in->kind], event);
        return NGX_OK;
    }

    if (news) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission: one address, %V, has over half of what "
                      "\"%s\" refuses: is this server behind a proxy or CDN "
                      "without realip?",
                      &in->address, ngx_adm_intake_names[in->kind]);
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    in->retry = (wait + 999) / 1000;

    ngx_adm_intake_refused(r, ctx, event, in, lcf->dry_run);

    return lcf->dry_run ? NGX_OK : NGX_DECLINED;
}


ngx_int_t
ngx_adm_intake_look(ngx_http_request_t *r, ngx_adm_intake_t *in)
{
    ngx_adm_loc_conf_t  *lcf;

    in->full = 0;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_adm_intake_off(in) || lcf->dry_run) {
        return NGX_OK;
    }

    if (ngx_adm_address(r, NGX_ADM_IPV6_PREFIX, &in->address) != NGX_OK) {
        return NGX_ERROR;
    }

    in->full = ngx_adm_bucket_full(in->kind, &in->address, in->conf);

    return in->full ? NGX_DECLINED : NGX_OK;
}


void
ngx_adm_intake_end(ngx_adm_intake_t *in, ngx_uint_t made)
{
    if (!in->charged) {
        return;
    }

    in->charged = 0;

    if (made) {
        ngx_adm_intake_count(in, NGX_ADM_DECISION_ALLOWED);

    } else {
        ngx_adm_bucket_back(in->kind, &in->address, in->conf);
    }
}


static void
ngx_adm_intake_refused(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_intake_t *in, ngx_uint_t dry_run)
{
    const char  *name;

    name = ngx_adm_intake_names[in->kind];

    ngx_adm_intake_count(in, dry_run
                             ? NGX_ADM_DECISION_DRY_RUN
                             : NGX_ADM_DECISION_LIMITED);

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0, "admission denied: %s, "
                  "event \"%V\"%s", name, event, dry_run ? ", dry run" : "");

    /*
     * of several limits that a dry run would have refused it by the first is
     * told
     */

    if (dry_run && ctx->dry_run) {
        return;
    }

    ctx->verdict = NGX_ADM_VERDICT_LIMITED;
    ctx->reason = name;
    ctx->dry_run = dry_run;
}
