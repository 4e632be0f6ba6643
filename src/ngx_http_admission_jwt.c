
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_jwt.h"
#include "ngx_http_admission_reason.h"


/* {"alg":"HS256","typ":"JWT"} in base64url, also what is signed here */
#define NGX_HTTP_ADMISSION_JWT_HEADER  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"


typedef struct {
    ngx_str_t                   header;
    ngx_str_t                   payload;
    ngx_str_t                   signature;
    ngx_str_t                   input;      /* header.payload */
} ngx_http_admission_jwt_t;


static const char *ngx_http_admission_jwt_split(ngx_str_t *token,
    ngx_http_admission_jwt_t *jwt);
static const char *ngx_http_admission_jwt_header(ngx_str_t *header,
    ngx_uint_t *alg);
static const char *ngx_http_admission_jwt_alg(
    ngx_http_admission_object_t *header, ngx_uint_t *alg);
static const char *ngx_http_admission_jwt_signature(
    ngx_http_admission_keyring_t *ring, ngx_uint_t alg,
    ngx_http_admission_jwt_t *jwt);
static const char *ngx_http_admission_jwt_object(ngx_str_t *part,
    u_char *buf, ngx_http_admission_object_t *object);
static ngx_int_t ngx_http_admission_base64url(u_char *dst, ngx_str_t *src,
    size_t *len);


static ngx_str_t  ngx_http_admission_jwt_algs[] = {
    ngx_string("HS256"),
    ngx_string("HS384"),
    ngx_string("HS512")
};


/* HS256 headers as libraries write them: no need to parse those */

static ngx_str_t  ngx_http_admission_jwt_usual[] = {
    ngx_string(NGX_HTTP_ADMISSION_JWT_HEADER),

    /* {"typ":"JWT","alg":"HS256"} */
    ngx_string("eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9"),

    /* {"alg":"HS256"} */
    ngx_string("eyJhbGciOiJIUzI1NiJ9")
};


ngx_int_t
ngx_http_admission_jwt_sign(ngx_http_admission_keyring_t *ring,
    ngx_str_t *payload, ngx_str_t *token)
{
    u_char      mac[NGX_HTTP_ADMISSION_MAC_MAX];
    ngx_str_t   src, dst;

    dst.data = ngx_cpymem(token->data, NGX_HTTP_ADMISSION_JWT_HEADER ".",
                          sizeof(NGX_HTTP_ADMISSION_JWT_HEADER ".") - 1);

    ngx_encode_base64url(&dst, payload);

    dst.data += dst.len;

    src.data = mac;
    src.len = ngx_http_admission_key_mac(ring, 0, NGX_HTTP_ADMISSION_HS256,
                                         token->data, dst.data - token->data,
                                         mac);
    if (src.len == 0) {
        return NGX_ERROR;
    }

    *dst.data++ = '.';

    ngx_encode_base64url(&dst, &src);

    token->len = dst.data + dst.len - token->data;

    return NGX_OK;
}


const char *
ngx_http_admission_jwt_verify(ngx_http_admission_keyring_t *ring,
    ngx_uint_t algs, ngx_str_t *token, u_char *buf,
    ngx_http_admission_object_t *payload)
{
    ngx_uint_t                 alg;
    const char                *why;
    ngx_http_admission_jwt_t   jwt;

    why = ngx_http_admission_jwt_split(token, &jwt);
    if (why) {
        return why;
    }

    alg = NGX_HTTP_ADMISSION_HS256;

    why = ngx_http_admission_jwt_header(&jwt.header, &alg);
    if (why) {
        return why;
    }

    if (!(algs & ((ngx_uint_t) 1 << alg))) {
        return ngx_http_admission_reason(ALG);
    }

    /* nothing of a payload is looked at before it is known whose it is */

    why = ngx_http_admission_jwt_signature(ring, alg, &jwt);
    if (why) {
        return why;
    }

    return ngx_http_admission_jwt_object(&jwt.payload, buf, payload);
}


static const char *
ngx_http_admission_jwt_split(ngx_str_t *token, ngx_http_admission_jwt_t *jwt)
{
    u_char  *p, *dot, *last;

    if (token->len > NGX_HTTP_ADMISSION_JWT_MAX) {
        return ngx_http_admission_reason(TOO_LONG);
    }

    p = token->data;
    last = p + token->len;

    dot = memchr(p, '.', last - p);
    if (dot == NULL) {
        return ngx_http_admission_reason(PARTS);
    }

    jwt->header.data = p;
    jwt->header.len = dot - p;

    p = dot + 1;

    dot = memchr(p, '.', last - p);
    if (dot == NULL) {
        return ngx_http_admission_reason(PARTS);
    }

    jwt->payload.data = p;
    jwt->payload.len = dot - p;

    jwt->input.data = token->data;
    jwt->input.len = dot - token->data;

    p = dot + 1;

    if (memchr(p, '.', last - p) != NULL) {
        return ngx_http_admission_reason(PARTS);
    }

    jwt->signature.data = p;
    jwt->signature.len = last - p;

    if (jwt->header.len == 0 || jwt->payload.len == 0
        || jwt->signature.len == 0)
    {
        return ngx_http_admission_reason(EMPTY_PART);
    }

    return NULL;
}


/* *alg is HS256, unless the header says otherwise */

static const char *
ngx_http_admission_jwt_header(ngx_str_t *header, ngx_uint_t *alg)
{
    u_char                        buf[NGX_HTTP_ADMISSION_JWT_PART];
    ngx_str_t                    *usual;
    ngx_uint_t                    i;
    const char                   *why;
    ngx_http_admission_object_t   object;

    usual = ngx_http_admission_jwt_usual;

    for (i = 0;
         i < sizeof(ngx_http_admission_jwt_usual) / sizeof(ngx_str_t);
         i++)
    {
        if (header->len == usual[i].len
            && ngx_memcmp(header->data, usual[i].data, header->len) == 0)
        {
            return NULL;
        }
    }

    if (ngx_http_admission_jwt_object(header, buf, &object) != NULL) {
        return ngx_http_admission_reason(HEADER);
    }

    why = ngx_http_admission_jwt_alg(&object, alg);

    ngx_http_admission_object_free(&object);

    return why;
}


static const char *
ngx_http_admission_jwt_alg(ngx_http_admission_object_t *header,
    ngx_uint_t *alg)
{
    ngx_str_t                   *algs;
    ngx_uint_t                   i;
    ngx_http_admission_value_t   value;

    static ngx_str_t  crit = ngx_string("crit");
    static ngx_str_t  typ = ngx_string("typ");
    static ngx_str_t  name = ngx_string("alg");

    /* lists what a reader has to understand: nothing is, here */

    ngx_http_admission_object_get(header, &crit, &value);

    if (value.type != NGX_HTTP_ADMISSION_VALUE_NONE) {
        return ngx_http_admission_reason(CRIT);
    }

    ngx_http_admission_object_get(header, &typ, &value);

    if (value.type != NGX_HTTP_ADMISSION_VALUE_NONE
        && value.type != NGX_HTTP_ADMISSION_VALUE_STRING)
    {
        return ngx_http_admission_reason(HEADER);
    }

    ngx_http_admission_object_get(header, &name, &value);

    if (value.type != NGX_HTTP_ADMISSION_VALUE_STRING) {
        return ngx_http_admission_reason(NO_ALG);
    }

    algs = ngx_http_admission_jwt_algs;

    for (i = 0; i < NGX_HTTP_ADMISSION_ALGS; i++) {
        if (value.string.len == algs[i].len
            && ngx_memcmp(value.string.data, algs[i].data, algs[i].len) == 0)
        {
            *alg = i;
            return NULL;
        }
    }

    return ngx_http_admission_reason(ALG);
}


static const char *
ngx_http_admission_jwt_signature(ngx_http_admission_keyring_t *ring,
    ngx_uint_t alg, ngx_http_admission_jwt_t *jwt)
{
    size_t      len, size;
    u_char      mac[NGX_HTTP_ADMISSION_MAC_MAX];
    u_char      signature[NGX_HTTP_ADMISSION_MAC_MAX + 2];
    ngx_uint_t  i;

    if (jwt->signature.len
        > ngx_base64_encoded_length(NGX_HTTP_ADMISSION_MAC_MAX))
    {
        return ngx_http_admission_reason(SIGNATURE);
    }

    if (ngx_http_admission_base64url(signature, &jwt->signature, &len)
        != NGX_OK)
    {
        return ngx_http_admission_reason(BASE64URL);
    }

    for (i = 0; i < ring->keys.nelts; i++) {

        size = ngx_http_admission_key_mac(ring, i, alg, jwt->input.data,
                                          jwt->input.len, mac);

        if (size && ngx_http_admission_equal(mac, size, signature, len)) {
            return NULL;
        }
    }

    return ngx_http_admission_reason(SIGNATURE);
}


static const char *
ngx_http_admission_jwt_object(ngx_str_t *part, u_char *buf,
    ngx_http_admission_object_t *object)
{
    size_t  len;

    if (ngx_http_admission_base64url(buf, part, &len) != NGX_OK) {
        return ngx_http_admission_reason(BASE64URL);
    }

    return ngx_http_admission_object_read(object, buf, len);
}


/*
 * base64url without padding, in its one canonical form: NGINX's own decoder
 * also takes padding and stray bits, so that a token had several spellings.
 * dst has room for 3 bytes per 4 characters begun.
 */

static ngx_int_t
ngx_http_admission_base64url(u_char *dst, ngx_str_t *src, size_t *len)
{
    size_t       n;
    u_char      *p, *s, a, b, c, d, bad;

#define XX  0x80

    static u_char  table[] = {
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, 62, XX, XX,
        52, 53, 54, 55, 56, 57, 58, 59, 60, 61, XX, XX, XX, XX, XX, XX,
        XX,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
        15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, XX, XX, XX, XX, 63,
        XX, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
        41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, XX, XX, XX, XX, XX,

        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX
    };

#undef XX

    p = dst;
    s = src->data;
    bad = 0;

    for (n = src->len; n >= 4; n -= 4) {
        a = table[s[0]];
        b = table[s[1]];
        c = table[s[2]];
        d = table[s[3]];

        bad |= a | b | c | d;

        *p++ = (u_char) (a << 2 | b >> 4);
        *p++ = (u_char) (b << 4 | c >> 2);
        *p++ = (u_char) (c << 6 | d);

        s += 4;
    }

    switch (n) {

    case 0:
        break;

    case 1:
        return NGX_DECLINED;

    case 2:
        a = table[s[0]];
        b = table[s[1]];

        /* of the last character, bits that make no whole byte are 0 */

        if (b & 0x0f) {
            return NGX_DECLINED;
        }

        bad |= a | b;

        *p++ = (u_char) (a << 2 | b >> 4);
        break;

    default:
        a = table[s[0]];
        b = table[s[1]];
        c = table[s[2]];

        if (c & 0x03) {
            return NGX_DECLINED;
        }

        bad |= a | b | c;

        *p++ = (u_char) (a << 2 | b >> 4);
        *p++ = (u_char) (b << 4 | c >> 2);
        break;
    }

    *len = p - dst;

    return (bad & 0x80) ? NGX_DECLINED : NGX_OK;
}
