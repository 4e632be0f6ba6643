
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A request passes through the access and precontent phases once for each
 * location it comes to: by "rewrite ... last", try_files, index, error_page,
 * X-Accel-Redirect or a named location.  Each of these passes is judged, once:
 * NGINX counts r->uri_changes down from one pass to the next, which names it.
 *
 * Where a pass is judged: in the access phase, but after it where the user is
 * told by another access module.  The precontent handler also catches a pass
 * whose access phase was cut short ("satisfy any") before the gate's turn.
 *
 * A pass is NGX_DECLINED, never a grant.  A denial is final: the phase
 * handler finalizes the request itself, so that "satisfy any" can not undo
 * it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_deny.h"
#include "ngx_http_admission_edge.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_limit.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_user.h"


static ngx_int_t ngx_http_admission_gate(ngx_http_request_t *r);
static ngx_int_t ngx_http_admission_gate_judge(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_gate_tiers(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_gate_identity(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

static ngx_int_t ngx_http_admission_gate_tokens(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_gate_user(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

static void ngx_http_admission_gate_denied(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_gate_dry_run(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_gate_tell(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static void ngx_http_admission_gate_log(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, const char *note);


/*
 * Once a request, in the first phase that it comes to: one that is refused
 * before any (400, 414, 494, 497) may go on to its error_page, by a redirect
 * or to a named location.
 */

ngx_int_t
ngx_http_admission_gate_clean(ngx_http_request_t *r)
{
    ngx_http_admission_ctx_t       *ctx;
    ngx_http_admission_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (r != r->main
        || (!scf->users && !scf->gated && scf->edges == NULL))
    {
        return NGX_DECLINED;
    }

    ctx = ngx_http_admission_ctx_get(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->cleaned) {
        return NGX_DECLINED;
    }

    if (ngx_http_admission_edge_take(r, ctx) != NGX_OK
        || ngx_http_admission_identity_remove(r) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->cleaned = 1;

    return NGX_DECLINED;
}


/*
 * In each phase for rewrites: what the server's own make of the address of an
 * error page is not that page ("rewrite ^ /index.php") but goes on from it.
 */

ngx_int_t
ngx_http_admission_gate_error_page(ngx_http_request_t *r)
{
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    if (ctx == NULL || r != r->main || ctx->error_pass != r->uri_changes) {
        return NGX_DECLINED;
    }

    if (ctx->error_uri.data == NULL) {
        ctx->error_uri = r->uri;

    } else if (ctx->error_uri.len != r->uri.len
               || ngx_memcmp(ctx->error_uri.data, r->uri.data, r->uri.len)
                  != 0)
    {
        ctx->error_pass = 0;
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_admission_gate_access(ngx_http_request_t *r)
{
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->user->source == NGX_HTTP_ADMISSION_USER_VARIABLE) {
        /* the module that sets the variable has not run yet */
        return NGX_DECLINED;
    }

    return ngx_http_admission_gate(r);
}


ngx_int_t
ngx_http_admission_gate_precontent(ngx_http_request_t *r)
{
    return ngx_http_admission_gate(r);
}


static ngx_int_t
ngx_http_admission_gate(ngx_http_request_t *r)
{
    ngx_int_t                       rc;
    ngx_http_admission_ctx_t       *ctx;
    ngx_http_admission_srv_conf_t  *scf;
    ngx_http_admission_loc_conf_t  *lcf;

    if (r != r->main || r->post_action) {
        return NGX_DECLINED;
    }

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);
    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (!scf->users && !scf->gated && lcf->limits == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_admission_ctx_get(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->pass == r->uri_changes) {
        return NGX_DECLINED;
    }

    rc = ngx_http_admission_gate_judge(r, ctx);

    switch (rc) {

    case NGX_OK:
        ctx->pass = r->uri_changes;
        return NGX_DECLINED;

    case NGX_AGAIN:
        return NGX_AGAIN;

    case NGX_ABORT:
        if (lcf->dry_run) {
            return ngx_http_admission_gate_dry_run(r, ctx);
        }

        if (ctx->limits) {
            /* those of a place from which it was redirected */
            ngx_http_admission_limits_back(ctx->limits);
        }

        ngx_http_admission_gate_denied(r, ctx);

        rc = ngx_http_admission_gate_tell(r, ctx);
        ngx_http_finalize_request(r, rc);
        return NGX_DONE;

    default:
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


/* returns, as what it calls does, what ngx_http_admission_gate.h says */

static ngx_int_t
ngx_http_admission_gate_judge(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc;
    ngx_http_admission_claims_t    *entry;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ctx->error_pass != r->uri_changes
        && !ngx_http_admission_is_preflight(r))
    {

        /* a request that waited for its limits is not asked for tokens again */

        if (lcf->content == NGX_HTTP_ADMISSION_CONTENT_NONE
            && ctx->passed != r->uri_changes)
        {
            rc = ngx_http_admission_gate_tiers(r, ctx);

            if (rc != NGX_OK) {
                return rc;
            }

            ctx->passed = r->uri_changes;
        }

        entry = ctx->entry;

        rc = ngx_http_admission_gate_limits(r, ctx);

        if (rc == NGX_ABORT && lcf->dry_run) {
            /* it is as good as before */
            ctx->entry = entry;
        }

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return ngx_http_admission_gate_identity(r, ctx);
}


/*
 * The order: bypass, trusted edge, user, tier 1, tier 2, and then limits; what
 * needs no network comes first.  Neither bypass nor a trusted edge lifts
 * limits.
 */

static ngx_int_t
ngx_http_admission_gate_tiers(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc;
    const char                     *reason;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->tier1->mode == NGX_HTTP_ADMISSION_OFF
        && lcf->tier2->mode == NGX_HTTP_ADMISSION_OFF)
    {
        return NGX_OK;
    }

    if (ctx->answered) {
        rc = ngx_http_admission_gate_tier2_answered(ctx);

    } else {
        rc = ngx_http_admission_gate_bypassed(r, ctx, &reason);

        if (rc == NGX_OK) {
            ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_BYPASS;
            ctx->reason = reason;
            ctx->dry_run = 0;
            ctx->entry = NULL;
            ctx->position = 0;

            return NGX_OK;
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        rc = ngx_http_admission_gate_tokens(r, ctx);

        if (rc == NGX_DECLINED) {
            return NGX_OK;
        }
    }

    if (rc == NGX_OK) {

        if (!lcf->dry_run) {
            /* others get the same answer, unless they are refused */
            ctx->gated = 1;
        }

        ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_PASS;
        ctx->reason = NULL;
        ctx->dry_run = 0;
    }

    return rc;
}


/* what the backend is told, whether or not a tier looked at the request */

static ngx_int_t
ngx_http_admission_gate_identity(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (!scf->users && !scf->gated) {
        return NGX_OK;
    }

    if (ngx_http_admission_user_find(r, ctx) != NGX_OK
        || ngx_http_admission_identity_set(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_gate_bypassed(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, const char **reason)
{
    ngx_str_t                       value;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->bypass) {

        if (ngx_http_complex_value(r, lcf->bypass, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len && !(value.len == 1 && value.data[0] == '0')) {
            *reason = NULL;
            return NGX_OK;
        }
    }

    if (ngx_http_admission_edge_trusted(r, ctx)) {
        *reason = ngx_http_admission_reason(EDGE);
        return NGX_OK;
    }

    return NGX_DECLINED;
}


/* NGX_DECLINED: nothing to judge */

static ngx_int_t
ngx_http_admission_gate_tokens(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc, tier2;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ctx->entry = NULL;
    ctx->position = 0;

    tier2 = ngx_http_admission_gate_tier2_applies(r, lcf->tier2);

    if (tier2 == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (tier2 == NGX_OK && lcf->tier2->bind) {
        rc = ngx_http_admission_gate_user(r, ctx);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    rc = ngx_http_admission_gate_tier1(r, ctx);

    if ((rc != NGX_OK && rc != NGX_DECLINED) || tier2 == NGX_DECLINED) {
        return rc;
    }

    return ngx_http_admission_gate_tier2(r, ctx);
}


/* nobody signs in where visitors are users: they go to the tiers for one */

static ngx_int_t
ngx_http_admission_gate_user(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_http_admission_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->user.id.len
        || lcf->user->source == NGX_HTTP_ADMISSION_USER_VISITOR)
    {
        return NGX_OK;
    }

    return ngx_http_admission_gate_deny(ctx,
           NGX_HTTP_ADMISSION_VERDICT_USER,
           ngx_http_admission_reason(NO_USER));
}


/*
 * The request waits in its phase, by NGX_AGAIN, and does not count as
 * another user of itself; that the client goes is seen, and ends it.
 */

ngx_int_t
ngx_http_admission_gate_suspend(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    if (ngx_http_admission_watch(r) != NGX_OK) {
        ngx_http_admission_redis_cancel(ctx->call);
        ctx->call = NULL;

        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


void
ngx_http_admission_gate_resume(ngx_http_request_t *r)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    if (!r->discard_body) {
        r->read_event_handler = ngx_http_block_reading;
    }

    r->write_event_handler = ngx_http_core_run_phases;

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);

    } else {
        ngx_http_core_run_phases(r);
    }

    ngx_http_run_posted_requests(c);
}


ngx_int_t
ngx_http_admission_gate_deny(ngx_http_admission_ctx_t *ctx,
    ngx_http_admission_verdict_e verdict, const char *reason)
{
    ctx->verdict = verdict;
    ctx->reason = reason;
    ctx->dry_run = 0;
    ctx->entry = NULL;
    ctx->position = 0;

    return NGX_ABORT;
}


/*
 * What error_page leads to is the next pass, and is not judged; whatever is
 * redirected to from there is.  A denial there has no error_page any more,
 * which could go round in a circle.
 */

static void
ngx_http_admission_gate_denied(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    if (ctx->denied) {
        r->error_page = 1;
    }

    ctx->denied = 1;
    ctx->error_pass = r->uri_changes - 1;
    ngx_str_null(&ctx->error_uri);
}


/* what would be denied goes on, and no further question is asked about it */

static ngx_int_t
ngx_http_admission_gate_dry_run(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_str_t  event;

    if (ngx_http_admission_request_event(r, &event) == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_admission_gate_log(r, ctx, &event, ", dry run");

    ctx->dry_run = 1;
    ctx->pass = r->uri_changes;

    if (ngx_http_admission_gate_identity(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_DECLINED;
}


/* returns what to finalize the request with */

static ngx_int_t
ngx_http_admission_gate_tell(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_str_t  event;

    if (ngx_http_admission_request_event(r, &event) == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_admission_gate_log(r, ctx, &event, "");

    /* what an access module said before is not for the error_page */

    r->access_code = 0;

    if (ctx->verdict == NGX_HTTP_ADMISSION_VERDICT_LIMITED) {
        return ngx_http_admission_limit_deny(r, ctx);
    }

    return ngx_http_admission_deny(r, ctx->verdict, ctx->reason, &event);
}


static void
ngx_http_admission_gate_log(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, const char *note)
{
    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "admission denied: %s%s, event \"%V\"%s",
                  ctx->verdict == NGX_HTTP_ADMISSION_VERDICT_LIMITED
                  ? "rate limit " : "", ctx->reason, event, note);
}
