
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


static ngx_int_t ngx_adm_record_body(ngx_adm_api_call_t *call);
static void ngx_adm_record_done(void *data, ngx_int_t rc, void *value,
    int64_t us);


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

    /* others look for it where this host may die with the next breath */

    if (api->told && call->value == NGX_ADM_RECORD_SET) {
        ngx_adm_queue_mark(&call->event);
    }

    return ngx_adm_api_wait(call,
               ngx_adm_record_call(api->record, call->value, to, &call->event,
                                   call->conf, ngx_adm_record_done, call));
}


static void
ngx_adm_record_done(void *data, ngx_int_t rc, void *value, int64_t us)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_record_api_t  *api;

    api = call->data;

    ngx_adm_wait_over(call->request);

    rc = (rc == NGX_OK) ? api->answer(call, value, us)
                        : ngx_adm_api_unavailable(call->request);

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
