
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A browser that gets two Access-Control-Allow-Origin takes neither, so first
 * what the site's own "add_header" or a backend says of it is taken out.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "cors.h"
#include "headers.h"
#include "origin.h"


static void ngx_adm_cors_clear(ngx_http_request_t *r);
static ngx_int_t ngx_adm_cors_add(ngx_http_request_t *r, const char *name,
    const char *text);


ngx_int_t
ngx_adm_cors_headers(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_str_t  origin, headers;

    ngx_adm_cors_clear(r);

    if (ngx_adm_cors_add(r, "Vary", "Origin") != NGX_OK) {
        return NGX_ERROR;
    }

    if (!ngx_adm_cors_origin(r, ctx->cors, &origin)) {
        return NGX_OK;
    }

    if (ngx_adm_add_header(r, "Access-Control-Allow-Origin", &origin) != NGX_OK
        || ngx_adm_cors_add(r, "Access-Control-Allow-Credentials", "true")
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ctx->allow == NULL) {
        return ngx_adm_cors_add(r, "Access-Control-Expose-Headers",
                                "Retry-After, RateLimit, RateLimit-Policy");
    }

    ngx_adm_requested_headers(r, &headers);

    if (ngx_adm_add_header(r, "Access-Control-Allow-Headers", &headers)
        != NGX_OK
        || ngx_adm_cors_add(r, "Access-Control-Allow-Methods", ctx->allow)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_cors_add(r, "Access-Control-Max-Age", "600");
}


static void
ngx_adm_cors_clear(ngx_http_request_t *r)
{
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    static ngx_str_t  prefix = ngx_string("Access-Control-");

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos))) {

        if (h->key.len > prefix.len
            && ngx_strncasecmp(h->key.data, prefix.data, prefix.len) == 0)
        {
            h->hash = 0;
        }
    }
}


static ngx_int_t
ngx_adm_cors_add(ngx_http_request_t *r, const char *name, const char *text)
{
    ngx_str_t  value;

    value.len = ngx_strlen(text);
    value.data = (u_char *) text;

    return ngx_adm_add_header(r, name, &value);
}
