
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A browser gets cookies <name>-<event> for a few events only: what it sends
 * with each request has to stay small.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/text.h"
#include "../host/settings.h"
#include "cookie.h"
#include "credentials.h"
#include "token_cookie.h"


#define NGX_ADM_EVENT_COOKIES  4     /* of a kind, in a browser */

/* cookies of other events, looked at to find which to end */
#define NGX_ADM_OTHERS  16


/* a cookie of another event */

typedef struct {
    ngx_str_t                   name;
    ngx_str_t                   value;
    int64_t                     iat;        /* -1: the token does not verify */
} ngx_adm_other_t;


static ngx_int_t ngx_adm_token_event_cookie(ngx_http_request_t *r,
    ngx_adm_cookie_conf_t *conf, ngx_str_t *event, ngx_str_t *token,
    time_t max_age);
static ngx_int_t ngx_adm_token_limit(ngx_http_request_t *r,
    ngx_adm_token_e kind, ngx_str_t *event);
static ngx_uint_t ngx_adm_token_others(ngx_http_request_t *r,
    ngx_adm_cookie_conf_t *conf, ngx_str_t *event, ngx_adm_other_t *others);


ngx_int_t
ngx_adm_token_issue(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_adm_claims_t *claims, time_t max_age, ngx_str_t *token)
{
    ngx_str_t            value;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_adm_token_sign(kind, lcf->verifiers[kind].keys, claims, r->pool,
                           &value) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: issues \"%V\", event \"%V\", for %T s",
                   &lcf->cookies[kind]->name, &claims->sub, max_age);

    if (token) {
        *token = value;
    }

    return ngx_adm_token_cookie(r, kind, &claims->sub, &value, max_age);
}


ngx_int_t
ngx_adm_token_cookie(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event, ngx_str_t *token, time_t max_age)
{
    ngx_adm_loc_conf_t     *lcf;
    ngx_adm_cookie_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    conf = lcf->cookies[kind];

    if (!conf->per_event || event->len == 0) {
        return ngx_adm_cookie_set(r, conf, &conf->name, token, max_age);
    }

    if (ngx_adm_token_event_cookie(r, conf, event, token, max_age) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_adm_token_limit(r, kind, event);
}


ngx_int_t
ngx_adm_token_clear(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event)
{
    ngx_str_t               empty;
    ngx_adm_loc_conf_t     *lcf;
    ngx_adm_cookie_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    conf = lcf->cookies[kind];

    ngx_str_set(&empty, "");

    if (event->len
        && ngx_adm_credentials_of_event(kind)
        && ngx_adm_token_event_cookie(r, conf, event, &empty, 0)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_cookie_set(r, conf, &conf->name, &empty, 0);
}


static ngx_int_t
ngx_adm_token_event_cookie(ngx_http_request_t *r, ngx_adm_cookie_conf_t *conf,
    ngx_str_t *event, ngx_str_t *token, time_t max_age)
{
    ngx_str_t  name;

    name.len = conf->name.len + 1 + event->len;

    name.data = ngx_pnalloc(r->pool, name.len);
    if (name.data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_adm_put(name.data, name.data + name.len, "%V-%V",
                       &conf->name, event);

    return ngx_adm_cookie_set(r, conf, &name, token, max_age);
}


/* ends cookies of other events, oldest first, until there are few */

static ngx_int_t
ngx_adm_token_limit(ngx_http_request_t *r, ngx_adm_token_e kind,
    ngx_str_t *event)
{
    ngx_int_t            rc;
    ngx_str_t            empty;
    ngx_uint_t           i, n, oldest;
    const char          *why;
    ngx_adm_other_t      others[NGX_ADM_OTHERS];
    ngx_adm_claims_t    *claims;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    n = ngx_adm_token_others(r, lcf->cookies[kind], event, others);

    if (n < NGX_ADM_EVENT_COOKIES) {
        return NGX_OK;
    }

    ngx_str_set(&empty, "");

    for (i = 0; i < n; i++) {
        others[i].iat = -1;

        rc = ngx_adm_token_verify(&lcf->verifiers[kind], &others[i].value,
                                  r->connection->sockaddr, ngx_adm_now(),
                                  r->pool, &claims, &why);
        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK) {
            /* a ticket has its time of issue in "at" only */
            others[i].iat = claims->iat ? claims->iat : claims->at / 1000000;
        }
    }

    while (n >= NGX_ADM_EVENT_COOKIES) {
        oldest = 0;

        for (i = 1; i < n; i++) {
            if (others[i].iat < others[oldest].iat) {
                oldest = i;
            }
        }

        if (ngx_adm_cookie_set(r, lcf->cookies[kind], &others[oldest].name,
                               &empty, 0) != NGX_OK)
        {
            return NGX_ERROR;
        }

        others[oldest] = others[--n];
    }

    return NGX_OK;
}


/* cookies of other events, one for each name; returns how many */

static ngx_uint_t
ngx_adm_token_others(ngx_http_request_t *r, ngx_adm_cookie_conf_t *conf,
    ngx_str_t *event, ngx_adm_other_t *others)
{
    u_char            id[NGX_ADM_EVENT_MAX];
    ngx_str_t         suffix;
    ngx_uint_t        i, n;
    ngx_adm_cookie_t  cookie;

    n = 0;

    ngx_memzero(&cookie, sizeof(ngx_adm_cookie_t));

    while (n < NGX_ADM_OTHERS && ngx_adm_cookie_next(r, &cookie)) {
        if (!ngx_adm_cookie_is(&cookie, &conf->name, &suffix)
            || ngx_adm_str_same(&suffix, event)
            || ngx_adm_event_id(&suffix, id) != NGX_OK)
        {
            continue;
        }

        for (i = 0; i < n; i++) {
            if (ngx_adm_str_same(&others[i].name, &cookie.name)) {
                break;
            }
        }

        if (i == n) {
            others[n].name = cookie.name;
            others[n].value = cookie.value;
            n++;
        }
    }

    return n;
}
