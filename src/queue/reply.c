
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Reads what the queue scripts answer, by the names that they have for its
 * fields, and refuses what no script answers.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "ngx_http_admission_names.h"
#include "../host/event.h"
#include "../host/revoked.h"
#include "../host/tally.h"
#include "../host/view.h"
#include "log.h"
#include "reply.h"


/* what a call did, as a sum; see lua/queue_state_lib.lua */
#define NGX_ADM_DID_JOIN        1
#define NGX_ADM_DID_ENTER       2
#define NGX_ADM_DID_PLACE_BACK  4
#define NGX_ADM_DID_BACK        8
#define NGX_ADM_DID_LEAVE       16
#define NGX_ADM_DID_REVOKE      32
#define NGX_ADM_DID_SETTLE      64
#define NGX_ADM_DID_COMPLETE    128
#define NGX_ADM_DID_LATE        256


static void ngx_adm_queue_reply_did(ngx_adm_queue_reply_t *r, ngx_uint_t did);
static ngx_int_t ngx_adm_queue_reply_revoked(redisReply *reply,
    ngx_str_t *event, ngx_msec_t keep, int64_t *latest);
static ngx_int_t ngx_adm_queue_reply_points(ngx_adm_queue_reply_t *r);
static ngx_int_t ngx_adm_queue_reply_rises(redisReply *reply, int64_t from,
    int64_t to);
static ngx_int_t ngx_adm_queue_reply_list(redisReply *reply,
    ngx_adm_queue_reply_t *r);
static ngx_int_t ngx_adm_queue_reply_invalid(void);


ngx_int_t
ngx_adm_queue_reply_step(redisReply *reply, ngx_str_t *event, ngx_msec_t keep,
    ngx_adm_queue_reply_t *r)
{
    redisReply  **element;

    if (ngx_adm_queue_reply(reply, r, NGX_ADM_REPLY_QUEUE_STEP_COUNT
                                      - NGX_ADM_REPLY_QUEUE_COUNT)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    element = reply->element;

    if (ngx_adm_queue_reply_revoked(element[NGX_ADM_REPLY_QUEUE_STEP_REVOKED],
                                    event, keep, &r->state.revoked) != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the revocations of event \"%V\" in redis "
                      "are not ours", event);
        return NGX_ERROR;
    }

    r->members = element[NGX_ADM_REPLY_QUEUE_STEP_MEMBERS];
    r->points = element[NGX_ADM_REPLY_QUEUE_STEP_POINTS];
    r->ranks = element[NGX_ADM_REPLY_QUEUE_STEP_RANKS];
    r->gone = element[NGX_ADM_REPLY_QUEUE_STEP_GONE];

    if (!ngx_adm_reply_is_list(r->members, "s")
        || !ngx_adm_reply_is_list(r->gone, "si")
        || ngx_adm_queue_reply_list(element[NGX_ADM_REPLY_QUEUE_STEP_STEP], r)
           != NGX_OK
        || ngx_adm_queue_reply_points(r) != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: what a step did is not what redis answers");
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_queue_reply_beat(redisReply *reply, ngx_adm_queue_reply_t *r)
{
    redisReply  *back, *again, *unknown;

    if (ngx_adm_queue_reply(reply, r, NGX_ADM_REPLY_QUEUE_BEAT_COUNT
                                      - NGX_ADM_REPLY_QUEUE_COUNT)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    back = reply->element[NGX_ADM_REPLY_QUEUE_BEAT_BACK];
    again = reply->element[NGX_ADM_REPLY_QUEUE_BEAT_AGAIN];
    unknown = reply->element[NGX_ADM_REPLY_QUEUE_BEAT_UNKNOWN];

    if (back->type != REDIS_REPLY_INTEGER
        || back->integer < 0
        || !ngx_adm_reply_is_list(again, "n")
        || !ngx_adm_reply_is_list(unknown, "n"))
    {
        return ngx_adm_queue_reply_invalid();
    }

    r->tally.n[NGX_ADM_TALLY_PLACES] = back->integer;
    r->answer.again = again;
    r->answer.unknown = unknown;

    return NGX_OK;
}


ngx_int_t
ngx_adm_queue_reply_joins(redisReply *reply, ngx_adm_queue_reply_t *r)
{
    size_t       i;
    redisReply  *joined, *stands;

    if (ngx_adm_queue_reply(reply, r, NGX_ADM_REPLY_QUEUE_JOIN_COUNT
                                      - NGX_ADM_REPLY_QUEUE_COUNT)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    joined = reply->element[NGX_ADM_REPLY_QUEUE_JOIN_JOINED];
    stands = reply->element[NGX_ADM_REPLY_QUEUE_JOIN_STANDS];

    if (joined->type != REDIS_REPLY_INTEGER
        || joined->integer < 0
        || !ngx_adm_reply_is_list(stands, "n")
        || stands->elements % NGX_ADM_QUEUE_STANDS)
    {
        return ngx_adm_queue_reply_invalid();
    }

    for (i = 0; i < stands->elements; i += NGX_ADM_QUEUE_STANDS) {

        if (stands->element[i]->integer > NGX_ADM_QUEUE_SOLD_OUT) {
            return ngx_adm_queue_reply_invalid();
        }
    }

    r->tally.n[NGX_ADM_TALLY_JOINS] = joined->integer;
    r->answer.stands = stands;

    return NGX_OK;
}


/*
 * Reads what all scripts answer, ahead of "more" elements: integers, and a
 * text of what was refused.
 */

ngx_int_t
ngx_adm_queue_reply(redisReply *reply, ngx_adm_queue_reply_t *r,
    ngx_uint_t more)
{
    int64_t                  v[NGX_ADM_REPLY_QUEUE_REFUSED];
    redisReply              *refused;
    ngx_adm_event_state_t   *state;
    ngx_adm_queue_answer_t  *answer;

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_QUEUE_REFUSED, more + 1)
        != NGX_OK
        || v[NGX_ADM_REPLY_QUEUE_STATE]
           < NGX_ADM_QUEUE_NOT_IN
        || v[NGX_ADM_REPLY_QUEUE_STATE]
           >= NGX_ADM_QUEUE_STATES
        || reply->element[NGX_ADM_REPLY_QUEUE_REFUSED]->type
           != REDIS_REPLY_STRING
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_QUEUE_CLOCK])
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_QUEUE_EPOCH])
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_QUEUE_CLEAR]))
    {
        return ngx_adm_queue_reply_invalid();
    }

    ngx_memzero(r, sizeof(ngx_adm_queue_reply_t));

    answer = &r->answer;

    answer->state = v[NGX_ADM_REPLY_QUEUE_STATE];
    answer->position = v[NGX_ADM_REPLY_QUEUE_POSITION];
    answer->size = v[NGX_ADM_REPLY_QUEUE_SIZE];
    answer->active = v[NGX_ADM_REPLY_QUEUE_ACTIVE];
    answer->threshold = v[NGX_ADM_REPLY_QUEUE_THRESHOLD];
    answer->slots = v[NGX_ADM_REPLY_QUEUE_SEATS];
    answer->sold = v[NGX_ADM_REPLY_QUEUE_SOLD];
    answer->now = v[NGX_ADM_REPLY_QUEUE_US];
    answer->clock = v[NGX_ADM_REPLY_QUEUE_CLOCK];
    answer->epoch = v[NGX_ADM_REPLY_QUEUE_EPOCH];
    answer->score = v[NGX_ADM_REPLY_QUEUE_SCORE];
    answer->adm = v[NGX_ADM_REPLY_QUEUE_ADM];
    answer->expires = v[NGX_ADM_REPLY_QUEUE_EXPIRES];
    answer->rate = v[NGX_ADM_REPLY_QUEUE_RATE];

    state = &r->state;

    state->clock = answer->clock;
    state->stored = answer->clock;
    state->epoch = answer->epoch;
    state->size = ngx_min(answer->size, NGX_ADM_EVENT_USERS_MAX);
    state->active = ngx_min(answer->active, NGX_ADM_EVENT_USERS_MAX);
    state->admitted = v[NGX_ADM_REPLY_QUEUE_TOTAL];
    state->threshold = ngx_min(v[NGX_ADM_REPLY_QUEUE_API_THRESHOLD],
                               NGX_ADM_THRESHOLD_MAX);
    state->slots = ngx_min(answer->slots, NGX_ADM_SLOTS_MAX);
    state->sold = ngx_min(answer->sold, NGX_ADM_SOLD_MAX);
    state->clear = v[NGX_ADM_REPLY_QUEUE_CLEAR];

    r->now.unsold = (answer->sold < 0);
    r->now.restore = (ngx_msec_t) v[NGX_ADM_REPLY_QUEUE_RESTORE];

    r->tally.n[NGX_ADM_TALLY_LOST] = v[NGX_ADM_REPLY_QUEUE_LOST];
    r->tally.n[NGX_ADM_TALLY_ENDED] = v[NGX_ADM_REPLY_QUEUE_ENDED];
    r->tally.n[NGX_ADM_TALLY_UNWRITTEN] = v[NGX_ADM_REPLY_QUEUE_UNWRITTEN];

    refused = reply->element[NGX_ADM_REPLY_QUEUE_REFUSED];

    if (refused->len) {
        ngx_adm_queue_log_refused(refused);
    }

    ngx_adm_queue_reply_did(r, v[NGX_ADM_REPLY_QUEUE_DID]);

    return NGX_OK;
}


static void
ngx_adm_queue_reply_did(ngx_adm_queue_reply_t *r, ngx_uint_t did)
{
    ngx_uint_t  i;

    static struct {
        ngx_uint_t  bit;
        ngx_uint_t  tally;
    } counted[] = {
        { NGX_ADM_DID_JOIN, NGX_ADM_TALLY_JOINS },
        { NGX_ADM_DID_ENTER, NGX_ADM_TALLY_ADMISSIONS },
        { NGX_ADM_DID_PLACE_BACK, NGX_ADM_TALLY_PLACES },
        { NGX_ADM_DID_BACK, NGX_ADM_TALLY_SESSIONS },
        { NGX_ADM_DID_LEAVE, NGX_ADM_TALLY_LEAVES },
        { NGX_ADM_DID_SETTLE, NGX_ADM_TALLY_SETTLES },
        { NGX_ADM_DID_COMPLETE, NGX_ADM_TALLY_COMPLETIONS },
        { NGX_ADM_DID_LATE, NGX_ADM_TALLY_LATE }
    };

    for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        r->tally.n[counted[i].tally] = (did & counted[i].bit) ? 1 : 0;
    }

    r->tally.n[NGX_ADM_TALLY_DUPLICATES] =
               (r->answer.state == NGX_ADM_QUEUE_POSITION_USED);

    r->answer.ended = (did & NGX_ADM_DID_REVOKE) ? 1 : 0;
    r->answer.counted = (did & NGX_ADM_DID_COMPLETE) ? 1 : 0;
}


static ngx_int_t
ngx_adm_queue_reply_invalid(void)
{
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "admission: a queue "
                  "script got an answer that is not its own from redis");

    return NGX_ERROR;
}


/* counts what a step did, and how long those who got in had waited */

static ngx_int_t
ngx_adm_queue_reply_list(redisReply *reply, ngx_adm_queue_reply_t *r)
{
    size_t       i;
    int64_t      v[NGX_ADM_DID_QUEUE_STEP_WAITED];
    uint64_t    *n;
    redisReply  *waited;

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_DID_QUEUE_STEP_WAITED,
                              1) != NGX_OK)
    {
        return NGX_ERROR;
    }

    waited = reply->element[NGX_ADM_DID_QUEUE_STEP_WAITED];

    if (!ngx_adm_reply_is_list(waited, "i")) {
        return NGX_ERROR;
    }

    for (i = 0; i < waited->elements; i++) {
        ngx_adm_observe(NGX_ADM_HISTOGRAM_QUEUE_WAIT, 0,
                        ngx_max(waited->element[i]->integer, 0));
    }

    r->answer.due = v[NGX_ADM_DID_QUEUE_STEP_DUE];
    r->answer.mixed = (v[NGX_ADM_DID_QUEUE_STEP_MIXED] != 0);
    r->answer.more = (v[NGX_ADM_DID_QUEUE_STEP_MORE] != 0);

    r->answer.notice = v[NGX_ADM_DID_QUEUE_STEP_NOTICE];

    r->exact = (ngx_uint_t) ngx_max(v[NGX_ADM_DID_QUEUE_STEP_EXACT], 0);
    r->told = v[NGX_ADM_DID_QUEUE_STEP_TOLD];
    r->answer.sale.version = v[NGX_ADM_DID_QUEUE_STEP_SALE];
    r->answer.sale.opens = v[NGX_ADM_DID_QUEUE_STEP_OPENS];
    r->answer.sale.starts = v[NGX_ADM_DID_QUEUE_STEP_STARTS];
    r->answer.sale.closes = v[NGX_ADM_DID_QUEUE_STEP_CLOSES];

    r->answer.hold.version = v[NGX_ADM_DID_QUEUE_STEP_HOLD];
    r->answer.hold.held = v[NGX_ADM_DID_QUEUE_STEP_HELD];
    r->answer.hold.since = v[NGX_ADM_DID_QUEUE_STEP_SINCE];

    r->scan.waiting = v[NGX_ADM_DID_QUEUE_STEP_WAITING];
    r->scan.inside = v[NGX_ADM_DID_QUEUE_STEP_INSIDE];

    n = r->tally.n;

    n[NGX_ADM_TALLY_ADMISSIONS] = waited->elements;
    n[NGX_ADM_TALLY_LEAVES] = v[NGX_ADM_DID_QUEUE_STEP_LEFT];
    n[NGX_ADM_TALLY_STALE] = v[NGX_ADM_DID_QUEUE_STEP_STALE];
    n[NGX_ADM_TALLY_EARLY] = v[NGX_ADM_DID_QUEUE_STEP_EARLY];

    return NGX_OK;
}


/* scores in order, and the ranks of those behind the head, up to the last */

static ngx_int_t
ngx_adm_queue_reply_points(ngx_adm_queue_reply_t *r)
{
    size_t   n, behind;
    int64_t  last;

    if (ngx_adm_queue_reply_rises(r->points, 0, NGX_ADM_NUMBER_MAX) != NGX_OK
        || ngx_adm_queue_reply_rises(r->ranks, r->exact, NGX_MAX_UINT32_VALUE)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    n = r->points->elements;
    behind = r->ranks->elements;

    if (r->told < 0) {
        return n + behind ? NGX_ERROR : NGX_OK;
    }

    if (n != r->exact + behind
        || r->exact > NGX_ADM_VIEW_EXACT
        || behind > NGX_ADM_VIEW_SHARES
        || (behind && r->exact == 0))
    {
        return NGX_ERROR;
    }

    last = behind ? r->ranks->element[behind - 1]->integer
                  : (int64_t) r->exact - 1;

    return (last == r->answer.size - 1) ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_adm_queue_reply_rises(redisReply *reply, int64_t from, int64_t to)
{
    size_t   i;
    int64_t  n;

    if (!ngx_adm_reply_is_list(reply, "i")) {
        return NGX_ERROR;
    }

    for (i = 0; i < reply->elements; i++) {
        n = reply->element[i]->integer;

        if (n < from || n > to) {
            return NGX_ERROR;
        }

        from = n;
    }

    return NGX_OK;
}


/*
 * user, time, user, time, ... in the order of times: the host remembers these
 * for keep ms, up to the first that is wrong
 */

static ngx_int_t
ngx_adm_queue_reply_revoked(redisReply *reply, ngx_str_t *event,
    ngx_msec_t keep, int64_t *latest)
{
    size_t        i;
    ngx_str_t     user;
    redisReply  **element;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2) {
        return NGX_ERROR;
    }

    element = reply->element;

    for (i = 0; i < reply->elements; i += 2) {

        if (element[i]->type != REDIS_REPLY_STRING
            || element[i + 1]->type != REDIS_REPLY_INTEGER
            || element[i + 1]->integer < 0
            || element[i + 1]->integer > NGX_ADM_NUMBER_MAX)
        {
            return NGX_ERROR;
        }

        if (ngx_adm_is_far_ahead(element[i + 1]->integer)) {
            /* the schedule's next step makes up for it */
            continue;
        }

        user.len = element[i]->len;
        user.data = (u_char *) element[i]->str;

        *latest = element[i + 1]->integer;

        ngx_adm_revoke(event, &user, *latest, keep);
    }

    return NGX_OK;
}
