
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator's word: how it is set, and answered.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/notice.h"
#include "../token/claims.h"
#include "record.h"


static ngx_int_t ngx_adm_notice_parse(ngx_adm_api_call_t *call, void *value);
static ngx_int_t ngx_adm_notice_one(json_t *value, ngx_str_t *text);
static ngx_int_t ngx_adm_notice_answer(ngx_adm_api_call_t *call, void *value,
    int64_t us);


static ngx_adm_record_api_t  ngx_adm_notice_api = {
    .record = &ngx_adm_notice_record,
    .parse = ngx_adm_notice_parse,
    .code = "INVALID_NOTICE",
    .message = "The body has to be {\\\"ko\\\": \\\"...\\\", "
               "\\\"en\\\": \\\"...\\\"}, one or both, with 500 characters "
               "at most and no control characters",
    .answer = ngx_adm_notice_answer,
    .told = 1 };


ngx_int_t
ngx_adm_notice_handler(ngx_adm_api_call_t *call)
{
    return ngx_adm_record_handler(call, &ngx_adm_notice_api);
}


static ngx_int_t
ngx_adm_notice_parse(ngx_adm_api_call_t *call, void *value)
{
    ngx_adm_notice_t *notice = value;

    json_t      *text;
    ngx_int_t    rc;
    const char  *name;

    if (call->value != NGX_ADM_RECORD_SET) {
        return NGX_OK;
    }

    if (!json_is_object(call->body)) {
        return NGX_DECLINED;
    }

    json_object_foreach(call->body, name, text) {

        if (ngx_strcmp(name, "ko") == 0) {
            rc = ngx_adm_notice_one(text, &notice->ko);

        } else if (ngx_strcmp(name, "en") == 0) {
            rc = ngx_adm_notice_one(text, &notice->en);

        } else {
            rc = NGX_DECLINED;
        }

        if (rc != NGX_OK) {
            return NGX_DECLINED;
        }
    }

    return notice->ko.len + notice->en.len ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_notice_one(json_t *value, ngx_str_t *text)
{
    if (json_is_null(value)) {
        return NGX_OK;
    }

    if (!json_is_string(value)) {
        return NGX_DECLINED;
    }

    text->data = (u_char *) json_string_value(value);
    text->len = json_string_length(value);

    return (ngx_adm_is_text(text)
            && ngx_utf8_length(text->data, text->len) <= NGX_ADM_NOTICE_CHARS)
           ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_notice_answer(ngx_adm_api_call_t *call, void *value, int64_t us)
{
    ngx_str_t  json;

    if (call->value != NGX_ADM_RECORD_LOOK) {
        ngx_adm_record_changed(call, call->value == NGX_ADM_RECORD_SET
                                     ? "notice set" : "notice ended", us);
    }

    if (ngx_adm_notice_json(call->request->pool, value, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, call->event.len + json.len,
                            "{\"eventId\":\"%V\",\"notice\":%V}",
                            &call->event, &json);
}
