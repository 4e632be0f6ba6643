
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Keys for other purposes are passed over (RFC 7517, 5).  Of keys for
 * signatures that are weak or wrong the log is told.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <jansson.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "../base/text.h"
#include "keyset.h"


#define NGX_ADM_KID_TOLD    128      /* bytes, in a log */


static ngx_uint_t ngx_adm_keyset_fits(ngx_adm_pubkey_t *key, ngx_str_t *kid,
    ngx_uint_t named);
static const char *ngx_adm_keyset_jwks(ngx_adm_keyset_t *set,
    ngx_str_t *text);
static const char *ngx_adm_keyset_pem(ngx_adm_keyset_t *set, ngx_str_t *text);
static const char *ngx_adm_keyset_block(ngx_adm_pubkey_t *key, char *name,
    const u_char *data, long len);
static const char *ngx_adm_keyset_pkey(ngx_adm_pubkey_t *key, EVP_PKEY *pkey);
static ngx_int_t ngx_adm_keyset_push(ngx_adm_keyset_t *set,
    ngx_adm_pubkey_t *key, ngx_str_t *kid);
static ngx_int_t ngx_adm_keyset_skip(ngx_adm_keyset_t *set, ngx_str_t *kid,
    const char *why);
static void ngx_adm_keyset_cleanup(void *data);


static uint64_t  ngx_adm_keyset_ids;


ngx_adm_keyset_t *
ngx_adm_keyset_create(ngx_str_t *text, ngx_uint_t pem, ngx_log_t *log,
    const char **why)
{
    ngx_pool_t          *pool;
    ngx_adm_keyset_t    *set;
    ngx_pool_cleanup_t  *cln;

    *why = NULL;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, log);
    if (pool == NULL) {
        return NULL;
    }

    cln = ngx_pool_cleanup_add(pool, sizeof(ngx_adm_keyset_t));
    if (cln == NULL) {
        goto failed;
    }

    set = cln->data;
    ngx_memzero(set, sizeof(ngx_adm_keyset_t));

    set->pool = pool;
    set->id = ++ngx_adm_keyset_ids;

    if (ngx_array_init(&set->keys, pool, 4, sizeof(ngx_adm_pubkey_t)) != NGX_OK)
    {
        goto failed;
    }

    cln->handler = ngx_adm_keyset_cleanup;

    set->text.len = text->len;
    set->text.data = ngx_pstrdup(pool, text);

    if (set->text.data == NULL) {
        goto failed;
    }

    *why = pem ? ngx_adm_keyset_pem(set, text)
               : ngx_adm_keyset_jwks(set, text);

    if (*why == NULL && set->keys.nelts == 0) {
        *why = set->skipped ? set->why
                            : "no key in it that verifies signatures of tokens";
    }

    if (*why == NULL) {
        return set;
    }

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


void
ngx_adm_keyset_destroy(ngx_adm_keyset_t *set)
{
    /* the log of the configuration by which the set was made may be gone */

    set->pool->log = ngx_cycle->log;

    ngx_destroy_pool(set->pool);
}


ngx_int_t
ngx_adm_keyset_verify(ngx_adm_keyset_t *set, ngx_uint_t alg, ngx_str_t *kid,
    ngx_uint_t named, ngx_str_t *data, ngx_str_t *signature, ngx_uint_t *tries)
{
    ngx_int_t          rc;
    ngx_uint_t         i;
    ngx_adm_pubkey_t  *keys;

    keys = set->keys.elts;
    rc = NGX_ABORT;

    for (i = 0; i < set->keys.nelts && *tries; i++) {

        if (!(keys[i].algs & ngx_adm_alg_bit(alg))
            || !ngx_adm_keyset_fits(&keys[i], kid, named))
        {
            continue;
        }

        (*tries)--;

        if (ngx_adm_pubkey_verify(&keys[i], alg, data, signature)) {
            return NGX_OK;
        }

        rc = NGX_DECLINED;
    }

    return rc;
}


static ngx_uint_t
ngx_adm_keyset_fits(ngx_adm_pubkey_t *key, ngx_str_t *kid, ngx_uint_t named)
{
    if (kid->data == NULL) {
        return 1;
    }

    if (!named) {
        return key->kid.data == NULL;
    }

    return key->kid.data && ngx_adm_str_same(&key->kid, kid);
}


static const char *
ngx_adm_keyset_jwks(ngx_adm_keyset_t *set, ngx_str_t *text)
{
    json_t            *root, *keys, *jwk;
    ngx_int_t          rc;
    ngx_str_t          kid;
    ngx_uint_t         i;
    const char        *why;
    json_error_t       error;
    ngx_adm_pubkey_t   key;

    root = json_loadb((char *) text->data, text->len, JSON_REJECT_DUPLICATES,
                      &error);
    if (root == NULL) {
        return "not JSON";
    }

    why = NULL;
    keys = json_object_get(root, "keys");

    if (!json_is_array(keys)) {
        why = "no JWK set: no array \"keys\" in it";
    }

    for (i = 0; why == NULL && i < json_array_size(keys); i++) {

        jwk = json_array_get(keys, i);

        ngx_adm_jwk_text(jwk, "kid", &kid);

        why = ngx_adm_jwk_read(jwk, &key);

        if (why == ngx_adm_jwk_other) {
            why = NULL;
            continue;
        }

        rc = why ? ngx_adm_keyset_skip(set, &kid, why)
                 : ngx_adm_keyset_push(set, &key, &kid);

        why = (rc == NGX_OK) ? NULL : "no memory";
    }

    json_decref(root);

    return why;
}


/* of a PEM file all blocks count, since somebody put them there */

static const char *
ngx_adm_keyset_pem(ngx_adm_keyset_t *set, ngx_str_t *text)
{
    BIO               *bio;
    long               len;
    char              *name, *header;
    u_char            *data;
    ngx_str_t          kid;
    const char        *why;
    ngx_adm_pubkey_t   key;

    bio = BIO_new_mem_buf(text->data, (int) text->len);
    if (bio == NULL) {
        return "no memory";
    }

    why = NULL;
    ngx_str_null(&kid);

    while (why == NULL && PEM_read_bio(bio, &name, &header, &data, &len)) {

        why = ngx_adm_keyset_block(&key, name, data, len);

        if (why == NULL && ngx_adm_keyset_push(set, &key, &kid) != NGX_OK) {
            why = "no memory";
        }

        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(data);
    }

    if (why == NULL
        && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    {
        why = "a block that is not PEM";
    }

    ERR_clear_error();
    BIO_free(bio);

    return why;
}


static const char *
ngx_adm_keyset_block(ngx_adm_pubkey_t *key, char *name, const u_char *data,
    long len)
{
    X509        *cert;
    EVP_PKEY    *pkey;
    const char  *why;

    if (ngx_strcmp(name, PEM_STRING_PUBLIC) == 0) {
        pkey = d2i_PUBKEY(NULL, &data, len);

    } else if (ngx_strcmp(name, PEM_STRING_RSA_PUBLIC) == 0) {
        pkey = d2i_PublicKey(EVP_PKEY_RSA, NULL, &data, len);

    } else if (ngx_strcmp(name, PEM_STRING_X509) == 0) {
        cert = d2i_X509(NULL, &data, len);
        pkey = cert ? X509_get_pubkey(cert) : NULL;
        X509_free(cert);

    } else if (ngx_strstr(name, "PRIVATE KEY")) {
        return "a private key, which belongs to who signs: "
               "the public one is needed";

    } else {
        return "neither a public key nor a certificate";
    }

    if (pkey == NULL) {
        return "not a key of its kind";
    }

    why = ngx_adm_keyset_pkey(key, pkey);

    EVP_PKEY_free(pkey);

    return why;
}


static const char *
ngx_adm_keyset_pkey(ngx_adm_pubkey_t *key, EVP_PKEY *pkey)
{
    int          len;
    u_char      *spki;
    const char  *why;

    spki = NULL;

    len = i2d_PUBKEY(pkey, &spki);
    if (len <= 0) {
        return "not a key of its kind";
    }

    why = ngx_adm_pubkey_read(key, spki, len);

    OPENSSL_free(spki);

    return why;
}


/* adds the key, which belongs to the set from then on */

static ngx_int_t
ngx_adm_keyset_push(ngx_adm_keyset_t *set, ngx_adm_pubkey_t *key,
    ngx_str_t *kid)
{
    ngx_adm_pubkey_t  *new;

    if (kid->data) {
        key->kid.len = kid->len;
        key->kid.data = ngx_pstrdup(set->pool, kid);
    }

    new = (kid->data && key->kid.data == NULL) ? NULL
                                               : ngx_array_push(&set->keys);
    if (new == NULL) {
        ngx_adm_pubkey_free(key);
        return NGX_ERROR;
    }

    *new = *key;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_keyset_skip(ngx_adm_keyset_t *set, ngx_str_t *kid, const char *why)
{
    size_t  i;

    if (set->skipped++) {
        return NGX_OK;
    }

    set->why = why;
    set->kid.data = (u_char *) "";

    /* for a line of the log */

    for (i = 0; i < kid->len; i++) {
        if (kid->data[i] < 0x20 || kid->data[i] > 0x7e || i == NGX_ADM_KID_TOLD)
        {
            return NGX_OK;
        }
    }

    if (kid->len == 0) {
        return NGX_OK;
    }

    set->kid.len = kid->len;
    set->kid.data = ngx_pstrdup(set->pool, kid);

    return set->kid.data ? NGX_OK : NGX_ERROR;
}


static void
ngx_adm_keyset_cleanup(void *data)
{
    ngx_adm_keyset_t *set = data;

    ngx_uint_t         i;
    ngx_adm_pubkey_t  *keys;

    keys = set->keys.elts;

    for (i = 0; i < set->keys.nelts; i++) {
        ngx_adm_pubkey_free(&keys[i]);
    }
}
