
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The tokens that a request shows (docs/api.md: Cookies and headers): where
 * each kind is looked for, in which order, and what each token says.  A kind
 * is looked for once, and a token is verified once, as long as the request
 * stays in a location: the next location may have other cookies and secrets.
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
 * Whether the claims of a token will do.  NGX_DECLINED: no, and *why says so
 * in a constant text; NGX_ERROR: no memory.
 */
typedef ngx_int_t (*ngx_adm_credential_pt)(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);


/*
 * The first token of a kind that verifies and for which match says so (NULL:
 * any).  Order: the header, the cookies <name>-<event>, the cookies <name>, of
 * all Cookie lines. event NULL or empty: cookies of any event.
 *
 * NGX_OK: *claims, which are the request's, not to be written to, and live as
 * long as it does; their token is the text that was shown.  NGX_DECLINED:
 * there is none, *claims is NULL, and *why is a reason of base/reason.h: what
 * was wrong with the first, or that none was shown.  NGX_ERROR: no memory, or
 * match returned it.
 */
ngx_int_t ngx_adm_credentials_find(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_adm_credential_pt match, void *data,
    ngx_adm_claims_t **claims, const char **why);

/* has tokens that did not verify looked at again */
void ngx_adm_credentials_forget(ngx_adm_ctx_t *ctx, ngx_adm_token_e kind);

/* whether tokens of a kind are about an event, and have a cookie for each */
#define ngx_adm_credentials_of_event(kind)                                    \
    ((kind) != NGX_ADM_TOKEN_USER && (kind) != NGX_ADM_TOKEN_VISITOR)

/* whether the request shows a token whose end depends on Redis's time */
ngx_uint_t ngx_adm_credentials_end(ngx_http_request_t *r);

/*
 * Whether the client sent Authorization: Bearer; *token may be empty even so.
 * The one that ngx_adm_identity_set() made from a cookie is not the client's:
 * any page can have a cookie sent.
 */
ngx_uint_t ngx_adm_bearer(ngx_http_request_t *r, ngx_str_t *token);


#endif /* _NGX_ADM_HTTP_CREDENTIALS_H_INCLUDED_ */
