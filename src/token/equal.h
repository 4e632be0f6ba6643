
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Comparing secrets, which nobody is to guess byte by byte from how long it
 * takes.
 */


#ifndef _NGX_ADM_TOKEN_EQUAL_H_INCLUDED_
#define _NGX_ADM_TOKEN_EQUAL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/crypto.h>


/*
 * bytes of a block, which OpenSSL compares by words, and anything else by
 * bytes
 */
#define NGX_ADM_EQUAL_BLOCK  16


/*
 * Whether a and b are equal, in a time that depends on their lengths
 * alone.
 */
static ngx_inline ngx_uint_t
ngx_adm_equal(u_char *a, size_t alen, u_char *b, size_t blen)
{
    int  differ;

    if (alen != blen) {
        return 0;
    }

    differ = 0;

    while (alen > NGX_ADM_EQUAL_BLOCK) {
        differ |= CRYPTO_memcmp(a, b, NGX_ADM_EQUAL_BLOCK);

        a += NGX_ADM_EQUAL_BLOCK;
        b += NGX_ADM_EQUAL_BLOCK;
        alen -= NGX_ADM_EQUAL_BLOCK;
    }

    differ |= CRYPTO_memcmp(a, b, alen);

    return differ == 0;
}


#endif /* _NGX_ADM_TOKEN_EQUAL_H_INCLUDED_ */
