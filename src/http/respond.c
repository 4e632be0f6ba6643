
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An answer begins with taking out of the response what an earlier location of
 * the request has left there.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "ctx.h"
#include "headers.h"
#include "respond.h"
#include "return.h"


static ngx_int_t ngx_adm_respond_start(ngx_http_request_t *r,
    ngx_uint_t status);
static ngx_int_t ngx_adm_respond_send(ngx_http_request_t *r, ngx_str_t *body);
static ngx_int_t ngx_adm_respond_chain(ngx_http_request_t *r, ngx_chain_t *out,
    off_t size);


ngx_int_t
ngx_adm_respond_json(ngx_http_request_t *r, ngx_uint_t status, ngx_str_t *body)
{
    if (ngx_adm_respond_start(r, status) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    return ngx_adm_respond_send(r, body);
}


ngx_int_t
ngx_adm_respond_public(ngx_http_request_t *r, ngx_str_t *body)
{
    if (ngx_adm_respond_start(r, NGX_HTTP_OK) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    ngx_adm_ctx(r)->no_store = 0;

    return ngx_adm_set_cache_control(r, "public, max-age=60") == NGX_OK
           ? ngx_adm_respond_send(r, body) : NGX_HTTP_INTERNAL_SERVER_ERROR;
}


ngx_int_t
ngx_adm_respond_text(ngx_http_request_t *r, const char *type, ngx_chain_t *out,
    off_t size)
{
    if (ngx_adm_respond_start(r, NGX_HTTP_OK) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.content_type.len = ngx_strlen(type);
    r->headers_out.content_type.data = (u_char *) type;
    r->headers_out.content_type_len = strcspn(type, ";");
    r->headers_out.content_type_lowcase = NULL;

    return ngx_adm_respond_chain(r, out, size);
}


ngx_int_t
ngx_adm_respond_page(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *body)
{
    if (ngx_adm_respond_start(r, status) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_set(&r->headers_out.content_type, "text/html; charset=utf-8");
    r->headers_out.content_type_len = sizeof("text/html") - 1;
    r->headers_out.content_type_lowcase = NULL;

    return ngx_adm_respond_send(r, body);
}


ngx_int_t
ngx_adm_respond_events(ngx_http_request_t *r)
{
    ngx_int_t         rc;
    ngx_str_t         no;
    ngx_table_elt_t  *encoding;

    ngx_str_set(&no, "no");

    if (ngx_adm_respond_start(r, NGX_HTTP_OK) != NGX_OK
        || ngx_adm_set_header(r, "X-Accel-Buffering", &no) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_set(&r->headers_out.content_type, "text/event-stream");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    /* the connection is closed after the answer */

    r->keepalive = 0;

    /*
     * A filter that compresses would hold messages back until there are more,
     * and what follows the header goes past all filters: this keeps those of
     * other modules from it, too.  It is not in the list, so no client is told.
     */

    encoding = ngx_pcalloc(r->pool, sizeof(ngx_table_elt_t));
    if (encoding == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_set(&encoding->key, "Content-Encoding");
    ngx_str_set(&encoding->value, "identity");

    r->headers_out.content_encoding = encoding;

#if (NGX_HTTP_GZIP)
    r->gzip_tested = 1;
    r->gzip_ok = 0;
#endif

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK) {
        return rc;
    }

    return r->header_only ? NGX_DONE : NGX_OK;
}


ngx_int_t
ngx_adm_respond_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_str_t *more)
{
    size_t     len;
    u_char    *p;
    ngx_str_t  body;

    if (status == NGX_HTTP_UNAUTHORIZED && ngx_adm_challenge(r) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    len = sizeof("{\"error\":\"\",\"code\":\"\",}") - 1
          + ngx_strlen(text) + ngx_strlen(code) + (more ? more->len : 0);

    body.data = ngx_pnalloc(r->pool, len);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    p = ngx_sprintf(body.data, "{\"error\":\"%s\",\"code\":\"%s\"", text, code);

    if (more && more->len) {
        *p++ = ',';
        p = ngx_cpymem(p, more->data, more->len);
    }

    *p++ = '}';

    body.len = p - body.data;

    return ngx_adm_respond_json(r, status, &body);
}


ngx_int_t
ngx_adm_respond_sending(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_str_t *target)
{
    ngx_str_t  json, more;

    if (target->len == 0) {
        return ngx_adm_respond_error(r, status, code, text, NULL);
    }

    if (ngx_adm_json_string(r->pool, target, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.data = ngx_pnalloc(r->pool, sizeof("\"redirectTo\":") - 1 + json.len);
    if (more.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.len = ngx_sprintf(more.data, "\"redirectTo\":%V", &json) - more.data;

    return ngx_adm_respond_error(r, status, code, text, &more);
}


ngx_int_t
ngx_adm_respond_unavailable(ngx_http_request_t *r, ngx_uint_t retry_after)
{
    return ngx_adm_respond_retry(r, NGX_HTTP_SERVICE_UNAVAILABLE, "UNAVAILABLE",
                                 "Temporarily unavailable", retry_after);
}


ngx_int_t
ngx_adm_respond_limited(ngx_http_request_t *r, ngx_uint_t retry_after)
{
    return ngx_adm_respond_retry(r, NGX_HTTP_TOO_MANY_REQUESTS, "RATE_LIMITED",
                                 "Too many requests", retry_after);
}


ngx_int_t
ngx_adm_respond_retry(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_uint_t retry_after)
{
    u_char     *p;
    ngx_str_t   more;

    if (ngx_adm_retry_after(r, retry_after) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    p = ngx_pnalloc(r->pool, sizeof("\"retryAfter\":") - 1 + NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.data = p;
    more.len = ngx_sprintf(p, "\"retryAfter\":%ui", retry_after) - p;

    return ngx_adm_respond_error(r, status, code, text, &more);
}


ngx_int_t
ngx_adm_respond_method(ngx_http_request_t *r, const char *allow)
{
    ngx_str_t  value;

    value.len = ngx_strlen(allow);
    value.data = (u_char *) allow;

    if (ngx_adm_add_header(r, "Allow", &value) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_respond_error(r, NGX_HTTP_NOT_ALLOWED, "METHOD_NOT_ALLOWED",
                                 "Method not allowed", NULL);
}


ngx_int_t
ngx_adm_respond_redirect(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *location)
{
    ngx_str_t  empty;

    if (ngx_adm_respond_start(r, status) != NGX_OK
        || ngx_adm_return_encode(r, location) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /*
     * not in r->headers_out.location: NGINX would make it absolute, with the
     * host and port that it knows itself by
     */

    if (ngx_adm_add_header(r, "Location", location) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_null(&r->headers_out.content_type);
    r->headers_out.content_type_len = 0;

    ngx_str_null(&empty);

    return ngx_adm_respond_send(r, &empty);
}


ngx_int_t
ngx_adm_respond_preflight(ngx_http_request_t *r, const char *methods)
{
    ngx_str_t  empty;

    if (ngx_adm_respond_start(r, NGX_HTTP_NO_CONTENT) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_adm_ctx(r)->allow = methods;

    ngx_str_null(&empty);

    return ngx_adm_respond_send(r, &empty);
}


static ngx_int_t
ngx_adm_respond_start(ngx_http_request_t *r, ngx_uint_t status)
{
    ngx_adm_ctx_t       *ctx;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    /* the header filter sets them, after "expires" and "add_header" */

    ctx->no_store = 1;

    if (r == r->main && lcf->cors) {
        ctx->cors = lcf->cors;
    }

    /* nobody reads a body, so none is asked for by "100 Continue" */

    r->expect_tested = 1;

    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }

    /* an earlier location of the request may have left these */

    r->err_status = 0;
    r->headers_out.status_line.len = 0;
    r->disable_not_modified = 1;

    ngx_http_clear_accept_ranges(r);
    ngx_http_clear_last_modified(r);
    ngx_http_clear_etag(r);
    ngx_http_clear_location(r);
    ngx_http_clear_content_length(r);

    if (r->headers_out.content_encoding) {
        r->headers_out.content_encoding->hash = 0;
        r->headers_out.content_encoding = NULL;
    }

    r->headers_out.status = status;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_respond_send(ngx_http_request_t *r, ngx_str_t *body)
{
    ngx_buf_t    *b;
    ngx_chain_t   out;

    if (body->len == 0) {
        return ngx_adm_respond_chain(r, NULL, 0);
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->pos = body->data;
    b->last = body->data + body->len;
    b->memory = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_adm_respond_chain(r, &out, body->len);
}


/* out NULL: an empty body */

static ngx_int_t
ngx_adm_respond_chain(ngx_http_request_t *r, ngx_chain_t *out, off_t size)
{
    ngx_int_t     rc;
    ngx_chain_t  *cl;

    r->headers_out.content_length_n = size;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    if (out == NULL) {
        return ngx_http_send_special(r, NGX_HTTP_LAST);
    }

    for (cl = out; cl->next; cl = cl->next) { /* void */ }

    cl->buf->last_buf = (r == r->main);
    cl->buf->last_in_chain = 1;

    return ngx_http_output_filter(r, out);
}


ngx_int_t
ngx_adm_challenge(ngx_http_request_t *r)
{
    ngx_str_t               value;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    /* of the denial that an error_page has the text for */

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos))) {

        if (h->hash && ngx_adm_header_named(h, "WWW-Authenticate")) {
            return NGX_OK;
        }
    }

    ngx_str_set(&value, "Bearer");

    return ngx_adm_add_header(r, "WWW-Authenticate", &value);
}


ngx_int_t
ngx_adm_retry_after(ngx_http_request_t *r, ngx_uint_t seconds)
{
    ngx_str_t       value;
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    value.data = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, "%ui", seconds) - value.data;

    /* the context is the main request's, this may be a subrequest's answer */

    if (r == r->main) {
        ctx->retry_after = value;
    }

    /* for $sent_http_retry_after, which an error page's text may have */

    return ngx_adm_set_header(r, "Retry-After", &value);
}
