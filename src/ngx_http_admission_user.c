
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_user.h"
#include "ngx_http_admission_visitor.h"


static ngx_uint_t ngx_http_admission_user_found(
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *lcf);
static ngx_int_t ngx_http_admission_user_jwt(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_user_visitor(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_user_variable(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_complex_value_t *value);


ngx_int_t
ngx_http_admission_user_find(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc;
    ngx_str_t                       prev;
    ngx_http_admission_loc_conf_t  *lcf;

    /* a subrequest is asked by whom the request is asked by */

    r = r->main;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_http_admission_user_found(ctx->user_of, lcf)) {
        return NGX_OK;
    }

    prev = ctx->user.id;

    ngx_memzero(&ctx->user, sizeof(ngx_http_admission_user_t));
    ctx->user_bearer = 0;

    switch (lcf->user->source) {

    case NGX_HTTP_ADMISSION_USER_JWT:
        rc = ngx_http_admission_user_jwt(r, ctx);
        break;

    case NGX_HTTP_ADMISSION_USER_VISITOR:
        rc = ngx_http_admission_user_visitor(r, ctx);
        break;

    case NGX_HTTP_ADMISSION_USER_VARIABLE:
        rc = ngx_http_admission_user_variable(r, ctx, &lcf->user->value);
        break;

    default:
        rc = NGX_OK;
        break;
    }

    if (rc != NGX_OK) {
        return rc;
    }

    ctx->user_of = lcf;

    if (prev.len
        && (prev.len != ctx->user.id.len
            || ngx_memcmp(prev.data, ctx->user.id.data, prev.len) != 0))
    {
        /* an event that somebody else was let into is none of this one's */
        ctx->entry = NULL;
    }

    return NGX_OK;
}


/* is who was found by the one who the other would find? */

static ngx_uint_t
ngx_http_admission_user_found(ngx_http_admission_loc_conf_t *prev,
    ngx_http_admission_loc_conf_t *lcf)
{
    ngx_http_admission_token_e  kind;

    if (prev == NULL || prev->user != lcf->user) {
        return 0;
    }

    switch (lcf->user->source) {

    case NGX_HTTP_ADMISSION_USER_JWT:
        kind = NGX_HTTP_ADMISSION_TOKEN_USER;
        break;

    case NGX_HTTP_ADMISSION_USER_VISITOR:
        kind = NGX_HTTP_ADMISSION_TOKEN_VISITOR;
        break;

    case NGX_HTTP_ADMISSION_USER_VARIABLE:
        /* it may get its value any time */
        return 0;

    default:
        return 1;
    }

    return prev->cookies[kind] == lcf->cookies[kind];
}


static ngx_int_t
ngx_http_admission_user_jwt(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                     rc;
    ngx_str_t                     any, token;
    const char                   *why;
    ngx_http_admission_claims_t  *claims;

    ngx_str_null(&any);

    rc = ngx_http_admission_token_find(r, NGX_HTTP_ADMISSION_TOKEN_USER,
                                       &any, &any, &claims, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_DECLINED) {

        if (why != ngx_http_admission_reason(NO_TOKEN)) {
            ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                          "admission: user token refused: %s", why);
        }

        return NGX_OK;
    }

    ctx->user.id = claims->uid;
    ctx->user.email = claims->email;
    ctx->user.role = claims->role;
    ctx->user.claims = claims;

    ctx->user_bearer = ngx_http_admission_token_bearer(r, &token);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_user_visitor(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                     rc;
    ngx_str_t                     any;
    const char                   *why;
    ngx_http_admission_claims_t  *claims;

    ngx_str_null(&any);

    rc = ngx_http_admission_token_find(r, NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                       &any, &any, &claims, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        ctx->user.id = claims->vis;

    } else if (why != ngx_http_admission_reason(NO_TOKEN)) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: visitor refused: %s", why);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_user_variable(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_complex_value_t *value)
{
    ngx_int_t  rc;
    ngx_str_t  id;

    if (ctx->user_asked) {
        ngx_http_admission_cyclic(r, ctx);
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

    if (ngx_http_admission_is_user_id(&id)) {
        ctx->user.id = id;

    } else if (id.len) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: value of admission_user is no user's id");
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_user_make(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_claims_t    *visitor;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->user->source != NGX_HTTP_ADMISSION_USER_VISITOR) {
        return NGX_DECLINED;
    }

    if (ngx_http_admission_visitor_make(r, &visitor) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&ctx->user, sizeof(ngx_http_admission_user_t));

    ctx->user.id = visitor->vis;
    ctx->user_of = lcf;

    return NGX_OK;
}
