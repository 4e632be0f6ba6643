
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Where a request comes from: a page of which site sent it, and whether
 * somebody asked for it (docs/api.md: Other sites).
 */


#ifndef _NGX_ADM_HTTP_ORIGIN_H_INCLUDED_
#define _NGX_ADM_HTTP_ORIGIN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "headers.h"


/*
 * whether the request has one Origin, and that is of "origins"
 * (admission_cors; NULL: none)
 */
ngx_uint_t ngx_adm_cors_origin(ngx_http_request_t *r, ngx_array_t *origins,
    ngx_str_t *origin);

/*
 * Which headers a preflight is told that it may send: those that it asked for,
 * if they are mere names, or else those that the module knows.
 */
void ngx_adm_requested_headers(ngx_http_request_t *r, ngx_str_t *headers);

/*
 * Whether a request with the method OPTIONS has one Origin, one
 * Access-Control-Request-Method, and nothing that browsers do not send with
 * these: no body, not even one to come, no cookies or other credentials, no
 * header that stands for another method.
 */
ngx_uint_t ngx_adm_is_preflight(ngx_http_request_t *r);

/*
 * Whether a browser asks ahead of its user: nothing may come of it.
 * "prefetch", "prefetch;prerender", ...
 */
#define ngx_adm_is_prefetch(r)                                                \
    (ngx_adm_header_says(r, "sec-purpose", "prefetch")                        \
     || ngx_adm_header_says(r, "purpose", "prefetch"))

/* whether a call that changes something may come from there */
ngx_uint_t ngx_adm_same_site(ngx_http_request_t *r);


#endif /* _NGX_ADM_HTTP_ORIGIN_H_INCLUDED_ */
