
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls of admission_queue_api: to look at a queue, to clear
 * it, to set its threshold.  Those about seats are here too, which
 * admission_admin_api has as well.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/body.h"
#include "../http/follow.h"
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


/* call->value: the threshold, or the seats, to be set */

ngx_int_t
ngx_adm_queue_admin_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    switch (ngx_adm_queue_admin_what(call)) {

    case NGX_ADM_QUEUE_SET_THRESHOLD:
        call->value = ngx_adm_arg_number(r, "threshold", NGX_ADM_THRESHOLD_MAX);

        if (call->value < 0) {
            return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_THRESHOLD",
                                         "threshold= must be a number from 0 "
                                         "to 10000000", NULL);
        }

        break;

    case NGX_ADM_QUEUE_SET_SLOTS:
        call->value = ngx_adm_arg_number(r, "slots", NGX_ADM_SLOTS_MAX);

        if (call->value < 0
            || ngx_adm_arg_number(r, "sold", NGX_ADM_SOLD_MAX) == NGX_ERROR)
        {
            return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_SLOTS",
                                         "slots= must be a number from 0 to "
                                         "10000000, sold= one to 2000000000",
                                         NULL);
        }

        break;

    default:
        break;
    }

    return ngx_adm_body_read(call, ngx_adm_queue_admin_ask);
}


static ngx_int_t
ngx_adm_queue_admin_ask(ngx_adm_api_call_t *call)
{
    ngx_int_t  sold;

    sold = ngx_adm_arg_number(call->request, "sold", NGX_ADM_SOLD_MAX);

    return ngx_adm_api_wait(call,
               ngx_adm_queue_admin(ngx_adm_queue_admin_what(call), call->value,
                                   ngx_max(sold, -1), &call->event, call->conf,
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

    if (call->route->what == NGX_ADM_QUEUE_SET_SLOTS) {

        switch (call->request->method) {

        case NGX_HTTP_PUT:
            return NGX_ADM_QUEUE_SET_SLOTS;

        case NGX_HTTP_DELETE:
            return NGX_ADM_QUEUE_UNSET_SLOTS;

        default:
            return NGX_ADM_QUEUE_LOOK_SLOTS;
        }
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
    ngx_str_t  json, members;

    switch (call->route->what) {

    case NGX_ADM_QUEUE_LOOK:

        if (ngx_adm_follow_members(call->request->pool, &call->event,
                                   call->conf, -1, answer->threshold,
                                   &members) != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_api_json(call->request, call->event.len + members.len,
                   "{\"eventId\":\"%V\",\"queueSize\":%L,"
                   "\"currentUsers\":%L,\"threshold\":%L,\"available\":%L%V}",
                   &call->event, answer->size, answer->active,
                   answer->threshold,
                   ngx_max(answer->threshold - answer->active, 0), &members);

    case NGX_ADM_QUEUE_CLEAR:
        return ngx_adm_api_json(call->request, 0,
                                "{\"message\":\"Queue cleared\"}");

    case NGX_ADM_QUEUE_SET_SLOTS:
        return (ngx_adm_queue_seats_text(call, answer, NULL, &json) == NGX_OK)
               ? ngx_adm_respond_json(call->request, NGX_HTTP_OK, &json)
               : NGX_HTTP_INTERNAL_SERVER_ERROR;

    default: /* the threshold */
        return ngx_adm_api_json(call->request, call->event.len,
                                "{\"eventId\":\"%V\",\"threshold\":%L}",
                                &call->event, answer->threshold);
    }
}


/* null stands for a number that there is not */

ngx_int_t
ngx_adm_queue_seats_text(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer, const char *counted, ngx_str_t *json)
{
    u_char   *p, *last;
    size_t    size;
    int64_t   slots;

    size = sizeof("{\"eventId\":\"\",\"slots\":,\"sold\":,\"inside\":,"
                  "\"remaining\":,\"counted\":false}")
           + call->event.len + 4 * NGX_INT64_LEN;

    p = ngx_pnalloc(call->request->pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    json->data = p;
    last = p + size;

    slots = answer->slots >= 0 ? answer->slots : call->conf->slots;

    p = ngx_adm_put(p, last, "{\"eventId\":\"%V\",\"slots\":%N,\"sold\":%N,"
                    "\"inside\":%L,\"remaining\":", &call->event, slots,
                    answer->sold, answer->active);

    p = (slots >= 0 && answer->sold >= 0)
        ? ngx_adm_put(p, last, "%L", slots - answer->sold)
        : ngx_adm_put(p, last, "null");

    if (counted) {
        p = ngx_adm_put(p, last, ",\"counted\":%s", counted);
    }

    *p++ = '}';

    json->len = p - json->data;

    return NGX_OK;
}


static void
ngx_adm_queue_admin_log(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer)
{
    u_char  text[sizeof("threshold set to ") + NGX_INT64_LEN];

    switch (ngx_adm_queue_admin_what(call)) {

    case NGX_ADM_QUEUE_LOOK:
    case NGX_ADM_QUEUE_LOOK_SLOTS:
        break;

    case NGX_ADM_QUEUE_SET_SLOTS:
        ngx_sprintf(text, "slots set to %L%Z", answer->slots);
        ngx_adm_operator_log(call, (char *) text);
        break;

    case NGX_ADM_QUEUE_UNSET_SLOTS:
        ngx_adm_operator_log(call, "slots set back");
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
