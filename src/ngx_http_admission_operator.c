
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
    ngx_str_t                        bearer;
    ngx_uint_t                       shown, by_token;
    ngx_http_request_t              *r;
    ngx_http_admission_user_t       *user;
    ngx_http_admission_keyring_t    *secrets;

    r = call->request;
    user = &call->ctx->user;
    secrets = call->lcf->secrets[NGX_HTTP_ADMISSION_SECRET_ADMIN];

    /* a variable, or a visitor, has no role that anybody signed */

    by_token = (call->lcf->user->source == NGX_HTTP_ADMISSION_USER_JWT);

    shown = ngx_http_admission_token_bearer(r, &bearer) && bearer.len;

    if (shown && secrets
        && ngx_http_admission_keyring_is_secret(secrets, &bearer))
    {
        ngx_str_null(&call->who);
        return NGX_DECLINED;
    }

    if (ngx_http_admission_user_find(r, call->ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (by_token && user->id.len && user->claims) {

        if (user->role.len == sizeof(NGX_HTTP_ADMISSION_ROLE) - 1
            && ngx_memcmp(user->role.data, NGX_HTTP_ADMISSION_ROLE,
                          sizeof(NGX_HTTP_ADMISSION_ROLE) - 1)
               == 0)
        {
            call->who = user->id;
            return NGX_DECLINED;
        }

        shown = 1;
    }

    if (shown || (!by_token && secrets == NULL)) {
        return ngx_http_admission_respond_error(r, NGX_HTTP_FORBIDDEN,
                                                "FORBIDDEN",
                                                "Not allowed to administer",
                                                NULL);
    }

    return ngx_http_admission_respond_error(r, NGX_HTTP_UNAUTHORIZED,
                                            "ADMIN_REQUIRED",
                                            "Administrator required", NULL);
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
