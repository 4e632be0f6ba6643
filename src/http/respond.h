
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Answers that the module makes itself: JSON, redirects and their headers.
 */


#ifndef _NGX_ADM_HTTP_RESPOND_H_INCLUDED_
#define _NGX_ADM_HTTP_RESPOND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


/*
 * All of these return what a content handler returns: they send, and do not
 * finalize.  Every answer is "no-store", and carries CORS headers where
 * admission_cors says so.
 */

/* a JSON document; body is the caller's, of r->pool */
ngx_int_t ngx_adm_respond_json(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *body);

/* 200 with JSON that caches may keep for a minute */
ngx_int_t ngx_adm_respond_public(ngx_http_request_t *r, ngx_str_t *body);

/*
 * a document of another type, which is constant; out: all of it, of size bytes
 */
ngx_int_t ngx_adm_respond_text(ngx_http_request_t *r, const char *type,
    ngx_chain_t *out, off_t size);

/* an HTML page; body is the caller's, of r->pool */
ngx_int_t ngx_adm_respond_page(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *body);

/*
 * The header of an event stream.  NGX_OK: messages may follow, and have to be
 * flushed; otherwise what the content handler has to return.
 */
ngx_int_t ngx_adm_respond_events(ngx_http_request_t *r);

/*
 * {"error": text, "code": code, <more>}; more is ready JSON members, or
 * NULL, e.g. "\"redirectTo\":\"/queue/x\"".
 */
ngx_int_t ngx_adm_respond_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_str_t *more);

/* an error with redirectTo, where the client is to go; target empty: nowhere */
ngx_int_t ngx_adm_respond_sending(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_str_t *target);

/* 503 with retryAfter and Retry-After; the second has the code UNAVAILABLE */
ngx_int_t ngx_adm_respond_retry(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_uint_t retry_after);
ngx_int_t ngx_adm_respond_unavailable(ngx_http_request_t *r,
    ngx_uint_t retry_after);

/* 429 RATE_LIMITED with retryAfter and Retry-After */
ngx_int_t ngx_adm_respond_limited(ngx_http_request_t *r,
    ngx_uint_t retry_after);

/* 405 METHOD_NOT_ALLOWED; allow: text of the Allow header */
ngx_int_t ngx_adm_respond_method(ngx_http_request_t *r, const char *allow);

/* status 302 or 303; location: a path of this site */
ngx_int_t ngx_adm_respond_redirect(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *location);


/*
 * WWW-Authenticate, which RFC 9110 wants with every 401; browsers ask nobody
 * for a Bearer. ngx_adm_respond_error() sets it by itself.
 */
ngx_int_t ngx_adm_challenge(ngx_http_request_t *r);

/*
 * Sets Retry-After of the answer, which the header filter sets again in place
 * of that of a backend with the error_page.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_retry_after(ngx_http_request_t *r, ngx_uint_t seconds);

/* 204 to a preflight; methods: text of Access-Control-Allow-Methods */
ngx_int_t ngx_adm_respond_preflight(ngx_http_request_t *r, const char *methods);


#endif /* _NGX_ADM_HTTP_RESPOND_H_INCLUDED_ */
