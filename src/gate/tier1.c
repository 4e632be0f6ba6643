
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate of tier 1: while the waiting room of the request's event is active
 * a token of it is needed.  What the host knows decides; only before it knows
 * anything does a request wait for Redis, once.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../host/room_list.h"
#include "../host/touch.h"
#include "../http/room.h"
#include "../http/time_wait.h"
#include "../queue/restore.h"
#include "../room/calls.h"
#include "../room/unseen.h"
#include "gate.h"


static ngx_int_t ngx_adm_gate_unknown(ngx_adm_gate_t *g, ngx_uint_t mode);
static void ngx_adm_gate_looked(void *data, ngx_int_t rc, void *room);
static ngx_int_t ngx_adm_gate_tier1_token(ngx_adm_gate_t *g,
    int64_t activation, const char **why);
static ngx_int_t ngx_adm_gate_tier1_held(ngx_adm_gate_t *g);
static ngx_int_t ngx_adm_gate_tier1_entry(ngx_adm_gate_t *g);


#define ngx_adm_gate_tier1_deny(g, name)                                      \
    ngx_adm_gate_deny(g, NGX_ADM_VERDICT_TIER1,                               \
                                 ngx_adm_reason(name))


ngx_int_t
ngx_adm_gate_tier1(ngx_adm_gate_t *g)
{
    ngx_int_t        rc, mode;
    const char      *why;
    ngx_adm_room_t   room;

    if (g->named == NGX_DECLINED && !g->lcf->tier1->event_required) {
        return NGX_DECLINED;
    }

    mode = ngx_adm_tier1_mode(g->request, NULL);

    if (mode == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (mode == NGX_ADM_OFF) {
        return NGX_DECLINED;
    }

    if (g->named == NGX_DECLINED) {
        return ngx_adm_gate_tier1_deny(g, NO_EVENT);
    }

    rc = ngx_adm_gate_event(g, NGX_ADM_VERDICT_TIER1);

    if (rc != NGX_OK) {
        return rc;
    }

    if (g->conf->vwr == NGX_ADM_OFF) {
        return g->held ? ngx_adm_gate_tier1_held(g) : NGX_DECLINED;
    }

    if (ngx_adm_tier1_room(g->request, &g->event, &room) != NGX_OK) {
        return ngx_adm_gate_unknown(g, mode);
    }

    if (room.active) {
        rc = ngx_adm_gate_tier1_token(g, room.activation, &why);

        if (rc != NGX_DECLINED) {
            return rc;
        }

        if (g->conf->vwr == NGX_ADM_STANDBY
            && !g->held
            && (g->sale.phase == NGX_ADM_PHASE_NONE
                || g->sale.phase == NGX_ADM_PHASE_OPEN))
        {
            rc = ngx_adm_room_unseen(g->request, &g->event, g->conf,
                                     room.activation);
        }

        return (rc == NGX_DECLINED)
               ? ngx_adm_gate_deny(g, NGX_ADM_VERDICT_TIER1, why) : rc;
    }

    if (g->held) {
        return ngx_adm_gate_tier1_held(g);
    }

    if (ngx_adm_sale_pending(&g->sale, g->conf, &room)) {
        return ngx_adm_gate_tier1_deny(g, ROOM);
    }

    if (ngx_adm_room_is_kept(g->conf)
        && !ngx_adm_rooms_configured()
        && (mode == NGX_ADM_ON || ngx_adm_in_touch()))
    {
        return ngx_adm_gate_tier1_deny(g, ROOM);
    }

    /*
     * Redis may just have said that an event without a line was never
     * activated
     */

    if (g->doubtful && room.activation == 0) {
        return ngx_adm_gate_tier1_deny(g, UNKNOWN_EVENT);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_gate_unknown(ngx_adm_gate_t *g, ngx_uint_t mode)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    static time_t  logged;

    r = g->request;

    rc = ngx_adm_gate_look(g, &g->event, g->conf);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    /* no sale starts by a clock that Redis never set */

    if (mode == NGX_ADM_ON
        || g->conf->vwr == NGX_ADM_STANDBY
        || g->sale.phase == NGX_ADM_PHASE_GATHERING
        || (g->sale.opens + g->sale.starts && !ngx_adm_time_is_known()))
    {
        return ngx_adm_gate_tier1_deny(g, ROOM);
    }

    /* one line a second says as much as one a request */

    if (logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: whether the waiting room of event \"%V\" "
                      "is active has never been heard from redis, requests "
                      "pass without a token", &g->event);
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_gate_look(ngx_adm_gate_t *g, ngx_str_t *event,
    ngx_adm_event_conf_t *conf)
{
    ngx_adm_look_t      *look;
    ngx_http_request_t  *r;

    r = g->request;

    if (g->ctx->looked == r->uri_changes || ngx_adm_time_is_missed(g->ctx)) {
        return NGX_DECLINED;
    }

    g->ctx->looked = r->uri_changes;
    g->ctx->room_told = 0;

    look = ngx_adm_room_look_at(event, conf, ngx_adm_gate_looked, r);

    return look ? ngx_adm_wait(r, ngx_adm_look_cancel, look) : NGX_DECLINED;
}


static void
ngx_adm_gate_looked(void *data, ngx_int_t rc, void *room)
{
    ngx_http_request_t *r = data;

    ngx_adm_tier1_told(r, room);
    ngx_adm_wait_resume(r);
}


/* NGX_DECLINED: there is none, *why says so */

static ngx_int_t
ngx_adm_gate_tier1_token(ngx_adm_gate_t *g, int64_t activation,
    const char **why)
{
    ngx_int_t          rc;
    ngx_adm_claims_t  *claims;

    rc = ngx_adm_tier1_find(g->request, &g->event, activation, &claims, why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        g->ctx->position = claims->position;
        g->visitor = claims->vis;

        return ngx_adm_tier1_renew(g->request, g->conf, claims);
    }

    return ngx_adm_gate_tier1_entry(g);
}


/*
 * held outside, without a room to wait in: only those let in at the end may
 * pass
 */

static ngx_int_t
ngx_adm_gate_tier1_held(ngx_adm_gate_t *g)
{
    ngx_int_t  rc;

    rc = ngx_adm_gate_tier1_entry(g);

    return (rc == NGX_DECLINED) ? ngx_adm_gate_tier1_deny(g, HELD) : rc;
}


/* whoever was let in at the end need not go back to the start */

static ngx_int_t
ngx_adm_gate_tier1_entry(ngx_adm_gate_t *g)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_ctx_t     *ctx;
    ngx_adm_claims_t  *entry;

    ctx = g->ctx;

    if (ctx->user.id.len == 0) {
        return NGX_DECLINED;
    }

    rc = ngx_adm_gate_entry(g, &ctx->user.id, &entry, &why);

    if (rc == NGX_OK) {
        ctx->entry = entry;
        ngx_adm_restore_report(g->request, entry);
        ngx_adm_gate_came(g->request, g->conf, entry);
    }

    return rc;
}
