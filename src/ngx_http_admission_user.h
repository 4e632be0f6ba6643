
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who asks: by a signed access token, a visitor cookie, or a variable of
 * another module; and the headers that tell the backend.
 */


#ifndef _NGX_HTTP_ADMISSION_USER_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_USER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"


/*
 * Fills ctx->user, once per location: id stays empty where nobody is known.
 * A bad token is no user.  Only where admission_user is a variable does it
 * matter when this is called: not before the access phase has ended.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_user_find(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/*
 * With admission_user visitor, where the request shows no visitor: makes
 * one, sets its cookie, and makes it ctx->user.  NGX_DECLINED: this
 * location has no visitors for users.
 */
ngx_int_t ngx_http_admission_user_make(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/*
 * Removes X-Admission-Event and, in a server that uses admission_user,
 * X-User-Id, X-User-Email and X-User-Role, in any spelling, from the request's
 * headers, so that nothing that reads the list later sees them.  In a server
 * with neither users nor a gate, none.
 */
ngx_int_t ngx_http_admission_identity_remove(ngx_http_request_t *r);

/*
 * Puts the headers of the verified user and entry token in (after taking
 * out what an earlier location of the request put there), and the access
 * token's cookie as Authorization where there was none.
 */
ngx_int_t ngx_http_admission_identity_set(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);


#endif /* _NGX_HTTP_ADMISSION_USER_H_INCLUDED_ */
