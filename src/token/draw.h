
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The mathematics of the draw, byte by byte as in docs/draw.md: from the
 * secret of an activation to the position of a lot.  Knows no request, no
 * Redis and no clock.
 *
 * Whoever has the secret before the draw knows the result, as far as no beacon
 * comes into it.  So the secret is for no log, no answer and no key of Redis
 * until the seed is told.
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
#define NGX_ADM_DRAW_BEACON_MIN  16      /* bytes, of two digits each */
#define NGX_ADM_DRAW_BEACON_MAX  64
#define NGX_ADM_DRAW_SOURCE_MAX  128     /* bytes */
#define NGX_ADM_DRAW_LOTS_MAX    ((int64_t) 1 << 40)


/* what makes a seed, with the secret */
typedef struct {
    ngx_str_t   event;       /* in lower case */
    int64_t     activation;  /* microseconds on the event's clock */
    int64_t     lots;        /* N */

    /* both empty: a draw without a beacon */
    ngx_str_t   source;      /* as named in advance */
    ngx_str_t   beacon;      /* value, in bytes */
} ngx_adm_draw_terms_t;


/* a draw that is made; may be copied, needs no cleanup */
typedef struct {
    int64_t     lots;
    ngx_uint_t  left;        /* bits of either half */
    ngx_uint_t  right;
    ngx_uint_t  rounds;
    SHA256_CTX  inner;       /* states of HMAC, keyed with the seed */
    SHA256_CTX  outer;
} ngx_adm_draw_t;


/*
 * The secret of an activation, by a keyring derived with the label. commitment
 * NULL: by the key that signs; else by the key that has made this commitment.
 * NGX_DECLINED: no key has; NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_draw_secret(ngx_adm_keyring_t *keys, ngx_str_t *event,
    int64_t activation, u_char *commitment, u_char *secret);

/* the commitment to a secret, which may be told before the draw */
void ngx_adm_draw_commitment(u_char *secret, u_char *commitment);

/* whether a text may name a source: printable ASCII, no blank at either end */
ngx_uint_t ngx_adm_draw_is_source(ngx_str_t *source);

/*
 * The bytes of a beacon, given in hexadecimal, in beacon, which has room for
 * NGX_ADM_DRAW_BEACON_MAX.  NGX_DECLINED: it is none.
 */
ngx_int_t ngx_adm_draw_beacon(ngx_str_t *hex, u_char *beacon, size_t *len);

/*
 * NGX_DECLINED: there can be no such event, number of lots or activation, or
 * only one of the beacon's source and value is given.
 */
ngx_int_t ngx_adm_draw_seed(ngx_adm_draw_terms_t *terms, u_char *secret,
    u_char *seed);

/*
 * prepares the working out of positions; NGX_DECLINED: no such number of lots
 */
ngx_int_t ngx_adm_draw_init(ngx_adm_draw_t *draw, u_char *seed, int64_t lots);

/* the position of a lot, each from 1 to lots; 0: there is no such lot */
int64_t ngx_adm_draw_position(ngx_adm_draw_t *draw, int64_t lot);


#endif /* _NGX_ADM_TOKEN_DRAW_H_INCLUDED_ */
