
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

#include "../base/reason.h"
#include "../base/text.h"
#include "../host/follow.h"
#include "../host/hold.h"
#include "../host/room_state.h"
#include "../http/backend.h"
#include "../http/bypass.h"
#include "../http/ctx.h"
#include "../http/deny.h"
#include "../http/identity.h"
#include "../http/origin.h"
#include "../http/time_wait.h"
#include "../http/user.h"
#include "../http/user_keys.h"
#include "../limit/limit.h"
#include "first.h"
#include "gate.h"


static ngx_int_t ngx_adm_gate_judge(ngx_adm_gate_t *g);
static ngx_int_t ngx_adm_gate_user(ngx_adm_gate_t *g);
static ngx_int_t ngx_adm_gate_tiers(ngx_adm_gate_t *g);
static ngx_int_t ngx_adm_gate_measure(ngx_adm_gate_t *g);
static ngx_int_t ngx_adm_gate_tokens(ngx_adm_gate_t *g);
static void ngx_adm_gate_verdict(ngx_adm_ctx_t *ctx,
    ngx_adm_verdict_e verdict, const char *reason);
static ngx_int_t ngx_adm_gate_denied(ngx_adm_gate_t *g);


ngx_int_t
ngx_adm_gate_clean(ngx_http_request_t *r)
{
    ngx_adm_ctx_t       *ctx;
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (r != r->main || (!scf->users && !scf->gated && scf->edges == NULL)) {
        return NGX_DECLINED;
    }

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->cleaned) {
        return NGX_DECLINED;
    }

    if (!r->internal) {
        ctx->uri = r->uri;
    }

    if ((scf->edges
         && ngx_adm_edges_take(r, ctx, scf->edges) != NGX_OK)
        || ngx_adm_identity_remove(r) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->cleaned = 1;

    return NGX_DECLINED;
}


/*
 * A server's own "rewrite" may turn the address of an error page into another
 * one ("rewrite ^ /index.php"), which is not that page but goes on from it.
 */

ngx_int_t
ngx_adm_gate_rewrite(ngx_http_request_t *r)
{
    ngx_adm_ctx_t  *ctx;

    if (!r->internal || r != r->main) {
        return NGX_DECLINED;
    }

    ctx = ngx_adm_ctx(r);

    if (ctx && ctx->backend) {
        ngx_adm_backend_redirected(r, ctx);
    }

    if (ctx && ctx->error_pass == r->uri_changes) {

        if (ctx->error_uri.data == NULL) {
            ctx->error_uri = r->uri;

        } else if (!ngx_adm_str_same(&ctx->error_uri, &r->uri)) {
            ctx->error_pass = 0;
        }
    }

    return ngx_adm_gate_clean(r);
}


ngx_int_t
ngx_adm_gate_access(ngx_http_request_t *r)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->user->source == NGX_ADM_USER_VARIABLE) {
        /* the module that sets the variable runs later */
        return NGX_DECLINED;
    }

    return ngx_adm_gate(r);
}


ngx_int_t
ngx_adm_gate(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    ngx_adm_gate_t       g;
    ngx_adm_ctx_t       *ctx;
    ngx_adm_srv_conf_t  *scf;
    ngx_adm_loc_conf_t  *lcf;

    if (r != r->main || r->post_action) {
        return NGX_DECLINED;
    }

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);
    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (!scf->users && !scf->gated && lcf->limits == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->pass == r->uri_changes) {
        return NGX_DECLINED;
    }

    /* the backend is told who asks, whatever is judged */

    if (ngx_adm_user_find(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    g.request = r;
    g.ctx = ctx;
    g.lcf = lcf;
    g.named = NGX_AGAIN;
    g.conf = NULL;
    g.doubtful = 0;
    ngx_str_null(&g.visitor);

    rc = ngx_adm_gate_judge(&g);

    if (rc == NGX_AGAIN) {
        return NGX_AGAIN;
    }

    if (rc == NGX_ABORT) {
        rc = ngx_adm_gate_denied(&g);

        if (rc == NGX_DONE) {
            return NGX_DONE;
        }
    }

    if (rc != NGX_OK
        || ((scf->users || scf->gated)
            && ngx_adm_identity_set(r, ctx) != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->pass = r->uri_changes;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: passes the gate: %V",
                   &ngx_adm_verdicts[ctx->verdict]);

    return NGX_DECLINED;
}


/* returns what gate.h says of the gate's parts, as what it calls does */

static ngx_int_t
ngx_adm_gate_judge(ngx_adm_gate_t *g)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_ctx_t       *ctx;
    ngx_adm_claims_t    *entry;

    r = g->request;
    ctx = g->ctx;

    if (ctx->error_pass == r->uri_changes
        || (r->method == NGX_HTTP_OPTIONS && ngx_adm_is_preflight(r)))
    {
        return NGX_OK;
    }

    if (g->lcf->user->source == NGX_ADM_USER_JWT) {
        rc = ngx_adm_gate_user(g);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    /*
     * when a request resumes that waited for its limits the tiers have passed
     * it
     */

    if (g->lcf->content == NGX_ADM_CONTENT_NONE
        && ctx->passed != r->uri_changes)
    {
        rc = ngx_adm_gate_tiers(g);

        if (rc != NGX_OK) {
            return rc;
        }

        ctx->passed = r->uri_changes;
    }

    if (g->lcf->limits == NULL) {
        return NGX_OK;
    }

    entry = ctx->entry;

    rc = ngx_adm_limits(r, ctx);

    if (rc == NGX_ABORT) {
        (void) ngx_adm_gate_deny(g, ctx->verdict, ctx->reason);

        if (g->lcf->dry_run) {
            /* the entry token is as good as it was then */
            ctx->entry = entry;
        }
    }

    return rc;
}


/* whether it can be told who asks, even if that is nobody */

static ngx_int_t
ngx_adm_gate_user(ngx_adm_gate_t *g)
{
    ngx_int_t  rc;

    if (g->ctx->user_why == ngx_adm_reason(FLOOD)) {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_ERROR, g->ctx->user_why);
    }

    if (g->lcf->secrets[NGX_ADM_SECRET_USER]->sources.nelts == 0) {
        /* no location has keys that might still come */
        return NGX_OK;
    }

    rc = ngx_adm_user_keys(g->request, g->ctx);

    if (rc == NGX_BUSY) {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_ERROR,
                                 ngx_adm_reason(KEYS));
    }

    return rc;
}


/*
 * The order is bypass, trusted edge, user, tier 1, tier 2, then limits: what
 * needs no network comes first.  Neither bypass nor a trusted edge lifts
 * limits.
 */

static ngx_int_t
ngx_adm_gate_tiers(ngx_adm_gate_t *g)
{
    ngx_int_t            rc;
    const char          *reason;
    ngx_adm_ctx_t       *ctx;
    ngx_adm_loc_conf_t  *lcf;

    ctx = g->ctx;
    lcf = g->lcf;

    if (lcf->tier1->mode == NGX_ADM_OFF && lcf->tier2->mode == NGX_ADM_OFF) {
        return NGX_OK;
    }

    if (ctx->answered) {
        rc = ngx_adm_gate_tier2_answered(g);

    } else {
        rc = (lcf->bypass || ctx->edges)
             ? ngx_adm_bypassed(g->request, ctx, &reason) : NGX_DECLINED;

        if (rc == NGX_OK) {
            ctx->entry = NULL;
            ctx->position = 0;
            ngx_adm_gate_verdict(ctx, NGX_ADM_VERDICT_BYPASS, reason);
            return NGX_OK;
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        rc = ngx_adm_gate_tokens(g);

        if (rc == NGX_DECLINED) {
            return NGX_OK;
        }
    }

    if (rc == NGX_OK) {

        if (!lcf->dry_run) {
            /* others may get the same answer, unless they are refused */
            ctx->gated = 1;
        }

        ngx_adm_gate_verdict(ctx, NGX_ADM_VERDICT_PASS, NULL);

        return ngx_adm_gate_measure(g);
    }

    return rc;
}


/* has the backend measured, if the event follows it */

static ngx_int_t
ngx_adm_gate_measure(ngx_adm_gate_t *g)
{
    ngx_str_t             *event, *who;
    ngx_adm_ctx_t         *ctx;
    ngx_adm_main_conf_t   *mcf;
    ngx_adm_event_conf_t  *conf;

    ctx = g->ctx;
    conf = g->conf;

    mcf = ngx_http_get_module_main_conf(g->request, ngx_http_admission_module);

    if (!mcf->follows) {
        return NGX_OK;
    }

    event = ctx->entry ? &ctx->entry->sub : &g->event;

    if (conf == NULL) {
        conf = ngx_adm_event_conf(mcf, event);
    }

    if (conf == NULL || event->len == 0 || !ngx_adm_is_followed(conf)) {
        return NGX_OK;
    }

    if (ctx->user.id.len) {
        who = &ctx->user.id;

    } else {
        who = ctx->entry ? &ctx->entry->uid : &g->visitor;
    }

    return ngx_adm_backend_begin(g->request, ctx, event, conf, who);
}


/* NGX_DECLINED: neither tier is in force */

static ngx_int_t
ngx_adm_gate_tokens(ngx_adm_gate_t *g)
{
    ngx_int_t       rc, tier2;
    ngx_adm_ctx_t  *ctx;

    ctx = g->ctx;

    ctx->entry = NULL;
    ctx->position = 0;

    tier2 = ngx_adm_gate_tier2_applies(g);

    if (tier2 == NGX_ERROR) {
        return NGX_ERROR;
    }

    /* where visitors are users nobody signs in: the tiers make them visitors */

    if (tier2 == NGX_OK
        && g->lcf->tier2->bind
        && ctx->user.id.len == 0
        && g->lcf->user->source != NGX_ADM_USER_VISITOR)
    {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_USER,
                                 ngx_adm_reason(NO_USER));
    }

    rc = NGX_DECLINED;

    if (g->lcf->tier1->mode != NGX_ADM_OFF || tier2 == NGX_OK) {

        g->named = ngx_adm_request_event(g->request, &g->event);

        if (g->named == NGX_ERROR) {
            return NGX_ERROR;
        }
    }

    if (g->named == NGX_DECLINED
        && tier2 == NGX_OK
        && !ngx_adm_time_is_known()
        && ngx_adm_time_matters(g->request, NULL))
    {
        rc = ngx_adm_time_wait(g->request);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if (g->lcf->tier1->mode != NGX_ADM_OFF) {
        rc = ngx_adm_gate_tier1(g);
    }

    if ((rc != NGX_OK && rc != NGX_DECLINED) || tier2 == NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_gate_tier2(g);
}


ngx_int_t
ngx_adm_gate_event(ngx_adm_gate_t *g, ngx_adm_verdict_e tier)
{
    ngx_int_t             rc;
    ngx_adm_main_conf_t  *mcf;

    if (g->event.len == 0) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(BAD_EVENT));
    }

    mcf = ngx_http_get_module_main_conf(g->request, ngx_http_admission_module);

    rc = ngx_adm_room_event_conf(mcf, &g->event, &g->conf);

    if (rc == NGX_DECLINED) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(UNKNOWN_EVENT));
    }

    /* it may be an event that this host has not heard of */

    g->doubtful = (rc == NGX_AGAIN);

    return ngx_adm_gate_open(g, tier, &g->event, g->conf);
}


ngx_int_t
ngx_adm_gate_open(ngx_adm_gate_t *g, ngx_adm_verdict_e tier, ngx_str_t *event,
    ngx_adm_event_conf_t *conf)
{
    ngx_int_t       rc;
    ngx_adm_hold_t  hold;

    if (!ngx_adm_time_is_known() && ngx_adm_time_matters(g->request, conf)) {
        rc = ngx_adm_time_wait(g->request);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    /* if it may be no event at all, the look at its room tells */

    if (conf && !g->doubtful) {
        rc = ngx_adm_gate_first(g->request, g->ctx, event, conf);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if (ngx_adm_sale_get(event, conf, &g->sale) == NGX_ADM_PHASE_BEFORE) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(NOT_OPEN));
    }

    g->held = ngx_adm_hold_get(event, &hold);

    if (g->held == NGX_ADM_HOLD_INSIDE) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(HELD));
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_gate_deny(ngx_adm_gate_t *g, ngx_adm_verdict_e verdict,
    const char *reason)
{
    g->ctx->entry = NULL;
    g->ctx->position = 0;

    ngx_adm_gate_verdict(g->ctx, verdict, reason);

    return NGX_ABORT;
}


static void
ngx_adm_gate_verdict(ngx_adm_ctx_t *ctx, ngx_adm_verdict_e verdict,
    const char *reason)
{
    ctx->verdict = verdict;
    ctx->reason = reason;
    ctx->dry_run = 0;
}


/*
 * Tells a denial, and finalizes the request: NGX_DONE.  In a dry run the
 * request goes on, and nothing more is asked about it: NGX_OK.
 *
 * Where error_page leads is the next pass, which is not judged; a redirect
 * from there is.  A denial by then gets no error_page, which could go round in
 * circles.
 */

static ngx_int_t
ngx_adm_gate_denied(ngx_adm_gate_t *g)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_ctx_t       *ctx;

    r = g->request;
    ctx = g->ctx;

    if (!g->lcf->dry_run) {

        if (ctx->limits) {
            /*
             * with what locations that it came through before have charged it
             */
            ngx_adm_limits_back(ctx->limits, 0);
        }

        if (ctx->denied) {
            r->error_page = 1;
        }

        ctx->denied = 1;
        ctx->cors = g->lcf->cors ? g->lcf->cors : ctx->cors;
        ctx->error_pass = r->uri_changes - 1;
        ngx_str_null(&ctx->error_uri);
    }

    rc = g->named;

    if (rc == NGX_AGAIN) {
        rc = ngx_adm_request_event(r, &g->event);
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: denied at the gate: %V, %s%s",
                   &ngx_adm_verdicts[ctx->verdict], ctx->reason,
                   g->lcf->dry_run ? ", dry run" : "");

    if (rc != NGX_ERROR) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission denied: %s%s, event \"%V\"%s",
                      ctx->verdict == NGX_ADM_VERDICT_LIMITED
                      ? "rate limit " : "", ctx->reason, &g->event,
                      g->lcf->dry_run ? ", dry run" : "");
    }

    if (g->lcf->dry_run) {
        ctx->dry_run = 1;

        return (rc == NGX_ERROR) ? NGX_ERROR : NGX_OK;
    }

    ctx->denied_event = g->event;

    /* what an access module said before is not for the error_page */

    r->access_code = 0;

    if (rc == NGX_ERROR) {
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;

    } else if (ctx->verdict == NGX_ADM_VERDICT_LIMITED) {
        rc = ngx_adm_limit_deny(r, ctx);

    } else {
        rc = ngx_adm_deny(r, ctx->verdict, ctx->reason, &g->event);
    }

    ngx_http_finalize_request(r, rc);

    return NGX_DONE;
}
