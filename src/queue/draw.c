
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The value of a beacon, once: of the APIs of both tiers.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/draw.h"
#include "../host/room_state.h"
#include "../http/body.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "draw.h"


static ngx_int_t ngx_adm_beacon_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_beacon_value(json_t *body, ngx_str_t *hex);
static void ngx_adm_beacon_done(void *data, ngx_int_t rc,
    ngx_adm_draw_result_e result, int64_t us);
static ngx_int_t ngx_adm_beacon_answer(ngx_adm_api_call_t *call);


ngx_int_t
ngx_adm_beacon_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_body_read(call, ngx_adm_beacon_body);
}


/* call->value: of which activation */

static ngx_int_t
ngx_adm_beacon_body(ngx_adm_api_call_t *call)
{
    ngx_str_t        hex;
    ngx_uint_t       set;
    ngx_adm_room_t   room;
    u_char           buf[2 * NGX_ADM_DRAW_BEACON_MAX];

    set = (call->request->method == NGX_HTTP_POST);
    hex.data = buf;

    if (set && ngx_adm_beacon_value(call->body, &hex) != NGX_OK) {
        return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                             "INVALID_BEACON",
                             "The body has to be {\\\"beacon\\\": \\\"...\\\"} "
                             "with 32 to 128 hexadecimal digits", NULL);
    }

    (void) ngx_adm_room_get(&call->event, &room);

    call->value = room.activation;

    return ngx_adm_api_wait(call,
               ngx_adm_draw_call(&call->event, call->conf, room.activation,
                                 NULL, set ? &hex : NULL, ngx_adm_beacon_done,
                                 call));
}


/* in lower case; NGX_DECLINED: it is none */

static ngx_int_t
ngx_adm_beacon_value(json_t *body, ngx_str_t *hex)
{
    u_char      bytes[NGX_ADM_DRAW_BEACON_MAX];
    size_t      len;
    json_t     *value;
    ngx_str_t   text;

    value = json_object_get(body, "beacon");

    if (!json_is_string(value) || json_object_size(body) != 1) {
        return NGX_DECLINED;
    }

    text.data = (u_char *) json_string_value(value);
    text.len = json_string_length(value);

    if (ngx_adm_draw_beacon(&text, bytes, &len) != NGX_OK) {
        return NGX_DECLINED;
    }

    hex->len = ngx_hex_dump(hex->data, bytes, len) - hex->data;

    return NGX_OK;
}


static void
ngx_adm_beacon_done(void *data, ngx_int_t rc, ngx_adm_draw_result_e result,
    int64_t us)
{
    ngx_adm_api_call_t *call = data;

    ngx_http_request_t  *r;

    r = call->request;

    ngx_adm_wait_over(r);

    if (rc != NGX_OK) {
        rc = ngx_adm_api_unavailable(r);

    } else {

        switch (result) {

        case NGX_ADM_DRAW_SET:
            ngx_adm_operator_log(call, "beacon of the draw set");
            /* fall through */

        case NGX_ADM_DRAW_TOLD:
            rc = ngx_adm_beacon_answer(call);
            break;

        case NGX_ADM_DRAW_NONE:
            rc = ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NO_DRAW",
                                       "No lots are drawn", NULL);
            break;

        case NGX_ADM_DRAW_NO_BEACON:
            rc = ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NO_BEACON",
                                       "The draw waits for no beacon", NULL);
            break;

        case NGX_ADM_DRAW_NOT_COUNTED:
            rc = ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NOT_COUNTED",
                                       "The lots are not counted yet", NULL);
            break;

        default: /* NGX_ADM_DRAW_OTHER */
            rc = ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "BEACON_SET",
                                       "Another value is set", NULL);
            break;
        }
    }

    ngx_adm_wait_finish(r, rc);
}


static ngx_int_t
ngx_adm_beacon_answer(ngx_adm_api_call_t *call)
{
    u_char           hex[2 * NGX_ADM_DRAW_BEACON_MAX];
    ngx_str_t        text, source, named;
    ngx_adm_drawn_t  drawn;

    ngx_adm_draw_known(&call->event, call->value, &drawn);

    text.data = hex;
    text.len = ngx_hex_dump(hex, drawn.beacon_text, drawn.beacon) - hex;

    source.data = drawn.source_text;
    source.len = drawn.source;

    if (source.len == 0) {
        ngx_str_set(&named, "null");

    } else if (ngx_adm_json_string(call->request->pool, &source, &named)
               != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request,
               call->event.len + named.len + text.len + 2,
               "{\"eventId\":\"%V\",\"activation\":%L,\"beaconSource\":%V,"
               "\"beacon\":%s%V%s}",
               &call->event, call->value, &named,
               text.len ? "\"" : "null", &text, text.len ? "\"" : "");
}
