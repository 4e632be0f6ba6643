
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The cookies in which a browser gets tokens (docs/api.md), and the signing of
 * these.  All functions: NGX_ERROR: no memory, or no secret.
 */


#ifndef _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_
#define _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * Signs claims, and sets the token in a cookie for max_age seconds.  If
 * cookies of this kind are per event it is the event's, and the oldest of too
 * many is cleared. *token, unless NULL, is set to the token.
 */
ngx_int_t ngx_adm_token_issue(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_adm_claims_t *claims, time_t max_age, ngx_str_t *token);

/* sets such a cookie with a token that there is already */
ngx_int_t ngx_adm_token_cookie(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_str_t *token, time_t max_age);

/* ends the cookie, under both its names */
ngx_int_t ngx_adm_token_clear(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event);


#endif /* _NGX_ADM_HTTP_TOKEN_COOKIE_H_INCLUDED_ */
