
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The context of a request, which subrequests share with the main one, and the
 * event that a request names.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "backend.h"
#include "ctx.h"


static void ngx_adm_ctx_cleanup(void *data);


ngx_adm_ctx_t *
ngx_adm_ctx_find(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;

    r = r->main;

    if (!(r->internal || r->filter_finalize)) {
        return NULL;
    }

    /* not in r->ctx: an internal redirect cleared it, or there never was one */

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_adm_ctx_cleanup) {
            ngx_http_set_ctx(r, cln->data, ngx_http_admission_module);
            return cln->data;
        }
    }

    return NULL;
}


ngx_adm_ctx_t *
ngx_adm_ctx_make(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;
    ngx_adm_ctx_t       *ctx;

    r = r->main;

    ctx = ngx_adm_ctx_find(r);
    if (ctx) {
        return ctx;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_adm_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_adm_ctx_t));

    cln->handler = ngx_adm_ctx_cleanup;

    ngx_http_set_ctx(r, ctx, ngx_http_admission_module);

    return ctx;
}


ngx_adm_asked_t *
ngx_adm_ctx_asked(ngx_http_request_t *r, ngx_adm_claims_t *entry)
{
    ngx_uint_t        i;
    ngx_adm_ctx_t    *ctx;
    ngx_adm_asked_t  *asked;

    ctx = ngx_adm_ctx(r);

    if (ctx == NULL || ctx->asked == NULL) {
        return NULL;
    }

    asked = ctx->asked->elts;

    for (i = 0; i < ctx->asked->nelts; i++) {

        if (asked[i].pass == r->main->uri_changes
            && ngx_adm_str_same(&asked[i].event, &entry->sub)
            && ngx_adm_str_same(&asked[i].user, &entry->uid))
        {
            return &asked[i];
        }
    }

    return NULL;
}


/*
 * If a value depends on where its evaluation began it may be longer one time
 * than another, and what NGINX measures first and copies then would not fit.
 */

void
ngx_adm_cyclic(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    static time_t  logged;

    ctx->cyclic = 1;

    /* one line a second says as much as one a request */

    if (logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: \"admission_event\" or \"admission_user\" "
                      "is made of itself: there is neither");
    }
}


ngx_int_t
ngx_adm_request_event(ngx_http_request_t *r, ngx_str_t *event)
{
    u_char              *p;
    ngx_str_t            value;
    ngx_adm_loc_conf_t  *lcf;

    ngx_str_set(event, "");

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->event == NULL) {
        return NGX_DECLINED;
    }

    if (ngx_http_complex_value(r, lcf->event, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 0) {
        return NGX_DECLINED;
    }

    if (value.len > NGX_ADM_EVENT_MAX) {
        return NGX_ABORT;
    }

    p = ngx_pnalloc(r->pool, value.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    if (ngx_adm_event_id(&value, p) != NGX_OK) {
        return NGX_ABORT;
    }

    event->data = p;
    event->len = value.len;

    return NGX_OK;
}


static void
ngx_adm_ctx_cleanup(void *data)
{
    ngx_adm_ctx_t *ctx = data;

    if (ctx->wait.cancel) {
        ctx->wait.cancel(ctx->wait.data);
    }

    if (ctx->backend) {
        ngx_adm_backend_drop(ctx);
    }
}
