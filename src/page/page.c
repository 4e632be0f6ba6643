
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A document is sent with its values: its parts one after the other, with a
 * policy that allows its own scripts and styles, and a name by which caches
 * know it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/ctx.h"
#include "../http/headers.h"
#include "page.h"


static ngx_int_t ngx_adm_page_headers(ngx_http_request_t *r,
    ngx_adm_page_doc_t *doc, ngx_str_t *values, ngx_uint_t store);
static ngx_int_t ngx_adm_page_etag(ngx_http_request_t *r,
    ngx_adm_page_doc_t *doc, ngx_str_t *values);
static ngx_int_t ngx_adm_page_body(ngx_http_request_t *r,
    ngx_adm_page_doc_t *doc, ngx_str_t *values, ngx_chain_t **out,
    off_t *length);
static ngx_int_t ngx_adm_page_escape(ngx_http_request_t *r, ngx_str_t *value,
    ngx_str_t *escaped);


ngx_uint_t
ngx_adm_page_in_place(ngx_http_request_t *r)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    return ctx && ctx->denied;
}


ngx_int_t
ngx_adm_page_send(ngx_http_request_t *r, ngx_adm_page_doc_t *doc,
    ngx_str_t *values, ngx_uint_t status, ngx_uint_t store)
{
    ngx_int_t     rc;
    ngx_chain_t  *out;

    r->headers_out.status = status;

    if (ngx_adm_page_body(r, doc, values, &out,
                          &r->headers_out.content_length_n)
        != NGX_OK
        || ngx_adm_page_headers(r, doc, values, store) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    return ngx_http_output_filter(r, out);
}


static ngx_int_t
ngx_adm_page_headers(ngx_http_request_t *r, ngx_adm_page_doc_t *doc,
    ngx_str_t *values, ngx_uint_t store)
{
    ngx_uint_t      i;
    ngx_adm_ctx_t  *ctx;

    static struct {
        const char  *name;
        ngx_str_t    value;
    }  headers[] = {
        { "X-Content-Type-Options", ngx_string("nosniff") },
        { "X-Frame-Options", ngx_string("DENY") },
        { "Referrer-Policy", ngx_string("same-origin") },
        { NULL, ngx_null_string }
    };

    ngx_str_set(&r->headers_out.content_type, "text/html");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    ngx_str_set(&r->headers_out.charset, "utf-8");

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (r == r->main) {
        ctx->policy = &doc->csp;
    }

    for (i = 0; headers[i].name; i++) {
        if (ngx_adm_add_header(r, headers[i].name, &headers[i].value) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (store) {
        return ngx_adm_page_etag(r, doc, values) == NGX_OK
               ? ngx_adm_set_cache_control(r, "public, max-age=60") : NGX_ERROR;
    }

    ctx->no_store = 1;

    return NGX_OK;
}


/* NGINX compares it, makes it weak when it compresses, and answers 304 */

static ngx_int_t
ngx_adm_page_etag(ngx_http_request_t *r, ngx_adm_page_doc_t *doc,
    ngx_str_t *values)
{
    uint32_t    hash;
    ngx_str_t   value;
    ngx_uint_t  i;

    ngx_crc32_init(hash);

    for (i = 0; i < NGX_ADM_PAGE_VALUES; i++) {
        ngx_crc32_update(&hash, values[i].data, values[i].len);
        ngx_crc32_update(&hash, (u_char *) "", 1);
    }

    ngx_crc32_final(hash);

    value.data = ngx_pnalloc(r->pool, sizeof("\"-\"") - 1 + doc->tag.len + 8);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, "\"%V-%08xD\"", &doc->tag,
                            hash) - value.data;

    r->headers_out.etag = ngx_adm_header_push(r, "ETag", &value);

    return r->headers_out.etag ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_adm_page_body(ngx_http_request_t *r, ngx_adm_page_doc_t *doc,
    ngx_str_t *values, ngx_chain_t **out, off_t *length)
{
    ngx_buf_t            *b;
    ngx_str_t             piece[2];
    ngx_uint_t            i, n;
    ngx_chain_t          *cl, **last;
    ngx_adm_page_part_t  *part;

    *out = NULL;
    *length = 0;

    b = NULL;
    last = out;
    part = doc->parts.elts;

    for (i = 0; i < doc->parts.nelts; i++) {

        piece[0] = part[i].text;
        ngx_str_null(&piece[1]);

        if (part[i].value < NGX_ADM_PAGE_VALUES
            && ngx_adm_page_escape(r, &values[part[i].value], &piece[1])
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        for (n = 0; n < 2; n++) {

            if (piece[n].len == 0) {
                continue;
            }

            b = ngx_calloc_buf(r->pool);
            cl = ngx_alloc_chain_link(r->pool);

            if (b == NULL || cl == NULL) {
                return NGX_ERROR;
            }

            b->pos = piece[n].data;
            b->last = b->pos + piece[n].len;
            b->memory = 1;

            cl->buf = b;
            cl->next = NULL;
            *last = cl;
            last = &cl->next;

            *length += piece[n].len;
        }
    }

    /* a document is never empty */

    if (b == NULL) {
        return NGX_ERROR;
    }

    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_page_escape(ngx_http_request_t *r, ngx_str_t *value, ngx_str_t *escaped)
{
    uintptr_t  more;

    *escaped = *value;

    more = ngx_escape_html(NULL, value->data, value->len);

    if (more == 0) {
        return NGX_OK;
    }

    escaped->len = value->len + more;

    escaped->data = ngx_pnalloc(r->pool, escaped->len);
    if (escaped->data == NULL) {
        return NGX_ERROR;
    }

    ngx_escape_html(escaped->data, value->data, value->len);

    return NGX_OK;
}
