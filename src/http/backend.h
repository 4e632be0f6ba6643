
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
 * A gate of the event, whose backend is followed, lets the request pass; who:
 * the user if it is known, else the visitor; empty: neither is.  NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_backend_begin(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *who);

/* its body is here, whole */
void ngx_adm_backend_sent(ngx_adm_ctx_t *ctx);

/* it is no more, without a word */
void ngx_adm_backend_drop(ngx_adm_ctx_t *ctx);

/* it goes on in another location: what it was told of a server was that */
void ngx_adm_backend_redirected(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/* its answer begins, or it ends: once */
void ngx_adm_backend_end(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_BACKEND_H_INCLUDED_ */
