
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator tells the value of a beacon, once.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/draw.h"
#include "../host/room_state.h"
#include "../http/respond.h"
#include "record.h"


static ngx_int_t ngx_adm_beacon_parse(ngx_adm_api_call_t *call, void *value);
static ngx_int_t ngx_adm_beacon_answer(ngx_adm_api_call_t *call, void *value,
    int64_t us);
static ngx_int_t ngx_adm_beacon_stands(ngx_adm_api_call_t *call,
    int64_t activation);


static ngx_adm_record_api_t  ngx_adm_beacon_api = {
    .record = &ngx_adm_draw_record,
    .parse = ngx_adm_beacon_parse,
    .code = "INVALID_BEACON",
    .message = "The body has to be {\\\"beacon\\\": \\\"...\\\"} with 32 to "
               "128 hexadecimal digits",
    .answer = ngx_adm_beacon_answer };


ngx_int_t
ngx_adm_beacon_handler(ngx_adm_api_call_t *call)
{
    return ngx_adm_record_handler(call, &ngx_adm_beacon_api);
}


static ngx_int_t
ngx_adm_beacon_parse(ngx_adm_api_call_t *call, void *value)
{
    ngx_adm_drawn_t *drawn = value;

    size_t           len;
    json_t          *beacon;
    ngx_str_t        text;
    ngx_adm_room_t   room;

    if (call->value == NGX_ADM_RECORD_SET) {
        beacon = json_object_get(call->body, "beacon");

        if (!json_is_string(beacon) || json_object_size(call->body) != 1) {
            return NGX_DECLINED;
        }

        text.data = (u_char *) json_string_value(beacon);
        text.len = json_string_length(beacon);

        if (ngx_adm_draw_beacon(&text, drawn->beacon_text, &len) != NGX_OK) {
            return NGX_DECLINED;
        }

        drawn->beacon = (u_short) len;
    }

    (void) ngx_adm_room_get(&call->event, &room);

    drawn->activation = room.activation;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_beacon_answer(ngx_adm_api_call_t *call, void *value, int64_t us)
{
    ngx_adm_drawn_t *drawn = value;

    ngx_http_request_t  *r;

    r = call->request;

    switch (drawn->result) {

    case NGX_ADM_DRAW_SET:
        ngx_adm_record_changed(call, "beacon of the draw set", us);
        /* fall through */

    case NGX_ADM_DRAW_TOLD:
        return ngx_adm_beacon_stands(call, drawn->activation);

    case NGX_ADM_DRAW_NONE:
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NO_DRAW",
                                     "No lots are drawn", NULL);

    case NGX_ADM_DRAW_NO_BEACON:
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NO_BEACON",
                                     "The draw waits for no beacon", NULL);

    case NGX_ADM_DRAW_NOT_COUNTED:
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NOT_COUNTED",
                                     "The lots are not counted yet", NULL);

    default: /* NGX_ADM_DRAW_OTHER */
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "BEACON_SET",
                                     "Another value is set", NULL);
    }
}


static ngx_int_t
ngx_adm_beacon_stands(ngx_adm_api_call_t *call, int64_t activation)
{
    u_char           hex[2 * NGX_ADM_DRAW_BEACON_MAX];
    ngx_str_t        text, source, named;
    ngx_adm_drawn_t  drawn;

    ngx_adm_draw_known(&call->event, activation, &drawn);

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
               &call->event, activation, &named,
               text.len ? "\"" : "null", &text, text.len ? "\"" : "");
}
