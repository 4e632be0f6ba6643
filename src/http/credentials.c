
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The tokens of all kinds that a request shows, and the search among them.
 * What was found is in the request's context: a list with an element for each
 * location that the request came to. (Waiting for Redis is no new location.)
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "cookie.h"
#include "credentials.h"
#include "ctx.h"
#include "headers.h"


/* where a token was shown, in the order in which tokens are tried */

typedef enum {
    NGX_ADM_SHOWN_HEADER = 0,
    NGX_ADM_SHOWN_EVENT,             /* a cookie of an event */
    NGX_ADM_SHOWN_COOKIE,
    NGX_ADM_SHOWN_NOWHERE } ngx_adm_shown_e;


typedef struct {
    ngx_adm_token_e       kind;
    ngx_adm_shown_e       where;
    ngx_str_t             event;     /* by the name of the cookie */
    ngx_str_t             value;
    ngx_adm_claims_t     *claims;    /* NULL: not verified, or wrong */
    const char           *why;       /* is wrong; NULL: not looked at */
} ngx_adm_credential_t;


struct ngx_adm_credentials_s {
    ngx_adm_credentials_t  *next;
    ngx_adm_loc_conf_t     *lcf;
    ngx_uint_t              pass;    /* r->uri_changes */
    ngx_array_t             shown;   /* ngx_adm_credential_t */
};


static ngx_adm_credentials_t *ngx_adm_credentials(ngx_http_request_t *r,
    ngx_adm_loc_conf_t *lcf);
static ngx_int_t ngx_adm_credentials_search(ngx_http_request_t *r,
    ngx_adm_credentials_t *all);
static ngx_int_t ngx_adm_credentials_cookies(ngx_adm_credentials_t *all,
    ngx_str_t *line, ngx_uint_t bearer);
static ngx_int_t ngx_adm_credentials_header(ngx_adm_credentials_t *all,
    ngx_adm_token_e kind, ngx_str_t *value);
static ngx_uint_t ngx_adm_credential_is_new(ngx_adm_credential_t *shown,
    ngx_str_t *event, ngx_str_t **tried, ngx_uint_t n);
static ngx_int_t ngx_adm_credential_read(ngx_http_request_t *r,
    ngx_adm_verifier_t *verifier, ngx_adm_credential_t *shown);


/* by ngx_adm_token_e */

static const char  *ngx_adm_credentials_headers[] = {
    "x-vwr-token",
    "x-queue-entry-token",
    "authorization",                        /* Bearer */
    "x-admission-visitor",
    "x-admission-ticket",
    "x-queue-place" };


ngx_int_t
ngx_adm_credentials_find(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_adm_credential_pt match, void *data,
    ngx_adm_claims_t **claims, const char **why)
{
    ngx_int_t               rc;
    ngx_str_t              *tried[NGX_ADM_CREDENTIALS];
    ngx_uint_t              i, n, where;
    const char             *wrong;
    ngx_adm_loc_conf_t     *lcf;
    ngx_adm_credential_t   *shown;
    ngx_adm_credentials_t  *all;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    all = ngx_adm_credentials(r, lcf);
    if (all == NULL) {
        return NGX_ERROR;
    }

    *claims = NULL;
    *why = ngx_adm_reason(NO_TOKEN);

    n = 0;

    for (where = 0; where < NGX_ADM_SHOWN_NOWHERE; where++) {

        shown = all->shown.elts;

        for (i = 0; i < all->shown.nelts; i++, shown++) {

            if (shown->kind != kind || shown->where != where
                || !ngx_adm_credential_is_new(shown, event, tried, n))
            {
                continue;
            }

            rc = ngx_adm_credential_read(r, &lcf->verifiers[kind], shown);
            wrong = shown->why;

            if (rc == NGX_OK && match) {
                rc = match(r, shown->claims, data, &wrong);
            }

            ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                           "admission: token of %s #%ui: %s",
                           ngx_adm_credentials_headers[kind], n,
                           rc == NGX_OK ? "good" : wrong ? wrong : "in doubt");

            if (rc == NGX_OK) {
                *claims = shown->claims;
            }

            if (rc != NGX_DECLINED) {
                return rc;
            }

            /*
             * a token that may be good in a moment counts more than one that
             * is wrong
             */

            if (n == 0 || wrong == ngx_adm_reason(NO_KEY)
                || wrong == ngx_adm_reason(FLOOD))
            {
                *why = wrong;
            }

            tried[n++] = &shown->value;
        }
    }

    return NGX_DECLINED;
}


/* all tokens that the request shows, looked for once; NULL: no memory */

static ngx_adm_credentials_t *
ngx_adm_credentials(ngx_http_request_t *r, ngx_adm_loc_conf_t *lcf)
{
    ngx_adm_ctx_t          *ctx;
    ngx_adm_credentials_t  *all;

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NULL;
    }

    for (all = ctx->credentials; all; all = all->next) {
        if (all->lcf == lcf && all->pass == r->main->uri_changes) {
            return all;
        }
    }

    all = ngx_palloc(r->pool, sizeof(ngx_adm_credentials_t));

    if (all == NULL
        || ngx_array_init(&all->shown, r->pool, 4, sizeof(ngx_adm_credential_t))
           != NGX_OK)
    {
        return NULL;
    }

    all->lcf = lcf;
    all->pass = r->main->uri_changes;

    if (ngx_adm_credentials_search(r, all) != NGX_OK) {
        return NULL;
    }

    all->next = ctx->credentials;
    ctx->credentials = all;

    return all;
}


static ngx_int_t
ngx_adm_credentials_search(ngx_http_request_t *r, ngx_adm_credentials_t *all)
{
    ngx_str_t               value;
    ngx_uint_t              kind, bearer, found;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    bearer = ngx_adm_bearer(r, &value);

    if (bearer
        && ngx_adm_credentials_header(all, NGX_ADM_TOKEN_USER, &value)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    found = (1 << NGX_ADM_TOKEN_USER);

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_in.headers, &pos))) {

        if (ngx_adm_header_named(h, "Cookie")) {

            if (ngx_adm_credentials_cookies(all, &h->value, bearer) != NGX_OK) {
                return NGX_ERROR;
            }

            continue;
        }

        /* all other headers for tokens begin with that, and few others do */

        if (h->key.len == 0 || ngx_tolower(h->key.data[0]) != 'x') {
            continue;
        }

        /* of several headers with one name the first counts */

        for (kind = 0; kind < NGX_ADM_TOKEN_KINDS; kind++) {

            if ((found & (1 << kind))
                || !ngx_adm_header_named(h, ngx_adm_credentials_headers[kind]))
            {
                continue;
            }

            found |= (1 << kind);

            if (ngx_adm_credentials_header(all, kind, &h->value) != NGX_OK) {
                return NGX_ERROR;
            }
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_credentials_cookies(ngx_adm_credentials_t *all, ngx_str_t *line,
    ngx_uint_t bearer)
{
    ngx_str_t             *name, suffix;
    ngx_uint_t             kind;
    ngx_adm_cookie_t       cookie;
    ngx_adm_credential_t  *shown;

    cookie.pos = line->data;
    cookie.last = line->data + line->len;

    while (ngx_adm_cookie_of(&cookie)) {

        for (kind = 0; kind < NGX_ADM_TOKEN_KINDS; kind++) {
            name = &all->lcf->cookies[kind]->name;

            /* few of a site's own cookies get any further */

            if (name->data[0] != cookie.name.data[0]
                || (kind == NGX_ADM_TOKEN_USER && bearer)
                || !ngx_adm_cookie_is(&cookie, name, &suffix)
                || (suffix.len && !ngx_adm_credentials_of_event(kind)))
            {
                continue;
            }

            shown = ngx_array_push(&all->shown);
            if (shown == NULL) {
                return NGX_ERROR;
            }

            shown->kind = kind;
            shown->where = suffix.len ? NGX_ADM_SHOWN_EVENT
                                      : NGX_ADM_SHOWN_COOKIE;
            shown->event = suffix;
            shown->value = cookie.value;
            shown->claims = NULL;
            shown->why = NULL;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_credentials_header(ngx_adm_credentials_t *all, ngx_adm_token_e kind,
    ngx_str_t *value)
{
    ngx_adm_credential_t  *shown;

    shown = ngx_array_push(&all->shown);
    if (shown == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(shown, sizeof(ngx_adm_credential_t));

    shown->kind = kind;
    shown->where = NGX_ADM_SHOWN_HEADER;
    shown->value = *value;

    return NGX_OK;
}


/*
 * is of this event, or of any, and not tried before: the same token twice is
 * one
 */

static ngx_uint_t
ngx_adm_credential_is_new(ngx_adm_credential_t *shown, ngx_str_t *event,
    ngx_str_t **tried, ngx_uint_t n)
{
    ngx_uint_t  i;

    if (shown->value.len == 0
        || n == NGX_ADM_CREDENTIALS
        || (shown->where == NGX_ADM_SHOWN_EVENT && event && event->len
            && !ngx_adm_str_same(event, &shown->event)
            && !ngx_adm_str_same_case(event, &shown->event)))
    {
        return 0;
    }

    for (i = 0; i < n; i++) {
        if (ngx_adm_str_same(tried[i], &shown->value)) {
            return 0;
        }
    }

    return 1;
}


/* verifies a token that was not looked at yet */

static ngx_int_t
ngx_adm_credential_read(ngx_http_request_t *r, ngx_adm_verifier_t *verifier,
    ngx_adm_credential_t *shown)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *claims;

    if (shown->claims) {
        return NGX_OK;
    }

    if (shown->why) {
        return NGX_DECLINED;
    }

    /* tokens of other issuers do not go by Redis, nor by its clock */

    rc = ngx_adm_token_verify(verifier, &shown->value,
                              r->connection->sockaddr,
                              verifier->kind == NGX_ADM_TOKEN_USER
                              ? ngx_time() : ngx_adm_now(),
                              r->pool, &claims, &why);
    if (rc == NGX_OK) {
        claims->token = shown->value;
        shown->claims = claims;

    } else if (rc == NGX_DECLINED) {
        shown->why = why;
    }

    return rc;
}


ngx_uint_t
ngx_adm_credentials_end(ngx_http_request_t *r)
{
    ngx_uint_t              i;
    ngx_adm_loc_conf_t     *lcf;
    ngx_adm_credential_t   *shown;
    ngx_adm_credentials_t  *all;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    all = ngx_adm_credentials(r, lcf);
    if (all == NULL) {
        return 0;
    }

    shown = all->shown.elts;

    for (i = 0; i < all->shown.nelts; i++) {
        if (ngx_adm_credentials_of_event(shown[i].kind)) {
            return 1;
        }
    }

    return 0;
}


void
ngx_adm_credentials_forget(ngx_adm_ctx_t *ctx, ngx_adm_token_e kind)
{
    ngx_uint_t              i;
    ngx_adm_credential_t   *shown;
    ngx_adm_credentials_t  *all;

    for (all = ctx->credentials; all; all = all->next) {
        shown = all->shown.elts;

        for (i = 0; i < all->shown.nelts; i++) {
            if (shown[i].kind == kind) {
                shown[i].why = NULL;
            }
        }
    }
}


ngx_uint_t
ngx_adm_bearer(ngx_http_request_t *r, ngx_str_t *token)
{
    u_char           *p, *last;
    ngx_table_elt_t  *h;
    ngx_adm_ctx_t    *ctx;

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

    /* nothing may follow it (NGINX takes off spaces at the end of a line) */

    if (p < last && *p != ' ') {
        return 0;
    }

    ctx = ngx_adm_ctx(r);

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
