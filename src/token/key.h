
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Secrets and the keyed HMAC states made of them.  Knows no request.
 *
 * A keyring is filled while the configuration is read, and read-only from then
 * on but for two things of the process that uses it (each worker has its own
 * copy since fork()): HMAC states, which are scratch space, and the sets of
 * public keys, which are replaced.
 */


#ifndef _NGX_ADM_TOKEN_KEY_H_INCLUDED_
#define _NGX_ADM_TOKEN_KEY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "keyset.h"


#define NGX_ADM_MAC_MAX     64          /* bytes of an HS512 */
#define NGX_ADM_SECRET_MIN  32          /* bytes, after decoding */


typedef struct ngx_adm_key_s  ngx_adm_key_t;


/* a source of public keys, and those that it had last */
typedef struct {
    ngx_str_t                   name;     /* of the file, null-terminated, or of
                                             the location */
    unsigned                    pem:1;    /* else a JWK set */
    unsigned                    uri:1;    /* a location; else a file */
    unsigned                    refused:1;    /* the file's last text was of
                                                 no use */
    ngx_adm_keyset_t           *set;      /* NULL: none yet */
    struct ngx_adm_keyring_s   *ring;     /* that it belongs to */

    /*
     * of a location: its number, the same for all workers of the host; its
     * entry in the zone; which set of that entry this is, and when that was
     * last answered
     */
    uint64_t                    id;
    ngx_uint_t                  entry;
    ngx_uint_t                  version;
    ngx_msec_t                  got;

    /* the file when last read; when it was last looked at */
    time_t                      mtime;
    off_t                       size;
    ngx_file_uniq_t             uniq;
    ngx_msec_t                  looked;
} ngx_adm_key_source_t;


typedef struct ngx_adm_keyring_s {
    ngx_array_t                 keys;     /* ngx_adm_key_t */
    ngx_array_t                 sources;  /* ngx_adm_key_source_t */
    ngx_uint_t                  older;    /* mask of algorithms of keys that
                                             only verify */
    ngx_uint_t                  id;       /* another one for each keyring of
                                             a process, which keeps
                                             remembered tokens apart */
    ngx_uint_t                  version;  /* counts up whenever a set of
                                             public keys changes */
} ngx_adm_keyring_t;


/* NULL: no memory.  The keyring and its secrets are wiped with the pool. */
ngx_adm_keyring_t *ngx_adm_keyring_create(ngx_pool_t *pool);

/*
 * Adds a decoded secret (copied).  The first one signs, all verify.  With
 * algs, a mask, it only verifies these: for what an older issuer signed.
 * NGX_ERROR: no memory, or OpenSSL refused.
 */
ngx_int_t ngx_adm_keyring_add(ngx_pool_t *pool, ngx_adm_keyring_t *ring,
    ngx_str_t *secret, ngx_uint_t algs);

/*
 * whether a secret of the keyring signs; whether a secret or public key
 * verifies
 */
ngx_uint_t ngx_adm_keyring_signs(ngx_adm_keyring_t *ring);
#define ngx_adm_keyring_verifies(ring)                                        \
    ((ring)->keys.nelts || (ring)->sources.nelts)

/*
 * A keyring with the same secrets and sources, but no sets yet.  NULL: no
 * memory, or OpenSSL refused.
 */
ngx_adm_keyring_t *ngx_adm_keyring_copy(ngx_pool_t *pool,
    ngx_adm_keyring_t *ring);

/* adds a source of public keys, for the caller to fill in; NULL: no memory */
ngx_adm_key_source_t *ngx_adm_keyring_source(ngx_adm_keyring_t *ring);

/* replaces the set of a source; set may be NULL */
void ngx_adm_key_source_set(ngx_adm_key_source_t *source,
    ngx_adm_keyset_t *set);

/*
 * A keyring with as many keys, each HMAC-SHA256(secret, label).  Tickets,
 * visitors and places are signed with keys that can never be taken for those
 * of the tokens themselves.  NULL: no memory, or OpenSSL refused.
 */
ngx_adm_keyring_t *ngx_adm_keyring_derive(ngx_pool_t *pool,
    ngx_adm_keyring_t *ring, const char *label);

/*
 * The MAC of data under the key that signs, into out, which has room for
 * NGX_ADM_MAC_MAX.  Returns its length, 0 if OpenSSL failed.
 */
size_t ngx_adm_keyring_mac(ngx_adm_keyring_t *ring, ngx_uint_t alg,
    u_char *data, size_t len, u_char *out);

/* the same by the n-th of ring->keys.nelts keys, whether it signs or not */
size_t ngx_adm_keyring_mac_by(ngx_adm_keyring_t *ring, ngx_uint_t n,
    ngx_uint_t alg, u_char *data, size_t len, u_char *out);

/*
 * Whether a signature is by one of the keys. kid: what the token says of its
 * key (data NULL: nothing); secrets have none.  NGX_DECLINED: it is not;
 * NGX_ABORT: no public key is right for it, or a location may have one.
 */
ngx_int_t ngx_adm_keyring_verify(ngx_adm_keyring_t *ring, ngx_uint_t alg,
    ngx_str_t *kid, ngx_str_t *data, ngx_str_t *signature);

/* whether data equals one of the secrets themselves, in constant time */
ngx_uint_t ngx_adm_keyring_is_secret(ngx_adm_keyring_t *ring, ngx_str_t *data);

/* whether two keyrings have a secret in common */
ngx_uint_t ngx_adm_keyring_overlap(ngx_adm_keyring_t *a, ngx_adm_keyring_t *b);


#endif /* _NGX_ADM_TOKEN_KEY_H_INCLUDED_ */
