
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The identity is what a backend is told of the user, in headers that nobody
 * else can set.
 */


#ifndef _NGX_ADM_HTTP_IDENTITY_H_INCLUDED_
#define _NGX_ADM_HTTP_IDENTITY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Removes X-Admission-Event and, in a server that uses admission_user,
 * X-User-Id, X-User-Email and X-User-Role, in any spelling, from the request's
 * headers, so that nothing that reads the list later sees them.  In a server
 * with neither users nor a gate, none.
 */
ngx_int_t ngx_adm_identity_remove(ngx_http_request_t *r);

/*
 * Puts the headers of the verified user and entry token in (after taking
 * out what an earlier location of the request put there), and the access
 * token's cookie as Authorization where there was none.
 */
ngx_int_t ngx_adm_identity_set(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_IDENTITY_H_INCLUDED_ */
