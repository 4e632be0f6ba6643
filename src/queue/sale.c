
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The times of a sale, of the APIs of both tiers: other hosts are told as they
 * are of a notice.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/rfc3339.h"
#include "../base/text.h"
#include "../http/body.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "queue.h"
#include "sale.h"


static ngx_int_t ngx_adm_sale_body(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_sale_times(json_t *body, ngx_adm_sale_set_t *set);
static ngx_int_t ngx_adm_sale_one(json_t *value, int64_t *us);
static void ngx_adm_sale_done(void *data, ngx_int_t rc,
    ngx_adm_sale_set_t *set, int64_t us);
static void ngx_adm_sale_log(ngx_adm_api_call_t *call, ngx_adm_sale_t *sale);
static ngx_int_t ngx_adm_sale_answer(ngx_adm_api_call_t *call,
    ngx_adm_sale_t *sale);


ngx_int_t
ngx_adm_sale_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    switch (call->request->method) {

    case NGX_HTTP_PUT:
        call->value = NGX_ADM_SALE_SET;
        break;

    case NGX_HTTP_DELETE:
        call->value = NGX_ADM_SALE_UNSET;
        break;

    default:
        call->value = NGX_ADM_SALE_LOOK;
        break;
    }

    return ngx_adm_body_read(call, ngx_adm_sale_body);
}


static ngx_int_t
ngx_adm_sale_body(ngx_adm_api_call_t *call)
{
    ngx_adm_sale_set_t  set;

    if (call->value == NGX_ADM_SALE_SET
        && ngx_adm_sale_times(call->body, &set) != NGX_OK)
    {
        return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                             "INVALID_SCHEDULE",
                             "The body has to be {\\\"opens\\\": ..., "
                             "\\\"starts\\\": ..., \\\"closes\\\": ...} with "
                             "times such as \\\"2026-12-24T20:00:00+09:00\\\" "
                             "or null, in this order", NULL);
    }

    /* others look for it where this host may die with the next breath */

    if (call->value == NGX_ADM_SALE_SET) {
        ngx_adm_queue_mark(&call->event);
    }

    return ngx_adm_api_wait(call,
               ngx_adm_sale_call(call->value,
                                 call->value == NGX_ADM_SALE_SET ? &set : NULL,
                                 &call->event, call->conf, ngx_adm_sale_done,
                                 call));
}


/* NGX_DECLINED: they are not what they should be */

static ngx_int_t
ngx_adm_sale_times(json_t *body, ngx_adm_sale_set_t *set)
{
    ngx_int_t    rc;
    json_t      *value;
    const char  *name;

    ngx_memzero(set, sizeof(ngx_adm_sale_set_t));

    if (!json_is_object(body)) {
        return NGX_DECLINED;
    }

    json_object_foreach(body, name, value) {

        if (ngx_strcmp(name, "opens") == 0) {
            rc = ngx_adm_sale_one(value, &set->opens);

        } else if (ngx_strcmp(name, "starts") == 0) {
            rc = ngx_adm_sale_one(value, &set->starts);

        } else if (ngx_strcmp(name, "closes") == 0) {
            rc = ngx_adm_sale_one(value, &set->closes);

        } else {
            rc = NGX_DECLINED;
        }

        if (rc != NGX_OK) {
            return NGX_DECLINED;
        }
    }

    if ((set->starts && set->starts < set->opens)
        || (set->closes && set->closes < ngx_max(set->opens, set->starts)))
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_sale_one(json_t *value, int64_t *us)
{
    ngx_str_t  text;

    if (json_is_null(value)) {
        return NGX_OK;
    }

    if (!json_is_string(value)) {
        return NGX_DECLINED;
    }

    text.data = (u_char *) json_string_value(value);
    text.len = json_string_length(value);

    return ngx_adm_rfc3339_read(&text, us);
}


/* of what Redis keeps, though the zone should have no room for it */

static void
ngx_adm_sale_done(void *data, ngx_int_t rc, ngx_adm_sale_set_t *set,
    int64_t us)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_sale_t  sale;

    ngx_adm_wait_over(call->request);

    if (rc != NGX_OK) {
        ngx_adm_wait_finish(call->request,
                            ngx_adm_api_unavailable(call->request));
        return;
    }

    if (set->refused) {
        ngx_adm_wait_finish(call->request,
            ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT, "DRAWN",
                                  "The lots are counted: when it opened and "
                                  "started stays", NULL));
        return;
    }

    sale.set = (set->opens >= 0);
    sale.opens = sale.set ? set->opens : call->conf->opens;
    sale.starts = sale.set ? set->starts : call->conf->starts;
    sale.closes = sale.set ? set->closes : call->conf->closes;
    sale.now = us;
    sale.phase = ngx_adm_sale_phase(&sale);

    if (call->value != NGX_ADM_SALE_LOOK) {
        ngx_adm_sale_log(call, &sale);
        ngx_adm_queue_tell(&call->event, us);
    }

    ngx_adm_wait_finish(call->request, ngx_adm_sale_answer(call, &sale));
}


static void
ngx_adm_sale_log(ngx_adm_api_call_t *call, ngx_adm_sale_t *sale)
{
    u_char      *p, text[sizeof("schedule set, opens , starts , closes ")
                         + 3 * NGX_ADM_RFC3339_LEN];
    int64_t      times[3];
    ngx_uint_t   i;

    static const char  *names[] = { ", opens ", ", starts ", ", closes " };

    if (call->value == NGX_ADM_SALE_UNSET) {
        ngx_adm_operator_log(call, "schedule set back");
        return;
    }

    times[0] = sale->opens;
    times[1] = sale->starts;
    times[2] = sale->closes;

    p = ngx_sprintf(text, "schedule set");

    for (i = 0; i < 3; i++) {

        if (times[i]) {
            p = ngx_sprintf(p, "%s", names[i]);
            p = ngx_adm_rfc3339_put(p, times[i]);
        }
    }

    *p = '\0';

    ngx_adm_operator_log(call, (char *) text);
}


static ngx_int_t
ngx_adm_sale_answer(ngx_adm_api_call_t *call, ngx_adm_sale_t *sale)
{
    ngx_str_t  json;

    if (ngx_adm_sale_json(call->request->pool, sale, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, call->event.len + json.len,
                            "{\"eventId\":\"%V\",\"schedule\":%V}",
                            &call->event, &json);
}
