
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_queue_reply.h"
#include "ngx_http_admission_zone.h"


/* the fields of an answer, as q.reply() in lua/queue_state_lib.lua has them */
enum {
    NGX_HTTP_ADMISSION_REPLY_STATE = 0,
    NGX_HTTP_ADMISSION_REPLY_POSITION,
    NGX_HTTP_ADMISSION_REPLY_SIZE,
    NGX_HTTP_ADMISSION_REPLY_ACTIVE,
    NGX_HTTP_ADMISSION_REPLY_THRESHOLD,
    NGX_HTTP_ADMISSION_REPLY_US,
    NGX_HTTP_ADMISSION_REPLY_CLOCK,
    NGX_HTTP_ADMISSION_REPLY_EPOCH,
    NGX_HTTP_ADMISSION_REPLY_SCORE,
    NGX_HTTP_ADMISSION_REPLY_ADM,
    NGX_HTTP_ADMISSION_REPLY_EXPIRES,
    NGX_HTTP_ADMISSION_REPLY_RATE,
    NGX_HTTP_ADMISSION_REPLY_API_THRESHOLD,
    NGX_HTTP_ADMISSION_REPLY_CLEAR,
    NGX_HTTP_ADMISSION_REPLY_RESTORE,
    NGX_HTTP_ADMISSION_REPLY_TOTAL,
    NGX_HTTP_ADMISSION_REPLY_DID,
    NGX_HTTP_ADMISSION_REPLY_LOST,
    NGX_HTTP_ADMISSION_REPLY_ENDED,
    NGX_HTTP_ADMISSION_REPLY_FIELDS,

    /* of a step */
    NGX_HTTP_ADMISSION_REPLY_REVOKED = NGX_HTTP_ADMISSION_REPLY_FIELDS,
    NGX_HTTP_ADMISSION_REPLY_STEP,
    NGX_HTTP_ADMISSION_REPLY_STEP_FIELDS
};


/* what a call did, a sum, as lua/queue_state_lib.lua has it */
#define NGX_HTTP_ADMISSION_DID_JOIN        1
#define NGX_HTTP_ADMISSION_DID_ENTER       2
#define NGX_HTTP_ADMISSION_DID_PLACE_BACK  4
#define NGX_HTTP_ADMISSION_DID_SLOT_BACK   8
#define NGX_HTTP_ADMISSION_DID_LEAVE       16
#define NGX_HTTP_ADMISSION_DID_REVOKE      32


/* and a step, as q.told() in lua/queue_step.lua has it */
enum {
    NGX_HTTP_ADMISSION_STEP_LEFT = 0,
    NGX_HTTP_ADMISSION_STEP_STALE,
    NGX_HTTP_ADMISSION_STEP_EARLY,
    NGX_HTTP_ADMISSION_STEP_DUE,
    NGX_HTTP_ADMISSION_STEP_MIXED,
    NGX_HTTP_ADMISSION_STEP_WAITED,     /* a list */
    NGX_HTTP_ADMISSION_STEP_FIELDS
};


ngx_int_t
ngx_http_admission_queue_reply(redisReply *reply,
    ngx_http_admission_queue_answer_t *answer,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now,
    ngx_http_admission_tally_t *tally, ngx_uint_t step)
{
    int64_t   v[NGX_HTTP_ADMISSION_REPLY_FIELDS], did;
    uint64_t *n;

    if (ngx_http_admission_reply_numbers(reply, v,
                                 NGX_HTTP_ADMISSION_REPLY_FIELDS,
                                 step ? NGX_HTTP_ADMISSION_REPLY_STEP_FIELDS
                                        - NGX_HTTP_ADMISSION_REPLY_FIELDS
                                      : 0)
        != NGX_OK)
    {
        goto invalid;
    }

    if (v[NGX_HTTP_ADMISSION_REPLY_STATE] < NGX_HTTP_ADMISSION_QUEUE_NOT_IN
        || v[NGX_HTTP_ADMISSION_REPLY_STATE]
           > NGX_HTTP_ADMISSION_QUEUE_NEEDS_TIER1)
    {
        goto invalid;
    }

    answer->state = v[NGX_HTTP_ADMISSION_REPLY_STATE];
    answer->position = v[NGX_HTTP_ADMISSION_REPLY_POSITION];
    answer->size = v[NGX_HTTP_ADMISSION_REPLY_SIZE];
    answer->active = v[NGX_HTTP_ADMISSION_REPLY_ACTIVE];
    answer->threshold = v[NGX_HTTP_ADMISSION_REPLY_THRESHOLD];
    answer->now = v[NGX_HTTP_ADMISSION_REPLY_US];
    answer->clock = v[NGX_HTTP_ADMISSION_REPLY_CLOCK];
    answer->epoch = v[NGX_HTTP_ADMISSION_REPLY_EPOCH];
    answer->score = v[NGX_HTTP_ADMISSION_REPLY_SCORE];
    answer->adm = v[NGX_HTTP_ADMISSION_REPLY_ADM];
    answer->expires = v[NGX_HTTP_ADMISSION_REPLY_EXPIRES];
    answer->rate = v[NGX_HTTP_ADMISSION_REPLY_RATE];

    state->clock = answer->clock;
    state->stored = answer->clock;
    state->epoch = answer->epoch;
    state->size = answer->size;
    state->active = answer->active;
    state->admitted = v[NGX_HTTP_ADMISSION_REPLY_TOTAL];
    state->threshold = v[NGX_HTTP_ADMISSION_REPLY_API_THRESHOLD];
    state->clear = v[NGX_HTTP_ADMISSION_REPLY_CLEAR];
    ngx_memzero(now, sizeof(ngx_http_admission_event_now_t));
    now->restore = (ngx_msec_t) v[NGX_HTTP_ADMISSION_REPLY_RESTORE];
    state->revoked = 0;

    ngx_memzero(tally, sizeof(ngx_http_admission_tally_t));

    n = tally->n;
    did = v[NGX_HTTP_ADMISSION_REPLY_DID];

    answer->ended = (did & NGX_HTTP_ADMISSION_DID_REVOKE) ? 1 : 0;

    if (did & NGX_HTTP_ADMISSION_DID_JOIN) {
        n[NGX_HTTP_ADMISSION_TALLY_JOINS] = 1;
    }

    if (did & NGX_HTTP_ADMISSION_DID_ENTER) {
        n[NGX_HTTP_ADMISSION_TALLY_ADMISSIONS] = 1;
    }

    if (did & NGX_HTTP_ADMISSION_DID_PLACE_BACK) {
        n[NGX_HTTP_ADMISSION_TALLY_PLACES] = 1;
    }

    if (did & NGX_HTTP_ADMISSION_DID_SLOT_BACK) {
        n[NGX_HTTP_ADMISSION_TALLY_SLOTS] = 1;
    }

    if (did & NGX_HTTP_ADMISSION_DID_LEAVE) {
        n[NGX_HTTP_ADMISSION_TALLY_LEAVES] = 1;
    }

    if (answer->state == NGX_HTTP_ADMISSION_QUEUE_POSITION_USED) {
        n[NGX_HTTP_ADMISSION_TALLY_DUPLICATES] = 1;
    }

    n[NGX_HTTP_ADMISSION_TALLY_LOST] = v[NGX_HTTP_ADMISSION_REPLY_LOST];
    n[NGX_HTTP_ADMISSION_TALLY_ENDED] = v[NGX_HTTP_ADMISSION_REPLY_ENDED];

    return NGX_OK;

invalid:

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: a queue script got an answer that is not its "
                  "own from redis");

    return NGX_ERROR;
}


ngx_int_t
ngx_http_admission_queue_reply_step(redisReply *reply,
    ngx_http_admission_queue_answer_t *answer,
    ngx_http_admission_tally_t *tally, ngx_http_admission_waits_t *waits)
{
    size_t       i;
    int64_t      v[NGX_HTTP_ADMISSION_STEP_WAITED];
    redisReply  *waited;

    reply = reply->element[NGX_HTTP_ADMISSION_REPLY_STEP];

    if (ngx_http_admission_reply_numbers(reply, v,
                                         NGX_HTTP_ADMISSION_STEP_WAITED, 1)
        != NGX_OK)
    {
        goto invalid;
    }

    waited = reply->element[NGX_HTTP_ADMISSION_STEP_WAITED];

    if (waited->type != REDIS_REPLY_ARRAY) {
        goto invalid;
    }

    ngx_memzero(waits, sizeof(ngx_http_admission_waits_t));

    for (i = 0; i < waited->elements; i++) {

        if (waited->element[i]->type != REDIS_REPLY_INTEGER) {
            goto invalid;
        }

        ngx_http_admission_waited(waits, waited->element[i]->integer);
    }

    answer->due = v[NGX_HTTP_ADMISSION_STEP_DUE];
    answer->mixed = (v[NGX_HTTP_ADMISSION_STEP_MIXED] != 0);

    tally->n[NGX_HTTP_ADMISSION_TALLY_ADMISSIONS] = waited->elements;
    tally->n[NGX_HTTP_ADMISSION_TALLY_LEAVES] =
                                            v[NGX_HTTP_ADMISSION_STEP_LEFT];
    tally->n[NGX_HTTP_ADMISSION_TALLY_STALE] =
                                            v[NGX_HTTP_ADMISSION_STEP_STALE];
    tally->n[NGX_HTTP_ADMISSION_TALLY_EARLY] =
                                            v[NGX_HTTP_ADMISSION_STEP_EARLY];

    return NGX_OK;

invalid:

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: what a step did is not what redis answers");

    return NGX_ERROR;
}


/* user, time, user, time, ... in the order of times */

ngx_int_t
ngx_http_admission_queue_reply_revoked(redisReply *reply, ngx_str_t *event,
    ngx_msec_t keep, int64_t *latest)
{
    size_t        i;
    ngx_str_t     user;
    redisReply  **element;

    reply = reply->element[NGX_HTTP_ADMISSION_REPLY_REVOKED];

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2) {
        goto invalid;
    }

    element = reply->element;

    for (i = 0; i < reply->elements; i += 2) {

        if (element[i]->type != REDIS_REPLY_STRING
            || element[i + 1]->type != REDIS_REPLY_INTEGER)
        {
            goto invalid;
        }

        user.len = element[i]->len;
        user.data = (u_char *) element[i]->str;

        if (element[i + 1]->integer < 0
            || element[i + 1]->integer > NGX_HTTP_ADMISSION_NUMBER_MAX)
        {
            goto invalid;
        }

        *latest = element[i + 1]->integer;

        ngx_http_admission_revoke(event, &user, *latest, keep);
    }

    return NGX_OK;

invalid:

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: the revocations of event \"%V\" in redis are "
                  "not ours", event);

    return NGX_ERROR;
}
