
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker's memory of tokens that verified; only for claims.c.
 *
 * There is a bound on the number of entries, and on the length of tokens worth
 * remembering.  Whoever has many good tokens can push out others', to whom
 * that costs a signature check and nothing else.
 */


#ifndef _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_
#define _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "claims.h"


/* to be called when a worker starts; NGX_ERROR: no random numbers */
ngx_int_t ngx_adm_verified_init(ngx_cycle_t *cycle);

/*
 * _strings(): how many bytes the strings of claims have; _copy(): copies
 * claims, and their strings to where there is room for that many
 */
size_t ngx_adm_claims_strings(ngx_adm_claims_t *claims);
void ngx_adm_claims_copy(ngx_adm_claims_t *dst, u_char *strings,
    ngx_adm_claims_t *src);

/*
 * Copies what the token was found to say, under the same keys and settings.
 * Its times are for the caller to check.  NGX_DECLINED: not remembered;
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_verified_find(ngx_adm_verifier_t *v, ngx_str_t *token,
    ngx_pool_t *pool, ngx_adm_claims_t **claims);

/*
 * Remembers a token that verified and was not found, if there is memory, and
 * from the second time on: most tokens of a crowd come once in a long while.
 */
void ngx_adm_verified_add(ngx_adm_verifier_t *v, ngx_str_t *token,
    ngx_adm_claims_t *claims, ngx_log_t *log);


#endif /* _NGX_ADM_TOKEN_VERIFIED_H_INCLUDED_ */
