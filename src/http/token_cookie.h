
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The cookies that give tokens to a browser (docs/api.md), and the signing of
 * what goes into them.  NGX_ERROR, of all of these: no memory, or no secret.
 */


#ifndef _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_
#define _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * The signed claims as a Set-Cookie of the answer, for max_age seconds; of
 * an event, if the kind's cookies are per event, clearing the oldest of a
 * fifth event.  *token, unless NULL, gets the token itself.
 */
ngx_int_t ngx_adm_token_issue(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_adm_claims_t *claims, time_t max_age, ngx_str_t *token);

/* a Set-Cookie, the same way, of a token that is there already */
ngx_int_t ngx_adm_token_cookie(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_str_t *token, time_t max_age);

/* a Set-Cookie that ends the cookie, under both its names */
ngx_int_t ngx_adm_token_clear(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event);


#endif /* _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_ */
