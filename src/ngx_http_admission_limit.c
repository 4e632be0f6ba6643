
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The limits of a location, judged together: all windows are charged, or
 * none.  On a single node that is one script; of windows on several nodes
 * each is asked by itself, at the same time, and what was charged in vain is
 * taken back.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_limit_local.h"
#include "ngx_http_admission_limit_parts.h"
#include "ngx_http_admission_reason.h"


static ngx_http_admission_limits_t *ngx_http_admission_limits_get(
    ngx_http_request_t *r, ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_limits_decide(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_uint_t ngx_http_admission_limits_refused(
    ngx_http_admission_limit_t *limit, ngx_uint_t n);
static void ngx_http_admission_limits_changed(ngx_http_request_t *r,
    ngx_uint_t answered);
static ngx_int_t ngx_http_admission_limits_verdict(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_uint_t refused, ngx_uint_t closed);
static void ngx_http_admission_limit_count(ngx_http_request_t *r,
    ngx_http_admission_limit_t *limit, ngx_uint_t refused);


ngx_int_t
ngx_http_admission_gate_limits(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc;
    ngx_http_admission_limits_t    *limits;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->limits == NULL || lcf->limits->nelts == 0) {
        return NGX_OK;
    }

    limits = ngx_http_admission_limits_get(r, ctx);
    if (limits == NULL) {
        return NGX_ERROR;
    }

    if (limits->pass != r->uri_changes) {
        limits->pass = r->uri_changes;

        rc = ngx_http_admission_limits_collect(r, ctx, lcf->limits);

        if (rc == NGX_OK) {
            rc = ngx_http_admission_limits_ask(r, ctx);
        }

        if (rc != NGX_OK) {
            return (rc == NGX_DECLINED) ? NGX_OK : rc;
        }
    }

    return ngx_http_admission_limits_decide(r, ctx);
}


/* a full one; else that with the fewest requests left, for longest */

ngx_http_admission_limit_t *
ngx_http_admission_limit_told(ngx_http_admission_ctx_t *ctx)
{
    ngx_uint_t                   i;
    ngx_http_admission_limit_t  *limit, *told;

    if (ctx->limits == NULL) {
        return NULL;
    }

    limit = ctx->limits->all.elts;
    told = NULL;

    for (i = 0; i < ctx->limits->all.nelts; i++) {

        if (limit[i].trial || !(limit[i].redis || limit[i].local)) {
            continue;
        }

        if (told == NULL
            || limit[i].left < told->left
            || (limit[i].left == told->left && limit[i].wait > told->wait))
        {
            told = &limit[i];
        }
    }

    return told;
}


static ngx_http_admission_limits_t *
ngx_http_admission_limits_get(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_limits_t  *limits;

    if (ctx->limits) {
        return ctx->limits;
    }

    limits = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_limits_t));
    if (limits == NULL) {
        return NULL;
    }

    if (ngx_array_init(&limits->all, r->pool, 2,
                       sizeof(ngx_http_admission_limit_t))
        != NGX_OK)
    {
        return NULL;
    }

    limits->request = r;
    ctx->limits = limits;

    return limits;
}


/* with what Redis said, and without it by "fail=" */

static ngx_int_t
ngx_http_admission_limits_decide(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_uint_t                   i, n, alone, missing, closed, refused;
    ngx_http_admission_limit_t  *limit;
    ngx_http_admission_limit_t  *local[NGX_HTTP_ADMISSION_LIMITS_MAX];

    limit = ctx->limits->all.elts;
    limit += ctx->limits->first;
    n = ctx->limits->all.nelts - ctx->limits->first;

    alone = 0;
    missing = 0;
    closed = 0;

    for (i = 0; i < n; i++) {

        if (limit[i].redis || limit[i].local) {
            continue;
        }

        missing = 1;

        switch (limit[i].conf->fail) {

        case NGX_HTTP_ADMISSION_FAIL_LOCAL:
            local[alone++] = &limit[i];
            break;

        case NGX_HTTP_ADMISSION_FAIL_CLOSED:
            closed |= !limit[i].conf->dry_run;
            break;
        }
    }

    if (ctx->limits->nasked) {
        ngx_http_admission_limits_changed(r, !missing);
    }

    refused = ngx_http_admission_limits_refused(limit, n);

    if (!refused && !closed && alone) {

        ngx_http_admission_limit_local(local, alone);

        for (i = 0; i < alone; i++) {
            local[i]->local = 1;
        }

        refused = ngx_http_admission_limits_refused(limit, n);
    }

    /* some node charged it; in a dry run that is all that has to go */

    if (refused || closed) {
        ngx_http_admission_limits_back_from(ctx->limits, ctx->limits->first);
    }

    return ngx_http_admission_limits_verdict(r, ctx, refused, closed);
}


/* whether one is full that is not there for a trial */

static ngx_uint_t
ngx_http_admission_limits_refused(ngx_http_admission_limit_t *limit,
    ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        if (limit[i].left < 0 && !limit[i].conf->dry_run) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_admission_limits_changed(ngx_http_request_t *r, ngx_uint_t answered)
{
    if (!ngx_http_admission_limit_changed(answered)) {
        return;
    }

    if (answered) {
        ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0,
                      "admission: redis answers again, "
                      "rate limits are counted there");

    } else {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: redis does not answer, rate limits go by "
                      "\"fail=\"");
    }
}


static ngx_int_t
ngx_http_admission_limits_verdict(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_uint_t refused, ngx_uint_t closed)
{
    const char                     *reason;
    ngx_uint_t                      i, n;
    ngx_http_admission_limit_t     *limit, *full;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    limit = ctx->limits->all.elts;
    limit += ctx->limits->first;
    n = ctx->limits->all.nelts - ctx->limits->first;

    full = NULL;

    for (i = 0; i < n; i++) {

        if (!limit[i].conf->dry_run && !lcf->dry_run) {
            /* others get another answer: a trial tells the client nothing */
            ctx->gated = 1;
        }

        ngx_http_admission_limit_count(r, &limit[i], refused || closed);

        if (limit[i].left < 0
            && (full == NULL
                || full->conf->dry_run > limit[i].conf->dry_run
                || (full->conf->dry_run == limit[i].conf->dry_run
                    && full->wait < limit[i].wait)))
        {
            full = &limit[i];
        }
    }

    reason = full ? (const char *) full->conf->category->name.data : NULL;

    if (refused) {
        return ngx_http_admission_gate_deny(ctx,
                                          NGX_HTTP_ADMISSION_VERDICT_LIMITED,
                                          reason);
    }

    if (closed) {
        return ngx_http_admission_gate_deny(ctx,
                                            NGX_HTTP_ADMISSION_VERDICT_ERROR,
                                            ngx_http_admission_reason(REDIS));
    }

    if (full) {
        ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_LIMITED;
        ctx->reason = reason;
        ctx->dry_run = 1;

        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: rate limit \"%s\" exceeded, dry run",
                      reason);

    } else if (ctx->verdict != NGX_HTTP_ADMISSION_VERDICT_BYPASS) {
        ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_PASS;
        ctx->reason = NULL;
        ctx->dry_run = 0;
    }

    return NGX_OK;
}


/* one that had room for what another one refused counts nothing */

static void
ngx_http_admission_limit_count(ngx_http_request_t *r,
    ngx_http_admission_limit_t *limit, ngx_uint_t refused)
{
    ngx_http_admission_count_e      what;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (limit->left < 0) {

        if (limit->conf->dry_run || lcf->dry_run) {
            what = NGX_HTTP_ADMISSION_COUNT_DRY_RUN;

        } else {
            what = limit->local ? NGX_HTTP_ADMISSION_COUNT_LOCAL_LIMITED
                                : NGX_HTTP_ADMISSION_COUNT_LIMITED;
        }

    } else if (limit->redis || limit->local) {

        /* likewise what an earlier place has counted */

        if (refused || limit->again) {
            return;
        }

        what = limit->local ? NGX_HTTP_ADMISSION_COUNT_LOCAL_ALLOWED
                            : NGX_HTTP_ADMISSION_COUNT_ALLOWED;

    } else if (limit->conf->fail == NGX_HTTP_ADMISSION_FAIL_LOCAL) {
        /* it was not asked any more */
        return;

    } else {
        what = NGX_HTTP_ADMISSION_COUNT_ERROR;
    }

    ngx_http_admission_count(limit->conf->category, what);
}
