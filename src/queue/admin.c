
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls of admission_queue_api: to look at a queue, to clear
 * it, to set its threshold.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/body.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "api.h"
#include "queue.h"


static ngx_int_t ngx_adm_queue_admin_ask(ngx_adm_api_call_t *call);
static void ngx_adm_queue_admin_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static ngx_adm_queue_admin_e ngx_adm_queue_admin_what(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_admin_answer(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_queue_admin_log(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);


/* call->value: the threshold to be set */

ngx_int_t
ngx_adm_queue_admin_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_adm_queue_admin_what(call) == NGX_ADM_QUEUE_SET_THRESHOLD) {
        call->value = ngx_adm_arg_number(call->request, "threshold",
                                         NGX_ADM_THRESHOLD_MAX);
        if (call->value < 0) {
            return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_THRESHOLD",
                                         "threshold= must be a number from 0 "
                                         "to 10000000", NULL);
        }
    }

    return ngx_adm_body_read(call, ngx_adm_queue_admin_ask);
}


static ngx_int_t
ngx_adm_queue_admin_ask(ngx_adm_api_call_t *call)
{
    return ngx_adm_api_wait(call,
               ngx_adm_queue_admin(
                                   ngx_adm_queue_admin_what(call),
                                   call->value, &call->event, call->conf,
                                   ngx_adm_queue_admin_done, call));
}


static ngx_adm_queue_admin_e
ngx_adm_queue_admin_what(ngx_adm_api_call_t *call)
{
    if (call->route->what == NGX_ADM_QUEUE_SET_THRESHOLD
        && call->request->method == NGX_HTTP_DELETE)
    {
        return NGX_ADM_QUEUE_UNSET_THRESHOLD;
    }

    return call->route->what;
}


static void
ngx_adm_queue_admin_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_wait_over(call->request);

    if (rc == NGX_OK) {
        ngx_adm_queue_admin_log(call, answer);
        rc = ngx_adm_queue_admin_answer(call, answer);

    } else {
        rc = ngx_adm_api_unavailable(call->request);
    }

    ngx_adm_wait_finish(call->request, rc);
}


static ngx_int_t
ngx_adm_queue_admin_answer(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer)
{
    switch (call->route->what) {

    case NGX_ADM_QUEUE_LOOK:
        return ngx_adm_api_json(call->request, call->event.len,
                   "{\"eventId\":\"%V\",\"queueSize\":%L,"
                   "\"currentUsers\":%L,\"threshold\":%L,\"available\":%L}",
                   &call->event, answer->size, answer->active,
                   answer->threshold,
                   ngx_max(answer->threshold - answer->active, 0));

    case NGX_ADM_QUEUE_CLEAR:
        return ngx_adm_api_json(call->request, 0,
                                "{\"message\":\"Queue cleared\"}");

    default: /* the threshold */
        return ngx_adm_api_json(call->request, call->event.len,
                                "{\"eventId\":\"%V\",\"threshold\":%L}",
                                &call->event, answer->threshold);
    }
}


static void
ngx_adm_queue_admin_log(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer)
{
    u_char  text[sizeof("threshold set to ") + NGX_INT64_LEN];

    switch (ngx_adm_queue_admin_what(call)) {

    case NGX_ADM_QUEUE_LOOK:
        break;

    case NGX_ADM_QUEUE_CLEAR:
        ngx_adm_operator_log(call, "queue cleared");
        break;

    case NGX_ADM_QUEUE_SET_THRESHOLD:
        ngx_sprintf(text, "threshold set to %L%Z", answer->threshold);
        ngx_adm_operator_log(call, (char *) text);
        break;

    case NGX_ADM_QUEUE_UNSET_THRESHOLD:
        ngx_adm_operator_log(call, "threshold set back");
        break;
    }
}
