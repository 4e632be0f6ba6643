
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate of tier 1: while the waiting room of the request's event is
 * active, a token of it is needed.  What the host knows decides; only before
 * it knows anything does a request wait for Redis, once.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_restore.h"
#include "ngx_http_admission_tier1.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_user.h"
#include "ngx_http_admission_zone.h"


static ngx_int_t ngx_http_admission_gate_room(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t mode);
static ngx_int_t ngx_http_admission_gate_idle(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_gate_unknown(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t mode);
static void ngx_http_admission_gate_looked(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_gate_tier1_token(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, int64_t activation);
static ngx_int_t ngx_http_admission_gate_tier1_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event);


ngx_int_t
ngx_http_admission_gate_tier1(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                         rc, mode, named;
    ngx_str_t                         event;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_event_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->tier1->mode == NGX_HTTP_ADMISSION_OFF) {
        return NGX_DECLINED;
    }

    named = ngx_http_admission_request_event(r, &event);

    if (named == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (named == NGX_DECLINED && !lcf->tier1->event_required) {
        return NGX_DECLINED;
    }

    mode = ngx_http_admission_tier1_mode(r, NULL);

    if (mode == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (mode == NGX_HTTP_ADMISSION_OFF) {
        return NGX_DECLINED;
    }

    if (named == NGX_DECLINED) {
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_TIER1,
               ngx_http_admission_reason(NO_EVENT));
    }

    rc = ngx_http_admission_gate_event(r, ctx, NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                       &event, &conf);
    if (rc != NGX_OK) {
        return rc;
    }

    if (conf->vwr == NGX_HTTP_ADMISSION_VWR_OFF) {
        return NGX_DECLINED;
    }

    return ngx_http_admission_gate_room(r, ctx, &event, conf, mode);
}


static ngx_int_t
ngx_http_admission_gate_room(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t mode)
{
    ngx_http_admission_room_t  room;

    if (ngx_http_admission_tier1_room(r, event, &room) != NGX_OK) {
        return ngx_http_admission_gate_unknown(r, ctx, event, conf, mode);
    }

    if (ngx_http_admission_tier1_pending(conf, &room)
        && (mode == NGX_HTTP_ADMISSION_ON || ngx_http_admission_in_touch()))
    {
        return ngx_http_admission_gate_deny(ctx,
                                            NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                            ngx_http_admission_reason(ROOM));
    }

    if (!room.active) {
        return ngx_http_admission_gate_idle(r, ctx, event, &room);
    }

    return ngx_http_admission_gate_tier1_token(r, ctx, event, conf,
                                               room.activation);
}


/* Redis may just have told that what is not listed was never activated */

static ngx_int_t
ngx_http_admission_gate_idle(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (room->activation || ngx_http_admission_event_conf(mcf, event)) {
        return NGX_OK;
    }

    return ngx_http_admission_gate_deny(ctx, NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                    ngx_http_admission_reason(UNKNOWN_EVENT));
}


static ngx_int_t
ngx_http_admission_gate_unknown(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t mode)
{
    static time_t  logged;

    if (ctx->looked != r->uri_changes) {

        ctx->looked = r->uri_changes;
        ctx->room_told = 0;

        ctx->call = ngx_http_admission_vwr_admin(NGX_HTTP_ADMISSION_VWR_LOOK,
                                               0, event, conf,
                                               ngx_http_admission_gate_looked,
                                               r);
        if (ctx->call) {
            return ngx_http_admission_gate_suspend(r, ctx);
        }
    }

    if (mode == NGX_HTTP_ADMISSION_ON) {
        return ngx_http_admission_gate_deny(ctx,
                                            NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                            ngx_http_admission_reason(ROOM));
    }

    /* one line a second tells as much as one a request */

    if (logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: whether the waiting room of event \"%V\" "
                      "is active has never been heard from redis, requests "
                      "pass without a token", event);
    }

    return NGX_OK;
}


static void
ngx_http_admission_gate_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_request_t *r = data;

    ngx_http_admission_tier1_told(r, room);
    ngx_http_admission_gate_resume(r);
}


static ngx_int_t
ngx_http_admission_gate_tier1_token(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, int64_t activation)
{
    ngx_int_t                     rc;
    const char                   *why;
    ngx_http_admission_claims_t  *claims;

    rc = ngx_http_admission_tier1_find(r, event, activation, &claims, &why);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        ctx->position = claims->position;

        return ngx_http_admission_tier1_renew(r, conf, claims);
    }

    rc = ngx_http_admission_gate_tier1_entry(r, ctx, event);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_http_admission_gate_deny(ctx, NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                        why);
}


/* who was let in at the end need not go back to the start */

static ngx_int_t
ngx_http_admission_gate_tier1_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event)
{
    ngx_int_t                     rc;
    const char                   *why;
    ngx_http_admission_claims_t  *entry;

    if (ngx_http_admission_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->user.id.len == 0) {
        return NGX_DECLINED;
    }

    rc = ngx_http_admission_gate_entry(r, ctx, event, &ctx->user.id, &entry,
                                       &why);
    if (rc != NGX_OK) {
        return rc;
    }

    ctx->entry = entry;

    ngx_http_admission_restore_report(r, entry);

    return NGX_OK;
}
