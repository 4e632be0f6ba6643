
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The tokens that a request shows (docs/api.md: Cookies and headers): where
 * each kind is looked for, in which order, and what each of them says.  A
 * request is searched for a kind once, and each token is verified once, as long
 * as the request stays in a location: the next one may have other cookies and
 * secrets.
 */


#ifndef _NGX_ADM_HTTP_CREDENTIALS_H_INCLUDED_
#define _NGX_ADM_HTTP_CREDENTIALS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"
#include "ctx.h"


#define NGX_ADM_CREDENTIALS  8       /* of a kind, at most */


/*
 * Whether the claims of a token will do.  NGX_DECLINED: no, *why says so in
 * a constant text; NGX_ERROR: no memory.
 */
typedef ngx_int_t (*ngx_adm_credential_pt)(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);


/*
 * The first token of a kind that verifies, and that match (NULL: any) lets
 * be.  They come in this order: the header, the cookies <name>-<event>, the
 * cookies <name>, of every Cookie line.  event NULL or empty: the cookies of
 * any event.
 *
 * NGX_OK: *claims, which are the request's and not to be written to, live as
 * long as it does; their token is the text shown.  NGX_DECLINED: none, *claims
 * is NULL, *why is what was wrong with the first, or that there is none, as
 * base/reason.h has it.  NGX_ERROR: no memory, or of match.
 */
ngx_int_t ngx_adm_credentials_find(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_adm_credential_pt match, void *data,
    ngx_adm_claims_t **claims, const char **why);

/* those that did not verify are to be looked at again */
void ngx_adm_credentials_forget(ngx_adm_ctx_t *ctx, ngx_adm_token_e kind);

/* whether a kind of token is of an event, and so are its cookies */
#define ngx_adm_credentials_of_event(kind)                                    \
    ((kind) != NGX_ADM_TOKEN_USER && (kind) != NGX_ADM_TOKEN_VISITOR)

/* whether the request shows any such, which ends by Redis's time */
ngx_uint_t ngx_adm_credentials_end(ngx_http_request_t *r);

/*
 * Whether the client sent Authorization: Bearer; *token may be empty all the
 * same.  One that identity_set() made of a cookie is not the client's: any
 * page can have a cookie sent.
 */
ngx_uint_t ngx_adm_bearer(ngx_http_request_t *r, ngx_str_t *token);


#endif /* _NGX_ADM_HTTP_CREDENTIALS_H_INCLUDED_ */
