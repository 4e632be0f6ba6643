
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's calls that poll: answered from the host's memory, they
 * send Redis nothing.  The one that does not is in assign_api.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_ticket.h"
#include "ngx_http_admission_visitor.h"
#include "ngx_http_admission_vwr_api.h"
#include "ngx_http_admission_tier1.h"


static ngx_int_t ngx_http_admission_vwr_check(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_vwr_ticket(
    ngx_http_admission_api_call_t *call, ngx_http_admission_claims_t *ticket);
static ngx_int_t ngx_http_admission_vwr_waiting(
    ngx_http_admission_api_call_t *call, ngx_http_admission_claims_t *ticket,
    ngx_http_admission_standing_t *standing);
static ngx_int_t ngx_http_admission_vwr_admitted(
    ngx_http_admission_api_call_t *call, ngx_http_admission_claims_t *ticket,
    ngx_http_admission_standing_t *standing);
static ngx_int_t ngx_http_admission_vwr_not_found(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_vwr_status(
    ngx_http_admission_api_call_t *call);


static const ngx_http_admission_route_t  ngx_http_admission_vwr_routes[] = {

    { "assign/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_assign_handler,
      0, 0 },

    { "check/*/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_vwr_check,
      0, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_vwr_status,
      0, 1 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


ngx_int_t
ngx_http_admission_vwr_api_handler(ngx_http_request_t *r)
{
    return ngx_http_admission_api_handler(r, ngx_http_admission_vwr_routes);
}


static ngx_int_t
ngx_http_admission_vwr_check(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                     rc;
    ngx_http_request_t           *r;
    ngx_http_admission_claims_t  *ticket;

    r = call->request;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_http_admission_ticket_read(r, &call->event, &call->rest,
                                        &ticket);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_admission_vwr_not_found(call);
    }

    return ngx_http_admission_vwr_ticket(call, ticket);
}


static ngx_int_t
ngx_http_admission_vwr_ticket(ngx_http_admission_api_call_t *call,
    ngx_http_admission_claims_t *ticket)
{
    ngx_http_admission_standing_t  standing;

    switch (ngx_http_admission_ticket_standing(ticket, call->conf,
                                               &standing))
    {
    case NGX_AGAIN:
        /* until the host has heard what there is, nothing would be true */
        return ngx_http_admission_api_unavailable(call->request);

    case NGX_DECLINED:
        return ngx_http_admission_vwr_not_found(call);

    default: /* NGX_OK */

        if (ngx_http_admission_tier1_pending(call->conf, &standing.room)) {
            return ngx_http_admission_api_unavailable(call->request);
        }

        return standing.admitted
               ? ngx_http_admission_vwr_admitted(call, ticket, &standing)
               : ngx_http_admission_vwr_waiting(call, ticket, &standing);
    }
}


static ngx_int_t
ngx_http_admission_vwr_waiting(ngx_http_admission_api_call_t *call,
    ngx_http_admission_claims_t *ticket,
    ngx_http_admission_standing_t *standing)
{
    ngx_http_admission_room_t  *room;

    room = &standing->room;

    return ngx_http_admission_api_json(call->request, 0,
               "{\"admitted\":false,\"position\":%L,\"servingCounter\":%L,"
               "\"totalInQueue\":%L,\"ahead\":%L,\"estimatedWait\":%L,"
               "\"nextPoll\":%ui%s}",
               ticket->position, room->serving,
               ngx_max(room->next, ticket->position), standing->ahead,
               ngx_http_admission_room_estimate(room, call->conf,
                                                standing->ahead),
               ngx_http_admission_room_next_poll(standing->ahead),
               ngx_http_admission_room_paused(room) ? ",\"paused\":true"
                                                    : "");
}


/* who was only told of a ticket sees how it stands, and gets no token */

static ngx_int_t
ngx_http_admission_vwr_admitted(ngx_http_admission_api_call_t *call,
    ngx_http_admission_claims_t *ticket,
    ngx_http_admission_standing_t *standing)
{
    ngx_int_t                     rc;
    ngx_str_t                     token;
    ngx_http_request_t           *r;
    ngx_http_admission_room_t    *room;
    ngx_http_admission_claims_t  *visitor;

    r = call->request;
    room = &standing->room;

    rc = ngx_http_admission_visitor_is(r, &ticket->vis, &visitor);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_admission_api_json(r, 0,
                   "{\"admitted\":true,\"position\":%L,\"servingCounter\":%L,"
                   "\"totalInQueue\":%L,\"ahead\":%L}",
                   ticket->position, room->serving,
                   ngx_max(room->next, ticket->position), standing->ahead);
    }

    rc = ngx_http_admission_ticket_issue(r, ticket, call->conf, standing,
                                         &token);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_admission_vwr_not_found(call);
    }

    /* where a header was all that showed it, the gate is to see it as well */

    if (ngx_http_admission_visitor_cookie(r, &visitor->token, visitor->exp)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_api_json(r, token.len,
               "{\"admitted\":true,\"position\":%L,\"servingCounter\":%L,"
               "\"totalInQueue\":%L,\"ahead\":%L,\"token\":\"%V\"}",
               ticket->position, room->serving,
               ngx_max(room->next, ticket->position), standing->ahead,
               &token);
}


/* one answer for all that a ticket can be: nothing is told by it */

static ngx_int_t
ngx_http_admission_vwr_not_found(ngx_http_admission_api_call_t *call)
{
    return ngx_http_admission_respond_error(call->request, NGX_HTTP_NOT_FOUND,
                                            "POSITION_NOT_FOUND",
                                            "No such position", NULL);
}


static ngx_int_t
ngx_http_admission_vwr_status(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                  rc;
    ngx_http_admission_room_t  room;

    rc = ngx_http_discard_request_body(call->request);
    if (rc != NGX_OK) {
        return rc;
    }

    /* of one never heard of all is 0 */

    (void) ngx_http_admission_room_get(&call->event, &room);

    return ngx_http_admission_api_json(call->request, call->event.len,
               "{\"eventId\":\"%V\",\"isActive\":%s,\"totalInQueue\":%L,"
               "\"serving\":%L,\"waitingCount\":%L}",
               &call->event, room.active ? "true" : "false", room.next,
               room.serving, ngx_max(room.next - room.serving, 0));
}
