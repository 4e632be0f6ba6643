
/*
 * Copyright (C) 2026 the admission module authors
 *
 * While event and user are being worked out they may be asked for, since both
 * may be made of variables: then they have no value.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/address.h"
#include "../base/reason.h"
#include "api.h"
#include "ctx.h"
#include "entry.h"
#include "user.h"
#include "variables.h"


/* a value, empty where there is none; NGX_ERROR: no memory */

typedef ngx_int_t (*ngx_adm_variable_pt)(ngx_http_request_t *r,
    ngx_str_t *value);


static ngx_int_t ngx_adm_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_adm_main_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_adm_variable_event(ngx_http_request_t *r,
    ngx_str_t *event);
static ngx_int_t ngx_adm_entry_event(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event);
static ngx_int_t ngx_adm_variable_user(ngx_http_request_t *r, ngx_str_t *user);
static ngx_int_t ngx_adm_variable_client(ngx_http_request_t *r,
    ngx_str_t *client);
static ngx_int_t ngx_adm_variable_address(ngx_http_request_t *r,
    ngx_str_t *address);
static ngx_int_t ngx_adm_variable_verdict(ngx_http_request_t *r,
    ngx_str_t *verdict);
static ngx_int_t ngx_adm_variable_reason(ngx_http_request_t *r,
    ngx_str_t *reason);
static ngx_int_t ngx_adm_variable_position(ngx_http_request_t *r,
    ngx_str_t *position);
static ngx_int_t ngx_adm_variable_uri(ngx_http_request_t *r, ngx_str_t *uri);


/* a main_variable may need other variables to be worked out */

#define GET(handler, name)                                                    \
    ngx_adm_##handler, (uintptr_t) ngx_adm_variable_##name,                   \
    NGX_HTTP_VAR_NOCACHEABLE, 0

static ngx_http_variable_t  ngx_adm_vars[] = {

    { ngx_string("admission_event"), NULL, GET(main_variable, event) },
    { ngx_string("admission_user"), NULL, GET(main_variable, user) },
    { ngx_string("admission_client"), NULL, GET(main_variable, client) },
    { ngx_string("admission_address"), NULL, GET(variable, address) },
    { ngx_string("admission_verdict"), NULL, GET(variable, verdict) },
    { ngx_string("admission_reason"), NULL, GET(variable, reason) },
    { ngx_string("admission_position"), NULL, GET(variable, position) },
    { ngx_string("admission_uri"), NULL, GET(variable, uri) },

    ngx_http_null_variable };


ngx_int_t
ngx_adm_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_adm_vars; v->name.len; v++) {

        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


/* sets a variable; an empty value becomes "not found", "-" in a log */

static ngx_int_t
ngx_adm_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    ngx_str_t            value;
    ngx_adm_variable_pt  get;

    get = (ngx_adm_variable_pt) data;

    ngx_str_null(&value);

    if (get(r, &value) == NGX_ERROR) {
        return NGX_ERROR;
    }

    v->len = value.len;
    v->data = value.data;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = (value.len == 0);

    return NGX_OK;
}


/*
 * A value of the main request that is worked out for a subrequest.  The two
 * share values of variables: $uri, once it was asked for on behalf of the main
 * request, would be the main request's for the subrequest as well, which may
 * just have measured its own and be about to copy it.  So variables are asked
 * for on a copy.
 */

static ngx_int_t
ngx_adm_main_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    size_t                      size;
    ngx_int_t                   rc;
    ngx_http_request_t         *main;
    ngx_http_variable_value_t  *variables, *copy;
    ngx_http_core_main_conf_t  *cmcf;
    ngx_adm_loc_conf_t         *lcf;

    main = r->main;
    lcf = ngx_http_get_module_loc_conf(main, ngx_http_admission_module);

    if (r == main
        || (lcf->event == NULL && lcf->user->source != NGX_ADM_USER_VARIABLE))
    {
        return ngx_adm_variable(main, v, data);
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

    rc = ngx_adm_variable(main, v, data);

    main->variables = variables;

    ngx_pfree(main->pool, copy);

    return rc;
}


/*
 * at an API the event in the path, else that of the request, else of the token
 */

static ngx_int_t
ngx_adm_variable_event(ngx_http_request_t *r, ngx_str_t *event)
{
    ngx_int_t       rc;
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->api && ctx->api->event.len) {
        *event = ctx->api->event;
        return NGX_OK;
    }

    if (ctx->event_asked) {
        ngx_adm_cyclic(r, ctx);
        return NGX_OK;
    }

    ctx->event_asked = 1;

    rc = ngx_adm_request_event(r, event);

    if (rc == NGX_DECLINED) {
        rc = ngx_adm_entry_event(r, ctx, event);
    }

    ctx->event_asked = 0;

    if (ctx->cyclic) {
        ngx_str_null(event);
    }

    return rc;
}


/* the event of an entry token that would let this user in here, or empty */

static ngx_int_t
ngx_adm_entry_event(ngx_http_request_t *r, ngx_adm_ctx_t *ctx, ngx_str_t *event)
{
    ngx_int_t            rc;
    ngx_str_t            any, *user;
    const char          *why;
    ngx_adm_claims_t    *entry;
    ngx_adm_loc_conf_t  *lcf;

    if (ctx->entry) {
        *event = ctx->entry->sub;
        return NGX_OK;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ngx_str_null(&any);
    user = &any;

    if (lcf->tier2->bind && lcf->user->source != NGX_ADM_USER_OFF) {
        if (ngx_adm_user_find(r, ctx) != NGX_OK) {
            return NGX_ERROR;
        }

        user = &ctx->user.id;

        if (user->len == 0) {
            return NGX_OK;
        }
    }

    rc = ngx_adm_entry_find(r, &any, user, &entry, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        *event = entry->sub;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_variable_user(ngx_http_request_t *r, ngx_str_t *user)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx_get(r);

    if (ctx == NULL || ngx_adm_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    *user = ctx->user.id;

    return NGX_OK;
}


/* the user, or if nobody is known the address */

static ngx_int_t
ngx_adm_variable_client(ngx_http_request_t *r, ngx_str_t *client)
{
    ngx_str_t  user;

    if (ngx_adm_variable_user(r, &user) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_adm_client_name(r, &user, NGX_ADM_IPV6_PREFIX, client);
}


static ngx_int_t
ngx_adm_variable_address(ngx_http_request_t *r, ngx_str_t *address)
{
    return ngx_adm_address(r, NGX_ADM_IPV6_PREFIX, address);
}


static ngx_int_t
ngx_adm_variable_verdict(ngx_http_request_t *r, ngx_str_t *verdict)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    *verdict = ngx_adm_verdicts[ctx ? ctx->verdict : NGX_ADM_VERDICT_NONE];

    return NGX_OK;
}


static ngx_int_t
ngx_adm_variable_reason(ngx_http_request_t *r, ngx_str_t *reason)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    if (ctx && ctx->reason) {
        reason->data = (u_char *) ctx->reason;
        reason->len = ngx_strlen(ctx->reason);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_variable_position(ngx_http_request_t *r, ngx_str_t *position)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    if (ctx == NULL || ctx->position <= 0) {
        return NGX_OK;
    }

    position->data = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (position->data == NULL) {
        return NGX_ERROR;
    }

    position->len = ngx_sprintf(position->data, "%L",
                                ctx->position) - position->data;

    return NGX_OK;
}


/*
 * The path as it came, decoded and normalized as $uri is, whatever it was
 * rewritten or redirected to since.
 */

static ngx_int_t
ngx_adm_variable_uri(ngx_http_request_t *r, ngx_str_t *uri)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    if (ctx && ctx->uri.len) {
        *uri = ctx->uri;

    } else if (!r->main->internal) {
        *uri = r->main->uri;
    }

    return NGX_OK;
}
