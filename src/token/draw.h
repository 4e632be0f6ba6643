
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The mathematics of the draw, byte by byte as docs/draw.md has it: from the
 * secret of an activation to the position of a lot.  Knows no request, no
 * Redis and no clock.  Whoever holds a secret before the draw knows its result
 * as far as no beacon comes into it: it is for no log, no answer and no key of
 * Redis until the seed is there.
 */


#ifndef _NGX_ADM_TOKEN_DRAW_H_INCLUDED_
#define _NGX_ADM_TOKEN_DRAW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif

#include <openssl/sha.h>

#include "key.h"


#define NGX_ADM_DRAW_ALGORITHM   "admission-draw-v1"
#define NGX_ADM_DRAW_LABEL       "draw"  /* of keys derived from tier 1's */

#define NGX_ADM_DRAW_SIZE        32      /* of secret, commitment, seed */
#define NGX_ADM_DRAW_BEACON_MIN  16      /* bytes, two digits each */
#define NGX_ADM_DRAW_BEACON_MAX  64
#define NGX_ADM_DRAW_SOURCE_MAX  128     /* bytes */
#define NGX_ADM_DRAW_LOTS_MAX    ((int64_t) 1 << 40)


/* what a seed is made of, besides the secret */
typedef struct {
    ngx_str_t   event;       /* in lower case */
    int64_t     activation;  /* microseconds on the event's clock */
    int64_t     lots;        /* N */

    /* both empty: a draw without a beacon */
    ngx_str_t   source;      /* as it was named in advance */
    ngx_str_t   beacon;      /* its value, in bytes */
} ngx_adm_draw_terms_t;


/* a draw that is made; may be copied, and needs no cleanup */
typedef struct {
    int64_t     lots;
    ngx_uint_t  left;        /* bits of either half */
    ngx_uint_t  right;
    ngx_uint_t  rounds;
    SHA256_CTX  inner;       /* HMAC's states, keyed with the seed */
    SHA256_CTX  outer;
} ngx_adm_draw_t;


/*
 * The secret of an activation, by a keyring that was derived with the label.
 * commitment NULL: by the key that signs; else by the key that it is the
 * commitment of.  NGX_DECLINED: there is no such key; NGX_ERROR: OpenSSL
 * failed.
 */
ngx_int_t ngx_adm_draw_secret(ngx_adm_keyring_t *keys, ngx_str_t *event,
    int64_t activation, u_char *commitment, u_char *secret);

/* what is told of it before the draw */
void ngx_adm_draw_commitment(u_char *secret, u_char *commitment);

/* whether it names a source: printable ASCII, neither end a blank */
ngx_uint_t ngx_adm_draw_is_source(ngx_str_t *source);

/*
 * The bytes of a beacon that somebody posted in hexadecimal, into beacon,
 * which has room for NGX_ADM_DRAW_BEACON_MAX.  NGX_DECLINED: it is none.
 */
ngx_int_t ngx_adm_draw_beacon(ngx_str_t *hex, u_char *beacon, size_t *len);

/*
 * NGX_DECLINED: no such event, number of lots or activation, or a beacon whose
 * source or value is missing.
 */
ngx_int_t ngx_adm_draw_seed(ngx_adm_draw_terms_t *terms, u_char *secret,
    u_char *seed);

/* prepares what positions are worked out with; NGX_DECLINED: no such number */
ngx_int_t ngx_adm_draw_init(ngx_adm_draw_t *draw, u_char *seed, int64_t lots);

/* the position of a lot, either from 1 to lots; 0: there is no such lot */
int64_t ngx_adm_draw_position(ngx_adm_draw_t *draw, int64_t lot);


#endif /* _NGX_ADM_TOKEN_DRAW_H_INCLUDED_ */
