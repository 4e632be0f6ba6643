
/*
 * Copyright (C) 2026 the admission module authors
 *
 * SipHash-2-4, as its authors describe it (Aumasson and Bernstein, 2012).
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/rand.h>

#include "hash.h"


#define NGX_ADM_HASH_ROUNDS  2       /* a word */
#define NGX_ADM_HASH_FINAL   4


typedef struct {
    uint64_t                    v0;
    uint64_t                    v1;
    uint64_t                    v2;
    uint64_t                    v3;
} ngx_adm_hash_state_t;


#define ngx_adm_rotl(x, n)  (((x) << (n)) | ((x) >> (64 - (n))))


ngx_int_t
ngx_adm_hash_key(ngx_adm_hash_key_t *key)
{
    return RAND_bytes((u_char *) key, sizeof(ngx_adm_hash_key_t))
           == 1 ? NGX_OK : NGX_ERROR;
}


static ngx_inline void
ngx_adm_hash_rounds(ngx_adm_hash_state_t *s, ngx_uint_t n)
{
    while (n--) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = ngx_adm_rotl(s->v1, 13) ^ s->v0;
        s->v3 = ngx_adm_rotl(s->v3, 16) ^ s->v2;
        s->v0 = ngx_adm_rotl(s->v0, 32);

        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = ngx_adm_rotl(s->v1, 17) ^ s->v2;
        s->v3 = ngx_adm_rotl(s->v3, 21) ^ s->v0;
        s->v2 = ngx_adm_rotl(s->v2, 32);
    }
}


static ngx_inline void
ngx_adm_hash_word(ngx_adm_hash_state_t *s, uint64_t word)
{
    s->v3 ^= word;
    ngx_adm_hash_rounds(s, NGX_ADM_HASH_ROUNDS);
    s->v0 ^= word;
}


uint64_t
ngx_adm_hash(ngx_adm_hash_key_t *key, u_char *data, size_t len)
{
    u_char                *last, rest[sizeof(uint64_t)];
    uint64_t               word;
    ngx_adm_hash_state_t   s;

    s.v0 = key->k0 ^ 0x736f6d6570736575ULL;
    s.v1 = key->k1 ^ 0x646f72616e646f6dULL;
    s.v2 = key->k0 ^ 0x6c7967656e657261ULL;
    s.v3 = key->k1 ^ 0x7465646279746573ULL;

    last = data + (len & ~(size_t) 7);

    for ( /* void */ ; data < last; data += sizeof(uint64_t)) {
        ngx_memcpy(&word, data, sizeof(uint64_t));
        ngx_adm_hash_word(&s, word);
    }

    /* the rest, and the length: so no text goes on where another one ends */

    ngx_memzero(rest, sizeof(uint64_t));

    if (len & 7) {
        ngx_memcpy(rest, data, len & 7);
    }

    rest[7] = (u_char) len;

    ngx_memcpy(&word, rest, sizeof(uint64_t));
    ngx_adm_hash_word(&s, word);

    s.v2 ^= 0xff;
    ngx_adm_hash_rounds(&s, NGX_ADM_HASH_FINAL);

    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}


/*
 * A difference in a word moves to the lower half, and is multiplied by what
 * nobody knows: so no other word makes up for it whatever the key is.
 */

#define ngx_adm_hash_mix(hash, word, secret)                                  \
    (hash) = ((hash) ^ (word)) * 0x9e3779b97f4a7c15ULL;                       \
    (hash) = ((hash) ^ ((hash) >> 32)) * (secret)


uint32_t
ngx_adm_hash_quick(ngx_adm_hash_key_t *key, u_char *data, size_t len)
{
    uint64_t  hash, word, secret;

    hash = key->k0 ^ len;
    secret = key->k1 | 1;

    for ( /* void */ ; len > sizeof(uint64_t); len -= sizeof(uint64_t)) {
        ngx_memcpy(&word, data, sizeof(uint64_t));
        data += sizeof(uint64_t);

        ngx_adm_hash_mix(hash, word, secret);
    }

    word = 0;

    while (len--) {
        word = (word << 8) | data[len];
    }

    ngx_adm_hash_mix(hash, word, secret);

    return (uint32_t) (hash >> 32);
}
