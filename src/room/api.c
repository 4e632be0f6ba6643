
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's calls that poll: answered from the host's memory, they
 * send Redis nothing.  The one that does not is in assign_api.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../http/notice.h"
#include "../http/respond.h"
#include "../http/room.h"
#include "../http/visitor.h"
#include "api.h"
#include "ticket.h"


static ngx_int_t ngx_adm_room_waiting(ngx_adm_api_call_t *call,
    ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing);
static ngx_int_t ngx_adm_room_admitted(ngx_adm_api_call_t *call,
    ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing);
static ngx_int_t ngx_adm_room_not_found(ngx_adm_api_call_t *call);
static const char *ngx_adm_room_seats(ngx_adm_api_call_t *call);


ngx_int_t
ngx_adm_room_check_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    ngx_http_request_t   *r;
    ngx_adm_claims_t     *ticket;
    ngx_adm_standing_t    standing;

    r = call->request;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_adm_ticket_read(r, &call->event, &call->rest, &ticket);

    if (rc == NGX_OK) {
        rc = ngx_adm_ticket_standing(ticket, call->conf, &standing);
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: ticket of event \"%V\": %i", &call->event, rc);

    switch (rc) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        return ngx_adm_room_not_found(call);

    case NGX_AGAIN:
        /* until the host has heard what there is, nothing would be true */
        return ngx_adm_api_unavailable(r);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_tier1_pending(call->conf, &standing.room)) {
        return ngx_adm_api_unavailable(r);
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: ticket %s, %L ahead, served %L of %L",
                   standing.admitted ? "admitted" : "waits", standing.ahead,
                   standing.room.serving, standing.room.next);

    return standing.admitted
           ? ngx_adm_room_admitted(call, ticket, &standing)
           : ngx_adm_room_waiting(call, ticket, &standing);
}


static ngx_int_t
ngx_adm_room_waiting(ngx_adm_api_call_t *call, ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing)
{
    ngx_int_t        rc;
    ngx_str_t        notice;
    ngx_adm_room_t  *room;

    room = &standing->room;

    rc = ngx_adm_visitor_is(call->request, &ticket->vis, NULL);

    if (rc == NGX_ERROR
        || ngx_adm_notice_member(call->request, &call->event, &notice)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, notice.len,
               "{\"admitted\":false,\"position\":%L,\"servingCounter\":%L,"
               "\"totalInQueue\":%L,\"ahead\":%L,\"estimatedWait\":%L,"
               "\"nextPoll\":%ui%s%s%s%V}",
               ticket->position, room->serving,
               ngx_max(room->next, ticket->position), standing->ahead,
               ngx_adm_room_estimate(room, call->conf, standing->ahead),
               ngx_adm_room_next_poll(standing->ahead),
               ngx_adm_room_paused(room) ? ",\"paused\":true" : "",
               ngx_adm_room_seats(call),
               rc == NGX_OK ? "" : ",\"holder\":false", &notice);
}


/*
 * Who was only told of a ticket gets no token, and is not to wait for one.  A
 * page that nobody looks at is told of its turn, and does not take it.
 */

static ngx_int_t
ngx_adm_room_admitted(ngx_adm_api_call_t *call, ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing)
{
    ngx_int_t            rc;
    ngx_str_t            token, notice;
    ngx_http_request_t  *r;
    ngx_adm_room_t      *room;
    ngx_adm_claims_t    *visitor;

    r = call->request;
    room = &standing->room;

    ngx_str_null(&token);

    rc = ngx_adm_visitor_is(r, &ticket->vis, &visitor);

    if (rc == NGX_OK && !ngx_adm_arg_flag(r, "away")) {
        rc = ngx_adm_ticket_issue(r, ticket, call->conf, standing, &token);

        if (rc == NGX_OK) {

            /* where a header showed it, the gate is to see it as well */

            rc = ngx_adm_visitor_cookie(r, visitor);
        }
    }

    if (rc == NGX_DECLINED) {
        return ngx_adm_room_not_found(call);
    }

    if (rc != NGX_OK
        || ngx_adm_notice_member(r, &call->event, &notice) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(r, token.len + notice.len,
               "{\"admitted\":true,\"position\":%L,\"servingCounter\":%L,"
               "\"totalInQueue\":%L,\"ahead\":%L%s%V%s%V}",
               ticket->position, room->serving,
               ngx_max(room->next, ticket->position), standing->ahead,
               token.len ? ",\"token\":\"" : "", &token,
               token.len ? "\"" : "", &notice);
}


/* one answer for all that a ticket can be: nothing is told by it */

static ngx_int_t
ngx_adm_room_not_found(ngx_adm_api_call_t *call)
{
    return ngx_adm_respond_error(call->request, NGX_HTTP_NOT_FOUND,
                                 "POSITION_NOT_FOUND",
                                 "No such position", NULL);
}


ngx_int_t
ngx_adm_room_status_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t       rc;
    ngx_str_t       notice;
    ngx_adm_room_t  room;

    rc = ngx_http_discard_request_body(call->request);
    if (rc != NGX_OK) {
        return rc;
    }

    /* of one never heard of all is 0 */

    (void) ngx_adm_room_get(&call->event, &room);

    if (ngx_adm_notice_member(call->request, &call->event, &notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, call->event.len + notice.len,
               "{\"eventId\":\"%V\",\"isActive\":%s,\"totalInQueue\":%L,"
               "\"serving\":%L,\"waitingCount\":%L%s%V}",
               &call->event, room.active ? "true" : "false", room.next,
               room.serving, ngx_max(room.next - room.serving, 0),
               ngx_adm_room_seats(call), &notice);
}


/* what there is to be said of seats, for who waits */

static const char *
ngx_adm_room_seats(ngx_adm_api_call_t *call)
{
    switch (ngx_adm_event_seats(&call->event, call->conf)) {

    case NGX_ADM_SEATS_SOLD:
        return ",\"status\":\"sold_out\"";

    case NGX_ADM_SEATS_TAKEN:
        return ",\"seats\":0";

    default: /* NGX_ADM_SEATS_FREE */
        return "";
    }
}
