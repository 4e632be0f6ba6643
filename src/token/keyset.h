
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


#define NGX_ADM_KEYSET_MAX    1048576    /* bytes of text */
#define NGX_ADM_KEYSET_TRIES  8          /* most keys tried for a token,
                                            since each costs a signature */


typedef struct {
    ngx_array_t          keys;       /* ngx_adm_pubkey_t, at least one */
    uint64_t             id;         /* another one for each set of a
                                        process, higher for later ones */
    ngx_pool_t          *pool;       /* of its own */
    ngx_str_t            text;       /* from which it was made */

    /* keys that seem to be meant for use, and can't be used: */
    ngx_uint_t           skipped;
    ngx_str_t            kid;        /* the first one's, */
    const char          *why;        /* and what is wrong with it */
} ngx_adm_keyset_t;


/*
 * Makes a set of the keys in a text that verify signatures.  NULL: there is
 * none, or the text is no set; *why says so, a constant text, or is NULL: no
 * memory.
 */
ngx_adm_keyset_t *ngx_adm_keyset_create(ngx_str_t *text, ngx_uint_t pem,
    ngx_log_t *log, const char **why);
void ngx_adm_keyset_destroy(ngx_adm_keyset_t *set);

/*
 * Whether a signature is by a key of the set.  With a kid (data NULL: none) it
 * has to be a key of that kid or, unless named is set, one without a kid: such
 * as those of PEM files, which may be anybody's. *tries: how many signatures
 * may still be checked.  NGX_DECLINED: by none that was tried; NGX_ABORT: no
 * key is right for it.
 */
ngx_int_t ngx_adm_keyset_verify(ngx_adm_keyset_t *set, ngx_uint_t alg,
    ngx_str_t *kid, ngx_uint_t named, ngx_str_t *data, ngx_str_t *signature,
    ngx_uint_t *tries);


#endif /* _NGX_ADM_TOKEN_KEYSET_H_INCLUDED_ */
