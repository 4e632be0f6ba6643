
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The schedule comes to an event a moment after the host has started.  A
 * request that comes before that asks by itself.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "first.h"
#include "steps.h"


static ngx_adm_redis_call_t *ngx_adm_queue_first_call(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_out_t *out);
static void ngx_adm_queue_first_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


static ngx_adm_look_kind_t  ngx_adm_queue_firsts = {
    .call = ngx_adm_queue_first_call };


ngx_adm_look_t *
ngx_adm_queue_first(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_look_done_pt done, void *data)
{
    return ngx_adm_look_at(&ngx_adm_queue_firsts, event, conf, done, data);
}


static ngx_adm_redis_call_t *
ngx_adm_queue_first_call(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_look_out_t *out)
{
    return ngx_adm_queue_step(event, conf, ngx_adm_queue_first_done, out);
}


static void
ngx_adm_queue_first_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer)
{
    ngx_adm_look_out_t *out = data;

    if (rc == NGX_OK) {
        ngx_adm_queue_stepped_sets(ngx_adm_look_event(out),
                                   ngx_adm_look_conf(out), answer);
    }

    ngx_adm_look_told(out, rc, answer);
}
