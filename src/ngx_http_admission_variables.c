
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_address.h"
#include "ngx_http_admission_api.h"
#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_user.h"
#include "ngx_http_admission_variables.h"


static ngx_int_t ngx_http_admission_variable_main(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_event(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_entry_event(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event);
static ngx_int_t ngx_http_admission_variable_user(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_address(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_verdict(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_reason(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_admission_variable_position(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static void ngx_http_admission_variable_set(ngx_http_variable_value_t *v,
    ngx_str_t *value);


/* what asks for other variables, by the data of ngx_http_admission_vars */

static ngx_http_get_variable_pt  ngx_http_admission_main_getters[] = {
    ngx_http_admission_variable_event,
    ngx_http_admission_variable_user,
    ngx_http_admission_variable_client
};


static ngx_http_variable_t  ngx_http_admission_vars[] = {

    { ngx_string("admission_event"), NULL,
      ngx_http_admission_variable_main, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_user"), NULL,
      ngx_http_admission_variable_main, 1,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_client"), NULL,
      ngx_http_admission_variable_main, 2,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_address"), NULL,
      ngx_http_admission_variable_address, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_verdict"), NULL,
      ngx_http_admission_variable_verdict, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_reason"), NULL,
      ngx_http_admission_variable_reason, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("admission_position"), NULL,
      ngx_http_admission_variable_position, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


ngx_int_t
ngx_http_admission_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_admission_vars; v->name.len; v++) {

        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


/*
 * A value that is the request's own, worked out for a subrequest.  The two
 * share what variables hold: $uri, once it was asked for on behalf of the
 * request, would be the request's for the subrequest as well, which may have
 * measured its own and be about to copy it.  So they are asked for on a copy.
 */

static ngx_int_t
ngx_http_admission_variable_main(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    size_t                          size;
    ngx_int_t                       rc;
    ngx_http_request_t             *main;
    ngx_http_get_variable_pt        get;
    ngx_http_variable_value_t      *variables, *copy;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_admission_loc_conf_t  *lcf;

    get = ngx_http_admission_main_getters[data];
    main = r->main;
    lcf = ngx_http_get_module_loc_conf(main, ngx_http_admission_module);

    if (r == main
        || (lcf->event == NULL
            && lcf->user->source != NGX_HTTP_ADMISSION_USER_VARIABLE))
    {
        return get(main, v, 0);
    }

    cmcf = ngx_http_get_module_main_conf(main, ngx_http_core_module);
    size = cmcf->variables.nelts * sizeof(ngx_http_variable_value_t);

    copy = ngx_palloc(main->pool, size);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    variables = main->variables;
    ngx_memcpy(copy, variables, size);

    main->variables = copy;

    rc = get(main, v, 0);

    main->variables = variables;

    ngx_pfree(main->pool, copy);

    return rc;
}


/* the event of the path at an API, else that of the request, of the token */

static ngx_int_t
ngx_http_admission_variable_event(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_int_t                  rc;
    ngx_str_t                  event;
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->api && ctx->api->event.len) {
        ngx_http_admission_variable_set(v, &ctx->api->event);
        return NGX_OK;
    }

    ngx_str_null(&event);

    if (ctx->event_asked) {
        ngx_http_admission_cyclic(r, ctx);
        ngx_http_admission_variable_set(v, &event);

        return NGX_OK;
    }

    ctx->event_asked = 1;

    rc = ngx_http_admission_request_event(r, &event);

    if (rc == NGX_DECLINED) {
        rc = ngx_http_admission_entry_event(r, ctx, &event);
    }

    ctx->event_asked = 0;

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (ctx->cyclic) {
        ngx_str_null(&event);
    }

    ngx_http_admission_variable_set(v, &event);

    return NGX_OK;
}


/* that of an entry token which would let this user in here, or empty */

static ngx_int_t
ngx_http_admission_entry_event(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event)
{
    ngx_int_t                       rc;
    ngx_str_t                       any, *user;
    const char                     *why;
    ngx_http_admission_claims_t    *entry;
    ngx_http_admission_loc_conf_t  *lcf;

    if (ctx->entry) {
        *event = ctx->entry->sub;
        return NGX_OK;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ngx_str_null(&any);
    user = &any;

    if (lcf->tier2->bind
        && lcf->user->source != NGX_HTTP_ADMISSION_USER_OFF)
    {
        if (ngx_http_admission_user_find(r, ctx) != NGX_OK) {
            return NGX_ERROR;
        }

        user = &ctx->user.id;

        if (user->len == 0) {
            return NGX_OK;
        }
    }

    rc = ngx_http_admission_token_find(r, NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                       &any, user, &entry, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        *event = entry->sub;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_user(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx_get(r);

    if (ctx == NULL || ngx_http_admission_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_http_admission_variable_set(v, &ctx->user.id);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                  client;
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx_get(r);

    if (ctx == NULL || ngx_http_admission_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ngx_http_admission_client_name(r, &ctx->user.id,
                                       NGX_HTTP_ADMISSION_IPV6_PREFIX, &client)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_admission_variable_set(v, &client);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_address(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t  address;

    if (ngx_http_admission_address(r, NGX_HTTP_ADMISSION_IPV6_PREFIX, &address)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_admission_variable_set(v, &address);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_verdict(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_admission_ctx_t      *ctx;
    ngx_http_admission_verdict_e   verdict;

    ctx = ngx_http_admission_ctx(r);

    verdict = ctx ? ctx->verdict : NGX_HTTP_ADMISSION_VERDICT_NONE;

    ngx_http_admission_variable_set(v, &ngx_http_admission_verdicts[verdict]);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_reason(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                  reason;
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    ngx_str_null(&reason);

    if (ctx && ctx->reason) {
        reason.data = (u_char *) ctx->reason;
        reason.len = ngx_strlen(ctx->reason);
    }

    ngx_http_admission_variable_set(v, &reason);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_variable_position(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                  position;
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    ngx_str_null(&position);

    if (ctx && ctx->position > 0) {
        position.data = ngx_pnalloc(r->pool, NGX_INT64_LEN);
        if (position.data == NULL) {
            return NGX_ERROR;
        }

        position.len = ngx_sprintf(position.data, "%L", ctx->position)
                       - position.data;
    }

    ngx_http_admission_variable_set(v, &position);

    return NGX_OK;
}


/* an empty value is none: "-" in a log */

static void
ngx_http_admission_variable_set(ngx_http_variable_value_t *v,
    ngx_str_t *value)
{
    v->len = value->len;
    v->data = value->data;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = (value->len == 0);
}
