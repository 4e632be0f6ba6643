
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A host that has just started knows neither who was put out of an event nor
 * whether an operator holds it, and might let requests pass that must not.
 * Until it has heard of all events there are, requests ask about theirs.  If
 * Redis does not answer they are judged by what the host knows.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/event_known.h"
#include "../http/time_wait.h"
#include "../queue/first.h"
#include "../queue/queue.h"
#include "first.h"


static ngx_int_t ngx_adm_gate_first_ask(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_str_t *event, ngx_adm_event_conf_t *conf);
static void ngx_adm_gate_first_told(void *data, ngx_int_t rc, void *answer);


ngx_int_t
ngx_adm_gate_first(ngx_http_request_t *r, ngx_adm_ctx_t *ctx, ngx_str_t *event,
    ngx_adm_event_conf_t *conf)
{
    if (ngx_adm_redis == NULL
        || ngx_adm_event_is_known(event)
        || ctx->first_missed
        || ngx_adm_time_is_missed(ctx))
    {
        return NGX_DECLINED;
    }

    if (!ngx_adm_str_same(&ctx->first, event)) {

        /* another event, which an entry token names that is shown besides */

        ctx->first = *event;
        ctx->first_more = 1;
    }

    return ctx->first_more ? ngx_adm_gate_first_ask(r, ctx, event, conf)
                           : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_gate_first_ask(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    ngx_adm_look_t       *look;
    ngx_adm_main_conf_t  *mcf;

    if (ctx->first_until == 0) {
        mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

        ctx->first_until = (ngx_current_msec + mcf->redis->timeout) | 1;
    }

    ngx_adm_redis_until(ngx_adm_redis, ctx->first_until);

    look = ngx_adm_queue_first(event, conf, ngx_adm_gate_first_told, r);

    ngx_adm_redis_until(ngx_adm_redis, 0);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis asked of event \"%V\", not heard of%s",
                   event, look ? "" : ", in vain");

    if (look == NULL) {
        ctx->first_missed = 1;
        return NGX_DECLINED;
    }

    return ngx_adm_wait(r, ngx_adm_look_cancel, look);
}


static void
ngx_adm_gate_first_told(void *data, ngx_int_t rc, void *answer)
{
    ngx_http_request_t *r = data;

    ngx_adm_ctx_t           *ctx;
    ngx_adm_queue_answer_t  *told;

    ctx = ngx_adm_ctx(r);
    told = answer;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis told of the event, rc %i", rc);

    if (rc == NGX_OK) {
        ctx->first_more = (told->score != 0
                           || told->life != ngx_adm_zone->sh->life);

    } else {

        /* Redis will not answer other questions in time, either */

        ctx->first_missed = 1;
        ctx->looked = r->uri_changes;
        ctx->room_told = 0;
    }

    ngx_adm_wait_resume(r);
}
