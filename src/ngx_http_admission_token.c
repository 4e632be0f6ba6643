
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_cookie.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_room.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_zone.h"


/* cookies of other events that are looked at before one is ended */
#define NGX_HTTP_ADMISSION_SHOWN  16


/* a cookie of another event */

typedef struct {
    ngx_str_t                   name;
    ngx_str_t                   value;
    int64_t                     iat;        /* -1: it does not verify */
} ngx_http_admission_shown_t;


static void ngx_http_admission_token_candidate(
    ngx_http_admission_candidates_t *found, ngx_str_t *value);
static ngx_uint_t ngx_http_admission_token_of_event(
    ngx_http_admission_token_e kind);
static ngx_uint_t ngx_http_admission_token_suffix(
    ngx_http_admission_cookie_t *cookie, ngx_str_t *name, ngx_str_t *suffix);
static ngx_int_t ngx_http_admission_token_judge(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    ngx_str_t *event, ngx_str_t *user, const char **wrong);
static const char *ngx_http_admission_token_mismatch(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    ngx_str_t *event, ngx_str_t *user);
static ngx_int_t ngx_http_admission_token_revoked(ngx_http_request_t *r,
    ngx_http_admission_claims_t *entry);
static ngx_uint_t ngx_http_admission_token_same(
    ngx_http_admission_claims_t *a, ngx_http_admission_claims_t *b);
static ngx_int_t ngx_http_admission_token_cookie_name(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *event,
    ngx_str_t *name);
static ngx_int_t ngx_http_admission_token_limit(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event);
static ngx_uint_t ngx_http_admission_token_shown(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *event,
    ngx_http_admission_shown_t *shown);


/* by ngx_http_admission_token_e */

static const char  *ngx_http_admission_token_headers[] = {
    "x-vwr-token",
    "x-queue-entry-token",
    NULL,                                   /* Authorization: Bearer */
    "x-admission-visitor",
    "x-admission-ticket",
    "x-queue-place"
};


void
ngx_http_admission_token_candidates(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event,
    ngx_http_admission_candidates_t *found)
{
    ngx_str_t                        *name, value, suffix;
    ngx_uint_t                        i, of_event;
    ngx_table_elt_t                  *h;
    ngx_http_admission_cookie_t       cookie;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_candidates_t   plain;

    found->n = 0;
    plain.n = 0;

    if (kind == NGX_HTTP_ADMISSION_TOKEN_USER) {

        if (ngx_http_admission_token_bearer(r, &value)) {
            ngx_http_admission_token_candidate(found, &value);
            return;
        }

    } else {
        h = ngx_http_admission_header(r,
                                      ngx_http_admission_token_headers[kind]);
        if (h) {
            ngx_http_admission_token_candidate(found, &h->value);
        }
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    name = &lcf->cookies[kind]->name;
    of_event = ngx_http_admission_token_of_event(kind);

    ngx_memzero(&cookie, sizeof(ngx_http_admission_cookie_t));

    while (ngx_http_admission_cookie_next(r, &cookie)) {

        if (cookie.name.len == name->len) {

            if (ngx_memcmp(cookie.name.data, name->data, name->len) == 0) {
                ngx_http_admission_token_candidate(&plain, &cookie.value);
            }

            continue;
        }

        if (!of_event
            || !ngx_http_admission_token_suffix(&cookie, name, &suffix))
        {
            continue;
        }

        if (event->len == 0
            || (event->len == suffix.len
                && (ngx_memcmp(event->data, suffix.data, suffix.len) == 0
                    || ngx_strncasecmp(event->data, suffix.data, suffix.len)
                       == 0)))
        {
            ngx_http_admission_token_candidate(found, &cookie.value);
        }
    }

    for (i = 0; i < plain.n; i++) {
        ngx_http_admission_token_candidate(found, &plain.value[i]);
    }
}


/* one more, if there is room; the same one twice is one */

static void
ngx_http_admission_token_candidate(ngx_http_admission_candidates_t *found,
    ngx_str_t *value)
{
    ngx_uint_t  i;

    if (value->len == 0 || found->n == NGX_HTTP_ADMISSION_CANDIDATES) {
        return;
    }

    for (i = 0; i < found->n; i++) {
        if (value->len == found->value[i].len
            && ngx_memcmp(value->data, found->value[i].data, value->len) == 0)
        {
            return;
        }
    }

    found->value[found->n++] = *value;
}


static ngx_uint_t
ngx_http_admission_token_of_event(ngx_http_admission_token_e kind)
{
    return kind != NGX_HTTP_ADMISSION_TOKEN_USER
           && kind != NGX_HTTP_ADMISSION_TOKEN_VISITOR;
}


/* what follows <name>- in the name of a cookie */

static ngx_uint_t
ngx_http_admission_token_suffix(ngx_http_admission_cookie_t *cookie,
    ngx_str_t *name, ngx_str_t *suffix)
{
    if (cookie->name.len < name->len + 2
        || ngx_memcmp(cookie->name.data, name->data, name->len) != 0
        || cookie->name.data[name->len] != '-')
    {
        return 0;
    }

    suffix->data = cookie->name.data + name->len + 1;
    suffix->len = cookie->name.len - name->len - 1;

    return 1;
}


ngx_int_t
ngx_http_admission_token_find(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_claims_t **claims, const char **why)
{
    ngx_int_t                         rc, doubt;
    ngx_uint_t                        i;
    const char                       *wrong;
    ngx_http_admission_claims_t      *doubted;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_candidates_t   found;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ngx_http_admission_token_candidates(r, kind, event, &found);

    *why = ngx_http_admission_reason(NO_TOKEN);

    doubt = NGX_DECLINED;
    doubted = NULL;

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_token_verify(&lcf->verifiers[kind],
                                             &found.value[i],
                                             ngx_http_admission_now(),
                                             r->pool, claims, &wrong);
        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK) {
            rc = ngx_http_admission_token_judge(r, kind, *claims, event, user,
                                                &wrong);
            (*claims)->token = found.value[i];
        }

        if (rc == NGX_OK
            && (doubt != NGX_AGAIN
                || ngx_http_admission_token_same(*claims, doubted)))
        {
            return NGX_OK;
        }

        if (rc == NGX_DECLINED) {
            if (i == 0) {
                *why = wrong;
            }

            continue;
        }

        /* the first in doubt; where one may be asked about, before others */

        if (rc != NGX_OK && doubt != NGX_AGAIN
            && (rc == NGX_AGAIN || doubt == NGX_DECLINED))
        {
            doubt = rc;
            doubted = *claims;
        }
    }

    *claims = doubted;

    return doubt;
}


/* NGX_DECLINED: *wrong says why; NGX_AGAIN, NGX_BUSY: as _find() does */

static ngx_int_t
ngx_http_admission_token_judge(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    ngx_str_t *event, ngx_str_t *user, const char **wrong)
{
    ngx_int_t  rc;

    *wrong = ngx_http_admission_token_mismatch(r, kind, claims, event, user);

    if (*wrong) {
        return NGX_DECLINED;
    }

    if (kind != NGX_HTTP_ADMISSION_TOKEN_TIER2) {
        return NGX_OK;
    }

    rc = ngx_http_admission_token_revoked(r, claims);

    if (rc == NGX_DECLINED) {
        *wrong = ngx_http_admission_reason(REVOKED);
    }

    return rc;
}


static const char *
ngx_http_admission_token_mismatch(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    ngx_str_t *event, ngx_str_t *user)
{
    ngx_http_admission_main_conf_t  *mcf;

    if (!ngx_http_admission_token_of_event(kind)) {
        return NULL;
    }

    if (event->len
        && (claims->sub.len != event->len
            || ngx_memcmp(claims->sub.data, event->data, event->len) != 0))
    {
        return ngx_http_admission_reason(EVENT);
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (event->len == 0
        && kind == NGX_HTTP_ADMISSION_TOKEN_TIER2
        && !ngx_http_admission_event_is_named(mcf, &claims->sub))
    {
        return ngx_http_admission_reason(NOT_NAMED);
    }

    if (user->len
        && (claims->uid.len != user->len
            || ngx_memcmp(claims->uid.data, user->data, user->len) != 0))
    {
        return ngx_http_admission_reason(ANOTHER_USER);
    }

    return NULL;
}


/* by what the host knows, and what this request was told by Redis */

static ngx_int_t
ngx_http_admission_token_revoked(ngx_http_request_t *r,
    ngx_http_admission_claims_t *entry)
{
    int64_t                      adm;
    ngx_int_t                    rc;
    ngx_http_admission_asked_t  *asked;

    adm = entry->adm ? entry->adm
                     : ngx_min(entry->iat, ngx_http_admission_now()) * 1000000;

    rc = ngx_http_admission_revoked(&entry->sub, &entry->uid, adm,
                                    &entry->older);
    if (rc != NGX_AGAIN) {
        return rc;
    }

    asked = ngx_http_admission_ctx_asked(r, entry);

    if (asked == NULL) {
        return NGX_AGAIN;
    }

    if (asked->rc != NGX_OK) {
        return NGX_BUSY;
    }

    return (adm <= asked->revoked) ? NGX_DECLINED : NGX_OK;
}


/* of the same user and event: one is as good as the other */

static ngx_uint_t
ngx_http_admission_token_same(ngx_http_admission_claims_t *a,
    ngx_http_admission_claims_t *b)
{
    return a->sub.len == b->sub.len
           && a->uid.len == b->uid.len
           && ngx_memcmp(a->sub.data, b->sub.data, a->sub.len) == 0
           && ngx_memcmp(a->uid.data, b->uid.data, a->uid.len) == 0;
}


ngx_int_t
ngx_http_admission_token_issue(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_http_admission_claims_t *claims,
    time_t max_age, ngx_str_t *token)
{
    ngx_str_t                       value;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_http_admission_token_sign(kind, lcf->verifiers[kind].keys, claims,
                                      r->pool, &value)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (token) {
        *token = value;
    }

    return ngx_http_admission_token_cookie(r, kind, &claims->sub, &value,
                                           max_age);
}


ngx_int_t
ngx_http_admission_token_cookie(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event, ngx_str_t *token,
    time_t max_age)
{
    ngx_str_t                          name;
    ngx_http_admission_loc_conf_t     *lcf;
    ngx_http_admission_cookie_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    conf = lcf->cookies[kind];

    if (!conf->per_event || event->len == 0) {
        return ngx_http_admission_cookie_set(r, conf, &conf->name, token,
                                             max_age);
    }

    if (ngx_http_admission_token_cookie_name(r, conf, event, &name) != NGX_OK
        || ngx_http_admission_cookie_set(r, conf, &name, token, max_age)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_admission_token_limit(r, kind, event);
}


ngx_int_t
ngx_http_admission_token_clear(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event)
{
    ngx_str_t                          name, value;
    ngx_http_admission_loc_conf_t     *lcf;
    ngx_http_admission_cookie_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    conf = lcf->cookies[kind];

    ngx_str_set(&value, "");

    if (event->len && ngx_http_admission_token_of_event(kind)) {

        if (ngx_http_admission_token_cookie_name(r, conf, event, &name)
            != NGX_OK
            || ngx_http_admission_cookie_set(r, conf, &name, &value, 0)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return ngx_http_admission_cookie_set(r, conf, &conf->name, &value, 0);
}


static ngx_int_t
ngx_http_admission_token_cookie_name(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *event, ngx_str_t *name)
{
    u_char  *p;

    name->len = conf->name.len + 1 + event->len;

    p = ngx_pnalloc(r->pool, name->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    name->data = p;

    p = ngx_cpymem(p, conf->name.data, conf->name.len);
    *p++ = '-';
    ngx_memcpy(p, event->data, event->len);

    return NGX_OK;
}


/* ends cookies of other events, the oldest first, until few are left */

static ngx_int_t
ngx_http_admission_token_limit(ngx_http_request_t *r,
    ngx_http_admission_token_e kind, ngx_str_t *event)
{
    ngx_int_t                         rc;
    ngx_str_t                         empty;
    ngx_uint_t                        i, n, oldest;
    const char                       *why;
    ngx_http_admission_claims_t      *claims;
    ngx_http_admission_shown_t        shown[NGX_HTTP_ADMISSION_SHOWN];
    ngx_http_admission_loc_conf_t    *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    n = ngx_http_admission_token_shown(r, lcf->cookies[kind], event, shown);

    if (n < NGX_HTTP_ADMISSION_EVENT_COOKIES) {
        return NGX_OK;
    }

    ngx_str_set(&empty, "");

    for (i = 0; i < n; i++) {

        rc = ngx_http_admission_token_verify(&lcf->verifiers[kind],
                                             &shown[i].value,
                                             ngx_http_admission_now(),
                                             r->pool, &claims, &why);
        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK) {
            /* a ticket says when it was issued by "at" alone */
            shown[i].iat = claims->iat ? claims->iat : claims->at / 1000000;

        } else {
            shown[i].iat = -1;
        }
    }

    while (n >= NGX_HTTP_ADMISSION_EVENT_COOKIES) {
        oldest = 0;

        for (i = 1; i < n; i++) {
            if (shown[i].iat < shown[oldest].iat) {
                oldest = i;
            }
        }

        if (ngx_http_admission_cookie_set(r, lcf->cookies[kind],
                                          &shown[oldest].name, &empty, 0)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        shown[oldest] = shown[--n];
    }

    return NGX_OK;
}


/* the cookies of other events, each name once; returns how many */

static ngx_uint_t
ngx_http_admission_token_shown(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *event,
    ngx_http_admission_shown_t *shown)
{
    u_char                       id[NGX_HTTP_ADMISSION_EVENT_MAX];
    ngx_str_t                    suffix;
    ngx_uint_t                   i, n;
    ngx_http_admission_cookie_t  cookie;

    n = 0;

    ngx_memzero(&cookie, sizeof(ngx_http_admission_cookie_t));

    while (n < NGX_HTTP_ADMISSION_SHOWN
           && ngx_http_admission_cookie_next(r, &cookie))
    {
        if (!ngx_http_admission_token_suffix(&cookie, &conf->name, &suffix)
            || ngx_http_admission_event_id(&suffix, id) != NGX_OK
            || (suffix.len == event->len
                && ngx_memcmp(suffix.data, event->data, event->len) == 0))
        {
            continue;
        }

        for (i = 0; i < n; i++) {
            if (shown[i].name.len == cookie.name.len
                && ngx_memcmp(shown[i].name.data, cookie.name.data,
                              cookie.name.len)
                   == 0)
            {
                break;
            }
        }

        if (i == n) {
            shown[n].name = cookie.name;
            shown[n].value = cookie.value;
            n++;
        }
    }

    return n;
}


ngx_uint_t
ngx_http_admission_token_bearer(ngx_http_request_t *r, ngx_str_t *token)
{
    u_char                    *p, *last;
    ngx_table_elt_t           *h;
    ngx_http_admission_ctx_t  *ctx;

    ngx_str_null(token);

    h = r->headers_in.authorization;

    if (h == NULL
        || h->value.len < sizeof("Bearer") - 1
        || ngx_strncasecmp(h->value.data, (u_char *) "Bearer",
                           sizeof("Bearer") - 1)
           != 0)
    {
        return 0;
    }

    p = h->value.data + sizeof("Bearer") - 1;
    last = h->value.data + h->value.len;

    /* nothing may follow: NGINX takes the spaces at the end of a line away */

    if (p < last && *p != ' ') {
        return 0;
    }

    ctx = ngx_http_admission_ctx(r);

    if (ctx && ctx->authorization == h) {
        return 0;
    }

    while (p < last && *p == ' ') {
        p++;
    }

    token->data = p;
    token->len = last - p;

    return 1;
}


ngx_table_elt_t *
ngx_http_admission_header(ngx_http_request_t *r, const char *lowcase_name)
{
    size_t            len;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    len = ngx_strlen(lowcase_name);

    part = &r->headers_in.headers.part;
    h = part->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= part->nelts) {
            if (part->next == NULL) {
                return NULL;
            }

            part = part->next;
            h = part->elts;
            i = 0;
        }

        if (h[i].key.len == len
            && ngx_strncasecmp(h[i].key.data, (u_char *) lowcase_name, len)
               == 0)
        {
            return &h[i];
        }
    }
}
