
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How answers tell of rate limits: draft-ietf-httpapi-ratelimit-headers, and
 * the refusal.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/headers.h"
#include "../http/respond.h"
#include "limit.h"
#include "parts.h"


#define ngx_adm_limit_seconds(limit)                                          \
    ((ngx_uint_t) ngx_max(((limit)->wait + 999) / 1000, 1))


static ngx_adm_limit_t *ngx_adm_limit_told(ngx_adm_limits_t *limits);
static ngx_uint_t ngx_adm_limit_error_page(ngx_http_request_t *r);


ngx_int_t
ngx_adm_limit_deny(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_uint_t        seconds;
    ngx_adm_limit_t  *limit;

    limit = ngx_adm_limit_told(ctx->limits);
    seconds = ngx_adm_limit_seconds(limit);

    if (ngx_adm_limit_error_page(r)) {
        return (ngx_adm_retry_after(r, seconds) == NGX_OK)
               ? NGX_HTTP_TOO_MANY_REQUESTS : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_respond_limited(r, seconds);
}


ngx_int_t
ngx_adm_limit_headers(ngx_http_request_t *r, ngx_adm_limits_t *limits)
{
    u_char           *p;
    ngx_str_t         value, *left;
    ngx_adm_limit_t  *limit;

    limit = ngx_adm_limit_told(limits);

    if (limit == NULL) {
        return NGX_OK;
    }

    left = &limit->conf->left_text;

    value.data = ngx_pnalloc(r->pool,
                             left->len + sizeof(";t=") - 1 + 2 * NGX_INT64_LEN);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(value.data, left->data, left->len);
    p = ngx_adm_put_number(p, ngx_max(limit->left, 0));
    p = ngx_cpymem(p, ";t=", sizeof(";t=") - 1);
    p = ngx_adm_put_number(p, ngx_adm_limit_seconds(limit));

    value.len = p - value.data;

    if (ngx_adm_set_header(r, "RateLimit-Policy", &limit->conf->policy)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_set_header(r, "RateLimit", &value);
}


/*
 * The window that says most about what the client may do: a full one; else
 * that with the fewest requests left, for longest; NULL: there is none.
 */

static ngx_adm_limit_t *
ngx_adm_limit_told(ngx_adm_limits_t *limits)
{
    ngx_uint_t        i;
    ngx_adm_limit_t  *limit, *told;

    limit = limits->all.elts;
    told = NULL;

    for (i = 0; i < limits->all.nelts; i++) {

        if (limit[i].trial || !(limit[i].redis || limit[i].local)) {
            continue;
        }

        if (told == NULL
            || limit[i].left < told->left
            || (limit[i].left == told->left && limit[i].wait > told->wait))
        {
            told = &limit[i];
        }
    }

    return told;
}


/* whether somebody else has a page for the refusal, or wants none */

static ngx_uint_t
ngx_adm_limit_error_page(ngx_http_request_t *r)
{
    ngx_uint_t                 i;
    ngx_http_err_page_t       *page;
    ngx_http_core_loc_conf_t  *clcf;
    ngx_adm_loc_conf_t        *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->deny == NGX_ADM_DENY_STATUS) {
        return 1;
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    /*
     * error_page does not work for an error of an error page, or at the end of
     * a loop
     */

    if (clcf->error_pages == NULL || r->error_page || r->uri_changes == 0) {
        return 0;
    }

    page = clcf->error_pages->elts;

    for (i = 0; i < clcf->error_pages->nelts; i++) {
        if (page[i].status == NGX_HTTP_TOO_MANY_REQUESTS) {
            return 1;
        }
    }

    return 0;
}
