
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who passes the tiers unasked: admission_bypass and admission_trusted_edge.
 */


#ifndef _NGX_ADM_HTTP_BYPASS_H_INCLUDED_
#define _NGX_ADM_HTTP_BYPASS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Takes the headers with these names (ngx_str_t, of all trusted edges of the
 * server) out of the request, right or wrong, and remembers them: a backend is
 * not to see the secrets.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_edges_take(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_array_t *names);

/*
 * Whether the tiers let the request pass unasked in its location.  NGX_OK: by
 * admission_bypass, with no reason (NULL), or by admission_trusted_edge, with
 * one.  NGX_DECLINED: they do not; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_bypassed(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    const char **reason);


#endif /* _NGX_ADM_HTTP_BYPASS_H_INCLUDED_ */
