
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate of a queue: what tier 1 asks of somebody who joins, and gives for
 * it.  In force it asks for a token of the waiting room.  The first token with
 * a position gives priority, whether it is in force or not.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/bypass.h"
#include "../http/credentials.h"
#include "../http/room.h"
#include "../room/calls.h"
#include "join.h"


/* a call that waits until the state of its waiting room is known */
typedef struct {
    ngx_adm_api_call_t    *call;
    ngx_adm_queue_join_t  *join;
    ngx_adm_api_pt         done;
} ngx_adm_joining_t;


/* a search for the token that gives priority: of whom, for what */
typedef struct {
    ngx_adm_api_call_t    *call;
    unsigned               bound:1;  /* to the visitor, if "bind=on" says so */
} ngx_adm_priority_t;


static ngx_int_t ngx_adm_gate_join_mode(ngx_adm_api_call_t *call,
    ngx_int_t mode);
static ngx_int_t ngx_adm_gate_join_look(ngx_adm_api_call_t *call,
    ngx_adm_queue_join_t *join, ngx_adm_api_pt done);
static void ngx_adm_gate_join_looked(void *data, ngx_int_t rc, void *answer);
static ngx_int_t ngx_adm_gate_join_tokens(ngx_adm_api_call_t *call,
    ngx_adm_queue_join_t *join, ngx_adm_api_pt done, ngx_int_t mode,
    ngx_adm_room_t *room);
static ngx_int_t ngx_adm_gate_join_priority(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);


ngx_int_t
ngx_adm_gate_join(ngx_adm_api_call_t *call, ngx_adm_queue_join_t *join,
    ngx_adm_api_pt done)
{
    ngx_int_t       mode, asks;
    ngx_adm_room_t  room;

    mode = ngx_adm_tier1_mode(call->request, call->conf);
    asks = ngx_adm_gate_join_mode(call, mode);

    if (asks == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (asks == NGX_ADM_OFF) {
        return ngx_adm_gate_join_tokens(call, join, done, mode, NULL);
    }

    if (ngx_adm_tier1_room(call->request, &call->event, &room) != NGX_OK) {
        return ngx_adm_gate_join_look(call, join, done);
    }

    if (ngx_adm_tier1_pending(&call->event, call->conf, &room)) {
        return ngx_adm_api_unavailable(call->request);
    }

    return ngx_adm_gate_join_tokens(call, join, done, mode, &room);
}


/*
 * As ngx_adm_tier1_mode() says; off for those whom the tiers let pass, and in
 * a dry run when it is known that the join would have been refused.
 */

static ngx_int_t
ngx_adm_gate_join_mode(ngx_adm_api_call_t *call, ngx_int_t mode)
{
    ngx_int_t    rc;
    const char  *reason;

    if (mode == NGX_ERROR || mode == NGX_ADM_OFF) {
        return mode;
    }

    if (call->lcf->dry_run && call->ctx->verdict == NGX_ADM_VERDICT_TIER1) {
        return NGX_ADM_OFF;
    }

    rc = ngx_adm_bypassed(call->request, call->ctx, &reason);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    return (rc == NGX_OK) ? NGX_ADM_OFF : mode;
}


static ngx_int_t
ngx_adm_gate_join_look(ngx_adm_api_call_t *call, ngx_adm_queue_join_t *join,
    ngx_adm_api_pt done)
{
    ngx_adm_look_t     *look;
    ngx_adm_joining_t  *joining;

    joining = ngx_palloc(call->request->pool, sizeof(ngx_adm_joining_t));
    if (joining == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    joining->call = call;
    joining->join = join;
    joining->done = done;

    look = ngx_adm_room_look_at(&call->event, call->conf,
                                ngx_adm_gate_join_looked, joining);
    if (look == NULL) {
        return ngx_adm_api_unavailable(call->request);
    }

    return ngx_adm_wait_content(call->request, ngx_adm_look_cancel, look);
}


static void
ngx_adm_gate_join_looked(void *data, ngx_int_t rc, void *answer)
{
    ngx_adm_joining_t *joining = data;

    ngx_int_t            mode;
    ngx_adm_room_t      *room;
    ngx_adm_api_call_t  *call;

    call = joining->call;
    room = answer;

    ngx_adm_wait_over(call->request);

    if (rc == NGX_OK
        && !ngx_adm_tier1_pending(&call->event, call->conf, room))
    {
        ngx_adm_tier1_told(call->request, room);

        mode = ngx_adm_tier1_mode(call->request, call->conf);

        rc = ngx_adm_gate_join_tokens(call, joining->join,
                                      joining->done, mode, room);
    } else {
        rc = ngx_adm_api_unavailable(call->request);
    }

    ngx_adm_wait_finish(call->request, rc);
}


/* room NULL: no token is needed */

static ngx_int_t
ngx_adm_gate_join_tokens(ngx_adm_api_call_t *call, ngx_adm_queue_join_t *join,
    ngx_adm_api_pt done, ngx_int_t mode, ngx_adm_room_t *room)
{
    ngx_int_t            rc;
    const char          *why;
    ngx_adm_priority_t   priority;

    if (mode == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (call->lcf->verifiers[NGX_ADM_TOKEN_TIER1].keys == NULL) {
        return done(call);
    }

    priority.call = call;
    priority.bound = (mode != NGX_ADM_OFF);

    if (ngx_adm_credentials_find(call->request, NGX_ADM_TOKEN_TIER1,
                                 &call->event, ngx_adm_gate_join_priority,
                                 &priority, &join->priority, &why) == NGX_ERROR)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (room && room->active) {

        rc = ngx_adm_tier1_find(call->request, &call->event, room->activation,
                                &join->pass, &why);
        if (rc == NGX_ERROR) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (rc == NGX_DECLINED) {
            join->pass = NULL;
            join->why = why;
        }
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: tier 1 of a join, event \"%V\": %s, %s",
                   &call->event,
                   join->why ? join->why : "nothing in the way",
                   join->priority ? "priority" : "no priority");

    return done(call);
}


static ngx_int_t
ngx_adm_gate_join_priority(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    ngx_adm_priority_t *priority = data;

    *why = "gives no priority";

    if (!ngx_adm_str_same(&claims->sub, &priority->call->event)
        || claims->position <= 0 || claims->at <= 0
        || claims->act <= 0 || claims->adm <= 0)
    {
        return NGX_DECLINED;
    }

    return priority->bound ? ngx_adm_tier1_bound(r, claims) : NGX_OK;
}
