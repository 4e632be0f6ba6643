
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator holds an event or lets it go, by the APIs of both tiers: other
 * hosts are told as they are of a notice.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/hold.h"
#include "../http/body.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "hold.h"
#include "queue.h"


static ngx_int_t ngx_adm_hold_body(ngx_adm_api_call_t *call);
static void ngx_adm_hold_done(void *data, ngx_int_t rc, ngx_adm_hold_t *hold,
    int64_t us);
static ngx_int_t ngx_adm_hold_answer(ngx_adm_api_call_t *call,
    ngx_adm_hold_t *hold);


ngx_int_t
ngx_adm_hold_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    switch (call->request->method) {

    case NGX_HTTP_PUT:
        call->value = NGX_ADM_HOLD_SET;
        break;

    case NGX_HTTP_DELETE:
        call->value = NGX_ADM_HOLD_UNSET;
        break;

    default:
        call->value = NGX_ADM_HOLD_LOOK;
        break;
    }

    return ngx_adm_body_read(call, ngx_adm_hold_body);
}


static ngx_int_t
ngx_adm_hold_body(ngx_adm_api_call_t *call)
{
    ngx_int_t   rc, inside;
    ngx_str_t   value;

    inside = NGX_ADM_OFF;

    if (call->value == NGX_ADM_HOLD_SET) {
        rc = ngx_adm_arg(call->request, "inside", &value);

        if (rc == NGX_ERROR) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (rc == NGX_OK) {
            inside = ngx_adm_switch(&value);
        }

        if (inside != NGX_ADM_ON && inside != NGX_ADM_OFF) {
            return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_HOLD",
                                         "inside= must be on or off", NULL);
        }

        /* others look for it where this host may die with the next breath */

        ngx_adm_queue_mark(&call->event);
    }

    return ngx_adm_api_wait(call,
               ngx_adm_hold_call(call->value, inside == NGX_ADM_ON,
                                 &call->event, call->conf, ngx_adm_hold_done,
                                 call));
}


static void
ngx_adm_hold_done(void *data, ngx_int_t rc, ngx_adm_hold_t *hold, int64_t us)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_wait_over(call->request);

    if (rc != NGX_OK) {
        ngx_adm_wait_finish(call->request,
                            ngx_adm_api_unavailable(call->request));
        return;
    }

    if (call->value != NGX_ADM_HOLD_LOOK) {
        ngx_adm_operator_log(call, hold->held == NGX_ADM_HOLD_INSIDE
                                   ? "held, those inside too"
                                   : hold->held ? "held" : "let go");

        ngx_adm_queue_tell(&call->event, us);
    }

    ngx_adm_wait_finish(call->request, ngx_adm_hold_answer(call, hold));
}


static ngx_int_t
ngx_adm_hold_answer(ngx_adm_api_call_t *call, ngx_adm_hold_t *hold)
{
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
