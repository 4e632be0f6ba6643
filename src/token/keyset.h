
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sets of public keys, as identity services publish them (JWK sets, RFC 7517)
 * or operators keep them (PEM).  A set is made whole and replaced whole.
 */


#ifndef _NGX_ADM_TOKEN_KEYSET_H_INCLUDED_
#define _NGX_ADM_TOKEN_KEYSET_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "jwk.h"


#define NGX_ADM_KEYSET_MAX    1048576    /* bytes of its text */
#define NGX_ADM_KEYSET_TRIES  8          /* keys that may fit a token, at most:
                                            signatures that one costs */


typedef struct {
    ngx_array_t          keys;       /* ngx_adm_pubkey_t, at least one */
    uint64_t             id;         /* no two sets of a process share it, and
                                        a later one has a higher one */
    ngx_pool_t          *pool;       /* of its own */
    ngx_str_t            text;       /* that it was made of */

    /* keys that look as if they were to be used, and can not be */
    ngx_uint_t           skipped;
    ngx_str_t            kid;        /* of the first of them */
    const char          *why;        /* it can not */
} ngx_adm_keyset_t;


/*
 * A set of the keys in a text that verify signatures.  NULL: there is none, or
 * the text is none of a set; *why says so in a constant text, NULL: no memory.
 */
ngx_adm_keyset_t *ngx_adm_keyset_create(ngx_str_t *text, ngx_uint_t pem,
    ngx_log_t *log, const char **why);
void ngx_adm_keyset_destroy(ngx_adm_keyset_t *set);

/*
 * Whether a signature is by a key of the set.  With a kid (data NULL: none) it
 * is a key of that kid, or, if not named, one that has none: such as those of
 * PEM files, which may be anybody's.  *tries is how many signatures may be
 * checked yet.  NGX_DECLINED: by none that was tried; NGX_ABORT: there is no
 * key for it.
 */
ngx_int_t ngx_adm_keyset_verify(ngx_adm_keyset_t *set, ngx_uint_t alg,
    ngx_str_t *kid, ngx_uint_t named, ngx_str_t *data, ngx_str_t *signature,
    ngx_uint_t *tries);


#endif /* _NGX_ADM_TOKEN_KEYSET_H_INCLUDED_ */
