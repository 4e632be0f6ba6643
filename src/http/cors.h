
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The CORS headers of the module's own answers and of denials (contract, 5:
 * admission_cors), which are the only ones there.
 */


#ifndef _NGX_ADM_HTTP_CORS_H_INCLUDED_
#define _NGX_ADM_HTTP_CORS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * For the header filter, after "add_header": CORS headers for an allowed
 * Origin, Vary for any, nothing without.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_cors_headers(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_CORS_H_INCLUDED_ */
