
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Visitors: browsers and apps that nobody knows, told apart by what the
 * module signed for them.  A request may show several, such as a stale
 * cookie of a parent domain: all that verify are the request's.
 */


#ifndef _NGX_HTTP_ADMISSION_VISITOR_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_VISITOR_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_claims.h"


/*
 * The first visitor that the request shows: vis, exp and token of *visitor.
 * NGX_DECLINED: none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_visitor_find(ngx_http_request_t *r,
    ngx_http_admission_claims_t **visitor);

/* a new one, with its cookie; NGX_ERROR: no memory, or no secret */
ngx_int_t ngx_http_admission_visitor_make(ngx_http_request_t *r,
    ngx_http_admission_claims_t **visitor);

/* the cookie of one that there is already; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_visitor_cookie(ngx_http_request_t *r,
    ngx_str_t *token, int64_t exp);

/*
 * NGX_OK: vis is one of those shown, *visitor as of _find() unless it is
 * NULL; NGX_DECLINED; NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_visitor_is(ngx_http_request_t *r,
    ngx_str_t *vis, ngx_http_admission_claims_t **visitor);


#endif /* _NGX_HTTP_ADMISSION_VISITOR_H_INCLUDED_ */
