
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Return targets: where a browser goes on to after it waited or signed in.
 */


#ifndef _NGX_HTTP_ADMISSION_RETURN_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_RETURN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#define NGX_HTTP_ADMISSION_RETURN_MAX  2048         /* bytes, not encoded */


/*
 * Whether a return target stays on this site: a path, not "//host" nor
 * "/\host", without control characters and backslashes, and not too long.
 */
ngx_uint_t ngx_http_admission_return_is_safe(ngx_str_t *uri);

/*
 * Whether a text leads to where a denial may send: NGX_OK: it begins as a path
 * or as "scheme://".  NGX_AGAIN: so far it may become either, or is empty.
 * NGX_DECLINED: neither; a browser would take it relative to where it is.
 */
ngx_int_t ngx_http_admission_return_address(ngx_str_t *text);

/*
 * What the client asked for, path and query without a "return", which is not
 * safe yet; it may be allocated from r->pool.
 */
ngx_int_t ngx_http_admission_return_wanted(ngx_http_request_t *r,
    ngx_str_t *uri);

/*
 * The target with "return=<what the client asked for>" added to its query,
 * allocated from r->pool.  Where that is not safe the target stays as it is.
 * One level: a "return" in what was asked for is taken out of it.
 */
ngx_int_t ngx_http_admission_return_add(ngx_http_request_t *r,
    ngx_str_t *target, ngx_str_t *location);


#endif /* _NGX_HTTP_ADMISSION_RETURN_H_INCLUDED_ */
