
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Return targets: where a browser goes after it has waited or signed in.
 */


#ifndef _NGX_ADM_HTTP_RETURN_H_INCLUDED_
#define _NGX_ADM_HTTP_RETURN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#define NGX_ADM_RETURN_MAX  2048         /* bytes, not encoded */


/*
 * Whether a return target stays on this site: is a path, not "//host" nor
 * "/\host", without control characters and backslashes, not too long.
 */
ngx_uint_t ngx_adm_return_is_safe(ngx_str_t *uri);

/*
 * Whether a text is an address that a denial may lead to.  NGX_OK: it begins
 * as a path or with "scheme://".  NGX_AGAIN: so far it may become either, or
 * is empty.  NGX_DECLINED: neither; a browser would take it as relative to the
 * page.
 */
ngx_int_t ngx_adm_return_address(ngx_str_t *text);

/*
 * The module's own name for it in addresses of the site, where "return" may be
 * the site's own argument; pages read both.
 */
#define NGX_ADM_RETURN  "admission_return"

/*
 * What the client wants, path and query, not yet known to be safe; may be
 * allocated from r->pool.  If the address says, under the module's own name,
 * what is wanted, it is that; ours: also under "return", as the address is of
 * a page on which people wait.  A site's own "return" stays part of the
 * address.
 */
ngx_int_t ngx_adm_return_wanted(ngx_http_request_t *r, ngx_uint_t ours,
    ngx_str_t *uri);

/*
 * The target with "return=<what the client wants>" added to its query, in
 * r->pool.  If that is not safe the target stays as it is.
 */
ngx_int_t ngx_adm_return_add(ngx_http_request_t *r, ngx_str_t *target,
    ngx_uint_t ours, ngx_str_t *location);

/*
 * The value of a Location.  Bytes that no URL has as they are, such as in a
 * decoded target, are encoded; what is encoded stays.  In r->pool if anything
 * changes.
 */
ngx_int_t ngx_adm_return_encode(ngx_http_request_t *r, ngx_str_t *location);


#endif /* _NGX_ADM_HTTP_RETURN_H_INCLUDED_ */
