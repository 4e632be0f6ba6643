
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's calls that poll: they are answered from the host's
 * memory, and send Redis nothing.  The call that gives out tickets is in
 * assign_api.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/standby.h"
#include "../http/form.h"
#include "../http/notice.h"
#include "../http/respond.h"
#include "../http/room.h"
#include "../http/sale.h"
#include "../http/visitor.h"
#include "api.h"
#include "draw_api.h"
#include "lot.h"
#include "stream.h"
#include "ticket.h"
#include "told.h"


static ngx_int_t ngx_adm_room_token(ngx_adm_api_call_t *call,
    ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing,
    ngx_adm_claims_t *visitor, ngx_str_t *token);


ngx_int_t
ngx_adm_room_check_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    ngx_str_t             body;
    ngx_adm_sale_t        sale;
    ngx_adm_told_t        told;
    ngx_http_request_t   *r;
    ngx_adm_claims_t     *ticket, *visitor;
    ngx_adm_standing_t    standing;

    r = call->request;

    rc = ngx_adm_room_ticket(call, 1, &ticket, &visitor, &standing);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    ngx_memzero(&told, sizeof(ngx_adm_told_t));

    told.event = &call->event;
    told.conf = call->conf;
    told.position = ticket->position;
    told.standing = &standing;
    told.holder = (visitor != NULL);
    told.seats = standing.seats;

    (void) ngx_adm_sale_get(&call->event, call->conf, &sale);
    told.sale = &sale;

    ngx_adm_told_ahead(&told, ngx_adm_told_before(r));

    if (told.holder) {
        ngx_adm_ticket_heard(&call->event, &standing, told.next_poll);
    }

    if (standing.admitted) {

        rc = NGX_DECLINED;

        if (visitor) {
            rc = ngx_adm_room_token(call, ticket, &standing, visitor,
                                    &told.token);
        }

        if (rc == NGX_DECLINED) {
            return ngx_adm_room_not_found(call);
        }

        if (rc != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (ngx_adm_notice_member(r, &call->event, &told.notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body.len = ngx_adm_told_size(&told);

    body.data = ngx_pnalloc(r->pool, body.len);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body.len = ngx_adm_told_put(body.data, body.data + body.len, &told)
               - body.data;

    return ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
}


ngx_int_t
ngx_adm_room_ticket(ngx_adm_api_call_t *call, ngx_uint_t asks,
    ngx_adm_claims_t **ticket, ngx_adm_claims_t **visitor,
    ngx_adm_standing_t *standing)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;
    *visitor = NULL;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_adm_ticket_read(r, &call->event, &call->rest, ticket);

    if (rc == NGX_OK
        && ngx_adm_visitor_is(r, &(*ticket)->vis, visitor) == NGX_ERROR)
    {
        rc = NGX_ERROR;
    }

    if (rc == NGX_OK) {
        rc = ngx_adm_ticket_standing(call->lcf, *ticket, call->conf,
                                     asks && *visitor, standing);
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: ticket of event \"%V\": %i", &call->event, rc);

    switch (rc) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        return ngx_adm_room_not_found(call);

    case NGX_AGAIN:
        /*
         * the host has not heard of the room's state: any answer might be
         * wrong
         */
        return ngx_adm_api_unavailable(r);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_tier1_pending(&call->event, call->conf, &standing->room)) {
        return ngx_adm_api_unavailable(r);
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: ticket %s, %L ahead, served %L of %L",
                   standing->admitted ? "admitted" : "waits", standing->ahead,
                   standing->room.serving, standing->room.next);

    return NGX_DECLINED;
}


/*
 * Who asks about somebody else's ticket gets no token, and is not to wait for
 * one.  A page that nobody looks at is told that it is its turn, and does not
 * take it.
 */

static ngx_int_t
ngx_adm_room_token(ngx_adm_api_call_t *call, ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing, ngx_adm_claims_t *visitor, ngx_str_t *token)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    if (ngx_adm_arg_flag(r, "away")) {
        return NGX_OK;
    }

    rc = ngx_adm_ticket_issue(r, ticket, call->conf, standing, token);

    if (rc == NGX_OK) {

        /*
         * where a header showed the visitor, the gate is to see it by a cookie
         */

        rc = ngx_adm_visitor_cookie(r, visitor);
    }

    return rc;
}


/* "check" as a stream: sets no cookie, and ends only with the ticket */

ngx_int_t
ngx_adm_room_stream_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_adm_claims_t    *ticket, *visitor;
    ngx_adm_standing_t   standing;

    rc = ngx_adm_room_ticket(call, 1, &ticket, &visitor, &standing);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (visitor == NULL && standing.admitted) {
        return ngx_adm_room_not_found(call);
    }

    return ngx_adm_room_stream(call, ticket, visitor != NULL);
}


ngx_int_t
ngx_adm_room_not_found(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_form_back(call->request);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_respond_error(call->request, NGX_HTTP_NOT_FOUND,
                                 "POSITION_NOT_FOUND",
                                 "No such position", NULL);
}


ngx_int_t
ngx_adm_room_status_handler(ngx_adm_api_call_t *call)
{
    u_char           poll[sizeof(",\"nextPoll\":") + NGX_INT64_LEN];
    u_char           commitment[NGX_ADM_DRAW_MEMBER];
    ngx_int_t        rc;
    ngx_str_t        notice;
    ngx_adm_room_t   room;
    ngx_adm_sale_t   sale;
    ngx_adm_seats_e  seats;

    rc = ngx_http_discard_request_body(call->request);
    if (rc != NGX_OK) {
        return rc;
    }

    /* whoever has no ticket yet polls this until tickets are given out */

    poll[0] = '\0';

    if (ngx_adm_sale_get(&call->event, call->conf, &sale)
        == NGX_ADM_PHASE_BEFORE)
    {
        ngx_sprintf(poll, ",\"nextPoll\":%ui%Z",
                    ngx_adm_sale_early_poll(&call->event, &sale));
    }

    /* of an event that the host never heard of all numbers are 0 */

    (void) ngx_adm_room_get_seats(&call->event, call->conf, &room, &seats);

    ngx_adm_lot_look(call->lcf, &call->event, call->conf, &room);
    ngx_adm_draw_member(&call->event, &room, commitment);

    if (ngx_adm_told_member(call->request, &call->event, &sale, &notice)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request,
               call->event.len + notice.len + sizeof(poll)
               + sizeof(commitment) + NGX_ADM_STANDBY_MEMBER,
               "{\"eventId\":\"%V\",\"isActive\":%s,\"totalInQueue\":%L,"
               "\"serving\":%L,\"waitingCount\":%L%s%s%s%s%V}",
               &call->event, room.active ? "true" : "false", room.next,
               room.serving, ngx_adm_there_waiting(&call->event, &room),
               ngx_adm_standby_member(&call->event, call->conf),
               ngx_adm_told_seats(seats), (char *) poll,
               (char *) commitment, &notice);
}
