
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call that holds an event or lets it go.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/hold.h"
#include "record.h"


static ngx_int_t ngx_adm_hold_parse(ngx_adm_api_call_t *call, void *value);
static ngx_int_t ngx_adm_hold_answer(ngx_adm_api_call_t *call, void *value,
    int64_t us);


static ngx_adm_record_api_t  ngx_adm_hold_api = {
    .record = &ngx_adm_hold_record,
    .parse = ngx_adm_hold_parse,
    .code = "INVALID_HOLD",
    .message = "inside= must be on or off",
    .answer = ngx_adm_hold_answer,
    .told = 1 };


ngx_int_t
ngx_adm_hold_handler(ngx_adm_api_call_t *call)
{
    return ngx_adm_record_handler(call, &ngx_adm_hold_api);
}


static ngx_int_t
ngx_adm_hold_parse(ngx_adm_api_call_t *call, void *value)
{
    ngx_adm_hold_t *hold = value;

    ngx_int_t   rc, inside;
    ngx_str_t   text;

    if (call->value != NGX_ADM_RECORD_SET) {
        return NGX_OK;
    }

    inside = NGX_ADM_OFF;

    rc = ngx_adm_arg(call->request, "inside", &text);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc == NGX_OK) {
        inside = ngx_adm_switch(&text);
    }

    if (inside != NGX_ADM_ON && inside != NGX_ADM_OFF) {
        return NGX_DECLINED;
    }

    hold->held = (inside == NGX_ADM_ON) ? NGX_ADM_HOLD_INSIDE
                                        : NGX_ADM_HOLD_OUTSIDE;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_hold_answer(ngx_adm_api_call_t *call, void *value, int64_t us)
{
    ngx_adm_hold_t *hold = value;

    if (call->value != NGX_ADM_RECORD_LOOK) {
        ngx_adm_record_changed(call, hold->held == NGX_ADM_HOLD_INSIDE
                                     ? "held, those inside too"
                                     : hold->held ? "held" : "let go", us);
    }

    if (!hold->held) {
        return ngx_adm_api_json(call->request, call->event.len,
                                "{\"eventId\":\"%V\",\"hold\":null}",
                                &call->event);
    }

    return ngx_adm_api_json(call->request,
                            call->event.len + sizeof("outside") - 1,
                            "{\"eventId\":\"%V\",\"hold\":\"%s\","
                            "\"since\":%L}", &call->event,
                            ngx_adm_hold_text(hold), hold->since);
}
