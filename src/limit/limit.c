
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

#include "../base/reason.h"
#include "../host/category.h"
#include "fallback.h"
#include "limit.h"
#include "local.h"
#include "parts.h"


/* whether a full window refuses the request, and is not just on trial */

#define ngx_adm_limit_refuses(limit)                                          \
    ((limit)->left < 0 && !(limit)->conf->dry_run)


static ngx_int_t ngx_adm_limits_judge(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static void ngx_adm_limits_log_change(ngx_http_request_t *r,
    ngx_uint_t answered);
static ngx_int_t ngx_adm_limits_verdict(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_uint_t refused, ngx_uint_t closed);
static void ngx_adm_limit_count(ngx_http_request_t *r, ngx_adm_limit_t *limit,
    ngx_uint_t refused);


ngx_int_t
ngx_adm_limits(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_adm_limits_t    *limits;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->limits == NULL || lcf->limits->nelts == 0) {
        return NGX_OK;
    }

    limits = ctx->limits;

    if (limits == NULL) {

        limits = ngx_pcalloc(r->pool, sizeof(ngx_adm_limits_t));

        if (limits == NULL
            || ngx_array_init(&limits->all, r->pool, 2, sizeof(ngx_adm_limit_t))
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        limits->request = r;
        ctx->limits = limits;
        ctx->limits_headers = ngx_adm_limit_headers;
    }

    if (limits->pass != r->uri_changes) {
        limits->pass = r->uri_changes;

        rc = ngx_adm_limits_collect(r, ctx, lcf->limits);

        if (rc == NGX_OK) {
            rc = ngx_adm_limits_ask(r, limits);
        }

        if (rc != NGX_OK) {
            return (rc == NGX_DECLINED) ? NGX_OK : rc;
        }
    }

    return ngx_adm_limits_judge(r, ctx);
}


/* by what Redis said; without it, by "fail=" */

static ngx_int_t
ngx_adm_limits_judge(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_uint_t         i, n, alone, missing, closed, refused;
    ngx_adm_limit_t   *limit;
    ngx_adm_limits_t  *limits;
    ngx_adm_limit_t   *local[NGX_ADM_LIMITS_MAX];

    limits = ctx->limits;

    limit = limits->all.elts;
    limit += limits->first;
    n = limits->all.nelts - limits->first;

    alone = 0;
    missing = 0;
    closed = 0;
    refused = 0;

    for (i = 0; i < n; i++) {

        refused |= ngx_adm_limit_refuses(&limit[i]);

        if (limit[i].redis || limit[i].local) {
            continue;
        }

        missing = 1;

        switch (limit[i].conf->fail) {

        case NGX_ADM_FAIL_LOCAL:
            local[alone++] = &limit[i];
            break;

        case NGX_ADM_FAIL_CLOSED:
            closed |= !limit[i].conf->dry_run;
            break;
        }
    }

    if (limits->nasked && ngx_adm_limit_changed(!missing)) {
        ngx_adm_limits_log_change(r, !missing);
    }

    if (alone && !refused && !closed) {

        ngx_adm_limit_local(local, alone);

        for (i = 0; i < alone; i++) {
            local[i]->local = 1;
            refused |= ngx_adm_limit_refuses(local[i]);
        }
    }

    /* take back what some node charged; in a dry run only that */

    if (refused || closed) {
        ngx_adm_limits_back(limits, limits->first);
    }

    return ngx_adm_limits_verdict(r, ctx, refused, closed);
}


static void
ngx_adm_limits_log_change(ngx_http_request_t *r, ngx_uint_t answered)
{
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
ngx_adm_limits_verdict(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_uint_t refused, ngx_uint_t closed)
{
    const char          *reason;
    ngx_uint_t           i, n;
    ngx_adm_limit_t     *limit, *full;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    limit = ctx->limits->all.elts;
    limit += ctx->limits->first;
    n = ctx->limits->all.nelts - ctx->limits->first;

    full = NULL;

    for (i = 0; i < n; i++) {

        if (!limit[i].conf->dry_run && !lcf->dry_run) {
            /* others get another answer; a trial tells the client nothing */
            ctx->gated = 1;
        }

        ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "admission: rate limit \"%V\": %L left, %L ms, by %s",
                       &limit[i].conf->category->name, limit[i].left,
                       limit[i].wait,
                       limit[i].redis ? "redis"
                                      : limit[i].local ? "host" : "nobody");

        ngx_adm_limit_count(r, &limit[i], refused || closed);

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
        ctx->verdict = NGX_ADM_VERDICT_LIMITED;
        ctx->reason = reason;

        return NGX_ABORT;
    }

    if (closed) {
        ctx->verdict = NGX_ADM_VERDICT_ERROR;
        ctx->reason = ngx_adm_reason(REDIS);

        return NGX_ABORT;
    }

    if (full) {
        ctx->verdict = NGX_ADM_VERDICT_LIMITED;
        ctx->reason = reason;
        ctx->dry_run = 1;

        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: rate limit \"%s\" exceeded, dry run", reason);

    } else if (ctx->verdict != NGX_ADM_VERDICT_BYPASS) {
        ctx->verdict = NGX_ADM_VERDICT_PASS;
        ctx->reason = NULL;
        ctx->dry_run = 0;
    }

    return NGX_OK;
}


/* a window with room, of a request that another one refused, counts nothing */

static void
ngx_adm_limit_count(ngx_http_request_t *r, ngx_adm_limit_t *limit,
    ngx_uint_t refused)
{
    ngx_adm_decision_e   what;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (limit->left < 0) {

        if (limit->conf->dry_run || lcf->dry_run) {
            what = NGX_ADM_DECISION_DRY_RUN;

        } else {
            what = limit->local ? NGX_ADM_DECISION_LOCAL_LIMITED
                                : NGX_ADM_DECISION_LIMITED;
        }

    } else if (limit->redis || limit->local) {

        /* nor what an earlier location has counted */

        if (refused || limit->again) {
            return;
        }

        what = limit->local ? NGX_ADM_DECISION_LOCAL_ALLOWED
                            : NGX_ADM_DECISION_ALLOWED;

    } else if (limit->conf->fail == NGX_ADM_FAIL_LOCAL) {
        /* nobody asked it any more */
        return;

    } else {
        what = NGX_ADM_DECISION_ERROR;
    }

    ngx_adm_category_count(limit->conf->category, what);
}
