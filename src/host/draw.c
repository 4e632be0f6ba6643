
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What belongs to draws, as records: each part is set once, and of two the
 * earlier stands.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_names.h"
#include "../base/text.h"
#include "draw.h"
#include "room_state.h"


/* us; less than READ_BACK of the scripts */
#define NGX_ADM_DRAW_READ_BACK  400000

/* us; answers are not out of order by more */
#define NGX_ADM_DRAW_BACK       10000000


static void ngx_adm_draw_merge(void *known, void *value);
static void ngx_adm_draw_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask,
    void *value);
static void ngx_adm_draw_put_hex(ngx_str_t *arg, u_char *buf, u_char *data,
    size_t len);
static ngx_int_t ngx_adm_draw_read(redisReply *reply, void *value,
    int64_t *us);
static ngx_int_t ngx_adm_draw_hex(redisReply *element, u_char *text,
    size_t max, u_short *len);


ngx_adm_record_t  ngx_adm_draw_record = {
    .script = NGX_ADM_CALL_DRAW,
    .size = sizeof(ngx_adm_drawn_t),
    .merge = ngx_adm_draw_merge,
    .args = ngx_adm_draw_args,
    .read = ngx_adm_draw_read,
    .not_ours = "admission: the draw of event \"%V\" in redis is not ours" };


ngx_uint_t
ngx_adm_draw_counted(ngx_adm_room_t *room)
{
    return room->drawn
           && (room->updated >= room->drawn + NGX_ADM_DRAW_READ_BACK
               || ngx_adm_draw_ready(room));
}


ngx_uint_t
ngx_adm_draw_ready(ngx_adm_room_t *room)
{
    /* a time after that of the answer is from before a clock went back */

    return room->drawn
           && room->ready
           && (room->updated >= room->ready + NGX_ADM_DRAW_READ_BACK
               || room->updated < room->ready - NGX_ADM_DRAW_BACK);
}


void
ngx_adm_draw_known(ngx_str_t *event, int64_t activation,
    ngx_adm_drawn_t *drawn)
{
    if (ngx_adm_record_get(&ngx_adm_draw_record, event, drawn) != NGX_OK
        || drawn->activation != activation)
    {
        ngx_memzero(drawn, sizeof(ngx_adm_drawn_t));
    }
}


void
ngx_adm_draw_heard(ngx_str_t *event, ngx_adm_claims_t *claims,
    ngx_msec_t session_max)
{
    size_t           len;
    ngx_adm_room_t   room;
    ngx_adm_drawn_t  drawn;

    static time_t  logged;

    /* lots have times from the room's base on, which is the first one's */

    if (claims->lots <= 0 || claims->drawn <= 0
        || claims->position <= 0 || claims->position > claims->lots
        || claims->at <= claims->position
        || ngx_adm_room_get(event, &room) != NGX_OK
        || room.activation != claims->act
        || (room.drawn && room.drawn <= claims->drawn))
    {
        return;
    }

    if (claims->beacon.len) {
        ngx_memzero(&drawn, sizeof(ngx_adm_drawn_t));

        if (ngx_adm_draw_beacon(&claims->beacon, drawn.beacon_text, &len)
            != NGX_OK)
        {
            return;
        }

        drawn.activation = room.activation;
        drawn.of = claims->drawn;
        drawn.beacon = (u_short) len;

        (void) ngx_adm_record_note(&ngx_adm_draw_record, event, &drawn);
    }

    if (logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: the draw of event \"%V\" was lost, a token "
                      "of one of its %L lots tells of it", event,
                      claims->lots);
    }

    room.order = claims->beacon.len ? NGX_ADM_ORDER_BEACON
                                    : NGX_ADM_ORDER_DRAW;
    room.lots = claims->lots;
    room.drawn = claims->drawn;
    room.base = claims->at - claims->position;
    room.ready = claims->beacon.len ? 0 : claims->drawn;
    room.next = ngx_max(room.next, room.lots);

    (void) ngx_adm_room_note(event, &room, session_max);
}


/* a part that is known stays, whatever Redis has lost */

static void
ngx_adm_draw_merge(void *value, void *told)
{
    ngx_adm_drawn_t *known = value, *drawn = told;

    ngx_uint_t  later;

    if (known->activation != drawn->activation) {
        *known = *drawn;
    }

    /* of two commitments the earlier stands, with its source */

    later = (known->commitment && drawn->commitment
             && drawn->committed > known->committed);

    if (drawn->commitment && !later) {
        known->committed = drawn->committed;
        known->commitment = drawn->commitment;
        ngx_memcpy(known->commitment_text, drawn->commitment_text,
                   sizeof(known->commitment_text));
    }

    if (drawn->source && !later) {
        known->source = drawn->source;
        ngx_memcpy(known->source_text, drawn->source_text,
                   sizeof(known->source_text));
    }

    /* of two draws the earlier stands, with its beacon */

    if (drawn->beacon && (known->beacon == 0 || drawn->of <= known->of)) {
        known->of = drawn->of;
        known->beacon = drawn->beacon;
        ngx_memcpy(known->beacon_text, drawn->beacon_text,
                   sizeof(known->beacon_text));
    }
}


static void
ngx_adm_draw_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask, void *value)
{
    ngx_adm_drawn_t *to, *known = value, *commits;

    /* texts are good until the call has copied them */
    static u_char  hex[3][2 * NGX_ADM_DRAW_BEACON_MAX];

    static ngx_str_t  set = ngx_string("beacon");

    to = ask->to;

    if (known->activation != to->activation) {
        ngx_memzero(known, sizeof(ngx_adm_drawn_t));
        known->activation = to->activation;
    }

    args->argv[NGX_ADM_ARG_DRAW_WHAT] = (ask->what == NGX_ADM_RECORD_SET)
                                      ? set : ngx_adm_record_what[ask->what];

    if (ask->what == NGX_ADM_RECORD_SET) {
        ngx_adm_draw_put_hex(&args->argv[NGX_ADM_ARG_DRAW_VALUE], hex[0],
                             to->beacon_text, to->beacon);
    }

    args->number[NGX_ADM_ARG_DRAW_ACTIVATION] = to->activation;
    args->number[NGX_ADM_ARG_DRAW_COMMITTED] = known->committed;

    commits = known->commitment ? known : to;

    ngx_adm_draw_put_hex(&args->argv[NGX_ADM_ARG_DRAW_COMMITMENT], hex[1],
                         commits->commitment_text, commits->commitment);

    if (known->source) {
        args->argv[NGX_ADM_ARG_DRAW_SOURCE].data = known->source_text;
        args->argv[NGX_ADM_ARG_DRAW_SOURCE].len = known->source;

    } else if (ask->conf) {
        args->argv[NGX_ADM_ARG_DRAW_SOURCE] = ask->conf->draw_beacon;
    }

    args->number[NGX_ADM_ARG_DRAW_OF] = known->of;

    ngx_adm_draw_put_hex(&args->argv[NGX_ADM_ARG_DRAW_BEACON], hex[2],
                         known->beacon_text, known->beacon);
}


static void
ngx_adm_draw_put_hex(ngx_str_t *arg, u_char *buf, u_char *data, size_t len)
{
    arg->data = buf;
    arg->len = ngx_hex_dump(buf, data, len) - buf;
}


static ngx_int_t
ngx_adm_draw_read(redisReply *reply, void *value, int64_t *us)
{
    ngx_adm_drawn_t *drawn = value;

    int64_t       v[NGX_ADM_REPLY_DRAW_OF + 1], activation;
    ngx_str_t     source;
    redisReply  **element;

    activation = drawn->activation;

    ngx_memzero(drawn, sizeof(ngx_adm_drawn_t));

    drawn->activation = activation;

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_DRAW_OF + 1,
                              NGX_ADM_REPLY_DRAW_COUNT
                              - NGX_ADM_REPLY_DRAW_OF - 1) != NGX_OK
        || v[NGX_ADM_REPLY_DRAW_RESULT] < NGX_ADM_DRAW_TOLD
        || v[NGX_ADM_REPLY_DRAW_RESULT] > NGX_ADM_DRAW_OTHER)
    {
        return NGX_ERROR;
    }

    element = reply->element;

    if (ngx_adm_draw_hex(element[NGX_ADM_REPLY_DRAW_COMMITMENT],
                         drawn->commitment_text, NGX_ADM_DRAW_SIZE,
                         &drawn->commitment) != NGX_OK
        || (drawn->commitment && drawn->commitment != NGX_ADM_DRAW_SIZE)
        || ngx_adm_draw_hex(element[NGX_ADM_REPLY_DRAW_BEACON],
                            drawn->beacon_text, NGX_ADM_DRAW_BEACON_MAX,
                            &drawn->beacon) != NGX_OK
        || (drawn->beacon && drawn->beacon < NGX_ADM_DRAW_BEACON_MIN)
        || element[NGX_ADM_REPLY_DRAW_SOURCE]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    source.len = element[NGX_ADM_REPLY_DRAW_SOURCE]->len;
    source.data = (u_char *) element[NGX_ADM_REPLY_DRAW_SOURCE]->str;

    if (source.len) {

        if (!ngx_adm_draw_is_source(&source)) {
            return NGX_ERROR;
        }

        drawn->source = source.len;
        ngx_memcpy(drawn->source_text, source.data, source.len);
    }

    drawn->committed = v[NGX_ADM_REPLY_DRAW_COMMITTED];
    drawn->of = v[NGX_ADM_REPLY_DRAW_OF];

    drawn->result = v[NGX_ADM_REPLY_DRAW_RESULT];
    *us = v[NGX_ADM_REPLY_DRAW_US];

    return (drawn->result == NGX_ADM_DRAW_NONE) ? NGX_DECLINED : NGX_OK;
}


static ngx_int_t
ngx_adm_draw_hex(redisReply *element, u_char *text, size_t max, u_short *len)
{
    size_t     n;
    ngx_str_t  hex;

    if (element->type != REDIS_REPLY_STRING
        || (size_t) element->len > 2 * max)
    {
        return NGX_ERROR;
    }

    hex.len = element->len;
    hex.data = (u_char *) element->str;

    if (ngx_adm_hex(text, &hex, &n) != NGX_OK) {
        return NGX_ERROR;
    }

    *len = (u_short) n;

    return NGX_OK;
}
