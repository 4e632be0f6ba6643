
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operator's calls of admission_queue_api.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_queue_api.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_body.h"
#include "ngx_http_admission_operator.h"
#include "ngx_http_admission_respond.h"


static ngx_int_t ngx_http_admission_queue_admin_threshold(
    ngx_http_admission_api_call_t *call);
static ngx_http_admission_queue_admin_e ngx_http_admission_queue_admin_what(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_admin_ask(
    ngx_http_admission_api_call_t *call);
static void ngx_http_admission_queue_admin_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_admin_answer(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
static void ngx_http_admission_queue_admin_log(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);


ngx_int_t
ngx_http_admission_queue_admin_handler(ngx_http_admission_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_http_admission_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_http_admission_queue_admin_what(call)
        == NGX_HTTP_ADMISSION_QUEUE_SET_THRESHOLD)
    {
        rc = ngx_http_admission_queue_admin_threshold(call);

        if (rc != NGX_OK) {
            return ngx_http_admission_respond_error(call->request,
                               NGX_HTTP_BAD_REQUEST, "INVALID_THRESHOLD",
                               "threshold= must be a number from 0 to 10000000",
                               NULL);
        }
    }

    return ngx_http_admission_body_read(call,
                                        ngx_http_admission_queue_admin_ask);
}


static ngx_int_t
ngx_http_admission_queue_admin_threshold(ngx_http_admission_api_call_t *call)
{
    ngx_int_t  n;
    ngx_str_t  value;

    if (ngx_http_arg(call->request, (u_char *) "threshold",
                     sizeof("threshold") - 1, &value)
        != NGX_OK)
    {
        return NGX_DECLINED;
    }

    n = ngx_atoi(value.data, value.len);

    if (n == NGX_ERROR || n > NGX_HTTP_ADMISSION_THRESHOLD_MAX) {
        return NGX_DECLINED;
    }

    call->value = n;

    return NGX_OK;
}


static ngx_http_admission_queue_admin_e
ngx_http_admission_queue_admin_what(ngx_http_admission_api_call_t *call)
{
    if (call->route->what == NGX_HTTP_ADMISSION_QUEUE_SET_THRESHOLD
        && call->request->method == NGX_HTTP_DELETE)
    {
        return NGX_HTTP_ADMISSION_QUEUE_UNSET_THRESHOLD;
    }

    return call->route->what;
}


static ngx_int_t
ngx_http_admission_queue_admin_ask(ngx_http_admission_api_call_t *call)
{
    ngx_http_admission_redis_call_t  *pending;

    pending = ngx_http_admission_queue_admin(
                                   ngx_http_admission_queue_admin_what(call),
                                   call->value, &call->event, call->conf,
                                   ngx_http_admission_queue_admin_done, call);

    return ngx_http_admission_api_wait(call, pending);
}


static void
ngx_http_admission_queue_admin_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_admission_api_call_t *call = data;

    ngx_http_admission_api_resume(call);

    if (rc == NGX_OK) {
        ngx_http_admission_queue_admin_log(call, answer);
        rc = ngx_http_admission_queue_admin_answer(call, answer);

    } else {
        rc = ngx_http_admission_api_unavailable(call->request);
    }

    ngx_http_admission_api_finish(call, rc);
}


static ngx_int_t
ngx_http_admission_queue_admin_answer(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    switch (call->route->what) {

    case NGX_HTTP_ADMISSION_QUEUE_LOOK:
        return ngx_http_admission_api_json(call->request, call->event.len,
                   "{\"eventId\":\"%V\",\"queueSize\":%L,"
                   "\"currentUsers\":%L,\"threshold\":%L,\"available\":%L}",
                   &call->event, answer->size, answer->active,
                   answer->threshold,
                   ngx_max(answer->threshold - answer->active, 0));

    case NGX_HTTP_ADMISSION_QUEUE_CLEAR:
        return ngx_http_admission_api_json(call->request, 0,
                                           "{\"message\":\"Queue cleared\"}");

    default: /* the threshold */
        return ngx_http_admission_api_json(call->request, call->event.len,
                   "{\"eventId\":\"%V\",\"threshold\":%L}",
                   &call->event, answer->threshold);
    }
}


static void
ngx_http_admission_queue_admin_log(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    u_char  text[sizeof("threshold set to ") + NGX_INT64_LEN];

    switch (ngx_http_admission_queue_admin_what(call)) {

    case NGX_HTTP_ADMISSION_QUEUE_LOOK:
        break;

    case NGX_HTTP_ADMISSION_QUEUE_CLEAR:
        ngx_http_admission_operator_log(call, "queue cleared");
        break;

    case NGX_HTTP_ADMISSION_QUEUE_SET_THRESHOLD:
        ngx_sprintf(text, "threshold set to %L%Z", answer->threshold);
        ngx_http_admission_operator_log(call, (char *) text);
        break;

    case NGX_HTTP_ADMISSION_QUEUE_UNSET_THRESHOLD:
        ngx_http_admission_operator_log(call, "threshold set back");
        break;
    }
}
