
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Rate limits (docs/directives.md: admission_rate_limit): what the gate asks,
 * and how the answer tells.
 *
 * A request is charged to a client's window of a category once, however many
 * locations it comes through, and judged by the terms of each.
 */


#ifndef _NGX_ADM_LIMIT_LIMIT_H_INCLUDED_
#define _NGX_ADM_LIMIT_LIMIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/ctx.h"


/*
 * Judges by the limits of the request's location, when it is known who asks:
 * NGX_OK, NGX_AGAIN (the request waits), NGX_ABORT (refused, as verdict and
 * reason of ctx say) or NGX_ERROR.
 */
ngx_int_t ngx_adm_limits(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * Takes back what limits from number "first" on (0: all) charged a request
 * that is refused all the same.
 */
void ngx_adm_limits_back(ngx_adm_limits_t *limits, ngx_uint_t first);

/* tells a refusal; returns what to finalize the request with */
ngx_int_t ngx_adm_limit_deny(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * Sets RateLimit-Policy and RateLimit of the answer, in place of a backend's.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_limit_headers(ngx_http_request_t *r,
    ngx_adm_limits_t *limits);


#endif /* _NGX_ADM_LIMIT_LIMIT_H_INCLUDED_ */
