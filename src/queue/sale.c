
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls about the times of a sale: how they are set, and
 * answered.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/rfc3339.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "record.h"


static ngx_int_t ngx_adm_sale_parse(ngx_adm_api_call_t *call, void *value);
static ngx_adm_redis_call_t *ngx_adm_sale_around(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);
static ngx_int_t ngx_adm_queue_sale_time(ngx_str_t *text, void *field);
static ngx_int_t ngx_adm_sale_answer(ngx_adm_api_call_t *call, void *value,
    int64_t us);
static void ngx_adm_sale_changed(ngx_adm_api_call_t *call,
    ngx_adm_sale_t *sale);


static ngx_adm_record_api_t  ngx_adm_sale_api = {
    .record = &ngx_adm_sale_record,
    .parse = ngx_adm_sale_parse,
    .code = "INVALID_SCHEDULE",
    .message = "The body has to be {\\\"opens\\\": ..., "
               "\\\"starts\\\": ..., \\\"closes\\\": ...} with times such as "
               "\\\"2026-12-24T20:00:00+09:00\\\" or null, in this order",
    .answer = ngx_adm_sale_answer,
    .told = 1,
    .around = ngx_adm_sale_around,
    .missed = ngx_adm_sale_unmark };


ngx_int_t
ngx_adm_sale_handler(ngx_adm_api_call_t *call)
{
    return ngx_adm_record_handler(call, &ngx_adm_sale_api);
}


static ngx_int_t
ngx_adm_sale_parse(ngx_adm_api_call_t *call, void *value)
{
    ngx_adm_sale_set_t *set = value;

    static ngx_adm_record_member_t  members[] = {
        { "opens", offsetof(ngx_adm_sale_set_t, opens) },
        { "starts", offsetof(ngx_adm_sale_set_t, starts) },
        { "closes", offsetof(ngx_adm_sale_set_t, closes) },
        { NULL, 0 } };

    if (call->value != NGX_ADM_RECORD_SET) {
        return NGX_OK;
    }

    if (ngx_adm_record_members(call->body, members, ngx_adm_queue_sale_time,
                               set) != NGX_OK
        || (set->starts && set->starts < set->opens)
        || (set->closes && set->closes < ngx_max(set->opens, set->starts)))
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


/* NULL: the event can't be listed now */

static ngx_adm_redis_call_t *
ngx_adm_sale_around(ngx_str_t *event, ngx_adm_redis_done_pt done, void *data)
{
    return ngx_adm_sale_list ? ngx_adm_sale_list(event, done, data) : NULL;
}


static ngx_int_t
ngx_adm_queue_sale_time(ngx_str_t *text, void *field)
{
    return ngx_adm_rfc3339_read(text, field);
}


/* by what Redis keeps, in case the zone has no room for it */

static ngx_int_t
ngx_adm_sale_answer(ngx_adm_api_call_t *call, void *value, int64_t us)
{
    ngx_adm_sale_set_t *set = value;

    ngx_str_t       json;
    ngx_adm_sale_t  sale;

    if (set->refused) {
        return ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT, "DRAWN",
                                     "The lots are counted: when it opened and "
                                     "started stays", NULL);
    }

    sale.set = (set->opens >= 0);
    sale.opens = sale.set ? set->opens : call->conf->opens;
    sale.starts = sale.set ? set->starts : call->conf->starts;
    sale.closes = sale.set ? set->closes : call->conf->closes;
    sale.now = us;

    (void) ngx_adm_sale_phase(&sale);

    if (call->value != NGX_ADM_RECORD_LOOK) {
        ngx_adm_sale_changed(call, &sale);
    }

    if (ngx_adm_sale_json(call->request->pool, &sale, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_api_json(call->request, call->event.len + json.len,
                            "{\"eventId\":\"%V\",\"schedule\":%V}",
                            &call->event, &json);
}


static void
ngx_adm_sale_changed(ngx_adm_api_call_t *call, ngx_adm_sale_t *sale)
{
    u_char      *p, text[sizeof("schedule set, opens , starts , closes ")
                         + 3 * NGX_ADM_RFC3339_LEN];
    int64_t      times[3];
    ngx_uint_t   i;

    static const char  *names[] = { ", opens ", ", starts ", ", closes " };

    if (call->value == NGX_ADM_RECORD_UNSET) {
        ngx_adm_record_changed(call, "schedule set back", sale->now);
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

    ngx_adm_record_changed(call, (char *) text, sale->now);
}
