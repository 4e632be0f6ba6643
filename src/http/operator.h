
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who may make operators' calls.
 */


#ifndef _NGX_ADM_HTTP_OPERATOR_H_INCLUDED_
#define _NGX_ADM_HTTP_OPERATOR_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "api.h"


/*
 * Asks for a verified user token with the role "admin", or the admin secret as
 * a bearer token.  NGX_OK: *who is the user, or empty for the secret.
 * NGX_HTTP_UNAUTHORIZED: no credential; NGX_HTTP_FORBIDDEN: one that will not
 * do, or the location has no way to be an operator; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_operator_is(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_loc_conf_t *lcf, ngx_str_t *who);

/*
 * The same for a call.  NGX_DECLINED: it may go on, and call->who is set.
 * Otherwise returns the answer: 401 ADMIN_REQUIRED or 403 FORBIDDEN.
 */
ngx_int_t ngx_adm_operator(ngx_adm_api_call_t *call);

/* a line of the log about what an operator did */
void ngx_adm_operator_log(ngx_adm_api_call_t *call, const char *what);


#endif /* _NGX_ADM_HTTP_OPERATOR_H_INCLUDED_ */
