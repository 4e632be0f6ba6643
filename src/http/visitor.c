
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A visitor is a random text that the module signed, in a cookie that outlives
 * sessions.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <openssl/rand.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "api.h"
#include "cookie.h"
#include "credentials.h"
#include "token_cookie.h"
#include "visitor.h"


#define NGX_ADM_VISITOR_RANDOM  16                 /* bytes */
#define NGX_ADM_VISITOR_BATCH   32                 /* of them */
#define NGX_ADM_VISITOR_LIFE    (400 * 24 * 3600)  /* s */


/* visitors that a request shows */

typedef struct {
    ngx_adm_claims_t           *first;
    ngx_adm_claims_t           *current;    /* the first whose cookie is set
                                               as it would be today */
    unsigned                    several:1;
    int64_t                     attributes; /* of such a cookie */
} ngx_adm_visitors_t;


/* a search for a token of a visitor's; event empty: any */

typedef struct {
    ngx_str_t                  *event;
    ngx_adm_claims_t          **visitor;
} ngx_adm_bound_t;


static ngx_int_t ngx_adm_visitor_event(ngx_http_request_t *r,
    ngx_str_t *event);
static ngx_int_t ngx_adm_visitor_bound(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_claims_t **visitor);
static ngx_int_t ngx_adm_visitor_count(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);
static ngx_int_t ngx_adm_visitor_holds(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);
static int64_t ngx_adm_visitor_attributes(ngx_http_request_t *r);
static u_char *ngx_adm_visitor_random(ngx_log_t *log);
static ngx_int_t ngx_adm_visitor_current(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);
static ngx_int_t ngx_adm_visitor_match(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);


ngx_int_t
ngx_adm_visitor_find(ngx_http_request_t *r, ngx_adm_claims_t **visitor,
    const char **why)
{
    ngx_int_t            rc;
    ngx_str_t            event;
    ngx_adm_claims_t    *none;
    ngx_adm_visitors_t   all;

    ngx_memzero(&all, sizeof(ngx_adm_visitors_t));

    all.attributes = ngx_adm_visitor_attributes(r);

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_VISITOR, NULL,
                                  ngx_adm_visitor_count, &all, &none, why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    *visitor = all.first;

    if (all.first == NULL) {
        return NGX_DECLINED;
    }

    if (!all.several) {
        return NGX_OK;
    }

    if (ngx_adm_visitor_event(r, &event) != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_adm_visitor_bound(r, &event, visitor);

    if (rc == NGX_DECLINED && event.len) {
        ngx_str_null(&event);

        rc = ngx_adm_visitor_bound(r, &event, visitor);
    }

    if (rc == NGX_DECLINED && all.current) {
        *visitor = all.current;
    }

    return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/* empty: none, or working it out needs the visitor */

static ngx_int_t
ngx_adm_visitor_event(ngx_http_request_t *r, ngx_str_t *event)
{
    ngx_int_t       rc;
    ngx_adm_ctx_t  *ctx;

    ngx_str_null(event);

    ctx = ngx_adm_ctx(r);

    if (ctx->api) {
        *event = ctx->api->event;
        return NGX_OK;
    }

    if (ctx->user_asked || ctx->event_asked) {
        return NGX_OK;
    }

    ctx->user_asked = 1;

    rc = ngx_adm_request_event(r->main, event);

    ctx->user_asked = 0;

    return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/* whose tokens, of the event or, empty, of any, the request shows */

static ngx_int_t
ngx_adm_visitor_bound(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_claims_t **visitor)
{
    ngx_int_t          rc;
    ngx_uint_t         i;
    const char        *why;
    ngx_adm_bound_t    bound;
    ngx_adm_claims_t  *none;

    static ngx_adm_token_e  kinds[] = {
        NGX_ADM_TOKEN_TIER2, NGX_ADM_TOKEN_PLACE,
        NGX_ADM_TOKEN_TIER1, NGX_ADM_TOKEN_TICKET };

    bound.event = event;
    bound.visitor = visitor;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        rc = ngx_adm_credentials_find(r, kinds[i], event, ngx_adm_visitor_holds,
                                      &bound, &none, &why);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    return NGX_DECLINED;
}


/* looks at all visitors, so it never says "this one" */

static ngx_int_t
ngx_adm_visitor_count(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    ngx_adm_visitors_t *all = data;

    *why = "one of several visitors, perhaps";

    if (all->first == NULL) {
        all->first = claims;

    } else if (!ngx_adm_str_same(&all->first->vis, &claims->vis)) {
        all->several = 1;
    }

    if (all->current == NULL && claims->cookie == all->attributes) {
        all->current = claims;
    }

    return NGX_DECLINED;
}


/* whether a token belongs to one of the visitors shown */

static ngx_int_t
ngx_adm_visitor_holds(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    ngx_adm_bound_t *bound = data;

    ngx_str_t  *holder;

    *why = ngx_adm_reason(EVENT);

    if (bound->event->len && !ngx_adm_str_same(&claims->sub, bound->event)) {
        return NGX_DECLINED;
    }

    *why = ngx_adm_reason(VISITOR);

    /* where visitors are users they are in uid */

    holder = claims->vis.len ? &claims->vis : &claims->uid;

    return ngx_adm_visitor_is(r, holder, bound->visitor);
}


static int64_t
ngx_adm_visitor_attributes(ngx_http_request_t *r)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    return ngx_adm_cookie_attributes(lcf->cookies[NGX_ADM_TOKEN_VISITOR]);
}


ngx_int_t
ngx_adm_visitor_make(ngx_http_request_t *r, ngx_adm_claims_t **visitor)
{
    ngx_str_t          src;
    ngx_adm_claims_t  *claims;

    src.len = NGX_ADM_VISITOR_RANDOM;

    src.data = ngx_adm_visitor_random(r->connection->log);
    if (src.data == NULL) {
        return NGX_ERROR;
    }

    claims = ngx_pcalloc(r->pool, sizeof(ngx_adm_claims_t));
    if (claims == NULL) {
        return NGX_ERROR;
    }

    claims->vis.data = ngx_pnalloc(r->pool, ngx_base64_encoded_length(src.len));
    if (claims->vis.data == NULL) {
        return NGX_ERROR;
    }

    ngx_encode_base64url(&claims->vis, &src);

    claims->cookie = ngx_adm_visitor_attributes(r);
    claims->iat = ngx_adm_now();
    claims->exp = claims->iat + NGX_ADM_VISITOR_LIFE;

    *visitor = claims;

    return ngx_adm_token_issue(r, NGX_ADM_TOKEN_VISITOR, claims,
                               NGX_ADM_VISITOR_LIFE, &claims->token);
}


/*
 * Bytes that nobody else gets, valid until the next call.  RAND_bytes() costs
 * about as much for many visitors as for one.
 */

static u_char *
ngx_adm_visitor_random(ngx_log_t *log)
{
    static u_char      random[NGX_ADM_VISITOR_BATCH] [NGX_ADM_VISITOR_RANDOM];
    static ngx_uint_t  left;

    if (left == 0) {

        if (RAND_bytes(random[0], sizeof(random)) != 1) {
            ngx_log_error(NGX_LOG_ERR, log, 0,
                          "admission: RAND_bytes() failed");
            return NULL;
        }

        left = NGX_ADM_VISITOR_BATCH;
    }

    return random[--left];
}


ngx_int_t
ngx_adm_visitor_cookie(ngx_http_request_t *r, ngx_adm_claims_t *visitor)
{
    time_t            age;
    ngx_str_t         any;
    ngx_adm_claims_t  anew;

    age = ngx_max(visitor->exp - ngx_adm_now(), 1);

    if (visitor->cookie == ngx_adm_visitor_attributes(r)) {
        ngx_str_null(&any);

        return ngx_adm_token_cookie(r, NGX_ADM_TOKEN_VISITOR, &any,
                                    &visitor->token, age);
    }

    anew = *visitor;
    anew.cookie = ngx_adm_visitor_attributes(r);

    return ngx_adm_token_issue(r, NGX_ADM_TOKEN_VISITOR, &anew, age, NULL);
}


ngx_int_t
ngx_adm_visitor_refresh(ngx_http_request_t *r, ngx_str_t *vis)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *visitor;

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_VISITOR, NULL,
                                  ngx_adm_visitor_current, vis, &visitor, &why);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    rc = ngx_adm_visitor_is(r, vis, &visitor);

    if (rc == NGX_OK) {
        rc = ngx_adm_visitor_cookie(r, visitor);
    }

    return rc == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


static ngx_int_t
ngx_adm_visitor_current(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    if (claims->cookie != ngx_adm_visitor_attributes(r)) {
        *why = "a cookie of other attributes";
        return NGX_DECLINED;
    }

    return ngx_adm_visitor_match(r, claims, data, why);
}


ngx_int_t
ngx_adm_visitor_is(ngx_http_request_t *r, ngx_str_t *vis,
    ngx_adm_claims_t **visitor)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *claims;

    if (vis->len == 0) {
        return NGX_DECLINED;
    }

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_VISITOR, NULL,
                                  ngx_adm_visitor_match, vis, &claims, &why);

    if (rc == NGX_OK && visitor) {
        *visitor = claims;
    }

    return rc;
}


static ngx_int_t
ngx_adm_visitor_match(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    if (ngx_adm_str_same(&claims->vis, data)) {
        return NGX_OK;
    }

    *why = ngx_adm_reason(VISITOR);

    return NGX_DECLINED;
}
