
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' page.
 *
 * The document has nothing to hide: numbers and switches come and go by the
 * APIs, which ask who calls.  So it is also sent to somebody who is no
 * operator (yet), with the status that says so, for signing in on it: a
 * browser shows no bearer token when it goes to a page.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/operator.h"
#include "../http/respond.h"
#include "admin.h"
#include "page.h"


ngx_int_t
ngx_adm_page_of_operators(ngx_http_request_t *r)
{
    ngx_str_t           *values, who;
    ngx_uint_t           status;
    ngx_adm_ctx_t       *ctx;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ctx = ngx_adm_ctx_get(r);

    values = ngx_pcalloc(r->pool, NGX_ADM_PAGE_VALUES * sizeof(ngx_str_t));

    if (ctx == NULL || values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (ngx_adm_operator_is(r, ctx, lcf, &who)) {

    case NGX_OK:
        status = NGX_HTTP_OK;
        break;

    case NGX_HTTP_FORBIDDEN:
        status = NGX_HTTP_FORBIDDEN;
        break;

    case NGX_HTTP_UNAUTHORIZED:
        status = NGX_HTTP_UNAUTHORIZED;

        if (ngx_adm_challenge(r) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        break;

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (lcf->login_uri
        && ngx_http_complex_value(r, lcf->login_uri,
                                  &values[NGX_ADM_PAGE_LOGIN])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_page_send(r, &lcf->page->doc, values, status, 0);
}
