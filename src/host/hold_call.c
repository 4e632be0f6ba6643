
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the script that holds events: each brings what the host knows, so
 * that the latest stands though Redis lost it.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../token/claims.h"
#include "args.h"
#include "hold.h"
#include "ngx_http_admission_names.h"


/* what Redis lost is given back a few at a time: the next answer asks again */
#define NGX_ADM_HOLDS_OUT  64


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_adm_hold_done_pt   done;
    void                  *data;
    unsigned               back:1;       /* what Redis lost */
    ngx_str_t              event;
    u_char                 id[NGX_ADM_EVENT_MAX];
} ngx_adm_hold_ask_t;


static void ngx_adm_hold_detach(void *data);
static void ngx_adm_hold_answered(void *data, ngx_int_t rc,
    redisReply *reply);


static ngx_uint_t  ngx_adm_holds_out;


ngx_adm_redis_call_t *
ngx_adm_hold_call(ngx_adm_hold_what_e what, ngx_uint_t inside,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_adm_hold_done_pt done,
    void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_hold_t         known;
    ngx_adm_hold_ask_t    *ha;
    ngx_adm_redis_call_t  *call;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("set"),
        ngx_string("unset") };

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    ha = ngx_alloc(sizeof(ngx_adm_hold_ask_t), ngx_cycle->log);
    if (ha == NULL) {
        return NULL;
    }

    ha->done = done;
    ha->data = data;
    ha->back = (done == NULL);
    ha->event.len = event->len;
    ha->event.data = ha->id;
    ngx_memcpy(ha->id, event->data, event->len);

    (void) ngx_adm_hold_get(event, &known);

    ngx_adm_args_begin(&args, NGX_ADM_CALL_HOLD, event);

    args.argv[NGX_ADM_ARG_HOLD_WHAT] = names[what];
    args.number[NGX_ADM_ARG_HOLD_INSIDE] = inside;
    args.number[NGX_ADM_ARG_HOLD_ACTIVE_TTL] = conf->active_ttl;
    args.number[NGX_ADM_ARG_HOLD_SESSION_MAX] = conf->session_max;

    args.number[NGX_ADM_ARG_HOLD_HOST_VERSION] = known.version;
    args.number[NGX_ADM_ARG_HOLD_HOST_HELD] = known.held;
    args.number[NGX_ADM_ARG_HOLD_HOST_SINCE] = known.since;

    call = ngx_adm_args_run(&args, ngx_adm_hold_answered, ha);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_hold_detach);
    }

    return call;
}


/* what was changed is for the host all the same */

static void
ngx_adm_hold_detach(void *data)
{
    ngx_adm_hold_ask_t *ha = data;

    ha->done = NULL;
}


void
ngx_adm_hold_heard(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_hold_t *hold)
{
    if (!ngx_adm_hold_note(event, hold)
        || ngx_adm_holds_out >= NGX_ADM_HOLDS_OUT)
    {
        return;
    }

    if (ngx_adm_hold_call(NGX_ADM_HOLD_LOOK, 0, event, conf, NULL, NULL)
        != NULL)
    {
        ngx_adm_holds_out++;
    }
}


static void
ngx_adm_hold_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_hold_ask_t *ha = data;

    int64_t         v[NGX_ADM_REPLY_HOLD_COUNT];
    ngx_adm_hold_t  hold;

    if (ha->back) {
        ngx_adm_holds_out--;
    }

    if (rc == NGX_OK
        && (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_HOLD_COUNT, 0)
            != NGX_OK
            || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_HOLD_VERSION])))
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: what redis says of event \"%V\" being held "
                      "is not ours", &ha->event);
        rc = NGX_ERROR;
    }

    if (rc != NGX_OK) {

        if (ha->done) {
            ha->done(ha->data, NGX_ERROR, NULL, 0);
        }

        return;
    }

    hold.version = v[NGX_ADM_REPLY_HOLD_VERSION];
    hold.held = v[NGX_ADM_REPLY_HOLD_HELD];
    hold.since = v[NGX_ADM_REPLY_HOLD_SINCE];

    (void) ngx_adm_hold_note(&ha->event, &hold);

    if (ha->done) {
        ha->done(ha->data, NGX_OK, &hold, v[NGX_ADM_REPLY_HOLD_US]);
    }
}
