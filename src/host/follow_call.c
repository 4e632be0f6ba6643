
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The arguments of lua/follow.lua, and its answer.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../token/claims.h"
#include "args.h"
#include "follow_call.h"
#include "ngx_http_admission_names.h"
#include "settings.h"


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_adm_follow_done_pt   done;
    void                    *data;
    ngx_str_t                event;
    u_char                   id[NGX_ADM_EVENT_MAX];
} ngx_adm_follow_ask_t;


static void ngx_adm_follow_detach(void *data);
static void ngx_adm_follow_args(ngx_adm_args_t *args,
    ngx_adm_follow_report_t *report);
static void ngx_adm_follow_call_done(void *data, ngx_int_t rc,
    redisReply *reply);


ngx_adm_redis_call_t *
ngx_adm_follow_call(ngx_str_t *event, ngx_adm_follow_report_t *report,
    ngx_adm_follow_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_follow_ask_t  *ask;
    ngx_adm_redis_call_t  *call;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    ask = ngx_alloc(sizeof(ngx_adm_follow_ask_t), ngx_cycle->log);
    if (ask == NULL) {
        return NULL;
    }

    ask->done = done;
    ask->data = data;
    ask->event.len = event->len;
    ask->event.data = ask->id;
    ngx_memcpy(ask->id, event->data, event->len);

    ngx_adm_args_begin(&args, NGX_ADM_CALL_FOLLOW, event);
    ngx_adm_follow_args(&args, report);

    call = ngx_adm_args_run(&args, ngx_adm_follow_call_done, ask);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_follow_detach);
    }

    return call;
}


static void
ngx_adm_follow_detach(void *data)
{
    ngx_adm_follow_ask_t *ask = data;

    ask->done = NULL;
}


static void
ngx_adm_follow_args(ngx_adm_args_t *args, ngx_adm_follow_report_t *report)
{
    int64_t           *n;
    ngx_adm_follow_t  *known;

    static ngx_str_t  names[] = {
        ngx_string("on"),
        ngx_string("dry"),
        ngx_string("off") };

    n = args->number;
    known = &report->known;

    args->argv[NGX_ADM_ARG_FOLLOW_WHAT] = names[report->what];

    n[NGX_ADM_ARG_FOLLOW_LATENCY] = report->latency;
    n[NGX_ADM_ARG_FOLLOW_ERRORS] = report->errors;
    n[NGX_ADM_ARG_FOLLOW_RATE] = report->rate;
    n[NGX_ADM_ARG_FOLLOW_RATE_MIN] = report->rate_min;
    n[NGX_ADM_ARG_FOLLOW_THRESHOLD] = report->threshold;
    n[NGX_ADM_ARG_FOLLOW_THRESHOLD_MIN] = report->threshold_min;

    n[NGX_ADM_ARG_FOLLOW_REQUESTS] = report->requests;
    n[NGX_ADM_ARG_FOLLOW_COUNTED] = report->counted;
    n[NGX_ADM_ARG_FOLLOW_FAILED] = report->failed;
    n[NGX_ADM_ARG_FOLLOW_FAILED_TOP] = report->failed_top;
    n[NGX_ADM_ARG_FOLLOW_SLOW_TOP] = report->slow_top;
    n[NGX_ADM_ARG_FOLLOW_FAILED_USERS] = report->failed_users;
    n[NGX_ADM_ARG_FOLLOW_USERS] = report->users;
    n[NGX_ADM_ARG_FOLLOW_RETRY] = report->retry;
    n[NGX_ADM_ARG_FOLLOW_RETRY_USERS] = report->retry_users;
    n[NGX_ADM_ARG_FOLLOW_RETRY_SECONDS] = report->retry_seconds;
    n[NGX_ADM_ARG_FOLLOW_RETRY_TOP] = report->retry_top;
    n[NGX_ADM_ARG_FOLLOW_WAITING] = report->waiting;
    n[NGX_ADM_ARG_FOLLOW_LATE] = report->late;
    n[NGX_ADM_ARG_FOLLOW_HUNG] = report->hung;

    args->argv[NGX_ADM_ARG_FOLLOW_BINS] = report->bins;

    n[NGX_ADM_ARG_FOLLOW_HOST_AT] = known->at;
    n[NGX_ADM_ARG_FOLLOW_HOST_RATE] = known->rate;
    n[NGX_ADM_ARG_FOLLOW_HOST_THRESHOLD] = known->threshold;
    n[NGX_ADM_ARG_FOLLOW_HOST_WHY] = known->why;
    n[NGX_ADM_ARG_FOLLOW_HOST_PAUSE] = known->pause;
}


static void
ngx_adm_follow_call_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_follow_ask_t *ask = data;

    int64_t           v[NGX_ADM_REPLY_FOLLOW_COUNT];
    ngx_adm_follow_t  follow;

    if (rc == NGX_OK
        && ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_FOLLOW_COUNT, 0)
           != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: what redis says of the backend of event "
                      "\"%V\" is not ours", &ask->event);
        rc = NGX_ERROR;
    }

    if (ask->done == NULL) {
        return;
    }

    if (rc != NGX_OK) {
        ask->done(ask->data, NGX_ERROR, NULL);
        return;
    }

    follow.us = v[NGX_ADM_REPLY_FOLLOW_US];
    follow.at = v[NGX_ADM_REPLY_FOLLOW_AT];
    follow.rate = v[NGX_ADM_REPLY_FOLLOW_RATE];
    follow.threshold = v[NGX_ADM_REPLY_FOLLOW_LIMIT];
    follow.why = v[NGX_ADM_REPLY_FOLLOW_WHY];
    follow.pause = v[NGX_ADM_REPLY_FOLLOW_PAUSE];
    follow.latency = v[NGX_ADM_REPLY_FOLLOW_LATENCY];
    follow.requests = v[NGX_ADM_REPLY_FOLLOW_REQUESTS];
    follow.counted = v[NGX_ADM_REPLY_FOLLOW_COUNTED];
    follow.failed = v[NGX_ADM_REPLY_FOLLOW_FAILED];
    follow.busy = v[NGX_ADM_REPLY_FOLLOW_BUSY];

    ngx_log_debug5(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: backend of event \"%V\": %L ms, limits %L, %L, "
                   "why %L", &ask->event, follow.latency / 1000, follow.rate,
                   follow.threshold, follow.why);

    ask->done(ask->data, NGX_OK, &follow);
}
