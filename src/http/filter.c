
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The header filter.  In answers it sets how much of a rate limit is left and
 * when to come again, who may read the module's own answers, the policy of a
 * page, and what may be stored of gated answers (of the module's own nothing);
 * it takes a backend's command out, and notes how long the backend took.  It
 * runs after "add_header" and "expires", so that neither makes a denial last,
 * and no other policy keeps a page from being shown.
 *
 * And a filter of the request's body, which sees the end of that.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/compat.h"
#include "../base/text.h"
#include "backend.h"
#include "command.h"
#include "cors.h"
#include "ctx.h"
#include "headers.h"


static ngx_int_t ngx_adm_filter_policy(ngx_http_request_t *r,
    ngx_str_t *policy);
static void ngx_adm_filter_no_store(ngx_http_request_t *r);
static ngx_int_t ngx_adm_request_body_filter(ngx_http_request_t *r,
    ngx_chain_t *in);
static ngx_int_t ngx_adm_filter_init(ngx_conf_t *cf);


static ngx_http_module_t  ngx_http_admission_filter_module_ctx = {
    NULL,                       /* preconfiguration */
    ngx_adm_filter_init,        /* postconfiguration */

    NULL,                       /* create main configuration */
    NULL,                       /* init main configuration */

    NULL,                       /* create server configuration */
    NULL,                       /* merge server configuration */

    NULL,                       /* create location configuration */
    NULL                        /* merge location configuration */
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
static ngx_http_request_body_filter_pt   ngx_http_next_request_body_filter;


static ngx_int_t
ngx_adm_header_filter(ngx_http_request_t *r)
{
    const char          *value;
    ngx_adm_ctx_t       *ctx;
    ngx_adm_srv_conf_t  *scf;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    ctx = ngx_adm_ctx(r);
    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (scf->gated) {
        ngx_adm_command_take(r, ctx);
    }

    if (ctx == NULL) {
        return ngx_http_next_header_filter(r);
    }

    if (ctx->backend) {
        ngx_adm_backend_end(r, ctx);
    }

    if (ctx->limits && ctx->limits_headers(r, ctx->limits) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->retry_after.len
        && ngx_adm_set_header(r, "Retry-After", &ctx->retry_after)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ctx->cors && ngx_adm_cors_headers(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->policy && ngx_adm_filter_policy(r, ctx->policy) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->denied || ctx->no_store || ctx->personal) {
        /* whatever the backend says about storing it */
        value = (ctx->given && !ctx->denied && !ctx->no_store)
                ? "private, no-store" : "no-store";
        ngx_adm_filter_no_store(r);

    } else if (ctx->gated && !ngx_adm_has_cache_control(r)) {
        value = "private";

    } else {
        return ngx_http_next_header_filter(r);
    }

    if (ngx_adm_set_cache_control(r, value) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


/*
 * A browser obeys all policies that it gets.  One that only reports is the
 * site's, which would be sent a report of the page's script by everybody who
 * waits.
 */

static ngx_int_t
ngx_adm_filter_policy(ngx_http_request_t *r, ngx_str_t *policy)
{
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos))) {

        if (ngx_adm_header_named(h, "Content-Security-Policy-Report-Only")) {
            h->hash = 0;
        }
    }

    return ngx_adm_set_header(r, "Content-Security-Policy", policy);
}


/*
 * Takes out other headers by which the answer might be stored: Expires, and
 * those that some caches heed instead of Cache-Control (RFC 9213:
 * "CDN-Cache-Control", "Cloudflare-CDN-Cache-Control", ...;
 * "Surrogate-Control", "Edge-Control"; and "X-Accel-Expires", for an NGINX in
 * front).
 */

static void
ngx_adm_filter_no_store(ngx_http_request_t *r)
{
    ngx_str_t               end;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    static ngx_str_t  target = ngx_string("-Cache-Control");

    if (r->headers_out.expires) {
        r->headers_out.expires->hash = 0;
        r->headers_out.expires = NULL;
    }

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos))) {

        end.len = ngx_min(h->key.len, target.len);
        end.data = h->key.data + h->key.len - end.len;

        if (ngx_adm_str_same_case(&end, &target)
            || ngx_adm_header_named(h, "Surrogate-Control")
            || ngx_adm_header_named(h, "Edge-Control")
            || ngx_adm_header_named(h, "X-Accel-Expires"))
        {
            h->hash = 0;
        }
    }
}


static ngx_int_t
ngx_adm_request_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_chain_t    *cl;
    ngx_adm_ctx_t  *ctx;

    ctx = (r == r->main) ? ngx_adm_ctx(r) : NULL;

    if (ctx && ctx->backend) {

        for (cl = in; cl; cl = cl->next) {

            if (cl->buf->last_buf) {
                ngx_adm_backend_sent(ctx);
            }
        }
    }

    return ngx_http_next_request_body_filter(r, in);
}


static ngx_int_t
ngx_adm_filter_init(ngx_conf_t *cf)
{
    ngx_http_next_request_body_filter = ngx_http_top_request_body_filter;
    ngx_http_top_request_body_filter = ngx_adm_request_body_filter;

    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_adm_header_filter;

    return NGX_OK;
}
