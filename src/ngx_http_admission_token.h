
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tokens in requests and answers: where they are looked for, which of
 * several counts, and the cookies that carry them (contract, 4).
 */


#ifndef _NGX_HTTP_ADMISSION_TOKEN_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_TOKEN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"


#define NGX_HTTP_ADMISSION_CANDIDATES     8    /* a kind and request */
#define NGX_HTTP_ADMISSION_EVENT_COOKIES  4    /* a kind and browser */


typedef struct {
    ngx_uint_t                  n;
    ngx_str_t                   value[NGX_HTTP_ADMISSION_CANDIDATES];
} ngx_http_admission_candidates_t;


/*
 * What the request shows of a kind: the header first, then the cookies
 * <name>-<event> and <name> of every Cookie line.  event may be empty: then
 * the cookies of any event.  Values point into the request.
 */
void ngx_http_admission_token_candidates(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event,
    ngx_http_admission_candidates_t *found);

/*
 * The first candidate of a kind that verifies and is for this event and
 * user (either may be empty: then any).  NGX_OK; NGX_DECLINED: none, *why is
 * what was wrong with the first, or that there is none, as
 * ngx_http_admission_reason.h has it; NGX_ERROR: no memory.
 *
 * Of entry tokens also NGX_AGAIN: whether *claims is one is to be asked from
 * Redis (see ngx_http_admission_revoked()), and NGX_BUSY: that was asked, and
 * there was no answer.
 */
ngx_int_t ngx_http_admission_token_find(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_claims_t **claims, const char **why);

/*
 * The signed claims as a Set-Cookie of the answer, for max_age seconds; of
 * an event, if the kind's cookies are per event, clearing the oldest of a
 * fifth event.  *token, unless NULL, gets the token itself.
 */
ngx_int_t ngx_http_admission_token_issue(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    time_t max_age, ngx_str_t *token);

/* a Set-Cookie, the same way, of a token that is there already */
ngx_int_t ngx_http_admission_token_cookie(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event, ngx_str_t *token,
    time_t max_age);

/* a Set-Cookie that ends the cookie, under both its names */
ngx_int_t ngx_http_admission_token_clear(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event);

/*
 * Whether the client sent Authorization: Bearer; *token may be empty all the
 * same.  One that identity_set() made of a cookie is not the client's: any
 * page can have a cookie sent.
 */
ngx_uint_t ngx_http_admission_token_bearer(ngx_http_request_t *r,
    ngx_str_t *token);

/* a header that the module looks for, NULL if not there */
ngx_table_elt_t *ngx_http_admission_header(ngx_http_request_t *r,
    const char *lowcase_name);


#endif /* _NGX_HTTP_ADMISSION_TOKEN_H_INCLUDED_ */
