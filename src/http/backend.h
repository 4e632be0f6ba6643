
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How long the backend of an event took for a request, and whether it failed.
 */


#ifndef _NGX_ADM_HTTP_BACKEND_H_INCLUDED_
#define _NGX_ADM_HTTP_BACKEND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * The gate lets a request about an event pass whose backend is followed. who:
 * the user if known, else the visitor, or empty.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_backend_begin(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *who);

/* the request's body has come, all of it */
void ngx_adm_backend_sent(ngx_adm_ctx_t *ctx);

/* the request is not measured any further, and tells nothing */
void ngx_adm_backend_drop(ngx_adm_ctx_t *ctx);

/*
 * the request goes on in another location: what the server said stays the
 * answer
 */
void ngx_adm_backend_redirected(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/* the answer begins, or the request ends: counts the first time */
void ngx_adm_backend_end(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_BACKEND_H_INCLUDED_ */
