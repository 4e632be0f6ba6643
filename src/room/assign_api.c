
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's call that gives out tickets.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../host/idempotency.h"
#include "../host/room_list.h"
#include "../http/body.h"
#include "../http/headers.h"
#include "../http/origin.h"
#include "../http/respond.h"
#include "../http/token_cookie.h"
#include "../http/visitor.h"
#include "api.h"
#include "visit.h"


#define NGX_ADM_UID_MAX          128     /* characters */
#define NGX_ADM_IDEMPOTENCY_MIN  16
#define NGX_ADM_IDEMPOTENCY_MAX  128

#define NGX_ADM_REPEAT_INTERVAL  20      /* ms */


/* a call of assign under way */
typedef struct {
    ngx_adm_visit_t   visit;

    /* with an Idempotency-Key */
    ngx_adm_keyed_t   key;
    ngx_event_t       event;     /* waits for the first call */
    unsigned          keyed:1;
} ngx_adm_assign_call_t;


static ngx_int_t ngx_adm_assign_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_assign_uid(ngx_adm_api_call_t *call, ngx_str_t *uid);
static ngx_int_t ngx_adm_assign_fits(ngx_adm_api_call_t *call, ngx_str_t *uid);
static ngx_int_t ngx_adm_assign_key(ngx_adm_assign_call_t *ac);
static void ngx_adm_assign_cleanup(void *data);

static ngx_int_t ngx_adm_assign_once(ngx_adm_assign_call_t *ac);
static ngx_int_t ngx_adm_assign_wait(ngx_adm_assign_call_t *ac);
static void ngx_adm_assign_no_more(void *data);
static void ngx_adm_assign_again(ngx_event_t *ev);
static ngx_int_t ngx_adm_assign_repeat(ngx_adm_assign_call_t *ac,
    ngx_adm_answer_t *answer);

static ngx_int_t ngx_adm_assign_done(ngx_adm_visit_t *visit, ngx_int_t rc);
static ngx_int_t ngx_adm_assign_answer(ngx_http_request_t *r,
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
    ngx_adm_assign_call_t  *ac;

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

    if (rc == NGX_OK) {
        rc = ngx_adm_assign_key(ac);
    }

    if (rc == NGX_DECLINED) {
        return ngx_adm_respond_error(call->request,
                               NGX_HTTP_BAD_REQUEST, "INVALID_IDEMPOTENCY_KEY",
                               "Idempotency-Key has to have 16 to 128 "
                               "characters", NULL);
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ac->keyed ? ngx_adm_assign_once(ac) : ngx_adm_visit(&ac->visit);
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


/* a ticket with the longest numbers, before a position is spent on one */

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


/* NGX_DECLINED: there is one, and it is too short or too long */

static ngx_int_t
ngx_adm_assign_key(ngx_adm_assign_call_t *ac)
{
    ngx_int_t            rc;
    ngx_str_t            parts[4];
    const char          *why;
    ngx_table_elt_t     *h;
    ngx_pool_cleanup_t  *cln;
    ngx_http_request_t  *r;
    ngx_adm_claims_t    *visitor;

    r = ac->visit.call->request;

    h = ngx_adm_header(r, "idempotency-key");

    if (h == NULL) {
        return NGX_OK;
    }

    if (h->value.len < NGX_ADM_IDEMPOTENCY_MIN
        || h->value.len > NGX_ADM_IDEMPOTENCY_MAX)
    {
        return NGX_DECLINED;
    }

    rc = ngx_adm_visitor_find(r, &visitor, &why);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    parts[0] = h->value;
    parts[1] = r->connection->addr_text;
    parts[2] = ac->visit.call->event;

    if (rc == NGX_OK) {
        parts[3] = visitor->vis;

    } else {
        ngx_str_null(&parts[3]);
    }

    ngx_adm_idempotency_hash(ac->key.hash, parts, 4);

    /* what it says, however it is written */

    ngx_adm_idempotency_hash(ac->key.body, &ac->visit.uid, 1);

    cln = ngx_pool_cleanup_add(r->pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_adm_assign_cleanup;
    cln->data = ac;

    ac->keyed = 1;

    return NGX_OK;
}


/* the client went, before there was an answer */

static void
ngx_adm_assign_cleanup(void *data)
{
    ngx_adm_assign_call_t *ac = data;

    if (ac->key.owner) {
        ngx_adm_idempotency_drop(&ac->key);
    }
}


static ngx_int_t
ngx_adm_assign_once(ngx_adm_assign_call_t *ac)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_answer_t     answer;

    r = ac->visit.call->request;

    /* what will be refused is not to take the place of others' answers */

    rc = ngx_adm_intake_look(r, &ac->visit.intake);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (ngx_adm_idempotency_begin(&ac->key, r->pool, rc == NGX_OK,
                                      ac->visit.deadline, &answer))
    {
    case NGX_OK:
        return ngx_adm_assign_repeat(ac, &answer);

    case NGX_AGAIN:
        return ngx_adm_assign_wait(ac);

    case NGX_ABORT:
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT,
                                     "IDEMPOTENCY_CONFLICT", "Idempotency-Key "
                                     "was used with another body", NULL);

    case NGX_DECLINED:
        return ngx_adm_visit(&ac->visit);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


/* the first call may be in another worker, so this one looks now and then */

static ngx_int_t
ngx_adm_assign_wait(ngx_adm_assign_call_t *ac)
{
    ngx_http_request_t  *r;

    r = ac->visit.call->request;

    if ((ngx_msec_int_t) (ac->visit.deadline - ngx_current_msec) <= 0) {
        return ngx_adm_api_unavailable(r);
    }

    ac->event.handler = ngx_adm_assign_again;
    ac->event.data = ac;
    ac->event.log = r->connection->log;

    ngx_add_timer(&ac->event, NGX_ADM_REPEAT_INTERVAL);

    return ngx_adm_wait_content(r, ngx_adm_assign_no_more, &ac->event);
}


static void
ngx_adm_assign_no_more(void *data)
{
    ngx_event_t *ev = data;

    ngx_del_timer(ev);
}


static void
ngx_adm_assign_again(ngx_event_t *ev)
{
    ngx_adm_assign_call_t *ac = ev->data;

    ngx_adm_wait_over(ac->visit.call->request);

    ngx_adm_wait_finish(ac->visit.call->request, ngx_adm_assign_once(ac));
}


static ngx_int_t
ngx_adm_assign_repeat(ngx_adm_assign_call_t *ac, ngx_adm_answer_t *answer)
{
    time_t               now;
    ngx_str_t            any, *event;
    ngx_http_request_t  *r;

    r = ac->visit.call->request;
    event = &ac->visit.call->event;
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

    return ngx_adm_assign_answer(r, answer);
}


static ngx_int_t
ngx_adm_assign_done(ngx_adm_visit_t *visit, ngx_int_t rc)
{
    ngx_adm_assign_call_t  *ac = visit->data;

    ngx_http_request_t     *r;
    ngx_adm_room_t         *room;
    ngx_adm_answer_t        answer;

    r = visit->call->request;

    switch (rc) {

    case NGX_OK:
        break;

    case NGX_DECLINED:

        if (visit->call->conf->vwr == NGX_ADM_ON && !ngx_adm_rooms_configured())
        {
            /* it is about to be active */
            return ngx_adm_api_unavailable(r);
        }

        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "VWR_INACTIVE",
                                     "The waiting room is inactive", NULL);

    case NGX_BUSY:
        return ngx_adm_api_unavailable(r);

    case NGX_ABORT:
        return ngx_adm_respond_limited(r, visit->intake.retry);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    room = &visit->standing.room;

    answer.position = visit->ticket->position;
    answer.wait = ngx_adm_room_estimate(room, visit->call->conf,
                                        visit->standing.ahead);
    answer.serving = room->serving;
    answer.total = ngx_max(room->next, answer.position);
    answer.next_poll = ngx_adm_room_next_poll(visit->standing.ahead);
    answer.paused = ngx_adm_room_paused(room);
    answer.ticket = visit->ticket->token;
    answer.ticket_exp = visit->ticket->exp;
    answer.visitor = visit->visitor->token;
    answer.visitor_exp = visit->visitor->exp;

    if (ac->key.owner) {
        ngx_adm_idempotency_keep(&ac->key, &answer);
    }

    return ngx_adm_assign_answer(r, &answer);
}


static ngx_int_t
ngx_adm_assign_answer(ngx_http_request_t *r, ngx_adm_answer_t *answer)
{
    return ngx_adm_api_json(r,
               answer->ticket.len + answer->visitor.len,
               "{\"requestId\":\"%V\",\"position\":%L,\"estimatedWait\":%L,"
               "\"servingCounter\":%L,\"totalInQueue\":%L,\"nextPoll\":%L,"
               "\"visitor\":\"%V\"%s}",
               &answer->ticket, answer->position, answer->wait,
               answer->serving, answer->total, answer->next_poll,
               &answer->visitor,
               answer->paused ? ",\"paused\":true" : "");
}
