
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker's memory of tokens that verified, for claims.c alone; its
 * set-up is declared in ngx_http_admission_claims.h.
 *
 * Bounded by a number of entries and by the length of a token worth
 * remembering.  Whoever holds many good tokens can push others' out, which
 * costs those a signature check and nothing else.
 */


#ifndef _NGX_HTTP_ADMISSION_VERIFIED_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_VERIFIED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_claims.h"


/* copies claims; their strings go to where there is room for them */
size_t ngx_http_admission_claims_strings(ngx_http_admission_claims_t *claims);
void ngx_http_admission_claims_copy(ngx_http_admission_claims_t *dst,
    u_char *strings, ngx_http_admission_claims_t *src);

/*
 * What the token was found to say under the same keys and settings, NULL
 * if not remembered.  Its times are the caller's to check; it lives until
 * the next _add().
 */
ngx_http_admission_claims_t *ngx_http_admission_verified_find(
    ngx_http_admission_verifier_t *v, ngx_str_t *token);

/* a copy of claims that were found; NULL: no memory */
ngx_http_admission_claims_t *ngx_http_admission_verified_copy(
    ngx_http_admission_claims_t *claims, ngx_pool_t *pool);

/*
 * Remembers a token that verified, and was not found, if there is memory and
 * it is not the first time: most tokens of a crowd come once in a long while.
 */
void ngx_http_admission_verified_add(ngx_http_admission_verifier_t *v,
    ngx_str_t *token, ngx_http_admission_claims_t *claims, ngx_log_t *log);


#endif /* _NGX_HTTP_ADMISSION_VERIFIED_H_INCLUDED_ */
