
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The ways in which a request says who asks.  The user is looked for again
 * only where another location would look in another way.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "../host/keys.h"
#include "credentials.h"
#include "user.h"
#include "visitor.h"


static ngx_int_t ngx_adm_user_token(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static ngx_int_t ngx_adm_user_visitor(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static ngx_int_t ngx_adm_user_refused(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_int_t rc, const char *what, const char *why);
static ngx_int_t ngx_adm_user_variable(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_http_complex_value_t *value);


ngx_int_t
ngx_adm_user_find(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_str_t            prev;
    ngx_uint_t           source;
    ngx_adm_token_e      kind;
    ngx_adm_keyring_t   *keys;
    ngx_adm_loc_conf_t  *lcf, *last;

    /* whoever makes the request makes its subrequests */

    r = r->main;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    source = lcf->user->source;
    kind = (source == NGX_ADM_USER_JWT) ? NGX_ADM_TOKEN_USER
                                        : NGX_ADM_TOKEN_VISITOR;

    /* looked for in the same way before? (a variable may change any time) */

    last = ctx->user_of;

    if (last && last->user == lcf->user
        && source != NGX_ADM_USER_VARIABLE
        && (source == NGX_ADM_USER_OFF
            || last->cookies[kind] == lcf->cookies[kind]))
    {
        return NGX_OK;
    }

    prev = ctx->user.id;

    ngx_memzero(&ctx->user, sizeof(ngx_adm_user_t));
    ctx->user_why = NULL;

    switch (source) {

    case NGX_ADM_USER_JWT:
        keys = lcf->secrets[NGX_ADM_SECRET_USER];

        if (keys->sources.nelts) {
            ngx_adm_keys_look(keys, r->connection->log);
        }

        rc = ngx_adm_user_token(r, ctx);
        break;

    case NGX_ADM_USER_VISITOR:
        rc = ngx_adm_user_visitor(r, ctx);
        break;

    case NGX_ADM_USER_VARIABLE:
        rc = ngx_adm_user_variable(r, ctx, &lcf->user->value);
        break;

    default:
        rc = NGX_OK;
        break;
    }

    if (rc != NGX_OK) {
        return rc;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: user %s",
                   ctx->user.id.len ? "known" : "not known");

    ctx->user_of = lcf;

    if (prev.len && !ngx_adm_str_same(&prev, &ctx->user.id)) {
        /* an entry token that was found for another user is not this one's */
        ctx->entry = NULL;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_token(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *claims;

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_USER, NULL, NULL, NULL,
                                  &claims, &why);
    if (rc != NGX_OK) {
        return ngx_adm_user_refused(r, ctx, rc, "user token", why);
    }

    ctx->user.id = claims->uid;
    ctx->user.email = claims->email;
    ctx->user.role = claims->role;
    ctx->user.claims = claims;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_visitor(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *visitor;

    rc = ngx_adm_visitor_find(r, &visitor, &why);
    if (rc != NGX_OK) {
        return ngx_adm_user_refused(r, ctx, rc, "visitor", why);
    }

    ctx->user.id = visitor->vis;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_refused(ngx_http_request_t *r, ngx_adm_ctx_t *ctx, ngx_int_t rc,
    const char *what, const char *why)
{
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    ctx->user_why = why;

    if (why != ngx_adm_reason(NO_TOKEN)) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: %s refused: %s", what, why);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_variable(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_http_complex_value_t *value)
{
    ngx_int_t  rc;
    ngx_str_t  id;

    if (ctx->user_asked) {
        ngx_adm_cyclic(r, ctx);
        return NGX_OK;
    }

    ctx->user_asked = 1;

    rc = ngx_http_complex_value(r, value, &id);

    ctx->user_asked = 0;

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->cyclic) {
        return NGX_OK;
    }

    if (ngx_adm_is_user_id(&id)) {
        ctx->user.id = id;

    } else if (id.len) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: value of admission_user is no user's id");
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_user_make(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_adm_claims_t    *visitor;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->user->source != NGX_ADM_USER_VISITOR) {
        return NGX_DECLINED;
    }

    if (ngx_adm_visitor_make(r, &visitor) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&ctx->user, sizeof(ngx_adm_user_t));

    ctx->user.id = visitor->vis;
    ctx->user_of = lcf;

    return NGX_OK;
}
