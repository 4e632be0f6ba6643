
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The table of all claims: which kind of token has which, in which order they
 * are signed, and what each has to look like.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "claims.h"
#include "effort.h"
#include "jwt.h"
#include "user_claims.h"
#include "verified.h"


/* numbers up to here every implementation of JSON holds exactly */
#define NGX_ADM_CLAIM_MAX  ((int64_t) 1 << 53)

/* room for an event, or for the digits of a user's id; and for roles */
#define NGX_ADM_CLAIM_BUF  (NGX_ADM_EVENT_MAX + NGX_ADM_JWT_PART)


/* sets of kinds of tokens */

#define TIER1    (1 << NGX_ADM_TOKEN_TIER1)
#define TIER2    (1 << NGX_ADM_TOKEN_TIER2)
#define USER     (1 << NGX_ADM_TOKEN_USER)
#define VISITOR  (1 << NGX_ADM_TOKEN_VISITOR)
#define TICKET   (1 << NGX_ADM_TOKEN_TICKET)
#define PLACE    (1 << NGX_ADM_TOKEN_PLACE)

#define NONE     0
#define ALL      (TIER1|TIER2|USER|VISITOR|TICKET|PLACE)


typedef enum {
    ngx_adm_claim_event = 0,
    ngx_adm_claim_user,
    ngx_adm_claim_integer,
    ngx_adm_claim_date } ngx_adm_claim_e;


typedef struct {
    ngx_str_t           name;
    ngx_str_t           label;       /* ,"name": as it is signed */
    size_t              offset;      /* in the claims */
    ngx_adm_claim_e     type;
    ngx_uint_t          kinds;       /* that have the claim */
    ngx_uint_t          required;    /* kinds that need it */
    const char         *why;
} ngx_adm_claim_t;


static ngx_int_t ngx_adm_token_decode(ngx_adm_verifier_t *v, ngx_str_t *token,
    time_t now, ngx_pool_t *pool, ngx_adm_claims_t **claims, const char **why);
static const char *ngx_adm_claims_decode(ngx_adm_verifier_t *v,
    ngx_adm_object_t *payload, u_char *buf, ngx_adm_claims_t *claims);
static ngx_int_t ngx_adm_claim_decode(ngx_adm_claim_t *claim,
    ngx_adm_value_t *value, u_char *buf, ngx_adm_claims_t *claims);
static ngx_int_t ngx_adm_claim_number(ngx_adm_value_t *value,
    ngx_adm_claim_e type, int64_t *number);
static const char *ngx_adm_claims_time(ngx_adm_claims_t *claims, time_t now,
    time_t leeway);
static u_char *ngx_adm_claim_text(u_char *p, ngx_adm_claim_t *claim,
    ngx_str_t *s);


#define CLAIM(name, type, kinds, required)                                    \
    { ngx_string(#name), ngx_string(",\"" #name "\":"),                       \
      offsetof(ngx_adm_claims_t, name),                                       \
      ngx_adm_claim_##type, kinds, required,                                  \
      ngx_adm_reason(CLAIM_##name) }

/* short names for the claims of a ticket, which stands in addresses */

#define SHORT(short, name, type, required)                                    \
    { ngx_string(#short), ngx_string(",\"" #short "\":"),                     \
      offsetof(ngx_adm_claims_t, name),                                       \
      ngx_adm_claim_##type, TICKET, required,                                 \
      ngx_adm_reason(CLAIM_##short) }

/* in the order in which they are signed */

static ngx_adm_claim_t  ngx_adm_claims[] = {

    CLAIM(sub, event, TIER1|TIER2|PLACE, TIER1|TIER2|PLACE),
    CLAIM(uid, user, TIER1|TIER2|PLACE, PLACE),
    CLAIM(vis, user, TIER1|VISITOR, VISITOR),

    CLAIM(tier, integer, TIER1|TIER2, TIER1),
    CLAIM(position, integer, TIER1, NONE),
    CLAIM(score, integer, PLACE, PLACE),

    CLAIM(at, integer, TIER1|PLACE, PLACE),
    CLAIM(ticket, integer, TIER1, NONE),
    CLAIM(act, integer, TIER1, NONE),
    CLAIM(adm, integer, TIER1|TIER2, NONE),
    CLAIM(lots, integer, TIER1, NONE),
    CLAIM(drawn, integer, TIER1, NONE),
    CLAIM(beacon, user, TIER1, NONE),
    CLAIM(epoch, integer, PLACE, NONE),
    CLAIM(cookie, integer, VISITOR, NONE),

    SHORT(e, sub, event, TICKET),
    SHORT(u, uid, user, NONE),
    SHORT(v, vis, user, TICKET),
    SHORT(p, position, integer, TICKET),
    SHORT(t, at, integer, TICKET),
    SHORT(a, act, integer, TICKET),

    CLAIM(iat, date, TIER1|TIER2|VISITOR|PLACE, NONE),
    CLAIM(nbf, date, ALL, NONE),
    CLAIM(exp, date, ALL, ALL),

    { ngx_null_string, ngx_null_string, 0, 0, 0, 0, NULL }
};


ngx_int_t
ngx_adm_token_verify(ngx_adm_verifier_t *v, ngx_str_t *token,
    struct sockaddr *client, time_t now, ngx_pool_t *pool,
    ngx_adm_claims_t **claims, const char **why)
{
    ngx_int_t  rc;

    if (v->keys == NULL || !ngx_adm_keyring_verifies(v->keys)) {
        *why = ngx_adm_reason(NO_SECRET);
        return NGX_DECLINED;
    }

    rc = ngx_adm_verified_find(v, token, pool, claims);

    if (rc == NGX_OK) {
        *why = ngx_adm_claims_time(*claims, now, v->leeway);

        return *why ? NGX_DECLINED : NGX_OK;
    }

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    ngx_adm_effort_client(client);

    rc = ngx_adm_token_decode(v, token, now, pool, claims, why);

    if (rc == NGX_OK) {
        ngx_adm_verified_add(v, token, *claims, pool->log);
    }

    return rc;
}


ngx_int_t
ngx_adm_token_sign(ngx_adm_token_e kind, ngx_adm_keyring_t *keys,
    ngx_adm_claims_t *claims, ngx_pool_t *pool, ngx_str_t *token)
{
    void             *field;
    size_t            size;
    u_char           *p, *last;
    int64_t          *number;
    ngx_str_t         payload, *s;
    ngx_adm_claim_t  *claim;

    size = 2;

    for (claim = ngx_adm_claims; claim->name.len; claim++) {

        if (!(claim->kinds & (1 << kind))) {
            continue;
        }

        size += claim->label.len + NGX_INT64_LEN;

        if (claim->type < ngx_adm_claim_integer) {
            s = (ngx_str_t *) ((u_char *) claims + claim->offset);
            size += s->len * (sizeof("\\u0000") - 1);
        }
    }

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    payload.data = p;
    last = p;

    /* an absent claim takes no room */

    for (claim = ngx_adm_claims; claim->name.len; claim++) {

        if (!(claim->kinds & (1 << kind))) {
            continue;
        }

        field = (u_char *) claims + claim->offset;

        if (claim->type < ngx_adm_claim_integer) {
            s = field;

            if (s->len) {
                last = ngx_adm_claim_text(last, claim, s);
            }

            continue;
        }

        number = field;

        if (*number) {
            last = ngx_cpymem(last, claim->label.data, claim->label.len);
            last = ngx_adm_put_number(last, *number);
        }
    }

    if (last == p) {
        return NGX_ERROR;
    }

    /* each claim begins with a comma */

    *p = '{';
    *last++ = '}';

    payload.len = last - p;

    token->data = ngx_pnalloc(pool, ngx_adm_jwt_size(payload.len));
    if (token->data == NULL) {
        return NGX_ERROR;
    }

    if (keys && ngx_adm_jwt_sign(keys, &payload, token) == NGX_OK) {
        return NGX_OK;
    }

    if (keys == NULL || !ngx_adm_keyring_signs(keys)) {
        ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                      "admission: no secret to sign a token with");
    }

    return NGX_ERROR;
}


ngx_int_t
ngx_adm_event_id(ngx_str_t *id, u_char *dst)
{
    u_char  c;
    size_t  i;

    static u_char  lowcase[256] =
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0-.\0" "0123456789\0\0\0\0\0\0"
        "\0abcdefghijklmnopqrstuvwxyz\0\0\0\0_\0abcdefghijklmnopqrstuvwxyz";

    if (id->len == 0 || id->len > NGX_ADM_EVENT_MAX) {
        return NGX_DECLINED;
    }

    for (i = 0; i < id->len; i++) {
        c = lowcase[id->data[i]];

        if (c == '\0') {
            return NGX_DECLINED;
        }

        dst[i] = c;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_adm_is_user_id(ngx_str_t *id)
{
    return id->len && id->len <= NGX_ADM_USER_MAX && ngx_adm_is_text(id);
}


static ngx_int_t
ngx_adm_token_decode(ngx_adm_verifier_t *v, ngx_str_t *token, time_t now,
    ngx_pool_t *pool, ngx_adm_claims_t **claims, const char **why)
{
    u_char             buf[NGX_ADM_JWT_PART];
    u_char             claim[NGX_ADM_CLAIM_BUF];
    const char        *verified;
    ngx_adm_object_t   payload;
    ngx_adm_claims_t   decoded, *copy;

    verified = ngx_adm_jwt_verify(v->keys, v->algs, token, buf, &payload);

    /*
     * A key that is not at hand may have to be asked for; but not for a token
     * that by its own word is not good anyway, such as tokens by keys of long
     * ago.
     */

    if (verified == ngx_adm_reason(NO_KEY)) {
        *why = ngx_adm_jwt_claims(token, buf, &payload);

    } else {
        *why = verified;
    }

    if (*why) {

        if (verified != ngx_adm_reason(NO_KEY)) {
            ngx_adm_effort_wasted();
        }

        return NGX_DECLINED;
    }

    *why = ngx_adm_claims_decode(v, &payload, claim, &decoded);

    if (*why == NULL) {
        *why = ngx_adm_claims_time(&decoded, now, v->leeway);
    }

    if (*why && verified == NULL) {
        /* a token that has expired may be sent again and again */
        ngx_adm_effort_wasted();
    }

    if (*why == NULL) {
        *why = verified;
    }

    copy = NULL;

    if (*why == NULL) {
        copy = ngx_palloc(pool, sizeof(ngx_adm_claims_t)
                                + ngx_adm_claims_strings(&decoded));
        if (copy) {
            ngx_adm_claims_copy(copy, (u_char *) (copy + 1), &decoded);
            *claims = copy;
        }
    }

    ngx_adm_object_free(&payload);

    return *why ? NGX_DECLINED : copy ? NGX_OK : NGX_ERROR;
}


/*
 * Reads a payload, which has to have all that its kind needs.  Strings point
 * into the payload, but for one that may be in buf.
 */

static const char *
ngx_adm_claims_decode(ngx_adm_verifier_t *v, ngx_adm_object_t *payload,
    u_char *buf, ngx_adm_claims_t *claims)
{
    ngx_uint_t        kind;
    ngx_adm_claim_t  *claim;
    ngx_adm_value_t   value;

    ngx_memzero(claims, sizeof(ngx_adm_claims_t));

    claims->tier = -1;

    kind = 1 << v->kind;

    for (claim = ngx_adm_claims; claim->name.len; claim++) {

        if (!(claim->kinds & kind)) {
            continue;
        }

        ngx_adm_object_get(payload, &claim->name, &value);

        if (value.type == NGX_ADM_VALUE_NONE) {

            if (claim->required & kind) {
                return claim->why;
            }

            continue;
        }

        if (ngx_adm_claim_decode(claim, &value, buf, claims) != NGX_OK) {
            return claim->why;
        }
    }

    if (v->kind == NGX_ADM_TOKEN_TIER1 && claims->tier != 1) {
        return ngx_adm_reason(NOT_TIER1);
    }

    if (v->kind == NGX_ADM_TOKEN_TIER2
        && claims->tier != 2 && claims->tier != -1)
    {
        return ngx_adm_reason(NOT_TIER2);
    }

    if (claims->tier == -1) {
        claims->tier = 0;
    }

    if (v->kind == NGX_ADM_TOKEN_USER) {
        return ngx_adm_claims_user(v, payload, buf, claims);
    }

    return NULL;
}


static ngx_int_t
ngx_adm_claim_decode(ngx_adm_claim_t *claim, ngx_adm_value_t *value,
    u_char *buf, ngx_adm_claims_t *claims)
{
    void       *field;
    ngx_str_t  *s;

    field = (u_char *) claims + claim->offset;

    if (claim->type >= ngx_adm_claim_integer) {
        return ngx_adm_claim_number(value, claim->type, field);
    }

    if (value->type != NGX_ADM_VALUE_STRING) {
        return NGX_DECLINED;
    }

    s = field;
    *s = value->string;

    if (claim->type == ngx_adm_claim_user) {
        return ngx_adm_is_user_id(s) ? NGX_OK : NGX_DECLINED;
    }

    if (ngx_adm_event_id(s, buf) != NGX_OK) {
        return NGX_DECLINED;
    }

    s->data = buf;

    return NGX_OK;
}


/* dates may have fractions (RFC 7519, NumericDate), which are dropped */

static ngx_int_t
ngx_adm_claim_number(ngx_adm_value_t *value, ngx_adm_claim_e type,
    int64_t *number)
{
    int64_t  n;

    if (value->type == NGX_ADM_VALUE_INTEGER) {
        n = value->integer;

    } else if (value->type == NGX_ADM_VALUE_REAL
               && type == ngx_adm_claim_date)
    {
        if (value->real < 0 || value->real > (double) NGX_ADM_CLAIM_MAX) {
            return NGX_DECLINED;
        }

        n = (int64_t) value->real;

    } else {
        return NGX_DECLINED;
    }

    if (n < 0 || n > NGX_ADM_CLAIM_MAX) {
        return NGX_DECLINED;
    }

    *number = n;

    return NGX_OK;
}


static const char *
ngx_adm_claims_time(ngx_adm_claims_t *claims, time_t now, time_t leeway)
{
    if (now >= claims->exp + leeway) {
        return ngx_adm_reason(EXPIRED);
    }

    if (now < claims->nbf - leeway) {
        return ngx_adm_reason(NOT_YET);
    }

    return NULL;
}


static u_char *
ngx_adm_claim_text(u_char *p, ngx_adm_claim_t *claim, ngx_str_t *s)
{
    p = ngx_cpymem(p, claim->label.data, claim->label.len);
    *p++ = '"';

    /* an event's id has nothing to escape */

    p = (claim->type == ngx_adm_claim_user)
        ? (u_char *) ngx_escape_json(p, s->data, s->len)
        : ngx_cpymem(p, s->data, s->len);

    *p++ = '"';

    return p;
}


ngx_uint_t
ngx_adm_is_text(ngx_str_t *s)
{
    u_char    *p, *first, *last;
    uint32_t   c;

    p = s->data;
    last = p + s->len;

    while (p < last) {

        if (*p < 0x80) {

            if (*p < 0x20 || *p == 0x7f) {
                return 0;
            }

            p++;
            continue;
        }

        /*
         * NGINX's decoder takes any byte to begin with, and many to go on with
         */

        first = p;
        c = ngx_utf8_decode(&p, last - p);

        if (*first > 0xf4 || c < 0xa0 || c > 0x10ffff
            || (c >= 0xd800 && c <= 0xdfff))
        {
            return 0;
        }

        while (++first < p) {
            if ((*first & 0xc0) != 0x80) {
                return 0;
            }
        }
    }

    return 1;
}
