
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Operators are known by the admin secret, or by the role in a user token.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "credentials.h"
#include "operator.h"
#include "respond.h"
#include "user.h"


ngx_int_t
ngx_adm_operator(ngx_adm_api_call_t *call)
{
    switch (ngx_adm_operator_is(call->request, call->ctx,
                                call->lcf, &call->who))
    {
    case NGX_OK:
        return NGX_DECLINED;

    case NGX_HTTP_FORBIDDEN:
        return ngx_adm_respond_error(call->request, NGX_HTTP_FORBIDDEN,
                                     "FORBIDDEN", "Not allowed to administer",
                                     NULL);

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_adm_respond_error(call->request, NGX_HTTP_UNAUTHORIZED,
                                     "ADMIN_REQUIRED", "Administrator required",
                                     NULL);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


ngx_int_t
ngx_adm_operator_is(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_loc_conf_t *lcf, ngx_str_t *who)
{
    ngx_str_t           bearer;
    ngx_uint_t          shown, by_token;
    ngx_adm_user_t     *user;
    ngx_adm_keyring_t  *secrets;

    user = &ctx->user;
    secrets = lcf->secrets[NGX_ADM_SECRET_ADMIN];

    /* a user from a variable, or a visitor, has no role that anybody signed */

    by_token = (lcf->user->source == NGX_ADM_USER_JWT);

    shown = ngx_adm_bearer(r, &bearer) && bearer.len;

    if (shown && secrets && ngx_adm_keyring_is_secret(secrets, &bearer)) {
        ngx_str_null(who);
        return NGX_OK;
    }

    if (ngx_adm_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (by_token && user->id.len && user->claims) {

        if (user->claims->admin) {
            *who = user->id;
            return NGX_OK;
        }

        shown = 1;
    }

    return (shown || (!by_token && secrets == NULL)) ? NGX_HTTP_FORBIDDEN
                                                     : NGX_HTTP_UNAUTHORIZED;
}


void
ngx_adm_operator_log(ngx_adm_api_call_t *call, const char *what)
{
    ngx_uint_t  user;

    user = (call->who.len != 0);

    ngx_log_error(NGX_LOG_NOTICE, call->request->connection->log, 0,
                  "admission: event \"%V\": %s by %s%V%s",
                  &call->event, what, user ? "user \"" : "the admin secret",
                  &call->who, user ? "\"" : "");
}
