
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's call that gives out tickets.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../host/event_state.h"
#include "../host/room_list.h"
#include "../http/body.h"
#include "../http/deny.h"
#include "../http/headers.h"
#include "../http/once.h"
#include "../http/origin.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../http/token_cookie.h"
#include "../http/visitor.h"
#include "api.h"
#include "lot.h"
#include "told.h"
#include "visit.h"


#define NGX_ADM_UID_MAX          128     /* characters */

/* a call of "assign" under way */
typedef struct {
    ngx_adm_visit_t   visit;
    ngx_adm_once_t    once;
} ngx_adm_assign_call_t;


static ngx_int_t ngx_adm_assign_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_assign_uid(ngx_adm_api_call_t *call, ngx_str_t *uid);
static ngx_int_t ngx_adm_assign_fits(ngx_adm_api_call_t *call, ngx_str_t *uid);
static ngx_int_t ngx_adm_assign_once(ngx_adm_assign_call_t *ac);
static ngx_int_t ngx_adm_assign_first(ngx_adm_once_t *once);
static ngx_int_t ngx_adm_assign_refused(ngx_adm_once_t *once);
static ngx_int_t ngx_adm_assign_repeat(ngx_adm_once_t *once,
    ngx_adm_answer_t *answer);

static ngx_int_t ngx_adm_assign_done(ngx_adm_visit_t *visit, ngx_int_t rc);
static ngx_int_t ngx_adm_assign_answer(ngx_adm_api_call_t *call,
    ngx_adm_answer_t *answer);


ngx_int_t
ngx_adm_assign_handler(ngx_adm_api_call_t *call)
{
    if (ngx_adm_is_prefetch(call->request)) {
        return ngx_adm_respond_error(call->request, NGX_HTTP_FORBIDDEN,
                                     "PREFETCH", "Not ahead of time", NULL);
    }

    return ngx_adm_body_read(call, ngx_adm_assign_body);
}


static ngx_int_t
ngx_adm_assign_body(ngx_adm_api_call_t *call)
{
    ngx_int_t               rc;
    ngx_adm_sale_t          sale;
    ngx_adm_assign_call_t  *ac;

    if (!call->lcf->dry_run
        && ngx_adm_event_seats(&call->event, call->conf) == NGX_ADM_SEATS_SOLD)
    {
        return ngx_adm_api_sold_out(call, NGX_ADM_TIER_1);
    }

    if (ngx_adm_sale_get(&call->event, call->conf, &sale)
        == NGX_ADM_PHASE_BEFORE)
    {
        return ngx_adm_sale_refuse(call->request, &call->event, call->conf, 0,
                                   NULL);
    }

    ac = ngx_pcalloc(call->request->pool, sizeof(ngx_adm_assign_call_t));
    if (ac == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ac->visit.call = call;
    ac->visit.done = ngx_adm_assign_done;
    ac->visit.data = ac;
    ac->visit.deadline = ngx_adm_api_deadline(call);
    ac->visit.intake.kind = NGX_ADM_INTAKE_ASSIGN;
    ac->visit.intake.conf = call->lcf->intake;

    rc = ngx_adm_assign_uid(call, &ac->visit.uid);

    if (rc == NGX_DECLINED) {
        return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                     "INVALID_USER", "The body has to be "
                                     "{\\\"userId\\\": \\\"...\\\"} with 128 "
                                     "characters at most", NULL);
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_assign_once(ac);
}


/* NGX_DECLINED: the body is not what it should be */

static ngx_int_t
ngx_adm_assign_uid(ngx_adm_api_call_t *call, ngx_str_t *uid)
{
    json_t     *value;
    ngx_str_t   text;

    if (call->body == NULL) {
        return NGX_OK;
    }

    if (!json_is_object(call->body)) {
        return NGX_DECLINED;
    }

    value = json_object_get(call->body, "userId");

    if (value == NULL || json_is_null(value)) {
        return NGX_OK;
    }

    if (!json_is_string(value)) {
        return NGX_DECLINED;
    }

    text.data = (u_char *) json_string_value(value);
    text.len = json_string_length(value);

    if (!ngx_adm_is_user_id(&text)
        || ngx_utf8_length(text.data, text.len) > NGX_ADM_UID_MAX)
    {
        return NGX_DECLINED;
    }

    uid->len = text.len;

    uid->data = ngx_pstrdup(call->request->pool, &text);
    if (uid->data == NULL) {
        return NGX_ERROR;
    }

    return ngx_adm_assign_fits(call, uid);
}


/*
 * whether a ticket with the longest numbers fits, before a position is spent
 * on it
 */

static ngx_int_t
ngx_adm_assign_fits(ngx_adm_api_call_t *call, ngx_str_t *uid)
{
    ngx_str_t         token;
    ngx_adm_claims_t  ticket;

    ngx_memzero(&ticket, sizeof(ngx_adm_claims_t));

    ticket.sub = call->event;
    ticket.uid = *uid;
    ngx_str_set(&ticket.vis, "0123456789abcdefghijkl");
    ticket.position = 9999999999;
    ticket.at = ngx_adm_now_us();
    ticket.act = ticket.at;
    ticket.exp = ticket.at / 1000000;

    return ngx_adm_ticket_sign(call->request, &ticket, &token);
}


static ngx_int_t
ngx_adm_assign_once(ngx_adm_assign_call_t *ac)
{
    ngx_int_t            rc;
    ngx_str_t            body, parts[5];
    ngx_uint_t           n;
    const char          *why;
    ngx_adm_claims_t    *visitor;
    ngx_http_request_t  *r;

    r = ac->visit.call->request;

    if (ngx_adm_header(r, "idempotency-key") == NULL) {
        return ngx_adm_visit(&ac->visit);
    }

    rc = ngx_adm_visitor_find(r, &visitor, &why);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ac->once.call = ac->visit.call;
    ac->once.deadline = ac->visit.deadline;
    ac->once.first = ngx_adm_assign_first;
    ac->once.again = ngx_adm_assign_repeat;
    ac->once.refused = ngx_adm_assign_refused;
    ac->once.data = ac;

    parts[1] = r->connection->addr_text;
    parts[2] = ac->visit.call->event;

    if (rc == NGX_OK) {
        parts[3] = visitor->vis;

    } else {
        ngx_str_null(&parts[3]);
    }

    /* compared by what the body says, not by how it is written */

    body = ac->visit.uid;

    /* a lot is a user's, though others may have the same address, or browser */

    rc = ngx_adm_visit_user(&ac->visit);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    n = 4;

    if (rc == NGX_OK && ac->visit.user.len) {
        parts[n++] = ac->visit.user;
    }

    return ngx_adm_once(&ac->once, parts, n, &body, 1);
}


static ngx_int_t
ngx_adm_assign_first(ngx_adm_once_t *once)
{
    ngx_adm_assign_call_t  *ac = once->data;

    return ngx_adm_visit(&ac->visit);
}


static ngx_int_t
ngx_adm_assign_refused(ngx_adm_once_t *once)
{
    ngx_int_t               rc;
    ngx_adm_assign_call_t  *ac = once->data;

    rc = ngx_adm_intake_look(once->call->request, &ac->visit.intake);

    return (rc == NGX_ERROR) ? NGX_ERROR : (rc != NGX_OK);
}


static ngx_int_t
ngx_adm_assign_repeat(ngx_adm_once_t *once, ngx_adm_answer_t *answer)
{
    time_t               now;
    ngx_str_t            any, *event;
    ngx_http_request_t  *r;

    r = once->call->request;
    event = &once->call->event;
    now = ngx_adm_now();

    ngx_str_null(&any);

    if (ngx_adm_token_cookie(r, NGX_ADM_TOKEN_VISITOR, &any, &answer->visitor,
                             ngx_max(answer->visitor_exp - now, 1))
        != NGX_OK
        || ngx_adm_token_cookie(r, NGX_ADM_TOKEN_TICKET, event, &answer->ticket,
                                ngx_max(answer->ticket_exp - now, 1))
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_assign_answer(once->call, answer);
}


static ngx_int_t
ngx_adm_assign_done(ngx_adm_visit_t *visit, ngx_int_t rc)
{
    ngx_adm_assign_call_t  *ac = visit->data;

    ngx_http_request_t     *r;
    ngx_adm_room_t         *room;
    ngx_adm_sale_t          sale;
    ngx_adm_answer_t        answer;

    r = visit->call->request;

    switch (rc) {

    case NGX_OK:
        break;

    case NGX_DECLINED:

        if (ngx_adm_room_is_kept(visit->call->conf)
            && !ngx_adm_rooms_configured())
        {
            /* inactive now, about to be active */
            return ngx_adm_api_unavailable(r);
        }

        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "VWR_INACTIVE",
                                     "The waiting room is inactive", NULL);

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_adm_deny_script(r, NGX_ADM_VERDICT_USER,
                                   ngx_adm_reason(NO_USER),
                                   &visit->call->event);

    case NGX_AGAIN:
        return ngx_adm_api_full(visit->call, visit->full);

    case NGX_BUSY:
        return ngx_adm_api_unavailable(r);

    case NGX_ABORT:
        return ngx_adm_respond_limited(r, visit->intake.retry);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    room = &visit->standing.room;

    (void) ngx_adm_sale_get(&visit->call->event, visit->call->conf, &sale);

    answer.position = visit->standing.undrawn ? 0 : visit->standing.position;
    answer.lot = visit->standing.lot;
    answer.total = ngx_max(room->next, visit->ticket->position);
    answer.paused = ngx_adm_told_range(&visit->call->event,
                                       visit->call->conf, &visit->standing,
                                       visit->standing.undrawn
                                           ? answer.total - room->serving
                                           : visit->standing.ahead,
                                       sale.rest, &answer.wait)
                    != NGX_OK;
    answer.serving = room->serving;
    answer.next_poll = ngx_adm_sale_next_poll(&sale,
                             ngx_adm_room_next_poll(visit->standing.ahead),
                             room->next);
    answer.ticket = visit->ticket->token;
    answer.ticket_exp = visit->ticket->exp;
    answer.visitor = visit->visitor->token;
    answer.visitor_exp = visit->visitor->exp;

    ngx_adm_once_keep(&ac->once, &answer);

    return ngx_adm_assign_answer(visit->call, &answer);
}


static ngx_int_t
ngx_adm_assign_answer(ngx_adm_api_call_t *call, ngx_adm_answer_t *answer)
{
    ngx_str_t           notice;
    u_char              text[NGX_ADM_LOT_TEXT], wait[NGX_ADM_RANGE_TEXT];
    ngx_adm_sale_t      sale;
    ngx_adm_standing_t  standing;

    standing.lot = answer->lot;
    standing.position = answer->position;
    standing.undrawn = (answer->position == 0);

    ngx_adm_lot_text(&standing, text);
    ngx_adm_range_text(answer->paused ? NULL : &answer->wait, wait);

    /* told anew, also where the answer is a repeated one */

    (void) ngx_adm_sale_get(&call->event, call->conf, &sale);

    if (ngx_adm_told_member(call->request, &call->event, &sale, &notice)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request,
               answer->ticket.len + answer->visitor.len + notice.len
               + sizeof(text) + sizeof(wait),
               "{\"requestId\":\"%V\",%s%s,"
               "\"servingCounter\":%L,\"totalInQueue\":%L,\"nextPoll\":%L,"
               "\"visitor\":\"%V\"%s%V}",
               &answer->ticket, (char *) text, (char *) wait,
               answer->serving, answer->total, answer->next_poll,
               &answer->visitor,
               answer->paused ? ",\"paused\":true" : "", &notice);
}
