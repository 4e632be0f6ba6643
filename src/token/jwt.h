
/*
 * Copyright (C) 2026 the admission module authors
 *
 * JWS compact serialization (RFC 7515) of JSON claims (RFC 7519), signed by
 * HMAC (RFC 7518, 3.2), verified by any key of the keyring.  Pure functions,
 * from bytes to bytes, which know no request, no clock and no kind of token.
 */


#ifndef _NGX_ADM_TOKEN_JWT_H_INCLUDED_
#define _NGX_ADM_TOKEN_JWT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "key.h"
#include "object.h"


#define NGX_ADM_JWT_MAX   4096           /* bytes of a token */

/* bytes of a decoded part of a token, at most */
#define NGX_ADM_JWT_PART                                                      \
    (NGX_ADM_JWT_MAX / 4 * 3 + 2)


/* bytes at most of a token whose payload has len */
#define ngx_adm_jwt_size(len)                                                 \
    (64 + ngx_base64_encoded_length(len) + 1                                  \
     + ngx_base64_encoded_length(NGX_ADM_MAC_MAX))


/*
 * Signs a JSON payload as HS256 with the ring's first key.  token->data is
 * the caller's, of ngx_adm_jwt_size(payload->len) bytes.
 * NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_jwt_sign(ngx_adm_keyring_t *ring, ngx_str_t *payload,
    ngx_str_t *token);

/*
 * Verifies form, header and signature; the payload must be a JSON object
 * without duplicate claims.  algs is a mask of algorithms.
 * Returns NULL and the payload, for the caller to free, or what was wrong
 * with the token, a constant text for a log.  buf is room for
 * NGX_ADM_JWT_PART bytes and has to live as long as the payload.
 */
const char *ngx_adm_jwt_verify(ngx_adm_keyring_t *ring, ngx_uint_t algs,
    ngx_str_t *token, u_char *buf, ngx_adm_object_t *payload);

/* the payload of a token, not verified; else as _verify() */
const char *ngx_adm_jwt_claims(ngx_str_t *token, u_char *buf,
    ngx_adm_object_t *payload);


#endif /* _NGX_ADM_TOKEN_JWT_H_INCLUDED_ */
