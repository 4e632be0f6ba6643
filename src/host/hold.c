
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What operators hold, as records.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "hold.h"
#include "ngx_http_admission_names.h"
#include "tally.h"


static ngx_uint_t ngx_adm_hold_stands(void *value);
static void ngx_adm_hold_noted_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *value);
static void ngx_adm_hold_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask,
    void *value);
static ngx_int_t ngx_adm_hold_read(redisReply *reply, void *value,
    int64_t *us);


ngx_adm_record_t  ngx_adm_hold_record = {
    .script = NGX_ADM_CALL_HOLD,
    .size = sizeof(ngx_adm_hold_t),
    .end = NGX_ADM_RECORD_ENDED,
    .stands = ngx_adm_hold_stands,
    .noted_locked = ngx_adm_hold_noted_locked,
    .args = ngx_adm_hold_args,
    .read = ngx_adm_hold_read,
    .not_ours = "admission: what redis says of event \"%V\" being held is not "
                "ours",
    .no_room = "admission: the zone has no room for that event \"%V\" is held, "
               "gates of this host do not: make \"admission_zone\" larger" };


static ngx_uint_t
ngx_adm_hold_stands(void *value)
{
    ngx_adm_hold_t *hold = value;

    return hold->held != NGX_ADM_HOLD_NOBODY;
}


static void
ngx_adm_hold_noted_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *value)
{
    en->held = (value && ngx_adm_hold_stands(value));

    /* a zone that is being copied has the names already */

    if (en->held && zone == ngx_adm_zone) {
        ngx_adm_name_locked(zone, en);
    }
}


static void
ngx_adm_hold_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask, void *value)
{
    ngx_adm_hold_t *to, *known = value;

    to = ask->to;

    args->argv[NGX_ADM_ARG_HOLD_WHAT] = ngx_adm_record_what[ask->what];
    args->number[NGX_ADM_ARG_HOLD_INSIDE] =
                                     (to && to->held == NGX_ADM_HOLD_INSIDE);
    args->number[NGX_ADM_ARG_HOLD_ACTIVE_TTL] = ask->conf->active_ttl;
    args->number[NGX_ADM_ARG_HOLD_SESSION_MAX] = ask->conf->session_max;

    args->number[NGX_ADM_ARG_HOLD_HOST_VERSION] = known->version;
    args->number[NGX_ADM_ARG_HOLD_HOST_HELD] = known->held;
    args->number[NGX_ADM_ARG_HOLD_HOST_SINCE] = known->since;
}


static ngx_int_t
ngx_adm_hold_read(redisReply *reply, void *value, int64_t *us)
{
    ngx_adm_hold_t *hold = value;

    int64_t  v[NGX_ADM_REPLY_HOLD_COUNT];

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_HOLD_COUNT, 0) != NGX_OK
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_HOLD_VERSION]))
    {
        return NGX_ERROR;
    }

    hold->version = v[NGX_ADM_REPLY_HOLD_VERSION];
    hold->held = v[NGX_ADM_REPLY_HOLD_HELD];
    hold->since = v[NGX_ADM_REPLY_HOLD_SINCE];
    *us = v[NGX_ADM_REPLY_HOLD_US];

    return NGX_OK;
}
