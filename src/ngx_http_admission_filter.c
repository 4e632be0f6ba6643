
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The header filter: how much of a rate limit is left and when to come back,
 * what may be stored of gated answers, and that nothing may of the module's
 * own.  It runs after "add_header" and "expires", so that neither makes a
 * denial last.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_limit.h"
#include "ngx_http_admission_respond.h"


static ngx_int_t ngx_http_admission_filter_cache_control(
    ngx_http_request_t *r, const char *value);
static ngx_int_t ngx_http_admission_filter_init(ngx_conf_t *cf);


static ngx_http_module_t  ngx_http_admission_filter_module_ctx = {
    NULL,                                  /* preconfiguration */
    ngx_http_admission_filter_init,        /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    NULL,                                  /* create location configuration */
    NULL                                   /* merge location configuration */
};


ngx_module_t  ngx_http_admission_filter_module = {
    NGX_MODULE_V1,
    &ngx_http_admission_filter_module_ctx, /* module context */
    NULL,                                  /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;


static ngx_int_t
ngx_http_admission_header_filter(ngx_http_request_t *r)
{
    const char                *value;
    ngx_http_admission_ctx_t  *ctx;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    ctx = ngx_http_admission_ctx(r);

    if (ctx == NULL) {
        return ngx_http_next_header_filter(r);
    }

    if (ngx_http_admission_limit_headers(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->retry_after.len
        && ngx_http_admission_set_header(r, "Retry-After", &ctx->retry_after)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ctx->denied || ctx->no_store || ctx->personal) {
        /* whatever a backend says about it */
        value = "no-store";

        if (r->headers_out.expires) {
            r->headers_out.expires->hash = 0;
            r->headers_out.expires = NULL;
        }

    } else if (ctx->gated && !ngx_http_admission_has_cache_control(r)) {
        value = "private";

    } else {
        return ngx_http_next_header_filter(r);
    }

    if (ngx_http_admission_filter_cache_control(r, value) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


static ngx_int_t
ngx_http_admission_filter_cache_control(ngx_http_request_t *r,
    const char *value)
{
    ngx_table_elt_t  *h;

    ngx_http_admission_clear_cache_control(r);

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    ngx_str_set(&h->key, "Cache-Control");
    h->value.len = ngx_strlen(value);
    h->value.data = (u_char *) value;
    ngx_http_admission_header_unchained(h);

    return ngx_http_admission_link_cache_control(r, h);
}


static ngx_int_t
ngx_http_admission_filter_init(ngx_conf_t *cf)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_admission_header_filter;

    return NGX_OK;
}
