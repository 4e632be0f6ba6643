
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The user of a request is who makes it: known by a signed access token, as a
 * visitor, or by a variable of another module, as admission_user says.
 */


#ifndef _NGX_ADM_HTTP_USER_H_INCLUDED_
#define _NGX_ADM_HTTP_USER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Sets ctx->user, once a location: id stays empty if nobody is known.  A bad
 * token is no user.  Only if admission_user is a variable does it matter when
 * this is called: not before the access phase has ended.  NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_user_find(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * With "admission_user visitor", for a request that shows no visitor: makes
 * one, sets its cookie, and has it as ctx->user.  NGX_DECLINED: here visitors
 * are not users.
 */
ngx_int_t ngx_adm_user_make(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_USER_H_INCLUDED_ */
