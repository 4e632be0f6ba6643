
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the scripts of records.  Each brings what the host knows, so that
 * the latest stands even if Redis lost it.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "record.h"


/*
 * of a kind: calls by which the host fetches, or gives Redis back; what has to
 * wait is asked for by the next answer
 */
#define NGX_ADM_RECORDS_OUT    64

#define NGX_ADM_RECORDS_AGAIN  5000      /* ms, where there is no room */


/* a call under way; freed with the call of the Redis client */
typedef struct {
    ngx_adm_record_t        *record;
    ngx_adm_record_done_pt   done;
    void                    *data;
    unsigned                 own:1;      /* the host's own, with nobody to be
                                            told */
    ngx_str_t                event;
    u_char                   id[NGX_ADM_EVENT_MAX];
    int64_t                  value[1];   /* what the host knew, then what stands
                                            */
} ngx_adm_record_out_t;


static void ngx_adm_record_detach(void *data);
static void ngx_adm_record_answered(void *data, ngx_int_t rc,
    redisReply *reply);


ngx_str_t  ngx_adm_record_what[] = {
    ngx_string("look"),
    ngx_string("set"),
    ngx_string("unset")
};


ngx_adm_redis_call_t *
ngx_adm_record_call(ngx_adm_record_t *record, ngx_adm_record_what_e what,
    void *to, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_record_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_record_ask_t   ask;
    ngx_adm_record_out_t  *out;
    ngx_adm_redis_call_t  *call;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    out = ngx_alloc(offsetof(ngx_adm_record_out_t, value) + record->size,
                    ngx_cycle->log);
    if (out == NULL) {
        return NULL;
    }

    out->record = record;
    out->done = done;
    out->data = data;
    out->own = (done == NULL);
    out->event.len = event->len;
    out->event.data = out->id;
    ngx_memcpy(out->id, event->data, event->len);

    ngx_memzero(out->value, record->size);
    (void) ngx_adm_record_get(record, event, out->value);

    ask.what = what;
    ask.to = to;
    ask.event = event;
    ask.conf = conf;

    ngx_adm_args_begin(&args, record->script, event);
    record->args(&args, &ask, out->value);

    call = ngx_adm_args_run(&args, ngx_adm_record_answered, out);

    if (call) {
        record->out += out->own;
        ngx_adm_redis_on_detach(call, ngx_adm_record_detach);
    }

    return call;
}


/* the caller has gone: the host takes the answer all the same */

static void
ngx_adm_record_detach(void *data)
{
    ngx_adm_record_out_t *out = data;

    out->done = NULL;
}


void
ngx_adm_record_heard(ngx_adm_record_t *record, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, void *value)
{
    if (ngx_adm_is_far_ahead(*(int64_t *) value)
        || ngx_adm_record_note(record, event, value) != NGX_DECLINED
        || record->out >= NGX_ADM_RECORDS_OUT)
    {
        return;
    }

    (void) ngx_adm_record_call(record, NGX_ADM_RECORD_LOOK, NULL, event, conf,
                               NULL, NULL);
}


ngx_uint_t
ngx_adm_record_heard_of(ngx_adm_record_t *record, ngx_str_t *event,
    int64_t version)
{
    if (version == ngx_adm_record_version(record, event)) {
        return 0;
    }

    if (record->out >= NGX_ADM_RECORDS_OUT
        || (record->full
            && ngx_adm_since(record->full) < NGX_ADM_RECORDS_AGAIN))
    {
        return 1;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: %V of event \"%V\" is asked for, %L",
                   &ngx_adm_scripts[record->script].name, event, version);

    record->full = 0;

    (void) ngx_adm_record_call(record, NGX_ADM_RECORD_LOOK, NULL, event, NULL,
                               NULL, NULL);

    return 1;
}


static void
ngx_adm_record_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_record_out_t *out = data;

    int64_t            us;
    ngx_adm_record_t  *record;

    us = 0;
    record = out->record;

    record->out -= out->own;

    if (rc == NGX_OK) {
        rc = record->read(reply, out->value, &us);

        if (rc == NGX_OK) {
            (void) ngx_adm_record_note(record, &out->event, out->value);

        } else if (rc == NGX_ERROR) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, record->not_ours,
                          &out->event);
        }

    } else {
        rc = NGX_ERROR;
    }

    if (out->done) {
        out->done(out->data, rc == NGX_ERROR ? NGX_ERROR : NGX_OK, out->value,
                  us);
    }
}
