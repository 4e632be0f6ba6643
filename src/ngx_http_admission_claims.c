
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_claims.h"
#include "ngx_http_admission_jwt.h"
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
#define OURS     (TIER1|TIER2|VISITOR|TICKET|PLACE)
#define ALL      (OURS|USER)


typedef enum {
    ngx_http_admission_claim_event = 0,
    ngx_http_admission_claim_user,
    ngx_http_admission_claim_integer,
    ngx_http_admission_claim_date
} ngx_http_admission_claim_e;


typedef struct {
    const char                    *name;
    size_t                         offset;      /* in the claims */
    ngx_http_admission_claim_e     type;
    ngx_uint_t                     kinds;       /* that have it */
    ngx_uint_t                     required;    /* kinds, too */
    const char                    *why;
} ngx_http_admission_claim_t;


static const char *ngx_http_admission_claims_decode(
    ngx_http_admission_verifier_t *v, json_t *payload, u_char *buf,
    ngx_http_admission_claims_t *claims);
static ngx_int_t ngx_http_admission_claim_decode(
    ngx_http_admission_claim_t *claim, json_t *value, u_char *buf,
    ngx_http_admission_claims_t *claims);
static ngx_int_t ngx_http_admission_claim_number(json_t *value,
    ngx_http_admission_claim_e type, int64_t *number);
static const char *ngx_http_admission_claims_user(
    ngx_http_admission_verifier_t *v, json_t *payload, u_char *buf,
    ngx_http_admission_claims_t *claims);
static void ngx_http_admission_claims_text(json_t *value, ngx_str_t *text);
static const char *ngx_http_admission_claims_time(
    ngx_http_admission_claims_t *claims, time_t now);
static ngx_http_admission_claims_t *ngx_http_admission_claims_dup(
    ngx_pool_t *pool, ngx_http_admission_claims_t *claims);
static u_char *ngx_http_admission_claim_encode(u_char *p,
    ngx_http_admission_claim_t *claim, ngx_http_admission_claims_t *claims);
static ngx_uint_t ngx_http_admission_is_text(ngx_str_t *s);


#define CLAIM(name, type, kinds, required)                                    \
    { #name, offsetof(ngx_http_admission_claims_t, name),                     \
      ngx_http_admission_claim_##type, kinds, required,                       \
      "claim \"" #name "\" missing or wrong" }

/* in the order in which they are signed */

static ngx_http_admission_claim_t  ngx_http_admission_claims[] = {

    CLAIM(sub, event, TIER1|TIER2|TICKET|PLACE, TIER1|TIER2|TICKET|PLACE),
    CLAIM(uid, user, TIER1|TIER2|TICKET|PLACE, TIER2|PLACE),
    CLAIM(vis, user, TIER1|VISITOR|TICKET, VISITOR),

    CLAIM(tier, integer, TIER1|TIER2, TIER1),
    CLAIM(position, integer, TIER1|TICKET, TICKET),
    CLAIM(score, integer, PLACE, PLACE),

    CLAIM(at, integer, TIER1|TICKET|PLACE, TICKET|PLACE),
    CLAIM(act, integer, TIER1|TICKET, TICKET),
    CLAIM(adm, integer, TIER1|TIER2, NONE),
    CLAIM(epoch, integer, PLACE, NONE),

    CLAIM(iat, date, OURS, NONE),
    CLAIM(nbf, date, ALL, NONE),
    CLAIM(exp, date, ALL, ALL),

    { NULL, 0, 0, 0, 0, NULL }
};


ngx_int_t
ngx_http_admission_token_verify(ngx_http_admission_verifier_t *v,
    ngx_str_t *token, time_t now, ngx_pool_t *pool,
    ngx_http_admission_claims_t **claims, const char **why)
{
    u_char                        buf[NGX_HTTP_ADMISSION_CLAIM_BUF];
    json_t                       *payload;
    ngx_http_admission_claims_t   decoded, *found;

    if (v->keys == NULL || v->keys->keys.nelts == 0) {
        *why = "no secret to verify it";
        return NGX_DECLINED;
    }

    payload = NULL;
    *why = NULL;

    found = ngx_http_admission_verified_find(v, token);

    if (found == NULL) {
        *why = ngx_http_admission_jwt_verify(v->keys, v->algs, token,
                                             &payload);
        if (*why) {
            return NGX_DECLINED;
        }

        *why = ngx_http_admission_claims_decode(v, payload, buf, &decoded);
        found = &decoded;
    }

    if (*why == NULL) {
        *why = ngx_http_admission_claims_time(found, now);
    }

    *claims = *why ? NULL : ngx_http_admission_claims_dup(pool, found);

    if (payload) {
        json_decref(payload);

        if (*claims) {
            ngx_http_admission_verified_add(v, token, *claims, pool->log);
        }
    }

    if (*why) {
        return NGX_DECLINED;
    }

    return *claims ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_http_admission_token_sign(ngx_http_admission_token_e kind,
    ngx_http_admission_keyring_t *keys, ngx_http_admission_claims_t *claims,
    ngx_pool_t *pool, ngx_str_t *token)
{
    size_t                       size;
    u_char                      *p, *last;
    ngx_str_t                    payload, *s;
    ngx_uint_t                   has;
    ngx_http_admission_claim_t  *claim;

    if (keys == NULL || keys->keys.nelts == 0) {
        ngx_log_error(NGX_LOG_ERR, pool->log, 0,
                      "admission: no secret to sign a token with");
        return NGX_ERROR;
    }

    size = 2;

    for (claim = ngx_http_admission_claims; claim->name; claim++) {
        size += sizeof(",\"\":\"\"") - 1 + ngx_strlen(claim->name);

        if (claim->type >= ngx_http_admission_claim_integer) {
            size += NGX_INT64_LEN;
            continue;
        }

        s = (ngx_str_t *) ((u_char *) claims + claim->offset);
        size += s->len + ngx_escape_json(NULL, s->data, s->len);
    }

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    payload.data = p;
    last = p;

    for (claim = ngx_http_admission_claims; claim->name; claim++) {

        has = claim->kinds & (1 << kind);

        if (has) {
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

    if (id->len == 0 || id->len > NGX_HTTP_ADMISSION_EVENT_MAX) {
        return NGX_DECLINED;
    }

    for (i = 0; i < id->len; i++) {
        c = ngx_tolower(id->data[i]);

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')
            && c != '.' && c != '_' && c != '-')
        {
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


/*
 * What a payload says, if it is all that its kind has to say.  The strings
 * are the payload's, but for one that may be in buf.
 */

static const char *
ngx_http_admission_claims_decode(ngx_http_admission_verifier_t *v,
    json_t *payload, u_char *buf, ngx_http_admission_claims_t *claims)
{
    json_t                      *value;
    ngx_uint_t                   kind;
    ngx_http_admission_claim_t  *claim;

    ngx_memzero(claims, sizeof(ngx_http_admission_claims_t));

    kind = 1 << v->kind;

    for (claim = ngx_http_admission_claims; claim->name; claim++) {

        if (!(claim->kinds & kind)) {
            continue;
        }

        value = json_object_get(payload, claim->name);

        if (value == NULL) {

            if (claim->required & kind) {
                return claim->why;
            }

            continue;
        }

        if (ngx_http_admission_claim_decode(claim, value, buf, claims)
            != NGX_OK)
        {
            return claim->why;
        }
    }

    switch (v->kind) {

    case NGX_HTTP_ADMISSION_TOKEN_TIER1:

        if (claims->tier != 1) {
            return "not a token of tier 1";
        }

        return NULL;

    case NGX_HTTP_ADMISSION_TOKEN_TIER2:

        if (claims->tier != 2 && json_object_get(payload, "tier")) {
            return "not a token of tier 2";
        }

        return NULL;

    case NGX_HTTP_ADMISSION_TOKEN_USER:
        return ngx_http_admission_claims_user(v, payload, buf, claims);

    default:
        return NULL;
    }
}


static ngx_int_t
ngx_http_admission_claim_decode(ngx_http_admission_claim_t *claim,
    json_t *value, u_char *buf, ngx_http_admission_claims_t *claims)
{
    void       *field;
    ngx_str_t   s, *str;

    field = (u_char *) claims + claim->offset;

    if (claim->type >= ngx_http_admission_claim_integer) {
        return ngx_http_admission_claim_number(value, claim->type, field);
    }

    if (!json_is_string(value)) {
        return NGX_DECLINED;
    }

    s.data = (u_char *) json_string_value(value);
    s.len = json_string_length(value);

    if (claim->type == ngx_http_admission_claim_event) {

        if (ngx_http_admission_event_id(&s, buf) != NGX_OK) {
            return NGX_DECLINED;
        }

        s.data = buf;

    } else if (!ngx_http_admission_is_user_id(&s)) {
        return NGX_DECLINED;
    }

    str = field;
    *str = s;

    return NGX_OK;
}


/* dates may have fractions (RFC 7519, NumericDate): whole seconds count */

static ngx_int_t
ngx_http_admission_claim_number(json_t *value,
    ngx_http_admission_claim_e type, int64_t *number)
{
    double   real;
    int64_t  n;

    if (json_is_integer(value)) {
        n = json_integer_value(value);

    } else if (json_is_real(value)
               && type == ngx_http_admission_claim_date)
    {
        real = json_real_value(value);

        if (real < 0 || real > (double) NGX_HTTP_ADMISSION_CLAIM_MAX) {
            return NGX_DECLINED;
        }

        n = (int64_t) real;

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
    json_t *payload, u_char *buf, ngx_http_admission_claims_t *claims)
{
    u_char   *p;
    json_t   *id, *value;
    int64_t   n;

    if (v->type.len) {
        value = json_object_get(payload, "type");

        if (value
            && (!json_is_string(value)
                || json_string_length(value) != v->type.len
                || ngx_memcmp(json_string_value(value), v->type.data,
                              v->type.len)
                   != 0))
        {
            return "claim \"type\" says otherwise";
        }
    }

    if (v->id.len) {
        id = json_object_get(payload, (char *) v->id.data);

    } else {
        id = json_object_get(payload, "userId");

        if (id == NULL) {
            id = json_object_get(payload, "sub");
        }
    }

    if (json_is_integer(id)) {
        n = json_integer_value(id);
        p = buf;

        if (n < 0) {
            *p++ = '-';
        }

        /* "%L" negates the number, which the least one does not survive */

        p = ngx_sprintf(p, "%uL", n < 0 ? 0 - (uint64_t) n : (uint64_t) n);

        claims->uid.data = buf;
        claims->uid.len = p - buf;

    } else if (json_is_string(id)) {
        claims->uid.data = (u_char *) json_string_value(id);
        claims->uid.len = json_string_length(id);
    }

    if (!ngx_http_admission_is_user_id(&claims->uid)) {
        return "claim of the user's id missing or wrong";
    }

    value = json_object_get(payload, v->email.len ? (char *) v->email.data
                                                  : "email");
    ngx_http_admission_claims_text(value, &claims->email);

    value = json_object_get(payload, v->role.len ? (char *) v->role.data
                                                 : "role");
    ngx_http_admission_claims_text(value, &claims->role);

    if (value == NULL || json_is_null(value)) {
        ngx_str_set(&claims->role, "user");
    }

    return NULL;
}


/* empty, unless it is a text that a header can carry */

static void
ngx_http_admission_claims_text(json_t *value, ngx_str_t *text)
{
    ngx_str_t  s;

    if (!json_is_string(value)) {
        return;
    }

    s.data = (u_char *) json_string_value(value);
    s.len = json_string_length(value);

    if (ngx_http_admission_is_text(&s)) {
        *text = s;
    }
}


static const char *
ngx_http_admission_claims_time(ngx_http_admission_claims_t *claims,
    time_t now)
{
    if (now >= claims->exp + NGX_HTTP_ADMISSION_LEEWAY) {
        return "expired";
    }

    if (now < claims->nbf - NGX_HTTP_ADMISSION_LEEWAY) {
        return "not valid yet";
    }

    return NULL;
}


static ngx_http_admission_claims_t *
ngx_http_admission_claims_dup(ngx_pool_t *pool,
    ngx_http_admission_claims_t *claims)
{
    ngx_http_admission_claims_t  *dup;

    dup = ngx_palloc(pool, sizeof(ngx_http_admission_claims_t)
                           + ngx_http_admission_claims_strings(claims));
    if (dup == NULL) {
        return NULL;
    }

    ngx_http_admission_claims_copy(dup, (u_char *) (dup + 1), claims);

    return dup;
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

        return ngx_sprintf(p, ",\"%s\":%L", claim->name, *number);
    }

    s = field;

    if (s->len == 0) {
        return p;
    }

    p = ngx_sprintf(p, ",\"%s\":\"", claim->name);
    p = (u_char *) ngx_escape_json(p, s->data, s->len);
    *p++ = '"';

    return p;
}


/* UTF-8 without control characters: C0, DEL and C1 */

static ngx_uint_t
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
