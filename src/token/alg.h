
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Algorithms of signatures, by the names that tokens, keys and directives have
 * for them (RFC 7518, 3.1, and RFC 8037), and as bits of a mask.
 */


#ifndef _NGX_ADM_TOKEN_ALG_H_INCLUDED_
#define _NGX_ADM_TOKEN_ALG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* numbers, in the order of ngx_adm_alg_names */

#define NGX_ADM_HS256       0
#define NGX_ADM_HS384       1
#define NGX_ADM_HS512       2
#define NGX_ADM_MACS        3

#define NGX_ADM_RS256       3
#define NGX_ADM_RS384       4
#define NGX_ADM_RS512       5
#define NGX_ADM_PS256       6
#define NGX_ADM_PS384       7
#define NGX_ADM_PS512       8
#define NGX_ADM_ES256       9
#define NGX_ADM_ES384       10
#define NGX_ADM_EDDSA       11
#define NGX_ADM_ALGS        12


#define ngx_adm_alg_bit(alg)  ((ngx_uint_t) 1 << (alg))

/* by a shared secret; by a pair of keys */
#define NGX_ADM_MAC_ALGS    (ngx_adm_alg_bit(NGX_ADM_MACS) - 1)
#define NGX_ADM_KEY_ALGS                                                      \
    ((ngx_adm_alg_bit(NGX_ADM_ALGS) - 1) & ~NGX_ADM_MAC_ALGS)


/* the names; ends with an empty one */
extern ngx_conf_enum_t  ngx_adm_algs[];

/* NGX_DECLINED: no algorithm has this name */
ngx_int_t ngx_adm_alg(ngx_str_t *name, ngx_uint_t *alg);


#endif /* _NGX_ADM_TOKEN_ALG_H_INCLUDED_ */
