
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A permutation of 1 ... N that a seed chooses: a Feistel network over the
 * fewest bits that have room for N.  If its result is outside of 1 ... N it is
 * put in again until one inside comes. docs/draw.md says why it has these
 * rounds and bits.
 *
 * A round is an HMAC of 9 bytes: from states keyed before, two blocks of
 * SHA-256.  OpenSSL's own HMAC would copy more than it hashes.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/crypto.h>

#include "../base/text.h"
#include "alg.h"
#include "claims.h"
#include "draw.h"
#include "equal.h"


/* bits of a number, at least: with fewer there would have to be more rounds */
#define NGX_ADM_DRAW_BITS     6
#define NGX_ADM_DRAW_FEW      12
#define NGX_ADM_DRAW_ROUNDS   12
#define NGX_ADM_DRAW_MORE     24

#define NGX_ADM_DRAW_NUMBER   8          /* bytes of a number */
#define NGX_ADM_DRAW_LENGTH   2          /* of the length of a text */


static u_char *ngx_adm_draw_put_number(u_char *p, uint64_t n);
static u_char *ngx_adm_draw_put_text(u_char *p, u_char *text, size_t len);
static uint64_t ngx_adm_draw_network(ngx_adm_draw_t *draw, uint64_t x);
static uint64_t ngx_adm_draw_round(ngx_adm_draw_t *draw, ngx_uint_t round,
    uint64_t half);


#define ngx_adm_draw_mask(bits)  (((uint64_t) 1 << (bits)) - 1)


ngx_int_t
ngx_adm_draw_secret(ngx_adm_keyring_t *keys, ngx_str_t *event,
    int64_t activation, u_char *commitment, u_char *secret)
{
    u_char      *last, mac[NGX_ADM_MAC_MAX], own[NGX_ADM_DRAW_SIZE];
    u_char       text[NGX_ADM_DRAW_LENGTH + NGX_ADM_EVENT_MAX
                      + NGX_ADM_DRAW_NUMBER];
    ngx_int_t    rc;
    ngx_uint_t   i, n;

    if (event->len == 0 || event->len > NGX_ADM_EVENT_MAX || activation <= 0) {
        return NGX_DECLINED;
    }

    last = ngx_adm_draw_put_text(text, event->data, event->len);
    last = ngx_adm_draw_put_number(last, activation);

    /* the first key signs; older ones, after a rotation, are behind it */

    n = commitment ? keys->keys.nelts : ngx_min(keys->keys.nelts, 1);
    rc = NGX_DECLINED;

    for (i = 0; i < n && rc == NGX_DECLINED; i++) {

        if (ngx_adm_keyring_mac_by(keys, i, NGX_ADM_HS256, text, last - text,
                                   mac)
            != NGX_ADM_DRAW_SIZE)
        {
            rc = NGX_ERROR;
            break;
        }

        if (commitment) {
            ngx_adm_draw_commitment(mac, own);

            if (!ngx_adm_equal(own, NGX_ADM_DRAW_SIZE, commitment,
                               NGX_ADM_DRAW_SIZE))
            {
                continue;
            }
        }

        ngx_memcpy(secret, mac, NGX_ADM_DRAW_SIZE);
        rc = NGX_OK;
    }

    OPENSSL_cleanse(mac, sizeof(mac));

    return rc;
}


void
ngx_adm_draw_commitment(u_char *secret, u_char *commitment)
{
    (void) SHA256(secret, NGX_ADM_DRAW_SIZE, commitment);
}


ngx_uint_t
ngx_adm_draw_is_source(ngx_str_t *source)
{
    size_t  i;

    if (source->len == 0 || source->len > NGX_ADM_DRAW_SOURCE_MAX
        || source->data[0] == ' ' || source->data[source->len - 1] == ' ')
    {
        return 0;
    }

    for (i = 0; i < source->len; i++) {
        if (source->data[i] < ' ' || source->data[i] > '~') {
            return 0;
        }
    }

    return 1;
}


ngx_int_t
ngx_adm_draw_beacon(ngx_str_t *hex, u_char *beacon, size_t *len)
{
    if (hex->len < 2 * NGX_ADM_DRAW_BEACON_MIN
        || hex->len > 2 * NGX_ADM_DRAW_BEACON_MAX)
    {
        return NGX_DECLINED;
    }

    return ngx_adm_hex(beacon, hex, len);
}


ngx_int_t
ngx_adm_draw_seed(ngx_adm_draw_terms_t *terms, u_char *secret, u_char *seed)
{
    u_char  *p;
    u_char   text[sizeof(NGX_ADM_DRAW_ALGORITHM) - 1
                  + 4 * NGX_ADM_DRAW_LENGTH + NGX_ADM_DRAW_SIZE
                  + NGX_ADM_DRAW_SOURCE_MAX + NGX_ADM_DRAW_BEACON_MAX
                  + NGX_ADM_EVENT_MAX + 2 * NGX_ADM_DRAW_NUMBER];

    if (terms->event.len == 0 || terms->event.len > NGX_ADM_EVENT_MAX
        || terms->activation <= 0
        || terms->lots <= 0 || terms->lots > NGX_ADM_DRAW_LOTS_MAX)
    {
        return NGX_DECLINED;
    }

    if (terms->source.len || terms->beacon.len) {

        if (!ngx_adm_draw_is_source(&terms->source)
            || terms->beacon.len < NGX_ADM_DRAW_BEACON_MIN
            || terms->beacon.len > NGX_ADM_DRAW_BEACON_MAX)
        {
            return NGX_DECLINED;
        }
    }

    p = ngx_cpymem(text, NGX_ADM_DRAW_ALGORITHM,
                   sizeof(NGX_ADM_DRAW_ALGORITHM) - 1);

    p = ngx_adm_draw_put_text(p, secret, NGX_ADM_DRAW_SIZE);
    p = ngx_adm_draw_put_text(p, terms->source.data, terms->source.len);
    p = ngx_adm_draw_put_text(p, terms->beacon.data, terms->beacon.len);
    p = ngx_adm_draw_put_text(p, terms->event.data, terms->event.len);
    p = ngx_adm_draw_put_number(p, terms->activation);
    p = ngx_adm_draw_put_number(p, terms->lots);

    (void) SHA256(text, p - text, seed);

    OPENSSL_cleanse(text, sizeof(text));

    return NGX_OK;
}


ngx_int_t
ngx_adm_draw_init(ngx_adm_draw_t *draw, u_char *seed, int64_t lots)
{
    u_char      pad[SHA256_CBLOCK];
    ngx_uint_t  i, bits;

    if (lots <= 0 || lots > NGX_ADM_DRAW_LOTS_MAX) {
        return NGX_DECLINED;
    }

    bits = NGX_ADM_DRAW_BITS;

    while ((int64_t) 1 << bits < lots) {
        bits++;
    }

    draw->lots = lots;
    draw->left = bits / 2;
    draw->right = bits - draw->left;
    draw->rounds = bits < NGX_ADM_DRAW_FEW ? NGX_ADM_DRAW_MORE
                                           : NGX_ADM_DRAW_ROUNDS;

    /* RFC 2104, for a key that is shorter than a block */

    ngx_memset(pad, 0x36, sizeof(pad));

    for (i = 0; i < NGX_ADM_DRAW_SIZE; i++) {
        pad[i] ^= seed[i];
    }

    SHA256_Init(&draw->inner);
    SHA256_Update(&draw->inner, pad, sizeof(pad));

    for (i = 0; i < sizeof(pad); i++) {
        pad[i] ^= 0x36 ^ 0x5c;
    }

    SHA256_Init(&draw->outer);
    SHA256_Update(&draw->outer, pad, sizeof(pad));

    return NGX_OK;
}


int64_t
ngx_adm_draw_position(ngx_adm_draw_t *draw, int64_t lot)
{
    uint64_t  x;

    if (lot <= 0 || lot > draw->lots) {
        return 0;
    }

    /* with one lot there is nothing to permute */

    if (draw->lots == 1) {
        return 1;
    }

    /* as the walk begins inside it leads back inside */

    x = lot - 1;

    do {
        x = ngx_adm_draw_network(draw, x);
    } while (x >= (uint64_t) draw->lots);

    return x + 1;
}


/* once through the network: a permutation of all numbers of so many bits */

static uint64_t
ngx_adm_draw_network(ngx_adm_draw_t *draw, uint64_t x)
{
    uint64_t    left, right;
    ngx_uint_t  i;

    left = x >> draw->right;
    right = x & ngx_adm_draw_mask(draw->right);

    for (i = 0; i < draw->rounds; i += 2) {

        left += ngx_adm_draw_round(draw, i, right);
        left &= ngx_adm_draw_mask(draw->left);

        right += ngx_adm_draw_round(draw, i + 1, left);
        right &= ngx_adm_draw_mask(draw->right);
    }

    return left << draw->right | right;
}


static uint64_t
ngx_adm_draw_round(ngx_adm_draw_t *draw, ngx_uint_t round, uint64_t half)
{
    u_char      text[1 + NGX_ADM_DRAW_NUMBER], mac[SHA256_DIGEST_LENGTH];
    uint64_t    n;
    ngx_uint_t  i;
    SHA256_CTX  sha;

    text[0] = (u_char) round;
    (void) ngx_adm_draw_put_number(text + 1, half);

    sha = draw->inner;
    SHA256_Update(&sha, text, sizeof(text));
    SHA256_Final(mac, &sha);

    sha = draw->outer;
    SHA256_Update(&sha, mac, sizeof(mac));
    SHA256_Final(mac, &sha);

    n = 0;

    for (i = 0; i < NGX_ADM_DRAW_NUMBER; i++) {
        n = n << 8 | mac[i];
    }

    return n;
}


/* numbers and lengths: most significant byte first */

static u_char *
ngx_adm_draw_put_number(u_char *p, uint64_t n)
{
    ngx_int_t  shift;

    for (shift = 56; shift >= 0; shift -= 8) {
        *p++ = (u_char) (n >> shift);
    }

    return p;
}


static u_char *
ngx_adm_draw_put_text(u_char *p, u_char *text, size_t len)
{
    *p++ = (u_char) (len >> 8);
    *p++ = (u_char) len;

    return len ? ngx_cpymem(p, text, len) : p;
}
