
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls about a notice: how it is set, and answered.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/notice.h"
#include "../token/claims.h"
#include "record.h"


static ngx_int_t ngx_adm_notice_parse(ngx_adm_api_call_t *call, void *value);
static ngx_int_t ngx_adm_queue_notice_text(ngx_str_t *text, void *field);
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

    static ngx_adm_record_member_t  members[] = {
        { "ko", offsetof(ngx_adm_notice_t, ko) },
        { "en", offsetof(ngx_adm_notice_t, en) },
        { NULL, 0 } };

    if (call->value != NGX_ADM_RECORD_SET) {
        return NGX_OK;
    }

    if (ngx_adm_record_members(call->body, members, ngx_adm_queue_notice_text,
                               notice) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    return notice->ko.len + notice->en.len ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_queue_notice_text(ngx_str_t *text, void *field)
{
    *(ngx_str_t *) field = *text;

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
