
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_operator.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_user.h"


#define NGX_HTTP_ADMISSION_ROLE  "admin"


ngx_int_t
ngx_http_admission_operator(ngx_http_admission_api_call_t *call)
{
    switch (ngx_http_admission_operator_is(call->request, call->ctx,
                                           call->lcf, &call->who))
    {
    case NGX_OK:
        return NGX_DECLINED;

    case NGX_HTTP_FORBIDDEN:
        return ngx_http_admission_respond_error(call->request,
                                                NGX_HTTP_FORBIDDEN,
                                                "FORBIDDEN",
                                                "Not allowed to administer",
                                                NULL);

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_http_admission_respond_error(call->request,
                                                NGX_HTTP_UNAUTHORIZED,
                                                "ADMIN_REQUIRED",
                                                "Administrator required",
                                                NULL);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


ngx_int_t
ngx_http_admission_operator_is(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_loc_conf_t *lcf,
    ngx_str_t *who)
{
    ngx_str_t                      bearer;
    ngx_uint_t                     shown, by_token;
    ngx_http_admission_user_t     *user;
    ngx_http_admission_keyring_t  *secrets;

    user = &ctx->user;
    secrets = lcf->secrets[NGX_HTTP_ADMISSION_SECRET_ADMIN];

    /* a variable, or a visitor, has no role that anybody signed */

    by_token = (lcf->user->source == NGX_HTTP_ADMISSION_USER_JWT);

    shown = ngx_http_admission_token_bearer(r, &bearer) && bearer.len;

    if (shown && secrets
        && ngx_http_admission_keyring_is_secret(secrets, &bearer))
    {
        ngx_str_null(who);
        return NGX_OK;
    }

    if (ngx_http_admission_user_find(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (by_token && user->id.len && user->claims) {

        if (user->role.len == sizeof(NGX_HTTP_ADMISSION_ROLE) - 1
            && ngx_memcmp(user->role.data, NGX_HTTP_ADMISSION_ROLE,
                          sizeof(NGX_HTTP_ADMISSION_ROLE) - 1)
               == 0)
        {
            *who = user->id;
            return NGX_OK;
        }

        shown = 1;
    }

    return (shown || (!by_token && secrets == NULL)) ? NGX_HTTP_FORBIDDEN
                                                     : NGX_HTTP_UNAUTHORIZED;
}


void
ngx_http_admission_operator_log(ngx_http_admission_api_call_t *call,
    const char *what)
{
    ngx_log_t  *log;

    log = call->request->connection->log;

    if (call->who.len == 0) {
        ngx_log_error(NGX_LOG_NOTICE, log, 0,
                      "admission: event \"%V\": %s by the admin secret",
                      &call->event, what);
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, log, 0,
                  "admission: event \"%V\": %s by user \"%V\"",
                  &call->event, what, &call->who);
}
