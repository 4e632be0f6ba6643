
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Secrets and the keyed HMAC states made of them.  Knows no request.
 *
 * A keyring is filled while the configuration is read and is read-only
 * after that, but for two things of the process that uses it, since each
 * worker has its own copy since fork(): the HMAC states, which are scratch
 * space, and the sets of public keys, which others change.
 */


#ifndef _NGX_ADM_TOKEN_KEY_H_INCLUDED_
#define _NGX_ADM_TOKEN_KEY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "keyset.h"


#define NGX_ADM_MAC_MAX     64          /* bytes of an HS512 */
#define NGX_ADM_SECRET_MIN  32          /* bytes, after decoding */


typedef struct ngx_adm_key_s  ngx_adm_key_t;


/* where public keys are from, and those at hand */
typedef struct {
    ngx_str_t                   name;     /* of the file, null-terminated, or of
                                             the location */
    unsigned                    pem:1;    /* else a JWK set */
    unsigned                    uri:1;    /* a location; else a file */
    unsigned                    refused:1;    /* what the file had last */
    ngx_adm_keyset_t           *set;      /* NULL: none yet */
    struct ngx_adm_keyring_s   *ring;     /* it is of */

    /* of a location: which one, for all workers of the host, where they have
       it, which set of theirs this is, and when it was last had from there */
    uint64_t                    id;
    ngx_uint_t                  entry;
    ngx_uint_t                  version;
    ngx_msec_t                  got;

    /* how the file was when it was last read, when it was last looked at */
    time_t                      mtime;
    off_t                       size;
    ngx_file_uniq_t             uniq;
    ngx_msec_t                  looked;
} ngx_adm_key_source_t;


typedef struct ngx_adm_keyring_s {
    ngx_array_t                 keys;     /* ngx_adm_key_t */
    ngx_array_t                 sources;  /* ngx_adm_key_source_t */
    ngx_uint_t                  older;    /* mask of algorithms of keys that
                                             verify alone */
    ngx_uint_t                  id;       /* no two keyrings of a process share
                                             it: tells remembered tokens of one
                                             from another's */
    ngx_uint_t                  version;  /* how often a set of its public keys
                                             was another one */
} ngx_adm_keyring_t;


/* NULL: no memory.  The keyring and its secrets are wiped with the pool */
ngx_adm_keyring_t *ngx_adm_keyring_create(ngx_pool_t *pool);

/*
 * Adds a decoded secret (copied).  The first one added signs, all verify.  With
 * algs, a mask, it verifies those alone and does not sign: what an older issuer
 * signed.  NGX_ERROR: no memory, or OpenSSL refused.
 */
ngx_int_t ngx_adm_keyring_add(ngx_pool_t *pool, ngx_adm_keyring_t *ring,
    ngx_str_t *secret, ngx_uint_t algs);

/* whether one of its secrets signs; and one of it, or a public key, verifies */
ngx_uint_t ngx_adm_keyring_signs(ngx_adm_keyring_t *ring);
#define ngx_adm_keyring_verifies(ring)                                        \
    ((ring)->keys.nelts || (ring)->sources.nelts)

/*
 * One with the same secrets and sources, which have no sets yet.  NULL: no
 * memory, or OpenSSL refused.
 */
ngx_adm_keyring_t *ngx_adm_keyring_copy(ngx_pool_t *pool,
    ngx_adm_keyring_t *ring);

/* a source of public keys, to be filled in; NULL: no memory */
ngx_adm_key_source_t *ngx_adm_keyring_source(ngx_adm_keyring_t *ring);

/* puts a set, or NULL, in the place of the one there was */
void ngx_adm_key_source_set(ngx_adm_key_source_t *source,
    ngx_adm_keyset_t *set);

/*
 * A keyring of as many keys, each HMAC-SHA256(secret, label): tickets,
 * visitors and places are signed with keys that can never be taken for
 * those of the tokens themselves.  NULL: no memory, or OpenSSL refused.
 */
ngx_adm_keyring_t *ngx_adm_keyring_derive(ngx_pool_t *pool,
    ngx_adm_keyring_t *ring, const char *label);

/*
 * The MAC of data under the key that signs, into out, which has room for
 * NGX_ADM_MAC_MAX.  Returns its length, 0 if OpenSSL failed.
 */
size_t ngx_adm_keyring_mac(ngx_adm_keyring_t *ring, ngx_uint_t alg,
    u_char *data, size_t len, u_char *out);

/* the same under the n-th of its ring->keys.nelts keys, which signs or not */
size_t ngx_adm_keyring_mac_by(ngx_adm_keyring_t *ring, ngx_uint_t n,
    ngx_uint_t alg, u_char *data, size_t len, u_char *out);

/*
 * Whether a signature is by one of the keys.  kid is what the token says of
 * its key (data NULL: nothing), of which secrets have none.  NGX_DECLINED: it
 * is by none of them; NGX_ABORT: no public key fits it, or a location may have
 * one that does.
 */
ngx_int_t ngx_adm_keyring_verify(ngx_adm_keyring_t *ring, ngx_uint_t alg,
    ngx_str_t *kid, ngx_str_t *data, ngx_str_t *signature);

/* whether data equals one of the secrets themselves, in constant time */
ngx_uint_t ngx_adm_keyring_is_secret(ngx_adm_keyring_t *ring, ngx_str_t *data);

/* whether two keyrings have a secret in common */
ngx_uint_t ngx_adm_keyring_overlap(ngx_adm_keyring_t *a, ngx_adm_keyring_t *b);


#endif /* _NGX_ADM_TOKEN_KEY_H_INCLUDED_ */
