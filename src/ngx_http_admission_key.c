
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

/* HMAC_CTX keeps its keyed state, which EVP_MAC of OpenSSL 3 copies anew */

#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "ngx_http_admission_key.h"


#define NGX_HTTP_ADMISSION_EQUAL_BLOCK  16


struct ngx_http_admission_key_s {
    ngx_str_t                   secret;
    HMAC_CTX                   *hmac[NGX_HTTP_ADMISSION_ALGS];
};


static HMAC_CTX *ngx_http_admission_key_hmac(ngx_http_admission_key_t *key,
    ngx_uint_t alg);
static void ngx_http_admission_keyring_cleanup(void *data);


static ngx_uint_t  ngx_http_admission_keyring_ids;


ngx_http_admission_keyring_t *
ngx_http_admission_keyring_create(ngx_pool_t *pool)
{
    ngx_pool_cleanup_t            *cln;
    ngx_http_admission_keyring_t  *ring;

    cln = ngx_pool_cleanup_add(pool, sizeof(ngx_http_admission_keyring_t));
    if (cln == NULL) {
        return NULL;
    }

    ring = cln->data;

    if (ngx_array_init(&ring->keys, pool, 2, sizeof(ngx_http_admission_key_t))
        != NGX_OK)
    {
        return NULL;
    }

    ring->id = ++ngx_http_admission_keyring_ids;

    cln->handler = ngx_http_admission_keyring_cleanup;

    return ring;
}


ngx_int_t
ngx_http_admission_keyring_add(ngx_pool_t *pool,
    ngx_http_admission_keyring_t *ring, ngx_str_t *secret)
{
    u_char                    *p;
    ngx_http_admission_key_t  *key;

    p = ngx_pnalloc(pool, secret->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    key = ngx_array_push(&ring->keys);
    if (key == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(key, sizeof(ngx_http_admission_key_t));

    ngx_memcpy(p, secret->data, secret->len);

    key->secret.len = secret->len;
    key->secret.data = p;

    /* what OpenSSL refuses is to be known while the configuration is read */

    if (ngx_http_admission_key_hmac(key, NGX_HTTP_ADMISSION_HS256) == NULL) {
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_http_admission_keyring_t *
ngx_http_admission_keyring_derive(ngx_pool_t *pool,
    ngx_http_admission_keyring_t *ring, const char *label)
{
    u_char                         mac[NGX_HTTP_ADMISSION_MAC_MAX];
    ngx_int_t                      rc;
    ngx_str_t                      secret;
    ngx_uint_t                     i;
    ngx_http_admission_keyring_t  *derived;

    derived = ngx_http_admission_keyring_create(pool);
    if (derived == NULL) {
        return NULL;
    }

    for (i = 0; i < ring->keys.nelts; i++) {

        secret.data = mac;
        secret.len = ngx_http_admission_key_mac(ring, i,
                                                NGX_HTTP_ADMISSION_HS256,
                                                (u_char *) label,
                                                ngx_strlen(label), mac);
        if (secret.len == 0) {
            return NULL;
        }

        rc = ngx_http_admission_keyring_add(pool, derived, &secret);

        OPENSSL_cleanse(mac, sizeof(mac));

        if (rc != NGX_OK) {
            return NULL;
        }
    }

    return derived;
}


size_t
ngx_http_admission_key_mac(ngx_http_admission_keyring_t *ring, ngx_uint_t n,
    ngx_uint_t alg, u_char *data, size_t len, u_char *out)
{
    HMAC_CTX                  *hmac;
    unsigned int               size;
    ngx_http_admission_key_t  *keys;

    keys = ring->keys.elts;

    hmac = ngx_http_admission_key_hmac(&keys[n], alg);
    if (hmac == NULL) {
        return 0;
    }

    /* neither a key nor a digest: starts over with those it has */

    if (HMAC_Init_ex(hmac, NULL, 0, NULL, NULL) == 0
        || HMAC_Update(hmac, data, len) == 0
        || HMAC_Final(hmac, out, &size) == 0)
    {
        return 0;
    }

    return size;
}


/* of one block of this size OpenSSL takes words, of all else single bytes */

ngx_uint_t
ngx_http_admission_equal(u_char *a, size_t alen, u_char *b, size_t blen)
{
    int  differ;

    if (alen != blen) {
        return 0;
    }

    differ = 0;

    while (alen > NGX_HTTP_ADMISSION_EQUAL_BLOCK) {
        differ |= CRYPTO_memcmp(a, b, NGX_HTTP_ADMISSION_EQUAL_BLOCK);

        a += NGX_HTTP_ADMISSION_EQUAL_BLOCK;
        b += NGX_HTTP_ADMISSION_EQUAL_BLOCK;
        alen -= NGX_HTTP_ADMISSION_EQUAL_BLOCK;
    }

    differ |= CRYPTO_memcmp(a, b, alen);

    return differ == 0;
}


ngx_uint_t
ngx_http_admission_keyring_is_secret(ngx_http_admission_keyring_t *ring,
    ngx_str_t *data)
{
    ngx_uint_t                 i, found;
    ngx_http_admission_key_t  *keys;

    keys = ring->keys.elts;
    found = 0;

    /* not left early: which one it was stays untold */

    for (i = 0; i < ring->keys.nelts; i++) {
        found |= ngx_http_admission_equal(keys[i].secret.data,
                                          keys[i].secret.len,
                                          data->data, data->len);
    }

    return found;
}


ngx_uint_t
ngx_http_admission_keyring_overlap(ngx_http_admission_keyring_t *a,
    ngx_http_admission_keyring_t *b)
{
    ngx_uint_t                 i;
    ngx_http_admission_key_t  *keys;

    keys = a->keys.elts;

    for (i = 0; i < a->keys.nelts; i++) {
        if (ngx_http_admission_keyring_is_secret(b, &keys[i].secret)) {
            return 1;
        }
    }

    return 0;
}


/* the keyed state of an algorithm, made when it is first asked for */

static HMAC_CTX *
ngx_http_admission_key_hmac(ngx_http_admission_key_t *key, ngx_uint_t alg)
{
    HMAC_CTX      *hmac;
    const EVP_MD  *md;

    if (key->hmac[alg]) {
        return key->hmac[alg];
    }

    switch (alg) {

    case NGX_HTTP_ADMISSION_HS384:
        md = EVP_sha384();
        break;

    case NGX_HTTP_ADMISSION_HS512:
        md = EVP_sha512();
        break;

    default:
        md = EVP_sha256();
        break;
    }

    hmac = HMAC_CTX_new();
    if (hmac == NULL) {
        return NULL;
    }

    if (HMAC_Init_ex(hmac, key->secret.data, (int) key->secret.len, md, NULL)
        == 0)
    {
        HMAC_CTX_free(hmac);
        return NULL;
    }

    key->hmac[alg] = hmac;

    return hmac;
}


static void
ngx_http_admission_keyring_cleanup(void *data)
{
    ngx_http_admission_keyring_t *ring = data;

    ngx_uint_t                 i, n;
    ngx_http_admission_key_t  *keys;

    keys = ring->keys.elts;

    for (i = 0; i < ring->keys.nelts; i++) {
        OPENSSL_cleanse(keys[i].secret.data, keys[i].secret.len);

        for (n = 0; n < NGX_HTTP_ADMISSION_ALGS; n++) {
            HMAC_CTX_free(keys[i].hmac[n]);
        }
    }
}
