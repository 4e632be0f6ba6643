
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The content handler of admission_page.
 *
 * The answer to one who waits is made of the address and the configuration,
 * and of whether there is such an event, and of nothing else: no cookie is
 * read or set, and the language is the script's business.  So caches may keep
 * it under its whole address, query included.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_deny.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_page.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_return.h"
#include "ngx_http_admission_room.h"


static ngx_int_t ngx_http_admission_page_event(ngx_http_request_t *r,
    ngx_str_t *event);
static ngx_uint_t ngx_http_admission_page_is_nojs(ngx_http_request_t *r);
static ngx_uint_t ngx_http_admission_page_is_shown(ngx_http_request_t *r);
static ngx_int_t ngx_http_admission_page_return(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_int_t ngx_http_admission_page_argument(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_int_t ngx_http_admission_page_nojs_uri(ngx_http_request_t *r,
    ngx_str_t *target, ngx_str_t *uri);
static ngx_int_t ngx_http_admission_page_headers(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values, ngx_uint_t store);
static ngx_int_t ngx_http_admission_page_etag(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values);
static ngx_int_t ngx_http_admission_page_cache_control(ngx_http_request_t *r);
static ngx_int_t ngx_http_admission_page_body(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values, ngx_chain_t **out,
    off_t *length);
static ngx_int_t ngx_http_admission_page_escape(ngx_http_request_t *r,
    ngx_str_t *value, ngx_str_t *escaped);


ngx_int_t
ngx_http_admission_page_handler(ngx_http_request_t *r)
{
    ngx_int_t                         rc;
    ngx_str_t                        *event, *values, target;
    ngx_uint_t                        status, store;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_main_conf_t   *mcf;
    ngx_http_admission_event_conf_t  *conf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_admission_respond_method(r, "GET, HEAD");
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (lcf->page->which == NGX_HTTP_ADMISSION_PAGE_ADMIN) {
        return ngx_http_admission_page_of_operators(r);
    }

    values = ngx_pcalloc(r->pool, NGX_HTTP_ADMISSION_PAGE_VALUES
                                  * sizeof(ngx_str_t));
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    event = &values[NGX_HTTP_ADMISSION_PAGE_EVENT];

    rc = ngx_http_admission_page_event(r, event);

    if (rc == NGX_ERROR
        || ngx_http_admission_page_return(r, &target) != NGX_OK
        || ngx_http_admission_page_nojs_uri(r, &target,
                                    &values[NGX_HTTP_ADMISSION_PAGE_NOJS_URI])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    conf = NULL;
    status = NGX_HTTP_OK;
    store = 1;

    if (ngx_http_admission_page_in_place(r)) {
        values[NGX_HTTP_ADMISSION_PAGE_RETURN] = target;
        store = 0;
    }

    if (rc == NGX_DECLINED) {
        /* the page says it, by having no event */
        status = NGX_HTTP_BAD_REQUEST;

    } else {
        rc = ngx_http_admission_room_event_conf(mcf, event, &conf);

        if (rc == NGX_DECLINED) {
            /* unless it has come into being since: the API tells the page */
            status = NGX_HTTP_NOT_FOUND;
            conf = NULL;

        } else {
            values[NGX_HTTP_ADMISSION_PAGE_TITLE] = conf->title;
            values[NGX_HTTP_ADMISSION_PAGE_ARTIST] = conf->artist;

            store = store && rc == NGX_OK;
        }
    }

    if (lcf->page->which == NGX_HTTP_ADMISSION_PAGE_TIER1
        && ngx_http_admission_page_is_nojs(r))
    {
        if (!ngx_http_admission_page_is_shown(r)) {

            /* in a cache it would keep browsers from being answered */

            return ngx_http_admission_page_send(r, &lcf->page->doc, values,
                                                status, 0);
        }

        if (conf) {
            return ngx_http_admission_page_without_script(r, conf, values,
                                                          &target);
        }

        ngx_str_set(&values[NGX_HTTP_ADMISSION_PAGE_STATE], "unknown");

        return ngx_http_admission_page_send(r, &lcf->page->nojs, values,
                                            status, 0);
    }

    return ngx_http_admission_page_send(r, &lcf->page->doc, values, status,
                                        store && status == NGX_HTTP_OK);
}


static ngx_uint_t
ngx_http_admission_page_is_nojs(ngx_http_request_t *r)
{
    ngx_str_t  value;

    return ngx_http_arg(r, (u_char *) "nojs", sizeof("nojs") - 1, &value)
           == NGX_OK;
}


/* by a browser: not what it loads ahead, or for a page */

static ngx_uint_t
ngx_http_admission_page_is_shown(ngx_http_request_t *r)
{
    return r == r->main
           && r->method == NGX_HTTP_GET
           && ngx_http_admission_is_navigation(r)
           && !ngx_http_admission_is_prefetch(r);
}


/* the last segment of the path; NGX_DECLINED: that is no event id */

static ngx_int_t
ngx_http_admission_page_event(ngx_http_request_t *r, ngx_str_t *event)
{
    u_char     *p, *last, *dst;
    ngx_str_t   id;

    last = r->uri.data + r->uri.len;

    for (p = last; p > r->uri.data && p[-1] != '/'; p--) { /* void */ }

    id.data = p;
    id.len = last - p;

    dst = ngx_pnalloc(r->pool, id.len + 1);
    if (dst == NULL) {
        return NGX_ERROR;
    }

    if (ngx_http_admission_event_id(&id, dst) != NGX_OK) {
        return NGX_DECLINED;
    }

    event->data = dst;
    event->len = id.len;

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_page_in_place(ngx_http_request_t *r)
{
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    return ctx && ctx->denied;
}


/*
 * Where to go on to; empty: nowhere that is said, or is safe.  In the place of
 * something else the arguments are not the page's.
 */

static ngx_int_t
ngx_http_admission_page_return(ngx_http_request_t *r, ngx_str_t *target)
{
    ngx_int_t  rc;

    ngx_str_null(target);

    rc = (ngx_http_admission_page_in_place(r)
          && !ngx_http_admission_page_is_nojs(r))
         ? ngx_http_admission_return_wanted(r, target)
         : ngx_http_admission_page_argument(r, target);

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    if (!ngx_http_admission_return_is_safe(target)) {
        ngx_str_null(target);
    }

    return NGX_OK;
}


/* "return"; empty: there is none */

static ngx_int_t
ngx_http_admission_page_argument(ngx_http_request_t *r, ngx_str_t *target)
{
    u_char     *src, *dst;
    ngx_str_t   value;

    if (ngx_http_arg(r, (u_char *) "return", sizeof("return") - 1, &value)
        != NGX_OK)
    {
        return NGX_OK;
    }

    target->data = ngx_pnalloc(r->pool, value.len + 1);
    if (target->data == NULL) {
        return NGX_ERROR;
    }

    src = value.data;
    dst = target->data;

    ngx_unescape_uri(&dst, &src, value.len, 0);

    target->len = dst - target->data;

    return NGX_OK;
}


/*
 * What a browser without JavaScript goes on to: it can not take the query
 * along by itself, so where there is a "return" it is put in here.  Where the
 * page is in the place of something else, its own address is, too.
 */

static ngx_int_t
ngx_http_admission_page_nojs_uri(ngx_http_request_t *r, ngx_str_t *target,
    ngx_str_t *uri)
{
    u_char     *p;
    size_t      len;
    ngx_str_t   path;

    ngx_str_null(&path);

    if (ngx_http_admission_page_in_place(r)) {
        path = r->uri;
    }

    len = path.len + 2 * ngx_escape_uri(NULL, path.data, path.len,
                                        NGX_ESCAPE_URI)
          + sizeof("?nojs=1&return=") - 1 + target->len
          + 2 * ngx_escape_uri(NULL, target->data, target->len,
                               NGX_ESCAPE_URI_COMPONENT);

    p = ngx_pnalloc(r->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;

    p = (u_char *) ngx_escape_uri(p, path.data, path.len, NGX_ESCAPE_URI);
    p = ngx_cpymem(p, "?nojs=1", sizeof("?nojs=1") - 1);

    if (target->len) {
        p = ngx_cpymem(p, "&return=", sizeof("&return=") - 1);
        p = (u_char *) ngx_escape_uri(p, target->data, target->len,
                                      NGX_ESCAPE_URI_COMPONENT);
    }

    uri->len = p - uri->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_page_send(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values, ngx_uint_t status,
    ngx_uint_t store)
{
    ngx_int_t     rc;
    ngx_chain_t  *out;

    r->headers_out.status = status;

    if (ngx_http_admission_page_body(r, doc, values, &out,
                                     &r->headers_out.content_length_n)
        != NGX_OK
        || ngx_http_admission_page_headers(r, doc, values, store) != NGX_OK)
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
ngx_http_admission_page_headers(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values, ngx_uint_t store)
{
    ngx_uint_t                 i;
    ngx_str_t                  value;
    ngx_http_admission_ctx_t  *ctx;

    static const struct {
        const char  *name;
        const char  *value;
    }  headers[] = {
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "same-origin" },
        { NULL, NULL }
    };

    ngx_str_set(&r->headers_out.content_type, "text/html");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    ngx_str_set(&r->headers_out.charset, "utf-8");

    if (ngx_http_admission_add_header(r, "Content-Security-Policy", &doc->csp)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    for (i = 0; headers[i].name; i++) {

        value.data = (u_char *) headers[i].value;
        value.len = ngx_strlen(headers[i].value);

        if (ngx_http_admission_add_header(r, headers[i].name, &value)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if (store) {
        return ngx_http_admission_page_etag(r, doc, values) == NGX_OK
               ? ngx_http_admission_page_cache_control(r) : NGX_ERROR;
    }

    ctx = ngx_http_admission_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    ctx->no_store = 1;

    return NGX_OK;
}


/* NGINX compares it, makes it weak when it compresses, and answers 304 */

static ngx_int_t
ngx_http_admission_page_etag(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values)
{
    uint32_t          hash;
    ngx_uint_t        i;
    ngx_table_elt_t  *h;

    ngx_crc32_init(hash);

    for (i = 0; i < NGX_HTTP_ADMISSION_PAGE_VALUES; i++) {
        ngx_crc32_update(&hash, values[i].data, values[i].len);
        ngx_crc32_update(&hash, (u_char *) "", 1);
    }

    ngx_crc32_final(hash);

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    ngx_str_set(&h->key, "ETag");
    ngx_http_admission_header_unchained(h);

    h->value.data = ngx_pnalloc(r->pool, sizeof("\"-\"") - 1 + doc->tag.len
                                         + 8);
    if (h->value.data == NULL) {
        h->hash = 0;
        return NGX_ERROR;
    }

    h->value.len = ngx_sprintf(h->value.data, "\"%V-%08xD\"", &doc->tag, hash)
                   - h->value.data;

    r->headers_out.etag = h;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_page_cache_control(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    ngx_str_set(&h->key, "Cache-Control");
    ngx_str_set(&h->value, "public, max-age=60");
    ngx_http_admission_header_unchained(h);

    return ngx_http_admission_link_cache_control(r, h);
}


static ngx_int_t
ngx_http_admission_page_body(ngx_http_request_t *r,
    ngx_http_admission_page_doc_t *doc, ngx_str_t *values, ngx_chain_t **out,
    off_t *length)
{
    ngx_buf_t                       *b;
    ngx_str_t                        piece[2];
    ngx_uint_t                       i, n;
    ngx_chain_t                     *cl, **last;
    ngx_http_admission_page_part_t  *part;

    *out = NULL;
    *length = 0;

    b = NULL;
    last = out;
    part = doc->parts.elts;

    for (i = 0; i < doc->parts.nelts; i++) {

        piece[0] = part[i].text;
        ngx_str_null(&piece[1]);

        if (part[i].value < NGX_HTTP_ADMISSION_PAGE_VALUES
            && ngx_http_admission_page_escape(r, &values[part[i].value],
                                              &piece[1])
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
ngx_http_admission_page_escape(ngx_http_request_t *r, ngx_str_t *value,
    ngx_str_t *escaped)
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
