
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What operators' calls about records have in common.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/body.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "queue.h"
#include "record.h"


/* a call about a record, under way */
typedef struct {
    ngx_adm_api_call_t    *call;
    ngx_adm_record_api_t  *api;
    void                  *value;        /* to be set, then what stands */
    int64_t                us;
    ngx_msec_t             deadline;     /* of all questions to Redis */
} ngx_adm_recording_t;


static ngx_int_t ngx_adm_record_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_record_around(ngx_adm_recording_t *record,
    ngx_adm_redis_done_pt done);
static void ngx_adm_record_ahead(void *data, ngx_int_t rc, redisReply *reply);
static ngx_int_t ngx_adm_record_issue(ngx_adm_recording_t *record);
static void ngx_adm_record_done(void *data, ngx_int_t rc, void *value,
    int64_t us);
static void ngx_adm_record_after(void *data, ngx_int_t rc, redisReply *reply);


ngx_int_t
ngx_adm_record_handler(ngx_adm_api_call_t *call, ngx_adm_record_api_t *api)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    call->data = api;

    switch (call->request->method) {

    case NGX_HTTP_PUT:
    case NGX_HTTP_POST:
        call->value = NGX_ADM_RECORD_SET;
        break;

    case NGX_HTTP_DELETE:
        call->value = NGX_ADM_RECORD_UNSET;
        break;

    default:
        call->value = NGX_ADM_RECORD_LOOK;
        break;
    }

    return ngx_adm_body_read(call, ngx_adm_record_body);
}


static ngx_int_t
ngx_adm_record_body(ngx_adm_api_call_t *call)
{
    void                  *to;
    ngx_int_t              rc;
    ngx_adm_recording_t   *record;
    ngx_adm_record_api_t  *api;

    api = call->data;

    to = ngx_pcalloc(call->request->pool, api->record->size);
    if (to == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = api->parse(call, to);

    if (rc == NGX_DECLINED) {
        return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                     api->code, api->message, NULL);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_adm_redis == NULL) {
        return ngx_adm_api_unavailable(call->request);
    }

    record = ngx_palloc(call->request->pool, sizeof(ngx_adm_recording_t));
    if (record == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    record->call = call;
    record->api = api;
    record->value = to;
    record->deadline = ngx_adm_api_deadline(call);

    if (call->value != NGX_ADM_RECORD_SET) {
        return ngx_adm_record_issue(record);
    }

    /*
     * hosts that never heard of the event look for it, should this one die at
     * once
     */

    if (api->told) {
        ngx_adm_queue_mark(&call->event);
    }

    return api->around ? ngx_adm_record_around(record, ngx_adm_record_ahead)
                       : ngx_adm_record_issue(record);
}


static ngx_int_t
ngx_adm_record_around(ngx_adm_recording_t *record, ngx_adm_redis_done_pt done)
{
    ngx_adm_redis_call_t  *pending;

    ngx_adm_redis_until(ngx_adm_redis, record->deadline);

    pending = record->api->around(&record->call->event, done, record);

    ngx_adm_redis_until(ngx_adm_redis, 0);

    if (pending) {
        ngx_adm_redis_want(pending, 1);
    }

    return ngx_adm_api_wait(record->call, pending);
}


static void
ngx_adm_record_ahead(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_recording_t *record = data;

    ngx_http_request_t  *r;

    r = record->call->request;

    ngx_adm_wait_over(r);

    rc = (rc == NGX_OK) ? ngx_adm_record_issue(record)
                        : ngx_adm_api_unavailable(r);

    ngx_adm_wait_finish(r, rc);
}


static ngx_int_t
ngx_adm_record_issue(ngx_adm_recording_t *record)
{
    ngx_adm_api_call_t    *call;
    ngx_adm_redis_call_t  *pending;

    call = record->call;

    ngx_adm_redis_until(ngx_adm_redis, record->deadline);

    pending = ngx_adm_record_call(record->api->record, call->value,
                                  record->value, &call->event, call->conf,
                                  ngx_adm_record_done, record);

    ngx_adm_redis_until(ngx_adm_redis, 0);

    return ngx_adm_api_wait(call, pending);
}


static void
ngx_adm_record_done(void *data, ngx_int_t rc, void *value, int64_t us)
{
    ngx_adm_recording_t *record = data;

    ngx_adm_api_call_t  *call;

    call = record->call;

    ngx_adm_wait_over(call->request);

    if (rc != NGX_OK) {
        rc = ngx_adm_api_unavailable(call->request);

    } else if (call->value != NGX_ADM_RECORD_SET || !record->api->around) {
        rc = record->api->answer(call, value, us);

    } else {
        ngx_memcpy(record->value, value, record->api->record->size);
        record->us = us;

        rc = ngx_adm_record_around(record, ngx_adm_record_after);
    }

    ngx_adm_wait_finish(call->request, rc);
}


static void
ngx_adm_record_after(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_recording_t *record = data;

    ngx_adm_api_call_t  *call;

    call = record->call;

    ngx_adm_wait_over(call->request);

    if (rc != NGX_OK) {
        record->api->missed(&call->event);
    }

    rc = record->api->answer(call, record->value, record->us);

    ngx_adm_wait_finish(call->request, rc);
}


void
ngx_adm_record_changed(ngx_adm_api_call_t *call, const char *what, int64_t us)
{
    ngx_adm_record_api_t  *api;

    api = call->data;

    ngx_adm_operator_log(call, what);

    if (api->told) {
        ngx_adm_queue_tell(&call->event, us);
    }
}


ngx_int_t
ngx_adm_record_members(json_t *body, ngx_adm_record_member_t *members,
    ngx_adm_record_read_pt read, void *to)
{
    json_t                   *value;
    ngx_str_t                 text;
    const char               *name;
    ngx_adm_record_member_t  *member;

    if (!json_is_object(body)) {
        return NGX_DECLINED;
    }

    json_object_foreach(body, name, value) {

        for (member = members; member->name; member++) {
            if (ngx_strcmp(name, member->name) == 0) {
                break;
            }
        }

        if (member->name == NULL) {
            return NGX_DECLINED;
        }

        if (json_is_null(value)) {
            continue;
        }

        if (!json_is_string(value)) {
            return NGX_DECLINED;
        }

        text.data = (u_char *) json_string_value(value);
        text.len = json_string_length(value);

        if (read(&text, (u_char *) to + member->offset) != NGX_OK) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}
