
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The way of somebody who comes to a waiting room: who is it, is a ticket
 * shown, how does that stand, and, where none counts, a new one.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_sha1.h>

#include "../base/clock.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../host/line.h"
#include "../host/sale.h"
#include "../http/room.h"
#include "../http/token_cookie.h"
#include "../http/user.h"
#include "../http/visitor.h"
#include "calls.h"
#include "lot.h"
#include "visit.h"


#define NGX_ADM_VISIT_UID  64            /* bytes of a user's id in a ticket;
                                            a longer one is hashed */


static ngx_int_t ngx_adm_visit_shown(ngx_adm_visit_t *visit);
static ngx_int_t ngx_adm_visit_look(ngx_adm_visit_t *visit);
static void ngx_adm_visit_looked(void *data, ngx_int_t rc, void *answer);
static ngx_int_t ngx_adm_visit_assign(ngx_adm_visit_t *visit);
static void ngx_adm_visit_assigned(void *data, ngx_int_t rc, int64_t position,
    int64_t at, ngx_uint_t full, ngx_adm_room_t *room);
static ngx_int_t ngx_adm_visit_commit(ngx_adm_visit_t *visit,
    int64_t activation);
static void ngx_adm_visit_committed(void *data, ngx_int_t rc, void *value,
    int64_t us);
static void ngx_adm_visit_issued(void *data, ngx_int_t rc,
    ngx_adm_issued_t *issued, ngx_adm_room_t *room);
static ngx_int_t ngx_adm_visit_ticket(ngx_adm_visit_t *visit, int64_t position,
    int64_t at, ngx_adm_room_t *room);
static ngx_int_t ngx_adm_visit_cookies(ngx_adm_visit_t *visit);


ngx_int_t
ngx_adm_visit(ngx_adm_visit_t *visit)
{
    ngx_int_t    rc;
    const char  *why;

    rc = ngx_adm_visitor_find(visit->call->request, &visit->visitor, &why);

    if (rc == NGX_ERROR) {
        return visit->done(visit, NGX_ERROR);
    }

    rc = ngx_adm_visit_user(visit);

    if (rc != NGX_OK) {
        return visit->done(visit, rc);
    }

    rc = ngx_adm_visit_shown(visit);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, visit->call->request->connection->log,
                   0, "admission: visit of event \"%V\", ticket shown: %i",
                   &visit->call->event, rc);

    switch (rc) {

    case NGX_OK:
    case NGX_ERROR:
        return visit->done(visit, rc);

    case NGX_AGAIN:

        if (!visit->looked) {
            return ngx_adm_visit_look(visit);
        }

        /*
         * there has never been a waiting room, or the zone has no room for it
         */

        break;
    }

    return ngx_adm_visit_assign(visit);
}


ngx_int_t
ngx_adm_visit_user(ngx_adm_visit_t *visit)
{
    u_char               sha1[20];
    ngx_uint_t           source;
    ngx_sha1_t           ctx;
    ngx_adm_api_call_t  *call;

    call = visit->call;
    source = call->lcf->user->source;

    if (ngx_adm_order(call->conf) == NGX_ADM_ORDER_ARRIVAL
        || call->conf->lots == NGX_ADM_LOTS_VISITOR
        || (call->conf->lots == NGX_ADM_LOTS_AUTO
            && source != NGX_ADM_USER_JWT && source != NGX_ADM_USER_VARIABLE))
    {
        return NGX_OK;
    }

    if (ngx_adm_user_find(call->request, call->ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (call->ctx->user.id.len == 0) {
        return NGX_HTTP_UNAUTHORIZED;
    }

    visit->user = call->ctx->user.id;
    visit->uid = visit->user;

    if (visit->user.len <= NGX_ADM_VISIT_UID) {
        return NGX_OK;
    }

    /* longer ids have no room in a ticket */

    visit->uid.data = ngx_pnalloc(call->request->pool, 2 * sizeof(sha1));
    if (visit->uid.data == NULL) {
        return NGX_ERROR;
    }

    ngx_sha1_init(&ctx);
    ngx_sha1_update(&ctx, visit->user.data, visit->user.len);
    ngx_sha1_final(sha1, &ctx);

    visit->uid.len = ngx_hex_dump(visit->uid.data, sha1, sizeof(sha1))
                     - visit->uid.data;

    return NGX_OK;
}


/*
 * NGX_DECLINED: no ticket is shown that counts; NGX_AGAIN: the host can not
 * say
 */

static ngx_int_t
ngx_adm_visit_shown(ngx_adm_visit_t *visit)
{
    ngx_int_t            rc;
    ngx_adm_api_call_t  *call;

    call = visit->call;

    rc = ngx_adm_ticket_find(call->request, &call->event, &visit->ticket);
    if (rc != NGX_OK) {
        return rc;
    }

    /* the ticket of another user, in a browser that both use */

    if (visit->user.len && !ngx_adm_str_same(&visit->ticket->uid, &visit->uid))
    {
        visit->ticket = NULL;
        return NGX_DECLINED;
    }

    rc = ngx_adm_ticket_standing(call->lcf, visit->ticket, call->conf, 1,
                                 &visit->standing);
    if (rc != NGX_OK) {
        return rc;
    }

    if (!visit->standing.room.active) {
        /* known by now: a look was out meanwhile */
        return NGX_DECLINED;
    }

    rc = ngx_adm_visitor_is(call->request, &visit->ticket->vis,
                            &visit->visitor);
    if (rc != NGX_OK) {
        return rc;
    }

    return ngx_adm_visit_cookies(visit);
}


/* asks Redis: if the ticket shown counts, a new one would be worse */

static ngx_int_t
ngx_adm_visit_look(ngx_adm_visit_t *visit)
{
    ngx_adm_look_t      *look;
    ngx_adm_api_call_t  *call;

    call = visit->call;
    visit->looked = 1;

    look = ngx_adm_room_look_at(&call->event, call->conf, ngx_adm_visit_looked,
                                visit);
    if (look == NULL) {
        return visit->done(visit, NGX_BUSY);
    }

    return ngx_adm_wait_content(call->request, ngx_adm_look_cancel, look);
}


static void
ngx_adm_visit_looked(void *data, ngx_int_t rc, void *answer)
{
    ngx_adm_visit_t *visit = data;

    ngx_adm_wait_over(visit->call->request);

    if (rc == NGX_OK) {
        rc = ngx_adm_visit(visit);

    } else {
        rc = visit->done(visit, NGX_BUSY);
    }

    ngx_adm_wait_finish(visit->call->request, rc);
}


static ngx_int_t
ngx_adm_visit_assign(ngx_adm_visit_t *visit)
{
    ngx_int_t              rc;
    ngx_adm_sale_t         sale;
    ngx_adm_assign_t      *assign;
    ngx_adm_api_call_t    *call;
    ngx_adm_redis_call_t  *issue;

    call = visit->call;

    /* a user may have a lot already, which Redis knows */

    if (ngx_adm_sale_get(&call->event, call->conf, &sale)
        == NGX_ADM_PHASE_CLOSED
        && visit->user.len == 0)
    {
        visit->full = NGX_ADM_LINE_CLOSED;
        return visit->done(visit, NGX_AGAIN);
    }

    /* a ticket that is going to be refused is not charged to the address */

    if ((call->conf->vwr_max_queue >= 0 || call->conf->vwr_max_wait)
        && !call->lcf->dry_run
        && visit->user.len == 0)
    {
        visit->full = ngx_adm_line_room_refuses(&call->event, call->conf);

        if (visit->full) {
            return visit->done(visit, NGX_AGAIN);
        }
    }

    /* one person with many browsers gets lots at a slower rate */

    if (sale.phase == NGX_ADM_PHASE_GATHERING
        && ngx_adm_order(call->conf) != NGX_ADM_ORDER_ARRIVAL
        && visit->user.len == 0
        && visit->intake.conf && !visit->intake.conf->given)
    {
        visit->intake.conf = &ngx_adm_intake_lots;
    }

    rc = ngx_adm_intake(call->request, call->ctx, &call->event, &visit->intake);

    if (rc != NGX_OK) {
        return visit->done(visit, rc == NGX_DECLINED ? NGX_ABORT : NGX_ERROR);
    }

    if (visit->user.len) {
        issue = ngx_adm_room_calls_issue(&call->event, call->conf, 1,
                                         call->lcf->dry_run, &visit->user,
                                         ngx_adm_visit_issued, visit);
        if (issue == NULL) {
            ngx_adm_intake_end(&visit->intake, 0);
            return visit->done(visit, NGX_BUSY);
        }

        rc = ngx_adm_wait_content(call->request, ngx_adm_redis_cancel, issue);
        if (rc != NGX_DONE) {
            ngx_adm_intake_end(&visit->intake, 0);
        }

        return rc;
    }

    assign = ngx_adm_room_assign(&call->event, call->conf, visit->deadline,
                                 call->lcf->dry_run, ngx_adm_visit_assigned,
                                 visit);
    if (assign == NULL) {
        ngx_adm_intake_end(&visit->intake, 0);
        return visit->done(visit, NGX_BUSY);
    }

    rc = ngx_adm_wait_content(call->request, ngx_adm_room_assign_cancel,
                              assign);
    if (rc != NGX_DONE) {
        ngx_adm_intake_end(&visit->intake, 0);
    }

    return rc;
}


static void
ngx_adm_visit_assigned(void *data, ngx_int_t rc, int64_t position, int64_t at,
    ngx_uint_t full, ngx_adm_room_t *room)
{
    ngx_adm_visit_t *visit = data;

    ngx_adm_wait_over(visit->call->request);
    ngx_adm_intake_end(&visit->intake, rc == NGX_OK && position);

    if (rc == NGX_OK && full == NGX_ADM_LINE_UNCOMMITTED) {
        rc = ngx_adm_visit_commit(visit, room->activation);

        ngx_adm_wait_finish(visit->call->request, rc);
        return;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, visit->call->request->connection->log,
                   0, "admission: visit of event \"%V\", position %L: %i",
                   &visit->call->event, position, rc);

    if (rc != NGX_OK) {
        rc = NGX_BUSY;

    } else if (full) {
        visit->full = full;
        rc = NGX_AGAIN;

    } else if (position == 0) {
        rc = NGX_DECLINED;

    } else {
        rc = ngx_adm_visit_ticket(visit, position, at, room);
    }

    rc = visit->done(visit, rc);

    ngx_adm_wait_finish(visit->call->request, rc);
}


/* commits to the draw before its first lots; then they are asked for again */

static ngx_int_t
ngx_adm_visit_commit(ngx_adm_visit_t *visit, int64_t activation)
{
    ngx_adm_api_call_t    *call;
    ngx_adm_redis_call_t  *commit;

    call = visit->call;
    commit = NULL;

    if (!visit->committed && ngx_adm_redis) {
        visit->committed = 1;

        ngx_adm_redis_until(ngx_adm_redis, visit->deadline);

        commit = ngx_adm_lot_commit(call->lcf, &call->event, call->conf,
                                    activation, ngx_adm_visit_committed,
                                    visit);

        ngx_adm_redis_until(ngx_adm_redis, 0);
    }

    if (commit == NULL) {
        return visit->done(visit, NGX_BUSY);
    }

    return ngx_adm_wait_content(call->request, ngx_adm_redis_cancel, commit);
}


static void
ngx_adm_visit_committed(void *data, ngx_int_t rc, void *value, int64_t us)
{
    ngx_adm_visit_t *visit = data;

    ngx_adm_wait_over(visit->call->request);

    rc = (rc == NGX_OK) ? ngx_adm_visit_assign(visit)
                        : visit->done(visit, NGX_BUSY);

    ngx_adm_wait_finish(visit->call->request, rc);
}


/* the lot of a user, new or the same as before */

static void
ngx_adm_visit_issued(void *data, ngx_int_t rc, ngx_adm_issued_t *issued,
    ngx_adm_room_t *room)
{
    if (rc != NGX_OK) {
        ngx_adm_visit_assigned(data, rc, 0, 0, 0, NULL);
        return;
    }

    ngx_adm_visit_assigned(data, NGX_OK, issued->first, issued->at,
                           issued->first ? NGX_ADM_LINE_OPEN : issued->full,
                           room);
}


static ngx_int_t
ngx_adm_visit_ticket(ngx_adm_visit_t *visit, int64_t position, int64_t at,
    ngx_adm_room_t *room)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_claims_t    *ticket;
    ngx_adm_api_call_t  *call;
    ngx_adm_standing_t  *standing;

    call = visit->call;
    r = call->request;

    if (visit->ticket && visit->ticket->act == room->activation) {

        /* the ticket counts again, since its activation was resumed just now */

        rc = ngx_adm_visit_shown(visit);

        if (rc == NGX_OK || rc == NGX_ERROR) {
            return rc;
        }
    }

    if (visit->visitor == NULL) {

        if (ngx_adm_visitor_make(r, &visit->visitor) != NGX_OK) {
            return NGX_ERROR;
        }

        visit->made = 1;
    }

    ticket = ngx_pcalloc(r->pool, sizeof(ngx_adm_claims_t));
    if (ticket == NULL) {
        return NGX_ERROR;
    }

    ticket->sub = call->event;
    ticket->uid = visit->uid;
    ticket->vis = visit->visitor->vis;
    ticket->position = position;
    ticket->at = at;
    ticket->act = room->activation;
    ticket->exp = at / 1000000 + (int64_t) call->conf->ticket_ttl / 1000;

    if (ngx_adm_ticket_sign(r, ticket, &ticket->token) != NGX_OK) {
        return NGX_ERROR;
    }

    visit->ticket = ticket;

    standing = &visit->standing;

    standing->room = *room;
    standing->room.next = ngx_max(room->next, position);
    standing->position = position;
    standing->at = at;
    standing->lot = 0;
    standing->undrawn = 0;
    standing->waits = 0;
    standing->late = 0;

    if (room->order != NGX_ADM_ORDER_ARRIVAL
        && ngx_adm_lot_standing(call->lcf, &call->event, call->conf, standing)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    standing->numbers = ngx_max(standing->position - room->serving, 0);
    standing->ahead = standing->numbers;
    standing->admitted = (standing->ahead == 0 && !standing->waits);
    standing->turn = standing->at;

    ngx_adm_ticket_count(&call->event, NULL, standing);

    return ngx_adm_visit_cookies(visit);
}


/*
 * Sets cookies also of a ticket and visitor that were shown: they may have
 * come by a header.  Whoever waits is there from now on.
 */

static ngx_int_t
ngx_adm_visit_cookies(ngx_adm_visit_t *visit)
{
    time_t               now;
    ngx_http_request_t  *r;

    r = visit->call->request;
    now = ngx_adm_now();

    ngx_adm_ticket_heard(&visit->ticket->sub, &visit->standing,
                         ngx_adm_room_next_poll(visit->standing.ahead));

    if (!visit->made
        && ngx_adm_visitor_cookie(r, visit->visitor) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_token_cookie(r, NGX_ADM_TOKEN_TICKET, &visit->ticket->sub,
                                &visit->ticket->token,
                                ngx_max(visit->ticket->exp - now, 1));
}


ngx_int_t
ngx_adm_visit_token(ngx_adm_visit_t *visit, ngx_str_t *token)
{
    return ngx_adm_ticket_issue(visit->call->request, visit->ticket,
                                visit->call->conf, &visit->standing, token);
}
