
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker's memory of tokens that verified, for claims.c alone.
 *
 * Bounded by a number of entries and by the length of a token worth
 * remembering.  Whoever holds many good tokens can push others' out, which
 * costs those a signature check and nothing else.
 */


#ifndef _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_
#define _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "claims.h"


/* as a worker starts; NGX_ERROR: no random numbers */
ngx_int_t ngx_adm_verified_init(ngx_cycle_t *cycle);

/* copies claims; their strings go to where there is room for them */
size_t ngx_adm_claims_strings(ngx_adm_claims_t *claims);
void ngx_adm_claims_copy(ngx_adm_claims_t *dst, u_char *strings,
    ngx_adm_claims_t *src);

/*
 * What the token was found to say under the same keys and settings, copied.
 * Its times are the caller's to check.  NGX_DECLINED: it is not remembered;
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_verified_find(ngx_adm_verifier_t *v, ngx_str_t *token,
    ngx_pool_t *pool, ngx_adm_claims_t **claims);

/*
 * Remembers a token that verified, and was not found, if there is memory and
 * it is not the first time: most tokens of a crowd come once in a long while.
 */
void ngx_adm_verified_add(ngx_adm_verifier_t *v, ngx_str_t *token,
    ngx_adm_claims_t *claims, ngx_log_t *log);


#endif /* _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_ */
