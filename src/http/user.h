
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The user of a request is who asks: by a signed access token, a visitor, or
 * a variable of another module, as admission_user says.
 */


#ifndef _NGX_ADM_HTTP_USER_H_INCLUDED_
#define _NGX_ADM_HTTP_USER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Fills ctx->user, once per location: id stays empty where nobody is known.
 * A bad token is no user.  Only where admission_user is a variable does it
 * matter when this is called: not before the access phase has ended.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_user_find(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * With admission_user visitor, where the request shows no visitor: makes
 * one, sets its cookie, and makes it ctx->user.  NGX_DECLINED: this
 * location has no visitors for users.
 */
ngx_int_t ngx_adm_user_make(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_USER_H_INCLUDED_ */
