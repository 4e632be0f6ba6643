
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A visitor is a browser or an app that nobody knows, told apart by what the
 * module signed for it.  A request may show several, such as a stale
 * cookie of a parent domain: all that verify are the request's.
 */


#ifndef _NGX_ADM_HTTP_VISITOR_H_INCLUDED_
#define _NGX_ADM_HTTP_VISITOR_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * The visitor that the request shows.  Of several (a cookie of this host and
 * one of its domain) it is the one that a token, place or ticket shown is
 * bound to, of the event rather than of others; else the one whose cookie has
 * the attributes of today; else the first.  The event is that of the call, or
 * else of the request.
 *
 * vis, exp, cookie and token of *visitor.  NGX_DECLINED: none, *why as of
 * credentials_find(); NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_visitor_find(ngx_http_request_t *r,
    ngx_adm_claims_t **visitor, const char **why);

/* a new one, with its cookie; NGX_ERROR: no memory, or no secret */
ngx_int_t ngx_adm_visitor_make(ngx_http_request_t *r,
    ngx_adm_claims_t **visitor);

/* the cookie of one that there is already; NGX_ERROR: no memory */
ngx_int_t ngx_adm_visitor_cookie(ngx_http_request_t *r,
    ngx_adm_claims_t *visitor);

/*
 * The same, if none that was shown of that visitor has the attributes that it
 * would get.
 */
ngx_int_t ngx_adm_visitor_refresh(ngx_http_request_t *r, ngx_str_t *vis);

/*
 * NGX_OK: vis is one of those shown, *visitor as of _find() unless it is
 * NULL; NGX_DECLINED; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_visitor_is(ngx_http_request_t *r, ngx_str_t *vis,
    ngx_adm_claims_t **visitor);


#endif /* _NGX_ADM_HTTP_VISITOR_H_INCLUDED_ */
