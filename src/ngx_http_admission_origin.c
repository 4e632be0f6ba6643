
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_headers.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_token.h"


#define NGX_HTTP_ADMISSION_REQUESTED_HEADERS_MAX  1024


static ngx_uint_t ngx_http_admission_has_body(ngx_http_request_t *r);
static ngx_uint_t ngx_http_admission_is_named(ngx_table_elt_t *h,
    const char *name);
static ngx_uint_t ngx_http_admission_is_method(ngx_str_t *value);
static ngx_uint_t ngx_http_admission_is_unasked(ngx_table_elt_t *h);
static ngx_uint_t ngx_http_admission_origin(ngx_http_request_t *r,
    ngx_str_t *origin);
static ngx_uint_t ngx_http_admission_cors_allowed(ngx_http_request_t *r,
    ngx_str_t *origin);
static ngx_uint_t ngx_http_admission_own_origin(ngx_http_request_t *r,
    ngx_str_t *origin);
static void ngx_http_admission_split_port(ngx_str_t *authority,
    const char *standard, ngx_str_t *host, ngx_str_t *port);


/*
 * What a browser asks permission for it does not send with the question:
 * credentials, a body, headers that scripts set.  Of these only those that
 * would have an application do what the method alone does not.
 */

static ngx_str_t  ngx_http_admission_unasked[] = {
    ngx_string("cookie"),
    ngx_string("authorization"),
    ngx_string("proxy-authorization"),
    ngx_string("x-vwr-token"),
    ngx_string("x-queue-entry-token"),
    ngx_string("x-queue-place"),
    ngx_string("x-admission-visitor"),
    ngx_string("x-admission-ticket"),
    ngx_string("x-http-method-override"),
    ngx_string("x-http-method"),
    ngx_string("x-method-override"),
    ngx_string("expect"),
    ngx_string("upgrade"),
    ngx_null_string
};


ngx_uint_t
ngx_http_admission_cors_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    return ngx_http_admission_origin(r, origin) == 1
           && ngx_http_admission_cors_allowed(r, origin);
}


void
ngx_http_admission_requested_headers(ngx_http_request_t *r,
    ngx_str_t *headers)
{
    size_t            i;
    u_char            ch;
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "access-control-request-headers");

    if (h == NULL
        || h->value.len == 0
        || h->value.len > NGX_HTTP_ADMISSION_REQUESTED_HEADERS_MAX)
    {
        goto fixed;
    }

    for (i = 0; i < h->value.len; i++) {

        ch = h->value.data[i];

        if ((ch >= 'a' && ch <= 'z')
            || (ch >= 'A' && ch <= 'Z')
            || (ch >= '0' && ch <= '9')
            || ch == '-' || ch == '_' || ch == ',' || ch == ' ')
        {
            continue;
        }

        goto fixed;
    }

    *headers = h->value;

    return;

fixed:

    ngx_str_set(headers, "Authorization, Content-Type, Idempotency-Key, "
                         "x-vwr-token, x-queue-entry-token, "
                         "x-admission-visitor, x-admission-ticket, "
                         "x-queue-place");
}


ngx_uint_t
ngx_http_admission_is_preflight(ngx_http_request_t *r)
{
    ngx_uint_t        i, origins, methods;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    if (r->method != NGX_HTTP_OPTIONS || ngx_http_admission_has_body(r)) {
        return 0;
    }

    origins = 0;
    methods = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_admission_is_named(&h[i], "Origin")) {
                origins += (h[i].value.len ? 1 : 2);

            } else if (ngx_http_admission_is_named(&h[i],
                                             "Access-Control-Request-Method"))
            {
                methods += (ngx_http_admission_is_method(&h[i].value) ? 1 : 2);

            } else if (ngx_http_admission_is_unasked(&h[i])) {
                return 0;
            }
        }
    }

    return origins == 1 && methods == 1;
}


/* has it one, or may it still come? */

static ngx_uint_t
ngx_http_admission_has_body(ngx_http_request_t *r)
{
    if (r->headers_in.content_length_n > 0 || r->headers_in.chunked) {
        return 1;
    }

#if (NGX_HTTP_V2)

    /*
     * "Content-Length: 0" on a stream that has not ended: no browser does
     * that.  Once the stream has, there was nothing: NGINX refuses more.
     */

    if (r->stream && !r->stream->in_closed) {
        return 1;
    }

#endif

    return 0;
}


static ngx_uint_t
ngx_http_admission_is_named(ngx_table_elt_t *h, const char *name)
{
    return h->key.len == ngx_strlen(name)
           && ngx_strncasecmp(h->key.data, (u_char *) name, h->key.len) == 0;
}


/* a token (RFC 9110): methods have any name */

static ngx_uint_t
ngx_http_admission_is_method(ngx_str_t *value)
{
    size_t  i;
    u_char  ch;

    for (i = 0; i < value->len; i++) {

        ch = value->data[i];

        if ((ch >= 'a' && ch <= 'z')
            || (ch >= 'A' && ch <= 'Z')
            || (ch >= '0' && ch <= '9')
            || (ch && strchr("!#$%&'*+-.^_`|~", ch)))
        {
            continue;
        }

        return 0;
    }

    return value->len != 0;
}


/* a header that no browser sends with a preflight */

static ngx_uint_t
ngx_http_admission_is_unasked(ngx_table_elt_t *h)
{
    ngx_str_t  *name;

    for (name = ngx_http_admission_unasked; name->len; name++) {
        if (ngx_http_admission_header_is(h, name)) {
            return 1;
        }
    }

    return 0;
}


ngx_uint_t
ngx_http_admission_is_prefetch(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "sec-purpose");

    if (h == NULL) {
        h = ngx_http_admission_header(r, "purpose");
    }

    /* "prefetch", "prefetch;prerender", ... */

    return h && ngx_strcasestrn(h->value.data, "prefetch",
                                sizeof("prefetch") - 2)
                != NULL;
}


ngx_uint_t
ngx_http_admission_same_site(ngx_http_request_t *r)
{
    ngx_str_t         origin, token, *site;
    ngx_uint_t        n;
    ngx_table_elt_t  *h;

    if (ngx_http_admission_token_bearer(r, &token)) {
        /* which no page of another site can have a browser send */
        return 1;
    }

    n = ngx_http_admission_origin(r, &origin);

    if (n == 1 && ngx_http_admission_cors_allowed(r, &origin)) {
        return 1;
    }

    h = ngx_http_admission_header(r, "sec-fetch-site");

    if (h) {
        site = &h->value;

        return (site->len == sizeof("same-origin") - 1
                && ngx_strncmp(site->data, "same-origin", site->len) == 0)
               || (site->len == sizeof("none") - 1
                   && ngx_strncmp(site->data, "none", site->len) == 0);
    }

    if (n == 0) {
        return 1;
    }

    return n == 1 && ngx_http_admission_own_origin(r, &origin);
}


/* how many Origin lines there are; *origin is the last */

static ngx_uint_t
ngx_http_admission_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_uint_t        i, n;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    n = 0;
    ngx_str_null(origin);

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].hash == 0
                || !ngx_http_admission_is_named(&h[i], "Origin"))
            {
                continue;
            }

            *origin = h[i].value;
            n++;
        }
    }

    return n;
}


static ngx_uint_t
ngx_http_admission_cors_allowed(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_str_t                      *allowed;
    ngx_uint_t                      i;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->cors == NULL) {
        return 0;
    }

    allowed = lcf->cors->elts;

    for (i = 0; i < lcf->cors->nelts; i++) {

        if (allowed[i].len == origin->len
            && ngx_strncasecmp(allowed[i].data, origin->data, origin->len)
               == 0)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Whether an Origin is the host and port that the request was sent to, as
 * its Host says.  A Host without a port means the standard port: over plain
 * HTTP that may be the one of either scheme, since TLS can have ended before
 * NGINX.
 */

static ngx_uint_t
ngx_http_admission_own_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_str_t    authority, host, port, own_host, own_port;
    const char  *standard, *own_standard;

    if (r->headers_in.host == NULL) {
        return 0;
    }

    if (origin->len > sizeof("https://") - 1
        && ngx_strncasecmp(origin->data, (u_char *) "https://",
                           sizeof("https://") - 1)
           == 0)
    {
        standard = "443";
        authority.len = origin->len - (sizeof("https://") - 1);
        authority.data = origin->data + sizeof("https://") - 1;

    } else if (origin->len > sizeof("http://") - 1
               && ngx_strncasecmp(origin->data, (u_char *) "http://",
                                  sizeof("http://") - 1)
                  == 0)
    {
        standard = "80";
        authority.len = origin->len - (sizeof("http://") - 1);
        authority.data = origin->data + sizeof("http://") - 1;

    } else {
        return 0;
    }

    own_standard = standard;

#if (NGX_HTTP_SSL)

    if (r->connection->ssl) {
        own_standard = "443";
    }

#endif

    ngx_http_admission_split_port(&authority, standard, &host, &port);
    ngx_http_admission_split_port(&r->headers_in.host->value, own_standard,
                                  &own_host, &own_port);

    return host.len == own_host.len
           && ngx_strncasecmp(host.data, own_host.data, host.len) == 0
           && port.len == own_port.len
           && ngx_strncmp(port.data, own_port.data, port.len) == 0;
}


static void
ngx_http_admission_split_port(ngx_str_t *authority, const char *standard,
    ngx_str_t *host, ngx_str_t *port)
{
    u_char  *p, *last;

    last = authority->data + authority->len;

    for (p = last; p > authority->data && p[-1] >= '0' && p[-1] <= '9'; p--) {
        /* void */
    }

    if (p == last || p == authority->data || p[-1] != ':') {
        *host = *authority;
        port->len = ngx_strlen(standard);
        port->data = (u_char *) standard;

        return;
    }

    port->len = last - p;
    port->data = p;
    host->len = p - 1 - authority->data;
    host->data = authority->data;
}
