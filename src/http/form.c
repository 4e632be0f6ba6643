
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The page then tells what came of the call, by the cookies that it is shown.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "api.h"
#include "deny.h"
#include "form.h"
#include "respond.h"
#include "return.h"


ngx_int_t
ngx_adm_form_back(ngx_http_request_t *r)
{
    ngx_str_t  target;

    if ((r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))
        || !ngx_adm_is_navigation(r))
    {
        return NGX_DECLINED;
    }

    if (ngx_adm_arg(r, "return", &target) == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!ngx_adm_return_is_safe(&target)) {
        return NGX_DECLINED;
    }

    return ngx_adm_respond_redirect(r, NGX_HTTP_SEE_OTHER, &target);
}
