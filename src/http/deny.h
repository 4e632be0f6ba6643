
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a denial is told: by a redirect, by JSON, or by a bare status
 * (docs/directives.md: admission_deny).
 */


#ifndef _NGX_ADM_HTTP_DENY_H_INCLUDED_
#define _NGX_ADM_HTTP_DENY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Tells a denial: verdict is USER, TIER1, TIER2 or ERROR; event is the
 * request's, or empty.  Returns what to finalize the request with.
 */
ngx_int_t ngx_adm_deny(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    const char *reason, ngx_str_t *event);

/*
 * The same for USER, TIER1 and TIER2, in JSON, whatever admission_deny says.
 * Returns what a content handler returns.
 */
ngx_int_t ngx_adm_deny_script(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    const char *reason, ngx_str_t *event);

/*
 * 403 in JSON, whatever admission_deny says, with the event's waiting room as
 * redirectTo.  Returns what a content handler returns.
 */
ngx_int_t ngx_adm_deny_to_waiting(ngx_http_request_t *r, const char *code,
    const char *text, ngx_str_t *event);

/* whether a browser shows the answer as a page */
ngx_uint_t ngx_adm_is_navigation(ngx_http_request_t *r);


#endif /* _NGX_ADM_HTTP_DENY_H_INCLUDED_ */
