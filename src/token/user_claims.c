
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who a user is, who says so and for whom: under names and paths that each
 * identity service chose for itself.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "user_claims.h"


static const char *ngx_adm_claims_meant(ngx_adm_verifier_t *v,
    ngx_adm_object_t *payload);
static ngx_uint_t ngx_adm_claims_listed(ngx_str_t *list, ngx_str_t *text);
static void ngx_adm_claims_role(ngx_adm_value_t *value, u_char *buf,
    ngx_adm_claims_t *claims);
static void ngx_adm_claims_get(ngx_adm_object_t *payload, ngx_str_t *name,
    ngx_str_t *usual, ngx_adm_value_t *value);
static void ngx_adm_claims_text(ngx_adm_value_t *value, ngx_str_t *text);


const char *
ngx_adm_claims_user(ngx_adm_verifier_t *v, ngx_adm_object_t *payload,
    u_char *buf, ngx_adm_claims_t *claims)
{
    u_char           *p;
    const char       *why;
    ngx_adm_value_t   value;

    static ngx_str_t  type = ngx_string("type");
    static ngx_str_t  id = ngx_string("userId");
    static ngx_str_t  sub = ngx_string("sub");
    static ngx_str_t  email = ngx_string("email");
    static ngx_str_t  role = ngx_string("role");

    ngx_adm_object_get(payload, &type, &value);

    if (v->type.len
        && value.type != NGX_ADM_VALUE_NONE
        && (value.type != NGX_ADM_VALUE_STRING
            || !ngx_adm_str_same(&value.string, &v->type)))
    {
        return ngx_adm_reason(CLAIM_TYPE);
    }

    why = ngx_adm_claims_meant(v, payload);
    if (why) {
        return why;
    }

    ngx_adm_claims_get(payload, &v->id, &id, &value);

    if (value.type == NGX_ADM_VALUE_NONE && v->id.len == 0) {
        ngx_adm_object_get(payload, &sub, &value);
    }

    if (value.type == NGX_ADM_VALUE_INTEGER) {
        p = ngx_adm_put_number(buf, value.integer);

        claims->uid.data = buf;
        claims->uid.len = p - buf;

    } else if (value.type == NGX_ADM_VALUE_STRING) {
        claims->uid = value.string;
    }

    if (!ngx_adm_is_user_id(&claims->uid)) {
        return ngx_adm_reason(CLAIM_USER);
    }

    ngx_adm_claims_get(payload, &v->email, &email, &value);
    ngx_adm_claims_text(&value, &claims->email);

    ngx_adm_claims_get(payload, &v->role, &role, &value);
    ngx_adm_claims_role(&value, buf + NGX_ADM_EVENT_MAX, claims);

    if (value.type == NGX_ADM_VALUE_NONE || value.type == NGX_ADM_VALUE_NULL) {
        ngx_str_set(&claims->role, "user");
    }

    return NULL;
}


/* checks by whom and for whom the token was issued, where that is configured */

static const char *
ngx_adm_claims_meant(ngx_adm_verifier_t *v, ngx_adm_object_t *payload)
{
    size_t            i;
    ngx_adm_value_t   value, one;

    static ngx_str_t  iss = ngx_string("iss");
    static ngx_str_t  aud = ngx_string("aud");

    if (v->iss.len) {
        ngx_adm_object_get(payload, &iss, &value);

        if (value.type != NGX_ADM_VALUE_STRING
            || !ngx_adm_str_same(&value.string, &v->iss))
        {
            return ngx_adm_reason(CLAIM_ISS);
        }
    }

    if (v->aud.len == 0) {
        return NULL;
    }

    ngx_adm_object_get(payload, &aud, &value);

    if (value.type == NGX_ADM_VALUE_STRING) {
        return ngx_adm_claims_listed(&v->aud, &value.string)
               ? NULL : ngx_adm_reason(CLAIM_AUD);
    }

    if (value.type == NGX_ADM_VALUE_OTHER) {

        for (i = 0; i < json_array_size(value.json); i++) {
            ngx_adm_object_value(json_array_get(value.json, i), &one);

            if (one.type == NGX_ADM_VALUE_STRING
                && ngx_adm_claims_listed(&v->aud, &one.string))
            {
                return NULL;
            }
        }
    }

    return ngx_adm_reason(CLAIM_AUD);
}


/*
 * whether a text is in a list separated by commas; an empty item matches
 * nothing
 */

static ngx_uint_t
ngx_adm_claims_listed(ngx_str_t *list, ngx_str_t *text)
{
    u_char     *p, *last;
    ngx_str_t   item;

    last = list->data + list->len;

    for (item.data = list->data; item.data <= last; item.data = p + 1) {

        p = ngx_strlchr(item.data, last, ',');
        if (p == NULL) {
            p = last;
        }

        item.len = p - item.data;

        if (item.len && ngx_adm_str_same(&item, text)) {
            return 1;
        }
    }

    return 0;
}


/*
 * A role, or several, which are joined for the backend, without those that
 * might be taken for two. buf is as long as a payload.
 */

static void
ngx_adm_claims_role(ngx_adm_value_t *value, u_char *buf,
    ngx_adm_claims_t *claims)
{
    size_t            i;
    u_char           *p;
    ngx_str_t         role;
    ngx_adm_value_t   one;

    if (value->type != NGX_ADM_VALUE_OTHER) {
        ngx_adm_claims_text(value, &claims->role);
        claims->admin = ngx_adm_str_is(&claims->role, "admin");
        return;
    }

    p = buf;

    for (i = 0; i < json_array_size(value->json); i++) {

        ngx_str_null(&role);
        ngx_adm_object_value(json_array_get(value->json, i), &one);
        ngx_adm_claims_text(&one, &role);

        if (role.len == 0
            || ngx_strlchr(role.data, role.data + role.len, ','))
        {
            continue;
        }

        if (ngx_adm_str_is(&role, "admin")) {
            claims->admin = 1;
        }

        if (p != buf) {
            *p++ = ',';
        }

        p = ngx_cpymem(p, role.data, role.len);
    }

    claims->role.data = buf;
    claims->role.len = p - buf;
}


static void
ngx_adm_claims_get(ngx_adm_object_t *payload, ngx_str_t *name, ngx_str_t *usual,
    ngx_adm_value_t *value)
{
    if (name->len) {
        ngx_adm_object_find(payload, name, value);

    } else {
        ngx_adm_object_get(payload, usual, value);
    }
}


/* empty, unless it is a text that may stand in a header */

static void
ngx_adm_claims_text(ngx_adm_value_t *value, ngx_str_t *text)
{
    if (value->type == NGX_ADM_VALUE_STRING && ngx_adm_is_text(&value->string))
    {
        *text = value->string;
    }
}
