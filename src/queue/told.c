
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The JSON of how a user stands.  Event ids and tokens need no escapes in it,
 * and eventInfo and notice are JSON already.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/sale.h"
#include "told.h"


/* admissions in 1000 s while none are measured, see ngx_adm_queue_estimate() */
#define NGX_ADM_QUEUE_SOME  50000

/* room for names of members, and for numbers */
#define NGX_ADM_QUEUE_TOLD_SIZE                                               \
    (256 + 8 * NGX_INT64_LEN + NGX_ADM_RANGE_TEXT)


static ngx_int_t ngx_adm_queue_told_out(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats, ngx_pool_t *pool,
    ngx_str_t *json);
static ngx_int_t ngx_adm_queue_told_waiting(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats, ngx_pool_t *pool,
    ngx_str_t *json);
static ngx_int_t ngx_adm_queue_told_place(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool);
static ngx_int_t ngx_adm_queue_told_active(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool, ngx_str_t *json);
static ngx_int_t ngx_adm_queue_told_ready(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool, ngx_str_t *json);
static ngx_int_t ngx_adm_queue_told_json(ngx_pool_t *pool, ngx_str_t *json,
    size_t size, const char *format, ...);


ngx_int_t
ngx_adm_queue_told(ngx_adm_queue_told_t *told, ngx_adm_queue_answer_t *answer,
    ngx_pool_t *pool, ngx_str_t *json)
{
    ngx_adm_seats_e  seats;

    ngx_str_null(&told->token);

    seats = ngx_adm_seats(told->conf, answer->slots, answer->sold,
                          answer->active);

    switch (answer->state) {

    case NGX_ADM_QUEUE_WAITING:
        return ngx_adm_queue_told_waiting(told, answer, seats, pool, json);

    case NGX_ADM_QUEUE_ACTIVE:
        return ngx_adm_queue_told_active(told, answer, pool, json);

    case NGX_ADM_QUEUE_READY:
        return ngx_adm_queue_told_ready(told, answer, pool, json);

    default: /* NGX_ADM_QUEUE_NOT_IN */
        return ngx_adm_queue_told_out(told, answer, seats, pool, json);
    }
}


static ngx_int_t
ngx_adm_queue_told_out(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats, ngx_pool_t *pool,
    ngx_str_t *json)
{
    const char  *status, *message;

    if (seats == NGX_ADM_SEATS_SOLD) {
        status = "sold_out";
        message = "Sold out";

    } else {
        status = "not_in_queue";
        message = "Not in queue";
    }

    if (told->brief) {
        return ngx_adm_queue_told_json(pool, json, 0,
                   "{\"status\":\"%s\",\"queued\":false}", status);
    }

    return ngx_adm_queue_told_json(pool, json, told->notice.len,
               "{\"status\":\"%s\",\"queued\":false,\"message\":\"%s\","
               "\"currentUsers\":%L,\"nextPoll\":%ui%V}",
               status, message, answer->active,
               ngx_adm_queue_next_poll(0, told->conf), &told->notice);
}


/*
 * users who wait keep their place even if all is sold: there may be more seats
 */

static ngx_int_t
ngx_adm_queue_told_waiting(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_adm_seats_e seats, ngx_pool_t *pool,
    ngx_str_t *json)
{
    u_char            wait[NGX_ADM_RANGE_TEXT];
    int64_t           size;
    ngx_int_t         rc;
    ngx_str_t        *info;
    ngx_uint_t        next;
    const char       *status, *taken;
    ngx_adm_range_t   range;

    status = (seats == NGX_ADM_SEATS_SOLD) ? "sold_out" : "queued";
    taken = (seats == NGX_ADM_SEATS_TAKEN) ? ",\"seats\":0" : "";

    if (told->brief) {
        return ngx_adm_queue_told_json(pool, json, 0,
                   "{\"status\":\"%s\",\"queued\":true%s}", status, taken);
    }

    if (ngx_adm_queue_told_place(told, answer, pool) != NGX_OK) {
        return NGX_ERROR;
    }

    info = &told->conf->info;

    rc = ngx_adm_queue_told_range(told->event, told->conf, answer,
                                  told->sale.rest, &range);

    ngx_adm_range_text(rc == NGX_OK ? &range : NULL, wait);

    next = ngx_adm_sale_next_poll(&told->sale,
                   ngx_adm_queue_next_poll(answer->position, told->conf),
                   answer->size);

    /* a user who is passed over is not in the line that was counted */

    size = ngx_max(answer->size, answer->position);

    return ngx_adm_queue_told_json(pool, json,
               info->len + told->token.len + told->notice.len,
               "{\"status\":\"%s\",\"queued\":true%s,\"position\":%L,"
               "\"peopleAhead\":%L,\"peopleBehind\":%L,\"queueSize\":%L,"
               "%s,\"nextPoll\":%ui,\"currentUsers\":%L,"
               "\"threshold\":%L,\"eventInfo\":%V,\"place\":\"%V\"%V}",
               status, taken,
               answer->position,
               answer->position - 1,
               size - answer->position,
               size,
               (char *) wait,
               ngx_min(next, ngx_adm_queue_most_poll(told->conf)),
               answer->active,
               answer->threshold,
               info, &told->token, &told->notice);
}


/* before anything is measured the rate may be any, as far as anybody knows */

ngx_int_t
ngx_adm_queue_told_range(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_answer_t *answer, int64_t rest, ngx_adm_range_t *range)
{
    if (answer->threshold == 0
        || ngx_adm_range_stopped(event, conf, NGX_ADM_RANGE_QUEUE))
    {
        return NGX_DECLINED;
    }

    ngx_adm_range_queue(event,
                        answer->rate > 0 ? answer->rate : NGX_ADM_QUEUE_SOME,
                        answer->position, range);

    if (answer->rate <= 0) {
        range->wait = ngx_adm_queue_estimate(answer->position, answer->rate);
        range->high = ngx_max(range->high, range->wait);
    }

    range->wait += rest;
    range->low += rest;
    range->high += rest;

    return NGX_OK;
}


/* where Redis did not say which place counts, the one that was shown will do */

static ngx_int_t
ngx_adm_queue_told_place(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool)
{
    ngx_adm_claims_t  claims;

    told->kind = NGX_ADM_TOKEN_PLACE;

    if (answer->place && answer->place->token.len) {
        told->token = answer->place->token;
        told->life = answer->place->exp - answer->now / 1000000;
        return NGX_OK;
    }

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    claims.sub = *told->event;
    claims.uid = *told->user;

    if (answer->place) {
        claims.score = answer->place->score;
        claims.at = answer->place->at;
        claims.epoch = answer->place->epoch;
        claims.iat = answer->place->iat;
        claims.exp = answer->place->exp;

    } else {
        claims.score = answer->score;
        claims.at = answer->clock;
        claims.epoch = answer->epoch;
        claims.iat = answer->now / 1000000;
        claims.exp = claims.iat + NGX_ADM_PLACE_LIFE;
    }

    told->life = claims.exp - answer->now / 1000000;

    return ngx_adm_token_sign(told->kind, told->lcf->verifiers[told->kind].keys,
                              &claims, pool, &told->token);
}


/*
 * An entry token is never valid past the session: the leeway that verifiers
 * give it is taken off here.
 */

static ngx_int_t
ngx_adm_queue_told_active(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool, ngx_str_t *json)
{
    ngx_str_t         *info;
    ngx_adm_claims_t   claims;

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    claims.sub = *told->event;
    claims.uid = *told->user;
    claims.tier = 2;
    claims.adm = answer->adm;
    claims.iat = answer->now / 1000000;
    claims.exp = ngx_min(claims.iat + (int64_t) told->conf->token_ttl / 1000,
                         answer->expires / 1000 - NGX_ADM_LEEWAY);

    told->kind = NGX_ADM_TOKEN_TIER2;
    told->life = ngx_max(claims.exp - claims.iat, 1);

    if (ngx_adm_token_sign(told->kind, told->lcf->verifiers[told->kind].keys,
                           &claims, pool, &told->token) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (told->brief) {
        return ngx_adm_queue_told_json(pool, json, told->token.len,
                   "{\"status\":\"active\",\"queued\":false,"
                   "\"entryToken\":\"%V\"}", &told->token);
    }

    info = &told->conf->info;

    return ngx_adm_queue_told_json(pool, json,
               told->token.len + info->len + told->notice.len,
               "{\"status\":\"active\",\"queued\":false,\"currentUsers\":%L,"
               "\"threshold\":%L,\"nextPoll\":%ui,\"entryToken\":\"%V\","
               "\"eventInfo\":%V%V}",
               answer->active, answer->threshold,
               ngx_adm_queue_next_poll(0, told->conf),
               &told->token, info, &told->notice);
}


/* no token, and the same place: a page that nobody looks at takes no turn */

static ngx_int_t
ngx_adm_queue_told_ready(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool, ngx_str_t *json)
{
    int64_t  left;

    left = ngx_max(answer->expires - answer->now / 1000, 0) / 1000;

    return ngx_adm_queue_told_json(pool, json, told->notice.len,
               "{\"status\":\"ready\",\"claimIn\":%L,\"nextPoll\":%ui%V}",
               left, ngx_max(ngx_min(ngx_adm_queue_next_poll(0, told->conf),
                                     (ngx_uint_t) left / 2), 1),
               &told->notice);
}


static ngx_int_t
ngx_adm_queue_told_json(ngx_pool_t *pool, ngx_str_t *json, size_t size,
    const char *format, ...)
{
    va_list  args;

    size += NGX_ADM_QUEUE_TOLD_SIZE;

    json->data = ngx_pnalloc(pool, size);
    if (json->data == NULL) {
        return NGX_ERROR;
    }

    va_start(args, format);
    json->len = ngx_adm_vput(json->data, json->data + size, format, args)
                - json->data;
    va_end(args);

    return NGX_OK;
}
