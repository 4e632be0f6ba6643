
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Public keys of those who sign users' tokens, and signatures by them (RFC
 * 7518, 3.3 to 3.5, and RFC 8037).  A key verifies what fits its type and
 * curve, and can not be made to verify an HMAC.
 */


#ifndef _NGX_ADM_TOKEN_PUBKEY_H_INCLUDED_
#define _NGX_ADM_TOKEN_PUBKEY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/evp.h>

#include "alg.h"


#define NGX_ADM_RSA_MIN        2048      /* bits */
#define NGX_ADM_RSA_MAX        8192
#define NGX_ADM_SIGNATURE_MAX  (NGX_ADM_RSA_MAX / 8)     /* bytes */


typedef struct {
    ngx_str_t            kid;        /* data NULL: none */
    ngx_uint_t           algs;       /* mask of what it verifies */
    EVP_PKEY            *pkey;

    /* scratch of this process, by algorithm, made when first needed */
    EVP_PKEY_CTX        *ctx[NGX_ADM_ALGS];
} ngx_adm_pubkey_t;


/*
 * Reads a SubjectPublicKeyInfo (RFC 5280) into key, with the algorithms for
 * which it is.  Returns NULL, and _free() has to follow; or what is wrong with
 * the key, a constant text.
 */
const char *ngx_adm_pubkey_read(ngx_adm_pubkey_t *key, const u_char *spki,
    size_t len);
void ngx_adm_pubkey_free(ngx_adm_pubkey_t *key);

/* whether a signature is by the key; alg is one of the key's */
ngx_uint_t ngx_adm_pubkey_verify(ngx_adm_pubkey_t *key, ngx_uint_t alg,
    ngx_str_t *data, ngx_str_t *signature);


#endif /* _NGX_ADM_TOKEN_PUBKEY_H_INCLUDED_ */
