
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Event ids and tokens need no escapes in JSON, and eventInfo is JSON.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_deny.h"
#include "ngx_http_admission_queue_answer.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_token.h"


#define NGX_HTTP_ADMISSION_PLACE_LIFE  86400


static ngx_int_t ngx_http_admission_queue_waiting(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_active(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_not_in(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_position_used(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_place_token(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer, ngx_str_t *token);
static ngx_int_t ngx_http_admission_queue_entry_token(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer, ngx_str_t *token);


ngx_int_t
ngx_http_admission_queue_answer(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    switch (answer->state) {

    case NGX_HTTP_ADMISSION_QUEUE_WAITING:
        return ngx_http_admission_queue_waiting(call, answer);

    case NGX_HTTP_ADMISSION_QUEUE_ACTIVE:
        return ngx_http_admission_queue_active(call, answer);

    case NGX_HTTP_ADMISSION_QUEUE_POSITION_USED:
        return ngx_http_admission_queue_position_used(call);

    case NGX_HTTP_ADMISSION_QUEUE_NEEDS_TIER1:
        return ngx_http_admission_deny_to_waiting(call->request,
                                                 "TIER1_REQUIRED",
                                                 "Waiting room token required",
                                                 &call->event);

    default: /* NGX_HTTP_ADMISSION_QUEUE_NOT_IN */
        return ngx_http_admission_queue_not_in(call, answer);
    }
}


static ngx_int_t
ngx_http_admission_queue_waiting(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_str_t            place, *info;
    ngx_http_request_t  *r;

    r = call->request;

    if (call->value == NGX_HTTP_ADMISSION_QUEUE_HEARTBEAT) {
        return ngx_http_admission_api_json(r, 0,
                                 "{\"status\":\"queued\",\"queued\":true}");
    }

    if (ngx_http_admission_queue_place_token(call, answer, &place) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    info = &call->conf->info;

    return ngx_http_admission_api_json(r, info->len + place.len,
               "{\"status\":\"queued\",\"queued\":true,\"position\":%L,"
               "\"peopleAhead\":%L,\"peopleBehind\":%L,\"queueSize\":%L,"
               "\"estimatedWait\":%L,\"nextPoll\":%ui,\"currentUsers\":%L,"
               "\"threshold\":%L,\"eventInfo\":%V,\"place\":\"%V\"}",
               answer->position,
               answer->position - 1,
               answer->size - answer->position,
               answer->size,
               ngx_http_admission_queue_estimate(answer->position,
                                                 answer->rate),
               ngx_http_admission_queue_next_poll(answer->position),
               answer->active,
               answer->threshold,
               info, &place);
}


static ngx_int_t
ngx_http_admission_queue_active(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_str_t            entry, *info;
    ngx_http_request_t  *r;

    r = call->request;

    if (ngx_http_admission_queue_entry_token(call, answer, &entry) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (call->value == NGX_HTTP_ADMISSION_QUEUE_HEARTBEAT) {
        return ngx_http_admission_api_json(r, entry.len,
                   "{\"status\":\"active\",\"queued\":false,"
                   "\"entryToken\":\"%V\"}",
                   &entry);
    }

    info = &call->conf->info;

    return ngx_http_admission_api_json(r, entry.len + info->len,
               "{\"status\":\"active\",\"queued\":false,\"currentUsers\":%L,"
               "\"threshold\":%L,\"nextPoll\":%ui,\"entryToken\":\"%V\","
               "\"eventInfo\":%V}",
               answer->active, answer->threshold,
               ngx_http_admission_queue_next_poll(0),
               &entry, info);
}


static ngx_int_t
ngx_http_admission_queue_not_in(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_request_t  *r;

    r = call->request;

    if (call->value == NGX_HTTP_ADMISSION_QUEUE_HEARTBEAT) {
        return ngx_http_admission_api_json(r, 0,
                          "{\"status\":\"not_in_queue\",\"queued\":false}");
    }

    return ngx_http_admission_api_json(r, 0,
               "{\"status\":\"not_in_queue\",\"queued\":false,"
               "\"message\":\"Not in queue\",\"currentUsers\":%L,"
               "\"nextPoll\":%ui}",
               answer->active, ngx_http_admission_queue_next_poll(0));
}


/* somebody else came with this position: back to where one gets a new one */

static ngx_int_t
ngx_http_admission_queue_position_used(ngx_http_admission_api_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    if (ngx_http_admission_token_clear(r, NGX_HTTP_ADMISSION_TOKEN_TICKET,
                                       &call->event)
        != NGX_OK
        || ngx_http_admission_token_clear(r, NGX_HTTP_ADMISSION_TOKEN_TIER1,
                                          &call->event)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_deny_to_waiting(r, "POSITION_USED",
                                              "Position already used",
                                              &call->event);
}


static ngx_int_t
ngx_http_admission_queue_place_token(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer, ngx_str_t *token)
{
    ngx_http_admission_claims_t  claims;

    ngx_memzero(&claims, sizeof(ngx_http_admission_claims_t));

    claims.sub = call->event;
    claims.uid = call->who;
    claims.score = answer->score;
    claims.at = answer->clock;
    claims.epoch = answer->epoch;
    claims.iat = answer->now / 1000000;
    claims.exp = claims.iat + NGX_HTTP_ADMISSION_PLACE_LIFE;

    return ngx_http_admission_token_issue(call->request,
                                          NGX_HTTP_ADMISSION_TOKEN_PLACE,
                                          &claims,
                                          NGX_HTTP_ADMISSION_PLACE_LIFE,
                                          token);
}


/* never valid past the slot: verifiers give it the leeway taken off here */

static ngx_int_t
ngx_http_admission_queue_entry_token(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer, ngx_str_t *token)
{
    int64_t                      slot;
    time_t                       life;
    ngx_http_admission_claims_t  claims;

    ngx_memzero(&claims, sizeof(ngx_http_admission_claims_t));

    claims.sub = call->event;
    claims.uid = call->who;
    claims.tier = 2;
    claims.adm = answer->adm;
    claims.iat = answer->now / 1000000;
    claims.exp = claims.iat + (int64_t) call->conf->token_ttl / 1000;

    slot = answer->expires / 1000 - NGX_HTTP_ADMISSION_LEEWAY;

    if (claims.exp > slot) {
        claims.exp = slot;
    }

    life = ngx_max(claims.exp - claims.iat, 1);

    return ngx_http_admission_token_issue(call->request,
                                          NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                          &claims, life, token);
}
