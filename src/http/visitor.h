
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A visitor is a browser or an app that nobody knows, recognized by what the
 * module signed for it.  A request may show several, such as by a stale cookie
 * of a parent domain: all that verify are the request's.
 */


#ifndef _NGX_ADM_HTTP_VISITOR_H_INCLUDED_
#define _NGX_ADM_HTTP_VISITOR_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * The visitor that the request shows.  Of several (such as a cookie of this
 * host and one of its domain) it is the one to whom a token, place or ticket
 * is bound that is shown, rather of this event than of others; else one whose
 * cookie has the attributes of today; else the first.  The event is the
 * call's, or the request's.
 *
 * Of *visitor, vis, exp, cookie and token are set.  NGX_DECLINED: none, *why
 * as in ngx_adm_credentials_find(); NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_visitor_find(ngx_http_request_t *r,
    ngx_adm_claims_t **visitor, const char **why);

/* makes one, and sets its cookie; NGX_ERROR: no memory, or no secret */
ngx_int_t ngx_adm_visitor_make(ngx_http_request_t *r,
    ngx_adm_claims_t **visitor);

/* sets the cookie of a visitor; NGX_ERROR: no memory */
ngx_int_t ngx_adm_visitor_cookie(ngx_http_request_t *r,
    ngx_adm_claims_t *visitor);

/*
 * The same, unless that visitor was shown by a cookie that it would get today.
 */
ngx_int_t ngx_adm_visitor_refresh(ngx_http_request_t *r, ngx_str_t *vis);

/*
 * NGX_OK: vis is among the visitors shown, and *visitor is set as by _find(),
 * unless NULL; NGX_DECLINED: it is not; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_visitor_is(ngx_http_request_t *r, ngx_str_t *vis,
    ngx_adm_claims_t **visitor);


#endif /* _NGX_ADM_HTTP_VISITOR_H_INCLUDED_ */
