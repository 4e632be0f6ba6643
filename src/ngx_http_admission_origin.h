
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Where a request comes from: the page of which site has sent it, and whether
 * anybody has asked for it (contract, 5: CORS and CSRF).
 */


#ifndef _NGX_HTTP_ADMISSION_ORIGIN_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ORIGIN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* one Origin, of those that admission_cors allows here */
ngx_uint_t ngx_http_admission_cors_origin(ngx_http_request_t *r,
    ngx_str_t *origin);

/*
 * What a preflight may be told that it can send: the names that it asked for,
 * if they are nothing but names, or else those that the module knows
 */
void ngx_http_admission_requested_headers(ngx_http_request_t *r,
    ngx_str_t *headers);

/*
 * OPTIONS with one Origin and one Access-Control-Request-Method, and nothing
 * that browsers do not send with it: no body, not even one to come, neither
 * cookies nor other credentials, no header that stands for another method.
 */
ngx_uint_t ngx_http_admission_is_preflight(ngx_http_request_t *r);

/* a browser asks ahead of its user: nothing may come of it */
ngx_uint_t ngx_http_admission_is_prefetch(ngx_http_request_t *r);

/* whether a state-changing call may come from where it comes from */
ngx_uint_t ngx_http_admission_same_site(ngx_http_request_t *r);


#endif /* _NGX_HTTP_ADMISSION_ORIGIN_H_INCLUDED_ */
