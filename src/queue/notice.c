
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator's word, of the APIs of both tiers: what Redis keeps is told to
 * other hosts as what changes in a queue is, and the schedule looks after the
 * event from then on.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/body.h"
#include "../http/notice.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "../token/claims.h"
#include "notice.h"
#include "queue.h"


static ngx_int_t ngx_adm_notice_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_notice_texts(json_t *body, ngx_str_t *ko,
    ngx_str_t *en);
static ngx_int_t ngx_adm_notice_one(json_t *value, ngx_str_t *text);
static void ngx_adm_notice_done(void *data, ngx_int_t rc,
    ngx_adm_notice_t *notice, int64_t us);
static ngx_int_t ngx_adm_notice_answer(ngx_adm_api_call_t *call,
    ngx_adm_notice_t *notice);


ngx_int_t
ngx_adm_notice_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    switch (call->request->method) {

    case NGX_HTTP_PUT:
        call->value = NGX_ADM_NOTICE_SET;
        break;

    case NGX_HTTP_DELETE:
        call->value = NGX_ADM_NOTICE_UNSET;
        break;

    default:
        call->value = NGX_ADM_NOTICE_LOOK;
        break;
    }

    return ngx_adm_body_read(call, ngx_adm_notice_body);
}


static ngx_int_t
ngx_adm_notice_body(ngx_adm_api_call_t *call)
{
    ngx_str_t  ko, en;

    ngx_str_null(&ko);
    ngx_str_null(&en);

    if (call->value == NGX_ADM_NOTICE_SET
        && ngx_adm_notice_texts(call->body, &ko, &en) != NGX_OK)
    {
        return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                             "INVALID_NOTICE",
                             "The body has to be {\\\"ko\\\": \\\"...\\\", "
                             "\\\"en\\\": \\\"...\\\"}, one or both, with 500 "
                             "characters at most and no control characters",
                             NULL);
    }

    /* others look for it where this host may die with the next breath */

    if (call->value == NGX_ADM_NOTICE_SET) {
        ngx_adm_queue_mark(&call->event);
    }

    return ngx_adm_api_wait(call,
               ngx_adm_notice_call(call->value, &ko, &en, &call->event,
                                   ngx_adm_notice_done, call));
}


/* NGX_DECLINED: they are not what they should be */

static ngx_int_t
ngx_adm_notice_texts(json_t *body, ngx_str_t *ko, ngx_str_t *en)
{
    ngx_int_t    rc;
    json_t      *value;
    const char  *name;

    if (!json_is_object(body)) {
        return NGX_DECLINED;
    }

    json_object_foreach(body, name, value) {

        if (ngx_strcmp(name, "ko") == 0) {
            rc = ngx_adm_notice_one(value, ko);

        } else if (ngx_strcmp(name, "en") == 0) {
            rc = ngx_adm_notice_one(value, en);

        } else {
            rc = NGX_DECLINED;
        }

        if (rc != NGX_OK) {
            return NGX_DECLINED;
        }
    }

    return ko->len + en->len ? NGX_OK : NGX_DECLINED;
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


static void
ngx_adm_notice_done(void *data, ngx_int_t rc, ngx_adm_notice_t *notice,
    int64_t us)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_wait_over(call->request);

    if (rc != NGX_OK) {
        ngx_adm_wait_finish(call->request,
                            ngx_adm_api_unavailable(call->request));
        return;
    }

    if (call->value != NGX_ADM_NOTICE_LOOK) {
        ngx_adm_operator_log(call, call->value == NGX_ADM_NOTICE_SET
                                   ? "notice set" : "notice ended");

        ngx_adm_queue_tell(&call->event, us);
    }

    ngx_adm_wait_finish(call->request, ngx_adm_notice_answer(call, notice));
}


static ngx_int_t
ngx_adm_notice_answer(ngx_adm_api_call_t *call, ngx_adm_notice_t *notice)
{
    ngx_str_t  json;

    if (ngx_adm_notice_json(call->request->pool, notice, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, call->event.len + json.len,
                            "{\"eventId\":\"%V\",\"notice\":%V}",
                            &call->event, &json);
}
