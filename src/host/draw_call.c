
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the script of a draw's texts: each brings what the host knows, so
 * that Redis has them again though it lost them.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "args.h"
#include "draw.h"
#include "ngx_http_admission_names.h"


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_adm_draw_done_pt   done;
    void                  *data;
    int64_t                activation;
    ngx_str_t              event;
    u_char                 id[NGX_ADM_EVENT_MAX];
} ngx_adm_draw_ask_t;


static void ngx_adm_draw_detach(void *data);
static void ngx_adm_draw_answered(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_adm_draw_read(redisReply *reply, ngx_adm_drawn_t *drawn,
    ngx_uint_t *result, int64_t *us);
static ngx_int_t ngx_adm_draw_hex(redisReply *element, u_char *text,
    size_t max, u_short *len);


ngx_adm_redis_call_t *
ngx_adm_draw_call(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    int64_t activation, u_char *commitment, ngx_str_t *beacon,
    ngx_adm_draw_done_pt done, void *data)
{
    u_char                 hex[2][2 * NGX_ADM_DRAW_BEACON_MAX];
    ngx_adm_args_t         args;
    ngx_adm_drawn_t        known;
    ngx_adm_draw_ask_t    *da;
    ngx_adm_redis_call_t  *call;

    static ngx_str_t  look = ngx_string("look");
    static ngx_str_t  set = ngx_string("beacon");
    static ngx_str_t  none = ngx_string("");

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    da = ngx_alloc(sizeof(ngx_adm_draw_ask_t), ngx_cycle->log);
    if (da == NULL) {
        return NULL;
    }

    da->done = done;
    da->data = data;
    da->activation = activation;
    da->event.len = event->len;
    da->event.data = da->id;
    ngx_memcpy(da->id, event->data, event->len);

    ngx_adm_draw_known(event, activation, &known);

    if (known.commitment) {
        commitment = known.commitment_text;
    }

    ngx_adm_args_begin(&args, NGX_ADM_CALL_DRAW, event);

    args.argv[NGX_ADM_ARG_DRAW_WHAT] = beacon ? set : look;
    args.argv[NGX_ADM_ARG_DRAW_VALUE] = beacon ? *beacon : none;
    args.number[NGX_ADM_ARG_DRAW_ACTIVATION] = activation;

    args.number[NGX_ADM_ARG_DRAW_COMMITTED] = known.committed;
    args.argv[NGX_ADM_ARG_DRAW_COMMITMENT] = none;

    if (commitment) {
        args.argv[NGX_ADM_ARG_DRAW_COMMITMENT].data = hex[0];
        args.argv[NGX_ADM_ARG_DRAW_COMMITMENT].len =
                   ngx_hex_dump(hex[0], commitment, NGX_ADM_DRAW_SIZE) - hex[0];
    }

    args.argv[NGX_ADM_ARG_DRAW_SOURCE] = conf ? conf->draw_beacon : none;

    if (known.source) {
        args.argv[NGX_ADM_ARG_DRAW_SOURCE].data = known.source_text;
        args.argv[NGX_ADM_ARG_DRAW_SOURCE].len = known.source;
    }

    args.number[NGX_ADM_ARG_DRAW_OF] = known.of;
    args.argv[NGX_ADM_ARG_DRAW_BEACON].data = hex[1];
    args.argv[NGX_ADM_ARG_DRAW_BEACON].len =
                 ngx_hex_dump(hex[1], known.beacon_text, known.beacon) - hex[1];

    call = ngx_adm_args_run(&args, ngx_adm_draw_answered, da);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_draw_detach);
    }

    return call;
}


/* what was set is for the host all the same */

static void
ngx_adm_draw_detach(void *data)
{
    ngx_adm_draw_ask_t *da = data;

    da->done = NULL;
}


static void
ngx_adm_draw_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_draw_ask_t *da = data;

    int64_t          us;
    ngx_uint_t       result;
    ngx_adm_drawn_t  drawn;

    us = 0;
    result = NGX_ADM_DRAW_NONE;

    if (rc == NGX_OK
        && ngx_adm_draw_read(reply, &drawn, &result, &us) != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the draw of event \"%V\" in redis is not "
                      "ours", &da->event);
        rc = NGX_ERROR;
    }

    if (rc == NGX_OK && result != NGX_ADM_DRAW_NONE) {
        drawn.activation = da->activation;
        ngx_adm_draw_note(&da->event, &drawn);
    }

    if (da->done) {
        da->done(da->data, rc == NGX_OK ? NGX_OK : NGX_ERROR, result, us);
    }
}


static ngx_int_t
ngx_adm_draw_read(redisReply *reply, ngx_adm_drawn_t *drawn,
    ngx_uint_t *result, int64_t *us)
{
    int64_t       v[NGX_ADM_REPLY_DRAW_OF + 1];
    ngx_str_t     source;
    redisReply  **element;

    ngx_memzero(drawn, sizeof(ngx_adm_drawn_t));

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

    *result = v[NGX_ADM_REPLY_DRAW_RESULT];
    *us = v[NGX_ADM_REPLY_DRAW_US];

    return NGX_OK;
}


static ngx_int_t
ngx_adm_draw_hex(redisReply *element, u_char *text, size_t max, u_short *len)
{
    size_t     i;
    ngx_int_t  byte;

    if (element->type != REDIS_REPLY_STRING
        || element->len % 2 || (size_t) element->len > 2 * max)
    {
        return NGX_ERROR;
    }

    for (i = 0; i < (size_t) element->len / 2; i++) {
        byte = ngx_hextoi((u_char *) element->str + 2 * i, 2);

        if (byte == NGX_ERROR) {
            return NGX_ERROR;
        }

        text[i] = (u_char) byte;
    }

    *len = (u_short) i;

    return NGX_OK;
}
