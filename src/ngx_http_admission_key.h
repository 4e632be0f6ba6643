
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Secrets and the keyed HMAC states made of them.  Knows no request.
 *
 * A keyring is filled while the configuration is read and is read-only
 * after that, but for the HMAC states, which are scratch space of the
 * process that uses them: each worker has its own copy since fork().
 */


#ifndef _NGX_HTTP_ADMISSION_KEY_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_KEY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_HTTP_ADMISSION_HS256       0
#define NGX_HTTP_ADMISSION_HS384       1
#define NGX_HTTP_ADMISSION_HS512       2
#define NGX_HTTP_ADMISSION_ALGS        3

#define NGX_HTTP_ADMISSION_MAC_MAX     64          /* bytes of an HS512 */
#define NGX_HTTP_ADMISSION_SECRET_MIN  32          /* bytes, after decoding */


typedef struct ngx_http_admission_key_s  ngx_http_admission_key_t;


typedef struct {
    ngx_array_t                 keys;     /* ngx_http_admission_key_t */
    ngx_uint_t                  id;       /* no two keyrings of a process
                                             share it: tells remembered
                                             tokens of one from another's */
} ngx_http_admission_keyring_t;


/* NULL: no memory.  The keyring and its secrets are wiped with the pool */
ngx_http_admission_keyring_t *ngx_http_admission_keyring_create(
    ngx_pool_t *pool);

/*
 * Adds a decoded secret (copied).  The first one added signs, all verify.
 * NGX_ERROR: no memory, or OpenSSL refused.
 */
ngx_int_t ngx_http_admission_keyring_add(ngx_pool_t *pool,
    ngx_http_admission_keyring_t *ring, ngx_str_t *secret);

/*
 * A keyring of as many keys, each HMAC-SHA256(secret, label): tickets,
 * visitors and places are signed with keys that can never be taken for
 * those of the tokens themselves.  NULL: no memory, or OpenSSL refused.
 */
ngx_http_admission_keyring_t *ngx_http_admission_keyring_derive(
    ngx_pool_t *pool, ngx_http_admission_keyring_t *ring, const char *label);

/*
 * The MAC of data under key n (0 signs), into out, which has room for
 * NGX_HTTP_ADMISSION_MAC_MAX.  Returns its length, 0 if OpenSSL failed.
 */
size_t ngx_http_admission_key_mac(ngx_http_admission_keyring_t *ring,
    ngx_uint_t n, ngx_uint_t alg, u_char *data, size_t len, u_char *out);

/*
 * Whether a and b are equal, in a time that depends on their lengths
 * alone.
 */
ngx_uint_t ngx_http_admission_equal(u_char *a, size_t alen, u_char *b,
    size_t blen);

/* whether data equals one of the secrets themselves, in constant time */
ngx_uint_t ngx_http_admission_keyring_is_secret(
    ngx_http_admission_keyring_t *ring, ngx_str_t *data);

/* whether two keyrings have a secret in common */
ngx_uint_t ngx_http_admission_keyring_overlap(
    ngx_http_admission_keyring_t *a, ngx_http_admission_keyring_t *b);


#endif /* _NGX_HTTP_ADMISSION_KEY_H_INCLUDED_ */
