
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Requests that wait until the host knows Redis's time.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/time_ask.h"
#include "credentials.h"
#include "ctx.h"
#include "time_wait.h"
#include "wait.h"


typedef struct {
    ngx_http_request_t   *request;
    ngx_http_handler_pt   handler;       /* NULL: of a phase */
} ngx_adm_time_wait_t;


static ngx_adm_time_ask_t *ngx_adm_time_begin(ngx_http_request_t *r,
    ngx_http_handler_pt handler);
static void ngx_adm_time_asked(void *data);


ngx_uint_t
ngx_adm_time_matters(ngx_http_request_t *r, ngx_adm_event_conf_t *conf)
{
    return (conf && (conf->opens || conf->starts || conf->closes))
           || ngx_adm_credentials_end(r);
}


ngx_int_t
ngx_adm_time_wait(ngx_http_request_t *r)
{
    ngx_adm_time_ask_t  *ask;

    ask = ngx_adm_time_begin(r, NULL);

    return ask ? ngx_adm_wait(r, ngx_adm_time_ask_cancel, ask) : NGX_DECLINED;
}


ngx_int_t
ngx_adm_time_wait_content(ngx_http_request_t *r, ngx_http_handler_pt handler)
{
    ngx_adm_time_ask_t  *ask;

    ask = ngx_adm_time_begin(r, handler);

    return ask ? ngx_adm_wait_content(r, ngx_adm_time_ask_cancel, ask)
               : NGX_DECLINED;
}


/* NULL: it does not wait */

static ngx_adm_time_ask_t *
ngx_adm_time_begin(ngx_http_request_t *r, ngx_http_handler_pt handler)
{
    ngx_adm_ctx_t        *ctx;
    ngx_adm_time_wait_t  *wait;

    if (ngx_adm_time_is_known()) {
        return NULL;
    }

    ctx = ngx_adm_ctx_get(r);

    if (ctx == NULL || ctx->timed) {
        return NULL;
    }

    wait = ngx_palloc(r->pool, sizeof(ngx_adm_time_wait_t));
    if (wait == NULL) {
        return NULL;
    }

    wait->request = r;
    wait->handler = handler;

    ctx->timed = 1;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis asked what time it is");

    return ngx_adm_time_ask(ngx_adm_time_asked, wait);
}


static void
ngx_adm_time_asked(void *data)
{
    ngx_adm_time_wait_t *wait = data;

    ngx_adm_ctx_t       *ctx;
    ngx_http_request_t  *r;

    r = wait->request;
    ctx = ngx_adm_ctx(r);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis told what time it is: %s",
                   ngx_adm_time_is_known() ? "yes" : "no");

    /* what was read by the other clock is read again */

    ctx->credentials = NULL;

    if (wait->handler == NULL) {
        ngx_adm_wait_resume(r);
        return;
    }

    ngx_adm_wait_over(r);
    ngx_adm_wait_finish(r, wait->handler(r));
}
