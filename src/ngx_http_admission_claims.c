
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_claims.h"
#include "ngx_http_admission_jwt.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_text.h"
#include "ngx_http_admission_verified.h"


/* a number that every implementation of JSON holds exactly */
#define NGX_HTTP_ADMISSION_CLAIM_MAX  ((int64_t) 1 << 53)

#define NGX_HTTP_ADMISSION_CLAIM_BUF  NGX_HTTP_ADMISSION_EVENT_MAX


/* sets of kinds */

#define TIER1    (1 << NGX_HTTP_ADMISSION_TOKEN_TIER1)
#define TIER2    (1 << NGX_HTTP_ADMISSION_TOKEN_TIER2)
#define USER     (1 << NGX_HTTP_ADMISSION_TOKEN_USER)
#define VISITOR  (1 << NGX_HTTP_ADMISSION_TOKEN_VISITOR)
#define TICKET   (1 << NGX_HTTP_ADMISSION_TOKEN_TICKET)
#define PLACE    (1 << NGX_HTTP_ADMISSION_TOKEN_PLACE)

#define NONE     0
#define ALL      (TIER1|TIER2|USER|VISITOR|TICKET|PLACE)


typedef enum {
    ngx_http_admission_claim_event = 0,
    ngx_http_admission_claim_user,
    ngx_http_admission_claim_integer,
    ngx_http_admission_claim_date
} ngx_http_admission_claim_e;


typedef struct {
    ngx_str_t                      name;
    ngx_str_t                      label;       /* as it is signed */
    size_t                         offset;      /* in the claims */
    ngx_http_admission_claim_e     type;
    ngx_uint_t                     kinds;       /* that have it */
    ngx_uint_t                     required;    /* kinds, too */
    const char                    *why;
} ngx_http_admission_claim_t;


static ngx_int_t ngx_http_admission_token_decode(
    ngx_http_admission_verifier_t *v, ngx_str_t *token, time_t now,
    ngx_pool_t *pool, ngx_http_admission_claims_t **claims, const char **why);
static const char *ngx_http_admission_claims_decode(
    ngx_http_admission_verifier_t *v, ngx_http_admission_object_t *payload,
    u_char *buf, ngx_http_admission_claims_t *claims);
static ngx_int_t ngx_http_admission_claim_decode(
    ngx_http_admission_claim_t *claim, ngx_http_admission_value_t *value,
    u_char *buf, ngx_http_admission_claims_t *claims);
static ngx_int_t ngx_http_admission_claim_number(
    ngx_http_admission_value_t *value, ngx_http_admission_claim_e type,
    int64_t *number);
static const char *ngx_http_admission_claims_user(
    ngx_http_admission_verifier_t *v, ngx_http_admission_object_t *payload,
    u_char *buf, ngx_http_admission_claims_t *claims);
static void ngx_http_admission_claims_get(
    ngx_http_admission_object_t *payload, ngx_str_t *name,
    ngx_str_t *usual, ngx_http_admission_value_t *value);
static void ngx_http_admission_claims_text(ngx_http_admission_value_t *value,
    ngx_str_t *text);
static ngx_int_t ngx_http_admission_claims_accept(
    ngx_http_admission_claims_t *claims, time_t now, ngx_pool_t *pool,
    ngx_http_admission_claims_t **accepted, const char **why);
static const char *ngx_http_admission_claims_time(
    ngx_http_admission_claims_t *claims, time_t now);
static u_char *ngx_http_admission_claim_encode(u_char *p,
    ngx_http_admission_claim_t *claim, ngx_http_admission_claims_t *claims);


#define CLAIM(name, type, kinds, required)                                    \
    { ngx_string(#name), ngx_string(",\"" #name "\":"),                       \
      offsetof(ngx_http_admission_claims_t, name),                            \
      ngx_http_admission_claim_##type, kinds, required,                       \
      ngx_http_admission_reason(CLAIM_##name) }

/* a ticket is in addresses, so what it is called there is short */

#define SHORT(short, name, type, required)                                    \
    { ngx_string(#short), ngx_string(",\"" #short "\":"),                     \
      offsetof(ngx_http_admission_claims_t, name),                            \
      ngx_http_admission_claim_##type, TICKET, required,                      \
      ngx_http_admission_reason(CLAIM_##short) }

/* in the order in which they are signed */

static ngx_http_admission_claim_t  ngx_http_admission_claims[] = {

    CLAIM(sub, event, TIER1|TIER2|PLACE, TIER1|TIER2|PLACE),
    CLAIM(uid, user, TIER1|TIER2|PLACE, TIER2|PLACE),
    CLAIM(vis, user, TIER1|VISITOR, VISITOR),

    CLAIM(tier, integer, TIER1|TIER2, TIER1),
    CLAIM(position, integer, TIER1, NONE),
    CLAIM(score, integer, PLACE, PLACE),

    CLAIM(at, integer, TIER1|PLACE, PLACE),
    CLAIM(ticket, integer, TIER1, NONE),
    CLAIM(act, integer, TIER1, NONE),
    CLAIM(adm, integer, TIER1|TIER2, NONE),
    CLAIM(epoch, integer, PLACE, NONE),

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
ngx_http_admission_token_verify(ngx_http_admission_verifier_t *v,
    ngx_str_t *token, time_t now, ngx_pool_t *pool,
    ngx_http_admission_claims_t **claims, const char **why)
{
    ngx_int_t                     rc;
    ngx_http_admission_claims_t  *found;

    if (v->keys == NULL || v->keys->keys.nelts == 0) {
        *why = ngx_http_admission_reason(NO_SECRET);
        return NGX_DECLINED;
    }

    found = ngx_http_admission_verified_find(v, token);

    if (found) {
        *why = ngx_http_admission_claims_time(found, now);

        if (*why) {
            return NGX_DECLINED;
        }

        *claims = ngx_http_admission_verified_copy(found, pool);

        return *claims ? NGX_OK : NGX_ERROR;
    }

    rc = ngx_http_admission_token_decode(v, token, now, pool, claims, why);

    if (rc == NGX_OK) {
        ngx_http_admission_verified_add(v, token, *claims, pool->log);
    }

    return rc;
}


ngx_int_t
ngx_http_admission_token_sign(ngx_http_admission_token_e kind,
    ngx_http_admission_keyring_t *keys, ngx_http_admission_claims_t *claims,
    ngx_pool_t *pool, ngx_str_t *token)
{
    size_t                       size;
    u_char                      *p, *last;
    ngx_str_t                    payload, *s;
    ngx_http_admission_claim_t  *claim;

    if (keys == NULL || keys->keys.nelts == 0) {
        ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                      "admission: no secret to sign a token with");
        return NGX_ERROR;
    }

    size = 2;

    for (claim = ngx_http_admission_claims; claim->name.len; claim++) {

        if (!(claim->kinds & (1 << kind))) {
            continue;
        }

        size += claim->label.len + sizeof("\"\"") - 1;

        if (claim->type >= ngx_http_admission_claim_integer) {
            size += NGX_INT64_LEN;
            continue;
        }

        s = (ngx_str_t *) ((u_char *) claims + claim->offset);
        size += s->len;

        if (claim->type == ngx_http_admission_claim_user) {
            size += ngx_escape_json(NULL, s->data, s->len);
        }
    }

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    payload.data = p;
    last = p;

    for (claim = ngx_http_admission_claims; claim->name.len; claim++) {

        if (claim->kinds & (1 << kind)) {
            last = ngx_http_admission_claim_encode(last, claim, claims);
        }
    }

    if (last == p) {
        return NGX_ERROR;
    }

    /* each claim begins with a comma */

    *p = '{';
    *last++ = '}';

    payload.len = last - p;

    token->data = ngx_pnalloc(pool, ngx_http_admission_jwt_size(payload.len));
    if (token->data == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_admission_jwt_sign(keys, &payload, token);
}


ngx_int_t
ngx_http_admission_event_id(ngx_str_t *id, u_char *dst)
{
    u_char  c;
    size_t  i;

    static u_char  lowcase[256] =
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0-.\0" "0123456789\0\0\0\0\0\0"
        "\0abcdefghijklmnopqrstuvwxyz\0\0\0\0_"
        "\0abcdefghijklmnopqrstuvwxyz";

    if (id->len == 0 || id->len > NGX_HTTP_ADMISSION_EVENT_MAX) {
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
ngx_http_admission_is_user_id(ngx_str_t *id)
{
    return id->len && id->len <= NGX_HTTP_ADMISSION_USER_MAX
           && ngx_http_admission_is_text(id);
}


static ngx_int_t
ngx_http_admission_token_decode(ngx_http_admission_verifier_t *v,
    ngx_str_t *token, time_t now, ngx_pool_t *pool,
    ngx_http_admission_claims_t **claims, const char **why)
{
    u_char                        buf[NGX_HTTP_ADMISSION_JWT_PART];
    u_char                        claim[NGX_HTTP_ADMISSION_CLAIM_BUF];
    ngx_int_t                     rc;
    ngx_http_admission_object_t   payload;
    ngx_http_admission_claims_t   decoded;

    *why = ngx_http_admission_jwt_verify(v->keys, v->algs, token, buf,
                                         &payload);
    if (*why) {
        return NGX_DECLINED;
    }

    *why = ngx_http_admission_claims_decode(v, &payload, claim, &decoded);

    rc = *why ? NGX_DECLINED
              : ngx_http_admission_claims_accept(&decoded, now, pool, claims,
                                                 why);

    ngx_http_admission_object_free(&payload);

    return rc;
}


/*
 * What a payload says, if it is all that its kind has to say.  The strings
 * are the payload's, but for one that may be in buf.
 */

static const char *
ngx_http_admission_claims_decode(ngx_http_admission_verifier_t *v,
    ngx_http_admission_object_t *payload, u_char *buf,
    ngx_http_admission_claims_t *claims)
{
    ngx_uint_t                   kind;
    ngx_http_admission_claim_t  *claim;
    ngx_http_admission_value_t   value;

    ngx_memzero(claims, sizeof(ngx_http_admission_claims_t));

    claims->tier = -1;

    kind = 1 << v->kind;

    for (claim = ngx_http_admission_claims; claim->name.len; claim++) {

        if (!(claim->kinds & kind)) {
            continue;
        }

        ngx_http_admission_object_get(payload, &claim->name, &value);

        if (value.type == NGX_HTTP_ADMISSION_VALUE_NONE) {

            if (claim->required & kind) {
                return claim->why;
            }

            continue;
        }

        if (ngx_http_admission_claim_decode(claim, &value, buf, claims)
            != NGX_OK)
        {
            return claim->why;
        }
    }

    if (v->kind == NGX_HTTP_ADMISSION_TOKEN_TIER1 && claims->tier != 1) {
        return ngx_http_admission_reason(NOT_TIER1);
    }

    if (v->kind == NGX_HTTP_ADMISSION_TOKEN_TIER2
        && claims->tier != 2 && claims->tier != -1)
    {
        return ngx_http_admission_reason(NOT_TIER2);
    }

    if (claims->tier == -1) {
        claims->tier = 0;
    }

    if (v->kind == NGX_HTTP_ADMISSION_TOKEN_USER) {
        return ngx_http_admission_claims_user(v, payload, buf, claims);
    }

    return NULL;
}


static ngx_int_t
ngx_http_admission_claim_decode(ngx_http_admission_claim_t *claim,
    ngx_http_admission_value_t *value, u_char *buf,
    ngx_http_admission_claims_t *claims)
{
    void       *field;
    ngx_str_t  *s;

    field = (u_char *) claims + claim->offset;

    if (claim->type >= ngx_http_admission_claim_integer) {
        return ngx_http_admission_claim_number(value, claim->type, field);
    }

    if (value->type != NGX_HTTP_ADMISSION_VALUE_STRING) {
        return NGX_DECLINED;
    }

    s = field;
    *s = value->string;

    if (claim->type == ngx_http_admission_claim_user) {
        return ngx_http_admission_is_user_id(s) ? NGX_OK : NGX_DECLINED;
    }

    if (ngx_http_admission_event_id(s, buf) != NGX_OK) {
        return NGX_DECLINED;
    }

    s->data = buf;

    return NGX_OK;
}


/* dates may have fractions (RFC 7519, NumericDate): whole seconds count */

static ngx_int_t
ngx_http_admission_claim_number(ngx_http_admission_value_t *value,
    ngx_http_admission_claim_e type, int64_t *number)
{
    int64_t  n;

    if (value->type == NGX_HTTP_ADMISSION_VALUE_INTEGER) {
        n = value->integer;

    } else if (value->type == NGX_HTTP_ADMISSION_VALUE_REAL
               && type == ngx_http_admission_claim_date)
    {
        if (value->real < 0
            || value->real > (double) NGX_HTTP_ADMISSION_CLAIM_MAX)
        {
            return NGX_DECLINED;
        }

        n = (int64_t) value->real;

    } else {
        return NGX_DECLINED;
    }

    if (n < 0 || n > NGX_HTTP_ADMISSION_CLAIM_MAX) {
        return NGX_DECLINED;
    }

    *number = n;

    return NGX_OK;
}


/* user tokens come from elsewhere: the names of their claims may differ */

static const char *
ngx_http_admission_claims_user(ngx_http_admission_verifier_t *v,
    ngx_http_admission_object_t *payload, u_char *buf,
    ngx_http_admission_claims_t *claims)
{
    u_char                      *p;
    ngx_http_admission_value_t   value;

    static ngx_str_t  type = ngx_string("type");
    static ngx_str_t  id = ngx_string("userId");
    static ngx_str_t  sub = ngx_string("sub");
    static ngx_str_t  email = ngx_string("email");
    static ngx_str_t  role = ngx_string("role");

    ngx_http_admission_object_get(payload, &type, &value);

    if (v->type.len
        && value.type != NGX_HTTP_ADMISSION_VALUE_NONE
        && (value.type != NGX_HTTP_ADMISSION_VALUE_STRING
            || value.string.len != v->type.len
            || ngx_memcmp(value.string.data, v->type.data, v->type.len) != 0))
    {
        return ngx_http_admission_reason(CLAIM_TYPE);
    }

    ngx_http_admission_claims_get(payload, &v->id, &id, &value);

    if (value.type == NGX_HTTP_ADMISSION_VALUE_NONE && v->id.len == 0) {
        ngx_http_admission_object_get(payload, &sub, &value);
    }

    if (value.type == NGX_HTTP_ADMISSION_VALUE_INTEGER) {
        p = ngx_http_admission_put_number(buf, value.integer);

        claims->uid.data = buf;
        claims->uid.len = p - buf;

    } else if (value.type == NGX_HTTP_ADMISSION_VALUE_STRING) {
        claims->uid = value.string;
    }

    if (!ngx_http_admission_is_user_id(&claims->uid)) {
        return ngx_http_admission_reason(CLAIM_USER);
    }

    ngx_http_admission_claims_get(payload, &v->email, &email, &value);
    ngx_http_admission_claims_text(&value, &claims->email);

    ngx_http_admission_claims_get(payload, &v->role, &role, &value);
    ngx_http_admission_claims_text(&value, &claims->role);

    if (value.type == NGX_HTTP_ADMISSION_VALUE_NONE
        || value.type == NGX_HTTP_ADMISSION_VALUE_NULL)
    {
        ngx_str_set(&claims->role, "user");
    }

    return NULL;
}


static void
ngx_http_admission_claims_get(ngx_http_admission_object_t *payload,
    ngx_str_t *name, ngx_str_t *usual, ngx_http_admission_value_t *value)
{
    ngx_http_admission_object_get(payload, name->len ? name : usual, value);
}


/* empty, unless it is a text that a header can carry */

static void
ngx_http_admission_claims_text(ngx_http_admission_value_t *value,
    ngx_str_t *text)
{
    if (value->type == NGX_HTTP_ADMISSION_VALUE_STRING
        && ngx_http_admission_is_text(&value->string))
    {
        *text = value->string;
    }
}


/* at this time; the claims are copied to the pool */

static ngx_int_t
ngx_http_admission_claims_accept(ngx_http_admission_claims_t *claims,
    time_t now, ngx_pool_t *pool, ngx_http_admission_claims_t **accepted,
    const char **why)
{
    ngx_http_admission_claims_t  *copy;

    *why = ngx_http_admission_claims_time(claims, now);

    if (*why) {
        return NGX_DECLINED;
    }

    copy = ngx_palloc(pool, sizeof(ngx_http_admission_claims_t)
                            + ngx_http_admission_claims_strings(claims));
    if (copy == NULL) {
        return NGX_ERROR;
    }

    ngx_http_admission_claims_copy(copy, (u_char *) (copy + 1), claims);

    *accepted = copy;

    return NGX_OK;
}


static const char *
ngx_http_admission_claims_time(ngx_http_admission_claims_t *claims,
    time_t now)
{
    if (now >= claims->exp + NGX_HTTP_ADMISSION_LEEWAY) {
        return ngx_http_admission_reason(EXPIRED);
    }

    if (now < claims->nbf - NGX_HTTP_ADMISSION_LEEWAY) {
        return ngx_http_admission_reason(NOT_YET);
    }

    return NULL;
}


/* ,"name":value, or nothing if the claim is absent */

static u_char *
ngx_http_admission_claim_encode(u_char *p, ngx_http_admission_claim_t *claim,
    ngx_http_admission_claims_t *claims)
{
    void       *field;
    int64_t    *number;
    ngx_str_t  *s;

    field = (u_char *) claims + claim->offset;

    if (claim->type >= ngx_http_admission_claim_integer) {
        number = field;

        if (*number == 0) {
            return p;
        }

        p = ngx_cpymem(p, claim->label.data, claim->label.len);

        return ngx_http_admission_put_number(p, *number);
    }

    s = field;

    if (s->len == 0) {
        return p;
    }

    p = ngx_cpymem(p, claim->label.data, claim->label.len);
    *p++ = '"';

    /* an event id is nothing that needs escapes */

    p = (claim->type == ngx_http_admission_claim_user)
        ? (u_char *) ngx_escape_json(p, s->data, s->len)
        : ngx_cpymem(p, s->data, s->len);

    *p++ = '"';

    return p;
}


ngx_uint_t
ngx_http_admission_is_text(ngx_str_t *s)
{
    u_char      *p, *last;
    uint32_t     c, least;
    ngx_uint_t   n;

    p = s->data;
    last = p + s->len;

    while (p < last) {
        c = *p++;

        if (c < 0x80) {

            if (c < 0x20 || c == 0x7f) {
                return 0;
            }

            continue;
        }

        if (c >= 0xc2 && c <= 0xdf) {
            n = 1;
            c &= 0x1f;
            least = 0xa0;

        } else if (c >= 0xe0 && c <= 0xef) {
            n = 2;
            c &= 0x0f;
            least = 0x800;

        } else if (c >= 0xf0 && c <= 0xf4) {
            n = 3;
            c &= 0x07;
            least = 0x10000;

        } else {
            return 0;
        }

        if ((size_t) (last - p) < n) {
            return 0;
        }

        while (n--) {

            if ((*p & 0xc0) != 0x80) {
                return 0;
            }

            c = (c << 6) | (*p++ & 0x3f);
        }

        if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            return 0;
        }
    }

    return 1;
}
