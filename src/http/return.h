
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Return targets: where a browser goes on to after it waited or signed in.
 */


#ifndef _NGX_ADM_HTTP_RETURN_H_INCLUDED_
#define _NGX_ADM_HTTP_RETURN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#define NGX_ADM_RETURN_MAX  2048         /* bytes, not encoded */


/*
 * Whether a return target stays on this site: a path, not "//host" nor
 * "/\host", without control characters and backslashes, and not too long.
 */
ngx_uint_t ngx_adm_return_is_safe(ngx_str_t *uri);

/*
 * Whether a text leads to where a denial may send: NGX_OK: it begins as a path
 * or as "scheme://".  NGX_AGAIN: so far it may become either, or is empty.
 * NGX_DECLINED: neither; a browser would take it relative to where it is.
 */
ngx_int_t ngx_adm_return_address(ngx_str_t *text);

/*
 * Our name for it in addresses of the site, where "return" may be the site's
 * own; pages read either.
 */
#define NGX_ADM_RETURN  "admission_return"

/*
 * What the client wants, path and query, which is not safe yet; it may be
 * allocated from r->pool.  One level: where the address says by our name what
 * is wanted, it is that; by "return" as well if ours is set: the address is of
 * a page that people wait on.  A "return" of the site's stays where it is.
 */
ngx_int_t ngx_adm_return_wanted(ngx_http_request_t *r, ngx_uint_t ours,
    ngx_str_t *uri);

/*
 * The target with "return=<what the client wants>" added to its query,
 * allocated from r->pool.  Where that is not safe the target stays as it is.
 */
ngx_int_t ngx_adm_return_add(ngx_http_request_t *r, ngx_str_t *target,
    ngx_uint_t ours, ngx_str_t *location);

/*
 * The value of a Location: bytes that no URL has as they are, such as those of
 * a target that was decoded, are encoded; what is encoded already stays.
 * Allocated from r->pool if it has to be.
 */
ngx_int_t ngx_adm_return_encode(ngx_http_request_t *r, ngx_str_t *location);


#endif /* _NGX_ADM_HTTP_RETURN_H_INCLUDED_ */
