
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate of tier 2: an entry token of the event and the user is needed.
 * Redis is asked only where strict=on says so.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_restore.h"
#include "ngx_http_admission_token.h"


static ngx_int_t ngx_http_admission_gate_tier2_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, ngx_str_t *user);
static ngx_int_t ngx_http_admission_gate_tier2_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static void ngx_http_admission_gate_tier2_active(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);


ngx_int_t
ngx_http_admission_gate_tier2_applies(ngx_http_request_t *r,
    ngx_http_admission_tier2_conf_t *tier2)
{
    ngx_str_t   value;
    ngx_uint_t  method;

    /* what GET may not have HEAD may not either */

    method = (r->method == NGX_HTTP_HEAD) ? NGX_HTTP_HEAD|NGX_HTTP_GET
                                          : r->method;

    if (tier2->mode == NGX_HTTP_ADMISSION_OFF
        || (tier2->methods && !(tier2->methods & method)))
    {
        return NGX_DECLINED;
    }

    if (tier2->mode == NGX_HTTP_ADMISSION_ON) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, &tier2->value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 3 && ngx_strncmp(value.data, "off", 3) == 0) {
        return NGX_DECLINED;
    }

    if (value.len != 2 || ngx_strncmp(value.data, "on", 2) != 0) {

        /*
         * an empty value too: it may come from a module that has not run,
         * and a gate that stands open is noticed by nobody
         */

        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission_tier2 is neither \"on\" nor \"off\" "
                      "but \"%V\", taken for \"on\"", &value);
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_gate_tier2(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                         rc;
    ngx_str_t                         event, user;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_event_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ctx->entry = NULL;

    rc = ngx_http_admission_request_event(r, &event);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc != NGX_DECLINED) {
        rc = ngx_http_admission_gate_event(r, ctx,
                                           NGX_HTTP_ADMISSION_VERDICT_TIER2,
                                           &event, &conf);
        if (rc != NGX_OK) {
            return rc;
        }
    }

    ngx_str_null(&user);

    if (lcf->tier2->bind) {
        user = ctx->user.id;

        if (user.len == 0) {
            return ngx_http_admission_gate_deny(ctx,
                   NGX_HTTP_ADMISSION_VERDICT_TIER2,
                   ngx_http_admission_reason(NO_VISITOR));
        }
    }

    if (event.len == 0 && !lcf->tier2->any_event) {
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_TIER2,
               ngx_http_admission_reason(NO_EVENT));
    }

    rc = ngx_http_admission_gate_tier2_entry(r, ctx, &event, &user);

    if (rc != NGX_OK || !lcf->tier2->strict) {
        return rc;
    }

    return ngx_http_admission_gate_tier2_ask(r, ctx);
}


static ngx_int_t
ngx_http_admission_gate_tier2_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, ngx_str_t *user)
{
    ngx_int_t                     rc;
    const char                   *why;
    ngx_http_admission_claims_t  *entry;

    rc = ngx_http_admission_gate_entry(r, ctx, event, user, &entry, &why);

    if (rc == NGX_DECLINED) {
        return ngx_http_admission_gate_deny(ctx,
                                            NGX_HTTP_ADMISSION_VERDICT_TIER2,
                                            why);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    ctx->entry = entry;

    if (entry->older) {
        ngx_http_admission_restore_report(r, entry);
    }

    return NGX_OK;
}


/* strict=on: is the user of the entry token still active? */

static ngx_int_t
ngx_http_admission_gate_tier2_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_asked_t  *asked;

    asked = ngx_http_admission_ctx_asked(r, ctx->entry);

    if (asked && asked->rc == NGX_OK) {

        /* it was told with what else had to be asked */

        ctx->answer = asked->active ? NGX_OK : NGX_DECLINED;

        return ngx_http_admission_gate_tier2_answered(ctx);
    }

    ctx->call = ngx_http_admission_queue_is_active(&ctx->entry->sub,
                                          &ctx->entry->uid,
                                          ngx_http_admission_gate_tier2_active,
                                          r);

    if (ctx->call == NULL) {
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_ERROR,
               ngx_http_admission_reason(REDIS));
    }

    return ngx_http_admission_gate_suspend(r, ctx);
}


static void
ngx_http_admission_gate_tier2_active(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_request_t *r = data;

    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    ctx->call = NULL;
    ctx->answered = 1;

    if (rc != NGX_OK) {
        ctx->answer = NGX_ERROR;

    } else if (answer->state == NGX_HTTP_ADMISSION_QUEUE_ACTIVE) {
        ctx->answer = NGX_OK;

    } else {
        ctx->answer = NGX_DECLINED;
    }

    ngx_http_admission_gate_resume(r);
}


ngx_int_t
ngx_http_admission_gate_tier2_answered(ngx_http_admission_ctx_t *ctx)
{
    ctx->answered = 0;

    switch (ctx->answer) {

    case NGX_OK:
        return NGX_OK;

    case NGX_DECLINED:
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_TIER2,
               ngx_http_admission_reason(NOT_ACTIVE));

    default:
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_ERROR,
               ngx_http_admission_reason(REDIS));
    }
}
