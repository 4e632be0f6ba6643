
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A secret is hashed into HMAC states once, so that a token costs only its own
 * hash.
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

#include "effort.h"
#include "equal.h"
#include "key.h"


struct ngx_adm_key_s {
    ngx_str_t                   secret;
    ngx_uint_t                  algs;       /* mask of what it verifies; 0:
                                               any, and it signs */
    HMAC_CTX                   *hmac[NGX_ADM_MACS];
};


static size_t ngx_adm_key_mac(ngx_adm_key_t *key, ngx_uint_t alg, u_char *data,
    size_t len, u_char *out);
static ngx_adm_key_t *ngx_adm_keyring_signer(ngx_adm_keyring_t *ring);
static HMAC_CTX *ngx_adm_key_hmac(ngx_adm_key_t *key, ngx_uint_t alg);
static void ngx_adm_keyring_cleanup(void *data);


static ngx_uint_t  ngx_adm_keyring_ids;


ngx_adm_keyring_t *
ngx_adm_keyring_create(ngx_pool_t *pool)
{
    ngx_pool_cleanup_t  *cln;
    ngx_adm_keyring_t   *ring;

    cln = ngx_pool_cleanup_add(pool, sizeof(ngx_adm_keyring_t));
    if (cln == NULL) {
        return NULL;
    }

    ring = cln->data;

    if (ngx_array_init(&ring->keys, pool, 2, sizeof(ngx_adm_key_t)) != NGX_OK
        || ngx_array_init(&ring->sources, pool, 1,
                          sizeof(ngx_adm_key_source_t)) != NGX_OK)
    {
        return NULL;
    }

    ring->older = 0;
    ring->version = 0;
    ring->id = ++ngx_adm_keyring_ids;

    cln->handler = ngx_adm_keyring_cleanup;

    return ring;
}


ngx_int_t
ngx_adm_keyring_add(ngx_pool_t *pool, ngx_adm_keyring_t *ring,
    ngx_str_t *secret, ngx_uint_t algs)
{
    u_char         *p;
    ngx_adm_key_t  *key;

    p = ngx_pnalloc(pool, secret->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    key = ngx_array_push(&ring->keys);
    if (key == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(key, sizeof(ngx_adm_key_t));

    ngx_memcpy(p, secret->data, secret->len);

    key->secret.len = secret->len;
    key->secret.data = p;
    key->algs = algs;

    ring->older |= algs;

    /* what OpenSSL refuses has to be known while the configuration is read */

    return ngx_adm_key_hmac(key, NGX_ADM_HS256) ? NGX_OK : NGX_ERROR;
}


ngx_adm_keyring_t *
ngx_adm_keyring_derive(ngx_pool_t *pool, ngx_adm_keyring_t *ring,
    const char *label)
{
    u_char              mac[NGX_ADM_MAC_MAX];
    ngx_int_t           rc;
    ngx_str_t           secret;
    ngx_uint_t          i;
    ngx_adm_key_t      *keys;
    ngx_adm_keyring_t  *derived;

    derived = ngx_adm_keyring_create(pool);
    if (derived == NULL) {
        return NULL;
    }

    keys = ring->keys.elts;

    for (i = 0; i < ring->keys.nelts; i++) {

        if (keys[i].algs) {
            continue;
        }

        secret.data = mac;
        secret.len = ngx_adm_key_mac(&keys[i], NGX_ADM_HS256, (u_char *) label,
                                     ngx_strlen(label), mac);
        if (secret.len == 0) {
            return NULL;
        }

        rc = ngx_adm_keyring_add(pool, derived, &secret, 0);

        OPENSSL_cleanse(mac, sizeof(mac));

        if (rc != NGX_OK) {
            return NULL;
        }
    }

    return derived;
}


ngx_adm_keyring_t *
ngx_adm_keyring_copy(ngx_pool_t *pool, ngx_adm_keyring_t *ring)
{
    ngx_uint_t             i;
    ngx_adm_key_t         *keys;
    ngx_adm_keyring_t     *copy;
    ngx_adm_key_source_t  *sources, *source;

    copy = ngx_adm_keyring_create(pool);
    if (copy == NULL) {
        return NULL;
    }

    keys = ring->keys.elts;

    for (i = 0; i < ring->keys.nelts; i++) {

        if (ngx_adm_keyring_add(pool, copy, &keys[i].secret, keys[i].algs)
            != NGX_OK)
        {
            return NULL;
        }
    }

    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {

        source = ngx_adm_keyring_source(copy);
        if (source == NULL) {
            return NULL;
        }

        *source = sources[i];
        source->set = NULL;
        source->ring = copy;
    }

    return copy;
}


ngx_adm_key_source_t *
ngx_adm_keyring_source(ngx_adm_keyring_t *ring)
{
    ngx_adm_key_source_t  *source;

    source = ngx_array_push(&ring->sources);

    if (source) {
        ngx_memzero(source, sizeof(ngx_adm_key_source_t));
        source->ring = ring;
    }

    return source;
}


void
ngx_adm_key_source_set(ngx_adm_key_source_t *source, ngx_adm_keyset_t *set)
{
    if (source->set) {
        ngx_adm_keyset_destroy(source->set);
    }

    source->set = set;
    source->ring->version++;
}


ngx_uint_t
ngx_adm_keyring_signs(ngx_adm_keyring_t *ring)
{
    return ngx_adm_keyring_signer(ring) != NULL;
}


static ngx_adm_key_t *
ngx_adm_keyring_signer(ngx_adm_keyring_t *ring)
{
    ngx_uint_t      i;
    ngx_adm_key_t  *keys;

    keys = ring->keys.elts;

    for (i = 0; i < ring->keys.nelts; i++) {
        if (keys[i].algs == 0) {
            return &keys[i];
        }
    }

    return NULL;
}


size_t
ngx_adm_keyring_mac(ngx_adm_keyring_t *ring, ngx_uint_t alg, u_char *data,
    size_t len, u_char *out)
{
    ngx_adm_key_t  *key;

    key = ngx_adm_keyring_signer(ring);

    return key ? ngx_adm_key_mac(key, alg, data, len, out) : 0;
}


size_t
ngx_adm_keyring_mac_by(ngx_adm_keyring_t *ring, ngx_uint_t n, ngx_uint_t alg,
    u_char *data, size_t len, u_char *out)
{
    ngx_adm_key_t  *keys;

    if (n >= ring->keys.nelts) {
        return 0;
    }

    keys = ring->keys.elts;

    return ngx_adm_key_mac(&keys[n], alg, data, len, out);
}


ngx_int_t
ngx_adm_keyring_verify(ngx_adm_keyring_t *ring, ngx_uint_t alg, ngx_str_t *kid,
    ngx_str_t *data, ngx_str_t *signature)
{
    size_t                 size;
    u_char                 mac[NGX_ADM_MAC_MAX];
    ngx_int_t              rc, found;
    ngx_uint_t             i, uris, named, pass, tries;
    ngx_adm_key_t         *keys;
    ngx_adm_key_source_t  *sources;

    if (ngx_adm_alg_bit(alg) & NGX_ADM_MAC_ALGS) {

        keys = ring->keys.elts;

        for (i = 0; i < ring->keys.nelts; i++) {

            if (keys[i].algs ? !(keys[i].algs & ngx_adm_alg_bit(alg))
                             : (ring->older & ngx_adm_alg_bit(alg)) != 0)
            {
                continue;
            }

            size = ngx_adm_key_mac(&keys[i], alg, data->data, data->len, mac);

            if (size && ngx_adm_equal(mac, size, signature->data,
                                      signature->len))
            {
                return NGX_OK;
            }
        }

        return NGX_DECLINED;
    }

    if (!ngx_adm_effort_begin()) {
        return NGX_BUSY;
    }

    sources = ring->sources.elts;
    tries = NGX_ADM_KEYSET_TRIES;
    found = NGX_ABORT;
    named = 0;
    uris = 0;

    /* keys of that name in any set go before those without a name */

    for (pass = 0; pass < 2 && found == NGX_ABORT; pass++) {

        for (i = 0; i < ring->sources.nelts; i++) {

            uris |= sources[i].uri;

            if (sources[i].set == NULL) {
                continue;
            }

            rc = ngx_adm_keyset_verify(sources[i].set, alg, kid, pass == 0,
                                       data, signature, &tries);
            if (rc == NGX_OK) {
                return NGX_OK;
            }

            if (rc == NGX_DECLINED) {
                found = rc;
                named = (kid->data && pass == 0);
            }
        }
    }

    if (found == NGX_DECLINED) {
        ngx_adm_effort_wasted();
    }

    /* refused by no key of its name: there may be such a key yet */

    return (uris && !named) ? NGX_ABORT : found;
}


static size_t
ngx_adm_key_mac(ngx_adm_key_t *key, ngx_uint_t alg, u_char *data, size_t len,
    u_char *out)
{
    HMAC_CTX      *hmac;
    unsigned int   size;

    hmac = ngx_adm_key_hmac(key, alg);
    if (hmac == NULL) {
        return 0;
    }

    /* without key and digest it starts over with those it has */

    if (HMAC_Init_ex(hmac, NULL, 0, NULL, NULL) == 0
        || HMAC_Update(hmac, data, len) == 0
        || HMAC_Final(hmac, out, &size) == 0)
    {
        return 0;
    }

    return size;
}


ngx_uint_t
ngx_adm_keyring_is_secret(ngx_adm_keyring_t *ring, ngx_str_t *data)
{
    ngx_uint_t      i, found;
    ngx_adm_key_t  *keys;

    keys = ring->keys.elts;
    found = 0;

    /* goes through all, so that timing does not tell which it was */

    for (i = 0; i < ring->keys.nelts; i++) {
        found |= ngx_adm_equal(keys[i].secret.data, keys[i].secret.len,
                               data->data, data->len);
    }

    return found;
}


ngx_uint_t
ngx_adm_keyring_overlap(ngx_adm_keyring_t *a, ngx_adm_keyring_t *b)
{
    ngx_uint_t      i;
    ngx_adm_key_t  *keys;

    keys = a->keys.elts;

    for (i = 0; i < a->keys.nelts; i++) {
        if (ngx_adm_keyring_is_secret(b, &keys[i].secret)) {
            return 1;
        }
    }

    return 0;
}


/* the keyed state for an algorithm, made when first needed */

static HMAC_CTX *
ngx_adm_key_hmac(ngx_adm_key_t *key, ngx_uint_t alg)
{
    HMAC_CTX      *hmac;
    const EVP_MD  *md;

    if (key->hmac[alg]) {
        return key->hmac[alg];
    }

    md = alg == NGX_ADM_HS384 ? EVP_sha384()
         : alg == NGX_ADM_HS512 ? EVP_sha512() : EVP_sha256();

    hmac = HMAC_CTX_new();
    if (hmac == NULL) {
        return NULL;
    }

    if (HMAC_Init_ex(hmac, key->secret.data, (int) key->secret.len, md,
                     NULL) == 0)
    {
        HMAC_CTX_free(hmac);
        return NULL;
    }

    key->hmac[alg] = hmac;

    return hmac;
}


static void
ngx_adm_keyring_cleanup(void *data)
{
    ngx_adm_keyring_t *ring = data;

    ngx_uint_t             i, n;
    ngx_adm_key_t         *keys;
    ngx_adm_key_source_t  *sources;

    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {
        ngx_adm_key_source_set(&sources[i], NULL);
    }

    keys = ring->keys.elts;

    for (i = 0; i < ring->keys.nelts; i++) {
        OPENSSL_cleanse(keys[i].secret.data, keys[i].secret.len);

        for (n = 0; n < NGX_ADM_MACS; n++) {
            HMAC_CTX_free(keys[i].hmac[n]);
        }
    }
}
