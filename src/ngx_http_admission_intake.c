
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_address.h"
#include "ngx_http_admission_intake.h"


static ngx_int_t ngx_http_admission_intake_address(ngx_http_request_t *r,
    ngx_http_admission_intake_t *in);
static void ngx_http_admission_intake_refused(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_intake_t *in, ngx_uint_t dry_run);
static void ngx_http_admission_intake_count(ngx_http_admission_intake_t *in,
    ngx_http_admission_intake_count_e what);


/* by ngx_http_admission_intake_e */
static const char  *ngx_http_admission_intake_names[] = {
    "assign_rate", "visitor_rate"
};


ngx_int_t
ngx_http_admission_intake(ngx_http_request_t *r, ngx_http_admission_ctx_t *ctx,
    ngx_str_t *event, ngx_http_admission_intake_t *in)
{
    ngx_msec_t                      wait;
    ngx_uint_t                      news;
    ngx_http_admission_loc_conf_t  *lcf;

    in->charged = 0;

    if (in->conf == NULL || in->conf->step == 0) {
        return NGX_OK;
    }

    if (ngx_http_admission_intake_address(r, in) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ngx_http_admission_bucket_take(in->kind, &in->address, in->conf,
                                       in->full, &wait, &news)
        == NGX_OK)
    {
        in->charged = 1;
        return NGX_OK;
    }

    if (news) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission: one address, %V, has over half of what "
                      "\"%s\" refuses: is this server behind a proxy or CDN "
                      "without realip?",
                      &in->address, ngx_http_admission_intake_names[in->kind]);
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    in->retry = (wait + 999) / 1000;

    ngx_http_admission_intake_refused(r, ctx, event, in, lcf->dry_run);

    return lcf->dry_run ? NGX_OK : NGX_DECLINED;
}


ngx_int_t
ngx_http_admission_intake_look(ngx_http_request_t *r,
    ngx_http_admission_intake_t *in)
{
    ngx_http_admission_loc_conf_t  *lcf;

    in->full = 0;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (in->conf == NULL || in->conf->step == 0 || lcf->dry_run) {
        return NGX_OK;
    }

    if (ngx_http_admission_intake_address(r, in) != NGX_OK) {
        return NGX_ERROR;
    }

    in->full = ngx_http_admission_bucket_full(in->kind, &in->address,
                                              in->conf);

    return in->full ? NGX_DECLINED : NGX_OK;
}


void
ngx_http_admission_intake_end(ngx_http_admission_intake_t *in, ngx_uint_t made)
{
    if (!in->charged) {
        return;
    }

    in->charged = 0;

    if (made) {
        ngx_http_admission_intake_count(in, NGX_HTTP_ADMISSION_INTAKE_ALLOWED);

    } else {
        ngx_http_admission_bucket_back(in->kind, &in->address, in->conf);
    }
}


static ngx_int_t
ngx_http_admission_intake_address(ngx_http_request_t *r,
    ngx_http_admission_intake_t *in)
{
    if (in->address.len) {
        return NGX_OK;
    }

    return ngx_http_admission_address(r, NGX_HTTP_ADMISSION_IPV6_PREFIX,
                                      &in->address);
}


static void
ngx_http_admission_intake_refused(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_intake_t *in, ngx_uint_t dry_run)
{
    const char  *name;

    name = ngx_http_admission_intake_names[in->kind];

    ngx_http_admission_intake_count(in, dry_run
                                        ? NGX_HTTP_ADMISSION_INTAKE_DRY_RUN
                                        : NGX_HTTP_ADMISSION_INTAKE_LIMITED);

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "admission denied: %s, event \"%V\"%s", name, event,
                  dry_run ? ", dry run" : "");

    /* of several that a dry run would have refused it for, the first is told */

    if (dry_run && ctx->dry_run) {
        return;
    }

    ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_LIMITED;
    ctx->reason = name;
    ctx->dry_run = dry_run;
}


static void
ngx_http_admission_intake_count(ngx_http_admission_intake_t *in,
    ngx_http_admission_intake_count_e what)
{
    ngx_http_admission_intake_counts_t  *counts;

    counts = ngx_http_admission_bucket_counts();

    (void) ngx_atomic_fetch_add(&counts->n[in->kind][what], 1);
}
