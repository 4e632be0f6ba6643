
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A JWK becomes a SubjectPublicKeyInfo, which pubkey.c reads.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/asn1.h>

#include "../base/text.h"
#include "jwk.h"


#define NGX_ADM_RSA_BYTES   (NGX_ADM_RSA_MAX / 8 + 1)

/* bytes of a number in a JWK */
#define NGX_ADM_MEMBER      (NGX_ADM_RSA_BYTES + 4)

/* a SubjectPublicKeyInfo of RSA: two numbers, and what is around them */
#define NGX_ADM_SPKI_MAX    (2 * NGX_ADM_MEMBER + 64)


/* how the SubjectPublicKeyInfo of keys of one curve begins */

typedef struct {
    ngx_str_t                   crv;
    ngx_str_t                   begin;
    size_t                      size;        /* of a coordinate */
} ngx_adm_curve_t;


static ngx_uint_t ngx_adm_jwk_for_signatures(json_t *jwk);
static const char *ngx_adm_jwk_rsa(json_t *jwk, ngx_adm_pubkey_t *key);
static u_char *ngx_adm_der_header(u_char *p, u_char *end, u_char tag);
static u_char *ngx_adm_der_number(u_char *p, u_char *number, size_t len);
static const char *ngx_adm_jwk_curve(json_t *jwk, ngx_adm_curve_t *curve,
    ngx_uint_t coordinates, ngx_adm_pubkey_t *key);
static ngx_int_t ngx_adm_jwk_bytes(json_t *jwk, const char *name, u_char *buf,
    size_t *len);


const char  ngx_adm_jwk_other[] = "not for signatures of tokens";


static ngx_adm_curve_t  ngx_adm_curves_ec[] = {

    { ngx_string("P-256"),
      ngx_string("\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08"
                 "\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\0\x04"),
      32 },

    { ngx_string("P-384"),
      ngx_string("\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05"
                 "\x2b\x81\x04\0\x22\x03\x62\0\x04"),
      48 },

    { ngx_null_string, ngx_null_string, 0 }
};


static ngx_adm_curve_t  ngx_adm_curves_okp[] = {

    { ngx_string("Ed25519"),
      ngx_string("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\0"),
      32 },

    { ngx_null_string, ngx_null_string, 0 }
};


const char *
ngx_adm_jwk_read(json_t *jwk, ngx_adm_pubkey_t *key)
{
    ngx_int_t    rc;
    ngx_str_t    kty, name, kid;
    ngx_uint_t   alg;
    const char  *why;

    if (!json_is_object(jwk)) {
        return "not an object";
    }

    if (!ngx_adm_jwk_for_signatures(jwk)) {
        return ngx_adm_jwk_other;
    }

    ngx_adm_jwk_text(jwk, "alg", &name);

    alg = 0;
    rc = NGX_OK;

    if (name.data) {
        rc = ngx_adm_alg(&name, &alg);
    }

    if (rc != NGX_OK || (name.data == NULL && json_object_get(jwk, "alg"))) {
        return ngx_adm_jwk_other;
    }

    ngx_adm_jwk_text(jwk, "kty", &kty);

    if (kty.data == NULL) {
        return "no \"kty\"";
    }

    if (json_object_get(jwk, "d")) {
        return "a private key";
    }

    if (ngx_adm_str_is(&kty, "RSA")) {
        why = ngx_adm_jwk_rsa(jwk, key);

    } else if (ngx_adm_str_is(&kty, "EC")) {
        why = ngx_adm_jwk_curve(jwk, ngx_adm_curves_ec, 2, key);

    } else if (ngx_adm_str_is(&kty, "OKP")) {
        why = ngx_adm_jwk_curve(jwk, ngx_adm_curves_okp, 1, key);

    } else {
        return ngx_adm_jwk_other;
    }

    if (why) {
        return why;
    }

    ngx_adm_jwk_text(jwk, "kid", &kid);

    if (json_object_get(jwk, "kid")
        && (kid.data == NULL || kid.len > NGX_ADM_KID_MAX))
    {
        why = "\"kid\" is not a text of at most 256 bytes";

    } else if (name.data && !(key->algs & ngx_adm_alg_bit(alg))) {
        why = "\"alg\" does not fit the key";
    }

    if (why) {
        ngx_adm_pubkey_free(key);
        return why;
    }

    if (name.data) {
        key->algs = ngx_adm_alg_bit(alg);
    }

    return NULL;
}


static ngx_uint_t
ngx_adm_jwk_for_signatures(json_t *jwk)
{
    json_t       *use, *ops;
    size_t        i;
    const char   *op;

    use = json_object_get(jwk, "use");

    if (use && (!json_is_string(use)
                || ngx_strcmp(json_string_value(use), "sig") != 0))
    {
        return 0;
    }

    ops = json_object_get(jwk, "key_ops");

    if (ops == NULL) {
        return 1;
    }

    for (i = 0; i < json_array_size(ops); i++) {
        op = json_string_value(json_array_get(ops, i));

        if (op && ngx_strcmp(op, "verify") == 0) {
            return 1;
        }
    }

    return 0;
}


static const char *
ngx_adm_jwk_rsa(json_t *jwk, ngx_adm_pubkey_t *key)
{
    size_t   nlen, elen;
    u_char   n[NGX_ADM_MEMBER], e[NGX_ADM_MEMBER], spki[NGX_ADM_SPKI_MAX];
    u_char  *p, *end;

    static u_char  id[] = {
        0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
        0x01, 0x05, 0x00 };

    if (ngx_adm_jwk_bytes(jwk, "n", n, &nlen) != NGX_OK
        || ngx_adm_jwk_bytes(jwk, "e", e, &elen) != NGX_OK)
    {
        return "\"n\" or \"e\" missing or wrong";
    }

    /* written from its end, since a length comes before what it is of */

    end = spki + NGX_ADM_SPKI_MAX;

    p = ngx_adm_der_number(end, e, elen);
    p = ngx_adm_der_number(p, n, nlen);
    p = ngx_adm_der_header(p, end, V_ASN1_SEQUENCE|V_ASN1_CONSTRUCTED);

    *--p = 0;
    p = ngx_adm_der_header(p, end, V_ASN1_BIT_STRING);

    p -= sizeof(id);
    ngx_memcpy(p, id, sizeof(id));

    p = ngx_adm_der_header(p, end, V_ASN1_SEQUENCE|V_ASN1_CONSTRUCTED);

    return ngx_adm_pubkey_read(key, p, end - p);
}


/* puts tag and length before what is from p to end */

static u_char *
ngx_adm_der_header(u_char *p, u_char *end, u_char tag)
{
    size_t  len;

    len = end - p;

    *--p = (u_char) len;

    if (len > 0xff) {
        *--p = (u_char) (len >> 8);
        *--p = 0x82;

    } else if (len > 0x7f) {
        *--p = 0x81;
    }

    *--p = tag;

    return p;
}


/* puts a number before p */

static u_char *
ngx_adm_der_number(u_char *p, u_char *number, size_t len)
{
    u_char  *end;

    end = p;

    while (len > 1 && *number == 0) {
        number++;
        len--;
    }

    p -= len;
    ngx_memcpy(p, number, len);

    if (*p & 0x80) {
        *--p = 0;
    }

    return ngx_adm_der_header(p, end, V_ASN1_INTEGER);
}


static const char *
ngx_adm_jwk_curve(json_t *jwk, ngx_adm_curve_t *curve, ngx_uint_t coordinates,
    ngx_adm_pubkey_t *key)
{
    size_t       len;
    u_char       coordinate[NGX_ADM_MEMBER], spki[NGX_ADM_SPKI_MAX], *p;
    ngx_str_t    crv;
    ngx_uint_t   i;

    static const char  *names[] = { "x", "y" };

    ngx_adm_jwk_text(jwk, "crv", &crv);

    while (curve->size && !ngx_adm_str_same(&curve->crv, &crv)) {
        curve++;
    }

    if (curve->size == 0) {
        return ngx_adm_jwk_other;
    }

    p = ngx_cpymem(spki, curve->begin.data, curve->begin.len);

    for (i = 0; i < coordinates; i++) {

        if (ngx_adm_jwk_bytes(jwk, names[i], coordinate, &len) != NGX_OK
            || len != curve->size)
        {
            return "\"x\" or \"y\" missing or not of the curve's length";
        }

        p = ngx_cpymem(p, coordinate, len);
    }

    return ngx_adm_pubkey_read(key, spki, p - spki);
}


/* a member in base64url, of NGX_ADM_MEMBER bytes at most */

static ngx_int_t
ngx_adm_jwk_bytes(json_t *jwk, const char *name, u_char *buf, size_t *len)
{
    ngx_str_t  text;

    ngx_adm_jwk_text(jwk, name, &text);

    if (text.len == 0
        || text.len > ngx_base64_encoded_length(NGX_ADM_RSA_BYTES))
    {
        return NGX_DECLINED;
    }

    return ngx_adm_base64url(buf, &text, len);
}


void
ngx_adm_jwk_text(json_t *jwk, const char *name, ngx_str_t *text)
{
    json_t  *member;

    member = json_object_get(jwk, name);

    text->data = (u_char *) json_string_value(member);
    text->len = json_string_length(member);
}
