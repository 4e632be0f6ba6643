
/*
 * Copyright (C) 2026 the admission module authors
 *
 * SipHash-2-4: a hash of what clients choose.  Without its key nobody finds
 * two texts with the same one, and it takes a tenth of the time of SHA-1.
 */


#ifndef _NGX_ADM_BASE_HASH_H_INCLUDED_
#define _NGX_ADM_BASE_HASH_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef struct {
    uint64_t                    k0;
    uint64_t                    k1;
} ngx_adm_hash_key_t;


/* a random key; NGX_ERROR: OpenSSL has no random numbers */
ngx_int_t ngx_adm_hash_key(ngx_adm_hash_key_t *key);

/* the same on one host alone: it goes by the order of the host's bytes */
uint64_t ngx_adm_hash(ngx_adm_hash_key_t *key, u_char *data, size_t len);


/*
 * A few instructions, for what nobody gains much by: without the key nobody
 * knows two texts with the same one, but it is no SipHash.
 */
uint32_t ngx_adm_hash_quick(ngx_adm_hash_key_t *key, u_char *data,
    size_t len);


#endif /* _NGX_ADM_BASE_HASH_H_INCLUDED_ */
