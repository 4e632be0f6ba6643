
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Keys of users' tokens that a location of the server answers: it is asked by
 * a subrequest, once for all requests of the host that need to know.
 */


#ifndef _NGX_ADM_HTTP_USER_KEYS_H_INCLUDED_
#define _NGX_ADM_HTTP_USER_KEYS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * For phase handlers, after ngx_adm_user_find().  NGX_OK: it is known who
 * asks, or that nobody does; NGX_AGAIN: the request waits, and the phase runs
 * again; NGX_BUSY: there is no telling for now; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_user_keys(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_USER_KEYS_H_INCLUDED_ */
