
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What check, status and heartbeat answer: how the user stands, with the token
 * that goes with it: a place for who waits, an entry token for who is in.
 * Event ids and tokens need no escapes in JSON, and eventInfo is JSON.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../host/line.h"
#include "../http/deny.h"
#include "../http/notice.h"
#include "../http/respond.h"
#include "../http/token_cookie.h"
#include "answer.h"


#define NGX_ADM_PLACE_LIFE  86400


static ngx_int_t ngx_adm_queue_out(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats);
static ngx_int_t ngx_adm_queue_waiting(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats);
static ngx_int_t ngx_adm_queue_active(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_queue_ready(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_queue_position_used(ngx_adm_api_call_t *call);


ngx_int_t
ngx_adm_queue_answer(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_seats_e  seats;

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: queue, event \"%V\": state %d, position %L "
                   "of %L", &call->event, answer->state, answer->position,
                   answer->size);

    seats = ngx_adm_seats(call->conf, answer->slots, answer->sold,
                          answer->active);

    switch (answer->state) {

    case NGX_ADM_QUEUE_WAITING:
        return ngx_adm_queue_waiting(call, answer, seats);

    case NGX_ADM_QUEUE_ACTIVE:
        return ngx_adm_queue_active(call, answer);

    case NGX_ADM_QUEUE_READY:
        return ngx_adm_queue_ready(call, answer);

    case NGX_ADM_QUEUE_POSITION_USED:
        return ngx_adm_queue_position_used(call);

    case NGX_ADM_QUEUE_FULL:
        return ngx_adm_api_full(call, NGX_ADM_LINE_FULL);

    case NGX_ADM_QUEUE_TOO_LONG:
        return ngx_adm_api_full(call, NGX_ADM_LINE_LONG);

    case NGX_ADM_QUEUE_NEEDS_TIER1:
        return ngx_adm_deny_to_waiting(call->request, "TIER1_REQUIRED",
                                       "Waiting room token required",
                                       &call->event);

    case NGX_ADM_QUEUE_SOLD_OUT:
        return ngx_adm_api_sold_out(call);

    default: /* NGX_ADM_QUEUE_NOT_IN */
        return ngx_adm_queue_out(call, answer, seats);
    }
}


static ngx_int_t
ngx_adm_queue_out(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer,
    ngx_adm_seats_e seats)
{
    ngx_str_t    notice;
    const char  *status, *message;

    if (seats == NGX_ADM_SEATS_SOLD) {
        status = "sold_out";
        message = "Sold out";

    } else {
        status = "not_in_queue";
        message = "Not in queue";
    }

    if (call->value == NGX_ADM_QUEUE_HEARTBEAT) {
        return ngx_adm_api_json(call->request, 0,
                                "{\"status\":\"%s\",\"queued\":false}",
                                status);
    }

    if (ngx_adm_notice_member(call->request, &call->event, &notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, notice.len,
               "{\"status\":\"%s\",\"queued\":false,\"message\":\"%s\","
               "\"currentUsers\":%L,\"nextPoll\":%ui%V}",
               status, message, answer->active, ngx_adm_queue_next_poll(0),
               &notice);
}


/* who waits keeps the place, also where all is sold: more seats may come */

static ngx_int_t
ngx_adm_queue_waiting(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer,
    ngx_adm_seats_e seats)
{
    int64_t               size;
    ngx_str_t             place, notice, *info;
    const char           *status;
    ngx_http_request_t   *r;
    ngx_adm_claims_t      claims;

    r = call->request;
    status = (seats == NGX_ADM_SEATS_SOLD) ? "sold_out" : "queued";

    if (call->value == NGX_ADM_QUEUE_HEARTBEAT) {
        return ngx_adm_api_json(r, 0,
                                "{\"status\":\"%s\",\"queued\":true%s}", status,
                                seats == NGX_ADM_SEATS_TAKEN ? ",\"seats\":0"
                                                             : "");
    }

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    claims.sub = call->event;
    claims.uid = call->who;
    claims.score = answer->score;
    claims.at = answer->clock;
    claims.epoch = answer->epoch;
    claims.iat = answer->now / 1000000;
    claims.exp = claims.iat + NGX_ADM_PLACE_LIFE;

    if (ngx_adm_token_issue(r, NGX_ADM_TOKEN_PLACE, &claims, NGX_ADM_PLACE_LIFE,
                            &place) != NGX_OK
        || ngx_adm_notice_member(r, &call->event, &notice) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    info = &call->conf->info;

    /* who is passed over is not in the line that was counted */

    size = ngx_max(answer->size, answer->position);

    return ngx_adm_api_json(r, info->len + place.len + notice.len,
               "{\"status\":\"%s\",\"queued\":true%s,\"position\":%L,"
               "\"peopleAhead\":%L,\"peopleBehind\":%L,\"queueSize\":%L,"
               "\"estimatedWait\":%L,\"nextPoll\":%ui,\"currentUsers\":%L,"
               "\"threshold\":%L,\"eventInfo\":%V,\"place\":\"%V\"%V}",
               status, seats == NGX_ADM_SEATS_TAKEN ? ",\"seats\":0" : "",
               answer->position,
               answer->position - 1,
               size - answer->position,
               size,
               ngx_adm_queue_estimate(answer->position, answer->rate),
               ngx_adm_queue_next_poll(answer->position),
               answer->active,
               answer->threshold,
               info, &place, &notice);
}


/*
 * An entry token is never valid past the session: verifiers give it the leeway
 * that is taken off here.
 */

static ngx_int_t
ngx_adm_queue_active(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_str_t             entry, notice, *info;
    ngx_http_request_t   *r;
    ngx_adm_claims_t      claims;

    r = call->request;

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    claims.sub = call->event;
    claims.uid = call->who;
    claims.tier = 2;
    claims.adm = answer->adm;
    claims.iat = answer->now / 1000000;
    claims.exp = ngx_min(claims.iat + (int64_t) call->conf->token_ttl / 1000,
                         answer->expires / 1000 - NGX_ADM_LEEWAY);

    if (ngx_adm_token_issue(r, NGX_ADM_TOKEN_TIER2, &claims,
                            ngx_max(claims.exp - claims.iat, 1),
                            &entry) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (call->value == NGX_ADM_QUEUE_HEARTBEAT) {
        return ngx_adm_api_json(r, entry.len,
                                "{\"status\":\"active\",\"queued\":false,"
                                "\"entryToken\":\"%V\"}",
                                &entry);
    }

    if (ngx_adm_notice_member(r, &call->event, &notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    info = &call->conf->info;

    return ngx_adm_api_json(r, entry.len + info->len + notice.len,
               "{\"status\":\"active\",\"queued\":false,\"currentUsers\":%L,"
               "\"threshold\":%L,\"nextPoll\":%ui,\"entryToken\":\"%V\","
               "\"eventInfo\":%V%V}",
               answer->active, answer->threshold,
               ngx_adm_queue_next_poll(0),
               &entry, info, &notice);
}


/* without a token, and with the place that there is: the turn is not taken */

static ngx_int_t
ngx_adm_queue_ready(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    int64_t    left;
    ngx_str_t  notice;

    if (ngx_adm_notice_member(call->request, &call->event, &notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    left = ngx_max(answer->expires - answer->now / 1000, 0) / 1000;

    return ngx_adm_api_json(call->request, notice.len,
               "{\"status\":\"ready\",\"claimIn\":%L,\"nextPoll\":%ui%V}",
               left, ngx_max(ngx_min(ngx_adm_queue_next_poll(0),
                                     (ngx_uint_t) left / 2), 1), &notice);
}


/* somebody else came with this position: back to where one gets a new one */

static ngx_int_t
ngx_adm_queue_position_used(ngx_adm_api_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    if (ngx_adm_token_clear(r, NGX_ADM_TOKEN_TICKET,
                            &call->event)
        != NGX_OK
        || ngx_adm_token_clear(r, NGX_ADM_TOKEN_TIER1, &call->event)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_deny_to_waiting(r, "POSITION_USED", "Position already used",
                                   &call->event);
}
