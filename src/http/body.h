
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The small JSON body of an API call.
 */


#ifndef _NGX_ADM_HTTP_BODY_H_INCLUDED_
#define _NGX_ADM_HTTP_BODY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "api.h"


#define NGX_ADM_BODY_MAX  4096           /* bytes */


/*
 * Reads the body into call->body, then runs done, maybe before it returns.  If
 * the body is too large, is not JSON, or has a member twice, the call is
 * answered and done does not run.
 *
 * Returns what a content handler returns, as done does.
 */
ngx_int_t ngx_adm_body_read(ngx_adm_api_call_t *call, ngx_adm_api_pt done);


#endif /* _NGX_ADM_HTTP_BODY_H_INCLUDED_ */
