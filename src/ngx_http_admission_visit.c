
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_tier1.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_visit.h"
#include "ngx_http_admission_visitor.h"
#include "ngx_http_admission_zone.h"


static ngx_int_t ngx_http_admission_visit_shown(
    ngx_http_admission_visit_t *visit);
static ngx_int_t ngx_http_admission_visit_look(
    ngx_http_admission_visit_t *visit);
static void ngx_http_admission_visit_looked(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_visit_assign(
    ngx_http_admission_visit_t *visit);
static void ngx_http_admission_visit_assigned(void *data, ngx_int_t rc,
    int64_t position, int64_t at, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_visit_ticket(
    ngx_http_admission_visit_t *visit, int64_t position, int64_t at,
    ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_visit_cookies(
    ngx_http_admission_visit_t *visit);


ngx_int_t
ngx_http_admission_visit(ngx_http_admission_visit_t *visit)
{
    ngx_int_t  rc;

    rc = ngx_http_admission_visitor_find(visit->call->request,
                                         &visit->visitor);

    if (rc == NGX_ERROR) {
        return visit->done(visit, NGX_ERROR);
    }

    rc = ngx_http_admission_visit_shown(visit);

    switch (rc) {

    case NGX_OK:
    case NGX_ERROR:
        return visit->done(visit, rc);

    case NGX_AGAIN:

        if (!visit->looked) {
            return ngx_http_admission_visit_look(visit);
        }

        /* there has never been a waiting room, or there is no room for it */

        break;
    }

    return ngx_http_admission_visit_assign(visit);
}


/* NGX_DECLINED: none that counts; NGX_AGAIN: the host does not know */

static ngx_int_t
ngx_http_admission_visit_shown(ngx_http_admission_visit_t *visit)
{
    ngx_int_t                       rc;
    ngx_http_admission_api_call_t  *call;

    call = visit->call;

    rc = ngx_http_admission_ticket_find(call->request, &call->event,
                                        &visit->ticket);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_http_admission_ticket_standing(visit->ticket, call->conf,
                                            &visit->standing);
    if (rc != NGX_OK) {
        return rc;
    }

    if (!visit->standing.room.active) {
        /* by now it may be */
        return NGX_DECLINED;
    }

    rc = ngx_http_admission_visitor_is(call->request, &visit->ticket->vis,
                                       &visit->visitor);
    if (rc != NGX_OK) {
        return rc;
    }

    return ngx_http_admission_visit_cookies(visit);
}


/* a new ticket would be at the end, so whether the old one counts matters */

static ngx_int_t
ngx_http_admission_visit_look(ngx_http_admission_visit_t *visit)
{
    ngx_http_admission_api_call_t    *call;
    ngx_http_admission_redis_call_t  *pending;

    call = visit->call;
    visit->looked = 1;

    pending = ngx_http_admission_vwr_admin(NGX_HTTP_ADMISSION_VWR_LOOK, 0,
                                           &call->event, call->conf,
                                           ngx_http_admission_visit_looked,
                                           visit);
    if (pending == NULL) {
        return visit->done(visit, NGX_BUSY);
    }

    return ngx_http_admission_api_wait(call, pending);
}


static void
ngx_http_admission_visit_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_visit_t *visit = data;

    ngx_http_admission_api_resume(visit->call);

    if (rc == NGX_OK) {
        rc = ngx_http_admission_visit(visit);

    } else {
        rc = visit->done(visit, NGX_BUSY);
    }

    ngx_http_admission_api_finish(visit->call, rc);
}


static ngx_int_t
ngx_http_admission_visit_assign(ngx_http_admission_visit_t *visit)
{
    ngx_int_t                       rc;
    ngx_http_admission_api_call_t  *call;

    call = visit->call;

    rc = ngx_http_admission_intake(call->request, call->ctx, &call->event,
                                   &visit->intake);

    if (rc != NGX_OK) {
        return visit->done(visit, rc == NGX_DECLINED ? NGX_ABORT : NGX_ERROR);
    }

    call->ctx->assign = ngx_http_admission_vwr_assign(&call->event, call->conf,
                                            visit->deadline,
                                            ngx_http_admission_visit_assigned,
                                            visit);
    if (call->ctx->assign == NULL) {
        ngx_http_admission_intake_end(&visit->intake, 0);
        return visit->done(visit, NGX_BUSY);
    }

    rc = ngx_http_admission_api_suspend(call);

    if (rc != NGX_DONE) {
        ngx_http_admission_intake_end(&visit->intake, 0);
        ngx_http_admission_vwr_assign_cancel(call->ctx->assign);
        call->ctx->assign = NULL;
    }

    return rc;
}


static void
ngx_http_admission_visit_assigned(void *data, ngx_int_t rc, int64_t position,
    int64_t at, ngx_http_admission_room_t *room)
{
    ngx_http_admission_visit_t *visit = data;

    ngx_http_admission_api_resume(visit->call);
    ngx_http_admission_intake_end(&visit->intake, rc == NGX_OK && position);

    if (rc != NGX_OK) {
        rc = NGX_BUSY;

    } else if (position == 0) {
        rc = NGX_DECLINED;

    } else {
        rc = ngx_http_admission_visit_ticket(visit, position, at, room);
    }

    rc = visit->done(visit, rc);

    ngx_http_admission_api_finish(visit->call, rc);
}


static ngx_int_t
ngx_http_admission_visit_ticket(ngx_http_admission_visit_t *visit,
    int64_t position, int64_t at, ngx_http_admission_room_t *room)
{
    ngx_int_t                       rc;
    ngx_http_request_t             *r;
    ngx_http_admission_claims_t    *ticket;
    ngx_http_admission_api_call_t  *call;
    ngx_http_admission_standing_t  *standing;

    call = visit->call;
    r = call->request;

    if (visit->ticket && visit->ticket->act == room->activation) {

        /* the activation was resumed just now */

        rc = ngx_http_admission_visit_shown(visit);

        if (rc == NGX_OK || rc == NGX_ERROR) {
            return rc;
        }
    }

    if (visit->visitor == NULL) {

        if (ngx_http_admission_visitor_make(r, &visit->visitor) != NGX_OK) {
            return NGX_ERROR;
        }

        visit->made = 1;
    }

    ticket = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_claims_t));
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

    if (ngx_http_admission_ticket_sign(r, ticket, &ticket->token) != NGX_OK) {
        return NGX_ERROR;
    }

    visit->ticket = ticket;

    standing = &visit->standing;

    standing->room = *room;
    standing->room.next = ngx_max(room->next, position);
    standing->ahead = ngx_max(position - room->serving, 0);
    standing->admitted = (standing->ahead == 0);
    standing->turn = at;

    return ngx_http_admission_visit_cookies(visit);
}


/* those that were shown as well: a header may have been all that there was */

static ngx_int_t
ngx_http_admission_visit_cookies(ngx_http_admission_visit_t *visit)
{
    time_t               now;
    ngx_http_request_t  *r;

    r = visit->call->request;
    now = ngx_http_admission_now();

    if (!visit->made
        && ngx_http_admission_visitor_cookie(r, &visit->visitor->token,
                                             visit->visitor->exp)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_admission_token_cookie(r, NGX_HTTP_ADMISSION_TOKEN_TICKET,
                                           &visit->ticket->sub,
                                           &visit->ticket->token,
                                           ngx_max(visit->ticket->exp - now,
                                                   1));
}


ngx_int_t
ngx_http_admission_visit_token(ngx_http_admission_visit_t *visit,
    ngx_str_t *token)
{
    return ngx_http_admission_ticket_issue(visit->call->request, visit->ticket,
                                           visit->call->conf,
                                           &visit->standing, token);
}
