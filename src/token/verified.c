
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A cache of sets with a few ways each, by a hash of the end of the signature.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/rand.h>

#include "equal.h"
#include "jwt.h"
#include "verified.h"


#define NGX_ADM_VERIFIED_SETS   2048     /* a power of two */
#define NGX_ADM_VERIFIED_WAYS   4
#define NGX_ADM_VERIFIED_TOKEN  NGX_ADM_JWT_MAX
#define NGX_ADM_VERIFIED_TAIL   48       /* bytes, at least */
#define NGX_ADM_VERIFIED_HASHED 16       /* of these */

/* hashes, as many as entries: a token that comes again later is not known */
#define NGX_ADM_VERIFIED_ONCE                                                 \
    (NGX_ADM_VERIFIED_SETS * NGX_ADM_VERIFIED_WAYS)


typedef struct {
    ngx_adm_verifier_t    verifier;
    ngx_uint_t            ring;          /* its id: keys of an older
                                            configuration are gone */
    ngx_uint_t            version;       /* of its public keys: one may be
                                            gone with a set */
    ngx_str_t             token;
    size_t                size;          /* of the claims and their strings */

    /*
     * then follow the strings, copied together with the claims, and the token
     */
    ngx_adm_claims_t      claims;
} ngx_adm_verified_t;


/* ways of a set: the last used is the first, the last one is replaced */

typedef struct {
    uint32_t              hash;
    ngx_adm_verified_t   *entry;
} ngx_adm_verified_way_t;


static uint64_t ngx_adm_verified_hash(ngx_str_t *token);
static ngx_uint_t ngx_adm_verified_again(uint64_t hash);
static ngx_uint_t ngx_adm_verified_same(ngx_adm_verified_t *entry,
    ngx_adm_verifier_t *v, ngx_str_t *token);
static void ngx_adm_verified_first(ngx_adm_verified_way_t *set, ngx_uint_t n,
    ngx_adm_verified_way_t *way);


static uint64_t  ngx_adm_verified_seed;

static ngx_adm_verified_way_t
    ngx_adm_verified[NGX_ADM_VERIFIED_SETS] [NGX_ADM_VERIFIED_WAYS];


/*
 * Hashes of tokens that verified once.  In a crowd where each polls with a
 * ticket of its own, none comes again before its entry has been replaced.
 * Entries for all would cost more than they save, as their memory would be in
 * no cache of the processor.
 */
static uint32_t
    ngx_adm_verified_once[NGX_ADM_VERIFIED_ONCE];


/* where claims have strings, which are copied with them */

static size_t  ngx_adm_claims_offsets[] = {
    offsetof(ngx_adm_claims_t, sub),
    offsetof(ngx_adm_claims_t, uid),
    offsetof(ngx_adm_claims_t, vis),
    offsetof(ngx_adm_claims_t, beacon),
    offsetof(ngx_adm_claims_t, email),
    offsetof(ngx_adm_claims_t, role) };

#define NGX_ADM_CLAIMS_OFFSETS                                                \
    (sizeof(ngx_adm_claims_offsets) / sizeof(size_t))


ngx_int_t
ngx_adm_verified_init(ngx_cycle_t *cycle)
{
    if (RAND_bytes((u_char *) &ngx_adm_verified_seed,
                   sizeof(ngx_adm_verified_seed)) != 1)
    {
        ngx_log_error(NGX_LOG_ALERT, cycle->log, 0, "RAND_bytes() failed");
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_verified_find(ngx_adm_verifier_t *v, ngx_str_t *token, ngx_pool_t *pool,
    ngx_adm_claims_t **claims)
{
    uint64_t                 hash;
    ngx_str_t               *s;
    ngx_uint_t               n, i;
    ngx_adm_claims_t        *known, *copy;
    ngx_adm_verified_way_t  *set, way;

    if (token->len > NGX_ADM_VERIFIED_TOKEN
        || token->len < NGX_ADM_VERIFIED_TAIL)
    {
        return NGX_DECLINED;
    }

    hash = ngx_adm_verified_hash(token);
    set = ngx_adm_verified[(hash >> 32) & (NGX_ADM_VERIFIED_SETS - 1)];

    for (n = 0; n < NGX_ADM_VERIFIED_WAYS; n++) {
        way = set[n];

        if (way.entry && way.hash == (uint32_t) hash
            && ngx_adm_verified_same(way.entry, v, token))
        {
            break;
        }
    }

    if (n == NGX_ADM_VERIFIED_WAYS) {
        return NGX_DECLINED;
    }

    ngx_adm_verified_first(set, n, &way);

    known = &way.entry->claims;

    copy = ngx_palloc(pool, way.entry->size);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(copy, known, way.entry->size);

    for (i = 0; i < NGX_ADM_CLAIMS_OFFSETS; i++) {
        s = (ngx_str_t *) ((u_char *) copy + ngx_adm_claims_offsets[i]);

        if (s->len) {
            s->data = (u_char *) copy + (s->data - (u_char *) known);
        }
    }

    *claims = copy;

    return NGX_OK;
}


void
ngx_adm_verified_add(ngx_adm_verifier_t *v, ngx_str_t *token,
    ngx_adm_claims_t *claims, ngx_log_t *log)
{
    u_char                  *p;
    size_t                   size;
    uint64_t                 hash;
    ngx_uint_t               last;
    ngx_adm_verified_t      *entry;
    ngx_adm_verified_way_t  *set, way;

    if (token->len > NGX_ADM_VERIFIED_TOKEN
        || token->len < NGX_ADM_VERIFIED_TAIL)
    {
        return;
    }

    hash = ngx_adm_verified_hash(token);

    if (!ngx_adm_verified_again(hash)) {
        return;
    }

    size = ngx_adm_claims_strings(claims);

    entry = ngx_alloc(sizeof(ngx_adm_verified_t) + size + token->len, log);
    if (entry == NULL) {
        return;
    }

    p = (u_char *) entry + sizeof(ngx_adm_verified_t);

    ngx_adm_claims_copy(&entry->claims, p, claims);

    entry->size = sizeof(ngx_adm_claims_t) + size;
    entry->verifier = *v;
    entry->ring = v->keys->id;
    entry->version = v->keys->version;

    entry->token.len = token->len;
    entry->token.data = p + size;
    ngx_memcpy(entry->token.data, token->data, token->len);

    set = ngx_adm_verified[(hash >> 32) & (NGX_ADM_VERIFIED_SETS - 1)];

    last = NGX_ADM_VERIFIED_WAYS - 1;

    if (set[last].entry) {
        ngx_free(set[last].entry);
    }

    way.hash = (uint32_t) hash;
    way.entry = entry;

    ngx_adm_verified_first(set, last, &way);
}


/*
 * By the last 96 bits of the signature, which nobody can choose without the
 * key.  The seed keeps timing of the comparison of hashes from telling
 * anything.
 */

static uint64_t
ngx_adm_verified_hash(ngx_str_t *token)
{
    u_char    *p, *last;
    uint64_t   hash, word;

    last = token->data + token->len;
    hash = ngx_adm_verified_seed;

    for (p = last - NGX_ADM_VERIFIED_HASHED; p < last; p += sizeof(uint64_t)) {
        ngx_memcpy(&word, p, sizeof(uint64_t));

        hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 29;
    }

    return hash;
}


/* whether the token was seen before; from now on it was */

static ngx_uint_t
ngx_adm_verified_again(uint64_t hash)
{
    uint32_t  *once;

    once = &ngx_adm_verified_once[(hash >> 32) & (NGX_ADM_VERIFIED_ONCE - 1)];

    if (*once == (uint32_t) hash) {
        return 1;
    }

    *once = (uint32_t) hash;

    return 0;
}


/*
 * Names of claims are compared by address: the configuration keeps one copy
 * for all locations that share them.
 *
 * The end of a token is what can't be guessed, so it is compared in constant
 * time; whoever knows that gains nothing by timing the rest.
 */

static ngx_uint_t
ngx_adm_verified_same(ngx_adm_verified_t *entry, ngx_adm_verifier_t *v,
    ngx_str_t *token)
{
    size_t   rest;
    u_char  *known;

    known = entry->token.data;
    rest = token->len - NGX_ADM_VERIFIED_TAIL;

    return entry->ring == v->keys->id
           && entry->version == v->keys->version
           && entry->verifier.kind == v->kind
           && entry->verifier.algs == v->algs
           && entry->verifier.id.data == v->id.data
           && entry->verifier.email.data == v->email.data
           && entry->verifier.role.data == v->role.data
           && entry->verifier.type.data == v->type.data
           && entry->verifier.iss.data == v->iss.data
           && entry->verifier.aud.data == v->aud.data
           && entry->token.len == token->len
           && ngx_adm_equal(known + rest,
                            NGX_ADM_VERIFIED_TAIL,
                            token->data + rest,
                            NGX_ADM_VERIFIED_TAIL)
           && ngx_memcmp(known, token->data, rest) == 0;
}


/* puts a way in front of the n that were used later */

static void
ngx_adm_verified_first(ngx_adm_verified_way_t *set, ngx_uint_t n,
    ngx_adm_verified_way_t *way)
{
    for ( /* void */ ; n; n--) {
        set[n] = set[n - 1];
    }

    set[0] = *way;
}


size_t
ngx_adm_claims_strings(ngx_adm_claims_t *claims)
{
    size_t       len;
    ngx_str_t   *s;
    ngx_uint_t   i;

    len = 0;

    for (i = 0; i < NGX_ADM_CLAIMS_OFFSETS; i++) {
        s = (ngx_str_t *) ((u_char *) claims + ngx_adm_claims_offsets[i]);
        len += s->len;
    }

    return len;
}


void
ngx_adm_claims_copy(ngx_adm_claims_t *dst, u_char *strings,
    ngx_adm_claims_t *src)
{
    ngx_str_t   *s;
    ngx_uint_t   i;

    *dst = *src;

    for (i = 0; i < NGX_ADM_CLAIMS_OFFSETS; i++) {
        s = (ngx_str_t *) ((u_char *) dst + ngx_adm_claims_offsets[i]);

        if (s->len == 0) {
            continue;
        }

        ngx_memcpy(strings, s->data, s->len);
        s->data = strings;

        strings += s->len;
    }
}
