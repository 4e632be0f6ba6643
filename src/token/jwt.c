
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a token is before its claims are looked at: three parts, a header with
 * an algorithm that is allowed, and a signature by one of the keys.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "jwt.h"


/* {"alg":"HS256","typ":"JWT"} in base64url, also what is signed here */
#define NGX_ADM_JWT_HEADER  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"


typedef struct {
    ngx_str_t                   header;
    ngx_str_t                   payload;
    ngx_str_t                   signature;
    ngx_str_t                   input;      /* header.payload */

    ngx_uint_t                  alg;
    ngx_str_t                   kid;        /* data NULL: it has none */
    u_char                      kid_buf[NGX_ADM_KID_MAX];
} ngx_adm_jwt_t;


static const char *ngx_adm_jwt_split(ngx_str_t *token, ngx_adm_jwt_t *jwt);
static const char *ngx_adm_jwt_header(ngx_adm_jwt_t *jwt);
static const char *ngx_adm_jwt_alg(ngx_adm_object_t *header,
    ngx_adm_jwt_t *jwt);
static const char *ngx_adm_jwt_key(ngx_adm_object_t *header,
    ngx_adm_jwt_t *jwt);
static const char *ngx_adm_jwt_signature(ngx_adm_keyring_t *ring,
    ngx_adm_jwt_t *jwt);
static const char *ngx_adm_jwt_object(ngx_str_t *part, u_char *buf,
    ngx_adm_object_t *object);


/* headers for HS256 as libraries write them, which need no parsing */

static ngx_str_t  ngx_adm_jwt_usual[] = {
    ngx_string(NGX_ADM_JWT_HEADER),

    /* {"typ":"JWT","alg":"HS256"} */
    ngx_string("eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9"),

    /* {"alg":"HS256"} */
    ngx_string("eyJhbGciOiJIUzI1NiJ9"),

    ngx_null_string };


ngx_int_t
ngx_adm_jwt_sign(ngx_adm_keyring_t *ring, ngx_str_t *payload, ngx_str_t *token)
{
    u_char      mac[NGX_ADM_MAC_MAX];
    ngx_str_t   src, dst;

    dst.data = ngx_cpymem(token->data, NGX_ADM_JWT_HEADER ".",
                          sizeof(NGX_ADM_JWT_HEADER ".") - 1);

    ngx_encode_base64url(&dst, payload);

    dst.data += dst.len;

    src.data = mac;
    src.len = ngx_adm_keyring_mac(ring, NGX_ADM_HS256, token->data,
                                  dst.data - token->data, mac);
    if (src.len == 0) {
        return NGX_ERROR;
    }

    *dst.data++ = '.';

    ngx_encode_base64url(&dst, &src);

    token->len = dst.data + dst.len - token->data;

    return NGX_OK;
}


const char *
ngx_adm_jwt_verify(ngx_adm_keyring_t *ring, ngx_uint_t algs, ngx_str_t *token,
    u_char *buf, ngx_adm_object_t *payload)
{
    const char     *why;
    ngx_adm_jwt_t   jwt;

    why = ngx_adm_jwt_split(token, &jwt);
    if (why) {
        return why;
    }

    why = ngx_adm_jwt_header(&jwt);
    if (why) {
        return why;
    }

    if (!(algs & ngx_adm_alg_bit(jwt.alg))) {
        return ngx_adm_reason(ALG);
    }

    /* nothing in a payload is looked at before it is known who signed it */

    why = ngx_adm_jwt_signature(ring, &jwt);
    if (why) {
        return why;
    }

    return ngx_adm_jwt_object(&jwt.payload, buf, payload);
}


const char *
ngx_adm_jwt_claims(ngx_str_t *token, u_char *buf, ngx_adm_object_t *payload)
{
    const char     *why;
    ngx_adm_jwt_t   jwt;

    why = ngx_adm_jwt_split(token, &jwt);

    return why ? why : ngx_adm_jwt_object(&jwt.payload, buf, payload);
}


static const char *
ngx_adm_jwt_split(ngx_str_t *token, ngx_adm_jwt_t *jwt)
{
    u_char  *p, *first, *second, *last;

    if (token->len > NGX_ADM_JWT_MAX) {
        return ngx_adm_reason(TOO_LONG);
    }

    p = token->data;
    last = p + token->len;

    first = memchr(p, '.', last - p);
    second = first ? memchr(first + 1, '.', last - first - 1) : NULL;

    if (second == NULL || memchr(second + 1, '.', last - second - 1)) {
        return ngx_adm_reason(PARTS);
    }

    jwt->header.data = p;
    jwt->header.len = first - p;

    jwt->payload.data = first + 1;
    jwt->payload.len = second - first - 1;

    jwt->signature.data = second + 1;
    jwt->signature.len = last - second - 1;

    jwt->input.data = p;
    jwt->input.len = second - p;

    if (jwt->header.len == 0 || jwt->payload.len == 0
        || jwt->signature.len == 0)
    {
        return ngx_adm_reason(EMPTY_PART);
    }

    return NULL;
}


static const char *
ngx_adm_jwt_header(ngx_adm_jwt_t *jwt)
{
    u_char             buf[NGX_ADM_JWT_PART];
    ngx_str_t         *usual;
    const char        *why;
    ngx_adm_object_t   object;

    jwt->alg = NGX_ADM_HS256;
    ngx_str_null(&jwt->kid);

    for (usual = ngx_adm_jwt_usual; usual->len; usual++) {
        if (ngx_adm_str_same(&jwt->header, usual)) {
            return NULL;
        }
    }

    if (ngx_adm_jwt_object(&jwt->header, buf, &object) != NULL) {
        return ngx_adm_reason(HEADER);
    }

    why = ngx_adm_jwt_alg(&object, jwt);

    if (why == NULL && (ngx_adm_alg_bit(jwt->alg) & NGX_ADM_KEY_ALGS)) {
        why = ngx_adm_jwt_key(&object, jwt);
    }

    ngx_adm_object_free(&object);

    return why;
}


static const char *
ngx_adm_jwt_alg(ngx_adm_object_t *header, ngx_adm_jwt_t *jwt)
{
    ngx_adm_value_t   value;

    static ngx_str_t  crit = ngx_string("crit");
    static ngx_str_t  typ = ngx_string("typ");
    static ngx_str_t  name = ngx_string("alg");

    /*
     * "crit" lists what a reader has to understand, and nothing of it is known
     * here
     */

    ngx_adm_object_get(header, &crit, &value);

    if (value.type != NGX_ADM_VALUE_NONE) {
        return ngx_adm_reason(CRIT);
    }

    ngx_adm_object_get(header, &typ, &value);

    if (value.type != NGX_ADM_VALUE_NONE && value.type != NGX_ADM_VALUE_STRING)
    {
        return ngx_adm_reason(HEADER);
    }

    ngx_adm_object_get(header, &name, &value);

    if (value.type != NGX_ADM_VALUE_STRING) {
        return ngx_adm_reason(NO_ALG);
    }

    if (ngx_adm_alg(&value.string, &jwt->alg) != NGX_OK) {
        return ngx_adm_reason(ALG);
    }

    return NULL;
}


/*
 * Which key the token says it is signed with.  A token that brings a key
 * along, or the address of one, wants to be believed by its own word (RFC
 * 8725, 3.10).
 */

static const char *
ngx_adm_jwt_key(ngx_adm_object_t *header, ngx_adm_jwt_t *jwt)
{
    ngx_uint_t        i;
    ngx_adm_value_t   value;

    static ngx_str_t  kid = ngx_string("kid");

    static ngx_str_t  brought[] = {
        ngx_string("jwk"),
        ngx_string("jku"),
        ngx_string("x5u"),
        ngx_null_string };

    for (i = 0; brought[i].len; i++) {
        ngx_adm_object_get(header, &brought[i], &value);

        if (value.type != NGX_ADM_VALUE_NONE) {
            return ngx_adm_reason(OWN_KEY);
        }
    }

    ngx_adm_object_get(header, &kid, &value);

    if (value.type == NGX_ADM_VALUE_NONE) {
        return NULL;
    }

    if (value.type != NGX_ADM_VALUE_STRING) {
        return ngx_adm_reason(HEADER);
    }

    if (value.string.len > NGX_ADM_KID_MAX) {
        return ngx_adm_reason(NO_KEY);
    }

    jwt->kid.len = value.string.len;
    jwt->kid.data = jwt->kid_buf;

    ngx_memcpy(jwt->kid_buf, value.string.data, value.string.len);

    return NULL;
}


static const char *
ngx_adm_jwt_signature(ngx_adm_keyring_t *ring, ngx_adm_jwt_t *jwt)
{
    u_char      buf[NGX_ADM_SIGNATURE_MAX + 2];
    ngx_int_t   rc;
    ngx_str_t   signature;

    if (jwt->signature.len
        > ngx_base64_encoded_length(NGX_ADM_SIGNATURE_MAX))
    {
        return ngx_adm_reason(SIGNATURE);
    }

    signature.data = buf;

    if (ngx_adm_base64url(buf, &jwt->signature, &signature.len) != NGX_OK) {
        return ngx_adm_reason(BASE64URL);
    }

    rc = ngx_adm_keyring_verify(ring, jwt->alg, &jwt->kid, &jwt->input,
                                &signature);

    return rc == NGX_OK ? NULL
           : rc == NGX_ABORT ? ngx_adm_reason(NO_KEY)
           : rc == NGX_BUSY ? ngx_adm_reason(FLOOD)
                            : ngx_adm_reason(SIGNATURE);
}


static const char *
ngx_adm_jwt_object(ngx_str_t *part, u_char *buf, ngx_adm_object_t *object)
{
    size_t  len;

    if (ngx_adm_base64url(buf, part, &len) != NGX_OK) {
        return ngx_adm_reason(BASE64URL);
    }

    return ngx_adm_object_read(object, buf, len);
}
